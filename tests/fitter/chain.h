/* Networks and clusters for tests of strategies: a chain of layers, workers that are all alike. */
#ifndef TEST_CHAIN_H
#define TEST_CHAIN_H

#include "strategy/strategy.h"

enum { CHAIN_MOST = 12 };

/* A chain whose times at batch 1 are given, in proportion to the batch. */
struct chain {
	struct strategy_net net;
	struct strategy_layer layers[CHAIN_MOST];
	double times[3 * CHAIN_MOST], batch;
};

/* So many layers, without times and parameters, each cut off from the one before, with an input of one byte.
 * It must stay where it is. */
void chain_init(struct chain *chain, size_t count);

/* On one node, with links of that latency and bandwidth. */
void cluster_init(struct strategy_cluster *cluster, size_t workers, double latency, double bandwidth);

/* Equal but for rounding. */
int near(double x, double y);

#endif
