/*
 * Registration of kernels and device variables, as the code that nvcc puts into a program calls it before
 * main.
 *
 * The one idea: a device variable is the host variable of the same name (every device sees that one), and a
 * kernel is the C function sg_twin_NAME if anything loaded exports it.
 */
#include "cudart_register.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sg_copy.h"

#define NAME_BYTES 1024

struct symbol {
	struct symbol *next;
	const void *host;
	char *address;
	size_t size_bytes;
};

/* Entries are added, never removed: a program unregisters only as it ends. */
struct entry {
	struct entry *next;
	struct sg_kernel kernel;
};

#define BUCKETS 1024
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct entry *) kernels[BUCKETS];
static struct symbol *symbols;

static size_t bucket_of(const void *address)
{
	return ((uintptr_t)address >> 4) % BUCKETS;
}

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
/* Not in softgpu's own headers. */
cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol);

void **__cudaRegisterFatBinary(void *fatCubin)
{
	void **handle = malloc(sizeof(*handle));

	if (handle != NULL)
		*handle = fatCubin;
	return handle;
}

void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
	(void)fatCubinHandle;
}

void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
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
	struct entry *entry = calloc(1, sizeof(*entry));
	size_t bucket = bucket_of(hostFun);

	(void)fatCubinHandle, (void)deviceFun, (void)thread_limit;
	(void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
	if (entry == NULL)
		return;
	entry->kernel.host = hostFun;
	entry->kernel.name = deviceName;
	pthread_mutex_lock(&lock);
	entry->next = atomic_load(&kernels[bucket]);
	atomic_store(&kernels[bucket], entry);
	pthread_mutex_unlock(&lock);
}

static void add_symbol(const void *host, char *address, size_t size_bytes)
{
	struct symbol *symbol = malloc(sizeof(*symbol));

	if (symbol == NULL)
		return;
	symbol->host = host;
	symbol->address = address;
	symbol->size_bytes = size_bytes;
	pthread_mutex_lock(&lock);
	symbol->next = symbols;
	symbols = symbol;
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
	int ext, size_t size, int constant, int global)
{
	(void)fatCubinHandle, (void)deviceAddress, (void)deviceName, (void)ext, (void)constant, (void)global;
	add_symbol(hostVar, hostVar, size);
}

void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar, size_t size)
{
	(void)fatCubinHandle, (void)deviceName;
	add_symbol(hostVar, hostVar, size);
}

/* The program's variable is a pointer, through which it expects the memory. */
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
	const char *deviceName, int ext, size_t size, int constant, int global)
{
	char *memory = calloc(1, size);

	(void)fatCubinHandle, (void)deviceAddress, (void)deviceName, (void)ext, (void)constant, (void)global;
	*hostVarPtrAddress = memory;
	if (memory != NULL)
		add_symbol(memory, memory, size);
}

static void resolve(struct sg_kernel *kernel)
{
	char name[NAME_BYTES];
	/* POSIX has dlsym return functions as void pointers; C has no cast for that. */
	union {
		void *object;
		sg_twin *function;
	} twin;

	pthread_mutex_lock(&lock);
	if (!atomic_load(&kernel->resolved)) {
		snprintf(name, sizeof(name), "sg_twin_%s", kernel->name);
		twin.object = dlsym(RTLD_DEFAULT, name);
		kernel->twin = twin.object != NULL ? twin.function : NULL;
		snprintf(name, sizeof(name), "sg_twin_%s_args", kernel->name);
		kernel->arg_bytes = dlsym(RTLD_DEFAULT, name);
		atomic_store(&kernel->resolved, 1);
	}
	pthread_mutex_unlock(&lock);
}

struct sg_kernel *sg_kernel_find(const void *host)
{
	for (struct entry *entry = atomic_load(&kernels[bucket_of(host)]); entry != NULL;
		entry = entry->next) {
		if (entry->kernel.host != host)
			continue;
		if (!atomic_load(&entry->kernel.resolved))
			resolve(&entry->kernel);
		return &entry->kernel;
	}
	return NULL;
}

cudaError_t sg_symbol_find(const void *host, char **address, size_t *size_bytes)
{
	struct symbol *symbol;

	pthread_mutex_lock(&lock);
	for (symbol = symbols; symbol != NULL && symbol->host != host; symbol = symbol->next)
		;
	pthread_mutex_unlock(&lock);
	if (host == NULL || symbol == NULL)
		return cudaErrorInvalidSymbol;
	*address = symbol->address;
	*size_bytes = symbol->size_bytes;
	return cudaSuccess;
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
