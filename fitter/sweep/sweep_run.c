/* The trials of a sweep, some at a time: see sweep_run.h. */
#include "sweep_run.h"
#include "sweep_child.h"
#include "sweep_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between SIGTERM and SIGKILL; and how often progress is shown while nothing happens. */
#define GRACE_SECONDS 5.0
#define TICK_SECONDS 0.2
/* So many refusals in a row, and there is no point in further trials. */
#define REFUSALS_MOST 200
#define TAIL_SIZE 65536
/* A disk without room for so much is full. */
#define PROBE_BYTES 65536

struct job {
	pid_t pid; /* 0: free */
	size_t trial, attempts;
	char **values;
	bool measuring, timed_out, killed;
	double began, ended, deadline; /* of the attempt, monotonic seconds */
	char *folder, *output, *table;
};

struct loop {
	struct sweep_run *run;
	struct job *jobs;
	size_t running, next, failures, refusals;
	sigset_t mask; /* that of trials */
	double began;
	bool stop;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static __attribute__((format(printf, 2, 3))) void stop(struct loop *loop, const char *format, ...)
{
	va_list list;

	loop->stop = true;
	if (loop->run->error[0])
		return;
	va_start(list, format);
	vsnprintf(loop->run->error, sizeof(loop->run->error), format, list);
	va_end(list);
}

/* Refused trials are made up for by further ones. */
static size_t limit(const struct loop *loop)
{
	const struct sweep_run *run = loop->run;

	return run->plan->count +
	       (run->plan->design == SWEEP_FULL ? 0 : run->table->counts[SWEEP_IMPOSSIBLE]);
}

static void show(struct loop *loop)
{
	struct sweep_run *run = loop->run;
	size_t have = 0, all = limit(loop);

	for (size_t s = 0; s < SWEEP_STATUS_COUNT; s++)
		have += run->table->counts[s];
	run->left = all > have ? all - have : 0;
	run->seconds = now() - loop->began;
	if (run->progress)
		run->progress(run->context, run);
}

static void clean(struct loop *loop, struct job *job, bool keep)
{
	if (!keep) {
		if (job->folder)
			sweep_child_remove(job->folder);
		if (job->output)
			unlink(job->output);
	}
	if (job->table)
		unlink(job->table);
	if (job->values)
		sweep_plan_free_values(loop->run->plan, job->values);
	free(job->values);
	free(job->folder);
	free(job->output);
	free(job->table);
	*job = (struct job){0};
}

static void began(struct loop *loop, struct job *job, pid_t pid, const char *program)
{
	if (pid < 0) {
		stop(loop, "%s: %s", program, strerror(-pid));
		return;
	}
	job->pid = pid;
	loop->running++;
}

static void attempt(struct loop *loop, struct job *job)
{
	struct sweep_run *run = loop->run;
	char **words = sweep_run_arguments(run, job->trial, job->values);

	sweep_child_remove(job->folder);
	if (!words) {
		stop(loop, "out of memory");
	} else if (mkdir(job->folder, 0777) < 0) {
		stop(loop, "%s: %s", job->folder, strerror(errno));
	} else {
		began(loop, job, sweep_child_start(words, job->output, job->output, &loop->mask), words[0]);
	}
	sweep_run_free_arguments(words);
	job->measuring = job->timed_out = job->killed = false;
	job->attempts++;
	job->began = now();
	job->deadline = run->timeout > 0 ? job->began + run->timeout : 0;
}

static void start(struct loop *loop, struct job *job, size_t trial)
{
	struct sweep_run *run = loop->run;
	const char *bad;

	job->trial = trial;
	job->values = calloc(run->plan->space->column_count, sizeof(*job->values));
	job->folder = sweep_command_folder(run, trial);
	if (!job->values || !job->folder || asprintf(&job->output, "%s.txt", job->folder) < 0 ||
		asprintf(&job->table, "%s.csv", job->folder) < 0) {
		stop(loop, "out of memory");
		return;
	}
	bad = sweep_plan_trial(run->plan, trial, job->values);
	if (bad)
		stop(loop, "%s", bad);
	else
		attempt(loop, job);
}

static void measure(struct loop *loop, struct job *job)
{
	char *words[] = {(char *)"pmanalyze", (char *)"export", (char *)"--observations", (char *)"--skip",
		loop->run->time->skip, job->folder, NULL};

	began(loop, job, sweep_child_start(words, job->table, job->output, &loop->mask), words[0]);
	job->measuring = true;
}

static void record(
	struct loop *loop, struct job *job, enum sweep_status status, double time, const char *note)
{
	struct sweep_run *run = loop->run;
	struct sweep_row row = {
		job->trial, job->values, status, time, job->attempts, job->ended - job->began, note};

	if (sweep_table_add(run->table, &row) < 0)
		stop(loop, "%s", run->table->error);
	run->finished++;
	loop->failures = status == SWEEP_FAILED ? loop->failures + 1
			 : status == SWEEP_DONE ? 0
						: loop->failures;
	loop->refusals = status == SWEEP_IMPOSSIBLE ? loop->refusals + 1 : 0;
	if (run->give_up && loop->failures >= run->give_up)
		stop(loop, "%zu consecutive trials failed; the last, trial %zu: %s", loop->failures,
			job->trial + 1, note);
	if (loop->refusals >= REFUSALS_MOST)
		stop(loop, "the program rejected %zu consecutive trials; the last, trial %zu: %s",
			loop->refusals, job->trial + 1, note);
	clean(loop, job,
		run->keep == SWEEP_KEEP_ALL || (run->keep == SWEEP_KEEP_FAILED && status == SWEEP_FAILED));
}

static bool refused(const struct space_file *space, int status, const char *output)
{
	for (size_t i = 0; i < space->refusal_count && WIFEXITED(status); i++)
		if (space->refusals[i].status == WEXITSTATUS(status) &&
			(!space->refusals[i].word || strstr(output, space->refusals[i].word)))
			return true;
	return false;
}

/* What the process has done wrong: `text` is the end of its output. */
static void describe(
	const struct loop *loop, const struct job *job, int status, char *text, char *note, size_t size)
{
	const char *who = job->measuring ? "pmanalyze: " : "", *line = sweep_child_last_line(text);

	if (job->timed_out)
		snprintf(note, size, "%stimed out after %g s", who, loop->run->timeout);
	else if (WIFSIGNALED(status))
		snprintf(note, size, "%ssignal %d (%s): %.200s", who, WTERMSIG(status),
			strsignal(WTERMSIG(status)), line);
	else
		snprintf(note, size, "%sexit status %d: %.200s", who, WEXITSTATUS(status), line);
}

static const char *read_time(struct loop *loop, struct job *job, double *time)
{
	const struct sweep_time *from = loop->run->time;
	const char *bad;
	char *path;

	if (from->kind == SWEEP_TIME_WALL) {
		*time = job->ended - job->began;
		return NULL;
	}
	if (from->kind == SWEEP_TIME_REGEX)
		return sweep_time_read(from, job->output, time);
	if (from->kind == SWEEP_TIME_CAPTURE)
		return sweep_time_read(from, job->table, time);
	path = sweep_command_fill(loop->run, job->trial, job->values, from->file);
	bad = path ? sweep_time_read(from, path, time) : "out of memory";
	free(path);
	return bad;
}

/* Is there no room where the sweep keeps its trials' output? Room that is said to be there may be another's
 * (a quota): some of it is taken, and given back. */
static bool disk_is_full(const char *folder)
{
	static const char some[PROBE_BYTES];
	char *path = NULL;
	bool full;
	int file;

	if (asprintf(&path, "%s/.room", folder) < 0)
		return false;
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	full = file < 0 || write(file, some, sizeof(some)) != (ssize_t)sizeof(some) || fsync(file) < 0;
	full = full && (errno == ENOSPC || errno == EDQUOT || errno == 0);
	if (file >= 0) {
		close(file);
		unlink(path);
	}
	free(path);
	return full;
}

static void end(struct loop *loop, struct job *job, int status)
{
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !job->timed_out;
	char text[TAIL_SIZE], note[512] = "";
	const char *bad;
	double time = 0;

	if (!job->measuring)
		job->ended = now();
	if (good && !job->measuring && loop->run->time->kind == SWEEP_TIME_CAPTURE) {
		measure(loop, job);
		return;
	}
	if (good) {
		bad = read_time(loop, job, &time);
		if (!bad) {
			if (job->measuring && sweep_time_differs(job->table, loop->run->plan->space,
						      job->values, note, sizeof(note)))
				loop->run->differing++;
			record(loop, job, SWEEP_DONE, time, note);
			return;
		}
		snprintf(note, sizeof(note), "%s", bad);
	} else {
		sweep_child_tail(job->output, text, sizeof(text));
		if (!job->measuring && !job->timed_out && refused(loop->run->plan->space, status, text)) {
			record(loop, job, SWEEP_IMPOSSIBLE, 0, sweep_child_last_line(text));
			return;
		}
		describe(loop, job, status, text, note, sizeof(note));
	}
	/* what a trial does without room says nothing of the trial: it is made again when there is some */
	errno = 0;
	if (disk_is_full(loop->run->folder))
		stop(loop,
			"%s: no space left on the device: trial %zu is not counted; free space and rerun "
			"the same command to resume",
			loop->run->folder, job->trial + 1);
	else if (job->attempts <= loop->run->retries)
		attempt(loop, job);
	else
		record(loop, job, SWEEP_FAILED, 0, note);
}

static void check_deadline(struct job *job)
{
	double time = now();

	if (job->deadline == 0 || time < job->deadline || job->killed)
		return;
	sweep_child_kill(job->pid, job->timed_out ? SIGKILL : SIGTERM);
	job->killed = job->timed_out;
	job->timed_out = true;
	job->deadline = time + GRACE_SECONDS;
}

static void start_more(struct loop *loop)
{
	for (size_t j = 0; j < loop->run->jobs && !loop->stop; j++) {
		while (loop->next < limit(loop) && sweep_table_has(loop->run->table, loop->next))
			loop->next++;
		if (loop->jobs[j].pid == 0 && loop->next < limit(loop))
			start(loop, &loop->jobs[j], loop->next++);
	}
}

/* Until a signal comes, at most for `seconds`; SIGCHLD is one of them. */
static void wait_signal(struct loop *loop, const sigset_t *set, double seconds)
{
	struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
	int number = sigtimedwait(set, NULL, &time);

	if (number == SIGINT || number == SIGTERM || number == SIGHUP)
		loop->stop = loop->run->interrupted = true;
}

static bool ended(struct loop *loop, struct job *job, int *status)
{
	if (!job->pid || !sweep_child_ended(job->pid, status))
		return false;
	job->pid = 0;
	loop->running--;
	return true;
}

static void reap(struct loop *loop)
{
	int status;

	for (size_t j = 0; j < loop->run->jobs; j++) {
		struct job *job = &loop->jobs[j];

		/* one that has ended may have begun anew, and ended: its signal has been taken already */
		while (!loop->stop && ended(loop, job, &status))
			end(loop, job, status);
		if (job->pid)
			check_deadline(job);
	}
}

/* What still runs at an early stop is no trial: it will be made again. */
static void end_all(struct loop *loop, const sigset_t *set)
{
	double deadline = now() + GRACE_SECONDS;
	int status, number = SIGTERM;

	for (size_t j = 0; j < loop->run->jobs; j++)
		if (loop->jobs[j].pid)
			sweep_child_kill(loop->jobs[j].pid, number);
	while (loop->running) {
		for (size_t j = 0; j < loop->run->jobs; j++)
			if (ended(loop, &loop->jobs[j], &status))
				clean(loop, &loop->jobs[j], false);
		if (loop->running && now() > deadline && number == SIGTERM) {
			number = SIGKILL;
			for (size_t j = 0; j < loop->run->jobs; j++)
				if (loop->jobs[j].pid)
					sweep_child_kill(loop->jobs[j].pid, number);
		}
		if (loop->running)
			wait_signal(loop, set, TICK_SECONDS);
	}
	for (size_t j = 0; j < loop->run->jobs; j++)
		clean(loop, &loop->jobs[j], false);
}

/* What a killed sweep has left behind of trials that are in the table. */
static void sweep_up(const struct sweep_run *run)
{
	for (size_t trial = 0; trial < run->table->room; trial++) {
		char *folder = sweep_table_has(run->table, trial) ? sweep_command_folder(run, trial) : NULL,
		     *file;

		if (folder && asprintf(&file, "%s.txt", folder) >= 0) {
			sweep_child_remove(folder);
			unlink(file);
			free(file);
		}
		free(folder);
	}
}

int sweep_run(struct sweep_run *run)
{
	struct loop loop = {.run = run, .began = now()};
	sigset_t set;

	run->error[0] = '\0';
	loop.jobs = calloc(run->jobs, sizeof(*loop.jobs));
	if (!loop.jobs || (mkdir(run->folder, 0777) < 0 && errno != EEXIST)) {
		stop(&loop, "%s: %s", run->folder, strerror(errno));
		free(loop.jobs);
		return -1;
	}
	if (run->keep == SWEEP_KEEP_NOTHING)
		sweep_up(run);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &loop.mask);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
	start_more(&loop);
	while (loop.running && !loop.stop) {
		show(&loop);
		wait_signal(&loop, &set, TICK_SECONDS);
		reap(&loop);
		start_more(&loop);
	}
	end_all(&loop, &set);
	show(&loop);
	rmdir(run->folder);
	free(loop.jobs);
	sigprocmask(SIG_SETMASK, &loop.mask, NULL);
	return run->interrupted || run->error[0] ? -1 : 0;
}
