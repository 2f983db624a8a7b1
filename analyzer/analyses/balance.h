/*
 * Load imbalance of a run: how far the slowest rank is above the mean, in which phase and layer, and what
 * waiting each rank causes the others.
 */
#ifndef ANALYSES_BALANCE_H
#define ANALYSES_BALANCE_H

#include "reconstruct/analysis.h"
#include "timeline/thresholds.h"

/* (3.8) of one thing that each worker spends time on; times are NaN where the traces cannot tell. */
struct balance_item {
	const char *name;
	const char *title; /* for people, or NULL */
	double mean_ns, greatest_ns;
	double imbalance; /* NaN where nobody spends time on it */
	size_t slowest;   /* worker */
};

struct balance_rank {
	double compute_ns;     /* mean per iteration, as all below */
	double wait_ns;        /* for others */
	double wait_caused_ns; /* waiting of others for this one, summed over them */
	size_t last_count; /* collectives that the others spent BALANCE_WAITED of waiting for it, or more */
	double *each_ns;   /* wait caused, in each of its used iterations */
};

struct balance {
	struct balance_item *phases;
	size_t phase_count;
	struct balance_item *layers; /* forward and backward together */
	size_t layer_count;
	struct balance_rank *ranks; /* by worker */
	size_t collective_count;    /* in used iterations */
	struct arena arena;
};

void balance_find(const struct analysis *analysis, struct balance *balance);
void balance_free(struct balance *balance);

#endif
