/* pmfit auto: a table without a word about it: what its columns are, a model, and what to believe of it. */
#include "auto.h"
#include "base/table.h"
#include "base/text.h"
#include "model/expression_model.h"
#include "output/sentences.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is printed, in all forms. */
struct answer {
	const struct auto_model *model;
	struct arena arena;
	struct print_table taken;   /* what was taken for what */
	struct print_table errors;  /* where it was tested, and how far off it was */
	const char *name, *reason;  /* of the model */
	char *formula;              /* NULL: a step's model; the caller frees it */
	struct sentences sentences; /* what to believe */
};

static void take_kind(struct answer *answer, enum auto_kind kind, const char *role, const char *title)
{
	const struct auto_model *m = answer->model;
	const char **names = arena_alloc(&answer->arena, m->csv.column_count, sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; i < m->csv.column_count; i++)
		if (m->kinds[i] == kind)
			names[count++] = m->csv.names[i];
	if (count)
		step_options_taken_row(&answer->taken, role, title, names, count, "");
}

static void tabulate_taken(struct answer *answer)
{
	step_options_taken_init(&answer->taken, &answer->arena);
	if (answer->model->is_step)
		step_options_taken_step(&answer->taken, &answer->model->columns);
	else
		take_kind(answer, AUTO_STEP, "step", "of a step");
	take_kind(answer, AUTO_NUMBER, "setting", "settings");
	take_kind(answer, AUTO_WORD, "level", "levels");
	take_kind(answer, AUTO_CONSTANT, "constant", "constant");
	take_kind(answer, AUTO_RESULT, "result", "results, unused");
	take_kind(answer, AUTO_NEGATIVE, "negative", "below 0, unused");
	take_kind(answer, AUTO_LABEL, "label", "labels, unused");
}

/* Errors below which a verdict holds; the last holds for all. */
static const struct {
	double most;
	const char *words;
} verdicts[] = {{0.1, "believe them within their intervals"},
	{0.25, "good for comparing configurations, not for absolute times"}, {HUGE_VAL, "unreliable"}};

#define VERDICTS (sizeof(verdicts) / sizeof(*verdicts))

static const char *verdict(double error)
{
	size_t i = 0;

	while (i < VERDICTS - 1 && !(error < verdicts[i].most))
		i++;
	return verdicts[i].words;
}

/* `tried`: how many times the largest value that was fitted; NAN: inside, or nothing was tried. */
static void add_error(struct answer *answer, const char *where, double error, double tried)
{
	print_row(&answer->errors);
	print_word(&answer->errors, 0, where);
	print_number(&answer->errors, 1, 100 * error);
	print_word(&answer->errors, 2, verdict(error));
	print_number(&answer->errors, 3, tried);
}

/* The farthest that all levels with a model were tried with an error below `most`: the worst error, the least
 * reach. False: some level was not. */
static bool tried(
	const struct step_model *model, enum committee_region region, double most, struct committee_try *all)
{
	*all = (struct committee_try){HUGE_VAL, 0};
	for (size_t i = 0; i < model->level_count; i++) {
		const struct committee_try *one =
			model->levels[i].why ? NULL
					     : committee_tried(&model->levels[i].committee, region, most);

		if (model->levels[i].why)
			continue;
		if (!one)
			return false;
		all->reach = fmin(all->reach, one->reach);
		all->error = fmax(all->error, one->error);
	}
	return isfinite(all->reach);
}

static void say_inside(struct answer *answer, const struct committee *c)
{
	struct committee_try inside;
	double error = tried(&answer->model->step, COMMITTEE_INSIDE, HUGE_VAL, &inside) ? inside.error : NAN;

	add_error(answer, "inside", error, NAN);
	sentences_add(&answer->sentences,
		"Between the measured configurations (%s): %s, because runs left out at random were missed by %.1f%% on "
		"average%s.",
		committee_extent(c, &answer->arena), verdict(error), 100 * error,
		c->count < COMMITTEE_TELLING
			? arena_format(&answer->arena,
				  "; %zu configurations are too few to see whether intervals hold 95%%",
				  c->count)
			: "");
}

/* A question beyond the data in one column: the best verdict first, as far as it holds. */
static void say_beyond(struct answer *answer, enum committee_region region, const char *where,
	const char *what, const char *left)
{
	const struct step_model *step = &answer->model->step;
	const char *said = arena_format(&answer->arena, "%s: ", what);
	struct committee_try here, last = {0, 0};
	bool is_first = true;

	for (size_t i = 0; i < VERDICTS; i++) {
		if (!tried(step, region, verdicts[i].most, &here) || here.reach <= last.reach)
			continue;
		add_error(answer, where, here.error, exp2(here.reach));
		said = arena_format(&answer->arena,
			"%s%sup to %.2g times the largest, %s, because %s were missed by %s%.1f%% on average",
			said, is_first ? "" : "; ", exp2(here.reach), verdicts[i].words,
			is_first ? left : "these", is_first ? "at most " : "", 100 * here.error);
		last = here;
		is_first = false;
	}
	if (is_first) {
		add_error(answer, where, NAN, NAN);
		said = arena_format(&answer->arena,
			"%sextrapolation is unvalidated: the table has too few values to hold out the largest.",
			said);
	} else {
		said = arena_format(&answer->arena,
			"%s when they were left out. Beyond that, extrapolation is unvalidated.", said);
	}
	sentences_add(&answer->sentences, "%s", said);
}

static void say_limits(struct answer *answer, const struct committee *c)
{
	const struct step_model *step = &answer->model->step;
	size_t without = 0;

	for (size_t i = 0; i < step->level_count; i++)
		without += step->levels[i].why != NULL;
	sentences_add(&answer->sentences,
		"Not answered: another GPU, cluster or network than those measured%s%s%s.",
		!c->has_regime[2] ? "; several nodes: no row has them" : "",
		!c->has_regime[1] ? "; several GPUs of a node: no row has them" : "",
		without ? arena_format(&answer->arena, "; %zu level%s with too few rows", without,
				  pm_text_plural(without))
			: "");
}

static void say_step(struct answer *answer)
{
	const struct step_level *level = answer->model->step.levels;

	while (level->why)
		level++;
	answer->name = "step";
	answer->reason = "nothing else varies";
	say_inside(answer, &level->committee);
	say_beyond(answer, COMMITTEE_GPUS, "gpus", "More GPUs", "the largest numbers of GPUs");
	say_beyond(answer, COMMITTEE_BATCH, "batch", "Larger batches", "the largest batches");
	say_beyond(answer, COMMITTEE_NODES, "nodes", "More nodes", "the largest numbers of nodes");
	say_limits(answer, &level->committee);
}

static void say_formula(struct answer *answer)
{
	const struct auto_model *m = answer->model;
	const struct pm_fit_expression *x = m->formula->expression;
	size_t rows = m->formula->train.sample_count;

	answer->name = "formula";
	answer->reason = m->settings ? "settings vary that a step's model does not know"
				     : "the columns or rows of a step's model are missing";
	answer->formula = expression_text(&x->expression, &x->terms);
	if (!answer->formula)
		errx(1, "out of memory");
	add_error(answer, "inside", m->held_out, NAN);
	sentences_add(&answer->sentences,
		"Between the measured rows: %s, because rows left out at random were missed by %.1f%% (+- %.1f) on average.",
		verdict(m->held_out), 100 * m->held_out, 100 * m->held_out_error);
	for (size_t i = 0; i < m->beyond_count; i++)
		add_error(answer, m->beyond[i].name, m->beyond[i].error, m->beyond[i].tried);
	formula_say_beyond(&answer->sentences, m->beyond, m->beyond_count);
	sentences_add(&answer->sentences, "%s: %zu constants rest on %zu rows.",
		rows >= 20 * m->constants ? "The estimate of the error is sound"
					  : "The estimate of the error is too small by up to half",
		m->constants, rows);
	sentences_add(&answer->sentences, "Levels and settings that no row has are not answered.");
	sentences_add(&answer->sentences,
		"For more GPUs or nodes, measure batch, GPUs and nodes with the other settings fixed: then a model of the step is "
		"fitted, which is made for that.");
}

static void answer_init(struct answer *answer, const struct auto_model *model)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("where", NULL, PRINT_WORD),
		PRINT_COLUMN("mape", NULL, PRINT_FIGURE),
		PRINT_COLUMN("verdict", NULL, PRINT_WORD),
		PRINT_COLUMN("tried", NULL, PRINT_FIGURE),
	};

	*answer = (struct answer){.model = model};
	answer->sentences.arena = &answer->arena;
	tabulate_taken(answer);
	print_init(&answer->errors, &answer->arena);
	print_columns(&answer->errors, columns, sizeof(columns) / sizeof(*columns));
	if (model->is_step)
		say_step(answer);
	else
		say_formula(answer);
}

static void answer_free(struct answer *answer)
{
	print_free(&answer->taken);
	print_free(&answer->errors);
	free(answer->formula);
	arena_free(&answer->arena);
}

static void answer_text(struct answer *answer)
{
	const struct auto_model *m = answer->model;

	if (m->is_step)
		printf("%s: %zu rows\n", m->csv.path, m->table.count);
	else
		printf("%s: %zu rows; time %s%s\n", m->csv.path, m->csv.row_count,
			m->columns.names[STEP_TIME],
			m->columns.of_samples ? " (a rate of samples: the time is that of a sample)"
			: m->columns.is_rate  ? " (a rate: the time is one over it)"
					      : "");
	print_text(&answer->taken, NULL, stdout);
	sentences_text(&m->results, 2, 4, stdout);
	if (m->is_step)
		printf("\nModel: the training step ('pmfit step'), because %s. What to believe:\n",
			answer->reason);
	else
		printf("\nModel: a formula ('pmfit search'), because %s:\n  time = %s\nWhat to believe:\n",
			answer->reason, answer->formula);
	for (size_t i = 0; i < answer->sentences.count; i++)
		print_paragraph(arena_format(&answer->arena, "%zu. %s", i + 1, answer->sentences.items[i]), 3,
			stdout);
}

static void answer_json(const struct answer *answer)
{
	const struct auto_model *m = answer->model;
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "table", m->csv.path);
	cJSON_AddNumberToObject(root, "rows", (double)(m->is_step ? m->table.count : m->csv.row_count));
	cJSON_AddItemToObject(root, "columns", print_json(&answer->taken));
	cJSON_AddStringToObject(root, "model", answer->name);
	cJSON_AddStringToObject(root, "reason", answer->reason);
	if (answer->formula)
		cJSON_AddStringToObject(root, "formula", answer->formula);
	cJSON_AddItemToObject(root, "errors", print_json(&answer->errors));
	sentences_json(&answer->sentences, root, "sentences");
	sentences_json(&m->results, root, "results");
	print_json_end(root, stdout);
}

static int run_auto(int argument_count, char **arguments)
{
	struct step_columns columns = {0};
	struct auto_model model;
	struct answer answer;
	const char *output = NULL;
	bool skip_bad = false, json = false;
	int option, status = 0;

	while ((option = command_option(&cmd_auto, argument_count, arguments)) != -1)
		if (option == STEP_OPTION_SKIP_BAD)
			skip_bad = true;
		else if (option == 'o')
			output = optarg;
		else if (option == 'j')
			json = true;
		else if (!step_options_take(&cmd_auto, &columns, option, optarg))
			command_unhandled(&cmd_auto, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_auto, "expected one table");
	auto_fit(&model, arguments[optind], &columns, skip_bad);
	answer_init(&answer, &model);
	if (json)
		answer_json(&answer);
	else
		answer_text(&answer);
	answer_free(&answer);
	if (output && model.is_step)
		step_options_save(&model.step, output);
	else if (output)
		status = pm_fit_save(model.formula, output);
	if (status < 0)
		errx(1, "%s: %s", output, strerror(-status));
	auto_free(&model);
	return 0;
}

static const struct option_row rows[] = {
	{"output", 'o', "FILE", "write the model for 'pmfit predict' and 'pmfit guide'"},
	{"json", 'j', NULL,
		"JSON output: what each column was taken for, the model and why, the errors on rows that were "
		"left out (mape: percent of the time; tried: times the largest fitted), the sentences"},
	{0},
};

const struct command cmd_auto = {
	.name = "auto",
	.summary = "which model for a table, and what to believe of it",
	.usage = "[OPTION]... TABLE.csv",
	.about = "Identifies what the columns are (time, batch, GPUs, nodes, level; settings; results; "
		 "labels), says so, and fits what they allow: a model of the training "
		 "step ('pmfit step') where nothing but batch, GPUs, nodes and the level varies, else a "
		 "formula ('pmfit search'). Then says in five sentences which questions it answers, how "
		 "well, and why. 'pmfit predict' and 'pmfit guide' do the same where they are given a "
		 "table in place of a model.\n",
	.options = OPTION_TABLES(step_options_rows, rows),
	.after = "Examples:\n"
		 "  pmfit auto -o model.json runs.csv\n"
		 "  pmfit predict runs.csv planned.csv\n"
		 "  pmfit guide --gpus 1,8,64 runs.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_auto,
};
