/*
 * What the events of a Chrome trace say: device work, calls that launched it, annotations, operators, Python
 * functions, and labelled phases of traces that are not Kineto's. The category decides which is which; old
 * and new spellings are in one table.
 */
#include "kineto.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t kineto_string(struct kineto_reader *reader, const struct json_text *text)
{
	struct intern *strings = &reader->imported->strings;
	size_t length;

	if (!text->begin)
		return 0;
	if (!text->escaped)
		return intern_text(strings, text->begin, text->length);
	if (text->length > reader->scratch_room) {
		free(reader->scratch);
		reader->scratch_room = text->length * 2;
		reader->scratch = mem_alloc(1, reader->scratch_room);
	}
	length = json_unescape(text, reader->scratch);
	return intern_text(strings, reader->scratch, length);
}

int64_t kineto_identity(const char *place)
{
	struct json_text text;
	uint64_t hash = MEM_HASH_START;
	int64_t number;

	if (!place)
		return 0;
	if (json_integer(place, &number))
		return number;
	if (*place != '"' || !json_string(place + 1, &text))
		return 0;
	for (size_t i = 0; i < text.length; i++)
		hash = mem_hash(hash, (unsigned char)text.begin[i]);
	return (int64_t)(hash | (uint64_t)1 << 63);
}

uint32_t kineto_thread(struct kineto_reader *reader, const struct kineto_event *event)
{
	int64_t process = kineto_identity(event->process), thread = kineto_identity(event->thread);

	return imported_find_thread(reader->imported, process, thread);
}

/* Begin and end of a complete event; false: it has none. */
static bool times_of(
	struct kineto_reader *reader, const struct kineto_event *event, int64_t *begin_ns, int64_t *end_ns)
{
	static const struct json_time nothing;
	struct json_time begin, duration = {0};

	if (!event->begin || !json_micros(event->begin, &begin) ||
		(event->duration && !json_micros(event->duration, &duration))) {
		reader->imported->refused++;
		return false;
	}
	*begin_ns = json_time_sum(begin, nothing);
	*end_ns = json_time_sum(begin, duration);
	if (*end_ns < *begin_ns) {
		reader->imported->backward++;
		*end_ns = *begin_ns;
	}
	return true;
}

uint64_t kineto_unsigned(const char *value)
{
	int64_t number;

	return json_integer(value, &number) && number > 0 ? (uint64_t)number : 0;
}

/* What the arguments of a device event say. */
struct device_arguments {
	int64_t stream, device;
	bool has_stream;
	uint64_t correlation, external;
	int64_t grid[6]; /* and block; 0: not known */
	int64_t bytes;   /* -1: not known */
	uint32_t phase, layer;
	bool communicates;
	struct imported_collective collective;
};

static int32_t rank_at(int64_t number)
{
	return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

static void take_collective(struct kineto_reader *reader, const struct json_text *key, const char *value,
	struct device_arguments *arguments)
{
	struct imported_collective *collective = &arguments->collective;
	struct json_text text;
	int64_t number;

	if (*value == '"' && json_string(value + 1, &text)) {
		if (JSON_IS(*key, "Collective name")) {
			collective->name = kineto_string(reader, &text);
			arguments->communicates = true;
		} else if (JSON_IS(*key, "Process Group Name")) {
			collective->group = kineto_string(reader, &text);
		} else if (JSON_IS(*key, "dtype")) {
			collective->type = kineto_string(reader, &text);
		} else if (JSON_IS(*key, "phase")) {
			arguments->phase = kineto_string(reader, &text);
		} else if (JSON_IS(*key, "layer")) {
			arguments->layer = kineto_string(reader, &text);
		}
	} else if (json_integer(value, &number)) {
		if (JSON_IS(*key, "In msg nelems"))
			collective->in_count = number;
		else if (JSON_IS(*key, "Out msg nelems"))
			collective->out_count = number;
		else if (JSON_IS(*key, "Group size") && number <= INT32_MAX)
			collective->size = (int32_t)number;
		else if (JSON_IS(*key, "Seq") || JSON_IS(*key, "seq_num"))
			collective->sequence = number;
		else if (JSON_IS(*key, "Src Rank"))
			collective->from = rank_at(number);
		else if (JSON_IS(*key, "Dst Rank"))
			collective->to = rank_at(number);
	}
}

/* Three numbers in an array; all 0 where there is another thing. */
static void read_three(const char *place, int64_t three[3])
{
	for (int i = 0; place && i < 3; i++) {
		const bool goes_on = *place == (i == 0 ? '[' : ',');

		place = goes_on ? json_integer(json_blank(place + 1), &three[i]) : NULL;
		place = place ? json_blank(place) : NULL;
	}
	if (!place || *place != ']')
		memset(three, 0, 3 * sizeof(*three));
}

static uint32_t shape_of(struct kineto_reader *reader, const struct device_arguments *arguments,
	enum imported_activity activity)
{
	const int64_t *grid = arguments->grid;
	char text[128] = "";

	if (activity == IMPORTED_KERNEL && grid[0] > 0 && grid[3] > 0)
		snprintf(text, sizeof(text),
			"%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, grid[0],
			grid[1], grid[2], grid[3], grid[4], grid[5]);
	else if (activity != IMPORTED_KERNEL && arguments->bytes >= 0)
		snprintf(text, sizeof(text), "%" PRId64, arguments->bytes);
	return *text ? intern_text(&reader->imported->strings, text, strlen(text)) : 0;
}

static void read_device_arguments(
	struct kineto_reader *reader, const char *place, struct device_arguments *arguments)
{
	struct json_text key;
	const char *value;

	*arguments = (struct device_arguments){
		.device = -1, .bytes = -1, .collective = {.in_count = -1, .out_count = -1, .sequence = -1, .from = -1, .to = -1}};
	for (; place && (value = json_member(place, &key)); place = json_skip(value)) {
		if (key.length == 6 && JSON_IS(key, "stream"))
			arguments->has_stream = json_integer(value, &arguments->stream);
		else if (key.length == 6 && JSON_IS(key, "device"))
			json_integer(value, &arguments->device);
		else if (JSON_IS(key, "correlation"))
			arguments->correlation = kineto_unsigned(value);
		else if (JSON_IS(key, "External id") || JSON_IS(key, "external id"))
			arguments->external = kineto_unsigned(value);
		else if (JSON_IS(key, "grid"))
			read_three(value, arguments->grid);
		else if (JSON_IS(key, "block"))
			read_three(value, arguments->grid + 3);
		else if (JSON_IS(key, "bytes"))
			json_integer(value, &arguments->bytes);
		else
			take_collective(reader, &key, value, arguments);
	}
}

/* The number at the end of a thread's name, as "stream 7", or the number itself. */
static bool stream_of_thread(const char *place, int64_t *stream)
{
	struct json_text text;
	const char *end, *digits;

	if (!place)
		return false;
	if (json_integer(place, stream))
		return true;
	if (*place != '"' || !json_string(place + 1, &text))
		return false;
	end = digits = text.begin + text.length;
	while (digits > text.begin && isdigit((unsigned char)digits[-1]))
		digits--;
	return digits < end && json_integer(digits, stream);
}

static void take_device(
	struct kineto_reader *reader, const struct kineto_event *event, enum imported_activity activity)
{
	struct imported *imported = reader->imported;
	struct device_arguments arguments;
	int64_t begin_ns, end_ns;
	uint32_t index;

	read_device_arguments(reader, event->arguments, &arguments);
	/* Without a stream it is no device's. */
	if ((!arguments.has_stream && !stream_of_thread(event->thread, &arguments.stream)) ||
		arguments.stream == -1) {
		imported->refused++;
		return;
	}
	if (!times_of(reader, event, &begin_ns, &end_ns))
		return;
	index = imported_add_event(imported);
	imported->events.begin_ns[index] = begin_ns;
	imported->events.end_ns[index] = end_ns;
	imported->events.name[index] = kineto_string(reader, &event->name);
	imported->events.queue[index] =
		imported_find_queue(imported, 0, (int32_t)arguments.device, arguments.stream);
	imported->events.correlation[index] = arguments.correlation;
	imported->events.external[index] = arguments.external;
	if (activity != IMPORTED_KERNEL || (reader->wanted & IMPORTED_WANT_SHAPES))
		imported->events.shape[index] = shape_of(reader, &arguments, activity);
	imported->events.phase[index] = arguments.phase;
	imported->events.layer[index] = arguments.layer;
	imported->events.activity[index] = (uint8_t)activity;
	reader->kineto = true;
	if (!arguments.communicates)
		return;
	imported->events.collective[index] = (uint32_t)imported->collective_count;
	*MEM_PUSH(imported->collectives, imported->collective_count, imported->collective_room) =
		arguments.collective;
}

static void take_call(struct kineto_reader *reader, const struct kineto_event *event)
{
	struct imported *imported = reader->imported;
	struct json_text key;
	const char *place = event->arguments, *value;
	uint64_t correlation = 0;
	int64_t begin_ns, end_ns;
	uint32_t index;

	for (; place && (value = json_member(place, &key)); place = json_skip(value))
		if (JSON_IS(key, "correlation")) {
			correlation = kineto_unsigned(value);
			break;
		}
	reader->kineto = true;
	if ((!correlation && !(reader->wanted & IMPORTED_WANT_CALLS)) ||
		!times_of(reader, event, &begin_ns, &end_ns))
		return;
	index = imported_add_call(imported);
	imported->calls.begin_ns[index] = begin_ns;
	imported->calls.end_ns[index] = end_ns;
	imported->calls.name[index] = kineto_string(reader, &event->name);
	imported->calls.thread[index] = kineto_thread(reader, event);
	imported->calls.correlation[index] = correlation;
}

int32_t kineto_step(const struct kineto_event *event)
{
	const char *place = event->arguments, *value;
	struct json_text key;
	int64_t number;

	if (kineto_is_step(&event->name) && event->name.length > 13 &&
		json_integer(event->name.begin + 13, &number) && number >= 0 && number <= INT32_MAX)
		return (int32_t)number;
	for (; place && (value = json_member(place, &key)); place = json_skip(value))
		if ((JSON_IS(key, "step") || JSON_IS(key, "step_num") || JSON_IS(key, "iteration")) && json_integer(value, &number) &&
			number >= 0 && number <= INT32_MAX)
			return (int32_t)number;
	return -1;
}

void kineto_add_span(struct imported *imported, int64_t begin_ns, int64_t end_ns, uint32_t name,
	uint32_t thread, int32_t step, enum imported_span_kind kind)
{
	uint32_t index = imported_add_span(imported);

	imported->spans.begin_ns[index] = begin_ns;
	imported->spans.end_ns[index] = end_ns;
	imported->spans.name[index] = name;
	imported->spans.thread[index] = thread;
	imported->spans.step[index] = step;
	imported->spans.kind[index] = (uint8_t)kind;
}

static void take_span(
	struct kineto_reader *reader, const struct kineto_event *event, enum imported_span_kind kind)
{
	struct imported *imported = reader->imported;
	int64_t begin_ns, end_ns;

	if (kind == IMPORTED_PYTHON && kineto_is_module(&event->name))
		kind = IMPORTED_MODULE;
	if (!times_of(reader, event, &begin_ns, &end_ns))
		return;
	kineto_add_span(imported, begin_ns, end_ns, kineto_string(reader, &event->name),
		kineto_thread(reader, event), kineto_step(event), kind);
	if (kind == IMPORTED_OPERATOR)
		kineto_take_operator(reader, event->arguments, (uint32_t)imported->spans.count - 1);
}

/* The number that ties a call to its work, and what the framework calls the work, where processes are named
 * after devices. */
static void take_phase(struct kineto_reader *reader, const struct kineto_event *event)
{
	struct imported_spans *spans = &reader->imported->spans;
	const char *place = event->arguments, *value;
	size_t span = spans->count;
	struct json_text key, text;

	take_span(reader, event, IMPORTED_PHASE);
	for (; spans->count > span && reader->devices && place && (value = json_member(place, &key));
		place = json_skip(value)) {
		if (JSON_IS(key, "correlation_id") || JSON_IS(key, "connection_id"))
			spans->external[span] = kineto_unsigned(value);
		else if ((JSON_IS(key, "name") || JSON_IS(key, "tf_op")) && *value == '"' &&
			 json_string(value + 1, &text))
			spans->shapes[span] = kineto_string(reader, &text);
	}
}

static void note_first(struct kineto_reader *reader, const struct kineto_event *event)
{
	struct json_time begin;

	if (event->begin && json_micros(event->begin, &begin)) {
		reader->has_first = true;
		reader->kineto = reader->kineto || kineto_category_of(&event->category) != KINETO_UNKNOWN;
		reader->imported->first_ns = begin.ns;
	}
}

static void take_complete(struct kineto_reader *reader, const struct kineto_event *event)
{
	if (!reader->has_first && event->category.begin) {
		note_first(reader, event);
		if (!kineto_wants(reader, event))
			return;
	}
	switch (kineto_category_of(&event->category)) {
	case KINETO_KERNEL:
		take_device(reader, event, IMPORTED_KERNEL);
		break;
	case KINETO_COPY:
		take_device(reader, event, IMPORTED_COPY);
		break;
	case KINETO_SET:
		take_device(reader, event, IMPORTED_SET);
		break;
	case KINETO_RUNTIME:
		take_call(reader, event);
		break;
	case KINETO_ANNOTATION:
		take_span(reader, event, IMPORTED_ANNOTATION);
		break;
	case KINETO_DEVICE_ANNOTATION:
		take_span(reader, event, IMPORTED_DEVICE_ANNOTATION);
		break;
	case KINETO_OPERATOR:
		take_span(reader, event,
			kineto_is_step(&event->name) ? IMPORTED_ANNOTATION : IMPORTED_OPERATOR);
		break;
	case KINETO_PYTHON:
		take_span(reader, event, IMPORTED_PYTHON);
		break;
	case KINETO_UNKNOWN:
		/* A label of somebody else's, of use in a trace that has nothing better. */
		if (reader->devices || !reader->kineto)
			take_phase(reader, event);
		break;
	case KINETO_NOTHING:
		break;
	}
}

void kineto_take(struct kineto_reader *reader, const struct kineto_event *event)
{
	/* In a trace of Kineto's other labels would only repeat its annotations. */
	bool labels = !reader->kineto || (reader->wanted & IMPORTED_WANT_LABELS);

	switch (event->phase) {
	case 'X':
		take_complete(reader, event);
		break;
	case 'B':
	case 'b':
		if (labels)
			kineto_begin(reader, event);
		break;
	case 'E':
	case 'e':
		if (labels)
			kineto_end(reader, event);
		break;
	case 'M':
		kineto_name(reader, event);
		break;
	default:
		break;
	}
}
