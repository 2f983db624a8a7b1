/*
 * cuBLASLt's handles, versions and descriptors.
 *
 * The one idea: a table per kind of descriptor; setting and asking are written once.
 */
#include "cublaslt_private.h"
#include "pm_lists.h"

#include <stdlib.h>
#include <string.h>

struct cublasLtContext {
	int device;
};

#define LENGTH(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define ROW(kind, name, field) \
	{ \
		name, offsetof(struct kind, field), sizeof(((struct kind *)NULL)->field), false \
	}

static const struct sg_attribute layout_attributes[] = {
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_TYPE, type),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_ORDER, order),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_COLS, columns),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_LD, ld),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch_count),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, plane_offset),
	ROW(sg_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, batch_mode),
};

static const struct sg_attribute matmul_attributes[] = {
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_TRANSA, op_a),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_TRANSB, op_b),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_TRANSC, op_c),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_FILL_MODE, fill),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, bias_stride),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, aux_stride),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, alpha_stride),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, sm_count),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a_scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b_scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, c_scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, d_scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, amax),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, aux_type),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, aux_scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, aux_amax),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast_accumulation),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, a_scale_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, b_scale_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_C_SCALE_MODE, c_scale_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_D_SCALE_MODE, d_scale_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, aux_scale_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, d_out_scale),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, d_out_scale_mode),
	ROW(sg_matmul, CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, emulation),
};

static const struct sg_attribute preference_attributes[] = {
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, search),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_a),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_b),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_c),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_d),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, waves),
	ROW(sg_preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, implementations),
};

static const struct sg_attribute transform_attributes[] = {
	ROW(sg_transform, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, scale),
	ROW(sg_transform, CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, pointer_mode),
	ROW(sg_transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, op_a),
	ROW(sg_transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, op_b),
};

static const struct sg_attribute *find(const struct sg_attribute *table, int count, int name)
{
	for (int i = 0; i < count; i++) {
		if (table[i].name == name)
			return &table[i];
	}
	return NULL;
}

cublasStatus_t sg_attribute_set(const struct sg_attribute *table, int count, void *descriptor, int name,
	const void *value, size_t bytes)
{
	const struct sg_attribute *attribute = find(table, count, name);

	if (descriptor == NULL || attribute == NULL || attribute->is_fixed || value == NULL ||
		bytes != attribute->bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)descriptor + attribute->offset, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sg_attribute_get(const struct sg_attribute *table, int count, const void *descriptor, int name,
	void *value, size_t bytes, size_t *written)
{
	const struct sg_attribute *attribute = find(table, count, name);

	if (descriptor == NULL || attribute == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes == 0 ? written == NULL : value == NULL || bytes != attribute->bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes > 0)
		memcpy(value, (const char *)descriptor + attribute->offset, bytes);
	if (written != NULL)
		*written = attribute->bytes;
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- handles and names ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle)
{
	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*lightHandle = calloc(1, sizeof(**lightHandle));
	if (*lightHandle == NULL)
		return CUBLAS_STATUS_ALLOC_FAILED;
	(*lightHandle)->device = sg_device();
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle)
{
	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	free(lightHandle);
	return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
	return sg_fault(__func__) ? 0 : CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
	return sg_fault(__func__) ? 0 : CUDART_VERSION;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
	return sg_fault(__func__) ? "CUBLAS_STATUS_UNKNOWN" : sg_status_name(status);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
	return sg_fault(__func__) ? "unknown status" : sg_status_sentence(status);
}

/* ---- descriptors ---- */

/* Clears a descriptor in the caller's memory, which must be as large as the vendor's. */
static cublasStatus_t clear(void *descriptor, size_t size, size_t needed)
{
	if (descriptor == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (size < needed)
		return CUBLAS_STATUS_ALLOC_FAILED;
	memset(descriptor, 0, needed);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- a row for each function: its name, its parameters or the descriptor's type, and what it does ---- */

#define INIT(name, descriptor, parameters, init) \
	cublasStatus_t name(PM_OPEN parameters) \
	{ \
		cublasStatus_t status; \
\
		SG_ENTER(); \
		status = clear(descriptor, size, sizeof(*(descriptor))); \
		if (status == CUBLAS_STATUS_SUCCESS) \
			init; \
		return status; \
	}
#define CREATE(name, descriptor, parameters, init) \
	cublasStatus_t name(PM_OPEN parameters) \
	{ \
		SG_ENTER(); \
		if ((descriptor) == NULL) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		*(descriptor) = calloc(1, sizeof(**(descriptor))); \
		if (*(descriptor) == NULL) \
			return CUBLAS_STATUS_ALLOC_FAILED; \
		init; \
		return CUBLAS_STATUS_SUCCESS; \
	}
#define DESTROY(name, type) \
	cublasStatus_t name(type descriptor) \
	{ \
		SG_ENTER(); \
		free(descriptor); \
		return CUBLAS_STATUS_SUCCESS; \
	}
#define SET(name, type, attribute_type, attributes) \
	cublasStatus_t name(type descriptor, attribute_type attr, const void *buf, size_t sizeInBytes) \
	{ \
		SG_ENTER(); \
		return sg_attribute_set( \
			attributes, LENGTH(attributes), descriptor, (int)attr, buf, sizeInBytes); \
	}
#define GET(name, type, attribute_type, attributes) \
	cublasStatus_t name( \
		type descriptor, attribute_type attr, void *buf, size_t sizeInBytes, size_t *sizeWritten) \
	{ \
		SG_ENTER(); \
		return sg_attribute_get(attributes, LENGTH(attributes), descriptor, (int)attr, buf, \
			sizeInBytes, sizeWritten); \
	}

static void init_layout(void *descriptor, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld)
{
	const struct sg_layout layout = {.type = (uint32_t)type,
		.rows = rows,
		.columns = columns,
		.ld = ld,
		.order = CUBLASLT_ORDER_COL,
		.batch_count = 1};

	memcpy(descriptor, &layout, sizeof(layout));
}

INIT(cublasLtMatrixLayoutInit_internal, matLayout,
	(cublasLtMatrixLayout_t matLayout, size_t size, cudaDataType type, uint64_t rows, uint64_t cols,
		int64_t ld),
	init_layout(matLayout, type, rows, cols, ld))
CREATE(cublasLtMatrixLayoutCreate, matLayout,
	(cublasLtMatrixLayout_t * matLayout, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld),
	init_layout(*matLayout, type, rows, cols, ld))
DESTROY(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t)
SET(cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
	layout_attributes)
GET(cublasLtMatrixLayoutGetAttribute, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
	layout_attributes)

static void init_matmul(void *descriptor, cublasComputeType_t compute, cudaDataType_t scale)
{
	const struct sg_matmul matmul = {.compute = (int32_t)compute,
		.scale = (int32_t)scale,
		.epilogue = CUBLASLT_EPILOGUE_DEFAULT,
		.fill = 2 /* full */,
		.aux_type = -1,
		.bias_type = -1};

	memcpy(descriptor, &matmul, sizeof(matmul));
}

INIT(cublasLtMatmulDescInit_internal, matmulDesc,
	(cublasLtMatmulDesc_t matmulDesc, size_t size, cublasComputeType_t computeType,
		cudaDataType_t scaleType),
	init_matmul(matmulDesc, computeType, scaleType))
CREATE(cublasLtMatmulDescCreate, matmulDesc,
	(cublasLtMatmulDesc_t * matmulDesc, cublasComputeType_t computeType, cudaDataType_t scaleType),
	init_matmul(*matmulDesc, computeType, scaleType))
DESTROY(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t)
SET(cublasLtMatmulDescSetAttribute, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, matmul_attributes)
GET(cublasLtMatmulDescGetAttribute, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, matmul_attributes)

static void init_preference(void *descriptor)
{
	const struct sg_preference preference = {.reductions = 7,
		.alignment_a = 256,
		.alignment_b = 256,
		.alignment_c = 256,
		.alignment_d = 256,
		.implementations = UINT64_MAX};

	memcpy(descriptor, &preference, sizeof(preference));
}

INIT(cublasLtMatmulPreferenceInit_internal, pref, (cublasLtMatmulPreference_t pref, size_t size),
	init_preference(pref))
CREATE(cublasLtMatmulPreferenceCreate, pref, (cublasLtMatmulPreference_t * pref), init_preference(*pref))
DESTROY(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t)
SET(cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
	preference_attributes)
GET(cublasLtMatmulPreferenceGetAttribute, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
	preference_attributes)

INIT(cublasLtMatrixTransformDescInit_internal, transformDesc,
	(cublasLtMatrixTransformDesc_t transformDesc, size_t size, cudaDataType scaleType),
	((struct sg_transform *)transformDesc)->scale = (int32_t)scaleType)
CREATE(cublasLtMatrixTransformDescCreate, transformDesc,
	(cublasLtMatrixTransformDesc_t * transformDesc, cudaDataType scaleType),
	((struct sg_transform *)*transformDesc)->scale = (int32_t)scaleType)
DESTROY(cublasLtMatrixTransformDescDestroy, cublasLtMatrixTransformDesc_t)
SET(cublasLtMatrixTransformDescSetAttribute, cublasLtMatrixTransformDesc_t,
	cublasLtMatrixTransformDescAttributes_t, transform_attributes)
GET(cublasLtMatrixTransformDescGetAttribute, cublasLtMatrixTransformDesc_t,
	cublasLtMatrixTransformDescAttributes_t, transform_attributes)
