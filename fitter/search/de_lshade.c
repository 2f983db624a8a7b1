/* L-SHADE (Tanabe and Fukunaga, CEC 2014): the rules; how it works is in de_shade.h. */
#include "de_shade.h"

static size_t population(size_t size)
{
	return 18 * size;
}

int lshade_search(struct search *search)
{
	static const struct shade_rules rules = {
		.population = population,
		.archive_rate = 2.6,
		.memory = 6,
		.scale = 0.5,
		.crossover = 0.5,
		.best_share = 0.11,
		.last_share = 0.11,
	};

	return shade_search(search, &rules);
}
