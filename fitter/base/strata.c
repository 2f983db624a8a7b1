/* Folds that keep levels: see strata.h. */
#include "strata.h"
#include "base/role.h"

#include <errno.h>
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
