/* The rules that decided, call by call: see why.h. */
#include "why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is work on the device: not the host's reads of files, synchronisation or memory being allocated. */
static bool is_work(const struct worker_model *model, const struct timeline_call *call)
{
	switch (model->flows[call->operation].kind) {
	case PM_KIND_FORWARD:
	case PM_KIND_BACKWARD:
	case PM_KIND_COMPUTE:
	case PM_KIND_LAUNCH:
	case PM_KIND_COPY:
	case PM_KIND_SET:
	case PM_KIND_COMM:
		return true;
	default:
		return call->interval_count > 0;
	}
}

static void set_layer(struct why_row *row, const struct layer_list *layers, const struct layer_role *role)
{
	double greatest = 0;

	row->layer = "";
	row->layers = role->part_count;
	for (uint32_t i = 0; i < role->part_count; i++) {
		const struct layer_part *part = &layers->parts[role->first_part + i];

		if (part->share <= greatest)
			continue;
		greatest = part->share;
		row->layer = layer_title(&layers->items[part->layer]);
	}
}

static void add_row(struct why *why, const struct analysis_walk *at)
{
	const struct timeline *timeline = &at->analysis->timeline;
	const struct layer_list *layers = &at->worker->layers;
	const struct timeline_process *process = &timeline->processes[at->worker->worker->process];
	const bool placed =
		!(at->analysis->model.roles[at->call.operation].flags & WORKER_CORE) &&
		at->role != &layers->operation_roles[at->call.operation - process->first_operation] &&
		!layer_is_beside_role(layers, at->role);
	struct why_row *row = MEM_PUSH(why->rows, why->row_count, why->row_room);

	*row = (struct why_row){.call = at->number,
		.phase = at->role->phase,
		.reason = at->role->reason,
		.time_ns = at->call.interval_count && !at->is_shared
				   ? timeline_device_ns(timeline, &at->call)
				   : NAN};
	if (placed) /* the role is that of the call before it or after it */
		row->reason = (struct layer_reason){.phase = LAYER_RULE_PLACE, .layer = LAYER_RULE_PLACE};
	set_layer(row, layers, at->role);
	if (row->layers == 0)
		row->reason.layer = LAYER_RULE_NONE;
}

/* The rows that other rows name: by number of the call, which is in no order. */
static void find_others(struct why *why)
{
	uint32_t first = UINT32_MAX, last = 0;
	size_t *rows; /* by call from the first on: row + 1 */

	for (size_t i = 0; i < why->row_count; i++) {
		first = why->rows[i].call < first ? why->rows[i].call : first;
		last = why->rows[i].call > last ? why->rows[i].call : last;
	}
	rows = mem_alloc(why->row_count ? (size_t)(last - first) + 1 : 0, sizeof(*rows));
	for (size_t i = 0; i < why->row_count; i++)
		rows[why->rows[i].call - first] = i + 1;
	for (size_t i = 0; i < why->row_count; i++) {
		const uint32_t other = why->rows[i].reason.call; /* + 1 */

		if (other > first && other - 1 <= last)
			why->rows[i].other = rows[other - 1 - first];
	}
	free(rows);
}

static int by_time(const void *left, const void *right)
{
	const struct why_share *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	return (a->count < b->count) - (a->count > b->count);
}

/* Adds each row to its rule's share, then leaves those of rules that decided something. */
static size_t add_up(const struct why *why, struct why_share *shares, bool layers)
{
	size_t count = 0;

	for (int rule = 0; rule < LAYER_RULE_COUNT; rule++)
		shares[rule] = (struct why_share){.rule = (enum layer_rule)rule};
	for (size_t i = 0; i < why->row_count; i++) {
		const struct why_row *row = &why->rows[i];
		struct why_share *share = &shares[layers ? row->reason.layer : row->reason.phase];

		share->count++;
		share->known += isnan(row->time_ns) ? 0 : 1;
		share->time_ns += isnan(row->time_ns) ? 0 : row->time_ns;
	}
	qsort(shares, LAYER_RULE_COUNT, sizeof(*shares), by_time);
	while (count < LAYER_RULE_COUNT && shares[count].count > 0)
		count++;
	return count;
}

void why_find(const struct analysis *analysis, const struct analysis_worker *worker, struct why *why)
{
	struct analysis_walk at = analysis_walk(analysis, worker, worker->layers.iteration);

	memset(why, 0, sizeof(*why));
	why->iteration = worker->layers.iteration;
	while (analysis_next(&at))
		if (is_work(&analysis->model, &at.call))
			add_row(why, &at);
	find_others(why);
	for (size_t i = 0; i < why->row_count; i++) {
		if (isnan(why->rows[i].time_ns))
			why->unknown_count++;
		else
			why->time_ns += why->rows[i].time_ns;
	}
	why->phase_count = add_up(why, why->phases, false);
	why->layer_count = add_up(why, why->layers, true);
}

void why_free(struct why *why)
{
	free(why->rows);
	memset(why, 0, sizeof(*why));
}
