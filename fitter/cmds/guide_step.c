/* pmfit guide with a model of `pmfit step`: GPUs, nodes and batch, what to take and why. */
#include "advise/place.h"
#include "base/csv.h"
#include "base/table.h"
#include "base/text.h"
#include "guide.h"
#include "model/model_file.h"
#include "output/json_print.h"

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

/* "12.3 ms", or without a unit. */
static const char *time_text(struct guide_step *g, double time)
{
	double seconds = time * g->question.unit_s;

	if (!isfinite(time))
		return "-";
	if (!isfinite(seconds))
		return arena_format(&g->arena, "%.4g", time);
	return arena_format(&g->arena, "%.4g", seconds * 1e3);
}

static const char *ratio_text(struct guide_step *g, double ratio)
{
	return isfinite(ratio) ? arena_format(&g->arena, "%.0f%%", 100 * ratio) : "-";
}

static void print_cell(struct guide_step *g, const struct place_cell *cell)
{
	const struct committee_answer *a = &cell->answer;

	printf("%6g %5g %9g %8g  %9s %9s %9s", cell->point.gpus, cell->point.nodes, cell->point.batch,
		cell->point.batch * cell->point.gpus, time_text(g, a->time), time_text(g, a->low),
		time_text(g, a->high));
	printf(" %10.4g", cell->rate);
	printf(" %6s %6s", ratio_text(g, cell->efficiency),
		cell->is_dense ? ratio_text(g, cell->marginal) : "");
	if (g->question.price > 0)
		printf(" %8.3g", cell->cost);
	printf("%s\n", a->outside ? "  extrapolated" : "");
}

static void print_table(struct guide_step *g)
{
	const struct place_table *t = &g->table;
	const char *unit = isfinite(g->question.unit_s) ? "ms" : "time";

	printf("%6s %5s %9s %8s  %9s %9s %9s %10s %6s %6s%s\n", "GPUs", "nodes", "GPU batch", "global", unit,
		"low", "high", rate_unit(g), "effic.", "added", g->question.price > 0 ? "  cost/1M" : "");
	for (size_t i = 0; i < t->count; i++) {
		if (i && t->cells[i].point.gpus < t->cells[i - 1].point.gpus)
			putchar('\n');
		if (t->cells[i].answer.why)
			printf("%6g %5g %9g %8g  %9s  no answer: %s\n", t->cells[i].point.gpus,
				t->cells[i].point.nodes, t->cells[i].point.batch,
				t->cells[i].point.batch * t->cells[i].point.gpus, "-",
				t->cells[i].answer.why);
		else
			print_cell(g, &t->cells[i]);
	}
	putchar('\n');
}

static void print_sentence(void *context, const char *sentence)
{
	(void)context;
	print_paragraph(sentence, 2, stdout);
}

static const char *place_text(struct guide_step *g, size_t i)
{
	const struct place_cell *cell = &g->table.cells[i];

	return arena_format(&g->arena,
		"%g GPU%s on %g node%s with %g samples on each (%g in all): %.4g %s, %.4g to %.4g",
		cell->point.gpus, pm_text_plural((size_t)cell->point.gpus), cell->point.nodes,
		pm_text_plural((size_t)cell->point.nodes), cell->point.batch,
		cell->point.batch * cell->point.gpus, cell->rate, rate_unit(g), cell->rate_low,
		cell->rate_high);
}

static void print_choice(struct guide_step *g)
{
	const struct place_table *t = &g->table;

	place_findings(&g->question, t, print_sentence, NULL);
	if (t->fastest_inside != PLACE_NONE)
		print_sentence(NULL, arena_format(&g->arena, "Fastest within the data: %s.",
					     place_text(g, t->fastest_inside)));
	if (t->cheapest_inside != PLACE_NONE && t->cheapest_inside != t->fastest_inside)
		print_sentence(NULL, arena_format(&g->arena, "Least GPU time a sample within the data: %s.",
					     place_text(g, t->cheapest_inside)));
	if (t->fastest != PLACE_NONE && t->fastest != t->fastest_inside)
		print_sentence(NULL, arena_format(&g->arena,
					     "Fastest, extrapolated: %s: measure it before it is relied on.",
					     place_text(g, t->fastest)));
	if (t->fastest == PLACE_NONE)
		print_sentence(NULL, "No configuration is within the limits.");
	print_sentence(NULL, arena_format(&g->arena, "Intervals: %g%%, of single steps' medians.",
				     100 * g->question.confidence));
}

static void print_csv_cells(const struct guide_step *g)
{
	struct csv_line line = {.out = stdout};

	puts("gpus,nodes,gpu_batch,global_batch,time,low,high,samples_per_s,efficiency,marginal,cost,extrapolated,allowed");
	for (size_t i = 0; i < g->table.count; i++) {
		const struct place_cell *cell = &g->table.cells[i];

		csv_put_numbers(&line,
			(double[]){cell->point.gpus, cell->point.nodes, cell->point.batch,
				cell->point.batch * cell->point.gpus, cell->answer.time, cell->answer.low,
				cell->answer.high, isfinite(g->question.unit_s) ? cell->rate : NAN,
				cell->efficiency, cell->marginal, cell->cost, cell->answer.outside != 0,
				cell->is_allowed},
			13);
		csv_end(&line);
	}
}

static cJSON *cell_json(const struct guide_step *g, const struct place_cell *cell)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddNumberToObject(object, "gpus", cell->point.gpus);
	cJSON_AddNumberToObject(object, "nodes", cell->point.nodes);
	cJSON_AddNumberToObject(object, "gpu_batch", cell->point.batch);
	cJSON_AddNumberToObject(object, "global_batch", cell->point.batch * cell->point.gpus);
	cJSON_AddItemToObject(object, "time", model_file_number(cell->answer.time));
	cJSON_AddItemToObject(object, "low", model_file_number(cell->answer.low));
	cJSON_AddItemToObject(object, "high", model_file_number(cell->answer.high));
	cJSON_AddItemToObject(
		object, "samples_per_s", model_file_number(isfinite(g->question.unit_s) ? cell->rate : NAN));
	cJSON_AddItemToObject(object, "efficiency", model_file_number(cell->efficiency));
	cJSON_AddItemToObject(object, "marginal", model_file_number(cell->marginal));
	cJSON_AddItemToObject(object, "cost", model_file_number(cell->cost));
	cJSON_AddBoolToObject(object, "extrapolated", cell->answer.outside != 0);
	cJSON_AddBoolToObject(object, "allowed", cell->is_allowed);
	if (cell->answer.why)
		cJSON_AddStringToObject(object, "no_answer", cell->answer.why);
	return object;
}

static void add_sentence(void *context, const char *sentence)
{
	cJSON_AddItemToArray(context, cJSON_CreateString(sentence));
}

static void print_json_cells(const struct guide_step *g)
{
	const size_t chosen[] = {
		g->table.fastest, g->table.cheapest, g->table.fastest_inside, g->table.cheapest_inside};
	static const char *const names[] = {"fastest", "cheapest", "fastest_inside", "cheapest_inside"};
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "level", g->question.level->name);
	if (g->model->columns.unit)
		cJSON_AddStringToObject(root, "time_unit", g->model->columns.unit);
	cJSON_AddNumberToObject(root, "gpus_per_node", g->question.gpus_per_node);
	array = cJSON_AddArrayToObject(root, "table");
	for (size_t i = 0; i < g->table.count; i++)
		cJSON_AddItemToArray(array, cell_json(g, &g->table.cells[i]));
	for (size_t i = 0; i < 4; i++)
		cJSON_AddItemToObject(root, names[i],
			chosen[i] == PLACE_NONE ? cJSON_CreateNull()
						: cell_json(g, &g->table.cells[chosen[i]]));
	place_findings(&g->question, &g->table, add_sentence, cJSON_AddArrayToObject(root, "findings"));
	json_print(root);
}

int cmd_guide_step(const struct step_model *model, const struct cmd_guide_step *how, enum cmd_guide_form form)
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

	complete(&g, how);
	if (g.question.price > 0 && isnan(g.question.unit_s))
		warnx("costs unavailable: set the unit of time (--unit)");
	place_fill(&g.question, &g.table);
	if (!g.table.count)
		errx(1, "no configuration: no batch can be divided by these GPUs, or --at-most-nodes is too small");
	if (form == CMD_GUIDE_CSV) {
		print_csv_cells(&g);
	} else if (form == CMD_GUIDE_JSON) {
		print_json_cells(&g);
	} else {
		printf("%s%sup to %g GPUs on a node; times in %s\n\n", g.question.level->name,
			*g.question.level->name ? ": " : "", g.question.gpus_per_node,
			isfinite(g.question.unit_s) ? "ms" : "the table's unit");
		print_table(&g);
		print_choice(&g);
	}
	place_free(&g.table);
	arena_free(&g.arena);
	return 0;
}
