/*
 * Compares the hook table and our constants with the vendor's headers. It is never run: what is wrong does
 * not compile.
 */
#include "pm_abi.h"
#include "pm_hooks.h"

/* A second declaration of a function must agree with the first. */
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#define PM_NOT_HOOKED(library, result, name, pairs) result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define CONSTANT(name, value) _Static_assert((int)(name) == (int)(value), #name);
#define TYPE(type) PM_ABI_##type(CONSTANT)
PM_ABI_ENUMS(TYPE)
