/*
 * How long each operation of a run took, for softgpu's SOFTGPU_TIMES: see export_times in export.h.
 *
 * The one idea: an operation is known again in another run by what does not depend on the device: a kernel of
 * the program's by its name, grid and block, a library's call by its function and its work, a copy by its
 * bytes, a collective by its function, bytes and ranks.
 */
#include "times.h"
#include "analyses/roofline/work.h"
#include "base/statistics.h"
#include "export.h"
#include "timeline/collective.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void times_add(struct times_rows *rows, const char *text, double duration_ns)
{
	uint64_t hash = mem_hash_text(MEM_HASH_START, text);
	struct times_row *row;
	size_t at = 0;
	uint32_t i;

	while ((i = lookup_next(&rows->lookup, hash, &at)) != LOOKUP_NONE)
		if (strcmp(rows->items[i].text, text) == 0)
			break;
	if (i == LOOKUP_NONE) {
		i = (uint32_t)rows->count;
		*MEM_PUSH(rows->items, rows->count, rows->room) =
			(struct times_row){.text = arena_text(&rows->arena, text, strlen(text))};
		lookup_add(&rows->lookup, hash, i);
	}
	row = &rows->items[i];
	*MEM_PUSH(row->durations, row->count, row->room) = duration_ns;
}

static uint64_t value_of(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	uint64_t value = 0;

	timeline_value(timeline, operation, label, &value);
	return value;
}

static const char *kernel_text(
	const struct timeline *timeline, const struct timeline_operation *operation, struct arena *arena)
{
	static const char *const labels[] = {"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"};
	uint64_t name = value_of(timeline, operation, "name"), of[6];

	for (size_t i = 0; i < 6; i++)
		if (!timeline_value(timeline, operation, labels[i], &of[i]) || of[i] == 0)
			return NULL;
	if (name == 0 || name >= timeline->string_count || strpbrk(timeline->strings[name], "\t\n"))
		return NULL;
	return arena_format(arena,
		"kernel\t%s\t%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		timeline->strings[name], of[0], of[1], of[2], of[3], of[4], of[5]);
}

/* Kernels of the program's own, copies and sets: each activity by itself. */
static void add_activities(struct times_rows *rows, struct arena *arena)
{
	const struct timeline *timeline = rows->timeline;

	for (size_t i = 0; i < timeline->interval_count; i++) {
		const struct timeline_interval *interval = TIMELINE_INTERVAL(timeline, i);
		const struct timeline_operation *operation = &timeline->operations[interval->operation];
		const char *function = timeline->functions[operation->function].name, *text = NULL;
		uint64_t bytes = value_of(timeline, operation, "bytes");
		const enum pm_direction direction = timeline_direction(timeline, operation);

		if (strcmp(timeline->functions[operation->function].library, "cupti") != 0)
			continue;
		if (strcmp(function, "kernel") == 0)
			text = kernel_text(timeline, operation, arena);
		else if (strcmp(function, "memset") == 0)
			text = arena_format(arena, "set\t-\t%" PRIu64, bytes);
		else if (strcmp(function, "memcpy") == 0 && times_has_device(direction))
			text = arena_format(
				arena, "copy\t%s\t%" PRIu64, trace_direction_name(direction), bytes);
		if (text)
			times_add(rows, text, (double)(interval->end_ns - interval->begin_ns));
	}
}

/* A graph's execution is a function for each kind of its work in traces, and one for all to whoever calls. */
static int name_length(const char *name)
{
	static const char execute[] = "cudnnBackendExecute";

	return (int)(strncmp(name, execute, sizeof(execute) - 1) == 0 ? sizeof(execute) - 1 : strlen(name));
}

/* Calls of the libraries whose work is known: the sum of their kernels. */
static void add_calls(struct times_rows *rows, struct arena *arena)
{
	const struct timeline *timeline = rows->timeline;

	for (size_t c = 0; c < timeline->call_count; c++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, c);
		const struct timeline_function *function = timeline_function(timeline, call);
		double duration_ns = 0;
		struct work work;

		if (call->interval_count == 0 || (strcmp(function->library, "cudnn") != 0 &&
							 strncmp(function->library, "cublas", 6) != 0))
			continue;
		work = work_of(timeline, call->operation);
		if (!work.known || work.flops + work.bytes <= 0)
			continue;
		for (uint32_t i = 0; i < call->interval_count; i++) {
			const struct timeline_interval *interval =
				TIMELINE_INTERVAL(timeline, call->interval + i);

			duration_ns += (double)(interval->end_ns - interval->begin_ns);
		}
		times_add(rows,
			arena_format(arena, "call\t%.*s\t%.0f %.0f", name_length(function->name),
				function->name, work.flops, work.bytes),
			duration_ns);
	}
}

/* How many calls have an interval as their first: a group's share theirs. */
static uint32_t *count_sharers(const struct timeline *timeline)
{
	uint32_t *sharers = mem_alloc(timeline->interval_count + 1, sizeof(*sharers));

	for (size_t c = 0; c < timeline->call_count; c++)
		if (timeline_call(timeline, c).interval_count > 0 &&
			timeline_function(timeline, TIMELINE_CALL(timeline, c))->kind == PM_KIND_COMM)
			sharers[timeline_call(timeline, c).interval]++;
	return sharers;
}

/* Of a collective the part of the last rank to arrive: it waits for nobody. */
static void add_collectives(struct times_rows *rows, struct arena *arena)
{
	const struct timeline *timeline = rows->timeline;
	uint32_t *sharers = count_sharers(timeline);
	struct collective_list list = {0};

	collective_gather(timeline, &list);
	for (size_t i = 0, next; i < list.count; i = next) {
		const struct collective *first = &list.items[i];
		const struct timeline_call *call = TIMELINE_CALL(timeline, first->call);
		const struct timeline_operation *operation = &timeline->operations[call->operation];
		uint64_t communicator = value_of(timeline, operation, "comm");
		uint64_t bytes = value_of(timeline, operation, "bytes");
		double least_ns = -1;

		for (next = i; next < list.count && list.items[next].hash == first->hash &&
			       list.items[next].function_key == first->function_key &&
			       list.items[next].sequence == first->sequence;
			next++) {
			const struct collective *part = &list.items[next];
			const struct timeline_call *own = TIMELINE_CALL(timeline, part->call);

			if (own->interval_count == 1 && sharers[own->interval] == 1 &&
				(least_ns < 0 || (double)(part->end_ns - part->begin_ns) < least_ns))
				least_ns = (double)(part->end_ns - part->begin_ns);
		}
		if (least_ns < 0 || bytes == 0 || communicator == 0 ||
			communicator >= timeline->communicator_count)
			continue;
		times_add(rows,
			arena_format(arena, "collective\t%s\t%" PRIu64 " %" PRId32,
				timeline_function(timeline, call)->name, bytes,
				timeline->communicators[communicator].size),
			least_ns);
	}
	collective_free(&list);
	free(sharers);
}

static int by_text(const void *a, const void *b)
{
	const struct times_row *first = a, *second = b;

	return strcmp(first->text, second->text);
}

size_t export_times(const struct run *run, char **paths, size_t path_count, FILE *out)
{
	struct times_rows rows = {.timeline = &run->analysis.timeline};
	struct arena scratch = {0};
	size_t count;

	if (run->analysis.timeline.processes[0].recorder) {
		times_add_imported(&rows, paths, path_count, &scratch);
	} else {
		add_activities(&rows, &scratch);
		add_calls(&rows, &scratch);
	}
	add_collectives(&rows, &scratch);
	if (rows.count > 0)
		qsort(rows.items, rows.count, sizeof(*rows.items), by_text);
	if (rows.count > 0)
		fprintf(out, "# times of pmhook 1: kind, name, shape, count, median ns\n");
	for (size_t i = 0; i < rows.count; i++) {
		struct times_row *row = &rows.items[i];

		fprintf(out, "%s\t%zu\t%.0f\n", row->text, row->count,
			statistics_median(row->durations, row->count));
		free(row->durations);
	}
	count = rows.count;
	free(rows.items);
	lookup_free(&rows.lookup);
	arena_free(&rows.arena);
	arena_free(&scratch);
	return count;
}
