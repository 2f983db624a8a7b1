/*
 * How much work is enqueued and has not started, over time, on each stream of each GPU: one more when the
 * host begins the call that launches a piece of work, one less when the device begins it, as
 * HolisticTraceAnalysis counts. Empty: what the host enqueues next starts at once, and nothing hides when it
 * is late. At QUEUE_LENGTH_FULL the driver makes the host wait.
 */
#ifndef ANALYSES_QUEUE_LENGTH_H
#define ANALYSES_QUEUE_LENGTH_H

#include "base/table.h"
#include "reconstruct/analysis.h"

#define QUEUE_LENGTH_FULL 1024 /* launches that CUDA takes before they block */

struct queue_point {
	int64_t ns;
	int32_t change;  /* 1: launched, -1: started */
	uint32_t length; /* from then on */
};

struct queue_length {
	size_t worker;              /* of the analysis */
	uint64_t stream;            /* as the trace numbers it */
	struct queue_point *points; /* in order of time */
	size_t count, room;
	/* From the first point to the last, by time. */
	double mean, median;
	uint32_t most;
	double empty, full; /* shares of the time */
};

struct queue_lengths {
	struct queue_length *items; /* by worker, then the most work first */
	size_t count, room;
	bool hostless; /* of some worker only the work is known, not when it was launched: it has no items */
};

/* The caller frees it. */
void queue_lengths_find(const struct analysis *analysis, struct queue_lengths *lengths);
void queue_lengths_free(struct queue_lengths *lengths);

/* A row for each stream. */
void queue_length_table(
	struct print_table *table, struct analysis *analysis, const struct queue_lengths *lengths);

/* A row for each change, from the first of all. */
void queue_point_table(
	struct print_table *table, struct analysis *analysis, const struct queue_lengths *lengths);

#endif
