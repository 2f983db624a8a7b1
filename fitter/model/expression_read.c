/* Expressions from JSON, which may be anything: see expression_model.h for what it ought to be. */
#include "expression_model.h"
#include "base/error_message.h"
#include "expression/expression_edit.h"
#include "schema.h"
#include "spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct pm_fit_model *model;
	struct pm_fit_expression *x;
};

static const char *string_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool is_true(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static const char *read_levels(struct reader *r, const cJSON *object, struct pm_fit_model_column *column)
{
	const cJSON *levels = cJSON_GetObjectItemCaseSensitive(object, "levels"), *level;
	struct expression_terms *terms = &r->x->terms;
	int count = cJSON_GetArraySize(levels);

	if (count < 2 || count > EXPRESSION_LEVELS)
		return error_message(
			"column %s has %d levels: expected 2 to %d", column->name, count, EXPRESSION_LEVELS);
	column->levels = calloc((size_t)count + 1, sizeof(*column->levels));
	cJSON_ArrayForEach (level, levels) {
		if (!column->levels || !cJSON_IsString(level) ||
			!(column->levels[column->level_count] = strdup(level->valuestring)))
			return error_message("column %s has a level without a name", column->name);
		column->level_count++;
	}
	terms->categories[terms->category_count++] =
		(struct expression_category){.column = (size_t)(column - r->model->columns),
			.name = column->name,
			.level_count = column->level_count,
			.levels = (const char *const *)column->levels};
	return NULL;
}

/* A number has levels as well: 1, and more than 1. */
static void read_number(struct reader *r, const cJSON *object, struct pm_fit_model_column *column)
{
	struct expression_terms *terms = &r->x->terms;
	size_t at = (size_t)(column - r->model->columns);

	column->role = PM_FIT_EXTRINSIC;
	column->least = number_of(object, "least");
	column->greatest = number_of(object, "greatest");
	terms->numbers[terms->number_count++] = (struct expression_number){.column = at,
		.name = column->name,
		.plus_one = is_true(object, "plus_one"),
		.is_count = is_true(object, "is_count")};
	terms->categories[terms->category_count++] = (struct expression_category){
		.column = at, .name = column->name, .is_one = true, .level_count = 2};
}

static const char *read_column(struct reader *r, const cJSON *object)
{
	struct pm_fit_model_column *column = &r->model->columns[r->model->column_count];
	const char *role = string_of(object, "role");

	if (!string_of(object, "name") || !role)
		return error_message("a column has no name or no role");
	if (r->x->terms.category_count == EXPRESSION_COLUMNS)
		return error_message("more columns than an expression supports");
	column->scale = 1;
	column->name = strdup(string_of(object, "name"));
	r->model->column_count++;
	if (!column->name)
		return error_message("out of memory");
	if (strcmp(role, "factor") == 0) {
		column->role = PM_FIT_FACTOR;
		return read_levels(r, object, column);
	}
	if (strcmp(role, "extrinsic") == 0)
		read_number(r, object, column);
	else if (strcmp(role, "offset") == 0)
		column->role = PM_FIT_OFFSET;
	else
		return error_message("column %s has the role '%s': expected extrinsic, factor or offset",
			column->name, role);
	column->least = number_of(object, "least");
	column->greatest = number_of(object, "greatest");
	return NULL;
}

/* The groups of a factor, and its constants. */
static const char *read_groups(
	struct reader *r, const cJSON *object, struct expression_factor *factor, bool is_power)
{
	struct expression_terms *terms = &r->x->terms;
	struct expression *e = &r->x->expression;
	const char *name = string_of(object, "levels_of");
	const cJSON *groups = cJSON_GetObjectItemCaseSensitive(object, "groups"), *item;
	const cJSON *values = cJSON_GetObjectItemCaseSensitive(object, is_power ? "powers" : "factors");
	struct expression_partition partition = {0};
	size_t level = 0, i = 0;
	int found;

	while (partition.category < terms->category_count && name &&
		strcmp(terms->categories[partition.category].name, name) != 0)
		partition.category++;
	if (!name || partition.category == terms->category_count)
		return error_message("no column %s with levels", name ? name : "");
	if ((size_t)cJSON_GetArraySize(groups) != terms->categories[partition.category].level_count)
		return error_message("%s: expected one group per level", name);
	cJSON_ArrayForEach (item, groups) {
		double group = cJSON_IsNumber(item) ? item->valuedouble : -1;

		if (!(group >= 0 && group <= (double)partition.group_count && group == floor(group)))
			return error_message("%s: groups are not numbered in order", name);
		partition.group_of[level++] = (unsigned char)group;
		if (group == (double)partition.group_count)
			partition.group_count++;
	}
	found = expression_partition(terms, &partition);
	if (found < 0 || (size_t)cJSON_GetArraySize(values) != partition.group_count)
		return error_message(
			"%s of %s: expected one per group", is_power ? "powers" : "factors", name);
	factor->partition = (unsigned short)found;
	factor->at = (unsigned short)e->constant_count;
	cJSON_ArrayForEach (item, values) {
		double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
		unsigned short at;

		if (!isfinite(value) || (!is_power && !(value > 0)))
			return error_message("a value of %s is missing or not positive", name);
		if (!is_power && i++ == 0)
			continue;
		if (!edit_constant(e, is_power ? value : log(value), &at))
			return error_message("more than %d constants", EXPRESSION_CONSTANTS);
	}
	return NULL;
}

static const char *read_factor(struct reader *r, const cJSON *object, size_t node)
{
	struct expression *e = &r->x->expression;
	struct expression_factor factor = {.kind = EXPRESSION_GROUP};
	const char *column = string_of(object, "column"), *bad = NULL;
	size_t number = 0;

	while (column && number < r->x->terms.number_count &&
		strcmp(r->x->terms.numbers[number].name, column) != 0)
		number++;
	if (column && number == r->x->terms.number_count)
		return error_message("no numeric column %s", column);
	factor.number = (unsigned char)number;
	factor.power = number_of(object, "power");
	if (string_of(object, "levels_of")) {
		factor.kind = column ? EXPRESSION_POWER_BY_GROUP : EXPRESSION_GROUP;
		bad = read_groups(r, object, &factor, column != NULL);
	} else if (is_true(object, "log2")) {
		factor.kind = EXPRESSION_LOG;
	} else if (!column || !isfinite(factor.power)) {
		bad = error_message("a factor without column or power");
	} else {
		factor.kind = is_true(object, "fixed") ? EXPRESSION_FIXED : EXPRESSION_POWER;
		if (factor.kind == EXPRESSION_POWER && !edit_constant(e, factor.power, &factor.at))
			bad = error_message("more than %d constants", EXPRESSION_CONSTANTS);
	}
	if (!bad && !edit_add(e, node, factor))
		bad = error_message("a part has more than %d factors", EXPRESSION_FACTORS);
	return bad;
}

static const char *read_node(struct reader *r, const cJSON *object, size_t parent)
{
	static const char *const ops[] = {"leaf", "sum", "max", "norm", "harmonic", NULL};
	struct expression *e = &r->x->expression;
	const cJSON *parts = cJSON_GetObjectItemCaseSensitive(object, "parts"), *item;
	const char *op = string_of(object, "op"), *bad = NULL;
	size_t n = e->node_count, kind = 0;
	double value = 1;

	while (ops[kind] && op && strcmp(ops[kind], op) != 0)
		kind++;
	if (!op || !ops[kind])
		return error_message("a part has the unknown op '%s'", op ? op : "");
	if (n == EXPRESSION_NODES)
		return error_message("more than %d parts", EXPRESSION_NODES);
	e->nodes[e->node_count++] =
		(struct expression_node){.op = (unsigned char)kind, .parent = (unsigned char)parent};
	if (kind == EXPRESSION_LEAF || kind == EXPRESSION_NORM)
		value = number_of(object, kind == EXPRESSION_LEAF ? "coefficient" : "norm");
	if (!(value > 0) || !isfinite(value))
		return error_message("a part has no positive coefficient or norm");
	if (!edit_constant(e, log(value), &e->nodes[n].at))
		return error_message("more than %d constants", EXPRESSION_CONSTANTS);
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(object, "factors"))
		if ((bad = read_factor(r, item, n)))
			return bad;
	if (kind != EXPRESSION_LEAF && cJSON_GetArraySize(parts) < 1)
		return error_message("a %s has no parts", op);
	for (item = parts && kind != EXPRESSION_LEAF ? parts->child : NULL; item && !bad; item = item->next)
		bad = read_node(r, item, n);
	return bad;
}

static const char *read_residuals(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *residuals = cJSON_GetObjectItemCaseSensitive(root, "residuals"), *item;

	model->residuals = calloc((size_t)cJSON_GetArraySize(residuals) + 1, sizeof(*model->residuals));
	if (!model->residuals)
		return error_message("out of memory");
	cJSON_ArrayForEach (item, residuals) {
		double number = cJSON_IsNumber(item) ? item->valuedouble : NAN;

		if (!isfinite(number) ||
			(model->residual_count && number < model->residuals[model->residual_count - 1]))
			return error_message("the residuals are not ascending numbers");
		model->residuals[model->residual_count++] = number;
	}
	return spread_read(root, model);
}

const char *expression_model_read(const cJSON *root, struct pm_fit_model *model)
{
	struct reader r = {.model = model, .x = calloc(1, sizeof(*r.x))};
	const cJSON *columns = cJSON_GetObjectItemCaseSensitive(root, "columns"), *item;
	double version = number_of(root, "version");
	const char *bad;

	model->expression = r.x;
	model->columns = calloc((size_t)cJSON_GetArraySize(columns) + 1, sizeof(*model->columns));
	if (!r.x || !model->columns)
		return error_message("out of memory");
	if (!(version >= 1 && version <= EXPRESSION_VERSION))
		return error_message("version %g of the file, this pmfit reads 1 to %d: fit the table again",
			version, EXPRESSION_VERSION);
	pm_fit_defaults(&model->parameter);
	model->time_scale = 1;
	if (string_of(root, "time_unit") && !(model->time_unit = strdup(string_of(root, "time_unit"))))
		return error_message("out of memory");
	cJSON_ArrayForEach (item, columns)
		if ((bad = read_column(&r, item)))
			return bad;
	schema_get(cJSON_GetObjectItemCaseSensitive(root, "train"), schema_error, &model->train);
	if ((bad = read_node(&r, cJSON_GetObjectItemCaseSensitive(root, "expression"), 0)))
		return bad;
	if (!expression_pack(&r.x->expression, &r.x->terms))
		return error_message("more than %d constants", EXPRESSION_CONSTANTS);
	return read_residuals(root, model);
}
