/*
 * What of a layer's pass does not grow with the batch, from one batch: layers of a kind whose times were made
 * as f + c flops + d bytes come back with their f, whatever single layers lie beside; without enough of them
 * there is none, and the pass keeps the time of the shortest.
 */
#include "../analyzer/check.h"
#include "strategy/strategy_fixed.h"
#include "chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIXED 7 /* of a forward pass; twice that backward */

/* Convolutions of 1, 4, 9, ... flops: forward f + 3 flops + d bytes, backward the double; the bytes do not
 * follow the flops. */
static void init(struct chain *chain, size_t count, double per_byte)
{
	chain_init(chain, count);
	for (size_t i = 0; i < count; i++) {
		struct strategy_layer *layer = &chain->layers[i];

		snprintf(layer->kind, sizeof(layer->kind), "conv");
		layer->flops = (double)((i + 1) * (i + 1));
		layer->output_bytes = (double)(10 + 7 * i % 5);
		*layer->forward = FIXED + 3 * layer->flops + per_byte * layer->output_bytes;
		*layer->backward = 2 * *layer->forward;
	}
}

static double fixed_of(const struct chain *chain, enum strategy_time which)
{
	return strategy_fixed_of_kind(&chain->net, 0, which);
}

static void check_line(void)
{
	struct chain chain;

	init(&chain, 3, 0);
	CHECK(fabs(fixed_of(&chain, STRATEGY_FORWARD) - FIXED) < 1e-6 &&
			fabs(fixed_of(&chain, STRATEGY_BACKWARD) - 2 * FIXED) < 1e-6,
		"a line: %g", fixed_of(&chain, STRATEGY_FORWARD));
	/* one of four is bound by something else */
	init(&chain, 4, 0);
	*chain.layers[1].forward *= 1.5;
	CHECK(fabs(fixed_of(&chain, STRATEGY_FORWARD) - FIXED) < 1e-6, "one beside it: %g",
		fixed_of(&chain, STRATEGY_FORWARD));
	/* three of seven are no half */
	init(&chain, 7, 0);
	for (size_t i = 1; i < 5; i++)
		*chain.layers[i].forward *= 1.2 + 0.7 * (double)(i % 2);
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "scattered: %g", fixed_of(&chain, STRATEGY_FORWARD));
}

static void check_plane(void)
{
	struct chain chain;

	init(&chain, 5, 2);
	CHECK(fabs(fixed_of(&chain, STRATEGY_FORWARD) - FIXED) < 1e-6, "activated: %g",
		fixed_of(&chain, STRATEGY_FORWARD));
	/* three points are on any plane */
	init(&chain, 3, 2);
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "three: %g", fixed_of(&chain, STRATEGY_FORWARD));
}

static void check_unknown(void)
{
	struct chain chain;

	/* equal layers are one */
	init(&chain, 4, 0);
	for (size_t i = 1; i < 4; i++) {
		chain.layers[i].flops = chain.layers[1].flops;
		chain.layers[i].output_bytes = chain.layers[1].output_bytes;
		*chain.layers[i].forward = *chain.layers[1].forward;
	}
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "two unlike layers");
	/* another kind, or with an activation, is not of it */
	init(&chain, 3, 0);
	chain.layers[2].is_activated = true;
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "one is activated");
	init(&chain, 3, 0);
	chain.layers[2].kind[0] = 'd';
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "one is of another kind");
	init(&chain, 3, 0);
	chain.layers[1].flops = 0;
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "flops not known");
	/* the larger, the quicker: no such law */
	init(&chain, 3, 0);
	for (size_t i = 0; i < 3; i++)
		*chain.layers[i].forward = 40 - 3 * chain.layers[i].flops;
	CHECK(isnan(fixed_of(&chain, STRATEGY_FORWARD)), "falling");
}

/* The half of a batch takes the half of what grows. */
static void check_half(void)
{
	struct strategy_net fixed;
	struct chain chain;
	double time;

	init(&chain, 3, 0);
	CHECK(strategy_fixed_make(&chain.net, 0, 1, 0, &fixed) == 0, "memory");
	CHECK(near(fixed.measured, chain.net.batches[0]), "which batch was measured");
	time = strategy_layer_time(&fixed, 2, STRATEGY_FORWARD, 0.5);
	CHECK(fabs(time - (FIXED + 3 * 9 / 2.0)) < 1e-6, "on a line: %g", time);
	strategy_fixed_free(&fixed);
	/* without flops the shortest pass of all is what all of them keep */
	memset(chain.layers[0].kind, 0, sizeof(chain.layers[0].kind));
	chain.layers[2] = (struct strategy_layer){.name = NULL,
		.forward = chain.layers[2].forward,
		.backward = chain.layers[2].backward,
		.update = chain.layers[2].update};
	CHECK(strategy_fixed_make(&chain.net, 0, 1, 0, &fixed) == 0, "memory");
	time = strategy_layer_time(&fixed, 2, STRATEGY_FORWARD, 0.5);
	CHECK(fabs(time - (10 + (34 - 10) / 2.0)) < 1e-6, "bounded: %g", time);
	strategy_fixed_free(&fixed);
}

/* Reading the parameters takes a third of what an update of a layer takes longer than the shortest one's 5,
 * or with momentum a fifth; twice that backward. So long do passes of few samples take. */
static void check_parameters(void)
{
	struct strategy_net fixed;
	struct chain chain;
	double forward, backward;

	for (int copies = 0; copies < 2; copies++) {
		double once = copies ? 9 : 15;

		init(&chain, 3, 0);
		for (size_t i = 0; i < 3; i++)
			*chain.layers[i].update = i == 2 ? 50 : 5;
		CHECK(strategy_fixed_make(&chain.net, copies, 1, 0, &fixed) == 0, "memory");
		forward = strategy_layer_time(&fixed, 2, STRATEGY_FORWARD, 0.125);
		backward = strategy_layer_time(&fixed, 2, STRATEGY_BACKWARD, 0.125);
		CHECK(fabs(forward - (FIXED + once)) < 1e-6 && fabs(backward - 2 * (FIXED + once)) < 1e-6,
			"%g and %g", forward, backward);
		CHECK(near(strategy_layer_time(&fixed, 2, STRATEGY_FORWARD, 1), *chain.layers[2].forward),
			"as measured");
		strategy_fixed_free(&fixed);
	}
}

int main(void)
{
	check_parameters();
	check_line();
	check_plane();
	check_unknown();
	check_half();
	return check_end();
}
