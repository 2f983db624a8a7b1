/*
 * How often the gate of `pmanalyze compare --fail-if-slower 5%` is right: runs are drawn whose true
 * difference is known, with noise of consecutive iterations that depend on each other and noise between runs,
 * and judged as before (a difference of more than the margin, other than zero with p at most 0.05; else
 * passed) and as now (slower.h). Fails if more are wrong than 95% allow.
 *
 *     bench_gate [PAIRS]      of each row; 40 without it
 */
#include "analyses/compare/compare.h"
#include "analyses/compare/slower.h"
#include "base/random.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITERATIONS = 40, MOST_RUNS = 8 };
#define MARGIN 0.05
#define CORRELATION 0.5 /* of an iteration with the one before */

/* What is drawn: shares of the base's time. */
struct noise {
	const char *name;
	size_t runs; /* of each side */
	double between, within;
};

static const struct noise noises[] = {
	{"device time, a run each", 1, 0.001, 0.01},
	{"step time, 3 runs each", 3, 0.01, 0.05},
	{"step time, 5 runs each", 5, 0.02, 0.05},
	{"step time, 8 runs each", 8, 0.04, 0.05},
};
static const double changes[] = {0, 0.02, 0.05, 0.07, 0.10};

struct count {
	unsigned slower, passed, undecided;
};

static void draw_run(struct random *random, const struct noise *noise, double mean, double *values)
{
	const double level = mean * (1 + noise->between * random_normal(random));
	double deviation = random_normal(random);

	for (size_t i = 0; i < ITERATIONS; i++) {
		values[i] = level * (1 + noise->within * deviation);
		deviation =
			CORRELATION * deviation + sqrt(1 - CORRELATION * CORRELATION) * random_normal(random);
	}
}

static struct effect_side draw_side(struct random *random, const struct noise *noise, double mean,
	struct effect_series *runs, double (*values)[ITERATIONS])
{
	for (size_t r = 0; r < noise->runs; r++) {
		draw_run(random, noise, mean, values[r]);
		runs[r] = (struct effect_series){values[r], ITERATIONS};
	}
	return (struct effect_side){runs, noise->runs};
}

/* What this gate was: whether the difference is other than zero. */
static bool was_slower(const struct effect_side *base, const struct effect_side *other, uint64_t seed)
{
	struct effect effect;

	effect_compare(base, other, seed, &effect);
	return effect.difference > MARGIN * effect_side_mean(base) && effect.p <= COMPARE_LEVEL &&
	       effect.low > 0;
}

static void judge_pair(struct random *random, const struct noise *noise, double change, uint64_t seed,
	struct count *before, struct count *after)
{
	static double values[2][MOST_RUNS][ITERATIONS];
	struct effect_series runs[2][MOST_RUNS];
	const struct effect_side base = draw_side(random, noise, 1, runs[0], values[0]);
	const struct effect_side other = draw_side(random, noise, 1 + change, runs[1], values[1]);
	const bool failed = was_slower(&base, &other, seed);
	struct slower slower;

	before->slower += failed;
	before->passed += !failed;
	slower_find(&base, &other, MARGIN, seed, &slower);
	after->slower += slower.answer == SLOWER_YES;
	after->passed += slower.answer == SLOWER_NO;
	after->undecided += slower.answer != SLOWER_YES && slower.answer != SLOWER_NO;
}

/* 95% allow 1 in 20 to be wrong; more than one and three standard deviations above that is no chance. */
static bool too_many(unsigned wrong, unsigned pairs)
{
	return wrong > 1 + 0.05 * pairs + 3 * sqrt(0.05 * 0.95 * pairs);
}

static bool run_row(const struct noise *noise, double change, unsigned pairs, uint64_t seed)
{
	struct count before = {0}, after = {0};
	struct random random;
	bool good;

	random_init(&random, seed, 0);
	for (unsigned i = 0; i < pairs; i++)
		judge_pair(&random, noise, change, seed + i, &before, &after);
	good = !too_many(change <= MARGIN ? after.slower : after.passed, pairs) &&
	       (change > 0.02 || noise->runs > 1 || after.slower == 0) &&
	       (change < 0.1 || noise->runs > 1 || after.slower == pairs);
	printf("  %-24s %5.0f%%  %6u %6u  %6u %6u %9u%s\n", noise->name, 100 * change, before.slower,
		before.passed, after.slower, after.passed, after.undecided,
		good ? "" : "  too many are wrong");
	return good;
}

int main(int argc, char **argv)
{
	const unsigned pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 40;
	bool good = true;

	if (pairs == 0)
		errx(2, "usage: bench_gate [PAIRS]");
	printf("%u pairs a row, margin 5%%        before         now\n"
	       "                           truth  slower passed  slower passed undecided\n",
		pairs);
	for (size_t n = 0; n < sizeof(noises) / sizeof(*noises); n++)
		for (size_t c = 0; c < sizeof(changes) / sizeof(*changes); c++)
			good &= run_row(&noises[n], changes[c], pairs, 1000 * n + c);
	return !good;
}
