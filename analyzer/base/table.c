/* Tables, and as JSON and CSV: see table.h. */
#include "table.h"
#include "table_cells.h"
#include "csv.h"
#include "terminal.h"
#include "text.h"

#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS_MOST 200
#define COLUMNS_LEAST 60

static const struct unit {
	const char *name;
	double ns;
} units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};

#define UNIT_COUNT (sizeof(units) / sizeof(*units))

static const struct unit *unit_for(double greatest_ns)
{
	/* Ten of a unit before it is used: 0.9 ms beside 3 us reads better as 900 us beside 3 us. */
	for (size_t i = 0; i + 1 < UNIT_COUNT; i++)
		if (greatest_ns >= units[i].ns * (i == 0 ? 10 : 1))
			return &units[i];
	return &units[UNIT_COUNT - 1];
}

void print_init(struct print_table *table, struct arena *arena)
{
	memset(table, 0, sizeof(*table));
	table->arena = arena;
}

void print_free(struct print_table *table)
{
	free(table->columns);
	free(table->rows);
	memset(table, 0, sizeof(*table));
}

size_t print_column(struct print_table *table, const char *key, const char *title, enum print_type type)
{
	*MEM_PUSH(table->columns, table->column_count, table->column_room) =
		(struct print_column){.key = key, .title = title, .type = type};
	return table->column_count - 1;
}

size_t print_columns(struct print_table *table, const struct print_column *columns, size_t count)
{
	for (size_t c = 0; c < count; c++)
		*MEM_PUSH(table->columns, table->column_count, table->column_room) = columns[c];
	return table->column_count - count;
}

void print_row(struct print_table *table)
{
	struct print_row *row = MEM_PUSH(table->rows, table->row_count, table->row_room);

	*row = (struct print_row){
		.cells = arena_alloc(table->arena, table->column_count, sizeof(*row->cells)),
		.rule = table->rule,
	};
	table->rule = false;
}

void print_first(struct print_table *table, const bool *first)
{
	struct print_row *rows = mem_alloc(table->row_count, sizeof(*rows));
	size_t count = 0;

	for (int turn = 0; turn < 2; turn++)
		for (size_t r = 0; r < table->row_count; r++)
			if (first[r] == (turn == 0))
				rows[count++] = table->rows[r];
	free(table->rows);
	table->rows = rows;
	table->row_room = count;
}

void print_word(struct print_table *table, size_t column, const char *word)
{
	struct print_cell *cell = &table->rows[table->row_count - 1].cells[column];

	cell->present = true;
	cell->word = print_clean(table->arena, word);
}

void print_term(struct print_table *table, size_t column, const char *word, const char *title)
{
	print_word(table, column, word);
	table->rows[table->row_count - 1].cells[column].title = print_clean(table->arena, title);
}

void print_number(struct print_table *table, size_t column, double number)
{
	struct print_cell *cell = &table->rows[table->row_count - 1].cells[column];

	cell->present = isfinite(number);
	cell->number = number;
}

void print_number_as(struct print_table *table, size_t column, double number, const char *title)
{
	print_number(table, column, number);
	table->rows[table->row_count - 1].cells[column].title = print_clean(table->arena, title);
}

void print_numbers(struct print_table *table, size_t column, const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		print_number(table, column + i, numbers[i]);
}

void print_list(struct print_table *table, size_t column, const char *const *words, size_t count)
{
	struct print_cell *cell = &table->rows[table->row_count - 1].cells[column];
	const char **list = arena_alloc(table->arena, count + 1, sizeof(*list));

	cell->present = true;
	cell->word = "";
	for (size_t i = 0; i < count; i++) {
		list[i] = print_clean(table->arena, words[i]);
		cell->word = arena_format(table->arena, "%s%s%s", cell->word, i ? " " : "", list[i]);
	}
	cell->list = list;
}

/* Digits after the point: six that count in the greatest time are enough for all. */
static int decimals_for(const struct unit *unit, double greatest_ns)
{
	if (unit->ns < 2)
		return 0;
	return greatest_ns / unit->ns >= 1000 ? 1 : greatest_ns / unit->ns >= 100 ? 2 : 3;
}

static bool has_words(const struct print_column *column)
{
	return column->type == PRINT_WORD || column->type == PRINT_LIST;
}

static const char *cell_text(struct arena *arena, const struct print_cell *cell,
	const struct print_column *column, const struct unit *unit, int decimals)
{
	const char *sign = column->sign && cell->number > 0 ? "+" : "";
	int digits = column->digits;

	if (!cell->present)
		return has_words(column) ? "" : "-";
	if (cell->title)
		return cell->title;
	switch (column->type) {
	case PRINT_WORD:
	case PRINT_LIST:
		return cell->word;
	case PRINT_COUNT:
	case PRINT_FLAG:
		return arena_format(arena, "%.0f", cell->number);
	case PRINT_TIME:
		return arena_format(arena, "%s%.*f", sign, decimals, cell->number / unit->ns);
	case PRINT_SHARE:
		return arena_format(arena, "%s%.*f%%", sign, digits ? digits : 1, cell->number * 100);
	case PRINT_FIGURE:
		return arena_format(arena, "%s%s", sign, print_figure(arena, cell->number, digits ? digits : 5));
	default:
		return arena_format(arena, "%s%.*f", sign, digits ? digits : 3, cell->number);
	}
}

/* The unit of a table's times, and their digits after the point: from the greatest. False: it has none. */
static bool table_unit(const struct print_table *table, const struct unit **unit, int *decimals)
{
	double greatest_ns = 0;
	bool times = false;

	for (size_t c = 0; c < table->column_count; c++) {
		if (table->columns[c].type != PRINT_TIME || !table->columns[c].title)
			continue;
		times = true;
		for (size_t r = 0; r < table->row_count; r++)
			if (table->rows[r].cells[c].present &&
				fabs(table->rows[r].cells[c].number) > greatest_ns)
				greatest_ns = fabs(table->rows[r].cells[c].number);
	}
	*unit = unit_for(greatest_ns);
	*decimals = decimals_for(*unit, greatest_ns);
	return times;
}

struct table_cells table_cells(const struct print_table *table)
{
	struct table_cells cells = {.row_count = table->row_count + 1};
	const struct unit *unit;
	size_t at = 0;
	int decimals;

	for (size_t c = 0; c < table->column_count; c++)
		cells.count += table->columns[c].title != NULL;
	cells.texts = arena_alloc(table->arena, cells.row_count * cells.count, sizeof(*cells.texts));
	cells.words = arena_alloc(table->arena, cells.count, sizeof(*cells.words));
	cells.times = arena_alloc(table->arena, cells.count, sizeof(*cells.times));
	cells.columns = arena_alloc(table->arena, cells.count, sizeof(*cells.columns));
	cells.of_previous = arena_alloc(table->arena, cells.count, sizeof(*cells.of_previous));
	cells.unit = table_unit(table, &unit, &decimals) ? unit->name : NULL;
	for (size_t c = 0; c < table->column_count; c++) {
		const struct print_column *column = &table->columns[c];

		if (!column->title)
			continue;
		cells.words[at] = has_words(column);
		cells.times[at] = column->type == PRINT_TIME;
		cells.columns[at] = c;
		cells.of_previous[at] = column->of_previous;
		cells.texts[at] = column->title;
		for (size_t r = 0; r < table->row_count; r++)
			cells.texts[(r + 1) * cells.count + at] =
				cell_text(table->arena, &table->rows[r].cells[c], column, unit, decimals);
		at++;
	}
	return cells;
}

static const char *key_suffix(const struct print_column *column)
{
	return column->type == PRINT_TIME ? "_ns" : "";
}

static void csv_key(struct csv_line *line, const struct print_column *column, const char *name)
{
	char *key;

	if (asprintf(&key, "%s%s", name, key_suffix(column)) < 0)
		errx(1, "out of memory");
	csv_put(line, key);
	free(key);
}

static void csv_cell(struct csv_line *line, const struct print_cell *cell)
{
	if (cell->present && cell->word)
		csv_put(line, cell->word);
	else
		csv_put_number(line, cell->present ? cell->number : NAN);
}

static const char *csv_name(const struct print_column *column)
{
	return column->csv_key ? column->csv_key : column->key;
}

void print_csv_rows(const struct print_table *table, FILE *out)
{
	struct csv_line line = {.out = out};

	for (size_t r = 0; r < table->row_count; r++) {
		for (size_t c = 0; c < table->column_count; c++)
			if (*csv_name(&table->columns[c]))
				csv_cell(&line, &table->rows[r].cells[c]);
		csv_end(&line);
	}
}

void print_csv(const struct print_table *table, FILE *out)
{
	struct csv_line line = {.out = out};

	for (size_t c = 0; c < table->column_count; c++)
		if (*csv_name(&table->columns[c]))
			csv_key(&line, &table->columns[c], csv_name(&table->columns[c]));
	csv_end(&line);
	print_csv_rows(table, out);
}

static cJSON *cell_json(const struct print_cell *cell, enum print_type type)
{
	cJSON *array;

	if (!cell->present)
		return cJSON_CreateNull();
	if (type == PRINT_FLAG)
		return cJSON_CreateBool(cell->number != 0);
	if (!cell->list)
		return cell->word ? cJSON_CreateString(cell->word) : cJSON_CreateNumber(cell->number);
	array = cJSON_CreateArray();
	for (size_t i = 0; cell->list[i]; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(cell->list[i]));
	return array;
}

static void add_cell(
	cJSON *object, const struct print_column *column, const char *name, const struct print_cell *cell)
{
	char key[80];

	if (column->object) {
		cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, column->object);

		object = inner ? inner : cJSON_AddObjectToObject(object, column->object);
	}
	snprintf(key, sizeof(key), "%s%s", name, key_suffix(column));
	cJSON_AddItemToObject(object, key, cell_json(cell, column->type));
}

cJSON *print_json_row(const struct print_table *table, size_t row)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t c = 0; c < table->column_count; c++) {
		const struct print_column *column = &table->columns[c];
		const struct print_cell *cell = &table->rows[row].cells[c];

		if (column->key)
			add_cell(object, column, column->key, cell);
	}
	return object;
}

cJSON *print_json(const struct print_table *table)
{
	cJSON *rows = cJSON_CreateArray();

	for (size_t r = 0; r < table->row_count; r++)
		cJSON_AddItemToArray(rows, print_json_row(table, r));
	return rows;
}

void print_part(const struct print_table *table, enum print_form form, cJSON *object, const char *key,
	const char *title, bool gap, FILE *out)
{
	if (form == PRINT_JSON) {
		cJSON_AddItemToObject(object, key, print_json(table));
		return;
	}
	fputs(gap ? "\n" : "", out);
	if (form == PRINT_CSV)
		print_csv(table, out);
	else if (form == PRINT_HTML)
		print_html(table, out);
	else
		print_text(table, title, out);
}

void print_json_number(cJSON *object, const char *key, double number)
{
	cJSON_AddItemToObject(
		object, key, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

void print_json_end(cJSON *object, FILE *out)
{
	char *text = pm_text_json(cJSON_Print(object));

	if (!text)
		errx(1, "out of memory while writing JSON");
	fputs(text, out);
	fputc('\n', out);
	free(text);
	cJSON_Delete(object);
}

void print_heading(const char *text, FILE *out)
{
	const char *plain = getenv("NO_COLOR");

	bool bold = pm_terminal_is(out) && !(plain && *plain);

	if (bold)
		pm_terminal_control(out, "\033[1m");
	fputs(text, out);
	if (bold)
		pm_terminal_control(out, "\033[0m");
	fputc('\n', out);
}

const char *print_clean(struct arena *arena, const char *text)
{
	size_t left = strlen(text), count;
	char *copy = arena_alloc(arena, 4 * left + 1, 1), *to = copy;

	for (; left; text += count, left -= count) {
		count = pm_text_character(text, left);
		if (count == 0 || *text == '\n' || *text == '\t' || pm_text_controls(text, count)) {
			count = 1;
			to += sprintf(to, "\\x%02x", (unsigned char)*text);
		} else {
			to = mempcpy(to, text, count);
		}
	}
	return copy;
}

/* No longer than a page of a wide terminal; into a file they have its usual width. */
static int columns_of(FILE *out)
{
	const int width = pm_terminal_width(out);

	return width > COLUMNS_MOST ? COLUMNS_MOST : width < COLUMNS_LEAST ? COLUMNS_LEAST : width;
}

void print_paragraph(const char *text, int indent, FILE *out)
{
	const int columns = columns_of(out), margin = (int)strspn(text, " ");
	int column = margin;

	fprintf(out, "%.*s", margin, text);
	text += margin;
	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column > margin && column + 1 + length > columns) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > margin) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

const char *print_figure(struct arena *arena, double number, int digits)
{
	const bool whole = fabs(number) >= pow(10, digits) - 0.5 && fabs(number) < 1e15;

	return whole ? arena_format(arena, "%.0f", number) : arena_format(arena, "%.*g", digits, number);
}

const char *print_time(struct arena *arena, double ns)
{
	return print_time_like(arena, ns, ns);
}

const char *print_time_like(struct arena *arena, double ns, double like_ns)
{
	const struct unit *unit = unit_for(fabs(like_ns));

	return arena_format(arena, "%.*f %s", unit->ns < 2 ? 0 : 3, ns / unit->ns, unit->name);
}
