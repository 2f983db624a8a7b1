/* The HTML report's pictures of one model. */
#include "html_page.h"
#include "base/plot_svg.h"
#include "error_table.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 24 /* with a picture of their own */

static void put_heading(const struct html_model *model, const char *title, const char *below, FILE *out)
{
	fprintf(out, "<section>\n<h2>%s <span class=\"dim\">", title);
	html_text(model->subject.name, out);
	fprintf(out, "</span></h2>\n<p class=\"dim\">%s</p>\n", below);
}

/* Where samples and model go different ways. */
static void put_directions(const struct subject *subject, FILE *out)
{
	for (size_t c = 0; c < subject->model->column_count; c++) {
		char *text = figure_direction(subject, c);

		if (!text)
			continue;
		fputs("<p class=\"warn\">", out);
		html_text(text, out);
		fputs("</p>\n", out);
		free(text);
	}
}

void html_samples(const struct html_model *model, FILE *out)
{
	const struct subject *subject = &model->subject;
	const struct pm_fit_model *fit = subject->model;
	struct plot plot;
	size_t columns[2], shown = 0;

	if (!subject->set_count)
		return;
	put_heading(model, "Predicted against measured",
		"The line marks equality. Both axes are logarithmic: equal distances are equal ratios. A "
		"residual is the measured over the predicted time, minus one.",
		out);
	fputs("<div class=\"figures\">\n", out);
	figure_predicted(&plot, subject);
	html_figure(&plot, NULL, HTML_LARGE, out);
	figure_residuals(&plot, subject, FIGURE_OVER_PREDICTED);
	html_figure(&plot, NULL, HTML_LARGE, out);
	if (figure_heat_columns(subject, columns)) {
		figure_heat(&plot, subject, columns[0], columns[1]);
		html_figure(&plot,
			"Median residual by the two columns over which it varies most: red is slower than "
			"predicted, blue faster; full colour at 50%.",
			HTML_LARGE, out);
	}
	fputs("</div>\n</section>\n", out);
	put_heading(model, "Residuals over each column",
		"A trend is an effect that the formula misses: not a power law, or an interaction.", out);
	put_directions(subject, out);
	fputs("<div class=\"figures small\">\n", out);
	for (size_t c = 0; c < fit->column_count; c++)
		if (fit->columns[c].role != PM_FIT_IGNORED && shown++ < MOST_COLUMNS) {
			figure_residuals(&plot, subject, c);
			html_figure(&plot, NULL, HTML_SMALL, out);
		}
	fputs("</div>\n", out);
	if (shown > MOST_COLUMNS)
		fprintf(out, "<p class=\"dim\">The first %d of %zu columns are shown.</p>\n", MOST_COLUMNS,
			shown);
	fputs("</section>\n", out);
}

void html_values(const struct html_model *model, FILE *out)
{
	const struct pm_fit_model *fit = model->subject.model;
	bool interval = fit->value_count && isfinite(fit->values[0].low);
	struct plot plot;

	if (fit->value_count == 0)
		return;

	put_heading(model, "Parameters",
		"The seeds show search noise, not data uncertainty; a bootstrap interval shows how far the "
		"data determine a parameter.",
		out);
	if (!interval)
		fputs("<p class=\"dim\">Intervals unavailable: fit with pmfit fit --bootstrap 200.</p>\n",
			out);
	fputs("<div class=\"figures\">\n", out);
	for (int powers = 1; powers >= 0; powers--) {
		figure_values(&plot, &model->subject, 1, powers);
		if (plot.series_count)
			html_figure(&plot,
				plot.x.log ? "Values of 0, or far below the others, are drawn at 0." : NULL,
				HTML_LARGE, out);
		else
			plot_free(&plot);
	}
	figure_seeds(&plot, &model->subject);
	html_figure(&plot,
		"Final cost (mean absolute error and penalty) of each run. Model files do not contain the "
		"cost over generations.",
		HTML_LARGE, out);
	fputs("</div>\n</section>\n", out);
}

/* The caption in memory, since what it says is known when the plot is made. */
static bool put_scaling(const struct html_model *model, size_t column, FILE *out)
{
	char *caption = NULL;
	size_t size;
	FILE *memory = open_memstream(&caption, &size);
	struct plot plot;
	bool has;

	if (!memory)
		errx(1, "out of memory");
	has = figure_scaling(&plot, &model->subject, column, memory);
	if (fclose(memory) != 0)
		errx(1, "out of memory");
	if (has)
		html_figure(&plot, caption, HTML_LARGE, out);
	free(caption);
	return has;
}

void html_scaling(const struct html_model *model, FILE *out)
{
	const struct pm_fit_model *fit = model->subject.model;

	put_heading(model, "Scaling",
		"Time over one column, the others fixed. Shaded: outside the measured range, where the "
		"interval does not account for extrapolation.",
		out);
	fputs("<div class=\"figures\">\n", out);
	for (int pass = 0; pass < 2; pass++)
		for (size_t c = 0, shown = 0; c < fit->column_count && shown < MOST_COLUMNS; c++)
			if ((fit->columns[c].role == PM_FIT_EXTRINSIC) == (pass == 0))
				shown += put_scaling(model, c, out);
	fputs("</div>\n</section>\n", out);
}

void html_path(const struct html_model *model, FILE *out)
{
	static const char *const captions[] = {
		[FIGURE_PATH_COEFFICIENTS] =
			"Each coefficient relative to its largest value on the path: units differ.",
		[FIGURE_PATH_POWERS] = "Powers (of factors: the logarithm).",
		[FIGURE_PATH_R2] = "Held out: mean over the folds of a cross-validation.",
		[FIGURE_PATH_ERROR] = "Held out: mean over the folds, with its standard error."};
	static const enum figure_path order[] = {
		FIGURE_PATH_R2, FIGURE_PATH_ERROR, FIGURE_PATH_POWERS, FIGURE_PATH_COEFFICIENTS};
	const struct lambda_path *path = model->path;
	struct plot plot;

	if (!path)
		return;
	put_heading(model, "Effect of lambda",
		"The generic model fitted at each lambda, to all samples and by cross-validation.", out);
	fprintf(out,
		"<p>Lowest held-out error: lambda %g. Largest lambda within one standard error of it: "
		"%g.</p>\n"
		"<div class=\"figures\">\n",
		path->points[path->best].lambda, path->points[path->simple].lambda);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		figure_path(&plot, path, order[i]);
		html_figure(&plot, captions[order[i]], HTML_LARGE, out);
	}
	fputs("</div>\n</section>\n", out);
}

/* The table that 'pmfit baselines' prints, and what each method is. */
void html_baselines(const struct html_model *model, FILE *out)
{
	const struct baselines *baselines = model->baselines;
	struct arena arena = {0};
	struct print_table table;
	size_t description;

	if (!baselines)
		return;
	put_heading(model, "Comparison with other methods",
		"Each method is trained on the fitted samples. Mean and standard deviation over "
		"seeds, where applicable.",
		out);
	error_table_init(&table, &arena);
	description = print_column(&table, NULL, "description", PRINT_WORD);
	for (int test = model->test.sample_count > 0; test >= 0; test--)
		for (size_t i = 0; i < baselines->count; i++) {
			const struct baseline *result = &baselines->results[i];

			if (result->skipped && test)
				continue;
			error_table_row(&table, result, test, model->subject.model->parameter.confidence);
			print_word(&table, description, result->what);
		}
	html_table(&table, out);
	arena_free(&arena);
	fputs("</section>\n", out);
}
