/*
 * Data sets on disk: MNIST's IDX files (Fashion-MNIST has the same) and CIFAR-10's binary files. Nothing is
 * kept in memory: each batch is read from the files when it is asked for, since input time is one of the
 * things that a training run spends.
 */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>

enum data_set { DATA_MNIST, DATA_FASHION, DATA_CIFAR10 };

enum { DATA_MAX_FILES = 5, DATA_CLASSES = 10 };

struct data_file {
	char path[512];
	int fd; /* -1: not open */
	int first, count;
};

struct data {
	enum data_set set;
	int count; /* images */
	int channels, height, width;
	int file_count;
	struct data_file image[DATA_MAX_FILES];
	struct data_file label; /* IDX alone: CIFAR-10 keeps a label before each image */
	char error[768];
};

/*
 * Opens the training files (or the test files) of a set in `folder` and checks them from end to end, but for
 * the labels. Returns 0, or -1 with one sentence in d->error; data_close is right in both cases.
 */
int data_open(struct data *d, enum data_set set, const char *folder, int is_test);
void data_close(struct data *d);

/* Bytes of `count` images as they lie in the files, labels included. */
size_t data_raw_size(const struct data *d, int count);

/*
 * Reads images first ... first+count-1 (all must exist) into `raw`, data_raw_size bytes. Returns 0, or -1
 * with d->error.
 */
int data_read(struct data *d, int first, int count, uint8_t *raw);

/*
 * Turns what data_read read into pixels in [0,1], `count` x channels x height x width, and into one-hot
 * labels, `count` x DATA_CLASSES (NULL: not wanted). Returns 0, or -1 with d->error when a label is none.
 */
int data_decode(struct data *d, int first, int count, const uint8_t *raw, float *pixels, float *labels);

#endif
