/*
 * libnvrtc: CUDA's run-time compiler. It needs no GPU, so where the vendor's is installed the calls are
 * handed on to it; what it makes are images of kernels, as every program has them.
 *
 * The one idea: it is looked for at the first call, as it mostly comes in a wheel beside those of the
 * libraries that the program has loaded by then.
 */
#include "core/absent.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERNAL_ERROR 11
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define LIBRARY "libnvrtc.so." STRING(SG_NVRTC_MAJOR)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *compiler;

static void *open_in(const char *folder, size_t length, const char *below)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s/%s/" LIBRARY, (int)length, folder, below);

	return n < (int)sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Beside a library of Python's packages: the vendor's wheels of CUDA 12, and of CUDA 13. */
static int look_beside(struct dl_phdr_info *info, size_t size, void *unused)
{
	static const char packages[] = "/site-packages/";
	const char *at = strstr(info->dlpi_name, packages);

	(void)size;
	(void)unused;
	if (at == NULL)
		return 0;
	at += sizeof(packages) - 2;
	compiler = open_in(info->dlpi_name, (size_t)(at - info->dlpi_name), "nvidia/cuda_nvrtc/lib");
	if (compiler == NULL)
		compiler = open_in(info->dlpi_name, (size_t)(at - info->dlpi_name),
			"nvidia/cu" STRING(SG_NVRTC_MAJOR) "/lib");
	return compiler != NULL;
}

static void find_compiler(void)
{
	static const char *const toolkits[] = {"CUDA_HOME", "CUDA_PATH"};
	static const char usual[] = "/usr/local/cuda";
	const char *file = getenv("SOFTGPU_NVRTC");

	if (file != NULL && file[0] != '\0') {
		compiler = dlopen(file, RTLD_NOW | RTLD_LOCAL);
		if (compiler == NULL)
			fprintf(stderr, "softgpu: SOFTGPU_NVRTC: %s\n", dlerror());
		return;
	}
	dl_iterate_phdr(look_beside, NULL);
	for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]) && compiler == NULL; i++) {
		const char *folder = getenv(toolkits[i]);

		if (folder != NULL)
			compiler = open_in(folder, strlen(folder), "lib64");
	}
	if (compiler == NULL)
		compiler = open_in(usual, strlen(usual), "lib64");
}

typedef intptr_t call(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

static call *find_call(const char *name)
{
	union {
		void *object;
		call *function;
	} found = {NULL};

	pthread_once(&once, find_compiler);
	if (compiler != NULL)
		found.object = dlsym(compiler, name);
	return found.function;
}

/* No function has more than six parameters, all of them pointers or integers: they come in registers, and
 * more than there are do no harm. */
#define NVRTC_AS(name, result) \
	call name; \
	intptr_t name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f) \
	{ \
		static _Atomic int said; \
		call *real = find_call(#name); \
\
		if (real != NULL) \
			return real(a, b, c, d, e, f); \
		sg_absent(#name, &said); \
		return (intptr_t)(result); \
	}
#define NVRTC(name) NVRTC_AS(name, INTERNAL_ERROR)
#define NVRTC_TEXT(name) \
	NVRTC_AS(name, \
		"not supported by softgpu without the vendor's compiler: install nvidia-cuda-nvrtc, or name " LIBRARY \
		" in SOFTGPU_NVRTC")
#include "nvrtc/functions.def"
