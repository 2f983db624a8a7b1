/*
 * Is one side slower than another by more than a margin? Three answers. The times of the base, made longer by
 * the margin, are the ones that the other's are compared with, and the bounds are those of a question to one
 * side: the answer is wrong in at most 5 of 100 where the difference is just the margin, and less often
 * elsewhere.
 */
#ifndef ANALYSES_COMPARE_SLOWER_H
#define ANALYSES_COMPARE_SLOWER_H

#include "effect.h"

#define SLOWER_POWER 0.8      /* probability that so many runs as it says decide */
#define SLOWER_MOST_RUNS 1000 /* of a side; more are not looked for */

enum slower_answer {
	SLOWER_NO,
	SLOWER_YES,
	SLOWER_UNDECIDED, /* neither is shown */
	SLOWER_UNKNOWN,   /* too few iterations for bounds */
};

struct slower {
	enum slower_answer answer;
	double margin;    /* share of the base */
	double change;    /* other / base - 1, of the means; NaN: unknown */
	double low, high; /* of the change: above `low` with 95%, below `high` with 95%; NaN */
	bool repeated;    /* the variation between runs is in the bounds */
	size_t runs;      /* undecided: of each side would decide, if the change is as measured; 0: more than
			     SLOWER_MOST_RUNS, or unknown */
};

/* Times of which less is better; each side has runs. margin: 0.05 allows 5%. */
void slower_find(const struct effect_side *base, const struct effect_side *other, double margin,
	uint64_t seed, struct slower *slower);

/*
 * The same of two means that are known with this standard error of their difference and so many degrees of
 * freedom: `base` of `base_count` runs, `other` of `other_count`. From a spread that was measured elsewhere.
 */
struct slower_means {
	double base, other;
	size_t base_count, other_count;
	double deviation; /* standard deviation between runs */
	double freedom;   /* of that deviation */
};
void slower_by_means(const struct slower_means *means, double margin, struct slower *slower);

#endif
