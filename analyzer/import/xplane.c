/*
 * XPlane: what the profilers of JAX and TensorFlow write (HOST.xplane.pb). A space of planes, one for each
 * device and one for the host; a plane has lines (threads, streams), a line events, an event a number of the
 * plane's table of names, an offset and a duration in picoseconds, and statistics. A dozen fields of that are
 * read (tsl/profiler/protobuf/xplane.proto). They become spans of processes that are named after devices, and
 * the rest is imported_device.h's.
 */
#include "base/json.h"
#include "base/limit.h"
#include "base/regular_file.h"
#include "imported_device.h"
#include "importer.h"
#include "protobuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE_PLANE = 1 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
enum { NAMED_NAME = 2, NAMED_DISPLAY = 4, NAMED_STAT = 5 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_START_NS = 3, LINE_EVENT = 4, LINE_DISPLAY = 11 };
enum { EVENT_NAME = 1, EVENT_OFFSET_PS = 2, EVENT_DURATION_PS = 3, EVENT_STAT = 4 };
enum { STAT_NAME = 1, STAT_UINT = 3, STAT_INT = 4, STAT_TEXT = 5, STAT_REF = 7 };

#define NAMES_MOST (1u << 22) /* of a table; numbers beyond are damage */

/* What statistics say that is of use. */
enum stat { STAT_OTHER, STAT_CORRELATION, STAT_PATH, STAT_STEP };

struct xplane_name {
	uint32_t name;         /* string */
	struct protobuf whole; /* of an event's: its statistics hold for all its events */
	uint8_t stat;          /* of a statistic: enum stat */
};

struct xplane_names {
	struct xplane_name *items; /* by number */
	size_t count, room;
};

struct xplane_reader {
	struct imported *imported;
	struct xplane_names events, stats; /* of the plane */
	int64_t process;
	bool broken;
	const char *limit;
	uint64_t seen;
};

static uint32_t string_of(struct xplane_reader *reader, const struct protobuf *text)
{
	return intern_text(
		&reader->imported->strings, (const char *)text->next, (size_t)(text->end - text->next));
}

static enum stat stat_of(const char *name)
{
	static const struct {
		const char *name;
		enum stat stat;
	} known[] = {{"correlation_id", STAT_CORRELATION}, {"name", STAT_PATH}, {"tf_op", STAT_PATH},
		{"step_num", STAT_STEP}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].stat;
	return STAT_OTHER;
}

/* The entry of that number, made when it is new; NULL: no such number can be. */
static struct xplane_name *name_at(struct xplane_names *names, uint64_t number)
{
	if (number >= NAMES_MOST)
		return NULL;
	while (names->count <= number)
		*MEM_PUSH(names->items, names->count, names->room) = (struct xplane_name){0};
	return &names->items[number];
}

static void read_name(struct xplane_reader *reader, struct xplane_names *names, struct protobuf entry)
{
	struct protobuf_field field, named;
	struct protobuf value = {0}, inner;
	uint64_t number = 0;
	struct xplane_name *name;

	while (protobuf_next(&entry, &field))
		if (field.number == MAP_KEY)
			number = field.value;
		else if (field.number == MAP_VALUE)
			value = field.inner;
	name = name_at(names, number);
	reader->broken = reader->broken || entry.broken || !name;
	if (!name)
		return;
	name->whole = inner = value;
	while (protobuf_next(&inner, &named))
		if (named.number == NAMED_NAME)
			name->name = string_of(reader, &named.inner);
	name->stat = (uint8_t)stat_of(reader->imported->strings.items[name->name]);
}

static void read_stat(struct xplane_reader *reader, struct protobuf stat, uint32_t span)
{
	struct imported_spans *spans = &reader->imported->spans;
	struct protobuf_field field;
	uint64_t number = 0, value = 0;
	struct protobuf text = {0};
	uint32_t string = 0;

	while (protobuf_next(&stat, &field))
		if (field.number == STAT_NAME)
			number = field.value;
		else if (field.number == STAT_UINT || field.number == STAT_INT)
			value = field.value;
		else if (field.number == STAT_TEXT)
			text = field.inner;
		else if (field.number == STAT_REF && field.value < reader->stats.count)
			string = reader->stats.items[field.value].name;
	if (number >= reader->stats.count)
		return;
	switch ((enum stat)reader->stats.items[number].stat) {
	case STAT_CORRELATION:
		spans->external[span] = value;
		break;
	case STAT_PATH:
		spans->shapes[span] = text.next ? string_of(reader, &text) : string;
		break;
	case STAT_STEP:
		spans->step[span] = value <= INT32_MAX ? (int32_t)value : -1;
		break;
	case STAT_OTHER:
		break;
	}
}

static void read_stats(
	struct xplane_reader *reader, struct protobuf message, uint32_t field_number, uint32_t span)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (field.number == field_number)
			read_stat(reader, field.inner, span);
}

/* Nanoseconds of picoseconds after the line's start; false: beyond all clocks. */
static bool time_after(int64_t start_ns, uint64_t ps, int64_t *ns)
{
	return !__builtin_add_overflow(start_ns, (int64_t)(ps / 1000 + (ps % 1000 >= 500)), ns);
}

static void read_event(struct xplane_reader *reader, struct protobuf event, int64_t start_ns, uint32_t thread)
{
	struct imported *imported = reader->imported;
	uint64_t offset_ps = 0, duration_ps = 0, number = UINT64_MAX;
	struct protobuf whole = event;
	struct protobuf_field field;
	int64_t begin_ns, end_ns;
	uint32_t span;

	while (protobuf_next(&event, &field))
		if (field.number == EVENT_NAME)
			number = field.value;
		else if (field.number == EVENT_OFFSET_PS)
			offset_ps = field.value;
		else if (field.number == EVENT_DURATION_PS)
			duration_ps = field.value;
	reader->broken = reader->broken || event.broken;
	if (number >= reader->events.count || !time_after(start_ns, offset_ps, &begin_ns) ||
		offset_ps > INT64_MAX - duration_ps ||
		!time_after(start_ns, offset_ps + duration_ps, &end_ns)) {
		imported->refused++;
		return;
	}
	span = imported_add_span(imported);
	imported->spans.begin_ns[span] = begin_ns;
	imported->spans.end_ns[span] = end_ns;
	imported->spans.name[span] = reader->events.items[number].name;
	imported->spans.thread[span] = thread;
	imported->spans.kind[span] = IMPORTED_PHASE;
	read_stats(reader, reader->events.items[number].whole, NAMED_STAT, span);
	read_stats(reader, whole, EVENT_STAT, span);
}

static void read_line(struct xplane_reader *reader, struct protobuf line)
{
	struct imported *imported = reader->imported;
	struct protobuf whole = line;
	struct protobuf_field field;
	uint32_t thread, name = 0;
	int64_t start_ns = 0, id = 0;

	while (protobuf_next(&line, &field))
		if (field.number == LINE_ID)
			id = (int64_t)field.value;
		else if (field.number == LINE_START_NS)
			start_ns = (int64_t)field.value;
		else if (field.number == LINE_NAME || (field.number == LINE_DISPLAY && !name))
			name = string_of(reader, &field.inner);
	reader->broken = reader->broken || line.broken;
	thread = imported_find_thread(imported, reader->process, id);
	imported->threads[thread].thread_name = name;
	while (!reader->limit && protobuf_next(&whole, &field))
		if (field.number == LINE_EVENT) {
			read_event(reader, field.inner, start_ns, thread);
			if (++reader->seen % 4096 == 0)
				reader->limit = pm_limit_at(reader->seen);
		}
}

/* Names come in the file before or after what has them. */
static void read_plane(struct xplane_reader *reader, struct protobuf plane)
{
	struct imported *imported = reader->imported;
	struct protobuf names = plane;
	struct protobuf_field field;
	uint32_t process;

	reader->events.count = reader->stats.count = 0;
	process = imported_find_thread(imported, ++reader->process, INT64_MIN);
	while (protobuf_next(&names, &field))
		if (field.number == PLANE_NAME)
			imported->threads[process].process_name = string_of(reader, &field.inner);
		else if (field.number == PLANE_EVENT_NAMES)
			read_name(reader, &reader->events, field.inner);
		else if (field.number == PLANE_STAT_NAMES)
			read_name(reader, &reader->stats, field.inner);
	reader->broken = reader->broken || names.broken;
	while (!reader->limit && protobuf_next(&plane, &field))
		if (field.number == PLANE_LINE)
			read_line(reader, field.inner);
}

/* All of the file into memory, unpacked; NULL: `trouble` says why. The caller frees. */
static uint8_t *read_whole(struct imported *imported, size_t *bytes)
{
	struct json file;
	uint8_t *image;
	int status = json_open(&file, imported->path);

	if (status < 0) {
		imported_trouble(imported, "%s: %s", imported->path, regular_file_trouble(status));
		return NULL;
	}
	image = json_all(&file, bytes);
	if (file.limit) {
		imported_trouble(imported, "%s", file.limit);
		free(image);
		image = NULL;
	}
	json_close(&file);
	return image;
}

bool xplane_sniff(const struct importer_head *head)
{
	/* A message that begins with field 1, bytes. */
	return head->length > 1 && head->bytes[0] == (SPACE_PLANE << 3 | 2) &&
	       (importer_has(head, "/host:") || importer_has(head, "/device:") ||
		       importer_has(head, "Task Environment"));
}

int xplane_read(struct imported *imported, unsigned wanted)
{
	struct xplane_reader reader = {.imported = imported};
	struct protobuf space;
	struct protobuf_field field;
	size_t bytes;
	uint8_t *image = read_whole(imported, &bytes);

	(void)wanted; /* the file is small beside its events' names */
	if (!image)
		return -1;
	space = (struct protobuf){image, image + bytes, false};
	while (!reader.limit && protobuf_next(&space, &field))
		if (field.number == SPACE_PLANE)
			read_plane(&reader, field.inner);
	free(reader.events.items);
	free(reader.stats.items);
	free(image);
	if (reader.limit)
		return imported_trouble(imported, "%s", reader.limit);
	if (imported_device_settle(imported) < 0 && !space.broken)
		return -1;
	imported->cut = space.broken || reader.broken;
	if (imported->cut)
		imported_trouble(imported,
			"%s: a message is damaged or ends too early: read as far as it goes", imported->path);
	return imported->worker_count ? 0 : -1;
}
