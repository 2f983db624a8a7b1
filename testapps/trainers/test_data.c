/*
 * Checks the reader of raw files against files written here byte by byte, and that every truncation and every
 * field that cannot be is refused in one sentence; and synthetic data.
 */
#include "data.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 3, CLASSES = 700, CHANNELS = 2, DEPTH = 2, HEIGHT = 3, WIDTH = 4 };
enum { NUMBERS = CHANNELS * DEPTH * HEIGHT * WIDTH, HEADER = 40, SAMPLES = HEADER + 2 * COUNT };

static char folder[] = "/tmp/test_data.XXXXXX";
static char path[64];
static int failures;

static const unsigned labels[COUNT] = {1, 258, 699};

static float number(int sample, int k)
{
	return (float)sample * 100 - (float)k / 8;
}

static void put(unsigned char *to, unsigned value, int size)
{
	for (int i = 0; i < size; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

/* A good file of volumes; answers its size. kind 1: bytes, 2: floats. */
static size_t make(unsigned char *file, unsigned kind)
{
	const unsigned fields[] = {kind, COUNT, CLASSES, CHANNELS, DEPTH, HEIGHT, WIDTH, 0};
	size_t size = SAMPLES;

	memcpy(file, "RAWDATA1", 8);
	for (int i = 0; i < 8; i++)
		put(file + 8 + 4 * i, fields[i], 4);
	for (int i = 0; i < COUNT; i++)
		put(file + HEADER + 2 * i, labels[i], 2);
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < NUMBERS; k++) {
			float value = number(i, k);
			unsigned bits = 0;

			memcpy(&bits, &value, sizeof(bits));
			if (kind == 2)
				put(file + size, bits, 4);
			else
				file[size] = (unsigned char)(i * NUMBERS + k);
			size += kind == 2 ? 4 : 1;
		}
	return size;
}

static void write_file(const unsigned char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		err(1, "%s", path);
}

static void fail(const char *what, const char *found, const char *expected)
{
	printf("%s: \"%s\", \"%s\" expected\n", what, found, expected);
	failures++;
}

/* Opens, reads and decodes everything; "" or the sentence. */
static const char *use(enum data_set set, struct data *d, float *pixels, float *onehot)
{
	static char error[768];
	unsigned char *raw = NULL;
	int first = 0;

	error[0] = '\0';
	if (data_open(d, set, folder, 0) == 0) {
		raw = calloc(data_raw_size(d, 2), 1);
		if (!raw)
			err(1, "memory");
		for (; first < d->count && !d->error[0]; first += 2) {
			int here = d->count - first < 2 ? d->count - first : 2;

			if (data_read(d, first, here, raw) == 0)
				data_decode(d, first, here, raw, pixels + (size_t)first * NUMBERS,
					onehot + (size_t)first * CLASSES);
		}
		free(raw);
	}
	snprintf(error, sizeof(error), "%s", d->error);
	data_close(d);
	return error;
}

static void check_good(unsigned kind)
{
	static float pixels[COUNT * NUMBERS], onehot[COUNT * CLASSES];
	unsigned char file[4096];
	struct data d;
	const char *error = NULL;

	write_file(file, make(file, kind));
	error = use(DATA_VOLUMES, &d, pixels, onehot);
	if (error[0])
		fail("a good file", error, "");
	if (d.count != COUNT || d.classes != CLASSES || d.channels != CHANNELS || d.depth != DEPTH ||
		d.height != HEIGHT || d.width != WIDTH)
		fail("a good file", "other sizes", "");
	for (int i = 0; i < COUNT; i++) {
		for (int k = 0; k < NUMBERS; k++) {
			double expected = kind == 2 ? (double)number(i, k) : (i * NUMBERS + k) / 255.0;

			if (fabs((double)pixels[i * NUMBERS + k] - expected) > 1e-6)
				fail("a good file", "other numbers", "");
		}
		for (unsigned k = 0; k < CLASSES; k++)
			if (onehot[(unsigned)i * CLASSES + k] != (k == labels[i] ? 1.0f : 0.0f))
				fail("a good file", "other labels", "");
	}
}

/* What one change of a good file of floats leads to. */
static void check_refused(enum data_set set, size_t at, unsigned value, int size, const char *expected)
{
	static float pixels[COUNT * NUMBERS], onehot[COUNT * CLASSES];
	unsigned char file[4096];
	size_t length = make(file, 2);
	struct data d;
	const char *error = NULL;

	put(file + at, value, size);
	write_file(file, length);
	error = use(set, &d, pixels, onehot);
	if (strncmp(error, path, strlen(path)) != 0 || !strstr(error, expected))
		fail("a bad file", error, expected);
}

static void check_bad(void)
{
	static float pixels[COUNT * NUMBERS], onehot[COUNT * CLASSES];
	unsigned char file[4096];
	size_t length = make(file, 2);
	struct data d;

	check_refused(DATA_VOLUMES, 0, 'r', 1, "byte 0: not a raw file, RAWDATA1 expected");
	check_refused(DATA_VOLUMES, 8, 3, 4, "byte 8: 3 found, 1 to 2 expected");
	check_refused(DATA_VOLUMES, 12, 0, 4, "byte 12: 0 found, 1 to 100000000 expected");
	check_refused(DATA_VOLUMES, 12, 4, 4, "truncated file");
	check_refused(DATA_VOLUMES, 12, 100000000, 4, "truncated file");
	check_refused(DATA_VOLUMES, 16, 65537, 4, "byte 16: 65537 found, 1 to 65536 expected");
	check_refused(DATA_VOLUMES, 20, 0xffffffff, 4, "byte 20: 4294967295 found, 1 to 4096 expected");
	check_refused(DATA_VOLUMES, 24, 4097, 4, "byte 24: 4097 found");
	check_refused(DATA_VOLUMES, 28, 0, 4, "byte 28: 0 found");
	check_refused(DATA_VOLUMES, 32, 5000, 4, "byte 32: 5000 found");
	check_refused(DATA_VOLUMES, 8, 1, 4, "truncated file");
	check_refused(DATA_VOLUMES, HEADER + 2, 700, 2, "byte 42: label 700 found, 0 to 699 expected");
	check_refused(DATA_VOLUMES, SAMPLES + 4 * (2 * NUMBERS + 5), 0x7fc00000, 4, "byte 450: nan found");
	check_refused(DATA_IMAGENET, 36, 0, 1, "samples of 2x2x3x4 found, 3x1x224x224 of bytes expected");
	check_refused(DATA_HIGHRES, 36, 0, 1, "samples of 2x2x3x4 found, 3x1x512x512 of bytes expected");
	for (size_t size = 0; size < length; size++) {
		write_file(file, size);
		if (!strstr(use(DATA_VOLUMES, &d, pixels, onehot), "truncated file"))
			fail("a truncated file", d.error, "truncated file");
	}
	/* A depth of one: images where volumes are expected. */
	make(file, 2);
	put(file + 20, 4, 4);
	put(file + 24, 1, 4);
	write_file(file, length);
	if (!strstr(use(DATA_VOLUMES, &d, pixels, onehot), "byte 24: images found"))
		fail("images as volumes", d.error, "byte 24: images found");
	unlink(path);
	if (!strstr(use(DATA_VOLUMES, &d, pixels, onehot), "train.raw: No such file or directory"))
		fail("no file", d.error, "No such file or directory");
}

/* Every set: labels in range, pixels in [0,1], the same at any place and in any run. */
static void check_synthetic(void)
{
	for (int set = DATA_MNIST; set <= DATA_VOLUMES; set++) {
		struct data d;
		unsigned char *raw[2];
		float *pixels = NULL, *onehot = NULL;
		size_t numbers = 0;

		data_synthetic(&d, (enum data_set)set, 0);
		numbers = (size_t)d.channels * (size_t)d.depth * (size_t)d.height * (size_t)d.width;
		pixels = calloc(2 * numbers, sizeof(float));
		onehot = calloc(2 * (size_t)d.classes, sizeof(float));
		for (int i = 0; i < 2; i++) {
			raw[i] = calloc(data_raw_size(&d, 2), 1);
			if (!raw[i] || !pixels || !onehot)
				err(1, "memory");
			data_read(&d, 6 * i, 2, raw[i]);
		}
		if (memcmp(raw[0], raw[1], data_raw_size(&d, 2)) != 0)
			fail("synthetic", "other samples", "the same");
		if (data_decode(&d, 0, 2, raw[0], pixels, onehot))
			fail("synthetic", d.error, "");
		for (size_t k = 0; k < 2 * numbers; k++)
			if (!(pixels[k] >= 0 && pixels[k] <= 1))
				fail("synthetic", "a number outside of 0 to 1", "");
		free(raw[0]);
		free(raw[1]);
		free(pixels);
		free(onehot);
		data_close(&d);
	}
}

int main(void)
{
	if (!mkdtemp(folder))
		err(1, "%s", folder);
	snprintf(path, sizeof(path), "%s/train.raw", folder);
	check_good(1);
	check_good(2);
	check_bad();
	check_synthetic();
	unlink(path);
	rmdir(folder);
	return failures ? 1 : 0;
}
