/*
 * From samples to the tables of kernel.h: distinct values, joint tables of columns with few of them, samples
 * sorted by their combination of extrinsic values.
 */
#ifndef PLAN_H
#define PLAN_H

#include "kernel.h"
#include "model/space.h"

struct plan {
	struct kernel_plan kernel;
	/* For what needs each column by itself: the entry of each intrinsic and categorical column, sample
	 * by sample in the plan's order; term_count to a sample. */
	size_t term_count;
	const uint32_t *terms;
	const size_t *order; /* the problem's sample that stands here */
	void **blocks;       /* everything above, to be freed */
	size_t block_count;
};

/* 0 or -ENOMEM; plan_free in either case. The plan keeps nothing of the problem, and all it needs of the
 * space. */
int plan_init(struct plan *plan, const struct pm_fit_problem *problem, const struct space *space,
	const struct pm_fit_parameter *parameter);
void plan_free(struct plan *plan);

#endif
