/* What calls are for, and whose intervals are: see role.h. */
#include "role.h"
#include "output/report.h"
#include "timeline/timeline_range.h"

#include <inttypes.h>

#define MOST_LAYERS 4 /* named of a call that serves several */

/* As phase_find sees the worker's calls: the same computation in another iteration has the same role. */
void export_label_calls(
	const struct analysis *analysis, const struct analysis_worker *worker, struct export_label *labels)
{
	const struct worker *calls = worker->worker;
	const struct worker_model *model = &analysis->model;
	const struct timeline *timeline = &analysis->timeline;
	size_t first = timeline->processes[calls->process].first_call;
	struct layer_gap gap = {0};
	size_t next = 0;

	for (size_t i = 0; i < calls->call_count; i++) {
		uint32_t operation = timeline_call(timeline, calls->calls[i]).operation;
		const struct iteration *item = NULL;

		while (next < worker->iterations.count && i >= worker->iterations.items[next].call_end) {
			next++;
			gap = (struct layer_gap){0};
		}
		if (next < worker->iterations.count && i >= worker->iterations.items[next].first_call)
			item = &worker->iterations.items[next];
		labels[calls->calls[i] - first] = (struct export_label){
			.role = phase_role(model, calls, &worker->layers, item ? next : PHASE_NO_ITERATION,
				&gap, operation),
			.layers = &worker->layers,
			.iteration = item ? (uint32_t)next + 1 : 0,
		};
	}
	for (size_t i = 0; i < worker->iterations.count; i++) {
		const struct iteration *item = &worker->iterations.items[i];

		for (size_t j = item->first_read; j < item->read_end; j++)
			labels[calls->reads[j] - first] = (struct export_label){
				.layers = &worker->layers, .iteration = (uint32_t)i + 1, .reads = true};
	}
}

void export_put_label(struct export_out *out, const struct export_label *label)
{
	if (!label->layers)
		return;
	export_format(out, ",\"phase\":\"%s\"", phase_symbols[label->reads ? PHASE_IO : label->role->phase]);
	if (!label->reads && label->role->part_count) {
		const struct layer_part *parts = &label->layers->parts[label->role->first_part];
		uint32_t count = label->role->part_count;

		export_format(out, ",\"layer\":\"");
		for (uint32_t i = 0; i < count && i < MOST_LAYERS; i++) {
			export_format(out, "%s", i ? ", " : "");
			export_text(out, layer_title(&label->layers->items[parts[i].layer]));
		}
		if (count > MOST_LAYERS)
			export_format(out, " and %" PRIu32 " more", count - MOST_LAYERS);
		export_format(out, "\"");
	}
	if (!label->reads && label->role->again)
		export_format(out, ",\"recomputed\":true");
	if (label->iteration)
		export_format(out, ",\"iteration\":%" PRIu32, label->iteration - 1);
}

void export_find_owners(
	const struct timeline *timeline, const struct timeline_process *process, uint32_t *owners)
{
	for (size_t i = 0; i < process->interval_count; i++)
		owners[i] = EXPORT_NOBODY;
	for (size_t i = 0; i < process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, process->first_call + i);

		for (uint32_t j = 0; j < call->interval_count; j++) {
			uint32_t *owner = &owners[call->interval + j - process->first_interval];

			if (*owner == EXPORT_NOBODY)
				*owner = (uint32_t)(process->first_call + i);
		}
	}
}

const char *export_work_name(const struct timeline *timeline, uint32_t operation)
{
	const struct timeline_operation *item = &timeline->operations[operation];
	const struct timeline_function *function = &timeline->functions[item->function];
	uint64_t name;

	if (function->kind == PM_KIND_LAUNCH && timeline_value(timeline, item, "name", &name) && name &&
		name < timeline->string_count)
		return timeline->strings[name];
	return function->name;
}

int64_t export_earliest(const struct analysis *analysis)
{
	const struct timeline *timeline = &analysis->timeline;
	int64_t least_ns = INT64_MAX;

	for (size_t i = 0; i < timeline->call_count; i++)
		if (timeline_call(timeline, i).begin_ns < least_ns)
			least_ns = timeline_call(timeline, i).begin_ns;
	for (size_t i = 0; i < timeline->interval_count; i++)
		if (timeline_interval(timeline, i).begin_ns < least_ns)
			least_ns = timeline_interval(timeline, i).begin_ns;
	for (size_t i = 0; i < timeline->range_count; i++)
		if (timeline->ranges[i].begin_ns < least_ns)
			least_ns = timeline->ranges[i].begin_ns;
	for (size_t w = 0; w < analysis->worker_count + analysis->idle_count; w++) {
		const struct iteration_list *list = &analysis->workers[w].iterations;

		for (size_t i = 0; i < list->count; i++)
			if (list->items[i].begin_ns < least_ns)
				least_ns = list->items[i].begin_ns;
		for (size_t i = 0; i < list->gap_count; i++)
			if (list->gaps[i].begin_ns < least_ns)
				least_ns = list->gaps[i].begin_ns;
	}
	return least_ns == INT64_MAX ? 0 : least_ns;
}
