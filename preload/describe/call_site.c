/*
 * Where a call was made: the stack above the wrapper, as text.
 *
 * Asked once per distinct operation, so cost matters little and being safe much. Frames of this library and
 * of the vendor's libraries tell nothing of the program and are left out.
 */
#include "call_site.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/settings_hook.h"
#include "symbol.h"
#include "trace/intern.h"
#include "unwind.h"

#define FRAMES_MAX 64

static pmh_lock naming = ATOMIC_FLAG_INIT; /* for the names */

void pmh_call_site_init(void)
{
	pmh_unwind_init();
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
	uint64_t address;
	bool is_program; /* else the frame is left out */
	char name[NAME_BYTES];
} names[NAMES];
static unsigned name_slot(uint64_t address)
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

static void name_by_offset(const char *file, uint64_t offset, char *name)
{
	const char *base = strrchr(file, '/');

	snprintf(name, NAME_BYTES, "%s+0x%llx", base ? base + 1 : file, (unsigned long long)offset);
}

/* Of a library, without the loader's lock. False: it is the program, or cannot be known so. */
static bool find_library_name(const struct link_map *map, uint64_t address, char *name, bool *is_left)
{
	if (!map->l_name || !map->l_name[0])
		return false;
	*is_left = is_left_out(map->l_name);
	if (*is_left)
		return true;
	if (!pmh_exported_symbol(map, address - 1, name, NAME_BYTES))
		return false;
	if (!name[0])
		name_by_offset(map->l_name, address - map->l_addr, name);
	return true;
}

/* False for frames that are left out. */
static bool find_name(uint64_t address, char *name)
{
	bool is_left;
	struct pmh_mapped mapped;
	Dl_info info;

	/* the address is after the call, which may be the function's last instruction */
	if (pmh_mapped_at(address - 1, &mapped) && mapped.map &&
		find_library_name(mapped.map, address, name, &is_left))
		return !is_left;
	if (!dladdr((void *)(uintptr_t)(address - 1), &info) || !info.dli_fname ||
		is_left_out(info.dli_fname))
		return false;
	if (info.dli_sname) {
		snprintf(name, NAME_BYTES, "%s", info.dli_sname);
		return true;
	}
	if (is_of_program(&info) &&
		pmh_program_symbol(address - 1, (uintptr_t)info.dli_fbase, name, NAME_BYTES))
		return true;
	name_by_offset(info.dli_fname, address - (uintptr_t)info.dli_fbase, name);
	return true;
}

/* The same, from the names that are known already where possible. */
static bool name_frame(uint64_t address, char *name)
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
	is_program = find_name(address, name);
	pmh_acquire(&naming);
	names[slot].address = address;
	names[slot].is_program = is_program;
	memcpy(names[slot].name, name, NAME_BYTES);
	pmh_release(&naming);
	return is_program;
}

void pmh_call_site_forget(void)
{
	pmh_lock_forget(&naming);
	pmh_symbol_forget();
	pmh_unwind_forget();
}

struct frames {
	uint64_t addresses[FRAMES_MAX];
	unsigned count;
	int wanted; /* more of the program */
};

static bool is_known_name(uint64_t address)
{
	const unsigned slot = name_slot(address);
	bool is_known;

	pmh_acquire(&naming);
	is_known = names[slot].address == address && names[slot].is_program;
	pmh_release(&naming);
	return is_known;
}

/* As far as it takes: what is not known yet may be left out, and is counted out. */
static bool keep_frame(uint64_t address, uint64_t stack, void *data)
{
	struct frames *frames = data;

	(void)stack;
	frames->addresses[frames->count++] = address;
	if (is_known_name(address))
		frames->wanted--;
	return frames->count < FRAMES_MAX && frames->wanted > 0;
}

/* Names are found when the walk is over: that takes the loader's lock. */
static void walk(int wanted, char *text, size_t text_bytes)
{
	struct frames frames = {.count = 0, .wanted = wanted};
	char name[NAME_BYTES] = "";
	size_t used = 0;

	pmh_unwind(pmh_came_from(), keep_frame, &frames);
	for (unsigned i = 0; wanted > 0 && i < frames.count; i++) {
		if (!name_frame(frames.addresses[i], name))
			continue;
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", used ? " < " : "", name);
		if (used >= text_bytes || strcmp(name, "main") == 0)
			break;
		wanted--;
	}
}

void pmh_call_site(const char *python, char *text, size_t text_bytes)
{
	const int wanted = atoi(pmh_settings.site_depth);
	size_t used;

	text[0] = 0;
	if (wanted <= 0)
		return;
	walk(wanted, text, text_bytes);
	used = strlen(text);
	/* in Python the native frames are soon the interpreter's; the program's own are these */
	if (python[0] && used + strlen(python) + 4 <= text_bytes)
		snprintf(text + used, text_bytes - used, "%s%s", used ? " < " : "", python);
}
