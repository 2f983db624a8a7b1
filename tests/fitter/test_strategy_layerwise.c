/*
 * Layer-wise partition and merge: the replay against its closed form, the partition against trying all, and
 * what is merged where more partitions gain nothing.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "base/random.h"
#include "chain.h"

#include <math.h>

enum { PARTITIONS = 3 };

static struct strategy_plan plan_of(void)
{
	return (struct strategy_plan){.kind = STRATEGY_LAYERWISE,
		.stage_count = PARTITIONS,
		.micro_batches = 1,
		.cut = {0, 1, 2, 3},
		.first = {0, 1, 2, 3},
		.chunks = 1};
}

/* Three layers of 10 + 20 + 3, a batch of one. */
static void equal_layers(struct chain *chain)
{
	chain_init(chain, PARTITIONS);
	for (size_t i = 0; i < PARTITIONS; i++) {
		*chain->layers[i].forward = 10;
		*chain->layers[i].backward = 20;
		*chain->layers[i].update = 3;
		chain->layers[i].input_bytes = i ? 12 : 0;
		chain->layers[i].parameter_bytes = 100;
	}
}

/*
 * f + b + u. Messages of 12 are hidden, and would not be with as few batches under way as with PipeDream: on
 * the first worker three go there and back, 3 (10 + 20) + 2 * 3 + 4 * 12 in 3 rounds, 48.
 */
static void check_equal(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 1};
	struct strategy_plan plan = plan_of();
	struct chain chain;
	double time;

	equal_layers(&chain);
	cluster_init(&cluster, PARTITIONS, 0, 1);
	time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
	CHECK(near(time, 33), "a round: %g", time);
	CHECK(strategy_depth(&plan, 0) == 5 && strategy_depth(&plan, 2) == 1, "batches under way");
	CHECK(near(strategy_layerwise_least(&chain.net, &cluster, &how, &plan), 23), "both passes at once");
	plan.kind = STRATEGY_PIPEDREAM;
	time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
	CHECK(time > 47 && time < 50, "PipeDream waits for messages: %g", time);
	/* a message that takes longer than a partition is what a round takes */
	plan.kind = STRATEGY_LAYERWISE;
	chain.layers[1].input_bytes = 40;
	CHECK(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL) >= 40 - 1e-9, "a slow link");
	CHECK(near(strategy_layerwise_least(&chain.net, &cluster, &how, &plan), 40), "a slow link alone");
	/* five versions and gradients of the first layer, and six inputs, of which there are none */
	CHECK(near(strategy_memory_stage(&chain.net, &how, &plan, 0).state, 6 * 100), "versions");
	CHECK(near(strategy_memory_stage(&chain.net, &how, &plan, 1).kept, (3 + 1) * 40), "inputs");
}

static void fill(struct chain *chain, struct random *random, size_t count, double most_bytes)
{
	chain_init(chain, count);
	for (size_t i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++)
			chain->times[3 * i + (size_t)k] = 1 + 10 * random_unit(random);
		chain->layers[i].input_bytes = most_bytes * random_unit(random);
		chain->layers[i].may_cut = i > 0;
	}
}

/* Unequal partitions: without messages the slowest one's round; with them no more than that and the longest
 * message. */
static void check_closed_form(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 1};
	struct random random;
	struct chain chain;
	int between = 0;

	random_init(&random, 7, 0);
	for (int round = 0; round < 400; round++) {
		size_t count = 2 + (size_t)(round % 7);
		struct strategy_plan plan = {
			.kind = STRATEGY_LAYERWISE, .micro_batches = 1, .stage_count = count, .chunks = 1};
		double compute, longest = 0, bound, time;

		for (size_t i = 0; i <= count; i++)
			plan.cut[i] = plan.first[i] = i;
		cluster_init(&cluster, count, 0, 1e9);
		fill(&chain, &random, count, 20);
		compute = strategy_bound(&chain.net, &cluster, &how, &plan);
		time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
		CHECK(fabs(time - compute) < 1e-6 * compute, "%zu: %g and not %g", count, time, compute);
		cluster_init(&cluster, count, 0, 1);
		for (size_t i = 1; i < count; i++)
			longest = fmax(longest, chain.layers[i].input_bytes);
		bound = strategy_bound(&chain.net, &cluster, &how, &plan);
		time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
		CHECK(bound >= compute * (1 - 1e-9) && time >= bound * (1 - 1e-9), "%zu: %g below %g", count,
			time, bound);
		CHECK(time <= (compute + longest) * (1 + 1e-9), "%zu: %g above %g and %g", count, time,
			compute, longest);
		between += time > bound * 1.001;
	}
	CHECK(between > 0, "messages were always hidden");
}

/* All cuts of so many stages, from a layer on: the least bound, and the fewest bytes over its cuts. */
struct best {
	double bound, bytes;
	size_t stages;
};

static void try_all(const struct chain *chain, const struct strategy_cluster *cluster,
	struct strategy_plan *plan, struct best *best)
{
	const struct strategy_how how = {.batch = 1};
	size_t s = plan->stage_count, begin = plan->cut[s];
	double bytes = 0, bound;

	if (begin < chain->net.layer_count) {
		for (size_t end = begin + 1; end <= chain->net.layer_count && s < cluster->workers; end++) {
			plan->cut[s + 1] = end;
			plan->first[s + 1] = s + 1;
			plan->stage_count = s + 1;
			try_all(chain, cluster, plan, best);
			plan->stage_count = s;
		}
		return;
	}
	if (s < 2)
		return;
	for (size_t i = 1; i < s; i++)
		bytes += chain->layers[plan->cut[i]].input_bytes;
	bound = strategy_bound(&chain->net, cluster, &how, plan);
	if (bound < best->bound * (1 - 1e-9) || (bound <= best->bound * (1 + 1e-9) && bytes < best->bytes))
		*best = (struct best){bound, bytes, s};
}

static void check_merge(void)
{
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 1};
	struct random random;
	struct chain chain;
	int merged = 0;

	random_init(&random, 9, 0);
	for (int round = 0; round < 300; round++) {
		struct strategy_plan plan = {.kind = STRATEGY_LAYERWISE, .micro_batches = 1, .chunks = 1},
				     all = plan;
		struct best best = {HUGE_VAL, HUGE_VAL, 0};
		double bytes = 0;

		cluster_init(&cluster, 2 + (size_t)(round % 4), 1, 2);
		fill(&chain, &random, 4 + (size_t)(round % 5), 60);
		/* a layer as long as several: no cut makes it shorter */
		*chain.layers[round % 4].backward *= round % 3 ? 1 : 5;
		try_all(&chain, &cluster, &all, &best);
		CHECK(strategy_cut(&chain.net, &cluster, &how, 1, &plan) == 0, "round %d: no cut", round);
		for (size_t i = 1; i < plan.stage_count; i++)
			bytes += chain.layers[plan.cut[i]].input_bytes;
		CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), best.bound),
			"round %d: %g and not %g", round, strategy_bound(&chain.net, &cluster, &how, &plan),
			best.bound);
		CHECK(near(bytes, best.bytes) && plan.stage_count == best.stages &&
				plan.first[plan.stage_count] == best.stages,
			"round %d: %g bytes over %zu stages and not %g over %zu", round, bytes,
			plan.stage_count, best.bytes, best.stages);
		merged += plan.stage_count < cluster.workers;
	}
	CHECK(merged > 20, "%d times fewer partitions than workers", merged);
}

/* In the table of all strategies: shown, and no synchronous one. */
static void check_choice(void)
{
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 3};
	const size_t micro = 1;
	struct chain chain;

	equal_layers(&chain);
	cluster_init(&cluster, PARTITIONS, 0, 1e-2);
	CHECK(strategy_choose(&chain.net, &cluster, &how, &(struct strategy_tries){&micro, 1, NULL, false},
		      choices) == 0,
		"choose");
	CHECK(choices[STRATEGY_NAME_LAYERWISE].possible &&
			!strategy_is_synchronous(STRATEGY_NAME_LAYERWISE) &&
			strategy_is_pipe(STRATEGY_NAME_LAYERWISE) && strategy_is_pipe(STRATEGY_NAME_HYBRID) &&
			!strategy_is_pipe(STRATEGY_NAME_TENSOR),
		"in the table");
	CHECK(choices[STRATEGY_NAME_LAYERWISE].plan.micro_batches == 1 &&
			choices[STRATEGY_NAME_LAYERWISE].at_once > 0,
		"whole batches");
	CHECK(strategy_best(choices, true) != STRATEGY_NAME_LAYERWISE, "not among the synchronous");
	/* five versions and gradients of 1000 on the first of three workers; three on the first of two, of
	 * 1100 at most */
	cluster_init(&cluster, PARTITIONS, 0, 1e9);
	for (size_t i = 0; i < PARTITIONS; i++)
		chain.layers[i].input_bytes = 0;
	chain.layers[0].parameter_bytes = 1000;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &(struct strategy_tries){&micro, 1, NULL, false},
		      choices) == 0 &&
			choices[STRATEGY_NAME_LAYERWISE].plan.stage_count == 3,
		"three partitions");
	cluster.memory = 5500;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &(struct strategy_tries){&micro, 1, NULL, false},
		      choices) == 0,
		"choose");
	CHECK(choices[STRATEGY_NAME_LAYERWISE].plan.stage_count == 2 && choices[STRATEGY_NAME_LAYERWISE].fits,
		"as many as fit");
}

int main(void)
{
	check_equal();
	check_closed_form();
	check_merge();
	check_choice();
	return check_end();
}
