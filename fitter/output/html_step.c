/* The page of a model of steps: see html_step.h. */
#include "html_step.h"
#include "html_page.h"
#include "step/left_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

/* A level as the pictures of other models know it: columns, and times with what the rest says of them. */
struct page_level {
	const struct html_step *step;
	const struct step_level *level;
	struct left_out left_out[LEFT_OUT_WAYS];
	struct arena arena;
	struct pm_fit_model model; /* its columns and unit alone */
	struct pm_fit_model_column columns[3];
	struct pm_fit_problem problems[2];
	struct pm_fit_column values[2][3];
	struct subject subject;
};

static const char *unit_text(const struct page_level *page)
{
	const char *unit = page->step->model->columns.unit;

	return unit ? unit : "the table's unit";
}

static void fill_values(struct page_level *page, size_t set, const struct form_point *points, size_t count)
{
	static char *const names[3] = {"samples on each GPU", "GPUs", "nodes"};

	for (size_t j = 0; j < 3; j++) {
		double *numbers = arena_alloc(&page->arena, count + 1, sizeof(*numbers));

		for (size_t k = 0; k < count; k++)
			numbers[k] = j == 0 ? points[k].batch : j == 1 ? points[k].gpus : points[k].nodes;
		page->values[set][j] = (struct pm_fit_column){names[j], PM_FIT_EXTRINSIC, numbers, 0, NULL};
		page->columns[j].name = names[j];
	}
	page->problems[set] = (struct pm_fit_problem){count, 3, page->values[set], NULL, NULL};
}

static void add_left_out(struct page_level *page)
{
	const struct committee *c = &page->level->committee;

	fill_values(page, 0, c->points, c->count);
	page->subject.sets[page->subject.set_count++] = (struct figure_set){.name = "left out",
		.problem = &page->problems[0],
		.measured = c->times,
		.predicted = page->left_out[LEFT_OUT_CONFIGURATION].times};
}

/* The rows of the table that are of the level. */
static void add_table(struct page_level *page)
{
	const struct step_table *table = page->step->table;
	struct form_point *points = arena_alloc(&page->arena, table->count + 1, sizeof(*points));
	double *measured = arena_alloc(&page->arena, table->count + 1, sizeof(*measured));
	double *predicted = arena_alloc(&page->arena, table->count + 1, sizeof(*predicted));
	size_t *lines = arena_alloc(&page->arena, table->count + 1, sizeof(*lines)), count = 0;

	for (size_t k = 0; k < table->count; k++) {
		const struct step_row *row = &table->rows[k];
		struct committee_answer answer;

		if (strcmp(row->level, page->level->name) != 0 || !isfinite(row->row.time))
			continue;
		committee_predict(&page->level->committee, &row->row.point, CONFIDENCE, &answer);
		points[count] = row->row.point;
		measured[count] = row->row.time;
		predicted[count] = answer.time;
		lines[count++] = row->line;
	}
	if (!count)
		return;
	fill_values(page, 1, points, count);
	page->subject.sets[page->subject.set_count++] = (struct figure_set){.name = "table, by the model",
		.problem = &page->problems[1],
		.measured = measured,
		.predicted = predicted,
		.lines = lines};
}

static void page_init(struct page_level *page, const struct html_step *step, const struct step_level *level)
{
	const struct committee *c = &level->committee;
	const double least[] = {c->least.batch, c->least.gpus, c->least.nodes};
	const double greatest[] = {c->greatest.batch, c->greatest.gpus, c->greatest.nodes};

	*page = (struct page_level){.step = step, .level = level};
	for (int by = 0; by < LEFT_OUT_WAYS; by++)
		left_out_run(&page->left_out[by], c, (enum left_out_by)by, CONFIDENCE);
	for (size_t j = 0; j < 3; j++)
		page->columns[j] = (struct pm_fit_model_column){
			.role = PM_FIT_EXTRINSIC, .scale = 1, .least = least[j], .greatest = greatest[j]};
	page->model = (struct pm_fit_model){
		.column_count = 3, .columns = page->columns, .time_unit = step->model->columns.unit};
	page->subject = (struct subject){.name = step->name, .model = &page->model};
	add_left_out(page);
	if (step->table)
		add_table(page);
}

static void page_free(struct page_level *page)
{
	for (int by = 0; by < LEFT_OUT_WAYS; by++)
		left_out_free(&page->left_out[by]);
	arena_free(&page->arena);
}

static void put_lead(struct page_level *page, FILE *out)
{
	const struct committee *c = &page->level->committee;
	const struct left_out *left_out = &page->left_out[LEFT_OUT_CONFIGURATION];
	size_t answered = 0, held = 0;
	double error = 0;

	for (size_t g = 0; g < left_out->group_count; g++) {
		answered += left_out->groups[g].answered;
		held += left_out->groups[g].held;
		if (left_out->groups[g].answered)
			error += left_out->groups[g].error * (double)left_out->groups[g].answered;
	}
	if (answered)
		fprintf(out,
			"<div class=\"lead\">Configurations that were left out are missed by %.1f%% on average; %zu of %zu "
			"times (%.0f%%) lie in their 95%% intervals.</div>\n",
			100 * error / (double)answered, held, answered,
			100 * (double)held / (double)answered);
	else
		fputs("<div class=\"lead\">Too few configurations to leave any out: how far predictions are off is not "
		      "known.</div>\n",
			out);
	fprintf(out, "<p class=\"dim\">%zu rows of %zu configurations: %s; times in ", page->level->row_count,
		c->count, committee_extent(c, &page->arena));
	html_text(unit_text(page), out);
	fputs(".</p>\n", out);
}

/* Which configurations a row of the table is about. */
static const char *group_text(struct arena *arena, const struct left_out_group *group, bool of_configurations)
{
	if (of_configurations)
		return "a tenth at a time";
	return group->first == group->last ? arena_format(arena, "%g", group->first)
					   : arena_format(arena, "%g to %g", group->first, group->last);
}

static void put_group(
	struct print_table *table, const char *what, const char *which, const struct left_out_group *g)
{
	print_row(table);
	print_word(table, 0, what);
	print_word(table, 1, which);
	print_number(table, 2, (double)g->count);
	print_number(table, 3, (double)g->answered);
	if (!g->answered)
		return;
	print_numbers(table, 4, (double[]){g->error, g->worst, (double)g->held / (double)g->answered}, 3);
}

/* All groups as one. */
static struct left_out_group whole(const struct left_out *left_out)
{
	struct left_out_group all = {0};

	for (size_t g = 0; g < left_out->group_count; g++) {
		const struct left_out_group *one = &left_out->groups[g];

		all.count += one->count;
		all.answered += one->answered;
		all.held += one->held;
		if (one->answered) {
			all.error += one->error * (double)one->answered;
			all.worst = fmax(all.worst, one->worst);
		}
	}
	all.error /= (double)all.answered;
	return all;
}

static void put_left_out(struct page_level *page, FILE *out)
{
	static const char *const words[] = {"configurations", "samples on each GPU", "GPUs", "nodes"};
	static const struct print_column columns[] = {
		PRINT_COLUMN("by", "left out", PRINT_WORD),
		PRINT_COLUMN("which", "which", PRINT_WORD),
		PRINT_COLUMN("configurations", "configurations", PRINT_COUNT),
		PRINT_COLUMN("answered", "answered", PRINT_COUNT),
		PRINT_COLUMN("error", "mean error", PRINT_SHARE, .bar = "missed"),
		PRINT_COLUMN("worst", "worst", PRINT_SHARE),
		PRINT_COLUMN("held", "in their intervals", PRINT_SHARE),
	};
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t by = 0; by < LEFT_OUT_WAYS; by++) {
		const struct left_out *left_out = &page->left_out[by];
		struct left_out_group all = whole(left_out);

		table.rule = by > 0;
		if (by == LEFT_OUT_CONFIGURATION)
			put_group(&table, words[by], group_text(&page->arena, &all, true), &all);
		for (size_t g = 0; by != LEFT_OUT_CONFIGURATION && g < left_out->group_count; g++)
			put_group(&table, g ? "" : words[by],
				group_text(&page->arena, &left_out->groups[g], false), &left_out->groups[g]);
	}
	fputs("<section>\n<h2>Left out, by column</h2>\n<p class=\"dim\">All configurations with that value are taken away, the model "
	      "is fitted to the rest and asked for them. The least and the greatest value are extrapolations. Not answered: the "
	      "rest tells nothing of them, or is too little for a model.</p>\n",
		out);
	html_table(&table, out);
	fputs("</section>\n", out);
}

static void put_terms(struct page_level *page, FILE *out)
{
	const struct committee *c = &page->level->committee;
	const struct form *form = &c->candidates[c->best].forms[c->best_form];
	struct print_table table;

	print_init(&table, &page->arena);
	print_column(&table, "name", "term", PRINT_WORD);
	print_column(&table, "for_each", "of each", PRINT_WORD);
	print_column(&table, "value", unit_text(page), PRINT_FIGURE);
	print_column(&table, "low", "low refit", PRINT_FIGURE);
	print_column(&table, "high", "high refit", PRINT_FIGURE);
	for (size_t t = 0; t < FORM_TERMS; t++) {
		const char *factor = form_term_factor(form->exchange, t);

		if (strcmp(factor, "-") == 0 || (t > 4 && !c->has_regime[2]) ||
			(t > 2 && t < 5 && !c->has_regime[1]))
			continue;
		print_row(&table);
		print_word(&table, 0, form_term_name(t));
		print_word(&table, 1,
			*factor ? factor
			: t < 3 ? "step"
			: t < 5 ? "step on one node"
				: "step on several nodes");
		print_numbers(&table, 2, (double[]){form->terms[t], c->low.terms[t], c->high.terms[t]}, 3);
	}
	fprintf(out,
		"<section>\n<h2>Compute and exchange</h2>\n<p class=\"dim\">m samples on each of k GPUs on n nodes; terms a, b, c are "
		"compute, d and e the exchange in and among nodes, which %s. Of the form nearest to the data; predictions are of %zu "
		"candidates.</p>\n",
		form->overlap <= 1 ? "follow each other" : "overlap", c->candidate_count);
	html_table(&table, out);
	fputs("</section>\n", out);
}

static void put_pictures(struct page_level *page, FILE *out)
{
	struct plot plot;

	fputs("<section>\n<h2>Predicted over measured</h2>\n<p class=\"dim\">Of configurations that the model did not see: a tenth is left "
	      "out at a time. The line marks equality; a residual is the measured over the predicted time, minus one.</p>\n"
	      "<div class=\"figures\">\n",
		out);
	figure_predicted(&plot, &page->subject);
	html_figure(&plot, NULL, HTML_LARGE, out);
	figure_residuals(&plot, &page->subject, FIGURE_OVER_PREDICTED);
	html_figure(&plot, NULL, HTML_LARGE, out);
	fputs("</div>\n<div class=\"figures small\">\n", out);
	for (size_t j = 0; j < 3; j++) {
		if (page->columns[j].least == page->columns[j].greatest)
			continue;
		figure_residuals(&plot, &page->subject, j);
		html_figure(&plot, NULL, HTML_SMALL, out);
	}
	fputs("</div>\n</section>\n", out);
}

static void put_level(const struct html_step *step, const struct step_level *level, FILE *out)
{
	struct page_level page;

	fputs("<h1>", out);
	html_text(step->name, out);
	if (*level->name)
		fputs(": ", out);
	html_text(level->name, out);
	fputs("</h1>\n", out);
	if (level->why) {
		fputs("<p class=\"warn\">No model: ", out);
		html_text(level->why, out);
		fputs("</p>\n", out);
		return;
	}
	page_init(&page, step, level);
	put_lead(&page, out);
	put_left_out(&page, out);
	put_pictures(&page, out);
	put_terms(&page, out);
	page_free(&page);
}

void html_step_write(const struct html_step *steps, size_t count, FILE *out)
{
	html_page_begin(steps[0].name, ".missed{fill:var(--k0)}\n", out);
	for (size_t s = 0; s < count; s++)
		for (size_t i = 0; i < steps[s].model->level_count; i++)
			put_level(&steps[s], &steps[s].model->levels[i], out);
	html_end(out);
}
