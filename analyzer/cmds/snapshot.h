/* A run as it is now, for commands that look at it again and again: top and metrics. */
#ifndef CMDS_SNAPSHOT_H
#define CMDS_SNAPSHOT_H

#include "analyses/fleet/recent.h"
#include "cmd_common.h"

/* Of more ranks that run, their pages are read: the traces of so many take a second. */
#define SNAPSHOT_RANKS 64

enum snapshot_from { SNAPSHOT_CHOSEN, SNAPSHOT_PAGES, SNAPSHOT_TRACES };

/* The row of --from, for a command's options; and its argument, or cmd_usage. */
#define SNAPSHOT_ROW(key) \
	{ \
		"from", key, "SOURCE", \
			"pages: the page of figures of each trace, one read of 4 KiB a rank; traces: all records (default: pages of a run " \
			"that goes on with more than 64 ranks, unless steps, iterations, records or a job are asked for)" \
	}
enum snapshot_from snapshot_from(const struct command *command, int key, const char *argument);

/* What is read, how, and what is kept from one reading to the next. By one thread at a time. */
struct snapshot_source {
	char **paths;
	size_t path_count;
	struct run_options how;
	enum snapshot_from from;
	bool is_whole_asked; /* by options that pages cannot answer */
	bool concludes;      /* findings are wanted */
	const char *label;   /* of pages: the first path's last part; set by the first reading */
	struct fleet fleet;
};

void snapshot_source_init(
	struct snapshot_source *source, const struct cmd_options *how, char **paths, size_t path_count);

struct snapshot {
	struct recent recent;
	struct run run;        /* of traces */
	struct summaries *job; /* of summaries; else NULL */
	char *error;           /* NULL, or a sentence: there is nothing to show */
	double took_s;
};

/* Reads what the source names. The caller frees it, before or after another reading. */
struct snapshot *snapshot_read(struct snapshot_source *source);
void snapshot_free(struct snapshot *snapshot);

#endif
