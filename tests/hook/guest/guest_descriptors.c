/* The host's descriptors: whatever number the hook might have, the host closes it and has a file of its own
 * there. */
#include "guest_host.h"

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 12

static _Atomic bool stop;

/* Deep, as each new place of the stack is one that an unwinder might probe. */
static __attribute__((noinline)) void deeper(unsigned levels)
{
	volatile char room[2000];

	room[0] = (char)levels;
	if (levels)
		deeper(levels - 1);
	else
		new_call();
	room[1] = room[0];
}

/* New operations, new chunks (a thread's first are small), new threads. */
static void *record(void *unused)
{
	for (unsigned i = 0; i < 400; i++) {
		cudaMemsetAsync(NULL, 0, 1, NULL);
		if (i % 50 == 0)
			deeper(i / 50 % 20);
	}
	return unused;
}

static void *record_on(void *unused)
{
	pthread_t thread;

	while (!stop) {
		if (pthread_create(&thread, NULL, record, NULL))
			errx(1, "no thread");
		pthread_join(thread, NULL);
	}
	return unused;
}

static void check(const char *name, const char *expected)
{
	char text[256] = "";
	FILE *file = fopen(name, "r");
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

	if (!file || n != strlen(expected) || strcmp(text, expected) != 0)
		errx(1, "%s has %zu bytes, '%s', instead of '%s'", name, n, text, expected);
	fclose(file);
}

static void round_of(int number)
{
	char name[FILES][32], head[32], text[FILES][64], got[64];
	int fds[FILES];

	for (int fd = 3; fd < 40; fd++)
		close(fd);
	for (int i = 0; i < FILES; i++) {
		snprintf(name[i], sizeof name[i], "own.%d", i);
		snprintf(head, sizeof head, "round %d file %d", number, i);
		fds[i] = open(name[i], O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fds[i] < 0 || write(fds[i], head, strlen(head)) < 0)
			err(1, "%s", name[i]);
		snprintf(text[i], sizeof text[i], "%s and on", head);
	}
	deeper((unsigned)number % 20);
	for (int i = 0; i < FILES; i++) {
		ssize_t n = pread(fds[i], got, sizeof got, 0);

		if (n < 0 || (size_t)n != strlen(text[i]) - 7 || memcmp(got, text[i], (size_t)n) != 0)
			errx(1, "%s reads as %zd bytes, '%.*s'", name[i], n, (int)(n > 0 ? n : 0), got);
		if (write(fds[i], " and on", 7) != 7)
			err(1, "%s", name[i]);
	}
	for (int i = 0; i < FILES; i++) {
		close(fds[i]);
		check(name[i], text[i]);
	}
}

int run_descriptors(char **arguments)
{
	const int rounds = atoi(arguments[0]);
	pthread_t threads[2];
	void *p;

	cudaMalloc(&p, 1);
	for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
		pthread_create(&threads[i], NULL, record_on, NULL);
	for (int i = 0; i < rounds; i++)
		round_of(i);
	stop = true;
	for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
		pthread_join(threads[i], NULL);
	printf("%d rounds\n", rounds);
	return 0;
}
