/*
 * What layers take beyond their roofline, learned from measured ones and asked for others, on the same or on
 * another device.
 *
 * The roofline of a layer on a device is F/peak + B/bandwidth + c, c half of the least measured time, 50 us
 * at most. The logarithm of time over roofline is the mean of a random forest and of boosted trees; both see
 * the layer's descriptors, operations and bytes, and the two times of its roofline, the forest also the
 * device's rates. Where the very same layer was measured on some of the devices, the mean of its own
 * logarithms there is the other answer.
 */
#ifndef EFFICIENCY_H
#define EFFICIENCY_H

#include "transfer_table.h"

#include <stdint.h>

struct efficiency_how {
	uint64_t seed;
	size_t threads; /* 0: one a processor */
};

/*
 * Learns from the layers `rows` of the table, at least one, all of them measured; writes the logarithm of the
 * time in ns of each of the layers `asked` on `device`. What it answers does not depend on the threads.
 */
void efficiency_learn(const struct transfer_table *table, const size_t *rows, size_t row_count,
	const size_t *asked, size_t asked_count, size_t device, const struct efficiency_how *how,
	double *log_time);

/* The same by the same layer's measured times among `rows`; NAN where there are none. devices: on how many.
 */
void efficiency_same(const struct transfer_table *table, const size_t *rows, size_t row_count,
	const size_t *asked, size_t asked_count, size_t device, double *log_time, size_t *devices);

/* The same by the median of time over roofline alone: the plain roofline ratio. */
void efficiency_plain(const struct transfer_table *table, const size_t *rows, size_t row_count,
	const size_t *asked, size_t asked_count, size_t device, double *log_time);

#endif
