/* Checks how many iterations are found in made-up training programs, which are used, and what is left out and
 * why. */
#include "check.h"
#include "model_read.h"
#include "reconstruct/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct expected {
	size_t found, used, warmup, uneven, different;
	size_t evaluations, partial, setups;
	bool by_period;
	double confidence;
};

/* What repetition alone is trusted for, where there is backward work in each; less where it is micro-batches.
 */
#define REPEATED(n) (0.8 * (1 - 1.0 / ((n) + 1)))

static const struct {
	const char *name;
	struct model_options options;
	size_t skip;
	struct expected expected;
} cases[] = {
	{"plain", {.net = MODEL_LENET, .iterations = 10}, 1, {10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"nothing_skipped", {.net = MODEL_LENET, .iterations = 10}, 0, {10, 10, 0, 0, 0, 0, 0, 1, false, 1}},
	{"more_skipped_than_there", {.net = MODEL_LENET, .iterations = 3}, 50,
		{3, 1, 2, 0, 0, 0, 0, 1, false, 1}},
	{"two_iterations", {.net = MODEL_LENET, .iterations = 2}, 1, {2, 1, 1, 0, 0, 0, 0, 1, false, 1}},
	{"one_iteration", {.net = MODEL_LENET, .iterations = 1}, 1, {1, 1, 0, 0, 0, 0, 0, 1, false, 1}},
	{"autotuning", {.net = MODEL_LENET, .iterations = 10, .search = true}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"evaluation", {.net = MODEL_LENET, .iterations = 12, .evaluate_every = 4, .evaluate_count = 5}, 1,
		{12, 11, 1, 0, 0, 3, 0, 1, false, 1}},
	{"evaluation_of_one_batch",
		{.net = MODEL_MLP, .iterations = 9, .evaluate_every = 3, .evaluate_count = 1}, 1,
		{9, 8, 1, 0, 0, 3, 0, 1, false, 1}},
	{"evaluation_each_iteration",
		{.net = MODEL_LENET, .iterations = 6, .evaluate_every = 1, .evaluate_count = 2}, 1,
		{6, 5, 1, 0, 0, 6, 0, 1, false, 1}},
	{"accumulation", {.net = MODEL_LENET, .iterations = 6, .accumulate = 4}, 1,
		{6, 5, 1, 0, 0, 0, 0, 1, false, 1}},
	{"accumulation_momentum",
		{.net = MODEL_MLP, .iterations = 6, .accumulate = 2, .optimizer = MODEL_MOMENTUM}, 1,
		{6, 5, 1, 0, 0, 0, 0, 1, false, 1}},
	{"uneven_batch", {.net = MODEL_LENET, .iterations = 12, .uneven_every = 4}, 1,
		{12, 8, 1, 3, 0, 0, 0, 1, false, 1}},
	{"logging", {.net = MODEL_LENET, .iterations = 10, .log_every = 3, .processes = 2}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"two_threads", {.net = MODEL_LENET, .iterations = 10, .prefetch = true}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"adam", {.net = MODEL_LENET, .iterations = 10, .optimizer = MODEL_ADAM}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"update_of_all_at_once",
		{.net = MODEL_LENET, .iterations = 10, .fused = true, .flat = true, .processes = 2}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"gpus_of_one_process", {.net = MODEL_LENET, .iterations = 10, .gpus = 3, .divide_device = true}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"opaque_update", {.net = MODEL_LENET, .iterations = 10, .optimizer = MODEL_OPAQUE}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, true, REPEATED(10)}},
	{"opaque_update_accumulation",
		{.net = MODEL_LENET, .iterations = 10, .optimizer = MODEL_OPAQUE, .accumulate = 2}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, true, 0.7 * REPEATED(10)}},
	{"resident_data", {.net = MODEL_LENET, .iterations = 10, .resident = true}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"no_device_times", {.net = MODEL_MLP, .iterations = 10, .no_device = true}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	{"killed", {.net = MODEL_LENET, .iterations = 10, .killed = true}, 1,
		{10, 9, 1, 0, 0, 0, 0, 1, false, 1}},
	/* Windows: no update is missed between whole iterations, and none is joined to what came later. */
	{"window", {.net = MODEL_LENET, .iterations = 20, .windows = {5, 12}}, 1,
		{7, 6, 1, 0, 0, 0, 0, 0, false, 1}},
	{"window_from_the_begin", {.net = MODEL_LENET, .iterations = 20, .windows = {0, 4}}, 1,
		{4, 3, 1, 0, 0, 0, 0, 1, false, 1}},
	{"two_windows", {.net = MODEL_LENET, .iterations = 20, .windows = {2, 8, 15, 20}}, 1,
		{11, 10, 1, 0, 0, 0, 0, 0, false, 1}},
	{"two_windows_ranks",
		{.net = MODEL_LENET,
			.iterations = 20,
			.windows = {2, 8, 15, 19},
			.processes = 2,
			.overlap = true},
		1, {10, 9, 1, 0, 0, 0, 0, 0, false, 1}},
	{"two_windows_graph",
		{.net = MODEL_LENET,
			.iterations = 20,
			.windows = {2, 8, 15, 19},
			.graph = 1,
			.activities = true},
		1, {10, 9, 1, 0, 0, 0, 0, 0, false, 1}},
	{"two_windows_opaque",
		{.net = MODEL_LENET, .iterations = 30, .windows = {2, 12, 16, 26}, .optimizer = MODEL_OPAQUE},
		1, {20, 19, 1, 0, 0, 0, 0, 0, true, REPEATED(20)}},
	{"all_at_once",
		{.net = MODEL_LENET,
			.iterations = 30,
			.search = true,
			.evaluate_every = 10,
			.evaluate_count = 3,
			.uneven_every = 10,
			.log_every = 4,
			.accumulate = 2,
			.processes = 2,
			.overlap = true,
			.optimizer = MODEL_ADAM},
		2, {30, 25, 2, 3, 0, 3, 0, 1, false, 1}},
};

static size_t count_gaps(const struct iteration_list *list, enum iteration_gap_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < list->gap_count; i++)
		count += list->gaps[i].kind == kind;
	return count;
}

static void check_list(const char *name, const struct iteration_list *list, const struct expected *expected)
{
	CHECK(list->count == expected->found, "%s: %zu found, expected %zu", name, list->count,
		expected->found);
	CHECK(list->counts[ITERATION_USED] == expected->used, "%s: %zu used, expected %zu", name,
		list->counts[ITERATION_USED], expected->used);
	CHECK(list->counts[ITERATION_WARMUP] == expected->warmup, "%s: %zu warm-up, expected %zu", name,
		list->counts[ITERATION_WARMUP], expected->warmup);
	CHECK(list->counts[ITERATION_UNEVEN] == expected->uneven, "%s: %zu uneven, expected %zu", name,
		list->counts[ITERATION_UNEVEN], expected->uneven);
	CHECK(list->counts[ITERATION_DIFFERENT] == expected->different, "%s: %zu different, expected %zu",
		name, list->counts[ITERATION_DIFFERENT], expected->different);
	CHECK(count_gaps(list, ITERATION_EVALUATION) == expected->evaluations,
		"%s: %zu evaluations, expected %zu", name, count_gaps(list, ITERATION_EVALUATION),
		expected->evaluations);
	CHECK(count_gaps(list, ITERATION_PARTIAL) == expected->partial, "%s: %zu partial, expected %zu", name,
		count_gaps(list, ITERATION_PARTIAL), expected->partial);
	CHECK(count_gaps(list, ITERATION_SETUP) == expected->setups, "%s: %zu set-ups, expected %zu", name,
		count_gaps(list, ITERATION_SETUP), expected->setups);
	CHECK(list->by_period == expected->by_period, "%s: by period: %d", name, list->by_period);
	CHECK(fabs(list->confidence - expected->confidence) < 1e-9, "%s: confidence %f", name,
		list->confidence);
	for (size_t i = 0; i < list->count; i++) {
		CHECK(list->items[i].begin_ns < list->items[i].end_ns, "%s: iteration %zu takes no time",
			name, i);
		CHECK(i == 0 || list->items[i].begin_ns >= list->items[i - 1].end_ns,
			"%s: iterations %zu and %zu overlap", name, i - 1, i);
	}
}

/* What repetition alone tells is reported as uncertain, what updates tell is not. The analysis goes with the
 * run. */
static void check_warned(const char *name, const struct analysis *analysis, bool expected)
{
	const char *unread[] = {NULL};
	struct run run = {.label = name, .analysis = *analysis, .unread = unread};
	const char **warnings = run_warnings(&run);
	bool warned = false;

	for (size_t i = 0; warnings[i]; i++)
		warned |= strstr(warnings[i], "the iterations are uncertain") ||
			  strstr(warnings[i], "iterations of the usual kind");
	CHECK(warned == expected, "%s: iterations are%s uncertain", name, warned ? "" : " not");
	run_close(&run);
}

/* Without pauses between them iterations follow each other to the nanosecond, and begin with their first
 * read, also where ranks agree on something before they go forward. */
static void check_begins(int processes, int agree_in)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 6,
		.batch = 16,
		.processes = processes,
		.gpus = 1,
		.agree_in = agree_in};
	const struct analysis_worker *worker;
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	worker = &analysis.workers[0];
	for (size_t i = 0; i < worker->iterations.count; i++) {
		const struct iteration *item = &worker->iterations.items[i];

		CHECK(item->read_end - item->first_read == 2, "iteration %zu has %zu reads", i,
			item->read_end - item->first_read);
		CHECK(item->begin_ns ==
				timeline_call(&analysis.timeline, worker->worker->reads[item->first_read])
					.begin_ns,
			"iteration %zu does not begin with its read", i);
		CHECK(i == 0 || item->begin_ns == worker->iterations.items[i - 1].end_ns,
			"a gap before iteration %zu", i);
	}
	analysis_free(&analysis);
	model_free(&model);
}

/* A host that runs ahead of the device: iterations are as long as the device takes, not as the host does. */
static void check_run_ahead(void)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 20,
		.batch = 16,
		.processes = 1,
		.gpus = 1,
		.run_ahead = true};
	const struct analysis_worker *worker;
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	worker = &analysis.workers[0];
	/* All of its device work, and nothing between. */
	for (size_t i = 10; i < 18; i++) {
		const struct phase_times *times = &worker->phases.times[i];
		int64_t work_ns = times->compute_ns + times->busy_ns[PHASE_H2D] + times->busy_ns[PHASE_OTHER];

		CHECK(times->iteration_ns == work_ns, "iteration %zu: %lld, the device works %lld", i,
			(long long)times->iteration_ns, (long long)work_ns);
	}
	analysis_free(&analysis);
	model_free(&model);
}

/* A trace that ends in the middle of an iteration: cut there, the rest of the file is missing. */
static void check_broken_off(void)
{
	struct model_options options = {
		.net = MODEL_MLP, .iterations = 6, .batch = 16, .processes = 1, .gpus = 1};
	struct expected expected = {5, 4, 1, 0, 0, 0, 1, 1, false, 1};
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	/* The footer and its chunk are 160 bytes; the last update, its copies and synchronisations a few
	 * records, those with device times of two slots. */
	model.processes[0].builder.file.size -= 160 + 19 * sizeof(struct pm_record);
	model_read(&model, 1, &analysis);
	check_list("broken_off", &analysis.workers[0].iterations, &expected);
	CHECK(!analysis.timeline.processes[0].ended, "the end was found");
	analysis_free(&analysis);
	model_free(&model);
}

/* Windows that begin and end in the middle: what is cut there is left out, and no iteration is longer for it.
 */
static void check_late_window(void)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 20,
		.batch = 16,
		.processes = 1,
		.gpus = 1,
		.windows = {2, 8, 15, 20},
		.late_window = true};
	const struct timeline_window *windows;
	const struct iteration_list *list;
	struct analysis analysis;
	struct model model;
	int64_t usual_ns;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	list = &analysis.workers[0].iterations;
	windows = analysis.timeline.windows;
	CHECK(analysis.timeline.window_count == 2, "%zu windows", analysis.timeline.window_count);
	/* 2 to 7, the forward pass of 8, the rest of 15, 16 to 19. */
	CHECK(list->count == 11 && list->counts[ITERATION_DIFFERENT] == 1 &&
			list->counts[ITERATION_USED] == 9,
		"%zu found, %zu different, %zu used", list->count, list->counts[ITERATION_DIFFERENT],
		list->counts[ITERATION_USED]);
	CHECK(count_gaps(list, ITERATION_EVALUATION) == 0 && count_gaps(list, ITERATION_PARTIAL) == 1,
		"%zu and %zu left out", count_gaps(list, ITERATION_EVALUATION),
		count_gaps(list, ITERATION_PARTIAL));
	usual_ns = list->items[3].end_ns - list->items[3].begin_ns;
	for (size_t i = 0; i < list->count; i++) {
		const struct iteration *item = &list->items[i];
		bool inside = false;

		for (int w = 0; w < 2; w++)
			inside |= windows[w].begin_ns <= item->begin_ns && item->begin_ns < windows[w].end_ns;
		CHECK(inside, "iteration %zu begins where nothing was recorded", i);
		CHECK(item->end_ns - item->begin_ns <= usual_ns + 20000, "iteration %zu is %lld ns long", i,
			(long long)(item->end_ns - item->begin_ns));
		if (item->kind == ITERATION_USED)
			CHECK(llabs(item->end_ns - item->begin_ns - usual_ns) <= 20000,
				"iteration %zu: %lld ns", i, (long long)(item->end_ns - item->begin_ns));
	}
	CHECK(timeline_recorded(&analysis.timeline, &analysis.timeline.processes[0], windows[0].begin_ns,
		      windows[1].begin_ns) == windows[0].end_ns - windows[0].begin_ns,
		"recorded time");
	analysis_free(&analysis);
	model_free(&model);
}

/*
 * Device times in parts of a run alone: of the iterations that lie wholly in one all is as if they had been
 * taken all the time, the others are left out and counted, and the steps of the whole run are told. Ranks
 * whose parts are not the same are compared at iterations that both have.
 */
static void check_untimed(const char *name, struct model_options options)
{
	const size_t count = (size_t)options.iterations;
	const size_t ranks = (size_t)options.processes, common = 40 - 1 - (16 + ranks);
	struct analysis whole, analysis;
	struct pace_steps steps;
	struct model model;

	options.net = MODEL_LENET;
	options.batch = 16;
	options.gpus = 1;
	options.seed = 7;
	model_make(&model, &options);
	model_read(&model, 1, &whole);
	model_free(&model);
	options.untimed[0] = 10;
	options.untimed[1] = 25;
	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	CHECK(analysis.worker_count == ranks, "%s: %zu workers", name, analysis.worker_count);
	for (size_t w = 0; w < analysis.worker_count; w++) {
		const struct analysis_worker *worker = &analysis.workers[w];
		const struct iteration_list *list = &worker->iterations;

		/* from that in which they end to the first one that is whole, whose start is not sure */
		CHECK(list->count == count && list->counts[ITERATION_UNTIMED] == 17 &&
				list->counts[ITERATION_WARMUP] == 1 && list->counts[ITERATION_DIFFERENT] == 0,
			"%s: %zu found, %zu untimed, %zu warm-up, %zu different", name, list->count,
			list->counts[ITERATION_UNTIMED], list->counts[ITERATION_WARMUP],
			list->counts[ITERATION_DIFFERENT]);
		CHECK(worker->used_count == common, "%s: %zu used, expected %zu", name, worker->used_count,
			common);
		for (size_t i = 0; i < worker->used_count; i++) {
			const uint32_t number = worker->used[i];
			const struct phase_times *times = &worker->phases.times[number],
						 *truth = &whole.workers[w].phases.times[number];

			CHECK(number == analysis.workers[0].used[i], "%s: rank %zu uses iteration %u", name,
				w, number);
			CHECK(memcmp(times, truth, sizeof(*times)) == 0,
				"%s: iteration %u takes %lld ns, not %lld, and is idle for %lld ns, not %lld",
				name, number, (long long)times->iteration_ns, (long long)truth->iteration_ns,
				(long long)times->exclusive_ns[PHASE_IDLE_SYNC],
				(long long)truth->exclusive_ns[PHASE_IDLE_SYNC]);
		}
		CHECK(pace_steps(
			      &worker->pace, &analysis.timeline.processes[worker->worker->process], &steps) &&
				steps.count == count - 1 && steps.slow == 0,
			"%s: %zu steps, %zu slow", name, steps.count, steps.slow);
		/* the host's steps: where it does not wait for the device they are its own */
		CHECK(options.run_ahead ||
				fabs(steps.median_ns / analysis_iteration(&whole.workers[w], 1).median - 1) <
					0.05,
			"%s: a step takes %f ns", name, steps.median_ns);
		CHECK(analysis_iterations(&analysis, worker) == (double)count, "%s: %f iterations", name,
			analysis_iterations(&analysis, worker));
	}
	analysis_free(&whole);
	analysis_free(&analysis);
	model_free(&model);
}

int main(int argument_count, char **arguments)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model_options options = cases[i].options;
		struct analysis analysis;
		struct model model;

		if (argument_count > 1 && strcmp(arguments[1], cases[i].name) != 0)
			continue;
		options.batch = 32;
		options.seed = i + 1;
		if (!options.processes)
			options.processes = 1;
		if (!options.gpus)
			options.gpus = 1;
		model_make(&model, &options);
		model_read(&model, cases[i].skip, &analysis);
		CHECK((int)analysis.worker_count == options.processes * options.gpus, "%s: %zu workers",
			cases[i].name, analysis.worker_count);
		for (size_t w = 0; w < analysis.worker_count; w++)
			check_list(cases[i].name, &analysis.workers[w].iterations, &cases[i].expected);
		check_warned(cases[i].name, &analysis, cases[i].expected.by_period);
		model_free(&model);
	}
	check_begins(1, 0);
	check_begins(2, 2);
	check_run_ahead();
	check_late_window();
	check_broken_off();
	check_untimed("untimed", (struct model_options){.iterations = 40, .processes = 1});
	check_untimed("untimed_activities",
		(struct model_options){.iterations = 40, .processes = 1, .activities = true});
	check_untimed("untimed_ahead",
		(struct model_options){
			.iterations = 40, .processes = 1, .run_ahead = true, .activities = true});
	check_untimed("untimed_graph",
		(struct model_options){.iterations = 40, .processes = 1, .activities = true, .graph = 1});
	check_untimed("untimed_ranks",
		(struct model_options){
			.iterations = 40, .processes = 2, .overlap = true, .activities = true});
	return check_end();
}
