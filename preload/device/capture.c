/*
 * Stream capture and CUDA graphs: which operations a graph was made of.
 *
 * While a stream is captured its calls do no work. They are recorded with PM_FLAG_CAPTURED and noted here, in
 * a list for each capture; it is written when an executable graph is made of the captured one, and a launch
 * then names it. So the operations of a graph are in the trace once, and a launch is one record.
 *
 * A captured call is known by the capture that its stream is in, which the library is asked for: work that
 * joins from other streams is in the same one. Asking is allowed during capture, except for the legacy
 * stream.
 *
 * A capture begins when the library says so, and is over when its first stream is asked and says that it is
 * captured no more: the call that ends it may fail and end it all the same. It also ends with its stream or
 * its device.
 */
#include "capture.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_functions.h"
#include "describe/object.h"
#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/thread.h"
#include "place.h"
#include "trace/intern.h"
#include "trace/sample.h"
#include "trace/write.h"

#define CAPTURES 16u      /* under way or waiting for their graph to be made executable */
#define OPERATIONS 32768u /* of one graph; a graph with more is listed up to here */

struct capture {
	uint64_t id;       /* the library's number of it, 0: free */
	uint64_t used;     /* when last, to give way to newer ones */
	cudaGraph_t graph; /* that it makes */
	unsigned count;
	size_t node_count;           /* of the graph so far */
	struct pm_graph_node *nodes; /* OPERATIONS of them, made once */
};

static struct capture captures[CAPTURES];
static uint64_t uses;
static pmh_lock lock = ATOMIC_FLAG_INIT;

#define OPEN_CAPTURES 64u

/* The streams that captures were begun on, and those captures that found no room here. Under the lock. */
static struct {
	cudaStream_t stream;             /* NULL: free; no capture begins on the legacy stream */
	const struct pmh_thread *thread; /* whose stream it is, of the per-thread one; else NULL */
	int device;
} open_captures[OPEN_CAPTURES];
static unsigned unlisted;
static _Atomic int under_way; /* of both, how many */

static void count_captures(int more)
{
	pmh_sample_captures(atomic_fetch_add(&under_way, more) + more > 0);
}

static struct {
	/* CUDA 13 and 12.3, with edge data; CUDA 12 and 11.3, without */
	cudaError_t (*info_7)(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *,
		cudaGraph_t *, const cudaGraphNode_t **, const void **, size_t *);
	cudaError_t (*info_6)(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *,
		cudaGraph_t *, const cudaGraphNode_t **, size_t *);
	cudaError_t (*nodes)(cudaGraph_t, cudaGraphNode_t *, size_t *);
} cuda;

void pmh_graph_prepare(void)
{
	__typeof__(cuda) f = {0};
	cudaError_t (*version)(int *) = (cudaError_t(*)(int *))pmh_real_cudart("cudaRuntimeGetVersion");
	int number = 0;

	if (version && version(&number) != cudaSuccess)
		number = 0;
	/* the plain name has had another signature in each major version */
	*(void **)&f.info_7 =
		pmh_real_cudart(number >= 13000 ? "cudaStreamGetCaptureInfo" : "cudaStreamGetCaptureInfo_v3");
	*(void **)&f.info_6 = pmh_real_cudart("cudaStreamGetCaptureInfo_v2");
	*(void **)&f.nodes = pmh_real_cudart("cudaGraphGetNodes");
	if (!version) {
		*(void **)&f.info_7 = pmh_real_driver("cuStreamGetCaptureInfo_v3");
		*(void **)&f.info_6 = pmh_real_driver("cuStreamGetCaptureInfo_v2");
		*(void **)&f.nodes = pmh_real_driver("cuGraphGetNodes");
	}
	pmh_acquire(&lock);
	cuda = f;
	pmh_release(&lock);
}

void pmh_graph_forget(void)
{
	for (unsigned i = 0; i < CAPTURES; i++) {
		captures[i].id = 0;
		captures[i].graph = NULL;
	}
	memset(open_captures, 0, sizeof open_captures);
	unlisted = 0;
	count_captures(-atomic_load(&under_way));
	pmh_lock_forget(&lock);
}

bool pmh_capture_under_way(void)
{
	return atomic_load_explicit(&under_way, memory_order_relaxed) > 0;
}

/* The capture that a stream is in: its number, 0 if none; its graph. */
static uint64_t capture_of(cudaStream_t stream, cudaGraph_t *graph)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	unsigned long long id = 0;
	cudaError_t error = cudaErrorNotSupported;

	*graph = NULL;
	if (cuda.info_7)
		error = cuda.info_7(stream, &status, &id, graph, NULL, NULL, NULL);
	else if (cuda.info_6)
		error = cuda.info_6(stream, &status, &id, graph, NULL, NULL);
	if (error != cudaSuccess)
		pmh_device_clear_error();
	return error == cudaSuccess && status == cudaStreamCaptureStatusActive ? (uint64_t)id : 0;
}

/* The list of a capture; with `make` one is made, in the place of the oldest if need be. Under the lock. */
static struct capture *find(uint64_t id, bool make)
{
	struct capture *oldest = &captures[0];

	for (unsigned i = 0; i < CAPTURES; i++) {
		if (captures[i].id == id)
			return &captures[i];
		if (captures[i].used < oldest->used)
			oldest = &captures[i];
	}
	if (!make)
		return NULL;
	if (!oldest->nodes) {
		long p = syscall(SYS_mmap, NULL, OPERATIONS * sizeof oldest->nodes[0], PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, (off_t)0);

		if (p == -1)
			return NULL;
		oldest->nodes = (struct pm_graph_node *)p;
	}
	oldest->id = id;
	oldest->graph = NULL;
	oldest->count = 0;
	oldest->node_count = 0;
	return oldest;
}

static size_t node_count_of(cudaGraph_t graph)
{
	size_t count = 0;

	if (!graph || !cuda.nodes || cuda.nodes(graph, NULL, &count) != cudaSuccess)
		return 0;
	return count;
}

/* The per-thread default stream is another one in each thread, under one name. */
static const struct pmh_thread *owner_of(cudaStream_t stream)
{
	return stream == PMH_PER_THREAD_STREAM ? pmh_local.thread : NULL;
}

void pmh_capture_begun(cudaStream_t stream, int device)
{
	unsigned i = 0;

	pmh_cuda_seek();
	pmh_acquire(&lock);
	while (i < OPEN_CAPTURES && open_captures[i].stream)
		i++;
	if (i < OPEN_CAPTURES) {
		open_captures[i].stream = stream;
		open_captures[i].thread = owner_of(stream);
		open_captures[i].device = device;
	} else {
		unlisted++;
	}
	count_captures(1);
	pmh_release(&lock);
}

void pmh_captured(cudaStream_t stream, uint32_t op)
{
	const int saved_errno = errno;
	struct capture *c;
	cudaGraph_t graph;
	uint64_t id;
	size_t count;

	if (!(id = capture_of(stream, &graph))) {
		errno = saved_errno;
		return;
	}
	count = node_count_of(graph);
	pmh_acquire(&lock);
	c = find(id, true);
	if (c && c->count == OPERATIONS)
		pmh_lose(PM_LOSS_GRAPH_SIZE, 1);
	if (c && c->count < OPERATIONS) {
		c->used = ++uses;
		c->graph = graph;
		/* of concurrent callers one counts the other's node, and the sum is right */
		c->nodes[c->count++] = (struct pm_graph_node){
			.op = op, .nodes = count > c->node_count ? (uint32_t)(count - c->node_count) : 0};
		c->node_count = count;
	}
	pmh_release(&lock);
	errno = saved_errno;
}

void pmh_captured_late(cudaStream_t stream)
{
	const int saved_errno = errno;
	struct capture *c;
	cudaGraph_t graph;
	uint64_t id = capture_of(stream, &graph);
	size_t count = id ? node_count_of(graph) : 0;

	pmh_acquire(&lock);
	c = id ? find(id, false) : NULL;
	if (c && c->count && count > c->node_count) {
		c->nodes[c->count - 1].nodes += (uint32_t)(count - c->node_count);
		c->node_count = count;
	}
	pmh_release(&lock);
	errno = saved_errno;
}

static bool is_captured(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	bool clean;

	if (!stream || !pmh_cuda_ready())
		return false;
	clean = pmh_cuda.peek_last_error() == cudaSuccess;
	if (pmh_cuda.is_capturing(stream, &status) == cudaSuccess)
		return status != cudaStreamCaptureStatusNone;
	if (clean)
		pmh_device_clear_error();
	return false;
}

static bool forget_capture(cudaStream_t stream, const struct pmh_thread *thread)
{
	bool forgotten = false;

	if (!stream || !pmh_capture_under_way())
		return false;
	pmh_acquire(&lock);
	for (unsigned i = 0; i < OPEN_CAPTURES; i++)
		if (open_captures[i].stream == stream && open_captures[i].thread == thread) {
			open_captures[i].stream = NULL;
			count_captures(-1);
			forgotten = true;
		}
	pmh_release(&lock);
	return forgotten;
}

bool pmh_capture_forgotten(cudaStream_t stream)
{
	return forget_capture(stream, owner_of(stream));
}

void pmh_capture_ended(cudaStream_t stream)
{
	const int saved_errno = errno;

	/* asked without our lock, which the library's must not wait for */
	if (pmh_capture_under_way() && !is_captured(stream) && !pmh_capture_forgotten(stream)) {
		pmh_acquire(&lock);
		if (unlisted) {
			unlisted--;
			count_captures(-1);
		}
		pmh_release(&lock);
	}
	errno = saved_errno;
}

void pmh_capture_thread_gone(const struct pmh_thread *thread)
{
	if (pmh_capture_under_way())
		forget_capture(PMH_PER_THREAD_STREAM, thread);
}

void pmh_capture_device_gone(int device)
{
	pmh_acquire(&lock);
	for (unsigned i = 0; i < OPEN_CAPTURES; i++)
		if (open_captures[i].stream && open_captures[i].device == device) {
			open_captures[i].stream = NULL;
			count_captures(-1);
		}
	pmh_release(&lock);
}

void pmh_graph_instantiated(cudaGraphExec_t exec, cudaGraph_t graph)
{
	struct object *o = object_of(exec, true);
	uint32_t number = 0;

	struct capture *newest = NULL;

	pmh_acquire(&lock);
	for (unsigned i = 0; graph && i < CAPTURES; i++)
		if (captures[i].id && captures[i].graph == graph &&
			(!newest || captures[i].used > newest->used))
			newest = &captures[i];
	if (newest) {
		newest->used = ++uses;
		number = pmh_graph_number(newest->nodes, newest->count);
	}
	pmh_release(&lock);
	if (o)
		atomic_store_explicit(&o->number, number, memory_order_release);
}

void pmh_graph_destroyed(cudaGraph_t graph)
{
	pmh_acquire(&lock);
	for (unsigned i = 0; graph && i < CAPTURES; i++)
		if (captures[i].graph == graph) {
			captures[i].id = captures[i].used = 0;
			captures[i].graph = NULL;
		}
	pmh_release(&lock);
}

uint32_t pmh_graph(cudaGraphExec_t exec)
{
	const struct object *o = object_of(exec, false);
	uint32_t number = o ? atomic_load_explicit(&o->number, memory_order_acquire) : 0;

	if (!number)
		pmh_lose(PM_LOSS_GRAPHS, 1);
	return number;
}
