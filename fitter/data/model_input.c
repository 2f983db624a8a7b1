/* From a table to a question: see ask.h. */
#include "model_input.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((format(printf, 3, 4))) int fail(
	struct ask *ask, const struct csv *csv, const char *format, ...)
{
	int used = snprintf(ask->error, sizeof(ask->error), "%.200s: ", csv->path);
	va_list list;

	va_start(list, format);
	vsnprintf(ask->error + used, sizeof(ask->error) - (size_t)used, format, list);
	va_end(list);
	return -EINVAL;
}

static bool is_levelled(enum pm_fit_role role)
{
	return role == PM_FIT_CATEGORICAL || role == PM_FIT_FACTOR;
}

static const char *cell(const struct csv *csv, size_t row, ptrdiff_t column)
{
	return csv->cells[row * csv->column_count + (size_t)column];
}

static int find_columns(
	struct ask *ask, const struct csv *csv, const struct pm_fit_model *model, const char *time)
{
	for (size_t i = 0; i < model->column_count; i++) {
		bool ignored = model->columns[i].role == PM_FIT_IGNORED;

		ask->places[i] = ignored ? -1 : csv_find(csv, model->columns[i].name);
		if (ask->places[i] < 0 && !ignored)
			return fail(ask, csv, "there is no column %s, which the model needs",
				model->columns[i].name);
	}
	if (time && csv_find(csv, time) < 0)
		return fail(ask, csv, "there is no column %s for the time", time);
	return 0;
}

static int remark(struct ask *ask, size_t row, size_t column, unsigned flag)
{
	size_t count = ask->remark_count;

	/* room for a power of two of them */
	if ((count & (count - 1)) == 0) {
		struct ask_remark *more = realloc(ask->remarks, 2 * (count + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		ask->remarks = more;
	}
	ask->remarks[ask->remark_count++] = (struct ask_remark){row, column, flag};
	ask->flags[row] |= flag;
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
static int check_row(struct ask *ask, const struct csv *csv, const struct pm_fit_model *model, size_t row)
{
	double number;

	for (size_t i = 0; i < model->column_count; i++) {
		const char *text = ask->places[i] < 0 ? NULL : cell(csv, row, ask->places[i]);

		if (!text)
			continue;
		if (!*text)
			return fail(ask, csv, "line %zu: column %s: the value is missing", csv->lines[row],
				model->columns[i].name);
		if (!is_levelled(model->columns[i].role) && csv_number(text, &number) < 0)
			return fail(ask, csv, "line %zu: column %s: '%s' is not a number", csv->lines[row],
				model->columns[i].name, text);
	}
	return 0;
}

static int take_row(
	struct ask *ask, const struct csv *csv, const struct pm_fit_model *model, size_t row, size_t at)
{
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *known = &model->columns[i];
		double *value = ask->numbers + i * csv->row_count + at;
		const char *text = ask->places[i] < 0 ? NULL : cell(csv, row, ask->places[i]);
		size_t level;
		int status = 0;

		if (text && is_levelled(known->role)) {
			level = level_of(known, text);
			if (level == known->level_count)
				status = remark(ask, at, i, ASK_UNSEEN);
			*value = status == 0 && level < known->level_count ? (double)level : 0;
		} else if (text) {
			csv_number(text, value);
			/* decimal digits of a file are not all the bits */
			if (*value < known->least - 1e-12 * fabs(known->least) ||
				*value > known->greatest + 1e-12 * fabs(known->greatest))
				status = remark(ask, at, i, ASK_OUTSIDE);
		}
		if (status < 0)
			return fail(ask, csv, "no memory for it");
	}
	return 0;
}

static void take_time(
	struct ask *ask, const struct csv *csv, size_t row, size_t at, ptrdiff_t time, bool is_rate)
{
	double number;

	ask->measured[at] = NAN;
	if (time < 0 || csv_number(cell(csv, row, time), &number) < 0 || !(number > 0))
		return;
	ask->measured[at] = is_rate ? 1 / number : number;
}

static void name_columns(struct ask *ask, const struct pm_fit_model *model, size_t rows)
{
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *known = &model->columns[i];

		ask->columns[i] = (struct pm_fit_column){.name = known->name,
			.role = known->role,
			.values = ask->numbers + i * rows,
			.level_count = known->level_count,
			.levels = (const char *const *)known->levels};
	}
}

int ask_init(struct ask *ask, const struct csv *csv, const struct pm_fit_model *model, const char *time,
	bool is_rate, bool skip_bad)
{
	size_t rows = csv->row_count, at = 0;
	ptrdiff_t place = time ? csv_find(csv, time) : -1;

	*ask = (struct ask){0};
	ask->places = calloc(model->column_count + 1, sizeof(*ask->places));
	ask->columns = calloc(model->column_count + 1, sizeof(*ask->columns));
	ask->numbers = calloc(model->column_count * rows + 1, sizeof(*ask->numbers));
	ask->measured = calloc(rows + 1, sizeof(*ask->measured));
	ask->lines = calloc(rows + 1, sizeof(*ask->lines));
	ask->rows = calloc(rows + 1, sizeof(*ask->rows));
	ask->flags = calloc(rows + 1, sizeof(*ask->flags));
	if (!ask->places || !ask->columns || !ask->numbers || !ask->measured || !ask->lines || !ask->rows ||
		!ask->flags)
		return fail(ask, csv, "no memory for it");
	if (find_columns(ask, csv, model, time) < 0)
		return -EINVAL;
	for (size_t row = 0; row < rows; row++) {
		if (check_row(ask, csv, model, row) < 0) {
			if (!skip_bad)
				return -EINVAL;
			ask->skipped++;
			continue;
		}
		if (take_row(ask, csv, model, row, at) < 0)
			return -ENOMEM;
		take_time(ask, csv, row, at, place, is_rate);
		ask->lines[at] = csv->lines[row];
		ask->rows[at++] = row;
	}
	if (at == 0)
		return fail(ask, csv, "there is no row to predict");
	name_columns(ask, model, rows);
	ask->problem = (struct pm_fit_problem){.sample_count = at,
		.column_count = model->column_count,
		.columns = ask->columns,
		.time = time ? ask->measured : NULL,
		.time_unit = model->time_unit};
	ask->error[0] = '\0';
	return 0;
}

void ask_free(struct ask *ask)
{
	free(ask->places);
	free(ask->columns);
	free(ask->numbers);
	free(ask->measured);
	free(ask->lines);
	free(ask->rows);
	free(ask->flags);
	free(ask->remarks);
	*ask = (struct ask){0};
}
