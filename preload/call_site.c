/*
 * Where a call was made: the stack above the wrapper, by libunwind, which is loaded late and only if it is
 * there.
 *
 * Asked once per distinct operation, so cost matters little and being safe much. Frames of this library and
 * of the vendor's libraries tell nothing of the program and are left out.
 */
#include "hook.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static struct unwinder {
	__typeof__(&unw_init_local) init_local;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	__typeof__(&unw_get_proc_name) get_proc_name;
} unwinder; /* all NULL where libunwind is not there */
static bool unwinder_sought;
static pmh_lock naming = ATOMIC_FLAG_INIT; /* for all of this file */

void pmh_call_site_init(void)
{
	struct unwinder found = {0};
	void *library = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);

	if (library) {
		/* libunwind.h renames its functions by macro; the names behind are the library's */
		*(void **)&found.init_local = dlsym(library, TEXT(unw_init_local));
		*(void **)&found.step = dlsym(library, TEXT(unw_step));
		*(void **)&found.get_reg = dlsym(library, TEXT(unw_get_reg));
		*(void **)&found.get_proc_name = dlsym(library, TEXT(unw_get_proc_name));
	}
	pmh_acquire(&naming);
	if (!unwinder_sought && found.init_local && found.step && found.get_reg && found.get_proc_name)
		unwinder = found;
	unwinder_sought = true;
	pmh_release(&naming);
}

/* Frames that tell nothing of the program. */
static bool is_left_out(const char *file)
{
	const char *base = strrchr(file, '/');

	base = base ? base + 1 : file;
	return strncmp(base, "libpmhook", 9) == 0 || pmh_is_vendors(base);
}

/*
 * Names of frames by address. Finding one reads the symbol table of its file, some 100 us; the frames of a
 * program's calls are few and the same again and again.
 */
#define NAMES 4096
#define NAME_BYTES 96
static struct {
	unw_word_t address;
	bool is_program; /* else the frame is left out */
	char name[NAME_BYTES];
} names[NAMES];
static unsigned name_slot(unw_word_t address)
{
	return (unsigned)(pmh_mix(address, 0x9e3779b97f4a7c15u) % NAMES);
}

/*
 * Whether a frame is the program's own. Its functions are mostly not exported, and finding their names reads
 * a table of some hundred kilobytes; in a framework's libraries that table has hundreds of megabytes, and the
 * exported names must do.
 */
static bool is_of_program(const Dl_info *info)
{
	Dl_info program;

	return dladdr((void *)(uintptr_t)getauxval(AT_ENTRY), &program) &&
	       program.dli_fbase == info->dli_fbase;
}

/* False for frames that are left out. */
static bool find_name(unw_cursor_t *cursor, unw_word_t address, char *name)
{
	const char *base;
	unw_word_t offset;
	Dl_info info;

	/* the address is behind the call, which may be the function's last instruction */
	if (!dladdr((void *)(uintptr_t)(address - 1), &info) || !info.dli_fname ||
		is_left_out(info.dli_fname))
		return false;
	if (info.dli_sname) {
		snprintf(name, NAME_BYTES, "%s", info.dli_sname);
		return true;
	}
	if (is_of_program(&info) && unwinder.get_proc_name(cursor, name, NAME_BYTES, &offset) == 0)
		return true;
	base = strrchr(info.dli_fname, '/');
	snprintf(name, NAME_BYTES, "%s+0x%llx", base ? base + 1 : info.dli_fname,
		(unsigned long long)(address - (unw_word_t)(uintptr_t)info.dli_fbase));
	return true;
}

/* The same, from the names that are known already where possible. */
static bool name_frame(unw_cursor_t *cursor, unw_word_t address, char *name)
{
	unsigned slot = name_slot(address);
	bool is_program, known;

	pmh_acquire(&naming);
	known = names[slot].address == address;
	is_program = names[slot].is_program;
	memcpy(name, names[slot].name, NAME_BYTES);
	pmh_release(&naming);
	if (known)
		return is_program;
	is_program = find_name(cursor, address, name);
	pmh_acquire(&naming);
	names[slot].address = address;
	names[slot].is_program = is_program;
	memcpy(names[slot].name, name, NAME_BYTES);
	pmh_release(&naming);
	return is_program;
}

void pmh_call_site_forget(void)
{
	pmh_release(&naming);
}

static void walk(unw_context_t *context, int wanted, char *text, size_t text_bytes)
{
	unw_cursor_t cursor;
	unw_word_t address;
	size_t used = 0;
	char name[NAME_BYTES] = "";

	if (unwinder.init_local(&cursor, context) != 0)
		return;
	for (int seen = 0; wanted > 0 && seen < 64 && unwinder.step(&cursor) > 0; seen++) {
		if (unwinder.get_reg(&cursor, UNW_REG_IP, &address) != 0 || !address)
			break;
		if (!name_frame(&cursor, address, name))
			continue;
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? " < " : "", name);
		if (used >= text_bytes || strcmp(name, "main") == 0)
			break;
		wanted--;
	}
}

/* In Python the native frames are soon the interpreter's; the program's own are these. */
static void append_python(char *text, size_t text_bytes)
{
	const size_t used = strlen(text);
	char callers[512];

	if (!pmh_python_callers(callers, sizeof callers) || used + strlen(callers) + 4 > text_bytes)
		return;
	snprintf(text + used, text_bytes - used, "%s%s", used ? " < " : "", callers);
}

void pmh_call_site(char *text, size_t text_bytes)
{
	const int wanted = atoi(pmh_settings.site_depth);
	unw_context_t context; /* libunwind's is the C library's, so nothing of libunwind need be linked */

	text[0] = 0;
	if (wanted > 0 && unwinder.step && getcontext(&context) == 0)
		walk(&context, wanted, text, text_bytes);
	if (wanted > 0)
		append_python(text, text_bytes);
}
