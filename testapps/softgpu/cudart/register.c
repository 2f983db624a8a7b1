/* Registration of kernels and device variables, as the code that nvcc puts into a program calls it before
 * main. */
#include "calls/kernel.h"

#include <stdlib.h>

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
	const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
	int ext, size_t size, int constant, int global);
void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar, size_t size);
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
	const char *deviceName, int ext, size_t size, int constant, int global);
char __cudaInitModule(void **fatCubinHandle);

/* What a handle points to; programs know of the first word alone. */
struct registered {
	void *wrapper;
	struct sg_image *image; /* or NULL */
};

static struct registered *registered_of(void **handle)
{
	return (struct registered *)(void *)handle;
}

void **__cudaRegisterFatBinary(void *fatCubin)
{
	struct registered *registered = malloc(sizeof(*registered));

	if (registered == NULL)
		return NULL;
	registered->wrapper = fatCubin;
	registered->image = sg_image_open(fatCubin, 0);
	return &registered->wrapper;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
	(void)fatCubinHandle;
}

void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
	if (fatCubinHandle != NULL)
		sg_image_close(registered_of(fatCubinHandle)->image);
	free(fatCubinHandle);
}

char __cudaInitModule(void **fatCubinHandle)
{
	(void)fatCubinHandle;
	return 1;
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
	const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize)
{
	(void)deviceFun, (void)thread_limit;
	(void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
	sg_kernel_register(
		hostFun, deviceName, fatCubinHandle != NULL ? registered_of(fatCubinHandle)->image : NULL);
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
	int ext, size_t size, int constant, int global)
{
	(void)fatCubinHandle, (void)deviceAddress, (void)ext, (void)constant, (void)global;
	sg_symbol_register(hostVar, hostVar, size, deviceName);
}

void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar, size_t size)
{
	(void)fatCubinHandle;
	sg_symbol_register(hostVar, hostVar, size, deviceName);
}

/* The program's variable is a pointer, through which it expects the memory. */
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
	const char *deviceName, int ext, size_t size, int constant, int global)
{
	char *memory = calloc(1, size);

	(void)fatCubinHandle, (void)deviceAddress, (void)ext, (void)constant, (void)global;
	*hostVarPtrAddress = memory;
	if (memory != NULL)
		sg_symbol_register(memory, memory, size, deviceName);
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	size_t size_bytes;
	char *address;
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidSymbol);
	if (devPtr == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_symbol_find(symbol, &address, &size_bytes);
	if (error == cudaSuccess)
		*devPtr = address;
	return sg_result(error);
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
	char *address;

	SG_ENTER(cudaErrorInvalidSymbol);
	if (size == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_symbol_find(symbol, &address, size));
}
