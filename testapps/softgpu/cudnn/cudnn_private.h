/*
 * What the stand-in cuDNN's files share: the descriptors behind the vendor's opaque pointers, the walk over
 * strided tensors, scratch memory, and the small checks every call makes.
 *
 * The one idea: a call copies what it needs out of the descriptors into a plain struct and submits that to
 * the handle's stream; a descriptor may therefore be destroyed or changed as soon as the call has returned.
 */
#ifndef CUDNN_PRIVATE_H
#define CUDNN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include "core/sg.h"

#pragma GCC visibility push(hidden)

#define SG_DIMS_MAX CUDNN_DIM_MAX
#define SG_OPERANDS_MAX 7

/* Constants of the vendor's that the project's own header leaves out. */
#define SG_STATUS_INVALID_VALUE ((cudnnStatus_t)2001)
#define SG_STATUS_MAPPING_ERROR ((cudnnStatus_t)4006)

/* gcc's -O2 leaves loops of unknown length scalar; clang's does not. For files that consist of such loops. */
#if defined(__GNUC__) && !defined(__clang__)
#define SG_VECTORIZE_LOOPS _Pragma("GCC optimize(\"O3\", \"no-trapping-math\")")
#else
#define SG_VECTORIZE_LOOPS
#endif

/* First statement of every exported function that returns a status. */
#define SG_ENTER() \
	do { \
		if (sg_fault(__func__)) \
			return CUDNN_STATUS_INTERNAL_ERROR; \
	} while (0)

/* The functions that make and end a descriptor, which is zeros at first, by name and type. */
#define SG_CREATE(name, type) \
	cudnnStatus_t name(type *descriptor) \
	{ \
		SG_ENTER(); \
		if (descriptor == NULL) \
			return CUDNN_STATUS_BAD_PARAM; \
		*descriptor = calloc(1, sizeof(**descriptor)); \
		return *descriptor == NULL ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS; \
	}
#define SG_DESTROY(name, type) \
	cudnnStatus_t name(type descriptor) \
	{ \
		SG_ENTER(); \
		free(descriptor); \
		return CUDNN_STATUS_SUCCESS; \
	}

/* A tensor's shape in memory; strides are in elements. Filters have one too, in the order k, c, spatial. */
struct sg_shape {
	cudnnDataType_t type;
	int ndims; /* 0 until set */
	int dim[SG_DIMS_MAX];
	int64_t stride[SG_DIMS_MAX];
};

struct cudnnContext {
	cudaStream_t stream;
	int device;
};

struct cudnnTensorStruct {
	struct sg_shape shape;
};

struct cudnnFilterStruct {
	struct sg_shape shape;
	cudnnTensorFormat_t format;
};

struct cudnnConvolutionStruct {
	int nspatial; /* 0 until set; 2 or 3 */
	int pad[SG_DIMS_MAX];
	int stride[SG_DIMS_MAX];
	int dilation[SG_DIMS_MAX];
	int groups;
	cudnnConvolutionMode_t mode;
	cudnnDataType_t compute;
	cudnnMathType_t math;
	cudnnReorderType_t reorder;
};

struct cudnnPoolingStruct {
	cudnnPoolingMode_t mode;
	cudnnNanPropagation_t nan;
	int nspatial; /* 0 until set */
	int window[SG_DIMS_MAX];
	int pad[SG_DIMS_MAX];
	int stride[SG_DIMS_MAX];
};

struct cudnnActivationStruct {
	bool set;
	cudnnActivationMode_t mode;
	cudnnNanPropagation_t nan;
	double coef;
};

struct cudnnLRNStruct {
	unsigned n; /* 0 until set */
	double alpha;
	double beta;
	double k;
};

/* What a dropout descriptor's states buffer holds, in device memory. */
struct sg_dropout_states {
	uint64_t seed;
	uint64_t drawn; /* numbers drawn so far: the generator's counter */
};

struct cudnnDropoutStruct {
	bool set;
	float dropout;
	struct sg_dropout_states *states; /* the caller's; NULL while none was given */
	size_t states_bytes;
	unsigned long long seed;
};

struct cudnnOpTensorStruct {
	bool set;
	cudnnOpTensorOp_t op;
	cudnnDataType_t compute;
	cudnnNanPropagation_t nan;
};

struct cudnnReduceTensorStruct {
	bool set;
	cudnnReduceTensorOp_t op;
	cudnnDataType_t compute;
	cudnnNanPropagation_t nan;
	cudnnReduceTensorIndices_t indices;
	cudnnIndicesType_t index_type;
};

/* ---- shapes: descriptor.c ---- */

/* Bytes of one element; 0 for packed and vectorised types, which no tensor here can have. */
size_t sg_type_bytes(cudnnDataType_t type);

/* Sets dims and packed strides. `format` NHWC: channels (the second dimension) vary fastest. */
void sg_shape_pack(
	struct sg_shape *shape, cudnnDataType_t type, cudnnTensorFormat_t format, int ndims, const int *dim);

int64_t sg_shape_count(const struct sg_shape *shape);
bool sg_shape_same_dims(const struct sg_shape *a, const struct sg_shape *b);

/* True where `from` may be repeated along its dimensions of size 1 to fill `to`. */
bool sg_shape_broadcasts(const struct sg_shape *from, const struct sg_shape *to);

/* True where elements lie in the order of the dimensions without gaps. */
bool sg_shape_is_packed(const struct sg_shape *shape);

/* float or double: what the plain loops compute with. */
bool sg_type_is_real(cudnnDataType_t type);

/* A scaling factor as the caller passes it: double for double tensors, float for all others. */
double sg_factor(cudnnDataType_t type, const void *factor);

/* ---- walking over tensors: loop.c ---- */

/*
 * A walk over 1 to SG_OPERANDS_MAX tensors of the same (or broadcast) dims, as nested loops around rows. The
 * dimensions are put into the order of the last operand's memory and merged where they lie after one
 * another, so that equal packed layouts become one row. The order of visits depends on the shapes alone.
 */
struct sg_loop {
	int noperands;
	int ndims; /* at least 1; the last one is the row */
	int64_t dim[SG_DIMS_MAX];
	int64_t step[SG_OPERANDS_MAX][SG_DIMS_MAX]; /* elements */
	size_t element_bytes[SG_OPERANDS_MAX];
};

/* Handles n elements; at[i] is operand i's first, step[i] the distance in elements to its next (0: the same).
 */
typedef void sg_row(int64_t n, void *const *at, const int64_t *step, const void *context);

/* dims: the shape walked over; each operand's shape equals it or broadcasts to it. */
void sg_loop_init(struct sg_loop *loop, const struct sg_shape *dims, int noperands,
	const struct sg_shape *const *shapes);
void sg_loop_run(const struct sg_loop *loop, void *const *base, sg_row *row, const void *context);

/* Rows for float and double: y = alpha * x + beta * y, operands x, y. y is not read when beta is 0. */
struct sg_blend {
	double alpha;
	double beta;
};
void sg_row_blend_f32(int64_t n, void *const *at, const int64_t *step, const void *context);
void sg_row_blend_f64(int64_t n, void *const *at, const int64_t *step, const void *context);

/*
 * Memory of the calling thread, at least `bytes` large and aligned to 64; the same block is handed out by the
 * next call on this thread. Freed when the thread ends. NULL: out of memory.
 */
void *sg_scratch(size_t bytes);

/* A well-mixed 64-bit number from another (the finaliser of the splitmix64 generator). */
static inline uint64_t sg_mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* ---- submitting: handle.c ---- */

/* Queues fn on the handle's stream; `size` bytes at `arg` are copied. The formulas of costs are in
 * cost.h. fn must not have effects beside results in device memory: the model clock may leave it out.
 */
cudnnStatus_t sg_cudnn_submit(
	cudnnHandle_t handle, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size);

/* ---- pooling: pooling.c ---- */

/* Pools floats on the calling thread (a worker). 0, or -1 where the shapes do not fit together. */
int sg_pooling_forward(const struct cudnnPoolingStruct *pooling, double alpha, const struct sg_shape *x_shape,
	const float *x, double beta, const struct sg_shape *y_shape, float *y);
int sg_pooling_backward(const struct cudnnPoolingStruct *pooling, double alpha,
	const struct sg_shape *dy_shape, const float *dy, const struct sg_shape *x_shape, const float *x,
	double beta, const struct sg_shape *dx_shape, float *dx);

/* ---- convolution: convolution_descriptor.c ---- */

/* Dims (n, c, spatial) of what comes out. BAD_PARAM when the descriptors do not fit together. */
cudnnStatus_t sg_convolution_output(const struct cudnnConvolutionStruct *conv, const struct sg_shape *x,
	const struct sg_shape *w, int *dim);

/* ---- oneDNN: convolution_plan.c ---- */

/*
 * Sets how many threads oneDNN uses for what the calling thread asks of it, and returns what was set before.
 */
int sg_onednn_threads(int count);

#pragma GCC visibility pop

#endif
