/* Pictures as SVG: see plot_svg.h. */
#include "plot_svg.h"
#include "html.h"
#include "text.h"

#include <math.h>
#include <string.h>

#define LETTER 6.6 /* the mean width of one, in pixels */
#define LINE_HEIGHT 15
#define ROW_HEIGHT 17   /* of an axis with names on the left */
#define HEIGHT 250      /* of the area, where y has numbers */
#define WIDEST 680      /* as in the style; a wider picture says so itself */
#define MANY 300        /* points: they are small */
#define LONGEST_NAME 30 /* letters of a name on an axis: longer ones are cut, and whole in a title */

struct frame {
	FILE *out;
	double left, top, width, height; /* of the area */
};

const char plot_svg_style[] =
	"svg.plot{display:block;width:100%;max-width:680px;overflow:hidden}\n"
	".grid{stroke:var(--line);fill:none}.frame{fill:none;stroke:var(--dim);stroke-width:.6}"
	".shade{fill:var(--dim);fill-opacity:.13}\n"
	".s0{--c:var(--k0)}.s1{--c:var(--k1)}.s2{--c:var(--k2)}.s3{--c:var(--k3)}.s4{--c:var(--k4)}"
	".s5{--c:var(--k5)}.s6{--c:var(--k6)}.s7{--c:var(--k7)}.guide{--c:var(--dim)}\n"
	".point{fill:var(--c);stroke:var(--bg);stroke-width:.5}.many{fill-opacity:.6;stroke:none}"
	".sized{fill-opacity:.6;stroke:var(--fg)}"
	".dots{fill:none;stroke:var(--c);stroke-width:4.5;stroke-linecap:round;stroke-opacity:.6}"
	".few{stroke-width:6;stroke-opacity:1}.hollow{fill:none;stroke:var(--c);stroke-width:1;"
	"stroke-opacity:.7}.faint{opacity:.4}\n"
	".line{fill:none;stroke:var(--c);stroke-width:1.7}.guide.line{stroke-width:1}"
	".dashed{stroke-dasharray:5 4}.bar{fill:none;stroke:var(--c);stroke-width:1.4}\n"
	".band{fill:var(--c);fill-opacity:.16}.band.key{stroke:var(--c);stroke-width:9;"
	"stroke-opacity:.25}.tile{stroke:var(--bg)}.more{fill:var(--more)}.less{fill:var(--less)}\n";

/* Up to `most` characters; answers whether that was all. */
static bool put_text(const char *text, size_t most, FILE *out)
{
	const char *shown;
	size_t bytes;

	for (; *text && most > 0; most--) {
		text += html_character(text, &shown, &bytes);
		fwrite(shown, 1, bytes, out);
	}
	return *text == '\0';
}

static double place_x(const struct frame *frame, const struct plot *plot, double x)
{
	return frame->left + fmin(fmax(plot_place(&plot->x, x), 0), 1) * frame->width;
}

/* Names go down, numbers up. */
static double place_y(const struct frame *frame, const struct plot *plot, double y)
{
	double place = fmin(fmax(plot_place(&plot->y, y), 0), 1);

	return frame->top + (plot->y.names ? place : 1 - place) * frame->height;
}

static void put_title(const struct plot_point *point, FILE *out)
{
	if (!point->tip && point->stands_for < 2)
		return;
	fputs("<title>", out);
	if (point->tip)
		html_text(point->tip, out);
	if (point->stands_for > 1)
		fprintf(out, "%sone of %zu here", point->tip ? "; " : "", point->stands_for);
	fputs("</title>", out);
}

static void put_class(const struct plot_series *series, const char *more, FILE *out)
{
	fputs("class=\"", out);
	if (series->colour == PLOT_PLAIN)
		fputs("guide", out);
	else
		fprintf(out, "s%d", series->colour % PLOT_COLOURS);
	fprintf(out, "%s%s%s%s\"", more, series->dashed ? " dashed" : "", series->hollow ? " hollow" : "",
		series->faint ? " faint" : "");
}

static size_t points(const struct plot *plot)
{
	size_t count = 0;

	for (size_t s = 0; s < plot->series_count; s++)
		count += plot->series[s]->kind == PLOT_POINTS ? plot->series[s]->count : 0;
	return count;
}

/* Points of which nothing is to be said, as one path: round ends of lines without length. */
static void put_dots(const struct frame *f, const struct plot *plot, const struct plot_series *series)
{
	fputs("<path ", f->out);
	put_class(series, points(plot) > MANY ? " dots" : " dots few", f->out);
	fputs(" d=\"", f->out);
	for (size_t i = 0; i < series->count; i++)
		fprintf(f->out, "M%.1f %.1fh0", place_x(f, plot, series->points[i].x),
			place_y(f, plot, series->points[i].y));
	fputs("\"/>\n", f->out);
}

static bool is_silent(const struct plot_series *series)
{
	for (size_t i = 0; i < series->count; i++)
		if (series->points[i].tip)
			return false;
	return !series->hollow;
}

static void put_points(const struct frame *f, const struct plot *plot, const struct plot_series *series)
{
	/* many are small and let each other through */
	bool many = points(plot) > MANY;
	const char *more = many ? " point many" : " point";
	double radius = many ? 2 : 3.2;

	if (is_silent(series)) {
		put_dots(f, plot, series);
		return;
	}
	for (size_t i = 0; i < series->count; i++) {
		const struct plot_point *point = &series->points[i];

		fputs("<circle ", f->out);
		put_class(series, point->radius > 0 ? " point sized" : more, f->out);
		fprintf(f->out, " cx=\"%.2f\" cy=\"%.2f\" r=\"%.3g\">", place_x(f, plot, point->x),
			place_y(f, plot, point->y), point->radius > 0 ? point->radius : radius);
		put_title(point, f->out);
		fputs("</circle>\n", f->out);
	}
}

static void put_line(const struct frame *f, const struct plot *plot, const struct plot_series *series)
{
	fputs("<polyline ", f->out);
	put_class(series, " line", f->out);
	fputs(" points=\"", f->out);
	for (size_t i = 0; i < series->count; i++)
		fprintf(f->out, "%s%.2f,%.2f", i ? " " : "", place_x(f, plot, series->points[i].x),
			place_y(f, plot, series->points[i].y));
	fputs("\">", f->out);
	if (series->name) {
		fputs("<title>", f->out);
		html_text(series->name, f->out);
		fputs("</title>", f->out);
	}
	fputs("</polyline>\n", f->out);
	/* what has something to say is a point as well */
	for (size_t i = 0; i < series->count; i++)
		if (series->points[i].tip) {
			fputs("<circle ", f->out);
			put_class(series, " point", f->out);
			fprintf(f->out, " cx=\"%.2f\" cy=\"%.2f\" r=\"2.4\">",
				place_x(f, plot, series->points[i].x), place_y(f, plot, series->points[i].y));
			put_title(&series->points[i], f->out);
			fputs("</circle>\n", f->out);
		}
}

static void put_band(const struct frame *f, const struct plot *plot, const struct plot_series *series)
{
	fputs("<polygon ", f->out);
	put_class(series, " band", f->out);
	fputs(" points=\"", f->out);
	for (size_t i = 0; i < series->count; i++)
		fprintf(f->out, "%.2f,%.2f ", place_x(f, plot, series->points[i].x),
			place_y(f, plot, series->points[i].low));
	for (size_t i = series->count; i-- > 0;)
		fprintf(f->out, "%.2f,%.2f ", place_x(f, plot, series->points[i].x),
			place_y(f, plot, series->points[i].high));
	fputs("\"/>\n", f->out);
}

static void put_ranges(const struct frame *f, const struct plot *plot, const struct plot_series *series)
{
	for (size_t i = 0; i < series->count; i++) {
		const struct plot_point *point = &series->points[i];
		double x = place_x(f, plot, point->x), y = place_y(f, plot, point->y);

		fputs("<path ", f->out);
		put_class(series, " bar", f->out);
		if (plot->y.names) {
			double low = place_x(f, plot, point->low), high = place_x(f, plot, point->high);

			fprintf(f->out, " d=\"M%.2f %.2fH%.2fM%.2f %.2fv6M%.2f %.2fv6\">", low, y, high, low,
				y - 3, high, y - 3);
		} else {
			double low = place_y(f, plot, point->low), high = place_y(f, plot, point->high);

			fprintf(f->out, " d=\"M%.2f %.2fV%.2fM%.2f %.2fh6M%.2f %.2fh6\">", x, low, high,
				x - 3, low, x - 3, high);
		}
		put_title(point, f->out);
		fputs("</path>\n", f->out);
	}
}

static void put_tiles(const struct frame *f, const struct plot *plot, const struct plot_series *series)
{
	double width = f->width / (double)plot->x.name_count, height = f->height / (double)plot->y.name_count;

	for (size_t i = 0; i < series->count; i++) {
		const struct plot_point *point = &series->points[i];
		double strength = fmin(fabs(point->low), 1);

		fprintf(f->out,
			"<rect class=\"tile %s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
			"fill-opacity=\"%.2f\">",
			point->low > 0 ? "more" : "less", place_x(f, plot, point->x) - width / 2,
			place_y(f, plot, point->y) - height / 2, width, height, 0.06 + 0.94 * strength);
		put_title(point, f->out);
		fputs("</rect>\n", f->out);
	}
}

static void put_name(const char *name, FILE *out)
{
	if (!put_text(name, LONGEST_NAME, out)) {
		fputs("…<title>", out);
		html_text(name, out);
		fputs("</title>", out);
	}
}

/* Labels that would run into each other are left out, or lean if they are names. */
static void put_x_axis(const struct frame *f, const struct plot *plot)
{
	const struct plot_axis *axis = &plot->x;
	double free_from = 0, bottom = f->top + f->height;
	size_t count = plot_tick_count(axis);
	bool lean = false;

	for (size_t i = 0; i < count && axis->names; i++)
		lean = lean ||
		       (double)pm_text_columns(axis->names[i]) * LETTER > f->width / (double)count - 6;
	for (size_t i = 0; i < count; i++) {
		double x = f->left + plot_tick_place(axis, i) * f->width;
		double half = (double)pm_text_columns(plot_tick_text(axis, i)) * LETTER / 2;

		fprintf(f->out, "<path class=\"grid\" d=\"M%.2f %.2fv%.2f\"/>", x, f->top, f->height + 4);
		if (lean ? x - 6 < free_from : x - half < free_from)
			continue;
		free_from = lean ? x + 6 : x + half + 6;
		if (lean)
			fprintf(f->out,
				"<text class=\"axis\" text-anchor=\"end\" transform=\"translate(%.2f %.2f) "
				"rotate(-35)\">",
				x + 4, bottom + 14);
		else
			fprintf(f->out,
				"<text class=\"axis xtick\" text-anchor=\"middle\" x=\"%.2f\" y=\"%.2f\">", x,
				bottom + 17);
		put_name(plot_tick_text(axis, i), f->out);
		fputs("</text>\n", f->out);
	}
}

static void put_y_axis(const struct frame *f, const struct plot *plot)
{
	for (size_t i = 0; i < plot_tick_count(&plot->y); i++) {
		double place = plot_tick_place(&plot->y, i);
		double y = f->top + (plot->y.names ? place : 1 - place) * f->height;

		fprintf(f->out, "<path class=\"grid\" d=\"M%.2f %.2fh%.2f\"/>", f->left - 4, y, f->width + 4);
		fprintf(f->out, "<text class=\"axis ytick\" text-anchor=\"end\" x=\"%.2f\" y=\"%.2f\">",
			f->left - 8, y + 4);
		put_name(plot_tick_text(&plot->y, i), f->out);
		fputs("</text>\n", f->out);
	}
}

/* What lies beyond the measured span, on both sides. */
static void put_shade(const struct frame *f, const struct plot *plot)
{
	double right = f->left + f->width, from, to;

	if (!isfinite(plot->x.span_from) || !isfinite(plot->x.span_to))
		return;
	from = place_x(f, plot, plot->x.span_from);
	to = place_x(f, plot, plot->x.span_to);
	fprintf(f->out,
		"<rect class=\"shade\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>extrapolation"
		"</title></rect><rect class=\"shade\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">"
		"<title>extrapolation</title></rect>\n",
		f->left, f->top, from - f->left, f->height, to, f->top, right - to, f->height);
}

/* Draws, or with `draw` false only measures: the lines that the legend takes. */
static size_t put_legend(const struct frame *f, const struct plot *plot, bool draw)
{
	double x = 0;
	size_t lines = 0;

	for (size_t s = 0; s < plot->series_count; s++) {
		const struct plot_series *series = plot->series[s];
		int count = series->name ? pm_text_columns(series->name) : 0;
		double width = 30 + (double)(count < LONGEST_NAME ? count : LONGEST_NAME + 1) * LETTER, y;

		if (!series->name || series->count == 0)
			continue;
		if (lines == 0 || x + width > f->width) {
			lines++;
			x = 0;
		}
		y = f->top - 12 + (double)lines * LINE_HEIGHT;
		if (draw) {
			fputs(series->kind == PLOT_POINTS ? "<circle " : "<path ", f->out);
			put_class(series,
				series->kind == PLOT_POINTS  ? " point"
				: series->kind == PLOT_BAND  ? " band key"
				: series->kind == PLOT_RANGE ? " bar"
							     : " line",
				f->out);
			if (series->kind == PLOT_POINTS)
				fprintf(f->out, " cx=\"%.2f\" cy=\"%.2f\" r=\"3.2\"/>", f->left + x + 10, y);
			else
				fprintf(f->out, " d=\"M%.2f %.2fh16\"/>", f->left + x + 2, y);
			fprintf(f->out, "<text class=\"key\" x=\"%.2f\" y=\"%.2f\">", f->left + x + 23,
				y + 4);
			put_name(series->name, f->out);
			fputs("</text>\n", f->out);
		}
		x += width + 8;
	}
	return lines;
}

static double widest(const struct plot_axis *axis)
{
	int most = 2;

	for (size_t i = 0; i < plot_tick_count(axis); i++) {
		int count = pm_text_columns(plot_tick_text(axis, i));

		most = count > most ? count : most;
	}
	return (double)(most < LONGEST_NAME ? most : LONGEST_NAME + 1) * LETTER;
}

static void put_labels(const struct frame *f, const struct plot *plot, double height)
{
	fprintf(f->out, "<text class=\"name\" text-anchor=\"middle\" x=\"%.2f\" y=\"%.2f\">",
		f->left + f->width / 2, height - 6);
	html_text(plot->x.label ? plot->x.label : "", f->out);
	fprintf(f->out,
		"</text>\n<text class=\"name\" text-anchor=\"middle\" transform=\"translate(12 %.2f) "
		"rotate(-90)\">",
		f->top + f->height / 2);
	html_text(plot->y.label ? plot->y.label : "", f->out);
	fputs("</text>\n", f->out);
}

void plot_svg(const struct plot *plot, double width, FILE *out)
{
	static void (*const draw[])(const struct frame *, const struct plot *, const struct plot_series *) = {
		put_points, put_line, put_band, put_ranges, put_tiles};
	bool named = plot->y.label && *plot->y.label;
	struct frame f = {
		out, (named ? 30 : 12) + widest(&plot->y), 0, 0, plot->height > 0 ? plot->height : HEIGHT};
	double below = 42, top;

	f.width = width - f.left - 20;
	if (plot->y.names)
		f.height =
			(plot->row_height > 0 ? plot->row_height : ROW_HEIGHT) * (double)plot->y.name_count;
	if (plot->x.names && widest(&plot->x) > f.width / (double)plot->x.name_count - 6)
		below += 0.58 * widest(&plot->x);
	top = 8 + LINE_HEIGHT * (double)put_legend(&f, plot, false);
	fputs("<svg class=\"plot\"", out);
	if (width > WIDEST)
		fprintf(out, " style=\"max-width:%.0fpx\"", width);
	fprintf(out, " viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>", width, top + f.height + below);
	html_text(plot->title ? plot->title : "", out);
	fputs("</title>\n", out);
	f.top = 8;
	put_legend(&f, plot, true);
	f.top = top;
	put_shade(&f, plot);
	put_x_axis(&f, plot);
	put_y_axis(&f, plot);
	for (size_t s = 0; s < plot->series_count; s++)
		if (plot->series[s]->count)
			draw[plot->series[s]->kind](&f, plot, plot->series[s]);
	fprintf(out, "<rect class=\"frame\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", f.left,
		f.top, f.width, f.height);
	put_labels(&f, plot, top + f.height + below);
	fputs("</svg>\n", out);
}
