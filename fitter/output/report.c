/* What a person reads of a model: see report.h. */
#include "report.h"
#include "base/student.h"
#include "baselines/baselines.h"
#include "model/enum_names.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE 79

/* Words with blanks between them, broken into lines. */
struct flow {
	FILE *out;
	size_t column, indent;
};

static __attribute__((format(printf, 2, 3))) void flow_add(struct flow *flow, const char *format, ...)
{
	char *text, *word, *rest;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	for (word = text ? strtok_r(text, " ", &rest) : NULL; word; word = strtok_r(NULL, " ", &rest)) {
		if (flow->column + 1 + strlen(word) > LINE && flow->column > flow->indent) {
			fprintf(flow->out, "\n%*s", (int)flow->indent, "");
			flow->column = flow->indent;
		} else if (flow->column > 0) {
			fputc(' ', flow->out);
			flow->column++;
		}
		fputs(word, flow->out);
		flow->column += strlen(word);
	}
	free(text);
}

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

static void add_sum(struct flow *flow, const struct pm_fit_model *model)
{
	size_t last = SIZE_MAX;
	bool first = true;

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];
		const char *plus = first ? "" : "+ ";

		if (value->kind == PM_FIT_KIND_COEFFICIENT)
			flow_add(flow, "%s%.4g*%s^%.4g", plus, value->value, column_name(model, value),
				power_of(model, value->column)->value);
		else if (value->kind == PM_FIT_KIND_BASE)
			flow_add(flow, "%s%.4g", plus, value->value);
		else if (value->kind == PM_FIT_KIND_LEVEL && value->column != last)
			flow_add(flow, "%s[%s]", plus, column_name(model, value));
		else
			continue;
		last = value->column;
		first = false;
	}
}

static void add_levels(struct flow *flow, const struct pm_fit_model *model)
{
	for (size_t c = 0; c < model->column_count; c++) {
		bool first = true;

		for (size_t i = 0; i < model->value_count; i++) {
			const struct pm_fit_value *value = &model->values[i];
			bool factor = value->kind == PM_FIT_KIND_FACTOR;

			if (value->column != c || (value->kind != PM_FIT_KIND_LEVEL && !factor))
				continue;
			if (first) {
				fprintf(flow->out, "\n  ");
				flow->column = 2;
				flow_add(flow, factor ? "{%s}:" : "[%s]:", model->columns[c].name);
				if (factor)
					flow_add(flow, "%s 1", model->columns[c].levels[0]);
			}
			first = false;
			flow_add(flow, "%s %.4g", model->columns[c].levels[value->level],
				factor ? exp(value->value) : value->value);
		}
	}
}

void report_formula(const struct pm_fit_model *model, FILE *out)
{
	struct flow flow = {out, 0, 6};
	size_t last = SIZE_MAX;

	flow_add(&flow, "t =");
	flow_add(&flow, "(");
	add_sum(&flow, model);
	flow_add(&flow, ")");
	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		if (value->kind == PM_FIT_KIND_EXTRINSIC)
			flow_add(&flow, "* %s^%.4g", column_name(model, value), value->value);
		else if (value->kind == PM_FIT_KIND_FACTOR && value->column != last)
			flow_add(&flow, "* {%s}", column_name(model, value));
		last = value->column;
	}
	for (size_t i = 0; i < model->value_count; i++)
		if (model->values[i].kind == PM_FIT_KIND_CONSTANT)
			flow_add(&flow, "+ %.4g", model->values[i].value);
	for (size_t c = 0; c < model->column_count; c++)
		if (model->columns[c].role == PM_FIT_OFFSET)
			flow_add(&flow, "+ %s", model->columns[c].name);
	add_levels(&flow, model);
	fputc('\n', out);
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

static void remark_runs(const struct pm_fit_model *model, FILE *out)
{
	size_t ends[PM_FIT_END_INTERRUPTED + 1] = {0};
	double evaluations = 0, worst = 0;
	struct flow flow = {out, 0, 2};

	for (size_t i = 0; i < model->run_count; i++) {
		ends[model->runs[i].end]++;
		evaluations += (double)model->runs[i].evaluations / (double)model->run_count;
		worst = fmax(worst, model->runs[i].objective);
	}
	flow_add(&flow, "Seeds: %zu of %zu agree within 0.1%% on the best cost, %.6g; the worst is %.6g.",
		model->runs_agreeing, model->run_count, model->runs[model->best_run].objective, worst);
	if (model->runs_agreeing == model->run_count && model->run_count > 1)
		flow_add(&flow, "%s",
			model->parameter.scale == PM_FIT_SCALE_NONE
				? "The seeds agree; that alone does not make it the minimum in unscaled units."
				: "The search has converged.");
	else if (model->run_count > 1)
		flow_add(&flow, "The search has not converged: mean and sd are of different minima. Try more "
				"--evaluations.");
	if (ends[PM_FIT_END_PLATEAU])
		flow_add(&flow, "%zu ended on a plateau, no better than a constant.",
			ends[PM_FIT_END_PLATEAU]);
	if (ends[PM_FIT_END_INTERRUPTED])
		flow_add(&flow, "%zu were interrupted.", ends[PM_FIT_END_INTERRUPTED]);
	flow_add(&flow, "%.0f evaluations per seed, %.2f s in total.", evaluations, model->seconds);
	fputc('\n', out);
}

/* "WHAT x, y, z.": the values of these kinds that have one of the flags, by their own names or by their
 * columns'. */
static void remark_flag(const struct pm_fit_model *model, unsigned flags, unsigned kinds, bool by_column,
	const char *what, FILE *out)
{
	struct flow flow = {out, 0, 2};
	const char *waiting = NULL;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];

		if (!(value->flags & flags) || !(kinds & 1u << value->kind) ||
			(by_column && value->column == last))
			continue;
		if (waiting)
			flow_add(&flow, "%s,", waiting);
		else
			flow_add(&flow, "%s", what);
		waiting = by_column ? column_name(model, value) : value->name;
		last = value->column;
	}
	if (waiting) {
		flow_add(&flow, "%s.", waiting);
		fputc('\n', out);
	}
}

void report_remarks(const struct pm_fit_model *model, FILE *out)
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
	remark_runs(model, out);
	if (error > 0.5 * model->constant_error)
		fprintf(out, "Poor fit: its error is %.0f%% of that of a constant.\n",
			100 * error / model->constant_error);
	if (model->rank < model->value_count)
		fprintf(out,
			"The data determine %zu of %zu parameters; for those marked undetermined only "
			"combinations\n"
			"  are meaningful, and their mean and sd are not.\n",
			model->rank, model->value_count);
	remark_flag(model, PM_FIT_DEAD, terms, true, "Dead, below 0.05% of every prediction:", out);
	remark_flag(model, PM_FIT_AT_LOWER | PM_FIT_AT_UPPER, powers, false, "Powers at a bound:", out);
	remark_flag(model, PM_FIT_AT_UPPER, coefficients, false, "Coefficients at their upper bound:", out);
	remark_flag(model, PM_FIT_OUTSIDE, ~0u, false, "Outside the bounds' numbers in original units:", out);
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
