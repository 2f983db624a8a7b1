/* Folds that keep levels: see strata.h. */
#include "strata.h"
#include "base/role.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct item {
	double stratum;
	size_t sample, place;
};

static int compare(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->stratum != b->stratum)
		return a->stratum < b->stratum ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

int strata_sort(const struct pm_fit_problem *problem, size_t *samples, size_t count)
{
	struct item *items;
	int has_levels = 0;

	for (size_t i = 0; i < problem->column_count; i++)
		has_levels |= role_has_levels(problem->columns[i].role);
	if (!has_levels)
		return 0;
	items = malloc((count + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t k = 0; k < count; k++) {
		items[k] = (struct item){0, samples[k], k};
		for (size_t i = 0; i < problem->column_count; i++)
			if (role_has_levels(problem->columns[i].role))
				items[k].stratum =
					items[k].stratum * (double)problem->columns[i].level_count +
					problem->columns[i].values[samples[k]];
	}
	qsort(items, count, sizeof(*items), compare);
	for (size_t k = 0; k < count; k++)
		samples[k] = items[k].sample;
	free(items);
	return 1;
}

/* By all settings. */
static int compare_settings(const void *left, const void *right, void *context)
{
	const struct pm_fit_problem *problem = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;

	for (size_t i = 0; i < problem->column_count; i++) {
		const struct pm_fit_column *column = &problem->columns[i];

		if (column->role != PM_FIT_IGNORED && column->values[a] != column->values[b])
			return column->values[a] < column->values[b] ? -1 : 1;
	}
	return 0;
}

int strata_folds(const struct pm_fit_problem *problem, const size_t *order, size_t fold_count, size_t *fold)
{
	size_t count = problem->sample_count, dealt = 0;
	size_t *sorted = malloc((count + 1) * sizeof(*sorted)), *group = malloc((count + 1) * sizeof(*group));
	size_t *of_group = malloc((count + 1) * sizeof(*of_group));
	int status = sorted && group && of_group ? 0 : -ENOMEM;

	for (size_t k = 0; k < count && status == 0; k++) {
		sorted[k] = k;
		of_group[k] = SIZE_MAX;
	}
	if (status == 0)
		qsort_r(sorted, count, sizeof(*sorted), compare_settings, (void *)problem);
	for (size_t k = 0, groups = 0; k < count && status == 0; k++) {
		groups += k > 0 && compare_settings(&sorted[k - 1], &sorted[k], (void *)problem) != 0;
		group[sorted[k]] = groups;
	}
	for (size_t i = 0; i < count && status == 0; i++) {
		size_t *its = &of_group[group[order[i]]];

		if (*its == SIZE_MAX)
			*its = dealt++ % fold_count;
		fold[order[i]] = *its;
	}
	free(sorted);
	free(group);
	free(of_group);
	return status == 0 && dealt < fold_count ? -EINVAL : status;
}
