/* What cublasLtMatmul refuses: see sg_matmul_check. */
#include "cublaslt_private.h"

#define RELU_LD_BITS 128
#define GELU_LD_ELEMENTS 8

static bool epilogue_is_known(uint32_t epilogue)
{
	switch ((int)epilogue) {
	case CUBLASLT_EPILOGUE_DEFAULT:
	case CUBLASLT_EPILOGUE_RELU:
	case CUBLASLT_EPILOGUE_RELU_AUX:
	case CUBLASLT_EPILOGUE_BIAS:
	case CUBLASLT_EPILOGUE_RELU_BIAS:
	case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
	case CUBLASLT_EPILOGUE_DRELU:
	case CUBLASLT_EPILOGUE_DRELU_BGRAD:
	case CUBLASLT_EPILOGUE_GELU:
	case CUBLASLT_EPILOGUE_GELU_AUX:
	case CUBLASLT_EPILOGUE_GELU_BIAS:
	case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
	case CUBLASLT_EPILOGUE_DGELU:
	case CUBLASLT_EPILOGUE_DGELU_BGRAD:
	case CUBLASLT_EPILOGUE_BGRADA:
	case CUBLASLT_EPILOGUE_BGRADB:
		return true;
	default:
		return false;
	}
}

/* The auxiliary matrix has D's order; its leading dimension counts elements, of ReLU's mask bits. */
static bool aux_fits(const struct sg_matmul *matmul, const struct sg_layout *d)
{
	int64_t side = (int64_t)(d->order == CUBLASLT_ORDER_ROW ? d->columns : d->rows);
	bool is_mask = matmul->epilogue & (SG_EPILOGUE_RELU | SG_EPILOGUE_RELU_SLOPE);
	int64_t unit = is_mask ? RELU_LD_BITS : GELU_LD_ELEMENTS;

	return matmul->aux != NULL && matmul->aux_ld >= side && matmul->aux_ld % unit == 0 &&
	       matmul->aux_stride % unit == 0;
}

static cublasStatus_t check_epilogue(const struct sg_matmul *matmul, const struct sg_layout *d)
{
	if (!epilogue_is_known(matmul->epilogue))
		return CUBLAS_STATUS_INVALID_VALUE;
	if ((matmul->epilogue & SG_EPILOGUE_AUX) && !aux_fits(matmul, d))
		return CUBLAS_STATUS_INVALID_VALUE;
	if ((matmul->bias_type != -1 && sg_real_bytes((cudaDataType)matmul->bias_type) == 0) ||
		(matmul->aux_type != -1 && sg_real_bytes((cudaDataType)matmul->aux_type) == 0))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return CUBLAS_STATUS_SUCCESS;
}

/* What the numbers are and what they are multiplied in. */
static bool types_fit(const struct sg_matmul *matmul, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	bool is_double =
		matmul->compute == CUBLAS_COMPUTE_64F || matmul->compute == CUBLAS_COMPUTE_64F_PEDANTIC;

	if (a != b || c != d)
		return false;
	if (is_double)
		return a == CUDA_R_64F && d == CUDA_R_64F && matmul->scale == CUDA_R_64F;
	switch (matmul->compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return a == CUDA_R_16F && d == CUDA_R_16F && matmul->scale == CUDA_R_16F;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
		return a != CUDA_R_64F && d != CUDA_R_64F && (d == CUDA_R_32F || d == a) &&
		       matmul->scale == CUDA_R_32F;
	default:
		return false;
	}
}

static cublasStatus_t check_layouts(const struct sg_layout *const *layout)
{
	for (int i = 0; i < 4; i++) {
		cublasStatus_t status = sg_layout_check(layout[i]);

		if (status != CUBLAS_STATUS_SUCCESS)
			return status;
		if (layout[i]->batch_count != layout[3]->batch_count)
			return CUBLAS_STATUS_INVALID_VALUE;
	}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sg_matmul_check(const struct sg_matmul *matmul, const struct sg_layout *a,
	const struct sg_layout *b, const struct sg_layout *c, const struct sg_layout *d)
{
	cublasStatus_t status = check_layouts((const struct sg_layout *const[]){a, b, c, d});

	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	if (!sg_op_is_known(matmul->op_a) || !sg_op_is_known(matmul->op_b) || matmul->op_c != CUBLAS_OP_N ||
		matmul->pointer_mode < CUBLASLT_POINTER_MODE_HOST ||
		matmul->pointer_mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (sg_rows_of(a, matmul->op_a) != d->rows || sg_columns_of(b, matmul->op_b) != d->columns ||
		sg_columns_of(a, matmul->op_a) != sg_rows_of(b, matmul->op_b) || c->rows != d->rows ||
		c->columns != d->columns)
		return CUBLAS_STATUS_INVALID_VALUE;
	/* Scales belong to 8-bit types, which there are not. */
	if (matmul->a_scale != NULL || matmul->b_scale != NULL || matmul->c_scale != NULL ||
		matmul->d_scale != NULL || matmul->aux_scale != NULL || matmul->amax != NULL ||
		matmul->aux_amax != NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!types_fit(matmul, a->type, b->type, c->type, d->type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return check_epilogue(matmul, d);
}
