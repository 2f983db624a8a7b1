/* Series of a quantity: see compare_series.h. */
#include "compare_series.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static size_t find_layer(const struct layer_list *layers, const char *name)
{
	size_t layer = 0;

	while (layer < layers->count && strcmp(layers->items[layer].name, name) != 0)
		layer++;
	return layer;
}

/* The worker's value in its i-th used iteration; NaN: it has none ever. */
static double value_of(
	const struct analysis_worker *worker, const struct compare_measure *measure, size_t layer, size_t i)
{
	const struct phase_times *times = &worker->phases.times[worker->used[i]];
	double sum = 0;
	int64_t ns;

	if (measure->what == MEASURE_DEVICE)
		return (double)(times->compute_ns + times->exclusive_ns[PHASE_COMMUNICATION] -
				times->wait_ns);
	if (measure->what != MEASURE_LAYER) {
		memcpy(&ns, (const char *)times + measure->offset, sizeof(ns));
		return (double)ns;
	}
	for (unsigned c = 0; c < PHASE_LAYER_COLUMNS; c++)
		if (measure->columns & 1u << c)
			sum += worker->phases.layers_ns[(worker->used[i] * worker->layers.count + layer) *
								PHASE_LAYER_COLUMNS +
							c];
	return sum;
}

/* Means over the workers; with `lif`, (3.8) instead. */
static struct effect_series series_of(const struct run *run, const struct compare_measure *measure)
{
	const struct analysis *analysis = &run->analysis;
	struct effect_series series = {.count = SIZE_MAX};
	double *greatest;
	size_t having = 0;

	for (size_t w = 0; w < analysis->worker_count; w++)
		if (analysis->workers[w].used_count < series.count)
			series.count = analysis->workers[w].used_count;
	series.values = mem_alloc(series.count, sizeof(*series.values));
	greatest = mem_alloc(series.count, sizeof(*greatest));
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		size_t layer =
			measure->what == MEASURE_LAYER ? find_layer(&worker->layers, measure->layer) : 0;

		if (measure->what == MEASURE_LAYER && layer == worker->layers.count)
			continue;
		having++;
		for (size_t i = 0; i < series.count; i++) {
			double value = value_of(worker, measure, layer, i);

			series.values[i] += value;
			greatest[i] = fmax(greatest[i], value);
		}
	}
	for (size_t i = 0; i < series.count; i++) {
		if (measure->what == MEASURE_LIF)
			series.values[i] =
				series.values[i] > 0 ? (double)having * greatest[i] / series.values[i] : 1;
		else
			series.values[i] /= having ? (double)having : 1;
		if (measure->what == MEASURE_RATE)
			series.values[i] =
				series.values[i] > 0 ? measure->samples_base * 1e9 / series.values[i] : 0;
	}
	free(greatest);
	if (!having)
		series.count = 0;
	return series;
}

const struct compare_measure compare_step_time = {
	.what = MEASURE_TIME, .offset = offsetof(struct phase_times, iteration_ns), .phase = PHASE_COUNT};
const struct compare_measure compare_device_time = {.what = MEASURE_DEVICE, .phase = PHASE_COMMUNICATION};

double compare_run_mean(const struct run *run, const struct compare_measure *measure)
{
	struct effect_series series = series_of(run, measure);
	const double mean = effect_mean(series.values, series.count);

	free(series.values);
	return mean;
}

/* Our own hook takes device times or does not; what others record are device times. */
bool compare_has_device_times(const struct run *run)
{
	const struct timeline *timeline = &run->analysis.timeline;

	for (size_t p = 0; p < timeline->process_count; p++)
		if (!timeline->processes[p].recorder &&
			timeline->processes[p].device_source == PM_DEVICE_NONE)
			return false;
	return true;
}

/* Whether the side's layers include the measure's, and its traces can tell its phase's time. */
static bool side_has(const struct compare_side *side, const struct compare_measure *measure)
{
	if (measure->what == MEASURE_LAYER)
		return measure->layer != NULL;
	for (size_t r = 0; r < side->run_count && measure->phase != PHASE_COUNT; r++)
		if (!analysis_phase_known(&side->runs[r]->analysis, measure->phase))
			return false;
	return true;
}

struct compare_series compare_series(
	const struct compare *compare, size_t number, struct compare_measure measure)
{
	const struct compare_side *side = &compare->sides[number];
	double samples = compare->facts[number].samples;
	struct compare_series all = {
		.runs = mem_alloc(side->run_count, sizeof(*all.runs)), .mean = NAN, .median = NAN};
	double sum = 0, median_sum = 0;
	size_t count = 0;

	measure.samples_base = samples;
	for (size_t r = 0; r < side->run_count && side_has(side, &measure); r++) {
		struct effect_series series = series_of(side->runs[r], &measure);
		double *sorted = mem_alloc(series.count, sizeof(*sorted));

		if (compare->how.per_sample && measure.what != MEASURE_LIF && measure.what != MEASURE_RATE)
			for (size_t i = 0; i < series.count; i++)
				series.values[i] /= samples;
		if (series.count > 0) {
			sum += effect_mean(series.values, series.count);
			memcpy(sorted, series.values, series.count * sizeof(*sorted));
			median_sum += analysis_statistics(sorted, series.count).median;
			all.runs[count++] = series;
		} else {
			free(series.values);
		}
		free(sorted);
	}
	all.side = (struct effect_side){all.runs, count};
	if (count > 0) {
		all.mean = sum / (double)count;
		all.median = median_sum / (double)count;
	}
	return all;
}

void compare_series_free(struct compare_series *all)
{
	for (size_t r = 0; r < all->side.run_count; r++)
		free(all->runs[r].values);
	free(all->runs);
}
