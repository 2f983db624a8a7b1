/*
 * Counting what is not 0, and listing where: nonzero, masked selection. Two kernels of CUB's: (input, int
 * *count, int n, ...) and (first index, input, int64_t *indices, int *count, tiles, selector, comparison, int
 * n, ...), the input being an iterator that begins with an address; CUB's own iterators, of CUDA 12, have it
 * after their functor.
 */
#include "rule.h"

#include <string.h>

static int find_type(struct sg_known *known, const char *name)
{
	known->in = sg_type_after(name, "NonZeroOpI");
	return sg_type_size(known->in) > 0;
}

static const char *address_in(void *const *args, int number)
{
	const char *address;

	memcpy(&address, args[number], sizeof(address));
	return address;
}

/* Where the input's address stands in its iterator. */
static size_t input_at(const char *name)
{
	return strstr(name, "22TransformInputIteratorI") != NULL ? sizeof(void *) : 0;
}

static const char *input_in(const struct sg_known *known, void *const *args, int number)
{
	const char *address;

	memcpy(&address, (const char *)args[number] + known->op, sizeof(address));
	return address;
}

static int int_in(void *const *args, int number)
{
	int value;

	memcpy(&value, args[number], sizeof(value));
	return value;
}

int sg_count_find(struct sg_known *known, const char *name)
{
	known->op = (int)input_at(name);
	known->arg_bytes[0] = (size_t)known->op + sizeof(void *);
	known->arg_bytes[1] = sizeof(void *);
	known->arg_bytes[2] = sizeof(int);
	return find_type(known, name);
}

double sg_count_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return (double)int_in(args, 2) * (double)sg_type_size(known->in);
}

int sg_count_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const char *from = input_in(known, args, 0);
	int *to = (int *)(void *)(uintptr_t)address_in(args, 1), n = int_in(args, 2), count = 0;

	(void)grid;
	if (n < 0 || n > SG_TWIN_ELEMENTS) {
		sg_memory_forget(to);
		return 0;
	}
	for (int i = 0; i < n; i++)
		count += sg_type_load(known->in, from + (size_t)i * sg_type_size(known->in)) != 0;
	memcpy(to, &count, sizeof(count));
	sg_memory_written(to, sizeof(count));
	return 1;
}

int sg_select_find(struct sg_known *known, const char *name)
{
	static const size_t sizes[] = {8, 8, 8, 8, 8, 1, 1, sizeof(int)};

	memcpy(known->arg_bytes, sizes, sizeof(sizes));
	known->op = (int)input_at(name);
	known->arg_bytes[1] += (size_t)known->op;
	return find_type(known, name) && (strstr(name, "17counting_iteratorIl") != NULL ||
						 strstr(name, "21CountingInputIteratorIl") != NULL);
}

double sg_select_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	(void)grid;
	return (double)int_in(args, 7) * (double)(sg_type_size(known->in) + sizeof(int64_t));
}

int sg_select_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const char *from = input_in(known, args, 1);
	int64_t *to = (int64_t *)(void *)(uintptr_t)address_in(args, 2), first;
	int *count_to = (int *)(void *)(uintptr_t)address_in(args, 3), n = int_in(args, 7), count = 0;

	(void)grid;
	memcpy(&first, args[0], sizeof(first));
	if (n < 0 || n > SG_TWIN_ELEMENTS) {
		sg_memory_forget(to);
		sg_memory_forget(count_to);
		return 0;
	}
	/* no room was made: the count of more than one tile is not computed, and reads as 0 */
	if (to == NULL)
		n = 0;
	for (int i = 0; i < n; i++) {
		if (sg_type_load(known->in, from + (size_t)i * sg_type_size(known->in)) != 0)
			to[count++] = first + i;
	}
	memcpy(count_to, &count, sizeof(count));
	if (count > 0)
		sg_memory_written(to, (size_t)count * sizeof(*to));
	sg_memory_written(count_to, sizeof(count));
	return 1;
}
