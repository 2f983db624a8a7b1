/*
 * A program that uses CUDA as a statically linked runtime does: no CUDA library is linked; libcuda.so.1 is
 * opened at run time, one function is found by dlsym, and all others through it, each with the version of
 * CUDA that brought it and, where there is one, in the form for per-thread default streams.
 *
 * Two threads work on their own default streams: copies, fills, launches, events, a captured graph. It prints
 * a checksum, having computed the same on the host, and how often it called which function. Exit status 1:
 * something failed, 77: there is no driver.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every version of a function by its exported name. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define THREADS 2
#define ROUNDS 5
#define LAUNCHES 3
#define NUMBERS 1000
#define DEFAULT 0
#define PER_THREAD 2

/* X(base name, version, flags, symbol, suffix): what is asked for, and what should be found. */
#define FUNCTIONS(X) \
	X(cuInit, 2000, DEFAULT, cuInit, ) \
	X(cuDeviceGetCount, 2000, DEFAULT, cuDeviceGetCount, ) \
	X(cuDevicePrimaryCtxRetain, 7000, DEFAULT, cuDevicePrimaryCtxRetain, ) \
	X(cuDevicePrimaryCtxRelease, 11000, DEFAULT, cuDevicePrimaryCtxRelease_v2, ) \
	X(cuCtxSetCurrent, 4000, DEFAULT, cuCtxSetCurrent, ) \
	X(cuCtxSynchronize, 2000, DEFAULT, cuCtxSynchronize, ) \
	X(cuModuleLoadData, 2000, DEFAULT, cuModuleLoadData, ) \
	X(cuModuleGetFunction, 2000, DEFAULT, cuModuleGetFunction, ) \
	X(cuMemAlloc, 3020, DEFAULT, cuMemAlloc_v2, ) \
	X(cuMemFree, 3020, DEFAULT, cuMemFree_v2, ) \
	X(cuMemcpyHtoDAsync, 7000, PER_THREAD, cuMemcpyHtoDAsync_v2, _ptsz) \
	X(cuMemcpyDtoDAsync, 7000, PER_THREAD, cuMemcpyDtoDAsync_v2, _ptsz) \
	X(cuMemcpyDtoH, 7000, PER_THREAD, cuMemcpyDtoH_v2, _ptds) \
	X(cuMemcpyDtoH, 3020, DEFAULT, cuMemcpyDtoH_v2, ) \
	X(cuMemsetD32Async, 7000, PER_THREAD, cuMemsetD32Async, _ptsz) \
	X(cuMemsetD32, 3020, DEFAULT, cuMemsetD32_v2, ) \
	X(cuLaunchKernel, 7000, PER_THREAD, cuLaunchKernel, _ptsz) \
	X(cuLaunchKernel, 4000, DEFAULT, cuLaunchKernel, ) \
	X(cuLaunchKernelEx, 11060, PER_THREAD, cuLaunchKernelEx, _ptsz) \
	X(cuStreamSynchronize, 7000, PER_THREAD, cuStreamSynchronize, _ptsz) \
	X(cuStreamBeginCapture, 10010, PER_THREAD, cuStreamBeginCapture_v2, _ptsz) \
	X(cuStreamEndCapture, 10000, PER_THREAD, cuStreamEndCapture, _ptsz) \
	X(cuGraphInstantiateWithFlags, 11040, DEFAULT, cuGraphInstantiateWithFlags, ) \
	X(cuGraphLaunch, 10000, PER_THREAD, cuGraphLaunch, _ptsz) \
	X(cuGraphExecDestroy, 10000, DEFAULT, cuGraphExecDestroy, ) \
	X(cuGraphDestroy, 10000, DEFAULT, cuGraphDestroy, ) \
	X(cuEventCreate, 2000, DEFAULT, cuEventCreate, ) \
	X(cuEventRecord, 7000, PER_THREAD, cuEventRecord, _ptsz) \
	X(cuEventSynchronize, 2000, DEFAULT, cuEventSynchronize, ) \
	X(cuEventElapsedTime, 2000, DEFAULT, cuEventElapsedTime, ) \
	X(cuEventDestroy, 4000, DEFAULT, cuEventDestroy_v2, )

enum function {
#define X(base, version, flags, symbol, suffix) CALL_##symbol##suffix,
	FUNCTIONS(X)
#undef X
		FUNCTION_COUNT
};

static union {
	struct {
#define X(base, version, flags, symbol, suffix) __typeof__(symbol) *symbol##suffix;
		FUNCTIONS(X)
#undef X
	} by_name;
	void *by_number[FUNCTION_COUNT];
} driver;

static const struct {
	const char *base, *symbol;
	int version;
	cuuint64_t flags;
} functions[] = {
#define X(base, version, flags, symbol, suffix) {#base, #symbol #suffix, version, flags},
	FUNCTIONS(X)
#undef X
};

static _Atomic unsigned calls[FUNCTION_COUNT];

/* Calls a function of the driver, counts it, and gives up when it fails. */
#define CALL(name, ...) \
	do { \
		int result_ = (int)driver.by_name.name(__VA_ARGS__); \
		atomic_fetch_add(&calls[CALL_##name], 1); \
		if (result_ != 0) { \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #name, result_); \
			exit(1); \
		} \
	} while (0)

/* ---- finding the functions ---- */

static void find_functions(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	union {
		void *object;
		__typeof__(cuGetProcAddress_v2) *function;
	} find, found;

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	find.object = dlsym(library, "cuGetProcAddress_v2");
	if (find.object == NULL) {
		fprintf(stderr, "the driver is older than CUDA 12\n");
		exit(77);
	}
	/* The driver brings no runtime with it, or this would be another program than it claims to be. */
	if (dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD) != NULL) {
		fprintf(stderr, "libcudart is loaded\n");
		exit(1);
	}
	/* The function finds itself, and from then on that is the one. */
	if (find.function("cuGetProcAddress", &found.object, 12000, DEFAULT, NULL) != CUDA_SUCCESS ||
		found.object == NULL)
		exit(1);
	for (int i = 0; i < FUNCTION_COUNT; i++) {
		if (found.function(functions[i].base, &driver.by_number[i], functions[i].version,
			    functions[i].flags, NULL) != CUDA_SUCCESS ||
			driver.by_number[i] == NULL) {
			fprintf(stderr, "no %s of version %d\n", functions[i].base, functions[i].version);
			exit(1);
		}
	}
}

/* ---- the kernel: to[i] += value for i < count ---- */

static const char image[] =
	".version 7.0\n"
	".target sm_52\n"
	".address_size 64\n"
	".visible .entry add_to_all(.param .u64 to, .param .u32 value, .param .u32 count)\n"
	"{\n"
	".reg .pred %p<2>;\n"
	".reg .b32 %r<8>;\n"
	".reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [to];\n"
	"ld.param.u32 %r1, [value];\n"
	"ld.param.u32 %r2, [count];\n"
	"mov.u32 %r3, %ctaid.x;\n"
	"mov.u32 %r4, %ntid.x;\n"
	"mov.u32 %r5, %tid.x;\n"
	"mad.lo.s32 %r6, %r3, %r4, %r5;\n"
	"setp.ge.u32 %p1, %r6, %r2;\n"
	"@%p1 bra DONE;\n"
	"cvta.to.global.u64 %d2, %d1;\n"
	"mul.wide.u32 %d3, %r6, 4;\n"
	"add.s64 %d2, %d2, %d3;\n"
	"ld.global.u32 %r7, [%d2];\n"
	"add.s32 %r7, %r7, %r1;\n"
	"st.global.u32 [%d2], %r7;\n"
	"DONE:\n"
	"ret;\n"
	"}\n";

struct size {
	unsigned x, y, z;
};

/* Its twin on softgpu, which looks for it by name. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED extern const size_t sg_twin_add_to_all_args[];
EXPORTED void sg_twin_add_to_all(struct size grid, struct size block, void **args);

const size_t sg_twin_add_to_all_args[] = {sizeof(unsigned *), sizeof(unsigned), sizeof(unsigned), 0};
void sg_twin_add_to_all(struct size grid, struct size block, void **args)
{
	unsigned *to = *(unsigned **)args[0], value = *(unsigned *)args[1], count = *(unsigned *)args[2];

	for (unsigned i = 0; i < grid.x * block.x && i < count; i++)
		to[i] += value;
}

/* ---- the work ---- */

struct worker {
	pthread_t thread;
	CUcontext context;
	CUfunction add;
	unsigned number; /* 1, 2, ... */
	unsigned long long sum;
};

/* Into a graph: the second half becomes a copy of the first, and everything one more. */
static CUgraphExec capture(struct worker *worker, CUdeviceptr numbers)
{
	unsigned one = 1, count = NUMBERS;
	void *args[] = {&numbers, &one, &count};
	CUgraphExec executable;
	CUgraph graph;

	CALL(cuStreamBeginCapture_v2_ptsz, NULL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	CALL(cuMemcpyDtoDAsync_v2_ptsz, numbers + NUMBERS / 2 * sizeof(unsigned), numbers,
		NUMBERS / 2 * sizeof(unsigned), NULL);
	CALL(cuLaunchKernel_ptsz, worker->add, (NUMBERS + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, args, NULL);
	CALL(cuStreamEndCapture_ptsz, NULL, &graph);
	CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	CALL(cuGraphDestroy, graph);
	return executable;
}

static void one_round(struct worker *worker, unsigned round, CUdeviceptr numbers, CUgraphExec graph)
{
	unsigned in[NUMBERS], out[NUMBERS], count = NUMBERS, value = round;
	void *args[] = {&numbers, &value, &count};
	CUlaunchConfig config = {.gridDimX = 8,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 128,
		.blockDimY = 1,
		.blockDimZ = 1};

	for (unsigned i = 0; i < NUMBERS; i++)
		in[i] = worker->number * i;
	CALL(cuMemsetD32Async_ptsz, numbers, round, NUMBERS, NULL);
	CALL(cuMemcpyHtoDAsync_v2_ptsz, numbers, in, NUMBERS / 4 * sizeof(unsigned), NULL);
	CALL(cuLaunchKernel_ptsz, worker->add, 8, 1, 1, 128, 1, 1, 0, NULL, args, NULL);
	CALL(cuLaunchKernelEx_ptsz, &config, worker->add, args, NULL);
	for (int i = 0; i < LAUNCHES; i++)
		CALL(cuGraphLaunch_ptsz, graph, NULL);
	CALL(cuMemcpyDtoH_v2_ptds, out, numbers, sizeof(out));
	for (unsigned i = 0; i < NUMBERS; i++)
		worker->sum += (unsigned long long)out[i] * (i + 1);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	CUevent begin, end;
	CUdeviceptr numbers;
	CUgraphExec graph;
	float ms = -1;

	CALL(cuCtxSetCurrent, worker->context);
	CALL(cuMemAlloc_v2, &numbers, NUMBERS * sizeof(unsigned));
	CALL(cuEventCreate, &begin, 0);
	CALL(cuEventCreate, &end, 0);
	graph = capture(worker, numbers);
	CALL(cuEventRecord_ptsz, begin, NULL);
	for (unsigned round = 0; round < ROUNDS; round++)
		one_round(worker, round, numbers, graph);
	CALL(cuEventRecord_ptsz, end, NULL);
	CALL(cuEventSynchronize, end);
	CALL(cuEventElapsedTime, &ms, begin, end);
	if (!(ms >= 0))
		exit(1);
	CALL(cuStreamSynchronize_ptsz, NULL);
	CALL(cuGraphExecDestroy, graph);
	CALL(cuEventDestroy_v2, begin);
	CALL(cuEventDestroy_v2, end);
	CALL(cuMemFree_v2, numbers);
	return NULL;
}

/* The same arithmetic on the host. */
static unsigned long long expected(unsigned number)
{
	unsigned long long sum = 0;
	unsigned out[NUMBERS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < NUMBERS; i++)
			out[i] = (i < NUMBERS / 4 ? number * i : round) + 2 * round;
		for (int k = 0; k < LAUNCHES; k++) {
			memcpy(out + NUMBERS / 2, out, NUMBERS / 2 * sizeof(unsigned));
			for (unsigned i = 0; i < NUMBERS; i++)
				out[i]++;
		}
		for (unsigned i = 0; i < NUMBERS; i++)
			sum += (unsigned long long)out[i] * (i + 1);
	}
	return sum;
}

/* On the legacy default stream, with the functions' other form. */
static unsigned long long alone(CUfunction add)
{
	unsigned out[NUMBERS], value = 3, count = NUMBERS;
	unsigned long long sum = 0;
	CUdeviceptr numbers;
	void *args[] = {&numbers, &value, &count};

	CALL(cuMemAlloc_v2, &numbers, sizeof(out));
	CALL(cuMemsetD32_v2, numbers, 4, NUMBERS);
	CALL(cuLaunchKernel, add, 8, 1, 1, 128, 1, 1, 0, NULL, args, NULL);
	CALL(cuMemcpyDtoH_v2, out, numbers, sizeof(out));
	CALL(cuMemFree_v2, numbers);
	for (unsigned i = 0; i < NUMBERS; i++)
		sum += out[i];
	return sum;
}

int main(void)
{
	struct worker workers[THREADS];
	unsigned long long sum, wanted = 7 * NUMBERS;
	CUcontext context;
	CUmodule module;
	CUfunction add;
	int devices;

	find_functions();
	CALL(cuInit, 0);
	CALL(cuDeviceGetCount, &devices);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, image);
	CALL(cuModuleGetFunction, &add, module, "add_to_all");
	sum = alone(add);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.context = context, .add = add, .number = i + 1};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		sum += workers[i].sum;
		wanted += expected(i + 1);
	}
	CALL(cuCtxSynchronize);
	CALL(cuDevicePrimaryCtxRelease_v2, 0);
	printf("checksum %llu\n", sum);
	for (int i = 0; i < FUNCTION_COUNT; i++)
		printf("%s %u\n", functions[i].symbol, atomic_load(&calls[i]));
	if (sum != wanted) {
		fprintf(stderr, "the checksum should be %llu\n", wanted);
		return 1;
	}
	return 0;
}
