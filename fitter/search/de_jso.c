/* Success-history adaptation: see de_shade.h. */
#include "de_shade.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_POPULATION 4
#define MEMORY_GREATEST 8
#define SPREAD 0.1
/* The population has met when its costs differ by no more than this, relative to the best. */
#define MET 1e-9
#define MET_AT_LIMIT 1e-4

struct shade {
	struct search *search;
	const struct shade_rules *rules;
	size_t size, first_count, count;
	double *x, *costs;            /* count members */
	double *trials, *trial_costs; /* one for each member */
	double *scales, *crossovers;  /* that made the trials */
	double *archive;              /* members that were replaced */
	size_t archive_count;
	size_t *order; /* members from the best on */
	double memory_scale[MEMORY_GREATEST], memory_crossover[MEMORY_GREATEST];
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

static void rank_members(struct shade *shade)
{
	for (size_t i = 0; i < shade->count; i++)
		shade->order[i] = i;
	qsort_r(shade->order, shade->count, sizeof(*shade->order), compare_costs, shade->costs);
}

static double done(const struct shade *shade)
{
	return (double)shade->search->evaluations / (double)shade->search->limit;
}

static void draw(struct shade *shade, double *scale, double *crossover)
{
	struct random *random = &shade->search->random;
	size_t entry = random_below(random, shade->rules->memory);
	bool fixed = shade->rules->fixed_entry && entry == shade->rules->memory - 1;
	double mean_scale = fixed ? 0.9 : shade->memory_scale[entry];
	double mean_crossover = fixed ? 0.9 : shade->memory_crossover[entry];

	*crossover = 0;
	if (mean_crossover >= 0)
		*crossover = fmin(1, fmax(0, mean_crossover + SPREAD * random_normal(random)));
	do
		*scale = mean_scale + SPREAD * random_cauchy(random);
	while (*scale <= 0);
	*scale = fmin(1, *scale);
	if (shade->rules->limit)
		shade->rules->limit(done(shade), scale, crossover);
}

/* current-to-pbest/1/bin with archive */
static void make_trial(struct shade *shade, size_t member, size_t leaders)
{
	struct random *random = &shade->search->random;
	const double *lower = shade->search->lower, *upper = shade->search->upper;
	size_t size = shade->size, first, second, fill = random_below(random, size);
	const double *x = shade->x + member * size, *lead, *one, *other;
	double *trial = shade->trials + member * size, scale, crossover, weight;

	draw(shade, &scale, &crossover);
	shade->scales[member] = scale;
	shade->crossovers[member] = crossover;
	weight = scale * (shade->rules->lead_weight ? shade->rules->lead_weight(done(shade)) : 1);
	lead = shade->x + shade->order[random_below(random, leaders)] * size;
	do
		first = random_below(random, shade->count);
	while (first == member);
	do
		second = random_below(random, shade->count + shade->archive_count);
	while (second == member || second == first);
	one = shade->x + first * size;
	other = second < shade->count ? shade->x + second * size
				      : shade->archive + (second - shade->count) * size;
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

static void archive_member(struct shade *shade, const double *x)
{
	size_t room = (size_t)(shade->rules->archive_rate * (double)shade->count),
	       place = shade->archive_count;

	if (room == 0)
		return;
	if (place >= room)
		place = random_below(&shade->search->random, room);
	else
		shade->archive_count++;
	memcpy(shade->archive + place * shade->size, x, shade->size * sizeof(*x));
}

/* Weighted Lehmer means of what succeeded, as the history's next entry. */
static void remember(struct shade *shade, double gained, double scale_square, double scale_sum,
	double crossover_square, double crossover_sum)
{
	size_t entries = shade->rules->memory - shade->rules->fixed_entry;
	double *scale = &shade->memory_scale[shade->memory_next];
	double *crossover = &shade->memory_crossover[shade->memory_next];
	double old_scale = *scale, old_crossover = *crossover;

	if (!(gained > 0))
		return;
	*scale = scale_square / scale_sum;
	*crossover = old_crossover < 0 || crossover_sum == 0 ? -1 : crossover_square / crossover_sum;
	if (shade->rules->averaged) {
		*scale = (*scale + old_scale) / 2;
		if (*crossover >= 0)
			*crossover = (*crossover + old_crossover) / 2;
	}
	shade->memory_next = (shade->memory_next + 1) % entries;
}

static void select_survivors(struct shade *shade)
{
	double gained = 0, scale_square = 0, scale_sum = 0, crossover_square = 0, crossover_sum = 0;

	for (size_t i = 0; i < shade->count; i++) {
		double *x = shade->x + i * shade->size, *trial = shade->trials + i * shade->size;
		double gain = shade->costs[i] - shade->trial_costs[i], f = shade->scales[i],
		       c = shade->crossovers[i];

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
			archive_member(shade, x);
		}
		memcpy(x, trial, shade->size * sizeof(*x));
		shade->costs[i] = shade->trial_costs[i];
		search_note(shade->search, x, shade->costs[i]);
	}
	remember(shade, gained, scale_square, scale_sum, crossover_square, crossover_sum);
}

/* Fewer members with the evaluations; the worst go. */
static void reduce(struct shade *shade)
{
	double aim = (double)shade->first_count -
		     ((double)shade->first_count - LEAST_POPULATION) * fmin(1, done(shade));
	size_t count = (size_t)lround(aim), kept = 0, room;

	rank_members(shade);
	count = count < LEAST_POPULATION ? LEAST_POPULATION : count;
	if (count < shade->count) {
		/* trials are rewritten before they are read: room to sort in */
		for (; kept < count; kept++) {
			memcpy(shade->trials + kept * shade->size,
				shade->x + shade->order[kept] * shade->size, shade->size * sizeof(double));
			shade->trial_costs[kept] = shade->costs[shade->order[kept]];
		}
		memcpy(shade->x, shade->trials, count * shade->size * sizeof(double));
		memcpy(shade->costs, shade->trial_costs, count * sizeof(double));
		shade->count = count;
		rank_members(shade);
	}
	room = (size_t)(shade->rules->archive_rate * (double)shade->count);
	while (shade->archive_count > room) {
		size_t place = random_below(&shade->search->random, shade->archive_count--);

		memcpy(shade->archive + place * shade->size,
			shade->archive + shade->archive_count * shade->size, shade->size * sizeof(double));
	}
}

static void generation(struct shade *shade)
{
	const struct shade_rules *rules = shade->rules;
	double share = rules->best_share + (rules->last_share - rules->best_share) * fmin(1, done(shade));
	size_t leaders = (size_t)lround(share * (double)shade->count);
	struct search *search = shade->search;

	leaders = leaders < 2 ? 2 : leaders;
	for (size_t i = 0; i < shade->count; i++)
		make_trial(shade, i, leaders);
	search->evaluate(search->context, shade->trials, shade->count, shade->trial_costs);
	search->evaluations += shade->count;
	search->generations++;
	select_survivors(shade);
	reduce(shade);
}

static bool met(const struct shade *shade, double tolerance)
{
	double best = shade->costs[shade->order[0]], worst = shade->costs[shade->order[shade->count - 1]];

	return isfinite(worst) && worst - best <= tolerance * fabs(best);
}

static int begin(struct shade *shade)
{
	struct search *search = shade->search;
	size_t count = shade->first_count, size = shade->size;

	shade->x = malloc(count * size * sizeof(double));
	shade->costs = malloc(count * sizeof(double));
	shade->trials = malloc(count * size * sizeof(double));
	shade->trial_costs = malloc(count * sizeof(double));
	shade->scales = malloc(count * sizeof(double));
	shade->crossovers = malloc(count * sizeof(double));
	shade->archive =
		malloc(((size_t)(shade->rules->archive_rate * (double)count) + 1) * size * sizeof(double));
	shade->order = malloc(count * sizeof(*shade->order));
	if (!shade->x || !shade->costs || !shade->trials || !shade->trial_costs || !shade->scales ||
		!shade->crossovers || !shade->archive || !shade->order ||
		search_hypercube(search, shade->x, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < shade->rules->memory; i++) {
		shade->memory_scale[i] = shade->rules->scale;
		shade->memory_crossover[i] = shade->rules->crossover;
	}
	search->evaluate(search->context, shade->x, count, shade->costs);
	search->evaluations += count;
	for (size_t i = 0; i < count; i++)
		search_note(search, shade->x + i * size, shade->costs[i]);
	rank_members(shade);
	return 0;
}

int shade_search(struct search *search, const struct shade_rules *rules)
{
	struct shade shade = {.search = search, .rules = rules, .size = search->size};
	int status;

	shade.first_count = search->population ? search->population : rules->population(search->size);
	if (shade.first_count < LEAST_POPULATION)
		shade.first_count = LEAST_POPULATION;
	shade.count = shade.first_count;
	status = begin(&shade);
	if (status < 0)
		goto out;
	search->end = PM_FIT_END_LIMIT;
	while (search->evaluations < search->limit) {
		generation(&shade);
		if (search->report &&
			search->report(search->context, search->evaluations, search->best_cost)) {
			search->end = PM_FIT_END_INTERRUPTED;
			break;
		}
		if (met(&shade, MET)) {
			search->end = PM_FIT_END_CONVERGED;
			break;
		}
	}
	/* that the evaluations were used up is the plan */
	if (search->end == PM_FIT_END_LIMIT && met(&shade, MET_AT_LIMIT))
		search->end = PM_FIT_END_CONVERGED;
out:
	free(shade.x);
	free(shade.costs);
	free(shade.trials);
	free(shade.trial_costs);
	free(shade.scales);
	free(shade.crossovers);
	free(shade.archive);
	free(shade.order);
	return status;
}
