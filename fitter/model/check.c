/* What makes a fit impossible or doubtful, in a sentence: pm_fit_check, pm_fit_warn, pm_fit_check_predict. */
#include "base/error_message.h"
#include "base/role.h"
#include "enum_names.h"
#include "pm_fit.h"
#include "space.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times beyond so many geometric means are doubted. */
#define TIME_FAR 1e4

static bool is_numeric(enum pm_fit_role role)
{
	return role == PM_FIT_INTRINSIC || role == PM_FIT_EXTRINSIC || role == PM_FIT_OFFSET;
}

/* NULL, or what is wrong with the numbers that a role needs. */
static const char *check_column(const struct pm_fit_column *column, size_t count, double least_power)
{
	if (column->role == PM_FIT_IGNORED)
		return NULL;
	if (!column->name || !*column->name)
		return error_message("a column has no name");
	if (!column->values)
		return error_message("column %s has no values", column->name);
	if (role_has_levels(column->role) && column->level_count == 0)
		return error_message("categorical column %s has no levels", column->name);
	for (size_t k = 0; k < count; k++) {
		double value = column->values[k];

		if (!isfinite(value))
			return error_message("column %s, sample %zu: the value is missing or not a number",
				column->name, k + 1);
		if (role_has_levels(column->role) &&
			(value < 0 || value >= (double)column->level_count || value != floor(value)))
			return error_message("column %s, sample %zu: level %g out of range (%zu levels)",
				column->name, k + 1, value, column->level_count);
		if (column->role != PM_FIT_INTRINSIC && column->role != PM_FIT_EXTRINSIC)
			continue;
		if (value < 0)
			return error_message(
				"column %s, sample %zu: %g is negative and cannot be raised to a power; make the "
				"column categorical or ignore it",
				column->name, k + 1, value);
		if (value == 0 && least_power < 0)
			return error_message(
				"column %s, sample %zu: zero cannot be raised to a negative power; make the column "
				"categorical, ignore it, or bound the powers below by 0",
				column->name, k + 1);
	}
	return NULL;
}

static const char *check_times(const struct pm_fit_problem *problem)
{
	bool differ = false;

	if (!problem->time)
		return error_message("the column of measured times is missing");
	for (size_t k = 0; k < problem->sample_count; k++) {
		double time = problem->time[k];

		if (!isfinite(time))
			return error_message("sample %zu: the time is missing or not a number", k + 1);
		if (time <= 0)
			return error_message(
				"sample %zu: the time is %g; times must be positive", k + 1, time);
		differ |= time != problem->time[0];
	}
	if (problem->sample_count == 1)
		return error_message("one sample: at least two different times are needed");
	return differ ? NULL
		      : error_message("all %zu times are equal: nothing to fit", problem->sample_count);
}

static const char *check_interval(const char *what, double lower, double upper, double greatest_lower)
{
	if (!isfinite(lower) || !isfinite(upper) || lower > upper)
		return error_message(
			"bounds of %s: %g and %g: expected two numbers, the lower first", what, lower, upper);
	if (lower > greatest_lower)
		return error_message(
			"the lower bound of %s is %g: expected at most %g", what, lower, greatest_lower);
	return NULL;
}

static const char *check_parameter(const struct pm_fit_parameter *p)
{
	const char *bad;

	if (!enum_names_has(enum_names_methods, (unsigned)p->method))
		return error_message("unknown method %d", (int)p->method);
	if (!enum_names_has(enum_names_scales, (unsigned)p->scale))
		return error_message("unknown scale %d", (int)p->scale);
	if (!enum_names_has(enum_names_penalties, (unsigned)p->penalty))
		return error_message("unknown penalty %d", (int)p->penalty);
	if (!(p->lambda_coefficients >= 0) || !(p->lambda_powers >= 0) || !isfinite(p->lambda_coefficients) ||
		!isfinite(p->lambda_powers))
		return error_message("lambda is %g for coefficients and %g for powers: expected 0 or more",
			p->lambda_coefficients, p->lambda_powers);
	if ((bad = check_interval(
		     "the coefficients", p->coefficient_lower, p->coefficient_upper, HUGE_VAL)) ||
		(bad = check_interval("the categorical coefficients", p->categorical_lower,
			 p->categorical_upper, HUGE_VAL)) ||
		(bad = check_interval("the constant", p->constant_lower, p->constant_upper, HUGE_VAL)) ||
		(bad = check_interval("the powers", p->power_lower, p->power_upper, HUGE_VAL)))
		return bad;
	if (p->run_count == 0)
		return error_message("no runs requested: expected at least one seed");
	if (!(p->tolerance >= 0))
		return error_message("the tolerance is %g: expected 0 or more", p->tolerance);
	if (!(p->confidence > 0 && p->confidence < 1))
		return error_message(
			"the confidence is %g: expected a number between 0 and 1", p->confidence);
	return NULL;
}

const char *pm_fit_check(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	const char *bad = check_parameter(parameter);
	size_t used = 0, unknowns;
	struct space space;

	if (bad)
		return bad;
	if (problem->sample_count == 0)
		return error_message("no samples");
	bad = check_times(problem);
	for (size_t i = 0; i < problem->column_count && !bad; i++) {
		bad = check_column(&problem->columns[i], problem->sample_count, parameter->power_lower);
		used += problem->columns[i].role != PM_FIT_IGNORED &&
			problem->columns[i].role != PM_FIT_OFFSET;
		for (size_t j = 0; j < i && !bad; j++)
			if (problem->columns[i].role != PM_FIT_IGNORED &&
				problem->columns[j].role != PM_FIT_IGNORED &&
				strcmp(problem->columns[i].name, problem->columns[j].name) == 0 &&
				problem->columns[i].role == problem->columns[j].role)
				bad = error_message("column %s appears twice", problem->columns[i].name);
	}
	if (bad)
		return bad;
	if (used == 0)
		return error_message(
			"no column is intrinsic, extrinsic or categorical: nothing to fit; name some with --intrinsic, --extrinsic, --categorical, or try pmfit auto");
	if (space_init(&space, problem, parameter) < 0)
		return error_message("out of memory");
	unknowns = space.count;
	space_free(&space);
	if (problem->sample_count < unknowns)
		return error_message(
			"%zu samples cannot determine %zu parameters: add samples, or use fewer columns",
			problem->sample_count, unknowns);
	return NULL;
}

static void warn_of_levels(const struct pm_fit_column *column, size_t sample_count,
	void (*warn)(void *context, const char *sentence), void *context)
{
	size_t *counts = calloc(column->level_count, sizeof(*counts));

	for (size_t k = 0; counts && k < sample_count; k++)
		counts[(size_t)column->values[k]]++;
	for (size_t l = 0; counts && l < column->level_count; l++)
		if (counts[l] <= 1)
			warn(context,
				error_message("column %s: level %s has %s; its coefficient is unreliable",
					column->name, column->levels ? column->levels[l] : "?",
					counts[l] ? "one sample" : "no sample"));
	free(counts);
}

/* A unit that is wrong in one row, say: such a time alone decides what a sum of errors says. */
static void warn_of_times(const struct pm_fit_problem *problem,
	void (*warn)(void *context, const char *sentence), void *context)
{
	double typical = space_geometric_mean(problem->time, problem->sample_count);

	for (size_t k = 0; k < problem->sample_count; k++)
		if (problem->time[k] > TIME_FAR * typical) {
			warn(context,
				error_message("sample %zu: its time, %g, is %.2g times the geometric mean of "
					      "all: possible outlier",
					k + 1, problem->time[k], problem->time[k] / typical));
			return;
		}
}

void pm_fit_warn(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	void (*warn)(void *context, const char *sentence), void *context)
{
	struct space space;

	warn_of_times(problem, warn, context);
	for (size_t i = 0; i < problem->column_count; i++) {
		const struct pm_fit_column *column = &problem->columns[i];
		bool constant = true;

		if (column->role == PM_FIT_IGNORED || column->role == PM_FIT_OFFSET)
			continue;
		for (size_t k = 1; k < problem->sample_count && constant; k++)
			constant = column->values[k] == column->values[0];
		if (constant)
			warn(context,
				error_message("column %s has one value in all samples: its effect is not "
					      "determined, and its term may act as a constant",
					column->name));
		else if (role_has_levels(column->role))
			warn_of_levels(column, problem->sample_count, warn, context);
	}
	if (space_init(&space, problem, parameter) == 0 && problem->sample_count < 3 * space.count)
		warn(context, error_message("%zu samples for %zu parameters: expect the test error to be far "
					    "above the training error",
				      problem->sample_count, space.count));
	space_free(&space);
}

/* Levels without names are the model's by number. */
static const char *check_levels(const struct pm_fit_model_column *known, const struct pm_fit_column *column)
{
	if (!column->levels && column->level_count > known->level_count)
		return error_message("column %s: %zu levels, but the model was fitted with %zu", column->name,
			column->level_count, known->level_count);
	if (!column->levels)
		return NULL;
	for (size_t l = 0; l < column->level_count; l++) {
		bool found = false;

		for (size_t m = 0; m < known->level_count && !found; m++)
			found = strcmp(known->levels[m], column->levels[l]) == 0;
		if (!found)
			return error_message(
				"column %s: level %s is unknown to the model: no prediction possible",
				column->name, column->levels[l]);
	}
	return NULL;
}

const char *pm_fit_check_predict(const struct pm_fit_model *model, const struct pm_fit_problem *problem)
{
	const char *bad;

	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *known = &model->columns[i];
		const struct pm_fit_column *column = NULL;
		double least_power = 0;

		if (known->role == PM_FIT_IGNORED)
			continue;
		for (size_t j = 0; j < problem->column_count; j++)
			if (problem->columns[j].role == known->role &&
				strcmp(problem->columns[j].name, known->name) == 0)
				column = &problem->columns[j];
		if (!column)
			return error_message("column %s, which the model requires, is missing", known->name);
		if (model->expression && known->least > 0)
			least_power = -1; /* it is its logarithm that is used */
		for (size_t v = 0; v < model->value_count; v++)
			if (model->values[v].column == i && is_numeric(known->role) &&
				model->values[v].kind != PM_FIT_KIND_COEFFICIENT)
				least_power = fmin(least_power, model->values[v].value);
		if ((bad = check_column(column, problem->sample_count, least_power)))
			return bad;
		if (role_has_levels(known->role) && (bad = check_levels(known, column)))
			return bad;
	}
	return NULL;
}
