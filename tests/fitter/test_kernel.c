/* The cost of candidates against the formula written out with pow(), for every instruction set that runs
 * here; the Jacobian and the penalty's gradient against differences. */
#include "../analyzer/check.h"
#include "base/random.h"
#include "search/cost.h"
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"baseline", "avx2", "avx512"};

/* (4.4), from a candidate in original units. Its order is that of space.h. */
static double formula(const struct pm_fit_problem *p, const double *v, size_t k)
{
	size_t power = 8;
	double sum = v[0] * pow(p->columns[0].values[k], v[power]) +
		     v[1] * pow(p->columns[1].values[k], v[power + 1]);

	sum += v[2 + (int)p->columns[2].values[k]] + v[5 + (int)p->columns[3].values[k]];
	return sum * pow(p->columns[4].values[k], v[power + 2]) * pow(p->columns[5].values[k], v[power + 3]) +
	       v[7];
}

static double naive_error(const struct pm_fit_problem *p, const double *values)
{
	double sum = 0;

	for (size_t k = 0; k < p->sample_count; k++)
		sum += fabs(p->time[k] - formula(p, values, k));
	return sum / (double)p->sample_count;
}

static double naive_penalty(const struct pm_fit_parameter *q, const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		double lambda = i > 7 ? q->lambda_powers : q->lambda_coefficients;

		if (i != 7) /* C */
			sum += lambda * (q->penalty == PM_FIT_L2 ? values[i] * values[i] : fabs(values[i]));
	}
	return sum;
}

static void candidate(struct random *random, const struct space *space, double *x)
{
	for (size_t i = 0; i < space->count; i++)
		x[i] = i < space->linear_count ? 5 * random_unit(random) : -2 + 4 * random_unit(random);
}

static void check_costs(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	struct space space;
	struct plan plan;
	struct cost cost;
	struct random random;
	double x[11 * 16], values[16], objectives[11], errors[11];
	size_t kernels = 0;

	CHECK(space_init(&space, problem, parameter) == 0 && space.count == 12, "%zu", space.count);
	CHECK(plan_init(&plan, problem, &space, parameter) == 0, "no plan");
	CHECK(cost_init(&cost, &plan, &space) == 0, "no cost");
	random_init(&random, 3, 1);
	for (int i = 0; i < 11; i++)
		candidate(&random, &space, x + (size_t)i * space.count);
	for (size_t n = 0; n < 3; n++) {
		cost.kernel = kernel_choose(names[n]);
		if (!cost.kernel)
			continue;
		kernels++;
		/* 11: a full block and one that is not full */
		cost_evaluate(&cost, x, 11, objectives, errors);
		for (size_t i = 0; i < 11; i++) {
			double error, penalty;

			space_unscale(&space, x + i * space.count, values);
			error = naive_error(problem, values);
			penalty = parameter->penalty_scaled
					  ? naive_penalty(parameter, x + i * space.count, space.count) *
						    space.time_scale
					  : naive_penalty(parameter, values, space.count);
			CHECK(fabs(errors[i] * space.time_scale / error - 1) < 1e-12,
				"%s: candidate %zu: %.17g, not %.17g", names[n], i,
				errors[i] * space.time_scale, error);
			CHECK(fabs(objectives[i] * space.time_scale / (error + penalty) - 1) < 1e-12,
				"%s: candidate %zu with penalty: %.17g, not %.17g", names[n], i,
				objectives[i] * space.time_scale, error + penalty);
		}
	}
	CHECK(kernels > 0, "no kernel runs here");
	cost_free(&cost);
	plan_free(&plan);
	space_free(&space);
}

/* Residuals and Jacobian of all samples, in the problem's order. */
static void check_jacobian(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	struct space space;
	struct plan plan;
	struct cost cost;
	struct random random;
	double x[16], y[16], values[16], worst = 0, worst_residual = 0;
	size_t rows, seen = 0;

	space_init(&space, problem, parameter);
	plan_init(&plan, problem, &space, parameter);
	cost_init(&cost, &plan, &space);
	random_init(&random, 4, 1);
	candidate(&random, &space, x);
	cost_linearise(&cost, x);
	for (size_t first = 0; (rows = cost_chunk(&cost, x, first, false)) > 0; first += rows)
		for (size_t k = 0; k < rows; k++, seen++) {
			size_t sample = plan.order[first + k];

			space_unscale(&space, x, values);
			worst_residual = fmax(worst_residual,
				fabs(cost.residuals[k] * space.time_scale -
					(problem->time[sample] - formula(problem, values, sample))));
			for (size_t i = 0; i < space.count; i++) {
				double h = 1e-6, up, down, slope;

				memcpy(y, x, sizeof(y));
				y[i] = x[i] + h;
				space_unscale(&space, y, values);
				up = formula(problem, values, sample);
				y[i] = x[i] - h;
				space_unscale(&space, y, values);
				down = formula(problem, values, sample);
				slope = (up - down) / (2 * h) / space.time_scale;
				worst = fmax(worst, fabs(cost.jacobian[i * KERNEL_STRIDE + k] - slope) /
							    (1 + fabs(slope)));
			}
		}
	CHECK(seen == problem->sample_count, "%zu samples seen", seen);
	CHECK(worst < 1e-6, "Jacobian is off by %g", worst);
	CHECK(worst_residual < 1e-9, "residual is off by %g", worst_residual);
	cost_free(&cost);
	plan_free(&plan);
	space_free(&space);
}

static void check_penalty_gradient(
	const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	struct space space;
	struct plan plan;
	struct cost cost;
	struct random random;
	double x[16], gradient[16] = {0}, curvature[16] = {0}, unused[32];

	space_init(&space, problem, parameter);
	plan_init(&plan, problem, &space, parameter);
	cost_init(&cost, &plan, &space);
	random_init(&random, 5, 1);
	candidate(&random, &space, x);
	cost_penalty(&cost, x, 1e-9, gradient, curvature);
	for (size_t i = 0; i < space.count; i++) {
		double h = 1e-6, kept = x[i], up, down;

		x[i] = kept + h;
		up = cost_penalty(&cost, x, 1e-9, unused, unused + 16);
		x[i] = kept - h;
		down = cost_penalty(&cost, x, 1e-9, unused, unused + 16);
		x[i] = kept;
		CHECK(fabs((up - down) / (2 * h) - gradient[i]) < 1e-6 * (1 + fabs(gradient[i])),
			"parameter %zu: %g, not %g", i, gradient[i], (up - down) / (2 * h));
	}
	cost_free(&cost);
	plan_free(&plan);
	space_free(&space);
}

static void check_gram(void)
{
	double *jacobian = aligned_alloc(64, 5 * KERNEL_STRIDE * sizeof(double)), weights[KERNEL_CHUNK];
	struct random random;

	random_init(&random, 6, 1);
	for (size_t i = 0; i < 5 * KERNEL_STRIDE; i++)
		jacobian[i] = random_normal(&random);
	for (size_t k = 0; k < KERNEL_CHUNK; k++)
		weights[k] = random_unit(&random);
	for (size_t n = 0; n < 3; n++) {
		const struct kernel *kernel = kernel_choose(names[n]);
		double gram[25] = {0};

		if (!kernel)
			continue;
		kernel->gram(jacobian, weights, 301, 5, gram);
		for (size_t i = 0; i < 5; i++)
			for (size_t j = i; j < 5; j++) {
				double sum = 0;

				for (size_t k = 0; k < 301; k++)
					sum += jacobian[i * KERNEL_STRIDE + k] * weights[k] *
					       jacobian[j * KERNEL_STRIDE + k];
				CHECK(fabs(sum - gram[i * 5 + j]) < 1e-10, "%s: %zu, %zu", names[n], i, j);
			}
	}
	free(jacobian);
}

int main(void)
{
	static const size_t counts[] = {1, 7, 100, 1003};
	struct pm_fit_parameter parameter;
	struct synthetic made;

	for (size_t c = 0; c < 4; c++)
		for (int fine = 0; fine < 2; fine++)
			for (int scale = PM_FIT_SCALE_ALL; scale <= PM_FIT_SCALE_NONE; scale++)
				for (int penalty = PM_FIT_NO_PENALTY; penalty <= PM_FIT_L2; penalty++)
					for (int scaled = 0; scaled < 2; scaled++) {
						pm_fit_defaults(&parameter);
						parameter.scale = (enum pm_fit_scale)scale;
						parameter.penalty = (enum pm_fit_penalty)penalty;
						parameter.penalty_scaled = scaled;
						parameter.lambda_coefficients = penalty ? 0.01 : 0;
						parameter.lambda_powers = penalty ? 0.3 : 0;
						synthetic_init(&made, counts[c], 0.1, fine, 11);
						check_costs(&made.problem, &parameter);
						check_jacobian(&made.problem, &parameter);
						check_penalty_gradient(&made.problem, &parameter);
						synthetic_free(&made);
					}
	check_gram();
	return check_end();
}
