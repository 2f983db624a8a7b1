/*
 * Reading a trace file. One walk over the chunks fills the dictionary's tables and notes where records are; the walk
 * ends at the first thing that cannot be true, keeps all before it, and says so.
 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GREATEST_NS (INT64_MAX / 16) /* so that sums of a few times never overflow */
#define PAIR_DISTANCE_NS 1000000 /* closer clock pairs add noise, not knowledge */

static const char *const kind_names[] = {
	"NONE",
#define NAME(name, text) #name,
	PM_FORMAT_KINDS(NAME)
#undef NAME
};

static const char *const value_names[] = {
	"?",
#define NAME(name, word, text) word,
	PM_FORMAT_VALUES(NAME)
#undef NAME
};

static const char *const descriptor_names[] = {
	"?",
#define NAME(name, text) #name,
	PM_FORMAT_DESCRIPTORS(NAME)
#undef NAME
};

static const struct {
	const char *name;
	unsigned bytes;
} types[] = {
	{"?", 0},
#define TYPE(name, bytes) {#name, bytes},
	PM_FORMAT_TYPES(TYPE)
#undef TYPE
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char *trace_kind_name(enum pm_kind kind)
{
	return kind_names[(size_t)kind < COUNT(kind_names) ? kind : 0];
}

const char *trace_value_name(enum pm_value value)
{
	return value_names[(size_t)value < COUNT(value_names) ? value : 0];
}

const char *trace_descriptor_name(enum pm_descriptor_kind kind)
{
	return descriptor_names[(size_t)kind < COUNT(descriptor_names) ? kind : 0];
}

const char *trace_type_name(uint64_t type)
{
	return types[type < COUNT(types) ? type : 0].name;
}

uint64_t trace_type_bytes(uint64_t type)
{
	return types[type < COUNT(types) ? type : 0].bytes;
}

static size_t find_name(const char *const names[], size_t count, const char *word, size_t length)
{
	for (size_t i = 1; i < count; i++)
		if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
			return i;
	return 0;
}

/* Keeps the first sentence: what follows from damage is not news. */
__attribute__((format(printf, 3, 4))) static void trouble(
	struct trace *trace, uint64_t offset, const char *format, ...)
{
	char text[256];
	va_list list;

	if (trace->trouble)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	trace->trouble = arena_format(&trace->arena, "%s: byte %" PRIu64 ": %s", trace->path, offset, text);
}

__attribute__((format(printf, 3, 4))) static int fail(struct trace *trace, uint64_t offset, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snprintf(trace->error, sizeof(trace->error), "%.200s: byte %" PRIu64 ": %s", trace->path, offset, text);
	return -1;
}

static size_t room_for(size_t count)
{
	size_t room = count ? 16 : 0;

	while (room < count)
		room *= 2;
	return room;
}

/*
 * Makes `array` (of *count items, in room_for(*count)) reach `number`. Numbers are handed out one by one and each costs
 * at least an entry, so a number far beyond what the file has room for is damage, and no reason to take memory for it.
 */
static bool reach(struct trace *trace, void **array, size_t *count, size_t item_bytes, uint32_t number)
{
	if (number == 0 || number > trace->size_bytes / sizeof(struct pm_entry) + 65536)
		return false;
	if (number < *count)
		return true;
	if (room_for((size_t)number + 1) > room_for(*count)) {
		void *grown = mem_alloc(room_for((size_t)number + 1), item_bytes);

		if (*count)
			memcpy(grown, *array, *count * item_bytes);
		free(*array);
		*array = grown;
	}
	*count = (size_t)number + 1;
	return true;
}

/* Text that must end with zero inside the `size` bytes. */
static const char *bounded_text(const unsigned char *text, uint64_t size)
{
	return memchr(text, 0, (size_t)size) ? (const char *)text : NULL;
}

static const char *next_word(const char **text, size_t *length)
{
	const char *word = *text + strspn(*text, " ");

	*length = strcspn(word, " ");
	*text = word + *length;
	return word;
}

/* "library KIND name type:label type:label ..." */
static void parse_function(struct trace *trace, struct trace_function *function, const char *text)
{
	struct trace_label *labels;
	const char *word, *rest = text;
	size_t length, count = 0;

	word = next_word(&rest, &length);
	function->library = arena_text(&trace->arena, word, length);
	word = next_word(&rest, &length);
	function->kind = (enum pm_kind)find_name(kind_names, COUNT(kind_names), word, length);
	word = next_word(&rest, &length);
	function->name = arena_text(&trace->arena, word, length);
	for (const char *at = rest; next_word(&at, &length), length > 0;)
		count++;
	labels = arena_alloc(&trace->arena, count, sizeof(*labels));
	for (size_t i = 0; i < count; i++) {
		const char *colon;

		word = next_word(&rest, &length);
		colon = memchr(word, ':', length);
		if (colon) {
			size_t type_length = (size_t)(colon - word);

			labels[i].type = (enum pm_value)find_name(
				value_names, COUNT(value_names), word, type_length);
			word = colon + 1;
			length -= type_length + 1;
		}
		labels[i].name = arena_text(&trace->arena, word, length);
	}
	function->labels = labels;
	function->label_count = (uint32_t)count;
}

static void parse_operation(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_operation entry;
	struct trace_operation *operation;
	uint64_t *values;

	memcpy(&entry, body, sizeof(entry));
	if (entry.value_count > (size - sizeof(entry)) / sizeof(uint64_t)) {
		trouble(trace, offset, "operation %u with %u values, but its entry has room for %" PRIu64, entry.number,
			entry.value_count, (size - sizeof(entry)) / sizeof(uint64_t));
		return;
	}
	if (!reach(trace, (void **)&trace->operations, &trace->operation_count, sizeof(*operation), entry.number)) {
		trouble(trace, offset, "operation number %u, more than the file can hold", entry.number);
		return;
	}
	operation = &trace->operations[entry.number];
	if (operation->values)
		return;
	values = arena_alloc(&trace->arena, entry.value_count, sizeof(*values));
	memcpy(values, body + sizeof(entry), entry.value_count * sizeof(*values));
	operation->function = entry.function;
	operation->site = entry.site;
	operation->value_count = entry.value_count;
	operation->values = values;
}

static void parse_descriptor(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_descriptor entry;
	struct trace_descriptor *descriptor;
	int64_t *values;

	memcpy(&entry, body, sizeof(entry));
	if (entry.value_count > (size - sizeof(entry)) / sizeof(int64_t)) {
		trouble(trace, offset, "descriptor %u with %u values, but its entry has room for %" PRIu64,
			entry.number, entry.value_count, (size - sizeof(entry)) / sizeof(int64_t));
		return;
	}
	if (!reach(trace, (void **)&trace->descriptors, &trace->descriptor_count, sizeof(*descriptor),
		    entry.number)) {
		trouble(trace, offset, "descriptor number %u, more than the file can hold", entry.number);
		return;
	}
	descriptor = &trace->descriptors[entry.number];
	if (descriptor->known)
		return;
	values = arena_alloc(&trace->arena, entry.value_count, sizeof(*values));
	memcpy(values, body + sizeof(entry), entry.value_count * sizeof(*values));
	descriptor->known = true;
	descriptor->kind = (enum pm_descriptor_kind)(entry.kind < COUNT(descriptor_names) ? entry.kind : 0);
	descriptor->value_count = entry.value_count;
	descriptor->values = values;
}

/* The body of an entry; `size` bytes of it are there. */
static void parse_entry(
	struct trace *trace, uint64_t offset, unsigned type, const unsigned char *body, uint64_t size)
{
	static const size_t least_bytes[] = {
		[PM_ENTRY_FUNCTION] = sizeof(struct pm_entry_function) + 1,
		[PM_ENTRY_OPERATION] = sizeof(struct pm_entry_operation),
		[PM_ENTRY_DESCRIPTOR] = sizeof(struct pm_entry_descriptor),
		[PM_ENTRY_STRING] = sizeof(struct pm_entry_string) + 1,
		[PM_ENTRY_QUEUE] = sizeof(struct pm_entry_queue),
		[PM_ENTRY_COMMUNICATOR] = sizeof(struct pm_entry_communicator),
		[PM_ENTRY_NOTE] = 1,
	};
	const char *text = NULL;
	uint32_t number = 0;

	if (type == 0 || type >= COUNT(least_bytes))
		return;
	if (size < least_bytes[type]) {
		trouble(trace, offset, "an entry of type %u with %" PRIu64 " bytes, expected %zu or more", type, size,
			least_bytes[type]);
		return;
	}
	if (type == PM_ENTRY_NOTE) {
		text = bounded_text(body, size);
	} else {
		memcpy(&number, body, sizeof(number));
		if (type == PM_ENTRY_FUNCTION || type == PM_ENTRY_STRING)
			text = bounded_text(body + sizeof(number), size - sizeof(number));
	}
	if (!text && (type == PM_ENTRY_NOTE || type == PM_ENTRY_FUNCTION || type == PM_ENTRY_STRING)) {
		trouble(trace, offset, "a text without end in an entry of type %u", type);
		return;
	}
	switch (type) {
	case PM_ENTRY_FUNCTION:
		if (!reach(trace, (void **)&trace->functions, &trace->function_count, sizeof(*trace->functions),
			    number))
			break;
		if (!trace->functions[number].library)
			parse_function(trace, &trace->functions[number], text);
		return;
	case PM_ENTRY_OPERATION:
		parse_operation(trace, offset, body, size);
		return;
	case PM_ENTRY_DESCRIPTOR:
		parse_descriptor(trace, offset, body, size);
		return;
	case PM_ENTRY_STRING:
		if (!reach(trace, (void **)&trace->strings, &trace->string_count, sizeof(*trace->strings), number))
			break;
		trace->strings[number] = text;
		return;
	case PM_ENTRY_QUEUE: {
		struct pm_entry_queue entry;

		if (number > UINT16_MAX || !reach(trace, (void **)&trace->queues, &trace->queue_count,
						   sizeof(*trace->queues), number))
			break;
		memcpy(&entry, body, sizeof(entry));
		trace->queues[number] = (struct trace_queue){true, entry.device, entry.stream};
		return;
	}
	case PM_ENTRY_COMMUNICATOR: {
		struct pm_entry_communicator entry;

		if (!reach(trace, (void **)&trace->communicators, &trace->communicator_count,
			    sizeof(*trace->communicators), number))
			break;
		memcpy(&entry, body, sizeof(entry));
		trace->communicators[number] =
			(struct trace_communicator){true, entry.rank, entry.size, entry.device, entry.hash};
		return;
	}
	default: {
		size_t room = trace->note_count;

		/* Notes are few: an array of just the right size. */
		trace->notes = mem_grow(trace->notes, trace->note_count, &room, sizeof(*trace->notes));
		trace->notes[trace->note_count++] = text;
		return;
	}
	}
	trouble(trace, offset, "number %u in an entry of type %u, more than the file can hold", number, type);
}

static void parse_dictionary(struct trace *trace, uint64_t offset, uint64_t used_bytes)
{
	uint64_t end = offset + used_bytes;

	while (end - offset >= sizeof(struct pm_entry)) {
		struct pm_entry entry;

		memcpy(&entry, trace->data + offset, sizeof(entry));
		if (entry.entry_bytes < sizeof(entry) || entry.entry_bytes > end - offset) {
			trouble(trace, offset, "an entry of %u bytes, expected %zu to %" PRIu64, entry.entry_bytes,
				sizeof(entry), end - offset);
			return;
		}
		parse_entry(trace, offset, entry.type, trace->data + offset + sizeof(entry),
			entry.entry_bytes - sizeof(entry));
		offset += entry.entry_bytes;
	}
}

static void add_pair(struct trace *trace, size_t *room, uint64_t ticks, uint64_t monotonic_ns)
{
	if (monotonic_ns > (uint64_t)GREATEST_NS)
		return;
	*MEM_PUSH(trace->pairs, trace->pair_count, *room) = (struct trace_pair){ticks, monotonic_ns};
}

static void parse_records(struct trace *trace, size_t *room, const struct pm_chunk *chunk, uint64_t offset,
	uint64_t payload_bytes)
{
	uint64_t most = payload_bytes / trace->header.record_bytes, count = 0;
	const unsigned char *kind = trace->data + offset + offsetof(struct pm_record, kind);
	struct trace_chunk *item;

	while (count < most && *kind != 0) {
		kind += trace->header.record_bytes;
		count++;
	}
	item = MEM_PUSH(trace->chunks, trace->chunk_count, *room);
	*item = (struct trace_chunk){offset, count, chunk->sequence, chunk->thread, chunk->tid, chunk->lost_records};
	trace->record_count += count;
}

static void parse_chunks(struct trace *trace)
{
	uint64_t offset = trace->header.header_bytes, header_bytes = trace->header.chunk_header_bytes;
	size_t chunk_room = 0, pair_room = 0;

	add_pair(trace, &pair_room, trace->header.ticks, trace->header.monotonic_ns);
	while (!trace->ended && trace->size_bytes - offset >= sizeof(uint32_t)) {
		uint64_t left = trace->size_bytes - offset, payload_bytes;
		struct pm_chunk chunk;

		memcpy(&chunk.magic, trace->data + offset, sizeof(chunk.magic));
		if (chunk.magic == 0)
			break;
		if (chunk.magic != PM_CHUNK_MAGIC) {
			trouble(trace, offset, "0x%08x, expected the begin of a chunk, 0x%08x", chunk.magic,
				PM_CHUNK_MAGIC);
			break;
		}
		if (left < header_bytes) {
			trouble(trace, offset, "a chunk with %" PRIu64 " bytes left of the file, expected %" PRIu64,
				left, header_bytes);
			break;
		}
		memcpy(&chunk, trace->data + offset, sizeof(chunk));
		if (chunk.chunk_bytes < header_bytes) {
			trouble(trace, offset, "a chunk of %u bytes, expected %" PRIu64 " or more", chunk.chunk_bytes,
				header_bytes);
			break;
		}
		payload_bytes = chunk.chunk_bytes - header_bytes;
		if (chunk.chunk_bytes > left) {
			trouble(trace, offset, "a chunk of %u bytes, but the file ends after %" PRIu64,
				chunk.chunk_bytes, left);
			payload_bytes = left - header_bytes;
		}
		if (chunk.kind != PM_CHUNK_RECORDS && chunk.used_bytes > payload_bytes) {
			trouble(trace, offset, "%u bytes used in a chunk that has room for %" PRIu64, chunk.used_bytes,
				payload_bytes);
			chunk.used_bytes = (uint32_t)payload_bytes;
		}
		add_pair(trace, &pair_room, chunk.ticks, chunk.monotonic_ns);
		if (chunk.kind == PM_CHUNK_DICTIONARY) {
			parse_dictionary(trace, offset + header_bytes, chunk.used_bytes);
		} else if (chunk.kind == PM_CHUNK_RECORDS) {
			parse_records(trace, &chunk_room, &chunk, offset + header_bytes, payload_bytes);
		} else if (chunk.kind == PM_CHUNK_FOOTER) {
			if (chunk.used_bytes < sizeof(trace->footer)) {
				trouble(trace, offset, "a footer of %u bytes, expected %zu", chunk.used_bytes,
					sizeof(trace->footer));
				break;
			}
			memcpy(&trace->footer, trace->data + offset + header_bytes, sizeof(trace->footer));
			add_pair(trace, &pair_room, trace->footer.ticks, trace->footer.monotonic_ns);
			trace->ended = true;
		}
		if (chunk.chunk_bytes >= left)
			break;
		offset += chunk.chunk_bytes;
	}
}

static int compare_pairs(const void *left, const void *right)
{
	const struct trace_pair *a = left, *b = right;

	return a->ticks < b->ticks ? -1 : a->ticks > b->ticks;
}

/* Leaves pairs that rise in both clocks, far enough apart to give a slope. */
static void settle_clock(struct trace *trace)
{
	size_t kept = 0;

	if (trace->pair_count == 0)
		return;
	qsort(trace->pairs, trace->pair_count, sizeof(*trace->pairs), compare_pairs);
	for (size_t i = 0; i < trace->pair_count; i++) {
		struct trace_pair *pair = &trace->pairs[i], *last = &trace->pairs[kept ? kept - 1 : 0];

		if (kept && (pair->ticks == last->ticks || pair->monotonic_ns <= last->monotonic_ns))
			continue;
		if (kept > 1 && pair->monotonic_ns - last->monotonic_ns < PAIR_DISTANCE_NS)
			continue;
		trace->pairs[kept++] = *pair;
	}
	trace->pair_count = kept;
	if (kept < 2 && trace->header.clock == PM_CLOCK_TSC)
		trouble(trace, 0, "one clock reading only: ticks are shown as if they were nanoseconds");
}

/* What refers to a number that never came is emptied, so that users need not look again. */
static void resolve(struct trace *trace)
{
	for (size_t i = 0; i < trace->operation_count; i++) {
		struct trace_operation *operation = &trace->operations[i];

		if (!operation->values)
			continue;
		if (operation->function >= trace->function_count || !trace->functions[operation->function].library) {
			trouble(trace, 0, "operation %zu is of function %u, which no entry describes", i,
				operation->function);
			operation->function = 0;
			continue;
		}
		if (operation->site >= trace->string_count || !trace->strings[operation->site])
			operation->site = 0;
		if (operation->value_count > trace->functions[operation->function].label_count)
			operation->value_count = trace->functions[operation->function].label_count;
	}
}

int trace_parse(struct trace *trace, const char *path, const void *data, size_t size_bytes)
{
	struct pm_header *header = &trace->header;

	memset(trace, 0, sizeof(*trace));
	trace->path = arena_text(&trace->arena, path, strlen(path));
	trace->data = data;
	trace->size_bytes = size_bytes;
	if (size_bytes == 0)
		return fail(trace, 0, "the file is empty, expected a trace");
	if (size_bytes < sizeof(header->magic) || memcmp(data, PM_MAGIC, sizeof(header->magic)) != 0)
		return fail(trace, 0, "not a trace: its first 8 bytes are not \"" PM_MAGIC "\"");
	if (size_bytes < sizeof(*header))
		return fail(trace, 0, "a file of %zu bytes, expected a header of %zu", size_bytes, sizeof(*header));
	memcpy(header, data, sizeof(*header));
	if (header->byte_order != PM_BYTE_ORDER)
		return fail(trace, offsetof(struct pm_header, byte_order),
			header->byte_order == __builtin_bswap32(PM_BYTE_ORDER)
				? "byte order 0x%08x, expected 0x%08x: written on a machine of the other order"
				: "byte order 0x%08x, expected 0x%08x",
			header->byte_order, PM_BYTE_ORDER);
	if (header->version != PM_VERSION)
		return fail(trace, offsetof(struct pm_header, version), "version %u, expected %u", header->version,
			PM_VERSION);
	if (header->record_bytes < sizeof(struct pm_record))
		return fail(trace, offsetof(struct pm_header, record_bytes), "records of %u bytes, expected %zu or more",
			header->record_bytes, sizeof(struct pm_record));
	if (header->header_bytes < sizeof(*header) || header->header_bytes > size_bytes)
		return fail(trace, offsetof(struct pm_header, header_bytes),
			"a header of %u bytes, expected %zu to the file's %zu", header->header_bytes, sizeof(*header),
			size_bytes);
	if (header->chunk_header_bytes < sizeof(struct pm_chunk))
		return fail(trace, offsetof(struct pm_header, chunk_header_bytes),
			"chunk headers of %u bytes, expected %zu or more", header->chunk_header_bytes,
			sizeof(struct pm_chunk));
	if (header->clock != PM_CLOCK_MONOTONIC && header->clock != PM_CLOCK_TSC)
		return fail(trace, offsetof(struct pm_header, clock), "clock %u, expected %u or %u", header->clock,
			PM_CLOCK_MONOTONIC, PM_CLOCK_TSC);
	header->host[sizeof(header->host) - 1] = 0;
	header->program[sizeof(header->program) - 1] = 0;
	parse_chunks(trace);
	settle_clock(trace);
	resolve(trace);
	return 0;
}

int trace_open(struct trace *trace, const char *path)
{
	struct stat status;
	void *data = NULL;
	int file, rc = -1;

	memset(trace, 0, sizeof(*trace));
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &status) < 0) {
		snprintf(trace->error, sizeof(trace->error), "%.200s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(status.st_mode)) {
		snprintf(trace->error, sizeof(trace->error), "%.200s: not a regular file, expected a trace", path);
		goto out;
	}
	if (status.st_size > 0) {
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
		if (data == MAP_FAILED) {
			snprintf(trace->error, sizeof(trace->error), "%.200s: %s", path, strerror(errno));
			goto out;
		}
	}
	rc = trace_parse(trace, path, data, (size_t)status.st_size);
	trace->mapped = data != NULL;
out:
	if (file >= 0)
		close(file);
	return rc;
}

void trace_close(struct trace *trace)
{
	if (trace->mapped)
		munmap((void *)(uintptr_t)trace->data, (size_t)trace->size_bytes);
	free(trace->functions);
	free(trace->operations);
	free(trace->descriptors);
	free(trace->strings);
	free(trace->queues);
	free(trace->communicators);
	free(trace->notes);
	free(trace->chunks);
	free(trace->pairs);
	arena_free(&trace->arena);
	memset(trace, 0, sizeof(*trace));
}

bool trace_record(const struct trace *trace, const struct trace_chunk *chunk, uint64_t index, struct pm_record *record)
{
	memcpy(record, trace->data + chunk->offset + index * trace->header.record_bytes, sizeof(*record));
	if (record->kind != PM_RECORD_CALL && record->kind != PM_RECORD_DEVICE)
		return false;
	if (record->op >= trace->operation_count || !trace->operations[record->op].function)
		return false;
	return record->queue == 0 || (record->queue < trace->queue_count && trace->queues[record->queue].known);
}

static int64_t clamp_ns(double ns)
{
	if (!(ns > 0))
		return 0;
	return ns < (double)GREATEST_NS ? (int64_t)ns : GREATEST_NS;
}

int64_t trace_ns(const struct trace *trace, uint64_t ticks)
{
	const struct trace_pair *pairs = trace->pairs, *from, *to;
	size_t low = 0, high = trace->pair_count;
	double slope;
	int64_t base_ns;

	if (trace->header.clock == PM_CLOCK_MONOTONIC || trace->pair_count < 2) {
		int64_t ns = ticks < (uint64_t)GREATEST_NS ? (int64_t)ticks : GREATEST_NS;

		return ns;
	}
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (pairs[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	from = &pairs[low];
	to = &pairs[low + 1 < trace->pair_count ? low + 1 : low];
	if (ticks < pairs[0].ticks || from == to) {
		/* Outside the readings the mean rate of all of them is the best there is. */
		slope = (double)(pairs[trace->pair_count - 1].monotonic_ns - pairs[0].monotonic_ns) /
			(double)(pairs[trace->pair_count - 1].ticks - pairs[0].ticks);
	} else {
		slope = (double)(to->monotonic_ns - from->monotonic_ns) / (double)(to->ticks - from->ticks);
	}
	base_ns = (int64_t)from->monotonic_ns;
	if (ticks < from->ticks)
		return clamp_ns((double)base_ns - (double)(from->ticks - ticks) * slope);
	/* The distance alone goes through floating point: it is small, and exact to the nanosecond. */
	return base_ns + clamp_ns((double)(ticks - from->ticks) * slope) > GREATEST_NS
		? GREATEST_NS
		: base_ns + clamp_ns((double)(ticks - from->ticks) * slope);
}

const char *trace_string(const struct trace *trace, uint64_t number)
{
	return number < trace->string_count ? trace->strings[number] : NULL;
}
