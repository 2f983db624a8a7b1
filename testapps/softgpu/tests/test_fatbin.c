/*
 * The reader of images on one that nvcc has made: the same kernels from each way to pack them, LZ4 made here
 * among them; and whatever is cut off or changed, nothing beyond the end is read. Usage: test_fatbin FATBIN
 */
#include "calls/fatbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_LZ4 0x2000u

static int failures;

struct seen {
	size_t kernels, params, variables;
	uint64_t sum;
};

static void take(void *data, const char *name, const struct sg_param *params, size_t count)
{
	struct seen *seen = data;

	seen->kernels++;
	for (; *name != 0; name++)
		seen->sum += (unsigned char)*name;
	for (size_t i = 0; i < count; i++, seen->params++)
		seen->sum = seen->sum * 31 + params[i].offset + 65536u * params[i].size_bytes;
}

/* params.cu has two. All of what is said to be there is read. */
static void take_variable(void *data, const char *name, const void *content, size_t size_bytes)
{
	static const int digits[] = {3, 1, 4};
	struct seen *seen = data;

	if (strcmp(name, "first_digits") == 0 && size_bytes == sizeof(digits) && content != NULL)
		seen->variables += memcmp(content, digits, sizeof(digits)) == 0;
	else if (strcmp(name, "zeros") == 0 && size_bytes == 1000 && content == NULL)
		seen->variables++;
	for (size_t i = 0; content != NULL && i < size_bytes; i++)
		seen->sum = seen->sum * 31 + ((const unsigned char *)content)[i];
}

static struct seen look(const unsigned char *image, size_t size_bytes)
{
	struct seen seen = {0, 0, 0, 0};

	sg_image_read(image, size_bytes, 90, take, take_variable, &seen);
	return seen;
}

/* From a block of its own size, so that a sanitizer sees a step beyond it. */
static void look_at_copy(const unsigned char *image, size_t size_bytes)
{
	unsigned char *copy = malloc(size_bytes != 0 ? size_bytes : 1);

	if (copy == NULL)
		exit(1);
	memcpy(copy, image, size_bytes);
	look(copy, size_bytes);
	free(copy);
}

static unsigned char *put_length(unsigned char *to, size_t length)
{
	if (length < 15)
		return to;
	for (length -= 15; length >= 255; length -= 255)
		*to++ = 255;
	*to++ = (unsigned char)length;
	return to;
}

/* Literals, and matches of distance 1 for runs of a byte. */
static size_t pack(unsigned char *to, const unsigned char *from, size_t count)
{
	unsigned char *start = to;
	size_t begin = 0, at = 1;

	while (begin < count) {
		size_t literals, run = 0;

		for (; at < count; at++) {
			for (run = 0; at + run < count && from[at + run] == from[at - 1]; run++)
				;
			if (run >= 8 && at + run + 8 < count)
				break;
			run = 0;
		}
		literals = at - begin;
		*to++ = (unsigned char)((literals < 15 ? literals : 15) << 4 |
					(run == 0              ? 0
						: run - 4 < 15 ? run - 4
							       : 15));
		to = put_length(to, literals);
		memcpy(to, from + begin, literals);
		to += literals;
		if (run == 0)
			break;
		*to++ = 1;
		*to++ = 0;
		to = put_length(to, run - 4);
		begin = at + run;
		at = begin + 1;
	}
	return (size_t)(to - start);
}

/* The same fatbin with the cubins that are not packed in LZ4 blocks. */
static size_t repack(unsigned char *to, const unsigned char *from, size_t size_bytes)
{
	size_t at = 16, out = 16;

	memcpy(to, from, 16);
	while (at + 64 <= size_bytes) {
		uint32_t header_bytes;
		uint64_t payload_bytes, flags, packed;
		uint32_t packed_32;

		memcpy(&header_bytes, from + at + 4, 4);
		memcpy(&payload_bytes, from + at + 8, 8);
		memcpy(&flags, from + at + 40, 8);
		memcpy(to + out, from + at, header_bytes);
		packed = pack(to + out + header_bytes, from + at + header_bytes, payload_bytes);
		packed_32 = (uint32_t)packed;
		flags |= FLAG_LZ4;
		memcpy(to + out + 16, &packed_32, 4);
		memcpy(to + out + 40, &flags, 8);
		memcpy(to + out + 56, &payload_bytes, 8);
		packed = (packed + 7) & ~(uint64_t)7;
		memcpy(to + out + 8, &packed, 8);
		at += header_bytes + payload_bytes;
		out += header_bytes + packed;
	}
	out -= 16;
	memcpy(to + 8, &out, 8);
	return out + 16;
}

static void damage(unsigned char *image, size_t size_bytes)
{
	uint64_t random = 88172645463325252u;

	for (size_t cut = 0; cut < size_bytes; cut += cut < 512 ? 1 : 61)
		look_at_copy(image, cut);
	for (int i = 0; i < 4000; i++) {
		unsigned char old[4];
		size_t at[4];

		for (int k = 0; k < 4; k++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			/* every second time where the headers are */
			at[k] = (size_t)(random >> 20) % (i % 2 == 0 ? size_bytes : 192);
			old[k] = image[at[k]];
			image[at[k]] = (unsigned char)random;
		}
		look_at_copy(image, size_bytes);
		for (int k = 3; k >= 0; k--)
			image[at[k]] = old[k];
	}
}

static void expect(const char *what, struct seen seen, struct seen wanted)
{
	if (seen.kernels == wanted.kernels && seen.params == wanted.params && seen.sum == wanted.sum)
		return;
	failures++;
	printf("%s: %zu kernels with %zu parameters, not %zu with %zu\n", what, seen.kernels, seen.params,
		wanted.kernels, wanted.params);
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	static unsigned char image[1 << 20], other[2 << 20];
	size_t size_bytes, other_bytes;
	uint16_t kind = 0;
	uint64_t flags;
	struct seen seen;

	if (file == NULL)
		return 2;
	size_bytes = fread(image, 1, sizeof(image), file);
	fclose(file);
	if (sg_image_bytes(image) != size_bytes) {
		failures++;
		printf("%s: %zu bytes, not %zu\n", argv[1], sg_image_bytes(image), size_bytes);
	}
	seen = look(image, size_bytes);
	if (seen.kernels != 5 || seen.params != 11 || seen.variables != 2) {
		failures++;
		printf("%s: %zu kernels with %zu parameters, %zu variables\n", argv[1], seen.kernels,
			seen.params, seen.variables);
	}
	damage(image, size_bytes);
	memcpy(&kind, image + 16, 2);
	memcpy(&flags, image + 16 + 40, 8);
	if (kind == 2 && (flags & 0x8000) == 0) {
		other_bytes = repack(other, image, size_bytes);
		expect("as LZ4", look(other, other_bytes), seen);
		damage(other, other_bytes);
	}
	return failures != 0;
}
