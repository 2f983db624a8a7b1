/* The slowdown (slowdown.h) of a run whose traces are labelled phases alone, from its timeline. */
#ifndef ANALYSES_SLOWDOWN_SLOWDOWN_JOB_H
#define ANALYSES_SLOWDOWN_SLOWDOWN_JOB_H

#include "slowdown.h"
#include "timeline/timeline.h"

struct slowdown_job {
	struct labelled job;
	struct labelled_graph graph;
	struct slowdown slowdown;
};

/* Reads the timeline's files again, as labels. NULL where the run has other work than labelled phases, or the
 * labels are no job. */
struct slowdown_job *slowdown_job_open(const struct timeline *timeline);
void slowdown_job_close(struct slowdown_job *job); /* may be NULL */

#endif
