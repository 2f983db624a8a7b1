/* A picture for a terminal, in braille (2 by 4 dots a character) or plain ASCII. */
#ifndef BASE_PLOT_TEXT_H
#define BASE_PLOT_TEXT_H

#include "plot.h"

#include <stdio.h>

struct plot_text {
	int width, height; /* in characters, all in all; height of the area */
	bool plain;        /* ASCII only */
	bool colour;
};

/*
 * What this output takes: the terminal's width (80 where it is none, or says nothing), colour where it is a
 * terminal and NO_COLOR is not set, braille where the locale's variables name UTF-8, unless `plain`.
 */
struct plot_text plot_text_for(FILE *out, bool plain);

/*
 * Draws it, after plot_scale. Without colours, series of points after the first are letters, as are the
 * points of lines that have something to say. Heat maps are not drawn.
 */
void plot_text_print(const struct plot *plot, const struct plot_text *how, FILE *out);

#endif
