/*
 * Operations and bytes of cuDNN's functions, of both its interfaces: see work.h. Executions of graphs have
 * the labels of the older interface's functions, so one rule serves both.
 */
#include "work_take.h"

#include "reconstruct/operation_flow.h"
#include "trace/trace.h"

#include <string.h>

/* The vendor's enumerators. */
#define MATH_FMA 3          /* no matrix unit for floats */
#define BATCHNORM_SAVED 2   /* mean and deviation, kept for the backward pass */
#define BATCHNORM_RUNNING 2 /* mean and variance over the batches, read and written */
#define RNN_TWO_DIRECTIONS 1
#define RNN_SKIP_INPUT 1

/* ---- bytes ---- */

static double operand_bytes(const struct work_source *source, const char *label, size_t length)
{
	char name[32];
	double bytes;

	if (length >= sizeof(name))
		return 0;
	memcpy(name, label, length);
	name[length] = 0;
	bytes = work_tensor(source, name).bytes;
	if (bytes == 0 && flow_shaped_as(name))
		bytes = work_tensor(source, flow_shaped_as(name)).bytes;
	return bytes;
}

/* Each operand with an address once; what is added to, twice. */
static double all_bytes(const struct work_source *source)
{
	const struct timeline_function *function = &source->timeline->functions[source->operation->function];
	bool adds = work_adds(source);
	double bytes = 0;

	for (uint32_t i = 0; i < source->operation->value_count; i++) {
		const struct timeline_label *label = &function->labels[i];
		size_t length = strlen(label->name);
		bool written = label->type == PM_VALUE_WRITES || label->type == PM_VALUE_GRAD;

		if (length < 5 || strcmp(label->name + length - 4, "_ptr") != 0 ||
			source->operation->values[i] == 0)
			continue;
		bytes += (written && adds ? 2 : 1) * operand_bytes(source, label->name, length - 4);
	}
	return bytes;
}

/* ---- arithmetic ---- */

static enum work_type matrix_type(uint64_t tensor, int64_t math)
{
	switch (tensor) {
	case PM_TYPE_F64:
		return WORK_F64;
	case PM_TYPE_F16:
		return WORK_F16;
	case PM_TYPE_BF16:
		return WORK_BF16;
	case PM_TYPE_I8:
	case PM_TYPE_U8:
		return WORK_I8;
	default:
		return math == MATH_FMA ? WORK_F32 : WORK_TF32;
	}
}

static enum work_type vector_type(uint64_t tensor)
{
	return tensor == PM_TYPE_F64 ? WORK_F64 : WORK_F32;
}

static int64_t convolution_math(const struct work_source *source)
{
	/* n pads[n] strides[n] dilations[n] mode type groups math */
	const struct timeline_descriptor *d = work_descriptor(source, PM_DESCRIPTOR_CONVOLUTION, 1);
	int64_t n = d ? d->values[0] : -1;

	return n >= 0 && n <= 6 && d->value_count >= 5 + 3 * n ? d->values[4 + 3 * n] : 0;
}

/* ---- decoders: the result's kind, arithmetic and bytes are filled in already ---- */

/* Each element of the result is a sum over a filter: its elements but for the output channels. A bias's
 * gradient is a sum of elements. */
static void convolution(const struct work_source *source, struct work *work)
{
	bool is_weight = work_has(source, "dw"), is_data = work_has(source, "dx");
	struct work_tensor w = work_tensor(source, is_weight ? "dw" : "w");
	struct work_tensor y = work_tensor(source, is_weight || is_data ? "dy" : "y");

	if (work_labels(source, "db")) {
		work->kind = WORK_REDUCTION;
		work->gradient = WORK_GRADIENT_WEIGHT;
		work->flops = work_tensor(source, source->function->facts.shape).elements;
		return;
	}
	work->gradient = is_weight ? WORK_GRADIENT_WEIGHT : WORK_GRADIENT_DATA;
	work->type = matrix_type(y.type, convolution_math(source));
	if (w.dimension_count == 0 || w.dimensions[0] == 0)
		work->known = false;
	else
		work->flops = 2 * y.elements * w.elements / (double)w.dimensions[0];
}

static void pooling(const struct work_source *source, struct work *work)
{
	/* mode n windows[n] pads[n] strides[n] */
	const struct timeline_descriptor *d = work_descriptor(source, PM_DESCRIPTOR_POOLING, 2);
	struct work_tensor y = work_tensor(source, source->function->facts.shape);

	if (!d || d->values[1] < 0 || d->value_count < 2 + d->values[1]) {
		work->known = false;
		return;
	}
	work->flops = y.elements;
	for (int64_t i = 0; i < d->values[1]; i++)
		work->flops *= d->values[2 + i] > 0 ? (double)d->values[2 + i] : 0;
}

/* Products a (b, m, k) times b to c. */
static void product(const struct work_source *source, struct work *work)
{
	struct work_tensor a = work_tensor(source, "a"), c = work_tensor(source, "c");

	work->gradient = WORK_GRADIENT_UNKNOWN;
	work->type = matrix_type(a.type, 0);
	if (a.dimension_count == 0 || c.dimension_count == 0)
		work->known = false;
	else
		work->flops = 2 * c.elements * (double)a.dimensions[a.dimension_count - 1];
}

/* The older interface's: with its projections, whose weights have a gradient. */
static void projected_attention(const struct work_source *source, struct work *work)
{
	/* heads q k v sizes, q k v o projections, q kv lengths, batch beam */
	const struct timeline_descriptor *d = work_descriptor(source, PM_DESCRIPTOR_ATTENTION, 12);
	bool is_weight = work_has(source, "dw"), is_data = work_has(source, "dq");
	double s[12], projections, core;

	work->gradient = is_weight ? WORK_GRADIENT_WEIGHT : WORK_GRADIENT_DATA;
	work->bytes += (is_weight ? 2 : 1) * work_size(source, "w_bytes");
	if (!d) {
		work->known = false;
		return;
	}
	for (int i = 0; i < 12; i++)
		s[i] = d->values[i] > 0 ? (double)d->values[i] : 0;
	projections = s[0] * (s[8] * (s[1] * s[4] + s[6] * s[7]) + s[9] * (s[2] * s[5] + s[3] * s[6]));
	core = s[0] * s[8] * s[9] * ((s[4] > 0 ? s[4] : s[1]) + (s[6] > 0 ? s[6] : s[3]));
	work->type = WORK_TF32;
	work->flops = 2 * s[10] * (s[11] > 0 ? s[11] : 1) *
		      (projections + (is_weight        ? 0
					     : is_data ? 2
						       : 1) *
					     core);
}

/*
 * Scores and what they weigh: two products, and backward four (of the scores' and the weighing's operands).
 * Scores that are worked out once more are not counted, and what a mask leaves out is.
 */
static void attention(const struct work_source *source, struct work *work)
{
	struct work_tensor q = work_tensor(source, "q"), k = work_tensor(source, "k"),
			   v = work_tensor(source, "v");

	if (work_labels(source, "w_bytes")) {
		projected_attention(source, work);
		return;
	}
	work->type = matrix_type(q.type, 0);
	if (q.dimension_count != 4 || k.dimension_count != 4 || v.dimension_count != 4) {
		work->known = false;
		return;
	}
	work->flops = 2 * (double)q.dimensions[0] * (double)q.dimensions[1] * (double)q.dimensions[2] *
		      (double)k.dimensions[2] * (double)(q.dimensions[3] + v.dimensions[3]);
	if (work_has(source, "dq"))
		work->flops *= 2;
}

/* Each step of each layer multiplies its input and its state with the weights of all gates. */
static void recurrent(const struct work_source *source, struct work *work)
{
	static const int gates_of[] = {1, 1, 4, 3};
	/* cell bias direction input_mode type math input_size hidden_size projection_size layers */
	const struct timeline_descriptor *d = work_descriptor(source, PM_DESCRIPTOR_RNN, 10);
	struct work_tensor x = work_tensor(source, "x");
	bool is_weight = work_labels(source, "dw_ptr");
	double hidden, directions, gates, inputs = 0;

	work->gradient = is_weight ? WORK_GRADIENT_WEIGHT : WORK_GRADIENT_DATA;
	/* a gradient of the weights is added to */
	work->bytes += (is_weight ? 2 : 1) * work_size(source, "w_bytes");
	if (!d || x.dimension_count == 0 || d->values[0] < 0 || d->values[0] > 3 || d->values[6] <= 0 ||
		d->values[7] <= 0 || d->values[9] <= 0) {
		work->known = false;
		return;
	}
	directions = d->values[2] == RNN_TWO_DIRECTIONS ? 2 : 1;
	hidden = (double)d->values[7];
	gates = gates_of[d->values[0]] * hidden;
	for (int64_t layer = 0; layer < d->values[9]; layer++) {
		bool skips = layer == 0 && d->values[3] == RNN_SKIP_INPUT;

		inputs += (skips ? 0 : layer > 0 ? directions * hidden : (double)d->values[6]) + hidden;
		if (layer > 100000)
			break;
	}
	work->type = matrix_type((uint64_t)d->values[4], d->values[5]);
	work->flops = 2 * x.elements / (double)d->values[6] * directions * gates * inputs;
}

static void local_response(const struct work_source *source, struct work *work)
{
	/* n alpha beta k; over a window of n channels: square, sum, factor and k, power, product */
	const struct timeline_descriptor *d = work_descriptor(source, PM_DESCRIPTOR_LRN, 1);
	bool is_backward = source->function->kind == PM_KIND_BACKWARD;

	work->flops = work_tensor(source, source->function->facts.shape).elements * (is_backward ? 2 : 1) *
		      ((d && d->values[0] > 0 ? (double)d->values[0] : 0) + 4);
}

/* Bytes of one parameter of a normalisation: of a channel, or of each place (mode 0 of the older interface).
 */
static double parameter_bytes(const struct work_source *source)
{
	struct work_tensor params = work_tensor(source, "params"), x = work_tensor(source, "x");
	uint64_t mode = 1;
	double element = x.type == PM_TYPE_F64 ? 8 : 4;

	if (params.dimension_count > 0)
		return params.bytes;
	timeline_value(source->timeline, source->operation, "mode", &mode);
	if (x.dimension_count < 2 || x.dimensions[0] == 0)
		return 0;
	return element * (mode == 0 ? x.elements / (double)x.dimensions[0] : (double)x.dimensions[1]);
}

/* Parameters have no descriptor that is always known, and statistics no address in the trace: those kept for
 * the backward pass, and those of all batches. */
static void normalization(const struct work_source *source, struct work *work)
{
	static const char *const parameters[] = {"scale", "bias", "dscale", "dbias"};
	int count = 0;

	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		count += work_has(source, parameters[i]);
	if (source->function->kind == PM_KIND_COMPUTE)
		count += BATCHNORM_RUNNING;
	else if (work_labels(source, "mode")) /* the older interface's, which keeps statistics */
		count += BATCHNORM_SAVED +
			 (source->function->kind == PM_KIND_FORWARD ? 2 * BATCHNORM_RUNNING : 0);
	work->bytes += count * parameter_bytes(source);
}

/* The mask of what is left, a byte for each element. */
static void dropout(const struct work_source *source, struct work *work)
{
	work->bytes += work_tensor(source, source->function->facts.shape).elements;
}

/* Without what was there it is a copy. */
static void addition(const struct work_source *source, struct work *work)
{
	if (!work_adds(source))
		work->flops = 0;
}

static void unknown(const struct work_source *source, struct work *work)
{
	(void)source;
	*work = (struct work){.kind = work->kind};
}

/*
 * Functions by their role; of those of a pass alone the row is before the others. per_element: operations for
 * each element of the tensor that the function's SHAPE names (additions, multiplications and functions of one
 * number count alike).
 */
#define ANY PM_KIND_NONE
static const struct row {
	enum pm_role role;
	enum pm_kind pass;
	enum work_kind kind;
	double per_element;
	void (*decode)(const struct work_source *source, struct work *work);
} rows[] = {
	{PM_ROLE_CONVOLUTION, ANY, WORK_CONVOLUTION, 0, convolution},
	{PM_ROLE_POOLING, ANY, WORK_POOLING, 0, pooling},
	{PM_ROLE_ACTIVATION, ANY, WORK_ACTIVATION, 1, NULL},
	/* largest, difference, exponential, sum, quotient */
	{PM_ROLE_SOFTMAX, PM_KIND_FORWARD, WORK_SOFTMAX, 5, NULL},
	{PM_ROLE_SOFTMAX, PM_KIND_BACKWARD, WORK_SOFTMAX, 4, NULL},
	{PM_ROLE_DIVISIVE_NORMALIZATION, ANY, WORK_NORMALIZATION, 0, local_response},
	{PM_ROLE_NORMALIZATION, PM_KIND_COMPUTE, WORK_NORMALIZATION, 2,
		normalization}, /* a factor, a shift */
	{PM_ROLE_NORMALIZATION, PM_KIND_FORWARD, WORK_NORMALIZATION, 5,
		normalization}, /* two sums, and those */
	{PM_ROLE_NORMALIZATION, PM_KIND_BACKWARD, WORK_NORMALIZATION, 7, normalization},
	{PM_ROLE_LOCAL_RESPONSE, ANY, WORK_NORMALIZATION, 0, local_response},
	{PM_ROLE_DROPOUT, ANY, WORK_DROPOUT, 1, dropout},
	{PM_ROLE_ELEMENTWISE, ANY, WORK_ELEMENTWISE, 1, NULL},
	{PM_ROLE_ADDITION, ANY, WORK_ELEMENTWISE, 1, addition},
	{PM_ROLE_FILL, ANY, WORK_COPY, 0, NULL},
	{PM_ROLE_SCALING, ANY, WORK_ELEMENTWISE, 1, NULL},
	{PM_ROLE_TRANSFORM, ANY, WORK_ELEMENTWISE, 1, NULL}, /* a factor, of which the trace knows nothing */
	{PM_ROLE_PATCHES, ANY, WORK_COPY, 0, unknown},
	{PM_ROLE_REDUCTION, ANY, WORK_REDUCTION, 1, NULL},
	{PM_ROLE_PRODUCT, ANY, WORK_PRODUCT, 0, product},
	{PM_ROLE_ATTENTION, ANY, WORK_ATTENTION, 0, attention},
	{PM_ROLE_RECURRENT, ANY, WORK_RECURRENT, 0, recurrent},
	{PM_ROLE_GRAPH_OF_OPERATORS, ANY, WORK_KERNEL, 0, unknown},
};

static const struct row *row_of(const struct timeline_function *function)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].role == function->facts.role &&
			(rows[i].pass == ANY || rows[i].pass == function->kind))
			return &rows[i];
	return NULL;
}

struct work work_of_cudnn(const struct work_source *source)
{
	const struct row *row = row_of(source->function);
	struct work work = {.kind = WORK_OTHER};

	if (!row)
		return work;
	work = (struct work){
		.kind = row->kind, .known = true, .gradient = WORK_GRADIENT_DATA, .bytes = all_bytes(source)};
	if (row->per_element > 0) {
		struct work_tensor tensor = work_tensor(source, source->function->facts.shape);

		work.type = vector_type(tensor.type);
		work.flops = row->per_element * tensor.elements;
	}
	if (row->decode)
		row->decode(source, &work);
	if (!work.known)
		work = (struct work){.kind = work.kind, .gradient = work.gradient};
	return work;
}
