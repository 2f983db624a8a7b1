/*
 * Chrome-trace JSON, as Kineto (the profiler of PyTorch) writes it and others do: steps through the file, one
 * event at a time, and never holds more of it than an event and a window. What the events say is
 * kineto_event.c's.
 *
 * The root is an array of events, or an object with one under "traceEvents". Members may come in any order.
 * What is wrong is named by file, byte and what was expected there; events before that are kept.
 */
#include "kineto.h"
#include "imported_device.h"
#include "base/regular_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Notes what was expected at the place, unless the window just ends there. Answers NULL. */
static const char *miss(struct kineto_reader *reader, const char *place, const char *expected)
{
	if (place < reader->json.end) {
		reader->expected = expected;
		reader->wrong = place;
	}
	return NULL;
}

/* Notes a member of an event; answers the place after its value. */
static const char *take_member(const struct json_text *key, const char *value, struct kineto_event *event)
{
	struct json_text text;

	switch (key->length) {
	case 2:
		if (JSON_IS(*key, "ts"))
			event->begin = value;
		else if (JSON_IS(*key, "id"))
			event->id = value;
		else if (JSON_IS(*key, "ph") && *value == '"')
			event->phase = value[1];
		break;
	case 3:
		if (JSON_IS(*key, "pid"))
			event->process = value;
		else if (JSON_IS(*key, "tid"))
			event->thread = value;
		else if (JSON_IS(*key, "dur"))
			event->duration = value;
		else if (JSON_IS(*key, "cat") && *value == '"')
			return json_string(value + 1, &event->category);
		break;
	case 4:
		if (JSON_IS(*key, "args") && *value == '{')
			event->arguments = value;
		else if (JSON_IS(*key, "name") && *value == '"')
			return json_string(value + 1, &event->name);
		break;
	default:
		break;
	}
	return *value == '"' ? json_string(value + 1, &text) : json_skip(value);
}

/* Members that say whether anybody wants the event: "ph", "cat", "name". */
static bool decides(const struct json_text *key)
{
	return JSON_IS(*key, "ph") || JSON_IS(*key, "cat") || JSON_IS(*key, "name");
}

/*
 * The event whose brace is at `place`; answers the place after it. NULL: the window ends in it, or something
 * was missed.
 */
static const char *read_event(struct kineto_reader *reader, const char *place, struct kineto_event *event)
{
	memset(event, 0, sizeof(*event));
	place = json_blank(place + 1);
	if (*place == '}')
		return place + 1;
	for (;;) {
		struct json_text key;
		const char *value;

		if (*place != '"')
			return miss(reader, place, "a quoted name");
		value = json_string(place + 1, &key);
		if (!value)
			return NULL;
		value = json_blank(value);
		if (*value != ':')
			return miss(reader, value, "':'");
		value = json_blank(value + 1);
		if (*value == ',' || *value == '}' || *value == ']')
			return miss(reader, value, "a value");
		place = take_member(&key, value, event);
		if (!place)
			return NULL;
		if (decides(&key) && !kineto_wants(reader, event)) {
			event->phase = 0;
			return json_leave(place, 1);
		}
		place = json_blank(place);
		if (*place == '}')
			return place + 1;
		if (*place != ',')
			return miss(reader, place, "',' or '}' in an event");
		place = json_blank(place + 1);
	}
}

/* Steps over blanks, getting more where the window ends; answers what is there, 0: the file ends. */
static char look(struct kineto_reader *reader)
{
	struct json *json = &reader->json;

	for (;;) {
		json->next = json_blank(json->next);
		if (*json->next || json->next < json->end || !json_more(json))
			return *json->next;
	}
}

/* What ended the reading early, as a sentence. `place` is in the window. */
static int say_wrong(struct kineto_reader *reader, const char *place, const char *expected)
{
	struct imported *imported = reader->imported;
	struct json *json = &reader->json;

	imported->cut = true;
	if (*place == 0 && place >= json->end)
		imported_trouble(imported, "%s: byte %llu: %s, expected %s: read only up to there",
			json->path, (unsigned long long)json_offset(json, place),
			json->break_off ? json->break_off : "the file ends", expected);
	else
		imported_trouble(imported, "%s: byte %llu: expected %s: read only up to there", json->path,
			(unsigned long long)json_offset(json, place), expected);
	return -1;
}

/* The events of the array after whose bracket json->next is. */
static int read_events(struct kineto_reader *reader)
{
	struct json *json = &reader->json;
	struct kineto_event event;

	for (;;) {
		char c = look(reader);
		const char *behind;

		if (c == ']') {
			json->next++;
			return 0;
		}
		if (c == ',') {
			json->next++;
			continue;
		}
		if (c != '{')
			return say_wrong(reader, json->next, "an event or ']'");
		while (!(behind = read_event(reader, json->next, &event))) {
			if (reader->expected)
				return say_wrong(reader, reader->wrong, reader->expected);
			if (!json_more(json))
				return say_wrong(reader, json->exhausted ? json->end : json->next,
					"the rest of an event");
		}
		if (event.phase)
			kineto_take(reader, &event);
		json->next = behind;
	}
}

/* The value at json->next, whole in the window; NULL: it does not end. */
static const char *whole_value(struct kineto_reader *reader)
{
	const char *behind;

	if (!look(reader))
		return NULL;
	while (!(behind = json_skip(reader->json.next)))
		if (!json_more(&reader->json))
			return NULL;
	return behind;
}

static void take_distributed(struct kineto_reader *reader, const char *place)
{
	struct json_text key;
	const char *value;
	int64_t number;

	for (; place && (value = json_member(place, &key)); place = json_skip(value)) {
		if (!json_integer(value, &number) || number < 0 || number > INT32_MAX)
			continue;
		if (JSON_IS(key, "rank"))
			reader->imported->rank = (int32_t)number;
		else if (JSON_IS(key, "world_size"))
			reader->imported->world = (int32_t)number;
	}
}

static int32_t small_number(const char *value)
{
	int64_t number;

	return json_integer(value, &number) && number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
}

/* A device, as "deviceProperties" lists them; `place`: its brace. */
static void take_device(struct kineto_reader *reader, const char *place)
{
	struct imported *imported = reader->imported;
	struct imported_device device = {.device = -1};
	struct json_text key, text;
	const char *value;
	uint32_t name = IMPORTED_NONE;
	int64_t number;

	for (; place && (value = json_member(place, &key)); place = json_skip(value)) {
		if (JSON_IS(key, "name") && *value == '"' && json_string(value + 1, &text))
			name = kineto_string(reader, &text); /* which may move the strings */
		else if (JSON_IS(key, "id") && json_integer(value, &number) && number >= 0 &&
			 number <= INT32_MAX)
			device.device = (int32_t)number;
		else if (JSON_IS(key, "computeMajor"))
			device.capability_major = small_number(value);
		else if (JSON_IS(key, "computeMinor"))
			device.capability_minor = small_number(value);
		else if (JSON_IS(key, "numSms"))
			device.multiprocessors = small_number(value);
		else if (JSON_IS(key, "totalGlobalMem") && json_integer(value, &number) && number > 0)
			device.memory_bytes = number;
	}
	if (name != IMPORTED_NONE)
		device.name = imported->strings.items[name];
	if (device.device >= 0)
		*MEM_PUSH(imported->devices, imported->device_count, imported->device_room) = device;
}

static void take_devices(struct kineto_reader *reader, const char *place)
{
	for (place = json_blank(place + 1); place && *place == '{'; place = json_blank(place)) {
		take_device(reader, place);
		place = json_skip(place);
		if (!place)
			return;
		place = json_blank(place);
		if (*place == ',')
			place++;
	}
}

/* A member of the root object, whose value is at json->next. */
static int take_root_member(struct kineto_reader *reader, const struct json_text *key)
{
	struct json *json = &reader->json;
	bool distributed = JSON_IS(*key, "distributedInfo"), base = JSON_IS(*key, "baseTimeNanoseconds"),
	     devices = JSON_IS(*key, "deviceProperties");
	const char *behind;

	reader->kineto = reader->kineto || distributed || base || devices;
	if (JSON_IS(*key, "traceEvents")) {
		if (look(reader) != '[')
			return say_wrong(reader, json->next, "'[' behind \"traceEvents\"");
		json->next++;
		reader->has_events = true;
		return read_events(reader);
	}
	if (!distributed && !base && !devices) {
		look(reader);
		return json_pass(json) ? 0 : say_wrong(reader, json->next, "a value");
	}
	behind = whole_value(reader);
	if (!behind)
		return say_wrong(reader, json->end, "a value");
	if (distributed && *json->next == '{')
		take_distributed(reader, json->next);
	else if (devices && *json->next == '[')
		take_devices(reader, json->next);
	else if (base && !json_integer(json->next, &reader->base_ns))
		return say_wrong(reader, json->next, "a number of nanoseconds");
	json->next = behind;
	return 0;
}

/* The name of the next member of the root object into `key`, which lives as long as the window does not move.
 */
static int read_root_key(struct kineto_reader *reader, struct json_text *key)
{
	struct json *json = &reader->json;
	const char *behind;

	if (look(reader) != '"')
		return say_wrong(reader, json->next, "a quoted name, or '}'");
	while (!(behind = json_string(json->next + 1, key)))
		if (!json_more(json))
			return say_wrong(reader, json->end, "the end of a name");
	json->next = behind;
	return 0;
}

static int read_object(struct kineto_reader *reader)
{
	struct json *json = &reader->json;

	for (;;) {
		char c = look(reader), name[32];
		struct json_text key;

		if (c == '}')
			return 0;
		if (c == ',') {
			json->next++;
			continue;
		}
		if (read_root_key(reader, &key) < 0)
			return -1;
		/* A copy, since the window moves with what follows; longer names mean nothing here. */
		key.length = key.length < sizeof(name) ? key.length : sizeof(name);
		memcpy(name, key.begin, key.length);
		key.begin = name;
		if (look(reader) != ':')
			return say_wrong(reader, json->next, "':'");
		json->next++;
		if (take_root_member(reader, &key) < 0)
			return -1;
	}
}

/* The worker that a file of Kineto's is; else what the labels say. */
static int settle(struct kineto_reader *reader)
{
	struct imported *imported = reader->imported;

	imported->refused += reader->open_count;
	imported->base_ns = reader->base_ns;
	imported_drop_untimed(imported);
	imported_add_base(imported);
	if (reader->devices && imported->events.count == 0)
		return imported_device_settle(imported);
	if (imported->events.count == 0 && !reader->kineto) {
		imported->format = IMPORTED_CHROME;
		return kineto_label_workers(imported);
	}
	for (size_t i = 0; i < imported->worker_count; i++)
		imported->workers[i].rank = imported->rank;
	return 0;
}

/* The trace whose root's bracket was just passed. Answers -1 where there never was one; what breaks off is
 * one. */
static int read_root(struct kineto_reader *reader, char bracket)
{
	struct imported *imported = reader->imported;
	char first;

	if (bracket == '{') {
		if (read_object(reader) == 0 && !reader->has_events)
			return imported_trouble(
				imported, "%s: no \"traceEvents\" in the JSON object", imported->path);
		return 0;
	}
	first = look(reader);
	if (first && !strchr("{],", first))
		return imported_trouble(imported, "%s: no events in the JSON array", imported->path);
	read_events(reader);
	return 0;
}

int imported_read_json(struct imported *imported, unsigned wanted)
{
	struct kineto_reader reader = {.imported = imported, .wanted = wanted};
	int status = json_open(&reader.json, imported->path);
	char root;

	if (status < 0)
		return imported_trouble(imported, "%s: %s", imported->path, regular_file_trouble(status));
	imported->format = IMPORTED_KINETO;
	*MEM_PUSH(imported->workers, imported->worker_count, imported->worker_room) =
		(struct imported_worker){.rank = -1, .device = -1};
	if (strncmp(reader.json.next, "\xef\xbb\xbf", 3) == 0)
		reader.json.next += 3;
	root = look(&reader);
	if (root == '{' || root == '[') {
		reader.json.next++;
		status = read_root(&reader, root);
		if (reader.json.limit)
			status = imported_trouble(imported, "%s", reader.json.limit);
		else if (status == 0)
			status = settle(&reader);
	} else {
		status = imported_trouble(imported,
			"%s: byte %llu: expected '{' or '[' of a JSON trace, or an SQLite file",
			imported->path, (unsigned long long)json_offset(&reader.json, reader.json.next));
	}
	json_close(&reader.json);
	free(reader.open);
	free(reader.scratch);
	free(reader.shaped);
	return status;
}
