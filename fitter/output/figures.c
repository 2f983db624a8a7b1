/* The pictures of a model: measured against predicted, parameters, seeds, paths. See figures.h. */
#include "figures.h"

#include <err.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DECADES 6 /* of coefficients, on one axis */

void *figure_alloc(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	if (!memory)
		errx(1, "out of memory");
	return memory;
}

char *figure_text(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		errx(1, "out of memory");
	va_end(list);
	return text;
}

char *figure_time_label(const char *what, const char *unit)
{
	return unit ? figure_text("%s (%s)", what, unit) : figure_text("%s", what);
}

void figure_check(const struct plot *plot)
{
	if (plot->failed)
		errx(1, "out of memory");
}

const struct pm_fit_column *figure_column(
	const struct pm_fit_problem *problem, const struct pm_fit_model_column *known)
{
	for (size_t i = 0; i < problem->column_count; i++)
		if (problem->columns[i].role == known->role &&
			strcmp(problem->columns[i].name, known->name) == 0)
			return &problem->columns[i];
	return NULL;
}

size_t figure_line(const struct figure_set *set, size_t sample)
{
	return set->lines ? set->lines[sample] : sample + 1;
}

const char *figure_line_word(const struct figure_set *set)
{
	return set->lines ? "line" : "sample";
}

void figure_predicted(struct plot *plot, const struct subject *subject)
{
	char *x = figure_time_label("measured", subject->model->time_unit),
	     *y = figure_time_label("predicted", subject->model->time_unit);
	double least = HUGE_VAL, greatest = -HUGE_VAL;
	struct plot_series *guide;

	plot_init(plot, "Predicted against measured", x, y);
	plot->x.log = plot->y.log = true;
	for (size_t s = 0; s < subject->set_count; s++) {
		const struct figure_set *set = &subject->sets[s];
		struct plot_series *series = plot_add(plot, PLOT_POINTS, set->name);

		for (size_t k = 0; k < set->problem->sample_count; k++) {
			double measured = set->measured[k], predicted = set->predicted[k];
			char *tip = figure_text("%s %zu: measured %.4g, predicted %.4g (%+.1f%%)",
				figure_line_word(set), figure_line(set, k), measured, predicted,
				100 * (predicted / measured - 1));

			plot_point(plot, series, measured, predicted, tip);
			free(tip);
			if (!(measured > 0) || !(predicted > 0) || !isfinite(measured + predicted))
				continue;
			least = fmin(least, fmin(measured, predicted));
			greatest = fmax(greatest, fmax(measured, predicted));
		}
	}
	if (least <= greatest) {
		guide = plot_add(plot, PLOT_LINE, "equal");
		guide->colour = PLOT_PLAIN;
		plot_point(plot, guide, least, least, NULL);
		plot_point(plot, guide, greatest, greatest, NULL);
	}
	plot_scale(plot);
	figure_check(plot);
	free(x);
	free(y);
}

static bool is_power(const struct pm_fit_value *value)
{
	return value->kind == PM_FIT_KIND_POWER || value->kind == PM_FIT_KIND_EXTRINSIC ||
	       value->kind == PM_FIT_KIND_FACTOR;
}

/* Names of the values of all subjects, in the order in which they come. */
static const char **value_names(const struct subject *subjects, size_t count, bool powers, size_t *name_count)
{
	size_t most = 1;
	const char **names;

	for (size_t s = 0; s < count; s++)
		most += subjects[s].model->value_count;
	names = calloc(most, sizeof(*names));
	if (!names)
		errx(1, "out of memory");
	*name_count = 0;
	for (size_t s = 0; s < count; s++)
		for (size_t v = 0; v < subjects[s].model->value_count; v++) {
			const struct pm_fit_value *value = &subjects[s].model->values[v];
			size_t i = 0;

			while (i < *name_count && strcmp(names[i], value->name) != 0)
				i++;
			if (is_power(value) == powers && i == *name_count)
				names[(*name_count)++] = value->name;
		}
	return names;
}

/* Where a logarithmic axis of coefficients begins: below the least that is positive, but not more than
 * DECADES below the greatest; what is less stands at 0. */
static double floor_of(const struct subject *subjects, size_t count, bool *has_negative)
{
	double least = HUGE_VAL, greatest = 0;

	*has_negative = false;
	for (size_t s = 0; s < count; s++)
		for (size_t v = 0; v < subjects[s].model->value_count; v++) {
			double value = subjects[s].model->values[v].value;

			if (is_power(&subjects[s].model->values[v]))
				continue;
			*has_negative = *has_negative || value < 0;
			if (value > 0)
				least = fmin(least, value);
			greatest = fmax(greatest, value);
		}
	if (!(greatest > 0))
		return 0.1;
	return fmax(least / 10, greatest * pow(10, -DECADES));
}

struct forest {
	struct plot *plot;
	struct plot_series *best, *doubtful, *bars, *seeds;
	double floor; /* on a logarithmic axis all that is less is here */
	bool is_log;
};

static double clamp(const struct forest *forest, double value)
{
	return forest->is_log && value < forest->floor ? forest->floor : value;
}

static void add_value(const struct forest *forest, const struct pm_fit_model *model, size_t v, double place)
{
	const struct pm_fit_value *value = &model->values[v];
	const char *doubt = value->flags & PM_FIT_UNDETERMINED                   ? ", undetermined"
			    : value->flags & PM_FIT_DEAD                         ? ", dead"
			    : value->flags & (PM_FIT_AT_LOWER | PM_FIT_AT_UPPER) ? ", at a bound"
										 : "";
	char *tip = figure_text("%s: %.5g; mean over seeds %.5g, standard deviation %.2g%s", value->name,
		value->value, value->mean, value->sd, doubt);

	if (isfinite(value->low) && isfinite(value->high)) {
		char *interval = figure_text("%s: %g%% bootstrap interval %.5g to %.5g", value->name,
			100 * model->parameter.confidence, value->low, value->high);

		plot_range(forest->plot, forest->bars, clamp(forest, value->value), place,
			clamp(forest, value->low), clamp(forest, value->high), interval);
		free(interval);
	}
	for (size_t r = 0; r < model->run_count && model->runs[r].values; r++)
		plot_point(forest->plot, forest->seeds, clamp(forest, model->runs[r].values[v]), place, NULL);
	plot_point(forest->plot, *doubt ? forest->doubtful : forest->best, clamp(forest, value->value), place,
		tip);
	free(tip);
}

void figure_values(struct plot *plot, const struct subject *subjects, size_t count, bool powers)
{
	size_t name_count;
	const char **names = value_names(subjects, count, powers, &name_count);
	struct forest forest = {.plot = plot};
	bool has_negative;

	plot_init(plot, powers ? "Powers" : "Coefficients",
		powers ? "power (of factors: the logarithm)" : "coefficient, in the units of the columns",
		"");
	plot_names(plot, &plot->y, names, name_count);
	plot->row_height = 17 + 7 * (double)(count - 1);
	forest.floor = floor_of(subjects, count, &has_negative);
	plot->x.log = forest.is_log = !powers && !has_negative;
	if (forest.is_log)
		plot->x.zero_at = forest.floor;
	for (size_t s = 0; s < count && name_count; s++) {
		const struct pm_fit_model *model = subjects[s].model;
		double shift = 0.7 * ((double)s + 0.5 - (double)count / 2) / (double)count;

		forest.bars = plot_add(plot, PLOT_RANGE, count > 1 ? NULL : "bootstrap interval");
		forest.seeds = plot_add(plot, PLOT_POINTS, count > 1 ? NULL : "each seed");
		forest.best = plot_add(plot, PLOT_POINTS, count > 1 ? subjects[s].name : "best");
		forest.doubtful =
			plot_add(plot, PLOT_POINTS, count > 1 ? NULL : "undetermined or at a bound");
		forest.seeds->hollow = forest.doubtful->faint = true;
		forest.doubtful->colour = (int)(s % PLOT_COLOURS);
		forest.bars->colour = forest.best->colour = forest.seeds->colour = (int)(s % PLOT_COLOURS);
		for (size_t v = 0; v < model->value_count; v++)
			for (size_t i = 0; i < name_count && is_power(&model->values[v]) == powers; i++)
				if (strcmp(names[i], model->values[v].name) == 0) {
					add_value(&forest, model, v, (double)i + shift);
					break;
				}
	}
	plot_scale(plot);
	figure_check(plot);
	free(names);
}

void figure_seeds(struct plot *plot, const struct subject *subject)
{
	const struct pm_fit_model *model = subject->model;
	char *label = figure_time_label("cost", model->time_unit);
	double least = HUGE_VAL, greatest = 0, room;
	struct plot_series *before, *after;

	plot_init(plot, "Cost by seed", "runs, best first", label);
	before = plot_add(plot, PLOT_POINTS, "before the polish");
	after = plot_add(plot, PLOT_POINTS, "at the end");
	before->hollow = true;
	plot->x.whole = true;
	for (size_t r = 0; r < model->run_count; r++) {
		const struct pm_fit_run *run = &model->runs[r];
		char *tip = figure_text("seed %llu: cost %.7g after %zu evaluations, %zu generations",
			(unsigned long long)run->seed, run->objective, run->evaluations, run->generations);
		size_t place = 1;

		for (size_t i = 0; i < model->run_count; i++)
			place += model->runs[i].objective < run->objective ||
				 (model->runs[i].objective == run->objective && i < r);
		plot_point(plot, before, (double)place, run->searched, NULL);
		plot_point(plot, after, (double)place, run->objective, tip);
		free(tip);
		least = fmin(least,
			isfinite(run->searched) ? fmin(run->objective, run->searched) : run->objective);
		greatest = fmax(greatest,
			isfinite(run->searched) ? fmax(run->objective, run->searched) : run->objective);
	}
	/* what differs by less than a percent is the same: the axis does not make it look large */
	room = fmax(0.05 * (greatest - least), 0.01 * fabs(greatest) - (greatest - least) / 2);
	plot_fix(&plot->y, least - room, greatest + room);
	plot_fix(&plot->x, 0.5, (double)model->run_count + 0.5);
	plot_scale(plot);
	plot->left_out = 0; /* runs without a polish have no cost before it */
	figure_check(plot);
	free(label);
}

static void path_errors(
	struct plot *plot, const struct lambda_path *path, const double *places, enum figure_path which)
{
	static const char *const names[] = {"fitted", "held out", "test"};
	bool r2 = which == FIGURE_PATH_R2;

	for (int set = 0; set < 3; set++) {
		struct plot_series *line = plot_add(plot, PLOT_LINE, names[set]);

		for (size_t i = 0; i < path->count; i++) {
			const struct lambda_path_point *point = &path->points[i];
			const struct pm_fit_error *error = set == 0   ? &point->model->train
							   : set == 1 ? &point->held_out
								      : &point->test;
			double figure = error->sample_count == 0 ? NAN : r2 ? error->r2 : error->mae;
			char *tip = figure_text("%s at lambda %g: %.5g", names[set], point->lambda, figure);

			plot_point(plot, line, places[i], figure, tip);
			free(tip);
		}
	}
	if (r2)
		return;
	plot_add(plot, PLOT_RANGE, NULL)->colour = 1;
	for (size_t i = 0; i < path->count; i++)
		plot_range(plot, plot->series[plot->series_count - 1], places[i],
			path->points[i].held_out.mae,
			path->points[i].held_out.mae - path->points[i].deviation,
			path->points[i].held_out.mae + path->points[i].deviation,
			"held out, with its standard error");
}

static void path_values(
	struct plot *plot, const struct lambda_path *path, const double *places, enum figure_path which)
{
	const struct pm_fit_model *first = path->points[0].model;

	for (size_t v = 0; v < first->value_count; v++) {
		struct plot_series *line;

		if (is_power(&first->values[v]) != (which == FIGURE_PATH_POWERS))
			continue;
		line = plot_add(plot, PLOT_LINE, first->values[v].name);
		line->dashed = plot->series_count > PLOT_COLOURS;
		for (size_t i = 0; i < path->count; i++) {
			const struct pm_fit_value *value = &path->points[i].model->values[v];
			/* coefficients as shares of the largest on the way, since their units differ */
			double most = 0, figure = value->value;
			char *tip;

			for (size_t j = 0; j < path->count; j++)
				most = fmax(most, fabs(path->points[j].model->values[v].value));
			if (which == FIGURE_PATH_COEFFICIENTS)
				figure = most > 0 ? figure / most : 0;
			tip = figure_text(
				"%s at lambda %g: %.5g", value->name, path->points[i].lambda, value->value);
			plot_point(plot, line, places[i], figure, tip);
			free(tip);
		}
	}
}

void figure_path(struct plot *plot, const struct lambda_path *path, enum figure_path which)
{
	static const char *const titles[] = {"Coefficients over lambda", "Powers over lambda",
		"R2 over lambda", "Mean absolute error over lambda"};
	static const char *const labels[] = {
		"share of its largest", "power (of factors: the logarithm)", "R2", "mean absolute error"};
	double *places = calloc(path->count + 1, sizeof(*places)), least = HUGE_VAL, most = 0;
	char *label = which == FIGURE_PATH_ERROR
			      ? figure_time_label(labels[which], path->points[0].model->time_unit)
			      : figure_text("%s", labels[which]);

	if (!places)
		errx(1, "out of memory");
	plot_init(plot, titles[which], "lambda", label);
	for (size_t i = 0; i < path->count; i++) {
		if (path->points[i].lambda > 0)
			least = fmin(least, path->points[i].lambda);
		most = fmax(most, path->points[i].lambda);
	}
	/* a lambda of 0 has a place of its own on the left */
	plot->x.log = isfinite(least) && most > 0;
	for (size_t i = 0; i < path->count; i++) {
		places[i] = path->points[i].lambda;
		if (plot->x.log && places[i] <= 0)
			plot->x.zero_at = places[i] = least / 10;
	}
	if (which == FIGURE_PATH_R2 || which == FIGURE_PATH_ERROR)
		path_errors(plot, path, places, which);
	else
		path_values(plot, path, places, which);
	plot_scale(plot);
	plot->left_out = 0; /* that there is no test is no loss */
	figure_check(plot);
	free(label);
	free(places);
}
