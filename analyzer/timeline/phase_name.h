/*
 * The phases of an iteration, in one list, whose order is that of tables: name for programs, as the equations
 * have it, for people, in words, and in a sentence (of a page and of report's help); what the device does,
 * the phase's part in equation (3.3), and the colour in pages, in CSS. And the columns of a layer's time.
 */
#ifndef TIMELINE_PHASE_NAME_H
#define TIMELINE_PHASE_NAME_H

#define PHASE_LIST(X) \
	X(IO, "io", "t_io", "input", "reading input from files", INPUT, SUM, "var(--k3)") \
	X(H2D, "h2d", "t_h2d", "host to device", "copying the input to the GPU", INPUT, SUM, "var(--k5)") \
	X(MD, "md", "t_md", "batch split", \
		"copies between GPUs that feed the input; on the host, from the last read to the first copy", \
		INPUT, SUM, "#b8a800") \
	X(FORWARD, "forward", "t_f", "forward", "forward pass", COMPUTING, LONGEST, "var(--k0)") \
	X(BACKWARD, "backward", "t_b", "backward", "backward pass, with the loss's gradient", COMPUTING, \
		LONGEST, "var(--k4)") \
	X(COMMUNICATION, "communication", "t_c", "communication", "exchanging gradients and activations", \
		EXCHANGING, LONGEST, "var(--k1)") \
	X(UPDATE, "update", "t_u", "update", "from gradients to parameters", COMPUTING, SUM, "var(--k2)") \
	X(GRAPH, "graph", "t_graph", "graph", \
		"captured graphs of several phases, timed as a whole; none with device times of CUPTI", \
		COMPUTING, LONGEST, "var(--k6)") \
	X(OTHER, "other", "other", "other", \
		"other or unattributed work: results to the host, memory set, algorithm search, sums of losses", \
		OTHER, NOT, "var(--k7)") \
	X(IDLE_LAUNCH, "idle_launch", "idle: host", "idle: host", \
		"launch-bound: the GPU waits for the host to launch work", IDLE, NOT, "var(--grey)") \
	X(IDLE_QUEUE, "idle_queue", "idle: queue", "idle: queue", \
		"work is enqueued and has not started: launch latency, or it waits for other work", IDLE, \
		NOT, "var(--grey)") \
	X(IDLE_SYNC, "idle_sync", "idle: sync", "idle: sync", \
		"the host waits in a synchronization, and the GPU has no work", IDLE, NOT, "var(--grey)") \
	X(IDLE_UNKNOWN, "idle_unknown", "idle: unknown", "idle: unknown", \
		"unknown cause, as before the first or after the last call", IDLE, NOT, "var(--grey)")

enum phase {
#define PHASE_ITEM(name, key, symbol, title, text, does, term, colour) PHASE_##name,
	PHASE_LIST(PHASE_ITEM)
#undef PHASE_ITEM
		PHASE_COUNT,
};

#define PHASE_WORK_COUNT PHASE_IDLE_LAUNCH /* the phases before it are work */

enum phase_does {
	PHASE_DOES_INPUT,
	PHASE_DOES_COMPUTING,
	PHASE_DOES_EXCHANGING,
	PHASE_DOES_OTHER,
	PHASE_DOES_IDLE,
};

/* t_io + t_h2d + t_md + max(t_f + t_b + t_c) + t_u: a graph counts with what it is of for the most part. */
enum phase_term {
	PHASE_TERM_SUM,
	PHASE_TERM_LONGEST, /* of the sums of these the longest of all ranks counts */
	PHASE_TERM_NOT,
};

struct phase_facts {
	const char *text, *colour;
	enum phase_does does;
	enum phase_term term;
};
extern const struct phase_facts phase_facts[PHASE_COUNT];

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

#define PHASE_LAYER_PHASES \
	(PHASE_LAYER_UPDATE + 1) /* the columns up to it are times of phases of their own: */
extern const enum phase phase_of_column[PHASE_LAYER_PHASES];

#endif
