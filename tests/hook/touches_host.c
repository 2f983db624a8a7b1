/*
 * Launches of kernels whose arguments are known, in each way to launch one, and copies of tables. Prints a
 * line for each, as the trace should have it: the words of the arguments, or of the table, with device
 * addresses (touches.sh).
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../called.h"

#define EXPORTED __attribute__((visibility("default")))
#define MANY 900 /* more than a thread's first piece of the trace has room for */

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **image, const char *host_function, char *device_function, const char *name,
	int thread_limit, void *thread_id, void *block_id, void *block_size, void *grid_size, int *warp_size);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry);
cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes, cudaStream_t stream);

/* Kernels that softgpu knows by the sizes of their arguments. */
struct odd {
	int small;
	void *in[3];
	short last;
};
struct list {
	void *in[MANY];
};
EXPORTED void sg_twin_plain(dim3 grid, dim3 block, void **args);
EXPORTED void sg_twin_odd(dim3 grid, dim3 block, void **args);
EXPORTED void sg_twin_long(dim3 grid, dim3 block, void **args);
void sg_twin_plain(dim3 grid, dim3 block, void **args)
{
	(void)grid, (void)block, (void)args;
}
void sg_twin_odd(dim3 grid, dim3 block, void **args)
{
	sg_twin_plain(grid, block, args);
}
void sg_twin_long(dim3 grid, dim3 block, void **args)
{
	sg_twin_plain(grid, block, args);
}
EXPORTED extern const size_t sg_twin_plain_args[], sg_twin_odd_args[], sg_twin_long_args[];
const size_t sg_twin_plain_args[] = {8, 4, 8, 0};
/* softgpu aligns a twin's arguments by their size alone: 40 bytes by 8 */
const size_t sg_twin_odd_args[] = {4, sizeof(struct odd), 8, 0};
const size_t sg_twin_long_args[] = {sizeof(struct list), 8, 0};

static char plain, odd, unknown, long_one; /* whose addresses are the kernels' */

static const char *device_memory(size_t byte_count)
{
	void *memory;

	CHECK(cudaMalloc(&memory, byte_count));
	return memory;
}

/* What the trace should have of `plain` with these arguments; NULL: not an address of the device. */
static void say(const char *first, const char *second)
{
	if (first)
		printf("0=%p", (const void *)first);
	if (second)
		printf("%s2=%p", first ? " " : "", (const void *)second);
	puts("");
}

static const dim3 one = {1, 1, 1};

static void launch_plain(const void *first, int number, const void *second)
{
	void *args[] = {&first, &number, &second};

	CHECK(cudaLaunchKernel(&plain, one, one, args, 0, NULL));
}

/* The kinds of memory, and what is none of it. */
static void kinds(void)
{
	char *managed, *pooled, *pitched, *by_driver, *pinned, *heap = malloc(64);
	size_t pitch;
	CUdeviceptr address;
	const char *a = device_memory(1000), *gone = device_memory(1 << 20);

	CHECK(cudaMallocManaged((void **)&managed, 64, 1));
	CHECK(cudaMallocAsync((void **)&pooled, 64, NULL));
	CHECK(cudaMallocPitch((void **)&pitched, &pitch, 100, 10));
	CHECK(cudaMallocHost((void **)&pinned, 64));
	CHECK(cuMemAlloc_v2(&address, 64));
	by_driver = (char *)(uintptr_t)address;
	launch_plain(a, 1, managed);
	say(a, managed);
	launch_plain(a + 999, 1, a + 1000); /* the last byte, and beyond it */
	say(a + 999, NULL);
	launch_plain(pooled, 1, pitched + 9 * pitch);
	say(pooled, pitched + 9 * pitch);
	launch_plain(by_driver + 8, 1, by_driver + 8);
	say(by_driver + 8, by_driver + 8);
	launch_plain(heap, 1, pinned);
	say(NULL, NULL);
	launch_plain(NULL, -1, &a);
	say(NULL, NULL);
	CHECK(cudaFree((void *)(uintptr_t)gone));
	CHECK(cudaFreeAsync(pooled, NULL));
	CHECK(cuMemFree_v2(address));
	launch_plain(gone, 1, pooled);
	say(NULL, NULL);
	launch_plain(by_driver, 1, a);
	say(NULL, a);
	free(heap);
}

/* Memory that is mapped in pieces, as PyTorch's expandable segments are. */
static void mapped(void)
{
	enum { PIECE = 2 << 20 };
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUmemGenericAllocationHandle pieces[2];
	CUdeviceptr range;
	const char *at;

	CHECK(cuMemAddressReserve(&range, 4 * (size_t)PIECE, 0, 0, 0));
	at = (const char *)(uintptr_t)range;
	launch_plain(at, 1, NULL);
	say(NULL, NULL);
	for (int i = 0; i < 2; i++) {
		CHECK(cuMemCreate(&pieces[i], PIECE, &prop, 0));
		CHECK(cuMemMap(range + (CUdeviceptr)i * PIECE, PIECE, 0, pieces[i], 0));
		launch_plain(at + 8, 1, at + 2 * PIECE - 8);
		say(at + 8, i ? at + 2 * PIECE - 8 : NULL);
	}
	launch_plain(at + 2 * PIECE, 1, at);
	say(NULL, at);
	CHECK(cuMemUnmap(range, 2 * (size_t)PIECE));
	launch_plain(at + 8, 1, at + PIECE);
	say(NULL, NULL);
	for (int i = 0; i < 2; i++)
		CHECK(cuMemRelease(pieces[i]));
	CHECK(cuMemAddressFree(range, 4 * (size_t)PIECE));
}

/* Another process's memory: its handle is written to a file, or one that is read from there is opened. */
static void share(const char *path, bool open)
{
	FILE *file = fopen(path, open ? "r" : "w");
	const char *a = device_memory(1000);
	cudaIpcMemHandle_t handle;
	char *opened;

	if (file == NULL)
		err(1, "%s", path);
	if (!open) {
		CHECK(cudaIpcGetMemHandle(&handle, (void *)(uintptr_t)a));
		if (fwrite(&handle, sizeof(handle), 1, file) != 1)
			err(1, "%s", path);
		fclose(file);
		while (getchar() != EOF)
			; /* the handle is good for as long as this process has the memory */
		return;
	}
	if (fread(&handle, sizeof(handle), 1, file) != 1)
		err(1, "%s", path);
	fclose(file);
	CHECK(cudaIpcOpenMemHandle((void **)&opened, handle, 1));
	launch_plain(opened, 1, opened + 999);
	say(opened, opened + 999);
	launch_plain(a, 1, opened + 1000);
	say(a, NULL);
	CHECK(cudaIpcCloseMemHandle(opened));
	launch_plain(opened, 1, a);
	say(NULL, a);
}

/* The same launch by each function that makes one. */
static void ways(void)
{
	const char *a = device_memory(64), *b = device_memory(64);
	int number = 7;
	struct {
		const char *first;
		int number;
		const char *second;
	} packed = {a, 1, b};
	size_t packed_bytes = sizeof(packed), short_bytes = 12;
	void *args[] = {&a, &number, &b};
	void *extra[] = {(void *)1, &packed, (void *)2, &packed_bytes, NULL};
	void *short_extra[] = {(void *)1, &packed, (void *)2, &short_bytes, NULL};
	cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};
	CUlaunchConfig driver_config = {1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0};
	cudaKernel_t kernel;
	CUmodule module;
	CUfunction function;
	CUlibrary library;
	CUkernel of_library;

	CHECK(cudaLaunchKernelExC(&config, &plain, args));
	say(a, b);
	CHECK(cudaLaunchCooperativeKernel(&plain, one, one, args, 0, NULL));
	say(a, b);
	CHECK(__cudaGetKernel(&kernel, &plain));
	CHECK(__cudaLaunchKernel(kernel, one, one, args, 0, NULL));
	say(a, b);
	CHECK(cuModuleLoadData(&module, "an image"));
	CHECK(cuModuleGetFunction(&function, module, "plain"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	say(a, b);
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	say(a, b);
	CHECK(cuLaunchKernelEx(&driver_config, function, NULL, extra));
	say(a, b);
	CHECK(cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args));
	say(a, b);
	/* a list that is too short is refused, and nothing beyond it was read */
	if (cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, short_extra) == CUDA_SUCCESS)
		errx(1, "a launch with half of its arguments");
	say(a, NULL);
	CHECK(cuLibraryLoadData(&library, "an image", NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&of_library, library, "plain"));
	CHECK(cuLaunchKernel((CUfunction)(void *)of_library, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	say(a, b);
}

/* A launch with a long list, of which every third word is no device address; `b` NULL: none is. */
static void launch_list(const struct list *many, const char *a, const char *b)
{
	void *args[] = {(void *)(uintptr_t)many, &a};

	CHECK(cudaLaunchKernel(&long_one, one, one, args, 0, NULL));
	for (int i = 0; i < MANY && b; i++)
		if (i % 3 != 2)
			printf("%d=%p ", i, many->in[i]);
	printf("%d=%p\n", MANY, (const void *)a);
}

/* Lists that come again: the same, another, the same again, and when other memory is there. */
static void lists(void)
{
	static struct list many, others;
	const char *a = device_memory(64), *b = device_memory(MANY), *unused;

	for (int i = 0; i < MANY; i++) {
		many.in[i] = i % 3 == 2 ? (void *)&many : (void *)(uintptr_t)(b + i);
		others.in[i] = i % 3 == 2 ? (void *)&many : (void *)(uintptr_t)(b + MANY - 1 - i);
	}
	for (int turn = 0; turn < 3; turn++) {
		launch_list(&many, a, b);
		launch_list(&others, a, b);
	}
	unused = device_memory(64);
	launch_list(&many, a, b);
	others.in[1] = many.in[0];
	launch_list(&others, a, b);
	CHECK(cudaFree((void *)(uintptr_t)unused));
	CHECK(cudaFree((void *)(uintptr_t)b));
	launch_list(&many, a, NULL);
	launch_list(&many, a, NULL);
}

/* Structs by value, and kernels of which nothing is known. */
static void structs(void)
{
	const char *a = device_memory(64), *b = device_memory(64);
	int number = 3;
	static struct odd value; /* with nothing in its padding, which is part of a word */
	void *args[] = {&number, &value, &b};

	value.small = 1;
	value.in[0] = (void *)(uintptr_t)a;
	value.in[1] = &number;
	value.in[2] = (void *)(uintptr_t)b;
	value.last = 2;
	CHECK(cudaLaunchKernel(&odd, one, one, args, 0, NULL));
	printf("2=%p 4=%p 6=%p\n", (const void *)a, (const void *)b, (const void *)b);
	CHECK(cudaLaunchKernel(&unknown, one, one, args, 0, NULL));
	puts("not known");
}

/* Copies to the device: a table of addresses, what has none, and what is not looked at. */
static void tables(void)
{
	static const char *table[5000], *back[4];
	const char *a = device_memory(1000), *b = device_memory(64);
	char *target = (char *)(uintptr_t)device_memory(sizeof(table)), *pinned;

	table[0] = a;
	table[1] = (const char *)table;
	table[2] = b;
	table[4] = a + 999;
	CHECK(cudaMallocHost((void **)&pinned, 64));
	memcpy(pinned, table, 64);
	CHECK(cudaMemcpyAsync(target, table, 64, cudaMemcpyHostToDevice, NULL));
	printf("0=%p 2=%p 4=%p\n", (const void *)a, (const void *)b, (const void *)(a + 999));
	CHECK(cudaMemcpyAsync(target, pinned + 8, 27, cudaMemcpyHostToDevice, NULL));
	printf("1=%p\n", (const void *)b);
	CHECK(cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)target, table, 8, NULL));
	printf("0=%p\n", (const void *)a);
	CHECK(cudaMemcpyAsync(target, table, 7, cudaMemcpyHostToDevice, NULL));
	puts("not known");
	CHECK(cudaMemcpyAsync(target, table + 5, 64, cudaMemcpyHostToDevice, NULL));
	puts("not known");
	CHECK(cudaMemcpyAsync(target, table, sizeof(table), cudaMemcpyHostToDevice, NULL));
	puts("not known");
	CHECK(cudaMemcpyAsync(back, target, sizeof(back), cudaMemcpyDeviceToHost, NULL));
	puts("not known");
	CHECK(cudaDeviceSynchronize());
}

/* Another thread's launches, while this one allocates. */
static void *launches(void *memory)
{
	for (int i = 0; i < 2000; i++)
		launch_plain(memory, i, NULL);
	return NULL;
}

static void threads(void)
{
	const char *a = device_memory(64);
	pthread_t thread;
	void *block;

	if (pthread_create(&thread, NULL, launches, (void *)(uintptr_t)a) != 0)
		errx(1, "no thread");
	for (int i = 0; i < 2000; i++) {
		CHECK(cudaMalloc(&block, 64));
		CHECK(cudaFree(block));
	}
	pthread_join(thread, NULL);
	for (int i = 0; i < 2000; i++)
		say(a, NULL);
}

/* Launches that a stream captures when no sample is under way, after more of them than the first one has. */
static void captured(void)
{
	const char *a = device_memory(64), *b = device_memory(64);
	const int more = 1 << 18;
	cudaStream_t stream;
	cudaGraph_t graph;
	int number = 1;
	void *args[] = {&a, &number, &b};

	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < more; i++)
		launch_plain(a, i, b);
	for (int turn = 0; turn < 2; turn++) {
		launch_plain(a, turn, b);
		puts("not known");
		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		CHECK(cudaLaunchKernel(&plain, one, one, args, 0, stream));
		say(a, b);
		CHECK(cudaStreamEndCapture(stream, &graph));
	}
	launch_plain(a, 2, b);
	puts("not known");
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	static char names[][8] = {"plain", "odd", "unknown", "long"};
	void **image = __cudaRegisterFatBinary(NULL);

	__cudaRegisterFunction(image, &plain, names[0], names[0], -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(image, &odd, names[1], names[1], -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(image, &unknown, names[2], names[2], -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(image, &long_one, names[3], names[3], -1, NULL, NULL, NULL, NULL, NULL);
	CHECK(cudaFree(NULL));
	if (argc > 1 && strcmp(argv[1], "threads") == 0) {
		threads();
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "captured") == 0) {
		captured();
		return 0;
	}
	if (argc > 2) {
		share(argv[2], strcmp(argv[1], "open") == 0);
		return 0;
	}
	kinds();
	mapped();
	ways();
	structs();
	lists();
	tables();
	return 0;
}
