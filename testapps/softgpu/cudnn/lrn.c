/*
 * Local response normalisation across channels: y = x * (k + alpha / n * sum of squares in the window) ^
 * -beta.
 *
 * The one idea: a walk over pixels; at each, all channels are handled with one row of scratch memory.
 */
#include "cost.h"
#include "cudnn_private.h"

#include <math.h>
#include <stdlib.h>

struct lrn_job {
	unsigned n;
	double lrn_alpha, lrn_beta, k;
	double alpha, beta;
	bool is_double;
	bool is_backward;
	int device;
	int channels;
	int64_t channel_step[3];
	struct sg_loop loop;
	void *base[3];
	double *scale; /* scratch memory: two rows of channels */
};

#define REAL float
#define REAL_NAME(name) name##_f32
#include "lrn.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "lrn.inc"

static void run_lrn(void *arg)
{
	struct lrn_job job = *(const struct lrn_job *)arg;
	sg_row *row;

	job.scale = sg_scratch(2 * (size_t)job.channels * sizeof(double));
	if (job.scale == NULL) {
		sg_async_error(job.device, cudaErrorMemoryAllocation);
		return;
	}
	if (job.is_backward)
		row = job.is_double ? row_lrn_gradient_f64 : row_lrn_gradient_f32;
	else
		row = job.is_double ? row_lrn_f64 : row_lrn_f32;
	sg_loop_run(&job.loop, job.base, row, &job);
}

SG_CREATE(cudnnCreateLRNDescriptor, cudnnLRNDescriptor_t)

cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t lrnDesc)
{
	SG_ENTER();
	free(lrnDesc);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetLRNDescriptor(
	cudnnLRNDescriptor_t normDesc, unsigned lrnN, double lrnAlpha, double lrnBeta, double lrnK)
{
	SG_ENTER();
	if (normDesc == NULL || lrnN < CUDNN_LRN_MIN_N || lrnN > CUDNN_LRN_MAX_N ||
		lrnBeta < CUDNN_LRN_MIN_BETA || lrnK < CUDNN_LRN_MIN_K)
		return CUDNN_STATUS_BAD_PARAM;
	*normDesc = (struct cudnnLRNStruct){lrnN, lrnAlpha, lrnBeta, lrnK};
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t submit(cudnnHandle_t handle, struct lrn_job *job, cudnnLRNDescriptor_t lrn,
	cudnnLRNMode_t mode, const void *alpha, const void *beta, int count,
	const cudnnTensorDescriptor_t *tensor)
{
	struct sg_shape pixels[3];
	const struct sg_shape *pointers[3], *shapes[4] = {NULL};
	struct sg_cost cost;
	double per_element;
	cudnnDataType_t type;

	if (handle == NULL || lrn == NULL || lrn->n == 0 || mode != CUDNN_LRN_CROSS_CHANNEL_DIM1 ||
		alpha == NULL || beta == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	for (int i = 0; i < count; i++) {
		if (tensor[i] == NULL || tensor[i]->shape.ndims == 0 || job->base[i] == NULL ||
			!sg_shape_same_dims(&tensor[i]->shape, &tensor[0]->shape) ||
			tensor[i]->shape.type != tensor[0]->shape.type)
			return CUDNN_STATUS_BAD_PARAM;
		pixels[i] = tensor[i]->shape;
		pixels[i].dim[1] = 1;
		pointers[i] = &pixels[i];
		shapes[i] = &tensor[i]->shape;
		job->channel_step[i] = tensor[i]->shape.stride[1];
	}
	type = tensor[0]->shape.type;
	if (!sg_type_is_real(type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	job->n = lrn->n;
	job->lrn_alpha = lrn->alpha;
	job->lrn_beta = lrn->beta;
	job->k = lrn->k;
	job->alpha = sg_factor(type, alpha);
	job->beta = sg_factor(type, beta);
	job->is_double = type == CUDNN_DATA_DOUBLE;
	job->device = sg_stream_device(handle->stream);
	job->channels = tensor[0]->shape.dim[1];
	sg_loop_init(&job->loop, &pixels[count - 1], count, pointers);
	/* Backward the caller's y counts too: it is as large as the others. */
	shapes[3] = job->is_backward ? shapes[0] : NULL;
	per_element = job->is_backward ? SG_FLOPS_LRN_BACKWARD(lrn->n) : SG_FLOPS_LRN(lrn->n);
	cost = sg_cost_vector(type, per_element * (double)sg_shape_count(shapes[0]), 4, shapes);
	cost.bytes += job->beta != 0 ? sg_cost_bytes(shapes[count - 1]) : 0;
	return sg_cudnn_submit(handle, &cost, run_lrn, job, sizeof(*job));
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc,
	cudnnLRNMode_t lrnMode, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
	const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
	struct lrn_job job = {.base = {(void *)(uintptr_t)x, y}};
	const cudnnTensorDescriptor_t tensor[] = {xDesc, yDesc};

	SG_ENTER();
	return submit(handle, &job, normDesc, lrnMode, alpha, beta, 2, tensor);
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc,
	cudnnLRNMode_t lrnMode, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc,
	const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	struct lrn_job job = {.is_backward = true, .base = {(void *)(uintptr_t)x, (void *)(uintptr_t)dy, dx}};
	const cudnnTensorDescriptor_t tensor[] = {xDesc, dyDesc, dxDesc};

	SG_ENTER();
	if (y == NULL || yDesc == NULL || xDesc == NULL || !sg_shape_same_dims(&yDesc->shape, &xDesc->shape))
		return CUDNN_STATUS_BAD_PARAM;
	return submit(handle, &job, normDesc, lrnMode, alpha, beta, 3, tensor);
}
