/* Checks that every call of made-up training programs is given the phase, the layer and the iteration it was
 * made for. */
#include "check.h"
#include "model_read.h"
#include "timeline/timeline_read.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	struct model_options options;
} cases[] = {
	{"lenet_sgd", {.net = MODEL_LENET}},
	{"lenet_momentum", {.net = MODEL_LENET, .optimizer = MODEL_MOMENTUM}},
	{"lenet_adam", {.net = MODEL_LENET, .optimizer = MODEL_ADAM}},
	{"lenet_separate_biases", {.net = MODEL_LENET, .separate = true}},
	{"lenet_separate_momentum", {.net = MODEL_LENET, .separate = true, .optimizer = MODEL_MOMENTUM}},
	{"lenet_separate_adam", {.net = MODEL_LENET, .separate = true, .optimizer = MODEL_ADAM}},
	{"lenet_opaque_update", {.net = MODEL_LENET, .optimizer = MODEL_OPAQUE}},
	{"lenet_accumulate", {.net = MODEL_LENET, .accumulate = 3}},
	{"lenet_evaluation", {.net = MODEL_LENET, .evaluate_every = 3, .evaluate_count = 4}},
	{"lenet_search", {.net = MODEL_LENET, .search = true}},
	{"lenet_no_device_times", {.net = MODEL_LENET, .no_device = true}},
	{"lenet_axpy_loss", {.net = MODEL_LENET, .axpy_loss = true}},
	{"lenet_resident", {.net = MODEL_LENET, .resident = true}},
	{"lenet_prefetch", {.net = MODEL_LENET, .prefetch = true}},
	{"lenet_three_ranks", {.net = MODEL_LENET, .processes = 3, .log_every = 2}},
	{"lenet_three_ranks_overlap", {.net = MODEL_LENET, .processes = 3, .overlap = true}},
	{"lenet_three_ranks_separate", {.net = MODEL_LENET, .processes = 3, .separate = true}},
	{"lenet_three_ranks_adam",
		{.net = MODEL_LENET, .processes = 3, .optimizer = MODEL_ADAM, .log_every = 3}},
	{"lenet_three_gpus", {.net = MODEL_LENET, .gpus = 3, .log_every = 2}},
	{"lenet_three_gpus_overlap",
		{.net = MODEL_LENET, .gpus = 3, .overlap = true, .optimizer = MODEL_MOMENTUM}},
	{"lenet_three_gpus_divide", {.net = MODEL_LENET, .gpus = 3, .divide_device = true}},
	{"lenet_fused", {.net = MODEL_LENET, .processes = 2, .fused = true}},
	{"lenet_flat", {.net = MODEL_LENET, .processes = 2, .fused = true, .flat = true}},
	{"lenet_grouped", {.net = MODEL_LENET, .processes = 2, .grouped = true}},
	{"lenet_gpus_grouped", {.net = MODEL_LENET, .gpus = 2, .grouped = true}},
	{"lenet_early_update", {.net = MODEL_LENET, .processes = 2, .overlap = true, .early = true}},
	{"lenet_op_bias", {.net = MODEL_LENET, .op_bias = true}},
	{"lenet_scratch", {.net = MODEL_LENET, .optimizer = MODEL_SCRATCH, .processes = 2}},
	{"lenet_run_ahead", {.net = MODEL_LENET, .run_ahead = true}},
	{"lenet_one_iteration", {.net = MODEL_LENET, .iterations = 1}},
	{"mlp_one_iteration", {.net = MODEL_MLP, .iterations = 1, .optimizer = MODEL_MOMENTUM}},
	{"lenet_batch_of_one", {.net = MODEL_LENET, .batch = 1}},
	{"mlp_batch_of_one_separate",
		{.net = MODEL_MLP, .batch = 1, .separate = true, .optimizer = MODEL_ADAM}},
	{"mlp_sgd", {.net = MODEL_MLP}},
	{"mlp_adam", {.net = MODEL_MLP, .optimizer = MODEL_ADAM}},
	{"mlp_accumulate", {.net = MODEL_MLP, .accumulate = 2, .optimizer = MODEL_MOMENTUM}},
	{"lenet_kernels", {.net = MODEL_LENET, .kernels = true}},
	{"lenet_extra_kernels", {.net = MODEL_LENET, .kernels = true, .extra_every = 3}},
	{"mlp_opaque_extra_kernels",
		{.net = MODEL_MLP, .optimizer = MODEL_OPAQUE, .kernels = true, .extra_every = 3}},
	{"mlp_opaque_update", {.net = MODEL_MLP, .optimizer = MODEL_OPAQUE}},
	{"mlp_opaque_two_ranks",
		{.net = MODEL_MLP, .optimizer = MODEL_OPAQUE, .processes = 2, .overlap = true}},
	{"autoencoder_opaque_update", {.net = MODEL_AUTOENCODER, .optimizer = MODEL_OPAQUE}},
	{"mlp_two_ranks", {.net = MODEL_MLP, .processes = 2, .overlap = true}},
	{"autoencoder_sgd", {.net = MODEL_AUTOENCODER}},
	{"autoencoder_adam", {.net = MODEL_AUTOENCODER, .optimizer = MODEL_ADAM}},
	{"autoencoder_two_gpus", {.net = MODEL_AUTOENCODER, .gpus = 2, .divide_device = true}},
	{"lenet_activities", {.net = MODEL_LENET, .activities = true}},
	{"lenet_activities_grouped",
		{.net = MODEL_LENET, .processes = 2, .grouped = true, .activities = true}},
	{"lenet_activities_gpus", {.net = MODEL_LENET, .gpus = 2, .overlap = true, .activities = true}},
	{"lenet_graph", {.net = MODEL_LENET, .graph = 1}},
	{"lenet_graph_activities", {.net = MODEL_LENET, .graph = 1, .activities = true}},
	{"lenet_graph_adam", {.net = MODEL_LENET,
				     .graph = 1,
				     .activities = true,
				     .optimizer = MODEL_ADAM,
				     .separate = true}},
	{"lenet_graph_ranks", {.net = MODEL_LENET, .graph = 2, .activities = true, .processes = 2}},
	{"lenet_graph_ranks_events", {.net = MODEL_LENET, .graph = 2, .processes = 2}},
	{"lenet_graph_gpus", {.net = MODEL_LENET, .graph = 2, .activities = true, .gpus = 2}},
	{"mlp_graph_opaque", {.net = MODEL_MLP, .graph = 1, .activities = true, .optimizer = MODEL_OPAQUE}},
	{"lenet_graph_api", {.net = MODEL_LENET, .graph_api = true}},
	{"lenet_graph_api_separate",
		{.net = MODEL_LENET, .graph_api = true, .separate = true, .optimizer = MODEL_MOMENTUM}},
	{"lenet_graph_api_ranks", {.net = MODEL_LENET, .graph_api = true, .processes = 2, .overlap = true}},
	{"lenet_graph_api_adam", {.net = MODEL_LENET, .graph_api = true, .optimizer = MODEL_ADAM}},
	{"lenet_graph_api_in_graph", {.net = MODEL_LENET, .graph_api = true, .graph = 1, .activities = true}},
	{"mlp_graph_api", {.net = MODEL_MLP, .graph_api = true, .separate = true}},
	{"mlp_graph_api_opaque", {.net = MODEL_MLP, .graph_api = true, .optimizer = MODEL_OPAQUE}},
	{"autoencoder_graph_api", {.net = MODEL_AUTOENCODER, .graph_api = true, .optimizer = MODEL_ADAM}},
	{"norm_graph_api", {.net = MODEL_NORM, .graph_api = true}},
	{"sequence", {.net = MODEL_SEQUENCE}},
	{"sequence_opaque", {.net = MODEL_SEQUENCE, .optimizer = MODEL_OPAQUE}},
	{"sequence_ranks", {.net = MODEL_SEQUENCE, .processes = 2, .overlap = true}},
	{"residual", {.net = MODEL_RESIDUAL}},
	{"residual_adam", {.net = MODEL_RESIDUAL, .optimizer = MODEL_ADAM, .separate = true}},
	{"residual_ranks", {.net = MODEL_RESIDUAL, .processes = 2, .overlap = true}},
	{"residual_accumulate", {.net = MODEL_RESIDUAL, .accumulate = 3}},
	{"residual_graph", {.net = MODEL_RESIDUAL, .graph = 1, .activities = true}},
	{"lenet_micro_batches", {.net = MODEL_LENET, .accumulate = 4, .schedule = MODEL_ALL_FORWARD}},
	{"lenet_one_ahead", {.net = MODEL_LENET, .accumulate = 4, .schedule = MODEL_ONE_AHEAD}},
	{"lenet_recompute",
		{.net = MODEL_LENET, .accumulate = 4, .schedule = MODEL_ALL_FORWARD, .recompute = true}},
	{"autoencoder_micro_batches",
		{.net = MODEL_AUTOENCODER, .accumulate = 3, .schedule = MODEL_ALL_FORWARD}},
	{"mlp_recompute",
		{.net = MODEL_MLP, .accumulate = 2, .schedule = MODEL_ALL_FORWARD, .recompute = true}},
	{"residual_micro_batches", {.net = MODEL_RESIDUAL, .accumulate = 3, .schedule = MODEL_ALL_FORWARD}},
	{"residual_one_ahead",
		{.net = MODEL_RESIDUAL, .accumulate = 5, .schedule = MODEL_ONE_AHEAD, .processes = 2}},
	{"residual_recompute",
		{.net = MODEL_RESIDUAL, .accumulate = 3, .schedule = MODEL_ALL_FORWARD, .recompute = true}},
	{"lenet_buckets", {.net = MODEL_LENET, .processes = 2, .bucket = 2}},
	{"residual_buckets", {.net = MODEL_RESIDUAL, .processes = 2, .bucket = 3}},
	{"lenet_buckets_adam", {.net = MODEL_LENET, .processes = 2, .bucket = 3, .optimizer = MODEL_ADAM}},
	{"lenet_buckets_move", {.net = MODEL_LENET, .processes = 2, .bucket = 2, .bucket_moves = 2}},
	{"residual_sums", {.net = MODEL_RESIDUAL, .axpy_sums = true}},
	{"residual_sums_micro_batches",
		{.net = MODEL_RESIDUAL, .axpy_sums = true, .accumulate = 3, .schedule = MODEL_ALL_FORWARD}},
	{"lenet_mask_again", {.net = MODEL_LENET,
				     .accumulate = 4,
				     .schedule = MODEL_ALL_FORWARD,
				     .recompute = true,
				     .mask_again = true}},
	{"lenet_versions", {.net = MODEL_LENET, .flat = true, .versions = 3}},
	{"mlp_two_versions", {.net = MODEL_MLP, .flat = true, .versions = 2}},
	{"residual_versions", {.net = MODEL_RESIDUAL, .flat = true, .versions = 2}},
	{"norm_momentum", {.net = MODEL_NORM, .optimizer = MODEL_MOMENTUM, .processes = 2}},
};

/* What was made at that time; of the calls of a graph, which have the time of its launch, the one at `place`.
 */
static const struct model_call *find_call(const struct model_process *process, int64_t begin_ns, size_t place)
{
	for (size_t i = 0; i < process->call_count; i++)
		if (process->calls[i].begin_ns == (uint64_t)begin_ns && place-- == 0)
			return &process->calls[i];
	return NULL;
}

/* The launch and those of its calls that come before this one. */
static size_t place_in_graph(const struct timeline *timeline, uint32_t call)
{
	size_t place = 0;

	while (timeline_call(timeline, call - place).flags & TIMELINE_FLAG_REPLAYED)
		place++;
	return place;
}

static const char *layer_name(const struct layer_list *layers, const struct layer_role *role)
{
	return role->part_count == 1 ? layers->items[layers->parts[role->first_part].layer].name : NULL;
}

static void check_call(const char *name, const struct analysis *analysis,
	const struct analysis_worker *worker, const struct model_process *truth, size_t position,
	struct layer_gap *gap, int number)
{
	static const char *const phases[] = {
#define ITEM(name, key, symbol, title, text, does, term, colour) key,
		PHASE_LIST(ITEM)
#undef ITEM
	};
	uint32_t place = worker->worker->calls[position];
	const struct timeline_call *call = TIMELINE_CALL(&analysis->timeline, place);
	const struct model_call *expected =
		find_call(truth, call->begin_ns, place_in_graph(&analysis->timeline, place));
	const struct layer_role *role = phase_role(
		&analysis->model, worker->worker, &worker->layers, (size_t)number, gap, call->operation);
	const char *function = timeline_function(&analysis->timeline, call)->name,
		   *layer = layer_name(&worker->layers, role);

	if (!expected || expected->phase == PHASE_COUNT)
		return;
	CHECK(role->phase == expected->phase, "%s: %s at %zu: %s, expected %s (%s)", name, function, position,
		phases[role->phase], phases[expected->phase], expected->layer ? expected->layer : "no layer");
	if (expected->layer)
		CHECK(layer && strcmp(layer, expected->layer) == 0, "%s: %s at %zu: layer %s, expected %s",
			name, function, position, layer ? layer : "none", expected->layer);
	CHECK(expected->iteration == number, "%s: %s at %zu: iteration %d, expected %d", name, function,
		position, number, expected->iteration);
}

static void check_worker(const char *name, const struct analysis *analysis,
	const struct analysis_worker *worker, const struct model *model, int iterations)
{
	const struct model_process *truth = &model->processes[worker->worker->process];

	CHECK((int)worker->iterations.count == iterations, "%s: %zu iterations, expected %d", name,
		worker->iterations.count, iterations);
	CHECK((int)worker->layers.count == model->layer_count, "%s: %zu layers, expected %d", name,
		worker->layers.count, model->layer_count);
	for (size_t i = 0; i < worker->layers.count && (int)i < model->layer_count; i++)
		CHECK(strcmp(worker->layers.items[i].name, model->layers[i]) == 0,
			"%s: layer %zu is %s, expected %s", name, i, worker->layers.items[i].name,
			model->layers[i]);
	for (size_t i = 0; i < worker->iterations.count; i++) {
		const struct iteration *item = &worker->iterations.items[i];
		struct layer_gap gap = {.core = 0};

		for (size_t j = item->first_call; j < item->call_end; j++)
			check_call(name, analysis, worker, truth, j, &gap, (int)i);
		for (size_t j = item->first_read; j < item->read_end; j++) {
			const struct model_call *expected = find_call(truth,
				timeline_call(&analysis->timeline, worker->worker->reads[j]).begin_ns, 0);

			if (expected && expected->phase != PHASE_COUNT)
				CHECK(expected->iteration == (int)i, "%s: a read of iteration %d in %zu",
					name, expected->iteration, i);
		}
	}
}

/* Every computation of the program is in some iteration or is known not to be. */
static void check_complete(const char *name, const struct analysis *analysis,
	const struct analysis_worker *worker, const struct model *model)
{
	const struct model_process *truth = &model->processes[worker->worker->process];
	size_t expected = 0, found = 0;

	for (size_t i = 0; i < worker->worker->call_count; i++) {
		const struct model_call *call = find_call(
			truth, timeline_call(&analysis->timeline, worker->worker->calls[i]).begin_ns, 0);

		expected += call && call->iteration >= 0;
	}
	for (size_t i = 0; i < worker->iterations.count; i++)
		found += worker->iterations.items[i].call_end - worker->iterations.items[i].first_call;
	CHECK(found == expected, "%s: %zu calls in iterations, expected %zu", name, found, expected);
	for (size_t i = 0; i < worker->iterations.count; i++) {
		size_t reads = worker->iterations.items[i].read_end - worker->iterations.items[i].first_read;

		CHECK(reads == worker->iterations.items[0].read_end -
						worker->iterations.items[0].first_read ||
				i == 0 || worker->worker->read_count == 0,
			"%s: %zu reads in iteration %zu", name, reads, i);
	}
}

/* The same network through the graph API and cublasLt: the same table of layers, times included. */
static void check_graph_api(enum model_net net)
{
	struct model_options options = {.net = net, .iterations = 4, .batch = 16, .processes = 1, .gpus = 1};
	struct analysis analyses[2];
	struct model models[2];
	const struct layer_list *legacy, *graph;

	for (int i = 0; i < 2; i++) {
		options.graph_api = i == 1;
		model_make(&models[i], &options);
		model_read(&models[i], 1, &analyses[i]);
	}
	legacy = &analyses[0].workers[0].layers;
	graph = &analyses[1].workers[0].layers;
	CHECK(legacy->count == graph->count, "%zu layers, expected %zu", graph->count, legacy->count);
	for (size_t i = 0; i < legacy->count && i < graph->count; i++) {
		const struct layer *a = &legacy->items[i], *b = &graph->items[i];

		CHECK(strcmp(a->name, b->name) == 0 && strcmp(a->text, b->text) == 0 &&
				strcmp(a->input, b->input) == 0 &&
				strcmp(a->activation, b->activation) == 0 &&
				a->parameter_count == b->parameter_count,
			"layer %zu: %s '%s' %s '%s' %zu, expected %s '%s' %s '%s' %zu", i, b->name, b->text,
			b->input, b->activation, (size_t)b->parameter_count, a->name, a->text, a->input,
			a->activation, (size_t)a->parameter_count);
		for (int column = 0; column < PHASE_LAYER_COLUMNS; column++) {
			size_t at = (2 * legacy->count + i) * PHASE_LAYER_COLUMNS + (size_t)column;

			CHECK(analyses[0].workers[0].phases.layers_ns[at] ==
					analyses[1].workers[0].phases.layers_ns[at],
				"layer %s, column %d: %f, expected %f", a->name, column,
				analyses[1].workers[0].phases.layers_ns[at],
				analyses[0].workers[0].phases.layers_ns[at]);
		}
	}
	for (size_t i = 0; i < analyses[1].timeline.operation_count; i++) {
		const struct flow *flow = &analyses[1].model.flows[i];

		for (uint32_t j = 0; j < flow->access_count; j++) {
			uint64_t n = 0;

			timeline_value(&analyses[1].timeline, &analyses[1].timeline.operations[i], "n", &n);
			CHECK(strcmp(flow->accesses[j].label, "dbias_ptr") != 0 || n == 0 ||
					flow->accesses[j].bytes == n * 4,
				"the gradient of a bias is %zu bytes", (size_t)flow->accesses[j].bytes);
		}
	}
	for (int i = 0; i < 2; i++) {
		analysis_free(&analyses[i]);
		model_free(&models[i]);
	}
}

/*
 * Buckets of two layers: each layer has its two copies of 1 us, and of the exchange (5 us and half a ns an
 * element) its share by bytes.
 */
static void check_buckets(void)
{
	static const struct {
		const char *name;
		double own, bucket; /* elements */
	} expected[] = {{"conv1", 156, 156}, {"conv2", 2416, 30840 + 2416 + 0}, {"fc1", 30840, 30840 + 2416},
		{"fc2", 10164, 10164 + 850}, {"fc3", 850, 10164 + 850}};
	struct model_options options = {
		.net = MODEL_LENET, .iterations = 4, .batch = 16, .processes = 2, .gpus = 1, .bucket = 2};
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		double found = analysis_layer(
			       &analysis.workers[1], 1, expected[i].name, PHASE_LAYER_COMMUNICATION)
				       .median,
		       wanted = 2000 + (5000 + (double)((uint64_t)expected[i].bucket / 2)) * expected[i].own /
					       expected[i].bucket;

		CHECK(found > wanted - 0.5 && found < wanted + 0.5, "%s: exchange takes %f, expected %f",
			expected[i].name, found, wanted);
	}
	analysis_free(&analysis);
	model_free(&model);
}

/* Of the backward time, what is forward work done again: as much as the forward pass takes. */
static void check_recompute(void)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 4,
		.batch = 16,
		.processes = 1,
		.gpus = 1,
		.accumulate = 3,
		.schedule = MODEL_ALL_FORWARD,
		.recompute = true};

	for (int again = 0; again < 2; again++) {
		struct analysis analysis;
		struct model model;

		options.recompute = again;
		model_make(&model, &options);
		model_read(&model, 1, &analysis);
		for (size_t i = 0; i < analysis.workers[0].layers.count; i++) {
			const char *name = analysis.workers[0].layers.items[i].name;
			double forward = analysis_layer(analysis.workers, 1, name, PHASE_LAYER_FORWARD).mean,
			       recompute =
				       analysis_layer(analysis.workers, 1, name, PHASE_LAYER_RECOMPUTE).mean;

			CHECK(forward > 0 && recompute == (again ? forward : 0), "%s: %f forward, %f again",
				name, forward, recompute);
		}
		analysis_free(&analysis);
		model_free(&model);
	}
}

/* The program's names, but for a layer whose calls do not agree. */
static void check_modules(void)
{
	struct model_options options = {
		.net = MODEL_LENET, .iterations = 3, .batch = 16, .processes = 1, .gpus = 1, .modules = true};
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	for (size_t i = 0; i < analysis.workers[0].layers.count; i++) {
		const struct layer *layer = &analysis.workers[0].layers.items[i];

		CHECK(strncmp(layer->module, "net.", 4) == 0 && strcmp(layer->module + 4, layer->name) == 0 &&
				layer_title(layer) == layer->module,
			"layer %s is '%s'", layer->name, layer->module);
	}
	analysis_free(&analysis);
	model_free(&model);
}

static void add_operation(struct builder *builder, uint32_t function, uint64_t in, uint64_t w, uint64_t out,
	const char *module, uint64_t *now_ns, uint32_t queue)
{
	uint32_t operation = builder_operation(builder, function, 0, (const uint64_t[]){in, w, out});

	if (module)
		builder_module(builder, operation, module);
	builder_call(builder, 1, *now_ns, *now_ns + 10, operation, queue, 0, *now_ns + 20, *now_ns + 60);
	*now_ns += 100;
}

/* Two calls of different modules with one weight: the layer keeps the name that it has from its kind. */
static void check_no_module(void)
{
	struct builder builder;
	struct timeline timeline;
	struct analysis analysis;
	struct trace trace;
	uint32_t forward, backward, update, queue;
	uint64_t now_ns = 10000;

	builder_init(&builder);
	queue = builder_queue(&builder, 0, 1);
	forward = builder_function(
		&builder, "cudnn FORWARD cudnnConvolutionForward reads:x_ptr weight:w_ptr writes:y_ptr");
	backward = builder_function(&builder,
		"cudnn BACKWARD cudnnConvolutionBackwardFilter reads:x_ptr reads:dy_ptr grad:dw_ptr");
	update = builder_function(&builder, "cublas COMPUTE cublasSaxpy_v2 int:n reads:x_ptr writes:y_ptr");
	for (int i = 0; i < 4; i++) {
		add_operation(&builder, forward, 0x1000, 0x9000, 0x2000, "net.a", &now_ns, queue);
		add_operation(&builder, forward, 0x2000, 0x9000, 0x3000, "net.b", &now_ns, queue);
		add_operation(&builder, forward, 0x3000, 0xa000, 0x4000, "net.c", &now_ns, queue);
		add_operation(&builder, backward, 0x3000, 0x4000, 0xb000, NULL, &now_ns, queue);
		add_operation(&builder, backward, 0x1000, 0x2000, 0xc000, NULL, &now_ns, queue);
		add_operation(&builder, update, 1, 0xb000, 0xa000, "optimizer", &now_ns, queue);
		add_operation(&builder, update, 1, 0xc000, 0x9000, "optimizer", &now_ns, queue);
	}
	builder_finish(&builder);
	CHECK(trace_parse(&trace, "t", builder.file.data, builder.file.size) == 0, "%s", trace.error);
	timeline_init(&timeline);
	timeline_add(&timeline, &trace);
	trace_close(&trace);
	timeline_settle(&timeline);
	analysis_init(&analysis, &timeline, 1);
	CHECK(analysis.worker_count == 1 && analysis.workers[0].layers.count == 2, "%zu layers",
		analysis.worker_count ? analysis.workers[0].layers.count : 0);
	for (size_t i = 0; analysis.worker_count && i < analysis.workers[0].layers.count; i++)
		CHECK(strcmp(analysis.workers[0].layers.items[i].module, i ? "net.c" : "") == 0,
			"layer %zu is '%s'", i, analysis.workers[0].layers.items[i].module);
	analysis_free(&analysis);
	builder_free(&builder);
}

/* Filters have the same sizes in any layout. */
static void check_convolutions(void)
{
	struct model_options options = {
		.net = MODEL_RESIDUAL, .iterations = 3, .batch = 16, .processes = 1, .gpus = 1};
	const struct layer_list *layers;
	struct analysis analysis;
	struct model model;
	size_t count = 0;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	layers = &analysis.workers[0].layers;
	for (size_t i = 0; i < layers->count; i++) {
		const char *text = layers->items[i].text;

		if (strncmp(layers->items[i].name, "conv", 4) != 0)
			continue;
		count++;
		CHECK(strncmp(text, "3x3x", 4) == 0 || strncmp(text, "1x1x", 4) == 0, "%s '%s'",
			layers->items[i].name, text);
	}
	CHECK(count > 3, "%zu convolutions", count);
	analysis_free(&analysis);
	model_free(&model);
}

/* What recurrent layers and attention are said to be. */
static void check_sequence(void)
{
	static const struct {
		const char *name, *text, *input;
		uint64_t parameters;
	} expected[] = {
		{"lstm1", "784->256 x2 bi", "16x1x28x28", 784 * 256},
		{"attention1", "8 heads 256", "16x256x1x1", 256 * 256},
		{"gru1", "256->64", "16x256x1x1", 256 * 64},
		{"fc1", "64->10", "16x64", 650},
		{"softmax", "", "16x10x1x1", 0},
	};
	struct model_options options = {
		.net = MODEL_SEQUENCE, .iterations = 3, .batch = 16, .processes = 1, .gpus = 1};
	const struct layer_list *layers;
	struct analysis analysis;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	layers = &analysis.workers[0].layers;
	CHECK(layers->count == 5, "%zu layers", layers->count);
	for (size_t i = 0; i < layers->count && i < 5; i++)
		CHECK(strcmp(layers->items[i].name, expected[i].name) == 0 &&
				strcmp(layers->items[i].text, expected[i].text) == 0 &&
				strcmp(layers->items[i].input, expected[i].input) == 0 &&
				layers->items[i].parameter_count == expected[i].parameters,
			"%s '%s' %s %zu", layers->items[i].name, layers->items[i].text,
			layers->items[i].input, (size_t)layers->items[i].parameter_count);
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
		if (!options.iterations)
			options.iterations = 8;
		if (!options.batch)
			options.batch = 64;
		options.seed = i + 1;
		if (!options.processes)
			options.processes = 1;
		if (!options.gpus)
			options.gpus = 1;
		model_make(&model, &options);
		model_read(&model, 1, &analysis);
		CHECK((int)analysis.worker_count == options.processes * options.gpus, "%s: %zu workers",
			cases[i].name, analysis.worker_count);
		for (size_t w = 0; w < analysis.worker_count; w++) {
			check_worker(
				cases[i].name, &analysis, &analysis.workers[w], &model, options.iterations);
			if (!options.prefetch)
				check_complete(cases[i].name, &analysis, &analysis.workers[w], &model);
		}
		analysis_free(&analysis);
		model_free(&model);
	}
	check_graph_api(MODEL_LENET);
	check_graph_api(MODEL_MLP);
	check_graph_api(MODEL_AUTOENCODER);
	check_graph_api(MODEL_NORM);
	check_convolutions();
	check_sequence();
	check_recompute();
	check_buckets();
	check_modules();
	check_no_module();
	return check_end();
}
