/* Whole-run statistics of operations: see tally.h. */
#include "tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tally_dropped(const struct trace *trace, uint32_t op, bool is_device, struct pm_statistics *dropped)
{
	const struct trace_ring *ring = trace->ring;

	*dropped = (struct pm_statistics){0};
	for (size_t i = 0; ring && i < ring->statistics_count; i++) {
		const struct trace_statistics_chunk *chunk = &ring->statistics[i];

		if (op < chunk->first || op - chunk->first >= ring->state.statistics_operations)
			continue;
		memcpy(dropped, chunk->data + ((op - chunk->first) * 2 + is_device) * sizeof(*dropped),
			sizeof(*dropped));
		return;
	}
}

static void add_dropped(const struct trace *trace, uint32_t op, bool is_device, struct tally_item *to)
{
	struct pm_statistics from;

	tally_dropped(trace, op, is_device, &from);
	to->count = from.count;
	to->untimed = from.untimed < from.count ? from.untimed : from.count;
	to->sum = from.sum;
	to->square_sum = from.square_sum;
	to->least = from.minimum;
	to->greatest = from.maximum;
	to->sketched = from.unsketched == 0 && !(trace->ring && trace->ring->unsketched);
}

static uint64_t key_of(uint32_t op, bool is_device, uint64_t duration)
{
	return (uint64_t)op << 16 | (uint64_t)is_device << 15 | PM_SKETCH_BUCKET(duration);
}

static void add_bucket(struct tally *run, uint64_t key, uint64_t count)
{
	*MEM_PUSH(run->buckets, run->bucket_count, run->bucket_room) = (struct tally_bucket){key, count};
}

static int by_key(const void *left, const void *right)
{
	const struct tally_bucket *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

/* Buckets of one key become one. */
static void merge(struct tally *run)
{
	size_t kept = 0;

	if (run->bucket_count > 1)
		qsort(run->buckets, run->bucket_count, sizeof(*run->buckets), by_key);
	for (size_t i = 0; i < run->bucket_count; i++)
		if (kept && run->buckets[kept - 1].key == run->buckets[i].key)
			run->buckets[kept - 1].count += run->buckets[i].count;
		else
			run->buckets[kept++] = run->buckets[i];
	run->bucket_count = kept;
}

#define MERGED_AT (1u << 20) /* buckets, so that memory does not grow with the records */

static void add_record(struct tally *run, const struct trace_record *record, size_t *merge_at)
{
	const bool is_device = record->kind == PM_RECORD_DEVICE;
	struct tally_item *of = &(is_device ? run->devices : run->calls)[record->op];
	const uint64_t duration = record->end - record->begin;

	of->count++;
	if (record->flags & PM_FLAG_LEFT) {
		of->untimed++;
		return;
	}
	if (of->count - of->untimed == 1 || duration < of->least)
		of->least = duration;
	if (duration > of->greatest)
		of->greatest = duration;
	of->sum += duration;
	of->square_sum += (double)duration * (double)duration;
	add_bucket(run, key_of(record->op, is_device, duration), 1);
	if (run->bucket_count < *merge_at)
		return;
	merge(run);
	*merge_at = 2 * run->bucket_count > MERGED_AT ? 2 * run->bucket_count : MERGED_AT;
}

/* What is there, but for what a killed program had counted already. */
static void add_chunk(
	struct tally *run, const struct trace *trace, const struct trace_chunk *chunk, size_t *merge_at)
{
	struct trace_cursor cursor;
	struct trace_record record;
	enum trace_step step;

	trace_walk(&cursor, trace, chunk);
	while ((step = trace_next(&cursor, &record)) != TRACE_END)
		if (step == TRACE_RECORD && !trace_is_counted(&cursor, chunk)) {
			add_record(run, &record, merge_at);
			run->call_count += record.kind == PM_RECORD_CALL;
			run->device_count += record.kind == PM_RECORD_DEVICE;
		}
}

static void add_sketch(struct tally *run, const struct trace_ring *ring)
{
	for (uint32_t i = 0; i < ring->state.sketch_count; i++) {
		struct pm_sketch slot;

		memcpy(&slot, ring->sketch + i * sizeof(slot), sizeof(slot));
		if (slot.key && slot.count)
			add_bucket(run, slot.key, slot.count);
	}
}

/* Where each operation's buckets are; a sketch that has not all that was counted is none. */
static void find_buckets(struct tally *run)
{
	for (size_t i = 0; i < run->bucket_count; i++) {
		const uint64_t op = run->buckets[i].key >> 16;
		struct tally_item *of;

		if (op >= run->operation_count)
			continue;
		of = &(run->buckets[i].key >> 15 & 1 ? run->devices : run->calls)[op];
		if (!of->bucket_count)
			of->first_bucket = i;
		of->bucket_count++;
	}
}

void tally_read(const struct trace *trace, struct tally *run)
{
	size_t merge_at = MERGED_AT;

	*run = (struct tally){.operation_count = trace->operation_count};
	run->calls = mem_alloc(trace->operation_count, sizeof(*run->calls));
	run->devices = mem_alloc(trace->operation_count, sizeof(*run->devices));
	for (uint32_t op = 0; op < trace->operation_count; op++) {
		add_dropped(trace, op, false, &run->calls[op]);
		add_dropped(trace, op, true, &run->devices[op]);
	}
	if (trace->ring) {
		run->call_count = trace->ring->state.dropped_calls;
		run->device_count = trace->ring->state.dropped_devices;
		add_sketch(run, trace->ring);
	}
	for (size_t c = 0; c < trace->chunk_count; c++)
		add_chunk(run, trace, &trace->chunks[c], &merge_at);
	merge(run);
	find_buckets(run);
	run->tick_ns = 1;
	if (trace->header.clock == PM_CLOCK_TSC && trace->pair_count > 1)
		run->tick_ns = trace->pairs[trace->pair_count - 1].slope;
}

void tally_free(struct tally *run)
{
	free(run->calls);
	free(run->devices);
	free(run->buckets);
	*run = (struct tally){0};
}

double tally_ns(const struct tally *run, bool is_device)
{
	return is_device ? 1 : run->tick_ns;
}

double tally_mean(const struct tally_item *of)
{
	return of->count > of->untimed ? (double)of->sum / (double)(of->count - of->untimed) : NAN;
}

double tally_deviation(const struct tally_item *of)
{
	const double n = (double)(of->count - of->untimed), mean = tally_mean(of);
	double square;

	if (!(n > 1))
		return NAN;
	square = (of->square_sum - n * mean * mean) / (n - 1);
	return square > 0 ? sqrt(square) : 0;
}

/* The middle of a bucket. */
static double bucket_middle(uint64_t key)
{
	const uint64_t bucket = key & 0x7fff;
	uint64_t shift, low;

	if (bucket < 1u << (PM_SKETCH_BITS + 1))
		return (double)bucket;
	shift = (bucket >> PM_SKETCH_BITS) - 1;
	low = bucket - (shift << PM_SKETCH_BITS);
	return ldexp((double)low + 0.5, (int)shift) - 0.5;
}

double tally_quantile(const struct tally *run, const struct tally_item *of, double part)
{
	const double n = (double)(of->count - of->untimed);
	double passed = 0, value;

	if (!of->sketched || !(n > 0))
		return NAN;
	for (uint64_t i = 0; i < of->bucket_count; i++) {
		passed += (double)run->buckets[of->first_bucket + i].count;
		if (passed < part * n && i + 1 < of->bucket_count)
			continue;
		value = bucket_middle(run->buckets[of->first_bucket + i].key);
		if (value < (double)of->least)
			return (double)of->least;
		return value > (double)of->greatest ? (double)of->greatest : value;
	}
	return NAN;
}
