/* Ways out of a hooked call that are no return. Each is followed by 1000 calls, from a deeper place of the
 * stack. */
#include "guest_host.h"

#include <err.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;

static void jump(void *unused)
{
	(void)unused;
	siglongjmp(back, 1);
}

static void jump_from_signal(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void wait_for_signal(void *unused)
{
	(void)unused;
	raise(SIGUSR1);
}

static void end_thread(void *unused)
{
	pthread_exit(unused);
}

static void be_cancelled(void *unused)
{
	(void)unused;
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void *call_and_end(void *f)
{
	cudaLaunchHostFunc(NULL, (void (*)(void *))f, NULL);
	return NULL;
}

/* Its room is never written to, and lies over what the call that was left had of the stack. */
static __attribute__((noinline)) void call_deeper(void)
{
	volatile char room[20000];

	room[0] = 0;
	for (int i = 0; i < 1000; i++)
		cudaMemsetAsync(NULL, 0, 64, NULL);
	room[1] = room[0];
}

/* A callback that itself makes calls: those are part of the call, and do not end it. */
static void call_inside(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++)
		cudaMemsetAsync(NULL, 0, 32, NULL);
}

static void leave_with(void *(*run)(void *), void *f)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, f) || pthread_join(thread, NULL))
		errx(1, "no thread");
}

static void *be_cancelled_anywhere(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		new_call();
	return unused;
}

/* Threads that are cancelled at any instruction, while the hook describes new calls for them. */
int run_cancel(char **arguments)
{
	const int count = atoi(arguments[0]);
	pthread_t thread;
	void *p, *result;

	cudaMalloc(&p, 1);
	for (int i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, be_cancelled_anywhere, NULL))
			errx(1, "no thread");
		usleep(300 + (useconds_t)i % 700);
		if (pthread_cancel(thread) || pthread_join(thread, &result) || result != PTHREAD_CANCELED)
			errx(1, "not cancelled");
	}
	puts("done");
	return 3;
}

int run_left(char **arguments)
{
	const char *how = arguments[0];
	void *p;

	cudaMalloc(&p, 1);
	if (strcmp(how, "jump") == 0) {
		if (!sigsetjmp(back, 1))
			cudaLaunchHostFunc(NULL, jump, NULL);
	} else if (strcmp(how, "signal") == 0) {
		signal(SIGUSR1, jump_from_signal);
		if (!sigsetjmp(back, 1))
			cudaLaunchHostFunc(NULL, wait_for_signal, NULL);
	} else if (strcmp(how, "exit") == 0) {
		leave_with(call_and_end, (void *)end_thread);
	} else if (strcmp(how, "cancel") == 0) {
		leave_with(call_and_end, (void *)be_cancelled);
	} else if (strcmp(how, "inside") == 0) {
		cudaLaunchHostFunc(NULL, call_inside, NULL);
	} else {
		errx(2, "no such way: %s", how);
	}
	call_deeper();
	puts("done");
	return 3;
}
