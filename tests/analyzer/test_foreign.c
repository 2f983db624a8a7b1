/* Checks the reading of Chrome-trace JSON: each trap that real traces have, in a file of a few lines. */
#include "import/imported_kind.h"
#include "foreign_make.h"

#define KERNEL MAKE_KERNEL
#define LAUNCH MAKE_LAUNCH

static void check_whole(const struct foreign *foreign, const char *what)
{
	const struct foreign_events *events = &foreign->events;

	CHECK(foreign->rank == 3 && foreign->world == 8, "%s: rank %d of %d", what, foreign->rank,
		foreign->world);
	CHECK(!foreign->trouble, "%s: %s", what, foreign->trouble);
	CHECK(events->count == 2 && foreign->calls.count == 2 && foreign->spans.count == 1, "%s: %zu %zu %zu",
		what, events->count, foreign->calls.count, foreign->spans.count);
	if (events->count != 2 || foreign->calls.count != 2 || foreign->spans.count != 1)
		return;
	CHECK(events->begin_ns[0] == 1000000100000 && events->end_ns[0] == 1000000110000, "%s: first", what);
	CHECK(events->begin_ns[1] == 1000000105500 && events->end_ns[1] == 1000000115750, "%s: second", what);
	CHECK(events->kind[0] == FOREIGN_COMPUTE && events->kind[1] == FOREIGN_COMMUNICATION, "%s: kinds",
		what);
	CHECK(foreign->queues[events->queue[0]].stream == 7 && foreign->queues[events->queue[1]].stream == 0,
		"%s: streams", what);
	CHECK(events->call[0] != FOREIGN_NONE && foreign->calls.begin_ns[events->call[0]] == 1000000090000,
		"%s: call of the first", what);
	CHECK(events->call[1] != FOREIGN_NONE && foreign->calls.begin_ns[events->call[1]] == 1000000095000,
		"%s: call of the second", what);
	CHECK(foreign->spans.step[0] == 5, "%s: step %d", what, foreign->spans.step[0]);
}

static void check_forms(void)
{
	struct foreign foreign;
	char text[4096], *place;
	size_t bytes;

	CHECK(make_read(&foreign, make_whole, FOREIGN_WANT_STEPS) == 0, "%s", foreign.trouble);
	check_whole(&foreign, "object");
	foreign_free(&foreign);
	for (int members = 1; members <= 3; members++) {
		bytes = make_packed(make_path("whole.json.gz"), make_whole, strlen(make_whole), members);
		CHECK(foreign_read(&foreign, make_path("whole.json.gz"), FOREIGN_WANT_STEPS) == 0, "gzip");
		check_whole(&foreign, "gzip");
		foreign_free(&foreign);
	}
	/* A packed file that is cut, or has a flipped bit, gives what came before and says so. */
	CHECK(truncate(make_path("whole.json.gz"), (off_t)bytes / 2) == 0, "truncate");
	CHECK(foreign_read(&foreign, make_path("whole.json.gz"), 0) == 0 && foreign.cut, "cut gzip");
	CHECK(foreign.trouble && strstr(foreign.trouble, "gzip data ends early"), "%s", foreign.trouble);
	foreign_free(&foreign);
	unlink(make_path("whole.json.gz"));
	/* An array as the root: no rank, no base. */
	place = strchr(strstr(make_whole, "traceEvents"), '[');
	snprintf(text, sizeof(text), "%.*s", (int)(strstr(place, "],\n  \"INFO") - place + 1), place);
	CHECK(make_read(&foreign, text, FOREIGN_WANT_STEPS) == 0, "%s", foreign.trouble);
	CHECK(foreign.events.count == 2 && foreign.rank == -1 && foreign.events.begin_ns[0] == 100000,
		"array");
	CHECK(!foreign.trouble && foreign.format == FOREIGN_KINETO, "array: %s", foreign.trouble);
	foreign_free(&foreign);
	/* With a byte-order mark, and without line breaks. */
	snprintf(text, sizeof(text), "\xef\xbb\xbf%s", make_whole);
	for (char *c = text; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	make_read(&foreign, text, FOREIGN_WANT_STEPS);
	check_whole(&foreign, "one line");
	foreign_free(&foreign);
}

/* Old categories and ids in quotes say the same as new ones. */
static void check_spellings(void)
{
	static const char *const categories[][3] = {{"kernel", "gpu_memcpy", "cuda_runtime"},
		{"Kernel", "Memcpy", "Runtime"}, {"kernel", "gpu_memset", "hip_runtime"},
		{"Kernel", "Memset", "cuda_driver"}, {"concurrent_kernel", "memcpy", "privateuse1_runtime"}};

	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		struct foreign foreign;
		char text[2048];

		snprintf(text, sizeof(text),
			"[{\"ts\": 5, \"dur\": 2, \"args\": {\"stream\": 0, \"correlation\": 8}, \"pid\": 0, "
			"\"name\": \"k\", \"cat\": \"%s\", \"ph\": \"X\"},"
			"{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"Memcpy HtoD\", \"tid\": \"stream 7\", "
			"\"ts\": 9, \"dur\": 1, \"args\": {\"correlation\": \"9\"}},"
			"{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"hipLaunchKernel\", \"pid\": 1, \"tid\": \"17\", "
			"\"ts\": 1, \"dur\": 1, \"args\": {\"External id\": 4, \"stream\": 3, \"correlation\": 8}}]",
			categories[i][0], categories[i][1], categories[i][2]);
		CHECK(make_read(&foreign, text, 0) == 0, "%s", foreign.trouble);
		CHECK(foreign.events.count == 2 && foreign.calls.count == 1, "spelling %zu: %zu, %zu", i,
			foreign.events.count, foreign.calls.count);
		if (foreign.events.count == 2) {
			CHECK(foreign.queues[foreign.events.queue[0]].stream == 0, "stream 0");
			CHECK(foreign.queues[foreign.events.queue[1]].stream == 7,
				"stream by the thread's name");
			CHECK(foreign.events.call[0] == 0 && foreign.events.call[1] == FOREIGN_NONE, "calls");
			CHECK(foreign.unlaunched == 1, "%lu", (unsigned long)foreign.unlaunched);
		}
		foreign_free(&foreign);
	}
}

static void check_kinds(void)
{
	static const struct {
		const char *name;
		enum foreign_kind kind;
	} cases[] = {
		{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", FOREIGN_COMMUNICATION},
		{"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", FOREIGN_COMMUNICATION},
		{"void ncclKernel_Reduce<float>(x)", FOREIGN_COMMUNICATION},
		{"hcclAllReduce", FOREIGN_COMMUNICATION},
		{"Memcpy DtoD (Device -> Device)", FOREIGN_MEMORY},
		{"Memset (Device)", FOREIGN_MEMORY},
		{"void gemm(int)", FOREIGN_COMPUTE},
		{"void SyncBatchNorm_forward(int)", FOREIGN_OTHER},
		{"Stream Wait Event", FOREIGN_OTHER},
		{"copy_Memcpy_kernel", FOREIGN_OTHER},
		{"volta_sgemm_128x32_nt", FOREIGN_COMPUTE},
	};
	struct foreign foreign;
	regex_t pattern;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(foreign_kind_of(cases[i].name) == cases[i].kind, "%s: %s", cases[i].name,
			foreign_kind_name(foreign_kind_of(cases[i].name)));
	/* Other libraries communicate too. */
	make_read(&foreign,
		"[" KERNEL("void dispatch<8>(int)", "1", "1", "27", "1") "," KERNEL(
			"gemm", "2", "1", "7", "2") "]",
		0);
	CHECK(foreign.events.count == 2 && foreign.events.kind[0] == FOREIGN_COMPUTE, "as named");
	CHECK(regcomp(&pattern, "(dispatch|combine)<[0-9]+>", REG_EXTENDED | REG_NOSUB) == 0, "pattern");
	foreign_kind_apply(&foreign, &pattern);
	CHECK(foreign.events.kind[0] == FOREIGN_COMMUNICATION, "by the pattern");
	CHECK(foreign.events.kind[1] == FOREIGN_COMPUTE, "not by the pattern");
	regfree(&pattern);
	foreign_free(&foreign);
}

/* What is wrong is said with its byte; what came before is kept. */
static void check_errors(void)
{
	static const struct {
		const char *text, *expected;
		int status;
		size_t events;
	} cases[] = {
		{"", "byte 0: expected '{' or '['", -1, 0},
		{"no trace", "byte 0: expected '{' or '['", -1, 0},
		{"  7", "byte 2: expected '{' or '['", -1, 0},
		{"[", "byte 1: the file ends, expected an event or ']'", 0, 0},
		{"[" KERNEL("a", "1", "1", "7", "1") ", 5]", "expected an event or ']'", 0, 1},
		{"[" KERNEL("a", "1", "1", "7", "1") ", {\"ph\" \"X\"}]", "expected ':'", 0, 1},
		{"[{\"ph\": \"X\"; \"cat\": 1}]", "byte 11: expected ',' or '}' in an event", 0, 0},
		{"[{\"ph\": }]", "byte 8: expected a value", 0, 0},
		{"[{ph: 1}]", "byte 2: expected a name in quotes", 0, 0},
		{"{\"traceEvents\": 5}", "byte 16: expected '['", 0, 0},
		{"{\"traceEvents\" [", "byte 15: expected ':'", 0, 0},
		{"{\"a\": [1]}", "no \"traceEvents\" in the JSON object", -1, 0},
		{"{\"a\": 1, b}", "byte 9: expected a name in quotes", 0, 0},
		{"{\"baseTimeNanoseconds\": \"x\"}", "expected a number of nanoseconds", 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct foreign foreign;

		CHECK(make_read(&foreign, cases[i].text, 0) == cases[i].status, "case %zu", i);
		CHECK(foreign.trouble && strstr(foreign.trouble, cases[i].expected), "case %zu: %s, not %s",
			i, foreign.trouble, cases[i].expected);
		CHECK(foreign.trouble && strstr(foreign.trouble, "trace.json: "), "case %zu names the file",
			i);
		CHECK(foreign.events.count == cases[i].events, "case %zu: %zu events", i,
			foreign.events.count);
		foreign_free(&foreign);
	}
	{
		struct foreign foreign;

		CHECK(foreign_read(&foreign, make_path("none.json"), 0) == -1, "no file");
		CHECK(foreign.trouble && strstr(foreign.trouble, "No such file"), "%s", foreign.trouble);
		foreign_free(&foreign);
	}
}

/* Times that end before they begin, and events without what they need, are counted. */
static void check_odd_events(void)
{
	struct foreign foreign;

	make_read(&foreign,
		"[" KERNEL("back", "10", "-3", "7", "1") "," KERNEL("x", "\\u0031", "1", "7",
			"2") ","
			     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no time\", \"args\": {\"stream\": 1}},"
			     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"no stream\", \"ts\": 1, \"dur\": 1},"
			     "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\\\"\\u00e9\", \"ts\": \"20\", \"args\": "
			     "{\"stream\": 1}}]",
		0);
	CHECK(foreign.events.count == 2 && foreign.backward == 1 && foreign.refused == 3, "%zu %lu %lu",
		foreign.events.count, (unsigned long)foreign.backward, (unsigned long)foreign.refused);
	if (foreign.events.count == 2) {
		CHECK(foreign.events.begin_ns[0] == 10000 && foreign.events.end_ns[0] == 10000,
			"takes no time");
		CHECK(strcmp(foreign.strings.items[foreign.events.name[1]], "a\"\xc3\xa9") == 0, "%s",
			foreign.strings.items[foreign.events.name[1]]);
		CHECK(foreign.events.end_ns[1] == 20000, "no duration is none");
	}
	foreign_free(&foreign);
	/* Nothing in the file has a name. */
	make_read(&foreign, "[{\"ph\": \"X\", \"ts\": 1}]", ~0u);
	CHECK(foreign.events.count == 1 && foreign.events.name[0] == 0, "%zu", foreign.events.count);
	foreign_free(&foreign);
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
		enum foreign_kind kind;
		const char *name;
	} expected[] = {{1000, 3000, FOREIGN_COMPUTE, "forward-compute"},
		{10000, 14000, FOREIGN_COMPUTE, "outer"},
		{11000, 13000, FOREIGN_COMMUNICATION, "grads-reduce-scatter"},
		{20000, 29000, FOREIGN_MEMORY, "h2d copy"}, {40000, 41000, FOREIGN_OTHER, "gc"}};
	struct foreign foreign;

	make_read(&foreign, text, FOREIGN_WANT_LABELS);
	CHECK(foreign.format == FOREIGN_CHROME && foreign.events.count == 5, "%zu", foreign.events.count);
	CHECK(foreign.refused == 1, "an end without a begin: %lu", (unsigned long)foreign.refused);
	CHECK(foreign.worker_count == 1 && strcmp(foreign.workers[0].label, "DP 1 PP 3 TP 0") == 0,
		"worker %s", foreign.worker_count ? foreign.workers[0].label : "none");
	for (size_t i = 0; i < 5 && foreign.events.count == 5; i++) {
		CHECK(foreign.events.begin_ns[i] == expected[i].begin_ns &&
				foreign.events.end_ns[i] == expected[i].end_ns,
			"%s: %lld to %lld", expected[i].name, (long long)foreign.events.begin_ns[i],
			(long long)foreign.events.end_ns[i]);
		CHECK(foreign.events.kind[i] == expected[i].kind, "%s", expected[i].name);
		CHECK(strcmp(foreign.strings.items[foreign.events.name[i]], expected[i].name) == 0, "%s",
			expected[i].name);
	}
	CHECK(foreign.spans.count == 5 && foreign.spans.step[0] == 23, "step");
	foreign_free(&foreign);
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
	} cases[] = {{0, 1, 1}, {FOREIGN_WANT_STEPS, 1, 1}, {FOREIGN_WANT_LABELS, 3, 1},
		{FOREIGN_WANT_OPERATORS, 2, 1}, {FOREIGN_WANT_PYTHON, 3, 1}, {FOREIGN_WANT_CALLS, 1, 2},
		{31, 6, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct foreign foreign;
		size_t modules = 0;

		make_read(&foreign, text, cases[i].wanted);
		CHECK(foreign.spans.count == cases[i].spans && foreign.calls.count == cases[i].calls,
			"wanted %u: %zu spans, %zu calls", cases[i].wanted, foreign.spans.count,
			foreign.calls.count);
		for (size_t j = 0; j < foreign.spans.count; j++)
			modules += foreign.spans.kind[j] == FOREIGN_MODULE;
		CHECK(!(cases[i].wanted & FOREIGN_WANT_OPERATORS) || foreign.spans.sequence[0] == 1080,
			"sequence");
		CHECK(modules == (cases[i].wanted & FOREIGN_WANT_PYTHON ? 1 : 0), "modules");
		CHECK(foreign.events.call[0] < foreign.calls.count &&
				foreign.calls.correlation[foreign.events.call[0]] == 1,
			"wanted %u: the call keeps its event", cases[i].wanted);
		foreign_free(&foreign);
	}
}

/* Calls of one correlation: the first to begin counts, wherever it stands. */
static void check_equal_calls(void)
{
	struct foreign foreign;

	make_read(&foreign,
		"[" KERNEL("k", "50", "1", "7", "3") "," LAUNCH("20", "3") "," LAUNCH("10", "3") "," LAUNCH(
			"30", "3") "]",
		0);
	CHECK(foreign.calls.count == 1 && foreign.calls.begin_ns[foreign.events.call[0]] == 10000,
		"%zu calls", foreign.calls.count);
	foreign_free(&foreign);
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
		int32_t rank = foreign_name_rank(names[i].path, &sure);

		CHECK(rank == names[i].rank && sure == names[i].sure, "%s: %d", names[i].path, rank);
	}
	/* The data's word; a name where it says nothing; names where the data contradicts itself; the order.
	 */
	CHECK(foreign_number((int32_t[]){2, 0, 1}, (const char *[]){"rank0", "rank1", "rank2"}, 3, ranks) &&
			ranks[0] == 2 && ranks[2] == 1,
		"said");
	CHECK(foreign_number((int32_t[]){2, -1, 1}, (const char *[]){"a", "rank5", "b"}, 3, ranks) &&
			ranks[1] == 5,
		"one by its name");
	CHECK(!foreign_number((int32_t[]){2, -1, 1}, (const char *[]){"a", "b", "c"}, 3, ranks) &&
			ranks[1] == 1 && ranks[0] == 0,
		"one says nothing, nor does its name");
	CHECK(!foreign_number((int32_t[]){0, 0, 0}, (const char *[]){"rank4", "rank5", "rank6"}, 3, ranks) &&
			ranks[2] == 6,
		"all say 0");
	CHECK(!foreign_number((int32_t[]){0, 0, 1}, (const char *[]){"a", "b", "c"}, 3, ranks) &&
			ranks[2] == 2,
		"in order");
	CHECK(foreign_number((int32_t[]){-1, -1, -1}, (const char *[]){"a", "b", "rank1"}, 3, ranks) &&
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
