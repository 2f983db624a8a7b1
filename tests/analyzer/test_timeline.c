/* Checks the clocks of a run by causality, the join of calls and device times, and the common interval of a
 * group. */
#include "check.h"
#include "timeline/timeline_read.h"
#include "timeline/timeline_sample.h"
#include "trace_builder.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add(struct timeline *timeline, struct builder *builder, const char *name)
{
	struct trace trace;

	builder_finish(builder);
	if (trace_parse(&trace, name, builder->file.data, builder->file.size) < 0)
		errx(1, "%s", trace.error);
	timeline_add(timeline, &trace);
	trace_close(&trace);
	builder_free(builder);
}

/* Device work 400 ns long, 100 ns into its call; its clock is `late_ns` late; a synchronisation ends 50 ns
 * after it. */
static void check_device(int64_t late_ns, int64_t expected_ns)
{
	const struct timeline_interval *interval;
	struct timeline timeline;
	struct builder builder;
	uint32_t work, wait, queue;

	builder_init(&builder);
	work = builder_operation(&builder,
		builder_function(&builder, "cudnn FORWARD cudnnPoolingForward int:mode"), 0,
		(const uint64_t[]){0});
	wait = builder_operation(
		&builder, builder_function(&builder, "cudart SYNC cudaStreamSynchronize"), 0, NULL);
	queue = builder_queue(&builder, 0, 0);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t now_ns = 10000 + i * 1000, begin_ns = (uint64_t)((int64_t)now_ns + 100 + late_ns);

		builder_call(&builder, 1, now_ns - 30, now_ns - 10, wait, 0, 0, 0, 0);
		builder_call(&builder, 1, now_ns, now_ns + 60, work, queue, 0, begin_ns, begin_ns + 400);
		builder_call(&builder, 1, now_ns + 70, now_ns + 550, wait, queue, 0, 0, 0);
	}
	timeline_init(&timeline);
	add(&timeline, &builder, "t");
	timeline_settle(&timeline);
	CHECK(timeline.interval_count == 3 && timeline.call_count == 9, "%zu calls, %zu intervals",
		timeline.call_count, timeline.interval_count);
	for (size_t i = 0; i < timeline.interval_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&timeline, 1 + 3 * i);

		interval = TIMELINE_INTERVAL(&timeline, i);
		CHECK(call->interval_count == 1 && call->interval == i, "interval %zu is not of call %zu", i,
			1 + 3 * i);
		CHECK(interval->begin_ns == (int64_t)(10000 + i * 1000) + expected_ns,
			"late by %lld: begins %lld into its call, expected %lld", (long long)late_ns,
			(long long)(interval->begin_ns - (int64_t)(10000 + i * 1000)),
			(long long)expected_ns);
		CHECK(interval->end_ns <= (int64_t)(10000 + i * 1000) + 550,
			"late by %lld: ends behind the wait for it", (long long)late_ns);
	}
	timeline_free(&timeline);
}

/* Two calls of a group on one queue, one on another; the intervals are written for the first of each queue.
 */
static void check_group(void)
{
	struct timeline timeline;
	struct builder builder;
	uint32_t reduce, group, queues[2];

	builder_init(&builder);
	reduce = builder_operation(&builder,
		builder_function(&builder, "nccl COMM ncclAllReduce bytes:bytes"), 0, (const uint64_t[]){64});
	group = builder_operation(&builder, builder_function(&builder, "nccl GROUP ncclGroupEnd"), 0, NULL);
	queues[0] = builder_queue(&builder, 0, 1);
	queues[1] = builder_queue(&builder, 1, 1);
	for (uint64_t i = 0; i < 6; i++) {
		struct builder_record record = {.begin = 1000 + i * 10,
			.end = 1005 + i * 10,
			.op = reduce,
			.correlation = (uint32_t)i + 1,
			.queue = (uint16_t)queues[i % 3 == 1],
			.kind = PM_RECORD_CALL,
			.flags = PM_FLAG_GROUP};

		builder_record(&builder, 1, &record);
		record.kind = PM_RECORD_DEVICE;
		record.begin = 2000 + i * 100;
		record.end = 2090 + i * 100;
		if (i % 3 < 2)
			builder_record(&builder, 1, &record);
		if (i == 2)
			builder_call(&builder, 1, 1026, 1028, group, 0, 0, 0, 0);
	}
	timeline_init(&timeline);
	add(&timeline, &builder, "t");
	timeline_settle(&timeline);
	for (size_t i = 0, member = 0; i < timeline.call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&timeline, i);
		int64_t expected_ns = (int64_t)(2000 + (member % 3 == 2 ? member - 2 : member) * 100);

		if (call->operation != timeline_call(&timeline, 0).operation)
			continue;
		CHECK(call->interval_count == 1 &&
				timeline_interval(&timeline, call->interval).begin_ns == expected_ns,
			"call %zu of the groups: %lld, expected %lld", member,
			call->interval_count
				? (long long)timeline_interval(&timeline, call->interval).begin_ns
				: -1,
			(long long)expected_ns);
		member++;
	}
	timeline_free(&timeline);
}

/*
 * A launch of a graph: nodes go to the operations that they are of, up to the first that added none knows how
 * many; what comes then, and what is no node, stays with the launch. One of the operations launches a graph
 * of whose making nothing is known: it stays whole, so that those after it keep their places.
 */
static void check_replay(void)
{
	static const uint32_t counts[] = {2, 2, 1, 0, 0}; /* of the launch, then of each operation */
	uint32_t work[4], event, launch, launches, queue;
	struct timeline timeline;
	struct builder builder;

	builder_init(&builder);
	builder.header.losses[PM_LOSS_GRAPHS] = 1; /* of others */
	for (uint32_t i = 0; i < 4; i++)
		work[i] = builder_operation(&builder,
			i ? 1 : builder_function(&builder, "cublas COMPUTE cublasSaxpy_v2 int:n"), 0,
			(const uint64_t[]){i});
	event = builder_operation(
		&builder, builder_function(&builder, "cudart EVENT cudaEventRecord"), 0, NULL);
	launches = builder_function(&builder, "cudart GRAPH cudaGraphLaunch graph:graph");
	launch = builder_operation(&builder, launches, 0, (const uint64_t[]){1});
	work[1] = builder_operation(&builder, launches, 0, (const uint64_t[]){0});
	builder_graph(&builder,
		(const struct pm_graph_node[]){
			{work[0], 2}, {event, 0}, {work[1], 1}, {work[2], 0}, {work[3], 1}},
		5);
	queue = builder_queue(&builder, 0, 1);
	for (uint64_t i = 0; i < 2; i++) {
		struct builder_record record = {.begin = 1000 + i * 1000,
			.end = 1450 + i * 1000, /* its work begins before it returns */
			.op = launch,
			.correlation = (uint32_t)i + 1,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL};

		builder_record(&builder, 1, &record);
		record.kind = PM_RECORD_DEVICE;
		record.op = work[0];
		record.flags = PM_FLAG_ACTIVITY;
		for (uint32_t node = 5; node > 0; node--) {
			record.begin = 1000 + i * 1000 + 100 * node;
			record.end = record.begin + 10;
			record.sequence = node;
			builder_record(&builder, 1, &record);
		}
	}
	timeline_init(&timeline);
	add(&timeline, &builder, "t");
	timeline_settle(&timeline);
	CHECK(timeline.call_count == 10 && timeline.interval_count == 10, "%zu calls, %zu intervals",
		timeline.call_count, timeline.interval_count);
	for (size_t i = 0; i < timeline.call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&timeline, i);
		bool first = i % 5 == 0;

		CHECK(call->interval_count == counts[i % 5], "call %zu has %u intervals", i,
			call->interval_count);
		CHECK(call->flags == (first ? TIMELINE_FLAG_DIVIDED : TIMELINE_FLAG_REPLAYED),
			"call %zu: flags %u", i, call->flags);
		CHECK(call->begin_ns == (int64_t)(1000 + i / 5 * 1000), "call %zu begins at %lld", i,
			(long long)call->begin_ns);
		for (uint32_t j = 1; j < call->interval_count; j++)
			CHECK(timeline_interval(&timeline, call->interval + j - 1).begin_ns <
					timeline_interval(&timeline, call->interval + j).begin_ns,
				"intervals of call %zu are not in order", i);
	}
	CHECK(timeline_interval(&timeline, timeline_call(&timeline, 7).interval).begin_ns == 2300,
		"the node of the second operation");
	CHECK(timeline_call(&timeline, 6).operation == timeline_call(&timeline, 1).operation &&
			timeline_call(&timeline, 6).operation != timeline_call(&timeline, 7).operation,
		"operations of the graph");
	timeline_free(&timeline);
}

/* The device's part of a call: its number-th interval is of this operation. */
static void add_interval(
	struct builder *builder, const struct builder_record *call, uint32_t op, uint32_t number)
{
	struct builder_record record = *call;

	record.kind = PM_RECORD_DEVICE;
	record.flags = PM_FLAG_ACTIVITY;
	record.op = op;
	record.begin = call->begin + 100 * number;
	record.end = record.begin + 10;
	record.sequence = number;
	builder_record(builder, 1, &record);
}

/*
 * Launches of graphs of whose making nothing is known: kernels that ran become calls after the launch, in
 * order of begin, on their own queues. One that is told of its own work, a launch without work, and a call
 * that is no launch stay whole; what is noted of later calls, and what they touch, goes with them. Without
 * losses of graphs nothing is divided. That another graph was captured changes nothing.
 */
static void check_divided(bool is_lost)
{
	static const uint32_t operations[] = {
		1, 2, 3, 1, 4, 1}; /* launch, its nodes, launch that tells, copy, launch */
	struct timeline timeline;
	struct builder builder;
	uint32_t ops[5], launch, queue, other_queue;
	const uint32_t divided = is_lost ? 2 : 0;
	const struct timeline_touch *touches;
	size_t touch_count;

	builder_init(&builder);
	builder.header.losses[PM_LOSS_GRAPHS] = is_lost;
	launch = builder_function(&builder, "cudart GRAPH cudaGraphLaunch graph:graph");
	ops[1] = builder_operation(&builder, launch, 0, (const uint64_t[]){0});
	ops[2] = builder_operation(
		&builder, builder_function(&builder, "cupti LAUNCH kernel int:x"), 0, (const uint64_t[]){2});
	ops[3] = builder_operation(&builder, 2, 0, (const uint64_t[]){3});
	ops[4] = builder_operation(&builder,
		builder_function(&builder, "cudart COPY cudaMemcpyAsync bytes:bytes direction:dir"), 0,
		(const uint64_t[]){64, 3});
	builder_graph(&builder, &(const struct pm_graph_node){ops[2], 1}, 1);
	builder_addresses(&builder, (const uint64_t[]){0x1000}, 1);
	queue = builder_queue(&builder, 0, 1);
	other_queue = builder_queue(&builder, 0, 2);
	for (uint32_t i = 0; i < 4; i++) {
		struct builder_record record = {.begin = 1000 + i * 1000,
			.end = 1450 + i * 1000,
			.op = i == 2 ? ops[4] : ops[1],
			.correlation = i + 1,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL,
			.sequence = i == 3 ? 7 : 0,
			.flags = i == 3 ? PM_FLAG_TOUCHES : 0,
			.packed_count = i == 3,
			.packed = {1 << 3}};

		builder_record(&builder, 1, &record);
		if (i == 0) {
			record.queue = (uint16_t)other_queue;
			add_interval(&builder, &record, ops[3], 2);
			record.queue = (uint16_t)queue;
			add_interval(&builder, &record, ops[2], 1);
		} else if (i == 1) {
			add_interval(&builder, &record, ops[1], 1);
			add_interval(&builder, &record, ops[2], 2);
		} else if (i == 2) {
			add_interval(&builder, &record, ops[2], 1);
		}
	}
	timeline_init(&timeline);
	add(&timeline, &builder, "t");
	timeline_settle(&timeline);
	CHECK(timeline.call_count == 4 + divided && timeline.processes[0].call_count == timeline.call_count,
		"%zu calls", timeline.call_count);
	CHECK(timeline_more(&timeline, 3 + divided) && timeline_more(&timeline, 3 + divided)->sequence == 7,
		"what is noted of the last call");
	touches = timeline_touches(&timeline, 3 + divided, &touch_count);
	CHECK(touch_count == 1 && touches->address == 0x1000, "what the last call touches");
	for (uint32_t i = 0; is_lost && i < timeline.call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&timeline, i);
		const bool node = i == 1 || i == 2;
		const uint32_t counts[] = {0, 1, 1, 2, 1, 0};

		CHECK((call->flags & ~PM_FLAG_TOUCHES) == (i == 0        ? TIMELINE_FLAG_DIVIDED
								  : node ? TIMELINE_FLAG_REPLAYED
									 : 0),
			"call %u: flags %u", i, call->flags);
		CHECK(call->queue == timeline.processes[0].first_queue + (i == 2 ? other_queue : queue),
			"call %u: queue %u", i, call->queue);
		CHECK(call->interval_count == counts[i], "call %u has %u intervals", i, call->interval_count);
		CHECK(call->operation == timeline.processes[0].first_operation + ops[operations[i]],
			"call %u: operation %u", i, call->operation);
		CHECK(!node || timeline_interval(&timeline, call->interval).begin_ns ==
					1000 + 100 * (int64_t)i,
			"node %u is not in order", i);
	}
	timeline_free(&timeline);
}

/* Two threads whose calls alternate; what few calls have stays with them. */
static void check_merge(void)
{
	struct timeline timeline;
	struct builder builder;
	uint32_t reduce;

	builder_init(&builder);
	builder.records_per_chunk = 3;
	reduce = builder_operation(&builder,
		builder_function(&builder, "nccl COMM ncclAllReduce bytes:bytes"), 0, (const uint64_t[]){64});
	for (uint64_t i = 0; i < 40; i++) {
		struct builder_record record = {.begin = 1000 + i * 10 + i % 3,
			.end = 1005 + i * 10,
			.op = reduce,
			.kind = PM_RECORD_CALL,
			.sequence = i % 4 == 0 ? (uint32_t)i + 1 : 0,
			.group = i % 7 == 0};

		builder_record(&builder, i % 5 < 2 ? 2 : 1, &record);
	}
	timeline_init(&timeline);
	add(&timeline, &builder, "t");
	CHECK(timeline.call_count == 40 && timeline.processes[0].thread_count == 3, "%zu calls",
		timeline.call_count);
	for (uint32_t i = 0; i < timeline.call_count; i++) {
		const struct timeline_more *more = timeline_more(&timeline, i);

		CHECK(timeline_call(&timeline, i).begin_ns == 1000 + i * 10 + i % 3, "call %u begins at %lld",
			i, (long long)timeline_call(&timeline, i).begin_ns);
		CHECK(timeline_call(&timeline, i).thread == (i % 5 < 2 ? 2 : 1), "call %u is of thread %u", i,
			timeline_call(&timeline, i).thread);
		CHECK((more ? more->sequence : 0) == (i % 4 == 0 ? i + 1 : 0) &&
				(more ? more->group : 0) == (i % 7 == 0),
			"call %u: sequence %u", i, more ? more->sequence : 0);
	}
	timeline_free(&timeline);
}

/* A rank on a host: three collectives, the second host's clock is off, and `torn_ns` more in the last one. */
static void add_rank(struct timeline *timeline, int rank, const char *host, int64_t off_ns, int64_t wall_ns,
	int64_t torn_ns)
{
	struct builder builder;
	uint32_t communicator, reduce, queue;

	builder_init(&builder);
	builder.header.rank = rank;
	snprintf(builder.header.host, sizeof(builder.header.host), "%s", host);
	builder.header.monotonic_ns = (uint64_t)(1000000 + off_ns);
	builder.header.ticks = builder.header.monotonic_ns;
	builder.header.real_ns = (uint64_t)(50000000 + wall_ns);
	communicator = builder_communicator(&builder, rank, 2, 0, 77);
	queue = builder_queue(&builder, 0, 0);
	reduce = builder_operation(&builder,
		builder_function(&builder, "nccl COMM ncclAllReduce bytes:bytes communicator:comm"), 0,
		(const uint64_t[]){64, communicator});
	for (int i = 0; i < 3; i++) {
		uint64_t begin_ns =
			(uint64_t)(1000000 + i * 10000 + rank * 300 + off_ns + (i == 2 ? torn_ns : 0));
		uint64_t end_ns = (uint64_t)(1000000 + i * 10000 + 1000 + off_ns + (i == 2 ? torn_ns : 0));

		builder_call(&builder, 1, begin_ns - 20, begin_ns - 10, reduce, queue, 0, begin_ns, end_ns);
	}
	add(timeline, &builder, "t");
}

static void check_hosts(int64_t wall_ns, int64_t torn_ns, int64_t residual_ns)
{
	struct timeline timeline;
	int64_t first_ns, second_ns;

	timeline_init(&timeline);
	add_rank(&timeline, 1, "beta", 123456789, wall_ns, torn_ns);
	add_rank(&timeline, 0, "alpha", 0, 0, 0);
	timeline_settle(&timeline);
	CHECK(timeline.host_count == 2, "%u hosts", timeline.host_count);
	CHECK(timeline.processes[0].rank == 0, "ranks are not in order");
	first_ns = timeline_interval(&timeline, timeline.processes[0].first_interval).begin_ns;
	second_ns = timeline_interval(&timeline, timeline.processes[1].first_interval).begin_ns;
	/* Collectives of 1000 and 700 ns: that each ends after the other's start leaves 1000 and 700 ns of
	 * play. */
	CHECK(torn_ns || (second_ns - first_ns >= 300 - 1000 && second_ns - first_ns <= 1000),
		"wall clock off by %lld: ranks %lld ns apart", (long long)wall_ns,
		(long long)(second_ns - first_ns));
	if (wall_ns == 0 && torn_ns == 0)
		CHECK(second_ns - first_ns == 300, "clocks that agree were moved: %lld",
			(long long)(second_ns - first_ns));
	CHECK(timeline.residual_ns == residual_ns, "residual %lld, expected %lld",
		(long long)timeline.residual_ns, (long long)residual_ns);
	timeline_free(&timeline);
}

#define FILES 5
#define CALLS 4

/* A process whose n-th call begins at (n + 1) us and its number in ns; between them records of no use. */
static void save_file(const char *path, uint32_t number)
{
	struct builder builder;
	uint32_t work, queue;

	builder_init(&builder);
	builder.header.rank = (int32_t)number;
	work = builder_operation(&builder,
		builder_function(&builder, "cudnn FORWARD cudnnPoolingForward int:mode"), 0,
		(const uint64_t[]){0});
	queue = builder_queue(&builder, 0, 0);
	for (uint64_t i = 0; i < CALLS; i++) {
		uint64_t now_ns = 1000 * (i + 1) + number;

		builder_call(&builder, 1, now_ns, now_ns + 60, work, queue, 0, now_ns + 100, now_ns + 400);
		for (uint32_t j = 0; j < number; j++) {
			builder_record(&builder, 1,
				&(struct builder_record){now_ns + 70, now_ns + 80, work + 9, 0, 0,
					(uint16_t)queue, PM_RECORD_CALL, 0, 0, 0, 0, {0}});
			builder_record(&builder, 1,
				&(struct builder_record){now_ns + 70, now_ns + 80, work, 1000000, 0,
					(uint16_t)queue, PM_RECORD_DEVICE, 0, 0, 0, 0, {0}});
		}
		builder_record(&builder, 1,
			&(struct builder_record){now_ns + 90, now_ns + 95, work, 0, 0, (uint16_t)queue,
				PM_RECORD_CALL, 0, 7 + number, 0, 0, {0}});
	}
	builder_finish(&builder);
	builder_save(&builder, path);
	builder_free(&builder);
}

/* Files are read side by side, and what records of no use leave empty is closed: nothing of a process may lie
 * in another's part. */
static void check_files(void)
{
	char folder[] = "/tmp/test_timeline.XXXXXX", paths[FILES][64];
	const char *const names[] = {folder};
	struct timeline timeline;
	const char *error, **warnings;

	if (!mkdtemp(folder))
		err(1, "%s", folder);
	for (uint32_t i = 0; i < FILES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%u.pmtrace", folder, i);
		save_file(paths[i], i);
	}
	timeline_init(&timeline);
	CHECK(timeline_read(&timeline, names, 1, &(struct timeline_sample){0}, &error, &warnings) == 0,
		"not read");
	timeline_settle(&timeline);
	CHECK(timeline.process_count == FILES && timeline.call_count == FILES * CALLS * 2 &&
			timeline.interval_count == FILES * CALLS && timeline.more_count == FILES * CALLS,
		"%zu processes, %zu calls, %zu intervals, %zu", timeline.process_count, timeline.call_count,
		timeline.interval_count, timeline.more_count);
	for (uint32_t p = 0; p < timeline.process_count; p++) {
		const struct timeline_process *process = &timeline.processes[p];

		CHECK(process->refused_records == CALLS * p && process->unjoined_intervals == CALLS * p,
			"process %u: %lu refused, %lu unjoined", p, (unsigned long)process->refused_records,
			(unsigned long)process->unjoined_intervals);
		for (size_t i = 0; i < process->call_count; i += 2) {
			const struct timeline_call *call = TIMELINE_CALL(&timeline, process->first_call + i);
			const struct timeline_more *more =
				timeline_more(&timeline, (uint32_t)(process->first_call + i + 1));
			int64_t begin_ns = (int64_t)(1000 * (i / 2 + 1) + p);

			CHECK(call->begin_ns == begin_ns && call->interval_count == 1 &&
					call->interval == process->first_interval + i / 2 &&
					timeline_interval(&timeline, call->interval).begin_ns ==
						begin_ns + 100,
				"process %u, call %zu", p, i);
			CHECK(more && more->sequence == 7 + p, "process %u, call %zu: sequence", p, i + 1);
		}
	}
	timeline_free(&timeline);
	for (uint32_t i = 0; i < FILES; i++)
		unlink(paths[i]);
	rmdir(folder);
}

/* The header says CUPTI, a note that another tool took it. */
static void check_left_cupti(bool left)
{
	struct builder builder;
	struct timeline timeline;

	builder_init(&builder);
	if (left)
		builder_note(&builder,
			"device: pairs of events from now on: another tool uses CUPTI (cuptiSubscribe)");
	builder.header.device_source = PM_DEVICE_CUPTI;
	timeline_init(&timeline);
	add(&timeline, &builder, "left");
	CHECK(timeline.processes[0].device_source == (left ? PM_DEVICE_EVENTS : PM_DEVICE_CUPTI) &&
			timeline.processes[0].warning_count == left,
		"source %d, %zu warnings", (int)timeline.processes[0].device_source,
		timeline.processes[0].warning_count);
	CHECK(!left || strstr(timeline.processes[0].warnings[0], "uses CUPTI (cuptiSubscribe): from then on"),
		"warning");
	timeline_free(&timeline);
}

/* What a pair of events takes by itself is subtracted from its interval, and not from one of an activity; the
 * last note of it counts. */
static void check_pairs(void)
{
	const uint64_t lengths[] = {400, 20, 400};
	const int64_t expected[] = {370, 0, 400};
	struct timeline timeline;
	struct builder builder;
	uint32_t work, queue;

	builder_init(&builder);
	work = builder_operation(&builder, builder_function(&builder, "cudart LAUNCH launch"), 0, NULL);
	queue = builder_queue(&builder, 0, 0);
	builder_note(&builder, "device: a pair of events without work takes 50 ns, median of 8");
	builder_note(&builder, "device: a pair of events without work takes 30 ns, median of 16");
	for (uint64_t i = 0; i < 3; i++) {
		struct builder_record record = {.begin = 10000 + i * 1000,
			.end = 10060 + i * 1000,
			.op = work,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL,
			.correlation = (uint32_t)i + 1};

		builder_record(&builder, 1, &record);
		record.kind = PM_RECORD_DEVICE;
		record.begin += 100;
		record.end = record.begin + lengths[i];
		record.flags = i == 2 ? PM_FLAG_ACTIVITY : 0;
		builder_record(&builder, 1, &record);
	}
	timeline_init(&timeline);
	add(&timeline, &builder, "pairs");
	timeline_settle(&timeline);
	CHECK(timeline.interval_count == 3, "%zu intervals", timeline.interval_count);
	for (size_t i = 0; i < timeline.interval_count && i < 3; i++) {
		const struct timeline_interval *interval = TIMELINE_INTERVAL(&timeline, i);

		CHECK(interval->end_ns - interval->begin_ns == expected[i], "interval %zu has %lld ns", i,
			(long long)(interval->end_ns - interval->begin_ns));
	}
	timeline_free(&timeline);
}

/* Of a long run with device times in 100 us of each millisecond after the first five, the stretches that are
 * read end where such times do; the first and the last are the run's. */
static void check_sampled_times(void)
{
	const uint64_t us = 1000, ms = 1000 * us;
	struct timeline_stretches stretches;
	struct builder builder;
	struct trace trace;
	uint32_t operation;

	builder_init(&builder);
	operation = builder_operation(&builder, builder_function(&builder, "cudart LAUNCH launch"), 0, NULL);
	builder.records_per_chunk = 1000;
	for (uint64_t i = 1; i <= 200000; i++)
		builder_call(&builder, 1, i * 100, i * 100 + 50, operation, 0, 0, 0, 0);
	for (uint64_t i = 5; i < 20; i++) {
		builder_device_window(&builder, false, 10, i * ms);
		builder_device_window(&builder, true, 10, (i + 1) * ms - 100 * us);
	}
	builder.footer.ticks = builder.footer.monotonic_ns = 20 * ms;
	builder_finish(&builder);
	if (trace_parse(&trace, "sampled", builder.file.data, builder.file.size) < 0)
		errx(1, "%s", trace.error);
	CHECK(trace.device_window_count == 30 && !trace.device_windows[28].taken &&
			trace.device_windows[29].taken && trace.device_windows[29].share == 10 &&
			trace.device_windows[29].ticks == 20 * ms - 100 * us,
		"%zu device windows", trace.device_window_count);
	timeline_sample_choose(&trace, 0.5, &stretches);
	CHECK(stretches.count == 5, "%zu stretches", stretches.count);
	for (size_t i = 1; i + 1 < stretches.count; i++) {
		const struct timeline_stretch *item = &stretches.items[i];

		CHECK(item->begin_ns >= stretches.items[i - 1].end_ns, "stretch %zu begins too early", i);
		CHECK(item->end_ns % (int64_t)ms == 0, "stretch %zu ends at %lld ns", i,
			(long long)item->end_ns);
		CHECK(item->end_ns - item->begin_ns > (int64_t)ms, "stretch %zu is %lld ns long", i,
			(long long)(item->end_ns - item->begin_ns));
	}
	trace_close(&trace);
	builder_free(&builder);
}

/* A run of 20 ms in which the framework was asked up to 1 ms and from 7 to 8 ms, with device times from the
 * given one. */
static void choose_asked(uint64_t times_from, double share, struct timeline_stretches *stretches)
{
	const uint64_t us = 1000, ms = 1000 * us;
	struct builder builder;
	struct trace trace;
	uint32_t operation;

	builder_init(&builder);
	builder.header.version = PM_VERSION_WHOLE;
	operation = builder_operation(&builder, builder_function(&builder, "cudart LAUNCH launch"), 0, NULL);
	builder.records_per_chunk = 1000;
	for (uint64_t i = 1; i <= 200000; i++)
		builder_call(&builder, 1, i * 100, i * 100 + 50, operation, 0, 0, 0, 0);
	builder_device_window(&builder, false, 10, us);
	builder_device_window(&builder, true, 10, times_from);
	builder_range_window(&builder, true, us);
	builder_range_window(&builder, false, ms);
	builder_range_window(&builder, true, 7 * ms);
	builder_range_window(&builder, false, 8 * ms);
	builder.footer.ticks = builder.footer.monotonic_ns = 20 * ms;
	builder_finish(&builder);
	if (trace_parse(&trace, "asked", builder.file.data, builder.file.size) < 0)
		errx(1, "%s", trace.error);
	CHECK(trace.range_window_count == 4, "%zu range windows", trace.range_window_count);
	timeline_sample_choose(&trace, share, stretches);
	trace_close(&trace);
	builder_free(&builder);
}

/* Does any stretch between the first and the last hold the moment, and so much before it? */
static bool any_holds(const struct timeline_stretches *stretches, int64_t end_ns, int64_t before_ns)
{
	for (size_t i = 1; i + 1 < stretches->count; i++)
		if (stretches->items[i].begin_ns <= end_ns - before_ns && stretches->items[i].end_ns > end_ns)
			return true;
	return false;
}

/* Of what is read one stretch is where the framework was asked, if device times were taken there. */
static void check_sampled_operators(void)
{
	const int64_t ms = 1000000;
	struct timeline_stretches stretches;

	choose_asked(5 * (uint64_t)ms, 0.3, &stretches);
	CHECK(any_holds(&stretches, 8 * ms, ms / 2), "the framework was asked, and nothing of that is read");
	for (size_t i = 1; i < stretches.count; i++)
		CHECK(stretches.items[i].begin_ns >= stretches.items[i - 1].end_ns,
			"stretch %zu begins too early", i);
	choose_asked(15 * (uint64_t)ms, 0.3, &stretches);
	CHECK(!any_holds(&stretches, 8 * ms, ms / 2), "read where there are no device times");
	choose_asked(5 * (uint64_t)ms, 0.05, &stretches);
	CHECK(stretches.count == 3 && any_holds(&stretches, 8 * ms, ms / 8),
		"of little %zu stretches are read", stretches.count);
}

int main(void)
{
	check_pairs();
	check_sampled_times();
	check_sampled_operators();
	check_device(0, 100);
	check_device(-40, 60);
	/* Not after the thread's call before, 10 ns before this one: moved up to it, then cut to begin with
	 * the call. */
	check_device(-300, 0);
	/* Must end 50 ns earlier than it says. */
	check_device(100, 150);
	check_device(5000, 150);
	check_group();
	check_replay();
	check_divided(true);
	check_divided(false);
	check_merge();
	check_files();
	check_left_cupti(false);
	check_left_cupti(true);
	check_hosts(0, 0, 0);
	check_hosts(400000, 0, 0);
	check_hosts(-400000, 0, 0);
	/* Bounds of the torn one: it is 1700 ns wide, and 5000 ns away. */
	check_hosts(0, 5000, (5000 - 1700) / 2);
	return check_end();
}
