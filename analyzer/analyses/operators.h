/*
 * GPU time by what the program calls it: module within module, the framework's operator or node of the
 * backward pass, and the kernel. As a tree, for a flame graph, and the operators as a list.
 *
 * Operators are known in iterations in which they were recorded (timeline_operators_recorded): where there
 * are such, only they count; else all used iterations do, and the tree has modules and kernels alone.
 */
#ifndef ANALYSES_OPERATORS_H
#define ANALYSES_OPERATORS_H

#include "base/table.h"
#include "reconstruct/analysis.h"

#define OPERATORS_NONE UINT32_MAX

/* Children of a node are those whose parent it is; a parent comes before its children. */
struct operators_node {
	const char *name;
	uint32_t parent; /* OPERATORS_NONE: the root */
	double time_ns;  /* of an iteration of a worker, mean; with that of its children */
	double phases_ns[PHASE_WORK_COUNT];
};

struct operators_row {
	const char *name; /* "aten::addmm", "AddmmBackward0" */
	enum phase phase;
	double count;   /* calls that launch work, in an iteration of a worker, mean */
	double kernels; /* pieces of work, likewise */
	double time_ns; /* likewise */
	double share;   /* of all GPU time, that in no operator too */
	/* While it is counted. */
	uint32_t last_range;
};

struct operators {
	struct operators_node *nodes; /* the first is the root; none: there is no work */
	size_t node_count, node_room;
	struct operators_row *rows; /* the most time first; none: operators are not known */
	size_t row_count, row_room;
	size_t iterations; /* that count, of all workers */
	double known;      /* share of the time that is in an operator */
	struct arena arena;
};

/* The caller frees it. */
void operators_find(const struct analysis *analysis, struct operators *operators);
void operators_free(struct operators *operators);

/* A row for each of the `most` costliest; time with a bar. */
void operators_table(struct print_table *table, const struct operators *operators, size_t most);

#endif
