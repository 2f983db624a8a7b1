/* Inside cause*.c: the search for the causes of one worker's being waited for. */
#ifndef ANALYSES_CAUSE_CAUSE_FIND_H
#define ANALYSES_CAUSE_CAUSE_FIND_H

#include "base/table.h"
#include "cause_compare.h"
#include "reconstruct/exchange.h"

/* The workers with the same layers. */
struct cause_stage {
	size_t first, count; /* in `order` */
	double busy;         /* mean part of the time that they compute */
	size_t busiest;      /* the worker that stands for them, the first of several */
};

/* What the finders look at; the same for all workers up to `iteration_ns`. */
struct cause_search {
	const struct analysis *analysis;
	const struct balance *balance;
	const struct cause_measure *measures; /* by worker */
	const struct host_calls *calls;       /* by worker; NULL: not known */
	struct cause_list *list;
	struct exchange_list exchanges;
	struct cause_place *order; /* the workers by stage and path; where each is */
	size_t *places;
	struct cause_stage *stages;
	double stages_busy, busiest_stage; /* the sum of all, the most */
	double iteration_ns, mean_ns;      /* median over all, mean */
	size_t worker;
	const struct cause_measure *own, *peer; /* peer: same layers, in the faster quarter; NULL: none */
	struct cause_comparison comparison;     /* valid with a peer */
	double wait_caused_ns, share;
	double explained_ns;                             /* by the causes found so far */
	const struct host_calls *own_calls, *peer_calls; /* NULL: not known */
	/* What its first computation, and what it launches later, is later than the peer's; less what has
	 * been found to cause it. */
	double lead_ns, late_ns;
	double first_launch_ns; /* of late_ns, at first: before the first computation, after the batch is copied */
};

/* Adds a cause of the current worker if it costs enough; `evidence` is in the list's arena. */
void cause_add(struct cause_search *search, struct cause cause);

bool cause_matters(const struct cause_search *search, double cost_ns);

/* Is the worker a stage of a pipeline: are there workers with other layers? */
bool cause_is_stage(const struct cause_search *search);

/* What makes a worker come late, as far as it is measured; and by how much that is more than the peer's. */
double cause_path_ns(const struct cause_measure *measure);
double cause_excess(const struct cause_search *search);

/* Finders of what a peer shows; without one they find nothing (cause_peer.c). */
void cause_find_slower(struct cause_search *search);
void cause_find_layer(struct cause_search *search);
void cause_find_work(struct cause_search *search);

/* Do its computations have no sizes, as kernels of other profilers' traces? Then those that seem alike may
 * not be. */
bool cause_is_without_sizes(const struct cause_search *search);

/* Does a figure that costs so much more than the peer's make a great part of the excess, and recur? */
bool cause_figure_counts(const struct cause_search *search, const struct cause_figure *figure,
	const struct cause_figure *peers, double cost_ns);

/* Of a worker that is slower throughout: how much later it begins because it copies its input so slowly too.
 */
double cause_slow_copying(const struct cause_search *search);

/* Finders of what its host does, each of what those before it have left (cause_host.c). */
void cause_find_call(struct cause_search *search);
void cause_find_pause(struct cause_search *search);
void cause_find_input(struct cause_search *search);
void cause_find_host(struct cause_search *search);

/* Fills in the stages; the workers are in order. The caller frees them. */
void cause_measure_stages(struct cause_search *search);

/* Finders of what needs no peer (cause_stage.c). */
void cause_find_stage(struct cause_search *search);
void cause_find_link(struct cause_search *search);

#endif
