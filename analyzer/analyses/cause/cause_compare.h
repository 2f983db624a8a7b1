/*
 * Inside cause*.c: the computing of one worker against that of another, layer by layer. Of calls that both
 * make alike, the difference is speed; of calls that only one makes, or makes more often, as much of the
 * difference as their sizes explain is work.
 */
#ifndef ANALYSES_CAUSE_CAUSE_COMPARE_H
#define ANALYSES_CAUSE_CAUSE_COMPARE_H

#include "cause_measure.h"

/* A layer of the worker; times in an iteration. */
struct cause_layer {
	uint32_t layer; /* LAYER_NONE: what belongs to none */
	double own_ns, other_ns;
	double speed_ns, work_ns;                  /* of own_ns - other_ns: the sum of both */
	double own_work, other_work;               /* of the calls that are not made alike */
	double own_count, other_count;             /* likewise */
	double factor;                             /* how many times as long its work takes; 1: not known */
	double phase_own_ns[2], phase_other_ns[2]; /* forward, backward */
	uint32_t added;                            /* an operation that the other does not do, or 0 */
};

struct cause_comparison {
	struct cause_layer *layers;
	size_t layer_count;
	double factor, low, high; /* of the layers that matter: median, quartiles */
	size_t counted;           /* those layers */
	bool slower;              /* throughout, by that factor */
	bool more;                /* most layers have more work, by that factor */
	double more_factor;
};

/* In the arena. */
void cause_compare(const struct cause_measure *own, const struct cause_measure *other, struct arena *arena,
	struct cause_comparison *comparison);

#endif
