/*
 * The training loop: see train.h. An iteration is: read a batch, divide it, copy it to the GPUs, forward,
 * backward, sum the gradients over all GPUs, update; then wait until all of it is done. One thread drives all
 * GPUs of a process, so each step goes over them in turn; the GPUs work at the same time, since steps only
 * queue work.
 */
#include "train.h"

#include <string.h>

#include "batch.h"
#include "check.h"
#include "clock.h"
#include "data.h"
#include "dist.h"
#include "gradcheck.h"
#include "loss.h"
#include "optim.h"

enum { AGGREGATE_AFTER, AGGREGATE_OVERLAP };

static struct {
	const char *data;
	int dataset, batch, epochs, iterations, eval, optimizer, gpus, divide, aggregate, seed, print,
		check_gradients, api;
	double rate, momentum;
	const char *save, *clock;
} options = {.data = "data", .batch = 64, .epochs = 1, .rate = 0.01, .gpus = 1, .seed = 1, .print = 10};

static const struct option_row training_rows[] = {
	{OPTION_TEXT, "data", "DIR", &options.data, 0, 0, "folder with the data set's files"},
	{OPTION_CHOICE, "dataset", "mnist|fashion|cifar10", &options.dataset, 0, 0,
		"which files to expect there: MNIST's or Fashion-MNIST's four IDX files, or CIFAR-10's "
		"binary files"},
	{OPTION_INT, "batch", "N", &options.batch, 1, 1000000,
		"images per iteration, over all GPUs; an incomplete last batch is left out"},
	{OPTION_INT, "epochs", "N", &options.epochs, 0, 1000000, "passes over the training images"},
	{OPTION_INT, "iterations", "N", &options.iterations, 0, 1000000000,
		"stop an epoch after N iterations; 0: at its end"},
	{OPTION_CHOICE, "optimizer", "sgd|adam", &options.optimizer, 0, 0,
		"how gradients become new weights"},
	{OPTION_NUMBER, "lr", "X", &options.rate, 0, 1000, "learning rate"},
	{OPTION_NUMBER, "momentum", "X", &options.momentum, 0, 1, "momentum of sgd"},
	{OPTION_INT, "seed", "N", &options.seed, 0, 1000000000,
		"another number gives other weights and dropout"},
	{OPTION_CHOICE, "api", "legacy|graph", &options.api, 0, 0,
		"how convolutions and dense layers are called: cudnnConvolution* and cublasSgemm; or execution "
		"plans of cuDNN's graph API and cublasLtMatmul, with biases and relu in the same step, as "
		"frameworks do"},
	{OPTION_FLAG, "eval", NULL, &options.eval, 0, 0, "after each epoch, a pass over the test images"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const struct option_row parallel_rows[] = {
	{OPTION_INT, "gpus", "N", &options.gpus, 1, DIST_MAX_GPUS,
		"GPUs of this process; one thread drives them, with NCCL's group calls"},
	{OPTION_CHOICE, "divide", "host|device", &options.divide, 0, 0,
		"where a batch is divided among the GPUs: on the host, before each part is copied to its "
		"GPU; or on the first GPU of each process, to which the whole batch is copied and from "
		"which the parts go on"},
	{OPTION_CHOICE, "aggregate", "after|overlap", &options.aggregate, 0, 0,
		"when a layer's gradients are summed over the GPUs: after the whole backward pass, or as "
		"soon as they exist, next to the rest of it"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const struct option_row output_rows[] = {
	{OPTION_INT, "print", "N", &options.print, 0, 1000000000,
		"print the loss every N iterations; 0: never"},
	{OPTION_TEXT, "save", "FILE", &options.save, 0, 0,
		"write the final weights: floats, layer by layer, weights and then biases"},
	{OPTION_TEXT, "clock", "FILE", &options.clock, 0, 0,
		"measure the phases of each iteration and write them as CSV; with several ranks, .RANK "
		"is added to the name unless %r in it stands for the rank"},
	{OPTION_FLAG, "check-gradients", NULL, &options.check_gradients, 0, 0,
		"before training, compare the first batch's gradients with difference quotients of the "
		"loss; exit with 1 if they differ"},
	{OPTION_END, NULL, NULL, NULL, 0, 0, NULL},
};

static const char notes[] =
	"SEVERAL PROCESSES\n"
	"       RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun sets them, make the\n"
	"       process one of WORLD_SIZE: rank 0 listens at MASTER_ADDR:MASTER_PORT and the others fetch\n"
	"       NCCL's id there. Each process uses --gpus GPUs from number LOCAL_RANK x gpus on, modulo the\n"
	"       number there are. Rank 0 prints.\n"
	"\nEXIT STATUS\n"
	"       0 done, 1 a file or a library call failed, 2 wrong usage.\n";

struct train {
	struct data data, test;
	struct dist dist;
	struct nn *nets; /* one per GPU of this process, as are: */
	struct optim *optims;
	float **output; /* pinned copies of the last layer's y */
	struct batch batch;
	struct clock *clock;
};

static void open_data(struct data *data, int is_test)
{
	if (data_open(data, (enum data_set)options.dataset, options.data, is_test))
		errx(1, "%s", data->error);
}

static void open_test(struct train *t)
{
	open_data(&t->test, 1);
	if (t->test.height != t->data.height || t->test.width != t->data.width)
		errx(1, "%s: byte 8: images of %dx%d found, %dx%d as for training expected",
			t->test.image[0].path, t->test.height, t->test.width, t->data.height, t->data.width);
}

static void build(struct train *t, const struct train_program *program)
{
	int gpus = t->dist.gpus;

	t->nets = xcalloc((size_t)gpus, sizeof(*t->nets));
	for (int g = 0; g < gpus; g++) {
		int first = 0, count = 0;

		dist_share(&t->dist, options.batch, t->dist.rank * gpus + g, &first, &count);
		nn_init(&t->nets[g], options.batch, count, t->data.channels, t->data.height, t->data.width);
		t->nets[g].api = (enum nn_api)options.api;
		program->build(&t->nets[g]);
		if (t->nets[g].error[0])
			errx(2, "%s", t->nets[g].error);
	}
}

static void create(struct train *t)
{
	int gpus = t->dist.gpus;

	t->optims = xcalloc((size_t)gpus, sizeof(*t->optims));
	t->output = xcalloc((size_t)gpus, sizeof(*t->output));
	for (int g = 0; g < gpus; g++) {
		void *output = NULL;

		nn_create(&t->nets[g], t->dist.device[g], (uint64_t)options.seed, t->dist.rank * gpus + g);
		optim_init(&t->optims[g], &t->nets[g], (enum optim_kind)options.optimizer, options.rate,
			options.momentum);
		CHECK(cudaMallocHost(&output, nn_numel(nn_last(&t->nets[g])->out) * sizeof(float)));
		t->output[g] = output;
	}
	batch_init(&t->batch, &t->dist, t->nets, &t->data, options.batch, (enum batch_divide)options.divide);
	t->clock = clock_open(options.clock, t->dist.rank, t->dist.world, t->nets, gpus);
}

static void destroy(struct train *t)
{
	clock_close(t->clock);
	batch_free(&t->batch);
	for (int g = 0; g < t->dist.gpus; g++) {
		optim_free(&t->optims[g], &t->nets[g]);
		CHECK(cudaFreeHost(t->output[g]));
		nn_destroy(&t->nets[g]);
	}
	dist_close(&t->dist);
	free(t->optims);
	free(t->output);
	free(t->nets);
}

static void forward(struct train *t, struct clock *clock)
{
	for (int i = 0; i < t->nets[0].layer_count; i++)
		for (int g = 0; g < t->dist.gpus; g++) {
			CHECK(cudaSetDevice(t->nets[g].device));
			clock_begin(clock, CLOCK_FORWARD, g, i, t->nets[g].stream);
			nn_forward(&t->nets[g], i);
			clock_end(clock, CLOCK_FORWARD, g, i, t->nets[g].stream);
		}
	for (int g = 0; g < t->dist.gpus; g++) {
		struct nn_layer *last = nn_last(&t->nets[g]);

		CHECK(cudaSetDevice(t->nets[g].device));
		CHECK(cudaMemcpyAsync(t->output[g], last->y, nn_numel(last->out) * sizeof(float),
			cudaMemcpyDeviceToHost, t->nets[g].stream));
	}
}

/* Sums a layer's gradients over all replicas, when all that their streams have been given so far is done. */
static void aggregate(struct train *t, int layer)
{
	float *grads[DIST_MAX_GPUS];

	if (t->dist.replicas == 1 || !t->nets[0].layer[layer].param_count)
		return;
	for (int g = 0; g < t->dist.gpus; g++) {
		grads[g] = t->nets[g].layer[layer].grad;
		dist_wait_for_gradients(&t->dist, g, t->nets[g].stream);
		clock_begin(t->clock, CLOCK_COMMUNICATION, g, layer, t->dist.stream[g]);
	}
	dist_sum_gradients(&t->dist, grads, t->nets[0].layer[layer].param_count);
	for (int g = 0; g < t->dist.gpus; g++) {
		CHECK(cudaSetDevice(t->nets[g].device));
		clock_end(t->clock, CLOCK_COMMUNICATION, g, layer, t->dist.stream[g]);
	}
}

static void backward(struct train *t)
{
	int last = t->nets[0].layer_count - 1;

	for (int i = last; i >= 0; i--) {
		for (int g = 0; g < t->dist.gpus; g++) {
			CHECK(cudaSetDevice(t->nets[g].device));
			clock_begin(t->clock, CLOCK_BACKWARD, g, i, t->nets[g].stream);
			nn_backward(&t->nets[g], i);
			clock_end(t->clock, CLOCK_BACKWARD, g, i, t->nets[g].stream);
		}
		if (options.aggregate == AGGREGATE_OVERLAP)
			aggregate(t, i);
	}
	for (int i = last; i >= 0 && options.aggregate == AGGREGATE_AFTER; i--)
		aggregate(t, i);
}

static void update(struct train *t)
{
	for (int g = 0; g < t->dist.gpus; g++) {
		cudaStream_t stream = t->nets[g].stream;

		if (t->dist.replicas > 1)
			dist_wait_for_sums(&t->dist, g, stream);
		CHECK(cudaSetDevice(t->nets[g].device));
		clock_begin(t->clock, CLOCK_UPDATE, g, -1, stream);
		optim_update(&t->optims[g], &t->nets[g]);
		clock_end(t->clock, CLOCK_UPDATE, g, -1, stream);
	}
}

static void wait_for_all(struct train *t)
{
	for (int g = 0; g < t->dist.gpus; g++) {
		CHECK(cudaSetDevice(t->nets[g].device));
		CHECK(cudaStreamSynchronize(t->nets[g].stream));
	}
}

/* The loss of this process's samples among the batch's first `count`. */
static struct loss local_loss(struct train *t, int count)
{
	struct loss loss = {0, 0};

	for (int g = 0; g < t->dist.gpus; g++) {
		int first = t->batch.part[g].first, here = t->batch.part[g].count;
		const float *labels = t->batch.labels + (size_t)first * t->batch.classes;
		struct loss part;

		if (here > count - first)
			here = count > first ? count - first : 0;
		part = loss_of(nn_last(&t->nets[g]), t->output[g], labels, here);
		loss.sum += part.sum;
		loss.correct += part.correct;
	}
	return loss;
}

/* The same of all processes. */
static struct loss global_loss(struct train *t, struct loss local)
{
	double values[2] = {local.sum, local.correct};

	dist_sum_values(&t->dist, values);
	return (struct loss){values[0], values[1]};
}

static struct loss iterate(struct train *t, int iteration, int first)
{
	double begin_us = clock_now_us();

	batch_load(&t->batch, &t->data, first, options.batch, t->clock);
	forward(t, t->clock);
	backward(t);
	update(t);
	wait_for_all(t);
	clock_host(t->clock, CLOCK_ITERATION, begin_us);
	clock_collect(t->clock, iteration);
	return local_loss(t, options.batch);
}

static void train_epoch(struct train *t, int epoch, int iterations)
{
	struct loss sum = {0, 0};

	for (int i = 0; i < iterations; i++) {
		int iteration = epoch * iterations + i;
		struct loss loss = iterate(t, iteration, i * options.batch);

		sum.sum += loss.sum;
		if (options.print && iteration % options.print == 0) {
			loss = global_loss(t, loss);
			if (t->dist.rank == 0)
				printf("epoch %d iteration %d loss %.9f\n", epoch + 1, iteration,
					loss.sum / options.batch);
		}
	}
	sum = global_loss(t, sum);
	if (t->dist.rank == 0)
		printf("epoch %d mean loss %.9f\n", epoch + 1, sum.sum / options.batch / iterations);
}

static void evaluate(struct train *t, int epoch)
{
	struct loss sum = {0, 0};

	for (int g = 0; g < t->dist.gpus; g++)
		t->nets[g].training = 0;
	for (int first = 0; first < t->test.count; first += options.batch) {
		int left = t->test.count - first, count = left < options.batch ? left : options.batch;
		struct loss loss;

		batch_load(&t->batch, &t->test, first, count, NULL);
		forward(t, NULL);
		wait_for_all(t);
		loss = local_loss(t, count);
		sum.sum += loss.sum;
		sum.correct += loss.correct;
	}
	for (int g = 0; g < t->dist.gpus; g++)
		t->nets[g].training = 1;
	sum = global_loss(t, sum);
	if (t->dist.rank == 0 && nn_last(&t->nets[0])->kind == NN_SOFTMAX)
		printf("epoch %d test loss %.9f accuracy %.4f\n", epoch + 1, sum.sum / t->test.count,
			sum.correct / t->test.count);
	else if (t->dist.rank == 0)
		printf("epoch %d test loss %.9f\n", epoch + 1, sum.sum / t->test.count);
}

static void check_gradients(struct train *t)
{
	int failed = 0;

	batch_load(&t->batch, &t->data, 0, options.batch, NULL);
	wait_for_all(t);
	if (t->dist.rank == 0)
		failed = gradcheck(
			&t->nets[0], t->batch.labels + (size_t)t->batch.part[0].first * t->batch.classes);
	if (failed)
		errx(1, "the gradients are wrong");
}

static void save(struct nn *nn)
{
	FILE *file = fopen(options.save, "wb");
	int failed = 0;

	if (!file)
		err(1, "%s", options.save);
	CHECK(cudaSetDevice(nn->device));
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *layer = &nn->layer[i];
		float *param = xcalloc(layer->param_count, sizeof(float));

		if (layer->param_count)
			CHECK(cudaMemcpy(param, layer->param, layer->param_count * sizeof(float),
				cudaMemcpyDeviceToHost));
		fwrite(param, sizeof(float), layer->weight_count, file);
		fwrite(param + layer->bias_at, sizeof(float), layer->bias_count, file);
		free(param);
	}
	failed = ferror(file);
	if (fclose(file) || failed)
		err(1, "%s", options.save);
}

int train_main(int argc, char **argv, const struct train_program *program)
{
	const struct option_section sections[] = {
		{"NETWORK", program->rows},
		{"TRAINING", training_rows},
		{"SEVERAL GPUS", parallel_rows},
		{"OUTPUT AND CHECKS", output_rows},
		{NULL, NULL},
	};
	struct train t = {0};
	int iterations = 0;

	options_parse(argc, argv, program->about, sections, notes);
	dist_init(&t.dist, options.gpus);
	if (options.batch < t.dist.replicas)
		errx(2, "--batch %d: too few for %d GPUs", options.batch, t.dist.replicas);
	open_data(&t.data, 0);
	if (options.eval)
		open_test(&t);
	if (options.batch > t.data.count)
		errx(2, "--batch %d: %s has only %d training images", options.batch, options.data,
			t.data.count);
	build(&t, program);
	dist_open(&t.dist);
	create(&t);
	if (options.check_gradients)
		check_gradients(&t);
	iterations = t.data.count / options.batch;
	if (options.iterations && options.iterations < iterations)
		iterations = options.iterations;
	for (int epoch = 0; epoch < options.epochs; epoch++) {
		train_epoch(&t, epoch, iterations);
		if (options.eval)
			evaluate(&t, epoch);
		fflush(stdout);
	}
	if (options.save && t.dist.rank == 0)
		save(&t.nets[0]);
	destroy(&t);
	data_close(&t.data);
	if (options.eval)
		data_close(&t.test);
	return 0;
}
