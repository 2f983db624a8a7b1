/* pmfit auto: a table without a word about it: what its columns are, a model, and what to believe of it. */
#include "auto.h"
#include "base/table.h"
#include "base/text.h"
#include "model/expression_model.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_kind(const struct auto_model *m, enum auto_kind kind, const char *title)
{
	const char *gap = "";
	size_t count = 0;

	for (size_t i = 0; i < m->csv.column_count; i++)
		count += m->kinds[i] == kind;
	if (!count)
		return;
	printf("  %-17s ", title);
	for (size_t i = 0; i < m->csv.column_count; i++)
		if (m->kinds[i] == kind) {
			printf("%s%s", gap, m->csv.names[i]);
			gap = ", ";
		}
	putchar('\n');
}

/* "4.6% off on average: believe them". */
static const char *verdict(double error)
{
	return !isfinite(error) ? "do not rely on them"
	       : error < 0.1    ? "believe them within their intervals"
	       : error < 0.25   ? "good for choosing between configurations, not for promises"
				: "do not rely on them";
}

static double region_error(const struct step_model *model, enum committee_region region)
{
	double worst = NAN;

	for (size_t i = 0; i < model->level_count; i++) {
		const struct committee *c = &model->levels[i].committee;
		double least = NAN;

		for (size_t j = 0; j < c->candidate_count; j++)
			least = fmin(least, c->candidates[j].error[region]);
		worst = isnan(worst) ? least : isnan(least) ? worst : fmax(worst, least);
	}
	return worst;
}

static void print_sentence(const char *text)
{
	print_paragraph(text, 3, stdout);
}

/* A question beyond the data in one column. */
static void print_region(struct arena *arena, const struct auto_model *m, int number,
	enum committee_region region, const char *what, const char *left)
{
	double error = region_error(&m->step, region);

	if (isfinite(error))
		print_sentence(arena_format(arena,
			"%d. %s: %s, because %s were missed by %.1f%% on average when they were left out; intervals widen with "
			"the distance.",
			number, what, verdict(error), left, 100 * error));
	else
		print_sentence(arena_format(arena,
			"%d. %s: do not rely on them, because the table has too few values to leave the largest out and see.",
			number, what));
}

static void print_limits(struct arena *arena, const struct auto_model *m)
{
	const struct committee *c = NULL;
	size_t without = 0;

	for (size_t i = 0; i < m->step.level_count; i++)
		if (m->step.levels[i].why)
			without++;
		else if (!c)
			c = &m->step.levels[i].committee;
	print_sentence(arena_format(arena,
		"5. Not answered: another GPU, cluster or network than those measured%s%s%s.",
		c && !c->has_regime[2] ? "; several nodes, of which no row tells" : "",
		c && !c->has_regime[1] ? "; several GPUs of a node, of which no row tells" : "",
		without ? arena_format(
				  arena, "; %zu level%s with too few rows", without, pm_text_plural(without))
			: ""));
}

static void print_step(const struct auto_model *m)
{
	const struct committee *c = NULL;
	struct arena arena = {0};

	for (size_t i = 0; i < m->step.level_count && !c; i++)
		if (!m->step.levels[i].why)
			c = &m->step.levels[i].committee;
	puts("Model: the training step ('pmfit step'), because nothing else varies. What to believe:");
	print_sentence(arena_format(&arena,
		"1. Between the measured configurations (%g to %g GPUs, %g to %g nodes, %g to %g samples on each): %s, because "
		"those left out at random were missed by %.1f%% on average.",
		c->least.gpus, c->greatest.gpus, c->least.nodes, c->greatest.nodes, c->least.batch,
		c->greatest.batch, verdict(region_error(&m->step, COMMITTEE_INSIDE)),
		100 * region_error(&m->step, COMMITTEE_INSIDE)));
	print_region(&arena, m, 2, COMMITTEE_GPUS, "More GPUs", "the largest numbers of GPUs");
	print_region(&arena, m, 3, COMMITTEE_BATCH, "Larger batches", "the largest batches");
	print_region(&arena, m, 4, COMMITTEE_NODES, "More nodes", "the largest numbers of nodes");
	print_limits(&arena, m);
	arena_free(&arena);
}

static void print_formula(const struct auto_model *m)
{
	const struct pm_fit_expression *x = m->formula->expression;
	char *text = expression_text(&x->expression, &x->terms);
	struct arena arena = {0};
	size_t rows = m->formula->train.sample_count;

	puts(m->settings
			? "Model: a formula ('pmfit search'), because settings vary that a step's model does not know:"
			: "Model: a formula ('pmfit search'), because the columns or rows of a step's model are missing:");
	printf("  time = %s\n", text ? text : "?");
	puts("What to believe:");
	print_sentence(arena_format(&arena,
		"1. Between the measured rows: %s, because rows left out at random were missed by %.1f%% (+- %.1f) on average.",
		verdict(m->held_out), 100 * m->held_out, 100 * m->held_out_error));
	print_sentence(
		"2. Beyond the measured ranges: do not rely on them, because nothing was left out to see; growth is held within "
		"what steps do for columns named as batch, GPUs or nodes, and intervals widen.");
	print_sentence(arena_format(&arena, "3. %s: %zu constants rest on %zu rows.",
		rows >= 20 * m->constants ? "The estimate of the error is sound"
					  : "The estimate of the error is too small by up to half",
		m->constants, rows));
	print_sentence("4. Levels and settings that no row has are not answered.");
	print_sentence(
		"5. For more GPUs or nodes, measure batch, GPUs and nodes with the other settings fixed: then a model of the step is "
		"fitted, which is made for that.");
	free(text);
	arena_free(&arena);
}

void auto_print(const struct auto_model *m)
{
	printf("%s: ", m->csv.path);
	if (m->is_step)
		step_options_print(&m->columns, &m->table);
	else
		printf("%zu rows; time %s\n", m->csv.row_count, m->columns.names[STEP_TIME]);
	if (!m->is_step)
		print_kind(m, AUTO_STEP, "of a step");
	print_kind(m, AUTO_NUMBER, "settings");
	print_kind(m, AUTO_WORD, "levels");
	print_kind(m, AUTO_CONSTANT, "constant");
	print_kind(m, AUTO_RESULT, "results, unused");
	print_kind(m, AUTO_LABEL, "labels, unused");
	putchar('\n');
	if (m->is_step)
		print_step(m);
	else
		print_formula(m);
}

static int run(int argument_count, char **arguments)
{
	struct step_columns columns = {0};
	struct auto_model model;
	const char *output = NULL;
	bool skip_bad = false;
	int option, status = 0;

	while ((option = command_option(&cmd_auto, argument_count, arguments)) != -1)
		if (option == STEP_OPTION_SKIP_BAD)
			skip_bad = true;
		else if (option == 'o')
			output = optarg;
		else if (!step_options_take(&cmd_auto, &columns, option, optarg))
			command_unhandled(&cmd_auto, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_auto, "expected one table");
	auto_fit(&model, arguments[optind], &columns, skip_bad);
	auto_print(&model);
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
	{0},
};

const struct command cmd_auto = {
	.name = "auto",
	.summary = "which model for a table, and what to believe of it",
	.usage = "[OPTION]... TABLE.csv",
	.about = "Finds out what the columns are (time, batch, GPUs, nodes, level; settings; results; "
		 "labels), says what it took for what, and fits what they allow: a model of the training "
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
	.run = run,
};
