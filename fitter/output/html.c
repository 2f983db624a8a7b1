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

static void put_value_row(const struct html_model *models, size_t count, const char *name, FILE *out)
{
	fputs("<tr><th class=\"l\">", out);
	html_text(name, out);
	fputs("</th>", out);
	for (size_t m = 0; m < count; m++) {
		const struct pm_fit_value *value = value_of(models[m].subject.model, name);

		if (!value)
			fputs("<td>–</td>", out);
		else if (value->flags & (PM_FIT_UNDETERMINED | PM_FIT_DEAD))
			fprintf(out, "<td class=\"dim\">(%.4g)</td>", value->value);
		else if (isfinite(value->low) && isfinite(value->high))
			fprintf(out, "<td>%.4g <span class=\"dim\">%.3g to %.3g</span></td>", value->value,
				value->low, value->high);
		else
			fprintf(out, "<td>%.4g</td>", value->value);
	}
	fputs("</tr>\n", out);
}

/* Formulas have no parameters, and no line here. */
static void put_value_table(const struct html_model *models, size_t count, FILE *out)
{
	size_t values = 0;

	for (size_t m = 0; m < count; m++)
		values += models[m].subject.model->value_count;
	if (values == 0)
		return;
	fputs("<div class=\"scroll\"><table><thead><tr><th class=\"l\">parameter</th>", out);
	for (size_t m = 0; m < count; m++) {
		fputs("<th class=\"l\">", out);
		html_text(models[m].subject.name, out);
		fputs("</th>", out);
	}
	fputs("</tr></thead><tbody>\n", out);
	for (size_t m = 0; m < count; m++)
		for (size_t v = 0; v < models[m].subject.model->value_count; v++) {
			const char *name = models[m].subject.model->values[v].name;

			if (!was_before(models, m, name))
				put_value_row(models, count, name, out);
		}
	fputs("</tbody></table></div>\n"
	      "<p class=\"dim\">In brackets: not determined by the data, or a dead term.</p>\n",
		out);
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
