/* Traces made by tests: see trace_builder.h. */
#include "trace_builder.h"
#include "timeline/timeline_read.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct builder_bytes *bytes, const void *data, size_t size)
{
	if (bytes->size + size > bytes->room) {
		bytes->room = (bytes->size + size) * 2;
		bytes->data = realloc(bytes->data, bytes->room);
		if (!bytes->data)
			err(1, "realloc");
	}
	if (size)
		memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

void builder_init(struct builder *builder)
{
	memset(builder, 0, sizeof(*builder));
	builder->header = (struct pm_header){
		.magic = PM_MAGIC,
		.byte_order = PM_BYTE_ORDER,
		.version = PM_VERSION_WHOLE,
		.chunk_header_bytes = sizeof(struct pm_chunk),
		.clock = PM_CLOCK_MONOTONIC,
		.pid = 4242,
		.rank = 0,
		.world = 1,
		.local_rank = 0,
		.device_source = PM_DEVICE_EVENTS,
		.ticks = 1000,
		.monotonic_ns = 1000,
		.real_ns = 1000,
		.host = "host",
		.program = "program",
	};
	builder->footer =
		(struct pm_footer){.threads = 1, .ticks = 2000, .monotonic_ns = 2000, .real_ns = 2000};
}

void builder_free(struct builder *builder)
{
	free(builder->dictionary.data);
	free(builder->file.data);
	for (size_t i = 0; i <= BUILDER_THREADS; i++)
		free(builder->records[i].data);
	memset(builder, 0, sizeof(*builder));
}

void builder_entry(struct builder *builder, enum pm_entry_type type, const void *body, size_t size,
	const void *more, size_t more_size)
{
	static const unsigned char zeros[8];
	size_t total = (sizeof(struct pm_entry) + size + more_size + 7) & ~(size_t)7;
	struct pm_entry head = {(uint32_t)total, (uint16_t)type, 0};

	add(&builder->dictionary, &head, sizeof(head));
	add(&builder->dictionary, body, size);
	add(&builder->dictionary, more, more_size);
	add(&builder->dictionary, zeros, total - sizeof(head) - size - more_size);
}

uint32_t builder_function(struct builder *builder, const char *text)
{
	uint32_t number = ++builder->counts[PM_ENTRY_FUNCTION];

	for (const char *at = text; *at; at++)
		builder->function_values[number] += *at == ':';
	builder_entry(builder, PM_ENTRY_FUNCTION, &number, sizeof(number), text, strlen(text) + 1);
	return number;
}

uint32_t builder_string(struct builder *builder, const char *text)
{
	uint32_t number = ++builder->counts[PM_ENTRY_STRING];

	builder_entry(builder, PM_ENTRY_STRING, &number, sizeof(number), text, strlen(text) + 1);
	return number;
}

uint32_t builder_descriptor(struct builder *builder, enum pm_descriptor_kind kind, unsigned count, ...)
{
	struct pm_entry_descriptor body = {
		++builder->counts[PM_ENTRY_DESCRIPTOR], (uint16_t)kind, (uint16_t)count};
	int64_t values[64];
	va_list list;

	va_start(list, count);
	for (unsigned i = 0; i < count; i++)
		values[i] = va_arg(list, int64_t);
	va_end(list);
	builder_entry(builder, PM_ENTRY_DESCRIPTOR, &body, sizeof(body), values, count * sizeof(*values));
	return body.number;
}

uint32_t builder_queue(struct builder *builder, int32_t device, uint64_t stream)
{
	struct pm_entry_queue body = {++builder->counts[PM_ENTRY_QUEUE], device, stream};

	builder_entry(builder, PM_ENTRY_QUEUE, &body, sizeof(body), "", 0);
	return body.number;
}

uint32_t builder_communicator(
	struct builder *builder, int32_t rank, int32_t size, int32_t device, uint64_t hash)
{
	struct pm_entry_communicator body = {
		++builder->counts[PM_ENTRY_COMMUNICATOR], rank, size, device, hash};

	builder_entry(builder, PM_ENTRY_COMMUNICATOR, &body, sizeof(body), "", 0);
	return body.number;
}

uint32_t builder_operation(struct builder *builder, uint32_t function, uint32_t site, const uint64_t *values)
{
	struct pm_entry_operation body = {
		++builder->counts[PM_ENTRY_OPERATION], function, site, builder->function_values[function]};

	builder_entry(builder, PM_ENTRY_OPERATION, &body, sizeof(body), values, body.value_count * sizeof(*values));
	return body.number;
}

void builder_note(struct builder *builder, const char *text)
{
	builder_entry(builder, PM_ENTRY_NOTE, text, strlen(text) + 1, "", 0);
}

uint32_t builder_graph(struct builder *builder, const struct pm_graph_node *nodes, uint32_t count)
{
	struct pm_entry_graph body = {++builder->counts[PM_ENTRY_GRAPH], count};

	builder_entry(builder, PM_ENTRY_GRAPH, &body, sizeof(body), nodes, count * sizeof(*nodes));
	return body.number;
}

void builder_window(struct builder *builder, bool open, uint32_t iteration, uint64_t ticks)
{
	struct pm_entry_window body = {open, iteration, ticks};

	builder_entry(builder, PM_ENTRY_WINDOW, &body, sizeof(body), "", 0);
}

void builder_device_window(struct builder *builder, bool taken, uint32_t share, uint64_t ticks)
{
	struct pm_entry_device_window body = {taken, share, ticks};

	builder_entry(builder, PM_ENTRY_DEVICE_WINDOW, &body, sizeof(body), "", 0);
	builder->untimed = !taken;
}

void builder_device(struct builder *builder, const struct pm_entry_device *device, const char *name)
{
	builder_entry(builder, PM_ENTRY_DEVICE, device, sizeof(*device), name, strlen(name) + 1);
}

void builder_module(struct builder *builder, uint32_t operation, const char *name)
{
	struct pm_entry_module body = {operation, builder_string(builder, name)};

	builder_entry(builder, PM_ENTRY_MODULE, &body, sizeof(body), "", 0);
}

void builder_placed(struct builder *builder, uint32_t operation, uint32_t base)
{
	struct pm_entry_placed body = {operation, base};

	builder_entry(builder, PM_ENTRY_PLACED, &body, sizeof(body), "", 0);
}

void builder_python(struct builder *builder, uint32_t operation, uint32_t flags, const char *innermost,
	const char *outermost)
{
	struct pm_entry_python body = {operation, flags, innermost ? builder_string(builder, innermost) : 0,
		outermost ? builder_string(builder, outermost) : 0};

	builder_entry(builder, PM_ENTRY_PYTHON, &body, sizeof(body), "", 0);
}

uint32_t builder_range(struct builder *builder, enum pm_range_scope scope, const char *name, const char *module,
	const char *line)
{
	struct pm_entry_range body = {.number = ++builder->counts[PM_ENTRY_RANGE],
		.scope = (uint16_t)scope,
		.name = builder_string(builder, name),
		.module = module ? builder_string(builder, module) : 0,
		.line = line ? builder_string(builder, line) : 0};

	builder_entry(builder, PM_ENTRY_RANGE, &body, sizeof(body), "", 0);
	return body.number;
}

uint32_t builder_nvtx(struct builder *builder, const char *domain, const char *name, uint32_t color)
{
	struct pm_entry_range body = {.number = ++builder->counts[PM_ENTRY_RANGE],
		.scope = PM_RANGE_NVTX,
		.name = builder_string(builder, name),
		.domain = builder_string(builder, domain),
		.color = color};

	builder_entry(builder, PM_ENTRY_RANGE, &body, sizeof(body), "", 0);
	return body.number;
}

void builder_in_range(struct builder *builder, uint32_t thread, uint64_t ticks, uint32_t range, uint32_t sequence,
	uint16_t framework_thread)
{
	builder_record(builder, thread,
		&(struct builder_record){.begin = ticks,
			.end = ticks,
			.op = range,
			.sequence = sequence,
			.queue = framework_thread,
			.kind = PM_RECORD_RANGE});
}

void builder_range_window(struct builder *builder, bool recorded, uint64_t ticks)
{
	struct pm_entry_range_window body = {.recorded = recorded, .ticks = ticks};

	builder_entry(builder, PM_ENTRY_RANGE_WINDOW, &body, sizeof(body), "", 0);
}

void builder_addresses(struct builder *builder, const uint64_t *addresses, uint32_t count)
{
	struct pm_entry_addresses body = {builder->counts[PM_ENTRY_ADDRESSES] + 1, count};

	builder->counts[PM_ENTRY_ADDRESSES] += count;
	builder_entry(builder, PM_ENTRY_ADDRESSES, &body, sizeof(body), addresses, count * sizeof(*addresses));
}

uint32_t builder_touches(struct builder *builder, const uint8_t *bytes, uint32_t byte_count)
{
	struct pm_entry_touches body = {++builder->counts[PM_ENTRY_TOUCHES], byte_count};

	builder_entry(builder, PM_ENTRY_TOUCHES, &body, sizeof(body), bytes, byte_count);
	return body.number;
}

void builder_address_module(struct builder *builder, uint32_t address, const char *name)
{
	struct pm_entry_address_module body = {address, builder_string(builder, name)};

	builder_entry(builder, PM_ENTRY_ADDRESS_MODULE, &body, sizeof(body), "", 0);
}

void builder_record(struct builder *builder, uint32_t thread, const struct builder_record *record)
{
	struct builder_record kept = *record;

	if (builder->closed || (builder->untimed && record->kind == PM_RECORD_DEVICE))
		return;
	if (builder->untimed)
		kept.correlation = 0;
	add(&builder->records[thread], &kept, sizeof(kept));
}

void builder_call(struct builder *builder, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
	uint32_t operation, uint32_t queue, int32_t result, uint64_t device_begin_ns, uint64_t device_end_ns)
{
	struct builder_record record = {
		.begin = begin_ns,
		.end = end_ns,
		.op = operation,
		.result = result,
		.queue = (uint16_t)queue,
		.kind = PM_RECORD_CALL,
	};

	if (device_end_ns)
		record.correlation = ++builder->correlation;
	builder_record(builder, thread, &record);
	if (!device_end_ns)
		return;
	record.kind = PM_RECORD_DEVICE;
	record.begin = device_begin_ns;
	record.end = device_end_ns;
	builder_record(builder, thread, &record);
}

static void chunk(struct builder *builder, enum pm_chunk_kind kind, uint32_t thread, uint64_t sequence,
	const unsigned char *payload, size_t used, size_t zeros)
{
	struct pm_chunk head = {
		.magic = PM_CHUNK_MAGIC,
		.chunk_bytes = (uint32_t)(sizeof(head) + used + zeros),
		.used_bytes = kind == PM_CHUNK_RECORDS ? 0 : (uint32_t)used,
		.kind = (uint16_t)kind,
		.thread = thread,
		.tid = 4242 + thread,
		.sequence = sequence,
		.ticks = builder->header.ticks,
		.monotonic_ns = builder->header.monotonic_ns,
		.real_ns = builder->header.real_ns,
	};

	add(&builder->file, &head, sizeof(head));
	add(&builder->file, payload, used);
	for (size_t i = 0; i < zeros; i++)
		add(&builder->file, "", 1);
}

/* The slots of a record of version 2, as the writer does it; base is by clock. */
static void lay_out(struct builder_bytes *slots, const struct builder_record *from, uint64_t base[2])
{
	unsigned clock = from->kind == PM_RECORD_DEVICE;
	uint64_t duration = from->end - from->begin;
	struct pm_record record = {.duration = (uint32_t)duration,
		.op = from->op,
		.queue = from->queue,
		.kind = from->kind,
		.flags = from->flags};

	if ((from->begin - base[clock]) >> 32) {
		base[clock] = from->begin;
		add(slots, &(struct pm_base){.base = from->begin, .clock = clock, .kind = PM_RECORD_BASE},
			sizeof(struct pm_base));
	}
	if (from->kind == PM_RECORD_RANGE) {
		add(slots,
			&(struct pm_range){.ticks = (uint32_t)(from->begin - base[clock]),
				.range = from->op,
				.sequence = from->sequence,
				.thread = from->queue,
				.kind = PM_RECORD_RANGE,
				.flags = from->flags},
			sizeof(struct pm_range));
		return;
	}
	record.begin = (uint32_t)(from->begin - base[clock]);
	for (uint32_t at = 0; at < from->packed_count; at += PM_TOUCH_BYTES) {
		uint32_t left = from->packed_count - at;
		struct pm_touch slot = {.kind = PM_RECORD_TOUCH,
			.used = (uint8_t)(left < PM_TOUCH_BYTES ? left : PM_TOUCH_BYTES)};

		memcpy(&slot, from->packed + at, slot.used);
		add(slots, &slot, sizeof(slot));
	}
	if (from->correlation || from->result || from->sequence || from->group || duration >> 32)
		add(slots,
			&(struct pm_more){.correlation = from->correlation,
				.result = from->result,
				.sequence = from->sequence,
				.duration_high = (uint16_t)(duration >> 32),
				.kind = PM_RECORD_MORE,
				.group = from->group},
			sizeof(struct pm_more));
	add(slots, &record, sizeof(record));
}

static void records_chunk(struct builder *builder, uint32_t thread, uint64_t sequence,
	const struct builder_record *records, size_t count)
{
	uint64_t base[2] = {builder->header.ticks, builder->header.monotonic_ns};
	struct builder_bytes slots = {0};

	for (size_t i = 0; i < count; i++) {
		const struct builder_record *from = &records[i];

		if (builder->header.version == 1)
			add(&slots,
				&(struct pm_record_1){from->begin, from->end, from->op, from->correlation,
					from->result, from->queue, from->kind, from->flags},
				sizeof(struct pm_record_1));
		else
			lay_out(&slots, from, base);
	}
	chunk(builder, PM_CHUNK_RECORDS, thread, sequence, slots.data, slots.size,
		builder->killed ? 3 * builder->header.record_bytes : 0);
	free(slots.data);
}

static void add_header(struct builder *builder)
{
	unsigned char page[4096] = {0};

	if (!builder->live) {
		add(&builder->file, &builder->header, builder->header.header_bytes);
		return;
	}
	builder->header.header_bytes = sizeof(page);
	memcpy(page, &builder->header, sizeof(builder->header));
	memcpy(page + PM_LIVE_OFFSET, builder->live, sizeof(*builder->live));
	add(&builder->file, page, sizeof(page));
}

#define MOST_RECORDS 16384 /* of a chunk: it is at most a megabyte large, as those of the hook */

void builder_finish(struct builder *builder)
{
	static const unsigned char nothing[1];
	bool first = builder->header.version == 1, lost = false;

	for (size_t i = 0; i < PM_LOSS_ROOM; i++)
		lost |= builder->header.losses[i] > 0;
	builder->header.record_bytes = first ? sizeof(struct pm_record_1) : sizeof(struct pm_record);
	builder->header.header_bytes =
		first  ? offsetof(struct pm_header, worker_count)
		: lost ? sizeof(struct pm_header)
		       : offsetof(struct pm_header, losses); /* as it was before there were causes */
	add_header(builder);
	chunk(builder, PM_CHUNK_DICTIONARY, 0, 0,
		builder->dictionary.data ? builder->dictionary.data : nothing, builder->dictionary.size, 0);
	for (uint32_t t = 1; t <= BUILDER_THREADS; t++) {
		const struct builder_record *records = (const void *)builder->records[t].data;
		size_t count = builder->records[t].size / sizeof(*records),
		       step = builder->records_per_chunk ? builder->records_per_chunk : MOST_RECORDS;

		for (size_t at = 0, sequence = 0; at < count; at += step, sequence++)
			records_chunk(
				builder, t, sequence, records + at, count - at < step ? count - at : step);
		builder->footer.records += count;
	}
	if (!builder->footer.calls)
		builder->footer.calls = builder->footer.records;
	if (!builder->killed)
		chunk(builder, PM_CHUNK_FOOTER, 0, 0, (const unsigned char *)&builder->footer,
			first ? offsetof(struct pm_footer, own_ns) : sizeof(builder->footer), 0);
	else
		for (size_t i = 0; i < 64; i++)
			add(&builder->file, "", 1);
}

void builder_save(struct builder *builder, const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(builder->file.data, 1, builder->file.size, file) != builder->file.size ||
		fclose(file) != 0)
		err(1, "%s", path);
}

void builder_timeline(struct builder *builder, struct timeline *timeline)
{
	struct trace trace;

	builder_finish(builder);
	if (trace_parse(&trace, "t", builder->file.data, builder->file.size) < 0)
		errx(1, "%s", trace.error);
	if (trace.trouble)
		errx(1, "%s", trace.trouble);
	timeline_init(timeline);
	timeline_add(timeline, &trace);
	trace_close(&trace);
	builder_free(builder);
	timeline_settle(timeline);
}
