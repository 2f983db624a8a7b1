/*
 * Checks comparisons of made-up programs, of which it is known what differs: what was made slower is found
 * and nothing else is; layers find each other under other names; repetitions count; and what a trace diff
 * says is what was changed.
 */
#include "check.h"
#include "analyses/compare/compare.h"
#include "analyses/compare/compare_gate.h"
#include "analyses/compare/diff.h"
#include "model_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BASE_OPTIONS .net = MODEL_LENET, .iterations = 30, .batch = 16, .processes = 1, .gpus = 1

/* Models, their runs, and the comparison of the first with the rest. */
struct scene {
	struct model models[6];
	struct run runs[6];
	struct run *places[6];
	struct compare_side sides[6];
	size_t count;
	struct compare compare;
};

static void open_scene(struct scene *scene, const struct model_options *options, size_t count)
{
	static const char *const names[] = {"A", "B", "C", "D", "E", "F"};

	memset(scene, 0, sizeof(*scene));
	scene->count = count;
	for (size_t i = 0; i < count; i++) {
		model_make(&scene->models[i], &options[i]);
		model_read(&scene->models[i], 1, &scene->runs[i].analysis);
		scene->runs[i].label = names[i];
		scene->places[i] = &scene->runs[i];
		scene->sides[i] = (struct compare_side){names[i], &scene->places[i], 1};
	}
}

static void compare_scene(struct scene *scene, size_t side_count, struct compare_options how)
{
	CHECK(compare_check(scene->sides, side_count, &how) == NULL, "%s",
		compare_check(scene->sides, side_count, &how));
	compare_init(&scene->compare, scene->sides, side_count, &how);
}

static void close_scene(struct scene *scene)
{
	compare_free(&scene->compare);
	for (size_t i = 0; i < scene->count; i++) {
		analysis_free(&scene->runs[i].analysis);
		model_free(&scene->models[i]);
	}
}

static const struct compare_options usual = {.margin = COMPARE_MARGIN, .seed = COMPARE_SEED};

static bool says(struct compare *compare, const char *part)
{
	const char **words = compare_words(compare, &compare->pairs[0]);

	for (size_t i = 0; words[i]; i++)
		if (strstr(words[i], part))
			return true;
	return false;
}

static const struct compare_row *layer_row(
	const struct compare_pair *pair, const char *title, const char *key)
{
	for (size_t i = 0; i < pair->row_count; i++)
		if (pair->rows[i].kind >= COMPARE_LAYER && strcmp(pair->rows[i].title, title) == 0 &&
			strcmp(pair->rows[i].key, key) == 0)
			return &pair->rows[i];
	CHECK(false, "no row %s %s", title, key);
	return &pair->rows[0];
}

static void check_same(void)
{
	const struct model_options options[] = {{BASE_OPTIONS, .seed = 1}, {BASE_OPTIONS, .seed = 2}};
	struct scene scene;

	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	for (size_t i = 0; i < scene.compare.pairs[0].row_count; i++) {
		const struct compare_row *row = &scene.compare.pairs[0].rows[i];

		CHECK(row->word == COMPARE_SAME || row->word == COMPARE_UNDECIDED, "%s %s: %s, %f and %f",
			row->title, row->key, compare_word_text(row), row->base, row->other);
		CHECK(isnan(row->effect.difference) || row->effect.low <= row->effect.high, "%s: interval",
			row->title);
	}
	close_scene(&scene);
}

/* One layer takes 3 times as long: it is named, all other layers are the same, and phases add up. */
static void check_layer(double slow, enum compare_word expected)
{
	const struct model_options options[] = {
		{BASE_OPTIONS, .seed = 1}, {BASE_OPTIONS, .seed = 2, .slow = slow, .slow_layer = "conv2"}};
	struct scene scene;
	const struct compare_pair *pair;
	const struct compare_row *iteration, *conv2;
	double sum = 0;

	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	pair = &scene.compare.pairs[0];
	iteration = compare_find(pair, COMPARE_WHOLE, "t_iter");
	conv2 = layer_row(pair, "conv2", "computing");
	CHECK(iteration->word == expected, "iteration: %s", compare_word_text(iteration));
	CHECK(conv2->word == expected && fabs(conv2->effect.cliff) > 0.99, "conv2: %s, delta %f",
		compare_word_text(conv2), conv2->effect.cliff);
	CHECK(layer_row(pair, "conv2", "forward")->word == expected, "conv2 forward");
	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];

		if (row->kind == COMPARE_LAYER && row != conv2)
			CHECK(row->word == COMPARE_SAME || row->word == COMPARE_UNDECIDED, "%s: %s",
				row->title, compare_word_text(row));
		if (row->kind == COMPARE_EXCLUSIVE)
			sum += row->effect.difference;
	}
	CHECK(fabs(sum - iteration->effect.difference) < 1e-6 * iteration->base,
		"exclusive phases differ by %f, the iteration by %f", sum, iteration->effect.difference);
	CHECK(fabs(conv2->effect.difference - iteration->effect.difference) < 0.03 * iteration->base,
		"conv2 differs by %f, the iteration by %f", conv2->effect.difference,
		iteration->effect.difference);
	CHECK(says(&scene.compare, slow > 1 ? "slower than A" : "faster than A") &&
			says(&scene.compare, "1 of 9: conv2"),
		"words");
	close_scene(&scene);
}

/* The time within the margin is the same, and the same is not decided with a margin of nothing. */
static void check_margin(void)
{
	const struct model_options options[] = {
		{BASE_OPTIONS, .seed = 0}, {BASE_OPTIONS, .seed = 0, .slow = 1.02, .slow_layer = "conv1"}};
	struct compare_options how = usual;
	struct scene scene;

	open_scene(&scene, options, 2);
	how.margin = 0.05;
	compare_scene(&scene, 2, how);
	CHECK(layer_row(&scene.compare.pairs[0], "conv1", "computing")->word == COMPARE_SAME, "2%% of 5%%");
	compare_free(&scene.compare);
	how.margin = 0.001;
	compare_scene(&scene, 2, how);
	CHECK(layer_row(&scene.compare.pairs[0], "conv1", "computing")->word == COMPARE_SLOWER,
		"2%% of 0.1%%");
	close_scene(&scene);
}

static void gate(struct scene *scene, double allowed, enum compare_gate_time time,
	enum slower_answer expected, const char *part)
{
	struct compare *compare = &scene->compare;
	struct compare_gate gate;
	const char *text;

	compare_gate(compare, &compare->pairs[0], allowed, time, &gate);
	text = compare_gate_text(compare, &compare->pairs[0], &gate);
	CHECK(gate.answer == expected && strstr(text, part), "%s", text);
}

/* The scene's runs are of hosts whose threads waited for processors in so much of their time. */
static void set_wait(struct scene *scene, double wait)
{
	for (size_t i = 0; i < scene->count; i++)
		for (size_t p = 0; p < scene->runs[i].analysis.timeline.process_count; p++)
			scene->runs[i].analysis.timeline.processes[p].processor_wait = wait;
}

/* The step's time alone is longer, as that of a host which does less; the device's is what it was. */
static void lengthen_steps(struct analysis *analysis, double factor)
{
	struct analysis_worker *worker = &analysis->workers[0];

	for (size_t i = 0; i < worker->iterations.count; i++)
		worker->phases.times[i].iteration_ns =
			(int64_t)(factor * (double)worker->phases.times[i].iteration_ns);
}

static void check_gate_hosts(void)
{
	const struct model_options options[] = {{BASE_OPTIONS, .seed = 1}, {BASE_OPTIONS, .seed = 2}};
	struct scene scene;

	open_scene(&scene, options, 2);
	lengthen_steps(&scene.runs[1].analysis, 1.2);
	compare_scene(&scene, 2, usual);
	set_wait(&scene, 0);
	gate(&scene, 0.05, COMPARE_GATE_STEP, SLOWER_YES, "step time +20");
	gate(&scene, 0.05, COMPARE_GATE_DEVICE, SLOWER_NO, "B passes: not slower");
	gate(&scene, 0.05, COMPARE_GATE_AUTO, SLOWER_UNDECIDED, "how step time varies between runs");
	set_wait(&scene, 0.013);
	gate(&scene, 0.05, COMPARE_GATE_AUTO, SLOWER_UNDECIDED, "how step time varies between runs");
	set_wait(&scene, 0.03);
	gate(&scene, 0.05, COMPARE_GATE_AUTO, SLOWER_NO, "in up to 3% of their time");
	gate(&scene, 0.05, COMPARE_GATE_STEP, SLOWER_UNDECIDED, "between runs");
	set_wait(&scene, NAN);
	gate(&scene, 0.05, COMPARE_GATE_AUTO, SLOWER_UNDECIDED, "B is undecided");
	for (size_t i = 0; i < 2; i++)
		scene.runs[i].analysis.timeline.processes[0].device_source = PM_DEVICE_NONE;
	gate(&scene, 0.05, COMPARE_GATE_AUTO, SLOWER_YES, "device time unknown");
	gate(&scene, 0.05, COMPARE_GATE_DEVICE, SLOWER_UNKNOWN, "Record device times");
	close_scene(&scene);
}

/* A side is judged by what it is allowed: a few iterations are no verdict, and being faster is no failure. */
static void check_gate(void)
{
	struct model_options options[] = {
		{BASE_OPTIONS, .seed = 1}, {BASE_OPTIONS, .seed = 2, .slow = 3, .slow_layer = "conv2"}};
	struct compare_gate found;
	struct scene scene;

	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	compare_gate(&scene.compare, &scene.compare.pairs[0], 0.05, COMPARE_GATE_DEVICE, &found);
	gate(&scene, found.device.change - 0.02, COMPARE_GATE_DEVICE, SLOWER_YES, "in layer conv2");
	gate(&scene, found.device.change + 0.1, COMPARE_GATE_DEVICE, SLOWER_NO, "passes: not slower");
	gate(&scene, found.device.change + 0.0001, COMPARE_GATE_DEVICE, SLOWER_UNDECIDED,
		"neither show nor rule out");
	close_scene(&scene);

	options[1].slow = 0.5;
	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	gate(&scene, 0, COMPARE_GATE_STEP, SLOWER_NO, "passes: not slower");
	close_scene(&scene);

	options[0].iterations = options[1].iterations = 2;
	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	gate(&scene, 0, COMPARE_GATE_STEP, SLOWER_UNKNOWN, "too few iterations");
	close_scene(&scene);
	check_gate_hosts();
}

static void check_few(void)
{
	struct model_options options[] = {{BASE_OPTIONS}, {BASE_OPTIONS, .slow = 2, .slow_layer = "conv2"}};
	struct scene scene;

	options[0].iterations = options[1].iterations = 2;
	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	CHECK(compare_find(&scene.compare.pairs[0], COMPARE_WHOLE, "t_iter")->word == COMPARE_NONE,
		"one iteration decides");
	CHECK(says(&scene.compare, "a single iteration allows no significance test"),
		"one iteration: not said");
	close_scene(&scene);
	options[0].iterations = 4;
	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	CHECK(compare_find(&scene.compare.pairs[0], COMPARE_WHOLE, "t_iter")->word == COMPARE_NONE,
		"three against one decide");
	close_scene(&scene);
}

/* Repetitions that differ among themselves as much as the sides do. */
static void check_groups(void)
{
	const struct model_options options[] = {{BASE_OPTIONS, .slow = 1.0}, {BASE_OPTIONS, .slow = 1.3},
		{BASE_OPTIONS, .slow = 1.1}, {BASE_OPTIONS, .slow = 1.4}};
	struct scene scene;
	struct compare_side groups[2];

	open_scene(&scene, options, 4);
	groups[0] = (struct compare_side){"old", scene.places, 2};
	groups[1] = (struct compare_side){"new", scene.places + 2, 2};
	compare_init(&scene.compare, groups, 2, &usual);
	CHECK(compare_find(&scene.compare.pairs[0], COMPARE_WHOLE, "computing")->word == COMPARE_UNDECIDED,
		"runs that vary decide");
	CHECK(compare_find(&scene.compare.pairs[0], COMPARE_WHOLE, "computing")->effect.repeated,
		"not from the runs");
	close_scene(&scene);
	/* Alone, the same two runs are surely different. */
	open_scene(&scene, options, 4);
	groups[0] = (struct compare_side){"old", scene.places, 1};
	groups[1] = (struct compare_side){"new", scene.places + 2, 1};
	compare_init(&scene.compare, groups, 2, &usual);
	CHECK(compare_find(&scene.compare.pairs[0], COMPARE_WHOLE, "computing")->word == COMPARE_SLOWER,
		"single runs");
	close_scene(&scene);
}

/* Other names for the same layers: the module's, by another library's functions. */
static void check_modules(void)
{
	const struct model_options options[] = {
		{BASE_OPTIONS}, {BASE_OPTIONS, .modules = true, .graph_api = true}};
	struct scene scene;
	const struct compare_pair *pair;

	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	pair = &scene.compare.pairs[0];
	CHECK(pair->match_count == 9, "%zu layers", pair->match_count);
	for (size_t m = 0; m < pair->match_count; m++) {
		const struct compare_match *match = &pair->matches[m];

		CHECK(match->base && match->other && strcmp(match->base->name, match->other->name) == 0,
			"%s is %s", match->base ? match->base->name : "nothing",
			match->other ? match->other->name : "nothing");
	}
	close_scene(&scene);
}

/* A run that is no run: its layers alone. */
static void layers_only(
	struct analysis *analysis, struct analysis_worker *worker, struct layer *layers, size_t count)
{
	memset(analysis, 0, sizeof(*analysis));
	memset(worker, 0, sizeof(*worker));
	for (size_t i = 0; i < count; i++) {
		struct layer *layer = &layers[i];

		layer->module = layer->module ? layer->module : "";
		layer->text = layer->text ? layer->text : "";
		layer->input = layer->input ? layer->input : "";
		layer->activation = layer->site = "";
	}
	worker->layers.items = layers;
	worker->layers.count = count;
	analysis->workers = worker;
	analysis->worker_count = 1;
	analysis->stage_count = 1;
}

static void check_names(void)
{
	struct layer one[] = {{.name = "conv1", .text = "5x5x1->6 s1 p0", .parameter_count = 156},
		{.name = "pool1", .text = "max 2x2 s2"},
		{.name = "conv2", .text = "5x5x6->16 s1 p0", .parameter_count = 2416},
		{.name = "dropout1", .text = "0.5"},
		{.name = "fc1", .text = "256->120", .parameter_count = 30840},
		{.name = "fc2", .text = "120->10", .parameter_count = 1210}};
	/* As another framework names them; a pooling is missing, a normalisation is new, sizes are partly
	 * known. */
	struct layer two[] = {{.name = "conv2d", .parameter_count = 156},
		{.name = "batch_normalization", .parameter_count = 12},
		{.name = "conv2d_1", .text = "5x5x6->16", .parameter_count = 2416},
		{.name = "dropout", .text = ""}, {.name = "dense", .parameter_count = 30840},
		{.name = "dense_1", .parameter_count = 1210}};
	static const char *const expected[][2] = {{"conv1", "conv2d"}, {"pool1", NULL}, {"conv2", "conv2d_1"},
		{"dropout1", "dropout"}, {"fc1", "dense"}, {"fc2", "dense_1"}, {NULL, "batch_normalization"}};
	struct analysis base, other;
	struct analysis_worker base_worker, other_worker;
	struct compare_pair pair = {0};

	layers_only(&base, &base_worker, one, 6);
	layers_only(&other, &other_worker, two, 6);
	compare_match(&base, &other, &pair);
	CHECK(pair.match_count == 7, "%zu matches", pair.match_count);
	for (size_t m = 0; m < 7 && m < pair.match_count; m++) {
		const struct layer *a = pair.matches[m].base, *b = pair.matches[m].other;

		CHECK((a ? expected[m][0] && strcmp(a->name, expected[m][0]) == 0 : !expected[m][0]) &&
				(b ? expected[m][1] && strcmp(b->name, expected[m][1]) == 0
				   : !expected[m][1]),
			"match %zu: %s and %s", m, a ? a->name : "none", b ? b->name : "none");
	}
	free(pair.matches);
}

/* Other filters in a model that is else the same: the layer is still the one. */
static void check_sizes(void)
{
	struct layer one[] = {{.name = "conv1", .text = "5x5x1->6"}, {.name = "conv2", .text = "5x5x6->16"}};
	struct layer two[] = {{.name = "conv1", .text = "5x5x1->6"}, {.name = "conv2", .text = "5x5x6->32"}};
	struct analysis base, other;
	struct analysis_worker base_worker, other_worker;
	struct compare_pair pair = {0};

	layers_only(&base, &base_worker, one, 2);
	layers_only(&other, &other_worker, two, 2);
	compare_match(&base, &other, &pair);
	CHECK(pair.match_count == 2 && !pair.matches[0].sizes_differ && pair.matches[1].sizes_differ &&
			strcmp(pair.matches[1].by, "name") == 0,
		"%zu matches", pair.match_count);
	free(pair.matches);
}

/* A branch that is run before the other one in one framework, after it in the other. */
static void check_order(void)
{
	struct layer one[] = {{.name = "conv1", .module = "a.conv1", .text = "3x3x8->8"},
		{.name = "conv2", .module = "a.down", .text = "1x1x8->8"},
		{.name = "conv3", .module = "a.conv2", .text = "3x3x8->8"}};
	struct layer two[] = {{.name = "conv1", .module = "a.conv1", .text = "3x3x8->8"},
		{.name = "conv2", .module = "a.conv2", .text = "3x3x8->8"},
		{.name = "conv3", .module = "a.down", .text = "1x1x8->8"}};
	struct analysis base, other;
	struct analysis_worker base_worker, other_worker;
	struct compare_pair pair = {0};

	layers_only(&base, &base_worker, one, 3);
	layers_only(&other, &other_worker, two, 3);
	compare_match(&base, &other, &pair);
	CHECK(pair.match_count == 3, "%zu matches", pair.match_count);
	for (size_t m = 0; m < pair.match_count; m++)
		CHECK(pair.matches[m].base && pair.matches[m].other &&
				strcmp(pair.matches[m].base->module, pair.matches[m].other->module) == 0,
			"match %zu", m);
	free(pair.matches);
}

/* Other networks: what has no partner is listed on its side. */
static void check_unmatched(void)
{
	struct model_options both[] = {{BASE_OPTIONS}, {BASE_OPTIONS}};
	struct scene scene;
	size_t alone = 0, only_base = 0;

	both[1].net = MODEL_MLP;
	open_scene(&scene, both, 2);
	compare_scene(&scene, 2, usual);
	for (size_t m = 0; m < scene.compare.pairs[0].match_count; m++)
		alone += !scene.compare.pairs[0].matches[m].other;
	for (size_t i = 0; i < scene.compare.pairs[0].row_count; i++)
		only_base += scene.compare.pairs[0].rows[i].kind == COMPARE_LAYER &&
			     scene.compare.pairs[0].rows[i].word == COMPARE_ONLY_BASE;
	CHECK(alone == 8 && only_base == 8, "%zu without a partner, %zu rows", alone, only_base);
	CHECK(says(&scene.compare, "Only A has 8 layers: conv1, pool1, conv2, pool2"), "not said");
	CHECK(says(&scene.compare, "The models differ: 44426 and"), "parameters");
	close_scene(&scene);
}

static const struct diff_item *find_item(const struct diff *diff, enum diff_what what, const char *function)
{
	for (size_t i = 0; i < diff->count; i++)
		if (diff->items[i].what == what && strstr(diff->items[i].function, function))
			return &diff->items[i];
	return NULL;
}

/* A diff of two runs that do the same is empty; of two that aggregate differently it has just that. */
static void check_diff(void)
{
	struct model_options all[] = {{BASE_OPTIONS}, {BASE_OPTIONS}, {BASE_OPTIONS}};
	struct scene scene;
	struct diff diff;
	const struct diff_item *item;

	all[0].processes = all[1].processes = all[2].processes = 2;
	all[2].fused = true;
	open_scene(&scene, all, 3);
	compare_scene(&scene, 3, usual);
	diff_find(&diff, &scene.compare, &scene.compare.pairs[0]);
	CHECK(diff.count > 20 && diff.same == diff.count, "%zu of %zu the same", diff.same, diff.count);
	diff_free(&diff);
	diff_find(&diff, &scene.compare, &scene.compare.pairs[1]);
	item = find_item(&diff, DIFF_ONLY_OTHER, "ncclAllReduce");
	CHECK(item && fabs(item->count[1] - 1) < 1e-9 && item->bytes[1] >= 44426 * 4,
		"the one exchange: %f of %f bytes", item ? item->count[1] : 0, item ? item->bytes[1] : 0);
	CHECK(find_item(&diff, DIFF_ONLY_BASE, "ncclAllReduce"), "the exchanges by layer");
	CHECK(!find_item(&diff, DIFF_ONLY_OTHER, "cudnn") && !find_item(&diff, DIFF_CHANGED, "cudnn"),
		"a computation changed");
	diff_free(&diff);
	close_scene(&scene);
	all[0].processes = all[1].processes = 1;
	all[1].batch = 32;
	open_scene(&scene, all, 2);
	compare_scene(&scene, 2, usual);
	diff_find(&diff, &scene.compare, &scene.compare.pairs[0]);
	item = find_item(&diff, DIFF_CHANGED, "cudnnConvolutionForward");
	CHECK(item && strstr(item->detail, "16 1 28 28") &&
			strstr(item->detail, "-> TENSOR(F32 4 32 1 28 28"),
		"the batch: %s", item ? item->detail : "nothing");
	CHECK(says(&scene.compare, "The batch sizes differ, 16 and 32"), "batch: not said");
	diff_free(&diff);
	close_scene(&scene);
}

/* The figures are those of the used iterations, as other commands have them: batches differ in each fourth
 * iteration, which does not count. */
static void check_figures(void)
{
	struct model_options options[] = {{BASE_OPTIONS, .uneven_every = 4}, {BASE_OPTIONS}};
	struct scene scene;
	const struct compare_pair *pair;
	const struct analysis *analysis;
	double forward_ns;

	options[0].processes = options[1].processes = 3;
	options[0].slow_worker = 2;
	options[0].slow = 2;
	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	pair = &scene.compare.pairs[0];
	analysis = &scene.runs[0].analysis;
	forward_ns = analysis_layer(analysis->workers, 3, "conv2", PHASE_LAYER_FORWARD).mean;
	CHECK(fabs(layer_row(pair, "conv2", "forward")->base - forward_ns) < 1e-6 * forward_ns,
		"forward of conv2: %f, not %f", layer_row(pair, "conv2", "forward")->base, forward_ns);
	CHECK(fabs(compare_find(pair, COMPARE_WHOLE, "t_iter")->base - scene.compare.facts[0].iteration_ns) <
			1,
		"iteration");
	CHECK(fabs(compare_find(pair, COMPARE_WHOLE, "wait")->base -
		      analysis_wait(analysis->workers, 3).mean) < 1,
		"waiting");
	/* One of three takes twice as long: 3 x 2 / 4. */
	CHECK(fabs(compare_find(pair, COMPARE_WHOLE, "lif")->base - 1.5) < 1e-9 &&
			fabs(compare_find(pair, COMPARE_WHOLE, "lif")->other - 1) < 1e-9 &&
			compare_find(pair, COMPARE_WHOLE, "lif")->word == COMPARE_FASTER,
		"LIF %f and %f", compare_find(pair, COMPARE_WHOLE, "lif")->base,
		compare_find(pair, COMPARE_WHOLE, "lif")->other);
	close_scene(&scene);
}

/* Each fourth iteration is slower, from the first one on, which is left out. */
static void check_used(void)
{
	const struct model_options options[] = {
		{BASE_OPTIONS}, {BASE_OPTIONS, .slow = 3, .slow_layer = "conv2", .slow_every = 4}};
	struct scene scene;
	const struct analysis *analysis;
	double forward_ns;

	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	analysis = &scene.runs[1].analysis;
	forward_ns = analysis_layer(analysis->workers, 1, "conv2", PHASE_LAYER_FORWARD).mean;
	CHECK(fabs(layer_row(&scene.compare.pairs[0], "conv2", "forward")->other - forward_ns) < 1,
		"forward of conv2: %f, not %f", layer_row(&scene.compare.pairs[0], "conv2", "forward")->other,
		forward_ns);
	close_scene(&scene);
}

/* Exchanges in one group share their time on the device, which counts once. */
static void check_group_once(void)
{
	struct model_options options[] = {{BASE_OPTIONS, .grouped = true}, {BASE_OPTIONS, .grouped = true}};
	struct scene scene;
	struct diff diff;
	double sum_ns = 0, busy_ns;

	options[0].processes = options[1].processes = 2;
	open_scene(&scene, options, 2);
	compare_scene(&scene, 2, usual);
	diff_find(&diff, &scene.compare, &scene.compare.pairs[0]);
	for (size_t i = 0; i < diff.count; i++)
		if (diff.items[i].kind == PM_KIND_COMM)
			sum_ns += diff.items[i].time_ns[0];
	busy_ns = compare_find(&scene.compare.pairs[0], COMPARE_BUSY, "communication")->base;
	CHECK(fabs(sum_ns - busy_ns) < 0.01 * busy_ns, "exchanges take %f, communication %f", sum_ns,
		busy_ns);
	diff_free(&diff);
	close_scene(&scene);
}

static void check_usage(void)
{
	struct compare_options how = usual;
	struct scene scene;
	const struct model_options options[] = {{BASE_OPTIONS}, {BASE_OPTIONS}};

	open_scene(&scene, options, 2);
	CHECK(compare_check(scene.sides, 1, &how) != NULL, "one side");
	how.base = 2;
	CHECK(compare_check(scene.sides, 2, &how) != NULL, "base 3 of 2");
	how.base = 1;
	how.per_sample = true;
	compare_scene(&scene, 2, how);
	CHECK(scene.compare.pairs[0].base == 1 && scene.compare.pairs[0].other == 0, "base");
	CHECK(fabs(compare_find(&scene.compare.pairs[0], COMPARE_WHOLE, "t_iter")->base * 16 -
		      scene.compare.facts[1].iteration_ns) < 1,
		"times of a sample");
	close_scene(&scene);
}

int main(void)
{
	check_same();
	check_layer(3, COMPARE_SLOWER);
	check_layer(0.5, COMPARE_FASTER);
	check_margin();
	check_few();
	check_gate();
	check_groups();
	check_modules();
	check_names();
	check_order();
	check_sizes();
	check_unmatched();
	check_diff();
	check_figures();
	check_used();
	check_group_once();
	check_usage();
	return check_end();
}
