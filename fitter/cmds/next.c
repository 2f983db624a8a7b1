/* pmfit next: which configurations to measure, so that an answer becomes narrower. */
#include "auto.h"
#include "base/text.h"
#include "output/sentences.h"
#include "predict.h"
#include "step/step_next.h"
#include "step_options.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 200  /* candidates of a level */
#define MOST 20   /* configurations that are named */
#define DEFAULT 3 /* of these */

struct choices {
	struct step_columns columns;
	const char *questions, *candidates, *level;
	double most_gpus, confidence;
	size_t most;
	enum print_form form;
	bool skip_bad;
};

/* What is said of a level. */
struct answer {
	const struct step_level *level;
	struct step_next next;
	struct form_point *questions, *candidates;
	struct step_next_choice named[MOST];
	size_t named_count;
	double now;
};

enum { FOR = OPTION_FIRST, CANDIDATES, MOST_GPUS, CONFIDENCE, COUNT, LEVEL };

static void take_options(int argument_count, char **arguments, struct choices *choices)
{
	int option;

	while ((option = command_option(&cmd_next, argument_count, arguments)) != -1)
		if (option == FOR)
			choices->questions = optarg;
		else if (option == CANDIDATES)
			choices->candidates = optarg;
		else if (option == MOST_GPUS)
			choices->most_gpus = (double)command_count(&cmd_next, option, optarg, 1, 1000000);
		else if (option == CONFIDENCE)
			choices->confidence = command_number(&cmd_next, option, optarg, 0.01, 0.999);
		else if (option == COUNT)
			choices->most = command_count(&cmd_next, option, optarg, 1, MOST);
		else if (option == LEVEL)
			choices->level = optarg;
		else if (option == 'c')
			choices->form = PRINT_CSV;
		else if (option == 'j')
			choices->form = PRINT_JSON;
		else if (option == STEP_OPTION_SKIP_BAD)
			choices->skip_bad = true;
		else if (!step_options_take(&cmd_next, &choices->columns, option, optarg))
			command_unhandled(&cmd_next, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_next, "expected a table of runs or a model of 'pmfit step'");
}

/* The configurations of a table that are of the level, which a table with one level need not name. */
static struct form_point *read_points(
	const struct step_model *model, const struct step_level *level, const char *path, size_t *count)
{
	const struct predict_choices choices = {0};
	struct step_columns columns = {0};
	struct arena arena = {0};
	struct step_table table;
	struct form_point *points;
	struct csv csv;

	predict_step_read(model, &csv, &table, path, &choices, &columns, &arena);
	points = mem_alloc(table.count + 1, sizeof(*points));
	*count = 0;
	for (size_t k = 0; k < table.count; k++)
		if (strcmp(table.rows[k].level, level->name) == 0 || !*table.rows[k].level)
			points[(*count)++] = table.rows[k].row.point;
	step_table_free(&table);
	csv_free(&csv);
	arena_free(&arena);
	return points;
}

/* The largest batch on twice and four times the GPUs, on as many nodes more where they were on several. */
static struct form_point *usual_questions(const struct committee *c, size_t *count)
{
	struct form_point *points = mem_alloc(2, sizeof(*points)), most = c->greatest;

	most.nodes = 1;
	for (size_t k = 0; k < c->count; k++)
		if (c->points[k].gpus == most.gpus)
			most.nodes = fmax(most.nodes, c->points[k].nodes);
	*count = 2;
	for (size_t i = 0; i < 2; i++) {
		double more = i ? 4 : 2;

		points[i] = (struct form_point){
			most.batch, most.gpus * more, most.nodes > 1 ? most.nodes * more : 1};
	}
	return points;
}

static void answer_level(struct answer *a, const struct step_model *model, const struct choices *choices)
{
	const struct committee *c = &a->level->committee;
	double most_gpus = choices->most_gpus > 0 ? choices->most_gpus : c->greatest.gpus;

	a->next = (struct step_next){.committee = c, .confidence = choices->confidence};
	a->questions = choices->questions
			       ? read_points(model, a->level, choices->questions, &a->next.question_count)
			       : usual_questions(c, &a->next.question_count);
	if (choices->candidates) {
		a->candidates = read_points(model, a->level, choices->candidates, &a->next.candidate_count);
	} else {
		a->candidates = mem_alloc(ROOM, sizeof(*a->candidates));
		a->next.candidate_count = step_next_candidates(c, most_gpus, a->candidates, ROOM);
	}
	a->next.questions = a->questions;
	a->next.candidates = a->candidates;
	if (!a->next.question_count)
		return;
	a->now = step_next_now(&a->next);
	a->named_count = step_next_choose(&a->next, a->named, choices->most);
}

static const char *ratio_text(struct arena *arena, double ratio)
{
	return isfinite(ratio) ? arena_format(arena, "%.3g", ratio) : "no answer for all";
}

static void say(const struct answer *a, const struct choices *choices, struct sentences *said)
{
	const char *name = *a->level->name ? arena_format(said->arena, "%s: ", a->level->name) : "";
	const struct form_point *first = a->questions;

	if (!a->next.question_count) {
		sentences_add(said, "%sno configuration of %s is of this level", name, choices->questions);
		return;
	}
	sentences_add(said,
		"%sThe question: %zu configuration%s%s, such as %g samples on each of %g GPUs on %g node%s.",
		name, a->next.question_count, pm_text_plural(a->next.question_count),
		choices->questions ? ""
				   : " (without --for the largest batch on twice and four times the GPUs)",
		first->batch, first->gpus, first->nodes, pm_text_plural((size_t)first->nodes));
	sentences_add(said,
		"High over low end of its %g%% interval: %s now, %s when all of these are measured and take what is predicted; a "
		"time that is not as predicted tells more, and may widen it.",
		100 * choices->confidence, ratio_text(said->arena, a->now),
		a->named_count ? ratio_text(said->arena, a->named[a->named_count - 1].ratio) : "as much");
	if (!a->named_count)
		sentences_add(said, "No configuration is left to be measured: name some with --candidates.");
}

static void tabulate(const struct answer *a, const struct step_model *model, struct print_table *table)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("measure", "measure", PRINT_COUNT),
		PRINT_COLUMN("level", NULL, PRINT_WORD),
		PRINT_COLUMN("gpu_batch", "samples on each GPU", PRINT_FIGURE),
		PRINT_COLUMN("gpus", "GPUs", PRINT_FIGURE),
		PRINT_COLUMN("nodes", "nodes", PRINT_FIGURE),
		PRINT_COLUMN("predicted", NULL, PRINT_FIGURE),
		PRINT_COLUMN("high_over_low", "high over low, then", PRINT_FIGURE, .digits = 3),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	table->columns[5].title = model->columns.unit
					  ? arena_format(table->arena, "predicted, %s", model->columns.unit)
					  : "predicted";
	for (size_t i = 0; i < a->named_count; i++) {
		const struct step_next_choice *choice = &a->named[i];

		print_row(table);
		print_number(table, 0, (double)i + 1);
		print_word(table, 1, a->level->name);
		print_numbers(table, 2,
			(double[]){choice->point.batch, choice->point.gpus, choice->point.nodes, choice->time,
				choice->ratio},
			5);
	}
}

static void print_answer(struct answer *a, const struct step_model *model, const struct choices *choices,
	cJSON *levels, bool is_first)
{
	struct arena arena = {0};
	struct print_table table;
	struct sentences said = {.arena = &arena};
	cJSON *object;

	print_init(&table, &arena);
	tabulate(a, model, &table);
	say(a, choices, &said);
	if (choices->form == PRINT_CSV && is_first)
		print_csv(&table, stdout);
	else if (choices->form == PRINT_CSV)
		print_csv_rows(&table, stdout);
	if (choices->form == PRINT_TEXT) {
		sentences_text(&said, 0, 2, stdout);
		print_text(&table, NULL, stdout);
		putchar('\n');
	}
	if (choices->form == PRINT_JSON) {
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "name", a->level->name);
		print_json_number(object, "high_over_low_now", a->now);
		cJSON_AddItemToObject(object, "measure", print_json(&table));
		sentences_json(&said, object, "sentences");
		cJSON_AddItemToArray(levels, object);
	}
	print_free(&table);
	arena_free(&arena);
}

/* Another model is refused with what it lacks. */
static void refuse_formula(const char *path)
{
	struct pm_fit_model *formula;

	if (auto_is_table(path) || pm_fit_load(path, &formula))
		return;
	pm_fit_free(formula);
	errx(1,
		"%s: a formula's intervals are those of all its residuals, wherever was measured, so it cannot say which "
		"measurement narrows them: give a model of 'pmfit step', or the table of runs",
		path);
}

/* A model from its file, or fitted to a table. */
static void get_model(
	struct step_model *model, struct choices *choices, const char *path, struct arena *arena)
{
	struct step_table table;
	struct csv csv;
	const char *bad;

	if (step_options_load(path, model))
		return;
	refuse_formula(path);
	step_options_read(&choices->columns, &csv, &table, path, true, choices->skip_bad, arena);
	bad = step_model_fit(model, &choices->columns, &table);
	if (bad)
		errx(1, "%s: no model: %s", csv.path, bad);
	step_table_free(&table);
	csv_free(&csv);
}

static int run_next(int argument_count, char **arguments)
{
	struct choices choices = {.most = DEFAULT, .confidence = 0.95};
	struct arena arena = {0};
	struct step_model model;
	cJSON *root, *levels;
	size_t answered = 0;

	take_options(argument_count, arguments, &choices);
	get_model(&model, &choices, arguments[optind], &arena);
	root = cJSON_CreateObject();
	levels = cJSON_AddArrayToObject(root, "levels");
	for (size_t i = 0; i < model.level_count; i++) {
		struct answer a = {.level = &model.levels[i], .now = NAN};

		if ((choices.level && strcmp(choices.level, a.level->name) != 0) || a.level->why)
			continue;
		answer_level(&a, &model, &choices);
		print_answer(&a, &model, &choices, levels, answered++ == 0);
		free(a.questions);
		free(a.candidates);
	}
	if (!answered)
		errx(1, "--level %s: not measured, or too little for a model",
			choices.level ? choices.level : "");
	if (choices.form == PRINT_JSON)
		print_json_end(root, stdout);
	else
		cJSON_Delete(root);
	step_model_free(&model);
	arena_free(&arena);
	return 0;
}

static const struct option_row rows[] = {
	{"for", FOR, "TABLE",
		"the configurations that are asked for, as in 'pmfit predict'. Default: the largest batch on twice and four "
		"times the GPUs"},
	{"candidates", CANDIDATES, "TABLE",
		"what can be measured. Default: measured batches and placements in other combinations, twice and half of them"},
	{"at-most-gpus", MOST_GPUS, "N", "of default candidates; default the most that were measured"},
	{"count", COUNT, "N", "how many are named, at most 20, default 3"},
	{"confidence", CONFIDENCE, "X", "of the interval, default 0.95"},
	{"level", LEVEL, "LEVEL", "this cluster or GPU alone; default all"},
	{"csv", 'c', NULL, "CSV output"},
	{"json", 'j', NULL, "JSON output, with the sentences of the text"},
	{0},
};

const struct command cmd_next = {
	.name = "next",
	.summary = "which configurations to measure next",
	.usage = "[OPTION]... RUNS.csv|MODEL.json",
	.about =
		"Names the configurations of a training step whose measurement would narrow the answer to a question most. "
		"Each candidate is assumed to take its predicted time, and the model of 'pmfit step' is fitted again with that row: the candidate that makes the intervals of the question narrowest is named, then the next one, given the first. "
		"RUNS are measured steps, MODEL is a file written by 'pmfit step -o'.\n",
	.options = OPTION_TABLES(rows, step_options_rows),
	.after =
		"Each candidate takes a fit, for each that is named. Models of 'pmfit fit' and 'search' have no such advice: their intervals do not depend on which configurations were measured.\n"
		"\n"
		"Examples:\n"
		"  pmfit next --time step_time,s runs.csv\n"
		"  pmfit next --for planned.csv --at-most-gpus 8 steps.json\n"
		"\n"
		"Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_next,
};
