/*
 * Checks the window of a rank against a recount that looks at each microsecond, on random traces; and which
 * events belong to the window, by hand.
 */
#include "import/imported_kind.h"
#include "imported_make.h"
#include "import/window.h"

#include <math.h>

#define SPAN 400
#define MOST 60

struct event {
	int begin, length, stream, kind, launch; /* us; launch -1: not in the trace */
};

static uint32_t next_random(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

static const char *const names[] = {"gemm", "ncclDevKernel_AllReduce", "Memcpy DtoD", "SyncKernel"};

static void write_trace(char *text, const struct event *events, int count)
{
	text += sprintf(text, "{\"traceEvents\": [");
	for (int i = 0; i < count; i++) {
		text += sprintf(text,
			"%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"ts\": %d, \"dur\": %d, \"args\": "
			"{\"stream\": %d, \"correlation\": %d}}",
			i ? "," : "", names[events[i].kind], events[i].begin, events[i].length,
			events[i].stream, i + 1);
		if (events[i].launch >= 0)
			text += sprintf(text,
				",{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"launch\", \"ts\": %d, "
				"\"dur\": 1, \"pid\": 1, \"tid\": 1, \"args\": {\"correlation\": %d}}",
				events[i].launch, i + 1);
	}
	sprintf(text, "]}");
}

/* What runs in each microsecond, and what follows from it. */
struct recount {
	int64_t idle, compute, non_compute, communication, memory, overlap, window;
	int64_t together[WINDOW_SETS];
};

static struct recount count_again(const struct event *events, int count)
{
	struct recount result = {0};
	unsigned running[SPAN * 2] = {0};
	int begin = SPAN * 2, end = 0;

	for (int i = 0; i < count; i++) {
		begin = events[i].begin < begin ? events[i].begin : begin;
		end = events[i].begin + events[i].length > end ? events[i].begin + events[i].length : end;
		for (int t = events[i].begin; t < events[i].begin + events[i].length; t++)
			running[t] |= 1u << events[i].kind;
	}
	result.window = end - begin;
	for (int t = begin; t < end; t++) {
		bool compute = running[t] & 1, communication = running[t] & 2;

		result.together[running[t]]++;
		result.idle += running[t] == 0;
		result.compute += compute;
		result.non_compute += running[t] && !compute;
		result.communication += communication;
		result.memory += (running[t] & 4) != 0;
		result.overlap += compute && communication;
	}
	return result;
}

/* Per stream: for each event the one that begins latest before it, or at the same time and is listed before.
 */
static void check_gaps(const struct event *events, int count, const struct window *window)
{
	for (size_t s = 0; s < window->stream_count; s++) {
		const struct window_stream *stream = &window->streams[s];
		int64_t idle[WINDOW_IDLES] = {0};

		for (int i = 0; i < count; i++) {
			const struct event *before = NULL;
			int gap;

			if (events[i].stream != stream->stream)
				continue;
			for (int j = 0; j < count; j++)
				if (events[j].stream == stream->stream && events[j].begin < events[i].begin &&
					(!before || events[j].begin > before->begin))
					before = &events[j];
			if (!before)
				continue;
			gap = events[i].begin - before->begin - before->length;
			if (events[i].launch > before->begin + before->length)
				idle[WINDOW_HOST_WAIT] += gap;
			else
				idle[gap < 30 ? WINDOW_KERNEL_WAIT : WINDOW_OTHER] += gap;
		}
		for (int i = 0; i < WINDOW_IDLES; i++)
			CHECK(stream->idle_ns[i] == idle[i] * 1000, "stream %lld %s: %lld, expected %lld us",
				(long long)stream->stream, window_idle_name((enum window_idle)i),
				(long long)stream->idle_ns[i], (long long)idle[i]);
	}
}

static void check_random(uint32_t seed)
{
	static const struct window_options options = {.delay_ns = WINDOW_DELAY_NS};
	struct event events[MOST];
	bool taken[4][SPAN] = {{false}};
	int count = 1 + (int)next_random(&seed, MOST - 1);
	struct recount truth;
	struct imported imported;
	struct window window;
	char text[MOST * 400];

	for (int i = 0; i < count; i++) {
		struct event *event = &events[i];

		/* No two begin together on a stream: which is first would be anybody's guess. */
		do {
			event->stream = (int)next_random(&seed, 3);
			event->begin = (int)next_random(&seed, SPAN);
		} while (taken[event->stream][event->begin]);
		taken[event->stream][event->begin] = true;
		event->length = (int)next_random(&seed, next_random(&seed, 4) ? 12 : 100);
		event->kind = (int)next_random(&seed, IMPORTED_KINDS);
		event->launch = event->begin - (int)next_random(&seed, 50);
		event->launch = event->launch < 0 ? -1 : event->launch;
	}
	truth = count_again(events, count);
	write_trace(text, events, count);
	CHECK(make_read(&imported, text, IMPORTED_WANT_STEPS) == 0, "%s", imported.trouble);
	window_find(&imported, 0, &options, &window);
	CHECK(window.used_count == (size_t)count, "%zu of %d", window.used_count, count);
	CHECK(window.end_ns - window.begin_ns == truth.window * 1000, "window");
	CHECK(window.idle_ns == truth.idle * 1000, "idle %lld", (long long)window.idle_ns);
	CHECK(window.compute_ns == truth.compute * 1000, "compute %lld", (long long)window.compute_ns);
	CHECK(window.non_compute_ns == truth.non_compute * 1000, "rest %lld",
		(long long)window.non_compute_ns);
	CHECK(window.communication_ns == truth.communication * 1000, "communication");
	CHECK(window.memory_ns == truth.memory * 1000, "memory");
	CHECK(window.overlap_ns == truth.overlap * 1000, "overlap");
	CHECK(truth.communication ? fabs(window_overlap(&window) -
					    (double)truth.overlap / (double)truth.communication) < 1e-12
				  : isnan(window_overlap(&window)),
		"share %f", window_overlap(&window));
	for (int i = 0; i < WINDOW_SETS; i++)
		CHECK(window.together_ns[i] == truth.together[i] * 1000, "set %d", i);
	check_gaps(events, count, &window);
	window_free(&window);
	imported_free(&imported);
}

#define KERNEL(ts, correlation) \
	"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": " ts \
	", \"dur\": 1, \"args\": {\"stream\": 7, " \
	"\"correlation\": " correlation "}},"
#define LAUNCH(ts, correlation) \
	"{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"l\", \"ts\": " ts ", \"dur\": 1, \"args\": " \
	"{\"correlation\": " correlation "}},"
#define STEP(category, number, ts, dur) \
	"{\"ph\": \"X\", \"cat\": \"" category "\", \"name\": \"ProfilerStep#" number "\", \"ts\": " ts \
	", \"dur\": " dur ", \"args\": {}},"

/* Which events are kept: by their launch, with more than one step; else all. */
static void check_steps(void)
{
	static const char events[] = KERNEL("5", "99") KERNEL("20", "1") LAUNCH("10", "1") KERNEL("300", "2")
		LAUNCH("199", "2") KERNEL("301", "3") LAUNCH("200", "3") KERNEL("302", "4") LAUNCH("299", "4")
			KERNEL("303", "5") LAUNCH("301", "5");
	static const struct {
		const char *what, *steps;
		size_t excluded, included, steps_found;
	} cases[] = {
		{"no step", "", 6, 6, 0},
		{"one step", STEP("user_annotation", "1", "100", "200"), 6, 6, 1},
		/* kernel 99 has no launch: it was launched before the profiler began */
		{"two steps",
			STEP("user_annotation", "1", "0", "200") STEP("user_annotation", "2", "200", "100"),
			2, 4, 2},
		{"steps as operators", STEP("cpu_op", "1", "0", "200") STEP("Operator", "2", "200", "100"), 2,
			4, 2},
		{"steps of the device do not count",
			STEP("user_annotation", "1", "0", "200") STEP("user_annotation", "2", "200", "100")
				STEP("gpu_user_annotation", "2", "400", "100"),
			2, 4, 2},
		{"a step that two threads mark is one",
			STEP("user_annotation", "1", "0", "200") STEP("user_annotation", "1", "1", "200"), 6,
			6, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int include = 0; include < 2; include++) {
			struct window_options options = {include, WINDOW_DELAY_NS, false};
			struct imported imported;
			struct window window;
			char text[4096];

			snprintf(text, sizeof(text), "{\"traceEvents\": [%s%s{}]}", events, cases[i].steps);
			CHECK(make_read(&imported, text, IMPORTED_WANT_LABELS) == 0 && !imported.trouble,
				"%s", imported.trouble);
			window_find(&imported, 0, &options, &window);
			CHECK(window.event_count == 6 && window.step_count == cases[i].steps_found,
				"%s: %zu, %zu steps", cases[i].what, window.event_count, window.step_count);
			CHECK(window.used_count == (include ? cases[i].included : cases[i].excluded),
				"%s, last step %d: %zu", cases[i].what, include, window.used_count);
			window_free(&window);
			imported_free(&imported);
		}
}

/* A kernel without a launch waited for no host; as HTA has it, it waited for the file's first event. */
static void check_unlaunched(void)
{
	static const char text[] = "[" LAUNCH("12", "50") KERNEL("10", "1") KERNEL("14", "2") "{}]";

	for (int hta = 0; hta < 2; hta++) {
		struct window_options options = {false, WINDOW_DELAY_NS, hta};
		struct imported imported;
		struct window window;

		make_read(&imported, text, 0);
		window_find(&imported, 0, &options, &window);
		CHECK(window.stream_count == 1 &&
				window.streams[0].idle_ns[hta ? WINDOW_HOST_WAIT : WINDOW_KERNEL_WAIT] ==
					3000,
			"hta %d", hta);
		CHECK(imported.unlaunched == 2, "%lu", (unsigned long)imported.unlaunched);
		window_free(&window);
		imported_free(&imported);
	}
}

/* Nothing at all is no crash, and no figures. */
static void check_empty(void)
{
	static const struct window_options options = {.delay_ns = WINDOW_DELAY_NS};
	struct imported imported;
	struct window window;

	make_read(&imported, "{\"deviceProperties\": [], \"traceEvents\": []}", IMPORTED_WANT_STEPS);
	CHECK(imported.worker_count == 1, "a file of Kineto's is a rank");
	window_find(&imported, 0, &options, &window);
	CHECK(window.used_count == 0 && window.begin_ns == window.end_ns && window.idle_ns == 0, "empty");
	window_free(&window);
	imported_free(&imported);
}

static void check_kernels(void)
{
	static const struct window_options options = {.delay_ns = WINDOW_DELAY_NS};
	struct event events[] = {{0, 5, 0, 0, -1}, {10, 7, 1, 0, -1}, {20, 20, 0, 1, -1}, {50, 3, 0, 0, -1}};
	struct imported imported;
	struct window window;
	char text[4096];

	write_trace(text, events, 4);
	make_read(&imported, text, 0);
	window_find(&imported, 0, &options, &window);
	CHECK(window.kernel_count == 2 && strcmp(window.kernels[0].name, names[1]) == 0, "by falling sum");
	CHECK(window.kernels[1].count == 3 && window.kernels[1].sum_ns == 15000 &&
			window.kernels[1].least_ns == 3000 && window.kernels[1].greatest_ns == 7000,
		"of gemm");
	window_free(&window);
	imported_free(&imported);
}

int main(void)
{
	make_begin();
	for (uint32_t seed = 1; seed <= 500; seed++)
		check_random(seed);
	check_steps();
	check_unlaunched();
	check_empty();
	check_kernels();
	make_end();
	return check_end();
}
