/* train_resattnet: 3D-ResAttNet-18 on volumes, with its hyperparameters as options. */
#include "data.h"
#include "models.h"
#include "train.h"

static int filters = 64, kernel = 3, stride = 2, padding, activation;

static const struct option_setting rows[] = {
	{OPTION_INT, "filters", "N", &filters, 1, 256,
		"filters of the first stage; the other three have 2, 4 and 8 times as many"},
	{OPTION_INT, "kernel", "N", &kernel, 2, 5, "side of all kernels but those of the shortcuts"},
	{OPTION_INT, "stride", "N", &stride, 1, 3, "stride of the first convolution"},
	{OPTION_CHOICE, "padding", "same|valid", &padding, 0, 0,
		"of the first convolution: same, kernel/2 zeros on each side; valid, none. The residual blocks "
		"keep their maps' sizes"},
	{OPTION_CHOICE, "activation", "relu|tanh|sigmoid", &activation, 0, 0,
		"after every batch normalisation and sum that has one"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void build(struct nn *nn)
{
	model_resattnet(nn,
		&(struct model_resattnet){filters, kernel, stride, padding, (enum nn_activation)activation});
}

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_resattnet - train 3D-ResAttNet-18 on GPUs\n"
		"A residual network of 18 layers for volumes, with self-attention after its third and fourth "
		"stage, softmax and cross-entropy. Batches are read from train.raw and test.raw, in their "
		"order.",
		rows,
		build,
		DATA_VOLUMES,
	};

	return train_main(argc, argv, &program);
}
