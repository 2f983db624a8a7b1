/*
 * How much of the host's stack a hooked call takes. Each thing is done in a signal handler on a stack that
 * was filled with a pattern; what was written over is what it took. The same program without the hook says
 * what the functions themselves take.
 */
#include "guest_host.h"

#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)
#define PATTERN 0xa5

static void first_call(void)
{
	void *p;

	cudaMalloc(&p, 1);
}

static void many_calls(void)
{
	for (int i = 0; i < 200000; i++)
		cudaMemsetAsync(NULL, 0, 7, NULL);
}

static void read_file(void)
{
	char text[16];
	int fd = open("data.bin", O_RDONLY);

	for (int i = 0; i < 3; i++)
		if (read(fd, text, sizeof text) < 0)
			abort();
	close(fd);
}

static void read_stream(void)
{
	char text[16];
	FILE *file = fopen("data.bin", "r");

	for (int i = 0; i < 3; i++)
		if (fread(text, 1, sizeof text, file) == 0)
			abort();
	fclose(file);
}

static void synchronize(void)
{
	cudaStreamSynchronize(NULL);
}

static const struct work {
	const char *name;
	void (*run)(void);
	bool records_before; /* the process records already when it is done */
} works[] = {
	{"first", first_call, false},
	{"new", new_call, true},
	{"chunks", many_calls, true},
	{"sync", synchronize, true},
	{"read", read_file, true},
	{"stream", read_stream, true},
	{"worker", read_file, false},
};

static void (*handler_work)(void);
static void handle(int number)
{
	(void)number;
	handler_work();
}

static void on_stack(char *stack, size_t stack_bytes)
{
	stack_t alternate = {.ss_sp = stack, .ss_size = stack_bytes};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL))
		err(1, "sigaltstack");
	raise(SIGUSR1);
}

static size_t depth_of(void (*run)(void), char *stack)
{
	size_t untouched = 0;

	memset(stack, PATTERN, STACK_BYTES);
	handler_work = run;
	on_stack(stack, STACK_BYTES);
	while (untouched < STACK_BYTES && (unsigned char)stack[untouched] == PATTERN)
		untouched++;
	return STACK_BYTES - untouched;
}

static void nothing(void)
{
}

int run_depth(char **arguments)
{
	static char stack[STACK_BYTES] __attribute__((aligned(64)));
	const struct work *work = NULL;

	for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
		if (strcmp(works[i].name, arguments[0]) == 0)
			work = &works[i];
	if (!work)
		errx(2, "no such thing to do: %s", arguments[0]);
	if (work->records_before)
		first_call();
	/* less what the kernel puts there for the signal */
	printf("%zu\n", depth_of(work->run, stack) - depth_of(nothing, stack));
	return 0;
}

static void everything(void)
{
	first_call();
	for (int i = 0; i < 5; i++)
		new_call();
	read_file();
	synchronize();
}

static void *in_thread(void *unused)
{
	everything();
	return unused;
}

/* So many bytes, and after them nothing that may be touched. */
int run_stack(char **arguments)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t size = strcmp(arguments[1], "min") == 0 ? (size_t)PTHREAD_STACK_MIN
							     : strtoul(arguments[1], NULL, 10);
	char *room = mmap(NULL, 65536 + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (room == MAP_FAILED || mprotect(room, page, PROT_NONE))
		err(1, "mmap");
	if (strcmp(arguments[0], "signal") == 0) {
		handler_work = everything;
		on_stack(room + page, size);
	} else {
		pthread_attr_init(&attributes);
		if (pthread_attr_setstacksize(&attributes, size) ||
			pthread_create(&thread, &attributes, in_thread, NULL) || pthread_join(thread, NULL))
			errx(1, "no thread with %zu bytes", size);
	}
	puts("done");
	return 0;
}
