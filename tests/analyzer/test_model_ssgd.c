/*
 * Checks the model of synchronous SGD: each assumption against a sum done by hand, what is read from traces
 * of made-up programs whose style is known, and the terms of the regression.
 */
#include "check.h"
#include "model_read.h"
#include "analyses/ssgd/ssgd.h"
#include "analyses/ssgd/ssgd_tables.h"
#include "analyses/ssgd/ssgd_terms.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

/* Two ranks, three layers. Rank 0 spends 1 of its backward pass on no layer. */
static const double layers[2][3] = {{4, 2, 6}, {5, 3, 6}};
static struct ssgd_rank ranks[2] = {
	{.io = 1,
		.h2d = 2,
		.md = 3,
		.forward = 10,
		.backward = 13,
		.communication = 20,
		.update = 5,
		.rest = 1,
		.compute = 28,
		.layers_ns = layers[0]},
	{.io = 2,
		.h2d = 2,
		.md = 1,
		.forward = 12,
		.backward = 14,
		.communication = 15,
		.update = 4,
		.rest = 3,
		.compute = 30,
		.layers_ns = layers[1]},
};
static const struct layer_part layer_parts[] = {{2, 1}, {1, 1}, {0, 1}};
static const struct layer_part bucket_parts[] = {{2, 5.0 / 12}, {1, 7.0 / 12}};
static const struct ssgd_exchange by_layer[] = {
	{1, &layer_parts[0]}, {1, &layer_parts[1]}, {1, &layer_parts[2]}};
static const struct ssgd_exchange by_bucket[] = {{2, bucket_parts}, {1, &layer_parts[2]}};
static const struct ssgd_exchange unknown[] = {{0, NULL}, {0, NULL}, {0, NULL}};
static double layer_times[] = {5, 7, 2}, bucket_times[] = {12, 2};

static void check_predictions(void)
{
	static const struct {
		enum ssgd_model model;
		double layers,
			buckets; /* without the rest; the program's exchanges are by layer, in buckets */
	} cases[] = {
		/* (1 + 2 + 2 + 2) / 2 + (43 + 41) / 2 + (5 + 4) / 2 */
		{SSGD_SERIES, 50, 50},
		/* 3.5 + (3 + 1) / 2 + 43 + 4.5 */
		{SSGD_IMBALANCE, 53, 53},
		{SSGD_INPUT, 48, 48},
		/* Passes end at 6 + 23 = 29 and 5 + 26 = 31; then 14, then 5. */
		{SSGD_AFTER, 50, 50},
		/* Layers 2, 1, 0 are ready at 23, 26, 31: exchanged until 28, 35, 37. */
		{SSGD_LAYERS, 42, 42},
		/* The first bucket is ready at 26: until 38, 40. */
		{SSGD_BUCKETS, 42, 45},
		{SSGD_AFTER_INPUT, 45, 45},
		/* Ready at 18, 21, 26: until 23, 30, 32. */
		{SSGD_LAYERS_INPUT, 37, 37},
		{SSGD_BUCKETS_INPUT, 37, 40},
		/* 2 + 2 + 48 */
		{SSGD_FILES, 52, 52},
		/* Begin at 5 and 3: passes end at 28, 29; layers are ready at 22 (rank 0), 24, 29. */
		{SSGD_AFTER_FILES, 48, 48},
		{SSGD_LAYERS_FILES, 41, 41},
		{SSGD_BUCKETS_FILES, 41, 43},
		{SSGD_BOUND, 30, 30},
	};
	struct ssgd_shape layer_shape = {2, 3, 3, by_layer}, bucket_shape = {2, 3, 2, by_bucket};
	struct ssgd_shape unknown_shape = {2, 3, 3, unknown};
	struct ssgd_step layer_step = {60, ranks, layer_times}, bucket_step = {60, ranks, bucket_times};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double value = ssgd_predict(&layer_shape, &layer_step, cases[i].model, false);

		CHECK(near(value, cases[i].layers), "%s: %g, expected %g", ssgd_keys[cases[i].model], value,
			cases[i].layers);
		value = ssgd_predict(&bucket_shape, &bucket_step, cases[i].model, false);
		CHECK(near(value, cases[i].buckets), "%s of buckets: %g, expected %g",
			ssgd_keys[cases[i].model], value, cases[i].buckets);
	}
	CHECK(near(ssgd_predict(&layer_shape, &layer_step, SSGD_SERIES, true), 52), "with the mean rest");
	/* Passes end at 30 and 34. */
	CHECK(near(ssgd_predict(&layer_shape, &layer_step, SSGD_AFTER, true), 53), "with each rank's rest");
	/* All ranks as the mean: 5.5 + 2 + 11 + 13.5 + 14 + 4.5. */
	CHECK(near(ssgd_slowdown(&layer_shape, &layer_step, SSGD_AFTER), 53 / 50.5), "slowdown %g",
		ssgd_slowdown(&layer_shape, &layer_step, SSGD_AFTER));
	/* Whose gradients is not known: then all must be there. */
	CHECK(near(ssgd_predict(&unknown_shape, &layer_step, SSGD_LAYERS, false), 50) &&
			near(ssgd_predict(&unknown_shape, &layer_step, SSGD_BUCKETS, false), 50),
		"exchanges of unknown layers");
	ranks[1].layers_ns = NULL;
	CHECK(isnan(ssgd_predict(&layer_shape, &layer_step, SSGD_LAYERS, false)), "unknown layers");
	ranks[1].layers_ns = layers[1];
	ranks[0].io = 100;
	CHECK(near(ssgd_predict(&layer_shape, &layer_step, SSGD_AFTER_INPUT, false), 105) &&
			near(ssgd_predict(&layer_shape, &layer_step, SSGD_BOUND, false), 105),
		"slow input");
	ranks[0].io = 1;
}

static void check_speedup(void)
{
	struct ssgd_rank rank = {
		.io = 1, .h2d = 2, .md = 9, .forward = 10, .backward = 13, .update = 5, .compute = 28};
	struct ssgd_step one = {35, &rank, NULL}, two = {60, ranks, layer_times};
	struct ssgd single = {.shape = {1, 3, 0, NULL}, .steps = &one, .step_count = 1};
	struct ssgd several = {.shape = {2, 3, 3, by_layer}, .steps = &two, .step_count = 1};
	struct ssgd_speedup speedup;

	single.measured.mean = 35;
	several.measured.mean = 60;
	single.figures[SSGD_SERIES].plain.mean = ssgd_predict(&single.shape, &one, SSGD_SERIES, false);
	several.figures[SSGD_IMBALANCE].plain.mean = 53;
	CHECK(single.figures[SSGD_SERIES].plain.mean == 31, "(3.1)");
	speedup = ssgd_speedup(&single, &several, 2);
	CHECK(near(speedup.measured, 2 * 35.0 / 60), "measured %g", speedup.measured);
	CHECK(near(speedup.equation_6, 2 * 31.0 / 53), "(3.6) %g", speedup.equation_6);
	CHECK(near(speedup.equation_7, 2 * 28.0 / 43), "(3.7) %g", speedup.equation_7);
}

/* Which assumptions can be the run's, by how much of what they overlap was seen to overlap. */
static void check_behaviour(void)
{
	static const struct {
		enum ssgd_model model;
		double files, communication; /* seen to overlap, of all */
		bool possible;
	} cases[] = {
		{SSGD_AFTER_FILES, 0.07, 0, true},
		{SSGD_AFTER_FILES, 0.035, 0, false},
		{SSGD_LAYERS, 0, 0.07, true},
		{SSGD_LAYERS, 0, 0.035, false},
		{SSGD_AFTER, 0, 0.4, true},
		{SSGD_AFTER, 0, 0.7, false},
		{SSGD_AFTER, 0.4, 0, true},
		{SSGD_AFTER, 0.7, 0, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct ssgd ssgd = {.shape = {2, 3, 3, by_layer},
			.files_hidden = cases[i].files,
			.communication_hidden = cases[i].communication};

		CHECK(ssgd_is_behaviour(&ssgd, cases[i].model) == cases[i].possible,
			"%s with %g of the files and %g of the communication overlapped",
			ssgd_keys[cases[i].model], cases[i].files, cases[i].communication);
	}
}

/* An assumption that is off by 1% or 8% says how the run behaves, one that is off by 15% does not; and one
 * that is off by little more than the best is as good. */
static void check_far(void)
{
	struct ssgd ssgd = {.shape = {2, 3, 3, by_layer}, .best = SSGD_AFTER, .communication_hidden = 0.2};
	struct run run = {0};
	struct ssgd_item item = {.run = &run};
	static const struct {
		double off;
		const char *words;
	} cases[] = {
		{0.01, "The run matches: "}, {0.08, "The run matches: "}, {0.15, "No assumption matches"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ssgd.figures[SSGD_AFTER] = (struct ssgd_figure){.predicted = true, .off = cases[i].off};
		item.ssgd = ssgd;
		CHECK(strstr(ssgd_verdict(&item), cases[i].words), "%g off: %s", cases[i].off,
			ssgd_verdict(&item));
	}
	ssgd.figures[SSGD_AFTER].off = 0.01;
	ssgd.figures[SSGD_LAYERS] = (struct ssgd_figure){.predicted = true, .off = 0.0115};
	CHECK(ssgd_is_alike(&ssgd, SSGD_LAYERS), "1.15%% off is as good as 1%%");
	ssgd.figures[SSGD_LAYERS].off = 0.013;
	CHECK(!ssgd_is_alike(&ssgd, SSGD_LAYERS), "1.3%% off is not as good as 1%%");
	arena_free(&run.analysis.timeline.arena);
}

/* What was gathered: all backward work of these programs belongs to a layer; who aggregates in buckets. */
static void check_gathered(const char *name, const struct ssgd *ssgd, bool bucketed)
{
	for (size_t k = 0; k < ssgd->step_count; k++)
		for (size_t i = 0; i < ssgd->shape.rank_count; i++) {
			const struct ssgd_rank *rank = &ssgd->steps[k].ranks[i];
			double sum = 0;

			for (size_t l = 0; l < ssgd->shape.layer_count; l++)
				sum += rank->layers_ns[l];
			CHECK(fabs(sum - rank->backward) < 1, "%s: layers %g, backward %g", name, sum,
				rank->backward);
		}
	CHECK(ssgd->bucketed == bucketed &&
			ssgd->figures[SSGD_LAYERS].predicted == (ssgd->shape.exchange_count > 0),
		"%s: buckets", name);
	CHECK(!bucketed || !ssgd_is_behaviour(ssgd, SSGD_LAYERS), "%s: does not aggregate by layer", name);
}

/* Which iterations a mean is of is said where it is not of all. */
static void check_left_out(const char *name, struct analysis *analysis, struct ssgd *ssgd)
{
	struct run run = {.analysis = *analysis};
	const struct ssgd_item item = {.run = &run, .ssgd = *ssgd};
	struct ssgd_item fewer = item;
	const char *text = ssgd_left_out(&item);

	CHECK(!text, "%s: %s", name, text);
	fewer.ssgd.step_count--;
	text = ssgd_left_out(&fewer);
	CHECK(text && strstr(text, "The mean of all, as in the report, is "), "%s: %s", name, text);
	analysis->timeline.arena = run.analysis.timeline.arena;
}

/* Programs whose style is known; `near_by`: how well the named assumption must say the time. */
static void check_styles(void)
{
	static const struct {
		const char *name;
		struct model_options options;
		enum ssgd_model best;
		double near_by;
	} programs[] = {
		{"one GPU", {.net = MODEL_LENET, .processes = 1, .gpus = 1}, SSGD_IMBALANCE, 1e-4},
		{"after", {.net = MODEL_LENET, .processes = 3, .gpus = 1}, SSGD_AFTER, 1e-4},
		{"after, one process", {.net = MODEL_MLP, .processes = 1, .gpus = 3}, SSGD_AFTER, 1e-3},
		{"after, one is slow",
			{.net = MODEL_LENET, .processes = 3, .gpus = 1, .slow_worker = 1, .slow = 2},
			SSGD_AFTER, 1e-4},
		{"after, one layer is slow",
			{.net = MODEL_MLP,
				.processes = 2,
				.gpus = 1,
				.slow_worker = 1,
				.slow = 3,
				.slow_layer = "fc2"},
			SSGD_AFTER, 1e-4},
		{"after, jitter", {.net = MODEL_LENET, .processes = 4, .gpus = 1, .seed = 3}, SSGD_AFTER,
			1e-3},
		{"overlap", {.net = MODEL_LENET, .processes = 3, .gpus = 1, .overlap = true}, SSGD_LAYERS,
			1e-4},
		{"overlap, one is slow",
			{.net = MODEL_LENET,
				.processes = 3,
				.gpus = 1,
				.overlap = true,
				.slow_worker = 2,
				.slow = 1.7},
			SSGD_LAYERS, 1e-4},
		{"overlap, jitter",
			{.net = MODEL_LENET, .processes = 4, .gpus = 1, .overlap = true, .seed = 9},
			SSGD_LAYERS, 1e-3},
		{"overlap, deep", {.net = MODEL_RESIDUAL, .processes = 2, .gpus = 1, .overlap = true},
			SSGD_LAYERS, 1e-4},
		{"overlap in buckets",
			{.net = MODEL_LENET, .processes = 3, .gpus = 1, .bucket = 2, .overlap = true},
			SSGD_BUCKETS, 1e-4},
		{"in one", {.net = MODEL_LENET, .processes = 3, .gpus = 1, .fused = true}, SSGD_AFTER, 1e-4},
		{"buckets after", {.net = MODEL_LENET, .processes = 3, .gpus = 1, .bucket = 2}, SSGD_AFTER,
			1e-4},
		/* The copies are not made ahead. */
		{"read ahead", {.net = MODEL_LENET, .processes = 1, .gpus = 1, .prefetch = true}, SSGD_FILES,
			1e-3},
		{"read ahead, after", {.net = MODEL_LENET, .processes = 3, .gpus = 1, .prefetch = true},
			SSGD_AFTER_FILES, 1e-3},
		{"read ahead, overlap",
			{.net = MODEL_LENET, .processes = 2, .gpus = 1, .prefetch = true, .overlap = true},
			SSGD_LAYERS_FILES, 1e-3},
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct model_options options = programs[i].options;
		struct analysis analysis;
		struct model model;
		struct ssgd ssgd;

		options.iterations = 8;
		options.batch = 16;
		model_make(&model, &options);
		model_read(&model, 1, &analysis);
		ssgd_find(&analysis, &ssgd);
		CHECK(ssgd.step_count == 7, "%s: %zu iterations", programs[i].name, ssgd.step_count);
		CHECK(ssgd.best == programs[i].best, "%s: behaves as %s", programs[i].name,
			ssgd.best < SSGD_COUNT ? ssgd_keys[ssgd.best] : "none");
		CHECK(ssgd.figures[programs[i].best].off <= programs[i].near_by, "%s: %g off",
			programs[i].name, ssgd.figures[programs[i].best].off);
		check_gathered(programs[i].name, &ssgd, options.bucket > 0 || options.fused);
		CHECK(near(ssgd.measured.mean,
			      analysis_iteration(analysis.workers, analysis.worker_count).mean),
			"%s: measured %g", programs[i].name, ssgd.measured.mean);
		check_left_out(programs[i].name, &analysis, &ssgd);
		ssgd_free(&ssgd);
		analysis_free(&analysis);
		model_free(&model);
	}
}

static void check_terms(void)
{
	enum ssgd_term terms[SSGD_TERM_COUNT];
	char sentence[200];

	CHECK(ssgd_terms_parse("lif,gpu_batch", terms, sentence) == 2 && terms[0] == SSGD_TERM_LIF &&
			terms[1] == SSGD_TERM_GPU_BATCH,
		"two terms");
	CHECK(ssgd_terms_parse("gpus,gpu", terms, sentence) == 0 && strstr(sentence, "'gpu'"), "%s",
		sentence);
	CHECK(ssgd_terms_parse("", terms, sentence) == 0 && strstr(sentence, "unknown term ''"), "%s",
		sentence);
	CHECK(ssgd_terms_parse("lif,", terms, sentence) == 0, "an empty one behind a comma");
	CHECK(ssgd_terms_parse("lif,gpus,lif", terms, sentence) == 0 && strstr(sentence, "twice"), "%s",
		sentence);
}

/* Rank 1 of 2 computes three times as long: LIF 2 x 3 / 4; what it costs follows from the program's times. */
static void check_imbalance(void)
{
	struct model_options options = {.net = MODEL_MLP,
		.processes = 2,
		.gpus = 1,
		.iterations = 6,
		.batch = 16,
		.slow_worker = 1,
		.slow = 3};
	struct analysis analysis;
	struct model model;
	struct ssgd ssgd;
	double even, uneven;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	ssgd_find(&analysis, &ssgd);
	uneven = ssgd.measured.mean;
	CHECK(near(ssgd_term_of_run(&analysis, &ssgd, SSGD_TERM_LIF), 1.5) &&
			near(ssgd_term_of_step(&analysis, &ssgd, 2, SSGD_TERM_LIF), 1.5),
		"LIF");
	CHECK(ssgd_term_of_run(&analysis, &ssgd, SSGD_TERM_GPUS) == 2 &&
			ssgd_term_of_run(&analysis, &ssgd, SSGD_TERM_GPU_BATCH) == 16 &&
			ssgd_term_of_run(&analysis, &ssgd, SSGD_TERM_BATCH) == 32,
		"sizes");
	even = ssgd.slowdown;
	CHECK(near(ssgd_term_of_step(&analysis, &ssgd, 0, SSGD_TERM_SLOWDOWN),
		      ssgd_slowdown(&ssgd.shape, &ssgd.steps[0], ssgd.best)),
		"slowdown of an iteration");
	ssgd_free(&ssgd);
	analysis_free(&analysis);
	model_free(&model);
	/* Both ranks twice as slow: the mean of the two, run for real. */
	options.slow = 2;
	options.second_worker = 0;
	options.second_slow = 2;
	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	ssgd_find(&analysis, &ssgd);
	CHECK(fabs(even - uneven / ssgd.measured.mean) < 0.01, "slowdown %g, expected %g", even,
		uneven / ssgd.measured.mean);
	CHECK(near(ssgd.slowdown, 1), "balanced: %g", ssgd.slowdown);
	ssgd_free(&ssgd);
	analysis_free(&analysis);
	model_free(&model);
}

int main(void)
{
	check_predictions();
	check_speedup();
	check_behaviour();
	check_far();
	check_styles();
	check_terms();
	check_imbalance();
	return check_end();
}
