/* The live view of pmanalyze top, and the readings of a run that it and the text are made from. */
#ifndef CMDS_TOP_LIVE_H
#define CMDS_TOP_LIVE_H

#include "output/top_text.h"

struct snapshot {
	struct run run;
	struct recent recent;
	char *error; /* NULL, or a sentence: there is nothing to show */
	double took_s;
};

/* What is read, and how. */
struct source {
	char **paths;
	size_t path_count;
	struct run_options how;
};

/* Reads and analyzes the whole run. The caller frees it. */
struct snapshot *snapshot_read(const struct source *source);
void snapshot_free(struct snapshot *snapshot);

/*
 * Fills the terminal until somebody quits; reads again `every_s` after the reading before began, and so that
 * readings take at most a fifth of the time. Not again once the run has ended. Returns the exit status.
 */
int top_live(const struct source *source, enum top_order order, double every_s);

#endif
