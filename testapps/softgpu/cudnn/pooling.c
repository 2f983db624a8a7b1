/*
 * Pooling: descriptors, forward and backward, 2-D and 3-D.
 *
 * The one idea: 2-D is 3-D with a depth of one. Where channels are neighbours in memory (NHWC) they are
 * handled side by side, else image planes are.
 */
#include "cost.h"
#include "cudnn_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SG_VECTORIZE_LOOPS

#define LANES 64

/* Modes that the project's own header leaves out. */
#define AVERAGE_WITH_PADDING ((cudnnPoolingMode_t)1)
#define AVERAGE_WITHOUT_PADDING ((cudnnPoolingMode_t)2)

/* Spatial arrays have three values, the first belonging to the depth; steps are in elements. */
struct pooling_job {
	bool is_max;
	bool counts_padding;
	bool is_backward;
	bool is_double;
	double alpha;
	double beta;
	int images;
	int channels;
	int window[3];
	int pad[3];
	int stride[3];
	int x_dim[3];
	int y_dim[3];
	int64_t x_image, x_channel, x_step[3];
	int64_t y_image, y_channel, y_step[3]; /* of y when forward, of dy when backward */
	int64_t dx_image, dx_channel, dx_step[3];
	const void *x;
	const void *dy;
	void *y;
	void *dx;
};

/* The part of a window that lies within the image, and how many values an average divides by in each
 * dimension. */
struct window {
	int begin[3];
	int end[3];
	int values[3];
};

static inline void place_window(const struct pooling_job *job, struct window *window, int d, int position)
{
	int first = position * job->stride[d] - job->pad[d];
	int last = first + job->window[d];

	window->begin[d] = first < 0 ? 0 : first;
	window->end[d] = last > job->x_dim[d] ? job->x_dim[d] : last;
	window->values[d] = job->counts_padding ? job->window[d] : window->end[d] - window->begin[d];
}

static inline int divisor_of(const struct window *window)
{
	return window->values[0] * window->values[1] * window->values[2];
}

#define REAL float
#define REAL_NAME(name) name##_f32
#include "pooling.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "pooling.inc"

static void run_pooling(void *arg)
{
	const struct pooling_job *job = arg;
	bool beside = job->x_channel == 1 && job->y_channel == 1 && !job->is_backward;
	int lanes_max = beside ? LANES : 1;

	for (int image = 0; image < job->images; image++) {
		for (int channel = 0; channel < job->channels; channel += lanes_max) {
			int rest = job->channels - channel;
			int lanes = rest < lanes_max ? rest : lanes_max;

			if (job->is_backward && job->is_double)
				pool_backward_f64(job, image, channel);
			else if (job->is_backward)
				pool_backward_f32(job, image, channel);
			else if (job->is_double)
				pool_forward_f64(job, image, channel, lanes);
			else
				pool_forward_f32(job, image, channel, lanes);
		}
	}
}

/* Dims (n, c, spatial) of what comes out. */
static cudnnStatus_t pooling_output(
	const struct cudnnPoolingStruct *pooling, const struct sg_shape *x, int *dim)
{
	if (pooling->nspatial == 0 || x->ndims != pooling->nspatial + 2)
		return CUDNN_STATUS_BAD_PARAM;
	dim[0] = x->dim[0];
	dim[1] = x->dim[1];
	for (int d = 0; d < pooling->nspatial; d++) {
		int room = x->dim[d + 2] + 2 * pooling->pad[d] - pooling->window[d];

		if (room < 0)
			return CUDNN_STATUS_BAD_PARAM;
		dim[d + 2] = room / pooling->stride[d] + 1;
	}
	return CUDNN_STATUS_SUCCESS;
}

SG_CREATE(cudnnCreatePoolingDescriptor, cudnnPoolingDescriptor_t)

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t poolingDesc)
{
	SG_ENTER();
	free(poolingDesc);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_pooling(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
	cudnnNanPropagation_t nan, int nspatial, const int *window, const int *pad, const int *stride)
{
	struct cudnnPoolingStruct made = {.mode = mode, .nan = nan, .nspatial = nspatial};

	if (pooling == NULL || window == NULL || pad == NULL || stride == NULL ||
		(int)mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC || nspatial < 1)
		return CUDNN_STATUS_BAD_PARAM;
	if (nspatial > SG_DIMS_MAX - 2)
		return CUDNN_STATUS_NOT_SUPPORTED;
	for (int d = 0; d < nspatial; d++) {
		if (window[d] < 1 || pad[d] < 0 || pad[d] >= window[d] || stride[d] < 1)
			return CUDNN_STATUS_BAD_PARAM;
		made.window[d] = window[d];
		made.pad[d] = pad[d];
		made.stride[d] = stride[d];
	}
	if (nspatial != 2 && nspatial != 3)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*pooling = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t mode,
	cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight, int windowWidth, int verticalPadding,
	int horizontalPadding, int verticalStride, int horizontalStride)
{
	const int window[] = {windowHeight, windowWidth};
	const int pad[] = {verticalPadding, horizontalPadding};
	const int stride[] = {verticalStride, horizontalStride};

	SG_ENTER();
	return set_pooling(poolingDesc, mode, maxpoolingNanOpt, 2, window, pad, stride);
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc, const cudnnPoolingMode_t mode,
	const cudnnNanPropagation_t maxpoolingNanOpt, int nbDims, const int windowDimA[],
	const int paddingA[], const int strideA[])
{
	SG_ENTER();
	return set_pooling(poolingDesc, mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA);
}

cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc,
	const cudnnTensorDescriptor_t inputTensorDesc, int *n, int *c, int *h, int *w)
{
	int dim[SG_DIMS_MAX];
	cudnnStatus_t status;

	SG_ENTER();
	if (poolingDesc == NULL || poolingDesc->nspatial != 2 || inputTensorDesc == NULL || n == NULL ||
		c == NULL || h == NULL || w == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = pooling_output(poolingDesc, &inputTensorDesc->shape, dim);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	*n = dim[0];
	*c = dim[1];
	*h = dim[2];
	*w = dim[3];
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc,
	const cudnnTensorDescriptor_t inputTensorDesc, int nbDims, int outputTensorDimA[])
{
	int dim[SG_DIMS_MAX];
	cudnnStatus_t status;

	SG_ENTER();
	if (poolingDesc == NULL || inputTensorDesc == NULL || outputTensorDimA == NULL ||
		nbDims != inputTensorDesc->shape.ndims)
		return CUDNN_STATUS_BAD_PARAM;
	status = pooling_output(poolingDesc, &inputTensorDesc->shape, dim);
	for (int d = 0; status == CUDNN_STATUS_SUCCESS && d < nbDims; d++)
		outputTensorDimA[d] = dim[d];
	return status;
}

/* Copies the spatial strides of a tensor after a depth of one where it has none. */
static void take_steps(const struct sg_shape *shape, int64_t *image, int64_t *channel, int64_t *step)
{
	int depth_missing = 5 - shape->ndims;

	*image = shape->stride[0];
	*channel = shape->stride[1];
	for (int d = depth_missing; d < 3; d++)
		step[d] = shape->stride[d + 2 - depth_missing];
}

static cudnnStatus_t fill_job(struct pooling_job *job, const struct cudnnPoolingStruct *pooling, double alpha,
	double beta, const struct sg_shape *x, const struct sg_shape *y)
{
	int dim[SG_DIMS_MAX];
	int missing;
	cudnnStatus_t status = pooling_output(pooling, x, dim);

	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (y->ndims != x->ndims || memcmp(dim, y->dim, (size_t)y->ndims * sizeof(*dim)) != 0 ||
		x->type != y->type)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(x->type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	job->is_max = pooling->mode != AVERAGE_WITH_PADDING && pooling->mode != AVERAGE_WITHOUT_PADDING;
	job->counts_padding = pooling->mode == AVERAGE_WITH_PADDING;
	job->is_double = x->type == CUDNN_DATA_DOUBLE;
	job->alpha = alpha;
	job->beta = beta;
	job->images = x->dim[0];
	job->channels = x->dim[1];
	missing = 3 - pooling->nspatial;
	for (int d = 0; d < 3; d++) {
		bool real = d >= missing;

		job->window[d] = real ? pooling->window[d - missing] : 1;
		job->pad[d] = real ? pooling->pad[d - missing] : 0;
		job->stride[d] = real ? pooling->stride[d - missing] : 1;
		job->x_dim[d] = real ? x->dim[d + 2 - missing] : 1;
		job->y_dim[d] = real ? y->dim[d + 2 - missing] : 1;
	}
	take_steps(x, &job->x_image, &job->x_channel, job->x_step);
	take_steps(y, &job->y_image, &job->y_channel, job->y_step);
	return CUDNN_STATUS_SUCCESS;
}

int sg_pooling_forward(const struct cudnnPoolingStruct *pooling, double alpha, const struct sg_shape *x_shape,
	const float *x, double beta, const struct sg_shape *y_shape, float *y)
{
	struct pooling_job job = {.x = x, .y = y};

	if (fill_job(&job, pooling, alpha, beta, x_shape, y_shape) != CUDNN_STATUS_SUCCESS)
		return -1;
	run_pooling(&job);
	return 0;
}

int sg_pooling_backward(const struct cudnnPoolingStruct *pooling, double alpha,
	const struct sg_shape *dy_shape, const float *dy, const struct sg_shape *x_shape, const float *x,
	double beta, const struct sg_shape *dx_shape, float *dx)
{
	struct pooling_job job = {.is_backward = true, .x = x, .dy = dy, .dx = dx};

	if (fill_job(&job, pooling, alpha, beta, x_shape, dy_shape) != CUDNN_STATUS_SUCCESS)
		return -1;
	take_steps(dx_shape, &job.dx_image, &job.dx_channel, job.dx_step);
	run_pooling(&job);
	return 0;
}

/* y: the output, or its gradient; the last of the operands is written. */
static cudnnStatus_t submit(cudnnHandle_t handle, const struct cudnnPoolingStruct *pooling,
	const struct pooling_job *job, const struct sg_shape *y, int count,
	const struct sg_shape *const *operands)
{
	struct sg_cost cost = sg_cost_vector(y->type, sg_cost_pooling_flops(pooling, y), count, operands);

	cost.bytes += job->beta != 0 ? sg_cost_bytes(operands[count - 1]) : 0;
	return sg_cudnn_submit(handle, &cost, run_pooling, job, sizeof(*job));
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
	const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
	const cudnnTensorDescriptor_t yDesc, void *y)
{
	struct pooling_job job = {.x = x, .y = y};
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL || poolingDesc == NULL || alpha == NULL || beta == NULL || xDesc == NULL ||
		yDesc == NULL || x == NULL || y == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_job(&job, poolingDesc, sg_factor(xDesc->shape.type, alpha),
		sg_factor(xDesc->shape.type, beta), &xDesc->shape, &yDesc->shape);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	return submit(handle, poolingDesc, &job, &yDesc->shape, 2,
		(const struct sg_shape *const[]){&xDesc->shape, &yDesc->shape});
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
	const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc,
	const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	struct pooling_job job = {.is_backward = true, .x = x, .dy = dy, .dx = dx};
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL || poolingDesc == NULL || alpha == NULL || beta == NULL || yDesc == NULL ||
		dyDesc == NULL || xDesc == NULL || dxDesc == NULL || y == NULL || dy == NULL || x == NULL ||
		dx == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_shape_same_dims(&yDesc->shape, &dyDesc->shape) ||
		!sg_shape_same_dims(&xDesc->shape, &dxDesc->shape) ||
		yDesc->shape.type != dyDesc->shape.type || xDesc->shape.type != dxDesc->shape.type)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_job(&job, poolingDesc, sg_factor(xDesc->shape.type, alpha),
		sg_factor(xDesc->shape.type, beta), &xDesc->shape, &dyDesc->shape);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	take_steps(&dxDesc->shape, &job.dx_image, &job.dx_channel, job.dx_step);
	return submit(handle, poolingDesc, &job, &dyDesc->shape, 4,
		(const struct sg_shape *const[]){
			&xDesc->shape, &yDesc->shape, &dyDesc->shape, &dxDesc->shape});
}
