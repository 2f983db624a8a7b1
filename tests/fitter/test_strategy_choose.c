/* Which plan of a strategy is the best. */
#include "../analyzer/check.h"
#include "advise/strategy_choose.h"
#include "base/random.h"
#include "chain.h"

#include <math.h>

static struct strategy_choice choices[STRATEGY_NAME_COUNT];

/* Replayed, PipeDream with so many replicas of each stage; 0: as its planner takes them. */
static double pipedream(const struct chain *chain, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t micro_batches, size_t replicas)
{
	struct strategy_plan plan = {.kind = STRATEGY_PIPEDREAM, .micro_batches = micro_batches, .chunks = 1};

	if (strategy_cut(&chain->net, cluster, how, replicas, &plan) < 0)
		return HUGE_VAL;
	return strategy_pipe(&chain->net, cluster, how, &plan, NULL);
}

/* The planner's plan is the best by its bound, which is not what the replay says: the quickest of it and of
 * those with as many replicas for each stage is chosen. */
static void check_even(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 16};
	const size_t micro[] = {4, 8};
	struct random random;
	struct chain chain;
	int even = 0;

	random_init(&random, 3, 0);
	for (int round = 0; round < 20; round++) {
		double planned = HUGE_VAL, least = HUGE_VAL;

		chain_init(&chain, 10);
		cluster_init(&cluster, 4, 1, 4);
		for (size_t i = 0; i < chain.net.layer_count; i++) {
			for (int k = 0; k < 3; k++)
				chain.times[3 * i + (size_t)k] = 10 * random_unit(&random);
			chain.layers[i].input_bytes = 10 * random_unit(&random);
			chain.layers[i].parameter_bytes = 30 * random_unit(&random);
		}
		for (size_t m = 0; m < 2; m++) {
			planned = fmin(planned, pipedream(&chain, &cluster, &how, micro[m], 0));
			for (size_t replicas = 1; replicas <= 2; replicas++)
				least = fmin(least, pipedream(&chain, &cluster, &how, micro[m], replicas));
		}
		even += least < planned * (1 - 1e-9);
		CHECK(strategy_choose(&chain.net, &cluster, &how, &(struct strategy_tries){micro, 2, NULL},
			      choices) == 0,
			"choose");
		CHECK(near(choices[STRATEGY_NAME_PIPEDREAM].time, fmin(planned, least)), "round %d: %g",
			round, choices[STRATEGY_NAME_PIPEDREAM].time);
	}
	CHECK(even > 3, "%d where the planner's is not the quickest", even);
}

int main(void)
{
	check_even();
	return check_end();
}
