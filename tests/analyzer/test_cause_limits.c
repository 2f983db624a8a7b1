/*
 * Checks from what size on each cause of waiting is named: the finders are given figures that a measurement
 * might have on either side of it, of a worker and its peer.
 */
#include "analyses/cause/cause_find.h"
#include "check.h"

#include <stdlib.h>

enum { OWN, PEER, WORKERS, SAMPLES = 20, MOST_LAYERS = 8 };

#define ITERATION_NS 10e6
#define PERCENT (ITERATION_NS / 100)

/* Worker OWN is looked into, in iterations of 10 ms. */
struct job {
	struct analysis analysis;
	struct analysis_worker workers[WORKERS];
	struct layer layers[WORKERS][MOST_LAYERS];
	struct cause_cell cells[WORKERS][MOST_LAYERS];
	double values[WORKERS][SAMPLES]; /* of the one figure that in_iterations has set */
	double sums[WORKERS][MOST_LAYERS][SAMPLES];
	struct cause_measure measures[WORKERS];
	struct host_calls calls[WORKERS];
	struct cause_list list;
	struct cause_search search;
};

static void begin(struct job *job)
{
	*job = (struct job){.analysis = {.workers = job->workers, .worker_count = WORKERS, .stage_count = 1}};
	for (int w = 0; w < WORKERS; w++)
		job->measures[w] = (struct cause_measure){
			.worker = &job->workers[w], .sample_count = SAMPLES, .cells = job->cells[w]};
	job->search = (struct cause_search){.analysis = &job->analysis,
		.measures = job->measures,
		.calls = job->calls,
		.list = &job->list,
		.iteration_ns = ITERATION_NS,
		.own = &job->measures[OWN],
		.peer = &job->measures[PEER],
		.own_calls = &job->calls[OWN],
		.peer_calls = &job->calls[PEER]};
}

/* The kind of the first cause that was found, or CAUSE_COUNT. */
static enum cause_kind end(struct job *job)
{
	enum cause_kind kind = job->list.count ? job->list.items[0].kind : CAUSE_COUNT;

	cause_free(&job->list);
	return kind;
}

/* The figure has this time in the first `count` iterations, and none in the others. */
static void in_iterations(struct job *job, int worker, struct cause_figure *figure, double ns, size_t count)
{
	figure->values = job->values[worker];
	figure->median = ns;
	for (size_t i = 0; i < SAMPLES; i++)
		figure->values[i] = i < count ? ns : 0;
}

/* A layer of one forward call, which takes so long. */
static void add_layer(struct job *job, int worker, const char *name, const char *input, double ns)
{
	struct layer_list *layers = &job->workers[worker].layers;
	struct cause_measure *measure = &job->measures[worker];
	const size_t number = layers->count++;

	layers->items = job->layers[worker];
	layers->items[number] = (struct layer){.name = name, .module = "", .input = input};
	for (size_t i = 0; i < SAMPLES; i++)
		job->sums[worker][number][i] = ns;
	measure->cells[measure->cell_count++] = (struct cause_cell){.layer = (uint32_t)number,
		.phase = PHASE_FORWARD,
		.key = number,
		.work = 1,
		.count = 1,
		.time_ns = ns,
		.sums = job->sums[worker][number]};
	measure->compute.median += ns;
}

static void check_matters(void)
{
	struct job job;

	begin(&job);
	CHECK(!cause_matters(&job.search, 0.7 * PERCENT) && cause_matters(&job.search, 1.5 * PERCENT),
		"0.7 and 1.5%% of an iteration");
	job.search.wait_caused_ns = 40 * PERCENT;
	CHECK(!cause_matters(&job.search, 3 * PERCENT) && cause_matters(&job.search, 6 * PERCENT),
		"3 and 6%% of an iteration, of which the other waits for 40%%");
	end(&job);
}

/* Of what the worker takes longer, and in how many iterations. */
static bool counts(double percent, size_t iterations)
{
	struct job job;

	begin(&job);
	job.measures[OWN].compute.median = (20 - percent) * PERCENT;
	in_iterations(&job, OWN, &job.measures[OWN].lead, percent * PERCENT, iterations);
	return cause_figure_counts(
		&job.search, &job.measures[OWN].lead, &job.measures[PEER].lead, percent * PERCENT);
}

static void check_figures(void)
{
	CHECK(!counts(2, SAMPLES) && counts(4, SAMPLES),
		"a tenth and a fifth of what the worker takes longer");
	CHECK(!counts(10, 12) && counts(10, 17), "in 12 and in 17 of 20 iterations");
}

/* All layers, slower by a factor. */
static bool slower(double times)
{
	static const char *const names[] = {"conv1", "conv2", "fc1", "fc2"};
	struct job job;

	begin(&job);
	for (int w = 0; w < WORKERS; w++)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			add_layer(&job, w, names[i], "", (w == OWN ? times : 1) * 20 * PERCENT);
	cause_compare(&job.measures[OWN], &job.measures[PEER], &job.list.arena, &job.search.comparison);
	end(&job);
	return job.search.comparison.slower;
}

/* Beside two layers that do all the work, one that has so much of it. */
static size_t layers_compared(double percent)
{
	struct job job;

	begin(&job);
	for (int w = 0; w < WORKERS; w++) {
		add_layer(&job, w, "conv1", "", 40 * PERCENT);
		add_layer(&job, w, "conv2", "", (60 - percent) * PERCENT);
		add_layer(&job, w, "relu", "", percent * PERCENT);
	}
	cause_compare(&job.measures[OWN], &job.measures[PEER], &job.list.arena, &job.search.comparison);
	end(&job);
	return job.search.comparison.counted;
}

/* Layers take 1.5 times as long, and their input is so much larger. */
static enum cause_kind by_input(const char *input)
{
	struct job job;

	begin(&job);
	add_layer(&job, OWN, "fc1", input, 60 * PERCENT);
	add_layer(&job, PEER, "fc1", "100x512", 40 * PERCENT);
	cause_compare(&job.measures[OWN], &job.measures[PEER], &job.list.arena, &job.search.comparison);
	cause_find_slower(&job.search);
	return end(&job);
}

static void check_layers(void)
{
	CHECK(!slower(1.02) && slower(1.045), "1.02 and 1.045 times as long");
	CHECK(layers_compared(0.35) == 2 && layers_compared(0.8) == 3, "a layer of 0.35 and of 0.8%%");
	CHECK(by_input("115x512") == CAUSE_SLOWER && by_input("140x512") == CAUSE_WORK,
		"layers take 1.5 times as long with an input of 1.15 and of 1.4 times the size");
}

/* Two stages of a pipeline compute for these shares of an iteration, in percent: is the first one named? */
static bool stage_is_named(double own, double other)
{
	struct job job;

	begin(&job);
	job.analysis.stage_count = WORKERS;
	for (uint32_t w = 0; w < WORKERS; w++) {
		job.workers[w].stage = w;
		job.measures[w].iteration.median = ITERATION_NS;
		job.measures[w].compute.median = (w == OWN ? own : other) * PERCENT;
	}
	cause_measure_stages(&job.search);
	job.search.peer = NULL;
	cause_find_stage(&job.search);
	free(job.search.stages);
	return end(&job) == CAUSE_STAGE;
}

/* A message, slower by a factor than one of the same size between two other stages. */
static bool link_is_named(double times)
{
	struct exchange messages[] = {
		{.from = 0, .to = 1, .bytes = 1e6, .end_ns = (int64_t)(times * 10 * PERCENT)},
		{.from = 1, .to = 2, .bytes = 1e6, .end_ns = (int64_t)(10 * PERCENT)}};
	struct job job;

	begin(&job);
	job.workers[0].used_count = job.workers[1].used_count = 1;
	job.search.exchanges = (struct exchange_list){.items = messages, .count = 2};
	cause_find_link(&job.search);
	return end(&job) == CAUSE_LINK;
}

static void check_pipelines(void)
{
	CHECK(!stage_is_named(90, 87.5) && stage_is_named(90, 83), "a stage 1.03 and 1.08 times as busy");
	CHECK(!stage_is_named(11, 9.5) && stage_is_named(33, 30),
		"a stage that is busy for 1.5 and 3%% more");
	CHECK(!link_is_named(1.2) && link_is_named(1.5), "a link that takes 1.2 and 1.5 times as long");
}

/* The device waits so often for launches, each time so long; for `outside` of that its host is in no call. */
static enum cause_kind by_gaps(size_t gaps, double each_ns, double outside)
{
	const double late_ns = (double)gaps * each_ns;
	struct job job;

	begin(&job);
	in_iterations(&job, OWN, &job.measures[OWN].host, late_ns, SAMPLES);
	job.measures[OWN].late_count = gaps * SAMPLES;
	job.calls[OWN].outside.typical_ns = outside * late_ns;
	job.search.late_ns = late_ns;
	cause_find_host(&job.search);
	return end(&job);
}

/* The host waits for its device so much more often than its peer, and launches come late after it. */
static enum cause_kind by_waits(double more)
{
	struct host_call calls[WORKERS] = {
		{.name = "cudaStreamSynchronize", .kind = PM_KIND_SYNC, .count = 2 + more},
		{.name = "cudaStreamSynchronize", .kind = PM_KIND_SYNC, .count = 2}};
	struct job job;

	begin(&job);
	for (int w = 0; w < WORKERS; w++) {
		job.calls[w].items = &calls[w];
		job.calls[w].count = 1;
	}
	in_iterations(&job, OWN, &job.measures[OWN].host, 20 * PERCENT, SAMPLES);
	job.search.late_ns = 20 * PERCENT;
	cause_find_host(&job.search);
	return end(&job);
}

static void check_hosts(void)
{
	CHECK(by_gaps(7, 1e6, 1) == CAUSE_PAUSE && by_gaps(14, 1e6, 1) == CAUSE_HOST,
		"7 pauses of a millisecond, and 14");
	CHECK(by_gaps(5, 70e3, 1) == CAUSE_HOST && by_gaps(5, 150e3, 1) == CAUSE_PAUSE,
		"5 gaps of 70 us, and of 150");
	CHECK(by_gaps(5, 1e6, 0.3) == CAUSE_HOST && by_gaps(5, 1e6, 0.7) == CAUSE_PAUSE,
		"of which the host is in no call for 30%%, and for 70%%");
	CHECK(!host_call_waits(PM_KIND_COPY, 70e3) && host_call_waits(PM_KIND_COPY, 150e3),
		"a copy that takes the host 70 us, and 150");
	CHECK(by_waits(0.3) == CAUSE_HOST && by_waits(0.7) == CAUSE_CALL,
		"waiting once more in every third step, and in seven of ten");
}

int main(void)
{
	check_matters();
	check_figures();
	check_layers();
	check_pipelines();
	check_hosts();
	return check_end();
}
