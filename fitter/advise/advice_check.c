/* What is predicted against runs on several GPUs that were measured: see advice.h. */
#include "advice_private.h"

#include <math.h>

/* What was measured takes the place of what is predicted. */
static void take_measured(const struct advice *a, struct advice_row *row, struct advice_way *way)
{
	struct strategy_data_parts *parts = &way->choice.parts;

	parts->exposed = fmax(row->undelayed - (parts->total - parts->exposed), 0);
	way->time = way->low = row->undelayed;
	way->high = row->measured;
	way->rate = advice_batch(a, row->gpus) / way->time * 1e9;
	way->strength = !(row->undelayed < row->measured)       ? ADVICE_MEASURED
			: way->high <= ADVICE_NARROW * way->low ? ADVICE_MODERATE
								: ADVICE_WEAK;
	advice_set_limit(a, (double)row->gpus, way);
}

double advice_missed(const struct advice_check *check)
{
	return (check->iteration - check->delay) / check->predicted;
}

bool advice_is_far_off(double ratio)
{
	return ratio > ADVICE_NARROW || ratio < 1 / ADVICE_NARROW;
}

/* Of the run on the next number of GPUs, by factors. */
static double missed_nearby(const struct advice *a, size_t gpus)
{
	const struct advice_check *nearest = &a->checks[0];

	for (size_t i = 1; i < a->check_count; i++)
		if (fabs(log((double)a->checks[i].gpus / (double)gpus)) <
			fabs(log((double)nearest->gpus / (double)gpus)))
			nearest = &a->checks[i];
	return advice_missed(nearest);
}

/* What is predicted is as far off as it was nearby: else more GPUs would be quicker than fewer that were
 * measured. */
static void take_missed(const struct advice *a, const struct advice_row *row, struct advice_way *way)
{
	struct strategy_data_parts *parts = &way->choice.parts;
	const double ratio = missed_nearby(a, row->gpus), before = way->time;

	if (row->gpus == 1)
		return;
	way->time *= ratio;
	way->rate /= ratio;
	way->high *= fmax(ratio, 1);
	parts->exposed = fmax(parts->exposed + way->time - before, 0);
	advice_set_limit(a, (double)row->gpus, way);
}

void advice_find_delayed(struct advice *a)
{
	for (size_t i = 0; i < a->check_count; i++)
		if (a->checks[i].delay > (a->delayed ? a->delayed->delay : 0))
			a->delayed = &a->checks[i];
	for (size_t r = 0; r < a->count; r++) {
		struct advice_row *row = &a->rows[r];
		const double reads = advice_batch(a, row->gpus) / (double)row->gpus;

		row->delayed = NAN;
		if (!a->delayed || !row->best || row->gpus == 1)
			continue;
		row->delayed = row->measured > row->undelayed
				       ? row->measured
				       : row->best->time + a->delayed->delay * advice_times_run(a, reads);
	}
}

void advice_compare_checks(struct advice *a)
{
	double least = 1, greatest = 1, predicted;

	for (size_t i = 0; i < a->check_count; i++) {
		struct advice_check *check = &a->checks[i];

		check->predicted = NAN;
		for (size_t r = 0; r < a->count; r++)
			if (a->rows[r].gpus == check->gpus) {
				check->predicted = a->rows[r].ways[STRATEGY_NAME_DATA].choice.time;
				a->rows[r].measured = check->iteration;
				a->rows[r].undelayed = check->iteration - check->delay;
			}
		least = fmin(least, advice_missed(check));
		greatest = fmax(greatest, advice_missed(check));
	}
	for (size_t r = 0; r < a->count && a->check_count; r++) {
		struct advice_way *way = &a->rows[r].ways[STRATEGY_NAME_DATA];

		if (isnan(way->time))
			continue;
		if (isfinite(a->rows[r].measured)) {
			take_measured(a, &a->rows[r], way);
			continue;
		}
		predicted = way->time;
		take_missed(a, &a->rows[r], way);
		way->low = fmin(way->low, predicted * least);
		way->high = fmax(way->high, predicted * greatest);
		if (way->high > ADVICE_NARROW * way->low)
			way->strength = ADVICE_WEAK;
	}
}
