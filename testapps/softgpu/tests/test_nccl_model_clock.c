/* A clock that stands still, in place of softgpu's, and links of the test's own. */
#include <stdatomic.h>
#include <sys/mman.h>

#include "test_nccl_model.h"

int test_numerics;
struct sg_link (*test_link)(int from, int to) = test_flat;

struct sg_link test_flat(int from, int to)
{
	(void)from, (void)to;
	return (struct sg_link){LATENCY_NS, BYTES_PER_NS};
}

struct sg_link test_nodes(int from, int to)
{
	if (from / 4 == to / 4)
		return test_flat(from, to);
	return (struct sg_link){5 * LATENCY_NS, BYTES_PER_NS / 8.0};
}

struct sg_link test_broken(int from, int to)
{
	if (from == 2 && to == 3)
		return (struct sg_link){7 * LATENCY_NS, BYTES_PER_NS / 16.0};
	return test_flat(from, to);
}

struct sg_link test_tagged(int from, int to)
{
	return (struct sg_link){1000 * from + to, 1e12};
}

/* ---- what NCCL calls: the program's own come before the library's ---- */

#define EXPORTED __attribute__((visibility("default")))

static uint64_t time_ns[TEST_RANKS];
static int told[TEST_RANKS];
static __thread int worker_rank = -1;

EXPORTED int sg_modelled(void)
{
	return 1;
}

EXPORTED int sg_numerics(void)
{
	return test_numerics;
}

EXPORTED uint64_t sg_cost_ns(int device, const struct sg_cost *cost)
{
	(void)device;
	return 2000 + (uint64_t)(cost->bytes / 64);
}

EXPORTED uint64_t sg_work_begin(void)
{
	CHECK(worker_rank >= 0);
	return time_ns[worker_rank];
}

EXPORTED void sg_work_end(uint64_t end_ns)
{
	CHECK(end_ns >= time_ns[worker_rank]);
	time_ns[worker_rank] = end_ns;
	told[worker_rank]++;
}

EXPORTED struct sg_link sg_link_between(int rank, int other)
{
	CHECK(rank != other);
	return test_link(rank, other);
}

/* ---- what the tests call ---- */

static void be_rank(void *arg)
{
	worker_rank = *(int *)arg;
	time_ns[worker_rank] = START_NS;
}

static void pass(void *arg)
{
	time_ns[worker_rank] += *(uint64_t *)arg;
}

cudaStream_t test_rank_stream(int rank)
{
	cudaStream_t stream;

	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(sg_submit(stream, be_rank, &rank, sizeof(rank)));
	return stream;
}

void test_pass(cudaStream_t stream, uint64_t ns)
{
	OK(sg_submit(stream, pass, &ns, sizeof(ns)));
}

uint64_t test_time(cudaStream_t stream, int rank)
{
	OK(cudaStreamSynchronize(stream));
	return time_ns[rank];
}

int test_told(int rank)
{
	return told[rank];
}

void *test_untouchable(size_t size)
{
	size_t small = SG_MOVED_BYTES * TEST_RANKS;
	char *memory =
		mmap(NULL, small + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK(mprotect(memory, small, PROT_READ | PROT_WRITE) == 0);
	return memory;
}

ncclComm_t test_comm(int rank, int rank_count, ncclUniqueId id)
{
	ncclComm_t comm;

	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	return comm;
}

int test_near(uint64_t got_ns, double wanted_ns)
{
	double difference = (double)(got_ns - START_NS) - wanted_ns;

	if (difference >= -1 && difference <= 1)
		return 1;
	fprintf(stderr, "%.1f ns, not %.1f ns\n", (double)(got_ns - START_NS), wanted_ns);
	return 0;
}
