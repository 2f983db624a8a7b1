/*
 * From trace files to the canonical model: folders, and the tables. Numbers of the file become numbers of the
 * run by adding where the process's tables begin. Records are timeline_join.c's.
 */
#include "trace/losses.h"
#include "base/parallel.h"
#include "timeline_join.h"
#include "timeline_read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static void add_tables(
	struct timeline *timeline, const struct trace *trace, uint32_t process, struct timeline_bases *bases)
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
	struct timeline *timeline, const struct trace *trace, uint32_t process, struct timeline_bases *bases)
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
		if (from->module)
			to->module = timeline->strings[bases->strings + from->module];
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
			case PM_VALUE_GRAPH:
				values[j] = renumber(from->values[j], trace->graph_count, bases->graphs);
				break;
			default:
				values[j] = from->values[j];
			}
		}
	}
}

/* Of a graph's operations those that put work on a device, as the timeline promises. */
static void add_graphs(struct timeline *timeline, const struct trace *trace, struct timeline_bases *bases)
{
	bases->graphs = (uint32_t)timeline->graph_count;
	for (size_t i = 0; i < trace->graph_count; i++) {
		const struct trace_graph *from = &trace->graphs[i];
		uint32_t *operations = arena_alloc(&timeline->arena, from->node_count, sizeof(*operations));
		uint32_t count = 0;

		for (uint32_t j = 0; j < from->node_count; j++)
			if (timeline_replay_is_work(trace, from->nodes[j].op))
				operations[count++] = bases->operations + from->nodes[j].op;
		*MEM_PUSH(timeline->graphs, timeline->graph_count, timeline->graph_room) =
			(struct timeline_graph){count, operations};
	}
}

static int64_t clamp_ns(uint64_t ns)
{
	return ns < (uint64_t)(INT64_MAX / 16) ? (int64_t)ns : INT64_MAX / 16;
}

/* Of a wall clock: 2026 is beyond what other times may be. */
static int64_t clamp_real_ns(uint64_t ns)
{
	return ns < (uint64_t)(INT64_MAX / 4) ? (int64_t)ns : INT64_MAX / 4;
}

static int64_t positive(int64_t number)
{
	return number > 0 ? number : 0;
}

/* Places whose address or module has no entry are of a trace that was cut off. */
static void add_places(struct timeline *timeline, const struct trace *trace,
	const struct timeline_bases *bases, struct timeline_process *process)
{
	struct timeline_place *places = arena_alloc(&timeline->arena, trace->place_count, sizeof(*places));
	size_t count = 0;

	for (size_t i = 0; i < trace->place_count; i++) {
		const struct trace_place *from = &trace->places[i];

		if (from->address > 0 && from->address < trace->address_count &&
			trace_string(trace, from->module))
			places[count++] = (struct timeline_place){trace->addresses[from->address],
				timeline->strings[bases->strings + from->module], i};
	}
	timeline_set_places(process, places, count);
}

static void add_device(
	struct timeline *timeline, struct timeline_process *process, const struct trace_device *from)
{
	timeline_set_device(timeline, process,
		&(struct timeline_device){.device = from->device,
			.name = from->name,
			.capability_major = from->capability_major,
			.capability_minor = from->capability_minor,
			.multiprocessors = positive(from->multiprocessors),
			.clock_khz = positive(from->clock_khz),
			.memory_clock_khz = positive(from->memory_clock_khz),
			.memory_bus_bits = positive(from->memory_bus_bits),
			.memory_bytes = clamp_ns(from->memory_bytes)});
}

/* The losses under their causes are counted as they happen, to the end and beyond the footer; a trace from
 * before causes were has the footer's sums alone. */
static void add_losses(struct timeline_process *process, const struct trace *trace)
{
	const struct {
		uint64_t *sum;
		enum pm_loss_class loss_class;
	} sums[] = {{&process->lost_records, PM_LOSS_OF_RECORDS},
		{&process->lost_device_times, PM_LOSS_OF_TIMES},
		{&process->lost_operations, PM_LOSS_OF_DETAILS},
		{&process->unseen_calls, PM_LOSS_OF_FUNCTIONS}};

	memcpy(process->losses, trace->header.losses, sizeof(process->losses));
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		uint64_t sum = losses_of(process->losses, sums[i].loss_class);

		if (sum > *sums[i].sum)
			*sums[i].sum = sum;
	}
}

/* Notes of the hook's that begin with "warning: ". */
/*
 * The hook leaves CUPTI to another tool that comes while the program runs (torch.profiler does), and times
 * calls by pairs of events from then on. The header still says CUPTI. Returns the warning, or NULL.
 */
static const char *left_cupti(struct timeline *timeline, const struct trace *trace)
{
	static const char beginning[] = "device: pairs of events from now on: ";

	for (size_t i = 0; i < trace->note_count; i++)
		if (strncmp(trace->notes[i], beginning, strlen(beginning)) == 0)
			return arena_format(&timeline->arena,
				"%s: from then on device times are of pairs of events around calls, which hold "
				"the gaps before kernels too; for each kernel's own time run one tool at a time",
				trace->notes[i] + strlen(beginning));
	return NULL;
}

static void add_warnings(
	struct timeline *timeline, struct timeline_process *process, const struct trace *trace)
{
	static const char word[] = "warning: ";
	const char *left = left_cupti(timeline, trace);

	for (size_t i = 0; i < trace->note_count; i++)
		process->warning_count += strncmp(trace->notes[i], word, strlen(word)) == 0;
	process->warnings =
		arena_alloc(&timeline->arena, process->warning_count + 1, sizeof(*process->warnings));
	process->warning_count = 0;
	if (left) {
		process->device_source = PM_DEVICE_EVENTS;
		process->warnings[process->warning_count++] = left;
	}
	for (size_t i = 0; i < trace->note_count; i++)
		if (strncmp(trace->notes[i], word, strlen(word)) == 0)
			process->warnings[process->warning_count++] =
				keep(timeline, trace->notes[i] + strlen(word));
}

/* Names of kernels that the trace has notes "assumed: NAME" of. */
static void add_assumed(
	struct timeline *timeline, struct timeline_process *process, const struct trace *trace)
{
	static const char word[] = "assumed: ";

	process->assumed = arena_alloc(&timeline->arena, trace->note_count + 1, sizeof(*process->assumed));
	for (size_t i = 0; i < trace->note_count; i++)
		if (strncmp(trace->notes[i], word, strlen(word)) == 0)
			process->assumed[process->assumed_count++] =
				keep(timeline, trace->notes[i] + strlen(word));
}

/* The process of a trace with its tables, without its calls; number: of the process. */
static void add_process(struct timeline *timeline, const struct trace *trace, uint32_t number,
	struct timeline_process *process, struct timeline_bases *bases)
{
	*process = (struct timeline_process){
		.path = keep(timeline, trace->path),
		.host = keep(timeline, trace->header.host),
		.program = keep(timeline, trace->header.program),
		.pid = trace->header.pid,
		.rank = trace->header.rank,
		.given_rank = trace->header.rank,
		.world = trace->header.world,
		.device_source = trace->header.device_source <= PM_DEVICE_CUPTI
					 ? (enum pm_device_source)trace->header.device_source
					 : PM_DEVICE_EVENTS,
		.ended = trace->ended,
		.trouble = trace->trouble ? keep(timeline, trace->trouble) : NULL,
		.lost_records = trace->ended ? trace->footer.lost_records : trace->header.lost_records,
		.lost_device_times = trace->ended ? trace->footer.lost_device_times : 0,
		.lost_operations = trace->ended ? trace->footer.lost_operations : 0,
		.unseen_calls = trace->footer.unseen_calls,
		.own_ns = trace->footer.own_ns,
		.new_ns = trace->footer.new_ns,
		.own_calls = trace->footer.calls,
		.run_ns = trace->ended && trace->footer.monotonic_ns > trace->header.monotonic_ns
				  ? clamp_ns(trace->footer.monotonic_ns - trace->header.monotonic_ns)
				  : 0,
		.input = {trace->header.worker_count, trace->header.worker_reads, trace->header.worker_bytes,
			trace->header.worker_ns},
		.real_offset_ns = clamp_real_ns(trace->header.real_ns) - clamp_ns(trace->header.monotonic_ns),
	};
	add_losses(process, trace);
	add_warnings(timeline, process, trace);
	add_assumed(timeline, process, trace);
	for (size_t i = 0; i < trace->device_entry_count; i++)
		add_device(timeline, process, &trace->devices[i]);
	process->first_queue = (uint32_t)timeline->queue_count;
	add_tables(timeline, trace, number, bases);
	process->queue_count = (uint32_t)timeline->queue_count - process->first_queue;
	process->first_operation = (uint32_t)timeline->operation_count;
	bases->graphs = (uint32_t)timeline->graph_count;
	add_operations(timeline, trace, number, bases);
	process->operation_count = (uint32_t)timeline->operation_count - process->first_operation;
	add_graphs(timeline, trace, bases);
	add_places(timeline, trace, bases, process);
	timeline_add_windows(timeline, trace, process);
}

void timeline_add(struct timeline *timeline, const struct trace *trace)
{
	struct timeline_process process;
	struct timeline_join join = {.process = &process};

	timeline_join_begin(&join, trace);
	add_process(timeline, trace, (uint32_t)timeline->process_count, &process, &join.bases);
	timeline_join_reserve(timeline, &join, 1);
	timeline_join_fill(timeline, &join);
	timeline_join_end(timeline, &join);
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

#define DEEPEST 3 /* levels of folders below the one that is named */

static bool is_folder(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int list_folder(
	struct timeline *timeline, const char *path, int depth, struct list *files, const char **error)
{
	DIR *folder = opendir(path);
	size_t before = files->count;
	struct list below = {0};
	bool found;

	if (!folder) {
		*error = arena_format(&timeline->arena, "%s: %s", path, strerror(errno));
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		size_t length = strlen(entry->d_name);

		if (length > 8 && strcmp(entry->d_name + length - 8, ".pmtrace") == 0)
			*MEM_PUSH(files->items, files->count, files->room) =
				arena_format(&timeline->arena, "%s/%s", path, entry->d_name);
		else if (depth < DEEPEST && entry->d_name[0] != '.')
			*MEM_PUSH(below.items, below.count, below.room) =
				arena_format(&timeline->arena, "%s/%s", path, entry->d_name);
	}
	closedir(folder);
	/* Below traces there may be anything, as those of other runs. */
	found = files->count > before;
	for (size_t i = 0; i < below.count && !found; i++)
		if (is_folder(below.items[i]))
			list_folder(timeline, below.items[i], depth + 1, files, error);
	free(below.items);
	if (depth > 0)
		return 0;
	if (files->count == before) {
		*error = arena_format(&timeline->arena,
			"%s: no *.pmtrace file and no trace of another profiler in this folder", path);
		return -1;
	}
	qsort(files->items + before, files->count - before, sizeof(*files->items), compare_texts);
	return 0;
}

/* Files that are read at once: as many as there are processors, so memory does not grow with the ranks. */
struct batch {
	struct timeline *timeline;
	const char *const *paths;
	struct trace *traces; /* by path */
	bool *opened;
	struct timeline_process *processes; /* those of the files that could be opened */
	struct timeline_join *joins;        /* likewise */
	size_t count;
};

static void open_file(void *context, size_t index)
{
	struct batch *batch = context;

	batch->opened[index] = trace_open(&batch->traces[index], batch->paths[index]) == 0;
}

static void begin_file(void *context, size_t index)
{
	struct batch *batch = context;

	timeline_join_begin(&batch->joins[index], batch->joins[index].trace);
}

static void fill_file(void *context, size_t index)
{
	struct batch *batch = context;

	timeline_join_fill(batch->timeline, &batch->joins[index]);
}

static void read_batch(struct batch *batch, size_t path_count, struct list *notes)
{
	struct timeline *timeline = batch->timeline;

	parallel_each(path_count, 0, open_file, batch);
	batch->count = 0;
	for (size_t i = 0; i < path_count; i++)
		if (batch->opened[i])
			batch->joins[batch->count++] = (struct timeline_join){.trace = &batch->traces[i]};
		else
			*MEM_PUSH(notes->items, notes->count, notes->room) =
				keep(timeline, batch->traces[i].error);
	parallel_each(batch->count, 0, begin_file, batch);
	for (size_t i = 0; i < batch->count; i++) {
		struct timeline_join *join = &batch->joins[i];

		join->process = &batch->processes[i];
		add_process(timeline, join->trace, (uint32_t)(timeline->process_count + i), join->process,
			&join->bases);
	}
	timeline_join_reserve(timeline, batch->joins, batch->count);
	parallel_each(batch->count, 0, fill_file, batch);
	for (size_t i = 0; i < batch->count; i++) {
		timeline_join_end(timeline, &batch->joins[i]);
		*MEM_PUSH(timeline->processes, timeline->process_count, timeline->process_room) =
			batch->processes[i];
	}
	for (size_t i = 0; i < path_count; i++)
		trace_close(&batch->traces[i]);
}

static void read_files(struct timeline *timeline, const struct list *files, struct list *notes)
{
	size_t most = parallel_processors();
	struct batch batch = {.timeline = timeline,
		.traces = mem_alloc(most, sizeof(*batch.traces)),
		.opened = mem_alloc(most, sizeof(*batch.opened)),
		.processes = mem_alloc(most, sizeof(*batch.processes)),
		.joins = mem_alloc(most, sizeof(*batch.joins))};

	for (size_t first = 0; first < files->count; first += most) {
		batch.paths = files->items + first;
		read_batch(&batch, files->count - first < most ? files->count - first : most, notes);
	}
	free(batch.traces);
	free(batch.opened);
	free(batch.processes);
	free(batch.joins);
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
			if (list_folder(timeline, paths[i], 0, &files, error) < 0)
				goto out;
		} else {
			*MEM_PUSH(files.items, files.count, files.room) = paths[i];
		}
	}
	read_files(timeline, &files, &notes);
	if (timeline->process_count == 0) {
		*error = notes.count ? notes.items[0] : "no trace given";
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
