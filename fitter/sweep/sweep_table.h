/*
 * The table of a sweep: a CSV file to which each finished trial adds one line, which is on the disk before
 * the next trial counts on it. So whatever stops a sweep, the table has the finished trials, each once, and
 * at most half a line at its end, which is cut off when the sweep goes on.
 *
 *     plan,trial,<the space's columns>,<time>,status,attempts,seconds,note
 *
 * status: done; failed, with the reason in note; impossible, where the program refused.
 */
#ifndef SWEEP_TABLE_H
#define SWEEP_TABLE_H

#include "sweep_plan.h"

enum sweep_status { SWEEP_DONE, SWEEP_FAILED, SWEEP_IMPOSSIBLE, SWEEP_STATUS_COUNT };

extern const char *const sweep_status_names[];

struct sweep_row {
	size_t trial; /* from 0; in the file from 1 */
	char *const *values;
	enum sweep_status status;
	double time; /* of done */
	size_t attempts;
	double seconds; /* of the last attempt */
	const char *note;
};

struct sweep_table {
	char *path;
	int file;
	const struct sweep_plan *plan;
	bool *has; /* by trial */
	size_t room;
	size_t counts[SWEEP_STATUS_COUNT];
	size_t cut;    /* bytes of half a line that were cut off */
	double *times; /* of the trials done, in the order of the file */
	char error[1024];
};

/*
 * Opens or makes the file, which no other sweep may have open. Refuses a file that is not of this plan.
 * `again`: rows of failed trials are taken out first. 0 or -errno with table->error; sweep_table_close in
 * either case.
 */
int sweep_table_open(struct sweep_table *table, const char *path, const struct sweep_plan *plan, bool again);
bool sweep_table_has(const struct sweep_table *table, size_t trial);
/* 0 or -errno with table->error; then the file is as before. */
int sweep_table_add(struct sweep_table *table, const struct sweep_row *row);
void sweep_table_close(struct sweep_table *table);

#endif
