/*
 * From traces of other profilers to the canonical model (timeline.h), so that every analysis reads them
 * without knowing where they came from.
 *
 * A worker of a file becomes a process. A call of the file becomes a call, with the device events that it
 * launched as its intervals; a device event whose call is not in the file gets a call of its own, at its
 * begin. What the program waits for its input becomes file input, marks of steps become steps
 * (timeline_step). Which ranks meet at a collective, and how far their clocks are apart, is arrivals.h's
 * answer.
 */
#ifndef IMPORT_IMPORTED_TIMELINE_H
#define IMPORT_IMPORTED_TIMELINE_H

#include "base/progress.h"
#include "imported_attribute.h"
#include "timeline/timeline.h"

#include <regex.h>

/*
 * Reads files and folders into a timeline that is empty; it is not settled yet. -1: nothing could be read;
 * `error` gets a sentence. `warnings`: one sentence each, NULL at the end. Both live in the arena. Reads on
 * as many threads as there are processors; no more files are in memory at once. `communication`: NULL, or
 * kernels whose name it finds are communication too. `progress` may be NULL.
 */
int imported_timeline_read(struct timeline *timeline, const char *const *paths, size_t path_count,
	const regex_t *communication, struct progress *progress, const char **error, const char ***warnings);

/*
 * Is all of it labelled phases, without a call or device event (IMPORTED_CHROME)? Then nothing tells what a
 * phase waits for before it begins: what replays launches has nothing to say, but slowdown.h has.
 */
bool imported_timeline_is_labels(const struct timeline *timeline);

/*
 * ---- Inside imported_*.c ----
 */

/* What of a file's tables is looked up again and again while its workers are added. */
struct imported_join {
	struct imported *imported;
	const struct imported_attribution *attribution;
	uint32_t *events;       /* by worker, in order of begin */
	size_t *ends;           /* by worker: where its events end, and the next one's begin */
	bool *launches;         /* by thread: it launched events */
	bool *inner_threads;    /* by thread: launched events of the worker that is being added */
	uint16_t *ordinals;     /* by thread: in the worker that is being added; 0: none yet */
	uint32_t *call_workers; /* by call: worker + 1 that it was last added for */
	uint32_t *next;         /* by event: the next of its call, + 1 */
	uint32_t *last;         /* by call: its last event so far, + 1 */
	struct imported_join_device {
		int32_t device;
		size_t place; /* in the file's */
	} * devices;          /* in order */
	uint32_t peers; /* string: group of the sends and receives that say their ranks */
	int64_t host_begin_ns;
};

void imported_join_begin(struct imported_join *join, struct imported *imported,
	const struct imported_attribution *attribution);
void imported_join_end(struct imported_join *join);

/* Adds the process of one worker with all that belongs to it. */
void imported_join_add(struct imported_join *join, uint32_t worker, struct timeline *timeline);

/* Does a span of the thread belong to the worker? */
bool imported_join_has_thread(const struct imported_join *join, uint32_t worker, uint32_t thread);

/* The marks of steps of the worker, added to the timeline's; in order of time, and apart. */
void imported_steps_add(const struct imported_join *join, uint32_t worker, struct timeline *timeline,
	struct timeline_process *process);

/*
 * Of processes whose phases carry the numbers of their steps (labels alone, of one file): a step is the whole
 * job's, from the first of all workers to the last, as far as the worker's own steps before and after leave
 * room. Where numbers are left out the recording has a gap.
 */
void imported_steps_of_job(struct timeline *timeline, size_t first_process);

/* Does the name mark a step, as "ProfilerStep#12", "step 12", "iteration"? */
bool imported_is_step(const char *name);

#endif
