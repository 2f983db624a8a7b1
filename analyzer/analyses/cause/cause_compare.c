/* One worker's computing against another's: see cause_compare.h. */
#include "cause_compare.h"
#include "base/statistics.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The other worker's layer of the same name. */
static uint32_t counterpart(
	const struct cause_measure *own, const struct cause_measure *other, uint32_t layer)
{
	const struct layer_list *layers = &other->worker->layers;

	for (uint32_t i = 0; i < layers->count && layer != LAYER_NONE; i++)
		if (strcmp(layers->items[i].name, own->worker->layers.items[layer].name) == 0)
			return i;
	return LAYER_NONE;
}

static bool same_cell(const struct cause_cell *cell, const struct cause_cell *with, uint32_t layer)
{
	return cell->layer == layer && cell->phase == with->phase && cell->key == with->key;
}

static size_t find_cell(const struct cause_measure *measure, const struct cause_cell *like, uint32_t layer)
{
	size_t low = 0, high = measure->cell_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct cause_cell *cell = &measure->cells[middle];
		bool before = cell->layer != layer         ? cell->layer < layer
			      : cell->phase != like->phase ? cell->phase < like->phase
							   : cell->key < like->key;

		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	return low < measure->cell_count && same_cell(&measure->cells[low], like, layer) ? low : SIZE_MAX;
}

/* Of one phase of a layer: what the two do not do alike. */
struct rest {
	double own_ns, other_ns, own_work, other_work;
};

static void settle_rest(struct cause_layer *layer, const struct rest *rest)
{
	double more_ns = rest->own_ns - rest->other_ns;
	double explained_ns = more_ns; /* by work */

	layer->own_work += rest->own_work;
	layer->other_work += rest->other_work;
	if (rest->own_work > 0 && rest->other_work > 0) {
		double ratio = rest->own_work / rest->other_work;

		explained_ns = fabs(ratio - 1) < 0.02 ? 0 : rest->own_ns * (1 - 1 / ratio);
		/* Not everything grows with the size: the rest must not become speed of the wrong sign. */
		if (more_ns > 0 && explained_ns > more_ns)
			explained_ns = more_ns;
	}
	layer->work_ns += explained_ns;
	layer->speed_ns += more_ns - explained_ns;
}

struct comparing {
	const struct cause_measure *own, *other;
	struct cause_layer *layer;
	bool *met;                         /* by cell of the other */
	double same_own_ns, same_other_ns; /* of the layer: as often as both do it */
};

/* Cells of the worker, with those of the other that are alike; what is left over goes to `rest`. */
static void compare_own(struct comparing *c, uint32_t counter, enum phase phase, struct rest *rest)
{
	struct cause_layer *layer = c->layer;

	for (size_t i = 0; i < c->own->cell_count; i++) {
		const struct cause_cell *cell = &c->own->cells[i], *with;
		size_t place;
		double count;

		if (cell->layer != layer->layer || cell->phase != phase)
			continue;
		layer->own_ns += cell->time_ns;
		if (phase != PHASE_UPDATE)
			layer->phase_own_ns[phase == PHASE_BACKWARD] += cell->time_ns;
		place = layer->layer != LAYER_NONE && counter == LAYER_NONE
				? SIZE_MAX
				: find_cell(c->other, cell, counter);
		with = place == SIZE_MAX ? NULL : &c->other->cells[place];
		count = with && with->count < cell->count ? with->count : cell->count;
		if (with) {
			double own_ns = cell->time_ns * count / cell->count,
			       other_ns = with->time_ns * count / with->count;

			c->met[place] = true;
			c->same_own_ns += own_ns;
			c->same_other_ns += other_ns;
			layer->speed_ns += own_ns - other_ns;
		} else if (layer->added == 0) {
			layer->added = cell->operation;
		}
		/* What one does more often is work, at its own speed. */
		count = with ? cell->count - count : cell->count;
		rest->own_ns += cell->time_ns * count / cell->count;
		rest->own_work += cell->work * count;
		layer->own_count += count;
		if (with && with->count > cell->count) {
			double more = with->count - cell->count;

			rest->other_ns += with->time_ns * more / with->count;
			rest->other_work += with->work * more;
			layer->other_count += more;
		}
	}
}

/* Cells of the other worker: those that none of the worker's own has met go to `rest`. */
static void compare_other(struct comparing *c, uint32_t counter, enum phase phase, struct rest *rest)
{
	struct cause_layer *layer = c->layer;

	for (size_t i = 0; i < c->other->cell_count; i++) {
		const struct cause_cell *cell = &c->other->cells[i];

		if (cell->layer != counter || cell->phase != phase ||
			(layer->layer != LAYER_NONE && counter == LAYER_NONE))
			continue;
		layer->other_ns += cell->time_ns;
		if (phase != PHASE_UPDATE)
			layer->phase_other_ns[phase == PHASE_BACKWARD] += cell->time_ns;
		if (c->met[i])
			continue;
		rest->other_ns += cell->time_ns;
		rest->other_work += cell->work * cell->count;
		layer->other_count += cell->count;
	}
}

static void compare_layer(struct comparing *c)
{
	static const enum phase phases[] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE};
	struct cause_layer *layer = c->layer;
	uint32_t counter = counterpart(c->own, c->other, layer->layer);

	c->same_own_ns = c->same_other_ns = 0;
	for (size_t p = 0; p < sizeof(phases) / sizeof(*phases); p++) {
		struct rest rest = {0};

		compare_own(c, counter, phases[p], &rest);
		compare_other(c, counter, phases[p], &rest);
		settle_rest(layer, &rest);
	}
	layer->factor = 1;
	/* By the calls that are alike, if they are most of it; else by what the work does not explain. */
	if (c->same_own_ns > layer->own_ns / 2 && c->same_other_ns > 0)
		layer->factor = c->same_own_ns / c->same_other_ns;
	else if (layer->own_ns - layer->speed_ns > 0)
		layer->factor = layer->own_ns / (layer->own_ns - layer->speed_ns);
}

static void conclude(
	const struct cause_measure *own, struct arena *arena, struct cause_comparison *comparison)
{
	double *factors = arena_alloc(arena, comparison->layer_count, sizeof(*factors));
	double *more = arena_alloc(arena, comparison->layer_count, sizeof(*more));
	size_t count = 0, slower = 0, more_count = 0;

	for (size_t i = 0; i < comparison->layer_count; i++) {
		const struct cause_layer *layer = &comparison->layers[i];

		if (layer->own_ns < CAUSE_LAYER_MATTERS * own->compute.median)
			continue;
		factors[count++] = layer->factor;
		if (layer->work_ns > 0 && layer->other_work > 0)
			more[more_count++] = layer->own_work / layer->other_work;
	}
	comparison->counted = count;
	comparison->factor = comparison->low = comparison->high = comparison->more_factor = 1;
	if (count == 0)
		return;
	statistics_sort(factors, count);
	statistics_sort(more, more_count);
	comparison->factor = factors[count / 2];
	comparison->low = factors[count / 4];
	comparison->high = factors[count - 1 - count / 4];
	for (size_t i = 0; i < count; i++)
		slower += factors[i] >= 1 + (comparison->factor - 1) / 2;
	comparison->slower = comparison->factor >= CAUSE_FACTOR_COUNTS && slower * 3 >= count * 2;
	/* The layers' median must not be that of a few that have more work. */
	if (more_count > 1 && more_count * 2 > count) {
		comparison->more = true;
		comparison->more_factor = more[more_count / 2];
	}
}

void cause_compare(const struct cause_measure *own, const struct cause_measure *other, struct arena *arena,
	struct cause_comparison *comparison)
{
	struct comparing comparing = {.own = own, .other = other};
	size_t count = own->worker->layers.count;

	memset(comparison, 0, sizeof(*comparison));
	comparison->layers = arena_alloc(arena, count + 1, sizeof(*comparison->layers));
	comparison->layer_count = count + 1;
	comparing.met = arena_alloc(arena, other->cell_count, sizeof(*comparing.met));
	for (size_t i = 0; i <= count; i++) {
		comparing.layer = &comparison->layers[i];
		comparing.layer->layer = i < count ? (uint32_t)i : LAYER_NONE;
		compare_layer(&comparing);
	}
	conclude(own, arena, comparison);
}
