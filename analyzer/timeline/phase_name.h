/* The phases of an iteration, in one list (for programs, as the equations have it, for people, in words), and
 * the columns of a layer's time. */
#ifndef TIMELINE_PHASE_NAME_H
#define TIMELINE_PHASE_NAME_H

#define PHASE_LIST(X) \
	X(IO, "io", "t_io", "input", "reading input from files") \
	X(H2D, "h2d", "t_h2d", "host to device", "copying input to the device") \
	X(MD, "md", "t_md", "batch split", "splitting the batch") \
	X(FORWARD, "forward", "t_f", "forward", "forward pass") \
	X(BACKWARD, "backward", "t_b", "backward", "backward pass") \
	X(COMMUNICATION, "communication", "t_c", "communication", "exchanging gradients and activations") \
	X(UPDATE, "update", "t_u", "update", "updating the model") \
	X(GRAPH, "graph", "t_graph", "graph", "captured graphs of several phases, timed as a whole") \
	X(OTHER, "other", "other", "other", "other work") \
	X(IDLE_LAUNCH, "idle_launch", "idle: host", "idle: host", \
		"the device waits for the host to launch work") \
	X(IDLE_QUEUE, "idle_queue", "idle: queue", "idle: queue", \
		"work is enqueued and has not started: latency, or it waits for other work") \
	X(IDLE_SYNC, "idle_sync", "idle: sync", "idle: sync", \
		"the host waits in a synchronization, the device has no work") \
	X(IDLE_UNKNOWN, "idle_unknown", "idle: unknown", "idle: unknown", "unknown cause")

enum phase {
#define PHASE_ITEM(name, key, symbol, title, text) PHASE_##name,
	PHASE_LIST(PHASE_ITEM)
#undef PHASE_ITEM
		PHASE_COUNT,
};

#define PHASE_WORK_COUNT PHASE_IDLE_LAUNCH /* the phases before it are work */

/* "h2d", "t_h2d", "host to device". */
extern const char *const phase_keys[PHASE_COUNT];
extern const char *const phase_symbols[PHASE_COUNT];
extern const char *const phase_titles[PHASE_COUNT];

/* Columns of a layer's time. */
enum phase_layer_column {
	PHASE_LAYER_FORWARD,
	PHASE_LAYER_BACKWARD,
	PHASE_LAYER_COMMUNICATION,
	PHASE_LAYER_UPDATE,
	PHASE_LAYER_RECOMPUTE, /* part of backward: forward work done again */
	PHASE_LAYER_WAIT,      /* in exchanges, for the last rank: no part of communication */
	PHASE_LAYER_COLUMNS,
};

#endif
