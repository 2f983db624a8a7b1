/* The driver's functions for programs with per-thread default streams (calls/shell.h), but for those
 * that stand with their rows. */
#include "cuda_private.h"

#define PER_THREAD(name, suffix, pairs) SG_PER_THREAD(CUresult, name, suffix, pairs)

/* clang-format off */
PER_THREAD(cuMemcpyPeer, _ptds, (CUdeviceptr, dstDevice, CUcontext, dstContext, CUdeviceptr, srcDevice,
	CUcontext, srcContext, size_t, ByteCount))
PER_THREAD(cuMemcpyPeerAsync, _ptsz, (CUdeviceptr, dstDevice, CUcontext, dstContext, CUdeviceptr, srcDevice,
	CUcontext, srcContext, size_t, ByteCount, CUstream, hStream))
PER_THREAD(cuMemcpyBatchAsync, _ptsz, (CUdeviceptr *, dsts, CUdeviceptr *, srcs, size_t *, sizes,
	size_t, count, CUmemcpyAttributes *, attrs, size_t *, attrsIdxs, size_t, numAttrs,
	size_t *, failIdx, CUstream, hStream))
PER_THREAD(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *, pCopy))
PER_THREAD(cuGraphInstantiateWithParams, _ptsz, (CUgraphExec *, phGraphExec, CUgraph, hGraph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *, instantiateParams))
PER_THREAD(cuLaunchKernel, _ptsz, (CUfunction, f, unsigned int, gridDimX, unsigned int, gridDimY,
	unsigned int, gridDimZ, unsigned int, blockDimX, unsigned int, blockDimY, unsigned int, blockDimZ,
	unsigned int, sharedMemBytes, CUstream, hStream, void **, kernelParams, void **, extra))
PER_THREAD(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *, config, CUfunction, f, void **, kernelParams,
	void **, extra))
PER_THREAD(cuLaunchCooperativeKernel, _ptsz, (CUfunction, f, unsigned int, gridDimX, unsigned int, gridDimY,
	unsigned int, gridDimZ, unsigned int, blockDimX, unsigned int, blockDimY, unsigned int, blockDimZ,
	unsigned int, sharedMemBytes, CUstream, hStream, void **, kernelParams))
PER_THREAD(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *, dptr, size_t, bytesize, CUmemoryPool, pool,
	CUstream, hStream))
PER_THREAD(cuStreamGetFlags, _ptsz, (CUstream, hStream, unsigned int *, flags))
PER_THREAD(cuStreamGetPriority, _ptsz, (CUstream, hStream, int *, priority))
PER_THREAD(cuStreamGetDevice, _ptsz, (CUstream, hStream, CUdevice *, device))
PER_THREAD(cuStreamGetCtx_v2, _ptsz, (CUstream, hStream, CUcontext *, pCtx, CUgreenCtx *, pGreenCtx))
PER_THREAD(cuStreamAddCallback, _ptsz, (CUstream, hStream, CUstreamCallback, callback, void *, userData,
	unsigned int, flags))
PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz, (CUstream, hStream, CUgraph, hGraph,
	const CUgraphNode *, dependencies, const CUgraphEdgeData *, dependencyData, size_t, numDependencies,
	CUstreamCaptureMode, mode))
PER_THREAD(cuStreamUpdateCaptureDependencies_v2, _ptsz, (CUstream, hStream, CUgraphNode *, dependencies,
	const CUgraphEdgeData *, dependencyData, size_t, numDependencies, unsigned int, flags))
PER_THREAD(cuStreamIsCapturing, _ptsz, (CUstream, hStream, CUstreamCaptureStatus *, captureStatus))
PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz, (CUstream, hStream, CUstreamCaptureStatus *, captureStatus_out,
	cuuint64_t *, id_out, CUgraph *, graph_out, const CUgraphNode **, dependencies_out,
	const CUgraphEdgeData **, edgeData_out, size_t *, numDependencies_out))
