/*
 * A run as the PyTorch profiler (Kineto) would have written it, a file a GPU: see export.h. Tools that read
 * such traces match a kernel to its launch by correlation, and take steps from annotations. Our calls are of
 * whole library functions, so the launches inside one are not known: each is shown as a launch of its own
 * inside the call, no later than its work begins.
 */
#include "export.h"
#include "role.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_STREAM 7 /* what CUPTI calls the first stream of a context */

struct kineto {
	struct export_out *out;
	const struct analysis *analysis;
	const struct timeline *timeline;
	const struct timeline_process *process;
	const struct analysis_worker *worker;
	struct export_label *labels; /* by call of the process */
	uint32_t *owners;            /* by interval of the process */
	uint32_t graph_launch;       /* the last call that launched a captured graph */
	int64_t origin_ns;
	bool any; /* an event has been written */
};

/* ---- Events ---- */

static void put_time(struct export_out *out, const char *key, int64_t ns)
{
	export_format(out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void begin_event(struct kineto *kineto, const char *kind, int64_t process, int64_t thread)
{
	export_format(kineto->out, "%s\n{\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64,
		kineto->any ? "," : "", kind, process, thread);
	kineto->any = true;
}

/* A slice up to the members of its args. Its name may come in two parts. */
static void begin_slice(struct kineto *kineto, const char *category, const char *name_begin, const char *name,
	int64_t process, int64_t thread, int64_t begin_ns, int64_t end_ns)
{
	begin_event(kineto, "X", process, thread);
	put_time(kineto->out, "ts", begin_ns - kineto->origin_ns);
	put_time(kineto->out, "dur", end_ns > begin_ns ? end_ns - begin_ns : 0);
	export_format(kineto->out, ",\"cat\":\"%s\",\"name\":\"%s", category, name_begin);
	export_text(kineto->out, name);
	export_format(kineto->out, "\",\"args\":{");
}

static void put_flow(struct kineto *kineto, const char *kind, int64_t process, int64_t thread, int64_t ns,
	uint32_t interval)
{
	begin_event(kineto, kind, process, thread);
	put_time(kineto->out, "ts", ns - kineto->origin_ns);
	export_format(kineto->out, ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":%" PRIu32 "%s}", interval + 1,
		kind[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

static void put_name(
	struct kineto *kineto, int64_t process, int64_t thread, const char *what, const char *name)
{
	begin_event(kineto, "M", process, thread);
	put_time(kineto->out, "ts", 0);
	export_format(kineto->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	export_string(kineto->out, name);
	export_format(kineto->out, "}}");
}

/* ---- What things are called ---- */

static int64_t thread_number(const struct kineto *kineto, const struct timeline_call *call)
{
	return (int64_t)kineto->process->pid + call->thread;
}

/* Streams are counted on their device, in the order in which they were first used. */
static int64_t stream_number(const struct kineto *kineto, uint32_t queue)
{
	const struct timeline_queue *queues = kineto->timeline->queues;
	int64_t number = DEFAULT_STREAM;

	if (queues[queue].stream == 0)
		return number;
	for (uint32_t i = kineto->process->first_queue; i <= queue; i++)
		number += queues[i].device == queues[queue].device && queues[i].stream;
	return number;
}

static enum pm_kind kind_of(const struct kineto *kineto, uint32_t call)
{
	return timeline_function(kineto->timeline, TIMELINE_CALL(kineto->timeline, call))->kind;
}

static const char *copy_name(const struct kineto *kineto, uint32_t call)
{
	static const char *const names[PM_DIRECTION_COUNT + 1] = {[PM_DIRECTION_H2H] = "Memcpy HtoH",
		[PM_DIRECTION_H2D] = "Memcpy HtoD",
		[PM_DIRECTION_D2H] = "Memcpy DtoH",
		[PM_DIRECTION_D2D] = "Memcpy DtoD",
		[PM_DIRECTION_DEFAULT] = "Memcpy",
		[PM_DIRECTION_COUNT] = "Memcpy"};
	const struct timeline_operation *operation =
		&kineto->timeline->operations[timeline_call(kineto->timeline, call).operation];
	const struct export_label *label = &kineto->labels[call - kineto->process->first_call];
	const enum pm_direction direction = timeline_direction(kineto->timeline, operation);

	if (direction >= PM_DIRECTION_DEFAULT && label->layers && label->role->phase == PHASE_H2D)
		return names[PM_DIRECTION_H2D];
	return names[direction];
}

struct work_class {
	const char *category, *launch;
	const char *name_begin, *name;
};

/* What a device interval is to a reader of such traces. */
static struct work_class classify(const struct kineto *kineto, uint32_t interval, uint32_t owner)
{
	enum pm_kind kind = owner == EXPORT_NOBODY ? PM_KIND_NONE : kind_of(kineto, owner);
	const char *name;

	if (kind == PM_KIND_COPY)
		return (struct work_class){"gpu_memcpy", "cudaMemcpyAsync", "", copy_name(kineto, owner)};
	if (kind == PM_KIND_SET)
		return (struct work_class){"gpu_memset", "cudaMemsetAsync", "", "Memset (Device)"};
	name = export_work_name(kineto->timeline, timeline_interval(kineto->timeline, interval).operation);
	/* By their names such tools know communication: as NCCL called its kernels before 2.19. */
	if (kind == PM_KIND_COMM && !strstr(name, "Kernel")) {
		name = timeline_function(kineto->timeline, TIMELINE_CALL(kineto->timeline, owner))->name;
		return (struct work_class){"kernel", "cudaLaunchKernel", "ncclKernel_",
			strncmp(name, "nccl", 4) == 0 ? name + 4 : name};
	}
	return (struct work_class){"kernel", "cudaLaunchKernel", "", name};
}

/*
 * What joins work to its launch: the interval's number. All work of a captured graph has that of the call
 * that launched the graph, beyond those of intervals.
 */
static uint64_t correlation_of(const struct kineto *kineto, uint32_t interval)
{
	uint32_t owner = kineto->owners[interval - kineto->process->first_interval];

	if (owner == EXPORT_NOBODY || !(timeline_call(kineto->timeline, owner).flags &
					      (TIMELINE_FLAG_REPLAYED | TIMELINE_FLAG_DIVIDED)))
		return (uint64_t)interval + 1;
	while (timeline_call(kineto->timeline, owner).flags & TIMELINE_FLAG_REPLAYED)
		owner--;
	return kineto->timeline->interval_count + 1 + owner;
}

/* ---- The host ---- */

static void put_steps(struct kineto *kineto)
{
	const struct iteration_list *list = &kineto->worker->iterations;
	const struct worker *worker = kineto->worker->worker;

	for (size_t i = 0; i < list->count; i++) {
		const struct iteration *item = &list->items[i];
		const struct timeline_call *first;
		int64_t end_ns = INT64_MAX;
		char name[40];

		if (item->first_call >= item->call_end)
			continue;
		first = TIMELINE_CALL(kineto->timeline, worker->calls[item->first_call]);
		/* On the host, as a program's own annotation would be: until its next step's first call. */
		if (i + 1 < list->count && list->items[i + 1].first_call < list->items[i + 1].call_end)
			end_ns = timeline_call(kineto->timeline, worker->calls[list->items[i + 1].first_call])
					 .begin_ns;
		else
			end_ns = timeline_call(kineto->timeline, worker->calls[item->call_end - 1]).end_ns;
		snprintf(name, sizeof(name), "ProfilerStep#%zu", i);
		begin_slice(kineto, "user_annotation", "", name, (int64_t)kineto->process->pid,
			thread_number(kineto, first), first->begin_ns, end_ns);
		export_format(kineto->out, "\"External id\":%zu}}", i + 1);
	}
}

/* The launches inside a call share its time; none begins after its work. */
static void put_launches(struct kineto *kineto, const struct timeline_call *call, uint32_t number)
{
	int64_t thread = thread_number(kineto, call), before_ns = call->end_ns;

	for (uint32_t left = call->interval_count; left-- > 0;) {
		uint32_t interval = call->interval + left;
		int64_t begin_ns = call->begin_ns + (call->end_ns - call->begin_ns) * (int64_t)left /
							    (int64_t)call->interval_count;
		struct work_class class;

		if (kineto->owners[interval - kineto->process->first_interval] != number)
			continue;
		if (begin_ns > timeline_interval(kineto->timeline, interval).begin_ns)
			begin_ns = timeline_interval(kineto->timeline, interval).begin_ns;
		if (begin_ns < call->begin_ns)
			begin_ns = call->begin_ns;
		if (begin_ns > before_ns)
			begin_ns = before_ns;
		class = classify(kineto, interval, number);
		begin_slice(kineto, "cuda_runtime", "", class.launch, (int64_t)kineto->process->pid, thread,
			begin_ns, before_ns);
		export_format(kineto->out, "\"External id\":%" PRIu32 ",\"correlation\":%" PRIu64 "}}",
			number + 1, correlation_of(kineto, interval));
		put_flow(kineto, "s", (int64_t)kineto->process->pid, thread, begin_ns, interval);
		before_ns = begin_ns;
	}
}

/* Is it the runtime's or driver's own call, with at most one piece of work? Then it is the launch itself. */
static bool is_runtime(const struct timeline_function *function, const struct timeline_call *call)
{
	return (strncmp(function->library, "cudart", 6) == 0 || strcmp(function->library, "cuda") == 0) &&
	       call->interval_count <= 1;
}

/* Work of a graph comes from where the graph was launched. */
static void put_replayed(struct kineto *kineto, const struct timeline_call *call, uint32_t number)
{
	const struct timeline_call *launch = TIMELINE_CALL(kineto->timeline, kineto->graph_launch);

	for (uint32_t i = 0; i < call->interval_count; i++)
		if (kineto->owners[call->interval + i - kineto->process->first_interval] == number)
			put_flow(kineto, "s", (int64_t)kineto->process->pid, thread_number(kineto, launch),
				launch->begin_ns, call->interval + i);
}

static void put_call(struct kineto *kineto, uint32_t number)
{
	const struct timeline_call *call = TIMELINE_CALL(kineto->timeline, number);
	const struct timeline_function *function = timeline_function(kineto->timeline, call);
	const struct timeline_operation *operation = &kineto->timeline->operations[call->operation];
	bool runtime = is_runtime(function, call);
	int64_t process = (int64_t)kineto->process->pid, thread = thread_number(kineto, call);

	if (call->flags & TIMELINE_FLAG_REPLAYED) {
		put_replayed(kineto, call, number);
		return;
	}
	begin_slice(kineto, runtime ? "cuda_runtime" : "cpu_op", "", function->name, process, thread,
		call->begin_ns, call->end_ns);
	export_format(kineto->out, "\"External id\":%" PRIu32, number + 1);
	export_put_label(kineto->out, &kineto->labels[number - kineto->process->first_call]);
	if (operation->module) {
		export_format(kineto->out, ",\"module\":");
		export_string(kineto->out, operation->module);
	}
	if (call->flags & TIMELINE_FLAG_DIVIDED) {
		kineto->graph_launch = number;
		export_format(kineto->out, ",\"correlation\":%" PRIu64 "}}",
			(uint64_t)kineto->timeline->interval_count + 1 + number);
		put_replayed(kineto, call, number);
		return;
	}
	if (runtime && call->interval_count == 1 &&
		kineto->owners[call->interval - kineto->process->first_interval] == number) {
		export_format(kineto->out, ",\"correlation\":%" PRIu32 "}}", call->interval + 1);
		put_flow(kineto, "s", process, thread, call->begin_ns, call->interval);
		return;
	}
	export_format(kineto->out, "}}");
	if (!runtime)
		put_launches(kineto, call, number);
}

/* ---- The device ---- */

static const char *type_name(uint64_t type)
{
	static const char *const names[] = {[PM_TYPE_F32] = "Float",
		[PM_TYPE_F64] = "Double",
		[PM_TYPE_F16] = "Half",
		[PM_TYPE_BF16] = "BFloat16",
		[PM_TYPE_I8] = "Char",
		[PM_TYPE_U8] = "Byte",
		[PM_TYPE_I32] = "Int",
		[PM_TYPE_I64] = "Long"};

	return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "";
}

/* What a tool needs to know of a collective, under Kineto's keys. */
static void put_collective(struct kineto *kineto, uint32_t call)
{
	const struct timeline *timeline = kineto->timeline;
	const struct timeline_operation *operation =
		&timeline->operations[timeline_call(timeline, call).operation];
	const struct timeline_function *function = &timeline->functions[operation->function];
	const char *name = function->name;
	uint64_t communicator = 0, count = 0, type = 0;
	int32_t size;

	if (strncmp(name, "nccl", 4) != 0 || !timeline_value(timeline, operation, "comm", &communicator) ||
		communicator >= timeline->communicator_count)
		return;
	size = timeline->communicators[communicator].size;
	timeline_value(timeline, operation, "count", &count);
	timeline_value(timeline, operation, "type", &type);
	export_format(kineto->out, ",\"Collective name\":\"");
	for (const char *letter = name + 4; *letter; letter++)
		export_format(kineto->out, "%c", tolower((unsigned char)*letter));
	export_format(kineto->out,
		"\",\"dtype\":\"%s\",\"Group size\":%" PRId32 ",\"In msg nelems\":%" PRIu64
		",\"Out msg nelems\":%" PRIu64 ",\"Process Group Name\":\"%016" PRIx64 "\"",
		type_name(type), size,
		function->facts.role == PM_ROLE_REDUCE_SCATTER ? count * (uint64_t)size : count,
		function->facts.role == PM_ROLE_ALL_GATHER ? count * (uint64_t)size : count,
		timeline->communicators[communicator].hash);
}

static void put_interval(struct kineto *kineto, uint32_t number)
{
	const struct timeline_interval *interval = TIMELINE_INTERVAL(kineto->timeline, number);
	uint32_t owner = kineto->owners[number - kineto->process->first_interval];
	int64_t device = kineto->worker->worker->device, stream = stream_number(kineto, interval->queue);
	struct work_class class = classify(kineto, number, owner);
	uint64_t bytes;

	begin_slice(kineto, class.category, class.name_begin, class.name, device, stream, interval->begin_ns,
		interval->end_ns);
	export_format(kineto->out,
		"\"device\":%" PRId64 ",\"context\":1,\"stream\":%" PRId64 ",\"correlation\":%" PRIu64,
		device, stream, correlation_of(kineto, number));
	if (owner == EXPORT_NOBODY) {
		export_format(kineto->out, "}}");
		return;
	}
	export_format(kineto->out, ",\"External id\":%" PRIu32, owner + 1);
	export_put_label(kineto->out, &kineto->labels[owner - kineto->process->first_call]);
	if (class.category[0] != 'k' &&
		timeline_value(kineto->timeline,
			&kineto->timeline->operations[timeline_call(kineto->timeline, owner).operation],
			"bytes", &bytes))
		export_format(kineto->out, ",\"bytes\":%" PRIu64, bytes);
	if (kind_of(kineto, owner) == PM_KIND_COMM)
		put_collective(kineto, owner);
	export_format(kineto->out, "}}");
	put_flow(kineto, "f", device, stream, interval->begin_ns, number);
}

/* ---- A file ---- */

/* Is it on another device of the process? */
static bool is_elsewhere(const struct kineto *kineto, uint32_t queue)
{
	return queue != 0 && kineto->timeline->queues[queue].device != kineto->worker->worker->device;
}

static void put_events(struct kineto *kineto)
{
	const struct timeline_process *process = kineto->process;
	const struct timeline *timeline = kineto->timeline;

	put_name(kineto, (int64_t)process->pid, 0, "process_name", process->program ? process->program : "");
	put_steps(kineto);
	for (size_t i = 0; i < process->call_count; i++)
		if (!is_elsewhere(kineto, timeline_call(timeline, process->first_call + i).queue))
			put_call(kineto, (uint32_t)(process->first_call + i));
	for (size_t i = 0; i < process->interval_count; i++)
		if (!is_elsewhere(kineto, timeline_interval(timeline, process->first_interval + i).queue))
			put_interval(kineto, (uint32_t)(process->first_interval + i));
}

void export_kineto(struct export_out *out, const struct run *run, size_t worker)
{
	const struct analysis *analysis = &run->analysis;
	const struct timeline *timeline = &analysis->timeline;
	const struct analysis_worker *item = &analysis->workers[worker];
	const struct timeline_process *process = &timeline->processes[item->worker->process];
	struct kineto kineto = {.out = out,
		.analysis = analysis,
		.timeline = timeline,
		.process = process,
		.worker = item,
		.labels = mem_alloc(process->call_count, sizeof(*kineto.labels)),
		.owners = mem_alloc(process->interval_count, sizeof(*kineto.owners)),
		.origin_ns = export_earliest(analysis)};

	export_label_calls(analysis, item, kineto.labels);
	export_find_owners(timeline, process, kineto.owners);
	/* HTA looks for the rank by a pattern that wants the blank. */
	export_format(out,
		"{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"distributedInfo\":{\"backend\":\"nccl\",\"rank\": %zu,"
		"\"world_size\":%zu},\"deviceProperties\":[{\"id\":%d}],\"traceName\":",
		worker, analysis->worker_count + analysis->idle_count, item->worker->device);
	export_string(out, run->label);
	export_format(out, ",\"traceEvents\":[");
	put_events(&kineto);
	export_format(out, "\n]}\n");
	free(kineto.labels);
	free(kineto.owners);
}
