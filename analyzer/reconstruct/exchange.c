/* Messages between workers: see exchange.h. */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

/* One end of a message. */
struct end {
	uint64_t hash; /* of the communicator */
	int32_t from, to;
	uint32_t call, worker;
	uint32_t ordinal; /* among those from and to the same ranks */
	size_t place;     /* among the worker's calls */
	bool receives, used;
};

struct ends {
	struct end *items;
	size_t count, room;
};

static int compare_lines(const struct end *a, const struct end *b)
{
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* While counting. */
static int compare_calls(const void *left, const void *right)
{
	const struct end *a = left, *b = right;
	int order = compare_lines(a, b);

	if (order)
		return order;
	if (a->receives != b->receives)
		return a->receives ? 1 : -1;
	return a->call < b->call ? -1 : a->call > b->call;
}

/* Send and receive of a message together, the send first. */
static int compare_messages(const void *left, const void *right)
{
	const struct end *a = left, *b = right;
	int order = compare_lines(a, b);

	if (order)
		return order;
	if (a->ordinal != b->ordinal)
		return a->ordinal < b->ordinal ? -1 : 1;
	return (int)a->receives - (int)b->receives;
}

/* Those of a worker. */
static void list_ends(
	const struct timeline *timeline, const struct worker *worker, uint32_t number, struct ends *ends)
{
	for (size_t i = 0; i < worker->call_count; i++) {
		uint32_t place = worker->calls[i];
		const struct timeline_operation *operation =
			&timeline->operations[timeline_call(timeline, place).operation];
		const struct timeline_function *function = &timeline->functions[operation->function];
		uint64_t peer, communicator;
		struct end *end;
		int32_t rank;

		if (function->kind != PM_KIND_COMM || !timeline_value(timeline, operation, "peer", &peer) ||
			!timeline_value(timeline, operation, "comm", &communicator) || communicator == 0 ||
			communicator >= timeline->communicator_count)
			continue;
		rank = timeline->communicators[communicator].rank;
		end = MEM_PUSH(ends->items, ends->count, ends->room);
		*end = (struct end){.hash = timeline->communicators[communicator].hash,
			.from = rank,
			.to = (int32_t)peer,
			.call = place,
			.worker = number,
			.place = i,
			.receives = function->facts.role == PM_ROLE_RECEIVE};
		if (end->receives) {
			end->from = (int32_t)peer;
			end->to = rank;
		}
	}
}

/* Those of used iterations among a worker's, which are in order. */
static void mark_used(const struct analysis_worker *worker, struct end *ends, size_t count)
{
	size_t next = 0;

	for (size_t i = 0; i < count; i++) {
		while (next < worker->used_count &&
			ends[i].place >= worker->iterations.items[worker->used[next]].call_end)
			next++;
		ends[i].used = next < worker->used_count &&
			       ends[i].place >= worker->iterations.items[worker->used[next]].first_call;
	}
}

static void count_ends(struct ends *ends)
{
	qsort(ends->items, ends->count, sizeof(*ends->items), compare_calls);
	for (size_t i = 1; i < ends->count; i++)
		if (compare_lines(&ends->items[i - 1], &ends->items[i]) == 0 &&
			ends->items[i - 1].receives == ends->items[i].receives)
			ends->items[i].ordinal = ends->items[i - 1].ordinal + 1;
	qsort(ends->items, ends->count, sizeof(*ends->items), compare_messages);
}

/* How many calls share an interval on the device, by interval. */
static uint8_t *list_sharers(const struct timeline *timeline, const struct ends *ends)
{
	uint8_t *sharers = mem_alloc(timeline->interval_count, sizeof(*sharers));

	for (size_t i = 0; i < ends->count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, ends->items[i].call);

		if (call->interval_count && sharers[call->interval] < UINT8_MAX)
			sharers[call->interval]++;
	}
	return sharers;
}

static void exchange_add(const struct timeline *timeline, const uint8_t *sharers, const struct end *send,
	const struct end *receive, struct exchange_list *list)
{
	const struct timeline_call *from = TIMELINE_CALL(timeline, send->call),
				   *to = TIMELINE_CALL(timeline, receive->call);
	int64_t from_ns, to_ns, from_end_ns, to_end_ns;
	struct exchange *item;
	uint64_t bytes = 0;

	if (!from->interval_count || !to->interval_count || sharers[from->interval] > 1 ||
		sharers[to->interval] > 1)
		return;
	timeline_value(timeline, &timeline->operations[from->operation], "bytes", &bytes);
	from_ns = timeline_interval(timeline, from->interval).begin_ns;
	to_ns = timeline_interval(timeline, to->interval).begin_ns;
	from_end_ns = timeline_call_end(timeline, from);
	to_end_ns = timeline_call_end(timeline, to);
	item = MEM_PUSH(list->items, list->count, list->room);
	*item = (struct exchange){.from = send->worker,
		.to = receive->worker,
		.send = send->call,
		.receive = receive->call,
		.bytes = (double)bytes,
		.begin_ns = from_ns > to_ns ? from_ns : to_ns,
		.end_ns = to_end_ns};
	item->send_wait_ns = (from_end_ns < item->begin_ns ? from_end_ns : item->begin_ns) - from_ns;
	item->receive_wait_ns = (to_end_ns < item->begin_ns ? to_end_ns : item->begin_ns) - to_ns;
}

/* The messages whose two ends are there, of all or of used iterations; frees the ends. */
static void match(const struct timeline *timeline, struct ends *ends, bool all, struct exchange_list *list)
{
	uint8_t *sharers;

	memset(list, 0, sizeof(*list));
	if (ends->count == 0)
		return;
	count_ends(ends);
	sharers = list_sharers(timeline, ends);
	for (size_t i = 0; i + 1 < ends->count; i++) {
		const struct end *send = &ends->items[i], *receive = &ends->items[i + 1];

		if (!send->receives && receive->receives && compare_lines(send, receive) == 0 &&
			send->ordinal == receive->ordinal && (all || send->used || receive->used))
			exchange_add(timeline, sharers, send, receive, list);
	}
	free(sharers);
	free(ends->items);
}

void exchange_match(const struct analysis *analysis, struct exchange_list *list)
{
	struct ends ends = {0};

	for (size_t w = 0; w < analysis->worker_count; w++) {
		size_t first = ends.count;

		list_ends(&analysis->timeline, analysis->workers[w].worker, (uint32_t)w, &ends);
		if (ends.count > first)
			mark_used(&analysis->workers[w], ends.items + first, ends.count - first);
	}
	match(&analysis->timeline, &ends, false, list);
}

void exchange_waits(const struct timeline *timeline, const struct worker_model *model, int64_t *wait_ns)
{
	struct exchange_list list;
	struct ends ends = {0};

	for (size_t w = 0; w < model->worker_count; w++)
		list_ends(timeline, &model->workers[w], (uint32_t)w, &ends);
	match(timeline, &ends, true, &list);
	for (size_t i = 0; i < list.count; i++) {
		wait_ns[list.items[i].send] = list.items[i].send_wait_ns;
		wait_ns[list.items[i].receive] = list.items[i].receive_wait_ns;
	}
	exchange_free(&list);
}

void exchange_free(struct exchange_list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}
