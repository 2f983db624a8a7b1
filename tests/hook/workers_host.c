/*
 * A program with workers that read for it, in all the ways in which data loaders start them. It prints what
 * it and they did, as its trace should have it:
 *
 *     worker COUNT READS BYTES
 *     call NAME COUNT
 *     traces COUNT
 *
 *     workers_host CASE FILE       FILE has 40,000 bytes or more
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pm_abi.h"

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

#define WORKERS 3
#define SHORT_THREADS 3000

static const char *file;
static int calls_made;

static void calls(int count)
{
	for (int i = 0; i < count; i++)
		cudaStreamWaitEvent(NULL, NULL, 0);
	calls_made += count;
}

/* 6 reads, 11,000 bytes. */
enum { READS = 6, BYTES = 11000 };
static void read_data(void)
{
	static char buffer[8192];
	struct iovec parts[2] = {{buffer, 1000}, {buffer + 1000, 1000}};
	int fd = open(file, O_RDONLY);
	FILE *stream = fopen(file, "rb");

	if (fd < 0 || !stream)
		err(3, "%s", file);
	if (read(fd, buffer, 1000) != 1000 || pread(fd, buffer, 2000, 5000) != 2000 ||
		readv(fd, parts, 2) != 2000 || fread(buffer, 1, 5000, stream) != 5000 ||
		fread(buffer, 100, 10, stream) != 10 || read(fd, buffer, 0) != 0)
		errx(3, "%s is too short", file);
	close(fd);
	fclose(stream);
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		errx(3, "a worker failed");
}

/* Forks, and executes this program with another case if one is named; else the child goes on and 0 comes
 * back. */
static pid_t start(const char *other)
{
	pid_t pid = fork();

	if (pid == 0 && other) {
		execl("/proc/self/exe", "workers_host", other, file, NULL);
		err(3, "execl");
	}
	return pid;
}

static void say(int workers, int rounds)
{
	printf("worker %d %d %d\n", workers, rounds * READS, rounds * BYTES);
}

/* ---- cases ---- */

static void with_workers(const char *other, int rounds)
{
	pid_t pids[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		pids[i] = start(other);
		if (pids[i] == 0) {
			for (int k = 0; k < rounds; k++)
				read_data();
			_exit(0);
		}
	}
	for (int i = 0; i < WORKERS; i++)
		wait_for(pids[i]);
}

static void case_forked(void)
{
	calls(10);
	with_workers(NULL, 2);
	calls(10);
	say(WORKERS, 2 * WORKERS);
}

static void case_spawned(void)
{
	calls(10);
	with_workers("reader", 1);
	say(WORKERS, WORKERS);
}

/* A server is started anew, reads nothing, and its children read. */
static void case_server(void)
{
	calls(10);
	wait_for(start("serve"));
	say(WORKERS, WORKERS);
}

/* Workers that are started anew, read, and have workers of their own. */
static void case_nested(void)
{
	calls(10);
	with_workers("read_and_serve", 1);
	say(WORKERS + WORKERS * WORKERS, WORKERS + WORKERS * WORKERS);
}

/* The same, by fork alone. */
static void case_forked_nested(void)
{
	pid_t pid;

	calls(10);
	pid = start(NULL);
	if (pid == 0) {
		read_data();
		with_workers(NULL, 1);
		_exit(0);
	}
	wait_for(pid);
	say(1 + WORKERS, 1 + WORKERS);
}

static void case_reader(void)
{
	read_data();
}

static void case_serve(void)
{
	with_workers(NULL, 1);
}

static void case_read_and_serve(void)
{
	read_data();
	with_workers(NULL, 1);
}

/* Forked before anything was recorded, and read once something is. */
static void case_early(void)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) != 0)
		err(3, "pipe");
	pid = start(NULL);
	if (pid == 0) {
		if (read(ready[0], &byte, 1) != 1)
			_exit(3);
		read_data();
		_exit(0);
	}
	calls(10);
	if (write(ready[1], &byte, 1) != 1)
		err(3, "pipe");
	wait_for(pid);
	say(1, 1);
}

/* It turns out to work with the device: a trace of its own from then on. */
static void case_calling(void)
{
	pid_t pid;

	calls(10);
	pid = start(NULL);
	if (pid == 0) {
		read_data();
		calls(5);
		read_data();
		exit(0);
	}
	wait_for(pid);
	calls_made += 5;
	say(1, 1);
	puts("worker 0 0 0\ntraces 2");
}

static void case_unread(void)
{
	calls(10);
	with_workers(NULL, 2);
	puts("worker 0 0 0");
}

/* Another program that reads is none, as a compiler. */
static void case_other_program(void)
{
	pid_t pid;

	calls(10);
	pid = start(NULL);
	if (pid == 0) {
		execlp("wc", "wc", "-l", file, NULL);
		err(3, "execlp");
	}
	wait_for(pid);
	puts("worker 0 0 0");
}

/* No one records anywhere. */
static void case_alone(void)
{
	with_workers(NULL, 1);
	with_workers("reader", 1);
	puts("traces 0");
}

static void *short_thread(void *unused)
{
	cudaStreamWaitEvent(NULL, NULL, 0);
	return unused;
}

static void case_short_threads(void)
{
	pthread_t thread[8];

	for (int i = 0; i < SHORT_THREADS / 8; i++) {
		for (int k = 0; k < 8; k++)
			if (pthread_create(&thread[k], NULL, short_thread, NULL) != 0)
				errx(3, "pthread_create");
		for (int k = 0; k < 8; k++)
			pthread_join(thread[k], NULL);
	}
	calls_made = SHORT_THREADS;
}

static void finish(void)
{
	if (calls_made)
		printf("call cudaStreamWaitEvent %d\n", calls_made);
	fflush(stdout);
}

static void case_terminated(void)
{
	calls(1000);
	finish();
	raise(SIGTERM);
}

static void case_killed(void)
{
	calls(1000);
	finish();
	raise(SIGKILL);
}

static void case_segmented(void)
{
	calls(1000);
	finish();
	raise(SIGSEGV);
}

static void case_aborted(void)
{
	calls(1000);
	finish();
	abort();
}

static void case_ended_at_once(void)
{
	calls(1000);
	finish();
	_exit(9);
}

/* In a thread, while others call. */
static void *exiting_thread(void *unused)
{
	(void)unused;
	finish();
	_exit(9);
}

static void case_ended_by_thread(void)
{
	pthread_t thread;

	calls(1000);
	if (pthread_create(&thread, NULL, exiting_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"forked", case_forked}, {"spawned", case_spawned}, {"server", case_server},
		{"nested", case_nested}, {"forked_nested", case_forked_nested}, {"reader", case_reader},
		{"serve", case_serve}, {"read_and_serve", case_read_and_serve}, {"early", case_early},
		{"calling", case_calling}, {"unread", case_unread}, {"other_program", case_other_program}, {"alone", case_alone},
		{"short_threads", case_short_threads}, {"terminated", case_terminated},
		{"killed", case_killed}, {"segmented", case_segmented}, {"aborted", case_aborted},
		{"ended_at_once", case_ended_at_once}, {"ended_by_thread", case_ended_by_thread}};

	if (argc < 3)
		return 3;
	file = argv[2];
	setvbuf(stdout, NULL, _IOFBF, 4096);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			finish();
			return 0;
		}
	return 3;
}
