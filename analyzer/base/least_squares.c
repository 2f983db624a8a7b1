/*
 * Least squares: see least_squares.h. Columns are centred, then made orthogonal one after the other, and so
 * is y (Gram and Schmidt's method, modified: each projection is of what those before have left). What is left
 * of a column tells whether it says anything that those before it do not. The normal equations are never
 * formed: their condition is the square of the data's.
 */
#include "least_squares.h"
#include "student.h"

#include <math.h>
#include <string.h>

#define DEPENDENT 1e-9 /* part of a column that must be its own */
#define ROUNDING 1e-12 /* of a column's greatest number: what rounding leaves of a constant */

struct work {
	size_t rows, count, rank;
	double *basis;    /* [rank][row]: orthogonal, of length 1 */
	double *triangle; /* [column][count]: of each centred column, how much it has of each of the basis */
	double *means, *lengths; /* of columns, the lengths once centred; 0: constant */
	size_t *chosen;          /* the column of each of the basis */
};

static double product(const double *a, const double *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static void subtract(double *from, const double *what, double times, size_t count)
{
	for (size_t i = 0; i < count; i++)
		from[i] -= times * what[i];
}

static double mean_of(const double *values, size_t count, size_t stride)
{
	double sum = 0, correction = 0, mean;

	for (size_t i = 0; i < count; i++)
		sum += values[i * stride];
	mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		correction += values[i * stride] - mean;
	return mean + correction / (double)count;
}

/* Takes what is new of a column into the basis; whether anything is. Twice, since once leaves rounding errors
 * after. */
static bool least_squares_take(struct work *w, const double *x, size_t column)
{
	double *next = w->basis + w->rank * w->rows, *r = w->triangle + column * w->count;
	double greatest = 0, length;

	w->means[column] = mean_of(x + column, w->rows, w->count);
	for (size_t k = 0; k < w->rows; k++) {
		greatest = fmax(greatest, fabs(x[k * w->count + column]));
		next[k] = x[k * w->count + column] - w->means[column];
	}
	length = sqrt(product(next, next, w->rows));
	if (!(length > ROUNDING * greatest * sqrt((double)w->rows)))
		return false;
	w->lengths[column] = length;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < w->rank; i++) {
			double part = product(w->basis + i * w->rows, next, w->rows);

			r[i] += part;
			subtract(next, w->basis + i * w->rows, part, w->rows);
		}
	length = sqrt(product(next, next, w->rows));
	if (!(length > DEPENDENT * w->lengths[column]) || w->rank + 1 >= w->rows)
		return false;
	for (size_t k = 0; k < w->rows; k++)
		next[k] /= length;
	r[w->rank] = length;
	w->chosen[w->rank++] = column;
	return true;
}

/* `rest` is the centred y, and then the residuals. Coefficients of columns that are left out are 0. */
static void solve(const struct work *w, double *rest, double *coefficients)
{
	for (size_t j = 0; j < w->count; j++)
		coefficients[j] = 0;
	for (size_t i = 0; i < w->rank; i++) {
		double part = product(w->basis + i * w->rows, rest, w->rows);

		subtract(rest, w->basis + i * w->rows, part, w->rows);
		coefficients[w->chosen[i]] = part;
	}
	for (size_t i = w->rank; i-- > 0;) {
		double value = coefficients[w->chosen[i]];

		for (size_t j = i + 1; j < w->rank; j++)
			value -= w->triangle[w->chosen[j] * w->count + i] * coefficients[w->chosen[j]];
		coefficients[w->chosen[i]] = value / w->triangle[w->chosen[i] * w->count + i];
	}
}

static struct work begin_work(struct arena *arena, size_t rows, size_t count)
{
	return (struct work){
		.rows = rows,
		.count = count,
		.basis = arena_alloc(arena, (count + 1) * rows + 1, sizeof(double)),
		.triangle = arena_alloc(arena, count * count + 1, sizeof(double)),
		.means = arena_alloc(arena, count + 1, sizeof(double)),
		.lengths = arena_alloc(arena, count + 1, sizeof(double)),
		.chosen = arena_alloc(arena, count + 1, sizeof(size_t)),
	};
}

size_t least_squares(
	const double *x, const double *y, size_t rows, size_t count, double *coefficients, double *constant)
{
	struct arena arena = {0};
	struct work work = begin_work(&arena, rows, count);
	double *rest = arena_alloc(&arena, rows + 1, sizeof(*rest)), mean = mean_of(y, rows, 1);

	for (size_t column = 0; column < count; column++)
		least_squares_take(&work, x, column);
	for (size_t k = 0; k < rows; k++)
		rest[k] = y[k] - mean;
	solve(&work, rest, coefficients);
	*constant = mean - product(work.means, coefficients, count);
	arena_free(&arena);
	return work.rank + 1;
}

/* The inverse, [rank][rank], of the triangle of what is in the basis. */
static double *invert(struct arena *arena, const struct work *w)
{
	size_t n = w->rank;
	double *inverse = arena_alloc(arena, n * n + 1, sizeof(*inverse));

	for (size_t column = 0; column < n; column++)
		for (size_t row = column + 1; row-- > 0;) {
			double sum = row == column;

			for (size_t k = row + 1; k <= column; k++)
				sum -= w->triangle[w->chosen[k] * w->count + row] * inverse[k * n + column];
			inverse[row * n + column] = sum / w->triangle[w->chosen[row] * w->count + row];
		}
	return inverse;
}

/* Element of the inverse of the (centred) normal equations: (R'R)^-1 = R^-1 R^-T. */
static double covariance(const double *inverse, size_t rank, size_t a, size_t b)
{
	double sum = 0;

	for (size_t k = a > b ? a : b; k < rank; k++)
		sum += inverse[a * rank + k] * inverse[b * rank + k];
	return sum;
}

static void estimate(struct regression *result, const struct work *work, const double *y, double y_mean)
{
	double *coefficients = arena_alloc(&result->arena, work->count + 1, sizeof(*coefficients));

	for (size_t i = 0; i < work->rows; i++)
		result->residuals[i] = y[i] - y_mean;
	solve(work, result->residuals, coefficients);
	for (size_t i = 0; i < work->rows; i++)
		result->fitted[i] = y[i] - result->residuals[i];
	result->terms[0].estimate = y_mean - product(work->means, coefficients, work->count);
	for (size_t a = 0; a < work->rank; a++)
		result->terms[1 + work->chosen[a]].estimate = coefficients[work->chosen[a]];
}

static void judge_term(
	const struct regression *result, struct regression_term *term, double variance, double quantile)
{
	term->error = result->deviation * sqrt(variance);
	term->t = term->estimate / term->error;
	term->p = student_p(term->t, (double)result->degrees);
	term->low = term->estimate - quantile * term->error;
	term->high = term->estimate + quantile * term->error;
}

static void judge(
	struct regression *result, const struct work *work, const double *y, double y_mean, double confidence)
{
	double left = product(result->residuals, result->residuals, work->rows), total = 0;
	double rows = (double)work->rows, terms = (double)work->rank, degrees;
	double variance = 1 / rows, quantile, *inverse = invert(&result->arena, work);

	for (size_t i = 0; i < work->rows; i++)
		total += (y[i] - y_mean) * (y[i] - y_mean);
	result->fitted_count = work->rank + 1;
	result->degrees = work->rows - result->fitted_count;
	degrees = (double)result->degrees;
	quantile = student_quantile(confidence, degrees);
	result->r2 = total > 0 ? 1 - left / total : NAN;
	result->adjusted_r2 = result->degrees ? 1 - (1 - result->r2) * (rows - 1) / degrees : NAN;
	result->deviation = result->degrees ? sqrt(left / degrees) : NAN;
	result->f = result->degrees && terms > 0 ? (total - left) / terms / (left / degrees) : NAN;
	result->f_p = student_fisher_p(result->f, terms, degrees);
	for (size_t a = 0; a < work->rank; a++) {
		struct regression_term *term = &result->terms[1 + work->chosen[a]];
		double length = work->lengths[work->chosen[a]], own = covariance(inverse, work->rank, a, a);

		term->inflation = own * length * length;
		judge_term(result, term, own, quantile);
		for (size_t b = 0; b < work->rank; b++)
			variance += work->means[work->chosen[a]] * work->means[work->chosen[b]] *
				    covariance(inverse, work->rank, a, b);
	}
	judge_term(result, &result->terms[0], variance, quantile);
}

/* With which other term each goes along, and which one says what a term left out says. */
static void correlate(struct regression *result, const struct work *work)
{
	for (size_t a = 0; a < work->count; a++)
		for (size_t b = 0; b < work->count; b++) {
			struct regression_term *term = &result->terms[1 + a];
			/* that of a which lies outside the basis has nothing of b, which is fitted */
			double shared = product(work->triangle + a * work->count,
						work->triangle + b * work->count, work->count) /
					(work->lengths[a] * work->lengths[b]);

			if (a == b || !(work->lengths[a] > 0 && work->lengths[b] > 0) ||
				result->terms[1 + b].state != REGRESSION_FITTED ||
				(term->shared_with && fabs(shared) <= fabs(term->shared)))
				continue;
			term->shared = shared;
			term->shared_with = result->terms[1 + b].name;
		}
}

void regression_fit(struct regression *result, const char *const *names, size_t count, const double *x,
	const double *y, size_t row_count, double confidence)
{
	struct work work;
	double y_mean;

	memset(result, 0, sizeof(*result));
	result->row_count = row_count;
	result->term_count = count + 1;
	result->terms = arena_alloc(&result->arena, count + 1, sizeof(*result->terms));
	for (size_t t = 0; t <= count; t++)
		result->terms[t] = (struct regression_term){t ? names[t - 1] : "intercept", REGRESSION_FITTED,
			NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL};
	result->fitted = arena_alloc(&result->arena, row_count + 1, sizeof(double));
	result->residuals = arena_alloc(&result->arena, row_count + 1, sizeof(double));
	result->r2 = result->adjusted_r2 = result->deviation = result->f = result->f_p = NAN;
	if (row_count < count + 1) {
		result->trouble = arena_format(&result->arena,
			"%zu coefficients need at least %zu rows, and more for standard errors; found %zu",
			count + 1, count + 1, row_count);
		return;
	}
	work = begin_work(&result->arena, row_count, count);
	for (size_t t = 0; t < count; t++)
		result->terms[1 + t].state = least_squares_take(&work, x, t) ? REGRESSION_FITTED
					     : work.lengths[t] > 0           ? REGRESSION_DEPENDENT
									     : REGRESSION_CONSTANT;
	y_mean = mean_of(y, row_count, 1);
	estimate(result, &work, y, y_mean);
	judge(result, &work, y, y_mean, confidence);
	correlate(result, &work);
}

void regression_free(struct regression *regression)
{
	arena_free(&regression->arena);
	memset(regression, 0, sizeof(*regression));
}
