/* Checks which rank of the job the stand-in NCCL takes a communicator's rank for. */
#include "test_nccl_model.h"

/* What a broadcast from the communicator's rank 0 to its rank 1 says of who they are. */
static void expect_link(ncclComm_t comm, int rank, cudaStream_t stream, int from, int to)
{
	uint64_t before = test_time(stream, rank);
	void *a = test_untouchable(4096);

	OK(ncclBroadcast(a, a, 1024, ncclFloat32, 0, comm, stream));
	if (test_time(stream, rank) - before != (uint64_t)(1000 * from + to)) {
		fprintf(stderr, "link %d, not from %d to %d\n", (int)(test_time(stream, rank) - before), from,
			to);
		exit(1);
	}
}

static void set_rank(const char *name, int rank)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", rank);
	setenv(name, text, 1);
}

/* A process per GPU, but this is only the communicator of two of them. */
static void part_of_a_job(int rank, int n, ncclUniqueId id, int *shared)
{
	(void)shared;
	set_rank("SLURM_PROCID", 1);
	set_rank("OMPI_COMM_WORLD_RANK", 5 + 4 * rank);
	OK(cudaSetDevice(rank));
	expect_link(test_comm(rank, n, id), rank, test_rank_stream(rank), 5, 9);
}

/* Processes that nobody numbered; then a split into pairs, in reversed order. */
static void without_numbers(int rank, int n, ncclUniqueId id, int *shared)
{
	cudaStream_t stream = test_rank_stream(rank);
	ncclComm_t comm, pair, again;
	int first = rank / 2 * 2;

	(void)shared;
	comm = test_comm(rank, n, id);
	OK(ncclCommSplit(comm, rank / 2, -rank, &pair, NULL));
	expect_link(pair, rank, stream, first + 1, first);
	OK(ncclCommSplit(pair, 0, rank, &again, NULL));
	expect_link(again, rank, stream, first, first + 1);
}

/* Two processes with two GPUs each, in a strange order; then a communicator of one GPU of each, by itself. */
static void several_gpus(int rank, int n, ncclUniqueId id, int *shared)
{
	static const int ranks[2][2] = {{3, 0}, {1, 2}};
	cudaStream_t streams[2];
	ncclComm_t comms[2], halves[2];

	(void)shared, (void)n;
	set_rank("RANK", rank);
	OK(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		OK(cudaSetDevice(4 + i));
		OK(ncclCommInitRank(&comms[i], 4, id, ranks[rank][i]));
	}
	OK(ncclGroupEnd());
	OK(ncclGroupStart());
	for (int i = 0; i < 2; i++)
		OK(ncclCommSplit(comms[i], i, rank, &halves[i], NULL));
	OK(ncclGroupEnd());
	for (int i = 0; i < 2; i++) {
		OK(cudaSetDevice(4 + i));
		streams[i] = test_rank_stream(2 * rank + i);
		expect_link(halves[i], 2 * rank + i, streams[i], i, 2 + i);
	}
}

void test_places(void)
{
	test_link = test_tagged;
	run_ranks(part_of_a_job, 2, NULL);
	run_ranks(without_numbers, 4, NULL);
	run_ranks(several_gpus, 2, NULL);
	test_link = test_flat;
}
