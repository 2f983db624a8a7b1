/* pmfit step: the time of a training step over batch, GPUs and nodes. */
#include "base/table.h"
#include "base/text.h"
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

/* The coefficients in ms, if the table's unit is known, else in that of its times. */
static void print_terms(const struct step_model *model, const struct committee *c, struct arena *arena)
{
	const struct form *form = &c->candidates[c->best].forms[c->best_form];
	const double seconds = step_unit_seconds(model->columns.unit),
		     scale = isnan(seconds) ? 1 : seconds * 1e3;
	const struct print_column columns[] = {
		PRINT_COLUMN("", "", PRINT_WORD),
		PRINT_COLUMN("", isnan(seconds) ? "time" : "ms", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "low refit", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "high refit", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "for each", PRINT_WORD),
	};
	struct print_table table;

	print_init(&table, arena);
	print_columns(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t j = 0; j < FORM_TERMS; j++) {
		if (is_idle(c, form, j))
			continue;
		print_row(&table);
		print_word(&table, 0, form_term_name(j));
		print_numbers(&table, 1,
			(double[]){scale * form->terms[j], scale * c->low.terms[j], scale * c->high.terms[j]},
			3);
		print_word(&table, 4, meaning(form, j));
	}
	print_text(&table, NULL, stdout);
	print_free(&table);
	printf("  g %g  compute and exchange %s\n", form->overlap,
		form->overlap <= 1 ? "follow each other" : "overlap: the longer one hides most of the other");
}

/* What a ring of k GPUs would have to move a second to take so long. */
static void print_bandwidth(const struct step_model *model, const struct committee *c, double bytes)
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
			printf("  %g GPUs on %g node%s: %.3g GB/s on each link, if %.4g MB go through a ring in "
			       "%.4g ms\n",
				most.gpus, most.nodes, pm_text_plural((size_t)most.nodes),
				2 * (most.gpus - 1) / most.gpus * bytes / seconds / 1e9, bytes / 1e6,
				seconds * 1e3);
	}
}

/* The error that the committee's best candidate had in a region: what may be hoped for there. */
static double least_error(const struct committee *c, size_t region)
{
	double least = NAN;

	for (size_t i = 0; i < c->candidate_count; i++)
		least = fmin(least, c->candidates[i].error[region]);
	return least;
}

static void print_errors(const struct committee *c, struct arena *arena)
{
	static const char *const names[COMMITTEE_REGIONS] = {
		"inside the data", "larger batch", "more GPUs", "more nodes"};
	static const struct print_column columns[] = {
		PRINT_COLUMN("", "configurations left out", PRINT_WORD),
		PRINT_COLUMN("", "error of the best", PRINT_SHARE),
		PRINT_COLUMN("", "intervals widened by", PRINT_REAL, .digits = 2),
		PRINT_COLUMN("", "", PRINT_WORD),
	};
	struct print_table table;

	print_init(&table, arena);
	print_columns(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t r = 0; r < COMMITTEE_REGIONS; r++) {
		const double error = least_error(c, r);

		print_row(&table);
		print_word(&table, 0, names[r]);
		print_numbers(&table, 1, (double[]){error, c->widen[r]}, 2);
		print_word(&table, 3, isfinite(error) ? "" : "could not be tried: too few values");
	}
	putchar('\n');
	print_text(&table, NULL, stdout);
	print_free(&table);
}

static void print_level(
	const struct step_model *model, const struct step_level *level, const struct choices *choices)
{
	const struct committee *c = &level->committee;
	struct arena arena = {0};

	if (*level->name)
		printf("%s: ", level->name);
	if (level->why) {
		printf("no model: %s\n\n", level->why);
		return;
	}
	printf("%zu rows of %zu configurations: %g to %g GPUs on %g to %g nodes, %g to %g samples on each\n",
		level->row_count, c->count, c->least.gpus, c->greatest.gpus, c->least.nodes,
		c->greatest.nodes, c->least.batch, c->greatest.batch);
	print_terms(model, c, &arena);
	if (choices->gradient_bytes > 0)
		print_bandwidth(model, c, choices->gradient_bytes);
	print_errors(c, &arena);
	if (c->batches < 3)
		printf("  warning: %zu batch size%s: predictions for others rest on little\n", c->batches,
			pm_text_plural(c->batches));
	if (c->spread > MOST_SPREAD)
		printf("  warning: rows with the same batch, GPUs and nodes differ by %.1f times: another setting varies,\n"
		       "  and this model answers for none of its values; 'pmfit auto' takes a model that knows it\n",
			c->spread);
	putchar('\n');
	arena_free(&arena);
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

static void print_header(
	const struct step_model *model, const struct step_table *table, const char *path, struct arena *arena)
{
	struct print_table taken;

	printf("%s: %zu rows\n", path, table->count);
	step_options_taken_init(&taken, arena);
	step_options_taken_step(&taken, &model->columns);
	print_text(&taken, NULL, stdout);
	print_free(&taken);
	putchar('\n');
}

static int run(int argument_count, char **arguments)
{
	struct choices choices = {0};
	struct step_model model;
	struct step_table table;
	struct arena arena = {0};
	struct csv csv;
	const char *bad;

	take_options(argument_count, arguments, &choices);
	step_options_read(&choices.columns, &csv, &table, arguments[optind], true, choices.skip_bad, &arena);
	bad = step_model_fit(&model, &choices.columns, &table);
	if (bad)
		errx(1, "%s: no model: %s", csv.path, bad);
	if (choices.json) {
		print_json_end(step_model_json(&model), stdout);
	} else {
		print_header(&model, &table, csv.path, &arena);
		for (size_t i = 0; i < model.level_count; i++)
			print_level(&model, &model.levels[i], &choices);
	}
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
	{"json", 'j', NULL, "JSON output: the model"},
	{0},
};

const struct command cmd_step = {
	.name = "step",
	.summary = "time of a training step over batch, GPUs and nodes, also beyond the data",
	.usage = "[OPTION]... TABLE.csv",
	.about = "For configurations that nobody measured: more GPUs, more nodes, larger batches. With m "
		 "samples on each of k GPUs on n nodes:\n"
		 "\n"
		 "  T = (Tc^g + Ts^g)^(1/g)        g = 1: one after the other, more: overlapped\n"
		 "  Tc = a + b m + c m log2 k      compute\n"
		 "  Ts = d0 + d1 log2 k            exchange of gradients on one node; on several\n"
		 "     = e0 + e1 X + e2 Y          X, Y: log2 k, log2 n, 1/n, k/n; or linear in k\n"
		 "\n"
		 "Coefficients are at least 0, in the time's unit. Several such forms and a constant, "
		 "each with a Gaussian process for what it leaves over, are asked for configurations that "
		 "were kept from them, inside the data and beyond: their weights, and the widths of "
		 "intervals, are those of the region in which a question lies. Printed are the "
		 "coefficients of one form (that nearest to the table) with their range over five refits "
		 "without a fifth of the configurations; predictions are those of all.\n"
		 "\n"
		 "Where the table has the exposed communication ('pmanalyze export --observations' writes "
		 "it), compute is also fitted to the rest of the step.\n",
	.options = OPTION_TABLES(step_options_rows, rows),
	.after = "Examples:\n"
		 "  pmfit step -o model.json runs.csv && pmfit predict model.json planned.csv\n"
		 "  pmfit step --time iteration_ms --batch-column batch --batch-is global runs.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run,
};
