/*
 * A run as Chrome trace JSON: see export.h. A process is written at a time: first each worker's iterations
 * and phases, which also tell what every call was for; then the calls on the host, where flows begin, and
 * the ranges that the program names; then the device's intervals in order of begin, where they end.
 */
#include "export.h"
#include "output/report.h"
#include "range.h"
#include "role.h"
#include "track.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The order of a process's tracks, from above. */
enum { ORDER_WORKERS = 1, ORDER_THREADS = 10000, ORDER_RANGES = 80000, ORDER_QUEUES = 150000 };

/* A device interval in order of begin. */
struct work {
	int64_t begin_ns;
	uint32_t interval;
};

struct export
{
	const struct analysis *analysis;
	const struct timeline *timeline;
	struct export_tracks tracks;
	const struct timeline_process *process;
	struct export_label *labels; /* by call of the process */
	uint32_t *owners;            /* by interval of the process: its first call in the timeline */
	struct arena names;          /* of this process's tracks */
	struct export_track *phases; /* of the worker being written */
};

static void begin_args(struct export_out *out, const char *key, const char *text)
{
	export_format(out, ",\"args\":{\"%s\":", key);
	export_string(out, text);
}

static void put_iterations(
	struct export *export, const struct analysis_worker *worker, struct export_track *track)
{
	const struct iteration_list *list = &worker->iterations;
	static const char *const gaps[] = {"setup", "evaluation", "incomplete", "rest"};
	size_t gap = 0;

	for (size_t i = 0; i <= list->count; i++) {
		const struct iteration *item = i < list->count ? &list->items[i] : NULL;
		char name[40];

		for (; gap < list->gap_count && (!item || list->gaps[gap].begin_ns < item->begin_ns); gap++) {
			export_slice(&export->tracks, track, list->gaps[gap].begin_ns, list->gaps[gap].end_ns,
				"gap", gaps[list->gaps[gap].kind]);
			export_format(export->tracks.out, "}");
		}
		if (!item)
			break;
		snprintf(name, sizeof(name), "iteration %" PRId64,
			analysis_number(export->analysis, worker, i));
		export_slice(&export->tracks, track, item->begin_ns, item->end_ns, "iteration", name);
		begin_args(export->tracks.out, "kind", report_iteration_kinds[item->kind]);
		export_format(export->tracks.out, "}}");
	}
}

static void put_phase(void *context, enum phase phase, int64_t begin_ns, int64_t end_ns)
{
	struct export *export = context;

	export_slice(&export->tracks, export->phases, begin_ns, end_ns, "phase", phase_symbols[phase]);
	export_format(export->tracks.out, "}");
}

static void put_worker(struct export *export, const struct analysis_worker *worker, uint32_t order)
{
	struct export_track iterations = {
		.name = arena_format(&export->names, "gpu %d iterations", worker->worker->device),
		.order = ORDER_WORKERS + 2 * order,
	};
	struct export_track phases = {
		.name = arena_format(&export->names, "gpu %d phases", worker->worker->device),
		.order = ORDER_WORKERS + 2 * order + 1,
	};

	export_label_calls(export->analysis, worker, export->labels);
	put_iterations(export, worker, &iterations);
	export->phases = &phases;
	phase_stretches(&export->analysis->model, worker->worker, &worker->iterations, &worker->layers,
		put_phase, export);
	export_track_free(&iterations);
	export_track_free(&phases);
}

/* A flow has the number of its interval. */
static void put_flow(struct export *export, const char *kind, uint32_t lane, int64_t ns, uint32_t interval)
{
	export_event(&export->tracks, kind, lane);
	export_time(&export->tracks, "ts", ns);
	export_format(export->tracks.out, ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%" PRIu32 "%s}",
		interval + 1, kind[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

/* Flows to what the call put on the device. Of calls that share an interval the first one has it. */
static void put_flows(struct export *export, uint32_t call, uint32_t lane, int64_t ns)
{
	const struct timeline_call *item = TIMELINE_CALL(export->timeline, call);

	for (uint32_t i = 0; i < item->interval_count; i++)
		if (export->owners[item->interval + i - export->process->first_interval] == call)
			put_flow(export, "s", lane, ns, item->interval + i);
}

/* Calls that stand for a graph's operations were not made: their flows come from the launch. */
static void put_calls(struct export *export)
{
	const struct timeline_process *process = export->process;
	size_t count = (size_t)UINT16_MAX + 1;
	struct export_track *threads = mem_alloc(count, sizeof(*threads));
	struct {
		uint32_t lane;
		int64_t begin_ns;
	} *last = mem_alloc(count, sizeof(*last));

	for (size_t i = 0; i < process->call_count; i++) {
		uint32_t number = (uint32_t)(process->first_call + i);
		const struct timeline_call *call = TIMELINE_CALL(export->timeline, number);
		const struct timeline_function *function = timeline_function(export->timeline, call);
		struct export_track *track = &threads[call->thread];

		if (!(call->flags & TIMELINE_FLAG_REPLAYED)) {
			if (!track->name)
				track->name = arena_format(&export->names, "host thread %u", call->thread);
			track->order = ORDER_THREADS + call->thread;
			last[call->thread].begin_ns = call->begin_ns;
			last[call->thread].lane = export_slice(
				&export->tracks, track, call->begin_ns, call->end_ns, "host", function->name);
			begin_args(export->tracks.out, "library", function->library);
			export_put_label(export->tracks.out, &export->labels[i]);
			if (call->result)
				export_format(export->tracks.out, ",\"result\":%" PRId32, call->result);
			export_format(export->tracks.out, "}}");
		}
		if (last[call->thread].lane)
			put_flows(export, number, last[call->thread].lane, last[call->thread].begin_ns);
	}
	for (size_t i = 0; i < count; i++)
		export_track_free(&threads[i]);
	free(threads);
	free(last);
}

static int compare_work(const void *left, const void *right)
{
	const struct work *a = left, *b = right;

	return a->begin_ns != b->begin_ns  ? (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns)
	       : a->interval < b->interval ? -1
					   : a->interval > b->interval;
}

/* Streams are counted on each device, in the order in which they were first used. */
static void name_queues(struct export *export, struct export_track *tracks)
{
	const struct timeline_process *process = export->process;

	tracks[process->queue_count].name = "device, unknown stream";
	tracks[process->queue_count].order = ORDER_QUEUES + process->queue_count;
	for (uint32_t i = 0; i < process->queue_count; i++) {
		const struct timeline_queue *queues = &export->timeline->queues[process->first_queue];
		uint32_t ordinal = 1;

		for (uint32_t j = 0; j < i; j++)
			ordinal += queues[j].device == queues[i].device && queues[j].stream;
		tracks[i].name = queues[i].stream ? arena_format(&export->names, "gpu %d stream %" PRIu32,
							    queues[i].device, ordinal)
						  : arena_format(&export->names, "gpu %d default stream",
							    queues[i].device);
		tracks[i].order = ORDER_QUEUES + i;
	}
}

static void put_interval(struct export *export, uint32_t number, struct export_track *tracks)
{
	const struct timeline *timeline = export->timeline;
	const struct timeline_process *process = export->process;
	const struct timeline_interval *interval = TIMELINE_INTERVAL(timeline, number);
	uint32_t queue = interval->queue - process->first_queue, lane;
	uint32_t owner = export->owners[number - process->first_interval];

	if (interval->queue < process->first_queue || queue > process->queue_count)
		queue = process->queue_count;
	lane = export_slice(&export->tracks, &tracks[queue], interval->begin_ns, interval->end_ns, "device",
		export_work_name(timeline, interval->operation));
	if (owner == EXPORT_NOBODY) {
		export_format(export->tracks.out, "}");
		return;
	}
	begin_args(export->tracks.out, "call",
		timeline_function(timeline, TIMELINE_CALL(timeline, owner))->name);
	export_put_label(export->tracks.out, &export->labels[owner - process->first_call]);
	export_format(export->tracks.out, "}}");
	put_flow(export, "f", lane, interval->begin_ns, number);
}

static void put_intervals(struct export *export)
{
	const struct timeline_process *process = export->process;
	struct export_track *tracks = mem_alloc((size_t)process->queue_count + 1, sizeof(*tracks));
	struct work *works = mem_alloc(process->interval_count, sizeof(*works));

	name_queues(export, tracks);
	for (size_t i = 0; i < process->interval_count; i++) {
		works[i].interval = (uint32_t)(process->first_interval + i);
		works[i].begin_ns = timeline_interval(export->timeline, works[i].interval).begin_ns;
	}
	if (process->interval_count)
		qsort(works, process->interval_count, sizeof(*works), compare_work);
	for (size_t i = 0; i < process->interval_count; i++)
		put_interval(export, works[i].interval, tracks);
	for (uint32_t i = 0; i <= process->queue_count; i++)
		export_track_free(&tracks[i]);
	free(tracks);
	free(works);
}

static void put_process(struct export *export, uint32_t number)
{
	const struct timeline_process *process = &export->timeline->processes[number];
	const char *rank = process->rank >= 0 ? arena_format(&export->names, "rank %d, ", process->rank) : "";

	export->process = process;
	export->tracks.process = number + 1;
	export->labels = mem_alloc(process->call_count, sizeof(*export->labels));
	export->owners = mem_alloc(process->interval_count, sizeof(*export->owners));
	export_name(&export->tracks, 0, "process_name",
		*process->program || *process->host
			? arena_format(&export->names, "%s%s on %s, process %" PRIu32, rank, process->program,
				  process->host, process->pid)
			: arena_format(&export->names, "%sprocess %" PRIu32, rank, process->pid));
	export_order(&export->tracks, 0, "process_sort_index", number);
	for (size_t w = 0, order = 0; w < export->analysis->worker_count + export->analysis->idle_count; w++)
		if (export->analysis->workers[w].worker->process == number)
			put_worker(export, &export->analysis->workers[w], (uint32_t)order++);
	export_find_owners(export->timeline, process, export->owners);
	put_calls(export);
	export_ranges(&export->tracks, export->timeline, process, ORDER_RANGES, &export->names);
	put_intervals(export);
	free(export->labels);
	free(export->owners);
	arena_free(&export->names);
}

void export_trace(struct export_out *out, const struct run *run)
{
	const struct timeline *timeline = &run->analysis.timeline;
	struct export export = {
		.analysis = &run->analysis,
		.timeline = timeline,
		/* Numbers of lanes are apart from those of processes: a viewer takes a thread that has its
		 * process's number for the main one. */
		.tracks = {.out = out,
			.origin_ns = export_earliest(&run->analysis),
			.last_number = (uint32_t)timeline->process_count},
	};

	export_format(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":\"pmanalyze\",\"run\":");
	export_string(out, run->label);
	export_format(out,
		",\"origin_ns\":\"%" PRId64 "\",\"clock_residual_ns\":\"%" PRId64 "\"},\"traceEvents\":[",
		export.tracks.origin_ns, timeline->residual_ns);
	for (size_t i = 0; i < timeline->process_count && !out->error; i++)
		put_process(&export, (uint32_t)i);
	export_format(out, "\n]}\n");
}
