/* What the work of cuBLAS and cuBLASLt costs: see cost.h. */
#include "cost.h"

/* Bits of the math mode beside its value. */
#define MATH_FLAGS 16

enum sg_cost_type sg_cost_product_type(cudaDataType type, cublasComputeType_t compute, cublasMath_t math)
{
	int mode = (int)math & ~MATH_FLAGS;

	if (type == CUDA_R_64F)
		return SG_COST_F64;
	if (mode == CUBLAS_PEDANTIC_MATH)
		return SG_COST_F32;
	switch ((int)compute) {
	case CUBLAS_COMPUTE_16F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
		return SG_COST_F32;
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
		return SG_COST_F16;
	case CUBLAS_COMPUTE_32F_FAST_TF32:
		return type == CUDA_R_32F ? SG_COST_TF32 : SG_COST_F16;
	default:
		break;
	}
	if (type != CUDA_R_32F)
		return SG_COST_F16;
	return mode == CUBLAS_TF32_TENSOR_OP_MATH ? SG_COST_TF32 : SG_COST_F32;
}

int sg_cost_alignment(int so_far, cudaDataType type, int64_t ld, const void *address)
{
	int bytes = (int)sg_real_bytes(type);
	int alignment = sg_alignment(bytes, (double)ld, (double)((uintptr_t)address % 16) / bytes);

	return alignment < so_far ? alignment : so_far;
}

struct sg_cost sg_cost_product(const struct sg_product *product, enum sg_cost_type type)
{
	const struct sg_product *p = product;
	struct sg_cost cost = SG_COST(SG_COST_PRODUCT, type, 2 * p->m * p->n * p->k * p->count, 0);

	cost.bytes = p->a_count * p->m * p->k * (double)sg_real_bytes(p->a_type);
	cost.bytes += p->b_count * p->k * p->n * (double)sg_real_bytes(p->b_type);
	cost.bytes += (p->adds ? 2 : 1) * p->count * p->m * p->n * (double)sg_real_bytes(p->c_type);
	cost.geometry = (struct sg_geometry){
		.is_known = 1,
		.work = SG_PRODUCT,
		.element_bytes = (int)sg_real_bytes(p->a_type),
		.alignment = p->alignment,
		.count = p->count,
		.m = p->m,
		.n = p->n,
		.k = p->k,
	};
	return cost;
}

struct sg_cost sg_cost_vector(cudaDataType type, double flops, double elements)
{
	return (struct sg_cost)SG_COST(SG_COST_VECTOR, type == CUDA_R_64F ? SG_COST_F64 : SG_COST_F32, flops,
		elements * (double)sg_real_bytes(type));
}
