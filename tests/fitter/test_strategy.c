/*
 * Predictors of distribution strategies: the published formulas worked out by hand, the replays against
 * closed forms of cases that have one, the partition against trying all.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "base/random.h"
#include "chain.h"

#include <math.h>
#include <stdlib.h>

/* T_seq = 8 (30 + 60) + 10 = 730; 4 workers, L = 5, B = 2, G = 80 bytes: 730/4 + 6 (5 + 80 / 8) = 272.5. */
static void check_published_data(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 8, .threshold = 1000};
	struct chain chain;

	chain_init(&chain, 2);
	cluster_init(&cluster, 4, 5, 2);
	for (size_t i = 0; i < 2; i++) {
		*chain.layers[i].forward = 15;
		*chain.layers[i].backward = 30;
		*chain.layers[i].update = 5;
		chain.layers[i].parameter_bytes = 40;
	}
	CHECK(near(strategy_published_data(&chain.net, &cluster, &how), 272.5), "%g",
		strategy_published_data(&chain.net, &cluster, &how));
	/* no more than the threshold: 730/4 + 6 (5 + 16 / 8) */
	how.threshold = 16;
	CHECK(near(strategy_published_data(&chain.net, &cluster, &how), 224.5), "threshold");
	/* the slowest link counts: 730/4 + 6 (9 + 16 / 4) */
	cluster.exceptions = &(struct strategy_exception){1, 2, {9, 1}};
	cluster.exception_count = 1;
	CHECK(near(strategy_published_data(&chain.net, &cluster, &how), 260.5), "slowest link");
	cluster.workers = 1;
	CHECK(near(strategy_published_data(&chain.net, &cluster, &how), 730), "one worker");
}

/*
 * Four stages of 10 + 20 a sample, 8 samples in 4 micro-batches of 2. (6.1): T_seq = 8 * 120 = 960, times
 * (4+4-1) / (4*4): 420. Inputs of 1, 6, 3 bytes a sample: c = 1 + 2 {1, 6, 3} = 3, 13, 7. (6.2): 2 (3 + 13 +
 * (4-2) 13 + 13 + 7) = 124.
 */
static void check_published_gpipe(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 8};
	struct strategy_plan plan = {STRATEGY_GPIPE, 4, 4, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, 1};
	double compute, message;
	struct chain chain;

	chain_init(&chain, 4);
	cluster_init(&cluster, 4, 1, 1);
	for (size_t i = 0; i < 4; i++) {
		*chain.layers[i].forward = 10;
		*chain.layers[i].backward = 20;
		*chain.layers[i].update = 0;
	}
	chain.layers[2].input_bytes = 6;
	chain.layers[3].input_bytes = 3;
	strategy_published_gpipe(&chain.net, &cluster, &how, &plan, &compute, &message);
	CHECK(near(compute, 420), "%g", compute);
	CHECK(near(message, 124), "%g", message);
	/* two workers: 2 * 4 * c */
	plan = (struct strategy_plan){STRATEGY_GPIPE, 2, 4, {0, 2, 4}, {0, 1, 2}, 1};
	cluster.workers = 2;
	strategy_published_gpipe(&chain.net, &cluster, &how, &plan, &compute, &message);
	CHECK(near(compute, 960. * 5 / 8) && near(message, 2 * 4 * 13), "%g %g", compute, message);
}

/* All-reduces of 4 workers, L = 1, B = 1: ring 6 (1 + S/4), tree (two levels up and down) 4 + 2 S. */
static void check_all_reduce(void)
{
	static struct strategy_cluster cluster;

	cluster_init(&cluster, 4, 1, 1);
	CHECK(near(strategy_all_reduce(&cluster, 0, 4, 400), 606), "ring");
	CHECK(near(strategy_all_reduce(&cluster, 0, 4, 0.1), 4.2), "tree");
	CHECK(strategy_all_reduce(&cluster, 0, 1, 400) <= 0, "alone");
	/* half of it in another node, 10 times slower */
	cluster.workers_per_node = 2;
	cluster.between.bandwidth = 0.1;
	CHECK(near(strategy_all_reduce(&cluster, 0, 4, 400), 6006), "between nodes");
	CHECK(near(strategy_all_reduce(&cluster, 2, 2, 400), 2 * 201), "inside the second");
}

/*
 * Two workers, L = 0, B = 1, so that S bytes take S. Layers 0, 1, 2: backward 10, 20, 30 for their half of
 * the batch, gradients of 100, 15, 20 bytes. Forward 60, so the backward pass ends at 120 and gradients are
 * there at 30, 50, 60 of it.
 */
static void check_data(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 2, .threshold = 1e9, .cycle = 40, .aggregate = STRATEGY_AFTER};
	struct strategy_data_parts parts;
	struct chain chain;

	chain_init(&chain, 3);
	cluster_init(&cluster, 2, 0, 1);
	for (size_t i = 0; i < 3; i++) {
		*chain.layers[i].forward = 20;
		*chain.layers[i].backward = 10. * (double)(i + 1);
		*chain.layers[i].update = 1;
		chain.layers[i].parameter_bytes = i == 0 ? 100 : i == 1 ? 15 : 20;
	}
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.total, 120 + 135 + 3) && parts.buckets == 3, "after: %g", parts.total);
	/* 30-50, 50-65, 65-165 */
	how.aggregate = STRATEGY_OVERLAP;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.exposed, 105) && near(parts.total, 228), "overlap: %g", parts.exposed);
	/* cycles 0-40, 40-80: layer 2 at 30-50; layers 1 and 0 together at 60-175 */
	how.aggregate = STRATEGY_FUSED;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.exposed, 115) && parts.buckets == 2, "fused: %g", parts.exposed);
	/* the two copied in and out at 4 bytes per ns: 115 more */
	cluster.memory_bandwidth = 4;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.exposed, 230), "copies: %g", parts.exposed);
	/* four copies of 3 each */
	cluster.copy_latency = 3;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.exposed, 242), "latency of copies: %g", parts.exposed);
	/* one does not fit: by itself, and nothing is copied */
	how.threshold = 50;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.exposed, 105) && parts.buckets == 3, "threshold: %g", parts.exposed);
	/* the slowest worker counts; the input is divided */
	cluster.slow[1] = 2;
	how.other = 8;
	how.aggregate = STRATEGY_AFTER;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.total, 240 + 135 + 6 + 4), "slow: %g", parts.total);
}

/* Stages that are equal and messages that take no time have closed forms. */
static void check_pipe(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 4};
	struct strategy_plan plan = {STRATEGY_GPIPE, 3, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, 1};
	struct chain chain;
	double time, warm_up;

	chain_init(&chain, 3);
	cluster_init(&cluster, 3, 0, 1);
	for (size_t i = 0; i < 3; i++) {
		*chain.layers[i].forward = 10;
		*chain.layers[i].backward = 20;
		chain.layers[i].input_bytes = 0;
	}
	/* (W + M - 1)(f + b) */
	time = strategy_pipe(&chain.net, &cluster, &how, &plan, &warm_up);
	CHECK(near(time, 6 * 30) && near(warm_up, 6 * 30), "gpipe: %g %g", time, warm_up);
	/* only the last stage's recomputation is not hidden: (W + M - 1)(f + b) + M f */
	how.recompute = true;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 6 * 30 + 4 * 10), "recomputation");
	/* one micro-batch: each stage in turn */
	plan.kind = STRATEGY_MODEL;
	plan.micro_batches = 1;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 3 * 4 * 30), "model");
	/* 1F1B is never idle: M (f + b), and first fills and empties */
	plan.kind = STRATEGY_PIPEDREAM;
	plan.micro_batches = 4;
	time = strategy_pipe(&chain.net, &cluster, &how, &plan, &warm_up);
	CHECK(near(time, 4 * 30), "1F1B: %g", time);
	CHECK(warm_up > time, "warm-up %g", warm_up);
	/* the same where it takes several batches to fill */
	plan.micro_batches = 1;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 30), "filled by batches: %g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
	plan.micro_batches = 4;
	/* the first stage reads before each forward pass */
	how.other = 40;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * (30 + 10)), "input");
	how.other = 4;
	*chain.layers[0].forward = *chain.layers[0].backward = 14;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 30), "hidden input");
	*chain.layers[0].forward = 10;
	*chain.layers[0].backward = 20;
	plan.kind = STRATEGY_GPIPE;
	how.recompute = false;
	how.other = 40;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 6 * 30 + 40), "input of GPipe");
	plan.kind = STRATEGY_PIPEDREAM;
	how.other = 0;
	how.recompute = true;
	/* the updates of each micro-batch count */
	*chain.layers[0].update = *chain.layers[1].update = *chain.layers[2].update = 3;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 33), "updates");
	/* a link that is busy for longer than any stage holds all: c = 50 a micro-batch */
	chain.layers[1].input_bytes = 50;
	time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
	CHECK(time >= 4 * 50 - 1e-9, "slow link: %g", time);
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 50), "bound of a link");
	/* a stage twice as long with two replicas: as long as the others, with what they exchange (L = 0: 7)
	 */
	chain.layers[1].input_bytes = 0;
	chain.layers[0].parameter_bytes = 7;
	*chain.layers[0].forward = 20;
	*chain.layers[0].backward = 40;
	plan = (struct strategy_plan){STRATEGY_PIPEDREAM, 2, 4, {0, 1, 3}, {0, 2, 3}, 1};
	*chain.layers[1].forward = 1;
	*chain.layers[1].backward = 1;
	/* the last stage has 32 + 6 for each of four micro-batches, more than the (60 + 7 + 3) / 2 of the
	 * first */
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 38), "bound of the last stage");
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 38), "last stage");
	*chain.layers[2].forward = *chain.layers[2].backward = 1;
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 35), "bound of replicas");
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 4 * 35), "replicas: %g",
		strategy_pipe(&chain.net, &cluster, &how, &plan, NULL));
	/* of two senders and one receiver, or the other way round, one counts; two of each share the messages
	 */
	chain.layers[1].input_bytes = 100;
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 100), "two to one");
	plan.first[1] = 1;
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 100), "one to two");
	plan.first[1] = 2;
	plan.first[2] = 4;
	CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), 50), "two to two");
}

/*
 * Two stages of 10 + 20, two micro-batches, messages of 50: F0 0-10, F1 10-20 | 10-60, 60-110 | F0 60-70, F1
 * 110-120, B1 120-140 | 140-190 | B0, whose gradient has the place of B1's, 190-210 | 210-260 | B0 260-280.
 */
static void check_places(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 2};
	struct strategy_plan plan = {STRATEGY_GPIPE, 2, 2, {0, 1, 2}, {0, 1, 2}, 1};
	struct chain chain;

	chain_init(&chain, 4);
	chain.net.layer_count = 2;
	cluster_init(&cluster, 2, 0, 1);
	for (size_t i = 0; i < 2; i++) {
		*chain.layers[i].forward = 10;
		*chain.layers[i].backward = 20;
		chain.layers[i].input_bytes = 50;
	}
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 280), "one gradient");
	/* one output too: F1 60-70 | 70-120 | F1 120-130, again 130-140, B1 140-160 | 160-210 | B0 210-230 |
	 * 230-280 | B0 280-300 */
	how.recompute = true;
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 300), "one output");
	/* of two layers, 10 each: B0's last 140-150, its first 190-200 | 200-250, where B1's last was done at
	 * 200 | B0 250-270 */
	how.recompute = false;
	chain.net.layer_count = 4;
	plan.cut[1] = 2;
	plan.cut[2] = 4;
	for (size_t i = 0; i < 4; i++) {
		*chain.layers[i].forward = 5;
		*chain.layers[i].backward = 10;
		chain.layers[i].input_bytes = 50;
	}
	CHECK(near(strategy_pipe(&chain.net, &cluster, &how, &plan, NULL), 270), "two layers");
}

/*
 * Equal stages, messages that take no time: m (f + b) of a worker, and the bubble (p - 1)(f + b) / v
 * [Megatron-LM, section 2.2.2]. What is kept at once: passes until the first backward pass and one more.
 */
static void check_flush(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 8};
	struct chain chain;

	for (size_t p = 2; p <= 4; p++)
		for (size_t v = 1; v * p <= CHAIN_MOST && v <= 4; v++) {
			struct strategy_plan plan = {
				.kind = STRATEGY_FLUSH, .micro_batches = 3 * p, .chunks = v};
			double worker, time, passes = (double)(v > 1 ? 2 * (p - 1) + (v - 1) * p : p - 1) + 1;

			chain_init(&chain, v * p);
			cluster_init(&cluster, p, 0, 1);
			how.batch = 3. * (double)p;
			for (size_t i = 0; i < v * p; i++) {
				*chain.layers[i].forward = 10;
				*chain.layers[i].backward = 20;
				chain.layers[i].input_bytes = 0;
				chain.layers[i].kept_bytes = 7;
			}
			CHECK(strategy_cut(&chain.net, &cluster, &how, 1, &plan) == 0 &&
					plan.stage_count == v * p && strategy_places(&plan) == p,
				"%zu places, %zu chunks", p, v);
			worker = 30. * (double)v;
			time = strategy_pipe(&chain.net, &cluster, &how, &plan, NULL);
			CHECK(near(time, 3 * (double)p * worker + (double)(p - 1) * worker / (double)v),
				"%zu places, %zu chunks: %g", p, v, time);
			CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), worker), "bound");
			CHECK(near(strategy_memory_plan(&chain.net, &how, &plan).kept, 7 * passes),
				"%zu places, %zu chunks: %g kept", p, v,
				strategy_memory_plan(&chain.net, &how, &plan).kept);
		}
}

/* All ways to cut and to replicate, by recursion; the least bound. */
static double try_all(const struct chain *chain, const struct strategy_cluster *cluster,
	const struct strategy_how *how, int replicate, struct strategy_plan *plan)
{
	size_t s = plan->stage_count, begin = plan->cut[s], used = plan->first[s];
	size_t left = cluster->workers - used;
	double best = HUGE_VAL;

	if (begin == chain->net.layer_count)
		return left || (replicate && s < 2) ? HUGE_VAL
						    : strategy_bound(&chain->net, cluster, how, plan);
	for (size_t end = begin + 1; end <= chain->net.layer_count; end++)
		for (size_t r = 1; r <= (replicate ? left : left > 0); r++) {
			if (plan->micro_batches % r ||
				(end < chain->net.layer_count && !chain->layers[end].may_cut))
				continue;
			plan->cut[s + 1] = end;
			plan->first[s + 1] = used + r;
			plan->stage_count = s + 1;
			best = fmin(best, try_all(chain, cluster, how, replicate, plan));
			plan->stage_count = s;
		}
	return best;
}

static void check_cut(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 12};
	struct random random;
	struct chain chain;
	int possible = 0, replicated = 0;

	random_init(&random, 5, 0);
	for (int round = 0; round < 300; round++) {
		int replicate = round % 2;
		struct strategy_plan all = {.kind = replicate ? STRATEGY_PIPEDREAM : STRATEGY_GPIPE},
				     plan = {.kind = all.kind};
		double least;
		int status;

		chain_init(&chain, 3 + (size_t)(round % 5));
		cluster_init(&cluster, 2 + (size_t)(round / 2 % 3), 1, 4);
		cluster.workers_per_node = 2;
		cluster.between.bandwidth = 1;
		cluster.slow[1] = 1 + random_unit(&random);
		for (size_t i = 0; i < chain.net.layer_count; i++) {
			for (int k = 0; k < 3; k++)
				chain.times[3 * i + (size_t)k] = 10 * random_unit(&random);
			chain.layers[i].input_bytes = 40 * random_unit(&random);
			chain.layers[i].parameter_bytes = 60 * random_unit(&random);
			chain.layers[i].may_cut = i > 0 && random_unit(&random) < 0.8;
		}
		all.micro_batches = plan.micro_batches = round % 3 ? 12 : 4;
		how.recompute = round % 7 == 0;
		least = try_all(&chain, &cluster, &how, replicate, &all);
		status = strategy_cut(&chain.net, &cluster, &how, replicate ? 0 : 1, &plan);
		CHECK((status == 0) == (isfinite(least) != 0), "round %d: status %d, least %g", round, status,
			least);
		if (status != 0)
			continue;
		possible++;
		replicated += plan.stage_count < cluster.workers;
		CHECK(near(strategy_bound(&chain.net, &cluster, &how, &plan), least), "round %d: %g, not %g",
			round, strategy_bound(&chain.net, &cluster, &how, &plan), least);
	}
	CHECK(possible > 200 && replicated > 30, "%d possible, %d with replicas", possible, replicated);
}

/* Of 2048 rows 8 samples: 256 as many bytes each, and nothing but the batch is divided. */
static void check_rows(void)
{
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 16};
	const size_t micro = 2;
	struct chain chain;

	chain_init(&chain, 3);
	chain.batch = 2048;
	for (size_t i = 0; i < 3; i++)
		*chain.layers[i].forward = *chain.layers[i].backward = 2048;
	cluster_init(&cluster, 2, 0, 1e9);
	strategy_net_rows(&chain.net, 8);
	CHECK(near(chain.net.batches[0], 8) && near(chain.layers[1].input_bytes, 256), "rows");
	CHECK(strategy_choose(&chain.net, &cluster, &how, &(struct strategy_tries){&micro, 1, NULL, false},
		      choices) == 0,
		"choose");
	CHECK(near(choices[STRATEGY_NAME_DATA].time, 6 * 2048), "data: %g", choices[STRATEGY_NAME_DATA].time);
	for (int i = STRATEGY_NAME_MODEL; i <= STRATEGY_NAME_TENSOR; i++)
		CHECK(!choices[i].possible && choices[i].why, "%s", strategy_names[i]);
	CHECK(choices[STRATEGY_NAME_ZERO_1].possible, "zero-1");
}

/* Between measured batches and beyond; one alone is in proportion. */
static void check_times(void)
{
	double times[] = {10, 14, 30}, batches[] = {2, 4, 12}, update = 5;
	struct strategy_layer layer = {.forward = times, .backward = times, .update = &update};
	struct strategy_net net = {.layer_count = 1, .batch_count = 3, .layers = &layer, .batches = batches};

	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_FORWARD, 3), 12), "between");
	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_FORWARD, 4), 14), "at");
	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_BACKWARD, 8), 22), "between the last two");
	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_FORWARD, 20), 46), "above");
	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_FORWARD, 1), 8), "below");
	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_UPDATE, 1), 5), "update");
	net.batch_count = 1;
	CHECK(near(strategy_layer_time(&net, 0, STRATEGY_FORWARD, 6), 30), "in proportion");
}

/*
 * Layer 3 has a bucket, layers 2 and 1 the next; layer 0 goes backward in four kernels of 4, 4, 46 and 46.
 * The first is summed from 10 to 17 and exchanged in place. The second is there at 30, and its copies, of 1,
 * wait for a kernel each, and kernels for them: in at 34 and 39, summed from 40 to 50, out at 86 and 133.
 * Then the bucket of layer 0.
 */
static void check_turns(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 2, .aggregate = STRATEGY_FUSED, .threshold = 8, .cycle = 1e9};
	struct strategy_data_parts parts;
	struct chain chain;
	double first, last;

	chain_init(&chain, 4);
	cluster_init(&cluster, 2, 1, 1);
	cluster.copy_latency = 1;
	for (size_t i = 0; i < 4; i++) {
		*chain.layers[i].backward = i ? 10 : 100;
		chain.layers[i].parameter_bytes = i == 3 ? 5 : 4;
		chain.layers[i].backward_kernels = i ? 1 : 4;
	}
	CHECK(near(strategy_all_reduce(&cluster, 0, 2, 8), 10), "eight bytes");
	first = strategy_all_reduce(&cluster, 0, 2, 5);
	last = strategy_all_reduce(&cluster, 0, 2, 4);
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(parts.buckets == 3 && near(parts.exposed, 134 + last - 130), "%zu buckets, %g", parts.buckets,
		parts.exposed);
	CHECK(near(parts.exchange, first + 4 + 10 + last), "%g", parts.exchange);
	/* of one kernel: the copies in wait until it is done, and all the rest is exposed */
	chain.layers[0].backward_kernels = 1;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(near(parts.exposed, 4 + 10 + last), "one kernel: %g", parts.exposed);
	/* the first bucket's copies do not wait, and backward waits for them */
	chain.layers[3].parameter_bytes = 0;
	strategy_data(&chain.net, &cluster, &how, &parts);
	CHECK(parts.buckets == 2 && near(parts.exposed, 2 + 2 + last), "first bucket: %g", parts.exposed);
}

int main(void)
{
	check_published_data();
	check_published_gpipe();
	check_all_reduce();
	check_data();
	check_pipe();
	check_places();
	check_flush();
	check_cut();
	check_times();
	check_rows();
	check_turns();
	return check_end();
}
