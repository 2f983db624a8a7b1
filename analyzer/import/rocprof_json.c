/*
 * AMD's rocprofv3, --output-format json: of each process its agents, the names of kernels and operations, and
 * records of kernels, copies, HIP's calls and roctx ranges. A kernel or copy has the correlation number of
 * the call that enqueued it. A GPU as one process uses it is a worker, as in rocpd.c.
 */
#include "base/json.h"
#include "base/text_file.h"
#include "importer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 9e18 /* a time or number beyond is none */

/* What a number is called. */
struct name {
	int64_t number;
	uint32_t text; /* string of the file */
};

struct names {
	struct name *items; /* in order of number */
	size_t count, room;
};

struct reader {
	struct imported *imported;
	const cJSON *process; /* of the file's list */
	int64_t pid;
	struct names kernels, gpus, labels; /* by kernel's id, agent's handle, correlation number */
};

bool rocprof_json_sniff(const struct importer_head *head)
{
	return *importer_text(head) == '{' && importer_has(head, "\"rocprofiler-sdk-tool\"");
}

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* -1: there is none. */
static int64_t number(const cJSON *object, const char *key)
{
	const cJSON *item = member(object, key);

	return cJSON_IsNumber(item) && fabs(item->valuedouble) < MOST ? (int64_t)item->valuedouble : -1;
}

static uint32_t keep(struct reader *reader, const char *text)
{
	return text && *text ? intern_text(&reader->imported->strings, text, strlen(text)) : 0;
}

/* ---- names ---- */

static void add_name(struct names *names, int64_t number, uint32_t text)
{
	if (number >= 0 && text)
		*MEM_PUSH(names->items, names->count, names->room) = (struct name){number, text};
}

static int by_number(const void *left, const void *right)
{
	const struct name *a = left, *b = right;

	return a->number != b->number ? (a->number > b->number) - (a->number < b->number)
				      : (a->text > b->text) - (a->text < b->text);
}

static void order(struct names *names)
{
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), by_number);
}

/* 0: it has none. */
static uint32_t name_of(const struct names *names, int64_t number)
{
	const struct name wanted = {.number = number};
	size_t low = 0, high = names->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (by_number(&names->items[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < names->count && names->items[low].number == number ? names->items[low].text : 0;
}

static const char *first_word(const cJSON *object, const char *const *keys)
{
	for (; *keys; keys++)
		if (*text_file_word(object, *keys))
			return text_file_word(object, *keys);
	return "";
}

#define GPU 2 /* an agent's type */

static void read_names(struct reader *reader)
{
	static const char *const kernel_names[] = {
		"demangled_kernel_name", "formatted_kernel_name", "kernel_name", NULL};
	static const char *const agent_names[] = {"product_name", "model_name", "name", NULL};
	const cJSON *item;

	cJSON_ArrayForEach (item, member(reader->process, "kernel_symbols"))
		add_name(&reader->kernels, number(item, "kernel_id"),
			keep(reader, first_word(item, kernel_names)));
	cJSON_ArrayForEach (item, member(reader->process, "agents"))
		if (number(item, "type") == GPU)
			add_name(&reader->gpus, number(member(item, "id"), "handle"),
				keep(reader, first_word(item, agent_names)));
	cJSON_ArrayForEach (
		item, member(member(member(reader->process, "strings"), "correlation_id"), "external"))
		add_name(&reader->labels, number(item, "key"), keep(reader, text_file_word(item, "value")));
	cJSON_ArrayForEach (item, member(member(reader->process, "strings"), "marker_api"))
		add_name(&reader->labels, number(item, "key"), keep(reader, text_file_word(item, "value")));
	order(&reader->kernels);
	order(&reader->gpus);
	order(&reader->labels);
}

/* "hipLaunchKernel": the record's operation, in the list of its kind. */
static uint32_t operation_name(struct reader *reader, const cJSON *record)
{
	const cJSON *kinds = member(member(reader->process, "strings"), "buffer_records");
	const int64_t kind = number(record, "kind"), operation = number(record, "operation");

	if (kind < 0 || kind > INT32_MAX || operation < 0 || operation > INT32_MAX)
		return 0;
	return keep(
		reader, cJSON_GetStringValue(cJSON_GetArrayItem(
				member(cJSON_GetArrayItem(kinds, (int)kind), "operations"), (int)operation)));
}

/* ---- records ---- */

/* The number of the GPU among those of the process, in order of their handles; -1: it is none. */
static int32_t gpu_of(const struct reader *reader, int64_t handle)
{
	for (size_t i = 0; i < reader->gpus.count; i++)
		if (reader->gpus.items[i].number == handle)
			return (int32_t)i;
	return -1;
}

static uint32_t worker_of(struct reader *reader, int32_t gpu)
{
	struct imported *imported = reader->imported;

	for (uint32_t i = 0; i < imported->worker_count; i++)
		if (imported->workers[i].process == reader->pid && imported->workers[i].device == gpu)
			return i;
	*MEM_PUSH(imported->workers, imported->worker_count, imported->worker_room) =
		(struct imported_worker){.rank = -1,
			.process = reader->pid,
			.device = gpu,
			.label = imported->strings.items[reader->gpus.items[gpu].text]};
	return (uint32_t)imported->worker_count - 1;
}

static bool times_of(struct reader *reader, const cJSON *record, int64_t *begin_ns, int64_t *end_ns)
{
	*begin_ns = number(record, "start_timestamp");
	*end_ns = number(record, "end_timestamp");
	if (*begin_ns > 0 && *end_ns >= *begin_ns)
		return true;
	reader->imported->refused++;
	return false;
}

static void add_event(struct reader *reader, const cJSON *record, int32_t gpu, uint32_t name,
	enum imported_activity activity)
{
	struct imported *imported = reader->imported;
	const int64_t correlation = number(member(record, "correlation_id"), "internal");
	const int64_t stream = number(member(record, "stream_id"), "handle");
	int64_t begin_ns, end_ns;
	uint32_t event;

	if (gpu < 0 || !times_of(reader, record, &begin_ns, &end_ns))
		return;
	event = imported_add_event(imported);
	imported->events.begin_ns[event] = begin_ns;
	imported->events.end_ns[event] = end_ns;
	imported->events.name[event] = name;
	imported->events.queue[event] =
		imported_find_queue(imported, worker_of(reader, gpu), gpu, stream < 0 ? 0 : stream);
	imported->events.correlation[event] = correlation > 0 ? (uint64_t)correlation : 0;
	imported->events.activity[event] = (uint8_t)activity;
}

static void read_kernels(struct reader *reader, const cJSON *records)
{
	const cJSON *record;

	cJSON_ArrayForEach (record, records) {
		const cJSON *info = member(record, "dispatch_info");

		add_event(reader, record, gpu_of(reader, number(member(info, "agent_id"), "handle")),
			name_of(&reader->kernels, number(info, "kernel_id")), IMPORTED_KERNEL);
	}
}

/* A copy is of the GPU at one of its ends. */
static void read_copies(struct reader *reader, const cJSON *records)
{
	static const char *const names[2][2] = {
		{"Memcpy HtoH", "Memcpy HtoD"}, {"Memcpy DtoH", "Memcpy DtoD"}};
	const cJSON *record;

	cJSON_ArrayForEach (record, records) {
		const int32_t from = gpu_of(reader, number(member(record, "src_agent_id"), "handle"));
		const int32_t to = gpu_of(reader, number(member(record, "dst_agent_id"), "handle"));

		add_event(reader, record, to >= 0 ? to : from, keep(reader, names[from >= 0][to >= 0]),
			IMPORTED_COPY);
	}
}

static void read_calls(struct reader *reader, const cJSON *records)
{
	struct imported *imported = reader->imported;
	const cJSON *record;

	cJSON_ArrayForEach (record, records) {
		const int64_t correlation = number(member(record, "correlation_id"), "internal");
		int64_t begin_ns, end_ns;
		uint32_t call;

		if (!times_of(reader, record, &begin_ns, &end_ns))
			continue;
		call = imported_add_call(imported);
		imported->calls.begin_ns[call] = begin_ns;
		imported->calls.end_ns[call] = end_ns;
		imported->calls.name[call] = operation_name(reader, record);
		imported->calls.thread[call] =
			imported_find_thread(imported, reader->pid, number(record, "thread_id"));
		imported->calls.correlation[call] = correlation > 0 ? (uint64_t)correlation : 0;
	}
}

/* Ranges of roctx, whose texts have the correlation number of their call. */
static void read_ranges(struct reader *reader, const cJSON *records)
{
	struct imported *imported = reader->imported;
	const cJSON *record;

	cJSON_ArrayForEach (record, records) {
		const uint32_t name =
			name_of(&reader->labels, number(member(record, "correlation_id"), "internal"));
		int64_t begin_ns, end_ns;
		uint32_t span;

		if (!name || !times_of(reader, record, &begin_ns, &end_ns))
			continue;
		span = imported_add_span(imported);
		imported->spans.begin_ns[span] = begin_ns;
		imported->spans.end_ns[span] = end_ns;
		imported->spans.name[span] = name;
		imported->spans.thread[span] =
			imported_find_thread(imported, reader->pid, number(record, "thread_id"));
		imported->spans.kind[span] = IMPORTED_ANNOTATION;
	}
}

static void read_process(struct imported *imported, const cJSON *process)
{
	const cJSON *records = member(process, "buffer_records");
	struct reader reader = {
		.imported = imported, .process = process, .pid = number(member(process, "metadata"), "pid")};

	read_names(&reader);
	read_kernels(&reader, member(records, "kernel_dispatch"));
	read_copies(&reader, member(records, "memory_copy"));
	read_calls(&reader, member(records, "hip_api"));
	read_ranges(&reader, member(records, "marker_api"));
	free(reader.kernels.items);
	free(reader.gpus.items);
	free(reader.labels.items);
}

static const char *read_root(struct imported *imported, cJSON **root)
{
	const char *wrong = NULL;
	char *text, *ended;
	struct json file;
	size_t bytes;

	*root = NULL;
	if (json_open(&file, imported->path) < 0)
		return "cannot be read";
	text = json_all(&file, &bytes);
	wrong = file.limit ? file.limit : file.break_off;
	if (!wrong) {
		ended = mem_alloc(bytes + 1, 1);
		if (bytes)
			memcpy(ended, text, bytes);
		wrong = text_file_parse(imported->path, ended, root);
		free(ended);
	}
	if (wrong)
		imported_trouble(imported, "%s%s%s", wrong == file.break_off ? imported->path : "",
			wrong == file.break_off ? ": " : "", wrong);
	free(text);
	json_close(&file);
	return wrong;
}

int rocprof_json_read(struct imported *imported, unsigned wanted)
{
	const cJSON *tool, *process;
	cJSON *root;

	(void)wanted; /* there are no operators */
	imported->format = IMPORTED_ROCPROF;
	if (read_root(imported, &root))
		return -1;
	tool = member(root, "rocprofiler-sdk-tool");
	if (cJSON_IsObject(tool)) /* of one process, as some versions write it */
		read_process(imported, tool);
	else
		cJSON_ArrayForEach (process, tool)
			read_process(imported, process);
	cJSON_Delete(root);
	if (imported->events.count == 0)
		return imported_trouble(imported,
			"%s: no kernel or copy in \"buffer_records\": expected what rocprofv3 --kernel-trace "
			"--hip-trace --output-format json writes",
			imported->path);
	return 0;
}
