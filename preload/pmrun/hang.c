/*
 * Looking whether the job hangs, with pmanalyze hang on its traces: now and again while it runs
 * (--hang-after), and before ranks are ended, by a signal to pmrun or because one of them failed. The report
 * goes into the folder of the traces, its beginning to stderr. The program is not touched.
 */
#include "pmrun.h"

#include "output.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Exit statuses of pmanalyze hang --fail-by-strength: the job cannot go on, probably hangs, or may hang. */
enum { FINAL = 3, LIKELY, OPEN };

#define FINAL_LOOKS 2 /* in a row, before a job is ended */
#define LIMIT_S 10    /* of a report that others wait for */
#define NAME "hang.txt"
#define UNDER_WAY ".hang.txt" /* the report of the look that is under way */

static struct {
	pid_t pid;    /* of the look that is under way, 0: none */
	double next;  /* when to look again */
	int status;   /* of the last look: FINAL, LIKELY or OPEN; 0: it does not hang */
	int finals;   /* looks in a row that said FINAL */
	double since; /* when the first of a row of looks said FINAL or LIKELY; 0: the last did not */
} look;

static bool report_path(const struct pmrun_options *o, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", o->output, name) < PATH_MAX;
}

/* -1: it cannot be started. */
static pid_t start_look(const struct pmrun_options *o, int after_seconds)
{
	char program[PATH_MAX], path[PATH_MAX], seconds[16];
	sigset_t none;
	pid_t pid;

	if (!pmrun_has_program("pmanalyze", program) || !report_path(o, UNDER_WAY, path))
		return -1;
	snprintf(seconds, sizeof seconds, "%d", after_seconds);
	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("LD_PRELOAD");
	if (freopen(path, "w", stdout) && freopen("/dev/null", "w", stderr))
		execl(program, program, "hang", "--fail-by-strength", "--after", seconds, o->output,
			(char *)NULL);
	_exit(125);
}

/* The conclusion: the lines before the first empty one. */
static void print_conclusion(const struct pmrun_options *o)
{
	char path[PATH_MAX], line[1024];
	FILE *file = report_path(o, NAME, path) ? fopen(path, "re") : NULL;

	if (!file)
		return;
	pmrun_status("");
	while (fgets(line, sizeof line, file) && line[0] != '\n')
		fprintf(stderr, "pmrun: %s", line);
	fclose(file);
	fprintf(stderr, "pmrun: stacks of all threads: %s\n", path);
}

/* The look has ended: FINAL, LIKELY or OPEN; 0: it does not hang, or nothing is known. */
static int take_status(int status)
{
	const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	look.pid = 0;
	return exit_status >= FINAL && exit_status <= OPEN ? exit_status : 0;
}

/* The report that is printed takes the place of the one before, so that the file says what was said; others
 * are dropped. */
static void take_report(const struct pmrun_options *o, bool is_printed)
{
	char new_path[PATH_MAX], path[PATH_MAX];

	if (!report_path(o, UNDER_WAY, new_path) || !report_path(o, NAME, path))
		return;
	if (is_printed && rename(new_path, path) == 0)
		print_conclusion(o);
	else
		unlink(new_path);
}

void pmrun_hang_end(const struct pmrun_options *o)
{
	char path[PATH_MAX];

	if (look.pid <= 0)
		return;
	kill(look.pid, SIGKILL);
	waitpid(look.pid, NULL, 0);
	look.pid = 0;
	if (report_path(o, UNDER_WAY, path))
		unlink(path);
}

/* What is new is said: that it hangs, or that this is surer than before. */
static void note_look(const struct pmrun_options *o, int status, double now)
{
	take_report(o, status && (!look.status || status < look.status));
	look.status = status;
	look.finals = status == FINAL ? look.finals + 1 : 0;
	if (status != FINAL && status != LIKELY)
		look.since = 0;
	else if (look.since == 0)
		look.since = now;
}

/* A rank that may yet come back ends a job only by a limit that the user has set. */
static bool is_to_end(const struct pmrun_options *o, double now)
{
	return (o->hang_end && look.finals >= FINAL_LOOKS) ||
	       (o->hang_end_minutes > 0 && look.since > 0 && now - look.since >= 60.0 * o->hang_end_minutes);
}

bool pmrun_hang_watch(const struct pmrun_options *o, double now)
{
	int status;

	if (o->hang_after == 0 || (o->launched && o->rank != 0))
		return false;
	if (look.pid <= 0 && now >= look.next) {
		look.next = now + (o->hang_after > 4 ? o->hang_after / 4.0 : 1);
		look.pid = start_look(o, o->hang_after);
		return false;
	}
	if (look.pid <= 0 || waitpid(look.pid, &status, WNOHANG) != look.pid)
		return false;
	note_look(o, take_status(status), now);
	return is_to_end(o, now);
}

void pmrun_hang_report(const struct pmrun_options *o)
{
	const struct timespec step = {.tv_nsec = 10000000};
	const int rounds = LIMIT_S * 100;
	int status = -1;

	if (o->quiet || (o->launched && o->rank != 0))
		return;
	pmrun_hang_end(o);
	/* It is known and said who is waited for. If a scheduler has ended all ranks, that is not to be seen
	 * now. */
	if (look.status)
		return;
	look.pid = start_look(o, 0);
	for (int i = 0; i < rounds && look.pid > 0; i++) {
		if (waitpid(look.pid, &status, WNOHANG) != look.pid) {
			nanosleep(&step, NULL);
		} else {
			take_report(o, take_status(status) != 0);
		}
	}
	pmrun_hang_end(o);
}
