/*
 * Cutting a worker's calls into iterations: by the updates of its parameters that the flow of data tells,
 * or by names and what repeats (iteration_search.h); then the usual sequence (iteration_usual.c).
 */
#include "iteration_find.h"
#include "iteration_search.h"
#include "rule_driver.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

static const struct timeline_window *windows_of(const struct iteration_finder *finder, uint32_t *count)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];

	*count = process->window_count;
	return MEM_AT(finder->timeline->windows, process->first_window);
}

size_t iteration_gap_in(const struct iteration_finder *finder, size_t first, size_t end)
{
	const struct worker *worker = finder->worker;
	const struct timeline_window *windows;
	uint32_t count;

	windows = windows_of(finder, &count);
	for (uint32_t i = 1; i < count; i++) {
		size_t position =
			worker_find(finder->timeline, worker->calls, worker->call_count, windows[i].begin_ns);

		if (position >= first && position <= end && position > 0)
			return position;
	}
	return SIZE_MAX;
}

int64_t iteration_window_begin(const struct iteration_finder *finder, size_t position)
{
	int64_t call_ns = iteration_call_at(finder, position).begin_ns, begin_ns = INT64_MIN;
	const struct timeline_window *windows;
	uint32_t count;

	windows = windows_of(finder, &count);
	for (uint32_t i = 1; i < count && windows[i].begin_ns <= call_ns; i++)
		begin_ns = windows[i].begin_ns;
	return begin_ns;
}

void iteration_add_piece(struct iteration_finder *finder, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (iteration_is_core(finder, i)) {
			*MEM_PUSH(finder->pieces, finder->piece_count, finder->piece_room) =
				(struct iteration_piece){.first = first, .start = first, .end = end};
			return;
		}
}

void iteration_cut_at_marks(struct iteration_finder *finder, const struct iteration_mark *marks, size_t count)
{
	size_t first = 0, end = 0;
	bool open = false;

	for (size_t i = 0; i < count; i++) {
		if (marks[i].leads && open) {
			iteration_add_piece(finder, first, end);
			first = end;
		}
		open |= marks[i].leads;
		end = marks[i].end;
	}
	if (open)
		iteration_add_piece(finder, first, end);
}

RULE_SEARCH(cut, bool, false, struct iteration_finder, context->by)

/*
 * A new iteration begins when forward work reads a parameter that was updated since the last cut; the cut is
 * after the last update before it. So updates may be spread over the backward pass.
 */
static void cut_at_updates(struct iteration_finder *finder)
{
	const struct worker_model *model = finder->model;
	uint32_t *updated = mem_alloc(model->parameter_count, sizeof(*updated)); /* in which piece, from 1 */
	size_t first = 0, last_update = 0;
	uint32_t piece = 1;
	bool any = false;

	for (size_t i = 0; i < finder->worker->call_count; i++) {
		const struct worker_role *role = &model->roles[finder->operations[i]];
		const uint32_t *parameters = model->touched + role->first_parameter;
		bool fresh = false;

		for (uint32_t j = 0; j < role->parameter_count && !fresh; j++)
			fresh = updated[parameters[j]] == piece;
		if (fresh) {
			iteration_add_piece(finder, first, last_update + 1);
			first = last_update + 1;
			piece++;
			any = false;
		}
		for (uint32_t j = 0; j < role->written_count; j++)
			updated[parameters[role->parameter_count + j]] = piece;
		/* Other state may be updated last: a momentum, an average of the weights. */
		if ((role->flags & WORKER_UPDATES) || (any && (role->flags & WORKER_STATE))) {
			last_update = i;
			any = true;
		}
	}
	if (any)
		iteration_add_piece(finder, first, last_update + 1);
	free(updated);
}

void iteration_take_judgement(struct iteration_finder *finder, const struct sequence *sequence,
	const struct iteration_search *search)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];

	finder->source = search->source;
	finder->judged = true;
	finder->sure = search->confidence;
	finder->varies = search->varies;
	free(finder->marks);
	finder->marks = mem_alloc(finder->worker->call_count, sizeof(*finder->marks));
	for (size_t i = 0; i < sequence->count; i++)
		finder->marks[sequence->positions[i]] = sequence->marks[i];
	for (uint32_t i = 0; i < process->operation_count; i++)
		if (finder->known[i].known)
			finder->known[i].key = sequence_key(
				finder->timeline, &finder->timeline->operations[finder->first_operation + i]);
}

/* The pieces of a search, as positions. */
static void take_search(struct iteration_finder *finder, const struct sequence *sequence,
	const struct iteration_search *search)
{
	size_t first = 0;

	iteration_take_judgement(finder, sequence, search);
	for (size_t i = 0; i < search->count; i++) {
		const struct sequence_range *range = &search->pieces[i];
		size_t count = finder->piece_count;

		if (range->begin == range->end)
			continue;
		iteration_add_piece(finder, first, sequence->positions[range->end - 1] + 1u);
		first = sequence->positions[range->end - 1] + 1u;
		if (finder->piece_count == count)
			continue;
		finder->pieces[count].start = sequence->positions[range->begin];
		finder->pieces[count].complete = search->complete[i];
		finder->pieces[count].alike = search->alike[i];
		finder->pieces[count].other_size = search->other_size[i];
	}
}

/* Is a search to be believed more than what there is, `sure` so much? Of few pieces nothing repeats, so that
 * names of more updates count for more than they do. */
static bool is_better(
	const struct iteration_finder *finder, const struct iteration_search *search, double sure)
{
	if (finder->piece_count > 0 && finder->piece_count < REPEATS_LEAST)
		return search->source == ITERATION_BY_NAMES && search->count >= REPEATS_LEAST;
	return search->count > 0 && search->confidence > sure;
}

/* A sequence and what is found in it. */
struct sought {
	const struct iteration_finder *finder;
	struct sequence sequence;
	struct iteration_search search;
	enum rule by;
};

RULE_SEARCH(sought, bool, false, struct sought, context->by)

static void seek(struct sought *sought, bool sizes)
{
	sequence_init(&sought->sequence, sought->finder->model, sought->finder->worker, sizes);
	iteration_search(&sought->search, &sought->sequence);
}

static void sought_free(struct sought *sought)
{
	iteration_search_free(&sought->search);
	sequence_free(&sought->sequence);
}

/* Where too little is told by names and functions alone, as where all layers have the same. */
static bool seek_with_sizes(struct sought *sought)
{
	struct sought sized = {.finder = sought->finder};

	if (sought->search.confidence >= RUN_SURE)
		return false;
	seek(&sized, true);
	if (sized.search.confidence > sought->search.confidence) {
		const struct sought unsized = *sought;

		sought->sequence = sized.sequence;
		sought->search = sized.search;
		sought->search.sequence = &sought->sequence;
		sized.sequence = unsized.sequence;
		sized.search = unsized.search;
	}
	sought_free(&sized);
	return true;
}

/* By names or by what repeats: without sizes, as batches may have others. */
static bool cut_by_search(struct iteration_finder *finder)
{
	static const struct sought_rule sizes = {RULE_ITERATION_SIZES, seek_with_sizes};
	const double sure = finder->piece_count ? iteration_usual_share(finder) : 0;
	struct sought sought = {.finder = finder, .by = finder->by};

	seek(&sought, false);
	sought_apply(&sizes, &sought);
	if (is_better(finder, &sought.search, sure)) {
		finder->piece_count = 0;
		take_search(finder, &sought.sequence, &sought.search);
	}
	finder->candidates = iteration_search_candidates(&sought.search);
	sought_free(&sought);
	return false; /* there may be nothing */
}

static bool cut_by_updates(struct iteration_finder *finder)
{
	cut_at_updates(finder);
	iteration_settle_pieces(finder);
	return iteration_usual_share(finder) >= ITERATION_UNKNOWN && finder->piece_count >= REPEATS_LEAST;
}

/* What the framework says. */
static const struct cut_rule framework_rules[] = {
	{RULE_ITERATION_OPTIMIZER, iteration_cut_framework},
	{RULE_ITERATION_VARIABLES, iteration_cut_tensorflow},
	{RULE_ITERATION_PROGRAMS, iteration_cut_programs},
};

/* What the calls alone tell. */
static const struct cut_rule call_rules[] = {
	{RULE_ITERATION_UPDATES, cut_by_updates},
	{RULE_ITERATION_SEARCH, cut_by_search},
};

void iteration_cut_sequence(struct iteration_finder *finder)
{
	if (cut_first(RULE_TABLE(framework_rules), finder)) {
		finder->source = ITERATION_BY_OPTIMIZER;
		iteration_settle_pieces(finder);
		iteration_judge_pieces(finder, ITERATION_BY_OPTIMIZER);
		iteration_settle_pieces(finder);
		return;
	}
	finder->source = ITERATION_BY_UPDATES;
	if (cut_first(RULE_TABLE(call_rules), finder))
		return;
	if (finder->piece_count == 0 &&
		finder->timeline->processes[finder->worker->process].window_count == 1) {
		iteration_add_piece(finder, 0, finder->worker->call_count);
		finder->source = ITERATION_BY_WINDOW;
	}
	iteration_settle_pieces(finder);
}

double iteration_sureness(const struct iteration_finder *finder)
{
	if (finder->piece_count == 0 || finder->source == ITERATION_BY_WINDOW)
		return 0;
	return finder->judged ? finder->sure : iteration_usual_share(finder);
}

/* The first position after `first` where device times begin or end to be taken; the count of calls: there is none. */
static size_t next_timed(const struct iteration_finder *finder, size_t first)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	const struct worker *worker = finder->worker;

	for (size_t i = 0; i < 2 * process->timed_count; i++) {
		const struct timeline_timed *timed = &process->timed[i / 2];
		const size_t position = worker_find(finder->timeline, worker->calls, worker->call_count,
			i % 2 ? timed->end_ns : timed->begin_ns);

		if (position > first)
			return position;
	}
	return worker->call_count;
}

/* A piece for each stretch that was recorded without a break, and in the same way. */
static void cut_by_windows(struct iteration_finder *finder)
{
	for (size_t first = 0, end; first < finder->worker->call_count; first = end) {
		const size_t gap = iteration_gap_in(finder, first + 1, finder->worker->call_count - 1);

		end = next_timed(finder, first);
		end = gap < end ? gap : end;
		iteration_add_piece(finder, first, end);
	}
	finder->source = ITERATION_BY_WINDOW;
	iteration_find_usual(finder);
}

static bool cut_by_user(struct iteration_finder *finder)
{
	if (!iteration_cut_by_rule(finder))
		return false;
	iteration_find_usual(finder);
	return true;
}

static bool cut_by_markers(struct iteration_finder *finder)
{
	if (!iteration_cut_steps(finder))
		return false;
	finder->source = ITERATION_BY_STEPS;
	iteration_cut_every(finder);
	iteration_find_usual(finder);
	return true;
}

/* What somebody has said of this run. */
static const struct cut_rule said_rules[] = {
	{RULE_ITERATION_USER, cut_by_user},
	{RULE_ITERATION_MARKERS, cut_by_markers},
};

static struct iteration_operation *copy_known(const struct iteration_finder *finder)
{
	const uint32_t count = finder->timeline->processes[finder->worker->process].operation_count;
	struct iteration_operation *known = mem_alloc(count, sizeof(*known));

	memcpy(known, finder->known, count * sizeof(*known));
	return known;
}

static bool cut_by_ranges(struct iteration_finder *finder)
{
	return finder->source != ITERATION_BY_OPTIMIZER && iteration_prefer_ranges(finder);
}

/* What the calls tell, or what is better. */
static void cut_by_calls(struct iteration_finder *finder)
{
	static const struct cut_rule ranges = {RULE_ITERATION_RANGES, cut_by_ranges};
	struct iteration_operation *unsearched = copy_known(finder);

	finder->unsearched = unsearched;
	iteration_cut_sequence(finder);
	cut_apply(&ranges, finder);
	finder->unsearched = NULL;
	free(unsearched);
}

void iteration_cut(struct iteration_finder *finder)
{
	if (finder->whole) {
		cut_by_windows(finder);
		return;
	}
	if (cut_first(RULE_TABLE(said_rules), finder))
		return;
	cut_by_calls(finder);
	if (iteration_cut_every(finder))
		iteration_find_usual(finder);
}
