/* train_resnet: ResNet-18, -50 and -152 on images. */
#include "data.h"
#include "models.h"
#include "train.h"

static int depth;

static const struct option_setting rows[] = {
	{OPTION_CHOICE, "depth", "18|50|152", &depth, 0, 0,
		"convolutions and dense layers one after the other"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void build(struct nn *nn)
{
	static const int depths[] = {18, 50, 152};

	model_resnet(nn, depths[depth]);
}

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_resnet - train a residual network on GPUs\n"
		"Convolutions with batch normalisation and sums around every two or three of them, softmax and "
		"cross-entropy. Images of up to 64x64 get the variant that begins with a 3x3 convolution of "
		"stride 1 and no pooling. Batches are read from the data set's files, in their order.",
		rows,
		build,
		DATA_CIFAR10,
	};

	return train_main(argc, argv, &program);
}
