/* The residuals of a model over what is predicted and over its columns, and where they show a direction that
 * the model has not. See figures.h. */
#include "base/role.h"
#include "base/statistics.h"
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column with so many times more at its greatest than at its least is logarithmic. */
#define LOG_RATIO 8

/* Residuals that reach further are shown as ratios on a logarithmic axis, if they are more than a few. */
#define GREATEST_RATIO 3
#define FEW 0.02

/* What lies FAR times beyond all but the share (1 - USUAL) of the others is an outlier; of fewer than LEAST
 * nothing is. */
#define USUAL 0.95
#define FAR 5
#define LEAST 20

static size_t all_samples(const struct subject *subject)
{
	size_t count = 0;

	for (size_t s = 0; s < subject->set_count; s++)
		count += subject->sets[s].problem->sample_count;
	return count;
}

static bool reaches_far(const struct subject *subject)
{
	size_t far = 0;

	for (size_t s = 0; s < subject->set_count; s++)
		for (size_t k = 0; k < subject->sets[s].problem->sample_count; k++)
			far += subject->sets[s].measured[k] > GREATEST_RATIO * subject->sets[s].predicted[k];
	return far > 2 && (double)far > FEW * (double)all_samples(subject);
}

static double residual_of(const struct figure_set *set, size_t sample)
{
	return 100 * (set->measured[sample] / set->predicted[sample] - 1);
}

/* The size up to which residuals are drawn in their place; HUGE_VAL: all. *beyond: how many are further. */
static double fence_of(const struct subject *subject, size_t *beyond)
{
	double *sizes = figure_alloc(all_samples(subject), sizeof(*sizes)), fence = HUGE_VAL;
	size_t count = 0;

	for (size_t s = 0; s < subject->set_count; s++)
		for (size_t k = 0; k < subject->sets[s].problem->sample_count; k++) {
			const double residual = residual_of(&subject->sets[s], k);

			if (isfinite(residual))
				sizes[count++] = fabs(residual);
		}
	*beyond = 0;
	if (count >= LEAST) {
		size_t usual = count;
		double far;

		statistics_sort(sizes, count);
		far = FAR * statistics_quantile_sorted(sizes, count, USUAL);
		while (far > 0 && sizes[usual - 1] > far)
			usual--;
		*beyond = count - usual;
		if (*beyond)
			fence = 1.1 * sizes[usual - 1];
	}
	free(sizes);
	return fence;
}

static char *axis_label(bool ratio, size_t beyond)
{
	if (ratio)
		return figure_text("measured over predicted");
	if (beyond == 0)
		return figure_text("measured over predicted, minus 1 (%%)");
	return figure_text("residual (%%); %zu outlier%s at the edge", beyond, beyond == 1 ? "" : "s");
}

/* The sets of a level stand side by side. */
static double place_of(const struct subject *subject, const struct pm_fit_model_column *known,
	const struct pm_fit_column *values, size_t set, size_t sample)
{
	if (role_has_levels(known->role))
		for (size_t l = 0; l < known->level_count; l++)
			if (strcmp(known->levels[l], values->levels[(size_t)values->values[sample]]) == 0)
				return (double)l + 0.3 * ((double)set + 0.5 - (double)subject->set_count / 2);
	return values->values[sample];
}

void figure_residuals(struct plot *plot, const struct subject *subject, size_t column)
{
	const struct pm_fit_model *model = subject->model;
	const struct pm_fit_model_column *known =
		column == FIGURE_OVER_PREDICTED ? NULL : &model->columns[column];
	double least = HUGE_VAL, greatest = 0, fence;
	bool ratio = reaches_far(subject);
	char *label = known ? strdup(known->name) : figure_time_label("predicted", model->time_unit),
	     *y_label;
	struct plot_series *zero;
	size_t beyond = 0;

	fence = ratio ? HUGE_VAL : fence_of(subject, &beyond);
	y_label = axis_label(ratio, beyond);
	plot_init(plot, "Residuals", label, y_label);
	plot->y.log = ratio;
	if (known && role_has_levels(known->role))
		plot_names(plot, &plot->x, (const char *const *)known->levels, known->level_count);
	if (known && known->least > 0 && known->greatest >= LOG_RATIO * known->least)
		plot->x.log = true;
	plot->x.log = plot->x.log || !known;
	for (size_t s = 0; s < subject->set_count; s++) {
		const struct figure_set *set = &subject->sets[s];
		const struct pm_fit_column *values = known ? figure_column(set->problem, known) : NULL;
		struct plot_series *series = plot_add(plot, PLOT_POINTS, set->name);

		for (size_t k = 0; k < set->problem->sample_count && (values || !known); k++) {
			const double residual = residual_of(set, k);
			const double x = known ? place_of(subject, known, values, s, k) : set->predicted[k];
			/* the pictures over columns are many: nothing is said of their points */
			char *tip = known && !(fabs(residual) > fence)
					    ? NULL
					    : figure_text("%s %zu: %+.1f%%", figure_line_word(set),
						      figure_line(set, k), residual);

			plot_point(plot, series, x,
				ratio ? residual / 100 + 1 : fmax(-fence, fmin(fence, residual)), tip);
			free(tip);
			if (!isfinite(x + residual))
				continue;
			least = fmin(least, x);
			greatest = fmax(greatest, x);
		}
	}
	if (least <= greatest) {
		zero = plot_add(plot, PLOT_LINE, NULL);
		zero->colour = PLOT_PLAIN;
		plot_point(plot, zero, least, ratio ? 1 : 0, NULL);
		plot_point(plot, zero, greatest, ratio ? 1 : 0, NULL);
	}
	plot_scale(plot);
	figure_check(plot);
	free(label);
	free(y_label);
}

/* ---- direction ---- */

#define CLEAR 0.05 /* a change by less is none */

/* Medians of measured and predicted times where the column's values are low, and where they are high. */
struct ends {
	double measured[2], predicted[2];
};

static bool find_ends(const struct figure_set *set, const struct pm_fit_column *column, struct ends *ends)
{
	const size_t count = set->problem->sample_count;
	double *sorted = figure_alloc(count, sizeof(*sorted)),
	       *measured = figure_alloc(count, sizeof(*measured)),
	       *predicted = figure_alloc(count, sizeof(*predicted)), limits[2];
	bool enough = count >= 4;

	memcpy(sorted, column->values, count * sizeof(*sorted));
	statistics_sort(sorted, count);
	limits[0] = enough ? statistics_quantile_sorted(sorted, count, 0.25) : 0;
	limits[1] = enough ? statistics_quantile_sorted(sorted, count, 0.75) : 0;
	enough = enough && limits[0] < limits[1];
	for (int end = 0; end < 2 && enough; end++) {
		size_t n = 0;

		for (size_t k = 0; k < count; k++) {
			const double value = column->values[k];

			if (!isfinite(set->measured[k] + set->predicted[k]))
				continue;
			if (end ? value < limits[1] : value > limits[0])
				continue;
			measured[n] = set->measured[k];
			predicted[n++] = set->predicted[k];
		}
		enough = n > 0;
		if (enough) {
			ends->measured[end] = statistics_median(measured, n);
			ends->predicted[end] = statistics_median(predicted, n);
		}
	}
	free(sorted);
	free(measured);
	free(predicted);
	return enough &&
	       isfinite(ends->measured[0] + ends->measured[1] + ends->predicted[0] + ends->predicted[1]);
}

/* -1: falls, 1: rises, 0: neither clearly. */
static int trend(const double ends[2])
{
	return ends[1] > (1 + CLEAR) * ends[0] ? 1 : ends[0] > (1 + CLEAR) * ends[1] ? -1 : 0;
}

char *figure_direction(const struct subject *subject, size_t column)
{
	const struct pm_fit_model_column *known = &subject->model->columns[column];
	const struct pm_fit_column *values;
	struct ends ends;

	if ((known->role != PM_FIT_INTRINSIC && known->role != PM_FIT_EXTRINSIC) || subject->set_count == 0)
		return NULL;
	values = figure_column(subject->sets[0].problem, known);
	if (!values || !find_ends(&subject->sets[0], values, &ends) ||
		trend(ends.measured) * trend(ends.predicted) >= 0)
		return NULL;
	return figure_text(
		"From low to high %s the measured times %s (medians %.4g and %.4g) where the predicted ones "
		"%s (%.4g and %.4g): the model has the direction of this column wrong, or other "
		"columns that it does not weigh right change with it.",
		known->name, trend(ends.measured) > 0 ? "rise" : "fall", ends.measured[0], ends.measured[1],
		trend(ends.predicted) > 0 ? "rise" : "fall", ends.predicted[0], ends.predicted[1]);
}
