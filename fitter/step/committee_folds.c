/*
 * Asks a committee's candidates for configurations that were kept from them: at random, and the largest of
 * each column. From the answers follow the candidates' weights, by how much intervals are widened, and the
 * range of the coefficients that are shown: see committee.h.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/statistics.h"
#include "committee_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COVERED 0.95
#define NORMAL_COVERED 1.959964 /* standard deviations about the mean that hold so much */
#define UNTRIED 3.0       /* factor of a region that no fold could try; the most that folds can ask for */
#define LEAST_FACTOR 0.25 /* and the least: a few rows that happen to be met tell no more */
#define LEAST_TRAINED 6
#define FOLD_SEED 17

/* An answer for a configuration that was left out. */
struct vote {
	size_t place;
	struct committee_votes votes;
	double doubt; /* of the fold's rows: committee_doubt */
};

/* Answers to one set of rows that was left out: votes first to end - 1. */
struct fold {
	enum committee_region region;
	size_t first, end;
};

struct examination {
	struct committee *committee;
	struct vote *votes;
	size_t count, room;
	struct fold folds[COMMITTEE_FOLDS + 2 * COMMITTEE_REGIONS];
	size_t fold_count;
	double errors[COMMITTEE_CANDIDATES][COMMITTEE_REGIONS]; /* sums of folds' means */
	size_t tried[COMMITTEE_REGIONS];                        /* folds */
	/* of the fold */
	bool *held;
	struct form_point *points;
	double *times, *compute;
};

/* What a fold's rows make of the candidates. */
static void ask(
	struct examination *x, size_t i, const struct form_rows *rows, size_t first, struct form *shown)
{
	const struct committee *c = x->committee;
	struct candidate candidate = c->candidates[i];

	committee_fit_candidate(&candidate, rows);
	candidate_residual(&candidate, rows->points, rows->times, rows->count);
	for (size_t k = first; k < x->count; k++) {
		struct committee_votes *votes = &x->votes[k].votes;

		votes->logs[i] = candidate_answer(
			&candidate, &c->points[x->votes[k].place], &votes->spread[i], &votes->variance[i]);
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

/* Fits to what is not held and asks for what is; too little of either is no fold. */
static void fold(struct examination *x, enum committee_region region)
{
	struct committee *c = x->committee;
	struct form_rows rows = {0, x->points, x->times, x->compute};
	struct form_point least = c->greatest, greatest = c->least;
	size_t first = x->count;
	struct form shown;

	for (size_t k = 0; k < c->count; k++)
		if (!x->held[k]) {
			x->points[rows.count] = c->points[k];
			x->times[rows.count] = c->times[k];
			x->compute[rows.count++] = c->compute[k];
			committee_extend(&least, &greatest, &c->points[k]);
		}
	if (rows.count < LEAST_TRAINED || rows.count == c->count)
		return;
	for (size_t k = 0; k < c->count; k++)
		if (x->held[k]) {
			struct vote *vote = MEM_PUSH(x->votes, x->count, x->room);

			*vote = (struct vote){
				.place = k, .doubt = committee_doubt(&c->points[k], &least, &greatest)};
		}
	for (size_t i = 0; i < c->candidate_count; i++) {
		double sum = 0;

		ask(x, i, &rows, first, &shown);
		for (size_t k = first; k < x->count; k++)
			sum += fabs(x->votes[k].votes.logs[i] - log(c->times[x->votes[k].place]));
		x->errors[i][region] += sum / (double)(x->count - first);
	}
	x->tried[region]++;
	x->folds[x->fold_count++] = (struct fold){region, first, x->count};
	if (region == COMMITTEE_INSIDE)
		note_range(c, &shown);
}

static void random_folds(struct examination *x)
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

static double coordinate(const struct form_point *point, enum committee_region region)
{
	return region == COMMITTEE_BATCH  ? point->batch
	       : region == COMMITTEE_GPUS ? point->gpus
					  : point->nodes;
}

/* A configuration may be asked for only where its kind (one GPU, one node, several nodes) was fitted. */
static void hold_above(struct examination *x, enum committee_region region, double limit)
{
	const struct committee *c = x->committee;
	bool inside = false, among = false;

	for (size_t k = 0; k < c->count; k++) {
		x->held[k] = coordinate(&c->points[k], region) > limit * (1 + 1e-9);
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

/* Leaves out the largest level of a column; then all above half of it, for the batch above the median level.
 */
static void largest_folds(struct examination *x, enum committee_region region)
{
	const struct committee *c = x->committee;
	double *levels = mem_alloc(c->count, sizeof(*levels)), middle;
	size_t count = 0;

	for (size_t k = 0; k < c->count; k++)
		levels[k] = coordinate(&c->points[k], region);
	statistics_sort(levels, c->count);
	for (size_t k = 0; k < c->count; k++)
		if (!count || levels[k] > levels[count - 1] * (1 + 1e-9))
			levels[count++] = levels[k];
	middle = region == COMMITTEE_BATCH ? levels[count / 2] : levels[count - 1] / 2;
	if (count > 2) {
		hold_above(x, region, levels[count - 2]);
		fold(x, region);
		if (middle < levels[count - 2] && middle >= levels[0]) {
			hold_above(x, region, middle);
			fold(x, region);
		}
	}
	free(levels);
}

static void set_errors(struct examination *x)
{
	struct committee *c = x->committee;

	for (size_t i = 0; i < c->candidate_count; i++)
		for (size_t r = 0; r < COMMITTEE_REGIONS; r++)
			c->candidates[i].error[r] = x->tried[r] ? x->errors[i][r] / (double)x->tried[r] : NAN;
}

/* |z| of each measured row of the configurations that a fold left out; z_place: their numbers. */
static size_t deviations(const struct examination *x, const struct fold *fold,
	const struct committee_row *rows, const size_t *place, size_t row_count, double *z, size_t *z_place)
{
	const struct committee *c = x->committee;
	const struct committee_place where = {fold->region ? 1U << fold->region : 0, 0};
	double *means = mem_alloc(c->count, sizeof(*means)),
	       *variances = mem_alloc(c->count, sizeof(*variances)); /* 0: was not left out */
	size_t count = 0;

	for (size_t v = fold->first; v < fold->end; v++) {
		const struct vote *vote = &x->votes[v];

		means[vote->place] = committee_combine(c, &vote->votes, &where, &variances[vote->place]);
		if (fold->region)
			variances[vote->place] += vote->doubt;
	}
	for (size_t k = 0; k < row_count; k++)
		if (variances[place[k]] > 0) {
			z[count] = fabs(log(rows[k].time) - means[place[k]]) / sqrt(variances[place[k]]);
			z_place[count++] = place[k];
		}
	free(means);
	free(variances);
	return count;
}

/* Inside: how far rows lie from answers, by place; what then holds 95% is one factor for all. */
static void widen_inside(struct committee *c, double *z, const size_t *z_place, size_t count)
{
	double *squares = mem_alloc(c->count, sizeof(*squares));

	c->widen[COMMITTEE_INSIDE] = UNTRIED;
	c->common = 1;
	for (size_t k = 0; k < count; k++)
		squares[z_place[k]] += z[k] * z[k];
	for (size_t k = 0, first = 1; k < count; k++, first = 0)
		c->common = (first ? 0 : c->common) + z[k] * z[k] / (double)count;
	for (size_t k = 0; k < c->count && count; k++)
		c->deviation[k] = sqrt(squares[k] / c->rows[k]);
	for (size_t k = 0; k < count; k++)
		z[k] /= sqrt(committee_scale(c, &c->points[z_place[k]], z_place[k]));
	statistics_sort(z, count);
	if (count)
		c->widen[COMMITTEE_INSIDE] = statistics_quantile_sorted(z, count, COVERED) / NORMAL_COVERED;
	free(squares);
}

/* Outside: the mean over folds of what would have held 95% of a fold's rows and of one more. */
static void widen_outside(struct examination *x, enum committee_region region,
	const struct committee_row *rows, const size_t *place, size_t row_count, double *z, size_t *z_place)
{
	double sum = 0;
	size_t tried = 0;

	for (size_t f = 0; f < x->fold_count; f++) {
		size_t count = x->folds[f].region == region
				       ? deviations(x, &x->folds[f], rows, place, row_count, z, z_place)
				       : 0;

		if (!count)
			continue;
		statistics_sort(z, count);
		sum += statistics_quantile_sorted(
			       z, count, fmin(COVERED * (double)(count + 1) / (double)count, 1)) /
		       NORMAL_COVERED;
		tried++;
	}
	x->committee->widen[region] =
		tried ? fmin(fmax(sum / (double)tried, LEAST_FACTOR), UNTRIED) : UNTRIED;
}

void committee_examine(
	struct committee *committee, const struct committee_row *rows, const size_t *place, size_t row_count)
{
	struct arena arena = {0};
	struct examination x = {.committee = committee,
		.held = arena_alloc(&arena, committee->count, sizeof(bool)),
		.points = arena_alloc(&arena, committee->count, sizeof(struct form_point)),
		.times = arena_alloc(&arena, committee->count, sizeof(double)),
		.compute = arena_alloc(&arena, committee->count, sizeof(double))};
	double *z = arena_alloc(&arena, row_count, sizeof(*z));
	size_t *z_place = arena_alloc(&arena, row_count, sizeof(*z_place)), inside = 0;

	committee->low = committee->high = committee->candidates[committee->best].forms[committee->best_form];
	random_folds(&x);
	for (enum committee_region r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		largest_folds(&x, r);
	set_errors(&x);
	for (size_t f = 0; f < x.fold_count; f++)
		if (x.folds[f].region == COMMITTEE_INSIDE)
			inside += deviations(
				&x, &x.folds[f], rows, place, row_count, z + inside, z_place + inside);
	widen_inside(committee, z, z_place, inside);
	for (enum committee_region r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		widen_outside(&x, r, rows, place, row_count, z, z_place);
	free(x.votes);
	arena_free(&arena);
}
