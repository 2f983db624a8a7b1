/*
 * A library whose functions, all expanded from the hook table, only write down what they were given, set
 * errno to 42 and answer what they were told to.
 */
#include "null_library.h"

#include <errno.h>
#include <string.h>

#include "pm_abi.h"
#include "pm_hooks.h"

_Thread_local unsigned char null_bytes[NULL_BYTES];
_Thread_local size_t null_used;
int null_answer;

static inline __attribute__((always_inline)) void note(const void *argument, size_t size)
{
	memcpy(null_bytes + null_used, argument, size);
	null_used += size;
}

#define NOTE(type, name) note(&name, sizeof name);
#define NOTE_NONE
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	__attribute__((visibility("default"))) result name PM_PARAMETERS pairs; \
	result name PM_PARAMETERS pairs \
	{ \
		null_used = 0; \
		PM_PAIRS(NOTE, PM_NOTHING, PM_OPEN pairs) \
		errno = 42; \
		return (result)null_answer; \
	}
#define PM_WATCH(library, result, name, pairs, after, ...) PM_HOOK(library, SETUP, result, name, pairs, NONE, (NONE), after)
#include "pm_hooks.def"
