/*
 * The rows of pm_hooks.def, numbered, and a row's role and accesses as constants. With PM_ROLE_IN: after
 * pm_format.h.
 */
#ifndef PM_HOOKS_H
#define PM_HOOKS_H

#include "pm_lists.h"

/* The hooked functions' numbers. */
enum pm_call {
	PM_CALL_NONE,
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) PM_CALL_##name,
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) PM_CALL_##name,
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) PM_CALL_##name,
#define PM_DECODED(library, kind, name, values, ...) PM_CALL_##name,
#define PM_WATCH(library, result, name, pairs, after, ...) PM_CALL_##name,
#include "pm_hooks.def"
	PM_CALL_COUNT
};

/* The role in a row's further columns, a constant. */
#define PM_ROLE_IN(...) ((enum pm_role)(PM_ROLE_NONE PM_PAIRS(PM_ADD_ROLE, PM_NOTHING, __VA_ARGS__)))
#define PM_ADD_ROLE(column, value) PM_ADD_ROLE_##column(value)
#define PM_ADD_ROLE_NONE
#define PM_ADD_ROLE_ROLE(role) +PM_ROLE_##role
#define PM_ADD_ROLE_TOUCHES(arguments)
#define PM_ADD_ROLE_TABLE(arguments)
#define PM_ADD_ROLE_FREES(address)
#define PM_ADD_ROLE_SINCE(version)
#define PM_ADD_ROLE_CALLBACK(numbers)
#define PM_ADD_ROLE_CHANGED(major)
#define PM_ADD_ROLE_TWIN(name)
#define PM_ADD_ROLE_ACCESS(accesses)
#define PM_ADD_ROLE_SHAPE(label)

/* The accesses, from the value of the column: up to three. */
#define PM_ACCESSES(...) PM_JOIN(PM_ACCESSES_, PM_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define PM_ACCESSES_1(a) PM_ACCESS_##a
#define PM_ACCESSES_2(a, b) (PM_ACCESS_##a | PM_ACCESS_##b)
#define PM_ACCESSES_3(a, b, c) (PM_ACCESS_##a | PM_ACCESS_##b | PM_ACCESS_##c)

#endif
