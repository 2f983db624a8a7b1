/*
 * Which worker computes which part of a pipeline, where workers or links differ.
 *
 * strategy_cut is exact for workers that stand in a given order and all take part. Here the order is searched
 * too, and workers may be left out: for every order by the dynamic program where there are few, otherwise by
 * a genetic algorithm, after GABRA (Akintoye et al., arXiv:2104.05035, of which the abstract is what we know:
 * partitions and their replicas are assigned to GPUs by heredity). Both make strategy_bound least among plans
 * whose stages fit into their workers' memory.
 */
#ifndef STRATEGY_ASSIGN_H
#define STRATEGY_ASSIGN_H

#include "strategy.h"

#include <stdint.h>

enum strategy_search {
	STRATEGY_AS_NUMBERED, /* one order alone: strategy_cut */
	STRATEGY_EXACT,       /* all orders */
	STRATEGY_GENETIC,
};

/* worker[i] stands at place i of the plan: stage s has worker[first[s]] ... worker[first[s+1] - 1]. */
struct strategy_assignment {
	enum strategy_search search;
	struct strategy_plan plan;
	size_t worker[STRATEGY_MAX_WORKERS]; /* of the whole cluster; those the plan does not use come last */
	double bound;                        /* strategy_bound */
	double lacks; /* bytes that the worker with the least room for its stage lacks; <= 0: it fits;
			 -infinity: not known */
	size_t tried; /* plans, or orders, that were looked at */
};

/* Do workers differ in speed or memory, or do some links? Nodes alone make no difference. */
bool strategy_is_mixed(const struct strategy_cluster *cluster);

/* How many orders of two and more workers there are; workers with the same speed, memory and links count as
 * one. `most` if there are more. */
size_t strategy_orders(const struct strategy_cluster *cluster, size_t most);

/*
 * The cluster as a plan sees it whose place i is worker[i]: so many workers. It shares what `cluster` owns
 * and `worker`; it is not to be freed.
 */
void strategy_cluster_ordered(const struct strategy_cluster *cluster, const size_t *worker, size_t workers,
	struct strategy_cluster *ordered);

/* The most that a stage's memory is above its workers'; -infinity where no memory is known. */
double strategy_lacks(const struct strategy_net *net, const struct strategy_cluster *ordered,
	const struct strategy_how *how, const struct strategy_plan *plan);

/*
 * The least bound over all orders. assignment->plan has kind and micro_batches; replicate as in strategy_cut.
 * Among partitions of one order the one with the least bound is taken whether it fits or not, so with
 * lacks > 0 a plan that fits may exist. -ERANGE: the network cannot be cut. -ENOMEM. 0.
 */
int strategy_assign_exact(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, bool replicate, struct strategy_assignment *assignment);

struct strategy_heredity {
	size_t population,
		generations;       /* the latter at most: it ends when `patience` brought nothing better */
	size_t patience, restarts; /* so often all but the best are born anew instead */
	uint64_t seed;
	/* begins with strategy_cut's plan for the workers as they are numbered, and ends with strategy_cut
	 * for the order that was found; false: heredity alone */
	bool is_helped;
};
extern const struct strategy_heredity strategy_heredity; /* what strategy_assign uses */

/* As strategy_assign_exact, not proven least. The same seed gives the same plan. */
int strategy_assign_genetic(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, bool replicate, const struct strategy_heredity *heredity,
	struct strategy_assignment *assignment);

/* What strategy_cut costs, in steps of its innermost loops. */
double strategy_cut_cost(
	const struct strategy_net *net, const struct strategy_cluster *cluster, bool replicate);

/* The workers as they are numbered. replicas: as in strategy_cut. */
int strategy_assign_numbered(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t replicas, struct strategy_assignment *assignment);

/* As numbered where workers and links are alike, and with chunks or a given number of replicas above 1; else
 * over all orders where there are few; else, and where that does not fit, by heredity. replicas: as in
 * strategy_cut. */
int strategy_assign(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t replicas, struct strategy_assignment *assignment);

#endif
