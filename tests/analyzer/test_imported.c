/* Checks the reading of Chrome-trace JSON: each trap that real traces have, in a file of a few lines. */
#include "import/imported_kind.h"
#include "imported_make.h"

#define KERNEL MAKE_KERNEL
#define LAUNCH MAKE_LAUNCH

static void check_whole(const struct imported *imported, const char *what)
{
	const struct imported_events *events = &imported->events;

	CHECK(imported->rank == 3 && imported->world == 8, "%s: rank %d of %d", what, imported->rank,
		imported->world);
	CHECK(!imported->trouble, "%s: %s", what, imported->trouble);
	CHECK(events->count == 2 && imported->calls.count == 2 && imported->spans.count == 1,
		"%s: %zu %zu %zu", what, events->count, imported->calls.count, imported->spans.count);
	if (events->count != 2 || imported->calls.count != 2 || imported->spans.count != 1)
		return;
	CHECK(events->begin_ns[0] == 1000000100000 && events->end_ns[0] == 1000000110000, "%s: first", what);
	CHECK(events->begin_ns[1] == 1000000105500 && events->end_ns[1] == 1000000115750, "%s: second", what);
	CHECK(events->kind[0] == IMPORTED_COMPUTE && events->kind[1] == IMPORTED_COMMUNICATION, "%s: kinds",
		what);
	CHECK(imported->queues[events->queue[0]].stream == 7 &&
			imported->queues[events->queue[1]].stream == 0,
		"%s: streams", what);
	CHECK(events->call[0] != IMPORTED_NONE && imported->calls.begin_ns[events->call[0]] == 1000000090000,
		"%s: call of the first", what);
	CHECK(events->call[1] != IMPORTED_NONE && imported->calls.begin_ns[events->call[1]] == 1000000095000,
		"%s: call of the second", what);
	CHECK(imported->spans.step[0] == 5, "%s: step %d", what, imported->spans.step[0]);
}

static void check_forms(void)
{
	struct imported imported;
	char text[4096], *place;
	size_t bytes;

	CHECK(make_read(&imported, make_whole, IMPORTED_WANT_STEPS) == 0, "%s", imported.trouble);
	check_whole(&imported, "object");
	imported_free(&imported);
	for (int members = 1; members <= 3; members++) {
		bytes = make_packed(make_path("whole.json.gz"), make_whole, strlen(make_whole), members);
		CHECK(imported_read(&imported, make_path("whole.json.gz"), IMPORTED_WANT_STEPS) == 0, "gzip");
		check_whole(&imported, "gzip");
		imported_free(&imported);
	}
	/* A packed file that is cut, or has a flipped bit, gives what came before and says so. */
	CHECK(truncate(make_path("whole.json.gz"), (off_t)bytes / 2) == 0, "truncate");
	CHECK(imported_read(&imported, make_path("whole.json.gz"), 0) == 0 && imported.cut, "cut gzip");
	CHECK(imported.trouble && strstr(imported.trouble, "truncated gzip data"), "%s", imported.trouble);
	imported_free(&imported);
	unlink(make_path("whole.json.gz"));
	/* An array as the root: no rank, no base. */
	place = strchr(strstr(make_whole, "traceEvents"), '[');
	snprintf(text, sizeof(text), "%.*s", (int)(strstr(place, "],\n  \"INFO") - place + 1), place);
	CHECK(make_read(&imported, text, IMPORTED_WANT_STEPS) == 0, "%s", imported.trouble);
	CHECK(imported.events.count == 2 && imported.rank == -1 && imported.events.begin_ns[0] == 100000,
		"array");
	CHECK(!imported.trouble && imported.format == IMPORTED_KINETO, "array: %s", imported.trouble);
	imported_free(&imported);
	/* With a byte-order mark, and without line breaks. */
	snprintf(text, sizeof(text), "\xef\xbb\xbf%s", make_whole);
	for (char *c = text; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	make_read(&imported, text, IMPORTED_WANT_STEPS);
	check_whole(&imported, "one line");
	imported_free(&imported);
}

/* Old categories and ids in quotes say the same as new ones. */
static void check_spellings(void)
{
	static const char *const categories[][3] = {{"kernel", "gpu_memcpy", "cuda_runtime"},
		{"Kernel", "Memcpy", "Runtime"}, {"kernel", "gpu_memset", "hip_runtime"},
		{"Kernel", "Memset", "cuda_driver"}, {"concurrent_kernel", "memcpy", "privateuse1_runtime"}};

	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		struct imported imported;
		char text[2048];

		snprintf(text, sizeof(text),
			"[{\"ts\": 5, \"dur\": 2, \"args\": {\"stream\": 0, \"correlation\": 8}, \"pid\": 0, "
			"\"name\": \"k\", \"cat\": \"%s\", \"ph\": \"X\"},"
			"{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"Memcpy HtoD\", \"tid\": \"stream 7\", "
			"\"ts\": 9, \"dur\": 1, \"args\": {\"correlation\": \"9\"}},"
			"{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"hipLaunchKernel\", \"pid\": 1, \"tid\": \"17\", "
			"\"ts\": 1, \"dur\": 1, \"args\": {\"External id\": 4, \"stream\": 3, \"correlation\": 8}}]",
			categories[i][0], categories[i][1], categories[i][2]);
		CHECK(make_read(&imported, text, 0) == 0, "%s", imported.trouble);
		CHECK(imported.events.count == 2 && imported.calls.count == 1, "spelling %zu: %zu, %zu", i,
			imported.events.count, imported.calls.count);
		if (imported.events.count == 2) {
			CHECK(imported.queues[imported.events.queue[0]].stream == 0, "stream 0");
			CHECK(imported.queues[imported.events.queue[1]].stream == 7,
				"stream by the thread's name");
			CHECK(imported.events.call[0] == 0 && imported.events.call[1] == IMPORTED_NONE,
				"calls");
			CHECK(imported.unlaunched == 1, "%lu", (unsigned long)imported.unlaunched);
		}
		imported_free(&imported);
	}
}

static void check_kinds(void)
{
	static const struct {
		const char *name;
		enum imported_kind kind;
	} cases[] = {
		{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", IMPORTED_COMMUNICATION},
		{"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", IMPORTED_COMMUNICATION},
		{"void ncclKernel_Reduce<float>(x)", IMPORTED_COMMUNICATION},
		{"hcclAllReduce", IMPORTED_COMMUNICATION},
		{"Memcpy DtoD (Device -> Device)", IMPORTED_MEMORY},
		{"Memset (Device)", IMPORTED_MEMORY},
		{"void gemm(int)", IMPORTED_COMPUTE},
		{"void SyncBatchNorm_forward(int)", IMPORTED_OTHER},
		{"Stream Wait Event", IMPORTED_OTHER},
		{"copy_Memcpy_kernel", IMPORTED_OTHER},
		{"volta_sgemm_128x32_nt", IMPORTED_COMPUTE},
	};
	struct imported imported;
	regex_t pattern;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(imported_kind_of(cases[i].name) == cases[i].kind, "%s: %s", cases[i].name,
			imported_kind_name(imported_kind_of(cases[i].name)));
	/* Other libraries communicate too. */
	make_read(&imported,
		"[" KERNEL("void dispatch<8>(int)", "1", "1", "27", "1") "," KERNEL(
			"gemm", "2", "1", "7", "2") "]",
		0);
	CHECK(imported.events.count == 2 && imported.events.kind[0] == IMPORTED_COMPUTE, "as named");
	CHECK(regcomp(&pattern, "(dispatch|combine)<[0-9]+>", REG_EXTENDED | REG_NOSUB) == 0, "pattern");
	imported_kind_apply(&imported, &pattern);
	CHECK(imported.events.kind[0] == IMPORTED_COMMUNICATION, "by the pattern");
	CHECK(imported.events.kind[1] == IMPORTED_COMPUTE, "not by the pattern");
	regfree(&pattern);
	imported_free(&imported);
}

/* What is wrong is said with its byte; what came before is kept. */
static void check_errors(void)
{
	static const struct {
		const char *text, *expected;
		int status;
		size_t events;
	} cases[] = {
		{"", "byte 0: not a trace: ", -1, 0},
		{"no trace", "byte 0: not a trace: ", -1, 0},
		{"  7", "byte 0: not a trace: ", -1, 0},
		{"[", "byte 1: the file ends, expected an event or ']'", 0, 0},
		{"[" KERNEL("a", "1", "1", "7", "1") ", 5]", "expected an event or ']'", 0, 1},
		{"[" KERNEL("a", "1", "1", "7", "1") ", {\"ph\" \"X\"}]", "expected ':'", 0, 1},
		{"[{\"ph\": \"X\"; \"cat\": 1}]", "byte 11: expected ',' or '}' in an event", 0, 0},
		{"[{\"ph\": }]", "byte 8: expected a value", 0, 0},
		{"[{ph: 1}]", "byte 2: expected a quoted name", 0, 0},
		{"{\"traceEvents\": 5}", "byte 16: expected '['", 0, 0},
		{"{\"traceEvents\" [", "byte 15: expected ':'", 0, 0},
		{"{\"a\": [1]}", "no \"traceEvents\" in the JSON object", -1, 0},
		{"{\"a\": 1, b}", "byte 9: expected a quoted name", 0, 0},
		{"{\"baseTimeNanoseconds\": \"x\"}", "expected a number of nanoseconds", 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct imported imported;

		CHECK(make_read(&imported, cases[i].text, 0) == cases[i].status, "case %zu", i);
		CHECK(imported.trouble && strstr(imported.trouble, cases[i].expected), "case %zu: %s, not %s",
			i, imported.trouble, cases[i].expected);
		CHECK(imported.trouble && strstr(imported.trouble, "trace.json: "), "case %zu names the file",
			i);
		CHECK(imported.events.count == cases[i].events, "case %zu: %zu events", i,
			imported.events.count);
		imported_free(&imported);
	}
	{
		struct imported imported;

		CHECK(imported_read(&imported, make_path("none.json"), 0) == -1, "no file");
		CHECK(imported.trouble && strstr(imported.trouble, "No such file"), "%s", imported.trouble);
		imported_free(&imported);
	}
}

/* Times that end before they begin, and events without what they need, are counted. */
static void check_odd_events(void)
{
	struct imported imported;

	make_read(&imported,
		"[" KERNEL("back", "10", "-3", "7", "1") "," KERNEL("x", "\\u0031", "1", "7",
			"2") ","
			     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no time\", \"args\": {\"stream\": 1}},"
			     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no stream\", \"ts\": 1, \"dur\": 1},"
			     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\\\"\\u00e9\", \"ts\": \"20\", \"args\": "
			     "{\"stream\": 1}}]",
		0);
	CHECK(imported.events.count == 2 && imported.backward == 1 && imported.refused == 3, "%zu %lu %lu",
		imported.events.count, (unsigned long)imported.backward, (unsigned long)imported.refused);
	if (imported.events.count == 2) {
		CHECK(imported.events.begin_ns[0] == 10000 && imported.events.end_ns[0] == 10000,
			"takes no time");
		CHECK(strcmp(imported.strings.items[imported.events.name[1]], "a\"\xc3\xa9") == 0, "%s",
			imported.strings.items[imported.events.name[1]]);
		CHECK(imported.events.end_ns[1] == 20000, "no duration is none");
	}
	imported_free(&imported);
	/* Nothing in the file has a name. */
	CHECK(make_read(&imported, "[{\"ph\": \"X\", \"ts\": 1}]", ~0u) == -1 &&
			strstr(imported.trouble, "of no profiler that is known"),
		"%s", imported.trouble);
	imported_free(&imported);
}

/* Labels alone: complete, begun and ended, and by id; workers by the names of processes and threads. */
static void check_labels(void)
{
	static const char text[] =
		"[{\"ph\": \"X\", \"name\": \"forward-compute\", \"cat\": \"f\", \"pid\": 1, \"tid\": 5, \"ts\": 1, "
		"\"dur\": 2, \"args\": {\"step\": 23}},"
		"{\"ph\": \"B\", \"name\": \"outer\", \"pid\": 1, \"tid\": 5, \"ts\": 10},"
		"{\"ph\": \"B\", \"name\": \"grads-reduce-scatter\", \"pid\": 1, \"tid\": 5, \"ts\": 11},"
		"{\"ph\": \"E\", \"pid\": 1, \"tid\": 5, \"ts\": 13},"
		"{\"ph\": \"E\", \"pid\": 1, \"tid\": 5, \"ts\": 14},"
		"{\"ph\": \"E\", \"pid\": 1, \"tid\": 5, \"ts\": 15},"
		"{\"ph\": \"b\", \"name\": \"h2d copy\", \"cat\": \"c\", \"id\": \"0x1\", \"pid\": 1, \"tid\": 6, \"ts\": 20},"
		"{\"ph\": \"e\", \"name\": \"h2d copy\", \"cat\": \"c\", \"id\": \"0x1\", \"pid\": 1, \"tid\": 7, \"ts\": 29},"
		"{\"ph\": \"X\", \"name\": \"gc\", \"pid\": 1, \"tid\": 5, \"ts\": 40, \"dur\": 1},"
		"{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"DP rank [1]\"}},"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 5, \"args\": {\"name\": \"PP rank 3, TP "
		"rank 0, compute\"}},"
		"{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 6, \"args\": {\"name\": \"PP rank 3, TP "
		"rank 0, copies\"}}]";
	static const struct {
		int64_t begin_ns, end_ns;
		enum imported_kind kind;
		const char *name;
	} expected[] = {{1000, 3000, IMPORTED_COMPUTE, "forward-compute"},
		{10000, 14000, IMPORTED_COMPUTE, "outer"},
		{11000, 13000, IMPORTED_COMMUNICATION, "grads-reduce-scatter"},
		{20000, 29000, IMPORTED_MEMORY, "h2d copy"}, {40000, 41000, IMPORTED_OTHER, "gc"}};
	struct imported imported;

	make_read(&imported, text, IMPORTED_WANT_LABELS);
	CHECK(imported.format == IMPORTED_CHROME && imported.events.count == 5, "%zu", imported.events.count);
	CHECK(imported.refused == 1, "an end without a begin: %lu", (unsigned long)imported.refused);
	CHECK(imported.worker_count == 1 && strcmp(imported.workers[0].label, "DP 1 PP 3 TP 0") == 0,
		"worker %s", imported.worker_count ? imported.workers[0].label : "none");
	for (size_t i = 0; i < 5 && imported.events.count == 5; i++) {
		CHECK(imported.events.begin_ns[i] == expected[i].begin_ns &&
				imported.events.end_ns[i] == expected[i].end_ns,
			"%s: %lld to %lld", expected[i].name, (long long)imported.events.begin_ns[i],
			(long long)imported.events.end_ns[i]);
		CHECK(imported.events.kind[i] == expected[i].kind, "%s", expected[i].name);
		CHECK(strcmp(imported.strings.items[imported.events.name[i]], expected[i].name) == 0, "%s",
			expected[i].name);
	}
	CHECK(imported.spans.count == 5 && imported.spans.step[0] == 23, "step");
	imported_free(&imported);
}

/* What is asked for is kept, and nothing else. */
static void check_wanted(void)
{
	static const char text[] = "[" KERNEL("k", "5", "1", "7", "1") "," LAUNCH("2", "7") "," LAUNCH("1",
		"1") ","
		     "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"ts\": 0, \"dur\": 1, \"tid\": 1, \"args\": {\"Sequence number\": 1080}},"
		     "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"ProfilerStep#1\", \"ts\": 1, \"dur\": 1, \"tid\": 1},"
		     "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"## f ##\", \"ts\": 1, \"dur\": 1, \"tid\": 1},"
		     "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 1, \"dur\": 1},"
		     "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"nn.Module: Conv2d_0\", \"ts\": 1, \"dur\": 1},"
		     "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"main.py(3): f\", \"ts\": 1, \"dur\": 1}]";
	static const struct {
		unsigned wanted;
		size_t spans, calls;
	} cases[] = {{0, 1, 1}, {IMPORTED_WANT_STEPS, 1, 1}, {IMPORTED_WANT_LABELS, 3, 1},
		{IMPORTED_WANT_OPERATORS, 2, 1}, {IMPORTED_WANT_PYTHON, 3, 1}, {IMPORTED_WANT_CALLS, 1, 2},
		{31, 6, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct imported imported;
		size_t modules = 0;

		make_read(&imported, text, cases[i].wanted);
		CHECK(imported.spans.count == cases[i].spans && imported.calls.count == cases[i].calls,
			"wanted %u: %zu spans, %zu calls", cases[i].wanted, imported.spans.count,
			imported.calls.count);
		for (size_t j = 0; j < imported.spans.count; j++)
			modules += imported.spans.kind[j] == IMPORTED_MODULE;
		CHECK(!(cases[i].wanted & IMPORTED_WANT_OPERATORS) || imported.spans.sequence[0] == 1080,
			"sequence");
		CHECK(modules == (cases[i].wanted & IMPORTED_WANT_PYTHON ? 1 : 0), "modules");
		CHECK(imported.events.call[0] < imported.calls.count &&
				imported.calls.correlation[imported.events.call[0]] == 1,
			"wanted %u: the call keeps its event", cases[i].wanted);
		imported_free(&imported);
	}
}

/* Calls of one correlation: the first to begin counts, wherever it stands. */
static void check_equal_calls(void)
{
	struct imported imported;

	make_read(&imported,
		"[" KERNEL("k", "50", "1", "7", "3") "," LAUNCH("20", "3") "," LAUNCH("10", "3") "," LAUNCH(
			"30", "3") "]",
		0);
	CHECK(imported.calls.count == 1 && imported.calls.begin_ns[imported.events.call[0]] == 10000,
		"%zu calls", imported.calls.count);
	imported_free(&imported);
}

static void check_ranks(void)
{
	static const struct {
		const char *path;
		int32_t rank;
		bool sure;
	} names[] = {
		{"run/worker3_step_12.1694128201557.pt.trace.json.gz", 3, true},
		{"run7/rank-12.json", 12, true},
		{"trace_rank_5.json", 5, true},
		{"rank[2].json.gz", 2, true},
		{"trace_4.json", 4, false},
		{"17.json", 17, false},
		{"host_25738.1623143089861.pt.trace.json", -1, false},
		{"num_workers_0.json", 0, false},
		{"resnet50.json", -1, false},
		{"trace.json", -1, false},
		{"rank2/trace.json", -1, false},
	};
	int32_t ranks[3];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		bool sure;
		int32_t rank = imported_name_rank(names[i].path, &sure);

		CHECK(rank == names[i].rank && sure == names[i].sure, "%s: %d", names[i].path, rank);
	}
	/* The data's word; a name where it says nothing; names where the data contradicts itself; the order.
	 */
	CHECK(imported_number((int32_t[]){2, 0, 1}, (const char *[]){"rank0", "rank1", "rank2"}, 3, ranks) &&
			ranks[0] == 2 && ranks[2] == 1,
		"said");
	CHECK(imported_number((int32_t[]){2, -1, 1}, (const char *[]){"a", "rank5", "b"}, 3, ranks) &&
			ranks[1] == 5,
		"one by its name");
	CHECK(!imported_number((int32_t[]){2, -1, 1}, (const char *[]){"a", "b", "c"}, 3, ranks) &&
			ranks[1] == 1 && ranks[0] == 0,
		"one says nothing, nor does its name");
	CHECK(!imported_number((int32_t[]){0, 0, 0}, (const char *[]){"rank4", "rank5", "rank6"}, 3, ranks) &&
			ranks[2] == 6,
		"all say 0");
	CHECK(!imported_number((int32_t[]){0, 0, 1}, (const char *[]){"a", "b", "c"}, 3, ranks) &&
			ranks[2] == 2,
		"in order");
	CHECK(imported_number((int32_t[]){-1, -1, -1}, (const char *[]){"a", "b", "rank1"}, 3, ranks) &&
			ranks[0] == 0 && ranks[2] == 2,
		"nobody says");
}

int main(void)
{
	make_begin();
	check_forms();
	check_spellings();
	check_kinds();
	check_errors();
	check_odd_events();
	check_labels();
	check_wanted();
	check_equal_calls();
	check_ranks();
	make_end();
	return check_end();
}
