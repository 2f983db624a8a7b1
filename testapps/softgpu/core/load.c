/*
 * Loading the libraries that compute, oneDNN and OpenBLAS, when they are needed.
 *
 * The one idea: the vendor's error codes cannot say which library is missing, so this does, once.
 */
#include "sg.h"

#include <dlfcn.h>
#include <stdio.h>

void *sg_library_open(const char *name, const char *path)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	if (library == NULL)
		library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library == NULL)
		fprintf(stderr, "softgpu: %s: %s; computing with this library is unavailable\n", name,
			dlerror());
	return library;
}

int sg_library_find(void *library, const char *name, void *call)
{
	*(void **)call = dlsym(library, name);
	if (*(void **)call == NULL)
		fprintf(stderr, "softgpu: %s; computing with this library is unavailable\n", dlerror());
	return *(void **)call != NULL ? 0 : -1;
}
