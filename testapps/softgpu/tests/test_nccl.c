/* Checks the stand-in NCCL: ranks as processes, threads and devices of one thread; starts, splits, errors,
 * aborts, deaths. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_common.h"
#include "test_nccl.h"

/* The vendor's header does not say that these take nothing. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/* The head of ncclConfig_t, which softgpu's own header does not spell out. */
struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
	int rest[30];
};

static void config_init(struct config *config, int blocking)
{
	memset(config, 0, sizeof(*config));
	config->size = 96;
	config->magic = 0xcafebeef;
	config->version = 22800;
	config->blocking = blocking;
}

/* ---- processes ---- */

static void all_of_it(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	cudaStream_t stream;
	ncclComm_t comm;
	ncclResult_t state;
	int number;

	(void)shared;
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	OK(ncclCommCount(comm, &number));
	CHECK(number == rank_count);
	OK(ncclCommUserRank(comm, &number));
	CHECK(number == rank);
	OK(ncclCommCuDevice(comm, &number));
	CHECK(number == 0);
	check_collectives(comm, rank, rank_count, stream, 1);
	check_collectives(comm, rank, rank_count, NULL, 0);
	OK(ncclCommGetAsyncError(comm, &state));
	OK(state);
	OK(ncclCommFinalize(comm));
	EXPECT(ncclAllReduce(&state, &state, 1, ncclInt32, ncclSum, comm, stream), ncclInvalidUsage);
	OK(ncclCommDestroy(comm));
	OK(cudaStreamDestroy(stream));
}

/* Two groups of alternate ranks, in reversed order; rank 0 also stays out once; then without rank 1. */
static void split_and_shrink(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm, half, none, rest;
	int number, count, exclude = 1;

	(void)shared;
	OK(ncclCommInitRankScalable(&comm, rank_count, rank, 1, &id, NULL));
	OK(ncclCommSplit(comm, rank % 2, -rank, &half, NULL));
	OK(ncclCommCount(half, &count));
	CHECK(count == (rank_count + 1 - rank % 2) / 2);
	OK(ncclCommUserRank(half, &number));
	CHECK(number == count - 1 - rank / 2);
	check_collectives(half, number, count, NULL, 0);
	for (int i = 0; i < 3; i++) {
		OK(ncclCommSplit(comm, rank == i ? -1 : 0, rank, &none, NULL));
		CHECK((none == NULL) == (rank == i));
		if (none != NULL)
			OK(ncclCommDestroy(none));
	}
	if (rank != 1) {
		OK(ncclCommShrink(comm, &exclude, 1, &rest, NULL, 0));
		OK(ncclCommUserRank(rest, &number));
		CHECK(number == (rank > 1 ? rank - 1 : 0));
		check_collectives(rest, number, rank_count - 1, NULL, 0);
		OK(ncclCommDestroy(rest));
	}
	OK(ncclCommDestroy(half));
	OK(ncclCommDestroy(comm));
}

static void not_blocking(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	struct config config;
	ncclComm_t comm;
	ncclResult_t state = ncclInProgress;

	(void)shared;
	config_init(&config, 0);
	state = ncclCommInitRankConfig(&comm, rank_count, id, rank, (ncclConfig_t *)(void *)&config);
	CHECK(state == ncclSuccess || state == ncclInProgress);
	while (state == ncclInProgress)
		OK(ncclCommGetAsyncError(comm, &state));
	OK(state);
	check_collectives(comm, rank, rank_count, NULL, 0);
	OK(ncclCommDestroy(comm));
	config.magic = 1;
	EXPECT(ncclCommInitRankConfig(&comm, rank_count, id, rank, (ncclConfig_t *)(void *)&config),
		ncclInvalidArgument);
}

/* Rank 2 counts one rank more than the others; nobody may wait for ever. */
static void count_mismatch(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm;

	(void)shared;
	EXPECT(ncclCommInitRank(&comm, rank_count + (rank == 2), id, rank), ncclInvalidUsage);
	CHECK(comm == NULL);
}

static void duplicate_rank(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm;

	(void)shared;
	EXPECT(ncclCommInitRank(&comm, rank_count, id, rank == 2 ? 1 : rank), ncclInvalidUsage);
}

static void rank_out_of_range(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm;

	(void)shared;
	EXPECT(ncclCommInitRank(&comm, rank_count, id, rank == 1 ? 7 : rank),
		rank == 1 ? ncclInvalidArgument : ncclInvalidUsage);
}

/* Different operations at the same time are noticed by all. */
static void operation_mismatch(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm;
	ncclResult_t state;
	float *a;

	(void)shared;
	OK(cudaMalloc((void **)&a, 4000));
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	OK(ncclAllReduce(a, a, rank == 0 ? 100 : 101, ncclFloat32, ncclSum, comm, NULL));
	OK(cudaStreamSynchronize(NULL));
	OK(ncclCommGetAsyncError(comm, &state));
	EXPECT(state, ncclInvalidUsage);
	EXPECT(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, comm, NULL), ncclInvalidUsage);
	OK(ncclCommDestroy(comm));
}

/* Rank 0 aborts while the others wait in a collective and for a message. */
static void aborted(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm;
	ncclResult_t state;
	float *a;

	OK(cudaMalloc((void **)&a, 4000));
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	OK(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, comm, NULL));
	OK(cudaStreamSynchronize(NULL));
	if (rank == 0) {
		while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) < rank_count - 1)
			sched_yield();
		OK(ncclCommAbort(comm));
		return;
	}
	if (rank == 1)
		OK(ncclAllReduce(a, a, 1000, ncclFloat32, ncclSum, comm, NULL));
	else
		OK(ncclRecv(a, 1000, ncclFloat32, 0, comm, NULL));
	__atomic_fetch_add(shared, 1, __ATOMIC_RELEASE);
	OK(cudaStreamSynchronize(NULL));
	OK(ncclCommGetAsyncError(comm, &state));
	EXPECT(state, ncclRemoteError);
	OK(ncclCommAbort(comm));
}

/* Rank 1 dies; the others notice, go on without it, and leave nothing behind. */
static void died(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm, rest;
	ncclResult_t state;
	int exclude = 1, number;
	float *a;

	(void)shared;
	OK(cudaMalloc((void **)&a, 4000));
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	if (rank == 1)
		raise(SIGKILL);
	OK(ncclAllReduce(a, a, 1000, ncclFloat32, ncclSum, comm, NULL));
	OK(cudaStreamSynchronize(NULL));
	OK(ncclCommGetAsyncError(comm, &state));
	EXPECT(state, ncclRemoteError);
	OK(ncclCommShrink(comm, &exclude, 1, &rest, NULL, 1));
	OK(ncclCommUserRank(rest, &number));
	check_collectives(rest, number, rank_count - 1, NULL, 0);
	OK(ncclCommDestroy(rest));
	OK(ncclCommAbort(comm));
}

/* A collective in a graph, launched again and again; and on several streams of one communicator in turns. */
static void captured(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	cudaStream_t streams[2];
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	ncclComm_t comm;
	float *a, host = 1;

	(void)shared;
	OK(cudaStreamCreate(&streams[0]));
	OK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&a, 4));
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	OK(cudaMemcpy(a, &host, 4, cudaMemcpyHostToDevice));
	OK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
	OK(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, comm, streams[0]));
	OK(ncclAllReduce(a, a, 1, ncclFloat32, ncclMax, comm, streams[0]));
	OK(cudaStreamEndCapture(streams[0], &graph));
	OK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 3; i++)
		OK(cudaGraphLaunch(executable, streams[0]));
	OK(cudaMemcpyAsync(&host, a, 4, cudaMemcpyDeviceToHost, streams[0]));
	CHECK(host == (float)(rank_count * rank_count * rank_count));
	host = 0;
	OK(cudaMemcpy(a, &host, 4, cudaMemcpyHostToDevice));
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 50; i++) {
		/* Alternately a maximum with a rank's own number and an average that spreads it: any other
		 * order differs. */
		OK(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, comm, streams[i % 2]));
		OK(ncclAllReduce(a, a, 1, ncclFloat32, ncclAvg, comm, streams[(i / 2) % 2]));
	}
	OK(cudaDeviceSynchronize());
	OK(cudaGraphExecDestroy(executable));
	OK(cudaGraphDestroy(graph));
	OK(ncclCommDestroy(comm));
}

/* Rank 0 ends its process while its collective waits for rank 1, which has not come and never will. */
static void left_waiting(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm;
	float *a;

	OK(cudaMalloc((void **)&a, 4));
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	if (rank == 0)
		OK(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, comm, NULL));
	__atomic_store_n(&shared[rank], 1, __ATOMIC_RELEASE);
	while (rank == 1 && !__atomic_load_n(&shared[0], __ATOMIC_ACQUIRE))
		sched_yield();
}

/* ---- one process ---- */

struct member {
	pthread_t thread;
	int rank, count;
	ncclUniqueId id;
};

static void *be_member(void *arg)
{
	struct member *member = arg;
	ncclComm_t comm;

	OK(cudaSetDevice(member->rank));
	OK(ncclCommInitRank(&comm, member->count, member->id, member->rank));
	check_collectives(comm, member->rank, member->count, NULL, 0);
	OK(ncclCommDestroy(comm));
	return NULL;
}

static void threads(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	struct member members[3];

	(void)rank, (void)rank_count, (void)shared;
	for (int i = 0; i < 3; i++) {
		members[i] = (struct member){.rank = i, .count = 3, .id = id};
		CHECK(pthread_create(&members[i].thread, NULL, be_member, &members[i]) == 0);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(members[i].thread, NULL);
}

#define DEVICES 4

/* One thread, several devices: everything in groups. */
static void devices(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comms[DEVICES], halves[DEVICES];
	cudaStream_t streams[DEVICES];
	float *buffers[DEVICES], host[100];
	int list[DEVICES] = {3, 1, 0, 2}, number, current;

	(void)rank, (void)rank_count, (void)shared;
	OK(cudaSetDevice(1));
	OK(ncclCommInitAll(comms, DEVICES, list));
	OK(cudaGetDevice(&current));
	CHECK(current == 1);
	for (int i = 0; i < DEVICES; i++) {
		OK(ncclCommCuDevice(comms[i], &number));
		CHECK(number == list[i]);
		OK(cudaSetDevice(list[i]));
		OK(cudaStreamCreate(&streams[i]));
		OK(cudaMalloc((void **)&buffers[i], sizeof(host)));
		for (int k = 0; k < 100; k++)
			host[k] = (float)(i + k);
		OK(cudaMemcpy(buffers[i], host, sizeof(host), cudaMemcpyHostToDevice));
	}
	OK(ncclGroupStart());
	for (int i = 0; i < DEVICES; i++)
		OK(ncclAllReduce(buffers[i], buffers[i], 100, ncclFloat32, ncclSum, comms[i], streams[i]));
	OK(ncclGroupEnd());
	OK(ncclGroupStart());
	for (int i = 0; i < DEVICES; i++) {
		/* Round the ring: element 0 to element 1 of the next. */
		OK(ncclSend(buffers[i], 1, ncclFloat32, (i + 1) % DEVICES, comms[i], streams[i]));
		OK(ncclRecv(
			buffers[i] + 1, 1, ncclFloat32, (i + DEVICES - 1) % DEVICES, comms[i], streams[i]));
	}
	OK(ncclGroupEnd());
	for (int i = 0; i < DEVICES; i++) {
		OK(cudaSetDevice(list[i]));
		OK(cudaMemcpyAsync(host, buffers[i], sizeof(host), cudaMemcpyDeviceToHost, streams[i]));
		CHECK(host[0] == 6 && host[1] == 6 && host[99] == 6 + 4 * 99);
	}
	OK(ncclGroupStart());
	for (int i = 0; i < DEVICES; i++)
		OK(ncclCommSplit(comms[i], i % 2, i, &halves[i], NULL));
	OK(ncclGroupEnd());
	for (int i = 0; i < DEVICES; i++) {
		OK(ncclCommCount(halves[i], &number));
		CHECK(number == 2);
		OK(ncclCommDestroy(halves[i]));
		OK(ncclCommDestroy(comms[i]));
	}
	OK(ncclGroupStart());
	for (int i = 0; i < DEVICES; i++) {
		OK(cudaSetDevice(i));
		OK(ncclCommInitRank(&comms[i], DEVICES, id, i));
	}
	OK(ncclGroupEnd());
	for (int i = 0; i < DEVICES; i++)
		OK(ncclCommDestroy(comms[i]));
	list[1] = 3;
	EXPECT(ncclCommInitAll(comms, DEVICES, list), ncclInvalidUsage);
}

/* Wrong arguments, with a communicator of one rank. */
static void arguments(int rank, int rank_count, ncclUniqueId id, int *shared)
{
	ncclComm_t comm, none = NULL;
	cudaStream_t other;
	int version;
	void *handle, *memory;
	float *a;

	(void)shared;
	OK(cudaMalloc((void **)&a, 4));
	OK(ncclGetVersion(&version));
	CHECK(version >= 22000);
	EXPECT(ncclGetVersion(NULL), ncclInvalidArgument);
	EXPECT(ncclCommInitRank(NULL, rank_count, id, rank), ncclInvalidArgument);
	OK(ncclCommInitRank(&comm, rank_count, id, rank));
	EXPECT(ncclCommInitRank(&none, rank_count, id, rank), ncclInvalidUsage);
	memset(&id, 1, sizeof(id));
	EXPECT(ncclCommInitRank(&none, rank_count, id, rank), ncclInvalidArgument);
	EXPECT(ncclAllReduce(NULL, a, 1, ncclFloat32, ncclSum, comm, NULL), ncclInvalidArgument);
	EXPECT(ncclAllReduce(a, NULL, 1, ncclFloat32, ncclSum, comm, NULL), ncclInvalidArgument);
	OK(ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, comm, NULL));
	EXPECT(ncclAllReduce(a, a, 1, (ncclDataType_t)77, ncclSum, comm, NULL), ncclInvalidArgument);
	EXPECT(ncclAllReduce(a, a, 1, ncclFloat32, (ncclRedOp_t)77, comm, NULL), ncclInvalidArgument);
	EXPECT(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, NULL, NULL), ncclInvalidArgument);
	EXPECT(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, (ncclComm_t)(void *)a, NULL),
		ncclInvalidArgument);
	EXPECT(ncclBroadcast(a, a, 1, ncclFloat32, 1, comm, NULL), ncclInvalidArgument);
	EXPECT(ncclSend(a, 1, ncclFloat32, -1, comm, NULL), ncclInvalidArgument);
	CHECK(strlen(ncclGetLastError(comm)) > 0);
	CHECK(strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0);
	OK(cudaSetDevice(1));
	OK(cudaStreamCreate(&other));
	EXPECT(ncclAllReduce(a, a, 1, ncclFloat32, ncclSum, comm, other), ncclInvalidUsage);
	OK(cudaStreamDestroy(other));
	OK(cudaSetDevice(0));
	EXPECT(ncclGroupEnd(), ncclInvalidUsage);
	/* An error inside a group is the group's result, and nothing of the group happens. */
	OK(ncclGroupStart());
	OK(ncclRecv(a, 1, ncclFloat32, 0, comm, NULL));
	EXPECT(ncclSend(a, 1, ncclFloat32, 5, comm, NULL), ncclInvalidArgument);
	EXPECT(ncclGroupEnd(), ncclInvalidArgument);
	OK(cudaDeviceSynchronize());
	OK(ncclCommRegister(comm, a, 4, &handle));
	OK(ncclCommDeregister(comm, handle));
	EXPECT(ncclCommDeregister(comm, handle), ncclInvalidArgument);
	OK(ncclMemAlloc(&memory, 100));
	OK(cudaMemset(memory, 0, 100));
	OK(ncclMemFree(memory));
	EXPECT(ncclMemFree(a + 1), ncclUnhandledCudaError);
	OK(ncclCommDestroy(comm));
	EXPECT(ncclCommDestroy(comm), ncclInvalidArgument);
}

/* ---- injected failures ---- */

/* A little of everything; answers whether a call failed. Run in a process of its own, with SOFTGPU_FAIL set.
 */
static int scenario(void)
{
	ncclComm_t comms[2] = {NULL, NULL}, split[2] = {NULL, NULL};
	float *a[2];
	int failures = 0;

	failures += ncclCommInitAll(comms, 2, NULL) != 0;
	for (int i = 0; i < 2; i++) {
		OK(cudaSetDevice(i));
		OK(cudaMalloc((void **)&a[i], 400));
	}
	failures += ncclGroupStart() != 0;
	for (int i = 0; i < 2; i++)
		failures += ncclAllReduce(a[i], a[i], 100, ncclFloat32, ncclSum, comms[i], NULL) != 0;
	failures += ncclGroupEnd() != 0;
	/* Both ranks must call it, or neither. */
	if (failures == 0) {
		failures += ncclGroupStart() != 0;
		for (int i = 0; i < 2 && failures == 0; i++)
			failures += ncclCommSplit(comms[i], 0, 0, &split[i], NULL) != 0;
		if (failures > 0)
			_exit(1);
		failures += ncclGroupEnd() != 0;
	}
	for (int i = 0; i < 2; i++) {
		if (comms[i] != NULL)
			failures += ncclCommFinalize(comms[i]) != 0;
		failures += ncclCommDestroy(split[i]) != 0;
		failures += ncclCommDestroy(comms[i]) != 0;
	}
	return failures > 0;
}

static void test_faults(void)
{
	static const char *const names[] = {"ncclCommInitAll", "ncclGroupStart", "ncclGroupEnd",
		"ncclAllReduce", "ncclCommSplit", "ncclCommFinalize", "ncclCommDestroy"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int failed = 1;

		for (int call = 1; failed; call++) {
			char setting[64];
			int status;
			pid_t pid;

			CHECK(call < 10);
			snprintf(setting, sizeof(setting), "%s:%d", names[i], call);
			pid = fork();
			if (pid == 0) {
				setenv("SOFTGPU_FAIL", setting, 1);
				execl("/proc/self/exe", "test_nccl", "scenario", (char *)NULL);
				_exit(127);
			}
			CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
			failed = WEXITSTATUS(status);
			CHECK(failed == 0 || failed == 1);
			CHECK(failed == 1 || call > 1);
		}
	}
}

/* Shared memory objects that exist and were named, or derived from a name that was made, by this process. */
static int left_behind(void)
{
	DIR *folder = opendir("/dev/shm");
	struct dirent *entry;
	char own[32], derived[32];
	int count = 0;

	if (folder == NULL)
		return 0;
	snprintf(own, sizeof(own), "softgpu-%ld-", (long)getpid());
	snprintf(derived, sizeof(derived), "softgpu--%ld-", (long)getpid());
	while ((entry = readdir(folder)) != NULL)
		count += strncmp(entry->d_name, own, strlen(own)) == 0 ||
			 strncmp(entry->d_name, derived, strlen(derived)) == 0;
	closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	static const int one_killed[] = {0, -SIGKILL, 0};

	(void)argv;
	if (argc > 1)
		return scenario();
	test_faults();

	run_ranks(all_of_it, 1, NULL);
	run_ranks(all_of_it, 3, NULL);
	run_ranks(split_and_shrink, 5, NULL);
	run_ranks(not_blocking, 3, NULL);
	run_ranks(count_mismatch, 3, NULL);
	run_ranks(duplicate_rank, 3, NULL);
	run_ranks(rank_out_of_range, 3, NULL);
	run_ranks(operation_mismatch, 3, NULL);
	run_ranks(aborted, 3, NULL);
	run_ranks(died, 3, one_killed);
	run_ranks(left_waiting, 2, NULL);
	run_ranks(captured, 3, NULL);
	run_ranks(threads, 1, NULL);
	run_ranks(devices, 1, NULL);
	run_ranks(arguments, 1, NULL);
	CHECK(left_behind() == 0);
	return 0;
}
