/*
 * The driver's functions by name: cudaGetDriverEntryPoint*.
 *
 * The one idea: the names are the driver library's own (cuda/entry.c); it lies beside this one and is loaded
 * with it, so that who looks for a driver in the process finds it, as with the vendor's runtime. Not at the
 * first call: that may be made while another thread is in the loader and waits for it.
 */
#include "cudart_private.h"
#include "calls/driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define RUNTIME_VERSION 13000

/* No header has these two by their own names. */
cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *driverStatus);
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **funcPtr,
	unsigned int cudaVersion, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *driverStatus);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sg_driver_lookup *lookup;

static void load_driver(void)
{
	static const char name[] = "libcuda.so.1";
	char path[PATH_MAX];
	union {
		void *object;
		sg_driver_lookup *function;
	} found;
	const char *slash;
	void *driver = NULL;
	Dl_info self;

	/* The one beside this library: another driver's would be found first where there is a GPU. */
	if (dladdr(&lookup, &self) != 0 && (slash = strrchr(self.dli_fname, '/')) != NULL &&
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, name) <
			(int)sizeof(path))
		driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (driver == NULL)
		return;
	found.object = dlsym(driver, "sg_driver_find");
	lookup = found.object != NULL ? found.function : NULL;
}

__attribute__((constructor)) static void load_at_start(void)
{
	pthread_once(&once, load_driver);
}

static cudaError_t find(const char *symbol, void **function, unsigned version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status)
{
	int result;

	if (symbol == NULL || function == NULL || flags > SG_DRIVER_PER_THREAD || version > RUNTIME_VERSION)
		return cudaErrorInvalidValue;
	pthread_once(&once, load_driver);
	if (lookup == NULL)
		return cudaErrorNotSupported;
	*function = lookup(symbol, (int)version, (flags & SG_DRIVER_PER_THREAD) != 0, &result);
	if (status != NULL)
		*status = (enum cudaDriverEntryPointQueryResult)result;
	return cudaSuccess;
}

RUNTIME(cudaGetDriverEntryPoint,
	(const char *, symbol, void **, funcPtr, unsigned long long, flags,
		enum cudaDriverEntryPointQueryResult *, driverStatus),
	cudaErrorInvalidValue, find(symbol, funcPtr, RUNTIME_VERSION, flags, driverStatus))
RUNTIME(cudaGetDriverEntryPoint_ptsz,
	(const char *, symbol, void **, funcPtr, unsigned long long, flags,
		enum cudaDriverEntryPointQueryResult *, driverStatus),
	cudaErrorInvalidValue,
	find(symbol, funcPtr, RUNTIME_VERSION, flags == 0 ? SG_DRIVER_PER_THREAD : flags, driverStatus))
RUNTIME(cudaGetDriverEntryPointByVersion,
	(const char *, symbol, void **, funcPtr, unsigned int, cudaVersion, unsigned long long, flags,
		enum cudaDriverEntryPointQueryResult *, driverStatus),
	cudaErrorInvalidValue, find(symbol, funcPtr, cudaVersion, flags, driverStatus))
RUNTIME(cudaGetDriverEntryPointByVersion_ptsz,
	(const char *, symbol, void **, funcPtr, unsigned int, cudaVersion, unsigned long long, flags,
		enum cudaDriverEntryPointQueryResult *, driverStatus),
	cudaErrorInvalidValue,
	find(symbol, funcPtr, cudaVersion, flags == 0 ? SG_DRIVER_PER_THREAD : flags, driverStatus))
