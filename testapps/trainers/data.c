/*
 * Readers of MNIST (IDX), CIFAR-10 (binary) and raw files: see data.h.
 *
 * IDX: big-endian magic 0x00000803 and three sizes before images of one byte a pixel, 0x00000801 and one size
 * before labels of one byte. CIFAR-10: records of one label byte and 3x32x32 bytes, no header.
 */
#include "data.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random.h"

enum { IDX_IMAGES = 0x803, IDX_LABELS = 0x801, IMAGE_HEADER = 16, LABEL_HEADER = 8 };
enum { RAW_HEADER = 40, RAW_LABEL = 2, RAW_FIELDS = 7, MAX_SIDE = 4096, MAX_CLASSES = 65536 };

__attribute__((format(printf, 2, 3))) static int fail(struct data *d, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(d->error, sizeof(d->error), format, arguments);
	va_end(arguments);
	return -1;
}

static int is_raw(const struct data *d)
{
	return d->set >= DATA_IMAGENET;
}

static size_t numbers(const struct data *d)
{
	return (size_t)d->channels * (size_t)d->depth * (size_t)d->height * (size_t)d->width;
}

static size_t image_size(const struct data *d)
{
	return numbers(d) * (size_t)d->number_size;
}

static size_t record_size(const struct data *d)
{
	return image_size(d) + (d->set == DATA_CIFAR10 ? 1 : 0);
}

size_t data_raw_size(const struct data *d, int count)
{
	return (size_t)count * (image_size(d) + (is_raw(d) ? RAW_LABEL : 1));
}

/* Reads exactly size bytes at an offset. */
static int read_at(struct data *d, const struct data_file *f, uint8_t *to, size_t size, size_t offset)
{
	while (size) {
		ssize_t got = pread(f->fd, to, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(d, "%s: byte %zu: %s", f->path, offset, strerror(errno));
		if (got == 0)
			return fail(d, "%s: byte %zu: truncated file, %zu more bytes expected", f->path,
				offset, size);
		to += got;
		size -= (size_t)got;
		offset += (size_t)got;
	}
	return 0;
}

static int open_file(struct data *d, struct data_file *f, const char *folder, const char *name, size_t *size)
{
	struct stat st;

	snprintf(f->path, sizeof(f->path), "%s/%s", folder, name);
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return fail(d, "%s: %s", f->path, strerror(errno));
	*size = (size_t)st.st_size;
	return 0;
}

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Opens an IDX file and reads its sizes, of which there are `dims`. */
static int open_idx(struct data *d, struct data_file *f, const char *folder, const char *name, uint32_t magic,
	int dims, int *sizes)
{
	uint8_t header[IMAGE_HEADER];
	size_t size = 0, expected = 1, header_size = 4 + 4 * (size_t)dims;

	if (open_file(d, f, folder, name, &size) || read_at(d, f, header, header_size, 0))
		return -1;
	if (big_endian(header) != magic)
		return fail(
			d, "%s: byte 0: 0x%08x found, 0x%08x expected", f->path, big_endian(header), magic);
	for (int i = 0; i < dims; i++) {
		uint32_t n = big_endian(header + 4 + 4 * i);

		if (n == 0 || n > 100000000 || (i > 0 && n > 4096))
			return fail(d, "%s: byte %d: unsupported size %u", f->path, 4 + 4 * i, n);
		sizes[i] = (int)n;
		expected *= n;
	}
	expected += header_size;
	if (size != expected)
		return fail(d, "%s: byte %zu: truncated file, %zu bytes expected", f->path, size, expected);
	f->count = sizes[0];
	return 0;
}

static int open_mnist(struct data *d, const char *folder, const char *prefix)
{
	char name[64];
	int sizes[3], label_count;

	snprintf(name, sizeof(name), "%s-images-idx3-ubyte", prefix);
	if (open_idx(d, &d->image[0], folder, name, IDX_IMAGES, 3, sizes))
		return -1;
	snprintf(name, sizeof(name), "%s-labels-idx1-ubyte", prefix);
	if (open_idx(d, &d->label, folder, name, IDX_LABELS, 1, &label_count))
		return -1;
	if (label_count != sizes[0])
		return fail(
			d, "%s: byte 4: %d labels found, %d expected", d->label.path, label_count, sizes[0]);
	d->channels = 1;
	d->height = sizes[1];
	d->width = sizes[2];
	d->count = sizes[0];
	d->file_count = 1;
	return 0;
}

static int open_cifar(struct data *d, const char *folder, int is_test)
{
	d->channels = 3;
	d->height = d->width = 32;
	for (int i = 0; i < (is_test ? 1 : DATA_MAX_FILES); i++) {
		struct data_file *f = &d->image[i];
		char name[32] = "test_batch.bin";
		size_t size = 0;

		if (!is_test)
			snprintf(name, sizeof(name), "data_batch_%d.bin", i + 1);
		if (open_file(d, f, folder, name, &size)) {
			if (i > 0 && errno == ENOENT)
				break;
			return -1;
		}
		if (size == 0 || size % record_size(d))
			return fail(d, "%s: byte %zu: truncated file, inside a record of %zu bytes", f->path,
				size, record_size(d));
		f->first = d->count;
		f->count = (int)(size / record_size(d));
		d->count += f->count;
		d->file_count = i + 1;
	}
	return 0;
}

static uint32_t little_endian(const uint8_t *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Where a raw file's samples begin. */
static size_t raw_samples(const struct data *d)
{
	return RAW_HEADER + (size_t)d->count * RAW_LABEL;
}

/* The sentence if the sizes are not those that the set's name promises. */
static int check_sides(struct data *d, const struct data_file *f)
{
	const int side = d->set == DATA_IMAGENET ? 224 : 512;

	if (d->set == DATA_VOLUMES && d->depth > 1)
		return 0;
	if (d->set == DATA_VOLUMES)
		return fail(d, "%s: byte 24: images found, volumes (a depth of 2 or more) expected", f->path);
	if (d->channels == 3 && d->depth == 1 && d->height == side && d->width == side && d->number_size == 1)
		return 0;
	return fail(d, "%s: byte 8: samples of %dx%dx%dx%d found, 3x1x%dx%d of bytes expected", f->path,
		d->channels, d->depth, d->height, d->width, side, side);
}

static int open_raw(struct data *d, const char *folder, int is_test)
{
	struct data_file *f = &d->image[0];
	static const uint32_t most[RAW_FIELDS] = {
		2, 100000000, MAX_CLASSES, MAX_SIDE, MAX_SIDE, MAX_SIDE, MAX_SIDE};
	uint8_t header[RAW_HEADER];
	uint32_t field[RAW_FIELDS];
	size_t size = 0, expected = 0;

	if (open_file(d, f, folder, is_test ? "test.raw" : "train.raw", &size) ||
		read_at(d, f, header, RAW_HEADER, 0))
		return -1;
	if (memcmp(header, "RAWDATA1", 8) != 0)
		return fail(d, "%s: byte 0: not a raw file, RAWDATA1 expected", f->path);
	for (int i = 0; i < RAW_FIELDS; i++) {
		field[i] = little_endian(header + 8 + 4 * i);
		if (field[i] == 0 || field[i] > most[i])
			return fail(d, "%s: byte %d: %u found, 1 to %u expected", f->path, 8 + 4 * i,
				field[i], most[i]);
	}
	d->number_size = field[0] == 2 ? 4 : 1;
	d->count = f->count = (int)field[1];
	d->classes = (int)field[2];
	d->channels = (int)field[3];
	d->depth = (int)field[4];
	d->height = (int)field[5];
	d->width = (int)field[6];
	d->file_count = 1;
	if (numbers(d) > INT32_MAX)
		return fail(d, "%s: byte 20: samples of %zu numbers, at most %d expected", f->path,
			numbers(d), INT32_MAX);
	expected = raw_samples(d) + (size_t)d->count * image_size(d);
	if (size != expected)
		return fail(d, "%s: byte %zu: truncated file, %zu bytes expected", f->path, size, expected);
	return check_sides(d, f);
}

static void begin(struct data *d, enum data_set set)
{
	memset(d, 0, sizeof(*d));
	d->set = set;
	d->classes = 10;
	d->depth = 1;
	d->number_size = 1;
	d->label.fd = -1;
	for (int i = 0; i < DATA_MAX_FILES; i++)
		d->image[i].fd = -1;
}

int data_open(struct data *d, enum data_set set, const char *folder, int is_test)
{
	begin(d, set);
	if (is_raw(d))
		return open_raw(d, folder, is_test);
	if (set == DATA_CIFAR10)
		return open_cifar(d, folder, is_test);
	return open_mnist(d, folder, is_test ? "t10k" : "train");
}

void data_synthetic(struct data *d, enum data_set set, int is_test)
{
	static const struct {
		int train, test, classes, channels, depth, side, number_size;
	} published[] = {
		[DATA_MNIST] = {60000, 10000, 10, 1, 1, 28, 1},
		[DATA_FASHION] = {60000, 10000, 10, 1, 1, 28, 1},
		[DATA_CIFAR10] = {50000, 10000, 10, 3, 1, 32, 1},
		[DATA_IMAGENET] = {1281167, 50000, 1000, 3, 1, 224, 1},
		[DATA_HIGHRES] = {1281167, 50000, 1000, 3, 1, 512, 1},
		[DATA_VOLUMES] = {1000, 1000, 2, 1, 64, 64, 4},
	};

	begin(d, set);
	d->is_synthetic = 1;
	d->count = is_test ? published[set].test : published[set].train;
	d->classes = published[set].classes;
	d->channels = published[set].channels;
	d->depth = published[set].depth;
	d->height = d->width = published[set].side;
	d->number_size = published[set].number_size;
}

void data_close(struct data *d)
{
	for (int i = 0; i < DATA_MAX_FILES; i++)
		if (d->image[i].fd >= 0)
			close(d->image[i].fd);
	if (d->label.fd >= 0)
		close(d->label.fd);
}

/* Samples in [0,1) and labels, the same whichever samples are asked for. */
static void make(const struct data *d, int count, uint8_t *raw)
{
	uint64_t random = 1;
	size_t stride = record_size(d), label = 0;

	for (size_t i = 0; i < (size_t)count * stride; i += (size_t)d->number_size) {
		float number = (float)random_uniform(&random);

		raw[i] = (uint8_t)(256 * number);
		if (d->number_size == sizeof(number))
			memcpy(raw + i, &number, sizeof(number));
	}
	for (size_t i = 0; i < (size_t)count; i++) {
		label = (size_t)(random_uniform(&random) * d->classes);
		if (d->set == DATA_CIFAR10) {
			raw[i * stride] = (uint8_t)label;
		} else if (is_raw(d)) {
			raw[(size_t)count * stride + i * RAW_LABEL] = (uint8_t)(label & 0xff);
			raw[(size_t)count * stride + i * RAW_LABEL + 1] = (uint8_t)(label >> 8);
		} else {
			raw[(size_t)count * stride + i] = (uint8_t)label;
		}
	}
}

/* Samples, then labels, from where they lie in a file each or in one. */
static int read_both(struct data *d, int first, int count, uint8_t *raw)
{
	size_t size = image_size(d), label_size = is_raw(d) ? RAW_LABEL : 1;
	size_t samples = is_raw(d) ? raw_samples(d) : IMAGE_HEADER;
	size_t labels = is_raw(d) ? RAW_HEADER : LABEL_HEADER;
	const struct data_file *label = is_raw(d) ? &d->image[0] : &d->label;

	if (read_at(d, &d->image[0], raw, (size_t)count * size, samples + (size_t)first * size))
		return -1;
	return read_at(d, label, raw + (size_t)count * size, (size_t)count * label_size,
		labels + (size_t)first * label_size);
}

int data_read(struct data *d, int first, int count, uint8_t *raw)
{
	size_t size = record_size(d);

	if (d->is_synthetic) {
		make(d, count, raw);
		return 0;
	}
	if (d->set != DATA_CIFAR10)
		return read_both(d, first, count, raw);
	for (int i = 0; i < d->file_count && count > 0; i++) {
		const struct data_file *f = &d->image[i];
		int start = first - f->first;
		int here = f->count - start < count ? f->count - start : count;

		if (start < 0 || here <= 0)
			continue;
		if (read_at(d, f, raw, (size_t)here * size, (size_t)start * size))
			return -1;
		raw += (size_t)here * size;
		first += here;
		count -= here;
	}
	return 0;
}

/* Names the file and the byte of an image's label in an error. */
static int bad_label(struct data *d, int image, int label)
{
	const struct data_file *f = is_raw(d) ? &d->image[0] : &d->label;
	size_t byte = is_raw(d) ? RAW_HEADER + (size_t)image * RAW_LABEL : LABEL_HEADER + (size_t)image;

	for (int i = 0; d->set == DATA_CIFAR10 && i < d->file_count; i++)
		if (image >= d->image[i].first) {
			f = &d->image[i];
			byte = (size_t)(image - f->first) * record_size(d);
		}
	return fail(
		d, "%s: byte %zu: label %d found, 0 to %d expected", f->path, byte, label, d->classes - 1);
}

static int decode_floats(struct data *d, int image, const uint8_t *raw, float *pixels)
{
	const size_t count = numbers(d);

	memcpy(pixels, raw, count * sizeof(float));
	for (size_t k = 0; k < count; k++)
		if (!isfinite(pixels[k]))
			return fail(d, "%s: byte %zu: %g found, a number expected", d->image[0].path,
				raw_samples(d) + ((size_t)image * count + k) * sizeof(float),
				(double)pixels[k]);
	return 0;
}

static int label_of(const struct data *d, int count, const uint8_t *raw, int i)
{
	const uint8_t *labels = raw + (size_t)count * image_size(d);

	if (d->set == DATA_CIFAR10)
		return raw[(size_t)i * record_size(d)];
	if (is_raw(d))
		return labels[RAW_LABEL * i] | labels[RAW_LABEL * i + 1] << 8;
	return labels[i];
}

int data_decode(struct data *d, int first, int count, const uint8_t *raw, float *pixels, float *labels)
{
	size_t size = numbers(d), stride = record_size(d);
	const uint8_t *image = raw + (stride - image_size(d));

	for (int i = 0; i < count; i++) {
		int class = label_of(d, count, raw, i);

		if (class >= d->classes)
			return bad_label(d, first + i, class);
		if (d->number_size > 1 &&
			decode_floats(d, first + i, raw + (size_t)i * stride, pixels + (size_t)i * size))
			return -1;
		for (size_t k = 0; d->number_size == 1 && k < size; k++)
			pixels[(size_t)i * size + k] = (float)image[(size_t)i * stride + k] * (1.0f / 255.0f);
		for (int k = 0; labels && k < d->classes; k++)
			labels[(size_t)i * (size_t)d->classes + (size_t)k] = k == class ? 1.0f : 0.0f;
	}
	return 0;
}
