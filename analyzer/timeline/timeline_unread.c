/* Calls of a long run that were not read: the traces are looked through for those of one operation. */
#include "timeline.h"
#include "trace/trace.h"

#include <stdlib.h>

struct begins {
	int64_t *ns;
	size_t count, room;
};

static bool is_elsewhere(const struct trace *trace, const struct trace_record *record, int32_t device)
{
	return record->queue && trace->queues[record->queue].device != device;
}

static void add_chunk(const struct trace *trace, const struct trace_chunk *chunk, uint32_t op, int32_t device,
	struct begins *begins)
{
	struct trace_cursor cursor;
	struct trace_record record;
	size_t pair = 0;

	trace_walk(&cursor, trace, chunk);
	while (trace_next_call_of(&cursor, op, &record) != TRACE_END)
		if (!is_elsewhere(trace, &record, device))
			*MEM_PUSH(begins->ns, begins->count, begins->room) =
				trace_ns_near(trace, record.begin, &pair);
	trace_release(trace, chunk);
}

static int compare(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

int64_t *timeline_begins(
	const struct timeline_process *process, uint32_t operation, int32_t device, size_t *count)
{
	const struct trace *trace = process->trace;
	struct begins begins = {0};

	for (size_t c = 0; trace && c < trace->chunk_count; c++)
		add_chunk(trace, &trace->chunks[c], operation - process->first_operation, device, &begins);
	if (begins.count > 1)
		qsort(begins.ns, begins.count, sizeof(*begins.ns), compare);
	for (size_t i = 0; i < begins.count; i++)
		begins.ns[i] += process->moved_ns;
	*count = begins.count;
	return begins.ns;
}
