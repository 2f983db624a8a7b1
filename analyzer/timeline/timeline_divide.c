/*
 * Launches of graphs whose creation was not recorded, as XLA builds its command buffers node by node: what they are made
 * of is not known before they run, but CUPTI tells each node's kernel. So after such a launch comes a call for each
 * node that ran (TIMELINE_FLAG_REPLAYED), in order of begin.
 */
#include "timeline_join.h"

#include <stdlib.h>

uint64_t timeline_divide_most(const struct trace *trace)
{
	return trace->header.losses[PM_LOSS_GRAPHS] ? trace->device_count : 0;
}

/* Is each of its intervals a node of its own? */
static bool is_divisible(
	const struct timeline *timeline, const struct timeline_join *join, const struct timeline_call *call)
{
	if ((call->flags & TIMELINE_FLAG_REPLAYED) ||
		!timeline_is_launch(timeline_function(timeline, call)) ||
		timeline_replay_of(&join->replays, call->operation - join->bases.operations))
		return false;
	for (uint32_t i = 0; i < call->interval_count; i++)
		if (timeline_interval(timeline, call->interval + i).operation == call->operation)
			return false;
	return true;
}

static struct timeline_call node_of(
	const struct timeline *timeline, const struct timeline_call *launch, uint32_t number)
{
	const struct timeline_interval interval = timeline_interval(timeline, launch->interval + number);
	struct timeline_call node = *launch;

	node.operation = interval.operation;
	node.queue = interval.queue;
	node.interval += number;
	node.interval_count = 1;
	node.flags = TIMELINE_FLAG_REPLAYED;
	return node;
}

/* now: by call, where it is among all. Returns the number of all. */
static size_t find_places(
	const struct timeline *timeline, const struct timeline_join *join, const struct timeline_call *calls, uint32_t *now)
{
	size_t count = 0;

	for (size_t i = 0; i < join->process->call_count; i++) {
		now[i] = (uint32_t)count++;
		if (is_divisible(timeline, join, &calls[i]))
			count += calls[i].interval_count;
	}
	return count;
}

static void move_notes(struct timeline_join *join, const uint32_t *now)
{
	for (size_t i = 0; i < join->more_count; i++)
		join->more[i].call = now[join->more[i].call];
	for (size_t i = 0; i < join->touch_count; i++)
		join->touches[i].call = now[join->touches[i].call];
}

void timeline_divide(const struct timeline *timeline, struct timeline_join *join)
{
	struct timeline_process *process = join->process;
	struct timeline_call *calls = MEM_AT(timeline->calls, process->first_call);
	uint32_t *now;
	size_t count, end;

	if (timeline_divide_most(join->trace) == 0)
		return;
	now = mem_alloc(process->call_count, sizeof(*now));
	count = end = find_places(timeline, join, calls, now);
	for (size_t i = process->call_count; i-- > 0;) {
		struct timeline_call call = calls[i];
		const uint32_t nodes = (uint32_t)(end - now[i]) - 1;

		for (uint32_t n = nodes; n-- > 0;)
			calls[--end] = node_of(timeline, &call, n);
		if (nodes) {
			call.interval_count = 0;
			call.flags |= TIMELINE_FLAG_DIVIDED;
		}
		calls[--end] = call;
	}
	process->call_count = count;
	move_notes(join, now);
	free(now);
}
