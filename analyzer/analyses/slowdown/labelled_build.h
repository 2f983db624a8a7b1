/* What the parts of labelled_graph.c share: dependencies as they are found, before they are tasks in order.
 */
#ifndef ANALYSES_SLOWDOWN_LABELLED_BUILD_H
#define ANALYSES_SLOWDOWN_LABELLED_BUILD_H

#include "labelled_graph.h"
#include "labelled_match.h"

/* `to` waits for `from`: operations, and after them rendezvous. */
struct labelled_arc {
	uint32_t from, to;
};

struct labelled_builder {
	const struct labelled *job;
	struct labelled_graph *graph;
	struct labelled_arc *arcs;
	size_t arc_count, arc_room;
	uint32_t node_count;
	int32_t *rendezvous_step; /* of each rendezvous */
	size_t rendezvous_count, rendezvous_room;
	uint32_t *worker_at;          /* by stage and lane */
	struct labelled_lists *lists; /* of the step's workers */
	uint32_t *items;              /* what the lists point to */
	uint32_t *place;              /* of each operation in its list */
	uint32_t *computing;          /* of each operation that is a message */
	bool *nowhere;
	size_t first, behind; /* operations of the step */
	int32_t step;
};

static inline const struct labelled_operation *labelled_builder_at(
	const struct labelled_builder *builder, uint32_t operation)
{
	return &builder->job->operations[operation];
}

/* Nothing where either is LABELLED_NONE. */
static inline void labelled_builder_wait(struct labelled_builder *builder, uint32_t to, uint32_t from)
{
	if (from != LABELLED_NONE && to != LABELLED_NONE)
		*MEM_PUSH(builder->arcs, builder->arc_count, builder->arc_room) =
			(struct labelled_arc){from, to};
}

/*
 * Makes the graph's tasks of the operations and rendezvous. So far graph->task says which rendezvous an
 * operation takes part in; then it says its task. `step_begin_ns`: when each step begins.
 */
void labelled_builder_order(struct labelled_builder *builder, const int64_t *step_begin_ns);

#endif
