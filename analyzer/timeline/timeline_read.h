/*
 * Filling a timeline from trace files. A file that breaks off is read as far as it goes and its process says
 * so.
 */
#ifndef TIMELINE_TIMELINE_READ_H
#define TIMELINE_TIMELINE_READ_H

#include "timeline.h"
#include "timeline_sample.h"

/*
 * Reads folders (all their *.pmtrace) and files; the timeline is not settled yet. sample: how much of them.
 * `error` gets a sentence when the answer is -1; files that cannot be read beside others that can are named in
 * `warnings`, one sentence each, NULL at the end; both live in the arena.
 */
int timeline_read(struct timeline *timeline, const char *const *paths, size_t path_count,
	const struct timeline_sample *sample, const char **error, const char ***warnings);

/* Adds the process of one trace. The trace may be closed afterwards. */
void timeline_add(struct timeline *timeline, const struct trace *trace);

#endif
