/* Checks that the reader finds in a trace what the writer's side of the format put there, and says where a
 * file breaks off. */
#include "check.h"
#include "trace.h"
#include "trace_builder.h"

#include <stdlib.h>
#include <string.h>

static const char forward_text[] =
	"cudnn FORWARD cudnnConvolutionForward descriptor:x reads:x_ptr weight:w_ptr int:algo scale:beta new_type:something";

/* One of each entry and a few records on two threads. */
static void fill(struct builder *builder)
{
	uint32_t function, site, queue, descriptor, operation;

	builder_init(builder);
	function = builder_function(builder, forward_text);
	site = builder_string(builder, "forward < main");
	builder_string(builder, "data/train.idx");
	queue = builder_queue(builder, 3, 0xabc);
	descriptor = builder_descriptor(
		builder, PM_DESCRIPTOR_TENSOR, 4, (int64_t)PM_TYPE_F32, (int64_t)1, (int64_t)-7, (int64_t)1);
	builder_communicator(builder, 1, 4, 3, 0x1234567890abcdef);
	operation = builder_operation(
		builder, function, site, (const uint64_t[]){descriptor, 0x1000, 0x2000, (uint64_t)-1, 2, 9});
	builder_note(builder, "command: ./train --batch 64");
	builder_call(builder, 1, 5000, 6000, operation, queue, 0, 5500, 7000);
	builder_call(builder, 1, 8000, 8100, operation, queue, -1, 0, 0);
	builder_call(builder, 2, 5500, 5600, operation, 0, 7, 0, 0);
}

static void check_tables(const struct trace *trace)
{
	const struct trace_function *function = &trace->functions[1];
	const struct trace_operation *operation = &trace->operations[1];

	CHECK(trace->function_count == 2 && trace->operation_count == 2 && trace->string_count == 3,
		"counts of the tables");
	CHECK(strcmp(function->library, "cudnn") == 0 &&
			strcmp(function->name, "cudnnConvolutionForward") == 0,
		"%s %s", function->library, function->name);
	CHECK(function->kind == PM_KIND_FORWARD, "kind %d", function->kind);
	CHECK(function->label_count == 6, "%u labels", function->label_count);
	CHECK(function->labels[2].type == PM_VALUE_WEIGHT && strcmp(function->labels[2].name, "w_ptr") == 0,
		"third label");
	CHECK(function->labels[5].type == PM_VALUE_NONE && strcmp(function->labels[5].name, "something") == 0,
		"a type that this reader does not know");
	CHECK(operation->function == 1 && operation->site == 1 && operation->value_count == 6, "operation");
	CHECK(operation->values[2] == 0x2000 && operation->values[3] == (uint64_t)-1, "values");
	CHECK(strcmp(trace_string(trace, 2), "data/train.idx") == 0, "string 2");
	CHECK(trace_string(trace, 0) == NULL && trace_string(trace, 99) == NULL,
		"strings that are not there");
	CHECK(trace->queues[1].known && trace->queues[1].device == 3 && trace->queues[1].stream == 0xabc,
		"queue");
	CHECK(trace->communicators[1].rank == 1 && trace->communicators[1].size == 4 &&
			trace->communicators[1].device == 3 &&
			trace->communicators[1].hash == 0x1234567890abcdef,
		"communicator");
	CHECK(trace->descriptors[1].kind == PM_DESCRIPTOR_TENSOR && trace->descriptors[1].value_count == 4 &&
			trace->descriptors[1].values[2] == -7,
		"descriptor");
	CHECK(trace->note_count == 1 && strcmp(trace->notes[0], "command: ./train --batch 64") == 0, "note");
}

static void check_records(const struct trace *trace)
{
	static const struct pm_record expected[] = {
		{5000, 6000, 1, 1, 0, 1, PM_RECORD_CALL, 0},
		{5500, 7000, 1, 1, 0, 1, PM_RECORD_DEVICE, 0},
		{8000, 8100, 1, 0, -1, 1, PM_RECORD_CALL, 0},
		{5500, 5600, 1, 0, 7, 0, PM_RECORD_CALL, 0},
	};
	size_t place = 0;

	CHECK(trace->record_count == 4, "%zu records", (size_t)trace->record_count);
	for (size_t c = 0; c < trace->chunk_count; c++)
		for (uint64_t i = 0; i < trace->chunks[c].record_count; i++, place++) {
			struct pm_record record;

			CHECK(trace_record(trace, &trace->chunks[c], i, &record), "record %zu was refused",
				place);
			CHECK(place < 4 && memcmp(&record, &expected[place], sizeof(record)) == 0,
				"record %zu differs", place);
			CHECK(trace->chunks[c].thread == (place < 3 ? 1 : 2), "record %zu is of thread %u",
				place, trace->chunks[c].thread);
		}
}

static void parse(struct trace *trace, const void *data, size_t size)
{
	CHECK(trace_parse(trace, "t", data, size) == 0, "%s", trace->error);
}

static void round_trip(void)
{
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder.header.rank = 2;
	builder.header.lost_records = 5;
	builder.records_per_chunk = 2;
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.trouble == NULL, "%s", trace.trouble);
	CHECK(trace.ended && trace.header.rank == 2 && trace.header.lost_records == 5, "header");
	CHECK(trace.chunk_count == 3, "%zu chunks of records", trace.chunk_count);
	check_tables(&trace);
	check_records(&trace);
	trace_close(&trace);
	builder_free(&builder);
}

static void without_end(void)
{
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder.killed = true;
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(!trace.ended && trace.trouble == NULL, "a killed process is no trouble: %s", trace.trouble);
	check_tables(&trace);
	check_records(&trace);
	trace_close(&trace);
	builder_free(&builder);
}

/* Longer headers and records, entries and chunks of kinds to come: stepped over by the sizes in the file. */
static void from_the_future(void)
{
	struct builder builder;
	struct builder_bytes *file = &builder.file;
	unsigned char *data;
	size_t size = 0, dictionary, records;
	struct pm_chunk chunk;
	struct trace trace;

	fill(&builder);
	builder_finish(&builder);
	data = calloc(4, file->size);
	if (!data)
		abort();
	builder.header.header_bytes += 24;
	builder.header.chunk_header_bytes += 8;
	builder.header.record_bytes = 40;
	memcpy(data, &builder.header, sizeof(builder.header));
	size = builder.header.header_bytes;
	/* A chunk of an unknown kind in front. */
	memcpy(&chunk, file->data + sizeof(struct pm_header), sizeof(chunk));
	chunk.kind = 77;
	chunk.used_bytes = 0;
	chunk.chunk_bytes = sizeof(chunk) + 8 + 32;
	memcpy(data + size, &chunk, sizeof(chunk));
	size += chunk.chunk_bytes;
	/* The dictionary, with an unknown entry at its end. */
	memcpy(&chunk, file->data + sizeof(struct pm_header), sizeof(chunk));
	dictionary = chunk.used_bytes;
	chunk.used_bytes += 16;
	chunk.chunk_bytes += 8 + 16;
	memcpy(data + size, &chunk, sizeof(chunk));
	memcpy(data + size + 72, file->data + sizeof(struct pm_header) + 64, dictionary);
	memcpy(data + size + 72 + dictionary, &(struct pm_entry){16, 99, 0}, sizeof(struct pm_entry));
	size += chunk.chunk_bytes;
	/* Both threads' records. */
	for (records = sizeof(struct pm_header) + 64 + dictionary; records < file->size;) {
		size_t count;

		memcpy(&chunk, file->data + records, sizeof(chunk));
		if (chunk.kind != PM_CHUNK_RECORDS)
			break;
		count = (chunk.chunk_bytes - 64) / 32;
		memcpy(data + size, &chunk, sizeof(chunk));
		memcpy(data + size + 4, &(uint32_t){(uint32_t)(72 + count * 40)}, 4);
		for (size_t i = 0; i < count; i++)
			memcpy(data + size + 72 + i * 40, file->data + records + 64 + i * 32, 32);
		records += chunk.chunk_bytes;
		size += 72 + count * 40;
	}
	parse(&trace, data, size);
	CHECK(trace.trouble == NULL, "%s", trace.trouble);
	check_tables(&trace);
	check_records(&trace);
	trace_close(&trace);
	free(data);
	builder_free(&builder);
}

static void sentences(void)
{
	static const struct {
		const char *what;
		size_t offset;
		uint32_t value;
		const char *sentence;
	} cases[] = {
		{"magic of the first chunk", 208, 0x12345678,
			"t: byte 208: 0x12345678, expected the begin of a chunk"},
		{"length of the first chunk", 212, 10,
			"t: byte 208: a chunk of 10 bytes, expected 64 or more"},
		{"long chunk", 212, 0x7ffffff0,
			"t: byte 208: a chunk of 2147483632 bytes, but the file ends after "},
		{"length of the first entry", 272, 4, "t: byte 272: an entry of 4 bytes, expected 8 to "},
		{"long entry", 272, 0xffffff, "t: byte 272: an entry of 16777215 bytes, expected 8 to "},
		{"number of the first function", 280, 0xfffffff,
			"number 268435455 in an entry of type 1, more than the file"},
	};
	struct builder builder;
	struct trace trace;
	uint32_t entry_bytes;

	fill(&builder);
	builder_finish(&builder);
	/* A name without its end, and no zero behind it in the entry. */
	memcpy(&entry_bytes, builder.file.data + 272, sizeof(entry_bytes));
	memset(builder.file.data + 272 + 12, 'x', entry_bytes - 12);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.trouble && strstr(trace.trouble, "t: byte 272: a text without end in an entry of type 1"),
		"'%s'", trace.trouble ? trace.trouble : "");
	trace_close(&trace);
	builder_free(&builder);
	fill(&builder);
	builder_finish(&builder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned char *data = malloc(builder.file.size);

		if (!data)
			abort();
		memcpy(data, builder.file.data, builder.file.size);
		memcpy(data + cases[i].offset, &cases[i].value, 4);
		parse(&trace, data, builder.file.size);
		CHECK(trace.trouble && strstr(trace.trouble, cases[i].sentence), "%s: '%s', expected '%s'",
			cases[i].what, trace.trouble ? trace.trouble : "", cases[i].sentence);
		trace_close(&trace);
		free(data);
	}
	builder_free(&builder);
}

/* Ticks between clock readings are interpolated, outside they go on at the mean rate. */
static void clocks(void)
{
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder.header.clock = PM_CLOCK_TSC;
	builder.header.ticks = 1000000000;
	builder.header.monotonic_ns = 5000000000;
	builder_finish(&builder);
	/* The footer's reading, at the very end of the file: 3 GHz for a second. */
	memcpy(builder.file.data + builder.file.size - 24, &(uint64_t){4000000000}, 8);
	memcpy(builder.file.data + builder.file.size - 16, &(uint64_t){6000000000}, 8);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.pair_count == 2, "%zu readings", trace.pair_count);
	CHECK(trace_ns(&trace, 1000000000) == 5000000000, "at the first reading");
	CHECK(trace_ns(&trace, 4000000000) == 6000000000, "at the last reading");
	CHECK(trace_ns(&trace, 2500000000) == 5500000000, "%lld between",
		(long long)trace_ns(&trace, 2500000000));
	CHECK(trace_ns(&trace, 2500000003) == 5500000001, "%lld, exact to the ns",
		(long long)trace_ns(&trace, 2500000003));
	CHECK(trace_ns(&trace, 7000000000) == 7000000000, "%lld behind",
		(long long)trace_ns(&trace, 7000000000));
	CHECK(trace_ns(&trace, 700000000) == 4900000000, "%lld before",
		(long long)trace_ns(&trace, 700000000));
	CHECK(trace_ns(&trace, 0) >= 0 && trace_ns(&trace, UINT64_MAX) > 0, "far away");
	trace_close(&trace);
	builder_free(&builder);
}

/* A record whose operation no entry describes is passed over. */
static void refused_record(void)
{
	struct builder builder;
	struct trace trace;
	struct pm_record record;

	fill(&builder);
	builder_call(&builder, 1, 9000, 9100, 12, 0, 0, 0, 0);
	builder_call(&builder, 1, 9200, 9300, 1, 9, 0, 0, 0);
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.chunks[0].record_count == 5, "%zu records", (size_t)trace.chunks[0].record_count);
	CHECK(!trace_record(&trace, &trace.chunks[0], 3, &record), "an operation that is not there");
	CHECK(!trace_record(&trace, &trace.chunks[0], 4, &record), "a queue that is not there");
	trace_close(&trace);
	builder_free(&builder);
}

int main(void)
{
	round_trip();
	without_end();
	from_the_future();
	sentences();
	clocks();
	refused_record();
	return check_end();
}
