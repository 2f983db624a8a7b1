/* Copies of a live run's traces: at once, or where an iteration took long. */
#ifndef CMDS_SNAP_H
#define CMDS_SNAP_H

#include "cmd_common.h"

struct snap {
	size_t count;
	size_t failed; /* could not be copied; each was said */
	size_t moving; /* were written faster than they could be copied */
	uint64_t bytes;
};

/* Copies the traces of the runs to the folder, made if it is not there, under their own names; each as it is
 * at one moment. Ends the program where there are none, or the folder cannot be made. */
struct snap snap_copy(char **runs, size_t run_count, const char *folder);

/* Removes those copies, and the folder if nothing else is in it. */
void snap_remove(char **runs, size_t run_count, const char *folder);

struct snap_watch {
	char **runs;
	size_t run_count;
	const char *folder;
	struct run_options how;
	double slower;  /* times the median of its rank */
	double every_s; /* between looks; longer where a look takes over a fifth of it */
	size_t most;    /* copies that are kept */
};

/*
 * Looks at a live run until its processes have ended: where a new iteration took that much longer, the traces
 * are copied, while they have it, to a folder of its own in `folder`; of more than `most` the slowest stay.
 * Prints a line for each. The exit status.
 */
int snap_watch(const struct snap_watch *watch);

#endif
