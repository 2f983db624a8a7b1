/*
 * Which plan of a strategy is the best, which strategy is, and which may be as quick: by what predictions of
 * each are known to miss, of those that could be recommended alone.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "base/random.h"
#include "chain.h"

#include <math.h>

static struct strategy_choice choices[STRATEGY_NAME_COUNT];

/* None is possible but these. */
static void set(enum strategy_name a, double time_a, enum strategy_name b, double time_b)
{
	for (int i = 0; i < STRATEGY_NAME_COUNT; i++)
		choices[i] = (struct strategy_choice){.time = 1};
	choices[a] = (struct strategy_choice){
		.possible = true, .fits = true, .is_validated = true, .time = time_a};
	choices[b] = (struct strategy_choice){
		.possible = true, .fits = true, .is_validated = true, .time = time_b};
}

/* At which time b is as far behind 100 of a as both miss: (t - 100)^2 = (100 a)^2 + (t b)^2. */
static double farthest(enum strategy_name a, enum strategy_name b)
{
	const double miss_a = strategy_miss(a), miss_b = strategy_miss(b);
	const double one = 1 - miss_b * miss_b, rest = 1 - miss_a * miss_a;

	return 100 * (1 + sqrt(1 - one * rest)) / one;
}

static void check_misses(void)
{
	const struct strategy_net torch = {.is_torch = true, .has_pairs = true};

	for (int i = 0; i < STRATEGY_NAME_COUNT; i++) {
		const enum strategy_name name = (enum strategy_name)i;
		const bool is_known = strategy_is_validated(name, &torch) && name != STRATEGY_NAME_SINGLE;

		CHECK(is_known == (strategy_miss(name) > 0 && strategy_miss(name) < 0.2), "%s: %g",
			strategy_names[i], strategy_miss(name));
	}
	CHECK(near(strategy_miss_between(STRATEGY_NAME_DATA, 30 / strategy_miss(STRATEGY_NAME_DATA),
			   STRATEGY_NAME_GPIPE, 40 / strategy_miss(STRATEGY_NAME_GPIPE)),
		      50),
		"independent");
}

static void check_ties(void)
{
	const enum strategy_name data = STRATEGY_NAME_DATA, gpipe = STRATEGY_NAME_GPIPE;
	const double edge = farthest(data, gpipe);

	set(data, 100, gpipe, edge - 1e-6);
	CHECK(strategy_best(choices, true) == data && strategy_is_tie(choices, data, gpipe, true), "within");
	CHECK(!strategy_is_tie(choices, data, data, true), "with itself");
	choices[gpipe].fits = false;
	CHECK(!strategy_is_tie(choices, data, gpipe, true), "does not fit");
	set(data, 100, gpipe, edge + 1e-6);
	CHECK(!strategy_is_tie(choices, data, gpipe, true), "beyond");
	set(gpipe, 100, data, farthest(gpipe, data) - 1e-6);
	CHECK(strategy_best(choices, true) == gpipe && strategy_is_tie(choices, gpipe, data, true),
		"the other way round");
	set(data, 100, STRATEGY_NAME_FLUSH, 100);
	choices[STRATEGY_NAME_FLUSH].is_validated = false;
	CHECK(!strategy_is_tie(choices, data, STRATEGY_NAME_FLUSH, false), "not validated against a run");
	set(data, 100, STRATEGY_NAME_SINGLE, 100);
	CHECK(!strategy_is_tie(choices, data, STRATEGY_NAME_SINGLE, false), "one worker is no strategy");
	set(data, 100, STRATEGY_NAME_PIPEDREAM, 100);
	CHECK(!strategy_is_tie(choices, data, STRATEGY_NAME_PIPEDREAM, true), "older weights");
	CHECK(strategy_is_tie(choices, data, STRATEGY_NAME_PIPEDREAM, false), "also older weights");
}

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
		CHECK(strategy_choose(&chain.net, &cluster, &how,
			      &(struct strategy_tries){micro, 2, NULL, false}, choices) == 0,
			"choose");
		CHECK(near(choices[STRATEGY_NAME_PIPEDREAM].time, fmin(planned, least)), "round %d: %g",
			round, choices[STRATEGY_NAME_PIPEDREAM].time);
	}
	CHECK(even > 3, "%d where the planner's is not the quickest", even);
}

int main(void)
{
	check_misses();
	check_ties();
	check_even();
	return check_end();
}
