/*
 * cuModule*, cuLibrary*, cuKernel*, cuFunc*: code, and the kernels in it.
 *
 * The one idea: no code is run; a kernel of any name can be had, and it does what its C twin does if the
 * program exports one (calls/kernel.h). Of an image only the kernels'
 * parameters and the variables are read (calls/image.h). A
 * CUfunction and the CUkernel of that name are the same object.
 */
#include "cuda_private.h"
#include "calls/kernel.h"

#include <unistd.h>

/* One of image and path is given. */
static CUresult load(struct sg_module **out, const void *image, const char *path)
{
	if (out == NULL || (image == NULL && path == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	*out = sg_module_open(path != NULL ? sg_image_open_file(path) : sg_image_open(image, 1));
	return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult load_module(CUmodule *out, const void *image, const char *path)
{
	struct sg_module *module;
	CUresult result = load(out != NULL ? &module : NULL, image, path);

	if (result == CUDA_SUCCESS)
		*out = (CUmodule)(void *)module;
	return result;
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
	SG_DRIVER(CUDA_ERROR_FILE_NOT_FOUND);
	if (fname != NULL && access(fname, R_OK) != 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	return load_module(module, NULL, fname);
}

DRIVER_OWN(cuModuleLoadData, (CUmodule *, module, const void *, image), CUDA_ERROR_INVALID_IMAGE,
	load_module(module, image, NULL))

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
	CUjit_option *options, void **optionValues)
{
	SG_DRIVER(CUDA_ERROR_INVALID_IMAGE);
	if (numOptions > 0 && (options == NULL || optionValues == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	return load_module(module, image, NULL);
}

DRIVER_OWN(cuModuleLoadFatBinary, (CUmodule *, module, const void *, fatCubin), CUDA_ERROR_INVALID_IMAGE,
	load_module(module, fatCubin, NULL))

static CUresult unload(const void *handle)
{
	struct sg_module *module = sg_module_of(handle);

	if (module == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	sg_module_close(module);
	return CUDA_SUCCESS;
}

DRIVER_OWN(cuModuleUnload, (CUmodule, hmod), CUDA_ERROR_INVALID_HANDLE, unload(hmod))

static CUresult find_kernel(struct sg_kernel **out, const void *module, const char *name)
{
	if (sg_module_of(module) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (name == NULL || *name == '\0')
		return name == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
	*out = sg_kernel_named(name, sg_module_image(sg_module_of(module)));
	return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	struct sg_kernel *kernel;
	CUresult result;

	SG_DRIVER(CUDA_ERROR_NOT_FOUND);
	if (hfunc == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = find_kernel(&kernel, hmod, name);
	if (result == CUDA_SUCCESS)
		*hfunc = (CUfunction)(void *)kernel;
	return result;
}

static CUresult find_variable(CUdeviceptr *address, size_t *bytes, const void *module, const char *name)
{
	size_t size_bytes;
	char *start;
	cudaError_t error;

	if (sg_module_of(module) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (name == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_symbol_named(name, &start, &size_bytes);
	if (error != cudaSuccess)
		error = sg_module_variable(sg_module_of(module), name, &start, &size_bytes);
	if (error == cudaSuccess && address != NULL)
		*address = sg_address(start);
	if (error == cudaSuccess && bytes != NULL)
		*bytes = size_bytes;
	return sg_driver_result(error);
}

DRIVER_OWN(cuModuleGetGlobal_v2, (CUdeviceptr *, dptr, size_t *, bytes, CUmodule, hmod, const char *, name),
	CUDA_ERROR_NOT_FOUND, find_variable(dptr, bytes, hmod, name))

/* 1: eager */
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (mode == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = (CUmoduleLoadingMode)1;
	return CUDA_SUCCESS;
}

/* ---- libraries ---- */

static CUresult load_library(CUlibrary *out, const void *code, const char *path)
{
	struct sg_module *module;
	CUresult result = load(out != NULL ? &module : NULL, code, path);

	if (result == CUDA_SUCCESS)
		*out = (CUlibrary)(void *)module;
	return result;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
	void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
	void **libraryOptionValues, unsigned int numLibraryOptions)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_IMAGE, SG_NEED_INIT);
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	return load_library(library, code, NULL);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
	void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
	void **libraryOptionValues, unsigned int numLibraryOptions)
{
	SG_DRIVER_AS(CUDA_ERROR_FILE_NOT_FOUND, SG_NEED_INIT);
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (fileName != NULL && access(fileName, R_OK) != 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	return load_library(library, NULL, fileName);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	return unload(library);
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	struct sg_kernel *kernel;
	CUresult result;

	SG_DRIVER_AS(CUDA_ERROR_NOT_FOUND, SG_NEED_INIT);
	if (pKernel == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = find_kernel(&kernel, library, name);
	if (result == CUDA_SUCCESS)
		*pKernel = (CUkernel)(void *)kernel;
	return result;
}

/* A library is its own module. */
CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	if (pMod == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_module_of(library) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*pMod = (CUmodule)(void *)library;
	return CUDA_SUCCESS;
}

DRIVER_OWN(cuLibraryGetGlobal, (CUdeviceptr *, dptr, size_t *, bytes, CUlibrary, library, const char *, name),
	CUDA_ERROR_NOT_FOUND, find_variable(dptr, bytes, library, name))

/* ---- kernels ---- */

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	if (pFunc == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_kernel_of(kernel) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*pFunc = (CUfunction)(void *)kernel;
	return CUDA_SUCCESS;
}

static CUresult name_of(const char **name, const void *handle)
{
	const struct sg_kernel *kernel = sg_kernel_of(handle);

	if (name == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (kernel == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = kernel->name;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	return name_of(name, hfunc);
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	return name_of(name, hfunc);
}

static CUresult param_of(const void *handle, size_t number, size_t *offset, size_t *size_bytes)
{
	const struct sg_kernel *kernel = sg_kernel_of(handle);
	size_t at, bytes;
	CUresult result;

	if (kernel == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (offset == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_driver_result(sg_kernel_param(kernel, number, &at, &bytes));
	if (result != CUDA_SUCCESS)
		return result;
	*offset = at;
	if (size_bytes != NULL)
		*size_bytes = bytes;
	return CUDA_SUCCESS;
}

DRIVER_OWN(cuFuncGetParamInfo,
	(CUfunction, func, size_t, paramIndex, size_t *, paramOffset, size_t *, paramSize),
	CUDA_ERROR_INVALID_HANDLE, param_of(func, paramIndex, paramOffset, paramSize))

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	return param_of(kernel, paramIndex, paramOffset, paramSize);
}

static CUresult param_count_of(const void *handle, size_t *count)
{
	const struct sg_kernel *kernel = sg_kernel_of(handle);

	if (kernel == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (count == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_kernel_param_count(kernel, count));
}

DRIVER_OWN(cuFuncGetParamCount, (CUfunction, func, size_t *, paramCount), CUDA_ERROR_INVALID_HANDLE,
	param_count_of(func, paramCount))

CUresult cuKernelGetParamCount(CUkernel kernel, size_t *paramCount)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	return param_count_of(kernel, paramCount);
}

/* By number: 0 threads per block, 1 to 3 shared, constant and local bytes, 4 registers, 5 and 6 versions. */
static const int attributes[] = {1024, 0, 0, 0, 32, 90, 90, 0, 49152, -1};
#define ATTRIBUTE_LIMIT SG_KERNEL_ATTRIBUTE_LIMIT

static CUresult attribute_of(int *value, int attribute, const void *handle)
{
	if (sg_kernel_of(handle) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (value == NULL || attribute < 0 || attribute >= ATTRIBUTE_LIMIT)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute >= SG_KERNEL_SHARED_BYTES &&
		sg_kernel_of(handle)->attribute[attribute - SG_KERNEL_SHARED_BYTES])
		*value = sg_kernel_of(handle)->attribute[attribute - SG_KERNEL_SHARED_BYTES];
	else
		*value = attribute < (int)(sizeof(attributes) / sizeof(attributes[0])) ? attributes[attribute]
										       : 0;
	return CUDA_SUCCESS;
}

static CUresult set_attribute(const void *handle, int attribute, int value)
{
	return sg_kernel_of(handle) == NULL
		       ? CUDA_ERROR_INVALID_HANDLE
		       : sg_driver_result(sg_kernel_set(sg_kernel_of(handle), attribute, value));
}

DRIVER_OWN(cuFuncGetAttribute, (int *, pi, CUfunction_attribute, attrib, CUfunction, hfunc),
	CUDA_ERROR_INVALID_HANDLE, attribute_of(pi, (int)attrib, hfunc))
DRIVER_OWN(cuFuncSetAttribute, (CUfunction, hfunc, CUfunction_attribute, attrib, int, value),
	CUDA_ERROR_INVALID_HANDLE, set_attribute(hfunc, (int)attrib, value))

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return attribute_of(pi, (int)attrib, kernel);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_HANDLE, SG_NEED_INIT);
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return set_attribute(kernel, (int)attrib, val);
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	(void)config;
	return sg_kernel_of(hfunc) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult occupancy(int *blocks, const void *func, int block_threads, size_t shared_bytes)
{
	if (sg_kernel_of(func) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	return sg_driver_result(sg_kernel_occupancy(blocks, block_threads, shared_bytes));
}

DRIVER_OWN(cuOccupancyMaxActiveBlocksPerMultiprocessor,
	(int *, numBlocks, CUfunction, func, int, blockSize, size_t, dynamicSMemSize),
	CUDA_ERROR_INVALID_HANDLE, occupancy(numBlocks, func, blockSize, dynamicSMemSize))

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	return occupancy(numBlocks, func, blockSize, dynamicSMemSize);
}
