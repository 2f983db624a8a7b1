/*
 * Values of operations that are more than a parameter: types as the trace has them (enum pm_type), scalars,
 * sizes behind pointers. Any thread.
 */
#ifndef VALUE_H
#define VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "guest/attribute.h"
#include "pm_abi.h"
#include "pm_format.h"

uint64_t pmh_type_of_cudnn(cudnnDataType_t type);
uint64_t pmh_cuda_type(cudaDataType_t type);
uint64_t pmh_compute_type(cublasComputeType_t type);
uint64_t pmh_nccl_type(ncclDataType_t type);
size_t pmh_type_bytes(uint64_t type);

/* The scale that a scalar of cuDNN's is: on the host, double where the result's tensor or filter is, else
 * float. */
uint64_t pmh_scale(const void *beta, const void *result);

/* What a scalar multiplies with (PM_VALUE_SCALE). In a wrapper the type is a constant, and little is left of
 * this. */
PMH_INLINE uint64_t pmh_scale_typed(const void *beta, uint64_t type)
{
	uint64_t wide = 0, one = 0x3f800000u;
	uint32_t narrow = 0;
	uint16_t half = 0;

	if (!beta)
		return 3;
	if (type == PM_TYPE_F64) {
		memcpy(&wide, beta, sizeof wide);
		one = 0x3ff0000000000000u;
	} else if (type == PM_TYPE_F16) {
		memcpy(&half, beta, sizeof half);
		wide = half;
		one = 0x3c00u;
	} else {
		memcpy(&narrow, beta, sizeof narrow);
		wide = narrow;
		one = type == PM_TYPE_I32 ? 1 : one;
	}
	return wide == 0 ? 0 : wide == one ? 1 : 2;
}

/* Values of rows whose parameters lie behind a pointer; 0 for a NULL. */
uint64_t pmh_extent_bytes(const struct cudaMemcpy3DParms *p);
uint64_t pmh_peer_extent_bytes(const struct cudaMemcpy3DPeerParms *p);
uint64_t pmh_3d_kind(const struct cudaMemcpy3DParms *p);
uint64_t pmh_sum(const size_t *sizes, size_t count);
const cudaLaunchConfig_t *pmh_config(const cudaLaunchConfig_t *config); /* never NULL */
const CUlaunchConfig *pmh_driver_config(const CUlaunchConfig *config);  /* never NULL */
uint64_t pmh_driver_2d_bytes(const CUDA_MEMCPY2D *p);
uint64_t pmh_driver_2d_direction(const CUDA_MEMCPY2D *p);
uint64_t pmh_driver_3d_bytes(const CUDA_MEMCPY3D *p);
uint64_t pmh_driver_3d_direction(const CUDA_MEMCPY3D *p);
uint64_t pmh_driver_3d_peer_bytes(const CUDA_MEMCPY3D_PEER *p);

#endif
