/* Inside timeline_*.c: captured graphs, as their launches are taken apart. */
#ifndef TIMELINE_TIMELINE_GRAPH_H
#define TIMELINE_TIMELINE_GRAPH_H

#include "trace/trace.h"

struct timeline_replay {
	uint32_t graph; /* of the trace */
	uint32_t count; /* operations that put work on a device */
	uint32_t *ends; /* by operation: nodes of the graph up to and with its own */
	uint32_t sure;  /* operations whose nodes are known */
};

struct timeline_replay_list {
	const struct trace *trace;
	struct timeline_replay *items; /* by graph of the trace; NULL: it has none */
	uint64_t call_count;           /* that the launches add */
	bool left;                     /* too many: launches stay whole */
};

/* The trace must stay. read: by chunk whether its launches count; NULL: all do. */
void timeline_replay_init(struct timeline_replay_list *list, const struct trace *trace, const bool *read);
void timeline_replay_free(struct timeline_replay_list *list);

/* The graph that an operation of the trace launches, or NULL. */
const struct timeline_replay *timeline_replay_of(const struct timeline_replay_list *list, uint32_t number);

/* Which of the graph's operations the node with this ordinal belongs to; `count`: not known. */
uint32_t timeline_replay_operation(const struct timeline_replay *replay, uint32_t ordinal);

/* Does the operation with this number, captured, put work on a device? False if there is none. */
bool timeline_replay_is_work(const struct trace *trace, uint32_t operation);

#endif
