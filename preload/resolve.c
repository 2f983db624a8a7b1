/*
 * The rows of pm_hooks.def as a table, and the functions behind the wrappers.
 *
 * RTLD_NEXT does not see a library that was loaded late with RTLD_LOCAL, as Python loads extensions; for
 * those the library is asked by its SONAME, without loading it.
 */
#include "hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The labels of each row, by number of the call. */
#define PM_LABEL(value, label, expression) {PM_VALUE_##value, #label},
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after) \
	static const struct pmh_label labels_##name[] = {{0, ""}, PM_TRIPLES(PM_LABEL, PM_OPEN values)};
#define PM_READ(kind, result, name, pairs, fd, bytes) PM_HAND(libc, kind, result, name, pairs)
#define PM_HAND(library, kind, result, name, pairs) \
	static const struct pmh_label labels_##name[] = { \
		{0, ""}, {PM_VALUE_STRING, "file"}, {PM_VALUE_BYTES, "bytes"}};
#include "pm_hooks.def"

const struct pmh_row pmh_rows[PM_CALL_COUNT] = {
#define PM_ROW(library, kind, name) \
	[PM_CALL_##name] = {#name, #library, PM_KIND_##kind, sizeof labels_##name / sizeof labels_##name[0], \
		labels_##name},
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after) PM_ROW(library, kind, name)
#define PM_READ(kind, result, name, pairs, fd, bytes) PM_ROW(libc, kind, name)
#define PM_HAND(library, kind, result, name, pairs) PM_ROW(library, kind, name)
#include "pm_hooks.def"
};

/* The names under which a library may already be in the process, newest first. */
static const struct {
	const char *library, *sonames[4];
} libraries[] = {
	{"cudart", {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}},
	{"cudnn", {"libcudnn.so.9", "libcudnn.so.8"}},
	{"cublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}},
	{"nccl", {"libnccl.so.2"}},
};

static void *look_up(const char *library, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	for (size_t i = 0; !f && i < sizeof libraries / sizeof libraries[0]; i++) {
		if (strcmp(libraries[i].library, library) != 0)
			continue;
		for (const char *const *soname = libraries[i].sonames; !f && *soname; soname++) {
			void *handle = dlopen(*soname, RTLD_LAZY | RTLD_NOLOAD);

			if (!handle)
				continue;
			f = dlsym(handle, name);
			dlclose(handle);
		}
	}
	return f;
}

_Atomic(void *) pmh_functions[PM_CALL_COUNT];

void *pmh_find_real(enum pm_call call)
{
	const int saved_errno = errno;
	void *f;

	pmh_self.depth++;
	f = look_up(pmh_rows[call].library, pmh_rows[call].name);
	pmh_self.depth--;
	atomic_store_explicit(&pmh_functions[call], f, memory_order_relaxed);
	errno = saved_errno;
	return f;
}

void *pmh_real_cudart(const char *name)
{
	return look_up("cudart", name);
}

void *pmh_real_nccl(const char *name)
{
	return look_up("nccl", name);
}
