/*
 * From a trace to a process of the canonical model: what it says of itself, and the tables. Numbers of the
 * file become numbers of the run by adding where the process's tables begin. Records are timeline_join.c's.
 */
#include "trace/losses.h"
#include "timeline_join.h"
#include "timeline_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		to->facts = from->facts;
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
		if (from->innermost)
			to->innermost = timeline->strings[bases->strings + from->innermost];
		if (from->outermost)
			to->outermost = timeline->strings[bases->strings + from->outermost];
		to->python = (uint8_t)from->python;
		to->base = bases->operations + from->base;
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

int64_t timeline_wall_offset(const struct trace *trace)
{
	return clamp_real_ns(trace->header.real_ns) - clamp_ns(trace->header.monotonic_ns);
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

/* Of events without work: more is a damaged note. */
#define PAIR_MOST_NS 100000

/* What the hook has measured that a pair of events takes by itself; the last says it best. 0: it has not. */
static int64_t pair_ns_of(const struct trace *trace)
{
	static const char beginning[] = "device: a pair of events without work takes ";

	for (size_t i = trace->note_count; i-- > 0;)
		if (strncmp(trace->notes[i], beginning, strlen(beginning)) == 0) {
			const long ns = strtol(trace->notes[i] + strlen(beginning), NULL, 10);

			return ns > 0 && ns < PAIR_MOST_NS ? ns : 0;
		}
	return 0;
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

/* From the note "modelled: NAME" or "modelled: NAME, times x SCALE". */
static void add_modelled(
	struct timeline *timeline, struct timeline_process *process, const struct trace *trace)
{
	static const char word[] = "modelled: ", factor[] = ", times x ";

	process->time_scale = 1;
	for (size_t i = 0; i < trace->note_count && !process->modelled; i++) {
		const char *text, *times;
		double scale;

		if (strncmp(trace->notes[i], word, strlen(word)) != 0)
			continue;
		text = trace->notes[i] + strlen(word);
		times = strstr(text, factor);
		scale = times ? strtod(times + strlen(factor), NULL) : 1;
		if (scale > 0 && isfinite(scale))
			process->time_scale = scale;
		process->modelled =
			arena_text(&timeline->arena, text, times ? (size_t)(times - text) : strlen(text));
	}
}

/* Timelines of several processes outlive their traces. */
static void add_attempt(struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	process->attempt = trace_attempt(trace);
	process->attempt.job = keep(timeline, process->attempt.job);
}

/* From the note "processors: waited N us, ran N us". */
static double processor_wait_of(const struct trace *trace)
{
	unsigned long long waited_us, ran_us;

	for (size_t i = 0; i < trace->note_count; i++)
		if (sscanf(trace->notes[i], "processors: waited %llu us, ran %llu us", &waited_us, &ran_us) ==
				2 &&
			ran_us > 0)
			return (double)waited_us / ((double)waited_us + (double)ran_us);
	return NAN;
}

static void add_turns(struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	struct timeline_turn *turns = arena_alloc(&timeline->arena, trace->turn_count, sizeof(*turns));

	for (size_t i = 0; i < trace->turn_count; i++)
		turns[i] = (struct timeline_turn){trace->turns[i].is_recorded, (double)trace->turns[i].ns,
			trace->turns[i].calls};
	process->turns = turns;
	process->turn_count = trace->turn_count;
}

static void add_programs(struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	const struct trace_hlo programs = trace_hlo(trace);
	struct trace_hlo *copy;

	if (programs.module_count == 0)
		return;
	copy = arena_alloc(&timeline->arena, 1, sizeof(*copy));
	*copy = trace_hlo_copy(&timeline->arena, &programs);
	process->hlo = copy;
}

void timeline_join_describe(struct timeline *timeline, struct timeline_join *join, uint32_t number)
{
	const struct trace *trace = join->trace;
	struct timeline_process *process = join->process;
	struct timeline_bases *bases = &join->bases;

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
		.pair_ns = pair_ns_of(trace),
		.processor_wait = processor_wait_of(trace),
		.trouble = trace->trouble ? keep(timeline, trace->trouble) : NULL,
		.lost_records = trace->ended ? trace->footer.lost_records : trace->header.lost_records,
		.lost_device_times = trace->ended ? trace->footer.lost_device_times : 0,
		.lost_operations = trace->ended ? trace->footer.lost_operations : 0,
		.unseen_calls = trace->footer.unseen_calls,
		.own_ns = trace->footer.own_ns,
		.new_ns = trace->footer.new_processor_ns ? trace->footer.new_processor_ns
							 : trace->footer.new_ns,
		.new_on_processor = trace->footer.new_processor_ns > 0,
		.own_calls = trace->footer.calls,
		.run_ns = trace->ended && trace->footer.monotonic_ns > trace->header.monotonic_ns
				  ? clamp_ns(trace->footer.monotonic_ns - trace->header.monotonic_ns)
				  : 0,
		.input = {trace->header.worker_count, trace->header.worker_reads, trace->header.worker_bytes,
			trace->header.worker_ns},
		.real_offset_ns = timeline_wall_offset(trace),
	};
	add_losses(process, trace);
	add_warnings(timeline, process, trace);
	add_assumed(timeline, process, trace);
	timeline_add_command(timeline, trace, process);
	add_modelled(timeline, process, trace);
	add_attempt(timeline, trace, process);
	for (size_t i = 0; i < trace->device_entry_count; i++)
		add_device(timeline, process, &trace->devices[i]);
	process->first_queue = (uint32_t)timeline->queue_count;
	add_tables(timeline, trace, number, bases);
	process->queue_count = (uint32_t)timeline->queue_count - process->first_queue;
	process->first_operation = (uint32_t)timeline->operation_count;
	bases->graphs = (uint32_t)timeline->graph_count;
	add_operations(timeline, trace, number, bases);
	timeline_range_describe(timeline, join);
	timeline_load_describe(timeline, join, number);
	process->operation_count = (uint32_t)timeline->operation_count - process->first_operation;
	add_graphs(timeline, trace, bases);
	add_places(timeline, trace, bases, process);
	timeline_add_windows(timeline, trace, &join->stretches, process);
	add_turns(timeline, trace, process);
	add_programs(timeline, trace, process);
}

void timeline_add(struct timeline *timeline, const struct trace *trace)
{
	struct timeline_process process;
	struct timeline_join join = {.process = &process};

	timeline_join_begin(&join, trace, &(struct timeline_stretches){.count = 0});
	timeline_join_describe(timeline, &join, (uint32_t)timeline->process_count);
	timeline_join_reserve(timeline, &join, 1);
	timeline_join_fill(timeline, &join);
	timeline_join_end(timeline, &join);
	*MEM_PUSH(timeline->processes, timeline->process_count, timeline->process_room) = process;
}
