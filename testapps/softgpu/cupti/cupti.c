/*
 * The stand-in CUPTI: its one subscriber, what is asked for, external ids, clocks and numbers. Records are
 * made in record.c, callbacks in callback.c, buffers handled in buffer.c.
 *
 * The one idea: while any record or callback is asked for, libcudart reports calls and work here (sg_watch);
 * else it looks at one word.
 */
#include "cupti_private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION 130001
#define KINDS 64
#define DEPTH 64

static _Atomic uint64_t kinds; /* bit k: kind k is enabled */
static _Atomic unsigned char runtime_calls[CUPTI_NUMBERS], driver_calls[CUPTI_NUMBERS]; /* have records */
static _Atomic int subscribed;
static _Atomic(CUpti_TimestampCallbackFunc) timestamp;

static __thread struct {
	uint64_t ids[DEPTH];
	unsigned depth;
} external[CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1];

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

CUpti_ActivityKind cupti_call_kind(const char *call, CUpti_CallbackId *cbid)
{
	const struct cupti_numbers n = cupti_numbers_of(call);

	*cbid = n.runtime;
	if (n.runtime != 0 && atomic_load(&runtime_calls[n.runtime]))
		return CUPTI_ACTIVITY_KIND_RUNTIME;
	*cbid = n.driver;
	if (n.runtime != 0 && cupti_asked_for("nocalls"))
		return CUPTI_ACTIVITY_KIND_INVALID;
	if (n.driver != 0 && atomic_load(&driver_calls[n.driver]))
		return CUPTI_ACTIVITY_KIND_DRIVER;
	return CUPTI_ACTIVITY_KIND_INVALID;
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
 * SOFTGPU_CUPTI=nocalls: the driver's calls inside those of the runtime have no records.
 * SOFTGPU_CUPTI=nocallbacks: callbacks of calls are accepted, and none is made.
 * SOFTGPU_CUPTI=refused: none is accepted.
 * SOFTGPU_CUPTI=outside: the runtime's calls do not enter the driver, as far as callbacks show.
 * SOFTGPU_CUPTI=count: at exit, how many records and callbacks there were, on standard error.
 */
int cupti_asked_for(const char *trouble)
{
	const char *text = getenv("SOFTGPU_CUPTI");

	return text != NULL && strcmp(text, trouble) == 0;
}

void cupti_watch_or_not(void)
{
	int wanted = atomic_load(&kinds) != 0 || cupti_has_callbacks();

	for (size_t i = 0; i < CUPTI_NUMBERS && !wanted; i++)
		wanted = atomic_load(&runtime_calls[i]) || atomic_load(&driver_calls[i]);
	sg_watch(wanted ? &cupti_watcher : NULL);
}

static void in_child(void)
{
	atomic_store(&kinds, 0);
	atomic_store(&subscribed, 0);
	cupti_callbacks_clear();
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

	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	if (subscriber == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (cupti_asked_for("taken") || !atomic_compare_exchange_strong(&subscribed, &none, 1))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	*subscriber = (CUpti_SubscriberHandle)(void *)&subscribed;
	cupti_callbacks_to(callback, userdata);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	if ((void *)subscriber != (void *)&subscribed || !atomic_exchange(&subscribed, 0))
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti_callbacks_clear();
	cupti_watch_or_not();
	return CUPTI_SUCCESS;
}

int cupti_is_subscriber(CUpti_SubscriberHandle subscriber)
{
	return (void *)subscriber == (void *)&subscribed && atomic_load(&subscribed);
}

CUptiResult cuptiFinalize(void)
{
	atomic_store(&kinds, 0);
	atomic_store(&subscribed, 0);
	cupti_callbacks_clear();
	cupti_watch_or_not();
	return CUPTI_SUCCESS;
}

/* ---- what is asked for ---- */

/* A kind of calls stands for all of them, whatever was asked of single ones before. */
static void enable_kind_of_calls(CUpti_ActivityKind kind, unsigned char enable)
{
	_Atomic unsigned char *calls = kind == CUPTI_ACTIVITY_KIND_DRIVER    ? driver_calls
				       : kind == CUPTI_ACTIVITY_KIND_RUNTIME ? runtime_calls
									     : NULL;

	for (size_t i = 0; calls != NULL && i < CUPTI_NUMBERS; i++)
		atomic_store(&calls[i], enable);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	if ((int)kind <= 0 || (int)kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	atomic_fetch_or(&kinds, (uint64_t)1 << kind);
	enable_kind_of_calls(kind, 1);
	cupti_watch_or_not();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	if ((int)kind <= 0 || (int)kind >= KINDS)
		return CUPTI_ERROR_INVALID_KIND;
	atomic_fetch_and(&kinds, ~((uint64_t)1 << kind));
	enable_kind_of_calls(kind, 0);
	cupti_watch_or_not();
	return CUPTI_SUCCESS;
}

static CUptiResult enable_call(_Atomic unsigned char *calls, CUpti_CallbackId cbid, uint8_t enable)
{
	if (cbid == 0 || cbid >= CUPTI_NUMBERS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	atomic_store(&calls[cbid], enable != 0);
	cupti_watch_or_not();
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
