/* What a layer is called and what its sizes are, from the descriptors and numbers of its first forward call.
 */
#include "layer_assign.h"
#include "sequence.h"
#include "trace/trace.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIMENSIONS 8

const struct timeline_function *layer_function(const struct layer_assign *assign, uint32_t step)
{
	return &assign->timeline->functions[assign->timeline->operations[assign->graph.steps[step].operation]
						    .function];
}

/* The first descriptor of this kind among an operation's values, or NULL. */
static const struct timeline_descriptor *descriptor_of_kind(const struct layer_assign *assign,
	const struct timeline_operation *operation, enum pm_descriptor_kind kind)
{
	const struct timeline_function *function = &assign->timeline->functions[operation->function];

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_DESCRIPTOR &&
			assign->timeline->descriptors[operation->values[i]].kind == kind)
			return &assign->timeline->descriptors[operation->values[i]];
	return NULL;
}

/* The vendor's enumerators of recurrent cells. */
static const char *cell_name(const struct layer_assign *assign, const struct timeline_operation *operation)
{
	static const char *const cells[] = {"rnn", "rnn", "lstm", "gru"};
	const struct timeline_descriptor *rnn = descriptor_of_kind(assign, operation, PM_DESCRIPTOR_RNN);

	if (!rnn || rnn->value_count < 1 || rnn->values[0] < 0 || rnn->values[0] > 3)
		return "rnn";
	return cells[rnn->values[0]];
}

/*
 * What a kernel or function does forward, by its name: "layernorm" of layernorm_forward_kernel3. The name may
 * be mangled: then it is after its length. "": it does not say.
 */
static const char *forward_word(struct arena *arena, const char *name)
{
	static const char *const words[] = {"_forward", "_fwd"};
	const char *end = NULL, *begin;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words) && !end; i++)
		end = strstr(name, words[i]);
	for (begin = end; begin && begin > name && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_');)
		begin--;
	if (begin && strncmp(begin, "_Z", 2) == 0)
		begin += strcspn(begin, "0123456789");
	while (begin && begin < end && (isdigit((unsigned char)*begin) || *begin == '_'))
		begin++;
	return begin && begin < end ? arena_text(arena, begin, (size_t)(end - begin)) : "";
}

/* A layer of the program's own kernels is called after what its first one does. */
static const char *own_kind(const struct layer_assign *assign, uint32_t step)
{
	const char *kernel = sequence_kernel(
		assign->timeline, &assign->timeline->operations[assign->graph.steps[step].operation]);
	const char *word = kernel ? forward_word(&assign->list->arena, kernel) : "";

	return *word ? word : "layer";
}

const char *layer_kind(const struct layer_assign *assign, uint32_t step)
{
	static const char *const kinds[PM_ROLE_COUNT] = {
		[PM_ROLE_CONVOLUTION] = "conv",
		[PM_ROLE_POOLING] = "pool",
		[PM_ROLE_DROPOUT] = "dropout",
		[PM_ROLE_SOFTMAX] = "softmax",
		[PM_ROLE_NORMALIZATION] = "norm",
		[PM_ROLE_DIVISIVE_NORMALIZATION] = "norm",
		[PM_ROLE_LOCAL_RESPONSE] = "lrn",
		[PM_ROLE_ATTENTION] = "attention",
	};
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	const enum pm_role does = layer_function(assign, step)->facts.role;
	const struct worker_role *role = &assign->model->roles[assign->graph.steps[step].operation];
	const bool reads = (role->flags & WORKER_READS) || assign->copies[step];

	if (kinds[does])
		return kinds[does];
	if (does == PM_ROLE_RECURRENT)
		return cell_name(assign, operation);
	if (reads && graph_flow(&assign->graph, step)->shape == FLOW_PRODUCT)
		return "fc";
	return reads ? own_kind(assign, step) : NULL;
}

static const struct timeline_descriptor *descriptor(
	const struct layer_assign *assign, const struct timeline_operation *operation, const char *label)
{
	uint64_t number = 0;

	if (!timeline_value(assign->timeline, operation, label, &number) ||
		number >= assign->timeline->descriptor_count)
		return NULL;
	return &assign->timeline->descriptors[number];
}

static const char *join(struct arena *arena, const int64_t *values, uint32_t count, const char *between)
{
	const char *text = "";

	for (uint32_t i = 0; i < count; i++)
		text = arena_format(arena, "%s%s%" PRId64, text, i ? between : "", values[i]);
	return text;
}

/* "2" where all are 2, else "2x1". */
static const char *same(struct arena *arena, const int64_t *values, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return join(arena, values, count, "x");
	return join(arena, values, count ? 1 : 0, "x");
}

static bool all_are(const int64_t *values, uint32_t count, int64_t number)
{
	for (uint32_t i = 0; i < count; i++)
		if (values[i] != number)
			return false;
	return true;
}

/* Dimensions of the tensor or filter under a label. */
static uint32_t dimensions(const struct layer_assign *assign, const struct timeline_operation *operation,
	const char *label, int64_t values[MOST_DIMENSIONS])
{
	uint64_t number = 0;

	if (!timeline_value(assign->timeline, operation, label, &number))
		return 0;
	return flow_dimensions(assign->timeline, number, values, MOST_DIMENSIONS);
}

static const char *convolution_text(
	struct layer_assign *assign, struct arena *arena, const struct timeline_operation *operation)
{
	const struct timeline_descriptor *convolution = descriptor(assign, operation, "conv");
	int64_t filter[MOST_DIMENSIONS];
	uint32_t count = dimensions(assign, operation, "w", filter), n;
	const char *text;

	if (count < 3)
		return "";
	/* Filters, inputs, then the extents, in whatever order they lie in memory. */
	text = arena_format(arena, "%sx%" PRId64 "->%" PRId64, join(arena, filter + 2, count - 2, "x"),
		filter[1], filter[0]);
	if (!convolution || convolution->kind != PM_DESCRIPTOR_CONVOLUTION || convolution->value_count < 1)
		return text;
	n = convolution->values[0] > 0 && convolution->values[0] <= 6 ? (uint32_t)convolution->values[0] : 0;
	if (convolution->value_count < 1 + 3 * n)
		return text;
	text = arena_format(arena, "%s s%s p%s", text, same(arena, convolution->values + 1 + n, n),
		same(arena, convolution->values + 1, n));
	if (!all_are(convolution->values + 1 + 2 * n, n, 1))
		text = arena_format(arena, "%s d%s", text, same(arena, convolution->values + 1 + 2 * n, n));
	if (convolution->value_count > 3 + 3 * n && convolution->values[3 + 3 * n] > 1)
		text = arena_format(arena, "%s g%" PRId64, text, convolution->values[3 + 3 * n]);
	return text;
}

static const char *pooling_text(
	struct layer_assign *assign, struct arena *arena, const struct timeline_operation *operation)
{
	const struct timeline_descriptor *pooling = descriptor(assign, operation, "pool");
	const char *text;
	uint32_t n;

	if (!pooling || pooling->kind != PM_DESCRIPTOR_POOLING || pooling->value_count < 2)
		return "";
	n = pooling->values[1] > 0 && pooling->values[1] <= 6 ? (uint32_t)pooling->values[1] : 0;
	if (pooling->value_count < 2 + 3 * n)
		return "";
	text = arena_format(arena, "%s %s s%s",
		pooling->values[0] == 1 || pooling->values[0] == 2 ? "avg" : "max",
		join(arena, pooling->values + 2, n, "x"), same(arena, pooling->values + 2 + 2 * n, n));
	if (!all_are(pooling->values + 2 + n, n, 0))
		text = arena_format(arena, "%s p%s", text, same(arena, pooling->values + 2 + n, n));
	return text;
}

static bool is_parameter(const struct layer_assign *assign, uint32_t step, uint64_t address)
{
	return graph_parameter(&assign->graph, address) != GRAPH_NONE ||
	       (address && address == assign->copies[step]);
}

/* Which operand of a product is a parameter, or its copy in another type, decides what m, n and k are. */
static const char *product_text(struct layer_assign *assign, struct arena *arena,
	const struct timeline_operation *operation, uint32_t step, const char **input)
{
	const struct flow *flow = graph_flow(&assign->graph, step);
	uint64_t m = 0, n = 0, transposed = 0;
	struct flow_product product;
	bool known = false, first = false;

	for (uint32_t i = 0; i < flow->access_count && !known; i++)
		if (flow->accesses[i].mode == FLOW_READ && !strstr(flow->accesses[i].label, "bias") &&
			is_parameter(assign, step, flow->accesses[i].address)) {
			first = flow_is_matrix(flow->accesses[i].label, 'a');
			known = true;
		}
	if (!known) /* which of the operands is the weight */
		return "";
	if (!flow_product(assign->timeline, operation, &product)) {
		timeline_value(assign->timeline, operation, "m", &m);
		timeline_value(assign->timeline, operation, "n", &n);
		timeline_value(assign->timeline, operation, "trans", &transposed);
		*input = arena_format(arena, "1x%" PRId64, (int64_t)(transposed ? m : n));
		return arena_format(arena, "%" PRId64 "->%" PRId64, (int64_t)(transposed ? m : n),
			(int64_t)(transposed ? n : m));
	}
	*input = arena_format(arena, "%" PRId64 "x%" PRId64, first ? product.n : product.m, product.k);
	return arena_format(arena, "%" PRId64 "->%" PRId64, product.k, first ? product.m : product.n);
}

/* "200->256 x2 bi": inputs, hidden units, layers, directions. */
static const char *recurrent_text(
	const struct layer_assign *assign, struct arena *arena, const struct timeline_operation *operation)
{
	const struct timeline_descriptor *rnn = descriptor_of_kind(assign, operation, PM_DESCRIPTOR_RNN);
	const char *text;

	/* cell bias direction input_mode type math input_size hidden_size projection_size layers */
	if (!rnn || rnn->value_count < 10)
		return "";
	text = arena_format(arena, "%" PRId64 "->%" PRId64, rnn->values[6], rnn->values[7]);
	if (rnn->values[9] > 1)
		text = arena_format(arena, "%s x%" PRId64, text, rnn->values[9]);
	return rnn->values[2] == 1 ? arena_format(arena, "%s bi", text) : text;
}

/* "8 heads 512": of its descriptor, or of the queries' shape (batch, heads, length, size of a head). */
static const char *attention_text(
	const struct layer_assign *assign, struct arena *arena, const struct timeline_operation *operation)
{
	const struct timeline_descriptor *attention =
		descriptor_of_kind(assign, operation, PM_DESCRIPTOR_ATTENTION);
	int64_t shape[MOST_DIMENSIONS];

	if (attention && attention->value_count > 1)
		return arena_format(
			arena, "%" PRId64 " heads %" PRId64, attention->values[0], attention->values[1]);
	if (dimensions(assign, operation, "q", shape) == 4 && shape[1] > 0 && shape[1] < INT32_MAX &&
		shape[3] > 0 && shape[3] < INT32_MAX)
		return arena_format(arena, "%" PRId64 " heads %" PRId64, shape[1], shape[1] * shape[3]);
	return "";
}

static bool is_kind(const char *kind, const char *word)
{
	return strcmp(kind, word) == 0;
}

/* "conv", "conv12" of "conv"; NULL is of none. */
static bool is_named(const char *name, const char *kind)
{
	const size_t length = strlen(kind);

	return name && strncmp(name, kind, length) == 0 &&
	       strspn(name + length, "0123456789") == strlen(name + length);
}

/* The greatest number of layers of a kind, "12" of "conv12"; 1 of one without a number; 0: there is none. */
static uint32_t last_of_kind(const struct layer_assign *assign, const char *kind)
{
	const size_t length = strlen(kind);
	uint32_t last = 0;

	for (size_t i = 0; i < assign->list->count; i++) {
		const char *name = assign->list->items[i].name;
		uint32_t number;

		if (!is_named(name, kind))
			continue;
		number = name[length] ? (uint32_t)strtoul(name + length, NULL, 10) : 1;
		last = number > last ? number : last;
	}
	return last;
}

/* A layer of a kind, by a step of it. One softmax or loss needs no number; a second one gets it. */
static void describe_as(struct layer_assign *assign, uint32_t layer, uint32_t step, const char *kind)
{
	struct arena *arena = &assign->list->arena;
	struct layer *item = &assign->list->items[layer];
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	int64_t shape[MOST_DIMENSIONS];
	uint32_t count = dimensions(assign, operation, "x", shape), last;

	if (count == 0)
		count = dimensions(assign, operation, "a", shape);
	if (count == 0)
		count = dimensions(assign, operation, "q", shape);
	item->input = join(arena, shape, count, "x");
	item->text = "";
	if (is_kind(kind, "conv")) {
		item->text = convolution_text(assign, arena, operation);
	} else if (is_kind(kind, "pool")) {
		item->text = pooling_text(assign, arena, operation);
	} else if (is_kind(kind, "fc")) {
		item->text = product_text(assign, arena, operation, step, &item->input);
	} else if (is_kind(kind, "dropout")) {
		const struct timeline_descriptor *dropout = descriptor(assign, operation, "dropout");

		if (dropout && dropout->kind == PM_DESCRIPTOR_DROPOUT && dropout->value_count > 0)
			item->text = arena_format(arena, "%g", (double)dropout->values[0] / 1e6);
	} else if (is_kind(kind, "norm") && count > 1) {
		item->text = arena_format(arena, "%" PRId64, shape[1]);
	} else if (is_kind(kind, "attention")) {
		item->text = attention_text(assign, arena, operation);
	} else if (is_kind(kind, "rnn") || is_kind(kind, "lstm") || is_kind(kind, "gru")) {
		item->text = recurrent_text(assign, arena, operation);
	}
	item->name = NULL;
	last = last_of_kind(assign, kind);
	if (last == 0 && (is_kind(kind, "softmax") || is_kind(kind, "loss")))
		item->name = kind;
	else
		item->name = arena_format(arena, "%s%u", kind, last + 1);
}

void layer_describe(struct layer_assign *assign, uint32_t layer, uint32_t step)
{
	static const char *const specials[] = {[LAYER_IS_LOSS] = "loss",
		[LAYER_IS_SUM] = "add",
		[LAYER_IS_ATTENTION] = "attention",
		[LAYER_IS_SCALE] = "scale"};
	const char *kind =
		assign->specials[layer] ? specials[assign->specials[layer]] : layer_kind(assign, step);
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	struct layer *item = &assign->list->items[layer];

	item->module = "";
	item->activation = "";
	item->site = operation->site
			     ? arena_text(&assign->list->arena, operation->site, strlen(operation->site))
			     : "";
	describe_as(assign, layer, step, kind ? kind : "layer");
}

void layer_set_kind(struct layer_assign *assign, uint32_t layer, uint32_t step, const char *kind)
{
	if (!is_named(assign->list->items[layer].name, kind))
		describe_as(assign, layer, step, kind);
}

/* The vendor's enumerators of activation modes, and of functions of the graph API from 100 on. */
static const char *const activation_modes[] = {
	"sigmoid", "relu", "tanh", "clipped relu", "elu", "identity", "swish"};
static const char *const pointwise_modes[] = {
	"relu", "tanh", "sigmoid", "elu", "gelu", "softplus", "swish", "gelu"};
#define FIRST_POINTWISE 100
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The activation among the nodes of a graph, "conv_fwd + add + relu_fwd"; the last one counts. */
static const char *fused_activation(const char *graph)
{
	const char *found = NULL;

	for (const char *node = graph; node; node = strstr(node, " + ")) {
		size_t length;

		node += strspn(node, " +");
		length = strcspn(node, " ");
		for (size_t i = 0; i < COUNT(pointwise_modes); i++) {
			size_t name_length = strlen(pointwise_modes[i]);

			if (length >= name_length + 4 &&
				strncmp(node, pointwise_modes[i], name_length) == 0 &&
				strncmp(node + length - 4, "_fwd", 4) == 0)
				found = pointwise_modes[i];
		}
	}
	return found;
}

/* The string under a label, or NULL. */
static const char *string_of(
	const struct layer_assign *assign, const struct timeline_operation *operation, const char *label)
{
	const struct timeline_function *function = &assign->timeline->functions[operation->function];

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_STRING && operation->values[i] &&
			strcmp(function->labels[i].name, label) == 0)
			return assign->timeline->strings[operation->values[i]];
	return NULL;
}

void layer_add_activation(struct layer_assign *assign, uint32_t layer, uint32_t step)
{
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	const struct timeline_descriptor *activation =
		descriptor_of_kind(assign, operation, PM_DESCRIPTOR_ACTIVATION);
	const struct timeline_descriptor *pointwise =
		descriptor_of_kind(assign, operation, PM_DESCRIPTOR_POINTWISE);
	const char *found = NULL;
	uint64_t value;

	if (activation && activation->value_count > 0 && activation->values[0] >= 0 &&
		activation->values[0] < (int64_t)COUNT(activation_modes))
		found = activation_modes[activation->values[0]];
	else if (pointwise && pointwise->value_count > 0 && pointwise->values[0] >= FIRST_POINTWISE &&
		 pointwise->values[0] < FIRST_POINTWISE + (int64_t)COUNT(pointwise_modes))
		found = pointwise_modes[pointwise->values[0] - FIRST_POINTWISE];
	else if (string_of(assign, operation, "graph"))
		found = fused_activation(string_of(assign, operation, "graph"));
	else if (timeline_value(assign->timeline, operation, "epilogue", &value))
		found = value & 2 ? "relu" : value & 32 ? "gelu" : NULL; /* the vendor's flags */
	if (found)
		assign->list->items[layer].activation = found;
}
