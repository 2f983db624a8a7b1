/* train_autoencoder: an autoencoder on MNIST, Fashion-MNIST or CIFAR-10. */
#include "data.h"
#include "train.h"
#include "widths.h"

enum { MAX_HIDDEN = 16 };

static const char *hidden = "128,32,128";
static int activation;

static const struct option_setting rows[] = {
	{OPTION_TEXT, "hidden", "N,N...", &hidden, 0, 0,
		"widths of the layers between the image and its copy: up to 16, of 1 to 100000"},
	{OPTION_CHOICE, "activation", "relu|tanh|sigmoid", &activation, 0, 0,
		"after every layer but the last, which has a sigmoid"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void build(struct nn *nn)
{
	int widths[MAX_HIDDEN], count = widths_parse(hidden, widths, MAX_HIDDEN);

	for (int i = 0; i < count; i++)
		nn_dense(nn, widths[i], (enum nn_activation)activation);
	nn_dense(nn, (int)nn_sample(nn->in), NN_SIGMOID);
	nn_mse(nn);
}

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_autoencoder - train an autoencoder on GPUs\n"
		"Dense layers that narrow and widen again, and the mean squared difference between the "
		"image and what comes out. Batches are read from the data set's files, in their order.",
		rows,
		build,
		DATA_MNIST,
	};

	return train_main(argc, argv, &program);
}
