/*
 * Readers of MNIST (IDX) and CIFAR-10 (binary) files: see data.h.
 *
 * IDX: big-endian magic 0x00000803 and three sizes before images of one byte a pixel, 0x00000801 and one size
 * before labels of one byte. CIFAR-10: records of one label byte and 3x32x32 bytes, no header.
 */
#include "data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IDX_IMAGES = 0x803, IDX_LABELS = 0x801, IMAGE_HEADER = 16, LABEL_HEADER = 8 };

__attribute__((format(printf, 2, 3))) static int fail(struct data *d, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(d->error, sizeof(d->error), format, arguments);
	va_end(arguments);
	return -1;
}

static size_t image_size(const struct data *d)
{
	return (size_t)d->channels * (size_t)d->height * (size_t)d->width;
}

static size_t record_size(const struct data *d)
{
	return image_size(d) + (d->set == DATA_CIFAR10 ? 1 : 0);
}

size_t data_raw_size(const struct data *d, int count)
{
	return (size_t)count * (image_size(d) + 1);
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
			return fail(d, "%s: byte %zu: the file ends here, %zu bytes more expected", f->path,
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
			return fail(d, "%s: byte %d: a size of %u is not usable", f->path, 4 + 4 * i, n);
		sizes[i] = (int)n;
		expected *= n;
	}
	expected += header_size;
	if (size != expected)
		return fail(
			d, "%s: byte %zu: the file ends here, %zu bytes expected", f->path, size, expected);
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
			return fail(d, "%s: byte %zu: the file ends here, inside a record of %zu bytes",
				f->path, size, record_size(d));
		f->first = d->count;
		f->count = (int)(size / record_size(d));
		d->count += f->count;
		d->file_count = i + 1;
	}
	return 0;
}

int data_open(struct data *d, enum data_set set, const char *folder, int is_test)
{
	memset(d, 0, sizeof(*d));
	d->set = set;
	d->label.fd = -1;
	for (int i = 0; i < DATA_MAX_FILES; i++)
		d->image[i].fd = -1;
	if (set == DATA_CIFAR10)
		return open_cifar(d, folder, is_test);
	return open_mnist(d, folder, is_test ? "t10k" : "train");
}

void data_close(struct data *d)
{
	for (int i = 0; i < DATA_MAX_FILES; i++)
		if (d->image[i].fd >= 0)
			close(d->image[i].fd);
	if (d->label.fd >= 0)
		close(d->label.fd);
}

int data_read(struct data *d, int first, int count, uint8_t *raw)
{
	size_t size = record_size(d);

	if (d->set != DATA_CIFAR10)
		return read_at(d, &d->image[0], raw, (size_t)count * size,
			       IMAGE_HEADER + (size_t)first * size) ||
				       read_at(d, &d->label, raw + (size_t)count * size, (size_t)count,
					       LABEL_HEADER + (size_t)first)
			       ? -1
			       : 0;
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
	const struct data_file *f = &d->label;
	size_t byte = LABEL_HEADER + (size_t)image;

	for (int i = 0; d->set == DATA_CIFAR10 && i < d->file_count; i++)
		if (image >= d->image[i].first) {
			f = &d->image[i];
			byte = (size_t)(image - f->first) * record_size(d);
		}
	return fail(
		d, "%s: byte %zu: label %d found, 0 to %d expected", f->path, byte, label, DATA_CLASSES - 1);
}

int data_decode(struct data *d, int first, int count, const uint8_t *raw, float *pixels, float *labels)
{
	size_t size = image_size(d), stride = record_size(d);
	const uint8_t *label = d->set == DATA_CIFAR10 ? raw : raw + (size_t)count * size;
	const uint8_t *image = raw + (stride - size);

	for (int i = 0; i < count; i++) {
		int class = d->set == DATA_CIFAR10 ? label[(size_t)i * stride] : label[i];

		if (class >= DATA_CLASSES)
			return bad_label(d, first + i, class);
		for (size_t k = 0; k < size; k++)
			pixels[(size_t)i * size + k] = (float)image[(size_t)i * stride + k] * (1.0f / 255.0f);
		for (int k = 0; labels && k < DATA_CLASSES; k++)
			labels[i * DATA_CLASSES + k] = k == class ? 1.0f : 0.0f;
	}
	return 0;
}
