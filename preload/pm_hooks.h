/*
 * The rows of pm_hooks.def, numbered, and what a call may be to the hook beside its kind.
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
#define PM_DECODED(library, kind, name, values) PM_CALL_##name,
#define PM_WATCH(library, result, name, pairs, after, ...) PM_CALL_##name,
#include "pm_hooks.def"
	PM_CALL_COUNT
};

/* The column ROLE. A context's device is found in another way by each of the last four. */
enum pm_role {
	PM_ROLE_NONE,
	PM_ROLE_QUERY, /* asked again and again by a program that waits; its result says "not ready" */
	PM_ROLE_LAUNCHES_GRAPH,
	PM_ROLE_BEGINS_CAPTURE,
	PM_ROLE_ENDS_CAPTURE,
	PM_ROLE_DESTROYS_STREAM, /* its first value */
	PM_ROLE_ENDS_GROUP,
	PM_ROLE_MAPS_FILE,
	PM_ROLE_RESETS_DEVICE,
	PM_ROLE_DESTROYS_CONTEXT, /* its first value */
	PM_ROLE_RELEASES_PRIMARY, /* the primary context of the device that is its first value */
	PM_ROLE_RESETS_PRIMARY,
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

#endif
