/*
 * Differential evolution as scipy.optimize.differential_evolution does it by default (SciPy's reference
 * guide, and Storn and Price 1997): best1bin, a Latin hypercube of 15 members per parameter, a scale drawn
 * from [0.5, 1) once per generation, recombination 0.7, a member replaced at once, a number outside of the
 * box drawn anew, and an end when the costs' standard deviation is at most `tolerance` times their mean. The
 * random numbers are not SciPy's.
 *
 * A member that replaces another is seen by the next one, so candidates are evaluated one by one.
 */
#include "search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_PER_PARAMETER 15
#define LEAST_MEMBERS 5
#define RECOMBINATION 0.7

struct population {
	size_t count, size, best;
	double *x, *costs, *trial;
};

static bool converged(const struct population *population, double tolerance)
{
	double mean = 0, square = 0;

	for (size_t i = 0; i < population->count; i++)
		mean += population->costs[i] / (double)population->count;
	for (size_t i = 0; i < population->count; i++)
		square += pow(population->costs[i] - mean, 2) / (double)population->count;
	return isfinite(mean) && sqrt(square) <= tolerance * fabs(mean);
}

static void make_trial(struct search *search, struct population *population, size_t member, double scale)
{
	size_t size = population->size, count = population->count, first, second, fill;
	const double *best = population->x + population->best * size;

	memcpy(population->trial, population->x + member * size, size * sizeof(double));
	do
		first = random_below(&search->random, count);
	while (first == member);
	do
		second = random_below(&search->random, count);
	while (second == member || second == first);
	fill = random_below(&search->random, size);
	for (size_t i = 0; i < size; i++) {
		double *x = &population->trial[i];

		if (i != fill && random_unit(&search->random) >= RECOMBINATION)
			continue;
		*x = best[i] + scale * (population->x[first * size + i] - population->x[second * size + i]);
		if (*x < search->lower[i] || *x > search->upper[i])
			*x = search->lower[i] +
			     random_unit(&search->random) * (search->upper[i] - search->lower[i]);
	}
}

static void generation(struct search *search, struct population *population)
{
	double scale = 0.5 + 0.5 * random_unit(&search->random), cost;
	size_t size = population->size;

	for (size_t i = 0; i < population->count && search->evaluations < search->limit; i++) {
		make_trial(search, population, i, scale);
		search->evaluate(search->context, population->trial, 1, &cost);
		search->evaluations++;
		if (cost > population->costs[i])
			continue;
		memcpy(population->x + i * size, population->trial, size * sizeof(double));
		population->costs[i] = cost;
		if (cost <= population->costs[population->best])
			population->best = i;
		search_note(search, population->trial, cost);
	}
	search->generations++;
}

int de_search(struct search *search)
{
	struct population population = {.size = search->size};
	int status = -ENOMEM;

	population.count = search->population ? search->population : MEMBERS_PER_PARAMETER * search->size;
	if (population.count < LEAST_MEMBERS)
		population.count = LEAST_MEMBERS;
	population.x = malloc(population.count * search->size * sizeof(double));
	population.costs = malloc(population.count * sizeof(double));
	population.trial = malloc(search->size * sizeof(double));
	if (!population.x || !population.costs || !population.trial ||
		search_hypercube(search, population.x, population.count) < 0)
		goto out;
	search->evaluate(search->context, population.x, population.count, population.costs);
	search->evaluations += population.count;
	for (size_t i = 0; i < population.count; i++) {
		if (population.costs[i] < population.costs[population.best])
			population.best = i;
		search_note(search, population.x + i * search->size, population.costs[i]);
	}
	search->end = PM_FIT_END_LIMIT;
	while (search->evaluations < search->limit) {
		generation(search, &population);
		if (search->report &&
			search->report(search->context, search->evaluations, search->best_cost)) {
			search->end = PM_FIT_END_INTERRUPTED;
			break;
		}
		if (converged(&population, search->tolerance)) {
			search->end = PM_FIT_END_CONVERGED;
			break;
		}
	}
	status = 0;
out:
	free(population.x);
	free(population.costs);
	free(population.trial);
	return status;
}
