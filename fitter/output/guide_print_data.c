/* The guide for programs, as CSV and JSON: see guide_print.h. */
#include "guide_print.h"
#include "base/csv.h"
#include "json_print.h"
#include "model/model_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void put(struct csv_line *line, const struct guide_number *number)
{
	csv_put_numbers(line, (double[]){number->value, number->low, number->high}, 3);
}

void guide_print_csv(const struct guide *guide, const struct guide_table *table, FILE *out)
{
	struct csv_line line = {.out = out};

	(void)guide;
	fputs("batch,gpus,time,low,high,speedup,speedup_low,speedup_high,efficiency,marginal,samples_per_s,"
	      "cost,extrapolated,allowed\n",
		out);
	for (size_t i = 0; i < table->gpu_count * table->batch_count; i++) {
		const struct guide_cell *cell = &table->cells[i];

		csv_put_number(&line, cell->batch);
		csv_put_number(&line, cell->gpus);
		put(&line, &cell->time);
		put(&line, &cell->speedup);
		csv_put_numbers(&line,
			(double[]){cell->efficiency, cell->marginal, cell->samples_per_s, cell->cost,
				cell->extrapolated, cell->allowed},
			6);
		csv_end(&line);
	}
}

static void add_number(cJSON *object, const char *key, const struct guide_number *number)
{
	cJSON *item = cJSON_AddObjectToObject(object, key);

	cJSON_AddItemToObject(item, "value", model_file_number(number->value));
	cJSON_AddItemToObject(item, "low", model_file_number(number->low));
	cJSON_AddItemToObject(item, "high", model_file_number(number->high));
}

static cJSON *json_cell(const struct guide_cell *cell)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToObject(object, "batch", model_file_number(cell->batch));
	cJSON_AddNumberToObject(object, "gpus", cell->gpus);
	add_number(object, "time", &cell->time);
	add_number(object, "speedup", &cell->speedup);
	cJSON_AddItemToObject(object, "efficiency", model_file_number(cell->efficiency));
	cJSON_AddItemToObject(object, "marginal", model_file_number(cell->marginal));
	cJSON_AddItemToObject(object, "samples_per_s", model_file_number(cell->samples_per_s));
	cJSON_AddItemToObject(object, "cost", model_file_number(cell->cost));
	cJSON_AddBoolToObject(object, "extrapolated", cell->extrapolated);
	cJSON_AddBoolToObject(object, "allowed", cell->allowed);
	return object;
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

static void add_choice(cJSON *root, const char *key, const struct guide_table *table, size_t cell)
{
	cJSON_AddItemToObject(
		root, key, cell == GUIDE_NONE ? cJSON_CreateNull() : json_cell(&table->cells[cell]));
}

int guide_print_json(const struct guide *guide, const struct guide_table *table)
{
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
		array = cJSON_AddArrayToObject(root, "table");
		for (size_t i = 0; i < table->gpu_count * table->batch_count; i++)
			cJSON_AddItemToArray(array, json_cell(&table->cells[i]));
		array = cJSON_AddArrayToObject(root, "pays_up_to");
		for (size_t b = 0; b < table->batch_count; b++)
			cJSON_AddItemToArray(
				array, json_cell(&table->cells[b * table->gpu_count + table->last[b]]));
		add_choice(root, "fastest", table, table->fastest);
		add_choice(root, "cheapest", table, table->cheapest);
		add_choice(root, "fastest_measured", table, table->fastest_inside);
		add_choice(root, "cheapest_measured", table, table->cheapest_inside);
		sentence = guide_recommend(guide, table);
		if (!sentence)
			goto fail;
		cJSON_AddStringToObject(root, "recommendation", sentence);
		free(sentence);
	}
	json_print(root);
	return 0;
fail:
	cJSON_Delete(root);
	return -ENOMEM;
}
