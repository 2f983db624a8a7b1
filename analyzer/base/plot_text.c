/* Pictures for a terminal: see plot_text.h. */
#include "plot_text.h"
#include "terminal.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDEST 200
#define HEIGHT 18
#define LONGEST_NAME 20 /* characters, at an axis */
#define LONGEST_KEY 40  /* in the legend */

/* One character of the area. */
struct cell {
	unsigned dots; /* braille's bits */
	char letter;   /* drawn instead, if not 0 */
	short colour;  /* of the last that was drawn, PLOT_PLAIN: none */
};

struct canvas {
	const struct plot_text *how;
	const struct plot *plot;
	FILE *out;
	int width, height; /* of the area, in characters */
	int margin;        /* on the left */
	struct cell *cells;
};

struct plot_text plot_text_for(FILE *out, bool plain)
{
	struct plot_text how = {.height = HEIGHT, .plain = plain || !pm_terminal_utf8()};
	const bool terminal = pm_terminal_is(out);
	const int width = pm_terminal_width(out);

	how.width = width < WIDEST ? width : WIDEST;
	how.colour = terminal && !(getenv("NO_COLOR") && *getenv("NO_COLOR"));
	return how;
}

/* Text of at most `most` characters, none of which moves the cursor: control characters, also those that
 * UTF-8 writes in two bytes. */
static int put_name(const char *text, int most, FILE *out)
{
	const unsigned char *at = (const unsigned char *)text;
	int count = 0;

	for (; *at; at++) {
		bool begins = pm_text_begins((char)*at);

		if (begins && count == most)
			break;
		count += begins;
		if (*at < ' ' || *at == 0x7f) {
			fputc('?', out);
		} else if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) {
			fputc('?', out);
			at++;
		} else {
			fputc(*at, out);
		}
	}
	return count;
}

/* Dots across and down in a character. */
static int across(const struct canvas *c)
{
	return c->how->plain ? 1 : 2;
}

static int down(const struct canvas *c)
{
	return c->how->plain ? 1 : 4;
}

static int dot_x(const struct canvas *c, double x)
{
	return (int)lround(fmin(fmax(plot_place(&c->plot->x, x), 0), 1) * (c->width * across(c) - 1));
}

static int dot_y(const struct canvas *c, double y)
{
	double place = fmin(fmax(plot_place(&c->plot->y, y), 0), 1);

	return (int)lround((c->plot->y.names ? place : 1 - place) * (c->height * down(c) - 1));
}

static void put_dot(struct canvas *c, int x, int y, int colour, char letter)
{
	static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	struct cell *cell = &c->cells[y / down(c) * c->width + x / across(c)];

	if (letter)
		cell->letter = letter;
	cell->dots |= bits[y % down(c)][x % across(c)];
	cell->colour = (short)colour;
}

static void put_segment(
	struct canvas *c, int x1, int y1, int x2, int y2, int colour, char letter, bool dashed)
{
	int steps = abs(x2 - x1) > abs(y2 - y1) ? abs(x2 - x1) : abs(y2 - y1);

	for (int i = 0; i <= steps; i++) {
		double share = steps ? (double)i / steps : 0;

		if (!dashed || i % 4 < 2)
			put_dot(c, (int)lround(x1 + share * (x2 - x1)), (int)lround(y1 + share * (y2 - y1)),
				colour, letter);
	}
}

/* Letters from a for series that dots alone do not tell apart. */
static char letter_of(const struct canvas *c, size_t series)
{
	static const char plain[] = "ox+*#@%&";
	const struct plot_series *s = c->plot->series[series];

	if (s->kind == PLOT_POINTS) {
		if (c->how->plain)
			return plain[series % (sizeof(plain) - 1)];
		return series && !c->how->colour ? (char)('a' + series % 26) : '\0';
	}
	return (char)('a' + series % 26);
}

static void draw_line(struct canvas *c, const struct plot_series *s, char letter)
{
	/* in ASCII a line is dots, so that the letters on it are seen */
	char dot = c->how->plain ? s->dashed || s->colour == PLOT_PLAIN ? '.' : '-' : '\0';

	for (size_t i = 1; i < s->count; i++)
		put_segment(c, dot_x(c, s->points[i - 1].x), dot_y(c, s->points[i - 1].y),
			dot_x(c, s->points[i].x), dot_y(c, s->points[i].y), s->colour, dot, s->dashed);
	for (size_t i = 0; i < s->count; i++)
		if (s->points[i].tip || s->count == 1)
			put_dot(c, dot_x(c, s->points[i].x), dot_y(c, s->points[i].y), s->colour, letter);
}

static void draw_ranges(struct canvas *c, const struct plot_series *s)
{
	char dot = c->how->plain ? '-' : '\0';

	for (size_t i = 0; i < s->count; i++) {
		const struct plot_point *p = &s->points[i];

		if (c->plot->y.names)
			put_segment(c, dot_x(c, p->low), dot_y(c, p->y), dot_x(c, p->high), dot_y(c, p->y),
				s->colour, dot, false);
		else
			put_segment(c, dot_x(c, p->x), dot_y(c, p->low), dot_x(c, p->x), dot_y(c, p->high),
				s->colour, dot ? '|' : dot, false);
	}
}

/* Lines first, so that points lie upon them. */
static void draw(struct canvas *c)
{
	const struct plot *plot = c->plot;

	for (size_t i = 0; i < plot->series_count; i++) {
		const struct plot_series *s = plot->series[i];

		if (s->kind == PLOT_LINE)
			draw_line(c, s, letter_of(c, i));
		else if (s->kind == PLOT_RANGE)
			draw_ranges(c, s);
		for (size_t k = 0; k < s->count && s->kind == PLOT_BAND; k++) {
			put_dot(c, dot_x(c, s->points[k].x), dot_y(c, s->points[k].low), s->colour,
				c->how->plain ? '.' : '\0');
			put_dot(c, dot_x(c, s->points[k].x), dot_y(c, s->points[k].high), s->colour,
				c->how->plain ? '.' : '\0');
		}
	}
	for (size_t i = 0; i < plot->series_count; i++) {
		const struct plot_series *s = plot->series[i];

		for (size_t k = 0; k < s->count && s->kind == PLOT_POINTS; k++)
			put_dot(c, dot_x(c, s->points[k].x), dot_y(c, s->points[k].y), s->colour,
				s->points[k].letter ? s->points[k].letter : letter_of(c, i));
	}
}

static void colour(const struct canvas *c, int which)
{
	static const char codes[] = {'4', '3', '2', '1', '5', '6', '7', '4'};

	char sequence[8] = "\033[0m";

	if (!c->how->colour)
		return;
	if (which >= 0)
		snprintf(sequence, sizeof(sequence), "\033[3%cm", codes[which % PLOT_COLOURS]);
	pm_terminal_control(c->out, sequence);
}

static void put_cell(const struct canvas *c, const struct cell *cell)
{
	unsigned code = 0x2800 + cell->dots;
	bool coloured = (cell->dots || cell->letter) && cell->colour >= 0;

	if (coloured)
		colour(c, cell->colour);
	if (cell->letter)
		fputc(cell->letter, c->out);
	else if (cell->dots)
		fprintf(c->out, "%c%c%c", (char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
			(char)(0x80 | (code & 0x3f)));
	else
		fputc(' ', c->out);
	if (coloured)
		colour(c, -1);
}

/* The tick of the y axis in this row, or -1. */
static int tick_in(const struct canvas *c, int row)
{
	const struct plot_axis *axis = &c->plot->y;

	for (size_t i = 0; i < plot_tick_count(axis); i++)
		if (dot_y(c, axis->names ? (double)i : axis->ticks[i].value) / down(c) == row)
			return (int)i;
	return -1;
}

static void print_row(const struct canvas *c, int row)
{
	int tick = tick_in(c, row), last = c->width - 1;
	const char *text = tick < 0 ? "" : plot_tick_text(&c->plot->y, (size_t)tick);
	int size = pm_text_columns(text) < LONGEST_NAME ? pm_text_columns(text) : LONGEST_NAME;
	const struct cell *cells = c->cells + row * c->width;

	fprintf(c->out, "%*s", c->margin - 2 - size, "");
	put_name(text, LONGEST_NAME, c->out);
	fputs(c->how->plain ? tick < 0 ? " |" : " +" : tick < 0 ? " │" : " ┤", c->out);
	while (last >= 0 && !cells[last].dots)
		last--;
	for (int x = 0; x <= last; x++)
		put_cell(c, &cells[x]);
	fputc('\n', c->out);
}

static void print_x_axis(const struct canvas *c)
{
	const struct plot_axis *axis = &c->plot->x;
	size_t count = plot_tick_count(axis);
	char *marks = calloc((size_t)c->width + 1, 1);
	int at = 0;

	if (!marks)
		return;
	for (size_t i = 0; i < count; i++)
		marks[dot_x(c, axis->names ? (double)i : axis->ticks[i].value) / across(c)] = 1;
	fprintf(c->out, "%*s%s", c->margin - 1, "", c->how->plain ? "+" : "└");
	for (int x = 0; x < c->width; x++)
		fputs(c->how->plain ? marks[x] ? "+" : "-" : marks[x] ? "┬" : "─", c->out);
	fprintf(c->out, "\n%*s", c->margin, "");
	for (size_t i = 0; i < count; i++) {
		const char *text = plot_tick_text(axis, i);
		int size = pm_text_columns(text) < LONGEST_NAME ? pm_text_columns(text) : LONGEST_NAME;
		int begin = dot_x(c, axis->names ? (double)i : axis->ticks[i].value) / across(c) - size / 2;

		/* the first may stand out on the left, none on the right */
		begin = begin + size > c->width ? c->width - size : begin;
		if (begin < (at ? at + 1 : 0))
			begin = at ? -1 : 0;
		if (begin < 0)
			continue;
		fprintf(c->out, "%*s", begin - at, "");
		at = begin + put_name(text, LONGEST_NAME, c->out);
	}
	fputc('\n', c->out);
	free(marks);
}

static void print_legend(const struct canvas *c)
{
	int at = c->margin;
	const char *gap = "";

	fprintf(c->out, "%*s", c->margin, "");
	for (size_t i = 0; i < c->plot->series_count; i++) {
		const struct plot_series *s = c->plot->series[i];
		int size = s->name ? (pm_text_columns(s->name) < LONGEST_KEY ? pm_text_columns(s->name)
									     : LONGEST_KEY) +
					     4
				   : 0;
		bool said = s->kind == PLOT_LINE && s->count && s->points[0].tip;

		/* points with letters of their own differ by colour alone */
		if (!s->name || !s->count || (s->points[0].letter && !c->how->colour))
			continue;
		if (at > c->margin && at + size > c->how->width) {
			fprintf(c->out, "\n%*s", c->margin, "");
			at = c->margin;
			gap = "";
		}
		fputs(gap, c->out);
		gap = "  ";
		colour(c, s->colour);
		if (s->points[0].letter)
			fputc('*', c->out);
		else if ((s->kind == PLOT_POINTS || said) && letter_of(c, i))
			fputc(letter_of(c, i), c->out);
		else if (c->how->plain)
			fputc(s->kind == PLOT_BAND || s->dashed || s->colour == PLOT_PLAIN ? '.' : '-',
				c->out);
		else
			fputs(s->kind == PLOT_POINTS   ? "⠿"
				: s->kind == PLOT_BAND ? "⠂⠂"
				: s->dashed            ? "⠂"
						       : "⠤",
				c->out);
		colour(c, -1);
		fputc(' ', c->out);
		put_name(s->name, LONGEST_KEY, c->out);
		at += size;
	}
	fputc('\n', c->out);
}

void plot_text_print(const struct plot *plot, const struct plot_text *how, FILE *out)
{
	struct canvas c = {.how = how, .plot = plot, .out = out, .height = how->height, .margin = 2};

	if (plot->y.names)
		c.height = (int)plot->y.name_count;
	for (size_t i = 0; i < plot_tick_count(&plot->y); i++) {
		int size = pm_text_columns(plot_tick_text(&plot->y, i));

		size = size < LONGEST_NAME ? size : LONGEST_NAME;
		c.margin = size + 3 > c.margin ? size + 3 : c.margin;
	}
	c.width = how->width - c.margin - 1 > 20 ? how->width - c.margin - 1 : 20;
	c.cells = calloc((size_t)c.width * (size_t)(c.height + 1), sizeof(*c.cells));
	if (!c.cells)
		return;
	draw(&c);
	put_name(plot->title ? plot->title : "", 200, out);
	fputc('\n', out);
	if (plot->y.label && *plot->y.label) {
		fprintf(out, "%*s", c.margin, "");
		put_name(plot->y.label, 200, out);
		fputc('\n', out);
	}
	for (int row = 0; row < c.height; row++)
		print_row(&c, row);
	print_x_axis(&c);
	fprintf(out, "%*s", c.margin + (c.width - (plot->x.label ? pm_text_columns(plot->x.label) : 0)) / 2,
		"");
	put_name(plot->x.label ? plot->x.label : "", 200, out);
	fputc('\n', out);
	print_legend(&c);
	if (plot->left_out)
		fprintf(out, "%*s%zu points are outside these axes\n", c.margin, "", plot->left_out);
	free(c.cells);
}
