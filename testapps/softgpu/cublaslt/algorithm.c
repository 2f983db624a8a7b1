/*
 * Choosing an algorithm for a product.
 *
 * The one idea: there is one, which takes everything that is computed at all and no workspace. Its settings
 * can be changed and asked for, and change nothing.
 */
#include "cublaslt_private.h"

#include <string.h>

#define LENGTH(table) ((int)(sizeof(table) / sizeof((table)[0])))
#define ROW(name, field, is_fixed) \
	{ \
		name, offsetof(struct sg_algorithm, field), sizeof(((struct sg_algorithm *)NULL)->field), \
			is_fixed \
	}

static const struct sg_attribute config_attributes[] = {
	ROW(CUBLASLT_ALGO_CONFIG_ID, id, true),
	ROW(CUBLASLT_ALGO_CONFIG_TILE_ID, tile, false),
	ROW(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, splits, false),
	ROW(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, reduction, false),
	ROW(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzling, false),
	ROW(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom, false),
	ROW(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages, false),
	ROW(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, inner_shape, false),
	ROW(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster_shape, false),
};

/* What it can do: a number per question, of the size of the answer. */
struct capability {
	int name;
	size_t bytes;
	uint64_t value;
};

static const struct capability capabilities[] = {
	{CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, 4, 0},
	{CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, 4, 0},
	{CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, 4, 0},
	{CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, 4, 1},
	{CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, 4, 1},
	{CUBLASLT_ALGO_CAP_UPLO_SUPPORT, 4, 0},
	{CUBLASLT_ALGO_CAP_TILE_IDS, 4, 0},
	{CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, 4, 0},
	{CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER, 4, 0},
	{CUBLASLT_ALGO_CAP_POINTER_MODE_MASK, 4, 31},
	{CUBLASLT_ALGO_CAP_EPILOGUE_MASK, 4, 1023},
	{CUBLASLT_ALGO_CAP_STAGES_IDS, 4, 0},
	{CUBLASLT_ALGO_CAP_LD_NEGATIVE, 4, 0},
	{CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, 8, 1}, /* fused multiply and add */
	{CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, 4, 2},
	{CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, 4, 2},
	{CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, 4, 2},
	{CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, 4, 2},
	{CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT, 4, 0},
	{CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT, 4, 0},
};

static void set_algorithm(cublasLtMatmulAlgo_t *algo)
{
	const struct sg_algorithm made = {.id = SG_ALGORITHM_ID, .splits = 1, .is_set = SG_ALGORITHM_SET};

	memset(algo, 0, sizeof(*algo));
	memcpy(algo, &made, sizeof(made));
}

static bool is_algorithm(const cublasLtMatmulAlgo_t *algo)
{
	return algo != NULL && ((const struct sg_algorithm *)algo)->is_set == SG_ALGORITHM_SET;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle,
	cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
	cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc, cublasLtMatmulPreference_t preference,
	int requestedAlgoCount, cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int *returnAlgoCount)
{
	cublasStatus_t status;

	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (operationDesc == NULL || Adesc == NULL || Bdesc == NULL || Cdesc == NULL || Ddesc == NULL ||
		preference == NULL || requestedAlgoCount <= 0 || heuristicResultsArray == NULL ||
		returnAlgoCount == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*returnAlgoCount = 0;
	status = sg_matmul_check((const void *)operationDesc, (const void *)Adesc, (const void *)Bdesc,
		(const void *)Cdesc, (const void *)Ddesc);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	memset(&heuristicResultsArray[0], 0, sizeof(heuristicResultsArray[0]));
	set_algorithm(&heuristicResultsArray[0].algo);
	heuristicResultsArray[0].state = CUBLAS_STATUS_SUCCESS;
	heuristicResultsArray[0].wavesCount = 1;
	*returnAlgoCount = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static bool types_are_supported(cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cudaDataType_t d)
{
	return sg_real_bytes(a) > 0 && sg_real_bytes(b) > 0 && sg_real_bytes(c) > 0 && sg_real_bytes(d) > 0;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
	cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype, cudaDataType_t Ctype,
	cudaDataType_t Dtype, int requestedAlgoCount, int algoIdsArray[], int *returnAlgoCount)
{
	(void)computeType;
	(void)scaleType;
	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (requestedAlgoCount <= 0 || algoIdsArray == NULL || returnAlgoCount == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*returnAlgoCount = types_are_supported(Atype, Btype, Ctype, Dtype) ? 1 : 0;
	algoIdsArray[0] = SG_ALGORITHM_ID;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
	cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype, cudaDataType_t Ctype,
	cudaDataType_t Dtype, int algoId, cublasLtMatmulAlgo_t *algo)
{
	(void)computeType;
	(void)scaleType;
	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (algo == NULL || algoId != SG_ALGORITHM_ID)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!types_are_supported(Atype, Btype, Ctype, Dtype))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	set_algorithm(algo);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
	cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc,
	cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
	cublasLtMatmulHeuristicResult_t *result)
{
	cublasStatus_t status;

	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (operationDesc == NULL || Adesc == NULL || Bdesc == NULL || Cdesc == NULL || Ddesc == NULL ||
		!is_algorithm(algo) || result == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	status = sg_matmul_check((const void *)operationDesc, (const void *)Adesc, (const void *)Bdesc,
		(const void *)Cdesc, (const void *)Ddesc);
	result->workspaceSize = 0;
	result->wavesCount = 1;
	result->state = status;
	return status;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
	cublasLtMatmulAlgoCapAttributes_t attr, void *buf, size_t sizeInBytes, size_t *sizeWritten)
{
	SG_ENTER();
	if (!is_algorithm(algo))
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int i = 0; i < LENGTH(capabilities); i++) {
		const struct capability *found = &capabilities[i];

		if (found->name != (int)attr)
			continue;
		if (sizeInBytes == 0 ? sizeWritten == NULL : buf == NULL || sizeInBytes < found->bytes)
			return CUBLAS_STATUS_INVALID_VALUE;
		/* Little-endian: the smaller answer is the first bytes of the larger. */
		if (sizeInBytes > 0)
			memcpy(buf, &found->value, found->bytes);
		if (sizeWritten != NULL)
			*sizeWritten = found->bytes;
		return CUBLAS_STATUS_SUCCESS;
	}
	return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
	cublasLtMatmulAlgoConfigAttributes_t attr, const void *buf, size_t sizeInBytes)
{
	SG_ENTER();
	if (!is_algorithm(algo))
		return CUBLAS_STATUS_INVALID_VALUE;
	return sg_attribute_set(
		config_attributes, LENGTH(config_attributes), algo, (int)attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
	cublasLtMatmulAlgoConfigAttributes_t attr, void *buf, size_t sizeInBytes, size_t *sizeWritten)
{
	SG_ENTER();
	if (!is_algorithm(algo))
		return CUBLAS_STATUS_INVALID_VALUE;
	return sg_attribute_get(
		config_attributes, LENGTH(config_attributes), algo, (int)attr, buf, sizeInBytes, sizeWritten);
}
