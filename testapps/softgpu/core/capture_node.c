/* What becomes a node of a capture: work, events, waits, launches of graphs. capture.h has the idea. */
#include "capture.h"

#include <stdlib.h>

cudaError_t sg_capture_join(struct sg_capture *capture, struct sg_stream *stream, uint32_t branch)
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

cudaError_t sg_capture_add(struct sg_stream *stream, struct sg_node *node, uint32_t other)
{
	struct sg_capture *capture = sg_capture_of(stream);
	uint32_t added;

	if (capture->invalid)
		return cudaErrorStreamCaptureInvalidated;
	node->branch = stream->branch;
	node->depends_on[0] = stream->frontier;
	node->depends_on[1] = other;
	added = sg_graph_add(capture->graph, node);
	if (added == 0)
		return sg_capture_break(capture, cudaErrorMemoryAllocation);
	stream->frontier = added;
	return cudaSuccess;
}

cudaError_t sg_capture_add_join(struct sg_stream *stream, uint32_t other)
{
	struct sg_node join = {.kind = SG_NODE_JOIN};

	if (other == 0 || other == stream->frontier)
		return cudaSuccess;
	return sg_capture_add(stream, &join, other);
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
	error = sg_capture_add(stream, &node, 0);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_record(struct sg_event *event, struct sg_stream *stream, int external)
{
	struct sg_capture *capture;
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&sg_capture_lock);
	capture = sg_capture_of(stream);
	if (capture->invalid) {
		error = cudaErrorStreamCaptureInvalidated;
	} else if (external) {
		struct sg_node node = {.kind = SG_NODE_RECORD, .event = event};

		error = sg_capture_add(stream, &node, 0);
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
	for (struct sg_capture *capture = sg_captures; capture != NULL; capture = capture->next) {
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
	capture = sg_capture_of(stream);
	recorded = last.capture != 0 ? capture_by_id(last.capture) : NULL;
	if (capture != NULL && capture->invalid) {
		error = cudaErrorStreamCaptureInvalidated;
	} else if (capture != NULL && external) {
		struct sg_node node = {.kind = SG_NODE_WAIT, .event = event};

		error = sg_capture_add(stream, &node, 0);
	} else if (last.stream == NULL) {
		error = cudaSuccess;
	} else if (last.capture == 0) {
		error = sg_capture_break(capture, cudaErrorStreamCaptureIsolation);
	} else if (recorded == NULL) {
		error = cudaErrorCapturedEvent;
		if (capture != NULL)
			capture->invalid = 1;
	} else if (capture == NULL && recorded->invalid) {
		error = cudaErrorStreamCaptureInvalidated;
	} else if (capture == NULL) {
		if (stream->kind == SG_LEGACY)
			error = sg_capture_break(recorded, cudaErrorStreamCaptureImplicit);
		else
			error = sg_capture_join(recorded, stream, recorded->graph->branch_count++);
		if (error == cudaSuccess)
			stream->frontier = last.node;
	} else if (recorded != capture) {
		recorded->invalid = 1;
		error = sg_capture_break(capture, cudaErrorStreamCaptureMerge);
	} else {
		error = sg_capture_add_join(stream, last.node);
	}
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

cudaError_t sg_capture_graphs(struct sg_stream *stream, struct sg_bodies *bodies)
{
	struct sg_node node = {.kind = SG_NODE_GRAPHS, .conditional = bodies->type != SG_CHILD};
	cudaError_t error;

	pthread_mutex_lock(&sg_capture_lock);
	error = sg_capture_add(stream, &node, 0);
	if (error == cudaSuccess) {
		sg_capture_of(stream)->graph->nodes[stream->frontier - 1]->bodies = bodies;
		for (uint32_t i = 0; i < bodies->count; i++)
			bodies->graphs[i]->owned = 1;
	}
	pthread_mutex_unlock(&sg_capture_lock);
	if (error != cudaSuccess)
		sg_bodies_close(bodies);
	return error;
}

cudaError_t sg_capture_memory(struct sg_stream *stream, enum sg_node_kind kind, void *block)
{
	struct sg_node node = {.kind = kind, .block = block};
	cudaError_t error;

	pthread_mutex_lock(&sg_capture_lock);
	error = sg_capture_add(stream, &node, 0);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

/* A launched graph becomes a child graph. */
cudaError_t sg_capture_launch(struct sg_graph *executable, struct sg_stream *stream)
{
	struct sg_bodies *bodies = sg_bodies_open(SG_CHILD, 1);

	if (bodies == NULL)
		return cudaErrorMemoryAllocation;
	bodies->graphs[0] = sg_graph_clone(executable);
	if (bodies->graphs[0] == NULL) {
		sg_bodies_close(bodies);
		return cudaErrorMemoryAllocation;
	}
	return sg_capture_graphs(stream, bodies);
}

cudaError_t sg_capture_position(struct sg_stream *stream, struct sg_position *place)
{
	pthread_mutex_lock(&sg_capture_lock);
	place->stream = stream;
	place->capture = sg_capture_of(stream)->id;
	place->position = stream->frontier;
	pthread_mutex_unlock(&sg_capture_lock);
	return cudaSuccess;
}

cudaError_t sg_capture_wait_position(struct sg_stream *stream, const struct sg_position *place)
{
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&sg_capture_lock);
	if (place->capture == sg_capture_of(stream)->id)
		error = sg_capture_add_join(stream, (uint32_t)place->position);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}

static void close_memory(struct sg_held *held)
{
	struct sg_graph_memory *memory =
		(struct sg_graph_memory *)(void *)((char *)held - offsetof(struct sg_graph_memory, held));

	for (size_t i = 0; i < memory->block_count; i++) {
		struct sg_block block;

		if (sg_block_take(memory->blocks[i], &block))
			sg_block_release(&block);
	}
	free(memory->blocks);
	free(memory);
}

static cudaError_t own(struct sg_graph *graph, void *block)
{
	struct sg_graph_memory *memory = graph->memory;
	void **more;

	if (memory == NULL) {
		memory = calloc(1, sizeof(*memory));
		if (memory == NULL)
			return cudaErrorMemoryAllocation;
		memory->held.references = 1;
		memory->held.close = close_memory;
		if (sg_graph_hold(graph, &memory->held) != cudaSuccess)
			return cudaErrorMemoryAllocation;
		graph->memory = memory;
	}
	more = realloc(memory->blocks, (memory->block_count + 1) * sizeof(*more));
	if (more == NULL)
		return cudaErrorMemoryAllocation;
	memory->blocks = more;
	memory->blocks[memory->block_count++] = block;
	return cudaSuccess;
}

cudaError_t sg_capture_own_memory(struct sg_stream *stream, void *block)
{
	cudaError_t error;

	pthread_mutex_lock(&sg_capture_lock);
	error = own(sg_capture_of(stream)->graph, block);
	pthread_mutex_unlock(&sg_capture_lock);
	return error;
}
