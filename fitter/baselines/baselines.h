/*
 * Other ways to predict, on the same samples: what a formula is worth is seen beside a median, a straight
 * line, a power law, support vectors, a forest and boosted trees.
 */
#ifndef BASELINES_H
#define BASELINES_H

#include "pm_fit.h"

#include <stdbool.h>

#define BASELINES_NOTE 80

struct baseline {
	const char *name;
	const char *what;                  /* a few words for a person */
	bool skipped;                      /* it cannot learn this; note says why */
	bool is_random;                    /* the seed matters */
	size_t seed_count;                 /* 1 where nothing is random */
	struct pm_fit_error *train, *test; /* by seed; test is empty where there is no test */
	char note[BASELINES_NOTE];
	double seconds; /* of all seeds */
};

struct baselines {
	size_t count;
	struct baseline *results;
};

/* The names, ended by NULL, in the order of the table. */
extern const char *const baselines_names[];

/*
 * Runs those of which `wanted` says so (NULL: all), with parameter's seeds, threads and, for the generic
 * model, its search. 0 or -errno; baselines_free in either case. -EINTR: parameter->stop was set.
 */
int baselines_run(struct baselines *baselines, const struct pm_fit_problem *train,
	const struct pm_fit_problem *test, const struct pm_fit_parameter *parameter, const bool *wanted,
	void (*progress)(const char *name));
void baselines_free(struct baselines *baselines);

/*
 * The same of a fit that is there already: each of its seeds' solutions measured on both sets. The model is
 * as before when it answers. 0 or -ENOMEM; baseline_free in either case.
 */
int baseline_of_model(struct baseline *baseline, struct pm_fit_model *model,
	const struct pm_fit_problem *train, const struct pm_fit_problem *test);
void baseline_free(struct baseline *baseline);

/* The figures of an error, as programs and people call them. */
#define BASELINES_FIGURES 5
struct baselines_figure {
	const char *key, *title;
	size_t offset; /* in struct pm_fit_error */
};
extern const struct baselines_figure baselines_figures[BASELINES_FIGURES];

/* Mean and standard deviation of one of the figures over seeds: offsetof(struct pm_fit_error, mape). */
void baselines_spread(
	const struct pm_fit_error *errors, size_t count, size_t offset, double *mean, double *deviation);

#endif
