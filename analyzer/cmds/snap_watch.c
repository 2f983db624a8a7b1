/*
 * pmanalyze snap --slower: the slowest iterations of a run whose traces drop what is old.
 *
 * The hook does not know where an iteration begins; a reader does, and the last calls of each rank are always
 * there whole. So the reader looks often enough, and copies what it wants to keep before it is dropped.
 */
#include "analyses/fleet/recent.h"
#include "base/statistics.h"
#include "base/text.h"
#include "live.h"
#include "snap.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define QUIET_NS 600e9     /* without a record: the run is over, though nobody has said so */
#define LEAST_TO_COMPARE 5 /* iterations of a rank that have a median */

/* An iteration that took long. */
struct slow {
	int64_t begin_ns; /* of the timeline */
	time_t time;      /* of day when it began */
	double took_ns, factor;
	char rank[64];
	char *folder; /* of the copy, NULL: none yet; to be freed */
};

struct looks {
	const struct snap_watch *watch;
	int64_t *seen_ns; /* by worker: where the last iteration began that was looked at */
	size_t worker_count;
	struct slow *kept; /* watch->most of them */
	size_t kept_count, found;
	bool failed;
};

static void open_run(const struct snap_watch *watch, char **paths, size_t path_count, struct run *run)
{
	char *error = live_room(paths, path_count, &watch->how.sample);

	if (error || run_open_as(run, paths, path_count, &watch->how, &error) < 0)
		errx(1, "%s", error);
}

/* The slowest of a worker's iterations that are new, if it is slower than *slow. */
static void look_at_worker(struct looks *looks, const struct recent *recent, size_t number, struct slow *slow)
{
	const struct recent_worker *item = &recent->workers[number];
	const struct analysis_worker *worker = item->worker;
	double *times = mem_alloc(item->whole, sizeof(*times)), median;
	int64_t seen_ns = looks->seen_ns[number];

	for (size_t i = 0; i < item->whole; i++)
		times[i] = (double)worker->phases.times[worker->used[i]].iteration_ns;
	if (item->whole < LEAST_TO_COMPARE || isnan(item->iteration_ns)) {
		free(times);
		return;
	}
	median = statistics_median(times, item->whole);
	for (size_t i = 0; i < item->whole; i++) {
		const struct iteration *iteration = &worker->iterations.items[worker->used[i]];
		const double took_ns = (double)worker->phases.times[worker->used[i]].iteration_ns;

		if (iteration->begin_ns <= looks->seen_ns[number])
			continue;
		seen_ns = iteration->begin_ns > seen_ns ? iteration->begin_ns : seen_ns;
		if (took_ns < looks->watch->slower * median || took_ns <= slow->factor * median)
			continue;
		*slow = (struct slow){.begin_ns = iteration->begin_ns,
			.time = (time_t)((iteration->begin_ns +
						 recent->run->analysis.timeline.processes[0].real_offset_ns) /
					 1000000000),
			.took_ns = took_ns,
			.factor = took_ns / median};
		snprintf(slow->rank, sizeof(slow->rank), "%s", item->name);
	}
	looks->seen_ns[number] = seen_ns;
	free(times);
}

/* The slowest new iteration over all workers; factor 0: none took long. True: the run is over. */
static bool look(struct looks *looks, struct slow *slow)
{
	struct recent recent;
	struct run run;
	bool over;

	*slow = (struct slow){0};
	open_run(looks->watch, looks->watch->runs, looks->watch->run_count, &run);
	recent_find(&run, live_wall_ns(), &recent);
	for (; looks->worker_count < recent.worker_count; looks->worker_count++) {
		looks->seen_ns = realloc(looks->seen_ns, (looks->worker_count + 1) * sizeof(*looks->seen_ns));
		if (!looks->seen_ns)
			err(1, NULL);
		looks->seen_ns[looks->worker_count] = INT64_MIN;
	}
	for (size_t i = 0; i < recent.worker_count; i++)
		look_at_worker(looks, &recent, i, slow);
	over = recent.ended || recent.quiet_ns > QUIET_NS;
	recent_free(&recent);
	run_close(&run);
	return over;
}

/* Does the copy have the iteration? What was dropped between the look and the copy is not in it. */
static bool has_iteration(const struct looks *looks, const struct slow *slow)
{
	char *paths[] = {slow->folder};
	bool found = false;
	struct run run;

	open_run(looks->watch, paths, 1, &run);
	for (size_t w = 0; w < run.analysis.worker_count && !found; w++) {
		const struct analysis_worker *worker = &run.analysis.workers[w];

		for (size_t i = 0; i < worker->used_count && !found; i++) {
			const int64_t begin_ns = worker->iterations.items[worker->used[i]].begin_ns;
			const double took_ns = (double)worker->phases.times[worker->used[i]].iteration_ns;

			/* the axis of times is found anew from each reading: alike, not the same */
			found = fabs((double)(begin_ns - slow->begin_ns)) < slow->took_ns / 2 &&
				fabs(took_ns - slow->took_ns) < slow->took_ns / 2;
		}
	}
	run_close(&run);
	return found;
}

/* FOLDER/TIME, or with a number after it where there is one of that second. */
static char *name_folder(const struct looks *looks, const struct slow *slow)
{
	char time[32], more[16] = "", *name;
	struct tm parts;
	struct stat s;

	strftime(time, sizeof(time), "%Y%m%dT%H%M%S", localtime_r(&slow->time, &parts));
	for (int i = 2;; i++) {
		if (asprintf(&name, "%s/%s%s", looks->watch->folder, time, more) < 0)
			err(1, NULL);
		if (lstat(name, &s) < 0)
			return name;
		free(name);
		snprintf(more, sizeof(more), "-%d", i);
	}
}

/* Where the new one goes among those that are kept: a free place, or that of the least slow one. NULL: it is
 * less slow than all. */
static struct slow *place_for(struct looks *looks, const struct slow *slow)
{
	struct slow *least = &looks->kept[0];

	if (looks->kept_count < looks->watch->most)
		return &looks->kept[looks->kept_count];
	for (size_t i = 1; i < looks->kept_count; i++)
		if (looks->kept[i].factor < least->factor)
			least = &looks->kept[i];
	return slow->factor > least->factor ? least : NULL;
}

static void keep(struct looks *looks, struct slow *slow)
{
	const struct snap_watch *watch = looks->watch;
	struct slow *place = place_for(looks, slow);
	struct snap snap;

	looks->found++;
	if (!place)
		return;
	slow->folder = name_folder(looks, slow);
	snap = snap_copy(watch->runs, watch->run_count, slow->folder);
	looks->failed |= snap.failed > 0;
	if (snap.failed || !has_iteration(looks, slow)) {
		if (!snap.failed)
			warnx("an iteration of %s that took %.1f times the median was dropped before it could be "
			      "copied: look more often with --every, or give the traces more room "
			      "(PMHOOK_RING_MB)",
				slow->rank, slow->factor);
		snap_remove(watch->runs, watch->run_count, slow->folder);
		free(slow->folder);
		return;
	}
	printf("%s: %s took %.1f ms, %.1f times the median\n", slow->folder, slow->rank, slow->took_ns / 1e6,
		slow->factor);
	fflush(stdout);
	if (place == &looks->kept[looks->kept_count])
		looks->kept_count++;
	else {
		printf("%s: removed, %.1f times the median\n", place->folder, place->factor);
		snap_remove(watch->runs, watch->run_count, place->folder);
		free(place->folder);
	}
	*place = *slow;
}

/* Until the next look. */
static void pause_after(double begin_s, double every_s)
{
	const double took_s = live_now_s() - begin_s, rest_s = live_interval(took_s, every_s) - took_s;

	nanosleep(&(struct timespec){(time_t)rest_s, (long)((rest_s - floor(rest_s)) * 1e9)}, NULL);
}

int snap_watch(const struct snap_watch *watch)
{
	struct looks looks = {.watch = watch, .kept = mem_alloc(watch->most, sizeof(*looks.kept))};

	if (mkdir(watch->folder, 0777) < 0 && errno != EEXIST)
		err(1, "%s", watch->folder);
	live_be_polite();
	for (;;) {
		const double begin_s = live_now_s();
		struct slow slow;
		const bool over = look(&looks, &slow);

		if (slow.factor > 0)
			keep(&looks, &slow);
		if (over)
			break;
		pause_after(begin_s, watch->every_s);
	}
	if (looks.found)
		printf("%zu of %zu slow iteration%s kept in %s\n", looks.kept_count, looks.found,
			pm_text_plural(looks.found), watch->folder);
	else
		printf("no iteration took %g times the median\n", watch->slower);
	for (size_t i = 0; i < looks.kept_count; i++)
		free(looks.kept[i].folder);
	free(looks.kept);
	free(looks.seen_ns);
	return looks.failed;
}
