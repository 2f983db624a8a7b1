/* train_shallow: a small convolutional network on images. */
#include "data.h"
#include "models.h"
#include "train.h"

static const struct option_setting rows[] = {{OPTION_END, NULL, NULL, NULL, 0, 0, NULL}};

int main(int argc, char **argv)
{
	static const struct train_program program = {
		"train_shallow - train a shallow convolutional network on GPUs\n"
		"Two convolutions (20 and 50 filters of 5x5) with max pooling, dense layers of 500 and of as "
		"many numbers as there are classes, softmax and cross-entropy. Batches are read from the data "
		"set's files, in their order.",
		rows,
		model_shallow,
		DATA_MNIST,
	};

	return train_main(argc, argv, &program);
}
