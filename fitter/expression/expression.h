/*
 * Expressions: formulas of a bounded grammar, all of whose parts are positive.
 *
 *     node  = product of factors                 a leaf; with a coefficient
 *           | product of factors * op(node, ...) op: sum, max, norm (sum of powers to one over the power),
 *                                                harmonic (one over the sum of ones over)
 *     factor = x^p | x^p with p by group of levels | a number by group of levels | log2 x
 *
 * So the generic model, a roofline's max, saturation (x + k), Pollux's (a^g + b^g)^(1/g) and a normal form
 * with logarithms are all of them expressions. The one idea: everything is calculated as logarithms. There a
 * product is linear in its constants, nothing overflows or becomes negative, and relative errors are
 * differences. Whoever changes the unit of a column changes coefficients only: log2 is for counts alone.
 */
#ifndef EXPRESSION_H
#define EXPRESSION_H

#include "pm_fit.h"

#include <stdbool.h>
#include <stdio.h>

#define EXPRESSION_NODES 20
#define EXPRESSION_FACTORS 14 /* of a node */
#define EXPRESSION_CONSTANTS 80
#define EXPRESSION_COLUMNS 64 /* numbers, and categories */
#define EXPRESSION_LEVELS 40  /* of a category */
#define EXPRESSION_PARTITIONS 400

/* A numeric column; its logarithm is what is calculated with. */
struct expression_number {
	size_t column; /* in the problem */
	const char *name;
	bool plus_one; /* there are zeros: 1 + x takes its place */
	bool is_count; /* whole numbers from 1: has log2 */
	int monotone;  /* 1: no more of it makes the time shorter, -1: longer; 0: free */
};

/* A column with levels, or (is_one) whether a count is 1 or more than that. */
struct expression_category {
	size_t column;
	const char *name;
	bool is_one;
	size_t level_count;
	const char *const *levels; /* NULL for is_one */
};

/* The levels of a category in groups; the first `category_count` partitions have a group for each level. */
struct expression_partition {
	size_t category, group_count;
	unsigned char group_of[EXPRESSION_LEVELS];
};

/* What there is to make expressions of. Names are the problem's. */
struct expression_terms {
	size_t number_count, category_count, partition_count;
	struct expression_number numbers[EXPRESSION_COLUMNS];
	struct expression_category categories[EXPRESSION_COLUMNS];
	struct expression_partition partitions[EXPRESSION_PARTITIONS];
};

enum expression_kind {
	EXPRESSION_POWER,          /* number^p */
	EXPRESSION_FIXED,          /* the same, p is no constant to be fitted */
	EXPRESSION_POWER_BY_GROUP, /* p by group */
	EXPRESSION_GROUP,          /* e^constant by group, the first group's is 1 */
	EXPRESSION_LOG,            /* log2 number */
};

struct expression_factor {
	unsigned char kind, number;
	unsigned short partition, at; /* at: of its first constant */
	double power;                 /* of EXPRESSION_FIXED */
};

/* The logarithm of log2 1, which is none. */
#define EXPRESSION_LOG_OF_NOTHING (-30.0)

enum expression_op {
	EXPRESSION_LEAF,
	EXPRESSION_SUM,
	EXPRESSION_MAX,
	EXPRESSION_NORM,
	EXPRESSION_HARMONIC,
	EXPRESSION_OPS
};

struct expression_node {
	unsigned char op, parent, factor_count;
	unsigned short at; /* LEAF: logarithm of the coefficient; NORM: of the power */
	struct expression_factor factors[EXPRESSION_FACTORS];
};

/* Node 0 is the root, each node's parent comes before it. A plain value: assignment copies it. */
struct expression {
	size_t node_count, constant_count;
	struct expression_node nodes[EXPRESSION_NODES];
	double constants[EXPRESSION_CONSTANTS];
};

/* The columns of some samples as logarithms and levels. */
struct expression_rows {
	size_t count;
	double *logs;                     /* number_count x count */
	double *log_logs;                 /* of log2, number_count x count */
	unsigned char *levels;            /* category_count x count */
	double *time, *log_time, *offset; /* log_time without the offset; no times: NULL */
	const struct expression_terms *terms;
};

/* NULL, or why there is nothing to search, as error_message(); `warn` is called for each column left out. */
const char *expression_terms_init(struct expression_terms *terms, const struct pm_fit_problem *problem,
	void (*warn)(void *context, const char *sentence), void *context);
/* The place of the partition among the terms' partitions, where it is added if need be; -1: no room. The
 * groups are numbered anew in the order of the levels. */
int expression_partition(struct expression_terms *terms, const struct expression_partition *partition);

/* `samples` NULL: all. 0 or -ENOMEM; expression_rows_free in either case. -EDOM: a time is not more than its
 * offset. */
int expression_rows_init(struct expression_rows *rows, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, const size_t *samples, size_t count);
void expression_rows_free(struct expression_rows *rows);

/* How many constants a factor has. */
size_t expression_factor_size(const struct expression_terms *terms, const struct expression_factor *factor);
/* Whether its constants must not be negative (1) or positive (-1), 0: either. */
int expression_monotone(const struct expression_terms *terms, const struct expression_factor *factor);
/* Whether what is no constant is as monotone as it must be. */
bool expression_may_be(const struct expression *e, const struct expression_terms *terms);
size_t expression_child_count(const struct expression *e, size_t node);
/* Constants in the order of the nodes, without holes; factors of a kind become one. False: there are more
 * than fit. */
bool expression_pack(struct expression *e, const struct expression_terms *terms);
/* The same number for the same form, whatever its constants and the order of sums and products. */
uint64_t expression_hash(const struct expression *e, const struct expression_terms *terms);

#define EXPRESSION_BLOCK 128 /* rows at a time */

/*
 * Logarithms of predictions (offsets not added) of rows begin .. begin + count - 1, count at most
 * EXPRESSION_BLOCK; with `slopes` also the derivatives by each constant, EXPRESSION_BLOCK apart.
 */
void expression_logs(const struct expression *e, const struct expression_rows *rows, size_t begin,
	size_t count, double *logs, double *slopes);
/* Means over the rows of the logarithm of each node's value, and of its factors alone. */
void expression_means(
	const struct expression *e, const struct expression_rows *rows, double *values, double *factors);
/* Times, with offsets. */
void expression_times(const struct expression *e, const struct expression_rows *rows, double *times);

/* What an error costs. */
enum expression_cost { EXPRESSION_RELATIVE, EXPRESSION_ABSOLUTE, EXPRESSION_SQUARED };

/* Of a sample: |error| / time, |error|, error^2. */
double expression_loss(enum expression_cost cost, double measured, double predicted);

/*
 * Fits the constants by damped Gauss-Newton steps from where they are: at most `log_steps` for squared
 * relative errors, then `steps` for the cost itself (absolute values are rounded off at the bottom), inside
 * of bounds that keep monotone columns so. Answers the mean loss; HUGE_VAL without memory.
 */
double expression_fit(struct expression *e, const struct expression_rows *rows, enum expression_cost cost,
	size_t log_steps, size_t steps);

/* The formula in one line; where it needs them, lines of a table of its levels after it. */
void expression_print(FILE *out, const struct expression *e, const struct expression_terms *terms);
/* The lines of the table: which levels are in which group. */
void expression_print_groups(FILE *out, const struct expression *e, const struct expression_terms *terms);

#endif
