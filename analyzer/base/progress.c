/* The line that says how far a reading is: see progress.h. A thread of its own writes it, since a single
 * large file is a long way too. */
#include "progress.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUIET_NS 2000000000ll /* what takes less needs no word */
#define EVERY_NS 200000000ll

static struct timespec after(struct timespec from, long long ns)
{
	ns += from.tv_nsec;
	return (struct timespec){from.tv_sec + ns / 1000000000, ns % 1000000000};
}

static void *write_line(void *argument)
{
	struct progress *progress = argument;
	struct timespec begin, next;
	bool shown = false;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	next = after(begin, QUIET_NS);
	pthread_mutex_lock(&progress->lock);
	while (!progress->over) {
		char count[64] = "";

		if (pthread_cond_timedwait(&progress->change, &progress->lock, &next) == 0)
			continue; /* it is over, or was woken for nothing */
		if (progress->total > 1)
			snprintf(count, sizeof(count), " %zu of %zu files", progress->done, progress->total);
		pm_terminal_progress("pmanalyze: %s%s, %lld s", progress->what, count,
			(long long)(next.tv_sec - begin.tv_sec));
		shown = true;
		next = after(next, EVERY_NS);
	}
	pthread_mutex_unlock(&progress->lock);
	if (shown)
		pm_terminal_clear();
	return NULL;
}

void progress_begin(struct progress *progress, const char *what)
{
	pthread_condattr_t clock;

	memset(progress, 0, sizeof(*progress));
	if (!isatty(STDERR_FILENO))
		return;
	progress->what = what;
	pthread_mutex_init(&progress->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&progress->change, &clock);
	pthread_condattr_destroy(&clock);
	progress->running = pthread_create(&progress->thread, NULL, write_line, progress) == 0;
}

static void count(struct progress *progress, size_t done, size_t total)
{
	if (!progress || !progress->running)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->done += done;
	progress->total += total;
	pthread_mutex_unlock(&progress->lock);
}

void progress_expect(struct progress *progress, size_t files)
{
	count(progress, 0, files);
}

void progress_step(struct progress *progress)
{
	count(progress, 1, 0);
}

void progress_end(struct progress *progress)
{
	if (!progress || !progress->running)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->over = true;
	pthread_cond_signal(&progress->change);
	pthread_mutex_unlock(&progress->lock);
	pthread_join(progress->thread, NULL);
	pthread_cond_destroy(&progress->change);
	pthread_mutex_destroy(&progress->lock);
	progress->running = false;
}
