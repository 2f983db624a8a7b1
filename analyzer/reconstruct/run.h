/* A run as it is reported on: a label, its analysis, and what is not as it should be. */
#ifndef RECONSTRUCT_RUN_H
#define RECONSTRUCT_RUN_H

#include "analysis.h"
#include "base/progress.h"
#include "timeline/timeline_sample.h"

#include <regex.h>

struct run {
	const char *label; /* the folder's or file's name; of several alike (run_disambiguate) with that
			      before it */
	const char *path;  /* of the folder or first file */
	struct analysis analysis;
	bool rule_from_file; /* a file beside the traces says where iterations are */
	const char **unread; /* files that could not be read, one sentence each; NULL at the end */
};

#define RUN_SURE 0.9 /* confidence of the iterations below which there is a warning */

struct run_options {
	size_t skip; /* usual iterations at the begin that are left out */
	bool choose; /* only steps with these numbers (analysis_choose); none are skipped */
	int64_t first_step, last_step;
	size_t job;                   /* of several in the paths, from 1; 0: there must be but one */
	const regex_t *communication; /* of other profilers' traces: NULL, or further communication kernels */
	struct progress *progress;    /* or NULL */
	struct timeline_sample sample; /* of our own traces: how much of them is read */
	const struct iteration_rule
		*rule; /* for iterations; NULL or empty: that of the file beside the traces */
};

/* Reads and analyzes. -1 if there is nothing to analyze, with a sentence in `error`, which the caller frees.
 */
int run_open(struct run *run, char **paths, size_t path_count, size_t skip, char **error);
int run_open_as(
	struct run *run, char **paths, size_t path_count, const struct run_options *options, char **error);

/* The same from a timeline that was filled by other means; it is settled and taken over. */
void run_analyze(struct run *run, struct timeline *timeline, const char *label, size_t skip);

/* Is it a trace of another profiler, or a folder of such? By its content; of a folder by names. */
bool run_is_imported(const char *path);

/* Gives runs whose labels are the same the last two parts of their paths as labels, where those differ. */
void run_disambiguate(struct run *runs, size_t run_count);

void run_close(struct run *run);

/* What is not as it should be, one sentence each without a full stop, in the run's arena; NULL at the end. */
const char **run_warnings(struct run *run);

#endif
