/*
 * Sorted numbers, runs of equal ones, and how often a number is there: what unique, bincount, histc and the
 * coalescing of sparse tensors count with. CUB's kernels, and ATen's histogram.
 *
 * The one idea: sizes of results follow from such counts. Of keys that nothing is known of (what sorted them
 * was not computed) a program that merges equal ones finds them all different, which is what most graphs'
 * edges are.
 */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

static char *address_in(void *const *args, int number)
{
	char *address;

	memcpy(&address, args[number], sizeof(address));
	return address;
}

static int64_t number_in(void *const *args, int number, size_t bytes)
{
	int64_t value = 0;

	memcpy(&value, args[number], bytes);
	return value;
}

static void put(struct sg_span *span, void *to, const void *from, size_t bytes)
{
	if (to == NULL || bytes == 0)
		return;
	memcpy(to, from, bytes);
	sg_span_add(span, to, bytes);
}

/* Bytes of the values that go with sorted keys, after *at; 0: there are none. */
static size_t value_bytes(const char *at)
{
	const char *opaque = strstr(at, "OpaqueTypeILi");

	if (strncmp(at, "NS0_8NullType", 13) == 0)
		return 0;
	if (strncmp(at, "N2at", 4) == 0 && opaque != NULL)
		return strtoul(opaque + strlen("OpaqueTypeILi"), NULL, 10);
	return sg_type_read_size(&at, 0);
}

/* ---- sorting in one tile: (keys, to, values, to, count, ...) ---- */

int sg_radix_find(struct sg_known *known, const char *name)
{
	static const size_t sizes[] = {8, 8, 8, 8, 8, 4, 4};
	const char *at = strstr(name, "5radix10policy_hubI");

	if (at == NULL)
		return 0;
	at += strlen("5radix10policy_hubI");
	known->in = sg_type_read(&at, SG_NO_TYPE);
	known->each[1] = (unsigned char)value_bytes(at);
	known->op = strstr(at, "SortOrderE1E") != NULL; /* downwards */
	memcpy(known->arg_bytes, sizes, sizeof(sizes));
	return sg_type_size(known->in) > 0;
}

double sg_radix_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return 2.0 * (double)number_in(args, 4, 8) * (double)(sg_type_size(known->in) + known->each[1]);
}

struct key {
	long double key;
	size_t place;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->key != b->key)
		return (a->key > b->key) - (a->key < b->key);
	return (a->place > b->place) - (a->place < b->place);
}

static int by_key_down(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	return a->key != b->key ? -by_key(left, right) : by_key(left, right);
}

int sg_radix_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const int64_t n = number_in(args, 4, 8);
	const size_t size = sg_type_size(known->in), bytes = known->each[1];
	const char *keys = address_in(args, 0), *values = address_in(args, 2);
	struct sg_span spans[2] = {{NULL, NULL}, {NULL, NULL}};
	struct key *sorted;

	(void)grid;
	sorted = n > 0 && n <= SG_DRAWN_ELEMENTS ? malloc((size_t)n * sizeof(*sorted)) : NULL;
	if (sorted == NULL)
		return -1;
	for (size_t i = 0; i < (size_t)n; i++)
		sorted[i] = (struct key){sg_type_load(known->in, keys + i * size), i};
	qsort(sorted, (size_t)n, sizeof(*sorted), known->op ? by_key_down : by_key);
	for (size_t i = 0; i < (size_t)n; i++) {
		char number[16];

		sg_type_store(known->in, number, sorted[i].key);
		put(&spans[0], address_in(args, 1) + i * size, number, size);
		if (bytes > 0 && values != NULL && address_in(args, 3) != NULL)
			put(&spans[1], address_in(args, 3) + i * bytes, values + sorted[i].place * bytes,
				bytes);
	}
	sg_span_end(&spans[0]);
	sg_span_end(&spans[1]);
	free(sorted);
	return 1;
}

/* ---- runs of equal keys: (keys, unique keys to, ones, lengths to, how many runs to, ...) ---- */

enum { RUN_KEYS, RUN_UNIQUE, RUN_LENGTHS = 3, RUN_COUNT, RUN_ITEMS = 9 };

int sg_runs_find(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "3rle6encode10policy_hubI");

	if (at == NULL)
		return 0;
	at += strlen("3rle6encode10policy_hubI");
	known->out = sg_type_read(&at, SG_NO_TYPE); /* of lengths, and of how many runs there are */
	known->in = sg_type_read(&at, known->out);
	return sg_type_size(known->in) > 0 && known->out == SG_LONG;
}

int sg_runs_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	static const size_t wanted[] = {8, 8, 16, 8, 8, 8, 4, 1, 1, 4};

	(void)known, (void)name;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (sizes[i] != wanted[i])
			return 0;
	return 1;
}

double sg_runs_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return (double)number_in(args, RUN_ITEMS, sizeof(int)) * 2 * (double)(sg_type_size(known->in));
}

int sg_runs_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const size_t size = sg_type_size(known->in), n = (size_t)number_in(args, RUN_ITEMS, sizeof(int));
	const char *keys = address_in(args, RUN_KEYS);
	char *unique = address_in(args, RUN_UNIQUE), *lengths = address_in(args, RUN_LENGTHS);
	struct sg_span spans[3] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
	int64_t runs = 0, length = 0;

	(void)grid;
	if (n == 0 || n > INT32_MAX || keys == NULL)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int ends = i + 1 == n || memcmp(keys + i * size, keys + (i + 1) * size, size) != 0;

		/* what is more is taken for zeros */
		if (n > SG_DRAWN_ELEMENTS) {
			i = n - 1;
			length = (int64_t)n - 1;
			ends = 1;
		}
		length++;
		if (!ends)
			continue;
		put(&spans[0], unique != NULL ? unique + (size_t)runs * size : NULL, keys + i * size, size);
		put(&spans[1], lengths != NULL ? lengths + (size_t)runs * sizeof(length) : NULL, &length,
			sizeof(length));
		runs++;
		length = 0;
	}
	put(&spans[2], address_in(args, RUN_COUNT), &runs, sizeof(runs));
	for (int i = 0; i < 3; i++)
		sg_span_end(&spans[i]);
	return 1;
}

/* ---- the first of equal keys, with its value: (keys, values, keys to, values to, how many to, ...) ---- */

enum { FIRST_KEYS, FIRST_VALUES, FIRST_KEYS_TO, FIRST_VALUES_TO, FIRST_COUNT, FIRST_ITEMS = 7 };

int sg_firsts_find(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "13unique_by_key28DeviceUniqueByKeySweepKernelI");

	static const size_t sizes[] = {8, 8, 8, 8, 8, 8, 1, sizeof(int)};

	at = at != NULL ? strstr(at, "10policy_hubI") : NULL;
	if (at == NULL)
		return 0;
	at += strlen("10policy_hubI");
	known->in = sg_type_read(&at, SG_NO_TYPE);
	known->out = sg_type_read(&at, known->in);
	memcpy(known->arg_bytes, sizes, sizeof(sizes));
	return sg_type_size(known->in) > 0 && sg_type_size(known->out) > 0;
}

double sg_firsts_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return 2.0 * (double)number_in(args, FIRST_ITEMS, sizeof(int)) *
	       (double)(sg_type_size(known->in) + sg_type_size(known->out));
}

int sg_firsts_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const size_t size = sg_type_size(known->in), bytes = sg_type_size(known->out);
	const size_t n = (size_t)number_in(args, FIRST_ITEMS, sizeof(int));
	const char *keys = address_in(args, FIRST_KEYS), *values = address_in(args, FIRST_VALUES);
	struct sg_span spans[3] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
	uint32_t count = (uint32_t)n;

	(void)grid;
	if (n == 0 || n > INT32_MAX || keys == NULL || values == NULL)
		return -1;
	if (n <= SG_DRAWN_ELEMENTS && sg_memory_is_known(keys, n * size)) {
		count = 0;
		for (size_t i = 0; i < n; i++) {
			if (i > 0 && memcmp(keys + i * size, keys + (i - 1) * size, size) == 0)
				continue;
			put(&spans[0], address_in(args, FIRST_KEYS_TO) + count * size, keys + i * size, size);
			put(&spans[1], address_in(args, FIRST_VALUES_TO) + count * bytes, values + i * bytes,
				bytes);
			count++;
		}
	} else {
		sg_memory_forget(address_in(args, FIRST_KEYS_TO));
		sg_memory_forget(address_in(args, FIRST_VALUES_TO));
	}
	put(&spans[2], address_in(args, FIRST_COUNT), &count, sizeof(count));
	for (int i = 0; i < 3; i++)
		sg_span_end(&spans[i]);
	return 1;
}

/* ---- how often: (counts, partial ones, numbers, bins, least, most, how many numbers, how) ---- */

#define DIMS 25
struct tensor {
	char *data;
	int64_t sizes[DIMS], strides[DIMS]; /* in elements */
	int32_t dims;
};

enum { BIN_COUNTS, BIN_NUMBERS = 2, BIN_BINS, BIN_LEAST, BIN_MOST, BIN_TOTAL };

int sg_histogram_find(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "17kernelHistogram1DI");

	if (at == NULL)
		return 0;
	at += strlen("17kernelHistogram1DI");
	known->out = sg_type_read(&at, SG_NO_TYPE);
	known->in = sg_type_read(&at, known->out);
	known->arg_bytes[0] = known->arg_bytes[1] = known->arg_bytes[2] = sizeof(struct tensor);
	known->arg_bytes[3] = sizeof(int64_t);
	/* least and most are of the accumulated type: 64 bits for integers */
	known->scalar = known->in == SG_FLOAT || known->in == SG_DOUBLE ? known->in : SG_LONG;
	known->arg_bytes[4] = known->arg_bytes[5] = sg_type_size(known->scalar);
	known->arg_bytes[6] = sizeof(int64_t);
	/* with weights another closure comes */
	return sg_type_size(known->in) > 0 && sg_type_size(known->out) > 0 && *at == 'l' &&
	       strstr(at, "EUllE0_") != NULL;
}

double sg_histogram_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return (double)number_in(args, BIN_TOTAL, 8) * (double)sg_type_size(known->in) +
	       (double)number_in(args, BIN_BINS, 8) * (double)sg_type_size(known->out);
}

int sg_histogram_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct tensor *counts = args[BIN_COUNTS], *numbers = args[BIN_NUMBERS];
	const int64_t bins = number_in(args, BIN_BINS, 8), total = number_in(args, BIN_TOTAL, 8);
	const long double least = sg_type_load(known->scalar, args[BIN_LEAST]),
			  most = sg_type_load(known->scalar, args[BIN_MOST]);
	struct sg_span span = {NULL, NULL};

	(void)grid;
	if (counts->data == NULL || numbers->data == NULL || counts->dims != 1 || numbers->dims < 1 ||
		numbers->dims > DIMS || bins < 1 || !(most > least))
		return -1;
	if (total > SG_DRAWN_ELEMENTS || bins > SG_DRAWN_ELEMENTS) {
		sg_memory_forget(counts->data);
		return 0;
	}
	for (int64_t i = 0; i < total; i++) {
		int64_t index = i, offset = 0, bin;
		long double number;
		char *at;

		for (int d = numbers->dims - 1; d >= 0; d--) {
			int64_t size = d > 0 && numbers->sizes[d] > 0 ? numbers->sizes[d] : INT64_MAX;

			offset += index % size * numbers->strides[d];
			index /= size;
		}
		number = sg_type_load(known->in, numbers->data + (size_t)offset * sg_type_size(known->in));
		if (!(number >= least && number <= most))
			continue;
		bin = (int64_t)((number - least) * (long double)bins / (most - least));
		if (bin == bins)
			bin--;
		at = counts->data + (size_t)(bin * counts->strides[0]) * sg_type_size(known->out);
		sg_type_store(known->out, at, sg_type_load(known->out, at) + 1);
	}
	for (int64_t i = 0; i < bins; i++)
		sg_span_add(&span, counts->data + (size_t)(i * counts->strides[0]) * sg_type_size(known->out),
			sg_type_size(known->out));
	sg_span_end(&span);
	return 1;
}
