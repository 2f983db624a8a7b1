/*
 * The stand-in CUPTI: its one subscriber, what is asked for, external ids, clocks and numbers. Records are
 * made in record.c, buffers handled in buffer.c.
 *
 * The one idea: while any kind of record is asked for, libcudart reports calls and work here (sg_watch); else
 * it looks at one word.
 */
#include "cupti_private.h"
#include "pm_lists.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION 130001
#define KINDS 64
#define CALLS 1024
#define DEPTH 64

static _Atomic uint64_t kinds; /* bit k: kind k is enabled */
static _Atomic unsigned char runtime_calls[CALLS], driver_calls[CALLS];
static _Atomic int enabled_call_count;
static _Atomic int subscribed;
static _Atomic(CUpti_TimestampCallbackFunc) timestamp;

static __thread struct {
	uint64_t ids[DEPTH];
	unsigned depth;
} external[CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1];

/* Which of the vendor's numbers a call has, from the hook table; 0: it puts no work on a stream. */
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
#define NUMBER_TWIN(name)
#define FIRST(number, ...) number
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	{#name, 0 PM_PAIRS(NUMBER, PM_NOTHING, __VA_ARGS__)},
#define PM_HAND(library, kind, result, name, pairs, values, ...) \
	{#name, 0 PM_PAIRS(NUMBER, PM_NOTHING, __VA_ARGS__)},
#include "pm_hooks.def"
	{"cuMemcpyBatchAsync", 776}, /* the older version, which is no hook */
};

uint64_t cupti_now_ns(void)
{
	CUpti_TimestampCallbackFunc function = atomic_load_explicit(&timestamp, memory_order_acquire);
	struct timespec now;

	if (function != NULL)
		return function();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cupti_enabled(CUpti_ActivityKind kind)
{
	return (atomic_load_explicit(&kinds, memory_order_relaxed) >> kind & 1) != 0;
}

/* Of a call by its name; a thread mostly makes the same call again, and names stay where they are. */
static CUpti_CallbackId number_of(const char *call)
{
	static __thread const char *last;
	static __thread CUpti_CallbackId last_number;

	if (last == call)
		return last_number;
	last = call;
	last_number = 0;
	for (size_t i = 0; i < sizeof(call_numbers) / sizeof(call_numbers[0]); i++) {
		if (call_numbers[i].cbid != 0 && strcmp(call, call_numbers[i].name) == 0)
			last_number = call_numbers[i].cbid;
	}
	return last_number;
}

/* The driver's calls begin with cu, those of the runtime with cuda or __cuda. */
static int is_driver_call(const char *call)
{
	return call[0] == 'c' && call[1] == 'u' && call[2] != 'd';
}

CUpti_ActivityKind cupti_call_kind(const char *call, CUpti_CallbackId *cbid)
{
	*cbid = number_of(call);
	if (is_driver_call(call))
		return cupti_enabled(CUPTI_ACTIVITY_KIND_DRIVER) || atomic_load(&driver_calls[*cbid])
			       ? CUPTI_ACTIVITY_KIND_DRIVER
			       : CUPTI_ACTIVITY_KIND_INVALID;
	return cupti_enabled(CUPTI_ACTIVITY_KIND_RUNTIME) || atomic_load(&runtime_calls[*cbid])
		       ? CUPTI_ACTIVITY_KIND_RUNTIME
		       : CUPTI_ACTIVITY_KIND_INVALID;
}

int cupti_external(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
	unsigned depth = external[kind].depth;

	if (depth == 0)
		return 0;
	*id = external[kind].ids[depth - 1];
	return 1;
}

/*
 * Trouble for tests, besides SOFTGPU_FAIL and SOFTGPU_CUPTI_VERSION (what cuptiGetVersion answers).
 * SOFTGPU_CUPTI=hang: flushes do not come back (buffer.c).
 * SOFTGPU_CUPTI=taken: as under the vendor's own tools, which subscribe before the program begins.
 * SOFTGPU_CUPTI=nocalls: single calls cannot be asked for, only all of them.
 */
static int asked_for(const char *trouble)
{
	const char *text = getenv("SOFTGPU_CUPTI");

	return text != NULL && strcmp(text, trouble) == 0;
}

static void watch_or_not(void)
{
	int wanted = atomic_load(&kinds) != 0 || atomic_load(&enabled_call_count) != 0;

	sg_watch(wanted ? &cupti_watcher : NULL);
}

static void in_child(void)
{
	atomic_store(&kinds, 0);
	atomic_store(&subscribed, 0);
	sg_watch(NULL);
	cupti_buffers_forget();
}

__attribute__((constructor)) static void start(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* ---- the subscriber ---- */

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata)
{
	int none = 0;

	(void)callback, (void)userdata; /* no callbacks of calls are made */
	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	if (subscriber == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (asked_for("taken") || !atomic_compare_exchange_strong(&subscribed, &none, 1))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	*subscriber = (CUpti_SubscriberHandle)(void *)&subscribed;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	if ((void *)subscriber != (void *)&subscribed || !atomic_exchange(&subscribed, 0))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

/* Of contexts, streams and modules nobody is called: what tools do there, softgpu has no use for. */
#define DOMAIN_RESOURCE 3
#define NOT_SUPPORTED ((CUptiResult)27)

static CUptiResult enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	if ((void *)subscriber != (void *)&subscribed || !atomic_load(&subscribed))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return (int)domain == DOMAIN_RESOURCE ? CUPTI_SUCCESS : NOT_SUPPORTED;
}

CUptiResult cuptiEnableCallback(uint32_t enable_it, CUpti_SubscriberHandle subscriber,
	CUpti_CallbackDomain domain, CUpti_CallbackId callback)
{
	(void)enable_it, (void)callback;
	return enable(subscriber, domain);
}

CUptiResult cuptiEnableDomain(
	uint32_t enable_it, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	(void)enable_it;
	return enable(subscriber, domain);
}

CUptiResult cuptiFinalize(void)
{
	atomic_store(&kinds, 0);
	atomic_store(&subscribed, 0);
	watch_or_not();
	return CUPTI_SUCCESS;
}

/* ---- what is asked for ---- */

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	if ((int)kind <= 0 || (int)kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	atomic_fetch_or(&kinds, (uint64_t)1 << kind);
	watch_or_not();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	if ((int)kind <= 0 || (int)kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	atomic_fetch_and(&kinds, ~((uint64_t)1 << kind));
	watch_or_not();
	return CUPTI_SUCCESS;
}

static CUptiResult enable_call(_Atomic unsigned char *calls, CUpti_CallbackId cbid, uint8_t enable)
{
	if (cbid == 0 || cbid >= CALLS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (asked_for("nocalls"))
		return CUPTI_SUCCESS;
	if (atomic_exchange(&calls[cbid], enable != 0) != (enable != 0))
		atomic_fetch_add(&enabled_call_count, enable ? 1 : -1);
	watch_or_not();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return enable_call(runtime_calls, cbid, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return enable_call(driver_calls, cbid, enable);
}

/* ---- external ids of the calling thread ---- */

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	if ((int)kind < 1 || kind > CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external[kind].depth == DEPTH)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	external[kind].ids[external[kind].depth++] = id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *lastId)
{
	if ((int)kind < 1 || kind > CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external[kind].depth == 0)
		return CUPTI_ERROR_QUEUE_EMPTY;
	external[kind].depth--;
	if (lastId != NULL)
		*lastId = external[kind].ids[external[kind].depth];
	return CUPTI_SUCCESS;
}

/* ---- clocks, numbers, versions ---- */

CUptiResult cuptiGetTimestamp(uint64_t *out)
{
	if (out == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*out = cupti_now_ns();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
	if (funcTimestamp == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (atomic_exchange(&timestamp, funcTimestamp) != funcTimestamp)
		sg_watch_clock();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(
	CUcontext context, CUstream stream, uint8_t perThreadStream, uint32_t *streamId)
{
	uint32_t number = sg_stream_number(stream == NULL && perThreadStream ? cudaStreamPerThread : stream);

	(void)context;
	if (streamId == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (number == 0)
		return CUPTI_ERROR_INVALID_STREAM;
	*streamId = number + CUPTI_STREAM_OFFSET;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	if (node == NULL || nodeId == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*nodeId = sg_graph_node_number(node);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	const char *text = getenv("SOFTGPU_CUPTI_VERSION");

	if (version == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = text != NULL ? (uint32_t)strtoul(text, NULL, 10) : VERSION;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	if (str == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	switch (result) {
	case CUPTI_SUCCESS:
		*str = "CUPTI_SUCCESS";
		break;
	case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
		*str = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
		break;
	default:
		*str = "CUPTI_ERROR_UNKNOWN";
		break;
	}
	return CUPTI_SUCCESS;
}
