/* What commands share that read a live run again and again, perhaps on a host that trains. */
#ifndef CMDS_LIVE_H
#define CMDS_LIVE_H

#include "base/memory.h"
#include "timeline/timeline_sample.h"

#include <stddef.h>
#include <stdint.h>

double live_now_s(void);    /* CLOCK_MONOTONIC */
int64_t live_wall_ns(void); /* CLOCK_REALTIME */

/* The process gives way to the job from now on. */
void live_be_polite(void);

/* From the start of a reading to the next, which readings take at most a fifth of: `every_s` or more. */
double live_interval(double took_s, double every_s);

/* What a run is called where its traces are not read: the last part of the path, without slashes at its end.
 */
const char *live_label(struct arena *arena, const char *path);

/* NULL, or a sentence for the caller to free: reading so much of these traces would take more than half of the
 * memory that the host has free. */
char *live_room(char **paths, size_t path_count, const struct timeline_sample *sample);

#endif
