/* Reading traces of one job: see run_job.h. */
#include "run_job.h"
#include "base/table.h"
#include "base/text.h"
#include "import/imported_timeline.h"
#include "timeline/timeline_job.h"
#include "timeline/timeline_read.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOBS_NAMED 20

static int read_paths(struct timeline *timeline, const char *const *paths, size_t path_count,
	const struct run_options *options, const char **error, const char ***unread)
{
	timeline_init(timeline);
	if (path_count && run_is_imported(paths[0]))
		return imported_timeline_read(timeline, paths, path_count, options->communication,
			options->progress, error, unread);
	return timeline_read(timeline, paths, path_count, &options->sample, error, unread);
}

/* "1: train_cnn, 3 traces of 3 ranks, from 2026-11-23 00:01:02, such as run/train_cnn.0.pmtrace" */
static const char *job_text(struct timeline *timeline, const struct timeline_job *job, size_t number)
{
	struct arena *arena = &timeline->arena;
	const char *program = *job->program ? job->program : "an unnamed program";
	const char *ranks = job->world > 0 ? arena_format(arena, " of %d rank%s", job->world,
						     pm_text_plural((size_t)job->world))
					   : "";
	time_t seconds = (time_t)(job->start_ns / 1000000000);
	char start[64] = "";
	struct tm when;

	if (job->start_ns && gmtime_r(&seconds, &when))
		strftime(start, sizeof(start), ", from %Y-%m-%d %H:%M:%S UTC", &when);
	return arena_format(arena, "%zu: %s, %zu trace%s%s%s, such as %s", number, print_clean(arena, program),
		job->process_count, pm_text_plural(job->process_count), ranks, start,
		print_clean(arena, timeline->processes[job->first].path));
}

static char *jobs_text(struct timeline *timeline, const char *path, const struct timeline_job *jobs,
	size_t count, size_t asked)
{
	const char *text = "";

	for (size_t i = 0; i < count && i < JOBS_NAMED; i++)
		text = arena_format(&timeline->arena, "%s\n  %s", text, job_text(timeline, &jobs[i], i + 1));
	if (count > JOBS_NAMED)
		text = arena_format(&timeline->arena, "%s\n  and %zu more", text, count - JOBS_NAMED);
	if (asked > count)
		return strdup(arena_format(&timeline->arena, "%s: no job %zu: there %s %zu%s", path, asked,
			count == 1 ? "is" : "are", count, text));
	return strdup(arena_format(&timeline->arena,
		"%s: these traces are of %zu jobs, launches or attempts, whose ranks cannot be compared; choose "
		"one with --job N%s",
		path, count, text));
}

/* The files of the job that is asked for, where there are several; they stay in the arena. */
static const char **choose_job(
	struct timeline *timeline, const uint32_t *job_of, size_t job, struct arena *arena, size_t *count)
{
	const char **files = arena_alloc(arena, timeline->process_count, sizeof(*files));

	*count = 0;
	for (size_t i = 0; i < timeline->process_count; i++) {
		const char *path = timeline->processes[i].path;
		bool known = false;

		for (size_t j = 0; j < *count && !known; j++)
			known = strcmp(files[j], path) == 0;
		if (job_of[i] == job && !known)
			files[(*count)++] = arena_text(arena, path, strlen(path));
	}
	return files;
}

int run_read(struct timeline *timeline, char **paths, size_t path_count, const struct run_options *options,
	const char ***unread, char **error)
{
	size_t count, job = options->job, last;
	struct timeline_job *jobs;
	const char *sentence;
	uint32_t *job_of;
	int status = read_paths(timeline, (const char *const *)paths, path_count, options, &sentence, unread);

	if (status < 0) {
		*error = strdup(sentence);
		return -1;
	}
	job_of = mem_alloc(timeline->process_count, sizeof(*job_of));
	count = timeline_jobs(timeline, job_of, &jobs);
	if (!job && timeline_last_attempt(timeline, job_of, jobs, count, &last))
		job = last + 1;
	if (job > count || (count > 1 && !job)) {
		*error = jobs_text(timeline, paths[0], jobs, count, job);
		status = -1;
	} else if (count > 1) {
		struct arena arena = {0};
		size_t file_count;
		const char **files = choose_job(timeline, job_of, job - 1, &arena, &file_count);

		timeline_free(timeline);
		status = read_paths(timeline, files, file_count, options, &sentence, unread);
		if (status < 0)
			*error = strdup(sentence);
		else if (!options->job)
			timeline->attempt_count = count;
		arena_free(&arena);
	}
	free(job_of);
	return status;
}
