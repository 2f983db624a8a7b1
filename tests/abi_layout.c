/*
 * Prints the sizes and offsets of the vendor's structs that we declare ourselves. Built twice, with the
 * vendor's headers and with ours; the outputs must be equal.
 */
#include <stdio.h>

#include "pm_abi.h"

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type));
#define FIELD(type, field) \
	printf("%s.%s %zu %zu\n", #type, #field, offsetof(type, field), sizeof(((type *)0)->field));

int main(void)
{
	SIZE(dim3)
	SIZE(ncclUniqueId)
	SIZE(struct cudaPitchedPtr)
	SIZE(struct cudaExtent)
	SIZE(struct cudaMemLocation)
	FIELD(struct cudaMemLocation, id)
	SIZE(struct cudaMemcpy3DParms)
	FIELD(struct cudaMemcpy3DParms, srcPtr)
	FIELD(struct cudaMemcpy3DParms, dstPtr)
	FIELD(struct cudaMemcpy3DParms, extent)
	FIELD(struct cudaMemcpy3DParms, kind)
	SIZE(struct cudaMemcpy3DPeerParms)
	FIELD(struct cudaMemcpy3DPeerParms, dstDevice)
	FIELD(struct cudaMemcpy3DPeerParms, extent)
	SIZE(cudaLaunchConfig_t)
	FIELD(cudaLaunchConfig_t, blockDim)
	FIELD(cudaLaunchConfig_t, dynamicSmemBytes)
	FIELD(cudaLaunchConfig_t, stream)
	SIZE(struct cudaDeviceProp)
	FIELD(struct cudaDeviceProp, name)
	FIELD(struct cudaDeviceProp, totalGlobalMem)
	FIELD(struct cudaDeviceProp, sharedMemPerBlock)
	FIELD(struct cudaDeviceProp, warpSize)
	FIELD(struct cudaDeviceProp, maxThreadsPerBlock)
	FIELD(struct cudaDeviceProp, major)
	FIELD(struct cudaDeviceProp, minor)
	FIELD(struct cudaDeviceProp, multiProcessorCount)
	SIZE(struct cudaPointerAttributes)
	FIELD(struct cudaPointerAttributes, devicePointer)
	FIELD(struct cudaPointerAttributes, hostPointer)
	SIZE(struct cudaFuncAttributes)
	FIELD(struct cudaFuncAttributes, numRegs)
	FIELD(struct cudaFuncAttributes, binaryVersion)
	SIZE(struct cudaChannelFormatDesc)
	SIZE(uint3)
	SIZE(cudnnConvolutionFwdAlgoPerf_t)
	FIELD(cudnnConvolutionFwdAlgoPerf_t, time)
	FIELD(cudnnConvolutionFwdAlgoPerf_t, memory)
	FIELD(cudnnConvolutionFwdAlgoPerf_t, mathType)
	SIZE(cudnnConvolutionBwdDataAlgoPerf_t)
	SIZE(cudnnConvolutionBwdFilterAlgoPerf_t)
	return 0;
}
