/*
 * The plan of a sweep: which values each trial has. Trial k has the same values whenever it is asked for, so
 * that a sweep can stop anywhere; a plan has a hash by which the rows of a table are known to be its own.
 *
 * A program may refuse a trial. Another one takes its place: the trials after the first `count` are drawn at
 * random and without end (but of a full design, which has no others).
 */
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H

#include "data/space_file.h"

#include <stdint.h>

enum sweep_design {
	SWEEP_RANDOM, /* each trial by itself: more can be asked for later */
	SWEEP_LHS,    /* Latin hypercube: each column has its values equally often */
	SWEEP_FULL,   /* all combinations of levels, each once, in random order */
};

struct sweep_plan {
	const struct space_file *space;
	enum sweep_design design;
	uint64_t seed, hash;
	size_t count;
	size_t *order; /* lhs: count of each column; full: the combinations */
	size_t moved;  /* lhs: trials that the rules forbid and that are drawn at random instead */
};

/*
 * `count` 0 with a full design: all. The hash covers what decides a trial and its time: `command` (argument
 * vector, ended by NULL) and `time_from` as well. NULL, or a sentence; sweep_plan_free in either case.
 */
const char *sweep_plan_init(struct sweep_plan *plan, const struct space_file *space, enum sweep_design design,
	uint64_t seed, size_t count, char *const *command, const char *time_from);
void sweep_plan_free(struct sweep_plan *plan);

/* Writes the texts of trial k, from 0, one a column; the caller frees them. NULL, or a sentence. */
const char *sweep_plan_trial(const struct sweep_plan *plan, size_t k, char **values);
void sweep_plan_free_values(const struct sweep_plan *plan, char **values);

/* False of trials that there cannot be: after the end of a full design. */
bool sweep_plan_has(const struct sweep_plan *plan, size_t k);

#endif
