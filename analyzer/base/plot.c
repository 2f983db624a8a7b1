/* Pictures as data: see plot.h. */
#include "plot.h"
#include "text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 6         /* between ticks, about */
#define MARGIN 0.04     /* of the axis, beyond the data on both sides */
#define FEW_DECADES 2.6 /* with ticks at 1, 2, 5 */
#define FINEST 512      /* squares along an axis, when thinning out */
#define LABEL_DIGITS 6

static char *copy(struct plot *plot, const char *text)
{
	char *copied = text ? strdup(text) : NULL;

	if (text && !copied)
		plot->failed = true;
	return copied;
}

void plot_init(struct plot *plot, const char *title, const char *x_label, const char *y_label)
{
	*plot = (struct plot){0};
	plot->title = copy(plot, title);
	plot->x.label = copy(plot, x_label);
	plot->y.label = copy(plot, y_label);
	plot->x.zero_at = plot->x.span_from = plot->x.span_to = NAN;
	plot->y.zero_at = plot->y.span_from = plot->y.span_to = NAN;
}

static void free_axis(struct plot_axis *axis)
{
	for (size_t i = 0; i < axis->name_count; i++)
		free(axis->names[i]);
	free(axis->names);
	free(axis->label);
}

void plot_free(struct plot *plot)
{
	for (size_t s = 0; s < plot->series_count; s++) {
		for (size_t i = 0; i < plot->series[s]->all; i++)
			free(plot->series[s]->points[i].tip);
		free(plot->series[s]->points);
		free(plot->series[s]->name);
		free(plot->series[s]);
	}
	free(plot->series);
	free(plot->title);
	free_axis(&plot->x);
	free_axis(&plot->y);
	*plot = (struct plot){0};
}

void plot_names(struct plot *plot, struct plot_axis *axis, const char *const *names, size_t count)
{
	axis->names = calloc(count + 1, sizeof(*axis->names));
	if (!axis->names) {
		plot->failed = true;
		return;
	}
	for (axis->name_count = 0; axis->name_count < count; axis->name_count++)
		axis->names[axis->name_count] = copy(plot, names[axis->name_count]);
}

/* Room for one more after `count`, which doubles at each power of two. */
static void *grow(struct plot *plot, void *items, size_t count, size_t size)
{
	void *more;

	if (count & (count - 1))
		return items;
	more = realloc(items, 2 * (count + 1) * size);
	if (!more)
		plot->failed = true;
	return more;
}

struct plot_series *plot_add(struct plot *plot, enum plot_kind kind, const char *name)
{
	struct plot_series **more = grow(plot, plot->series, plot->series_count, sizeof(*more));
	struct plot_series *series = more ? calloc(1, sizeof(*series)) : NULL;

	if (more)
		plot->series = more;
	if (!series) {
		plot->failed = true;
		return &plot->spare;
	}
	series->kind = kind;
	series->name = copy(plot, name);
	series->colour = (int)(plot->series_count % PLOT_COLOURS);
	return plot->series[plot->series_count++] = series;
}

struct plot_point *plot_range(struct plot *plot, struct plot_series *series, double x, double y, double low,
	double high, const char *tip)
{
	struct plot_point *more =
		series == &plot->spare ? NULL : grow(plot, series->points, series->count, sizeof(*more));

	if (!more)
		return &plot->spare_point;
	series->points = more;
	series->points[series->count++] = (struct plot_point){
		.x = x, .y = y, .low = low, .high = high, .stands_for = 1, .tip = copy(plot, tip)};
	series->all = series->count;
	return &series->points[series->count - 1];
}

struct plot_point *plot_point(
	struct plot *plot, struct plot_series *series, double x, double y, const char *tip)
{
	return plot_range(plot, series, x, y, y, y, tip);
}

static double to_axis(const struct plot_axis *axis, double value)
{
	return axis->log ? log10(value) : value;
}

double plot_place(const struct plot_axis *axis, double value)
{
	double least = to_axis(axis, axis->least), greatest = to_axis(axis, axis->greatest);

	return (to_axis(axis, value) - least) / (greatest - least);
}

size_t plot_tick_count(const struct plot_axis *axis)
{
	return axis->names ? axis->name_count : axis->tick_count;
}

double plot_tick_place(const struct plot_axis *axis, size_t tick)
{
	return plot_place(axis, axis->names ? (double)tick : axis->ticks[tick].value);
}

const char *plot_tick_text(const struct plot_axis *axis, size_t tick)
{
	const char *text = axis->names ? axis->names[tick] : axis->ticks[tick].label;

	return text ? text : "";
}

static bool shows(const struct plot_axis *axis, double value)
{
	return isfinite(value) && (!axis->log || value > 0);
}

/* Do low and high lie along x? */
static bool lies(const struct plot *plot, const struct plot_series *series)
{
	return series->kind == PLOT_RANGE && plot->y.names;
}

static bool can_show(
	const struct plot *plot, const struct plot_series *series, const struct plot_point *point)
{
	const struct plot_axis *along = lies(plot, series) ? &plot->x : &plot->y;

	if (series->kind == PLOT_TILES)
		return isfinite(point->low);
	return shows(&plot->x, point->x) && shows(&plot->y, point->y) && shows(along, point->low) &&
	       shows(along, point->high);
}

static void leave_out(struct plot *plot, struct plot_series *series)
{
	size_t kept = 0;

	for (size_t i = 0; i < series->all; i++)
		if (can_show(plot, series, &series->points[i])) {
			series->points[kept++] = series->points[i];
		} else {
			free(series->points[i].tip);
			plot->left_out++;
		}
	series->count = series->all = kept;
}

static void include(struct plot_axis *axis, double value)
{
	if (axis->fixed)
		return;
	axis->least = fmin(axis->least, value);
	axis->greatest = fmax(axis->greatest, value);
}

static void widen(struct plot_axis *axis)
{
	double least, greatest, margin;

	if (axis->names) {
		axis->least = -0.5;
		axis->greatest = (double)axis->name_count - 0.5;
		return;
	}
	if (axis->fixed)
		return;
	if (axis->least > axis->greatest) { /* nothing to show */
		axis->least = axis->log ? 0.1 : 0;
		axis->greatest = axis->log ? 10 : 1;
	}
	least = to_axis(axis, axis->least);
	greatest = to_axis(axis, axis->greatest);
	margin = greatest > least ? MARGIN * (greatest - least)
		 : axis->log      ? 0.3
		 : least != 0     ? 0.1 * fabs(least)
				  : 1;
	axis->least = axis->log ? pow(10, least - margin) : least - margin;
	axis->greatest = axis->log ? pow(10, greatest + margin) : greatest + margin;
}

static void label_tick(struct plot_tick *tick, bool prefixed)
{
	double value = tick->value;
	const char *prefix = prefixed ? pm_text_prefix(&value, LABEL_DIGITS) : "";

	snprintf(tick->label, sizeof(tick->label), "%.*g%s%s", LABEL_DIGITS, value, *prefix ? " " : "",
		prefix);
}

static void add_tick(struct plot_axis *axis, double value)
{
	struct plot_tick *tick = &axis->ticks[axis->tick_count];
	double slack = 1e-9 * fabs(axis->greatest - axis->least);

	if (axis->tick_count == PLOT_TICKS || value < axis->least - slack || value > axis->greatest + slack)
		return;
	/* beside a place that stands for 0 there is nothing below */
	if (isfinite(axis->zero_at) && value < 3 * axis->zero_at)
		return;
	tick->value = value;
	label_tick(tick, axis->prefixed);
	axis->tick_count++;
}

/* The step of 1, 2 or 5 times a power of ten of which about STEPS make the range. */
static double nice_step(double range)
{
	double rough = range / STEPS, power = pow(10, floor(log10(rough)));
	double digit = rough / power;

	return power * (digit < 1.5 ? 1 : digit < 3 ? 2 : digit < 7 ? 5 : 10);
}

static void linear_ticks(struct plot_axis *axis)
{
	double step = nice_step(axis->greatest - axis->least), first;

	if (axis->whole && step < 1)
		step = 1;
	first = ceil(axis->least / step);
	/* multiples, so that zero is zero */
	for (double i = first; i * step <= axis->greatest + 1e-9 * step && i < first + PLOT_TICKS; i++)
		add_tick(axis, i == 0 ? 0 : i * step);
}

static void log_ticks(struct plot_axis *axis)
{
	static const double digits[] = {1, 2, 5};
	double decades = log10(axis->greatest) - log10(axis->least);
	double every = ceil(decades / (STEPS + 2));
	int last = (int)floor(log10(axis->greatest));

	if (decades < 0.7) {
		linear_ticks(axis);
		return;
	}
	for (int decade = (int)floor(log10(axis->least)); decade <= last; decade++)
		for (int d = 0; d < (decades < FEW_DECADES ? 3 : 1); d++)
			if (fmod(decade, every) == 0)
				add_tick(axis, digits[d] * pow(10, decade));
}

static void scale_axis(struct plot_axis *axis)
{
	widen(axis);
	if (axis->names)
		return;
	if (isfinite(axis->zero_at)) {
		struct plot_tick *tick = &axis->ticks[axis->tick_count++];

		tick->value = axis->zero_at;
		strcpy(tick->label, "0");
	}
	if (axis->log)
		log_ticks(axis);
	else
		linear_ticks(axis);
}

void plot_fix(struct plot_axis *axis, double least, double greatest)
{
	axis->fixed = true;
	axis->least = least;
	axis->greatest = greatest;
}

void plot_scale(struct plot *plot)
{
	struct plot_axis *const axes[] = {&plot->x, &plot->y};

	for (int a = 0; a < 2; a++)
		if (!axes[a]->fixed) {
			axes[a]->least = HUGE_VAL;
			axes[a]->greatest = -HUGE_VAL;
		}
	for (size_t s = 0; s < plot->series_count; s++) {
		struct plot_series *series = plot->series[s];
		struct plot_axis *along = lies(plot, series) ? &plot->x : &plot->y;

		leave_out(plot, series);
		for (size_t i = 0; i < series->count && series->kind != PLOT_TILES; i++) {
			include(&plot->x, series->points[i].x);
			if (series->kind != PLOT_BAND)
				include(&plot->y, series->points[i].y);
			include(along, series->points[i].low);
			include(along, series->points[i].high);
		}
	}
	scale_axis(&plot->x);
	scale_axis(&plot->y);
}

/* One point for each square that has any, in a grid of `squares` x `squares`; `taken` has room for it. */
static size_t occupied(
	const struct plot *plot, const struct plot_series *series, size_t squares, size_t *taken)
{
	size_t count = 0;

	memset(taken, 0, squares * squares * sizeof(*taken));
	for (size_t i = 0; i < series->all; i++) {
		double x = fmin(fmax(plot_place(&plot->x, series->points[i].x), 0), 0.999999);
		double y = fmin(fmax(plot_place(&plot->y, series->points[i].y), 0), 0.999999);

		count +=
			taken[(size_t)(x * (double)squares) * squares + (size_t)(y * (double)squares)]++ == 0;
	}
	return count;
}

static void thin(struct plot *plot, struct plot_series *series, size_t squares, size_t *taken)
{
	size_t kept = 0;

	occupied(plot, series, squares, taken);
	for (size_t i = 0; i < series->all; i++) {
		struct plot_point point = series->points[i];
		double x = fmin(fmax(plot_place(&plot->x, point.x), 0), 0.999999);
		double y = fmin(fmax(plot_place(&plot->y, point.y), 0), 0.999999);
		size_t *here =
			&taken[(size_t)(x * (double)squares) * squares + (size_t)(y * (double)squares)];

		if (*here == 0)
			continue;
		point.stands_for = *here;
		*here = 0;
		/* the others stay after the end, where their tips are freed */
		series->points[i] = series->points[kept];
		series->points[kept++] = point;
	}
	series->count = kept;
}

void plot_thin(struct plot *plot, size_t most)
{
	size_t *taken = calloc((size_t)FINEST * FINEST, sizeof(*taken));

	if (!taken)
		plot->failed = true;
	for (size_t s = 0; taken && s < plot->series_count; s++) {
		struct plot_series *series = plot->series[s];
		size_t squares = FINEST;

		if (series->kind != PLOT_POINTS || series->all <= most)
			continue;
		while (squares > 4 && occupied(plot, series, squares, taken) > most)
			squares = squares * 4 / 5;
		thin(plot, series, squares, taken);
	}
	free(taken);
}
