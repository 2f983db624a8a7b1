/*
 * Which start of its job a trace belongs to, where its launcher starts jobs again: the note "attempt: ..."
 * (pm_format.h). Traces of other launchers, and older ones, say nothing.
 */
#ifndef TRACE_TRACE_ATTEMPT_H
#define TRACE_TRACE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

struct trace;

struct trace_attempt {
	bool known;
	int restart;       /* from 0 */
	int restarts;      /* the most there will be; -1: not known */
	uint32_t launcher; /* process on the trace's host, 0: not known */
	const char *job;   /* the job's name, as long as the trace; "": not known */
};

struct trace_attempt trace_attempt(const struct trace *trace);

/* Whether two traces are known to be of one job of a launcher, of which each is an attempt; the hosts are
 * theirs. */
bool trace_attempt_same_job(
	const struct trace_attempt *a, const char *host_a, const struct trace_attempt *b, const char *host_b);

#endif
