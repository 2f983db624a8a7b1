/* Slower by more than a margin: see slower.h. */
#include "slower.h"
#include "base/memory.h"
#include "base/student.h"

#include <math.h>
#include <stdlib.h>

/* The t that is exceeded with probability 1 - `confidence`. */
static double one_sided_t(double confidence, double freedom)
{
	return student_quantile(2 * confidence - 1, freedom);
}

/* How many runs of each side would show a difference of so much with SLOWER_POWER, where one run of each has
 * this standard error. */
static size_t runs_needed(double difference, double error)
{
	for (size_t runs = 2; runs <= SLOWER_MOST_RUNS; runs++) {
		const double freedom = 2.0 * (double)runs - 2;
		const double t = one_sided_t(EFFECT_CONFIDENCE, freedom) + one_sided_t(SLOWER_POWER, freedom);

		if (t * error / sqrt((double)runs) <= fabs(difference))
			return runs;
	}
	return 0;
}

static enum slower_answer answer_of(double low, double high)
{
	return low > 0 ? SLOWER_YES : high <= 0 ? SLOWER_NO : SLOWER_UNDECIDED;
}

/* From the difference of the other's mean and the base's with the margin, and its bounds. */
static void settle(struct slower *slower, double base, double difference, double low, double high)
{
	slower->change = slower->margin + difference / base;
	slower->low = slower->margin + low / base;
	slower->high = slower->margin + high / base;
	slower->answer = answer_of(low, high);
}

/* So many runs of each side as are worth as much as the two sides' are. */
static double worth(size_t base_count, size_t other_count)
{
	return 2 / (1 / (double)base_count + 1 / (double)other_count);
}

static struct effect_side lengthened(const struct effect_side *side, double factor)
{
	struct effect_series *runs = mem_alloc(side->run_count, sizeof(*runs));

	for (size_t r = 0; r < side->run_count; r++) {
		runs[r].count = side->runs[r].count;
		runs[r].values = mem_alloc(runs[r].count, sizeof(double));
		for (size_t i = 0; i < runs[r].count; i++)
			runs[r].values[i] = factor * side->runs[r].values[i];
	}
	return (struct effect_side){runs, side->run_count};
}

static void free_side(const struct effect_side *side)
{
	for (size_t r = 0; r < side->run_count; r++)
		free(side->runs[r].values);
	free((void *)side->runs);
}

/* Of one run of each side, from bounds of the difference that several runs gave. */
static double error_of_one(const struct effect *effect, double count)
{
	const double freedom = effect->repeated ? fmax(1, 2 * count - 2) : 1e6;

	return (effect->high - effect->low) / 2 / one_sided_t(EFFECT_CONFIDENCE, freedom) * sqrt(count);
}

void slower_find(const struct effect_side *base, const struct effect_side *other, double margin,
	uint64_t seed, struct slower *slower)
{
	struct effect effect;
	const struct effect_side longer = lengthened(base, 1 + margin);
	const double mean = effect_side_mean(base);

	*slower = (struct slower){.answer = SLOWER_UNKNOWN,
		.margin = margin,
		.change = effect_side_mean(other) / mean - 1,
		.low = NAN,
		.high = NAN};
	effect_bounds(&longer, other, seed, &effect);
	free_side(&longer);
	if (!effect.enough || !isfinite(effect.low) || !(mean > 0))
		return;
	slower->repeated = effect.repeated;
	settle(slower, mean, effect.difference, effect.low, effect.high);
	if (slower->answer == SLOWER_UNDECIDED)
		slower->runs = runs_needed(
			effect.difference, error_of_one(&effect, worth(base->run_count, other->run_count)));
}

void slower_by_means(const struct slower_means *means, double margin, struct slower *slower)
{
	const double error = means->deviation * sqrt(1 / (double)means->other_count +
							pow(1 + margin, 2) / (double)means->base_count);
	const double difference = means->other - (1 + margin) * means->base;
	const double reach = one_sided_t(EFFECT_CONFIDENCE, means->freedom) * error;

	*slower = (struct slower){.answer = SLOWER_UNKNOWN,
		.margin = margin,
		.change = means->other / means->base - 1,
		.low = NAN,
		.high = NAN,
		.repeated = true};
	if (!isfinite(reach) || !(means->base > 0))
		return;
	settle(slower, means->base, difference, difference - reach, difference + reach);
	if (slower->answer == SLOWER_UNDECIDED)
		slower->runs = runs_needed(difference, means->deviation * M_SQRT2);
}
