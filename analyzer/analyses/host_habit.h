/*
 * What a place or a call of the host says of what a program does there, by the names that people, libraries
 * and frameworks give: collecting garbage, saving a checkpoint, evaluating, loading input; and what to try.
 */
#ifndef ANALYSES_HOST_HABIT_H
#define ANALYSES_HOST_HABIT_H

#include <stdbool.h>

struct host_habit {
	bool is_input;      /* the batch is read or prepared */
	const char *title;  /* "garbage collection" */
	const char *advice; /* an imperative without a full stop */
};

/* Of a function, operator or label ("dataset.py(31): __getitem__", "Python GC"); NULL: it does not say. */
const struct host_habit *host_habit_of(const char *place);

/* What to try where the host is blocked in the call. */
const char *host_call_advice(const char *name);

#endif
