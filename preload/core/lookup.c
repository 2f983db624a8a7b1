/*
 * Look-ups that go round the dynamic linker: dlsym and dlvsym, the driver's cuGetProcAddress, the runtime's
 * cudaGetDriverEntryPoint. What they find is handed out as our wrapper.
 *
 * The real look-up always comes first, and what it found is exchanged only if all of this holds: the name is
 * a row of pm_hooks.def, exactly; the address lies in the library that the row means; nobody of the vendor's
 * is asking (cuDNN 9 looks up in its parts the very names that it exports itself); and it is the function
 * that the wrapper calls anyway, because a process may have two copies of a library and a wrapper knows one.
 *
 * dlsym goes by its return address: RTLD_NEXT and the search through an object's own dependencies mean the
 * caller's. So whatever is not exchanged must reach the real function by a jump, as if we had not been there;
 * the two entry points are in assembler.
 */
#include "lookup.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>

#include "framework/pjrt.h"
#include "guest/libc_dlsym.h"
#include "guest/plain.h"
#include "guest/resolve.h"
#include "guest/state.h"
#include "hook.h"

/* ---- names ---- */

#define NAMES (1u << 12)
static _Atomic uint16_t names[NAMES]; /* numbers of calls, by hash of the name */
static _Atomic bool names_filled;

static unsigned name_hash(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (h ^ h >> 15) % NAMES;
}

/*
 * Takes no lock: whoever comes here while the table is being filled, another thread, a child after fork or a
 * signal's handler, fills it too. All go in one order, so each finds a call in its place or that place free.
 */
static void fill_names(void)
{
	for (unsigned call = 1; call < PM_CALL_COUNT; call++) {
		unsigned i = name_hash(pmh_rows[call].name), there;

		/* file input is reached by linking; what is decoded has no function */
		if (!pmh_wrappers[call])
			continue;
		while ((there = atomic_load_explicit(&names[i], memory_order_relaxed)) && there != call)
			i = (i + 1) % NAMES;
		atomic_store_explicit(&names[i], (uint16_t)call, memory_order_relaxed);
	}
	atomic_store_explicit(&names_filled, true, memory_order_release);
}

/* The call with a name, or 0. */
static enum pm_call call_named(const char *name)
{
	if (name[0] != 'c' && name[0] != 'n' && name[0] != '_')
		return PM_CALL_NONE;
	if (!atomic_load_explicit(&names_filled, memory_order_acquire))
		fill_names();
	for (unsigned i = name_hash(name), call;
		(call = atomic_load_explicit(&names[i], memory_order_relaxed)) != 0; i = (i + 1) % NAMES)
		if (plain_equal(pmh_rows[call].name, name))
			return (enum pm_call)call;
	return PM_CALL_NONE;
}

/* ---- who asks, and what was found ---- */

/* The name of the library that an address lies in, as it calls itself: its file may be a link's name. */
static const char *file_of(const void *address)
{
	struct link_map *map = NULL;
	const char *file;
	ElfW(Addr) strings = 0, soname = 0;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname)
		return "";
	for (const ElfW(Dyn) *d = map ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = d->d_un.d_ptr;
		else if (d->d_tag == DT_SONAME)
			soname = d->d_un.d_ptr;
	file = strings && soname ? (const char *)(strings + soname) : info.dli_fname;
	return plain_base(file);
}

/*
 * Whether a function that was found is the known one: of a second copy of the library it is not, nor of
 * another version. The driver may hand out addresses inside itself that it does not export.
 */
static bool is_same(void *known, void *found)
{
	Dl_info of_known, of_found;

	return known == found ||
	       (dladdr(known, &of_known) && dladdr(found, &of_found) &&
		       of_known.dli_fbase == of_found.dli_fbase && of_found.dli_saddr != found);
}

#define RUNTIME_KNOWN ".so.13" /* in the file's name of the runtime whose parameters the rows have */

/* A function of another version of the runtime, with other parameters than our wrapper has. */
static bool is_other_version(enum pm_call call, const char *file)
{
	return pmh_rows[call].changed && !plain_contains(file, RUNTIME_KNOWN);
}

static _Atomic bool missed[PM_CALL_COUNT]; /* was another copy of it found? */

void pmh_look_up_forget(void)
{
	for (unsigned i = 0; i < PM_CALL_COUNT; i++)
		atomic_store_explicit(&missed[i], false, memory_order_relaxed);
}

uint64_t pmh_unseen_calls(void)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < PM_CALL_COUNT; i++)
		count += atomic_load_explicit(&missed[i], memory_order_relaxed);
	return count;
}

/* Another copy of this library, under another name, comes before us: it records, and we only pass calls on.
 */
static bool is_second;

/* The wrapper in place of a function that was found, or the function itself. */
static void *exchanged(enum pm_call call, void *found, const void *caller)
{
	const char *file = file_of(found);
	void *known;

	if (is_second || pmh_is_ours(found) || pmh_is_vendors(file_of(caller)) ||
		!pmh_is_library(pmh_rows[call].library, file) || is_other_version(call, file))
		return found;
	/* that of the copy which linked programs use, should there be one: the wrapper is theirs already */
	known = pmh_real(call);
	if (!known && pmh_keep(found) && atomic_compare_exchange_strong(&pmh_functions[call], &known, found))
		known = found;
	if (known && is_same(known, found))
		return pmh_wrappers[call];
	atomic_store_explicit(&missed[call], true, memory_order_relaxed);
	return found;
}

/* ---- dlsym, dlvsym ---- */

/* What the entry points do: `decided` 0 means jump to the real function. */
struct look_up {
	void *found;
	uintptr_t decided;
};
__attribute__((visibility("hidden"))) struct look_up pmh_look_up(
	void *handle, const char *name, const void *caller, const char *version);

/* By this name two copies of the library know each other; pmrun reads the version from it. */
PMH_EXPORT extern const char pmhook_is_here[];
const char pmhook_is_here[] = PMH_VERSION_TEXT PM_PROJECT_VERSION;

/* Before any constructor of a library that looks something up: ours may not be the first to run. */
__attribute__((constructor(101))) static void begin(void)
{
	const void *first;

	pmh_find_dlsym();
	first = pmh_libc_dlsym(RTLD_DEFAULT, "pmhook_is_here");
	is_second = first && !pmh_is_ours(first);
	if (is_second)
		atomic_store(&pmh_state, PMH_OFF);
}

static void *look_up_really(void *handle, const char *name, const char *version)
{
	return version ? pmh_real_dlvsym(handle, name, version) : pmh_real_dlsym(handle, name);
}

/* Of a handle alone, which says whose it is: through others the caller's own objects are searched. */
static struct look_up look_up_pjrt(void *handle, const char *name, const char *version, const void *caller)
{
	const int saved_errno = errno;
	void *found;

	if (is_second || handle == RTLD_NEXT || handle == RTLD_DEFAULT || pmh_is_ours(caller))
		return (struct look_up){0};
	found = look_up_really(handle, name, version);
	errno = saved_errno;
	return (struct look_up){found ? pmh_pjrt_exchanged(found) : NULL, 1};
}

struct look_up pmh_look_up(void *handle, const char *name, const void *caller, const char *version)
{
	static const struct look_up jump;
	const int saved_errno = errno;
	enum pm_call call;
	void *found;

	pmh_find_dlsym();
	if (name && plain_equal(name, PMH_PJRT_NAME))
		return look_up_pjrt(handle, name, version, caller);
	if (is_second || !name || handle == RTLD_NEXT || !(call = call_named(name)) || pmh_is_ours(caller))
		return jump;
	found = look_up_really(handle, name, version);
	errno = saved_errno;
	if (handle == RTLD_DEFAULT && (!found || (!pmh_is_ours(found) && !version)))
		return jump; /* something else of that name comes before us, or only the caller finds it */
	if (!found || !pmh_is_ours(found))
		return (struct look_up){found ? exchanged(call, found, caller) : NULL, 1};
	/*
	 * The search begins at the program, and finds us before anything else. Right, if the function is
	 * there at all; else the answer is what is found after us: nothing, and dlerror says so.
	 */
	if (pmh_real(call)) {
		errno = saved_errno;
		return jump;
	}
	return (struct look_up){look_up_really(RTLD_NEXT, name, version), 1};
}

#ifdef __x86_64__
/* Keeps the arguments, asks pmh_look_up with the return address, then returns or jumps. */
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	movq 24(%rsp), %rdx\n"
	"	xorl %ecx, %ecx\n"
	"	call pmh_look_up\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rdx, %rdx\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	jmp *pmh_real_dlsym(%rip)\n"
	"	.cfi_endproc\n"
	".size dlsym, .-dlsym\n"
	".globl dlvsym\n"
	".type dlvsym, @function\n"
	"dlvsym:\n"
	"	.cfi_startproc\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rdx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	movq %rdx, %rcx\n"
	"	movq 24(%rsp), %rdx\n"
	"	call pmh_look_up\n"
	"	movq %rdx, %rcx\n"
	"	popq %rdx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rcx, %rcx\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	jmp *pmh_real_dlvsym(%rip)\n"
	"	.cfi_endproc\n"
	".size dlvsym, .-dlvsym\n");
#elif defined(__aarch64__)
/* The same: the caller's address is in x30, and the answer comes in x0 and x1. */
#define LOOK_UP(name, ARGUMENTS) \
	__asm__(".text\n" \
		".globl " #name "\n" \
		".type " #name ", %function\n" #name ":\n" \
		"	.cfi_startproc\n" \
		"	stp x29, x30, [sp, #-48]!\n" \
		"	.cfi_def_cfa_offset 48\n" \
		"	.cfi_offset 29, -48\n" \
		"	.cfi_offset 30, -40\n" \
		"	mov x29, sp\n" \
		"	stp x0, x1, [sp, #16]\n" \
		"	str x2, [sp, #32]\n" ARGUMENTS /* the caller third, the version or NULL fourth */ \
		"	bl pmh_look_up\n" \
		"	mov x3, x1\n" \
		"	cbnz x3, 1f\n" \
		"	ldp x0, x1, [sp, #16]\n" \
		"	ldr x2, [sp, #32]\n" \
		"1:	ldp x29, x30, [sp], #48\n" \
		"	.cfi_restore 29\n" \
		"	.cfi_restore 30\n" \
		"	.cfi_def_cfa_offset 0\n" \
		"	cbnz x3, 2f\n" \
		"	adrp x16, pmh_real_" #name "\n" \
		"	ldr x16, [x16, :lo12:pmh_real_" #name "]\n" \
		"	br x16\n" \
		"2:	ret\n" \
		"	.cfi_endproc\n" \
		".size " #name ", .-" #name "\n")

LOOK_UP(dlsym, "	mov x2, x30\n	mov x3, xzr\n");
LOOK_UP(dlvsym, "	mov x3, x2\n	mov x2, x30\n");
#else
/* The call in tail position becomes a jump at -O2. */
PMH_EXPORT __attribute__((optimize("O2"))) void *dlsym(void *handle, const char *name)
{
	struct look_up l = pmh_look_up(handle, name, __builtin_return_address(0), NULL);

	return l.decided ? l.found : pmh_real_dlsym(handle, name);
}

PMH_EXPORT __attribute__((optimize("O2"))) void *dlvsym(void *handle, const char *name, const char *version)
{
	struct look_up l = pmh_look_up(handle, name, __builtin_return_address(0), version);

	return l.decided ? l.found : pmh_real_dlvsym(handle, name, version);
}
#endif

/* ---- the driver's entry points ---- */

#define PER_THREAD_VERSION 7000    /* the twins for per-thread default streams are all of this */
#define DRIVER_VERSION_KNOWN 13000 /* of later ones a name may mean a function that we do not know */

/* Whether an exported name is the given one, perhaps with a version after it: cuMemAlloc, cuMemAlloc_v2. */
static bool is_name(const char *exported, const char *asked)
{
	if (!plain_begins(exported, asked, &exported))
		return false;
	return !*exported || (exported[0] == '_' && exported[1] == 'v' && exported[2] >= '2' &&
				     exported[2] <= '9' && !exported[3]);
}

/* The row of the function that cuGetProcAddress answers, or 0: a name without its _v2 means the newest that
 * the version asked for has. */
static enum pm_call driver_call(const char *name, int version, uint64_t flags)
{
	enum pm_call best = PM_CALL_NONE;

	for (unsigned call = 1; call < PM_CALL_COUNT; call++) {
		const struct pmh_row *row = &pmh_rows[call];

		if (row->since && row->since <= version && row->since > pmh_rows[best].since &&
			is_name(row->name, name))
			best = (enum pm_call)call;
	}
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && version >= PER_THREAD_VERSION &&
		pmh_rows[best].twin)
		return (enum pm_call)pmh_rows[best].twin;
	return best;
}

PMH_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cuda_version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *symbol_status);

/* Whether the driver answers the same for the last version that we know: then a newer one has not changed the
 * function. */
static bool is_unchanged(const char *name, const void *found, uint64_t flags)
{
	__typeof__(&cuGetProcAddress_v2) ask =
		(__typeof__(&cuGetProcAddress_v2))pmh_real(PM_CALL_cuGetProcAddress_v2);
	void *known = NULL;

	return ask && ask(name, &known, DRIVER_VERSION_KNOWN, flags, NULL) == CUDA_SUCCESS && known == found;
}

/* Exchanges what a look-up in the driver has found. */
static void exchange(const char *name, void **found, int version, uint64_t flags, const void *caller)
{
	const int saved_errno = errno;
	enum pm_call call;

	if (name && found && *found && (call = driver_call(name, version, flags)) &&
		(version <= DRIVER_VERSION_KNOWN || is_unchanged(name, *found, flags)))
		*found = exchanged(call, *found, caller);
	errno = saved_errno;
}

PMH_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int cuda_version, cuuint64_t flags);
PMH_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int cuda_version, cuuint64_t flags)
{
	__typeof__(&cuGetProcAddress) real =
		(__typeof__(&cuGetProcAddress))pmh_real(PM_CALL_cuGetProcAddress);
	CUresult result = real ? real(symbol, pfn, cuda_version, flags) : CUDA_ERROR_NOT_FOUND;

	if (result == CUDA_SUCCESS)
		exchange(symbol, pfn, cuda_version, flags, __builtin_return_address(0));
	return result;
}

PMH_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cuda_version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *symbol_status)
{
	__typeof__(&cuGetProcAddress_v2) real =
		(__typeof__(&cuGetProcAddress_v2))pmh_real(PM_CALL_cuGetProcAddress_v2);
	CUresult result = real ? real(symbol, pfn, cuda_version, flags, symbol_status) : CUDA_ERROR_NOT_FOUND;

	if (result == CUDA_SUCCESS)
		exchange(symbol, pfn, cuda_version, flags, __builtin_return_address(0));
	return result;
}

/* The runtime asks for its own version. The flags are the driver's. */
static int runtime_version(void)
{
	cudaError_t (*ask)(int *) = (cudaError_t(*)(int *))pmh_real_cudart("cudaRuntimeGetVersion");
	int version = 0;

	return ask && ask(&version) == cudaSuccess ? version : DRIVER_VERSION_KNOWN;
}

#define ENTRY_POINT(name, flags_) \
	PMH_EXPORT cudaError_t name(const char *symbol, void **function, unsigned long long flags, \
		enum cudaDriverEntryPointQueryResult *status); \
	PMH_EXPORT cudaError_t name(const char *symbol, void **function, unsigned long long flags, \
		enum cudaDriverEntryPointQueryResult *status) \
	{ \
		__typeof__(&name) real = (__typeof__(&name))pmh_real(PM_CALL_##name); \
		cudaError_t result = real ? real(symbol, function, flags, status) : cudaErrorSymbolNotFound; \
\
		if (result == cudaSuccess) \
			exchange(symbol, function, runtime_version(), flags_, __builtin_return_address(0)); \
		return result; \
	}
ENTRY_POINT(cudaGetDriverEntryPoint, flags)
ENTRY_POINT(cudaGetDriverEntryPoint_ptsz, flags &CU_GET_PROC_ADDRESS_LEGACY_STREAM
						  ? flags
						  : flags | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

#define ENTRY_POINT_BY_VERSION(name, flags_) \
	PMH_EXPORT cudaError_t name(const char *symbol, void **function, unsigned int version, \
		unsigned long long flags, enum cudaDriverEntryPointQueryResult *status); \
	PMH_EXPORT cudaError_t name(const char *symbol, void **function, unsigned int version, \
		unsigned long long flags, enum cudaDriverEntryPointQueryResult *status) \
	{ \
		__typeof__(&name) real = (__typeof__(&name))pmh_real(PM_CALL_##name); \
		cudaError_t result = \
			real ? real(symbol, function, version, flags, status) : cudaErrorSymbolNotFound; \
\
		if (result == cudaSuccess) \
			exchange(symbol, function, (int)version, flags_, __builtin_return_address(0)); \
		return result; \
	}
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion, flags)
ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz,
	flags &CU_GET_PROC_ADDRESS_LEGACY_STREAM ? flags
						 : flags | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
