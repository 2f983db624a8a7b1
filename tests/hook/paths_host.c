/*
 * Reaches functions of CUDA's libraries in every manner there is, calls each some times, and prints the
 * results and how often it called what.
 *
 *     paths_host PATH [REPEAT]
 *
 * PATH: linked (where this is compiled with it); local, global, default, versioned, versioned_default,
 * process: dlopen and dlsym in their forms; driver, driver_1: cuGetProcAddress with its versions and flags;
 * entry: the runtime's cudaGetDriverEntryPoint; absent: no CUDA library, only questions. $PATHS_FILES, words
 * "library=file", names other files than the usual ones. PATH may be RUNS: each path once more.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm_abi.h"

#define MAX_CALLED 64

static struct {
	const char *name;
	unsigned count;
} called[MAX_CALLED];

static void count(const char *name)
{
	unsigned i = 0;

	while (called[i].name && strcmp(called[i].name, name) != 0)
		i++;
	called[i].name = name;
	called[i].count++;
}

static void print_counts(void)
{
	for (unsigned i = 0; called[i].name; i++)
		printf("call %s %u\n", called[i].name, called[i].count);
}

/* X(library, result, name, parameters) */
#define FUNCTIONS(X) \
	X(cudart, cudaError_t, cudaMalloc, (void **, size_t)) \
	X(cudart, cudaError_t, cudaFree, (void *)) \
	X(cudart, cudaError_t, cudaMemcpy, (void *, const void *, size_t, enum cudaMemcpyKind)) \
	X(cudart, cudaError_t, cudaStreamCreate, (cudaStream_t *)) \
	X(cudart, cudaError_t, cudaStreamSynchronize, (cudaStream_t)) \
	X(cudart, cudaError_t, cudaStreamDestroy, (cudaStream_t)) \
	X(cudnn, cudnnStatus_t, cudnnCreate, (cudnnHandle_t *)) \
	X(cudnn, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t, cudaStream_t)) \
	X(cudnn, cudnnStatus_t, cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t *)) \
	X(cudnn, cudnnStatus_t, cudnnSetTensor4dDescriptor, \
		(cudnnTensorDescriptor_t, cudnnTensorFormat_t, cudnnDataType_t, int, int, int, int)) \
	X(cudnn, cudnnStatus_t, cudnnSetTensor, \
		(cudnnHandle_t, cudnnTensorDescriptor_t, void *, const void *)) \
	X(cudnn, cudnnStatus_t, cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t)) \
	X(cudnn, cudnnStatus_t, cudnnDestroy, (cudnnHandle_t)) \
	X(cublas, cublasStatus_t, cublasCreate_v2, (cublasHandle_t *)) \
	X(cublas, cublasStatus_t, cublasSetStream_v2, (cublasHandle_t, cudaStream_t)) \
	X(cublas, cublasStatus_t, cublasSaxpy_v2, \
		(cublasHandle_t, int, const float *, const float *, int, float *, int)) \
	X(cublas, cublasStatus_t, cublasDestroy_v2, (cublasHandle_t)) \
	X(nccl, ncclResult_t, ncclCommInitAll, (ncclComm_t *, int, const int *)) \
	X(nccl, ncclResult_t, ncclGroupStart, (void)) \
	X(nccl, ncclResult_t, ncclAllReduce, \
		(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)) \
	X(nccl, ncclResult_t, ncclGroupEnd, (void)) \
	X(nccl, ncclResult_t, ncclCommDestroy, (ncclComm_t)) \
	X(cuda, CUresult, cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
	X(cuda, CUresult, cuMemFree_v2, (CUdeviceptr)) \
	X(cuda, CUresult, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) \
	X(cuda, CUresult, cuCtxSynchronize, (void))

static struct {
#define X(library, result, name, parameters) result(*name) parameters;
	FUNCTIONS(X)
#undef X
} f;

#ifdef LINKED
#define X(library, result, name, parameters) result name parameters;
FUNCTIONS(X)
#undef X
#endif

/* Calls a function that was found, counts it, prints and gives its result; -1 where there is none. */
#define CALL(name, ...) (f.name ? (count(#name), print_result(#name, (int)f.name(__VA_ARGS__))) : -1)

static int print_result(const char *name, int result)
{
	printf("%s %d\n", name, result);
	return result;
}

/* ---- what is done with the functions ---- */

#define NUMBERS 64

static void use_runtime(int repeat, void *memory[2])
{
	float host[NUMBERS] = {1, 2, 3};
	cudaStream_t stream = NULL;

	if (CALL(cudaMalloc, &memory[0], sizeof host) || CALL(cudaMalloc, &memory[1], sizeof host))
		return;
	CALL(cudaStreamCreate, &stream);
	for (int i = 0; i < repeat; i++) {
		CALL(cudaMemcpy, memory[0], host, sizeof host, cudaMemcpyHostToDevice);
		CALL(cudaMemcpy, memory[1], host, sizeof host, cudaMemcpyHostToDevice);
		CALL(cudaStreamSynchronize, stream);
	}
	CALL(cudaStreamDestroy, stream);
}

static void use_libraries(int repeat, void *const memory[2])
{
	float host[NUMBERS], one = 1, two = 2;
	cudnnTensorDescriptor_t tensor;
	ncclComm_t comm;
	cudnnHandle_t cudnn;
	cublasHandle_t cublas;

	if (CALL(cudnnCreate, &cudnn) == 0 && memory[0]) {
		CALL(cudnnSetStream, cudnn, NULL);
		CALL(cudnnCreateTensorDescriptor, &tensor);
		CALL(cudnnSetTensor4dDescriptor, tensor, 0, 0, 1, 1, 8, 8);
		for (int i = 0; i < repeat; i++)
			CALL(cudnnSetTensor, cudnn, tensor, memory[0], &two);
		CALL(cudnnDestroyTensorDescriptor, tensor);
		CALL(cudnnDestroy, cudnn);
	}
	if (CALL(cublasCreate_v2, &cublas) == 0 && memory[0]) {
		CALL(cublasSetStream_v2, cublas, NULL);
		for (int i = 0; i < repeat; i++)
			CALL(cublasSaxpy_v2, cublas, NUMBERS, &one, memory[0], 1, memory[1], 1);
		CALL(cublasDestroy_v2, cublas);
	}
	if (CALL(ncclCommInitAll, &comm, 1, NULL) == 0 && memory[0]) {
		CALL(ncclGroupStart);
		CALL(ncclAllReduce, memory[0], memory[1], NUMBERS, ncclFloat32, ncclSum, comm, NULL);
		CALL(ncclGroupEnd);
		CALL(ncclCommDestroy, comm);
	}
	if (memory[1] && CALL(cudaMemcpy, host, memory[1], sizeof host, cudaMemcpyDeviceToHost) == 0)
		printf("%g %g\n", (double)host[0], (double)host[NUMBERS - 1]);
	if (memory[0])
		CALL(cudaFree, memory[0]);
	if (memory[1])
		CALL(cudaFree, memory[1]);
}

static void use_driver(int repeat)
{
	float host[NUMBERS] = {0};
	CUdeviceptr memory = 0;

	if (CALL(cuMemAlloc_v2, &memory, sizeof host))
		return;
	for (int i = 0; i < repeat; i++)
		CALL(cuMemcpyHtoD_v2, memory, host, sizeof host);
	CALL(cuCtxSynchronize);
	CALL(cuMemFree_v2, memory);
}

static void use(int repeat)
{
	void *memory[2] = {0};

	use_runtime(repeat, memory);
	use_libraries(repeat, memory);
	use_driver(repeat + 1);
}

/* ---- finding them ---- */

static const struct {
	const char *library, *file, *version; /* NULL: its functions have none */
} libraries[] = {
	{"cudart", "libcudart.so.13", "libcudart.so.13"},
	{"cudnn", "libcudnn.so.9", "libcudnn.so.9"},
	{"cublas", "libcublas.so.13", "libcublas.so.13"},
	{"cublaslt", "libcublasLt.so.13", "libcublasLt.so.13"},
	{"nccl", "libnccl.so.2", NULL},
	{"cuda", "libcuda.so.1", NULL},
};
#define LIBRARIES (sizeof libraries / sizeof libraries[0])

/* Where the whole process is searched, libc's text names the object that asks, which may be the hook. */
static void tell(const char *what, const char *name, const void *found, bool is_whole)
{
	const char *error = dlerror();

	if (error && is_whole && strstr(error, "undefined symbol"))
		error = strstr(error, "undefined symbol");
	if (!found || error)
		printf("%s %s: %s, %s\n", what, name, found ? "found" : "absent", error ? error : "no error");
}

static const char *file_of(size_t library)
{
	const char *files = getenv("PATHS_FILES"), *at;
	char word[64];
	static char file[4096];

	snprintf(word, sizeof word, "%s=", libraries[library].library);
	at = files ? strstr(files, word) : NULL;
	if (!at)
		return libraries[library].file;
	at += strlen(word);
	snprintf(file, sizeof file, "%.*s", (int)strcspn(at, " "), at);
	return file;
}

static void *look(void *handle, const char *name, const char *version)
{
	const bool is_whole = handle == RTLD_DEFAULT || handle == dlopen(NULL, RTLD_NOW);
	void *found;

	dlerror();
	found = version ? dlvsym(handle, name, version) : dlsym(handle, name);
	tell("dlsym", name, found, is_whole);
	return found;
}

static void find(const char *path)
{
	const bool is_versioned = strncmp(path, "versioned", 9) == 0;
	const int scope =
		strcmp(path, "local") == 0 || strcmp(path, "versioned") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;

	for (size_t i = 0; i < LIBRARIES; i++) {
		void *handle = dlopen(file_of(i), RTLD_NOW | scope);
		const char *version = is_versioned ? libraries[i].version : NULL;

		printf("dlopen %s: %s\n", libraries[i].library, handle ? "found" : "absent");
		if (!handle)
			continue;
		if (strcmp(path, "default") == 0 || strcmp(path, "versioned_default") == 0)
			handle = RTLD_DEFAULT;
		else if (strcmp(path, "process") == 0)
			handle = dlopen(NULL, RTLD_NOW);
#define X(library_, result, name, parameters) \
	if (strcmp(libraries[i].library, #library_) == 0) \
		*(void **)&f.name = look(handle, #name, version);
		FUNCTIONS(X)
#undef X
		/* names that only begin like ours, and a version that there is not */
		look(handle, "cudaFoo", NULL);
		look(handle, "ncclNotThere", NULL);
		look(handle, "cuXYZ", NULL);
		look(handle, "curandCreateGenerator", NULL);
		look(handle, "cublasLtMatmul", NULL);
		look(handle, "cudaMalloc", "libcudart.so.99");
	}
}

/* ---- the driver's own look-ups ---- */

typedef CUresult get_proc(const char *, void **, int, unsigned long long, CUdriverProcAddressQueryResult *);
typedef CUresult get_proc_1(const char *, void **, int, unsigned long long);
typedef cudaError_t entry_point(
	const char *, void **, unsigned long long, enum cudaDriverEntryPointQueryResult *);
typedef cudaError_t entry_point_by_version(
	const char *, void **, unsigned, unsigned long long, enum cudaDriverEntryPointQueryResult *);

static const struct {
	const char *name;
	int version;
	unsigned long long flags;
} questions[] = {
	{"cuMemAlloc", 2000, 0},
	{"cuMemAlloc", 3020, 0},
	{"cuMemAlloc", 13000, 0},
	{"cuMemAlloc", 99000, 0},
	{"cuMemcpyHtoD", 3020, 0},
	{"cuMemcpyHtoD", 7000, 2},
	{"cuMemcpyHtoD", 7000, 1},
	{"cuMemcpyHtoD", 3020, 2},
	{"cuNothing", 13000, 0},
	{"cuMem", 13000, 0},
	{"cuMemAlloc_v2", 13000, 0},
	{"cuStreamBeginCapture", 10000, 0},
	{"cuStreamBeginCapture", 10010, 2},
	{"cuGetProcAddress", 11030, 0},
	{"cuGetProcAddress", 12000, 0},
	{"cuMemAlloc", 3020, 8},
};

/* Allocates, copies with what was found, and gives back, so that the trace has these calls. */
static void use_found(void *allocate, void *copy, const char *copy_name)
{
	CUresult (*alloc)(CUdeviceptr *, size_t) = (CUresult(*)(CUdeviceptr *, size_t))allocate;
	CUresult (*to_device)(CUdeviceptr, const void *, size_t) =
		(CUresult(*)(CUdeviceptr, const void *, size_t))copy;
	CUdeviceptr memory = 0;

	if (!alloc || !to_device)
		return;
	count("cuMemAlloc_v2");
	if (print_result("cuMemAlloc", (int)alloc(&memory, 8)) != 0)
		return;
	count(copy_name);
	print_result(copy_name, (int)to_device(memory, &memory, 8));
}

static void ask_driver(bool first_version)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found[16];
	get_proc *get = handle ? (get_proc *)dlsym(handle, "cuGetProcAddress_v2") : NULL;
	get_proc_1 *get_1 = handle ? (get_proc_1 *)dlsym(handle, "cuGetProcAddress") : NULL;

	if (!get || !get_1) {
		puts("no driver");
		return;
	}
	for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
		CUdriverProcAddressQueryResult status = 77;
		CUresult result;

		found[i] = NULL;
		result = first_version ? get_1(questions[i].name, &found[i], questions[i].version,
						 questions[i].flags)
				       : get(questions[i].name, &found[i], questions[i].version,
						 questions[i].flags, &status);
		printf("%s %d %llu: %d %s %d\n", questions[i].name, questions[i].version, questions[i].flags,
			(int)result, found[i] ? "found" : "absent", (int)status);
	}
	use_found(found[1], found[4], "cuMemcpyHtoD_v2");
	use_found(found[2], found[5], "cuMemcpyHtoD_v2_ptds");
	use_found(found[2], found[6], "cuMemcpyHtoD_v2");
	printf("status is optional: %d\n",
		first_version ? 0 : (int)get("cuMemAlloc", &found[0], 3020, 0, NULL));
	/* what finds itself goes on finding */
	get = (get_proc *)found[14];
	if (get && get("cuMemAlloc", &found[1], 12000, 0, NULL) == 0 &&
		get("cuMemcpyHtoD", &found[4], 12000, 0, NULL) == 0)
		use_found(found[1], found[4], "cuMemcpyHtoD_v2");
}

static void ask_runtime(void)
{
	static const char *const names[] = {"cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz"};
	static const char *const versioned[] = {
		"cudaGetDriverEntryPointByVersion", "cudaGetDriverEntryPointByVersion_ptsz"};
	void *handle = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL), *alloc, *copy;

	if (!handle) {
		puts("no runtime");
		return;
	}
	for (int i = 0; i < 2; i++) {
		entry_point *get = (entry_point *)dlsym(handle, names[i]);
		entry_point_by_version *get_by = (entry_point_by_version *)dlsym(handle, versioned[i]);
		enum cudaDriverEntryPointQueryResult status = 77;
		const char *expected = i ? "cuMemcpyHtoD_v2_ptds" : "cuMemcpyHtoD_v2";
		int results[6];

		if (!get || !get_by) {
			printf("%s: absent\n", names[i]);
			continue;
		}
		alloc = copy = NULL;
		results[0] = (int)get("cuMemAlloc", &alloc, 0, &status);
		results[1] = (int)get("cuMemcpyHtoD", &copy, 0, &status);
		printf("%s: %d %d %d %d\n", names[i], results[0], results[1], (int)status, alloc && copy);
		use_found(alloc, copy, expected);
		results[2] = (int)get("cuMemcpyHtoD", &copy, 1, &status);
		use_found(alloc, copy, "cuMemcpyHtoD_v2");
		results[3] = (int)get_by("cuMemAlloc", &alloc, 3020, 0, &status);
		results[4] = (int)get_by("cuMemcpyHtoD", &copy, 12000, 2, &status);
		printf("%s: %d %d %d %d %d\n", versioned[i], results[2], results[3], results[4], (int)status,
			alloc && copy);
		use_found(alloc, copy, "cuMemcpyHtoD_v2_ptds");
		status = 77;
		results[5] = (int)get("cuNothing", &copy, 0, &status);
		printf("%s: %d %d\n", names[i], results[5], (int)status);
	}
}

/* ---- no CUDA at all ---- */

static void ask_absent(void)
{
	static const char *const names[] = {"cudaMalloc", "cuInit", "cuMemAlloc_v2", "cudnnCreate",
		"ncclAllReduce", "cublasSaxpy_v2", "cuGetProcAddress_v2", "__cudaRegisterFunction", "cudaFoo",
		"cuptiSubscribe", "printf", "dlsym", "open"};
	void *self = dlopen(NULL, RTLD_NOW);

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		printf("%s: %d %d\n", names[i], look(RTLD_DEFAULT, names[i], NULL) != NULL,
			look(self, names[i], NULL) != NULL);
		look(RTLD_DEFAULT, names[i], "libcudart.so.13");
	}
	printf("no library: %d\n", dlopen("libcudart.so.99", RTLD_NOW) != NULL);
	tell("dlopen", "libcudart.so.99", NULL, false);
	printf("no error is left: %d\n", dlerror() == NULL);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";
	const int repeat = argc > 2 ? atoi(argv[2]) : 3;

	if (strcmp(path, "absent") == 0) {
		ask_absent();
	} else if (strncmp(path, "driver", 6) == 0) {
		find("local"); /* a context */
		memset(called, 0, sizeof called);
		void *memory = NULL;
		CALL(cudaMalloc, &memory, 64);
		ask_driver(strcmp(path, "driver_1") == 0);
	} else if (strcmp(path, "entry") == 0) {
		find("local");
		void *memory = NULL;
		CALL(cudaMalloc, &memory, 64);
		ask_runtime();
	} else if (strcmp(path, "linked") == 0) {
#ifdef LINKED
#define X(library, result, name, parameters) f.name = &name;
		FUNCTIONS(X)
#undef X
#endif
		use(repeat);
	} else {
		find(path);
		use(repeat);
		/* and again, having closed them */
		if (strcmp(path, "local") == 0) {
			for (size_t i = 0; i < LIBRARIES; i++) {
				void *handle = dlopen(file_of(i), RTLD_NOW | RTLD_NOLOAD);

				for (int k = 0; handle && k < 2; k++)
					dlclose(handle);
			}
			find(path);
			use(repeat);
		}
	}
	print_counts();
	return 0;
}
