/*
 * The data-parallel training loop: see train_loop.h. An iteration is: read a batch, divide it, copy it to the
 * GPUs, forward, backward, sum the gradients over all GPUs, update; then wait until all of it is done. One
 * thread drives all GPUs of a process, so each step goes over them in turn; the GPUs work at the same time,
 * since steps only queue work.
 */
#include "train_loop.h"

#include "check.h"
#include "gradcheck.h"
#include "label.h"

int train_iterations(const struct train_options *options, const struct data *data)
{
	int iterations = data->count / options->batch;

	return options->iterations && options->iterations < iterations ? options->iterations : iterations;
}

/* The first replica has made them. */
static void share_weights(struct train *t)
{
	float *params[DIST_MAX_GPUS];

	for (int g = 0; g < t->dist.gpus; g++)
		params[g] = t->nets[g].params;
	if (t->dist.replicas > 1 && t->nets[0].param_count)
		dist_first_floats(&t->dist, params, t->nets[0].param_count);
}

void train_create(struct train *t)
{
	int gpus = t->dist.gpus;

	t->optims = xcalloc((size_t)gpus, sizeof(*t->optims));
	t->output = xcalloc((size_t)gpus, sizeof(*t->output));
	for (int g = 0; g < gpus; g++) {
		void *output = NULL;

		t->nets[g].weights = t->dist.rank + g ? NN_ZERO : NN_RANDOM;
		nn_create(
			&t->nets[g], t->dist.device[g], (uint64_t)t->options->seed, t->dist.rank * gpus + g);
		optim_init(&t->optims[g], &t->nets[g], (enum optim_kind)t->options->optimizer,
			t->options->rate, t->options->momentum);
		CHECK(cudaMallocHost(&output, nn_numel(nn_last(&t->nets[g])->out) * sizeof(float)));
		t->output[g] = output;
	}
	share_weights(t);
	batch_init(&t->batch, &t->dist, t->nets, &t->data, t->options->batch,
		(enum batch_divide)t->options->divide);
	t->clock = clock_open(t->options->clock, t->dist.rank, t->dist.world, t->nets, gpus);
	dist_sum_open(&t->sum, (enum dist_style)t->options->aggregate, &t->dist, t->nets, t->clock,
		(size_t)t->options->fusion_threshold, 1e3 * t->options->cycle_ms);
}

void train_destroy(struct train *t)
{
	clock_close(t->clock);
	dist_sum_close(&t->sum);
	batch_free(&t->batch);
	for (int g = 0; g < t->dist.gpus; g++) {
		optim_free(&t->optims[g], &t->nets[g]);
		CHECK(cudaFreeHost(t->output[g]));
		nn_destroy(&t->nets[g]);
	}
	dist_close(&t->dist);
	free(t->optims);
	free(t->output);
}

static void forward(struct train *t, struct clock *clock)
{
	for (int i = 0; i < t->nets[0].layer_count; i++) {
		label_set("forward", t->nets[0].layer[i].name);
		for (int g = 0; g < t->dist.gpus; g++) {
			CHECK(cudaSetDevice(t->nets[g].device));
			clock_begin(clock, CLOCK_FORWARD, g, i, t->nets[g].stream);
			nn_forward(&t->nets[g], i, 0);
			clock_end(clock, CLOCK_FORWARD, g, i, t->nets[g].stream);
		}
	}
	label_set("other", NULL);
	for (int g = 0; g < t->dist.gpus; g++) {
		struct nn_layer *last = nn_last(&t->nets[g]);

		CHECK(cudaSetDevice(t->nets[g].device));
		CHECK(cudaMemcpyAsync(t->output[g], last->y, nn_numel(last->out) * sizeof(float),
			cudaMemcpyDeviceToHost, t->nets[g].stream));
	}
}

static void backward(struct train *t)
{
	dist_sum_begin(&t->sum);
	for (int i = t->nets[0].layer_count - 1; i >= 0; i--) {
		label_set("backward", t->nets[0].layer[i].name);
		for (int g = 0; g < t->dist.gpus; g++) {
			CHECK(cudaSetDevice(t->nets[g].device));
			clock_begin(t->clock, CLOCK_BACKWARD, g, i, t->nets[g].stream);
			nn_backward(&t->nets[g], i, 0);
			clock_end(t->clock, CLOCK_BACKWARD, g, i, t->nets[g].stream);
		}
		dist_sum_layer(&t->sum, i);
	}
	dist_sum_end(&t->sum);
}

static void update(struct train *t)
{
	label_set("update", NULL);
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

void train_print_loss(int epoch, int iteration, double mean)
{
	printf("epoch %d iteration %d loss %.9f\n", epoch + 1, iteration, mean);
}

void train_print_epoch(int epoch, double mean)
{
	printf("epoch %d mean loss %.9f\n", epoch + 1, mean);
}

void train_print_test(int epoch, const struct nn_layer *last, struct loss sum, int count)
{
	printf("epoch %d test loss %.9f", epoch + 1, sum.sum / count);
	if (last->kind == NN_SOFTMAX)
		printf(" accuracy %.4f", sum.correct / count);
	putchar('\n');
}

static struct loss iterate(struct train *t, int iteration, int first)
{
	double begin_us = clock_now_us();

	batch_load(&t->batch, &t->data, first, t->options->batch, t->clock);
	forward(t, t->clock);
	backward(t);
	update(t);
	wait_for_all(t);
	label_set("other", NULL);
	clock_host(t->clock, CLOCK_ITERATION, begin_us);
	clock_collect(t->clock, iteration);
	label_iteration(iteration + 1);
	dist_sum_settle(&t->sum);
	return local_loss(t, t->options->batch);
}

static void train_epoch(struct train *t, int epoch, int iterations)
{
	struct loss sum = {0, 0};

	label_iteration(epoch * iterations);
	for (int i = 0; i < iterations; i++) {
		int iteration = epoch * iterations + i;
		struct loss loss = iterate(t, iteration, i * t->options->batch);

		sum.sum += loss.sum;
		if (t->options->print && iteration % t->options->print == 0) {
			loss = global_loss(t, loss);
			if (t->dist.rank == 0)
				train_print_loss(epoch, iteration, loss.sum / t->options->batch);
		}
	}
	sum = global_loss(t, sum);
	if (t->dist.rank == 0)
		train_print_epoch(epoch, sum.sum / t->options->batch / iterations);
}

static void evaluate(struct train *t, int epoch)
{
	struct loss sum = {0, 0};

	for (int g = 0; g < t->dist.gpus; g++)
		t->nets[g].training = NN_EVALUATE;
	for (int first = 0; first < t->test.count; first += t->options->batch) {
		int left = t->test.count - first, count = left < t->options->batch ? left : t->options->batch;
		struct loss loss;

		batch_load(&t->batch, &t->test, first, count, NULL);
		forward(t, NULL);
		wait_for_all(t);
		loss = local_loss(t, count);
		sum.sum += loss.sum;
		sum.correct += loss.correct;
	}
	for (int g = 0; g < t->dist.gpus; g++)
		t->nets[g].training = NN_TRAIN;
	sum = global_loss(t, sum);
	if (t->dist.rank == 0)
		train_print_test(epoch, nn_last(&t->nets[0]), sum, t->test.count);
}

void train_check_gradients(struct train *t)
{
	int failed = 0;

	batch_load(&t->batch, &t->data, 0, t->options->batch, NULL);
	wait_for_all(t);
	if (t->dist.rank == 0)
		failed = gradcheck(
			&t->nets[0], t->batch.labels + (size_t)t->batch.part[0].first * t->batch.classes);
	if (failed)
		errx(1, "the gradients are wrong");
}

void train_epochs(struct train *t)
{
	int iterations = train_iterations(t->options, &t->data);

	for (int epoch = 0; epoch < t->options->epochs; epoch++) {
		train_epoch(t, epoch, iterations);
		if (t->options->eval)
			evaluate(t, epoch);
	}
}
