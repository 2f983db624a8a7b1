/*
 * Time over one column of a model, the others held.
 *
 * What is held: the configuration that was measured at the most values of the column, if it was at three at
 * least; then the points are its measurements. Otherwise the middle of each column; then every measurement
 * is a point, moved to that configuration by the model: what remains of it is its residual.
 */
#include "base/role.h"
#include "base/statistics.h"
#include "sample_table.h"

#include <err.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_VALUES 3 /* of a column, to be its curve's measured points */
#define STEPS 96       /* of a curve */
#define BEYOND 4       /* times the greatest: so far the curve of an extrinsic column goes */
#define BEYOND_SIZE 2  /* of another */

static int compare_held(const struct sample_table *t, size_t i, size_t j)
{
	for (size_t c = 0; c < t->model->column_count; c++) {
		double x = t->values[c][i], y = t->values[c][j];

		if (c != t->column && x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

static int compare_samples(const void *a, const void *b, void *context)
{
	const struct sample_table *t = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	int held = compare_held(t, i, j);
	double x = t->values[t->column][i], y = t->values[t->column][j];

	return held ? held : x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j;
}

/* The samples order[*begin] to order[*end - 1] are the configuration with the most values of the column;
 * says how many those are. */
static size_t best_group(struct sample_table *t, size_t *begin, size_t *end)
{
	size_t most = 0, from = 0, distinct = 0;

	for (size_t k = 0; k < t->count; k++)
		t->order[k] = k;
	qsort_r(t->order, t->count, sizeof(*t->order), compare_samples, t);
	*begin = *end = 0;
	for (size_t k = 0; k < t->count; k++) {
		if (k == from || t->values[t->column][t->order[k]] != t->values[t->column][t->order[k - 1]])
			distinct++;
		if (k + 1 < t->count && compare_held(t, t->order[k], t->order[k + 1]) == 0)
			continue;
		if (distinct > most || (distinct == most && k + 1 - from > *end - *begin)) {
			most = distinct;
			*begin = from;
			*end = k + 1;
		}
		from = k + 1;
		distinct = 0;
	}
	return most;
}

/* The middle of a column: the median, which is a value that was measured; without samples the middle of its
 * range; of levels the most usual. */
static double middle(const struct sample_table *t, size_t c)
{
	const struct pm_fit_model_column *known = &t->model->columns[c];
	double *sorted, value;
	size_t most = 0, level = 0;

	if (t->count == 0 && role_has_levels(known->role))
		return 0;
	if (t->count == 0)
		return known->least > 0 ? sqrt(known->least * known->greatest)
					: (known->least + known->greatest) / 2;
	if (role_has_levels(known->role)) {
		for (size_t l = 0; l < known->level_count; l++) {
			size_t count = 0;

			for (size_t k = 0; k < t->count; k++)
				count += t->values[c][k] == (double)l;
			if (count > most) {
				most = count;
				level = l;
			}
		}
		return (double)level;
	}
	sorted = figure_alloc(t->count, sizeof(*sorted));
	memcpy(sorted, t->values[c], t->count * sizeof(*sorted));
	statistics_sort(sorted, t->count);
	value = sorted[t->count / 2];
	free(sorted);
	return value;
}

/* What the model says where the column has these values and the others are held; low and high may be NULL. */
static void predict_along(const struct sample_table *t, const double *held, const double *along, size_t count,
	double *times, double *low, double *high)
{
	const struct pm_fit_model *model = t->model;
	struct pm_fit_column *columns = figure_alloc(model->column_count, sizeof(*columns));
	double *numbers = figure_alloc(model->column_count * count, sizeof(*numbers));
	struct pm_fit_problem problem = {.sample_count = count, .columns = columns};

	for (size_t c = 0; c < model->column_count; c++) {
		double *values = numbers + c * count;

		if (!sample_table_matters(&model->columns[c]))
			continue;
		for (size_t i = 0; i < count; i++)
			values[i] = c == t->column ? along[i] : held[c];
		columns[problem.column_count++] = (struct pm_fit_column){.name = model->columns[c].name,
			.role = model->columns[c].role,
			.values = values,
			.level_count = model->columns[c].level_count,
			.levels = (const char *const *)model->columns[c].levels};
	}
	if (pm_fit_predict(model, &problem, times) < 0 ||
		(low && pm_fit_predict_interval(model, &problem, model->parameter.confidence, low, high) < 0))
		errx(1, "out of memory");
	free(numbers);
	free(columns);
}

static void print_held(const struct sample_table *t, const double *held, bool measured, FILE *out)
{
	const char *gap = "";

	fputs("Held: ", out);
	for (size_t c = 0; c < t->model->column_count; c++) {
		const struct pm_fit_model_column *known = &t->model->columns[c];

		if (c == t->column || !sample_table_matters(known))
			continue;
		if (role_has_levels(known->role))
			fprintf(out, "%s%s %s", gap, known->name, known->levels[(size_t)held[c]]);
		else
			fprintf(out, "%s%s %.4g", gap, known->name, held[c]);
		gap = ", ";
	}
	fprintf(out, "%s. ", *gap ? "" : "nothing");
	if (t->count && measured)
		fputs("The points were measured at this configuration.", out);
	else if (t->count)
		fputs("No configuration was measured at three values: each point is a measured time, "
		      "adjusted to this configuration by the model.",
			out);
}

static void print_power(const struct sample_table *t, const double *ends, FILE *out)
{
	const char *name = t->model->columns[t->column].name;

	for (size_t v = 0; v < t->model->value_count; v++) {
		const struct pm_fit_value *value = &t->model->values[v];

		if (value->column != t->column || value->kind != PM_FIT_KIND_EXTRINSIC)
			continue;
		fprintf(out,
			" The power is %.4g: with twice the %s the scaling part takes %.3g× the time%s; "
			"the total, here and at the largest %s, %.3g×.",
			value->value, name, pow(2, value->value), value->value < 0 ? " (0.5 is ideal)" : "",
			name, ends[1] / ends[0]);
	}
}

static void add_measured(struct plot *plot, const struct sample_table *t, const double *held, size_t begin,
	size_t end, bool as_measured)
{
	struct plot_series *series[2] = {NULL};

	/* fitted, then test, in the colours of the other pictures */
	for (size_t i = begin; i < end; i++)
		series[t->sets[t->order[i]]] = &plot->spare;
	for (size_t s = 0; s < 2; s++)
		if (series[s]) {
			series[s] = plot_add(plot, PLOT_POINTS, t->names[s]);
			series[s]->colour = (int)s;
		}
	for (size_t i = begin; i < end; i++) {
		size_t k = t->order[i];
		double x = t->values[t->column][k], time = t->measured[k], curve;
		char *tip = NULL;

		if (!as_measured) {
			predict_along(t, held, &x, 1, &curve, NULL, NULL);
			time *= curve / t->predicted[k];
		}
		if (as_measured)
			tip = figure_text("%s %g: measured %.4g", t->model->columns[t->column].name, x, time);
		plot_point(plot, series[t->sets[k]], x, time, tip);
		free(tip);
	}
}

/* Proportional to 1/x where the time falls: what more devices could give at best. */
static void add_ideal(struct plot *plot, const double *along, const double *times, double greatest)
{
	struct plot_series *line;

	if (!(times[STEPS - 1] < 0.95 * times[0]))
		return;
	line = plot_add(plot, PLOT_LINE, "ideal, as 1/x");
	line->colour = PLOT_PLAIN;
	line->dashed = true;
	for (size_t i = 0; i < STEPS && along[i] <= greatest; i++)
		plot_point(plot, line, along[i], times[0] * along[0] / along[i], NULL);
}

static void add_curve(struct plot *plot, const struct sample_table *t, const double *held, double *ends)
{
	const struct pm_fit_model_column *known = &t->model->columns[t->column];
	double along[STEPS], times[STEPS], low[STEPS], high[STEPS];
	/* below 1 there are no GPUs, samples or filters */
	double least = known->least >= 1 ? fmax(1, known->least / 2) : known->least;
	double greatest = known->greatest * (known->role == PM_FIT_EXTRINSIC ? BEYOND : BEYOND_SIZE),
	       twice[] = {known->greatest, 2 * known->greatest};
	struct plot_series *band, *line;

	for (size_t i = 0; i < STEPS; i++) {
		double share = (double)i / (STEPS - 1);

		along[i] = plot->x.log ? least * pow(greatest / least, share)
				       : known->least + share * 1.5 * (known->greatest - known->least);
	}
	predict_along(t, held, along, STEPS, times, low, high);
	predict_along(t, held, twice, 2, ends, NULL, NULL);
	band = plot_add(plot, PLOT_BAND, "interval");
	line = plot_add(plot, PLOT_LINE, "predicted");
	line->colour = band->colour = 2;
	for (size_t i = 0; i < STEPS; i++) {
		plot_range(plot, band, along[i], times[i], low[i], high[i], NULL);
		plot_point(plot, line, along[i], times[i], NULL);
	}
	if (plot->x.log && known->role == PM_FIT_EXTRINSIC)
		add_ideal(plot, along, times, known->greatest);
}

bool figure_scaling(struct plot *plot, const struct subject *subject, size_t column, FILE *caption)
{
	const struct pm_fit_model *model = subject->model;
	const struct pm_fit_model_column *known = &model->columns[column];
	double *held, ends[2];
	struct sample_table t;
	size_t begin, end;
	bool as_measured;
	char *label, *title;

	if ((known->role != PM_FIT_INTRINSIC && known->role != PM_FIT_EXTRINSIC) ||
		!(known->least < known->greatest))
		return false;
	sample_table_init(&t, subject);
	t.column = column;
	held = figure_alloc(model->column_count, sizeof(*held));
	as_measured = best_group(&t, &begin, &end) >= LEAST_VALUES;
	for (size_t c = 0; c < model->column_count; c++)
		held[c] = as_measured ? t.values[c][t.order[begin]] : middle(&t, c);
	label = figure_time_label("time", model->time_unit);
	title = figure_text("Time over %s", known->name);
	plot_init(plot, title, known->name, label);
	plot->x.log = known->least > 0;
	plot->y.log = plot->x.log && known->role == PM_FIT_EXTRINSIC;
	plot->x.span_from = known->least;
	plot->x.span_to = known->greatest;
	if (t.count)
		add_measured(
			plot, &t, held, as_measured ? begin : 0, as_measured ? end : t.count, as_measured);
	add_curve(plot, &t, held, ends);
	plot_scale(plot);
	plot->left_out = 0; /* bands that reach below zero */
	figure_check(plot);
	if (caption) {
		print_held(&t, held, as_measured, caption);
		print_power(&t, ends, caption);
	}
	free(label);
	free(title);
	free(held);
	sample_table_free(&t);
	return true;
}
