/* Dependencies among a graph's nodes, as the application sees and changes them. See graph.h. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

static cudaGraphNode_t handle_of(const struct sg_node *node)
{
	return (cudaGraphNode_t)(uintptr_t)node;
}

static size_t show_all(const struct sg_node *node, cudaGraphNode_t *nodes, size_t count)
{
	count = sg_graph_show(node->graph, node->depends_on[0], nodes, count);
	count = sg_graph_show(node->graph, node->depends_on[1], nodes, count);
	for (uint32_t i = 0; i < node->more_count; i++)
		count = sg_graph_show(node->graph, node->more[i], nodes, count);
	return count;
}

size_t sg_graph_show(const struct sg_graph *graph, uint32_t frontier, cudaGraphNode_t *nodes, size_t count)
{
	const struct sg_node *at;

	if (frontier == 0)
		return count;
	at = graph->nodes[frontier - 1];
	if (at->kind == SG_NODE_JOIN)
		return show_all(at, nodes, count);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] == handle_of(at))
			return count;
	}
	nodes[count] = handle_of(at);
	return count + 1;
}

size_t sg_node_dependencies(const struct sg_node *node, cudaGraphNode_t *nodes)
{
	return show_all(node, nodes, 0);
}

static void reach(uint32_t from, unsigned char *seen, uint32_t *stack, uint32_t *top)
{
	if (from == 0 || seen[from])
		return;
	seen[from] = 1;
	stack[(*top)++] = from;
}

/* 1: the node follows the other, by any number of edges. -1: out of memory. */
static int follows(const struct sg_node *node, const struct sg_node *other)
{
	const struct sg_graph *graph = node->graph;
	unsigned char *seen = calloc(graph->node_count + 1, 1);
	uint32_t *stack = calloc(graph->node_count + 1, sizeof(*stack)), top = 0;
	int result = -1;

	if (seen == NULL || stack == NULL)
		goto out;
	reach(node->place + 1, seen, stack, &top);
	while (top > 0) {
		const struct sg_node *at = graph->nodes[stack[--top] - 1];

		reach(at->depends_on[0], seen, stack, &top);
		reach(at->depends_on[1], seen, stack, &top);
		for (uint32_t i = 0; i < at->more_count; i++)
			reach(at->more[i], seen, stack, &top);
	}
	result = seen[other->place + 1];
out:
	free(seen);
	free(stack);
	return result;
}

/* Whether the edge is there, and what the node depends on; -1: out of memory. */
static int find(const struct sg_node *from, const struct sg_node *to, cudaGraphNode_t **nodes, size_t *count)
{
	*nodes = calloc(to->graph->node_count, sizeof(cudaGraphNode_t));
	if (*nodes == NULL)
		return -1;
	*count = sg_node_dependencies(to, *nodes);
	for (size_t i = 0; i < *count; i++) {
		if ((*nodes)[i] == handle_of(from))
			return 1;
	}
	return 0;
}

static cudaError_t add_more(struct sg_node *node, uint32_t other)
{
	uint32_t *more = realloc(node->more, (node->more_count + 1) * sizeof(*more));

	if (more == NULL)
		return cudaErrorMemoryAllocation;
	node->more = more;
	node->more[node->more_count++] = other;
	return cudaSuccess;
}

cudaError_t sg_graph_depend(struct sg_node *from, struct sg_node *to, const cudaGraphEdgeData *data)
{
	cudaGraphNode_t *nodes = NULL;
	size_t count;
	cudaError_t error;
	int found;

	if (from == NULL || to == NULL || from->graph != to->graph || from == to)
		return cudaErrorInvalidValue;
	found = find(from, to, &nodes, &count);
	free(nodes);
	if (found == 0)
		found = follows(from, to);
	if (found != 0)
		return found < 0 ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
	error = add_more(to, from->place + 1);
	if (error == cudaSuccess && from->place > to->place)
		to->graph->unordered = 1;
	if (error == cudaSuccess && data != NULL)
		error = sg_graph_set_edge_data(to->graph, from, to, *data);
	return error;
}

static void forget_edge(struct sg_graph *graph, const struct sg_node *from, const struct sg_node *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct sg_edge *edge = &graph->edges[i];

		if ((from == NULL || edge->from == from) && (to == NULL || edge->to == to))
			continue;
		graph->edges[kept++] = *edge;
	}
	graph->edge_count = kept;
}

cudaError_t sg_graph_undepend(struct sg_node *from, struct sg_node *to)
{
	cudaGraphNode_t *nodes = NULL;
	size_t count;
	cudaError_t error = cudaErrorInvalidValue;
	int found;

	if (from == NULL || to == NULL || from->graph != to->graph)
		return error;
	found = find(from, to, &nodes, &count);
	if (found <= 0) {
		free(nodes);
		return found < 0 ? cudaErrorMemoryAllocation : error;
	}
	to->depends_on[0] = to->depends_on[1] = 0;
	to->more_count = 0;
	error = cudaSuccess;
	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		const struct sg_node *other = (const struct sg_node *)(const void *)nodes[i];

		if (other != from)
			error = add_more(to, other->place + 1);
	}
	free(nodes);
	forget_edge(to->graph, from, to);
	return error;
}

cudaGraphEdgeData sg_graph_edge_data(
	const struct sg_graph *graph, const struct sg_node *from, const struct sg_node *to)
{
	cudaGraphEdgeData none;

	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].from == from && graph->edges[i].to == to)
			return graph->edges[i].data;
	}
	memset(&none, 0, sizeof(none));
	return none;
}

cudaError_t sg_graph_set_edge_data(
	struct sg_graph *graph, const struct sg_node *from, const struct sg_node *to, cudaGraphEdgeData data)
{
	static const cudaGraphEdgeData none;
	struct sg_edge *more;

	if (memcmp(&data, &none, sizeof(none)) == 0)
		return cudaSuccess;
	more = realloc(graph->edges, (graph->edge_count + 1) * sizeof(*more));
	if (more == NULL)
		return cudaErrorMemoryAllocation;
	graph->edges = more;
	graph->edges[graph->edge_count++] = (struct sg_edge){from, to, data};
	return cudaSuccess;
}

void sg_node_remove(struct sg_node *node)
{
	forget_edge(node->graph, node, NULL);
	forget_edge(node->graph, NULL, node);
	node->kind = SG_NODE_JOIN;
	node->depends_on[0] = node->depends_on[1] = 0;
	node->more_count = 0;
	node->fn = NULL;
	node->event = NULL;
	sg_bodies_close(node->bodies);
	node->bodies = NULL;
}
