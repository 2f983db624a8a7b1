/*
 * A picture as data: two axes, series of points, lines and bands. It is filled once, scaled once
 * (plot_scale), and then drawn as text (plot_text.h) or SVG (plot_svg.h), which place things alike.
 *
 *     struct plot plot;
 *     plot_init(&plot, "title", "batch", "time (ms)");
 *     plot.x.log = true;
 *     series = plot_add(&plot, PLOT_LINE, "fitted");
 *     plot_point(&plot, series, x, y, NULL);
 *     plot_scale(&plot);
 *     plot_svg(&plot, PLOT_SVG_WIDTH, out);
 *     plot_free(&plot);
 *
 * Points that are no numbers, or not positive on a logarithmic axis, are left out and counted. All texts are
 * copied. A plot belongs to one thread. Without memory it stays as it is and `failed` is set, for which the
 * caller looks once, after plot_scale.
 */
#ifndef BASE_PLOT_H
#define BASE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_TICKS 24   /* at most, on an axis with numbers */
#define PLOT_LABEL 16   /* bytes of a tick's label */
#define PLOT_COLOURS 8  /* series beyond take the same again */
#define PLOT_PLAIN (-1) /* the colour of lines that only guide the eye */

enum plot_kind {
	PLOT_POINTS,
	PLOT_LINE,  /* through its points, in their order */
	PLOT_BAND,  /* between low and high, along x */
	PLOT_RANGE, /* an error bar at each point, from low to high: along x where y has names, else along y
		     */
	PLOT_TILES, /* a heat map: both axes have names; `low` is the value, from -1 to 1 */
};

struct plot_point {
	double x, y;
	double low, high;
	size_t stands_for; /* points that were thinned out into this one, itself included */
	char *tip;         /* what is said of it; may be NULL */
	double radius;     /* of a point, in pixels of an SVG; 0: as the plot has it */
	char letter;       /* drawn for it in text, whatever its series; 0: that of the series */
};

struct plot_series {
	enum plot_kind kind;
	char *name; /* NULL: not in the legend */
	int colour; /* 0 to PLOT_COLOURS - 1, or PLOT_PLAIN */
	bool dashed, hollow, faint;
	size_t count, all; /* drawn, and before they were thinned out */
	struct plot_point *points;
};

struct plot_tick {
	double value;
	char label[PLOT_LABEL];
};

struct plot_axis {
	char *label;
	bool log;
	bool whole;             /* ticks at whole numbers only */
	bool prefixed;          /* ticks with k, M, G, T ... */
	bool fixed;             /* least and greatest are the caller's */
	double least, greatest; /* set by plot_scale */
	double zero_at;         /* a value whose tick says 0 (a zero on a logarithmic axis); NAN: none */
	double span_from,
		span_to; /* what was measured: the rest is shaded as extrapolation; NAN: no shading */
	char **names;    /* categories at 0, 1, 2 ...; NULL: numbers */
	size_t name_count;
	size_t tick_count;
	struct plot_tick ticks[PLOT_TICKS];
};

struct plot {
	char *title;
	struct plot_axis x, y;
	size_t series_count;
	struct plot_series **series;
	struct plot_series spare; /* what plot_add answers without memory */
	struct plot_point spare_point;
	size_t left_out;
	bool failed;
	double row_height; /* of an axis of names on the left, in pixels of an SVG; 0: for one thing a row */
	double height;     /* of the area where y has numbers, in pixels of an SVG; 0: 250 */
};

void plot_init(struct plot *plot, const char *title, const char *x_label, const char *y_label);
void plot_free(struct plot *plot);

/* Names the categories of an axis; once. */
void plot_names(struct plot *plot, struct plot_axis *axis, const char *const *names, size_t count);

/* A new series with the next colour; name may be NULL. It is the plot's, and stays
 * where it is. */
struct plot_series *plot_add(struct plot *plot, enum plot_kind kind, const char *name);
/* Points and lines: the new point, which is the plot's, for its radius or letter, until the next is added. */
struct plot_point *plot_point(
	struct plot *plot, struct plot_series *series, double x, double y, const char *tip);
/* Bands, ranges and tiles; of a band y counts for nothing. */
struct plot_point *plot_range(struct plot *plot, struct plot_series *series, double x, double y, double low,
	double high, const char *tip);

/* Ends the filling: leaves out what cannot be shown, finds ends and ticks of the axes. */
void plot_scale(struct plot *plot);
/* Ends that are given, before plot_scale: both axes alike, for instance. */
void plot_fix(struct plot_axis *axis, double least, double greatest);
/* Thins series of points out, after plot_scale: of those in one small square the first stays, so that no
 * more than `most` of a series are drawn, and none that lies apart is lost. */
void plot_thin(struct plot *plot, size_t most);

/* Where the value lies on the axis, 0 to 1. */
double plot_place(const struct plot_axis *axis, double value);
/* Names or ticks alike: how many, where (0 to 1), and which text. */
size_t plot_tick_count(const struct plot_axis *axis);
double plot_tick_place(const struct plot_axis *axis, size_t tick);
const char *plot_tick_text(const struct plot_axis *axis, size_t tick);

#endif
