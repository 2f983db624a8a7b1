/* The table over batch and GPUs, and what it says to buy: see guide.h. */
#include "guide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples in the time that the model speaks of; for an epoch of unknown size 1: rates are then relative. */
static double work(const struct guide *guide, double gpus, double batch)
{
	if (guide->is_epoch)
		return guide->samples > 0 ? guide->samples : 1;
	if (isnan(batch))
		return guide->is_local ? gpus : 1;
	return guide->is_local ? batch * gpus : batch;
}

static bool has_samples(const struct guide *guide, double batch)
{
	return guide->is_epoch ? guide->samples > 0 : !isnan(batch);
}

static bool is_outside(const struct guide *guide, size_t column, double value)
{
	const struct pm_fit_model_column *which;

	if (column == GUIDE_NONE || isnan(value))
		return false;
	which = &guide->model->columns[column];
	return value > which->greatest * (1 + 1e-12) || value < which->least * (1 - 1e-12);
}

static bool is_allowed(const struct guide *guide, double gpus, double batch)
{
	double local = guide->is_local ? batch : batch / gpus;

	if (guide->most_gpus > 0 && gpus > guide->most_gpus)
		return false;
	return !(guide->most_local_batch > 0 && local > guide->most_local_batch);
}

/* What follows from the times of a row of cells: `times` has a stride between resamples. */
static int fill_row(
	const struct guide *guide, struct guide_cell *row, size_t count, const double *times, size_t stride)
{
	size_t rows = 1 + guide->model->resample_count;
	double *numbers = malloc(rows * sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct guide_cell *cell = &row[i];
		double done = work(guide, cell->gpus, cell->batch);

		for (size_t r = 0; r < rows; r++)
			numbers[r] = times[r * stride + i];
		cell->time = guide_interval(guide, numbers);
		for (size_t r = 0; r < rows; r++)
			numbers[r] = row[0].gpus * done / work(guide, row[0].gpus, cell->batch) *
				     times[r * stride] / times[r * stride + i];
		cell->speedup = guide_interval(guide, numbers);
		cell->efficiency = cell->speedup.value / cell->gpus;
		cell->marginal =
			i ? (cell->speedup.value - row[i - 1].speedup.value) / (cell->gpus - row[i - 1].gpus)
			  : NAN;
		cell->samples_per_s =
			has_samples(guide, cell->batch) ? done / (cell->time.value * guide->unit_s) : NAN;
		cell->cost =
			guide->price > 0 ? guide->price * cell->gpus / 3600 / cell->samples_per_s * 1e6 : NAN;
		cell->extrapolated = is_outside(guide, guide->gpus, cell->gpus) ||
				     is_outside(guide, guide->batch, cell->batch);
		cell->allowed = is_allowed(guide, cell->gpus, cell->batch) && cell->time.value > 0;
	}
	free(numbers);
	return 0;
}

static size_t count_within(const struct guide *guide, const double *gpus, size_t count)
{
	size_t within = 0;

	while (within < count && (guide->most_gpus <= 0 || gpus[within] <= guide->most_gpus))
		within++;
	return within;
}

static size_t last_that_pays(const struct guide *guide, const struct guide_cell *row, size_t count)
{
	size_t last = 0;

	if (!count)
		return GUIDE_NONE;
	while (last + 1 < count && row[last + 1].marginal >= guide->worth)
		last++;
	return last;
}

/* Samples (or epochs) in a unit of time, and the same for a GPU: price and unit change no order. */
static double rate(const struct guide *guide, const struct guide_cell *cell)
{
	return work(guide, cell->gpus, cell->batch) / cell->time.value;
}

static void choose(
	const struct guide *guide, struct guide_table *table, bool inside, size_t *fastest, size_t *cheapest)
{
	const struct guide_cell *cells = table->cells;

	*fastest = *cheapest = GUIDE_NONE;
	for (size_t i = 0; i < table->gpu_count * table->batch_count; i++) {
		const struct guide_cell *cell = &cells[i];

		if (!cell->allowed || (inside && cell->extrapolated))
			continue;
		if (*fastest == GUIDE_NONE || rate(guide, cell) > rate(guide, &cells[*fastest]) * (1 + 1e-9))
			*fastest = i;
		if (*cheapest == GUIDE_NONE ||
			rate(guide, cell) / cell->gpus >
				rate(guide, &cells[*cheapest]) / cells[*cheapest].gpus * (1 + 1e-9))
			*cheapest = i;
	}
}

int guide_table_fill(const struct guide *guide, const double *gpus, size_t gpu_count, const double *batches,
	size_t batch_count, struct guide_table *table)
{
	size_t n = guide->model->column_count, count = gpu_count * batch_count;
	double *points = malloc((n * count + 1) * sizeof(*points)), *times = NULL;
	int status = -ENOMEM;

	*table = (struct guide_table){.gpu_count = gpu_count,
		.batch_count = batch_count,
		.within = count_within(guide, gpus, gpu_count)};
	table->cells = calloc(count + 1, sizeof(*table->cells));
	table->last = calloc(batch_count + 1, sizeof(*table->last));
	if (!points || !table->cells || !table->last)
		goto out;
	for (size_t i = 0; i < count; i++) {
		table->cells[i].gpus = gpus[i % gpu_count];
		table->cells[i].batch = batches[i / gpu_count];
		memcpy(points + i * n, guide->point, n * sizeof(*points));
		if (guide->gpus != GUIDE_NONE)
			points[i * n + guide->gpus] = table->cells[i].gpus;
		if (guide->batch != GUIDE_NONE)
			points[i * n + guide->batch] = table->cells[i].batch;
	}
	times = guide_times(guide, points, count);
	if (!times)
		goto out;
	status = 0;
	for (size_t b = 0; b < batch_count && status == 0; b++) {
		struct guide_cell *row = table->cells + b * gpu_count;

		status = fill_row(guide, row, gpu_count, times + b * gpu_count, count);
		table->last[b] = last_that_pays(guide, row, table->within);
	}
	choose(guide, table, false, &table->fastest, &table->cheapest);
	choose(guide, table, true, &table->fastest_inside, &table->cheapest_inside);
out:
	free(points);
	free(times);
	return status;
}

void guide_table_free(struct guide_table *table)
{
	free(table->cells);
	free(table->last);
	table->cells = NULL;
	table->last = NULL;
}
