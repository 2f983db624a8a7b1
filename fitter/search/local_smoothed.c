/* Smoothed absolute values, Gauss-Newton steps in a box: see local.h. */
#include "local.h"
#include "quadratic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STAGES 10
#define STEPS 30
#define FIRST_WIDTH 0.5 /* of the mean absolute error */
#define NARROWER 0.25
#define GAIN 1e-7 /* a step that gains less, relatively, ends its stage */

struct smoothed {
	struct cost *cost;
	size_t size;
	double width;
	/* at the last point that was looked at; the residuals are one more column and row of gram */
	double *gram, *gradient, *curvature;
	double *damped, *vector, *lower, *upper, *step, *work;
	double *point;
};

/* The smoothed objective, its gradient and a matrix that bounds its second derivatives from above. */
static double look(struct smoothed *s, const double *x)
{
	struct cost *cost = s->cost;
	size_t size = s->size, wide = size + 1, rows;
	double weights[KERNEL_CHUNK], sum = 0, count = (double)cost->plan->kernel.sample_count;
	double *residuals = cost->jacobian + size * KERNEL_STRIDE; /* as one more column */

	memset(s->gram, 0, wide * wide * sizeof(double));
	memset(s->curvature, 0, size * sizeof(double));
	cost_linearise(cost, x);
	for (size_t first = 0; (rows = cost_chunk(cost, x, first, false)) > 0; first += rows) {
		for (size_t k = 0; k < rows; k++) {
			double r = cost->residuals[k], length = sqrt(r * r + s->width * s->width);

			sum += length;
			weights[k] = 1 / (length * count);
			residuals[k] = r;
		}
		cost->kernel->gram(cost->jacobian, weights, rows, wide, s->gram);
	}
	for (size_t i = 0; i < size; i++)
		s->gradient[i] = -s->gram[i * wide + size];
	return sum / count + cost_penalty(cost, x, s->width, s->gradient, s->curvature);
}

static void take_step(struct smoothed *s, const double *x, double damping)
{
	size_t size = s->size;
	double trace = 0;

	for (size_t i = 0; i < size; i++)
		trace += s->gram[i * (size + 1) + i] + s->curvature[i];
	for (size_t i = 0; i < size; i++) {
		const struct space_item *item = &s->cost->space->items[i];

		memcpy(s->damped + i * size, s->gram + i * (size + 1), size * sizeof(double));
		s->damped[i * size + i] += s->curvature[i];
		s->damped[i * size + i] += damping * s->damped[i * size + i] + 1e-12 * trace;
		s->vector[i] = -s->gradient[i];
		s->lower[i] = item->lower - x[i];
		s->upper[i] = item->upper - x[i];
		s->step[i] = 0;
	}
	quadratic_solve(s->damped, s->vector, s->lower, s->upper, size, s->step, s->work);
	for (size_t i = 0; i < size; i++) {
		const struct space_item *item = &s->cost->space->items[i];

		s->point[i] = fmin(item->upper, fmax(item->lower, x[i] + s->step[i]));
	}
}

/* One stage, at one width; x moves. */
static void descend(struct smoothed *s, double *x)
{
	double value = look(s, x), damping = 1e-3;
	bool current = true; /* gradient and matrix are those of x */

	for (int i = 0; i < STEPS && damping < 1e8; i++) {
		double before = value, trial;

		if (!current)
			look(s, x);
		take_step(s, x, damping);
		trial = look(s, s->point);
		current = trial < value;
		if (!current) {
			damping *= 8;
			continue;
		}
		memcpy(x, s->point, s->size * sizeof(double));
		value = trial;
		damping /= 8;
		if (before - value < GAIN * value)
			break;
	}
}

static bool make_room(struct smoothed *s, size_t size, double **block)
{
	double *next = *block =
		calloc(2 * (size + 1) * (size + 1) + 8 * size + QUADRATIC_WORK(size), sizeof(double));

	if (!next)
		return false;
	s->gram = next, next += (size + 1) * (size + 1);
	s->damped = next, next += size * size;
	s->gradient = next, next += size;
	s->curvature = next, next += size;
	s->vector = next, next += size;
	s->lower = next, next += size;
	s->upper = next, next += size;
	s->step = next, next += size;
	s->point = next, next += 2 * size;
	s->work = next;
	return true;
}

double local_smoothed(struct cost *cost, double *x)
{
	struct smoothed s = {.cost = cost, .size = cost->space->count};
	double best, error, objective, *block, *start;

	cost_evaluate(cost, x, 1, &best, &error);
	if (!isfinite(best) || !make_room(&s, s.size, &block))
		return best;
	start = s.point + s.size;
	memcpy(start, x, s.size * sizeof(double));
	s.width = FIRST_WIDTH * error;
	for (int stage = 0; stage < STAGES && s.width > 0; stage++, s.width *= NARROWER) {
		descend(&s, start);
		objective = cost_of(cost, start);
		if (objective < best) {
			best = objective;
			memcpy(x, start, s.size * sizeof(double));
		}
	}
	free(block);
	return best;
}
