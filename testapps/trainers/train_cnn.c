/* train_cnn: LeNet-5 on MNIST, Fashion-MNIST or CIFAR-10, with its hyperparameters as options. */
#include <math.h>

#include "data.h"
#include "train.h"

static int filters = 6, kernel = 5, stride = 1, same, pool = 2, activation;
static double dropout;

static const struct option_setting rows[] = {
	{OPTION_INT, "filters", "N", &filters, 1, 1024,
		"filters of the first convolution; the second has 8/3 as many, rounded, as LeNet-5's 6 "
		"and 16"},
	{OPTION_INT, "kernel", "N", &kernel, 2, 5, "side of the convolutions' kernels"},
	{OPTION_INT, "stride", "N", &stride, 1, 3, "stride of both convolutions"},
	{OPTION_CHOICE, "padding", "valid|same", &same, 0, 0,
		"of both convolutions: valid, none; same, kernel/2 zeros on each side, so that at stride "
		"1 odd kernels keep a map's size and even ones make it larger by one"},
	{OPTION_INT, "pool", "N", &pool, 2, 5, "side and stride of the max-pooling windows"},
	{OPTION_CHOICE, "activation", "relu|tanh|sigmoid", &activation, 0, 0,
		"after every layer but the last"},
	{OPTION_NUMBER, "dropout", "P", &dropout, 0, 0.95,
		"probability of dropping an input of the last layer; 0: no dropout layer"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void build(struct nn *nn)
{
	enum nn_activation act = (enum nn_activation)activation;

	nn_conv(nn, filters, kernel, stride, same, act);
	nn_pool(nn, pool);
	nn_conv(nn, (int)lround(filters * 8.0 / 3.0), kernel, stride, same, act);
	nn_pool(nn, pool);
	nn_dense(nn, 120, act);
	nn_dense(nn, 84, act);
	if (dropout > 0)
		nn_dropout(nn, dropout);
	nn_dense(nn, nn->classes, NN_LINEAR);
	nn_softmax(nn);
}

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_cnn - train LeNet-5 on GPUs\n"
		"Two convolutions with pooling, three dense layers, softmax and cross-entropy. Options "
		"that reduce a map to nothing are rejected. Batches are read from the data set's files, in "
		"their order.",
		rows,
		build,
		DATA_MNIST,
	};

	return train_main(argc, argv, &program);
}
