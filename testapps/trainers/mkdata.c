/*
 * mkdata: writes a small learnable data set in the exact files of MNIST or CIFAR-10, so that the trainers run
 * without a download and the real files can take its place. A class is a smooth pattern (a few Gaussian
 * blobs, drawn from the class number and the seed); an image is its class's pattern, shifted by up to two
 * pixels, and noise.
 */
#include "options.h"
#include "random.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

enum { CLASSES = 10, BLOBS = 6, MAX_SHIFT = 2, CIFAR_FILES = 5, MAX_IMAGE = 3 * 32 * 32 };

static int cifar, train_count = 6000, test_count = 1000, seed = 1;
static const char *folder;
static int channels, side;
static float pattern[CLASSES][MAX_IMAGE];

static const struct option_row rows[] = {
	{OPTION_CHOICE, "dataset", "mnist|cifar10", &cifar, 0, 0,
		"format: MNIST (28x28, four IDX files; also right for fashion) or CIFAR-10 (3x32x32, "
		"binary files)"},
	{OPTION_TEXT, "out", "DIR", &folder, 0, 0, "folder to write to; it is made if it does not exist"},
	{OPTION_INT, "train", "N", &train_count, CIFAR_FILES, 1000000, "training images"},
	{OPTION_INT, "test", "N", &test_count, 1, 1000000, "test images"},
	{OPTION_INT, "seed", "N", &seed, 0, 1000000000, "another number gives other patterns and noise"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void draw_patterns(uint64_t *random)
{
	for (int class = 0; class < CLASSES; class ++)
		for (int blob = 0; blob < BLOBS * channels; blob++) {
			float *plane = pattern[class] + blob % channels * side * side;
			double x = random_uniform(random) * side, y = random_uniform(random) * side;
			double width = side * (0.08 + 0.10 * random_uniform(random));

			for (int i = 0; i < side * side; i++) {
				double dx = i % side - x, dy = i / side - y;

				plane[i] += (float)exp(-(dx * dx + dy * dy) / (2 * width * width));
			}
		}
}

static void draw_image(int class, uint64_t *random, uint8_t *image)
{
	int dx = (int)(random_uniform(random) * (2 * MAX_SHIFT + 1)) - MAX_SHIFT;
	int dy = (int)(random_uniform(random) * (2 * MAX_SHIFT + 1)) - MAX_SHIFT;

	for (int c = 0; c < channels; c++)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < side; x++) {
				int from =
					(c * side + (y + dy + side) % side) * side + (x + dx + side) % side;
				double value = 200 * pattern[class][from] + 40 * random_uniform(random);

				*image++ = (uint8_t)(value > 255 ? 255 : value);
			}
}

static FILE *create(const char *name)
{
	char path[4096];
	FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (!file)
		err(1, "%s", path);
	return file;
}

static void finish(FILE *file, const char *name)
{
	int failed = ferror(file);

	if (fclose(file) || failed)
		err(1, "%s/%s", folder, name);
}

static void put_number(FILE *file, unsigned value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		putc((int)(value >> shift & 0xff), file);
}

static void write_idx(const char *images_name, const char *labels_name, int count, uint64_t *random)
{
	FILE *images = create(images_name), *labels = create(labels_name);
	uint8_t image[MAX_IMAGE];

	put_number(images, 0x803);
	put_number(images, (unsigned)count);
	put_number(images, (unsigned)side);
	put_number(images, (unsigned)side);
	put_number(labels, 0x801);
	put_number(labels, (unsigned)count);
	for (int i = 0; i < count; i++) {
		int class = (int)(random_uniform(random) * CLASSES);

		draw_image(class, random, image);
		fwrite(image, 1, (size_t)(side * side), images);
		putc(class, labels);
	}
	finish(images, images_name);
	finish(labels, labels_name);
}

static void write_cifar(const char *name, int count, uint64_t *random)
{
	FILE *file = create(name);
	uint8_t image[MAX_IMAGE];

	for (int i = 0; i < count; i++) {
		int class = (int)(random_uniform(random) * CLASSES);

		draw_image(class, random, image);
		putc(class, file);
		fwrite(image, 1, (size_t)(channels * side * side), file);
	}
	finish(file, name);
}

int main(int argc, char **argv)
{
	static const struct option_section sections[] = {{"OPTIONS", rows}, {NULL, NULL}};
	uint64_t random = 0;

	options_parse(argc, argv,
		"mkdata - write a small learnable data set in MNIST's or CIFAR-10's files\n"
		"Ten classes of smooth patterns with noise and shifts. The trainers learn them within an "
		"epoch or two; the published data sets have the same file names and can be put in their "
		"place.",
		sections, "EXIT STATUS\n       0 done, 1 a file could not be written, 2 wrong usage.\n");
	if (!folder)
		errx(2, "--out: the folder to write to is missing");
	mkdir(folder, 0777);
	random = (uint64_t)seed;
	channels = cifar ? 3 : 1;
	side = cifar ? 32 : 28;
	draw_patterns(&random);
	if (!cifar) {
		write_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", train_count, &random);
		write_idx("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", test_count, &random);
		return 0;
	}
	for (int i = 0; i < CIFAR_FILES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "data_batch_%d.bin", i + 1);
		write_cifar(
			name, (i + 1) * train_count / CIFAR_FILES - i * train_count / CIFAR_FILES, &random);
	}
	write_cifar("test_batch.bin", test_count, &random);
	return 0;
}
