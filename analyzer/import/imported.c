/*
 * The tables of imported traces, and what is done to them when a file has been read: see imported.h.
 */
#include "imported_kind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR_NS INT64_C(1000000000) /* from a clock's 0: nothing of a recording is nearer than events without a time */

/* A column of a table: where its pointer is in the table's struct, and how large an item. */
struct column {
	size_t place, bytes;
};

#define COLUMN(table, name) \
	{ \
		offsetof(struct table, name), sizeof(*((struct table *)0)->name) \
	}
#define COLUMN_COUNT(columns) (sizeof(columns) / sizeof(*(columns)))

static const struct column event_columns[] = {COLUMN(imported_events, begin_ns),
	COLUMN(imported_events, end_ns), COLUMN(imported_events, name), COLUMN(imported_events, queue),
	COLUMN(imported_events, call), COLUMN(imported_events, collective),
	COLUMN(imported_events, correlation), COLUMN(imported_events, external),
	COLUMN(imported_events, shape), COLUMN(imported_events, phase), COLUMN(imported_events, layer),
	COLUMN(imported_events, kind), COLUMN(imported_events, activity)};
static const struct column call_columns[] = {COLUMN(imported_calls, begin_ns), COLUMN(imported_calls, end_ns),
	COLUMN(imported_calls, name), COLUMN(imported_calls, thread), COLUMN(imported_calls, correlation)};
static const struct column span_columns[] = {COLUMN(imported_spans, begin_ns), COLUMN(imported_spans, end_ns),
	COLUMN(imported_spans, name), COLUMN(imported_spans, thread), COLUMN(imported_spans, step),
	COLUMN(imported_spans, sequence), COLUMN(imported_spans, forward), COLUMN(imported_spans, external), COLUMN(imported_spans, shapes),
	COLUMN(imported_spans, inputs),
	COLUMN(imported_spans, kind)};

static void **column_of(void *table, const struct column *column)
{
	return (void **)((char *)table + column->place);
}

static uint32_t grow(
	void *table, size_t *count, size_t *room, const struct column *columns, size_t column_count)
{
	size_t grown = *room;

	if (*count == *room)
		for (size_t i = 0; i < column_count; i++) {
			void **column = column_of(table, &columns[i]);

			grown = *room;
			*column = mem_grow(*column, *count, &grown, columns[i].bytes);
		}
	*room = grown;
	return (uint32_t)(*count)++;
}

static void free_columns(void *table, const struct column *columns, size_t column_count)
{
	for (size_t i = 0; i < column_count; i++)
		free(*column_of(table, &columns[i]));
}

/* Puts the items of each column into the order of `order`, of which there are `count`. */
static void reorder(
	void *table, const struct column *columns, size_t column_count, const uint32_t *order, size_t count)
{
	char *copy = mem_alloc(count, sizeof(uint64_t));

	for (size_t i = 0; i < column_count; i++) {
		size_t bytes = columns[i].bytes;
		char *items = *column_of(table, &columns[i]);

		for (size_t j = 0; j < count; j++)
			memcpy(copy + j * bytes, items + order[j] * bytes, bytes);
		if (count)
			memcpy(items, copy, count * bytes);
	}
	free(copy);
}

uint32_t imported_add_event(struct imported *imported)
{
	struct imported_events *events = &imported->events;
	uint32_t event =
		grow(events, &events->count, &events->room, event_columns, COLUMN_COUNT(event_columns));

	events->call[event] = events->collective[event] = IMPORTED_NONE;
	events->correlation[event] = events->external[event] = 0;
	events->shape[event] = events->phase[event] = events->layer[event] = 0;
	events->activity[event] = IMPORTED_KERNEL;
	events->kind[event] = IMPORTED_OTHER;
	return event;
}

uint32_t imported_add_call(struct imported *imported)
{
	struct imported_calls *calls = &imported->calls;

	return grow(calls, &calls->count, &calls->room, call_columns, COLUMN_COUNT(call_columns));
}

uint32_t imported_add_span(struct imported *imported)
{
	struct imported_spans *spans = &imported->spans;
	uint32_t span = grow(spans, &spans->count, &spans->room, span_columns, COLUMN_COUNT(span_columns));

	spans->step[span] = -1;
	spans->sequence[span] = -1;
	spans->forward[span] = 0;
	spans->external[span] = 0;
	spans->shapes[span] = 0;
	spans->inputs[span] = 0;
	return span;
}

uint32_t imported_find_queue(struct imported *imported, uint32_t worker, int32_t device, int64_t stream)
{
	uint64_t hash =
		mem_hash(mem_hash(mem_hash(MEM_HASH_START, worker), (uint32_t)device), (uint64_t)stream);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&imported->queue_lookup, hash, &at)) != LOOKUP_NONE;) {
		const struct imported_queue *queue = &imported->queues[i];

		if (queue->worker == worker && queue->device == device && queue->stream == stream)
			return i;
	}
	lookup_add(&imported->queue_lookup, hash, (uint32_t)imported->queue_count);
	*MEM_PUSH(imported->queues, imported->queue_count, imported->queue_room) =
		(struct imported_queue){worker, device, stream};
	return (uint32_t)imported->queue_count - 1;
}

uint32_t imported_look_up_thread(const struct imported *imported, int64_t process, int64_t thread)
{
	uint64_t hash = mem_hash(mem_hash(MEM_HASH_START, (uint64_t)process), (uint64_t)thread);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&imported->thread_lookup, hash, &at)) != LOOKUP_NONE;)
		if (imported->threads[i].process == process && imported->threads[i].thread == thread)
			return i;
	return IMPORTED_NONE;
}

uint32_t imported_find_thread(struct imported *imported, int64_t process, int64_t thread)
{
	uint64_t hash = mem_hash(mem_hash(MEM_HASH_START, (uint64_t)process), (uint64_t)thread);
	uint32_t found = imported_look_up_thread(imported, process, thread);

	if (found != IMPORTED_NONE)
		return found;
	lookup_add(&imported->thread_lookup, hash, (uint32_t)imported->thread_count);
	*MEM_PUSH(imported->threads, imported->thread_count, imported->thread_room) =
		(struct imported_thread){.process = process, .thread = thread};
	return (uint32_t)imported->thread_count - 1;
}

struct sort_item {
	int64_t begin_ns, end_ns;
	uint32_t index;
};

/* Of what begins together the longer first, so that what encloses comes before what is in it. */
static int compare_begin(const void *a, const void *b)
{
	const struct sort_item *one = a, *other = b;

	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns ? -1 : 1;
	return one->index < other->index ? -1 : one->index > other->index;
}

static void sort_by_begin(void *table, const int64_t *begin_ns, const int64_t *end_ns, size_t count,
	const struct column *columns, size_t column_count)
{
	struct sort_item *items;
	uint32_t *order;
	size_t i;

	for (i = 1; i < count && begin_ns[i - 1] < begin_ns[i]; i++)
		;
	if (i >= count)
		return;
	items = mem_alloc(count, sizeof(*items));
	order = mem_alloc(count, sizeof(*order));
	for (i = 0; i < count; i++)
		items[i] = (struct sort_item){begin_ns[i], end_ns[i], (uint32_t)i};
	qsort(items, count, sizeof(*items), compare_begin);
	for (i = 0; i < count; i++)
		order[i] = items[i].index;
	free(items);
	reorder(table, columns, column_count, order, count);
	free(order);
}

/* The call with the correlation; LOOKUP_NONE: there is none. `*at` is its place in the table. */
static uint32_t call_of(
	const struct lookup *lookup, const struct imported_calls *calls, uint64_t correlation, size_t *at)
{
	uint32_t call;

	do
		call = lookup_next(lookup, mem_hash(0, correlation), at);
	while (call != LOOKUP_NONE && calls->correlation[call] != correlation);
	return call;
}

/* Joins events to the calls of the same correlation; of several calls the first that began. */
static void join_calls(struct imported *imported)
{
	struct imported_events *events = &imported->events;
	struct imported_calls *calls = &imported->calls;
	struct lookup lookup = {0};

	lookup_reserve(&lookup, calls->count);
	for (uint32_t i = 0; i < calls->count; i++) {
		size_t at = 0;
		uint32_t other;

		if (!calls->correlation[i])
			continue;
		other = call_of(&lookup, calls, calls->correlation[i], &at);
		if (other == LOOKUP_NONE)
			lookup_add(&lookup, mem_hash(0, calls->correlation[i]), i);
		else if (calls->begin_ns[i] < calls->begin_ns[other])
			lookup_replace(&lookup, at, i);
	}
	for (size_t i = 0; i < events->count; i++) {
		uint32_t call = LOOKUP_NONE;

		if (events->correlation[i])
			call = call_of(&lookup, calls, events->correlation[i], &(size_t){0});
		events->call[i] = call == LOOKUP_NONE ? IMPORTED_NONE : call;
		imported->unlaunched += events->call[i] == IMPORTED_NONE;
	}
	lookup_free(&lookup);
}

/* Keeps the calls that launched something. */
static void drop_calls(struct imported *imported)
{
	struct imported_events *events = &imported->events;
	struct imported_calls *calls = &imported->calls;
	uint32_t *number = mem_alloc(calls->count, sizeof(*number)), *order, kept = 0;

	for (size_t i = 0; i < events->count; i++)
		if (events->call[i] != IMPORTED_NONE)
			number[events->call[i]] = 1;
	order = mem_alloc(calls->count, sizeof(*order));
	for (uint32_t i = 0; i < calls->count; i++)
		if (number[i]) {
			order[kept] = i;
			number[i] = kept++;
		}
	for (size_t i = 0; i < events->count; i++)
		if (events->call[i] != IMPORTED_NONE)
			events->call[i] = number[events->call[i]];
	reorder(calls, call_columns, COLUMN_COUNT(call_columns), order, kept);
	calls->count = kept;
	free(order);
	free(number);
}

static void find_kinds(struct imported *imported)
{
	struct imported_events *events = &imported->events;
	uint8_t *kinds = mem_alloc(imported->strings.count, 1); /* kind + 1 */

	for (size_t i = 0; i < events->count; i++) {
		uint8_t *kind = &kinds[events->name[i]];

		if (events->activity[i] == IMPORTED_LABELLED)
			continue;
		if (!*kind)
			*kind = (uint8_t)(imported_kind_of(imported->strings.items[events->name[i]]) + 1);
		events->kind[i] = (uint8_t)(*kind - 1);
	}
	free(kinds);
}

void imported_finish(struct imported *imported, unsigned wanted)
{
	struct imported_events *events = &imported->events;
	struct imported_spans *spans = &imported->spans;

	find_kinds(imported);
	join_calls(imported);
	if (!(wanted & IMPORTED_WANT_CALLS))
		drop_calls(imported);
	sort_by_begin(events, events->begin_ns, events->end_ns, events->count, event_columns,
		COLUMN_COUNT(event_columns));
	sort_by_begin(spans, spans->begin_ns, spans->end_ns, spans->count, span_columns,
		COLUMN_COUNT(span_columns));
}

static bool is_untimed(const struct imported_events *events, size_t event)
{
	return events->begin_ns[event] == 0 && events->end_ns[event] == 0;
}

void imported_drop_untimed(struct imported *imported)
{
	struct imported_events *events = &imported->events;
	uint32_t *order, kept = 0;
	bool far = true;
	size_t untimed = 0;

	for (size_t i = 0; i < events->count; i++)
		if (is_untimed(events, i))
			untimed++;
		else
			far = far && events->begin_ns[i] >= FAR_NS;
	if (untimed == 0 || untimed == events->count || !far)
		return;
	imported->untimed = untimed;
	order = mem_alloc(events->count, sizeof(*order));
	for (uint32_t i = 0; i < events->count; i++)
		if (!is_untimed(events, i))
			order[kept++] = i;
	reorder(events, event_columns, COLUMN_COUNT(event_columns), order, kept);
	events->count = kept;
	free(order);
}

static void add_to(int64_t *begin_ns, int64_t *end_ns, size_t count, int64_t more_ns)
{
	for (size_t i = 0; i < count; i++) {
		if (__builtin_add_overflow(begin_ns[i], more_ns, &begin_ns[i]))
			begin_ns[i] = more_ns < 0 ? INT64_MIN : INT64_MAX;
		if (__builtin_add_overflow(end_ns[i], more_ns, &end_ns[i]))
			end_ns[i] = more_ns < 0 ? INT64_MIN : INT64_MAX;
	}
}

void imported_add_base(struct imported *imported)
{
	int64_t more_ns = imported->base_ns;

	add_to(&imported->first_ns, &(int64_t){0}, 1, more_ns);
	add_to(imported->events.begin_ns, imported->events.end_ns, imported->events.count, more_ns);
	add_to(imported->calls.begin_ns, imported->calls.end_ns, imported->calls.count, more_ns);
	add_to(imported->spans.begin_ns, imported->spans.end_ns, imported->spans.count, more_ns);
}

int imported_trouble(struct imported *imported, const char *format, ...)
{
	char text[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	imported->trouble = arena_text(&imported->strings.arena, text, strlen(text));
	return -1;
}

void imported_free(struct imported *imported)
{
	free_columns(&imported->events, event_columns, COLUMN_COUNT(event_columns));
	free_columns(&imported->calls, call_columns, COLUMN_COUNT(call_columns));
	free_columns(&imported->spans, span_columns, COLUMN_COUNT(span_columns));
	free(imported->workers);
	free(imported->queues);
	free(imported->threads);
	lookup_free(&imported->queue_lookup);
	lookup_free(&imported->thread_lookup);
	free(imported->collectives);
	free(imported->devices);
	intern_free(&imported->strings);
	memset(imported, 0, sizeof(*imported));
}
