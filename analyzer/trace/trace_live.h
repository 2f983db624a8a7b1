/* What a process does now, by one page of its trace (struct pm_live): for whoever watches thousands. Also
 * pmrun's. */
#ifndef TRACE_TRACE_LIVE_H
#define TRACE_TRACE_LIVE_H

#include "pm_format.h"

#include <stdbool.h>

struct trace_live {
	struct pm_header header; /* names are terminated */
	struct pm_live figures;  /* of one moment as to steps */
	bool known;              /* the file has figures; else all of them are 0 */
};

/* Reads the first page. False: no trace of ours, or not yet. */
bool trace_live_read(const char *path, struct trace_live *live);

/* CLOCK_REALTIME of a time of the process's CLOCK_MONOTONIC. */
int64_t trace_live_real_ns(const struct trace_live *live, uint64_t monotonic_ns);

#endif
