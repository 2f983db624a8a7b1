/* Differences and their certainty: see effect.h. Block sums come from running sums, so a resampled mean takes
 * as many steps as there are blocks. */
#include "effect.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	RESAMPLES = 2000,
	PERMUTATIONS = 4999,
	MOST_BLOCKS = 256, /* of a long run: longer blocks than need be cost little and are always valid */
};

/* How sure an interval is, and the normal quantile of that: P(|Z| <= it) = confidence. */
struct certainty {
	double confidence, normal;
};
static const struct certainty two_sided = {EFFECT_CONFIDENCE, 1.959963984540054};
static const struct certainty one_sided = {2 * EFFECT_CONFIDENCE - 1, 1.644853626951472};

/* From splitmix64 (Steele, Lea and Flood 2014). */
static size_t draw_below(uint64_t *state, size_t bound)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(((unsigned __int128)random_mix(*state) * bound) >> 64);
}

double effect_mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : NAN;
}

static double *sorted_copy(const double *values, size_t count)
{
	double *copy = mem_alloc(count, sizeof(*copy));

	if (count)
		memcpy(copy, values, count * sizeof(*copy));
	statistics_sort(copy, count);
	return copy;
}

double effect_cliff(const double *base, size_t base_count, const double *other, size_t other_count)
{
	double *a = sorted_copy(base, base_count), *b = sorted_copy(other, other_count);
	size_t below = 0, upto = 0; /* of a, less than b[i], and not greater */
	double sum = 0;

	for (size_t i = 0; i < other_count; i++) {
		while (below < base_count && a[below] < b[i])
			below++;
		while (upto < base_count && a[upto] <= b[i])
			upto++;
		sum += (double)below - (double)(base_count - upto);
	}
	free(a);
	free(b);
	return base_count && other_count ? sum / ((double)base_count * (double)other_count) : NAN;
}

const char *effect_size(double cliff)
{
	double size = fabs(cliff);

	return isnan(cliff)   ? ""
	       : size < 0.147 ? "negligible"
	       : size < 0.33  ? "small"
	       : size < 0.474 ? "medium"
			      : "large";
}

/* Autocovariances at lags 0 to `most`; the caller frees them. */
static double *covariances(const double *values, size_t count, size_t most)
{
	double mean = effect_mean(values, count), *result = mem_alloc(most + 1, sizeof(*result));

	for (size_t lag = 0; lag <= most; lag++) {
		for (size_t i = 0; i + lag < count; i++)
			result[lag] += (values[i] - mean) * (values[i + lag] - mean);
		result[lag] /= (double)count;
	}
	return result;
}

/* The lag behind which no `run` correlations in a row count; the last that counts where there is none. */
static size_t last_lag(const double *covariance, size_t most, size_t run, double least)
{
	size_t last = 1, quiet = 0;

	for (size_t lag = 1; lag <= most; lag++) {
		if (fabs(covariance[lag] / covariance[0]) < least) {
			if (++quiet == run)
				return lag - run > 1 ? lag - run : 1;
		} else {
			quiet = 0;
			last = lag;
		}
	}
	return last;
}

/* What a run's autocorrelation asks for. */
struct blocks {
	size_t length;
	double longer; /* so many times as long as blocks say are deviations of the mean */
};

/* Sums over lags of covariances, with a flat top: weight 1 to half the window, then down to 0. */
struct lag_sums {
	double all;      /* variance of the mean, times count */
	double weighted; /* each times its lag */
	double kept;     /* share of `all` that is left where the mean was itself estimated */
};

static struct lag_sums sum_lags(const double *covariance, size_t window, double count)
{
	struct lag_sums sums = {.all = covariance[0], .kept = 1 - 1 / count};

	for (size_t lag = 1; lag <= window; lag++) {
		double part = (double)lag / (double)window, weight = part <= 0.5 ? 1 : 2 * (1 - part);

		sums.weighted += 2 * weight * (double)lag * covariance[lag];
		sums.all += 2 * weight * covariance[lag];
		sums.kept -= 2 * weight / count;
	}
	return sums;
}

/* Blocks miss what links one with the next: their variance has the weights 1 - lag / length. */
static double missed(
	const double *covariance, size_t most, size_t length, const struct lag_sums *sums, double count)
{
	double seen = covariance[0], kept = 1 - (double)length / count;
	double first = covariance[1] / covariance[0], whole = 0;

	for (size_t lag = 1; lag < length && lag <= most; lag++)
		seen += 2 * (1 - (double)lag / (double)length) * covariance[lag];
	if (!(seen > 0))
		return 1;
	if (sums->all > 0 && sums->kept > 0.25)
		whole = sums->all / sums->kept;
	/* A window ends where correlations are not sure; that the first of them goes on as its powers is
	 * (Andrews 1991), with Kendall's correction of its bias (1954). */
	if (first > 1 / sqrt(count)) {
		first = fmin(first + (1 + 3 * first) / count, 0.97);
		whole = fmax(whole, covariance[0] * (1 + first) / (1 - first));
	}
	return sqrt(fmax(1, whole / (seen / kept)));
}

static struct blocks find_blocks(const double *values, size_t count)
{
	double n = (double)count, *covariance;
	size_t run = (size_t)fmax(5, sqrt(log10(fmax(n, 1)))), most, window;
	size_t longest = count / 4 > 1 ? count / 4 : 1, least = (count + MOST_BLOCKS - 1) / MOST_BLOCKS;
	struct blocks blocks = {least ? least : 1, 1};
	struct lag_sums sums;

	if (count < 8)
		return blocks;
	most = (size_t)ceil(sqrt(n)) + run;
	if (most > count - 1)
		most = count - 1;
	covariance = covariances(values, count, most);
	if (covariance[0] > 0) {
		window = 2 * last_lag(covariance, most, run, 2 * sqrt(log10(n) / n));
		sums = sum_lags(covariance, window < most ? window : most, n);
		/* b = (2 g^2 / D)^(1/3) n^(1/3), D = 4/3 spectrum^2 */
		if (sums.all > 0)
			blocks.length = (size_t)ceil(cbrt(1.5 * n * pow(sums.weighted / sums.all, 2)));
		blocks.length = sums.all > 0 && blocks.length < longest ? blocks.length : longest;
		blocks.length = blocks.length > least ? blocks.length : least;
		blocks.longer = missed(covariance, most, blocks.length, &sums, n);
	}
	free(covariance);
	return blocks;
}

size_t effect_block(const double *values, size_t count)
{
	return find_blocks(values, count).length;
}

/* Sums of deviations, for as many resampled differences as there are, and what the runs add to the variance.
 */
struct resampled {
	double *deviations;
	double variance, squares; /* squares: of the runs' parts, over their degrees of freedom */
};

static void resample(struct resampled *all, const struct effect_series *run, double weight, uint64_t *state)
{
	struct blocks how = find_blocks(run->values, run->count);
	size_t n = run->count, block = how.length, blocks = (n + block - 1) / block,
	       last = n - (blocks - 1) * block;
	double mean = effect_mean(run->values, n), *sums = mem_alloc(n + block + 1, sizeof(*sums));
	double longer = how.longer * sqrt((double)n / (double)(n - block)), squares = 0, part;

	for (size_t i = 0; i < n + block; i++)
		sums[i + 1] = sums[i] + run->values[i % n] - mean;
	for (size_t r = 0; r < RESAMPLES; r++) {
		double sum = 0;

		for (size_t i = 0; i < blocks; i++) {
			size_t from = draw_below(state, n);

			sum += sums[from + (i + 1 < blocks ? block : last)] - sums[from];
		}
		sum *= longer / (double)n;
		squares += sum * sum;
		all->deviations[r] += weight * sum;
	}
	free(sums);
	part = weight * weight * squares / RESAMPLES;
	all->variance += part;
	all->squares += part * part / ((double)n / (double)block - 1);
}

static void bootstrap(const struct effect_side *sides[2], const struct certainty *certainty, uint64_t seed,
	struct effect *effect)
{
	const size_t outside = (size_t)lrint(RESAMPLES * (1 - certainty->confidence) / 2);
	struct resampled all = {.deviations = mem_alloc(RESAMPLES, sizeof(double))};
	double factor = 1;

	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < sides[s]->run_count; r++)
			resample(&all, &sides[s]->runs[r], (s ? 1 : -1) / (double)sides[s]->run_count, &seed);
	if (all.squares > 0)
		factor = student_quantile(certainty->confidence, all.variance * all.variance / all.squares) /
			 certainty->normal;
	statistics_sort(all.deviations, RESAMPLES);
	effect->low = effect->difference + factor * all.deviations[outside];
	effect->high = effect->difference + factor * all.deviations[RESAMPLES - 1 - outside];
	free(all.deviations);
}

static double square_sum(const double *values, size_t count, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

/* Welch's |t| of the first `count` values against the rest. */
static double welch(const double *values, size_t count, size_t all)
{
	double n = (double)count, m = (double)(all - count);
	double a = effect_mean(values, count), b = effect_mean(values + count, all - count);
	double variance = square_sum(values, count, a) / (n * (n - 1)) +
			  square_sum(values + count, all - count, b) / (m * (m - 1));
	double difference = fabs(b - a);

	/* Rounding makes equal values differ. */
	if (difference <= 1e-12 * (fabs(a) + fabs(b)))
		return 0;
	return variance > 1e-24 * (a * a + b * b) ? difference / sqrt(variance) : INFINITY;
}

static size_t block_means(const struct effect_series *run, double *means)
{
	size_t blocks = run->count / effect_block(run->values, run->count);

	for (size_t i = 0; i < blocks; i++) {
		size_t from = i * run->count / blocks, to = (i + 1) * run->count / blocks;

		means[i] = effect_mean(run->values + from, to - from);
	}
	return blocks;
}

static double permute(const struct effect_series *base, const struct effect_series *other, uint64_t seed)
{
	double *means = mem_alloc(base->count + other->count, sizeof(*means)), measured;
	size_t first = block_means(base, means), all = first + block_means(other, means + first);
	size_t reached = 1; /* by the order that was measured */

	measured = welch(means, first, all) / fmax(find_blocks(base->values, base->count).longer,
						      find_blocks(other->values, other->count).longer);
	for (int i = 0; i < PERMUTATIONS && measured > 0; i++) {
		double t;

		for (size_t j = 0; j < first; j++) {
			size_t k = j + draw_below(&seed, all - j);
			double swap = means[j];

			means[j] = means[k];
			means[k] = swap;
		}
		t = welch(means, first, all);
		reached += t >= measured * (1 - 1e-9);
	}
	free(means);
	return measured > 0 ? (double)reached / (PERMUTATIONS + 1) : 1;
}

/* From the runs' means, with one variance for both sides; the interval that is there is not made shorter. */
static void of_runs(
	const struct effect_side *sides[2], const struct certainty *certainty, struct effect *effect)
{
	double squares = 0, shares = 0, freedom = -2, error, reach;

	for (int s = 0; s < 2; s++) {
		size_t count = sides[s]->run_count;
		double *means = mem_alloc(count, sizeof(*means));

		for (size_t r = 0; r < count; r++)
			means[r] = effect_mean(sides[s]->runs[r].values, sides[s]->runs[r].count);
		squares += square_sum(means, count, effect_mean(means, count));
		shares += 1 / (double)count;
		freedom += (double)count;
		free(means);
	}
	error = sqrt(squares / freedom * shares);
	reach = error * student_quantile(certainty->confidence, freedom);
	effect->p = effect->difference == 0 ? 1 : student_p(fabs(effect->difference) / error, freedom);
	effect->low = fmin(effect->low, effect->difference - reach);
	effect->high = fmax(effect->high, effect->difference + reach);
	effect->repeated = true;
}

double effect_side_mean(const struct effect_side *side)
{
	double sum = 0;

	for (size_t r = 0; r < side->run_count; r++)
		sum += effect_mean(side->runs[r].values, side->runs[r].count);
	return side->run_count ? sum / (double)side->run_count : NAN;
}

static double pooled_cliff(const struct effect_side *sides[2])
{
	double *values[2], result;
	size_t counts[2] = {0, 0};

	for (int s = 0; s < 2; s++) {
		for (size_t r = 0; r < sides[s]->run_count; r++)
			counts[s] += sides[s]->runs[r].count;
		values[s] = mem_alloc(counts[s], sizeof(double));
		counts[s] = 0;
		for (size_t r = 0; r < sides[s]->run_count; r++)
			for (size_t i = 0; i < sides[s]->runs[r].count; i++)
				values[s][counts[s]++] = sides[s]->runs[r].values[i];
	}
	result = effect_cliff(values[0], counts[0], values[1], counts[1]);
	free(values[0]);
	free(values[1]);
	return result;
}

/* All but p of two runs. False: there are too few values for an interval. */
static bool find_interval(const struct effect_side *sides[2], const struct certainty *certainty,
	uint64_t seed, struct effect *effect)
{
	size_t fewest = SIZE_MAX, fewest_blocks = SIZE_MAX;

	*effect = (struct effect){.low = NAN, .high = NAN, .p = NAN};
	effect->difference = effect_side_mean(sides[1]) - effect_side_mean(sides[0]);
	effect->cliff = pooled_cliff(sides);
	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < sides[s]->run_count; r++) {
			size_t count = sides[s]->runs[r].count,
			       block = effect_block(sides[s]->runs[r].values, count);

			fewest = count < fewest ? count : fewest;
			fewest_blocks = count / block < fewest_blocks ? count / block : fewest_blocks;
			effect->block = block > effect->block ? block : effect->block;
		}
	if (!isfinite(effect->difference) || fewest < 2)
		return false;
	bootstrap(sides, certainty, seed, effect);
	if (sides[0]->run_count > 1 || sides[1]->run_count > 1)
		of_runs(sides, certainty, effect);
	effect->enough = fewest_blocks >= EFFECT_LEAST;
	return true;
}

static bool has_blocks(const struct effect_series *run)
{
	return run->count / effect_block(run->values, run->count) >= 2;
}

void effect_compare(
	const struct effect_side *base, const struct effect_side *other, uint64_t seed, struct effect *effect)
{
	const struct effect_side *sides[2] = {base, other};

	if (find_interval(sides, &two_sided, seed, effect) && !effect->repeated &&
		has_blocks(&base->runs[0]) && has_blocks(&other->runs[0]))
		effect->p = permute(&base->runs[0], &other->runs[0], seed ^ 0x5bd1e995);
}

void effect_bounds(
	const struct effect_side *base, const struct effect_side *other, uint64_t seed, struct effect *effect)
{
	const struct effect_side *sides[2] = {base, other};

	(void)find_interval(sides, &one_sided, seed, effect);
}

struct ranked {
	double p;
	size_t place;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return a->p < b->p ? -1 : a->p > b->p;
}

void effect_adjust(double *p, size_t count)
{
	struct ranked *order = mem_alloc(count, sizeof(*order));
	size_t tests = 0;
	double least = 1;

	for (size_t i = 0; i < count; i++)
		if (!isnan(p[i]))
			order[tests++] = (struct ranked){p[i], i};
	qsort(order, tests, sizeof(*order), compare_ranked);
	for (size_t i = tests; i-- > 0;) {
		least = fmin(least, order[i].p * (double)tests / (double)(i + 1));
		p[order[i].place] = least;
	}
	free(order);
}
