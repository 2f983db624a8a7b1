/*
 * Reads labelled phases from Chrome-trace JSON: an array of events, or an object with one under
 * "traceEvents". Events are complete ("X"), or begin and end ("B" and "E" on a thread, "b" and "e" by id). An
 * event's arguments say step, part of the model, micro-batch and often the worker's place, under several
 * names each.
 */
#include "base/json.h"
#include "base/limit.h"
#include "base/regular_file.h"
#include "kineto.h"
#include "labelled.h"
#include "pipeline_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPEN_LISTS 65536

struct arguments {
	int32_t step, chunk, batch, sequence;
	struct labelled_place place;
};

/* The arguments that say something, and where it goes. */
static const struct {
	const char *key;
	size_t at;
} argument_names[] = {
	{"step", offsetof(struct arguments, step)},
	{"iteration", offsetof(struct arguments, step)},
	{"model_chunk", offsetof(struct arguments, chunk)},
	{"chunk", offsetof(struct arguments, chunk)},
	{"mc", offsetof(struct arguments, chunk)},
	{"vp_stage", offsetof(struct arguments, chunk)},
	{"mb_id", offsetof(struct arguments, batch)},
	{"mb", offsetof(struct arguments, batch)},
	{"microbatch", offsetof(struct arguments, batch)},
	{"micro_batch", offsetof(struct arguments, batch)},
	{"microbatch_id", offsetof(struct arguments, batch)},
	{"seq_id", offsetof(struct arguments, sequence)},
	{"dp_rank", offsetof(struct arguments, place.data)},
	{"dp_rk", offsetof(struct arguments, place.data)},
	{"data_parallel_rank", offsetof(struct arguments, place.data)},
	{"pp_rank", offsetof(struct arguments, place.stage)},
	{"pp_rk", offsetof(struct arguments, place.stage)},
	{"stage", offsetof(struct arguments, place.stage)},
	{"pipeline_rank", offsetof(struct arguments, place.stage)},
	{"pipeline_parallel_rank", offsetof(struct arguments, place.stage)},
	{"tp_rank", offsetof(struct arguments, place.tensor)},
	{"tp_rk", offsetof(struct arguments, place.tensor)},
	{"tensor_parallel_rank", offsetof(struct arguments, place.tensor)},
	{"rank", offsetof(struct arguments, place.rank)},
	{"g_rk", offsetof(struct arguments, place.rank)},
	{"global_rank", offsetof(struct arguments, place.rank)},
};

/* An event as it is in the window. */
struct event {
	char phase;
	struct json_text name;
	const char *process, *thread, *id, *begin, *duration, *arguments;
};

/* What has begun and not ended: on the list of those that may be ended by the same, the last first. */
struct open {
	uint32_t older; /* number + 1, or 0; of a free one the next free one */
	uint32_t thread;
	int64_t id; /* 0 for "B" */
	int64_t begin_ns;
	struct arguments arguments;
	uint8_t types[2];
	int type_count;
};

struct reader {
	struct json json;
	struct labelled *job;
	uint32_t file;
	struct open *open;
	size_t open_count, open_room;
	uint32_t free_open;          /* first of those that have ended */
	uint32_t newest[OPEN_LISTS]; /* by hash of the thread or id; number + 1 */
	uint64_t unended;
};

static uint64_t thread_hash(uint32_t file, int64_t process, int64_t thread)
{
	return mem_hash(mem_hash(mem_hash(MEM_HASH_START, file), (uint64_t)process), (uint64_t)thread);
}

uint32_t labelled_look_up(const struct labelled *job, uint32_t file, int64_t process, int64_t thread)
{
	uint64_t hash = thread_hash(file, process, thread);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&job->thread_lookup, hash, &at)) != LOOKUP_NONE;) {
		const struct labelled_thread *found = &job->threads[i];

		if (found->file == file && found->process == process && found->thread == thread)
			return i;
	}
	return LABELLED_NONE;
}

uint32_t labelled_find_thread(struct labelled *job, uint32_t file, int64_t process, int64_t thread)
{
	uint32_t found = labelled_look_up(job, file, process, thread);

	if (found != LABELLED_NONE)
		return found;
	lookup_add(&job->thread_lookup, thread_hash(file, process, thread), (uint32_t)job->thread_count);
	*MEM_PUSH(job->threads, job->thread_count, job->thread_room) = (struct labelled_thread){
		.file = file, .process = process, .thread = thread, .place = {-1, -1, -1, -1}};
	return (uint32_t)(job->thread_count - 1);
}

static void take_member(const struct json_text *key, const char *value, struct event *event)
{
	if (JSON_IS(*key, "ph") && *value == '"')
		event->phase = value[1];
	else if (JSON_IS(*key, "name") && *value == '"')
		json_string(value + 1, &event->name);
	else if (JSON_IS(*key, "pid"))
		event->process = value;
	else if (JSON_IS(*key, "tid"))
		event->thread = value;
	else if (JSON_IS(*key, "id"))
		event->id = value;
	else if (JSON_IS(*key, "ts"))
		event->begin = value;
	else if (JSON_IS(*key, "dur"))
		event->duration = value;
	else if (JSON_IS(*key, "args") && *value == '{')
		event->arguments = value;
}

/* False: it is no JSON object. */
static bool take_event(const char *place, struct event *event)
{
	struct json_text key;
	const char *value;

	memset(event, 0, sizeof(*event));
	while ((value = json_member(place, &key))) {
		take_member(&key, value, event);
		place = json_skip(value);
		if (!place)
			return false;
	}
	place = json_blank(place);
	return *place == '}' || *place == '{';
}

static struct arguments take_arguments(const char *place)
{
	struct arguments arguments = {-1, -1, -1, -1, {-1, -1, -1, -1}};
	struct json_text key;
	const char *value;

	for (; place && (value = json_member(place, &key)); place = json_skip(value)) {
		int64_t number;

		if (!json_integer(value, &number) || number < 0 || number > INT32_MAX)
			continue;
		for (size_t i = 0; i < sizeof(argument_names) / sizeof(*argument_names); i++)
			if (strlen(argument_names[i].key) == key.length &&
				memcmp(argument_names[i].key, key.begin, key.length) == 0) {
				int32_t value32 = (int32_t)number;

				memcpy((char *)&arguments + argument_names[i].at, &value32, sizeof(value32));
			}
	}
	return arguments;
}

static void merge_number(int32_t *number, int32_t other)
{
	if (*number < 0)
		*number = other;
}

static void merge_place(struct labelled_place *place, const struct labelled_place *other)
{
	merge_number(&place->data, other->data);
	merge_number(&place->stage, other->stage);
	merge_number(&place->tensor, other->tensor);
	merge_number(&place->rank, other->rank);
}

static void take_name(struct reader *reader, const struct event *event)
{
	bool process = JSON_IS(event->name, "process_name");
	struct json_text key, text;
	const char *value = NULL, *place = event->arguments;
	char *name;
	uint32_t thread;

	if (!process && !JSON_IS(event->name, "thread_name"))
		return;
	for (; place && (value = json_member(place, &key)); place = json_skip(value))
		if (JSON_IS(key, "name"))
			break;
	if (!place || !value || *value != '"' || !json_string(value + 1, &text))
		return;
	name = arena_alloc(&reader->job->arena, text.length + 1, 1);
	json_unescape(&text, name);
	thread = labelled_find_thread(reader->job, reader->file, kineto_identity(event->process),
		process ? INT64_MIN : kineto_identity(event->thread));
	reader->job->threads[thread].name = name;
}

static void labelled_read_add(struct reader *reader, const struct open *what, int64_t end_ns)
{
	struct labelled *job = reader->job;

	merge_place(&job->threads[what->thread].place, &what->arguments.place);
	for (int i = 0; i < what->type_count; i++)
		*MEM_PUSH(job->operations, job->operation_count, job->operation_room) =
			(struct labelled_operation){.begin_ns = what->begin_ns,
				.end_ns = end_ns > what->begin_ns ? end_ns : what->begin_ns,
				.worker = what->thread,
				.step = what->arguments.step,
				.chunk = what->arguments.chunk,
				.batch = what->arguments.batch,
				.sequence = what->arguments.sequence,
				.type = what->types[i]};
}

static void pass(struct labelled *job, const struct json_text *name)
{
	job->passed++;
	if (!job->passed_name)
		job->passed_name = arena_text(&job->arena, name->begin ? name->begin : "", name->length);
}

/* The list that what began is on, and what ends it looks at. */
static uint32_t *open_list(struct reader *reader, const struct open *what)
{
	return &reader->newest[mem_hash(0, what->id ? (uint64_t)what->id : what->thread) % OPEN_LISTS];
}

static void take_begin(struct reader *reader, const struct open *what)
{
	uint32_t *newest = open_list(reader, what), number = reader->free_open;
	struct open *open;

	if (number) {
		open = &reader->open[number - 1];
		reader->free_open = open->older;
	} else {
		open = MEM_PUSH(reader->open, reader->open_count, reader->open_room);
		number = (uint32_t)reader->open_count;
	}
	*open = *what;
	open->older = *newest;
	*newest = number;
	reader->unended++;
}

/* The end of what began last on that thread, or has that id. Arguments may be at either end. */
static void take_end(struct reader *reader, const struct open *what)
{
	for (uint32_t *link = open_list(reader, what); *link; link = &reader->open[*link - 1].older) {
		uint32_t number = *link;
		struct open *open = &reader->open[number - 1];

		if (open->id != what->id || (!what->id && open->thread != what->thread))
			continue;
		merge_number(&open->arguments.step, what->arguments.step);
		merge_number(&open->arguments.chunk, what->arguments.chunk);
		merge_number(&open->arguments.batch, what->arguments.batch);
		merge_number(&open->arguments.sequence, what->arguments.sequence);
		merge_place(&open->arguments.place, &what->arguments.place);
		if (open->type_count > 0)
			labelled_read_add(reader, open, what->begin_ns);
		*link = open->older;
		open->older = reader->free_open;
		reader->free_open = number;
		reader->unended--;
		return;
	}
	reader->job->refused++;
}

static void labelled_read_take(struct reader *reader, const struct event *event)
{
	static const struct json_time nothing;
	struct json_time begin, duration;
	struct open what = {.type_count = 0};
	bool pair = event->phase == 'b' || event->phase == 'e';

	if (event->phase == 'M') {
		take_name(reader, event);
		return;
	}
	if (!event->phase || !strchr("XBEbe", event->phase))
		return;
	if (!event->begin || !json_micros(event->begin, &begin) ||
		(event->phase == 'X' && (!event->duration || !json_micros(event->duration, &duration)))) {
		reader->job->refused++;
		return;
	}
	if (event->name.begin)
		what.type_count = labelled_name_types(event->name.begin, event->name.length, what.types);
	if (event->phase == 'X' && what.type_count == 0) {
		pass(reader->job, &event->name);
		return;
	}
	what.begin_ns = json_time_sum(begin, nothing);
	what.id = pair ? kineto_identity(event->id) | INT64_MIN : 0;
	what.thread = labelled_find_thread(
		reader->job, reader->file, kineto_identity(event->process), kineto_identity(event->thread));
	what.arguments = take_arguments(event->arguments);
	if (event->phase == 'X') {
		labelled_read_add(reader, &what, json_time_sum(begin, duration));
	} else if (event->phase == 'B' || event->phase == 'b') {
		if (what.type_count == 0)
			pass(reader->job, &event->name);
		take_begin(reader, &what);
	} else {
		take_end(reader, &what);
	}
}

/* Steps over blanks, getting more where the window ends; answers what is there, 0: the file ends. */
static char look(struct json *json)
{
	for (;;) {
		json->next = json_blank(json->next);
		if (*json->next || json->next < json->end || !json_more(json))
			return *json->next;
	}
}

static int break_off(struct reader *reader, const char *expected)
{
	struct json *json = &reader->json;

	if (!json->limit) /* that is a failure, which is reported */
		labelled_warn(reader->job, "%s: byte %" PRIu64 ": %s%sexpected %s: read only up to there",
			json->path, json_offset(json, json->next), json->break_off ? json->break_off : "",
			json->break_off ? ", " : "", expected);
	return -1;
}

static int read_events(struct reader *reader)
{
	struct json *json = &reader->json;
	const char *behind;
	struct event event;

	for (;;) {
		char c = look(json);

		if (c == ']' || c == ',') {
			json->next++;
			if (c == ']')
				return 0;
			continue;
		}
		if (c != '{')
			return break_off(reader, "an event or ']'");
		while (!(behind = json_skip(json->next)))
			if (!json_more(json))
				return break_off(reader, "the rest of an event");
		if (!take_event(json->next, &event))
			return break_off(reader, "an event");
		labelled_read_take(reader, &event);
		json->next = behind;
	}
}

/* After the root's brace: to the array of events. */
static int read_object(struct reader *reader)
{
	struct json *json = &reader->json;

	for (;;) {
		struct json_text key;
		const char *behind;
		char c = look(json);
		bool events;

		if (c == ',') {
			json->next++;
			continue;
		}
		if (c != '"')
			return c == '}' ? 1 : break_off(reader, "a quoted name, or '}'");
		while (!(behind = json_string(json->next + 1, &key)))
			if (!json_more(json))
				return break_off(reader, "the end of a name");
		events = JSON_IS(key, "traceEvents");
		json->next = behind;
		if (look(json) != ':')
			return break_off(reader, "':'");
		json->next++;
		c = look(json);
		if (events && c == '[') {
			json->next++;
			return read_events(reader);
		}
		if (!json_pass(json))
			return break_off(reader, "a value");
	}
}

int labelled_read(struct labelled *job, const char *path, const char **error)
{
	struct reader *reader = mem_alloc(1, sizeof(*reader));
	size_t before = job->operation_count;
	struct stat file;
	char root;
	int status;

	*error = NULL;
	if (pipeline_log_is(path)) {
		free(reader);
		return labelled_read_pipeline(job, path, error);
	}
	if (pipeline_log_is_part(path)) {
		free(reader);
		*error = arena_format(&job->arena, PIPELINE_LOG_PART, path);
		return -1;
	}
	reader->job = job;
	reader->file = (uint32_t)job->file_count;
	pm_limit_begin(path, stat(path, &file) == 0 ? (uint64_t)file.st_size : 0, "byte");
	status = json_open(&reader->json, path);
	if (status < 0) {
		*error = arena_format(&job->arena, "%s: %s", path, regular_file_trouble(status));
		pm_limit_end();
		free(reader);
		return -1;
	}
	*MEM_PUSH(job->files, job->file_count, job->file_room) = path;
	if (strncmp(reader->json.next, "\xef\xbb\xbf", 3) == 0)
		reader->json.next += 3;
	root = look(&reader->json);
	if (root == '[' || root == '{') {
		reader->json.next++;
		status = root == '[' ? read_events(reader) : read_object(reader);
		if (status == 1)
			*error = arena_format(&job->arena, "%s: no \"traceEvents\" in the JSON object", path);
	} else {
		*error =
			arena_format(&job->arena, "%s: byte %" PRIu64 ": expected '{' or '[' of a JSON trace",
				path, json_offset(&reader->json, reader->json.next));
	}
	if (reader->json.limit)
		*error = arena_format(&job->arena, "%s", reader->json.limit);
	if (!*error)
		job->refused += reader->unended;
	json_close(&reader->json);
	pm_limit_end();
	free(reader->open);
	free(reader);
	if (!*error && job->operation_count == before && job->passed == 0 && job->refused == 0)
		labelled_warn(job, "%s: no events", path);
	return *error ? -1 : 0;
}
