/* Networks with branches: what is read of their layers, and in pipelines, by hand, which of them wait until a
 * stage's gradient has gone. */
#include "../analyzer/check.h"
#include "strategy/strategy.h"
#include "chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYER(kind, sizes, activation) \
	"{\"layer\": \"" kind "\", \"kind\": \"" kind "\", \"sizes\": \"" sizes \
	"\", \"input\": \"2x4x4x4\", \"activation\": \"" activation \
	"\", \"parameters\": 9, \"flops\": 600, \"forward_ns\": 1, \"backward_ns\": 2, \"update_ns\": 1}"

/* Backward a product is two kernels and an addition two, to where both come from; an activation is one more,
 * and of a product one for its biases. */
static void check_read(void)
{
	static const char text[] = "{\"layers\": [" LAYER("conv1", "3x3x4->4 s1 p1", "") ", " LAYER(
		"conv12", "3x3x4->4 s1 p1", "relu") ", " LAYER("norm3", "4", "") ", " LAYER("norm4", "4",
		"relu") ", " LAYER("add1", "", "") ", " LAYER("add2", "", "relu") "]}";
	static const double kernels[] = {2, 4, 1, 2, 2, 3};
	static const char *const kinds[] = {"conv", "conv", "norm", "norm", "add", "add"};
	char path[] = "/tmp/branches.XXXXXX";
	const char *paths[] = {path};
	struct strategy_net net;
	int file = mkstemp(path);

	CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), "file");
	close(file);
	CHECK(strategy_net_read(&net, paths, 1) == 0 && net.layer_count == 6, "%s", net.error);
	for (size_t i = 0; i < net.layer_count; i++) {
		const struct strategy_layer *l = &net.layers[i];

		CHECK(near(l->backward_kernels, kernels[i]) && strcmp(l->kind, kinds[i]) == 0 &&
				l->is_product == (i < 2) && l->is_activated == (i % 2 == 1) &&
				near(l->flops, 300),
			"%s: %g kernels, %s, %g", l->name, l->backward_kernels, l->kind, l->flops);
	}
	strategy_net_free(&net);
	unlink(path);
}

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
	check_read();
	check_branches();
	return check_end();
}
