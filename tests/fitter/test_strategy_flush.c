/*
 * What differs between pipelines with an update a batch and with one a micro-batch: the former's messages
 * wait for the update before, and their gradients are added up; the latter make new versions of their
 * weights. Worked out by hand.
 */
#include "../analyzer/check.h"
#include "strategy/strategy.h"
#include "chain.h"

/*
 * Two stages of 10 + 10 a micro-batch, messages of 50, an update of 1000 on the second. Its next batch from
 * the end of an update on: inputs come until 50 and 100, F0 50-60, F1 100-110, B1 110-120, whose gradient
 * goes until 170, B0 170-180, update until 1180. The first stage has long been ready to send.
 */
static void check_update_first(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 2};
	struct strategy_plan plan = {STRATEGY_GPIPE, 2, 2, {0, 1, 2}, {0, 1, 2}, 1};
	struct chain chain;

	chain_init(&chain, 2);
	cluster_init(&cluster, 2, 0, 1);
	for (size_t i = 0; i < 2; i++) {
		*chain.layers[i].forward = *chain.layers[i].backward = 10;
		chain.layers[i].input_bytes = 50;
	}
	*chain.layers[1].update = 1000;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 1180), "%g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
	/* PipeDream updates after each micro-batch, and inputs come meanwhile: 2 (10 + 10 + 1000) */
	plan.kind = STRATEGY_PIPEDREAM;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 2040), "PipeDream: %g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
}

/*
 * Three stages of 10 + 20 a micro-batch, four of them, and 30 bytes of parameters at 2 bytes/ns: to read and
 * write their gradient takes 30, half a backward pass 10. Three of four add: 15 more on the average.
 */
static void check_accumulation(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 4};
	struct strategy_plan plan = {STRATEGY_GPIPE, 3, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, 1};
	struct chain chain;

	chain_init(&chain, 3);
	cluster_init(&cluster, 3, 0, 1);
	cluster.memory_bandwidth = 2;
	for (size_t i = 0; i < 3; i++) {
		*chain.layers[i].forward = 10;
		*chain.layers[i].backward = 20;
		chain.layers[i].input_bytes = 0;
		chain.layers[i].parameter_bytes = 30;
	}
	CHECK(near(strategy_accumulation(&chain.net, &cluster, 0, 2, 1), 2 * 20), "of two layers");
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 6 * (30 + 15)), "GPipe: %g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 30 + 15), "bound");
	/* a slow worker's memory is as much slower */
	cluster.slow[0] = cluster.slow[1] = cluster.slow[2] = 2;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 6 * 2 * (30 + 15)), "slow");
	cluster.slow[0] = cluster.slow[1] = cluster.slow[2] = 1;
	plan.kind = STRATEGY_MODEL;
	plan.micro_batches = 1;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 3 * 4 * 30), "one micro-batch");
	/* work that takes longer hides it */
	plan = (struct strategy_plan){STRATEGY_GPIPE, 3, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, 1};
	for (size_t i = 0; i < 3; i++)
		*chain.layers[i].backward = 80;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 6 * 90), "long passes");
	/* and what a memory reaches may not be known */
	*chain.layers[0].backward = *chain.layers[1].backward = *chain.layers[2].backward = 20;
	cluster.memory_bandwidth = 0;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 6 * 30), "unknown");
}

/* Three stages of 10 + 20 + 1 a micro-batch; 30 bytes of weights are copied in 3 + 2 30/2, but not by the
 * last one, which has one version. */
static void check_versions(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 4};
	struct strategy_plan plan = {STRATEGY_PIPEDREAM, 3, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, 1};
	struct chain chain;

	chain_init(&chain, 3);
	cluster_init(&cluster, 3, 0, 1);
	cluster.memory_bandwidth = 2;
	cluster.copy_latency = 3;
	for (size_t i = 0; i < 3; i++) {
		*chain.layers[i].forward = 10;
		*chain.layers[i].backward = 20;
		*chain.layers[i].update = 1;
		chain.layers[i].input_bytes = 0;
	}
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 31), "no weights");
	chain.layers[2].parameter_bytes = 30;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 31), "the last stage");
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 31), "bound of the last stage");
	chain.layers[1].parameter_bytes = 30;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * (31 + 33)), "PipeDream: %g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 31 + 33), "bound");
	/* a stage of two layers copies at once */
	chain.layers[0].parameter_bytes = 30;
	plan = (struct strategy_plan){STRATEGY_PIPEDREAM, 2, 4, {0, 2, 3}, {0, 1, 2}, 1};
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * (62 + 63)), "two layers");
	plan.kind = STRATEGY_LAYERWISE;
	plan.micro_batches = 1;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 60 + 2 + 63), "layer-wise: %g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
	CHECK(near(strategy_layerwise_least(&chain.net, &cluster, &how, &plan), 4 * 40 + 2 + 63), "%g",
		strategy_layerwise_least(&chain.net, &cluster, &how, &plan));
	cluster.memory_bandwidth = 0;
	plan = (struct strategy_plan){STRATEGY_PIPEDREAM, 3, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, 1};
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 31), "unknown");
}

int main(void)
{
	check_update_first();
	check_accumulation();
	check_versions();
	return check_end();
}
