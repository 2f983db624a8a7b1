/* Profiles whose processes are named after devices: see imported_device.h. */
#include "imported_device.h"
#include "framework/hlo_program.h"
#include "timeline/phase_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What the spans of a thread are. */
enum part { PART_OTHER, PART_DEVICE, PART_EXCHANGE, PART_CALLS, PART_HOST, PART_DERIVED };

/* Processes, by how their names begin. Ascend's exchanges stand in a process of their own, and in newer
 * files among the hardware's work too. */
static const struct {
	const char *prefix;
	enum part part;
	enum imported_format format;
} processes[] = {
	{"/device:", PART_DEVICE, IMPORTED_JAX},
	{"/host:metadata", PART_DERIVED, IMPORTED_JAX},
	{"/host:", PART_HOST, IMPORTED_JAX},
	{"Ascend Hardware", PART_DEVICE, IMPORTED_ASCEND},
	{"CANN", PART_CALLS, IMPORTED_ASCEND},
	{"Communication", PART_EXCHANGE, IMPORTED_ASCEND},
	{"HCCL", PART_EXCHANGE, IMPORTED_ASCEND},
	{"Overlap Analysis", PART_DERIVED, IMPORTED_ASCEND},
	{"AI Core Freq", PART_DERIVED, IMPORTED_ASCEND},
};
#define PROCESSES (sizeof(processes) / sizeof(*processes))

/* Rows of a JAX device that repeat what its streams do; a TPU has its work in "XLA Ops" alone. */
static const char *const derived_rows[] = {"XLA Modules", "XLA Ops", "XLA TraceMe", "Steps", "Framework",
	"TensorFlow", "Source", "Launch Stats", "Async XLA Ops", "Sparse"};

struct device_reader {
	struct imported *imported;
	uint8_t *parts;     /* by thread */
	uint32_t *workers;  /* by thread */
	bool has_exchange;  /* the hardware's rows have the exchanges */
	uint32_t phases[2]; /* strings: forward, backward */
};

static int row_of(const char *process)
{
	for (size_t i = 0; i < PROCESSES; i++)
		if (strncmp(process, processes[i].prefix, strlen(processes[i].prefix)) == 0)
			return (int)i;
	return -1;
}

bool imported_device_names(const char *process)
{
	int row = row_of(process);

	/* "Communication" alone may be anybody's. */
	return row >= 0 && processes[row].part != PART_EXCHANGE && processes[row].part != PART_CALLS;
}

static const char *process_of(const struct imported *imported, uint32_t thread)
{
	uint32_t named = imported_look_up_thread(imported, imported->threads[thread].process, INT64_MIN);

	return named == IMPORTED_NONE ? "" : imported->strings.items[imported->threads[named].process_name];
}

static const char *thread_name(const struct imported *imported, uint32_t thread)
{
	return imported->strings.items[imported->threads[thread].thread_name];
}

static bool is_derived(const char *row)
{
	for (size_t i = 0; i < sizeof(derived_rows) / sizeof(*derived_rows); i++)
		if (strncmp(row, derived_rows[i], strlen(derived_rows[i])) == 0)
			return true;
	return false;
}

/* Has the thread's process a row of that beginning? */
static bool has_row(const struct imported *imported, int64_t process, const char *prefix)
{
	for (uint32_t i = 0; i < imported->thread_count; i++)
		if (imported->threads[i].process == process &&
			strncmp(thread_name(imported, i), prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static enum part part_of(const struct imported *imported, uint32_t thread)
{
	int row = row_of(process_of(imported, thread));
	const char *name = thread_name(imported, thread);

	if (row < 0 || processes[row].part != PART_DEVICE || !is_derived(name))
		return row < 0 ? PART_OTHER : processes[row].part;
	return strcmp(name, "XLA Ops") == 0 && !has_row(imported, imported->threads[thread].process, "Stream")
		       ? PART_DEVICE
		       : PART_DERIVED;
}

/* "/device:GPU:1 NVIDIA A100" is device 1. */
static int32_t device_number(const char *process)
{
	const char *digits = strrchr(process, ':');
	const char *space = strchr(process, ' ');

	while (space && digits > space) { /* a colon of the device's name */
		size_t length = (size_t)(digits - process);

		digits = memrchr(process, ':', length);
	}
	return digits && isdigit((unsigned char)digits[1]) ? (int32_t)strtol(digits + 1, NULL, 10) : 0;
}

static uint32_t worker_of(struct imported *imported, uint32_t thread)
{
	const char *process = process_of(imported, thread);
	int64_t number = imported->threads[thread].process;

	for (uint32_t i = 0; i < imported->worker_count; i++)
		if (imported->workers[i].process == number)
			return i;
	*MEM_PUSH(imported->workers, imported->worker_count, imported->worker_room) =
		(struct imported_worker){.rank = imported->rank,
			.process = number,
			.device = device_number(process),
			.label = process};
	return (uint32_t)imported->worker_count - 1;
}

/* Parts of the threads that have spans; workers in the order of their processes. */
static void find_parts(struct device_reader *reader)
{
	struct imported *imported = reader->imported;
	bool *used = mem_alloc(imported->thread_count, sizeof(*used));

	for (size_t i = 0; i < imported->spans.count; i++)
		if (imported->spans.kind[i] == IMPORTED_PHASE)
			used[imported->spans.thread[i]] = true;
	imported->worker_count = 0;
	for (uint32_t i = 0; i < imported->thread_count; i++) {
		reader->parts[i] = (uint8_t)(used[i] ? part_of(imported, i) : PART_OTHER);
		if (reader->parts[i] == PART_DEVICE)
			reader->workers[i] = worker_of(imported, i);
	}
	free(used);
}

static bool is_copy(const char *name)
{
	return strncasecmp(name, "memcpy", 6) == 0;
}

/* Phase and layer that the framework's path of the operation tells. */
static void take_path(struct device_reader *reader, uint32_t event, uint32_t path)
{
	struct imported *imported = reader->imported;
	enum hlo_direction direction = hlo_name_direction(imported->strings.items[path]);
	const char *layer;

	if (direction != HLO_NONE)
		imported->events.phase[event] = reader->phases[direction != HLO_FORWARD];
	if (direction == HLO_NONE)
		return;
	layer = hlo_name_layer(&imported->strings.arena, imported->strings.items[path]);
	imported->events.layer[event] = intern_text(&imported->strings, layer, strlen(layer));
}

/* HCCL's exchanges are named by what they are, their group and their number: "hcom_allReduce__203_0_1". */
static void take_hcom(struct imported *imported, uint32_t event, const char *name)
{
	const char *numbers = strstr(name, "__");
	size_t length = numbers ? (size_t)(numbers - name) : strlen(name);
	struct imported_collective collective = {.in_count = -1, .out_count = -1, .sequence = -1, .from = -1, .to = -1};
	char *end;

	imported->events.name[event] = intern_text(&imported->strings, name, length);
	collective.name = imported->events.name[event];
	if (numbers) {
		size_t digits = strspn(numbers + 2, "0123456789");

		collective.group = intern_text(&imported->strings, numbers + 2, digits);
		if (numbers[2 + digits] == '_')
			collective.sequence = strtol(numbers + 3 + digits, &end, 10);
	}
	imported->events.collective[event] = (uint32_t)imported->collective_count;
	*MEM_PUSH(imported->collectives, imported->collective_count, imported->collective_room) = collective;
}

static void take_work(struct device_reader *reader, uint32_t span, uint32_t worker)
{
	struct imported *imported = reader->imported;
	struct imported_spans *spans = &imported->spans;
	const char *name = imported->strings.items[spans->name[span]];
	int64_t stream = imported->threads[spans->thread[span]].thread;
	uint32_t event = imported_add_event(imported);

	imported->events.begin_ns[event] = spans->begin_ns[span];
	imported->events.end_ns[event] = spans->end_ns[span];
	imported->events.name[event] = spans->name[span];
	imported->events.queue[event] =
		imported_find_queue(imported, worker, imported->workers[worker].device, stream);
	imported->events.correlation[event] = spans->external[span];
	if (is_copy(name))
		imported->events.activity[event] = IMPORTED_COPY;
	else if (strncasecmp(name, "memset", 6) == 0)
		imported->events.activity[event] = IMPORTED_SET;
	if (spans->shapes[span])
		take_path(reader, event, spans->shapes[span]);
	if (strncmp(name, "hcom_", 5) == 0)
		take_hcom(imported, event, name);
}

static void take_call(struct imported *imported, uint32_t span)
{
	uint32_t call = imported_add_call(imported);

	imported->calls.begin_ns[call] = imported->spans.begin_ns[span];
	imported->calls.end_ns[call] = imported->spans.end_ns[span];
	imported->calls.name[call] = imported->spans.name[span];
	imported->calls.thread[call] = imported->spans.thread[span];
	imported->calls.correlation[call] = imported->spans.external[span];
}

/* What the host's span becomes, in its place: its kind; false: nothing. Spans of JAX's Python tracer begin
 * with a dollar. */
static bool keep_host(struct imported *imported, uint32_t span)
{
	struct imported_spans *spans = &imported->spans;
	const char *name = imported->strings.items[spans->name[span]];

	if (spans->external[span]) {
		take_call(imported, span);
		return false;
	}
	if (spans->step[span] < 0)
		spans->kind[span] = *name == '$' ? IMPORTED_PYTHON : IMPORTED_ANNOTATION;
	spans->shapes[span] = 0;
	return true;
}

/* Whether the span is kept as one. */
static bool imported_device_take(struct device_reader *reader, uint32_t span)
{
	struct imported *imported = reader->imported;
	uint32_t thread = imported->spans.thread[span];

	if (imported->spans.kind[span] != IMPORTED_PHASE)
		return true;
	switch ((enum part)reader->parts[thread]) {
	case PART_DEVICE:
		take_work(reader, span, reader->workers[thread]);
		return false;
	case PART_EXCHANGE:
		if (!reader->has_exchange && imported->worker_count)
			take_work(reader, span, 0);
		return false;
	case PART_CALLS:
		take_call(imported, span);
		return false;
	case PART_DERIVED:
		return false;
	case PART_HOST:
	case PART_OTHER:
		break;
	}
	return keep_host(imported, span);
}

/* The columns that a span has here, one place further to the front. */
static void move_span(struct imported_spans *spans, size_t to, size_t from)
{
	spans->begin_ns[to] = spans->begin_ns[from];
	spans->end_ns[to] = spans->end_ns[from];
	spans->name[to] = spans->name[from];
	spans->thread[to] = spans->thread[from];
	spans->step[to] = spans->step[from];
	spans->sequence[to] = spans->sequence[from];
	spans->forward[to] = spans->forward[from];
	spans->external[to] = spans->external[from];
	spans->shapes[to] = spans->shapes[from];
	spans->kind[to] = spans->kind[from];
}

static bool has_exchange(const struct device_reader *reader)
{
	const struct imported *imported = reader->imported;

	for (size_t i = 0; i < imported->spans.count; i++)
		if (reader->parts[imported->spans.thread[i]] == PART_DEVICE &&
			strncmp(imported->strings.items[imported->spans.name[i]], "hcom_", 5) == 0)
			return true;
	return false;
}

/* The host's threads work for all devices of the file. */
static void share_host(const struct device_reader *reader)
{
	struct imported *imported = reader->imported;
	int64_t host = 0;
	bool found = false;

	for (uint32_t i = 0; i < imported->thread_count && !found; i++)
		if ((found = reader->parts[i] == PART_HOST))
			host = imported->threads[i].process;
	for (uint32_t i = 0; i < imported->worker_count && found; i++)
		imported->workers[i].process = host;
}

static enum imported_format format_of(const struct imported *imported)
{
	for (uint32_t i = 0; i < imported->thread_count; i++) {
		int row = row_of(process_of(imported, i));

		if (row >= 0)
			return processes[row].format;
	}
	return IMPORTED_JAX;
}

int imported_device_settle(struct imported *imported)
{
	struct device_reader reader = {imported, .parts = mem_alloc(imported->thread_count, 1),
		.workers = mem_alloc(imported->thread_count, sizeof(*reader.workers)),
		.phases = {intern_text(&imported->strings, phase_symbols[PHASE_FORWARD],
				   strlen(phase_symbols[PHASE_FORWARD])),
			intern_text(&imported->strings, phase_symbols[PHASE_BACKWARD],
				strlen(phase_symbols[PHASE_BACKWARD]))}};
	size_t kept = 0;

	imported->format = format_of(imported);
	find_parts(&reader);
	reader.has_exchange = has_exchange(&reader);
	for (uint32_t i = 0; i < imported->spans.count; i++)
		if (imported_device_take(&reader, i))
			move_span(&imported->spans, kept++, i);
	imported->spans.count = kept;
	share_host(&reader);
	free(reader.parts);
	free(reader.workers);
	if (imported->worker_count)
		return 0;
	return imported_trouble(imported,
		"%s: a profile of the host alone: no process of a device in it (\"/device:GPU:0\"), as of a run "
		"on the CPU, or where the profiler may not use CUPTI",
		imported->path);
}
