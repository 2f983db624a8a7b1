/*
 * Executable graphs: how they are made of graphs, and how they are changed.
 *
 * The one idea: an executable graph is flat. A child graph's nodes follow the node that stands for them, and
 * what follows that node depends on their ends.
 *
 * What a conditional node does is decided here, as the kernels that set its condition are not run: a
 * condition has the value that it is assigned at launch, or 1 (0 of a SWITCH) if it is assigned none. An IF
 * takes the body that the value says, a SWITCH the one of that number, a WHILE is passed through once if the
 * value is not 0; as often as XLA's own kernel says where that counts the passes.
 */
#include "graph.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

#define PASS_LIMIT 4096 /* a loop of more is cut off: each pass has its own nodes */

/* What a graph's nodes became. */
struct flat {
	const struct sg_graph *graph;
	uint32_t *at;              /* by 1 + index: what follows the node depends on it */
	uint32_t *last;            /* of each branch, 0: nothing yet */
	uint32_t branch, branches; /* the graph's first branch, and those after it */
};

static cudaError_t flatten(
	struct sg_graph *to, const struct sg_graph *graph, uint32_t entry, uint32_t branch, uint32_t *end);

static uint32_t append(
	struct sg_graph *to, const struct sg_node *node, uint32_t branch, uint32_t before, uint32_t beside)
{
	struct sg_node copy = *node;
	uint32_t added;

	copy.branch = branch;
	copy.depends_on[0] = before;
	copy.depends_on[1] = beside;
	added = sg_graph_add(to, &copy);
	if (added != 0) {
		to->nodes[added - 1]->source = node->number;
		to->nodes[added - 1]->origin = (struct sg_node *)(uintptr_t)node;
	}
	return added;
}

static uint32_t append_join(struct sg_graph *to, uint32_t branch, uint32_t before, uint32_t beside)
{
	static const struct sg_node join = {.kind = SG_NODE_JOIN};

	return append(to, &join, branch, before, beside);
}

/* The body that a conditional node runs, or none. */
static const struct sg_graph *choose(const struct sg_bodies *bodies, uint32_t *passes)
{
	const struct sg_condition *condition = bodies->condition;
	unsigned value = bodies->type == SG_SWITCH ? 0 : 1, body = 0;

	*passes = 1;
	if (condition != NULL && condition->assigned)
		value = condition->value;
	if (bodies->type == SG_IF) {
		body = value != 0 ? 0 : 1;
	} else if (bodies->type == SG_SWITCH) {
		body = value;
	} else if (bodies->type == SG_WHILE) {
		*passes = value != 0 ? 1 : 0;
		if (condition != NULL && condition->passes > 0)
			*passes = condition->passes < PASS_LIMIT ? condition->passes : PASS_LIMIT;
	}
	return body < bodies->count ? bodies->graphs[body] : NULL;
}

/* The passes of a loop run one after the other, so that they share their branches. */
static cudaError_t flatten_bodies(
	struct sg_graph *to, const struct sg_bodies *bodies, uint32_t branch, uint32_t *end)
{
	uint32_t passes, branches = to->branch_count;
	const struct sg_graph *body = choose(bodies, &passes);
	cudaError_t error = cudaSuccess;

	for (uint32_t i = 0; body != NULL && i < passes && error == cudaSuccess; i++) {
		to->branch_count = branches;
		error = flatten(to, body, *end, branch, end);
	}
	return error;
}

static cudaError_t flatten_node(struct sg_graph *to, struct flat *flat, const struct sg_node *node)
{
	uint32_t branch = node->branch == 0 ? flat->branch : flat->branches + node->branch - 1;
	uint32_t before = flat->at[node->depends_on[0]], beside = 0, added;
	cudaError_t error = cudaSuccess;

	if (node->depends_on[1] != 0)
		beside = flat->at[node->depends_on[1]];
	for (uint32_t i = 0; i < node->more_count; i++) {
		before = append_join(to, branch, before, flat->at[node->more[i]]);
		if (before == 0)
			return cudaErrorMemoryAllocation;
	}
	added = append(to, node, branch, before, beside);
	if (added == 0)
		return cudaErrorMemoryAllocation;
	if (node->bodies != NULL) {
		uint32_t first = added;

		error = flatten_bodies(to, node->bodies, branch, &added);
		to->nodes[first - 1]->inner = to->node_count - first;
	}
	flat->at[node->place + 1] = flat->last[node->branch] = added;
	return error;
}

static int ready(const struct flat *flat, const struct sg_node *node)
{
	for (int i = 0; i < 2; i++) {
		if (node->depends_on[i] != 0 && flat->at[node->depends_on[i]] == 0)
			return 0;
	}
	for (uint32_t i = 0; i < node->more_count; i++) {
		if (flat->at[node->more[i]] == 0)
			return 0;
	}
	return 1;
}

/* The order is the graph's, as far as dependencies on later nodes allow; they close no cycle. */
static cudaError_t flatten_nodes(struct sg_graph *to, struct flat *flat)
{
	const struct sg_graph *graph = flat->graph;
	uint32_t done = 0, before;
	cudaError_t error = cudaSuccess;

	while (done < graph->node_count && error == cudaSuccess) {
		before = done;
		for (uint32_t i = 0; i < graph->node_count && error == cudaSuccess; i++) {
			if (flat->at[i + 1] != 0 || (graph->unordered && !ready(flat, graph->nodes[i])))
				continue;
			error = flatten_node(to, flat, graph->nodes[i]);
			done++;
		}
		if (done == before)
			return cudaErrorInvalidValue;
	}
	return error;
}

/* The graph's nodes after `entry` (1 + index, 0: at the beginning), and in *end, if it is not NULL, what
 * comes after all of them. */
static cudaError_t flatten(
	struct sg_graph *to, const struct sg_graph *graph, uint32_t entry, uint32_t branch, uint32_t *end)
{
	struct flat flat = {.graph = graph, .branch = branch, .branches = to->branch_count};
	cudaError_t error = cudaErrorMemoryAllocation;

	to->branch_count += graph->branch_count - 1;
	flat.at = calloc(graph->node_count + 1, sizeof(*flat.at));
	flat.last = calloc(graph->branch_count, sizeof(*flat.last));
	if (flat.at == NULL || flat.last == NULL)
		goto out;
	flat.at[0] = entry;
	error = flatten_nodes(to, &flat);
	for (uint32_t i = 0; i < graph->held_count && error == cudaSuccess; i++) {
		atomic_fetch_add(&graph->held[i]->references, 1);
		error = sg_graph_hold(to, graph->held[i]);
	}
	if (end == NULL || error != cudaSuccess)
		goto out;
	*end = flat.last[0] != 0 ? flat.last[0] : entry;
	for (uint32_t i = 1; i < graph->branch_count && *end != 0; i++) {
		if (flat.last[i] != 0)
			*end = append_join(to, branch, *end, flat.last[i]);
	}
	if (*end == 0)
		error = cudaErrorMemoryAllocation;
out:
	free(flat.at);
	free(flat.last);
	return error;
}

static int by_source(const void *a, const void *b, void *arg)
{
	const struct sg_graph *graph = arg;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	uint64_t left_source = graph->nodes[left]->source, right_source = graph->nodes[right]->source;

	if (left_source != right_source)
		return left_source < right_source ? -1 : 1;
	return left < right ? -1 : left > right;
}

cudaError_t sg_graph_instantiate(struct sg_graph *graph, struct sg_graph **out)
{
	struct sg_graph *executable = sg_graph_open(1);

	if (executable == NULL)
		return cudaErrorMemoryAllocation;
	executable->device = graph->device;
	if (flatten(executable, graph, 0, 0, NULL) != cudaSuccess)
		goto fail;
	executable->helpers = calloc(executable->branch_count, sizeof(struct sg_stream *));
	executable->by_source = calloc(executable->node_count + 1, sizeof(*executable->by_source));
	if (executable->helpers == NULL || executable->by_source == NULL)
		goto fail;
	for (uint32_t i = 0; i < executable->node_count; i++)
		executable->by_source[i] = i;
	qsort_r(executable->by_source, executable->node_count, sizeof(*executable->by_source), by_source,
		executable);
	for (uint32_t i = 1; i < executable->branch_count; i++) {
		if (sg_stream_open(&executable->helpers[i], graph->device, cudaStreamNonBlocking, 0,
			    SG_CREATED) != cudaSuccess)
			goto fail;
	}
	*out = executable;
	return cudaSuccess;
fail:
	sg_graph_close(executable);
	return cudaErrorMemoryAllocation;
}

/* ---- changes ---- */

/* The graph as an executable one, to compare with, and never launched; NULL: out of memory. */
static struct sg_graph *flat_of(const struct sg_graph *graph)
{
	struct sg_graph *flat = sg_graph_open(1);

	if (flat != NULL && flatten(flat, graph, 0, 0, NULL) != cudaSuccess) {
		sg_graph_close(flat);
		flat = NULL;
	}
	return flat;
}

static int fits(const struct sg_node *node, const struct sg_node *with)
{
	return node->kind == with->kind && sg_graph_node_type(node) == sg_graph_node_type(with) &&
	       node->inner == with->inner;
}

/* A launch has copied the arguments of the nodes, so those of the executable graph may change at any time. */
static cudaError_t take_over(struct sg_node *node, const struct sg_node *with)
{
	void *arg = with->size > 0 ? malloc(with->size) : NULL;

	if (with->size > 0 && arg == NULL)
		return cudaErrorMemoryAllocation;
	if (with->size > 0)
		memcpy(arg, with->arg, with->size);
	free(node->arg);
	node->arg = arg;
	node->size = with->size;
	node->fn = with->fn;
	node->what = with->what;
	node->event = with->event;
	return cudaSuccess;
}

static struct sg_graph_difference differ(enum sg_difference what, const struct sg_node *node, uint32_t from)
{
	struct sg_graph_difference difference = {what, NULL, NULL};

	if (node != NULL && node->kind != SG_NODE_JOIN)
		difference.node = node->origin;
	while (from != 0 && node->graph->nodes[from - 1]->kind == SG_NODE_JOIN)
		from = node->graph->nodes[from - 1]->depends_on[0];
	if (from != 0)
		difference.from = node->graph->nodes[from - 1]->origin;
	return difference;
}

static struct sg_graph_difference compare_node(const struct sg_node *old, const struct sg_node *new)
{
	if (!fits(old, new))
		return differ(SG_DIFFERS_TYPE, new, 0);
	for (int k = 0; k < 2; k++) {
		if (old->depends_on[k] != new->depends_on[k])
			return differ(SG_DIFFERS_TOPOLOGY, new, new->depends_on[k]);
	}
	if (old->branch != new->branch)
		return differ(SG_DIFFERS_TOPOLOGY, new, 0);
	if (old->block != new->block ||
		(old->what.kind == SG_ACTIVITY_COPY &&
			(old->what.copy_from_device != new->what.copy_from_device ||
				old->what.copy_to_device != new->what.copy_to_device)))
		return differ(SG_DIFFERS_PARAMETERS, new, 0);
	return (struct sg_graph_difference){SG_SAME, NULL, NULL};
}

static struct sg_graph_difference compare(const struct sg_graph *old, const struct sg_graph *new)
{
	struct sg_graph_difference difference = {SG_SAME, NULL, NULL};
	uint32_t both = old->node_count < new->node_count ? old->node_count : new->node_count;

	for (uint32_t i = 0; i < both && difference.what == SG_SAME; i++)
		difference = compare_node(old->nodes[i], new->nodes[i]);
	if (difference.what != SG_SAME)
		return difference;
	if (old->node_count != new->node_count)
		return differ(SG_DIFFERS_TOPOLOGY, new->node_count > both ? new->nodes[both] : NULL, 0);
	return difference;
}

cudaError_t sg_graph_replace(
	struct sg_graph *executable, struct sg_graph *graph, struct sg_graph_difference *difference)
{
	struct sg_graph *with = flat_of(graph);
	cudaError_t error = cudaSuccess;

	*difference = (struct sg_graph_difference){SG_SAME, NULL, NULL};
	if (with == NULL)
		return cudaErrorMemoryAllocation;
	pthread_mutex_lock(&executable->lock);
	*difference = compare(executable, with);
	if (difference->what != SG_SAME)
		error = cudaErrorGraphExecUpdateFailure;
	for (uint32_t i = 0; i < with->node_count && error == cudaSuccess; i++)
		error = take_over(executable->nodes[i], with->nodes[i]);
	pthread_mutex_unlock(&executable->lock);
	sg_graph_close(with);
	return error;
}

/* The first in the order by source that is not of a smaller one. */
static uint32_t first_of(const struct sg_graph *executable, uint64_t source)
{
	uint32_t low = 0, high = executable->node_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (executable->nodes[executable->by_source[middle]]->source < source)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int is_of(const struct sg_graph *executable, uint32_t rank, uint64_t source)
{
	return rank < executable->node_count &&
	       executable->nodes[executable->by_source[rank]]->source == source;
}

static int replaceable(const struct sg_graph *executable, uint32_t at, const struct sg_graph *with)
{
	if (with->node_count > executable->node_count - at)
		return 0;
	for (uint32_t i = 0; i < with->node_count; i++) {
		if (!fits(executable->nodes[at + i], with->nodes[i]))
			return 0;
	}
	return 1;
}

/* In the body of a loop there is one for each pass. */
cudaError_t sg_graph_replace_node(struct sg_graph *executable, uint64_t source, struct sg_graph *graph)
{
	struct sg_graph *with = flat_of(graph);
	cudaError_t error = cudaSuccess;
	uint32_t first;

	if (with == NULL)
		return cudaErrorMemoryAllocation;
	pthread_mutex_lock(&executable->lock);
	first = first_of(executable, source);
	if (!is_of(executable, first, source))
		error = cudaErrorInvalidValue;
	for (uint32_t rank = first; is_of(executable, rank, source) && error == cudaSuccess; rank++) {
		uint32_t at = executable->by_source[rank];

		if (!replaceable(executable, at, with))
			error = cudaErrorInvalidValue;
		for (uint32_t i = 0; i < with->node_count && error == cudaSuccess; i++)
			error = take_over(executable->nodes[at + i], with->nodes[i]);
	}
	pthread_mutex_unlock(&executable->lock);
	sg_graph_close(with);
	return error;
}

cudaError_t sg_node_replace(struct sg_node *node, const struct sg_graph *graph)
{
	if (graph->node_count != 1 || !fits(node, graph->nodes[0]) || node->kind == SG_NODE_GRAPHS)
		return cudaErrorInvalidValue;
	return take_over(node, graph->nodes[0]);
}

cudaError_t sg_graph_enable(
	struct sg_graph *executable, const struct sg_node *node, int set, unsigned *enabled)
{
	uint32_t rank;
	cudaError_t error = cudaErrorInvalidValue;

	if (node->what.kind == SG_ACTIVITY_NONE)
		return error;
	pthread_mutex_lock(&executable->lock);
	for (rank = first_of(executable, node->number); is_of(executable, rank, node->number); rank++) {
		struct sg_node *at = executable->nodes[executable->by_source[rank]];

		if (set >= 0)
			at->disabled = !set;
		if (enabled != NULL)
			*enabled = !at->disabled;
		error = cudaSuccess;
	}
	pthread_mutex_unlock(&executable->lock);
	return error;
}
