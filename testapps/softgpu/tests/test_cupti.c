/*
 * Checks the stand-in CUPTI: each kernel, copy and set has a record whose interval encloses what the work
 * itself saw of the clock; correlation with calls and external ids; nodes of graphs; dropped records; one
 * subscriber.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cupti.h>

#include <cublas_v2.h>

#include "core/sg.h"
#include "test_common.h"

#define BUFFER_BYTES ((size_t)4096) /* small, so that many are needed */
#define RECORDS 4096
#define SPIN_NS 200000

static struct seen {
	CUpti_ActivityKind kind;
	char name[64];
	uint64_t begin_ns, end_ns, bytes, external, node;
	uint32_t correlation, cbid, stream, grid_x, shared, copy_kind, graph;
} seen[RECORDS];
static size_t seen_count;
static int refuse_buffers;

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void request(uint8_t **buffer, size_t *size, size_t *record_count)
{
	*buffer = refuse_buffers ? NULL : malloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*record_count = 0;
}

static void note_kernel(struct seen *s, const CUpti_ActivityKernel10 *r)
{
	snprintf(s->name, sizeof(s->name), "%s", r->name);
	s->begin_ns = r->start;
	s->end_ns = r->end;
	s->correlation = r->correlationId;
	s->stream = r->streamId;
	s->grid_x = (uint32_t)r->gridX;
	s->shared = (uint32_t)r->dynamicSharedMemory;
	s->node = r->graphNodeId;
	s->graph = r->graphId;
}

static void note_copy(struct seen *s, const CUpti_ActivityMemcpy6 *r)
{
	s->begin_ns = r->start;
	s->end_ns = r->end;
	s->correlation = r->correlationId;
	s->bytes = r->bytes;
	s->copy_kind = r->copyKind;
	s->node = r->graphNodeId;
}

static void note_set(struct seen *s, const CUpti_ActivityMemset4 *r)
{
	s->begin_ns = r->start;
	s->end_ns = r->end;
	s->correlation = r->correlationId;
	s->bytes = r->bytes;
	s->node = r->graphNodeId;
}

static void note(CUpti_Activity *record)
{
	struct seen *s = &seen[seen_count++];
	CUpti_ActivityExternalCorrelation *external;

	CHECK(seen_count <= RECORDS);
	s->kind = record->kind;
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		note_kernel(s, (void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		note_copy(s, (void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		note_set(s, (void *)record);
		break;
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		s->correlation = ((CUpti_ActivityAPI *)(void *)record)->correlationId;
		s->cbid = ((CUpti_ActivityAPI *)(void *)record)->cbid;
		break;
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		external = (void *)record;
		s->correlation = external->correlationId;
		s->external = external->externalId;
		break;
	default:
		break;
	}
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
	CUpti_Activity *record = NULL;
	CUptiResult result;

	(void)context, (void)stream;
	CHECK(size == BUFFER_BYTES && used <= size);
	while ((result = cuptiActivityGetNextRecord(buffer, used, &record)) == CUPTI_SUCCESS)
		note(record);
	CHECK(result == CUPTI_ERROR_MAX_LIMIT_REACHED);
	free(buffer);
}

/* The k-th record of a kind since the last forget(), NULL if there are fewer. */
static struct seen *find(CUpti_ActivityKind kind, size_t k)
{
	for (size_t i = 0; i < seen_count; i++) {
		if (seen[i].kind == kind && k-- == 0)
			return &seen[i];
	}
	return NULL;
}

/* The k-th record of a call that is not a wait, as all of collect()'s are. */
static struct seen *find_call(size_t k)
{
	for (size_t i = 0; i < seen_count; i++) {
		if (seen[i].kind == CUPTI_ACTIVITY_KIND_RUNTIME && seen[i].cbid != 165 && k-- == 0)
			return &seen[i];
	}
	return NULL;
}

static uint64_t external_of(uint32_t correlation)
{
	for (size_t i = 0; i < seen_count; i++) {
		if (seen[i].kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION &&
			seen[i].correlation == correlation)
			return seen[i].external;
	}
	return 0;
}

static void collect(void)
{
	OK(cudaDeviceSynchronize());
	OK(cuptiActivityFlushAll(0));
}

static void forget(void)
{
	collect();
	seen_count = 0;
}

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

static void enable_all(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		OK(cuptiActivityEnable(kinds[i]));
}

static void disable_all(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		OK(cuptiActivityDisable(kinds[i]));
}

/* Work that writes down when it began and ended. */
struct spin {
	uint64_t *begin_ns, *end_ns;
};

static void spin(void *arg)
{
	struct spin *s = arg;

	*s->begin_ns = real_ns();
	do
		*s->end_ns = real_ns();
	while (*s->end_ns - *s->begin_ns < SPIN_NS);
}

static void test_times(cudaStream_t stream)
{
	uint64_t begin_ns[20], end_ns[20], before_ns = real_ns(), last_end_ns = 0;

	forget();
	for (int i = 0; i < 20; i++) {
		struct spin s = {&begin_ns[i], &end_ns[i]};

		OK(sg_submit(stream, spin, &s, sizeof(s)));
	}
	collect();
	for (int i = 0; i < 20; i++) {
		struct seen *s = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, (size_t)i);

		CHECK(s != NULL && strncmp(s->name, "softgpu::", 9) == 0);
		CHECK(s->begin_ns >= before_ns && s->begin_ns >= last_end_ns);
		CHECK(s->begin_ns <= begin_ns[i] && end_ns[i] <= s->end_ns);
		CHECK(s->end_ns - s->begin_ns >= SPIN_NS);
		last_end_ns = s->end_ns;
	}
	CHECK(find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 20) == NULL);
	CHECK(last_end_ns <= real_ns());
}

/* What the records say of the work; the library's kernel is named after its call. */
static void test_kinds(cudaStream_t stream)
{
	float *device, host[256] = {0}, one = 1;
	cublasHandle_t blas;
	struct seen *s;
	uint32_t number;

	OK(cublasCreate(&blas));
	OK(cublasSetStream(blas, stream));
	OK(cudaMalloc((void **)&device, sizeof(host)));
	forget();
	OK(cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, stream));
	OK(cudaMemsetAsync(device, 0, 512, stream));
	OK(cublasSscal(blas, 64, &one, device, 1));
	OK(cudaMemcpyAsync(host, device, 128, cudaMemcpyDeviceToHost, stream));
	collect();
	s = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
	CHECK(s != NULL && s->bytes == sizeof(host) && s->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	s = find(CUPTI_ACTIVITY_KIND_MEMCPY, 1);
	CHECK(s != NULL && s->bytes == 128 && s->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	s = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
	CHECK(s != NULL && s->bytes == 512);
	s = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	CHECK(s != NULL && strcmp(s->name, "softgpu::cublasSscal_v2") == 0);
	OK(cuptiGetStreamIdEx(NULL, (CUstream)stream, 0, &number));
	CHECK(s->stream == number);
	/* one call each, with the number of its work */
	for (size_t i = 0; i < 4; i++)
		CHECK(find_call(i) != NULL);
	CHECK(find_call(4) == NULL);
	CHECK(find_call(2)->correlation == s->correlation);
	OK(cudaFree(device));
	OK(cublasDestroy(blas));
}

static void *launch_elsewhere(void *stream)
{
	uint64_t begin_ns, end_ns;
	struct spin s = {&begin_ns, &end_ns};

	OK(sg_submit((cudaStream_t)stream, spin, &s, sizeof(s)));
	OK(cudaStreamSynchronize((cudaStream_t)stream));
	return NULL;
}

/* External ids belong to a thread, the innermost counts, and they lead to the work. */
static void test_external(cudaStream_t stream)
{
	uint64_t begin_ns, end_ns, last;
	struct spin s = {&begin_ns, &end_ns};
	pthread_t thread;
	uint64_t wanted[4] = {0, 77, 78, 0};

	forget();
	OK(sg_submit(stream, spin, &s, sizeof(s)));
	OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77));
	OK(sg_submit(stream, spin, &s, sizeof(s)));
	OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 78));
	OK(sg_submit(stream, spin, &s, sizeof(s)));
	OK(cudaStreamSynchronize(stream));
	CHECK(pthread_create(&thread, NULL, launch_elsewhere, stream) == 0);
	pthread_join(thread, NULL);
	OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
	CHECK(last == 78);
	OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
	CHECK(last == 77);
	EXPECT(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL),
		CUPTI_ERROR_QUEUE_EMPTY);
	collect();
	for (size_t i = 0; i < 4; i++) {
		struct seen *k = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);

		CHECK(k != NULL && external_of(k->correlation) == wanted[i]);
	}
}

/* Captured work is not seen until the graph runs; then each launch has one correlation and the same nodes. */
static void test_graph(cudaStream_t stream)
{
	uint64_t begin_ns[2], end_ns[2];
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	char *device;

	OK(cudaMalloc((void **)&device, 64));
	forget();
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 2; i++) {
		struct spin s = {&begin_ns[i], &end_ns[i]};

		OK(sg_submit(stream, spin, &s, sizeof(s)));
	}
	OK(cudaMemsetAsync(device, 0, 64, stream));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&executable, graph, 0));
	collect();
	CHECK(find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0) == NULL);
	for (int i = 0; i < 3; i++) {
		struct seen *a, *b, *c;

		forget();
		OK(cudaGraphLaunch(executable, stream));
		collect();
		a = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
		b = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
		c = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
		CHECK(a != NULL && b != NULL && c != NULL);
		CHECK(a->node != 0 && a->node < b->node && b->node < c->node && a->graph == b->graph);
		CHECK(a->correlation == b->correlation && b->correlation == c->correlation);
		CHECK(find_call(0)->correlation == a->correlation);
		CHECK(find_call(1) == NULL);
	}
	OK(cudaGraphExecDestroy(executable));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(device));
}

static void test_dropped(cudaStream_t stream)
{
	uint64_t begin_ns, end_ns;
	struct spin s = {&begin_ns, &end_ns};
	size_t dropped;

	forget();
	OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	CHECK(dropped == 0);
	OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	OK(cuptiActivityEnableRuntimeApi(211, 1));
	refuse_buffers = 1;
	OK(sg_submit(stream, spin, &s, sizeof(s)));
	collect();
	refuse_buffers = 0;
	CHECK(seen_count == 0);
	OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	CHECK(dropped == 2); /* the work's, and its call's */
	OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	CHECK(dropped == 0);
	OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
}

/* Each call that is enabled has a record, whether it is work or not; those of the driver inside the runtime's
 * if they are enabled alone. External ids come only with a kind of calls. */
static void test_calls(cudaStream_t stream)
{
	char *device;
	size_t externals = 0;

	OK(cudaMalloc((void **)&device, 64));
	forget();
	OK(cudaGetLastError());
	OK(cudaMemsetAsync(device, 0, 64, stream));
	OK(cudaGetLastError());
	collect();
	CHECK(find_call(0)->cbid == 10 && find_call(1)->cbid == 51 && find_call(2)->cbid == 10 &&
		find_call(3) == NULL);
	OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	OK(cuptiActivityEnableDriverApi(216, 1));
	forget();
	OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 7));
	for (int i = 0; i < 3; i++) {
		OK(cudaMemsetAsync(device, 0, 64, stream));
		if (i == 0)
			OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
		else if (i == 1)
			OK(cuptiActivityEnableDriverApi(216, 0));
	}
	OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
	collect();
	while (find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, externals) != NULL)
		externals++;
	CHECK(externals == 1);
	CHECK(find(CUPTI_ACTIVITY_KIND_DRIVER, 1) != NULL && find(CUPTI_ACTIVITY_KIND_DRIVER, 2) == NULL);
	CHECK(external_of(find(CUPTI_ACTIVITY_KIND_MEMSET, 1)->correlation) == 7);
	OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
	OK(cudaFree(device));
}

static struct {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId cbid;
	CUpti_ApiCallbackSite site;
	uint32_t correlation;
} called[8];
static unsigned called_count;
static int called_data;

static void call_back(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *call)
{
	const CUpti_CallbackData *c = call;

	CHECK(data == &called_data && called_count < 8);
	called[called_count].domain = domain;
	called[called_count].cbid = cbid;
	called[called_count].site = c->callbackSite;
	called[called_count++].correlation = c->correlationId;
}

/* A call of the runtime enters the driver, under one number, which its work has as well. */
static void test_callbacks(CUpti_SubscriberHandle subscriber, cudaStream_t stream)
{
	char *device;
	struct seen *s;

	OK(cudaMalloc((void **)&device, 64));
	forget();
	OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 216));
	OK(cudaMemsetAsync(device, 0, 64, stream));
	OK(cudaMemset(device, 0, 64));
	collect();
	s = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
	CHECK(called_count == 2 && called[0].domain == CUPTI_CB_DOMAIN_DRIVER_API && called[0].cbid == 216);
	CHECK(called[0].site == CUPTI_API_ENTER && called[1].site == CUPTI_API_EXIT);
	CHECK(s != NULL && called[0].correlation == s->correlation &&
		called[1].correlation == s->correlation);
	called_count = 0;
	OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	OK(cudaMemsetAsync(device, 0, 64, stream));
	CHECK(called_count == 4 && called[0].domain == CUPTI_CB_DOMAIN_RUNTIME_API && called[0].cbid == 51);
	CHECK(called[1].domain == CUPTI_CB_DOMAIN_DRIVER_API &&
		called[0].correlation == called[1].correlation);
	CHECK(called[3].domain == CUPTI_CB_DOMAIN_RUNTIME_API && called[3].site == CUPTI_API_EXIT);
	OK(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	OK(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 216));
	OK(cudaMemsetAsync(device, 0, 64, stream));
	CHECK(called_count == 4);
	EXPECT(cuptiEnableCallback(1, NULL, CUPTI_CB_DOMAIN_DRIVER_API, 216), CUPTI_ERROR_INVALID_PARAMETER);
	OK(cudaFree(device));
}

/* One call's records alone, as asked for by its number; and nothing when nothing is asked for. */
static void test_disabled(cudaStream_t stream)
{
	uint64_t begin_ns, end_ns;
	struct spin s = {&begin_ns, &end_ns};
	char *device;

	OK(cudaMalloc((void **)&device, 64));
	forget();
	disable_all();
	OK(sg_submit(stream, spin, &s, sizeof(s)));
	collect();
	CHECK(seen_count == 0);
	OK(cuptiActivityEnableRuntimeApi(51, 1));
	OK(sg_submit(stream, spin, &s, sizeof(s)));
	OK(cudaMemsetAsync(device, 0, 64, stream));
	collect();
	CHECK(seen_count == 1 && seen[0].kind == CUPTI_ACTIVITY_KIND_RUNTIME);
	OK(cuptiActivityEnableRuntimeApi(51, 0));
	OK(cudaFree(device));
}

int main(void)
{
	CUpti_SubscriberHandle first, second;
	cudaStream_t stream;
	uint64_t now_ns, before_ns;

	OK(cuptiSubscribe(&first, call_back, &called_data));
	EXPECT(cuptiSubscribe(&second, NULL, NULL), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	EXPECT(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
	before_ns = real_ns();
	OK(cuptiGetTimestamp(&now_ns));
	CHECK(before_ns <= now_ns && now_ns <= real_ns());
	OK(cuptiActivityRegisterCallbacks(request, complete));
	enable_all();
	OK(cudaStreamCreate(&stream));
	test_times(stream);
	test_kinds(stream);
	test_external(stream);
	test_graph(stream);
	test_dropped(stream);
	test_calls(stream);
	test_callbacks(first, stream);
	test_disabled(stream);
	OK(cuptiUnsubscribe(first));
	EXPECT(cuptiUnsubscribe(first), CUPTI_ERROR_INVALID_PARAMETER);
	OK(cuptiSubscribe(&second, NULL, NULL));
	OK(cudaStreamDestroy(stream));
	return 0;
}
