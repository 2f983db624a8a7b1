/* Launches whose kernel is lost: see imported_lost.h. */
#include "imported_lost.h"

#include <stdlib.h>
#include <string.h>

static bool launches(const char *name)
{
	return strstr(name, "LaunchKernel") || strstr(name, "KernelLaunch");
}

bool imported_lost_is(struct imported_lost *lost, const struct imported *imported, uint32_t call)
{
	const char *name = imported->strings.items[imported->calls.name[call]];

	if (strstr(name, "BeginCapture"))
		lost->capturing = true;
	else if (strstr(name, "EndCapture"))
		lost->capturing = false;
	if (lost->capturing || !launches(name) || imported->calls.correlation[call] == 0 ||
		imported->calls.begin_ns[call] >= lost->last_ns)
		return false;
	*MEM_PUSH(lost->times_ns, lost->count, lost->room) = imported->calls.begin_ns[call];
	return true;
}

void imported_lost_end(
	struct imported_lost *lost, struct timeline *timeline, struct timeline_process *process)
{
	int64_t begin_ns = INT64_MIN;

	process->lost_device_times = lost->count;
	if (lost->count == 0)
		return;
	process->timed = arena_alloc(&timeline->arena, lost->count + 1, sizeof(*process->timed));
	for (size_t i = 0; i <= lost->count; i++) {
		int64_t end_ns = i < lost->count ? lost->times_ns[i] : INT64_MAX;

		process->timed[process->timed_count++] = (struct timeline_timed){begin_ns, end_ns};
		begin_ns = end_ns + (i < lost->count);
	}
	free(lost->times_ns);
	*lost = (struct imported_lost){0};
}
