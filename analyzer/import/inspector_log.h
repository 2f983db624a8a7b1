/*
 * Logs of NCCL Inspector (NCCL's profiler plugin, NCCL_INSPECTOR_DUMP_DIR): a line of JSON for each
 * collective that a rank has completed, with its size and how long it took, by no clock that ranks share.
 */
#ifndef IMPORT_INSPECTOR_LOG_H
#define IMPORT_INSPECTOR_LOG_H

#include "importer.h"

struct inspector_call {
	const char *communicator; /* "0x7f8c496ae9f661" */
	const char *name;         /* "AllReduce" */
	int32_t rank, size;       /* in the communicator, and its ranks */
	int64_t sequence;         /* of its function on the communicator */
	int64_t dumped_us;        /* wall clock, when the line was written */
	double bytes, time_ns;
	int32_t parts; /* of such bytes: `size` where the function's are those of one rank, by the log's own
			  bandwidth */
};

struct inspector_log {
	struct inspector_call *calls;
	size_t count, room;
	size_t odd;          /* lines that are no collective */
	struct intern texts; /* of the calls */
};

bool inspector_sniff(const struct importer_head *head);

/* Is it one, by its bytes? Of a folder: is one in it? */
bool inspector_is(const char *path);

/* Adds the calls of a file, or of all logs in a folder. NULL, or what is wrong: one sentence that is valid
 * until the thread's next. What was read before stays; the caller frees the log. */
const char *inspector_read(struct inspector_log *log, const char *path);
void inspector_free(struct inspector_log *log);

#endif
