/*
 * The captured calls that the operations of a graph were made by. What a kernel is given is fixed with the
 * capture, so the memory that its captured launch touches is what each replay does.
 *
 * The trace lists a graph's operations in order of capture, and has the captured calls as well. Both are in
 * the same order: graphs of a process follow one another, whichever threads capture them.
 */
#include "layer_assign.h"

#include <stdlib.h>

/* Captured calls of the process that put work on a device, in order. */
struct captured {
	uint32_t *calls;
	size_t count, room;
};

static bool is_captured_work(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_call call = timeline_call(timeline, number);

	return (call.flags & PM_FLAG_CAPTURED) && call.result == 0 &&
	       timeline_is_device_kind(timeline_function(timeline, &call)->kind);
}

static struct captured list_captured(const struct timeline *timeline, const struct timeline_process *process)
{
	struct captured captured = {0};

	for (size_t i = 0; i < process->call_count; i++)
		if (is_captured_work(timeline, (uint32_t)(process->first_call + i)))
			*MEM_PUSH(captured.calls, captured.count, captured.room) =
				(uint32_t)(process->first_call + i);
	return captured;
}

/* Are the calls from place `first` on those of the graph? */
static bool are_of(const struct timeline *timeline, const struct captured *captured, size_t first,
	const struct timeline_graph *graph)
{
	if (graph->operation_count > captured->count - first)
		return false;
	for (uint32_t i = 0; i < graph->operation_count; i++)
		if (timeline_call(timeline, captured->calls[first + i]).operation != graph->operations[i])
			return false;
	return graph->operation_count > 0;
}

/* The place of the graph's first call, after those of earlier graphs if it is found there; captured.count:
 * it is nowhere. */
static size_t find_first(const struct timeline *timeline, const struct captured *captured, size_t behind,
	const struct timeline_graph *graph)
{
	for (size_t i = behind; i < captured->count; i++)
		if (are_of(timeline, captured, i, graph))
			return i;
	for (size_t i = 0; i < behind; i++)
		if (are_of(timeline, captured, i, graph))
			return i;
	return captured->count;
}

void layer_find_replays(struct layer_assign *assign)
{
	const struct timeline *timeline = assign->timeline;
	const struct timeline_process *process = &timeline->processes[assign->worker->process];
	struct captured captured = list_captured(timeline, process);
	size_t behind = 0;

	if (captured.count)
		assign->captured = mem_alloc(timeline->graph_count, sizeof(*assign->captured));
	for (size_t g = 1; captured.count && g < timeline->graph_count; g++) {
		const struct timeline_graph *graph = &timeline->graphs[g];
		const bool own =
			graph->operation_count &&
			timeline->operations[graph->operations[0]].process == assign->worker->process;
		const size_t first = own ? find_first(timeline, &captured, behind, graph) : captured.count;

		if (first == captured.count)
			continue;
		behind = first + graph->operation_count;
		assign->captured[g] = mem_alloc(graph->operation_count, sizeof(**assign->captured));
		for (uint32_t i = 0; i < graph->operation_count; i++)
			assign->captured[g][i] = captured.calls[first + i];
	}
	free(captured.calls);
}

void layer_free_replays(struct layer_assign *assign)
{
	for (size_t g = 0; assign->captured && g < assign->timeline->graph_count; g++)
		free(assign->captured[g]);
	free(assign->captured);
	assign->captured = NULL;
}

uint32_t layer_captured_call(const struct layer_assign *assign, uint32_t number)
{
	const struct timeline *timeline = assign->timeline;
	const struct timeline_process *process = &timeline->processes[assign->worker->process];
	uint32_t launch = number;
	const struct timeline_graph *graph;

	if (!assign->captured)
		return number;
	while (launch > process->first_call &&
		(timeline_call(timeline, launch).flags & TIMELINE_FLAG_REPLAYED))
		launch--;
	if (launch == number)
		return number;
	graph = timeline_graph(timeline, &timeline->operations[timeline_call(timeline, launch).operation]);
	if (!graph || !assign->captured[graph - timeline->graphs] || number - launch > graph->operation_count)
		return number;
	return assign->captured[graph - timeline->graphs][number - launch - 1];
}

bool layer_knows_touches(const struct layer_assign *assign, uint32_t call)
{
	return timeline_call(assign->timeline, layer_captured_call(assign, call)).flags & PM_FLAG_TOUCHES;
}

const struct timeline_touch *layer_touches(const struct layer_assign *assign, uint32_t call, size_t *count)
{
	return timeline_touches(assign->timeline, layer_captured_call(assign, call), count);
}
