/* What a hooked function does: see hook_facts.h. */
#include "hook_facts.h"
#include "pm_hooks.h"
#include "trace_word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const role_names[] = {"NONE",
#define NAME(name, text) #name,
	PM_FORMAT_ROLES(NAME)
#undef NAME
};

static const char *const access_names[] = {"NONE",
#define NAME(name, text) #name,
	PM_FORMAT_ACCESSES(NAME)
#undef NAME
};

/* The rows of the hook's table that the analyzer this is linked into was made with. */
static const struct row {
	const char *name;
	struct hook_facts facts;
} rows[] = {
#define FACT(column, value) FACT_##column(value)
#define FACT_NONE
#define FACT_ROLE(role_) .role = PM_ROLE_##role_,
#define FACT_ACCESS(accesses) .access = PM_ACCESSES accesses,
#define FACT_SHAPE(label) .shape = #label,
#define FACT_TOUCHES(arguments)
#define FACT_TABLE(arguments)
#define FACT_FREES(address)
#define FACT_SINCE(version)
#define FACT_CALLBACK(numbers)
#define FACT_CHANGED(major)
#define FACT_TWIN(name)
#define ROW(name_, ...) {#name_, {PM_PAIRS(FACT, PM_NOTHING, __VA_ARGS__)}},
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) ROW(name, __VA_ARGS__)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) ROW(name, __VA_ARGS__)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) ROW(name, __VA_ARGS__)
#define PM_DECODED(library, kind, name, values, ...) ROW(name, __VA_ARGS__)
#include "pm_hooks.def"
};

struct hook_facts hook_facts_of(const char *name)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].facts;
	return (struct hook_facts){0};
}

/* Bytes of a name without what versions and default streams add to its end: "_v2", "_v2_ptsz", "_ptsz_v7000".
 */
static size_t facts_stem(const char *name)
{
	static const char *const endings[] = {"_ptsz", "_ptds"};
	size_t length = strlen(name);

	for (bool shorter = true; shorter;) {
		size_t digits = length;

		shorter = false;
		while (digits > 2 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
			digits--;
		if (digits < length && digits > 2 && strncmp(name + digits - 2, "_v", 2) == 0) {
			length = digits - 2;
			shorter = true;
		}
		for (size_t i = 0; i < COUNT(endings); i++)
			if (length > 5 && strncmp(name + length - 5, endings[i], 5) == 0) {
				length -= 5;
				shorter = true;
			}
	}
	return length;
}

struct hook_facts hook_facts_of_foreign(const char *name)
{
	char own[128];
	size_t length;

	if (strncmp(name, "hip", 3) == 0)
		snprintf(own, sizeof(own), "cuda%s", name + 3);
	else
		snprintf(own, sizeof(own), "%s", name);
	length = facts_stem(own);
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strncmp(rows[i].name, own, length) == 0 && facts_stem(rows[i].name) == length)
			return rows[i].facts;
	return (struct hook_facts){0};
}

static void facts_read_word(struct hook_facts *facts, const char *word, size_t length)
{
	const char *colon = memchr(word, ':', length);
	const size_t name = colon ? (size_t)(colon - word) : 0, rest = colon ? length - name - 1 : 0;

	if (name == 4 && memcmp(word, "role", 4) == 0) {
		facts->role = (enum pm_role)trace_find_name(role_names, COUNT(role_names), colon + 1, rest);
	} else if (name == 6 && memcmp(word, "access", 6) == 0) {
		const size_t access = trace_find_name(access_names, COUNT(access_names), colon + 1, rest);

		if (access)
			facts->access = (uint8_t)(facts->access | 1u << (access - 1));
	} else if (name == 5 && memcmp(word, "shape", 5) == 0 && rest < sizeof(facts->shape)) {
		memcpy(facts->shape, colon + 1, rest);
		facts->shape[rest] = 0;
	}
}

struct hook_facts hook_facts_read(const char *words)
{
	struct hook_facts facts = {0};
	size_t length;

	for (const char *word; word = trace_next_word(&words, &length), length > 0;)
		facts_read_word(&facts, word, length);
	return facts;
}

const char *hook_role_name(enum pm_role role)
{
	return role_names[(size_t)role < COUNT(role_names) ? role : 0];
}
