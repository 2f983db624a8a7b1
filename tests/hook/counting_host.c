/*
 * A program that knows how many calls it has made, also when it is killed:
 *
 *     counting_host COUNT THREADS [COUNTERS]
 *     counting_host COUNT fork
 *
 * Each thread makes COUNT calls of cudaStreamWaitEvent and, from time to time, one of cudaEventQuery, after
 * each of which it adds to its place in the file COUNTERS, which is mapped. `fork`: in the middle of them it
 * makes a child, in which what the hook does after the fork waits until the parent has made some calls more;
 * the child makes COUNT calls too.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define MOST_THREADS 64

static uint64_t own[MOST_THREADS], *counters = own;
static long count;
static int to_child[2];

/* Their result does not matter: in a child after fork all are refused. */
static void calls(long n, uint64_t *counter)
{
	cudaStream_t stream = NULL;
	cudaEvent_t event = NULL;

	cudaStreamCreate(&stream);
	cudaEventCreate(&event);
	for (long i = 0; i < n; i++) {
		cudaStreamWaitEvent(stream, event, 0);
		__atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
		if (i % 100 == 0)
			cudaEventQuery(event);
	}
}

static void *thread(void *counter)
{
	calls(count, counter);
	return NULL;
}

static void wait_for_parent(void)
{
	char byte;

	if (read(to_child[0], &byte, 1) != 1)
		_exit(3);
}

static void with_child(void)
{
	uint64_t n = 0;
	int status;
	pid_t child;

	/* before the hook's own */
	if (pipe(to_child) < 0 || pthread_atfork(NULL, NULL, wait_for_parent))
		err(1, "pipe");
	calls(count / 2, &n);
	child = fork();
	if (child == 0) {
		calls(count, &n);
		exit(0);
	}
	calls(count / 4, &n);
	if (child < 0 || write(to_child[1], "", 1) != 1 || waitpid(child, &status, 0) != child || status)
		errx(1, "the child");
	calls(count - count / 2 - count / 4, &n);
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int thread_count;

	if (argc < 3)
		errx(2, "usage: counting_host COUNT THREADS|fork [COUNTERS]");
	count = atol(argv[1]);
	if (strcmp(argv[2], "fork") == 0) {
		with_child();
		return 0;
	}
	thread_count = atoi(argv[2]);
	if (argc > 3) {
		const int file = open(argv[3], O_RDWR | O_CLOEXEC);

		counters = file < 0 ? MAP_FAILED
				    : mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (counters == MAP_FAILED)
			err(1, "%s", argv[3]);
	}
	for (int i = 0; i < thread_count && i < MOST_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, &counters[i]))
			errx(1, "no thread");
	for (int i = 0; i < thread_count && i < MOST_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
