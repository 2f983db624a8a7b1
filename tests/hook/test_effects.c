/*
 * Calls that change what later ones mean (streams, handles, devices, contexts, communicators,
 * groups, kernels, graphs) with given numbers, and what the trace then
 * must say of a call that uses them, as literal text.
 *
 * Run with libpmhook.so preloaded, PMHOOK_DEVICE=none and PMHOOK_OUT set to an empty folder.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peek.h"
#include "pm_abi.h"
#include "pm_hooks.h"
#include "promise.h"
#include "strict_library.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"
__attribute__((weak)) void __cudaRegisterFunction(void **module, const char *host_function,
	char *device_function, const char *device_name, int thread_limit, void *thread_id, void *block_id,
	void *block_size, void *grid_size, int *warp_size);

/* Uses. */
#define STREAM_IS(s, text) cudaMemsetAsync(AT(text), 0, 1, s)
#define DEVICE_IS(text) cudaMemset(AT(text), 0, 1)
#define HANDLE_IS(h, text) cublasSscal_v2(h, 1, &(float){1}, AT(text), 1)
#define COMM_IS(c, text) ncclAllReduce(AT(text), NULL, 1, ncclFloat32, ncclSum, c, NULL)
#define KERNEL_IS(f, text) cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, (unsigned)PROMISE(text), NULL, NULL, NULL)

/* ---- devices, streams, handles, contexts: queue=DEVICE:STREAM, streams by the order in which they are made
 * ---- */

static void streams(void)
{
	cudaStream_t s[5];

	for (int i = 0; i < 5; i++)
		s[i] = new_object();
	cudaSetDevice(4);
	cudaStreamCreate(&s[0]);
	cudaSetDevice(5);
	cudaStreamCreateWithFlags(&s[1], 1);
	cudaSetDevice(6);
	cudaStreamCreateWithPriority(&s[2], 1, -1);
	cudaSetDevice(7);
	cuStreamCreate(&s[3], 1);
	cudaSetDevice(8);
	cuStreamCreateWithPriority(&s[4], 1, -1);
	cudaSetDevice(9);
	STREAM_IS(s[0], "queue=4:object");
	STREAM_IS(s[1], "queue=5:object");
	STREAM_IS(s[2], "queue=6:object");
	STREAM_IS(s[3], "queue=7:object");
	STREAM_IS(s[4], "queue=8:object");
	STREAM_IS(NULL, "queue=9:0");
	STREAM_IS((cudaStream_t)1, "queue=9:1");
	STREAM_IS((cudaStream_t)2, "queue=9:2");
	cudaSetDevice(8);
	STREAM_IS((cudaStream_t)2, "queue=8:2");
	STREAM_IS((cudaStream_t)1, "queue=8:1");
	cudaSetDevice(9);
	STREAM_IS((cudaStream_t)1, "queue=9:1");
	DEVICE_IS("queue=9:0");
	/* a stream whose making was not seen is the current device's */
	STREAM_IS(new_object(), "queue=9:object");
	/* and one that comes again at an address is made again */
	cudaStreamDestroy(s[0]);
	cudaStreamCreate(&s[0]);
	STREAM_IS(s[0], "queue=9:object");
	cudaSetDevice(0);
}

static void handles(void)
{
	cudnnHandle_t dnn = new_object();
	cublasHandle_t other = new_object();
	cudaStream_t s = new_object();

	cudaSetDevice(3);
	cudaStreamCreate(&s);
	cudaSetDevice(2);
	cublasCreate_v2(&other);
	cudnnCreate(&dnn);
	cudaSetDevice(1);
	HANDLE_IS(other, "queue=2:0");
	HANDLE_IS((cublasHandle_t)dnn, "queue=2:0");
	cublasSetStream_v2(other, s);
	HANDLE_IS(other, "queue=3:object");
	HANDLE_IS((cublasHandle_t)dnn, "queue=2:0");
	cudnnSetStream(dnn, s);
	HANDLE_IS((cublasHandle_t)dnn, "queue=3:object");
	cublasSetStream_v2(other, NULL);
	HANDLE_IS(other, "queue=3:0");
	cublasCreate_v2(&other);
	HANDLE_IS(other, "queue=1:0");
	HANDLE_IS(new_object(), "queue=1:0");
	cublasSetPointerMode_v2(other, CUBLAS_POINTER_MODE_DEVICE);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, &(float){0}, AT("beta=3"), 1);
	cublasSetPointerMode_v2(other, CUBLAS_POINTER_MODE_HOST);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, &(float){0}, AT("beta=0"), 1);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, NULL, AT("beta=3"), 1);
	cublasSetPointerMode_v2(other, CUBLAS_POINTER_MODE_DEVICE);
	cublasCreate_v2(&other);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, &(float){0}, AT("beta=0"), 1);
	cudaSetDevice(0);
}

static void contexts(void)
{
	CUcontext c[4] = {new_object(), new_object(), new_object(), new_object()}, popped = NULL;

	cuDevicePrimaryCtxRetain(&c[0], 4);
	DEVICE_IS("queue=0:0");
	cuCtxSetCurrent(c[0]);
	DEVICE_IS("queue=4:0");
	cuCtxCreate_v2(&c[1], 0, 5);
	DEVICE_IS("queue=5:0");
	cuCtxCreate_v3(&c[2], NULL, 0, 0, 6);
	DEVICE_IS("queue=6:0");
	cuCtxCreate_v4(&c[3], NULL, 0, 7);
	DEVICE_IS("queue=7:0");
	cuCtxPushCurrent_v2(c[1]);
	DEVICE_IS("queue=5:0");
	strict_device = 7;
	cuCtxPopCurrent_v2(&popped);
	DEVICE_IS("queue=7:0");
	cudaSetDevice(0);
	DEVICE_IS("queue=0:0");
}

/* ---- NCCL: comm=RANK/SIZE on DEVICE, #n for the n-th hash that is seen ---- */

static void communicators(void)
{
	ncclComm_t a = new_object(), b = new_object(), c = new_object(),
		   all[3] = {new_object(), new_object(), new_object()};
	ncclComm_t part = new_object(), other_part = new_object(), rest = new_object();
	ncclUniqueId first = {.internal = "first"}, ids[2] = {{.internal = "second"}, {.internal = "third"}};

	COMM_IS(new_object(), "comm=none seq=0");
	cudaSetDevice(2);
	ncclCommInitRank(&a, 8, first, 5);
	cudaSetDevice(0);
	COMM_IS(a, "comm=5/8 on 2 #1 seq=1");
	COMM_IS(a, "comm=5/8 on 2 #1 seq=2");
	ncclCommInitRankConfig(&b, 8, first, 6, NULL); /* another rank of the same one: a count of its own */
	COMM_IS(b, "comm=6/8 on 0 #1 seq=1");
	ncclSend(AT("comm=6/8 on 0 #1 seq=1"), 1, ncclInt8, 0, b, NULL);
	COMM_IS(b, "comm=6/8 on 0 #1 seq=2");
	ncclCommInitRankScalable(&c, 9, 4, 2, ids, NULL);
	COMM_IS(c, "comm=4/9 on 0 #2 seq=1");
	ncclCommInitRankScalable(&c, 9, 4, 1, ids, NULL);
	COMM_IS(c, "comm=4/9 on 0 #3 seq=1");
	ncclCommInitAll(all, 3, (int[]){4, 6, 5});
	COMM_IS(all[0], "comm=0/3 on 4 #4 seq=1");
	COMM_IS(all[1], "comm=1/3 on 6 #4 seq=1");
	COMM_IS(all[2], "comm=2/3 on 5 #4 seq=1");
	ncclCommInitAll(all, 3, NULL);
	COMM_IS(all[2], "comm=2/3 on 2 #5 seq=1");
	strict_comm_size = 4;
	strict_comm_rank = 3;
	ncclCommSplit(a, 1, 0, &part, NULL);
	COMM_IS(part, "comm=3/4 on 2 #6 seq=1");
	ncclCommSplit(b, 1, 0, &other_part, NULL); /* the other rank finds the same */
	COMM_IS(other_part, "comm=3/4 on 0 #6 seq=1");
	ncclCommSplit(a, 2, 0, &part, NULL);
	COMM_IS(part, "comm=3/4 on 2 #7 seq=1");
	ncclCommSplit(a, 2, 0, &part, NULL); /* the same colour again is another one */
	COMM_IS(part, "comm=3/4 on 2 #8 seq=1");
	strict_comm_size = 7;
	ncclCommShrink(a, (int[]){1}, 1, &rest, NULL, 0);
	COMM_IS(rest, "comm=3/7 on 2 #9 seq=1");
	ncclCommShrink(a, (int[]){2}, 1, &rest, NULL, 0);
	COMM_IS(rest, "comm=3/7 on 2 #10 seq=1");
}

/* Which parts of communicators are the same one: those of the same parent, with the same colour, at the same
 * time. */
static void parts(void)
{
	ncclComm_t a = new_object(), b = new_object(), c = new_object(), part = new_object();
	ncclUniqueId same = {.internal = "parts"}, other = {.internal = "others"};

	for (int again = 0; again < 2; again++) {
		same.internal[100] = other.internal[100] = (char)again;
		ncclCommInitRank(&a, 2, same, 0);
		ncclCommInitRank(&b, 2, same, 1);
		ncclCommInitRank(&c, 2, other, 0);
		strict_comm_size = 2;
		ncclCommSplit(a, 1, 0, &part, NULL);
		COMM_IS(part, again ? "#17 seq=1" : "#11 seq=1");
		ncclCommSplit(b, 2, 0, &part, NULL);
		COMM_IS(part, again ? "#18 seq=1" : "#12 seq=1");
		ncclCommSplit(c, 1, 0, &part, NULL);
		COMM_IS(part, again ? "#19 seq=1" : "#13 seq=1");
		ncclCommShrink(a, (int[]){1, 2}, 2, &part, NULL, 0);
		COMM_IS(part, again ? "#20 seq=1" : "#14 seq=1");
		ncclCommShrink(b, (int[]){1, 3}, 2, &part, NULL, 0);
		COMM_IS(part, again ? "#21 seq=1" : "#15 seq=1");
		ncclCommShrink(c, (int[]){1, 2}, 2, &part, NULL, 0);
		COMM_IS(part, again ? "#22 seq=1" : "#16 seq=1");
		if (!again) /* at the same address, from here on with fewer splits */
			ncclCommSplit(a, 1, 0, &part, NULL);
	}
	same.internal[100] = 3;
	ncclCommInitRank(&a, 2, same, 0);
	ncclCommInitRank(&part, 2, same, 1);
	ncclCommSplit(a, 5, 0, &c, NULL);
	COMM_IS(c, "#23 seq=1");
	ncclCommSplit(part, 5, 0, &c, NULL);
	COMM_IS(c, "#23 seq=2");
}

static void groups(void)
{
	ncclComm_t a = new_object();
	ncclUniqueId id = {.internal = "groups"};

	ncclCommInitRank(&a, 2, id, 0);
	COMM_IS(a, "group=0");
	ncclGroupStart();
	COMM_IS(a, "group=1");
	ncclGroupStart();
	COMM_IS(a, "group=1");
	ncclGroupEnd();
	COMM_IS(a, "group=1");
	ncclGroupEnd();
	COMM_IS(a, "group=0");
	for (int i = 2; i <= 254; i++) {
		ncclGroupStart();
		ncclGroupEnd();
	}
	ncclGroupStart();
	COMM_IS(a, "group=255");
	ncclGroupEnd();
	ncclGroupStart();
	COMM_IS(a, "group=1 ");
	ncclGroupEnd();
}

/* ---- kernels and graphs ---- */

static void kernels(void)
{
	void *f = new_object(), *g = new_object(), *h = new_object(), *unknown = new_object();
	char passing[16] = "passing";

	KERNEL_IS(unknown, "kernel= ");
	cuModuleGetFunction((CUfunction *)&f, NULL, passing);
	snprintf(passing, sizeof passing, "another");
	KERNEL_IS(f, "kernel=passing ");
	cuLibraryGetKernel((CUkernel *)&g, NULL, passing);
	KERNEL_IS(g, "kernel=another ");
	cuKernelGetFunction((CUfunction *)&h, g);
	KERNEL_IS(h, "kernel=another ");
	f = new_object();
	cudaLibraryGetKernel((cudaKernel_t *)&f, NULL, "third");
	KERNEL_IS(f, "kernel=third ");
	g = new_object();
	cudaGetKernel((cudaKernel_t *)&g, f);
	KERNEL_IS(g, "kernel=third ");
	g = new_object();
	__cudaGetKernel((cudaKernel_t *)&g, h);
	KERNEL_IS(g, "kernel=another ");
	/* one that was only registered has a name, and no number yet */
	f = new_object();
	g = new_object();
	__cudaRegisterFunction(NULL, f, NULL, "registered", 0, NULL, NULL, NULL, NULL, NULL);
	cudaGetKernel((cudaKernel_t *)&g, f);
	KERNEL_IS(g, "kernel=registered ");
}

static cudaGraph_t capture(unsigned sets, unsigned nodes_each, cudaStream_t s)
{
	cudaGraph_t graph = new_object();

	strict_captured = s;
	strict_capture++;
	strict_graph = graph;
	strict_nodes = 0;
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	for (unsigned i = 0; i < sets; i++) {
		strict_nodes += nodes_each;
		cudaMemsetAsync(AT("flags=2"), 0, 1, s);
	}
	cudaMemset(AT("flags=0"), 0, 1); /* on the legacy stream beside the capture: in no graph */
	STREAM_IS(STRICT_STREAM(0, 9), "flags=0");
	strict_captured = NULL;
	cudaStreamEndCapture(s, &graph);
	STREAM_IS(s, "flags=0");
	return graph;
}

/* Communication in a group goes into the graph when the group ends. */
static cudaGraph_t capture_group(cudaStream_t s)
{
	cudaGraph_t graph = new_object();

	strict_captured = s;
	strict_capture++;
	strict_graph = graph;
	strict_nodes = 0;
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	ncclGroupStart();
	for (int i = 0; i < 2; i++)
		ncclAllReduce(AT("flags=2"), NULL, 1, ncclFloat32, ncclSum, NULL, s);
	strict_nodes = 3;
	ncclGroupEnd();
	strict_captured = NULL;
	cudaStreamEndCapture(s, &graph);
	return graph;
}

static struct {
	uint64_t exec;
	const char *text;
	int line;
} launches[64];
static unsigned launch_count, launches_seen, launches_wrong;

static void launched(cudaGraphExec_t exec, const char *text, int line)
{
	launches[launch_count].exec = (uint64_t)(uintptr_t)exec;
	launches[launch_count].text = text;
	launches[launch_count++].line = line;
	cudaGraphLaunch(exec, NULL);
}
#define LAUNCHED(exec, text) launched(exec, text, __LINE__)

static void graphs(void)
{
	cudaGraphExec_t e[7];
	cudaStream_t s = new_object();
	cudaGraph_t first, second;

	for (int i = 0; i < 7; i++)
		e[i] = new_object();
	cudaStreamCreate(&s);
	LAUNCHED(e[0], "none");
	first = capture(3, 1, s);
	second = capture(2, 4, s);
	cudaGraphInstantiate(&e[0], first, 0);
	cudaGraphInstantiateWithFlags(&e[1], second, 0);
	cudaGraphInstantiateWithParams(&e[2], first, NULL);
	cudaGraphInstantiateWithParams_ptsz(&e[3], second, NULL);
	cuGraphInstantiateWithFlags(&e[4], first, 0);
	cuGraphInstantiateWithParams(&e[5], second, NULL);
	cuGraphInstantiateWithParams_ptsz(&e[6], first, NULL);
	LAUNCHED(e[0], "1 1 1");
	LAUNCHED(e[1], "4 4");
	LAUNCHED(e[2], "1 1 1");
	LAUNCHED(e[3], "4 4");
	LAUNCHED(e[4], "1 1 1");
	LAUNCHED(e[5], "4 4");
	LAUNCHED(e[6], "1 1 1");
	cudaGraphExecUpdate(e[0], second, NULL);
	LAUNCHED(e[0], "4 4");
	cuGraphExecUpdate_v2(e[0], first, NULL);
	LAUNCHED(e[0], "1 1 1");
	first = capture_group(s);
	cudaGraphInstantiate(&e[2], first, 0);
	LAUNCHED(e[2], "0 3");
	for (unsigned i = 0; i < 20; i++) /* more than are kept */
		first = capture(1 + i % 3, 1 + i, s);
	cudaGraphInstantiate(&e[2], first, 0);
	LAUNCHED(e[2], "20 20");
	cudaGraphDestroy(first);
	cuGraphDestroy(second);
	cudaGraphInstantiate(&e[0], first, 0);
	LAUNCHED(e[0], "none");
	cudaGraphInstantiate(&e[1], second, 0);
	LAUNCHED(e[1], "none");
}

/* Profiler marks close nothing where no window was asked for. */
static void marks(void)
{
	cudaProfilerStart();
	cudaProfilerStop();
	cuProfilerStart();
	cuProfilerStop();
	DEVICE_IS("result=0");
}

/* The twins of functions that begin and end a capture count as they do. */
static void other_captures(void)
{
	cudaStream_t s = new_object();
	cudaGraph_t graph = NULL;

	cudaStreamCreate(&s);
#define CAPTURED(begin, end) \
	do { \
		strict_captured = s; \
		strict_capture++; \
		begin; \
		STREAM_IS(s, "flags=2"); \
		strict_captured = NULL; \
		end; \
		DEVICE_IS("flags=0"); \
	} while (0)
	CAPTURED(cudaStreamBeginCapture_ptsz(s, cudaStreamCaptureModeRelaxed),
		cudaStreamEndCapture_ptsz(s, &graph));
	CAPTURED(cudaStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, cudaStreamCaptureModeRelaxed),
		cuStreamEndCapture(s, &graph));
	CAPTURED(cudaStreamBeginCaptureToGraph_ptsz(s, NULL, NULL, NULL, 0, cudaStreamCaptureModeRelaxed),
		cuStreamEndCapture_ptsz(s, &graph));
	CAPTURED(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), cudaStreamEndCapture(s, &graph));
	CAPTURED(cuStreamBeginCapture_v2_ptsz(s, CU_STREAM_CAPTURE_MODE_RELAXED),
		cudaStreamEndCapture(s, &graph));
	CAPTURED(cuStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
		cudaStreamEndCapture(s, &graph));
	CAPTURED(cuStreamBeginCaptureToGraph_ptsz(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
		cudaStreamEndCapture(s, &graph));
}

static void see_launch(const struct peek *trace, const struct pm_entry_operation *op, const char *function)
{
	const struct pm_entry_graph *g;
	char found[256] = "none";
	size_t n = 0;

	if (strcmp(function, "cudaGraphLaunch") != 0)
		return;
	g = peek_numbered(trace, PM_ENTRY_GRAPH, (uint32_t)op->values[1]);

	for (unsigned i = 0; g && i < g->node_count && n < sizeof found - 32; i++) {
		const struct pm_entry_operation *made_of = peek_operation(trace, g->nodes[i].op);
		const char *of = made_of ? peek_function(trace, made_of->function) : "";

		n += (size_t)sprintf(found + n, "%s%u%s", i ? " " : "", g->nodes[i].nodes,
			strstr(of, " cudaMemsetAsync ") || strstr(of, " ncclAllReduce ") ? "" : "?");
	}
	if (launches_seen == launch_count || launches[launches_seen].exec != op->values[0])
		errx(1, "launch %u is another one in the trace", launches_seen);
	if (strcmp(found, launches[launches_seen].text) != 0) {
		printf("line %d: graph %s, expected %s\n", launches[launches_seen].line, found,
			launches[launches_seen].text);
		launches_wrong++;
	}
	launches_seen++;
}

int main(void)
{
	unsigned broken;

	if (!getenv("PMHOOK_OUT")) {
		puts("PMHOOK_OUT is not set");
		return 77;
	}
	streams();
	handles();
	contexts();
	communicators();
	parts();
	groups();
	kernels();
	graphs();
	other_captures();
	marks();
	broken = promises_broken(see_launch);
	printf("%u of %u launches, %u wrong; %u calls that CUDA would refuse\n", launches_seen, launch_count,
		launches_wrong, strict_refused);
	return broken != 0 || launches_wrong != 0 || launches_seen != launch_count || strict_refused != 0;
}
