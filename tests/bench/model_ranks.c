/*
 * A data-parallel job of nothing but its timing, for model_ranks.sh: RANKS processes, each of whose
 * iterations are LAYERS kernels of LAYER_US by the model clock, an all-reduce of BYTES after each, and a
 * synchronisation. Rank 0 prints the modelled time of an iteration and the median that the hosts got, in us,
 * and the time from the first fork until all ranks had their communicator, in ms.
 *
 * The modelled time is that between two events round an iteration which was queued after a long kernel: no
 * host is in it.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "../called.h"
#include "core/sg.h"

#define ITERATIONS 21

struct job {
	int ranks, layers;
	double layer_us;
	size_t bytes;
};

static void nothing(void *arg)
{
	(void)arg;
}

/* Bytes that a memory-bound kernel reads in that time. */
static struct sg_cost cost_of(double time_us)
{
	struct sg_cost cost = {.kind = SG_COST_VECTOR};
	double step = 1e15;

	for (; step >= 1; step /= 2) {
		cost.bytes += step;
		if ((double)sg_cost_ns(0, &cost) > time_us * 1000)
			cost.bytes -= step;
	}
	return cost;
}

static void queue_iteration(const struct job *job, ncclComm_t comm, void *gradients, cudaStream_t stream)
{
	struct sg_cost cost = cost_of(job->layer_us);

	for (int layer = 0; layer < job->layers; layer++) {
		CHECK(sg_submit_cost(stream, &cost, nothing, NULL, 0));
		CHECK(ncclAllReduce(gradients, gradients, job->bytes / sizeof(float), ncclFloat32, ncclSum,
			comm, stream));
	}
}

static double modelled_us(const struct job *job, ncclComm_t comm, void *gradients, cudaStream_t stream)
{
	struct sg_cost longer = cost_of(200000 + 100.0 * job->ranks * job->layers);
	cudaEvent_t begin, end;
	float ms;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(sg_submit_cost(stream, &longer, nothing, NULL, 0));
	/* All ranks' kernels have ended when this has, so the next waits for nobody. */
	CHECK(ncclAllReduce(gradients, gradients, 1, ncclFloat32, ncclSum, comm, stream));
	CHECK(cudaEventRecord(begin, stream));
	queue_iteration(job, comm, gradients, stream);
	CHECK(cudaEventRecord(end, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	return (double)ms * 1000;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void run_rank(const struct job *job, int rank, const ncclUniqueId *id, uint64_t begin_ns)
{
	double times_us[ITERATIONS], modelled, start_ms;
	cudaStream_t stream;
	ncclComm_t comm;
	void *gradients;
	uint64_t before_ns;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&gradients, job->bytes));
	CHECK(ncclCommInitRank(&comm, job->ranks, *id, rank));
	start_ms = (double)(sg_now_ns() - begin_ns) / 1e6;
	modelled = modelled_us(job, comm, gradients, stream);
	before_ns = sg_now_ns();
	for (int i = 0; i < ITERATIONS; i++) {
		queue_iteration(job, comm, gradients, stream);
		CHECK(cudaStreamSynchronize(stream));
		times_us[i] = (double)(sg_now_ns() - before_ns) / 1000;
		before_ns = sg_now_ns();
	}
	qsort(times_us, ITERATIONS, sizeof(times_us[0]), by_value);
	if (rank == 0)
		printf("%.1f %.1f %.1f\n", modelled, times_us[ITERATIONS / 2], start_ms);
	CHECK(ncclCommDestroy(comm));
}

int main(int argc, char **argv)
{
	struct job job;
	uint64_t begin_ns = sg_now_ns();
	ncclUniqueId id;
	int failed = 0;

	if (argc != 5)
		errx(2, "usage: model_ranks RANKS LAYERS LAYER_US BYTES");
	job = (struct job){atoi(argv[1]), atoi(argv[2]), atof(argv[3]), (size_t)atoll(argv[4])};
	CHECK(ncclGetUniqueId(&id));
	for (int rank = 0; rank < job.ranks; rank++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0) {
			char text[16];

			snprintf(text, sizeof(text), "%d", rank);
			setenv("RANK", text, 1);
			run_rank(&job, rank, &id, begin_ns);
			exit(0);
		}
	}
	for (int rank = 0; rank < job.ranks; rank++) {
		int status;

		if (wait(&status) < 0 || status != 0)
			failed = 1;
	}
	return failed;
}
