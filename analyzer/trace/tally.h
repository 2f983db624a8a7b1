/*
 * How often each operation of a trace was called over the whole run, and how long that took: of the records
 * that are there, and of those that a ring has dropped (struct pm_ring). Counts, sums, least and greatest are
 * exact; a quantile is that of a sketch, within 0.8% of a duration of that rank.
 */
#ifndef TRACE_TALLY_H
#define TRACE_TALLY_H

#include "trace.h"

/* Of one operation's calls or device intervals. Times are in the unit of the records: see tally_ns. */
struct tally_item {
	uint64_t count;
	uint64_t untimed; /* of these: calls that did not return */
	uint64_t sum;
	double square_sum;
	uint64_t least, greatest; /* where count > untimed */
	bool sketched;            /* quantiles are known */
	uint64_t first_bucket;    /* of tally.buckets, by duration */
	uint64_t bucket_count;
};

struct tally_bucket {
	uint64_t key; /* as in struct pm_sketch */
	uint64_t count;
};

struct tally {
	struct tally_item *calls, *devices; /* by number of the operation */
	size_t operation_count;
	struct tally_bucket *buckets; /* by key */
	size_t bucket_count, bucket_room;
	uint64_t call_count, device_count; /* of all operations, and of those that are not counted singly */
	double tick_ns;
};

/* Walks the whole trace. Freed with tally_free. */
void tally_read(const struct trace *trace, struct tally *run);
void tally_free(struct tally *run);

/* Nanoseconds of one unit: of calls, or of device intervals. */
double tally_ns(const struct tally *run, bool is_device);

/* In units. NaN: there is none, or it is not known. part: in [0, 1]. */
double tally_mean(const struct tally_item *of);
double tally_deviation(const struct tally_item *of);
double tally_quantile(const struct tally *run, const struct tally_item *of, double part);

/* Of the records of one operation that a ring has dropped; all 0 where there are none. */
void tally_dropped(const struct trace *trace, uint32_t op, bool is_device, struct pm_statistics *dropped);

#endif
