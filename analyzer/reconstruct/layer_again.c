/*
 * Forward work that is done a second time for the backward pass, from inputs that were kept, because the
 * results of the first time were not (recomputation, checkpointing). Where layers go forward more often than
 * backward, such is a step that works on the same data, made by the same steps, as an earlier one, and what
 * works on its results.
 */
#include "layer_assign.h"

#include <stdlib.h>

static bool is_forward(const struct layer_assign *assign, uint32_t step)
{
	return assign->passes[step] == LAYER_FORWARD && assign->layers[step] != LAYER_NONE;
}

/* Of most layers that go backward at all: is the first forward operation done more often than the backward
 * one? */
static bool goes_forward_again(const struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	size_t count = assign->list->count, again = 0, seen = 0;
	uint32_t *firsts = mem_alloc(2 * count, sizeof(*firsts)); /* step, by layer: forward, backward */
	uint32_t *times = mem_alloc(2 * count, sizeof(*times));

	for (uint32_t i = 0; i < graph->step_count; i++) {
		size_t place;

		if (assign->layers[i] == LAYER_NONE || graph->steps[i].update ||
			(assign->passes[i] != LAYER_FORWARD && assign->passes[i] != LAYER_BACKWARD))
			continue;
		place = 2 * assign->layers[i] + (assign->passes[i] == LAYER_BACKWARD);
		if (times[place] == 0)
			firsts[place] = i;
		times[place] += layer_same_description(assign, firsts[place], i);
	}
	for (size_t i = 0; i < count; i++) {
		seen += times[2 * i] && times[2 * i + 1];
		again += times[2 * i + 1] && times[2 * i] > times[2 * i + 1];
	}
	free(firsts);
	free(times);
	return seen > 0 && again * 2 > seen;
}

/* Were both accesses' data made by the same steps? */
static bool same_makers(const struct graph *graph, uint32_t a, uint32_t b, uint32_t access)
{
	const struct graph_step *first = &graph->steps[a], *second = &graph->steps[b];
	uint32_t i = 0, j = 0;

	for (;;) {
		const struct graph_edge *one = NULL, *two = NULL;

		for (; i < first->edge_count && !one; i++)
			if (graph->edges[first->first_edge + i].access == access)
				one = &graph->edges[first->first_edge + i];
		for (; j < second->edge_count && !two; j++)
			if (graph->edges[second->first_edge + j].access == access)
				two = &graph->edges[second->first_edge + j];
		if (!one || !two)
			return !one && !two;
		if (one->step != two->step)
			return false;
	}
}

static bool same_data(const struct layer_assign *assign, uint32_t a, uint32_t b)
{
	const struct flow *first = graph_flow(&assign->graph, a), *second = graph_flow(&assign->graph, b);
	bool reads = false;

	if (layer_function(assign, a) != layer_function(assign, b) ||
		first->access_count != second->access_count)
		return false;
	for (uint32_t i = 0; i < first->access_count; i++) {
		if (first->accesses[i].mode == FLOW_WRITE)
			continue;
		if (first->accesses[i].address != second->accesses[i].address ||
			!same_makers(&assign->graph, a, b, i))
			return false;
		reads = true;
	}
	return reads;
}

static bool follows_again(const struct layer_assign *assign, uint32_t step)
{
	const struct graph_step *item = &assign->graph.steps[step];

	for (uint32_t i = 0; i < item->edge_count; i++) {
		uint32_t before = assign->graph.edges[item->first_edge + i].step;

		if (assign->passes[before] == LAYER_FORWARD && assign->again[before])
			return true;
	}
	return false;
}

void layer_again(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;

	if (!goes_forward_again(assign))
		return;
	for (uint32_t i = 0; i < graph->step_count; i++) {
		if (!is_forward(assign, i))
			continue;
		assign->again[i] = follows_again(assign, i);
		for (uint32_t j = i; j-- > 0 && !assign->again[i];)
			assign->again[i] = is_forward(assign, j) && assign->layers[j] == assign->layers[i] &&
					   same_data(assign, i, j);
	}
}
