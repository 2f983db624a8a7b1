/* Inside run*.c: reading the traces of one job into a timeline, of our own or other profilers, and which part. */
#ifndef RECONSTRUCT_RUN_JOB_H
#define RECONSTRUCT_RUN_JOB_H

#include "run.h"

/*
 * Of several jobs in the paths (timeline_job.h) the one that the options ask for, and of attempts of one job the
 * last where they ask for none. -1 with a sentence in
 * *error, which the caller frees, where nothing can be read, or there are several otherwise and none is asked for. The
 * timeline is the caller's in either case.
 */
int run_read(struct timeline *timeline, char **paths, size_t path_count, const struct run_options *options,
	const char ***unread, char **error);

/* Why there are no iterations, of a run without. */
const char *run_why_none(const struct analysis *analysis);

/* Was not all of the run read? */
bool run_is_sampled(const struct run *run);

/* Does a worker of a run that was not read as a whole have fewer steps, for all that is known? */
bool run_ends_before(const struct run *run, int64_t step);

/*
 * What to read of a run that was not read as a whole, so that the steps with these numbers are there: they with
 * some around them, and the beginning, on the wall clock. False: where the steps are is not known.
 */
bool run_stretches(
	const struct run *run, int64_t first_step, int64_t last_step, struct timeline_stretches *stretches);

#endif
