/*
 * ZeRO's stages on three workers, worked out by hand: three layers, each a unit, of 12, 24 and 12 bytes,
 * forward 10, backward 20, update 3 each. With L = 1 and B = 2 half a ring is 2 (1 + S/6): 6, 10 and 6.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "chain.h"

static void init(struct chain *chain, struct strategy_cluster *cluster)
{
	chain_init(chain, 3);
	cluster_init(cluster, 3, 1, 2);
	for (size_t i = 0; i < 3; i++) {
		*chain->layers[i].forward = 10;
		*chain->layers[i].backward = 20;
		*chain->layers[i].update = 3;
		chain->layers[i].parameter_bytes = i == 1 ? 24 : 12;
		chain->layers[i].output_bytes = chain->layers[i].kept_bytes = 5;
	}
}

static void check_times(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 3, .other = 6};
	struct strategy_data_parts parts;
	struct chain chain;

	init(&chain, &cluster);
	for (int stage = 1; stage <= 2; stage++) {
		/* scattered from 50, 70 and 90 on: until 96; updated until 99; then 22 of gathering; 6/3 of
		 * other */
		strategy_zero(&chain.net, &cluster, &how, stage, &parts);
		CHECK(near(parts.total, 96 + 3 + 22 + 2) && near(parts.exposed, 28) &&
				near(parts.update, 3) && near(parts.exchange, 44) && parts.buckets == 6,
			"stage %d: %g, %g exposed", stage, parts.total, parts.exposed);
	}
	/* gathered until 6, 16 and 22, forward until 16, 26 and 36; backward until 56, 76 and 96, next to
	 * gathering until 46 and 68 and scattering until 62, 86 and 102 */
	strategy_zero(&chain.net, &cluster, &how, 3, &parts);
	CHECK(near(parts.total, 102 + 3 + 2) && near(parts.exposed, 12) && near(parts.exchange, 60) &&
			parts.buckets == 8,
		"stage 3: %g, %g exposed", parts.total, parts.exposed);
	/* branches are one unit: all of it is gathered, 2 (1 + 48/6) = 18, before anything is computed */
	chain.layers[1].may_cut = chain.layers[2].may_cut = false;
	strategy_zero(&chain.net, &cluster, &how, 3, &parts);
	CHECK(near(parts.total, 18 + 90 + 18 + 3 + 2) && parts.buckets == 2, "one unit: %g", parts.total);
}

static void check_memory(void)
{
	static struct strategy_cluster cluster;
	static const double states[] = {48 + 48 + 96.0 / 3, 48 + (48 + 96.0) / 3, (48 + 48 + 96.0) / 3};
	static const double buckets[] = {0, 24, 24 + 36};
	const struct strategy_how how = {.batch = 6, .optimizer_copies = 2};
	struct strategy_choice choices[STRATEGY_ZERO_COUNT];
	struct strategy_memory whole;
	struct chain chain;

	init(&chain, &cluster);
	whole = strategy_memory_whole(&chain.net, &how, 2, 1);
	cluster.memory = whole.total;
	strategy_choose_zero(&chain.net, &cluster, &how, choices);
	for (int i = 0; i < STRATEGY_ZERO_COUNT; i++) {
		const struct strategy_memory *needs = &choices[i].needs;

		CHECK(near(needs->state, states[i]) && near(needs->bucket, buckets[i]) && choices[i].fits &&
				near(needs->total, whole.total - whole.state + states[i] + buckets[i]),
			"stage %d: %g, %g", i + 1, needs->state, needs->bucket);
	}
	cluster.memory = choices[2].needs.total;
	strategy_choose_zero(&chain.net, &cluster, &how, choices);
	CHECK(!choices[0].fits && choices[2].fits, "only stage 3 fits");
	cluster.workers = 1;
	strategy_choose_zero(&chain.net, &cluster, &how, choices);
	CHECK(!choices[0].possible && choices[0].why, "one worker");
}

int main(void)
{
	check_times();
	check_memory();
	return check_end();
}
