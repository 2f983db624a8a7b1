/* Iterations where the user says they are. */
#include "iteration_find.h"
#include "iteration_search.h"

#include <stdlib.h>
#include <string.h>

/* A place where the pattern matches: calls with no other computation between them are one. */
struct place {
	size_t first, end; /* positions in the worker's calls */
	int64_t begin_ns;  /* of the first matching call, which may be none of the worker's */
};

struct places {
	struct place *items;
	size_t count, room;
};

/* Which of the process's operations match; the caller frees it. */
static bool *list_matching(const struct iteration_finder *finder, const regex_t *pattern)
{
	const struct timeline *timeline = finder->timeline;
	const struct timeline_process *process = &timeline->processes[finder->worker->process];
	bool *matching = mem_alloc(process->operation_count, sizeof(*matching));

	for (uint32_t i = 0; i < process->operation_count; i++)
		matching[i] = iteration_rule_matches(
			pattern, timeline, &timeline->operations[process->first_operation + i]);
	return matching;
}

static void list_places(const struct iteration_finder *finder, const regex_t *pattern, struct places *places)
{
	const struct timeline *timeline = finder->timeline;
	const struct worker *worker = finder->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];
	bool *matching = list_matching(finder, pattern), open = false;
	size_t position = 0;

	*places = (struct places){0};
	for (size_t i = 0; i < process->call_count; i++) {
		uint32_t number = (uint32_t)(process->first_call + i);
		const struct timeline_call *call = TIMELINE_CALL(timeline, number);
		bool own, matches = matching[call->operation - process->first_operation];

		while (position < worker->call_count && worker->calls[position] < number)
			position++;
		own = position < worker->call_count && worker->calls[position] == number;
		if (matches && !open)
			*MEM_PUSH(places->items, places->count, places->room) =
				(struct place){position, position, call->begin_ns};
		if (matches)
			places->items[places->count - 1].end = position + own;
		open = matches || (open && !(own && iteration_is_core(finder, position)));
	}
	free(matching);
}

static void iteration_user_add(struct iteration_finder *finder, size_t first, size_t end, int64_t begin_ns)
{
	for (size_t i = first; i < end; i++)
		if (iteration_is_core(finder, i)) {
			*MEM_PUSH(finder->pieces, finder->piece_count, finder->piece_room) =
				(struct iteration_piece){
					.first = first, .start = first, .end = end, .begin_ns = begin_ns};
			return;
		}
}

/* From each begin to the next, or to the end that follows it. */
static void cut_at(struct iteration_finder *finder, const struct places *begins, const struct places *ends)
{
	size_t each = finder->rule->every ? finder->rule->every : 1, next = 0;

	for (size_t i = 0; i < begins->count; i += each) {
		size_t end =
			i + each < begins->count ? begins->items[i + each].first : finder->worker->call_count;
		size_t last = end;

		while (next < ends->count && ends->items[next].end <= begins->items[i].first)
			next++;
		for (size_t j = next; j < ends->count && ends->items[j].end <= end; j++)
			last = ends->items[j].end;
		if (ends->count == 0 || last < end || (next < ends->count && ends->items[next].end <= end))
			iteration_user_add(finder, begins->items[i].first, last, begins->items[i].begin_ns);
	}
}

static size_t count_core(const struct iteration_finder *finder, size_t first, size_t end)
{
	size_t count = 0;

	for (size_t i = first; i < end; i++)
		count += iteration_is_core(finder, i);
	return count;
}

/* What is after the last begin need not all be of an iteration: no more than the longest of the others has.
 */
static void end_last(struct iteration_finder *finder)
{
	struct iteration_piece *last = &finder->pieces[finder->piece_count - 1];
	size_t most = 0, count = 0;

	for (size_t i = 0; i + 1 < finder->piece_count; i++) {
		size_t core = count_core(finder, finder->pieces[i].first, finder->pieces[i].end);

		most = core > most ? core : most;
	}
	for (size_t i = last->first; i < last->end && most; i++) {
		count += iteration_is_core(finder, i);
		if (count > most) {
			last->end = i;
			break;
		}
	}
}

/* From each end to the next. */
static void cut_behind(struct iteration_finder *finder, const struct places *ends)
{
	size_t each = finder->rule->every ? finder->rule->every : 1, first = 0;

	for (size_t i = each - 1; i < ends->count; i += each) {
		iteration_user_add(finder, first, ends->items[i].end, 0);
		first = ends->items[i].end;
	}
}

/* So many of the pieces that were found make one. */
static void join_pieces(struct iteration_finder *finder, size_t each)
{
	size_t kept = 0;

	for (size_t i = 0; i + each <= finder->piece_count; i += each) {
		struct iteration_piece piece = finder->pieces[i];

		for (size_t j = 1; j < each; j++) {
			piece.end = finder->pieces[i + j].end;
			piece.end_ns = finder->pieces[i + j].end_ns;
			piece.complete &= finder->pieces[i + j].complete;
			piece.alike &= finder->pieces[i + j].alike;
		}
		finder->pieces[kept++] = piece;
	}
	finder->piece_count = kept;
	finder->usual_piece = 0;
}

bool iteration_cut_every(struct iteration_finder *finder)
{
	const struct iteration_rule *rule = finder->rule;

	if (!rule || rule->every < 2 || rule->at || rule->end)
		return false;
	join_pieces(finder, rule->every);
	if (finder->judged) { /* together they may be alike where each by itself is not */
		const double sure = finder->sure;

		iteration_judge_pieces(finder, finder->source);
		finder->sure = sure;
	}
	return finder->piece_count > 0;
}

static size_t member_at(const struct sequence *sequence, size_t position)
{
	size_t low = 0, high = sequence->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sequence->positions[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

double iteration_judge_pieces(struct iteration_finder *finder, enum iteration_source source)
{
	struct iteration_search search = {.source = source, .count = finder->piece_count};
	struct sequence sequence;

	sequence_init(&sequence, finder->model, finder->worker, false);
	search.sequence = &sequence;
	search.pieces = mem_alloc(search.count, sizeof(*search.pieces));
	for (size_t i = 0; i < search.count; i++)
		search.pieces[i] = (struct sequence_range){member_at(&sequence, finder->pieces[i].start),
			member_at(&sequence, finder->pieces[i].end)};
	iteration_search_judge(&search);
	iteration_take_judgement(finder, &sequence, &search);
	for (size_t i = 0; i < search.count; i++) {
		finder->pieces[i].complete = search.complete[i];
		finder->pieces[i].alike = search.alike[i];
		finder->pieces[i].other_size = search.other_size[i];
	}
	finder->sure = 1;
	iteration_search_free(&search);
	sequence_free(&sequence);
	return search.confidence;
}

bool iteration_cut_by_rule(struct iteration_finder *finder)
{
	const struct iteration_rule *rule = finder->rule;
	struct places begins = {0}, ends = {0};

	if (!rule || (!rule->at && !rule->end))
		return false;
	if (rule->at)
		list_places(finder, &rule->at_pattern, &begins);
	if (rule->end)
		list_places(finder, &rule->end_pattern, &ends);
	if (rule->at)
		cut_at(finder, &begins, &ends);
	else
		cut_behind(finder, &ends);
	free(begins.items);
	free(ends.items);
	if (finder->piece_count == 0)
		return false;
	if (!rule->end)
		end_last(finder);
	iteration_judge_pieces(finder, ITERATION_BY_USER);
	return true;
}
