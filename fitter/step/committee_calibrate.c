/*
 * From what a committee's candidates answered for configurations that were kept from them to their weights,
 * by how much intervals are widened, and how far off answers are: see committee.h.
 */
#include "base/memory.h"
#include "base/statistics.h"
#include "base/student.h"
#include "committee_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANY 20        /* independent rows from which their quantile is one */
#define LEAST_LEVELS 3 /* of a column, of which a fold counts as a try: through two every law passes */

/* The candidates' errors by the folds of a region but `without`, which is asked with weights that know
 * nothing of it. */
static void set_errors(struct committee *c, const struct examination *x, const struct fold *without)
{

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

static void answer_fold(
	struct committee *c, const struct examination *x, const struct fold *fold, struct answers *answers)
{
	const struct committee_place where = {fold->region ? 1U << fold->region : 0, 0};

	memset(answers->variances, 0, c->count * sizeof(*answers->variances));
	answers->independent = 0;
	set_errors(c, x, fold);
	for (size_t v = fold->first; v < fold->end; v++) {
		const struct vote *vote = &x->votes[v];
		double *variance = &answers->variances[vote->place], rows = c->rows[vote->place], shared;

		answers->means[vote->place] = committee_combine(c, &vote->votes, &where, variance);
		*variance += committee_chance(c) + (fold->region ? committee_doubt(c, vote->away) : 0);
		shared = *variance;
		*variance += committee_noise(c, &c->points[vote->place]) * (1 - 1 / rows);
		answers->independent += rows / (1 + (rows - 1) * shared / *variance);
	}
}

/* Of the measured rows that a fold left out: how far they are from their answers. */
struct misses {
	double *z;      /* of each; |z| outside */
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
		misses->z[misses->count++] = (log(rows[k].time) - mean) / sqrt(variance);
	}
}

/*
 * How much misses that share a value of a column are alike: their intraclass correlation, by analysis of
 * variance. So many rows tell as much as count / effect independent ones (Kish's design effect). 1: not
 * alike.
 */
static double design_effect(const struct misses *m, const size_t *groups, size_t group_count)
{
	double *sums = mem_alloc(2 * group_count + 1, sizeof(*sums)), *counts = sums + group_count;
	double count = (double)m->count, mean = 0, squares = 0, among = 0, sizes = 0, within, typical, alike;
	size_t used = 0;

	for (size_t k = 0; k < m->count; k++) {
		size_t g = groups[m->places[k]];

		used += !(counts[g] > 0);
		sums[g] += m->z[k];
		counts[g]++;
		mean += m->z[k] / count;
		squares += m->z[k] * m->z[k];
	}
	for (size_t g = 0; g < group_count; g++)
		if (counts[g] > 0) {
			among += counts[g] * pow(sums[g] / counts[g] - mean, 2);
			squares -= sums[g] * sums[g] / counts[g];
			sizes += counts[g] * counts[g] / count;
		}
	free(sums);
	if (used < 2 || used >= m->count)
		return 1;
	within = fmax(squares, 0) / (count - (double)used);
	among /= (double)used - 1;
	typical = (count - sizes) / ((double)used - 1);
	alike = (among - within) / (among + (typical - 1) * within);
	return alike > 0 ? 1 + (sizes - 1) * alike : 1;
}

/* Misses of configurations with one batch, or of one placement, are from one series and off together. */
static double alike_effect(const struct committee *c, const struct misses *m)
{
	size_t *groups = mem_alloc(c->count, sizeof(*groups));
	double effect = 1;

	for (int by_batch = 0; by_batch <= 1; by_batch++) {
		size_t count = 0;

		for (size_t k = 0; k < c->count; k++) {
			size_t j = 0;

			while (j < k && !(by_batch ? c->points[j].batch == c->points[k].batch
						   : c->points[j].gpus == c->points[k].gpus &&
								c->points[j].nodes == c->points[k].nodes))
				j++;
			groups[k] = j < k ? groups[j] : count++;
		}
		effect = fmax(effect, design_effect(m, groups, count));
	}
	free(groups);
	return effect;
}

/*
 * By what normal intervals are to be widened so that they hold 95% of such rows and of one more: `n`
 * independent ones. Of few the greatest |z| is less than that, and Student's t tells by how much.
 */
static double factor_of(double *z, size_t count, double n)
{
	double share = fmin(COMMITTEE_COVERED * (n + 1) / n, 1), factor;

	for (size_t k = 0; k < count; k++)
		z[k] = fabs(z[k]);
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
	const double effect = alike_effect(c, m);

	c->common = m->count ? 0 : 1;
	for (size_t k = 0; k < m->count; k++) {
		squares[m->places[k]] += m->z[k] * m->z[k];
		c->common += m->z[k] * m->z[k] / (double)m->count;
	}
	for (size_t k = 0; k < c->count && m->count; k++)
		c->deviation[k] = sqrt(squares[k] / c->rows[k]);
	for (size_t k = 0; k < m->count; k++)
		m->z[k] /= sqrt(committee_scale(c, &c->points[m->places[k]], m->places[k]));
	c->widen[COMMITTEE_INSIDE] =
		m->count ? factor_of(m->z, m->count, independent / effect) : c->constants->untried;
	if (c->count < COMMITTEE_FEW)
		c->widen[COMMITTEE_INSIDE] = fmax(c->widen[COMMITTEE_INSIDE], 1);
	if (m->count)
		add_try(&c->tries[COMMITTEE_INSIDE], 0, m->error / (double)m->count);
	free(squares);
}

/* Outside each fold is another extrapolation, and the worst of them counts: the next may be like that. Never
 * less than what the candidates say themselves: that rows near the data were met tells little of those far
 * from it. Folds of too few levels are met whatever the law is: they may widen, and are no try. */
static void widen_outside(struct committee *c, const struct fold *fold, struct misses *m, double independent)
{
	enum committee_region r = fold->region;
	double factor = factor_of(m->z, m->count, independent);

	c->widen[r] = fmin(fmax(c->widen[r], factor), c->constants->most);
	if (fold->levels >= LEAST_LEVELS)
		add_try(&c->tries[r], fold->reach, m->error / (double)m->count);
}

void committee_calibrate(struct committee *committee, const struct examination *examination,
	const struct committee_row *rows, const size_t *place, size_t row_count)
{
	struct arena arena = {0};
	struct answers answers = {arena_alloc(&arena, committee->count, sizeof(double)),
		arena_alloc(&arena, committee->count, sizeof(double)), 0};
	struct misses inside = {arena_alloc(&arena, row_count, sizeof(double)),
			      arena_alloc(&arena, row_count, sizeof(size_t)), 0, 0},
		      outside = inside;
	double independent = 0;

	memset(committee->tries, 0, sizeof(committee->tries));
	for (size_t f = 0; f < examination->fold_count && examination->folds[f].region == COMMITTEE_INSIDE;
		f++) {
		answer_fold(committee, examination, &examination->folds[f], &answers);
		miss_rows(&answers, rows, place, row_count, &inside);
		independent += answers.independent;
	}
	widen_inside(committee, &inside, independent);
	for (size_t r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		committee->widen[r] = 1;
	for (size_t f = 0; f < examination->fold_count; f++) {
		if (examination->folds[f].region == COMMITTEE_INSIDE)
			continue;
		outside.count = 0;
		outside.error = 0;
		answer_fold(committee, examination, &examination->folds[f], &answers);
		miss_rows(&answers, rows, place, row_count, &outside);
		widen_outside(committee, &examination->folds[f], &outside, answers.independent);
	}
	for (size_t r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		if (!committee->tries[r].count)
			committee->widen[r] = fmax(committee->widen[r], committee->constants->untried);
	set_errors(committee, examination, NULL);
	arena_free(&arena);
}
