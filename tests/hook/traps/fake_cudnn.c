/*
 * cuDNN 9 in small: libcudnn.so.9 only passes calls on to parts that it opens, which export the same names
 * (PART: such a part). It allocates by a function that it looks up, and, asked by cudnnWork, outside any
 * call.
 */
#include <dlfcn.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cudnnCreate(void **handle);
EXPORTED int cudnnDestroy(void *handle);
EXPORTED int cudnnSetStream(void *handle, void *stream);
EXPORTED int cudnnWork(void);
int cudaMalloc(void **memory, size_t size);

#ifdef PART
int cudnnCreate(void **handle)
{
	void *memory;

	*handle = handle;
	printf("the part creates\n");
	return cudaMalloc(&memory, 8);
}

int cudnnSetStream(void *handle, void *stream)
{
	(void)handle, (void)stream;
	printf("the part sets\n");
	return 0;
}
#else
static void *part(const char *name)
{
	void *library = dlopen("libcudnn_cnn.so.9", RTLD_NOW), *f = library ? dlsym(library, name) : NULL;

	printf("%s: %s\n", name, f ? "found" : dlerror());
	return f;
}

int cudnnCreate(void **handle)
{
	int (*f)(void **) = (int (*)(void **))part("cudnnCreate");

	return f ? f(handle) : 1;
}

int cudnnSetStream(void *handle, void *stream)
{
	int (*f)(void *, void *) = (int (*)(void *, void *))part("cudnnSetStream");

	return f ? f(handle, stream) : 1;
}

int cudnnWork(void)
{
	void *library = dlopen("libcudart.so.13", RTLD_NOW), *memory;
	int (*f)(void **, size_t) = library ? (int (*)(void **, size_t))dlsym(library, "cudaMalloc") : NULL;

	return f ? f(&memory, 8) : 1;
}
#endif
