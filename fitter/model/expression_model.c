/* Expressions as models, and as files: see expression_model.h. */
#include "expression_model.h"
#include "base/role.h"
#include "interval.h"
#include "model_file.h"
#include "schema.h"
#include "spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {[EXPRESSION_LEAF] = "leaf",
	[EXPRESSION_SUM] = "sum",
	[EXPRESSION_MAX] = "max",
	[EXPRESSION_NORM] = "norm",
	[EXPRESSION_HARMONIC] = "harmonic"};

void expression_model_free(struct pm_fit_expression *expression)
{
	if (!expression)
		return;
	/* names and levels belong to the model */
	free(expression);
}

/* Which of the problem's columns are in the formula. */
static void mark_used(const struct expression *e, const struct expression_terms *terms, bool *used)
{
	for (size_t n = 0; n < e->node_count; n++)
		for (size_t f = 0; f < e->nodes[n].factor_count; f++) {
			const struct expression_factor *factor = &e->nodes[n].factors[f];
			size_t category = terms->partitions[factor->partition].category;

			if (factor->kind != EXPRESSION_GROUP)
				used[terms->numbers[factor->number].column] = true;
			if (factor->kind == EXPRESSION_GROUP || factor->kind == EXPRESSION_POWER_BY_GROUP)
				used[terms->categories[category].column] = true;
		}
}

static int take_column(
	struct pm_fit_model_column *to, const struct pm_fit_column *from, size_t samples, bool used)
{
	bool levelled = role_has_levels(from->role);

	*to = (struct pm_fit_model_column){.name = strdup(from->name), .scale = 1};
	to->role = from->role == PM_FIT_OFFSET ? PM_FIT_OFFSET
		   : !used                     ? PM_FIT_IGNORED
		   : levelled                  ? PM_FIT_FACTOR
					       : PM_FIT_EXTRINSIC;
	if (!to->name)
		return -ENOMEM;
	if (to->role == PM_FIT_IGNORED || levelled) {
		to->levels =
			to->role == PM_FIT_IGNORED ? NULL : calloc(from->level_count + 1, sizeof(char *));
		for (size_t l = 0; to->levels && l < from->level_count; l++, to->level_count++)
			if (!(to->levels[l] = strdup(from->levels[l])))
				return -ENOMEM;
		return to->role == PM_FIT_IGNORED || to->levels ? 0 : -ENOMEM;
	}
	to->least = HUGE_VAL;
	to->greatest = -HUGE_VAL;
	for (size_t k = 0; k < samples; k++) {
		to->least = fmin(to->least, from->values[k]);
		to->greatest = fmax(to->greatest, from->values[k]);
	}
	return 0;
}

/* The terms' names and levels become the model's. */
static void rename_terms(struct expression_terms *terms, const struct pm_fit_model *model)
{
	for (size_t i = 0; i < terms->number_count; i++)
		terms->numbers[i].name = model->columns[terms->numbers[i].column].name;
	for (size_t i = 0; i < terms->category_count; i++) {
		struct expression_category *category = &terms->categories[i];

		category->name = model->columns[category->column].name;
		category->levels = category->is_one
					   ? NULL
					   : (const char *const *)model->columns[category->column].levels;
	}
}

int expression_model(struct pm_fit_model **model, const struct expression *e,
	const struct expression_terms *terms, const struct pm_fit_problem *problem)
{
	struct pm_fit_model *m = calloc(1, sizeof(*m));
	bool *used = calloc(problem->column_count + 1, sizeof(*used));
	int status = m && used ? 0 : -ENOMEM;

	*model = NULL;
	if (status == 0) {
		mark_used(e, terms, used);
		pm_fit_defaults(&m->parameter);
		m->time_scale = 1;
		m->columns = calloc(problem->column_count + 1, sizeof(*m->columns));
		m->expression = malloc(sizeof(*m->expression));
		m->time_unit = problem->time_unit ? strdup(problem->time_unit) : NULL;
		if (!m->columns || !m->expression || (problem->time_unit && !m->time_unit))
			status = -ENOMEM;
	}
	for (size_t i = 0; i < problem->column_count && status == 0; i++)
		status = take_column(
			&m->columns[m->column_count++], &problem->columns[i], problem->sample_count, used[i]);
	free(used);
	if (status == 0) {
		struct pm_fit_problem same = *problem;
		struct pm_fit_column *columns = calloc(problem->column_count + 1, sizeof(*columns));

		m->expression->expression = *e;
		m->expression->terms = *terms;
		rename_terms(&m->expression->terms, m);
		for (size_t i = 0; columns && i < problem->column_count; i++) {
			columns[i] = problem->columns[i];
			columns[i].role = m->columns[i].role;
		}
		same.columns = columns;
		status = columns ? interval_residuals(m, &same) : -ENOMEM;
		if (status == 0)
			status = pm_fit_evaluate(m, &same, &m->train);
		free(columns);
	}
	if (status == 0)
		*model = m;
	else
		pm_fit_free(m);
	return status;
}

int expression_model_predict(
	const struct pm_fit_expression *expression, const struct pm_fit_problem *problem, double *times)
{
	struct expression_rows rows;
	int status = expression_rows_init(&rows, &expression->terms, problem, NULL, problem->sample_count);

	if (status == 0)
		expression_times(&expression->expression, &rows, times);
	expression_rows_free(&rows);
	return status;
}

char *expression_text(const struct expression *e, const struct expression_terms *terms)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	expression_print(file, e, terms);
	fclose(file);
	return text;
}

static cJSON *json_factor(const struct pm_fit_expression *x, const struct expression_factor *factor)
{
	const struct expression_partition *partition = &x->terms.partitions[factor->partition];
	const struct expression_category *category = &x->terms.categories[partition->category];
	const double *constants = x->expression.constants + factor->at;
	cJSON *object = cJSON_CreateObject(), *array;

	if (factor->kind != EXPRESSION_GROUP)
		cJSON_AddStringToObject(object, "column", x->terms.numbers[factor->number].name);
	if (factor->kind == EXPRESSION_POWER || factor->kind == EXPRESSION_FIXED) {
		bool is_fixed = factor->kind == EXPRESSION_FIXED;

		cJSON_AddNumberToObject(object, "power", is_fixed ? factor->power : constants[0]);
		cJSON_AddBoolToObject(object, "fixed", is_fixed);
		return object;
	}
	if (factor->kind == EXPRESSION_LOG) {
		cJSON_AddBoolToObject(object, "log2", true);
		return object;
	}
	cJSON_AddStringToObject(object, "levels_of", category->name);
	array = cJSON_AddArrayToObject(object, "groups");
	for (size_t l = 0; l < category->level_count; l++)
		cJSON_AddItemToArray(array, cJSON_CreateNumber(partition->group_of[l]));
	array = cJSON_AddArrayToObject(object, factor->kind == EXPRESSION_GROUP ? "factors" : "powers");
	for (size_t i = 0; i < partition->group_count; i++)
		cJSON_AddItemToArray(
			array, cJSON_CreateNumber(factor->kind == EXPRESSION_POWER_BY_GROUP ? constants[i]
						  : i ? exp(constants[i - 1])
						      : 1));
	return object;
}

static cJSON *json_node(const struct pm_fit_expression *x, size_t n)
{
	const struct expression_node *node = &x->expression.nodes[n];
	cJSON *object = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(object, "op", ops[node->op]);
	if (node->op == EXPRESSION_LEAF || node->op == EXPRESSION_NORM)
		cJSON_AddNumberToObject(object, node->op == EXPRESSION_LEAF ? "coefficient" : "norm",
			exp(x->expression.constants[node->at]));
	array = cJSON_AddArrayToObject(object, "factors");
	for (size_t f = 0; f < node->factor_count; f++)
		cJSON_AddItemToArray(array, json_factor(x, &node->factors[f]));
	if (node->op == EXPRESSION_LEAF)
		return object;
	array = cJSON_AddArrayToObject(object, "parts");
	for (size_t c = n + 1; c < x->expression.node_count; c++)
		if (x->expression.nodes[c].parent == n)
			cJSON_AddItemToArray(array, json_node(x, c));
	return object;
}

static cJSON *json_column(const struct pm_fit_model *model, size_t i)
{
	const struct expression_terms *terms = &model->expression->terms;
	const struct pm_fit_model_column *column = &model->columns[i];
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "name", column->name);
	cJSON_AddStringToObject(object, "role",
		column->role == PM_FIT_OFFSET   ? "offset"
		: column->role == PM_FIT_FACTOR ? "factor"
						: "extrinsic");
	if (column->role == PM_FIT_FACTOR)
		cJSON_AddItemToObject(object, "levels",
			cJSON_CreateStringArray(
				(const char *const *)column->levels, (int)column->level_count));
	if (column->role != PM_FIT_FACTOR) {
		cJSON_AddItemToObject(object, "least", model_file_number(column->least));
		cJSON_AddItemToObject(object, "greatest", model_file_number(column->greatest));
	}
	for (size_t n = 0; n < terms->number_count; n++)
		if (terms->numbers[n].column == i) {
			cJSON_AddBoolToObject(object, "plus_one", terms->numbers[n].plus_one);
			cJSON_AddBoolToObject(object, "is_count", terms->numbers[n].is_count);
		}
	return object;
}

cJSON *expression_model_json(const struct pm_fit_model *model)
{
	const struct pm_fit_expression *x = model->expression;
	char *text = expression_text(&x->expression, &x->terms);
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "format", EXPRESSION_FORMAT);
	cJSON_AddNumberToObject(root, "version", EXPRESSION_VERSION);
	cJSON_AddStringToObject(root, "formula", text ? text : "");
	free(text);
	if (model->time_unit)
		cJSON_AddStringToObject(root, "time_unit", model->time_unit);
	array = cJSON_AddArrayToObject(root, "columns");
	for (size_t i = 0; i < model->column_count; i++)
		if (model->columns[i].role != PM_FIT_IGNORED)
			cJSON_AddItemToArray(array, json_column(model, i));
	cJSON_AddItemToObject(root, "expression", json_node(x, 0));
	cJSON_AddItemToObject(root, "train", model_file_error(&model->train));
	cJSON_AddItemToObject(
		root, "residuals", cJSON_CreateDoubleArray(model->residuals, (int)model->residual_count));
	if (model->spread_count)
		cJSON_AddItemToObject(root, "spreads", spread_json(model));
	return root;
}
