/* What optimisers share: see search.h. */
#include "search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int search_hypercube(struct search *search, double *x, size_t count)
{
	size_t *slices = malloc(count * sizeof(*slices));

	if (!slices)
		return -ENOMEM;
	for (size_t i = 0; i < search->size; i++) {
		double width = (search->upper[i] - search->lower[i]) / (double)count;

		for (size_t k = 0; k < count; k++)
			slices[k] = k;
		random_shuffle(&search->random, slices, count);
		for (size_t k = 0; k < count; k++)
			x[k * search->size + i] =
				search->lower[i] + ((double)slices[k] + random_unit(&search->random)) * width;
	}
	free(slices);
	return 0;
}

void search_note(struct search *search, const double *x, double cost)
{
	if (cost < search->best_cost) {
		search->best_cost = cost;
		memcpy(search->best, x, search->size * sizeof(*x));
	}
}
