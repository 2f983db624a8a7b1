/* A table as HTML: see table.h. */
#include "html.h"
#include "table_cells.h"

#include <math.h>

static double greatest_of(const struct print_table *table, size_t column)
{
	double greatest = 0;

	for (size_t r = 0; r < table->row_count; r++)
		if (table->rows[r].cells[column].present)
			greatest = fmax(greatest, table->rows[r].cells[column].number);
	return greatest;
}

/* What is unknown, and none, has no bar. */
static void html_bar_cell(
	const struct print_table *table, const struct table_cells *cells, size_t row, size_t at, FILE *out)
{
	const size_t column = cells->columns[at];
	const struct print_cell *cell = &table->rows[row - 1].cells[column];
	const double greatest = greatest_of(table, column);

	fputs("<td class=\"w\" style=\"width:45%\"><svg height=\"14\" role=\"img\">", out);
	if (cell->present && cell->number > 0) {
		fprintf(out, "<rect class=\"%s\" x=\"0%%\" width=\"%.3f%%\" height=\"100%%\"><title>",
			table->columns[column].bar, 100 * cell->number / greatest);
		html_text(cells->texts[row * cells->count], out);
		fputs(": ", out);
		html_text(cells->texts[row * cells->count + at], out);
		fprintf(out, "%s%s</title></rect>", cells->times[at] ? " " : "",
			cells->times[at] ? cells->unit : "");
	}
	fputs("</svg></td>", out);
}

/* The row 0 is that of the titles. */
static void html_row(const struct print_table *table, const struct table_cells *cells, size_t row, FILE *out)
{
	const char *tag = row ? "td" : "th";

	fputs("<tr>", out);
	for (size_t c = 0; c < cells->count; c++) {
		if (table->columns[cells->columns[c]].bar && row)
			html_bar_cell(table, cells, row, c, out);
		else if (table->columns[cells->columns[c]].bar)
			fputs("<th></th>", out);
		fprintf(out, "<%s%s>", tag, cells->words[c] ? " class=\"l\"" : "");
		html_text(cells->texts[row * cells->count + c], out);
		if (row == 0 && cells->times[c])
			fprintf(out, ", %s", cells->unit);
		fprintf(out, "</%s>", tag);
	}
	fputs("</tr>", out);
}

/* Rows [first, end), counted without that of the titles. */
static void html_rows(
	const struct print_table *table, const struct table_cells *cells, size_t first, size_t end, FILE *out)
{
	fputs("<table class=\"list\">\n<thead>", out);
	html_row(table, cells, 0, out);
	fputs("</thead><tbody>\n", out);
	for (size_t r = first; r < end; r++) {
		html_row(table, cells, r + 1, out);
		fputc('\n', out);
	}
	fputs("</tbody></table>\n", out);
}

void print_html(const struct print_table *table, FILE *out)
{
	const struct table_cells cells = table_cells(table);

	html_rows(table, &cells, 0, table->row_count, out);
}

void print_html_folded(const struct print_table *table, size_t shown, const char *more, FILE *out)
{
	const struct table_cells cells = table_cells(table);

	if (shown >= table->row_count) {
		html_rows(table, &cells, 0, table->row_count, out);
		return;
	}
	html_rows(table, &cells, 0, shown, out);
	fprintf(out, "<details><summary>%zu more ", table->row_count - shown);
	html_text(more, out);
	fputs("</summary>\n", out);
	html_rows(table, &cells, shown, table->row_count, out);
	fputs("</details>\n", out);
}
