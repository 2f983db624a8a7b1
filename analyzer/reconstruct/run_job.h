/* Inside run*.c: reading the traces of one job into a timeline, of our own or other profilers. */
#ifndef RECONSTRUCT_RUN_JOB_H
#define RECONSTRUCT_RUN_JOB_H

#include "run.h"

/*
 * Of several jobs in the paths (timeline_job.h) the one that the options ask for. -1 with a sentence in
 * *error, which the caller frees, where nothing can be read, or there are several and none is asked for. The
 * timeline is the caller's in either case.
 */
int run_read(struct timeline *timeline, char **paths, size_t path_count, const struct run_options *options,
	const char ***unread, char **error);

/* Why there are no iterations, of a run without. */
const char *run_why_none(const struct analysis *analysis);

#endif
