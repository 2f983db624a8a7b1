/*
 * Layers in what PyTorch has compiled: it says nothing of modules there, and data flow tells the layer. Of
 * calls that work with no weights flow may be misled, by memory that serves again for something else. But a
 * compiler keeps the order of a pass, by and large: what runs between two calls that work with weights is of
 * no layer far from both.
 */
#include "layer_framework.h"
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

bool layer_is_sure(const struct layer_assign *assign, uint32_t step)
{
	switch (assign->reasons[step].layer) {
	case LAYER_WHY_PARAMETER:
	case LAYER_WHY_CAST:
	case LAYER_WHY_SIBLING:
		return assign->layers[step] != LAYER_NONE;
	default:
		return false;
	}
}

/* By what is written and read beside weights: memory that may have been something else's before. */
static bool is_guess(const struct layer_assign *assign, uint32_t step)
{
	switch (assign->reasons[step].layer) {
	case LAYER_WHY_GRADIENT:
	case LAYER_WHY_PARTNER:
	case LAYER_WHY_SOURCE:
	case LAYER_WHY_SINK:
	case LAYER_WHY_MODULE:
	case LAYER_WHY_NEXT:
	case LAYER_WHY_PREVIOUS:
	case LAYER_WHY_PLACE:
		return true;
	default:
		return false;
	}
}

/* By layer, the first forward call in compiled code that is surely of it, or GRAPH_NONE. The caller frees it.
 */
static uint32_t *first_calls(const struct layer_assign *assign, const bool *compiled)
{
	uint32_t *first = mem_alloc(assign->list->count, sizeof(*first));

	for (size_t l = 0; l < assign->list->count; l++)
		first[l] = GRAPH_NONE;
	for (uint32_t i = assign->graph.step_count; i-- > 0;)
		if (compiled[i] && assign->passes[i] == LAYER_FORWARD && layer_is_sure(assign, i))
			first[assign->layers[i]] = i;
	return first;
}

/* Inductor names its kernels after what they do: triton_red_fused__native_batch_norm_legit_9. */
static bool is_norm(const struct layer_assign *assign, uint32_t step)
{
	const struct timeline *timeline = assign->timeline;
	const char *name =
		sequence_kernel(timeline, &timeline->operations[assign->graph.steps[step].operation]);

	return name && strncmp(name, "triton_", 7) == 0 && strstr(name, "_norm");
}

/* Means and variances are made before the norm that reads weights, of what the layer before has made. */
static bool is_first_half(const struct layer_assign *assign, uint32_t step, uint32_t after)
{
	return assign->passes[step] == LAYER_FORWARD && is_norm(assign, step) && is_norm(assign, after);
}

static bool is_library(const struct layer_assign *assign, uint32_t step)
{
	const enum pm_kind kind = graph_flow(&assign->graph, step)->kind;

	return kind != PM_KIND_LAUNCH && kind != PM_KIND_COPY && kind != PM_KIND_SET;
}

/* Which of the two around it a guess belongs to: a product to one with products. */
static uint32_t nearer(const struct layer_assign *assign, uint32_t step, uint32_t before, uint32_t after)
{
	return is_library(assign, step) && !is_library(assign, before) && is_library(assign, after) ? after
												    : before;
}

/* Those between two sure ones whose layers lie not between theirs are of one of theirs. */
static void mend_between(struct layer_assign *assign, const uint32_t *first, uint32_t before, uint32_t after)
{
	const uint32_t one = first[assign->layers[before]], other = first[assign->layers[after]];
	const uint32_t low = one < other ? one : other, high = one < other ? other : one;

	if (one == GRAPH_NONE || other == GRAPH_NONE)
		return;
	for (uint32_t i = before + 1; i < after; i++) {
		uint32_t side;
		const uint32_t own = assign->layers[i] == LAYER_NONE ? GRAPH_NONE : first[assign->layers[i]];

		if (!is_guess(assign, i))
			continue;
		if (is_first_half(assign, i, after)) {
			assign->layers[i] = assign->layers[after];
			layer_by(assign, i, LAYER_WHY_NEXT, after, 0);
			continue;
		}
		if (own >= low && own <= high)
			continue;
		side = nearer(assign, i, before, after);
		assign->layers[i] = assign->layers[side];
		layer_by(assign, i, side == before ? LAYER_WHY_PREVIOUS : LAYER_WHY_NEXT, side, 0);
	}
}

void layer_order_compiled(struct layer_assign *assign, const bool *compiled)
{
	uint32_t *first = first_calls(assign, compiled), before = GRAPH_NONE;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		if (!compiled[i] || (before != GRAPH_NONE && assign->passes[i] != assign->passes[before])) {
			before = GRAPH_NONE;
			continue;
		}
		if (!layer_is_sure(assign, i))
			continue;
		if (before != GRAPH_NONE)
			mend_between(assign, first, before, i);
		before = i;
	}
	free(first);
}
