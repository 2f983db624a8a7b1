/*
 * The search for the expression that predicts best.
 *
 * For every number of constants it keeps a few expressions. In turn the best that has not been is changed in
 * every way (expression_grow.h); all of these are fitted to a few samples, the promising ones to more, and
 * take their places. When nothing is left to change, or the work is used up, those that are kept
 * are fitted to all samples and measured by cross-validation; the largest value of each number's column is
 * left out in turn, too. Of as many constants the simplest is kept that is not worse than the best of them by
 * more than the standard error of their difference. What is chosen is the one with the fewest constants that
 * is no worse than the best by more than the standard error of the best (the rule of Breiman, Friedman,
 * Olshen and Stone), or by no more than a millionth of the time; or the one that the Bayesian information
 * criterion takes, where that has fewer. Of those it leaves out the ones that miss the largest values by
 * twice what another of them does. The test takes no part in it.
 */
#ifndef EXPRESSION_SEARCH_H
#define EXPRESSION_SEARCH_H

#include "expression.h"

struct expression_progress {
	size_t round;
	double share; /* of the work that is done, 0 to 1 */
	double loss;  /* of the best so far on the samples of the search */
	size_t constants;
	double seconds;
};

struct expression_settings {
	enum expression_cost cost;
	size_t constants; /* at most */
	size_t folds;
	uint64_t seed;
	double work;    /* floating-point operations, about: the same on every machine */
	double seconds; /* ends the search before the work is done; 0: never. Then machines matter */
	size_t thread_count;
	const int *stop; /* as pm_fit_parameter's */
	void (*progress)(void *context, const struct expression_progress *progress); /* may be NULL */
	void *context;
};

struct expression_result {
	struct expression expression;
	double fitted;          /* mean loss of the samples that it was fitted to, all of them */
	double held_out, error; /* by cross-validation, and the standard error of that */
	double excess,
		excess_error; /* over the best: mean difference of the losses, and its standard error */
	double *losses;       /* of each sample when it was held out */
	double beyond[EXPRESSION_COLUMNS]; /* mean loss of the samples with the number's largest value, when
					      these were left out; NAN: it takes too few values */
	double worst_beyond;               /* the greatest of them; NAN: none */
};

struct expression_search {
	struct expression_terms *terms;
	size_t result_count;
	struct expression_result *results; /* the Pareto front: more constants, less held-out loss */
	size_t best, chosen;
	size_t candidates, rounds; /* fitted expressions */
	double seconds;
	bool complete;    /* nothing was left to change */
	bool interrupted; /* by stop or seconds */
};

void expression_defaults(struct expression_settings *settings);
/* The terms are the caller's, and grow. 0 or -errno (-EDOM: a time is not more than its offset);
 * expression_search_free in either case. */
int expression_search(struct expression_search *search, struct expression_terms *terms,
	const struct pm_fit_problem *problem, const struct expression_settings *settings);
void expression_search_free(struct expression_search *search);

#endif
