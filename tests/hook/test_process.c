/*
 * Processes and threads, told by their traces: what happens to the trace when a program forks, execs, ends
 * early in every manner, starts many threads, loses its folder, or fills its disk. Each case is a run of this
 * program itself.
 *
 *     test_process CASE     performs a case (with the hook preloaded and PMHOOK_OUT set)
 *     test_process          runs all cases and looks at what they left; $HOOK is the library, $SCRATCH a
 * scratch folder
 */
#include <dirent.h>
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peek.h"
#include "pm_abi.h"

cudaError_t cudaSetDevice(int device);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

#define CALLS 1000
#define THREADS 64

static void calls(int count)
{
	for (int i = 0; i < count; i++)
		cudaStreamWaitEvent(NULL, NULL, 0);
}

static void *thread_calls(void *unused)
{
	calls(CALLS);
	return unused;
}

static void run_threads(int count)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, thread_calls, NULL) != 0)
			errx(3, "pthread_create");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(3, "waitpid");
	return status;
}

/* ---- the cases ---- */

static void case_exit(void)
{
	calls(CALLS);
}

static void case_no_calls(void)
{
}

static void case_quick_exit(void)
{
	calls(CALLS);
	_exit(5);
}

static void case_kill(void)
{
	calls(CALLS);
	raise(SIGKILL);
}

static void case_abort(void)
{
	calls(CALLS);
	abort();
}

/* The child makes calls of its own: a trace of its own. */
static void case_fork(void)
{
	pid_t pid;

	calls(CALLS);
	pid = fork();
	if (pid == 0) {
		calls(2 * CALLS);
		exit(0);
	}
	exit(wait_for(pid) != 0);
}

/* The child makes none, as a data loader's: no trace. */
static void case_fork_silent(void)
{
	pid_t pid;

	calls(CALLS);
	pid = fork();
	if (pid == 0)
		exit(0);
	exit(wait_for(pid) != 0);
}

static void case_exec(void)
{
	calls(CALLS);
	execl("/proc/self/exe", "test_process", "exit", NULL);
	err(3, "execl");
}

static void case_threads(void)
{
	run_threads(THREADS);
}

/* Threads that come and go, many more than live at a time. */
static void case_short_threads(void)
{
	for (int i = 0; i < 8; i++)
		run_threads(THREADS);
}

/* Other threads still run and call while the process ends. */
static void *endless_calls(void *unused)
{
	for (;;)
		calls(CALLS);
	return unused;
}

static void case_busy_exit(void)
{
	pthread_t thread;

	calls(CALLS);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, endless_calls, NULL) != 0)
			errx(3, "pthread_create");
	calls(CALLS);
	exit(0);
}

static void case_lost_folder(void)
{
	calls(CALLS);
	if (unlink(peek_only(getenv("PMHOOK_OUT"))) != 0 || rmdir(getenv("PMHOOK_OUT")) != 0)
		err(3, "%s", getenv("PMHOOK_OUT"));
	calls(200 * CALLS);
}

static void case_limit(void)
{
	calls(200 * CALLS);
}

/* Writing past the limit on a file's size would end the host by a signal. */
static void case_file_limit(void)
{
	const struct rlimit limit = {.rlim_cur = 200000, .rlim_max = 200000};

	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		err(3, "setrlimit");
	calls(200 * CALLS);
}

/* A host that closes every descriptor, as daemons do, must not hit ours. */
static void case_close_all(void)
{
	calls(CALLS);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	calls(200 * CALLS);
}

struct process_case {
	const char *name;
	void (*run)(void);
	int status;          /* as waitpid gives it: code << 8 or signal */
	int traces;          /* files left */
	int footers;         /* of these with a footer; -1: any */
	unsigned records;    /* of cudaStreamWaitEvent in all, at least */
	bool exact;          /* no more either */
	const char *setting; /* NAME=VALUE or NULL */
};

static const struct process_case cases[] = {
	{"exit", case_exit, 0, 1, 1, CALLS, true, NULL},
	{"no_calls", case_no_calls, 0, 0, 0, 0, true, NULL},
	{"quick_exit", case_quick_exit, 5 << 8, 1, 0, CALLS, true, NULL},
	{"kill", case_kill, SIGKILL, 1, 0, CALLS, true, NULL},
	{"abort", case_abort, SIGABRT, 1, 0, CALLS, true, NULL},
	{"fork", case_fork, 0, 2, 2, 3 * CALLS, true, NULL},
	{"fork_silent", case_fork_silent, 0, 1, 1, CALLS, true, NULL},
	{"exec", case_exec, 0, 2, 1, 2 * CALLS, true, NULL},
	{"threads", case_threads, 0, 1, 1, THREADS *CALLS, true, NULL},
	{"short_threads", case_short_threads, 0, 1, 1, 8 * THREADS *CALLS, true, NULL},
	{"busy_exit", case_busy_exit, 0, 1, 1, 2 * CALLS, false, NULL},
	{"lost_folder", case_lost_folder, 0, 0, 0, 0, true, NULL},
	{"limit", case_limit, 0, 1, -1, CALLS, false, "PMHOOK_MAX_MB=1"},
	{"file_limit", case_file_limit, 0, 1, -1, CALLS, false, NULL},
	{"close_all", case_close_all, 0, 1, 1, 201 * CALLS, true, NULL},
	{"exit", case_exit, 0, 0, 0, 0, true, "PMHOOK_MODE=off"},
	{"exit", case_exit, 0, 0, 0, 0, true, "PMHOOK_MODE=count"},
};

#define CASES (sizeof cases / sizeof cases[0])

/* ---- the judge ---- */

struct left {
	int traces, footers;
	unsigned records;
	uint64_t lost;
	bool footer_agrees;
};

/* exact: no thread of the process was still recording when it ended */
static struct left look(const char *folder, bool exact)
{
	struct left left = {.footer_agrees = true};
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[8192];

	while (d && (e = readdir(d))) {
		const struct pm_footer *footer;
		struct peek trace;
		unsigned records;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		trace = peek_open(path);
		footer = peek_footer(&trace);
		records = peek_calls(&trace, "cudaStreamWaitEvent", NULL);
		left.traces++;
		left.footers += footer != NULL;
		left.records += records;
		left.lost += trace.header->lost_records;
		if (footer && exact && footer->records < records)
			left.footer_agrees = false;
		peek_close(&trace);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(folder);
	return left;
}

static int perform(const struct process_case *c, const char *self, const char *folder)
{
	pid_t pid = fork();

	if (pid == 0) {
		char preload[8192];
		const char *runtime = getenv("RUNTIME");

		snprintf(preload, sizeof preload, "%s%s%s", runtime ? runtime : "",
			runtime && *runtime ? ":" : "", getenv("HOOK"));
		setenv("LD_PRELOAD", preload, 1);
		setenv("PMHOOK_OUT", folder, 1);
		setenv("PMHOOK_STRICT", "on", 1);
		if (c->setting)
			putenv((char *)(uintptr_t)c->setting);
		execl(self, "test_process", c->name, NULL);
		err(3, "%s", self);
	}
	return wait_for(pid);
}

static int judge(const struct process_case *c, const char *self)
{
	char folder[4096];
	struct left left;
	int status, bad = 0;

	snprintf(folder, sizeof folder, "%s/%s", getenv("SCRATCH"), c->name);
	if (mkdir(folder, 0700) != 0)
		err(1, "%s", folder);
	status = perform(c, self, folder) & 0xff7f; /* without the flag for a core file */
	left = look(folder, c->exact);
	bad += status != c->status;
	bad += left.traces != c->traces;
	bad += c->footers >= 0 && left.footers != c->footers;
	bad += left.records < c->records || (c->exact && left.records != c->records);
	bad += !left.footer_agrees;
	/* what is not there must be counted */
	if (strstr(c->name, "limit"))
		bad += left.lost + left.records != 200 * CALLS || left.lost == 0;
	else
		bad += c->exact && left.lost != 0;
	printf("%s %s %s: status %#x, %d traces, %d footers, %u records, %llu lost\n", bad ? "not ok" : "ok",
		c->name, c->setting ? c->setting : "", (unsigned)status, left.traces, left.footers,
		left.records, (unsigned long long)left.lost);
	return bad != 0;
}

int main(int argc, char **argv)
{
	char self[4096];
	ssize_t n;
	int bad = 0;

	if (argc > 1) {
		for (size_t i = 0; i < CASES; i++)
			if (strcmp(argv[1], cases[i].name) == 0) {
				cases[i].run();
				return 0;
			}
		return 3;
	}
	if (!getenv("HOOK") || !getenv("SCRATCH")) {
		puts("HOOK and SCRATCH are not set");
		return 77;
	}
	n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = 0;
	for (size_t i = 0; i < CASES; i++)
		bad += judge(&cases[i], self);
	return bad != 0;
}
