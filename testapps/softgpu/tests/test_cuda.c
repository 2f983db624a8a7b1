/* Checks the stand-in CUDA driver: contexts, memory, copies, fills, launches, and that all of it is the
 * runtime's. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_cuda.h"
#include <cuda_runtime_api.h>

#include "core/sg.h"
#include "test_common.h"

CUcontext test_context;

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void sg_twin_fill(dim3 grid, dim3 block, void **args);
EXPORTED extern const size_t sg_twin_fill_args[];

const size_t sg_twin_fill_args[] = {sizeof(int *), sizeof(int), 0};
void sg_twin_fill(dim3 grid, dim3 block, void **args)
{
	int *to = *(int **)args[0], value = *(int *)args[1];

	for (unsigned i = 0; i < grid.x * block.x; i++)
		to[i] = value;
}

static CUmodule test_module(void)
{
	static CUmodule module;

	if (module == NULL)
		OK(cuModuleLoadData(&module, "any image"));
	return module;
}

CUfunction test_kernel(const char *name)
{
	CUfunction function;

	OK(cuModuleGetFunction(&function, test_module(), name));
	return function;
}

/* ---- before and after cuInit ---- */

static void test_init(void)
{
	CUdeviceptr memory;
	CUcontext context;
	const char *text;
	int count, version;

	EXPECT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	EXPECT(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_NOT_INITIALIZED);
	OK(cuDriverGetVersion(&version));
	CHECK(version == 13000);
	EXPECT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&count));
	CHECK(count == 4);
	EXPECT(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxGetCurrent(&context));
	CHECK(context == NULL);
	OK(cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &text));
	CHECK(strcmp(text, "CUDA_ERROR_INVALID_CONTEXT") == 0);
	OK(cuGetErrorString(CUDA_SUCCESS, &text));
	CHECK(strcmp(text, "no error") == 0);
	EXPECT(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	CHECK(text == NULL);
}

static void test_devices(void)
{
	CUdevice device;
	CUuuid ids[2];
	char name[32];
	size_t bytes;
	int value, same;

	EXPECT(cuDeviceGet(&device, 4), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceGet(&device, 3));
	OK(cuDeviceGetName(name, sizeof(name), device));
	CHECK(strcmp(name, "softgpu 3") == 0);
	OK(cuDeviceTotalMem_v2(&bytes, device));
	CHECK(bytes == (size_t)64 << 20);
	/* The attributes' numbers are the runtime's. */
	for (int attribute = 1; attribute < 120; attribute++) {
		OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)attribute, device));
		OK(cudaDeviceGetAttribute(&same, (enum cudaDeviceAttr)attribute, device));
		CHECK(value == same);
	}
	OK(cuDeviceGetUuid_v2(&ids[0], 0));
	OK(cuDeviceGetUuid_v2(&ids[1], 1));
	CHECK(memcmp(&ids[0], &ids[1], sizeof(ids[0])) != 0);
	OK(cuDeviceCanAccessPeer(&value, 0, 1));
	CHECK(value == 1);
}

/* ---- contexts ---- */

static int runtime_device(void)
{
	int device;

	OK(cudaGetDevice(&device));
	return device;
}

/* The runtime makes a primary context current by itself; here in a thread that has none. */
static void *use_runtime_first(void *arg)
{
	CUcontext context;
	CUdevice device;
	void *memory;

	(void)arg;
	OK(cuCtxGetCurrent(&context));
	CHECK(context == NULL);
	EXPECT(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
	CHECK(runtime_device() == 0);
	OK(cuCtxGetCurrent(&context));
	CHECK(context == NULL);
	OK(cudaMalloc(&memory, 4));
	OK(cudaFree(memory));
	OK(cuCtxGetCurrent(&context));
	CHECK(context == test_context);
	OK(cudaSetDevice(2));
	OK(cuCtxGetDevice(&device));
	CHECK(device == 2);
	OK(cuCtxGetCurrent(&context));
	CHECK(context != test_context);
	return NULL;
}

static void test_contexts(void)
{
	CUcontext second, own, other, current;
	CUdeviceptr memory, base;
	CUevent event, others;
	CUstream stream;
	CUdevice device;
	pthread_t thread;
	float ms;
	unsigned flags;
	size_t bytes;
	int active;

	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 0);
	OK(cuDevicePrimaryCtxRetain(&test_context, 0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active == 1);
	OK(cuCtxSetCurrent(test_context));
	CHECK(runtime_device() == 0);

	/* The device follows the top of the stack. */
	OK(cuDevicePrimaryCtxRetain(&second, 1));
	OK(cuCtxPushCurrent_v2(second));
	CHECK(runtime_device() == 1);
	OK(cuCtxCreate_v2(&own, 0, 3));
	CHECK(runtime_device() == 3);
	OK(cuCtxGetDevice(&device));
	CHECK(device == 3);
	OK(cuStreamCreate(&stream, 0));
	OK(cuStreamGetCtx(stream, &current));
	CHECK(current == own);
	OK(cuMemAlloc_v2(&memory, 100));
	OK(cuEventCreate(&event, 0));
	OK(cuEventRecord(event, stream));
	OK(cuEventRecord(event, NULL));
	OK(cudaSetDevice(1));
	OK(cuCtxGetCurrent(&current));
	CHECK(current == second);
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == second && runtime_device() == 1);
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == second && runtime_device() == 0);
	OK(cuCtxPopCurrent_v2(&current));
	CHECK(current == test_context);
	EXPECT(cuCtxPopCurrent_v2(&current), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxSynchronize_v2(own));
	OK(cuCtxSetCurrent(test_context));

	/* An event is one context's: a stream of another one does not take it, though on the same device. */
	OK(cuCtxCreate_v2(&other, 0, 3));
	EXPECT(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventCreate(&others, 0));
	EXPECT(cuEventRecord(others, stream), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventRecord(others, NULL));
	OK(cuCtxSynchronize());
	EXPECT(cuEventElapsedTime(&ms, event, others), CUDA_ERROR_INVALID_HANDLE);
	OK(cuCtxDestroy_v2(other));
	EXPECT(cuEventQuery(others), CUDA_ERROR_INVALID_HANDLE);
	OK(cuCtxSetCurrent(test_context));

	/* What was made in a context goes with it, current elsewhere or not. */
	OK(cuCtxPushCurrent_v2(own));
	OK(cuCtxGetDevice_v2(&device, test_context));
	CHECK(device == 0);
	OK(cuMemGetAddressRange_v2(&base, &bytes, memory + 99));
	CHECK(base == memory && bytes == 100);
	OK(cuCtxDestroy_v2(own));
	CHECK(runtime_device() == 0);
	EXPECT(cuMemGetAddressRange_v2(&base, &bytes, memory), CUDA_ERROR_NOT_FOUND);
	EXPECT(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
	EXPECT(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
	EXPECT(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
	EXPECT(cuCtxPushCurrent_v2(own), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cuCtxSetCurrent((CUcontext)(void *)&own), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cuCtxDestroy_v2(test_context), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(cuCtxCreate_v2(&other, 0, 4), CUDA_ERROR_INVALID_DEVICE);

	/* The last release ends a primary context that the runtime does not use. */
	OK(cuDevicePrimaryCtxRetain(&other, 3));
	OK(cuDevicePrimaryCtxRetain(&other, 3));
	OK(cuCtxPushCurrent_v2(other));
	OK(cuMemAlloc_v2(&memory, 4));
	OK(cuDevicePrimaryCtxRelease_v2(3));
	OK(cuMemsetD8_v2(memory, 1, 4));
	OK(cuDevicePrimaryCtxRelease_v2(3));
	EXPECT(cuMemsetD8_v2(memory, 1, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	EXPECT(cuDevicePrimaryCtxRelease_v2(3), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxPopCurrent_v2(NULL));
	CHECK(pthread_create(&thread, NULL, use_runtime_first, NULL) == 0);
	pthread_join(thread, NULL);
	OK(cuCtxGetCurrent(&current));
	CHECK(current == test_context);
}

/* ---- memory ---- */

static void test_memory(void)
{
	CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	struct cudaPointerAttributes attributes;
	CUdeviceptr a, pitched;
	CUcontext context;
	unsigned type;
	int ordinal;
	void *told[] = {&context, &type, &ordinal}, *host;
	size_t pitch, before, after, total;
	int same;

	OK(cuMemGetInfo_v2(&before, &total));
	CHECK(total == (size_t)64 << 20);
	OK(cuMemAlloc_v2(&a, 1000));
	OK(cuMemGetInfo_v2(&after, &total));
	CHECK(before - after == 1000);
	OK(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)a));
	CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
	OK(cuPointerGetAttributes(3, asked, told, a + 10));
	CHECK(context == test_context && type == 2 && ordinal == 0);
	OK(cuPointerGetAttributes(3, asked, told, (CUdeviceptr)(uintptr_t)&same));
	CHECK(context == NULL && type == 0 && ordinal == -2);
	EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&same),
		CUDA_ERROR_INVALID_VALUE);
	/* Each API frees the other's memory. */
	OK(cudaFree((void *)(uintptr_t)a));
	EXPECT(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
	OK(cudaMalloc(&host, 16));
	OK(cuMemFree_v2((CUdeviceptr)(uintptr_t)host));
	EXPECT(cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemAlloc_v2(&a, (size_t)65 << 20), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocPitch_v2(&pitched, &pitch, 100, 3, 4));
	CHECK(pitch >= 100 && pitch % 4 == 0);
	OK(cuMemFree_v2(pitched));
	OK(cuMemHostAlloc(&host, 64, 0));
	OK(cuMemHostGetDevicePointer_v2(&a, host, 0));
	OK(cuMemFreeHost(host));
	OK(cuMemHostRegister_v2(&same, sizeof(same), 0));
	EXPECT(cuMemHostRegister_v2(&same, sizeof(same), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostUnregister(&same));
	EXPECT(cuMemHostUnregister(&same), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static uint64_t pool_used(CUmemoryPool pool)
{
	uint64_t bytes;

	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
	return bytes;
}

static void test_pools(void)
{
	CUmemPoolProps props;
	CUmemoryPool pool, own;
	CUdeviceptr a, b;
	cudaMemPool_t same;
	uint64_t threshold = 12345, read = 0;

	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaDeviceGetDefaultMemPool(&same, 0));
	CHECK((void *)pool == (void *)same);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	OK(cudaMemPoolGetAttribute(same, cudaMemPoolAttrReleaseThreshold, &read));
	CHECK(read == threshold);
	memset(&props, 0, sizeof(props));
	props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	OK(cuMemPoolCreate(&own, &props));
	OK(cuMemAllocAsync(&a, 100, NULL));
	OK(cuMemAllocFromPoolAsync(&b, 200, own, NULL));
	CHECK(pool_used(pool) == 100 && pool_used(own) == 200);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemPoolDestroy(own));
	EXPECT(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFreeAsync(b, NULL));
	OK(cuCtxSynchronize());
	CHECK(pool_used(pool) == 0);
	EXPECT(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemAllocFromPoolAsync(&b, 200, own, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* ---- copies and fills ---- */

static void test_copies(void)
{
	unsigned char in[64], out[64];
	CUDA_MEMCPY2D box;
	CUDA_MEMCPY3D cube;
	CUdeviceptr a, b;
	CUcontext second;

	for (int i = 0; i < 64; i++)
		in[i] = (unsigned char)(i + 1);
	OK(cuMemAlloc_v2(&a, 64));
	OK(cuMemAlloc_v2(&b, 64));
	OK(cuMemcpyHtoD_v2(a, in, 64));
	OK(cuMemcpyDtoD_v2(b, a + 32, 32));
	OK(cuMemcpy(b + 32, a, 32));
	OK(cuMemcpyDtoH_v2(out, b, 64));
	CHECK(memcmp(out, in + 32, 32) == 0 && memcmp(out + 32, in, 32) == 0);
	EXPECT(cuMemcpyHtoD_v2(a, in, 65), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemcpyDtoD_v2(a, (CUdeviceptr)(uintptr_t)in, 4), CUDA_ERROR_INVALID_VALUE);
	OK(cuDevicePrimaryCtxRetain(&second, 1));
	OK(cuMemcpyPeer(b, second, a, test_context, 64));
	EXPECT(cuMemcpyPeer(b, NULL, a, test_context, 64), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuMemcpyDtoHAsync_v2(out, b, 64, NULL));
	OK(cuStreamSynchronize(NULL));
	CHECK(memcmp(out, in, 64) == 0);

	/* The 3 by 2 part at (2, 1) of rows of 8 bytes goes to rows of 16 at (5, 2). */
	OK(cuMemsetD8_v2(b, 0, 64));
	memset(&box, 0, sizeof(box));
	box.srcMemoryType = CU_MEMORYTYPE_HOST;
	box.srcHost = in;
	box.srcXInBytes = 2;
	box.srcY = 1;
	box.srcPitch = 8;
	box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	box.dstDevice = b;
	box.dstXInBytes = 5;
	box.dstY = 2;
	box.dstPitch = 16;
	box.WidthInBytes = 3;
	box.Height = 2;
	OK(cuMemcpy2D_v2(&box));
	OK(cuMemcpyDtoH_v2(out, b, 64));
	for (int i = 0; i < 64; i++) {
		int row = i / 16 - 2, column = i % 16 - 5;
		int inside = row >= 0 && row < 2 && column >= 0 && column < 3;

		CHECK(out[i] == (inside ? in[(row + 1) * 8 + column + 2] : 0));
	}
	box.srcPitch = 4;
	EXPECT(cuMemcpy2D_v2(&box), CUDA_ERROR_INVALID_VALUE);

	/* Two layers of 2 by 2 bytes out of layers of 4 rows of 4. */
	memset(&cube, 0, sizeof(cube));
	cube.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	cube.srcDevice = a;
	cube.srcXInBytes = 1;
	cube.srcY = 1;
	cube.srcZ = 1;
	cube.srcPitch = 4;
	cube.srcHeight = 4;
	cube.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	cube.dstDevice = (CUdeviceptr)(uintptr_t)out;
	cube.dstPitch = 2;
	cube.dstHeight = 2;
	cube.WidthInBytes = 2;
	cube.Height = 2;
	cube.Depth = 2;
	OK(cuMemcpy3DAsync_v2(&cube, NULL));
	OK(cuStreamSynchronize(NULL));
	for (int i = 0; i < 8; i++)
		CHECK(out[i] == in[(i / 4 + 1) * 16 + (i / 2 % 2 + 1) * 4 + i % 2 + 1]);
	OK(cuMemFree_v2(a));
	OK(cuMemFree_v2(b));
}

/* Copies of several at once, between contexts in boxes, and memory that moves by itself. */
static void test_other_copies(void)
{
	CUmemLocation there = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
	CUdeviceptr to[2], from[2], a, managed;
	size_t sizes[2] = {3, 5}, first = 0;
	/* Nothing reads the attributes. */
	unsigned char attributes[64] = {0}, out[16];
	CUDA_MEMCPY3D_PEER peer;
	CUcontext second;
	CUstream stream;

	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAlloc_v2(&a, 16));
	for (unsigned i = 0; i < 16; i++)
		OK(cuMemsetD8_v2(a + i, (unsigned char)i, 1));
	from[0] = a;
	to[0] = a + 8;
	from[1] = a + 3;
	to[1] = a + 11;
	OK(cuMemcpyBatchAsync_v2(
		to, from, sizes, 2, (CUmemcpyAttributes *)(void *)attributes, &first, 1, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(out, a, 16));
	for (int i = 0; i < 16; i++)
		CHECK(out[i] == i % 8);
	EXPECT(cuMemcpyBatchAsync_v2(
		       to, from, sizes, 2, (CUmemcpyAttributes *)(void *)attributes, &first, 1, NULL),
		CUDA_ERROR_INVALID_VALUE);

	OK(cuDevicePrimaryCtxRetain(&second, 1));
	memset(&peer, 0, sizeof(peer));
	peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	peer.srcDevice = a;
	peer.dstDevice = a;
	peer.dstXInBytes = 8;
	peer.srcContext = test_context;
	peer.dstContext = second;
	peer.srcPitch = peer.dstPitch = 16;
	peer.WidthInBytes = 2;
	peer.Height = peer.Depth = 1;
	OK(cuMemcpy3DPeer(&peer));
	OK(cuMemcpyDtoH_v2(out, a, 16));
	CHECK(out[8] == 0 && out[9] == 1);
	peer.dstContext = NULL;
	EXPECT(cuMemcpy3DPeerAsync(&peer, NULL), CUDA_ERROR_INVALID_CONTEXT);

	OK(cuMemAllocManaged(&managed, 16, 1));
	OK(cuMemPrefetchAsync_v2(managed, 16, there, 0, stream));
	there.id = 4;
	EXPECT(cuMemPrefetchAsync_v2(managed, 16, there, 0, stream), CUDA_ERROR_INVALID_DEVICE);
	EXPECT(cuMemPrefetchAsync_v2(a, 16, there, 0, stream), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree_v2(managed));
	OK(cuMemFree_v2(a));
	OK(cuStreamDestroy_v2(stream));
}

static void test_fills(void)
{
	unsigned char out[24];
	CUdeviceptr a;

	OK(cuMemAlloc_v2(&a, sizeof(out)));
	OK(cuMemsetD8_v2(a, 0xab, sizeof(out)));
	OK(cuMemsetD16_v2(a, 0x1122, 2));
	OK(cuMemsetD32Async(a + 4, 0x33445566, 1, NULL));
	/* Two rows of one element, eight bytes apart. */
	OK(cuMemsetD2D16_v2(a + 8, 8, 0x7788, 1, 2));
	OK(cuMemcpyDtoH_v2(out, a, sizeof(out)));
	CHECK(memcmp(out,
		      "\x22\x11\x22\x11\x66\x55\x44\x33\x88\x77\xab\xab\xab\xab\xab\xab\x88\x77\xab\xab\xab\xab\xab\xab",
		      sizeof(out)) == 0);
	EXPECT(cuMemsetD16_v2(a + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemsetD32_v2(a + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemsetD32_v2(a, 0, 7), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemsetD8_v2((CUdeviceptr)(uintptr_t)out, 0, 1), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree_v2(a));
}

/* ---- code ---- */

static void expect_filled(CUdeviceptr memory, int value)
{
	int out[6];

	OK(cuMemcpyDtoH_v2(out, memory, sizeof(out)));
	for (int i = 0; i < 6; i++)
		CHECK(out[i] == value);
}

static void test_launches(void)
{
	CUfunction fill = test_kernel("fill"), nothing = test_kernel("of no twin");
	CUlaunchConfig config;
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUdeviceptr a;
	const char *name;
	int value = 5, blocks;
	struct {
		CUdeviceptr to;
		int value;
	} packed;
	size_t packed_bytes = sizeof(a) + sizeof(value);
	void *args[] = {&a, &value};
	void *extra[] = {(void *)1, &packed, (void *)2, &packed_bytes, NULL};

	OK(cuMemAlloc_v2(&a, 6 * sizeof(int)));
	OK(cuLaunchKernel(fill, 2, 1, 1, 3, 1, 1, 0, NULL, args, NULL));
	value = 6;
	expect_filled(a, 5);
	packed.to = a;
	packed.value = 7;
	OK(cuLaunchKernel(fill, 2, 1, 1, 3, 1, 1, 0, NULL, NULL, extra));
	packed.value = 0;
	expect_filled(a, 7);
	EXPECT(cuLaunchKernel(fill, 2, 1, 1, 3, 1, 1, 0, NULL, args, extra), CUDA_ERROR_INVALID_VALUE);
	packed_bytes = sizeof(a);
	EXPECT(cuLaunchKernel(fill, 2, 1, 1, 3, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	memset(&config, 0, sizeof(config));
	config.gridDimX = 3;
	config.gridDimY = config.gridDimZ = 1;
	config.blockDimX = 2;
	config.blockDimY = config.blockDimZ = 1;
	OK(cuLaunchKernelEx(&config, fill, args, NULL));
	expect_filled(a, 6);
	value = 8;
	OK(cuLaunchCooperativeKernel(fill, 6, 1, 1, 1, 1, 1, 0, NULL, args));
	expect_filled(a, 8);
	OK(cuLaunchKernel(nothing, 2, 1, 1, 3, 1, 1, 0, NULL, NULL, NULL));
	EXPECT(cuLaunchKernel(fill, 0, 1, 1, 3, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuLaunchKernel(fill, 1, 1, 1, 1025, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuLaunchKernel((CUfunction)(void *)&value, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL),
		CUDA_ERROR_INVALID_HANDLE);

	/* A kernel of a library, as a kernel, as its function, and as the runtime takes it. */
	OK(cuLibraryLoadData(&library, "any image", NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "fill"));
	OK(cuKernelGetName(&name, kernel));
	CHECK(strcmp(name, "fill") == 0);
	OK(cuKernelGetFunction(&fill, kernel));
	OK(cuFuncGetName(&name, fill));
	CHECK(strcmp(name, "fill") == 0);
	value = 9;
	OK(cuLaunchKernel((CUfunction)(void *)kernel, 6, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	expect_filled(a, 9);
	value = 10;
	OK(cudaLaunchKernel(kernel, (dim3){6, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
	expect_filled(a, 10);
	OK(cuLibraryUnload(library));
	EXPECT(cuLibraryGetKernel(&kernel, library, "fill"), CUDA_ERROR_INVALID_HANDLE);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
	CHECK(blocks == 8);
	OK(cuFuncGetAttribute(&blocks, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fill));
	CHECK(blocks == 1024);
	OK(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
	EXPECT(cuModuleLoad(&module, "/nonexistent"), CUDA_ERROR_FILE_NOT_FOUND);
	OK(cuModuleLoad(&module, "/proc/self/exe"));
	OK(cuModuleUnload(module));
	EXPECT(cuModuleGetFunction(&fill, module, "fill"), CUDA_ERROR_INVALID_HANDLE);
	EXPECT(cuModuleGetGlobal_v2(&a, NULL, test_module(), "no variable"), CUDA_ERROR_NOT_FOUND);
	OK(cuMemFree_v2(a));
}

/* ---- failures ---- */

static void test_failures(void)
{
	CUdeviceptr a;

	/* A failure of the work itself stays until the context is gone. */
	OK(cuMemAlloc_v2(&a, 4));
	sg_async_error(0, cudaErrorIllegalAddress);
	EXPECT(cuMemsetD8_v2(a, 0, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuDevicePrimaryCtxReset_v2(0));
	EXPECT(cuMemsetD8_v2(a, 0, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuDevicePrimaryCtxRetain(&test_context, 0));
	EXPECT(cuMemsetD8_v2(a, 0, 4), CUDA_ERROR_INVALID_VALUE);
}

/* Run in a process of its own: the second allocation is to fail. */
static int injected(void)
{
	CUcontext context;
	CUdeviceptr a;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&a, 4));
	EXPECT(cuMemAlloc_v2(&a, 4), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc_v2(&a, 4));
	return 0;
}

static void test_injection(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		setenv("SOFTGPU_FAIL", "cuMemAlloc_v2:2", 1);
		execl("/proc/self/exe", "test_cuda", "injected", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* Only this thread exists in a child, and none of the workers. */
	pid = fork();
	if (pid == 0)
		_exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return injected();
	/* Settings are read as the library is loaded. */
	if (getenv("SOFTGPU_MEMORY") == NULL) {
		setenv("SOFTGPU_MEMORY", "64M", 1);
		setenv("SOFTGPU_DEVICES", "4", 1);
		execl("/proc/self/exe", "test_cuda", (char *)NULL);
		return 1;
	}
	test_init();
	test_contexts();
	test_devices();
	test_memory();
	test_pools();
	test_copies();
	test_other_copies();
	test_fills();
	test_launches();
	test_streams();
	test_virtual_memory();
	test_graph_nodes();
	test_tensor_maps();
	test_select();
	test_entries();
	test_injection();
	test_failures();
	return 0;
}
