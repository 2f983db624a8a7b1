#include "standing.h"

#include <stdlib.h>

static struct standing_thread *thread_of(struct standing *standing, const struct trace_chunk *chunk)
{
	size_t at = standing->thread_count;

	while (at > 0 && standing->threads[at - 1].thread > chunk->thread)
		at--;
	if (at > 0 && standing->threads[at - 1].thread == chunk->thread)
		return &standing->threads[at - 1];
	(void)MEM_PUSH(standing->threads, standing->thread_count, standing->thread_room);
	memmove(standing->threads + at + 1, standing->threads + at,
		(standing->thread_count - 1 - at) * sizeof(*standing->threads));
	standing->threads[at] = (struct standing_thread){.thread = chunk->thread, .tid = chunk->tid};
	return &standing->threads[at];
}

/* The communicator of a collective, 0: it is none. */
static uint32_t communicator_of(const struct trace *trace, uint32_t op)
{
	const struct trace_operation *operation = &trace->operations[op];
	const struct trace_function *function = &trace->functions[operation->function];

	if (function->kind != PM_KIND_COMM || strcmp(function->name, "ncclSend") == 0 ||
		strcmp(function->name, "ncclRecv") == 0)
		return 0;
	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_COMMUNICATOR &&
			operation->values[i] < trace->communicator_count)
			return (uint32_t)operation->values[i];
	return 0;
}

static void count_collective(const struct trace *trace, struct standing *standing, uint32_t op)
{
	const uint32_t number = communicator_of(trace, op);
	size_t at = 0;

	if (number == 0 || !trace->communicators[number].known)
		return;
	while (at < standing->comm_count && standing->comms[at].number < number)
		at++;
	if (at == standing->comm_count || standing->comms[at].number != number) {
		(void)MEM_PUSH(standing->comms, standing->comm_count, standing->comm_room);
		memmove(standing->comms + at + 1, standing->comms + at,
			(standing->comm_count - 1 - at) * sizeof(*standing->comms));
		standing->comms[at] = (struct standing_comm){.number = number};
	}
	standing->comms[at].count++;
	standing->comms[at].op = op;
}

void standing_find(const struct trace *trace, struct standing *standing)
{
	memset(standing, 0, sizeof(*standing));
	for (size_t c = 0; c < trace->chunk_count; c++) {
		const struct trace_chunk *chunk = &trace->chunks[c];
		struct standing_thread *thread = thread_of(standing, chunk);
		const uint32_t op = chunk->entered.op;
		struct trace_cursor cursor;
		struct trace_record record;
		enum trace_step step;

		trace_walk(&cursor, trace, chunk);
		while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &record)) != TRACE_END) {
			if (step == TRACE_REFUSED)
				continue;
			thread->inside = false;
			thread->op = record.op;
			thread->begin_ns = trace_ns(trace, record.begin);
			count_collective(trace, standing, record.op);
		}
		if (!chunk->entered.flags)
			continue;
		thread->inside = true;
		thread->op = op < trace->operation_count && trace->operations[op].function ? op : 0;
		thread->begin_ns = trace_ns(trace, chunk->entered.begin);
		if (thread->op)
			count_collective(trace, standing, thread->op);
	}
}

void standing_free(struct standing *standing)
{
	free(standing->threads);
	free(standing->comms);
	memset(standing, 0, sizeof(*standing));
}
