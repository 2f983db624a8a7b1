/* Layers on several GPUs: see transfer_table.h. */
#include "transfer_table.h"
#include "step/step_table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEVICE, TIME, FLOPS, BYTES, LAYER, PART_COUNT };

#define NAMES 12 /* of a column, at most */

static const char *const known[PART_COUNT][NAMES] = {
	[DEVICE] = {"device", "device_name", "gpu_name", "gpu_model", "gpu_type", "gpu"},
	[TIME] = {"time", "time_ns", "time_us", "time_ms", "time_s", "duration_ns", "duration_us",
		"duration_ms", "seconds"},
	[FLOPS] = {"flops", "flop", "operations"},
	[BYTES] = {"bytes"},
	[LAYER] = {"layer", "name"},
};

/* What `pmanalyze roofline --csv` makes of times or of the two amounts. */
static const char *const derived[] = {"flops_per_byte", "flops_per_second", "bytes_per_second", "roof_ns",
	"roof_share", "bound", "uncounted_ns", "possible_gain_ns", "gain_ns"};

/* One file, read, and where its columns are; -1: it has none. */
struct reader {
	struct csv csv;
	const struct transfer_source *source;
	ptrdiff_t at[PART_COUNT];
	ptrdiff_t *descriptor; /* by the table's columns */
};

__attribute__((format(printf, 2, 3))) static int fail(struct transfer_table *table, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(table->error, sizeof(table->error), format, list);
	va_end(list);
	return -EINVAL;
}

static ptrdiff_t find_known(const struct csv *csv, int part)
{
	for (size_t i = 0; i < NAMES && known[part][i]; i++)
		for (size_t c = 0; c < csv->column_count; c++)
			if (strcasecmp(csv->names[c], known[part][i]) == 0)
				return (ptrdiff_t)c;
	return -1;
}

static int find_columns(
	struct transfer_table *table, struct reader *r, const struct transfer_columns *columns)
{
	static const char *const options[] = {
		"--device-column", "--time", "--flops-column", "--bytes-column"};
	const char *const names[] = {columns->device, columns->time, columns->flops, columns->bytes};
	const bool needed[] = {!r->source->device && !r->source->is_asked, !r->source->is_asked, true, true};
	char hint[CSV_HINT];

	for (int part = 0; part < PART_COUNT; part++) {
		const char *name = part < LAYER ? names[part] : NULL;

		r->at[part] = name ? csv_find(&r->csv, name) : find_known(&r->csv, part);
		if (r->at[part] >= 0 || part == LAYER || !needed[part])
			continue;
		return fail(table, "%.200s: no column '%.60s'%s: name one with %s", r->csv.path,
			name ? name : known[part][0], name ? csv_hint(&r->csv, name, hint) : "",
			options[part]);
	}
	return 0;
}

static bool is_ignored(const struct transfer_columns *columns, const char *name)
{
	for (size_t i = 0; i < sizeof(derived) / sizeof(*derived); i++)
		if (strcmp(name, derived[i]) == 0)
			return true;
	for (size_t i = 0; i < columns->ignored_count; i++)
		if (strcmp(name, columns->ignored[i]) == 0)
			return true;
	return false;
}

/* The first file says which descriptors there are. */
static void choose_descriptors(
	struct transfer_table *table, const struct reader *first, const struct transfer_columns *columns)
{
	table->columns = arena_alloc(&table->arena, first->csv.column_count + 1, sizeof(*table->columns));
	for (size_t c = 0; c < first->csv.column_count; c++) {
		bool is_part = is_ignored(columns, first->csv.names[c]);

		for (int part = 0; part < PART_COUNT; part++)
			is_part |= first->at[part] == (ptrdiff_t)c;
		if (!is_part)
			table->columns[table->column_count++] =
				arena_format(&table->arena, "%s", first->csv.names[c]);
	}
}

static int find_descriptors(struct transfer_table *table, struct reader *r, const struct reader *first)
{
	r->descriptor = arena_alloc(&table->arena, table->column_count + 1, sizeof(*r->descriptor));
	for (size_t i = 0; i < table->column_count; i++) {
		r->descriptor[i] = csv_find(&r->csv, table->columns[i]);
		if (r->descriptor[i] < 0)
			return fail(table,
				"%.200s: no column '%.60s', which %.200s has (--ignore leaves it out)",
				r->csv.path, table->columns[i], first->csv.path);
	}
	return 0;
}

/* NAN where it is no number. */
static double cell_number(const struct reader *r, size_t row, ptrdiff_t column)
{
	double number;

	if (column < 0 || csv_number(r->csv.cells[row * r->csv.column_count + (size_t)column], &number) < 0)
		return NAN;
	return number;
}

static const char *cell(const struct reader *r, size_t row, ptrdiff_t column)
{
	return column < 0 ? "" : r->csv.cells[row * r->csv.column_count + (size_t)column];
}

/* Takes a row; NULL, or what is wrong with it. */
static const char *take_row(struct transfer_table *table, const struct reader *r, size_t row, size_t target,
	double unit_ns, struct transfer_layer *layer)
{
	const char *device = r->source->device ? r->source->device : cell(r, row, r->at[DEVICE]);
	bool has_time = !r->source->is_asked && *cell(r, row, r->at[TIME]);

	*layer = (struct transfer_layer){.name = "",
		.device = r->source->is_asked ? target : transfer_device_find(table, device),
		.flops = cell_number(r, row, r->at[FLOPS]),
		.bytes = cell_number(r, row, r->at[BYTES]),
		.time = has_time ? unit_ns * cell_number(r, row, r->at[TIME]) : NAN,
		.path = arena_format(&table->arena, "%s", r->csv.path),
		.line = r->csv.lines[row]};
	if (layer->device == table->device_count)
		return arena_format(&table->arena, "no peak rates of device '%.60s'", device);
	if (!(layer->flops >= 0 && layer->bytes >= 0 && layer->flops + layer->bytes > 0) ||
		isinf(layer->flops + layer->bytes))
		return "operations or bytes are missing or impossible";
	if (has_time && !(layer->time > 0 && isfinite(layer->time)))
		return "the time is not above 0";
	if (!has_time && layer->device != target)
		return "the time is missing, and the device is not the one that is asked for";
	if (r->at[LAYER] >= 0)
		layer->name = arena_format(&table->arena, "%s", cell(r, row, r->at[LAYER]));
	return NULL;
}

/* A row that was taken, and where its descriptors are. */
struct place {
	const struct reader *reader;
	size_t row;
};

static int take_rows(struct transfer_table *table, const struct reader *readers, size_t reader_count,
	const struct transfer_columns *columns, size_t target, struct place **places)
{
	size_t place_count = 0, place_room = 0;

	for (size_t i = 0; i < reader_count; i++) {
		const struct reader *r = &readers[i];
		const char *name = r->at[TIME] >= 0 ? r->csv.names[r->at[TIME]] : "";
		const char *ending = strrchr(name, '_'), *unit = columns->unit;
		double unit_ns;

		if (!unit)
			unit = strcmp(name, "seconds") == 0 ? "s" : ending ? ending + 1 : "";
		unit_ns = 1e9 * step_unit_seconds(unit);
		if (!r->source->is_asked && isnan(unit_ns))
			return fail(table, "%.200s: unit of '%.60s' unknown: --time COLUMN,UNIT", r->csv.path,
				name);
		for (size_t row = 0; row < r->csv.row_count; row++) {
			struct transfer_layer layer;
			const char *bad = take_row(table, r, row, target, unit_ns, &layer);

			if (bad && !columns->skip_bad)
				return fail(table, "%.200s: line %zu: %s (--skip-bad leaves such rows out)",
					r->csv.path, r->csv.lines[row], bad);
			table->skipped += bad != NULL;
			if (bad)
				continue;
			*MEM_PUSH(*places, place_count, place_room) = (struct place){r, row};
			*MEM_PUSH(table->layers, table->count, table->room) = layer;
		}
	}
	return 0;
}

/* Of one column: numbers, or a 0 or 1 for each of its words. */
static bool is_numeric(const struct transfer_table *table, const struct place *places, size_t column)
{
	for (size_t k = 0; k < table->count; k++)
		if (isnan(cell_number(places[k].reader, places[k].row, places[k].reader->descriptor[column])))
			return false;
	return true;
}

struct words {
	const char **items;
	size_t count, room;
};

static size_t word_index(struct words *words, const char *word)
{
	size_t i = 0;

	while (i < words->count && strcmp(words->items[i], word) != 0)
		i++;
	if (i == words->count)
		*MEM_PUSH(words->items, words->count, words->room) = word;
	return i;
}

#define MOST_WORDS 64 /* of a column: more are names, which say nothing of a layer */

/* values: of the table's rows, `width` each; NULL to count only. Answers how many numbers it takes. */
static size_t encode(const struct transfer_table *table, const struct place *places, size_t column,
	double *values, size_t width)
{
	struct words words = {0};
	bool positive = true;

	if (is_numeric(table, places, column)) {
		for (size_t k = 0; k < table->count && values; k++) {
			values[k * width] = cell_number(
				places[k].reader, places[k].row, places[k].reader->descriptor[column]);
			positive &= values[k * width] > 0;
		}
		for (size_t k = 0; k < table->count && values && positive; k++)
			values[k * width] = log(values[k * width]);
		return 1;
	}
	for (size_t k = 0; k < table->count; k++)
		word_index(
			&words, cell(places[k].reader, places[k].row, places[k].reader->descriptor[column]));
	for (size_t k = 0; k < table->count && values && words.count <= MOST_WORDS; k++)
		values[k * width + word_index(&words, cell(places[k].reader, places[k].row,
							      places[k].reader->descriptor[column]))] = 1;
	free(words.items);
	return words.count <= MOST_WORDS ? words.count : 0;
}

static void take_descriptors(struct transfer_table *table, const struct place *places)
{
	size_t *widths = arena_alloc(&table->arena, table->column_count + 1, sizeof(*widths)), at = 0,
	       kept = 0;
	double *values;

	for (size_t i = 0; i < table->column_count; i++)
		table->descriptor_count += widths[i] = encode(table, places, i, NULL, 0);
	values = arena_alloc(&table->arena, table->count * table->descriptor_count + 1, sizeof(*values));
	for (size_t i = 0; i < table->column_count; at += widths[i++])
		if (widths[i])
			encode(table, places, i, values + at, table->descriptor_count);
	for (size_t k = 0; k < table->count; k++)
		table->layers[k].descriptors = values + k * table->descriptor_count;
	for (size_t i = 0; i < table->column_count; i++)
		if (widths[i])
			table->columns[kept++] = table->columns[i];
	table->column_count = kept;
}

int transfer_layers_read(struct transfer_table *table, const struct transfer_columns *columns,
	const struct transfer_source *sources, size_t source_count, size_t target)
{
	struct reader *readers = mem_alloc(source_count + 1, sizeof(*readers));
	struct place *places = NULL;
	int status = 0;

	for (size_t i = 0; i < source_count && status == 0; i++) {
		readers[i].source = &sources[i];
		status = csv_read(&readers[i].csv, sources[i].path);
		if (status < 0)
			snprintf(table->error, sizeof(table->error), "%s", readers[i].csv.error);
		if (status == 0)
			status = find_columns(table, &readers[i], columns);
		if (status == 0 && i == 0)
			choose_descriptors(table, &readers[0], columns);
		if (status == 0)
			status = find_descriptors(table, &readers[i], &readers[0]);
	}
	if (status == 0)
		status = take_rows(table, readers, source_count, columns, target, &places);
	if (status == 0)
		take_descriptors(table, places);
	for (size_t i = 0; i < source_count; i++)
		csv_free(&readers[i].csv);
	free(readers);
	free(places);
	return status;
}

void transfer_table_free(struct transfer_table *table)
{
	free(table->devices);
	free(table->layers);
	arena_free(&table->arena);
	*table = (struct transfer_table){0};
}

double transfer_flops_ns(
	const struct transfer_table *table, const struct transfer_layer *layer, size_t device)
{
	return 1e9 * layer->flops / table->devices[device].flops;
}

double transfer_bytes_ns(
	const struct transfer_table *table, const struct transfer_layer *layer, size_t device)
{
	return 1e9 * layer->bytes / table->devices[device].bandwidth;
}
