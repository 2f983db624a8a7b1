/*
 * Element-wise operations on tensors: OpTensor, AddTensor, SetTensor, ScaleTensor, TransformTensor.
 *
 * The one idea: the walk of sg_loop handles layouts and broadcasting, rows do the arithmetic.
 */
#include "cost.h"
#include "cudnn_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SG_VECTORIZE_LOOPS

/* c = op(alpha1 * a, alpha2 * b) + beta * c */
struct combination {
	cudnnOpTensorOp_t op;
	double alpha1;
	double alpha2;
	double beta;
};

static inline float root_f32(float x)
{
	return sqrtf(x);
}

static inline double root_f64(double x)
{
	return sqrt(x);
}

#define REAL float
#define REAL_NAME(name) name##_f32
#include "tensor_op.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "tensor_op.inc"

struct combine_job {
	struct combination by;
	bool is_double;
	struct sg_loop loop;
	void *base[3];
};

struct blend_job {
	struct sg_blend by;
	bool is_double;
	struct sg_loop loop;
	void *base[2];
};

struct scale_job {
	double alpha;
	bool is_double;
	struct sg_loop loop;
	void *base[1];
};

struct set_job {
	struct sg_loop loop;
	void *base[1];
	size_t element_bytes;
	unsigned char value[8];
};

static void run_combine(void *arg)
{
	const struct combine_job *job = arg;

	sg_loop_run(&job->loop, job->base, job->is_double ? row_combine_f64 : row_combine_f32, &job->by);
}

static void run_blend(void *arg)
{
	const struct blend_job *job = arg;

	sg_loop_run(&job->loop, job->base, job->is_double ? sg_row_blend_f64 : sg_row_blend_f32, &job->by);
}

static void run_scale(void *arg)
{
	const struct scale_job *job = arg;

	sg_loop_run(&job->loop, job->base, job->is_double ? row_scale_f64 : row_scale_f32, &job->alpha);
}

/* Operand: y, of any type. */
static void row_set(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const struct set_job *job = context;
	char *y = at[0];

	if (job->element_bytes == sizeof(uint32_t) && step[0] == 1) {
		uint32_t value;

		memcpy(&value, job->value, sizeof(value));
		for (int64_t i = 0; i < n; i++)
			memcpy(y + i * (int64_t)sizeof(value), &value, sizeof(value));
		return;
	}
	for (int64_t i = 0; i < n; i++)
		memcpy(y + i * step[0] * (int64_t)job->element_bytes, job->value, job->element_bytes);
}

static void run_set(void *arg)
{
	const struct set_job *job = arg;

	sg_loop_run(&job->loop, job->base, row_set, job);
}

SG_CREATE(cudnnCreateOpTensorDescriptor, cudnnOpTensorDescriptor_t)

cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc)
{
	SG_ENTER();
	free(opTensorDesc);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc, cudnnOpTensorOp_t opTensorOp,
	cudnnDataType_t opTensorCompType, cudnnNanPropagation_t opTensorNanOpt)
{
	SG_ENTER();
	if (opTensorDesc == NULL || (int)opTensorOp < CUDNN_OP_TENSOR_ADD ||
		opTensorOp > CUDNN_OP_TENSOR_NOT || !sg_type_is_real(opTensorCompType) ||
		(opTensorNanOpt != CUDNN_NOT_PROPAGATE_NAN && opTensorNanOpt != CUDNN_PROPAGATE_NAN))
		return CUDNN_STATUS_BAD_PARAM;
	*opTensorDesc = (struct cudnnOpTensorStruct){true, opTensorOp, opTensorCompType, opTensorNanOpt};
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t opTensorDesc,
	const void *alpha1, const cudnnTensorDescriptor_t aDesc, const void *A, const void *alpha2,
	const cudnnTensorDescriptor_t bDesc, const void *B, const void *beta,
	const cudnnTensorDescriptor_t cDesc, void *C)
{
	struct combine_job job;
	bool takes_b;

	SG_ENTER();
	if (handle == NULL || opTensorDesc == NULL || !opTensorDesc->set || alpha1 == NULL || aDesc == NULL ||
		A == NULL || beta == NULL || cDesc == NULL || C == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	takes_b = opTensorDesc->op != CUDNN_OP_TENSOR_SQRT && opTensorDesc->op != CUDNN_OP_TENSOR_NOT;
	if (takes_b && (alpha2 == NULL || bDesc == NULL || B == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	if (cDesc->shape.ndims == 0 || !sg_shape_same_dims(&aDesc->shape, &cDesc->shape))
		return CUDNN_STATUS_BAD_PARAM;

	/* An operation on a alone sees a twice. */
	const struct sg_shape *b_shape = takes_b ? &bDesc->shape : &aDesc->shape;
	const struct sg_shape *const shapes[] = {&aDesc->shape, b_shape, &cDesc->shape};
	cudnnDataType_t type = cDesc->shape.type;

	if (!sg_shape_broadcasts(b_shape, &cDesc->shape))
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(type) || aDesc->shape.type != type || b_shape->type != type)
		return CUDNN_STATUS_NOT_SUPPORTED;
	memset(&job, 0, sizeof(job));
	job.by = (struct combination){opTensorDesc->op, sg_factor(type, alpha1),
		takes_b ? sg_factor(type, alpha2) : 0, sg_factor(type, beta)};
	job.is_double = type == CUDNN_DATA_DOUBLE;
	job.base[0] = (void *)(uintptr_t)A;
	job.base[1] = (void *)(uintptr_t)(takes_b ? B : A);
	job.base[2] = C;
	sg_loop_init(&job.loop, &cDesc->shape, 3, shapes);

	const struct sg_shape *const operands[] = {&aDesc->shape, takes_b ? b_shape : NULL, &cDesc->shape};
	const struct sg_cost cost = sg_cost_elements(SG_FLOPS_ONE, job.by.beta != 0, 3, operands);

	return sg_cudnn_submit(handle, &cost, run_combine, &job, sizeof(job));
}

/* y = alpha * x + beta * y, x repeated where it is smaller. Without factors it is a copy. */
static cudnnStatus_t submit_blend(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_desc,
	const void *x, const void *beta, cudnnTensorDescriptor_t y_desc, void *y)
{
	const struct sg_shape *const shapes[] = {&x_desc->shape, &y_desc->shape};
	struct blend_job job;
	struct sg_cost cost;

	memset(&job, 0, sizeof(job));
	job.by = (struct sg_blend){sg_factor(y_desc->shape.type, alpha), sg_factor(y_desc->shape.type, beta)};
	job.is_double = y_desc->shape.type == CUDNN_DATA_DOUBLE;
	job.base[0] = (void *)(uintptr_t)x;
	job.base[1] = y;
	sg_loop_init(&job.loop, &y_desc->shape, 2, shapes);
	cost = sg_cost_elements(job.by.alpha != 1 || job.by.beta != 0 ? SG_FLOPS_ONE : SG_FLOPS_MOVE,
		job.by.beta != 0, 2, shapes);
	return sg_cudnn_submit(handle, &cost, run_blend, &job, sizeof(job));
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t aDesc,
	const void *A, const void *beta, const cudnnTensorDescriptor_t cDesc, void *C)
{
	SG_ENTER();
	if (handle == NULL || alpha == NULL || aDesc == NULL || A == NULL || beta == NULL || cDesc == NULL ||
		C == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (cDesc->shape.ndims == 0 || !sg_shape_broadcasts(&aDesc->shape, &cDesc->shape) ||
		aDesc->shape.type != cDesc->shape.type)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(cDesc->shape.type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	return submit_blend(handle, alpha, aDesc, A, beta, cDesc, C);
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha,
	const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
	const cudnnTensorDescriptor_t yDesc, void *y)
{
	SG_ENTER();
	if (handle == NULL || alpha == NULL || xDesc == NULL || x == NULL || beta == NULL || yDesc == NULL ||
		y == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (yDesc->shape.ndims == 0 || !sg_shape_same_dims(&xDesc->shape, &yDesc->shape))
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(yDesc->shape.type) || xDesc->shape.type != yDesc->shape.type)
		return CUDNN_STATUS_NOT_SUPPORTED;
	return submit_blend(handle, alpha, xDesc, x, beta, yDesc, y);
}

cudnnStatus_t cudnnScaleTensor(
	cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y, const void *alpha)
{
	struct scale_job job;
	struct sg_cost cost;

	SG_ENTER();
	if (handle == NULL || yDesc == NULL || yDesc->shape.ndims == 0 || y == NULL || alpha == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(yDesc->shape.type))
		return CUDNN_STATUS_NOT_SUPPORTED;

	const struct sg_shape *const shapes[] = {&yDesc->shape};

	memset(&job, 0, sizeof(job));
	job.alpha = sg_factor(yDesc->shape.type, alpha);
	job.is_double = yDesc->shape.type == CUDNN_DATA_DOUBLE;
	job.base[0] = y;
	sg_loop_init(&job.loop, &yDesc->shape, 1, shapes);
	cost = sg_cost_elements(SG_FLOPS_ONE, true, 1, shapes);
	return sg_cudnn_submit(handle, &cost, run_scale, &job, sizeof(job));
}

cudnnStatus_t cudnnSetTensor(
	cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y, const void *valuePtr)
{
	struct set_job job;
	struct sg_cost cost;

	SG_ENTER();
	if (handle == NULL || yDesc == NULL || yDesc->shape.ndims == 0 || y == NULL || valuePtr == NULL)
		return CUDNN_STATUS_BAD_PARAM;

	const struct sg_shape *const shapes[] = {&yDesc->shape};

	memset(&job, 0, sizeof(job));
	job.element_bytes = sg_type_bytes(yDesc->shape.type);
	memcpy(job.value, valuePtr, job.element_bytes);
	job.base[0] = y;
	sg_loop_init(&job.loop, &yDesc->shape, 1, shapes);
	cost = sg_cost_elements(SG_FLOPS_MOVE, false, 1, shapes);
	return sg_cudnn_submit(handle, &cost, run_set, &job, sizeof(job));
}
