/* The device memory that a run took: see device_memory.h. */
#include "device_memory.h"

#include <math.h>
#include <string.h>

/* Of one process: bytes so far, and whether something was given back since. */
struct account {
	double bytes;
	bool gave_back, reused;
};

static void device_memory_take(
	struct account *account, const struct timeline *timeline, const struct timeline_operation *operation)
{
	const struct timeline_function *function = &timeline->functions[operation->function];
	uint64_t bytes;

	if (function->kind != PM_KIND_ALLOC || function->facts.role == PM_ROLE_HOST_MEMORY)
		return;
	if (function->facts.role == PM_ROLE_FREES_MEMORY) {
		/* before the first allocation it is a program's way to begin */
		account->gave_back |= account->bytes > 0;
	} else if (timeline_value(timeline, operation, "bytes", &bytes)) {
		account->reused |= account->gave_back;
		account->bytes += (double)bytes;
	}
}

/* Why the allocations of the process do not say how much it has on a device, or NULL. */
static const char *silent(const struct analysis *analysis, const struct timeline_process *process)
{
	const struct timeline *timeline = &analysis->timeline;
	size_t devices = 0;

	for (size_t w = 0; w < analysis->worker_count; w++)
		devices += &timeline->processes[analysis->workers[w].worker->process] == process;
	if (process->recorder || process->hostless)
		return "the trace is of another profiler, which does not record allocations";
	if (process->window_count)
		return "only a part of the run was recorded, and allocations before it are not known";
	if (process->lost_records)
		return "records are missing from the trace";
	return devices > 1 ? "a process uses several devices, and allocations do not say which" : NULL;
}

static double taken(const struct timeline *timeline, const struct timeline_process *process)
{
	struct account account = {0}, dropped = {.bytes = 1};

	/* when those happened that a trace of constant size has dropped is not known */
	for (uint32_t i = 0; process->gap.calls && i < process->operation_count; i++)
		if (process->gap.calls[i])
			device_memory_take(
				&dropped, timeline, &timeline->operations[process->first_operation + i]);
	for (size_t i = process->first_call; i < process->first_call + process->call_count; i++)
		if (timeline_call(timeline, i).result == 0)
			device_memory_take(&account, timeline,
				&timeline->operations[timeline_call(timeline, i).operation]);
	return account.reused || dropped.gave_back || dropped.bytes > 1 ? NAN : account.bytes;
}

struct device_memory device_memory(const struct analysis *analysis)
{
	const struct timeline *timeline = &analysis->timeline;
	struct device_memory memory = {0};

	for (size_t w = 0; w < analysis->worker_count && !memory.why; w++) {
		const struct timeline_process *process =
			&timeline->processes[analysis->workers[w].worker->process];

		memory.why = silent(analysis, process);
		if (!memory.why) {
			const double bytes = taken(timeline, process);

			if (isnan(bytes))
				memory.why =
					"memory was given back and taken again, and what is given back has no size";
			memory.bytes = fmax(memory.bytes, bytes);
		}
	}
	if (!memory.why && !(memory.bytes > 0))
		memory.why = "no allocation was recorded";
	if (memory.why)
		memory.bytes = NAN;
	return memory;
}
