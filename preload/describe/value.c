/*
 * Values of operations that are more than a parameter: types in our own words, scalars, sizes
 * behind pointers.
 */
#include "value.h"

#include <string.h>

#include "object.h"

uint64_t pmh_type_of_cudnn(cudnnDataType_t type)
{
	switch ((int)type) {
	case CUDNN_DATA_FLOAT:
		return PM_TYPE_F32;
	case CUDNN_DATA_DOUBLE:
		return PM_TYPE_F64;
	case CUDNN_DATA_HALF:
		return PM_TYPE_F16;
	case CUDNN_DATA_BFLOAT16:
		return PM_TYPE_BF16;
	case CUDNN_DATA_INT8:
		return PM_TYPE_I8;
	case CUDNN_DATA_UINT8:
		return PM_TYPE_U8;
	case CUDNN_DATA_INT32:
		return PM_TYPE_I32;
	case CUDNN_DATA_INT64:
		return PM_TYPE_I64;
	default:
		return PM_TYPE_OTHER;
	}
}

uint64_t pmh_cuda_type(cudaDataType_t type)
{
	switch ((int)type) {
	case CUDA_R_32F:
		return PM_TYPE_F32;
	case CUDA_R_64F:
		return PM_TYPE_F64;
	case CUDA_R_16F:
		return PM_TYPE_F16;
	case CUDA_R_16BF:
		return PM_TYPE_BF16;
	case CUDA_R_8I:
		return PM_TYPE_I8;
	case CUDA_R_8U:
		return PM_TYPE_U8;
	case CUDA_R_32I:
		return PM_TYPE_I32;
	case CUDA_R_32U:
		return PM_TYPE_U32;
	case CUDA_R_64I:
		return PM_TYPE_I64;
	case CUDA_R_64U:
		return PM_TYPE_U64;
	default:
		return PM_TYPE_OTHER;
	}
}

uint64_t pmh_compute_type(cublasComputeType_t type)
{
	switch ((int)type) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return PM_TYPE_F16;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		return PM_TYPE_F64;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		return PM_TYPE_I32;
	default:
		return PM_TYPE_F32;
	}
}

uint64_t pmh_nccl_type(ncclDataType_t type)
{
	static const uint8_t types[] = {[ncclInt8] = PM_TYPE_I8,
		[ncclUint8] = PM_TYPE_U8,
		[ncclInt32] = PM_TYPE_I32,
		[ncclUint32] = PM_TYPE_U32,
		[ncclInt64] = PM_TYPE_I64,
		[ncclUint64] = PM_TYPE_U64,
		[ncclFloat16] = PM_TYPE_F16,
		[ncclFloat32] = PM_TYPE_F32,
		[ncclFloat64] = PM_TYPE_F64,
		[ncclBfloat16] = PM_TYPE_BF16};

	return (unsigned)type < sizeof types ? types[type] : PM_TYPE_OTHER;
}

size_t pmh_type_bytes(uint64_t type)
{
	static const uint8_t sizes[] = {0,
#define PM_FIELD(name, bytes) bytes,
		PM_FORMAT_TYPES(PM_FIELD)
#undef PM_FIELD
	};

	return type < sizeof sizes ? sizes[type] : 0;
}

uint64_t pmh_scale(const void *beta, const void *result)
{
	const struct object *o = object_of(result, false);
	/* a tensor's and a filter's first value is its type */
	const bool is_double = o && o->value_count && o->values[0] == PM_TYPE_F64;

	return pmh_scale_typed(beta, is_double ? PM_TYPE_F64 : PM_TYPE_F32);
}

/* ---- parameters behind pointers ---- */

uint64_t pmh_extent_bytes(const struct cudaMemcpy3DParms *p)
{
	return p ? p->extent.width * p->extent.height * p->extent.depth : 0;
}

uint64_t pmh_peer_extent_bytes(const struct cudaMemcpy3DPeerParms *p)
{
	return p ? p->extent.width * p->extent.height * p->extent.depth : 0;
}

uint64_t pmh_3d_kind(const struct cudaMemcpy3DParms *p)
{
	return p ? p->kind : 0;
}

uint64_t pmh_sum(const size_t *sizes, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; sizes && i < count; i++)
		sum += sizes[i];
	return sum;
}

const cudaLaunchConfig_t *pmh_config(const cudaLaunchConfig_t *config)
{
	static const cudaLaunchConfig_t none;

	return config ? config : &none;
}

const CUlaunchConfig *pmh_driver_config(const CUlaunchConfig *config)
{
	static const CUlaunchConfig none;

	return config ? config : &none;
}

/* Unified memory may be anywhere. */
static enum pm_direction direction(CUmemorytype from, CUmemorytype to)
{
	if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
		return PM_DIRECTION_DEFAULT;
	if (from == CU_MEMORYTYPE_HOST)
		return to == CU_MEMORYTYPE_HOST ? PM_DIRECTION_H2H : PM_DIRECTION_H2D;
	return to == CU_MEMORYTYPE_HOST ? PM_DIRECTION_D2H : PM_DIRECTION_D2D;
}

uint64_t pmh_driver_2d_bytes(const CUDA_MEMCPY2D *p)
{
	return p ? p->WidthInBytes * p->Height : 0;
}

uint64_t pmh_driver_2d_direction(const CUDA_MEMCPY2D *p)
{
	return p ? direction(p->srcMemoryType, p->dstMemoryType) : PM_DIRECTION_DEFAULT;
}

uint64_t pmh_driver_3d_bytes(const CUDA_MEMCPY3D *p)
{
	return p ? p->WidthInBytes * p->Height * p->Depth : 0;
}

uint64_t pmh_driver_3d_direction(const CUDA_MEMCPY3D *p)
{
	return p ? direction(p->srcMemoryType, p->dstMemoryType) : PM_DIRECTION_DEFAULT;
}

uint64_t pmh_driver_3d_peer_bytes(const CUDA_MEMCPY3D_PEER *p)
{
	return p ? p->WidthInBytes * p->Height * p->Depth : 0;
}
