/* Where a process stands, by its trace alone: see standing.h. */
#include "standing.h"
#include "tally.h"

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

static struct standing_comm *comm_of(struct standing *standing, uint32_t number)
{
	size_t at = 0;

	while (at < standing->comm_count && standing->comms[at].number < number)
		at++;
	if (at < standing->comm_count && standing->comms[at].number == number)
		return &standing->comms[at];
	(void)MEM_PUSH(standing->comms, standing->comm_count, standing->comm_room);
	memmove(standing->comms + at + 1, standing->comms + at,
		(standing->comm_count - 1 - at) * sizeof(*standing->comms));
	standing->comms[at] = (struct standing_comm){.number = number};
	return &standing->comms[at];
}

/* The place of a peer among the sorted ones, or where it would be. */
static size_t peer_place(const struct standing *standing, uint32_t number, int peer)
{
	size_t low = 0, high = standing->peer_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct standing_peer *p = &standing->peers[middle];

		if (p->number < number || (p->number == number && p->peer < peer))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_peer_at(const struct standing *standing, size_t at, uint32_t number, int peer)
{
	return at < standing->peer_count && standing->peers[at].number == number &&
	       standing->peers[at].peer == peer;
}

const struct standing_peer *standing_find_peer(const struct standing *standing, uint32_t number, int peer)
{
	const size_t at = peer_place(standing, number, peer);

	return is_peer_at(standing, at, number, peer) ? &standing->peers[at] : NULL;
}

static struct standing_peer *peer_of(struct standing *standing, uint32_t number, int peer)
{
	const size_t at = peer_place(standing, number, peer);

	if (is_peer_at(standing, at, number, peer))
		return &standing->peers[at];
	(void)MEM_PUSH(standing->peers, standing->peer_count, standing->peer_room);
	memmove(standing->peers + at + 1, standing->peers + at,
		(standing->peer_count - 1 - at) * sizeof(*standing->peers));
	standing->peers[at] = (struct standing_peer){.number = number, .peer = peer};
	return &standing->peers[at];
}

static int by_begin(const void *left, const void *right)
{
	const struct standing_entry *a = left, *b = right;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* In order of time, and no more than are kept: threads come one after the other, but what is dropped is older
 * than all that stays, whatever is still to come. */
static void trim(struct standing_recent *recent, size_t most)
{
	if (recent->count > 1)
		qsort(recent->entries, recent->count, sizeof(*recent->entries), by_begin);
	if (recent->count <= most)
		return;
	memmove(recent->entries, recent->entries + recent->count - most, most * sizeof(*recent->entries));
	recent->count = most;
}

static void add_recent(struct standing_recent *recent, size_t most, struct standing_entry entry)
{
	*MEM_PUSH(recent->entries, recent->count, recent->room) = entry;
	if (recent->count == 2 * most)
		trim(recent, most);
}

static const struct trace_function *function_of(const struct trace *trace, uint32_t op)
{
	return &trace->functions[trace->operations[op].function];
}

bool standing_joins(const struct trace *trace, uint32_t op)
{
	return function_of(trace, op)->facts.role == PM_ROLE_JOINS;
}

/* Sends to a rank of a communicator, receives from one, and collectives are counted apart; all NULL: not
 * known. */
struct place {
	struct standing_peer *peer;
	bool sends;
	struct standing_comm *comm;
};

static struct place place_of(const struct trace *trace, struct standing *standing, uint32_t op)
{
	const struct trace_operation *operation = &trace->operations[op];
	const struct trace_function *function = &trace->functions[operation->function];
	const bool sends = function->facts.role == PM_ROLE_SEND;
	uint64_t number = 0, peer = UINT64_MAX;

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_COMMUNICATOR)
			number = operation->values[i];
		else if (strcmp(function->labels[i].name, "peer") == 0)
			peer = operation->values[i];
	if (number == 0 || number >= trace->communicator_count || !trace->communicators[number].known)
		return (struct place){0};
	if (!sends && function->facts.role != PM_ROLE_RECEIVE)
		return (struct place){.comm = comm_of(standing, (uint32_t)number)};
	if (peer > INT32_MAX)
		return (struct place){0};
	return (struct place){.peer = peer_of(standing, (uint32_t)number, (int)peer), .sends = sends};
}

static void count_communication(
	const struct trace *trace, struct standing *standing, uint32_t op, int64_t begin_ns)
{
	const struct standing_entry entry = {begin_ns, op};
	const struct place place = place_of(trace, standing, op);
	const bool recent = begin_ns >= standing->whole_ns;

	if (recent && (place.peer || place.comm))
		add_recent(&standing->recent, STANDING_HISTORY, entry);
	if (place.peer) {
		struct standing_peer *p = place.peer;

		*(place.sends ? &p->sends : &p->receives) += 1;
		if (begin_ns >= (place.sends ? p->last_send : p->last_receive).begin_ns)
			*(place.sends ? &p->last_send : &p->last_receive) = entry;
	} else if (place.comm) {
		place.comm->count++;
		if (recent)
			add_recent(&place.comm->recent, STANDING_RECENT, entry);
	}
}

/* What a ring has dropped is counted, and no more; those that are listed one by one follow it. */
static void add_dropped(const struct trace *trace, struct standing *standing)
{
	standing->whole_ns = trace_ns(trace, trace->ring->state.last_ticks);
	for (uint32_t op = 1; op < trace->operation_count; op++) {
		const enum pm_kind kind = trace->functions[trace->operations[op].function].kind;
		struct pm_statistics dropped;
		struct place place;

		if (!trace->operations[op].function || (kind != PM_KIND_COMM && kind != PM_KIND_SETUP))
			continue;
		tally_dropped(trace, op, false, &dropped);
		if (!dropped.count)
			continue;
		if (kind == PM_KIND_SETUP) {
			standing->joins += standing_joins(trace, op) ? dropped.count : 0;
			continue;
		}
		place = place_of(trace, standing, op);
		if (place.peer)
			*(place.sends ? &place.peer->sends : &place.peer->receives) += dropped.count;
		else if (place.comm)
			place.comm->count += dropped.count;
	}
}

static bool is_work(enum pm_kind kind)
{
	switch (kind) {
	case PM_KIND_COPY:
	case PM_KIND_SET:
	case PM_KIND_FORWARD:
	case PM_KIND_BACKWARD:
	case PM_KIND_COMPUTE:
	case PM_KIND_LAUNCH:
	case PM_KIND_COMM:
		return true;
	default:
		return false;
	}
}

static void add_call(struct standing *standing, const struct trace *trace, struct standing_thread *thread,
	uint32_t op, int64_t begin_ns)
{
	const struct trace_function *function = &trace->functions[trace->operations[op].function];
	const enum pm_kind kind = function->kind;

	thread->op = op;
	thread->begin_ns = begin_ns;
	if (!thread->works && (is_work(kind) || trace_waits(kind, function->facts.role)))
		thread->works = true;
	if (kind == PM_KIND_COMM)
		count_communication(trace, standing, op, begin_ns);
	else if (kind == PM_KIND_SETUP && standing_joins(trace, op))
		standing->joins++;
}

/* The calls of a chunk, and the one that its thread is in. */
static void add_chunk(struct standing *standing, const struct trace *trace, const struct trace_chunk *chunk)
{
	struct standing_thread *thread = thread_of(standing, chunk);
	const uint32_t op = chunk->entered.op;
	const int64_t chunk_ns = trace_ns(trace, chunk->base[0]);
	struct trace_cursor cursor;
	struct trace_record record;
	enum trace_step step;
	int64_t begin_ns;
	size_t near = 0;

	trace_walk(&cursor, trace, chunk);
	while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &record)) != TRACE_END) {
		if (step == TRACE_REFUSED || trace_is_counted(&cursor, chunk))
			continue;
		thread->inside = false;
		add_call(standing, trace, thread, record.op, trace_ns_near(trace, record.begin, &near));
		thread->end_ns = trace_ns_near(trace, record.end, &near);
	}
	if (!chunk->entered.flags)
		return;
	begin_ns = trace_ns(trace, chunk->entered.begin);
	/* Read while the call returned: its start is that of its record already, counted from the base. */
	if (begin_ns < thread->end_ns || chunk->entered.begin < chunk->base[0])
		begin_ns = thread->end_ns > chunk_ns ? thread->end_ns : chunk_ns;
	thread->inside = true;
	if (op < trace->operation_count && trace->operations[op].function) {
		add_call(standing, trace, thread, op, begin_ns);
	} else {
		thread->op = 0;
		thread->begin_ns = begin_ns;
	}
}

static void find_pauses(struct standing_comm *comm)
{
	const struct standing_entry *entries = comm->recent.entries;

	for (size_t i = 1; i < comm->recent.count; i++) {
		const int64_t pause_ns = entries[i].begin_ns - entries[i - 1].begin_ns;

		if (pause_ns > comm->longest_ns)
			comm->longest_ns = pause_ns;
	}
}

void standing_find(const struct trace *trace, struct standing *standing)
{
	memset(standing, 0, sizeof(*standing));
	standing->last_ns = trace_ns(trace, trace->header.ticks);
	if (trace->ring && trace->ring->state.first_ticks)
		add_dropped(trace, standing);
	for (size_t c = 0; c < trace->chunk_count; c++) {
		add_chunk(standing, trace, &trace->chunks[c]);
		trace_release(trace, &trace->chunks[c]); /* there may be ten thousand traces */
	}
	trim(&standing->recent, STANDING_HISTORY);
	for (size_t i = 0; i < standing->comm_count; i++) {
		trim(&standing->comms[i].recent, STANDING_RECENT);
		find_pauses(&standing->comms[i]);
	}
	for (size_t i = 0; i < standing->thread_count; i++) {
		const struct standing_thread *t = &standing->threads[i];
		const int64_t last_ns = t->begin_ns > t->end_ns ? t->begin_ns : t->end_ns;

		if (t->works && last_ns > standing->last_ns)
			standing->last_ns = last_ns;
	}
}

const struct standing_thread *standing_principal(const struct standing *standing)
{
	const struct standing_thread *best = NULL;

	for (size_t i = 0; i < standing->thread_count; i++) {
		const struct standing_thread *t = &standing->threads[i];

		if (!t->inside && !t->op) /* device times alone */
			continue;
		if (!best || t->works > best->works ||
			(t->works == best->works &&
				(t->inside > best->inside ||
					(t->inside == best->inside && t->begin_ns > best->begin_ns))))
			best = t;
	}
	return best;
}

void standing_free(struct standing *standing)
{
	for (size_t i = 0; i < standing->comm_count; i++)
		free(standing->comms[i].recent.entries);
	free(standing->recent.entries);
	free(standing->threads);
	free(standing->comms);
	free(standing->peers);
	memset(standing, 0, sizeof(*standing));
}

/* ---- work without device times ---- */

#define WORK_KEPT 4096 /* the last calls that gave a device work */

struct given {
	int64_t begin_ns, end_ns;
	uint32_t op, correlation;
	uint32_t device_count; /* of its device times */
	uint16_t queue;
};

static int by_call(const void *left, const void *right)
{
	const struct given *a = left, *b = right;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int by_correlation(const void *left, const void *right)
{
	const struct given *a = left, *b = right;

	return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

/* A call whose device times are awaited: a graph's launch too, which stands for the work of its nodes. */
static bool gives_work(enum pm_kind kind)
{
	return is_work(kind) || kind == PM_KIND_GRAPH;
}

static void keep_last(struct given *works, size_t *count)
{
	if (*count > 1)
		qsort(works, *count, sizeof(*works), by_call);
	if (*count <= WORK_KEPT)
		return;
	memmove(works, works + *count - WORK_KEPT, WORK_KEPT * sizeof(*works));
	*count = WORK_KEPT;
}

/*
 * When the host last began to wait for all work of a queue, and the wait came to its end: what was given
 * before is done, also where its device times have not come. CUPTI keeps a buffer back in which one kernel
 * has no end, with all that is before it.
 */
struct waited {
	int64_t queue_ns[UINT16_MAX + 1];
	int64_t all_ns; /* for the device, where the process uses one */
};

static bool uses_one_device(const struct trace *trace)
{
	const int32_t *first = NULL;

	for (uint32_t q = 1; q < trace->queue_count; q++) {
		if (!trace->queues[q].known)
			continue;
		if (first && trace->queues[q].device != *first)
			return false;
		first = &trace->queues[q].device;
	}
	return true;
}

static void add_wait(
	struct waited *waited, const struct trace *trace, const struct trace_record *r, int64_t begin_ns)
{
	const enum pm_role role = function_of(trace, r->op)->facts.role;
	int64_t *last_ns = role == PM_ROLE_WAITS_FOR_STREAM && r->queue ? &waited->queue_ns[r->queue]
			   : role == PM_ROLE_WAITS_FOR_DEVICE           ? &waited->all_ns
									: NULL;

	if (last_ns && r->result == 0 && !(r->flags & PM_FLAG_LEFT) && begin_ns > *last_ns)
		*last_ns = begin_ns;
}

static bool is_waited_for(const struct waited *waited, const struct given *work, bool one_device)
{
	return work->end_ns <= waited->queue_ns[work->queue] ||
	       (one_device && work->end_ns <= waited->all_ns);
}

/* None where the program has gone on since device times are not taken any more: then no call awaits any. */
static size_t last_works(const struct trace *trace, struct given *works, struct waited *waited)
{
	const struct trace_device_window *last =
		trace->device_window_count ? &trace->device_windows[trace->device_window_count - 1] : NULL;
	const uint64_t ended_ticks = last && !last->taken ? last->ticks : UINT64_MAX;
	bool goes_on = false;
	size_t count = 0;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record r;
		enum trace_step step;
		size_t near = 0;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &r)) != TRACE_END) {
			enum pm_kind kind;
			int64_t begin_ns;

			if (step == TRACE_REFUSED)
				continue;
			kind = trace->functions[trace->operations[r.op].function].kind;
			if (!r.correlation && gives_work(kind) && r.begin > ended_ticks &&
				!(r.flags & (PM_FLAG_CAPTURED | PM_FLAG_LEFT)))
				goes_on = true;
			if (kind != PM_KIND_SYNC &&
				(!r.correlation || r.flags & (PM_FLAG_CAPTURED | PM_FLAG_LEFT) ||
					!gives_work(kind)))
				continue;
			begin_ns = trace_ns_near(trace, r.begin, &near);
			if (kind == PM_KIND_SYNC) {
				add_wait(waited, trace, &r, begin_ns);
				continue;
			}
			works[count++] = (struct given){begin_ns, trace_ns_near(trace, r.end, &near), r.op,
				r.correlation, 0, r.queue};
			if (count == 2 * WORK_KEPT)
				keep_last(works, &count);
		}
	}
	keep_last(works, &count);
	return goes_on ? 0 : count;
}

static void count_device_times(const struct trace *trace, struct given *works, size_t count)
{
	qsort(works, count, sizeof(*works), by_correlation);
	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record r;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_DEVICE, &r)) != TRACE_END) {
			const struct given key = {.correlation = r.correlation};
			struct given *found;

			if (step == TRACE_REFUSED || !r.correlation)
				continue;
			found = bsearch(&key, works, count, sizeof(*works), by_correlation);
			if (found)
				found->device_count++;
		}
	}
	qsort(works, count, sizeof(*works), by_call);
}

/* A graph's launch is done when as many of its nodes have times as of another one. */
static uint32_t *find_most(const struct trace *trace, const struct given *works, size_t count)
{
	uint32_t *most = mem_alloc(trace->operation_count + 1, sizeof(*most));

	for (size_t i = 0; i < count; i++)
		if (works[i].device_count > most[works[i].op] &&
			trace->functions[trace->operations[works[i].op].function].kind == PM_KIND_GRAPH)
			most[works[i].op] = works[i].device_count;
	return most;
}

void standing_unfinished(const struct trace *trace, struct standing_work *work)
{
	bool done[UINT16_MAX + 1] = {false}; /* a later work of the queue is done */
	const bool one_device = uses_one_device(trace);
	struct waited *waited;
	struct given *works;
	uint32_t *most;
	size_t count;

	*work = (struct standing_work){0};
	if (trace->header.device_source != PM_DEVICE_CUPTI)
		return;
	works = mem_alloc(2 * WORK_KEPT, sizeof(*works));
	waited = mem_alloc(1, sizeof(*waited));
	count = last_works(trace, works, waited);
	if (count)
		count_device_times(trace, works, count);
	most = find_most(trace, works, count);
	while (count-- > 0) {
		const struct given *g = &works[count];

		if ((g->device_count && g->device_count >= most[g->op]) ||
			is_waited_for(waited, g, one_device))
			done[g->queue] = true;
		else if (!done[g->queue])
			*work = (struct standing_work){g->op, g->begin_ns};
	}
	free(most);
	free(waited);
	free(works);
}
