/* A guide's figures, and how it is printed: see guide_print.h. */
#include "guide_print.h"
#include "guide_words.h"

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

static void tabulate_rows(struct guide_answer *answer)
{
	const struct guide *guide = answer->guide;
	const struct guide_table *table = answer->table;
	struct print_table *rows = &answer->rows;

	print_init(rows, &answer->arena);
	print_columns(rows, columns, sizeof(columns) / sizeof(*columns));
	if (!guide->model->resample_count)
		rows->columns[TIME + 1].title = rows->columns[TIME + 2].title = NULL;
	if (!(guide->price > 0))
		rows->columns[COST].title = NULL;
	for (size_t i = 0; table->cells && i < table->gpu_count * table->batch_count; i++) {
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

static int find_effects(struct guide_answer *answer)
{
	const struct guide *guide = answer->guide;
	const size_t count = guide->model->column_count;

	answer->effects = arena_alloc(&answer->arena, count, sizeof(*answer->effects));
	for (size_t i = 0; i < count; i++) {
		struct guide_effect *effect = &answer->effects[answer->effect_count];

		if (guide->model->columns[i].role == PM_FIT_IGNORED)
			continue;
		*effect = (struct guide_effect){.column = i, .power = guide_power(guide, i)};
		if (guide_elasticity(guide, i, &effect->change) < 0)
			return -ENOMEM;
		answer->effect_count++;
	}
	return guide_constant_share(guide, &answer->constant_share);
}

struct cost {
	const struct guide_effect *effect;
	double weight; /* a factor on the time, as a logarithm: of a doubled number, or of the slowest level
			*/
};

static int by_weight(const void *a, const void *b)
{
	double x = ((const struct cost *)a)->weight, y = ((const struct cost *)b)->weight;

	return (x < y) - (x > y);
}

static void add_cost(struct print_table *costs, const struct pm_fit_model_column *column,
	const struct guide_number *change)
{
	const char *text;

	if (column->level_count)
		text = arena_format(costs->arena, "slowest level takes %.1f%%%s more time than the fastest",
			100 * change->value, guide_words_interval(costs->arena, change, 100));
	else
		text = arena_format(costs->arena, "%+.3f%%%s of time per %% more", change->value,
			guide_words_interval(costs->arena, change, 1));
	print_row(costs);
	print_word(costs, 0, column->name);
	print_word(costs, 1, text);
}

static void tabulate_costs(struct guide_answer *answer)
{
	const struct pm_fit_model_column *columns_of = answer->guide->model->columns;
	struct cost *costs = arena_alloc(&answer->arena, answer->effect_count, sizeof(*costs));
	size_t count = 0;

	for (size_t i = 0; i < answer->effect_count; i++) {
		const struct guide_effect *effect = &answer->effects[i];
		const struct pm_fit_model_column *column = &columns_of[effect->column];

		if (column->role != PM_FIT_OFFSET)
			costs[count++] = (struct cost){effect, column->level_count
								       ? log1p(effect->change.value)
								       : fabs(effect->change.value) * log(2)};
	}
	if (count)
		qsort(costs, count, sizeof(*costs), by_weight);
	print_init(&answer->costs, &answer->arena);
	print_column(&answer->costs, NULL, "", PRINT_WORD);
	print_column(&answer->costs, NULL, "", PRINT_WORD);
	for (size_t i = 0; i < count; i++)
		add_cost(&answer->costs, &columns_of[costs[i].effect->column], &costs[i].effect->change);
}

int guide_answer_init(struct guide_answer *answer, const struct guide *guide, const struct guide_table *table)
{
	*answer = (struct guide_answer){.guide = guide, .table = table};
	if (find_effects(answer) < 0)
		return -ENOMEM;
	tabulate_rows(answer);
	tabulate_costs(answer);
	guide_words(answer);
	return 0;
}

void guide_answer_free(struct guide_answer *answer)
{
	print_free(&answer->rows);
	print_free(&answer->costs);
	arena_free(&answer->arena);
}

static void add_number(cJSON *object, const char *key, const struct guide_number *number)
{
	cJSON *item = cJSON_AddObjectToObject(object, key);

	print_json_number(item, "value", number->value);
	print_json_number(item, "low", number->low);
	print_json_number(item, "high", number->high);
}

static void add_columns(cJSON *root, const struct guide_answer *answer)
{
	cJSON *array = cJSON_AddArrayToObject(root, "columns");

	for (size_t i = 0; i < answer->effect_count; i++) {
		const struct guide_effect *effect = &answer->effects[i];
		const struct pm_fit_model_column *column = &answer->guide->model->columns[effect->column];
		const double at = answer->guide->point[effect->column];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "name", column->name);
		if (column->level_count) {
			cJSON_AddStringToObject(object, "at", column->levels[(size_t)at]);
			add_number(object, "slowest_over_fastest", &effect->change);
		} else {
			cJSON_AddNumberToObject(object, "at", at);
			add_number(object, "elasticity", &effect->change);
			add_number(object, "power", &effect->power);
		}
		cJSON_AddItemToArray(array, object);
	}
}

static void add_table(cJSON *root, const struct guide_answer *answer)
{
	static const char *const names[] = {"fastest", "cheapest", "fastest_measured", "cheapest_measured"};
	const struct guide_table *table = answer->table;
	const size_t chosen[] = {
		table->fastest, table->cheapest, table->fastest_inside, table->cheapest_inside};
	cJSON *array;

	cJSON_AddItemToObject(root, "table", print_json(&answer->rows));
	array = cJSON_AddArrayToObject(root, "pays_up_to");
	for (size_t b = 0; b < table->batch_count; b++)
		cJSON_AddItemToArray(array,
			table->last[b] == GUIDE_NONE
				? cJSON_CreateNull()
				: print_json_row(&answer->rows, b * table->gpu_count + table->last[b]));
	for (size_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i++)
		cJSON_AddItemToObject(root, names[i],
			chosen[i] == GUIDE_NONE ? cJSON_CreateNull()
						: print_json_row(&answer->rows, chosen[i]));
	cJSON_AddStringToObject(root, "recommendation", answer->parts[GUIDE_RECOMMENDED].items[0]);
}

static void print_as_json(const struct guide_answer *answer, FILE *out)
{
	const struct guide *guide = answer->guide;
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "time_of", guide->is_epoch ? "epoch" : "iteration");
	cJSON_AddStringToObject(root, "batch_is", guide->is_local ? "local" : "global");
	if (guide->model->time_unit)
		cJSON_AddStringToObject(root, "time_unit", guide->model->time_unit);
	cJSON_AddNumberToObject(root, "confidence", guide->model->parameter.confidence);
	add_columns(root, answer);
	add_number(root, "constant_share", &answer->constant_share);
	if (answer->table->cells)
		add_table(root, answer);
	for (size_t i = 0; i < GUIDE_PARTS; i++)
		sentences_json(&answer->parts[i], root, "sentences");
	print_json_end(root, out);
}

/* How the time scales, and below it what that means. */
static void print_scaling(const struct sentences *said, FILE *out)
{
	for (size_t i = 0; i < said->count; i++)
		print_paragraph(arena_format(said->arena, "%*s%s", i ? 6 : 2, "", said->items[i]), 6, out);
}

static void print_table_part(const struct guide_answer *answer, FILE *out)
{
	const char *unit = answer->guide->model->time_unit;

	fputc('\n', out);
	if (unit)
		fprintf(out, "Times in %s.\n", unit);
	print_text(&answer->rows, NULL, out);
	print_paragraph(
		"effic.: speedup per GPU, 100% for the first number; added: per GPU added to the row above",
		2, out);
	fputc('\n', out);
	sentences_text(&answer->parts[GUIDE_DOUBT], 0, 2, out);
	sentences_text(&answer->parts[GUIDE_ENDS], 0, 2, out);
	fputc('\n', out);
	sentences_text(&answer->parts[GUIDE_RECOMMENDED], 0, 2, out);
}

static void print_as_text(const struct guide_answer *answer, FILE *out)
{
	sentences_text(&answer->parts[GUIDE_POINT], 0, 2, out);
	fputc('\n', out);
	sentences_text(&answer->parts[GUIDE_MEANING], 0, 2, out);
	print_scaling(&answer->parts[GUIDE_SCALING], out);
	print_scaling(&answer->parts[GUIDE_BATCHES], out);
	sentences_text(&answer->parts[GUIDE_CONSTANT], 2, 6, out);
	print_part(&answer->costs, PRINT_TEXT, NULL, NULL,
		"Costliest settings here (by effect on the time when doubled or changed):", true, out);
	if (answer->table->cells)
		print_table_part(answer, out);
	sentences_text(&answer->parts[GUIDE_INTERVALS], 0, 2, out);
}

void guide_print(const struct guide_answer *answer, enum print_form form, FILE *out)
{
	if (form == PRINT_JSON)
		print_as_json(answer, out);
	else if (form == PRINT_CSV)
		print_csv(&answer->rows, out);
	else
		print_as_text(answer, out);
}
