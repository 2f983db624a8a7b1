/*
 * A run in the formats of other programs: a trace for Perfetto and chrome://tracing, and a table of
 * observations for pmfit.
 */
#ifndef OUTPUT_EXPORT_EXPORT_H
#define OUTPUT_EXPORT_EXPORT_H

#include "reconstruct/run.h"
#include "stream.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The run as Chrome trace JSON. A process for each of the run's, in it a track for each worker's iterations
 * and one for their phases (exclusive accounting), one for each host thread and one for each stream of a
 * device; work that overlaps other work of its track goes to a further one. Flows lead from the call to its
 * work. Times are us with the ns as decimals, from the run's first event on.
 * Besides the run it takes memory for one process at a time. Errors are the file's: see export_close.
 */
void export_trace(struct export_out *out, const struct run *run);

/*
 * One worker of the run as the PyTorch profiler would have written it, which HolisticTraceAnalysis and others
 * load: its iterations as ProfilerStep annotations, its calls as operators and runtime calls, its device work
 * with correlations, streams, and what is known of collectives. `worker` counts those without iterations too,
 * and is the rank that the file says. Errors are the file's: see export_close.
 */
void export_kineto(struct export_out *out, const struct run *run, size_t worker);

/* The line of names, without line break: what export_observation fills. In a static buffer. */
const char *export_observation_names(void);

/*
 * A line of CSV about a run that has iterations: what was trained, as its descriptors say, on what, and the
 * medians of its times in ms. What the run does not have is empty.
 */
void export_observation(struct run *run, FILE *out);

/*
 * How long each operation took on the device, a line each with the median, in the text that softgpu's
 * SOFTGPU_TIMES reads (testapps/softgpu/core/times.c has the lines). Kernels with grid and block, copies and
 * sets; calls of cuDNN and cuBLAS whose work is known, of a Kineto trace the products of matrices; of
 * collectives the shortest part of all ranks, which waits least. Such traces are read once more, from the
 * run's paths. Answers how many lines; of a run without any nothing is written.
 */
size_t export_times(const struct run *run, char **paths, size_t path_count, FILE *out);

/*
 * Adds lines to a table of observations, all of them or none; with `append` to those that are there, else in
 * their place. Others may append at the same time. -1 if it could not, with a sentence in `error`, which the
 * caller frees.
 */
int export_table(const char *path, bool append, const char *lines, char **error);

#endif
