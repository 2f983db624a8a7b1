/* What work.c and its parts for each library share: sizes of an operation's operands, by their labels. */
#ifndef ANALYSES_ROOFLINE_WORK_TAKE_H
#define ANALYSES_ROOFLINE_WORK_TAKE_H

#include "work.h"

struct work_source {
	const struct timeline *timeline;
	const struct timeline_operation *operation;
	const struct timeline_function *function;
};

#define WORK_DIMENSIONS 16

/* A tensor or filter under a label; all 0 where there is none. */
struct work_tensor {
	int64_t dimensions[WORK_DIMENSIONS];
	uint32_t dimension_count;
	uint64_t type;   /* enum pm_type */
	double elements; /* what a stride of 0 repeats counts */
	double bytes;    /* and here it does not */
};

struct work_tensor work_tensor(const struct work_source *source, const char *label);

/* Descriptor of this kind under whatever label, or NULL; its values are checked to be `count` at least. */
const struct timeline_descriptor *work_descriptor(
	const struct work_source *source, enum pm_descriptor_kind kind, uint32_t count);

/* A number among the values, 0 where there is none. Sizes below 0 are 0. */
double work_size(const struct work_source *source, const char *label);

/* Has the function a value under this label, whatever it is here? */
bool work_labels(const struct work_source *source, const char *label);

/* Is there an address under the label "NAME_ptr"? */
bool work_has(const struct work_source *source, const char *name);

/* Is what was there read too: beta is neither 0 nor unknown? */
bool work_adds(const struct work_source *source);

/* cuDNN's two interfaces (work_cudnn.c); cuBLAS and cublasLt (work_blas.c). */
struct work work_of_cudnn(const struct work_source *source);
struct work work_of_blas(const struct work_source *source);

#endif
