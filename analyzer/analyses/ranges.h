/*
 * The ranges that a program and its libraries name: NVTX's and those of PyTorch's record_function. How often each is
 * there, how long, what it launches, and whether it comes once in each iteration.
 */
#ifndef ANALYSES_RANGES_H
#define ANALYSES_RANGES_H

#include "base/table.h"
#include "reconstruct/analysis.h"

/* A domain's ranges of one name, of all processes. One in another of the same name is counted, its time is not. */
struct range_row {
	const char *domain; /* NULL: NVTX's default one */
	const char *name;
	uint32_t color;   /* ARGB, as first given; 0: none */
	double count;     /* those that have ended */
	double time_ns;   /* of the host, in all */
	double device_ns; /* of the work launched in it, summed over streams; NAN: not known */
	double used_count; /* those whose middle is in a used iteration */
	double used_ns;    /* that they cover of used iterations */
	bool marks;        /* the middle of exactly one is in each used iteration of each process that has it */
};

struct range_table {
	struct range_row *rows; /* the most time first */
	size_t count, room;
	double iteration_count, iteration_ns; /* used ones of the processes with ranges; 0: none */
};

/* Work that a thread launches in no range of its own (autograd's thread) counts to the range that is open on the thread
 * with most ranges of the process. The caller frees the table. */
void ranges_find(const struct analysis *analysis, struct range_table *ranges);
void ranges_free(struct range_table *ranges);

/* A row for each; share: of the time of the used iterations. */
void ranges_table(struct print_table *table, const struct range_table *ranges);

/* Whether the range is one that a program or a library names. */
bool ranges_is_named(const struct timeline *timeline, uint32_t name);

#endif
