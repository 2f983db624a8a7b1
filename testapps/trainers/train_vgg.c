/* train_vgg: VGG-11 and -16 on images. */
#include "data.h"
#include "models.h"
#include "train.h"

static int depth;

static const struct option_setting rows[] = {
	{OPTION_CHOICE, "depth", "11|16", &depth, 0, 0, "convolutions and dense layers"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void build(struct nn *nn)
{
	model_vgg(nn, depth ? 16 : 11);
}

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_vgg - train a VGG network on GPUs\n"
		"Convolutions of 3x3 with max pooling, three dense layers with dropout, softmax and "
		"cross-entropy; no batch normalisation. Images of up to 64x64 get dense layers of 512 instead "
		"of 4096. Batches are read from the data set's files, in their order.",
		rows,
		build,
		DATA_CIFAR10,
	};

	return train_main(argc, argv, &program);
}
