/*
 * Calls every wrapper of the hook table with sample arguments, on a library that writes down what arrives:
 * arguments, result and errno pass through unchanged, and each call leaves one record with its function's
 * name, those that are only watched none.
 *
 * Run with libpmhook.so preloaded and PMHOOK_OUT set to an empty folder.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "null_library.h"
#include "peek.h"
#include "pm_abi.h"
#include "pm_hooks.h"

/* Where pointers point: zeros, long enough for whatever a wrapper reads through them. */
static unsigned char zero_pool[64 * 64];
static unsigned char expected[NULL_BYTES];
static size_t expected_used;
static unsigned next;

static void sample(void *argument, size_t size, bool is_pointer)
{
	next++;
	memset(argument, 0, size);
	if (is_pointer)
		memcpy(argument, &(void *){zero_pool + 64 * next}, sizeof(void *));
	else
		memcpy(argument, &next, size < sizeof next ? size : sizeof next);
	memcpy(expected + expected_used, argument, size);
	expected_used += size;
}

#define CLASS_POINTER 5 /* of __builtin_classify_type */
#define SAMPLE(type, name) \
	type name; \
	sample((void *)(uintptr_t)&name, sizeof name, __builtin_classify_type(name) == CLASS_POINTER);
#define SAMPLE_NONE

static unsigned called_rows, bad;

static void complain(const char *name, const char *what)
{
	printf("%s: %s\n", name, what);
	bad++;
}

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#define WATCH_AS_HOOK(library, result, name, pairs, after, ...) \
	PM_HOOK(library, SETUP, result, name, pairs, NONE, (NONE), after)
#define PM_WATCH WATCH_AS_HOOK
#include "pm_hooks.def"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	static void call_##name(void) \
	{ \
		next = 0; \
		expected_used = 0; \
		PM_PAIRS(SAMPLE, PM_NOTHING, PM_OPEN pairs) \
		errno = 0; \
		int answer = (int)name PM_ARGUMENTS pairs; \
		if (errno != 42) \
			complain(#name, "errno did not pass through"); \
		if (answer != null_answer) \
			complain(#name, "the result did not pass through"); \
		if (null_used != expected_used || memcmp(null_bytes, expected, null_used) != 0) \
			complain(#name, "the arguments did not pass through"); \
		called_rows++; \
	}
#define PM_WATCH WATCH_AS_HOOK
#include "pm_hooks.def"

static void call_all(void)
{
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) call_##name();
#define PM_WATCH WATCH_AS_HOOK
#include "pm_hooks.def"
}

int main(void)
{
	/* a failure, which the wrappers only record, and success, at which they look at the parameters */
	static const int answers[] = {7, 0};
	const char *path;
	struct peek trace;

	if (!getenv("PMHOOK_OUT") || !dlsym(RTLD_DEFAULT, "__fread_chk")) {
		puts("PMHOOK_OUT is not set");
		return 77;
	}
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		null_answer = answers[i];
		call_all();
	}
	path = peek_only(getenv("PMHOOK_OUT"));
	if (!path[0]) {
		puts("the hook left no trace");
		return 1;
	}
	trace = peek_open(path);
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	{ \
		int64_t sum; \
		unsigned calls = peek_calls(&trace, #name, &sum); \
		if (calls != 2 || sum != 7) \
			complain(#name, "two calls, results 7 and 0, are not what the trace says"); \
	}
#include "pm_hooks.def"
#define PM_WATCH(library, result, name, pairs, after, ...) \
	if (peek_calls(&trace, #name, NULL) != 0) \
		complain(#name, "left a record");
#define PM_HOOK(...)
#include "pm_hooks.def"
	peek_close(&trace);
	printf("%u calls, %u wrong\n", called_rows, bad);
	return bad != 0;
}
