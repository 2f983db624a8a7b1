/*
 * cublasLt's descriptors: what a matrix product is, from the descriptors of the operation and of its
 * matrices.
 */
#include "matmul.h"

#include <string.h>

#include "object.h"
#include "value.h"

/* Where a descriptor's object keeps what was set. */
enum layout_value {
	LAYOUT_TYPE,
	LAYOUT_ROWS,
	LAYOUT_COLUMNS,
	LAYOUT_LD,
	LAYOUT_ORDER,
	LAYOUT_BATCH,
	LAYOUT_VALUES
};
enum matmul_value {
	MATMUL_COMPUTE,
	MATMUL_TRANSA,
	MATMUL_TRANSB,
	MATMUL_EPILOGUE,
	MATMUL_BIAS,
	MATMUL_AUX,
	MATMUL_POINTER_MODE,
	MATMUL_VALUES
};

void pmh_layout_made(const void *layout, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld)
{
	struct object *o = object_of(layout, true);
	const int64_t values[LAYOUT_VALUES] = {
		(int64_t)pmh_cuda_type(type), (int64_t)rows, (int64_t)columns, ld, 0, 1};

	if (o)
		memcpy(o->values, values, sizeof values);
}

/* An attribute of 4 or 8 bytes as a number. */
static int64_t attribute(const void *value, size_t value_bytes)
{
	int32_t narrow;
	int64_t wide = 0;

	if (value_bytes >= sizeof wide) {
		memcpy(&wide, value, sizeof wide);
	} else if (value_bytes >= sizeof narrow) {
		memcpy(&narrow, value, sizeof narrow);
		wide = narrow;
	}
	return wide;
}

void pmh_layout_set(
	const void *layout, cublasLtMatrixLayoutAttribute_t name, const void *value, size_t value_bytes)
{
	struct object *o = object_of(layout, false);

	if (!o || !value)
		return;
	switch (name) {
	case CUBLASLT_MATRIX_LAYOUT_TYPE:
		o->values[LAYOUT_TYPE] =
			(int64_t)pmh_cuda_type((cudaDataType_t)attribute(value, value_bytes));
		break;
	case CUBLASLT_MATRIX_LAYOUT_ORDER:
		o->values[LAYOUT_ORDER] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATRIX_LAYOUT_ROWS:
		o->values[LAYOUT_ROWS] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATRIX_LAYOUT_COLS:
		o->values[LAYOUT_COLUMNS] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATRIX_LAYOUT_LD:
		o->values[LAYOUT_LD] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
		o->values[LAYOUT_BATCH] = attribute(value, value_bytes);
		break;
	default:
		break;
	}
}

void pmh_matmul_made(const void *matmul, cublasComputeType_t type)
{
	struct object *o = object_of(matmul, true);
	const int64_t values[MATMUL_VALUES] = {[MATMUL_COMPUTE] = (int64_t)pmh_compute_type(type),
		[MATMUL_EPILOGUE] = CUBLASLT_EPILOGUE_DEFAULT};

	if (o)
		memcpy(o->values, values, sizeof values);
}

void pmh_matmul_set(
	const void *matmul, cublasLtMatmulDescAttributes_t name, const void *value, size_t value_bytes)
{
	struct object *o = object_of(matmul, false);

	if (!o || !value)
		return;
	switch (name) {
	case CUBLASLT_MATMUL_DESC_TRANSA:
		o->values[MATMUL_TRANSA] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATMUL_DESC_TRANSB:
		o->values[MATMUL_TRANSB] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATMUL_DESC_EPILOGUE:
		o->values[MATMUL_EPILOGUE] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
		o->values[MATMUL_BIAS] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
		o->values[MATMUL_AUX] = attribute(value, value_bytes);
		break;
	case CUBLASLT_MATMUL_DESC_POINTER_MODE:
		o->values[MATMUL_POINTER_MODE] = attribute(value, value_bytes);
		break;
	default:
		break;
	}
}

static bool has_bias(int64_t epilogue)
{
	return epilogue & CUBLASLT_EPILOGUE_BIAS;
}

/* The bias's gradient, which the epilogue writes where the bias pointer points. */
static bool has_bias_gradient(int64_t epilogue)
{
	return epilogue == CUBLASLT_EPILOGUE_DRELU_BGRAD || epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD ||
	       epilogue == CUBLASLT_EPILOGUE_BGRADA || epilogue == CUBLASLT_EPILOGUE_BGRADB;
}

struct pmh_matmul pmh_matmul(const void *matmul, const void *a, const void *d, const void *beta)
{
	const struct object *op = object_of(matmul, false), *of_a = object_of(a, false),
			    *of_d = object_of(d, false);
	struct pmh_matmul m = {.beta = 3};
	int64_t epilogue;

	if (of_d) {
		m.m = of_d->values[LAYOUT_ROWS];
		m.n = of_d->values[LAYOUT_COLUMNS];
		m.batch = of_d->values[LAYOUT_BATCH];
		m.type = (uint64_t)of_d->values[LAYOUT_TYPE];
	}
	if (!op)
		return m;
	epilogue = op->values[MATMUL_EPILOGUE];
	m.transa = op->values[MATMUL_TRANSA];
	m.transb = op->values[MATMUL_TRANSB];
	m.epilogue = epilogue;
	if (of_a)
		m.k = of_a->values[m.transa ? LAYOUT_ROWS : LAYOUT_COLUMNS];
	if (has_bias_gradient(epilogue))
		m.dbias = (uintptr_t)op->values[MATMUL_BIAS];
	else if (has_bias(epilogue))
		m.bias = (uintptr_t)op->values[MATMUL_BIAS];
	m.aux = (uintptr_t)op->values[MATMUL_AUX];
	if (op->values[MATMUL_POINTER_MODE] == CUBLASLT_POINTER_MODE_HOST)
		m.beta = pmh_scale_typed(beta, (uint64_t)op->values[MATMUL_COMPUTE]);
	return m;
}
