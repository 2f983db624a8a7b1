/*
 * Kernels that compute element by element over tensors that are not contiguous, or broadcast:
 * (int n, {calculator of offsets, addresses, functor, ...}).
 *
 * The one idea: an operand whose stride in a dimension is 0 is the same there, so that its elements are the
 * product of the sizes whose strides are not 0.
 */
#include "rule.h"

#include <string.h>

/* OffsetCalculator of Loops.cuh, with 32-bit indices: sizes in their divided form, then strides in bytes. */
#define DIMS 25
struct divider {
	uint32_t divisor, magic, shift;
};
struct calculator {
	int32_t dims;
	struct divider sizes[DIMS];
	uint32_t strides[]; /* of each dimension those of all operands, the result first */
};

#define CONVERTS SG_BYTE /* in place of the scalar, which a copy has none of */

#define OPERAND_BYTES (DIMS * sizeof(uint32_t) + sizeof(char *)) /* that an operand takes in the argument */

int sg_strided_find(struct sg_known *known, const char *name)
{
	sg_elements_types(known, name);
	/* operands that are converted have their types after the functor, whose size is known of copies
	 * alone */
	if (strstr(name, "22gpu_kernel_impl_nocastI") == NULL) {
		if (sg_elements_is_copy(known))
			known->scalar = CONVERTS;
		else
			known->op = 0;
	}
	return 1;
}

int sg_strided_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	(void)name;
	if (sizes[0] != sizeof(int) || sizes[1] <= sizeof(struct calculator))
		return 0;
	known->pointers = (unsigned)((sizes[1] - sizeof(struct calculator)) / OPERAND_BYTES);
	return known->pointers >= 1 && known->pointers <= SG_OPERANDS;
}

double sg_strided_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct calculator *offsets = args[1];
	double bytes = 0, all = 1;
	int n;

	(void)grid;
	memcpy(&n, args[0], sizeof(n));
	if (offsets->dims < 0 || offsets->dims > DIMS)
		return -1;
	for (int d = 0; d < offsets->dims; d++)
		all *= offsets->sizes[d].divisor;
	if (all != n)
		return -1;
	for (unsigned i = 0; i < known->pointers; i++) {
		double count = 1;

		for (int d = 0; d < offsets->dims; d++)
			if (offsets->strides[(unsigned)d * known->pointers + i] != 0)
				count *= offsets->sizes[d].divisor;
		bytes += count * known->each[i];
	}
	return bytes;
}

/* Whether neighbours in the result's rows are neighbours in each operand, or the same element. */
static int is_by_rows(const struct sg_known *known, const struct calculator *offsets)
{
	if (offsets->dims < 1 || offsets->dims > DIMS)
		return 0;
	for (unsigned i = 0; i < known->pointers; i++)
		if (offsets->strides[i] != 0 && offsets->strides[i] != known->each[i])
			return 0;
	return 1;
}

/* A copy that turns a tensor round reads a few bytes of each sector, one that moves whole rows all of them.
 */
const struct sg_pace *sg_strided_pace(const struct sg_known *known, void *const *args)
{
	static const struct sg_pace by_rows = {1.2, 0.5, 1, 0, 0};

	if (known->pace == NULL || known->pace->memory >= by_rows.memory || !is_by_rows(known, args[1]))
		return known->pace;
	return &by_rows;
}

/* Of each operand's element, in bytes. */
static void offsets_of(
	const struct calculator *calculator, unsigned operands, uint32_t index, size_t *offsets)
{
	memset(offsets, 0, operands * sizeof(*offsets));
	for (int d = 0; d < calculator->dims; d++) {
		uint32_t size = calculator->sizes[d].divisor, at = index % size;

		index /= size;
		for (unsigned i = 0; i < operands; i++)
			offsets[i] += (size_t)at * calculator->strides[(unsigned)d * operands + i];
	}
}

int sg_strided_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct calculator *calculator = args[1];
	const size_t at = (sizeof(*calculator) + known->pointers * DIMS * sizeof(uint32_t) + 7) / 8 * 8;
	struct sg_elements elements;
	struct sg_span span = {NULL, NULL};
	enum sg_type in[2] = {known->in, known->in}, out = known->out;
	const char *functor;
	char *data[3];
	int n;

	if (sg_strided_bytes(known, grid, args) < 0 || known->pointers > 3)
		return -1;
	memcpy(&n, args[0], sizeof(n));
	memcpy(data, (const char *)args[1] + at, known->pointers * sizeof(data[0]));
	functor = (const char *)args[1] + at + known->pointers * sizeof(data[0]);
	if (!known->op || !sg_elements_begin(known, functor, n, &elements)) {
		sg_memory_forget(data[0]);
		return 0;
	}
	if (sg_elements_is_copy(known) && known->scalar == CONVERTS) {
		out = (enum sg_type)(signed char)functor[1];
		in[0] = (enum sg_type)(signed char)functor[2];
		if (sg_type_size(out) == 0 || sg_type_size(in[0]) == 0) {
			sg_memory_forget(data[0]);
			return 0;
		}
	}
	for (int i = 0; i < n; i++) {
		const char *from[2] = {NULL, NULL};
		size_t offsets[3];

		offsets_of(calculator, known->pointers, (uint32_t)i, offsets);
		for (unsigned k = 1; k < known->pointers; k++)
			from[k - 1] = data[k] + offsets[k];
		sg_type_store(out, data[0] + offsets[0], sg_elements_value(&elements, from, in));
		sg_span_add(&span, data[0] + offsets[0], sg_type_size(out));
	}
	sg_span_end(&span);
	return 1;
}
