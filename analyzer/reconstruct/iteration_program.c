/*
 * Iterations by runs of programs that XLA compiled: one with gradients and what makes weights of them is a
 * step. Of several programs, as a GAN's, the one that runs most often leads: an iteration ends with the last
 * run before the next of its.
 */
#include "framework/framework_xla.h"
#include "iteration_find.h"
#include "timeline/constants.h"

#include <stdlib.h>

struct program {
	const struct hlo_module *module;
	size_t count; /* of its runs */
};

struct run {
	uint32_t program; /* index into programs */
	size_t end;       /* the position after its last call */
};

struct runs {
	struct run *items;
	size_t count, room;
	struct program *programs; /* in order of their first runs */
	size_t program_count, program_room;
};

static uint32_t program_of(struct runs *runs, const struct hlo_module *module)
{
	for (uint32_t i = 0; i < runs->program_count; i++)
		if (runs->programs[i].module == module)
			return i;
	*MEM_PUSH(runs->programs, runs->program_count, runs->program_room) =
		(struct program){.module = module};
	return (uint32_t)runs->program_count - 1;
}

/* Those of the worker, in order of their first calls. */
static void list_runs(const struct iteration_finder *finder, const struct xla *xla, struct runs *runs)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	uint32_t last = TIMELINE_NO_RANGE;

	for (size_t i = 0; i < finder->worker->call_count; i++) {
		const struct timeline_call call = iteration_call_at(finder, i);
		const uint32_t range =
			timeline_range_at(finder->timeline, process, call.thread, call.begin_ns);
		const struct hlo_module *module = xla_module(xla, range);

		if (!module || !module->steps)
			continue;
		if (xla_run(xla, range) != last) {
			const uint32_t program = program_of(runs, module);

			runs->programs[program].count++;
			*MEM_PUSH(runs->items, runs->count, runs->room) = (struct run){.program = program};
		}
		runs->items[runs->count - 1].end = i + 1;
		last = xla_run(xla, range);
	}
}

/* Of those that run as often the first. */
static uint32_t leading_program(const struct runs *runs)
{
	uint32_t leading = 0;

	for (uint32_t i = 1; i < runs->program_count; i++)
		if (runs->programs[i].count > runs->programs[leading].count)
			leading = i;
	return leading;
}

static void cut(struct iteration_finder *finder, const struct runs *runs)
{
	struct iteration_mark *marks = mem_alloc(runs->count, sizeof(*marks));
	const uint32_t leading = leading_program(runs);

	for (size_t i = 0; i < runs->count; i++)
		marks[i] = (struct iteration_mark){runs->items[i].end, runs->items[i].program == leading};
	iteration_cut_at_marks(finder, marks, runs->count);
	free(marks);
}

bool iteration_cut_programs(struct iteration_finder *finder)
{
	struct framework *framework = iteration_framework(finder);
	const struct xla *xla = framework ? framework_xla(framework) : NULL;
	struct runs runs = {.items = NULL};

	if (!xla)
		return false;
	list_runs(finder, xla, &runs);
	cut(finder, &runs);
	free(runs.items);
	free(runs.programs);
	if (finder->piece_count >= LEAST_STEPS)
		return true;
	finder->piece_count = 0;
	return false;
}
