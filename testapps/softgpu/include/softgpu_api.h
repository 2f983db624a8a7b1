/*
 * The prototypes of everything that softgpu has, made from the hook table: one list for the wrappers, the stand-ins and the
 * programs that call them. For use where the vendor's toolkit is not installed; included by the headers with the vendor's
 * names beside this one.
 */
#ifndef SOFTGPU_API_H
#define SOFTGPU_API_H

#include "pm_abi.h"
#include "pm_hooks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* libc's headers have libc's prototypes, pm_cupti.h has CUPTI's, and cuda_runtime_api.h the runtime's. */
#define SOFTGPU_DECLARE_libc(result, name, pairs)
#define SOFTGPU_DECLARE_cupti(result, name, pairs)
#define SOFTGPU_DECLARE_cudart(result, name, pairs)
#define SOFTGPU_DECLARE_cuda(result, name, pairs) result name PM_PARAMETERS pairs;
#define SOFTGPU_DECLARE_cudnn(result, name, pairs) result name PM_PARAMETERS pairs;
#define SOFTGPU_DECLARE_cublaslt(result, name, pairs) result name PM_PARAMETERS pairs;

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) result name PM_PARAMETERS pairs;
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) SOFTGPU_DECLARE_##library(result, name, pairs)
#define PM_WATCH(library, result, name, pairs, after, ...) result name PM_PARAMETERS pairs;
#define PM_NOT_HOOKED(library, result, name, pairs) result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#ifdef __cplusplus
}
#endif

#endif
