/*
 * The neighbours of an expression: everything that one change makes of it. Each begins with constants that
 * say nearly the same as the expression did, so that a few steps of a fit tell what the change is worth.
 */
#ifndef EXPRESSION_GROW_H
#define EXPRESSION_GROW_H

#include "expression.h"

struct growth {
	size_t count, room;
	struct expression *items;
};

/*
 * Adds the neighbours with at most `most` constants. New groups of levels are added to the terms: one caller
 * at a time. The rows say which levels are alike. 0 or -ENOMEM.
 */
int expression_grow(struct growth *growth, const struct expression *e, struct expression_terms *terms,
	const struct expression_rows *rows, size_t most);

/* Where a search begins: a constant, the power law of everything, and the generic model (4.4) with the roles
 * that the columns have in the problem. 0 or -ENOMEM. */
int expression_begin(struct growth *growth, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, const struct expression_rows *rows);

void growth_free(struct growth *growth);

#endif
