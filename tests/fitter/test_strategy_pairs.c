/*
 * Tensor parallelism of PyTorch's transformers: which products stand in pairs, and which calls are divided with
 * them.
 */
#include "../analyzer/check.h"
#include "advise/strategy_pairs.h"
#include "chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	struct chain chain;

	init(&chain, products, 4);
	name(&chain, names);
	CHECK(read_calls(&chain, calls, CALLS, CALLS) && chain.net.has_pairs, "pairs: %s",
		chain.net.no_pairs);
	check_shares(&chain.net, calls, CALLS);
	/* the copy to the device is none of the program's calls */
	CHECK(near(chain.net.shortest_call, 0.5) && near(chain.net.update_calls, 2),
		"shortest %g, updates %g", chain.net.shortest_call, chain.net.update_calls);
	CHECK(read_calls(&chain, calls, CALLS, 13) && !chain.net.has_pairs && chain.net.no_pairs,
		"a gradient is missing");
	CHECK(read_calls(&chain, calls, CALLS, 4) && !chain.net.has_pairs, "no call forward");
	CHECK(read_calls(&chain, calls, CALLS, 10) && !chain.net.has_pairs, "the last product's");
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

int main(void)
{
	check_plans();
	check_calls();
	check_columns();
	return check_end();
}
