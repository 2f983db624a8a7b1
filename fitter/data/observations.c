/* From a table to problems: see observations.h. */
#include "observations.h"
#include "base/random.h"
#include "base/role.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The stream of random numbers that a split is drawn from. */
#define SPLIT_STREAM 77
/* Of a column: each is a parameter. */
#define LEVELS_MOST 1000
/* Of a number: squares of what is measured, and their sums, stay finite. */
#define NUMBER_MOST 1e30

struct builder {
	struct observations *observations;
	const struct csv *csv;
	const struct description *description;
	ptrdiff_t time, split;
	ptrdiff_t *places; /* of the description's columns in the table */
	bool *fitted;      /* by row */
	bool *left_out;
};

static __attribute__((format(printf, 2, 3))) int fail(struct builder *b, const char *format, ...)
{
	int used = snprintf(b->observations->error, sizeof(b->observations->error), "%s: ", b->csv->path);
	va_list list;

	va_start(list, format);
	vsnprintf(b->observations->error + used, sizeof(b->observations->error) - (size_t)used, format, list);
	va_end(list);
	return -EINVAL;
}

static const char *cell(const struct builder *b, size_t row, ptrdiff_t column)
{
	return b->csv->cells[row * b->csv->column_count + (size_t)column];
}

/* What tables write where they have nothing. */
static bool is_missing(const char *text)
{
	static const char *const words[] = {"", "NA", "N/A", "NaN", "nan", "null", "None", "-", "?"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static int find_columns(struct builder *b)
{
	const struct description *d = b->description;
	char hint[CSV_HINT];

	if (!d->time)
		return fail(b, "no time column: expected --time, or a description with a line 'time COLUMN'");
	b->time = csv_find(b->csv, d->time);
	if (b->time < 0)
		return fail(b, "time column %s not found%s", d->time, csv_hint(b->csv, d->time, hint));
	b->split = d->split ? csv_find(b->csv, d->split) : -1;
	if (d->split && b->split < 0)
		return fail(b, "split column %s not found%s", d->split, csv_hint(b->csv, d->split, hint));
	for (size_t i = 0; i < d->role_count; i++) {
		b->places[i] = csv_find(b->csv, d->roles[i].column);
		if (b->places[i] < 0)
			return fail(b, "column %s not found%s", d->roles[i].column,
				csv_hint(b->csv, d->roles[i].column, hint));
		if (b->places[i] == b->time && d->roles[i].role != PM_FIT_IGNORED)
			return fail(b, "column %s is the time and cannot be a predictor", d->time);
	}
	return 0;
}

/* A number that a predictor's column has; the sentences are those of the remedy. */
static int check_number(struct builder *b, size_t row, size_t i)
{
	const struct description_role *role = &b->description->roles[i];
	const char *text = cell(b, row, b->places[i]);
	size_t line = b->csv->lines[row];
	double number;

	if (csv_number(text, &number) < 0)
		return fail(b, "line %zu: column %s: '%s' is not a number; is the column categorical?", line,
			role->column, text);
	if (fabs(number) > NUMBER_MOST)
		return fail(b, "line %zu: column %s: %s is beyond %g; --skip-bad skips such rows", line,
			role->column, text, NUMBER_MOST);
	if (role->role != PM_FIT_INTRINSIC && role->role != PM_FIT_EXTRINSIC)
		return 0;
	if (number < 0)
		return fail(b,
			"line %zu: column %s: %g is negative and cannot be raised to a power; make the column categorical "
			"or ignore it; --skip-bad skips such rows",
			line, role->column, number);
	if (number == 0 && b->description->refuse_zero)
		return fail(b,
			"line %zu: column %s: zero cannot be raised to a negative power; make the column categorical, "
			"ignore it, bound the powers below by 0, or --skip-bad",
			line, role->column);
	return 0;
}

/* 0, or negative with the sentence that says what is wrong with a row. */
static int check_row(struct builder *b, size_t row, double *time)
{
	const struct description *d = b->description;
	size_t line = b->csv->lines[row];
	const char *text = cell(b, row, b->time);

	if (is_missing(text))
		return fail(b, "line %zu: the time is missing; --skip-bad skips such rows", line);
	if (csv_number(text, time) < 0)
		return fail(b, "line %zu: the time is '%s': expected a number", line, text);
	if (*time <= 0)
		return fail(b,
			"line %zu: the %s is %s: expected a positive number; --skip-bad skips such rows",
			line, d->is_rate ? "rate" : "time", text);
	if (*time > NUMBER_MOST || *time < 1 / NUMBER_MOST)
		return fail(b,
			"line %zu: the %s is %s: expected a number from %g to %g; --skip-bad skips such rows",
			line, d->is_rate ? "rate" : "time", text, 1 / NUMBER_MOST, NUMBER_MOST);
	if (d->is_rate)
		*time = 1 / *time;
	for (size_t i = 0; i < d->role_count; i++) {
		if (d->roles[i].role == PM_FIT_IGNORED)
			continue;
		text = cell(b, row, b->places[i]);
		if (is_missing(text))
			return fail(b,
				"line %zu: column %s: the value is missing; --skip-bad skips such rows", line,
				d->roles[i].column);
		if (!role_has_levels(d->roles[i].role) && check_number(b, row, i) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Does a fitted row have the row's level? */
static bool is_fitted_level(const struct builder *b, size_t row, ptrdiff_t column)
{
	for (size_t other = 0; other < b->csv->row_count; other++)
		if (!b->left_out[other] && b->fitted[other] &&
			strcmp(cell(b, other, column), cell(b, row, column)) == 0)
			return true;
	return false;
}

/* Rows to test whose level no fitted row has: nothing can be said of them. */
static void skip_unfitted_levels(struct builder *b)
{
	for (size_t i = 0; i < b->description->role_count; i++)
		for (size_t row = 0;
			row < b->csv->row_count && role_has_levels(b->description->roles[i].role); row++)
			if (!b->left_out[row] && !b->fitted[row] && !is_fitted_level(b, row, b->places[i])) {
				b->left_out[row] = true;
				b->observations->skipped++;
			}
}

static int choose_rows(struct builder *b)
{
	size_t count = b->csv->row_count, kept = 0, fitted = 0, *order;
	struct random random;
	double time;

	for (size_t row = 0; row < count; row++) {
		if (check_row(b, row, &time) < 0) {
			if (!b->description->skip_bad)
				return -EINVAL;
			b->left_out[row] = true;
			b->observations->skipped++;
			continue;
		}
		kept++;
		b->fitted[row] = b->split < 0 || strcmp(cell(b, row, b->split), b->description->train) == 0;
		fitted += b->fitted[row];
	}
	if (kept == 0)
		return fail(b, "no samples left: all %zu are incomplete or have no positive time", count);
	if (fitted == 0)
		return fail(b, "no samples to fit: column %s never contains '%s'", b->description->split,
			b->description->train);
	if (b->split >= 0 || b->description->share >= 1)
		return 0;
	order = malloc(kept * sizeof(*order));
	if (!order)
		return fail(b, "out of memory");
	kept = 0;
	for (size_t row = 0; row < count; row++)
		if (!b->left_out[row])
			order[kept++] = row;
	random_init(&random, b->description->seed, SPLIT_STREAM);
	random_shuffle(&random, order, kept);
	fitted = (size_t)lround(b->description->share * (double)kept);
	for (size_t i = fitted ? fitted : 1; i < kept; i++)
		b->fitted[order[i]] = false;
	free(order);
	return 0;
}

static int level_number(struct builder *b, size_t role, const char *word, bool may_add, double *number)
{
	struct column_names *names = &b->observations->names[role];
	char **more;

	for (size_t l = 0; l < names->level_count; l++)
		if (strcmp(names->levels[l], word) == 0) {
			*number = (double)l;
			return 0;
		}
	if (!may_add)
		return -1;
	if (names->level_count == LEVELS_MOST)
		return fail(b, "column %s has more than %d levels: is it numeric?", names->name, LEVELS_MOST);
	more = realloc(names->levels, (names->level_count + 1) * sizeof(*more));
	if (!more)
		return fail(b, "out of memory");
	names->levels = more;
	more[names->level_count] = strdup(word);
	if (!more[names->level_count])
		return fail(b, "out of memory");
	*number = (double)names->level_count++;
	return 0;
}

/* The columns of one of the two problems; answers where the next numbers may go, NULL on failure. */
static double *fill(struct builder *b, bool fitted, struct pm_fit_problem *problem,
	struct pm_fit_column *columns, double *next)
{
	const struct description *d = b->description;
	double *time = next;

	problem->columns = columns;
	problem->column_count = d->role_count;
	problem->time = time;
	problem->time_unit = b->observations->unit;
	for (size_t row = 0; row < b->csv->row_count; row++)
		if (!b->left_out[row] && b->fitted[row] == fitted)
			check_row(b, row, next++);
	problem->sample_count = (size_t)(next - time);
	for (size_t i = 0; i < d->role_count; i++) {
		bool levelled = role_has_levels(d->roles[i].role);

		columns[i] = (struct pm_fit_column){
			.name = b->observations->names[i].name, .role = d->roles[i].role, .values = next};
		for (size_t row = 0; row < b->csv->row_count && d->roles[i].role != PM_FIT_IGNORED; row++) {
			const char *text = cell(b, row, b->places[i]);

			if (b->left_out[row] || b->fitted[row] != fitted)
				continue;
			if (!levelled)
				csv_number(text, next);
			else if (level_number(b, i, text, fitted, next) < 0) {
				if (!fitted)
					fail(b,
						"line %zu: column %s: level %s is in the test set but in "
						"no fitted sample: no prediction possible",
						b->csv->lines[row], d->roles[i].column, text);
				return NULL;
			}
			next++;
		}
	}
	return next;
}

static void name_levels(const struct observations *observations, struct pm_fit_column *columns)
{
	for (size_t i = 0; i < observations->column_count; i++)
		if (role_has_levels(columns[i].role)) {
			columns[i].level_count = observations->names[i].level_count;
			columns[i].levels = (const char *const *)observations->names[i].levels;
		}
}

static int build(struct builder *b)
{
	struct observations *o = b->observations;
	const struct description *d = b->description;
	size_t rows = b->csv->row_count;
	double *next;

	o->column_count = d->role_count;
	o->names = calloc(d->role_count + 1, sizeof(*o->names));
	o->train_columns = calloc(d->role_count + 1, sizeof(*o->train_columns));
	o->test_columns = calloc(d->role_count + 1, sizeof(*o->test_columns));
	o->numbers = calloc((d->role_count + 1) * rows + 1, sizeof(*o->numbers));
	o->unit = d->unit ? strdup(d->unit) : NULL;
	if (!o->names || !o->train_columns || !o->test_columns || !o->numbers)
		return fail(b, "out of memory");
	for (size_t i = 0; i < d->role_count; i++)
		if (!(o->names[i].name = strdup(d->roles[i].column)))
			return fail(b, "out of memory");
	next = fill(b, true, &o->train, o->train_columns, o->numbers);
	if (next)
		next = fill(b, false, &o->test, o->test_columns, next);
	if (!next)
		return -EINVAL;
	name_levels(o, o->train_columns);
	name_levels(o, o->test_columns);
	o->error[0] = '\0';
	return 0;
}

int observations_init(
	struct observations *observations, const struct csv *csv, const struct description *description)
{
	struct builder b = {.observations = observations, .csv = csv, .description = description};
	int status;

	*observations = (struct observations){0};
	b.places = calloc(description->role_count + 1, sizeof(*b.places));
	b.fitted = calloc(csv->row_count + 1, sizeof(*b.fitted));
	b.left_out = calloc(csv->row_count + 1, sizeof(*b.left_out));
	status = b.places && b.fitted && b.left_out ? find_columns(&b) : fail(&b, "out of memory");
	if (status == 0)
		status = choose_rows(&b);
	if (status == 0 && description->skip_bad)
		skip_unfitted_levels(&b);
	if (status == 0)
		status = build(&b);
	free(b.places);
	free(b.fitted);
	free(b.left_out);
	return status;
}

void observations_free(struct observations *observations)
{
	for (size_t i = 0; i < observations->column_count && observations->names; i++) {
		for (size_t l = 0; l < observations->names[i].level_count; l++)
			free(observations->names[i].levels[l]);
		free(observations->names[i].levels);
		free(observations->names[i].name);
	}
	free(observations->names);
	free(observations->train_columns);
	free(observations->test_columns);
	free(observations->numbers);
	free(observations->unit);
	*observations = (struct observations){0};
}
