/*
 * Functions that a library asks of softgpu's and that these do not have, whatever the version of the program:
 * before the program loads it they are made (made.h), so that it loads, and says at the first call what is
 * missing.
 *
 * The one idea: to look first and then let the loader go, with the program's own call. dlopen finds its
 * caller by the address that it returns to, and searches along that library's run path; called from here it
 * would search along ours.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "made.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define MOST_LINKED 32     /* libraries of softgpu's that one is linked to */
#define MOST_LOOKED_AT 512 /* files for one call of dlopen */
#define MOST_SEEN 4096     /* a power of two */

void *dlopen(const char *file, int mode) __attribute__((visibility("default")));
/* Called by dlopen: makes what the file will miss, and returns the real dlopen. `caller`: an address in the
 * program. */
HIDDEN __attribute__((used)) void *sg_before_dlopen(const char *file, const void *caller);

#if defined(__x86_64__)
__asm__(".text\n.globl dlopen\n.type dlopen, %function\n.balign 16\n"
	"dlopen:\n"
	".cfi_startproc\n"
	"push %rdi\n.cfi_adjust_cfa_offset 8\n"
	"push %rsi\n.cfi_adjust_cfa_offset 8\n"
	"sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"mov 24(%rsp), %rsi\n"
	"call sg_before_dlopen\n"
	"add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
	"pop %rsi\n.cfi_adjust_cfa_offset -8\n"
	"pop %rdi\n.cfi_adjust_cfa_offset -8\n"
	"jmp *%rax\n"
	".cfi_endproc\n"
	".size dlopen, .-dlopen\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl dlopen\n.type dlopen, %function\n.balign 16\n"
	"dlopen:\n"
	".cfi_startproc\n"
	"stp x29, x30, [sp, #-32]!\n.cfi_def_cfa_offset 32\n.cfi_offset x29, -32\n.cfi_offset x30, -24\n"
	"stp x0, x1, [sp, #16]\n"
	"mov x1, x30\n"
	"bl sg_before_dlopen\n"
	"mov x16, x0\n"
	"ldp x0, x1, [sp, #16]\n"
	"ldp x29, x30, [sp], #32\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
	"br x16\n"
	".cfi_endproc\n"
	".size dlopen, .-dlopen\n");
#endif

/* What each of softgpu's libraries answers for "not supported". */
static const struct {
	const char *name; /* the functions' names begin so, but for those of OTHERS */
	intptr_t status;
} statuses[] = {
#define SG_STATUS(name, status) {#name, status},
#include SG_STATUSES
};

/* A library whose functions' names begin otherwise than its own. */
static const struct {
	const char *library, *beginning;
} others[] = {{"cudart", "cuda"}, {"cuda", "cu"}, {"nvidia-ml", "nvml"}, {"cufile", "cuFile"},
	{"nvshmem_host", "nvshmem"}};

static void *(*real_dlopen)(const char *, int);
/* a profiler that stands before dlsym takes note of what a program looks up */
static void *(*real_dlsym)(void *, const char *);
static void *(*real_dlvsym)(void *, const char *, const char *);
static char folder[PATH_MAX]; /* softgpu's libraries; "": nothing is made */

/* The row of statuses for the library of that file name, if softgpu has one; or -1. */
static int library_of(const char *file)
{
	char path[PATH_MAX];
	const int length = snprintf(path, sizeof(path), "%s/%s", folder, file);

	if (strncmp(file, "lib", 3) != 0 || strchr(file, '/') != NULL || length < 0 ||
		(size_t)length >= sizeof(path) || access(path, F_OK) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		const size_t n = strlen(statuses[i].name);

		if (strncmp(file + 3, statuses[i].name, n) == 0 && strncmp(file + 3 + n, ".so", 3) == 0)
			return (int)i;
	}
	return -1;
}

static int begins(const char *name, int library)
{
	const char *beginning = statuses[library].name;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(others[i].library, beginning) == 0)
			beginning = others[i].beginning;
	if (strncmp(name, beginning, strlen(beginning)) != 0)
		return 0;
	/* cuInit is the driver's, cudaMalloc and cublasCreate are not */
	return strcmp(beginning, "cu") != 0 || (name[2] >= 'A' && name[2] <= 'Z');
}

static intptr_t answer(const char *name, int library)
{
	static const char *const texts[] = {"ErrorString", "ErrorName", "StatusString", "StatusName"};

	/* callers print what they get; the driver's answer a status all the same */
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strstr(name, texts[i]) != NULL && strcmp(statuses[library].name, "cuda") != 0)
			return (intptr_t) "not supported by softgpu";
	return statuses[library].status;
}

/* The library of softgpu's that is to have a symbol of the file's, which is linked to those in `linked`; or
 * -1. */
static int owner_of(const struct sg_elf *elf, size_t symbol, const char *name, const int *linked,
	size_t count, const char **version)
{
	const char *from = NULL;

	*version = sg_elf_version(elf, symbol, &from);
	for (size_t i = 0; *version == NULL && i < count; i++)
		if (begins(name, linked[i]))
			return linked[i];
	return *version != NULL ? library_of(from) : -1;
}

/* Makes what this file asks of softgpu's libraries and does not find. */
static void make_missing(const struct sg_elf *elf)
{
	struct sg_made *missing = NULL;
	size_t count = 0, linked_count = 0, at = 0;
	int linked[MOST_LINKED];
	const char *needed;

	while (linked_count < MOST_LINKED && (needed = sg_elf_next(elf, DT_NEEDED, &at)) != NULL) {
		linked[linked_count] = library_of(needed);
		linked_count += linked[linked_count] >= 0;
	}
	for (size_t i = 1; linked_count > 0 && i < elf->symbol_count; i++) {
		const ElfW(Sym) *symbol = &elf->symbols[i];
		const char *name = sg_elf_string(elf, symbol->st_name), *version;
		int library;

		if (symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL ||
			name == NULL)
			continue;
		library = owner_of(elf, i, name, linked, linked_count, &version);
		if (library < 0 || (version != NULL ? real_dlvsym(RTLD_DEFAULT, name, version)
						    : real_dlsym(RTLD_DEFAULT, name)) != NULL)
			continue;
		if ((count & (count - 1)) == 0) {
			struct sg_made *more = realloc(missing, (count > 0 ? 2 * count : 1) * sizeof(*more));

			if (more == NULL)
				break;
			missing = more;
		}
		missing[count++] = (struct sg_made){name, answer(name, library)};
	}
	if (count > 0)
		sg_make(missing, count, real_dlopen);
	free(missing);
}

/* 1 the first time in this process for that file; without a lock, which a fork might leave locked. */
static int is_new(const struct sg_elf *elf)
{
	static _Atomic uint64_t seen[MOST_SEEN];
	const uint64_t key = ((uint64_t)elf->device << 48 ^ (uint64_t)elf->inode) | 1ull << 63;
	const uint64_t first = key * 0x9e3779b97f4a7c15ull >> 40;

	for (unsigned i = 0; i < 16; i++) {
		uint64_t was = 0;

		if (atomic_compare_exchange_strong(&seen[(first + i) & (MOST_SEEN - 1)], &was, key))
			return 1;
		if (was == key)
			return 0;
	}
	return 1;
}

/* One call of dlopen: the files that were looked at. */
struct look {
	size_t count;
	struct {
		dev_t device;
		ino_t inode;
	} files[MOST_LOOKED_AT];
};

/* A file that is looked at, and who asks for it. */
struct asking {
	const struct asking *by;
	const char *origin; /* the folder of the file */
	const char *rpath, *runpath;
};

static void look_at(struct look *look, const char *path, const struct asking *by);

/* Looks at the library of that name in the first folder of a run path that has it; 1: there was one. */
static int look_along(struct look *look, const char *run_path, const char *origin, const char *name,
	const struct asking *by)
{
	while (run_path != NULL && *run_path != 0) {
		const size_t length = strcspn(run_path, ":");
		const size_t skip = strncmp(run_path, "$ORIGIN", 7) == 0     ? 7
				    : strncmp(run_path, "${ORIGIN}", 9) == 0 ? 9
									     : 0;
		char *path;
		int found;

		if (asprintf(&path, "%s%.*s/%s", skip > 0 ? origin : "", (int)(length - skip),
			    run_path + skip, name) < 0)
			return 0;
		found = length > 0 && access(path, R_OK) == 0;
		if (found)
			look_at(look, path, by);
		free(path);
		if (found)
			return 1;
		run_path += length + (run_path[length] == ':');
	}
	return 0;
}

/* Looks for a name without a path as the loader does, but for the system's folders and its cache of them. */
static void look_for(struct look *look, const char *name, const struct asking *by)
{
	for (const struct asking *a = by->runpath == NULL ? by : NULL; a != NULL; a = a->by)
		if (look_along(look, a->rpath, a->origin, name, by))
			return;
	if (!look_along(look, getenv("LD_LIBRARY_PATH"), "", name, by))
		look_along(look, by->runpath, by->origin, name, by);
}

static int is_looked_at(struct look *look, const struct sg_elf *elf)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->files[i].device == elf->device && look->files[i].inode == elf->inode)
			return 1;
	if (look->count == MOST_LOOKED_AT)
		return 1;
	look->files[look->count].device = elf->device;
	look->files[look->count++].inode = elf->inode;
	return 0;
}

static void look_at(struct look *look, const char *path, const struct asking *by)
{
	const char *needed, *slash = strrchr(path, '/');
	struct asking this = {.by = by};
	struct sg_elf elf;
	char *origin;
	size_t at = 0;

	if (slash == NULL || sg_elf_open(&elf, path) != 0)
		return;
	origin = strndup(path, (size_t)(slash - path));
	if (origin != NULL && !is_looked_at(look, &elf)) {
		this.origin = origin;
		this.rpath = sg_elf_next(&elf, DT_RPATH, &at);
		at = 0;
		this.runpath = sg_elf_next(&elf, DT_RUNPATH, &at);
		if (is_new(&elf))
			make_missing(&elf);
		for (at = 0; (needed = sg_elf_next(&elf, DT_NEEDED, &at)) != NULL;)
			if (library_of(needed) < 0)
				look_for(look, needed, &this);
	}
	free(origin);
	sg_elf_close(&elf);
}

/* The path of a library that is loaded, or NULL; the caller frees it. */
static char *path_of(const struct link_map *map)
{
	return map->l_name[0] != 0 ? strdup(map->l_name) : realpath("/proc/self/exe", NULL);
}

/* The run path of a library that is loaded, whose folder is `origin`. */
static struct asking loaded(const struct link_map *map, const char *origin)
{
	struct asking this = {.origin = origin};
	const char *strings = NULL;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = map->l_ld; strings != NULL && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_RPATH)
			this.rpath = strings + d->d_un.d_val;
		else if (d->d_tag == DT_RUNPATH)
			this.runpath = strings + d->d_un.d_val;
	return this;
}

static void look(const char *file, const void *caller)
{
	struct look *look = malloc(sizeof(*look));
	struct link_map *map = NULL;
	char *origin = NULL, *slash;
	struct asking asking;
	Dl_info info;

	if (look == NULL)
		return;
	look->count = 0;
	if (dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL &&
		(origin = path_of(map)) != NULL) {
		slash = strrchr(origin, '/');
		if (slash != NULL)
			*slash = 0;
		asking = loaded(map, origin);
		if (strchr(file, '/') != NULL)
			look_at(look, file, &asking);
		else if (library_of(file) < 0)
			look_for(look, file, &asking);
	}
	free(origin);
	free(look);
}

/* What the program is linked to is loaded already; what it binds at the first call may still be made. */
static void look_at_loaded(void)
{
	void *program = real_dlopen(NULL, RTLD_LAZY);
	struct sg_elf elf;

	for (const struct link_map *map = program; map != NULL; map = map->l_next) {
		char *path = path_of(map);

		if (path != NULL && strncmp(path, folder, strlen(folder)) != 0 &&
			sg_elf_open(&elf, path) == 0) {
			if (is_new(&elf))
				make_missing(&elf);
			sg_elf_close(&elf);
		}
		free(path);
	}
	if (program != NULL)
		dlclose(program);
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void find(void)
{
	Dl_info info;
	char *slash;

	*(void **)&real_dlsym = next("dlsym");
	*(void **)&real_dlvsym = next("dlvsym");
	*(void **)&real_dlopen = next("dlopen");
	if (real_dlsym == NULL || real_dlvsym == NULL || dladdr(folder, &info) == 0 ||
		realpath(info.dli_fname, folder) == NULL)
		folder[0] = 0;
	slash = strrchr(folder, '/');
	if (slash != NULL)
		*slash = 0;
}

__attribute__((constructor)) static void begin(void)
{
	const int saved = errno;

	if (real_dlopen == NULL)
		find();
	if (folder[0] != 0)
		look_at_loaded();
	errno = saved;
}

void *sg_before_dlopen(const char *file, const void *caller)
{
	const int saved = errno;
	void *real;

	if (real_dlopen == NULL)
		find();
	if (file != NULL && file[0] != 0 && folder[0] != 0)
		look(file, caller);
	errno = saved;
	memcpy(&real, &real_dlopen, sizeof(real));
	return real;
}
