/* Captures: how they begin, end and break. capture.h has the idea. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t sg_capture_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic uint32_t sg_capture_count;

struct sg_capture *sg_captures;
static uint64_t last_id;

static uint32_t index_of(const struct sg_graph *graph, cudaGraphNode_t node)
{
	const struct sg_node *at = (const struct sg_node *)(const void *)node;

	return at != NULL && at->graph == graph && at->kind != SG_NODE_JOIN ? at->place + 1 : 0;
}

/* The branch of a node after that one: its own if nothing follows there, else a new one. */
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
	struct sg_graph *graph = sg_capture_of(stream)->graph;
	cudaError_t error = cudaSuccess;

	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		uint32_t other = index_of(graph, depends_on[i]);

		if (other == 0)
			return cudaErrorInvalidValue;
		if (i == 0) {
			stream->branch = branch_behind(graph, other);
			stream->frontier = other;
		} else {
			error = sg_capture_add_join(stream, other);
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
	capture = sg_capture_of(stream);
	/* A node by hand may go into a graph that is being captured: a conditional one has no other way
	 * there. */
	if (capture != NULL || (graph != NULL && graph->capturing && !of_node)) {
		error = capture != NULL ? sg_capture_break(capture, cudaErrorIllegalState)
					: cudaErrorIllegalState;
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
	error = sg_capture_join(capture, stream, 0);
	if (error != cudaSuccess)
		goto out;
	error = follow(stream, depends_on, depends_count);
	if (error != cudaSuccess) {
		atomic_store(&stream->capture, NULL);
		goto out;
	}
	if (!of_node) {
		capture->graph->capturing = 1;
		capture->next = sg_captures;
		sg_captures = capture;
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

cudaError_t sg_capture_follow(
	struct sg_stream *stream, const cudaGraphNode_t *depends_on, size_t count, int replace)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&sg_capture_lock);
	capture = sg_capture_of(stream);
	if (capture == NULL || capture->invalid)
		error = capture == NULL ? cudaErrorIllegalState : cudaErrorStreamCaptureInvalidated;
	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		if (index_of(capture->graph, depends_on[i]) == 0)
			error = cudaErrorInvalidValue;
	}
	if (error == cudaSuccess && replace)
		stream->frontier = 0;
	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		uint32_t other = index_of(capture->graph, depends_on[i]);

		if (stream->frontier == 0)
			stream->frontier = other;
		else
			error = sg_capture_add_join(stream, other);
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_empty(struct sg_stream *stream)
{
	struct sg_node node = {.kind = SG_NODE_WORK};
	cudaError_t error;

	pthread_mutex_lock(&sg_capture_lock);
	error = sg_capture_add(stream, &node, 0);
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
		for (uint32_t k = 0; k < graph->nodes[i - 1]->more_count; k++)
			reached[graph->nodes[i - 1]->more[k]] = 1;
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
	struct sg_capture **link = &sg_captures;

	for (size_t i = 0; i < capture->stream_count; i++)
		atomic_store(&capture->streams[i]->capture, NULL);
	while (*link != NULL && *link != capture)
		link = &(*link)->next;
	if (*link != NULL)
		*link = capture->next;
	atomic_fetch_sub(&sg_capture_count, 1);
	if (!capture->of_node)
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
	capture = sg_capture_of(stream);
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

int sg_capture_is_into(struct sg_stream *stream)
{
	struct sg_capture *capture;
	int into;

	pthread_mutex_lock(&sg_capture_lock);
	capture = sg_capture_of(stream);
	into = capture != NULL && !capture->own_graph;
	pthread_mutex_unlock(&sg_capture_lock);
	return into;
}

cudaError_t sg_capture_end(struct sg_stream *stream, struct sg_graph **graph)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	*graph = NULL;
	pthread_mutex_lock(&sg_capture_lock);
	capture = sg_capture_of(stream);
	if (capture == NULL)
		error = cudaErrorIllegalState;
	else if (capture->origin != stream)
		error = sg_capture_break(capture, cudaErrorStreamCaptureUnmatched);
	else if (capture->mode != cudaStreamCaptureModeRelaxed &&
		 !pthread_equal(capture->thread, pthread_self()))
		error = sg_capture_break(capture, cudaErrorStreamCaptureWrongThread);
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
	capture = sg_capture_of(stream);
	if (capture != NULL)
		status =
			capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
	pthread_mutex_unlock(&sg_capture_lock);
	return status;
}

cudaError_t sg_capture_info(struct sg_stream *stream, struct sg_capture_info *info)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	*info = (struct sg_capture_info){.status = cudaStreamCaptureStatusNone};
	pthread_mutex_lock(&sg_capture_lock);
	capture = sg_capture_of(stream);
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
			info->node_count = sg_graph_show(capture->graph, stream->frontier, shown, 0);
		} else {
			error = cudaErrorMemoryAllocation;
		}
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_refuse(struct sg_stream *stream)
{
	struct sg_capture *capture;

	pthread_mutex_lock(&sg_capture_lock);
	capture = sg_capture_of(stream);
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
	for (struct sg_capture *capture = sg_captures; capture != NULL; capture = capture->next) {
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
	for (struct sg_capture *capture = sg_captures; capture != NULL; capture = capture->next) {
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
