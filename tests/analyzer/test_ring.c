/*
 * Traces of constant size, made by hand: of twelve calls with a device interval each the middle four, and the
 * interval of the one before them, are in the statistics alone. Also of a process that was killed while it
 * dropped a chunk, and with numbers that cannot be.
 */
#include "check.h"
#include "timeline/timeline.h"
#include "timeline/timeline_read.h"
#include "trace/tally.h"
#include "trace/trace_ring.h"
#include "trace_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 12
#define FIRST_DROPPED 4
#define FIRST_BACK 8
#define CALL_NS 100
#define DEVICE_NS 1000

static uint64_t begin_of(int call)
{
	return 10000 + (uint64_t)call * 1000 + (uint64_t)call; /* of each a different one */
}

struct made {
	unsigned char *data;
	size_t size;
	struct pm_ring *ring;
	struct pm_sketch *sketch;
	struct pm_statistics *statistics; /* of the operation's calls and intervals */
	uint64_t behind;                  /* offset of the chunk that the first call after the gap begins */
	struct builder builder;
};

static void *put(struct made *made, const void *bytes, size_t count)
{
	void *there = made->data + made->size;

	memcpy(there, bytes, count);
	made->size += count;
	return there;
}

static void add_calls(struct builder *builder)
{
	const uint32_t function = builder_function(builder, "cudart COPY cudaMemcpyAsync bytes:n");
	const uint32_t operation = builder_operation(builder, function, 0, (uint64_t[]){4096});
	const uint32_t queue = builder_queue(builder, 0, 1);

	for (int i = 0; i < CALLS; i++) {
		const uint64_t begin = begin_of(i);
		struct builder_record record = {.begin = begin,
			.end = begin + CALL_NS,
			.op = operation,
			.correlation = (uint32_t)i + 1,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL};

		if (i >= FIRST_DROPPED && i < FIRST_BACK)
			continue;
		builder_record(builder, 1, &record);
		if (i == FIRST_DROPPED - 1)
			continue;
		record.begin = begin + 200;
		record.end = record.begin + DEVICE_NS;
		record.kind = PM_RECORD_DEVICE;
		builder_record(builder, 1, &record);
	}
}

/* The builder's file, with a ring and its statistics between the header and the rest. */
static void make(struct made *made)
{
	const struct pm_sketch sketch[2] = {{1u << 16 | PM_SKETCH_BUCKET(CALL_NS), 4},
		{1u << 16 | 1u << 15 | PM_SKETCH_BUCKET(DEVICE_NS), 5}};
	const struct pm_statistics statistics[4] = {[2] = {.count = 4,
							    .sum = 4 * CALL_NS,
							    .square_sum = 4.0 * CALL_NS * CALL_NS,
							    .minimum = CALL_NS,
							    .maximum = CALL_NS},
		[3] = {.count = 5,
			.sum = 5 * DEVICE_NS,
			.square_sum = 5.0 * DEVICE_NS * DEVICE_NS,
			.minimum = DEVICE_NS,
			.maximum = DEVICE_NS}};
	const struct pm_ring ring = {.dropped_calls = 4,
		.dropped_devices = 5,
		.dropped_chunks = 1,
		.first_ticks = begin_of(FIRST_DROPPED),
		.last_ticks = begin_of(FIRST_BACK) - 1,
		.first_device_ns = begin_of(FIRST_DROPPED - 1) + 200,
		.statistics_operations = 2,
		.sketch_count = 2};
	struct pm_chunk chunk = {
		.magic = PM_CHUNK_MAGIC, .kind = PM_CHUNK_RING, .ticks = 1000, .monotonic_ns = 1000};
	struct builder *builder = &made->builder;

	builder_init(builder);
	builder->header.version = PM_VERSION;
	builder->records_per_chunk = 7; /* those before, and those after in two */
	add_calls(builder);
	builder_finish(builder);
	made->data = calloc(1, builder->file.size + 4096);
	made->size = 0;
	put(made, builder->file.data, builder->header.header_bytes);
	chunk.chunk_bytes = sizeof(chunk) + sizeof(ring) + sizeof(sketch);
	put(made, &chunk, sizeof(chunk));
	made->ring = put(made, &ring, sizeof(ring));
	made->sketch = put(made, sketch, sizeof(sketch));
	chunk.kind = PM_CHUNK_STATISTICS;
	chunk.chunk_bytes = sizeof(chunk) + sizeof(statistics);
	put(made, &chunk, sizeof(chunk));
	made->statistics = (struct pm_statistics *)put(made, statistics, sizeof(statistics)) + 2;
	put(made, builder->file.data + builder->header.header_bytes,
		builder->file.size - builder->header.header_bytes);
	for (uint64_t at = builder->header.header_bytes; at < made->size;) {
		memcpy(&chunk, made->data + at, sizeof(chunk));
		if (chunk.kind == PM_CHUNK_RECORDS && chunk.sequence == 1)
			made->behind = at;
		at += chunk.chunk_bytes;
	}
}

static void unmake(struct made *made)
{
	builder_free(&made->builder);
	free(made->data);
}

static void check_whole(const struct trace *trace, const char *what)
{
	struct tally tally;
	const struct tally_item *calls, *devices;

	tally_read(trace, &tally);
	CHECK(tally.operation_count == 2, "%s: %zu operations", what, tally.operation_count);
	if (tally.operation_count == 2) {
		calls = &tally.calls[1];
		devices = &tally.devices[1];
		CHECK(calls->count == CALLS && calls->sum == CALLS * CALL_NS, "%s: %llu calls of %llu ns",
			what, (unsigned long long)calls->count, (unsigned long long)calls->sum);
		CHECK(devices->count == CALLS && devices->sum == CALLS * DEVICE_NS,
			"%s: %llu intervals of %llu ns", what, (unsigned long long)devices->count,
			(unsigned long long)devices->sum);
		CHECK(tally_quantile(&tally, devices, 0.5) == DEVICE_NS, "%s: median %g", what,
			tally_quantile(&tally, devices, 0.5));
		CHECK(tally_deviation(calls) == 0, "%s: deviation %g", what, tally_deviation(calls));
	}
	tally_free(&tally);
}

/* All calls before the first that lacks its interval, and all after the gap. */
static void check_timeline(const struct trace *trace)
{
	struct timeline timeline;

	timeline_init(&timeline);
	timeline_add(&timeline, trace);
	CHECK(timeline.call_count == 7, "%zu calls", timeline.call_count);
	CHECK(timeline.processes[0].gap.call_count == 5, "%llu in the gap",
		(unsigned long long)timeline.processes[0].gap.call_count);
	CHECK(timeline.processes[0].unjoined_intervals == 0, "intervals without calls");
	CHECK(timeline.window_count == 2, "%zu windows", timeline.window_count);
	for (size_t i = 0; i < timeline.call_count; i++)
		CHECK(timeline_call(&timeline, i).interval_count == 1, "call %zu: %u intervals", i,
			timeline_call(&timeline, i).interval_count);
	if (timeline.window_count == 2)
		CHECK(timeline.windows[0].end_ns == (int64_t)begin_of(FIRST_DROPPED - 1) &&
				timeline.windows[1].begin_ns == (int64_t)begin_of(FIRST_BACK) - 1,
			"windows to %lld, from %lld", (long long)timeline.windows[0].end_ns,
			(long long)timeline.windows[1].begin_ns);
	timeline_free(&timeline);
}

static void parse(const struct made *made, struct trace *trace)
{
	CHECK(trace_parse(trace, "ring", made->data, made->size) == 0, "%s", trace->error);
}

static void test_read(void)
{
	struct made made;
	struct trace trace;
	unsigned char *copy;
	bool moving = true;

	make(&made);
	parse(&made, &trace);
	CHECK(!trace.trouble && trace.ended, "%s", trace.trouble);
	check_whole(&trace, "as it is");
	check_timeline(&trace);
	trace_close(&trace);

	copy = trace_ring_copy(made.data, made.size, &moving);
	CHECK(copy && !moving && memcmp(copy, made.data, made.size) == 0, "the copy differs");
	free(copy);
	unmake(&made);
}

/* The first call after the gap, and its interval, are counted already. */
static void test_killed(void)
{
	struct made made;
	struct trace trace;

	make(&made);
	made.ring->changes = 1;
	made.ring->dropping = made.behind;
	made.ring->dropped_slots = 4;
	for (int i = 0; i < 2; i++) {
		made.statistics[i].count++;
		made.statistics[i].sum += i ? DEVICE_NS : CALL_NS;
		made.statistics[i].square_sum +=
			i ? (double)DEVICE_NS * DEVICE_NS : (double)CALL_NS * CALL_NS;
		made.sketch[i].count++;
	}
	parse(&made, &trace);
	check_whole(&trace, "killed");
	trace_close(&trace);
	unmake(&made);
}

static void test_hostile(void)
{
	struct made made;
	struct trace trace;
	struct tally tally;

	make(&made);
	made.ring->sketch_count = 1u << 30;
	parse(&made, &trace);
	CHECK(trace.trouble && strstr(trace.trouble, "a sketch of"), "%s", trace.trouble);
	tally_read(&trace, &tally);
	CHECK(isnan(tally_quantile(&tally, &tally.calls[1], 0.5)), "a median without its sketch");
	tally_free(&tally);
	trace_close(&trace);
	made.ring->sketch_count = 2;
	made.ring->statistics_operations = 1u << 31;
	parse(&made, &trace);
	CHECK(trace.trouble && strstr(trace.trouble, "statistics of"), "%s", trace.trouble);
	trace_close(&trace);
	made.data[offsetof(struct pm_header, version)] = PM_VERSION + 1;
	CHECK(trace_parse(&trace, "ring", made.data, made.size) < 0 && strstr(trace.error, "version 5"), "%s",
		trace.error);
	trace_close(&trace);
	unmake(&made);
}

int main(void)
{
	test_read();
	test_killed();
	test_hostile();
	return check_end();
}
