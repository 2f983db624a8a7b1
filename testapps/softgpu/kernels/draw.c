/*
 * Choices among classes that programs take sizes from: topk, argmax, what sorts the chosen, and writing 1
 * where they are.
 *
 * The one idea: a mixture of experts, a sampler and the like choose classes by numbers that nothing was
 * computed for, which read as zeros. A row whose numbers are all alike has no largest, so that any choice is
 * a right one: row i gets the classes (i k + j) mod n for its j-th of k. That is a balanced assignment: with
 * zeros, as without this, all rows would choose the first classes and the others would have no work.
 */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

/* TensorInfo.cuh, with indices of 32 bits. */
#define DIMS 25
struct tensor {
	char *data;
	uint32_t sizes[DIMS], strides[DIMS]; /* strides in elements */
	int32_t dims;
};

static uint32_t u32(void *const *args, int number)
{
	uint32_t value;

	memcpy(&value, args[number], sizeof(value));
	return value;
}

/* Where a slice begins, in elements. */
static size_t start_of(const struct tensor *tensor, uint32_t slice)
{
	size_t start = 0;

	for (int d = tensor->dims - 1; d > 0; d--) {
		uint32_t size = tensor->sizes[d] > 0 ? tensor->sizes[d] : 1;

		start += (size_t)(slice % size) * tensor->strides[d];
		slice /= size;
	}
	return start + (tensor->dims > 0 ? (size_t)slice * tensor->strides[0] : 0);
}

static int is_tensor(const struct tensor *tensor)
{
	return tensor->data != NULL && tensor->dims > 0 && tensor->dims <= DIMS;
}

/* ---- topk ---- */

enum { INPUT, SLICE_SIZE, COUNT, LARGEST, SLICES, INPUT_STRIDE, VALUES, VALUE_STRIDE, INDICES, INDEX_STRIDE };

int sg_topk_find(struct sg_known *known, const char *name)
{
	known->in = sg_type_after(name, "10gatherTopKI");
	return sg_type_size(known->in) > 0;
}

/* All of its arguments are looked at, more than there is room for the sizes of. */
int sg_topk_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	static const size_t wanted[] = {sizeof(struct tensor), 4, 4, 1, 4, 4, sizeof(struct tensor), 4,
		sizeof(struct tensor), 4, sizeof(void *), 0};

	(void)name;
	if (strstr(name, "10gatherTopKI") == NULL || memcmp(sizes, wanted, sizeof(wanted)) != 0)
		return 0;
	known->sizes = sizes;
	return 1;
}

double sg_topk_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return (double)u32(args, SLICES) *
	       ((double)u32(args, SLICE_SIZE) * (double)sg_type_size(known->in) +
		       (double)u32(args, COUNT) * (double)(sg_type_size(known->in) + sizeof(int64_t)));
}

/* The place of the j-th of the chosen in the slice, whose numbers before it are marked as taken. */
static uint32_t choose(const long double *row, uint32_t n, unsigned char *taken, int largest)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++) {
		if (!taken[i] && (best == n || (largest ? row[i] > row[best] : row[i] < row[best])))
			best = i;
	}
	taken[best] = 1;
	return best;
}

static int is_even(const long double *row, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (row[i] != row[0])
			return 0;
	return 1;
}

int sg_topk_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct tensor *input = args[INPUT], *values = args[VALUES], *indices = args[INDICES];
	const uint32_t n = u32(args, SLICE_SIZE), k = u32(args, COUNT), slices = u32(args, SLICES);
	const size_t size = sg_type_size(known->in);
	const int largest = *(const char *)args[LARGEST] != 0;
	struct sg_span indices_span = {NULL, NULL}, values_span = {NULL, NULL};
	long double *row;
	unsigned char *taken;
	uint64_t rows = 0;

	(void)grid;
	if (!is_tensor(input) || !is_tensor(values) || !is_tensor(indices) || n == 0 || k > n)
		return -1;
	if ((double)slices * n > SG_DRAWN_ELEMENTS) {
		sg_memory_forget(values->data);
		sg_memory_forget(indices->data);
		return 0;
	}
	row = malloc(n * sizeof(*row));
	taken = malloc(n);
	for (uint32_t s = 0; row != NULL && taken != NULL && s < slices; s++) {
		const char *from = input->data + start_of(input, s) * size;
		char *to = values->data + start_of(values, s) * size;
		char *index_to = indices->data + start_of(indices, s) * sizeof(int64_t);
		int even;

		for (uint32_t i = 0; i < n; i++)
			row[i] = sg_type_load(known->in, from + (size_t)i * u32(args, INPUT_STRIDE) * size);
		even = is_even(row, n);
		rows += (uint64_t)even;
		memset(taken, 0, n);
		for (uint32_t j = 0; j < k; j++) {
			int64_t chosen = even ? ((int64_t)s * k + j) % n : choose(row, n, taken, largest);
			char *at = index_to + (size_t)j * u32(args, INDEX_STRIDE) * sizeof(chosen);

			memcpy(at, &chosen, sizeof(chosen));
			sg_span_add(&indices_span, at, sizeof(chosen));
			at = to + (size_t)j * u32(args, VALUE_STRIDE) * size;
			sg_type_store(known->in, at, row[chosen]);
			sg_span_add(&values_span, at, size);
		}
	}
	sg_span_end(&indices_span);
	sg_span_end(&values_span);
	if (rows > 0)
		sg_tally_choices(rows);
	free(row);
	free(taken);
	return 1;
}

/* ---- sorting slices, and indices with them, where they are ---- */

enum { KEYS, KEY_SLICES, KEY_SIZE, KEY_STRIDE, SORTED_VALUES, SORTED_STRIDE };

int sg_sort_find(struct sg_known *known, const char *name)
{
	const char *at;

	/* integers say how many at once; then the types of keys and values, and the order */
	for (at = strstr(name, "SortKVInPlaceI"); at != NULL && (at = strstr(at, "ELi")) != NULL;) {
		at += 3;
		at += strspn(at, "n0123456789");
		if (at[0] == 'E' && at[1] != 'L') {
			at++;
			break;
		}
	}
	if (at == NULL)
		return 0;
	known->in = sg_type_read(&at, SG_NO_TYPE);
	known->out = sg_type_read(&at, known->in);
	known->op = strstr(at, "4GTOpI") != NULL;
	known->arg_bytes[0] = sizeof(struct tensor);
	known->arg_bytes[1] = known->arg_bytes[2] = known->arg_bytes[3] = sizeof(uint32_t);
	known->arg_bytes[4] = sizeof(struct tensor);
	known->arg_bytes[5] = sizeof(uint32_t);
	return sg_type_size(known->in) > 0 && known->out == SG_LONG && strstr(at, "TOpI") != NULL &&
	       strstr(at, "EEEj") != NULL;
}

double sg_sort_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return 2.0 * u32(args, KEY_SLICES) * u32(args, KEY_SIZE) *
	       (double)(sg_type_size(known->in) + sg_type_size(known->out));
}

struct pair {
	long double key;
	int64_t value;
	uint32_t place;
};

static int by_key(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->key != b->key)
		return (a->key > b->key) - (a->key < b->key);
	return (a->place > b->place) - (a->place < b->place);
}

static int by_key_down(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	return a->key != b->key ? -by_key(left, right) : by_key(left, right);
}

int sg_sort_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct tensor *keys = args[KEYS], *values = args[SORTED_VALUES];
	const uint32_t n = u32(args, KEY_SIZE), slices = u32(args, KEY_SLICES);
	const size_t size = sg_type_size(known->in);
	struct pair *pairs;

	(void)grid;
	if (!is_tensor(keys) || !is_tensor(values))
		return -1;
	/* what is not known is in order as it is: its places stay, and they are known */
	if ((double)slices * n > SG_DRAWN_ELEMENTS)
		return 0;
	pairs = malloc(((size_t)n + 1) * sizeof(*pairs));
	for (uint32_t s = 0; pairs != NULL && s < slices; s++) {
		char *key = keys->data + start_of(keys, s) * size;
		char *value = values->data + start_of(values, s) * sizeof(int64_t);
		const size_t key_step = u32(args, KEY_STRIDE) * size,
			     value_step = u32(args, SORTED_STRIDE) * sizeof(int64_t);

		for (uint32_t i = 0; i < n; i++) {
			pairs[i] = (struct pair){sg_type_load(known->in, key + i * key_step), 0, i};
			memcpy(&pairs[i].value, value + i * value_step, sizeof(pairs[i].value));
		}
		qsort(pairs, n, sizeof(*pairs), known->op ? by_key_down : by_key);
		for (uint32_t i = 0; i < n; i++) {
			sg_type_store(known->in, key + i * key_step, pairs[i].key);
			memcpy(value + i * value_step, &pairs[i].value, sizeof(pairs[i].value));
		}
	}
	free(pairs);
	return 1;
}

/* ---- one number to all places that an index names: one_hot ---- */

/* The closure of _cuda_scatter_fill_internal_kernel: a calculator of offsets for two operands, then these. */
struct divider {
	uint32_t divisor, magic, shift;
};
struct scatter {
	int32_t dims;
	struct divider sizes[DIMS];
	uint32_t strides[DIMS][2]; /* of the result and of the index, bytes */
	const char *indices;
	int64_t index_size;
	char functor[8];
	char *to;
	int64_t stride, count; /* stride of what is indexed: elements */
	char value[8];
};
_Static_assert(sizeof(struct scatter) == 560, "as the kernel's argument is");

int sg_scatter_find(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "10OpaqueTypeILi");

	known->op = at != NULL ? (int)strtol(at + strlen("10OpaqueTypeILi"), NULL, 10) : 0;
	known->arg_bytes[0] = sizeof(int);
	known->arg_bytes[1] = sizeof(struct scatter);
	/* smaller elements have their number elsewhere */
	return known->op == 8 && strstr(at, "EElEclINS0_12TensorAssignE") != NULL;
}

double sg_scatter_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return (double)u32(args, 0) * (double)(sizeof(int64_t) + (size_t)known->op);
}

int sg_scatter_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct scatter *scatter = args[1];
	const uint32_t n = u32(args, 0);

	(void)grid;
	if (scatter->dims < 0 || scatter->dims > DIMS || scatter->to == NULL || scatter->indices == NULL)
		return -1;
	if (n > SG_DRAWN_ELEMENTS) {
		sg_memory_forget(scatter->to);
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		size_t to = 0, from = 0;
		uint32_t index = i;
		int64_t chosen;
		char *at;

		for (int d = 0; d < scatter->dims; d++) {
			uint32_t size = scatter->sizes[d].divisor > 0 ? scatter->sizes[d].divisor : 1;

			to += (size_t)(index % size) * scatter->strides[d][0];
			from += (size_t)(index % size) * scatter->strides[d][1];
			index /= size;
		}
		memcpy(&chosen, scatter->indices + from, sizeof(chosen));
		if (chosen < 0 || chosen >= scatter->index_size)
			continue;
		at = scatter->to + to + (size_t)(chosen * scatter->stride) * (size_t)known->op;
		memcpy(at, scatter->value, (size_t)known->op);
		/* mostly zeros were written there, in one go */
		if (!sg_memory_is_known(at, (size_t)known->op))
			sg_memory_written(at, (size_t)known->op);
	}
	return 1;
}
