/* Checks that every call of made-up training programs is given the phase, the layer and the iteration it was
 * made for. */
#include "check.h"
#include "model_read.h"

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
	{"mlp_opaque_update", {.net = MODEL_MLP, .optimizer = MODEL_OPAQUE}},
	{"mlp_opaque_two_ranks",
		{.net = MODEL_MLP, .optimizer = MODEL_OPAQUE, .processes = 2, .overlap = true}},
	{"autoencoder_opaque_update", {.net = MODEL_AUTOENCODER, .optimizer = MODEL_OPAQUE}},
	{"mlp_two_ranks", {.net = MODEL_MLP, .processes = 2, .overlap = true}},
	{"autoencoder_sgd", {.net = MODEL_AUTOENCODER}},
	{"autoencoder_adam", {.net = MODEL_AUTOENCODER, .optimizer = MODEL_ADAM}},
	{"autoencoder_two_gpus", {.net = MODEL_AUTOENCODER, .gpus = 2, .divide_device = true}},
	{"norm_momentum", {.net = MODEL_NORM, .optimizer = MODEL_MOMENTUM, .processes = 2}},
};

static const struct model_call *find_call(const struct model_process *process, int64_t begin_ns)
{
	for (size_t i = 0; i < process->call_count; i++)
		if (process->calls[i].begin_ns == (uint64_t)begin_ns)
			return &process->calls[i];
	return NULL;
}

static const char *layer_name(const struct layer_list *layers, const struct layer_role *role)
{
	return role->part_count == 1 ? layers->items[layers->parts[role->first_part].layer].name : NULL;
}

static void check_call(const char *name, const struct analysis *analysis,
	const struct analysis_worker *worker, const struct model_process *truth, size_t position, bool usual,
	size_t core, int number)
{
	static const char *const phases[] = {
#define ITEM(symbol, key, short_name, text) key,
		PHASE_LIST(ITEM)
#undef ITEM
	};
	const struct timeline_call *call = &analysis->timeline.calls[worker->worker->calls[position]];
	const struct model_call *expected = find_call(truth, call->begin_ns);
	const struct layer_role *role =
		phase_role(&analysis->model, worker->worker, &worker->layers, usual, core, call->operation);
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
		size_t core = 0;

		for (size_t j = item->first_call; j < item->call_end; j++) {
			const struct timeline_call *call =
				&analysis->timeline.calls[worker->worker->calls[j]];

			check_call(name, analysis, worker, truth, j, item->usual, core, (int)i);
			core += (analysis->model.roles[call->operation].flags & WORKER_CORE) != 0;
		}
		for (size_t j = item->first_read; j < item->read_end; j++) {
			const struct model_call *expected =
				find_call(truth, analysis->timeline.calls[worker->worker->reads[j]].begin_ns);

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
		const struct model_call *call =
			find_call(truth, analysis->timeline.calls[worker->worker->calls[i]].begin_ns);

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
	return check_end();
}
