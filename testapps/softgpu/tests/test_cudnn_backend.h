/*
 * For the tests of cuDNN's backend API: descriptors in a line each, and an operation graph from its
 * operations to its execution.
 *
 * The one idea: all descriptors of a graph are kept in a list and destroyed while the stream is still held
 * back, so that work which still needs them is found out.
 */
#ifndef TEST_CUDNN_BACKEND_H
#define TEST_CUDNN_BACKEND_H

#include "test_compute.h"

#define MADE_MAX 256
#define BOUND_MAX 32
#define OPS_MAX 32

typedef cudnnBackendDescriptor_t descriptor;

/* Everything made since begin_graph(), and what the execution is given. */
static struct {
	descriptor made[MADE_MAX];
	int made_count;
	descriptor op[OPS_MAX];
	int64_t op_count;
	int64_t uid[BOUND_MAX];
	void *pointer[BOUND_MAX];
	int64_t bound_count;
} graph;

static inline void begin_graph(void)
{
	memset(&graph, 0, sizeof(graph));
}

static inline descriptor make(cudnnBackendDescriptorType_t type)
{
	descriptor made = NULL;

	OK(cudnnBackendCreateDescriptor(type, &made));
	EXPECT(made != NULL && graph.made_count < MADE_MAX);
	graph.made[graph.made_count++] = made;
	return made;
}

static inline descriptor finalized(descriptor made)
{
	OK(cudnnBackendFinalize(made));
	return made;
}

static inline void set_ints(
	descriptor d, cudnnBackendAttributeName_t name, int64_t count, const int64_t *value)
{
	OK(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_INT64, count, value));
}

static inline void set_int(descriptor d, cudnnBackendAttributeName_t name, int64_t value)
{
	set_ints(d, name, 1, &value);
}

/* Enumerators are four bytes whatever their type. */
static inline void set_enum(
	descriptor d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int value)
{
	OK(cudnnBackendSetAttribute(d, name, type, 1, &value));
}

static inline void set_bool(descriptor d, cudnnBackendAttributeName_t name, bool value)
{
	OK(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_BOOLEAN, 1, &value));
}

static inline void set_double(descriptor d, cudnnBackendAttributeName_t name, double value)
{
	OK(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_DOUBLE, 1, &value));
}

static inline void set_float(descriptor d, cudnnBackendAttributeName_t name, float value)
{
	OK(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_FLOAT, 1, &value));
}

static inline void set_part(descriptor d, cudnnBackendAttributeName_t name, descriptor part)
{
	OK(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part));
}

/* What the execution will find under an id. */
static inline void bind(int64_t uid, void *pointer)
{
	graph.uid[graph.bound_count] = uid;
	graph.pointer[graph.bound_count++] = pointer;
}

/* A tensor that is not finalised yet. */
static inline descriptor open_tensor(
	int64_t uid, cudnnDataType_t type, int ndims, const int *dim, const int *stride)
{
	descriptor d = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	int64_t wide[2][DIMS_MAX];

	for (int i = 0; i < ndims; i++) {
		wide[0][i] = dim[i];
		wide[1][i] = stride[i];
	}
	set_enum(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, (int)type);
	set_ints(d, CUDNN_ATTR_TENSOR_DIMENSIONS, ndims, wide[0]);
	set_ints(d, CUDNN_ATTR_TENSOR_STRIDES, ndims, wide[1]);
	set_int(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
	set_int(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 4);
	return d;
}

static inline descriptor graph_tensor(int64_t uid, const struct tensor *t)
{
	bind(uid, t->device);
	return finalized(open_tensor(uid, t->type, t->ndims, t->dim, t->stride));
}

/* One that lives between two operations only, laid out like another. */
static inline descriptor virtual_like(int64_t uid, const struct tensor *t)
{
	descriptor d = open_tensor(uid, t->type, t->ndims, t->dim, t->stride);

	set_bool(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
	return finalized(d);
}

/* A scalar that is passed by value: *value is read at the execution. */
static inline descriptor scalar_tensor(int64_t uid, int ndims, float *value)
{
	static const int ones[DIMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
	descriptor d = open_tensor(uid, CUDNN_DATA_FLOAT, ndims, ones, ones);

	set_bool(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
	bind(uid, value);
	return finalized(d);
}

static inline void add_op(descriptor op)
{
	graph.op[graph.op_count++] = finalized(op);
}

static inline descriptor pointwise(cudnnPointwiseMode_t mode)
{
	descriptor d = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);

	set_enum(d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, (int)mode);
	set_enum(d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	return d;
}

/* An operation of up to three inputs; b and t may be NULL. */
static inline descriptor pointwise_op(descriptor pw, descriptor x, descriptor b, descriptor t, descriptor y)
{
	descriptor op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);

	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pw);
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
	if (b != NULL)
		set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
	if (t != NULL)
		set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
	return op;
}

static inline void add_pointwise(cudnnPointwiseMode_t mode, descriptor x, descriptor b, descriptor y)
{
	add_op(pointwise_op(finalized(pointwise(mode)), x, b, NULL, y));
}

static inline descriptor make_graph(void)
{
	descriptor d = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

	OK(cudnnBackendSetAttribute(
		d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph.op_count, graph.op));
	OK(cudnnBackendSetAttribute(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
	return d;
}

static inline descriptor make_heuristics(descriptor of, cudnnBackendHeurMode_t mode)
{
	descriptor d = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);

	set_part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, of);
	set_enum(d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, (int)mode);
	return d;
}

/* The plan for the heuristics' proposal of that number; *workspace_bytes: what it needs. */
static inline descriptor make_plan(descriptor heuristics, int proposal, int64_t *workspace_bytes)
{
	descriptor config[2] = {
		make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)};
	descriptor plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	int64_t count = 0;

	OK(cudnnBackendGetAttribute(
		heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, &count, config));
	EXPECT(count > proposal);
	OK(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
	set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config[proposal]);
	finalized(plan);
	OK(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
		&count, workspace_bytes));
	return plan;
}

static inline descriptor make_pack(void *workspace)
{
	descriptor d = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	OK(cudnnBackendSetAttribute(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
		graph.bound_count, graph.pointer));
	set_ints(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, graph.bound_count, graph.uid);
	OK(cudnnBackendSetAttribute(
		d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
	return d;
}

static inline void destroy_all(void)
{
	while (graph.made_count > 0)
		OK(cudnnBackendDestroyDescriptor(graph.made[--graph.made_count]));
}

/* From the operations to results on the device, by each engine in turn. */
static inline void run_graph(void)
{
	static int turn;
	int proposal = turn++ % 2;
	int64_t bytes = 0;
	void *workspace = NULL;
	descriptor heuristics = finalized(make_heuristics(finalized(make_graph()), CUDNN_HEUR_MODE_A));
	descriptor plan = make_plan(heuristics, proposal, &bytes);

	EXPECT((bytes > 0) == (proposal == 1));
	if (bytes > 0)
		CUDA(cudaMalloc(&workspace, (size_t)bytes));
	close_gate();
	OK(cudnnBackendExecute(handle, plan, finalized(make_pack(workspace))));
	destroy_all();
	open_gate();
	CUDA(cudaFree(workspace));
}

#endif
