/*
 * Normalisation of data of 16 bits, whose parameters are floats.
 *
 * The one idea: the data are widened into floats, the ordinary job runs on these, and what it wrote is
 * narrowed again: rounded once, as a device does that accumulates in single precision.
 */
#include "normalization.h"

#include "core/half.h"

#include <stdlib.h>

static void widen_half(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const uint16_t *from = at[0];
	float *to = at[1];

	(void)context;
	for (int64_t i = 0; i < n; i++)
		to[i * step[1]] = sg_float_from_half(from[i * step[0]]);
}

static void widen_bfloat(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const uint16_t *from = at[0];
	float *to = at[1];

	(void)context;
	for (int64_t i = 0; i < n; i++)
		to[i * step[1]] = sg_float_from_bfloat(from[i * step[0]]);
}

static void narrow_half(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	uint16_t *to = at[0];
	const float *from = at[1];

	(void)context;
	for (int64_t i = 0; i < n; i++)
		to[i * step[0]] = sg_half_from_float(from[i * step[1]]);
}

static void narrow_bfloat(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	uint16_t *to = at[0];
	const float *from = at[1];

	(void)context;
	for (int64_t i = 0; i < n; i++)
		to[i * step[0]] = sg_bfloat_from_float(from[i * step[1]]);
}

/* One operand of the job: its shape and the caller's data, and the floats in their place. */
struct operand {
	struct sg_shape narrow, wide;
	void *data;
	float *floats;
};

static void convert(const struct operand *operand, sg_row *half, sg_row *bfloat)
{
	const struct sg_shape *shapes[] = {&operand->narrow, &operand->wide};
	void *base[] = {operand->data, operand->floats};
	struct sg_loop loop;

	sg_loop_init(&loop, &operand->narrow, 2, shapes);
	sg_loop_run(&loop, base, operand->narrow.type == CUDNN_DATA_HALF ? half : bfloat, NULL);
}

/* Makes floats of the operand at *data; where there is none, does nothing. */
static int widen(struct operand *operand, struct sg_shape *shape, void **data)
{
	if (*data == NULL)
		return 0;
	operand->narrow = *shape;
	operand->data = *data;
	sg_shape_pack(&operand->wide, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, shape->ndims, shape->dim);
	operand->floats = malloc((size_t)sg_shape_count(&operand->wide) * sizeof(float));
	if (operand->floats == NULL)
		return -1;
	convert(operand, widen_half, widen_bfloat);
	*shape = operand->wide;
	*data = operand->floats;
	return 0;
}

static void narrow(struct operand *operand)
{
	if (operand->floats != NULL)
		convert(operand, narrow_half, narrow_bfloat);
}

void sg_norm_run_half(void *arg)
{
	struct sg_norm_job job = *(const struct sg_norm_job *)arg;
	struct operand x = {.floats = NULL}, y = x, z = x, dx = x;
	void *x_data = (void *)(uintptr_t)job.x;

	if (widen(&x, &job.x_shape, &x_data) != 0 || widen(&y, &job.y_shape, &job.y) != 0 ||
		(job.adds && widen(&z, &job.z_shape, &job.z) != 0) ||
		widen(&dx, &job.dx_shape, &job.dx) != 0) {
		sg_async_error(job.device, cudaErrorMemoryAllocation);
	} else {
		job.x = x_data;
		sg_norm_run(&job);
		if (job.kind == SG_NORM_BACKWARD) {
			narrow(&dx);
			narrow(&z);
		} else {
			narrow(&y);
		}
	}
	free(x.floats);
	free(y.floats);
	free(z.floats);
	free(dx.floats);
}
