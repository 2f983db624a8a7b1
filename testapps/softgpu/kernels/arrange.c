/*
 * arange: (int n, {start, step}, result), and concatenation: (result, the inputs' metadata, sizes and
 * strides, dimension, stride).
 */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

/* In the order in which PyTorch makes its kernels; the name has the place. */
static const enum sg_type arange_types[] = {
	SG_BYTE, SG_CHAR, SG_INT, SG_LONG, SG_SHORT, SG_DOUBLE, SG_FLOAT, SG_HALF, SG_BFLOAT};

int sg_arange_find(struct sg_known *known, const char *name)
{
	static const char place[] = "ENKUlvE_clEvENKUlvE";
	const char *at = strstr(name, place);
	size_t index;

	if (at == NULL)
		return 0;
	at += strlen(place);
	index = *at == '_' ? 0 : strtoul(at, NULL, 10) + 1;
	if (index >= sizeof(arange_types) / sizeof(arange_types[0]))
		return 0;
	known->out = arange_types[index];
	/* whole numbers are counted in 64 bits, those of 16 bits in single precision */
	known->scalar = known->out == SG_DOUBLE                                   ? SG_DOUBLE
			: known->out == SG_FLOAT || sg_type_size(known->out) == 2 ? SG_FLOAT
										  : SG_LONG;
	if (known->out == SG_SHORT)
		known->scalar = SG_LONG;
	known->arg_bytes[0] = sizeof(int);
	known->arg_bytes[1] = 2 * sg_type_size(known->scalar);
	known->arg_bytes[2] = sizeof(char *);
	return strstr(name, "29elementwise_kernel_with_indexIi") != NULL;
}

double sg_arange_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	int n;

	(void)grid;
	memcpy(&n, args[0], sizeof(n));
	return (double)n * (double)sg_type_size(known->out);
}

int sg_arange_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	size_t size = sg_type_size(known->out);
	long double start = sg_type_load(known->scalar, args[1]);
	long double step = sg_type_load(known->scalar, (const char *)args[1] + sg_type_size(known->scalar));
	char *to;
	int n;

	(void)grid;
	memcpy(&n, args[0], sizeof(n));
	memcpy(&to, args[2], sizeof(to));
	if (n < 0 || n > SG_TWIN_ELEMENTS) {
		sg_memory_forget(to);
		return 0;
	}
	for (int i = 0; i < n; i++)
		sg_type_store(known->out, to + (size_t)i * size, start + step * i);
	sg_memory_written(to, (size_t)n * size);
	return 1;
}

/* ---- concatenation ---- */

#define CAT_DIMS 4

/* Of a batch of inputs, as the kernel's argument has them: with room for `known->pointers` of them. */
struct cat_inputs {
	const char *const *from;
	const uint32_t *offset, *dim_size, *count;
};

int sg_cat_find(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "OpaqueTypeILj"), *dims;

	if (at == NULL || (dims = strstr(at, "EjLi")) == NULL)
		return 0;
	known->op = (int)strtoul(at + strlen("OpaqueTypeILj"), NULL, 10); /* bytes of an element */
	dims += strlen("EjLi");
	if (dims[0] < '1' || dims[0] > '4' || strncmp(dims + 1, "ELi", 3) != 0)
		return 0;
	/* what other forms than contiguous ones count is not known, unless there is one dimension */
	known->out = (dims[0] > '1' && strstr(name, "_contigI") == NULL) ||
				     strstr(name, "19CatArrayBatchedCopyI") != NULL
			     ? SG_NO_TYPE
			     : SG_BYTE;
	known->scalar = (enum sg_type)(dims[0] - '0'); /* dimensions */
	known->pointers = (unsigned)strtoul(dims + 4, NULL, 10);
	if (known->op < 1 || known->op > 16 || known->pointers == 0 || known->pointers > 1024)
		return 0;
	known->arg_bytes[0] = sizeof(char *);
	known->arg_bytes[1] = known->pointers * (sizeof(char *) + 3 * sizeof(uint32_t));
	known->arg_bytes[2] = 2 * CAT_DIMS * sizeof(uint32_t);
	known->arg_bytes[3] = sizeof(int);
	known->arg_bytes[4] = sizeof(uint32_t);
	return 1;
}

static struct cat_inputs inputs_of(const struct sg_known *known, const void *arg)
{
	const char *at = arg;
	struct cat_inputs inputs = {.from = arg};

	at += known->pointers * sizeof(char *);
	inputs.offset = (const uint32_t *)(const void *)at;
	inputs.dim_size = inputs.offset + known->pointers;
	inputs.count = inputs.dim_size + known->pointers;
	return inputs;
}

double sg_cat_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	struct cat_inputs inputs = inputs_of(known, args[1]);
	double count = 0;

	for (unsigned i = 0; i < grid.y && i < known->pointers; i++)
		count += inputs.count[i];
	return 2 * count * known->op;
}

/* Where an input's element goes, in elements from where the input's first one goes. */
static size_t place_of(
	const struct sg_known *known, const uint32_t *sizes, int dim, uint32_t dim_size, uint32_t index)
{
	const uint32_t *strides = sizes + CAT_DIMS;
	size_t place = 0;

	for (int i = (int)known->scalar - 1; i >= 1; i--) {
		uint32_t size = i == dim ? dim_size : sizes[i];

		if (size == 0)
			return 0;
		place += (size_t)(index % size) * strides[i];
		index /= size;
	}
	return known->scalar == 1 ? index : place + (size_t)index * strides[0];
}

int sg_cat_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	struct cat_inputs inputs = inputs_of(known, args[1]);
	size_t element = (size_t)known->op;
	struct sg_span span = {NULL, NULL};
	uint32_t sizes[2 * CAT_DIMS], stride;
	char *to;
	int dim;

	memcpy(&to, args[0], sizeof(to));
	memcpy(sizes, args[2], sizeof(sizes));
	memcpy(&dim, args[3], sizeof(dim));
	memcpy(&stride, args[4], sizeof(stride));
	if (known->out == SG_NO_TYPE || grid.y > known->pointers ||
		sg_cat_bytes(known, grid, args) > 2.0 * SG_TWIN_ELEMENTS * (double)element) {
		sg_memory_forget(to);
		return 0;
	}
	for (unsigned i = 0; i < grid.y; i++) {
		char *first = to + (size_t)inputs.offset[i] * stride * element;

		for (uint32_t k = 0; k < inputs.count[i]; k++) {
			char *at = first + place_of(known, sizes, dim, inputs.dim_size[i], k) * element;

			memcpy(at, inputs.from[i] + (size_t)k * element, element);
			sg_span_add(&span, at, element);
		}
	}
	sg_span_end(&span);
	return 1;
}
