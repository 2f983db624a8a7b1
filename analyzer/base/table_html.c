/* A table as HTML: see table.h. */
#include "html.h"
#include "table_cells.h"

#include <math.h>

#define BAR_HEIGHT 14 /* of a picture with one lane */
#define LANE_HEIGHT 10
#define LANE_STEP 12
#define MARK_ROOM 1.02 /* a mark at the edge is seen whole */

/* Of a column with pictures: places from `least` to `greatest`, in percent. */
struct html_scale {
	double least, greatest;
	int lanes;
};

/* What is the same for all rows. */
struct html_table {
	const struct print_table *table;
	struct table_cells cells;
	struct html_scale *scales; /* by column with a title */
};

static struct print_cell *last_cell(struct print_table *table, size_t column)
{
	return &table->rows[table->row_count - 1].cells[column];
}

void print_colour(struct print_table *table, size_t column, const char *kind)
{
	last_cell(table, column)->kind = kind;
}

void print_tip(struct print_table *table, size_t column, const char *tip)
{
	last_cell(table, column)->tip = print_clean(table->arena, tip);
}

void print_data(struct print_table *table, size_t row, const char *key, const char *value)
{
	struct print_data *data = arena_alloc(table->arena, 1, sizeof(*data));

	*data = (struct print_data){key, print_clean(table->arena, value), table->rows[row].data};
	table->rows[row].data = data;
}

void print_piece(struct print_table *table, size_t column, struct print_piece piece)
{
	struct print_piece *copy = arena_alloc(table->arena, 1, sizeof(*copy));
	struct print_cell *cell = last_cell(table, column);

	*copy = piece;
	copy->next = NULL;
	*(cell->last_piece ? &cell->last_piece->next : &cell->pieces) = copy;
	cell->last_piece = copy;
}

static bool is_drawn(const struct print_piece *piece)
{
	return isfinite(piece->start) && isfinite(piece->end) &&
	       (piece->shape != PRINT_BAR || piece->start != piece->end);
}

/* "conv1: 1.234 ms", from 0 on; what is unknown, and none, has no bar. */
static struct print_piece number_bar(const struct html_table *html, size_t row, size_t at)
{
	const struct table_cells *cells = &html->cells;
	const struct print_cell *cell = &html->table->rows[row].cells[cells->columns[at]];
	const char *const *texts = &cells->texts[(row + 1) * cells->count];

	return (struct print_piece){
		.end = cell->present ? fmax(cell->number, 0) : 0,
		.kind = cell->kind ? cell->kind : html->table->columns[cells->columns[at]].bar,
		.tip = arena_format(html->table->arena, "%s: %s%s%s", texts[0], texts[at],
			cells->times[at] ? " " : "", cells->times[at] ? cells->unit : ""),
	};
}

static const struct print_piece *pieces_of(
	const struct html_table *html, size_t row, size_t at, struct print_piece *number)
{
	const size_t column = html->cells.columns[at];

	if (!*html->table->columns[column].bar)
		return html->table->rows[row].cells[column].pieces;
	*number = number_bar(html, row, at);
	return number;
}

static struct html_scale scale_of(const struct html_table *html, size_t at)
{
	struct html_scale scale = {.lanes = 1};
	struct print_piece number;

	for (size_t r = 0; r < html->table->row_count; r++)
		for (const struct print_piece *piece = pieces_of(html, r, at, &number); piece;
			piece = piece->next) {
			if (!is_drawn(piece))
				continue;
			scale.least = fmin(scale.least, fmin(piece->start, piece->end));
			scale.greatest = fmax(scale.greatest, fmax(piece->start, piece->end));
			if (piece->shape == PRINT_MARK)
				scale.greatest = fmax(scale.greatest, MARK_ROOM * piece->end);
			scale.lanes = piece->lane >= scale.lanes ? piece->lane + 1 : scale.lanes;
		}
	return scale;
}

static struct html_table html_table(const struct print_table *table)
{
	struct html_table html = {.table = table, .cells = table_cells(table)};

	html.scales = arena_alloc(table->arena, html.cells.count, sizeof(*html.scales));
	for (size_t c = 0; c < html.cells.count; c++)
		if (table->columns[html.cells.columns[c]].bar)
			html.scales[c] = scale_of(&html, c);
	return html;
}

static double place(const struct html_scale *scale, double number)
{
	return scale->greatest > scale->least
		       ? 100 * (number - scale->least) / (scale->greatest - scale->least)
		       : 0;
}

static void html_line(const char *style, double start, double end, int top, int bottom, FILE *out)
{
	fprintf(out, "<line%s x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"%d\" y2=\"%d\"/>", style, start, end, top,
		bottom);
}

static void html_piece(const struct html_scale *scale, const struct print_piece *piece, int height, FILE *out)
{
	const double left = place(scale, fmin(piece->start, piece->end));
	const double right = place(scale, fmax(piece->start, piece->end));

	if (piece->shape == PRINT_MARK) {
		html_line(" class=\"mark\"", place(scale, piece->end), place(scale, piece->end), 0, height,
			out);
		return;
	}
	if (piece->shape == PRINT_INTERVAL) {
		html_line(" class=\"mark\"", left, right, height / 2, height / 2, out);
		return;
	}
	fprintf(out, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\"", piece->kind, left, right - left);
	if (scale->lanes > 1)
		fprintf(out, " y=\"%d\" height=\"%d\">", LANE_STEP * piece->lane, LANE_HEIGHT);
	else
		fputs(" height=\"100%\">", out);
	if (piece->tip) {
		fputs("<title>", out);
		html_text(piece->tip, out);
		fputs("</title>", out);
	}
	fputs("</rect>", out);
}

/* In percent of the table's: the fewer other columns, the more. */
static int picture_width(const struct html_table *html)
{
	return html->cells.count > 6 ? 25 : html->cells.count > 2 ? 45 : 90;
}

static void html_picture(const struct html_table *html, size_t row, size_t at, FILE *out)
{
	const struct html_scale *scale = &html->scales[at];
	const int height = scale->lanes > 1 ? LANE_STEP * (scale->lanes - 1) + LANE_HEIGHT : BAR_HEIGHT;
	struct print_piece number;
	const struct print_piece *piece = pieces_of(html, row, at, &number);

	fprintf(out, "<td class=\"w\" style=\"width:%d%%;min-width:90px\"><svg height=\"%d\" role=\"img\">",
		picture_width(html), height);
	if (piece && scale->least < 0)
		html_line("", place(scale, 0), place(scale, 0), 0, height, out);
	for (; piece; piece = piece->next)
		if (is_drawn(piece))
			html_piece(scale, piece, height, out);
	fputs("</svg></td>", out);
}

static void html_swatch(const char *kind, FILE *out)
{
	fprintf(out, "<svg class=\"key\"><rect class=\"%s\" width=\"12\" height=\"12\" rx=\"2\"/></svg>",
		kind);
}

static void html_title(const struct html_table *html, size_t at, FILE *out)
{
	const struct print_column *column = &html->table->columns[html->cells.columns[at]];
	const char *text = html->cells.texts[at];

	if (column->bar)
		fputs("<th></th>", out);
	fputs("<th", out);
	if (html->cells.words[at])
		fprintf(out, " class=\"%s\"", html_class(text));
	fputc('>', out);
	if (column->swatch)
		html_swatch(column->swatch, out);
	html_text(text, out);
	if (html->cells.times[at])
		fprintf(out, ", %s", html->cells.unit);
	fputs("</th>", out);
}

static void html_cell(const struct html_table *html, size_t row, size_t at, FILE *out)
{
	const struct print_column *column = &html->table->columns[html->cells.columns[at]];
	const struct print_cell *cell = &html->table->rows[row].cells[html->cells.columns[at]];
	const char *text = html->cells.texts[(row + 1) * html->cells.count + at];

	if (column->bar)
		html_picture(html, row, at, out);
	fputs("<td", out);
	if (html->cells.words[at])
		fprintf(out, " class=\"%s\"", html_class(text));
	if (cell->tip) {
		fputs(" title=\"", out);
		html_text(cell->tip, out);
		fputc('"', out);
	}
	fputc('>', out);
	if (cell->kind && !column->bar)
		html_swatch(cell->kind, out);
	html_text(text, out);
	fputs("</td>", out);
}

static void html_row(const struct html_table *html, size_t row, FILE *out)
{
	fputs(html->table->rows[row].rule ? "<tr class=\"rule\"" : "<tr", out);
	for (const struct print_data *data = html->table->rows[row].data; data; data = data->next) {
		fprintf(out, " data-%s=\"", data->key);
		html_text(data->value, out);
		fputc('"', out);
	}
	fputc('>', out);
	for (size_t c = 0; c < html->cells.count; c++)
		html_cell(html, row, c, out);
	fputs("</tr>\n", out);
}

/* Rows [first, end). */
static void html_rows(const struct html_table *html, size_t first, size_t end, FILE *out)
{
	fputs("<div class=\"scroll\"><table class=\"list\">\n<thead><tr>", out);
	for (size_t c = 0; c < html->cells.count; c++)
		html_title(html, c, out);
	fputs("</tr></thead><tbody>\n", out);
	for (size_t r = first; r < end; r++)
		html_row(html, r, out);
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
