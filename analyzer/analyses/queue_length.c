/* Enqueued work over time: see queue_length.h. */
#include "queue_length.h"

#include <math.h>
#include <stdlib.h>

/* `first`: of the worker's. */
static struct queue_length *length_of(
	struct queue_lengths *lengths, size_t first, size_t worker, uint64_t stream)
{
	for (size_t i = first; i < lengths->count; i++)
		if (lengths->items[i].stream == stream)
			return &lengths->items[i];
	*MEM_PUSH(lengths->items, lengths->count, lengths->room) =
		(struct queue_length){.worker = worker, .stream = stream};
	return &lengths->items[lengths->count - 1];
}

static void add_point(struct queue_length *length, int64_t ns, int32_t change)
{
	*MEM_PUSH(length->points, length->count, length->room) = (struct queue_point){ns, change, 0};
}

/* Work does not start before its launch, whatever two clocks say. */
static void add_call(const struct analysis *analysis, struct queue_lengths *lengths, size_t first,
	size_t worker, const struct timeline_call *call)
{
	const struct timeline *timeline = &analysis->timeline;

	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval interval = timeline_interval(timeline, call->interval + i);
		struct queue_length *length =
			length_of(lengths, first, worker, timeline->queues[interval.queue].stream);

		add_point(length, call->begin_ns, 1);
		add_point(
			length, interval.begin_ns > call->begin_ns ? interval.begin_ns : call->begin_ns, -1);
	}
}

/* Launched before started, at one time. */
static int compare_points(const void *left, const void *right)
{
	const struct queue_point *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (a->change < b->change) - (a->change > b->change);
}

/* The length that half of the time has at most. */
static double median_of(const double *times, uint32_t most, double all_ns)
{
	double ns = 0;

	for (uint32_t i = 0; i < most; i++) {
		ns += times[i];
		if (ns >= all_ns / 2)
			return i;
	}
	return most;
}

static void settle(struct queue_length *length)
{
	const struct queue_point *points = length->points;
	double all_ns, full_ns = 0, sum = 0, *times;
	uint32_t now = 0;

	qsort(length->points, length->count, sizeof(*length->points), compare_points);
	all_ns = (double)(points[length->count - 1].ns - points[0].ns);
	for (size_t i = 0; i < length->count; i++) {
		now += (uint32_t)points[i].change;
		length->points[i].length = now;
		length->most = now > length->most ? now : length->most;
	}
	times = mem_alloc((size_t)length->most + 1, sizeof(*times));
	for (size_t i = 0; i + 1 < length->count; i++)
		times[points[i].length] += (double)(points[i + 1].ns - points[i].ns);
	for (uint32_t i = 0; i <= length->most; i++) {
		sum += times[i] * i;
		full_ns += i >= QUEUE_LENGTH_FULL ? times[i] : 0;
	}
	length->mean = all_ns > 0 ? sum / all_ns : NAN;
	length->median = all_ns > 0 ? median_of(times, length->most, all_ns) : NAN;
	length->empty = all_ns > 0 ? times[0] / all_ns : NAN;
	length->full = all_ns > 0 ? full_ns / all_ns : NAN;
	free(times);
}

static int compare_lengths(const void *left, const void *right)
{
	const struct queue_length *a = left, *b = right;

	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return (a->stream > b->stream) - (a->stream < b->stream);
}

void queue_lengths_find(const struct analysis *analysis, struct queue_lengths *lengths)
{
	*lengths = (struct queue_lengths){0};
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct worker *worker = analysis->workers[w].worker;
		const size_t first = lengths->count;
		uint32_t last_interval = UINT32_MAX;

		if (analysis->timeline.processes[worker->process].hostless) {
			lengths->hostless = true;
			continue;
		}
		for (size_t i = 0; i < worker->call_count; i++) {
			const struct timeline_call *call =
				TIMELINE_CALL(&analysis->timeline, worker->calls[i]);

			if (call->interval_count && call->interval != last_interval) {
				last_interval = call->interval; /* calls of a group share theirs */
				add_call(analysis, lengths, first, w, call);
			}
		}
	}
	for (size_t i = 0; i < lengths->count; i++)
		settle(&lengths->items[i]);
	if (lengths->count)
		qsort(lengths->items, lengths->count, sizeof(*lengths->items), compare_lengths);
}

void queue_lengths_free(struct queue_lengths *lengths)
{
	for (size_t i = 0; i < lengths->count; i++)
		free(lengths->items[i].points);
	free(lengths->items);
	*lengths = (struct queue_lengths){0};
}

/* ---- tables ---- */

static const char *worker_of(struct analysis *analysis, const struct queue_length *length)
{
	return analysis_worker_name(analysis, &analysis->workers[length->worker]);
}

void queue_length_table(
	struct print_table *table, struct analysis *analysis, const struct queue_lengths *lengths)
{
	enum { WORKER, STREAM, LAUNCHES, MEAN, MEDIAN, MOST, EMPTY, FULL, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("worker", "rank", PRINT_WORD),
		PRINT_COLUMN("stream", "stream", PRINT_COUNT),
		PRINT_COLUMN("launches", "launches", PRINT_COUNT),
		PRINT_COLUMN("mean", "mean", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("median", "median", PRINT_COUNT),
		PRINT_COLUMN("most", "most", PRINT_COUNT),
		PRINT_COLUMN("empty_share", "empty", PRINT_SHARE),
		PRINT_COLUMN("full_share", "1,024 or more", PRINT_SHARE),
	};

	print_columns(table, columns, COLUMNS);
	for (size_t i = 0; i < lengths->count; i++) {
		const struct queue_length *length = &lengths->items[i];

		print_row(table);
		print_word(table, WORKER, worker_of(analysis, length));
		print_number(table, STREAM, (double)length->stream);
		print_number(table, LAUNCHES, (double)(length->count / 2));
		print_number(table, MOST, length->most);
		if (!isfinite(length->mean))
			continue;
		print_number(table, MEAN, length->mean);
		print_number(table, MEDIAN, length->median);
		print_number(table, EMPTY, length->empty);
		print_number(table, FULL, length->full);
	}
}

void queue_point_table(
	struct print_table *table, struct analysis *analysis, const struct queue_lengths *lengths)
{
	enum { WORKER, STREAM, TIME, LENGTH, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("worker", "rank", PRINT_WORD),
		PRINT_COLUMN("stream", "stream", PRINT_COUNT),
		PRINT_COLUMN("at", "at", PRINT_TIME),
		PRINT_COLUMN("length", "length", PRINT_COUNT),
	};
	int64_t start_ns = INT64_MAX;

	for (size_t i = 0; i < lengths->count; i++)
		if (lengths->items[i].points[0].ns < start_ns)
			start_ns = lengths->items[i].points[0].ns;
	print_columns(table, columns, COLUMNS);
	for (size_t i = 0; i < lengths->count; i++)
		for (size_t p = 0; p < lengths->items[i].count; p++) {
			print_row(table);
			print_word(table, WORKER, worker_of(analysis, &lengths->items[i]));
			print_number(table, STREAM, (double)lengths->items[i].stream);
			print_number(table, TIME, (double)(lengths->items[i].points[p].ns - start_ns));
			print_number(table, LENGTH, lengths->items[i].points[p].length);
		}
}
