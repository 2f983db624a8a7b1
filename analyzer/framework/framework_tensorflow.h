/*
 * What TensorFlow says of a process's calls: the operation that each was made for, by its path in the graph
 * and its type, "sequential/dense/MatMul:MatMul", by the NVTX ranges that it pushes around each. Inside
 * framework.c.
 */
#ifndef FRAMEWORK_FRAMEWORK_TENSORFLOW_H
#define FRAMEWORK_FRAMEWORK_TENSORFLOW_H

#include "framework.h"

struct tensorflow;

/* NULL: it says nothing. The timeline must stay. tensorflow_free frees it; NULL is fine. */
struct tensorflow *tensorflow_read(const struct timeline *timeline);
void tensorflow_free(struct tensorflow *tensorflow);

/* Of what is called in a range of that name (in timeline.range_names). False: it is no operation of
 * TensorFlow's. Modules are as long as the tensorflow is. */
bool tensorflow_word(const struct tensorflow *tensorflow, uint32_t name, struct framework_word *word);

/* That of a framework; NULL: it has none. */
const struct tensorflow *framework_tensorflow(const struct framework *framework);

/* What an operation of that name is in a step of training. */
enum tensorflow_part {
	TENSORFLOW_NO_OPERATION,
	TENSORFLOW_ENTERS,  /* gives a function, which has been called, what it is called with */
	TENSORFLOW_FORWARD, /* is of the forward pass */
	TENSORFLOW_UPDATES, /* writes a variable of the optimizer or of the model */
	TENSORFLOW_OTHER,
};
enum tensorflow_part tensorflow_part(const struct tensorflow *tensorflow, uint32_t name);

#endif
