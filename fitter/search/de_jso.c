/*
 * jSO (Brest, Maucec and Boskovic, CEC 2017): success-history based adaptive differential evolution with
 * linear reduction of the population (Tanabe and Fukunaga's L-SHADE, CEC 2014), whose pull to the leaders
 * grows with the evaluations. A generation is made and then evaluated as a whole.
 */
#include "search.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POPULATION 4
#define MEMORY 5 /* entries of the success history; the last stays at LAST_ENTRY */
#define LAST_ENTRY 0.9
#define FIRST_SCALE 0.3 /* of the others, at the beginning */
#define FIRST_CROSSOVER 0.8
#define SPREAD 0.1
#define BEST_SHARE 0.25 /* of the population that may lead, first and last */
#define LAST_SHARE 0.125
/* The population has met when its costs differ by no more than this, relative to the best. */
#define MET 1e-9
#define MET_AT_LIMIT 1e-4

struct jso {
	struct search *search;
	size_t size, first_count, count;
	double *x, *costs;            /* count members */
	double *trials, *trial_costs; /* one for each member */
	double *scales, *crossovers;  /* that made the trials */
	double *archive;              /* members that were replaced */
	size_t archive_count;
	size_t *order; /* members from the best on */
	double memory_scale[MEMORY], memory_crossover[MEMORY];
	size_t memory_next;
};

static int compare_costs(const void *a, const void *b, void *context)
{
	const double *costs = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	if (costs[i] != costs[j])
		return costs[i] < costs[j] ? -1 : 1;
	return (i > j) - (i < j);
}

static void rank_members(struct jso *jso)
{
	for (size_t i = 0; i < jso->count; i++)
		jso->order[i] = i;
	qsort_r(jso->order, jso->count, sizeof(*jso->order), compare_costs, jso->costs);
}

static double done(const struct jso *jso)
{
	return (double)jso->search->evaluations / (double)jso->search->limit;
}

static size_t population(size_t size)
{
	return (size_t)lround(25 * log((double)size) * sqrt((double)size));
}

/* What is drawn, bounded by the share of the evaluations that is done. */
static void limit(double share, double *scale, double *crossover)
{
	if (share < 0.25)
		*crossover = fmax(*crossover, 0.7);
	else if (share < 0.5)
		*crossover = fmax(*crossover, 0.6);
	if (share < 0.6)
		*scale = fmin(*scale, 0.7);
}

/* Of the pull to the leader, in units of the scale, by the share of the evaluations that is done. */
static double lead_weight(double share)
{
	return share < 0.2 ? 0.7 : share < 0.4 ? 0.8 : 1.2;
}

static void draw(struct jso *jso, double *scale, double *crossover)
{
	struct random *random = &jso->search->random;
	size_t entry = random_below(random, MEMORY);
	double mean_scale = jso->memory_scale[entry], mean_crossover = jso->memory_crossover[entry];

	*crossover = 0;
	if (mean_crossover >= 0)
		*crossover = fmin(1, fmax(0, mean_crossover + SPREAD * random_normal(random)));
	do
		*scale = mean_scale + SPREAD * random_cauchy(random);
	while (*scale <= 0);
	*scale = fmin(1, *scale);
	limit(done(jso), scale, crossover);
}

/* current-to-pbest/1/bin with archive */
static void make_trial(struct jso *jso, size_t member, size_t leaders)
{
	struct random *random = &jso->search->random;
	const double *lower = jso->search->lower, *upper = jso->search->upper;
	size_t size = jso->size, first, second, fill = random_below(random, size);
	const double *x = jso->x + member * size, *lead, *one, *other;
	double *trial = jso->trials + member * size, scale, crossover, weight;

	draw(jso, &scale, &crossover);
	jso->scales[member] = scale;
	jso->crossovers[member] = crossover;
	weight = scale * lead_weight(done(jso));
	lead = jso->x + jso->order[random_below(random, leaders)] * size;
	do
		first = random_below(random, jso->count);
	while (first == member);
	do
		second = random_below(random, jso->count + jso->archive_count);
	while (second == member || second == first);
	one = jso->x + first * size;
	other = second < jso->count ? jso->x + second * size : jso->archive + (second - jso->count) * size;
	for (size_t i = 0; i < size; i++) {
		trial[i] = x[i];
		if (i != fill && random_unit(random) >= crossover)
			continue;
		trial[i] += weight * (lead[i] - x[i]) + scale * (one[i] - other[i]);
		/* half way to the bound */
		if (trial[i] < lower[i])
			trial[i] = (lower[i] + x[i]) / 2;
		else if (trial[i] > upper[i])
			trial[i] = (upper[i] + x[i]) / 2;
	}
}

static void archive_member(struct jso *jso, const double *x)
{
	size_t place = jso->archive_count;

	if (place >= jso->count)
		place = random_below(&jso->search->random, jso->count);
	else
		jso->archive_count++;
	memcpy(jso->archive + place * jso->size, x, jso->size * sizeof(*x));
}

/* Weighted Lehmer means of what succeeded, as the history's next entry. */
static void remember(struct jso *jso, double gained, double scale_square, double scale_sum,
	double crossover_square, double crossover_sum)
{
	double *scale = &jso->memory_scale[jso->memory_next];
	double *crossover = &jso->memory_crossover[jso->memory_next];
	double old_scale = *scale, old_crossover = *crossover;

	if (!(gained > 0))
		return;
	*scale = scale_square / scale_sum;
	*crossover = old_crossover < 0 || crossover_sum == 0 ? -1 : crossover_square / crossover_sum;
	*scale = (*scale + old_scale) / 2;
	if (*crossover >= 0)
		*crossover = (*crossover + old_crossover) / 2;
	jso->memory_next = (jso->memory_next + 1) % (MEMORY - 1);
}

static void select_survivors(struct jso *jso)
{
	double gained = 0, scale_square = 0, scale_sum = 0, crossover_square = 0, crossover_sum = 0;

	for (size_t i = 0; i < jso->count; i++) {
		double *x = jso->x + i * jso->size, *trial = jso->trials + i * jso->size;
		double gain = jso->costs[i] - jso->trial_costs[i], f = jso->scales[i], c = jso->crossovers[i];

		if (gain < 0 || isnan(gain))
			continue;
		if (gain > 0) {
			/* from an overflow to a number is a gain like any other */
			gain = fmin(gain, 1e30);
			gained += gain;
			scale_square += gain * f * f;
			scale_sum += gain * f;
			crossover_square += gain * c * c;
			crossover_sum += gain * c;
			archive_member(jso, x);
		}
		memcpy(x, trial, jso->size * sizeof(*x));
		jso->costs[i] = jso->trial_costs[i];
		search_note(jso->search, x, jso->costs[i]);
	}
	remember(jso, gained, scale_square, scale_sum, crossover_square, crossover_sum);
}

/* Fewer members with the evaluations; the worst go. */
static void reduce(struct jso *jso)
{
	double aim =
		(double)jso->first_count - ((double)jso->first_count - LEAST_POPULATION) * fmin(1, done(jso));
	size_t count = (size_t)lround(aim), kept = 0;

	rank_members(jso);
	count = count < LEAST_POPULATION ? LEAST_POPULATION : count;
	if (count < jso->count) {
		/* trials are rewritten before they are read: room to sort in */
		for (; kept < count; kept++) {
			memcpy(jso->trials + kept * jso->size, jso->x + jso->order[kept] * jso->size,
				jso->size * sizeof(double));
			jso->trial_costs[kept] = jso->costs[jso->order[kept]];
		}
		memcpy(jso->x, jso->trials, count * jso->size * sizeof(double));
		memcpy(jso->costs, jso->trial_costs, count * sizeof(double));
		jso->count = count;
		rank_members(jso);
	}
	while (jso->archive_count > jso->count) {
		size_t place = random_below(&jso->search->random, jso->archive_count--);

		memcpy(jso->archive + place * jso->size, jso->archive + jso->archive_count * jso->size,
			jso->size * sizeof(double));
	}
}

static void generation(struct jso *jso)
{
	double share = BEST_SHARE + (LAST_SHARE - BEST_SHARE) * fmin(1, done(jso));
	size_t leaders = (size_t)lround(share * (double)jso->count);
	struct search *search = jso->search;

	leaders = leaders < 2 ? 2 : leaders;
	for (size_t i = 0; i < jso->count; i++)
		make_trial(jso, i, leaders);
	search->evaluate(search->context, jso->trials, jso->count, jso->trial_costs);
	search->evaluations += jso->count;
	search->generations++;
	select_survivors(jso);
	reduce(jso);
}

static bool met(const struct jso *jso, double tolerance)
{
	double best = jso->costs[jso->order[0]], worst = jso->costs[jso->order[jso->count - 1]];

	return isfinite(worst) && worst - best <= tolerance * fabs(best);
}

static int begin(struct jso *jso)
{
	struct search *search = jso->search;
	size_t count = jso->first_count, size = jso->size;

	jso->x = malloc(count * size * sizeof(double));
	jso->costs = malloc(count * sizeof(double));
	jso->trials = malloc(count * size * sizeof(double));
	jso->trial_costs = malloc(count * sizeof(double));
	jso->scales = malloc(count * sizeof(double));
	jso->crossovers = malloc(count * sizeof(double));
	jso->archive = malloc((count + 1) * size * sizeof(double));
	jso->order = malloc(count * sizeof(*jso->order));
	if (!jso->x || !jso->costs || !jso->trials || !jso->trial_costs || !jso->scales || !jso->crossovers ||
		!jso->archive || !jso->order || search_hypercube(search, jso->x, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < MEMORY; i++) {
		jso->memory_scale[i] = i + 1 < MEMORY ? FIRST_SCALE : LAST_ENTRY;
		jso->memory_crossover[i] = i + 1 < MEMORY ? FIRST_CROSSOVER : LAST_ENTRY;
	}
	search->evaluate(search->context, jso->x, count, jso->costs);
	search->evaluations += count;
	for (size_t i = 0; i < count; i++)
		search_note(search, jso->x + i * size, jso->costs[i]);
	rank_members(jso);
	return 0;
}

int jso_search(struct search *search)
{
	struct jso jso = {.search = search, .size = search->size};
	int status;

	jso.first_count = search->population ? search->population : population(search->size);
	if (jso.first_count < LEAST_POPULATION)
		jso.first_count = LEAST_POPULATION;
	jso.count = jso.first_count;
	status = begin(&jso);
	if (status < 0)
		goto out;
	search->end = PM_FIT_END_LIMIT;
	while (search->evaluations < search->limit) {
		generation(&jso);
		if (search->report &&
			search->report(search->context, search->evaluations, search->best_cost)) {
			search->end = PM_FIT_END_INTERRUPTED;
			break;
		}
		if (met(&jso, MET)) {
			search->end = PM_FIT_END_CONVERGED;
			break;
		}
	}
	/* that the evaluations were used up is the plan */
	if (search->end == PM_FIT_END_LIMIT && met(&jso, MET_AT_LIMIT))
		search->end = PM_FIT_END_CONVERGED;
out:
	free(jso.x);
	free(jso.costs);
	free(jso.trials);
	free(jso.trial_costs);
	free(jso.scales);
	free(jso.crossovers);
	free(jso.archive);
	free(jso.order);
	return status;
}
