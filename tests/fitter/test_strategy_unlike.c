/*
 * Data parallelism of unlike workers, by closed forms: times in proportion to the samples, exchanges that
 * cost nothing. The slowest are left out where that pays; unequal shares are the best whole ones; what a
 * worker cannot hold it is not given; one worker is the quickest.
 */
#include "../analyzer/check.h"
#include "base/random.h"
#include "chain.h"
#include "strategy/strategy_unlike.h"

#include <math.h>
#include <string.h>

#define SAMPLE 9e6 /* ns of a sample */

static struct strategy_cluster cluster;
static struct strategy_choice choices[STRATEGY_NAME_COUNT];
static const struct strategy_choice *const data = &choices[STRATEGY_NAME_DATA],
					   *const one = &choices[STRATEGY_NAME_SINGLE],
					   *const fewer = &choices[STRATEGY_NAME_FEWER],
					   *const uneven = &choices[STRATEGY_NAME_UNEVEN];

static void prepare(struct chain *chain, size_t workers)
{
	chain_init(chain, 3);
	for (size_t i = 0; i < 3; i++) {
		chain->layers[i].forward[0] = 1e6;
		chain->layers[i].backward[0] = 2e6;
		chain->layers[i].kept_bytes = 100;
	}
	cluster_init(&cluster, workers, 0, 1);
}

static void choose(struct chain *chain, double batch)
{
	static const size_t micro = 1;
	const struct strategy_how how = {.batch = batch, .aggregate = STRATEGY_AFTER};

	CHECK(strategy_choose(&chain->net, &cluster, &how, &(struct strategy_tries){&micro, 1, NULL, false},
		      choices) == 0,
		"out of memory");
}

static double shared(void)
{
	double sum = 0;

	for (size_t i = 0; i < cluster.workers; i++)
		sum += uneven->share[i];
	return sum;
}

/* Eight, one of them four times slower. */
static void test_one_slow(void)
{
	struct chain chain;

	prepare(&chain, 8);
	cluster.slow[2] = 4;
	choose(&chain, 56);
	CHECK(near(data->time, 7 * 4 * SAMPLE), "all: %g", data->time);
	CHECK(near(fewer->time, 8 * SAMPLE) && fewer->used == 7 && fewer->is_validated,
		"without it: %g, %zu workers", fewer->time, fewer->used);
	for (size_t i = 0; i < fewer->used; i++)
		CHECK(fewer->worker[i] != 2, "the slow one takes part");
	CHECK(strategy_best(choices, true) == STRATEGY_NAME_FEWER, "%s is recommended",
		strategy_names[strategy_best(choices, true)]);
	choose(&chain, 58);
	CHECK(near(fewer->time, 9 * SAMPLE), "nine samples on some: %g", fewer->time);
	CHECK(near(uneven->time, 8 * SAMPLE) && uneven->share[2] == 2 && shared() == 58 &&
			!uneven->is_validated,
		"%g samples on the slow one, %g", uneven->share[2], uneven->time);
	CHECK(near(one->time, 58 * SAMPLE), "one worker: %g", one->time);
	cluster.slow[0] = 2;
	choose(&chain, 58);
	CHECK(near(one->time, 58 * SAMPLE), "one worker, where the first is slow: %g", one->time);
}

static void test_all_slow(void)
{
	struct chain chain;

	prepare(&chain, 8);
	for (size_t i = 0; i < 8; i++)
		cluster.slow[i] = 3;
	choose(&chain, 64);
	CHECK(near(one->time, 3 * 64 * SAMPLE) && near(one->time / data->time, 8), "one %g, eight %g",
		one->time, data->time);
	CHECK(fewer->is_idle && uneven->is_idle && !fewer->possible, "workers that are alike are left out");
}

/* Against all ways to share a batch among three. */
static void test_shares(void)
{
	struct random random;
	struct chain chain;

	random_init(&random, 4, 0);
	for (size_t trial = 0; trial < 60; trial++) {
		int batch = 3 + (int)random_below(&random, 25);
		double least = HUGE_VAL;

		prepare(&chain, 3);
		for (size_t i = 0; i < 3; i++)
			cluster.slow[i] = 1 + 4 * random_unit(&random);
		choose(&chain, batch);
		for (int a = 0; a <= batch; a++)
			for (int b = 0; a + b <= batch; b++)
				least = fmin(
					least, SAMPLE * fmax(cluster.slow[0] * a,
								fmax(cluster.slow[1] * b,
									cluster.slow[2] * (batch - a - b))));
		CHECK(near(uneven->time, least) && shared() == batch, "trial %zu: %g, but %g can be reached",
			trial, uneven->time, least);
	}
}

/* The last of four can hold 3 samples, and is as quick as the others. */
static void test_memory(void)
{
	const struct strategy_how how = {.batch = 40, .aggregate = STRATEGY_AFTER};
	struct chain chain;

	prepare(&chain, 4);
	cluster.memory = strategy_memory_whole(&chain.net, &how, 20, 4).total;
	cluster.own_memory[3] = strategy_memory_whole(&chain.net, &how, 3, 4).total;
	choose(&chain, 40);
	CHECK(!data->fits && data->lacks > 0, "ten samples on each fit");
	CHECK(fewer->fits && fewer->used == 3 && near(fewer->time, 14 * SAMPLE), "%zu workers, %g",
		fewer->used, fewer->time);
	CHECK(uneven->fits && uneven->share[3] == 3 && shared() == 40 && near(uneven->time, 13 * SAMPLE),
		"%g on the last, %g", uneven->share[3], uneven->time);
	cluster.memory = cluster.own_memory[3];
	cluster.own_memory[3] = 2 * cluster.memory;
	choose(&chain, 40);
	CHECK(!uneven->fits && uneven->lacks > 0 && shared() == 40, "more than all can hold");
}

int main(void)
{
	test_one_slow();
	test_all_slow();
	test_shares();
	test_memory();
	return check_end();
}
