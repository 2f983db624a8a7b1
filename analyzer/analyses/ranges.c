/* Ranges by name: see ranges.h. A process at a time, its ranges thread by thread in order of begin, then its calls. */
#include "ranges.h"

#include "base/lookup.h"
#include "timeline/timeline_range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW UINT32_MAX

/* Of a row in the process: the iteration in which it was seen last, and whether each had one so far. */
struct beat {
	size_t seen; /* iterations with one, in order */
	size_t last; /* the last of them: place in the worker's `used`, from 1; 0: none */
	bool is_uneven, is_there;
};

struct search {
	const struct analysis *analysis;
	const struct timeline *timeline;
	const struct timeline_process *process;
	const struct analysis_worker *worker; /* the process's first with iterations, or NULL */
	struct range_table *table;
	struct lookup lookup; /* of rows */
	uint32_t *row_of;     /* by range name of the timeline; NO_ROW: it is not of the table */
	struct beat *beats;   /* by row */
	size_t beat_room;
	uint16_t main_thread; /* the one with most named ranges */
};

bool ranges_is_named(const struct timeline *timeline, uint32_t name)
{
	const enum pm_range_scope scope = timeline->range_names[name].scope;

	return (scope == PM_RANGE_NVTX || scope == PM_RANGE_USER) && timeline->range_names[name].name;
}

/* PyTorch's are a domain of their own. */
static const char *domain_of(const struct timeline_range_name *name)
{
	return name->scope == PM_RANGE_USER ? "PyTorch" : name->domain;
}

static uint32_t find_row(struct search *search, const struct timeline_range_name *name)
{
	struct range_table *table = search->table;
	const char *domain = domain_of(name);
	const uint64_t hash = mem_hash_text(mem_hash_text(MEM_HASH_START, domain ? domain : ""), name->name);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&search->lookup, hash, &at)) != LOOKUP_NONE;)
		if (strcmp(table->rows[i].name, name->name) == 0 &&
			strcmp(table->rows[i].domain ? table->rows[i].domain : "", domain ? domain : "") == 0)
			return i;
	i = (uint32_t)table->count;
	*MEM_PUSH(table->rows, table->count, table->room) =
		(struct range_row){.domain = domain, .name = name->name, .color = name->color, .marks = true};
	lookup_add(&search->lookup, hash, i);
	return i;
}

static void find_rows(struct search *search)
{
	const struct timeline *timeline = search->timeline;

	search->row_of = mem_alloc(timeline->range_name_count, sizeof(*search->row_of));
	for (size_t i = 0; i < timeline->range_name_count; i++)
		search->row_of[i] = ranges_is_named(timeline, (uint32_t)i)
					    ? find_row(search, &timeline->range_names[i])
					    : NO_ROW;
	search->beats = mem_alloc(search->table->count, sizeof(*search->beats));
}

/* ---- what the ranges are ---- */

/* The first used iteration that ends after a time, by place in `used`; their number: none does. */
static size_t first_used(const struct analysis_worker *worker, int64_t ns)
{
	size_t low = 0, high = worker ? worker->used_count : 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (worker->iterations.items[worker->used[middle]].end_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* When the host makes the iteration's first call. */
static int64_t host_begin(const struct search *search, size_t iteration)
{
	const struct analysis_worker *worker = search->worker;
	const struct iteration *item = &worker->iterations.items[iteration];

	return item->first_call < item->call_end
		       ? TIMELINE_CALL(search->timeline, worker->worker->calls[item->first_call])->begin_ns
		       : item->begin_ns;
}

/*
 * The used iteration that the host works for at a time, from 1; 0: none. By its calls: on the device an iteration may end
 * when the host is far in the next one.
 */
static size_t used_at(const struct search *search, int64_t ns)
{
	const struct analysis_worker *worker = search->worker;
	size_t low = 0, high = worker ? worker->used_count : 0, item;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (host_begin(search, worker->used[middle]) <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	item = worker->used[low - 1];
	return ns < (item + 1 < worker->iterations.count ? host_begin(search, item + 1)
							 : worker->iterations.items[item].end_ns)
		       ? low
		       : 0;
}

static bool is_in_same(const struct search *search, const struct timeline_range *range, uint32_t row)
{
	const struct timeline_range *ranges = timeline_ranges(search->timeline, search->process);

	for (uint32_t i = range->parent; i != TIMELINE_NO_RANGE; i = ranges[i].parent)
		if (search->row_of[ranges[i].name] == row)
			return true;
	return false;
}

static void beat(struct beat *beat, size_t iteration)
{
	beat->is_there = true;
	if (!iteration)
		return;
	beat->is_uneven |= iteration != beat->last + 1;
	beat->last = iteration;
	beat->seen++;
}

/* How much of the used iterations it covers. */
static double used_ns(const struct analysis_worker *worker, const struct timeline_range *range)
{
	double ns = 0;

	for (size_t i = first_used(worker, range->begin_ns); worker && i < worker->used_count; i++) {
		const struct iteration *item = &worker->iterations.items[worker->used[i]];
		const int64_t begin_ns = item->begin_ns > range->begin_ns ? item->begin_ns : range->begin_ns;
		const int64_t end_ns = item->end_ns < range->end_ns ? item->end_ns : range->end_ns;

		if (item->begin_ns >= range->end_ns)
			break;
		ns += end_ns > begin_ns ? (double)(end_ns - begin_ns) : 0;
	}
	return ns;
}

static void add_range(struct search *search, const struct timeline_range *range)
{
	const uint32_t number = search->row_of[range->name];
	struct range_row *row;
	size_t iteration;

	if (number == NO_ROW || range->end_ns == INT64_MAX)
		return;
	iteration = used_at(search, range->begin_ns + (range->end_ns - range->begin_ns) / 2);
	beat(&search->beats[number], iteration);
	row = &search->table->rows[number];
	row->count++;
	row->used_count += iteration != 0;
	if (is_in_same(search, range, number))
		return;
	row->time_ns += (double)(range->end_ns - range->begin_ns);
	row->used_ns += used_ns(search->worker, range);
}

static void add_ranges(struct search *search)
{
	const struct timeline_range *ranges = timeline_ranges(search->timeline, search->process);
	uint32_t most = 0, count = 0;

	for (uint32_t i = 0; i < search->process->range_count; i++) {
		add_range(search, &ranges[i]);
		if (i == 0 || ranges[i].thread != ranges[i - 1].thread)
			count = 0;
		count += search->row_of[ranges[i].name] != NO_ROW && !ranges[i].loose;
		if (count <= most)
			continue;
		most = count;
		search->main_thread = ranges[i].thread;
	}
}

/* ---- what is launched in them ---- */

/* The innermost range of the table that a thread is in. */
static uint32_t named_at(const struct search *search, uint16_t thread, int64_t ns)
{
	const struct timeline_range *ranges = timeline_ranges(search->timeline, search->process);
	uint32_t i = timeline_range_at(search->timeline, search->process, thread, ns);

	while (i != TIMELINE_NO_RANGE && search->row_of[ranges[i].name] == NO_ROW)
		i = ranges[i].parent;
	return i;
}

static void add_work(struct search *search, uint32_t range, double ns)
{
	const struct timeline_range *ranges = timeline_ranges(search->timeline, search->process);

	for (; range != TIMELINE_NO_RANGE; range = ranges[range].parent) {
		const uint32_t row = search->row_of[ranges[range].name];

		if (row != NO_ROW && !is_in_same(search, &ranges[range], row))
			search->table->rows[row].device_ns += ns;
	}
}

static void add_calls(struct search *search)
{
	const struct timeline_process *process = search->process;

	for (size_t i = 0; i < process->call_count; i++) {
		const struct timeline_call *call =
			TIMELINE_CALL(search->timeline, (uint32_t)(process->first_call + i));
		double ns = 0;
		uint32_t range;

		for (uint32_t j = 0; j < call->interval_count; j++) {
			const struct timeline_interval *interval =
				TIMELINE_INTERVAL(search->timeline, call->interval + j);

			ns += (double)(interval->end_ns - interval->begin_ns);
		}
		if (ns == 0)
			continue;
		range = named_at(search, call->thread, call->begin_ns);
		if (range == TIMELINE_NO_RANGE)
			range = named_at(search, search->main_thread, call->begin_ns);
		add_work(search, range, ns);
	}
}

/* ---- the process ---- */

static const struct analysis_worker *worker_of(const struct analysis *analysis, size_t process)
{
	for (size_t i = 0; i < analysis->worker_count; i++)
		if (analysis->workers[i].worker->process == process && analysis->workers[i].used_count)
			return &analysis->workers[i];
	return NULL;
}

static void add_process(struct search *search, size_t number)
{
	struct range_table *table = search->table;

	search->process = &search->timeline->processes[number];
	search->worker = worker_of(search->analysis, number);
	if (search->process->range_count == 0)
		return;
	memset(search->beats, 0, table->count * sizeof(*search->beats));
	add_ranges(search);
	add_calls(search);
	for (size_t i = 0; i < table->count; i++)
		if (search->beats[i].is_there)
			table->rows[i].marks &= search->worker && !search->beats[i].is_uneven &&
						search->beats[i].seen == search->worker->used_count;
	for (size_t i = 0; search->worker && i < search->worker->used_count; i++) {
		const struct iteration *item = &search->worker->iterations.items[search->worker->used[i]];

		table->iteration_count++;
		table->iteration_ns += (double)(item->end_ns - item->begin_ns);
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct range_row *a = left, *b = right;

	return a->time_ns != b->time_ns ? (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns)
					: strcmp(a->name, b->name);
}

/* Rows that no process has, as those of names that a table keeps, and device times that nobody took. */
static void clean_up(struct search *search)
{
	struct range_table *table = search->table;
	const bool has_device = search->timeline->interval_count > 0;
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].count == 0)
			continue;
		table->rows[kept] = table->rows[i];
		if (!has_device)
			table->rows[kept].device_ns = NAN;
		kept++;
	}
	table->count = kept;
	if (kept)
		qsort(table->rows, kept, sizeof(*table->rows), compare_rows);
}

void ranges_find(const struct analysis *analysis, struct range_table *ranges)
{
	struct search search = {.analysis = analysis, .timeline = &analysis->timeline, .table = ranges};

	*ranges = (struct range_table){0};
	if (analysis->timeline.range_count == 0)
		return;
	find_rows(&search);
	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		add_process(&search, i);
	clean_up(&search);
	free(search.row_of);
	free(search.beats);
	lookup_free(&search.lookup);
}

void ranges_free(struct range_table *ranges)
{
	free(ranges->rows);
}

void ranges_table(struct print_table *table, const struct range_table *ranges)
{
	enum { DOMAIN, NAME, COUNT, TOTAL, MEAN, DEVICE, SHARE, ITERATION, MARKER, COLUMNS };
	const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("domain", "domain", PRINT_WORD),
		PRINT_COLUMN("name", "range", PRINT_WORD),
		PRINT_COLUMN("count", "count", PRINT_FIGURE),
		PRINT_COLUMN("time", "host time", PRINT_TIME),
		PRINT_COLUMN("mean", "mean", PRINT_TIME),
		PRINT_COLUMN("device", "GPU time", PRINT_TIME),
		PRINT_COLUMN("share", "of an iteration", PRINT_SHARE),
		PRINT_COLUMN("per_iteration", "per iteration", PRINT_FIGURE),
		PRINT_COLUMN("marks_iterations", NULL, PRINT_FLAG),
	};

	print_columns(table, columns, COLUMNS);
	for (size_t i = 0; i < ranges->count; i++) {
		const struct range_row *row = &ranges->rows[i];

		print_row(table);
		if (row->domain)
			print_word(table, DOMAIN, print_clean(table->arena, row->domain));
		print_word(table, NAME, print_clean(table->arena, row->name));
		print_number(table, COUNT, row->count);
		print_number(table, TOTAL, row->time_ns);
		print_number(table, MEAN, row->time_ns / row->count);
		if (!isnan(row->device_ns))
			print_number(table, DEVICE, row->device_ns);
		if (ranges->iteration_count == 0)
			continue;
		print_number(table, SHARE, row->used_ns / ranges->iteration_ns);
		if (row->marks)
			print_number_as(table, ITERATION, 1, "1, in each");
		else
			print_number(table, ITERATION, row->used_count / ranges->iteration_count);
		print_number(table, MARKER, row->marks);
	}
}
