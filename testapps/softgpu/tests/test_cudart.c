/* Checks the stand-in CUDA runtime: memory, copies, streams, events, launches, errors, fork, exit and
 * injected failures. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "core/sg.h"
#include "test_common.h"
#include "test_cudart.h"

/* ---- a kernel and a device variable, as nvcc would register them ---- */

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
	const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
	int ext, size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void sg_twin_fill(dim3 grid, dim3 block, void **args);
EXPORTED extern const size_t sg_twin_fill_args[];

const char kernel_fill, kernel_unknown, kernel_unregistered;
int device_table[4];

const size_t sg_twin_fill_args[] = {sizeof(int *), sizeof(int), 0};
void sg_twin_fill(dim3 grid, dim3 block, void **args)
{
	int *to = *(int **)args[0], value = *(int *)args[1];

	for (unsigned i = 0; i < grid.x * block.x; i++)
		to[i] = value;
}

static void register_all(void)
{
	static char fill_name[] = "fill", unknown_name[] = "unknown", table_name[] = "device_table";
	static void **handle;

	handle = __cudaRegisterFatBinary(NULL);
	__cudaRegisterFunction(handle, &kernel_fill, fill_name, fill_name, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(
		handle, &kernel_unknown, unknown_name, unknown_name, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(
		handle, (char *)device_table, table_name, table_name, 0, sizeof(device_table), 0, 0);
}

/* ---- streams and events ---- */

struct log {
	_Atomic int next;
	int order[16];
};

struct entry {
	struct log *log;
	int number;
};

static void write_entry(void *arg)
{
	struct entry *entry = arg;

	entry->log->order[atomic_fetch_add(&entry->log->next, 1)] = entry->number;
}

static void note(struct log *log, int number, cudaStream_t stream)
{
	struct entry entry = {log, number};

	OK(sg_submit(stream, write_entry, &entry, sizeof(entry)));
}

static void test_legacy_stream(void)
{
	cudaStream_t blocking, free_running;
	struct log log = {0};
	struct gate gate;

	gate_init(&gate);
	OK(cudaStreamCreate(&blocking));
	OK(cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking));
	OK(cudaLaunchHostFunc(blocking, gate_hold, &gate));
	note(&log, 1, blocking);
	note(&log, 2, NULL);
	note(&log, 3, blocking);
	note(&log, 4, cudaStreamPerThread);
	note(&log, 5, cudaStreamLegacy);
	note(&log, 6, free_running);
	OK(cudaStreamSynchronize(free_running));
	CHECK(atomic_load(&log.next) == 1 && log.order[0] == 6);
	EXPECT(cudaStreamQuery(NULL), cudaErrorNotReady);
	EXPECT(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
	gate_open(&gate);
	OK(cudaStreamSynchronize(NULL));
	CHECK(atomic_load(&log.next) == 6);
	CHECK(log.order[1] == 1 && log.order[2] == 2 && log.order[3] + log.order[4] == 7 &&
		log.order[5] == 5);
	/* Another device's streams have nothing to do with it. */
	OK(cudaLaunchHostFunc(blocking, gate_hold, &gate));
	OK(cudaSetDevice(1));
	note(&log, 7, NULL);
	OK(cudaDeviceSynchronize());
	CHECK(log.order[6] == 7);
	OK(cudaSetDevice(0));
	gate_open(&gate);
	OK(cudaDeviceSynchronize());
	OK(cudaStreamDestroy(blocking));
	OK(cudaStreamDestroy(free_running));
	EXPECT(cudaStreamDestroy(free_running), cudaErrorInvalidResourceHandle);
	EXPECT(cudaStreamSynchronize(free_running), cudaErrorInvalidResourceHandle);
	EXPECT(cudaStreamSynchronize((cudaStream_t)(void *)&log), cudaErrorInvalidResourceHandle);
	EXPECT(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
	EXPECT(cudaStreamCreateWithFlags(&blocking, 2), cudaErrorInvalidValue);
	EXPECT(cudaStreamCreate(NULL), cudaErrorInvalidValue);
}

static void test_many_items(void)
{
	cudaStream_t stream;
	int *a, *host;

	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc((void **)&a, 4));
	OK(cudaMallocHost((void **)&host, 4 * 20000));
	for (int i = 0; i < 20000; i++) {
		dim3 one = {1, 1, 1};
		void *args[] = {&a, &i};

		OK(cudaLaunchKernel(&kernel_fill, one, one, args, 0, stream));
		OK(cudaMemcpyAsync(host + i, a, 4, cudaMemcpyDeviceToHost, stream));
	}
	OK(cudaStreamSynchronize(stream));
	for (int i = 0; i < 20000; i++)
		CHECK(host[i] == i);
	/* Destroyed with work pending: the work is still done. */
	for (int i = 0; i < 100; i++)
		OK(cudaMemsetAsync(host + i, 0, 4, stream));
	OK(cudaStreamDestroy(stream));
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 100; i++)
		CHECK(host[i] == 0);
	OK(cudaFree(a));
	OK(cudaFreeHost(host));
}

static void test_events(void)
{
	cudaEvent_t a, b, untimed;
	cudaStream_t s1, s2, other;
	struct log log = {0};
	struct gate gate;
	float ms = -1;

	gate_init(&gate);
	OK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
	OK(cudaEventCreate(&a));
	OK(cudaEventCreateWithFlags(&b, cudaEventBlockingSync));
	OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
	EXPECT(cudaEventCreateWithFlags(&untimed, 0x40), cudaErrorInvalidValue);
	EXPECT(cudaEventCreateWithFlags(&untimed, cudaEventInterprocess), cudaErrorInvalidValue);
	/* Never recorded: complete, waits for nothing, has no time. */
	OK(cudaEventQuery(a));
	OK(cudaEventSynchronize(a));
	OK(cudaStreamWaitEvent(s1, a, 0));
	EXPECT(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);

	OK(cudaEventRecord(a, s1));
	OK(cudaLaunchHostFunc(s1, gate_hold, &gate));
	OK(cudaEventRecord(b, s1));
	OK(cudaEventSynchronize(a));
	EXPECT(cudaGetLastError(), cudaErrorInvalidResourceHandle);
	EXPECT(cudaEventQuery(b), cudaErrorNotReady);
	EXPECT(cudaGetLastError(), cudaErrorNotReady);
	OK(cudaPeekAtLastError());
	EXPECT(cudaEventElapsedTime(&ms, a, b), cudaErrorNotReady);
	/* s2 waits for b as recorded now, whatever b is recorded for later. */
	OK(cudaStreamWaitEvent(s2, b, 0));
	OK(cudaEventRecord(b, NULL));
	OK(cudaEventSynchronize(b));
	note(&log, 1, s2);
	EXPECT(cudaStreamQuery(s2), cudaErrorNotReady);
	note(&log, 2, s1);
	CHECK(atomic_load(&log.next) == 0);
	OK(cudaEventRecord(b, s1));
	gate_open(&gate);
	OK(cudaEventSynchronize(b));
	OK(cudaEventElapsedTime(&ms, a, b));
	CHECK(ms > 0 && ms < 60000);
	OK(cudaStreamSynchronize(s2));
	CHECK(atomic_load(&log.next) == 2);
	OK(cudaEventRecord(untimed, s1));
	OK(cudaStreamSynchronize(s1));
	EXPECT(cudaEventElapsedTime(&ms, a, untimed), cudaErrorInvalidResourceHandle);

	/* From device to device, a wait crosses; a record does not. */
	OK(cudaSetDevice(1));
	OK(cudaStreamCreate(&other));
	EXPECT(cudaEventRecord(a, other), cudaErrorInvalidResourceHandle);
	OK(cudaLaunchHostFunc(s1, gate_hold, &gate));
	OK(cudaEventRecord(a, s1));
	OK(cudaStreamWaitEvent(other, a, 0));
	EXPECT(cudaStreamQuery(other), cudaErrorNotReady);
	gate_open(&gate);
	OK(cudaStreamSynchronize(other));
	OK(cudaEventQuery(a));
	OK(cudaStreamDestroy(other));
	OK(cudaSetDevice(0));
	OK(cudaEventDestroy(a));
	EXPECT(cudaEventDestroy(a), cudaErrorInvalidResourceHandle);
	EXPECT(cudaEventRecord(a, s1), cudaErrorInvalidResourceHandle);
	EXPECT(cudaEventQuery((cudaEvent_t)(void *)&log), cudaErrorInvalidResourceHandle);
	OK(cudaEventDestroy(b));
	OK(cudaEventDestroy(untimed));
	OK(cudaStreamDestroy(s1));
	OK(cudaStreamDestroy(s2));
	cudaGetLastError();
}

static void call_back(cudaStream_t stream, cudaError_t status, void *data)
{
	int *seen = data;

	(void)stream;
	seen[0] = (int)status;
	seen[1] = (int)cudaDeviceSynchronize();
}

static void test_callbacks(void)
{
	int seen[2] = {-1, -1};
	cudaStream_t stream;

	OK(cudaStreamCreate(&stream));
	OK(cudaStreamAddCallback(stream, call_back, seen, 0));
	EXPECT(cudaStreamAddCallback(stream, call_back, seen, 1), cudaErrorInvalidValue);
	EXPECT(cudaLaunchHostFunc(stream, NULL, NULL), cudaErrorInvalidValue);
	OK(cudaStreamSynchronize(stream));
	CHECK(seen[0] == 0 && seen[1] == cudaErrorNotPermitted);
	OK(cudaStreamDestroy(stream));
	cudaGetLastError();
}

/* ---- launches ---- */

static void test_launches(void)
{
	dim3 grid = {2, 1, 1}, block = {3, 1, 1}, wide = {1025, 1, 1}, none = {0, 1, 1}, got[2];
	cudaLaunchConfig_t config = {0};
	struct cudaFuncAttributes attributes;
	void *stream = NULL;
	size_t shared_bytes;
	int *a, host[6], value = 5, blocks;
	void *args[] = {&a, &value};

	OK(cudaMalloc((void **)&a, sizeof(host)));
	OK(cudaLaunchKernel(&kernel_fill, grid, block, args, 0, NULL));
	value = 6;
	OK(cudaMemcpy(host, a, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 6; i++)
		CHECK(host[i] == 5);
	config.gridDim = grid;
	config.blockDim = block;
	OK(cudaLaunchKernelExC(&config, &kernel_fill, args));
	OK(cudaMemcpy(host, a, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK(host[5] == 6);
	OK(cudaLaunchCooperativeKernel(&kernel_unknown, grid, block, args, 0, NULL));
	EXPECT(cudaLaunchKernel(&kernel_unregistered, grid, block, args, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	EXPECT(cudaLaunchKernel(&kernel_fill, none, block, args, 0, NULL), cudaErrorInvalidConfiguration);
	EXPECT(cudaLaunchKernel(&kernel_fill, grid, wide, args, 0, NULL), cudaErrorInvalidConfiguration);
	EXPECT(cudaGetLastError(), cudaErrorInvalidConfiguration);
	OK(cudaGetLastError());
	OK((int)__cudaPushCallConfiguration(grid, block, 7, stream));
	OK(__cudaPopCallConfiguration(&got[0], &got[1], &shared_bytes, &stream));
	CHECK(got[0].x == 2 && got[1].x == 3 && shared_bytes == 7);
	EXPECT(__cudaPopCallConfiguration(&got[0], &got[1], &shared_bytes, &stream),
		cudaErrorMissingConfiguration);
	OK(cudaFuncGetAttributes(&attributes, &kernel_fill));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel_fill, 256, 0));
	CHECK(blocks == 8);
	OK(cudaFree(a));
	cudaGetLastError();
}

/* ---- devices and errors ---- */

static void *other_thread(void *arg)
{
	int device = -1;

	(void)arg;
	OK(cudaGetLastError());
	OK(cudaGetDevice(&device));
	CHECK(device == 0);
	return NULL;
}

static void test_devices(void)
{
	struct cudaDeviceProp prop;
	pthread_t thread;
	int count, value, least, greatest;

	OK(cudaGetDeviceCount(&count));
	CHECK(count == 4);
	OK(cudaGetDeviceProperties(&prop, 2));
	CHECK(strcmp(prop.name, "softgpu 2") == 0 && prop.totalGlobalMem == (size_t)64 << 20);
	EXPECT(cudaGetDeviceProperties(&prop, 4), cudaErrorInvalidDevice);
	EXPECT(cudaSetDevice(4), cudaErrorInvalidDevice);
	EXPECT(cudaSetDevice(-1), cudaErrorInvalidDevice);
	OK(cudaSetDevice(2));
	OK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)10, 0));
	CHECK(value == 32);
	OK(cudaDeviceCanAccessPeer(&value, 0, 1));
	CHECK(value == 1);
	OK(cudaDeviceEnablePeerAccess(0, 0));
	EXPECT(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
	EXPECT(cudaDeviceEnablePeerAccess(2, 0), cudaErrorInvalidDevice);
	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK(least == 0 && greatest < 0);
	EXPECT(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	/* The last error and the device are each thread's own. */
	CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
	pthread_join(thread, NULL);
	EXPECT(cudaGetLastError(), cudaErrorInvalidDevice);
	CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice") == 0);
	CHECK(strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
	CHECK(strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code") == 0);
	/* A failure of the work itself stays until the device is reset, and is that device's alone. */
	sg_async_error(2, cudaErrorIllegalAddress);
	EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	OK(cudaSetDevice(0));
	OK(cudaDeviceSynchronize());
	OK(cudaSetDevice(2));
	OK(cudaDeviceReset());
	OK(cudaDeviceSynchronize());
	OK(cudaSetDevice(0));
	cudaGetLastError();
}

/* ---- threads ---- */

static void *use_shared_stream(void *arg)
{
	static _Atomic int number;
	cudaStream_t shared = arg, own;
	cudaEvent_t event;
	char *a;

	for (int i = 0; i < 200; i++) {
		OK(cudaMalloc((void **)&a, 128));
		OK(cudaStreamCreateWithFlags(&own, i % 2 == 0 ? cudaStreamNonBlocking : cudaStreamDefault));
		OK(cudaEventCreate(&event));
		OK(cudaMemsetAsync(a, i, 64, own));
		OK(cudaEventRecord(event, own));
		OK(cudaStreamWaitEvent(shared, event, 0));
		OK(cudaMemsetAsync(a, i + 1, 64, shared));
		OK(cudaMemsetAsync(a + 64, i + 2, 64, i % 3 == 0 ? NULL : cudaStreamPerThread));
		OK(cudaEventDestroy(event));
		OK(cudaStreamDestroy(own));
		OK(cudaStreamSynchronize(shared));
		OK(cudaFree(a));
	}
	atomic_fetch_add(&number, 1);
	return NULL;
}

static void test_threads(void)
{
	cudaStream_t shared;
	pthread_t threads[4];

	OK(cudaStreamCreate(&shared));
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, use_shared_stream, shared) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	OK(cudaStreamDestroy(shared));
	OK(cudaDeviceSynchronize());
}

/* ---- fork and exit ---- */

static int wait_for(pid_t pid)
{
	int status = -1;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void stay(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void compute(void *arg)
{
	(void)arg;
	for (volatile unsigned i = 0; i < 20000000; i++)
		;
}

static cudaStream_t exit_stream;

static void use_late(void)
{
	cudaError_t error = cudaStreamSynchronize(exit_stream);

	if (error != cudaSuccess && error != cudaErrorCudartUnloading)
		_exit(2);
}

/* Each ends its process while a worker is in the middle of something; called before this process uses a
 * device. */
static void test_exit(void)
{
	for (int way = 0; way < 5; way++) {
		pid_t pid = fork();

		if (pid == 0) {
			cudaStream_t stream;

			/* A handler that runs after the library's own, and waits. */
			if (way >= 3)
				atexit(use_late);
			OK(cudaStreamCreate(&stream));
			exit_stream = stream;
			if (way == 0 || way == 3) {
				OK(cudaLaunchHostFunc(stream, stay, NULL));
			} else {
				for (int i = 0; i < 1000; i++)
					OK(sg_submit(stream, compute, NULL, 0));
			}
			if (way == 2)
				_exit(0);
			exit(0);
		}
		CHECK(pid > 0);
		OK(wait_for(pid));
	}
}

static void test_fork(void)
{
	pid_t pid;
	char *a;

	OK(cudaMalloc((void **)&a, 16));
	OK(cudaMemset(a, 0, 16));
	pid = fork();
	if (pid == 0)
		exit(0);
	OK(wait_for(pid));
	pid = fork();
	if (pid == 0) {
		int count;

		EXPECT(cudaMalloc((void **)&a, 16), cudaErrorInitializationError);
		EXPECT(cudaGetDeviceCount(&count), cudaErrorInitializationError);
		EXPECT(cudaDeviceSynchronize(), cudaErrorInitializationError);
		EXPECT(sg_submit(NULL, compute, NULL, 0), cudaErrorInitializationError);
		EXPECT(cudaGetLastError(), cudaErrorInitializationError);
		exit(0);
	}
	OK(wait_for(pid));
	OK(cudaFree(a));
}

/* ---- injected failures ---- */

/* A little of everything; answers whether a call failed. Run in a process of its own, with SOFTGPU_FAIL set.
 */
static int scenario(void)
{
	cudaStream_t stream = NULL;
	cudaEvent_t event = NULL;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;
	char *a = NULL, host[64] = {0};
	int failures = 0;

	failures += cudaStreamCreate(&stream) != 0;
	failures += cudaEventCreate(&event) != 0;
	failures += cudaMalloc((void **)&a, 64) != 0;
	failures += cudaMemcpyAsync(a, host, 64, cudaMemcpyHostToDevice, stream) != 0;
	failures += cudaEventRecord(event, stream) != 0;
	failures += cudaMemsetAsync(a, 0, 64, stream) != 0;
	failures += cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != 0;
	failures += cudaMemsetAsync(a, 0, 64, stream) != 0;
	failures += cudaStreamEndCapture(stream, &graph) != 0;
	failures += cudaGraphInstantiate(&executable, graph, 0) != 0;
	failures += cudaGraphLaunch(executable, stream) != 0;
	failures += cudaStreamSynchronize(stream) != 0;
	failures += cudaGraphExecDestroy(executable) != 0;
	failures += cudaGraphDestroy(graph) != 0;
	failures += cudaEventDestroy(event) != 0;
	failures += cudaStreamDestroy(stream) != 0;
	failures += cudaFree(a) != 0;
	return failures > 0;
}

static void test_faults(void)
{
	static const char *const names[] = {"cudaStreamCreate", "cudaEventCreate", "cudaMalloc",
		"cudaMemcpyAsync", "cudaEventRecord", "cudaMemsetAsync", "cudaStreamBeginCapture",
		"cudaStreamEndCapture", "cudaGraphInstantiate", "cudaGraphLaunch", "cudaStreamSynchronize",
		"cudaFree"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int failed = 1;

		for (int call = 1; failed; call++) {
			char setting[64];
			pid_t pid;

			CHECK(call < 10);
			snprintf(setting, sizeof(setting), "nothing:1,%s:%d", names[i], call);
			pid = fork();
			if (pid == 0) {
				setenv("SOFTGPU_FAIL", setting, 1);
				execl("/proc/self/exe", "test_cudart", "scenario", (char *)NULL);
				_exit(127);
			}
			failed = wait_for(pid);
			CHECK(failed == 0 || failed == 1);
			CHECK(failed == 1 || call > 1);
		}
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return scenario();
	/* Settings are read as the library is loaded. */
	if (getenv("SOFTGPU_MEMORY") == NULL) {
		setenv("SOFTGPU_MEMORY", "64M", 1);
		setenv("SOFTGPU_DEVICES", "4", 1);
		execl("/proc/self/exe", "test_cudart", (char *)NULL);
		return 1;
	}
	register_all();
	test_exit();
	test_faults();
	test_memory();
	test_legacy_stream();
	test_many_items();
	test_events();
	test_callbacks();
	test_launches();
	test_capture();
	test_graphs();
	test_devices();
	test_threads();
	test_fork();
	return 0;
}
