/*
 * Dropout.
 *
 * The one idea: whether element i survives depends on the seed and on how many numbers were drawn before it,
 * by a hash, so no order of execution within a call matters. The count lives in the states buffer, in device
 * memory, as the vendor's state does: replaying a graph draws new numbers.
 */
#include "cost.h"
#include "cudnn_private.h"

#include <stdlib.h>
#include <string.h>

SG_VECTORIZE_LOOPS

struct states_job {
	struct sg_dropout_states *states;
	struct sg_dropout_states value;
};

struct dropout_job {
	bool is_double;
	float dropout;
	struct sg_dropout_states *states;
	uint64_t seed; /* read from the states when the job runs, as `drawn` is */
	uint64_t drawn;
	int64_t count;
	struct sg_loop loop;
	void *base[3]; /* mask (a byte per element, packed), x or dy, y or dx */
};

/* Survivors are scaled, so that the expected sum stays the same. */
static void keep_f32(int64_t n, const unsigned char *mask, int64_t mask_step, const float *x, int64_t x_step,
	float *y, int64_t y_step, float scale)
{
	for (int64_t i = 0; i < n; i++) {
		float scaled = x[i * x_step] * scale;

		y[i * y_step] = mask[i * mask_step] ? scaled : 0;
	}
}

static void keep_f64(int64_t n, const unsigned char *mask, int64_t mask_step, const double *x, int64_t x_step,
	double *y, int64_t y_step, double scale)
{
	for (int64_t i = 0; i < n; i++) {
		double scaled = x[i * x_step] * scale;

		y[i * y_step] = mask[i * mask_step] ? scaled : 0;
	}
}

/* Operands: mask, x or dy, y or dx. */
static void row_keep(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const struct dropout_job *job = context;
	double scale = 1 / (1 - (double)job->dropout);

	if (job->is_double)
		keep_f64(n, at[0], step[0], at[1], step[1], at[2], step[2], scale);
	else
		keep_f32(n, at[0], step[0], at[1], step[1], at[2], step[2], (float)scale);
}

/* The same operands. The mask is packed in the order of the dimensions: its offset is the element's number.
 */
static void row_draw(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const struct dropout_job *job = context;
	unsigned char *mask = at[0];
	uint64_t first = job->drawn + (uint64_t)(mask - (unsigned char *)job->base[0]);
	uint64_t key = sg_mix(job->seed);
	uint64_t threshold = (uint64_t)((double)job->dropout * 4294967296.0);

	for (int64_t i = 0; i < n; i++)
		mask[i * step[0]] = sg_mix(key ^ (first + (uint64_t)(i * step[0]))) >> 32 >= threshold;
	row_keep(n, at, step, context);
}

static void run_set_states(void *arg)
{
	const struct states_job *job = arg;

	*job->states = job->value;
}

static void run_forward(void *arg)
{
	struct dropout_job job = *(const struct dropout_job *)arg;

	job.seed = job.states->seed;
	job.drawn = job.states->drawn;
	sg_loop_run(&job.loop, job.base, row_draw, &job);
	job.states->drawn += (uint64_t)job.count;
}

static void run_backward(void *arg)
{
	const struct dropout_job *job = arg;

	sg_loop_run(&job->loop, job->base, row_keep, job);
}

SG_CREATE(cudnnCreateDropoutDescriptor, cudnnDropoutDescriptor_t)

cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc)
{
	SG_ENTER();
	free(dropoutDesc);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *sizeInBytes)
{
	SG_ENTER();
	if (handle == NULL || sizeInBytes == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*sizeInBytes = sizeof(struct sg_dropout_states);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc, size_t *sizeInBytes)
{
	SG_ENTER();
	if (xdesc == NULL || xdesc->shape.ndims == 0 || sizeInBytes == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*sizeInBytes = (size_t)sg_shape_count(&xdesc->shape);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_dropout(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float dropout,
	void *states, size_t states_bytes, unsigned long long seed)
{
	if (descriptor == NULL || handle == NULL || !(dropout >= 0 && dropout < 1))
		return CUDNN_STATUS_BAD_PARAM;
	if (states != NULL && states_bytes < sizeof(struct sg_dropout_states))
		return SG_STATUS_INVALID_VALUE;
	descriptor->set = true;
	descriptor->dropout = dropout;
	if (states != NULL) {
		descriptor->states = states;
		descriptor->states_bytes = states_bytes;
	}
	descriptor->seed = seed;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
	float dropout, void *states, size_t stateSizeInBytes, unsigned long long seed)
{
	struct states_job job = {states, {seed, 0}};
	const struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, sizeof(job.value));
	cudnnStatus_t status;

	SG_ENTER();
	status = set_dropout(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed);
	if (status != CUDNN_STATUS_SUCCESS || states == NULL)
		return status;
	return sg_cudnn_submit(handle, &cost, run_set_states, &job, sizeof(job));
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
	float dropout, void *states, size_t stateSizeInBytes, unsigned long long seed)
{
	SG_ENTER();
	if (states == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return set_dropout(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed);
}

static cudnnStatus_t fill_job(struct dropout_job *job, struct sg_cost *cost, cudnnHandle_t handle,
	cudnnDropoutDescriptor_t dropout, cudnnTensorDescriptor_t from, const void *x,
	cudnnTensorDescriptor_t to, void *y, void *mask, size_t mask_bytes)
{
	struct sg_shape mask_shape;
	const struct sg_shape *shapes[3];

	if (handle == NULL || dropout == NULL || !dropout->set || from == NULL || x == NULL || to == NULL ||
		y == NULL || mask == NULL || from->shape.ndims == 0 ||
		!sg_shape_same_dims(&from->shape, &to->shape) || from->shape.type != to->shape.type)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(from->shape.type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	memset(job, 0, sizeof(*job));
	job->count = sg_shape_count(&from->shape);
	if (mask_bytes < (size_t)job->count)
		return CUDNN_STATUS_BAD_PARAM;
	job->is_double = from->shape.type == CUDNN_DATA_DOUBLE;
	job->dropout = dropout->dropout;
	job->states = dropout->states;
	job->base[0] = mask;
	job->base[1] = (void *)(uintptr_t)x;
	job->base[2] = y;
	sg_shape_pack(&mask_shape, CUDNN_DATA_BOOLEAN, CUDNN_TENSOR_NCHW, from->shape.ndims, from->shape.dim);
	shapes[0] = &mask_shape;
	shapes[1] = &from->shape;
	shapes[2] = &to->shape;
	sg_loop_init(&job->loop, &to->shape, 3, shapes);
	*cost = sg_cost_elements(SG_FLOPS_ONE, false, 3, shapes);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
	const cudnnTensorDescriptor_t xdesc, const void *x, const cudnnTensorDescriptor_t ydesc, void *y,
	void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
	struct dropout_job job;
	struct sg_cost cost;
	cudnnStatus_t status;

	SG_ENTER();
	status = fill_job(
		&job, &cost, handle, dropoutDesc, xdesc, x, ydesc, y, reserveSpace, reserveSpaceSizeInBytes);
	if (status == CUDNN_STATUS_SUCCESS && job.states == NULL)
		status = CUDNN_STATUS_BAD_PARAM;
	return status == CUDNN_STATUS_SUCCESS ? sg_cudnn_submit(handle, &cost, run_forward, &job, sizeof(job))
					      : status;
}

cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
	const cudnnTensorDescriptor_t dydesc, const void *dy, const cudnnTensorDescriptor_t dxdesc, void *dx,
	void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
	struct dropout_job job;
	struct sg_cost cost;
	cudnnStatus_t status;

	SG_ENTER();
	status = fill_job(&job, &cost, handle, dropoutDesc, dydesc, dy, dxdesc, dx, reserveSpace,
		reserveSpaceSizeInBytes);
	return status == CUDNN_STATUS_SUCCESS
		       ? sg_cudnn_submit(handle, &cost, run_backward, &job, sizeof(job))
		       : status;
}
