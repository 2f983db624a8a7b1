/* The HTML report's head of a model: the formula, the errors, and what is doubtful, in words. */
#include "html_page.h"
#include "model/expression_model.h"
#include "report.h"

#include <math.h>
#include <string.h>

static const char *column_name(const struct pm_fit_model *model, size_t v)
{
	return model->columns[model->values[v].column].name;
}

static void put_power(const char *name, double power, FILE *out)
{
	html_text(name, out);
	fprintf(out, "<sup>%.4g</sup>", power);
}

static double power_of(const struct pm_fit_model *model, size_t column)
{
	for (size_t v = 0; v < model->value_count; v++)
		if (model->values[v].kind == PM_FIT_KIND_POWER && model->values[v].column == column)
			return model->values[v].value;
	return 1;
}

static void put_group(const struct pm_fit_model *model, size_t v, FILE *out)
{
	fputs("<b>", out);
	html_text(column_name(model, v), out);
	fputs("</b>", out);
}

static void put_sum(const struct pm_fit_model *model, FILE *out)
{
	size_t last = SIZE_MAX;
	const char *plus = "";

	for (size_t v = 0; v < model->value_count; v++) {
		const struct pm_fit_value *value = &model->values[v];

		if (value->kind == PM_FIT_KIND_COEFFICIENT) {
			fprintf(out, "%s%.4g·", plus, value->value);
			put_power(column_name(model, v), power_of(model, value->column), out);
		} else if (value->kind == PM_FIT_KIND_BASE) {
			fprintf(out, "%s%.4g", plus, value->value);
		} else if (value->kind == PM_FIT_KIND_LEVEL && value->column != last) {
			fputs(plus, out);
			put_group(model, v, out);
		} else {
			continue;
		}
		last = value->column;
		plus = " + ";
	}
}

/* What stands after the names in bold: a line for each group of levels. */
static void put_levels(const struct pm_fit_model *model, FILE *out)
{
	size_t last = SIZE_MAX;

	for (size_t v = 0; v < model->value_count; v++) {
		const struct pm_fit_value *value = &model->values[v];
		bool factor = value->kind == PM_FIT_KIND_FACTOR;

		if (value->kind != PM_FIT_KIND_LEVEL && !factor)
			continue;
		if (value->column != last) {
			fputs("<br/>", out);
			put_group(model, v, out);
			fputs(": ", out);
			if (factor) {
				html_text(model->columns[value->column].levels[0], out);
				fputs(" = 1, ", out);
			}
		} else {
			fputs(", ", out);
		}
		last = value->column;
		html_text(model->columns[value->column].levels[value->level], out);
		fprintf(out, " = %.4g", factor ? exp(value->value) : value->value);
	}
}

static void put_formula(const struct pm_fit_model *model, FILE *out)
{
	size_t last = SIZE_MAX;

	fputs("<div class=\"lead\">t = ( ", out);
	put_sum(model, out);
	fputs(" )", out);
	for (size_t v = 0; v < model->value_count; v++) {
		const struct pm_fit_value *value = &model->values[v];

		if (value->kind == PM_FIT_KIND_EXTRINSIC) {
			fputs(" · ", out);
			put_power(column_name(model, v), value->value, out);
		} else if (value->kind == PM_FIT_KIND_FACTOR && value->column != last) {
			fputs(" · ", out);
			put_group(model, v, out);
		}
		last = value->column;
	}
	for (size_t v = 0; v < model->value_count; v++)
		if (model->values[v].kind == PM_FIT_KIND_CONSTANT)
			fprintf(out, " + %.4g", model->values[v].value);
	for (size_t c = 0; c < model->column_count; c++)
		if (model->columns[c].role == PM_FIT_OFFSET) {
			fputs(" + ", out);
			html_text(model->columns[c].name, out);
		}
	put_levels(model, out);
	fputs("</div>\n", out);
}

static void put_paragraph(const char *text, FILE *out)
{
	bool fine = strncmp(text, "Seeds:", 6) == 0 && !strstr(text, "has not converged") &&
		    !strstr(text, "plateau") && !strstr(text, "interrupted");

	fprintf(out, "<p%s>", fine ? "" : " class=\"warn\"");
	html_text(text, out);
	fputs("</p>\n", out);
}

/* What pmfit search has found: the formula, and a line for each of its groups of levels. */
static void put_expression(const struct pm_fit_expression *expression, FILE *out)
{
	struct arena arena = {0};
	struct sentences lines = {.arena = &arena};

	report_expression(&expression->expression, &expression->terms, &lines);
	fputs("<div class=\"lead\">", out);
	for (size_t i = 0; i < lines.count; i++) {
		fputs(i ? "<br/>" : "t = ", out);
		html_text(lines.items[i], out);
	}
	fprintf(out, "</div>\n<p class=\"dim\">%zu constants, of a formula found by pmfit search",
		expression->expression.constant_count);
	arena_free(&arena);
}

static void put_remarks(const struct pm_fit_model *model, FILE *out)
{
	struct arena arena = {0};
	struct sentences said = {.arena = &arena};

	report_remarks(model, &said);
	for (size_t i = 0; i < said.count; i++)
		put_paragraph(said.items[i], out);
	arena_free(&arena);
}

/* The file may not be the table that the model was fitted to. */
static bool differences_find(const struct pm_fit_error *given, const struct pm_fit_error *known)
{
	return given->sample_count != known->sample_count ||
	       fabs(given->mae - known->mae) > 1e-6 * fabs(known->mae);
}

static void put_errors(const struct html_model *model, FILE *out)
{
	const struct pm_fit_model *fit = model->subject.model;
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	report_error_columns(&table, "error on");
	report_error_row(
		&table, &(struct report_error){"fitted samples (of the model file)", fit->train, NULL});
	if (model->fitted.sample_count && differences_find(&model->fitted, &fit->train))
		report_error_row(
			&table, &(struct report_error){model->subject.sets[0].name, model->fitted, NULL});
	if (model->test.sample_count)
		report_error_row(&table, &(struct report_error){"test", model->test, NULL});
	if (fit->run_count)
		report_error_constant(&table, fit);
	html_table(&table, out);
	arena_free(&arena);
}

static void put_penalty(const struct pm_fit_model *fit, FILE *out)
{
	fprintf(out, "<p class=\"dim\">%zu parameters; ", fit->value_count);
	if (fit->parameter.penalty != PM_FIT_NO_PENALTY &&
		(fit->parameter.lambda_coefficients > 0 || fit->parameter.lambda_powers > 0))
		fprintf(out, "%s, lambda %g, of powers %g", fit->parameter.penalty == PM_FIT_L1 ? "L1" : "L2",
			fit->parameter.lambda_coefficients, fit->parameter.lambda_powers);
	else
		fputs("no penalty", out);
}

void html_summary(const struct html_model *model, FILE *out)
{
	const struct pm_fit_model *fit = model->subject.model;

	fputs("<section>\n<h2>Fit</h2>\n", out);
	if (fit->expression) {
		put_expression(fit->expression, out);
	} else {
		put_formula(fit, out);
		put_penalty(fit, out);
	}
	if (fit->time_unit) {
		fputs("; times in ", out);
		html_text(fit->time_unit, out);
	}
	fputs(". MAPE is in percent of the measured time; MAE and RMSE are in the time’s unit, MSE is in its square.</p>\n",
		out);
	put_errors(model, out);
	put_remarks(fit, out);
	fputs("</section>\n", out);
}
