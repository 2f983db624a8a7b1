/*
 * A thread's records: its chunk, which it alone fills, and the next one where that is full (the rare part of
 * write.h).
 */
#include "write.h"

#include <errno.h>
#include <string.h>

#include "file.h"
#include "guest/guest.h"
#include "guest/map.h"
#include "live.h"
#include "ring.h"
#include "sample.h"

#define FIRST_CHUNK_BYTES (4u << 10) /* small: a program may have thousands of short-lived threads */
#define LAST_CHUNK_BYTES (1u << 20)
#define RESTS 16             /* threads that end one after another, or so many together */
#define LEAST_REST_SLOTS 16u /* of a smaller rest nothing is made */
#define TRY_AGAIN 1024u      /* after so many losses: each try costs system calls */
#define BACK_NS 1000000000u  /* a new base of device time lies so far before the interval */

/*
 * What threads that have ended left of their chunks: the first chunks of others begin there, since a program
 * may have thousands of threads that make a few calls each. Under the file's lock.
 */
static struct rest {
	struct pmh_map map;     /* start NULL: none */
	struct pm_chunk *head;  /* of the chunk that it is the rest of */
	struct pm_record *from; /* to the end of the map; all empty */
} rests[RESTS];

static struct pm_record *end_of(const struct pmh_map *map)
{
	return (struct pm_record *)(void *)((char *)map->start + map->byte_count);
}

/* Keeps the rest of the thread's chunk; false: it is small, or there are enough. */
static bool keep_rest(struct pmh_thread *self)
{
	/* an empty slot ends the records also for those who read the chunk as it was */
	struct pm_record *const from = self->next + 1;

	if (!self->next || self->ring_chunk || pmh_file.is_closed || pmh_map_is_lost(&self->chunk) ||
		self->end - from < (ptrdiff_t)(sizeof(struct pm_chunk) / sizeof *from + LEAST_REST_SLOTS))
		return false;
	for (struct rest *rest = rests; rest < rests + RESTS; rest++)
		if (!rest->map.start) {
			pmh_not_entered(self);
			pmh_map_move(&rest->map, &self->chunk);
			rest->head = self->chunk_head;
			rest->from = from;
			self->polled = NULL;
			self->next = self->end = NULL;
			return true;
		}
	return false;
}

/* Makes the thread's first chunk of a rest; false: none has so many slots. */
static bool take_rest(struct pmh_thread *self, size_t slots, struct pm_chunk *head)
{
	if (pmh_file.is_closed)
		return false;
	for (struct rest *rest = rests; rest < rests + RESTS; rest++) {
		if (rest->map.start && (pmh_file.is_damaged || pmh_map_is_lost(&rest->map)))
			pmh_unmap(&rest->map);
		if (!rest->map.start ||
			(size_t)(end_of(&rest->map) - rest->from) < sizeof *head / sizeof *rest->from + slots)
			continue;
		*head = pmh_chunk_head(
			PM_CHUNK_RECORDS, (size_t)((char *)end_of(&rest->map) - (char *)rest->from), self);
		pmh_chunk_write(rest->from, head);
		/* from here on the new chunk is in the file */
		__atomic_store_n(&rest->head->chunk_bytes,
			(uint32_t)((char *)rest->from - (char *)rest->head), __ATOMIC_RELEASE);
		pmh_map_move(&self->chunk, &rest->map);
		self->chunk_head = (struct pm_chunk *)(void *)rest->from;
		return true;
	}
	return false;
}

void pmh_rests_forget(void)
{
	/* as the chunks of the parent's threads, they stay mapped */
	memset(rests, 0, sizeof rests);
}

/* Under the lock: the next chunk of another thread may get the same address. */
static void unmap_chunk(struct pmh_thread *self)
{
	pmh_not_entered(self); /* it is said in the next one */
	if (self->ring_chunk)
		pmh_ring_give(self);
	else
		pmh_unmap(&self->chunk);
	self->polled = NULL;
	self->next = self->end = NULL;
}

uint64_t pmh_trace_unwritten(const struct pmh_thread *t)
{
	return pmh_map_is_lost(&t->chunk)
		       ? atomic_load_explicit(&t->record_count, memory_order_relaxed) - t->chunk_first
		       : 0;
}

/* With room for so many slots, where it is a rest, else of so many bytes; false: pmh_file.why_not. */
static bool open_chunk(struct pmh_thread *self, size_t slots, size_t byte_count, struct pm_chunk *head)
{
	bool is_open;

	if (self->chunk_count == 0 && !pmh_ring_is_on() && take_rest(self, slots, head))
		return true;
	is_open = pmh_ring_is_on() ? pmh_ring_take(self, head)
				   : pmh_chunk_open(&self->chunk, PM_CHUNK_RECORDS, byte_count, self, head);
	self->chunk_head = self->chunk.start;
	return is_open;
}

struct wanted {
	struct pmh_thread *self;
	size_t slots;
};

/* The thread's next chunk, if there is space. */
static void next_chunk(void *data)
{
	const struct wanted *wanted = data;
	struct pmh_thread *self = wanted->self;
	size_t byte_count = FIRST_CHUNK_BYTES << 2 * (self->chunk_count < 4 ? self->chunk_count : 4);
	const uint64_t unwritten = pmh_trace_unwritten(self);
	struct pm_chunk head;
	bool is_open = false;

	while (byte_count < sizeof head + wanted->slots * sizeof *self->next)
		byte_count *= 2;
	if (byte_count > LAST_CHUNK_BYTES)
		byte_count = LAST_CHUNK_BYTES;
	pmh_acquire(&pmh_file.lock);
	pmh_sample_grown(pmh_file.byte_count);
	if (unwritten) {
		pmh_file.is_damaged = true;
		self->lost_count += unwritten;
		pmh_lose(PM_LOSS_NO_ROOM, unwritten);
		atomic_store_explicit(&self->record_count, self->chunk_first, memory_order_relaxed);
	}
	unmap_chunk(self);
	/* after a loss, try again only now and then */
	if (pmh_file.header && self->lost_count % TRY_AGAIN == 0) {
		is_open = open_chunk(self, wanted->slots, byte_count, &head);
		self->why_lost = pmh_file.why_not;
	}
	pmh_release(&pmh_file.lock);
	if (!is_open)
		return;
	self->chunk_count++;
	self->chunk_first = atomic_load_explicit(&self->record_count, memory_order_relaxed);
	self->next = (struct pm_record *)(void *)(self->chunk_head + 1);
	self->end = end_of(&self->chunk);
	self->base[0] = head.ticks;
	self->base[1] = head.monotonic_ns;
}

/* A chunk with room for a record and what may stand before it; false: no room. */
static bool room(struct pmh_thread *self, uint32_t packed_slots)
{
	struct wanted wanted = {self, 3 + packed_slots};

	if (self->next && (size_t)(self->end - self->next) >= wanted.slots)
		return true;
	/* on a full disk each call comes here: even to look whether it is time to try again would cost more
	 * than to record it */
	if (!self->next && !self->chunk.start && self->lost_count % TRY_AGAIN)
		return false;
	pmh_run_on_own_stack(next_chunk, &wanted);
	return self->next != NULL;
}

void pmh_entered_slowly(struct pmh_thread *self)
{
	const int saved_errno = errno;

	if (self->chunk.start || (self->chunk_count == 0 && self->lost_count == 0))
		room(self, 0);
	errno = saved_errno;
}

/* Fills a slot; its second word, which holds the kind, last. */
static void put(struct pmh_thread *self, const void *slot)
{
	uint64_t words[2], *there = (uint64_t *)(void *)self->next++;

	memcpy(words, slot, sizeof words);
	__atomic_store_n(there, words[0], __ATOMIC_RELAXED);
	__atomic_store_n(there + 1, words[1], __ATOMIC_RELEASE);
}

static uint32_t slots_of(const struct pmh_packed *packed)
{
	return (packed->used + PM_TOUCH_BYTES - 1) / PM_TOUCH_BYTES;
}

static void put_packed(struct pmh_thread *self, const struct pmh_packed *packed)
{
	for (uint32_t at = 0; at < packed->used; at += PM_TOUCH_BYTES) {
		const uint32_t left = packed->used - at;
		struct pm_touch slot = {.kind = PM_RECORD_TOUCH,
			.used = (uint8_t)(left < PM_TOUCH_BYTES ? left : PM_TOUCH_BYTES)};

		memcpy(&slot, packed->bytes + at, slot.used);
		put(self, &slot);
	}
}

void pmh_append_slowly(struct pmh_thread *self, const struct pmh_record *r, const struct pm_more *more)
{
	const unsigned clock = r->kind == PM_RECORD_DEVICE;
	const int saved_errno = errno;
	uint64_t duration = r->end - r->begin;
	const struct pmh_packed *packed = r->flags & PM_FLAG_TOUCHES ? self->packed : NULL;
	struct pm_more m = more ? *more : (struct pm_more){0};

	if (!room(self, packed ? slots_of(packed) : 0)) {
		self->lost_count++;
		pmh_lose(self->why_lost, 1);
		errno = saved_errno;
		return;
	}
	if ((r->begin - self->base[clock]) >> 32) {
		/* device intervals of other queues may follow that began earlier */
		self->base[clock] = r->begin - (clock && r->begin > BACK_NS ? BACK_NS : 0);
		put(self,
			&(struct pm_base){.base = self->base[clock], .clock = clock, .kind = PM_RECORD_BASE});
	}
	if (packed)
		put_packed(self, packed);
	if (more || duration >> 32) {
		m.kind = PM_RECORD_MORE;
		m.duration_high = duration >> 48 ? UINT16_MAX : (uint16_t)(duration >> 32);
		put(self, &m);
	}
	put(self, &(struct pm_record){.begin = (uint32_t)(r->begin - self->base[clock]),
			  .duration = (uint32_t)duration,
			  .op = r->op,
			  .queue = r->queue,
			  .kind = r->kind,
			  .flags = r->flags});
	if (clock)
		pmh_live_device(r->op, duration);
	/* a device interval that comes in while the thread is in a call stands where that was */
	if (clock && self->frame.call != PM_CALL_NONE)
		pmh_entered(
			self, self->frame.begin, self->frame.op, self->frame.place.queue, self->frame.flags);
	atomic_store_explicit(&self->record_count,
		atomic_load_explicit(&self->record_count, memory_order_relaxed) + 1, memory_order_relaxed);
	errno = saved_errno;
}

/* After one that found no room others wait until a record has some: each try costs system calls. */
bool pmh_append_range_slowly(struct pmh_thread *self, uint64_t ticks, struct pm_range slot)
{
	const int saved_errno = errno;

	if (!self->next && self->ranges.has_no_room)
		return false;
	self->ranges.has_no_room = !room(self, 0);
	errno = saved_errno;
	if (self->ranges.has_no_room)
		return false;
	if ((ticks - self->base[0]) >> 32) {
		self->base[0] = ticks;
		put(self, &(struct pm_base){.base = ticks, .clock = 0, .kind = PM_RECORD_BASE});
	}
	slot.ticks = (uint32_t)(ticks - self->base[0]);
	slot.kind = PM_RECORD_RANGE;
	put(self, &slot);
	return true;
}

void pmh_trace_leave(struct pmh_thread *self)
{
	pmh_acquire(&pmh_file.lock);
	if (!keep_rest(self))
		unmap_chunk(self);
	pmh_release(&pmh_file.lock);
}
