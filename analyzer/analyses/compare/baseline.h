/*
 * A baseline: the means of runs over commits, one file, and with it how much runs of one commit differ on
 * this machine. A new run is judged against the last of them with that spread, so that one new run is enough.
 */
#ifndef ANALYSES_COMPARE_BASELINE_H
#define ANALYSES_COMPARE_BASELINE_H

#include "base/memory.h"
#include "compare_gate.h"

#define BASELINE_LAST 5 /* runs that a new one is compared with, if not asked otherwise */

struct baseline_run {
	const char *name;                    /* the commit */
	const char *date;                    /* "2026-11-28T13:31:29Z", when it was added; "": unknown */
	const char *program, *device, *host; /* "": unknown */
	double gpus, iterations;
	double step_ns, device_ns; /* means; NaN: unknown */
	double processor_wait;     /* NaN: unknown */
};

struct baseline {
	struct baseline_run *runs; /* the oldest first */
	size_t count, room;
	struct arena arena;
};

/* NULL, or a sentence of what is wrong with the file, valid until the thread's next call. */
const char *baseline_read(struct baseline *baseline, const char *path);
void baseline_free(struct baseline *baseline);

/* The file's text; the caller deletes it. */
cJSON *baseline_json(const struct baseline *baseline);

/* What is kept of a run, which must stay. */
struct baseline_run baseline_run_of(const struct run *run);

/* Adds it, with copies of its texts. */
void baseline_add(struct baseline *baseline, const struct baseline_run *run);

/* Of the same program on the same number and kind of GPUs: comparable. */
bool baseline_matches(const struct baseline_run *a, const struct baseline_run *b);

struct baseline_against {
	size_t runs;       /* comparable, in the file */
	size_t used;       /* the last of them, which are the base */
	const char *first; /* names of the first and the last that are used; NULL: none */
	const char *last;
	double step_spread,
		device_spread; /* standard deviation between runs, share of their mean; NaN: unknown */
	bool by_name; /* the spread is of runs with the same name; else of runs one after the other */
};

/*
 * Judges new runs of one commit against the last `last` comparable ones. The spread: of runs with the same
 * name where some names have several, with 2 degrees of freedom or more; else half the mean square of
 * successive differences (von Neumann 1941), which a change of level between commits hardly moves; its
 * degrees of freedom are 2/3 of their number. Needs 3 comparable runs: with fewer the answers are
 * SLOWER_UNKNOWN.
 */
void baseline_judge(const struct baseline *baseline, const struct baseline_run *runs, size_t count,
	size_t last, double allowed, enum compare_gate_time time, struct compare_gate *gate,
	struct baseline_against *against);

#endif
