/* The regression over runs: see ssgd_regression.h. */
#include "ssgd_regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLLINEAR 10 /* variance inflation from which the text has a remark; a usual rule */
#define FEW 3        /* degrees of freedom below which R2 says little */

static void remark(struct ssgd_regression *regression, const char *text)
{
	*MEM_PUSH(regression->remarks, regression->remark_count, regression->remark_room) = text;
}

/* Answers the term that is not known, or SSGD_TERM_COUNT. */
static enum ssgd_term add_row(struct ssgd_regression *regression, const struct ssgd_item *items,
	size_t number, size_t step, const struct ssgd_question *question)
{
	const struct ssgd_item *item = &items[number];
	const struct analysis *analysis = &item->run->analysis;
	size_t row = regression->row_count;

	for (size_t t = 0; t < question->term_count; t++) {
		double value = step == SSGD_WHOLE
				       ? ssgd_term_of_run(analysis, &item->ssgd, question->terms[t])
				       : ssgd_term_of_step(analysis, &item->ssgd, step, question->terms[t]);

		if (!isfinite(value))
			return question->terms[t];
		regression->x[row * question->term_count + t] = value;
	}
	regression->y[row] = step != SSGD_WHOLE ? item->ssgd.steps[step].measured_ns
			     : question->median ? item->ssgd.measured.median
						: item->ssgd.measured.mean;
	regression->items[row] = number;
	regression->steps[row] = step;
	regression->row_count++;
	return SSGD_TERM_COUNT;
}

static void make_rows(struct ssgd_regression *regression, const struct ssgd_item *items, size_t count,
	const struct ssgd_question *question)
{
	size_t room = count;

	for (size_t i = 0; i < count && question->by_iteration; i++)
		room += items[i].ssgd.step_count;
	regression->x = arena_alloc(&regression->arena, room * question->term_count, sizeof(*regression->x));
	regression->y = arena_alloc(&regression->arena, room, sizeof(*regression->y));
	regression->items = arena_alloc(&regression->arena, room, sizeof(*regression->items));
	regression->steps = arena_alloc(&regression->arena, room, sizeof(*regression->steps));
	for (size_t i = 0; i < count; i++) {
		size_t steps = question->by_iteration ? items[i].ssgd.step_count : 1;
		enum ssgd_term unknown = SSGD_TERM_COUNT;

		for (size_t k = 0; k < steps && unknown == SSGD_TERM_COUNT; k++)
			unknown = add_row(
				regression, items, i, question->by_iteration ? k : SSGD_WHOLE, question);
		if (unknown != SSGD_TERM_COUNT)
			remark(regression,
				arena_format(&regression->arena, "%s is left out: its %s is unknown.",
					items[i].label, ssgd_term_keys[unknown]));
	}
}

static void judge_term(struct ssgd_regression *regression, const struct regression_term *term, double first)
{
	struct arena *arena = &regression->arena;

	if (term->state == REGRESSION_CONSTANT)
		remark(regression, arena_format(arena,
					   "%s is %.4g in all rows: its coefficient is indistinguishable "
					   "from the intercept, so it is left out.",
					   term->name, first));
	else if (term->state == REGRESSION_DEPENDENT)
		remark(regression,
			arena_format(arena,
				"%s is a linear combination of the terms before it and is left out.",
				term->name));
	else if (term->inflation >= COLLINEAR && term->shared_with)
		remark(regression, arena_format(arena,
					   "%s is collinear with %s (correlation %.3f, VIF %.1f): their "
					   "separate effects are poorly determined.",
					   term->name, term->shared_with, term->shared, term->inflation));
}

/* What has to be known about the fit beside its figures. */
static void judge(struct ssgd_regression *regression, const struct ssgd_item *items, size_t count,
	const struct ssgd_question *question)
{
	const struct regression *fit = &regression->fit;

	if (fit->trouble) {
		remark(regression, arena_format(&regression->arena, "No fit: %s.", fit->trouble));
		return;
	}
	for (size_t t = 1; t < fit->term_count; t++)
		judge_term(regression, &fit->terms[t], regression->x[t - 1]);
	if (isnan(fit->r2))
		remark(regression, "t_iter is the same in all rows: no variation to explain.");
	else if (fit->degrees == 0)
		remark(regression, "As many coefficients as rows: the fit is exact, and R2 is meaningless.");
	else if (fit->degrees < FEW)
		remark(regression, arena_format(&regression->arena,
					   "With %zu degree%s of freedom R2 is high whatever the data.",
					   fit->degrees, fit->degrees == 1 ? "" : "s"));
	if (question->by_iteration)
		remark(regression, "The iterations of a run are not independent of each other: the standard "
				   "errors are too small and the intervals too narrow.");
	for (size_t i = 1; i < count; i++)
		if (strcmp(ssgd_program(&items[i]), ssgd_program(&items[0])) != 0) {
			remark(regression, "The runs are of different programs, fitted by one line.");
			break;
		}
}

void ssgd_regress(const struct ssgd_item *items, size_t count, const struct ssgd_question *question,
	struct ssgd_regression *regression)
{
	const char *names[SSGD_TERM_COUNT];

	memset(regression, 0, sizeof(*regression));
	for (size_t t = 0; t < question->term_count; t++)
		names[t] = ssgd_term_keys[question->terms[t]];
	make_rows(regression, items, count, question);
	regression_fit(&regression->fit, names, question->term_count, regression->x, regression->y,
		regression->row_count, question->confidence);
	judge(regression, items, count, question);
}

void ssgd_regression_free(struct ssgd_regression *regression)
{
	free(regression->remarks);
	regression_free(&regression->fit);
	arena_free(&regression->arena);
	memset(regression, 0, sizeof(*regression));
}

void ssgd_residual_table(const struct ssgd_regression *regression, const struct ssgd_item *items,
	const struct ssgd_question *question, struct print_table *table)
{
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t step =
		print_column(table, "iteration", question->by_iteration ? "iteration" : NULL, PRINT_COUNT);
	size_t columns[SSGD_TERM_COUNT], measured, fitted, residual;

	for (size_t t = 0; t < question->term_count; t++)
		columns[t] = print_column(table, ssgd_term_keys[question->terms[t]],
			ssgd_term_keys[question->terms[t]], PRINT_REAL);
	measured = print_column(table, "t_iter", "t_iter", PRINT_TIME);
	fitted = print_column(table, "fitted", "fitted", PRINT_TIME);
	residual = print_column(table, "residual", "residual", PRINT_TIME);
	for (size_t i = 0; i < regression->row_count; i++) {
		print_row(table);
		print_word(table, label, items[regression->items[i]].label);
		if (regression->steps[i] != SSGD_WHOLE)
			print_number(table, step, (double)regression->steps[i]);
		for (size_t t = 0; t < question->term_count; t++)
			print_number(table, columns[t], regression->x[i * question->term_count + t]);
		print_number(table, measured, regression->y[i]);
		if (regression->fit.trouble)
			continue;
		print_number(table, fitted, regression->fit.fitted[i]);
		print_number(table, residual, regression->fit.residuals[i]);
	}
}

void ssgd_regression_json(
	const struct ssgd_regression *regression, const struct ssgd_question *question, cJSON *object)
{
	const struct regression *fit = &regression->fit;
	cJSON *remarks = cJSON_AddArrayToObject(object, "remarks");
	const struct {
		const char *key;
		double value;
	} numbers[] = {{"row_count", (double)fit->row_count}, {"degrees_of_freedom", (double)fit->degrees},
		{"r2", fit->r2}, {"adjusted_r2", fit->adjusted_r2}, {"residual_sd_ns", fit->deviation},
		{"f", fit->f}, {"f_p", fit->f_p}, {"confidence", question->confidence}};

	cJSON_AddStringToObject(object, "row", question->by_iteration ? "iteration" : "run");
	cJSON_AddBoolToObject(object, "median", question->median);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		cJSON_AddItemToObject(object, numbers[i].key,
			isfinite(numbers[i].value) ? cJSON_CreateNumber(numbers[i].value)
						   : cJSON_CreateNull());
	for (size_t i = 0; i < regression->remark_count; i++)
		cJSON_AddItemToArray(remarks, cJSON_CreateString(regression->remarks[i]));
}
