/*
 * PyTorch's memory: its allocator and steps replayed on it, worked out by hand; what of a network's file says
 * that it is PyTorch's, and which of its layers fully_shard is given together.
 */
#include "../analyzer/check.h"
#include "strategy/caching_allocator.h"
#include "strategy/strategy_choose.h"
#include "strategy/strategy_torch.h"
#include "chain.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB (1024.0 * 1024)

static unsigned reserved(const struct caching_allocator *a)
{
	return (unsigned)(a->reserved >> 20);
}

static void check_allocator(void)
{
	struct caching_allocator a = {0};
	size_t first, second, third, none = caching_allocate(&a, 0, 0);

	CHECK(reserved(&a) == 0, "nothing");
	first = caching_allocate(&a, MIB, 0);
	second = caching_allocate(&a, MIB - 511, 0); /* in steps of 512 */
	CHECK(reserved(&a) == 2, "small blocks share 2 MiB: %u", reserved(&a));
	caching_free(&a, first);
	caching_allocate(&a, MIB, 1);
	CHECK(reserved(&a) == 4, "another stream: %u", reserved(&a));
	first = caching_allocate(&a, 6 * MIB, 0);
	third = caching_allocate(&a, 6 * MIB, 0);
	caching_allocate(&a, 6 * MIB, 0);
	CHECK(reserved(&a) == 24, "20 MiB hold three of 6: %u", reserved(&a));
	caching_allocate(&a, 2 * MIB, 0);
	CHECK(reserved(&a) == 24, "and one of 2: %u", reserved(&a));
	caching_free(&a, third);
	caching_free(&a, first);
	caching_allocate(&a, 12 * MIB, 0);
	CHECK(reserved(&a) == 24, "neighbours merge: %u", reserved(&a));
	third = caching_allocate(&a, 10 * MIB + 1, 0);
	CHECK(reserved(&a) == 36, "10 MiB and more have 2 MiB's multiples: %u", reserved(&a));
	caching_free(&a, third);
	third = caching_allocate(&a, 11 * MIB, 0);
	caching_allocate(&a, MIB + 1, 0);
	CHECK(reserved(&a) == 56, "1 MiB that is left is not split off: %u", reserved(&a));
	caching_free(&a, none);
	caching_free(&a, second);
	caching_free(&a, third);
	caching_release(&a);
}

/* A layer of 16 MiB whose input and output are 12 MiB a sample; it may be a unit of fully_shard. */
static void init(struct chain *chain)
{
	chain_init(chain, 1);
	chain->net.is_torch = true;
	chain->layers[0].parameter_bytes = chain->layers[0].tensor_bytes[0] = 16 * MIB;
	chain->layers[0].input_bytes = chain->layers[0].output_bytes = chain->layers[0].kept_bytes = 12 * MIB;
	chain->layers[0].unit = 1;
}

/*
 * Alone: 16 of parameters, 12 each of the batch, the output and both gradients, 16 each of the parameters'
 * gradient, the optimizer's number and its copy: 112. A second batch comes where the others were.
 * DDP: a bucket of 16 more. ZeRO-1 on two, of which the first has the only tensor: besides 20 that hold two
 * flat tensors of 8; the batch is where the parameters were: 112 + 16 + 20 - 12. ZeRO-2: 20 for a part of 8,
 * which then hold the batch too; 16 to gather, copied out to where the parameters were (16); output and
 * gradients 12 each, the parameters' gradient 16, 20 for what was scattered: 124. The optimizer's 8 lie in
 * one of 12, so that the next step's input gradient, the last of four, splits the 16 of the gradient: 16
 * more. Without the optimizer's numbers 124.
 */
static void check_replay(void)
{
	static const double expected[] = {112, 128, 136, 140};
	struct strategy_how how = {.batch = 2, .optimizer_copies = 1};
	struct chain chain;

	init(&chain);
	for (int way = TORCH_ALONE; way <= TORCH_ZERO_2; way++) {
		double bytes = strategy_torch_bytes(
			&chain.net, &how, 1, way == TORCH_ALONE ? 1 : 2, (enum strategy_torch)way);

		CHECK(near(bytes, expected[way] * MIB), "way %d: %g", way, bytes / MIB);
	}
	/* of two tensors of 16 the first rank updates one: besides the parameters' 32, where the batch and
	 * the output come to lie, the bucket's and the flat tensors', 24 of gradients, 32 of the parameters',
	 * a number where the output was, a copy of 16 */
	chain.layers[0].parameter_bytes = 32 * MIB;
	chain.layers[0].tensor_bytes[1] = 16 * MIB;
	CHECK(near(strategy_torch_bytes(&chain.net, &how, 1, 2, TORCH_ZERO_1), 168 * MIB), "two tensors: %g",
		strategy_torch_bytes(&chain.net, &how, 1, 2, TORCH_ZERO_1) / MIB);
	init(&chain);
	how.optimizer_copies = 0;
	CHECK(near(strategy_torch_bytes(&chain.net, &how, 1, 2, TORCH_ZERO_2), 124 * MIB),
		"without numbers: %g", strategy_torch_bytes(&chain.net, &how, 1, 2, TORCH_ZERO_2) / MIB);
	/* an input of a size that was not there comes from a pooling: 7 MiB, indices of 14, and 7 of the
	 * output; two gradients of 7 in another 20; the last one of 12 lies where the pooling's were */
	chain_init(&chain, 2);
	chain.layers[0].input_bytes = chain.layers[0].output_bytes = 12 * MIB;
	chain.layers[1].input_bytes = chain.layers[1].output_bytes = 7 * MIB;
	CHECK(near(strategy_torch_bytes(&chain.net, &how, 1, 1, TORCH_ALONE), (12 + 12 + 20 + 14 + 20) * MIB),
		"pooled: %g", strategy_torch_bytes(&chain.net, &how, 1, 1, TORCH_ALONE) / MIB);
	/* two of 12 that stand between products */
	init(&chain);
	chain.layers[0].between = 2;
	CHECK(near(strategy_torch_bytes(&chain.net, &how, 1, 1, TORCH_ALONE), (16 + 12 * 6 + 16) * MIB),
		"between products: %g", strategy_torch_bytes(&chain.net, &how, 1, 1, TORCH_ALONE) / MIB);
}

/* The link makes these what the code under test calls: the fail_at-th fails. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
static long allocations, fail_at;

static bool fails(void)
{
	return ++allocations == fail_at;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

/* Each allocation of a replay fails once: the result is then no number, never another one. */
static void check_no_memory(void)
{
	static const struct strategy_how how = {.batch = 2, .optimizer_copies = 1};
	struct chain chain;

	init(&chain);
	for (int way = TORCH_ALONE; way <= TORCH_ZERO_2; way++) {
		const size_t workers = way == TORCH_ALONE ? 1 : 2;
		long k = 0, count;

		fail_at = allocations = 0;
		strategy_torch_bytes(&chain.net, &how, 1, workers, (enum strategy_torch)way);
		count = allocations;
		CHECK(count > 1, "way %d allocates nothing", way);
		while (k++ < count) {
			double bytes;

			allocations = 0;
			fail_at = k;
			bytes = strategy_torch_bytes(&chain.net, &how, 1, workers, (enum strategy_torch)way);
			CHECK(isnan(bytes), "way %d without allocation %ld: %g MiB", way, k, bytes / MIB);
		}
		fail_at = 0;
	}
}

/* 200 MiB were measured with one sample. Two: four of 24, where the optimizer's number and its copy find
 * room, and one more of 24 in the second step: 152, 40 more than with one. */
static void check_memory(void)
{
	const struct strategy_how how = {.batch = 1, .optimizer_copies = 1};
	double measured = 200 * MIB;
	struct strategy_memory memory;
	struct chain chain;

	init(&chain);
	chain.net.device_bytes = &measured;
	CHECK(strategy_memory_basis(&chain.net, &how).basis == STRATEGY_REPLAYED, "basis");
	memory = strategy_memory_whole(&chain.net, &how, 1, 1);
	CHECK(near(memory.total, 200 * MIB) && !memory.at_least, "measured: %g", memory.total / MIB);
	CHECK(near(memory.total, memory.state + memory.kept + memory.gradients + memory.bucket + memory.rest),
		"parts: %g", memory.rest / MIB);
	CHECK(near(strategy_memory_whole(&chain.net, &how, 1, 2).total, 216 * MIB), "DDP");
	CHECK(near(strategy_memory_whole(&chain.net, &how, 2, 1).total, 240 * MIB), "two samples");
	CHECK(near(strategy_memory_zero(&chain.net, &how, 1, 2, 1).total, (200 + 136 - 112) * MIB), "ZeRO-1");
	chain.net.is_torch = false; /* the closed form has 84 MiB: that is more than twice as much */
	memory = strategy_memory_whole(&chain.net, &how, 1, 1);
	CHECK(near(memory.total, 200 * MIB) && !memory.at_least, "reserved, as measured: %g",
		memory.total / MIB);
	memory = strategy_memory_whole(&chain.net, &how, 1, 2);
	CHECK(near(memory.total, 200 * MIB) && memory.at_least, "several have at least as much: %g",
		memory.total / MIB);
	memory = strategy_memory_whole(&chain.net, &how, 2, 1);
	CHECK(memory.total < 200 * MIB && memory.at_least, "computed: %g", memory.total / MIB);
}

/* Layers as `pmanalyze layers --json` has them: name, kind, sizes, input, parameters. */
static bool read_layers(
	struct strategy_net *net, const char *const (*layers)[5], size_t count, const char *site)
{
	char path[] = "/tmp/test_strategy_torch_XXXXXX";
	const char *paths[] = {path};
	int file = mkstemp(path), status = -1;
	FILE *out = file < 0 ? NULL : fdopen(file, "w");

	if (!out)
		return false;
	fputs("{\"layers\": [", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out,
			"%s{\"layer\": \"%s\", \"kind\": \"%s\", \"sizes\": \"%s\", \"input\": \"%s\", \"parameters\": "
			"%s, \"forward_ns\": 1, \"backward_ns\": 1, \"update_ns\": 1, \"site\": \"%s\"}",
			i ? "," : "", layers[i][0], layers[i][1], layers[i][2], layers[i][3], layers[i][4],
			site);
	fputs("]}", out);
	if (fclose(out) == 0)
		status = strategy_net_read(net, paths, 1);
	unlink(path);
	return status == 0;
}

static void check_read(void)
{
	static const char *const layers[][5] = {{"m.words", "layer1", "", "", "50"},
		{"m.blocks.0.up", "fc1", "4->8", "16x4", "40"}, {"m.blocks.0.norm.1", "norm1", "8", "", "16"},
		{"m.blocks.1.up", "conv1", "3x3x2->4 s1 p1", "", "72"}, {"m.head", "fc2", "8->2", "", "16"},
		{"m.f", "norm2", "", "", "16"}}; /* of a kernel of PyTorch's own: no running means */
	static const char *const blocks[][5] = {{"b.0.a.qkv", "fc1", "4->12", "16x4", "48"},
		{"b.0.a.out", "fc2", "4->4", "16x4", "16"}, {"b.0.up", "fc3", "4->16", "16x4", "64"},
		{"b.0.down", "fc4", "16->4", "16x16", "64"}, {"b.0.f.0", "fc5", "4->4", "16x4", "16"},
		{"b.0.f.2", "fc6", "4->2", "16x4", "8"}, {"b.0.k", "fc7", "4->2", "16x4", "8"},
		{"b.0.v", "fc8", "4->2", "16x4", "8"}};
	static const char *const patches[][5] = {{"p", "conv1", "2x2x3->6 s2 p0", "8x3x4x4", "72"},
		{"b.0.f", "fc1", "6->2", "32x6", "12"}, {"b.1.f", "fc2", "2->2", "32x2", "4"}};
	static const size_t betweens[] = {0, 2, 0, 1, 0, 0, 0, 0};
	static const double weights[] = {50, 32, 8, 72, 16, 8};
	static const size_t units[] = {STRATEGY_ROOT, 1, 1, 2, STRATEGY_ROOT, STRATEGY_ROOT};
	struct strategy_net net;

	CHECK(read_layers(&net, layers, 6, "libtorch_cuda.so+0x1 < f (a.py:1)") && net.is_torch, "%s",
		net.error);
	for (size_t i = 0; i < net.layer_count; i++) {
		const struct strategy_layer *layer = &net.layers[i];

		CHECK(layer->unit == units[i], "%s: unit %zu", layer->name, layer->unit);
		CHECK(layer->has_buffers == (i == 2), "%s: buffers", layer->name);
		CHECK(near(layer->tensor_bytes[0], 4 * weights[i]) &&
				near(layer->tensor_bytes[0] + layer->tensor_bytes[1], layer->parameter_bytes),
			"%s: %g", layer->name, layer->tensor_bytes[0]);
	}
	strategy_net_free(&net);
	/* attention after three times 4, and GELU after 16; a list's ReLU; a product of another's input */
	CHECK(read_layers(&net, blocks, 8, "libtorch_cuda.so+0x1"), "%s", net.error);
	for (size_t i = 0; i < net.layer_count; i++)
		CHECK(net.layers[i].between == betweens[i], "%s: %zu", net.layers[i].name,
			net.layers[i].between);
	strategy_net_free(&net);
	/* four rows of each of 8 images: what a product has of a sample is four times as much */
	CHECK(read_layers(&net, patches, 2, "libtorch_cuda.so+0x1") && net.is_opaque &&
			!net.layers[1].may_cut && near(net.layers[0].input_bytes, 4 * 48) &&
			near(net.layers[1].input_bytes, 4 * 4 * 6) &&
			near(net.layers[1].output_bytes, 4 * 4 * 2),
		"patches: %g bytes", net.layers[1].input_bytes);
	strategy_net_free(&net);
	CHECK(read_layers(&net, patches + 1, 2, "libtorch_cuda.so+0x1") && !net.is_opaque &&
			net.layers[1].may_cut,
		"rows alone");
	strategy_net_free(&net);
	CHECK(read_layers(&net, layers, 5, "main < start") && !net.is_torch &&
			net.layers[1].unit == STRATEGY_ROOT,
		"a plain program's");
	strategy_net_free(&net);
}

/* Layers of 10 forward, 20 backward and 3 update with so many bytes of parameters. */
static void init_times(struct chain *chain, const double *bytes)
{
	chain_init(chain, 3);
	chain->net.is_torch = true;
	for (size_t i = 0; i < 3; i++) {
		*chain->layers[i].forward = 10;
		*chain->layers[i].backward = 20;
		*chain->layers[i].update = 3;
		chain->layers[i].parameter_bytes = chain->layers[i].tensor_bytes[0] = bytes[i];
		chain->layers[i].unit = i; /* the first is in the root */
	}
}

/*
 * Two workers, links of 1 MiB a ns: a sum takes its MiB. Forward until 30; the last layer's gradient, 2 MiB,
 * is a bucket at 50 and summed until 52, then 30 from 70 to 100, then 4 until 104. Copies of 1 MiB a ns: the
 * buckets are full at 52, 102 and 126, and summed until 54, 132 and 136; copied back until 128, 162 and 166.
 * ZeRO-1: the first worker has 30 of 36, updates for 7.5 of 9, and each sends 30.
 */
static void check_ddp(void)
{
	static const double bytes[] = {4 * MIB, 30 * MIB, 2 * MIB};
	static struct strategy_cluster cluster;
	const struct strategy_how how = {.batch = 2, .other = 8};
	struct strategy_data_parts parts;
	struct chain chain;

	init_times(&chain, bytes);
	cluster_init(&cluster, 2, 0, MIB);
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_DDP, &parts);
	CHECK(near(parts.total, 104 + 9 + 4) && near(parts.exposed, 14) && near(parts.exchange, 36) &&
			parts.buckets == 3,
		"DDP: %g, %g exposed", parts.total, parts.exposed);
	/* 10 do not fill a bucket: 14 from 90 on */
	chain.layers[1].parameter_bytes = 10 * MIB;
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_DDP, &parts);
	CHECK(near(parts.total, 104 + 9 + 4) && parts.buckets == 2, "two buckets: %g", parts.total);
	chain.layers[1].parameter_bytes = 30 * MIB;
	cluster.memory_bandwidth = 2 * MIB;
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_DDP, &parts);
	CHECK(near(parts.total, 166 + 9 + 4) && near(parts.exchange, 36 + 72), "with copies: %g",
		parts.total);
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_ZERO_1, &parts);
	CHECK(near(parts.total, 166 + 7.5 + 60 + 4) && near(parts.update, 7.5) && parts.buckets == 5,
		"ZeRO-1: %g", parts.total);
	/* running means of a batch norm of 4 MiB, in 4, and of its count, in next to nothing; 4 of copies */
	chain.layers[0].has_buffers = true;
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_DDP, &parts);
	CHECK(fabs(parts.total - (166 + 8 + 9 + 4)) < 1e-3 && parts.buckets == 5, "buffers: %g", parts.total);
}

/*
 * Three workers as in test_strategy_zero.c: 12, 24 and 12 bytes are gathered or scattered in 6, 10 and 6. The
 * root, which has the first layer, is gathered until 6, the second unit after it until 16, the third, once
 * the root is copied out, until 22: forward is never late again and ends at 36. Backward: scattered from 56,
 * 76 and 96 on, until 102. Gathered again: the third until 42, the second next to its backward pass;
 * scattered from 62, 82 and 102 on.
 */
static void check_fsdp(void)
{
	static const double bytes[] = {12, 24, 12};
	static struct strategy_cluster cluster;
	static struct strategy_choice choices[STRATEGY_ZERO_COUNT];
	const struct strategy_how how = {.batch = 3, .other = 6};
	struct strategy_data_parts parts;
	struct chain chain;

	init_times(&chain, bytes);
	cluster_init(&cluster, 3, 1, 2);
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_ZERO_2, &parts);
	CHECK(near(parts.total, 102 + 3 + 2) && near(parts.exposed, 12) && near(parts.exchange, 44) &&
			parts.buckets == 6,
		"ZeRO-2: %g, %g exposed", parts.total, parts.exposed);
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_ZERO_3, &parts);
	CHECK(near(parts.total, 108 + 3 + 2) && near(parts.exposed, 18) && parts.buckets == 8,
		"ZeRO-3: %g, %g exposed", parts.total, parts.exposed);
	strategy_choose_zero(&chain.net, &cluster, &how, choices);
	CHECK(near(choices[1].time, 102 + 3 + 2) && near(choices[2].time, 108 + 3 + 2), "chosen: %g, %g",
		choices[1].time, choices[2].time);
	/* a unit is gathered once the one before the one before is copied out, next to the long layer of the
	 * root: 106 and 107, until 117; and 60 of backward, of which the last scatter is not hidden */
	*chain.layers[0].forward = 100;
	*chain.layers[1].forward = 1;
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_ZERO_2, &parts);
	CHECK(near(parts.total, 117 + 60 + 6 + 3 + 2), "a long layer: %g", parts.total);
	*chain.layers[0].forward = *chain.layers[1].forward = 10;
	/* the third unit takes 34: forward until 50 + 10, its scatter until 80 + 34, for which the next waits
	 */
	chain.layers[2].parameter_bytes = 96;
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_ZERO_2, &parts);
	CHECK(near(parts.total, 114 + 20 + 6 + 3 + 2), "a slow scatter: %g", parts.total);
	chain.layers[2].parameter_bytes = 12;
	/* a copy takes 1 for each byte; the root's third until 4, gathered until 10, copied out until 22, and
	 * its layer until 32; the second unit, gathered until 20, is copied out until 56, its layer until 66
	 */
	chain.net.layer_count = 2;
	cluster.memory_bandwidth = 2;
	strategy_torch_time(&chain.net, &cluster, &how, TORCH_ZERO_2, &parts);
	/* backward until 86, copied together until 110, scattered until 120; until 130 and 142, and 148 */
	CHECK(near(parts.total, 148 + 2 + 2), "with copies: %g", parts.total);
}

/* Of 30 in all 9 are the layers'; the other 21 go by parameters. */
static void check_spread(void)
{
	static const double bytes[] = {12, 24, 6};
	struct chain chain;

	init_times(&chain, bytes);
	strategy_net_spread_update(&chain.net, 30);
	CHECK(near(*chain.layers[0].update, 3 + 6) && near(*chain.layers[1].update, 3 + 12) &&
			near(*chain.layers[2].update, 3 + 3),
		"%g, %g", *chain.layers[0].update, *chain.layers[1].update);
	strategy_net_spread_update(&chain.net, 20);
	CHECK(near(*chain.layers[0].update, 9), "less than the layers': %g", *chain.layers[0].update);
}

int main(void)
{
	check_ddp();
	check_fsdp();
	check_spread();
	check_allocator();
	check_replay();
	check_no_memory();
	check_memory();
	check_read();
	return check_end();
}
