/*
 * Reading a ring: a copy of one moment, its statistics, and its chunks in order of time.
 *
 * The program goes on writing. It says by `changes` when it drops a chunk; where that is the same before and
 * after a copy, nothing was dropped meanwhile. Else what has changed is copied again, which is much less than
 * all: the copy catches up with a program unless that fills chunks faster than memory is copied.
 */
#include "trace_ring.h"
#include "trace_dictionary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 200

struct copying {
	const unsigned char *live;
	unsigned char *copy;
	size_t size_bytes;
	uint64_t header_bytes, chunk_header_bytes, record_bytes;
	const struct pm_ring *ring; /* live */
};

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* What tells that something was dropped. */
struct state {
	uint64_t changes, dropping, slots;
};

static struct state state_of(const struct pm_ring *ring)
{
	return (struct state){load(&ring->changes), load(&ring->dropping), load(&ring->dropped_slots)};
}

/* The chunk's header as it was when it held what it holds. False: there is none. */
static bool chunk_at(const struct copying *c, uint64_t offset, struct pm_chunk *chunk)
{
	const struct pm_chunk *live = (const struct pm_chunk *)(const void *)(c->live + offset);
	uint16_t kind;

	if (c->size_bytes - offset < c->chunk_header_bytes ||
		__atomic_load_n(&live->magic, __ATOMIC_ACQUIRE) != PM_CHUNK_MAGIC)
		return false;
	kind = __atomic_load_n(&live->kind, __ATOMIC_ACQUIRE);
	memcpy(chunk, live, sizeof(*chunk));
	chunk->kind = kind;
	return chunk->chunk_bytes >= c->chunk_header_bytes && chunk->chunk_bytes % 8 == 0 &&
	       chunk->chunk_bytes <= c->size_bytes - offset;
}

static const unsigned char *kind_of(const struct copying *c, const unsigned char *payload, uint64_t slot)
{
	return payload + slot * c->record_bytes + offsetof(struct pm_record, kind);
}

/* Records up to the first empty slot, which is copied too, for the call that is entered. */
static void copy_records(const struct copying *c, uint64_t payload, uint64_t payload_bytes)
{
	const uint64_t most = payload_bytes / c->record_bytes;
	uint64_t count = 0, bytes;

	/* what is there already, and whole */
	if (most > 0 && *kind_of(c, c->copy + payload, most - 1) != 0)
		return;
	while (count < most && __atomic_load_n(kind_of(c, c->live + payload, count), __ATOMIC_ACQUIRE) != 0)
		count++;
	bytes = (count < most ? count + 1 : count) * c->record_bytes;
	memcpy(c->copy + payload, c->live + payload, bytes);
	/* it may have become a record since it was counted */
	if (count < most)
		c->copy[payload + count * c->record_bytes + offsetof(struct pm_record, kind)] = 0;
	memset(c->copy + payload + bytes, 0, payload_bytes - bytes);
}

static void copy_chunk(const struct copying *c, uint64_t offset, const struct pm_chunk *chunk)
{
	const uint64_t payload = offset + c->chunk_header_bytes;
	const uint64_t payload_bytes = chunk->chunk_bytes - c->chunk_header_bytes;
	const bool same = memcmp(c->copy + offset, chunk, sizeof(*chunk)) == 0;

	switch (chunk->kind) {
	case PM_CHUNK_FREE:
		break;
	case PM_CHUNK_RECORDS:
		if (!same)
			memset(c->copy + payload, 0, payload_bytes);
		copy_records(c, payload, payload_bytes);
		break;
	default:
		memcpy(c->copy + payload, c->live + payload, payload_bytes);
	}
	memcpy(c->copy + offset, chunk, sizeof(*chunk));
}

static void copy_chunks(const struct copying *c)
{
	struct pm_chunk chunk;

	memcpy(c->copy, c->live, c->header_bytes);
	for (uint64_t at = c->header_bytes; at < c->size_bytes && chunk_at(c, at, &chunk);
		at += chunk.chunk_bytes)
		copy_chunk(c, at, &chunk);
}

/* Of the copy, chunks whose place is used for others by now are none. */
static void leave_changed(const struct copying *c)
{
	struct pm_chunk chunk;

	for (uint64_t at = c->header_bytes; at < c->size_bytes && chunk_at(c, at, &chunk);
		at += chunk.chunk_bytes) {
		struct pm_chunk copied;

		memcpy(&copied, c->copy + at, sizeof(copied));
		if (copied.kind != PM_CHUNK_RECORDS || memcmp(&copied, &chunk, sizeof(chunk)) == 0)
			continue;
		copied.kind = PM_CHUNK_FREE;
		memcpy(c->copy + at, &copied, sizeof(copied));
	}
}

unsigned char *trace_ring_copy(const unsigned char *live, size_t size_bytes, bool *moving)
{
	struct copying c = {.live = live, .size_bytes = size_bytes};
	struct pm_header header;
	struct pm_chunk chunk;
	struct state before, after;

	*moving = false;
	if (size_bytes < sizeof(header))
		return NULL;
	memcpy(&header, live, sizeof(header));
	c.header_bytes = header.header_bytes;
	c.chunk_header_bytes = header.chunk_header_bytes;
	c.record_bytes = header.record_bytes;
	if (memcmp(header.magic, PM_MAGIC, sizeof(header.magic)) != 0 || header.version != PM_VERSION ||
		header.byte_order != PM_BYTE_ORDER || c.header_bytes % 8 || c.header_bytes >= size_bytes ||
		c.chunk_header_bytes < sizeof(chunk) || c.chunk_header_bytes % 8 ||
		c.record_bytes < sizeof(struct pm_record) || !chunk_at(&c, c.header_bytes, &chunk) ||
		chunk.kind != PM_CHUNK_RING || chunk.chunk_bytes < c.chunk_header_bytes + sizeof(*c.ring))
		return NULL;
	c.ring = (const struct pm_ring *)(const void *)(live + c.header_bytes + c.chunk_header_bytes);
	c.copy = mem_alloc(size_bytes, 1);
	for (int tries = 0; tries < TRIES; tries++) {
		before = state_of(c.ring);
		copy_chunks(&c);
		after = state_of(c.ring);
		if (memcmp(&before, &after, sizeof(before)) == 0)
			return c.copy;
	}
	leave_changed(&c);
	*moving = true;
	return c.copy;
}

/* ---- parsing ---- */

void trace_ring_parse(struct trace *trace, uint64_t offset, uint64_t payload, uint64_t payload_bytes)
{
	struct trace_ring *ring;

	if (trace->ring)
		return;
	if (payload_bytes < sizeof(ring->state)) {
		trace_trouble(trace, offset, "a ring of %" PRIu64 " bytes, expected %zu or more",
			payload_bytes, sizeof(ring->state));
		return;
	}
	ring = arena_alloc(&trace->arena, 1, sizeof(*ring));
	memcpy(&ring->state, trace->data + payload, sizeof(ring->state));
	ring->sketch = trace->data + payload + sizeof(ring->state);
	if (ring->state.sketch_count > (payload_bytes - sizeof(ring->state)) / sizeof(struct pm_sketch)) {
		trace_trouble(trace, offset, "a sketch of %u counts in %" PRIu64 " bytes",
			ring->state.sketch_count, payload_bytes);
		ring->state.sketch_count = 0;
		ring->unsketched = true;
	}
	trace->ring = ring;
}

void trace_ring_statistics(
	struct trace *trace, const struct pm_chunk *chunk, uint64_t payload, uint64_t payload_bytes)
{
	struct trace_ring *ring = trace->ring;
	const uint64_t least =
		ring ? (uint64_t)ring->state.statistics_operations * 2 * sizeof(struct pm_statistics) : 0;

	if (!ring || least == 0 || payload_bytes < least) {
		trace_trouble(trace, payload, "statistics of %" PRIu64 " bytes, expected %" PRIu64 " or more",
			payload_bytes, least);
		return;
	}
	*MEM_PUSH(ring->statistics, ring->statistics_count, ring->statistics_room) =
		(struct trace_statistics_chunk){
			trace->data + payload, chunk->sequence * ring->state.statistics_operations};
}

/* ---- the calls of the first part whose device intervals are there ---- */

static int by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* What is known of the intervals that are there. */
struct early {
	uint32_t *items; /* correlations of those that begin before the first one that is dropped */
	size_t count, room;
	struct early_queue {
		bool timed;    /* there is any interval */
		uint64_t last; /* begin of the last call with one of those; 0: none */
	} queues[UINT16_MAX + 1];
};

static void early_intervals(const struct trace *trace, struct early *early)
{
	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record r;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_DEVICE, &r)) != TRACE_END)
			if (step == TRACE_RECORD && r.correlation) {
				early->queues[r.queue].timed = true;
				if (r.begin < trace->ring->state.first_device_ns)
					*MEM_PUSH(early->items, early->count, early->room) = r.correlation;
			}
	}
	if (early->count > 1)
		qsort(early->items, early->count, sizeof(*early->items), by_number);
}

/* Calls f for each call of the first part that has device intervals, or should; has: it has one of those. */
static void each_early(const struct trace *trace, struct early *early,
	void (*f)(struct trace_ring *ring, const struct trace_record *call, struct early_queue *queue,
		bool has))
{
	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record r;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &r)) != TRACE_END)
			if (step == TRACE_RECORD && r.correlation && r.begin < trace->ring->state.first_ticks)
				f(trace->ring, &r, &early->queues[r.queue],
					early->count && bsearch(&r.correlation, early->items, early->count,
								sizeof(*early->items), by_number));
	}
}

static void note_last(
	struct trace_ring *ring, const struct trace_record *call, struct early_queue *queue, bool has)
{
	(void)ring;
	if (has && call->begin > queue->last)
		queue->last = call->begin;
}

/* A queue that never has an interval has no device times, and none is missing. */
static void cut_behind(
	struct trace_ring *ring, const struct trace_record *call, struct early_queue *queue, bool has)
{
	if (!has && queue->timed && call->begin > queue->last && call->begin < ring->whole_ticks)
		ring->whole_ticks = call->begin;
}

/*
 * Work of a queue is done in order. So up to the last call of a queue whose interval is known to be before
 * all that are dropped, none is missing; from the next one on they may be.
 */
static void find_whole(struct trace *trace)
{
	struct early *early = mem_alloc(1, sizeof(*early));

	early_intervals(trace, early);
	each_early(trace, early, note_last);
	each_early(trace, early, cut_behind);
	free(early->items);
	free(early);
}

static int by_time(const void *left, const void *right)
{
	const struct trace_chunk *a = left, *b = right;

	if (a->base[0] != b->base[0])
		return a->base[0] < b->base[0] ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

void trace_ring_settle(struct trace *trace)
{
	struct trace_ring *ring = trace->ring;

	if (!ring)
		return;
	for (size_t i = 0; i < trace->chunk_count; i++)
		if (trace->chunks[i].offset - trace->header.chunk_header_bytes == ring->state.dropping)
			trace->chunks[i].counted_slots =
				ring->state.dropped_slots < trace->chunks[i].slot_count
					? ring->state.dropped_slots
					: trace->chunks[i].slot_count;
	if (trace->chunk_count > 1)
		qsort(trace->chunks, trace->chunk_count, sizeof(*trace->chunks), by_time);
	ring->whole_ticks = ring->state.first_ticks;
	if (ring->state.first_device_ns)
		find_whole(trace);
}

bool trace_in_gap(const struct trace *trace, const struct trace_record *call)
{
	const struct trace_ring *ring = trace->ring;

	return ring && ring->state.first_ticks && call->begin >= ring->whole_ticks &&
	       call->begin < ring->state.last_ticks;
}
