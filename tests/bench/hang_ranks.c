/*
 * The traces of a large job that stands still, for hang.sh: hang_ranks FOLDER RANKS STEPS KIND [PID].
 *
 * Each step has launches, all-reduces among 8 ranks (tensor parallel), and one among the ranks of the same
 * place in their 8 (data parallel); the last has a barrier of all. KIND is what rank RANKS * 2 / 3 does at
 * the end: "absent", it does not enter the barrier; "half", no odd rank does; "exchange", it leaves out the
 * receive from the next rank in an all-to-all. Each trace has the page of figures that the hook would have
 * kept, with kernels of a quarter of the step, of rank RANKS * 2 / 3 half as long again. The traces say that
 * they are of this host and of process PID, which runs; without it of another host.
 */
#include "trace_builder.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TENSOR 8    /* ranks */
#define LAUNCHES 32 /* of a step */
#define REDUCES 8
#define CALL_NS 10000
#define STEP_NS ((LAUNCHES + REDUCES + 1) * CALL_NS)

enum { LAUNCH, ALL_REDUCE, BROADCAST, SEND, RECEIVE, FUNCTIONS };

static const char *const functions[FUNCTIONS] = {
	"cudart LAUNCH cudaLaunchKernel int:grid",
	"nccl COMM ncclAllReduce int:count bytes:bytes communicator:comm",
	"nccl COMM ncclBroadcast int:count bytes:bytes communicator:comm",
	"nccl COMM ncclSend int:count bytes:bytes int:peer communicator:comm",
	"nccl COMM ncclRecv int:count bytes:bytes int:peer communicator:comm",
};

struct rank {
	struct builder builder;
	uint32_t functions[FUNCTIONS];
	uint64_t at_ns, calls;
	struct pm_live live;
};

static void call(struct rank *rank, uint32_t operation)
{
	builder_call(&rank->builder, 1, rank->at_ns, rank->at_ns + CALL_NS / 2, operation, 1, 0, 0, 0);
	rank->at_ns += CALL_NS;
	rank->calls++;
}

static uint32_t collective(struct rank *rank, int function, uint64_t comm)
{
	return builder_operation(
		&rank->builder, rank->functions[function], 0, (uint64_t[]){1024, 4096, comm});
}

static uint32_t transfer(struct rank *rank, int function, uint64_t peer, uint64_t comm)
{
	return builder_operation(
		&rank->builder, rank->functions[function], 0, (uint64_t[]){64, 256, peer, comm});
}

/* One moment for all ranks, whose clocks are those of one host. */
static uint64_t now_ns(void)
{
	static struct timespec now;

	if (now.tv_sec == 0)
		clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void begin(struct rank *rank, int number, int ranks, int pid)
{
	struct pm_header *header = &rank->builder.header;

	builder_init(&rank->builder);
	rank->builder.killed = true;
	header->rank = number;
	header->world = ranks;
	if (pid) {
		header->pid = (uint32_t)pid;
		header->real_ns = now_ns();
		gethostname(header->host, sizeof(header->host) - 1);
	}
	rank->at_ns = header->monotonic_ns + 1000000;
	for (int i = 0; i < FUNCTIONS; i++)
		rank->functions[i] = builder_function(&rank->builder, functions[i]);
	builder_queue(&rank->builder, 0, 0);
}

static void exchange(struct rank *rank, int number, int ranks, uint64_t all, int left_out)
{
	for (int peer = 0; peer < ranks; peer++) {
		call(rank, transfer(rank, SEND, (uint64_t)peer, all));
		if (peer != left_out || number == left_out)
			call(rank, transfer(rank, RECEIVE, (uint64_t)peer, all));
	}
}

/* Does the rank come to the barrier? */
static bool is_entered(const char *kind, int number, int victim, int waiting)
{
	if (strcmp(kind, "exchange") == 0)
		return number != waiting;
	return strcmp(kind, "half") == 0 ? number % 2 == 0 : number != victim;
}

/* As the hook would have them, had it seen the period from the first step on. */
static void keep_figures(struct rank *rank, int steps, bool is_slow)
{
	rank->live = (struct pm_live){.magic = PM_LIVE_MAGIC,
		.seen_ns = rank->at_ns,
		.calls = rank->calls,
		.communications = rank->calls - (uint64_t)steps * LAUNCHES,
		.device_ns = {(uint64_t)steps * (is_slow ? STEP_NS * 3 / 8 : STEP_NS / 4)},
		.changes = 2 * (uint64_t)steps,
		.steps = (uint64_t)steps,
		.timed_steps = (uint64_t)steps,
		.last_step_ns = rank->at_ns};
	for (int i = 0; i < PM_LIVE_STEPS; i++)
		rank->live.step_ns[i] = STEP_NS;
	rank->builder.live = &rank->live;
}

static void write_rank(const char *folder, int number, int ranks, int steps, const char *kind, int pid)
{
	const int victim = ranks * 2 / 3, waiting = victim + 1;
	struct rank rank = {0};
	uint32_t launches[LAUNCHES], all, tensor, data, reduce_tensor, reduce_data;
	char path[4096];

	begin(&rank, number, ranks, pid);
	all = builder_communicator(&rank.builder, number, ranks, 0, 0xa11);
	tensor = builder_communicator(
		&rank.builder, number % TENSOR, TENSOR, 0, 0x10000 + (uint64_t)(number / TENSOR));
	data = builder_communicator(
		&rank.builder, number / TENSOR, ranks / TENSOR, 0, 0x20000 + (uint64_t)(number % TENSOR));
	for (uint64_t i = 0; i < LAUNCHES; i++)
		launches[i] = builder_operation(&rank.builder, rank.functions[LAUNCH], 0, &i);
	reduce_tensor = collective(&rank, ALL_REDUCE, tensor);
	reduce_data = collective(&rank, ALL_REDUCE, data);
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < LAUNCHES; i++) {
			call(&rank, launches[i]);
			if (i % (LAUNCHES / REDUCES) == 0)
				call(&rank, reduce_tensor);
		}
		call(&rank, reduce_data);
	}
	if (strcmp(kind, "exchange") == 0)
		exchange(&rank, number, ranks, all, number == victim ? waiting : number);
	if (is_entered(kind, number, victim, waiting))
		call(&rank, collective(&rank, BROADCAST, all));
	keep_figures(&rank, steps, number == victim);
	builder_finish(&rank.builder);
	snprintf(path, sizeof(path), "%s/job.%d.pmtrace", folder, number);
	builder_save(&rank.builder, path);
	builder_free(&rank.builder);
}

/* The traces begin now; none may end in the future, however fast they are written. */
static void wait_for_end(int ranks, int steps)
{
	const uint64_t ns = (uint64_t)(steps + 1) * STEP_NS + 2 * (uint64_t)ranks * CALL_NS;
	struct timespec rest = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&rest, NULL);
}

int main(int argc, char **argv)
{
	int ranks, steps;

	if (argc < 5 || (ranks = atoi(argv[2])) < TENSOR || ranks % TENSOR || (steps = atoi(argv[3])) < 1)
		errx(2, "usage: hang_ranks FOLDER RANKS STEPS absent|half|exchange [PID]; RANKS in eights");
	for (int number = 0; number < ranks; number++)
		write_rank(argv[1], number, ranks, steps, argv[4], argc > 5 ? atoi(argv[5]) : 0);
	if (argc > 5)
		wait_for_end(ranks, steps);
	return 0;
}
