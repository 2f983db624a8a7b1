/* Checks the model clock's durations, what hosts see of them, numerics and memory. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "test_clock.h"

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
	const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void sg_twin_clock_fill(dim3 grid, dim3 block, void **args);
EXPORTED extern const size_t sg_twin_clock_fill_args[];

/* ---- durations ---- */

/* By hand: floor 5000 ns, then the longer of arithmetic and memory with their half sizes. */
static const struct {
	struct sg_cost cost;
	uint64_t wanted_ns;
} durations[] = {
	{SG_COST(SG_COST_NONE, SG_COST_F32, 0, 0), 5000},
	{SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 1e6), 5000 + 10000},
	{SG_COST(SG_COST_VECTOR, SG_COST_F32, 2e7, 1e6), 5000 + 20000},
	{SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 4e9), 5000 + 40000000},
	/* (1e8 + 1e7) / (1000 * 0.5); memory: (1e6 + 1e6) / (100 * 0.25) */
	{SG_COST(SG_COST_CONVOLUTION, SG_COST_F32, 1e8, 1e6), 5000 + 220000},
	{SG_COST(SG_COST_CONVOLUTION, SG_COST_TF32, 1e8, 1e6), 5000 + 80000},
	{SG_COST(SG_COST_CONVOLUTION, SG_COST_F16, 1e8, 0), 5000 + 27500},
	{SG_COST(SG_COST_CONVOLUTION, SG_COST_F64, 1e8, 1e6), 5000 + 440000},
	{SG_COST(SG_COST_DEPTHWISE, SG_COST_F32, 1e6, 1e6), 5000 + 20000},
	{SG_COST(SG_COST_DEPTHWISE, SG_COST_F32, 1e7, 1e6), 5000 + 100000},
	/* as much as the half size: half of 0.8 of the peak */
	{SG_COST(SG_COST_PRODUCT, SG_COST_F32, 8e7, 0), 5000 + 200000},
	{SG_COST(SG_COST_PRODUCT, SG_COST_F32, 0, 1e8), 5000 + 1000000},
};
#define DURATION_COUNT (sizeof(durations) / sizeof(durations[0]))

static void test_durations(void)
{
	cudaStream_t stream = new_stream();
	cudaEvent_t events[DURATION_COUNT + 1];

	CHECK(sg_modelled() && !sg_numerics());
	for (unsigned i = 0; i <= DURATION_COUNT; i++)
		OK(cudaEventCreate(&events[i]));
	/* Long enough that no launch comes late. */
	kernel(stream, HEAD_NS);
	OK(cudaEventRecord(events[0], stream));
	for (unsigned i = 0; i < DURATION_COUNT; i++) {
		OK(sg_submit_cost(stream, &durations[i].cost, count_call, NULL, 0));
		OK(cudaEventRecord(events[i + 1], stream));
	}
	OK(cudaStreamSynchronize(stream));
	for (unsigned i = 0; i < DURATION_COUNT; i++) {
		TAKES(events[i], events[i + 1], durations[i].wanted_ns);
		CHECK(sg_cost_ns(0, &durations[i].cost) == durations[i].wanted_ns);
	}
	CHECK(kernels_called() == 0);
}

/* Ten multiprocessors of 1000 threads: a block of 500 gets 50 bytes/ns. A million bytes lie in the cache,
 * which gives 200. */
static const char BLOCKS[] =
	"vector_floor_us 1\nl2_mb 1\nl2_gb_s 200\nthread_mb_s 100\nmultiprocessor_threads 1000\n";

static const struct sg_pace slow = {3, 0.5, 0.2, 0, 0}, late = {0, 1, 1, 2, 100},
			    last = {1, 1, 1, 0, 0, 2, 0.5};
static const struct {
	struct sg_cost cost;
	uint64_t wanted_ns;
} of_blocks[] = {
	{{SG_COST_NONE, SG_COST_F32, 0, 0}, 5000},
	/* of enough blocks: the cache, then the memory */
	{{SG_COST_VECTOR, SG_COST_F32, 0, 1e6}, 1000 + 5000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 3e6}, 1000 + 5000 + 20000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 3e6, 100000, 500}, 1000 + 5000 + 20000},
	{{SG_COST_VECTOR, SG_COST_F32, 1e8, 3e6}, 1000 + 100000},
	/* one block, small ones, and so many that the memory is what binds */
	{{SG_COST_VECTOR, SG_COST_F32, 0, 1e6, 1, 500}, 1000 + 20000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 1e5, 1, 500}, 1000 + 2000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 2e6, 20, 50}, 1000 + 20000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 2.1e6, 21, 500}, 1000 + 5000 + 11000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 2.1e6, 21, 100}, 1000 + 5000 + 11000},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 4.2e6, 21, 500, .pace = &slow}, 3000 + 2 * (5000 + 32000)},
	{{SG_COST_VECTOR, SG_COST_F32, 0, 1e6, 1, 500, .pace = &slow}, 3000 + 100000},
	/* arithmetic of two of ten multiprocessors, at twice its rate; a last block's steps of half the least
	   time */
	{{SG_COST_VECTOR, SG_COST_F32, 1e8, 1e5, 2, 500, 8, &last}, 1000 + 100000 * 5 / 2 + 8 * 500},
	/* threads of so many registers that a multiprocessor holds 655: two waves of one block each */
	{{SG_COST_VECTOR, SG_COST_F32, 0, 2e5, 20, 500, .pace = &late}, 2 * (2000 + 200)},
};

static void test_blocks(void)
{
	char text[4096];
	FILE *file = fopen(test_path("test.profile"), "r");
	size_t length;

	CHECK(file != NULL && (length = fread(text, 1, sizeof(text), file)) < sizeof(text) &&
		fclose(file) == 0);
	file = fopen(test_path("blocks.profile"), "w");
	CHECK(file != NULL && fwrite(text, 1, length, file) == length && fputs(BLOCKS, file) >= 0 &&
		fclose(file) == 0);
	setenv("SOFTGPU_PROFILE", test_path("blocks.profile"), 1);
	for (size_t i = 0; i < sizeof(of_blocks) / sizeof(of_blocks[0]); i++) {
		uint64_t ns = sg_cost_ns(0, &of_blocks[i].cost);

		if (ns == of_blocks[i].wanted_ns)
			continue;
		fprintf(stderr, "row %zu: %llu ns, not %llu\n", i, (unsigned long long)ns,
			(unsigned long long)of_blocks[i].wanted_ns);
		CHECK(0);
	}
}

static void test_scale(void)
{
	cudaStream_t stream = new_stream();

	watch();
	kernel(stream, 1 * MS);
	OK(cudaStreamSynchronize(stream));
	CHECK(lasted(seen(0)) == 10 * MS);
	CHECK(sg_link_between(0, 1).latency_ns == 30000 && sg_link_between(0, 1).bytes_per_ns == 5);
	CHECK(sg_link_between(0, 2).latency_ns == 300000 && sg_link_between(0, 2).bytes_per_ns == 0.1);
}

/* Copies and sets of each direction, by CUDA's own events. */
static void test_copies(void)
{
	const size_t size = (size_t)4 << 20;
	cudaStream_t stream = new_stream();
	cudaEvent_t e[6];
	char *device, *second, *pinned, *pageable = malloc(size);

	for (int i = 0; i < 6; i++)
		OK(cudaEventCreate(&e[i]));
	OK(cudaMalloc((void **)&device, size));
	OK(cudaMalloc((void **)&second, size));
	OK(cudaMallocHost((void **)&pinned, size));
	/* the host's first touch of these pages, which takes long under a sanitizer, is not in what is timed */
	memset(pageable, 1, size);
	OK(cudaMemcpy(device, pageable, size, cudaMemcpyHostToDevice));
	kernel(stream, HEAD_NS);
	OK(cudaEventRecord(e[0], stream));
	OK(cudaMemcpyAsync(device, pinned, size, cudaMemcpyHostToDevice, stream));
	OK(cudaEventRecord(e[1], stream));
	OK(cudaMemcpyAsync(pinned, device, size, cudaMemcpyDeviceToHost, stream));
	OK(cudaEventRecord(e[2], stream));
	OK(cudaMemcpyAsync(second, device, size, cudaMemcpyDeviceToDevice, stream));
	OK(cudaEventRecord(e[3], stream));
	OK(cudaMemsetAsync(device, 0, size, stream));
	OK(cudaEventRecord(e[4], stream));
	OK(cudaMemcpyAsync(device, pageable, size, cudaMemcpyHostToDevice, stream));
	OK(cudaEventRecord(e[5], stream));
	OK(cudaEventSynchronize(e[5]));
	TAKES(e[0], e[1], COPY_NS + 419430); /* 4194304 / 10 */
	TAKES(e[1], e[2], COPY_NS + 838861);
	TAKES(e[2], e[3], COPY_NS + 83886); /* read and written */
	TAKES(e[3], e[4], FLOOR_NS + 41943);
	TAKES(e[4], e[5], COPY_NS + 838861);
	free(pageable);
}

/* From host memory to host memory: while the device computes. */
static void test_host_copy(void)
{
	const size_t size = (size_t)1 << 20;
	cudaStream_t streams[2] = {new_stream(), new_stream()};
	char *from, *to;

	watch();
	OK(cudaMallocHost((void **)&from, size));
	OK(cudaMallocHost((void **)&to, size));
	kernel(streams[0], HEAD_NS);
	OK(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToHost, streams[1]));
	OK(cudaDeviceSynchronize());
	CHECK(seen(1).kind == SG_ACTIVITY_COPY && seen(1).end_ns < seen(0).end_ns);
}

static void test_peer(void)
{
	cudaStream_t stream = new_stream();
	char *here, *there;

	watch();
	OK(cudaMalloc((void **)&here, 1000000));
	OK(cudaSetDevice(1));
	OK(cudaMalloc((void **)&there, 1000000));
	OK(cudaMemcpyPeerAsync(there, 1, here, 0, 1000000, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK(lasted(seen(0)) == 3 * US + 20000);
}

/* A thousand kernels: no wake-up's lateness adds up. */
static void test_many(void)
{
	cudaStream_t stream = new_stream();
	cudaEvent_t begin, end;

	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	kernel(stream, HEAD_NS);
	OK(cudaEventRecord(begin, stream));
	for (int i = 0; i < 1000; i++)
		kernel(stream, 100 * US);
	OK(cudaEventRecord(end, stream));
	OK(cudaStreamSynchronize(stream));
	TAKES(begin, end, 1000 * 100 * US);
}

/* ---- what hosts see ---- */

static void test_hosts_wait(void)
{
	cudaStream_t stream = new_stream(), legacy = NULL;
	cudaEvent_t event;
	uint64_t begin_ns;
	int *device, host = 7;

	OK(cudaEventCreate(&event));
	OK(cudaMalloc((void **)&device, 4));
	begin_ns = sg_now_ns();
	kernel(stream, HEAD_NS);
	OK(cudaEventRecord(event, stream));
	EXPECT(cudaStreamQuery(stream), cudaErrorNotReady);
	EXPECT(cudaEventQuery(event), cudaErrorNotReady);
	EXPECT(cudaEventElapsedTime(&(float){0}, event, event), cudaErrorNotReady);
	CHECK(sg_now_ns() - begin_ns < HEAD_NS); /* else the machine stood still */
	OK(cudaEventSynchronize(event));
	CHECK(sg_now_ns() - begin_ns >= HEAD_NS + LAUNCH_NS);
	OK(cudaEventQuery(event));
	OK(cudaStreamQuery(stream));
	/* Each call that waits, waits. */
	begin_ns = sg_now_ns();
	kernel(stream, 5 * MS);
	OK(cudaStreamSynchronize(stream));
	CHECK(sg_now_ns() - begin_ns >= 5 * MS);
	begin_ns = sg_now_ns();
	kernel(stream, 5 * MS);
	OK(cudaDeviceSynchronize());
	CHECK(sg_now_ns() - begin_ns >= 5 * MS);
	begin_ns = sg_now_ns();
	kernel(legacy, 5 * MS);
	OK(cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost));
	CHECK(sg_now_ns() - begin_ns >= 5 * MS);
	begin_ns = sg_now_ns();
	kernel(stream, 5 * MS);
	OK(cudaFree(device));
	CHECK(sg_now_ns() - begin_ns >= 5 * MS);
	/* A destroyed stream's work is the device's still. */
	begin_ns = sg_now_ns();
	kernel(stream, 5 * MS);
	OK(cudaStreamDestroy(stream));
	OK(cudaDeviceSynchronize());
	CHECK(sg_now_ns() - begin_ns >= 5 * MS);
}

/* A host that submits without end is held back by the device. */
static void test_held_back(void)
{
	cudaStream_t stream = new_stream();
	uint64_t begin_ns = sg_now_ns();

	for (int i = 0; i < 3024; i++)
		kernel(stream, 20 * US);
	CHECK(sg_now_ns() - begin_ns >= 2000 * 20 * US);
	OK(cudaStreamSynchronize(stream));
}

/* ---- numerics and memory ---- */

const size_t sg_twin_clock_fill_args[] = {sizeof(int *), sizeof(int), 0};
void sg_twin_clock_fill(dim3 grid, dim3 block, void **args)
{
	int *to = *(int **)args[0], value = *(int *)args[1];

	for (unsigned i = 0; i < grid.x * block.x; i++)
		to[i] = value;
}

static const char kernel_fill, kernel_foreign;

static void register_kernels(void)
{
	static char fill[] = "clock_fill", foreign[] = "foreign";
	void **handle = __cudaRegisterFatBinary(NULL);

	__cudaRegisterFunction(handle, &kernel_fill, fill, fill, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(handle, &kernel_foreign, foreign, foreign, -1, NULL, NULL, NULL, NULL, NULL);
	__cudaUnregisterFatBinary(handle);
}

/* A kernel of 256000 threads that nothing is known about lasts as long as `count` others of known cost. */
static void run_default(unsigned count)
{
	dim3 grid = {1000, 1, 1}, block = {256, 1, 1};
	cudaStream_t stream = new_stream();

	register_kernels();
	OK(cudaLaunchKernel(&kernel_foreign, grid, block, NULL, 0, stream));
	for (unsigned i = 0; i < count; i++)
		kernel(stream, FLOOR_NS + 256000 * 8 / RATE);
	OK(cudaStreamSynchronize(stream));
}
/* Half of the time by default is told at exit, a twentieth not. */
static void test_told_default(void)
{
	run_default(1);
}
static void test_little_default(void)
{
	run_default(19);
}

/* Kernels that nothing is known about take time by their threads; with numerics those that have a twin
 * compute. */
static void test_launch(void)
{
	dim3 grid = {1000, 1, 1}, block = {256, 1, 1}, one = {1, 1, 1};
	cudaStream_t stream = new_stream();
	int *device, host = 7, value = 42;
	void *args[] = {&device, &value};

	register_kernels();
	watch();
	OK(cudaMalloc((void **)&device, 4));
	OK(cudaMemset(device, 0, 4));
	OK(cudaDeviceSynchronize());
	OK(cudaLaunchKernel(&kernel_foreign, grid, block, NULL, 0, stream));
	OK(cudaLaunchKernel(&kernel_fill, one, one, args, 0, stream));
	kernel(stream, 10 * US);
	OK(cudaMemcpyAsync(&host, device, 4, cudaMemcpyDeviceToHost, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK(lasted(seen(1)) == FLOOR_NS + 256000 * 8 / RATE);
	CHECK(strcmp(seen(1).name, "foreign") == 0);
	CHECK(lasted(seen(2)) == FLOOR_NS);
	CHECK(host == (sg_numerics() ? 42 : 0));
	CHECK(kernels_called() == sg_numerics());
}

static size_t resident_bytes(void)
{
	unsigned long all = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file != NULL && fscanf(file, "%lu %lu", &all, &resident) == 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Without numerics memory that only exists virtually costs none. */
static void test_virtual_memory(void)
{
	const size_t size = (size_t)48 << 30;
	size_t before = resident_bytes(), free_bytes, total_bytes;
	struct cudaDeviceProp properties;
	char *device, *pinned, small[5] = "none";

	OK(cudaMemGetInfo(&free_bytes, &total_bytes));
	CHECK(total_bytes == (size_t)64 << 30 && free_bytes == total_bytes);
	OK(cudaGetDeviceProperties(&properties, 0));
	CHECK(strcmp(properties.name, "Test Device 1") == 0 && properties.totalGlobalMem == total_bytes);
	CHECK(properties.major == 6 && properties.minor == 1 && properties.multiProcessorCount == 10);
	OK(cudaMalloc((void **)&device, size));
	EXPECT(cudaMalloc((void **)&pinned, size), cudaErrorMemoryAllocation);
	OK(cudaMallocHost((void **)&pinned, (size_t)256 << 20));
	OK(cudaMemset(device, 1, (size_t)1 << 30));
	OK(cudaMemcpyAsync(device + size / 2, device, (size_t)1 << 30, cudaMemcpyDeviceToDevice, NULL));
	OK(cudaMemcpyAsync(device, pinned, (size_t)256 << 20, cudaMemcpyHostToDevice, NULL));
	OK(cudaMemcpy(pinned, device, (size_t)256 << 20, cudaMemcpyDeviceToHost));
#ifdef __SANITIZE_THREAD__ /* whose shadow is resident as well */
	(void)before;
#else
	CHECK(resident_bytes() - before < (size_t)32 << 20);
#endif
	/* What is small is there. */
	OK(cudaMemcpy(device + 1000, "some", 5, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(small, device + 1000, 5, cudaMemcpyDeviceToHost));
	CHECK(strcmp(small, "some") == 0);
	OK(cudaFree(device));
}

/* What an uncomputed operation points to reads as zeros, from there to the end of what was written in one go,
 * and nothing else. */
static void test_forgetting(void)
{
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 1000);
	char *device, before[3000], seen[3000], *argument[2];

	for (int i = 0; i < 3000; i++)
		before[i] = (char)(i % 100 + 1);
	OK(cudaMalloc((void **)&device, (size_t)1 << 30));
	OK(cudaMemcpy(device, before, 1024, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(device + 1024, before + 1024, 1976, cudaMemcpyHostToDevice));
	argument[0] = device + 700;
	argument[1] = before;
	OK(sg_submit_cost(NULL, &cost, count_call, argument, sizeof(argument)));
	OK(cudaMemcpy(seen, device, 3000, cudaMemcpyDeviceToHost));
	CHECK(kernels_called() == 0 && before[0] == 1);
	CHECK(memcmp(seen, before, 700) == 0 && memcmp(seen + 1024, before + 1024, 1976) == 0);
	for (int i = 700; i < 1024; i++)
		CHECK(seen[i] == 0);
	/* a copy hands on what is there; a large one that is not done forgets all of its destination */
	OK(cudaMemcpy(device + 5000, device + 1024, 1000, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(device, device + ((size_t)1 << 29), (size_t)1 << 20, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(seen, device + 1024, 1976, cudaMemcpyDeviceToHost));
	CHECK(seen[0] == 0 && seen[1975] == 0);
	OK(cudaMemcpy(seen, device + 5000, 1000, cudaMemcpyDeviceToHost));
	CHECK(seen[0] == 0);
	OK(cudaFree(device));
}

/*
 * An object of some megabytes comes from pageable memory to the device, goes on there and comes back; what is
 * not known in part, is larger, or was forgotten meanwhile reads as zeros, and its memory is given back.
 */
static void test_objects(void)
{
	const size_t size = SG_OBJECT_BYTES, far = (size_t)64 << 20;
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 1000);
	char *device, *object = malloc(2 * size), *seen = malloc(size), *pinned, *argument;
	size_t before;

	CHECK(object != NULL && seen != NULL);
	memset(object, 7, 2 * size);
	OK(cudaMalloc((void **)&device, (size_t)1 << 30));
	OK(cudaMallocHost((void **)&pinned, size));
	OK(cudaMemcpyAsync(device, object, size, cudaMemcpyHostToDevice, NULL));
	memset(object, 8, size);
	OK(cudaMemcpyAsync(device + far, device, size, cudaMemcpyDeviceToDevice, NULL));
	OK(cudaMemcpy(seen, device + far, size, cudaMemcpyDeviceToHost));
	CHECK(seen[0] == 7 && seen[size - 1] == 7);
	OK(cudaMemcpy(pinned, device + far, size, cudaMemcpyDeviceToHost));
	CHECK(pinned[0] == 7 && pinned[size - 1] == 7);
	/* a copy that begins in it and ends after it; one that is too large */
	OK(cudaMemcpy(device + 2 * far, device + far + 300, size, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(seen, device + 2 * far, size, cudaMemcpyDeviceToHost));
	CHECK(seen[0] == 0 && seen[size - 1] == 0);
	OK(cudaMemcpy(device + 2 * far, object, size + 1, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(seen, device + 2 * far, size, cudaMemcpyDeviceToHost));
	CHECK(seen[0] == 0 && seen[size - 1] == 0);
	before = resident_bytes();
	argument = device + 100;
	OK(sg_submit_cost(NULL, &cost, count_call, &argument, sizeof(argument)));
	OK(cudaMemcpy(seen, device, size, cudaMemcpyDeviceToHost));
	CHECK(seen[99] == 7 && seen[100] == 0 && seen[size - 1] == 0);
#ifndef __SANITIZE_THREAD__ /* whose shadow is resident as well */
	OK(cudaDeviceSynchronize());
	CHECK(resident_bytes() + size / 4 < before);
#else
	(void)before;
#endif
	OK(cudaFreeHost(pinned));
	OK(cudaFree(device));
	free(object);
	free(seen);
}

/* As with the vendor: the devices that are named, in that order, up to the first that there is not. */
static void test_visible(void)
{
	char bus[16];
	int count;

	OK(cudaGetDeviceCount(&count));
	CHECK(count == 2);
	OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
	CHECK(strcmp(bus, "0000:06:00.0") == 0);
	OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 1));
	CHECK(strcmp(bus, "0000:03:00.0") == 0);
	EXPECT(cudaSetDevice(2), cudaErrorInvalidDevice);
}

static void test_none_visible(void)
{
	int count;

	EXPECT(cudaGetDeviceCount(&count), cudaErrorNoDevice);
	EXPECT(cudaFree(NULL), cudaErrorNoDevice);
}

/* The driver answers by the profile too, though nothing has been started yet. */
static void test_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned), (*get_name)(char *, int, int), (*get_total)(size_t *, int);
	char name[64];
	size_t bytes;

	CHECK(driver != NULL);
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&get_name = dlsym(driver, "cuDeviceGetName");
	*(void **)&get_total = dlsym(driver, "cuDeviceTotalMem_v2");
	OK(init(0));
	OK(get_total(&bytes, 0));
	OK(get_name(name, sizeof(name), 0));
	CHECK(strcmp(name, "Test Device 1") == 0 && bytes == (size_t)64 << 30);
}

/* The compute clock knows nothing of all that. */
static void test_compute_clock(void)
{
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 1e15);
	struct cudaDeviceProp properties;

	CHECK(!sg_modelled() && sg_numerics());
	OK(sg_submit_cost(NULL, &cost, count_call, NULL, 0));
	OK(cudaDeviceSynchronize());
	CHECK(kernels_called() == 1 && sg_cost_ns(0, &cost) == 0);
	OK(cudaGetDeviceProperties(&properties, 0));
	CHECK(strcmp(properties.name, "softgpu 0") == 0);
	softgpu_truth("md", "layer");
	softgpu_truth_iteration(1);
}

const struct clock_case host_cases[] = {
	{"durations", test_durations, {NULL}, NULL},
	{"blocks", test_blocks, {NULL}, NULL},
	{"scale", test_scale, {"SOFTGPU_TIME_SCALE=10"}, NULL},
	{"copies", test_copies, {NULL}, NULL},
	{"host_copy", test_host_copy, {NULL}, NULL},
	{"peer", test_peer, {NULL}, NULL},
	{"many", test_many, {NULL}, NULL},
	{"many_with_numerics", test_many, {"SOFTGPU_NUMERICS=on"}, NULL},
	{"hosts_wait", test_hosts_wait, {NULL}, NULL},
	{"hosts_wait_with_numerics", test_hosts_wait, {"SOFTGPU_NUMERICS=on"}, NULL},
	{"held_back", test_held_back, {NULL}, NULL},
	{"launch", test_launch, {NULL}, NULL},
	{"default_told", test_told_default, {NULL}, NULL},
	{"default_little", test_little_default, {NULL}, NULL},
	{"launch_with_numerics", test_launch, {"SOFTGPU_NUMERICS=on"}, NULL},
	{"virtual_memory", test_virtual_memory, {NULL}, NULL},
	{"forgetting", test_forgetting, {NULL}, NULL},
	{"objects", test_objects, {NULL}, NULL},
	{"visible", test_visible, {"CUDA_VISIBLE_DEVICES=5,GPU-736f6674-6770-7500-0000-000000000003,8,1"},
		NULL},
	{"none_visible", test_none_visible, {"CUDA_VISIBLE_DEVICES="}, NULL},
	{"driver", test_driver, {NULL}, NULL},
	{"compute_clock", test_compute_clock, {"SOFTGPU_PROFILE="}, NULL},
	{NULL, NULL, {NULL}, NULL},
};
