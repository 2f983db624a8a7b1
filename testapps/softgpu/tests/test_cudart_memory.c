/* Checks memory and copies of the stand-in CUDA runtime: blocks, bounds, directions, staging, arrays, device
 * variables. */
#include <stdint.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "test_common.h"
#include "test_cudart.h"

static void test_allocation(void)
{
	struct cudaPointerAttributes attributes;
	size_t free_before, free_after, total, pitch;
	char *a, *b, *host;
	char local[64];

	OK(cudaMemGetInfo(&free_before, &total));
	CHECK(total == (size_t)64 << 20);
	OK(cudaMalloc((void **)&a, 1000));
	CHECK((uintptr_t)a % 256 == 0);
	OK(cudaMemGetInfo(&free_after, &total));
	CHECK(free_before - free_after == 1000);
	EXPECT(cudaFree(a + 1), cudaErrorInvalidValue);
	EXPECT(cudaFree(local), cudaErrorInvalidValue);
	EXPECT(cudaFreeHost(a), cudaErrorInvalidValue);
	OK(cudaFree(a));
	EXPECT(cudaFree(a), cudaErrorInvalidValue);
	OK(cudaFree(NULL));
	OK(cudaMalloc((void **)&a, 0));
	CHECK(a == NULL);
	EXPECT(cudaMalloc(NULL, 8), cudaErrorInvalidValue);
	EXPECT(cudaMalloc((void **)&a, (size_t)65 << 20), cudaErrorMemoryAllocation);
	EXPECT(cudaMalloc((void **)&a, SIZE_MAX), cudaErrorMemoryAllocation);
	OK(cudaMalloc((void **)&a, (size_t)40 << 20));
	EXPECT(cudaMalloc((void **)&b, (size_t)40 << 20), cudaErrorMemoryAllocation);
	OK(cudaFree(a));
	OK(cudaMallocPitch((void **)&a, &pitch, 100, 3));
	CHECK(pitch >= 100 && pitch % 256 == 0);
	OK(cudaPointerGetAttributes(&attributes, a + pitch * 3 - 1));
	CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0 &&
		attributes.hostPointer == NULL);
	OK(cudaPointerGetAttributes(&attributes, a + pitch * 3));
	CHECK(attributes.type == cudaMemoryTypeUnregistered);
	OK(cudaFree(a));
	OK(cudaSetDevice(3));
	OK(cudaMallocManaged((void **)&a, 10, cudaMemAttachGlobal));
	OK(cudaPointerGetAttributes(&attributes, a));
	CHECK(attributes.type == cudaMemoryTypeManaged && attributes.device == 3 &&
		attributes.hostPointer == a);
	OK(cudaMemAdvise(a, 10, cudaMemAdviseSetPreferredLocation,
		(struct cudaMemLocation){cudaMemLocationTypeHost, 0}));
	EXPECT(cudaMemAdvise(a, 11, cudaMemAdviseSetReadMostly,
		       (struct cudaMemLocation){cudaMemLocationTypeDevice, 0}),
		cudaErrorInvalidValue);
	EXPECT(cudaMemAdvise(a, 10, cudaMemAdviseSetAccessedBy,
		       (struct cudaMemLocation){cudaMemLocationTypeDevice, 99}),
		cudaErrorInvalidDevice);
	OK(cudaSetDevice(0));
	OK(cudaFree(a));
	EXPECT(cudaMallocManaged((void **)&a, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
	EXPECT(cudaMallocManaged((void **)&a, 10, 0), cudaErrorInvalidValue);
	OK(cudaMallocHost((void **)&host, 100));
	OK(cudaPointerGetAttributes(&attributes, host));
	CHECK(attributes.type == cudaMemoryTypeHost);
	EXPECT(cudaFree(host), cudaErrorInvalidValue);
	EXPECT(cudaHostRegister(host + 10, 10, 0), cudaErrorHostMemoryAlreadyRegistered);
	OK(cudaFreeHost(host));
	EXPECT(cudaHostAlloc((void **)&host, 10, 0x100), cudaErrorInvalidValue);
	OK(cudaHostRegister(local, sizeof(local), 0));
	EXPECT(cudaHostRegister(local, 1, 0), cudaErrorHostMemoryAlreadyRegistered);
	OK(cudaHostUnregister(local));
	EXPECT(cudaHostUnregister(local), cudaErrorHostMemoryNotRegistered);
	OK(cudaMemGetInfo(&free_after, &total));
	CHECK(free_before == free_after);
}

static void test_async_memory(void)
{
	struct gate gate;
	size_t before, held, after, total;
	cudaStream_t stream;
	char *a, *b;

	gate_init(&gate);
	OK(cudaMemGetInfo(&before, &total));
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaMallocAsync((void **)&a, 4096, stream));
	OK(cudaMemsetAsync(a, 7, 4096, stream));
	OK(cudaLaunchHostFunc(stream, gate_hold, &gate));
	OK(cudaFreeAsync(a, stream));
	EXPECT(cudaFreeAsync(a, stream), cudaErrorInvalidValue);
	EXPECT(cudaFree(a), cudaErrorInvalidValue);
	OK(cudaMemGetInfo(&held, &total));
	CHECK(before - held == 4096);
	gate_open(&gate);
	OK(cudaStreamSynchronize(stream));
	OK(cudaMemGetInfo(&after, &total));
	CHECK(before == after);
	/* An allocation that fits only after what is queued to be freed. */
	OK(cudaMallocAsync((void **)&a, (size_t)40 << 20, stream));
	OK(cudaFreeAsync(a, stream));
	OK(cudaMallocAsync((void **)&b, (size_t)40 << 20, stream));
	OK(cudaFreeAsync(b, stream));
	OK(cudaMallocAsync((void **)&b, 0, stream));
	CHECK(b == NULL);
	OK(cudaStreamDestroy(stream));
	OK(cudaDeviceSynchronize());
}

/* ---- copies ---- */

static void test_copies(void)
{
	struct cudaMemcpy3DParms box;
	int attribute[32] = {1}; /* struct cudaMemcpyAttributes: the source is read in stream order */
	struct cudaMemcpyAttributes *attributes = (struct cudaMemcpyAttributes *)(void *)attribute;
	void *to[2];
	const void *from[2];
	size_t sizes[2] = {4, 8}, index = 0;
	cudaStream_t stream;
	char *a, *b, host[256], back[256];

	for (int i = 0; i < 256; i++)
		host[i] = (char)i;
	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc((void **)&a, 256));
	OK(cudaMalloc((void **)&b, 256));
	OK(cudaMemcpy(a, host, 256, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(b, a, 256, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(back, b, 256, cudaMemcpyDefault));
	CHECK(memcmp(host, back, 256) == 0);
	EXPECT(cudaMemcpy(a, host, 257, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(a + 8, host, 249, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(back, a, 256, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(back, host, 256, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(a, b, 256, cudaMemcpyHostToHost), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(a, b, 256, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	EXPECT(cudaMemcpy(NULL, b, 256, cudaMemcpyDefault), cudaErrorInvalidValue);
	OK(cudaMemcpy(NULL, b, 0, cudaMemcpyDefault));
	EXPECT(cudaMemset(a, 1, 257), cudaErrorInvalidValue);
	EXPECT(cudaMemset(back, 1, 1), cudaErrorInvalidValue);

	OK(cudaMemset(a, 0, 256));
	OK(cudaMemset2D(a + 1, 16, 5, 3, 2));
	OK(cudaMemcpy(back, a, 256, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 256; i++)
		CHECK(back[i] == (((i >= 1 && i < 4) || (i >= 17 && i < 20)) ? 5 : 0));
	OK(cudaMemset3D((struct cudaPitchedPtr){a, 8, 8, 4}, 9, (struct cudaExtent){2, 2, 2}));
	OK(cudaMemcpy(back, a, 256, cudaMemcpyDeviceToHost));
	CHECK(back[0] == 9 && back[9] == 9 && back[32] == 9 && back[41] == 9 && back[33] == 9 &&
		back[16] == 0);

	EXPECT(cudaMemcpy2D(a, 4, host, 16, 8, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	EXPECT(cudaMemcpy2D(a, 64, host, 16, 8, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	OK(cudaMemcpy2DAsync(a, 64, host, 16, 8, 4, cudaMemcpyHostToDevice, stream));
	OK(cudaMemcpy2DAsync(back, 8, a, 64, 8, 4, cudaMemcpyDeviceToHost, stream));
	for (int i = 0; i < 32; i++)
		CHECK(back[i] == (char)(i / 8 * 16 + i % 8));
	memset(&box, 0, sizeof(box));
	box.srcPtr = (struct cudaPitchedPtr){host, 8, 8, 4};
	box.srcPos.x = 1;
	box.srcPos.z = 1;
	box.dstPtr = (struct cudaPitchedPtr){b, 4, 4, 2};
	box.extent = (struct cudaExtent){4, 2, 3};
	box.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3DAsync(&box, stream));
	OK(cudaMemcpyAsync(back, b, 24, cudaMemcpyDeviceToHost, stream));
	for (int i = 0; i < 24; i++)
		CHECK(back[i] == (char)((1 + i / 8) * 32 + i / 4 % 2 * 8 + i % 4 + 1));

	OK(cudaMemcpyToSymbol(device_table, host, 8, 4, cudaMemcpyHostToDevice));
	OK(cudaMemcpyFromSymbol(back, device_table, 8, 4, cudaMemcpyDeviceToHost));
	CHECK(memcmp(back, host, 8) == 0);
	EXPECT(cudaMemcpyToSymbol(device_table, host, 8, 12, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpyToSymbol(back, host, 8, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
	OK(cudaMemcpyToSymbolAsync(device_table, a, 16, 0, cudaMemcpyDeviceToDevice, stream));
	OK(cudaMemcpyFromSymbolAsync(b, device_table, 16, 0, cudaMemcpyDeviceToDevice, stream));

	to[0] = a;
	to[1] = a + 100;
	from[0] = host + 1;
	from[1] = host + 2;
	OK(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, &index, 1, stream));
	EXPECT(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, &index, 1, NULL), cudaErrorInvalidValue);
	OK(cudaMemcpyAsync(back, a, 256, cudaMemcpyDeviceToHost, stream));
	CHECK(memcmp(back, host + 1, 4) == 0 && memcmp(back + 100, host + 2, 8) == 0);
	OK(cudaSetDevice(1));
	OK(cudaFree(b));
	OK(cudaMalloc((void **)&b, 256));
	OK(cudaMemcpyPeer(b, 1, a, 0, 256));
	EXPECT(cudaMemcpyPeer(b, 99, a, 0, 256), cudaErrorInvalidDevice);
	OK(cudaMemcpyPeerAsync(b, 1, a, 0, 256, NULL));
	OK(cudaMemcpy(host, b, 256, cudaMemcpyDeviceToHost));
	CHECK(memcmp(back, host, 256) == 0);
	OK(cudaFree(b));
	OK(cudaSetDevice(0));
	OK(cudaFree(a));
	OK(cudaStreamDestroy(stream));
}

/* Not in softgpu's own headers. */
cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc, size_t width,
	size_t height, unsigned int flags);
cudaError_t cudaFreeArray(cudaArray_t array);

static void test_arrays(void)
{
	int format[5] = {32, 0, 0, 0, 0}; /* struct cudaChannelFormatDesc: one number of 32 bits */
	struct cudaMemcpy3DParms box;
	cudaArray_t array;
	int host[12], back[4];

	for (int i = 0; i < 12; i++)
		host[i] = i;
	OK(cudaMallocArray(&array, (struct cudaChannelFormatDesc *)(void *)format, 4, 3, 0));
	OK(cudaMemcpy2DToArray(array, 0, 0, host, 16, 16, 3, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2DToArray(array, 4, 1, host, 16, 8, 1, cudaMemcpyHostToDevice));
	EXPECT(cudaMemcpy2DToArray(array, 4, 0, host, 16, 16, 3, cudaMemcpyHostToDevice),
		cudaErrorInvalidValue);
	memset(&box, 0, sizeof(box));
	box.srcArray = array;
	box.srcPos.x = 1;
	box.srcPos.y = 1;
	box.dstPtr = (struct cudaPitchedPtr){back, 8, 8, 2};
	box.extent = (struct cudaExtent){2, 2, 1};
	box.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&box));
	CHECK(back[0] == 0 && back[1] == 1 && back[2] == 9 && back[3] == 10);
	box.extent.width = 4;
	EXPECT(cudaMemcpy3D(&box), cudaErrorInvalidValue);
	OK(cudaFreeArray(array));
	EXPECT(cudaFreeArray(array), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
}

/* What an asynchronous copy reads: pageable memory at the call, pinned memory at its turn. */
static void test_staging(void)
{
	static char pageable[100000];
	char *pinned, *a, *b, *out;
	cudaStream_t stream;
	struct gate gate;

	gate_init(&gate);
	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc((void **)&a, sizeof(pageable)));
	OK(cudaMalloc((void **)&b, sizeof(pageable)));
	OK(cudaMallocHost((void **)&pinned, sizeof(pageable)));
	OK(cudaMallocHost((void **)&out, 4));
	OK(cudaLaunchHostFunc(stream, gate_hold, &gate));
	memset(pageable, 1, sizeof(pageable));
	memset(pinned, 1, sizeof(pageable));
	OK(cudaMemcpyAsync(a, pageable, sizeof(pageable), cudaMemcpyHostToDevice, stream));
	OK(cudaMemcpyAsync(b, pinned, sizeof(pageable), cudaMemcpyHostToDevice, stream));
	memset(pageable, 2, sizeof(pageable));
	memset(pinned, 2, sizeof(pageable));
	OK(cudaMemcpyAsync(out, a + sizeof(pageable) - 1, 1, cudaMemcpyDeviceToHost, stream));
	OK(cudaMemcpyAsync(out + 1, b + sizeof(pageable) - 1, 1, cudaMemcpyDeviceToHost, stream));
	OK(cudaMemcpyAsync(a, pageable, 10, cudaMemcpyHostToDevice, stream));
	memset(pageable, 3, sizeof(pageable));
	OK(cudaMemcpyAsync(out + 2, a + 9, 1, cudaMemcpyDeviceToHost, stream));
	EXPECT(cudaStreamQuery(stream), cudaErrorNotReady);
	gate_open(&gate);
	OK(cudaStreamSynchronize(stream));
	OK(cudaStreamQuery(stream));
	CHECK(out[0] == 1 && out[1] == 2 && out[2] == 2);
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFreeHost(pinned));
	OK(cudaFreeHost(out));
	OK(cudaStreamDestroy(stream));
}

void test_memory(void)
{
	test_allocation();
	test_async_memory();
	test_copies();
	test_arrays();
	test_staging();
}
