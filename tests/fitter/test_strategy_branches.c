/* Pipelines of networks with branches: which layers wait until a stage's gradient has gone, by hand. */
#include "../analyzer/check.h"
#include "advise/strategy.h"
#include "chain.h"

#include <math.h>

/*
 * Two stages, of one layer without times and of three of backward 1, two micro-batches, messages of 10.
 * Inputs come at 10 and 20; the gradient of the last micro-batch goes from 23 to 33. The other one's waits
 * there for its place: before the first layer, which is done at 34, or where the last adds to what came in,
 * or a product in front of it takes that, before all that are from there on. It is there 10 later, and 20 the
 * next batch.
 */
static void check_branches(void)
{
	static const struct {
		double done;
		size_t taker; /* of what came in; the sum is layer 3; 0: there is none */
	} cases[] = {{34, 0}, {36, 3}, {35, 2}};
	const struct strategy_how how = {.batch = 2};
	struct strategy_plan plan = {.kind = STRATEGY_GPIPE,
		.stage_count = 2,
		.micro_batches = 2,
		.cut = {0, 1, 4},
		.first = {0, 1, 2}};
	static struct strategy_cluster cluster;
	struct chain chain;

	for (size_t i = 0; i < 3; i++) {
		double time;

		chain_init(&chain, 4);
		cluster_init(&cluster, 2, 10, INFINITY);
		for (size_t k = 1; k < 4; k++) {
			*chain.layers[k].backward = 1;
			chain.layers[k].input_bytes = chain.layers[k].output_bytes = 1;
		}
		chain.layers[3].is_sum = cases[i].taker > 0;
		if (cases[i].taker == 2)
			chain.layers[1].output_bytes = 7;
		time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
		CHECK(near(time, cases[i].done + 10), "%zu: %g", cases[i].taker, time);
	}
}

int main(void)
{
	check_branches();
	return check_end();
}
