/*
 * What the operations of a labelled job wait for, as a graph that can be run again with other durations
 * (replay.h).
 *
 * The rules, in a worker and a step: forward and backward computing is one queue; each kind of message is
 * another. A send waits for its computing, computing for its receive, a receive also for the computing of its
 * direction before. The gathering of parameters goes before the first forward computing of its part of the
 * model; what follows the last computing (gradients, clipping, optimizer) is a queue in the order seen, and a
 * reduction that began earlier waits for the computing that had ended by then. Over workers, a send and its
 * receive, a collective of the data ranks, the embedding's of the first and last stage and clipping of all
 * are rendezvous: data move once the last has come. Where messages are not labelled, computing waits for that
 * of its neighbour. They are those of "Understanding Stragglers in Large Model Training Using What-if
 * Analysis" (arXiv 2505.05713), except that a step's own order counts, not the first's.
 *
 * Steps are apart: each begins at 0. What the labels do not explain (launching, reading input) takes no time.
 */
#ifndef ANALYSES_SLOWDOWN_LABELLED_GRAPH_H
#define ANALYSES_SLOWDOWN_LABELLED_GRAPH_H

#include "analyses/replay/replay.h"
#include "import/labelled.h"

struct labelled_graph {
	struct replay replay; /* measured times are from the step's start */
	uint32_t *task;       /* of each operation */
	uint32_t *operation;  /* of each task; LABELLED_NONE: a rendezvous, which takes no time */
	int32_t *step;        /* of each task */
	int64_t *work_ns;     /* of each operation: its time without waiting for others to come */
	uint32_t *peer;       /* of each send and receive: the other one, or LABELLED_NONE */
	size_t unmatched;     /* sends and receives without counterpart */
	size_t contradicted;  /* dependencies left out since they would close a cycle */
};

/* The job must live as long, settled. The caller frees. */
void labelled_graph_make(struct labelled_graph *graph, const struct labelled *job);
void labelled_graph_free(struct labelled_graph *graph);

#endif
