/*
 * Kernels that compute element by element over tensors that are not contiguous, or broadcast:
 * (int n, {calculator of offsets, addresses, ...}).
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

#define OPERAND_BYTES (DIMS * sizeof(uint32_t) + sizeof(char *)) /* that an operand takes in the argument */

int sg_strided_find(struct sg_known *known, const char *name)
{
	sg_elements_types(known, name);
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
