/* Checks graphs of the stand-in runtime that are built node by node, asked about and changed: edges,
 * conditions, memory, user objects. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "test_common.h"
#include "test_cudart.h"

static cudaStream_t stream;
static int *memory; /* zeros; of each test's own making from then on */

static struct cudaGraphNodeParams set_to(int place, int value)
{
	struct cudaGraphNodeParams params;

	memset(&params, 0, sizeof(params));
	params.type = cudaGraphNodeTypeMemset;
	params.memset.dst = memory + place;
	params.memset.value = (unsigned)value;
	params.memset.elementSize = 4;
	params.memset.width = params.memset.height = 1;
	return params;
}

static cudaGraphNode_t add_set(cudaGraph_t graph, const cudaGraphNode_t *after, int place, int value)
{
	struct cudaGraphNodeParams params = set_to(place, value);
	cudaGraphNode_t node;

	OK(cudaGraphAddNode(&node, graph, after, NULL, after != NULL, &params));
	return node;
}

static cudaGraphNode_t add_copy(cudaGraph_t graph, const cudaGraphNode_t *after, int to, int from)
{
	cudaGraphNode_t node;

	OK(cudaGraphAddMemcpyNode1D(
		&node, graph, after, after != NULL, memory + to, memory + from, 4, cudaMemcpyDeviceToDevice));
	return node;
}

static cudaGraphNode_t add_fill(cudaGraph_t graph, int place, int value)
{
	int *to = memory + place;
	void *arguments[] = {&to, &value};
	struct cudaKernelNodeParams params;
	cudaGraphNode_t node;

	memset(&params, 0, sizeof(params));
	params.func = (void *)(uintptr_t)&kernel_fill;
	params.gridDim = params.blockDim = (dim3){1, 1, 1};
	params.kernelParams = arguments;
	OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
	return node;
}

static int at(int place)
{
	int value;

	OK(cudaStreamSynchronize(stream));
	OK(cudaMemcpy(&value, memory + place, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

static void run(cudaGraph_t graph)
{
	cudaGraphExec_t executable;
	unsigned long long flags;

	OK(cudaMemset(memory, 0, 64 * sizeof(int)));
	OK(cudaDeviceSynchronize());
	OK(cudaGraphInstantiate(&executable, graph, 2));
	OK(cudaGraphExecGetFlags(executable, &flags));
	CHECK(flags == 2);
	OK(cudaGraphLaunch(executable, stream));
	OK(cudaGraphExecDestroy(executable));
	OK(cudaStreamSynchronize(stream));
}

static cudaError_t add_edge(
	cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, const cudaGraphEdgeData *data)
{
	return cudaGraphAddDependencies(graph, &from, &to, data, 1);
}

/* Edges that come after their nodes, in whatever order those were made. */
static void test_edges(void)
{
	cudaGraphNode_t first, second, third, from[4], to[4];
	cudaGraphEdgeData data, answers[4];
	cudaGraph_t graph, clone;
	size_t count = 4;

	OK(cudaGraphCreate(&graph, 0));
	third = add_copy(graph, NULL, 2, 1);
	second = add_copy(graph, NULL, 1, 0);
	first = add_set(graph, NULL, 0, 7);
	OK(add_edge(graph, first, second, NULL));
	OK(add_edge(graph, second, third, NULL));
	EXPECT(add_edge(graph, second, third, NULL), cudaErrorInvalidValue);
	EXPECT(add_edge(graph, third, first, NULL), cudaErrorInvalidValue); /* a cycle */
	EXPECT(add_edge(graph, first, first, NULL), cudaErrorInvalidValue);
	OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
	CHECK(count == 2);
	count = 4;
	OK(cudaGraphGetEdges(graph, from, to, NULL, &count));
	CHECK(count == 2 && from[0] == second && to[0] == third && from[1] == first && to[1] == second);
	CHECK(from[2] == NULL && to[3] == NULL);
	count = 4;
	OK(cudaGraphNodeGetDependencies(second, from, NULL, &count));
	CHECK(count == 1 && from[0] == first);
	count = 4;
	OK(cudaGraphNodeGetDependentNodes(second, to, NULL, &count));
	CHECK(count == 1 && to[0] == third);
	OK(cudaGraphGetRootNodes(graph, from, &count));
	CHECK(count == 1 && from[0] == first);
	run(graph);
	CHECK(at(2) == 7);
	OK(cudaGraphClone(&clone, graph));
	OK(cudaGraphNodeFindInClone(&to[0], second, clone));
	OK(cudaGraphDestroyNode(to[0]));
	EXPECT(cudaGraphNodeFindInClone(&to[0], second, clone), cudaErrorInvalidValue);
	OK(cudaGraphGetNodes(clone, NULL, &count));
	CHECK(count == 2);
	OK(cudaGraphGetEdges(clone, NULL, NULL, NULL, &count));
	CHECK(count == 0);
	run(clone);
	CHECK(at(0) == 7 && at(2) == 0);
	OK(cudaGraphRemoveDependencies(graph, &first, &second, NULL, 1));
	EXPECT(cudaGraphRemoveDependencies(graph, &first, &second, NULL, 1), cudaErrorInvalidValue);
	OK(cudaGraphNodeGetDependencies(second, NULL, NULL, &count));
	CHECK(count == 0);
	OK(cudaGraphDestroy(clone));
	OK(cudaGraphDestroy(graph));

	/* a kernel may begin before the one that it follows is done */
	OK(cudaGraphCreate(&graph, 0));
	first = add_fill(graph, 0, 3);
	second = add_fill(graph, 1, 4);
	third = add_set(graph, NULL, 2, 5);
	memset(&data, 0, sizeof(data));
	data.type = 1;
	EXPECT(add_edge(graph, first, second, &data), cudaErrorInvalidValue); /* it says no port */
	data.from_port = 1;
	EXPECT(add_edge(graph, first, third, &data), cudaErrorInvalidValue);
	OK(add_edge(graph, first, second, &data));
	count = 4;
	EXPECT(cudaGraphGetEdges(graph, from, to, NULL, &count), cudaErrorLossyQuery);
	count = 4;
	OK(cudaGraphGetEdges(graph, from, to, answers, &count));
	CHECK(count == 1 && answers[0].type == 1 && answers[0].from_port == 1);
	run(graph);
	CHECK(at(0) == 3 && at(1) == 4 && at(2) == 5);
	OK(cudaGraphDestroy(graph));
}

static cudaGraphNode_t add_conditional(cudaGraph_t graph, enum cudaGraphConditionalNodeType type,
	unsigned size, int value, cudaGraph_t **bodies)
{
	struct cudaGraphNodeParams params;
	cudaGraphConditionalHandle handle;
	enum cudaGraphNodeType is;
	cudaGraphNode_t node;

	OK(cudaGraphConditionalHandleCreate(
		&handle, graph, (unsigned)value, value >= 0 ? cudaGraphCondAssignDefault : 0));
	memset(&params, 0, sizeof(params));
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.type = type;
	params.conditional.size = size;
	EXPECT(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params), cudaErrorInvalidValue);
	params.conditional.handle = handle;
	OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	*bodies = params.conditional.phGraph_out;
	OK(cudaGraphNodeGetType(node, &is));
	CHECK(is == cudaGraphNodeTypeConditional);
	EXPECT(cudaGraphDestroy((*bodies)[0]), cudaErrorInvalidValue);
	return node;
}

/* What a conditional node does follows from the value at launch; kernels that would set it do not run. */
static void test_conditions(void)
{
	static const struct {
		enum cudaGraphConditionalNodeType type;
		unsigned size;
		int value; /* negative: none is assigned */
		int ran;   /* the body, or -1 */
	} cases[] = {{cudaGraphCondTypeIf, 1, -1, 0}, {cudaGraphCondTypeIf, 1, 1, 0},
		{cudaGraphCondTypeIf, 1, 0, -1}, {cudaGraphCondTypeIf, 2, 0, 1},
		{cudaGraphCondTypeWhile, 1, -1, 0}, {cudaGraphCondTypeWhile, 1, 5, 0},
		{cudaGraphCondTypeWhile, 1, 0, -1}, {cudaGraphCondTypeSwitch, 3, -1, 0},
		{cudaGraphCondTypeSwitch, 3, 2, 2}, {cudaGraphCondTypeSwitch, 3, 3, -1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cudaGraph_t graph, *bodies;
		cudaGraphNode_t node;

		OK(cudaGraphCreate(&graph, 0));
		node = add_conditional(graph, cases[i].type, cases[i].size, cases[i].value, &bodies);
		add_copy(graph, &node, 20, 0);
		for (unsigned k = 0; k < cases[i].size; k++)
			add_set(bodies[k], NULL, 0, (int)k + 1);
		run(graph);
		CHECK(at(20) == cases[i].ran + 1);
		OK(cudaGraphDestroy(graph));
	}
}

/* A condition in what a stream records: the node goes into the graph by hand, its body is another stream's.
 */
static void test_captured_condition(void)
{
	struct cudaGraphNodeParams params;
	enum cudaStreamCaptureStatus status;
	const cudaGraphNode_t *before;
	cudaGraphNode_t node, nodes[4], from[4];
	cudaStream_t side;
	cudaGraph_t graph, body;
	size_t count, number = 4;

	OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	OK(cudaMemsetAsync(memory, 1, 4, stream));
	OK(cudaStreamGetCaptureInfo(stream, &status, NULL, &graph, &before, NULL, &count));
	CHECK(status == cudaStreamCaptureStatusActive && count == 1);
	memset(&params, 0, sizeof(params));
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.type = cudaGraphCondTypeIf;
	params.conditional.size = 1;
	OK(cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 0, 0));
	OK(cudaGraphAddNode(&node, graph, before, NULL, count, &params));
	body = params.conditional.phGraph_out[0];
	OK(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies));
	EXPECT(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, 2), cudaErrorInvalidValue);
	OK(cudaStreamBeginCaptureToGraph(side, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
	OK(cudaMemcpyAsync(memory + 1, memory, 4, cudaMemcpyDeviceToDevice, side));
	OK(cudaStreamEndCapture(side, NULL)); /* it is known */
	OK(cudaMemcpyAsync(memory + 2, memory + 1, 4, cudaMemcpyDeviceToDevice, stream));
	EXPECT(cudaStreamEndCapture(stream, NULL), cudaErrorInvalidValue);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphGetNodes(graph, nodes, &number));
	CHECK(number == 3 && nodes[1] == node);
	number = 4;
	OK(cudaGraphNodeGetDependencies(nodes[2], from, NULL, &number));
	CHECK(number == 1 && from[0] == node);
	run(graph);
	CHECK(at(2) == 0x01010101);
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamDestroy(side));
}

static void destroy(void *object)
{
	__atomic_store_n((int *)object, 1, __ATOMIC_RELEASE);
}

/* What a graph holds is there until it, what was made of it, and its launches are done. */
static void test_held(void)
{
	cudaUserObject_t object;
	cudaGraphExec_t executable;
	cudaGraph_t graph;
	struct gate gate;
	int done = 0;

	EXPECT(cudaUserObjectCreate(&object, &done, destroy, 1, 0), cudaErrorInvalidValue);
	OK(cudaUserObjectCreate(&object, &done, destroy, 1, cudaUserObjectNoDestructorSync));
	OK(cudaGraphCreate(&graph, 0));
	add_set(graph, NULL, 0, 1);
	OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
	OK(cudaGraphInstantiate(&executable, graph, 0));
	OK(cudaGraphDestroy(graph));
	CHECK(done == 0);
	gate_init(&gate);
	OK(cudaLaunchHostFunc(stream, gate_hold, &gate));
	OK(cudaGraphLaunch(executable, stream));
	OK(cudaGraphExecDestroy(executable));
	CHECK(__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 0);
	gate_open(&gate);
	OK(cudaStreamSynchronize(stream));
	CHECK(__atomic_load_n(&done, __ATOMIC_ACQUIRE) == 1);
	EXPECT(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue);
	OK(cudaUserObjectCreate(&object, &done, destroy, 2, cudaUserObjectNoDestructorSync));
	done = 0;
	OK(cudaUserObjectRetain(object, 1));
	OK(cudaUserObjectRelease(object, 2));
	CHECK(done == 0);
	OK(cudaUserObjectRelease(object, 1));
	CHECK(done == 1);
}

static void count_up(void *counter)
{
	++*(int *)counter;
}

/* Memory, events, host functions as nodes; nodes that are set, and turned off where they are executable. */
static void test_kinds(void)
{
	struct cudaMemAllocNodeParams alloc;
	struct cudaHostNodeParams host = {count_up, NULL};
	cudaGraphNode_t node, set, last;
	cudaGraphExec_t executable;
	cudaEvent_t event;
	cudaGraph_t graph;
	enum cudaGraphNodeType type;
	unsigned enabled;
	int counter = 0, other = 0;
	struct cudaGraphNodeParams params = set_to(0, 9);
	char text[512] = "";
	FILE *file;

	OK(cudaEventCreate(&event));
	OK(cudaGraphCreate(&graph, 0));
	memset(&alloc, 0, sizeof(alloc));
	EXPECT(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc), cudaErrorInvalidValue);
	alloc.bytesize = 1000;
	OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
	CHECK(alloc.dptr != NULL);
	OK(cudaGraphNodeGetType(node, &type));
	CHECK((int)type == 10);
	set = add_set(graph, &node, 0, 5);
	host.userData = &counter;
	OK(cudaGraphAddHostNode(&last, graph, &set, 1, &host));
	OK(cudaGraphAddEventRecordNode(&node, graph, &last, 1, event));
	OK(cudaGraphAddEmptyNode(&node, graph, &node, 1));
	OK(cudaGraphAddMemFreeNode(&node, graph, &node, 1, alloc.dptr));
	OK(cudaGraphNodeGetType(node, &type));
	CHECK((int)type == 11);
	EXPECT(cudaGraphClone(&graph, graph), cudaErrorNotSupported);
	OK(cudaGraphInstantiate(&executable, graph, 0));
	OK(cudaGraphLaunch(executable, stream));
	OK(cudaEventSynchronize(event));
	CHECK(at(0) == 5 && counter == 1);
	OK(cudaGraphNodeSetParams(set, &params)); /* of the graph: what was made of it stays */
	host.userData = &other;
	OK(cudaGraphExecHostNodeSetParams(executable, last, &host));
	OK(cudaGraphLaunch(executable, stream));
	CHECK(at(0) == 5 && counter == 1 && other == 1);
	OK(cudaGraphNodeGetEnabled(executable, set, &enabled));
	CHECK(enabled == 1);
	OK(cudaGraphNodeSetEnabled(executable, set, 0));
	EXPECT(cudaGraphNodeSetEnabled(executable, last, 0), cudaErrorInvalidValue);
	OK(cudaMemset(memory, 0, 4));
	OK(cudaGraphLaunch(executable, stream));
	CHECK(at(0) == 0 && other == 2);
	OK(cudaGraphExecDestroy(executable));
	run(graph);
	CHECK(at(0) == 9);

	EXPECT(cudaGraphDebugDotPrint(graph, "/nowhere/graph.dot", 0), cudaErrorOperatingSystem);
	OK(cudaGraphDebugDotPrint(graph, "test_cudart_graph.dot", 0));
	file = fopen("test_cudart_graph.dot", "r");
	CHECK(file != NULL && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	remove("test_cudart_graph.dot");
	CHECK(strncmp(text, "digraph dot {", 13) == 0 && strstr(text, "MEM_ALLOC") != NULL);
	OK(cudaGraphDestroy(graph));
	OK(cudaEventDestroy(event));
	cudaGetLastError();
}

void test_graphs(void)
{
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&memory, 64 * sizeof(int)));
	test_edges();
	test_conditions();
	test_captured_condition();
	test_held();
	test_kinds();
	OK(cudaFree(memory));
	OK(cudaStreamDestroy(stream));
	cudaGetLastError();
}
