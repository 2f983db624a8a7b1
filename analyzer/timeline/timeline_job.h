/*
 * Which of the processes that were read are one job. Traces in one folder need not be: a script trained two
 * programs, a program was launched twice or again after a crash, ranks of two runs were copied together. Set
 * against each other, their ranks would tell nothing and look as if they did.
 *
 * Processes of one job have the same program and number of ranks, each rank once, and run at the same time. A
 * launcher that starts a job again says so to its processes: its attempts are jobs here.
 * Where our own traces share a communicator, they are one; where both have communicators and share none, they
 * are not.
 */
#ifndef TIMELINE_TIMELINE_JOB_H
#define TIMELINE_TIMELINE_JOB_H

#include "timeline.h"

struct timeline_job {
	const char *program; /* "": not known */
	int32_t world;       /* 0: not known */
	int64_t start_ns;    /* wall clock, of the first of its processes; 0: not known */
	size_t process_count;
	uint32_t first; /* process */
};

/*
 * job_of[process], the caller's array, gets numbers from 0, in order of start. Answers how many there are;
 * the list is in the timeline's arena. To be called when all processes have been read, before or after
 * timeline_settle.
 */
size_t timeline_jobs(struct timeline *timeline, uint32_t *job_of, struct timeline_job **jobs);

/* Whether these jobs are attempts of one, as their launcher says; then which of them is the last. */
bool timeline_last_attempt(const struct timeline *timeline, const uint32_t *job_of,
	const struct timeline_job *jobs, size_t count, size_t *last);

#endif
