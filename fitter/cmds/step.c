/* pmfit step: the time of a training step over batch, GPUs and nodes. */
#include "base/table.h"
#include "base/text.h"
#include "output/sentences.h"
#include "step_options.h"

#include <limits.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SPREAD 1.5 /* of the times of rows that are alike to the model: more is not noise */

struct choices {
	struct step_columns columns;
	double gradient_bytes; /* 0: not known */
	const char *output;
	bool json, skip_bad;
};

static const char *meaning(const struct form *form, size_t term)
{
	switch (term) {
	case 0:
		return "step: launch, update";
	case 1:
		return "sample on a GPU";
	case 2:
		return "sample and doubling of GPUs";
	case 3:
		return "step on several GPUs of one node";
	case 4:
		return form_term_factor(form->exchange, term);
	case 5:
		return "step on several nodes";
	default:
		return form_term_factor(form->exchange, term);
	}
}

/* Does the data say nothing of the term? */
static bool is_idle(const struct committee *c, const struct form *form, size_t term)
{
	return (term > 4 && !c->has_regime[2]) || (term > 2 && term < 5 && !c->has_regime[1]) ||
	       strcmp(form_term_factor(form->exchange, term), "-") == 0;
}

/* What is said of a level, for all forms. */
struct level_answer {
	const struct step_level *level;
	struct print_table terms, errors; /* without columns: the level has no model */
	struct sentences extent;          /* of the data, or why there is no model */
	struct sentences exchange, warnings;
};

struct answer {
	const struct step_model *model;
	const char *path; /* of the table */
	size_t row_count;
	struct arena arena;
	struct print_table taken;
	struct level_answer *levels; /* the model's */
};

/* "ms", if the table's unit is known: the coefficients are converted to it. Else NULL, and they are in that
 * of its times. */
static const char *terms_unit(const struct step_model *model)
{
	return isnan(step_unit_seconds(model->columns.unit)) ? NULL : "ms";
}

static void tabulate_terms(
	struct print_table *table, const struct step_model *model, const struct committee *c)
{
	const struct form *form = &c->candidates[c->best].forms[c->best_form];
	const char *unit = terms_unit(model);
	const double scale = unit ? step_unit_seconds(model->columns.unit) * 1e3 : 1;
	const struct print_column columns[] = {
		PRINT_COLUMN("name", "", PRINT_WORD),
		PRINT_COLUMN("value", unit ? unit : "time", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("low", "low refit", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("high", "high refit", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("for_each", "for each", PRINT_WORD),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t j = 0; j < FORM_TERMS; j++) {
		if (is_idle(c, form, j))
			continue;
		print_row(table);
		print_word(table, 0, form_term_name(j));
		print_numbers(table, 1,
			(double[]){scale * form->terms[j], scale * c->low.terms[j], scale * c->high.terms[j]},
			3);
		print_word(table, 4, meaning(form, j));
	}
}

static void say_overlap(const struct committee *c, struct sentences *said)
{
	const double g = c->candidates[c->best].forms[c->best_form].overlap;

	sentences_add(said, "g %g: compute and exchange %s", g,
		g <= 1 ? "follow each other" : "overlap: the longer one hides most of the other");
}

/* What a ring of k GPUs would have to move a second to take so long. */
static void say_bandwidth(
	const struct step_model *model, const struct committee *c, double bytes, struct sentences *said)
{
	const struct form *form = &c->candidates[c->best].forms[c->best_form];
	double unit = step_unit_seconds(model->columns.unit);

	for (int among = 0; among <= 1; among++) {
		struct form_point most = {0};
		double seconds;

		for (size_t k = 0; k < c->count; k++)
			if (c->points[k].gpus > fmax(most.gpus, 1) &&
				(c->points[k].nodes > 1) == (among == 1))
				most = c->points[k];
		seconds = most.gpus > 1 ? form_exchange(form, &most) * unit : NAN;
		if (seconds > 1e-4 * form_time(form, &most) * unit)
			sentences_add(said,
				"%g GPUs on %g node%s: %.3g GB/s on each link, if %.4g MB go through a ring in "
				"%.4g ms",
				most.gpus, most.nodes, pm_text_plural((size_t)most.nodes),
				2 * (most.gpus - 1) / most.gpus * bytes / seconds / 1e9, bytes / 1e6,
				seconds * 1e3);
	}
}

/* A row of a region; `attempt` NULL: nothing could be tried. */
static void tabulate_try(struct print_table *table, const struct committee *c, size_t region,
	const struct committee_try *attempt)
{
	static const char *const words[COMMITTEE_REGIONS] = {"inside", "batch", "gpus", "nodes"};
	static const char *const titles[COMMITTEE_REGIONS] = {
		"inside the data", "larger batch", "more GPUs", "more nodes"};

	print_row(table);
	print_term(table, 0, words[region], titles[region]);
	print_numbers(table, 1,
		(double[]){attempt && region ? exp2(attempt->reach) : NAN, attempt ? attempt->error : NAN,
			c->widen[region]},
		3);
	print_word(table, 4, attempt ? "" : "could not be tried: too few values");
}

static void tabulate_errors(struct print_table *table, const struct committee *c)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("where", "configurations left out", PRINT_WORD),
		PRINT_COLUMN("times", "times the largest", PRINT_REAL, .digits = 1),
		PRINT_COLUMN("error", "runs missed by", PRINT_SHARE),
		PRINT_COLUMN("intervals_widened_by", "intervals widened by", PRINT_REAL, .digits = 2),
		PRINT_COLUMN("note", "", PRINT_WORD),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t r = 0; r < COMMITTEE_REGIONS; r++) {
		for (size_t i = 0; i < c->tries[r].count; i++)
			tabulate_try(table, c, r, &c->tries[r].tries[i]);
		if (!c->tries[r].count)
			tabulate_try(table, c, r, NULL);
	}
}

static void say_extent(const struct step_level *level, struct sentences *said)
{
	const struct committee *c = &level->committee;
	const char *name = *level->name ? arena_format(said->arena, "%s: ", level->name) : "";

	if (level->why)
		sentences_add(said, "%sno model: %s", name, level->why);
	else
		sentences_add(said, "%s%zu rows of %zu configurations: %s", name, level->row_count, c->count,
			committee_extent(c, said->arena));
}

static void say_warnings(const struct committee *c, struct sentences *said)
{
	if (c->batches < 3)
		sentences_add(said, "warning: %zu batch size%s: predictions for others rest on little",
			c->batches, pm_text_plural(c->batches));
	if (c->spread > MOST_SPREAD)
		sentences_add(said,
			"warning: rows with the same batch, GPUs and nodes differ by %.1f times: another setting "
			"varies, and this model answers for none of its values; 'pmfit auto' takes a model that "
			"knows it",
			c->spread);
}

static void level_init(struct level_answer *answer, const struct step_model *model,
	const struct step_level *level, double gradient_bytes, struct arena *arena)
{
	const struct committee *c = &level->committee;

	*answer = (struct level_answer){.level = level,
		.extent = {.arena = arena},
		.exchange = {.arena = arena},
		.warnings = {.arena = arena}};
	print_init(&answer->terms, arena);
	print_init(&answer->errors, arena);
	say_extent(level, &answer->extent);
	if (level->why)
		return;
	tabulate_terms(&answer->terms, model, c);
	say_overlap(c, &answer->exchange);
	if (gradient_bytes > 0)
		say_bandwidth(model, c, gradient_bytes, &answer->exchange);
	tabulate_errors(&answer->errors, c);
	say_warnings(c, &answer->warnings);
}

static void answer_init(struct answer *answer, const struct step_model *model, const struct step_table *table,
	const char *path, double gradient_bytes)
{
	*answer = (struct answer){.model = model, .path = path, .row_count = table->count};
	step_options_taken_init(&answer->taken, &answer->arena);
	step_options_taken_step(&answer->taken, &model->columns);
	answer->levels = arena_alloc(&answer->arena, model->level_count, sizeof(*answer->levels));
	for (size_t i = 0; i < model->level_count; i++)
		level_init(&answer->levels[i], model, &model->levels[i], gradient_bytes, &answer->arena);
}

static void answer_free(struct answer *answer)
{
	for (size_t i = 0; i < answer->model->level_count; i++) {
		print_free(&answer->levels[i].terms);
		print_free(&answer->levels[i].errors);
	}
	print_free(&answer->taken);
	arena_free(&answer->arena);
}

static void level_text(const struct level_answer *answer)
{
	sentences_text(&answer->extent, 0, 2, stdout);
	if (!answer->level->why) {
		print_text(&answer->terms, NULL, stdout);
		sentences_text(&answer->exchange, 2, 4, stdout);
		putchar('\n');
		print_text(&answer->errors, NULL, stdout);
		sentences_text(&answer->warnings, 2, 4, stdout);
	}
	putchar('\n');
}

static void answer_text(const struct answer *answer)
{
	printf("%s: %zu rows\n", answer->path, answer->row_count);
	print_text(&answer->taken, NULL, stdout);
	putchar('\n');
	for (size_t i = 0; i < answer->model->level_count; i++)
		level_text(&answer->levels[i]);
}

static cJSON *level_json(const struct level_answer *answer)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "name", answer->level->name);
	if (!answer->level->why) {
		cJSON_AddItemToObject(object, "coefficients", print_json(&answer->terms));
		cJSON_AddItemToObject(object, "errors", print_json(&answer->errors));
	}
	sentences_json(&answer->extent, object, "sentences");
	sentences_json(&answer->exchange, object, "sentences");
	sentences_json(&answer->warnings, object, "sentences");
	return object;
}

/* The model, which other commands read, and beside it what text says. */
static void answer_json(const struct answer *answer)
{
	cJSON *root = step_model_json(answer->model), *summary = cJSON_AddObjectToObject(root, "summary");
	const char *unit = terms_unit(answer->model);
	cJSON *levels;

	cJSON_AddStringToObject(summary, "table", answer->path);
	cJSON_AddNumberToObject(summary, "rows", (double)answer->row_count);
	cJSON_AddItemToObject(summary, "columns", print_json(&answer->taken));
	if (unit)
		cJSON_AddStringToObject(summary, "time_unit", unit);
	levels = cJSON_AddArrayToObject(summary, "levels");
	for (size_t i = 0; i < answer->model->level_count; i++)
		cJSON_AddItemToArray(levels, level_json(&answer->levels[i]));
	print_json_end(root, stdout);
}

enum { BYTES = OPTION_FIRST };

static void take_options(int argument_count, char **arguments, struct choices *choices)
{
	int option;

	while ((option = command_option(&cmd_step, argument_count, arguments)) != -1)
		if (option == BYTES)
			choices->gradient_bytes =
				(double)command_count(&cmd_step, option, optarg, 1, ULONG_MAX);
		else if (option == STEP_OPTION_SKIP_BAD)
			choices->skip_bad = true;
		else if (option == 'o')
			choices->output = optarg;
		else if (option == 'j')
			choices->json = true;
		else if (!step_options_take(&cmd_step, &choices->columns, option, optarg))
			command_unhandled(&cmd_step, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_step, "expected one table");
}

static int run_step(int argument_count, char **arguments)
{
	struct choices choices = {0};
	struct step_model model;
	struct step_table table;
	struct answer answer;
	struct arena arena = {0};
	struct csv csv;
	const char *bad;

	take_options(argument_count, arguments, &choices);
	step_options_read(&choices.columns, &csv, &table, arguments[optind], true, choices.skip_bad, &arena);
	bad = step_model_fit(&model, &choices.columns, &table);
	if (bad)
		errx(1, "%s: no model: %s", csv.path, bad);
	answer_init(&answer, &model, &table, csv.path, choices.gradient_bytes);
	if (choices.json)
		answer_json(&answer);
	else
		answer_text(&answer);
	answer_free(&answer);
	if (choices.output)
		step_options_save(&model, choices.output);
	step_model_free(&model);
	step_table_free(&table);
	csv_free(&csv);
	arena_free(&arena);
	return 0;
}

static const struct option_row rows[] = {
	{"gradient-bytes", BYTES, "N",
		"size of the gradients: prints the bandwidth that a ring all-reduce of this size would "
		"need"},
	{"output", 'o', "FILE", "write the model for 'pmfit predict' and 'pmfit guide'"},
	{"json", 'j', NULL,
		"JSON output: the model, and the tables and sentences of the text under 'summary'"},
	{0},
};

const struct command cmd_step = {
	.name = "step",
	.summary = "a step's time over batch, GPUs and nodes, also beyond the data",
	.usage = "[OPTION]... TABLE.csv",
	.about =
		"For configurations that nobody measured: more GPUs, more nodes, larger batches. With m "
		"samples on each of k GPUs on n nodes:\n"
		"\n"
		"  T = (Tc^g + Ts^g)^(1/g)        g = 1: one after the other, more: overlapped\n"
		"  Tc = a + b m + c m log2 k      compute\n"
		"  Ts = d0 + d1 log2 k            exchange of gradients on one node; on several\n"
		"     = e0 + e1 X + e2 Y          X, Y: log2 k, log2 n, 1/n, k/n; or linear in k\n"
		"\n"
		"Coefficients are at least 0, in the time's unit. Several such forms and a constant, "
		"each with a Gaussian process for its residuals, predict configurations that were held out, inside the data and beyond: their errors there give the weights of the forms, and the widths of intervals, for each of these regions. Printed are the coefficients of the form nearest to the table, with their range over five refits, each without a fifth of the configurations; predictions weight all forms.\n"
		"\n"
		"Where the table has the exposed communication ('pmanalyze export --observations' writes "
		"it), compute is also fitted to the rest of the step.\n",
	.options = OPTION_TABLES(step_options_rows, rows),
	.after = "Examples:\n"
		 "  pmfit step -o model.json runs.csv && pmfit predict model.json planned.csv\n"
		 "  pmfit step --time iteration_ms --batch-column batch --batch-is global runs.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_step,
};
