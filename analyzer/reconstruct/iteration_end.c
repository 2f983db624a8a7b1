/*
 * Where iterations end: with the results that are fetched, before what lies between them, which gets a name.
 */
#include "iteration_find.h"
#include "import/imported_timeline.h"

/* When the last iteration is done: its work, and the waiting for it that follows directly. */
static int64_t end_of_last(const struct iteration_finder *finder, const struct iteration *iteration)
{
	const struct timeline *timeline = finder->timeline;
	const struct timeline_process *process = &timeline->processes[finder->worker->process];
	uint32_t last = finder->worker->calls[iteration->call_end - 1];
	int64_t end_ns = iteration->begin_ns;

	for (size_t i = iteration->first_call; i < iteration->call_end; i++) {
		const struct timeline_call call = iteration_call_at(finder, i);
		int64_t done_ns = timeline_call_end(timeline, &call);

		if (call.end_ns > done_ns)
			done_ns = call.end_ns;
		if (done_ns > end_ns)
			end_ns = done_ns;
	}
	for (size_t i = last + 1; i < process->first_call + process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, i);
		enum pm_kind kind = timeline_function(timeline, call)->kind;

		if (call->thread != timeline_call(timeline, last).thread)
			continue;
		if (kind != PM_KIND_SYNC && kind != PM_KIND_SETUP && kind != PM_KIND_EVENT)
			break;
		if (kind == PM_KIND_SYNC && call->end_ns > end_ns && call->begin_ns <= end_ns)
			end_ns = call->end_ns;
	}
	return end_ns;
}

void iteration_add_gap(struct iteration_list *list, size_t first, size_t end, int64_t begin_ns,
	int64_t end_ns, enum iteration_gap_kind kind)
{
	if (end <= first)
		return;
	*MEM_PUSH(list->gaps, list->gap_count, list->gap_room) =
		(struct iteration_gap){begin_ns, end_ns, end - first, kind};
}

static enum iteration_gap_kind gap_kind(const struct iteration_finder *finder, size_t first, size_t end)
{
	bool forward = false;

	if (iteration_is_more_than_forward(finder, first, end))
		return ITERATION_PARTIAL;
	for (size_t i = first; i < end && finder->marks; i++)
		forward |= finder->marks[i] & SEQUENCE_FORWARD;
	for (size_t i = first; i < end; i++)
		forward |= (iteration_operation_at(finder, i)->flags & WORKER_READS) ||
			   iteration_operation_at(finder, i)->kind == PM_KIND_FORWARD;
	return forward ? ITERATION_EVALUATION : ITERATION_REST;
}

/* The same at the end of what was recorded: a forward pass there is a part of an iteration where windows cut.
 */
static enum iteration_gap_kind cut_kind(const struct iteration_finder *finder, size_t first, size_t end)
{
	enum iteration_gap_kind kind = gap_kind(finder, first, end);

	if (kind == ITERATION_EVALUATION &&
		finder->timeline->processes[finder->worker->process].window_count > 0)
		return ITERATION_PARTIAL;
	return kind;
}

/* How many results are fetched directly after the last computation of a usual iteration. */
static size_t trailing_copies(const struct iteration_finder *finder, const struct iteration_list *list)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i + 1 < list->count; i++) {
		size_t count = 0;

		if (!list->items[i].usual)
			continue;
		while (finder->pieces[i].end + count < finder->worker->call_count &&
			iteration_is_copy_to_host(finder, finder->pieces[i].end + count))
			count++;
		if (count < least)
			least = count;
	}
	return least == SIZE_MAX ? 0 : least;
}

/* Calls from where recording went on to the first iteration there. */
static void add_rest_of_window(
	struct iteration_finder *finder, struct iteration_list *list, size_t first, size_t end)
{
	if (iteration_first_core(finder, first, end) < end)
		iteration_add_gap(list, first, end, iteration_call_at(finder, first).begin_ns,
			iteration_call_at(finder, end).begin_ns, gap_kind(finder, first, end));
}

void iteration_set_ends(struct iteration_finder *finder, struct iteration_list *list)
{
	size_t trailing = trailing_copies(finder, list), after;

	for (size_t i = 0; i < list->count; i++) {
		struct iteration *item = &list->items[i];
		size_t next =
			i + 1 < list->count ? list->items[i + 1].first_call : finder->worker->call_count;
		size_t core,
			gap = i + 1 < list->count ? iteration_gap_in(finder, item->call_end, next) : SIZE_MAX;
		bool last = i + 1 == list->count || gap != SIZE_MAX; /* before recording stopped */

		if (gap < next)
			next = gap;
		for (size_t j = 0; j < trailing && item->call_end < next &&
				   iteration_is_copy_to_host(finder, item->call_end);
			j++)
			item->call_end++;
		if (!last && item->call_end == next) {
			item->end_ns = list->items[i + 1].begin_ns;
			continue;
		}
		core = iteration_first_core(finder, item->call_end, next);
		after = iteration_input_start(finder, item->call_end, core);
		if (!last && core < next) {
			item->call_end = after;
			item->end_ns = iteration_begin_at(finder, after);
			iteration_add_gap(list, after, next, item->end_ns, list->items[i + 1].begin_ns,
				gap_kind(finder, after, next));
		} else if (!last) {
			item->end_ns = list->items[i + 1].begin_ns;
		} else {
			item->end_ns = end_of_last(finder, item);
			if (finder->source == ITERATION_BY_STEPS && finder->pieces[i].end_ns > item->end_ns)
				item->end_ns = finder->pieces[i].end_ns;
			if (core < next)
				iteration_add_gap(list, after, next, iteration_begin_at(finder, after),
					iteration_call_at(finder, next - 1).end_ns,
					cut_kind(finder, after, next));
			if (i + 1 < list->count)
				add_rest_of_window(finder, list, next, list->items[i + 1].first_call);
		}
	}
	/* Times never run backwards, whatever the clocks say. */
	for (size_t i = 0; i < list->count; i++) {
		struct iteration *item = &list->items[i];

		/* Labelled phases have nothing between steps, which is not of a step then. */
		if (finder->source == ITERATION_BY_STEPS && imported_timeline_is_labels(finder->timeline) &&
			finder->pieces[i].end_ns < item->end_ns)
			item->end_ns = finder->pieces[i].end_ns;
		if (i > 0 && item->begin_ns < list->items[i - 1].end_ns)
			item->begin_ns = list->items[i - 1].end_ns;
		if (item->end_ns < item->begin_ns)
			item->end_ns = item->begin_ns;
	}
}
