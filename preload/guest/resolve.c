/*
 * The rows of pm_hooks.def as a table, and the functions behind the wrappers.
 *
 * RTLD_NEXT does not see a library that was loaded late with RTLD_LOCAL, as Python loads extensions; such a
 * one is found by its file's name among all that are loaded. Not by dlopen with RTLD_NOLOAD and a SONAME: for
 * what is not loaded it reads the loader's cache, by a descriptor of the process that the host may close.
 */
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>

#include "guest.h"
#include "libc_dlsym.h"
#include "plain.h"
#include "thread.h"

/* The labels of each row, by number of the call. */
#define PM_LABEL(value, label, expression) {PM_VALUE_##value, #label},
#define PM_LABEL_PAIR(value, label) {PM_VALUE_##value, #label},
#define PM_LABEL_PAIR_NONE
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	static const struct pmh_label labels_##name[] = {{0, ""}, PM_TRIPLES(PM_LABEL, PM_OPEN values)};
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) \
	PM_DECODED(libc, kind, name, (STRING, file, BYTES, bytes))
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) \
	PM_DECODED(library, kind, name, values)
#define PM_WATCH(library, result, name, pairs, after, ...) PM_DECODED(library, SETUP, name, (NONE))
#define PM_DECODED(library, kind, name, values, ...) \
	static const struct pmh_label labels_##name[] = { \
		{0, ""}, PM_PAIRS(PM_LABEL_PAIR, PM_NOTHING, PM_OPEN values)};
#include "pm_hooks.def"

const struct pmh_row pmh_rows[PM_CALL_COUNT] = {
#define PM_ROW(library_, kind_, name_, ...) \
	[PM_CALL_##name_] = {.name = #name_, \
		.library = #library_, \
		.kind = PM_KIND_##kind_, \
		.label_count = sizeof labels_##name_ / sizeof labels_##name_[0], \
		PM_PAIRS(PM_COLUMN, PM_NOTHING, __VA_ARGS__)},
#define PM_COLUMN(column, value) PM_COLUMN_##column(value)
#define PM_COLUMN_NONE
#define PM_COLUMN_ROLE(role_) .role = PM_ROLE_##role_,
#define PM_COLUMN_TOUCHES(arguments)
#define PM_COLUMN_TABLE(arguments)
#define PM_COLUMN_FREES(address)
#define PM_COLUMN_SINCE(version) .since = version,
#define PM_COLUMN_CALLBACK(numbers) .callbacks = {PM_OPEN numbers, 0},
#define PM_COLUMN_CHANGED(major) .changed = major,
#define PM_COLUMN_ACCESS(accesses) .access = PM_ACCESSES accesses,
#define PM_COLUMN_SHAPE(label) .shape = #label,
#define PM_COLUMN_TWIN(name_) .twin = PM_CALL_##name_,
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	PM_ROW(library, kind, name, __VA_ARGS__)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) PM_ROW(libc, kind, name, __VA_ARGS__)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) \
	PM_ROW(library, kind, name, __VA_ARGS__)
#define PM_DECODED(library, kind, name, values, ...) PM_ROW(library, kind, name, __VA_ARGS__)
#define PM_WATCH(library, result, name, pairs, after, ...) PM_ROW(library, SETUP, name, __VA_ARGS__)
#include "pm_hooks.def"
};

const struct pmh_label *const pmh_labels[PM_CALL_COUNT] = {
#define PM_LABELS(name) [PM_CALL_##name] = labels_##name,
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) PM_LABELS(name)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) PM_LABELS(name)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) PM_LABELS(name)
#define PM_DECODED(library, kind, name, values, ...) PM_LABELS(name)
#define PM_WATCH(library, result, name, pairs, after, ...) PM_LABELS(name)
#include "pm_hooks.def"
};

/* The names of files by which a library may already be in the process, newest first, and how such a name
 * begins. */
static const struct {
	const char *library, *stem, *files[4];
} libraries[] = {
	{"cudart", "libcudart", {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}},
	{"cuda", "libcuda", {"libcuda.so.1"}},
	{"cudnn", "libcudnn", {"libcudnn.so.9", "libcudnn.so.8"}},
	{"cublas", "libcublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}},
	{"cublaslt", "libcublasLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}},
	{"nccl", "libnccl", {"libnccl.so.2"}},
	{"cupti", "libcupti", {"libcupti.so.13", "libcupti.so.12"}},
};

/* libcudart.so.13, or libcudart-0123abcd.so.12 as Python packages rename it; not libcudart_extra.so. */
static bool begins_with(const char *file, const char *stem)
{
	const char *rest;

	return plain_begins(file, stem, &rest) && (*rest == '.' || *rest == '-');
}

bool pmh_is_library(const char *library, const char *file)
{
	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
		if (plain_equal(libraries[i].library, library))
			return begins_with(file, libraries[i].stem);
	return false;
}

bool pmh_is_vendors(const char *file)
{
	/* beside those of the table: cuDNN's parts, and libraries on top of the runtime */
	static const char *const parts[] = {"libcudnn_", "libnvinfer", "libnvperf_", "libnvshmem_"};
	static const char *const others[] = {"libcufft", "libcurand", "libcusolver", "libcusparse",
		"libcusparseLt", "libnvrtc", "libnvJitLink", "libcufile", "libcheckpoint",
		"libpcsamplingutil"};

	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
		if (begins_with(file, libraries[i].stem))
			return true;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (begins_with(file, others[i]))
			return true;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (plain_begins(file, parts[i], NULL))
			return true;
	return false;
}

/* The linker's names for where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

bool pmh_is_ours(const void *address)
{
	return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

bool pmh_keep(const void *function)
{
	Dl_info info;
	void *handle;

	if (!dladdr(function, &info) || !info.dli_fname)
		return false;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
	return handle != NULL;
}

/* The path under which a library is loaded whose file has this name, or begins with this stem. */
struct search {
	const char *file, *stem; /* one of them */
	char path[PATH_MAX];
};

static int match(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *file = plain_base(info->dlpi_name);
	struct search *s = data;
	size_t n = 0;

	(void)size;
	if (s->file ? !plain_equal(file, s->file) : !begins_with(file, s->stem))
		return 0;
	while (n + 1 < sizeof s->path && (s->path[n] = info->dlpi_name[n]))
		n++;
	s->path[n] = 0;
	return 1;
}

static void *look_up_in(const char *file, const char *stem, const char *name)
{
	struct search s;
	void *handle, *f;

	s.file = file;
	s.stem = stem;
	handle = dl_iterate_phdr(match, &s) ? dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if (!handle)
		return NULL;
	f = pmh_libc_dlsym(handle, name);
	dlclose(handle);
	return f;
}

static void *look_up(const char *library, const char *name)
{
	/* not dlsym: of another library's, RTLD_NEXT could mean us */
	void *f = pmh_libc_dlsym(RTLD_NEXT, name);

	for (size_t i = 0; !f && i < sizeof libraries / sizeof libraries[0]; i++) {
		if (!plain_equal(libraries[i].library, library))
			continue;
		for (const char *const *file = libraries[i].files; !f && *file; file++)
			f = look_up_in(*file, NULL, name);
		if (!f)
			f = look_up_in(NULL, libraries[i].stem, name);
	}
	return f;
}

_Atomic(void *) pmh_functions[PM_CALL_COUNT];

struct real {
	enum pm_call call;
	void *f;
};

static void find_real(void *data)
{
	struct real *real = data;

	real->f = look_up(pmh_rows[real->call].library, pmh_rows[real->call].name);
	/* what a wrapper calls must stay where it is, though the host may close its library */
	if (real->f && !plain_equal(pmh_rows[real->call].library, "libc"))
		pmh_keep(real->f);
	if (real->f)
		atomic_store_explicit(&pmh_functions[real->call], real->f, memory_order_release);
}

void *pmh_find_real(enum pm_call call)
{
	const int saved_errno = errno;
	struct pmh_thread *const self = pmh_local.thread;
	struct real real = {call, NULL};

	/* what is called meanwhile is let through */
	if (self)
		self->depth++;
	else
		pmh_local.seeking++;
	/* libc's are sought at load, or before by those who are loaded earlier still: on a stack that has
	 * room */
	if (plain_equal(pmh_rows[call].library, "libc"))
		find_real(&real);
	else
		pmh_run_on_own_stack(find_real, &real);
	if (self)
		self->depth--;
	else
		pmh_local.seeking--;
	errno = saved_errno;
	return real.f;
}

/*
 * libc's, at load: to look up takes the loader's lock, and file input is called by those who hold locks of
 * their own that a library's constructor may be waiting for; our unwinder is one.
 */
__attribute__((constructor(102))) static void find_libc(void)
{
	static const uint16_t calls[] = {
#define PM_HOOK(...)
#define PM_WATCH(...)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) PM_CALL_##name,
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) PM_OF_##library(PM_CALL_##name)
#define PM_OF_libc(call) call,
#define PM_OF_cudart(call)
#define PM_OF_cudnn(call)
#define PM_OF_cublas(call)
#define PM_OF_cublaslt(call)
#define PM_OF_cuda(call)
#define PM_OF_nccl(call)
#define PM_OF_cupti(call)
#include "pm_hooks.def"
	};

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		find_real(&(struct real){(enum pm_call)calls[i], NULL});
}

void *pmh_real_cudart(const char *name)
{
	return look_up("cudart", name);
}

void *pmh_real_driver(const char *name)
{
	return look_up("cuda", name);
}

void *pmh_real_nccl(const char *name)
{
	return look_up("nccl", name);
}
