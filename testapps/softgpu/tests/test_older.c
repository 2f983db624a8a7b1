/*
 * The libraries of CUDA 12: a function of theirs is that of CUDA 13, also where something intercepts the
 * latter under its name; the runtime's version, a device's properties and a capture are as CUDA 12 has them.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_common.h"

/* What a hook would be: it stands before the library and comes back for the real function. */
__attribute__((visibility("default"))) int cudaGetDevice(int *device);
static int intercepted;
int cudaGetDevice(int *device)
{
	intercepted++;
	*device = -1;
	return 1;
}

static void *function(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found == NULL) {
		printf("not ok: no %s\n", name);
		exit(1);
	}
	return found;
}

static void test_runtime(void *runtime)
{
	int (*get_version)(int *), (*get_driver)(int *), (*get_device)(int *), (*set_device)(int);
	int (*get_attribute)(int *, int, int), (*get_properties)(void *, int);
	int version = 0, device = -1, value;
	char properties[1032 + 64];
	size_t memory;

	*(void **)&get_version = function(runtime, "cudaRuntimeGetVersion");
	*(void **)&get_driver = function(runtime, "cudaDriverGetVersion");
	*(void **)&get_device = function(runtime, "cudaGetDevice");
	*(void **)&set_device = function(runtime, "cudaSetDevice");
	*(void **)&get_attribute = function(runtime, "cudaDeviceGetAttribute");
	*(void **)&get_properties = function(runtime, "cudaGetDeviceProperties_v2");
	CHECK(get_version(&version) == 0 && version / 1000 == 12);
	CHECK(get_driver(&version) == 0 && version / 1000 == 13);
	CHECK(set_device(1) == 0 && get_device(&device) == 0 && device == 1 && intercepted == 0);

	memset(properties, 'x', sizeof(properties));
	CHECK(get_properties(properties, 1) == 0);
	CHECK(strcmp(properties, "NVIDIA A100-SXM4-40GB") == 0);
	memcpy(&memory, properties + 288, sizeof(memory));
	CHECK(memory == (size_t)40 << 30);
	memcpy(&value, properties + 308, sizeof(value)); /* threads in a warp */
	CHECK(value == 32);
	memcpy(&value, properties + 360, sizeof(value)); /* compute capability */
	CHECK(value == 8);
	memcpy(&value, properties + 388, sizeof(value)); /* multiprocessors */
	CHECK(value == 108);
	memcpy(&value, properties + 624, sizeof(value)); /* threads in a multiprocessor */
	CHECK(get_attribute(&version, 39, 1) == 0 && value == version);
	CHECK(properties[1031] == 0 && properties[1032] == 'x');
	CHECK(get_properties(properties, 99) != 0 && get_properties(NULL, 0) != 0);
	CHECK(dlsym(runtime, "cudaGetDeviceProperties") == NULL ||
		dlvsym(runtime, "cudaGetDeviceProperties", "libcudart.so.12") == NULL);
}

/* CUDA 13's struct is longer by 64 bytes. */
static void test_pointer(void *runtime)
{
	int (*allocate)(void **, size_t), (*release)(void *), (*get_attributes)(void *, const void *);
	int (*allocate_managed)(void **, size_t, unsigned), (*prefetch)(const void *, size_t, int, void *);
	int (*advise)(const void *, size_t, int, int);
	struct {
		int type, device;
		void *on_device, *on_host;
		char behind[64];
	} attributes;
	void *memory = NULL;

	*(void **)&allocate = function(runtime, "cudaMalloc");
	*(void **)&release = function(runtime, "cudaFree");
	*(void **)&get_attributes = function(runtime, "cudaPointerGetAttributes");
	CHECK(allocate(&memory, 256) == 0);
	memset(&attributes, 'x', sizeof(attributes));
	CHECK(get_attributes(&attributes, memory) == 0);
	CHECK(attributes.type == 2 && attributes.device == 1 && attributes.on_device == memory);
	CHECK(attributes.on_host == NULL && attributes.behind[0] == 'x' && attributes.behind[63] == 'x');
	CHECK(release(memory) == 0);
	CHECK(get_attributes(&attributes, &memory) == 0 && attributes.type == 0 &&
		attributes.behind[0] == 'x');
	CHECK(get_attributes(NULL, memory) != 0);

	*(void **)&allocate_managed = function(runtime, "cudaMallocManaged");
	*(void **)&prefetch = function(runtime, "cudaMemPrefetchAsync");
	*(void **)&advise = function(runtime, "cudaMemAdvise");
	CHECK(allocate_managed(&memory, 256, 1) == 0);
	CHECK(prefetch(memory, 256, 0, NULL) == 0 && prefetch(memory, 256, -1, NULL) == 0 &&
		prefetch(memory, 256, 99, NULL) != 0);
	CHECK(advise(memory, 256, 1, 0) == 0 && advise(memory, 256, 1, 99) != 0);
	CHECK(release(memory) == 0);
}

static void test_capture(void *runtime)
{
	int (*create)(void **), (*begin)(void *, int), (*end)(void *, void **);
	int (*info)(void *, int *, unsigned long long *, void **, const void **, size_t *);
	void *stream, *graph = NULL, *capturing = NULL;
	unsigned long long id = 0;
	size_t count = 7;
	int status = -1;

	*(void **)&create = function(runtime, "cudaStreamCreate");
	*(void **)&begin = function(runtime, "cudaStreamBeginCapture");
	*(void **)&end = function(runtime, "cudaStreamEndCapture");
	*(void **)&info = function(runtime, "cudaStreamGetCaptureInfo_v2");
	CHECK(create(&stream) == 0 && begin(stream, 0) == 0);
	CHECK(info(stream, &status, &id, &capturing, NULL, &count) == 0);
	CHECK(status == 1 && id != 0 && capturing != NULL && count == 0);
	CHECK(end(stream, &graph) == 0 && graph != NULL);
	CHECK(info(stream, &status, NULL, NULL, NULL, NULL) == 0 && status == 0);
}

/* Edges with their data and without. */
static void test_graph(void *runtime)
{
	int (*create)(void **, unsigned), (*empty)(void **, void *, void **, size_t), (*destroy)(void *);
	int (*depend)(void *, void **, void **, size_t), (*edges)(void *, void **, void **, size_t *);
	int (*edges_with)(void *, void **, void **, void *, size_t *),
		(*add)(void **, void *, void **, size_t, void *);
	void *graph = NULL, *first, *second, *from[4], *to[4];
	long long params[32] = {5}; /* an empty node */
	char data[4][8];
	size_t count = 4;

	*(void **)&create = function(runtime, "cudaGraphCreate");
	*(void **)&destroy = function(runtime, "cudaGraphDestroy");
	*(void **)&empty = function(runtime, "cudaGraphAddEmptyNode");
	*(void **)&depend = function(runtime, "cudaGraphAddDependencies");
	*(void **)&edges = function(runtime, "cudaGraphGetEdges");
	*(void **)&edges_with = function(runtime, "cudaGraphGetEdges_v2");
	*(void **)&add = function(runtime, "cudaGraphAddNode");
	CHECK(create(&graph, 0) == 0 && empty(&first, graph, NULL, 0) == 0 &&
		empty(&second, graph, NULL, 0) == 0);
	CHECK(depend(graph, &second, &first, 1) == 0);
	CHECK(edges(graph, from, to, &count) == 0 && count == 1 && from[0] == second && to[0] == first);
	CHECK(add(to, graph, &first, 1, params) == 0 && to[0] != NULL);
	count = 4;
	CHECK(edges_with(graph, from, to, data, &count) == 0 && count == 2 && data[1][0] == 0);
	CHECK(destroy(graph) == 0);
}

/* Handles of the others. */
static void test_others(void)
{
	static const struct {
		const char *library, *create, *destroy;
	} others[] = {{"libcublas.so.12", "cublasCreate_v2", "cublasDestroy_v2"},
		{"libcublasLt.so.12", "cublasLtCreate", "cublasLtDestroy"}};
	int (*create)(void **), (*destroy)(void *), (*push)(const char *);
	void *handle;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		void *library = dlopen(others[i].library, RTLD_NOW);

		CHECK(library != NULL);
		*(void **)&create = function(library, others[i].create);
		*(void **)&destroy = function(library, others[i].destroy);
		handle = NULL;
		CHECK(create(&handle) == 0 && handle != NULL);
		CHECK(destroy(handle) == 0);
	}
	CHECK(dlopen("libcufft.so.11", RTLD_NOW) != NULL && dlopen("libcusolver.so.11", RTLD_NOW) != NULL);
	*(void **)&push = function(dlopen("libnvToolsExt.so.1", RTLD_NOW), "nvtxRangePushA");
	CHECK(push("range") < 0);
	CHECK(dlopen("libnvrtc.so.12", RTLD_NOW) != NULL && dlopen("libcurand.so.10", RTLD_NOW) != NULL);
}

int main(void)
{
	void *runtime = dlopen("libcudart.so.12", RTLD_NOW | RTLD_GLOBAL);

	if (runtime == NULL) {
		printf("not ok: %s\n", dlerror());
		return 1;
	}
	test_runtime(runtime);
	test_pointer(runtime);
	test_capture(runtime);
	test_graph(runtime);
	test_others();
	return 0;
}
