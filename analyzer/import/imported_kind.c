/* What a device event does, by its name: see imported_kind.h. */
#include "imported_kind.h"

#include <stdlib.h>
#include <string.h>

static bool begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool begins_with_one(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (begins(name, *prefixes))
			return true;
	return false;
}

static bool is_communication(const char *name)
{
	static const char *const prefixes[] = {"nccl", "hip", "hccl", NULL};

	return begins_with_one(name, prefixes) || strstr(name, "ncclKernel");
}

static bool is_memory(const char *name)
{
	static const char *const prefixes[] = {"Memcpy", "Memset", "dma", NULL};

	return begins_with_one(name, prefixes);
}

/* Neither computation nor one of the above: what waits, and what other accelerators call their bookkeeping.
 */
static bool is_other(const char *name)
{
	static const char *const parts[] = {"Memcpy", "Memset", "dma", "Sync", NULL};
	static const char *const prefixes[] = {"Stream Wait Event", "runFunction", "job_exe", "packet",
		"pe_exe", "cpum_exe_subgraph", "collective_subgraph_execution", NULL};

	for (const char *const *part = parts; *part; part++)
		if (strstr(name, *part))
			return true;
	if (begins(name, "cuda") && strstr(name, "LaunchKernel"))
		return true;
	return begins_with_one(name, prefixes);
}

enum imported_kind imported_kind_of(const char *name)
{
	if (is_communication(name))
		return IMPORTED_COMMUNICATION;
	if (is_memory(name))
		return IMPORTED_MEMORY;
	return is_other(name) ? IMPORTED_OTHER : IMPORTED_COMPUTE;
}

const char *imported_kind_name(enum imported_kind kind)
{
	static const char *const names[] = {"COMPUTATION", "COMMUNICATION", "MEMORY", "OTHER"};

	return names[kind];
}

void imported_kind_apply(struct imported *imported, const regex_t *pattern)
{
	struct imported_events *events = &imported->events;
	char *found = mem_alloc(imported->strings.count, 1); /* 0: not asked yet, 1: no, 2: yes */

	for (size_t i = 0; i < events->count; i++) {
		char *answer = &found[events->name[i]];

		if (events->activity[i] != IMPORTED_KERNEL)
			continue;
		if (!*answer)
			*answer = regexec(pattern, imported->strings.items[events->name[i]], 0, NULL, 0) == 0
					  ? 2
					  : 1;
		if (*answer == 2)
			events->kind[i] = IMPORTED_COMMUNICATION;
	}
	free(found);
}
