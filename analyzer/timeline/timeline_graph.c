/* Captured graphs: which of their operations a node belongs to, and how many calls their launches stand for.
 */
#include "timeline_graph.h"
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

bool timeline_replay_is_work(const struct trace *trace, uint32_t number)
{
	return number < trace->operation_count && trace->operations[number].function &&
	       timeline_is_device_kind(trace->functions[trace->operations[number].function].kind);
}

static void prepare(struct timeline_replay_list *list, uint32_t number)
{
	const struct trace_graph *graph = &list->trace->graphs[number];
	struct timeline_replay *replay = &list->items[number];
	uint64_t end = 0;
	bool sure = true;

	replay->graph = number;
	replay->ends = mem_alloc(graph->node_count, sizeof(*replay->ends));
	for (uint32_t i = 0; i < graph->node_count; i++) {
		end += graph->nodes[i].nodes;
		if (!timeline_replay_is_work(list->trace, graph->nodes[i].op))
			continue;
		/* After an operation that added none knows how many, no node is known. */
		sure &= graph->nodes[i].nodes > 0 && end <= UINT32_MAX;
		replay->ends[replay->count++] = (uint32_t)end;
		replay->sure += sure;
	}
}

const struct timeline_replay *timeline_replay_of(const struct timeline_replay_list *list, uint32_t number)
{
	const struct trace_operation *operation;
	const struct trace_label *labels;

	if (!list->items)
		return NULL;
	operation = &list->trace->operations[number];
	labels = list->trace->functions[operation->function].labels;
	for (uint32_t i = 0; i < operation->value_count; i++)
		if (labels[i].type == PM_VALUE_GRAPH && operation->values[i] &&
			operation->values[i] < list->trace->graph_count)
			return &list->items[operation->values[i]];
	return NULL;
}

uint32_t timeline_replay_operation(const struct timeline_replay *replay, uint32_t ordinal)
{
	uint32_t low = 0, high = replay->sure;

	if (ordinal == 0)
		return replay->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (replay->ends[middle] < ordinal)
			low = middle + 1;
		else
			high = middle;
	}
	return low < replay->sure ? low : replay->count;
}

/* A walk of its own, which only traces with graphs pay for. */
static void count_calls(struct timeline_replay_list *list, const bool *read)
{
	const struct trace *trace = list->trace;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record record;
		enum trace_step step;

		if (read && !read[c])
			continue;
		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next(&cursor, &record)) != TRACE_END) {
			const struct timeline_replay *replay =
				step == TRACE_RECORD && record.kind == PM_RECORD_CALL
					? timeline_replay_of(list, record.op)
					: NULL;

			list->call_count += replay ? replay->count : 0;
		}
	}
}

void timeline_replay_init(struct timeline_replay_list *list, const struct trace *trace, const bool *read)
{
	uint64_t slots = 0;

	*list = (struct timeline_replay_list){.trace = trace};
	if (trace->graph_count == 0)
		return;
	list->items = mem_alloc(trace->graph_count, sizeof(*list->items));
	for (uint32_t i = 1; i < trace->graph_count; i++)
		prepare(list, i);
	count_calls(list, read);
	/* Great graphs launched very often, or a damaged file. */
	for (size_t c = 0; c < trace->chunk_count; c++)
		slots += !read || read[c] ? trace->chunks[c].slot_count : 0;
	if (list->call_count <= 64 * slots + 65536)
		return;
	for (uint32_t i = 1; i < trace->graph_count; i++)
		list->items[i].count = list->items[i].sure = 0;
	list->call_count = 0;
	list->left = true;
}

void timeline_replay_free(struct timeline_replay_list *list)
{
	for (size_t i = 0; list->items && i < list->trace->graph_count; i++)
		free(list->items[i].ends);
	free(list->items);
	memset(list, 0, sizeof(*list));
}
