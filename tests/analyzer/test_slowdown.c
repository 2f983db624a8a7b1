/*
 * Checks slowdown and cause of labelled jobs against closed forms: jobs are written as
 * traces in several spellings (labelled_job.h), and read back.
 */
#include "check.h"
#include "labelled_job.h"
#include "analyses/slowdown/slowdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct result {
	struct labelled job;
	struct labelled_graph graph;
	struct slowdown slowdown;
	char path[64];
};

static bool read_back(struct result *result, int stages)
{
	const char *error;
	bool good;

	memset(&result->job, 0, sizeof(result->job));
	good = labelled_read(&result->job, result->path, &error) == 0 &&
	       labelled_settle(&result->job, stages, 0, &error) == 0;
	CHECK(good, "%s", error);
	if (good) {
		labelled_graph_make(&result->graph, &result->job);
		slowdown_find(&result->slowdown, &result->job, &result->graph, SLOWDOWN_LEAST);
	}
	unlink(result->path);
	return good;
}

static FILE *begin_file(struct result *result)
{
	strcpy(result->path, "/tmp/test_slowdown.XXXXXX");
	return fdopen(mkstemp(result->path), "w");
}

static bool make(struct labelled_job *job, struct result *result)
{
	job->out = begin_file(result);
	job->now = 0;
	job->comma = false;
	fputs(job->style == PAIRS ? "{\"traceEvents\": [" : "[", job->out);
	labelled_job_put_names(job);
	for (int step = 0; step < job->steps; step++)
		labelled_job_put_step(job, step);
	fputs(job->style == PAIRS ? "], \"other\": 1}" : "]", job->out);
	fclose(job->out);
	return read_back(result, job->style == RANKS ? job->stages : 0);
}

static void discard(struct result *result)
{
	slowdown_free(&result->slowdown);
	labelled_graph_free(&result->graph);
	labelled_free(&result->job);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-5 * fabs(b);
}

/* T and T_ideal in us. */
static void check_times(
	const struct result *result, const char *what, double replayed, double ideal, int cause)
{
	const struct slowdown *slowdown = &result->slowdown;

	CHECK(near(slowdown->replayed_ns / 1000, replayed), "%s: T %f, expected %f", what,
		slowdown->replayed_ns / 1000, replayed);
	CHECK(near(slowdown->ideal_ns / 1000, ideal), "%s: T ideal %f, expected %f", what,
		slowdown->ideal_ns / 1000, ideal);
	CHECK(near(slowdown->slowdown, replayed / ideal), "%s: S %f", what, slowdown->slowdown);
	CHECK(slowdown->cause == cause, "%s: cause %s, expected %s: %s", what,
		slowdown_effect_key(slowdown->cause), slowdown_effect_key(cause), slowdown->cause_words);
	CHECK(result->graph.contradicted == 0 && result->graph.unmatched == 0, "%s: %zu %zu", what,
		result->graph.contradicted, result->graph.unmatched);
}

/* T = (M + P - 1)(f + b), S = 1. */
static void check_even(enum labelled_style style)
{
	struct labelled_job job;
	struct result result;

	labelled_job_init(&job, 4, 2, 8);
	job.style = style;
	job.reduce = 70;
	job.update = 30;
	if (!make(&job, &result))
		return;
	check_times(&result, "even", (8 + 3) * 300 + 100, (8 + 3) * 300 + 100, -1);
	CHECK(result.job.worker_count == 8 && result.job.step_count == LABELLED_STEPS,
		"style %d: %zu workers, %zu steps", style, result.job.worker_count, result.job.step_count);
	CHECK(!result.slowdown.recurring, "even: %s", result.slowdown.recurring);
	discard(&result);
}

/* The last stage twice as slow: T = (P - 1)(f + b) + 2 M (f + b), the mean is (P + 1) / P of the others'. */
static void check_stage(enum labelled_style style)
{
	struct labelled_job job;
	struct result result;
	double ideal = (8 + 3) * 300 * 5 / 4.0;

	labelled_job_init(&job, 4, 2, 8);
	job.style = style;
	for (int step = 0; step < LABELLED_STEPS; step++)
		for (int data = 0; data < 2; data++)
			for (int batch = 0; batch < 8; batch++)
				job.factor[step][3][data][batch][0] = job.factor[step][3][data][batch][1] = 2;
	if (!make(&job, &result))
		return;
	check_times(&result, "stage", 3 * 300 + 2 * 8 * 300, ideal, SLOWDOWN_STAGES);
	CHECK(near(result.slowdown.effect_ns[SLOWDOWN_STAGES] / 1000, ideal), "an even partition");
	CHECK(result.slowdown.recurring && strcmp(result.slowdown.recurring, "stage 3") == 0, "recurring: %s",
		result.slowdown.recurring ? result.slowdown.recurring : "none");
	CHECK(strstr(result.slowdown.cause_words, "stage 3, the last, takes 2.00×") != NULL, "%s",
		result.slowdown.cause_words);
	/* Without it all have the mean but stages 0 to 2, which have less: the last still counts. */
	CHECK(result.slowdown.last_explained >= 1, "M_S %f", result.slowdown.last_explained);
	discard(&result);
}

/* One of the four workers of a stage is slow: its stage is not, and evening out the stages gains nothing. */
static void check_worker_of_stage(void)
{
	struct labelled_job job;
	struct result result;

	labelled_job_init(&job, 4, 4, 8);
	for (int step = 0; step < LABELLED_STEPS; step++)
		for (int batch = 0; batch < 8; batch++)
			job.factor[step][0][1][batch][0] = job.factor[step][0][1][batch][1] = 2.5;
	if (!make(&job, &result))
		return;
	CHECK(result.slowdown.cause == SLOWDOWN_WORKERS, "cause %d", result.slowdown.cause);
	CHECK(strstr(result.slowdown.cause_words,
		      "dp1/pp0 takes 2.50× the mean computing time of the other workers"),
		"%s", result.slowdown.cause_words);
	CHECK(near(result.slowdown.effect_ns[SLOWDOWN_STAGES], result.slowdown.replayed_ns),
		"even stages gain %f of %f",
		result.slowdown.replayed_ns - result.slowdown.effect_ns[SLOWDOWN_STAGES],
		result.slowdown.replayed_ns);
	CHECK(near(result.slowdown.effect_ns[SLOWDOWN_WORKERS] / 1000, (8 + 3) * 300),
		"without the worker: %f", result.slowdown.effect_ns[SLOWDOWN_WORKERS] / 1000);
	discard(&result);
}

/* One of D data ranks k times slower: T = k M (f + b) + r + u against the mean. */
static void check_worker(void)
{
	struct labelled_job job;
	struct result result;
	double k = 1.5, mean = (3 + k) / 4;

	labelled_job_init(&job, 1, 4, 8);
	job.reduce = 70;
	job.update = 30;
	for (int step = 0; step < LABELLED_STEPS; step++)
		for (int batch = 0; batch < 8; batch++)
			job.factor[step][0][2][batch][0] = job.factor[step][0][2][batch][1] = k;
	if (!make(&job, &result))
		return;
	check_times(&result, "worker", k * 8 * 300 + 100, mean * 8 * 300 + 100, SLOWDOWN_WORKERS);
	CHECK(result.slowdown.recurring && strcmp(result.slowdown.recurring, "dp2/pp0") == 0, "recurring: %s",
		result.slowdown.recurring ? result.slowdown.recurring : "none");
	CHECK(result.slowdown.worst == 2 && result.slowdown.worst_count == 1, "worst %zu",
		result.slowdown.worst);
	CHECK(near(result.slowdown.worst_explained, 1), "M_W %f", result.slowdown.worst_explained);
	CHECK(near(result.slowdown.workers[2].slowdown, (k * 2400 + 100) / (mean * 2400 + 100)), "S_w");
	CHECK(near(result.slowdown.workers[1].slowdown, 1), "S_w of another");
	discard(&result);
}

/* All of a data rank k times slower: the job waits for it. */
static void check_data_rank(void)
{
	struct labelled_job job;
	struct result result;
	double k = 1.4, mean = (3 + k) / 4;

	labelled_job_init(&job, 3, 4, 8);
	job.reduce = 70;
	for (int i = 0; i < LABELLED_STEPS * 3 * 8 * 2; i++)
		job.factor[i / 48][i / 16 % 3][1][i / 2 % 8][i % 2] = k;
	if (!make(&job, &result))
		return;
	check_times(
		&result, "data rank", k * (8 + 2) * 300 + 70, mean * (8 + 2) * 300 + 70, SLOWDOWN_WORKERS);
	CHECK(result.slowdown.recurring && strcmp(result.slowdown.recurring, "data rank 1") == 0,
		"recurring: %s", result.slowdown.recurring ? result.slowdown.recurring : "none");
	CHECK(near(result.slowdown.data[1].explained, 1), "explains %f", result.slowdown.data[1].explained);
	discard(&result);
}

/* One micro-batch: T = P (f + b) + 2 (P - 1) c, and 9 c more where one link takes 10 c. */
static void check_link(void)
{
	struct labelled_job job;
	struct result result;
	double ideal = 3 * 300 + 4 * 20;

	labelled_job_init(&job, 3, 2, 1);
	job.message = 20;
	job.link[1][1] = 10;
	if (!make(&job, &result))
		return;
	check_times(&result, "link", ideal + 9 * 20, ideal, SLOWDOWN_COMMUNICATION);
	CHECK(strstr(result.slowdown.cause_words, "between dp1/pp1 and dp1/pp2 take 10.0×") ||
			strstr(result.slowdown.cause_words, "between dp1/pp2 and dp1/pp1 take 10.0×"),
		"%s", result.slowdown.cause_words);
	CHECK(!result.slowdown.recurring, "recurring");
	discard(&result);
}

/* Data ranks wait for the longest sum: work differs both ways, or one operation pauses forward. */
static void check_batches(bool pauses)
{
	struct labelled_job job;
	struct result result;
	double replayed = 0, forward = 0, backward = 0;

	labelled_job_init(&job, 1, 2, 8);
	job.reduce = 70;
	for (int step = 0; step < LABELLED_STEPS; step++) {
		double longest = 0;

		for (int data = 0; data < 2; data++) {
			double sum = 0;

			for (int batch = 0; batch < 8; batch++) {
				double *factor = job.factor[step][0][data][batch];

				factor[0] = pauses ? ((step + data) % 2 && batch == step ? 2.9 : 1)
						   : (0.5 + (step * 7 + data * 5 + batch * 3) % 11 * 0.1) *
							     (data == step % 2 ? 1.5 : 1);
				factor[1] = pauses ? 1 : factor[0];
				sum += factor[0] * 100 + factor[1] * 200;
				forward += factor[0] * 100 / (LABELLED_STEPS * 2 * 8);
				backward += factor[1] * 200 / (LABELLED_STEPS * 2 * 8);
			}
			longest = fmax(longest, sum);
		}
		replayed += (longest + 70) / LABELLED_STEPS;
	}
	if (!make(&job, &result))
		return;
	check_times(&result, pauses ? "pauses" : "batches", replayed, 8 * (forward + backward) + 70,
		SLOWDOWN_BATCHES);
	CHECK(strstr(result.slowdown.cause_words, pauses ? "Pauses: 4 of 128" : "Micro-batches differ"), "%s",
		result.slowdown.cause_words);
	discard(&result);
}

/* Each step another rank collects garbage: T = M (f + b) + g + r, ideal with g / D. */
static void check_collection(void)
{
	struct labelled_job job;
	struct result result;

	labelled_job_init(&job, 1, 4, 4);
	job.reduce = 70;
	for (int step = 0; step < LABELLED_STEPS; step++)
		job.collection[step][0][step] = 400;
	if (!make(&job, &result))
		return;
	check_times(&result, "collection", 1200 + 400 + 70, 1200 + 100 + 70, SLOWDOWN_COLLECTION);
	discard(&result);
}

/* One rank collects garbage for 400 us, and another computes longer than the rest: without the one the job
 * waits for the other. */
static bool make_two_causes(double factor, struct result *result)
{
	struct labelled_job job;

	labelled_job_init(&job, 1, 4, 4);
	job.reduce = 70;
	for (int step = 0; step < LABELLED_STEPS; step++) {
		job.collection[step][0][0] = 400;
		for (int batch = 0; batch < 4; batch++)
			job.factor[step][0][2][batch][0] = job.factor[step][0][2][batch][1] = factor;
	}
	return make(&job, result);
}

static void check_two_causes(void)
{
	static const struct {
		double factor;  /* collection explains (300 - x) / (300 - x / 4), x = 1200 (factor - 1) */
		bool explained; /* from 0.3 on */
		bool recurring; /* it computes longer than the mean of the four by 5% */
	} cases[] = {
		{1.03, true, false},          /* 0.91; by 2% */
		{1.08, true, true},           /* 0.74; by 6% */
		{1 + 1.0 / 6, true, true},    /* 0.4 */
		{1 + 17.0 / 80, false, true}, /* 0.19 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const int cause = cases[i].explained ? SLOWDOWN_COLLECTION : -1;
		struct result result;

		if (!make_two_causes(cases[i].factor, &result))
			return;
		CHECK(result.slowdown.cause == cause, "%g: cause %d", cases[i].factor, result.slowdown.cause);
		CHECK(!result.slowdown.recurring == !cases[i].recurring, "%g: recurring %s", cases[i].factor,
			result.slowdown.recurring ? result.slowdown.recurring : "none");
		discard(&result);
	}
}

/* One worker of the second stage takes 2.2 times as long; the other `factor` times. */
static void check_whole_stage(double factor, const char *recurring)
{
	struct labelled_job job;
	struct result result;

	labelled_job_init(&job, 2, 2, 8);
	for (int step = 0; step < LABELLED_STEPS; step++)
		for (int batch = 0; batch < 8; batch++)
			for (int back = 0; back < 2; back++) {
				job.factor[step][1][0][batch][back] = 2.2;
				job.factor[step][1][1][batch][back] = factor;
			}
	if (!make(&job, &result))
		return;
	CHECK(result.slowdown.recurring && strcmp(result.slowdown.recurring, recurring) == 0,
		"%g: recurring %s", factor, result.slowdown.recurring ? result.slowdown.recurring : "none");
	discard(&result);
}

/* Ranks are long and short in turn, forward as backward; backward times differ more in every second
 * micro-batch: they correlate by 0.3 / 0.5. */
static void check_partly_alike(void)
{
	struct labelled_job job;
	struct result result;

	labelled_job_init(&job, 1, 2, 8);
	for (int step = 0; step < LABELLED_STEPS; step++)
		for (int data = 0; data < 2; data++)
			for (int batch = 0; batch < 8; batch++) {
				const double turn = (step + data) % 2 ? 1 : -1, other = batch % 2 ? 1 : -1;

				job.factor[step][0][data][batch][0] = 1 + 0.4 * turn;
				job.factor[step][0][data][batch][1] = 1 + 0.3 * turn + 0.4 * other;
			}
	if (!make(&job, &result))
		return;
	CHECK(result.slowdown.cause == SLOWDOWN_BATCHES &&
			strstr(result.slowdown.cause_words, "uncorrelated between forward and backward"),
		"%s", result.slowdown.cause_words);
	discard(&result);
}

/* What no label explains, as reading input, is in the measured time, not in T. */
static void check_late(void)
{
	struct labelled_job job;
	struct result result;

	labelled_job_init(&job, 1, 2, 8);
	job.reduce = 70;
	job.late = 500;
	if (!make(&job, &result))
		return;
	check_times(&result, "late", 8 * 300 + 70, 8 * 300 + 70, -1);
	CHECK(near(result.slowdown.measured_ns / 1000, 8 * 300 + 70 + 500), "measured %f",
		result.slowdown.measured_ns / 1000);
	discard(&result);
}

/*
 * Two parts of the model in each of two stages: part c of stage s is number 2 c + s. One micro-batch goes
 * through all four and back: T = 4 (f + b) + 6 c, also with the calls recorded that move nothing.
 */
static void check_parts(bool idle)
{
	struct labelled_job job;
	struct result result;
	double now = 0;

	labelled_job_init(&job, 2, 1, 1);
	job.out = begin_file(&result);
	fputs("[", job.out);
	labelled_job_put_names(&job);
	for (int i = 0; i < 8; i++) {
		bool back = i >= 4;
		int part = back ? 7 - i : i, other = back ? part - 1 : part + 1;
		double work = back ? 200 : 100;

		if (idle && (i == 0 || i == 4))
			labelled_job_put(&job, back ? "backward-recv" : "forward-recv", 0, part % 2, 0, -1,
				-1, now, now);
		labelled_job_put(&job, back ? "backward-compute" : "forward-compute", 0, part % 2, 0, 0,
			part / 2, now, now + work);
		now += work;
		if (other >= 0 && other < 4) {
			labelled_job_put(&job, back ? "backward-send" : "forward-send", 0, part % 2, 0, -1,
				-1, now, now + 20);
			labelled_job_put(&job, back ? "backward-recv" : "forward-recv", 0, other % 2, 0, -1,
				-1, now, now + 20);
			now += 20;
		} else if (idle) {
			labelled_job_put(&job, back ? "backward-send" : "forward-send", 0, part % 2, 0, -1,
				-1, now, now);
		}
	}
	fputs("]", job.out);
	fclose(job.out);
	if (!read_back(&result, 0))
		return;
	CHECK(result.job.chunk_count == 2, "%d parts", result.job.chunk_count);
	CHECK(near(result.slowdown.replayed_ns / 1000, 4 * 300 + 6 * 20), "parts: T %f",
		result.slowdown.replayed_ns / 1000);
	discard(&result);
}

static void check_names(void)
{
	static const struct {
		const char *name;
		int count;
		uint8_t types[2];
	} cases[] = {
		{"forward-compute", 1, {LABELLED_FORWARD}},
		{"Forward_3", 1, {LABELLED_FORWARD}},
		{"forward-warmup", 1, {LABELLED_FORWARD}},
		{"forward-attention", 0, {0}},
		{"send_forward_recv_backward", 2, {LABELLED_FORWARD_SEND, LABELLED_BACKWARD_RECV}},
		{"backward-send-forward-recv", 2, {LABELLED_BACKWARD_SEND, LABELLED_FORWARD_RECV}},
		{"exchange-next", 2, {LABELLED_FORWARD_SEND, LABELLED_BACKWARD_RECV}},
		{"recv_forward from rank 2", 1, {LABELLED_FORWARD_RECV}},
		{"grads-reduce-scatter", 1, {LABELLED_REDUCE}},
		{"all-grads-sync", 1, {LABELLED_REDUCE}},
		{"params-all-gather", 1, {LABELLED_GATHER}},
		{"layernorm-grads-all-reduce", 1, {LABELLED_NORM}},
		{"optimizer-clip-main-grad", 1, {LABELLED_CLIP}},
		{"optimizer-inner-step", 0, {0}},
		{"", 0, {0}},
		{"step", 0, {0}},
	};
	static const struct {
		const char *name;
		struct labelled_place place;
	} places[] = {
		{"DP rank [1]", {1, -1, -1, -1}},
		{"PP rank 3, TP rank 0, dp-comm", {-1, 3, 0, -1}},
		{"DP0-PP1-TP2", {0, 1, 2, -1}},
		{"benchmark-data-10-pipeline-1-tensor-0.json", {10, 1, 0, -1}},
		{"rank 5", {-1, -1, -1, 5}},
		{"stage_2", {-1, 2, -1, -1}},
		{"data loader 3", {-1, -1, -1, -1}},
		{"99999999999999999999 rank", {-1, -1, -1, -1}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint8_t types[2] = {0};
		int count = labelled_name_types(cases[i].name, strlen(cases[i].name), types);

		CHECK(count == cases[i].count && (count < 1 || types[0] == cases[i].types[0]) &&
				(count < 2 || types[1] == cases[i].types[1]),
			"'%s': %d types, %d %d", cases[i].name, count, types[0], types[1]);
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct labelled_place place = {-1, -1, -1, -1};

		labelled_place_of(places[i].name, &place);
		CHECK(memcmp(&place, &places[i].place, sizeof(place)) == 0, "'%s': %d %d %d %d",
			places[i].name, place.data, place.stage, place.tensor, place.rank);
	}
}

/* Whatever a file holds: an answer or a sentence. Cut at every byte, and with bytes changed. */
static void check_damage(void)
{
	struct labelled_job job;
	struct result result;
	static char text[65536];
	size_t length;

	labelled_job_init(&job, 2, 2, 1);
	job.steps = 1;
	job.message = 20;
	job.out = fmemopen(text, sizeof(text), "w");
	fputs("[", job.out);
	labelled_job_put_names(&job);
	labelled_job_put_step(&job, 0);
	fputs("]", job.out);
	length = (size_t)ftell(job.out);
	fclose(job.out);
	for (size_t i = 0; i < 2 * length; i += 7) {
		static const char odd[] = "\"}]{[:,-9xe\0";
		FILE *out = begin_file(&result);
		const char *error = NULL;
		char byte = text[i % length];

		if (i >= length)
			text[i - length] = odd[i % sizeof(odd)];
		fwrite(text, 1, i < length ? i : length, out);
		text[i % length] = byte;
		fclose(out);
		memset(&result.job, 0, sizeof(result.job));
		if (labelled_read(&result.job, result.path, &error) == 0 &&
			labelled_settle(&result.job, 0, 0, &error) == 0) {
			labelled_graph_make(&result.graph, &result.job);
			slowdown_find(&result.slowdown, &result.job, &result.graph, SLOWDOWN_LEAST);
			CHECK(result.slowdown.replayed_ns >= 0, "byte %zu", i);
			slowdown_free(&result.slowdown);
			labelled_graph_free(&result.graph);
		} else {
			CHECK(error && *error, "byte %zu: no sentence", i);
		}
		labelled_free(&result.job);
		unlink(result.path);
	}
}

int main(void)
{
	for (enum labelled_style style = COMPLETE; style < STYLES; style++) {
		check_even(style);
		check_stage(style);
	}
	check_worker();
	check_worker_of_stage();
	check_data_rank();
	check_link();
	check_batches(false);
	check_batches(true);
	check_collection();
	check_two_causes();
	check_whole_stage(1.6, "dp0/pp1");
	check_whole_stage(2, "stage 1");
	check_partly_alike();
	check_late();
	check_parts(false);
	check_parts(true);
	check_names();
	check_damage();
	return check_end();
}
