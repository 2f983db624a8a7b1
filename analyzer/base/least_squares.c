/*
 * Least squares: see regression.h. Columns are centred and scaled, then made orthogonal one after the other,
 * and so is y (Gram and Schmidt's method, modified: each projection is of what those before have left). What
 * is left of a column tells whether it says anything that those before it do not. The normal equations are
 * never formed: their condition is the square of the data's.
 */
#include "least_squares.h"
#include "student.h"

#include <math.h>
#include <string.h>

#define DEPENDENT 1e-9 /* part of a column that must be its own */

struct work {
	size_t rows, count;
	double *centred; /* [term][row], of length 1 */
	double *means, *lengths;
	double *own;     /* [fitted term][row]: orthogonal, of length 1 */
	double *upper;   /* [fitted][fitted]: centred = own x upper */
	double *inverse; /* of upper */
	size_t *fitted;  /* number of the term */
	size_t fitted_count;
};

static double product(const double *a, const double *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
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

static void centre(struct work *work, const double *x)
{
	for (size_t t = 0; t < work->count; t++) {
		double *column = work->centred + t * work->rows, greatest = 0;

		work->means[t] = mean_of(x + t, work->rows, work->count);
		for (size_t i = 0; i < work->rows; i++) {
			double value = x[i * work->count + t];

			column[i] = value - work->means[t];
			greatest = fmax(greatest, fabs(value));
		}
		work->lengths[t] = sqrt(product(column, column, work->rows));
		/* What rounding leaves of a constant is none of its own. */
		if (work->lengths[t] <= 1e-12 * greatest * sqrt((double)work->rows))
			work->lengths[t] = 0;
		for (size_t i = 0; i < work->rows && work->lengths[t] > 0; i++)
			column[i] /= work->lengths[t];
	}
}

/* Takes the next term in, unless those before it say all of it. */
static enum regression_state take(struct work *work, size_t term)
{
	size_t at = work->fitted_count;
	double *own = work->own + at * work->rows, length;

	if (!(work->lengths[term] > 0))
		return REGRESSION_CONSTANT;
	memcpy(own, work->centred + term * work->rows, work->rows * sizeof(*own));
	for (size_t k = 0; k < at; k++) {
		const double *before = work->own + k * work->rows;
		double part = product(before, own, work->rows);

		work->upper[k * work->count + at] = part;
		for (size_t i = 0; i < work->rows; i++)
			own[i] -= part * before[i];
	}
	length = sqrt(product(own, own, work->rows));
	if (length < DEPENDENT || at + 1 >= work->rows) {
		for (size_t k = 0; k < at; k++)
			work->upper[k * work->count + at] = 0;
		return REGRESSION_DEPENDENT;
	}
	for (size_t i = 0; i < work->rows; i++)
		own[i] /= length;
	work->upper[at * work->count + at] = length;
	work->fitted[work->fitted_count++] = term;
	return REGRESSION_FITTED;
}

static void invert(struct work *work)
{
	size_t n = work->fitted_count, width = work->count;

	for (size_t column = 0; column < n; column++)
		for (size_t row = column + 1; row-- > 0;) {
			double sum = row == column;

			for (size_t k = row + 1; k <= column; k++)
				sum -= work->upper[row * width + k] * work->inverse[k * width + column];
			work->inverse[row * width + column] = sum / work->upper[row * width + row];
		}
}

/* Element of the inverse of the (centred, scaled) normal equations: (R'R)^-1 = R^-1 R^-T. */
static double covariance(const struct work *work, size_t a, size_t b)
{
	double sum = 0;

	for (size_t k = a > b ? a : b; k < work->fitted_count; k++)
		sum += work->inverse[a * work->count + k] * work->inverse[b * work->count + k];
	return sum;
}

static void estimate(struct regression *result, const struct work *work, const double *y, double y_mean)
{
	double *projected = arena_alloc(&result->arena, work->count + 1, sizeof(*projected));
	double *rest = arena_alloc(&result->arena, work->rows, sizeof(*rest));

	for (size_t i = 0; i < work->rows; i++)
		rest[i] = y[i] - y_mean;
	for (size_t k = 0; k < work->fitted_count; k++) {
		const double *own = work->own + k * work->rows;

		projected[k] = product(own, rest, work->rows);
		for (size_t i = 0; i < work->rows; i++)
			rest[i] -= projected[k] * own[i];
	}
	result->terms[0].estimate = y_mean;
	for (size_t a = 0; a < work->fitted_count; a++) {
		struct regression_term *term = &result->terms[1 + work->fitted[a]];
		double value = 0;

		for (size_t k = a; k < work->fitted_count; k++)
			value += work->inverse[a * work->count + k] * projected[k];
		term->estimate = value / work->lengths[work->fitted[a]];
		result->terms[0].estimate -= term->estimate * work->means[work->fitted[a]];
	}
	for (size_t i = 0; i < work->rows; i++) {
		result->residuals[i] = rest[i];
		result->fitted[i] = y[i] - rest[i];
	}
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
	double rows = (double)work->rows, terms = (double)work->fitted_count, degrees;
	double variance = 1 / rows, quantile;

	for (size_t i = 0; i < work->rows; i++)
		total += (y[i] - y_mean) * (y[i] - y_mean);
	result->fitted_count = work->fitted_count + 1;
	result->degrees = work->rows - result->fitted_count;
	degrees = (double)result->degrees;
	quantile = student_quantile(confidence, degrees);
	result->r2 = total > 0 ? 1 - left / total : NAN;
	result->adjusted_r2 = result->degrees ? 1 - (1 - result->r2) * (rows - 1) / degrees : NAN;
	result->deviation = result->degrees ? sqrt(left / degrees) : NAN;
	result->f = result->degrees && terms > 0 ? (total - left) / terms / (left / degrees) : NAN;
	result->f_p = student_fisher_p(result->f, terms, degrees);
	for (size_t a = 0; a < work->fitted_count; a++) {
		struct regression_term *term = &result->terms[1 + work->fitted[a]];
		double length = work->lengths[work->fitted[a]];

		term->inflation = covariance(work, a, a);
		judge_term(result, term, term->inflation / (length * length), quantile);
		for (size_t b = 0; b < work->fitted_count; b++)
			variance += work->means[work->fitted[a]] * work->means[work->fitted[b]] *
				    covariance(work, a, b) / (length * work->lengths[work->fitted[b]]);
	}
	judge_term(result, &result->terms[0], variance, quantile);
}

/* With which other term each goes along, and which one says what a term left out says. */
static void correlate(struct regression *result, const struct work *work)
{
	for (size_t a = 0; a < work->count; a++)
		for (size_t b = 0; b < work->count; b++) {
			struct regression_term *term = &result->terms[1 + a];
			double shared = product(
				work->centred + a * work->rows, work->centred + b * work->rows, work->rows);

			if (a == b || !(work->lengths[a] > 0 && work->lengths[b] > 0) ||
				result->terms[1 + b].state != REGRESSION_FITTED ||
				(term->shared_with && fabs(shared) <= fabs(term->shared)))
				continue;
			term->shared = shared;
			term->shared_with = result->terms[1 + b].name;
		}
}

static struct work begin_work(struct arena *arena, size_t rows, size_t count)
{
	return (struct work){
		.rows = rows,
		.count = count,
		.centred = arena_alloc(arena, count * rows + 1, sizeof(double)),
		.means = arena_alloc(arena, count + 1, sizeof(double)),
		.lengths = arena_alloc(arena, count + 1, sizeof(double)),
		.own = arena_alloc(arena, count * rows + 1, sizeof(double)),
		.upper = arena_alloc(arena, count * count + 1, sizeof(double)),
		.inverse = arena_alloc(arena, count * count + 1, sizeof(double)),
		.fitted = arena_alloc(arena, count + 1, sizeof(size_t)),
	};
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
	centre(&work, x);
	for (size_t t = 0; t < count; t++)
		result->terms[1 + t].state = take(&work, t);
	invert(&work);
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
