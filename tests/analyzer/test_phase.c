/*
 * Checks the two accountings of time: the sweep against a plain look at every nanosecond, exclusive phases
 * that add up to the iteration, and the exact times of a made-up program.
 */
#include "check.h"
#include "model_read.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 300, SPANS = 40, LENGTH = 400 };

static uint64_t random_state = 7;

static int64_t next_random(int64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(random_state >> 33) % below;
}

static void check_sweep(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct phase_span spans[SPANS], plain[SPANS], windows[4];
		int64_t result[4 * (PHASE_LEVELS + 1)], at = next_random(50), sum = 0, covered = 0;
		size_t span_count = (size_t)next_random(SPANS + 1);

		for (size_t i = 0; i < span_count; i++) {
			spans[i].begin_ns = next_random(LENGTH);
			spans[i].end_ns = spans[i].begin_ns + 1 + next_random(60);
			spans[i].level = (uint32_t)next_random(PHASE_LEVELS);
			plain[i] = spans[i];
		}
		for (int w = 0; w < 4; w++) {
			windows[w].begin_ns = at;
			at += next_random(120);
			windows[w].end_ns = at;
			at += next_random(2) * next_random(30);
		}
		phase_sweep(spans, span_count, windows, 4, result);
		for (int w = 0; w < 4; w++) {
			int64_t expected[PHASE_LEVELS + 1] = {0};

			for (int64_t now = windows[w].begin_ns; now < windows[w].end_ns; now++) {
				uint32_t lowest = PHASE_LEVELS;

				for (size_t i = 0; i < span_count; i++)
					if (plain[i].begin_ns <= now && now < plain[i].end_ns &&
						plain[i].level < lowest)
						lowest = plain[i].level;
				expected[lowest]++;
			}
			sum = 0;
			for (int level = 0; level <= PHASE_LEVELS; level++) {
				CHECK(result[w * (PHASE_LEVELS + 1) + level] == expected[level],
					"round %d window %d level %d: %lld, expected %lld", round, w, level,
					(long long)result[w * (PHASE_LEVELS + 1) + level],
					(long long)expected[level]);
				sum += result[w * (PHASE_LEVELS + 1) + level];
			}
			CHECK(sum == windows[w].end_ns - windows[w].begin_ns,
				"round %d window %d: %lld in all", round, w, (long long)sum);
		}
		for (int64_t now = 0; now < LENGTH + 100; now++) {
			bool any = false;

			for (size_t i = 0; i < span_count; i++)
				any |= plain[i].begin_ns <= now && now < plain[i].end_ns;
			covered += any;
		}
		CHECK(phase_union(spans, span_count) == covered, "round %d: union", round);
	}
}

/* Whatever the program, and whatever overlaps: the exclusive phases of each iteration add up to it. */
static void check_sums(void)
{
	static const struct model_options programs[] = {
		{.net = MODEL_LENET,
			.processes = 3,
			.gpus = 1,
			.overlap = true,
			.slow_worker = 1,
			.slow = 1.7},
		{.net = MODEL_LENET, .processes = 1, .gpus = 3, .divide_device = true, .overlap = true},
		{.net = MODEL_MLP, .processes = 2, .gpus = 1, .prefetch = true, .optimizer = MODEL_ADAM},
		{.net = MODEL_AUTOENCODER,
			.processes = 2,
			.gpus = 2,
			.log_every = 2,
			.evaluate_every = 3,
			.evaluate_count = 2},
		{.net = MODEL_LENET, .processes = 2, .gpus = 1, .no_device = true, .overlap = true},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct model_options options = programs[i];
			struct analysis analysis;
			struct model model;

			options.iterations = 7;
			options.batch = 16;
			options.seed = seed;
			model_make(&model, &options);
			model_read(&model, 1, &analysis);
			for (size_t w = 0; w < analysis.worker_count; w++)
				for (size_t j = 0; j < analysis.workers[w].iterations.count; j++) {
					const struct phase_times *times =
						&analysis.workers[w].phases.times[j];
					const struct iteration *item =
						&analysis.workers[w].iterations.items[j];
					int64_t sum = 0;

					for (int phase = 0; phase < PHASE_COUNT; phase++) {
						CHECK(times->exclusive_ns[phase] >= 0,
							"a phase of less than nothing");
						sum += times->exclusive_ns[phase];
					}
					CHECK(sum == item->end_ns - item->begin_ns,
						"program %zu seed %llu worker %zu iteration %zu: %lld, expected %lld",
						i, (unsigned long long)seed, w, j, (long long)sum,
						(long long)(item->end_ns - item->begin_ns));
				}
			analysis_free(&analysis);
			model_free(&model);
		}
}

static void check_times(const char *name, const struct phase_times *times, enum phase phase, int64_t busy_ns,
	int64_t exclusive_ns)
{
	CHECK(times->busy_ns[phase] == busy_ns, "%s, phase %d: busy %lld, expected %lld", name, phase,
		(long long)times->busy_ns[phase], (long long)busy_ns);
	CHECK(times->exclusive_ns[phase] == exclusive_ns, "%s, phase %d: exclusive %lld, expected %lld", name,
		phase, (long long)times->exclusive_ns[phase], (long long)exclusive_ns);
}

/* The durations that the made-up program gives its work, one rank, no chance. */
static void check_exact(void)
{
	struct model_options options = {
		.net = MODEL_MLP, .iterations = 6, .batch = 16, .processes = 1, .gpus = 1};
	const struct phase_times *times;
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	times = &analysis.workers[0].phases.times[3];
	check_times("mlp", times, PHASE_IO, 12000, 12000);
	check_times("mlp", times, PHASE_H2D, 18000, 18000);
	/* Three products and biases, two activations, softmax. */
	check_times("mlp", times, PHASE_FORWARD, 3 * 15000 + 2 * 4000 + 3000, 3 * 15000 + 2 * 4000 + 3000);
	/* Three times gemv and weights, twice data and activation, softmax. */
	check_times("mlp", times, PHASE_BACKWARD, 3 * 15000 + 2 * 16000 + 3000, 3 * 15000 + 2 * 16000 + 3000);
	check_times("mlp", times, PHASE_COMMUNICATION, 0, 0);
	check_times("mlp", times, PHASE_UPDATE, 6000, 6000);
	check_times("mlp", times, PHASE_OTHER, 2000, 2000);
	/* From the end of the second read to the first copy's call, 300 ns and 8 us. */
	check_times("mlp", times, PHASE_MD, 8300, 8300);
	CHECK(times->compute_ns == 56000 + 80000 + 6000, "computing %lld", (long long)times->compute_ns);
	analysis_free(&analysis);
	model_free(&model);
}

/* Communication beside the backward pass: busy as before, exposed only where nothing hides it; waiting is
 * distinguished. */
static void check_overlap(void)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 6,
		.batch = 16,
		.processes = 2,
		.gpus = 1,
		.slow_worker = 1,
		.slow = 2};
	int64_t exposed_ns[2];

	for (int overlap = 0; overlap < 2; overlap++) {
		const struct phase_times *fast, *slow;
		struct analysis analysis;
		struct model model;

		options.overlap = overlap;
		model_make(&model, &options);
		model_read(&model, 1, &analysis);
		fast = &analysis.workers[0].phases.times[3];
		slow = &analysis.workers[1].phases.times[3];
		CHECK(fast->busy_ns[PHASE_COMMUNICATION] > slow->busy_ns[PHASE_COMMUNICATION],
			"the fast rank waits");
		CHECK(fast->wait_ns > 0 && slow->wait_ns == 0, "waiting: %lld and %lld",
			(long long)fast->wait_ns, (long long)slow->wait_ns);
		/* Without waiting both move the same data. */
		CHECK(fast->busy_ns[PHASE_COMMUNICATION] - fast->wait_ns ==
				slow->busy_ns[PHASE_COMMUNICATION],
			"moving: %lld and %lld",
			(long long)(fast->busy_ns[PHASE_COMMUNICATION] - fast->wait_ns),
			(long long)slow->busy_ns[PHASE_COMMUNICATION]);
		CHECK(slow->compute_ns == 2 * fast->compute_ns, "computing: %lld and %lld",
			(long long)slow->compute_ns, (long long)fast->compute_ns);
		exposed_ns[overlap] = slow->exclusive_ns[PHASE_COMMUNICATION];
		if (!overlap)
			CHECK(slow->exclusive_ns[PHASE_COMMUNICATION] == slow->busy_ns[PHASE_COMMUNICATION],
				"all of it is exposed");
		analysis_free(&analysis);
		model_free(&model);
	}
	CHECK(exposed_ns[1] < exposed_ns[0] / 2, "exposed: %lld after, %lld overlapped",
		(long long)exposed_ns[0], (long long)exposed_ns[1]);
}

/* Which phase works at this instant, by the truth of the program, most important first; PHASE_COUNT: none. */
static enum phase phase_at(const struct analysis *analysis, const struct model_process *truth, int64_t now_ns)
{
	static const enum phase order[] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COMMUNICATION,
		PHASE_MD, PHASE_H2D, PHASE_OTHER, PHASE_IO};
	const struct timeline_process *process = &analysis->timeline.processes[0];
	bool works[PHASE_COUNT + 1] = {false};

	for (size_t i = process->first_call, t = 0; i < process->first_call + process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&analysis->timeline, i);
		int64_t begin_ns = call->begin_ns, end_ns = call->end_ns;

		while (t < truth->call_count && truth->calls[t].begin_ns < (uint64_t)call->begin_ns)
			t++;
		if (t == truth->call_count || truth->calls[t].begin_ns != (uint64_t)call->begin_ns)
			continue;
		if (call->interval_count) {
			begin_ns = timeline_interval(&analysis->timeline, call->interval).begin_ns;
			end_ns = timeline_interval(&analysis->timeline, call->interval).end_ns;
		}
		works[truth->calls[t].phase] |= begin_ns <= now_ns && now_ns < end_ns;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (works[order[i]])
			return order[i];
	return PHASE_COUNT;
}

/* Every so-manyth ns of an iteration full of overlap, against the truth. */
static void check_priorities(void)
{
	enum { STEP_NS = 50 };
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 4,
		.batch = 16,
		.processes = 2,
		.gpus = 1,
		.overlap = true,
		.early = true,
		.slow_worker = 1,
		.slow = 1.3};
	const struct iteration *item;
	int64_t found[PHASE_COUNT + 1] = {0};
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	item = &analysis.workers[0].iterations.items[2];
	/* All times of the program are multiples of 50 ns. */
	for (int64_t now_ns = item->begin_ns; now_ns < item->end_ns; now_ns += STEP_NS)
		found[phase_at(&analysis, &model.processes[0], now_ns)] += STEP_NS;
	for (int phase = 0; phase < PHASE_WORK_COUNT; phase++)
		if (phase != PHASE_MD)
			CHECK(llabs(found[phase] - analysis.workers[0].phases.times[2].exclusive_ns[phase]) <=
					STEP_NS * 20,
				"phase %d: %lld, expected %lld", phase,
				(long long)analysis.workers[0].phases.times[2].exclusive_ns[phase],
				(long long)found[phase]);
	CHECK(found[PHASE_UPDATE] == analysis.workers[0].phases.times[2].busy_ns[PHASE_UPDATE] &&
			found[PHASE_COMMUNICATION] <
				analysis.workers[0].phases.times[2].busy_ns[PHASE_COMMUNICATION],
		"the case has updates beside communication");
	analysis_free(&analysis);
	model_free(&model);
}

static void analyze(struct model_options options, struct model *model, struct analysis *analysis)
{
	options.iterations = 6;
	options.batch = 16;
	model_make(model, &options);
	model_read(model, 1, analysis);
}

/* Two kernels for each call, end to end, are the same work as one interval: so are all times. */
static void check_activities(void)
{
	static const struct model_options programs[] = {
		{.net = MODEL_LENET, .processes = 1, .gpus = 1},
		{.net = MODEL_LENET, .processes = 2, .gpus = 1, .grouped = true, .slow_worker = 1, .slow = 2},
		{.net = MODEL_LENET, .processes = 1, .gpus = 2, .overlap = true, .divide_device = true},
	};

	for (size_t p = 0; p < sizeof(programs) / sizeof(*programs); p++) {
		struct model_options options = programs[p];
		struct analysis events, activities;
		struct model models[2];

		analyze(options, &models[0], &events);
		options.activities = true;
		analyze(options, &models[1], &activities);
		CHECK(activities.timeline.interval_count > events.timeline.interval_count,
			"program %zu: %zu intervals, %zu of events", p, activities.timeline.interval_count,
			events.timeline.interval_count);
		for (size_t w = 0; w < events.worker_count; w++)
			for (size_t i = 0; i < events.workers[w].iterations.count; i++)
				CHECK(memcmp(&events.workers[w].phases.times[i],
					      &activities.workers[w].phases.times[i],
					      sizeof(struct phase_times)) == 0,
					"program %zu worker %zu iteration %zu: other times by activities", p,
					w, i);
		for (size_t w = 0; w < events.worker_count; w++)
			for (size_t i = 0; i < 6 * events.workers[w].layers.count * PHASE_LAYER_COLUMNS; i++)
				CHECK(llabs((long long)(events.workers[w].phases.layers_ns[i] -
							activities.workers[w].phases.layers_ns[i])) <= 1,
					"program %zu worker %zu: layer time %zu is %f, expected %f", p, w, i,
					activities.workers[w].phases.layers_ns[i],
					events.workers[w].phases.layers_ns[i]);
		analysis_free(&events);
		analysis_free(&activities);
		model_free(&models[0]);
		model_free(&models[1]);
	}
}

/* Time between the kernels of a call is no work: it waits in the queue. */
static void check_gaps(void)
{
	struct model_options options = {.net = MODEL_MLP, .processes = 1, .gpus = 1, .activities = true};
	int64_t idle_ns[2], work_ns[2];

	for (int gap = 0; gap < 2; gap++) {
		const struct phase_times *times;
		struct analysis analysis;
		struct model model;

		options.gap_ns = gap ? 700 : 0;
		analyze(options, &model, &analysis);
		times = &analysis.workers[0].phases.times[3];
		idle_ns[gap] = times->exclusive_ns[PHASE_IDLE_QUEUE];
		work_ns[gap] = times->compute_ns;
		CHECK(times->exclusive_ns[PHASE_FORWARD] == times->busy_ns[PHASE_FORWARD],
			"forward: %lld of %lld", (long long)times->exclusive_ns[PHASE_FORWARD],
			(long long)times->busy_ns[PHASE_FORWARD]);
		analysis_free(&analysis);
		model_free(&model);
	}
	/* 9 forward, 11 backward and 3 update calls. */
	CHECK(work_ns[0] == work_ns[1] && idle_ns[1] - idle_ns[0] == 23 * 700,
		"working %lld and %lld, idle %lld more", (long long)work_ns[0], (long long)work_ns[1],
		(long long)(idle_ns[1] - idle_ns[0]));
}

/* What the phases of iteration 3 of a program in graphs must be: as without, or in one. */
static void check_graphs(void)
{
	static const enum phase passes[] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_OTHER};
	struct model_options options = {.net = MODEL_LENET, .processes = 1, .gpus = 1};
	struct analysis eager;
	struct model eager_model;
	int64_t all_ns = 0;

	analyze(options, &eager_model, &eager);
	for (size_t i = 0; i < 4; i++)
		all_ns += eager.workers[0].phases.times[3].busy_ns[passes[i]];
	for (options.graph = 1; options.graph <= 3; options.graph++)
		for (int activities = 0; activities < 2; activities++) {
			const int64_t *expected = eager.workers[0].phases.times[3].busy_ns, *found;
			const struct analysis_worker *worker;
			struct analysis analysis;
			struct model model;
			int64_t graph_ns;
			bool whole = options.graph == 1 && !activities;

			options.activities = activities;
			analyze(options, &model, &analysis);
			worker = &analysis.workers[0];
			found = worker->phases.times[3].busy_ns;
			graph_ns = found[PHASE_GRAPH];
			CHECK(worker->iterations.count == 6 && worker->iterations.confidence == 1,
				"graph %d: %zu iterations", options.graph, worker->iterations.count);
			for (size_t i = 0; i < 4 && activities; i++)
				CHECK(found[passes[i]] == expected[passes[i]],
					"graph %d phase %d: %lld, expected %lld", options.graph, passes[i],
					(long long)found[passes[i]], (long long)expected[passes[i]]);
			CHECK(!activities || graph_ns == 0, "graph %d: %lld in graphs", options.graph,
				(long long)graph_ns);
			CHECK(!whole || graph_ns == all_ns, "one graph: %lld, expected %lld",
				(long long)graph_ns, (long long)all_ns);
			CHECK(!whole || found[PHASE_FORWARD] + found[PHASE_BACKWARD] + found[PHASE_UPDATE] ==
						0,
				"one graph: other phases have time");
			if (options.graph == 2 && !activities)
				CHECK(graph_ns == expected[PHASE_FORWARD] + expected[PHASE_BACKWARD] +
								expected[PHASE_OTHER] &&
						found[PHASE_UPDATE] == expected[PHASE_UPDATE],
					"graph of two phases: %lld", (long long)graph_ns);
			/* All of one phase but the copy of the result. */
			if (options.graph == 3 && !activities)
				CHECK(graph_ns == 0 &&
						found[PHASE_FORWARD] ==
							expected[PHASE_FORWARD] + expected[PHASE_OTHER] &&
						found[PHASE_BACKWARD] == expected[PHASE_BACKWARD],
					"graph of one phase: %lld", (long long)found[PHASE_FORWARD]);
			/* Conv1's forward pass is in the graph, its update only in the first one. */
			CHECK(worker->phases.unknown[PHASE_LAYER_FORWARD] == !activities &&
					worker->phases.unknown[PHASE_LAYER_UPDATE] == whole,
				"graph %d: which times are unattributed", options.graph);
			for (size_t l = 0; l < worker->layers.count && activities; l++)
				for (int column = 0; column < PHASE_LAYER_COLUMNS; column++) {
					size_t at = (3 * worker->layers.count + l) * PHASE_LAYER_COLUMNS +
						    (size_t)column;

					CHECK(worker->phases.layers_ns[at] ==
							eager.workers[0].phases.layers_ns[at],
						"graph %d: column %d of %s", options.graph, column,
						worker->layers.items[l].name);
				}
			analysis_free(&analysis);
			model_free(&model);
		}
	analysis_free(&eager);
	model_free(&eager_model);
}

int main(void)
{
	check_sweep();
	check_sums();
	check_exact();
	check_overlap();
	check_priorities();
	check_activities();
	check_gaps();
	check_graphs();
	return check_end();
}
