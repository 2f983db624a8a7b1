/* From rows to a committee: configurations, candidates fitted to them: see committee.h. */
#include "base/memory.h"
#include "base/statistics.h"
#include "committee_private.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_CONFIGURATIONS 3 /* of which two tell of a third */
#define LONG 6                 /* configurations from which forms of all terms are fitted */

struct ranked {
	struct committee_row row;
	size_t place;
};

static int by_number(double a, double b)
{
	return (a > b) - (a < b);
}

static int by_point(const void *left, const void *right)
{
	const struct form_point *a = &((const struct ranked *)left)->row.point;
	const struct form_point *b = &((const struct ranked *)right)->row.point;
	int order = by_number(a->batch, b->batch);

	order = order ? order : by_number(a->gpus, b->gpus);
	return order ? order : by_number(a->nodes, b->nodes);
}

/* The median of what is finite; NAN: nothing. */
static double median_of(double *values, size_t count)
{
	size_t kept = 0;

	for (size_t k = 0; k < count; k++)
		if (isfinite(values[k]))
			values[kept++] = values[k];
	return kept ? statistics_median(values, kept) : NAN;
}

void committee_reserve(struct committee *committee, size_t count)
{
	committee->constants = &committee_constants;
	committee->points = mem_alloc(count + 1, sizeof(*committee->points));
	committee->times = mem_alloc(count + 1, sizeof(*committee->times));
	committee->compute = mem_alloc(count + 1, sizeof(*committee->compute));
	committee->rows = mem_alloc(count + 1, sizeof(*committee->rows));
	committee->noise = mem_alloc(count + 1, sizeof(*committee->noise));
	committee->deviation = mem_alloc(count + 1, sizeof(*committee->deviation));
}

/* Unbiased, from sums; NAN: of one value. */
static double variance(double sum, double squares, double count)
{
	return count > 1 ? fmax(squares - sum * sum / count, 0) / (count - 1) : NAN;
}

/* Rows of one configuration become one point; place[row] is its number. */
static void group(struct committee *c, const struct committee_row *rows, size_t count, size_t *place)
{
	struct ranked *ranked = mem_alloc(count + 1, sizeof(*ranked));
	double *times = mem_alloc(count + 1, sizeof(*times)),
	       *compute = mem_alloc(count + 1, sizeof(*compute)),
	       *spread = mem_alloc(count + 1, sizeof(*spread));

	for (size_t k = 0; k < count; k++)
		ranked[k] = (struct ranked){rows[k], k};
	qsort(ranked, count, sizeof(*ranked), by_point);
	committee_reserve(c, count);
	for (size_t first = 0, end; first < count; first = end) {
		double least = INFINITY, greatest = 0, sum = 0, squares = 0;

		for (end = first; end < count && by_point(&ranked[first], &ranked[end]) == 0; end++) {
			times[end - first] = ranked[end].row.time;
			least = fmin(least, ranked[end].row.time);
			greatest = fmax(greatest, ranked[end].row.time);
			sum += log(ranked[end].row.time / ranked[first].row.time);
			squares += pow(log(ranked[end].row.time / ranked[first].row.time), 2);
			compute[end - first] = ranked[end].row.compute;
			place[ranked[end].place] = c->count;
		}
		c->points[c->count] = ranked[first].row.point;
		c->rows[c->count] = (double)(end - first);
		c->deviation[c->count] = NAN;
		c->noise[c->count] = variance(sum, squares, (double)(end - first));
		spread[c->count] = end - first > 1 ? greatest / least : NAN;
		c->times[c->count] = median_of(times, end - first);
		c->compute[c->count++] = median_of(compute, end - first);
	}
	c->spread = median_of(spread, c->count);
	free(spread);
	free(ranked);
	free(times);
	free(compute);
}

void committee_extend(struct form_point *least, struct form_point *greatest, const struct form_point *point)
{
	least->batch = fmin(least->batch, point->batch);
	least->gpus = fmin(least->gpus, point->gpus);
	least->nodes = fmin(least->nodes, point->nodes);
	greatest->batch = fmax(greatest->batch, point->batch);
	greatest->gpus = fmax(greatest->gpus, point->gpus);
	greatest->nodes = fmax(greatest->nodes, point->nodes);
}

void committee_describe(struct committee *c)
{
	double last = 0;

	c->least = c->greatest = c->points[0];
	for (size_t k = 0; k < c->count; k++) {
		const struct form_point *p = &c->points[k];

		committee_extend(&c->least, &c->greatest, p);
		c->repeated += (1 - 1 / c->rows[k]) / (double)c->count;
		c->batches += p->batch > last;
		last = fmax(last, p->batch);
		c->has_regime[p->gpus <= 1 ? 0 : p->nodes <= 1 ? 1 : 2] = true;
	}
}

void committee_fit_candidate(struct candidate *candidate, const struct form_rows *rows)
{
	struct form_rows whole = *rows;
	double *logs = mem_alloc(rows->count + 1, sizeof(*logs));

	if (!candidate->is_parted)
		whole.compute = NULL;
	for (size_t k = 0; k < rows->count; k++)
		logs[k] = log(rows->times[k]);
	candidate->level = statistics_median(logs, rows->count);
	free(logs);
	for (size_t v = 0; v < candidate_forms(candidate); v++) {
		candidate->forms[v].exchange = candidate->is_linear  ? FORM_LINEAR
					       : candidate->is_short ? FORM_LOGARITHM
								     : (enum form_exchange)v;
		candidate->forms[v].without = candidate->without;
		candidate->forms[v].overlap = candidate->overlap;
		form_fit(&candidate->forms[v], &whole);
	}
}

/*
 * Two or three terms each. With a whole batch that stays the same, m falls with k: a + b m is Amdahl's law;
 * with m that stays the same a + d log2 k is Gustafson's with an exchange in a tree.
 */
static void add_short(struct committee *c, bool has_parts)
{
	enum { LAUNCH = 1 << 0, SAMPLE = 1 << 1, STEP = 1 << 3 | 1 << 5, ROUND = 1 << 4 | 1 << 6 };
	static const unsigned terms[] = {LAUNCH | SAMPLE, LAUNCH | ROUND, SAMPLE | ROUND,
		LAUNCH | SAMPLE | ROUND, LAUNCH | SAMPLE | STEP};

	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		c->candidates[c->candidate_count++] = (struct candidate){
			.is_short = true, .is_parted = has_parts, .overlap = 1, .without = ~terms[i]};
}

static void add_candidates(struct committee *c, bool has_parts)
{
	static const double overlaps[] = {1, 2, 5};

	c->candidates[c->candidate_count++] = (struct candidate){.is_constant = true};
	if (c->count < COMMITTEE_FEW)
		add_short(c, has_parts);
	if (c->count < LONG)
		return;
	for (size_t parts = 0; parts <= (has_parts ? 1U : 0U); parts++)
		for (size_t g = 0; g < 3; g++)
			c->candidates[c->candidate_count++] =
				(struct candidate){.is_parted = parts == 1, .overlap = overlaps[g]};
	for (size_t g = 0; g < 3; g++)
		c->candidates[c->candidate_count++] =
			(struct candidate){.is_linear = true, .is_parted = has_parts, .overlap = overlaps[g]};
}

static void fit_candidates(struct committee *c)
{
	const struct form_rows rows = {c->count, c->points, c->times, c->compute};
	double *logs = mem_alloc(c->count + 1, sizeof(*logs)), spread;

	for (size_t i = 0; i < c->candidate_count; i++) {
		struct candidate *candidate = &c->candidates[i];

		committee_fit_candidate(candidate, &rows);
		for (size_t k = 0; k < c->count; k++)
			logs[k] = log(c->times[k]) - candidate_log(candidate, &c->points[k], &spread);
		candidate->shape = residual_choose(c->points, logs, c->count);
		candidate_residual(candidate, c->points, c->times, c->count);
	}
	free(logs);
}

/* Mean |log error| of one form on the table itself. */
static double own_error(const struct committee *c, const struct form *form)
{
	double sum = 0;

	for (size_t k = 0; k < c->count; k++)
		sum += fabs(log(c->times[k] / fmax(form_time(form, &c->points[k]), 1e-300)));
	return sum / (double)c->count;
}

/* The form whose coefficients are shown: of the parted candidates where there are any, the one nearest to the
 * table. */
static void choose_shown(struct committee *c, bool has_parts)
{
	double least = HUGE_VAL;

	for (size_t i = 0; i < c->candidate_count; i++)
		for (size_t v = 0; v < candidate_forms(&c->candidates[i]); v++) {
			const struct candidate *candidate = &c->candidates[i];
			double error = candidate->is_parted != has_parts ? HUGE_VAL
									 : own_error(c, &candidate->forms[v]);

			if (error < least) {
				least = error;
				c->best = i;
				c->best_form = v;
			}
		}
}

static bool has_compute(const struct committee *c)
{
	size_t measured = 0;

	for (size_t k = 0; k < c->count; k++)
		measured += isfinite(c->compute[k]) && c->compute[k] > 0;
	return 2 * measured > c->count;
}

/*
 * Noise may have longer tails than a normal distribution: it is enlarged until 95% of the repeated rows lie
 * in normal intervals about what their configuration takes.
 */
static void enlarge_noise(
	struct committee *c, const struct committee_row *rows, const size_t *place, size_t count)
{
	double *z = mem_alloc(count + 1, sizeof(*z)), factor;
	size_t repeated = 0;

	for (size_t k = 0; k < count; k++) {
		size_t p = place[k];
		double noise = c->rows[p] > 1 ? committee_noise(c, &c->points[p]) : 0;

		if (noise > 0)
			z[repeated++] =
				fabs(log(rows[k].time / c->times[p])) / sqrt(noise * (1 - 1 / c->rows[p]));
	}
	statistics_sort(z, repeated);
	factor = repeated ? statistics_quantile_sorted(z, repeated, COMMITTEE_COVERED) / COMMITTEE_DEVIATIONS
			  : 1;
	for (size_t k = 0; k < c->count && factor > 1; k++)
		c->noise[k] *= factor * factor;
	free(z);
}

const char *committee_fit_examined(struct committee *committee, const struct committee_row *rows,
	size_t count, size_t **place, struct examination *examination)
{
	bool parts;

	*committee = (struct committee){0};
	*examination = (struct examination){0};
	*place = mem_alloc(count + 1, sizeof(**place));
	if (!count)
		return "no rows";
	group(committee, rows, count, *place);
	if (committee->count < LEAST_CONFIGURATIONS)
		return "fewer than 3 different configurations of batch, GPUs and nodes";
	committee_describe(committee);
	enlarge_noise(committee, rows, *place, count);
	parts = has_compute(committee);
	add_candidates(committee, parts);
	fit_candidates(committee);
	choose_shown(committee, parts);
	committee_examine(committee, examination);
	committee_calibrate(committee, examination, rows, *place, count);
	return NULL;
}

const char *committee_fit(struct committee *committee, const struct committee_row *rows, size_t count)
{
	struct examination examination;
	size_t *place;
	const char *why = committee_fit_examined(committee, rows, count, &place, &examination);

	committee_examination_free(&examination);
	free(place);
	return why;
}
