/* Physical forms of a step: see form.h. */
#include "form.h"
#include "nnls.h"

#include <math.h>
#include <string.h>

#define SAME 1e-9   /* doublings */
#define HUBER 0.1   /* relative error from which a row pulls no more than in proportion */
#define RIDGE 1e-3  /* of coefficients scaled to relative error: decides what rows do not */
#define ROUNDS 40   /* of Gauss-Newton steps */
#define TRACE 1e-6  /* share of the time that counts as nothing */
#define SMALL 1e-12 /* of a time: where a logarithm is taken */

_Static_assert(FORM_TERMS <= NNLS_COLUMNS, "a form's terms are NNLS columns");

/* What each term is multiplied by. */
static void factors(enum form_exchange exchange, const struct form_point *p, double factor[FORM_TERMS])
{
	double rounds = log2(p->gpus);

	memset(factor, 0, FORM_TERMS * sizeof(*factor));
	factor[0] = 1;
	factor[1] = p->batch;
	factor[2] = p->batch * rounds;
	if (p->gpus <= 1)
		return;
	if (p->nodes <= 1) {
		factor[3] = 1;
		factor[4] = exchange == FORM_LINEAR ? p->gpus - 2 : rounds;
		return;
	}
	factor[5] = 1;
	if (exchange == FORM_LINEAR) {
		factor[6] = p->gpus - 2;
		return;
	}
	factor[6] = exchange == FORM_TWO_LEVELS ? log2(p->nodes) : rounds;
	factor[7] = exchange == FORM_SHARED_INVERSE ? 1 / p->nodes
		    : exchange == FORM_SHARED       ? p->gpus / p->nodes
		    : exchange == FORM_TWO_LEVELS   ? log2(p->gpus / p->nodes)
						    : 0;
}

static double sum_of(const double *terms, const double *factor, size_t first, size_t end)
{
	double sum = 0;

	for (size_t j = first; j < end; j++)
		sum += terms[j] * factor[j];
	return sum;
}

static double combined(double compute, double exchange, double overlap)
{
	double longer = fmax(compute, exchange), shorter = fmin(compute, exchange);

	if (overlap <= 1 || longer <= 0)
		return compute + exchange;
	return longer * pow(1 + pow(shorter / longer, overlap), 1 / overlap);
}

double form_compute(const struct form *form, const struct form_point *point)
{
	double factor[FORM_TERMS];

	factors(form->exchange, point, factor);
	return sum_of(form->terms, factor, 0, 3);
}

double form_exchange(const struct form *form, const struct form_point *point)
{
	double factor[FORM_TERMS];

	factors(form->exchange, point, factor);
	return sum_of(form->terms, factor, 3, FORM_TERMS);
}

double form_time(const struct form *form, const struct form_point *point)
{
	return combined(form_compute(form, point), form_exchange(form, point), form->overlap);
}

/* Normal equations that grow row by row. */
struct normal {
	double gram[FORM_TERMS * FORM_TERMS], right[FORM_TERMS];
	double cost; /* Huber's, of the rows so far */
};

static void add_row(struct normal *normal, const double slopes[FORM_TERMS], double error, double target)
{
	double size = fabs(error), weight = size <= HUBER ? 1 : HUBER / size;

	normal->cost += size <= HUBER ? error * error / 2 : HUBER * (size - HUBER / 2);
	for (size_t i = 0; i < FORM_TERMS; i++) {
		normal->right[i] += weight * slopes[i] * target;
		for (size_t j = 0; j < FORM_TERMS; j++)
			normal->gram[i * FORM_TERMS + j] += weight * slopes[i] * slopes[j];
	}
}

/* A row of the logarithm of the time, linear about the form's terms; and one of the compute part. */
static void add_time(
	struct normal *normal, const struct form *form, const double factor[FORM_TERMS], double time)
{
	double compute = sum_of(form->terms, factor, 0, 3),
	       exchange = sum_of(form->terms, factor, 3, FORM_TERMS);
	double all = combined(compute, exchange, form->overlap), error, target;
	double by_compute, by_exchange, slopes[FORM_TERMS];

	all = fmax(all, SMALL * time);
	by_compute = pow(fmax(compute / all, SMALL), form->overlap - 1) / all;
	by_exchange = pow(fmax(exchange / all, SMALL), form->overlap - 1) / all;
	for (size_t j = 0; j < FORM_TERMS; j++)
		slopes[j] = factor[j] * (j < 3 ? by_compute : by_exchange);
	error = log(time / all);
	target = error + sum_of(form->terms, slopes, 0, FORM_TERMS);
	add_row(normal, slopes, error, target);
}

static void add_compute(
	struct normal *normal, const struct form *form, const double factor[FORM_TERMS], double time)
{
	double slopes[FORM_TERMS] = {0};

	for (size_t j = 0; j < 3; j++)
		slopes[j] = factor[j] / time;
	add_row(normal, slopes, 1 - sum_of(form->terms, slopes, 0, 3), 1);
}

/* About the form's terms; `relative`: of relative error, which is linear, in place of logarithms. */
static void collect(
	struct normal *normal, const struct form *form, const struct form_rows *rows, bool relative)
{
	*normal = (struct normal){0};
	for (size_t k = 0; k < rows->count; k++) {
		double factor[FORM_TERMS], slopes[FORM_TERMS];

		factors(form->exchange, &rows->points[k], factor);
		for (size_t j = 0; j < FORM_TERMS && relative; j++)
			slopes[j] = factor[j] / rows->times[k];
		if (relative)
			add_row(normal, slopes, 1 - sum_of(form->terms, slopes, 0, FORM_TERMS), 1);
		else
			add_time(normal, form, factor, rows->times[k]);
		if (rows->compute && rows->compute[k] > 0)
			add_compute(normal, form, factor, rows->compute[k]);
	}
}

/* Mean of what a term of 1 adds to the relative time: terms are penalised in these units. */
static void scales(const struct form *form, const struct form_rows *rows, double scale[FORM_TERMS])
{
	memset(scale, 0, FORM_TERMS * sizeof(*scale));
	for (size_t k = 0; k < rows->count; k++) {
		double factor[FORM_TERMS];

		factors(form->exchange, &rows->points[k], factor);
		for (size_t j = 0; j < FORM_TERMS; j++)
			if (!(form->without >> j & 1))
				scale[j] += factor[j] / rows->times[k] / (double)rows->count;
	}
}

/* The minimum of the normal equations with the ridge, damped towards `from`. */
static void solve(const struct normal *normal, const double scale[FORM_TERMS], double damping,
	const double *from, double *terms)
{
	struct normal n = *normal;
	double scaled[FORM_TERMS];

	for (size_t i = 0; i < FORM_TERMS; i++)
		for (size_t j = 0; j < FORM_TERMS; j++)
			n.gram[i * FORM_TERMS + j] =
				scale[i] > 0 && scale[j] > 0
					? n.gram[i * FORM_TERMS + j] / scale[i] / scale[j]
					: 0;
	for (size_t i = 0; i < FORM_TERMS; i++) {
		double *diagonal = &n.gram[i * FORM_TERMS + i], damp = damping * *diagonal;

		n.right[i] = scale[i] > 0 ? n.right[i] / scale[i] + damp * from[i] * scale[i] : 0;
		*diagonal += damp + RIDGE;
	}
	nnls_solve(n.gram, n.right, FORM_TERMS, scaled);
	for (size_t i = 0; i < FORM_TERMS; i++)
		terms[i] = scale[i] > 0 ? scaled[i] / scale[i] : 0;
}

/* The sum of both parts, which is linear in the terms. */
static void fit_sum(struct form *form, const struct form_rows *rows, const double scale[FORM_TERMS])
{
	struct normal normal;
	double overlap = form->overlap;

	form->overlap = 1;
	memset(form->terms, 0, sizeof(form->terms));
	for (int round = 0; round < 4; round++) {
		collect(&normal, form, rows, true);
		solve(&normal, scale, 0, form->terms, form->terms);
	}
	form->overlap = overlap;
}

/* Levenberg-Marquardt steps from the form's terms; the cost that is reached. */
static double descend(struct form *form, const struct form_rows *rows, const double scale[FORM_TERMS])
{
	struct form trial = *form;
	struct normal normal, next;
	double damping = 1e-2;

	collect(&normal, form, rows, false);
	for (int round = 0; round < ROUNDS && damping < 1e8; round++) {
		double gained;

		solve(&normal, scale, damping, form->terms, trial.terms);
		collect(&next, &trial, rows, false);
		gained = normal.cost - next.cost;
		if (!(gained > 0)) {
			damping *= 6;
			continue;
		}
		*form = trial;
		damping /= 4;
		normal = next;
		if (gained < 1e-7 * next.cost)
			break;
	}
	return normal.cost;
}

/* What descends towards 0 in steps never arrives: less than a millionth of the time is 0. */
static void drop_traces(struct form *form, const double scale[FORM_TERMS])
{
	for (size_t j = 0; j < FORM_TERMS; j++)
		if (form->terms[j] * scale[j] < TRACE)
			form->terms[j] = 0;
}

void form_fit(struct form *form, const struct form_rows *rows)
{
	double scale[FORM_TERMS], first;
	struct form other;

	scales(form, rows, scale);
	fit_sum(form, rows, scale);
	if (form->overlap > 1) {
		/* The sum has the hidden part's terms too low, so the second start has more of both. */
		other = *form;
		for (size_t j = 0; j < FORM_TERMS; j++)
			other.terms[j] = 1.3 * fmax(form->terms[j], scale[j] > 0 ? 0.05 / scale[j] : 0);
		first = descend(form, rows, scale);
		if (descend(&other, rows, scale) < first)
			*form = other;
	}
	drop_traces(form, scale);
}

double form_apart(const struct form_point *a, const struct form_point *b)
{
	return fabs(log2(a->batch / b->batch)) + fabs(log2(a->gpus / b->gpus)) +
	       fabs(log2(a->nodes / b->nodes));
}

bool form_is_one_of(const struct form_point *points, size_t count, const struct form_point *point)
{
	for (size_t k = 0; k < count; k++)
		if (form_apart(&points[k], point) < SAME)
			return true;
	return false;
}

const char *form_term_name(size_t term)
{
	static const char *const names[FORM_TERMS] = {"a", "b", "c", "d0", "d1", "e0", "e1", "e2"};

	return names[term];
}

const char *form_term_factor(enum form_exchange exchange, size_t term)
{
	static const char *const fixed[6] = {"", "m", "m log2 k", "", "log2 k", ""};
	static const char *const among[FORM_EXCHANGES + 1][2] = {{"log2 k", "1/n"}, {"log2 k", "-"},
		{"log2 k", "k/n"}, {"log2 n", "log2 k/n"}, {"k - 2", "-"}};

	if (term == 4 && exchange == FORM_LINEAR)
		return "k - 2";
	return term < 6 ? fixed[term] : among[exchange][term - 6];
}
