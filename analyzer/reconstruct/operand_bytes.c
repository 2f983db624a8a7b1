/* Sizes of matrices and vectors: see operand_bytes.h. */
#include "operand_bytes.h"
#include "operation_flow.h"
#include "trace/trace.h"

#include <string.h>

#define MOST_BYTES ((uint64_t)1 << 46)
#define EPILOGUE_SUMS_B 512 /* the vendor's flag: the epilogue sums the second operand up, not the first */

/* One dimension of an operand. */
enum extent {
	ONE,
	M,
	N,
	K,
	SIDE,  /* of a square matrix that stands left or right of one with m rows and n columns */
	TAKEN, /* of the vector that a matrix of m rows and n columns, transposed or not, is multiplied with */
	GIVEN, /* of the product of these */
};

/* Rows of a role stand together; operand 0 is every other. */
static const struct shape {
	enum pm_role role;
	char operand;
	enum extent rows, columns;
} shapes[] = {
	{PM_ROLE_PRODUCT, 'a', M, K},
	{PM_ROLE_PRODUCT, 'b', K, N},
	{PM_ROLE_PRODUCT, 0, M, N},
	{PM_ROLE_MATRIX_VECTOR, 'x', TAKEN, ONE},
	{PM_ROLE_MATRIX_VECTOR, 'y', GIVEN, ONE},
	{PM_ROLE_MATRIX_VECTOR, 0, M, N},
	{PM_ROLE_OUTER_PRODUCT, 'x', M, ONE},
	{PM_ROLE_OUTER_PRODUCT, 'y', N, ONE},
	{PM_ROLE_OUTER_PRODUCT, 0, M, N},
	{PM_ROLE_RANK_K_UPDATE, 'a', N, K},
	{PM_ROLE_RANK_K_UPDATE, 0, N, N},
	{PM_ROLE_SYMMETRIC_PRODUCT, 'a', SIDE, SIDE},
	{PM_ROLE_SYMMETRIC_PRODUCT, 0, M, N},
	{PM_ROLE_TRIANGULAR_PRODUCT, 'a', SIDE, SIDE},
	{PM_ROLE_TRIANGULAR_PRODUCT, 0, M, N},
	{PM_ROLE_TRIANGULAR_SOLVE, 'a', SIDE, SIDE},
	{PM_ROLE_TRIANGULAR_SOLVE, 0, M, N},
	{PM_ROLE_DIAGONAL_PRODUCT, 'x', SIDE, ONE},
	{PM_ROLE_DIAGONAL_PRODUCT, 0, M, N},
	{PM_ROLE_MATRIX_SUM, 0, M, N},
	{PM_ROLE_AXPY, 0, N, ONE},
	{PM_ROLE_SCALING, 0, N, ONE},
	{PM_ROLE_VECTOR_COPY, 0, N, ONE},
	{PM_ROLE_VECTOR_SWAP, 0, N, ONE},
	{PM_ROLE_DOT, 0, N, ONE},
	{PM_ROLE_VECTOR_NORM, 0, N, ONE},
	{PM_ROLE_VECTOR_SUM, 0, N, ONE},
	{PM_ROLE_EXTREME, 0, N, ONE},
};

uint64_t operand_product(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_mul_overflow(a, b, &result) || result > MOST_BYTES ? MOST_BYTES : result;
}

/* The number under a label; 0 where it is negative or there is none. */
static uint64_t size_under(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	uint64_t value;

	return timeline_value(timeline, operation, label, &value) && (int64_t)value > 0 ? value : 0;
}

static bool is_set(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	uint64_t value;

	return timeline_value(timeline, operation, label, &value) && value != 0;
}

static uint64_t extent_of(
	const struct timeline *timeline, const struct timeline_operation *operation, enum extent extent)
{
	bool is_right;

	switch (extent) {
	case ONE:
		return 1;
	case M:
		return size_under(timeline, operation, "m");
	case N:
		return size_under(timeline, operation, "n");
	case K:
		return size_under(timeline, operation, "k");
	case SIDE:
		is_right = is_set(timeline, operation, "side") || is_set(timeline, operation, "mode");
		return extent_of(timeline, operation, is_right ? N : M);
	case TAKEN:
		return extent_of(timeline, operation, is_set(timeline, operation, "trans") ? M : N);
	case GIVEN:
		return extent_of(timeline, operation, is_set(timeline, operation, "trans") ? N : M);
	}
	return 0;
}

static const struct shape *shape_of(enum pm_role role, const char *label)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].role == role &&
			(!shapes[i].operand || flow_is_matrix(label, shapes[i].operand)))
			return &shapes[i];
	return NULL;
}

static uint64_t elements_of(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	const struct shape *shape = shape_of(timeline->functions[operation->function].facts.role, label);
	uint64_t epilogue = 0, batch;

	if (!shape)
		return 0;
	if (strstr(label, "bias")) {
		timeline_value(timeline, operation, "epilogue", &epilogue);
		return extent_of(timeline, operation, epilogue & EPILOGUE_SUMS_B ? N : M);
	}
	batch = size_under(timeline, operation, "batch");
	return operand_product(operand_product(extent_of(timeline, operation, shape->rows),
				       extent_of(timeline, operation, shape->columns)),
		batch ? batch : 1);
}

uint64_t operand_bytes(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	uint64_t type;

	return operand_product(elements_of(timeline, operation, label),
		timeline_value(timeline, operation, "type", &type) ? trace_type_bytes(type) : 4);
}
