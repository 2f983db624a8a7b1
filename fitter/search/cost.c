/* Costs, residuals, Jacobians: see cost.h. */
#include "cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *lanes_alloc(size_t count)
{
	double *lanes = aligned_alloc(64, (count * sizeof(*lanes) + 63) / 64 * 64 + 64);

	if (lanes)
		memset(lanes, 0, count * sizeof(*lanes));
	return lanes;
}

int cost_init(struct cost *cost, const struct plan *plan, const struct space *space)
{
	size_t count = space->count, value_count = plan->kernel.value_begin[space->intrinsic_count];

	*cost = (struct cost){.plan = plan, .space = space, .kernel = kernel_choose(NULL)};
	cost->lanes = lanes_alloc(count * KERNEL_LANES);
	cost->work = lanes_alloc(plan->kernel.entry_count * KERNEL_LANES);
	cost->powers = lanes_alloc(value_count + 1);
	cost->jacobian = lanes_alloc((count + 1) * KERNEL_STRIDE);
	cost->residuals = lanes_alloc(KERNEL_CHUNK);
	if (!cost->lanes || !cost->work || !cost->powers || !cost->jacobian || !cost->residuals)
		return -ENOMEM;
	return 0;
}

void cost_free(struct cost *cost)
{
	free(cost->lanes);
	free(cost->work);
	free(cost->powers);
	free(cost->jacobian);
	free(cost->residuals);
	*cost = (struct cost){0};
}

void cost_evaluate(struct cost *cost, const double *x, size_t count, double *objectives, double *errors)
{
	size_t size = cost->space->count;
	double error[KERNEL_LANES], objective[KERNEL_LANES];

	for (size_t begin = 0; begin < count; begin += KERNEL_LANES) {
		size_t used = count - begin < KERNEL_LANES ? count - begin : KERNEL_LANES;

		/* lanes without a candidate repeat the last one */
		for (size_t lane = 0; lane < KERNEL_LANES; lane++) {
			const double *from = x + (begin + (lane < used ? lane : used - 1)) * size;

			for (size_t i = 0; i < size; i++)
				cost->lanes[i * KERNEL_LANES + lane] = from[i];
		}
		cost->kernel->cost(&cost->plan->kernel, cost->lanes, cost->work, error, objective);
		/* what has overflowed is worse than anything */
		for (size_t lane = 0; lane < used; lane++)
			objectives[begin + lane] = isfinite(objective[lane]) ? objective[lane] : HUGE_VAL;
		if (errors)
			memcpy(errors + begin, error, used * sizeof(*errors));
	}
	cost->evaluations += count;
}

double cost_of(struct cost *cost, const double *x)
{
	double objective;

	cost_evaluate(cost, x, 1, &objective, NULL);
	return objective;
}

void cost_linearise(struct cost *cost, const double *x)
{
	const struct kernel_plan *kernel = &cost->plan->kernel;

	for (size_t i = 0; i < kernel->intrinsic_count; i++)
		for (size_t v = kernel->value_begin[i]; v < kernel->value_begin[i + 1]; v++)
			cost->powers[v] = exp(x[kernel->linear_count + i] * kernel->log_values[v]);
}

static double product_of(const struct kernel_plan *kernel, const double *x, const double *exponents)
{
	double sum = 0;

	for (size_t j = 0; j < kernel->exponent_count; j++)
		sum += x[kernel->linear_count + kernel->intrinsic_count + j] * exponents[j];
	return exp(sum);
}

/* One sample: its row of the Jacobian and its residual. */
static void linearise_sample(struct cost *cost, const double *x, size_t sample, size_t row, double product,
	const double *exponents, bool coefficients_alone)
{
	const struct kernel_plan *kernel = &cost->plan->kernel;
	const uint32_t *terms = cost->plan->terms + sample * cost->plan->term_count;
	size_t value_count = kernel->value_begin[kernel->intrinsic_count];
	double *column = cost->jacobian + row, *powers = column + kernel->linear_count * KERNEL_STRIDE,
	       sum = 0;

	for (size_t i = 0; i < kernel->intrinsic_count; i++) {
		double term = product * cost->powers[terms[i]];

		column[i * KERNEL_STRIDE] = term;
		sum += term * x[i];
		if (!coefficients_alone)
			powers[i * KERNEL_STRIDE] = term * x[i] * kernel->log_values[terms[i]];
	}
	for (size_t l = 0; l < kernel->level_count; l++)
		column[(kernel->intrinsic_count + l) * KERNEL_STRIDE] = 0;
	for (size_t t = kernel->intrinsic_count; t < cost->plan->term_count; t++) {
		size_t level = kernel->intrinsic_count + terms[t] - value_count;

		column[level * KERNEL_STRIDE] = product;
		sum += product * x[level];
	}
	column[(kernel->linear_count - 1) * KERNEL_STRIDE] = 1;
	for (size_t j = 0; j < kernel->exponent_count && !coefficients_alone; j++)
		powers[(kernel->intrinsic_count + j) * KERNEL_STRIDE] = sum * exponents[j];
	cost->residuals[row] = kernel->times[sample] - x[kernel->linear_count - 1] - sum;
}

static size_t combination_of(const struct kernel_plan *kernel, size_t sample)
{
	size_t low = 0, high = kernel->combination_count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (kernel->combination_begin[middle] <= sample)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t cost_chunk(struct cost *cost, const double *x, size_t first, bool coefficients_alone)
{
	const struct kernel_plan *kernel = &cost->plan->kernel;
	size_t row = 0, sample = first;

	if (first >= kernel->sample_count)
		return 0;
	for (size_t c = combination_of(kernel, first); c < kernel->combination_count; c++) {
		const double *exponents = kernel->exponents + c * kernel->exponent_count;
		double product = product_of(kernel, x, exponents);

		for (; sample < kernel->combination_begin[c + 1] && row < KERNEL_CHUNK; sample++, row++)
			linearise_sample(cost, x, sample, row, product, exponents, coefficients_alone);
		if (row == KERNEL_CHUNK)
			break;
	}
	return row;
}

/* d/dz of sqrt(v^2 + w^2) or v^2, and a positive stand-in for the second derivative that makes a quadratic
 * above it */
static double bend(int penalty, double value, double width, double *slope, double *curvature)
{
	double size;

	if (penalty == 2) {
		*slope = 2 * value;
		*curvature = 2;
		return value * value;
	}
	size = sqrt(value * value + width * width);
	*slope = value / size;
	*curvature = 1 / size;
	return size;
}

double cost_penalty(struct cost *cost, const double *x, double width, double *gradient, double *curvature)
{
	const struct kernel_plan *kernel = &cost->plan->kernel;
	size_t exponent = kernel->linear_count + kernel->intrinsic_count;
	double log_product = 0, sum = 0, slope, bent;

	if (!kernel->penalty)
		return 0;
	for (size_t j = 0; j < kernel->exponent_count; j++)
		log_product -= x[exponent + j] * kernel->exponent_log_scales[j];
	for (size_t i = 0; i + 1 < kernel->linear_count; i++) {
		double log_unit = log_product, lambda = kernel->lambda_coefficients * kernel->penalty_scale,
		       unit, pull;

		if (i < kernel->intrinsic_count)
			log_unit -= x[kernel->linear_count + i] * kernel->log_scales[i];
		unit = exp(log_unit) * kernel->coefficient_scale;
		sum += lambda * bend(kernel->penalty, x[i] * unit, width, &slope, &bent);
		gradient[i] += lambda * slope * unit;
		curvature[i] += lambda * bent * unit * unit;
		/* the value in original units changes with the powers as well */
		pull = lambda * slope * x[i] * unit;
		if (i < kernel->intrinsic_count) {
			gradient[kernel->linear_count + i] -= pull * kernel->log_scales[i];
			curvature[kernel->linear_count + i] +=
				lambda * bent * pow(x[i] * unit * kernel->log_scales[i], 2);
		}
		for (size_t j = 0; j < kernel->exponent_count; j++) {
			gradient[exponent + j] -= pull * kernel->exponent_log_scales[j];
			curvature[exponent + j] +=
				lambda * bent * pow(x[i] * unit * kernel->exponent_log_scales[j], 2);
		}
	}
	for (size_t j = kernel->linear_count; j < kernel->parameter_count; j++) {
		double lambda = kernel->lambda_powers * kernel->penalty_scale;

		sum += lambda * bend(kernel->penalty, x[j], width, &slope, &bent);
		gradient[j] += lambda * slope;
		curvature[j] += lambda * bent;
	}
	return sum;
}
