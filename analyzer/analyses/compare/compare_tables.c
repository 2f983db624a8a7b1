/*
 * A comparison as tables. Two sides: their figures next to each other, with interval, effect and p. More than
 * two: medians with a mark each. JSON and CSV always have every row of every pair.
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_sides(struct compare *compare, enum print_form form, cJSON *object, FILE *out)
{
	struct print_table table;
	size_t name, runs, program, gpus, samples, layers, parameters, iterations, iteration, lif;

	print_init(&table, &compare->arena);
	name = print_column(&table, "side", "side", PRINT_WORD);
	runs = print_column(&table, "runs", "runs", PRINT_COUNT);
	program = print_column(&table, "program", "program", PRINT_WORD);
	gpus = print_column(&table, "gpus", "GPUs", PRINT_COUNT);
	samples = print_column(&table, "samples", "batch", PRINT_COUNT);
	layers = print_column(&table, "layers", "layers", PRINT_COUNT);
	parameters = print_column(&table, "parameters", "params", PRINT_COUNT);
	iterations = print_column(&table, "iterations", "iterations", PRINT_COUNT);
	iteration = print_column(&table, "t_iter", "t_iter", PRINT_TIME);
	lif = print_column(&table, "lif", "LIF", PRINT_REAL);
	for (size_t s = 0; s < compare->side_count; s++) {
		const struct compare_facts *facts = &compare->facts[s];

		print_row(&table);
		print_word(&table, name, compare->sides[s].name);
		print_number(&table, runs, (double)compare->sides[s].run_count);
		print_word(&table, program, facts->program);
		print_number(&table, gpus, (double)facts->gpus);
		if (facts->samples > 0)
			print_number(&table, samples, facts->samples);
		if (facts->layers > 0)
			print_number(&table, layers, (double)facts->layers);
		if (facts->parameters > 0)
			print_number(&table, parameters, facts->parameters);
		print_number(&table, iterations, (double)facts->iterations);
		print_number(&table, iteration, facts->iteration_ns);
		print_number(&table, lif, facts->compute_lif);
	}
	print_part(&table, form, object, "sides", "Compared", false, out);
	print_free(&table);
}

/* Of the runs of modelled devices. */
static void add_devices(const struct compare *compare, cJSON *object)
{
	cJSON *list = cJSON_AddArrayToObject(object, "runs");

	for (size_t s = 0; s < compare->side_count; s++)
		for (size_t r = 0; r < compare->sides[s].run_count; r++) {
			struct run *run = compare->sides[s].runs[r];
			cJSON *item = cJSON_CreateObject();

			cJSON_AddStringToObject(item, "side", compare->sides[s].name);
			cJSON_AddStringToObject(item, "run", run->label);
			run_device_json(run, item);
			cJSON_AddItemToArray(list, item);
		}
}

static void print_devices(struct compare *compare, FILE *out)
{
	double least = INFINITY, most = 0;

	for (size_t s = 0; s < compare->side_count; s++)
		for (size_t r = 0; r < compare->sides[s].run_count; r++) {
			struct run *run = compare->sides[s].runs[r];

			run_print_devices(run, 1, out);
			least = fmin(least, run_time_scale(&run->analysis.timeline));
			most = fmax(most, run_time_scale(&run->analysis.timeline));
		}
	if (least != most)
		print_paragraph(
			arena_format(&compare->arena,
				"Warning: device times are scaled by %g to %g: differences below are of "
				"that first of all.",
				least, most),
			2, out);
}

static void print_rows(struct compare *compare, const struct compare_pair *pair, enum compare_rows which,
	const char *title, FILE *out)
{
	struct print_table table;

	print_init(&table, &compare->arena);
	compare_row_table(compare, pair, which, PRINT_TEXT, &table);
	if (table.row_count > 0) {
		fputc('\n', out);
		print_text(&table, title, out);
	}
	print_free(&table);
}

static void print_pair_text(struct compare *compare, const struct compare_pair *pair, FILE *out)
{
	print_rows(compare, pair, COMPARE_ROWS_ITERATION, "Iteration, means", out);
	print_rows(compare, pair, COMPARE_ROWS_RATIOS, "Rate and balance, means", out);
	print_rows(compare, pair, COMPARE_ROWS_EXCLUSIVE, "Phases, exclusive, means", out);
	print_rows(compare, pair, COMPARE_ROWS_BUSY, "Phases, busy, means", out);
	print_rows(compare, pair, COMPARE_ROWS_LAYERS,
		"Layers, computing: forward, backward and update, means (* different sizes)", out);
	print_rows(
		compare, pair, COMPARE_ROWS_PARTS, "Parts of layers that differ significantly, means", out);
}

static const struct compare_row *same_row(
	const struct compare_pair *pair, const struct compare_pair *from, const struct compare_row *like)
{
	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];

		if (row->kind == like->kind && strcmp(row->key, like->key) == 0 &&
			(row->kind < COMPARE_LAYER ||
				pair->matches[row->match].base == from->matches[like->match].base))
			return row;
	}
	return NULL;
}

static const char *mark_of(const struct compare_row *row)
{
	static const char *const marks[] = {[COMPARE_NONE] = "",
		[COMPARE_UNDECIDED] = "?",
		[COMPARE_SAME] = "=",
		[COMPARE_FASTER] = "<",
		[COMPARE_SLOWER] = ">",
		[COMPARE_ONLY_BASE] = "",
		[COMPARE_ONLY_OTHER] = "",
		[COMPARE_UNKNOWN] = ""};

	return marks[row->word];
}

/* Rows of the first pair; what only another side has is in the pairs. */
static void print_medians(struct compare *compare, enum compare_rows which, const char *title, FILE *out)
{
	const struct compare_pair *first = &compare->pairs[0];
	size_t *values = mem_alloc(compare->pair_count, sizeof(*values)), name, base;
	struct print_table table;

	print_init(&table, &compare->arena);
	name = print_column(&table, "", "", PRINT_WORD);
	base = print_column(&table, "", compare_side_title(compare, first->base), PRINT_TIME);
	for (size_t i = 0; i < compare->pair_count; i++) {
		values[i] = print_column(
			&table, "", compare_side_title(compare, compare->pairs[i].other), PRINT_TIME);
		print_column(&table, "", "", PRINT_WORD);
	}
	for (size_t r = 0; r < first->row_count; r++) {
		if (!compare_row_in(&first->rows[r], which) ||
			(first->rows[r].kind >= COMPARE_LAYER && isnan(first->rows[r].base)))
			continue;
		print_row(&table);
		print_word(&table, name, first->rows[r].title);
		print_number(&table, base, first->rows[r].base_median);
		for (size_t i = 0; i < compare->pair_count; i++) {
			const struct compare_row *row = same_row(&compare->pairs[i], first, &first->rows[r]);

			if (!row)
				continue;
			print_number(&table, values[i], row->other_median);
			print_word(&table, values[i] + 1, mark_of(row));
		}
	}
	if (table.row_count > 0) {
		fputc('\n', out);
		print_text(&table, title, out);
	}
	print_free(&table);
	free(values);
}

static const char *unit_text(const struct compare *compare, const struct compare_row *row)
{
	return row->type == PRINT_TIME ? compare->how.per_sample ? "ns/sample" : "ns"
	       : row->more_is_better   ? "1/s"
				       : "1";
}

/* Every row of the pair; for programs. */
static void fill_rows(
	struct compare *compare, const struct compare_pair *pair, struct print_table *table, bool heads)
{
	static const char *const kinds[] = {"whole", "exclusive", "busy", "layer", "layer_part"};
	enum {
		BASE_SIDE,
		OTHER_SIDE,
		KIND,
		KEY,
		LAYER,
		OTHER_LAYER,
		UNIT,
		BASE,
		OTHER,
		DIFFERENCE,
		CHANGE,
		LOW,
		HIGH,
		BASE_MEDIAN,
		OTHER_MEDIAN,
		CLIFF,
		SIZE,
		P,
		BLOCK,
		WORD,
		COLUMNS
	};
	static const struct {
		const char *key;
		enum print_type type;
	} columns[COLUMNS] = {{"base_side", PRINT_WORD}, {"other_side", PRINT_WORD}, {"kind", PRINT_WORD},
		{"key", PRINT_WORD}, {"layer", PRINT_WORD}, {"other_layer", PRINT_WORD}, {"unit", PRINT_WORD},
		{"base", PRINT_REAL}, {"other", PRINT_REAL}, {"difference", PRINT_REAL},
		{"change", PRINT_SHARE}, {"low", PRINT_REAL}, {"high", PRINT_REAL},
		{"base_median", PRINT_REAL}, {"other_median", PRINT_REAL}, {"cliffs_delta", PRINT_REAL},
		{"effect_size", PRINT_WORD}, {"p", PRINT_REAL}, {"block", PRINT_COUNT},
		{"verdict", PRINT_WORD}};

	for (size_t c = 0; c < COLUMNS && heads; c++)
		print_column(table, columns[c].key, NULL, columns[c].type);
	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];
		const struct compare_match *match =
			row->kind >= COMPARE_LAYER ? &pair->matches[row->match] : NULL;

		print_row(table);
		print_word(table, BASE_SIDE, compare->sides[pair->base].name);
		print_word(table, OTHER_SIDE, compare->sides[pair->other].name);
		print_word(table, KIND, kinds[row->kind]);
		print_word(table, KEY, row->key);
		if (match && match->base)
			print_word(table, LAYER, layer_title(match->base));
		if (match && match->other)
			print_word(table, OTHER_LAYER, layer_title(match->other));
		print_word(table, UNIT, unit_text(compare, row));
		print_number(table, BASE, row->base);
		print_number(table, OTHER, row->other);
		print_number(table, DIFFERENCE, row->effect.difference);
		print_number(table, CHANGE, compare_change(row));
		print_number(table, LOW, row->effect.low);
		print_number(table, HIGH, row->effect.high);
		print_number(table, BASE_MEDIAN, row->base_median);
		print_number(table, OTHER_MEDIAN, row->other_median);
		print_number(table, CLIFF, row->effect.cliff);
		print_word(table, SIZE, effect_size(row->effect.cliff));
		print_number(table, P, row->p);
		print_number(table, BLOCK, (double)row->effect.block);
		print_word(table, WORD, compare_word_text(row));
	}
}

static cJSON *matches_json(struct compare *compare, const struct compare_pair *pair)
{
	struct print_table table;
	size_t layer, other, by, sizes, other_sizes, differ;
	cJSON *array;

	print_init(&table, &compare->arena);
	layer = print_column(&table, "layer", NULL, PRINT_WORD);
	other = print_column(&table, "other_layer", NULL, PRINT_WORD);
	sizes = print_column(&table, "sizes", NULL, PRINT_WORD);
	other_sizes = print_column(&table, "other_sizes", NULL, PRINT_WORD);
	by = print_column(&table, "matched_by", NULL, PRINT_WORD);
	differ = print_column(&table, "sizes_differ", NULL, PRINT_COUNT);
	for (size_t m = 0; m < pair->match_count; m++) {
		const struct compare_match *match = &pair->matches[m];

		print_row(&table);
		if (match->base) {
			print_word(&table, layer, layer_title(match->base));
			print_word(&table, sizes, match->base->text);
		}
		if (match->other) {
			print_word(&table, other, layer_title(match->other));
			print_word(&table, other_sizes, match->other->text);
		}
		if (match->base && match->other)
			print_word(&table, by, match->by);
		print_number(&table, differ, match->sizes_differ);
	}
	array = print_json(&table);
	print_free(&table);
	return array;
}

static void print_pairs_json(struct compare *compare, cJSON *object)
{
	cJSON *pairs = cJSON_AddArrayToObject(object, "pairs");

	for (size_t i = 0; i < compare->pair_count; i++) {
		const struct compare_pair *pair = &compare->pairs[i];
		const char **words = compare_words(compare, pair);
		cJSON *item = cJSON_CreateObject(), *sentences;
		struct print_table table;

		cJSON_AddStringToObject(item, "base", compare->sides[pair->base].name);
		cJSON_AddStringToObject(item, "other", compare->sides[pair->other].name);
		sentences = cJSON_AddArrayToObject(item, "sentences");
		for (size_t w = 0; words[w]; w++)
			cJSON_AddItemToArray(
				sentences, cJSON_CreateString(print_clean(&compare->arena, words[w])));
		print_init(&table, &compare->arena);
		fill_rows(compare, pair, &table, true);
		cJSON_AddItemToObject(item, "rows", print_json(&table));
		print_free(&table);
		cJSON_AddItemToObject(item, "layers", matches_json(compare, pair));
		cJSON_AddItemToArray(pairs, item);
	}
}

static void print_pairs_csv(struct compare *compare, FILE *out)
{
	struct print_table table;

	print_init(&table, &compare->arena);
	for (size_t i = 0; i < compare->pair_count; i++)
		fill_rows(compare, &compare->pairs[i], &table, i == 0);
	print_csv(&table, out);
	print_free(&table);
}

static void print_words(struct compare *compare, const struct compare_pair *pair, FILE *out)
{
	const char **words = compare_words(compare, pair);

	fputc('\n', out);
	for (size_t w = 0; words[w]; w++)
		print_paragraph(
			arena_format(&compare->arena, "%s.", print_clean(&compare->arena, words[w])), 2, out);
}

void compare_print(struct compare *compare, enum print_form form, bool brief, cJSON *object, FILE *out)
{
	if (form == PRINT_CSV) {
		print_pairs_csv(compare, out);
		return;
	}
	if (form == PRINT_TEXT)
		print_devices(compare, out);
	print_sides(compare, form, object, out);
	if (form == PRINT_JSON) {
		add_devices(compare, object);
		cJSON_AddNumberToObject(object, "margin", compare->how.margin);
		cJSON_AddBoolToObject(object, "per_sample", compare->how.per_sample);
		cJSON_AddNumberToObject(object, "seed", (double)compare->how.seed);
		print_pairs_json(compare, object);
		return;
	}
	for (size_t i = 0; i < compare->pair_count; i++)
		print_words(compare, &compare->pairs[i], out);
	if (brief)
		return;
	if (compare->pair_count == 1) {
		print_pair_text(compare, &compare->pairs[0], out);
		return;
	}
	print_medians(compare, COMPARE_ROWS_ITERATION, "Iteration, medians", out);
	print_medians(compare, COMPARE_ROWS_EXCLUSIVE, "Phases, exclusive, medians", out);
	print_medians(compare, COMPARE_ROWS_LAYERS, "Layers, computing, medians", out);
	fprintf(out,
		"\n"
		"  < faster, > slower, = same, ? not decided, against %s\n",
		print_clean(&compare->arena, compare->sides[compare->how.base].name));
}
