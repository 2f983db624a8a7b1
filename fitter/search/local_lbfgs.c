/* A limited-memory quasi-Newton method with bounds: see local.h. */
#include "local.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY 10
#define STEPS 2000
#define TRIALS 40
#define SUFFICIENT 1e-4
#define FLATTER 0.9
#define GAIN 2.2e-9 /* relative; L-BFGS-B's usual end */

struct lbfgs {
	struct cost *cost;
	size_t size, pairs;
	double *x, *gradient, *trial, *trial_gradient, *direction;
	double *steps, *changes; /* MEMORY pairs, the latest at pairs % MEMORY before it is counted */
};

static double dot(const double *a, const double *b, size_t size)
{
	double sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += a[i] * b[i];
	return sum;
}

static double value_and_gradient(struct lbfgs *l, const double *x, double *gradient)
{
	struct cost *cost = l->cost;
	double count = (double)cost->plan->kernel.sample_count, sum = 0;
	size_t rows;

	memset(gradient, 0, l->size * sizeof(double));
	/* direction is not in use while the gradient is made */
	cost_linearise(cost, x);
	for (size_t first = 0; (rows = cost_chunk(cost, x, first, false)) > 0; first += rows)
		for (size_t k = 0; k < rows; k++) {
			double r = cost->residuals[k];

			sum += fabs(r) / count;
			for (size_t i = 0; i < l->size; i++)
				gradient[i] -=
					(r > 0 ? 1 : -1) * cost->jacobian[i * KERNEL_STRIDE + k] / count;
		}
	cost->evaluations++;
	return sum + cost_penalty(cost, x, 1e-12, gradient, l->direction);
}

/* At its bound, and pulled outward. */
static bool held(const struct lbfgs *l, size_t i)
{
	const struct space_item *item = &l->cost->space->items[i];

	return (l->x[i] <= item->lower && l->gradient[i] > 0) ||
	       (l->x[i] >= item->upper && l->gradient[i] < 0);
}

/* The inverse of the second derivatives times the gradient, from the last pairs. */
static void make_direction(struct lbfgs *l)
{
	double alpha[MEMORY], *d = l->direction;
	size_t used = l->pairs < MEMORY ? l->pairs : MEMORY;

	for (size_t i = 0; i < l->size; i++)
		d[i] = held(l, i) ? 0 : -l->gradient[i];
	for (size_t n = 0; n < used; n++) {
		size_t at = (l->pairs - 1 - n) % MEMORY;
		const double *s = l->steps + at * l->size, *y = l->changes + at * l->size;

		alpha[at] = dot(s, d, l->size) / dot(s, y, l->size);
		for (size_t i = 0; i < l->size; i++)
			d[i] -= alpha[at] * y[i];
	}
	if (used > 0) {
		const double *s = l->steps + (l->pairs - 1) % MEMORY * l->size;
		const double *y = l->changes + (l->pairs - 1) % MEMORY * l->size;
		double scale = dot(s, y, l->size) / dot(y, y, l->size);

		for (size_t i = 0; i < l->size; i++)
			d[i] *= scale;
	}
	for (size_t n = used; n-- > 0;) {
		size_t at = (l->pairs - 1 - n) % MEMORY;
		const double *s = l->steps + at * l->size, *y = l->changes + at * l->size;
		double beta = dot(y, d, l->size) / dot(s, y, l->size);

		for (size_t i = 0; i < l->size; i++)
			d[i] += (alpha[at] - beta) * s[i];
	}
	for (size_t i = 0; i < l->size; i++)
		if (held(l, i))
			d[i] = 0;
}

/* The value at the step `length` along `direction`, bent at the bounds; the slope there, and what Armijo's
 * rule allows. */
static double try_length(struct lbfgs *l, const double *direction, double length, double *slope, double *fall)
{
	double value;

	*fall = *slope = 0;
	for (size_t i = 0; i < l->size; i++) {
		const struct space_item *item = &l->cost->space->items[i];

		l->trial[i] = fmin(item->upper, fmax(item->lower, l->x[i] + length * direction[i]));
		*fall += l->gradient[i] * (l->trial[i] - l->x[i]);
	}
	value = value_and_gradient(l, l->trial, l->trial_gradient);
	for (size_t i = 0; i < l->size; i++)
		if (l->trial[i] != l->x[i])
			*slope += l->trial_gradient[i] * direction[i];
	return value;
}

/* Halves and doubles until the value falls enough and the slope has become flatter (Wolfe's conditions,
 * the weak ones, which a function with kinks can meet); false if the value never falls. */
static bool search_line(struct lbfgs *l, double *value)
{
	double *direction = malloc(l->size * sizeof(double)), low = 0, high = HUGE_VAL, length = 1;
	double first, slope, fall, trial;
	bool found = false;

	if (!direction)
		return false;
	memcpy(direction, l->direction, l->size * sizeof(double));
	first = dot(l->gradient, direction, l->size);
	if (l->pairs == 0)
		length = fmin(1, 0.1 / (sqrt(dot(direction, direction, l->size)) + 1e-300));
	for (int i = 0; i < TRIALS && first < 0; i++) {
		trial = try_length(l, direction, length, &slope, &fall);
		if (!(trial <= *value + SUFFICIENT * fall))
			high = length;
		else if (slope < FLATTER * first)
			low = length;
		else
			break;
		length = high < HUGE_VAL ? (low + high) / 2 : 2 * low;
	}
	if (first < 0 && trial <= *value + SUFFICIENT * fall && trial < *value) {
		*value = trial;
		found = true;
	} else if (low > 0) {
		*value = try_length(l, direction, low, &slope, &fall);
		found = true;
	}
	free(direction);
	return found;
}

static void remember(struct lbfgs *l)
{
	double *s = l->steps + l->pairs % MEMORY * l->size, *y = l->changes + l->pairs % MEMORY * l->size;

	for (size_t i = 0; i < l->size; i++) {
		s[i] = l->trial[i] - l->x[i];
		y[i] = l->trial_gradient[i] - l->gradient[i];
		l->x[i] = l->trial[i];
		l->gradient[i] = l->trial_gradient[i];
	}
	if (dot(s, y, l->size) > 1e-10 * dot(y, y, l->size))
		l->pairs++;
}

double local_lbfgs(struct cost *cost, double *x)
{
	size_t size = cost->space->count;
	struct lbfgs l = {.cost = cost, .size = size};
	double *block = calloc((5 + 2 * MEMORY) * size, sizeof(*block)), begun = cost_of(cost, x), value,
	       objective;

	if (!block || !isfinite(begun))
		goto out;
	l.x = block;
	l.gradient = block + size;
	l.trial = block + 2 * size;
	l.trial_gradient = block + 3 * size;
	l.direction = block + 4 * size;
	l.steps = block + 5 * size;
	l.changes = l.steps + MEMORY * size;
	memcpy(l.x, x, size * sizeof(double));
	value = value_and_gradient(&l, l.x, l.gradient);
	for (int i = 0; i < STEPS; i++) {
		double before = value;

		make_direction(&l);
		if (!search_line(&l, &value)) {
			/* after a kink the pairs mislead: once more down the gradient */
			if (l.pairs == 0)
				break;
			l.pairs = 0;
			continue;
		}
		remember(&l);
		if (before - value <= GAIN * fmax(fabs(value), 1e-300) && l.pairs == 0)
			break;
		if (before - value <= GAIN * fmax(fabs(value), 1e-300))
			l.pairs = 0;
	}
	objective = cost_of(cost, l.x);
	if (objective < begun) {
		begun = objective;
		memcpy(x, l.x, size * sizeof(double));
	}
out:
	free(block);
	return begun;
}
