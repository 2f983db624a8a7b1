/*
 * What PyTorch's profiler writes of an operator's inputs: sizes, types and values (timeline_range.inputs).
 * Inside work_operator.c and operator_input.c; what cannot be read is not known.
 */
#ifndef ANALYSES_ROOFLINE_OPERATOR_INPUT_H
#define ANALYSES_ROOFLINE_OPERATOR_INPUT_H

#include "work_operator.h"

#include <stdbool.h>
#include <stdint.h>

#define OPERATOR_INPUTS 16
#define OPERATOR_DIMENSIONS 8
#define OPERATOR_MOST_SIZE ((int64_t)1 << 22) /* of an image's and a filter's, and of what is between */

struct operator_input {
	int64_t dims[OPERATOR_DIMENSIONS];
	int rank; /* 0: a number, or no tensor */
	enum work_type type;
	double bytes;      /* of an element; 0: it has no type that is known */
	const char *value; /* "[2, 2]", without the quotes; not ended; NULL: not recorded */
};

struct operator_call {
	struct operator_input inputs[OPERATOR_INPUTS];
	int count;
};

/* False: sizes are not recorded, or more than there is room for. */
bool operator_call_read(const char *inputs, struct operator_call *call);

/* Elements of the dimensions from `first` on, and of all; bytes: 0 where the type is not known. */
double operator_elements_from(const struct operator_input *input, int first);
double operator_elements(const struct operator_input *input);
double operator_bytes(const struct operator_input *input);

/* Numbers of a list, as many as are asked for; a list of one stands for all. False: it is not recorded. */
bool operator_list(const struct operator_input *input, int64_t *numbers, int count);
bool operator_is_true(const struct operator_input *input);

#endif
