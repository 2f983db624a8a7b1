/* pm_fit_estimate: how long a fit will take. */
#include "fit.h"
#include "base/parallel.h"
#include "search/cost.h"
#include "search/varpro.h"

#include <stdlib.h>
#include <time.h>

/* Local searches and resamples make about so many Jacobians. */
#define LOCAL_JACOBIANS 150
#define ROUNDS_LEAST_SECONDS 0.002
#define ROUNDS_MOST 64

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one evaluation by the method, and of one Jacobian. */
static void measure(struct cost *cost, const struct pm_fit_parameter *parameter, double *x, double *gram,
	double *evaluation, double *jacobian)
{
	size_t batch = parameter->method == PM_FIT_DE ? 1 : KERNEL_LANES, size = cost->space->count, rows,
	       rounds = 0;
	double objectives[KERNEL_LANES], begun = seconds_now();

	for (size_t i = 0; i < size * KERNEL_LANES; i++)
		x[i] = i % size < cost->space->linear_count ? 1 : 0.5;
	while (seconds_now() - begun < ROUNDS_LEAST_SECONDS && rounds < ROUNDS_MOST) {
		if (parameter->method == PM_FIT_VARPRO)
			varpro_solve(cost, x, 2);
		else
			cost_evaluate(cost, x, batch, objectives, NULL);
		rounds++;
	}
	*evaluation = (seconds_now() - begun) / (double)rounds;
	if (parameter->method != PM_FIT_VARPRO)
		*evaluation /= (double)batch;
	begun = seconds_now();
	cost_linearise(cost, x);
	for (size_t first = 0; (rows = cost_chunk(cost, x, first, false)) > 0; first += rows)
		cost->kernel->gram(cost->jacobian, cost->residuals, rows, size, gram);
	*jacobian = seconds_now() - begun;
}

double pm_fit_estimate(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	struct space space = {0};
	struct plan plan = {0};
	struct cost cost = {0};
	double seconds = -1, evaluation, jacobian, *x = NULL;
	double threads = (double)(parameter->thread_count ? parameter->thread_count : parallel_processors());

	if (space_init(&space, problem, parameter) < 0 || plan_init(&plan, problem, &space, parameter) < 0 ||
		cost_init(&cost, &plan, &space) < 0)
		goto out;
	x = calloc(space.count * (space.count + KERNEL_LANES), sizeof(*x));
	if (!x)
		goto out;
	measure(&cost, parameter, x, x + space.count * KERNEL_LANES, &evaluation, &jacobian);
	seconds = evaluation * (double)fit_limit(parameter, &space) * (double)parameter->run_count;
	seconds += jacobian * LOCAL_JACOBIANS *
		   (double)((parameter->polish ? parameter->run_count : 0) + parameter->bootstrap);
	seconds /= threads;
out:
	free(x);
	cost_free(&cost);
	plan_free(&plan);
	space_free(&space);
	return seconds;
}
