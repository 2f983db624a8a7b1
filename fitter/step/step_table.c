/* Rows of training steps: see step_table.h. */
#include "step_table.h"
#include "base/text.h"
#include "placement.h"

#include <math.h>
#include <string.h>

#define MOST 1e12 /* samples, or times in any unit: beyond, squares of squares lose their digits */

struct reader {
	struct step_table *table;
	const struct csv *csv;
	const struct step_columns *columns;
	ptrdiff_t places[STEP_COLUMNS];
	bool with_time;
};

static const char *cell(const struct reader *r, size_t row, enum step_column column)
{
	return r->places[column] < 0 ? ""
				     : r->csv->cells[row * r->csv->column_count + (size_t)r->places[column]];
}

/* NULL, or what is wrong. */
static const char *number(const struct reader *r, size_t row, enum step_column column, double *value)
{
	const char *text = cell(r, row, column);

	if (csv_number(text, value) < 0)
		return arena_format(
			&r->table->arena, "%s '%.40s': expected a number", r->columns->names[column], text);
	if (!(*value > 0) || *value > MOST)
		return arena_format(&r->table->arena, "%s %.40s: expected a number above 0 and at most %g",
			r->columns->names[column], text, MOST);
	return NULL;
}

static const char *count_of(const struct reader *r, size_t row, enum step_column column, double *value)
{
	const char *bad = number(r, row, column, value);

	if (!bad && (*value != floor(*value) || *value > PLACEMENT_MOST))
		bad = arena_format(&r->table->arena, "%s %g: expected a whole number of at most %g",
			r->columns->names[column], *value, PLACEMENT_MOST);
	return bad;
}

/* GPUs and nodes, from a placement where the row has one. */
static const char *read_place(const struct reader *r, size_t row, struct form_point *point)
{
	const char *placement = cell(r, row, STEP_PLACEMENT), *bad = NULL;
	double gpus = NAN, nodes = NAN;

	point->nodes = 1;
	if (r->places[STEP_GPUS] >= 0 && (bad = count_of(r, row, STEP_GPUS, &point->gpus)))
		return bad;
	if (r->places[STEP_NODES] >= 0 && *cell(r, row, STEP_NODES) &&
		(bad = count_of(r, row, STEP_NODES, &point->nodes)))
		return bad;
	if (*placement && placement_read(placement, r->columns->by_digit, &gpus, &nodes) < 0)
		return arena_format(&r->table->arena,
			"placement '%.40s': expected GPUs on each node, such as 4-4-2", placement);
	if (*placement) {
		if (r->places[STEP_GPUS] >= 0 && point->gpus != gpus)
			return arena_format(&r->table->arena, "placement %.40s has %g GPUs, %s says %g",
				placement, gpus, r->columns->names[STEP_GPUS], point->gpus);
		point->gpus = gpus;
		point->nodes = nodes;
	} else if (r->places[STEP_GPUS] < 0) {
		return "placement is empty";
	}
	if (point->nodes > point->gpus)
		return arena_format(&r->table->arena, "%g GPU%s on %g nodes: impossible", point->gpus,
			pm_text_plural((size_t)point->gpus), point->nodes);
	return NULL;
}

/* The compute part, where the row tells of it. */
static double compute_of(const struct reader *r, size_t row, double time)
{
	double part;

	if (csv_number(cell(r, row, STEP_COMPUTE), &part) == 0)
		return part > 0 && part <= time ? part : NAN;
	if (csv_number(cell(r, row, STEP_EXPOSED), &part) == 0)
		return part >= 0 && part < time ? time - part : NAN;
	return NAN;
}

static const char *read_row(const struct reader *r, size_t row, struct step_row *to)
{
	const char *bad = NULL;

	to->row.point.batch = 1;
	if (r->places[STEP_BATCH] >= 0)
		bad = number(r, row, STEP_BATCH, &to->row.point.batch);

	bad = bad ? bad : read_place(r, row, &to->row.point);
	if (bad)
		return bad;
	if (r->columns->batch == STEP_BATCH_GLOBAL)
		to->row.point.batch /= to->row.point.gpus;
	to->row.time = to->row.compute = NAN;
	if (r->with_time || (r->places[STEP_TIME] >= 0 && *cell(r, row, STEP_TIME)))
		bad = number(r, row, STEP_TIME, &to->row.time);
	if (bad)
		return bad;
	if (r->columns->is_rate)
		to->row.time = (r->columns->of_samples ? to->row.point.batch * to->row.point.gpus : 1) /
			       to->row.time;
	to->row.compute = compute_of(r, row, to->row.time);
	to->level = arena_format(&r->table->arena, "%s", cell(r, row, STEP_LEVEL));
	return NULL;
}

int step_table_read(struct step_table *table, const struct csv *csv, const struct step_columns *columns,
	bool with_time, bool skip_bad)
{
	struct reader reader = {table, csv, columns, {0}, with_time};

	*table = (struct step_table){0};
	for (size_t c = 0; c < STEP_COLUMNS; c++)
		reader.places[c] = columns->names[c] ? csv_find(csv, columns->names[c]) : -1;
	table->rows = arena_alloc(&table->arena, csv->row_count + 1, sizeof(*table->rows));
	for (size_t k = 0; k < csv->row_count; k++) {
		struct step_row *row = &table->rows[table->count];
		const char *bad = read_row(&reader, k, row);

		row->line = csv->lines[k];
		table->count += !bad;
		table->skipped += bad && skip_bad;
		if (bad && !skip_bad) {
			table->error = arena_format(&table->arena,
				"%s, line %zu: %s (--skip-bad leaves such rows out)", csv->path,
				csv->lines[k], bad);
			return -1;
		}
	}
	if (!table->count) {
		table->error = arena_format(&table->arena, "%s: no usable rows", csv->path);
		return -1;
	}
	return 0;
}

void step_table_free(struct step_table *table)
{
	arena_free(&table->arena);
	*table = (struct step_table){0};
}
