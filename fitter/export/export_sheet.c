/*
 * A formula as a sheet: see export.h. Settings stand in a row; below it the same row at the edge of the data,
 * and for each number a row with that number alone as it was asked, and where its growth is held rows with it
 * at its least and greatest. The last column of each row is the formula, the time is made of these.
 */
#include "export.h"
#include "base/role.h"
#include "export_step.h"
#include "formula_text.h"
#include "sheet.h"
#include "step/beyond.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { TITLE, HINT, TIME, HEAD = 4, ASKED, LEAST, GREATEST, LOWER, UPPER, EDGE, MORE };

struct grid {
	struct sheet sheet;
	const struct export *export;
	const char *const *names; /* NULL: not in the formula */
	size_t *columns;          /* of the sheet, of each of the model's */
	size_t width;             /* the formula's column */
	size_t levels;            /* the row in which their names begin */
};

static void by_level(const struct formula_writer *w, size_t column, const double *numbers)
{
	struct grid *grid = (struct grid *)w->context;
	size_t count = w->model->columns[column].level_count, at = grid->columns[column];

	fprintf(w->out, "CHOOSE(MATCH(%s,%s,0)", w->names[column],
		sheet_range(&grid->sheet, grid->levels, at, grid->levels + count - 1, at));
	for (size_t l = 0; l < count; l++) {
		fputc(',', w->out);
		formula_number(w->out, numbers[l]);
	}
	fputc(')', w->out);
}

static void by_one(const struct formula_writer *w, size_t column, double one, double more)
{
	fprintf(w->out, "IF(%s>1,", w->names[column]);
	formula_number(w->out, more);
	fputc(',', w->out);
	formula_number(w->out, one);
	fputc(')', w->out);
}

/* LOG has two arguments in spreadsheets, so it is made of LN. */
static const struct formula_language spreadsheet = {"POWER", "(1/LN(2))*LN", "MAX", false, by_level, by_one};

/* The formula over a row of the sheet. */
static void put_formula(struct grid *grid, size_t row)
{
	const struct pm_fit_model *model = grid->export->model;
	const char **cells = arena_alloc(grid->export->arena, model->column_count + 1, sizeof(*cells));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < model->column_count; i++)
		cells[i] = grid->names[i] ? sheet_at(&grid->sheet, row, grid->columns[i]) : NULL;
	formula_write(&(struct formula_writer){out, &spreadsheet, model, cells, grid, grid->export->arena});
	fclose(out);
	sheet_formula(&grid->sheet, row, grid->width, "%s", text);
	free(text);
}

/* A row as that at the edge, with one column from another row. */
static void put_changed(struct grid *grid, size_t row, size_t column, size_t from, const char *what)
{
	const struct pm_fit_model *model = grid->export->model;

	sheet_text(&grid->sheet, row, 0, what);
	for (size_t i = 0; i < model->column_count; i++)
		if (grid->names[i])
			sheet_formula(&grid->sheet, row, grid->columns[i], "%s",
				sheet_at(&grid->sheet, i == column ? from : EDGE, grid->columns[i]));
	put_formula(grid, row);
}

static void put_number(struct grid *grid, size_t i)
{
	const struct pm_fit_model_column *column = &grid->export->model->columns[i];
	struct sheet *sheet = &grid->sheet;
	size_t at = grid->columns[i];
	struct beyond_growth growth;

	sheet_number(sheet, ASKED, at, column->least);
	sheet_number(sheet, LEAST, at, column->least);
	sheet_number(sheet, GREATEST, at, column->greatest);
	if (beyond_growth(column, &growth)) {
		sheet_number(sheet, LOWER, at, growth.lower);
		sheet_number(sheet, UPPER, at, growth.upper);
	}
	sheet_formula(sheet, EDGE, at, "MIN(MAX(%s,%s),%s)", sheet_at(sheet, ASKED, at),
		sheet_at(sheet, LEAST, at), sheet_at(sheet, GREATEST, at));
}

static void put_level(struct grid *grid, size_t i)
{
	const struct pm_fit_model_column *column = &grid->export->model->columns[i];

	sheet_text(&grid->sheet, ASKED, grid->columns[i], column->levels[0]);
	sheet_formula(
		&grid->sheet, EDGE, grid->columns[i], "%s", sheet_at(&grid->sheet, ASKED, grid->columns[i]));
	for (size_t l = 0; l < column->level_count; l++)
		sheet_text(&grid->sheet, grid->levels + l, grid->columns[i], column->levels[l]);
}

/* How many rows the growth of a column takes. */
static size_t growth_rows(const struct pm_fit_model_column *column)
{
	struct beyond_growth growth;

	if (!beyond_growth(column, &growth) || !(column->least < column->greatest))
		return 1;
	return growth.steeper > 0 && growth.near < column->greatest ? 4 : 3;
}

/* The formula's mean power from the column's value in one row to its greatest, which is in another. */
static const char *slope_text(struct grid *grid, size_t row, size_t at, size_t greatest)
{
	struct sheet *s = &grid->sheet;

	return arena_format(s->arena, "LN(%s/%s)/LN(%s/%s)", sheet_at(s, greatest, grid->width),
		sheet_at(s, row, grid->width), sheet_at(s, greatest, at), sheet_at(s, row, at));
}

/* The logarithm of the growth of one column from the edge, its rows from `row` on; rows used. */
static size_t put_growth(struct grid *grid, size_t i, size_t row)
{
	const struct pm_fit_model_column *column = &grid->export->model->columns[i];
	struct sheet *s = &grid->sheet;
	size_t at = grid->columns[i], growth = grid->width + 1, rows = growth_rows(column);
	struct beyond_growth held;
	const char *asked = sheet_at(s, ASKED, at), *edge = sheet_at(s, EDGE, at);
	const char *grown, *ratio, *slope = "0", *steep = "";

	put_changed(grid, row, i, ASKED, arena_format(s->arena, "%s as asked", grid->names[i]));
	grown = arena_format(
		s->arena, "LN(%s/%s)", sheet_at(s, row, grid->width), sheet_at(s, EDGE, grid->width));
	if (!beyond_growth(column, &held)) {
		sheet_formula(s, row, growth, "IF(%s=%s,0,%s)", asked, edge, grown);
		return 1;
	}
	ratio = arena_format(s->arena, "LN(%s/%s)", asked, edge);
	if (rows > 1) {
		put_changed(
			grid, row + 1, i, LEAST, arena_format(s->arena, "%s at its least", grid->names[i]));
		put_changed(grid, row + 2, i, GREATEST,
			arena_format(s->arena, "%s at its greatest", grid->names[i]));
		slope = slope_text(grid, row + 1, at, row + 2);
	}
	if (rows > 3) {
		put_changed(grid, row + 3, i, GREATEST, arena_format(s->arena, "%s near it", grid->names[i]));
		sheet_number(s, row + 3, at, held.near);
		steep = arena_format(
			s->arena, ",%g*%s", held.steeper, slope_text(grid, row + 3, at, row + 2));
	}
	sheet_formula(s, row, growth + 1, "MIN(%s,%s%s)*%s", sheet_at(s, LOWER, at), slope, steep, ratio);
	sheet_formula(s, row, growth + 2, "MAX(%s%s)*%s", sheet_at(s, UPPER, at), steep, ratio);
	sheet_formula(s, row, growth, "IF(%s=%s,0,MIN(MAX(%s,MIN(%s,%s)),MAX(%s,%s)))", asked, edge, grown,
		sheet_at(s, row, growth + 1), sheet_at(s, row, growth + 2), sheet_at(s, row, growth + 1),
		sheet_at(s, row, growth + 2));
	return rows;
}

static void put_heads(struct grid *grid)
{
	static const struct {
		size_t row;
		const char *text;
	} heads[] = {{TIME, "time"}, {HEAD, "setting"}, {ASKED, "asked"}, {LEAST, "least fitted"},
		{GREATEST, "greatest fitted"}, {LOWER, "least power beyond"},
		{UPPER, "greatest power beyond"}, {EDGE, "at the edge"}};
	const struct export *export = grid->export;

	sheet_text(&grid->sheet, TITLE, 0,
		arena_format(export->arena, "%s: what `pmfit predict` says. %s", export->name,
			formula_about(export)));
	sheet_text(&grid->sheet, HINT, 0,
		"Type settings into the row `asked`. Formulas have the English names of functions.");
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		sheet_text(&grid->sheet, heads[i].row, 0, heads[i].text);
	for (size_t i = 0; i < export->model->column_count; i++)
		if (grid->names[i])
			sheet_text(&grid->sheet, HEAD, grid->columns[i], grid->names[i]);
	sheet_text(&grid->sheet, HEAD, grid->width, "formula");
	sheet_text(&grid->sheet, HEAD, grid->width + 1, "logarithm of the growth");
}

/* The time is at B3, whether all numbers were fitted beside it. */
static void put_answer(struct grid *grid, size_t last)
{
	const struct export *export = grid->export;
	struct sheet *s = &grid->sheet;
	const char *growth = sheet_range(s, MORE, grid->width + 1, last, grid->width + 1), *inside = "TRUE";

	sheet_formula(s, TIME, 1, "%s*EXP(SUM(%s))", sheet_at(s, EDGE, grid->width), growth);
	sheet_text(s, TIME, 2, export->model->time_unit ? export->model->time_unit : "");
	for (size_t i = 0; i < export->model->column_count; i++)
		if (grid->names[i] && !role_has_levels(export->model->columns[i].role))
			inside = arena_format(s->arena, "%s,%s=%s", inside,
				sheet_at(s, ASKED, grid->columns[i]), sheet_at(s, EDGE, grid->columns[i]));
	sheet_formula(s, TIME, 3, "IF(AND(%s),\"\",\"beyond the fitted rows\")", inside);
}

/* MATCH takes capital letters for small ones. */
static const char *alike(const struct pm_fit_model *model, struct arena *arena)
{
	for (size_t i = 0; i < model->column_count; i++)
		for (size_t l = 0;
			role_has_levels(model->columns[i].role) && l < model->columns[i].level_count; l++) {
			if (model->columns[i].level_count > 250)
				return arena_format(arena,
					"%s has more than 250 levels, more than a spreadsheet can "
					"choose from",
					model->columns[i].name);
			for (size_t m = 0; m < l; m++)
				if (strcasecmp(model->columns[i].levels[l], model->columns[i].levels[m]) == 0)
					return arena_format(arena,
						"levels of %s differ by capital letters alone, which a spreadsheet "
						"cannot tell",
						model->columns[i].name);
		}
	return NULL;
}

static size_t lay_out(struct grid *grid)
{
	const struct pm_fit_model *model = grid->export->model;
	size_t row = MORE, height = 0;

	for (size_t i = 0; i < model->column_count; i++) {
		if (!grid->names[i])
			continue;
		grid->columns[i] = ++grid->width;
		if (role_has_levels(model->columns[i].role))
			height = model->columns[i].level_count > height ? model->columns[i].level_count
									: height;
		else
			row += growth_rows(&model->columns[i]);
	}
	grid->width++;
	grid->levels = row + 2;
	return row;
}

const char *export_sheet(const struct export *export, FILE *out)
{
	const struct pm_fit_model *model = export->model;
	struct grid grid = {.sheet = {.arena = export->arena}, .export = export};
	size_t row = MORE, end;
	const char *bad;

	if (!model)
		return export_step_sheet(export, out);
	bad = alike(model, export->arena);
	if (bad)
		return bad;
	grid.names = export_columns(export);
	grid.columns = arena_alloc(export->arena, model->column_count + 1, sizeof(*grid.columns));
	end = lay_out(&grid);
	put_heads(&grid);
	for (size_t i = 0; i < model->column_count; i++)
		if (grid.names[i] && role_has_levels(model->columns[i].role))
			put_level(&grid, i);
		else if (grid.names[i])
			put_number(&grid, i);
	if (grid.levels > end)
		sheet_text(&grid.sheet, grid.levels - 1, 0, "levels that were fitted");
	put_formula(&grid, EDGE);
	for (size_t i = 0; i < model->column_count; i++)
		if (grid.names[i] && !role_has_levels(model->columns[i].role))
			row += put_growth(&grid, i, row);
	put_answer(&grid, row > MORE ? row - 1 : MORE);
	sheet_write(&grid.sheet, out);
	sheet_free(&grid.sheet);
	return NULL;
}
