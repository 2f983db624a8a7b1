/* A table as HTML: see table.h. */
#include "html.h"
#include "table_cells.h"

#include <math.h>

/* What is the same for all rows. */
struct html_table {
	const struct print_table *table;
	struct table_cells cells;
	double *greatest; /* by column with a title: what the longest bar stands for */
};

static struct html_table html_table(const struct print_table *table)
{
	struct html_table html = {.table = table, .cells = table_cells(table)};

	html.greatest = arena_alloc(table->arena, html.cells.count, sizeof(*html.greatest));
	for (size_t c = 0; c < html.cells.count; c++)
		for (size_t r = 0; r < table->row_count; r++) {
			const struct print_cell *cell = &table->rows[r].cells[html.cells.columns[c]];

			if (cell->present)
				html.greatest[c] = fmax(html.greatest[c], cell->number);
		}
	return html;
}

/* What is unknown, and none, has no bar. */
static void html_bar_cell(const struct html_table *html, size_t row, size_t at, FILE *out)
{
	const struct table_cells *cells = &html->cells;
	const struct print_cell *cell = &html->table->rows[row - 1].cells[cells->columns[at]];

	fputs("<td class=\"w\" style=\"width:45%\"><svg height=\"14\" role=\"img\">", out);
	if (cell->present && cell->number > 0) {
		fprintf(out, "<rect class=\"%s\" x=\"0%%\" width=\"%.3f%%\" height=\"100%%\"><title>",
			cell->kind ? cell->kind : html->table->columns[cells->columns[at]].bar,
			100 * cell->number / html->greatest[at]);
		html_text(cells->texts[row * cells->count], out);
		fputs(": ", out);
		html_text(cells->texts[row * cells->count + at], out);
		fprintf(out, "%s%s</title></rect>", cells->times[at] ? " " : "",
			cells->times[at] ? cells->unit : "");
	}
	fputs("</svg></td>", out);
}

static void html_cell(const struct html_table *html, size_t row, size_t at, FILE *out)
{
	const size_t column = html->cells.columns[at];
	const char *text = html->cells.texts[row * html->cells.count + at];
	const char *kind = row ? html->table->rows[row - 1].cells[column].kind : NULL;

	fputs(row ? "<td" : "<th", out);
	if (html->cells.words[at])
		fprintf(out, " class=\"%s\"", html_class(text));
	fputc('>', out);
	if (kind && !html->table->columns[column].bar)
		fprintf(out,
			"<svg class=\"key\"><rect class=\"%s\" width=\"12\" height=\"12\" "
			"rx=\"2\"/></svg>",
			kind);
	html_text(text, out);
	if (row == 0 && html->cells.times[at])
		fprintf(out, ", %s", html->cells.unit);
	fputs(row ? "</td>" : "</th>", out);
}

/* The row 0 is that of the titles. */
static void html_row(const struct html_table *html, size_t row, FILE *out)
{
	const struct table_cells *cells = &html->cells;

	fputs(row && html->table->rows[row - 1].rule ? "<tr class=\"rule\">" : "<tr>", out);
	for (size_t c = 0; c < cells->count; c++) {
		if (html->table->columns[cells->columns[c]].bar && row)
			html_bar_cell(html, row, c, out);
		else if (html->table->columns[cells->columns[c]].bar)
			fputs("<th></th>", out);
		html_cell(html, row, c, out);
	}
	fputs("</tr>", out);
}

/* Rows [first, end), counted without that of the titles. */
static void html_rows(const struct html_table *html, size_t first, size_t end, FILE *out)
{
	fputs("<div class=\"scroll\"><table class=\"list\">\n<thead>", out);
	html_row(html, 0, out);
	fputs("</thead><tbody>\n", out);
	for (size_t r = first; r < end; r++) {
		html_row(html, r + 1, out);
		fputc('\n', out);
	}
	fputs("</tbody></table></div>\n", out);
}

void print_html(const struct print_table *table, FILE *out)
{
	const struct html_table html = html_table(table);

	html_rows(&html, 0, table->row_count, out);
}

void print_html_folded(const struct print_table *table, size_t shown, const char *more, FILE *out)
{
	const struct html_table html = html_table(table);

	if (shown >= table->row_count) {
		html_rows(&html, 0, table->row_count, out);
		return;
	}
	html_rows(&html, 0, shown, out);
	fprintf(out, "<details><summary>%zu more ", table->row_count - shown);
	html_text(more, out);
	fputs("</summary>\n", out);
	html_rows(&html, shown, table->row_count, out);
	fputs("</details>\n", out);
}
