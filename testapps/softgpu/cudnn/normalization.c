/*
 * Batch normalisation: training, inference, gradients.
 *
 * The one idea: sums over the batch are walks whose accumulators are broadcast tensors (step 0 along what is
 * summed), so one set of rows serves NCHW and NHWC, per channel and per activation, in two or three spatial
 * dimensions.
 */
#include "normalization.h"

#include "cost.h"

#include <math.h>
#include <string.h>

SG_VECTORIZE_LOOPS

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
#include "normalization.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "normalization.inc"

/* The shapes of operands that are not the caller's. */
struct own_shapes {
	struct sg_shape sums; /* double, packed */
	struct sg_shape mask; /* a byte per element, packed; one byte for all when there is no mask */
};

void sg_norm_params_shape(const struct sg_shape *x, bool spatial, struct sg_shape *params)
{
	int dim[SG_DIMS_MAX];

	for (int d = 0; d < x->ndims; d++)
		dim[d] = d == 1 || (d > 1 && !spatial) ? x->dim[d] : 1;
	sg_shape_pack(params, x->type, CUDNN_TENSOR_NCHW, x->ndims, dim);
}

static struct own_shapes own_shapes(const struct sg_norm_job *job)
{
	static const int one[SG_DIMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
	struct own_shapes own;

	sg_shape_pack(&own.sums, CUDNN_DATA_DOUBLE, CUDNN_TENSOR_NCHW, job->params.ndims, job->params.dim);
	sg_shape_pack(&own.mask, CUDNN_DATA_BOOLEAN, CUDNN_TENSOR_NCHW, job->x_shape.ndims,
		job->mask != NULL ? job->x_shape.dim : one);
	return own;
}

static void walk(const struct sg_norm_job *job, int count, const struct sg_shape *const *shapes,
	void *const *base, sg_row *row)
{
	struct sg_loop loop;

	sg_loop_init(&loop, &job->x_shape, count, shapes);
	sg_loop_run(&loop, base, row, job);
}

static bool is_double(const struct sg_norm_job *job)
{
	return job->x_shape.type == CUDNN_DATA_DOUBLE;
}

static double samples_per_parameter(const struct sg_norm_job *job)
{
	return (double)sg_shape_count(&job->x_shape) / (double)sg_shape_count(&job->params);
}

/* Mean and biased variance over the batch. */
static void compute_statistics(const struct sg_norm_job *job, int64_t count, double *mean, double *variance)
{
	struct own_shapes own = own_shapes(job);
	double samples = samples_per_parameter(job);

	memset(mean, 0, (size_t)count * sizeof(*mean));
	memset(variance, 0, (size_t)count * sizeof(*variance));
	walk(job, 2, (const struct sg_shape *const[]){&own.sums, &job->x_shape},
		(void *const[]){mean, sg_unconst(job->x)}, is_double(job) ? row_sum_f64 : row_sum_f32);
	for (int64_t p = 0; p < count; p++)
		mean[p] /= samples;
	walk(job, 3, (const struct sg_shape *const[]){&own.sums, &own.sums, &job->x_shape},
		(void *const[]){variance, mean, sg_unconst(job->x)},
		is_double(job) ? row_squares_f64 : row_squares_f32);
	for (int64_t p = 0; p < count; p++)
		variance[p] /= samples;
}

static void run_training(const struct sg_norm_job *job, int64_t count, double *scratch)
{
	unsigned char no_mask = 1;
	struct own_shapes own = own_shapes(job);
	double *mean = scratch;
	double *variance = scratch + count;
	double *factor = scratch + 2 * count;
	double *shift = scratch + 3 * count;
	const struct sg_shape *z_shape = job->adds ? &job->z_shape : &job->x_shape;
	double samples = samples_per_parameter(job);

	compute_statistics(job, count, mean, variance);
	if (is_double(job))
		finish_statistics_f64(job, count, samples, mean, variance, factor, shift);
	else
		finish_statistics_f32(job, count, samples, mean, variance, factor, shift);
	walk(job, 6,
		(const struct sg_shape *const[]){
			&own.sums, &own.sums, z_shape, &own.mask, &job->x_shape, &job->y_shape},
		(void *const[]){factor, shift, job->adds ? job->z : sg_unconst(job->x),
			job->mask != NULL ? job->mask : &no_mask, sg_unconst(job->x), job->y},
		is_double(job) ? row_apply_f64 : row_apply_f32);
}

static void run_inference(const struct sg_norm_job *job)
{
	const struct sg_shape *params = &job->params;
	const struct sg_shape *z_shape = job->adds ? &job->z_shape : &job->x_shape;

	walk(job, 7,
		(const struct sg_shape *const[]){
			params, params, params, params, z_shape, &job->x_shape, &job->y_shape},
		(void *const[]){sg_unconst(job->scale), sg_unconst(job->bias), job->mean, job->variance,
			job->adds ? job->z : sg_unconst(job->x), sg_unconst(job->x), job->y},
		is_double(job) ? row_infer_f64 : row_infer_f32);
}

static void run_backward(const struct sg_norm_job *job, int64_t count, double *scratch)
{
	unsigned char no_mask = 1;
	void *mask = job->mask != NULL ? job->mask : &no_mask;
	struct own_shapes own = own_shapes(job);
	double *mean = scratch;
	double *inverse = scratch + count;
	double *sum = scratch + 2 * count;
	double *product = scratch + 3 * count;
	double *by_dy = scratch + 4 * count;
	double samples = samples_per_parameter(job);

	if (job->saved_mean == NULL) {
		compute_statistics(job, count, mean, inverse);
		for (int64_t p = 0; p < count; p++)
			inverse[p] = 1 / sqrt(inverse[p] + job->epsilon);
	} else if (is_double(job)) {
		load_saved_f64(job, count, mean, inverse);
	} else {
		load_saved_f32(job, count, mean, inverse);
	}
	memset(sum, 0, (size_t)count * sizeof(*sum));
	memset(product, 0, (size_t)count * sizeof(*product));
	walk(job, 6,
		(const struct sg_shape *const[]){
			&own.sums, &own.sums, &own.sums, &own.mask, &job->y_shape, &job->x_shape},
		(void *const[]){sum, product, mean, mask, job->y, sg_unconst(job->x)},
		is_double(job) ? row_gradient_sums_f64 : row_gradient_sums_f32);
	if (is_double(job))
		finish_gradients_f64(job, count, samples, mean, inverse, sum, product, by_dy);
	else
		finish_gradients_f32(job, count, samples, mean, inverse, sum, product, by_dy);
	/* dz before dx, which may lie where dy does. */
	if (job->adds)
		walk(job, 3, (const struct sg_shape *const[]){&own.mask, &job->y_shape, &job->z_shape},
			(void *const[]){mask, job->y, job->z},
			is_double(job) ? row_masked_f64 : row_masked_f32);
	walk(job, 7,
		(const struct sg_shape *const[]){&own.sums, &own.sums, &own.sums, &own.mask, &job->y_shape,
			&job->x_shape, &job->dx_shape},
		(void *const[]){by_dy, product, sum, mask, job->y, sg_unconst(job->x), job->dx},
		is_double(job) ? row_gradient_f64 : row_gradient_f32);
}

void sg_norm_run(void *arg)
{
	const struct sg_norm_job *job = arg;
	int64_t count = sg_shape_count(&job->params);
	double *scratch;

	if (job->kind == SG_NORM_INFERENCE) {
		run_inference(job);
		return;
	}
	scratch = sg_scratch(5 * (size_t)count * sizeof(double));
	if (scratch == NULL)
		sg_async_error(job->device, cudaErrorMemoryAllocation);
	else if (job->kind == SG_NORM_TRAINING)
		run_training(job, count, scratch);
	else
		run_backward(job, count, scratch);
}

static bool pointers_fit(const struct sg_norm_job *job)
{
	if (job->x == NULL || job->y == NULL || job->scale == NULL || (job->adds && job->z == NULL))
		return false;
	if ((job->mean == NULL) != (job->variance == NULL) ||
		(job->saved_mean == NULL) != (job->saved_variance == NULL))
		return false;
	if (job->clips && job->kind != SG_NORM_INFERENCE && job->mask == NULL)
		return false;
	if (job->kind == SG_NORM_BACKWARD)
		return job->dx != NULL && job->dscale != NULL && job->dbias != NULL;
	return job->bias != NULL && (job->kind == SG_NORM_TRAINING || job->mean != NULL);
}

cudnnStatus_t sg_norm_submit(cudnnHandle_t handle, struct sg_norm_job *job, bool spatial)
{
	const struct sg_shape *x = &job->x_shape;
	struct sg_shape expected;
	struct sg_cost cost;
	bool half = x->type == CUDNN_DATA_HALF || x->type == CUDNN_DATA_BFLOAT16;

	if (handle == NULL || !pointers_fit(job) || x->ndims < 4 || x->ndims > 5 ||
		!(job->epsilon >= CUDNN_BN_MIN_EPSILON))
		return CUDNN_STATUS_BAD_PARAM;
	sg_norm_params_shape(x, spatial, &expected);
	if (!sg_shape_same_dims(&job->params, &expected) || !sg_shape_same_dims(x, &job->y_shape) ||
		x->type != job->y_shape.type)
		return CUDNN_STATUS_BAD_PARAM;
	if (job->adds && (!sg_shape_same_dims(x, &job->z_shape) || x->type != job->z_shape.type))
		return CUDNN_STATUS_BAD_PARAM;
	if (job->kind == SG_NORM_BACKWARD &&
		(!sg_shape_same_dims(x, &job->dx_shape) || x->type != job->dx_shape.type))
		return CUDNN_STATUS_BAD_PARAM;
	if ((!half && !sg_type_is_real(x->type)) || job->params.type != (half ? CUDNN_DATA_FLOAT : x->type))
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (job->kind != SG_NORM_INFERENCE && !sg_shape_is_packed(&job->params))
		return CUDNN_STATUS_NOT_SUPPORTED;
	job->device = sg_stream_device(handle->stream);
	cost = sg_cost_norm(job);
	return sg_cudnn_submit(handle, &cost, half ? sg_norm_run_half : sg_norm_run, job, sizeof(*job));
}
