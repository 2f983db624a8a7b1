/* Checks graphs of the stand-in CUDA driver that are built and changed node by node. */
#include "test_cuda.h"
#include "test_common.h"

#include <string.h>

#define COUNT 8

static CUdeviceptr memory, other;
static CUstream stream;

/* What the device has there, after all that was submitted. */
static int at(CUdeviceptr address)
{
	int value;

	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
	return value;
}

static CUgraphNodeParams set_to(CUdeviceptr to, unsigned value)
{
	CUgraphNodeParams params;

	memset(&params, 0, sizeof(params));
	params.type = CU_GRAPH_NODE_TYPE_MEMSET;
	params.memset.dst = to;
	params.memset.value = value;
	params.memset.elementSize = 4;
	params.memset.width = COUNT;
	params.memset.height = 1;
	return params;
}

static CUgraphNodeParams copy_of(CUdeviceptr to, CUdeviceptr from)
{
	CUgraphNodeParams params;
	CUDA_MEMCPY3D *copy = &params.memcpy.copyParams;

	memset(&params, 0, sizeof(params));
	params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
	copy->srcMemoryType = copy->dstMemoryType = CU_MEMORYTYPE_DEVICE;
	copy->srcDevice = from;
	copy->dstDevice = to;
	copy->WidthInBytes = COUNT * sizeof(int);
	copy->Height = copy->Depth = 1;
	return params;
}

/* A launch of `fill`, which writes one value COUNT times. */
static CUgraphNodeParams fill_with(CUdeviceptr *to, int *value, void *arguments[2])
{
	CUgraphNodeParams params;

	arguments[0] = to;
	arguments[1] = value;
	memset(&params, 0, sizeof(params));
	params.type = CU_GRAPH_NODE_TYPE_KERNEL;
	params.kernel.func = test_kernel("fill");
	params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
	params.kernel.blockDimX = COUNT;
	params.kernel.blockDimY = params.kernel.blockDimZ = 1;
	params.kernel.kernelParams = arguments;
	return params;
}

static void check_type(CUgraphNode node, CUgraphNodeType wanted)
{
	CUgraphNodeType type;

	OK(cuGraphNodeGetType(node, &type));
	CHECK(type == wanted);
}

static CUgraphExec executable_of(CUgraph graph)
{
	CUgraphExec executable;

	OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
	return executable;
}

/* A set and, after it, a kernel on the same memory and a copy of it: by dependencies, not by order alone. */
static void test_chain(void)
{
	CUgraphNodeParams set = set_to(memory, 5), copy = copy_of(other, memory), fill;
	CUgraphNode first, second, third, fourth, both[2], nodes[8];
	CUgraphExec executable;
	void *arguments[2];
	size_t count = 8;
	int value = 7;
	CUgraph graph;

	fill = fill_with(&memory, &value, arguments);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddNode_v2(&first, graph, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&second, graph, &first, NULL, 1, &copy));
	OK(cuGraphAddNode_v2(&third, graph, &second, NULL, 1, &fill));
	value = 0; /* the arguments are taken when the node is made */
	both[0] = second;
	both[1] = third;
	OK(cuGraphAddEmptyNode(&fourth, graph, both, 2));
	OK(cuGraphGetNodes(graph, nodes, &count));
	CHECK(count == 4 && nodes[0] == first && nodes[3] == fourth);
	OK(cuGraphGetRootNodes(graph, NULL, &count));
	CHECK(count == 1);
	OK(cuGraphGetRootNodes(graph, nodes, &count));
	CHECK(count == 1 && nodes[0] == first);
	check_type(first, CU_GRAPH_NODE_TYPE_MEMSET);
	check_type(second, CU_GRAPH_NODE_TYPE_MEMCPY);
	check_type(third, CU_GRAPH_NODE_TYPE_KERNEL);
	check_type(fourth, CU_GRAPH_NODE_TYPE_EMPTY);
	executable = executable_of(graph);
	CHECK(at(memory) == 0);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 5 && at(memory + 4 * (COUNT - 1)) == 7);

	/* Other arguments, from the next launch on; the graph that it was made of keeps its own. */
	set = set_to(memory, 6);
	OK(cuGraphExecNodeSetParams(executable, first, &set));
	value = 8;
	OK(cuGraphExecNodeSetParams(executable, third, &fill));
	CHECK(at(memory) == 7);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 6 && at(memory) == 8);
	EXPECT(cuGraphExecNodeSetParams(executable, second, &set), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGraphExecNodeSetParams(executable, NULL, &set), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphExecDestroy(executable));
	executable = executable_of(graph);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 5 && at(memory) == 7);
	OK(cuGraphExecDestroy(executable));
	OK(cuGraphDestroy(graph));
}

/* A graph in a graph is a copy of it, shown as one node, and can be exchanged for one of the same form. */
static void test_child(void)
{
	CUgraphNodeParams set = set_to(memory, 1), copy = copy_of(other, memory);
	CUgraph inner, again, longer, outer;
	CUgraphNode node, child, last;
	CUgraphExec executable;
	size_t count;

	OK(cuGraphCreate(&inner, 0));
	OK(cuGraphCreate(&again, 0));
	OK(cuGraphCreate(&longer, 0));
	OK(cuGraphAddNode_v2(&node, inner, NULL, NULL, 0, &set));
	set = set_to(memory, 2);
	OK(cuGraphAddNode_v2(&node, again, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&node, longer, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&node, longer, &node, NULL, 1, &copy));
	OK(cuGraphCreate(&outer, 0));
	OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
	OK(cuGraphAddNode_v2(&last, outer, &child, NULL, 1, &copy));
	check_type(child, CU_GRAPH_NODE_TYPE_GRAPH);
	OK(cuGraphGetNodes(outer, NULL, &count));
	CHECK(count == 2);
	executable = executable_of(outer);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 1);
	/* what follows the child follows all of it, each time */
	for (int i = 0; i < 50; i++) {
		OK(cuGraphExecChildGraphNodeSetParams(executable, child, i % 2 ? inner : again));
		OK(cuGraphLaunch(executable, stream));
		CHECK(at(other) == 2 - i % 2);
	}
	EXPECT(cuGraphExecChildGraphNodeSetParams(executable, child, longer), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 1);
	OK(cuGraphExecDestroy(executable));
	OK(cuGraphDestroy(outer));
	OK(cuGraphDestroy(inner));
	OK(cuGraphDestroy(again));
	OK(cuGraphDestroy(longer));
}

/* A child graph that the node has taken over: its own nodes name what is changed in an executable graph, at
 * any depth, as XLA does with the body of a loop. */
static void test_moved(void)
{
	CUgraphNodeParams set = set_to(memory, 1), copy = copy_of(other, memory), child;
	CUgraph inner, middle, outer;
	CUgraphNode inner_set, inner_copy, node, child_node;
	CUgraphExec executable;

	OK(cuMemsetD8_v2(memory, 0, 32 * COUNT * sizeof(int)));
	OK(cuCtxSynchronize()); /* the stream does not wait for the default one */
	OK(cuGraphCreate(&inner, 0));
	OK(cuGraphCreate(&middle, 0));
	OK(cuGraphCreate(&outer, 0));
	OK(cuGraphAddNode_v2(&inner_set, inner, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&inner_copy, inner, &inner_set, NULL, 1, &copy));
	memset(&child, 0, sizeof(child));
	child.type = CU_GRAPH_NODE_TYPE_GRAPH;
	child.graph.graph = inner;
	memcpy(&child.graph.ownership, &(int){1}, sizeof(int)); /* moved */
	OK(cuGraphAddNode_v2(&child_node, middle, NULL, NULL, 0, &child));
	EXPECT(cuGraphAddNode_v2(&child_node, middle, NULL, NULL, 0, &child), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGraphDestroy(inner), CUDA_ERROR_INVALID_VALUE);
	child.graph.graph = middle;
	OK(cuGraphAddNode_v2(&child_node, outer, NULL, NULL, 0, &child));
	copy = copy_of(memory + 4 * COUNT, other);
	OK(cuGraphAddNode_v2(&node, outer, &child_node, NULL, 1, &copy));
	executable = executable_of(outer);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(memory + 4 * COUNT) == 1);
	set = set_to(memory, 2);
	copy = copy_of(other + 4, memory);
	copy.memcpy.copyParams.WidthInBytes = 4;
	OK(cuGraphExecNodeSetParams(executable, inner_set, &set));
	OK(cuGraphExecMemcpyNodeSetParams(executable, inner_copy, &copy.memcpy.copyParams, test_context));
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(memory + 4 * COUNT) == 1 && at(memory + 4 * COUNT + 4) == 2);
	OK(cuGraphExecDestroy(executable));
	OK(cuGraphDestroy(outer));
}

static void expect_update(
	CUgraphExec executable, CUgraph graph, int wanted, CUgraphNode node, CUgraphNode from)
{
	CUgraphExecUpdateResultInfo info;

	memset(&info, 0xff, sizeof(info));
	EXPECT(cuGraphExecUpdate_v2(executable, graph, &info),
		wanted == 0 ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	CHECK((int)info.result == wanted && info.errorNode == node && info.errorFromNode == from);
}

/* An update says which node it cannot take over, and why; until it can, nothing changes. */
static void test_update(void)
{
	CUgraphNodeParams set = set_to(memory, 1), copy = copy_of(other, memory), fill;
	CUgraphNode first, second, node, root;
	CUgraphExec executable;
	CUgraph graph, wanted;
	void *arguments[2];
	int value = 9;

	fill = fill_with(&memory, &value, arguments);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddNode_v2(&first, graph, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&second, graph, &first, NULL, 1, &copy));
	executable = executable_of(graph);

	OK(cuGraphCreate(&wanted, 0));
	set = set_to(memory, 5);
	OK(cuGraphAddNode_v2(&root, wanted, NULL, NULL, 0, &set));
	expect_update(executable, wanted, 2, NULL, NULL); /* a node less */
	OK(cuGraphAddNode_v2(&node, wanted, NULL, NULL, 0, &copy));
	expect_update(executable, wanted, 2, node, NULL); /* an edge less */
	OK(cuGraphDestroy(wanted));
	OK(cuGraphCreate(&wanted, 0));
	OK(cuGraphAddNode_v2(&root, wanted, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&node, wanted, &root, NULL, 1, &fill));
	expect_update(executable, wanted, 3, node, NULL); /* another kind */
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 1);
	OK(cuGraphDestroy(wanted));
	OK(cuGraphCreate(&wanted, 0));
	OK(cuGraphAddNode_v2(&root, wanted, NULL, NULL, 0, &set));
	OK(cuGraphAddNode_v2(&node, wanted, &root, NULL, 1, &copy));
	expect_update(executable, wanted, 0, NULL, NULL);
	OK(cuGraphLaunch(executable, stream));
	CHECK(at(other) == 5);
	OK(cuGraphAddNode_v2(&node, wanted, &node, NULL, 1, &fill));
	expect_update(executable, wanted, 2, node, NULL); /* a node more */
	OK(cuGraphExecDestroy(executable));
	OK(cuGraphDestroy(wanted));
	OK(cuGraphDestroy(graph));
}

/* Nothing is left of a node that cannot be made, and a graph has no end to its branches. */
static void test_refused(void)
{
	CUgraphNodeParams set = set_to(memory, 3), bad = set;
	CUgraphNode node, nodes[32];
	CUgraphExec executable;
	CUgraph graph, elsewhere;
	size_t count;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphCreate(&elsewhere, 0));
	OK(cuGraphAddNode_v2(&node, elsewhere, NULL, NULL, 0, &set));
	EXPECT(cuGraphAddNode_v2(&node, graph, &node, NULL, 1, &set), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGraphAddNode_v2(&node, graph, NULL, NULL, 1, &set), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGraphAddNode_v2(NULL, graph, NULL, NULL, 0, &set), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	bad.memset.elementSize = 3;
	EXPECT(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &bad), CUDA_ERROR_INVALID_VALUE);
	bad.type = (CUgraphNodeType)8; /* semaphores */
	EXPECT(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &bad), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuGraphGetNodes(graph, NULL, &count));
	CHECK(count == 0);
	for (int i = 0; i < 32; i++) {
		set = set_to(memory + 4 * COUNT * (CUdeviceptr)i, (unsigned)i);
		OK(cuGraphAddNode_v2(
			&nodes[i], graph, i % 3 == 0 ? NULL : &nodes[i / 2], NULL, i % 3 != 0, &set));
	}
	OK(cuGraphAddEmptyNode(&node, graph, nodes, 32));
	executable = executable_of(graph);
	OK(cuGraphLaunch(executable, stream));
	for (int i = 0; i < 32; i++)
		CHECK(at(memory + 4 * COUNT * (CUdeviceptr)i) == i);
	OK(cuGraphExecDestroy(executable));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(elsewhere));
}

void test_graph_nodes(void)
{
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&memory, 32 * COUNT * sizeof(int)));
	OK(cuMemAlloc_v2(&other, COUNT * sizeof(int)));
	OK(cuMemsetD8_v2(memory, 0, 32 * COUNT * sizeof(int)));
	OK(cuCtxSynchronize());
	test_chain();
	test_child();
	test_moved();
	test_update();
	test_refused();
	OK(cuMemFree_v2(memory));
	OK(cuMemFree_v2(other));
	OK(cuStreamDestroy_v2(stream));
}
