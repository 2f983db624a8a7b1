/*
 * How two sides differ in one quantity, and whether that is chance. A side is one run, or several repetitions
 * of a configuration; a run is a series of values, one an iteration, in order of time.
 *
 * Iterations that follow each other are not independent, so a run's series is taken in blocks, as long as its
 * autocorrelation says (Politis and White, "Automatic block-length selection for the dependent bootstrap",
 * 2004, with the correction of Patton, Politis and White, 2009). Where a side has several runs, the variation
 * between runs counts too, and the runs' means are what is independent.
 *
 * All random numbers come from a seed: the same values give the same answer.
 */
#ifndef ANALYSES_COMPARE_EFFECT_H
#define ANALYSES_COMPARE_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EFFECT_LEAST 4         /* blocks that a run must have before anything is decided */
#define EFFECT_CONFIDENCE 0.95 /* of intervals and bounds */

struct effect_series {
	double *values;
	size_t count;
};

struct effect_side {
	const struct effect_series *runs;
	size_t run_count;
};

struct effect {
	double difference; /* of the means, other - base; of a side's runs each weighs the same */
	double low, high;  /* 95% confidence interval of it; NaN: too few values for one */
	double p;          /* that a difference like this is chance, both ways; NaN: cannot be said */
	double cliff;      /* Cliff's delta, see effect_cliff */
	size_t block;      /* length of the longest run's blocks, in iterations */
	bool enough;       /* values to decide by: EFFECT_LEAST blocks a run, or repetitions on both sides */
	bool repeated;     /* interval and p are from the variation between runs */
};

/*
 * The interval: circular block bootstrap of each run (Politis and Romano 1992), the percentiles' distances
 * from the difference made longer as few blocks demand: by sqrt(n / (n - block)) and by Student's t over the
 * normal quantile (the "expanded percentile interval" of Hesterberg, "What Teachers Should Know About the
 * Bootstrap", 2015; degrees of freedom by Welch and Satterthwaite). The p of two runs: permutation of blocks
 * between the sides, of Welch's t, which stays valid where the sides' variances differ (Janssen 1997). With
 * repetitions: Student's t of the runs' means with a common variance; the interval is the longer of both.
 */
void effect_compare(const struct effect_side *base, const struct effect_side *other, uint64_t seed,
	struct effect *effect);

/* The same with bounds for a question to one side: the difference is above `low` with 95%, and below `high`
 * with 95%. Of two runs without p. */
void effect_bounds(const struct effect_side *base, const struct effect_side *other, uint64_t seed,
	struct effect *effect);

/* Share of pairs in which the other's value is greater, less the share in which it is smaller: -1 to 1; NaN
 * without values. 2 U / (n m) - 1 with U of Mann and Whitney. */
double effect_cliff(const double *base, size_t base_count, const double *other, size_t other_count);

/* negligible (< 0.147), small (< 0.33), medium (< 0.474), large: Romano and others 2006. */
const char *effect_size(double cliff);

/* How many values in a row make a block, from their autocorrelation: 1 to count / 4. */
size_t effect_block(const double *values, size_t count);

/* Mean; NaN without values. */
double effect_mean(const double *values, size_t count);

/* The mean of the runs' means; NaN without runs. */
double effect_side_mean(const struct effect_side *side);

/* Each p becomes the smallest false discovery rate at which it counts (Benjamini and Hochberg 1995). NaN is
 * no test, and stays. */
void effect_adjust(double *p, size_t count);

#endif
