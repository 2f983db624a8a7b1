/*
 * Waiting for tf.data in a graph of TensorFlow's: the operation that gets the iterator's next batch
 * (IteratorGetNext) is asynchronous. Its range ends when the executor has started it, and what it starts
 * waits in a thread of its own, of which no range tells. What tells that the batch is there are the
 * operations that TensorFlow itself puts between it and those of another device: they have its path and a
 * number, `IteratorGetNext/_3:_Send`, and the first of them starts as soon as there is something to send.
 * Those that receive are started beforehand, and wait for these.
 *
 * The wait is one of a thread of its own here, too: the executor's goes on with other operations meanwhile.
 *
 * A batch that was there is handed on by the executor's threads: that takes a while, and is no waiting.
 */
#include "timeline/constants.h"
#include "timeline_join.h"

#include <stdlib.h>
#include <string.h>

#define NO_CALL SIZE_MAX

/* One that gets a batch, or one that takes it. */
struct event {
	int64_t begin_ns;
	uint32_t operation; /* of the one that gets it */
	size_t call;        /* of the one that gets it; NO_CALL: it takes it */
};

/* "IteratorGetNextAsOptional:IteratorGetNextAsOptional": the type is what counts, as the path is any. */
bool timeline_next_is(const char *name, const char *domain)
{
	const char *type = strchr(name, ':');

	return domain && strcmp(domain, "TSL") == 0 && type && strncmp(type + 1, "IteratorGetNext", 15) == 0;
}

/* Those that receive from another device start before there is anything. */
static bool receives(const char *type)
{
	return strstr(type, "_Recv") || strstr(type, "HostRecv");
}

/* The length of the path of the operation that this one takes from: "while/Next" of "while/Next/_12:_Send";
 * 0: it is no such operation. */
static size_t taken_length(const char *name)
{
	const size_t length = strcspn(name, ":");
	size_t digits = length;

	while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (name[length] == 0 || receives(name + length) || digits == length || digits < 3 ||
		strncmp(name + digits - 2, "/_", 2) != 0)
		return 0;
	return digits - 2;
}

/* Which of the operations takes from that one, by range name of the trace. */
static uint32_t taken_by(const struct timeline *timeline, const struct timeline_join *join, size_t number)
{
	const struct timeline_range_name *names = &timeline->range_names[join->bases.range_names];
	const size_t length = names[number].name ? taken_length(names[number].name) : 0;

	for (size_t i = 0; length && i < join->trace->range_name_count; i++)
		if (join->load_operations[i] && timeline_next_is(names[i].name, names[i].domain) &&
			strncmp(names[i].name, names[number].name, length) == 0 &&
			names[i].name[length] == ':')
			return join->load_operations[i];
	return 0;
}

static bool is_next(const struct timeline *timeline, uint32_t operation)
{
	return timeline->functions[timeline->operations[operation].function].is_awaited;
}

void timeline_next_describe(struct timeline *timeline, struct timeline_join *join)
{
	const size_t count = join->trace->range_name_count;
	uint32_t *takes;
	bool gets = false;

	for (size_t i = 0; join->load_operations && i < count && !gets; i++)
		gets = join->load_operations[i] && is_next(timeline, join->load_operations[i]);
	if (!gets)
		return;
	takes = arena_alloc(&timeline->arena, count, sizeof(*takes));
	for (size_t i = 0; i < count; i++)
		takes[i] = taken_by(timeline, join, i);
	join->load_takes = takes;
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->operation != b->operation)
		return a->operation < b->operation ? -1 : 1;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static struct event *list_events(
	const struct timeline_join *join, const struct timeline_call *calls, size_t call_count, size_t *count)
{
	struct event *events = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < join->range_count; i++) {
		const struct timeline_range *range = &join->ranges[i];
		const uint32_t operation = join->load_takes[range->name - join->bases.range_names];

		if (operation)
			*MEM_PUSH(events, *count, room) = (struct event){range->begin_ns, operation, NO_CALL};
	}
	for (size_t i = 0; i < call_count && *count; i++)
		*MEM_PUSH(events, *count, room) = (struct event){calls[i].begin_ns, calls[i].operation, i};
	return events;
}

static void end_when_taken(const struct timeline_join *join, struct timeline_call *calls, size_t call_count)
{
	size_t count;
	struct event *events = list_events(join, calls, call_count, &count);

	if (count)
		qsort(events, count, sizeof(*events), compare_events);
	for (size_t i = 1; i < count; i++) {
		const struct event *get = &events[i - 1], *take = &events[i];

		if (get->operation == take->operation && get->call != NO_CALL && take->call == NO_CALL &&
			take->begin_ns > calls[get->call].end_ns)
			calls[get->call].end_ns = take->begin_ns;
	}
	free(events);
}

size_t timeline_next_end(const struct timeline *timeline, const struct timeline_join *join,
	struct timeline_call *calls, size_t call_count)
{
	struct timeline_process *process = join->process;
	size_t kept = 0;
	bool waits = false;

	if (!join->load_takes)
		return call_count;
	end_when_taken(join, calls, call_count);
	for (size_t i = 0; i < call_count; i++) {
		const bool next = is_next(timeline, calls[i].operation);

		if (next && calls[i].end_ns - calls[i].begin_ns < (int64_t)NEXT_READY)
			continue;
		calls[kept] = calls[i];
		if (next && process->thread_count < UINT16_MAX) {
			calls[kept].thread = (uint16_t)process->thread_count;
			waits = true;
		}
		kept++;
	}
	process->thread_count += waits;
	return kept;
}
