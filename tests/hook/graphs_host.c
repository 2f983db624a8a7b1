/*
 * Captures and graphs beside what invisible_host does: it prints what its trace should say of them.
 *
 *     graph NUMBER OPERATIONS NODES     in the order in which graphs are made executable
 *     launch NUMBER COUNT
 *
 *     graphs_host CASE
 */
#include <cuda_runtime_api.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../called.h"

#define BYTES 4096

static void *memory, *other_memory;
static cudaStream_t stream, side;

static void set_up(void)
{
	CHECK(cudaMalloc(&memory, BYTES));
	CHECK(cudaMalloc(&other_memory, BYTES));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamCreate(&side));
}

/* So many operations: sets, one node each. */
static cudaGraph_t capture(int sets, enum cudaStreamCaptureMode mode)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, mode));
	for (int i = 0; i < sets; i++)
		CHECK(cudaMemsetAsync(memory, i & 255, 1 + (size_t)(i % BYTES), stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t make(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void launch(cudaGraphExec_t exec, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
}

/* What the memory holds in the end is the work of the last launch. */
static void tell(void)
{
	unsigned char host[4];

	CHECK(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost));
	printf("memory %d %d %d\n", host[0], host[1], host[2]);
}

static void case_twice(void)
{
	cudaGraph_t graph = capture(5, cudaStreamCaptureModeGlobal);
	cudaGraphExec_t first = make(graph), second = make(graph);

	launch(first, 3);
	launch(second, 4);
	puts("graph 1 5 5\ngraph 2 5 5\nlaunch 1 3\nlaunch 2 4");
}

/* Three at once that go through each other, of three streams, one of them destroyed before its use. */
static void case_several(void)
{
	cudaGraphExec_t execs[3];

	for (int i = 0; i < 3; i++) {
		cudaGraph_t graph = capture(3 + i, cudaStreamCaptureModeThreadLocal);

		execs[i] = make(graph);
		CHECK(cudaGraphDestroy(graph));
	}
	for (int i = 2; i >= 0; i--)
		launch(execs[i], 2 + i);
	puts("graph 1 3 3\ngraph 2 4 4\ngraph 3 5 5\nlaunch 1 2\nlaunch 2 3\nlaunch 3 4");
}

/* A graph that was not captured, where one that was has been: its making was not seen. */
static void case_by_hand(void)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	for (int i = 0; i < 20; i++) {
		graph = capture(6, cudaStreamCaptureModeRelaxed);
		CHECK(cudaGraphDestroy(graph));
		CHECK(cudaGraphCreate(&graph, 0));
		exec = make(graph);
		launch(exec, 1);
		CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphDestroy(graph));
	}
	puts("launch 0 20");
}

/* The same graph of another shape takes the place of what is executed. */
static void case_update(void)
{
	cudaGraphExec_t exec = make(capture(4, cudaStreamCaptureModeGlobal));
	cudaGraphExecUpdateResultInfo info;

	launch(exec, 2);
	CHECK(cudaGraphExecUpdate(exec, capture(4, cudaStreamCaptureModeGlobal), &info));
	launch(exec, 3);
	puts("graph 1 4 4\ngraph 2 4 4\nlaunch 1 2\nlaunch 2 3");
}

/* More operations than a list has room for: it is cut, and the rest is as before. */
static void case_large(void)
{
	cudaGraph_t graph = capture(9000, cudaStreamCaptureModeGlobal);
	cudaGraphExec_t exec = make(graph);

	launch(exec, 2);
	launch(make(capture(2, cudaStreamCaptureModeGlobal)), 1);
	puts("graph 1 9000 9000\ngraph 2 2 2\nlaunch 1 2\nlaunch 2 1\nrecords 9002");
}

/* Work of a second stream that joined the capture, with another stream's own work between. */
static void case_joined(void)
{
	cudaEvent_t fork, join;
	cudaGraph_t graph;

	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	CHECK(cudaMemsetAsync(memory, 1, 10, stream));
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	CHECK(cudaMemsetAsync(other_memory, 2, 20, side));
	CHECK(cudaMemsetAsync(other_memory, 3, 30, side));
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	CHECK(cudaMemsetAsync(memory, 4, 40, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	launch(make(graph), 2);
	puts("graph 1 4 4\nlaunch 1 2");
}

static atomic_bool is_over;

static void *work_meanwhile(void *unused)
{
	cudaStream_t own;
	void *bytes;

	CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	CHECK(cudaMallocAsync(&bytes, BYTES, own));
	while (!atomic_load(&is_over)) {
		for (int i = 0; i < 50; i++)
			CHECK(cudaMemsetAsync(bytes, i, BYTES, own));
		CHECK(cudaStreamSynchronize(own));
	}
	return unused;
}

/* Another thread works and waits while this one captures, in the mode in which that is allowed. */
static void beside(enum cudaStreamCaptureMode mode)
{
	pthread_t thread;

	tell();
	if (pthread_create(&thread, NULL, work_meanwhile, NULL) != 0)
		errx(1, "pthread_create");
	for (int i = 0; i < 30; i++) {
		cudaGraph_t graph = capture(50, mode);
		cudaGraphExec_t exec = make(graph);

		launch(exec, 1);
		printf("graph %d 50 50\nlaunch %d 1\n", i + 1, i + 1);
		CHECK(cudaGraphDestroy(graph));
		CHECK(cudaGraphExecDestroy(exec));
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
}

static void case_relaxed(void)
{
	beside(cudaStreamCaptureModeRelaxed);
}

static void case_thread_local(void)
{
	beside(cudaStreamCaptureModeThreadLocal);
}

static pthread_barrier_t turn;

static cudaGraph_t per_thread_capture(int sets, bool first)
{
	cudaGraph_t graph;

	if (!first)
		pthread_barrier_wait(&turn);
	CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
	if (first)
		pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	if (!first)
		pthread_barrier_wait(&turn);
	for (int i = 0; i < sets; i++)
		CHECK(cudaMemsetAsync(other_memory, i, 10, cudaStreamPerThread));
	CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
	if (first)
		pthread_barrier_wait(&turn);
	return graph;
}

static void *second_capture(void *graph)
{
	*(cudaGraph_t *)graph = per_thread_capture(3, false);
	return NULL;
}

/* Two threads capture, each on the stream that has the same name in both; the first ends while the other goes
 * on. */
static void case_per_thread(void)
{
	cudaGraph_t first, second;
	pthread_t thread;

	if (pthread_barrier_init(&turn, NULL, 2) != 0 ||
		pthread_create(&thread, NULL, second_capture, &second) != 0)
		errx(1, "pthread_create");
	first = per_thread_capture(2, true);
	pthread_join(thread, NULL);
	launch(make(first), 1);
	launch(make(second), 2);
	puts("graph 1 2 2\ngraph 2 3 3\nlaunch 1 1\nlaunch 2 2");
}

/* A capture that is broken off leaves nothing behind. */
static void case_broken(void)
{
	cudaGraph_t graph = NULL;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemsetAsync(memory, 1, 10, stream));
	printf("synchronize %d\n", (int)cudaStreamSynchronize(stream));
	printf("end %d\n", (int)cudaStreamEndCapture(stream, &graph));
	printf("graph is %s\n", graph ? "there" : "none");
	printf("last error %d\n", (int)cudaGetLastError());
	CHECK(cudaMemsetAsync(memory, 9, 3, stream));
	launch(make(capture(2, cudaStreamCaptureModeGlobal)), 1);
	puts("graph 1 2 2\nlaunch 1 1");
}

/* More captures than are kept, used much later. */
static void case_many(void)
{
	static cudaGraph_t graphs[40];

	for (int i = 0; i < 40; i++)
		graphs[i] = capture(1 + i, cudaStreamCaptureModeRelaxed);
	launch(make(graphs[39]), 1);
	launch(make(graphs[38]), 2);
	puts("graph 1 40 40\ngraph 2 39 39\nlaunch 1 1\nlaunch 2 2");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"twice", case_twice}, {"several", case_several}, {"by_hand", case_by_hand},
		{"update", case_update}, {"large", case_large}, {"joined", case_joined},
		{"relaxed", case_relaxed}, {"thread_local", case_thread_local},
		{"per_thread", case_per_thread}, {"broken", case_broken}, {"many", case_many}};

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			set_up();
			cases[i].run();
			tell();
			return 0;
		}
	return 3;
}
