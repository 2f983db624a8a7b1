/*
 * Iterations in time: see iteration.h. iteration_cut.c has cut the worker's calls into pieces; here they get
 * the input that belongs to them and a begin; iteration_end.c has the rest.
 */
#include "framework/framework.h"
#include "iteration_find.h"
#include "timeline/timeline_range.h"

#include <stdlib.h>
#include <string.h>

static bool copies_to_host(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_operation *operation = &timeline->operations[number];

	return timeline->functions[operation->function].kind == PM_KIND_COPY &&
	       timeline_direction(timeline, operation) == PM_DIRECTION_D2H;
}

uint64_t iteration_key(const struct worker_model *model, uint32_t number)
{
	const struct timeline_operation *operation = &model->timeline->operations[number];
	const struct worker_role *role = &model->roles[number];
	uint64_t key = mem_hash(MEM_HASH_START, operation->function), value;

	for (uint32_t i = 0; i < role->parameter_count + role->written_count; i++)
		key = mem_hash(key, model->parameters[model->touched[role->first_parameter + i]].address);
	if (timeline_value(model->timeline, operation, "func", &value))
		key = mem_hash(key, value);
	return key;
}

/* Is it what another stage of a pipeline hands on: the input of this one? */
static bool is_receive(const struct iteration_finder *finder, size_t position)
{
	uint32_t number = finder->operations[position];
	const struct flow *flow = &finder->model->flows[number];
	uint64_t peer;

	return flow->kind == PM_KIND_COMM && flow->access_count > 0 && flow_writes(&flow->accesses[0]) &&
	       timeline_value(finder->timeline, &finder->timeline->operations[number], "peer", &peer);
}

/* Calls after the last result fetched or exchanged. */
size_t iteration_input_start(const struct iteration_finder *finder, size_t first, size_t core)
{
	size_t start = core;

	while (start > first && !iteration_is_core(finder, start - 1) &&
		!iteration_is_copy_to_host(finder, start - 1) &&
		(iteration_operation_at(finder, start - 1)->kind != PM_KIND_COMM ||
			is_receive(finder, start - 1)))
		start--;
	return start;
}

size_t iteration_first_core(const struct iteration_finder *finder, size_t from, size_t end)
{
	while (from < end && !iteration_is_core(finder, from))
		from++;
	return from;
}

/* By piece: where its input begins. The caller frees it. */
static size_t *input_starts(const struct iteration_finder *finder)
{
	size_t *starts = mem_alloc(finder->piece_count, sizeof(*starts));

	for (size_t i = 0; i < finder->piece_count; i++) {
		const struct iteration_piece *piece = &finder->pieces[i];

		starts[i] = iteration_input_start(
			finder, piece->first, iteration_first_core(finder, piece->start, piece->end));
	}
	return starts;
}

/* The operation that most pieces begin with; false: there is none. */
static bool usual_start(const struct iteration_finder *finder, const size_t *starts, uint32_t *operation)
{
	size_t votes = 0, agree = 0;

	for (size_t i = 0; i < finder->piece_count; i++) {
		const uint32_t here = finder->operations[starts[i]];

		if (votes == 0)
			*operation = here;
		votes += *operation == here ? 1 : SIZE_MAX;
	}
	for (size_t i = 0; i < finder->piece_count; i++)
		agree += finder->operations[starts[i]] == *operation;
	return 2 * agree > finder->piece_count;
}

/*
 * Between its input and its first computation a step may exchange and fetch what others do not, as where
 * buckets of gradients are made anew after the first one: then it begins further in front, with the operation
 * that the others begin with.
 */
static void begin_as_usual(const struct iteration_finder *finder, size_t *starts)
{
	uint32_t operation = 0;

	if (!usual_start(finder, starts, &operation))
		return;
	for (size_t i = 1; i < finder->piece_count; i++) {
		size_t at = starts[i];

		while (at > finder->pieces[i].first && finder->operations[at] != operation &&
			!iteration_is_core(finder, at - 1))
			at--;
		if (finder->operations[at] == operation)
			starts[i] = at;
	}
}

/* ---- Times ---- */

int64_t iteration_begin_at(const struct iteration_finder *finder, size_t start)
{
	const struct timeline *timeline = finder->timeline;
	const struct worker *worker = finder->worker;
	int64_t begin_ns = iteration_call_at(finder, start).begin_ns, after_ns, done_ns;
	size_t read;

	if (start == 0)
		return begin_ns;
	after_ns = iteration_call_at(finder, start - 1).end_ns;
	if (after_ns < iteration_window_begin(finder, start))
		after_ns = iteration_window_begin(finder, start);
	read = worker_find(timeline, worker->reads, worker->read_count, after_ns);
	if (read < worker->read_count && timeline_call(timeline, worker->reads[read]).begin_ns < begin_ns)
		begin_ns = timeline_call(timeline, worker->reads[read]).begin_ns;
	/* The update before it may still run: until then the device belongs to the iteration before. */
	for (size_t i = start; i-- > 0;)
		if (iteration_is_core(finder, i)) {
			done_ns = timeline_call_end(timeline, TIMELINE_CALL(timeline, worker->calls[i]));
			return done_ns > begin_ns ? done_ns : begin_ns;
		}
	return begin_ns;
}

/* Does the host wait, or take memory, between this call of the worker and the one before? Loops seldom do. */
static bool is_set_up_before(const struct iteration_finder *finder, size_t position)
{
	const uint32_t *calls = finder->worker->calls;

	for (uint32_t i = position ? calls[position - 1] + 1 : calls[position]; i < calls[position]; i++) {
		enum pm_kind kind =
			timeline_function(finder->timeline, TIMELINE_CALL(finder->timeline, i))->kind;

		if (kind == PM_KIND_SYNC || kind == PM_KIND_ALLOC)
			return true;
	}
	return false;
}

/* The first with its mark, and the input read in it, though the device may still be at work before it. */
static void begin_marked(struct iteration_finder *finder, struct iteration *first)
{
	const struct worker *worker = finder->worker;
	const int64_t mark_ns = finder->pieces[0].begin_ns;

	first->first_read = worker_find(finder->timeline, worker->reads, worker->read_count,
		mark_ns && mark_ns < first->begin_ns ? mark_ns : first->begin_ns);
	if (first->read_end < first->first_read)
		first->read_end = first->first_read;
}

/* With nothing to compare: from the last wait before the first computation. */
static void begin_only(struct iteration_finder *finder, struct iteration *only)
{
	size_t start = iteration_first_core(finder, only->first_call, only->call_end);

	while (start > only->first_call && !is_set_up_before(finder, start))
		start--;
	only->first_call = start;
	only->begin_ns = iteration_begin_at(finder, start);
	only->first_read = worker_find(
		finder->timeline, finder->worker->reads, finder->worker->read_count, only->begin_ns);
	if (only->read_end < only->first_read)
		only->read_end = only->first_read;
}

/* Does the call bring input, or make room for it? */
static bool is_input(const struct iteration_finder *finder, size_t position)
{
	const enum pm_kind kind = iteration_operation_at(finder, position)->kind;

	return kind == PM_KIND_COPY || kind == PM_KIND_SET || is_receive(finder, position);
}

/* The first iteration begins with as many calls and reads of input as the second has. */
static void begin_first(
	struct iteration_finder *finder, struct iteration *first, const struct iteration *model)
{
	const struct timeline *timeline = finder->timeline;
	const struct worker *worker = finder->worker;
	const size_t input_end = iteration_first_core(finder, model->first_call, model->call_end);
	size_t input_count = 0;
	size_t core = iteration_first_core(finder, first->first_call, first->call_end);
	size_t read_count = model->read_end - model->first_read, read, set_up_end;

	for (size_t i = model->first_call; i < input_end; i++)
		input_count += is_input(finder, i);
	first->first_call = core;
	for (size_t i = core; i-- > 0 && input_count > 0;) {
		if (!is_input(finder, i))
			continue;
		first->first_call = i;
		input_count--;
	}
	first->begin_ns = iteration_call_at(finder, first->first_call).begin_ns;
	read = worker_find(timeline, worker->reads, worker->read_count, first->begin_ns);
	first->read_end = worker_find(timeline, worker->reads, worker->read_count,
		iteration_call_at(finder, first->call_end - 1).begin_ns);
	/* Those in front of the first copy, after the last call of the set-up, which may have read as well. */
	first->first_read = read > read_count ? read - read_count : 0;
	if (first->first_call > 0) {
		set_up_end = worker_find(timeline, worker->reads, worker->read_count,
			iteration_call_at(finder, first->first_call - 1).begin_ns);
		if (set_up_end > first->first_read)
			first->first_read = set_up_end;
	}
	if (first->first_read < read)
		first->begin_ns = timeline_call(timeline, worker->reads[first->first_read]).begin_ns;
}

/* ---- All together ---- */

static void place_iterations(struct iteration_finder *finder, struct iteration_list *list)
{
	const struct worker *worker = finder->worker;
	size_t *starts = input_starts(finder);

	begin_as_usual(finder, starts);
	for (size_t i = 0; i < finder->piece_count; i++) {
		struct iteration_piece *piece = &finder->pieces[i];
		struct iteration *item = &list->items[i];
		size_t core = iteration_first_core(finder, piece->start, piece->end);

		/* All that is done in a step belongs to it. */
		item->first_call = iteration_is_marked(finder) ? piece->first : starts[i];
		item->call_end = piece->end;
		item->usual = piece->structure == finder->usual;
		item->begin_ns = iteration_begin_at(finder, item->first_call);
		if (iteration_is_marked(finder) && piece->begin_ns)
			item->begin_ns = iteration_step_begin(finder, piece, item->first_call);
		/* Logging between two iterations belongs to the one before. */
		if (i > 0 && iteration_first_core(finder, piece->first, core) == core &&
			iteration_gap_in(finder, finder->pieces[i - 1].end, item->first_call) == SIZE_MAX)
			list->items[i - 1].call_end = item->first_call;
	}
	free(starts);
	for (size_t i = 0; i < list->count; i++) {
		struct iteration *item = &list->items[i];
		int64_t from_ns;

		item->shape = MEM_HASH_START;
		for (size_t j = item->first_call; j < item->call_end; j++)
			if (iteration_is_core(finder, j))
				item->shape = mem_hash(item->shape, iteration_operation_at(finder, j)->shape);
		/* By calls, not by time: input read ahead belongs to the iteration it was read before. */
		from_ns = item->first_call > 0 ? iteration_call_at(finder, item->first_call - 1).end_ns
					       : item->begin_ns;
		if (from_ns < iteration_window_begin(finder, item->first_call))
			from_ns = iteration_window_begin(finder, item->first_call);
		item->first_read = worker_find(finder->timeline, worker->reads, worker->read_count, from_ns);
		item->read_end = worker_find(finder->timeline, worker->reads, worker->read_count,
			i + 1 < list->count && item->call_end == list->items[i + 1].first_call
				? iteration_call_at(finder, item->call_end - 1).end_ns
				: iteration_call_at(finder, item->call_end - 1).begin_ns);
		if (item->read_end < item->first_read)
			item->read_end = item->first_read;
	}
}

static void know_operations(struct iteration_finder *finder)
{
	const struct timeline *timeline = finder->timeline;
	const struct worker *worker = finder->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];

	finder->first_operation = process->first_operation;
	finder->known = mem_alloc(process->operation_count, sizeof(*finder->known));
	finder->operations = mem_alloc(worker->call_count, sizeof(*finder->operations));
	for (size_t i = 0; i < worker->call_count; i++) {
		uint32_t number = timeline_call(timeline, worker->calls[i]).operation;
		struct iteration_operation *operation = &finder->known[number - process->first_operation];

		finder->operations[i] = number;
		if (!operation->known)
			*operation = (struct iteration_operation){
				.key = finder->model->opaque
					       ? sequence_key(timeline, &timeline->operations[number])
					       : iteration_key(finder->model, number),
				.shape = sequence_shape(timeline, number),
				.flags = finder->model->roles[number].flags,
				.kind = timeline->functions[timeline->operations[number].function].kind,
				.to_host = copies_to_host(timeline, number),
				.known = true};
	}
}

void iteration_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_options *options, struct iteration_list *list)
{
	struct iteration_finder finder = {
		.model = model, .timeline = model->timeline, .worker = worker, .rule = options->rule, .whole = options->whole};

	memset(list, 0, sizeof(*list));
	know_operations(&finder);
	iteration_cut(&finder);
	list->source = finder.source;
	if (finder.source == ITERATION_BY_STEPS)
		iteration_compare_steps(&finder, list);
	list->by_period = list->source == ITERATION_BY_PERIOD || list->sequence == ITERATION_BY_PERIOD;
	if (finder.piece_count == 0)
		goto out;
	list->items = mem_alloc(finder.piece_count, sizeof(*list->items));
	list->count = finder.piece_count;
	place_iterations(&finder, list);
	iteration_set_ends(&finder, list);
	if (iteration_is_marked(&finder))
		begin_marked(&finder, &list->items[0]);
	else if (list->count > 1)
		begin_first(
			&finder, &list->items[0], &list->items[finder.usual_piece ? finder.usual_piece : 1]);
	else
		begin_only(&finder, &list->items[0]);
	iteration_add_gap(list, 0, list->items[0].first_call, iteration_call_at(&finder, 0).begin_ns,
		list->items[0].begin_ns, ITERATION_SETUP);
	iteration_classify(&finder, list, options->skip);
	list->varies = finder.varies;
	if (finder.range) {
		list->range = finder.range->name;
		list->range_domain = finder.range->domain;
		list->range_agrees = finder.range_agrees;
	}
out:
	list->framework = finder.framework;
	list->candidates = finder.candidates;
	free(finder.marks);
	free(finder.operations);
	free(finder.known);
	free(finder.pieces);
}

bool iteration_is_searched(const struct iteration_list *list)
{
	return list->source == ITERATION_BY_NAMES || list->source == ITERATION_BY_PERIOD ||
	       list->source == ITERATION_BY_RANGES;
}

struct framework *iteration_framework(struct iteration_finder *finder)
{
	if (!finder->framework)
		finder->framework = framework_read(
			finder->timeline, &finder->timeline->processes[finder->worker->process]);
	return finder->framework;
}

void iteration_forget_framework(struct iteration_list *list)
{
	framework_free(list->framework);
	list->framework = NULL;
}

void iteration_free(struct iteration_list *list)
{
	iteration_forget_framework(list);
	free(list->items);
	free(list->gaps);
	memset(list, 0, sizeof(*list));
}
