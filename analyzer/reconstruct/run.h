/* A run as it is reported on: a label, its analysis, and what is not as it should be. */
#ifndef RECONSTRUCT_RUN_H
#define RECONSTRUCT_RUN_H

#include "analysis.h"
#include "base/progress.h"
#include "base/table.h"
#include "timeline/timeline_sample.h"
#include "timeline/constants.h"

#include <regex.h>

struct run {
	const char *label; /* the folder's or file's name; of several alike (run_disambiguate) with that
			      before it */
	const char *path;  /* of the folder or first file */
	struct analysis analysis;
	bool rule_from_file; /* a file beside the traces says where iterations are */
	const char **unread; /* files that could not be read, one sentence each; NULL at the end */
};

struct run_options {
	size_t skip; /* usual iterations at the start that are left out */
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

/* Is it a trace of another profiler, or a folder of such? By its content; of a folder by names. A file that is
 * neither that nor ours counts as one too: its reader knows all formats, and refuses it with their list. */
bool run_is_imported(const char *path);

/* Gives runs whose labels are the same the last two parts of their paths as labels, where those differ. */
void run_disambiguate(struct run *runs, size_t run_count);

void run_close(struct run *run);

/*
 * What the device times are of, where they were calculated (run_device.c): "modelled NVIDIA H200, times x
 * 50", in the timeline's arena. NULL: of devices, as far as the traces say. The scale is the largest of the
 * processes', 1 where nothing says otherwise; figures that compare device times with the host's or with a
 * GPU's rates mean nothing of others.
 */
const char *run_device(struct timeline *timeline);
double run_time_scale(const struct timeline *timeline);

/* The same as the line of a report below its heading; nothing where there is nothing to say. As JSON, members
 * `device`
 * (`modelled` where the object has a device of another sense) and `time_scale` of the object. */
void run_print_device(struct run *run, FILE *out);
void run_print_devices(struct run *runs, size_t run_count, FILE *out); /* a line each, with its label */
void run_device_json(struct run *run, cJSON *object);

/* What is not as it should be, one sentence each without a full stop, in the run's arena; NULL at the end. */
const char **run_warnings(struct run *run);

#endif
