/* The runtime's functions for programs with per-thread default streams: see calls/per_thread.h. */
#include "calls/per_thread.h"

cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream);

#define PER_THREAD(name, suffix, pairs) SG_PER_THREAD(cudaError_t, name, suffix, pairs)

/* clang-format off */
PER_THREAD(cudaMemcpy, _ptds, (void *, dst, const void *, src, size_t, count, enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpyAsync, _ptsz, (void *, dst, const void *, src, size_t, count,
	enum cudaMemcpyKind, kind, cudaStream_t, stream))
PER_THREAD(cudaMemcpyToSymbol, _ptds, (const void *, symbol, const void *, src, size_t, count,
	size_t, offset, enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz, (const void *, symbol, const void *, src, size_t, count,
	size_t, offset, enum cudaMemcpyKind, kind, cudaStream_t, stream))
PER_THREAD(cudaMemcpyFromSymbol, _ptds, (void *, dst, const void *, symbol, size_t, count, size_t, offset,
	enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz, (void *, dst, const void *, symbol, size_t, count,
	size_t, offset, enum cudaMemcpyKind, kind, cudaStream_t, stream))
PER_THREAD(cudaMemcpyBatchAsync, _ptsz, (void *const *, dsts, const void *const *, srcs,
	const size_t *, sizes, size_t, count, struct cudaMemcpyAttributes *, attrs, size_t *, attrsIdxs,
	size_t, numAttrs, cudaStream_t, stream))
PER_THREAD(cudaMemcpy2DToArray, _ptds, (cudaArray_t, dst, size_t, wOffset, size_t, hOffset,
	const void *, src, size_t, spitch, size_t, width, size_t, height, enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpy2D, _ptds, (void *, dst, size_t, dpitch, const void *, src, size_t, spitch,
	size_t, width, size_t, height, enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpy2DAsync, _ptsz, (void *, dst, size_t, dpitch, const void *, src, size_t, spitch,
	size_t, width, size_t, height, enum cudaMemcpyKind, kind, cudaStream_t, stream))
PER_THREAD(cudaMemcpy3D, _ptds, (const struct cudaMemcpy3DParms *, p))
PER_THREAD(cudaMemcpy3DAsync, _ptsz, (const struct cudaMemcpy3DParms *, p, cudaStream_t, stream))
PER_THREAD(cudaMemcpy3DPeer, _ptds, (const struct cudaMemcpy3DPeerParms *, p))
PER_THREAD(cudaMemcpy3DPeerAsync, _ptsz, (const struct cudaMemcpy3DPeerParms *, p, cudaStream_t, stream))
PER_THREAD(cudaEventRecord, _ptsz, (cudaEvent_t, event, cudaStream_t, stream))
PER_THREAD(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t, event, cudaStream_t, stream, unsigned int, flags))
PER_THREAD(cudaStreamWaitEvent, _ptsz, (cudaStream_t, stream, cudaEvent_t, event, unsigned int, flags))
PER_THREAD(cudaGraphUpload, _ptsz, (cudaGraphExec_t, graphExec, cudaStream_t, stream))
PER_THREAD(cudaGraphInstantiateWithParams, _ptsz, (cudaGraphExec_t *, pGraphExec, cudaGraph_t, graph,
	cudaGraphInstantiateParams *, instantiateParams))
PER_THREAD(cudaGraphLaunch, _ptsz, (cudaGraphExec_t, graphExec, cudaStream_t, handle))
PER_THREAD(cudaLaunchKernel, _ptsz, (const void *, func, dim3, gridDim, dim3, blockDim, void **, args,
	size_t, sharedMem, cudaStream_t, stream))
PER_THREAD(cudaLaunchCooperativeKernel, _ptsz, (const void *, func, dim3, gridDim, dim3, blockDim,
	void **, args, size_t, sharedMem, cudaStream_t, stream))
PER_THREAD(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t *, config, const void *, func,
	void **, args))
PER_THREAD(__cudaLaunchKernel, _ptsz, (cudaKernel_t, kernel, dim3, gridDim, dim3, blockDim, void **, args,
	size_t, sharedMem, cudaStream_t, stream))
PER_THREAD(cudaMallocAsync, _ptsz, (void **, devPtr, size_t, size, cudaStream_t, handle))
PER_THREAD(cudaMallocFromPoolAsync, _ptsz, (void **, ptr, size_t, size, cudaMemPool_t, memPool,
	cudaStream_t, stream))
PER_THREAD(cudaFreeAsync, _ptsz, (void *, devPtr, cudaStream_t, handle))
PER_THREAD(cudaMemPrefetchAsync, _ptsz, (const void *, devPtr, size_t, count,
	struct cudaMemLocation, location, unsigned int, flags, cudaStream_t, handle))
PER_THREAD(cudaMemset, _ptds, (void *, devPtr, int, value, size_t, count))
PER_THREAD(cudaMemsetAsync, _ptsz, (void *, devPtr, int, value, size_t, count, cudaStream_t, stream))
PER_THREAD(cudaMemset2D, _ptds, (void *, devPtr, size_t, pitch, int, value, size_t, width, size_t, height))
PER_THREAD(cudaMemset2DAsync, _ptsz, (void *, devPtr, size_t, pitch, int, value, size_t, width,
	size_t, height, cudaStream_t, stream))
PER_THREAD(cudaMemset3D, _ptds, (struct cudaPitchedPtr, pitchedDevPtr, int, value,
	struct cudaExtent, extent))
PER_THREAD(cudaMemset3DAsync, _ptsz, (struct cudaPitchedPtr, pitchedDevPtr, int, value,
	struct cudaExtent, extent, cudaStream_t, stream))
PER_THREAD(cudaStreamSynchronize, _ptsz, (cudaStream_t, handle))
PER_THREAD(cudaStreamQuery, _ptsz, (cudaStream_t, handle))
PER_THREAD(cudaLaunchHostFunc, _ptsz, (cudaStream_t, handle, cudaHostFn_t, fn, void *, userData))
PER_THREAD(cudaStreamAddCallback, _ptsz, (cudaStream_t, handle, cudaStreamCallback_t, callback,
	void *, userData, unsigned int, flags))
PER_THREAD(cudaStreamBeginCapture, _ptsz, (cudaStream_t, handle, enum cudaStreamCaptureMode, mode))
PER_THREAD(cudaStreamBeginCaptureToGraph, _ptsz, (cudaStream_t, handle, cudaGraph_t, graph,
	const cudaGraphNode_t *, dependencies, const cudaGraphEdgeData *, dependencyData,
	size_t, numDependencies, enum cudaStreamCaptureMode, mode))
PER_THREAD(cudaStreamUpdateCaptureDependencies, _ptsz, (cudaStream_t, stream,
	cudaGraphNode_t *, dependencies, const cudaGraphEdgeData *, dependencyData, size_t, numDependencies,
	unsigned int, flags))
PER_THREAD(cudaStreamEndCapture, _ptsz, (cudaStream_t, handle, cudaGraph_t *, pGraph))
PER_THREAD(cudaStreamIsCapturing, _ptsz, (cudaStream_t, handle,
	enum cudaStreamCaptureStatus *, pCaptureStatus))
PER_THREAD(cudaStreamGetCaptureInfo, _ptsz, (cudaStream_t, stream,
	enum cudaStreamCaptureStatus *, captureStatus_out, unsigned long long *, id_out,
	cudaGraph_t *, graph_out, const cudaGraphNode_t **, dependencies_out,
	const cudaGraphEdgeData **, edgeData_out, size_t *, numDependencies_out))
PER_THREAD(cudaStreamGetFlags, _ptsz, (cudaStream_t, handle, unsigned int *, flags))
PER_THREAD(cudaStreamGetPriority, _ptsz, (cudaStream_t, handle, int *, priority))
PER_THREAD(cudaStreamGetDevice, _ptsz, (cudaStream_t, handle, int *, device))
