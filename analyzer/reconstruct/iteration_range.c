/*
 * Iterations by a range that the program or a library names, of NVTX or record_function, where no optimizer's
 * steps are known. Such a range may serve if nearly all computations are within its instances, and these come
 * one after the other. One that says the same as the calls alone makes that surer; one that says something
 * else is taken if it is the only one, by itself as sure, and what the calls tell is not updates.
 */
#include "iteration_find.h"
#include "framework/framework.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

#define ALONE \
	0.9 /* a range that nothing else confirms may be an epoch's, or that of a part of an iteration */

/* The instances of a range, in order of time: a pool's threads have them in turns. */
struct row {
	const struct timeline_range_name *name;
	struct timeline_range *items;
	size_t count, room;
	bool overlaps; /* they are not apart */
};

struct rows {
	struct row *items;
	size_t count, room;
};

static bool may_mark(const struct timeline_range_name *name)
{
	return (name->scope == PM_RANGE_NVTX || name->scope == PM_RANGE_USER) && name->name &&
	       framework_place_of(name) == FRAMEWORK_SILENT && !framework_begins_pass(name);
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* A record_function may be called at several lines: that is one range. */
static struct row *row_of(struct rows *rows, const struct timeline_range_name *name)
{
	for (struct row *row = rows->items; row < rows->items + rows->count; row++)
		if (row->name == name ||
			(same_text(row->name->name, name->name) && row->name->scope == name->scope &&
				same_text(row->name->domain, name->domain)))
			return row;
	*MEM_PUSH(rows->items, rows->count, rows->room) = (struct row){.name = name};
	return &rows->items[rows->count - 1];
}

static int compare_ranges(const void *a, const void *b)
{
	const struct timeline_range *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void settle(struct row *row)
{
	qsort(row->items, row->count, sizeof(*row->items), compare_ranges);
	for (size_t i = 1; i < row->count; i++)
		row->overlaps |= row->items[i - 1].end_ns > row->items[i].begin_ns;
}

static void list_rows(
	const struct iteration_finder *finder, const struct timeline_process *process, struct rows *rows)
{
	const struct timeline *timeline = finder->timeline;
	const struct timeline_range *ranges = timeline_ranges(timeline, process);

	for (uint32_t i = 0; i < process->range_count; i++) {
		const struct timeline_range_name *name = &timeline->range_names[ranges[i].name];
		struct row *row;

		if (!may_mark(name) || ranges[i].end_ns == INT64_MAX)
			continue;
		row = row_of(rows, name);
		*MEM_PUSH(row->items, row->count, row->room) = ranges[i];
	}
	for (size_t i = 0; i < rows->count; i++)
		settle(&rows->items[i]);
}

static size_t position_of(const struct iteration_finder *finder, int64_t ns)
{
	return worker_find(finder->timeline, finder->worker->calls, finder->worker->call_count, ns);
}

static size_t count_core(const struct iteration_finder *finder, size_t first, size_t end)
{
	size_t count = 0;

	for (size_t i = first; i < end; i++)
		count += iteration_is_core(finder, i);
	return count;
}

/* One piece for each instance with computations, from the end of the one before; none where the row may not
 * serve. */
static void cut_at(struct iteration_finder *finder, const struct row *row)
{
	size_t within = 0, end = 0, first = position_of(finder, row->items[0].begin_ns);
	const size_t all = count_core(finder, first, position_of(finder, row->items[row->count - 1].end_ns));

	for (size_t i = 0; i < row->count; i++) {
		const size_t begin = position_of(finder, row->items[i].begin_ns), last = end;
		size_t own;

		end = position_of(finder, row->items[i].end_ns);
		own = count_core(finder, begin, end);
		within += own;
		if (own)
			iteration_add_piece(finder, last, end);
	}
	if (finder->piece_count < REPEATS_LEAST || (double)within < RANGE_MOSTLY * (double)all)
		finder->piece_count = 0;
}

static void drop(struct iteration_finder *finder)
{
	free(finder->pieces);
	free(finder->marks);
	free(finder->known);
	finder->pieces = NULL;
	finder->marks = NULL;
	finder->known = NULL;
	finder->piece_count = finder->piece_room = 0;
}

/* A finder of its own, as a judgement changes what it knows of operations. */
static struct iteration_finder begin(const struct iteration_finder *from)
{
	const struct timeline_process *process = &from->timeline->processes[from->worker->process];
	struct iteration_finder finder = *from;

	finder.pieces = NULL;
	finder.piece_count = finder.piece_room = finder.usual_piece = 0;
	finder.marks = NULL;
	finder.judged = false;
	finder.known = mem_alloc(process->operation_count, sizeof(*finder.known));
	memcpy(finder.known, from->unsearched, process->operation_count * sizeof(*finder.known));
	return finder;
}

/* The sum of the chances that one of two is right which do not know of each other. */
static double both(double one, double other)
{
	return 1 - (1 - one) * (1 - other);
}

/* What the calls alone tell is not to be overruled where it is updates that most pieces end with. */
static bool may_overrule(const struct iteration_finder *calls, double sure)
{
	return (calls->source != ITERATION_BY_UPDATES && calls->source != ITERATION_BY_NAMES) ||
	       sure < ITERATION_UNKNOWN;
}

struct choice {
	struct iteration_finder finder;
	const struct timeline_range_name *name;
	double agreement;
	size_t count; /* rows that may serve, those that say the same once */
};

static void consider(struct choice *choice, const struct iteration_finder *calls,
	struct iteration_finder *finder, const struct timeline_range_name *name)
{
	const double agreement = iteration_agreement(finder, calls);
	const bool same = choice->count && finder->piece_count == choice->finder.piece_count &&
			  iteration_agreement(finder, &choice->finder) >= RANGE_MOSTLY;
	const bool better = choice->count == 0 || (!same && agreement > choice->agreement);

	choice->count += !same;
	if (!better) {
		drop(finder);
		return;
	}
	if (choice->name)
		drop(&choice->finder);
	choice->finder = *finder;
	choice->name = name;
	choice->agreement = agreement;
}

/* Takes the choice's place, or leaves all as it is. */
static bool iteration_range_take(struct iteration_finder *calls, struct choice *choice, double sure)
{
	const double judged = iteration_judge_pieces(&choice->finder, ITERATION_BY_RANGES),
		     own = judged * ALONE;
	const bool agrees =
		choice->agreement >= RANGE_MOSTLY && choice->finder.piece_count == calls->piece_count;

	if (!agrees &&
		(choice->count > 1 || !may_overrule(calls, sure) || own < sure || own < ITERATION_UNKNOWN))
		return false;
	iteration_settle_pieces(&choice->finder);
	choice->finder.sure = agrees ? both(judged, sure) : own;
	choice->finder.range = choice->name;
	choice->finder.range_agrees = agrees;
	choice->finder.candidates = calls->candidates;
	return true;
}

bool iteration_prefer_ranges(struct iteration_finder *finder)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	const double sure = iteration_sureness(finder);
	struct choice choice = {.count = 0};
	struct rows rows = {0};
	bool better;

	list_rows(finder, process, &rows);
	for (size_t i = 0; i < rows.count; i++) {
		struct iteration_finder marked;

		if (rows.items[i].count < REPEATS_LEAST || rows.items[i].overlaps)
			continue;
		marked = begin(finder);
		cut_at(&marked, &rows.items[i]);
		if (marked.piece_count) {
			iteration_settle_pieces(&marked);
			consider(&choice, finder, &marked, rows.items[i].name);
		} else {
			drop(&marked);
		}
	}
	better = choice.name && iteration_range_take(finder, &choice, sure);
	if (better) {
		drop(finder);
		*finder = choice.finder;
	} else {
		drop(&choice.finder);
	}
	for (size_t i = 0; i < rows.count; i++)
		free(rows.items[i].items);
	free(rows.items);
	return better;
}
