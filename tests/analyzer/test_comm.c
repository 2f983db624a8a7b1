/*
 * Checks communication by communicator and function against hand-computed bytes, waiting and bandwidths: what
 * a group is, which rank came last, and that the writer's sequence matches ranks of which calls are missing.
 * And which runs do nothing else.
 */
#include "check.h"
#include "analyses/comm.h"
#include "reconstruct/analysis.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

struct rank {
	struct builder builder;
	uint32_t communicators[2], queue, group_end;
	uint32_t functions[8];
	uint8_t group;
};

static const char *const functions[] = {
	"nccl COMM ncclAllReduce bytes:bytes communicator:comm",
	"nccl COMM ncclAllGather bytes:bytes communicator:comm",
	"nccl COMM ncclBroadcast bytes:bytes communicator:comm",
	"nccl COMM ncclSend bytes:bytes int:peer communicator:comm",
	"nccl COMM ncclRecv bytes:bytes int:peer communicator:comm",
};
enum { ALL_REDUCE, ALL_GATHER, BROADCAST, SEND, RECV };

static void begin(struct rank *ranks)
{
	for (int r = 0; r < RANKS; r++) {
		struct rank *rank = &ranks[r];

		memset(rank, 0, sizeof(*rank));
		builder_init(&rank->builder);
		rank->builder.header.rank = r;
		for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
			rank->functions[i] = builder_function(&rank->builder, functions[i]);
		rank->queue = builder_queue(&rank->builder, 0, 0);
		rank->communicators[0] = builder_communicator(&rank->builder, r, RANKS, 0, 0xaa);
		/* Of two and two. */
		rank->communicators[1] =
			builder_communicator(&rank->builder, r / 2, 2, 0, 0xb0 + (uint64_t)(r % 2));
		rank->group_end = builder_operation(
			&rank->builder, builder_function(&rank->builder, "nccl GROUP ncclGroupEnd"), 0, NULL);
	}
}

struct call {
	int function, communicator;
	uint64_t bytes;
	uint32_t sequence;
	uint8_t flags;
};

/* A call of a rank, 10 ns before its work, which is there if it has an end. */
static void add_call(struct rank *rank, struct call what, uint64_t begin_ns, uint64_t end_ns)
{
	bool peer = what.function == SEND || what.function == RECV;
	uint64_t values[3] = {what.bytes, peer ? 1 : rank->communicators[what.communicator],
		rank->communicators[what.communicator]};
	struct builder_record record = {.begin = begin_ns - 10,
		.end = begin_ns - 5,
		.op = builder_operation(&rank->builder, rank->functions[what.function], 0, values),
		.queue = (uint16_t)rank->queue,
		.kind = PM_RECORD_CALL,
		.flags = what.flags,
		.sequence = what.sequence,
		.group = what.flags & PM_FLAG_GROUP ? rank->group : 0,
		.correlation = ++rank->builder.correlation};

	builder_record(&rank->builder, 1, &record);
	record.kind = PM_RECORD_DEVICE;
	record.begin = begin_ns;
	record.end = end_ns;
	if (end_ns)
		builder_record(&rank->builder, 1, &record);
}

static void end(struct rank *ranks, size_t skip, struct timeline *timeline, struct comm *comm)
{
	struct collective_list collectives;

	timeline_init(timeline);
	for (int r = 0; r < RANKS; r++) {
		struct trace trace;

		builder_finish(&ranks[r].builder);
		if (trace_parse(&trace, "t", ranks[r].builder.file.data, ranks[r].builder.file.size) < 0)
			errx(1, "%s", trace.error);
		timeline_add(timeline, &trace);
		trace_close(&trace);
		builder_free(&ranks[r].builder);
	}
	timeline_settle(timeline);
	collective_match(timeline, &collectives);
	comm_find(timeline, &collectives, NULL, skip, comm);
	collective_free(&collectives);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) || (isnan(a) && isnan(b));
}

static void check_row(
	const struct comm *comm, uint64_t hash, const char *name, const struct comm_row *expected)
{
	for (size_t i = 0; i < comm->row_count; i++) {
		const struct comm_row *row = &comm->rows[i];

		if (row->hash != hash || strcmp(row->name, name) != 0)
			continue;
		CHECK(row->count == expected->count && near(row->bytes, expected->bytes),
			"%s: %zu of %f bytes", name, row->count, row->bytes);
		CHECK(near(row->time_ns, expected->time_ns) && near(row->wait_ns, expected->wait_ns) &&
				near(row->transfer_ns, expected->transfer_ns),
			"%s: %f = %f + %f", name, row->time_ns, row->wait_ns, row->transfer_ns);
		CHECK(near(row->algorithm_rate, expected->algorithm_rate) &&
				near(row->bus_rate, expected->bus_rate),
			"%s: %f and %f GB/s", name, row->algorithm_rate, row->bus_rate);
		CHECK(row->last_rank == expected->last_rank && row->last_count == expected->last_count,
			"%s: last is %d, %zu times", name, row->last_rank, row->last_count);
		return;
	}
	CHECK(false, "no row %s", name);
}

/* Rank 3 begins 300 ns late in two of three; each ends 500 ns after its start. */
static void check_collectives(void)
{
	struct rank ranks[RANKS];
	struct timeline timeline;
	struct comm comm;

	begin(ranks);
	/* Only captured: nothing is exchanged. */
	add_call(&ranks[0], (struct call){.function = ALL_REDUCE, .bytes = 4000, .flags = PM_FLAG_CAPTURED},
		5000, 0);
	for (int i = 0; i < 3; i++)
		for (int r = 0; r < RANKS; r++) {
			uint64_t at_ns = 10000 + (uint64_t)i * 10000, late_ns = r == 3 && i > 0 ? 300 : 0;
			uint64_t end_ns = at_ns + (i > 0 ? 800 : 500);

			add_call(&ranks[r], (struct call){.function = ALL_REDUCE, .bytes = 4000},
				at_ns + late_ns, end_ns);
			add_call(&ranks[r], (struct call){.function = ALL_GATHER, .bytes = 1000},
				at_ns + 2000, at_ns + 2400);
			add_call(&ranks[r], (struct call){.function = BROADCAST, .bytes = 600}, at_ns + 3000,
				at_ns + 3300);
			add_call(&ranks[r],
				(struct call){.function = ALL_REDUCE, .bytes = 800, .communicator = 1},
				at_ns + 4000 + (uint64_t)(r / 2) * 40, at_ns + 4140);
		}
	end(ranks, 0, &timeline, &comm);
	/* Waiting: 2 of 3 times 3 of 4 ranks 300 ns; of each 500 ns moving. */
	check_row(&comm, 0xaa, "AllReduce",
		&(struct comm_row){.count = 3,
			.bytes = 4000,
			.time_ns = 500 + 150,
			.wait_ns = 150,
			.transfer_ns = 500,
			.algorithm_rate = 8,
			.bus_rate = 12,
			.last_rank = 3,
			.last_count = 2});
	check_row(&comm, 0xaa, "AllGather",
		&(struct comm_row){.count = 3,
			.bytes = 4000,
			.time_ns = 400,
			.transfer_ns = 400,
			.algorithm_rate = 10,
			.bus_rate = 7.5,
			.last_rank = -1});
	check_row(&comm, 0xaa, "Broadcast",
		&(struct comm_row){.count = 3,
			.bytes = 600,
			.time_ns = 300,
			.transfer_ns = 300,
			.algorithm_rate = 2,
			.bus_rate = 2,
			.last_rank = -1});
	for (uint64_t hash = 0xb0; hash <= 0xb1; hash++)
		check_row(&comm, hash, "AllReduce",
			&(struct comm_row){.count = 3,
				.bytes = 800,
				.time_ns = 120,
				.wait_ns = 20,
				.transfer_ns = 100,
				.algorithm_rate = 8,
				.bus_rate = 8,
				.last_rank = 1,
				.last_count = 3});
	CHECK(comm.row_count == 5 && comm.rank_count == 8, "%zu rows, %zu ranks", comm.row_count,
		comm.rank_count);
	CHECK(comm.rows[0].number == 1 && comm.rows[3].number == 2 && comm.rows[4].number == 3, "numbers");
	CHECK(strcmp(comm.rows[1].name, "AllReduce") == 0 && strcmp(comm.rows[2].name, "Broadcast") == 0,
		"order");
	for (int r = 0; r < RANKS; r++)
		CHECK(comm.ranks[r].rank == r && comm.ranks[r].count == 9 &&
				near(comm.ranks[r].wait_ns, r == 3 ? 0 : 600.0 / 9) &&
				near(comm.ranks[r].wait_caused_ns, r == 3 ? 1800.0 / 9 : 0) &&
				comm.ranks[r].last_count == (r == 3 ? 2 : 0),
			"rank %d: waits %f, causes %f", r, comm.ranks[r].wait_ns,
			comm.ranks[r].wait_caused_ns);
	comm_free(&comm);
	timeline_free(&timeline);
}

/* Two all-reduces and one all-gather in a group are one unit; the interval is the first one's. Then
 * neighbours. */
static void check_groups(void)
{
	struct rank ranks[RANKS];
	struct timeline timeline;
	struct comm comm;

	begin(ranks);
	for (int i = 0; i < 3; i++)
		for (int r = 0; r < RANKS; r++) {
			struct rank *rank = &ranks[r];
			uint64_t at_ns = 10000 + (uint64_t)i * 10000;

			rank->group = (uint8_t)(2 * i + 1);
			add_call(rank,
				(struct call){.function = ALL_REDUCE, .bytes = 1000, .flags = PM_FLAG_GROUP},
				at_ns + (r == 1 ? 100 : 0), at_ns + 1100);
			add_call(rank,
				(struct call){.function = ALL_REDUCE, .bytes = 3000, .flags = PM_FLAG_GROUP},
				at_ns + 200, 0);
			/* The next group follows at once. */
			rank->group++;
			add_call(rank,
				(struct call){.function = ALL_REDUCE, .bytes = 500, .flags = PM_FLAG_GROUP},
				at_ns + 2000, at_ns + 2100);
			builder_call(
				&rank->builder, 1, at_ns + 2200, at_ns + 2210, rank->group_end, 0, 0, 0, 0);
			add_call(rank, (struct call){.function = SEND, .bytes = 700, .flags = PM_FLAG_GROUP},
				at_ns + 3000, at_ns + 3100);
			add_call(rank, (struct call){.function = RECV, .bytes = 900, .flags = PM_FLAG_GROUP},
				at_ns + 3050, 0);
			builder_call(
				&rank->builder, 1, at_ns + 3200, at_ns + 3210, rank->group_end, 0, 0, 0, 0);
		}
	end(ranks, 1, &timeline, &comm);
	check_row(&comm, 0xaa, "2 AllReduce",
		&(struct comm_row){.count = 2,
			.bytes = 4000,
			.time_ns = 1075,
			.wait_ns = 75,
			.transfer_ns = 1000,
			.algorithm_rate = 4,
			.bus_rate = 6,
			.last_rank = 1,
			.last_count = 2});
	check_row(&comm, 0xaa, "AllReduce",
		&(struct comm_row){.count = 2,
			.bytes = 500,
			.time_ns = 100,
			.transfer_ns = 100,
			.algorithm_rate = 5,
			.bus_rate = 7.5,
			.last_rank = -1});
	/* Point to point is not matched: four ranks, three times, less the first. */
	check_row(&comm, 0xaa, "2 calls",
		&(struct comm_row){.count = 11,
			.bytes = 900,
			.time_ns = 100,
			.wait_ns = NAN,
			.transfer_ns = 100,
			.algorithm_rate = 9,
			.bus_rate = 9,
			.last_rank = -1});
	CHECK(comm.row_count == 3, "%zu rows", comm.row_count);
	comm_free(&comm);
	timeline_free(&timeline);
}

/* Rank 2 recorded nothing of the first: the writer's count tells which is which; without it they shift. */
static void check_sequence(bool counted)
{
	struct rank ranks[RANKS];
	struct timeline timeline;
	struct comm comm;

	begin(ranks);
	for (uint32_t i = 1; i <= 5; i++)
		for (int r = 0; r < RANKS; r++)
			if (i > 1 || r != 2)
				add_call(&ranks[r],
					(struct call){.function = ALL_REDUCE,
						.bytes = 100,
						.sequence = counted ? i : 0},
					10000 * (uint64_t)i + (uint64_t)r, 10000 * (uint64_t)i + 100);
	end(ranks, 0, &timeline, &comm);
	CHECK(comm.row_count == 1 && comm.rows[0].count == 5, "%zu rows", comm.row_count);
	/* The last rank but in the first: 3 is always last, so the others wait a few ns. */
	CHECK(!counted || (comm.rows[0].wait_ns < 3 && comm.rows[0].last_rank == 3 &&
				  comm.rows[0].last_count == 5),
		"waiting %f", comm.rows[0].wait_ns);
	CHECK(counted || comm.rows[0].last_rank == 2, "without sequence: last is %d", comm.rows[0].last_rank);
	comm_free(&comm);
	timeline_free(&timeline);
}

static void check_factors(void)
{
	static const struct {
		const char *name;
		double factor;
	} cases[] = {{"ncclAllReduce", 1.75}, {"ncclAllGather", 0.875}, {"ncclReduceScatter", 0.875},
		{"ncclBroadcast", 1}, {"ncclBcast", 1}, {"ncclReduce", 1}, {"ncclAlltoAll", 0.875},
		{"ncclSend", 1}, {"ncclRecv", 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(comm_factor(hook_facts_of(cases[i].name).role, 8) == cases[i].factor, "%s: %f",
			cases[i].name, comm_factor(hook_facts_of(cases[i].name).role, 8));
	CHECK(comm_factor(PM_ROLE_ALL_REDUCE, 1) == 0 && comm_factor(PM_ROLE_ALL_REDUCE, 0) == 1,
		"one rank, or none");
}

enum { BENCHMARK, WITH_PRODUCT, WITH_UPDATE, WITH_STEPS, FEW, MOSTLY_KERNELS, CASES };

/* A run of all-reduces, and a kernel that checks each. */
static void check_alone(int what)
{
	static const char *const names[] = {"a benchmark", "with a product", "with an update", "with steps",
		"of few calls", "mostly of kernels"};
	const int count = what == FEW ? 2 : 20;
	struct rank ranks[RANKS];
	struct timeline timeline;
	struct analysis analysis;
	struct comm comm;

	begin(ranks);
	for (int r = 0; r < RANKS; r++) {
		struct builder *builder = &ranks[r].builder;
		uint64_t kernel = builder_string(builder, what == WITH_UPDATE ? "adam_step" : "check_sums");
		const uint32_t launch = builder_operation(builder,
			builder_function(builder, "cudart LAUNCH cudaLaunchKernel string:kernel"), 0,
			&kernel);
		const uint32_t step = builder_range(
			builder, PM_RANGE_USER, "Optimizer.step#SGD.step", NULL, "train (train.py:9)");
		uint64_t rows = 64;
		const uint32_t product = builder_operation(
			builder, builder_function(builder, "cublas COMPUTE cublasSgemm_v2 int:m"), 0, &rows);

		for (int i = 0; i < count; i++) {
			const uint64_t begin_ns = 10000 * ((uint64_t)i + 1);
			struct builder_record record = {.begin = begin_ns + 1000,
				.end = begin_ns + 1005,
				.op = what == WITH_PRODUCT && i == 7 ? product : launch,
				.queue = (uint16_t)ranks[r].queue,
				.kind = PM_RECORD_CALL,
				.correlation = ++builder->correlation};

			add_call(&ranks[r], (struct call){ALL_REDUCE, 0, 1 << 20, (uint32_t)i, 0}, begin_ns,
				begin_ns + 900);
			record.correlation = ++builder->correlation;
			if (what == WITH_STEPS)
				builder_in_range(builder, 1, begin_ns + 990, step, PM_RANGE_NO_SEQUENCE, 1);
			builder_record(builder, 1, &record);
			if (what == WITH_STEPS)
				builder_in_range(builder, 1, begin_ns + 1006, 0, 0, 0);
			record.kind = PM_RECORD_DEVICE;
			record.begin = begin_ns + 1010;
			record.end = record.begin + (what == MOSTLY_KERNELS ? 2000 : 300);
			builder_record(builder, 1, &record);
		}
	}
	end(ranks, 0, &timeline, &comm);
	comm_free(&comm);
	analysis_init(&analysis, &timeline, 1);
	CHECK(analysis_is_communication(&analysis) == (what == BENCHMARK), "%s", names[what]);
	analysis_free(&analysis);
}

int main(void)
{
	for (int i = 0; i < CASES; i++)
		check_alone(i);
	check_factors();
	check_collectives();
	check_groups();
	check_sequence(true);
	check_sequence(false);
	return check_end();
}
