/* The regression (3.9) of pmanalyze model, in its three forms. */
#include "model_regression.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_summary(const struct ssgd_regression *regression, struct arena *arena)
{
	const struct regression *fit = &regression->fit;

	if (fit->trouble || isnan(fit->r2))
		return;
	print_paragraph(
		arena_format(arena, "R2 %.4f%s%s.", fit->r2,
			isfinite(fit->adjusted_r2) ? arena_format(arena, ", adjusted %.4f", fit->adjusted_r2)
						   : "",
			isfinite(fit->deviation)
				? arena_format(arena,
					  ", residuals' standard deviation %s (%zu degree%s of freedom)",
					  print_time(arena, fit->deviation), fit->degrees,
					  fit->degrees == 1 ? "" : "s")
				: ""),
		2, stdout);
}

/* In JSON they are in the object. With CSV they go elsewhere, and not where nobody meant a regression. */
static void print_remarks(const struct ssgd_regression *regression, enum print_form form, bool meant)
{
	for (size_t i = 0; i < regression->remark_count && meant; i++)
		if (form == PRINT_TEXT)
			print_paragraph(regression->remarks[i], 2, stdout);
		else if (form == PRINT_CSV)
			warnx("%s", regression->remarks[i]);
}

/* part: of the JSON, or NULL. program: that all runs are of, or NULL. */
static void print_regression(const struct ssgd_item *items, size_t item_count,
	const struct model_regression *how, const char *program, cJSON *part)
{
	enum print_form form = how->form;
	struct print_table coefficients, residuals;
	struct ssgd_regression regression;
	struct arena *arena = &items[0].run->analysis.timeline.arena;
	const char *of = program ? arena_format(arena, " of %s", print_clean(arena, program)) : "";

	ssgd_regress(items, item_count, how->question, &regression);
	print_init(&coefficients, arena);
	ssgd_coefficient_table(&regression.fit, program ? print_clean(arena, program) : NULL, &coefficients);
	print_init(&residuals, arena);
	ssgd_residual_table(&regression, items, how->question, &residuals);
	if (part)
		ssgd_regression_json(&regression, how->question, part);
	if (form == PRINT_TEXT && regression.fit.trouble)
		print_heading(arena_format(arena, "\nRegression (3.9)%s", of), stdout);
	else
		print_part(&coefficients, form, part, "coefficients",
			arena_format(arena, "Regression (3.9)%s over %zu %s%s%s, %g%% intervals", of,
				regression.row_count, how->question->by_iteration ? "iteration" : "run",
				regression.row_count == 1 ? "" : "s",
				how->question->median && !how->question->by_iteration ? " by medians" : "",
				how->question->confidence * 100),
			true, stdout);
	if (form == PRINT_TEXT)
		print_summary(&regression, arena);
	print_remarks(&regression, form, how->meant || item_count > 1);
	if (form != PRINT_TEXT || (how->residuals && !regression.fit.trouble))
		print_part(&residuals, form, part, "rows", "Rows of the regression", true, stdout);
	print_free(&coefficients);
	print_free(&residuals);
	ssgd_regression_free(&regression);
}

/* One for each program, in the order of their first runs. */
static void print_by_program(
	const struct ssgd_item *items, size_t count, const struct model_regression *how, cJSON *object)
{
	cJSON *list = object ? cJSON_AddArrayToObject(object, "regressions") : NULL;
	struct ssgd_item *same = mem_alloc(count, sizeof(*same));

	for (size_t i = 0; i < count; i++) {
		cJSON *part = NULL;
		size_t same_count = 0, earlier = 0;

		while (strcmp(ssgd_program(&items[earlier]), ssgd_program(&items[i])) != 0)
			earlier++;
		if (earlier < i)
			continue;
		for (size_t j = i; j < count; j++)
			if (strcmp(ssgd_program(&items[j]), ssgd_program(&items[i])) == 0)
				same[same_count++] = items[j];
		if (list) {
			part = cJSON_CreateObject();
			cJSON_AddItemToArray(list, part);
			cJSON_AddStringToObject(part, "program",
				print_clean(&items[i].run->analysis.timeline.arena, ssgd_program(&items[i])));
		}
		print_regression(same, same_count, how, ssgd_program(&items[i]), part);
	}
	free(same);
}

void model_print_regression(
	const struct ssgd_item *items, size_t count, const struct model_regression *how, cJSON *object)
{
	if (how->by_program)
		print_by_program(items, count, how, object);
	else
		print_regression(items, count, how, NULL,
			object ? cJSON_AddObjectToObject(object, "regression") : NULL);
}
