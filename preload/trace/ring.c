/*
 * The ring: its chunks, and the statistics of what was dropped.
 *
 * All chunks have one size. They are made and mapped several at once, as long as the ring grows, and stay
 * mapped; so once it is full no system call is made for them. Each thread has one; those that are complete
 * wait in a queue, in the order of the times that they tell of, but for the first quarter, which stays:
 * device intervals that come late, in a batch, do not take the place of younger calls. Where a chunk is
 * wanted and there is no new one, the first of the queue is dropped: its records are counted one by one.
 * Where the disk has no room for all of them, the ring is as large as it has become by then.
 *
 * The order of the stores is what a reader relies on, while the program runs and after it was killed
 * (pm_format.h). Except for the records themselves and the statistics nothing is read back from the file:
 * what is needed again is in `places`.
 */
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "guest/clock.h"
#include "guest/map.h"
#include "guest/settings_hook.h"
#include "intern.h"
#include "write.h"

#define CHUNK_BYTES (64u << 10)
#define CHUNK_SLOTS ((CHUNK_BYTES - sizeof(struct pm_chunk)) / sizeof(struct pm_record))
#define PART_CHUNKS 16u /* made at once */
#define MB (1u << 20)
#define MOST_MB 1024u
#define MOST_CHUNKS (MOST_MB * (MB / CHUNK_BYTES))
#define KEPT_PART 4 /* of all: the first one */

#define SKETCH_COUNT (1u << 16)
#define SKETCH_TRIES 32u
#define OPERATIONS 512u /* of a chunk of statistics */
#define STATISTICS_BYTES (sizeof(struct pm_chunk) + OPERATIONS * 2 * sizeof(struct pm_statistics))
#define STATISTICS_CHUNKS (PMH_SLOTS / OPERATIONS + 1)

struct place {
	struct pm_chunk *chunk;
	struct pmh_map_slot *slot;    /* of the mapping in which it lies */
	uint64_t offset;              /* in the file */
	uint64_t ticks, monotonic_ns; /* when it was opened */
	uint64_t from_ticks,
		complete_ticks; /* what it tells of, when it was given back; 0: it has not been, since then */
};

static struct pmh_map ring_map, parts[MOST_CHUNKS / PART_CHUNKS], statistics[STATISTICS_CHUNKS];
static struct pm_ring *ring; /* NULL: the trace is none */
static struct place places[MOST_CHUNKS];
static uint32_t queue[MOST_CHUNKS]; /* of complete chunks: from queue_first on, so many */
static uint32_t queue_first, queue_count;
static uint32_t chunk_limit, chunks_made, chunks_used; /* used: at least once */
static bool no_room; /* for statistics, by the chunk that is dropped now: each try costs system calls */

bool pmh_ring_is_on(void)
{
	return ring != NULL;
}

bool pmh_ring_begin(void)
{
	const size_t byte_count =
		sizeof(struct pm_chunk) + sizeof *ring + SKETCH_COUNT * sizeof(struct pm_sketch);
	unsigned long mb = strtoul(pmh_settings.ring_mb, NULL, 10);

	if (strcmp(pmh_settings.mode, "ring") != 0)
		return true;
	if (!pmh_chunk_open(&ring_map, PM_CHUNK_RING, byte_count, NULL, NULL))
		return false;
	mb = mb < 1 ? 1 : mb > MOST_MB ? MOST_MB : mb;
	chunk_limit = (uint32_t)(mb << 20) / CHUNK_BYTES;
	ring = (struct pm_ring *)((struct pm_chunk *)ring_map.start + 1);
	ring->record_bytes = mb << 20;
	ring->kept_bytes = ring->record_bytes / KEPT_PART;
	ring->statistics_operations = OPERATIONS;
	ring->sketch_count = SKETCH_COUNT;
	return true;
}

void pmh_ring_note(void)
{
	const unsigned long asked = strtoul(pmh_settings.ring_mb, NULL, 10),
			    mb = chunk_limit / (MB / CHUNK_BYTES);
	char text[128];

	if (!ring || asked == mb)
		return;
	snprintf(text, sizeof text, "warning: PMHOOK_RING_MB: expected 1 to %u, found %lu; %lu is used",
		MOST_MB, asked, mb);
	pmh_note(text);
}

/* ---- what is dropped ---- */

/* The statistics of an operation, calls and device intervals; NULL: there is no room. */
static struct pm_statistics *statistics_of(uint32_t op)
{
	const uint32_t number = op / OPERATIONS;
	struct pmh_map *map = &statistics[number];

	if (number >= STATISTICS_CHUNKS)
		return NULL;
	if (!map->start) {
		struct pm_chunk chunk = {
			.chunk_bytes = STATISTICS_BYTES, .kind = PM_CHUNK_STATISTICS, .sequence = number};

		no_room = no_room || !pmh_file_extend(map, STATISTICS_BYTES);
		if (no_room)
			return NULL;
		pmh_chunk_write(map->start, &chunk);
	}
	return (struct pm_statistics *)((struct pm_chunk *)map->start + 1) + (size_t)op % OPERATIONS * 2;
}

static bool sketch(uint64_t key)
{
	struct pm_sketch *slots = (struct pm_sketch *)(ring + 1);
	uint32_t at = (uint32_t)(pmh_mix(key, 0x9417034723148989u) % SKETCH_COUNT);

	for (unsigned tries = 0; tries < SKETCH_TRIES; tries++, at = (at + 1) % SKETCH_COUNT) {
		if (!slots[at].key)
			slots[at].key = key;
		if (slots[at].key != key)
			continue;
		slots[at].count++;
		return true;
	}
	return false;
}

static void count(const struct pm_record *record, uint64_t duration)
{
	const bool is_device = record->kind == PM_RECORD_DEVICE;
	struct pm_statistics *of = statistics_of(record->op);

	if (is_device)
		ring->dropped_devices++;
	else
		ring->dropped_calls++;
	if (!of) {
		ring->uncounted++;
		return;
	}
	of += is_device;
	of->count++;
	if (record->flags & PM_FLAG_LEFT) {
		of->untimed++;
		return;
	}
	if (of->count - of->untimed == 1 || duration < of->minimum)
		of->minimum = duration;
	if (duration > of->maximum)
		of->maximum = duration;
	of->sum += duration;
	of->square_sum += (double)duration * (double)duration;
	if (!sketch((uint64_t)record->op << 16 | (uint64_t)is_device << 15 | PM_SKETCH_BUCKET(duration)))
		of->unsketched++;
}

static void widen(uint64_t from, uint64_t to)
{
	if (!ring->first_ticks || from < ring->first_ticks)
		ring->first_ticks = from;
	if (to > ring->last_ticks)
		ring->last_ticks = to;
}

static void widen_devices(uint64_t from_ns)
{
	if (!ring->first_device_ns || from_ns < ring->first_device_ns)
		ring->first_device_ns = from_ns;
}

/* Reads the slots of a chunk. */
struct reader {
	const struct pm_record *records;
	uint64_t slots;    /* read so far */
	uint64_t bases[2]; /* of ticks, and of CLOCK_MONOTONIC */
	uint64_t duration_high;
};

static struct reader read_chunk(const struct place *place)
{
	return (struct reader){(const struct pm_record *)(const void *)(place->chunk + 1), 0,
		{place->ticks, place->monotonic_ns}, 0};
}

/* The next slot that is no base, and no part of the next one's duration. False: there is none. */
static bool next_record(struct reader *reader, struct pm_record *record, uint64_t *duration)
{
	while (reader->slots < CHUNK_SLOTS && reader->records[reader->slots].kind) {
		*record = reader->records[reader->slots++];
		if (record->kind == PM_RECORD_MORE) {
			struct pm_more more;

			memcpy(&more, record, sizeof more);
			reader->duration_high = (uint64_t)more.duration_high << 32;
		} else if (record->kind == PM_RECORD_BASE) {
			struct pm_base base;

			memcpy(&base, record, sizeof base);
			reader->bases[base.clock == 1] = base.base;
		} else {
			*duration = reader->duration_high | record->duration;
			if (record->kind == PM_RECORD_CALL || record->kind == PM_RECORD_DEVICE)
				reader->duration_high = 0;
			return true;
		}
	}
	return false;
}

/* The records of a chunk go into the statistics; after each the file says how far that is. */
static void count_records(const struct place *place)
{
	struct reader reader = read_chunk(place);
	struct pm_record record;
	uint64_t duration;

	while (next_record(&reader, &record, &duration)) {
		if (record.kind == PM_RECORD_CALL)
			widen(reader.bases[0] + record.begin, 0);
		else if (record.kind == PM_RECORD_DEVICE)
			widen_devices(reader.bases[1] + record.begin);
		if (record.kind == PM_RECORD_CALL || record.kind == PM_RECORD_DEVICE)
			count(&record, duration);
		__atomic_store_n(&ring->dropped_slots, reader.slots, __ATOMIC_RELEASE);
	}
}

static void drop(const struct place *place)
{
	__atomic_store_n(&ring->dropped_slots, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->dropping, place->offset, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->changes, ring->changes + 1, __ATOMIC_SEQ_CST);
	widen(place->from_ticks, place->complete_ticks);
	no_room = false;
	count_records(place);
	ring->dropped_chunks++;
	__atomic_store_n(&place->chunk->kind, PM_CHUNK_FREE, __ATOMIC_SEQ_CST);
	__atomic_store_n(&ring->dropping, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->changes, ring->changes + 1, __ATOMIC_SEQ_CST);
	memset(place->chunk + 1, 0, CHUNK_BYTES - sizeof *place->chunk);
}

/* ---- chunks ---- */

/* Some chunks more. False: no room, or they are as many as there are to be. */
static bool make_more(void)
{
	const uint64_t offset = pmh_file.byte_count;
	struct pmh_map *part = &parts[chunks_made / PART_CHUNKS];

	if (chunks_made == chunk_limit || !pmh_file_extend(part, (size_t)PART_CHUNKS * CHUNK_BYTES))
		return false;
	for (unsigned i = 0; i < PART_CHUNKS; i++) {
		struct place *place = &places[chunks_made + i];
		struct pm_chunk free_chunk = {.chunk_bytes = CHUNK_BYTES, .kind = PM_CHUNK_FREE};

		*place = (struct place){
			.chunk = (struct pm_chunk *)(void *)((char *)part->start + (size_t)i * CHUNK_BYTES),
			.slot = atomic_load(&part->slot),
			.offset = offset + (uint64_t)i * CHUNK_BYTES};
		pmh_chunk_write(place->chunk, &free_chunk);
	}
	chunks_made += PART_CHUNKS;
	return true;
}

/* There is no room for more chunks: those that there are become the ring. Of the beginning a quarter of them
 * stays; what is complete after it comes before all else in the queue. */
static void settle(void)
{
	uint32_t number = chunk_limit / KEPT_PART < chunks_used ? chunk_limit / KEPT_PART : chunks_used;

	chunk_limit = chunks_made;
	ring->record_bytes = (uint64_t)chunk_limit * CHUNK_BYTES;
	ring->kept_bytes = ring->record_bytes / KEPT_PART;
	for (; number > chunk_limit / KEPT_PART; number--)
		if (places[number - 1].complete_ticks) {
			queue_first = (queue_first + MOST_CHUNKS - 1) % MOST_CHUNKS;
			queue[queue_first] = number;
			queue_count++;
		}
}

/* The number of a chunk that holds nothing, from 1; 0: there is none. */
static uint32_t free_chunk(void)
{
	uint32_t number;

	if (chunks_used < chunks_made || make_more())
		return ++chunks_used;
	if (chunks_made && chunks_made < chunk_limit)
		settle();
	if (!queue_count) {
		if (chunks_made == chunk_limit)
			pmh_file.why_not = PM_LOSS_RING;
		return 0;
	}
	number = queue[queue_first];
	queue_first = (queue_first + 1) % MOST_CHUNKS;
	queue_count--;
	drop(&places[number - 1]);
	return number;
}

bool pmh_ring_take(struct pmh_thread *self, struct pm_chunk *head)
{
	struct pm_chunk chunk = pmh_chunk_head(PM_CHUNK_FREE, CHUNK_BYTES, self);
	uint32_t number;
	struct place *place;

	chunk.magic = PM_CHUNK_MAGIC;
	pmh_file.why_not = pmh_file.is_closed ? PM_LOSS_AFTER_END : PM_LOSS_NO_ROOM;
	if (pmh_file.is_closed || pmh_file.is_damaged || (number = free_chunk()) == 0)
		return false;
	place = &places[number - 1];
	pmh_chunk_time(&chunk);
	memcpy(place->chunk, &chunk, sizeof chunk);
	__atomic_store_n(&place->chunk->kind, PM_CHUNK_RECORDS, __ATOMIC_RELEASE);
	place->ticks = chunk.ticks;
	place->complete_ticks = 0;
	place->monotonic_ns = chunk.monotonic_ns;
	self->chunk.start = place->chunk;
	self->chunk.byte_count = CHUNK_BYTES;
	atomic_store_explicit(&self->chunk.slot, place->slot, memory_order_release);
	self->ring_chunk = number;
	*head = chunk;
	return true;
}

/* Between which times of CLOCK_MONOTONIC its device intervals lie. False: it has other records as well, or
 * none. */
static bool tells_of_devices(const struct place *place, uint64_t *first_ns, uint64_t *last_ns)
{
	struct reader reader = read_chunk(place);
	struct pm_record record;
	uint64_t duration_ns;

	*first_ns = UINT64_MAX;
	*last_ns = 0;
	while (next_record(&reader, &record, &duration_ns)) {
		const uint64_t begin_ns = reader.bases[1] + record.begin, end_ns = begin_ns + duration_ns;

		if (record.kind != PM_RECORD_DEVICE)
			return false;
		*first_ns = begin_ns < *first_ns ? begin_ns : *first_ns;
		*last_ns = end_ns > *last_ns ? end_ns : *last_ns;
	}
	return *last_ns > 0;
}

/* The ticks at a time that has passed, by the rate since the ring began. */
static uint64_t ticks_at(uint64_t ns, uint64_t now_ticks, uint64_t now_ns)
{
	const double ticks = (double)(now_ticks - places[0].ticks),
		     of_ns = (double)(now_ns - places[0].monotonic_ns);
	const double before = ns < now_ns && of_ns > 0 ? (double)(now_ns - ns) * ticks / of_ns : 0;

	return before < (double)now_ticks ? now_ticks - (uint64_t)before : 1;
}

static void note_times(struct place *place)
{
	uint64_t first_ns, last_ns, now_ticks, now_ns;

	place->from_ticks = place->ticks;
	place->complete_ticks = pmh_ticks();
	if (!tells_of_devices(place, &first_ns, &last_ns))
		return;
	pmh_clock_pair(&now_ticks, &now_ns);
	place->from_ticks = ticks_at(first_ns, now_ticks, now_ns);
	place->complete_ticks = ticks_at(last_ns, now_ticks, now_ns);
}

/* After those that tell of earlier times; nearly always as the last. */
static void enqueue(uint32_t number)
{
	uint32_t at = queue_count++;

	for (; at > 0; at--) {
		const uint32_t before = queue[(queue_first + at - 1) % MOST_CHUNKS];

		if (places[before - 1].complete_ticks <= places[number - 1].complete_ticks)
			break;
		queue[(queue_first + at) % MOST_CHUNKS] = before;
	}
	queue[(queue_first + at) % MOST_CHUNKS] = number;
}

void pmh_ring_give(struct pmh_thread *self)
{
	const uint32_t number = self->ring_chunk;

	self->chunk.start = NULL;
	self->chunk.byte_count = 0;
	atomic_store_explicit(&self->chunk.slot, NULL, memory_order_release);
	self->ring_chunk = 0;
	note_times(&places[number - 1]);
	if (number > chunk_limit / KEPT_PART)
		enqueue(number);
}

void pmh_ring_forget(void)
{
	if (!ring)
		return;
	ring = NULL;
	pmh_unmap(&ring_map);
	for (uint32_t i = 0; i < chunks_made / PART_CHUNKS; i++)
		pmh_unmap(&parts[i]);
	for (uint32_t i = 0; i < STATISTICS_CHUNKS; i++)
		pmh_unmap(&statistics[i]);
	queue_first = queue_count = chunk_limit = chunks_made = chunks_used = 0;
}
