/*
 * What is known of a program's kernel by its name: which of its arguments to look at, what it reads and
 * writes, and a twin in C for small ones.
 *
 * The one idea: PyTorch's kernels are instances of a few dozen templates, whose mangled names say the
 * operation and the types, and whose first arguments say how many elements there are and where.
 */
#ifndef SG_KERNELS_H
#define SG_KERNELS_H

#include "core/sg.h"
#include "type.h"

#define SG_TWIN_ELEMENTS 16384   /* what a twin computes at most */
#define SG_DRAWN_ELEMENTS 262144 /* among which classes are chosen, as tokens among experts */
#define SG_KNOWN_ARGS 8
#define SG_OPERANDS 8
#define SG_BY_THREADS "threads"

struct sg_rule;

struct sg_known {
	const struct sg_rule *rule;      /* NULL: nothing is known */
	unsigned pointers;               /* that an element-wise kernel has; the first is written */
	int op;                          /* the rule's own */
	enum sg_type in, out, scalar;    /* of elements; SG_NO_TYPE: not known */
	unsigned char each[SG_OPERANDS]; /* bytes of an element, of each operand or type that the name has */
	const char *source;              /* what a duration rests on: the rule's name, or SG_BY_THREADS */
	const struct sg_pace *pace;      /* by its name; NULL: as element-wise ones */
	const size_t *sizes;             /* of all its arguments, 0-terminated; NULL: they do not matter */
	size_t arg_bytes[SG_KNOWN_ARGS +
			 1]; /* of the first arguments, as far as they are looked at; 0 ends them */
};

/* Fills in what the name says. The name is the mangled one. */
void sg_known_find(struct sg_known *known, const char *name);

/* Takes what is known back if it is at odds with the sizes of the kernel's arguments (0-terminated, for as
 * long as `known`). */
void sg_known_fit(struct sg_known *known, const char *name, const size_t *sizes);

/* What the kernel reads and writes, by its arguments; negative: not known. args as a launch has them, NULL:
 * none. */
double sg_known_bytes(const struct sg_known *known, dim3 grid, void *const *args);

/* Its operations in matrix products, and the type that they are made in; 0: none, or not known. args as
 * above. */
double sg_known_flops(const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type);

/* As many equal blocks as take as long as the kernel's own, of which some have less to do. args as above. */
double sg_known_blocks(const struct sg_known *known, dim3 grid, void *const *args);

/* Parts that the last one of a kernel's blocks puts together, one after the other; 0: none, or not known.
 * args as above. */
double sg_known_steps(const struct sg_known *known, void *const *args);

/* How near it comes to the memory's rate; NULL: as near as element-wise ones. args as above. */
const struct sg_pace *sg_known_pace(const struct sg_known *known, void *const *args);

/*
 * Runs the kernel's twin, on a worker. 1: computed, and what was written is known (core/known.c); 0: it has
 * none, or there are too many elements: what it would have written is forgotten as far as the rule knows it.
 * -1: the rule does not know what is written.
 */
int sg_known_run(const struct sg_known *known, dim3 grid, void *const *args);

#endif
