/*
 * A host for the hook's device time, linked to CUPTI itself, so that it can be the other tool. Each case
 * works in a known number of pieces; the tool's own records are checked here, the trace by cupti.sh.
 *
 *     cupti_host work|threads|graph|group|peer|unhooked|fork|early|late|long|burst|forget|one|library|steady|minutes
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <err.h>
#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "cupti_library.h"

#define EXPORTED __attribute__((visibility("default")))

#define PIECES 40
#define THREADS 4
#define BYTES 1024

/* ---- a kernel of the application's, which takes some time ---- */

const char kernel_spin = 0;
static char spin_name[] = "spin";

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
	const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
EXPORTED void sg_twin_spin(dim3 grid, dim3 block, void **args);

void sg_twin_spin(dim3 grid, dim3 block, void **args)
{
	struct timespec begin, now;

	(void)grid, (void)block, (void)args;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 30000);
}

static void launch(cudaStream_t stream)
{
	const dim3 grid = {2, 3, 4}, block = {32, 1, 1};

	CHECK(cudaLaunchKernel(&kernel_spin, grid, block, NULL, 128, stream));
	CHECK(cudaGetLastError()); /* as frameworks do; it is no work */
}

/* Two pieces: a kernel and a set. */
static void work(cudaStream_t stream, char *memory, int pieces)
{
	for (int i = 0; i < pieces; i += 2) {
		launch(stream);
		CHECK(cudaMemsetAsync(memory, i, BYTES, stream));
	}
	CHECK(cudaStreamSynchronize(stream));
}

static cudaStream_t stream;
static char *memory;

static void case_work(void)
{
	work(stream, memory, PIECES);
}

static void *thread_work(void *unused)
{
	cudaStream_t own;
	char *own_memory;

	CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&own_memory, BYTES));
	work(own, own_memory, PIECES);
	CHECK(cudaStreamDestroy(own));
	return unused;
}

static void case_threads(void)
{
	pthread_t threads[THREADS];

	work(stream, memory, 2); /* or several of them would begin the use of CUPTI */
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_work, NULL) != 0)
			errx(1, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Three operations on two streams, captured once and launched ten times. */
static void case_graph(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaStream_t side;
	cudaEvent_t fork_event, join_event;
	char host[BYTES];

	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&fork_event));
	CHECK(cudaEventCreate(&join_event));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch(stream);
	CHECK(cudaEventRecord(fork_event, stream));
	CHECK(cudaStreamWaitEvent(side, fork_event, 0));
	CHECK(cudaMemsetAsync(memory, 1, BYTES, side));
	CHECK(cudaEventRecord(join_event, side));
	CHECK(cudaStreamWaitEvent(stream, join_event, 0));
	CHECK(cudaMemcpyAsync(host, memory, BYTES, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 10; i++)
		CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
}

/* One group of two ranks in this process: two calls, one kernel for each device. */
static void case_group(void)
{
	ncclComm_t comms[2];
	float *data[2];

	CHECK(ncclCommInitAll(comms, 2, NULL));
	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaMalloc((void **)&data[i], BYTES));
	}
	for (int round = 0; round < PIECES / 2; round++) {
		CHECK(ncclGroupStart());
		for (int i = 0; i < 2; i++) {
			CHECK(cudaSetDevice(i));
			CHECK(ncclAllReduce(
				data[i], data[i], BYTES / 4, ncclFloat32, ncclSum, comms[i], NULL));
		}
		CHECK(ncclGroupEnd());
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaDeviceSynchronize());
	}
}

static void case_peer(void)
{
	char *other;

	CHECK(cudaSetDevice(1));
	CHECK(cudaMalloc((void **)&other, BYTES));
	CHECK(cudaSetDevice(0));
	for (int i = 0; i < PIECES; i++)
		CHECK(cudaMemcpyPeerAsync(other, 1, memory, 0, BYTES, stream));
	CHECK(cudaStreamSynchronize(stream));
}

/* Work that no hooked call submits: that of a library's worker, as it were. */
typedef void work_function(void *);
cudaError_t sg_submit(cudaStream_t queue, work_function *fn, const void *arg, size_t size);

static void nothing(void *arg)
{
	(void)arg;
}

static void case_unhooked(void)
{
	launch(stream);
	for (int i = 0; i < PIECES - 1; i++)
		CHECK(sg_submit(stream, nothing, NULL, 0));
	CHECK(cudaStreamSynchronize(stream));
}

/* Devices do not work in the child; what it asks for fails, and the parent goes on. */
static void case_fork(void)
{
	int status = -1;
	pid_t pid;

	work(stream, memory, PIECES / 2);
	pid = fork();
	if (pid == 0)
		exit(cudaMemsetAsync(memory, 0, BYTES, stream) == cudaSuccess);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "the child ended with %d", status);
	work(stream, memory, PIECES / 2);
}

/* Seconds of work, in all of which rounds go on. */
static void case_steady(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		work(stream, memory, PIECES);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 2);
}

/* Work now and then for four minutes; the test has a clock on which they are soon over. Says how much. */
static void case_minutes(void)
{
	const struct timespec rest = {0, 2000000};
	struct timespec begin, now;
	long pieces = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		work(stream, memory, PIECES);
		pieces += PIECES;
		nanosleep(&rest, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 220);
	printf("pieces %ld\n", pieces);
}

/* The same; then the process is killed. */
static void case_long(void)
{
	case_steady();
	_exit(0);
}

/* ---- the other tool ---- */

static unsigned tool_kernels, tool_sets, tool_externals, tool_foreign, tool_copies, tool_buffers;
static uint8_t *tool_memory[64];

static void tool_request(uint8_t **buffer, size_t *size, size_t *record_count)
{
	*buffer = tool_memory[tool_buffers++] = malloc(65536);
	*size = 65536;
	*record_count = 0;
}

static void tool_complete(CUcontext context, uint32_t number, uint8_t *buffer, size_t size, size_t used)
{
	CUpti_Activity *record = NULL;
	bool own = false;

	(void)context, (void)number, (void)size;
	for (unsigned i = 0; i < tool_buffers; i++)
		own = own || tool_memory[i] == buffer;
	tool_foreign += !own;
	while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
		tool_kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		tool_sets += record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
		tool_copies += record->kind == CUPTI_ACTIVITY_KIND_MEMCPY;
		tool_externals += record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
	}
}

static const CUpti_ActivityKind tool_kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

static CUpti_SubscriberHandle tool_begin(void)
{
	CUpti_SubscriberHandle handle;

	CHECK(cuptiSubscribe(&handle, NULL, NULL));
	CHECK(cuptiActivityRegisterCallbacks(tool_request, tool_complete));
	for (size_t i = 0; i < sizeof tool_kinds / sizeof tool_kinds[0]; i++)
		CHECK(cuptiActivityEnable(tool_kinds[i]));
	CHECK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5));
	return handle;
}

static void tool_end(CUpti_SubscriberHandle handle, unsigned pieces)
{
	uint64_t id;
	size_t dropped;

	CHECK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id));
	CHECK((id != 5));
	CHECK(cuptiActivityFlushAll(0));
	CHECK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	for (size_t i = 0; i < sizeof tool_kinds / sizeof tool_kinds[0]; i++)
		CHECK(cuptiActivityDisable(tool_kinds[i]));
	CHECK(cuptiUnsubscribe(handle));
	if (tool_kernels != pieces / 2 || tool_sets != pieces / 2 || tool_foreign || tool_copies || dropped ||
		tool_externals < pieces)
		errx(1, "the tool got %u kernels, %u sets, %u copies, %u external ids, %u buffers of others, %zu dropped",
			tool_kernels, tool_sets, tool_copies, tool_externals, tool_foreign, dropped);
}

static void case_early(void)
{
	CUpti_SubscriberHandle handle = tool_begin();

	work(stream, memory, PIECES);
	tool_end(handle, PIECES);
}

static void case_late(void)
{
	CUpti_SubscriberHandle handle;

	work(stream, memory, PIECES);
	handle = tool_begin();
	work(stream, memory, PIECES);
	/* copies it has not asked for, though the hook has */
	CHECK(cudaMemcpyAsync(memory, memory + BYTES / 2, BYTES / 2, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaStreamSynchronize(stream));
	tool_end(handle, PIECES);
	work(stream, memory, PIECES);
}

/* More work in a round than may wait for its calls: the calls' records come in buffers of their own. */
static void case_burst(void)
{
	work(stream, memory, 24000);
}

static void case_one(void)
{
	launch(stream);
	CHECK(cudaStreamSynchronize(stream));
}

/* Calls of a library, each of which launches several times. */
static void case_library(void)
{
	cublasHandle_t handle;
	float one = 1;

	CHECK(cublasCreate(&handle));
	CHECK(cublasSetStream(handle, stream));
	for (int i = 0; i < PIECES; i++)
		CHECK(cublasSscal(handle, BYTES / 4, &one, (float *)(void *)memory, 1));
	CHECK(cudaStreamSynchronize(stream));
}

/* A capture that fails, streams that are destroyed with work in them, a device that is reset: all of it is
 * timed. */
static void case_forget(void)
{
	cudaGraph_t graph;

	work(stream, memory, PIECES);
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	if (cudaStreamSynchronize(stream) == cudaSuccess ||
		cudaStreamEndCapture(stream, &graph) == cudaSuccess)
		errx(1, "the capture did not fail");
	cudaGetLastError();
	work(NULL, memory, PIECES);
	for (int i = 0; i < PIECES; i++) {
		cudaStream_t own;

		CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
		launch(own);
		CHECK(cudaStreamDestroy(own));
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaDeviceReset());
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc((void **)&memory, BYTES));
	work(stream, memory, PIECES);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"work", case_work}, {"threads", case_threads}, {"graph", case_graph},
		{"group", case_group}, {"peer", case_peer}, {"unhooked", case_unhooked}, {"fork", case_fork},
		{"early", case_early}, {"late", case_late}, {"long", case_long}, {"burst", case_burst},
		{"forget", case_forget}, {"one", case_one}, {"library", case_library},
		{"steady", case_steady}, {"minutes", case_minutes}};

	__cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &kernel_spin, spin_name, spin_name, -1, NULL,
		NULL, NULL, NULL, NULL);
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc((void **)&memory, BYTES));
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			printf("%s done\n", argv[1]);
			return 0;
		}
	errx(2, "usage: cupti_host CASE");
}
