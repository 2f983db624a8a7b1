/* A comparison as text, JSON and CSV: see comparison_print.h. */
#include "comparison_print.h"
#include "comparison_table.h"
#include "comparison_words.h"
#include "error_table.h"
#include "model/model_file.h"

/* A table below its title; false: it has no rows, and nothing is printed. */
static bool print_one(const struct comparison *c, const char *title,
	void (*fill)(const struct comparison *c, struct print_table *table), int margin, FILE *out)
{
	struct arena arena = {0};
	struct print_table table;
	bool printed;

	print_init(&table, &arena);
	fill(c, &table);
	printed = table.row_count > 0;
	if (printed) {
		print_paragraph(arena_format(&arena, "%*s%s", margin, "", title), margin, out);
		print_text(&table, NULL, out);
	}
	print_free(&table);
	arena_free(&arena);
	return printed;
}

static void print_parameters(const struct comparison *c, struct arena *arena, FILE *out)
{
	print_one(c,
		arena_format(arena,
			"Parameters, as in Table 4.3: mean and standard deviation over seeds (search noise); below, "
			"the %.0f%% bootstrap interval (data uncertainty)",
			100 * c->confidence),
		comparison_table_parameters, 0, out);
	print_paragraph("  u: undetermined (other values predict the same); d: dead, below 0.05% of every "
			"prediction; b: at a bound",
		2, out);
	fputc('\n', out);
	if (print_one(c,
		    "Levels as determined by the data: each minus its column's mean; the base is the sum of "
		    "those means",
		    comparison_table_levels, 2, out))
		fputc('\n', out);
}

static void print_errors(const struct comparison *c, struct arena *arena, FILE *out)
{
	fputs("Errors, as in Table 4.4: mean and standard deviation over seeds\n", out);
	for (size_t s = 0; s < c->count; s++) {
		struct print_table table;

		error_table_init(&table, arena);
		comparison_table_errors(c, &c->sets[s], &table);
		print_part(&table, PRINT_TEXT, NULL, NULL, c->sets[s].name, true, out);
		print_free(&table);
	}
	fputc('\n', out);
	if (print_one(c,
		    arena_format(arena,
			    "Test MAPE, percent of the measured time, and its %.0f%% interval over seeds",
			    100 * c->confidence),
		    comparison_table_tests, 0, out))
		fputc('\n', out);
}

static void print_scaling(const struct comparison *c, struct arena *arena, FILE *out)
{
	struct sentences said = {.arena = arena};

	print_one(c, "Scaling, as in Table 4.5: extrinsic powers and the constant", comparison_table_scaling,
		0, out);
	fputs("  (C in percent of the geometric mean of the fitted times)\n\n", out);
	for (size_t s = 0; s < c->count; s++)
		comparison_words_scaling(&c->sets[s], &said);
	sentences_text(&said, 2, 4, out);
	fputc('\n', out);
}

static void print_differences(const struct comparison *c, struct arena *arena, FILE *out)
{
	struct sentences said = {.arena = arena};

	if (!c->pair_count)
		return;
	comparison_words_differences(c, &said);
	fprintf(out, "Differences, by the bootstrap intervals of the differences (%.0f%%)\n",
		100 * c->confidence);
	sentences_text(&said, 2, 4, out);
	fputc('\n', out);
}

static void print_as_text(const struct comparison *c, struct arena *arena, FILE *out)
{
	struct sentences sets = {.arena = arena};

	for (size_t s = 0; s < c->count; s++)
		comparison_words_set(&c->sets[s], &sets);
	sentences_text(&sets, 0, 2, out);
	fputc('\n', out);
	print_parameters(c, arena, out);
	print_errors(c, arena, out);
	print_scaling(c, arena, out);
	print_differences(c, arena, out);
	for (size_t s = 0; s < c->count; s++) {
		struct sentences said = {.arena = arena};

		if (!c->sets[s].free)
			continue;
		comparison_words_lambda(&c->sets[s], &said);
		fprintf(out, "%s, %s\n", c->sets[s].name,
			comparison_words_penalty(arena, &c->sets[s].bound->parameter, ""));
		sentences_text(&said, 0, 2, out);
	}
}

static cJSON *json_set(const struct comparison *c, const struct comparison_set *set, struct arena *arena)
{
	cJSON *object = cJSON_CreateObject(), *methods;
	struct sentences said = {.arena = arena};
	const struct baseline *row;

	cJSON_AddStringToObject(object, "name", set->name);
	cJSON_AddStringToObject(object, "path", set->path);
	cJSON_AddItemToObject(object, "typical_time", model_file_number(set->typical));
	cJSON_AddItemToObject(object, "model", model_file_json(set->shown));
	if (set->free)
		cJSON_AddItemToObject(object, c->is_bound_shown ? "without_penalty" : "with_penalty",
			model_file_json(c->is_bound_shown ? set->free : set->bound));
	methods = cJSON_AddArrayToObject(object, "methods");
	for (size_t i = 0; (row = comparison_row(set, i)); i++)
		cJSON_AddItemToArray(methods,
			error_table_json(row, set->observations.test.sample_count > 0, false, c->confidence));
	comparison_words_set(set, &said);
	comparison_words_scaling(set, &said);
	if (set->free)
		comparison_words_lambda(set, &said);
	sentences_json(&said, object, "sentences");
	return object;
}

static void print_as_json(const struct comparison *c, struct arena *arena, FILE *out)
{
	cJSON *root = cJSON_CreateObject(), *sets = cJSON_AddArrayToObject(root, "sets");
	struct sentences said = {.arena = arena};
	struct print_table differences;

	for (size_t s = 0; s < c->count; s++)
		cJSON_AddItemToArray(sets, json_set(c, &c->sets[s], arena));
	print_init(&differences, arena);
	comparison_table_differences(c, &differences);
	cJSON_AddItemToObject(root, "differences", print_json(&differences));
	print_free(&differences);
	cJSON_AddNumberToObject(root, "lambda", c->lambda);
	cJSON_AddNumberToObject(root, "confidence", c->confidence);
	comparison_words_differences(c, &said);
	sentences_json(&said, root, "sentences");
	print_json_end(root, out);
}

static void print_as_csv(const struct comparison *c, struct arena *arena, FILE *out)
{
	struct print_table figures;

	print_init(&figures, arena);
	comparison_table_figures(c, &figures);
	print_csv(&figures, out);
	print_free(&figures);
}

void comparison_print(const struct comparison *c, enum print_form form, FILE *out)
{
	struct arena arena = {0};

	if (form == PRINT_JSON)
		print_as_json(c, &arena, out);
	else if (form == PRINT_CSV)
		print_as_csv(c, &arena, out);
	else
		print_as_text(c, &arena, out);
	arena_free(&arena);
}
