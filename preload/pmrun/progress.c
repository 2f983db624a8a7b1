/*
 * How far a live run is, for the status line: pmanalyze counts the iterations in the traces as they are, at
 * intervals, of which it computes for a twentieth. So the count is that of the report, with its confidence;
 * the program is not touched.
 */
#include "progress.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARE 20        /* of the time, one part is spent on looking */
#define INTERVAL_S 3    /* at least */
#define ENOUGH 0.9      /* of confidence; below that nothing is said */
#define HEAD_BYTES 4096 /* of the report: the counts stand at its beginning */

static struct {
	pid_t pid;      /* of the look under way, 0: none */
	FILE *file;     /* what it prints */
	double next;    /* when to look again */
	int iterations; /* complete ones, -1: not known */
} look = {.iterations = -1};

static void start_look(const struct pmrun_options *o, double now)
{
	char program[PATH_MAX];
	sigset_t none;

	look.next = now + INTERVAL_S;
	if (!pmrun_has_program("pmanalyze", program) || !(look.file = tmpfile()))
		return;
	fflush(NULL);
	look.pid = fork();
	if (look.pid != 0) {
		if (look.pid < 0)
			look.pid = 0;
		return;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("LD_PRELOAD");
	if (nice(19) >= -20 && dup2(fileno(look.file), STDOUT_FILENO) >= 0 &&
		freopen("/dev/null", "we", stderr))
		execl(program, program, "report", "--json", o->output, (char *)NULL);
	_exit(125);
}

/* The number after a name in the report's beginning; -1: there is none. */
static double number_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);
	char *end;
	double number;

	if (!found)
		return -1;
	found += strlen(name);
	number = strtod(found, &end);
	return end == found ? -1 : number;
}

static void take_look(void)
{
	char head[HEAD_BYTES + 1];
	size_t n;

	rewind(look.file);
	n = fread(head, 1, HEAD_BYTES, look.file);
	head[n] = 0;
	look.iterations = number_of(head, "\"confidence\":") >= ENOUGH
				  ? (int)number_of(head, "\"iterations_found\":")
				  : -1;
}

int pmrun_iterations(const struct pmrun_options *o, double now)
{
	struct rusage used;

	if (look.pid == 0 && now >= look.next)
		start_look(o, now);
	if (look.pid > 0 && wait4(look.pid, NULL, WNOHANG, &used) == look.pid) {
		double seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;

		take_look();
		look.pid = 0;
		if (seconds * SHARE > INTERVAL_S)
			look.next = now + seconds * SHARE;
	}
	if (look.pid == 0 && look.file) {
		fclose(look.file);
		look.file = NULL;
	}
	return look.iterations;
}

void pmrun_progress_end(void)
{
	if (look.pid > 0) {
		kill(look.pid, SIGKILL);
		waitpid(look.pid, NULL, 0);
	}
	look.pid = 0;
	if (look.file)
		fclose(look.file);
	look.file = NULL;
}
