/*
 * Activation functions, forward and backward.
 *
 * The one idea: an element-wise walk with one loop per function, so that each is compiled to vector code.
 */
#include "cost.h"
#include "cudnn_private.h"

SG_VECTORIZE_LOOPS

#include "vector_math.h"

#include <stdlib.h>

/* What the rows need. */
struct activation {
	cudnnActivationMode_t mode;
	double coef;
	double alpha;
	double beta;
};

#define REAL float
#define REAL_NAME(name) name##_f32
#include "activation.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "activation.inc"

struct activation_job {
	struct activation by;
	cudnnDataType_t type;
	bool is_backward;
	struct sg_loop loop;
	void *base[4];
};

static bool mode_is_known(cudnnActivationMode_t mode)
{
	return (int)mode >= CUDNN_ACTIVATION_SIGMOID && (int)mode <= CUDNN_ACTIVATION_SWISH;
}

static void run_activation(void *arg)
{
	const struct activation_job *job = arg;
	bool is_double = job->type == CUDNN_DATA_DOUBLE;
	sg_row *row;

	if (job->is_backward)
		row = is_double ? row_backward_f64 : row_backward_f32;
	else
		row = is_double ? row_forward_f64 : row_forward_f32;
	sg_loop_run(&job->loop, job->base, row, &job->by);
}

SG_CREATE(cudnnCreateActivationDescriptor, cudnnActivationDescriptor_t)

cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activationDesc)
{
	SG_ENTER();
	free(activationDesc);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activationDesc,
	cudnnActivationMode_t mode, cudnnNanPropagation_t reluNanOpt, double coef)
{
	SG_ENTER();
	if (activationDesc == NULL || !mode_is_known(mode) ||
		(reluNanOpt != CUDNN_NOT_PROPAGATE_NAN && reluNanOpt != CUDNN_PROPAGATE_NAN))
		return CUDNN_STATUS_BAD_PARAM;
	*activationDesc = (struct cudnnActivationStruct){true, mode, reluNanOpt, coef};
	return CUDNN_STATUS_SUCCESS;
}

/* Fills in the factors, the walk over `count` tensors, all of the same dims and type, the last one written,
 * and what that costs. */
static cudnnStatus_t fill_job(struct activation_job *job, struct sg_cost *cost,
	cudnnActivationDescriptor_t activation, const void *alpha, const void *beta, int count,
	const cudnnTensorDescriptor_t *tensor)
{
	const struct sg_shape *shapes[4] = {NULL};

	if (activation == NULL || !activation->set || alpha == NULL || beta == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	for (int i = 0; i < count; i++) {
		if (tensor[i] == NULL || tensor[i]->shape.ndims == 0 || job->base[i] == NULL)
			return CUDNN_STATUS_BAD_PARAM;
		shapes[i] = &tensor[i]->shape;
		if (!sg_shape_same_dims(shapes[i], shapes[0]) || shapes[i]->type != shapes[0]->type)
			return CUDNN_STATUS_BAD_PARAM;
	}
	if (!sg_type_is_real(shapes[0]->type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	job->type = shapes[0]->type;
	job->by.mode = activation->mode;
	job->by.coef = activation->coef;
	job->by.alpha = sg_factor(job->type, alpha);
	job->by.beta = sg_factor(job->type, beta);
	sg_loop_init(&job->loop, shapes[count - 1], count, shapes);
	*cost = sg_cost_elements(SG_FLOPS_ONE, job->by.beta != 0, count, shapes);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc,
	const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
	const cudnnTensorDescriptor_t yDesc, void *y)
{
	struct activation_job job = {.base = {(void *)(uintptr_t)x, y}};
	const cudnnTensorDescriptor_t tensor[] = {xDesc, yDesc};
	struct sg_cost cost;
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_job(&job, &cost, activationDesc, alpha, beta, 2, tensor);
	return status == CUDNN_STATUS_SUCCESS
		       ? sg_cudnn_submit(handle, &cost, run_activation, &job, sizeof(job))
		       : status;
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc,
	const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc,
	const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	struct activation_job job = {.is_backward = true,
		.base = {(void *)(uintptr_t)x, (void *)(uintptr_t)y, (void *)(uintptr_t)dy, dx}};
	const cudnnTensorDescriptor_t tensor[] = {xDesc, yDesc, dyDesc, dxDesc};
	struct sg_cost cost;
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_job(&job, &cost, activationDesc, alpha, beta, 4, tensor);
	return status == CUDNN_STATUS_SUCCESS
		       ? sg_cudnn_submit(handle, &cost, run_activation, &job, sizeof(job))
		       : status;
}
