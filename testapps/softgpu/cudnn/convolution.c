/*
 * The convolution calls: forward, the two gradients, and forward with bias and activation.
 *
 * The one idea: a call checks its descriptors, finds the plan for these shapes and submits a small job that
 * names the plan and the pointers.
 */
#include "convolution.h"

#include "cost.h"

#include <string.h>

#define WORKSPACE_ALIGNMENT 64

SG_VECTORIZE_LOOPS

cudnnStatus_t sg_convolution_prepare(enum sg_convolution_kind kind, const struct cudnnConvolutionStruct *conv,
	const struct cudnnTensorStruct *x, const struct cudnnFilterStruct *w,
	const struct cudnnTensorStruct *y, struct sg_convolution_plan **plan)
{
	struct sg_convolution_key key;
	int dim[SG_DIMS_MAX];
	cudnnStatus_t status;

	if (conv == NULL || x == NULL || w == NULL || y == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = sg_convolution_output(conv, &x->shape, &w->shape, dim);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (y->shape.ndims != x->shape.ndims ||
		memcmp(dim, y->shape.dim, (size_t)y->shape.ndims * sizeof(*dim)) != 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (x->shape.type != w->shape.type || x->shape.type != y->shape.type)
		return CUDNN_STATUS_BAD_PARAM;
	if (x->shape.type != CUDNN_DATA_FLOAT || conv->compute != CUDNN_DATA_FLOAT)
		return CUDNN_STATUS_NOT_SUPPORTED;

	memset(&key, 0, sizeof(key));
	key.kind = kind;
	key.threads = sg_threads();
	key.groups = conv->groups;
	key.flips = conv->mode == CUDNN_CONVOLUTION;
	for (int d = 0; d < SG_DIMS_MAX; d++) {
		key.pad[d] = d < conv->nspatial ? conv->pad[d] : 0;
		key.stride[d] = d < conv->nspatial ? conv->stride[d] : 1;
		key.dilation[d] = d < conv->nspatial ? conv->dilation[d] : 1;
	}
	key.shape[SG_CONVOLUTION_X] = x->shape;
	key.shape[SG_CONVOLUTION_W] = w->shape;
	key.shape[SG_CONVOLUTION_Y] = y->shape;
	*plan = sg_convolution_plan_get(&key);
	return *plan == NULL ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

struct sg_cost sg_convolution_cost(
	const struct cudnnConvolutionStruct *conv, const struct sg_convolution_plan *plan, bool adds)
{
	const struct sg_convolution_key *key = sg_convolution_plan_key(plan);

	cudnnDataType_t stored = key->shape[SG_CONVOLUTION_X].type;

	return sg_cost_convolution(key, sg_cost_matrix_type(stored, conv->compute, conv->math), stored, adds);
}

/* Where the caller's workspace is used from: oneDNN wants it aligned. */
static void *align_workspace(void *workspace)
{
	uintptr_t address = (uintptr_t)workspace;

	return (char *)workspace + (-address & (WORKSPACE_ALIGNMENT - 1));
}

/* The memory a run uses; NULL after having reported that there is none. */
static void *find_scratch(const struct sg_convolution_job *job)
{
	void *scratch = job->workspace;

	if (scratch == NULL)
		scratch = sg_scratch(sg_convolution_plan_scratch_bytes(job->plan));
	if (scratch == NULL)
		sg_async_error(job->device, cudaErrorMemoryAllocation);
	return scratch;
}

void sg_convolution_run(const struct sg_convolution_job *job)
{
	void *scratch = find_scratch(job);

	if (scratch != NULL &&
		sg_convolution_plan_run(job->plan, job->tensor, scratch, job->alpha, job->beta) != 0)
		sg_async_error(job->device, cudaErrorUnknown);
}

static void run_job(void *arg)
{
	sg_convolution_run(arg);
}

/* What the calls have in common once their own arguments are in order. */
struct request {
	enum sg_convolution_kind kind;
	int algorithm;
	cudnnConvolutionDescriptor_t conv;
	cudnnTensorDescriptor_t x;
	cudnnFilterDescriptor_t w;
	cudnnTensorDescriptor_t y;
	void *workspace;
	size_t workspace_bytes;
};

static cudnnStatus_t fill_job(
	cudnnHandle_t handle, const struct request *request, struct sg_convolution_job *job)
{
	size_t needed;
	cudnnStatus_t status;

	status = sg_convolution_prepare(
		request->kind, request->conv, request->x, request->w, request->y, &job->plan);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	status = sg_convolution_algorithm_status(
		request->kind, request->algorithm, request->conv, &request->x->shape, &request->w->shape);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	needed = sg_convolution_workspace_bytes(request->kind, request->algorithm, job->plan);
	if (needed > 0 && (request->workspace == NULL || request->workspace_bytes < needed))
		return CUDNN_STATUS_BAD_PARAM;
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		if (job->tensor[t] == NULL)
			return CUDNN_STATUS_BAD_PARAM;
	}
	job->workspace = needed > 0 ? align_workspace(request->workspace) : NULL;
	job->device = sg_stream_device(handle->stream);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t submit(cudnnHandle_t handle, const struct request *request,
	struct sg_convolution_job *job, const void *alpha, const void *beta)
{
	struct sg_cost cost;
	cudnnStatus_t status;

	if (handle == NULL || alpha == NULL || beta == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_job(handle, request, job);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	job->alpha = sg_factor(CUDNN_DATA_FLOAT, alpha);
	job->beta = sg_factor(CUDNN_DATA_FLOAT, beta);
	cost = sg_convolution_cost(request->conv, job->plan, job->beta != 0);
	return sg_cudnn_submit(handle, &cost, run_job, job, sizeof(*job));
}

/* Jobs hold inputs and outputs alike; only the plan's output is written. */
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc,
	const void *w, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo,
	void *workSpace, size_t workSpaceSizeInBytes, const void *beta, const cudnnTensorDescriptor_t yDesc,
	void *y)
{
	const struct request request = {SG_CONVOLUTION_FORWARD, (int)algo, convDesc, xDesc, wDesc, yDesc,
		workSpace, workSpaceSizeInBytes};
	struct sg_convolution_job job = {.tensor = {sg_unconst(x), sg_unconst(w), y}};

	SG_ENTER();
	return submit(handle, &request, &job, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
	const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t dyDesc,
	const void *dy, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdDataAlgo_t algo,
	void *workSpace, size_t workSpaceSizeInBytes, const void *beta, const cudnnTensorDescriptor_t dxDesc,
	void *dx)
{
	const struct request request = {SG_CONVOLUTION_BACKWARD_DATA, (int)algo, convDesc, dxDesc, wDesc,
		dyDesc, workSpace, workSpaceSizeInBytes};
	struct sg_convolution_job job = {.tensor = {dx, sg_unconst(w), sg_unconst(dy)}};

	SG_ENTER();
	return submit(handle, &request, &job, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t dyDesc,
	const void *dy, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdFilterAlgo_t algo,
	void *workSpace, size_t workSpaceSizeInBytes, const void *beta, const cudnnFilterDescriptor_t dwDesc,
	void *dw)
{
	const struct request request = {SG_CONVOLUTION_BACKWARD_FILTER, (int)algo, convDesc, xDesc, dwDesc,
		dyDesc, workSpace, workSpaceSizeInBytes};
	struct sg_convolution_job job = {.tensor = {sg_unconst(x), dw, sg_unconst(dy)}};

	SG_ENTER();
	return submit(handle, &request, &job, alpha, beta);
}

/* y = activation(alpha1 * convolution + alpha2 * z + bias) */
struct fused_job {
	struct sg_convolution_job convolution;
	struct sg_shape z_shape;
	struct sg_shape bias_shape;
	struct sg_shape y_shape;
	const void *z;
	const void *bias;
	float alpha1;
	float alpha2;
	bool clips; /* ReLU; else identity */
};

/* Operands: convolution's result, z, bias, y. */
static void row_epilogue(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const struct fused_job *job = context;
	const float *result = at[0];
	const float *z = at[1];
	const float *bias = at[2];
	float *y = at[3];

	for (int64_t i = 0; i < n; i++) {
		float sum = job->alpha1 * result[i * step[0]] + bias[i * step[2]];

		if (job->alpha2 != 0)
			sum += job->alpha2 * z[i * step[1]];
		y[i * step[3]] = job->clips && sum < 0 ? 0 : sum;
	}
}

static void run_fused_job(void *arg)
{
	const struct fused_job *job = arg;
	const struct sg_convolution_job *convolution = &job->convolution;
	void *scratch = find_scratch(convolution);
	const struct sg_shape *shapes[4] = {NULL, &job->z_shape, &job->bias_shape, &job->y_shape};
	void *base[4] = {
		NULL, sg_unconst(job->z), sg_unconst(job->bias), convolution->tensor[SG_CONVOLUTION_Y]};
	struct sg_loop loop;

	if (scratch == NULL)
		return;
	if (sg_convolution_plan_run_to_scratch(
		    convolution->plan, convolution->tensor, scratch, &base[0], &shapes[0]) != 0) {
		sg_async_error(convolution->device, cudaErrorUnknown);
		return;
	}
	sg_loop_init(&loop, &job->y_shape, 4, shapes);
	sg_loop_run(&loop, base, row_epilogue, job);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(cudnnHandle_t handle, const void *alpha1,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc,
	const void *w, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo,
	void *workSpace, size_t workSpaceSizeInBytes, const void *alpha2, const cudnnTensorDescriptor_t zDesc,
	const void *z, const cudnnTensorDescriptor_t biasDesc, const void *bias,
	const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc, void *y)
{
	const struct request request = {SG_CONVOLUTION_FORWARD, (int)algo, convDesc, xDesc, wDesc, yDesc,
		workSpace, workSpaceSizeInBytes};
	struct fused_job job = {.convolution = {.tensor = {sg_unconst(x), sg_unconst(w), y}}};
	struct sg_cost cost;
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL || alpha1 == NULL || alpha2 == NULL || zDesc == NULL || biasDesc == NULL ||
		bias == NULL || activationDesc == NULL || !activationDesc->set)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_job(handle, &request, &job.convolution);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	job.y_shape = yDesc->shape;
	job.z_shape = zDesc->shape;
	job.bias_shape = biasDesc->shape;
	job.alpha1 = *(const float *)alpha1;
	job.alpha2 = *(const float *)alpha2;
	job.z = job.alpha2 != 0 ? z : y;
	job.bias = bias;
	if (job.z == NULL || !sg_shape_same_dims(&job.z_shape, &job.y_shape) ||
		!sg_shape_broadcasts(&job.bias_shape, &job.y_shape) ||
		sg_shape_count(&job.bias_shape) != job.y_shape.dim[1] ||
		job.bias_shape.dim[1] != job.y_shape.dim[1])
		return CUDNN_STATUS_BAD_PARAM;
	if (job.z_shape.type != CUDNN_DATA_FLOAT || job.bias_shape.type != CUDNN_DATA_FLOAT ||
		(activationDesc->mode != CUDNN_ACTIVATION_RELU &&
			activationDesc->mode != CUDNN_ACTIVATION_IDENTITY))
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (activationDesc->mode == CUDNN_ACTIVATION_IDENTITY &&
		algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
		return CUDNN_STATUS_NOT_SUPPORTED;
	job.clips = activationDesc->mode == CUDNN_ACTIVATION_RELU;
	cost = sg_convolution_cost(convDesc, job.convolution.plan, false);
	cost.bytes += sg_cost_bytes(&job.bias_shape) + (job.alpha2 != 0 ? sg_cost_bytes(&job.z_shape) : 0);
	return sg_cudnn_submit(handle, &cost, run_fused_job, &job, sizeof(job));
}
