/*
 * Checks the stand-in NCCL under the model clock: collectives end at the same nanosecond on all ranks, after
 * the durations that simulated rings and hand-made sums give, without touching a large buffer; that small
 * data moves all the same; and that data, errors, aborts and graphs are as they were.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "test_nccl_model.h"

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, GATHER, SCATTER, CALLS };

static const size_t sizes[] = {4, 1000, 65536, 1 << 20, 1 << 26, 1 << 30};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void call(int which, void *a, size_t bytes, int root, ncclComm_t comm, cudaStream_t stream)
{
	size_t n = bytes / 4;

	switch (which) {
	case ALL_REDUCE:
		OK(ncclAllReduce(a, a, n, ncclFloat32, ncclSum, comm, stream));
		break;
	case ALL_GATHER:
		OK(ncclAllGather(a, a, n, ncclFloat32, comm, stream));
		break;
	case REDUCE_SCATTER:
		OK(ncclReduceScatter(a, a, n, ncclFloat32, ncclSum, comm, stream));
		break;
	case BROADCAST:
		OK(ncclBroadcast(a, a, n, ncclFloat32, root, comm, stream));
		break;
	case REDUCE:
		OK(ncclReduce(a, a, n, ncclFloat32, ncclSum, root, comm, stream));
		break;
	case ALL_TO_ALL:
		OK(ncclAlltoAll(a, a, n, ncclFloat32, comm, stream));
		break;
	case GATHER:
		OK(ncclGather(a, a, n, ncclFloat32, root, comm, stream));
		break;
	default:
		OK(ncclScatter(a, a, n, ncclFloat32, root, comm, stream));
	}
}

/* Ranks come at different times. */
static uint64_t late_ns(int rank)
{
	return (uint64_t)(rank * 7919 % 13) * 1000 + (uint64_t)rank;
}

static uint64_t latest_ns(int rank_count)
{
	uint64_t latest = 0;

	for (int i = 0; i < rank_count; i++)
		latest = late_ns(i) > latest ? late_ns(i) : latest;
	return latest;
}

/* ---- what a collective should take ---- */

/* Equal links: sums by hand. */
static double flat_ns(int which, int n, double bytes)
{
	double ring = 2 * (n - 1) * (LATENCY_NS + bytes / n / BYTES_PER_NS), tree;
	int levels = 0;

	while (2 << levels <= n)
		levels++;
	tree = 2 * levels * LATENCY_NS + 2 * bytes / BYTES_PER_NS;
	switch (which) {
	case ALL_REDUCE:
		return ring < tree ? ring : tree;
	case ALL_GATHER:
	case REDUCE_SCATTER:
		return (n - 1) * (LATENCY_NS + bytes / BYTES_PER_NS);
	case BROADCAST:
	case REDUCE:
		return (n - 1) * LATENCY_NS + bytes / BYTES_PER_NS;
	default:
		return LATENCY_NS + (n - 1) * bytes / BYTES_PER_NS;
	}
}

/* A ring step by step: a rank hands on what it got in the step before, once its link is free. */
static double ring_ns(int n, int steps, double bytes)
{
	double now[TEST_RANKS] = {0}, next[TEST_RANKS], end = 0;

	for (int step = 0; step < steps; step++) {
		for (int to = 0; to < n; to++) {
			int from = (to + n - 1) % n;
			struct sg_link link = test_link(from, to);

			next[to] = (now[from] > now[to] ? now[from] : now[to]) + link.latency_ns +
				   bytes / link.bytes_per_ns;
		}
		memcpy(now, next, sizeof(now));
	}
	for (int i = 0; i < n; i++)
		end = now[i] > end ? now[i] : end;
	return end;
}

/* A chain of n ranks from `first` on, the message in many pieces: pieces follow each other, latencies
 * overlap. */
static double chain_ns(int n, int first, double bytes)
{
	enum { PIECES = 20000 };
	double left[TEST_RANKS] = {0}, came = 0;

	for (int piece = 0; piece < PIECES; piece++) {
		came = 0;
		for (int i = 0; i < n - 1; i++) {
			struct sg_link link = test_link((first + i) % n, (first + i + 1) % n);

			left[i] = (came > left[i] ? came : left[i]) + bytes / PIECES / link.bytes_per_ns;
			came = left[i] + link.latency_ns;
		}
	}
	return came;
}

/* ---- durations ---- */

static void flat_durations(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	void *a = test_untouchable((size_t)1 << 30);
	double wanted = 0;

	(void)shared;
	for (size_t i = 0; i < SIZES; i++) {
		for (int which = 0; which < CALLS; which++) {
			uint64_t before = test_time(stream, rank), end;

			test_pass(stream, late_ns(rank));
			call(which, a, sizes[i], (int)i % n, comm, stream);
			end = test_time(stream, rank);
			wanted = (double)latest_ns(n) + flat_ns(which, n, (double)sizes[i]);
			if (!test_near(START_NS + (end - before), wanted)) {
				fprintf(stderr, "call %d of %d ranks, %zu bytes\n", which, n, sizes[i]);
				exit(1);
			}
		}
	}
	CHECK(test_told(rank) == CALLS * (int)SIZES);
	OK(ncclCommDestroy(comm));
}

/* One link is slow: everything that goes over it waits for it, what does not, does not. */
static void broken_link(int rank, int n, ncclUniqueId id, int *shared)
{
	const double bytes = 1 << 26, fast = bytes / BYTES_PER_NS, slow = 16 * fast;
	const struct {
		int which, root;
		double wanted;
	} cases[] = {
		{ALL_REDUCE, 0, ring_ns(n, 2 * (n - 1), bytes / n)},
		{ALL_GATHER, 0, ring_ns(n, n - 1, bytes)},
		{REDUCE_SCATTER, 0, ring_ns(n, n - 1, bytes)},
		{BROADCAST, 0, chain_ns(n, 0, bytes)},
		{BROADCAST, 3, (n - 1) * LATENCY_NS + fast},
		{REDUCE, 2, (n - 1) * LATENCY_NS + fast},
		{REDUCE, 0, chain_ns(n, 1, bytes)},
		{ALL_TO_ALL, 0, 7 * LATENCY_NS + (n - 2) * fast + slow},
		{GATHER, 3, 7 * LATENCY_NS + (n - 2) * fast + slow},
		{GATHER, 2, LATENCY_NS + (n - 1) * fast},
		{SCATTER, 2, 7 * LATENCY_NS + (n - 2) * fast + slow},
		{SCATTER, 3, LATENCY_NS + (n - 1) * fast},
	};
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	void *a = test_untouchable((size_t)bytes);

	(void)shared;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before = test_time(stream, rank);
		double took;

		call(cases[i].which, a, (size_t)bytes, cases[i].root, comm, stream);
		took = (double)(test_time(stream, rank) - before);
		/* The simulated chain has pieces of some size. */
		if (took < 0.999 * cases[i].wanted - 1 || took > 1.001 * cases[i].wanted + 1) {
			fprintf(stderr, "case %zu: %.1f ns, not %.1f ns\n", i, took, cases[i].wanted);
			exit(1);
		}
	}
}

/* Everybody's way to rank 1 is slow: its port in is what all wait for. */
static struct sg_link slow_entrance(int from, int to)
{
	(void)from;
	return (struct sg_link){LATENCY_NS, to == 1 ? BYTES_PER_NS / 16.0 : BYTES_PER_NS};
}

static void entrance(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);

	(void)shared;
	call(ALL_TO_ALL, test_untouchable(64000), 64000, 0, comm, stream);
	CHECK(test_near(test_time(stream, rank), LATENCY_NS + (n - 1) * 64000 / (BYTES_PER_NS / 16.0)));
}

/* What is small moves without numerics too, at no time of its own; a sum of more than SG_REDUCED_BYTES does
 * not. */
static void small_data(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	float *a = test_untouchable(1 << 20), *b = test_untouchable(1 << 20);
	uint64_t end_ns;

	(void)shared;
	for (int i = 0; i < 20000; i++)
		a[i] = (float)(rank + 1);
	OK(ncclAllReduce(a, b, 1024, ncclFloat32, ncclSum, comm, stream));
	end_ns = test_time(stream, rank);
	CHECK(test_near(end_ns, flat_ns(ALL_REDUCE, n, 4096)));
	CHECK((int)b[0] == n * (n + 1) / 2 && (int)b[1023] == n * (n + 1) / 2);
	OK(ncclAllReduce(a, b, 1025, ncclFloat32, ncclMax, comm, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK((int)b[0] == n * (n + 1) / 2);
	OK(ncclBroadcast(a, b, 16384, ncclFloat32, 1, comm, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK((int)b[0] == 2 && (int)b[16383] == 2);
	OK(ncclAllGather(a, b, 16384, ncclFloat32, comm, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK((int)b[0] == 1 && (int)b[16384 * n - 1] == n);
	OK(ncclGroupStart());
	OK(ncclSend(a, 16384, ncclFloat32, (rank + 1) % n, comm, stream));
	OK(ncclRecv(b, 16384, ncclFloat32, (rank + n - 1) % n, comm, stream));
	OK(ncclGroupEnd());
	OK(cudaStreamSynchronize(stream));
	CHECK((int)b[16383] == (rank + n - 1) % n + 1);
}

/* Objects move as bytes up to SG_OBJECT_BYTES; other types of that size, and sums, do not. */
static void objects(int rank, int n, ncclUniqueId id, int *shared)
{
	const size_t size = SG_OBJECT_BYTES;
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	char *a = malloc(size), *b = calloc((size_t)n, size);
	void *apart = test_untouchable(2 * size);

	(void)shared;
	memset(a, rank + 1, size);
	OK(ncclBroadcast(a, b, size, ncclUint8, 1, comm, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK(b[0] == 2 && b[size - 1] == 2);
	OK(ncclAllGather(a, b, size, ncclUint8, comm, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK(b[0] == 1 && b[size * (size_t)n - 1] == n);
	OK(ncclGroupStart());
	OK(ncclSend(a, size, ncclUint8, (rank + 1) % n, comm, stream));
	OK(ncclRecv(b, size, ncclUint8, (rank + n - 1) % n, comm, stream));
	OK(ncclGroupEnd());
	OK(cudaStreamSynchronize(stream));
	CHECK(b[size - 1] == (rank + n - 1) % n + 1);
	OK(ncclBroadcast(apart, apart, size + 1, ncclUint8, 1, comm, stream));
	OK(ncclBroadcast(apart, apart, size / 4, ncclFloat32, 1, comm, stream));
	OK(ncclBroadcast(apart, apart, size, ncclInt8, 1, comm, stream));
	OK(ncclAllReduce(apart, apart, size, ncclUint8, ncclSum, comm, stream));
	OK(cudaStreamSynchronize(stream));
	free(a);
	free(b);
	OK(ncclCommDestroy(comm));
}

/* Four nodes of four, whose ranks the communicator has in another order: the ring and the tree go node by
 * node all the same. */
static void several_nodes(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream;
	ncclComm_t comm, mixed;
	double wanted;
	void *a;

	(void)shared;
	a = test_untouchable(1 << 30);
	comm = test_comm(rank, n, id);
	OK(ncclCommSplit(comm, 0, rank * 5 % n, &mixed, NULL));
	stream = test_rank_stream(rank);
	call(ALL_REDUCE, a, 1 << 30, 0, mixed, stream);
	wanted = ring_ns(n, 2 * (n - 1), (double)(1 << 30) / n);
	CHECK(test_near(test_time(stream, rank), wanted));
	/* Rank 15 is below 7, that below 3, that below 1 and that below 0: two of the links are between
	 * nodes. */
	call(ALL_REDUCE, a, 4, 0, mixed, stream);
	wanted += 2 * (2 * LATENCY_NS + 2 * 5 * LATENCY_NS) + 2 * 4 / (BYTES_PER_NS / 8.0);
	CHECK(test_near(test_time(stream, rank), wanted));
}

static void alone(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	char *a = test_untouchable(1 << 20);

	(void)shared;
	call(ALL_REDUCE, a, 64000, 0, comm, stream);
	CHECK(test_time(stream, rank) == START_NS);
	OK(ncclAllReduce(a, a + 64000, 16000, ncclFloat32, ncclSum, comm, stream));
	CHECK(test_time(stream, rank) == START_NS + 2000 + 2 * 1000);
	OK(ncclCommDestroy(comm));
}

/* ---- threads, streams, graphs ---- */

struct member {
	pthread_t thread;
	int rank, count;
	ncclUniqueId id;
};

static void *be_member(void *arg)
{
	const struct member *member = arg;
	cudaStream_t stream;
	ncclComm_t comm;
	void *a = test_untouchable(1 << 20);

	OK(cudaSetDevice(member->rank));
	stream = test_rank_stream(member->rank);
	comm = test_comm(member->rank, member->count, member->id);
	for (int i = 1; i <= 100; i++) {
		test_pass(stream, late_ns((member->rank + i) % member->count));
		call(ALL_REDUCE, a, 960000, 0, comm, stream);
		CHECK(test_near(test_time(stream, member->rank),
			i * ((double)latest_ns(member->count) + flat_ns(ALL_REDUCE, member->count, 960000))));
	}
	OK(ncclCommDestroy(comm));
	return NULL;
}

static void threads(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	struct member members[5];

	(void)rank, (void)rank_count, (void)shared;
	for (int i = 0; i < 5; i++) {
		members[i] = (struct member){.rank = i, .count = 5, .id = id};
		CHECK(pthread_create(&members[i].thread, NULL, be_member, &members[i]) == 0);
	}
	for (int i = 0; i < 5; i++)
		pthread_join(members[i].thread, NULL);
}

/* Two communicators of the same devices, on a stream each, called in another order by each rank. */
static void two_communicators(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t streams[2] = {test_rank_stream(rank), test_rank_stream(2 + rank)};
	ncclComm_t comms[2] = {test_comm(rank, n, id), NULL};
	/* each its own: what is small is really moved */
	void *data[2] = {test_untouchable(4096), test_untouchable(4096)};

	(void)shared;
	OK(ncclCommSplit(comms[0], 0, rank, &comms[1], NULL));
	for (int i = 0; i < 20; i++) {
		call(ALL_REDUCE, data[rank & 1], 4096, 0, comms[rank & 1], streams[rank & 1]);
		call(ALL_REDUCE, data[~rank & 1], 4096, 0, comms[~rank & 1], streams[~rank & 1]);
	}
	OK(cudaDeviceSynchronize());
	CHECK(test_told(rank) == 20 && test_told(2 + rank) == 20);
	OK(ncclCommDestroy(comms[1]));
	OK(ncclCommDestroy(comms[0]));
}

/* A captured collective and a captured message take their time in each launch. */
static void captured(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	cudaGraphExec_t executable;
	cudaGraph_t graph;
	void *a = test_untouchable(1 << 20);

	(void)shared;
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	call(ALL_REDUCE, a, 960000, 0, comm, stream);
	if (rank == 0)
		OK(ncclSend(a, 400, ncclInt8, 1, comm, stream));
	if (rank == 1)
		OK(ncclRecv(a, 400, ncclInt8, 0, comm, stream));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 3; i++) {
		test_pass(stream, late_ns(rank));
		OK(cudaGraphLaunch(executable, stream));
	}
	CHECK(late_ns(2) > late_ns(1) + LATENCY_NS + 100);
	CHECK(test_near(test_time(stream, rank), 3 * ((double)latest_ns(n) + flat_ns(ALL_REDUCE, n, 960000)) +
							 (rank < 2 ? LATENCY_NS + 100 : 0)));
	OK(cudaGraphExecDestroy(executable));
	OK(cudaGraphDestroy(graph));
	OK(ncclCommDestroy(comm));
}

/* ---- as before ---- */

static void expect_state(ncclComm_t comm, ncclResult_t wanted)
{
	ncclResult_t state;

	OK(ncclCommGetAsyncError(comm, &state));
	EXPECT(state, wanted);
}

static void with_data(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	uint64_t before;
	float *a;

	(void)shared;
	OK(cudaMalloc((void **)&a, 1 << 20));
	check_collectives(comm, rank, n, stream, 0);
	before = test_time(stream, rank);
	call(ALL_REDUCE, a, 1 << 20, 0, comm, stream);
	CHECK(test_near(START_NS + test_time(stream, rank) - before, flat_ns(ALL_REDUCE, n, 1 << 20)));
	OK(ncclCommDestroy(comm));
}

static void operation_mismatch(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	void *a = test_untouchable(4096);

	(void)shared;
	call(ALL_REDUCE, a, rank == 0 ? 400 : 404, 0, comm, stream);
	CHECK(test_time(stream, rank) == START_NS);
	expect_state(comm, ncclInvalidUsage);
	OK(ncclCommDestroy(comm));
}

/* Rank 0 aborts while the others wait in a collective and for a message. */
static void aborted(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	void *a = test_untouchable(4096);

	call(ALL_REDUCE, a, 4, 0, comm, stream);
	OK(cudaStreamSynchronize(stream));
	if (rank == 0) {
		while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) < n - 1)
			sched_yield();
		OK(ncclCommAbort(comm));
		return;
	}
	if (rank == 1)
		call(ALL_REDUCE, a, 4, 0, comm, stream);
	else
		OK(ncclRecv(a, 1000, ncclFloat32, 0, comm, stream));
	__atomic_fetch_add(shared, 1, __ATOMIC_RELEASE);
	OK(cudaStreamSynchronize(stream));
	expect_state(comm, ncclRemoteError);
	OK(ncclCommAbort(comm));
}

static void died(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	void *a = test_untouchable(4096);

	(void)shared;
	if (rank == 1)
		raise(SIGKILL);
	call(ALL_REDUCE, a, 4, 0, comm, stream);
	OK(cudaStreamSynchronize(stream));
	expect_state(comm, ncclRemoteError);
	OK(ncclCommAbort(comm));
}

/* Many ranks on few cores. */
static void crowd(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm = test_comm(rank, n, id);
	void *a = test_untouchable(1 << 20);

	(void)shared;
	for (int i = 1; i <= 50; i++) {
		test_pass(stream, late_ns((rank + i) % n));
		call(ALL_REDUCE, a, 1 << 20, 0, comm, stream);
	}
	CHECK(test_near(
		test_time(stream, rank), 50 * ((double)latest_ns(n) + flat_ns(ALL_REDUCE, n, 1 << 20))));
	OK(ncclCommDestroy(comm));
}

int main(void)
{
	static const int one_killed[] = {0, -SIGKILL, 0};

	unsetenv("RANK");
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("SLURM_PROCID");
	run_ranks(alone, 1, NULL);
	for (int n = 2; n <= 9; n++)
		run_ranks(flat_durations, n, NULL);
	run_ranks(small_data, 3, NULL);
	run_ranks(objects, 3, NULL);
	run_ranks(threads, 1, NULL);
	run_ranks(two_communicators, 2, NULL);
	run_ranks(captured, 3, NULL);
	run_ranks(operation_mismatch, 3, NULL);
	run_ranks(aborted, 3, NULL);
	run_ranks(died, 3, one_killed);
	run_ranks(crowd, TEST_RANKS, NULL);
	test_link = test_broken;
	run_ranks(broken_link, 5, NULL);
	test_link = slow_entrance;
	run_ranks(entrance, 4, NULL);
	test_link = test_nodes;
	run_ranks(several_nodes, 16, NULL);
	test_link = test_flat;
	test_places();
	test_messages();
	test_numerics = 1;
	run_ranks(with_data, 3, NULL);
	return 0;
}
