/* A quantity of a side's runs as series, one value an iteration: what compare.c makes rows of, and the gate
 * judges. */
#ifndef ANALYSES_COMPARE_COMPARE_SERIES_H
#define ANALYSES_COMPARE_COMPARE_SERIES_H

#include "compare.h"

/* A time in phase_times, or of a layer, or the load imbalance; MEASURE_DEVICE: what the device computes, and
 * communicates beside that without waiting for other ranks. */
struct compare_measure {
	enum { MEASURE_TIME, MEASURE_DEVICE, MEASURE_LAYER, MEASURE_LIF, MEASURE_RATE } what;
	size_t offset;       /* of an int64_t in phase_times */
	enum phase phase;    /* MEASURE_TIME: its time is known where this phase's is; PHASE_COUNT: always */
	const char *layer;   /* name in the run; NULL: the side has none */
	unsigned columns;    /* bits of enum phase_layer_column */
	double samples_base; /* MEASURE_RATE: of an iteration */
};

/* The series of those of a side's runs that have the quantity. */
struct compare_series {
	struct effect_series *runs;
	struct effect_side side;
	double mean, median; /* of the runs' means and medians; NaN: no run has it */
};

/* The mean of one run's series; NaN: it has none of the quantity. */
double compare_run_mean(const struct run *run, const struct compare_measure *measure);

/* The step's time. And the device's, where the traces have it (MEASURE_DEVICE). */
extern const struct compare_measure compare_step_time, compare_device_time;
bool compare_has_device_times(const struct run *run);

/* The caller frees it. */
struct compare_series compare_series(
	const struct compare *compare, size_t number, struct compare_measure measure);
void compare_series_free(struct compare_series *all);

#endif
