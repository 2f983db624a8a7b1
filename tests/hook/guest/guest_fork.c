/*
 * Children made at every moment. Threads are inside of all paths of the hook: new operations, chunk changes,
 * look-ups, device times, file input, threads that come and go. Each child does the same for a little while
 * and ends; one that waits for a lock is ended by its alarm.
 */
#include "guest_host.h"

#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_STATUS 5
#define CHILD_SECONDS 20

static void *make_new(void *unused)
{
	for (;;)
		new_call();
	return unused;
}

static void *fill_chunks(void *unused)
{
	for (unsigned i = 0;; i++) {
		cudaMemsetAsync(NULL, 0, 3, NULL);
		if (i % 64 == 0)
			cudaStreamSynchronize(NULL);
	}
	return unused;
}

static void *look_up(void *unused)
{
	for (;;) {
		dlsym(RTLD_DEFAULT, "cudaMemsetAsync");
		dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
		usleep(50);
	}
	return unused;
}

static void read_data(void)
{
	char text[64];
	int fd = open("data.bin", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof text) < 0)
		_exit(7);
	close(fd);
}

static void *read_files(void *unused)
{
	for (;;)
		read_data();
	return unused;
}

static void *one_call(void *unused)
{
	new_call();
	return unused;
}

static void *come_and_go(void *unused)
{
	pthread_t thread;

	for (;;)
		if (pthread_create(&thread, NULL, one_call, NULL) == 0)
			pthread_join(thread, NULL);
	return unused;
}

static _Noreturn void be_child(void)
{
	alarm(CHILD_SECONDS);
	for (int i = 0; i < 5; i++) {
		cudaMemsetAsync(NULL, 0, 3, NULL);
		new_call();
		read_data();
	}
	cudaStreamSynchronize(NULL);
	_exit(CHILD_STATUS);
}

int run_fork(char **arguments)
{
	static void *(*const works[])(void *) = {make_new, fill_chunks, look_up, read_files, come_and_go};
	const int count = atoi(arguments[0]);
	const bool raw = strcmp(arguments[1], "raw") == 0;
	int waited = 0, bad = 0;
	pthread_t thread;
	void *p;

	/* what was called once is known; to look a function up takes the loader's lock, which the raw fork
	 * leaves held */
	cudaMalloc(&p, 1);
	cudaMemsetAsync(p, 0, 1, NULL);
	cudaStreamSynchronize(NULL);
	for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
		if (pthread_create(&thread, NULL, works[i], NULL))
			errx(1, "no thread");
	for (int i = 0; i < count && waited + bad < 3; i++) {
		/* the system call: what fork does for its handlers is not done */
		pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
		int status;

		if (child == 0)
			be_child();
		if (child < 0 || waitpid(child, &status, 0) != child)
			err(1, "fork");
		waited += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
		bad += !WIFSIGNALED(status) && (!WIFEXITED(status) || WEXITSTATUS(status) != CHILD_STATUS);
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
			errx(1, "a child ended by signal %d", WTERMSIG(status));
	}
	printf("%d children, %d waited, %d ended otherwise\n", count, waited, bad);
	fflush(stdout);
	_exit(waited || bad);
}
