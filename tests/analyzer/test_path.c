/*
 * Checks critical paths and changed replays on made-up training programs. What a change predicts is held
 * against the same program made without the thing that was changed; what a path is made of, against what the
 * program was given to do.
 */
#include "check.h"
#include "analyses/replay/critical.h"
#include "model_read.h"
#include "analyses/replay/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double iteration_of(const struct model_options *options)
{
	struct analysis analysis;
	struct model model;
	double mean_ns;

	model_make(&model, options);
	model_read(&model, 1, &analysis);
	mean_ns = analysis_iteration(analysis.workers, analysis.worker_count).mean;
	analysis_free(&analysis);
	model_free(&model);
	return mean_ns;
}

/* The prediction for the run with these changes; the replay without any must be exact. */
static double predicted_of(const char *name, const struct model_options *options,
	const struct whatif_change *changes, const char *layer)
{
	struct whatif_change asked[2];
	size_t count = changes[1].factor > 0 ? 2 : 1;
	struct analysis analysis;
	struct whatif_list list;
	struct replay_job job = {.analysis = &analysis};
	struct model model;
	double predicted_ns;

	memcpy(asked, changes, sizeof(asked));
	model_make(&model, options);
	model_read(&model, 1, &analysis);
	replay_layers(&job);
	for (size_t i = 0; i < count; i++)
		if (asked[i].kind == WHATIF_LAYER)
			asked[i].layer = replay_find_layer(&job, layer);
	replay_job_free(&job);
	whatif_together(&analysis, SIZE_MAX, asked, count, &list);
	CHECK(list.count == 1, "%s: no answer", name);
	CHECK(fabs(list.replayed_ns - list.measured_ns) < 1, "%s: %f replayed, %f measured", name,
		list.replayed_ns, list.measured_ns);
	CHECK(list.cycle_count == 0, "%s: %zu cycles", name, list.cycle_count);
	predicted_ns = list.count ? list.items[0].predicted_ns : NAN;
	whatif_list_free(&list);
	analysis_free(&analysis);
	model_free(&model);
	return predicted_ns;
}

#define LENET .net = MODEL_LENET, .iterations = 10, .batch = 16, .gpus = 1
#define RANKS LENET, .processes = 3
#define RANK_LIKE_OTHERS(number) \
	{ \
		{ \
			.kind = WHATIF_RANK, .worker = (number), .factor = 1 \
		} \
	}

static void check_predictions(void)
{
	static const struct {
		const char *name;
		struct model_options disturbed, other;
		struct whatif_change changes[2]; /* the second counts if its factor is not 0 */
		const char *layer;
	} cases[] = {
		{"one layer slow", {LENET, .processes = 1, .slow = 3, .slow_layer = "conv2"},
			{LENET, .processes = 1}, {{.kind = WHATIF_LAYER, .factor = 3}}, "conv2"},
		{"one layer slow, host ahead",
			{LENET, .processes = 1, .slow = 3, .slow_layer = "fc1", .run_ahead = true},
			{LENET, .processes = 1, .run_ahead = true}, {{.kind = WHATIF_LAYER, .factor = 3}},
			"fc1"},
		{"one layer slow, host times only",
			{LENET, .processes = 1, .slow = 3, .slow_layer = "conv2", .no_device = true},
			{LENET, .processes = 1, .no_device = true}, {{.kind = WHATIF_LAYER, .factor = 3}},
			"conv2"},
		{"one layer slow, each kernel",
			{LENET, .processes = 1, .slow = 3, .slow_layer = "conv2", .activities = true},
			{LENET, .processes = 1, .activities = true}, {{.kind = WHATIF_LAYER, .factor = 3}},
			"conv2"},
		{"one layer slow, input read ahead",
			{LENET, .processes = 1, .slow = 3, .slow_layer = "conv2", .prefetch = true},
			{LENET, .processes = 1, .prefetch = true}, {{.kind = WHATIF_LAYER, .factor = 3}},
			"conv2"},
		{"slow rank", {RANKS, .slow_worker = 2, .slow = 2}, {RANKS}, RANK_LIKE_OTHERS(2), NULL},
		{"slow rank, overlap", {RANKS, .slow_worker = 1, .slow = 2, .overlap = true},
			{RANKS, .overlap = true}, RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, grouped", {RANKS, .slow_worker = 1, .slow = 2, .grouped = true},
			{RANKS, .grouped = true}, RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, fused", {RANKS, .slow_worker = 1, .slow = 2, .fused = true},
			{RANKS, .fused = true}, RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, buckets", {RANKS, .slow_worker = 1, .slow = 2, .bucket = 2},
			{RANKS, .bucket = 2}, RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, host ahead", {RANKS, .slow_worker = 1, .slow = 2, .run_ahead = true},
			{RANKS, .run_ahead = true}, RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, early updates", {RANKS, .slow_worker = 1, .slow = 2, .early = true},
			{RANKS, .early = true}, RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, now and then", {RANKS, .slow_worker = 1, .slow = 2, .slow_every = 2}, {RANKS},
			RANK_LIKE_OTHERS(1), NULL},
		{"slow rank, adam", {RANKS, .slow_worker = 1, .slow = 2, .optimizer = MODEL_ADAM},
			{RANKS, .optimizer = MODEL_ADAM}, RANK_LIKE_OTHERS(1), NULL},
		{"slow host", {RANKS, .slow_worker = 0, .slow_host_ns = 40000}, {RANKS}, RANK_LIKE_OTHERS(0),
			NULL},
		{"slow input", {RANKS, .slow_worker = 0, .slow_input_ns = 300000}, {RANKS},
			RANK_LIKE_OTHERS(0), NULL},
		{"slow input, read ahead",
			{RANKS, .slow_worker = 0, .slow_input_ns = 900000, .prefetch = true},
			{RANKS, .prefetch = true}, RANK_LIKE_OTHERS(0), NULL},
		{"a layer slow, the input slower, read ahead",
			{LENET, .processes = 1, .slow_input_ns = 900000, .slow = 3, .slow_layer = "conv2",
				.prefetch = true},
			{LENET, .processes = 1, .slow_input_ns = 900000, .prefetch = true},
			{{.kind = WHATIF_LAYER, .factor = 3}}, "conv2"},
		{"communication beside the backward pass", {RANKS}, {RANKS, .overlap = true},
			{{.kind = WHATIF_OVERLAP, .factor = 1}}, NULL},
		{"a slow rank, hidden communication", {RANKS, .slow_worker = 1, .slow = 2},
			{RANKS, .overlap = true},
			{{.kind = WHATIF_OVERLAP, .factor = 1},
				{.kind = WHATIF_RANK, .worker = 1, .factor = 1}},
			NULL},
		{"mean of two", {LENET, .processes = 2, .slow_worker = 0, .slow = 2},
			{LENET, .processes = 2, .slow_worker = 0, .slow = 1.5, .second_worker = 1,
				.second_slow = 1.5},
			{{.kind = WHATIF_BALANCE, .factor = 1}}, NULL},
		{"nothing, asked for a rank", {RANKS}, {RANKS}, RANK_LIKE_OTHERS(0), NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double expected_ns = iteration_of(&cases[i].other), disturbed_ns, predicted_ns;

		disturbed_ns = iteration_of(&cases[i].disturbed);
		predicted_ns =
			predicted_of(cases[i].name, &cases[i].disturbed, cases[i].changes, cases[i].layer);
		CHECK(fabs(predicted_ns - expected_ns) <= 0.005 * expected_ns,
			"%s: %.2f us predicted, %.2f us are true, %.2f us with it", cases[i].name,
			predicted_ns / 1e3, expected_ns / 1e3, disturbed_ns / 1e3);
	}
}

struct found {
	struct model model;
	struct analysis analysis;
	struct replay_job job;
	struct critical critical;
};

static void find(struct found *found, const struct model_options *options)
{
	model_make(&found->model, options);
	model_read(&found->model, 1, &found->analysis);
	replay_build(&found->analysis, SIZE_MAX, &found->job);
	critical_find(&found->job, true, &found->critical);
}

static void lose(struct found *found)
{
	critical_free(&found->critical);
	replay_job_free(&found->job);
	analysis_free(&found->analysis);
	model_free(&found->model);
}

/* Phases, and workers, are all of each path; a path is about as long as an iteration. */
static void check_sums(const struct found *found)
{
	const struct critical *critical = &found->critical;

	for (size_t i = 0; i < critical->iteration_count; i++) {
		const struct critical_path *path = &critical->iterations[i];
		double phases_ns = 0, workers_ns = 0;

		for (int p = 0; p < PHASE_COUNT; p++)
			phases_ns += path->phases_ns[p];
		for (size_t w = 0; w < found->analysis.worker_count; w++)
			workers_ns += path->workers_ns[w];
		CHECK(fabs(phases_ns - path->length_ns) < 1 && fabs(workers_ns - path->length_ns) < 1,
			"iteration %zu: %f of phases, %f of workers, %f in all", i, phases_ns, workers_ns,
			path->length_ns);
		CHECK(fabs(path->length_ns / critical->measured_ns - 1) < 0.05,
			"iteration %zu: path %f, iteration %f", i, path->length_ns, critical->measured_ns);
	}
	CHECK(critical->iteration_count == 9, "%zu iterations", critical->iteration_count);
}

/* On one GPU without overlap there is but one path: the exclusive times of the phases that do work. */
static void check_one(void)
{
	struct found found;

	find(&found, &(struct model_options){LENET, .processes = 1});
	check_sums(&found);
	for (enum phase p = 0; p < PHASE_WORK_COUNT; p++) {
		double exclusive_ns = analysis_phase(found.analysis.workers, 1, p, ANALYSIS_EXCLUSIVE).mean;

		/* all but input, of which the host's part has no exact end */
		CHECK(p == PHASE_MD || fabs(found.critical.mean.phases_ns[p] - exclusive_ns) < 1,
			"phase %d: %f on the path, %f in all", p, found.critical.mean.phases_ns[p],
			exclusive_ns);
	}
	for (size_t l = 0; l < found.critical.layer_count; l++)
		CHECK(found.critical.layers[l].compute_slack_ns == 0, "layer %zu has slack", l);
	lose(&found);
}

/* A slow rank has the computation on the path, and of the others only what comes after the last exchange. */
static void check_slow(bool overlap)
{
	const struct model_options options = {RANKS, .slow_worker = 1, .slow = 2, .overlap = overlap};
	struct found found;
	double compute_ns, t_c_ns;

	find(&found, &options);
	check_sums(&found);
	compute_ns = analysis_phase(&found.analysis.workers[1], 1, PHASE_BACKWARD, ANALYSIS_BUSY).mean;
	CHECK(fabs(found.critical.mean.phases_ns[PHASE_BACKWARD] - compute_ns) < 1,
		"backward: %f on the path, %f on the slow rank",
		found.critical.mean.phases_ns[PHASE_BACKWARD], compute_ns);
	CHECK(found.critical.mean.workers_ns[1] > 0.8 * found.critical.mean.length_ns, "rank 1 has %f of %f",
		found.critical.mean.workers_ns[1], found.critical.mean.length_ns);
	CHECK(found.critical.mean.workers_ns[2] < 0.2 * found.critical.mean.length_ns, "rank 2 has %f",
		found.critical.mean.workers_ns[2]);
	/* fc3's gradients come first. Beside the backward pass they have the time that this takes; else none.
	 */
	t_c_ns = found.critical.layers[7].message_slack_ns;
	CHECK(overlap ? t_c_ns > 100e3 : t_c_ns == 0, "fc3's exchange has slack %f", t_c_ns);
	CHECK(found.critical.mean.messages_ns[7] == 0 || !overlap, "fc3's exchange is on the path: %f",
		found.critical.mean.messages_ns[7]);
	lose(&found);
}

/* Beside the backward pass an exchange has slack, but not that of the layer that comes last. */
static void check_slack(void)
{
	struct found found;
	double sum_ns = 0;

	find(&found, &(struct model_options){RANKS, .overlap = true});
	check_sums(&found);
	for (size_t l = 0; l < found.critical.layer_count; l++)
		sum_ns += isfinite(found.critical.layers[l].message_slack_ns)
				  ? found.critical.layers[l].message_slack_ns
				  : 0;
	CHECK(sum_ns > 0, "no exchange has slack");
	CHECK(found.critical.layers[0].message_slack_ns == 0, "conv1's gradients come last: slack %f",
		found.critical.layers[0].message_slack_ns);
	CHECK(found.critical.mean.exposed_ns < found.critical.mean.busy_ns, "nothing is hidden");
	lose(&found);
}

/* S of two ranks of which one computes twice as long: nothing but computing differs, and it takes the mean.
 */
static void check_slowdown(void)
{
	const struct model_options uneven = {LENET, .processes = 2, .slow_worker = 0, .slow = 2};
	const struct model_options even = {
		LENET, .processes = 2, .slow_worker = 0, .slow = 1.5, .second_worker = 1, .second_slow = 1.5};
	double expected = iteration_of(&uneven) / iteration_of(&even), stages;
	struct found found;

	find(&found, &uneven);
	CHECK(fabs(whatif_slowdown(&found.analysis, &stages) - expected) < 0.002, "S is %f, not %f",
		whatif_slowdown(&found.analysis, NULL), expected);
	CHECK(fabs(stages - expected) < 0.002, "S over stages is %f, not %f", stages, expected);
	lose(&found);
	find(&found, &even);
	CHECK(fabs(whatif_slowdown(&found.analysis, NULL) - 1) < 0.001, "S is %f",
		whatif_slowdown(&found.analysis, NULL));
	lose(&found);
}

static bool is_communication(const struct timeline *timeline, const struct timeline_interval *interval)
{
	return timeline->functions[timeline->operations[interval->operation].function].kind == PM_KIND_COMM;
}

/* The first updates of each step, which wait for the last exchange, begin so long after it. How many did. */
static size_t delay_updates(struct timeline *timeline, int64_t after_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < timeline->interval_count; i++)
		for (size_t e = 0; e < timeline->interval_count; e++) {
			struct timeline_interval *update = &timeline->intervals[i];
			const struct timeline_interval *exchange = &timeline->intervals[e];

			if (is_communication(timeline, update) || !is_communication(timeline, exchange) ||
				update->begin_ns != exchange->end_ns)
				continue;
			update->begin_ns += after_ns;
			update->end_ns += after_ns;
			count++;
			break;
		}
	return count;
}

/* The trace has no waits of queues for each other; or, with `others`, those of exchanges for the backward
 * pass alone. */
static void forget_waits(struct timeline *timeline, bool others)
{
	bool *communicates = calloc(timeline->queue_count + 1, sizeof(*communicates));

	for (size_t i = 0; i < timeline->interval_count; i++)
		communicates[timeline->intervals[i].queue] |=
			is_communication(timeline, &timeline->intervals[i]);
	for (size_t i = 0; i < timeline->call_count; i++)
		if (timeline_function(timeline, &timeline->calls[i])->facts.role == PM_ROLE_STREAM_WAITS &&
			!communicates[timeline->calls[i].queue])
			timeline->calls[i].queue = 0;
	free(communicates);
	for (size_t f = 0; f < timeline->function_count && !others; f++)
		if (timeline->functions[f].facts.role == PM_ROLE_STREAM_WAITS)
			timeline->functions[f].facts.role = PM_ROLE_NONE;
}

static size_t inferred_waits(int64_t after_ns, bool others)
{
	const struct model_options options = {RANKS, .overlap = true};
	struct analysis analysis;
	struct replay_job job;
	struct model model;
	size_t count;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	forget_waits(&analysis.timeline, others);
	CHECK(delay_updates(&analysis.timeline, after_ns) == 3 * 10, "updates that begin after an exchange");
	replay_build(&analysis, SIZE_MAX, &job);
	count = job.inferred_waits;
	replay_job_free(&job);
	analysis_free(&analysis);
	model_free(&model);
	return count;
}

/* Work that begins soon after other work of its device ended has waited for it: where the trace has no waits
 * 15 us are soon, 30 us are not; where it has others 1.5 us and 3 us. */
static void check_inferred(void)
{
	const size_t soon = inferred_waits(15000, false), later = inferred_waits(30000, false);
	const size_t at_once = inferred_waits(1500, true), then = inferred_waits(3000, true);

	CHECK(soon == later + 3 * 9, "%zu of updates 15 us later, %zu of 30 us", soon, later);
	CHECK(at_once == then + 3 * 9, "%zu of updates 1.5 us later, %zu of 3 us", at_once, then);
}

static double gain_of(const struct whatif_list *list, enum whatif_kind kind)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].change.kind == kind)
			return list->items[i].gain_ns;
	return NAN;
}

/* Where nothing runs beside it, what is made faster is won: communication by half; input but for what it
 * takes to begin; each layer by half of what it computes. */
static void check_gains(void)
{
	const struct model_options options = {RANKS};
	struct whatif_list list;
	struct found found;
	double input_ns, layers_ns = 0, gains_ns = 0;

	find(&found, &options);
	whatif_standard(&found.job, 2, &list);
	CHECK(fabs(gain_of(&list, WHATIF_COMMUNICATION) -
		      found.critical.mean.phases_ns[PHASE_COMMUNICATION] / 2) < 10,
		"communication: %f won of %f", gain_of(&list, WHATIF_COMMUNICATION),
		found.critical.mean.phases_ns[PHASE_COMMUNICATION]);
	input_ns = found.critical.mean.phases_ns[PHASE_IO] + found.critical.mean.phases_ns[PHASE_H2D] +
		   found.critical.mean.phases_ns[PHASE_MD];
	CHECK(fabs(gain_of(&list, WHATIF_INPUT) - input_ns) < 2000, "input: %f won of %f",
		gain_of(&list, WHATIF_INPUT), input_ns);
	for (size_t i = 0; i < list.count; i++)
		gains_ns += list.items[i].change.kind == WHATIF_LAYER ? list.items[i].gain_ns : 0;
	for (size_t l = 0; l < found.critical.layer_count; l++)
		layers_ns += found.critical.mean.layers_ns[l];
	CHECK(fabs(gains_ns - layers_ns / 2) < 20, "layers: %f won of %f", gains_ns, layers_ns);
	for (size_t i = 1; i < list.count; i++)
		CHECK(list.items[i - 1].gain_ns >= list.items[i].gain_ns, "row %zu wins more", i);
	CHECK(list.count == 9 + 4 + 3 + 1, "%zu questions", list.count);
	whatif_list_free(&list);
	lose(&found);
}

/* Questions leave the job as it was. */
static void check_unchanged(void)
{
	const struct model_options options = {RANKS, .slow_worker = 2, .slow = 1.5};
	struct replay_job before;
	struct whatif_list list;
	struct found found;

	find(&found, &options);
	replay_job_copy(&found.job, &before);
	whatif_standard(&found.job, 2, &list);
	CHECK(found.job.replay.edge_count == before.replay.edge_count &&
		      memcmp(found.job.replay.tasks, before.replay.tasks,
			      before.replay.task_count * sizeof(*before.replay.tasks)) == 0,
		"the job is not as before");
	replay_job_free(&before);
	whatif_list_free(&list);
	lose(&found);
}

int main(void)
{
	check_unchanged();
	check_predictions();
	check_gains();
	check_one();
	check_slow(false);
	check_slow(true);
	check_slack();
	check_slowdown();
	check_inferred();
	return check_end();
}
