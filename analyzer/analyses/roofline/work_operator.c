/* Work of PyTorch's operators: see work_operator.h. */
#include "operator_input.h"

#include <stdlib.h>
#include <string.h>

/* ---- products ---- */

static bool product(const struct operator_input *a, const struct operator_input *b,
	const struct operator_input *added, struct work *work)
{
	const int rank = a->rank;
	double batch, m, n, k, added_bytes = added ? operator_bytes(added) : 0;

	if (rank < 2 || b->rank != rank || rank > 3 || a->dims[rank - 1] != b->dims[rank - 2] ||
		!(a->bytes > 0))
		return false;
	batch = rank == 3 ? (double)a->dims[0] : 1;
	m = (double)a->dims[rank - 2];
	k = (double)a->dims[rank - 1];
	n = (double)b->dims[rank - 1];
	work->type = a->type;
	work->flops = 2 * batch * m * n * k;
	work->bytes = operator_bytes(a) + operator_bytes(b) + batch * m * n * a->bytes + added_bytes;
	return true;
}

static bool plain_product(const struct operator_call *call, struct work *work)
{
	return product(&call->inputs[0], &call->inputs[1], NULL, work);
}

static bool added_product(const struct operator_call *call, struct work *work)
{
	return product(&call->inputs[1], &call->inputs[2], &call->inputs[0], work);
}

/* y = x W^T + b, x of any rank */
static bool linear(const struct operator_call *call, struct work *work)
{
	const struct operator_input *x = &call->inputs[0], *w = &call->inputs[1];

	if (x->rank < 1 || w->rank != 2 || x->dims[x->rank - 1] != w->dims[1] || !(x->bytes > 0))
		return false;
	work->type = x->type;
	work->flops = 2 * operator_elements(x) * (double)w->dims[0];
	work->bytes =
		operator_bytes(x) + operator_bytes(w) +
		operator_bytes(&call->inputs[2]) * (call->inputs[2].rank > 0) +
		(w->dims[1] ? operator_elements(x) / (double)w->dims[1] * (double)w->dims[0] * x->bytes : 0);
	return true;
}

/* ---- convolutions ---- */

/* Which inputs have what: of each operator its own order. */
struct places {
	int stride, padding, dilation, transposed, output_padding; /* -1: it has none */
};

#define PLANES (OPERATOR_DIMENSIONS - 2)

/* Elements of the result; 0: not known. */
static double result_of(const struct operator_call *call, const struct operator_input *x,
	const struct operator_input *w, const struct places *at)
{
	const int planes = x->rank - 2;
	int64_t stride[PLANES], padding[PLANES], dilation[PLANES], more[PLANES] = {0};
	const bool transposed = at->transposed >= 0 && operator_is_true(&call->inputs[at->transposed]);
	double size = (double)x->dims[0];

	if (!operator_list(&call->inputs[at->stride], stride, planes) ||
		!operator_list(&call->inputs[at->padding], padding, planes) ||
		!operator_list(&call->inputs[at->dilation], dilation, planes) ||
		(transposed && !operator_list(&call->inputs[at->output_padding], more, planes)))
		return 0;
	for (int i = 0; i < planes; i++) {
		const int64_t in = x->dims[i + 2] <= OPERATOR_MOST_SIZE ? x->dims[i + 2] : 0;
		const int64_t kernel = w->dims[i + 2] <= OPERATOR_MOST_SIZE
					       ? dilation[i] * (w->dims[i + 2] - 1) + 1
					       : INT32_MAX;
		const int64_t out = transposed  ? (in - 1) * stride[i] - 2 * padding[i] + kernel + more[i]
				    : stride[i] ? (in + 2 * padding[i] - kernel) / stride[i] + 1
						: 0;

		if (x->dims[i + 2] > OPERATOR_MOST_SIZE || w->dims[i + 2] > OPERATOR_MOST_SIZE || out <= 0)
			return 0;
		size *= (double)out;
	}
	return transposed ? size * (double)w->dims[1] : size * (double)w->dims[0];
}

/* Multiplications and additions: of a transposed one its input has the place of the result. */
static double convolution_flops(
	const struct operator_input *x, const struct operator_input *w, double result, bool transposed)
{
	return 2 * (transposed ? operator_elements(x) : result) * operator_elements_from(w, 1);
}

static bool is_convolution(const struct operator_input *x, const struct operator_input *w)
{
	return x->rank >= 3 && w->rank == x->rank && x->bytes > 0;
}

static bool convolution(const struct operator_call *call, struct work *work, const struct places *at)
{
	const struct operator_input *x = &call->inputs[0], *w = &call->inputs[1];
	double result;

	if (!is_convolution(x, w) || !((result = result_of(call, x, w, at)) > 0))
		return false;
	work->type = x->type;
	work->flops = convolution_flops(
		x, w, result, at->transposed >= 0 && operator_is_true(&call->inputs[at->transposed]));
	work->bytes = operator_bytes(x) + operator_bytes(w) + result * x->bytes;
	return true;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
static bool any_convolution(const struct operator_call *call, struct work *work)
{
	return convolution(call, work, &(struct places){3, 4, 5, 6, 7});
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups) */
static bool plain_convolution(const struct operator_call *call, struct work *work)
{
	return convolution(call, work, &(struct places){3, 4, 5, -1, -1});
}

/* cudnn_convolution(input, weight, padding, stride, dilation, groups, ...) */
static bool cudnn_convolution(const struct operator_call *call, struct work *work)
{
	return convolution(call, work, &(struct places){3, 2, 4, -1, -1});
}

/* miopen_convolution(input, weight, bias, padding, stride, dilation, groups, ...) */
static bool miopen_convolution(const struct operator_call *call, struct work *work)
{
	return convolution(call, work, &(struct places){4, 3, 5, -1, -1});
}

static bool half_backward(const struct operator_input *dy, const struct operator_input *x,
	const struct operator_input *w, double halves, bool transposed, struct work *work)
{
	if (!is_convolution(dy, w) || x->rank != dy->rank)
		return false;
	work->type = dy->type;
	work->flops = halves * convolution_flops(x, w, operator_elements(dy), transposed);
	work->bytes = halves * (operator_bytes(dy) + operator_elements(x) * dy->bytes +
				       operator_elements(w) * dy->bytes);
	work->gradient = WORK_GRADIENT_DATA;
	return true;
}

/* convolution_backward(dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
 * mask) */
static bool convolution_backward(const struct operator_call *call, struct work *work)
{
	const char *mask = call->inputs[10].value;
	int halves = 0;

	if (call->count <= 10 || !mask || *mask != '[')
		return false;
	for (int i = 0; i < 2; i++) {
		mask += 1 + strspn(mask + 1, " ");
		halves += strncmp(mask, "True", 4) == 0;
		mask += strcspn(mask, ",]\"");
	}
	return half_backward(&call->inputs[0], &call->inputs[1], &call->inputs[2], halves,
		operator_is_true(&call->inputs[7]), work);
}

/* ---- attention ---- */

static bool attention(const struct operator_input *q, const struct operator_input *k,
	const struct operator_input *v, double passes, struct work *work)
{
	double scores;

	if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->dims[3] != k->dims[3] || !(q->bytes > 0))
		return false;
	scores = (double)q->dims[0] * (double)q->dims[1] * (double)q->dims[2] * (double)k->dims[2];
	work->type = q->type;
	work->flops = passes * 2 * scores * (double)(q->dims[3] + v->dims[3]);
	work->bytes = passes * (2 * operator_bytes(q) + operator_bytes(k) + operator_bytes(v));
	return true;
}

static bool attention_forward(const struct operator_call *call, struct work *work)
{
	return attention(&call->inputs[0], &call->inputs[1], &call->inputs[2], 1, work);
}

static bool attention_backward(const struct operator_call *call, struct work *work)
{
	return attention(&call->inputs[1], &call->inputs[2], &call->inputs[3], 2, work);
}

/* ---- by the element ---- */

/* What inputs are repeated to: the greatest size of each dimension, counted from the last. */
static double broadcast(const struct operator_call *call, const struct operator_input **type)
{
	double product = 1;
	int rank = 0;

	*type = &call->inputs[0];
	for (int i = 0; i < call->count; i++)
		if (call->inputs[i].rank > rank) {
			rank = call->inputs[i].rank;
			*type = &call->inputs[i];
		}
	for (int d = 1; d <= rank; d++) {
		int64_t most = 1;

		for (int i = 0; i < call->count; i++)
			if (call->inputs[i].rank >= d &&
				call->inputs[i].dims[call->inputs[i].rank - d] > most)
				most = call->inputs[i].dims[call->inputs[i].rank - d];
		product *= (double)most;
	}
	return product;
}

static bool elementwise(const struct operator_call *call, struct work *work)
{
	const struct operator_input *type;
	const double result = broadcast(call, &type);

	if (!(type->bytes > 0) || type->rank == 0)
		return false;
	work->type = type->type == WORK_I8 ? WORK_F32 : type->type;
	work->flops = result;
	work->bytes = result * type->bytes;
	for (int i = 0; i < call->count; i++)
		work->bytes += call->inputs[i].rank ? operator_bytes(&call->inputs[i]) : 0;
	return true;
}

/* The first input is as large as the result, others are small, as a norm's factors, or read too. */
static bool by_first(const struct operator_call *call, struct work *work)
{
	const struct operator_input *first = &call->inputs[0];

	if (!(first->bytes > 0) || first->rank == 0)
		return false;
	work->type = first->type == WORK_I8 ? WORK_F32 : first->type;
	work->flops = operator_elements(first);
	work->bytes = operator_bytes(first);
	for (int i = 0; i < call->count; i++)
		work->bytes += call->inputs[i].rank ? operator_bytes(&call->inputs[i]) : 0;
	return true;
}

/* copy_(to, from) */
static bool copied(const struct operator_call *call, struct work *work)
{
	if (!(call->inputs[0].bytes > 0 && call->inputs[1].bytes > 0) || call->inputs[0].rank == 0)
		return false;
	work->bytes = operator_bytes(&call->inputs[0]) + operator_bytes(&call->inputs[1]);
	return true;
}

/* ---- the operators ---- */

static const struct row {
	const char *name; /* after "aten::"; without the underscore of what works in place */
	enum work_kind kind;
	double factor; /* of the operations */
	bool (*amount)(const struct operator_call *call, struct work *work);
} rows[] = {
	{"mm", WORK_PRODUCT, 1, plain_product},
	{"_int_mm", WORK_PRODUCT, 1, plain_product},
	{"_scaled_mm", WORK_PRODUCT, 1, plain_product},
	{"bmm", WORK_PRODUCT, 1, plain_product},
	{"addmm", WORK_PRODUCT, 1, added_product},
	{"_addmm_activation", WORK_PRODUCT, 1, added_product},
	{"baddbmm", WORK_PRODUCT, 1, added_product},
	{"linear", WORK_PRODUCT, 1, linear},
	{"convolution", WORK_CONVOLUTION, 1, any_convolution},
	{"_convolution", WORK_CONVOLUTION, 1, any_convolution},
	{"convolution_overrideable", WORK_CONVOLUTION, 1, any_convolution},
	{"conv1d", WORK_CONVOLUTION, 1, plain_convolution},
	{"conv2d", WORK_CONVOLUTION, 1, plain_convolution},
	{"conv3d", WORK_CONVOLUTION, 1, plain_convolution},
	{"cudnn_convolution", WORK_CONVOLUTION, 1, cudnn_convolution},
	{"miopen_convolution", WORK_CONVOLUTION, 1, miopen_convolution},
	{"mkldnn_convolution", WORK_CONVOLUTION, 1, miopen_convolution},
	{"convolution_backward", WORK_CONVOLUTION, 1, convolution_backward},
	{"_scaled_dot_product_flash_attention", WORK_ATTENTION, 1, attention_forward},
	{"_scaled_dot_product_efficient_attention", WORK_ATTENTION, 1, attention_forward},
	{"_scaled_dot_product_cudnn_attention", WORK_ATTENTION, 1, attention_forward},
	{"_scaled_dot_product_flash_attention_backward", WORK_ATTENTION, 1, attention_backward},
	{"_scaled_dot_product_efficient_attention_backward", WORK_ATTENTION, 1, attention_backward},
	{"_scaled_dot_product_cudnn_attention_backward", WORK_ATTENTION, 1, attention_backward},
	{"add", WORK_ELEMENTWISE, 1, elementwise},
	{"sub", WORK_ELEMENTWISE, 1, elementwise},
	{"mul", WORK_ELEMENTWISE, 1, elementwise},
	{"div", WORK_ELEMENTWISE, 1, elementwise},
	{"relu", WORK_ACTIVATION, 1, elementwise},
	{"clamp_min", WORK_ACTIVATION, 1, elementwise},
	{"gelu", WORK_ACTIVATION, 1, elementwise},
	{"silu", WORK_ACTIVATION, 1, elementwise},
	{"sigmoid", WORK_ACTIVATION, 1, elementwise},
	{"tanh", WORK_ACTIVATION, 1, elementwise},
	{"leaky_relu", WORK_ACTIVATION, 1, elementwise},
	{"threshold_backward", WORK_ACTIVATION, 1, elementwise},
	{"gelu_backward", WORK_ACTIVATION, 1, elementwise},
	{"silu_backward", WORK_ACTIVATION, 1, elementwise},
	{"sigmoid_backward", WORK_ACTIVATION, 1, elementwise},
	{"tanh_backward", WORK_ACTIVATION, 1, elementwise},
	{"native_dropout", WORK_DROPOUT, 1, by_first},
	{"_softmax", WORK_SOFTMAX, 5, by_first},
	{"_log_softmax", WORK_SOFTMAX, 5, by_first},
	{"_softmax_backward_data", WORK_SOFTMAX, 4, by_first},
	{"_log_softmax_backward_data", WORK_SOFTMAX, 4, by_first},
	{"native_layer_norm", WORK_NORMALIZATION, 5, by_first},
	{"native_layer_norm_backward", WORK_NORMALIZATION, 7, by_first},
	{"native_group_norm", WORK_NORMALIZATION, 5, by_first},
	{"native_batch_norm", WORK_NORMALIZATION, 5, by_first},
	{"cudnn_batch_norm", WORK_NORMALIZATION, 5, by_first},
	{"miopen_batch_norm", WORK_NORMALIZATION, 5, by_first},
	{"native_batch_norm_backward", WORK_NORMALIZATION, 7, by_first},
	{"cudnn_batch_norm_backward", WORK_NORMALIZATION, 7, by_first},
	{"miopen_batch_norm_backward", WORK_NORMALIZATION, 7, by_first},
	{"copy", WORK_COPY, 1, copied},
};

static const struct row *row_of(const char *name)
{
	size_t length;

	if (strncmp(name, "aten::", 6) != 0)
		return NULL;
	name += 6;
	length = strlen(name);
	length -= length > 1 && name[length - 1] == '_';
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
			return &rows[i];
	return NULL;
}

struct work work_of_operator(const char *name, const char *inputs)
{
	const struct row *row = row_of(name);
	struct work work = {.kind = row ? row->kind : WORK_KERNEL};
	struct operator_call call;

	if (!row || !operator_call_read(inputs, &call) || !row->amount(&call, &work))
		return (struct work){.kind = work.kind};
	work.flops *= row->factor;
	work.known = true;
	return work;
}
