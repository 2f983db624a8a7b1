/* Errors of methods: see error_table.h. */
#include "error_table.h"
#include "base/student.h"
#include "model/model_file.h"

#include <math.h>

enum {
	METHOD,
	SET,
	SEEDS,
	FIGURES,
	PER_FIGURE = 4,
	SECONDS = FIGURES + PER_FIGURE * BASELINES_FIGURES,
	NOTE
};

struct error_spread error_spread(
	const struct pm_fit_error *errors, size_t count, size_t offset, double confidence)
{
	struct error_spread spread = {.sd = NAN, .low = NAN, .high = NAN};
	double deviation, margin;

	baselines_spread(errors, count, offset, &spread.mean, &deviation);
	if (count < 2)
		return spread;
	margin = student_margin(confidence, deviation, count);
	spread.sd = deviation;
	spread.low = spread.mean - margin;
	spread.high = spread.mean + margin;
	return spread;
}

void error_table_init(struct print_table *table, struct arena *arena)
{
	print_init(table, arena);
	print_columns(table,
		(const struct print_column[]){
			PRINT_COLUMN(NULL, "method", PRINT_WORD, .csv_key = "method"),
			PRINT_COLUMN(NULL, "set", PRINT_WORD, .csv_key = "set"),
			PRINT_COLUMN(NULL, NULL, PRINT_COUNT, .csv_key = "seeds"),
		},
		FIGURES);
	for (size_t f = 0; f < BASELINES_FIGURES; f++) {
		const char *key = baselines_figures[f].key;
		const struct print_column columns[PER_FIGURE] = {
			PRINT_COLUMN("mean", baselines_figures[f].title, PRINT_FIGURE, .digits = 4,
				.object = key, .csv_key = key),
			PRINT_COLUMN("sd", "+-", PRINT_FIGURE, .digits = 2, .of_previous = true,
				.object = key, .csv_key = arena_format(arena, "%s_sd", key)),
			PRINT_COLUMN("low", NULL, PRINT_FIGURE, .object = key,
				.csv_key = arena_format(arena, "%s_low", key)),
			PRINT_COLUMN("high", NULL, PRINT_FIGURE, .object = key,
				.csv_key = arena_format(arena, "%s_high", key)),
		};

		print_columns(table, columns, PER_FIGURE);
	}
	print_columns(table,
		(const struct print_column[]){
			PRINT_COLUMN(NULL, "seconds", PRINT_REAL, .digits = 2, .csv_key = "seconds"),
			PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
		},
		2);
}

void error_table_row(struct print_table *table, const struct baseline *method, bool test, double confidence)
{
	print_row(table);
	print_word(table, METHOD, method->name);
	print_word(table, SET, test ? "test" : "fitted");
	if (method->skipped) {
		print_word(table, NOTE, arena_format(table->arena, "skipped: %s", method->note));
		return;
	}
	print_number(table, SEEDS, (double)method->seed_count);
	for (size_t f = 0; f < BASELINES_FIGURES; f++) {
		struct error_spread spread = error_spread(test ? method->test : method->train,
			method->seed_count, baselines_figures[f].offset, confidence);

		print_numbers(table, FIGURES + PER_FIGURE * f,
			(double[]){spread.mean, spread.sd, spread.low, spread.high}, PER_FIGURE);
	}
	print_number(table, SECONDS, method->seconds);
}

static cJSON *json_set(const struct baseline *method, bool test, bool each, double confidence)
{
	const struct pm_fit_error *errors = test ? method->test : method->train;
	struct arena arena = {0};
	struct print_table table;
	cJSON *set;

	error_table_init(&table, &arena);
	error_table_row(&table, method, test, confidence);
	set = print_json_row(&table, 0);
	print_free(&table);
	arena_free(&arena);
	if (each) {
		cJSON *seeds = cJSON_AddArrayToObject(set, "seeds");

		for (size_t i = 0; i < method->seed_count; i++)
			cJSON_AddItemToArray(seeds, model_file_error(&errors[i]));
	}
	return set;
}

/* What a method is and how it was trained. */
enum { METHOD_NAME, METHOD_WHAT, METHOD_TEXT, METHOD_SKIPPED, METHOD_NOTE, METHOD_SEEDS, METHOD_SECONDS };

static const struct print_column method_columns[] = {
	[METHOD_NAME] = PRINT_COLUMN("method", "", PRINT_WORD),
	[METHOD_WHAT] = PRINT_COLUMN("what", NULL, PRINT_WORD),
	[METHOD_TEXT] = PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
	[METHOD_SKIPPED] = PRINT_COLUMN("skipped", NULL, PRINT_FLAG),
	[METHOD_NOTE] = PRINT_COLUMN("note", NULL, PRINT_WORD),
	[METHOD_SEEDS] = PRINT_COLUMN("seeds", NULL, PRINT_COUNT),
	[METHOD_SECONDS] = PRINT_COLUMN("seconds", NULL, PRINT_REAL),
};

void error_table_methods(struct print_table *table, const struct baseline *methods, size_t count)
{
	print_columns(table, method_columns, sizeof(method_columns) / sizeof(*method_columns));
	for (size_t i = 0; i < count; i++) {
		const struct baseline *method = &methods[i];
		bool noted = !method->skipped && *method->note;

		print_row(table);
		print_word(table, METHOD_NAME, method->name);
		print_word(table, METHOD_WHAT, method->what);
		print_word(table, METHOD_TEXT,
			noted ? arena_format(table->arena, "%s (%s)", method->what, method->note)
			      : method->what);
		print_number(table, METHOD_SKIPPED, method->skipped);
		print_word(table, METHOD_NOTE, method->note);
		print_number(table, METHOD_SEEDS, (double)method->seed_count);
		print_number(table, METHOD_SECONDS, method->seconds);
	}
}

static cJSON *json_method(const struct baseline *method)
{
	struct arena arena = {0};
	struct print_table table;
	cJSON *object;

	print_init(&table, &arena);
	error_table_methods(&table, method, 1);
	object = print_json_row(&table, 0);
	print_free(&table);
	arena_free(&arena);
	return object;
}

cJSON *error_table_json(const struct baseline *method, bool with_test, bool each, double confidence)
{
	cJSON *object = json_method(method);

	if (!method->skipped)
		cJSON_AddItemToObject(object, "train", json_set(method, false, each, confidence));
	if (!method->skipped && with_test)
		cJSON_AddItemToObject(object, "test", json_set(method, true, each, confidence));
	return object;
}
