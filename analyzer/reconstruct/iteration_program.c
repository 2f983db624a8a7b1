/*
 * Iterations by runs of programs that XLA compiled: one with gradients and what makes weights of them is a step. Of several
 * programs, as a GAN's, the one that runs most often leads: an iteration ends with the last run before the next of its.
 */
#include "framework/framework_xla.h"
#include "iteration_find.h"

#include <stdlib.h>

#define LEAST_RUNS 2

struct run {
	const struct hlo_module *module;
	size_t end; /* the position after its last call */
};

struct runs {
	struct run *items;
	size_t count, room;
};

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
		if (xla_run(xla, range) != last)
			*MEM_PUSH(runs->items, runs->count, runs->room) = (struct run){.module = module};
		runs->items[runs->count - 1].end = i + 1;
		last = xla_run(xla, range);
	}
}

static size_t count_of(const struct runs *runs, const struct hlo_module *module)
{
	size_t count = 0;

	for (size_t i = 0; i < runs->count; i++)
		count += runs->items[i].module == module;
	return count;
}

/* Of those that run as often the first. */
static const struct hlo_module *leading_module(const struct runs *runs)
{
	const struct hlo_module *leading = NULL;
	size_t most = 0;

	for (size_t i = 0; i < runs->count; i++) {
		const struct hlo_module *module = runs->items[i].module;

		if (module == leading || count_of(runs, module) <= most)
			continue;
		leading = module;
		most = count_of(runs, module);
	}
	return leading;
}

static void cut(struct iteration_finder *finder, const struct runs *runs)
{
	const struct hlo_module *leading = leading_module(runs);
	size_t first = 0, end = 0;
	bool open = false;

	for (size_t i = 0; i < runs->count; i++) {
		if (runs->items[i].module == leading && open) {
			iteration_add_piece(finder, first, end);
			first = end;
		}
		open |= runs->items[i].module == leading;
		end = runs->items[i].end;
	}
	if (open)
		iteration_add_piece(finder, first, end);
}

bool iteration_cut_programs(struct iteration_finder *finder)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	struct xla *xla = xla_read(finder->timeline, process);
	struct runs runs = {.items = NULL};

	if (!xla)
		return false;
	list_runs(finder, xla, &runs);
	if (runs.count >= LEAST_RUNS)
		cut(finder, &runs);
	free(runs.items);
	xla_free(xla);
	if (finder->piece_count >= LEAST_RUNS)
		return true;
	finder->piece_count = 0;
	return false;
}
