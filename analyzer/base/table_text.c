/*
 * A table as text: see table.h. On a terminal that is too narrow for it the gaps are narrowed first; then the
 * columns that do not fit go below, after the rows' names again, so that no line is longer than the terminal
 * and no word is cut: a name that is longer is broken where its parts meet.
 */
#include "table_cells.h"
#include "terminal.h"
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NARROWEST 60
#define MARGIN 2 /* before a row */

struct layout {
	const struct print_table *table;
	struct table_cells cells;
	int *widths;        /* by column */
	int gap;            /* between columns */
	int most;           /* columns of a line */
	size_t names;       /* leading columns that say what a row is about */
	bool names_on_line; /* they stand on a line of their own, since they leave the figures no room */
	bool untitled;      /* no line of titles */
	FILE *out;
};

/* Blanks are kept back until something follows them: no line ends with blanks. */
static void print_cell(const char *text, int columns, bool left, int *blanks, FILE *out)
{
	int gap = columns - pm_text_columns(text);

	if (!left)
		*blanks += gap;
	if (*text) {
		fprintf(out, "%*s%s", *blanks, "", text);
		*blanks = 0;
	}
	if (left)
		*blanks += gap;
}

/* From the margin on: columns [first, end). */
static int width_of(const struct layout *layout, size_t first, size_t end)
{
	int sum = 0;

	for (size_t c = first; c < end; c++)
		sum += layout->widths[c] + (c > first ? layout->gap : 0);
	return sum;
}

static void find_widths(struct layout *layout)
{
	const struct table_cells *cells = &layout->cells;

	for (size_t i = 0; i < cells->row_count * cells->count; i++) {
		int wide = pm_text_columns(cells->texts[i]);

		if (wide > layout->widths[i % cells->count])
			layout->widths[i % cells->count] = wide;
	}
}

static void fit(struct layout *layout)
{
	const struct table_cells *cells = &layout->cells;

	if (MARGIN + width_of(layout, 0, cells->count) <= layout->most)
		return;
	layout->gap = 1;
	while (layout->names < cells->count && cells->words[layout->names])
		layout->names++;
	/* Long names leave no room, neither do several: the first is enough to tell rows apart, or none is.
	 */
	if (layout->names > 1 && width_of(layout, 0, layout->names) > layout->most / 2)
		layout->names = 1;
	layout->names_on_line = width_of(layout, 0, layout->names) > layout->most / 2 &&
				layout->names < cells->count &&
				MARGIN + width_of(layout, 0, cells->count) > layout->most;
}

static void print_rule(const struct layout *layout, int count)
{
	fprintf(layout->out, "%*s", MARGIN, "");
	for (int i = 0; i < count; i++)
		fputc('-', layout->out);
	fputc('\n', layout->out);
}

static void print_cells(
	const struct layout *layout, size_t row, size_t first, size_t end, bool begun, int *blanks)
{
	const struct table_cells *cells = &layout->cells;

	for (size_t c = first; c < end; c++) {
		*blanks += begun || c > first ? layout->gap : 0;
		print_cell(cells->texts[row * cells->count + c], layout->widths[c], cells->words[c], blanks,
			layout->out);
	}
}

/* A name on lines of its own: broken after a blank or point, or '/', ':' or '_', where one does not do. */
static void print_name(const struct layout *layout, const char *text)
{
	const int room = layout->most - MARGIN;

	while (pm_text_columns(text) > room) {
		size_t length = 0;
		int column = 0;

		for (size_t i = 0; text[i] && column < room; i++) {
			column += pm_text_begins(text[i]);
			if (strchr(" ./:_", text[i]))
				length = i + 1;
		}
		if (length == 0)
			break;
		fprintf(layout->out, "%*s%.*s\n", MARGIN, "", (int)length, text);
		text += length;
	}
	fprintf(layout->out, "%*s%s\n", *text ? MARGIN : 0, "", text);
}

/* The rows' names and the columns [first, end) after them; of the first part the names are among them. */
static void print_columns_of(const struct layout *layout, size_t first, size_t end)
{
	const size_t names = first ? layout->names : 0;
	int total = width_of(layout, first, end);

	if (names && !layout->names_on_line)
		total += width_of(layout, 0, names) + layout->gap;
	for (size_t r = layout->untitled ? 1 : 0; r < layout->cells.row_count; r++) {
		int blanks = MARGIN;

		if (r > 0 && layout->table->rows[r - 1].rule)
			print_rule(layout, total);
		if (names && layout->names_on_line) {
			print_name(layout, layout->cells.texts[r * layout->cells.count]);
			blanks = 2 * MARGIN;
		} else {
			print_cells(layout, r, 0, names, false, &blanks);
		}
		print_cells(layout, r, first, end, names && !layout->names_on_line, &blanks);
		fputc('\n', layout->out);
	}
}

/* After a column and those that are about it. */
static size_t end_of_group(const struct layout *layout, size_t column)
{
	do
		column++;
	while (column < layout->cells.count && layout->cells.of_previous[column]);
	return column;
}

/* After the columns from `first` on that have room beside each other: one at least. */
static size_t end_of_part(const struct layout *layout, size_t first, int room)
{
	size_t end = end_of_group(layout, first);

	if (width_of(layout, first, end) > room)
		return first + 1;
	while (end < layout->cells.count && width_of(layout, first, end_of_group(layout, end)) <= room)
		end = end_of_group(layout, end);
	return end;
}

static void print_parts(const struct layout *layout)
{
	const size_t count = layout->cells.count;
	int room = layout->most - MARGIN;

	if (width_of(layout, 0, count) <= room || layout->names == count) {
		print_columns_of(layout, 0, count);
		return;
	}
	room -= layout->names_on_line
			? MARGIN
			: width_of(layout, 0, layout->names) + (layout->names ? layout->gap : 0);
	for (size_t first = layout->names, end; first < count; first = end) {
		end = end_of_part(layout, first, room);
		if (first > layout->names)
			fputc('\n', layout->out);
		print_columns_of(layout, first, end);
	}
}

static bool is_untitled(const struct table_cells *cells)
{
	for (size_t c = 0; c < cells->count; c++)
		if (*cells->texts[c])
			return false;
	return true;
}

/* A title that is longer than a line goes on at the next, from a blank on. */
static void break_title(char *text, int most)
{
	char *blank = NULL;
	int column = 0;

	for (; *text; text++) {
		column += pm_text_begins(*text);
		if (column > most && blank) {
			*blank = '\n';
			column = pm_text_columns(blank) - pm_text_columns(text);
			blank = NULL;
		}
		if (*text == ' ')
			blank = text;
	}
}

void print_text(const struct print_table *table, const char *title, FILE *out)
{
	struct layout layout = {
		.table = table, .cells = table_cells(table), .gap = 2, .most = INT_MAX, .out = out};

	if (pm_terminal_is(out)) {
		layout.most = pm_terminal_width(out);
		layout.most = layout.most < NARROWEST ? NARROWEST : layout.most;
	}
	if (title) {
		char text[256];

		snprintf(text, sizeof(text), layout.cells.unit ? "%s, %s" : "%s", title, layout.cells.unit);
		break_title(text, layout.most);
		print_heading(text, out);
	}
	if (layout.cells.count == 0)
		return;
	layout.widths = mem_alloc(layout.cells.count, sizeof(*layout.widths));
	layout.untitled = is_untitled(&layout.cells);
	find_widths(&layout);
	fit(&layout);
	print_parts(&layout);
	free(layout.widths);
}
