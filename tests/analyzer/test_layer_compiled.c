/*
 * Layers in compiled code: between two calls whose layers are sure, guesses that are against the order of the
 * pass are mended, and nothing else is. Each case is the calls of a pass or two, with what flow of data has
 * found and what is to be.
 */
#include "check.h"
#include "reconstruct/layer_framework.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <string.h>

#define CALLS_MOST 8
#define NONE LAYER_NONE

enum what { POINTWISE, NORM, EAGER_NORM, PRODUCT, COPY, KINDS };
enum layers { A, B, C, D, LAYERS }; /* forward in this order */

struct call {
	enum what what;
	enum layer_pass pass;
	enum layer_why rule;
	uint32_t layer;
	uint32_t expected;
	bool eager;
};

#define EAGER(layer) \
	{ \
		POINTWISE, LAYER_FORWARD, LAYER_WHY_PARAMETER, layer, layer, true \
	}
#define OTHER BACK(POINTWISE, ASKED, NONE, NONE) /* as of the loss */
#define SURE(what, layer) \
	{ \
		what, LAYER_FORWARD, LAYER_WHY_PARAMETER, layer, layer, false \
	}
#define GUESS(what, layer, expected) \
	{ \
		what, LAYER_FORWARD, LAYER_WHY_GRADIENT, layer, expected, false \
	}
#define BACK(what, rule, layer, expected) \
	{ \
		what, LAYER_BACKWARD, LAYER_WHY_##rule, layer, expected, false \
	}

static const struct {
	const char *what;
	struct call calls[CALLS_MOST];
	uint32_t count;
} cases[] = {
	{"of a layer after both",
		{SURE(POINTWISE, A), GUESS(POINTWISE, C, A), SURE(POINTWISE, B), SURE(POINTWISE, C)}, 4},
	{"of a layer before both",
		{SURE(POINTWISE, A), SURE(POINTWISE, B), GUESS(POINTWISE, A, B), SURE(POINTWISE, C)}, 4},
	{"of none", {SURE(POINTWISE, A), GUESS(POINTWISE, NONE, A), SURE(POINTWISE, B)}, 3},
	{"backward, of a layer between them",
		{SURE(POINTWISE, A), SURE(POINTWISE, B), SURE(POINTWISE, C), OTHER,
			BACK(POINTWISE, PARAMETER, C, C), BACK(POINTWISE, GRADIENT, B, B),
			BACK(POINTWISE, PARAMETER, A, A)},
		7},
	{"backward, of one that also runs eagerly between them",
		{SURE(POINTWISE, A), EAGER(C), SURE(POINTWISE, B), SURE(POINTWISE, C), OTHER,
			BACK(POINTWISE, PARAMETER, B, B), BACK(POINTWISE, GRADIENT, C, B),
			BACK(POINTWISE, PARAMETER, A, A)},
		8},
	{"a product, to the product after it",
		{SURE(POINTWISE, A), GUESS(PRODUCT, C, B), SURE(PRODUCT, B), SURE(POINTWISE, C)}, 4},
	{"a product between two",
		{SURE(PRODUCT, A), GUESS(PRODUCT, C, A), SURE(PRODUCT, B), SURE(POINTWISE, C)}, 4},
	{"a product before none",
		{SURE(POINTWISE, A), GUESS(PRODUCT, C, A), SURE(POINTWISE, B), SURE(POINTWISE, C)}, 4},
	{"a copy is none", {SURE(POINTWISE, A), GUESS(COPY, C, A), SURE(PRODUCT, B), SURE(POINTWISE, C)}, 4},
	{"the first half of a norm", {SURE(PRODUCT, A), GUESS(NORM, A, B), SURE(NORM, B)}, 3},
	{"a norm before something else", {SURE(PRODUCT, A), GUESS(NORM, A, A), SURE(POINTWISE, B)}, 3},
	{"something else before a norm", {SURE(PRODUCT, A), GUESS(POINTWISE, A, A), SURE(NORM, B)}, 3},
	{"PyTorch's own norm", {SURE(PRODUCT, A), GUESS(EAGER_NORM, A, A), SURE(EAGER_NORM, B)}, 3},
	{"half a norm backward",
		{SURE(NORM, A), SURE(NORM, B), OTHER, BACK(NORM, PARAMETER, B, B), BACK(NORM, GRADIENT, B, B),
			BACK(NORM, PARAMETER, A, A)},
		6},
	{"what is no guess",
		{SURE(POINTWISE, A), {POINTWISE, LAYER_FORWARD, LAYER_WHY_ASKED, C, C, false},
			SURE(POINTWISE, B)},
		3},
	{"across eager code",
		{SURE(POINTWISE, A), EAGER(A), GUESS(POINTWISE, D, D), SURE(POINTWISE, C),
			SURE(POINTWISE, D)},
		5},
	{"across passes",
		{SURE(POINTWISE, A), SURE(POINTWISE, B), SURE(POINTWISE, C), BACK(POINTWISE, GRADIENT, A, A),
			BACK(POINTWISE, PARAMETER, B, B)},
		5},
	{"beside a layer that goes forward elsewhere",
		{SURE(POINTWISE, B), SURE(POINTWISE, A), OTHER, BACK(POINTWISE, PARAMETER, D, D),
			BACK(POINTWISE, GRADIENT, B, B), BACK(POINTWISE, PARAMETER, A, A)},
		6},
	{"beside one that is sure by its rule and of no layer",
		{SURE(POINTWISE, A), SURE(POINTWISE, NONE), GUESS(POINTWISE, C, A), SURE(POINTWISE, B),
			SURE(POINTWISE, C)},
		5},
};

struct fixture {
	struct timeline timeline;
	struct worker_model model;
	struct arena arena;
	uint32_t operations[KINDS];
};

static uint32_t add_kernel(struct builder *builder, uint32_t function, const char *name)
{
	const uint64_t values[] = {builder_string(builder, name)};

	return builder_operation(builder, function, 0, values);
}

static void make(struct fixture *f)
{
	struct builder builder;
	uint32_t launch, product, copy;

	builder_init(&builder);
	launch = builder_function(&builder, "cudart LAUNCH cudaLaunchKernel string:kernel");
	product = builder_function(&builder, "cublas COMPUTE cublasGemmEx int:m");
	copy = builder_function(&builder, "cudart COPY cudaMemcpyAsync bytes:bytes direction:dir");
	f->operations[POINTWISE] = add_kernel(&builder, launch, "triton_poi_fused_relu_1");
	f->operations[NORM] = add_kernel(&builder, launch, "triton_red_fused_native_layer_norm_0");
	f->operations[EAGER_NORM] = add_kernel(&builder, launch, "vectorized_layer_norm_kernel");
	f->operations[PRODUCT] = builder_operation(&builder, product, 0, (const uint64_t[]){8});
	f->operations[COPY] = builder_operation(&builder, copy, 0, (const uint64_t[]){64, 3});
	builder_timeline(&builder, &f->timeline);
	for (enum what what = POINTWISE; what < KINDS; what++)
		f->operations[what] += f->timeline.processes[0].first_operation;
	f->model =
		(struct worker_model){.timeline = &f->timeline, .flows = flow_list(&f->timeline, &f->arena)};
}

/* Puts a case's calls into a graph; layers and reasons are the test's. */
static void mend(const struct fixture *f, const struct call *calls, uint32_t count, uint32_t *layers,
	struct layer_reason *reasons)
{
	struct graph_step steps[CALLS_MOST] = {0};
	enum layer_pass passes[CALLS_MOST];
	bool compiled[CALLS_MOST];
	struct layer items[LAYERS] = {0};
	struct layer_list list = {.items = items, .count = LAYERS};
	struct layer_assign assign = {.timeline = &f->timeline,
		.model = &f->model,
		.graph = {.model = &f->model, .steps = steps, .step_count = count},
		.list = &list,
		.passes = passes,
		.layers = layers,
		.reasons = reasons};

	for (uint32_t i = 0; i < count; i++) {
		steps[i].operation = f->operations[calls[i].what];
		passes[i] = calls[i].pass;
		compiled[i] = !calls[i].eager;
		layers[i] = calls[i].layer;
		layer_by(&assign, i, calls[i].rule, GRAPH_NONE, 0);
	}
	layer_order_compiled(&assign, compiled);
}

static void check_case(const struct fixture *f, const char *what, const struct call *calls, uint32_t count)
{
	uint32_t layers[CALLS_MOST];
	struct layer_reason reasons[CALLS_MOST] = {0};

	mend(f, calls, count, layers, reasons);
	for (uint32_t i = 0; i < count; i++) {
		const bool moved = reasons[i].layer != calls[i].rule;

		CHECK(layers[i] == calls[i].expected, "%s: call %u is of layer %d, expected %d", what, i,
			(int)layers[i], (int)calls[i].expected);
		CHECK(moved == (calls[i].layer != calls[i].expected), "%s: call %u: rule %s", what, i,
			layer_why_keys[reasons[i].layer]);
		CHECK(!moved || (reasons[i].call > 0 && layers[reasons[i].call - 1] == layers[i] &&
					(reasons[i].layer == LAYER_WHY_PREVIOUS) ==
						(reasons[i].call - 1 < i)),
			"%s: call %u: rule %s by call %u", what, i, layer_why_keys[reasons[i].layer],
			reasons[i].call);
	}
}

/* Which rules are guesses, and which are sure. */
static void check_rules(const struct fixture *f)
{
	static const enum layer_why guesses[] = {LAYER_WHY_GRADIENT, LAYER_WHY_PARTNER, LAYER_WHY_SOURCE,
		LAYER_WHY_SINK, LAYER_WHY_MODULE, LAYER_WHY_NEXT, LAYER_WHY_PREVIOUS, LAYER_WHY_PLACE};
	static const enum layer_why sure[] = {LAYER_WHY_PARAMETER, LAYER_WHY_CAST, LAYER_WHY_SIBLING};
	struct call calls[] = {
		SURE(POINTWISE, A), GUESS(POINTWISE, C, A), SURE(POINTWISE, B), SURE(POINTWISE, C)};
	uint32_t layers[CALLS_MOST];
	struct layer_reason reasons[CALLS_MOST] = {0};

	for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
		calls[1].rule = guesses[i];
		mend(f, calls, 4, layers, reasons);
		CHECK(layers[1] == A, "rule %s is no guess", layer_why_keys[guesses[i]]);
	}
	calls[1].rule = LAYER_WHY_GRADIENT;
	for (size_t i = 0; i < sizeof(sure) / sizeof(*sure); i++) {
		calls[0].rule = sure[i];
		mend(f, calls, 4, layers, reasons);
		CHECK(layers[1] == A, "rule %s is not sure", layer_why_keys[sure[i]]);
	}
}

int main(void)
{
	struct fixture f = {.arena = {0}};

	make(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&f, cases[i].what, cases[i].calls, cases[i].count);
	check_rules(&f);
	arena_free(&f.arena);
	timeline_free(&f.timeline);
	return check_end();
}
