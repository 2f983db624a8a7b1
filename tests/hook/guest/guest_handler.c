/*
 * Calls by a signal's handler, which has interrupted a call. Prints how many calls were made, the handler's
 * among them.
 */
#include "guest_host.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t count; /* the handler counts whole, between two instructions of the program */

static void call_from_handler(int number)
{
	(void)number;
	for (int i = 0; i < 10; i++)
		cudaMemsetAsync(NULL, 0, 32, NULL);
	count += 10;
}

/* Inside of a call's real function, as the callback is. */
static void raise_signal(void *unused)
{
	(void)unused;
	raise(SIGUSR1);
}

static void handle(int number, int flags)
{
	struct sigaction action = {.sa_handler = call_from_handler, .sa_flags = flags};
	static char room[65536];

	if (flags & SA_ONSTACK && sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL))
		err(1, "sigaltstack");
	if (sigaction(number, &action, NULL))
		err(1, "sigaction");
}

int run_handler(char **arguments)
{
	const time_t start = time(NULL);
	void *p;

	cudaMalloc(&p, 1);
	count++;
	if (strcmp(arguments[0], "anywhere") == 0) {
		handle(SIGALRM, SA_RESTART);
		setitimer(ITIMER_REAL, &(struct itimerval){{0, 500}, {0, 500}}, NULL);
		for (int i = 0; i < 100000 || time(NULL) - start < 2; i++) {
			cudaMemsetAsync(NULL, 0, 64, NULL);
			cudaStreamSynchronize(NULL);
			__atomic_add_fetch(&count, 2, __ATOMIC_RELAXED);
		}
		setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	} else {
		handle(SIGUSR1, strcmp(arguments[0], "alternate") == 0 ? SA_ONSTACK : 0);
		for (int i = 0; i < 100; i++, count++)
			cudaLaunchHostFunc(NULL, raise_signal, NULL);
	}
	printf("%d calls\n", (int)count);
	return 3;
}
