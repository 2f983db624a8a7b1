/*
 * The main program of all trainers: options, data, and the choice of the training loop. See train.h.
 */
#include "train.h"

#include <string.h>

#include "check.h"
#include "pipeline.h"
#include "train_loop.h"
#include "train_save.h"

enum { FUSION_THRESHOLD = 64 << 20, CYCLE_MS = 1 };

static struct train_options options = {.data = "data",
	.batch = 64,
	.epochs = 1,
	.rate = 0.01,
	.gpus = 1,
	.seed = 1,
	.print = 10,
	.fusion_threshold = FUSION_THRESHOLD,
	.cycle_ms = CYCLE_MS};

static const struct option_setting training_rows[] = {
	{OPTION_PATH, "data", "DIR", &options.data, 0, 0, "folder with the data set's files"},
	{OPTION_CHOICE, "dataset", DATA_SETS, &options.dataset, 0, 0,
		"file format in that folder: MNIST's or Fashion-MNIST's four IDX files; CIFAR-10's binary files; or "
		"train.raw and test.raw, with images of 3x224x224 (imagenet) or 3x512x512 bytes (highres), or with "
		"volumes"},
	{OPTION_FLAG, "synthetic", NULL, &options.synthetic, 0, 0,
		"no files: repeat one batch of random numbers, generated in memory, in epochs as long as the "
		"published data set's; each process generates the same numbers for its part of the batch"},
	{OPTION_INT, "batch", "N", &options.batch, 1, 1000000,
		"images per iteration, over all GPUs; an incomplete last batch is dropped"},
	{OPTION_INT, "epochs", "N", &options.epochs, 0, 1000000, "passes over the training images"},
	{OPTION_INT, "iterations", "N", &options.iterations, 0, 1000000000,
		"end an epoch after at most N iterations; 0: at the end of the data"},
	{OPTION_CHOICE, "optimizer", "sgd|adam", &options.optimizer, 0, 0, "optimizer"},
	{OPTION_NUMBER, "lr", "X", &options.rate, 0, 1000, "learning rate"},
	{OPTION_NUMBER, "momentum", "X", &options.momentum, 0, 1, "momentum of sgd"},
	{OPTION_INT, "seed", "N", &options.seed, 0, 1000000000, "random seed of weights and dropout"},
	{OPTION_CHOICE, "api", "legacy|graph", &options.api, 0, 0,
		"API for convolutions and dense layers: cudnnConvolution* and cublasSgemm; or execution plans of "
		"cuDNN's graph API and cublasLtMatmul, with biases and relu in the same step, as frameworks do"},
	{OPTION_FLAG, "eval", NULL, &options.eval, 0, 0, "evaluate on the test images after each epoch"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const struct option_setting parallel_rows[] = {
	{OPTION_INT, "gpus", "N", &options.gpus, 1, DIST_MAX_GPUS,
		"GPUs of this process; one thread drives them, with NCCL's group calls"},
	{OPTION_CHOICE, "divide", "host|device", &options.divide, 0, 0,
		"where the batch is split among the GPUs: on the host, before each part is copied to its GPU; or on "
		"the first GPU of each process, which receives the whole batch and distributes the parts"},
	{OPTION_CHOICE, "aggregate", "after|overlap|fused", &options.aggregate, 0, 0,
		"when gradients are all-reduced over the GPUs, or over the replicas of a pipeline stage: layer by "
		"layer after the whole backward pass; each layer's as soon as they are ready, overlapping the rest "
		"of it; or several layers' at once, as in Horovod: gradients that become ready within a cycle are "
		"copied into a buffer, all-reduced and copied back. The grouping of layers is measured once, in the "
		"second iteration"},
	{OPTION_INT, "fusion-threshold", "BYTES", &options.fusion_threshold, 0, 2147483647,
		"fused: size of the buffer; larger gradients are all-reduced in place"},
	{OPTION_NUMBER, "cycle-ms", "X", &options.cycle_ms, 0, 1e9,
		"fused: cycle time; 0: each layer separately"},
	{OPTION_CHOICE, "strategy", "data|model|gpipe|pipedream|hybrid|layerwise", &options.strategy, 0, 0,
		"what is divided among the processes: the batch; or the network's layers, as below"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const struct option_setting pipeline_rows[] = {
	{OPTION_TEXT, "stages", "N-N...", &options.stages, 0, 0,
		"processes per stage, in rank order: 2-1-1 are three stages, the first with two replicas. Without it "
		"each process is a stage. Several replicas: pipedream and hybrid, which requires it"},
	{OPTION_TEXT, "partition", "auto|N,N...", &options.partition, 0, 0,
		"where the network is cut: the first layer, counted from 0, of each stage but the first; auto "
		"(default): minimise the operations of the slowest stage"},
	{OPTION_INT, "micro-batches", "N", &options.micro_batches, 0, 100000,
		"number of equal micro-batches per batch, a multiple of each stage's replicas; 0: 4, or with "
		"model and layerwise 1"},
	{OPTION_CHOICE, "recompute", "auto|on|off", &options.recompute, 0, 0,
		"keep only a stage's inputs, and recompute its forward pass before each backward pass; auto: with "
		"gpipe and hybrid"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const struct option_setting output_rows[] = {
	{OPTION_INT, "print", "N", &options.print, 0, 1000000000,
		"print the loss every N iterations; 0: never"},
	{OPTION_PATH, "save", "FILE", &options.save, 0, 0,
		"write the final weights: floats, layer by layer, weights and then biases"},
	{OPTION_PATH, "clock", "FILE", &options.clock, 0, 0,
		"measure the phases of each iteration and write them as CSV; with several ranks, .RANK is appended "
		"to the name unless it contains %r for the rank"},
	{OPTION_FLAG, "check-gradients", NULL, &options.check_gradients, 0, 0,
		"before training, compare the first batch's gradients with difference quotients of the "
		"loss; exit with 1 if they differ"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const char notes[] =
	"STRATEGIES\n"
	"       data       each GPU has the whole network and a part of each batch; their gradients are summed.\n"
	"       model      each process has a stage: some of the network's layers. One of them works at a time.\n"
	"       gpipe      the same, with a batch divided into micro-batches that follow each other through the\n"
	"                  stages: all forward passes, all backward passes, one update.\n"
	"       hybrid     gpipe with several replicas of a stage, which take turns at the micro-batches and\n"
	"                  whose gradients are summed.\n"
	"       pipedream  a stage does one forward and one backward pass in turn, and an update after each (of\n"
	"                  all its replicas' gradients), so that it never waits for the end of a batch. The\n"
	"                  backward pass of a micro-batch has the weights that its forward pass had; they are\n"
	"                  some updates old. Loss and gradients are a micro-batch's mean, not the batch's.\n"
	"       layerwise  pipedream with whole batches and twice as many of them under way: a stage has the\n"
	"                  forward pass of a new batch and the backward pass of an old one in turn.\n"
	"       All but these two learn what one GPU learns, but for rounding, and but for batch normalisation,\n"
	"       which sees a part of the batch.\n"
	"\n"
	"SEVERAL PROCESSES\n"
	"       RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun sets them, make the\n"
	"       process one of WORLD_SIZE: rank 0 listens at MASTER_ADDR:MASTER_PORT and the others fetch\n"
	"       NCCL's id there, and later, with --aggregate fused, the buckets. All must have the same options,\n"
	"       but for files and folders, and as much data. Each process uses --gpus GPUs from number LOCAL_RANK\n"
	"       x gpus on, modulo the number there are. Rank 0 prints; of a pipeline the last stage's first\n"
	"       process, which has the loss. Rank 0 saves; in a pipeline all processes need --save.\n"
	"\n"
	"EXIT STATUS\n"
	"       0 success, 1 a file or a library call failed, 2 usage error.\n";

static void open_data(struct data *data, int is_test)
{
	if (options.synthetic)
		data_synthetic(data, (enum data_set)options.dataset, is_test);
	else if (data_open(data, (enum data_set)options.dataset, options.data, is_test))
		errx(1, "%s", data->error);
}

static void open_test(struct train *t)
{
	const struct data *a = &t->test, *b = &t->data;

	open_data(&t->test, 1);
	if (a->height != b->height || a->width != b->width || a->depth != b->depth ||
		a->channels != b->channels || a->classes != b->classes)
		errx(1,
			"%s: byte 8: %dx%dx%dx%d numbers and %d classes found, %dx%dx%dx%d and %d as for training "
			"expected",
			a->image[0].path, a->channels, a->depth, a->height, a->width, a->classes, b->channels,
			b->depth, b->height, b->width, b->classes);
}

static void add_layers(
	struct nn *nn, const struct train_program *program, const struct data *data, int batch, int share)
{
	nn_init(nn, batch, share, data->channels, data->depth, data->height, data->width);
	nn->classes = data->classes;
	nn->api = (enum nn_api)options.api;
	program->build(nn);
	if (nn_check(nn))
		errx(2, "%s", nn->error);
}

/* Every GPU has the whole network. */
static void train_replicas(struct train *t, const struct train_program *program)
{
	int gpus = t->dist.gpus;

	if (options.batch < t->dist.replicas)
		errx(2, "--batch %d: too small for %d GPUs", options.batch, t->dist.replicas);
	t->nets = xcalloc((size_t)gpus, sizeof(*t->nets));
	for (int g = 0; g < gpus; g++) {
		int first = 0, count = 0;

		dist_share(&t->dist, options.batch, t->dist.rank * gpus + g, &first, &count);
		add_layers(&t->nets[g], program, &t->data, options.batch, count);
	}
	dist_open(&t->dist);
	train_create(t);
	if (options.check_gradients)
		train_check_gradients(t);
	train_epochs(t);
	if (options.save && t->dist.rank == 0)
		train_save(options.save, &t->nets[0], train_fetch, &t->nets[0]);
	train_destroy(t);
	free(t->nets);
}

/* Every process has a stage. */
static void train_stages(struct train *t, const struct train_program *program)
{
	const struct strategy_options wanted = {(enum strategy_kind)options.strategy, options.stages,
		options.partition, options.batch, options.micro_batches,
		(enum strategy_recompute)options.recompute};
	static struct strategy plan;
	struct nn *nn = t->nets = xcalloc(1, sizeof(*nn));
	struct pipeline p;
	int samples = 0;

	if (strategy_init(&plan, &wanted, t->dist.world))
		errx(2, "%s", plan.error);
	samples = strategy_samples(&plan);
	add_layers(nn, program, &t->data, strategy_follows(&plan) ? samples : options.batch, samples);
	if (strategy_cut(&plan, nn, options.partition))
		errx(2, "%s", plan.error);
	dist_open(&t->dist);
	pipeline_create(&p, &options, &plan, &t->dist, nn, &t->data, &t->test);
	pipeline_epochs(&p);
	if (options.save && t->dist.rank == 0)
		train_save(options.save, nn, pipeline_fetch, &p);
	for (int i = 0; options.save && t->dist.rank > 0 && i < nn->layer_count; i++)
		pipeline_fetch(&p, i, NULL);
	pipeline_destroy(&p);
	free(nn);
}

/* Options that would do nothing beside the others. */
static void check_training(void)
{
	if (options.momentum > 0 && options.optimizer == OPTIM_ADAM)
		errx(2, "--momentum %g: --optimizer adam has none", options.momentum);
	if (options.eval && options.synthetic)
		errx(2, "--eval: no test images with --synthetic");
	if (options.eval && !options.epochs)
		errx(2, "--eval: no epoch to evaluate");
	if (options.aggregate == DIST_FUSED)
		return;
	if (options.fusion_threshold != FUSION_THRESHOLD)
		errx(2, "--fusion-threshold %d: only with --aggregate fused", options.fusion_threshold);
	if (options.cycle_ms < CYCLE_MS || options.cycle_ms > CYCLE_MS)
		errx(2, "--cycle-ms %g: only with --aggregate fused", options.cycle_ms);
}

/* Options that belong to the other of the two. */
static void check_strategy(void)
{
	int is_data = options.strategy == STRATEGY_DATA;

	if (is_data && (options.stages || options.partition || options.micro_batches || options.recompute))
		errx(2, "--%s: --strategy data has no stages and no micro-batches",
			options.stages          ? "stages"
			: options.partition     ? "partition"
			: options.micro_batches ? "micro-batches"
						: "recompute");
	if (!is_data && options.gpus > 1)
		errx(2, "--gpus %d: a process of a pipeline has one GPU", options.gpus);
	if (!is_data && options.divide)
		errx(2, "--divide device: the stages of a pipeline have no batch to divide");
	if ((options.strategy == STRATEGY_MODEL || options.strategy == STRATEGY_GPIPE) && options.aggregate)
		errx(2, "--aggregate: no gradients to sum with --strategy model and gpipe");
	if (!is_data && options.check_gradients)
		errx(2, "--check-gradients: only with --strategy data");
}

/* Of all settings that the processes of a run must share. */
static uint64_t hash_of_run(
	const struct train_program *program, const struct option_section *sections, const struct data *data)
{
	char more[256];

	snprintf(more, sizeof(more), "%.*s %d samples %dx%dx%dx%d %d classes%s",
		(int)strcspn(program->about, " "), program->about, data->count, data->channels, data->depth,
		data->height, data->width, data->classes,
		options.save && options.strategy != STRATEGY_DATA ? " saved" : "");
	return options_hash(sections, more);
}

int train_main(int argc, char **argv, const struct train_program *program)
{
	const struct option_section sections[] = {
		{"NETWORK", program->rows},
		{"TRAINING", training_rows},
		{"SEVERAL GPUS", parallel_rows},
		{"PIPELINES", pipeline_rows},
		{"OUTPUT AND CHECKS", output_rows},
		{NULL, NULL},
	};
	struct train t = {.options = &options};

	options.dataset = program->dataset;
	setvbuf(stdout, NULL, _IOLBF, 0); /* who follows the losses in a file sees them as they come */
	options_parse(argc, argv, program->about, sections, notes);
	check_training();
	check_strategy();
	dist_init(&t.dist, options.gpus);
	open_data(&t.data, 0);
	if (options.eval)
		open_test(&t);
	if (options.batch > t.data.count)
		errx(2, "--batch %d: only %d training images", options.batch, t.data.count);
	if (options.save && t.dist.rank == 0)
		train_save_check(options.save);
	t.dist.settings_hash = hash_of_run(program, sections, &t.data);
	if (options.strategy == STRATEGY_DATA)
		train_replicas(&t, program);
	else
		train_stages(&t, program);
	data_close(&t.data);
	if (options.eval)
		data_close(&t.test);
	return 0;
}
