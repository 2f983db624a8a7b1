/* pmfit guide with a model of `pmfit step`: GPUs, nodes and batch, what to take and why. */
#include "advise/place.h"
#include "base/text.h"
#include "guide.h"
#include "output/sentences.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct guide_step {
	const struct step_model *model;
	struct place_question question;
	struct place_table table;
	struct arena arena;
};

static const char *rate_unit(const struct guide_step *g)
{
	return isfinite(g->question.unit_s) ? "samples/s" : "samples/unit";
}

/* The level that is asked for: the only one, or --level. */
static const struct step_level *choose_level(const struct step_model *model, const char *name)
{
	const struct step_level *level = name ? step_model_level(model, name) : &model->levels[0];

	if (!level)
		errx(1, "--level %s: the model has no such level", name);
	if (!name && model->level_count > 1)
		warnx("level %s of %zu: choose another with --level", level->name, model->level_count);
	if (level->why)
		errx(1, "level '%s' has no model: %s", level->name, level->why);
	return level;
}

/* The most GPUs that a measured row has on a node. */
static double measured_per_node(const struct committee *c)
{
	double most = 1;

	for (size_t k = 0; k < c->count; k++)
		most = fmax(most, ceil(c->points[k].gpus / c->points[k].nodes));
	return most;
}

/* Powers of two within a range, and its end. */
static void fill_powers(
	struct guide_step *g, double least, double greatest, const double **numbers, size_t *count)
{
	double *list = arena_alloc(&g->arena, 64, sizeof(*list));

	for (double x = 1; x <= greatest && *count < 62; x *= 2)
		if (x >= least)
			list[(*count)++] = x;
	if (!*count)
		list[(*count)++] = greatest;
	*numbers = list;
}

static void complete(struct guide_step *g, const struct cmd_guide_step *how)
{
	struct place_question *q = &g->question;
	const struct committee *c = &q->level->committee;

	q->gpus_per_node = how->gpus_per_node > 0 ? how->gpus_per_node : measured_per_node(c);
	if (!q->gpu_count)
		fill_powers(g, 1, c->greatest.gpus, &q->gpus, &q->gpu_count);
	if (!q->batch_count && !q->is_global)
		fill_powers(g, c->least.batch, c->greatest.batch, &q->batches, &q->batch_count);
	if (!q->batch_count)
		fill_powers(g, c->least.batch * q->gpus[q->gpu_count - 1],
			c->greatest.batch * q->gpus[q->gpu_count - 1], &q->batches, &q->batch_count);
}

/* What is known of a configuration, for all forms. Text has times in ms, where the unit is known. */
enum { TIME = 4, MS = 7, RATE = 10, RATE_TEXT, EFFICIENCY, COST = 14, OUTSIDE, WHY = 17, NOTE };

static const struct print_column columns[] = {
	PRINT_COLUMN("gpus", "GPUs", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("nodes", "nodes", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("gpu_batch", "GPU batch", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("global_batch", "global", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("time", NULL, PRINT_FIGURE),
	PRINT_COLUMN("low", NULL, PRINT_FIGURE),
	PRINT_COLUMN("high", NULL, PRINT_FIGURE),
	PRINT_COLUMN(NULL, "ms", PRINT_FIGURE, .digits = 4, .csv_key = ""),
	PRINT_COLUMN(NULL, "low", PRINT_FIGURE, .digits = 4, .csv_key = ""),
	PRINT_COLUMN(NULL, "high", PRINT_FIGURE, .digits = 4, .csv_key = ""),
	PRINT_COLUMN("samples_per_s", NULL, PRINT_FIGURE),
	PRINT_COLUMN(NULL, "samples/s", PRINT_FIGURE, .digits = 4, .csv_key = ""),
	PRINT_COLUMN("efficiency", "effic.", PRINT_SHARE),
	PRINT_COLUMN("marginal", "added", PRINT_SHARE),
	PRINT_COLUMN("cost", "cost/1M", PRINT_FIGURE, .digits = 3),
	PRINT_COLUMN("extrapolated", NULL, PRINT_FLAG),
	PRINT_COLUMN("allowed", NULL, PRINT_FLAG),
	PRINT_COLUMN("no_answer", NULL, PRINT_WORD, .csv_key = ""),
	PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
};

static void fill_rows(struct guide_step *g, struct print_table *rows)
{
	const struct place_table *t = &g->table;
	bool is_unit = isfinite(g->question.unit_s);
	double ms = is_unit ? g->question.unit_s * 1e3 : 1;

	print_columns(rows, columns, sizeof(columns) / sizeof(*columns));
	if (!is_unit) {
		rows->columns[MS].title = "time";
		rows->columns[RATE_TEXT].title = rate_unit(g);
	}
	if (!(g->question.price > 0))
		rows->columns[COST].title = NULL;
	for (size_t i = 0; i < t->count; i++) {
		const struct place_cell *cell = &t->cells[i];
		const struct form_point *point = &cell->point;
		const struct committee_answer *a = &cell->answer;

		rows->rule = i && point->gpus < t->cells[i - 1].point.gpus;
		print_row(rows);
		print_numbers(rows, 0,
			(double[]){point->gpus, point->nodes, point->batch, point->batch * point->gpus}, 4);
		print_numbers(rows, TIME,
			(double[]){a->time, a->low, a->high, ms * a->time, ms * a->low, ms * a->high,
				is_unit ? cell->rate : NAN, cell->rate, cell->efficiency, cell->marginal,
				cell->cost, a->outside != 0, cell->is_allowed},
			13);
		if (a->why)
			print_word(rows, WHY, a->why);
		print_word(rows, NOTE,
			a->why       ? arena_format(&g->arena, "no answer: %s", a->why)
			: a->outside ? "extrapolated"
				     : "");
	}
}

static void add_finding(void *findings, const char *sentence)
{
	sentences_add(findings, "%s", sentence);
}

static const char *place_text(struct guide_step *g, size_t i)
{
	const struct place_cell *cell = &g->table.cells[i];

	return arena_format(&g->arena,
		"%g GPU%s on %g node%s with %g samples on each (%g in all): %s %s, %s to %s",
		cell->point.gpus, pm_text_plural((size_t)cell->point.gpus), cell->point.nodes,
		pm_text_plural((size_t)cell->point.nodes), cell->point.batch,
		cell->point.batch * cell->point.gpus, print_figure(&g->arena, cell->rate, 4), rate_unit(g),
		print_figure(&g->arena, cell->rate_low, 4), print_figure(&g->arena, cell->rate_high, 4));
}

static void say_choice(struct guide_step *g, struct sentences *said)
{
	const struct place_table *t = &g->table;

	if (t->fastest_inside != PLACE_NONE)
		sentences_add(said, "Fastest within the data: %s.", place_text(g, t->fastest_inside));
	if (t->cheapest_inside != PLACE_NONE && t->cheapest_inside != t->fastest_inside)
		sentences_add(said, "Least GPU time a sample within the data: %s.",
			place_text(g, t->cheapest_inside));
	if (t->fastest != PLACE_NONE && t->fastest != t->fastest_inside)
		sentences_add(said, "Fastest, extrapolated: %s: measure it before it is relied on.",
			place_text(g, t->fastest));
	if (t->fastest == PLACE_NONE)
		sentences_add(said, "No configuration is within the limits.");
	sentences_add(said, "Intervals: %g%%, of single steps' medians.", 100 * g->question.confidence);
}

static void print_as_text(const struct guide_step *g, const struct print_table *rows,
	const struct sentences *findings, const struct sentences *choice)
{
	printf("%s%sup to %g GPUs on a node; times in %s\n\n", g->question.level->name,
		*g->question.level->name ? ": " : "", g->question.gpus_per_node,
		isfinite(g->question.unit_s) ? "ms" : "the table's unit");
	print_text(rows, NULL, stdout);
	putchar('\n');
	sentences_text(findings, 0, 2, stdout);
	sentences_text(choice, 0, 2, stdout);
}

static void print_as_json(const struct guide_step *g, const struct print_table *rows,
	const struct sentences *findings, const struct sentences *choice)
{
	const size_t chosen[] = {
		g->table.fastest, g->table.cheapest, g->table.fastest_inside, g->table.cheapest_inside};
	static const char *const names[] = {"fastest", "cheapest", "fastest_inside", "cheapest_inside"};
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "level", g->question.level->name);
	if (g->model->columns.unit)
		cJSON_AddStringToObject(root, "time_unit", g->model->columns.unit);
	cJSON_AddNumberToObject(root, "gpus_per_node", g->question.gpus_per_node);
	cJSON_AddItemToObject(root, "table", print_json(rows));
	for (size_t i = 0; i < 4; i++)
		cJSON_AddItemToObject(root, names[i],
			chosen[i] == PLACE_NONE ? cJSON_CreateNull() : print_json_row(rows, chosen[i]));
	sentences_json(findings, root, "findings");
	sentences_json(findings, root, "sentences");
	sentences_json(choice, root, "sentences");
	print_json_end(root, stdout);
}

int cmd_guide_step(const struct step_model *model, const struct cmd_guide_step *how, enum print_form form)
{
	struct guide_step g = {.model = model,
		.question = {.level = choose_level(model, how->level),
			.unit_s = step_unit_seconds(how->unit ? how->unit : model->columns.unit),
			.confidence = 0.95,
			.gpus = how->gpus,
			.gpu_count = how->gpu_count,
			.batches = how->batches,
			.batch_count = how->batch_count,
			.is_global = how->is_global,
			.most_nodes = how->most_nodes,
			.most_gpus = how->most_gpus,
			.most_gpu_batch = how->most_gpu_batch,
			.price = how->price,
			.worth = how->worth}};
	struct sentences findings = {0}, choice = {0};
	struct print_table rows;

	complete(&g, how);
	if (g.question.price > 0 && isnan(g.question.unit_s))
		warnx("costs unavailable: set the unit of time (--unit)");
	place_fill(&g.question, &g.table);
	if (!g.table.count)
		errx(1, "no configuration: no batch can be divided by these GPUs, or --at-most-nodes is too small");
	print_init(&rows, &g.arena);
	fill_rows(&g, &rows);
	findings.arena = choice.arena = &g.arena;
	place_findings(&g.question, &g.table, add_finding, &findings);
	say_choice(&g, &choice);
	if (form == PRINT_CSV)
		print_csv(&rows, stdout);
	else if (form == PRINT_JSON)
		print_as_json(&g, &rows, &findings, &choice);
	else
		print_as_text(&g, &rows, &findings, &choice);
	print_free(&rows);
	place_free(&g.table);
	arena_free(&g.arena);
	return 0;
}
