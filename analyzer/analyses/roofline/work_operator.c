/* Work of PyTorch's operators: see work_operator.h. */
#include "work_operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS 16
#define DIMENSIONS 8
#define MOST_ELEMENTS ((int64_t)1 << 40) /* of a dimension */
#define MOST_SIZE ((int64_t)1 << 22)     /* of an image's and a filter's, and of what is between */
#define SHOWN 3                          /* inputs that people are shown */

struct input {
	int64_t dims[DIMENSIONS];
	int rank; /* 0: a number, or no tensor */
	enum work_type type;
	double bytes;      /* of an element; 0: it has no type that is known */
	const char *value; /* "[2, 2]", without the quotes; not ended; NULL: not recorded */
};

struct call {
	struct input inputs[INPUTS];
	int count;
};

/* ---- what the profiler writes ---- */

/* "[8, 4]", of which more than DIMENSIONS make it unknown; behind it. */
static const char *read_sizes(const char *text, struct input *input)
{
	char *end;

	if (*text != '[')
		return NULL;
	for (text++; *text && *text != ']'; text = end + strspn(end, ", ")) {
		const int64_t size = strtoll(text, &end, 10);

		if (end == text || size < 0 || size > MOST_ELEMENTS || input->rank == DIMENSIONS)
			return NULL; /* a list of tensors, too */
		input->dims[input->rank++] = size;
	}
	return *text ? text + 1 : NULL;
}

static bool read_all_sizes(const char *text, struct call *call)
{
	if (*text++ != '[')
		return false;
	while (*text == '[') {
		if (call->count == INPUTS)
			return true; /* what decides comes first */
		text = read_sizes(text, &call->inputs[call->count++]);
		if (!text)
			return false;
		text += strspn(text, ", ");
	}
	return *text == ']';
}

/* The next text in quotes, not ended, and its length; behind it, or NULL. */
static const char *read_word(const char *text, const char **word, size_t *length)
{
	text += strcspn(text, "\"]\t[");
	if (*text == '[')
		return read_word(text + 1, word, length);
	if (*text != '"')
		return NULL;
	*word = ++text;
	*length = strcspn(text, "\"");
	return text[*length] ? text + *length + 1 : NULL;
}

static void set_type(struct input *input, const char *word, size_t length)
{
	static const struct {
		const char *name;
		double bytes;
		enum work_type type;
	} types[] = {{"float", 4, WORK_F32}, {"double", 8, WORK_F64}, {"c10::Half", 2, WORK_F16},
		{"c10::BFloat16", 2, WORK_BF16}, {"signed char", 1, WORK_I8}, {"unsigned char", 1, WORK_I8},
		{"c10::Float8_e4m3fn", 1, WORK_I8}, {"c10::Float8_e5m2", 1, WORK_I8}, {"bool", 1, WORK_F32},
		{"int", 4, WORK_F32}, {"long", 8, WORK_F32}, {"long int", 8, WORK_F32}};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == length && memcmp(types[i].name, word, length) == 0) {
			input->type = types[i].type;
			input->bytes = types[i].bytes;
		}
}

static bool read_call(const char *inputs, struct call *call)
{
	const char *types = strchr(inputs, '\t'), *values = types ? strchr(types + 1, '\t') : NULL, *word;
	size_t length;

	memset(call, 0, sizeof(*call));
	if (!values || !read_all_sizes(inputs, call))
		return false;
	types++;
	for (int i = 0; i < call->count && (types = read_word(types, &word, &length)); i++)
		set_type(&call->inputs[i], word, length);
	values++;
	for (int i = 0; i < call->count && (values = read_word(values, &word, &length)); i++)
		call->inputs[i].value = word;
	return true;
}

/* ---- sizes ---- */

static double elements_from(const struct input *input, int first)
{
	double product = 1;

	for (int i = first; i < input->rank; i++)
		product *= (double)input->dims[i];
	return product;
}

static double elements(const struct input *input)
{
	return elements_from(input, 0);
}

static double bytes_of(const struct input *input)
{
	return elements(input) * input->bytes;
}

/* Numbers of a list, as many as are asked for; a list of one stands for all. False: it is not recorded. */
static bool read_list(const struct input *input, int64_t *numbers, int count)
{
	const char *text = input->value;
	char *end;
	int found = 0;

	if (!text || *text != '[')
		return false;
	for (text++; found < count && *text != ']'; text = end + strspn(end, ", ")) {
		numbers[found] = strtoll(text, &end, 10);
		if (end == text || numbers[found] < 0 || numbers[found] > MOST_SIZE)
			return false;
		found++;
	}
	for (int i = found; found == 1 && i < count; i++)
		numbers[i] = numbers[0];
	return found == 1 || found == count;
}

static bool is_true(const struct input *input)
{
	return input->value && strncmp(input->value, "True", 4) == 0;
}

/* ---- products ---- */

static bool product(
	const struct input *a, const struct input *b, const struct input *added, struct work *work)
{
	const int rank = a->rank;
	double batch, m, n, k, added_bytes = added ? bytes_of(added) : 0;

	if (rank < 2 || b->rank != rank || rank > 3 || a->dims[rank - 1] != b->dims[rank - 2] ||
		!(a->bytes > 0))
		return false;
	batch = rank == 3 ? (double)a->dims[0] : 1;
	m = (double)a->dims[rank - 2];
	k = (double)a->dims[rank - 1];
	n = (double)b->dims[rank - 1];
	work->type = a->type;
	work->flops = 2 * batch * m * n * k;
	work->bytes = bytes_of(a) + bytes_of(b) + batch * m * n * a->bytes + added_bytes;
	return true;
}

static bool plain_product(const struct call *call, struct work *work)
{
	return product(&call->inputs[0], &call->inputs[1], NULL, work);
}

static bool added_product(const struct call *call, struct work *work)
{
	return product(&call->inputs[1], &call->inputs[2], &call->inputs[0], work);
}

/* y = x W^T + b, x of any rank */
static bool linear(const struct call *call, struct work *work)
{
	const struct input *x = &call->inputs[0], *w = &call->inputs[1];

	if (x->rank < 1 || w->rank != 2 || x->dims[x->rank - 1] != w->dims[1] || !(x->bytes > 0))
		return false;
	work->type = x->type;
	work->flops = 2 * elements(x) * (double)w->dims[0];
	work->bytes = bytes_of(x) + bytes_of(w) + bytes_of(&call->inputs[2]) * (call->inputs[2].rank > 0) +
		      (w->dims[1] ? elements(x) / (double)w->dims[1] * (double)w->dims[0] * x->bytes : 0);
	return true;
}

/* ---- convolutions ---- */

/* Which inputs have what: of each operator its own order. */
struct places {
	int stride, padding, dilation, transposed, output_padding; /* -1: it has none */
};

#define PLANES (DIMENSIONS - 2)

/* Elements of the result; 0: not known. */
static double result_of(
	const struct call *call, const struct input *x, const struct input *w, const struct places *at)
{
	const int planes = x->rank - 2;
	int64_t stride[PLANES], padding[PLANES], dilation[PLANES], more[PLANES] = {0};
	const bool transposed = at->transposed >= 0 && is_true(&call->inputs[at->transposed]);
	double size = (double)x->dims[0];

	if (!read_list(&call->inputs[at->stride], stride, planes) ||
		!read_list(&call->inputs[at->padding], padding, planes) ||
		!read_list(&call->inputs[at->dilation], dilation, planes) ||
		(transposed && !read_list(&call->inputs[at->output_padding], more, planes)))
		return 0;
	for (int i = 0; i < planes; i++) {
		const int64_t in = x->dims[i + 2] <= MOST_SIZE ? x->dims[i + 2] : 0;
		const int64_t kernel =
			w->dims[i + 2] <= MOST_SIZE ? dilation[i] * (w->dims[i + 2] - 1) + 1 : INT32_MAX;
		const int64_t out = transposed  ? (in - 1) * stride[i] - 2 * padding[i] + kernel + more[i]
				    : stride[i] ? (in + 2 * padding[i] - kernel) / stride[i] + 1
						: 0;

		if (x->dims[i + 2] > MOST_SIZE || w->dims[i + 2] > MOST_SIZE || out <= 0)
			return 0;
		size *= (double)out;
	}
	return transposed ? size * (double)w->dims[1] : size * (double)w->dims[0];
}

/* Multiplications and additions: of a transposed one its input has the place of the result. */
static double convolution_flops(const struct input *x, const struct input *w, double result, bool transposed)
{
	return 2 * (transposed ? elements(x) : result) * elements_from(w, 1);
}

static bool is_convolution(const struct input *x, const struct input *w)
{
	return x->rank >= 3 && w->rank == x->rank && x->bytes > 0;
}

static bool convolution(const struct call *call, struct work *work, const struct places *at)
{
	const struct input *x = &call->inputs[0], *w = &call->inputs[1];
	double result;

	if (!is_convolution(x, w) || !((result = result_of(call, x, w, at)) > 0))
		return false;
	work->type = x->type;
	work->flops = convolution_flops(
		x, w, result, at->transposed >= 0 && is_true(&call->inputs[at->transposed]));
	work->bytes = bytes_of(x) + bytes_of(w) + result * x->bytes;
	return true;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
static bool any_convolution(const struct call *call, struct work *work)
{
	return convolution(call, work, &(struct places){3, 4, 5, 6, 7});
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups) */
static bool plain_convolution(const struct call *call, struct work *work)
{
	return convolution(call, work, &(struct places){3, 4, 5, -1, -1});
}

/* cudnn_convolution(input, weight, padding, stride, dilation, groups, ...) */
static bool cudnn_convolution(const struct call *call, struct work *work)
{
	return convolution(call, work, &(struct places){3, 2, 4, -1, -1});
}

/* miopen_convolution(input, weight, bias, padding, stride, dilation, groups, ...) */
static bool miopen_convolution(const struct call *call, struct work *work)
{
	return convolution(call, work, &(struct places){4, 3, 5, -1, -1});
}

static bool half_backward(const struct input *dy, const struct input *x, const struct input *w, double halves,
	bool transposed, struct work *work)
{
	if (!is_convolution(dy, w) || x->rank != dy->rank)
		return false;
	work->type = dy->type;
	work->flops = halves * convolution_flops(x, w, elements(dy), transposed);
	work->bytes = halves * (bytes_of(dy) + elements(x) * dy->bytes + elements(w) * dy->bytes);
	work->gradient = WORK_GRADIENT_DATA;
	return true;
}

/* convolution_backward(dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
 * mask) */
static bool convolution_backward(const struct call *call, struct work *work)
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
		is_true(&call->inputs[7]), work);
}

/* ---- attention ---- */

static bool attention(
	const struct input *q, const struct input *k, const struct input *v, double passes, struct work *work)
{
	double scores;

	if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->dims[3] != k->dims[3] || !(q->bytes > 0))
		return false;
	scores = (double)q->dims[0] * (double)q->dims[1] * (double)q->dims[2] * (double)k->dims[2];
	work->type = q->type;
	work->flops = passes * 2 * scores * (double)(q->dims[3] + v->dims[3]);
	work->bytes = passes * (2 * bytes_of(q) + bytes_of(k) + bytes_of(v));
	return true;
}

static bool attention_forward(const struct call *call, struct work *work)
{
	return attention(&call->inputs[0], &call->inputs[1], &call->inputs[2], 1, work);
}

static bool attention_backward(const struct call *call, struct work *work)
{
	return attention(&call->inputs[1], &call->inputs[2], &call->inputs[3], 2, work);
}

/* ---- by the element ---- */

/* What inputs are repeated to: the greatest size of each dimension, counted from the last. */
static double broadcast(const struct call *call, const struct input **type)
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

static bool elementwise(const struct call *call, struct work *work)
{
	const struct input *type;
	const double result = broadcast(call, &type);

	if (!(type->bytes > 0) || type->rank == 0)
		return false;
	work->type = type->type == WORK_I8 ? WORK_F32 : type->type;
	work->flops = result;
	work->bytes = result * type->bytes;
	for (int i = 0; i < call->count; i++)
		work->bytes += call->inputs[i].rank ? bytes_of(&call->inputs[i]) : 0;
	return true;
}

/* The first input is as large as the result, others are small, as a norm's factors, or read too. */
static bool by_first(const struct call *call, struct work *work)
{
	const struct input *first = &call->inputs[0];

	if (!(first->bytes > 0) || first->rank == 0)
		return false;
	work->type = first->type == WORK_I8 ? WORK_F32 : first->type;
	work->flops = elements(first);
	work->bytes = bytes_of(first);
	for (int i = 0; i < call->count; i++)
		work->bytes += call->inputs[i].rank ? bytes_of(&call->inputs[i]) : 0;
	return true;
}

/* copy_(to, from) */
static bool copied(const struct call *call, struct work *work)
{
	if (!(call->inputs[0].bytes > 0 && call->inputs[1].bytes > 0) || call->inputs[0].rank == 0)
		return false;
	work->bytes = bytes_of(&call->inputs[0]) + bytes_of(&call->inputs[1]);
	return true;
}

/* ---- the operators ---- */

static const struct row {
	const char *name; /* behind "aten::"; without the underscore of what works in place */
	enum work_kind kind;
	double factor; /* of the operations */
	bool (*amount)(const struct call *call, struct work *work);
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
	struct call call;

	if (!row || !read_call(inputs, &call) || !row->amount(&call, &work))
		return (struct work){.kind = work.kind};
	work.flops *= row->factor;
	work.known = true;
	return work;
}

void work_operator_shape(const char *inputs, char room[WORK_SHAPE_BYTES])
{
	size_t used = 0;
	struct call call;
	const char *type = "";
	int shown = 0;

	room[0] = 0;
	if (!read_call(inputs, &call))
		return;
	for (int i = 0; i < call.count && used + 1 < WORK_SHAPE_BYTES; i++) {
		const struct input *input = &call.inputs[i];

		if (input->rank == 0)
			continue;
		if (shown++ == SHOWN) {
			used += (size_t)snprintf(room + used, WORK_SHAPE_BYTES - used, " ...");
			break;
		}
		used += (size_t)snprintf(room + used, WORK_SHAPE_BYTES - used, "%s", used ? " " : "");
		for (int d = 0; d < input->rank && used + 1 < WORK_SHAPE_BYTES; d++)
			used += (size_t)snprintf(room + used, WORK_SHAPE_BYTES - used, "%s%lld", d ? "x" : "",
				(long long)input->dims[d]);
		if (!*type && input->bytes > 0)
			type = work_type_names[input->type];
	}
	if (used + 1 < WORK_SHAPE_BYTES)
		snprintf(room + used, WORK_SHAPE_BYTES - used, "%s%s", *type && used ? " " : "", type);
}
