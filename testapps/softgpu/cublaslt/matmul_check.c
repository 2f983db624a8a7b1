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

static bool is_wide(uint32_t type)
{
	return type == CUDA_R_16BF || type == CUDA_R_16F || type == CUDA_R_32F;
}

/* The matrix unit has them from compute capability 8.9 on, and takes A transposed and B as it is, in lines of
 * 16 bytes. */
static bool types_of_8_bits_fit(
	const struct sg_matmul *matmul, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	if (sg_capability() < 89 || !sg_is_8f(a) || !sg_is_8f(b) || (a == SG_R_8F_E5M2 && b == SG_R_8F_E5M2))
		return false;
	if (matmul->compute != CUBLAS_COMPUTE_32F || matmul->scale != CUDA_R_32F)
		return false;
	return sg_is_8f(d) ? is_wide(c) || c == d : is_wide(d) && c == d;
}

static bool layouts_of_8_bits_fit(
	const struct sg_matmul *matmul, const struct sg_layout *a, const struct sg_layout *b)
{
	return matmul->op_a != CUBLAS_OP_N && matmul->op_b == CUBLAS_OP_N && a->order == CUBLASLT_ORDER_COL &&
	       b->order == CUBLASLT_ORDER_COL && a->ld % 16 == 0 && b->ld % 16 == 0 && a->rows % 16 == 0;
}

static bool scale_mode_is_known(int32_t mode)
{
	return mode == SG_SCALE_ONE || mode == SG_SCALE_OUTER || mode == SG_SCALE_BLOCKS_OF_128 ||
	       mode == SG_SCALE_SQUARES_OF_128;
}

/* Blocks of 16 and 32 have scales of 8 bits, which the matrix unit has from 10.0 on. */
static cublasStatus_t check_scales(const struct sg_matmul *matmul, uint32_t a, uint32_t c, uint32_t d)
{
	bool has_scales = matmul->a_scale != NULL || matmul->b_scale != NULL;
	bool scales_result = matmul->d_scale != NULL || matmul->amax != NULL || matmul->aux_scale != NULL ||
			     matmul->aux_amax != NULL;

	if ((has_scales && !sg_is_8f(a)) || (scales_result && !sg_is_8f(d)) ||
		(matmul->c_scale != NULL && !sg_is_8f(c)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (sg_is_8f(a) &&
		(!scale_mode_is_known(matmul->a_scale_mode) || !scale_mode_is_known(matmul->b_scale_mode)))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return matmul->aux_scale != NULL || matmul->aux_amax != NULL ||
			       matmul->c_scale_mode != SG_SCALE_ONE || matmul->d_scale_mode != SG_SCALE_ONE
		       ? CUBLAS_STATUS_NOT_SUPPORTED
		       : CUBLAS_STATUS_SUCCESS;
}

/* What the numbers are and what they are multiplied in. */
static bool types_fit(const struct sg_matmul *matmul, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	bool is_double =
		matmul->compute == CUBLAS_COMPUTE_64F || matmul->compute == CUBLAS_COMPUTE_64F_PEDANTIC;

	if (sg_is_8f(a) || sg_is_8f(b) || sg_is_8f(d))
		return types_of_8_bits_fit(matmul, a, b, c, d);
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
	status = check_scales(matmul, a->type, c->type, d->type);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	if (!types_fit(matmul, a->type, b->type, c->type, d->type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (sg_is_8f(a->type) && !layouts_of_8_bits_fit(matmul, a, b))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return check_epilogue(matmul, d);
}
