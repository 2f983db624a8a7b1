/*
 * Reductions of tensors along any of their dimensions, and the gradient of a bias, which is one.
 *
 * The one idea: two walks, one over the results and one over what goes into a result. Values are accumulated
 * in double precision in a fixed order, so a sum is the same each time it is computed.
 */
#include "cost.h"
#include "cudnn_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SG_VECTORIZE_LOOPS

enum summand { VALUES, SIZES, SQUARES };

/* One result while it is being computed. */
struct reduction {
	cudnnReduceTensorOp_t op;
	double value;
	bool is_empty;
	int64_t seen; /* elements */
	int64_t best; /* index of the smallest or largest */
};

struct reduce_job {
	cudnnReduceTensorOp_t op;
	bool is_double;
	double alpha;
	double beta;
	int64_t length; /* elements per result */
	struct sg_loop across;
	struct sg_loop within;
	void *base[2];     /* a, c */
	uint32_t *indices; /* NULL: not wanted */
};

static double reduce_one(const struct reduce_job *job, void *a, sg_row *row, int64_t result)
{
	bool is_product = job->op == CUDNN_REDUCE_TENSOR_MUL || job->op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS;
	struct reduction state = {.op = job->op, .value = is_product ? 1 : 0, .is_empty = true};
	struct reduction *pointer = &state;

	sg_loop_run(&job->within, &a, row, &pointer);
	if (job->indices != NULL)
		job->indices[result] = (uint32_t)state.best;
	if (job->op == CUDNN_REDUCE_TENSOR_AVG)
		return state.value / (double)job->length;
	if (job->op == CUDNN_REDUCE_TENSOR_NORM2)
		return sqrt(state.value);
	return state.value;
}

#define REAL float
#define REAL_NAME(name) name##_f32
#include "reduce.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "reduce.inc"

static void run_reduce(void *arg)
{
	const struct reduce_job *job = arg;

	sg_loop_run(&job->across, job->base, job->is_double ? row_results_f64 : row_results_f32, job);
}

/* Fills in the walks. c's dims equal a's or are 1. */
static void init_walks(struct reduce_job *job, const struct sg_shape *a, const struct sg_shape *c)
{
	struct sg_shape kept = *a;
	struct sg_shape reduced = *a;
	struct sg_shape order;

	for (int d = 0; d < a->ndims; d++) {
		if (c->dim[d] == 1)
			kept.dim[d] = 1;
		else
			reduced.dim[d] = 1;
	}
	job->length = sg_shape_count(&reduced);
	sg_loop_init(&job->across, c, 2, (const struct sg_shape *const[]){&kept, c});
	/* Indices count in the order of the dimensions, whatever the layout: a packed companion gives that
	 * order. */
	sg_shape_pack(&order, reduced.type, CUDNN_TENSOR_NCHW, reduced.ndims, reduced.dim);
	if (job->indices != NULL)
		sg_loop_init(&job->within, &reduced, 2, (const struct sg_shape *const[]){&reduced, &order});
	else
		sg_loop_init(&job->within, &reduced, 1, (const struct sg_shape *const[]){&reduced});
	job->within.noperands = 1;
}

SG_CREATE(cudnnCreateReduceTensorDescriptor, cudnnReduceTensorDescriptor_t)

cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc)
{
	SG_ENTER();
	free(reduceTensorDesc);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc,
	cudnnReduceTensorOp_t reduceTensorOp, cudnnDataType_t reduceTensorCompType,
	cudnnNanPropagation_t reduceTensorNanOpt, cudnnReduceTensorIndices_t reduceTensorIndices,
	cudnnIndicesType_t reduceTensorIndicesType)
{
	SG_ENTER();
	if (reduceTensorDesc == NULL || (int)reduceTensorOp < CUDNN_REDUCE_TENSOR_ADD ||
		reduceTensorOp > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ||
		(reduceTensorNanOpt != CUDNN_NOT_PROPAGATE_NAN &&
			reduceTensorNanOpt != CUDNN_PROPAGATE_NAN) ||
		(reduceTensorIndices != CUDNN_REDUCE_TENSOR_NO_INDICES &&
			reduceTensorIndices != CUDNN_REDUCE_TENSOR_FLATTENED_INDICES) ||
		(int)reduceTensorIndicesType < CUDNN_32BIT_INDICES ||
		reduceTensorIndicesType > CUDNN_8BIT_INDICES)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(reduceTensorCompType) || reduceTensorIndicesType != CUDNN_32BIT_INDICES)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*reduceTensorDesc = (struct cudnnReduceTensorStruct){true, reduceTensorOp, reduceTensorCompType,
		reduceTensorNanOpt, reduceTensorIndices, reduceTensorIndicesType};
	return CUDNN_STATUS_SUCCESS;
}

static bool wants_indices(const struct cudnnReduceTensorStruct *reduce)
{
	return reduce->indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES &&
	       (reduce->op == CUDNN_REDUCE_TENSOR_MIN || reduce->op == CUDNN_REDUCE_TENSOR_MAX ||
		       reduce->op == CUDNN_REDUCE_TENSOR_AMAX);
}

static cudnnStatus_t check_shapes(const struct cudnnReduceTensorStruct *reduce,
	const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *c)
{
	if (reduce == NULL || !reduce->set || a == NULL || c == NULL || a->shape.ndims == 0 ||
		!sg_shape_broadcasts(&c->shape, &a->shape))
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(a->shape.type) || a->shape.type != c->shape.type)
		return CUDNN_STATUS_NOT_SUPPORTED;
	return CUDNN_STATUS_SUCCESS;
}

/* c is addressed by element, so indices lie as c does. */
static size_t indices_bytes(const struct cudnnReduceTensorStruct *reduce, const struct sg_shape *c)
{
	size_t span = 1;

	for (int d = 0; d < c->ndims; d++)
		span += (size_t)((c->dim[d] - 1) * c->stride[d]);
	return wants_indices(reduce) ? span * sizeof(uint32_t) : 0;
}

cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle,
	const cudnnReduceTensorDescriptor_t reduceTensorDesc, const cudnnTensorDescriptor_t aDesc,
	const cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)
{
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL || sizeInBytes == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = check_shapes(reduceTensorDesc, aDesc, cDesc);
	if (status == CUDNN_STATUS_SUCCESS)
		*sizeInBytes = 0;
	return status;
}

cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t handle,
	const cudnnReduceTensorDescriptor_t reduceTensorDesc, const cudnnTensorDescriptor_t aDesc,
	const cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)
{
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL || sizeInBytes == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = check_shapes(reduceTensorDesc, aDesc, cDesc);
	if (status == CUDNN_STATUS_SUCCESS)
		*sizeInBytes = indices_bytes(reduceTensorDesc, &cDesc->shape);
	return status;
}

static cudnnStatus_t submit(cudnnHandle_t handle, const struct reduce_job *job, const struct sg_shape *a,
	const struct sg_shape *c)
{
	struct sg_cost cost = sg_cost_vector(
		a->type, SG_FLOPS_ONE * (double)sg_shape_count(a), 2, (const struct sg_shape *const[]){a, c});

	cost.bytes += job->beta != 0 ? sg_cost_bytes(c) : 0;
	cost.bytes += job->indices != NULL ? (double)sg_shape_count(c) * sizeof(*job->indices) : 0;
	return sg_cudnn_submit(handle, &cost, run_reduce, job, sizeof(*job));
}

cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc,
	void *indices, size_t indicesSizeInBytes, void *workspace, size_t workspaceSizeInBytes,
	const void *alpha, const cudnnTensorDescriptor_t aDesc, const void *A, const void *beta,
	const cudnnTensorDescriptor_t cDesc, void *C)
{
	struct reduce_job job;
	cudnnStatus_t status;

	(void)workspace;
	(void)workspaceSizeInBytes;
	SG_ENTER();
	if (handle == NULL || alpha == NULL || beta == NULL || A == NULL || C == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = check_shapes(reduceTensorDesc, aDesc, cDesc);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	memset(&job, 0, sizeof(job));
	if (wants_indices(reduceTensorDesc)) {
		if (indices == NULL || indicesSizeInBytes < indices_bytes(reduceTensorDesc, &cDesc->shape))
			return CUDNN_STATUS_BAD_PARAM;
		job.indices = indices;
	}
	job.op = reduceTensorDesc->op;
	job.is_double = aDesc->shape.type == CUDNN_DATA_DOUBLE;
	job.alpha = sg_factor(aDesc->shape.type, alpha);
	job.beta = sg_factor(aDesc->shape.type, beta);
	job.base[0] = (void *)(uintptr_t)A;
	job.base[1] = C;
	init_walks(&job, &aDesc->shape, &cDesc->shape);
	return submit(handle, &job, &aDesc->shape, &cDesc->shape);
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta,
	const cudnnTensorDescriptor_t dbDesc, void *db)
{
	struct reduce_job job;

	SG_ENTER();
	if (handle == NULL || alpha == NULL || beta == NULL || dyDesc == NULL || dy == NULL ||
		dbDesc == NULL || db == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (dyDesc->shape.ndims == 0 || !sg_shape_broadcasts(&dbDesc->shape, &dyDesc->shape) ||
		dbDesc->shape.dim[1] != dyDesc->shape.dim[1] ||
		sg_shape_count(&dbDesc->shape) != dyDesc->shape.dim[1] ||
		dbDesc->shape.type != dyDesc->shape.type)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(dyDesc->shape.type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	memset(&job, 0, sizeof(job));
	job.op = CUDNN_REDUCE_TENSOR_ADD;
	job.is_double = dyDesc->shape.type == CUDNN_DATA_DOUBLE;
	job.alpha = sg_factor(dyDesc->shape.type, alpha);
	job.beta = sg_factor(dyDesc->shape.type, beta);
	job.base[0] = (void *)(uintptr_t)dy;
	job.base[1] = db;
	init_walks(&job, &dyDesc->shape, &dbDesc->shape);
	return submit(handle, &job, &dyDesc->shape, &dbDesc->shape);
}
