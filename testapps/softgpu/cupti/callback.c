/*
 * Calls as CUPTI numbers them, and the subscriber's callbacks of them.
 *
 * The one idea: a call of the runtime enters the driver, so it has two numbers: its own, and that of the
 * driver's call that it makes. Both go by one correlation.
 */
#include "cupti_private.h"
#include "pm_lists.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic unsigned char enabled[CUPTI_CB_DOMAIN_RUNTIME_API + 1][CUPTI_NUMBERS];
static _Atomic(CUpti_CallbackFunc) function;
static void *_Atomic function_data;
_Atomic uint64_t cupti_callback_count;

/* ---- numbers ---- */

/* From the hook table; 0: it puts no work on a stream. */
static const struct {
	const char *name;
	CUpti_CallbackId cbid;
} call_numbers[] = {
#define NUMBER(column, value) NUMBER_##column(value)
#define NUMBER_NONE
#define NUMBER_CALLBACK(numbers) +FIRST numbers
#define NUMBER_ROLE(role)
#define NUMBER_SINCE(version)
#define NUMBER_TOUCHES(arguments)
#define NUMBER_TABLE(arguments)
#define NUMBER_FREES(address)
#define NUMBER_CHANGED(major)
#define NUMBER_ACCESS(accesses)
#define NUMBER_SHAPE(label)
#define NUMBER_TWIN(name)
#define FIRST(number, ...) number
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	{#name, 0 PM_PAIRS(NUMBER, PM_NOTHING, __VA_ARGS__)},
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) \
	{#name, 0 PM_PAIRS(NUMBER, PM_NOTHING, __VA_ARGS__)},
#include "pm_hooks.def"
	{"cuMemcpyBatchAsync", 776}, /* the older version, which is no hook */
	/* some that put none on one, as programs make them between launches */
	{"cudaGetLastError", 10},
	{"cudaPeekAtLastError", 11},
	{"cudaSetDevice", 16},
	{"cudaGetDevice", 17},
	{"cudaMalloc", 20},
	{"cudaFree", 22},
	{"cudaStreamSynchronize", 131},
	{"cudaEventRecord", 135},
	{"cudaEventQuery", 138},
	{"cudaStreamWaitEvent", 147},
	{"cudaDeviceSynchronize", 165},
	{"cudaStreamIsCapturing", 317},
};

/* What the runtime's calls make of the driver's. */
static const struct {
	const char *runtime, *driver;
} inside[] = {
	{"cudaMemcpy", "cuMemcpy"},
	{"cudaMemcpyAsync", "cuMemcpyAsync"},
	{"cudaMemcpy2D", "cuMemcpy2DUnaligned_v2"},
	{"cudaMemcpy2DAsync", "cuMemcpy2DAsync_v2"},
	{"cudaMemcpy2DToArray", "cuMemcpy2DUnaligned_v2"},
	{"cudaMemcpy3D", "cuMemcpy3D_v2"},
	{"cudaMemcpy3DAsync", "cuMemcpy3DAsync_v2"},
	{"cudaMemcpyPeer", "cuMemcpyPeer"},
	{"cudaMemcpyPeerAsync", "cuMemcpyPeerAsync"},
	{"cudaMemcpy3DPeer", "cuMemcpy3DPeer"},
	{"cudaMemcpy3DPeerAsync", "cuMemcpy3DPeerAsync"},
	{"cudaMemcpyToSymbol", "cuMemcpyHtoD_v2"},
	{"cudaMemcpyToSymbolAsync", "cuMemcpyHtoDAsync_v2"},
	{"cudaMemcpyFromSymbol", "cuMemcpyDtoH_v2"},
	{"cudaMemcpyFromSymbolAsync", "cuMemcpyDtoHAsync_v2"},
	{"cudaMemcpyBatchAsync", "cuMemcpyBatchAsync_v2"},
	{"cudaMemPrefetchAsync", "cuMemPrefetchAsync_v2"},
	{"cudaMemset", "cuMemsetD8_v2"},
	{"cudaMemsetAsync", "cuMemsetD8Async"},
	{"cudaMemset2D", "cuMemsetD2D8_v2"},
	{"cudaMemset2DAsync", "cuMemsetD2D8Async"},
	{"cudaMemset3D", "cuMemsetD2D8_v2"},
	{"cudaMemset3DAsync", "cuMemsetD2D8Async"},
	{"cudaLaunchKernel", "cuLaunchKernel"},
	{"__cudaLaunchKernel", "cuLaunchKernel"},
	{"cudaLaunchKernelExC", "cuLaunchKernelEx"},
	{"cudaLaunchCooperativeKernel", "cuLaunchCooperativeKernel"},
	{"cudaGraphLaunch", "cuGraphLaunch"},
};

static CUpti_CallbackId number_of(const char *call)
{
	for (size_t i = 0; i < sizeof(call_numbers) / sizeof(call_numbers[0]); i++) {
		if (call_numbers[i].cbid != 0 && strcmp(call, call_numbers[i].name) == 0)
			return call_numbers[i].cbid;
	}
	return 0;
}

/* The driver's calls begin with cu, those of the runtime with cuda or __cuda. */
static int is_driver_call(const char *call)
{
	return call[0] == 'c' && call[1] == 'u' && call[2] != 'd';
}

static struct cupti_numbers find_numbers(const char *call)
{
	struct cupti_numbers n = {.runtime = is_driver_call(call) ? 0 : number_of(call)};

	if (n.runtime == 0)
		n.driver = number_of(call);
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]) && n.runtime != 0; i++) {
		if (strcmp(call, inside[i].runtime) == 0)
			n.driver = number_of(inside[i].driver);
	}
	return n;
}

struct cupti_numbers cupti_numbers_of(const char *call)
{
	static __thread const char
		*last; /* a thread mostly makes the same calls again, and names stay where they are */
	static __thread struct cupti_numbers last_numbers;

	if (last != call) {
		last_numbers = find_numbers(call);
		last = call;
	}
	return last_numbers;
}

const char *cupti_call_name(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	int driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;

	if (cbid == 0 || (!driver && domain != CUPTI_CB_DOMAIN_RUNTIME_API))
		return NULL;
	for (size_t i = 0; i < sizeof(call_numbers) / sizeof(call_numbers[0]); i++) {
		if (call_numbers[i].cbid == cbid && is_driver_call(call_numbers[i].name) == driver)
			return call_numbers[i].name;
	}
	return NULL;
}

/* ---- callbacks ---- */

void cupti_callbacks_to(CUpti_CallbackFunc callback, void *userdata)
{
	atomic_store(&function_data, userdata);
	atomic_store(&function, callback);
}

void cupti_callbacks_clear(void)
{
	atomic_store(&function, NULL);
	memset((void *)enabled, 0, sizeof(enabled));
}

int cupti_has_callbacks(void)
{
	for (size_t i = 0; i < CUPTI_NUMBERS; i++) {
		if (atomic_load(&enabled[CUPTI_CB_DOMAIN_DRIVER_API][i]) ||
			atomic_load(&enabled[CUPTI_CB_DOMAIN_RUNTIME_API][i]))
			return 1;
	}
	return 0;
}

static void call_back(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, CUpti_ApiCallbackSite site,
	const struct sg_call_seen *call)
{
	/* parameters are not known here: who looks at some, as at a copy's size, finds zeros */
	static const uint64_t no_parameters[32];
	CUpti_CallbackFunc callback = atomic_load(&function);
	CUcontext context = sg_context_of_thread();
	uint64_t data_of_both = 0;
	CUpti_CallbackData data = {.callbackSite = site,
		.functionName = call->name,
		.functionParams = no_parameters,
		.context = context,
		.contextUid = context != NULL ? CUPTI_CONTEXT + (uint32_t)sg_context_device(context) : 0,
		.correlationData = &data_of_both,
		.correlationId = call->correlation};

	if (callback == NULL || cbid == 0 ||
		!atomic_load_explicit(&enabled[domain][cbid], memory_order_relaxed))
		return;
	callback(atomic_load(&function_data), domain, cbid, &data);
	atomic_fetch_add(&cupti_callback_count, 1);
}

void cupti_entered(const struct sg_call_seen *call)
{
	const struct cupti_numbers n = cupti_numbers_of(call->name);

	call_back(CUPTI_CB_DOMAIN_RUNTIME_API, n.runtime, CUPTI_API_ENTER, call);
	if (n.runtime == 0 || !cupti_asked_for("outside")) {
		call_back(CUPTI_CB_DOMAIN_DRIVER_API, n.driver, CUPTI_API_ENTER, call);
		call_back(CUPTI_CB_DOMAIN_DRIVER_API, n.driver, CUPTI_API_EXIT, call);
	}
	/* it would come when the call returns */
	call_back(CUPTI_CB_DOMAIN_RUNTIME_API, n.runtime, CUPTI_API_EXIT, call);
}

/* Of contexts, streams and modules nobody is called: what tools do there, softgpu has no use for. */
static CUptiResult usable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	if (!cupti_is_subscriber(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return domain == CUPTI_CB_DOMAIN_RESOURCE || domain == CUPTI_CB_DOMAIN_DRIVER_API ||
			       domain == CUPTI_CB_DOMAIN_RUNTIME_API
		       ? CUPTI_SUCCESS
		       : CUPTI_NOT_SUPPORTED;
}

static void enable_one(uint32_t enable, CUpti_CallbackDomain domain, CUpti_CallbackId callback)
{
	if (domain != CUPTI_CB_DOMAIN_RESOURCE && !cupti_asked_for("nocallbacks"))
		atomic_store(&enabled[domain][callback], enable != 0);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId callback)
{
	CUptiResult result = usable(subscriber, domain);

	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	if (result != CUPTI_SUCCESS || callback >= CUPTI_NUMBERS)
		return result != CUPTI_SUCCESS ? result : CUPTI_ERROR_INVALID_PARAMETER;
	if (domain != CUPTI_CB_DOMAIN_RESOURCE && cupti_asked_for("refused"))
		return CUPTI_ERROR_INVALID_PARAMETER;
	enable_one(enable, domain, callback);
	cupti_watch_or_not();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	CUptiResult result = usable(subscriber, domain);

	for (CUpti_CallbackId i = 1; i < CUPTI_NUMBERS && result == CUPTI_SUCCESS; i++)
		enable_one(enable, domain, i);
	cupti_watch_or_not();
	return result;
}
