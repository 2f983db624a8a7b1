/* Looks things up in its constructor, which runs before the hook's, and calls one of them. */
#include <dlfcn.h>
#include <stdio.h>

__attribute__((constructor)) static void look(void)
{
	int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(RTLD_DEFAULT, "cudaMalloc");
	void *handle = dlopen("libcudart.so.13", RTLD_NOW), *memory = NULL;

	printf("%d %d %d\n", allocate != NULL, dlsym(RTLD_DEFAULT, "cudaFoo") != NULL,
		handle && dlsym(handle, "cudaFree"));
	if (allocate)
		printf("%d\ncall cudaMalloc 1\n", allocate(&memory, 8));
}
