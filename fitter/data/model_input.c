/* From a table to what a model predicts from: see model_input.h. */
#include "model_input.h"
#include "base/role.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MOST 1e30 /* beyond, powers of it are no numbers */

static __attribute__((format(printf, 3, 4))) int fail(
	struct model_input *input, const struct csv *csv, const char *format, ...)
{
	int used = snprintf(input->error, sizeof(input->error), "%.200s: ", csv->path);
	va_list list;

	va_start(list, format);
	vsnprintf(input->error + used, sizeof(input->error) - (size_t)used, format, list);
	va_end(list);
	return -EINVAL;
}

static const char *cell(const struct csv *csv, size_t row, ptrdiff_t column)
{
	return csv->cells[row * csv->column_count + (size_t)column];
}

static int find_columns(
	struct model_input *input, const struct csv *csv, const struct pm_fit_model *model, const char *time)
{
	char hint[CSV_HINT];

	for (size_t i = 0; i < model->column_count; i++) {
		bool ignored = model->columns[i].role == PM_FIT_IGNORED;

		input->places[i] = ignored ? -1 : csv_find(csv, model->columns[i].name);
		if (input->places[i] < 0 && !ignored)
			return fail(input, csv, "column %s, which the model requires, not found%s",
				model->columns[i].name, csv_hint(csv, model->columns[i].name, hint));
	}
	if (time && csv_find(csv, time) < 0)
		return fail(input, csv, "time column %s not found%s", time, csv_hint(csv, time, hint));
	return 0;
}

static int remark(struct model_input *input, size_t row, size_t column, unsigned flag)
{
	size_t count = input->remark_count;

	/* room for a power of two of them */
	if ((count & (count - 1)) == 0) {
		struct model_input_remark *more = realloc(input->remarks, 2 * (count + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		input->remarks = more;
	}
	input->remarks[input->remark_count++] = (struct model_input_remark){row, column, flag};
	input->flags[row] |= flag;
	return 0;
}

static size_t level_of(const struct pm_fit_model_column *column, const char *word)
{
	size_t level = 0;

	while (level < column->level_count && strcmp(column->levels[level], word) != 0)
		level++;
	return level;
}

/* 0, or negative with the sentence that says which number of a row is missing. */
static int check_row(
	struct model_input *input, const struct csv *csv, const struct pm_fit_model *model, size_t row)
{
	double number;

	for (size_t i = 0; i < model->column_count; i++) {
		const char *text = input->places[i] < 0 ? NULL : cell(csv, row, input->places[i]);

		if (!text)
			continue;
		if (!*text)
			return fail(input, csv, "line %zu: column %s: the value is missing", csv->lines[row],
				model->columns[i].name);
		if (!role_has_levels(model->columns[i].role) && csv_number(text, &number) < 0)
			return fail(input, csv, "line %zu: column %s: '%s' is not a number", csv->lines[row],
				model->columns[i].name, text);
		if (!role_has_levels(model->columns[i].role) && fabs(number) > NUMBER_MOST)
			return fail(input, csv, "line %zu: column %s: %s is beyond %g", csv->lines[row],
				model->columns[i].name, text, NUMBER_MOST);
	}
	return 0;
}

static int take_row(struct model_input *input, const struct csv *csv, const struct pm_fit_model *model,
	size_t row, size_t at)
{
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *known = &model->columns[i];
		double *value = input->numbers + i * csv->row_count + at;
		const char *text = input->places[i] < 0 ? NULL : cell(csv, row, input->places[i]);
		size_t level;
		int status = 0;

		if (text && role_has_levels(known->role)) {
			level = level_of(known, text);
			if (level == known->level_count)
				status = remark(input, at, i, MODEL_INPUT_UNSEEN);
			*value = status == 0 && level < known->level_count ? (double)level : 0;
		} else if (text) {
			csv_number(text, value);
			/* decimal digits of a file are not all the bits */
			if (*value < known->least - 1e-12 * fabs(known->least) ||
				*value > known->greatest + 1e-12 * fabs(known->greatest))
				status = remark(input, at, i, MODEL_INPUT_OUTSIDE);
		}
		if (status < 0)
			return fail(input, csv, "out of memory");
	}
	return 0;
}

static void take_time(
	struct model_input *input, const struct csv *csv, size_t row, size_t at, ptrdiff_t time, bool is_rate)
{
	double number;

	input->measured[at] = NAN;
	if (time < 0 || csv_number(cell(csv, row, time), &number) < 0 || !(number > 0))
		return;
	input->measured[at] = is_rate ? 1 / number : number;
}

static void name_columns(struct model_input *input, const struct pm_fit_model *model, size_t rows)
{
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *known = &model->columns[i];

		input->columns[i] = (struct pm_fit_column){.name = known->name,
			.role = known->role,
			.values = input->numbers + i * rows,
			.level_count = known->level_count,
			.levels = (const char *const *)known->levels};
	}
}

int model_input_init(struct model_input *input, const struct csv *csv, const struct pm_fit_model *model,
	const char *time, bool is_rate, bool skip_bad)
{
	size_t rows = csv->row_count, at = 0;
	ptrdiff_t place = time ? csv_find(csv, time) : -1;

	*input = (struct model_input){0};
	input->places = calloc(model->column_count + 1, sizeof(*input->places));
	input->columns = calloc(model->column_count + 1, sizeof(*input->columns));
	input->numbers = calloc(model->column_count * rows + 1, sizeof(*input->numbers));
	input->measured = calloc(rows + 1, sizeof(*input->measured));
	input->lines = calloc(rows + 1, sizeof(*input->lines));
	input->rows = calloc(rows + 1, sizeof(*input->rows));
	input->flags = calloc(rows + 1, sizeof(*input->flags));
	if (!input->places || !input->columns || !input->numbers || !input->measured || !input->lines ||
		!input->rows || !input->flags)
		return fail(input, csv, "out of memory");
	if (find_columns(input, csv, model, time) < 0)
		return -EINVAL;
	for (size_t row = 0; row < rows; row++) {
		if (check_row(input, csv, model, row) < 0) {
			if (!skip_bad)
				return -EINVAL;
			input->skipped++;
			continue;
		}
		if (take_row(input, csv, model, row, at) < 0)
			return -ENOMEM;
		take_time(input, csv, row, at, place, is_rate);
		input->lines[at] = csv->lines[row];
		input->rows[at++] = row;
	}
	if (at == 0)
		return fail(input, csv, "no rows to predict");
	name_columns(input, model, rows);
	input->problem = (struct pm_fit_problem){.sample_count = at,
		.column_count = model->column_count,
		.columns = input->columns,
		.time = time ? input->measured : NULL,
		.time_unit = model->time_unit};
	input->error[0] = '\0';
	return 0;
}

void model_input_free(struct model_input *input)
{
	free(input->places);
	free(input->columns);
	free(input->numbers);
	free(input->measured);
	free(input->lines);
	free(input->rows);
	free(input->flags);
	free(input->remarks);
	*input = (struct model_input){0};
}
