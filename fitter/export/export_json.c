/* Models as JSON for other programs: see export.h. */
#include "export.h"
#include "base/role.h"
#include "base/table.h"
#include "export_step.h"
#include "formula_text.h"
#include "step/beyond.h"

#include <math.h>
#include <stdlib.h>

/* In words of C, with numbers by level as tables of the column: "kind[1, 2.5]". */
static void by_level(const struct formula_writer *w, size_t column, const double *numbers)
{
	fprintf(w->out, "%s[", w->names[column]);
	formula_numbers(w->out, numbers, w->model->columns[column].level_count);
	fputc(']', w->out);
}

static const struct formula_language words = {"pow", "log2", "max", false, by_level, formula_conditional};

static void add_column(cJSON *columns, const struct pm_fit_model_column *column, const char *name)
{
	cJSON *object = cJSON_CreateObject();
	struct beyond_growth growth;

	cJSON_AddItemToArray(columns, object);
	cJSON_AddStringToObject(object, "name", column->name);
	cJSON_AddStringToObject(object, "identifier", name);
	if (role_has_levels(column->role)) {
		cJSON_AddItemToObject(object, "levels",
			cJSON_CreateStringArray(
				(const char *const *)column->levels, (int)column->level_count));
		return;
	}
	print_json_number(object, "least", column->least);
	print_json_number(object, "greatest", column->greatest);
	if (beyond_growth(column, &growth)) {
		print_json_number(object, "growth_power_least", growth.lower);
		print_json_number(object, "growth_power_greatest", growth.upper);
		print_json_number(object, "growth_steeper", growth.steeper);
		print_json_number(object, "growth_near", growth.near);
	}
}

static void add_formula(const struct export *export, cJSON *root)
{
	const struct pm_fit_model *model = export->model;
	const char *const *names = export_columns(export);
	cJSON *columns = cJSON_AddArrayToObject(root, "columns");
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	formula_write(&(struct formula_writer){out, &words, model, names, NULL, export->arena});
	fclose(out);
	cJSON_AddStringToObject(root, "formula", text);
	free(text);
	cJSON_AddStringToObject(root, "syntax",
		"pow, log2 and max are functions; identifier[a, b] is the number of the level at that place of the "
		"column's levels");
	for (size_t i = 0; i < model->column_count; i++)
		if (names[i])
			add_column(columns, &model->columns[i], names[i]);
	print_json_number(root, "fitted_rows", (double)model->train.sample_count);
	print_json_number(root, "fitted_mape_percent", model->train.mape);
}

cJSON *export_json(const struct export *export)
{
	const char *unit = export->model ? export->model->time_unit : export->step->columns.unit;
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "name", export->name);
	cJSON_AddStringToObject(root, "kind", export->model ? "formula" : "step");
	cJSON_AddStringToObject(root, "about", formula_about(export));
	if (unit)
		cJSON_AddStringToObject(root, "time_unit", unit);
	else
		cJSON_AddNullToObject(root, "time_unit");
	if (export->model)
		add_formula(export, root);
	else
		export_step_json(export, root);
	return root;
}
