/*
 * cuDNN's graph (backend) API, as its sources share it: backend_descriptor.c keeps what was set in
 * descriptors, backend_parameter.c the parameters among that, backend_plan.c makes of a finished operation
 * graph what its execution will be called.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_abi.h"
#include "pm_hooks.h"

#define BACKEND_DIMENSIONS 8
#define BACKEND_OPERATIONS 64 /* of a graph */
#define BACKEND_PACK 48       /* pointers of a variant pack */

/* A kind of operation: its name in a graph's, the function that it makes of a graph, and how much it says of
 * it. */
struct backend_kind {
	cudnnBackendDescriptorType_t type;
	const char *name;
	enum pm_call call;
	int weight; /* of the operations of a graph the heaviest is the main one */
};
const struct backend_kind *backend_kind_of(cudnnBackendDescriptorType_t type); /* NULL: no operation */

/* What a tensor is to an operation; names are those of the labels in pm_hooks.def. */
#define BACKEND_ROLES(X) \
	X(x) \
	X(b) \
	X(w) X(z) X(y) X(dx) X(dy) X(dw) X(scale) X(bias) X(dscale) X(dbias) X(q) X(k) X(v) X(dq) X(dk) X(dv)

enum backend_role {
#define BACKEND_ROLE(name) BACKEND_ROLE_##name,
	BACKEND_ROLES(BACKEND_ROLE)
#undef BACKEND_ROLE
		BACKEND_ROLE_COUNT
};

/* A tensor as operations refer to it. */
struct backend_tensor {
	int64_t uid;
	uint32_t number;  /* of its descriptor in the trace, 0: the role is not taken */
	bool is_virtual;  /* inside the graph, without memory of its own */
	bool is_vector;   /* at most one dimension larger than 1, as a bias has */
	int64_t channels; /* the second dimension */
};

/* What was set in the descriptor of a convolution, a pooling, an element-wise function or a reduction. */
struct backend_parameters {
	cudnnBackendDescriptorType_t of;
	int64_t mode, type, axis;
	unsigned n;
	int64_t pads[BACKEND_DIMENSIONS], strides[BACKEND_DIMENSIONS], dilations[BACKEND_DIMENSIONS],
		windows[BACKEND_DIMENSIONS];
};

/* An attribute's value: a number, and a list of at most BACKEND_DIMENSIONS; the latter returns how many. */
int64_t backend_integer(cudnnBackendAttributeType_t type, const void *elements);
unsigned backend_list(int64_t *list, cudnnBackendAttributeType_t type, int64_t count, const void *elements);

void backend_set_parameters(struct backend_parameters *p, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t count, const void *elements);

/*
 * The number of their descriptor in the trace, which has the legacy API's form; 0: they have none. groups: of
 * a convolution, where they follow from its tensors.
 */
uint32_t backend_parameter_number(const struct backend_parameters *p, int64_t groups);

struct backend_operation {
	cudnnBackendDescriptorType_t type;
	int mode, phase; /* of a normalisation */
	struct backend_parameters parameters;
	uint32_t parameter; /* the number of their descriptor in the trace, once the operation is finished */
	struct backend_tensor tensors[BACKEND_ROLE_COUNT];
};

/*
 * The plan of a finished graph: the function that its execution is recorded as, and the operation's values;
 * those that are pointers are filled in from the variant pack. Plans are interned and never change. Returns
 * its number, 0: no room.
 */
#define BACKEND_VALUES 24
struct backend_plan {
	uint64_t hash;
	enum pm_call call;
	unsigned value_count; /* with the function's number first */
	uint32_t is_pointer;  /* bit i: values[i] is a tensor's unique id */
	int64_t values[BACKEND_VALUES];
};
uint32_t backend_plan_make(const struct backend_operation *const *operations, unsigned count);
const struct backend_plan *backend_plan_at(uint32_t number); /* NULL for 0 */

/* A plan that is written as text, and read from it in the same process, is of the same graph; 0: none known.
 */
void backend_text_written(uint32_t plan, const void *text, size_t bytes);
uint32_t backend_text_plan(const void *text, size_t bytes);

/* What is executed: the plan behind a descriptor, the address of a tensor in a variant pack. */
const struct backend_plan *backend_plan_of(const void *plan);
const void *backend_address(const void *pack, int64_t uid);

/* A descriptor was made, set, asked, finished or destroyed. By the thread that does it. */
void pmh_backend_made(const void *descriptor, cudnnBackendDescriptorType_t type);
void pmh_backend_set(const void *descriptor, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t count, const void *elements);
void pmh_backend_got(
	const void *descriptor, cudnnBackendAttributeName_t name, int64_t count, const void *elements);
void pmh_backend_finalized(const void *descriptor);
void pmh_backend_gone(const void *descriptor);
void pmh_backend_forget(void);

#endif
