/*
 * Calls and file reads of threads that are at their end. The C library runs the destructors of
 * thread-specific data in four rounds, and a destructor that sets its value again runs once more in the next.
 * Prints how many threads did so.
 */
#include "guest_host.h"

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 4
#define THREADS 25       /* of each kind */
#define MORE_THREADS 600 /* one after another, of the worst kind: their memory is used again */

static pthread_key_t key;
static bool reads;

static void touch_hook(void)
{
	char byte;
	int fd;

	if (!reads) {
		cudaMemsetAsync(NULL, 0, 64, NULL);
		return;
	}
	fd = open("data.bin", O_RDONLY);
	if (fd < 0 || read(fd, &byte, 1) != 1)
		err(1, "data.bin");
	close(fd);
}

static void at_end(void *value)
{
	const uintptr_t rounds = (uintptr_t)value;

	if (rounds > 1)
		pthread_setspecific(key, (void *)(rounds - 1));
	else
		touch_hook();
}

struct kind {
	uintptr_t rounds;
	bool calls_before;
};

static void *live(void *data)
{
	const struct kind *kind = data;

	if (kind->calls_before)
		touch_hook();
	pthread_setspecific(key, (void *)kind->rounds);
	return NULL;
}

static void run(struct kind kind)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, live, &kind) || pthread_join(thread, NULL))
		errx(1, "no thread");
}

static long mapped_kb(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld", &pages) != 1)
		errx(1, "/proc/self/statm");
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *race(void *unused)
{
	static volatile int shared; /* the host's own mistake, which a checker must go on to see */

	for (int i = 0; i < 300; i++) {
		new_call();
		touch_hook();
		shared++;
	}
	return unused;
}

int run_race(char **arguments)
{
	pthread_t threads[4];

	(void)arguments;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++)
			if (pthread_create(&threads[i], NULL, race, NULL))
				errx(1, "no thread");
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	return 3;
}

int run_rounds(char **arguments)
{
	long before_kb = 0;
	unsigned count = 0;
	void *p;

	reads = strcmp(arguments[0], "reads") == 0;
	if (!reads || strcmp(arguments[1], "recording") == 0)
		cudaMalloc(&p, 1);
	if (pthread_key_create(&key, at_end))
		errx(1, "no key");
	for (uintptr_t rounds = 1; rounds <= ROUNDS; rounds++)
		for (int before = 0; before < 2; before++)
			for (unsigned i = 0; i < THREADS; i++, count++)
				run((struct kind){rounds, before});
	for (unsigned i = 0; i < MORE_THREADS; i++, count++) {
		if (i == MORE_THREADS / 2)
			before_kb = mapped_kb();
		run((struct kind){ROUNDS, i % 2});
	}
	if (mapped_kb() - before_kb > 2048)
		printf("%ld kB more after %d threads\n", mapped_kb() - before_kb, MORE_THREADS / 2);
	printf("%u threads\n", count);
	return 3;
}
