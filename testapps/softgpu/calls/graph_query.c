/* What is asked of graphs and of their nodes, and what is changed in one but its nodes' arguments. See
 * calls.h. */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sg_node *node_of(cudaGraphNode_t handle)
{
	return (struct sg_node *)(void *)handle;
}

static int is_plain(const cudaGraphEdgeData *data)
{
	static const cudaGraphEdgeData plain;

	return memcmp(data, &plain, sizeof(plain)) == 0;
}

/* Where edges are answered to; their number is counted in any case. */
struct answer {
	cudaGraphNode_t *from, *to;
	cudaGraphEdgeData *data;
	size_t room, count;
	int lossy; /* an edge has data and there is no place for it */
};

static void answer_edge(struct answer *answer, cudaGraphNode_t from, const struct sg_node *to)
{
	cudaGraphEdgeData data = sg_graph_edge_data(to->graph, node_of(from), to);
	size_t at = answer->count++;

	if ((answer->from == NULL && answer->to == NULL) || at >= answer->room)
		return;
	if (answer->from != NULL)
		answer->from[at] = from;
	if (answer->to != NULL)
		answer->to[at] = (cudaGraphNode_t)(uintptr_t)to;
	if (answer->data != NULL)
		answer->data[at] = data;
	else if (!is_plain(&data))
		answer->lossy = 1;
}

/* The edges of a graph: to one node, from one node, or all (NULL). */
static cudaError_t answer_edges(const struct sg_graph *graph, const struct sg_node *from,
	const struct sg_node *to, struct answer *answer)
{
	cudaGraphNode_t *nodes = calloc(graph->node_count + 1, sizeof(cudaGraphNode_t));

	if (nodes == NULL)
		return cudaErrorMemoryAllocation;
	pthread_mutex_lock(&sg_capture_lock);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sg_node *node = graph->nodes[i];
		size_t count;

		if (node->kind == SG_NODE_JOIN || (to != NULL && node != to))
			continue;
		count = sg_node_dependencies(node, nodes);
		for (size_t k = 0; k < count; k++) {
			if (from == NULL || node_of(nodes[k]) == from)
				answer_edge(answer, nodes[k], node);
		}
	}
	pthread_mutex_unlock(&sg_capture_lock);
	free(nodes);
	return answer->lossy ? cudaErrorLossyQuery : cudaSuccess;
}

/* More room than edges: the rest is NULL, and the number says how many there are. */
static void pad(const struct answer *answer, size_t *count)
{
	for (size_t i = answer->count; i < answer->room; i++) {
		if (answer->from != NULL)
			answer->from[i] = NULL;
		if (answer->to != NULL)
			answer->to[i] = NULL;
	}
	*count = answer->room > 0 && answer->count > answer->room ? answer->room : answer->count;
}

cudaError_t sg_graph_get_edges(cudaGraph_t handle, cudaGraphNode_t *from, cudaGraphNode_t *to,
	cudaGraphEdgeData *data, size_t *count)
{
	const struct sg_graph *graph = sg_graph_of(handle);
	struct answer answer = {from, to, data, 0, 0, 0};
	cudaError_t error;

	if (graph == NULL || count == NULL || (from == NULL) != (to == NULL))
		return cudaErrorInvalidValue;
	answer.room = from != NULL ? *count : 0;
	error = answer_edges(graph, NULL, NULL, &answer);
	pad(&answer, count);
	return error;
}

cudaError_t sg_graph_get_neighbours(
	cudaGraphNode_t handle, int after, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count)
{
	const struct sg_node *node = node_of(handle);
	struct answer answer = {after ? NULL : nodes, after ? nodes : NULL, data, 0, 0, 0};
	cudaError_t error;

	if (node == NULL || count == NULL)
		return cudaErrorInvalidValue;
	answer.room = nodes != NULL ? *count : 0;
	error = answer_edges(node->graph, after ? node : NULL, after ? NULL : node, &answer);
	pad(&answer, count);
	return error;
}

/* Only kernels may let what follows begin before they are done, and only kernels. */
static cudaError_t check_data(const cudaGraphEdgeData *data, cudaGraphNode_t from, cudaGraphNode_t to)
{
	static const unsigned char none[5];

	if (data->type > 1 || data->from_port > 2 || data->to_port != 0 ||
		memcmp(data->reserved, none, sizeof(none)) != 0 || (data->type == 1 && data->from_port == 0))
		return cudaErrorInvalidValue;
	if (is_plain(data))
		return cudaSuccess;
	if (sg_graph_node_type(node_of(from)) != (int)cudaGraphNodeTypeKernel ||
		(to != NULL && sg_graph_node_type(node_of(to)) != (int)cudaGraphNodeTypeKernel))
		return cudaErrorInvalidValue;
	return cudaSuccess;
}

cudaError_t sg_graph_change_edges(cudaGraph_t handle, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	const cudaGraphEdgeData *data, size_t count, int add)
{
	struct sg_graph *graph = sg_graph_of(handle);
	cudaError_t error = cudaSuccess;

	if (graph == NULL || (count > 0 && (from == NULL || to == NULL)))
		return cudaErrorInvalidValue;
	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		struct sg_node *first = node_of(from[i]), *second = node_of(to[i]);

		if (first == NULL || second == NULL || first->graph != graph || second->graph != graph)
			error = cudaErrorInvalidValue;
		else if (add && data != NULL)
			error = check_data(&data[i], from[i], to[i]);
		if (error != cudaSuccess)
			break;
		pthread_mutex_lock(&sg_capture_lock);
		error = add ? sg_graph_depend(first, second, data != NULL ? &data[i] : NULL)
			    : sg_graph_undepend(first, second);
		pthread_mutex_unlock(&sg_capture_lock);
	}
	return error;
}

cudaError_t sg_graph_note_edges(
	cudaGraphNode_t to, const cudaGraphNode_t *from, const cudaGraphEdgeData *data, size_t count)
{
	cudaError_t error = cudaSuccess;

	for (size_t i = 0; data != NULL && i < count && error == cudaSuccess; i++) {
		error = check_data(&data[i], from[i], to);
		if (error == cudaSuccess)
			error = sg_graph_set_edge_data(
				node_of(to)->graph, node_of(from[i]), node_of(to), data[i]);
	}
	return error;
}

cudaError_t sg_graph_check_edges(
	cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphEdgeData *data, size_t count)
{
	for (size_t i = 0; data != NULL && from != NULL && i < count; i++) {
		if (node_of(from[i]) == NULL || node_of(from[i])->graph != sg_graph_of(graph) ||
			check_data(&data[i], from[i], NULL) != cudaSuccess)
			return cudaErrorInvalidValue;
	}
	return cudaSuccess;
}

cudaError_t sg_graph_node_destroy(cudaGraphNode_t handle)
{
	struct sg_node *node = node_of(handle);

	if (node == NULL || node->kind == SG_NODE_JOIN)
		return cudaErrorInvalidValue;
	if (node->kind == SG_NODE_ALLOC || node->kind == SG_NODE_FREE)
		return cudaErrorNotSupported;
	pthread_mutex_lock(&sg_capture_lock);
	sg_node_remove(node);
	pthread_mutex_unlock(&sg_capture_lock);
	return cudaSuccess;
}

cudaError_t sg_graph_clone_handle(cudaGraph_t *clone, cudaGraph_t handle)
{
	struct sg_graph *graph = sg_graph_of(handle);

	if (clone == NULL || graph == NULL || graph->capturing)
		return cudaErrorInvalidValue;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sg_node *node = graph->nodes[i];

		if (node->kind == SG_NODE_ALLOC || node->kind == SG_NODE_FREE || node->conditional)
			return cudaErrorNotSupported;
	}
	*clone = (cudaGraph_t)(void *)sg_graph_clone(graph);
	return *clone != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t sg_graph_find_in_clone(cudaGraphNode_t *found, cudaGraphNode_t node, cudaGraph_t handle)
{
	const struct sg_graph *clone = sg_graph_of(handle);

	if (found == NULL || node == NULL || clone == NULL)
		return cudaErrorInvalidValue;
	for (uint32_t i = 0; i < clone->node_count; i++) {
		if (clone->nodes[i]->source != node_of(node)->number || clone->nodes[i]->kind == SG_NODE_JOIN)
			continue;
		*found = (cudaGraphNode_t)(void *)clone->nodes[i];
		return cudaSuccess;
	}
	return cudaErrorInvalidValue;
}

cudaError_t sg_graph_child_of(cudaGraphNode_t handle, cudaGraph_t *graph)
{
	const struct sg_node *node = node_of(handle);

	if (node == NULL || graph == NULL || node->bodies == NULL || node->conditional)
		return cudaErrorInvalidValue;
	*graph = (cudaGraph_t)(void *)node->bodies->graphs[0];
	return cudaSuccess;
}

cudaError_t sg_graph_node_type_of(cudaGraphNode_t node, int *type)
{
	if (node == NULL || type == NULL)
		return cudaErrorInvalidValue;
	*type = sg_graph_node_type(node_of(node));
	return cudaSuccess;
}

cudaError_t sg_graph_exec_flags(cudaGraphExec_t handle, unsigned long long *flags)
{
	const struct sg_graph *executable = sg_graph_executable_of(handle);

	if (executable == NULL || flags == NULL)
		return cudaErrorInvalidValue;
	*flags = executable->flags;
	return cudaSuccess;
}

cudaError_t sg_graph_exec_enable(cudaGraphExec_t handle, cudaGraphNode_t node, int set, unsigned *enabled)
{
	struct sg_graph *executable = sg_graph_executable_of(handle);

	if (executable == NULL || node == NULL || (set < 0 && enabled == NULL))
		return cudaErrorInvalidValue;
	return sg_graph_enable(executable, node_of(node), set, enabled);
}

/* ---- a picture of it ---- */

static const char *type_name(const struct sg_node *node)
{
	static const char *const names[] = {"KERNEL", "MEMCPY", "MEMSET", "HOST", "CHILD_GRAPH", "EMPTY",
		"EVENT_WAIT", "EVENT_RECORD", "SEMAPHORE_SIGNAL", "SEMAPHORE_WAIT", "MEM_ALLOC", "MEM_FREE",
		"BATCH_MEM_OP", "CONDITIONAL"};

	return names[sg_graph_node_type(node)];
}

static void draw(FILE *file, const struct sg_graph *graph)
{
	fprintf(file, "subgraph cluster_%u {\nlabel=\"graph_%u\"\n", graph->number, graph->number);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sg_node *node = graph->nodes[i];

		if (node->kind == SG_NODE_JOIN)
			continue;
		fprintf(file, "\"graph_%u_node_%u\" [shape=\"box\", label=\"%u\\n%s", graph->number, i, i,
			type_name(node));
		if (node->what.name != NULL)
			fprintf(file, "\\n%s", node->what.name);
		fprintf(file, "\"]\n");
	}
	fprintf(file, "}\n");
}

static int draw_edges(FILE *file, const struct sg_graph *graph)
{
	cudaGraphNode_t *before = calloc(graph->node_count + 1, sizeof(cudaGraphNode_t));

	if (before == NULL)
		return 0;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		size_t count = graph->nodes[i]->kind != SG_NODE_JOIN
				       ? sg_node_dependencies(graph->nodes[i], before)
				       : 0;

		for (size_t k = 0; k < count; k++)
			fprintf(file, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\"\n", graph->number,
				node_of(before[k])->place, graph->number, i);
	}
	free(before);
	return 1;
}

/* The graph and those in its nodes, each in a frame of its own. */
static int draw_all(FILE *file, const struct sg_graph *graph)
{
	draw(file, graph);
	if (!draw_edges(file, graph))
		return 0;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sg_bodies *bodies = graph->nodes[i]->bodies;

		for (uint32_t k = 0; bodies != NULL && k < bodies->count; k++) {
			if (!draw_all(file, bodies->graphs[k]))
				return 0;
		}
	}
	return 1;
}

cudaError_t sg_graph_draw(cudaGraph_t handle, const char *path)
{
	const struct sg_graph *graph = sg_graph_of(handle);
	FILE *file;
	int done;

	if (graph == NULL || path == NULL)
		return cudaErrorInvalidValue;
	file = fopen(path, "we");
	if (file == NULL)
		return cudaErrorOperatingSystem;
	fprintf(file, "digraph dot {\n");
	done = draw_all(file, graph);
	fprintf(file, "}\n");
	if (fclose(file) != 0)
		return cudaErrorOperatingSystem;
	return done ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* ---- conditions ---- */

cudaError_t sg_condition_create(uint64_t *handle, cudaGraph_t graph, unsigned value, unsigned flags)
{
	struct sg_graph *of = sg_graph_of(graph);
	struct sg_condition *condition;

	if (handle == NULL || of == NULL || flags > 1)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&sg_capture_lock);
	condition = sg_condition_open(of, value, flags == 1);
	pthread_mutex_unlock(&sg_capture_lock);
	*handle = (uint64_t)(uintptr_t)condition;
	return condition != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static struct sg_condition *condition_of(uint64_t handle)
{
	return sg_pool_check(&sg_conditions, (const void *)(uintptr_t)handle);
}

void sg_condition_counts(uint64_t handle, uint32_t passes)
{
	struct sg_condition *condition = condition_of(handle);

	if (condition != NULL)
		condition->passes = passes;
}

cudaError_t sg_graph_add_conditional(
	cudaStream_t stream, uint64_t handle, int type, unsigned size, cudaGraph_t **graphs)
{
	struct sg_condition *condition = condition_of(handle);
	struct sg_bodies *bodies;

	if (condition == NULL || graphs == NULL || type < SG_IF || type > SG_SWITCH || size == 0 ||
		(type == SG_IF && size > 2) || (type == SG_WHILE && size > 1))
		return cudaErrorInvalidValue;
	bodies = sg_bodies_open((enum sg_conditional)type, size);
	if (bodies == NULL)
		return cudaErrorMemoryAllocation;
	bodies->condition = condition;
	for (unsigned i = 0; i < size; i++) {
		bodies->graphs[i] = sg_graph_open(0);
		if (bodies->graphs[i] == NULL) {
			sg_bodies_close(bodies);
			return cudaErrorMemoryAllocation;
		}
	}
	*graphs = (cudaGraph_t *)(void *)bodies->graphs;
	return sg_capture_graphs(sg_stream_of(stream), bodies);
}

/* ---- objects of the application that live as long as graphs ---- */

struct user_object {
	struct sg_slot slot;
	struct sg_held held;
	void *object;
	cudaHostFn_t destroy;
};

static struct sg_pool user_objects = SG_POOL_INIT(struct user_object, 65536, 64);

static void close_user_object(struct sg_held *held)
{
	struct user_object *object =
		(struct user_object *)(void *)((char *)held - offsetof(struct user_object, held));

	atomic_store(&object->slot.live, SG_SLOT_CLOSING);
	object->destroy(object->object);
	sg_pool_put(&user_objects, object);
}

cudaError_t sg_user_object_create(
	void **handle, void *pointer, cudaHostFn_t destroy, unsigned references, unsigned flags)
{
	struct user_object *object;

	if (handle == NULL || destroy == NULL || references == 0 || references > INT32_MAX || flags != 1)
		return cudaErrorInvalidValue;
	object = sg_pool_get(&user_objects);
	if (object == NULL)
		return cudaErrorMemoryAllocation;
	object->object = pointer;
	object->destroy = destroy;
	object->held.close = close_user_object;
	atomic_store(&object->held.references, references);
	atomic_store_explicit(&object->slot.live, SG_SLOT_LIVE, memory_order_release);
	*handle = object;
	return cudaSuccess;
}

cudaError_t sg_user_object_count(void *handle, unsigned count, int add)
{
	struct user_object *object = sg_pool_check(&user_objects, handle);

	if (object == NULL || count == 0 || count > INT32_MAX)
		return cudaErrorInvalidValue;
	if (add) {
		atomic_fetch_add(&object->held.references, count);
		return cudaSuccess;
	}
	if (count > atomic_load(&object->held.references))
		return cudaErrorInvalidValue;
	for (unsigned i = 0; i < count; i++)
		sg_held_release(&object->held);
	return cudaSuccess;
}

cudaError_t sg_graph_retain(cudaGraph_t handle, void *object_handle, unsigned count, unsigned flags)
{
	struct user_object *object = sg_pool_check(&user_objects, object_handle);
	struct sg_graph *graph = sg_graph_of(handle);
	cudaError_t error = cudaSuccess;

	if (object == NULL || graph == NULL || count == 0 || flags > 1 ||
		(flags == 1 && count > atomic_load(&object->held.references)))
		return cudaErrorInvalidValue;
	for (unsigned i = 0; i < count && error == cudaSuccess; i++) {
		/* moved: the caller's reference becomes the graph's */
		if (flags == 0)
			atomic_fetch_add(&object->held.references, 1);
		error = sg_graph_hold(graph, &object->held);
	}
	return error;
}

cudaError_t sg_graph_release(cudaGraph_t handle, void *object_handle, unsigned count)
{
	struct user_object *object = sg_pool_check(&user_objects, object_handle);
	struct sg_graph *graph = sg_graph_of(handle);
	unsigned found = 0;

	if (object == NULL || graph == NULL || count == 0)
		return cudaErrorInvalidValue;
	for (uint32_t i = 0; i < graph->held_count; i++)
		found += graph->held[i] == &object->held;
	if (found < count)
		return cudaErrorInvalidValue;
	for (uint32_t i = graph->held_count; i > 0 && count > 0; i--) {
		if (graph->held[i - 1] != &object->held)
			continue;
		graph->held[i - 1] = graph->held[--graph->held_count];
		sg_held_release(&object->held);
		count--;
	}
	return cudaSuccess;
}

/* ---- attributes of kernel nodes, and of devices' memory for graphs ---- */

cudaError_t sg_graph_attribute(cudaGraphNode_t handle, int attribute, void *value, int set)
{
	struct sg_node *node = node_of(handle);
	struct sg_attribute *known;

	if (node == NULL || value == NULL || attribute < 0 ||
		sg_graph_node_type(node) != (int)cudaGraphNodeTypeKernel)
		return cudaErrorInvalidValue;
	for (known = node->attributes; known != NULL && known->id != attribute; known = known->next)
		;
	if (!set) {
		if (known != NULL)
			memcpy(value, known->value, sizeof(known->value));
		else
			memset(value, 0, sizeof(known->value));
		return cudaSuccess;
	}
	if (known == NULL) {
		known = calloc(1, sizeof(*known));
		if (known == NULL)
			return cudaErrorMemoryAllocation;
		known->id = attribute;
		known->next = node->attributes;
		node->attributes = known;
	}
	memcpy(known->value, value, sizeof(known->value));
	return cudaSuccess;
}

cudaError_t sg_graph_copy_attributes(cudaGraphNode_t to, cudaGraphNode_t from)
{
	cudaError_t error = cudaSuccess;

	if (to == NULL || from == NULL || sg_graph_node_type(node_of(from)) != (int)cudaGraphNodeTypeKernel)
		return cudaErrorInvalidValue;
	for (struct sg_attribute *each = node_of(from)->attributes; each != NULL && error == cudaSuccess;
		each = each->next)
		error = sg_graph_attribute(to, each->id, each->value, 1);
	return error;
}

/* Captured allocations are a device's like any other: none is set apart for graphs. */
cudaError_t sg_graph_memory_attribute(int device, int attribute, void *value, int set)
{
	if (device < 0 || device >= sg_device_count())
		return cudaErrorInvalidDevice;
	if (value == NULL || attribute < 0 || attribute > 3)
		return cudaErrorInvalidValue;
	/* the high marks alone can be set, to zero */
	if (set)
		return attribute % 2 == 1 && *(const uint64_t *)value == 0 ? cudaSuccess
									   : cudaErrorInvalidValue;
	*(uint64_t *)value = 0;
	return cudaSuccess;
}
