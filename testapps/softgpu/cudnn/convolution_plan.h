/*
 * A convolution that oneDNN has been prepared for: made once for a set of shapes, run many times.
 *
 * The one idea: oneDNN is fastest with channels last and with its own filter layout, so a plan holds the
 * convolution in those layouts and the conversions from and to the caller's tensors.
 */
#ifndef CUDNN_CONVOLUTION_PLAN_H
#define CUDNN_CONVOLUTION_PLAN_H

#include "cudnn_private.h"

#pragma GCC visibility push(hidden)

enum sg_convolution_kind {
	SG_CONVOLUTION_FORWARD,
	SG_CONVOLUTION_BACKWARD_DATA,
	SG_CONVOLUTION_BACKWARD_FILTER
};

/* Input x, filter w and output y of the forward convolution, or their gradients. */
enum sg_convolution_tensor { SG_CONVOLUTION_X, SG_CONVOLUTION_W, SG_CONVOLUTION_Y, SG_CONVOLUTION_TENSORS };

/* What a plan depends on. Compared byte by byte: clear it before filling it in. */
struct sg_convolution_key {
	enum sg_convolution_kind kind;
	int threads;
	int groups;
	int flips; /* 1: a convolution in the mathematical sense, the filter turned round */
	int pad[SG_DIMS_MAX];
	int stride[SG_DIMS_MAX];
	int dilation[SG_DIMS_MAX];
	struct sg_shape shape[SG_CONVOLUTION_TENSORS];
};

struct sg_convolution_plan;

/*
 * The plan for a key, made on the first request and kept for the life of the process. Any thread. NULL when
 * oneDNN cannot do it or there is no memory. Does not compile anything yet: that happens in the first run.
 * Where nothing will be computed (sg_numerics() is 0) oneDNN is not asked, and the plan cannot be run.
 */
struct sg_convolution_plan *sg_convolution_plan_get(const struct sg_convolution_key *key);

/* What it was made for; lives as long as the plan. */
const struct sg_convolution_key *sg_convolution_plan_key(const struct sg_convolution_plan *plan);

/* Memory a run needs, aligned to 64 bytes. */
size_t sg_convolution_plan_scratch_bytes(const struct sg_convolution_plan *plan);

/*
 * Computes the tensor that is the output of the plan's kind from the two others: out = alpha * result + beta
 * * out. Several threads may run one plan at once, each with its own scratch. 0, or -1 when oneDNN failed.
 */
int sg_convolution_plan_run(struct sg_convolution_plan *plan, void *const tensor[SG_CONVOLUTION_TENSORS],
	void *scratch, double alpha, double beta);

/* Forward only, into the scratch memory: *result lies there with the shape *shape. */
int sg_convolution_plan_run_to_scratch(struct sg_convolution_plan *plan,
	void *const tensor[SG_CONVOLUTION_TENSORS], void *scratch, void **result,
	const struct sg_shape **shape);

#pragma GCC visibility pop

#endif
