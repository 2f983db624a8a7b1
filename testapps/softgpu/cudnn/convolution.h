/*
 * Between the calls that compute convolutions and those that choose an algorithm.
 *
 * The one idea: all algorithms are one computation with one result; they differ in which cases they accept
 * and in whose memory is used for intermediate values, as the vendor's do.
 */
#ifndef CUDNN_CONVOLUTION_H
#define CUDNN_CONVOLUTION_H

#include "convolution_plan.h"

#pragma GCC visibility push(hidden)

/* Work for a stream: one convolution. */
struct sg_convolution_job {
	struct sg_convolution_plan *plan;
	void *tensor[SG_CONVOLUTION_TENSORS];
	void *workspace; /* NULL: the worker's scratch memory */
	double alpha;
	double beta;
	int device;
};

/*
 * Checks that descriptors fit together (BAD_PARAM) and are of a kind we compute (NOT_SUPPORTED), and finds
 * the plan. Any of the descriptors may be NULL, which is BAD_PARAM.
 */
cudnnStatus_t sg_convolution_prepare(enum sg_convolution_kind kind, const struct cudnnConvolutionStruct *conv,
	const struct cudnnTensorStruct *x, const struct cudnnFilterStruct *w,
	const struct cudnnTensorStruct *y, struct sg_convolution_plan **plan);

/* What a run of the plan costs; `adds`: the output is read too. */
struct sg_cost sg_convolution_cost(
	const struct cudnnConvolutionStruct *conv, const struct sg_convolution_plan *plan, bool adds);

/* Whether an algorithm (of the kind's enumeration) accepts the case; BAD_PARAM for a number that is none. */
cudnnStatus_t sg_convolution_algorithm_status(enum sg_convolution_kind kind, int algorithm,
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w);

/* The algorithm at a place of the kind's list, the best first; -1 after the last. */
int sg_convolution_algorithm_at(enum sg_convolution_kind kind, int place);

/* What the caller must provide for the algorithm. */
size_t sg_convolution_workspace_bytes(
	enum sg_convolution_kind kind, int algorithm, const struct sg_convolution_plan *plan);

/* Runs a job on the calling thread (a worker). */
void sg_convolution_run(const struct sg_convolution_job *job);

#pragma GCC visibility pop

#endif
