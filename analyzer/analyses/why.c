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
		row->reason = (struct layer_reason){.phase = LAYER_WHY_PLACE,
			.layer = LAYER_WHY_PLACE,
			.phase_decided = RULE_CALL_BESIDE + 1,
			.layer_decided = RULE_CALL_BESIDE + 1};
	set_layer(row, layers, at->role);
	if (row->layers == 0) {
		row->reason.layer = LAYER_WHY_NONE;
		row->reason.layer_decided = 0;
	}
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
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return a->says != b->says ? (a->says > b->says) - (a->says < b->says)
				  : (a->rule > b->rule) - (a->rule < b->rule);
}

/* Do two rules decide by the same, as surely? */
static bool is_alike(enum rule rule, enum rule other)
{
	if (rule == RULE_NONE || other == RULE_NONE)
		return rule == other;
	return rule_rows[rule].evidence == rule_rows[other].evidence &&
	       rule_rows[rule].strength == rule_rows[other].strength;
}

static struct why_share *share_of(struct why_shares *shares, enum layer_why says, enum rule rule)
{
	struct why_share *share;

	for (size_t i = 0; i < shares->count; i++)
		if (shares->items[i].says == says && is_alike(shares->items[i].rule, rule))
			return &shares->items[i];
	share = MEM_PUSH(shares->items, shares->count, shares->room);
	*share = (struct why_share){.says = says, .rule = rule};
	return share;
}

static void add_share(struct why_shares *shares, const struct why_row *row, bool layer)
{
	const struct layer_reason *reason = &row->reason;
	const uint8_t decided = layer ? reason->layer_decided : reason->phase_decided;
	struct why_share *share = share_of(shares, layer ? reason->layer : reason->phase,
		decided ? (enum rule)(decided - 1) : RULE_NONE);

	share->count++;
	share->known += isnan(row->time_ns) ? 0 : 1;
	share->time_ns += isnan(row->time_ns) ? 0 : row->time_ns;
}

double why_strength(const struct why_shares *shares, enum rule_strength strength)
{
	double all_ns = 0, ns = 0;

	for (size_t i = 0; i < shares->count; i++) {
		const struct why_share *share = &shares->items[i];

		if (share->rule == RULE_NONE)
			continue;
		all_ns += share->time_ns;
		ns += rule_rows[share->rule].strength == strength ? share->time_ns : 0;
	}
	return all_ns > 0 ? ns / all_ns : NAN;
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
	for (size_t i = 0; i < why->row_count; i++) {
		add_share(&why->phases, &why->rows[i], false);
		add_share(&why->layers, &why->rows[i], true);
	}
	qsort(why->phases.items, why->phases.count, sizeof(*why->phases.items), by_time);
	qsort(why->layers.items, why->layers.count, sizeof(*why->layers.items), by_time);
}

void why_free(struct why *why)
{
	free(why->rows);
	free(why->phases.items);
	free(why->layers.items);
	memset(why, 0, sizeof(*why));
}
