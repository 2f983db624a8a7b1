/*
 * Changes of an expression in place. New constants are put after the others, those that are no longer used
 * stay as holes: expression_pack puts them in order. False or EDIT_NOWHERE: there is no room, and the
 * expression is not to be used.
 */
#ifndef EXPRESSION_EDIT_H
#define EXPRESSION_EDIT_H

#include "expression.h"

#define EDIT_NOWHERE ((size_t)-1)

bool edit_constant(struct expression *e, double value, unsigned short *at);
bool edit_constants(struct expression *e, size_t count, double value, unsigned short *at);
bool edit_add(struct expression *e, size_t node, struct expression_factor factor);
bool edit_add_power(struct expression *e, size_t node, size_t number, double power);
/* All groups begin with the factor 1. */
bool edit_add_group(
	struct expression *e, const struct expression_terms *terms, size_t node, size_t partition);
void edit_remove(struct expression *e, size_t node, size_t factor);
/* The factor that is a power of the number, or that tells apart levels of the category. */
size_t edit_find(const struct expression *e, size_t node, size_t number);
size_t edit_find_category(
	const struct expression *e, const struct expression_terms *terms, size_t node, size_t category);
/* How many factors of a kind there are. */
size_t edit_count(const struct expression *e, enum expression_kind kind);

/* A leaf below the node, with coefficient 1. */
size_t edit_add_leaf(struct expression *e, size_t parent);
/* A leaf becomes an op with one leaf, to which the factors go (inside) or do not. */
bool edit_split(struct expression *e, size_t node, enum expression_op op, bool inside);
/* The only child of the node once more, with the power of one of its factors changed by that much, and equal
 * to the child where the number's logarithm is `mean`. */
bool edit_double(struct expression *e, size_t node, size_t factor, double by, double mean);
/* A new root above the old, with a leaf beside it: the answer. */
size_t edit_raise(struct expression *e, enum expression_op op);
/* Takes a node out with all below it; where one child is left, it and its parent become one. */
void edit_cut(struct expression *e, size_t node);

/* Puts levels into so many groups that their values differ least within: values by group of before. */
void edit_cluster(struct expression_partition *partition, const double *values, size_t groups);
/* The same for a factor, whose constants become their means. */
bool edit_merge(struct expression *e, struct expression_terms *terms, size_t node, size_t factor,
	const double *values, size_t groups);

#endif
