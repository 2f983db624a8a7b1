/*
 * Attention as one operation of the backend: o = softmax(scale * q * k') * v for each head, and its
 * gradients.
 *
 * The one idea: it is made of the operations that frontends wrote it with before there was this one:
 * products, a softmax, and between them whatever the caller's subgraph says. q, k, v and o are batch, heads,
 * length, width, and heads of q share one of k and v where there are fewer of these. stats is the logarithm
 * of each row's sum of exponentials, from which backward computes the scores again.
 */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#define SCRATCH_PARTS 64

static bool has(const struct sg_body *op, int role)
{
	return sg_body_at(op, role, 0) != NULL;
}

static bool is_forward(const struct sg_body *op)
{
	return op->kind->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;
}

cudnnStatus_t sg_sdpa_finalize(struct sg_body *op)
{
	const struct sg_shape *q = sg_body_shape(op, SG_SDPA_Q), *k = sg_body_shape(op, SG_SDPA_K);
	const struct sg_shape *v = sg_body_shape(op, SG_SDPA_V), *o = sg_body_shape(op, SG_SDPA_O);
	bool k_is_paged = is_forward(op) && has(op, SG_SDPA_PAGES_K);
	bool v_is_paged = is_forward(op) && has(op, SG_SDPA_PAGES_V);

	if (q->ndims != 4 || k->ndims != 4 || v->ndims != 4 || o->ndims != 4)
		return CUDNN_STATUS_BAD_PARAM;
	if ((q->dim[0] != k->dim[0] && !k_is_paged) || (q->dim[0] != v->dim[0] && !v_is_paged) ||
		q->dim[0] != o->dim[0] || q->dim[1] != o->dim[1] || q->dim[1] % k->dim[1] != 0 ||
		q->dim[1] % v->dim[1] != 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (q->dim[2] != o->dim[2] || (k->dim[2] != v->dim[2] && !k_is_paged && !v_is_paged) ||
		q->dim[3] != k->dim[3] || v->dim[3] != o->dim[3])
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

/* Nothing is built of the operation itself. */
cudnnStatus_t sg_sdpa_build(const struct sg_body *op, struct sg_build *building, struct sg_step *step)
{
	(void)op, (void)building, (void)step;
	return CUDNN_STATUS_NOT_SUPPORTED;
}

/* ---- making operations ---- */

struct parts {
	const struct sg_body *op; /* what is taken apart */
	struct sg_body **list;    /* of operations; owns a reference to each */
	int *count;
	struct sg_body *made[SCRATCH_PARTS]; /* what the operations refer to */
	int made_count;
	cudnnStatus_t status; /* the first that is not SUCCESS; from then on nothing is made */
};

/* NULL, with the status set, where there is no memory. */
static struct sg_body *make_body(struct parts *parts, cudnnBackendDescriptorType_t type)
{
	struct sg_body *body =
		parts->status == CUDNN_STATUS_SUCCESS ? sg_body_create(sg_kind_find(type)) : NULL;

	if (body == NULL && parts->status == CUDNN_STATUS_SUCCESS)
		parts->status = CUDNN_STATUS_ALLOC_FAILED;
	return body;
}

static void put(struct parts *parts, struct sg_body *body, int role, int64_t count, const void *elements)
{
	if (parts->status == CUDNN_STATUS_SUCCESS)
		parts->status = sg_body_put(body, role, count, elements);
}

/* NULL parts are left out. */
static void put_part(struct parts *parts, struct sg_body *body, int role, struct sg_body *part)
{
	if (part != NULL)
		put(parts, body, role, 1, &part);
}

static struct sg_body *keep(struct parts *parts, struct sg_body *body)
{
	if (body == NULL)
		return NULL;
	if (parts->status == CUDNN_STATUS_SUCCESS)
		parts->status = sg_body_finalize(body);
	parts->made[parts->made_count++] = body;
	return body;
}

static void add(struct parts *parts, struct sg_body *op)
{
	if (op == NULL)
		return;
	if (parts->status == CUDNN_STATUS_SUCCESS)
		parts->status = sg_body_finalize(op);
	parts->list[(*parts->count)++] = op;
}

/* A tensor of floats between two operations. stride NULL: packed. */
static struct sg_body *make_tensor(struct parts *parts, int a, int b, int c, int d, const int64_t *stride)
{
	const int64_t dims[] = {a, b, c, d}, packed[] = {(int64_t)b * c * d, (int64_t)c * d, d, 1};
	struct sg_body *tensor = make_body(parts, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	const int64_t one = 1;
	const int32_t type = CUDNN_DATA_FLOAT;

	if (tensor == NULL)
		return NULL;
	put(parts, tensor, SG_TENSOR_TYPE, 1, &type);
	put(parts, tensor, SG_TENSOR_DIMS, 4, dims);
	put(parts, tensor, SG_TENSOR_STRIDES, 4, stride != NULL ? stride : packed);
	put(parts, tensor, SG_TENSOR_ALIGNMENT, 1, &one);
	put(parts, tensor, SG_TENSOR_VIRTUAL, 1, &one);
	return keep(parts, tensor);
}

static struct sg_body *tensor_like(struct parts *parts, const struct sg_body *like)
{
	const int *dim;

	if (like == NULL)
		return NULL;
	dim = like->shape.dim;
	return make_tensor(parts, dim[0], dim[1], dim[2], dim[3], NULL);
}

/* The tensor with its last two dimensions exchanged. */
static struct sg_body *add_turned(struct parts *parts, struct sg_body *x)
{
	struct sg_body *op = make_body(parts, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR), *y;
	int64_t stride[4];

	if (op == NULL || x == NULL)
		return NULL;
	for (int d = 0; d < 4; d++)
		stride[d] = x->shape.stride[d < 2 ? d : 5 - d];
	y = make_tensor(parts, x->shape.dim[0], x->shape.dim[1], x->shape.dim[3], x->shape.dim[2], stride);
	put_part(parts, op, SG_RESHAPE_X, x);
	put_part(parts, op, SG_RESHAPE_Y, y);
	add(parts, op);
	return y;
}

/* Lengths may be NULL, or tensors of where the rows of a, the columns of b, and what both share, end. */
static void add_product(struct parts *parts, struct sg_body *a, struct sg_body *b, struct sg_body *c,
	struct sg_body *rows, struct sg_body *columns, struct sg_body *shared)
{
	struct sg_body *matmul = keep(parts, make_body(parts, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
	struct sg_body *op = make_body(parts, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);

	if (op == NULL)
		return;
	put_part(parts, op, SG_MATMUL_OP_A, a);
	put_part(parts, op, SG_MATMUL_OP_B, b);
	put_part(parts, op, SG_MATMUL_OP_C, c);
	put_part(parts, op, SG_MATMUL_OP_DESC, matmul);
	put_part(parts, op, SG_MATMUL_OP_M, rows);
	put_part(parts, op, SG_MATMUL_OP_N, columns);
	put_part(parts, op, SG_MATMUL_OP_K, shared);
	add(parts, op);
}

/* y = mode(factor * x, b), a new tensor like x, or one that is given. b may be NULL. */
static struct sg_body *add_pointwise(struct parts *parts, cudnnPointwiseMode_t mode, double factor,
	struct sg_body *x, struct sg_body *b, struct sg_body *y)
{
	struct sg_body *pointwise = make_body(parts, CUDNN_BACKEND_POINTWISE_DESCRIPTOR), *op;
	const int32_t number = (int32_t)mode;

	if (pointwise != NULL)
		put(parts, pointwise, SG_POINTWISE_MODE, 1, &number);
	keep(parts, pointwise);
	op = make_body(parts, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	y = y == NULL ? tensor_like(parts, x) : y;
	if (op == NULL)
		return y;
	put_part(parts, op, SG_POINTWISE_OP_X, x);
	put_part(parts, op, SG_POINTWISE_OP_B, b);
	put_part(parts, op, SG_POINTWISE_OP_Y, y);
	put_part(parts, op, SG_POINTWISE_OP_DESC, pointwise);
	put(parts, op, SG_POINTWISE_OP_ALPHA1, 1, &factor);
	add(parts, op);
	return y;
}

static void add_sum(struct parts *parts, struct sg_body *x, struct sg_body *y)
{
	struct sg_body *reduction = make_body(parts, CUDNN_BACKEND_REDUCTION_DESCRIPTOR), *op;
	const int32_t number = CUDNN_REDUCE_TENSOR_ADD;

	if (reduction != NULL)
		put(parts, reduction, SG_REDUCTION_OPERATOR, 1, &number);
	keep(parts, reduction);
	op = make_body(parts, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
	if (op == NULL)
		return;
	put_part(parts, op, SG_REDUCTION_OP_X, x);
	put_part(parts, op, SG_REDUCTION_OP_Y, y);
	put_part(parts, op, SG_REDUCTION_OP_DESC, reduction);
	add(parts, op);
}

/* ---- forward ---- */

static struct sg_body *length_of(const struct parts *parts, int length, int sum)
{
	struct sg_body *given = sg_body_at(parts->op, length, 0);

	return given == NULL && is_forward(parts->op) ? sg_body_at(parts->op, sum, 0) : given;
}

/* The caller's tensor of an id, of those that the subgraph's operations have. */
static struct sg_body *find_in_subgraph(const struct sg_body *graph, int64_t uid)
{
	for (int64_t i = 0; i < graph->value[SG_GRAPH_OPS].count; i++) {
		const struct sg_body *op = sg_body_at(graph, SG_GRAPH_OPS, i);

		for (int role = 0; role < op->kind->rule_count; role++) {
			bool is_tensor = op->kind->rules[role].of == CUDNN_BACKEND_TENSOR_DESCRIPTOR;
			struct sg_body *tensor = is_tensor ? sg_body_at(op, role, 0) : NULL;

			if (tensor != NULL && sg_body_int(tensor, SG_TENSOR_UID) == uid)
				return tensor;
		}
	}
	return NULL;
}

static struct sg_body *subgraph_tensor(const struct sg_body *op, int role)
{
	const struct sg_body *graph = sg_body_at(op, SG_SDPA_SUBGRAPH, 0);

	return graph == NULL || op->value[role].count == 0 ? NULL
							   : find_in_subgraph(graph, sg_body_int(op, role));
}

/* Keys' and values' tensors may be pages, and longer than what is in them. */
static int64_t keys_of(const struct parts *parts)
{
	const struct sg_body *op = parts->op, *softmax = sg_body_at(op, SG_SDPA_SOFTMAX, 0);
	const struct sg_body *in = subgraph_tensor(op, SG_SDPA_SUBGRAPH_IN);
	int64_t keys;

	if (in != NULL)
		return in->shape.dim[3];
	if (softmax != NULL)
		return sg_body_shape(softmax, SG_SOFTMAX_X)->dim[3];
	if (!has(op, SG_SDPA_PAGES_K))
		return sg_body_shape(op, SG_SDPA_K)->dim[2];
	if (!has(op, SG_SDPA_PAGES_V))
		return sg_body_shape(op, SG_SDPA_V)->dim[2];
	keys = (int64_t)sg_body_shape(op, SG_SDPA_PAGES_K)->dim[2] * sg_body_shape(op, SG_SDPA_K)->dim[2];
	return keys;
}

/* k (turned) or v as a tensor without pages. */
static struct sg_body *whole(struct parts *parts, int role, int pages, int64_t keys, bool turned)
{
	struct sg_body *from = sg_body_at(parts->op, role, 0), *op, *y;
	const int *dim = from->shape.dim;
	int batches = sg_body_shape(parts->op, SG_SDPA_Q)->dim[0];
	int64_t width = dim[3];
	const int64_t stride[] = {dim[1] * keys * width, keys * width, 1, width};

	if (!has(parts->op, pages))
		return turned ? add_turned(parts, from) : from;
	y = turned ? make_tensor(parts, batches, dim[1], (int)width, (int)keys, stride)
		   : make_tensor(parts, batches, dim[1], (int)keys, (int)width, NULL);
	op = make_body(parts, CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
	if (op == NULL)
		return NULL;
	put_part(parts, op, SG_PAGED_CONTAINER, from);
	put_part(parts, op, SG_PAGED_Y, y);
	put_part(parts, op, SG_PAGED_LENGTH, length_of(parts, SG_SDPA_SEQ_KV, SG_SDPA_SUM_KV));
	put_part(parts, op, SG_PAGED_TABLE, sg_body_at(parts->op, pages, 0));
	add(parts, op);
	return y;
}

static void copy_part(
	struct parts *parts, const struct sg_body *from, int from_role, struct sg_body *to, int to_role)
{
	put_part(parts, to, to_role, sg_body_at(from, from_role, 0));
}

static struct sg_body *add_softmax(struct parts *parts, struct sg_body *x)
{
	const struct sg_body *given = sg_body_at(parts->op, SG_SDPA_SOFTMAX, 0);
	struct sg_body *op = make_body(parts, CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR);
	struct sg_body *y = tensor_like(parts, x);

	if (op == NULL)
		return NULL;
	put_part(parts, op, SG_SOFTMAX_X, x);
	put_part(parts, op, SG_SOFTMAX_Y, y);
	copy_part(parts, parts->op, SG_SDPA_STATS, op, SG_SOFTMAX_STATS);
	for (int role = SG_SOFTMAX_STATS; given != NULL && role <= SG_SOFTMAX_SINK; role++)
		copy_part(parts, given, role, op, role);
	if (given != NULL)
		put(parts, op, SG_SOFTMAX_LOG2, 1, given->value[SG_SOFTMAX_LOG2].elements);
	put_part(parts, op, SG_SOFTMAX_LENGTH_Q, length_of(parts, SG_SDPA_SEQ_Q, SG_SDPA_SUM_Q));
	put_part(parts, op, SG_SOFTMAX_LENGTH_KV, length_of(parts, SG_SDPA_SEQ_KV, SG_SDPA_SUM_KV));
	add(parts, op);
	return y;
}

static struct sg_body *add_dropout(struct parts *parts, struct sg_body *x)
{
	double dropped = sg_body_real(parts->op, SG_SDPA_DROPOUT), kept = 1 - dropped;
	struct sg_body *mask = sg_body_at(parts->op, SG_SDPA_DUMP, 0), *rng, *op;

	if (dropped == 0)
		return x;
	mask = mask == NULL ? tensor_like(parts, x) : mask;
	rng = make_body(parts, CUDNN_BACKEND_RNG_DESCRIPTOR);
	if (rng != NULL)
		put(parts, rng, SG_RNG_PROBABILITY, 1, &kept);
	keep(parts, rng);
	op = make_body(parts, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
	if (op == NULL)
		return NULL;
	put_part(parts, op, SG_RNG_OP_Y, mask);
	put_part(parts, op, SG_RNG_OP_DESC, rng);
	copy_part(parts, parts->op, SG_SDPA_SEED, op, SG_RNG_OP_SEED);
	copy_part(parts, parts->op, SG_SDPA_OFFSET, op, SG_RNG_OP_OFFSET);
	add(parts, op);
	return add_pointwise(parts, CUDNN_POINTWISE_MUL, 1 / kept, x, mask, NULL);
}

/* The scores, scaled: in `scores`, where it is given. */
static struct sg_body *add_scores(
	struct parts *parts, struct sg_body *k, int64_t keys, struct sg_body *scores)
{
	struct sg_body *q = sg_body_at(parts->op, SG_SDPA_Q, 0),
		       *scale = sg_body_at(parts->op, SG_SDPA_SCALE, 0);
	struct sg_body *product = scale == NULL && scores != NULL
					  ? scores
					  : make_tensor(parts, q->shape.dim[0], q->shape.dim[1],
						    q->shape.dim[2], (int)keys, NULL);

	add_product(parts, q, k, product, length_of(parts, SG_SDPA_SEQ_Q, SG_SDPA_SUM_Q),
		length_of(parts, SG_SDPA_SEQ_KV, SG_SDPA_SUM_KV), NULL);
	return scale == NULL ? product : add_pointwise(parts, CUDNN_POINTWISE_MUL, 1, product, scale, scores);
}

static void add_forward(struct parts *parts)
{
	const struct sg_body *graph = sg_body_at(parts->op, SG_SDPA_SUBGRAPH, 0);
	int64_t keys = keys_of(parts);
	struct sg_body *k = whole(parts, SG_SDPA_K, SG_SDPA_PAGES_K, keys, true);
	struct sg_body *v = whole(parts, SG_SDPA_V, SG_SDPA_PAGES_V, keys, false);
	struct sg_body *scores = add_scores(parts, k, keys, subgraph_tensor(parts->op, SG_SDPA_SUBGRAPH_IN));

	for (int64_t i = 0; graph != NULL && i < graph->value[SG_GRAPH_OPS].count; i++)
		parts->list[(*parts->count)++] = sg_body_keep(sg_body_at(graph, SG_GRAPH_OPS, i));
	if (graph != NULL)
		scores = subgraph_tensor(parts->op, SG_SDPA_SUBGRAPH_OUT);
	add_product(parts, add_dropout(parts, add_softmax(parts, scores)), v,
		sg_body_at(parts->op, SG_SDPA_O, 0), length_of(parts, SG_SDPA_SEQ_Q, SG_SDPA_SUM_Q), NULL,
		length_of(parts, SG_SDPA_SEQ_KV, SG_SDPA_SUM_KV));
}

/* ---- backward ---- */

/* The gradient of k or v: a' b, summed over the heads that share one of them. */
static void add_key_gradient(struct parts *parts, struct sg_body *a, int b_role, int to_role)
{
	struct sg_body *b = sg_body_at(parts->op, b_role, 0), *to = sg_body_at(parts->op, to_role, 0);
	const int *dim = to->shape.dim;
	int heads = sg_body_shape(parts->op, SG_SDPA_Q)->dim[1];
	struct sg_body *each = dim[1] == heads ? to : make_tensor(parts, dim[0], heads, dim[2], dim[3], NULL);

	add_product(parts, add_turned(parts, a), b, each, length_of(parts, SG_SDPA_SEQ_KV, 0), NULL,
		length_of(parts, SG_SDPA_SEQ_Q, 0));
	if (each != to)
		add_sum(parts, each, to);
}

/* With p the probabilities: dv = p' do, ds = p * (do v' - rowsum(do * o)) * scale, dq = ds k, dk = ds' q. */
static void add_backward(struct parts *parts)
{
	const int *q = sg_body_shape(parts->op, SG_SDPA_Q)->dim;
	int keys = sg_body_shape(parts->op, SG_SDPA_K)->dim[2];
	struct sg_body *q_length = length_of(parts, SG_SDPA_SEQ_Q, 0);
	struct sg_body *kv_length = length_of(parts, SG_SDPA_SEQ_KV, 0);
	struct sg_body *d_o = sg_body_at(parts->op, SG_SDPA_DO, 0), *k = sg_body_at(parts->op, SG_SDPA_K, 0);
	struct sg_body *scale = sg_body_at(parts->op, SG_SDPA_SCALE, 0);
	struct sg_body *sum = make_tensor(parts, q[0], q[1], q[2], 1, NULL);
	struct sg_body *p, *ds = make_tensor(parts, q[0], q[1], q[2], keys, NULL);

	add_sum(parts,
		add_pointwise(parts, CUDNN_POINTWISE_MUL, 1, d_o, sg_body_at(parts->op, SG_SDPA_O, 0), NULL),
		sum);
	p = add_scores(parts, add_turned(parts, k), keys, NULL);
	p = add_pointwise(parts, CUDNN_POINTWISE_SUB, 1, p, sg_body_at(parts->op, SG_SDPA_STATS, 0), NULL);
	p = add_pointwise(parts, CUDNN_POINTWISE_EXP, 1, p, NULL, NULL);
	add_key_gradient(parts, p, SG_SDPA_DO, SG_SDPA_DV);
	add_product(parts, d_o, add_turned(parts, sg_body_at(parts->op, SG_SDPA_V, 0)), ds, q_length,
		kv_length, NULL);
	ds = add_pointwise(parts, CUDNN_POINTWISE_SUB, 1, ds, sum, NULL);
	ds = add_pointwise(parts, CUDNN_POINTWISE_MUL, 1, ds, p, NULL);
	if (scale != NULL)
		ds = add_pointwise(parts, CUDNN_POINTWISE_MUL, 1, ds, scale, NULL);
	add_product(parts, ds, k, sg_body_at(parts->op, SG_SDPA_DQ, 0), q_length, NULL, kv_length);
	add_key_gradient(parts, ds, SG_SDPA_Q, SG_SDPA_DK);
}

/* ---- either ---- */

static bool shapes_fit(const struct sg_body *op)
{
	const struct sg_shape *q = sg_body_shape(op, SG_SDPA_Q), *stats = sg_body_shape(op, SG_SDPA_STATS);

	if (stats != NULL && (stats->ndims != 4 || stats->dim[0] != q->dim[0] || stats->dim[1] != q->dim[1] ||
				     stats->dim[2] != q->dim[2]))
		return false;
	return is_forward(op) ||
	       (sg_shape_same_dims(q, sg_body_shape(op, SG_SDPA_DQ)) &&
		       sg_shape_same_dims(sg_body_shape(op, SG_SDPA_K), sg_body_shape(op, SG_SDPA_DK)) &&
		       sg_shape_same_dims(sg_body_shape(op, SG_SDPA_V), sg_body_shape(op, SG_SDPA_DV)) &&
		       sg_shape_same_dims(sg_body_shape(op, SG_SDPA_O), sg_body_shape(op, SG_SDPA_DO)));
}

static bool subgraph_fits(const struct sg_body *op)
{
	return !has(op, SG_SDPA_SUBGRAPH) || (subgraph_tensor(op, SG_SDPA_SUBGRAPH_IN) != NULL &&
						     subgraph_tensor(op, SG_SDPA_SUBGRAPH_OUT) != NULL);
}

int sg_sdpa_parts(const struct sg_body *op)
{
	int64_t more = is_forward(op) && has(op, SG_SDPA_SUBGRAPH)
			       ? sg_body_at(op, SG_SDPA_SUBGRAPH, 0)->value[SG_GRAPH_OPS].count
			       : 0;

	return SCRATCH_PARTS + (int)more;
}

cudnnStatus_t sg_sdpa_expand(const struct sg_body *op, struct sg_body **list, int *count)
{
	struct parts parts = {.op = op, .list = list, .count = count};

	if (!shapes_fit(op))
		return SG_STATUS_SHAPE;
	if (is_forward(op) && has(op, SG_SDPA_MASK))
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (is_forward(op) && !subgraph_fits(op))
		return SG_STATUS_GRAPH_PATTERN;
	if (is_forward(op))
		add_forward(&parts);
	else
		add_backward(&parts);
	for (int i = 0; i < parts.made_count; i++)
		sg_body_drop(parts.made[i]);
	return parts.status;
}
