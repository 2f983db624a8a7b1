/*
 * What a plan is made of, for convolution_plan.c, which makes it, and convolution_run.c, which runs it.
 *
 * The one idea: everything that depends on shapes alone (which kernel, which layouts, where in the scratch
 * memory what lies) is decided when the plan is made; a run only hands pointers to oneDNN. A run goes
 *
 *     x, y:  caller's layout <-> channels last ("inner") <-> convolution
 *     w:     caller's layout <-> packed k,c,spatial ("packed", turned round if asked) <-> oneDNN's ("inner")
 *
 * and each step is left out where both sides are the same.
 */
#ifndef CUDNN_CONVOLUTION_STEPS_H
#define CUDNN_CONVOLUTION_STEPS_H

#include <pthread.h>

#include "convolution_plan.h"
#include "onednn.h"

#pragma GCC visibility push(hidden)

/* Where a tensor is converted between two layouts. */
struct sg_conversion {
	dnnl_memory_desc_t from;
	dnnl_memory_desc_t to;
	dnnl_primitive_desc_t description; /* NULL: both are the same, nothing to do */
	dnnl_primitive_t primitive;        /* made in the first run */
};

struct sg_convolution_plan {
	struct sg_convolution_plan *next; /* in its bucket */
	struct sg_convolution_key key;
	enum sg_convolution_tensor output;

	struct sg_shape inner_shape[SG_CONVOLUTION_TENSORS]; /* of w: of the packed stage */
	dnnl_memory_desc_t inner[SG_CONVOLUTION_TENSORS];
	struct sg_conversion conversion[SG_CONVOLUTION_TENSORS];
	bool is_packed_w; /* the caller's filter already is what the packed stage would be */
	dnnl_primitive_desc_t description;

	size_t inner_at[SG_CONVOLUTION_TENSORS]; /* offsets into scratch memory */
	size_t packed_w_at;
	size_t onednn_at; /* oneDNN's own scratch, one step at a time */
	size_t scratch_bytes;

	pthread_mutex_t lock; /* of what follows */
	dnnl_primitive_t primitive;
};

extern dnnl_engine_t sg_convolution_engine; /* NULL until there is a plan */

#pragma GCC visibility pop

#endif
