/* The page of models of steps: `pmfit html` of what `pmfit step` writes. */
#ifndef HTML_STEP_H
#define HTML_STEP_H

#include "step/step.h"

#include <stdio.h>

struct html_step {
	const char *name; /* of the file */
	const struct step_model *model;
	const struct step_table
		*table; /* measured rows besides those of the model, in its unit; NULL: none */
};

/* Writes the page: of each level what it was made from, how well configurations were predicted that were left
 * out, by column, and pictures of these predictions. Fits the level some forty times for that. Ends the
 * program without memory. */
void html_step_write(const struct html_step *steps, size_t count, FILE *out);

#endif
