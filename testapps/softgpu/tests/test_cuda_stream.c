/* Checks streams, events, capture and graphs of the stand-in CUDA driver, alone and mixed with the runtime's
 * calls. */
#include <pthread.h>
#include <stdatomic.h>

#include "test_cuda.h"
#include <cuda_runtime_api.h>

#include "core/sg.h"
#include "test_common.h"

/* The forms for per-thread default streams, where no header has them. */
__typeof__(cuMemsetD8Async) cuMemsetD8Async_ptsz;
__typeof__(cuStreamSynchronize) cuStreamSynchronize_ptsz;
__typeof__(cuStreamQuery) cuStreamQuery_ptsz;
__typeof__(cuLaunchHostFunc) cuLaunchHostFunc_ptsz;
__typeof__(cuMemcpyDtoH_v2) cuMemcpyDtoH_v2_ptds;
__typeof__(cuEventRecord) cuEventRecord_ptsz;
__typeof__(cudaMemsetAsync) cudaMemsetAsync_ptsz;
__typeof__(cudaStreamSynchronize) cudaStreamSynchronize_ptsz;
__typeof__(cudaMemcpy) cudaMemcpy_ptds;

static char byte_at(CUdeviceptr memory)
{
	char value;

	OK(cuMemcpyDtoH_v2(&value, memory, 1));
	return value;
}

/* ---- one stream, two libraries ---- */

static void test_mixed(void)
{
	cudaStream_t stream, free_running;
	CUevent begin, end;
	CUdeviceptr a;
	struct gate gate;
	unsigned flags;
	float ms = -1;
	int priority;

	gate_init(&gate);
	OK(cudaStreamCreate(&stream));
	OK(cuStreamCreateWithPriority(&free_running, CU_STREAM_NON_BLOCKING, -100));
	OK(cuStreamGetPriority(free_running, &priority));
	CHECK(priority == -5);
	OK(cuStreamGetFlags(free_running, &flags));
	CHECK(flags == CU_STREAM_NON_BLOCKING);
	OK(cuEventCreate(&begin, 0));
	OK(cudaEventCreate(&end));
	OK(cuMemAlloc_v2(&a, 16));
	EXPECT(cuEventElapsedTime_v2(&ms, begin, end), CUDA_ERROR_INVALID_HANDLE);

	/* In the order of the calls, whichever library they are of. */
	OK(cuEventRecord(begin, stream));
	OK(cuLaunchHostFunc(stream, gate_hold, &gate));
	OK(cudaMemsetAsync((void *)(uintptr_t)a, 1, 16, stream));
	OK(cuMemsetD8Async(a, 2, 8, stream));
	OK(cudaMemsetAsync((void *)(uintptr_t)a, 3, 4, stream));
	OK(cudaEventRecord(end, stream));
	EXPECT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	EXPECT(cuEventQuery(end), CUDA_ERROR_NOT_READY);
	EXPECT(cuEventElapsedTime_v2(&ms, begin, end), CUDA_ERROR_NOT_READY);
	/* The driver does not touch the runtime's last error. */
	EXPECT(cudaGetLastError(), cudaSuccess);
	OK(cuStreamWaitEvent(free_running, end, 0));
	OK(cuMemsetD8Async(a, 4, 1, free_running));
	EXPECT(cudaStreamQuery(free_running), cudaErrorNotReady);
	EXPECT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	gate_open(&gate);
	OK(cuStreamSynchronize(free_running));
	OK(cuEventSynchronize(end));
	OK(cuEventElapsedTime_v2(&ms, begin, end));
	CHECK(ms > 0 && ms < 60000);
	CHECK(byte_at(a) == 4 && byte_at(a + 3) == 3 && byte_at(a + 7) == 2 && byte_at(a + 15) == 1);
	OK(cuEventDestroy_v2(end));
	EXPECT(cudaEventDestroy(end), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	OK(cudaEventDestroy(begin));
	OK(cuStreamDestroy_v2(stream));
	EXPECT(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
	OK(cudaStreamDestroy(free_running));
	OK(cuMemFree_v2(a));
}

static void call_back(CUstream stream, CUresult status, void *data)
{
	int *seen = data;

	(void)stream;
	seen[0] = (int)status;
	seen[1] = (int)cuCtxSynchronize();
}

static void test_callbacks(void)
{
	int seen[2] = {-1, -1};
	CUstream stream;

	OK(cuStreamCreate(&stream, 0));
	OK(cuStreamAddCallback(stream, call_back, seen, 0));
	EXPECT(cuStreamAddCallback(stream, call_back, seen, 1), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuStreamAddCallback(stream, NULL, seen, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamSynchronize(stream));
	CHECK(seen[0] == 0 && seen[1] == CUDA_ERROR_NOT_PERMITTED);
	OK(cuStreamDestroy_v2(stream));
}

/* ---- capture and graphs ---- */

static void test_graphs(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = 0};
	CUstreamCaptureStatus status;
	CUgraphExecUpdateResultInfo update;
	CUstream stream, side;
	CUevent fork_event, join_event;
	const CUgraphNode *last;
	CUgraphNode nodes[4];
	cudaGraphExec_t executable;
	CUgraph graph, again, shorter, growing;
	cuuint64_t id;
	unsigned long long other_id;
	size_t count;
	CUdeviceptr a;
	int value = 7;
	void *args[] = {&a, &value};

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAlloc_v2(&a, 16));
	OK(cuMemsetD8_v2(a, 0, 16));
	OK(cuCtxSynchronize());
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, NULL, NULL));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &growing, &last, &count));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 0 && id != 0);
	OK(cuLaunchKernel(test_kernel("fill"), 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
	OK(cuEventRecord(fork_event, stream));
	OK(cuStreamWaitEvent(side, fork_event, 0));
	OK(cudaMemcpyAsync(
		(void *)(uintptr_t)(a + 4), (void *)(uintptr_t)a, 4, cudaMemcpyDeviceToDevice, side));
	OK(cuEventRecord(join_event, side));
	OK(cuMemsetD8Async(a + 8, 9, 1, stream));
	OK(cuStreamWaitEvent(stream, join_event, 0));
	/* The graph as it grows: three nodes, and two that the next one would follow. */
	count = 4;
	OK(cuGraphGetNodes(growing, nodes, &count));
	CHECK(count == 3);
	OK(cudaStreamGetCaptureInfo(
		stream, (enum cudaStreamCaptureStatus *)&status, &other_id, NULL, &last, NULL, &count));
	CHECK(other_id == id && count == 2);
	CHECK((last[0] == nodes[1] && last[1] == nodes[2]) || (last[0] == nodes[2] && last[1] == nodes[1]));
	EXPECT(cuStreamSynchronize(side), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	EXPECT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	for (int round = 0; round < 3; round++) {
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		OK(cuLaunchKernel(test_kernel("fill"), 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
		if (round < 2)
			OK(cuMemcpyDtoDAsync_v2(a + 4, a, 4, stream));
		OK(cuStreamEndCapture(stream, round == 0 ? &graph : round == 1 ? &again : &shorter));
		value = 8;
	}
	OK(cuCtxSynchronize());
	CHECK(byte_at(a) == 0);
	OK(cuGraphInstantiateWithParams(&executable, graph, &params));
	CHECK(params.result_out == 0);
	OK(cuGraphUpload(executable, stream));
	OK(cudaGraphLaunch(executable, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(byte_at(a) == 7 && byte_at(a + 4) == 7);
	/* The same graph with another argument can take its place, another graph cannot. */
	OK(cuGraphExecUpdate_v2(executable, again, &update));
	OK(cuGraphLaunch(executable, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(byte_at(a) == 8 && byte_at(a + 4) == 8);
	EXPECT(cuGraphExecUpdate_v2(executable, shorter, &update), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	OK(cuGraphExecDestroy(executable));
	EXPECT(cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphDestroy(graph));
	OK(cudaGraphDestroy(again));
	OK(cuGraphDestroy(shorter));
	OK(cuEventDestroy_v2(fork_event));
	OK(cuEventDestroy_v2(join_event));
	OK(cuStreamDestroy_v2(stream));
	OK(cuStreamDestroy_v2(side));
	OK(cuMemFree_v2(a));
}

/* ---- per-thread default streams ---- */

struct other_thread {
	CUdeviceptr memory;
	struct gate gate;
	sem_t done;
};

static void *fill_slowly(void *arg)
{
	struct other_thread *other = arg;

	OK(cuCtxSetCurrent(test_context));
	OK(cuLaunchHostFunc_ptsz(NULL, gate_hold, &other->gate));
	OK(cuMemsetD8Async_ptsz(other->memory, 5, 1, NULL));
	EXPECT(cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
	/* It is this thread's stream that waits, not the legacy one. */
	EXPECT(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
	sem_post(&other->done);
	OK(cuStreamSynchronize_ptsz(NULL));
	return NULL;
}

static void test_per_thread(void)
{
	struct other_thread other;
	pthread_t thread;
	CUevent event;
	char value[2] = {0};

	OK(cuMemAlloc_v2(&other.memory, 2));
	OK(cuMemsetD8_v2(other.memory, 0, 2));
	OK(cuCtxSynchronize());
	OK(cuEventCreate(&event, 0));
	gate_init(&other.gate);
	sem_init(&other.done, 0, 0);
	CHECK(pthread_create(&thread, NULL, fill_slowly, &other) == 0);
	while (sem_wait(&other.done) != 0)
		;
	/* This thread's default stream goes on while the other one's is held. */
	OK(cuMemsetD8Async_ptsz(other.memory + 1, 6, 1, NULL));
	OK(cuEventRecord_ptsz(event, NULL));
	OK(cuStreamSynchronize_ptsz(NULL));
	OK(cuEventQuery(event));
	OK(cuMemcpyDtoH_v2_ptds(value, other.memory, 2));
	CHECK(value[0] == 0 && value[1] == 6);
	OK(cudaMemsetAsync_ptsz((void *)(uintptr_t)(other.memory + 1), 7, 1, NULL));
	OK(cudaStreamSynchronize_ptsz(NULL));
	OK(cudaMemcpy_ptds(value, (void *)(uintptr_t)other.memory, 2, cudaMemcpyDeviceToHost));
	CHECK(value[0] == 0 && value[1] == 7);
	/* The legacy stream waits for both. */
	EXPECT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	gate_open(&other.gate);
	pthread_join(thread, NULL);
	OK(cuMemcpyDtoH_v2(value, other.memory, 2));
	CHECK(value[0] == 5 && value[1] == 7);
	OK(cuEventDestroy_v2(event));
	OK(cuMemFree_v2(other.memory));
}

void test_streams(void)
{
	test_mixed();
	test_callbacks();
	test_graphs();
	test_per_thread();
}
