/* Predictions of a model, and their errors: pm_fit_predict, pm_fit_evaluate, pm_fit_measure. */
#include "model.h"
#include "base/role.h"
#include "expression_model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A problem's column as the model knows it: for levels the model's number of each of the problem's. */
struct binding {
	const struct pm_fit_column *column;
	size_t *levels;
};

static void unbind(struct binding *bindings, size_t count)
{
	for (size_t i = 0; bindings && i < count; i++)
		free(bindings[i].levels);
	free(bindings);
}

static struct binding *bind(const struct pm_fit_model *model, const struct pm_fit_problem *problem)
{
	struct binding *bindings = calloc(model->column_count + 1, sizeof(*bindings));

	for (size_t i = 0; bindings && i < model->column_count; i++) {
		const struct pm_fit_model_column *known = &model->columns[i];
		const struct pm_fit_column *column = NULL;

		for (size_t j = 0; j < problem->column_count; j++)
			if (known->role != PM_FIT_IGNORED && problem->columns[j].role == known->role &&
				strcmp(problem->columns[j].name, known->name) == 0)
				column = &problem->columns[j];
		bindings[i].column = column;
		if (!column || !role_has_levels(known->role))
			continue;
		bindings[i].levels = calloc(column->level_count, sizeof(size_t));
		if (!bindings[i].levels) {
			unbind(bindings, model->column_count);
			return NULL;
		}
		for (size_t l = 0; l < column->level_count; l++)
			for (size_t m = 0; m < known->level_count; m++)
				if (!column->levels || strcmp(known->levels[m], column->levels[l]) == 0)
					bindings[i].levels[l] = column->levels ? m : l;
	}
	return bindings;
}

static double power_of(double base, double power)
{
	return power == 0 ? 1 : pow(base, power);
}

/* One sample: the sum's terms go to `terms` (one per column, may be NULL), the product and all else to the
 * result. */
static double predict_sample(const struct pm_fit_model *model, const struct binding *bindings, size_t k,
	double *terms, double *product)
{
	double sum = 0, constant = 0, log_factor = 0, factor = 1, offset = 0;
	size_t intrinsic = 0, power = 0;

	while (power < model->value_count && model->values[power].kind != PM_FIT_KIND_CONSTANT)
		power++;
	power++;
	for (size_t v = 0; v < model->value_count; v++) {
		const struct pm_fit_value *value = &model->values[v];
		const struct binding *binding =
			value->column == SPACE_NO_COLUMN ? NULL : &bindings[value->column];
		double x = binding ? binding->column->values[k] : 0, term = 0;
		bool here = binding && binding->levels && binding->levels[(size_t)x] == value->level;

		if (value->kind == PM_FIT_KIND_COEFFICIENT)
			term = value->value * power_of(x, model->values[power + intrinsic++].value);
		else if (value->kind == PM_FIT_KIND_BASE || (value->kind == PM_FIT_KIND_LEVEL && here))
			term = value->value;
		else if (value->kind == PM_FIT_KIND_CONSTANT)
			constant = value->value;
		else if (value->kind == PM_FIT_KIND_EXTRINSIC)
			factor *= power_of(x, value->value);
		else if (value->kind == PM_FIT_KIND_FACTOR && here)
			log_factor += value->value;
		sum += term;
		if (terms && binding && term != 0)
			terms[value->column] = term;
	}
	for (size_t i = 0; i < model->column_count; i++)
		if (model->columns[i].role == PM_FIT_OFFSET)
			offset += bindings[i].column->values[k];
	factor *= exp(log_factor);
	if (product)
		*product = factor;
	return sum * factor + constant + offset;
}

/* The expression sees the columns in the model's order, with the model's numbers of levels. */
static int predict_expression(
	const struct pm_fit_model *model, const struct binding *bindings, size_t count, double *times)
{
	struct pm_fit_column *columns = calloc(model->column_count + 1, sizeof(*columns));
	double *levels = calloc(model->column_count * count + 1, sizeof(*levels));
	int status = columns && levels ? 0 : -ENOMEM;

	for (size_t i = 0; i < model->column_count && status == 0; i++) {
		const struct pm_fit_column *column = bindings[i].column;

		columns[i].role = model->columns[i].role;
		if (!column)
			continue;
		columns[i].values = column->values;
		if (!bindings[i].levels)
			continue;
		columns[i].values = levels + i * count;
		for (size_t k = 0; k < count; k++)
			levels[i * count + k] = (double)bindings[i].levels[(size_t)column->values[k]];
	}
	if (status == 0)
		status = expression_model_predict(model->expression,
			&(struct pm_fit_problem){count, model->column_count, columns, NULL, NULL}, times);
	free(columns);
	free(levels);
	return status;
}

int pm_fit_predict(const struct pm_fit_model *model, const struct pm_fit_problem *problem, double *times)
{
	struct binding *bindings = bind(model, problem);

	if (!bindings)
		return -ENOMEM;
	if (model->expression) {
		int status = predict_expression(model, bindings, problem->sample_count, times);

		unbind(bindings, model->column_count);
		return status;
	}
	for (size_t k = 0; k < problem->sample_count; k++)
		times[k] = predict_sample(model, bindings, k, NULL, NULL);
	unbind(bindings, model->column_count);
	return 0;
}

int model_column_values(
	const struct pm_fit_model *model, const struct pm_fit_problem *problem, size_t column, double *values)
{
	struct binding *bindings = bind(model, problem);

	if (!bindings)
		return -ENOMEM;
	for (size_t k = 0; k < problem->sample_count; k++) {
		const struct binding *binding = &bindings[column];

		values[k] = !binding->column   ? NAN
			    : !binding->levels ? binding->column->values[k]
					       : (double)binding->levels[(size_t)binding->column->values[k]];
	}
	unbind(bindings, model->column_count);
	return 0;
}

int model_shares(const struct pm_fit_model *model, const struct pm_fit_problem *problem, double *shares)
{
	struct binding *bindings = bind(model, problem);
	double *terms = calloc(model->column_count + 1, sizeof(*terms)), product;

	memset(shares, 0, model->column_count * sizeof(*shares));
	for (size_t k = 0; bindings && terms && k < problem->sample_count; k++) {
		double time;

		memset(terms, 0, model->column_count * sizeof(*terms));
		time = predict_sample(model, bindings, k, terms, &product);
		for (size_t i = 0; i < model->column_count; i++)
			shares[i] = fmax(shares[i], fabs(terms[i] * product) / fabs(time));
	}
	free(terms);
	if (!bindings)
		return -ENOMEM;
	unbind(bindings, model->column_count);
	return 0;
}

void pm_fit_measure(const double *measured, const double *predicted, size_t count, struct pm_fit_error *error)
{
	double n = (double)count, mean = 0, total = 0;

	*error = (struct pm_fit_error){.sample_count = count};
	for (size_t k = 0; k < count; k++)
		mean += measured[k] / n;
	for (size_t k = 0; k < count; k++) {
		double r = measured[k] - predicted[k];

		error->mae += fabs(r) / n;
		error->mse += r * r / n;
		error->mape += 100 * fabs(r / measured[k]) / n;
		error->mape_predicted += 100 * fabs(r / predicted[k]) / n;
		total += (measured[k] - mean) * (measured[k] - mean) / n;
	}
	error->rmse = sqrt(error->mse);
	/* equal times differ from their mean by rounding: there is nothing to explain */
	error->r2 = total > 1e-24 * mean * mean && isfinite(total) ? 1 - error->mse / total : NAN;
}

int pm_fit_evaluate(
	const struct pm_fit_model *model, const struct pm_fit_problem *problem, struct pm_fit_error *error)
{
	double *times = malloc((problem->sample_count + 1) * sizeof(*times));
	int status = times ? pm_fit_predict(model, problem, times) : -ENOMEM;

	if (status == 0)
		pm_fit_measure(problem->time, times, problem->sample_count, error);
	free(times);
	return status;
}
