/*
 * Stream capture: what is submitted to a capturing stream becomes a node of a graph.
 *
 * The one idea: each capturing stream is a branch with a frontier, the node that its next node depends on. An
 * event recorded there remembers the frontier; waiting for it brings another stream into the capture (a fork)
 * or adds a node that joins two frontiers. Captures are rare, so one lock guards all of them.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

struct sg_capture {
	struct sg_capture *next;
	uint64_t id;
	struct sg_stream *origin;
	struct sg_graph *graph;
	int own_graph; /* made for this capture */
	int of_node;   /* of one node by hand: no business of the device's other streams */
	enum cudaStreamCaptureMode mode;
	pthread_t thread;
	int invalid;
	struct sg_stream **streams;
	size_t stream_count;
	cudaGraphNode_t *shown; /* what sg_capture_info answered last */
};

pthread_mutex_t sg_capture_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic uint32_t sg_capture_count;

static struct sg_capture *captures;
static uint64_t last_id;

static struct sg_capture *capture_of(struct sg_stream *stream)
{
	return atomic_load_explicit(&stream->capture, memory_order_relaxed);
}

static cudaError_t refuse(struct sg_capture *capture, cudaError_t error)
{
	capture->invalid = 1;
	return error;
}

static cudaError_t join_capture(struct sg_capture *capture, struct sg_stream *stream, uint32_t branch)
{
	struct sg_stream **more =
		realloc(capture->streams, (capture->stream_count + 1) * sizeof(*capture->streams));

	if (more == NULL)
		return cudaErrorMemoryAllocation;
	capture->streams = more;
	capture->streams[capture->stream_count++] = stream;
	stream->branch = branch;
	stream->frontier = 0;
	atomic_store_explicit(&stream->capture, capture, memory_order_release);
	return cudaSuccess;
}

/* Appends to the stream's branch and moves its frontier. */
static cudaError_t add_node(struct sg_stream *stream, struct sg_node *node, uint32_t other)
{
	struct sg_capture *capture = capture_of(stream);
	uint32_t added;

	if (capture->invalid)
		return cudaErrorStreamCaptureInvalidated;
	node->branch = stream->branch;
	node->depends_on[0] = stream->frontier;
	node->depends_on[1] = other;
	added = sg_graph_add(capture->graph, node);
	if (added == 0)
		return refuse(capture, cudaErrorMemoryAllocation);
	stream->frontier = added;
	return cudaSuccess;
}

static cudaError_t add_join(struct sg_stream *stream, uint32_t other)
{
	struct sg_node join = {.kind = SG_NODE_JOIN};

	if (other == 0 || other == stream->frontier)
		return cudaSuccess;
	return add_node(stream, &join, other);
}

static uint32_t index_of(const struct sg_graph *graph, cudaGraphNode_t node)
{
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if ((void *)graph->nodes[i] == (void *)node)
			return i + 1;
	}
	return 0;
}

/* The branch of a node behind that one: its own if nothing follows there, else a new one. */
static uint32_t branch_behind(struct sg_graph *graph, uint32_t node)
{
	if (graph->node_count == 0)
		return 0;
	if (node != 0) {
		uint32_t branch = graph->nodes[node - 1]->branch, i = graph->node_count;

		while (graph->nodes[i - 1]->branch != branch)
			i--;
		if (i == node)
			return branch;
	}
	return graph->branch_count++;
}

/* The stream's next node follows these. */
static cudaError_t follow(struct sg_stream *stream, const cudaGraphNode_t *depends_on, size_t count)
{
	struct sg_graph *graph = capture_of(stream)->graph;
	cudaError_t error = cudaSuccess;

	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		uint32_t other = index_of(graph, depends_on[i]);

		if (other == 0)
			return cudaErrorInvalidValue;
		if (graph->nodes[other - 1]->child != 0)
			other = graph->nodes[other - 1]->child;
		if (i == 0) {
			stream->branch = branch_behind(graph, other);
			stream->frontier = other;
		} else {
			error = add_join(stream, other);
		}
	}
	if (count == 0)
		stream->branch = branch_behind(graph, 0);
	return error;
}

static cudaError_t begin(struct sg_stream *stream, struct sg_graph *graph, const cudaGraphNode_t *depends_on,
	size_t depends_count, enum cudaStreamCaptureMode mode, int of_node)
{
	struct sg_capture *capture;
	cudaError_t error;

	if (stream->kind == SG_LEGACY)
		return cudaErrorStreamCaptureUnsupported;
	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture != NULL || (graph != NULL && graph->capturing)) {
		error = capture != NULL ? refuse(capture, cudaErrorIllegalState) : cudaErrorIllegalState;
		pthread_mutex_unlock(&sg_capture_lock);
		return error;
	}
	capture = calloc(1, sizeof(*capture));
	error = cudaErrorMemoryAllocation;
	if (capture == NULL)
		goto out;
	capture->own_graph = graph == NULL;
	capture->of_node = of_node;
	capture->graph = graph != NULL ? graph : sg_graph_open(0);
	if (capture->graph == NULL)
		goto out;
	capture->id = ++last_id;
	capture->origin = stream;
	capture->mode = mode;
	capture->thread = pthread_self();
	error = join_capture(capture, stream, 0);
	if (error != cudaSuccess)
		goto out;
	error = follow(stream, depends_on, depends_count);
	if (error != cudaSuccess) {
		atomic_store(&stream->capture, NULL);
		goto out;
	}
	capture->graph->capturing = 1;
	if (!of_node) {
		capture->next = captures;
		captures = capture;
	}
	atomic_fetch_add(&sg_capture_count, 1);
	pthread_mutex_unlock(&sg_capture_lock);
	return cudaSuccess;
out:
	pthread_mutex_unlock(&sg_capture_lock);
	if (capture != NULL) {
		if (capture->own_graph && capture->graph != NULL)
			sg_graph_close(capture->graph);
		free(capture->streams);
		free(capture);
	}
	return error;
}

cudaError_t sg_capture_begin(struct sg_stream *stream, struct sg_graph *graph,
	const cudaGraphNode_t *depends_on, size_t depends_count, enum cudaStreamCaptureMode mode)
{
	return begin(stream, graph, depends_on, depends_count, mode, 0);
}

cudaError_t sg_capture_begin_node(struct sg_stream *stream, struct sg_graph *graph,
	const cudaGraphNode_t *depends_on, size_t depends_count)
{
	return begin(stream, graph, depends_on, depends_count, cudaStreamCaptureModeRelaxed, 1);
}

cudaError_t sg_capture_empty(struct sg_stream *stream)
{
	struct sg_node node = {.kind = SG_NODE_WORK};
	cudaError_t error;

	pthread_mutex_lock(&sg_capture_lock);
	error = add_node(stream, &node, 0);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

/* Whether every branch's last node is among what the origin's frontier depends on. */
static int joined(struct sg_capture *capture)
{
	struct sg_graph *graph = capture->graph;
	unsigned char *reached = calloc(graph->node_count + 1, 1);
	int all = 1;

	if (reached == NULL)
		return 0;
	reached[capture->origin->frontier] = 1;
	for (uint32_t i = graph->node_count; i > 0; i--) {
		if (!reached[i])
			continue;
		reached[graph->nodes[i - 1]->depends_on[0]] = 1;
		reached[graph->nodes[i - 1]->depends_on[1]] = 1;
	}
	for (size_t i = 0; i < capture->stream_count; i++) {
		uint32_t last = capture->streams[i]->frontier;

		if (last != 0 && !reached[last])
			all = 0;
	}
	free(reached);
	return all;
}

/* Under the lock. keep: the graph is somebody's now. */
static void close_capture(struct sg_capture *capture, int keep)
{
	struct sg_capture **link = &captures;

	for (size_t i = 0; i < capture->stream_count; i++)
		atomic_store(&capture->streams[i]->capture, NULL);
	while (*link != NULL && *link != capture)
		link = &(*link)->next;
	if (*link != NULL)
		*link = capture->next;
	atomic_fetch_sub(&sg_capture_count, 1);
	capture->graph->capturing = 0;
	if (!keep && capture->own_graph)
		sg_graph_close(capture->graph);
	free(capture->streams);
	free(capture->shown);
	free(capture);
}

void sg_capture_abandon(struct sg_stream *stream)
{
	struct sg_capture *capture;

	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture != NULL && capture->origin == stream) {
		close_capture(capture, 0);
	} else if (capture != NULL) {
		capture->invalid = 1;
		for (size_t i = 0; i < capture->stream_count; i++)
			if (capture->streams[i] == stream)
				capture->streams[i] = capture->streams[--capture->stream_count];
		atomic_store(&stream->capture, NULL);
	}
	pthread_mutex_unlock(&sg_capture_lock);
}

cudaError_t sg_capture_end(struct sg_stream *stream, struct sg_graph **graph)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	*graph = NULL;
	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture == NULL)
		error = cudaErrorIllegalState;
	else if (capture->origin != stream)
		error = refuse(capture, cudaErrorStreamCaptureUnmatched);
	else if (capture->mode != cudaStreamCaptureModeRelaxed &&
		 !pthread_equal(capture->thread, pthread_self()))
		error = refuse(capture, cudaErrorStreamCaptureWrongThread);
	if (error != cudaSuccess) {
		pthread_mutex_unlock(&sg_capture_lock);
		return error;
	}
	if (capture->invalid)
		error = cudaErrorStreamCaptureInvalidated;
	else if (!joined(capture))
		error = cudaErrorStreamCaptureUnjoined;
	if (error == cudaSuccess)
		*graph = capture->graph;
	close_capture(capture, error == cudaSuccess);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

enum cudaStreamCaptureStatus sg_capture_status(struct sg_stream *stream)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	struct sg_capture *capture;

	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture != NULL)
		status =
			capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
	pthread_mutex_unlock(&sg_capture_lock);
	return status;
}

/* The nodes that the application sees and that node (1 + index) stands for: itself, or what is behind a join.
 */
static size_t show(const struct sg_graph *graph, uint32_t node, cudaGraphNode_t *shown, size_t count)
{
	const struct sg_node *at;

	if (node == 0)
		return count;
	at = graph->nodes[node - 1];
	if (at->kind != SG_NODE_JOIN && at->kind != SG_NODE_INNER) {
		cudaGraphNode_t handle = (cudaGraphNode_t)(uintptr_t)at;

		for (size_t i = 0; i < count; i++) {
			if (shown[i] == handle)
				return count;
		}
		shown[count] = handle;
		return count + 1;
	}
	count = show(graph, at->depends_on[0], shown, count);
	return show(graph, at->depends_on[1], shown, count);
}

cudaError_t sg_capture_info(struct sg_stream *stream, struct sg_capture_info *info)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	*info = (struct sg_capture_info){.status = cudaStreamCaptureStatusNone};
	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture != NULL) {
		cudaGraphNode_t *shown =
			realloc(capture->shown, (capture->graph->node_count + 1) * sizeof(*shown));

		info->status =
			capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
		info->id = capture->id;
		info->graph = capture->graph;
		if (shown != NULL) {
			capture->shown = shown;
			info->nodes = shown;
			info->node_count = show(capture->graph, stream->frontier, shown, 0);
		} else {
			error = cudaErrorMemoryAllocation;
		}
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_work(
	struct sg_stream *stream, const struct sg_activity *what, sg_work *fn, const void *arg, size_t size)
{
	struct sg_node node = {.kind = SG_NODE_WORK, .fn = fn, .size = size};
	cudaError_t error;

	if (what != NULL)
		node.what = *what;
	node.arg = (void *)(uintptr_t)arg;
	pthread_mutex_lock(&sg_capture_lock);
	error = add_node(stream, &node, 0);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_record(struct sg_event *event, struct sg_stream *stream, int external)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture->invalid) {
		error = cudaErrorStreamCaptureInvalidated;
	} else if (external) {
		struct sg_node node = {.kind = SG_NODE_RECORD, .event = event};

		error = add_node(stream, &node, 0);
	} else {
		pthread_mutex_lock(&event->lock);
		event->generation++;
		event->stream = stream;
		event->capture = capture->id;
		event->node = stream->frontier;
		pthread_mutex_unlock(&event->lock);
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

static struct sg_capture *capture_by_id(uint64_t id)
{
	for (struct sg_capture *capture = captures; capture != NULL; capture = capture->next) {
		if (capture->id == id)
			return capture;
	}
	return NULL;
}

cudaError_t sg_capture_wait(struct sg_stream *stream, struct sg_event *event, int external)
{
	struct sg_capture *capture, *recorded;
	struct sg_event_place last = sg_event_last(event);
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	recorded = last.capture != 0 ? capture_by_id(last.capture) : NULL;
	if (capture != NULL && capture->invalid) {
		error = cudaErrorStreamCaptureInvalidated;
	} else if (capture != NULL && external) {
		struct sg_node node = {.kind = SG_NODE_WAIT, .event = event};

		error = add_node(stream, &node, 0);
	} else if (last.stream == NULL) {
		error = cudaSuccess;
	} else if (last.capture == 0) {
		error = refuse(capture, cudaErrorStreamCaptureIsolation);
	} else if (recorded == NULL) {
		error = cudaErrorCapturedEvent;
		if (capture != NULL)
			capture->invalid = 1;
	} else if (capture == NULL && recorded->invalid) {
		error = cudaErrorStreamCaptureInvalidated;
	} else if (capture == NULL) {
		if (stream->kind == SG_LEGACY)
			error = refuse(recorded, cudaErrorStreamCaptureImplicit);
		else
			error = join_capture(recorded, stream, recorded->graph->branch_count++);
		if (error == cudaSuccess)
			stream->frontier = last.node;
	} else if (recorded != capture) {
		recorded->invalid = 1;
		error = refuse(capture, cudaErrorStreamCaptureMerge);
	} else {
		error = add_join(stream, last.node);
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

/* The launched graph's nodes become nodes of the capture: not shown, but for one that stands for all of them.
 */
cudaError_t sg_capture_launch(struct sg_graph *executable, struct sg_stream *stream)
{
	struct sg_capture *capture;
	struct sg_node child = {.kind = SG_NODE_WORK};
	cudaError_t error = cudaSuccess;
	uint32_t first_node, first_branch;

	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	error = add_node(stream, &child, 0);
	first_node = capture->graph->node_count;
	first_branch = capture->graph->branch_count;
	for (uint32_t i = 0; i < executable->node_count && error == cudaSuccess; i++) {
		struct sg_node node = *executable->nodes[i];

		if (node.kind == SG_NODE_WORK)
			node.kind = SG_NODE_INNER;
		node.branch = node.branch == 0 ? stream->branch : first_branch + node.branch - 1;
		for (int k = 0; k < 2; k++)
			node.depends_on[k] =
				node.depends_on[k] == 0 ? first_node : first_node + node.depends_on[k];
		if (sg_graph_add(capture->graph, &node) == 0)
			error = refuse(capture, cudaErrorMemoryAllocation);
	}
	capture->graph->branch_count += executable->branch_count - 1;
	/* The last node of each branch is what the stream's next node must follow. */
	for (uint32_t b = 0; b < executable->branch_count && error == cudaSuccess; b++) {
		uint32_t last = 0;

		for (uint32_t i = 0; i < executable->node_count; i++) {
			if (executable->nodes[i]->branch == b)
				last = first_node + i + 1;
		}
		if (b == 0 && last != 0)
			stream->frontier = last;
		else
			error = add_join(stream, last);
	}
	if (error == cudaSuccess)
		capture->graph->nodes[first_node - 1]->child = stream->frontier;
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_position(struct sg_stream *stream, struct sg_position *place)
{
	pthread_mutex_lock(&sg_capture_lock);
	place->stream = stream;
	place->capture = capture_of(stream)->id;
	place->position = stream->frontier;
	pthread_mutex_unlock(&sg_capture_lock);
	return cudaSuccess;
}

cudaError_t sg_capture_wait_position(struct sg_stream *stream, const struct sg_position *place)
{
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&sg_capture_lock);
	if (place->capture == capture_of(stream)->id)
		error = add_join(stream, (uint32_t)place->position);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_own_memory(struct sg_stream *stream, void *block)
{
	struct sg_graph *graph;
	struct sg_graph_memory *memory;
	void **more;
	cudaError_t error = cudaErrorMemoryAllocation;

	pthread_mutex_lock(&sg_capture_lock);
	graph = capture_of(stream)->graph;
	if (graph->memory == NULL) {
		graph->memory = calloc(1, sizeof(*graph->memory));
		if (graph->memory != NULL)
			graph->memory->references = 1;
	}
	memory = graph->memory;
	if (memory != NULL) {
		more = realloc(memory->blocks, (memory->block_count + 1) * sizeof(*more));
		if (more != NULL) {
			memory->blocks = more;
			memory->blocks[memory->block_count++] = block;
			error = cudaSuccess;
		}
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_refuse(struct sg_stream *stream)
{
	struct sg_capture *capture;

	pthread_mutex_lock(&sg_capture_lock);
	capture = capture_of(stream);
	if (capture != NULL)
		capture->invalid = 1;
	pthread_mutex_unlock(&sg_capture_lock);
	return cudaErrorStreamCaptureUnsupported;
}

/* Invalidates the captures on a device that have a stream of the wanted sort; returns how many. */
static int invalidate_device(int device, int only_blocking)
{
	int found = 0;

	pthread_mutex_lock(&sg_capture_lock);
	for (struct sg_capture *capture = captures; capture != NULL; capture = capture->next) {
		for (size_t i = 0; i < capture->stream_count; i++) {
			struct sg_stream *stream = capture->streams[i];

			if (stream->device != device ||
				(only_blocking && (stream->flags & cudaStreamNonBlocking)))
				continue;
			capture->invalid = 1;
			found++;
		}
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return found;
}

cudaError_t sg_capture_refuse_device(int device)
{
	if (atomic_load(&sg_capture_count) == 0 || invalidate_device(device, 0) == 0)
		return cudaSuccess;
	return cudaErrorStreamCaptureUnsupported;
}

cudaError_t sg_capture_refuse_legacy(int device)
{
	return invalidate_device(device, 1) == 0 ? cudaSuccess : cudaErrorStreamCaptureImplicit;
}

cudaError_t sg_capture_unsafe_slow(void)
{
	cudaError_t error = cudaSuccess;

	if (sg_self.capture_mode == cudaStreamCaptureModeRelaxed)
		return error;
	pthread_mutex_lock(&sg_capture_lock);
	for (struct sg_capture *capture = captures; capture != NULL; capture = capture->next) {
		int own = pthread_equal(capture->thread, pthread_self());

		if ((own && capture->mode != cudaStreamCaptureModeRelaxed) ||
			(!own && capture->mode == cudaStreamCaptureModeGlobal &&
				sg_self.capture_mode == cudaStreamCaptureModeGlobal)) {
			capture->invalid = 1;
			error = cudaErrorStreamCaptureUnsupported;
		}
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}
