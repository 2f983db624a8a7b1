/* Plans of cuDNN's graph API: see graph.h. */
#include "graph.h"

#include <stdbool.h>

#include "check.h"

/* The tensors' ids. The last two lie between operations and have no memory. */
enum { X = 'x', W = 'w', Y = 'y', BIAS = 'b', CONVOLVED = 'c', BIASED = 'a' };

enum { PROPOSALS = 8 };
enum { ALIGNMENT = 16 }; /* bytes, of all memory but an input's */

struct graph_plan {
	cudnnBackendDescriptor_t plan;
	bool has_bias;
};

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t made;

	CHECK(cudnnBackendCreateDescriptor(type, &made));
	return made;
}

static void destroy(cudnnBackendDescriptor_t descriptor)
{
	CHECK(cudnnBackendDestroyDescriptor(descriptor));
}

static void set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
	CHECK(cudnnBackendSetAttribute(descriptor, name, type, count, values));
}

static void set_ints(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, int64_t count,
	const int64_t *values)
{
	set(descriptor, name, CUDNN_TYPE_INT64, count, values);
}

static void set_part(
	cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t part)
{
	set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part);
}

/* Shapes are copied into what refers to them, so a part can go once it has been set. */
static void give_part(
	cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t part)
{
	set_part(descriptor, name, part);
	destroy(part);
}

static cudnnBackendDescriptor_t tensor(
	int64_t id, int dims, struct nn_shape s, int64_t alignment, bool is_virtual)
{
	const int64_t sizes3[] = {s.n, s.c, s.d, s.h, s.w}, sizes2[] = {s.n, s.c, s.h, s.w};
	const int64_t map = (int64_t)s.d * s.h * s.w;
	const int64_t strides3[] = {s.c * map, map, (int64_t)s.h * s.w, s.w, 1},
		      strides2[] = {s.c * map, map, s.w, 1};
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set_ints(d, CUDNN_ATTR_TENSOR_DIMENSIONS, 2 + dims, dims == 3 ? sizes3 : sizes2);
	set_ints(d, CUDNN_ATTR_TENSOR_STRIDES, 2 + dims, dims == 3 ? strides3 : strides2);
	set_ints(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &id);
	set_ints(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &alignment);
	set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	CHECK(cudnnBackendFinalize(d));
	return d;
}

static cudnnBackendDescriptor_t convolution(const struct nn_layer *l)
{
	const int64_t dims = l->dims, pad[] = {l->pad, l->pad, l->pad},
		      stride[] = {l->stride, l->stride, l->stride}, dilation[] = {1, 1, 1};
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	set(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &dims);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, dims, pad);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, dims, pad);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, dims, stride);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, dims, dilation);
	CHECK(cudnnBackendFinalize(d));
	return d;
}

/* What the same parts are called in each direction. */
static const struct direction {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
} forward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
	CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
	CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
	CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
  backward_data = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
  backward_filter = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
	  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

static cudnnBackendDescriptor_t convolve(const struct direction *as, const struct nn_layer *l, int64_t y_id)
{
	const int k = l->kernel;
	const struct nn_shape filter = {l->out.c, l->in.c / l->groups, l->dims == 3 ? k : 1, k, k};
	const float one = 1, zero = 0;
	cudnnBackendDescriptor_t op = make(as->type);

	give_part(op, as->x, tensor(X, l->dims, l->in, l->x_alignment, false));
	give_part(op, as->w, tensor(W, l->dims, filter, ALIGNMENT, false));
	give_part(op, as->y, tensor(y_id, l->dims, l->out, ALIGNMENT, y_id != Y));
	give_part(op, as->convolution, convolution(l));
	set(op, as->alpha, CUDNN_TYPE_FLOAT, 1, &one);
	set(op, as->beta, CUDNN_TYPE_FLOAT, 1, &zero);
	CHECK(cudnnBackendFinalize(op));
	return op;
}

/* From the layer's output `from` to the one named `to`; ADD takes the biases too. */
static cudnnBackendDescriptor_t pointwise(
	cudnnPointwiseMode_t mode, const struct nn_layer *l, int64_t from, int64_t to)
{
	const struct nn_shape bias = {1, l->out.c, 1, 1, 1};
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	cudnnBackendDescriptor_t how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
	cudnnBackendDescriptor_t op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);

	set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
	CHECK(cudnnBackendFinalize(how));
	give_part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
	give_part(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(from, l->dims, l->out, ALIGNMENT, true));
	if (mode == CUDNN_POINTWISE_ADD)
		give_part(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
			tensor(BIAS, l->dims, bias, ALIGNMENT, false));
	give_part(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(to, l->dims, l->out, ALIGNMENT, to != Y));
	CHECK(cudnnBackendFinalize(op));
	return op;
}

static cudnnBackendDescriptor_t operation_graph(
	cudnnHandle_t cudnn, enum graph_kind kind, const struct nn_layer *l)
{
	cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), op[3];
	int64_t count = 0;

	if (kind == GRAPH_BACKWARD_DATA)
		op[count++] = convolve(&backward_data, l, Y);
	else if (kind == GRAPH_BACKWARD_FILTER)
		op[count++] = convolve(&backward_filter, l, Y);
	else
		op[count++] = convolve(&forward, l, kind == GRAPH_FORWARD ? Y : CONVOLVED);
	if (kind == GRAPH_FORWARD_BIAS || kind == GRAPH_FORWARD_BIAS_RELU)
		op[count++] =
			pointwise(CUDNN_POINTWISE_ADD, l, CONVOLVED, kind == GRAPH_FORWARD_BIAS ? Y : BIASED);
	if (kind == GRAPH_FORWARD_BIAS_RELU)
		op[count++] = pointwise(CUDNN_POINTWISE_RELU_FWD, l, BIASED, Y);
	set(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, op);
	set(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn);
	CHECK(cudnnBackendFinalize(d));
	while (count > 0)
		destroy(op[--count]);
	return d;
}

/* Whether a proposal gives the same result every time and computes with all of a float's digits. */
static bool is_exact(cudnnBackendDescriptor_t config)
{
	cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
	cudnnBackendDescriptor_t engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	int64_t count = 0;
	bool exact = true;

	CHECK(cudnnBackendGetAttribute(
		config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
	CHECK(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
		CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, note));
	for (int64_t i = 0; i < count; i++)
		exact = exact && note[i] != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC &&
			note[i] != CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
			note[i] != CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
	destroy(engine);
	return exact;
}

/* The plan for a proposal; NULL where the library cannot do it after all. */
static cudnnBackendDescriptor_t try_plan(
	cudnnHandle_t cudnn, cudnnBackendDescriptor_t config, size_t *workspace_size)
{
	cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	int64_t count = 0, size = 0;

	set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn);
	set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	if (cudnnBackendFinalize(plan) != CUDNN_STATUS_SUCCESS) {
		destroy(plan);
		return NULL;
	}
	CHECK(cudnnBackendGetAttribute(
		plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &size));
	if ((size_t)size > *workspace_size)
		*workspace_size = (size_t)size;
	return plan;
}

/* Of the library's proposals, best first, the first that will do. */
static cudnnBackendDescriptor_t choose_plan(cudnnHandle_t cudnn, cudnnBackendDescriptor_t graph,
	cudnnBackendHeurMode_t mode, size_t *workspace_size)
{
	cudnnBackendDescriptor_t heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), config[PROPOSALS];
	cudnnBackendDescriptor_t plan = NULL;
	int64_t count = 0;

	for (int i = 0; i < PROPOSALS; i++)
		config[i] = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
	set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	if (cudnnBackendFinalize(heuristics) == CUDNN_STATUS_SUCCESS)
		CHECK(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
			CUDNN_TYPE_BACKEND_DESCRIPTOR, PROPOSALS, &count, config));
	for (int64_t i = 0; i < count && plan == NULL; i++)
		plan = is_exact(config[i]) ? try_plan(cudnn, config[i], workspace_size) : NULL;
	for (int i = 0; i < PROPOSALS; i++)
		destroy(config[i]);
	destroy(heuristics);
	return plan;
}

struct graph_plan *graph_plan_create(
	cudnnHandle_t cudnn, enum graph_kind kind, const struct nn_layer *layer, size_t *workspace_size)
{
	cudnnBackendDescriptor_t graph = operation_graph(cudnn, kind, layer);
	cudnnBackendDescriptor_t chosen = choose_plan(cudnn, graph, CUDNN_HEUR_MODE_A, workspace_size);
	struct graph_plan *plan = NULL;

	if (!chosen)
		chosen = choose_plan(cudnn, graph, CUDNN_HEUR_MODE_FALLBACK, workspace_size);
	destroy(graph);
	if (chosen) {
		plan = xcalloc(1, sizeof(*plan));
		plan->plan = chosen;
		plan->has_bias = kind == GRAPH_FORWARD_BIAS || kind == GRAPH_FORWARD_BIAS_RELU;
	}
	return plan;
}

void graph_plan_destroy(struct graph_plan *plan)
{
	if (plan)
		destroy(plan->plan);
	free(plan);
}

void graph_plan_run(cudnnHandle_t cudnn, const struct graph_plan *plan, const struct graph_memory *memory,
	void *workspace)
{
	static const int64_t id[] = {X, W, Y, BIAS};
	const void *pointer[] = {memory->x, memory->w, memory->y, memory->bias};
	const int64_t count = plan->has_bias ? 4 : 3;
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	set_ints(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, count, id);
	set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointer);
	set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
	CHECK(cudnnBackendFinalize(pack));
	CHECK(cudnnBackendExecute(cudnn, plan->plan, pack));
	destroy(pack);
}
