/*
 * A small host for faults.sh: threads with streams of their own, copies there and back, events, a graph, file
 * input and a child after fork. It prints what it computed, and how many calls it made where it is asked how
 * many the trace should have.
 */
#include <cuda_runtime_api.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"

#define THREADS 3
#define BYTES 4096

static unsigned long sums[THREADS];

static unsigned long work(int seed)
{
	unsigned char host[BYTES];
	unsigned long sum = 0;
	cudaStream_t stream;
	cudaEvent_t event;
	float ms = -1;
	char *device;

	memset(host, seed, sizeof host);
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaMalloc((void **)&device, BYTES));
	for (int i = 0; i < 200; i++) {
		CHECK(cudaMemsetAsync(device, i, (size_t)(BYTES - 8 * i), stream));
		CHECK(cudaMemcpyAsync(
			host, device, (size_t)(BYTES - 8 * i - 4), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaEventRecord(event, stream));
		CHECK(cudaEventSynchronize(event));
		sum = sum * 31 + host[0] + host[BYTES - 8 * i - 5];
	}
	CHECK(cudaEventElapsedTime(&ms, event, event));
	CHECK(cudaFree(device));
	CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(stream));
	return sum + (ms < 0);
}

static void *thread_work(void *number)
{
	sums[*(int *)number] = work(*(int *)number);
	return NULL;
}

static unsigned long graph(void)
{
	cudaStream_t stream;
	cudaGraph_t captured;
	cudaGraphExec_t exec;
	char *device;
	unsigned char host[64];

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc((void **)&device, 64));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 10; i++)
		CHECK(cudaMemsetAsync(device, i, 64, stream));
	CHECK(cudaStreamEndCapture(stream, &captured));
	CHECK(cudaGraphInstantiate(&exec, captured, 0));
	for (int i = 0; i < 10; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(host, device, 64, cudaMemcpyDeviceToHost));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(captured));
	return host[63];
}

static long input(const char *path)
{
	char bytes[1000];
	long sum = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		err(1, "%s", path);
	while ((n = read(fd, bytes, sizeof bytes)) > 0)
		sum += n;
	close(fd);
	return sum;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int numbers[THREADS], status = 0;
	pid_t child;

	if (argc < 2)
		errx(2, "usage: faults_host FILE");
	printf("alone %lu", work(9));
	printf(" graph %lu", graph());
	printf(" input %ld\n", input(argv[1]));
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, thread_work, &numbers[i]) != 0)
			errx(1, "no thread");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("threads %lu %lu %lu\n", sums[0], sums[1], sums[2]);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		printf("child input %ld\n", input(argv[1]));
		fflush(stdout);
		_exit(3);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		err(1, "fork");
	printf("child %d, then %lu\n", WEXITSTATUS(status), work(7));
	return 7;
}
