/* The driver's functions for programs with per-thread default streams: see calls/shell.h. */
#include "cuda_private.h"
#include "calls/shell.h"

#define PER_THREAD(name, suffix, pairs) SG_PER_THREAD(CUresult, name, suffix, pairs)

/* clang-format off */
PER_THREAD(cuMemcpy, _ptds, (CUdeviceptr, dst, CUdeviceptr, src, size_t, ByteCount))
PER_THREAD(cuMemcpyAsync, _ptsz, (CUdeviceptr, dst, CUdeviceptr, src, size_t, ByteCount, CUstream, hStream))
PER_THREAD(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr, dstDevice, const void *, srcHost, size_t, ByteCount))
PER_THREAD(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr, dstDevice, const void *, srcHost, size_t, ByteCount,
	CUstream, hStream))
PER_THREAD(cuMemcpyDtoH_v2, _ptds, (void *, dstHost, CUdeviceptr, srcDevice, size_t, ByteCount))
PER_THREAD(cuMemcpyDtoHAsync_v2, _ptsz, (void *, dstHost, CUdeviceptr, srcDevice, size_t, ByteCount,
	CUstream, hStream))
PER_THREAD(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr, dstDevice, CUdeviceptr, srcDevice, size_t, ByteCount))
PER_THREAD(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr, dstDevice, CUdeviceptr, srcDevice, size_t, ByteCount,
	CUstream, hStream))
PER_THREAD(cuMemcpyPeer, _ptds, (CUdeviceptr, dstDevice, CUcontext, dstContext, CUdeviceptr, srcDevice,
	CUcontext, srcContext, size_t, ByteCount))
PER_THREAD(cuMemcpyPeerAsync, _ptsz, (CUdeviceptr, dstDevice, CUcontext, dstContext, CUdeviceptr, srcDevice,
	CUcontext, srcContext, size_t, ByteCount, CUstream, hStream))
PER_THREAD(cuMemcpyBatchAsync, _ptsz, (CUdeviceptr *, dsts, CUdeviceptr *, srcs, size_t *, sizes,
	size_t, count, CUmemcpyAttributes *, attrs, size_t *, attrsIdxs, size_t, numAttrs,
	size_t *, failIdx, CUstream, hStream))
PER_THREAD(cuMemcpyBatchAsync_v2, _ptsz, (CUdeviceptr *, dsts, CUdeviceptr *, srcs, size_t *, sizes,
	size_t, count, CUmemcpyAttributes *, attrs, size_t *, attrsIdxs, size_t, numAttrs,
	CUstream, hStream))
PER_THREAD(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *, pCopy))
PER_THREAD(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *, pCopy))
PER_THREAD(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *, pCopy, CUstream, hStream))
PER_THREAD(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *, pCopy))
PER_THREAD(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *, pCopy, CUstream, hStream))
PER_THREAD(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *, pCopy))
PER_THREAD(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *, pCopy, CUstream, hStream))
PER_THREAD(cuEventRecord, _ptsz, (CUevent, hEvent, CUstream, hStream))
PER_THREAD(cuEventRecordWithFlags, _ptsz, (CUevent, hEvent, CUstream, hStream, unsigned int, flags))
PER_THREAD(cuGraphInstantiateWithParams, _ptsz, (CUgraphExec *, phGraphExec, CUgraph, hGraph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *, instantiateParams))
PER_THREAD(cuGraphUpload, _ptsz, (CUgraphExec, hGraph, CUstream, hStream))
PER_THREAD(cuGraphLaunch, _ptsz, (CUgraphExec, hGraph, CUstream, hStream))
PER_THREAD(cuLaunchKernel, _ptsz, (CUfunction, f, unsigned int, gridDimX, unsigned int, gridDimY,
	unsigned int, gridDimZ, unsigned int, blockDimX, unsigned int, blockDimY, unsigned int, blockDimZ,
	unsigned int, sharedMemBytes, CUstream, hStream, void **, kernelParams, void **, extra))
PER_THREAD(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *, config, CUfunction, f, void **, kernelParams,
	void **, extra))
PER_THREAD(cuLaunchCooperativeKernel, _ptsz, (CUfunction, f, unsigned int, gridDimX, unsigned int, gridDimY,
	unsigned int, gridDimZ, unsigned int, blockDimX, unsigned int, blockDimY, unsigned int, blockDimZ,
	unsigned int, sharedMemBytes, CUstream, hStream, void **, kernelParams))
PER_THREAD(cuMemAllocAsync, _ptsz, (CUdeviceptr *, dptr, size_t, bytesize, CUstream, hStream))
PER_THREAD(cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *, dptr, size_t, bytesize, CUmemoryPool, pool,
	CUstream, hStream))
PER_THREAD(cuMemFreeAsync, _ptsz, (CUdeviceptr, dptr, CUstream, hStream))
PER_THREAD(cuMemPrefetchAsync, _ptsz, (CUdeviceptr, devPtr, size_t, count, CUdevice, dstDevice,
	CUstream, hStream))
PER_THREAD(cuMemPrefetchAsync_v2, _ptsz, (CUdeviceptr, devPtr, size_t, count, CUmemLocation, location,
	unsigned int, flags, CUstream, hStream))
PER_THREAD(cuMemsetD8_v2, _ptds, (CUdeviceptr, dstDevice, unsigned char, uc, size_t, N))
PER_THREAD(cuMemsetD8Async, _ptsz, (CUdeviceptr, dstDevice, unsigned char, uc, size_t, N,
	CUstream, hStream))
PER_THREAD(cuMemsetD2D8_v2, _ptds, (CUdeviceptr, dstDevice, size_t, dstPitch, unsigned char, uc,
	size_t, Width, size_t, Height))
PER_THREAD(cuMemsetD2D8Async, _ptsz, (CUdeviceptr, dstDevice, size_t, dstPitch, unsigned char, uc,
	size_t, Width, size_t, Height, CUstream, hStream))
PER_THREAD(cuMemsetD16_v2, _ptds, (CUdeviceptr, dstDevice, unsigned short, us, size_t, N))
PER_THREAD(cuMemsetD16Async, _ptsz, (CUdeviceptr, dstDevice, unsigned short, us, size_t, N,
	CUstream, hStream))
PER_THREAD(cuMemsetD2D16_v2, _ptds, (CUdeviceptr, dstDevice, size_t, dstPitch, unsigned short, us,
	size_t, Width, size_t, Height))
PER_THREAD(cuMemsetD2D16Async, _ptsz, (CUdeviceptr, dstDevice, size_t, dstPitch, unsigned short, us,
	size_t, Width, size_t, Height, CUstream, hStream))
PER_THREAD(cuMemsetD32_v2, _ptds, (CUdeviceptr, dstDevice, unsigned int, ui, size_t, N))
PER_THREAD(cuMemsetD32Async, _ptsz, (CUdeviceptr, dstDevice, unsigned int, ui, size_t, N,
	CUstream, hStream))
PER_THREAD(cuMemsetD2D32_v2, _ptds, (CUdeviceptr, dstDevice, size_t, dstPitch, unsigned int, ui,
	size_t, Width, size_t, Height))
PER_THREAD(cuMemsetD2D32Async, _ptsz, (CUdeviceptr, dstDevice, size_t, dstPitch, unsigned int, ui,
	size_t, Width, size_t, Height, CUstream, hStream))
PER_THREAD(cuStreamSynchronize, _ptsz, (CUstream, hStream))
PER_THREAD(cuStreamQuery, _ptsz, (CUstream, hStream))
PER_THREAD(cuStreamWaitEvent, _ptsz, (CUstream, hStream, CUevent, hEvent, unsigned int, Flags))
PER_THREAD(cuStreamGetFlags, _ptsz, (CUstream, hStream, unsigned int *, flags))
PER_THREAD(cuStreamGetPriority, _ptsz, (CUstream, hStream, int *, priority))
PER_THREAD(cuStreamGetDevice, _ptsz, (CUstream, hStream, CUdevice *, device))
PER_THREAD(cuStreamGetCtx, _ptsz, (CUstream, hStream, CUcontext *, pctx))
PER_THREAD(cuStreamGetCtx_v2, _ptsz, (CUstream, hStream, CUcontext *, pCtx, CUgreenCtx *, pGreenCtx))
PER_THREAD(cuLaunchHostFunc, _ptsz, (CUstream, hStream, CUhostFn, fn, void *, userData))
PER_THREAD(cuStreamAddCallback, _ptsz, (CUstream, hStream, CUstreamCallback, callback, void *, userData,
	unsigned int, flags))
PER_THREAD(cuStreamBeginCapture, _ptsz, (CUstream, hStream))
PER_THREAD(cuStreamBeginCapture_v2, _ptsz, (CUstream, hStream, CUstreamCaptureMode, mode))
PER_THREAD(cuStreamBeginCaptureToGraph, _ptsz, (CUstream, hStream, CUgraph, hGraph,
	const CUgraphNode *, dependencies, const CUgraphEdgeData *, dependencyData, size_t, numDependencies,
	CUstreamCaptureMode, mode))
PER_THREAD(cuStreamUpdateCaptureDependencies, _ptsz, (CUstream, hStream, CUgraphNode *, dependencies,
	size_t, numDependencies, unsigned int, flags))
PER_THREAD(cuStreamUpdateCaptureDependencies_v2, _ptsz, (CUstream, hStream, CUgraphNode *, dependencies,
	const CUgraphEdgeData *, dependencyData, size_t, numDependencies, unsigned int, flags))
PER_THREAD(cuStreamEndCapture, _ptsz, (CUstream, hStream, CUgraph *, phGraph))
PER_THREAD(cuStreamIsCapturing, _ptsz, (CUstream, hStream, CUstreamCaptureStatus *, captureStatus))
PER_THREAD(cuStreamGetCaptureInfo, _ptsz, (CUstream, hStream, CUstreamCaptureStatus *, captureStatus_out,
	cuuint64_t *, id_out))
PER_THREAD(cuStreamGetCaptureInfo_v2, _ptsz, (CUstream, hStream, CUstreamCaptureStatus *, captureStatus_out,
	cuuint64_t *, id_out, CUgraph *, graph_out, const CUgraphNode **, dependencies_out,
	size_t *, numDependencies_out))
PER_THREAD(cuStreamGetCaptureInfo_v3, _ptsz, (CUstream, hStream, CUstreamCaptureStatus *, captureStatus_out,
	cuuint64_t *, id_out, CUgraph *, graph_out, const CUgraphNode **, dependencies_out,
	const CUgraphEdgeData **, edgeData_out, size_t *, numDependencies_out))
