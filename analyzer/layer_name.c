/* What a layer is called and what its sizes are, from the descriptors and numbers of its first forward call.
 */
#include "layer_assign.h"
#include "trace.h"

#include <inttypes.h>
#include <string.h>

#define MOST_DIMENSIONS 8

const struct timeline_function *layer_function(const struct layer_assign *assign, uint32_t step)
{
	return &assign->timeline->functions[assign->timeline->operations[assign->graph.steps[step].operation]
						    .function];
}

const char *layer_kind(const struct layer_assign *assign, uint32_t step)
{
	static const struct {
		const char *word, *kind;
	} kinds[] = {
		{"Convolution", "conv"},
		{"Pooling", "pool"},
		{"Dropout", "dropout"},
		{"Softmax", "softmax"},
		{"Normalization", "norm"},
		{"LRN", "lrn"},
	};
	const char *name = layer_function(assign, step)->name;
	const struct worker_role *role = &assign->model->roles[assign->graph.steps[step].operation];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strstr(name, kinds[i].word))
			return kinds[i].kind;
	if ((role->flags & WORKER_READS) && graph_flow(&assign->graph, step)->shape == FLOW_PRODUCT)
		return "fc";
	if (role->flags & WORKER_READS)
		return "layer";
	return NULL;
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
	const struct timeline_descriptor *filter_descriptor = descriptor(assign, operation, "w");
	int64_t filter[MOST_DIMENSIONS];
	uint32_t count = dimensions(assign, operation, "w", filter), n;
	bool channels_last =
		filter_descriptor && filter_descriptor->value_count > 1 && filter_descriptor->values[1] == 1;
	const char *text;

	if (count < 3)
		return "";
	text = arena_format(arena, "%sx%" PRId64 "->%" PRId64,
		join(arena, filter + (channels_last ? 1 : 2), count - 2, "x"),
		filter[channels_last ? count - 1 : 1], filter[0]);
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

/* Which operand of a product is a parameter decides what m, n and k are. */
static const char *product_text(struct layer_assign *assign, struct arena *arena,
	const struct timeline_operation *operation, uint32_t step, const char **input)
{
	const struct flow *flow = graph_flow(&assign->graph, step);
	uint64_t m = 0, n = 0, k = 0, transposed = 0;
	bool first = false;

	for (uint32_t i = 0; i < flow->access_count; i++)
		if (flow->accesses[i].mode == FLOW_READ &&
			graph_parameter(&assign->graph, flow->accesses[i].address) != GRAPH_NONE) {
			first = flow->accesses[i].label[0] == 'a';
			break;
		}
	timeline_value(assign->timeline, operation, "m", &m);
	timeline_value(assign->timeline, operation, "n", &n);
	if (!timeline_value(assign->timeline, operation, "k", &k)) {
		timeline_value(assign->timeline, operation, "trans", &transposed);
		*input = arena_format(arena, "1x%" PRId64, (int64_t)(transposed ? m : n));
		return arena_format(arena, "%" PRId64 "->%" PRId64, (int64_t)(transposed ? m : n),
			(int64_t)(transposed ? n : m));
	}
	*input = arena_format(arena, "%" PRId64 "x%" PRId64, (int64_t)(first ? n : m), (int64_t)k);
	return arena_format(arena, "%" PRId64 "->%" PRId64, (int64_t)k, (int64_t)(first ? m : n));
}

static bool is_kind(const char *kind, const char *word)
{
	return strcmp(kind, word) == 0;
}

static uint32_t count_kind(const struct layer_assign *assign, const char *kind)
{
	size_t length = strlen(kind);
	uint32_t count = 0;

	for (size_t i = 0; i < assign->list->count; i++) {
		const char *name = assign->list->items[i].name;

		count += name && strncmp(name, kind, length) == 0 &&
			 strspn(name + length, "0123456789") == strlen(name + length);
	}
	return count;
}

void layer_describe(struct layer_assign *assign, uint32_t layer, uint32_t step)
{
	struct arena *arena = &assign->list->arena;
	struct layer *item = &assign->list->items[layer];
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	const char *kind = assign->losses[layer] ? "loss" : layer_kind(assign, step);
	int64_t shape[MOST_DIMENSIONS];
	uint32_t count = dimensions(assign, operation, "x", shape);

	if (count == 0)
		count = dimensions(assign, operation, "a", shape);
	item->input = join(arena, shape, count, "x");
	item->text = "";
	item->activation = "";
	item->site = operation->site ? arena_text(arena, operation->site, strlen(operation->site)) : "";
	if (!kind)
		kind = "layer";
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
	}
	/* One softmax or loss needs no number; a second one gets it. */
	if ((is_kind(kind, "softmax") || is_kind(kind, "loss")) && count_kind(assign, kind) == 0)
		item->name = kind;
	else
		item->name = arena_format(arena, "%s%u", kind, count_kind(assign, kind) + 1);
}

void layer_add_activation(struct layer_assign *assign, uint32_t layer, uint32_t step)
{
	/* The vendor's enumerators of activation modes. */
	static const char *const modes[] = {
		"sigmoid", "relu", "tanh", "clipped relu", "elu", "identity", "swish"};
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	const struct timeline_descriptor *activation = descriptor(assign, operation, "act");

	if (!activation || activation->kind != PM_DESCRIPTOR_ACTIVATION || activation->value_count < 1 ||
		activation->values[0] < 0 ||
		activation->values[0] >= (int64_t)(sizeof(modes) / sizeof(*modes)))
		return;
	assign->list->items[layer].activation = modes[activation->values[0]];
}
