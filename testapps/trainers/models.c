/* The published networks' lists of layers: see models.h. */
#include "models.h"

#include <stdio.h>

enum { SMALL_SIDE = 64 };

static int is_small(const struct nn *nn)
{
	return nn->in.h <= SMALL_SIDE && nn->in.w <= SMALL_SIDE;
}

static struct nn_shape shape(const struct nn *nn)
{
	return nn->layer_count ? nn->layer[nn->layer_count - 1].out : nn->in;
}

/* Volumes given to a network of images. */
static int refuse_volumes(struct nn *nn)
{
	if (nn->dims == 3)
		snprintf(nn->error, sizeof(nn->error), "images expected, volumes of %dx%dx%d found", nn->in.d,
			nn->in.h, nn->in.w);
	return nn->dims == 3;
}

/* A convolution without biases, and batch normalisation; answers the latter's index. */
static int conv_bn(struct nn *nn, const struct nn_conv_options *options, enum nn_activation activation)
{
	struct nn_conv_options bare = *options;

	bare.no_bias = 1;
	bare.activation = NN_LINEAR;
	nn_conv_with(nn, &bare);
	return nn_batchnorm(nn, activation);
}

static void classify(struct nn *nn)
{
	nn_dense(nn, nn->classes, NN_LINEAR);
	nn_softmax(nn);
}

void model_shallow(struct nn *nn)
{
	if (refuse_volumes(nn))
		return;
	nn_conv(nn, 20, 5, 1, 0, NN_RELU);
	nn_pool(nn, 2);
	nn_conv(nn, 50, 5, 1, 0, NN_RELU);
	nn_pool(nn, 2);
	nn_dense(nn, 500, NN_RELU);
	classify(nn);
}

/*
 * Residual blocks. Kernels of any size: with odd ones both convolutions keep the map's size, but for the
 * stride; with even ones the first makes it larger by one and the second smaller, so a block with a stride
 * rounds the size down, and its shortcut's kernel is as large as the stride to do the same.
 */
struct block {
	int filters, kernel, stride;
	enum nn_activation activation;
};

static void finish_block(struct nn *nn, int input, const struct block *b, int filters)
{
	const int branch = nn->layer_count - 1;
	const int changes = b->stride > 1 || shape(nn).c != (input < 0 ? nn->in.c : nn->layer[input].out.c);
	const struct nn_conv_options shortcut = {
		.filters = filters, .kernel = b->kernel % 2 ? 1 : b->stride, .stride = b->stride};
	int other = input;

	if (changes) {
		nn_from(nn, input);
		other = conv_bn(nn, &shortcut, NN_LINEAR);
	}
	nn_from(nn, branch);
	nn_add(nn, other, b->activation);
}

static void basic_block(struct nn *nn, const struct block *b)
{
	const int input = nn->layer_count - 1;
	struct nn_conv_options conv = {
		.filters = b->filters, .kernel = b->kernel, .stride = b->stride, .pad = b->kernel / 2};

	conv_bn(nn, &conv, b->activation);
	conv.stride = 1;
	conv.pad = (b->kernel - 1) / 2;
	conv_bn(nn, &conv, NN_LINEAR);
	finish_block(nn, input, b, b->filters);
}

/* Four times as many filters at its end; the stride is the second convolution's. */
static void bottleneck_block(struct nn *nn, const struct block *b)
{
	const int input = nn->layer_count - 1, filters = 4 * b->filters;
	const struct nn_conv_options narrow = {.filters = b->filters, .kernel = 1, .stride = 1};
	const struct nn_conv_options middle = {
		.filters = b->filters, .kernel = b->kernel, .stride = b->stride, .pad = b->kernel / 2};
	const struct nn_conv_options wide = {.filters = filters, .kernel = 1, .stride = 1};

	conv_bn(nn, &narrow, b->activation);
	conv_bn(nn, &middle, b->activation);
	conv_bn(nn, &wide, NN_LINEAR);
	finish_block(nn, input, b, filters);
}

void model_resnet(struct nn *nn, int depth)
{
	static const struct {
		int depth, blocks[4];
		void (*block)(struct nn *nn, const struct block *b);
	} kinds[] = {
		{18, {2, 2, 2, 2}, basic_block},
		{50, {3, 4, 6, 3}, bottleneck_block},
		{152, {3, 8, 36, 3}, bottleneck_block},
	};
	const struct nn_conv_options large = {.filters = 64, .kernel = 7, .stride = 2, .pad = 3};
	const struct nn_conv_options small = {.filters = 64, .kernel = 3, .stride = 1, .pad = 1};
	size_t kind = 0;

	if (refuse_volumes(nn))
		return;
	while (kinds[kind].depth != depth)
		kind++;
	conv_bn(nn, is_small(nn) ? &small : &large, NN_RELU);
	if (!is_small(nn))
		nn_pool_with(nn, NN_POOL_MAX, 3, 2, 1);
	for (int stage = 0; stage < 4; stage++)
		for (int i = 0; i < kinds[kind].blocks[stage]; i++) {
			const int stride = stage > 0 && i == 0 ? 2 : 1;

			kinds[kind].block(nn, &(struct block){64 << stage, 3, stride, NN_RELU});
		}
	nn_pool_with(nn, NN_POOL_AVERAGE, 0, 1, 0);
	classify(nn);
}

void model_vgg(struct nn *nn, int depth)
{
	enum { P = -1 }; /* pooling */
	static const int eleven[] = {64, P, 128, P, 256, 256, P, 512, 512, P, 512, 512, P, 0};
	static const int sixteen[] = {
		64, 64, P, 128, 128, P, 256, 256, 256, P, 512, 512, 512, P, 512, 512, 512, P, 0};
	const int small = is_small(nn), width = small ? 512 : 4096;

	if (refuse_volumes(nn))
		return;
	for (const int *filters = depth == 11 ? eleven : sixteen; *filters; filters++)
		if (*filters != P)
			nn_conv(nn, *filters, 3, 1, 1, NN_RELU);
		else if (!small || (shape(nn).h > 1 && shape(nn).w > 1))
			nn_pool(nn, 2);
	if (!small && shape(nn).h == 16)
		nn_pool_with(nn, NN_POOL_AVERAGE, 4, 2, 0);
	for (int i = 0; i < 2; i++) {
		if (small)
			nn_dropout(nn, 0.5);
		nn_dense(nn, width, NN_RELU);
		if (!small)
			nn_dropout(nn, 0.5);
	}
	classify(nn);
}

/* 1x1 kernels to `expand` times the maps, a 3x3 kernel for each map, 1x1 kernels back; and the sum with the
 * input where that has the same shape. */
static void inverted_block(struct nn *nn, int expand, int filters, int stride)
{
	const int input = nn->layer_count - 1, maps = shape(nn).c, wide = expand * maps;
	const struct nn_conv_options first = {.filters = wide, .kernel = 1, .stride = 1};
	const struct nn_conv_options depthwise = {
		.filters = wide, .kernel = 3, .stride = stride, .pad = 1, .groups = wide};
	const struct nn_conv_options last = {.filters = filters, .kernel = 1, .stride = 1};

	if (expand > 1)
		conv_bn(nn, &first, NN_RELU6);
	conv_bn(nn, &depthwise, NN_RELU6);
	conv_bn(nn, &last, NN_LINEAR);
	if (stride == 1 && filters == maps)
		nn_add(nn, input, NN_LINEAR);
}

void model_mobilenet(struct nn *nn)
{
	static const struct {
		int expand, filters, blocks, stride;
	} stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1},
		{6, 160, 3, 2}, {6, 320, 1, 1}};
	const int small = is_small(nn);
	const struct nn_conv_options first = {.filters = 32, .kernel = 3, .stride = small ? 1 : 2, .pad = 1};
	const struct nn_conv_options last = {.filters = 1280, .kernel = 1, .stride = 1};

	if (refuse_volumes(nn))
		return;
	conv_bn(nn, &first, NN_RELU6);
	for (int stage = 0; stage < 7; stage++)
		for (int i = 0; i < stages[stage].blocks; i++) {
			const int strides = i == 0 && !(small && stage == 1);

			inverted_block(nn, stages[stage].expand, stages[stage].filters,
				strides ? stages[stage].stride : 1);
		}
	conv_bn(nn, &last, NN_RELU6);
	nn_pool_with(nn, NN_POOL_AVERAGE, 0, 1, 0);
	nn_dropout(nn, 0.2);
	classify(nn);
}

void model_resattnet(struct nn *nn, const struct model_resattnet *o)
{
	const struct nn_conv_options first = {.filters = o->filters,
		.kernel = o->kernel,
		.stride = o->stride,
		.pad = o->first_valid ? 0 : o->kernel / 2};

	if (nn->dims != 3) {
		snprintf(nn->error, sizeof(nn->error), "volumes expected, images of %dx%d found", nn->in.h,
			nn->in.w);
		return;
	}
	conv_bn(nn, &first, o->activation);
	nn_pool_with(nn, NN_POOL_MAX, 3, 2, 1);
	for (int stage = 0; stage < 4; stage++) {
		for (int i = 0; i < 2; i++)
			basic_block(nn, &(struct block){o->filters << stage, o->kernel,
						stage > 0 && i == 0 ? 2 : 1, o->activation});
		if (stage >= 2)
			nn_self_attention(nn);
	}
	nn_pool_with(nn, NN_POOL_AVERAGE, 0, 1, 0);
	classify(nn);
}
