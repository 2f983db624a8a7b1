/*
 * A host whose trace is taken away while it records, and one that has a SIGBUS of its own. Prints what it
 * sees, which is the same with and without the hook.
 *
 *     sigbus_host damage zero|half|remove|replace THREADS   the trace in $PMHOOK_OUT, in the middle of a run
 *     sigbus_host damaged HANDLER           the trace truncated, then a fault of its own, then the trace's
 * again sigbus_host fault HANDLER WHEN        a fault of its own; HANDLER as below, set before the first call
 * or after it sigbus_host sent HANDLER WHEN HOW     a signal: kill, tgkill, queue sigbus_host functions all
 * functions that set a handler, and what they read back sigbus_host children                  what children
 * of fork, vfork and exec have sigbus_host secrets                   searches its own trace for addresses and
 * the stack's canary
 *
 * HANDLER is none, ignore, plain (_exit 3), info (_exit 4 where address and code are right), jump
 * (siglongjmp), repair (makes the file longer and returns), once (SA_RESETHAND; returns).
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pm_abi.h"

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaMemset(void *memory, int value, size_t size);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define CALLS 3000

static void calls(int count)
{
	for (int i = 0; i < count; i++) {
		cudaStreamWaitEvent(NULL, NULL, 0);
		cudaMemset((void *)0x1000, 0, (size_t)(i % 32) * 16);
	}
}

/* The path of our trace, "" if there is none: without the hook. */
static const char *trace_path(void)
{
	static char path[4096];
	const char *folder = getenv("PMHOOK_OUT");
	DIR *d = folder ? opendir(folder) : NULL;

	path[0] = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		if (strstr(e->d_name, ".pmtrace"))
			snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
	if (d)
		closedir(d);
	return path;
}

static void take_away(const char *how)
{
	const char *path = trace_path();
	char other[4200];
	struct stat s;

	if (!*path)
		return;
	if (stat(path, &s) != 0)
		err(9, "%s", path);
	snprintf(other, sizeof other, "%s.other", path);
	if ((strcmp(how, "zero") == 0 && truncate(path, 0) != 0) ||
		(strcmp(how, "half") == 0 && truncate(path, s.st_size / 2) != 0) ||
		(strcmp(how, "remove") == 0 && unlink(path) != 0) ||
		(strcmp(how, "replace") == 0 &&
			(close(open(other, O_CREAT | O_RDWR, 0600)), rename(other, path)) != 0))
		err(9, "%s", how);
}

static pthread_barrier_t barrier;

static void *thread_main(void *way)
{
	sigset_t all;

	if (way) { /* as libraries' own threads do */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	}
	calls(CALLS);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20; i++)
		calls(CALLS / 4);
	return NULL;
}

static void damage(const char *how, int thread_count)
{
	pthread_t threads[16];

	pthread_barrier_init(&barrier, NULL, (unsigned)thread_count + 1);
	calls(10);
	for (int i = 0; i < thread_count; i++)
		pthread_create(&threads[i], NULL, thread_main, i % 2 ? &barrier : NULL);
	pthread_barrier_wait(&barrier);
	take_away(how);
	calls(CALLS);
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	calls(CALLS);
	puts("survived");
}

/* ---- a fault of the host's own ---- */

static char *own;
static int own_fd;
static sigjmp_buf back;

static void on_plain(int number)
{
	_exit(number == SIGBUS ? 3 : 99);
}

static void on_info(int number, siginfo_t *info, void *context)
{
	const bool is_own = info->si_code == BUS_ADRERR && info->si_addr == own;
	const bool is_queued = info->si_code == SI_QUEUE && info->si_value.sival_int == 77;
	const bool is_sent =
		(info->si_code == SI_USER || info->si_code == SI_TKILL) && info->si_pid == getpid();

	(void)context;
	_exit(number != SIGBUS ? 99 : is_own ? 4 : is_queued ? 5 : is_sent ? 6 : 98);
}

static void on_jump(int number)
{
	siglongjmp(back, number);
}

static int repaired;
static void on_repair(int number)
{
	(void)number;
	repaired++;
	if (ftruncate(own_fd, 4096) != 0)
		_exit(97);
}

static void set_handler(const char *which)
{
	struct sigaction a = {.sa_flags = SA_ONSTACK};

	if (strcmp(which, "none") == 0)
		return;
	if (strcmp(which, "ignore") == 0)
		a.sa_handler = SIG_IGN;
	else if (strcmp(which, "plain") == 0)
		a.sa_handler = on_plain;
	else if (strcmp(which, "jump") == 0)
		a.sa_handler = on_jump;
	else if (strcmp(which, "repair") == 0)
		a.sa_handler = on_repair;
	else if (strcmp(which, "info") == 0) {
		a.sa_sigaction = on_info;
		a.sa_flags |= SA_SIGINFO;
	} else if (strcmp(which, "once") == 0) {
		a.sa_handler = on_repair;
		a.sa_flags |= (int)SA_RESETHAND;
	} else
		errx(9, "handler %s", which);
	if (sigaction(SIGBUS, &a, NULL) != 0)
		err(9, "sigaction");
}

static void map_own(void)
{
	FILE *f = tmpfile();

	own_fd = f ? fileno(f) : -1;
	if (ftruncate(own_fd, 4096) != 0 ||
		(own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, own_fd, 0)) == MAP_FAILED)
		err(9, "mmap");
}

static void fault_own(void)
{
	if (ftruncate(own_fd, 0) != 0)
		err(9, "ftruncate");
	if (sigsetjmp(back, 1) == 0)
		*(volatile char *)own = 1;
	printf("after the fault: %d\n", repaired);
	fflush(stdout);
}

static void fault(const char *handler, const char *when)
{
	map_own();
	if (strcmp(when, "before") == 0)
		set_handler(handler);
	calls(10);
	if (strcmp(when, "after") == 0)
		set_handler(handler);
	for (int i = 0; i < 3; i++) {
		calls(CALLS);
		fault_own();
	}
}

/* Both in turn. */
static void damaged(const char *handler)
{
	map_own();
	calls(2 * CALLS); /* to where chunks are large */
	set_handler(handler);
	for (int i = 0; i < 3; i++) {
		fault_own();
		calls(200); /* enough for the hook to be in front again */
		take_away("zero");
		calls(CALLS);
	}
	puts("survived");
}

static void sent(const char *handler, const char *when, const char *how)
{
	if (strcmp(when, "before") == 0)
		set_handler(handler);
	calls(10);
	if (strcmp(when, "after") == 0)
		set_handler(handler);
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGBUS);
	else if (strcmp(how, "tgkill") == 0)
		syscall(SYS_tgkill, getpid(), gettid(), SIGBUS);
	else
		sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 77});
	puts("after the signal");
}

/* ---- what is read back ---- */

static const char *name_of(void (*h)(int))
{
	return h == SIG_DFL                   ? "default"
	       : h == SIG_IGN                 ? "ignore"
	       : h == SIG_HOLD                ? "hold"
	       : h == on_plain                ? "plain"
	       : h == on_repair               ? "repair"
	       : h == on_jump                 ? "jump"
	       : (void *)h == (void *)on_info ? "info"
					      : "another";
}

static void show(const char *what)
{
	struct sigaction a;
	uint64_t mask = 0;

	memset(&a, 0x55, sizeof a);
	if (sigaction(SIGBUS, NULL, &a) != 0)
		err(9, "sigaction");
	for (int i = 1; i < 64; i++)
		mask |= sigismember(&a.sa_mask, i) == 1 ? 1ull << i : 0;
	printf("%s: %s flags %x mask %llx\n", what, name_of(a.sa_handler), (unsigned)a.sa_flags,
		(unsigned long long)mask);
	fflush(stdout);
}

static void functions(void)
{
	struct sigaction a = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_NOCLDWAIT},
			 old;

	show("at first");
	calls(10);
	show("unset");
	sigemptyset(&a.sa_mask);
	sigaddset(&a.sa_mask, SIGUSR1);
	printf("sigaction %d\n", sigaction(SIGBUS, &a, &old));
	printf("  was %s\n", name_of(old.sa_handler));
	show("sigaction");
	printf("signal %s\n", name_of(signal(SIGBUS, on_plain)));
	show("signal");
	printf("siginterrupt %d\n", siginterrupt(SIGBUS, 1));
	show("siginterrupt");
	printf("ssignal %s\n", name_of(ssignal(SIGBUS, on_jump)));
	show("ssignal");
	printf("sysv_signal %s\n", name_of(sysv_signal(SIGBUS, on_repair)));
	show("sysv_signal");
	printf("sigset %s\n", name_of(sigset(SIGBUS, on_plain)));
	show("sigset");
	printf("sigset hold %s\n", name_of(sigset(SIGBUS, SIG_HOLD)));
	show("held");
	printf("sigset %s\n", name_of(sigset(SIGBUS, on_jump)));
	show("sigset");
	printf("sigignore %d\n", sigignore(SIGBUS));
	show("ignored");
	printf("signal %s\n", name_of(signal(SIGBUS, SIG_DFL)));
	show("default");
	printf("too large %d\n", sigaction(1000, &a, NULL));
	printf("another %s\n", name_of(signal(SIGUSR1, on_plain)));
	printf("and back %s\n", name_of(signal(SIGUSR1, SIG_DFL)));
	calls(CALLS);
	show("at last");
}

static void children(const char *self)
{
	pid_t pid;
	int status;

	calls(10);
	set_handler("plain");
	pid = fork();
	if (pid == 0) {
		show("child of fork");
		set_handler("repair");
		show("child of fork");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	show("parent");
	pid = vfork();
	if (pid == 0) {
		signal(SIGBUS, SIG_DFL);
		execl(self, self, "show", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("vfork: %d\n", status);
	show("parent");
	kill(getpid(), SIGBUS);
}

/* ---- what must not be in a trace ---- */

static bool search(const unsigned char *bytes, size_t byte_count)
{
	uint64_t canary, word, from[512], to[512];
	char names[512][64], line[512];
	unsigned count = 0;
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");

	memcpy(&canary, (void *)getauxval(AT_RANDOM), sizeof canary);
	canary &= ~(uint64_t)255;
	while (maps && count < 512 && fgets(line, sizeof line, maps)) {
		names[count][0] = 0;
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %63s", &from[count], &to[count], names[count]) >= 2)
			count++;
	}
	if (!maps || count < 10)
		errx(9, "no maps");
	fclose(maps);
	for (size_t at = 0; at + 8 <= byte_count; at++) {
		memcpy(&word, bytes + at, sizeof word);
		if (word == canary) {
			printf("byte %zu: the canary\n", at);
			found = true;
		}
		for (unsigned i = 0; at % 4 == 0 && i < count; i++)
			if (word >= from[i] && word < to[i]) {
				printf("byte %zu: %#lx, in %s\n", at, (unsigned long)word,
					*names[i] ? names[i] : "anonymous memory");
				found = true;
			}
	}
	return found;
}

static void secrets(void)
{
	pthread_t thread;
	const char *path;
	struct stat s;
	FILE *f;
	unsigned char *bytes;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, thread_main, NULL);
	calls(CALLS);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	path = trace_path();
	if (!*path || stat(path, &s) != 0 || !(f = fopen(path, "r")))
		errx(9, "no trace");
	bytes = calloc(1, (size_t)s.st_size);
	if (fread(bytes, 1, (size_t)s.st_size, f) != (size_t)s.st_size)
		errx(9, "read");
	fclose(f);
	printf("mode %o\n", (unsigned)s.st_mode & 0777);
	puts(search(bytes, (size_t)s.st_size) ? "found something" : "nothing");
	/* the search itself finds what is there */
	memcpy(bytes + 101, (void *)getauxval(AT_RANDOM), 8);
	bytes[101] = 0;
	memcpy(bytes + 200, &(void *){&s}, sizeof(void *));
	puts(search(bytes, 256) ? "found what was put there" : "nothing");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "damage") == 0 && argc == 4)
		damage(argv[2], atoi(argv[3]));
	else if (strcmp(what, "damaged") == 0 && argc == 3)
		damaged(argv[2]);
	else if (strcmp(what, "fault") == 0 && argc == 4)
		fault(argv[2], argv[3]);
	else if (strcmp(what, "sent") == 0 && argc == 5)
		sent(argv[2], argv[3], argv[4]);
	else if (strcmp(what, "functions") == 0)
		functions();
	else if (strcmp(what, "children") == 0)
		children(argv[0]);
	else if (strcmp(what, "show") == 0)
		show("after exec");
	else if (strcmp(what, "secrets") == 0)
		secrets();
	else
		errx(9, "usage: sigbus_host CASE");
	return 0;
}
