/*
 * Data sets on disk: MNIST's IDX files (Fashion-MNIST has the same), CIFAR-10's binary files, and raw files
 * of images or volumes. Nothing is kept in memory: each batch is read from the files when it is asked for,
 * since input time is one of the things that a training run spends.
 *
 * A raw file (train.raw, test.raw) has a header of 40 bytes, then a label of two bytes per sample, then the
 * samples, one after the other, each channels x depth x height x width numbers. All is little-endian. The
 * header is the eight characters "RAWDATA1" and eight unsigned numbers of four bytes: what a number is (1: a
 * byte that stands for 0 to 1, 2: a float), samples, classes, channels, depth (1: images), height, width, and
 * 0.
 */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>

enum data_set { DATA_MNIST, DATA_FASHION, DATA_CIFAR10, DATA_IMAGENET, DATA_HIGHRES, DATA_VOLUMES };

/* The names above, as options have them. */
#define DATA_SETS "mnist|fashion|cifar10|imagenet|highres|volumes"

enum { DATA_MAX_FILES = 5 };

struct data_file {
	char path[512];
	int fd; /* -1: not open */
	int first, count;
};

struct data {
	enum data_set set;
	int count; /* images or volumes */
	int classes;
	int channels, depth, height, width;
	int number_size;  /* bytes: 1, or 4 for floats */
	int is_synthetic; /* there are no files */
	int file_count;
	struct data_file image[DATA_MAX_FILES];
	struct data_file label; /* IDX alone: the others keep labels and images in one file */
	char error[768];
};

/*
 * Opens the training files (or the test files) of a set in `folder` and checks them from end to end, but for
 * the labels. Returns 0, or -1 with one sentence in d->error; data_close is right in both cases.
 */
int data_open(struct data *d, enum data_set set, const char *folder, int is_test);
void data_close(struct data *d);

/*
 * The same without files: as many samples as the published set has, all drawn at random from one seed and
 * nothing to learn from. Volumes: 1000 of 64x64x64 and two classes.
 */
void data_synthetic(struct data *d, enum data_set set, int is_test);

/* Bytes of `count` images as they lie in the files, labels included. */
size_t data_raw_size(const struct data *d, int count);

/*
 * Reads images first ... first+count-1 (all must exist) into `raw`, data_raw_size bytes. Returns 0, or -1
 * with d->error.
 */
int data_read(struct data *d, int first, int count, uint8_t *raw);

/*
 * Turns what data_read read into pixels, `count` x channels x depth x height x width, bytes in [0,1] and
 * floats as they are, and into one-hot labels, `count` x classes (NULL: not wanted). Returns 0, or -1 with
 * d->error when a label or a float is none.
 */
int data_decode(struct data *d, int first, int count, const uint8_t *raw, float *pixels, float *labels);

#endif
