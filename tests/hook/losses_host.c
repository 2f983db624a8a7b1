/*
 * A program that does what is easily forgotten: captures that fail, devices that are reset, streams that are
 * destroyed with work in them, more of everything than there are places for. losses.sh knows what its trace
 * must say.
 *
 *     losses_host CASE
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strict_cuda.h"

static char memory[64];

static void work(int count, cudaStream_t stream)
{
	for (int i = 0; i < count; i++)
		if (cudaMemsetAsync(memory, i, sizeof memory, stream) != cudaSuccess)
			errx(1, "memset");
}

static cudaStream_t new_stream(void)
{
	cudaStream_t stream = NULL;

	if (cudaStreamCreate(&stream) != cudaSuccess || !stream)
		errx(1, "stream");
	return stream;
}

static cudaStream_t begin_capture(void)
{
	cudaStream_t stream = new_stream();

	cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
	return stream;
}

/* ---- captures ---- */

static void broken_capture(void)
{
	cudaStream_t stream = begin_capture();
	cudaGraph_t graph;

	strict_break_capture(stream);
	if (cudaStreamEndCapture(stream, &graph) != cudaErrorStreamCaptureInvalidated)
		errx(1, "the capture was not broken");
	cudaGetLastError();
	work(20, NULL);
}

/* A call that ends nothing: the capture of the other stream goes on. */
static void wrong_stream(void)
{
	cudaStream_t stream = begin_capture(), other = new_stream();
	cudaGraph_t graph;

	cudaStreamEndCapture(other, &graph);
	cudaGetLastError();
	work(5, NULL);
	work(3, stream);
	cudaStreamEndCapture(stream, &graph);
	work(20, NULL);
}

static void *end_in_thread(void *stream)
{
	cudaGraph_t graph;

	if (cudaStreamEndCapture((cudaStream_t)stream, &graph) == cudaSuccess)
		errx(1, "another thread has ended the capture");
	cudaGetLastError();
	return NULL;
}

/* The call fails, and the capture goes on. */
static void wrong_thread(void)
{
	cudaStream_t stream = new_stream();
	pthread_t thread;
	cudaGraph_t graph;

	cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	pthread_create(&thread, NULL, end_in_thread, (void *)stream);
	pthread_join(thread, NULL);
	work(3, stream);
	if (cudaStreamEndCapture(stream, &graph) != cudaSuccess)
		errx(1, "the capture is not there any more");
	work(20, NULL);
}

/* Streams beside it work on; what the hook asks then must not break the capture. */
static void global_capture(void)
{
	cudaStream_t stream = new_stream(), other = new_stream();
	cudaGraph_t graph;

	work(1, other);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	work(3, stream);
	work(200, other);
	if (cudaStreamEndCapture(stream, &graph) != cudaSuccess)
		errx(1, "the capture was broken");
}

static void destroyed_capture(void)
{
	cudaStreamDestroy(begin_capture());
	work(20, NULL);
}

static void reset_capture(void)
{
	begin_capture();
	cudaDeviceReset();
	work(20, NULL);
}

static void *capture_in_thread(void *stream)
{
	cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeRelaxed);
	return NULL;
}

static void captures_of_threads(void)
{
	cudaStream_t streams[70];
	pthread_t thread;
	cudaGraph_t graph;

	for (int i = 0; i < 70; i++) {
		streams[i] = new_stream();
		pthread_create(&thread, NULL, capture_in_thread, (void *)streams[i]);
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 70; i++)
		cudaStreamEndCapture(streams[i], &graph);
	work(20, NULL);
}

/* ---- devices and contexts ---- */

static void reset(void)
{
	cudaStream_t stream = new_stream();

	work(5, stream);
	cudaDeviceSynchronize();
	strict_hold = 1;
	work(7, stream);
	cudaDeviceReset();
	strict_hold = 0;
	work(20, NULL);
	work(20, new_stream());
	cudaDeviceReset();
}

/* More than there are pairs of events, so that those of before would be used again. */
static void reset_often(void)
{
	for (int i = 0; i < 5; i++) {
		work(300, NULL);
		cudaDeviceSynchronize();
		cudaDeviceReset();
	}
}

/* A stream of a device that is not the current one. */
static void other_device(void)
{
	cudaStream_t stream;
	int device = -1;

	cudaSetDevice(1);
	stream = new_stream();
	cudaSetDevice(0);
	work(10, stream);
	if (strict_worked_on != 0)
		errx(1, "the work found device %d current", strict_worked_on);
	work(10, NULL);
	if (cudaGetDevice(&device) != cudaSuccess || device != 0)
		errx(1, "the device is %d", device);
}

static void contexts(void)
{
	CUcontext context;

	for (int i = 0; i < 3; i++) {
		cuCtxCreate_v2(&context, 0, 0);
		strict_hold = i == 1;
		work(5, new_stream());
		cuCtxDestroy_v2(context);
	}
	strict_hold = 0;
	work(20, NULL);
}

static void primary(void)
{
	CUcontext context;

	cuDevicePrimaryCtxRetain(&context, 0);
	cuDevicePrimaryCtxRetain(&context, 0);
	strict_hold = 1;
	work(5, NULL);
	cuDevicePrimaryCtxRelease_v2(0);
	strict_hold = 0; /* it is still in use: nothing is lost */
	work(5, NULL);
	cuDevicePrimaryCtxRelease_v2(0);
	work(5, NULL);
	cuDevicePrimaryCtxReset_v2(0);
	work(5, NULL);
}

static void devices(void)
{
	for (int i = 0; i < 70; i++) {
		cudaSetDevice(i);
		work(2, NULL);
	}
}

/* ---- streams, groups, threads ---- */

static void short_streams(void)
{
	for (int i = 0; i < 50; i++) {
		cudaStream_t stream = new_stream();

		strict_hold = i < 25;
		work(2, stream);
		cudaStreamDestroy(stream);
	}
}

static void group(int stream_count, int calls)
{
	cudaStream_t streams[100];
	ncclUniqueId id = {0};
	ncclComm_t comm;

	ncclCommInitRank(&comm, 1, id, 0);
	for (int i = 0; i < stream_count; i++)
		streams[i] = new_stream();
	ncclGroupStart();
	for (int i = 0; i < calls; i++)
		ncclAllReduce(memory, memory, 1, ncclFloat32, ncclSum, comm, streams[i % stream_count]);
	ncclGroupEnd();
}

static void long_group(void)
{
	group(2, 100);
}

static void wide_group(void)
{
	group(70, 140);
}

static void *held_work(void *unused)
{
	strict_hold = 1;
	work(7, NULL);
	return unused;
}

static void ended_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, held_work, NULL);
	pthread_join(thread, NULL);
	strict_hold = 0;
	work(20, NULL);
}

static void at_exit(void)
{
	held_work(NULL);
}

static void error_pending(void)
{
	work(4, NULL);
	cudaMemsetAsync(memory, 0, 1, (cudaStream_t)(void *)memory);
	work(3, NULL);
	cudaGetLastError();
	work(4, NULL);
}

static void in_flight(void)
{
	strict_hold = 1;
	work(1100, NULL);
	strict_hold = 0;
}

static void killed(void)
{
	in_flight();
	raise(SIGKILL);
}

/* ---- more than tables hold ---- */

static void streams_without_end(void)
{
	for (int i = 0; i < 5000; i++) {
		cudaStream_t stream = new_stream();

		work(1, stream);
		cudaStreamDestroy(stream);
	}
}

static void operations(void)
{
	for (size_t i = 1; i <= 70000; i++)
		cudaMemsetAsync(memory, 0, i, NULL);
}

static void unknown_communicator(void)
{
	for (int i = 0; i < 3; i++)
		ncclAllReduce(memory, memory, 1, ncclFloat32, ncclSum, (ncclComm_t)(void *)memory, NULL);
}

static void descriptors(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	work(1, NULL);
	if (fd < 0 || dup2(fd, 5000) != 5000)
		err(1, "descriptor 5000");
	for (int i = 0; i < 3; i++)
		if (read(5000, memory, sizeof memory) != sizeof memory)
			err(1, "read");
}

static void size_limit(void)
{
	work(200000, NULL);
}

static void plain(void)
{
	work(20, NULL);
}

/* ---- many more threads than processors ---- */

static void *turn(void *data)
{
	for (int i = 0; i < 4000; i++)
		/* each thread's own operations, so that describing them is interrupted too */
		if (cudaMemsetAsync(data, i, (size_t)(i % 50), NULL) != cudaSuccess)
			abort();
	return NULL;
}

static void crowd(void)
{
	pthread_t threads[64];
	static char data[64];

	for (int i = 0; i < 64; i++)
		pthread_create(&threads[i], NULL, turn, &data[i]);
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"broken_capture", broken_capture}, {"wrong_stream", wrong_stream},
	{"wrong_thread", wrong_thread}, {"global_capture", global_capture}, {"reset_often", reset_often},
	{"other_device", other_device}, {"destroyed_capture", destroyed_capture},
	{"reset_capture", reset_capture}, {"captures_of_threads", captures_of_threads}, {"reset", reset},
	{"contexts", contexts}, {"primary", primary}, {"devices", devices}, {"short_streams", short_streams},
	{"long_group", long_group}, {"wide_group", wide_group}, {"ended_thread", ended_thread},
	{"at_exit", at_exit}, {"error_pending", error_pending}, {"in_flight", in_flight}, {"killed", killed},
	{"streams_without_end", streams_without_end}, {"operations", operations},
	{"unknown_communicator", unknown_communicator}, {"descriptors", descriptors},
	{"size_limit", size_limit}, {"plain", plain}, {"crowd", crowd}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	errx(2, "usage: losses_host CASE");
}
