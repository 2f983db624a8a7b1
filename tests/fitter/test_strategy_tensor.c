/*
 * Tensor parallelism: a product by columns and one by rows worked out by hand, sequences against all that
 * there are, branches, memory; and it stands among the strategies, untried.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "base/random.h"
#include "chain.h"

#include <math.h>

/* Products of 12 and 24 bytes with an activation between; 8 bytes a sample go in, 16 between, 4 come out. */
static void init(struct chain *chain, struct strategy_cluster *cluster)
{
	static const double in[] = {8, 16, 16}, out[] = {16, 16, 4}, parameters[] = {12, 0, 24};

	chain_init(chain, 3);
	cluster_init(cluster, 2, 1, 2);
	for (size_t i = 0; i < 3; i++) {
		struct strategy_layer *layer = &chain->layers[i];

		*layer->forward = 10;
		*layer->backward = 20;
		*layer->update = 4;
		layer->parameter_bytes = parameters[i];
		layer->input_bytes = in[i];
		layer->output_bytes = layer->kept_bytes = out[i];
		layer->is_product = parameters[i] > 0;
	}
}

static void check_by_hand(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 4, .other = 6, .optimizer_copies = 1};
	struct strategy_data_parts parts;
	struct strategy_memory memory, whole;
	struct chain chain;

	/* Columns, divided, rows: each layer as with 2 samples, 60; one all-reduce of 16 bytes after the
	 * last, 2 (1 + 16 / 4) = 10. The first one's input has no gradient. Updates: 2, 4 / 2 and 2. */
	init(&chain, &cluster);
	whole = strategy_memory_whole(&chain.net, &how, 4, 1);
	CHECK(strategy_tensor(&chain.net, &cluster, &how, &parts, &memory) == 0 && near(parts.compute, 180) &&
			near(parts.exchange, 10) && near(parts.exposed, 10) && parts.buckets == 1 &&
			near(parts.update, 6) && near(parts.total, 180 + 10 + 6 + 6),
		"two products: %g compute, %g exchange, %g update", parts.compute, parts.exchange,
		parts.update);
	/* Three numbers a parameter, all of them divided; kept: 8 + (16 + 16) / 2 + 4 of 8 + 16 + 16 + 4 */
	CHECK(near(memory.state, 3 * 36 / 2.0) && near(memory.kept, whole.kept * 28 / 44),
		"memory: %g, %g of %g", memory.state, memory.kept, whole.kept);

	/* A sum after the first product needs it whole: gathered, 1 + 64 / 4 = 17, computed whole, 120; then
	 * the last by columns: its input's gradient 2 (1 + 64 / 4) = 34, its output gathered, 1 + 16 / 4 = 5.
	 */
	chain.layers[1].is_sum = true;
	CHECK(strategy_tensor(&chain.net, &cluster, &how, &parts, &memory) == 0 && near(parts.compute, 240) &&
			near(parts.exchange, 17 + 34 + 5) && parts.buckets == 3 &&
			near(parts.update, 2 + 4 + 2),
		"a sum: %g compute, %g exchange", parts.compute, parts.exchange);

	/* A last product whose input comes from elsewhere cannot take the divided output. */
	init(&chain, &cluster);
	chain.layers[2].input_bytes = 8;
	CHECK(strategy_tensor(&chain.net, &cluster, &how, &parts, &memory) == 0 && parts.buckets == 3,
		"a branch takes another's channels: %zu", parts.buckets);

	cluster.slow[1] = 3;
	init(&chain, &cluster);
	cluster.slow[1] = 3;
	CHECK(strategy_tensor(&chain.net, &cluster, &how, &parts, &memory) == 0 && near(parts.compute, 540) &&
			near(parts.update, 18),
		"the slowest worker: %g", parts.compute);
}

/* All sequences from layer i on, whose input is divided or not: the least sum of computing and exchanges. */
static double least(const struct strategy_net *net, const struct strategy_cluster *cluster, double batch,
	size_t i, bool divided)
{
	const struct strategy_layer *layer = &net->layers[i];
	const double n = (double)cluster->workers;
	double in, out, once, best;

	if (i == net->layer_count)
		return divided ? INFINITY : 0;
	once = *layer->forward + *layer->backward;
	in = batch * layer->input_bytes;
	out = batch * layer->output_bytes;
	if (divided && layer->is_sum)
		return INFINITY;
	in = i > 0 && in > 0 ? strategy_all_reduce(cluster, 0, cluster->workers, in) : 0;
	if (!layer->is_product)
		return once * batch / (divided ? n : 1) + least(net, cluster, batch, i + 1, divided);
	if (divided)
		return once * batch / n + strategy_all_reduce(cluster, 0, cluster->workers, out) +
		       least(net, cluster, batch, i + 1, false);
	best = once * batch / n + in + least(net, cluster, batch, i + 1, true);
	return fmin(best, once * batch / n + in + strategy_ring_half(cluster, out) +
				  least(net, cluster, batch, i + 1, false));
}

static void check_all_sequences(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 6};
	struct random random;

	random_init(&random, 5, 0);
	for (int trial = 0; trial < 300; trial++) {
		size_t count = 2 + random_below(&random, 9);
		struct strategy_data_parts parts;
		struct strategy_memory memory;
		struct chain chain;
		double before = 8, wanted;

		chain_init(&chain, count);
		cluster_init(&cluster, 2 + random_below(&random, 3), 1, 0.5 + 10 * random_unit(&random));
		for (size_t i = 0; i < count; i++) {
			struct strategy_layer *layer = &chain.layers[i];

			*layer->forward = (double)random_below(&random, 30);
			*layer->backward = (double)random_below(&random, 60);
			layer->parameter_bytes = random_below(&random, 2) ? 8 : 0;
			layer->is_product = layer->parameter_bytes > 0;
			layer->is_sum = !layer->is_product && random_below(&random, 4) == 0;
			layer->input_bytes = before;
			before = layer->output_bytes = 1 + (double)random_below(&random, 40);
		}
		wanted = least(&chain.net, &cluster, how.batch, 0, false);
		CHECK(strategy_tensor(&chain.net, &cluster, &how, &parts, &memory) == 0 &&
				fabs(parts.compute + parts.exchange - wanted) < 1e-9 * wanted,
			"trial %d: %g, but %g can be reached", trial, parts.compute + parts.exchange, wanted);
	}
}

static void check_choice(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	static const size_t one = 1;
	const struct strategy_how how = {.batch = 4, .other = 0, .aggregate = STRATEGY_AFTER};
	const struct strategy_tries tries = {&one, 1, NULL, false};
	struct chain chain;

	init(&chain, &cluster);
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0, "out of memory");
	CHECK(choices[STRATEGY_NAME_TENSOR].possible && near(choices[STRATEGY_NAME_TENSOR].time, 196),
		"tensor: %g", choices[STRATEGY_NAME_TENSOR].time);
	CHECK(choices[STRATEGY_NAME_ZERO_3].possible && choices[STRATEGY_NAME_ZERO_3].time > 0, "zero-3");
	for (int i = STRATEGY_NAME_TENSOR; i <= STRATEGY_NAME_ZERO_3; i++) {
		enum strategy_name name = (enum strategy_name)i;

		choices[i].time = 1;
		CHECK(!strategy_is_validated(name, &chain.net) && !strategy_is_pipe(name) &&
				strategy_has_parts(name),
			"%s", strategy_names[i]);
	}
	CHECK(strategy_best(choices, true) <= STRATEGY_NAME_HYBRID, "an untried strategy is recommended");
	cluster.workers = 1;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 &&
			!choices[STRATEGY_NAME_TENSOR].possible && choices[STRATEGY_NAME_TENSOR].why,
		"one worker");
}

int main(void)
{
	check_by_hand();
	check_all_sequences();
	check_choice();
	return check_end();
}
