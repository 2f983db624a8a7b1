/*
 * Softmax, forward and backward.
 *
 * The one idea: two walks, one over the vectors (images, or pixels) and one within a vector, which is copied
 * to packed memory, worked on there, and copied back with scaling; so any layout will do.
 */
#include "cost.h"
#include "cudnn_private.h"

SG_VECTORIZE_LOOPS

#include "vector_math.h"

struct softmax_job {
	cudnnSoftmaxAlgorithm_t algorithm;
	cudnnDataType_t type;
	bool is_backward;
	int device;
	int64_t length; /* of a vector */
	struct sg_blend by;
	struct sg_loop across;
	struct sg_loop within[3]; /* from or to each tensor, packed on the other side */
	void *base[3];
	void *vector; /* scratch memory: one vector, and its gradient when backward */
};

#define REAL float
#define REAL_NAME(name) name##_f32
#include "softmax.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "softmax.inc"

static void run_softmax(void *arg)
{
	struct softmax_job job = *(const struct softmax_job *)arg;
	bool is_double = job.type == CUDNN_DATA_DOUBLE;
	sg_row *row;

	job.vector = sg_scratch(2 * (size_t)job.length * sg_type_bytes(job.type));
	if (job.vector == NULL) {
		sg_async_error(job.device, cudaErrorMemoryAllocation);
		return;
	}
	if (job.is_backward)
		row = is_double ? row_softmax_gradient_f64 : row_softmax_gradient_f32;
	else
		row = is_double ? row_softmax_f64 : row_softmax_f32;
	sg_loop_run(&job.across, job.base, row, &job);
}

/* Leaves of a shape only the dims that are within a vector, or only those that are not. */
static struct sg_shape part_of(const struct sg_shape *shape, cudnnSoftmaxMode_t mode, bool within)
{
	struct sg_shape part = *shape;

	for (int d = 0; d < part.ndims; d++) {
		bool is_within = mode == CUDNN_SOFTMAX_MODE_INSTANCE ? d > 0 : d == 1;

		if (is_within != within)
			part.dim[d] = 1;
	}
	return part;
}

static void init_walks(
	struct softmax_job *job, cudnnSoftmaxMode_t mode, int count, const cudnnTensorDescriptor_t *tensor)
{
	struct sg_shape across[3];
	const struct sg_shape *pointers[3];

	for (int i = 0; i < count; i++) {
		struct sg_shape within = part_of(&tensor[i]->shape, mode, true);
		struct sg_shape packed;

		sg_shape_pack(&packed, within.type, CUDNN_TENSOR_NCHW, within.ndims, within.dim);
		job->length = sg_shape_count(&within);
		if (i < count - 1)
			sg_loop_init(&job->within[i], &within, 2,
				(const struct sg_shape *const[]){&within, &packed});
		else
			sg_loop_init(&job->within[i], &within, 2,
				(const struct sg_shape *const[]){&packed, &within});
		across[i] = part_of(&tensor[i]->shape, mode, false);
		pointers[i] = &across[i];
	}
	sg_loop_init(&job->across, &across[count - 1], count, pointers);
}

static cudnnStatus_t submit(cudnnHandle_t handle, struct softmax_job *job, cudnnSoftmaxMode_t mode,
	const void *alpha, const void *beta, int count, const cudnnTensorDescriptor_t *tensor)
{
	const struct sg_shape *shapes[3];
	struct sg_cost cost;

	if (handle == NULL || alpha == NULL || beta == NULL || (int)job->algorithm < CUDNN_SOFTMAX_FAST ||
		job->algorithm > CUDNN_SOFTMAX_LOG ||
		(mode != CUDNN_SOFTMAX_MODE_INSTANCE && mode != CUDNN_SOFTMAX_MODE_CHANNEL))
		return CUDNN_STATUS_BAD_PARAM;
	for (int i = 0; i < count; i++) {
		if (tensor[i] == NULL || tensor[i]->shape.ndims == 0 || job->base[i] == NULL ||
			!sg_shape_same_dims(&tensor[i]->shape, &tensor[0]->shape) ||
			tensor[i]->shape.type != tensor[0]->shape.type)
			return CUDNN_STATUS_BAD_PARAM;
		shapes[i] = &tensor[i]->shape;
	}
	job->type = tensor[0]->shape.type;
	if (!sg_type_is_real(job->type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	job->by.alpha = sg_factor(job->type, alpha);
	job->by.beta = sg_factor(job->type, beta);
	job->device = sg_stream_device(handle->stream);
	init_walks(job, mode, count, tensor);
	cost = sg_cost_elements(job->is_backward ? SG_FLOPS_SOFTMAX_BACKWARD : SG_FLOPS_SOFTMAX,
		job->by.beta != 0, count, shapes);
	return sg_cudnn_submit(handle, &cost, run_softmax, job, sizeof(*job));
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
	const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
	const cudnnTensorDescriptor_t yDesc, void *y)
{
	struct softmax_job job = {.algorithm = algo, .base = {(void *)(uintptr_t)x, y}};
	const cudnnTensorDescriptor_t tensor[] = {xDesc, yDesc};

	SG_ENTER();
	return submit(handle, &job, mode, alpha, beta, 2, tensor);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
	cudnnSoftmaxMode_t mode, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta,
	const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	struct softmax_job job = {.algorithm = algo,
		.is_backward = true,
		.base = {(void *)(uintptr_t)y, (void *)(uintptr_t)dy, dx}};
	const cudnnTensorDescriptor_t tensor[] = {yDesc, dyDesc, dxDesc};

	SG_ENTER();
	return submit(handle, &job, mode, alpha, beta, 3, tensor);
}
