/*
 * What two runs do differently: the operations of their usual iterations set against each other by what they
 * are (function, sizes and settings without addresses, layer, phase), how often an iteration has them, and
 * how long they take. An operation that only one run has and one of the same function, layer and phase that
 * only the other has are one that changed: another algorithm, layout, bucket.
 */
#ifndef ANALYSES_COMPARE_DIFF_H
#define ANALYSES_COMPARE_DIFF_H

#include "compare.h"

enum diff_what {
	DIFF_SAME,
	DIFF_TIME,    /* as often, but longer or shorter */
	DIFF_COUNT,   /* more or less often */
	DIFF_CHANGED, /* with other sizes or settings, or as another kernel */
	DIFF_ONLY_BASE,
	DIFF_ONLY_OTHER,
};

/* An operation on one side or both. Counts and times are of an iteration: means over used iterations of the
 * workers that have it. */
struct diff_item {
	const char *function;  /* or the kernel's name */
	const char *values[2]; /* "algo=1 x=tensor(F32 4 64 ...)", by side; NULL: the side has it not */
	const char *layer;     /* as the base has it, "" of none */
	const char *phase;     /* symbol, "" where it has none */
	enum pm_kind kind;
	bool kernel; /* what ran on the device for a call that is listed too */
	double count[2], time_ns[2];
	double bytes[2]; /* of one: copied or sent; 0: none, or not known */
	enum diff_what what;
	const char *detail; /* of DIFF_CHANGED: "algo 1 -> 6" */
	uint64_t key;
};

struct diff {
	struct diff_item *items; /* by size of the difference in time; kernels among calls */
	size_t count, room;
	size_t same;
	struct arena arena;
};

/* The first runs of the pair's sides. Only differences over `margin` (a share of the time of the operation,
 * and a tenth of that of the iteration) count as such in time. */
void diff_find(struct diff *diff, const struct compare *compare, const struct compare_pair *pair);
void diff_free(struct diff *diff);

/* Text, JSON ("diff", "diff_kinds" in the object) or CSV; at most `limit` operations in text, 0: all. */
void diff_print(struct diff *diff, const struct compare *compare, const struct compare_pair *pair,
	enum print_form form, cJSON *object, size_t limit, FILE *out);

#endif
