/*
 * The functions of one library that softgpu does not have, from its list. Built once for each library, with
 * SG_ABSENT_LIST, the list's file, and SG_ABSENT_STATUS, what the library answers for "not supported".
 *
 * The one idea: callers pass parameters that nobody looks at, and look at the result alone: a status, a
 * pointer or a text, which the calling convention returns in one register.
 */
#include "core/absent.h"

#include <stddef.h>
#include <stdint.h>

/* weak: a function that is written goes before its row */
#define SG_ABSENT_AS(name, result) \
	intptr_t name(void); \
	__attribute__((weak)) intptr_t name(void) \
	{ \
		static _Atomic int said; \
		sg_absent(#name, &said); \
		return (intptr_t)(result); \
	}
#define SG_ABSENT(name) SG_ABSENT_AS(name, SG_ABSENT_STATUS)
/* For messages: never NULL. */
#define SG_ABSENT_TEXT(name) SG_ABSENT_AS(name, "not supported by softgpu")
#include SG_ABSENT_LIST
