/*
 * Reading a trace file. One walk over the chunks fills the dictionary's tables and notes where records are;
 * the walk ends at the first thing that cannot be true, keeps all before it, and says so.
 */
#include "trace.h"
#include "base/limit.h"
#include "base/regular_file.h"
#include "trace_dictionary.h"
#include "trace_ring.h"

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

#define PAIR_DISTANCE_NS 1000000 /* closer clock pairs add noise, not knowledge */

static const size_t record_sizes[] = {0, sizeof(struct pm_record_1), sizeof(struct pm_record),
	sizeof(struct pm_record), sizeof(struct pm_record)}; /* by version */

bool trace_waits(enum pm_kind kind, enum pm_role role)
{
	return kind == PM_KIND_SYNC && role != PM_ROLE_QUERIES_STREAM && role != PM_ROLE_QUERIES_EVENT;
}

void trace_trouble(struct trace *trace, uint64_t offset, const char *format, ...)
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

__attribute__((format(printf, 3, 4))) static int fail(
	struct trace *trace, uint64_t offset, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snprintf(trace->error, sizeof(trace->error), "%.200s: byte %" PRIu64 ": %s", trace->path, offset,
		text);
	return -1;
}

static void add_pair(struct trace *trace, size_t *room, uint64_t ticks, uint64_t monotonic_ns)
{
	if (monotonic_ns > (uint64_t)TRACE_GREATEST_NS)
		return;
	*MEM_PUSH(trace->pairs, trace->pair_count, *room) = (struct trace_pair){ticks, monotonic_ns, 0};
}

void trace_release(const struct trace *trace, const struct trace_chunk *chunk)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = chunk->offset & ~(page - 1);
	uint64_t end = chunk->offset + chunk->slot_count * trace->header.record_bytes;

	/* A page that other chunks share comes back with them. */
	if (trace->mapped && end > begin)
		madvise((void *)(uintptr_t)(trace->data + begin), (size_t)(end - begin), MADV_DONTNEED);
}

/* When the chunk's first call begins; without any, when the chunk was opened. */
static uint64_t first_call(
	const struct trace *trace, const unsigned char *slot, uint64_t count, uint64_t opened)
{
	uint64_t base = opened;

	for (uint64_t i = 0; i < count; i++, slot += trace->header.record_bytes) {
		struct pm_record record;
		struct pm_base moved;

		switch (slot[offsetof(struct pm_record, kind)]) {
		case PM_RECORD_BASE:
			memcpy(&moved, slot, sizeof(moved));
			if (moved.clock == 0)
				base = moved.base;
			break;
		case PM_RECORD_CALL:
			memcpy(&record, slot, sizeof(record));
			return base + record.begin;
		default:
			break;
		}
	}
	return opened;
}

/* Counts the slots up to the first empty one, by their kinds: all records of a file are looked at here. */
static uint64_t count_slots(
	const struct trace *trace, struct trace_chunk *chunk, uint64_t most, uint64_t counts[UINT8_MAX + 1])
{
	const size_t bytes = trace->header.record_bytes;
	const unsigned char *slot = trace->data + chunk->offset;
	const bool first = trace->header.version == 1;
	const size_t place = first ? offsetof(struct pm_record_1, kind) : offsetof(struct pm_record, kind);
	uint32_t least = UINT32_MAX, greatest = 0, correlation;
	uint64_t count = 0;

	for (uint8_t kind; count < most && (kind = slot[place]) != 0; slot += bytes, count++) {
		counts[kind]++;
		if (kind != PM_RECORD_MORE)
			continue;
		memcpy(&correlation, slot + offsetof(struct pm_more, correlation), sizeof(correlation));
		if (correlation > greatest)
			greatest = correlation;
		if (correlation && correlation < least)
			least = correlation;
	}
	chunk->least_correlation = first ? 0 : least;
	chunk->greatest_correlation = first ? UINT32_MAX : greatest;
	return count;
}

static void parse_records(struct trace *trace, size_t *room, const struct pm_chunk *header, uint64_t offset,
	uint64_t payload_bytes)
{
	const uint64_t most = payload_bytes / trace->header.record_bytes;
	const bool first = trace->header.version == 1;
	uint64_t counts[UINT8_MAX + 1] = {0}, helpers;
	struct trace_chunk chunk = {.offset = offset,
		.base = {header->ticks, header->monotonic_ns},
		.sequence = header->sequence,
		.thread = header->thread,
		.tid = header->tid,
		.lost_records = header->lost_records,
		.first_ticks = header->ticks};

	chunk.slot_count = count_slots(trace, &chunk, most, counts);
	helpers = first ? 0 : counts[PM_RECORD_MORE] + counts[PM_RECORD_BASE];
	if (trace->header.version >= 3)
		helpers += counts[PM_RECORD_TOUCH] + counts[PM_RECORD_RANGE];
	if (!first) {
		chunk.first_ticks = first_call(trace, trace->data + offset, chunk.slot_count, header->ticks);
		if (chunk.slot_count < most)
			memcpy(&chunk.entered,
				trace->data + offset + chunk.slot_count * trace->header.record_bytes,
				sizeof(chunk.entered));
	}
	if (!(chunk.entered.flags & PM_FLAG_ENTERED))
		chunk.entered = (struct pm_entered){0};
	trace->call_count += counts[PM_RECORD_CALL];
	trace->device_count += counts[PM_RECORD_DEVICE];
	trace->range_count += counts[PM_RECORD_RANGE];
	trace->record_count += chunk.slot_count - helpers;
	*MEM_PUSH(trace->chunks, trace->chunk_count, *room) = chunk;
	trace_release(trace, &chunk);
}

/* Version 1 had the fields up to own_ns; a longer footer has fields this reader does not know. */
static bool parse_footer(struct trace *trace, uint64_t offset, uint64_t payload, uint32_t used_bytes)
{
	const size_t least = offsetof(struct pm_footer, own_ns);

	if (used_bytes < least) {
		trace_trouble(trace, offset, "a footer of %u bytes, expected %zu", used_bytes, least);
		return false;
	}
	memcpy(&trace->footer, trace->data + payload,
		used_bytes < sizeof(trace->footer) ? used_bytes : sizeof(trace->footer));
	return true;
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
			trace_trouble(trace, offset, "0x%08x, expected the start of a chunk, 0x%08x",
				chunk.magic, PM_CHUNK_MAGIC);
			break;
		}
		if (left < header_bytes) {
			trace_trouble(trace, offset,
				"a chunk with %" PRIu64 " bytes left of the file, expected %" PRIu64, left,
				header_bytes);
			break;
		}
		memcpy(&chunk, trace->data + offset, sizeof(chunk));
		if (chunk.chunk_bytes < header_bytes) {
			trace_trouble(trace, offset, "a chunk of %u bytes, expected %" PRIu64 " or more",
				chunk.chunk_bytes, header_bytes);
			break;
		}
		payload_bytes = chunk.chunk_bytes - header_bytes;
		if (chunk.chunk_bytes > left) {
			trace_trouble(trace, offset, "a chunk of %u bytes, but the file ends after %" PRIu64,
				chunk.chunk_bytes, left);
			payload_bytes = left - header_bytes;
		}
		if (chunk.kind != PM_CHUNK_RECORDS && chunk.used_bytes > payload_bytes) {
			trace_trouble(trace, offset, "%u bytes used in a chunk that has room for %" PRIu64,
				chunk.used_bytes, payload_bytes);
			chunk.used_bytes = (uint32_t)payload_bytes;
		}
		if (chunk.kind != PM_CHUNK_FREE) /* which may be about to be used */
			add_pair(trace, &pair_room, chunk.ticks, chunk.monotonic_ns);
		if (chunk.kind == PM_CHUNK_DICTIONARY) {
			trace_parse_dictionary(trace, offset + header_bytes, chunk.used_bytes);
		} else if (chunk.kind == PM_CHUNK_RECORDS) {
			parse_records(trace, &chunk_room, &chunk, offset + header_bytes, payload_bytes);
		} else if (chunk.kind == PM_CHUNK_RING) {
			trace_ring_parse(trace, offset, offset + header_bytes, payload_bytes);
		} else if (chunk.kind == PM_CHUNK_STATISTICS) {
			trace_ring_statistics(trace, &chunk, offset + header_bytes, payload_bytes);
		} else if (chunk.kind == PM_CHUNK_FOOTER) {
			if (!parse_footer(trace, offset, offset + header_bytes, chunk.used_bytes))
				break;
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
	for (size_t i = 0; i < kept && kept > 1; i++) {
		/* Outside the readings the mean rate of all of them is the best there is. */
		const struct trace_pair *from = &trace->pairs[i + 1 < kept ? i : 0],
					*to = &trace->pairs[i + 1 < kept ? i + 1 : kept - 1];

		trace->pairs[i].slope =
			(double)(to->monotonic_ns - from->monotonic_ns) / (double)(to->ticks - from->ticks);
	}
	if (kept < 2 && trace->header.clock == PM_CLOCK_TSC)
		trace_trouble(trace, 0, "only one clock reading: ticks are shown as nanoseconds");
}

/* The number of an operation without its addresses, its own unless the file says another that can be true. */
static uint32_t base_of(const struct trace *trace, uint32_t number)
{
	const uint32_t base = trace->operations[number].base;
	const struct trace_operation *other = base < trace->operation_count ? &trace->operations[base] : NULL;

	if (!other || !other->values || other->function != trace->operations[number].function ||
		(other->base && other->base != base))
		return number;
	return base;
}

/* What refers to a number that never came is emptied, so that users need not look again. */
static void resolve(struct trace *trace)
{
	for (size_t i = 0; i < trace->operation_count; i++) {
		struct trace_operation *operation = &trace->operations[i];

		operation->base = base_of(trace, (uint32_t)i);
		if (!operation->values)
			continue;
		if (operation->function >= trace->function_count ||
			!trace->functions[operation->function].library) {
			trace_trouble(trace, 0, "operation %zu is of function %u, which no entry describes",
				i, operation->function);
			operation->function = 0;
			continue;
		}
		if (!trace_string(trace, operation->site))
			operation->site = 0;
		if (!trace_string(trace, operation->module))
			operation->module = 0;
		if (!trace_string(trace, operation->innermost))
			operation->innermost = 0;
		if (!trace_string(trace, operation->outermost))
			operation->outermost = 0;
		if (operation->value_count > trace->functions[operation->function].label_count)
			operation->value_count = trace->functions[operation->function].label_count;
	}
}

/* Fields at the end may be missing, those of version 2 are in files of version 1; then they are 0. */
static int parse_header(struct trace *trace, const void *data, size_t size_bytes)
{
	const size_t least = offsetof(struct pm_header, worker_count);
	struct pm_header *header = &trace->header;

	if (size_bytes < least)
		return fail(trace, 0, "a file of %zu bytes, expected a header of %zu", size_bytes, least);
	memcpy(header, data, least);
	if (header->byte_order != PM_BYTE_ORDER)
		return fail(trace, offsetof(struct pm_header, byte_order),
			header->byte_order == __builtin_bswap32(PM_BYTE_ORDER)
				? "byte order 0x%08x, expected 0x%08x: written on a machine of the "
				  "opposite byte order"
				: "byte order 0x%08x, expected 0x%08x",
			header->byte_order, PM_BYTE_ORDER);
	if (header->version < 1 || header->version > PM_VERSION)
		return fail(trace, offsetof(struct pm_header, version), "version %u, expected 1 to %u",
			header->version, PM_VERSION);
	if (header->record_bytes < record_sizes[header->version])
		return fail(trace, offsetof(struct pm_header, record_bytes),
			"records of %u bytes, expected %zu or more", header->record_bytes,
			record_sizes[header->version]);
	if (header->header_bytes < least || header->header_bytes > size_bytes)
		return fail(trace, offsetof(struct pm_header, header_bytes),
			"a header of %u bytes, expected %zu to the file's %zu", header->header_bytes, least,
			size_bytes);
	if (header->chunk_header_bytes < sizeof(struct pm_chunk))
		return fail(trace, offsetof(struct pm_header, chunk_header_bytes),
			"chunk headers of %u bytes, expected %zu or more", header->chunk_header_bytes,
			sizeof(struct pm_chunk));
	if (header->clock != PM_CLOCK_MONOTONIC && header->clock != PM_CLOCK_TSC)
		return fail(trace, offsetof(struct pm_header, clock), "clock %u, expected %u or %u",
			header->clock, PM_CLOCK_MONOTONIC, PM_CLOCK_TSC);
	memcpy(header, data, header->header_bytes < sizeof(*header) ? header->header_bytes : sizeof(*header));
	header->host[sizeof(header->host) - 1] = 0;
	header->program[sizeof(header->program) - 1] = 0;
	return 0;
}

static int parse(struct trace *trace, const char *path, const void *data, size_t size_bytes, bool mapped)
{
	memset(trace, 0, sizeof(*trace));
	trace->mapped = mapped;
	trace->path = arena_text(&trace->arena, path, strlen(path));
	trace->data = data;
	trace->size_bytes = size_bytes;
	if (size_bytes == 0)
		return fail(trace, 0, "the file is empty, expected a trace");
	if (size_bytes < sizeof(trace->header.magic) ||
		memcmp(data, PM_MAGIC, sizeof(trace->header.magic)) != 0)
		return fail(trace, 0, "not a trace: its first 8 bytes are not \"" PM_MAGIC "\"");
	if (parse_header(trace, data, size_bytes) < 0)
		return -1;
	parse_chunks(trace);
	settle_clock(trace);
	resolve(trace);
	trace_ring_settle(trace);
	return 0;
}

int trace_parse(struct trace *trace, const char *path, const void *data, size_t size_bytes)
{
	return parse(trace, path, data, size_bytes, false);
}

#define GROWN_TRIES 20

/*
 * Maps a file, or copies that of a ring: once more where it has grown meanwhile, since what was dropped may
 * be counted after the end that was known. size_bytes: that of the file; becomes that of the data. 0 or
 * -errno.
 */
static int take_bytes(int file, size_t *size_bytes, void **data, unsigned char **copy, bool *moving)
{
	struct stat status;

	for (int tries = 0; *size_bytes > 0; tries++) {
		*data = mmap(NULL, *size_bytes, PROT_READ, MAP_SHARED, file, 0);
		if (*data == MAP_FAILED)
			return -errno;
		*copy = trace_ring_copy(*data, *size_bytes, moving);
		if (!*copy)
			break;
		munmap(*data, *size_bytes);
		*data = *copy;
		if (fstat(file, &status) < 0 || (size_t)status.st_size == *size_bytes)
			break;
		if (tries == GROWN_TRIES) {
			*moving = true;
			break;
		}
		free(*copy);
		*data = *copy = NULL;
		*size_bytes = (size_t)status.st_size;
	}
	return 0;
}

int trace_open(struct trace *trace, const char *path)
{
	struct stat status;
	void *data = NULL;
	unsigned char *copy = NULL;
	bool moving = false;
	size_t size_bytes;
	int file, rc = -1;

	memset(trace, 0, sizeof(*trace));
	file = regular_file_open(path);
	if (file < 0) {
		snprintf(trace->error, sizeof(trace->error), "%.200s: %s", path,
			file == -EISDIR ? "a folder, expected one trace: name a *.pmtrace file in it"
					: regular_file_trouble(file));
		goto out;
	}
	if (fstat(file, &status) < 0) {
		snprintf(trace->error, sizeof(trace->error), "%.200s: %s", path, strerror(errno));
		goto out;
	}
	size_bytes = (size_t)status.st_size;
	rc = take_bytes(file, &size_bytes, &data, &copy, &moving);
	if (rc < 0) {
		snprintf(trace->error, sizeof(trace->error), "%.200s: %s", path, strerror(-rc));
		rc = -1;
		goto out;
	}
	pm_limit_begin(path, size_bytes, "byte");
	rc = parse(trace, path, data, size_bytes, data && !copy);
	pm_limit_end();
	if (trace->ring)
		trace->ring->moving = moving;
	trace->copy = copy;
out:
	if (file >= 0)
		close(file);
	return rc;
}

void trace_close(struct trace *trace)
{
	if (trace->mapped)
		munmap((void *)(uintptr_t)trace->data, (size_t)trace->size_bytes);
	free(trace->copy);
	if (trace->ring)
		free(trace->ring->statistics);
	free(trace->functions);
	free(trace->operations);
	free(trace->descriptors);
	free(trace->strings);
	free(trace->queues);
	free(trace->communicators);
	free(trace->graphs);
	free(trace->windows);
	free(trace->turns);
	free(trace->device_windows);
	free(trace->range_names);
	free(trace->range_windows);
	free(trace->addresses);
	free(trace->lists);
	free(trace->places);
	free(trace->devices);
	free(trace->hlo_modules);
	free(trace->hlo_instructions);
	free(trace->hlo_schedules);
	free(trace->notes);
	free(trace->chunks);
	free(trace->pairs);
	arena_free(&trace->arena);
	memset(trace, 0, sizeof(*trace));
}

const char *trace_string(const struct trace *trace, uint64_t number)
{
	return number < trace->string_count ? trace->strings[number] : NULL;
}
