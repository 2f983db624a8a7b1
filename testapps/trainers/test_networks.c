/* The tests' networks: see test_networks.h. */
#include "test_networks.h"

#include "check.h"
#include "models.h"

/* This GPU's samples of the network being built. */
static int samples;

static void init(struct nn *nn, int c, int d, int h, int w)
{
	nn_init(nn, BATCH, samples, c, d, h, w);
}

static int conv(struct nn *nn, int filters, int kernel, int stride, int pad, int groups)
{
	return nn_conv_with(nn, &(struct nn_conv_options){.filters = filters,
					.kernel = kernel,
					.stride = stride,
					.pad = pad,
					.groups = groups,
					.no_bias = 1,
					.activation = NN_LINEAR});
}

static void classify(struct nn *nn)
{
	nn_dense(nn, 10, NN_LINEAR);
	nn_softmax(nn);
}

static void volumes(struct nn *nn)
{
	init(nn, 2, 7, 8, 9);
	nn_conv(nn, 4, 3, 2, 1, NN_TANH);
	nn_pool_with(nn, NN_POOL_MAX, 2, 1, 0);
	nn_conv(nn, 3, 2, 1, 0, NN_SIGMOID);
	nn_pool_with(nn, NN_POOL_AVERAGE, 2, 2, 1);
	classify(nn);
}

static void groups(struct nn *nn)
{
	init(nn, 4, 1, 8, 7);
	conv(nn, 8, 3, 1, 1, 4); /* a kernel per map */
	nn_activate(nn, NN_RELU6);
	conv(nn, 6, 3, 2, 1, 2);
	nn_activate(nn, NN_TANH);
	classify(nn);
}

static void volume_groups(struct nn *nn)
{
	init(nn, 4, 5, 6, 4);
	nn_conv_with(nn, &(struct nn_conv_options){8, 3, 1, 1, 4, 0, NN_SIGMOID});
	classify(nn);
}

/* Values beyond 6, so that the ceiling is reached. */
static void ceilings(struct nn *nn)
{
	init(nn, 2, 1, 6, 6);
	nn_conv_with(nn, &(struct nn_conv_options){6, 3, 1, 1, 1, 0, NN_RELU6});
	for (int i = 0; i < 4; i++)
		nn_add(nn, nn->layer_count - 1, i == 3 ? NN_RELU6 : NN_LINEAR);
	classify(nn);
}

static void norms(struct nn *nn)
{
	static const enum nn_activation all[] = {NN_RELU, NN_TANH, NN_SIGMOID, NN_LINEAR, NN_RELU6};

	init(nn, 3, 1, 6, 5);
	nn_batchnorm(nn, NN_LINEAR); /* on the input */
	for (int i = 0; i < 5; i++) {
		conv(nn, 4 + i, 3, 1, 1, 1);
		nn_batchnorm(nn, all[i]);
	}
	classify(nn);
}

static void volume_norms(struct nn *nn)
{
	init(nn, 2, 4, 5, 3);
	conv(nn, 4, 3, 1, 1, 1);
	nn_batchnorm(nn, NN_RELU);
	conv(nn, 5, 3, 1, 1, 1);
	nn_batchnorm(nn, NN_TANH);
	nn_pool_with(nn, NN_POOL_AVERAGE, 0, 1, 0);
	classify(nn);
}

static void pools(struct nn *nn)
{
	init(nn, 3, 1, 11, 10);
	nn_conv(nn, 4, 3, 1, 1, NN_TANH);
	nn_pool_with(nn, NN_POOL_MAX, 3, 2, 1);
	nn_conv(nn, 5, 3, 1, 1, NN_TANH);
	nn_pool_with(nn, NN_POOL_AVERAGE, 3, 1, 1);
	nn_conv(nn, 6, 3, 1, 1, NN_TANH);
	nn_pool_with(nn, NN_POOL_AVERAGE, 0, 1, 0);
	classify(nn);
}

/* One layer that layers of every kind read, so that each kind's backward adds to what a later one has set. */
static void readers(struct nn *nn)
{
	int shared = 0, sum = 0, side[8];

	init(nn, 3, 1, 6, 6);
	shared = nn_conv(nn, 8, 3, 1, 1, NN_TANH);
	side[0] = nn_conv(nn, 8, 3, 1, 1, NN_TANH);
	nn_from(nn, shared);
	side[1] = nn_pool_with(nn, NN_POOL_AVERAGE, 3, 1, 1);
	nn_from(nn, shared);
	side[2] = nn_pool_with(nn, NN_POOL_MAX, 3, 1, 1);
	nn_from(nn, shared);
	side[3] = nn_batchnorm(nn, NN_SIGMOID);
	nn_from(nn, shared);
	side[4] = nn_dropout(nn, 0);
	nn_from(nn, shared);
	side[5] = nn_activate(nn, NN_RELU);
	nn_from(nn, shared);
	side[6] = nn_scale(nn);
	side[7] = nn_attention(nn, shared, shared, shared);
	nn_from(nn, shared);
	sum = nn_add(nn, shared, NN_LINEAR);
	for (int i = 0; i < 8; i++)
		sum = nn_add(nn, side[i], i % 2 ? NN_TANH : NN_LINEAR);
	(void)sum;
	classify(nn);
}

/* The same for dense layers, and for two that read the input. */
static void dense_readers(struct nn *nn)
{
	int shared = 0, other = 0;

	init(nn, 2, 1, 3, 3);
	shared = nn_dense(nn, 18, NN_TANH);
	nn_from(nn, NN_INPUT);
	other = nn_dense(nn, 18, NN_SIGMOID);
	nn_from(nn, shared);
	nn_dense(nn, 18, NN_RELU);
	nn_add(nn, other, NN_TANH);
	nn_add(nn, shared, NN_LINEAR);
	nn_mse(nn);
}

static void attention(struct nn *nn)
{
	init(nn, 2, 1, 5, 4);
	nn_conv(nn, 9, 3, 1, 1, NN_TANH);
	nn_self_attention(nn);
	nn_conv(nn, 16, 3, 1, 1, NN_TANH);
	nn_self_attention(nn);
	classify(nn);
}

static void volume_attention(struct nn *nn)
{
	init(nn, 2, 3, 4, 2);
	nn_conv(nn, 16, 3, 1, 1, NN_TANH);
	nn_self_attention(nn);
	classify(nn);
}

static void small_shallow(struct nn *nn)
{
	init(nn, 1, 1, 16, 17);
	model_shallow(nn);
}

static void small_resnet18(struct nn *nn)
{
	init(nn, 3, 1, 6, 5);
	model_resnet(nn, 18);
}

static void small_resnet50(struct nn *nn)
{
	init(nn, 1, 1, 5, 5);
	model_resnet(nn, 50);
}

static void small_vgg11(struct nn *nn)
{
	init(nn, 3, 1, 6, 4);
	model_vgg(nn, 11);
}

static void small_vgg16(struct nn *nn)
{
	init(nn, 1, 1, 4, 3);
	model_vgg(nn, 16);
}

static void small_mobilenet(struct nn *nn)
{
	init(nn, 3, 1, 8, 6);
	model_mobilenet(nn);
}

static void small_resattnet(struct nn *nn)
{
	init(nn, 1, 13, 14, 12);
	model_resattnet(nn, &(struct model_resattnet){2, 3, 1, 0, NN_RELU});
}

static void even_resattnet(struct nn *nn)
{
	init(nn, 1, 34, 35, 33);
	model_resattnet(nn, &(struct model_resattnet){2, 2, 2, 1, NN_SIGMOID});
}

const struct network networks[] = {
	{"cnn relu", CNN, NN_RELU, 5, 1, 0, 2, NULL, 0, 0},
	{"cnn tanh", CNN, NN_TANH, 5, 1, 0, 2, NULL, 0, 0},
	{"cnn sigmoid", CNN, NN_SIGMOID, 5, 1, 0, 2, NULL, 0, 0},
	{"cnn kernel 2", CNN, NN_TANH, 2, 1, 0, 2, NULL, 0, 0},
	{"cnn kernel 3", CNN, NN_RELU, 3, 1, 0, 2, NULL, 0, 0},
	{"cnn kernel 4", CNN, NN_SIGMOID, 4, 1, 0, 2, NULL, 0, 0},
	{"cnn kernel 2 same", CNN, NN_RELU, 2, 1, 1, 2, NULL, 0, 0},
	{"cnn kernel 3 same", CNN, NN_TANH, 3, 1, 1, 3, NULL, 0, 0},
	{"cnn kernel 4 same", CNN, NN_RELU, 4, 1, 1, 4, NULL, 0, 0},
	{"cnn kernel 5 same", CNN, NN_SIGMOID, 5, 1, 1, 2, NULL, 0, 0},
	{"cnn stride 2", CNN, NN_TANH, 3, 2, 0, 2, NULL, 0, 0},
	{"cnn stride 2 same", CNN, NN_RELU, 5, 2, 1, 2, NULL, 0, 0},
	{"cnn stride 3 same", CNN, NN_TANH, 4, 3, 1, 2, NULL, 0, 0},
	{"cnn pool 3", CNN, NN_RELU, 3, 1, 0, 3, NULL, 0, 0},
	{"cnn pool 5 same", CNN, NN_TANH, 3, 1, 1, 5, NULL, 0, 0},
	{"lenet-5", LENET, NN_RELU, 5, 1, 0, 2, NULL, 0, 0},
	{"mlp relu", MLP, NN_RELU, 0, 0, 0, 0, NULL, 0, 0},
	{"mlp tanh", MLP, NN_TANH, 0, 0, 0, 0, NULL, 0, 0},
	{"mlp sigmoid", MLP, NN_SIGMOID, 0, 0, 0, 0, NULL, 0, 0},
	{"autoencoder relu", AUTOENCODER, NN_RELU, 0, 0, 0, 0, NULL, 0, 0},
	{"autoencoder tanh", AUTOENCODER, NN_TANH, 0, 0, 0, 0, NULL, 0, 0},
	{"volumes", OTHER, 0, 0, 0, 0, 0, volumes, 0, 0},
	{"groups", OTHER, 0, 0, 0, 0, 0, groups, 0, 0},
	{"groups in volumes", OTHER, 0, 0, 0, 0, 0, volume_groups, 0, 0},
	{"ceilings", OTHER, 0, 0, 0, 0, 0, ceilings, 0, 0},
	{"batch normalisations", OTHER, 0, 0, 0, 0, 0, norms, 0, 0},
	{"batch normalisations in volumes", OTHER, 0, 0, 0, 0, 0, volume_norms, 0, 0},
	{"pooling", OTHER, 0, 0, 0, 0, 0, pools, 0, 0},
	{"many readers", OTHER, 0, 0, 0, 0, 0, readers, 0, 0},
	{"many dense readers", OTHER, 0, 0, 0, 0, 0, dense_readers, 0, 0},
	{"attention", OTHER, 0, 0, 0, 0, 0, attention, 0, 0},
	{"attention in volumes", OTHER, 0, 0, 0, 0, 0, volume_attention, 0, 0},
	{"shallow", OTHER, 0, 0, 0, 0, 0, small_shallow, 0, 1},
	{"resnet-18", OTHER, 0, 0, 0, 0, 0, small_resnet18, 1, 1},
	{"resnet-50", OTHER, 0, 0, 0, 0, 0, small_resnet50, 1, 2},
	{"vgg-11", OTHER, 0, 0, 0, 0, 0, small_vgg11, 0, 1},
	{"vgg-16", OTHER, 0, 0, 0, 0, 0, small_vgg16, 0, 2},
	{"mobilenet", OTHER, 0, 0, 0, 0, 0, small_mobilenet, 1, 1},
	{"3d-resattnet", OTHER, 0, 0, 0, 0, 0, small_resattnet, 1, 1},
	{"3d-resattnet of even kernels", OTHER, 0, 0, 0, 0, 0, even_resattnet, 1, 1},
};

const size_t network_count = sizeof(networks) / sizeof(networks[0]);

static void smooth(struct nn *nn)
{
	for (int i = 0; i < nn->layer_count; i++) {
		enum nn_activation *activation = &nn->layer[i].activation;

		if (*activation == NN_RELU)
			*activation = NN_TANH;
		if (*activation == NN_RELU6)
			*activation = NN_SIGMOID;
	}
}

void network_build_with(struct nn *nn, const struct network *w, int share)
{
	samples = share;
	switch (w->kind) {
	case CNN:
		nn_init(nn, BATCH, samples, 3, 1, 22, 21);
		nn_conv(nn, 4, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool);
		nn_conv(nn, 5, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool > 2 ? 1 : w->pool);
		nn_dense(nn, 12, w->activation);
		nn_dropout(nn, 0);
		nn_dense(nn, 10, NN_LINEAR);
		nn_softmax(nn);
		break;
	case LENET:
		nn_init(nn, BATCH, samples, 1, 1, 28, 28);
		nn_conv(nn, 6, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool);
		nn_conv(nn, 16, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool);
		nn_dense(nn, 120, w->activation);
		nn_dense(nn, 84, w->activation);
		nn_dense(nn, 10, NN_LINEAR);
		nn_softmax(nn);
		break;
	case MLP:
		nn_init(nn, BATCH, samples, 1, 1, 9, 7);
		nn_dense(nn, 20, w->activation);
		nn_dense(nn, 15, w->activation);
		nn_dense(nn, 10, NN_LINEAR);
		nn_softmax(nn);
		break;
	case AUTOENCODER:
		nn_init(nn, BATCH, samples, 1, 1, 9, 7);
		nn_dense(nn, 20, w->activation);
		nn_dense(nn, 8, w->activation);
		nn_dense(nn, 63, NN_SIGMOID);
		nn_mse(nn);
		break;
	case OTHER:
		w->build(nn);
		break;
	}
	if (nn->error[0])
		errx(1, "%s: %s", w->name, nn->error);
	if (w->is_deep)
		smooth(nn);
}

void network_build(struct nn *nn, const struct network *w)
{
	network_build_with(nn, w, SHARE);
}
