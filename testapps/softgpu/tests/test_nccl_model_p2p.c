/* Checks sends and receives under the model clock, against simulations of a few lines. */
#include <string.h>
#include <time.h>

#include "test_nccl_model.h"

#define MESSAGE 80000
#define MESSAGE_NS (MESSAGE / BYTES_PER_NS)

static void send(size_t bytes, int to, ncclComm_t comm, cudaStream_t stream)
{
	OK(ncclSend(test_untouchable(bytes), bytes, ncclInt8, to, comm, stream));
}

static void receive(size_t bytes, int from, ncclComm_t comm, cudaStream_t stream)
{
	OK(ncclRecv(test_untouchable(bytes), bytes, ncclInt8, from, comm, stream));
}

/* Whoever is late, both end when the later one's message is through; any size, also nothing. */
static void rendezvous(int rank, int n, ncclUniqueId id, int *shared)
{
	static const size_t sizes[] = {0, 4, MESSAGE, 1 << 30};
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	double wanted = 0;

	(void)shared;
	for (int late = 0; late < 2; late++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			test_pass(stream, rank == late ? 5000 : 3);
			if (rank == 0)
				send(sizes[i], 1, comm, stream);
			else
				receive(sizes[i], 0, comm, stream);
			wanted += 5000 + LATENCY_NS + (double)sizes[i] / BYTES_PER_NS;
			CHECK(test_near(test_time(stream, rank), wanted));
		}
	}
	OK(ncclCommDestroy(comm));
}

#define STAGES 4
#define BATCHES 12

static uint64_t compute_ns(int stage)
{
	return 10000 + 7000 * (uint64_t)(stage % 3);
}

/* The same pipeline, one statement after the other. */
static void simulate_pipeline(uint64_t *stage_ns)
{
	memset(stage_ns, 0, STAGES * sizeof(*stage_ns));
	for (int batch = 0; batch < BATCHES; batch++) {
		for (int stage = 0; stage < STAGES; stage++) {
			if (stage > 0) {
				uint64_t *a = &stage_ns[stage - 1], *b = &stage_ns[stage];

				*a = *b = (*a > *b ? *a : *b) + LATENCY_NS + MESSAGE_NS;
			}
			stage_ns[stage] += compute_ns(stage);
		}
	}
}

static void pipeline(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	uint64_t wanted[STAGES];

	(void)shared;
	for (int batch = 0; batch < BATCHES; batch++) {
		if (rank > 0)
			receive(MESSAGE, rank - 1, comm, stream);
		test_pass(stream, compute_ns(rank));
		if (rank < n - 1)
			send(MESSAGE, rank + 1, comm, stream);
	}
	simulate_pipeline(wanted);
	CHECK(test_time(stream, rank) == START_NS + wanted[rank]);
	OK(ncclCommDestroy(comm));
}

/* Both ways at once, three messages each: the directions do not share, the messages of one do. */
static void exchange(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);

	(void)shared;
	OK(ncclGroupStart());
	for (int i = 0; i < 3; i++) {
		send(MESSAGE, !rank, comm, stream);
		receive(MESSAGE, !rank, comm, stream);
	}
	OK(ncclGroupEnd());
	CHECK(test_time(stream, rank) == START_NS + LATENCY_NS + 3 * MESSAGE_NS);
	/* To itself: a copy, and the others' messages do not wait for it. */
	OK(ncclGroupStart());
	send(MESSAGE, rank, comm, stream);
	receive(MESSAGE, rank, comm, stream);
	OK(ncclGroupEnd());
	CHECK(test_time(stream, rank) == START_NS + LATENCY_NS + 3 * MESSAGE_NS + 2000 + 2 * MESSAGE / 64);
	OK(ncclCommDestroy(comm));
}

/*
 * Everybody to everybody, in an order in which each first message waits for another's second: nobody may wait
 * for the order. Then the same in the shifted order of libraries, which is as long as the port is busy.
 */
static void everybody(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);

	(void)shared;
	OK(ncclGroupStart());
	for (int i = 1; i < n; i++)
		send(MESSAGE, (rank + i) % n, comm, stream);
	for (int i = 1; i < n; i++)
		receive(MESSAGE, (rank + i) % n, comm, stream);
	OK(ncclGroupEnd());
	CHECK(test_time(stream, rank) == START_NS + LATENCY_NS + (uint64_t)(n - 1) * MESSAGE_NS);
	OK(ncclGroupStart());
	for (int i = 0; i < n; i++) {
		send(MESSAGE, (rank + i) % n, comm, stream);
		receive(MESSAGE, (rank + n - i) % n, comm, stream);
	}
	OK(ncclGroupEnd());
	CHECK(test_time(stream, rank) == START_NS + 2 * (LATENCY_NS + (uint64_t)(n - 1) * MESSAGE_NS));
	OK(ncclCommDestroy(comm));
}

/* Rank 1 is late; rank 0 sends to it and to 2: 2 has its message when the port has been through the first. */
static void one_is_late(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	uint64_t wanted = LATENCY_NS + 2 * MESSAGE_NS, late = 1000000;

	(void)shared;
	if (rank == 1)
		test_pass(stream, late);
	if (rank == 0) {
		OK(ncclGroupStart());
		send(MESSAGE, 1, comm, stream);
		send(MESSAGE, 2, comm, stream);
		OK(ncclGroupEnd());
	} else {
		receive(MESSAGE, 0, comm, stream);
	}
	if (rank != 2)
		wanted = late + LATENCY_NS + MESSAGE_NS;
	CHECK(test_time(stream, rank) == START_NS + wanted);
	OK(ncclCommDestroy(comm));
}

/* Over the links of the job, not of the communicator. */
static void over_split(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id), rest;

	(void)shared;
	OK(ncclCommSplit(comm, rank < 2 ? -1 : 0, rank, &rest, NULL));
	if (rank == 2)
		send(4, 1, rest, stream);
	if (rank == 3)
		receive(4, 0, rest, stream);
	CHECK(test_time(stream, rank) == START_NS + (rank < 2 ? 0 : 2003));
	OK(ncclCommDestroy(rest));
	OK(ncclCommDestroy(comm));
}

static void length_mismatch(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	ncclResult_t state;

	(void)shared;
	if (rank == 0)
		send(400, 1, comm, stream);
	else
		receive(404, 0, comm, stream);
	OK(cudaStreamSynchronize(stream));
	OK(ncclCommGetAsyncError(comm, &state));
	EXPECT(state, ncclInvalidUsage);
	OK(ncclCommDestroy(comm));
}

/* Rank 2 has done its part and ends; a message among the others that comes much later is none of its
 * business. */
static void somebody_left(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	ncclResult_t state;

	(void)shared;
	if (rank == 1)
		nanosleep(&(struct timespec){1, 500000000}, NULL);
	if (rank == 1)
		send(4, 0, comm, stream);
	if (rank == 0)
		receive(4, 1, comm, stream);
	OK(cudaStreamSynchronize(stream));
	OK(ncclCommGetAsyncError(comm, &state));
	EXPECT(state, ncclSuccess);
	OK(ncclCommDestroy(comm));
}

void test_messages(void)
{
	run_ranks(rendezvous, 2, NULL);
	run_ranks(pipeline, STAGES, NULL);
	run_ranks(exchange, 2, NULL);
	run_ranks(everybody, 3, NULL);
	run_ranks(everybody, 8, NULL);
	run_ranks(one_is_late, 3, NULL);
	run_ranks(length_mismatch, 2, NULL);
	run_ranks(somebody_left, 3, NULL);
	test_link = test_tagged;
	run_ranks(over_split, 4, NULL);
	test_link = test_flat;
}
