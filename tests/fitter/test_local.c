/* The local searches from beside the truth: back to it without noise, never worse, inside the bounds; and
 * the coefficients solved for given powers. */
#include "../analyzer/check.h"
#include "search/local.h"
#include "search/varpro.h"
#include "synthetic.h"

#include <math.h>
#include <string.h>

/* In the order of space.h: a x, a y, three kinds, two modes, C, p x, p y, q batch, q gpus */
static const double truth[12] = {3, 2, 0, 1.5, 4, 0.5, 2, 0.6, 0.7, -0.5, -0.8, -0.95};

struct case_of {
	struct synthetic made;
	struct space space;
	struct plan plan;
	struct cost cost;
	double x[12];
};

static void begin(struct case_of *c, const struct pm_fit_parameter *parameter, double noise, unsigned seed)
{
	synthetic_init(&c->made, 400, noise, 0, seed);
	CHECK(space_init(&c->space, &c->made.problem, parameter) == 0 && c->space.count == 12, "space");
	CHECK(plan_init(&c->plan, &c->made.problem, &c->space, parameter) == 0, "plan");
	CHECK(cost_init(&c->cost, &c->plan, &c->space) == 0, "cost");
	space_scale(&c->space, truth, c->x);
}

static void end(struct case_of *c)
{
	cost_free(&c->cost);
	plan_free(&c->plan);
	space_free(&c->space);
	synthetic_free(&c->made);
}

/* Answers how much of the error that the disturbance made is left. */
static double left_over(double (*method)(struct cost *, double *), const struct pm_fit_parameter *parameter,
	double noise, unsigned seed)
{
	struct random random;
	struct case_of c;
	double at_truth, disturbed, found;

	begin(&c, parameter, noise, seed);
	at_truth = cost_of(&c.cost, c.x);
	random_init(&random, seed, 3);
	for (size_t i = 0; i < 12; i++) {
		c.x[i] *= 1 + 0.2 * random_normal(&random);
		c.x[i] = fmin(c.space.items[i].upper, fmax(c.space.items[i].lower, c.x[i]));
	}
	disturbed = cost_of(&c.cost, c.x);
	found = method(&c.cost, c.x);
	CHECK(found <= disturbed && found == cost_of(&c.cost, c.x), "worse, or not what it says");
	for (size_t i = 0; i < 12; i++)
		CHECK(c.x[i] >= c.space.items[i].lower && c.x[i] <= c.space.items[i].upper,
			"number %zu is outside", i);
	end(&c);
	return (found - at_truth) / (disturbed - at_truth);
}

/* With the true powers and no noise, the true coefficients but for a shift between the groups of levels. */
static void check_solve(void)
{
	struct pm_fit_parameter parameter;
	struct case_of c;
	double values[12];

	pm_fit_defaults(&parameter);
	begin(&c, &parameter, 0, 1);
	memset(c.x, 0, 8 * sizeof(double));
	CHECK(varpro_solve(&c.cost, c.x, 3) * c.space.time_scale < 1e-6, "not solved");
	space_unscale(&c.space, c.x, values);
	for (size_t i = 0; i < 12; i++) {
		double shift = i >= 2 && i < 5 ? values[2] : i >= 5 && i < 7 ? values[5] - 0.5 : 0;

		CHECK(fabs(values[i] - shift - truth[i]) < 1e-4, "number %zu: %g, not %g", i,
			values[i] - shift, truth[i]);
	}
	end(&c);
}

int main(void)
{
	struct pm_fit_parameter parameter;

	check_solve();
	for (unsigned seed = 1; seed <= 6; seed++) {
		pm_fit_defaults(&parameter);
		CHECK(left_over(local_smoothed, &parameter, 0, seed) < 1e-3, "smoothed, seed %u", seed);
		CHECK(left_over(local_lbfgs, &parameter, 0, seed) < 0.2, "quasi-Newton, seed %u", seed);
		/* with noise there is something better than the truth */
		CHECK(left_over(local_smoothed, &parameter, 0.05, seed) < 0, "smoothed with noise, seed %u",
			seed);
		parameter.penalty = PM_FIT_L2;
		parameter.lambda_coefficients = parameter.lambda_powers = 0.01;
		CHECK(left_over(local_smoothed, &parameter, 0.05, seed) < 0, "smoothed with L2, seed %u",
			seed);
		parameter.penalty = PM_FIT_L1;
		CHECK(left_over(local_smoothed, &parameter, 0.05, seed) < 0, "smoothed with L1, seed %u",
			seed);
		/* a bound that is in the way */
		parameter.power_lower = -0.7;
		left_over(local_smoothed, &parameter, 0.05, seed);
		left_over(local_lbfgs, &parameter, 0.05, seed);
	}
	return check_end();
}
