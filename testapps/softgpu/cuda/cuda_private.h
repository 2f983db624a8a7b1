/*
 * libcuda's own header: how the driver's functions begin and answer, and what their handles are.
 *
 * The one idea: like the runtime's functions, those of the driver are thin shells around the sg_* calls of
 * libsoftgpu (calls/calls.h); a CUstream, CUevent, CUgraph or device pointer is the runtime's own. Error
 * numbers are the runtime's too, but for the few in sg_driver_result.
 */
#ifndef CUDA_PRIVATE_H
#define CUDA_PRIVATE_H

/* Every version of a function by its exported name, none renamed. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#include "calls/calls.h"
#include "calls/driver.h"
#include "calls/kernel.h"
#include "calls/shell.h"

/* Newer than some of the headers that this is built with. */
CUresult cuFuncGetParamCount(CUfunction func, size_t *paramCount);
CUresult cuKernelGetParamCount(CUkernel kernel, size_t *paramCount);

/* What a call needs before it may do anything. */
enum sg_need { SG_NEED_NOTHING, SG_NEED_INIT, SG_NEED_CONTEXT };
CUresult sg_driver_enter_slow(const char *name, CUresult fault, enum sg_need need);

static inline CUresult sg_driver_enter(const char *name, CUresult fault, enum sg_need need)
{
	if (SG_LIKELY(atomic_load_explicit(&sg_attention, memory_order_relaxed) == 0 && sg_self.unusual == 0))
		return CUDA_SUCCESS;
	return sg_driver_enter_slow(name, fault, need);
}

/* First line of every exported function; `fault` is what an injected failure answers. */
#define SG_DRIVER_AS(fault, need) \
	do { \
		CUresult enter_result_ = sg_driver_enter(__func__, fault, need); \
		if (SG_UNLIKELY(enter_result_ != CUDA_SUCCESS)) \
			return enter_result_; \
	} while (0)
#define SG_DRIVER(fault) SG_DRIVER_AS(fault, SG_NEED_CONTEXT)

/* The driver's name for a failure of the calls behind both libraries. */
CUresult sg_driver_result_slow(cudaError_t error);
static inline CUresult sg_driver_result(cudaError_t error)
{
	return SG_LIKELY(error == cudaSuccess) ? CUDA_SUCCESS : sg_driver_result_slow(error);
}

/* Functions as rows (calls/shell.h), with a twin or without; DRIVER_OWN: whose call answers as the driver
 * does. */
#define DRIVER_OWN(name, pairs, fault, call) SG_SHELL(CUresult, name, pairs, SG_DRIVER(fault), call)
#define DRIVER_OWN_PTSZ(name, pairs, fault, call) \
	DRIVER_OWN(name, pairs, fault, call) \
	SG_PER_THREAD(CUresult, name, _ptsz, pairs)
#define DRIVER_OWN_PTDS(name, pairs, fault, call) \
	DRIVER_OWN(name, pairs, fault, call) \
	SG_PER_THREAD(CUresult, name, _ptds, pairs)
#define DRIVER(name, pairs, fault, call) DRIVER_OWN(name, pairs, fault, sg_driver_result(call))
#define DRIVER_PTSZ(name, pairs, fault, call) DRIVER_OWN_PTSZ(name, pairs, fault, sg_driver_result(call))
#define DRIVER_PTDS(name, pairs, fault, call) DRIVER_OWN_PTDS(name, pairs, fault, sg_driver_result(call))

static inline void *sg_pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}
static inline CUdeviceptr sg_address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}
static inline struct sg_context *sg_context_of(CUcontext handle)
{
	return sg_pool_check(&sg_contexts, handle);
}
static inline CUcontext sg_context_handle(struct sg_context *context)
{
	return (CUcontext)(void *)context;
}

/* Ways to wait (1, 2, 4), mapped host memory (8), larger local memory (16), core dumps (32, 64), synchronous
 * copies (128). */
#define SG_CONTEXT_FLAGS 0xffu

/* What several families need: a launch whose arguments may be packed (launch.c), and a copy (copy.c). */
CUresult sg_driver_launch(CUfunction kernel, struct sg_launch *launch, void **extra, CUstream stream);
CUresult sg_driver_copy3d(const CUDA_MEMCPY3D *copy, CUstream stream, enum sg_wait wait);

sg_driver_lookup sg_driver_find;

#endif
