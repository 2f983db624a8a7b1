/*
 * A picture as an SVG element, to stand in an HTML page. Colours and fonts are classes, which the page's
 * style has for light and dark: s0 to s7 for series, `axis`, `grid`, `guide`, `shade`. No
 * script: what is said of a point is its <title>.
 */
#ifndef BASE_PLOT_SVG_H
#define BASE_PLOT_SVG_H

#include "plot.h"

#include <stdio.h>

#define PLOT_SVG_WIDTH 560 /* in pixels of the picture; a page may make it smaller or larger */
#define PLOT_SVG_SMALL 400

/* Draws it, after plot_scale, with a legend where a series has a name. Points of which nothing is said are
 * one element, which keeps files small. */
void plot_svg(const struct plot *plot, double width, FILE *out);

/* What a page that shows one has in its style (html.h). */
extern const char plot_svg_style[];

#endif
