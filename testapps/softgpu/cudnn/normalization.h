/*
 * Between the batch normalisation calls and the computation.
 *
 * The one idea: batch normalisation per channel and per activation differ only in the shape of the
 * parameters, which is broadcast over the data.
 */
#ifndef CUDNN_NORMALIZATION_H
#define CUDNN_NORMALIZATION_H

#include "cudnn_private.h"

#pragma GCC visibility push(hidden)

enum sg_norm_kind { SG_NORM_TRAINING, SG_NORM_INFERENCE, SG_NORM_BACKWARD };

/*
 * One normalisation, as work for a stream. Parameters have the shape `params` (inference: any strides, else
 * packed). Forward: y = alpha * f(scale * (x - mean) / sqrt(variance + epsilon) + bias + z) + beta * y, f
 * being ReLU or nothing.
 */
struct sg_norm_job {
	enum sg_norm_kind kind;
	int device;
	bool adds;  /* z, and dz when backward */
	bool clips; /* ReLU; the mask says what was kept */
	double alpha, beta;
	double alpha_params, beta_params; /* backward: of dscale and dbias */
	double epsilon;
	double average_factor;
	struct sg_shape params;
	struct sg_shape x_shape, y_shape, z_shape; /* backward: y is dy, z is dz */
	struct sg_shape dx_shape;
	const void *x, *scale, *bias;
	void *y, *z; /* backward: dy (only read), dz; forward: z only read */
	void *dx, *dscale, *dbias;
	void *mean, *variance; /* running (NULL: not wanted) or, for inference, to normalise with */
	void *saved_mean,
		*saved_variance; /* 1 / sqrt(variance + epsilon); NULL: not wanted, or to be computed again */
	unsigned char *mask;     /* packed, a byte per element; NULL unless clips and training or backward */
};

/* The parameters' shape for data of shape x; spatial: one per channel. */
void sg_norm_params_shape(const struct sg_shape *x, bool spatial, struct sg_shape *params);

/* Runs a job on the calling thread (a worker); arg is a struct sg_norm_job. */
void sg_norm_run(void *arg);
/* The same for data of 16 bits with parameters of single precision (normalization_half.c). */
void sg_norm_run_half(void *arg);

/*
 * Checks what all jobs have in common and submits. BAD_PARAM where shapes or pointers do not fit together.
 */
cudnnStatus_t sg_norm_submit(cudnnHandle_t handle, struct sg_norm_job *job, bool spatial);

#pragma GCC visibility pop

#endif
