/* The HTML report: the order of its parts, and several models side by side. See html_page.h. */
#include "html_page.h"
#include "report.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct pm_fit_value *value_of(const struct pm_fit_model *model, const char *name)
{
	for (size_t v = 0; v < model->value_count; v++)
		if (strcmp(model->values[v].name, name) == 0)
			return &model->values[v];
	return NULL;
}

/* The first model that has a value of the name. */
static bool was_before(const struct html_model *models, size_t m, const char *name)
{
	for (size_t i = 0; i < m; i++)
		if (value_of(models[i].subject.model, name))
			return true;
	return false;
}

static const char *value_text(struct arena *arena, const struct pm_fit_value *value)
{
	if (!value)
		return "-";
	if (value->flags & (PM_FIT_UNDETERMINED | PM_FIT_DEAD))
		return arena_format(arena, "(%.4g)", value->value);
	if (isfinite(value->low) && isfinite(value->high))
		return arena_format(arena, "%.4g (%.3g to %.3g)", value->value, value->low, value->high);
	return arena_format(arena, "%.4g", value->value);
}

/* A row for each parameter, a column for each model. Formulas have no parameters, and no line here. */
static void put_value_table(const struct html_model *models, size_t count, FILE *out)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	print_column(&table, "", "parameter", PRINT_WORD);
	for (size_t m = 0; m < count; m++)
		print_column(&table, "", models[m].subject.name, PRINT_WORD);
	for (size_t m = 0; m < count; m++)
		for (size_t v = 0; v < models[m].subject.model->value_count; v++) {
			const char *name = models[m].subject.model->values[v].name;

			if (was_before(models, m, name))
				continue;
			print_row(&table);
			print_word(&table, 0, name);
			for (size_t i = 0; i < count; i++)
				print_word(&table, 1 + i,
					value_text(&arena, value_of(models[i].subject.model, name)));
		}
	if (table.row_count) {
		html_table(&table, out);
		fputs("<p class=\"dim\">A number in brackets: not determined by the data, or a dead term; a range: the "
		      "bootstrap interval.</p>\n",
			out);
	} else {
		print_free(&table);
	}
	arena_free(&arena);
}

static void put_errors(const struct html_model *models, size_t count, FILE *out)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	report_error_columns(&table, "model");
	for (size_t m = 0; m < count; m++) {
		const char *name = models[m].subject.name;

		report_error_row(&table, &(struct report_error){arena_format(&arena, "%s, fitted", name),
						 models[m].subject.model->train, NULL});
		if (models[m].test.sample_count)
			report_error_row(
				&table, &(struct report_error){arena_format(&arena, "%s, test", name),
						models[m].test, NULL});
	}
	html_table(&table, out);
	arena_free(&arena);
}

void html_compare(const struct html_model *models, size_t count, FILE *out)
{
	struct subject *subjects = calloc(count, sizeof(*subjects));
	struct plot plot;

	if (!subjects)
		errx(1, "out of memory");
	for (size_t m = 0; m < count; m++)
		subjects[m] = models[m].subject;
	fputs("<section>\n<h2>Models side by side</h2>\n", out);
	put_errors(models, count, out);
	put_value_table(models, count, out);
	fputs("<div class=\"figures\">\n", out);
	figure_values(&plot, subjects, count, true);
	if (plot.series_count)
		html_figure(&plot,
			"Filled: best run, faint where undetermined, dead or at a bound; hollow: "
			"each seed; bars: bootstrap intervals.",
			HTML_LARGE, out);
	else
		plot_free(&plot);
	fputs("</div>\n</section>\n", out);
	free(subjects);
}

void html_write(const struct html_model *models, size_t count, FILE *out)
{
	html_page_begin(models[0].subject.name, NULL, out);
	if (count > 1) {
		fprintf(out, "<h1>%zu models</h1>\n", count);
		html_compare(models, count, out);
	}
	for (size_t m = 0; m < count; m++) {
		fputs("<h1>", out);
		html_text(models[m].subject.name, out);
		fputs("</h1>\n", out);
		html_summary(&models[m], out);
		html_samples(&models[m], out);
		html_scaling(&models[m], out);
		html_values(&models[m], out);
		html_path(&models[m], out);
		html_baselines(&models[m], out);
	}
	html_end(out);
}
