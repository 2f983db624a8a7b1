/*
 * Formulas beyond their data: growth with GPUs, nodes and batch is held within what steps do, times that fall
 * go on falling, columns of other names go on as steeply as at the edge of the data and no steeper, rows
 * inside are left as the formula has them, and intervals widen.
 */
#include "../analyzer/check.h"
#include "step/beyond.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 45
#define ASKED 3 /* inside, at 8 times the edge, at 64 times */

/* The model of t = 10 x^power, a little off, fitted to x of 1, 2, 4; what it says at 4, 32 and 256. */
static void ask(const char *name, double power, double times[ASKED], double plain[ASKED], double width[ASKED])
{
	double values[ROWS], measured[ROWS], asked[ASKED] = {4, 32, 256};
	struct pm_fit_column column = {name, PM_FIT_EXTRINSIC, values, 0, NULL};
	struct pm_fit_problem problem = {ROWS, 1, &column, measured, "s"};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model = NULL;
	struct beyond beyond;

	for (size_t k = 0; k < ROWS; k++) {
		values[k] = (double)(1 << k % 3);
		measured[k] = 10 * pow(values[k], power) * (1 + 0.02 * ((double)(k / 3 % 5) - 2));
	}
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	parameter.constant_upper = 0;
	CHECK(!pm_fit_check(&problem, &parameter) && pm_fit(&problem, &parameter, &model) == 0, "no model");
	column.values = asked;
	problem.sample_count = ASKED;
	problem.time = NULL;
	CHECK(pm_fit_predict(model, &problem, plain) == 0, "no prediction");
	CHECK(beyond_predict(&beyond, model, &problem, 0.95) == 0 && beyond.outside == 2, "%zu outside",
		beyond.outside);
	for (size_t k = 0; k < ASKED; k++) {
		times[k] = beyond.times[k];
		width[k] = log(beyond.high[k] / beyond.low[k]);
		CHECK(beyond.low[k] < times[k] && times[k] < beyond.high[k], "%s %g: %g to %g", name,
			asked[k], beyond.low[k], beyond.high[k]);
	}
	beyond_free(&beyond);
	pm_fit_free(model);
}

/* From the edge at 4 the time grows by at most 8^most and 64^most. */
static void check(const char *name, double power, double most)
{
	double times[ASKED], plain[ASKED], width[ASKED];

	ask(name, power, times, plain, width);
	CHECK(fabs(times[0] / plain[0] - 1) < 1e-9, "%s: inside %g, the formula %g", name, times[0],
		plain[0]);
	for (size_t k = 1; k < ASKED; k++) {
		double expected = plain[0] * pow(8, (double)k * most);

		CHECK(fabs(times[k] / expected - 1) < 0.03, "%s^%g held to %g: %g, expected %g", name, power,
			most, times[k], expected);
		CHECK(width[k] > 1.5 * width[k - 1], "%s: width %g, nearer %g", name, width[k], width[k - 1]);
	}
}

/* A cube that a constant hides in the data, t = 100 + 0.01 x^3 for x of 1 to 10, is not let loose at 1000. */
static void check_hidden(void)
{
	double values[ROWS], measured[ROWS], asked = 1000;
	struct pm_fit_column column = {"params", PM_FIT_INTRINSIC, values, 0, NULL};
	struct pm_fit_problem problem = {ROWS, 1, &column, measured, "s"};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model = NULL;
	struct beyond beyond;

	for (size_t k = 0; k < ROWS; k++) {
		values[k] = 1 + (double)(k % 10);
		measured[k] = 100 + 0.01 * pow(values[k], 3);
	}
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	CHECK(pm_fit(&problem, &parameter, &model) == 0, "no model");
	column.values = &asked;
	problem.sample_count = 1;
	problem.time = NULL;
	CHECK(beyond_predict(&beyond, model, &problem, 0.95) == 0, "no prediction");
	CHECK(beyond.held == 1 && beyond.times[0] > 110 && beyond.times[0] < 110 * 100 * 1.1 &&
			beyond.high[0] > 4 * beyond.times[0],
		"%zu held, %g to %g", beyond.held, beyond.times[0], beyond.high[0]);
	beyond_free(&beyond);
	pm_fit_free(model);
}

int main(void)
{
	check_hidden();
	check("gpus", 1.2, 0.35);
	check("num_nodes", 0.9, 0.35);
	check("local_bsz", 1.6, 1);
	check("batch", 0.4, 0.4);
	check("gpus", -1, -1);
	check("filters", 1.5, 1.5);
	return check_end();
}
