/* Checks stream capture and graphs of the stand-in CUDA runtime: what is forbidden, forks and joins, replay.
 */
#include <pthread.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "core/sg.h"
#include "test_common.h"
#include "test_cudart.h"

static const dim3 one = {1, 1, 1};

static void set(cudaStream_t stream, int *to, int value)
{
	void *args[] = {&to, &value};

	OK(cudaLaunchKernel(&kernel_fill, one, one, args, 0, stream));
}

static void add_one(void *arg)
{
	__atomic_fetch_add(*(int **)arg, 1, __ATOMIC_RELAXED);
}

static void increment(cudaStream_t stream, int *counter)
{
	OK(sg_submit(stream, add_one, &counter, sizeof(counter)));
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status;

	OK(cudaStreamIsCapturing(stream, &status));
	return status;
}

/* What happens in the capture is not done until the graph runs, and then as often as it runs. */
static void test_replay(void)
{
	cudaStream_t stream, side;
	cudaEvent_t fork_event, join_event, before, after;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	cudaGraphNode_t nodes[8];
	int *device, host[3] = {0}, counter = 0;
	size_t count;
	float ms;

	OK(cudaStreamCreate(&stream));
	OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	OK(cudaEventCreate(&fork_event));
	OK(cudaEventCreate(&join_event));
	OK(cudaEventCreate(&before));
	OK(cudaEventCreate(&after));
	OK(cudaMalloc((void **)&device, sizeof(host)));
	OK(cudaMemset(device, 0, sizeof(host)));
	OK(cudaDeviceSynchronize());

	CHECK(status_of(stream) == cudaStreamCaptureStatusNone);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(status_of(stream) == cudaStreamCaptureStatusActive);
	set(stream, device, 1);
	OK(cudaEventRecord(fork_event, stream));
	CHECK(status_of(side) == cudaStreamCaptureStatusNone);
	OK(cudaStreamWaitEvent(side, fork_event, 0));
	CHECK(status_of(side) == cudaStreamCaptureStatusActive);
	OK(cudaMemcpyAsync(device + 1, device, 4, cudaMemcpyDeviceToDevice, side));
	increment(side, &counter);
	OK(cudaEventRecord(join_event, side));
	increment(stream, &counter);
	OK(cudaStreamWaitEvent(stream, join_event, 0));
	OK(cudaMemcpyAsync(device + 2, device + 1, 4, cudaMemcpyDeviceToDevice, stream));
	OK(cudaStreamEndCapture(stream, &graph));
	CHECK(status_of(stream) == cudaStreamCaptureStatusNone &&
		status_of(side) == cudaStreamCaptureStatusNone);
	OK(cudaGraphGetNodes(graph, NULL, &count));
	CHECK(count == 5);
	count = 8;
	OK(cudaGraphGetNodes(graph, nodes, &count));
	CHECK(count == 5 && nodes[4] != NULL && nodes[5] == NULL);
	EXPECT(cudaEventQuery(fork_event), cudaErrorCapturedEvent);
	EXPECT(cudaEventElapsedTime(&ms, fork_event, join_event), cudaErrorCapturedEvent);
	OK(cudaDeviceSynchronize());
	CHECK(counter == 0);

	OK(cudaGraphInstantiate(&executable, graph, 0));
	OK(cudaGraphDestroy(graph));
	EXPECT(cudaGraphDestroy(graph), cudaErrorInvalidValue);
	OK(cudaEventRecord(before, stream));
	OK(cudaGraphLaunch(executable, stream));
	OK(cudaEventRecord(after, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaEventElapsedTime(&ms, before, after));
	CHECK(ms >= 0 && counter == 2);
	OK(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK(host[0] == 1 && host[1] == 1 && host[2] == 1);
	for (int i = 0; i < 100; i++)
		OK(cudaGraphLaunch(executable, i % 2 == 0 ? stream : side));
	OK(cudaGraphExecDestroy(executable));
	OK(cudaDeviceSynchronize());
	CHECK(counter == 202);
	OK(cudaEventDestroy(fork_event));
	OK(cudaEventDestroy(join_event));
	OK(cudaEventDestroy(before));
	OK(cudaEventDestroy(after));
	OK(cudaFree(device));
	OK(cudaStreamDestroy(stream));
	OK(cudaStreamDestroy(side));
	cudaGetLastError();
}

/* A captured launch, captured memory, and an event that the graph records itself. */
static void test_nested(void)
{
	cudaStream_t stream;
	cudaEvent_t external;
	cudaGraph_t inner, outer;
	cudaGraphExec_t inner_executable, outer_executable;
	int counter = 0;
	size_t before, after, total, count;
	void *block;

	OK(cudaMemGetInfo(&before, &total));
	OK(cudaStreamCreate(&stream));
	OK(cudaEventCreate(&external));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	increment(stream, &counter);
	OK(cudaMallocAsync(&block, 100, stream));
	OK(cudaMemsetAsync(block, 1, 100, stream));
	OK(cudaFreeAsync(block, stream));
	increment(stream, &counter);
	OK(cudaStreamEndCapture(stream, &inner));
	OK(cudaGraphInstantiateWithFlags(&inner_executable, inner, 0));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	OK(cudaGraphLaunch(inner_executable, stream));
	OK(cudaEventRecordWithFlags(external, stream, cudaEventRecordExternal));
	increment(stream, &counter);
	OK(cudaStreamEndCapture(stream, &outer));
	OK(cudaGraphGetNodes(outer, NULL, &count));
	CHECK(count == 3);
	OK(cudaGraphInstantiate(&outer_executable, outer, 0));
	OK(cudaEventQuery(external));
	OK(cudaGraphLaunch(outer_executable, stream));
	OK(cudaGraphLaunch(outer_executable, stream));
	OK(cudaEventSynchronize(external));
	OK(cudaStreamSynchronize(stream));
	CHECK(counter == 6);
	OK(cudaGraphDestroy(inner));
	OK(cudaGraphExecDestroy(inner_executable));
	OK(cudaGraphDestroy(outer));
	OK(cudaGraphExecDestroy(outer_executable));
	OK(cudaDeviceSynchronize());
	OK(cudaMemGetInfo(&after, &total));
	CHECK(before == after);
	OK(cudaEventDestroy(external));
	OK(cudaStreamDestroy(stream));
}

/* Ends a capture that must have been invalidated. */
static void end_invalid(cudaStream_t stream)
{
	cudaGraph_t graph;

	CHECK(status_of(stream) == cudaStreamCaptureStatusInvalidated);
	EXPECT(cudaMemsetAsync(NULL, 0, 0, stream), cudaSuccess);
	EXPECT(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	CHECK(graph == NULL && status_of(stream) == cudaStreamCaptureStatusNone);
}

static void *query_event(void *arg)
{
	int *results = arg;
	cudaEvent_t event;
	enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;

	OK(cudaEventCreate(&event));
	results[0] = (int)cudaEventQuery(event);
	OK(cudaThreadExchangeStreamCaptureMode(&relaxed));
	CHECK(relaxed == cudaStreamCaptureModeGlobal);
	results[1] = (int)cudaEventQuery(event);
	OK(cudaEventDestroy(event));
	return NULL;
}

static void query_elsewhere(int results[2])
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, query_event, results) == 0);
	pthread_join(thread, NULL);
}

static void *end_capture(void *arg)
{
	cudaGraph_t graph;

	EXPECT(cudaStreamEndCapture(arg, &graph), cudaErrorStreamCaptureWrongThread);
	return NULL;
}

static void test_forbidden(void)
{
	cudaStream_t stream, side, blocking;
	cudaEvent_t event, outside;
	cudaGraph_t graph;
	pthread_t thread;
	int results[2];
	void *block;
	char host[4];

	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	OK(cudaStreamCreate(&blocking));
	OK(cudaEventCreate(&event));
	OK(cudaEventCreate(&outside));
	OK(cudaMalloc(&block, 4));

	EXPECT(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
	EXPECT(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);

	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	EXPECT(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	end_invalid(stream);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	EXPECT(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
	end_invalid(stream);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	EXPECT(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
	end_invalid(stream);

	/* The legacy stream would have to wait for a blocking stream that is being captured, not for another
	 * one. */
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	OK(cudaMemcpy(block, host, 4, cudaMemcpyHostToDevice));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
	EXPECT(cudaMemcpy(block, host, 4, cudaMemcpyHostToDevice), cudaErrorStreamCaptureImplicit);
	end_invalid(blocking);

	/* Calls that are unsafe during capture: by mode, and by whose capture it is. */
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	query_elsewhere(results);
	CHECK(results[0] == cudaSuccess && results[1] == cudaSuccess);
	EXPECT(cudaMalloc(&block, 4), cudaErrorStreamCaptureUnsupported);
	end_invalid(stream);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	query_elsewhere(results);
	CHECK(results[0] == cudaErrorStreamCaptureUnsupported && results[1] == cudaSuccess);
	end_invalid(stream);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	OK(cudaEventQuery(outside));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphDestroy(graph));

	/* Borders of a capture. */
	OK(cudaEventRecord(outside, side));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	EXPECT(cudaStreamWaitEvent(stream, outside, 0), cudaErrorStreamCaptureIsolation);
	end_invalid(stream);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	OK(cudaEventRecord(event, stream));
	OK(cudaStreamWaitEvent(side, event, 0));
	OK(cudaMemsetAsync(block, 0, 4, side));
	EXPECT(cudaStreamEndCapture(side, &graph), cudaErrorStreamCaptureUnmatched);
	end_invalid(stream);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	OK(cudaEventRecord(event, stream));
	OK(cudaStreamWaitEvent(side, event, 0));
	OK(cudaMemsetAsync(block, 0, 4, side));
	EXPECT(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
	CHECK(status_of(side) == cudaStreamCaptureStatusNone);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	OK(cudaStreamBeginCapture(side, cudaStreamCaptureModeRelaxed));
	OK(cudaEventRecord(event, stream));
	EXPECT(cudaStreamWaitEvent(side, event, 0), cudaErrorStreamCaptureMerge);
	end_invalid(stream);
	end_invalid(side);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(pthread_create(&thread, NULL, end_capture, stream) == 0);
	pthread_join(thread, NULL);
	end_invalid(stream);

	/* A stream that is destroyed ends the capture that began on it, and breaks the one that it joined. */
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	OK(cudaEventRecord(event, stream));
	OK(cudaStreamWaitEvent(side, event, 0));
	OK(cudaMemsetAsync(block, 0, 4, side));
	OK(cudaStreamDestroy(side));
	end_invalid(stream);
	OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
	EXPECT(cudaMemset(block, 0, 4), cudaErrorStreamCaptureUnsupported);
	OK(cudaStreamDestroy(blocking));
	OK(cudaMemset(block, 0, 4));
	for (int i = 0; i < 40; i++) {
		OK(cudaStreamCreate(&side));
		CHECK(status_of(side) == cudaStreamCaptureStatusNone);
		OK(cudaStreamDestroy(side));
	}

	OK(cudaEventDestroy(event));
	OK(cudaEventDestroy(outside));
	OK(cudaStreamDestroy(stream));
	OK(cudaFree(block));
	cudaGetLastError();
}

void test_capture(void)
{
	test_replay();
	test_nested();
	test_forbidden();
}
