/* Stages: which workers have the same part of the model. See analysis.h. */
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

static bool has_module(const struct layer_list *list, const struct layer *layer)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].parameter_count == layer->parameter_count &&
			strcmp(list->items[i].module, layer->module) == 0)
			return true;
	return false;
}

static size_t count_sized(const struct layer_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].parameter_count > 0;
	return count;
}

/* By the program's names and the elements of their parameters, in whatever order: a compiler orders what it
 * launches for each device by itself, and which of a layer's parameters are seen at work differs. */
static bool same_modules(const struct layer_list *a, const struct layer_list *b)
{
	if (count_sized(a) != count_sized(b))
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].parameter_count && (!a->items[i].module[0] || !has_module(b, &a->items[i])))
			return false;
	return true;
}

static bool same_sequence(const struct layer_list *a, const struct layer_list *b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a->count && !a->items[i].parameter_bytes)
			i++;
		while (j < b->count && !b->items[j].parameter_bytes)
			j++;
		if (i == a->count || j == b->count)
			return i == a->count && j == b->count;
		if (a->items[i].parameter_bytes != b->items[j].parameter_bytes ||
			strcmp(a->items[i].text, b->items[j].text) != 0)
			return false;
		i++;
		j++;
	}
}

static bool same_layers(const struct layer_list *a, const struct layer_list *b)
{
	return same_sequence(a, b) || same_modules(a, b);
}

static bool sends_messages(const struct analysis *analysis)
{
	const struct timeline *timeline = &analysis->timeline;
	uint64_t peer;

	for (size_t i = 0; i < timeline->operation_count; i++)
		if (analysis->model.flows[i].kind == PM_KIND_COMM &&
			timeline_value(timeline, &timeline->operations[i], "peer", &peer))
			return true;
	return false;
}

static struct analysis_worker *worker_of(struct analysis *analysis, const struct collective *member)
{
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct worker *worker = analysis->workers[w].worker;

		if (worker->process == member->process && worker->device == member->device)
			return &analysis->workers[w];
	}
	return NULL;
}

static bool is_exchange(const struct analysis *analysis, const struct analysis_worker *worker, size_t call)
{
	const struct layer_role *role = phase_role(&analysis->model, worker->worker, &worker->layers,
		PHASE_NO_ITERATION, NULL, timeline_call(&analysis->timeline, call).operation);

	return role->phase == PHASE_COMMUNICATION && role->part_count > 0;
}

/* Of workers whose `stage` is their own number: those that exchange gradients get the lowest number of
 * theirs. */
static void join_exchanging(struct analysis *analysis)
{
	const struct collective_list *list = &analysis->collectives;

	for (size_t i = 0; i < list->count; i += list->items[i].member_count) {
		const struct analysis_worker *first = worker_of(analysis, &list->items[i]);

		if (!first || !is_exchange(analysis, first, list->items[i].call))
			continue;
		for (size_t j = i + 1; j < i + list->items[i].member_count; j++) {
			struct analysis_worker *other = worker_of(analysis, &list->items[j]);

			if (other && other->stage > first->stage &&
				same_layers(&other->layers, &first->layers))
				other->stage = first->stage;
		}
	}
}

static void number_stages(struct analysis *analysis)
{
	uint32_t *numbers = mem_alloc(analysis->worker_count, sizeof(*numbers)); /* by first worker, + 1 */

	for (size_t w = 0; w < analysis->worker_count; w++) {
		uint32_t *number = &numbers[analysis->workers[w].stage];

		if (*number == 0)
			*number = ++analysis->stage_count;
		analysis->workers[w].stage = *number - 1;
	}
	free(numbers);
}

/* "conv" of "conv12". */
static size_t kind_length(const char *name)
{
	size_t length = strlen(name);

	while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return length;
}

/* How many layers of this kind the stages before have. */
static unsigned count_before(const struct analysis *analysis, uint32_t stage, const char *name, size_t length)
{
	unsigned count = 0;

	for (uint32_t s = 0; s < stage; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t i = 0; i < layers->count; i++)
			count += kind_length(layers->items[i].name) == length &&
				 strncmp(layers->items[i].name, name, length) == 0;
	}
	return count;
}

/* Numbers go on from stage to stage; from the last one on, so that the names before are still their own. */
static void name_layers(struct analysis *analysis)
{
	for (uint32_t stage = analysis->stage_count; stage-- > 1;)
		for (size_t w = analysis->worker_count; w-- > 0;) {
			struct layer_list *layers = &analysis->workers[w].layers;

			for (size_t i = 0; i < layers->count && analysis->workers[w].stage == stage; i++) {
				const char *name = layers->items[i].name;
				size_t length = kind_length(name);
				unsigned before = count_before(analysis, stage, name, length);
				unsigned own = name[length] ? (unsigned)strtoul(name + length, NULL, 10) : 1;

				if (before > 0)
					layers->items[i].name = arena_format(
						&layers->arena, "%.*s%u", (int)length, name, before + own);
			}
		}
}

const struct analysis_worker *stage_first(const struct analysis *analysis, uint32_t stage)
{
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (analysis->workers[w].stage == stage)
			return &analysis->workers[w];
	return NULL;
}

void stage_find(struct analysis *analysis)
{
	bool messages = sends_messages(analysis);

	for (size_t w = 0; w < analysis->worker_count; w++) {
		analysis->workers[w].stage = (uint32_t)w;
		for (size_t i = 0; i < w && !messages; i++)
			if (same_layers(&analysis->workers[w].layers, &analysis->workers[i].layers)) {
				analysis->workers[w].stage = analysis->workers[i].stage;
				break;
			}
	}
	if (messages)
		join_exchanging(analysis);
	number_stages(analysis);
	name_layers(analysis);
}
