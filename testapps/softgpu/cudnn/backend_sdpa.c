/*
 * Attention as one operation of the backend: o = softmax(scale * q * k') * v for each head, and its
 * gradients.
 *
 * The one idea: a head at a time with whole matrices of scores, by the plain formulas; q, k, v and o are
 * batch, heads, length, width, and heads of q share one of k and v where there are fewer of these. stats is
 * the logarithm of each row's sum of exponentials, from which backward computes the scores again.
 */
#include "backend.h"

#include "cost.h"

#include <math.h>

cudnnStatus_t sg_sdpa_finalize(struct sg_body *op)
{
	const struct sg_shape *q = sg_body_shape(op, SG_SDPA_Q), *k = sg_body_shape(op, SG_SDPA_K);
	const struct sg_shape *v = sg_body_shape(op, SG_SDPA_V), *o = sg_body_shape(op, SG_SDPA_O);

	if (q->ndims != 4 || k->ndims != 4 || v->ndims != 4 || o->ndims != 4)
		return CUDNN_STATUS_BAD_PARAM;
	if (q->dim[0] != k->dim[0] || q->dim[0] != v->dim[0] || q->dim[0] != o->dim[0] ||
		q->dim[1] != o->dim[1] || k->dim[1] != v->dim[1] || q->dim[1] % k->dim[1] != 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (q->dim[2] != o->dim[2] || k->dim[2] != v->dim[2] || q->dim[3] != k->dim[3] ||
		v->dim[3] != o->dim[3])
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

/* One head's matrix of a tensor: length by width. */
static struct sg_matrix head_of(const struct sg_operands *operands, int role, int batch, int head)
{
	const struct sg_shape *shape = operands->shape[role];
	int own = head / (operands->shape[SG_SDPA_Q]->dim[1] / shape->dim[1]);

	return (struct sg_matrix){operands->data[role] + batch * shape->stride[0] + own * shape->stride[1],
		shape->stride[2], shape->stride[3]};
}

static struct sg_matrix turned(struct sg_matrix matrix)
{
	return (struct sg_matrix){matrix.data, matrix.column, matrix.row};
}

static float scale_of(const struct sg_operands *operands)
{
	return operands->data[SG_SDPA_SCALE] != NULL ? operands->data[SG_SDPA_SCALE][0]
						     : 1 / sqrtf((float)operands->shape[SG_SDPA_Q]->dim[3]);
}

/* Turns a row of products into probabilities; the logarithm of the sum of exponentials is returned. */
static float soften(float *row, int64_t count, float scale)
{
	double sum = 0;
	float largest = -INFINITY;

	for (int64_t i = 0; i < count; i++) {
		row[i] *= scale;
		largest = row[i] > largest ? row[i] : largest;
	}
	for (int64_t i = 0; i < count; i++) {
		row[i] = expf(row[i] - largest);
		sum += (double)row[i];
	}
	for (int64_t i = 0; i < count; i++)
		row[i] = (float)((double)row[i] / sum);
	return largest + (float)log(sum);
}

static float *stats_at(const struct sg_operands *operands, int batch, int head, int64_t row)
{
	const struct sg_shape *stats = operands->shape[SG_SDPA_STATS];

	return operands->data[SG_SDPA_STATS] + batch * stats->stride[0] + head * stats->stride[1] +
	       row * stats->stride[2];
}

static int run_head(const struct sg_operands *operands, int batch, int head)
{
	int64_t rows = operands->shape[SG_SDPA_Q]->dim[2], keys = operands->shape[SG_SDPA_K]->dim[2];
	struct sg_matrix q = head_of(operands, SG_SDPA_Q, batch, head);
	struct sg_matrix k = turned(head_of(operands, SG_SDPA_K, batch, head));
	struct sg_matrix v = head_of(operands, SG_SDPA_V, batch, head);
	struct sg_matrix o = head_of(operands, SG_SDPA_O, batch, head);
	struct sg_matrix score = {operands->scratch, keys, 1};

	if (sg_multiply(rows, keys, operands->shape[SG_SDPA_Q]->dim[3], &q, &k, &score, false) != 0)
		return -1;
	for (int64_t i = 0; i < rows; i++) {
		float stats = soften(score.data + i * keys, keys, scale_of(operands));

		if (operands->data[SG_SDPA_STATS] != NULL)
			*stats_at(operands, batch, head, i) = stats;
	}
	return sg_multiply(rows, operands->shape[SG_SDPA_V]->dim[3], keys, &score, &v, &o, false);
}

/* With p the probabilities: dv += p' do, ds = p * (do v' - rowsum(do * o)) * scale, dq = ds k, dk += ds' q.
 */
static int run_head_backward(const struct sg_operands *operands, int batch, int head)
{
	int64_t rows = operands->shape[SG_SDPA_Q]->dim[2], keys = operands->shape[SG_SDPA_K]->dim[2];
	int64_t width = operands->shape[SG_SDPA_Q]->dim[3], v_width = operands->shape[SG_SDPA_V]->dim[3];
	struct sg_matrix q = head_of(operands, SG_SDPA_Q, batch, head),
			 k = head_of(operands, SG_SDPA_K, batch, head);
	struct sg_matrix v = head_of(operands, SG_SDPA_V, batch, head),
			 o = head_of(operands, SG_SDPA_O, batch, head);
	struct sg_matrix d_o = head_of(operands, SG_SDPA_DO, batch, head);
	struct sg_matrix dq = head_of(operands, SG_SDPA_DQ, batch, head);
	struct sg_matrix dk = head_of(operands, SG_SDPA_DK, batch, head);
	struct sg_matrix dv = head_of(operands, SG_SDPA_DV, batch, head);
	struct sg_matrix p = {operands->scratch, keys, 1}, ds = {p.data + rows * keys, keys, 1};
	struct sg_matrix k_turned = turned(k), v_turned = turned(v), p_turned = turned(p),
			 ds_turned = turned(ds);
	/* Heads that share one of k and v add to its gradients; the first sets them. */
	int sharing = operands->shape[SG_SDPA_Q]->dim[1] / operands->shape[SG_SDPA_K]->dim[1];
	bool adds = head % sharing != 0;
	float scale = scale_of(operands);

	if (sg_multiply(rows, keys, width, &q, &k_turned, &p, false) != 0 ||
		sg_multiply(rows, keys, v_width, &d_o, &v_turned, &ds, false) != 0)
		return -1;
	for (int64_t i = 0; i < rows; i++) {
		float stats = *stats_at(operands, batch, head, i);
		double sum = 0;

		for (int64_t c = 0; c < v_width; c++)
			sum += (double)d_o.data[i * d_o.row + c * d_o.column] *
			       (double)o.data[i * o.row + c * o.column];
		for (int64_t j = 0; j < keys; j++) {
			float *at = &p.data[i * keys + j];

			*at = expf(*at * scale - stats);
			ds.data[i * keys + j] = *at * (ds.data[i * keys + j] - (float)sum) * scale;
		}
	}
	return sg_multiply(keys, v_width, rows, &p_turned, &d_o, &dv, adds) |
	       sg_multiply(rows, width, keys, &ds, &k, &dq, false) |
	       sg_multiply(keys, width, rows, &ds_turned, &q, &dk, adds);
}

static int run_heads(const struct sg_operands *operands, int (*run)(const struct sg_operands *, int, int))
{
	int status = 0;

	for (int batch = 0; batch < operands->shape[SG_SDPA_Q]->dim[0]; batch++) {
		for (int head = 0; status == 0 && head < operands->shape[SG_SDPA_Q]->dim[1]; head++)
			status = run(operands, batch, head);
	}
	return status;
}

static int run_forward(const struct sg_step *step, const struct sg_operands *operands)
{
	(void)step;
	return run_heads(operands, run_head);
}

static int run_backward(const struct sg_step *step, const struct sg_operands *operands)
{
	(void)step;
	return run_heads(operands, run_head_backward);
}

static cudnnStatus_t build(struct sg_build *building, struct sg_step *step, bool is_backward)
{
	int matrices = is_backward ? 2 : 1; /* of scores at a time */
	const struct sg_shape *q = sg_build_shape(building, step, SG_SDPA_Q);
	const struct sg_shape *k = sg_build_shape(building, step, SG_SDPA_K);
	const struct sg_shape *stats = sg_build_shape(building, step, SG_SDPA_STATS);

	if (step->tensor[SG_SDPA_SEQ_Q] >= 0 || step->tensor[SG_SDPA_SEQ_KV] >= 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (stats != NULL && (stats->ndims != 4 || stats->dim[0] != q->dim[0] || stats->dim[1] != q->dim[1] ||
				     stats->dim[2] != q->dim[2]))
		return SG_STATUS_SHAPE;
	step->cost = sg_cost_attention(sg_build_stored(building, step, SG_SDPA_Q), k,
		sg_build_shape(building, step, SG_SDPA_V), is_backward);
	step->scratch_bytes = (size_t)matrices * (size_t)q->dim[2] * (size_t)k->dim[2] * sizeof(float);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sg_sdpa_forward_build(const struct sg_body *op, struct sg_build *building, struct sg_step *step)
{
	(void)op;
	if (step->tensor[SG_SDPA_MASK] >= 0 || step->tensor[SG_SDPA_PAGES_K] >= 0 ||
		step->tensor[SG_SDPA_PAGES_V] >= 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->run = run_forward;
	return build(building, step, false);
}

cudnnStatus_t sg_sdpa_backward_build(
	const struct sg_body *op, struct sg_build *building, struct sg_step *step)
{
	if (!sg_shape_same_dims(sg_body_shape(op, SG_SDPA_Q), sg_body_shape(op, SG_SDPA_DQ)) ||
		!sg_shape_same_dims(sg_body_shape(op, SG_SDPA_K), sg_body_shape(op, SG_SDPA_DK)) ||
		!sg_shape_same_dims(sg_body_shape(op, SG_SDPA_V), sg_body_shape(op, SG_SDPA_DV)) ||
		!sg_shape_same_dims(sg_body_shape(op, SG_SDPA_O), sg_body_shape(op, SG_SDPA_DO)))
		return SG_STATUS_SHAPE;
	step->run = run_backward;
	return build(building, step, true);
}
