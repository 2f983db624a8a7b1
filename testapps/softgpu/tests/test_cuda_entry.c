/* Checks how the stand-in CUDA driver's functions are found by name: versions, forms, what there is not. */
#include <dlfcn.h>
#include <string.h>

#include "test_cuda.h"
#include <cuda_runtime_api.h>

#include "test_common.h"

__typeof__(cudaGetDriverEntryPointByVersion) cudaGetDriverEntryPointByVersion_ptsz;

static void *driver;

static void *symbol(const char *name)
{
	void *found = dlsym(driver, name);

	CHECK(found != NULL);
	return found;
}

/* What a program built for CUDA `version` gets; *status says why it gets nothing. */
static void *asked(const char *name, int version, unsigned long long flags, int *status)
{
	CUdriverProcAddressQueryResult result = (CUdriverProcAddressQueryResult)-1;
	void *function = &result;

	OK(cuGetProcAddress_v2(name, &function, version, flags, &result));
	*status = (int)result;
	return function;
}

static const struct {
	const char *name;
	int version;
	unsigned long long flags;
	const char *symbol; /* NULL: nothing, and the status is */
	int status;
} cases[] = {
	{"cuInit", 2000, 0, "cuInit", 0},
	{"cuMemAlloc", 13000, 0, "cuMemAlloc_v2", 0},
	{"cuMemAlloc", 3020, 0, "cuMemAlloc_v2", 0},
	{"cuMemAlloc", 3010, 0, NULL, 2},
	{"cuMemAlloc_v2", 13000, 0, NULL, 1},
	{"cuNoSuchThing", 13000, 0, NULL, 1},
	{"", 13000, 0, NULL, 1},
	/* Each version of a name to those who know it. */
	{"cuGetProcAddress", 11040, 0, "cuGetProcAddress", 0},
	{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", 0},
	{"cuGetProcAddress", 11020, 0, NULL, 2},
	{"cuCtxCreate", 11030, 0, "cuCtxCreate_v2", 0},
	{"cuCtxCreate", 12040, 0, "cuCtxCreate_v3", 0},
	{"cuCtxCreate", 12050, 0, "cuCtxCreate_v4", 0},
	{"cuStreamBeginCapture", 10000, 0, "cuStreamBeginCapture", 0},
	{"cuStreamBeginCapture", 10010, 0, "cuStreamBeginCapture_v2", 0},
	{"cuStreamGetCaptureInfo", 11020, 0, "cuStreamGetCaptureInfo", 0},
	{"cuStreamGetCaptureInfo", 12020, 0, "cuStreamGetCaptureInfo_v2", 0},
	{"cuStreamGetCaptureInfo", 13000, 0, "cuStreamGetCaptureInfo_v3", 0},
	{"cuMemPrefetchAsync", 12010, 0, "cuMemPrefetchAsync", 0},
	{"cuMemPrefetchAsync", 12020, 2, "cuMemPrefetchAsync_v2_ptsz", 0},
	{"cuEventElapsedTime", 12070, 0, "cuEventElapsedTime", 0},
	{"cuEventElapsedTime", 12080, 0, "cuEventElapsedTime_v2", 0},
	/* Forms for per-thread default streams: asked for, known to the version, and there. */
	{"cuMemcpyHtoDAsync", 12000, 0, "cuMemcpyHtoDAsync_v2", 0},
	{"cuMemcpyHtoDAsync", 12000, 1, "cuMemcpyHtoDAsync_v2", 0},
	{"cuMemcpyHtoDAsync", 12000, 2, "cuMemcpyHtoDAsync_v2_ptsz", 0},
	{"cuMemcpyHtoDAsync", 6050, 2, "cuMemcpyHtoDAsync_v2", 0},
	{"cuMemcpyDtoH", 12000, 2, "cuMemcpyDtoH_v2_ptds", 0},
	{"cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz", 0},
	{"cuMemAlloc", 12000, 2, "cuMemAlloc_v2", 0},
};

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status;
		void *function = asked(cases[i].name, cases[i].version, cases[i].flags, &status);

		if (status != cases[i].status ||
			function != (cases[i].symbol != NULL ? symbol(cases[i].symbol) : NULL)) {
			fprintf(stderr, "%s for %d, flags %llu: status %d, %p\n", cases[i].name,
				cases[i].version, cases[i].flags, status, function);
			exit(1);
		}
	}
}

static void test_first_version(void)
{
	union {
		void *object;
		CUresult (*function)(const char *, void **, int, unsigned long long);
	} first;
	void *function;
	int status;

	first.object = asked("cuGetProcAddress", 11030, 0, &status);
	OK(first.function("cuMemFree", &function, 11030, 2));
	CHECK(function == symbol("cuMemFree_v2"));
	EXPECT(first.function("cuNoSuchThing", &function, 11030, 0), CUDA_ERROR_NOT_FOUND);
	EXPECT(first.function("cuMemFree", &function, 13010, 0), CUDA_ERROR_INVALID_VALUE);
}

/* Programs still call it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void test_runtime(void)
{
	enum cudaDriverEntryPointQueryResult status;
	void *function;

	OK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &status));
	CHECK(function == symbol("cuMemAlloc_v2") && status == cudaDriverEntryPointSuccess);
	OK(cudaGetDriverEntryPointByVersion("cuCtxCreate", &function, 11040, cudaEnableDefault, &status));
	CHECK(function == symbol("cuCtxCreate_v3") && status == cudaDriverEntryPointSuccess);
	OK(cudaGetDriverEntryPointByVersion(
		"cuMemsetD8", &function, 12000, cudaEnablePerThreadDefaultStream, NULL));
	CHECK(function == symbol("cuMemsetD8_v2_ptds"));
	OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault, &status));
	CHECK(function == NULL && status == cudaDriverEntryPointSymbolNotFound);
	OK(cudaGetDriverEntryPointByVersion("cuGraphLaunch", &function, 9000, cudaEnableDefault, &status));
	CHECK(function == NULL && status == cudaDriverEntryPointVersionNotSufficent);
	OK(cudaGetDriverEntryPointByVersion_ptsz(
		"cuMemcpyAsync", &function, 13000, cudaEnableDefault, &status));
	CHECK(function == symbol("cuMemcpyAsync_ptsz"));
	OK(cudaGetDriverEntryPointByVersion_ptsz(
		"cuMemcpyAsync", &function, 13000, cudaEnableLegacyStream, &status));
	CHECK(function == symbol("cuMemcpyAsync"));
	EXPECT(cudaGetDriverEntryPointByVersion("cuInit", &function, 13010, cudaEnableDefault, &status),
		cudaErrorInvalidValue);
	EXPECT(cudaGetDriverEntryPoint(NULL, &function, cudaEnableDefault, &status), cudaErrorInvalidValue);
	cudaGetLastError();
}

void test_entries(void)
{
	CUuuid nobody = {{1}};
	const void *table;
	void *function;

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CHECK(driver != NULL);
	test_cases();
	test_first_version();
	test_runtime();
	EXPECT(cuGetProcAddress_v2("cuInit", &function, 13010, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGetProcAddress_v2("cuInit", &function, 13000, 4, NULL), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuGetProcAddress_v2("cuInit", &function, 13000, 0, NULL));
	EXPECT(cuGetExportTable(&table, &nobody), CUDA_ERROR_NOT_FOUND);
	dlclose(driver);
}
