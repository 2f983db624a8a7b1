/*
 * Activity records in the vendor's layouts, made of what libcudart tells about calls and work.
 *
 * The one idea: a call's record is preceded by the external ids that its thread has pushed, and both carry
 * the number that the call's work will have.
 */
#include "cupti_private.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t process_id;
static _Atomic uint64_t activity_count, call_count, external_count;

__attribute__((constructor)) static void find_process(void)
{
	process_id = (uint32_t)getpid();
}

__attribute__((destructor)) static void print_counts(void)
{
	if (cupti_asked_for("count") && process_id == (uint32_t)getpid())
		fprintf(stderr,
			"softgpu: CUPTI: records of %llu activities, %llu calls, %llu external ids; %llu callbacks\n",
			(unsigned long long)activity_count, (unsigned long long)call_count,
			(unsigned long long)external_count, (unsigned long long)cupti_callback_count);
}

/* A kernel of a library is named after the call; the name must live as long as any record. */
static const char *kernel_name(const char *call)
{
	static struct named {
		struct named *next;
		const char *call;
		char name[];
	} * first;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct named *named;
	size_t room;

	if (call == NULL)
		return "softgpu::work";
	pthread_mutex_lock(&lock);
	for (named = first; named != NULL && named->call != call; named = named->next)
		;
	if (named == NULL) {
		room = strlen(call) + sizeof("softgpu::");
		named = malloc(sizeof(*named) + room);
		if (named != NULL) {
			snprintf(named->name, room, "softgpu::%s", call);
			named->call = call;
			named->next = first;
			first = named;
		}
	}
	pthread_mutex_unlock(&lock);
	return named != NULL ? named->name : "softgpu::work";
}

static void add_kernel(const struct sg_activity *a)
{
	CUpti_ActivityKernel10 r;
	int concurrent = cupti_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

	if (!concurrent && !cupti_enabled(CUPTI_ACTIVITY_KIND_KERNEL))
		return;
	memset(&r, 0, sizeof(r));
	r.kind = concurrent ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL;
	r.start = a->begin_ns;
	r.end = r.completed = a->end_ns;
	r.deviceId = (uint32_t)a->device;
	r.contextId = CUPTI_CONTEXT + (uint32_t)a->device;
	r.streamId = a->stream + CUPTI_STREAM_OFFSET;
	r.gridX = (int32_t)a->grid[0];
	r.gridY = (int32_t)a->grid[1];
	r.gridZ = (int32_t)a->grid[2];
	r.blockX = (int32_t)a->block[0];
	r.blockY = (int32_t)a->block[1];
	r.blockZ = (int32_t)a->block[2];
	r.dynamicSharedMemory = (int32_t)a->shared_bytes;
	r.correlationId = a->correlation;
	r.gridId = a->correlation;
	r.name = a->part != NULL ? a->part : a->of_library ? kernel_name(a->name) : a->name;
	r.graphNodeId = a->graph_node;
	r.graphId = a->graph;
	cupti_append(CUPTI_ACTIVITIES, &r, sizeof(r));
}

static uint8_t copy_kind(const struct sg_activity *a)
{
	if (a->copy_from_device)
		return a->copy_to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
	return a->copy_to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

static void add_copy(const struct sg_activity *a)
{
	CUpti_ActivityMemcpy6 r;

	if (!cupti_enabled(CUPTI_ACTIVITY_KIND_MEMCPY))
		return;
	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r.copyKind = copy_kind(a);
	r.bytes = a->bytes;
	r.start = a->begin_ns;
	r.end = a->end_ns;
	r.deviceId = (uint32_t)a->device;
	r.contextId = CUPTI_CONTEXT + (uint32_t)a->device;
	r.streamId = a->stream + CUPTI_STREAM_OFFSET;
	r.correlationId = a->correlation;
	r.graphNodeId = a->graph_node;
	r.graphId = a->graph;
	r.copyCount = 1;
	cupti_append(CUPTI_ACTIVITIES, &r, sizeof(r));
}

static void add_peer_copy(const struct sg_activity *a)
{
	CUpti_ActivityMemcpyPtoP4 r;

	if (!cupti_enabled(CUPTI_ACTIVITY_KIND_MEMCPY2))
		return;
	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	r.bytes = a->bytes;
	r.start = a->begin_ns;
	r.end = a->end_ns;
	r.deviceId = (uint32_t)a->device;
	r.contextId = CUPTI_CONTEXT + (uint32_t)a->device;
	r.streamId = a->stream + CUPTI_STREAM_OFFSET;
	r.correlationId = a->correlation;
	r.graphNodeId = a->graph_node;
	r.graphId = a->graph;
	cupti_append(CUPTI_ACTIVITIES, &r, sizeof(r));
}

static void add_set(const struct sg_activity *a)
{
	CUpti_ActivityMemset4 r;

	if (!cupti_enabled(CUPTI_ACTIVITY_KIND_MEMSET))
		return;
	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r.bytes = a->bytes;
	r.start = a->begin_ns;
	r.end = a->end_ns;
	r.deviceId = (uint32_t)a->device;
	r.contextId = CUPTI_CONTEXT + (uint32_t)a->device;
	r.streamId = a->stream + CUPTI_STREAM_OFFSET;
	r.correlationId = a->correlation;
	r.graphNodeId = a->graph_node;
	r.graphId = a->graph;
	cupti_append(CUPTI_ACTIVITIES, &r, sizeof(r));
}

static void add_activity(const struct sg_activity *a)
{
	activity_count++;
	switch (a->kind) {
	case SG_ACTIVITY_KERNEL:
		add_kernel(a);
		break;
	case SG_ACTIVITY_COPY:
		if (a->call != NULL && strstr(a->call, "Peer") != NULL)
			add_peer_copy(a);
		else
			add_copy(a);
		break;
	case SG_ACTIVITY_SET:
		add_set(a);
		break;
	case SG_ACTIVITY_NONE:
		break;
	}
}

static void add_call(const struct sg_call_seen *call)
{
	static __thread uint32_t thread_id; /* in a child after fork nothing is recorded */
	CUpti_ActivityAPI r;
	CUpti_ActivityExternalCorrelation e;
	CUpti_ActivityKind kind;

	memset(&r, 0, sizeof(r));
	kind = cupti_call_kind(call->name, &r.cbid);
	if (kind == CUPTI_ACTIVITY_KIND_INVALID)
		return;
	/* they come with a kind of calls alone, not with single calls that have records */
	if (!cupti_enabled(CUPTI_ACTIVITY_KIND_DRIVER) && !cupti_enabled(CUPTI_ACTIVITY_KIND_RUNTIME))
		goto call_itself;
	for (int i = 1; i <= CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2; i++) {
		memset(&e, 0, sizeof(e));
		if (!cupti_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) ||
			!cupti_external((CUpti_ExternalCorrelationKind)i, &e.externalId))
			continue;
		e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
		e.externalKind = (CUpti_ExternalCorrelationKind)i;
		e.correlationId = call->correlation;
		cupti_append(CUPTI_CALLS, &e, sizeof(e));
		external_count++;
	}
call_itself:
	r.kind = kind;
	r.start = call->begin_ns;
	r.end = call->end_ns;
	if (thread_id == 0)
		thread_id = (uint32_t)syscall(SYS_gettid);
	r.processId = process_id;
	r.threadId = thread_id;
	r.correlationId = call->correlation;
	cupti_append(CUPTI_CALLS, &r, sizeof(r));
	call_count++;
}

const struct sg_watcher cupti_watcher = {.now_ns = cupti_now_ns,
	.call = add_call,
	.activity = add_activity,
	.enter = cupti_entered,
	.idle = add_call};
