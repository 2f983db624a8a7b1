/*
 * Asks a committee's candidates for configurations that were kept from them: at random, and the largest of
 * each column. From the answers follow their weights and the width of intervals (committee_calibrate.c), and
 * the range of the coefficients that are shown: see committee.h.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/statistics.h"
#include "committee_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_TRAINED 6 /* configurations of a fold; of a table of few, which has short forms: */
#define LEAST_SHORT 2
#define SMALL 9 /* configurations */
#define FOLD_SEED 17

/* Folds while they are made. */
struct asking {
	struct committee *committee;
	struct examination *to;
	/* of the fold */
	bool *held;
	struct form_point *points;
	double *times, *compute;
};

/* What a fold's rows make of the candidates. */
static void ask(struct asking *x, size_t i, const struct form_rows *rows, size_t first, struct form *shown)
{
	const struct committee *c = x->committee;
	struct candidate candidate = c->candidates[i];

	committee_fit_candidate(&candidate, rows);
	candidate_residual(&candidate, rows->points, rows->times, rows->count);
	for (size_t k = first; k < x->to->count; k++) {
		struct committee_votes *votes = &x->to->votes[k].votes;

		votes->logs[i] = candidate_answer(&candidate, &c->points[x->to->votes[k].place],
			&votes->spread[i], &votes->variance[i]);
	}
	residual_free(&candidate.residual);
	if (i == c->best)
		*shown = candidate.forms[c->best_form];
}

static void note_range(struct committee *c, const struct form *shown)
{
	for (size_t j = 0; j < FORM_TERMS; j++) {
		c->low.terms[j] = fmin(c->low.terms[j], shown->terms[j]);
		c->high.terms[j] = fmax(c->high.terms[j], shown->terms[j]);
	}
}

/* Different values of a region's column among rows, in any order. */
static size_t levels_of(const struct form_point *points, size_t count, enum committee_region region)
{
	size_t levels = 0;

	for (size_t k = 0; k < count; k++) {
		bool is_new = true;

		for (size_t j = 0; j < k && is_new; j++)
			is_new = committee_coordinate(&points[j], region) !=
				 committee_coordinate(&points[k], region);
		levels += is_new;
	}
	return levels;
}

/* Fits to what is not held and asks for what is; too little of either is no fold. */
static void fold(struct asking *x, enum committee_region region)
{
	struct committee *c = x->committee;
	struct form_rows rows = {0, x->points, x->times, x->compute};
	struct form_point least = c->greatest, greatest = c->least;
	size_t first = x->to->count;
	struct fold made = {.region = region, .first = first};
	struct form shown;

	for (size_t k = 0; k < c->count; k++)
		if (!x->held[k]) {
			x->points[rows.count] = c->points[k];
			x->times[rows.count] = c->times[k];
			x->compute[rows.count++] = c->compute[k];
			committee_extend(&least, &greatest, &c->points[k]);
		}
	if (rows.count < (c->count < SMALL ? LEAST_SHORT : LEAST_TRAINED) || rows.count == c->count)
		return;
	for (size_t k = 0; k < c->count; k++)
		if (x->held[k]) {
			struct vote *vote = MEM_PUSH(x->to->votes, x->to->count, x->to->room);

			*vote = (struct vote){.place = k};
			committee_away(&c->points[k], &least, &greatest, vote->away);
			made.reach = fmax(made.reach, committee_reach(&c->points[k], &greatest, region));
		}
	for (size_t i = 0; i < c->candidate_count; i++) {
		double sum = 0;

		ask(x, i, &rows, first, &shown);
		for (size_t k = first; k < x->to->count; k++)
			sum += fabs(x->to->votes[k].votes.logs[i] - log(c->times[x->to->votes[k].place]));
		made.errors[i] = sum / (double)(x->to->count - first);
	}
	made.levels = levels_of(rows.points, rows.count, region);
	made.end = x->to->count;
	x->to->folds[x->to->fold_count++] = made;
	if (region == COMMITTEE_INSIDE)
		note_range(c, &shown);
}

static void random_folds(struct asking *x)
{
	struct committee *c = x->committee;
	size_t *order = mem_alloc(c->count, sizeof(*order));
	struct random random;

	for (size_t k = 0; k < c->count; k++)
		order[k] = k;
	random_init(&random, FOLD_SEED, 0);
	random_shuffle(&random, order, c->count);
	for (size_t f = 0; f < COMMITTEE_FOLDS; f++) {
		for (size_t k = 0; k < c->count; k++)
			x->held[order[k]] = k % COMMITTEE_FOLDS == f;
		fold(x, COMMITTEE_INSIDE);
	}
	free(order);
}

/* A configuration may be asked for only where its kind (one GPU, one node, several nodes) was fitted. */
static void hold_above(struct asking *x, enum committee_region region, double limit)
{
	const struct committee *c = x->committee;
	bool inside = false, among = false;

	for (size_t k = 0; k < c->count; k++) {
		x->held[k] = committee_coordinate(&c->points[k], region) > limit * (1 + 1e-9);
		inside |= !x->held[k] && c->points[k].gpus > 1 && c->points[k].nodes <= 1;
		among |= !x->held[k] && c->points[k].nodes > 1;
	}
	for (size_t k = 0; k < c->count; k++)
		if (x->held[k] && ((c->points[k].nodes > 1 && !among && c->has_regime[2]) ||
					  (c->points[k].nodes <= 1 && c->points[k].gpus > 1 && !inside))) {
			memset(x->held, 0, c->count * sizeof(*x->held));
			return;
		}
}

/* The limits above which a column's values are left out, each once: the largest value; what is above half of
 * it, for the batch above the middle one; the upper half, two thirds, three quarters of the values. */
static size_t cuts(
	const double *levels, size_t count, enum committee_region region, double limits[COMMITTEE_CUTS])
{
	const size_t kept[] = {count - 1, 0, (count + 1) / 2, (count + 2) / 3, (count + 3) / 4};
	double middle = region == COMMITTEE_BATCH ? levels[count / 2] : levels[count - 1] / 2;
	size_t made = 0;

	for (size_t i = 0; i < COMMITTEE_CUTS; i++) {
		double limit = i == 1 ? middle : levels[kept[i] - 1];
		bool is_new = limit < levels[count - 1] && limit >= levels[0];

		for (size_t j = 0; j < made; j++)
			is_new &= limit != limits[j];
		if (is_new)
			limits[made++] = limit;
	}
	return made;
}

static void largest_folds(struct asking *x, enum committee_region region)
{
	const struct committee *c = x->committee;
	double *levels = mem_alloc(c->count, sizeof(*levels)), limits[COMMITTEE_CUTS];
	size_t count = 0, made;

	for (size_t k = 0; k < c->count; k++)
		levels[k] = committee_coordinate(&c->points[k], region);
	statistics_sort(levels, c->count);
	for (size_t k = 0; k < c->count; k++)
		if (!count || levels[k] > levels[count - 1] * (1 + 1e-9))
			levels[count++] = levels[k];
	made = count > 2 ? cuts(levels, count, region, limits) : 0;
	for (size_t i = 0; i < made; i++) {
		hold_above(x, region, limits[i]);
		fold(x, region);
	}
	free(levels);
}

void committee_examine(struct committee *committee, struct examination *examination)
{
	struct arena arena = {0};
	struct asking x = {.committee = committee,
		.to = examination,
		.held = arena_alloc(&arena, committee->count, sizeof(bool)),
		.points = arena_alloc(&arena, committee->count, sizeof(struct form_point)),
		.times = arena_alloc(&arena, committee->count, sizeof(double)),
		.compute = arena_alloc(&arena, committee->count, sizeof(double))};

	*examination = (struct examination){0};
	committee->low = committee->high = committee->candidates[committee->best].forms[committee->best_form];
	random_folds(&x);
	for (enum committee_region r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		largest_folds(&x, r);
	arena_free(&arena);
}

void committee_examination_free(struct examination *examination)
{
	free(examination->votes);
	*examination = (struct examination){0};
}
