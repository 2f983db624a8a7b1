/*
 * The backend's operations that only attention has: softmax, the mask of a band along the diagonal, random
 * numbers for dropout, keys and values in pages.
 *
 * The one idea: a score's place is its index in each dimension of a tensor (batch, heads, queries, keys); all
 * that depends on a sequence's length asks sg_length_at for it.
 */
#include "backend.h"

#include "cost.h"

#include <math.h>
#include <string.h>

#define LOG2_E 1.4426950408889634

static inline float *at4(
	const struct sg_operands *operands, int role, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const struct sg_shape *shape = operands->shape[role];

	/* What has size 1 is repeated. */
	return operands->data[role] + (shape->dim[0] > 1 ? a * shape->stride[0] : 0) +
	       (shape->dim[1] > 1 ? b * shape->stride[1] : 0) +
	       (shape->dim[2] > 1 ? c * shape->stride[2] : 0) +
	       (shape->dim[3] > 1 ? d * shape->stride[3] : 0);
}

/* Scalars may have fewer. */
static bool all_have_four_dims(const struct sg_body *op, int roles)
{
	for (int role = 0; role < roles; role++) {
		const struct sg_shape *shape = op->kind->rules[role].of == CUDNN_BACKEND_TENSOR_DESCRIPTOR
						       ? sg_body_shape(op, role)
						       : NULL;

		if (shape != NULL && shape->ndims != 4 && sg_shape_count(shape) != 1)
			return false;
	}
	return true;
}

int64_t sg_length_at(
	const struct sg_operands *operands, int role, int64_t batch, int batches, int64_t otherwise)
{
	const struct sg_shape *shape = operands->shape[role];
	const float *data = operands->data[role];
	int64_t length;

	if (data == NULL)
		return otherwise;
	if (shape->dim[0] == batches + 1)
		length = (int64_t)(data[(batch + 1) * shape->stride[0]] - data[batch * shape->stride[0]]);
	else
		length = (int64_t)data[shape->dim[0] > 1 ? batch * shape->stride[0] : 0];
	return length < 0 ? 0 : length > otherwise ? otherwise : length;
}

/* ---- softmax ---- */

cudnnStatus_t sg_softmax_op_finalize(struct sg_body *op)
{
	const struct sg_shape *x = sg_body_shape(op, SG_SOFTMAX_X), *y = sg_body_shape(op, SG_SOFTMAX_Y);

	if (!all_have_four_dims(op, op->kind->rule_count) || !sg_shape_same_dims(x, y))
		return CUDNN_STATUS_BAD_PARAM;
	for (int role = SG_SOFTMAX_STATS; role <= SG_SOFTMAX_SUM; role++) {
		const struct sg_shape *row = sg_body_shape(op, role);

		if (row != NULL && (row->dim[0] != x->dim[0] || row->dim[1] != x->dim[1] ||
					   row->dim[2] != x->dim[2] || row->dim[3] != 1))
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_SUCCESS;
}

static void put_row(const struct sg_operands *operands, int role, const int *at, double value)
{
	if (operands->data[role] != NULL)
		*at4(operands, role, at[0], at[1], at[2], 0) = (float)value;
}

/* A row that the masks leave nothing of is zeros. */
static void soften_row(
	const struct sg_step *step, const struct sg_operands *operands, const int *at, int64_t keys)
{
	const struct sg_shape *x = operands->shape[SG_SOFTMAX_X];
	const float *sink = operands->data[SG_SOFTMAX_SINK];
	float largest = sink != NULL ? *at4(operands, SG_SOFTMAX_SINK, at[0], at[1], at[2], 0) : -INFINITY;
	double sum = 0, stats;

	for (int64_t j = 0; j < keys; j++) {
		float score = *at4(operands, SG_SOFTMAX_X, at[0], at[1], at[2], j);

		largest = score > largest ? score : largest;
	}
	if (sink != NULL)
		sum = exp((double)(*at4(operands, SG_SOFTMAX_SINK, at[0], at[1], at[2], 0) - largest));
	for (int64_t j = 0; j < keys; j++) {
		float *y = at4(operands, SG_SOFTMAX_Y, at[0], at[1], at[2], j);

		*y = largest == -INFINITY
			     ? 0
			     : expf(*at4(operands, SG_SOFTMAX_X, at[0], at[1], at[2], j) - largest);
		sum += (double)*y;
	}
	for (int64_t j = 0; j < x->dim[3]; j++) {
		float *y = at4(operands, SG_SOFTMAX_Y, at[0], at[1], at[2], j);

		*y = j < keys && sum > 0 ? (float)((double)*y / sum) : 0;
	}
	stats = sum > 0 ? (double)largest + log(sum) : -INFINITY;
	put_row(operands, SG_SOFTMAX_STATS, at, step->by.is_log2 ? stats * LOG2_E : stats);
	put_row(operands, SG_SOFTMAX_LARGEST, at, (double)largest);
	put_row(operands, SG_SOFTMAX_SUM, at, sum);
}

static int run_softmax(const struct sg_step *step, const struct sg_operands *operands)
{
	const int *dim = operands->shape[SG_SOFTMAX_X]->dim;

	for (int row = 0; row < dim[0] * dim[1] * dim[2]; row++) {
		const int at[] = {row / dim[2] / dim[1], row / dim[2] % dim[1], row % dim[2]};
		int64_t keys = sg_length_at(operands, SG_SOFTMAX_LENGTH_KV, at[0], dim[0], dim[3]);

		if (at[2] >= sg_length_at(operands, SG_SOFTMAX_LENGTH_Q, at[0], dim[0], dim[2]))
			keys = 0;
		soften_row(step, operands, at, keys);
	}
	return 0;
}

cudnnStatus_t sg_softmax_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	step->run = run_softmax;
	step->kind = SG_STEP_EXPONENTIAL;
	step->cost = sg_build_elements(build, step, SG_SOFTMAX_X, SG_FLOPS_SOFTMAX);
	step->by.is_log2 = sg_body_int(op, SG_SOFTMAX_LOG2) != 0;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- the band along the diagonal ---- */

cudnnStatus_t sg_band_op_finalize(struct sg_body *op)
{
	int64_t mode = sg_body_int(op, SG_BAND_COMPARISON);

	if (!all_have_four_dims(op, op->kind->rule_count) ||
		!sg_shape_same_dims(sg_body_shape(op, SG_BAND_X), sg_body_shape(op, SG_BAND_Y)))
		return CUDNN_STATUS_BAD_PARAM;
	if (sg_body_at(op, SG_BAND_LEFT, 0) != NULL && sg_body_at(op, SG_BAND_RIGHT, 0) != NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return mode == CUDNN_POINTWISE_CMP_GE || mode == CUDNN_POINTWISE_CMP_GT ? CUDNN_STATUS_SUCCESS
										: CUDNN_STATUS_BAD_PARAM;
}

/* The difference in lengths where they are given, which puts the diagonal at the end of both sequences. */
static double band_shift(const struct sg_operands *operands, int64_t batch)
{
	const struct sg_shape *x = operands->shape[SG_BAND_X];
	double shift = 0;

	for (int i = 0; i < 2; i++) {
		int q = i == 0 ? SG_BAND_LENGTH_Q : SG_BAND_SUM_Q;
		int kv = i == 0 ? SG_BAND_LENGTH_KV : SG_BAND_SUM_KV;

		shift += (double)sg_length_at(operands, kv, batch, x->dim[0], INT32_MAX) *
			 (operands->data[kv] != NULL);
		shift -= (double)sg_length_at(operands, q, batch, x->dim[0], INT32_MAX) *
			 (operands->data[q] != NULL);
	}
	return shift;
}

static int run_band(const struct sg_step *step, const struct sg_operands *operands)
{
	const int *dim = operands->shape[SG_BAND_X]->dim;
	bool is_left = operands->data[SG_BAND_LEFT] != NULL;
	double bound = is_left                                 ? (double)operands->data[SG_BAND_LEFT][0]
		       : operands->data[SG_BAND_RIGHT] != NULL ? (double)operands->data[SG_BAND_RIGHT][0]
							       : 0;

	for (int64_t row = 0; row < (int64_t)dim[0] * dim[1] * dim[2]; row++) {
		int64_t i = row % dim[2], b = row / dim[2] % dim[1], a = row / dim[2] / dim[1];
		double shift = band_shift(operands, a);

		for (int64_t j = 0; j < dim[3]; j++) {
			double inside =
				is_left ? (double)(j - i) + bound - shift : (double)(i - j) + bound + shift;
			bool keeps = step->by.comparison == CUDNN_POINTWISE_CMP_GE ? inside >= 0 : inside > 0;

			*at4(operands, SG_BAND_Y, a, b, i, j) =
				*at4(operands, keeps ? SG_BAND_X : SG_BAND_OTHERWISE, a, b, i, j);
		}
	}
	return 0;
}

cudnnStatus_t sg_band_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	step->run = run_band;
	step->kind = SG_STEP_BAND;
	step->cost = sg_build_elements(build, step, SG_BAND_Y, SG_FLOPS_ONE);
	step->by.comparison = (cudnnPointwiseMode_t)sg_body_int(op, SG_BAND_COMPARISON);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- random numbers ---- */

static uint64_t whole_at(const struct sg_operands *operands, int role)
{
	int64_t wide = 0;
	int32_t narrow = 0;

	if (operands->stored[role] == NULL)
		return 0;
	if (sg_type_bytes(operands->type[role]) == sizeof(wide)) {
		memcpy(&wide, operands->stored[role], sizeof(wide));
		return (uint64_t)wide;
	}
	memcpy(&narrow, operands->stored[role], sizeof(narrow));
	return (uint64_t)narrow;
}

/* An element's number depends on seed, offset and its index alone, so that backward draws forward's. */
static int run_rng(const struct sg_step *step, const struct sg_operands *operands)
{
	const int *dim = operands->shape[SG_RNG_OP_Y]->dim;
	uint64_t seed = step->by.rng.has_seed ? step->by.rng.seed : whole_at(operands, SG_RNG_OP_SEED);
	uint64_t stream = sg_mix(seed ^ sg_mix(whole_at(operands, SG_RNG_OP_OFFSET)));

	for (int64_t i = 0; i < sg_shape_count(operands->shape[SG_RNG_OP_Y]); i++) {
		/* of 53 bits, as a double has */
		double drawn = (double)(sg_mix(stream + (uint64_t)i) >> 11) * 0x1p-53;

		*at4(operands, SG_RNG_OP_Y, i / dim[3] / dim[2] / dim[1], i / dim[3] / dim[2] % dim[1],
			i / dim[3] % dim[2], i % dim[3]) = drawn < step->by.rng.probability ? 1 : 0;
	}
	return 0;
}

cudnnStatus_t sg_rng_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	const struct sg_body *rng = sg_body_at(op, SG_RNG_OP_DESC, 0);

	step->run = run_rng;
	step->cost = sg_build_elements(build, step, SG_RNG_OP_Y, SG_FLOPS_ONE);
	step->by.rng.has_seed = op->value[SG_RNG_OP_FIXED_SEED].count > 0;
	if (step->by.rng.has_seed)
		step->by.rng.seed = (uint64_t)sg_body_int(op, SG_RNG_OP_FIXED_SEED);
	if (sg_body_int(rng, SG_RNG_DISTRIBUTION) != CUDNN_RNG_DISTRIBUTION_BERNOULLI ||
		rng->value[SG_RNG_PROBABILITY].count == 0 || sg_body_shape(op, SG_RNG_OP_Y)->ndims != 4)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->by.rng.probability = sg_body_real(rng, SG_RNG_PROBABILITY);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- pages ---- */

/* Keys come with their last two dimensions exchanged, which the strides tell. */
static bool is_turned(const struct sg_shape *y)
{
	return y->stride[2] == 1 && y->stride[3] != 1;
}

cudnnStatus_t sg_paged_op_finalize(struct sg_body *op)
{
	const struct sg_shape *from = sg_body_shape(op, SG_PAGED_CONTAINER),
			      *y = sg_body_shape(op, SG_PAGED_Y);
	const struct sg_shape *table = sg_body_shape(op, SG_PAGED_TABLE);
	int width, length;

	if (!all_have_four_dims(op, op->kind->rule_count))
		return CUDNN_STATUS_BAD_PARAM;
	width = is_turned(y) ? y->dim[2] : y->dim[3];
	length = is_turned(y) ? y->dim[3] : y->dim[2];
	return from->dim[1] == y->dim[1] && from->dim[3] == width && table->dim[0] == y->dim[0] &&
			       (int64_t)table->dim[2] * from->dim[2] >= length
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

/* After a sequence's end there are zeros, and numbers of pages that mean nothing. */
static int run_paged(const struct sg_step *step, const struct sg_operands *operands)
{
	const struct sg_shape *from = operands->shape[SG_PAGED_CONTAINER], *y = operands->shape[SG_PAGED_Y];
	bool turned = is_turned(y);
	int length = turned ? y->dim[3] : y->dim[2], width = turned ? y->dim[2] : y->dim[3];

	(void)step;
	for (int64_t row = 0; row < (int64_t)y->dim[0] * y->dim[1] * length; row++) {
		int64_t at = row % length, head = row / length % y->dim[1], batch = row / length / y->dim[1];
		bool is_there = at < sg_length_at(operands, SG_PAGED_LENGTH, batch, y->dim[0], length);
		int64_t page = (int64_t)*at4(operands, SG_PAGED_TABLE, batch, 0, at / from->dim[2], 0);

		if (is_there && (page < 0 || page >= from->dim[0]))
			return -1;
		for (int64_t c = 0; c < width; c++)
			*at4(operands, SG_PAGED_Y, batch, head, turned ? c : at, turned ? at : c) =
				is_there
					? *at4(operands, SG_PAGED_CONTAINER, page, head, at % from->dim[2], c)
					: 0;
	}
	return 0;
}

cudnnStatus_t sg_paged_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	(void)op;
	step->run = run_paged;
	step->kind = SG_STEP_PAGES;
	step->cost = sg_build_elements(build, step, SG_PAGED_Y, SG_FLOPS_MOVE);
	return CUDNN_STATUS_SUCCESS;
}
