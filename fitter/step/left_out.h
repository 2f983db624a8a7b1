/*
 * What the rest of the data says of configurations that are left out: cross-validation of a committee, whose
 * groups are never divided, so that no repeated or neighbouring row gives an answer away.
 */
#ifndef LEFT_OUT_H
#define LEFT_OUT_H

#include "committee.h"

enum left_out_by {
	LEFT_OUT_CONFIGURATION = COMMITTEE_INSIDE, /* ten groups of configurations, by chance */
	LEFT_OUT_BATCH = COMMITTEE_BATCH,          /* all of a batch, of a number of GPUs, of nodes */
	LEFT_OUT_GPUS = COMMITTEE_GPUS,
	LEFT_OUT_NODES = COMMITTEE_NODES,
	LEFT_OUT_WAYS
};

#define LEFT_OUT_GROUPS 10 /* at most: further values share a group with their neighbours */

struct left_out_group {
	double first, last; /* values of the column; of configurations NAN */
	size_t count;       /* configurations */
	size_t answered;    /* of these */
	double error;       /* mean |predicted / measured - 1|; NAN: none was answered */
	double worst;       /* the greatest of these errors */
	size_t held;        /* measured times within their intervals */
};

struct left_out {
	size_t count;               /* the committee's configurations, in its order */
	double *times, *low, *high; /* NAN: no answer, as the rest does not suffice or tells nothing of it */
	size_t group_count;
	struct left_out_group groups[LEFT_OUT_GROUPS];
};

/* Fits a committee for each group; groups in parallel. left_out_free in either case. A committee of which all
 * configurations have one value of the column has one group, of which nothing is answered. */
void left_out_run(
	struct left_out *left_out, const struct committee *committee, enum left_out_by by, double confidence);
void left_out_free(struct left_out *left_out);

#endif
