/*
 * Checks that traces of other profilers become runs: made programs, of which is known when each thing
 * happens, are written as Kineto, as labels of phases and as damaged files, and every analysis is asked.
 */
#include "imported_make.h"
#include "import/imported_timeline.h"
#include "reconstruct/run.h"

#include <math.h>

#define US ((int64_t)1000)
#define BASE_US ((int64_t)1700000000000000)
#define PERIOD_US 1000
#define MOST_RANKS 4

/* A training program: what all its ranks do in every iteration, and what is odd about it. */
struct program {
	int ranks, iterations;
	bool marks;                   /* ProfilerStep */
	bool own_first;               /* the first iteration has other kernels */
	bool alone;                   /* an only iteration, in which nothing repeats */
	bool early;                   /* a kernel whose call lies before the recording */
	int lag_us;                   /* the device behind the host: so long it does work of such calls */
	bool graph;                   /* the backward pass is one launch */
	bool groups;                  /* of two ranks each meet at the all-reduce, never at the same time */
	int ahead_us;                 /* the device's times before those of the host */
	bool not_given;               /* the file does not say which rank it is */
	int64_t clock_us[MOST_RANKS]; /* how far the rank's clock is ahead */
	int late_rank;                /* comes 30 us late to every other all-reduce; -1: none */
	size_t cut;                   /* bytes left out at the end */
};

#define KERNELS 10 /* of an iteration, with two copies and an all-reduce */

/* Begin and duration on the device, in us after the iteration's start; the call is 50 us earlier. */
static const struct {
	const char *name, *category;
	int begin, duration;
} events[] = {{"Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 170, 10}, {"embed", "kernel", 200, 40},
	{"conv", "kernel", 250, 40}, {"relu", "kernel", 300, 40}, {"conv_2", "kernel", 350, 40},
	{"dconv_2", "kernel", 400, 40}, {"drelu", "kernel", 450, 40}, {"dconv", "kernel", 500, 40},
	{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "kernel", 600, 100}, {"sgd_a", "kernel", 750, 20},
	{"sgd_b", "kernel", 800, 20}};
#define EVENTS (sizeof(events) / sizeof(*events))
#define ALLREDUCE 8
#define LATE_US 30
#define COMPUTING_US (7 * 40 + 2 * 20) /* of an iteration's kernels */

static char text[1 << 20];
static char *place;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	place += vsnprintf(place, sizeof(text) - (size_t)(place - text), format, list);
	va_end(list);
}

static void put_host(
	const char *category, const char *name, int64_t begin_us, int64_t duration_us, int correlation)
{
	put("{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 9, \"tid\": 9, \"ts\": %lld, \"dur\": %lld, "
	    "\"args\": {\"correlation\": %d}},\n",
		category, name, (long long)begin_us, (long long)duration_us, correlation);
}

static void put_device(
	const char *category, const char *name, int64_t begin_us, int64_t duration_us, int correlation)
{
	int stream = strncmp(name, "nccl", 4) == 0 ? 20 : 7;

	put("{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": %lld, \"dur\": %lld, "
	    "\"args\": {\"device\": 0, \"stream\": %d, \"correlation\": %d}},\n",
		category, name, stream, (long long)begin_us, (long long)duration_us, stream, correlation);
}

static const char *kernel_name(const struct program *program, int iteration, size_t event)
{
	static char name[64];

	if (!program->own_first || iteration > 0 || event != 2)
		return events[event].name;
	snprintf(name, sizeof(name), "%s_tuning", events[event].name);
	return name;
}

static void put_iteration(const struct program *program, int rank, int i, int64_t begin_us)
{
	/* Of the second group: not at one distance, which could be the clocks'. */
	static const int others_us[] = {552, 735, 860};

	put_host("user_annotation", "enumerate(DataLoader)#_It.__next__", begin_us, 100, 0);
	for (size_t e = 0; e < EVENTS; e++) {
		bool late = e == ALLREDUCE && rank == program->late_rank && i % 2;
		bool graph = program->graph && e >= 5 && e <= 7;
		int correlation = i * 100 + (int)(graph ? 5 : e) + 1;

		if (!graph || e == 5)
			put_host("cuda_runtime",
				graph                                       ? "cudaGraphLaunch"
				: strcmp(events[e].category, "kernel") == 0 ? "cudaLaunchKernel"
									    : "cudaMemcpyAsync",
				begin_us + events[e].begin - 50, 5, correlation);
		if (e == ALLREDUCE && program->groups && rank >= 2)
			put_device(events[e].category, events[e].name, begin_us + others_us[i % 3], 25,
				correlation);
		else
			put_device(events[e].category, kernel_name(program, i, e),
				begin_us + events[e].begin - program->ahead_us + program->lag_us +
					(late ? LATE_US : 0),
				events[e].duration - (late ? LATE_US : 0), correlation);
	}
	put_host("cuda_runtime", "cudaStreamSynchronize", begin_us + 810, 30, i * 100 + 90);
	if (program->marks) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", 10 + i);
		put_host("user_annotation", name, begin_us, PERIOD_US, 0);
	}
}

static void put_rank(const struct program *program, int rank)
{
	place = text;
	put("{\"schemaVersion\": 1, ");
	if (!program->not_given)
		put("\"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, ", rank, program->ranks);
	put("\"traceEvents\": [\n");
	if (program->early)
		put_device("kernel", "early", BASE_US + program->clock_us[rank] - 500, 7, 77777);
	for (int us = 0; us < program->lag_us; us += 100)
		put_device("kernel", "early", BASE_US + program->clock_us[rank] + us, 90, 77777 + us);
	for (int i = 0; i < program->iterations; i++)
		put_iteration(program, rank, i, BASE_US + program->clock_us[rank] + i * PERIOD_US);
	put("{}]}\n");
}

static char paths[MOST_RANKS][128];

static void open_run(const struct program *program, struct run *run)
{
	char *list[MOST_RANKS], *error = NULL;

	for (int i = 0; i < program->ranks; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/part-%c.json", make_folder,
			'a' + program->ranks - 1 - i);
		put_rank(program, i);
		make_bytes(paths[i], text, (size_t)(place - text) - program->cut);
		list[i] = paths[i];
	}
	if (run_open(run, list, (size_t)program->ranks, 0, &error) < 0) {
		printf("%s\n", error);
		exit(1);
	}
	for (int i = 0; i < program->ranks; i++)
		unlink(paths[i]);
}

/* ---- What is known ---- */

static int64_t device_ns(const struct program *program, int rank)
{
	int64_t sum = program->early ? 7 : 0;

	for (int i = 0; i < program->iterations; i++)
		for (size_t e = 0; e < EVENTS; e++)
			sum += events[e].duration -
			       (e == ALLREDUCE && rank == program->late_rank && i % 2 ? LATE_US : 0);
	return sum * US;
}

static void check_timeline(const char *name, const struct program *program, const struct timeline *timeline)
{
	CHECK(timeline->process_count == (size_t)program->ranks, "%s: %zu", name, timeline->process_count);
	for (int rank = 0; rank < program->ranks; rank++) {
		const struct timeline_process *process = &timeline->processes[rank];
		size_t expected = (size_t)program->iterations * EVENTS + program->early;
		int64_t sum = 0, last_ns = INT64_MIN;

		CHECK(process->rank == rank, "%s: rank %d", name, process->rank);
		CHECK(process->interval_count == expected, "%s: %zu events", name, process->interval_count);
		for (size_t i = 0; i < process->interval_count; i++)
			sum += timeline_interval(timeline, process->first_interval + i).end_ns -
			       timeline_interval(timeline, process->first_interval + i).begin_ns;
		CHECK(sum == device_ns(program, rank), "%s: rank %d: %lld ns", name, rank, (long long)sum);
		for (size_t i = 0; i < process->call_count; i++) {
			const struct timeline_call *call = TIMELINE_CALL(timeline, process->first_call + i);

			CHECK(call->begin_ns >= last_ns && call->end_ns >= call->begin_ns, "%s: call %zu",
				name, i);
			CHECK(call->operation >= process->first_operation &&
					call->operation < process->first_operation + process->operation_count,
				"%s: call %zu", name, i);
			CHECK(call->thread < process->thread_count, "%s: call %zu", name, i);
			last_ns = call->begin_ns;
		}
	}
}

static void check_iterations(const char *name, const struct program *program, const struct run *run,
	enum iteration_source source, size_t used)
{
	for (size_t w = 0; w < run->analysis.worker_count; w++) {
		const struct analysis_worker *worker = &run->analysis.workers[w];
		const struct iteration_list *list = &worker->iterations;

		CHECK(list->source == source, "%s: source %d", name, list->source);
		CHECK(list->count == (size_t)program->iterations, "%s: %zu iterations", name, list->count);
		CHECK(worker->used_count == used, "%s: %zu used", name, worker->used_count);
		for (size_t i = 0; i < list->count; i++) {
			const struct phase_times *times = &worker->phases.times[i];
			/* The last one ends with the waiting for its work, or with its mark. */
			int64_t expected =
					i + 1 < list->count || source == ITERATION_BY_STEPS ? PERIOD_US : 840,
				sum = 0;

			CHECK(times->iteration_ns == expected * US, "%s: iteration %zu: %lld", name, i,
				(long long)times->iteration_ns);
			for (int phase = 0; phase < PHASE_COUNT; phase++)
				sum += times->exclusive_ns[phase];
			CHECK(sum == times->iteration_ns, "%s: iteration %zu: phases %lld", name, i,
				(long long)sum);
			CHECK(times->busy_ns[PHASE_IO] == 100 * US, "%s: iteration %zu: input %lld", name, i,
				(long long)times->busy_ns[PHASE_IO]);
		}
	}
	CHECK(run->analysis.worker_count == (size_t)program->ranks, "%s: %zu GPUs", name,
		run->analysis.worker_count);
}

static void check_agreement(const char *name, const struct run *run, size_t count)
{
	const struct iteration_list *list = &run->analysis.workers[0].iterations;

	CHECK(list->sequence == ITERATION_BY_NAMES, "%s: %d", name, list->sequence);
	CHECK(list->sequence_count == count, "%s: %zu", name, list->sequence_count);
	CHECK(list->agreement == 1, "%s: %g", name, list->agreement);
}

/* ---- One rank ---- */

static void test_marked(void)
{
	struct program program = {.ranks = 1, .iterations = 6, .marks = true, .late_rank = -1};
	struct run run;

	open_run(&program, &run);
	check_timeline("marked", &program, &run.analysis.timeline);
	check_iterations("marked", &program, &run, ITERATION_BY_STEPS, 6);
	check_agreement("marked", &run, 6);
	run_close(&run);
}

static void test_unmarked(void)
{
	struct program program = {.ranks = 1, .iterations = 7, .late_rank = -1};
	enum iteration_source source;
	struct run run;

	open_run(&program, &run);
	check_timeline("unmarked", &program, &run.analysis.timeline);
	source = run.analysis.workers[0].iterations.source;
	CHECK(source == ITERATION_BY_NAMES, "%d", source);
	check_iterations("unmarked", &program, &run, source, 7);
	run_close(&run);
	program.own_first = true;
	open_run(&program, &run);
	check_iterations("own first", &program, &run, source, 6);
	CHECK(run.analysis.workers[0].iterations.items[0].kind == ITERATION_WARMUP, "first is no warm-up");
	run_close(&run);
}

static void test_early(void)
{
	struct program program = {.ranks = 1, .iterations = 5, .early = true, .marks = true, .late_rank = -1};
	struct run run;

	open_run(&program, &run);
	check_timeline("early", &program, &run.analysis.timeline);
	check_iterations("early", &program, &run, ITERATION_BY_STEPS, 5);
	run_close(&run);
}

/* Work of calls before the recording is none of the first steps', though the device does it during them. */
static void test_lag(void)
{
	struct program program = {
		.ranks = 1, .iterations = 4, .lag_us = 1500, .marks = true, .late_rank = -1};
	const struct iteration *items;
	struct run run;

	open_run(&program, &run);
	CHECK(run.analysis.workers[0].iterations.count == 4, "%zu", run.analysis.workers[0].iterations.count);
	items = run.analysis.workers[0].iterations.items;
	CHECK(items[0].begin_ns == (BASE_US + 1490) * US, "%lld",
		(long long)(items[0].begin_ns - BASE_US * US));
	for (int i = 0; i < 4; i++) {
		const int64_t *busy_ns = run.analysis.workers[0].phases.times[i].busy_ns;
		int64_t computing_ns = busy_ns[PHASE_FORWARD] + busy_ns[PHASE_BACKWARD] +
				       busy_ns[PHASE_UPDATE] + busy_ns[PHASE_OTHER];

		CHECK(computing_ns == COMPUTING_US * US, "step %d: %lld", i, (long long)computing_ns);
		CHECK(i < 2 || items[i].begin_ns - items[i - 1].begin_ns == PERIOD_US * US, "step %d: %lld",
			i, (long long)(items[i].begin_ns - items[i - 1].begin_ns));
	}
	run_close(&run);
}

static void test_window(void)
{
	struct program program = {.ranks = 1, .iterations = 1, .late_rank = -1};
	struct run run;

	open_run(&program, &run);
	check_timeline("window", &program, &run.analysis.timeline);
	CHECK(run.analysis.worker_count == 1, "%zu", run.analysis.worker_count);
	CHECK(run.analysis.workers[0].iterations.count == 1, "%zu", run.analysis.workers[0].iterations.count);
	run_close(&run);
}

/* The kernels of a graph are calls of their own after its launch. */
static void test_graph(void)
{
	struct program program = {.ranks = 1, .iterations = 4, .graph = true, .marks = true, .late_rank = -1};
	size_t replayed = 0, divided = 0;
	struct run run;

	open_run(&program, &run);
	check_timeline("graph", &program, &run.analysis.timeline);
	check_iterations("graph", &program, &run, ITERATION_BY_STEPS, 4);
	for (size_t i = 0; i < run.analysis.timeline.call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&run.analysis.timeline, i);

		if (call->flags & TIMELINE_FLAG_REPLAYED)
			CHECK(call->interval_count == 1, "call %zu: %u", i, call->interval_count);
		replayed += (call->flags & TIMELINE_FLAG_REPLAYED) != 0;
		divided += (call->flags & TIMELINE_FLAG_DIVIDED) != 0;
	}
	CHECK(replayed == 12 && divided == 4, "%zu %zu", replayed, divided);
	run_close(&run);
}

static void test_cut(void)
{
	struct program program = {.ranks = 1, .iterations = 6, .marks = true, .late_rank = -1, .cut = 1500};
	struct run run;

	open_run(&program, &run);
	CHECK(run.unread[0] && strstr(run.unread[0], "part-a.json"), "no warning");
	CHECK(run.analysis.worker_count == 1, "%zu", run.analysis.worker_count);
	CHECK(run.analysis.workers[0].iterations.count >= 5, "%zu", run.analysis.workers[0].iterations.count);
	run_close(&run);
}

/* ---- Several ranks ---- */

static void check_meeting(const char *name, const struct program *program, const struct run *run)
{
	const struct analysis *analysis = &run->analysis;
	const struct collective_list *list = &analysis->collectives;
	int64_t waits_ns[MOST_RANKS] = {0};

	CHECK(list->count == (size_t)(program->iterations * program->ranks), "%s: %zu parts", name,
		list->count);
	for (size_t i = 0; i < list->count; i++) {
		CHECK(list->items[i].member_count == (uint32_t)program->ranks, "%s: %u", name,
			list->items[i].member_count);
		waits_ns[list->items[i].process] += analysis->wait_ns[list->items[i].call];
	}
	for (int i = 0; i < program->ranks; i++) {
		int64_t expected = i == program->late_rank ? 0 : program->iterations / 2 * LATE_US * US;

		CHECK(waits_ns[i] == expected, "%s: rank %d waits %lld", name, i, (long long)waits_ns[i]);
	}
	for (size_t i = 1; i < analysis->timeline.communicator_count; i++) {
		CHECK(analysis->timeline.communicators[i].size == program->ranks, "%s: size %d", name,
			analysis->timeline.communicators[i].size);
		CHECK(analysis->timeline.communicators[i].hash == analysis->timeline.communicators[1].hash,
			"%s: communicator %zu", name, i);
	}
}

static void test_ranks(void)
{
	struct program program = {.ranks = 3, .iterations = 6, .marks = true, .late_rank = 1};
	struct run run;

	open_run(&program, &run);
	check_timeline("ranks", &program, &run.analysis.timeline);
	check_iterations("ranks", &program, &run, ITERATION_BY_STEPS, 6);
	check_meeting("ranks", &program, &run);
	run_close(&run);
	/* Clocks that are seconds apart are brought together by the collectives. */
	program.clock_us[1] = 5000000;
	program.clock_us[2] = -700000;
	open_run(&program, &run);
	check_timeline("clocks", &program, &run.analysis.timeline);
	check_iterations("clocks", &program, &run, ITERATION_BY_STEPS, 6);
	check_meeting("clocks", &program, &run);
	for (size_t i = 1; i < 3; i++)
		CHECK(run.analysis.workers[i].iterations.items[0].begin_ns ==
				run.analysis.workers[0].iterations.items[0].begin_ns,
			"rank %zu begins at %lld, rank 0 at %lld", i,
			(long long)run.analysis.workers[i].iterations.items[0].begin_ns,
			(long long)run.analysis.workers[0].iterations.items[0].begin_ns);
	run_close(&run);
}

static void test_groups(void)
{
	struct program program = {
		.ranks = 4, .iterations = 6, .marks = true, .late_rank = -1, .groups = true};
	const struct timeline *timeline;
	uint64_t hashes[MOST_RANKS];
	struct run run;

	open_run(&program, &run);
	timeline = &run.analysis.timeline;
	CHECK(run.analysis.collectives.count == 24, "%zu parts", run.analysis.collectives.count);
	for (size_t i = 0; i < run.analysis.collectives.count; i++) {
		const struct collective *part = &run.analysis.collectives.items[i];

		CHECK(part->member_count == 2, "%u", part->member_count);
		CHECK(part->rank == (int32_t)part->process % 2, "rank %d of process %u", part->rank,
			part->process);
		hashes[part->process] = part->hash;
	}
	CHECK(hashes[0] == hashes[1] && hashes[2] == hashes[3] && hashes[0] != hashes[2], "not two groups");
	for (size_t i = 1; i < timeline->communicator_count; i++)
		CHECK(timeline->communicators[i].size == 2, "%d", timeline->communicators[i].size);
	run_close(&run);
}

/* Times of the device that lie before its call's are kept as they are. */
static void test_ahead(void)
{
	struct program program = {
		.ranks = 1, .iterations = 5, .marks = true, .late_rank = -1, .ahead_us = 60};
	const struct timeline *timeline;
	struct run run;

	open_run(&program, &run);
	check_timeline("ahead", &program, &run.analysis.timeline);
	timeline = &run.analysis.timeline;
	CHECK(timeline_interval(timeline, 0).begin_ns == (BASE_US + 170 - 60) * US, "%lld",
		(long long)timeline_interval(timeline, 0).begin_ns);
	run_close(&run);
}

/* What the files do not say their order does. */
static void test_not_given(void)
{
	struct program program = {
		.ranks = 2, .iterations = 4, .marks = true, .late_rank = 0, .not_given = true};
	struct run run;

	open_run(&program, &run);
	check_timeline("unsaid", &program, &run.analysis.timeline);
	check_meeting("unsaid", &program, &run);
	run_close(&run);
}

/* ---- Labels ---- */

static void put_label(const char *name, int pid, int tid, int64_t begin_us, int64_t duration_us, int step)
{
	put("{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %lld, \"dur\": %lld, "
	    "\"args\": {\"step\": %d}},\n",
		name, name, pid, tid, (long long)begin_us, (long long)duration_us, step);
}

/* Steps 3, 4 and 7 of two workers, of which the second begins 200 us later and ends first. */
static void test_labels(void)
{
	static const int steps[] = {3, 4, 7};
	static const int64_t begins_us[] = {0, 1000, 5000};
	const char *path = make_path("labels.json");
	char *error = NULL, *list[1] = {paths[0]};
	const struct timeline *timeline;
	struct run run;

	strcpy(paths[0], path);
	place = text;
	put("[\n");
	for (size_t i = 0; i < 3; i++) {
		put_label("params-all-gather", 0, 1, begins_us[i], 20, steps[i]);
		put_label("params-all-gather", 1, 1, begins_us[i], 20, steps[i]);
		put_label("forward-compute", 0, 0, begins_us[i] + 30, 270, steps[i]);
		put_label("backward-compute", 0, 0, begins_us[i] + 400, 500, steps[i]);
		put_label("forward-compute", 1, 0, begins_us[i] + 200, 300, steps[i]);
		put_label("backward-compute", 1, 0, begins_us[i] + 500, 200, steps[i]);
		put_label("grads-all-reduce", 0, 1, begins_us[i] + 900, 50, steps[i]);
		put_label("grads-all-reduce", 1, 1, begins_us[i] + 800, 150, steps[i]);
	}
	put("{}]\n");
	make_bytes(paths[0], text, (size_t)(place - text));
	if (run_open(&run, list, 1, 0, &error) < 0) {
		printf("%s\n", error);
		exit(1);
	}
	unlink(paths[0]);
	timeline = &run.analysis.timeline;
	CHECK(run.analysis.worker_count == 2, "%zu", run.analysis.worker_count);
	for (size_t w = 0; w < run.analysis.worker_count; w++) {
		const struct iteration_list *items = &run.analysis.workers[w].iterations;
		const struct timeline_process *process = &timeline->processes[w];

		CHECK(items->source == ITERATION_BY_STEPS && items->count == 3, "%zu: %zu", w, items->count);
		CHECK(process->step_count == 3 && process->window_count == 2, "%zu: %u windows", w,
			process->window_count);
		CHECK(process->hostless, "%zu", w);
		for (size_t i = 0; i < items->count; i++) {
			/* The job's step: from the first worker's begin to the last one's end. */
			int64_t expected = 950;

			CHECK(items->items[i].begin_ns == begins_us[i] * US, "%zu: %lld", w,
				(long long)items->items[i].begin_ns);
			CHECK(items->items[i].end_ns == (begins_us[i] + expected) * US, "%zu: %lld", w,
				(long long)items->items[i].end_ns);
			CHECK(run.analysis.workers[w].phases.times[i].exclusive_ns[PHASE_IDLE_LAUNCH] == 0,
				"%zu: the host is not known", w);
			CHECK(run.analysis.workers[w].phases.times[i].busy_ns[PHASE_COMMUNICATION] ==
					(w ? 170 : 70) * US,
				"%zu: communication %lld", w,
				(long long)run.analysis.workers[w]
					.phases.times[i]
					.busy_ns[PHASE_COMMUNICATION]);
		}
	}
	CHECK(run.analysis.collectives.count == 12, "%zu", run.analysis.collectives.count);
	run_close(&run);
}

/* ---- Words and files ---- */

static void test_names(void)
{
	static const char *const yes[] = {"ProfilerStep#12", "step 3", "Step", "iteration_17",
		"train_step[5]", "iter:9", "training step 4"};
	static const char *const no[] = {"Optimizer.step#SGD.step", "stepwise", "iterate", "optimizer step",
		"forward", "train", "step 3 forward"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		CHECK(imported_is_step(yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		CHECK(!imported_is_step(no[i]), "%s", no[i]);
}

static bool is_imported(const char *name, const char *bytes, size_t count)
{
	char path[256];
	bool answer;

	strcpy(path, make_path(name));
	make_bytes(path, bytes, count);
	answer = run_is_imported(path);
	unlink(path);
	return answer;
}

static void test_files(void)
{
	CHECK(is_imported("a.json", "[]", 2), "JSON");
	CHECK(is_imported("a", "{\"traceEvents\": []}", 19), "JSON without an ending");
	CHECK(is_imported("a.db", "SQLite format 3", 16), "a database");
	CHECK(!is_imported("a.json", "pmtrace", 8), "our own, whatever its name");
	CHECK(!is_imported("a.pmtrace", "", 0), "an empty file of ours");
	CHECK(is_imported("a.txt", "hello", 5), "a text: refused with the list of what is read");
	CHECK(run_is_imported(make_folder) == false, "an empty folder");
}

static void test_nothing(void)
{
	char *error = NULL, *list[1] = {paths[0]};
	struct run run;

	strcpy(paths[0], make_path("nothing.json"));
	make_bytes(paths[0], "{\"traceEvents\": []}", 19);
	CHECK(run_open(&run, list, 1, 0, &error) < 0, "a run of nothing");
	CHECK(error && strstr(error, "nothing.json"), "%s", error);
	free(error);
	unlink(paths[0]);
}

int main(void)
{
	make_begin();
	test_marked();
	test_unmarked();
	test_early();
	test_lag();
	test_window();
	test_graph();
	test_cut();
	test_ranks();
	test_groups();
	test_ahead();
	test_not_given();
	test_labels();
	test_names();
	test_files();
	test_nothing();
	make_end();
	return check_end();
}
