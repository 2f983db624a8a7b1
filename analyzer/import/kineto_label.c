/*
 * Labelled phases: what begins and ends in two events, the names of processes and threads, and traces that
 * have labels alone (as pipeline simulators and instrumented frameworks write them).
 */
#include "kineto.h"
#include "imported_device.h"
#include "imported_keyword.h"
#include "labelled.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static uint64_t open_id(const struct kineto_event *event)
{
	uint64_t hash = (uint64_t)kineto_identity(event->id);

	if (event->phase != 'b' && event->phase != 'e')
		return 0;
	for (size_t i = 0; i < event->category.length; i++)
		hash = mem_hash(hash, (unsigned char)event->category.begin[i]);
	return hash | 1;
}

void kineto_begin(struct kineto_reader *reader, const struct kineto_event *event)
{
	struct kineto_open open = {.id = open_id(event), .step = kineto_step(event)};

	if (!event->begin || !json_micros(event->begin, &open.begin)) {
		reader->imported->refused++;
		return;
	}
	open.thread = kineto_thread(reader, event);
	open.name = kineto_string(reader, &event->name);
	*MEM_PUSH(reader->open, reader->open_count, reader->open_room) = open;
}

void kineto_end(struct kineto_reader *reader, const struct kineto_event *event)
{
	static const struct json_time nothing;
	uint64_t id = open_id(event);
	uint32_t thread = kineto_thread(reader, event);
	struct json_time end;
	size_t i = reader->open_count;

	if (!event->begin || !json_micros(event->begin, &end)) {
		reader->imported->refused++;
		return;
	}
	while (i-- > 0) {
		struct kineto_open *open = &reader->open[i];
		int64_t begin_ns = json_time_sum(open->begin, nothing), end_ns = json_time_sum(end, nothing);

		if (open->id != id || (!id && open->thread != thread))
			continue;
		if (end_ns < begin_ns) {
			reader->imported->backward++;
			end_ns = begin_ns;
		}
		kineto_add_span(reader->imported, begin_ns, end_ns, open->name, open->thread, open->step,
			IMPORTED_PHASE);
		memmove(open, open + 1, (--reader->open_count - i) * sizeof(*open));
		return;
	}
	reader->imported->refused++;
}

void kineto_name(struct kineto_reader *reader, const struct kineto_event *event)
{
	bool process = JSON_IS(event->name, "process_name"), thread = JSON_IS(event->name, "thread_name");
	struct json_text key, text;
	const char *value = NULL, *place = event->arguments;
	uint32_t index;

	if (!process && !thread)
		return;
	for (; place && (value = json_member(place, &key)); place = json_skip(value))
		if (JSON_IS(key, "name"))
			break;
	if (!place || !value || *value != '"' || !json_string(value + 1, &text))
		return;
	index = kineto_thread(reader, event);
	if (thread) {
		reader->imported->threads[index].thread_name = kineto_string(reader, &text);
		return;
	}
	/* May come before or after the threads: the entry without thread of the process keeps it till then.
	 */
	index = imported_find_thread(reader->imported, kineto_identity(event->process), INT64_MIN);
	reader->imported->threads[index].process_name = kineto_string(reader, &text);
	reader->devices = reader->devices ||
			  imported_device_names(
				  reader->imported->strings.items[reader->imported->threads[index].process_name]);
}

/* "DP rank [1]" and "PP rank 3, TP rank 0, dp-comm" say "DP 1", "PP 3 TP 0": appended to `label`. */
static const char *append_ranks(struct arena *arena, const char *label, const char *name)
{
	for (const char *place = name; (place = strcasestr(place, " rank"));) {
		const char *word = place, *digits = place + 5;
		size_t length = 0;

		while (word > name && isalnum((unsigned char)word[-1]))
			word--;
		digits += strspn(digits, " [_:=");
		while (isdigit((unsigned char)digits[length]))
			length++;
		if (length > 0 && word < place)
			label = arena_format(arena, "%s%s%.*s %.*s", label, *label ? " " : "",
				(int)(place - word), word, (int)length, digits);
		place = digits;
	}
	return label;
}

static const char *process_name(const struct imported *imported, int64_t process)
{
	uint32_t named = imported_look_up_thread(imported, process, INT64_MIN);

	return named == IMPORTED_NONE ? "" : imported->strings.items[imported->threads[named].process_name];
}

static uint32_t worker_of(
	struct imported *imported, const struct imported_thread *thread, struct lookup *workers)
{
	struct arena *arena = &imported->strings.arena;
	const char *process = process_name(imported, thread->process);
	const char *label = append_ranks(arena, "", process);
	uint64_t hash = mem_hash(MEM_HASH_START, (uint64_t)thread->process);
	uint32_t i;

	label = append_ranks(arena, label, imported->strings.items[thread->thread_name]);
	if (!*label)
		label = *process ? process : arena_format(arena, "process %lld", (long long)thread->process);
	for (const char *at = label; *at; at++)
		hash = mem_hash(hash, (unsigned char)*at);
	for (size_t at = 0; (i = lookup_next(workers, hash, &at)) != LOOKUP_NONE;)
		if (imported->workers[i].process == thread->process &&
			strcmp(imported->workers[i].label, label) == 0)
			return i;
	lookup_add(workers, hash, (uint32_t)imported->worker_count);
	*MEM_PUSH(imported->workers, imported->worker_count, imported->worker_room) =
		(struct imported_worker){
			.rank = -1, .process = thread->process, .device = -1, .label = label};
	return (uint32_t)imported->worker_count - 1;
}

static bool has_one(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

/* What a label means. Where it names neither moving data nor waiting it is taken for work. */
static enum imported_kind label_kind(const char *label)
{
	static const char *const communication[] = {"recv", "send", "reduce", "gather", "all-to-all",
		"alltoall", "all2all", "broadcast", "comm", "p2p", "nccl", "dispatch", "combine", NULL};
	static const char *const memory[] = {"memcpy", "memset", "h2d", "d2h", "copy", NULL};
	static const char *const other[] = {
		"wait", "idle", "bubble", "sync", "load", "input", "step", "iteration", NULL};

	if (has_one(label, communication))
		return IMPORTED_COMMUNICATION;
	if (has_one(label, memory))
		return IMPORTED_MEMORY;
	return has_one(label, other) || strcmp(label, "gc") == 0 ? IMPORTED_OTHER : IMPORTED_COMPUTE;
}

/* Do the labels mean phases that are known, or say of which step or rank they are? */
static bool is_labelled(const struct imported *imported)
{
	uint8_t types[2];

	for (size_t i = 0; i < imported->spans.count; i++) {
		const char *name = imported->strings.items[imported->spans.name[i]];

		if (imported->spans.step[i] >= 0 || labelled_name_types(name, strlen(name), types) ||
			imported_keyword_label(name))
			return true;
	}
	return imported->spans.count == 0;
}

static int refuse(struct imported *imported)
{
	return imported_trouble(imported,
		"%s: Chrome-trace JSON of no profiler that is known: neither device events (\"cat\": \"kernel\") "
		"nor a process named after a device (\"/device:GPU:0\"), nor labels of phases (\"forward\", or a "
		"\"step\" in \"args\"); its first event is \"%s\"",
		imported->path, imported->strings.items[imported->spans.name[0]]);
}

int kineto_label_workers(struct imported *imported)
{
	struct imported_spans *spans = &imported->spans;
	bool *used = mem_alloc(imported->thread_count, sizeof(*used));
	struct lookup workers = {0};

	if (!is_labelled(imported)) {
		free(used);
		return refuse(imported);
	}
	for (size_t i = 0; i < spans->count; i++)
		used[spans->thread[i]] = true;
	imported->worker_count = 0;
	for (size_t i = 0; i < imported->thread_count; i++)
		if (used[i])
			imported->threads[i].worker = worker_of(imported, &imported->threads[i], &workers);
	free(used);
	lookup_free(&workers);
	for (size_t i = 0; i < spans->count; i++) {
		uint32_t event, thread = spans->thread[i];

		if (spans->kind[i] != IMPORTED_PHASE)
			continue;
		event = imported_add_event(imported);
		imported->events.begin_ns[event] = spans->begin_ns[i];
		imported->events.end_ns[event] = spans->end_ns[i];
		imported->events.name[event] = spans->name[i];
		imported->events.queue[event] = imported_find_queue(
			imported, imported->threads[thread].worker, -1, imported->threads[thread].thread);
		imported->events.activity[event] = IMPORTED_LABELLED;
		imported->events.kind[event] = (uint8_t)label_kind(imported->strings.items[spans->name[i]]);
	}
	return 0;
}
