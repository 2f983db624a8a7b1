/*
 * A host for the hook, in the ways that programs are awkward: with 8 threads on streams of their own, with
 * children after fork, ended by _exit or a signal, with errors pending. Prints checksums of what it computed;
 * tests compare its output with and without the hook.
 *
 *     invisible_host threads|fork|_exit|kill|error|unready|errno|capture
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "called.h"

#define SIDE 48
#define THREADS 8

/* A chain of products on a stream: x := A x, a few times. Returns the sum of the last result. */
static double compute(int seed, int steps)
{
	const float one = 1, zero = 0;
	float a[SIDE * SIDE], x[SIDE * SIDE], *device_a, *device_x, *device_y;
	double sum = 0;
	cublasHandle_t handle;
	cudaStream_t stream;

	for (int i = 0; i < SIDE * SIDE; i++) {
		a[i] = (float)((i * 7 + seed) % 13 - 6) / 64;
		x[i] = (float)((i * 5 + seed) % 11 - 5);
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cublasCreate(&handle));
	CHECK(cublasSetStream(handle, stream));
	CHECK(cudaMalloc((void **)&device_a, sizeof a));
	CHECK(cudaMalloc((void **)&device_x, sizeof x));
	CHECK(cudaMalloc((void **)&device_y, sizeof x));
	CHECK(cudaMemcpyAsync(device_a, a, sizeof a, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyAsync(device_x, x, sizeof x, cudaMemcpyHostToDevice, stream));
	for (int i = 0; i < steps; i++) {
		float *swap = device_x;

		CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, device_a, SIDE,
			device_x, SIDE, &zero, device_y, SIDE));
		device_x = device_y;
		device_y = swap;
	}
	CHECK(cudaMemcpyAsync(x, device_x, sizeof x, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < SIDE * SIDE; i++)
		sum += (double)x[i];
	CHECK(cudaFree(device_a));
	CHECK(cudaFree(device_x));
	CHECK(cudaFree(device_y));
	CHECK(cublasDestroy(handle));
	CHECK(cudaStreamDestroy(stream));
	return sum;
}

static double sums[THREADS];

static void *thread_compute(void *number)
{
	int i = *(int *)number;

	sums[i] = compute(i, 50 + i);
	return NULL;
}

static void with_threads(void)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, thread_compute, &numbers[i]) != 0)
			exit(3);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("thread %d: %.9g\n", i, sums[i]);
	}
}

static void with_fork(void)
{
	int status;
	pid_t pid;

	/* before the first use of the device: the child may use it, and so may we */
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		printf("child: %.9g\n", compute(1, 20));
		exit(7);
	}
	waitpid(pid, &status, 0);
	printf("child's status %d\nparent: %.9g\n", status, compute(2, 20));
	/* after it: the child does no device work, as a data loader's */
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		puts("quiet child");
		exit(0);
	}
	waitpid(pid, &status, 0);
	printf("quiet child's status %d\nparent again: %.9g\n", status, compute(3, 20));
}

static void with_errors(void)
{
	float *p = NULL;

	compute(1, 3);
	printf("%d\n", cudaMemcpyAsync(p, &p, 1 << 20, cudaMemcpyHostToDevice, (cudaStream_t)0x1234560));
	printf("pending %d\n", cudaPeekAtLastError());
	printf("%.9g\n", compute(2, 3));
	printf("still pending %d\n", cudaGetLastError());
	printf("taken %d\n", cudaGetLastError());
	printf("%d %d\n", cudaSetDevice(1000), cudaGetLastError());
}

static void slow(void *unused)
{
	const struct timespec t = {.tv_nsec = 20000000};

	(void)unused;
	nanosleep(&t, NULL);
}

/* Work that is not ready when another stream has been waited for is nobody's error. */
static void with_unready_work(void)
{
	cudaStream_t busy, idle;
	char *device;

	CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&device, 64));
	for (int i = 0; i < 3; i++) {
		CHECK(cudaLaunchHostFunc(busy, slow, NULL));
		CHECK(cudaMemsetAsync(device, i, 64, busy));
		CHECK(cudaMemsetAsync(device, i, 64, idle));
		CHECK(cudaStreamSynchronize(idle));
		printf("pending %d\n", cudaPeekAtLastError());
		printf("busy %d\n", cudaStreamQuery(busy));
		printf("taken %d\n", cudaGetLastError());
	}
	CHECK(cudaStreamSynchronize(busy));
}

/* errno is not touched by a call that succeeds. */
static void with_errno(void)
{
	cudaStream_t stream;
	char byte = 0, *device;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc((void **)&device, 1));
	for (int i = 0; i < 200; i++) {
		errno = 1000 + i;
		CHECK(cudaMemsetAsync(device, i, 1, stream));
		CHECK(cudaMemcpyAsync(&byte, device, 1, cudaMemcpyDeviceToHost, stream));
		CHECK(cudaStreamSynchronize(stream));
		if (errno != 1000 + i || byte != (char)i) {
			printf("errno %d after step %d\n", errno, i);
			exit(1);
		}
	}
	puts("errno unchanged");
}

/* A graph has the nodes that were put into it and no more, in every mode of capture, while other work goes on
 * beside it. */
static void with_capture(enum cudaStreamCaptureMode mode)
{
	float x[SIDE], *device, *other;
	cudaStream_t captured, beside;
	cudaGraphExec_t launchable;
	cudaGraph_t graph;
	size_t nodes = 0;

	CHECK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&device, sizeof x));
	CHECK(cudaMalloc((void **)&other, sizeof x));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < SIDE; i++)
			x[i] = (float)(i + round);
		CHECK(cudaStreamBeginCapture(captured, mode));
		CHECK(cudaMemcpyAsync(device, x, sizeof x, cudaMemcpyHostToDevice, captured));
		CHECK(cudaMemsetAsync(other, round, sizeof x, beside));
		CHECK(cudaMemsetAsync(device, 0, sizeof x / 2, captured));
		CHECK(cudaMemcpyAsync(x, device, sizeof x, cudaMemcpyDeviceToHost, captured));
		CHECK(cudaStreamEndCapture(captured, &graph));
		CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
		CHECK(cudaGraphInstantiate(&launchable, graph, 0));
		for (int i = 0; i < 3; i++)
			CHECK(cudaGraphLaunch(launchable, captured));
		CHECK(cudaStreamSynchronize(captured));
		CHECK(cudaStreamSynchronize(beside));
		printf("mode %d round %d: %zu nodes, %g %g\n", mode, round, nodes, (double)x[0],
			(double)x[SIDE - 1]);
		CHECK(cudaGraphExecDestroy(launchable));
		CHECK(cudaGraphDestroy(graph));
	}
	CHECK(cudaStreamDestroy(captured));
	CHECK(cudaStreamDestroy(beside));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "threads") == 0) {
		with_threads();
	} else if (strcmp(what, "fork") == 0) {
		with_fork();
	} else if (strcmp(what, "_exit") == 0) {
		printf("%.9g\n", compute(1, 20));
		fflush(NULL);
		_exit(9);
	} else if (strcmp(what, "kill") == 0) {
		printf("%.9g\n", compute(1, 20));
		fflush(NULL);
		raise(SIGKILL);
	} else if (strcmp(what, "error") == 0) {
		with_errors();
	} else if (strcmp(what, "unready") == 0) {
		with_unready_work();
	} else if (strcmp(what, "errno") == 0) {
		with_errno();
	} else if (strcmp(what, "capture") == 0) {
		with_capture(cudaStreamCaptureModeGlobal);
		with_capture(cudaStreamCaptureModeThreadLocal);
		with_capture(cudaStreamCaptureModeRelaxed);
	} else {
		return 2;
	}
	return 0;
}
