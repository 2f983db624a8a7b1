/*
 * What is behind the exported functions of the runtime and of the driver API: the calls themselves, without
 * what each library does on entering (SG_ENTER) and with errors.
 *
 * The one idea: both libraries' functions are thin shells around these, so that a stream, an event, a graph
 * or a block is the same object whoever made it, and neither library calls the other's exported functions.
 * Unless a comment says otherwise a function does what the runtime's function of that name documents, on the
 * calling thread's current device, and returns its error.
 */
#ifndef SG_CALLS_H
#define SG_CALLS_H

#include "copy.h"
#include "core/capture.h"

/* The runtime's name of an error number and the text, NULL for one that is none (error.c). */
const char *sg_error_name(int error);
const char *sg_error_text(int error);

/* Devices (device.c) */
cudaError_t sg_device_attribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t sg_device_synchronize(int device);
/* "softgpu N", or the name of the profile. */
void sg_device_name(char *name, size_t room, int device);
/* The 16 bytes that name a device, and its place on the bus as text. */
void sg_device_uuid(char bytes[16], int device);
cudaError_t sg_device_bus_id(char *text, int room, int device);
cudaError_t sg_can_access_peer(int *can, int device, int peer);
cudaError_t sg_enable_peer(int peer, unsigned flags);

/* Memory (memory.c) */
cudaError_t sg_allocate(void **pointer, size_t size_bytes, enum sg_block_kind kind);
cudaError_t sg_allocate_pitch(void **pointer, size_t *pitch, size_t width, size_t height);
cudaError_t sg_allocate_managed(void **pointer, size_t size_bytes, unsigned flags);
cudaError_t sg_allocate_host(void **pointer, size_t size_bytes, unsigned flags);
cudaError_t sg_register(void *pointer, size_t size_bytes, unsigned flags);
cudaError_t sg_unregister(void *pointer);
cudaError_t sg_free(void *pointer);
/* Frees or forgets a block of host memory; `unknown` is the answer when there is no such block. */
cudaError_t sg_free_host(void *pointer, enum sg_block_kind kind, cudaError_t unknown);
/* From a pool, or from the current one of the stream's device (NULL). */
cudaError_t sg_allocate_async(
	void **pointer, size_t size_bytes, struct sg_memory_pool *pool, cudaStream_t stream);
cudaError_t sg_free_async(void *pointer, cudaStream_t stream);
cudaError_t sg_memory_info(size_t *free_bytes, size_t *total_bytes);
/*
 * Memory that another process allocated (share.c): the same pages. Events likewise (event.c); both by a
 * handle, a file of that process with a mark.
 */
enum { SG_HANDLE_MEMORY = 1, SG_HANDLE_EVENT };
void sg_handle_fill(void *handle, size_t room, uint32_t kind, const struct sg_shared_file *file, int number);
/* 0, or -1: it is none of this kind, or of this process. */
int sg_handle_read(const void *handle, uint32_t kind, struct sg_shared_file *file, int *number);
cudaError_t sg_event_share(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t sg_event_open(cudaEvent_t *event, const cudaIpcEventHandle_t *handle);
cudaError_t sg_share(cudaIpcMemHandle_t *handle, void *pointer);
cudaError_t sg_share_open(void **pointer, const cudaIpcMemHandle_t *handle, unsigned flags);
cudaError_t sg_share_close(void *pointer);
/* How managed memory will be used: checked, and nothing else, as it lies where every device reads it. */
cudaError_t sg_advise(const void *pointer, size_t size_bytes, enum cudaMemoryAdvise advice,
	struct cudaMemLocation location);
cudaError_t sg_prefetch(const void *pointer, size_t size_bytes, struct cudaMemLocation location,
	unsigned flags, cudaStream_t stream);
cudaError_t sg_host_device_pointer(void **device, void *host, unsigned flags);

/* Copies and fills (peer_copy.c, fill.c); widths are bytes */
cudaError_t sg_copy_peer(void *to, int to_device, const void *from, int from_device, size_t size_bytes);
cudaError_t sg_copy_peer_async(
	void *to, int to_device, const void *from, int from_device, size_t size_bytes, cudaStream_t stream);
cudaError_t sg_copy_batch(void *const *to, const void *const *from, const size_t *sizes, size_t count,
	const size_t *attribute_indices, size_t attribute_count, cudaStream_t stream);
/* Fills the box's `to` side with elements of 1, 2 or 4 bytes. */
cudaError_t sg_fill(const struct sg_box *box, unsigned value, unsigned element_bytes, cudaStream_t stream,
	enum sg_wait wait);

/* Streams (stream.c, event.c) */
cudaError_t sg_stream_create(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t sg_stream_destroy(cudaStream_t stream);
cudaError_t sg_stream_synchronize(cudaStream_t stream);
cudaError_t sg_stream_query(cudaStream_t stream);
cudaError_t sg_stream_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t sg_launch_host(cudaStream_t stream, cudaHostFn_t fn, void *data);
cudaError_t sg_stream_begin_capture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t sg_stream_begin_capture_to_graph(cudaStream_t stream, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependency_data,
	size_t dependency_count, enum cudaStreamCaptureMode mode);
cudaError_t sg_stream_end_capture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t sg_stream_update_capture(
	cudaStream_t stream, const cudaGraphNode_t *dependencies, size_t count, unsigned flags);
cudaError_t sg_stream_is_capturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
/* As sg_capture_info, with the checks that the exported functions share. */
cudaError_t sg_stream_capture_info(cudaStream_t stream, struct sg_capture_info *info);
cudaError_t sg_exchange_capture_mode(enum cudaStreamCaptureMode *mode);

/* Events (event.c) */
cudaError_t sg_event_create(cudaEvent_t *event, unsigned flags);
cudaError_t sg_event_destroy(cudaEvent_t event);
cudaError_t sg_event_record_on(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t sg_event_query(cudaEvent_t event);
cudaError_t sg_event_synchronize(cudaEvent_t event);
cudaError_t sg_event_elapsed(float *ms, cudaEvent_t start, cudaEvent_t end);

/* Graphs (graph.c); the graph that a handle means, or NULL */
struct sg_graph *sg_graph_of(cudaGraph_t graph);
struct sg_graph *sg_graph_executable_of(cudaGraphExec_t executable);
cudaError_t sg_graph_create(cudaGraph_t *graph, unsigned flags);
cudaError_t sg_graph_instantiate_handle(
	cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t sg_graph_launch_handle(cudaGraphExec_t executable, cudaStream_t stream);
/* Gives the executable graph the other one's arguments: cudaErrorGraphExecUpdateFailure when they differ in
 * more. *difference says in what; the number of the vendor's answer is its `what`, or 1 of other errors. */
cudaError_t sg_graph_update(
	cudaGraphExec_t executable, cudaGraph_t graph, struct sg_graph_difference *difference);
/*
 * Nodes by hand (graph_node.c). What is submitted to the edit's stream between begin and end becomes the
 * node; end gets the failure of that, if there was one, and answers it. Nothing submitted: an empty node. Not
 * for several threads on one graph, as with the vendor. After a begin that failed there is no end.
 */
struct sg_graph_edit {
	cudaStream_t stream;
	struct sg_graph *graph; /* that the node goes to */
	uint32_t before;        /* nodes in it */
};
cudaError_t sg_graph_add_begin(
	struct sg_graph_edit *edit, cudaGraph_t graph, const cudaGraphNode_t *depends_on, size_t count);
cudaError_t sg_graph_add_end(struct sg_graph_edit *edit, cudaError_t error, cudaGraphNode_t *node);
/* For between the two: a node for a copy of the graph, or for the graph itself, which belongs to the node
 * then. */
cudaError_t sg_graph_add_child(cudaStream_t stream, cudaGraph_t graph, int moved);
/* The same for a conditional node; *graphs are its bodies, empty, as long as it is there. */
cudaError_t sg_graph_add_conditional(
	cudaStream_t stream, uint64_t condition, int type, unsigned size, cudaGraph_t **graphs);
/* The data of a new node's edges, which must have been checked before. */
cudaError_t sg_graph_check_edges(
	cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphEdgeData *data, size_t count);
cudaError_t sg_graph_note_edges(
	cudaGraphNode_t to, const cudaGraphNode_t *from, const cudaGraphEdgeData *data, size_t count);
/* The same, to give a node other arguments in its graph. */
cudaError_t sg_graph_set_begin(struct sg_graph_edit *edit, cudaGraphNode_t node);
cudaError_t sg_graph_set_end(struct sg_graph_edit *edit, cudaError_t error, cudaGraphNode_t node);
/* The same, to give a node of an executable graph (the node of the graph it was made of) other arguments. */
cudaError_t sg_graph_change_begin(struct sg_graph_edit *edit, cudaGraphExec_t executable);
cudaError_t sg_graph_change_end(
	struct sg_graph_edit *edit, cudaError_t error, cudaGraphExec_t executable, cudaGraphNode_t node);
cudaError_t sg_graph_upload(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t sg_graph_exec_destroy(cudaGraphExec_t executable);
cudaError_t sg_graph_destroy(cudaGraph_t graph);
cudaError_t sg_graph_get_nodes(cudaGraph_t graph, int only_roots, cudaGraphNode_t *nodes, size_t *count);

/* What is asked of graphs and changed in them, but arguments (graph_query.c) */
cudaError_t sg_graph_get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
	cudaGraphEdgeData *data, size_t *count);
/* What a node depends on or, `after`, what depends on it. */
cudaError_t sg_graph_get_neighbours(
	cudaGraphNode_t node, int after, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count);
/* Adds or, without `add`, takes away edges, up to the first that cannot be. */
cudaError_t sg_graph_change_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	const cudaGraphEdgeData *data, size_t count, int add);
cudaError_t sg_graph_node_destroy(cudaGraphNode_t node);
cudaError_t sg_graph_clone_handle(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t sg_graph_find_in_clone(cudaGraphNode_t *found, cudaGraphNode_t node, cudaGraph_t clone);
cudaError_t sg_graph_child_of(cudaGraphNode_t node, cudaGraph_t *graph);
cudaError_t sg_graph_node_type_of(cudaGraphNode_t node, int *type);
cudaError_t sg_graph_exec_flags(cudaGraphExec_t executable, unsigned long long *flags);
/* set: 0, 1, or -1, which asks. */
cudaError_t sg_graph_exec_enable(
	cudaGraphExec_t executable, cudaGraphNode_t node, int set, unsigned *enabled);
cudaError_t sg_graph_draw(cudaGraph_t graph, const char *path);
cudaError_t sg_condition_create(uint64_t *condition, cudaGraph_t graph, unsigned value, unsigned flags);
/* A loop with that condition is passed through so many times. Handles may be any. */
void sg_condition_counts(uint64_t condition, uint32_t passes);
cudaError_t sg_user_object_create(
	void **handle, void *object, cudaHostFn_t destroy, unsigned references, unsigned flags);
cudaError_t sg_user_object_count(void *handle, unsigned count, int add);
cudaError_t sg_graph_retain(cudaGraph_t graph, void *user_object, unsigned count, unsigned flags);
cudaError_t sg_graph_release(cudaGraph_t graph, void *user_object, unsigned count);
/* Values have 64 bytes. */
cudaError_t sg_graph_attribute(cudaGraphNode_t node, int attribute, void *value, int set);
cudaError_t sg_graph_copy_attributes(cudaGraphNode_t to, cudaGraphNode_t from);
cudaError_t sg_graph_memory_attribute(int device, int attribute, void *value, int set);

#endif
