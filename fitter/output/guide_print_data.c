/* The guide's table, and all of it as JSON: see guide_print.h. */
#include "guide_print.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What is known of a configuration, for all forms. */
enum { TIME = 2, SPEEDUP = 5, EFFICIENCY = 8, COST = 11, NOTE = 14 };

static const struct print_column columns[] = {
	PRINT_COLUMN("batch", "batch", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("gpus", "GPUs", PRINT_FIGURE, .digits = 4),
	PRINT_COLUMN("value", "time", PRINT_FIGURE, .object = "time", .csv_key = "time"),
	PRINT_COLUMN("low", "low", PRINT_FIGURE, .object = "time", .csv_key = "low"),
	PRINT_COLUMN("high", "high", PRINT_FIGURE, .object = "time", .csv_key = "high"),
	PRINT_COLUMN("value", "speedup", PRINT_REAL, .digits = 2, .object = "speedup", .csv_key = "speedup"),
	PRINT_COLUMN("low", NULL, PRINT_REAL, .object = "speedup", .csv_key = "speedup_low"),
	PRINT_COLUMN("high", NULL, PRINT_REAL, .object = "speedup", .csv_key = "speedup_high"),
	PRINT_COLUMN("efficiency", "effic.", PRINT_SHARE),
	PRINT_COLUMN("marginal", "added", PRINT_SHARE),
	PRINT_COLUMN("samples_per_s", "samples/s", PRINT_REAL, .digits = 1),
	PRINT_COLUMN("cost", "cost/1e6", PRINT_REAL, .digits = 4),
	PRINT_COLUMN("extrapolated", NULL, PRINT_FLAG),
	PRINT_COLUMN("allowed", NULL, PRINT_FLAG),
	PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
};

static void put(struct print_table *rows, size_t column, const struct guide_number *number)
{
	print_numbers(rows, column, (double[]){number->value, number->low, number->high}, 3);
}

void guide_print_rows(const struct guide *guide, const struct guide_table *table, struct print_table *rows)
{
	print_columns(rows, columns, sizeof(columns) / sizeof(*columns));
	if (!guide->model->resample_count)
		rows->columns[TIME + 1].title = rows->columns[TIME + 2].title = NULL;
	if (!(guide->price > 0))
		rows->columns[COST].title = NULL;
	for (size_t i = 0; i < table->gpu_count * table->batch_count; i++) {
		const struct guide_cell *cell = &table->cells[i];

		print_row(rows);
		print_numbers(rows, 0, (double[]){cell->batch, cell->gpus}, 2);
		put(rows, TIME, &cell->time);
		put(rows, SPEEDUP, &cell->speedup);
		print_numbers(rows, EFFICIENCY,
			(double[]){cell->efficiency, cell->marginal, cell->samples_per_s, cell->cost,
				cell->extrapolated, cell->allowed},
			6);
		print_word(rows, NOTE,
			arena_format(rows->arena, "%s%s%s", cell->allowed ? "" : "beyond the limits",
				!cell->allowed && cell->extrapolated ? ", " : "",
				cell->extrapolated ? "extrapolated" : ""));
	}
}

static void add_number(cJSON *object, const char *key, const struct guide_number *number)
{
	cJSON *item = cJSON_AddObjectToObject(object, key);

	print_json_number(item, "value", number->value);
	print_json_number(item, "low", number->low);
	print_json_number(item, "high", number->high);
}

static int add_columns(cJSON *root, const struct guide *guide)
{
	cJSON *array = cJSON_AddArrayToObject(root, "columns");

	for (size_t i = 0; i < guide->model->column_count; i++) {
		const struct pm_fit_model_column *column = &guide->model->columns[i];
		struct guide_number number, power = guide_power(guide, i);
		cJSON *object;

		if (column->role == PM_FIT_IGNORED)
			continue;
		if (guide_elasticity(guide, i, &number) < 0)
			return -ENOMEM;
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "name", column->name);
		if (column->level_count) {
			cJSON_AddStringToObject(object, "at", column->levels[(size_t)guide->point[i]]);
			add_number(object, "slowest_over_fastest", &number);
		} else {
			cJSON_AddNumberToObject(object, "at", guide->point[i]);
			add_number(object, "elasticity", &number);
			add_number(object, "power", &power);
		}
		cJSON_AddItemToArray(array, object);
	}
	return 0;
}

int guide_print_json(
	const struct guide *guide, const struct guide_table *table, const struct print_table *rows)
{
	static const char *const names[] = {"fastest", "cheapest", "fastest_measured", "cheapest_measured"};
	const size_t chosen[] = {
		table->fastest, table->cheapest, table->fastest_inside, table->cheapest_inside};
	cJSON *root = cJSON_CreateObject(), *array;
	struct guide_number share;
	char *sentence = NULL;

	cJSON_AddStringToObject(root, "time_of", guide->is_epoch ? "epoch" : "iteration");
	cJSON_AddStringToObject(root, "batch_is", guide->is_local ? "local" : "global");
	if (guide->model->time_unit)
		cJSON_AddStringToObject(root, "time_unit", guide->model->time_unit);
	cJSON_AddNumberToObject(root, "confidence", guide->model->parameter.confidence);
	if (add_columns(root, guide) < 0 || guide_constant_share(guide, &share) < 0)
		goto fail;
	add_number(root, "constant_share", &share);
	if (table->cells) {
		cJSON_AddItemToObject(root, "table", print_json(rows));
		array = cJSON_AddArrayToObject(root, "pays_up_to");
		for (size_t b = 0; b < table->batch_count; b++)
			cJSON_AddItemToArray(
				array, print_json_row(rows, b * table->gpu_count + table->last[b]));
		for (size_t i = 0; i < 4; i++)
			cJSON_AddItemToObject(root, names[i],
				chosen[i] == GUIDE_NONE ? cJSON_CreateNull()
							: print_json_row(rows, chosen[i]));
		sentence = guide_recommend(guide, table);
		if (!sentence)
			goto fail;
		cJSON_AddStringToObject(root, "recommendation", sentence);
		free(sentence);
	}
	print_json_end(root, stdout);
	return 0;
fail:
	cJSON_Delete(root);
	return -ENOMEM;
}
