/* Checks that the reader finds in a trace what the writer's side of the format put there, and says where a
 * file breaks off. */
#include "check.h"
#include "trace/dump.h"
#include "trace/losses.h"
#include "trace/trace.h"
#include "trace_builder.h"

#include <stdio.h>
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

/* All records of the trace, chunk by chunk; answers how many, refused ones counted in *refused. */
static size_t read_records(const struct trace *trace, struct trace_record *records, size_t room,
	uint32_t *threads, size_t *refused)
{
	size_t count = 0;

	*refused = 0;
	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record record;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next(&cursor, &record)) != TRACE_END) {
			if (step == TRACE_REFUSED) {
				++*refused;
				continue;
			}
			if (count < room) {
				records[count] = record;
				threads[count] = trace->chunks[c].thread;
			}
			count++;
		}
	}
	return count;
}

static bool same_record(const struct trace_record *a, const struct trace_record *b)
{
	return a->begin == b->begin && a->end == b->end && a->op == b->op &&
	       a->correlation == b->correlation && a->result == b->result && a->sequence == b->sequence &&
	       a->queue == b->queue && a->kind == b->kind && a->flags == b->flags && a->group == b->group;
}

static void check_records(const struct trace *trace)
{
	static const struct trace_record expected[] = {
		{.begin = 5000, .end = 6000, .op = 1, .correlation = 1, .queue = 1, .kind = PM_RECORD_CALL},
		{.begin = 5500, .end = 7000, .op = 1, .correlation = 1, .queue = 1, .kind = PM_RECORD_DEVICE},
		{.begin = 8000, .end = 8100, .op = 1, .result = -1, .queue = 1, .kind = PM_RECORD_CALL},
		{.begin = 5500, .end = 5600, .op = 1, .result = 7, .kind = PM_RECORD_CALL},
	};
	struct trace_record records[4];
	uint32_t threads[4];
	size_t refused, count = read_records(trace, records, 4, threads, &refused);

	CHECK(count == 4 && refused == 0 && trace->record_count == 4 && trace->call_count == 3 &&
			trace->device_count == 1,
		"%zu records, %zu refused, counted %zu", count, refused, (size_t)trace->record_count);
	for (size_t i = 0; i < 4 && i < count; i++) {
		CHECK(same_record(&records[i], &expected[i]), "record %zu differs", i);
		CHECK(threads[i] == (i < 3 ? 1 : 2), "record %zu is of thread %u", i, threads[i]);
	}
}

static void parse(struct trace *trace, const void *data, size_t size)
{
	CHECK(trace_parse(trace, "t", data, size) == 0, "%s", trace->error);
}

static void round_trip(uint16_t version)
{
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder.header.version = version;
	builder.header.rank = 2;
	builder.header.lost_records = 5;
	builder.header.worker_reads = 11;
	builder.footer.own_ns = 12;
	builder.records_per_chunk = 2;
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.trouble == NULL, "version %u: %s", version, trace.trouble);
	CHECK(trace.header.worker_reads == (version == 1 ? 0 : 11) &&
			trace.footer.own_ns == (version == 1 ? 0 : 12),
		"version %u: what version 2 added", version);
	CHECK(trace.ended && trace.header.rank == 2 && trace.header.lost_records == 5, "header");
	CHECK(trace.chunk_count == 3, "%zu chunks of records", trace.chunk_count);
	check_tables(&trace);
	check_records(&trace);
	trace_close(&trace);
	builder_free(&builder);
}

/* What was lost is said under its causes, most first, also by a process that was killed. */
static void losses(void)
{
	struct builder builder;
	struct trace trace;
	struct arena arena = {0};
	const char *said;

	fill(&builder);
	builder.killed = true;
	builder.header.losses[PM_LOSS_GROUPS] = 3;
	builder.header.losses[PM_LOSS_IN_FLIGHT] = 70;
	builder.header.losses[PM_LOSS_SIZE_LIMIT] = 1;
	builder.header.losses[PM_LOSS_ROOM - 1] = 2; /* of a later version */
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(losses_of(trace.header.losses, PM_LOSS_OF_TIMES) == 73 &&
			losses_of(trace.header.losses, PM_LOSS_OF_RECORDS) == 1 &&
			losses_of(trace.header.losses, PM_LOSS_OF_DETAILS) == 0 &&
			losses_unknown(trace.header.losses) == 2,
		"sums of classes");
	said = losses_causes(trace.header.losses, PM_LOSS_OF_TIMES, &arena);
	CHECK(strcmp(said, " (70: too much work in flight; 3: in groups with more than 64 streams)") == 0,
		"'%s'", said);
	said = losses_causes(trace.header.losses, PM_LOSS_OF_DETAILS, &arena);
	CHECK(*said == 0, "'%s'", said);
	trace_close(&trace);
	arena_free(&arena);
	builder_free(&builder);
}

static void without_end(uint16_t version)
{
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder.header.version = version;
	builder.killed = true;
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(!trace.ended && trace.trouble == NULL, "a killed process is no trouble: %s", trace.trouble);
	check_tables(&trace);
	check_records(&trace);
	trace_close(&trace);
	builder_free(&builder);
}

/* All that a slot before a record can say, and times far from the base, forth and back. */
static void slots(void)
{
	static const struct builder_record made[] = {
		{.begin = 1000, .end = 1000, .op = 1, .kind = PM_RECORD_CALL},
		{.begin = 2000,
			.end = 2000 + (7ull << 32) + 5,
			.op = 1,
			.kind = PM_RECORD_CALL,
			.result = -9},
		{.begin = 1ull << 40, .end = (1ull << 40) + 3, .op = 1, .kind = PM_RECORD_CALL},
		{.begin = (1ull << 40) + 9,
			.end = (1ull << 40) + 9,
			.op = 1,
			.kind = PM_RECORD_DEVICE,
			.correlation = UINT32_MAX,
			.sequence = 3,
			.flags = PM_FLAG_ACTIVITY},
		{.begin = (1ull << 40) + 20,
			.end = (1ull << 40) + 22,
			.op = 1,
			.kind = PM_RECORD_CALL,
			.sequence = UINT32_MAX,
			.group = 255,
			.flags = PM_FLAG_GROUP,
			.queue = 1},
		{.begin = 500, .end = 600, .op = 1, .kind = PM_RECORD_CALL},
		{.begin = 400, .end = 1ull << 47, .op = 1, .kind = PM_RECORD_DEVICE, .correlation = 1},
	};
	enum { COUNT = sizeof(made) / sizeof(*made) };
	struct trace_record records[COUNT];
	uint32_t threads[COUNT];
	struct builder builder;
	struct trace trace;
	size_t refused, count;

	builder_init(&builder);
	builder_queue(&builder, 0, 0);
	builder_operation(&builder, builder_function(&builder, "x COMPUTE f"), 0, NULL);
	for (size_t i = 0; i < COUNT; i++)
		builder_record(&builder, 1, &made[i]);
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	count = read_records(&trace, records, COUNT, threads, &refused);
	CHECK(count == COUNT && refused == 0 && trace.record_count == COUNT, "%zu records, %zu refused",
		count, refused);
	for (size_t i = 0; i < COUNT; i++) {
		const struct builder_record *from = &made[i];

		CHECK(same_record(&records[i],
			      &(struct trace_record){from->begin, from->end, from->op, from->correlation,
				      from->result, from->sequence, from->queue, from->kind, from->flags,
				      from->group, 0, NULL}),
			"record %zu: %llx to %llx", i, (unsigned long long)records[i].begin,
			(unsigned long long)records[i].end);
	}
	trace_close(&trace);
	builder_free(&builder);
}

/* Killed between a slot and its record: what is there counts, the rest is not missed. */
static void slots_alone(void)
{
	static const uint8_t kinds[] = {PM_RECORD_MORE, PM_RECORD_BASE};

	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct pm_more slot = {.kind = kinds[i]};
		struct trace_record records[4];
		uint32_t threads[4];
		struct builder builder;
		struct trace trace;
		size_t refused, count;

		fill(&builder);
		builder.killed = true;
		builder_finish(&builder);
		/* After thread 2's only record: zeros of its chunk, then those of the file. */
		memcpy(builder.file.data + builder.file.size - 64 - 3 * 16, &slot, sizeof(slot));
		parse(&trace, builder.file.data, builder.file.size);
		count = read_records(&trace, records, 4, threads, &refused);
		CHECK(count == 4 && refused == 0 && trace.record_count == 4 && !trace.trouble,
			"kind %u: %zu records, %zu refused, %s", kinds[i], count, refused,
			trace.trouble ? trace.trouble : "no trouble");
		trace_close(&trace);
		builder_free(&builder);
	}
}

/* The entries of version 2. */
static void entries(void)
{
	const struct pm_graph_node nodes[] = {{1, 2}, {7, 0}};
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder_graph(&builder, nodes, 2);
	builder_window(&builder, true, 3, 4000);
	builder_window(&builder, false, 5, 9000);
	builder_module(&builder, 1, "net.conv1");
	builder_module(&builder, 1, "net.other");
	builder_module(&builder, 99, "nobody's");
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.trouble == NULL, "%s", trace.trouble);
	CHECK(trace.graph_count == 2 && trace.graphs[1].known && trace.graphs[1].node_count == 2 &&
			memcmp(trace.graphs[1].nodes, nodes, sizeof(nodes)) == 0,
		"graph");
	CHECK(trace.window_count == 2 && trace.windows[0].open && trace.windows[0].iteration == 3 &&
			trace.windows[0].ticks == 4000 && !trace.windows[1].open &&
			trace.windows[1].iteration == 5 && trace.windows[1].ticks == 9000,
		"windows");
	CHECK(trace.operations[1].module &&
			strcmp(trace_string(&trace, trace.operations[1].module), "net.conv1") == 0,
		"module");
	CHECK(trace.operations[1].function == 1 && trace.operations[99].function == 0, "operations");
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
	builder.footer.own_ns = 4711;
	builder_finish(&builder);
	data = calloc(4, file->size);
	if (!data)
		abort();
	builder.header.header_bytes += 24;
	builder.header.chunk_header_bytes += 8;
	builder.header.record_bytes = 24;
	memcpy(data, &builder.header, offsetof(struct pm_header, losses));
	size = builder.header.header_bytes;
	/* A chunk of an unknown kind in front. */
	memcpy(&chunk, file->data + offsetof(struct pm_header, losses), sizeof(chunk));
	chunk.kind = 77;
	chunk.used_bytes = 0;
	chunk.chunk_bytes = sizeof(chunk) + 8 + 32;
	memcpy(data + size, &chunk, sizeof(chunk));
	size += chunk.chunk_bytes;
	/* The dictionary, with an unknown entry at its end. */
	memcpy(&chunk, file->data + offsetof(struct pm_header, losses), sizeof(chunk));
	dictionary = chunk.used_bytes;
	chunk.used_bytes += 16;
	chunk.chunk_bytes += 8 + 16;
	memcpy(data + size, &chunk, sizeof(chunk));
	memcpy(data + size + 72, file->data + offsetof(struct pm_header, losses) + 64, dictionary);
	memcpy(data + size + 72 + dictionary, &(struct pm_entry){16, 99, 0}, sizeof(struct pm_entry));
	size += chunk.chunk_bytes;
	/* Both threads' records. */
	for (records = offsetof(struct pm_header, losses) + 64 + dictionary; records < file->size;) {
		size_t count;

		memcpy(&chunk, file->data + records, sizeof(chunk));
		if (chunk.kind != PM_CHUNK_RECORDS)
			break;
		count = (chunk.chunk_bytes - 64) / 16;
		memcpy(data + size, &chunk, sizeof(chunk));
		memcpy(data + size + 4, &(uint32_t){(uint32_t)(72 + count * 24)}, 4);
		for (size_t i = 0; i < count; i++)
			memcpy(data + size + 72 + i * 24, file->data + records + 64 + i * 16, 16);
		records += chunk.chunk_bytes;
		size += 72 + count * 24;
	}
	/* A footer with more after what is known. */
	memcpy(&chunk, file->data + records, sizeof(chunk));
	chunk.used_bytes += 16;
	chunk.chunk_bytes += 8 + 16;
	memcpy(data + size, &chunk, sizeof(chunk));
	memcpy(data + size + 72, file->data + records + 64, sizeof(struct pm_footer));
	size += chunk.chunk_bytes;
	parse(&trace, data, size);
	CHECK(trace.trouble == NULL && trace.ended && trace.footer.own_ns == 4711, "%s", trace.trouble);
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
		{"magic of the first chunk", 240, 0x12345678,
			"t: byte 240: 0x12345678, expected the start of a chunk"},
		{"length of the first chunk", 244, 10,
			"t: byte 240: a chunk of 10 bytes, expected 64 or more"},
		{"long chunk", 244, 0x7ffffff0,
			"t: byte 240: a chunk of 2147483632 bytes, but the file ends after "},
		{"length of the first entry", 304, 4, "t: byte 304: an entry of 4 bytes, expected 8 to "},
		{"long entry", 304, 0xffffff, "t: byte 304: an entry of 16777215 bytes, expected 8 to "},
		{"number of the first function", 312, 0xfffffff,
			"number 268435455 in an entry of type 1, more than the file"},
	};
	struct builder builder;
	struct trace trace;
	uint32_t entry_bytes;

	fill(&builder);
	builder_finish(&builder);
	/* A name without its end, and no zero after it in the entry. */
	memcpy(&entry_bytes, builder.file.data + 304, sizeof(entry_bytes));
	memset(builder.file.data + 304 + 12, 'x', entry_bytes - 12);
	parse(&trace, builder.file.data, builder.file.size);
	CHECK(trace.trouble &&
			strstr(trace.trouble, "t: byte 304: unterminated string in an entry of type 1"),
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
	memcpy(builder.file.data + builder.file.size - sizeof(struct pm_footer) +
			offsetof(struct pm_footer, ticks),
		&(uint64_t){4000000000}, 8);
	memcpy(builder.file.data + builder.file.size - sizeof(struct pm_footer) +
			offsetof(struct pm_footer, monotonic_ns),
		&(uint64_t){6000000000}, 8);
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

/* A record whose operation, queue or kind no entry describes is passed over. */
static void refused_record(void)
{
	struct builder_record odd = {.begin = 9300, .end = 9301, .op = 1, .kind = 77};
	struct trace_record records[8];
	uint32_t threads[8];
	struct builder builder;
	struct trace trace;
	size_t refused, count;

	fill(&builder);
	builder_call(&builder, 1, 9000, 9100, 12, 0, 0, 0, 0);
	builder_call(&builder, 1, 9200, 9300, 1, 9, 0, 0, 0);
	builder_record(&builder, 1, &odd);
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	count = read_records(&trace, records, 8, threads, &refused);
	CHECK(count == 4 && refused == 3 && trace.record_count == 7, "%zu records, %zu refused of %zu", count,
		refused, (size_t)trace.record_count);
	trace_close(&trace);
	builder_free(&builder);
}

static void dumped(const struct trace *trace, enum print_form form, const char *text)
{
	const struct dump_options how = {.form = form};
	char *bytes = NULL;
	size_t byte_count;
	FILE *out = open_memstream(&bytes, &byte_count);

	dump_print(trace, &how, out);
	fclose(out);
	CHECK(strstr(bytes, text) != NULL, "no '%s' in %s", text, bytes);
	free(bytes);
}

/* Footers whose number of calls is below 0: that is no number of calls. */
static void impossible_calls(void)
{
	struct builder builder;
	struct trace trace;

	fill(&builder);
	builder.footer.calls = (uint64_t)-5371;
	builder_finish(&builder);
	parse(&trace, builder.file.data, builder.file.size);
	dumped(&trace, PRINT_TEXT, "  clean exit: - calls, 4 records, ");
	dumped(&trace, PRINT_JSON, "\"calls\":\tnull");
	trace_close(&trace);
	builder_free(&builder);
}

int main(void)
{
	for (uint16_t version = 1; version <= 2; version++) {
		round_trip(version);
		without_end(version);
	}
	losses();
	slots();
	slots_alone();
	entries();
	from_the_future();
	sentences();
	clocks();
	refused_record();
	impossible_calls();
	return check_end();
}
