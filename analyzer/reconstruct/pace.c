/* The steps of a long run: see pace.h. */
#include "pace.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 8 /* of the last iterations */

/* The operation of the worker's call with this number, without its addresses. */
static uint32_t base_at(const struct timeline *timeline, const struct worker *worker, size_t number)
{
	return timeline_base(timeline, timeline_call(timeline, worker->calls[number]).operation);
}

bool pace_once(const struct timeline *timeline, const struct worker *worker,
	const struct iteration_list *list, uint32_t *once)
{
	const struct timeline_process *process = &timeline->processes[worker->process];
	uint32_t *counts = mem_alloc(process->operation_count, sizeof(*counts));
	size_t looked_at = 0;

	for (size_t i = list->count; i > 0 && looked_at < LOOKED_AT; i--) {
		const struct iteration *item = &list->items[i - 1];

		if (!item->usual)
			continue;
		looked_at++;
		memset(counts, 0, process->operation_count * sizeof(*counts));
		for (size_t k = item->first_call; k < item->call_end; k++)
			counts[base_at(timeline, worker, k) - process->first_operation]++;
		for (uint32_t op = 0; op < process->operation_count; op++)
			once[op] += counts[op] == 1;
	}
	for (uint32_t op = 0; op < process->operation_count; op++)
		once[op] = looked_at > 0 && once[op] == looked_at;
	free(counts);
	return looked_at > 0;
}

static size_t distance(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/* How sure it is that only iterations call it: an evaluation goes forward alone, and copies. */
static int rank_of(enum phase phase)
{
	return phase == PHASE_BACKWARD ? 2 : phase == PHASE_UPDATE ? 1 : 0;
}

/*
 * Of the operations that each iteration calls once, and that are called about as often as there are
 * iterations, that of which it is surest that only iterations call it; of several the first in an iteration.
 * 0: there is none.
 */
static uint32_t find_operation(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *list, const struct layer_list *layers)
{
	const struct timeline *timeline = model->timeline;
	const struct timeline_process *process = &timeline->processes[worker->process];
	const struct iteration *usual = &list->items[list->model];
	/* each window may have parts of two iterations more */
	const size_t most = 2 * (size_t)process->window_count + list->count / 50;
	uint32_t *once = mem_alloc(process->operation_count, sizeof(*once));
	size_t *calls = mem_alloc(process->operation_count, sizeof(*calls));
	struct layer_gap gap = {0};
	uint32_t found = 0;
	int best = -1;

	for (size_t i = 0; i < worker->call_count; i++)
		calls[base_at(timeline, worker, i) - process->first_operation]++;
	if (!pace_once(timeline, worker, list, once))
		goto out;
	for (size_t i = usual->first_call; i < usual->call_end; i++) {
		const struct timeline_call call = timeline_call(timeline, worker->calls[i]);
		const uint32_t operation = call.operation;
		const uint32_t base = timeline_base(timeline, operation);
		const uint32_t op = base - process->first_operation;
		const struct layer_role *role =
			phase_role(model, worker, layers, list->model, &gap, operation);

		/* what a graph does again is in no trace as a call */
		if (call.flags & TIMELINE_FLAG_REPLAYED)
			continue;
		if (!once[op] || distance(calls[op], list->count) > most || rank_of(role->phase) <= best)
			continue;
		best = rank_of(role->phase);
		found = base;
	}
out:
	free(once);
	free(calls);
	return found;
}

/* When the calls of an operation began, where all of them were read. */
static int64_t *list_begins(
	const struct timeline *timeline, const struct worker *worker, uint32_t operation, size_t *count)
{
	int64_t *begins = mem_alloc(worker->call_count, sizeof(*begins));

	*count = 0;
	for (size_t i = 0; i < worker->call_count; i++)
		if (base_at(timeline, worker, i) == operation)
			begins[(*count)++] = timeline_call(timeline, worker->calls[i]).begin_ns;
	return begins;
}

void pace_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers, struct pace *pace)
{
	const struct timeline *timeline = model->timeline;
	const struct timeline_process *process = &timeline->processes[worker->process];

	*pace = (struct pace){0};
	/* without pauses, of which pace_steps does not know then */
	if (!process->trace && (iterations->counts[ITERATION_UNTIMED] == 0 || process->window_count > 0))
		return;
	if (iterations->count == 0)
		return;
	pace->operation = find_operation(model, worker, iterations, layers);
	if (!pace->operation)
		return;
	pace->begin_ns = process->trace
				 ? timeline_begins(process, pace->operation, worker->device, &pace->count)
				 : list_begins(timeline, worker, pace->operation, &pace->count);
	while (pace->count > 0 && pace->before < iterations->count &&
		timeline_call(timeline, worker->calls[iterations->items[pace->before].call_end - 1])
				.begin_ns < pace->begin_ns[0])
		pace->before++;
}

void pace_free(struct pace *pace)
{
	free(pace->begin_ns);
	*pace = (struct pace){0};
}

/* The first call at or after `ns`. */
static size_t find_begin(const struct pace *pace, int64_t ns)
{
	size_t low = 0, high = pace->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (pace->begin_ns[middle] < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t pace_number(const struct pace *pace, const struct timeline *timeline, const struct worker *worker,
	const struct iteration *iteration)
{
	return pace->before +
	       find_begin(pace, timeline_call(timeline, worker->calls[iteration->first_call]).begin_ns);
}

/* Was recording off between the two calls for a while? */
static bool is_paused(const struct timeline_process *process, const int64_t *pauses, size_t count,
	int64_t begin_ns, int64_t end_ns)
{
	for (size_t i = 0; i < count; i++)
		if (pauses[i] + process->moved_ns > begin_ns && pauses[i] + process->moved_ns <= end_ns)
			return true;
	return false;
}

/* When recording went on after a pause; *count of them, freed by the caller. */
static int64_t *list_pauses(const struct trace *trace, size_t *count)
{
	int64_t *pauses = mem_alloc((trace ? trace->window_count : 0) + 1, sizeof(*pauses));

	*count = 0;
	for (size_t i = 1; trace && i < trace->window_count; i++)
		if (trace->windows[i].open)
			pauses[(*count)++] = trace_ns(trace, trace->windows[i].ticks);
	return pauses;
}

struct length {
	double ns;
	size_t step;
};

/* Longest first; of equal ones the first. */
static int compare_lengths(const void *left, const void *right)
{
	const struct length *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

static void find_slow(const struct length *lengths, struct pace_steps *steps)
{
	double sum_ns = 0, more_ns = 0;

	for (size_t i = 0; i < steps->count; i++) {
		sum_ns += lengths[i].ns;
		if (lengths[i].ns > PACE_SLOW * steps->median_ns) {
			more_ns += lengths[i].ns - steps->median_ns;
			steps->slow++;
		}
	}
	if ((double)steps->slow > PACE_FEW * (double)steps->count) {
		steps->slow = SIZE_MAX;
		return;
	}
	steps->slow_share = sum_ns > 0 ? more_ns / sum_ns : 0;
	for (size_t i = 0; i < sizeof(steps->longest) / sizeof(*steps->longest) && i < steps->slow; i++) {
		steps->longest[i] = lengths[i].step;
		steps->longest_ns[i] = lengths[i].ns;
	}
}

bool pace_steps(const struct pace *pace, const struct timeline_process *process, struct pace_steps *steps)
{
	struct length *lengths;
	int64_t *pauses;
	size_t pause_count;

	*steps = (struct pace_steps){0};
	if (pace->count <= PACE_LEAST)
		return false;
	lengths = mem_alloc(pace->count, sizeof(*lengths));
	pauses = list_pauses(process->trace, &pause_count);
	for (size_t i = 1; i < pace->count; i++)
		if (!is_paused(process, pauses, pause_count, pace->begin_ns[i - 1], pace->begin_ns[i]))
			lengths[steps->count++] = (struct length){
				(double)(pace->begin_ns[i] - pace->begin_ns[i - 1]), pace->before + i - 1};
	qsort(lengths, steps->count, sizeof(*lengths), compare_lengths);
	if (steps->count >= PACE_LEAST) {
		steps->median_ns = lengths[steps->count / 2].ns;
		steps->most_ns = lengths[steps->count / 100].ns;
		find_slow(lengths, steps);
	}
	free(pauses);
	free(lengths);
	return steps->count >= PACE_LEAST;
}
