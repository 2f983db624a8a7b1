/* Variable projection: see varpro.h. */
#include "varpro.h"
#include "quadratic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the mean absolute error: residuals below this share weigh no more than one of this size. */
#define LEAST_RESIDUAL 0.005
/* Two tell whether powers are worth more: within this factor of the best so far. */
#define REWEIGHTINGS 8
#define FIRST_REWEIGHTINGS 2
#define PROMISING 1.25

/*
 * Absolute values by reweighted least squares: sum r^2 / |r of the last solution|. The first solution is that
 * of plain squares. Each is a quadratic in the coefficients, in their box, with the penalty, which is one as
 * well.
 */
struct projection {
	struct cost *cost;
	double promising; /* an objective above it is not made exact */
	double *block, *wide, *gram, *vector, *lower, *upper, *solution, *work;
};

static bool projection_init(struct projection *projection, struct cost *cost)
{
	size_t size = cost->space->linear_count;
	double *next = calloc(
		(size + 1) * (size + 1) + size * size + 4 * size + QUADRATIC_WORK(size), sizeof(double));

	*projection = (struct projection){.cost = cost, .promising = HUGE_VAL, .block = next};
	if (!next)
		return false;
	projection->wide = next, next += (size + 1) * (size + 1);
	projection->gram = next, next += size * size;
	projection->vector = next, next += size;
	projection->lower = next, next += size;
	projection->upper = next, next += size;
	projection->solution = next, next += size;
	projection->work = next;
	for (size_t i = 0; i < size; i++) {
		projection->lower[i] = cost->space->items[i].lower;
		projection->upper[i] = cost->space->items[i].upper;
	}
	return true;
}

/* The quadratic of the weights that x's residuals give; `least` is the smallest residual that counts as it
 * is. */
static void gather(struct projection *projection, const double *x, double least, bool weighted)
{
	struct cost *cost = projection->cost;
	size_t size = cost->space->linear_count, wide = size + 1, rows;
	double weights[KERNEL_CHUNK], count = (double)cost->plan->kernel.sample_count;

	memset(projection->wide, 0, wide * wide * sizeof(double));
	for (size_t first = 0; (rows = cost_chunk(cost, x, first, true)) > 0; first += rows) {
		/* the times as one more column */
		memcpy(cost->jacobian + size * KERNEL_STRIDE, cost->plan->kernel.times + first,
			rows * sizeof(double));
		for (size_t k = 0; k < rows; k++)
			weights[k] = 1 / (count * (weighted ? fmax(fabs(cost->residuals[k]), least) : least));
		cost->kernel->gram(cost->jacobian, weights, rows, wide, projection->wide);
	}
	for (size_t i = 0; i < size; i++) {
		memcpy(projection->gram + i * size, projection->wide + i * wide, size * sizeof(double));
		projection->vector[i] = projection->wide[i * wide + size];
	}
}

/* The penalty's part of the quadratic, with x as where the absolute values of (4.11) are taken. */
static void add_penalty(struct projection *projection, const double *x, bool weighted)
{
	struct cost *cost = projection->cost;
	const struct kernel_plan *kernel = &cost->plan->kernel;
	size_t size = kernel->linear_count, exponent = size + kernel->intrinsic_count;
	double log_product = 0;

	if (!kernel->penalty)
		return;
	for (size_t j = 0; j < kernel->exponent_count; j++)
		log_product -= x[exponent + j] * kernel->exponent_log_scales[j];
	for (size_t i = 0; i + 1 < size; i++) {
		double log_unit = log_product, unit, bent = 2;

		if (i < kernel->intrinsic_count)
			log_unit -= x[size + i] * kernel->log_scales[i];
		unit = exp(log_unit) * kernel->coefficient_scale;
		if (kernel->penalty == 1)
			bent = weighted ? 1 / fmax(fabs(x[i] * unit), 1e-9) : 0;
		projection->gram[i * size + i] +=
			kernel->lambda_coefficients * kernel->penalty_scale * bent * unit * unit;
	}
}

static double solve(struct projection *projection, double *x, int reweightings)
{
	struct cost *cost = projection->cost;
	size_t size = cost->space->linear_count;
	double best = HUGE_VAL, objective, error = 0.25;

	cost_linearise(cost, x);
	memset(projection->solution, 0, size * sizeof(double));
	memset(x, 0, size * sizeof(double));
	for (int i = 0; i <= reweightings; i++) {
		gather(projection, x, i == 0 ? error : LEAST_RESIDUAL * error, i > 0);
		add_penalty(projection, x, i > 0);
		quadratic_solve(projection->gram, projection->vector, projection->lower, projection->upper,
			size, projection->solution, projection->work);
		memcpy(x, projection->solution, size * sizeof(double));
		cost_evaluate(cost, x, 1, &objective, &error);
		cost->evaluations--;
		best = fmin(best, objective);
		if (!isfinite(objective) || (i >= FIRST_REWEIGHTINGS && best > projection->promising))
			break;
	}
	return best;
}

double varpro_solve(struct cost *cost, double *x, int reweightings)
{
	struct projection projection;
	double objective = HUGE_VAL;

	if (projection_init(&projection, cost))
		objective = solve(&projection, x, reweightings);
	free(projection.block);
	return objective;
}

struct outer {
	struct search *search;
	struct projection projection;
	double *x; /* a whole candidate */
};

static void evaluate(void *context, const double *powers, size_t count, double *costs)
{
	struct outer *outer = context;
	struct cost *cost = outer->projection.cost;
	size_t linear = cost->space->linear_count, size = cost->space->count - linear;

	for (size_t i = 0; i < count; i++) {
		memcpy(outer->x + linear, powers + i * size, size * sizeof(double));
		outer->projection.promising = PROMISING * outer->search->best_cost;
		costs[i] = solve(&outer->projection, outer->x, REWEIGHTINGS);
		cost->evaluations++;
		/* the last reweighting is not always the best, but what is kept is what was found */
		search_note(outer->search, outer->x, cost_of(cost, outer->x));
		cost->evaluations--;
	}
}

static bool report(void *context, size_t evaluations, double best_cost)
{
	struct outer *outer = context;

	return outer->search->report && outer->search->report(outer->search->context, evaluations, best_cost);
}

int varpro_search(struct search *search, struct cost *cost)
{
	size_t linear = cost->space->linear_count, size = cost->space->count - linear;
	struct outer outer = {.search = search};
	struct search inner = *search;
	int status = -ENOMEM;

	outer.x = calloc(cost->space->count + 1, sizeof(*outer.x));
	inner.best = calloc(size + 1, sizeof(*inner.best));
	if (!outer.x || !inner.best || !projection_init(&outer.projection, cost))
		goto out;
	inner.size = size;
	inner.lower = search->lower + linear;
	inner.upper = search->upper + linear;
	inner.evaluate = evaluate;
	inner.report = report;
	inner.context = &outer;
	inner.end = PM_FIT_END_CONVERGED;
	if (size > 0) {
		status = jso_search(&inner);
	} else {
		double objective;

		evaluate(&outer, inner.best, 1, &objective);
		inner.evaluations = 1;
		status = 0;
	}
	search->evaluations = inner.evaluations;
	search->generations = inner.generations;
	search->end = inner.end;
out:
	free(outer.x);
	free(inner.best);
	free(outer.projection.block);
	return status;
}
