/*
 * Names of kernels as people read them: by the C++ library of the process, or of the system.
 *
 * The one idea: softgpu is C and does not need that library; programs whose kernels have mangled names have
 * it loaded, and profilers' files have its spelling.
 */
#include "model.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 1024 /* names kept; those beyond are not spelled out */

typedef char *demangle(const char *name, char *buffer, size_t *size_bytes, int *status);

static struct {
	_Atomic(const char *) name;
	_Atomic(const char *) readable; /* the name itself: it has no other */
} slots[SLOTS];

static demangle *find(void)
{
	/* POSIX has dlsym return functions as void pointers; C has no cast for that. */
	union {
		void *object;
		demangle *function;
	} found = {dlsym(RTLD_DEFAULT, "__cxa_demangle")};
	void *library;

	if (found.object == NULL) {
		library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		found.object = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
	}
	return found.function;
}

static const char *spell(const char *name)
{
	static demangle *function;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int is_found;
	const char *readable;
	int status = -1;

	pthread_mutex_lock(&lock);
	if (!is_found)
		function = find();
	is_found = 1;
	pthread_mutex_unlock(&lock);
	readable = function != NULL ? function(name, NULL, NULL, &status) : NULL;
	return readable != NULL && status == 0 ? readable : name;
}

const char *sg_readable_name(const char *name)
{
	size_t at = ((uintptr_t)name >> 4) % SLOTS;

	if (strncmp(name, "_Z", 2) != 0)
		return name;
	for (size_t tried = 0; tried < SLOTS; tried++, at = (at + 1) % SLOTS) {
		const char *taken = atomic_load(&slots[at].name), *readable;

		if (taken == NULL && atomic_compare_exchange_strong(&slots[at].name, &taken, name))
			taken = name;
		if (taken != name)
			continue;
		readable = atomic_load(&slots[at].readable);
		if (readable == NULL) {
			readable = spell(name);
			atomic_store(&slots[at].readable, readable);
		}
		return readable;
	}
	return name;
}
