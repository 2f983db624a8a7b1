/* jSO (Brest, Maucec and Boskovic, CEC 2017): the rules; how it works is in de_shade.h. */
#include "de_shade.h"

#include <math.h>

static size_t population(size_t size)
{
	return (size_t)lround(25 * log((double)size) * sqrt((double)size));
}

static void limit(double done, double *scale, double *crossover)
{
	if (done < 0.25)
		*crossover = fmax(*crossover, 0.7);
	else if (done < 0.5)
		*crossover = fmax(*crossover, 0.6);
	if (done < 0.6)
		*scale = fmin(*scale, 0.7);
}

static double lead_weight(double done)
{
	return done < 0.2 ? 0.7 : done < 0.4 ? 0.8 : 1.2;
}

int jso_search(struct search *search)
{
	static const struct shade_rules rules = {
		.population = population,
		.archive_rate = 1,
		.memory = 5,
		.scale = 0.3,
		.crossover = 0.8,
		.fixed_entry = true,
		.averaged = true,
		.best_share = 0.25,
		.last_share = 0.125,
		.limit = limit,
		.lead_weight = lead_weight,
	};

	return shade_search(search, &rules);
}
