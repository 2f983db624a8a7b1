/* Code loaded at run time, and the names and handles of kernels: cudaLibrary*, cudaGetKernel,
 * cudaFuncGetName. */
#include "calls/kernel.h"

#include <unistd.h>

static cudaError_t load(cudaLibrary_t *library, struct sg_image *image)
{
	struct sg_module *module = sg_module_open(image);

	if (module == NULL)
		return cudaErrorMemoryAllocation;
	*library = (cudaLibrary_t)(void *)module;
	return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
	void **jitOptionsValues, unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions,
	void **libraryOptionValues, unsigned int numLibraryOptions)
{
	SG_ENTER(cudaErrorInvalidKernelImage);
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (library == NULL || code == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(load(library, sg_image_open(code, 1)));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
	enum cudaJitOption *jitOptions, void **jitOptionsValues, unsigned int numJitOptions,
	enum cudaLibraryOption *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions)
{
	SG_ENTER(cudaErrorFileNotFound);
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (library == NULL || fileName == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (access(fileName, R_OK) != 0)
		return sg_result(cudaErrorFileNotFound);
	return sg_result(load(library, sg_image_open_file(fileName)));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	struct sg_module *module;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	module = sg_module_of(library);
	if (module == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	sg_module_close(module);
	return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	struct sg_kernel *kernel;

	SG_ENTER(cudaErrorSymbolNotFound);
	if (sg_module_of(library) == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (pKernel == NULL || name == NULL)
		return sg_result(cudaErrorInvalidValue);
	kernel = sg_kernel_named(name, sg_module_image(sg_module_of(library)));
	*pKernel = (cudaKernel_t)(void *)kernel;
	return sg_result(kernel != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	size_t size_bytes;
	char *address;
	cudaError_t error;

	SG_ENTER(cudaErrorSymbolNotFound);
	if (sg_module_of(library) == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (name == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_symbol_named(name, &address, &size_bytes);
	if (error != cudaSuccess)
		error = sg_module_variable(sg_module_of(library), name, &address, &size_bytes);
	if (error == cudaSuccess && dptr != NULL)
		*dptr = address;
	if (error == cudaSuccess && bytes != NULL)
		*bytes = size_bytes;
	return sg_result(error);
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	struct sg_kernel *kernel;

	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (name == NULL || func == NULL)
		return sg_result(cudaErrorInvalidValue);
	kernel = sg_kernel_find(func);
	if (kernel == NULL)
		return sg_result(cudaErrorInvalidDeviceFunction);
	*name = kernel->name;
	return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	struct sg_kernel *kernel;

	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (kernelPtr == NULL)
		return sg_result(cudaErrorInvalidValue);
	kernel = sg_kernel_find(entryFuncAddr);
	*kernelPtr = (cudaKernel_t)(void *)kernel;
	return sg_result(kernel != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

/* A cudaFunction_t is a CUfunction, which is a CUkernel here. */
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	struct sg_kernel *kernel;

	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (functionPtr == NULL)
		return sg_result(cudaErrorInvalidValue);
	kernel = sg_kernel_find(symbolPtr);
	*functionPtr = (cudaFunction_t)(void *)kernel;
	return sg_result(kernel != NULL ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}
