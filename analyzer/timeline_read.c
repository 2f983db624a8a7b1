/*
 * From trace files to the canonical model. Numbers of the file become numbers of the run by adding where the
 * process's tables begin; device intervals find their calls by the correlation number.
 */
#include "timeline_read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct joiner {
	struct timeline_call call;
	uint32_t correlation;
	uint32_t place; /* of the record among the process's calls */
};

static const char *keep(struct timeline *timeline, const char *text)
{
	return arena_text(&timeline->arena, text, strlen(text));
}

static uint32_t add_functions(struct timeline *timeline, const struct trace *trace)
{
	uint32_t first = (uint32_t)timeline->function_count;

	for (size_t i = 0; i < trace->function_count; i++) {
		const struct trace_function *from = &trace->functions[i];
		struct timeline_function *to =
			MEM_PUSH(timeline->functions, timeline->function_count, timeline->function_room);
		struct timeline_label *labels;

		*to = (struct timeline_function){.library = "", .name = ""};
		if (!from->library)
			continue;
		labels = arena_alloc(&timeline->arena, from->label_count, sizeof(*labels));
		for (uint32_t j = 0; j < from->label_count; j++) {
			labels[j].type = from->labels[j].type;
			labels[j].name = keep(timeline, from->labels[j].name);
		}
		to->library = keep(timeline, from->library);
		to->name = keep(timeline, from->name);
		to->kind = from->kind;
		to->label_count = from->label_count;
		to->labels = labels;
	}
	return first;
}

/* The number of a table that starts at `first` in the run, or 0 if the file has no such number. */
static uint64_t renumber(uint64_t number, size_t count, uint32_t first)
{
	return number > 0 && number < count ? first + number : 0;
}

/* Where the tables of this trace begin, less nothing: number n of the file is item first + n. */
struct bases {
	uint32_t functions, operations, descriptors, strings, queues, communicators;
};

static void add_tables(
	struct timeline *timeline, const struct trace *trace, uint32_t process, struct bases *bases)
{
	bases->functions = add_functions(timeline, trace);
	bases->descriptors = (uint32_t)timeline->descriptor_count;
	for (size_t i = 0; i < trace->descriptor_count; i++) {
		const struct trace_descriptor *from = &trace->descriptors[i];
		int64_t *values = arena_alloc(&timeline->arena, from->value_count, sizeof(*values));

		if (from->value_count)
			memcpy(values, from->values, from->value_count * sizeof(*values));
		*MEM_PUSH(timeline->descriptors, timeline->descriptor_count, timeline->descriptor_room) =
			(struct timeline_descriptor){from->kind, from->value_count, values};
	}
	bases->strings = (uint32_t)timeline->string_count;
	for (size_t i = 0; i < trace->string_count; i++)
		*MEM_PUSH(timeline->strings, timeline->string_count, timeline->string_room) =
			trace->strings[i] ? keep(timeline, trace->strings[i]) : "";
	bases->queues = (uint32_t)timeline->queue_count;
	for (size_t i = 0; i < trace->queue_count; i++)
		*MEM_PUSH(timeline->queues, timeline->queue_count, timeline->queue_room) =
			(struct timeline_queue){process, trace->queues[i].device, trace->queues[i].stream};
	bases->communicators = (uint32_t)timeline->communicator_count;
	for (size_t i = 0; i < trace->communicator_count; i++)
		*MEM_PUSH(timeline->communicators, timeline->communicator_count,
			timeline->communicator_room) = (struct timeline_communicator){
			trace->communicators[i].rank, trace->communicators[i].size,
			trace->communicators[i].device, trace->communicators[i].hash};
}

static void add_operations(
	struct timeline *timeline, const struct trace *trace, uint32_t process, struct bases *bases)
{
	bases->operations = (uint32_t)timeline->operation_count;
	for (size_t i = 0; i < trace->operation_count; i++) {
		const struct trace_operation *from = &trace->operations[i];
		struct timeline_operation *to =
			MEM_PUSH(timeline->operations, timeline->operation_count, timeline->operation_room);
		uint64_t *values;

		*to = (struct timeline_operation){.process = process};
		if (!from->function)
			continue;
		values = arena_alloc(&timeline->arena, from->value_count, sizeof(*values));
		to->function = bases->functions + from->function;
		to->value_count = from->value_count;
		to->values = values;
		if (from->site)
			to->site = timeline->strings[bases->strings + from->site];
		for (uint32_t j = 0; j < from->value_count; j++) {
			switch (timeline->functions[to->function].labels[j].type) {
			case PM_VALUE_DESCRIPTOR:
				values[j] = renumber(
					from->values[j], trace->descriptor_count, bases->descriptors);
				break;
			case PM_VALUE_STRING:
				values[j] = renumber(from->values[j], trace->string_count, bases->strings);
				break;
			case PM_VALUE_COMMUNICATOR:
				values[j] = renumber(
					from->values[j], trace->communicator_count, bases->communicators);
				break;
			default:
				values[j] = from->values[j];
			}
		}
	}
}

static int compare_joiners(const void *left, const void *right)
{
	const struct joiner *a = left, *b = right;

	if (a->call.begin_ns != b->call.begin_ns)
		return a->call.begin_ns < b->call.begin_ns ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

struct device_record {
	struct timeline_interval interval;
	uint32_t correlation;
};

static int compare_device_records(const void *left, const void *right)
{
	const struct device_record *a = left, *b = right;

	if (a->interval.call != b->interval.call)
		return a->interval.call < b->interval.call ? -1 : 1;
	if (a->interval.begin_ns != b->interval.begin_ns)
		return a->interval.begin_ns < b->interval.begin_ns ? -1 : 1;
	return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static int64_t clamp_ns(uint64_t ns)
{
	return ns < (uint64_t)(INT64_MAX / 16) ? (int64_t)ns : INT64_MAX / 16;
}

/* Reads all records; calls in order of begin into the timeline, each with its intervals. */
static void add_records(struct timeline *timeline, const struct trace *trace,
	struct timeline_process *process, const struct bases *bases)
{
	struct joiner *calls = mem_alloc(trace->record_count, sizeof(*calls));
	struct device_record *devices = mem_alloc(trace->record_count, sizeof(*devices));
	size_t call_count = 0, device_count = 0, kept = 0;
	uint32_t low = UINT32_MAX, high = 0, threads = 0, *by_correlation;
	uint64_t span;
	bool ordered = true, devices_ordered = true;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		uint32_t thread = trace->chunks[c].thread;

		for (uint64_t i = 0; i < trace->chunks[c].record_count; i++) {
			struct pm_record record;
			uint32_t queue;

			if (!trace_record(trace, &trace->chunks[c], i, &record)) {
				process->refused_records++;
				continue;
			}
			queue = record.queue ? bases->queues + record.queue : 0;
			if (record.kind == PM_RECORD_DEVICE) {
				int64_t begin_ns = clamp_ns(record.begin), end_ns = clamp_ns(record.end);

				devices[device_count++] = (struct device_record){
					{begin_ns, end_ns < begin_ns ? begin_ns : end_ns, 0, queue},
					record.correlation};
				continue;
			}
			calls[call_count] = (struct joiner){.correlation = record.correlation,
				.place = (uint32_t)call_count,
				.call = {.begin_ns = trace_ns(trace, record.begin),
					.end_ns = trace_ns(trace, record.end),
					.operation = bases->operations + record.op,
					.queue = queue,
					.thread = thread,
					.result = record.result,
					.flags = record.flags}};
			if (calls[call_count].call.end_ns < calls[call_count].call.begin_ns)
				calls[call_count].call.end_ns = calls[call_count].call.begin_ns;
			if (call_count &&
				calls[call_count - 1].call.begin_ns > calls[call_count].call.begin_ns)
				ordered = false;
			if (record.correlation && record.correlation < low)
				low = record.correlation;
			if (record.correlation > high)
				high = record.correlation;
			call_count++;
		}
	}
	if (!ordered)
		qsort(calls, call_count, sizeof(*calls), compare_joiners);

	/* Correlations are a counter; a number far off would only be damage, and joins nothing. */
	span = high >= low ? (uint64_t)high - low + 1 : 0;
	if (span > 8 * trace->record_count + 4096)
		span = 8 * trace->record_count + 4096;
	by_correlation = mem_alloc((size_t)span, sizeof(*by_correlation));
	for (size_t i = 0; i < call_count; i++)
		if (calls[i].correlation && calls[i].correlation - low < span)
			by_correlation[calls[i].correlation - low] = (uint32_t)i + 1;
	for (size_t i = 0; i < device_count; i++) {
		uint32_t correlation = devices[i].correlation;
		uint32_t call = correlation >= low && correlation - low < span
					? by_correlation[correlation - low]
					: 0;

		if (!call) {
			process->unjoined_intervals++;
			continue;
		}
		devices[kept] = devices[i];
		devices[kept++].interval.call = call - 1;
		devices_ordered &=
			kept < 2 || compare_device_records(&devices[kept - 2], &devices[kept - 1]) <= 0;
	}
	if (!devices_ordered)
		qsort(devices, kept, sizeof(*devices), compare_device_records);

	process->first_call = timeline->call_count;
	process->call_count = call_count;
	process->first_interval = timeline->interval_count;
	process->interval_count = kept;
	process->first_thread = timeline->thread_count;
	for (size_t i = 0, next = 0; i < call_count; i++) {
		struct timeline_call *call =
			MEM_PUSH(timeline->calls, timeline->call_count, timeline->call_room);
		uint32_t ordinal = 0;

		*call = calls[i].call;
		/* Ordinals are small; anything else is damage, and goes with the others. */
		ordinal = call->thread < 65536 ? call->thread : 65535;
		call->thread = timeline->thread_count + ordinal;
		if (ordinal + 1 > threads)
			threads = ordinal + 1;
		call->interval = (uint32_t)timeline->interval_count;
		for (; next < kept && devices[next].interval.call == i; next++) {
			struct timeline_interval *interval = MEM_PUSH(
				timeline->intervals, timeline->interval_count, timeline->interval_room);

			*interval = devices[next].interval;
			interval->call = (uint32_t)(process->first_call + i);
			if (!interval->queue)
				interval->queue = call->queue;
			call->interval_count++;
		}
	}
	process->thread_count = threads;
	timeline->thread_count += threads;
	free(calls);
	free(devices);
	free(by_correlation);
}

void timeline_add(struct timeline *timeline, const struct trace *trace)
{
	uint32_t number = (uint32_t)timeline->process_count;
	struct timeline_process process = {
		.path = keep(timeline, trace->path),
		.host = keep(timeline, trace->header.host),
		.program = keep(timeline, trace->header.program),
		.pid = trace->header.pid,
		.rank = trace->header.rank,
		.world = trace->header.world,
		.device_times = trace->header.device_source != PM_DEVICE_NONE,
		.ended = trace->ended,
		.trouble = trace->trouble ? keep(timeline, trace->trouble) : NULL,
		.lost_records = trace->ended ? trace->footer.lost_records : trace->header.lost_records,
		.lost_device_times = trace->ended ? trace->footer.lost_device_times : 0,
		.lost_operations = trace->ended ? trace->footer.lost_operations : 0,
		.real_offset_ns = clamp_ns(trace->header.real_ns) - clamp_ns(trace->header.monotonic_ns),
	};
	struct bases bases;

	process.first_queue = (uint32_t)timeline->queue_count;
	add_tables(timeline, trace, number, &bases);
	process.queue_count = (uint32_t)timeline->queue_count - process.first_queue;
	process.first_operation = (uint32_t)timeline->operation_count;
	add_operations(timeline, trace, number, &bases);
	process.operation_count = (uint32_t)timeline->operation_count - process.first_operation;
	add_records(timeline, trace, &process, &bases);
	*MEM_PUSH(timeline->processes, timeline->process_count, timeline->process_room) = process;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct list {
	const char **items;
	size_t count, room;
};

static int list_folder(struct timeline *timeline, const char *path, struct list *files, const char **error)
{
	DIR *folder = opendir(path);
	size_t before = files->count;

	if (!folder) {
		*error = arena_format(&timeline->arena, "%s: %s", path, strerror(errno));
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		size_t length = strlen(entry->d_name);

		if (length > 8 && strcmp(entry->d_name + length - 8, ".pmtrace") == 0)
			*MEM_PUSH(files->items, files->count, files->room) =
				arena_format(&timeline->arena, "%s/%s", path, entry->d_name);
	}
	closedir(folder);
	if (files->count == before) {
		*error = arena_format(&timeline->arena, "%s: no *.pmtrace in this folder", path);
		return -1;
	}
	qsort(files->items + before, files->count - before, sizeof(*files->items), compare_texts);
	return 0;
}

int timeline_read(struct timeline *timeline, const char *const *paths, size_t path_count, const char **error,
	const char ***warnings)
{
	struct list files = {0}, notes = {0};
	const char **kept;
	int rc = -1;

	*error = NULL;
	for (size_t i = 0; i < path_count; i++) {
		struct stat status;

		if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode)) {
			if (list_folder(timeline, paths[i], &files, error) < 0)
				goto out;
		} else {
			*MEM_PUSH(files.items, files.count, files.room) = paths[i];
		}
	}
	for (size_t i = 0; i < files.count; i++) {
		struct trace trace;

		if (trace_open(&trace, files.items[i]) == 0)
			timeline_add(timeline, &trace);
		else
			*MEM_PUSH(notes.items, notes.count, notes.room) = keep(timeline, trace.error);
		trace_close(&trace);
	}
	if (timeline->process_count == 0) {
		*error = notes.count ? notes.items[0] : "no trace named";
		goto out;
	}
	rc = 0;
out:
	kept = arena_alloc(&timeline->arena, notes.count + 1, sizeof(*kept));
	if (notes.count)
		memcpy(kept, notes.items, notes.count * sizeof(*kept));
	*warnings = kept;
	free(files.items);
	free(notes.items);
	return rc;
}
