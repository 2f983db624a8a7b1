/*
 * Merging threads: see timeline_merge.h. A thread's calls are in order, so those of all threads are merged
 * straight from the file; nothing is sorted.
 */
#include "timeline_merge.h"

#include <stdlib.h>

#define MOST_ORDINAL 65535u /* of a thread; greater ones are damage, and go together */

static uint16_t ordinal_of(uint32_t thread)
{
	return (uint16_t)(thread < MOST_ORDINAL ? thread : MOST_ORDINAL);
}

static void take(const struct timeline_merge *merge, struct timeline_lane *lane)
{
	lane->begin_ns = trace_ns_near(merge->trace, lane->record.begin, &lane->pair);
	lane->end_ns = trace_ns_near(merge->trace, lane->record.end, &lane->pair);
	if (lane->end_ns < lane->begin_ns)
		lane->end_ns = lane->begin_ns;
}

/* To the lane's next call; false: there is none. */
static bool advance(const struct timeline_merge *merge, struct timeline_lane *lane)
{
	const struct trace *trace = merge->trace;
	struct timeline_process *process = merge->process;

	for (;;) {
		enum trace_step step = trace_next_of(&lane->cursor, PM_RECORD_CALL, &lane->record);

		if (step == TRACE_REFUSED) {
			process->refused_records++;
		} else if (step == TRACE_RECORD && trace_in_gap(trace, &lane->record)) {
			process->gap.call_count++;
			process->gap.calls[lane->record.op]++;
		} else if (step == TRACE_END) {
			trace_release(trace, &trace->chunks[merge->order[lane->chunk]]);
			if (++lane->chunk == lane->chunk_end)
				return false;
			trace_walk(&lane->cursor, trace, &trace->chunks[merge->order[lane->chunk]]);
		} else {
			take(merge, lane);
			return true;
		}
	}
}

static bool is_before(const struct timeline_lane *a, const struct timeline_lane *b)
{
	return a->begin_ns < b->begin_ns || (a->begin_ns == b->begin_ns && a->thread < b->thread);
}

static void sink(struct timeline_merge *merge, size_t place)
{
	struct timeline_lane *lanes = merge->lanes, lane = lanes[place];

	for (size_t child; (child = 2 * place + 1) < merge->lane_count; place = child) {
		if (child + 1 < merge->lane_count && is_before(&lanes[child + 1], &lanes[child]))
			child++;
		if (!is_before(&lanes[child], &lane))
			break;
		lanes[place] = lanes[child];
	}
	lanes[place] = lane;
}

/* Chunks by thread, each thread's in order of the file, by counting: `ends` becomes where they end. */
static void order_chunks(struct timeline_merge *merge, uint32_t threads, uint32_t *ends)
{
	const struct trace *trace = merge->trace;

	merge->order = mem_alloc(trace->chunk_count, sizeof(*merge->order));
	for (size_t c = 0; c < trace->chunk_count; c++)
		ends[ordinal_of(trace->chunks[c].thread) + 1u]++;
	for (uint32_t t = 0; t < threads; t++)
		ends[t + 1] += ends[t];
	for (size_t c = 0; c < trace->chunk_count; c++)
		merge->order[ends[ordinal_of(trace->chunks[c].thread)]++] = (uint32_t)c;
}

void timeline_merge_begin(
	struct timeline_merge *merge, const struct trace *trace, struct timeline_process *process)
{
	uint32_t *ends, threads = 0;

	*merge = (struct timeline_merge){.trace = trace, .process = process};
	for (size_t c = 0; c < trace->chunk_count; c++)
		if (ordinal_of(trace->chunks[c].thread) + 1u > threads)
			threads = ordinal_of(trace->chunks[c].thread) + 1u;
	ends = mem_alloc(threads + 1, sizeof(*ends));
	order_chunks(merge, threads, ends);
	merge->lanes = mem_alloc(threads, sizeof(*merge->lanes));
	for (uint32_t t = 0; t < threads; t++) {
		struct timeline_lane lane = {
			.chunk = t ? ends[t - 1] : 0, .chunk_end = ends[t], .thread = (uint16_t)t};

		if (lane.chunk == lane.chunk_end)
			continue;
		trace_walk(&lane.cursor, trace, &trace->chunks[merge->order[lane.chunk]]);
		if (advance(merge, &lane))
			merge->lanes[merge->lane_count++] = lane;
	}
	for (size_t i = merge->lane_count / 2; i-- > 0;)
		sink(merge, i);
	process->thread_count = threads;
	free(ends);
}

void timeline_merge_next(struct timeline_merge *merge)
{
	if (!advance(merge, &merge->lanes[0]))
		merge->lanes[0] = merge->lanes[--merge->lane_count];
	if (merge->lane_count > 1)
		sink(merge, 0);
}

void timeline_merge_end(struct timeline_merge *merge)
{
	free(merge->order);
	free(merge->lanes);
}
