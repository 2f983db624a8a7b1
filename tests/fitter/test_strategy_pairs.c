/*
 * Tensor parallelism of PyTorch's transformers: which products stand in pairs, which calls are divided with
 * them, where it may be cut, and what an iteration and a worker's memory come to, worked out by hand.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_choose.h"
#include "strategy/strategy_pairs.h"
#include "strategy/strategy_torch.h"
#include "chain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1024.0 * 1024)

enum { U = STRATEGY_UNDIVIDED, C = STRATEGY_COLUMNS, R = STRATEGY_ROWS, G = STRATEGY_GATHERED };

/* A product of rows: numbers that go in and come out; 0 in: a norm. */
struct product {
	size_t unit;
	double in, out;
	int divide; /* of enum strategy_divide */
};

static void init(struct chain *chain, const struct product *products, size_t count)
{
	chain_init(chain, count);
	chain->net.is_torch = chain->net.is_opaque = true;
	for (size_t i = 0; i < count; i++) {
		struct strategy_layer *layer = &chain->layers[i];

		layer->unit = products[i].unit;
		layer->is_rows = products[i].in > 0;
		layer->input_bytes = 4 * products[i].in;
		layer->output_bytes = layer->kept_bytes = 4 * products[i].out;
		layer->backward_kernels = layer->is_rows ? 2 : 1;
		layer->parameter_bytes = layer->tensor_bytes[0] = 4 * products[i].in * products[i].out;
	}
}

static void check_plan(const char *what, const struct product *products, size_t count, bool is_known)
{
	struct chain chain;
	const char *why;

	init(&chain, products, count);
	why = strategy_pairs_find(&chain.net);
	CHECK(!why == is_known, "%s: %s", what, why ? why : "known");
	for (size_t i = 0; i < count && is_known; i++)
		CHECK((int)chain.layers[i].divide == products[i].divide, "%s: layer %zu is %d", what, i,
			(int)chain.layers[i].divide);
}

#define PLAN(what, is_known, ...) \
	do { \
		const struct product products[] = {__VA_ARGS__}; \
		check_plan(what, products, sizeof(products) / sizeof(*products), is_known); \
	} while (0)

static void check_plans(void)
{
	PLAN("GPT", true, {0, 0, 0, U}, {1, 0, 0, U}, {1, 4, 12, C}, {1, 4, 4, R}, {1, 0, 0, U},
		{1, 4, 16, C}, {1, 16, 4, R}, {2, 4, 12, C}, {2, 4, 4, R}, {0, 4, 50, G});
	PLAN("Llama", true, {1, 4, 4, C}, {1, 4, 4, C}, {1, 4, 4, C}, {1, 4, 4, R}, {1, 4, 11, C},
		{1, 4, 11, C}, {1, 11, 4, R}, {0, 0, 0, U});
	PLAN("fewer keys and values", true, {1, 4, 4, C}, {1, 4, 2, C}, {1, 4, 2, C}, {1, 4, 4, R});
	PLAN("two of a width", true, {1, 4, 4, C}, {1, 4, 4, R});
	PLAN("a product before the blocks", true, {0, 3, 4, U}, {1, 4, 9, C}, {1, 9, 4, R}, {0, 0, 0, U});
	PLAN("three of a width", false, {1, 4, 4, U}, {1, 4, 4, U}, {1, 4, 4, U});
	PLAN("one of a width", false, {1, 4, 4, U}, {2, 4, 4, U});
	PLAN("twice attention", false, {1, 4, 4, U}, {1, 4, 4, U}, {1, 4, 4, U}, {1, 4, 4, U}, {1, 4, 4, U},
		{1, 4, 4, U}, {1, 4, 4, U}, {1, 4, 4, U});
	PLAN("another's input", false, {1, 4, 12, U}, {1, 5, 4, U});
	PLAN("another width", false, {1, 4, 12, U}, {1, 12, 5, U});
	PLAN("no way back", false, {1, 4, 12, U}, {1, 4, 4, U}, {1, 4, 12, U});
	PLAN("no blocks", false, {0, 4, 12, U}, {0, 12, 4, U});
	PLAN("a list of layers", false, {1, 4, 12, U}, {2, 12, 4, U});
}

/* ---- calls ---- */

struct call {
	const char *layer, *phase, *rule;
	double time;
	int share; /* of enum strategy_share */
};

enum { W = STRATEGY_CALLS_WHOLE, D = STRATEGY_CALLS_DIVIDED, H = STRATEGY_CALLS_GATHERED };

#define QKV "b.0.qkv"
#define OUT "b.0.out"
#define NORM "b.0.norm"
#define HEAD "head"

/* One block: a norm, attention, what is around it; the last product. Times are powers of two. */
static const struct call calls[] = {{"", "h2d", "direction", 0.25, W}, {NORM, "forward", "parameter", 1, W},
	{QKV, "forward", "parameter", 2, D}, {QKV, "forward", "source", 4, D},
	{OUT, "forward", "parameter", 8, D}, {OUT, "forward", "source", 16, W},
	{HEAD, "forward", "parameter", 32, H}, {HEAD, "forward", "source", 64, W},
	{HEAD, "backward", "sink", 1, W}, {HEAD, "backward", "sibling", 2, H},
	{HEAD, "backward", "parameter", 4, H}, {OUT, "backward", "sink", 8, W},
	{OUT, "backward", "parameter", 16, D}, {OUT, "backward", "sibling", 32, D},
	{OUT, "backward", "place", 64, W}, {OUT, "backward", "gradient", 128, W},
	{OUT, "backward", "previous", 256, D}, {HEAD, "backward", "place", 512, D},
	{HEAD, "backward", "gradient", 1024, D}, {QKV, "backward", "parameter", 2048, D},
	{QKV, "backward", "sibling", 4096, D}, {QKV, "backward", "place", 8192, D},
	{QKV, "backward", "gradient", 16384, D}, {NORM, "backward", "parameter", 32768, W},
	{NORM, "update", "serves", 0.5, W}, {"", "update", "", 1, W}};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static void name(struct chain *chain, const char *const *names)
{
	for (size_t i = 0; i < chain->net.layer_count; i++)
		chain->layers[i].name = strdup(names[i]);
}

static void free_names(struct chain *chain)
{
	for (size_t i = 0; i < chain->net.layer_count; i++)
		free(chain->layers[i].name);
}

/* Reads the calls but the one that is left out. */
static bool read_calls(struct chain *chain, const struct call *list, size_t count, size_t without)
{
	char path[] = "/tmp/test_strategy_pairs_XXXXXX";
	int file = mkstemp(path), status = -1;
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	const char *comma = "";

	if (!out)
		return false;
	fputs("{\"workers\": [{\"calls\": [", out);
	for (size_t i = 0; i < count; i++)
		if (i != without) {
			fprintf(out,
				"%s{\"layer\": \"%s\", \"phase\": \"%s\", \"layer_by\": \"%s\", \"time_ns\": %g}",
				comma, list[i].layer, list[i].phase, list[i].rule, list[i].time);
			comma = ",";
		}
	fputs("]}]}", out);
	if (fclose(out) == 0)
		status = strategy_pairs_read(&chain->net, path);
	unlink(path);
	return status == 0;
}

static void check_shares(const struct strategy_net *net, const struct call *list, size_t count)
{
	static const char *const passes[] = {"forward", "backward"};

	for (int pass = 0; pass < 2; pass++) {
		double times[STRATEGY_SHARES] = {0}, counts[STRATEGY_SHARES] = {0}, all = 0;

		for (size_t i = 0; i < count; i++)
			if (strcmp(list[i].phase, passes[pass]) == 0) {
				times[list[i].share] += list[i].time;
				counts[list[i].share]++;
				all += list[i].time;
			}
		for (int k = 0; k < STRATEGY_SHARES; k++)
			CHECK(near(net->calls[pass][k].count, counts[k]) &&
					near(all * net->calls[pass][k].share, times[k]),
				"%s, %d: %g calls, %g", passes[pass], k, net->calls[pass][k].count,
				all * net->calls[pass][k].share);
	}
}

static void check_calls(void)
{
	static const struct product products[] = {{1, 0, 0, U}, {1, 4, 12, C}, {1, 4, 4, R}, {0, 4, 50, G}};
	static const char *const names[] = {NORM, QKV, OUT, HEAD};
	struct call list[CALLS];
	struct chain chain;

	init(&chain, products, 4);
	name(&chain, names);
	chain.layers[1].tensor_bytes[1] = chain.layers[2].tensor_bytes[1] = 16;
	CHECK(read_calls(&chain, calls, CALLS, CALLS) && chain.net.has_pairs, "pairs: %s",
		chain.net.no_pairs);
	check_shares(&chain.net, calls, CALLS);
	/* the copy to the device is none of the program's calls */
	CHECK(near(chain.net.shortest_call, 0.5) && near(chain.net.update_calls, 2),
		"shortest %g, updates %g", chain.net.shortest_call, chain.net.update_calls);
	/* a gradient of biases that is only known to read what the product's do, and one of weights that is
	 * known */
	memcpy(list, calls, sizeof(list));
	list[15].rule = list[22].rule = "sibling";
	list[20].rule = "gradient";
	CHECK(read_calls(&chain, list, CALLS, CALLS) && chain.net.has_pairs, "biases: %s",
		chain.net.no_pairs);
	check_shares(&chain.net, list, CALLS);
	chain.layers[2].tensor_bytes[1] = 0;
	CHECK(read_calls(&chain, list, CALLS, CALLS) && !chain.net.has_pairs, "no biases");
	chain.layers[2].tensor_bytes[1] = 16;
	list[16].layer = OUT;
	list[16].rule = "sibling";
	CHECK(read_calls(&chain, list, CALLS, CALLS) && !chain.net.has_pairs, "computed again");
	memcpy(list, calls, sizeof(list));
	list[2].layer = OUT;
	list[4].layer = QKV;
	CHECK(read_calls(&chain, list, CALLS, CALLS) && !chain.net.has_pairs, "the other way round");
	CHECK(read_calls(&chain, calls, CALLS, 13) && !chain.net.has_pairs && chain.net.no_pairs,
		"a gradient is missing");
	CHECK(read_calls(&chain, calls, CALLS, 4) && !chain.net.has_pairs, "no call forward");
	CHECK(read_calls(&chain, calls, CALLS, 6) && !chain.net.has_pairs, "the last product's");
	CHECK(read_calls(&chain, calls, 0, 0) && !chain.net.has_pairs && chain.net.no_pairs, "no calls");
	free_names(&chain);
}

/* A gate beside a product: what is between them forward has its gradient between them backward; where there
 * is nothing, as between queries, keys and values, gradients of the input are added up there. */
static void check_columns(void)
{
	static const struct product products[] = {{1, 4, 16, C}, {1, 4, 16, C}, {1, 16, 4, R}, {0, 0, 0, U}};
	static const char *const names[] = {"g", "u", "d", "n"};
	struct call list[] = {{"g", "forward", "parameter", 1, D}, {"g", "forward", "source", 2, D},
		{"u", "forward", "parameter", 4, D}, {"d", "forward", "parameter", 8, D},
		{"d", "backward", "parameter", 1, D}, {"d", "backward", "sibling", 2, D},
		{"d", "backward", "sink", 4, D}, {"u", "backward", "parameter", 8, D},
		{"u", "backward", "sibling", 16, D}, {"u", "backward", "sink", 32, D},
		{"g", "backward", "parameter", 64, D}, {"g", "backward", "sibling", 128, D},
		{"g", "backward", "sink", 256, W}};
	enum { COUNT = sizeof(list) / sizeof(*list) };
	struct chain chain;

	init(&chain, products, 4);
	name(&chain, names);
	CHECK(read_calls(&chain, list, COUNT, COUNT) && chain.net.has_pairs, "a gate: %s",
		chain.net.no_pairs);
	check_shares(&chain.net, list, COUNT);
	list[1].layer = "u";
	list[1].rule = "gradient"; /* no call of another's */
	list[9].share = W;
	CHECK(read_calls(&chain, list, COUNT, COUNT) && chain.net.has_pairs, "no gate: %s",
		chain.net.no_pairs);
	check_shares(&chain.net, list, COUNT);
	free_names(&chain);
}

/* ---- an iteration ---- */

/*
 * A pair of 4 x 8 and 8 x 4 with biases of 4, and 4 x 64 after the block, measured with 2 samples; forward
 * takes 40 in all, backward 80, half of each divided, a quarter the last product's.
 */
static void init_times(struct chain *chain, struct strategy_cluster *cluster)
{
	static const struct product products[] = {{1, 4, 8, C}, {1, 8, 4, R}, {0, 4, 64, G}};

	init(chain, products, 3);
	cluster_init(cluster, 2, 1, 2);
	chain->batch = 2;
	chain->net.has_pairs = true;
	chain->net.shortest_call = 1;
	chain->net.update_calls = 2;
	*chain->layers[0].forward = 40;
	*chain->layers[0].backward = 80;
	*chain->layers[0].update = 12;
	chain->layers[1].tensor_bytes[1] = 16;
	chain->layers[1].parameter_bytes += 16;
	for (size_t i = 0; i < 3; i++)
		chain->layers[i].divide = (enum strategy_divide)products[i].divide;
	for (int pass = 0; pass < 2; pass++) {
		chain->net.calls[pass][W] = (struct strategy_calls){3, 0.25};
		chain->net.calls[pass][D] = (struct strategy_calls){4, 0.5};
		chain->net.calls[pass][H] = (struct strategy_calls){2, 0.25};
	}
}

/*
 * Two workers with 4 samples, links of 1 + bytes / 2. Forward: 4 + (20 - 4) * 4 / 2 / 2, whole 3 + 7 * 2, the
 * last product 2 + 8 * 2; backward 40, 3 + 17 * 2, 2 + 18 * 2. A call for the biases. Sums of 4 * 16 bytes
 * after the product by rows and, backward, of the first one's input: 2 (1 + 32 / 2) = 34 each. Of 1296 bytes
 * 256 are divided: updates of two calls each for both kinds, and of the other 10 their share. Gathered: 20
 * and 40 of the last product fall to 10 and 20; its 1024 bytes are gathered in 1 + 512 / 2, put together by a
 * call, and cut by one; 34 for the gradient of its input. 1280 bytes are divided.
 */
static void check_times(void)
{
	static struct strategy_cluster cluster;
	struct strategy_how how = {.batch = 4, .other = 6};
	struct strategy_data_parts parts;
	struct chain chain;
	double update;

	init_times(&chain, &cluster);
	strategy_torch_tensor(&chain.net, &cluster, &how, TORCH_TENSOR, &parts);
	update = 4 + 10 * (1 - 256 / 1296.0 / 2);
	CHECK(near(parts.compute, 20 + 17 + 18 + 40 + 37 + 38 + 1) && near(parts.exchange, 68) &&
			parts.buckets == 2 && near(parts.update, update) && near(parts.exposed, 68) &&
			near(parts.total, 171 + 68 + update + 6),
		"blocks: %g compute, %g exchange, %g update", parts.compute, parts.exchange, parts.update);
	strategy_torch_tensor(&chain.net, &cluster, &how, TORCH_TENSOR_GATHERED, &parts);
	update = 4 + 10 * (1 - 1280 / 1296.0 / 2);
	CHECK(near(parts.compute, 20 + 17 + 10 + 40 + 37 + 20 + 1) && near(parts.exchange, 102 + 257 + 2) &&
			parts.buckets == 4 && near(parts.update, update),
		"gathered: %g compute, %g exchange, %g update", parts.compute, parts.exchange, parts.update);
	/* copies of 1 a byte: of 64 three times, and 3 to begin them; of 1024 put together, of 512 cut */
	cluster.memory_bandwidth = 2;
	cluster.copy_latency = 3;
	strategy_torch_tensor(&chain.net, &cluster, &how, TORCH_TENSOR_GATHERED, &parts);
	CHECK(near(parts.exchange, 102 + 257 + 2 + 3 * 67 + 1024 + 512), "with copies: %g", parts.exchange);
}

static void check_choice(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	static const size_t one = 1;
	const struct strategy_tries tries = {&one, 1, NULL, false};
	const struct strategy_how how = {.batch = 4, .other = 6};
	const struct strategy_choice *tensor = &choices[STRATEGY_NAME_TENSOR];
	struct chain chain;

	init_times(&chain, &cluster);
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && tensor->possible &&
			tensor->is_validated && !tensor->divides_last &&
			!choices[STRATEGY_NAME_HYBRID].possible,
		"chosen: %s", tensor->why);
	cluster.inside.bandwidth = 1000;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && tensor->divides_last,
		"quick links: %g", tensor->time);
	cluster.workers = 3;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && !tensor->possible &&
			tensor->why,
		"8 by 3");
	cluster.workers = 2;
	chain.net.has_pairs = false;
	chain.net.no_pairs = "why";
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && !tensor->possible &&
			!tensor->is_validated && tensor->why == chain.net.no_pairs,
		"no pairs");
}

/* ---- pipelines ---- */

/*
 * Two blocks, each a norm and a pair, after an embedding: cut in front of their norms, over which the width
 * goes. Tensors of 4 x 8 and 8 x 4 with biases of 16 bytes in the first block; a call takes 1 and a byte 1:
 * gradients are added in 1 and 3 times the bytes each, and divided in 1 and twice.
 */
static void init_blocks(struct chain *chain, struct strategy_cluster *cluster)
{
	static const struct product products[] = {{0, 0, 0, U}, {1, 0, 0, U}, {1, 4, 8, C}, {1, 8, 4, R},
		{2, 0, 0, U}, {2, 4, 8, C}, {2, 8, 4, R}};

	init(chain, products, 7);
	cluster_init(cluster, 2, 0, 16);
	cluster->memory_bandwidth = 1;
	for (size_t i = 0; i < 7; i++)
		chain->layers[i].may_cut = false;
	chain->layers[3].tensor_bytes[1] = 16;
	chain->net.shortest_call = 1;
}

/*
 * 30 forward and 60 backward a sample and block; two micro-batches of two, of which 16 bytes a sample go over
 * in 2. Forward until 182 on the second. Half of what is added goes with each of the two: backward 120 + 385
 * on the second, until 687 and 1192, and 120 + 409.5 on the first from 689 on, until 1748; it then divides in
 * 3 + 544.
 */
static void check_pipelines(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_choice choices[STRATEGY_NAME_COUNT];
	static const size_t two = 2;
	const struct strategy_tries tries = {&two, 1, NULL, false};
	const struct strategy_how how = {.batch = 4};
	const struct strategy_choice *gpipe = &choices[STRATEGY_NAME_GPIPE];
	struct chain chain;

	init_blocks(&chain, &cluster);
	strategy_pairs_cut(&chain.net);
	CHECK(!chain.layers[4].may_cut, "no pairs");
	chain.net.has_pairs = true;
	strategy_pairs_cut(&chain.net);
	for (size_t i = 0; i < 7; i++)
		CHECK(chain.layers[i].may_cut == (i == 1 || i == 4), "layer %zu: cut", i);
	CHECK(near(chain.layers[4].input_bytes, 16), "width: %g", chain.layers[4].input_bytes);
	CHECK(near(strategy_accumulation(&chain.net, &cluster, 0, 4, 1), 3 + 3 * (128 + 128 + 16)) &&
			near(strategy_division(&chain.net, &cluster, 0, 4), 3 + 2 * (128 + 128 + 16)),
		"%g to add, %g to divide", strategy_accumulation(&chain.net, &cluster, 0, 4, 1),
		strategy_division(&chain.net, &cluster, 0, 4));
	for (size_t i = 2; i < 6; i += 3) {
		*chain.layers[i].forward = 30;
		*chain.layers[i].backward = 60;
	}
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && gpipe->possible &&
			choices[STRATEGY_NAME_FLUSH].is_validated &&
			!choices[STRATEGY_NAME_HYBRID].possible && gpipe->plan.cut[1] == 4 &&
			isnan(gpipe->memory),
		"chosen: %s", gpipe->why);
	CHECK(near(gpipe->time, 1748 + 547) && choices[STRATEGY_NAME_FLUSH].plan.chunks <= 1, "GPipe: %g",
		gpipe->time);
	CHECK(!choices[STRATEGY_NAME_PIPEDREAM].possible, "not among PyTorch's that were run");
	/* nor are several chunks a worker, however many places there are to cut */
	for (size_t i = 1; i < 7; i++) {
		chain.layers[i].may_cut = true;
		*chain.layers[i].forward = *chain.layers[i].backward = 1000;
	}
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 &&
			choices[STRATEGY_NAME_FLUSH].plan.chunks <= 1,
		"chunks: %zu", choices[STRATEGY_NAME_FLUSH].plan.chunks);
	chain.net.has_pairs = false;
	CHECK(strategy_choose(&chain.net, &cluster, &how, &tries, choices) == 0 && !gpipe->possible &&
			!choices[STRATEGY_NAME_FLUSH].is_validated,
		"opaque");
}

/* ---- memory ---- */

/*
 * A pair of 64 MiB each; a sample is 16 MiB, between them 64. Alone with one: 128 of parameters, the batch of
 * 16, outputs of 64 and 16, the gradient of the last, 16, and of the second's input, 64; its parameters' 64;
 * the batch's gradient where the output was; the first's parameters' 64: 432. Two workers with two samples
 * each: parts of 32, of which the second, like the batch, lies in the first's 64: 160. The first's output,
 * 64, in the second's 64. The second's output of 32 and its sum: 64; the sum's gradient where the output was.
 * The input's 64 and the parameters' 32; all else finds room: 320. 16 of biases of the second are whole, and
 * so is their gradient: 352. Logits of 64 a sample, without parameters, two workers, a sample: the batch of
 * 16, a part of 32, the logits, 64, and their logarithms, 64. Backward the logarithms' gradient
 * comes where the logits were, and theirs takes 64 more: 240. Whole: 16, 64, 64 and
 * 64 for the two gradients, of which one lies where the logits were; the second batch splits one of three of
 * 64, so that a fourth is needed: 272.
 */
static void check_memory(void)
{
	static const struct product products[] = {{1, 4 * MIB, 16 * MIB, C}, {1, 16 * MIB, 4 * MIB, R}};
	static const struct product last[] = {{0, 4 * MIB, 16 * MIB, G}};
	const struct strategy_how how = {.batch = 1};
	struct strategy_layer *layers;
	struct chain chain;
	double bytes;

	init(&chain, products, 2);
	layers = chain.layers;
	for (size_t i = 0; i < 2; i++) {
		layers[i].divide = (enum strategy_divide)products[i].divide;
		layers[i].parameter_bytes = layers[i].tensor_bytes[0] = 64 * MIB;
	}
	bytes = strategy_torch_bytes(&chain.net, &how, 1, 1, TORCH_ALONE);
	CHECK(near(bytes, 432 * MIB), "alone: %g", bytes / MIB);
	bytes = strategy_torch_bytes(&chain.net, &how, 2, 2, TORCH_TENSOR);
	CHECK(near(bytes, 320 * MIB), "a pair: %g", bytes / MIB);
	layers[1].tensor_bytes[1] = 16 * MIB;
	layers[1].parameter_bytes += 16 * MIB;
	bytes = strategy_torch_bytes(&chain.net, &how, 2, 2, TORCH_TENSOR);
	CHECK(near(bytes, 352 * MIB), "biases: %g", bytes / MIB);
	init(&chain, last, 1);
	layers[0].divide = STRATEGY_GATHERED;
	layers[0].parameter_bytes = layers[0].tensor_bytes[0] = 0;
	bytes = strategy_torch_bytes(&chain.net, &how, 1, 2, TORCH_TENSOR_GATHERED);
	CHECK(near(bytes, 240 * MIB), "logits: %g", bytes / MIB);
	for (size_t workers = 1; workers <= 2; workers++) {
		bytes = strategy_torch_bytes(&chain.net, &how, 1, workers, TORCH_TENSOR);
		CHECK(near(bytes, 272 * MIB), "whole logits, %zu: %g", workers, bytes / MIB);
	}
	/* the batch, the output, and the gradient of each */
	bytes = strategy_torch_bytes(&chain.net, &how, 1, 1, TORCH_ALONE);
	CHECK(near(bytes, 160 * MIB), "no logits: %g", bytes / MIB);
}

int main(void)
{
	check_plans();
	check_calls();
	check_columns();
	check_times();
	check_choice();
	check_pipelines();
	check_memory();
	return check_end();
}
