/* What does not grow with the batch: see strategy_fixed.h. */
#include "strategy_fixed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Where no line says it, a pass keeps of its time with no samples what the shortest pass of all takes; with
 * parameters, which come with a product, a bias and the like, that of the shortest with parameters, if it is
 * not more than so many times the former. An update goes so often over the parameters' numbers, and twice
 * more for each number that the optimizer keeps.
 */
#define FIXED_KERNELS 4
#define UPDATE_PASSES 3

/* Of a kind, as many unlike layers are looked at, and lie on a line within so much of their time. */
enum { MOST_POINTS = 32, MOST_TERMS = 3 };
#define ON_LINE 0.01

/* Terms: 1, flops of a sample, bytes of its output. */
struct point {
	double term[MOST_TERMS], time;
};

/* What a line needs of the first terms, and how many points lie on it. */
struct line {
	double factor[MOST_TERMS];
	size_t held;
};

static bool is_alike(const struct strategy_layer *a, const struct strategy_layer *b)
{
	return strcmp(a->kind, b->kind) == 0 && a->is_activated == b->is_activated;
}

/* The unlike layers of a kind. 0: it has none, or what they compute is not known. */
static size_t points_of(
	const struct strategy_net *net, size_t layer, enum strategy_time which, struct point *points)
{
	const struct strategy_layer *one = &net->layers[layer];
	size_t count = 0;

	for (size_t i = 0; *one->kind && i < net->layer_count && count < MOST_POINTS; i++) {
		const struct strategy_layer *l = &net->layers[i];
		const struct point new = {{1, l->flops, l->output_bytes}, *strategy_times(l, which)};
		size_t k = 0;

		if (!is_alike(l, one))
			continue;
		if (!(l->flops > 0) || !(new.time > 0))
			return 0;
		while (k < count && (fabs(points[k].term[1] - l->flops) > 1e-9 * l->flops ||
					    fabs(points[k].term[2] - l->output_bytes) > 0.5))
			k++;
		if (k == count)
			points[count++] = new;
	}
	return count;
}

/* Through as many points as there are terms, by elimination. False: they do not determine it. */
static bool line_through(const struct point *const *chosen, size_t terms, struct line *line)
{
	double m[MOST_TERMS][MOST_TERMS + 1];

	for (size_t i = 0; i < terms; i++) {
		for (size_t k = 0; k < terms; k++)
			m[i][k] = chosen[i]->term[k] / chosen[0]->term[k];
		m[i][terms] = chosen[i]->time;
	}
	for (size_t i = 0; i < terms; i++) {
		size_t pivot = i;

		for (size_t k = i + 1; k < terms; k++)
			pivot = fabs(m[k][i]) > fabs(m[pivot][i]) ? k : pivot;
		if (fabs(m[pivot][i]) < 1e-6)
			return false;
		for (size_t k = 0; k <= terms; k++) {
			double held = m[i][k];

			m[i][k] = m[pivot][k];
			m[pivot][k] = held;
		}
		for (size_t row = 0; row < terms; row++) {
			double factor = m[row][i] / m[i][i];

			for (size_t k = 0; row != i && k <= terms; k++)
				m[row][k] -= factor * m[i][k];
		}
	}
	*line = (struct line){.held = 0};
	for (size_t i = 0; i < terms; i++)
		line->factor[i] = m[i][terms] / m[i][i] / chosen[0]->term[i];
	return true;
}

/* Times fall neither with work nor below nothing. */
static size_t held_by(const struct line *line, const struct point *points, size_t count)
{
	size_t held = 0;

	for (size_t k = 0; k < MOST_TERMS; k++)
		if (line->factor[k] < -1e-9 * fabs(line->factor[0]))
			return 0;
	for (size_t i = 0; i < count; i++) {
		double time = 0;

		for (size_t k = 0; k < MOST_TERMS; k++)
			time += line->factor[k] * points[i].term[k];
		held += fabs(time - points[i].time) <= ON_LINE * points[i].time;
	}
	return held;
}

/* The line through any `terms` of the points on which most of them lie. */
static struct line best_line(const struct point *points, size_t count, size_t terms)
{
	struct line best = {.held = 0}, line;

	for (size_t a = 0; a < count; a++) {
		for (size_t b = a + 1; b < count; b++) {
			for (size_t c = terms > 2 ? b + 1 : b; c < (terms > 2 ? count : b + 1); c++) {
				const struct point *chosen[MOST_TERMS] = {&points[a], &points[b], &points[c]};

				if (!line_through(chosen, terms, &line))
					continue;
				line.held = held_by(&line, points, count);
				best = line.held > best.held ? line : best;
			}
		}
	}
	return best;
}

double strategy_fixed_of_kind(const struct strategy_net *net, size_t layer, enum strategy_time which)
{
	struct point points[MOST_POINTS] = {0};
	size_t count = points_of(net, layer, which, points);
	struct line line = best_line(points, count, 2), plane = best_line(points, count, 3);

	/* a term more holds a point more by itself */
	if (plane.held > line.held + 1 && plane.held > 3 && 2 * plane.held >= count)
		return plane.factor[0];
	return line.held > 2 && 2 * line.held >= count ? line.factor[0] : NAN;
}

static double shortest(const struct strategy_net *net, int which, bool has_parameters)
{
	double all = HUGE_VAL, least = HUGE_VAL;

	for (size_t i = 0; i < net->layer_count; i++) {
		double time = *strategy_times(&net->layers[i], (enum strategy_time)which);

		if (time <= 0)
			continue;
		all = fmin(all, time);
		if (net->layers[i].parameter_bytes > 0)
			least = fmin(least, time);
	}
	return has_parameters ? fmin(least, FIXED_KERNELS * all) : all;
}

/* strategy_fixed_of_kind of the forward and backward passes of all layers, each kind looked at once. */
static void find_known(const struct strategy_net *net, double (*known)[2])
{
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct strategy_layer *layer = &net->layers[i];
		size_t first = 0;

		while (first < i && !(*layer->kind && is_alike(&net->layers[first], layer)))
			first++;
		for (int k = STRATEGY_FORWARD; k <= STRATEGY_BACKWARD; k++)
			known[i][k] = first < i ? known[first][k]
						: strategy_fixed_of_kind(net, i, (enum strategy_time)k);
	}
}

size_t strategy_fixed_count(const struct strategy_net *net)
{
	double(*known)[2] = calloc(net->layer_count, sizeof(*known));
	size_t count = 0;

	if (known)
		find_known(net, known);
	for (size_t i = 0; known && i < net->layer_count; i++)
		count += !isnan(known[i][STRATEGY_FORWARD]) && !isnan(known[i][STRATEGY_BACKWARD]);
	free(known);
	return count;
}

/* What reading a layer's parameters takes: an update reads and writes them and their gradients, and the
 * optimizer's numbers, and takes besides at most what the shortest of all does. */
static double read_once(const struct strategy_net *net, const struct strategy_layer *layer, double copies)
{
	double besides = fmin(shortest(net, STRATEGY_UPDATE, false), shortest(net, STRATEGY_FORWARD, false));

	return fmax(layer->update[0] - besides, 0) / (UPDATE_PASSES + 2 * copies);
}

/* A pass of `now` at the measured batch with so much of that batch: the arithmetic, or the memory, which has
 * the parameters to read and, backward, their gradients to write, however few the samples are. */
static double pass_with(double share, double now, double part, double parameters)
{
	return fmax(part + (now - part) * share, fmin(part + parameters, now));
}

/* What does not grow; `known`: by the layer's kind, or NAN. */
static double part_of(
	const struct strategy_net *net, const struct strategy_layer *layer, int which, double known)
{
	if (net->has_pairs)
		return layer->call_count[which] * net->shortest_call;
	return isnan(known) ? shortest(net, which, layer->parameter_bytes > 0) : known;
}

int strategy_fixed_make(
	const struct strategy_net *net, double copies, double times, double least, struct strategy_net *fixed)
{
	static const double shares[] = {0, 1. / 64, 1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2};
	enum { ROWS = sizeof(shares) / sizeof(*shares), PASSES = 3 };
	double *at = calloc((PASSES * net->layer_count + 2) * ROWS, sizeof(*at));
	double(*known)[2] = calloc(net->layer_count, sizeof(*known));

	*fixed = (struct strategy_net){.layer_count = net->layer_count,
		.batch_count = ROWS,
		.batches = at,
		.measured = net->batches[0],
		.is_torch = net->is_torch,
		.is_opaque = net->is_opaque,
		.has_pairs = net->has_pairs,
		.no_pairs = net->no_pairs,
		.shortest_call = net->shortest_call,
		.update_calls = net->update_calls};
	memcpy(fixed->calls, net->calls, sizeof(fixed->calls));
	fixed->layers = calloc(net->layer_count, sizeof(*fixed->layers));
	if (!at || !fixed->layers || !known) {
		free(known);
		return -ENOMEM;
	}
	fixed->device_bytes = at + ROWS;
	for (size_t r = 0; r < ROWS; r++) {
		fixed->batches[r] = shares[r] * net->batches[0];
		fixed->device_bytes[r] = shares[r] == 1 && net->device_bytes ? net->device_bytes[0] : NAN;
	}
	at += 2 * ROWS;
	find_known(net, known);
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct strategy_layer *from = &net->layers[i];
		struct strategy_layer *to = &fixed->layers[i];
		double once = net->has_pairs ? 0 : read_once(net, from, copies);

		*to = *from;
		to->forward = at;
		to->backward = at + ROWS;
		to->update = at + 2 * ROWS;
		at += PASSES * ROWS;
		for (size_t r = 0; r < ROWS; r++) {
			for (int k = STRATEGY_FORWARD; k <= STRATEGY_BACKWARD; k++) {
				double now = *strategy_times(from, (enum strategy_time)k), kept;

				kept = fmin(
					fmax(times * part_of(net, from, k, known[i][k]), least * now), now);

				strategy_times(to, (enum strategy_time)k)[r] = pass_with(
					shares[r], now, kept, k == STRATEGY_BACKWARD ? 2 * once : once);
			}
			to->update[r] = from->update[0];
		}
	}
	free(known);
	return 0;
}

void strategy_fixed_free(struct strategy_net *fixed)
{
	free(fixed->batches);
	free(fixed->layers);
}
