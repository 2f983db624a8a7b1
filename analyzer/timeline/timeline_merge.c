/*
 * Merging threads: see timeline_merge.h. A thread's calls are in order, so those of all threads are merged
 * straight from the file; nothing is sorted.
 */
#include "timeline_merge.h"

#include <stdlib.h>

static void timeline_merge_take(const struct timeline_merge *merge, struct timeline_lane *lane)
{
	lane->begin_ns = trace_ns_near(merge->trace, lane->record.begin, &lane->pair);
	lane->end_ns = trace_ns_near(merge->trace, lane->record.end, &lane->pair);
	if (lane->end_ns < lane->begin_ns)
		lane->end_ns = lane->begin_ns;
}

static const struct trace_chunk *chunk_of(const struct timeline_merge *merge, size_t number)
{
	return &merge->trace->chunks[merge->order[number]];
}

/* The piece of the gap that a call which begins then is in. */
static struct timeline_piece *piece_at(
	const struct timeline_merge *merge, const struct timeline_lane *lane, int64_t begin_ns)
{
	size_t at = lane->stretch;

	(void)timeline_stretches_have(merge->stretches, begin_ns, &at);
	return &merge->process->gap.pieces[at];
}

/* To the first chunk that is read, from the one that the lane is at; false: there is none. */
static bool enter_chunk(const struct timeline_merge *merge, struct timeline_lane *lane)
{
	struct timeline_process *process = merge->process;

	for (; lane->chunk < lane->chunk_end; lane->chunk++) {
		const struct trace_chunk *chunk = chunk_of(merge, lane->chunk);

		if (!merge->read || merge->read[merge->order[lane->chunk]]) {
			trace_walk(&lane->cursor, merge->trace, chunk);
			return true;
		}
		process->gap.call_count += trace_count_calls(merge->trace, chunk,
			piece_at(merge, lane, trace_ns(merge->trace, chunk->first_ticks))->calls,
			&process->refused_records);
		trace_release(merge->trace, chunk);
	}
	return false;
}

static void drop(const struct timeline_merge *merge, const struct timeline_lane *lane, uint64_t *calls)
{
	merge->process->gap.call_count++;
	calls[lane->record.op]++;
}

/* To the lane's next call; false: there is none. */
static bool advance(const struct timeline_merge *merge, struct timeline_lane *lane)
{
	const struct timeline_stretches *stretches = merge->stretches;

	for (;;) {
		enum trace_step step = trace_next_of(&lane->cursor, PM_RECORD_CALL, &lane->record);

		if (step == TRACE_REFUSED) {
			merge->process->refused_records++;
		} else if (step == TRACE_END) {
			trace_release(merge->trace, chunk_of(merge, lane->chunk));
			lane->chunk++;
			if (!enter_chunk(merge, lane))
				return false;
		} else if (trace_in_gap(merge->trace, &lane->record)) {
			drop(merge, lane, merge->process->gap.calls);
		} else {
			timeline_merge_take(merge, lane);
			if (stretches->count == 0 ||
				timeline_stretches_have(stretches, lane->begin_ns, &lane->stretch))
				return true;
			drop(merge, lane, piece_at(merge, lane, lane->begin_ns)->calls);
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
		ends[timeline_ordinal(trace->chunks[c].thread) + 1u]++;
	for (uint32_t t = 0; t < threads; t++)
		ends[t + 1] += ends[t];
	for (size_t c = 0; c < trace->chunk_count; c++)
		merge->order[ends[timeline_ordinal(trace->chunks[c].thread)]++] = (uint32_t)c;
}

void timeline_merge_begin(struct timeline_merge *merge, const struct trace *trace,
	const struct timeline_stretches *stretches, const bool *read, struct timeline_process *process)
{
	uint32_t *ends, threads = 0;

	*merge = (struct timeline_merge){
		.trace = trace, .stretches = stretches, .read = read, .process = process};
	for (size_t c = 0; c < trace->chunk_count; c++)
		if (timeline_ordinal(trace->chunks[c].thread) + 1u > threads)
			threads = timeline_ordinal(trace->chunks[c].thread) + 1u;
	ends = mem_alloc(threads + 1, sizeof(*ends));
	order_chunks(merge, threads, ends);
	merge->lanes = mem_alloc(threads, sizeof(*merge->lanes));
	for (uint32_t t = 0; t < threads; t++) {
		struct timeline_lane lane = {
			.chunk = t ? ends[t - 1] : 0, .chunk_end = ends[t], .thread = (uint16_t)t};

		if (enter_chunk(merge, &lane) && advance(merge, &lane))
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
	const struct timeline_gap *gap = &merge->process->gap;

	for (size_t i = 0; i < gap->piece_count; i++)
		for (size_t op = 0; op < merge->trace->operation_count; op++)
			gap->calls[op] += gap->pieces[i].calls[op];
	free(merge->order);
	free(merge->lanes);
}
