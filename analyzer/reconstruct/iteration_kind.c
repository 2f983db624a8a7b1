/*
 * Which iterations count: those that are alike. Of iterations that a search has judged these are the ones
 * with the same work, of others those with the usual sequence of calls and the same sizes.
 */
#include "iteration_find.h"
#include "timeline/constants.h"

#include <stdlib.h>

static uint64_t usual_shape(const struct iteration_list *list)
{
	uint64_t best = 0;
	size_t best_count = 0;

	/* Few shapes, so counting each at its first place is quick; a long tail of shapes is cut off. */
	for (size_t i = 0, tried = 0; i < list->count && tried < 64; i++) {
		size_t count = 0;
		bool seen = !list->items[i].usual;

		for (size_t j = 0; j < i && !seen; j++)
			seen = list->items[j].usual && list->items[j].shape == list->items[i].shape;
		if (seen)
			continue;
		tried++;
		for (size_t j = i; j < list->count; j++)
			count += list->items[j].usual && list->items[j].shape == list->items[i].shape;
		if (count > best_count) {
			best_count = count;
			best = list->items[i].shape;
		}
	}
	return best;
}

/* Does the iteration launch a captured graph? */
static bool launches_graph(const struct iteration_finder *finder, const struct iteration *item)
{
	for (size_t i = item->first_call; i < item->call_end; i++)
		if (iteration_operation_at(finder, i)->kind == PM_KIND_GRAPH)
			return true;
	return false;
}

/* Steps before a capture do the same work as the graph's launches, and take another time: they are not alike.
 */
static void part_graphs(struct iteration_finder *finder, const struct iteration_list *list)
{
	bool *launches = mem_alloc(list->count, sizeof(*launches));
	size_t alike = 0, graphs = 0;

	for (size_t i = 0; i < list->count; i++) {
		launches[i] = launches_graph(finder, &list->items[i]);
		alike += finder->pieces[i].alike;
		graphs += finder->pieces[i].alike && launches[i];
	}
	for (size_t i = 0; i < list->count && graphs > 0; i++)
		finder->pieces[i].alike &= launches[i] == (2 * graphs >= alike);
	free(launches);
}

/* Of iterations that a search has judged: those that are alike, whether or not the calls are exactly the
 * same. */
static void classify_judged(const struct iteration_finder *finder, struct iteration_list *list, size_t skip)
{
	size_t usable = 0, skipped = 0;
	bool begun = false, model = false;

	for (size_t i = 0; i < list->count; i++)
		usable += finder->pieces[i].alike;
	list->alike = usable;
	if (skip >= usable)
		skip = usable > 1 ? usable - 1 : 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct iteration_piece *piece = &finder->pieces[i];
		struct iteration *item = &list->items[i];

		if (!piece->complete) {
			item->kind = begun ? ITERATION_DIFFERENT : ITERATION_WARMUP;
		} else if (!piece->alike) {
			/* More work at first: algorithms are searched for. */
			item->kind = !begun              ? ITERATION_WARMUP
				     : piece->other_size ? ITERATION_UNEVEN
							 : ITERATION_DIFFERENT;
		} else if (skipped < skip) {
			item->kind = ITERATION_WARMUP;
			skipped++;
		} else {
			item->kind = ITERATION_USED;
			if (item->usual || !model)
				list->model = i;
			model |= item->usual;
		}
		begun |= piece->alike;
		list->counts[item->kind]++;
	}
}

static void classify(struct iteration_list *list, size_t skip)
{
	uint64_t shape = usual_shape(list);
	size_t usable = 0, skipped = 0;
	bool begun = false;

	for (size_t i = 0; i < list->count; i++)
		usable += list->items[i].usual && list->items[i].shape == shape;
	list->alike = usable;
	if (skip >= usable)
		skip = usable > 1 ? usable - 1 : 0;
	for (size_t i = 0; i < list->count; i++) {
		struct iteration *item = &list->items[i];

		if (!item->usual) {
			item->kind = begun ? ITERATION_DIFFERENT : ITERATION_WARMUP;
		} else if (item->shape != shape) {
			item->kind = ITERATION_UNEVEN;
		} else if (skipped < skip) {
			item->kind = ITERATION_WARMUP;
			skipped++;
		} else {
			item->kind = ITERATION_USED;
			list->model = i;
		}
		begun |= item->usual;
		list->counts[item->kind]++;
	}
}

/* Stretches of a recording in which nothing repeats are not compared. */
static void classify_whole(struct iteration_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct iteration *item = &list->items[i];

		item->usual = true;
		if (item->call_end - item->first_call >
			list->items[list->model].call_end - list->items[list->model].first_call)
			list->model = i;
	}
	list->alike = list->counts[ITERATION_USED] = list->count;
	list->confidence = 0; /* none is stated */
}

static void find_confidence(const struct iteration_finder *finder, struct iteration_list *list)
{
	size_t usual = 0, all = 0;

	for (size_t i = list->items[0].first_call; i < list->items[list->count - 1].call_end; i++)
		all += iteration_is_core(finder, i);
	for (size_t i = 0; i < list->gap_count; i++)
		if (list->gaps[i].kind == ITERATION_EVALUATION &&
			list->gaps[i].end_ns <= list->items[list->count - 1].begin_ns &&
			list->gaps[i].begin_ns >= list->items[0].begin_ns) {
			/* Their computations are not checked against the iterations. */
			size_t from = worker_find(finder->timeline, finder->worker->calls,
				finder->worker->call_count, list->gaps[i].begin_ns);

			for (size_t j = from;
				j < from + list->gaps[i].call_count && j < finder->worker->call_count; j++)
				all -= all > 0 && iteration_is_core(finder, j);
		}
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = list->items[i].first_call;
			j < list->items[i].call_end && list->items[i].usual; j++)
			usual += iteration_is_core(finder, j);
	list->confidence = all ? (double)usual / (double)all : 0;
	if (list->confidence > 1)
		list->confidence = 1;
}

/*
 * Where not all of a long run was read, the first iteration of what was has lost its start, and the last is
 * not known to end where the next would have begun.
 */
static void leave_edges(const struct iteration_finder *finder, struct iteration_list *list)
{
	bool *cut = mem_alloc(list->count, sizeof(*cut));
	size_t kept = list->counts[ITERATION_USED];

	for (size_t i = 1; i < list->count; i++)
		if (iteration_window_begin(finder, list->items[i - 1].first_call) !=
			iteration_window_begin(finder, list->items[i].first_call))
			cut[i - 1] = cut[i] = true;
	for (size_t i = 0; i < list->count; i++)
		kept -= cut[i] && list->items[i].kind == ITERATION_USED;
	for (size_t i = 0; i < list->count && kept > 0; i++) {
		struct iteration *item = &list->items[i];

		if (!cut[i])
			continue;
		list->counts[item->kind]--;
		item->kind = ITERATION_CUT;
		list->counts[item->kind]++;
	}
	free(cut);
}

static const struct timeline_timed *timed_at(const struct timeline_process *process, int64_t ns)
{
	size_t low = 0, high = process->timed_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (process->timed[middle].end_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < process->timed_count && process->timed[low].begin_ns <= ns ? &process->timed[low] : NULL;
}

static size_t count_timed(const struct iteration_finder *finder, const struct iteration *item)
{
	size_t count = 0;

	for (size_t i = item->first_call; i < item->call_end; i++)
		count += iteration_call_at(finder, i).interval_count > 0;
	return count;
}

/*
 * The iterations whose work has device times: all their calls are in one part of the run where such times are
 * taken. Where that does not begin with the run, the first one there is none of them: it begins when the
 * device is done with the one before it, which is not known. Nor is one at its end of which fewer calls have
 * times than of the one before it: the device was still at work.
 */
static bool *find_timed(const struct iteration_finder *finder, const struct iteration_list *list)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	bool *timed = mem_alloc(list->count, sizeof(*timed));

	for (size_t i = 0; i < list->count; i++) {
		const struct iteration *item = &list->items[i];
		const struct timeline_timed *at =
			timed_at(process, iteration_call_at(finder, item->first_call).begin_ns);

		timed[i] = at && iteration_call_at(finder, item->call_end - 1).begin_ns < at->end_ns &&
			   (at->begin_ns == INT64_MIN ||
				   (i > 0 && iteration_call_at(finder, item[-1].first_call).begin_ns >=
						     at->begin_ns));
	}
	for (size_t i = list->count; i-- > 1;)
		if (timed[i] && timed[i - 1] && (i + 1 == list->count || !timed[i + 1]) &&
			list->items[i].shape == list->items[i - 1].shape &&
			count_timed(finder, &list->items[i]) < count_timed(finder, &list->items[i - 1]))
			timed[i] = false;
	return timed;
}

/* What the device did in an iteration without its times is not known, and is not idle time. */
static void leave_untimed(const struct iteration_finder *finder, struct iteration_list *list)
{
	bool *timed = find_timed(finder, list);

	for (size_t i = 0; i < list->count; i++) {
		struct iteration *item = &list->items[i];

		if (timed[i] || item->kind != ITERATION_USED)
			continue;
		list->counts[item->kind]--;
		item->kind = ITERATION_UNTIMED;
		list->counts[item->kind]++;
	}
	free(timed);
}

void iteration_classify(struct iteration_finder *finder, struct iteration_list *list, size_t skip)
{
	if (finder->whole) {
		classify_whole(list);
	} else if (finder->judged) {
		part_graphs(finder, list);
		classify_judged(finder, list, skip);
		list->confidence = finder->sure;
	} else {
		classify(list, skip);
		find_confidence(finder, list);
	}
	if (finder->timeline->processes[finder->worker->process].gap.unread)
		leave_edges(finder, list);
	if (finder->timeline->processes[finder->worker->process].timed_count)
		leave_untimed(finder, list);
}

void iteration_confirm(struct iteration_list *list)
{
	const double odds = list->confidence * KIND_LIKELIER;

	if (list->source != ITERATION_BY_PERIOD || list->count == 0)
		return;
	list->confirmed = true;
	list->confidence = odds / (odds + 1 - list->confidence);
}
