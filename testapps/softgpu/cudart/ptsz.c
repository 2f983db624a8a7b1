/* The runtime's functions for programs with per-thread default streams (calls/shell.h), but for those
 * that stand with their rows. */
#include "cudart_private.h"

cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream);

#define PER_THREAD(name, suffix, pairs) SG_PER_THREAD(cudaError_t, name, suffix, pairs)

/* clang-format off */
PER_THREAD(cudaMemcpy, _ptds, (void *, dst, const void *, src, size_t, count, enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpyAsync, _ptsz, (void *, dst, const void *, src, size_t, count,
	enum cudaMemcpyKind, kind, cudaStream_t, stream))
PER_THREAD(cudaMemcpyBatchAsync, _ptsz, (void *const *, dsts, const void *const *, srcs,
	const size_t *, sizes, size_t, count, struct cudaMemcpyAttributes *, attrs, size_t *, attrsIdxs,
	size_t, numAttrs, cudaStream_t, stream))
PER_THREAD(cudaMemcpy2DToArray, _ptds, (cudaArray_t, dst, size_t, wOffset, size_t, hOffset,
	const void *, src, size_t, spitch, size_t, width, size_t, height, enum cudaMemcpyKind, kind))
PER_THREAD(cudaMemcpy3DPeer, _ptds, (const struct cudaMemcpy3DPeerParms *, p))
PER_THREAD(cudaGraphInstantiateWithParams, _ptsz, (cudaGraphExec_t *, pGraphExec, cudaGraph_t, graph,
	cudaGraphInstantiateParams *, instantiateParams))
PER_THREAD(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t *, config, const void *, func,
	void **, args))
PER_THREAD(cudaMallocFromPoolAsync, _ptsz, (void **, ptr, size_t, size, cudaMemPool_t, memPool,
	cudaStream_t, stream))
PER_THREAD(cudaStreamAddCallback, _ptsz, (cudaStream_t, handle, cudaStreamCallback_t, callback,
	void *, userData, unsigned int, flags))
PER_THREAD(cudaStreamUpdateCaptureDependencies, _ptsz, (cudaStream_t, stream,
	cudaGraphNode_t *, dependencies, const cudaGraphEdgeData *, dependencyData, size_t, numDependencies,
	unsigned int, flags))
PER_THREAD(cudaStreamGetCaptureInfo, _ptsz, (cudaStream_t, stream,
	enum cudaStreamCaptureStatus *, captureStatus_out, unsigned long long *, id_out,
	cudaGraph_t *, graph_out, const cudaGraphNode_t **, dependencies_out,
	const cudaGraphEdgeData **, edgeData_out, size_t *, numDependencies_out))
PER_THREAD(cudaStreamGetFlags, _ptsz, (cudaStream_t, handle, unsigned int *, flags))
PER_THREAD(cudaStreamGetPriority, _ptsz, (cudaStream_t, handle, int *, priority))
PER_THREAD(cudaStreamGetDevice, _ptsz, (cudaStream_t, handle, int *, device))
