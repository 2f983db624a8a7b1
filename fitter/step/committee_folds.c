/*
 * Asks a committee's candidates for configurations that were kept from them: at random, and the largest of
 * each column. From the answers follow the candidates' weights, by how much intervals are widened, and the
 * range of the coefficients that are shown: see committee.h.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/student.h"
#include "committee_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNTRIED 3.0     /* factor of a region that no fold could try */
#define MOST 6.0        /* that folds can ask for: a table that jumps about is of no use anyway */
#define MANY 20         /* independent rows from which their quantile is one */
#define LEAST_TRAINED 6 /* configurations of a fold; of a table of few, which has short forms: */
#define LEAST_SHORT 2
#define SMALL 9 /* configurations */
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
	double errors[COMMITTEE_CANDIDATES]; /* mean |log error| of each candidate */
	double reach; /* doublings from what was fitted to the farthest that was left out */
};

struct examination {
	struct committee *committee;
	struct vote *votes;
	size_t count, room;
	struct fold folds[COMMITTEE_FOLDS + COMMITTEE_CUTS * COMMITTEE_REGIONS];
	size_t fold_count;
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
			struct vote *vote = MEM_PUSH(x->votes, x->count, x->room);

			*vote = (struct vote){
				.place = k, .doubt = committee_doubt(&c->points[k], &least, &greatest)};
			made.reach = fmax(made.reach, committee_reach(&c->points[k], &greatest, region));
		}
	for (size_t i = 0; i < c->candidate_count; i++) {
		double sum = 0;

		ask(x, i, &rows, first, &shown);
		for (size_t k = first; k < x->count; k++)
			sum += fabs(x->votes[k].votes.logs[i] - log(c->times[x->votes[k].place]));
		made.errors[i] = sum / (double)(x->count - first);
	}
	made.end = x->count;
	x->folds[x->fold_count++] = made;
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

/* A configuration may be asked for only where its kind (one GPU, one node, several nodes) was fitted. */
static void hold_above(struct examination *x, enum committee_region region, double limit)
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

static void largest_folds(struct examination *x, enum committee_region region)
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

/* The candidates' errors by the folds of a region but `without`, which is asked with weights that know
 * nothing of it. */
static void set_errors(struct examination *x, const struct fold *without)
{
	struct committee *c = x->committee;

	for (size_t i = 0; i < c->candidate_count; i++)
		for (size_t r = 0; r < COMMITTEE_REGIONS; r++) {
			double sum = 0;
			size_t tried = 0;

			for (size_t f = 0; f < x->fold_count; f++)
				if (x->folds[f].region == r && &x->folds[f] != without) {
					sum += x->folds[f].errors[i];
					tried++;
				}
			c->candidates[i].error[r] = tried ? sum / (double)tried : NAN;
		}
}

/* What the committee answers for a fold's configurations, with weights that the other folds gave. */
struct answers {
	double *means, *variances; /* by configuration; variance 0: was not left out */
	double independent; /* rows that were: those of a configuration are as far as their noise goes */
};

static void answer_fold(struct examination *x, const struct fold *fold, struct answers *answers)
{
	const struct committee *c = x->committee;
	const struct committee_place where = {fold->region ? 1U << fold->region : 0, 0};

	memset(answers->variances, 0, c->count * sizeof(*answers->variances));
	answers->independent = 0;
	set_errors(x, fold);
	for (size_t v = fold->first; v < fold->end; v++) {
		const struct vote *vote = &x->votes[v];
		double *variance = &answers->variances[vote->place], rows = c->rows[vote->place], shared;

		answers->means[vote->place] = committee_combine(c, &vote->votes, &where, variance);
		*variance += committee_chance(c) + (fold->region ? vote->doubt : 0);
		shared = *variance;
		*variance += committee_noise(c, &c->points[vote->place]) * (1 - 1 / rows);
		answers->independent += rows / (1 + (rows - 1) * shared / *variance);
	}
}

/* Of the measured rows that a fold left out: how far they are from their answers. */
struct misses {
	double *z;      /* |z| of each */
	size_t *places; /* their configurations */
	size_t count;
	double error; /* sum of |answer over time - 1| */
};

static void miss_rows(const struct answers *answers, const struct committee_row *rows, const size_t *place,
	size_t row_count, struct misses *misses)
{
	for (size_t k = 0; k < row_count; k++) {
		double mean = answers->means[place[k]], variance = answers->variances[place[k]];

		if (!(variance > 0))
			continue;
		misses->error += fabs(exp(mean) / rows[k].time - 1);
		misses->places[misses->count] = place[k];
		misses->z[misses->count++] = fabs(log(rows[k].time) - mean) / sqrt(variance);
	}
}

/*
 * By what normal intervals are to be widened so that they hold 95% of such rows and of one more: `n`
 * independent ones. Of few the greatest |z| is less than that, and Student's t tells by how much.
 */
static double factor_of(double *z, size_t count, double n)
{
	double share = fmin(COMMITTEE_COVERED * (n + 1) / n, 1), factor;

	statistics_sort(z, count);
	factor = statistics_quantile_sorted(z, count, share) / COMMITTEE_DEVIATIONS;
	if (n < MANY - 1)
		factor *= student_quantile(COMMITTEE_COVERED, n) / student_quantile(n / (n + 1), n);
	return factor;
}

/* In its place; what lies farther is no better than this. */
static void add_try(struct committee_tries *t, double reach, double error)
{
	size_t place = t->count++;

	for (; place && t->tries[place - 1].reach > reach; place--) {
		t->tries[place] = t->tries[place - 1];
		t->tries[place].error = fmax(t->tries[place].error, error);
	}
	t->tries[place] =
		(struct committee_try){reach, place ? fmax(error, t->tries[place - 1].error) : error};
}

/* Inside: how far rows lie from answers, by place; what then holds 95% is one factor for all. */
static void widen_inside(struct committee *c, struct misses *m, double independent)
{
	double *squares = mem_alloc(c->count, sizeof(*squares));

	c->common = m->count ? 0 : 1;
	for (size_t k = 0; k < m->count; k++) {
		squares[m->places[k]] += m->z[k] * m->z[k];
		c->common += m->z[k] * m->z[k] / (double)m->count;
	}
	for (size_t k = 0; k < c->count && m->count; k++)
		c->deviation[k] = sqrt(squares[k] / c->rows[k]);
	for (size_t k = 0; k < m->count; k++)
		m->z[k] /= sqrt(committee_scale(c, &c->points[m->places[k]], m->places[k]));
	c->widen[COMMITTEE_INSIDE] = m->count ? factor_of(m->z, m->count, independent) : UNTRIED;
	if (c->count < COMMITTEE_FEW)
		c->widen[COMMITTEE_INSIDE] = fmax(c->widen[COMMITTEE_INSIDE], 1);
	if (m->count)
		add_try(&c->tries[COMMITTEE_INSIDE], 0, m->error / (double)m->count);
	free(squares);
}

/* Outside each fold is another extrapolation, and the worst of them counts: the next may be like that. Never
 * less than what the candidates say themselves: that rows near the data were met tells little of those far
 * from it. */
static void widen_outside(struct committee *c, const struct fold *fold, struct misses *m, double independent)
{
	enum committee_region r = fold->region;
	double factor = factor_of(m->z, m->count, independent);

	c->widen[r] = fmin(fmax(c->tries[r].count ? c->widen[r] : 1, factor), MOST);
	add_try(&c->tries[r], fold->reach, m->error / (double)m->count);
}

/* Widening, and the errors that are stated, from all folds. */
static void widen(struct examination *x, const struct committee_row *rows, const size_t *place,
	size_t row_count, struct arena *arena)
{
	struct committee *c = x->committee;
	struct answers answers = {arena_alloc(arena, c->count, sizeof(double)),
		arena_alloc(arena, c->count, sizeof(double)), 0};
	struct misses inside = {arena_alloc(arena, row_count, sizeof(double)),
			      arena_alloc(arena, row_count, sizeof(size_t)), 0, 0},
		      outside = inside;
	double independent = 0;

	for (size_t f = 0; f < x->fold_count && x->folds[f].region == COMMITTEE_INSIDE; f++) {
		answer_fold(x, &x->folds[f], &answers);
		miss_rows(&answers, rows, place, row_count, &inside);
		independent += answers.independent;
	}
	widen_inside(c, &inside, independent);
	for (size_t r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		c->widen[r] = UNTRIED;
	for (size_t f = 0; f < x->fold_count; f++) {
		if (x->folds[f].region == COMMITTEE_INSIDE)
			continue;
		outside.count = 0;
		outside.error = 0;
		answer_fold(x, &x->folds[f], &answers);
		miss_rows(&answers, rows, place, row_count, &outside);
		widen_outside(c, &x->folds[f], &outside, answers.independent);
	}
	set_errors(x, NULL);
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

	committee->low = committee->high = committee->candidates[committee->best].forms[committee->best_form];
	random_folds(&x);
	for (enum committee_region r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		largest_folds(&x, r);
	widen(&x, rows, place, row_count, &arena);
	free(x.votes);
	arena_free(&arena);
}
