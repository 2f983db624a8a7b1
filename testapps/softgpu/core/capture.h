/*
 * Stream capture: what is submitted to a capturing stream becomes a node of a graph.
 *
 * The one idea: each capturing stream is a branch with a frontier, the node that its next node depends on. An
 * event recorded there remembers the frontier; waiting for it brings another stream into the capture (a fork)
 * or adds a node that joins two frontiers. Captures are rare, so one lock guards all of them.
 *
 * capture.c has what becomes of a capture, capture_node.c what becomes a node of it.
 */
#ifndef SOFTGPU_CAPTURE_H
#define SOFTGPU_CAPTURE_H

#include "graph.h"

extern pthread_mutex_t sg_capture_lock;
extern _Atomic uint32_t sg_capture_count; /* captures under way in the process */

cudaError_t sg_capture_begin(struct sg_stream *stream, struct sg_graph *graph,
	const cudaGraphNode_t *depends_on, size_t depends_count, enum cudaStreamCaptureMode mode);
/* A capture for one node by hand: it disturbs no other thread and is disturbed by none. */
cudaError_t sg_capture_begin_node(struct sg_stream *stream, struct sg_graph *graph,
	const cudaGraphNode_t *depends_on, size_t depends_count);
/* The stream's next node follows these, in the place of what it would have followed or beside it. */
cudaError_t sg_capture_follow(
	struct sg_stream *stream, const cudaGraphNode_t *depends_on, size_t count, int replace);
/* A node that stands for graphs, which it takes over, also when it fails. */
cudaError_t sg_capture_graphs(struct sg_stream *stream, struct sg_bodies *bodies);
/* A node that allocates memory of the graph's or, of the kind SG_NODE_FREE, gives it back. */
cudaError_t sg_capture_memory(struct sg_stream *stream, enum sg_node_kind kind, void *block);
/* A node that does nothing, after what is there. */
cudaError_t sg_capture_empty(struct sg_stream *stream);
/* Whether the stream's capture goes into a graph that was there before. */
int sg_capture_is_into(struct sg_stream *stream);
cudaError_t sg_capture_end(struct sg_stream *stream, struct sg_graph **graph);
enum cudaStreamCaptureStatus sg_capture_status(struct sg_stream *stream);
/* The stream is about to go: the capture that began on it ends, one that it has joined is broken. */
void sg_capture_abandon(struct sg_stream *stream);

/* A stream's capture; without one only the status is set. */
struct sg_capture_info {
	enum cudaStreamCaptureStatus status;
	uint64_t id;
	struct sg_graph *graph;
	const cudaGraphNode_t
		*nodes; /* what the next node will depend on; valid until the next such question */
	size_t node_count;
};
cudaError_t sg_capture_info(struct sg_stream *stream, struct sg_capture_info *info);
/* A closure submitted to a stream that is being captured. */
cudaError_t sg_capture_work(
	struct sg_stream *stream, const struct sg_activity *what, sg_work *fn, const void *arg, size_t size);
cudaError_t sg_capture_record(struct sg_event *event, struct sg_stream *stream, int external);
cudaError_t sg_capture_wait(struct sg_stream *stream, struct sg_event *event, int external);
cudaError_t sg_capture_launch(struct sg_graph *executable, struct sg_stream *stream);
cudaError_t sg_capture_position(struct sg_stream *stream, struct sg_position *place);
cudaError_t sg_capture_wait_position(struct sg_stream *stream, const struct sg_position *place);
/* The block lives as long as the graph. */
cudaError_t sg_capture_own_memory(struct sg_stream *stream, void *block);
/* Ends the capture that the stream belongs to in failure, and says why. */
cudaError_t sg_capture_refuse(struct sg_stream *stream);
/* The same for every capture on a device (a synchronisation of all of it), or for blocking streams only. */
cudaError_t sg_capture_refuse_device(int device);
cudaError_t sg_capture_refuse_legacy(int device);
/* Whether the calling thread may now make a call that is unsafe during capture (cudaMalloc, cudaEventQuery).
 */
cudaError_t sg_capture_unsafe_slow(void);
static inline cudaError_t sg_capture_unsafe(void)
{
	if (SG_LIKELY(atomic_load_explicit(&sg_capture_count, memory_order_acquire) == 0))
		return cudaSuccess;
	return sg_capture_unsafe_slow();
}
/* ---- between the two files; under sg_capture_lock ---- */

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

extern struct sg_capture *sg_captures;

static inline struct sg_capture *sg_capture_of(struct sg_stream *stream)
{
	return atomic_load_explicit(&stream->capture, memory_order_relaxed);
}

/* The capture is broken; returns the error. */
static inline cudaError_t sg_capture_break(struct sg_capture *capture, cudaError_t error)
{
	capture->invalid = 1;
	return error;
}

/* Brings a stream into a capture, on a branch that has no node yet. */
cudaError_t sg_capture_join(struct sg_capture *capture, struct sg_stream *stream, uint32_t branch);
/* Appends to the stream's branch and moves its frontier; other: what the node depends on beside (1 + index),
 * or 0. */
cudaError_t sg_capture_add(struct sg_stream *stream, struct sg_node *node, uint32_t other);
/* The stream's next node follows the other, too. */
cudaError_t sg_capture_add_join(struct sg_stream *stream, uint32_t other);

#endif
