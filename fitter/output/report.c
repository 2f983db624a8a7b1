/* What a person reads of a model: see report.h. */
#include "report.h"
#include "base/student.h"
#include "baselines/baselines.h"
#include "model/enum_names.h"

#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *column_name(const struct pm_fit_model *model, const struct pm_fit_value *value)
{
	return value->column == SIZE_MAX ? "" : model->columns[value->column].name;
}

static const struct pm_fit_value *power_of(const struct pm_fit_model *model, size_t column)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (model->values[i].kind == PM_FIT_KIND_POWER && model->values[i].column == column)
			return &model->values[i];
	return NULL;
}

/* "3.85*lr^-0.026 + 0.3 + [padding]" */
static const char *sum_text(const struct pm_fit_model *model, struct arena *arena)
{
	const char *text = "", *plus = "";
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		if (value->kind == PM_FIT_KIND_COEFFICIENT)
			text = arena_format(arena, "%s%s%.4g*%s^%.4g", text, plus, value->value,
				column_name(model, value), power_of(model, value->column)->value);
		else if (value->kind == PM_FIT_KIND_BASE)
			text = arena_format(arena, "%s%s%.4g", text, plus, value->value);
		else if (value->kind == PM_FIT_KIND_LEVEL && value->column != last)
			text = arena_format(arena, "%s%s[%s]", text, plus, column_name(model, value));
		else
			continue;
		last = value->column;
		plus = " + ";
	}
	return text;
}

/* "[padding]: same 0.1 valid 0": a line for each column of levels. */
static void add_levels(const struct pm_fit_model *model, struct sentences *lines)
{
	for (size_t c = 0; c < model->column_count; c++) {
		const struct pm_fit_model_column *column = &model->columns[c];
		const char *text = NULL;

		for (size_t i = 0; i < model->value_count; i++) {
			const struct pm_fit_value *value = &model->values[i];
			const bool factor = value->kind == PM_FIT_KIND_FACTOR;

			if (value->column != c || (value->kind != PM_FIT_KIND_LEVEL && !factor))
				continue;
			if (!text)
				text = factor ? arena_format(lines->arena, "{%s}: %s 1", column->name,
							column->levels[0])
					      : arena_format(lines->arena, "[%s]:", column->name);
			text = arena_format(lines->arena, "%s %s %.4g", text, column->levels[value->level],
				factor ? exp(value->value) : value->value);
		}
		if (text)
			sentences_add(lines, "%s", text);
	}
}

void report_formula(const struct pm_fit_model *model, struct sentences *lines)
{
	struct arena *arena = lines->arena;
	const char *text = arena_format(arena, "t = ( %s )", sum_text(model, arena));
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		if (value->kind == PM_FIT_KIND_EXTRINSIC)
			text = arena_format(
				arena, "%s * %s^%.4g", text, column_name(model, value), value->value);
		else if (value->kind == PM_FIT_KIND_FACTOR && value->column != last)
			text = arena_format(arena, "%s * {%s}", text, column_name(model, value));
		last = value->column;
	}
	for (size_t i = 0; i < model->value_count; i++)
		if (model->values[i].kind == PM_FIT_KIND_CONSTANT)
			text = arena_format(arena, "%s + %.4g", text, model->values[i].value);
	for (size_t c = 0; c < model->column_count; c++)
		if (model->columns[c].role == PM_FIT_OFFSET)
			text = arena_format(arena, "%s + %s", text, model->columns[c].name);
	sentences_add(lines, "%s", text);
	add_levels(model, lines);
}

void report_expression(
	const struct expression *expression, const struct expression_terms *terms, struct sentences *lines)
{
	char *text = NULL, *rest;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		errx(1, "out of memory");
	expression_print(memory, expression, terms);
	fputc('\n', memory);
	expression_print_groups(memory, expression, terms);
	if (fclose(memory) != 0)
		errx(1, "out of memory");
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		sentences_add(lines, "%s", line + strspn(line, " "));
	free(text);
}

/* What is doubtful about a value; what is merely large in other units is said once, in the remarks. */
static const char *flag_words(struct arena *arena, unsigned flags)
{
	const char *words = "";

	for (int bit = 0; enum_names_flags[bit]; bit++)
		if (flags & 1u << bit && 1u << bit != PM_FIT_OUTSIDE)
			words = arena_format(
				arena, "%s%s%s", words, *words ? ", " : "", enum_names_flags[bit]);
	return words;
}

enum { VALUE_NAME, VALUE_BEST, VALUE_SCALED = 6, VALUE_FLAGS };

/* Columns for the values of a model, or, with fewer of them, for its contrasts. */
static void value_columns(struct print_table *table, const struct pm_fit_model *model, bool contrasts)
{
	const bool has_intervals = model->value_count && isfinite(model->values[0].low);
	const int percent = (int)lround(100 * model->parameter.confidence);
	const struct print_column columns[] = {
		PRINT_COLUMN("", contrasts ? "level" : "parameter", PRINT_WORD),
		PRINT_COLUMN("", "best", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "mean", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("", has_intervals ? arena_format(table->arena, "low %d%%", percent) : NULL,
			PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", has_intervals ? arena_format(table->arena, "high %d%%", percent) : NULL,
			PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "scaled", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("", "", PRINT_WORD),
	};

	print_columns(table, columns, contrasts ? VALUE_SCALED : VALUE_FLAGS + 1);
}

static void add_values(struct print_table *table, const struct pm_fit_model *model)
{
	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		print_row(table);
		print_word(table, VALUE_NAME, value->name);
		print_numbers(table, VALUE_BEST,
			(double[]){
				value->value, value->mean, value->sd, value->low, value->high, value->scaled},
			6);
		print_word(table, VALUE_FLAGS, flag_words(table->arena, value->flags));
	}
}

static void add_contrasts(struct print_table *table, const struct pm_fit_model *model)
{
	for (size_t i = 0; i < model->contrast_count; i++) {
		const struct pm_fit_contrast *contrast = &model->contrasts[i];

		print_row(table);
		print_word(table, VALUE_NAME, contrast->name);
		print_numbers(table, VALUE_BEST,
			(double[]){
				contrast->value, contrast->mean, contrast->sd, contrast->low, contrast->high},
			5);
	}
}

void report_values(const struct pm_fit_model *model, FILE *out)
{
	struct arena arena = {0};

	for (int contrasts = 0; contrasts <= (model->contrast_count > 0); contrasts++) {
		struct print_table table;

		print_init(&table, &arena);
		value_columns(&table, model, contrasts);
		if (contrasts) {
			fputs("\nLevels as determined by the data: each minus its column's mean; the base is the sum\n"
			      "of those means\n",
				out);
			add_contrasts(&table, model);
		} else {
			add_values(&table, model);
		}
		print_text(&table, NULL, out);
		print_free(&table);
	}
	arena_free(&arena);
}

void report_error_columns(struct print_table *table, const char *first)
{
	const struct print_column columns[] = {
		PRINT_COLUMN("", first, PRINT_WORD),
		PRINT_COLUMN("", "samples", PRINT_COUNT),
		PRINT_COLUMN("", "MAPE", PRINT_SHARE, .digits = 2),
		PRINT_COLUMN("", "MAE", PRINT_FIGURE),
		PRINT_COLUMN("", "MSE", PRINT_FIGURE),
		PRINT_COLUMN("", "RMSE", PRINT_FIGURE),
		PRINT_COLUMN("", "R2", PRINT_REAL, .digits = 4),
		PRINT_COLUMN("", "", PRINT_WORD),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

void report_error_row(struct print_table *table, const struct report_error *error)
{
	const struct pm_fit_error *e = &error->error;

	print_row(table);
	print_word(table, 0, error->name);
	print_numbers(table, 1,
		(double[]){(double)e->sample_count, e->mape / 100, e->mae, e->mse, e->rmse, e->r2}, 6);
	print_word(table, 7, error->note ? error->note : "");
}

void report_error_constant(struct print_table *table, const struct pm_fit_model *model)
{
	report_error_row(table, &(struct report_error){"constant",
					{.sample_count = model->train.sample_count,
						.mape = NAN,
						.mae = model->constant_error,
						.mse = NAN,
						.rmse = NAN,
						.r2 = NAN},
					"the median for every sample"});
}

void report_error_table(const struct report_error *errors, size_t count, FILE *out)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	report_error_columns(&table, "error on");
	for (size_t i = 0; i < count; i++)
		report_error_row(&table, &errors[i]);
	print_text(&table, NULL, out);
	print_free(&table);
	arena_free(&arena);
}

void report_errors(const struct pm_fit_model *model, const struct pm_fit_error *test, FILE *out)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	report_error_columns(&table, "error on");
	report_error_row(&table, &(struct report_error){"fitted", model->train, NULL});
	if (test && test->sample_count)
		report_error_row(&table, &(struct report_error){"test", *test, NULL});
	report_error_constant(&table, model);
	print_text(&table, NULL, out);
	print_free(&table);
	arena_free(&arena);
}

/* Do the seeds agree, and what does that mean; "" of one. */
static const char *convergence(const struct pm_fit_model *model)
{
	if (model->run_count < 2)
		return "";
	if (model->runs_agreeing < model->run_count)
		return " The search has not converged: mean and sd are of different minima. Try more "
		       "--evaluations.";
	if (model->parameter.scale == PM_FIT_SCALE_NONE)
		return " The seeds agree; that alone does not make it the minimum in unscaled units.";
	return " The search has converged.";
}

static void remark_runs(const struct pm_fit_model *model, struct sentences *said)
{
	size_t ends[PM_FIT_END_INTERRUPTED + 1] = {0};
	double evaluations = 0, worst = 0;
	const char *bad = "";

	for (size_t i = 0; i < model->run_count; i++) {
		ends[model->runs[i].end]++;
		evaluations += (double)model->runs[i].evaluations / (double)model->run_count;
		worst = fmax(worst, model->runs[i].objective);
	}
	if (ends[PM_FIT_END_PLATEAU])
		bad = arena_format(said->arena, " %zu ended on a plateau, no better than a constant.",
			ends[PM_FIT_END_PLATEAU]);
	if (ends[PM_FIT_END_INTERRUPTED])
		bad = arena_format(
			said->arena, "%s %zu were interrupted.", bad, ends[PM_FIT_END_INTERRUPTED]);
	sentences_add(said,
		"Seeds: %zu of %zu agree within 0.1%% on the best cost, %.6g; the worst is %.6g.%s%s "
		"%.0f evaluations per seed%s.",
		model->runs_agreeing, model->run_count, model->runs[model->best_run].objective, worst,
		convergence(model), bad, evaluations,
		isfinite(model->seconds) ? arena_format(said->arena, ", %.2f s in total", model->seconds)
					 : "");
}

/* "WHAT x, y, z.": the values of these kinds that have one of the flags, by their own names or by their
 * columns'. */
static void remark_flag(const struct pm_fit_model *model, unsigned flags, unsigned kinds, bool by_column,
	const char *what, struct sentences *said)
{
	const char *text = what, *gap = " ";
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		if (!(value->flags & flags) || !(kinds & 1u << value->kind) ||
			(by_column && value->column == last))
			continue;
		text = arena_format(said->arena, "%s%s%s", text, gap,
			by_column ? column_name(model, value) : value->name);
		gap = ", ";
		last = value->column;
	}
	if (*gap == ',')
		sentences_add(said, "%s.", text);
}

void report_remarks(const struct pm_fit_model *model, struct sentences *said)
{
	const unsigned powers =
		1u << PM_FIT_KIND_POWER | 1u << PM_FIT_KIND_EXTRINSIC | 1u << PM_FIT_KIND_FACTOR;
	const unsigned coefficients = ~powers,
		       terms = 1u << PM_FIT_KIND_COEFFICIENT | 1u << PM_FIT_KIND_LEVEL;
	double error;

	/* a formula has no parameters, and nobody's seeds */
	if (model->run_count == 0)
		return;
	error = model->runs[model->best_run].error;
	remark_runs(model, said);
	if (error > 0.5 * model->constant_error)
		sentences_add(said, "Poor fit: its error is %.0f%% of that of a constant.",
			100 * error / model->constant_error);
	if (model->rank < model->value_count)
		sentences_add(said,
			"The data determine %zu of %zu parameters; for those marked undetermined only "
			"combinations are meaningful, and their mean and sd are not.",
			model->rank, model->value_count);
	remark_flag(model, PM_FIT_DEAD, terms, true, "Dead, below 0.05% of every prediction:", said);
	remark_flag(model, PM_FIT_AT_LOWER | PM_FIT_AT_UPPER, powers, false, "Powers at a bound:", said);
	remark_flag(model, PM_FIT_AT_UPPER, coefficients, false, "Coefficients at their upper bound:", said);
	remark_flag(
		model, PM_FIT_OUTSIDE, ~0u, false, "Outside the bounds' numbers in original units:", said);
}

void report_shift(const struct pm_fit_model *model, const struct pm_fit_model *freely, struct sentences *said)
{
	const char *text = "Effect of lambda, without -> with:";

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		/* where the data say nothing the penalty alone decides */
		if ((value->kind == PM_FIT_KIND_POWER || value->kind == PM_FIT_KIND_EXTRINSIC) &&
			!(freely->values[i].flags & PM_FIT_UNDETERMINED))
			text = arena_format(said->arena, "%s %s %.3g -> %.3g,", text, value->name,
				freely->values[i].value, value->value);
	}
	sentences_add(
		said, "%s mean absolute error %.5g -> %.5g.", text, freely->train.mae, model->train.mae);
}
