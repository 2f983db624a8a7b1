/* Lists of device addresses before launches: unpacked as the format says, and no further than they are true.
 */
#include "check.h"
#include "timeline/timeline.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t addresses[] = {0x7f0000001000, 0x7f0000002000, 0x7f0000003000};

struct expected {
	const char *what;
	uint8_t packed[40], packed_count;
	unsigned count; /* that come of it */
	unsigned words[4], numbers[4];
	bool whole;
};

static const struct expected cases[] = {
	{"nothing", {0}, 0, 0, {0}, {0}, true},
	{"one", {1 << 3}, 1, 1, {0}, {1}, true},
	{"a run", {1 << 3, 2 << 2 | 1}, 2, 3, {0, 1, 2}, {1, 2, 3}, true},
	{"back, behind a gap", {3 << 3, 5 << 2 | 2, 3 << 2}, 3, 2, {0, 6}, {3, 1}, true},
	{"cut", {1 << 3, 3}, 2, 1, {0}, {1}, false},
	{"beyond the addresses", {3 << 3, 1 << 3}, 2, 1, {0}, {3}, false},
	{"below the addresses", {0}, 1, 0, {0}, {0}, false},
	{"beyond the words", {0x82, 0x80, 0x80, 1}, 4, 0, {0}, {0}, false},
	{"a run beyond the addresses", {2 << 3, 0x81, 0x80, 0x80, 0x80, 1}, 6, 1, {0}, {2}, false},
	{"a number without end", {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, 12,
		0, {0}, {0}, false},
	{"in two slots", {1 << 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 << 2 | 2, 1 << 3}, 18, 17,
		{0, 1, 2}, {1, 1, 1}, true},
	{"a list", {1 << 2 | 3}, 1, 2, {0, 6}, {3, 1}, true},
	{"another, twice as long as a slot", {2 << 2 | 3}, 1, 29, {0, 1, 2}, {1, 1, 1}, true},
	{"a list that names one", {3 << 2 | 3}, 1, 1, {0}, {1}, false},
	{"a list that is not there", {9 << 2 | 3}, 1, 0, {0}, {0}, false},
	{"a list behind an address", {1 << 3, 1 << 2 | 3}, 2, 1, {0}, {1}, false},
	{"an empty list", {4 << 2 | 3}, 1, 0, {0}, {0}, true},
	{"a list that breaks off", {5 << 2 | 3}, 1, 1, {0}, {1}, false},
};

/* Lists that are named: 1 to 5. */
static const struct {
	uint8_t packed[32];
	uint32_t count;
} lists[] = {{{3 << 3, 5 << 2 | 2, 3 << 2}, 3}, {{1 << 3}, 29}, {{1 << 3, 1 << 2 | 3}, 2}, {{0}, 0},
	{{1 << 3, 0x80}, 2}};
#define LISTS (sizeof(lists) / sizeof(*lists))
#define CASES (sizeof(cases) / sizeof(*cases))

static void build(struct builder *builder)
{
	uint32_t operation, queue;

	builder_init(builder);
	queue = builder_queue(builder, 0, 0x10);
	operation = builder_operation(builder,
		builder_function(builder, "cudart LAUNCH cudaLaunchKernel string:kernel"), 0,
		(const uint64_t[]){builder_string(builder, "kernel")});
	builder_address_module(builder, 3, "net");      /* before its address */
	builder_address_module(builder, 3, "net.norm"); /* the last counts */
	builder_addresses(builder, addresses, 1);
	builder_addresses(builder, addresses + 1, 2);
	builder_address_module(builder, 1, "net.words");
	builder_address_module(builder, 4, "of no address");
	builder_address_module(builder, 0, "of none either");
	for (size_t i = 0; i < LISTS; i++)
		builder_touches(builder, lists[i].packed, lists[i].count);
	for (size_t i = 0; i < CASES; i++) {
		struct builder_record record = {.begin = 1000 * (i + 1),
			.end = 1000 * (i + 1) + 500,
			.op = operation,
			.queue = (uint16_t)queue,
			.kind = PM_RECORD_CALL,
			.flags = PM_FLAG_TOUCHES,
			.result = (int32_t)(i % 2), /* with and without another slot between */
			.packed_count = cases[i].packed_count};

		memcpy(record.packed, cases[i].packed, sizeof(record.packed));
		builder_record(builder, 1, &record);
		/* one that was not looked at has none, whatever stands before it */
		record.begin += 600;
		record.end += 300;
		record.flags = 0;
		builder_record(builder, 1, &record);
	}
	builder_finish(builder);
}

static void check_one(
	const struct trace *trace, const struct trace_record *record, const struct expected *expected)
{
	static struct trace_touch touches[PM_TOUCH_WORDS];
	bool whole;
	size_t count = trace_touches(trace, record, touches, &whole);

	CHECK(count == expected->count, "%s: %zu addresses, expected %u", expected->what, count,
		expected->count);
	CHECK(whole == expected->whole, "%s: whole %d", expected->what, whole);
	for (unsigned i = 0; i < count && i < 3; i++) {
		CHECK(touches[i].word == expected->words[i], "%s: word %u", expected->what, touches[i].word);
		CHECK(touches[i].address == addresses[expected->numbers[i] - 1], "%s: number %u",
			expected->what, i);
	}
}

static bool is_at(const struct timeline_process *process, uint64_t address, const char *module)
{
	const char *found = timeline_module_at(process, address);

	return module ? found && strcmp(found, module) == 0 : !found;
}

static void check_modules(const struct timeline_process *process)
{
	CHECK(process->place_count == 2, "%zu places", process->place_count);
	CHECK(is_at(process, addresses[0], "net.words") && is_at(process, addresses[1], NULL) &&
			is_at(process, addresses[2], "net.norm") && is_at(process, 0, NULL),
		"modules of addresses");
}

int main(void)
{
	struct builder builder;
	struct trace trace;
	struct trace_cursor cursor;
	struct trace_record record;
	struct timeline timeline;
	size_t count;

	build(&builder);
	CHECK(trace_parse(&trace, "touches", builder.file.data, builder.file.size) == 0, "%s", trace.error);
	CHECK(!trace.trouble && trace.address_count == 4 && trace.record_count == 2 * CASES, "%s",
		trace.trouble ? trace.trouble : "counts");
	trace_walk(&cursor, &trace, &trace.chunks[0]);
	for (size_t i = 0; i < CASES; i++) {
		CHECK(trace_next(&cursor, &record) == TRACE_RECORD, "record %zu", i);
		check_one(&trace, &record, &cases[i]);
		CHECK(trace_next(&cursor, &record) == TRACE_RECORD && !record.touch_slots,
			"%s: touches without the flag", cases[i].what);
	}
	CHECK(trace_next(&cursor, &record) == TRACE_END, "more records");
	timeline_init(&timeline);
	timeline_add(&timeline, &trace);
	for (size_t i = 0; i < CASES; i++) {
		const struct timeline_touch *touches = timeline_touches(&timeline, (uint32_t)(2 * i), &count);

		CHECK(count == cases[i].count, "%s: %zu in the timeline", cases[i].what, count);
		CHECK(count == 0 || touches[0].address == addresses[cases[i].numbers[0] - 1], "%s: the first",
			cases[i].what);
	}
	check_modules(&timeline.processes[0]);
	timeline_free(&timeline);
	trace_close(&trace);
	builder_free(&builder);
	return check_end();
}
