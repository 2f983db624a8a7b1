/* cuCtx*: contexts and each thread's stack of them (core/context.c). */
#include "cuda_private.h"

static CUresult create(CUcontext *out, unsigned flags, CUdevice dev)
{
	struct sg_context *context;

	if (out == NULL || (flags & ~SG_CONTEXT_FLAGS) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	context = sg_context_open(dev, flags, 0);
	if (context == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (sg_context_push(context) != cudaSuccess) {
		sg_context_close(context);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = sg_context_handle(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	return create(pctx, flags, dev);
}

CUresult cuCtxCreate_v3(
	CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	(void)paramsArray;
	return numParams == 0 ? create(pctx, flags, dev) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	if (ctxCreateParams != NULL &&
		(ctxCreateParams->numExecAffinityParams != 0 || ctxCreateParams->cigParams != NULL))
		return CUDA_ERROR_NOT_SUPPORTED;
	return create(pctx, flags, dev);
}

static CUresult destroy(CUcontext ctx)
{
	struct sg_context *context = sg_context_of(ctx);

	if (context == NULL || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	sg_context_close(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return destroy(ctx);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return destroy(ctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	struct sg_context *context;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	context = sg_context_of(ctx);
	if (ctx != NULL && (context == NULL || !sg_context_usable(context)))
		return CUDA_ERROR_INVALID_CONTEXT;
	sg_context_set(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (pctx == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = sg_context_handle(sg_context_current());
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext ctx)
{
	struct sg_context *context = sg_context_of(ctx);

	if (context == NULL || !sg_context_usable(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_driver_result(sg_context_push(context));
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return push(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return push(ctx);
}

static CUresult pop(CUcontext *out)
{
	struct sg_context *context = sg_context_pop();

	if (context == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (out != NULL)
		*out = sg_context_handle(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return pop(pctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return pop(pctx);
}

/* The context a handle names, NULL meaning the current one; NULL: neither. */
static struct sg_context *named(CUcontext ctx)
{
	struct sg_context *context = ctx != NULL ? sg_context_of(ctx) : sg_context_current();

	return context != NULL && sg_context_usable(context) ? context : NULL;
}

static CUresult device_of(CUdevice *device, CUcontext ctx)
{
	const struct sg_context *context = named(ctx);

	if (device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (context == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = context->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return device_of(device, NULL);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return device_of(device, ctx);
}

DRIVER(cuCtxSynchronize, (), CUDA_ERROR_LAUNCH_FAILED, sg_device_synchronize(sg_self.device))

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	const struct sg_context *context;

	SG_DRIVER_AS(CUDA_ERROR_LAUNCH_FAILED, SG_NEED_INIT);
	context = named(ctx);
	if (context == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_driver_result(sg_device_synchronize(context->device));
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_CONTEXT);
	if (flags == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = sg_context_current()->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_CONTEXT);
	if ((flags & ~SG_CONTEXT_FLAGS) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sg_context_current()->flags = flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	const struct sg_context *context;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	context = named(ctx);
	if (ctxId == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (context == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctxId = context->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	const struct sg_context *context;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	context = named(ctx);
	if (context == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (version == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*version = context->api_version;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	SG_DRIVER(CUDA_ERROR_INVALID_CONTEXT);
	if (leastPriority != NULL)
		*leastPriority = 0;
	if (greatestPriority != NULL)
		*greatestPriority = -5;
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	const struct sg_context *peer;

	SG_DRIVER(CUDA_ERROR_INVALID_DEVICE);
	peer = sg_context_of(peerContext);
	if (peer == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_driver_result(sg_enable_peer(peer->device, Flags));
}

/* ---- settings that change nothing here, but are remembered ---- */

#define LIMITS 8
static _Atomic size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0, 0};

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if ((int)limit < 0 || (int)limit >= LIMITS)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_store(&limits[limit], value);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (pvalue == NULL || (int)limit < 0 || (int)limit >= LIMITS)
		return CUDA_ERROR_INVALID_VALUE;
	*pvalue = atomic_load(&limits[limit]);
	return CUDA_SUCCESS;
}

static _Atomic int cache_config;

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if ((int)config < 0 || (int)config > 3)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_store(&cache_config, (int)config);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (pconfig == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*pconfig = (CUfunc_cache)atomic_load(&cache_config);
	return CUDA_SUCCESS;
}
