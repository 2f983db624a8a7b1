/* train_mobilenet: MobileNetV2 on images. */
#include "data.h"
#include "models.h"
#include "train.h"

static const struct option_setting rows[] = {{OPTION_END, NULL, NULL, NULL, 0, 0, NULL}};

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_mobilenet - train MobileNetV2 on GPUs\n"
		"Inverted residual blocks with a kernel per map, softmax and cross-entropy. Images of up to "
		"64x64 get the variant whose first two strides are 1. Batches are read from the data set's "
		"files, in their order.",
		rows,
		model_mobilenet,
		DATA_CIFAR10,
	};

	return train_main(argc, argv, &program);
}
