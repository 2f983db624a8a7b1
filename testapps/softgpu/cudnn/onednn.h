/* oneDNN as the stand-in cuDNN calls it: see onednn.c. */
#ifndef CUDNN_ONEDNN_H
#define CUDNN_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#pragma GCC visibility push(hidden)

#define SG_ONEDNN_CALLS(X) \
	X(dnnl_dilated_convolution_backward_data_desc_init); \
	X(dnnl_dilated_convolution_backward_weights_desc_init); \
	X(dnnl_dilated_convolution_forward_desc_init); \
	X(dnnl_engine_create); \
	X(dnnl_memory_create); \
	X(dnnl_memory_desc_equal); \
	X(dnnl_memory_desc_get_size); \
	X(dnnl_memory_desc_init_by_strides); \
	X(dnnl_memory_desc_init_by_tag); \
	X(dnnl_memory_destroy); \
	X(dnnl_primitive_attr_create); \
	X(dnnl_primitive_attr_set_scratchpad_mode); \
	X(dnnl_primitive_create); \
	X(dnnl_primitive_desc_create); \
	X(dnnl_primitive_desc_destroy); \
	X(dnnl_primitive_desc_query_md); \
	X(dnnl_primitive_execute); \
	X(dnnl_reorder_primitive_desc_create); \
	X(dnnl_sgemm); \
	X(dnnl_stream_create); \
	X(dnnl_stream_destroy)

/* oneDNN's own calls under their own names. */
struct sg_onednn {
#define SG_MEMBER(name) __typeof__(name) *name
	SG_ONEDNN_CALLS(SG_MEMBER);
#undef SG_MEMBER
};

/* Filled in by sg_onednn_open(), and the same from then on. */
extern struct sg_onednn sg_onednn;

/* Loads oneDNN unless that has been done, or nothing will be computed. Any thread. 0, or -1 when it cannot be
 * loaded: convolutions and products are not supported then. */
int sg_onednn_open(void);

#pragma GCC visibility pop

#endif
