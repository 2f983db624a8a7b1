/*
 * The pictures of a model: which series they have and what is said of each point. Text and HTML draw the
 * same ones. Each function fills a plot and scales it; the caller frees it. They end the program without
 * memory.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include "fit/lambda_path.h"
#include "base/plot.h"
#include "pm_fit.h"

#include <stdio.h>

/* Measured samples and what a model says of them; all belong to others. */
struct figure_set {
	const char *name; /* "fitted", "test" */
	const struct pm_fit_problem *problem;
	const double *measured;  /* NAN where there is none */
	const double *predicted; /* NAN where there is none */
	const size_t *lines;     /* of each sample in its file, NULL: they are counted from 1 */
};

/* A model beside its samples, if there are any. */
struct subject {
	const char *name;
	const struct pm_fit_model *model;
	size_t set_count; /* 0 to 2 */
	struct figure_set sets[2];
};

/* Predicted over measured, logarithmic, with the line on which they are equal. */
void figure_predicted(struct plot *plot, const struct subject *subject);
/*
 * measured / predicted - 1 in percent over what is predicted, or over a column of the model; the ratio
 * itself, logarithmic, if more than a few are above 3. A few that lie far from all others are drawn at the
 * edge, and counted in the axis' label, so that the others can be seen.
 */
#define FIGURE_OVER_PREDICTED ((size_t)-1)
void figure_residuals(struct plot *plot, const struct subject *subject, size_t column);
/* A sentence if, from the low to the high values of a numeric column, the measured times rise where the
 * predicted ones fall, or the other way round: the caller's, or NULL. */
char *figure_direction(const struct subject *subject, size_t column);
/* The median of the same for each pair of values of two columns; values are gathered where there are many. */
/* The two columns over which the residuals differ most. False: there are none. */
bool figure_heat_columns(const struct subject *subject, size_t columns[2]);
void figure_heat(struct plot *plot, const struct subject *subject, size_t across, size_t down);

/* Powers, or all other parameters, of one model or of several with a colour each: the best, its bootstrap
 * interval, the seeds. No series if there are none. */
void figure_values(struct plot *plot, const struct subject *subjects, size_t count, bool powers);
/* The cost that each seed ended with, before and after the polish. */
void figure_seeds(struct plot *plot, const struct subject *subject);

/* Time over a numeric column, the others held; what is held and what the points are goes to `caption`, if it
 * is not NULL. False: the column has one value only, or no numbers. */
bool figure_scaling(struct plot *plot, const struct subject *subject, size_t column, FILE *caption);

/* Over lambda. */
enum figure_path { FIGURE_PATH_COEFFICIENTS, FIGURE_PATH_POWERS, FIGURE_PATH_R2, FIGURE_PATH_ERROR };
void figure_path(struct plot *plot, const struct lambda_path *path, enum figure_path which);

/* Zeroed memory, or the program ends. */
void *figure_alloc(size_t count, size_t size);
/* "time (ms)". The answer is the caller's. */
char *figure_time_label(const char *what, const char *unit);
/* Ends the program if the plot has lacked memory. */
void figure_check(const struct plot *plot);
/* A text as printf makes it, the caller's. */
__attribute__((format(printf, 1, 2))) char *figure_text(const char *format, ...);
/* Where a sample stands: "line" 7 of its file, or "sample" 7. */
size_t figure_line(const struct figure_set *set, size_t sample);
const char *figure_line_word(const struct figure_set *set);
/* The problem's column of that name and role, or NULL. */
const struct pm_fit_column *figure_column(
	const struct pm_fit_problem *problem, const struct pm_fit_model_column *known);

#endif
