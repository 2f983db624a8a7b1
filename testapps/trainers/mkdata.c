/*
 * mkdata: writes a small learnable data set in the exact files of MNIST or CIFAR-10, so that the trainers run
 * without a download and the real files can take its place; or in the raw files that data.h describes. A
 * class is a smooth pattern (a few Gaussian blobs, drawn from the class number and the seed); an image or a
 * volume is its class's pattern, shifted by up to two pixels, and noise.
 */
#include "options.h"
#include "random.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PATTERNS = 10, BLOBS = 6, MAX_SHIFT = 2, CIFAR_FILES = 5, RAW_BYTES = 1, RAW_FLOATS = 2 };

enum set { MNIST, CIFAR10, IMAGENET, HIGHRES, VOLUMES };

/* What the sets' samples are. Volumes have depth, and the side that --side gives. */
static const struct {
	int channels, side, classes;
} sets[] = {
	[MNIST] = {1, 28, 10},
	[CIFAR10] = {3, 32, 10},
	[IMAGENET] = {3, 224, 1000},
	[HIGHRES] = {3, 512, 1000},
	[VOLUMES] = {1, 0, 2},
};

static int set, train_count = 6000, test_count = 1000, seed = 1, volume_side = 24, bytes;
static const char *folder;
static int channels, depth, side, patterns;
static size_t numbers; /* of a sample */
static float *pattern[PATTERNS];

static const struct option_setting rows[] = {
	{OPTION_CHOICE, "dataset", "mnist|cifar10|imagenet|highres|volumes", &set, 0, 0,
		"format: MNIST (28x28, four IDX files; also right for fashion), CIFAR-10 (3x32x32, "
		"binary files), or train.raw and test.raw with images of 3x224x224 or 3x512x512, of the first "
		"ten of 1000 classes, or with volumes of two classes"},
	{OPTION_PATH, "out", "DIR", &folder, 0, 0, "output folder, created if missing"},
	{OPTION_INT, "train", "N", &train_count, CIFAR_FILES, 1000000, "training images"},
	{OPTION_INT, "test", "N", &test_count, 1, 1000000, "test images"},
	{OPTION_INT, "side", "N", &volume_side, 8, 256, "side of a volume"},
	{OPTION_FLAG, "bytes", NULL, &bytes, 0, 0, "volumes of bytes instead of floats"},
	{OPTION_INT, "seed", "N", &seed, 0, 1000000000, "random seed of patterns and noise"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static void draw_blob(float *volume, uint64_t *random)
{
	double x = random_uniform(random) * side, y = random_uniform(random) * side;
	double width = side * (0.08 + 0.10 * random_uniform(random));
	double z = depth > 1 ? random_uniform(random) * depth : 0;

	for (int i = 0; i < depth * side * side; i++) {
		double dx = i % side - x, dy = i / side % side - y, dz = i / (side * side) - z;

		volume[i] += (float)exp(-(dx * dx + dy * dy + dz * dz) / (2 * width * width));
	}
}

static void draw_patterns(uint64_t *random)
{
	for (int class = 0; class < patterns; class ++) {
		pattern[class] = calloc(numbers, sizeof(float));
		if (!pattern[class])
			err(1, "%zu numbers of memory", numbers);
		for (int blob = 0; blob < BLOBS * channels; blob++)
			draw_blob(pattern[class] + blob % channels * depth * side * side, random);
	}
}

static int shift(uint64_t *random)
{
	return (int)(random_uniform(random) * (2 * MAX_SHIFT + 1)) - MAX_SHIFT;
}

/* A sample of a class, from 0 to 255. */
static void draw_image(int class, uint64_t *random, double *image)
{
	int dx = shift(random), dy = shift(random), dz = depth > 1 ? shift(random) : 0;

	for (int plane = 0; plane < channels * depth; plane++)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < side; x++) {
				int from_plane = plane / depth * depth + (plane + dz + depth) % depth;
				int from = (from_plane * side + (y + dy + side) % side) * side +
					   (x + dx + side) % side;
				double value =
					(double)(200 * pattern[class][from]) + 40 * random_uniform(random);

				*image++ = value > 255 ? 255 : value;
			}
}

/* The same as a file has it. */
static void write_image(FILE *file, int class, uint64_t *random, int as)
{
	double *image = malloc(numbers * sizeof(*image));

	if (!image)
		err(1, "%zu numbers of memory", numbers);
	draw_image(class, random, image);
	for (size_t i = 0; i < numbers; i++) {
		float number = (float)(image[i] / 255);

		if (as == RAW_BYTES)
			putc((uint8_t)image[i], file);
		else
			fwrite(&number, sizeof(number), 1, file);
	}
	free(image);
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

	put_number(images, 0x803);
	put_number(images, (unsigned)count);
	put_number(images, (unsigned)side);
	put_number(images, (unsigned)side);
	put_number(labels, 0x801);
	put_number(labels, (unsigned)count);
	for (int i = 0; i < count; i++) {
		int class = (int)(random_uniform(random) * patterns);

		write_image(images, class, random, RAW_BYTES);
		putc(class, labels);
	}
	finish(images, images_name);
	finish(labels, labels_name);
}

static void write_cifar(const char *name, int count, uint64_t *random)
{
	FILE *file = create(name);

	for (int i = 0; i < count; i++) {
		int class = (int)(random_uniform(random) * patterns);

		putc(class, file);
		write_image(file, class, random, RAW_BYTES);
	}
	finish(file, name);
}

static void put_little(FILE *file, unsigned value, int size)
{
	for (int shifted = 0; shifted < 8 * size; shifted += 8)
		putc((int)(value >> shifted & 0xff), file);
}

static void write_raw(const char *name, int count, uint64_t *random)
{
	const int as = set == VOLUMES && !bytes ? RAW_FLOATS : RAW_BYTES;
	const int fields[] = {as, count, sets[set].classes, channels, depth, side, side, 0};
	FILE *file = create(name);
	int *labels = calloc((size_t)count, sizeof(*labels));

	if (!labels)
		err(1, "%d numbers of memory", count);
	fputs("RAWDATA1", file);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		put_little(file, (unsigned)fields[i], 4);
	for (int i = 0; i < count; i++) {
		labels[i] = (int)(random_uniform(random) * patterns);
		put_little(file, (unsigned)labels[i], 2);
	}
	for (int i = 0; i < count; i++)
		write_image(file, labels[i], random, as);
	free(labels);
	finish(file, name);
}

static void write_files(uint64_t *random)
{
	if (set == MNIST) {
		write_idx("train-images-idx3-ubyte", "train-labels-idx1-ubyte", train_count, random);
		write_idx("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", test_count, random);
	} else if (set == CIFAR10) {
		for (int i = 0; i < CIFAR_FILES; i++) {
			char name[32];

			snprintf(name, sizeof(name), "data_batch_%d.bin", i + 1);
			write_cifar(name, (i + 1) * train_count / CIFAR_FILES - i * train_count / CIFAR_FILES,
				random);
		}
		write_cifar("test_batch.bin", test_count, random);
	} else {
		write_raw("train.raw", train_count, random);
		write_raw("test.raw", test_count, random);
	}
}

int main(int argc, char **argv)
{
	static const struct option_section sections[] = {{"OPTIONS", rows}, {NULL, NULL}};
	uint64_t random = 0;

	options_parse(argc, argv,
		"mkdata - write a small learnable data set in the trainers' files\n"
		"Ten classes (volumes: two) of smooth patterns with noise and shifts. The trainers learn them "
		"within an epoch or two; the published data sets of MNIST and CIFAR-10 have the same file names "
		"and can be put in their place.",
		sections,
		"FILES\n"
		"       train.raw and test.raw, all little-endian: the characters RAWDATA1; eight numbers of four\n"
		"       bytes: 1 for bytes or 2 for floats, samples, classes, channels, depth (1: images), height,\n"
		"       width, 0; a label of two bytes per sample; the samples, channels x depth x height x width\n"
		"       numbers each.\n"
		"\n"
		"EXIT STATUS\n"
		"       0 success, 1 a file could not be written, 2 usage error.\n");
	if (!folder)
		errx(2, "--out is required");
	mkdir(folder, 0777);
	random = (uint64_t)seed;
	channels = sets[set].channels;
	side = set == VOLUMES ? volume_side : sets[set].side;
	depth = set == VOLUMES ? side : 1;
	patterns = sets[set].classes < PATTERNS ? sets[set].classes : PATTERNS;
	numbers = (size_t)channels * (size_t)depth * (size_t)side * (size_t)side;
	draw_patterns(&random);
	write_files(&random);
	for (int class = 0; class < patterns; class ++)
		free(pattern[class]);
	return 0;
}
