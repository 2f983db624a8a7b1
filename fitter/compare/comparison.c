/* Data sets side by side: see comparison.h. */
#include "comparison.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct pm_fit_model *fit(const struct comparison_set *set, const struct pm_fit_parameter *parameter)
{
	struct pm_fit_model *model;
	int status = pm_fit(&set->observations.train, parameter, &model);

	if (status < 0)
		errx(1, "%s: %s", set->path, strerror(-status));
	if (model->interrupted)
		errx(1, "interrupted");
	return model;
}

static void fit_both(
	const struct comparison *c, struct comparison_set *set, const struct pm_fit_parameter *asked)
{
	struct pm_fit_parameter freely = *asked, bound = *asked;

	freely.lambda_coefficients = freely.lambda_powers = 0;
	bound.lambda_coefficients = c->lambda;
	bound.lambda_powers = c->is_bound_shown ? asked->lambda_powers : c->lambda;
	bound.penalty = c->is_l1 ? PM_FIT_L1 : PM_FIT_L2;
	if (c->is_bound_shown)
		freely.bootstrap = 0;
	else
		bound.bootstrap = 0;
	set->free = fit(set, &freely);
	set->bound = fit(set, &bound);
	set->shown = c->is_bound_shown ? set->bound : set->free;
	if (baseline_of_model(
		    &set->model_rows[0], set->free, &set->observations.train, &set->observations.test) < 0 ||
		baseline_of_model(&set->model_rows[1], set->bound, &set->observations.train,
			&set->observations.test) < 0)
		errx(1, "out of memory");
	set->model_rows[1].name = c->is_l1 ? "model-l1" : "model-l2";
}

static void run_set(const struct comparison *c, struct comparison_set *set,
	const struct pm_fit_parameter *parameter, void (*show)(const char *what))
{
	int status;

	if (show)
		show(set->name);
	fit_both(c, set, parameter);
	status = baselines_run(
		&set->others, &set->observations.train, &set->observations.test, parameter, c->wanted, show);
	if (status < 0)
		errx(1, "%s: %s", set->path, status == -EINTR ? "interrupted" : strerror(-status));
}

static void compare_pairs(struct comparison *c)
{
	c->pairs = calloc(c->count * c->count + 1, sizeof(*c->pairs));
	if (!c->pairs)
		errx(1, "out of memory");
	for (size_t i = 0; i < c->count; i++)
		for (size_t j = i + 1; j < c->count; j++) {
			struct comparison_pair *pair = &c->pairs[c->pair_count++];

			pair->first = i;
			pair->second = j;
			if (differences_find(c->sets[i].shown, c->sets[j].shown, c->confidence, &pair->rows,
				    &pair->count) < 0)
				errx(1, "out of memory");
		}
}

void comparison_run(
	struct comparison *c, const struct pm_fit_parameter *parameter, void (*show)(const char *what))
{
	for (size_t i = 0; i < c->count; i++)
		if (!c->sets[i].shown)
			run_set(c, &c->sets[i], parameter, show);
	compare_pairs(c);
}

const struct baseline *comparison_row(const struct comparison_set *set, size_t place)
{
	if (!set->free)
		return NULL;
	if (place < 2)
		return &set->model_rows[place];
	return place - 2 < set->others.count ? &set->others.results[place - 2] : NULL;
}

void comparison_free(struct comparison *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct comparison_set *set = &c->sets[i];

		if (!set->free)
			pm_fit_free(set->shown);
		pm_fit_free(set->free);
		pm_fit_free(set->bound);
		baseline_free(&set->model_rows[0]);
		baseline_free(&set->model_rows[1]);
		baselines_free(&set->others);
		observations_free(&set->observations);
		free(set->name);
	}
	for (size_t i = 0; i < c->pair_count; i++)
		free(c->pairs[i].rows);
	free(c->sets);
	free(c->pairs);
}
