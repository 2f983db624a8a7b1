/*
 * Memory of a worker under each strategy, worked out by hand, and the line through what runs took.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "chain.h"

#include <math.h>

/* Three layers of 100, 200 and 300 bytes of parameters with inputs of 10, 20 and 30 bytes a sample and an
 * output of 5; the second keeps twice its output. */
static void memory_init(struct chain *chain)
{
	static const double outputs[] = {20, 30, 5};

	chain_init(chain, 3);
	for (size_t i = 0; i < 3; i++) {
		*chain->layers[i].forward = *chain->layers[i].backward = 100;
		chain->layers[i].parameter_bytes = 100 * (double)(i + 1);
		chain->layers[i].input_bytes = 10 * (double)(i + 1);
		chain->layers[i].output_bytes = outputs[i];
		chain->layers[i].kept_bytes = outputs[i] * (i == 1 ? 2 : 1);
	}
}

static bool is_memory(struct strategy_memory memory, double state, double kept, double gradients, double rest)
{
	return near(memory.state, state) && near(memory.kept, kept) && near(memory.gradients, gradients) &&
	       near(memory.rest, rest) && near(memory.total, state + kept + gradients + rest + memory.bucket);
}

/* By hand: forward leaves 10 + 20 + 60 + 5, and the second layer has the widest gradients, 20 + 30. */
static void check_memory(void)
{
	struct strategy_how how = {.batch = 8, .threshold = 1000};
	struct strategy_plan plan = {.kind = STRATEGY_GPIPE,
		.stage_count = 2,
		.micro_batches = 4,
		.cut = {0, 1, 3},
		.first = {0, 1, 2}};
	struct chain chain;

	memory_init(&chain);
	CHECK(is_memory(strategy_memory_whole(&chain.net, &how, 8, 1), 2 * 600, 8 * 95, 8 * 50, 0), "whole");
	/* buckets from the last layer on */
	how.aggregate = STRATEGY_FUSED;
	CHECK(near(strategy_memory_whole(&chain.net, &how, 8, 2).bucket, 600), "one bucket");
	how.threshold = 500;
	CHECK(near(strategy_memory_whole(&chain.net, &how, 8, 2).bucket, 500), "two buckets");
	how.threshold = 400;
	CHECK(near(strategy_memory_whole(&chain.net, &how, 8, 2).bucket, 300), "the last layer alone");
	how.threshold = 200;
	CHECK(strategy_memory_whole(&chain.net, &how, 8, 2).bucket == 0, "no two layers together");
	how.aggregate = STRATEGY_AFTER;
	CHECK(strategy_memory_whole(&chain.net, &how, 8, 2).bucket == 0, "no buckets");
	how.optimizer_copies = 2;
	CHECK(is_memory(strategy_memory_whole(&chain.net, &how, 4, 1), 4 * 600, 4 * 95, 4 * 50, 0), "Adam");
	how.optimizer_copies = 0;
	/* stage 1: micro-batches of 2, four of them with inputs of 20 and 65 left; inside, gradients of 30 +
	 * 30, and one of its input */
	CHECK(is_memory(strategy_memory_stage(&chain.net, &how, &plan, 1), 2 * 500, 2 * 4 * 85, 2 * 50, 0),
		"GPipe");
	how.recompute = true;
	CHECK(is_memory(strategy_memory_stage(&chain.net, &how, &plan, 1), 2 * 500, 2 * (4 * 20 + 65), 2 * 50,
		      0),
		"GPipe, recomputed");
	plan.kind = STRATEGY_PIPEDREAM;
	/* two versions and the gradients; three inputs, two times what is left; the output's gradient */
	CHECK(is_memory(strategy_memory_stage(&chain.net, &how, &plan, 0), 3 * 100, 2 * (3 * 10 + 2 * 20),
		      2 * 20, 0),
		"PipeDream, first stage");
	CHECK(is_memory(strategy_memory_stage(&chain.net, &how, &plan, 1), 2 * 500, 2 * (2 * 20 + 65), 2 * 50,
		      0),
		"PipeDream, last stage");
	CHECK(near(strategy_memory_plan(&chain.net, &how, &plan).total, 1000 + 210 + 100),
		"the stage with most");
	/* the branch of a sum waits with a gradient of its size */
	chain.layers[2].is_sum = true;
	CHECK(is_memory(strategy_memory_whole(&chain.net, &how, 1, 1), 1200, 95, 80, 0), "a branch");
}

/* State 1200 and 145 a sample, as above; what runs took is a line through it. */
static void check_measured_memory(void)
{
	const struct strategy_how how = {.batch = 8};
	double batches[] = {2, 4}, bytes[] = {1200 + 2 * 145 * 1.5 + 100, 1200 + 4 * 145 * 1.5 + 100};
	const struct strategy_plan plan = {
		.stage_count = 2, .micro_batches = 1, .cut = {0, 1, 3}, .first = {0, 1, 2}};
	struct strategy_memory_basis basis;
	struct chain chain;

	memory_init(&chain);
	chain.net.batches = batches;
	chain.net.device_bytes = bytes;
	chain.net.batch_count = 2;
	basis = strategy_memory_basis(&chain.net, &how);
	CHECK(basis.basis == STRATEGY_MEASURED && near(basis.factor, 1.5) && near(basis.rest, 100), "%g, %g",
		basis.factor, basis.rest);
	CHECK(near(strategy_memory_whole(&chain.net, &how, 6, 1).total, 1200 + 6 * 145 * 1.5 + 100),
		"scaled");
	CHECK(near(strategy_memory_stage(&chain.net, &how, &plan, 0).rest, 100.0 / 3), "a stage's rest");
	/* one run: what is missing does not depend on the batch; or there is less than computed */
	bytes[1] = NAN;
	basis = strategy_memory_basis(&chain.net, &how);
	CHECK(near(basis.factor, 1) && near(basis.rest, 100 + 145), "one run");
	bytes[0] = 1200 + 145;
	basis = strategy_memory_basis(&chain.net, &how);
	CHECK(near(basis.factor, 0.5) && basis.rest == 0, "one run with less");
	bytes[0] = 1199;
	CHECK(strategy_memory_basis(&chain.net, &how).basis == STRATEGY_LESS_THAN_STATE,
		"less than the state");
	bytes[0] = 2 * (1200 + 2 * 145) + 1;
	basis = strategy_memory_basis(&chain.net, &how);
	CHECK(basis.basis == STRATEGY_RESERVED && near(basis.factor, 1) && basis.rest == 0, "reserved");
	bytes[0] = NAN;
	CHECK(strategy_memory_basis(&chain.net, &how).basis == STRATEGY_COMPUTED, "not known");
}

static void check_fits(void)
{
	static struct strategy_cluster cluster;
	struct strategy_choice choices[STRATEGY_NAME_COUNT];
	const size_t micro_batches[] = {4};
	const struct strategy_tries tries = {.micro_batches = micro_batches, .count = 1};
	const struct strategy_how how = {.batch = 8, .threshold = 1000, .recompute = true};
	struct chain chain;

	memory_init(&chain);
	cluster_init(&cluster, 2, 1, 1);
	/* whole: 2360, half the batch and a bucket of all gradients: 2380; the second stage 1000 + 290 + 100
	 */
	cluster.memory = 1500;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0, "choose");
	CHECK(!choices[STRATEGY_NAME_SINGLE].fits && !choices[STRATEGY_NAME_DATA].fits,
		"what exceeds the memory fits");
	CHECK(choices[STRATEGY_NAME_GPIPE].possible && choices[STRATEGY_NAME_GPIPE].fits,
		"GPipe does not fit: %g", choices[STRATEGY_NAME_GPIPE].memory);
	CHECK(strategy_best(choices, true) != STRATEGY_NAME_DATA &&
			strategy_best(choices, true) != STRATEGY_NAME_COUNT,
		"data parallelism is offered");
	cluster.memory = 500;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 &&
			strategy_best(choices, false) == STRATEGY_NAME_COUNT,
		"something is offered that does not fit");
}

/* What GPipe takes with so many micro-batches, whatever there is. */
static double taken_with(const struct chain *chain, struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t micro_batches)
{
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	const struct strategy_tries tries = {.micro_batches = &micro_batches, .count = 1};

	cluster->memory = 0;
	CHECK(strategy_choose(&chain->net, cluster, how, &tries, choices) == 0, "choose");
	return choices[STRATEGY_NAME_GPIPE].memory;
}

/* Between what 8 and 16 micro-batches take: 1 and 2 do not fit, and the search goes on to 16 and one beyond,
 * if it may. */
static void check_goes_on(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	const struct strategy_choice *gpipe = &choices[STRATEGY_NAME_GPIPE];
	const size_t micro_batches[] = {1, 2};
	struct strategy_tries tries = {.micro_batches = micro_batches, .count = 2};
	struct strategy_how how = {.batch = 96, .threshold = 1000, .recompute = true};
	double eight, sixteen;
	struct chain chain;

	memory_init(&chain);
	cluster_init(&cluster, 2, 1, 1);
	eight = taken_with(&chain, &cluster, &how, 8);
	sixteen = taken_with(&chain, &cluster, &how, 16);
	CHECK(sixteen < eight, "16 take %g, 8 take %g", sixteen, eight);
	cluster.memory = (eight + sixteen) / 2;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && !gpipe->fits &&
			gpipe->tried == 2,
		"with %zu: fits", gpipe->tried);
	tries.goes_on = true;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && gpipe->fits &&
			gpipe->tried == 32 && gpipe->plan.micro_batches >= 16,
		"%zu micro-batches of %zu tried", gpipe->plan.micro_batches, gpipe->tried);
	/* 1, 2, 4 ... do not divide it: the next that do */
	how.batch = 45;
	cluster.memory = 1;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && !gpipe->fits &&
			gpipe->tried == 45,
		"%zu tried of 45 samples", gpipe->tried);
}

/* As cuDNN counts: (places + 2 pad - dilation (window - 1) - 1) / stride + 1, rounded down. */
static void check_outputs(void)
{
	static const struct {
		const char *kind, *sizes, *input;
		double numbers;
	} cases[] = {
		{"conv1", "7x7x3->64 s2 p3", "16x3x224x224", 64 * 112 * 112},
		{"conv2", "3x3x1->32 s1 p1 g32", "4x32x16x16", 32 * 16 * 16},
		{"conv3", "3x1x8->16 s2x1 p1x0", "4x8x9x7", 16 * 5 * 7},
		{"conv4", "3x3x8->16 s1 p2 d2", "4x8x10x10", 16 * 10 * 10},
		{"conv5", "3x3x3x4->8 s2 p1", "2x4x9x9x9", 8 * 5 * 5 * 5},
		{"conv6", "5x5x4->8 s1 p0", "2x4x3x3", 0},
		{"pool1", "max 3x3 s2 p1", "16x64x112x112", 64 * 56 * 56},
		{"pool2", "avg 7x7 s7", "16x512x7x7", 512},
		{"fc1", "784->10", "64x784", 10},
		{"norm1", "64", "16x64x32x32", 64 * 32 * 32},
		{"add1", "", "16x64x32x32", 64 * 32 * 32},
		{"lstm1", "784->256", "", 0},
		{"norm2", "64", "16xy", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double found = strategy_output_numbers(cases[i].kind, cases[i].sizes, cases[i].input);

		CHECK(found == cases[i].numbers, "%s %s of %s: %g", cases[i].kind, cases[i].sizes,
			cases[i].input, found);
	}
}

int main(void)
{
	check_memory();
	check_measured_memory();
	check_fits();
	check_goes_on();
	check_outputs();
	return check_end();
}
