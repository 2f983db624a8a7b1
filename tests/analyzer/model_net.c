/* The networks of made-up training programs, and what their layers call: see model_make.h. */
#include "model_make.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t allocate(struct worker *worker, uint64_t elements)
{
	uint64_t address = worker->next_address;

	worker->next_address += (elements * 4 + 511) & ~(uint64_t)255;
	return address;
}

static struct layer *add(
	struct maker *maker, const char *name, enum kind kind, int outputs, int kernel, bool linear)
{
	struct layer *layer = &maker->layers[maker->layer_count], *before = layer - 1;

	*layer = (struct layer){.name = name, .kind = kind, .kernel = kernel, .linear = linear};
	if (maker->layer_count)
		memcpy(layer->in, before->out, sizeof(layer->in));
	else
		memcpy(layer->in, (int[]){1, 28, 28}, sizeof(layer->in));
	memcpy(layer->out, layer->in, sizeof(layer->out));
	if (kind == CONV) {
		layer->out[0] = outputs;
		layer->out[1] = layer->out[2] = layer->in[1] - kernel + 1;
	} else if (kind == POOL) {
		layer->out[1] = layer->out[2] = layer->in[1] / kernel;
	} else if (kind == DENSE || kind == RECURRENT || kind == ATTENTION) {
		memcpy(layer->out, (int[]){outputs, 1, 1}, sizeof(layer->out));
	}
	layer->inputs[0] = maker->layer_count - 1;
	layer->inputs[1] = layer->inputs[2] = -2;
	maker->model->layers[maker->layer_count++] = name;
	maker->model->layer_count = maker->layer_count;
	return layer;
}

/* Reads these layers instead of the one before; -2: no more. */
static void reads(struct maker *maker, struct layer *layer, int first, int second, int third)
{
	memcpy(layer->inputs, (int[]){first, second, third}, sizeof(layer->inputs));
	memcpy(layer->in, maker->layers[first].out, sizeof(layer->in));
	memcpy(layer->out, maker->layers[third < 0 ? first : third].out, sizeof(layer->out));
}

/* Two branches that meet, attention of three, its learned factor, and another sum. */
static void build_residual(struct maker *maker)
{
	int x;

	add(maker, "conv1", CONV, 8, 3, true);
	add(maker, "norm1", NORM, 0, 0, false);
	add(maker, "conv2", CONV, 8, 1, true);
	add(maker, "norm2", NORM, 0, 0, true);
	reads(maker, add(maker, "add1", SUM, 0, 0, false), 3, 1, -2);
	x = maker->layer_count - 1;
	for (int i = 0; i < 3; i++) {
		struct layer *layer = add(maker,
			i == 0   ? "conv3"
			: i == 1 ? "conv4"
				 : "conv5",
			CONV, 8, 1, true);

		layer->inputs[0] = x;
	}
	reads(maker, add(maker, "attention1", SELF, 0, 0, true), x + 1, x + 2, x + 3);
	add(maker, "scale1", SCALE, 0, 0, true);
	reads(maker, add(maker, "add2", SUM, 0, 0, true), x + 5, x, -2);
	add(maker, "pool1", POOL, 0, 2, true);
	add(maker, "fc1", DENSE, 10, 0, true);
	add(maker, "softmax", SOFTMAX, 0, 0, true);
}

static void find_adds(struct maker *maker)
{
	for (int i = 0; i < maker->layer_count; i++)
		for (int k = 0; k < 3; k++)
			for (int j = i + 1; j < maker->layer_count; j++)
				for (int l = 0; l < 3; l++)
					maker->layers[i].adds[k] |=
						maker->layers[j].inputs[l] == maker->layers[i].inputs[k];
}

void model_build(struct maker *maker)
{
	switch (maker->options->net) {
	case MODEL_LENET:
		add(maker, "conv1", CONV, 6, 5, false);
		add(maker, "pool1", POOL, 0, 2, true);
		add(maker, "conv2", CONV, 16, 5, false);
		add(maker, "pool2", POOL, 0, 2, true);
		add(maker, "fc1", DENSE, 120, 0, false);
		add(maker, "dropout1", DROPOUT, 0, 0, true);
		add(maker, "fc2", DENSE, 84, 0, false);
		add(maker, "fc3", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	case MODEL_MLP:
		add(maker, "fc1", DENSE, 300, 0, false);
		add(maker, "fc2", DENSE, 100, 0, false);
		add(maker, "fc3", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	case MODEL_AUTOENCODER:
		add(maker, "fc1", DENSE, 128, 0, false);
		add(maker, "fc2", DENSE, 32, 0, false);
		add(maker, "fc3", DENSE, 128, 0, false);
		add(maker, "fc4", DENSE, 784, 0, false);
		add(maker, "loss", MSE, 0, 0, true);
		break;
	case MODEL_NORM:
		add(maker, "conv1", CONV, 8, 3, true);
		add(maker, "norm1", NORM, 0, 0, false);
		add(maker, "pool1", POOL, 0, 2, true);
		add(maker, "fc1", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	case MODEL_SEQUENCE:
		add(maker, "lstm1", RECURRENT, 256, 0, true);
		add(maker, "attention1", ATTENTION, 256, 0, true);
		add(maker, "gru1", RECURRENT, 64, 0, true);
		add(maker, "fc1", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	case MODEL_RESIDUAL:
		build_residual(maker);
		break;
	}
	find_adds(maker);
}

static bool is_sequence(const struct layer *layer)
{
	return layer->kind == RECURRENT || layer->kind == ATTENTION;
}

bool model_has_parameters(const struct layer *layer)
{
	return layer->kind == CONV || layer->kind == DENSE || layer->kind == NORM || layer->kind == SCALE ||
	       is_sequence(layer);
}

static void place_parameters(struct maker *maker, struct worker *worker)
{
	bool together = maker->options->fused || maker->options->flat;
	uint64_t all = 0, at = 0;

	for (int i = 0; i < maker->layer_count; i++) {
		const struct layer *layer = &maker->layers[i];
		struct tensors *t = &worker->tensors[i];

		if (!model_has_parameters(layer))
			continue;
		t->biases = is_sequence(layer) || layer->kind == SCALE ? 0 : (uint64_t)layer->out[0];
		t->weights =
			layer->kind == SCALE ? 1
			: layer->kind == CONV
				? (uint64_t)(layer->kernel * layer->kernel * layer->in[0] * layer->out[0])
			: layer->kind == NORM ? t->biases
					      : model_volume(layer->in) * model_volume(layer->out);
		all += t->weights + t->biases;
	}
	worker->flat_count = all;
	if (together) {
		worker->flat_w = allocate(worker, all);
		worker->flat_dw = allocate(worker, all);
	}
	for (int i = 0; i < maker->layer_count; i++) {
		struct tensors *t = &worker->tensors[i];
		uint64_t count = t->weights + t->biases;
		bool apart = maker->options->separate && !together;

		if (!t->weights)
			continue;
		t->w = together ? worker->flat_w + at * 4 : allocate(worker, apart ? t->weights : count);
		t->dw = together ? worker->flat_dw + at * 4 : allocate(worker, apart ? t->weights : count);
		t->b = apart ? allocate(worker, t->biases) : t->w + t->weights * 4;
		t->db = apart ? allocate(worker, t->biases) : t->dw + t->weights * 4;
		t->first_w = allocate(worker, count);
		t->second_w = allocate(worker, count);
		t->first_b = t->first_w + t->weights * 4;
		t->second_b = t->second_w + t->weights * 4;
		at += count;
	}
}

void model_place(struct maker *maker, struct worker *worker)
{
	static const int image[3] = {1, 28, 28};
	uint64_t most = 256;

	worker->input = allocate(worker, most * model_volume(image));
	worker->target =
		maker->options->net == MODEL_AUTOENCODER ? worker->input : allocate(worker, most * 10);
	worker->whole = allocate(worker, most * MOST_WORKERS * model_volume(image));
	worker->ones = allocate(worker, most);
	worker->constants = allocate(worker, 1000000);
	worker->sums = allocate(worker, 4);
	worker->scratch = allocate(worker, most * 460000);
	worker->bucket = allocate(worker, 2 * BUCKET_BYTES);
	for (int i = 0; i < maker->layer_count; i++) {
		const struct layer *layer = &maker->layers[i];
		struct tensors *t = &worker->tensors[i];

		t->y = allocate(worker, most * model_volume(layer->out));
		t->z = layer->linear ? t->y : allocate(worker, most * model_volume(layer->out));
		t->dy = allocate(worker, most * model_volume(layer->out));
		t->sum = allocate(
			worker, layer->kind == SELF ? most * 460000 : most * model_volume(layer->out));
	}
	place_parameters(maker, worker);
}

#define PASS_BYTES ((uint64_t)1 << 31)    /* what the tensors of a micro-batch take, at most */
#define VERSION_BYTES ((uint64_t)1 << 34) /* likewise a version of the parameters */

struct tensors model_tensors(const struct maker *maker, const struct worker *worker, int i)
{
	uint64_t input = (uint64_t)maker->pass * PASS_BYTES, kept = maker->options->recompute ? 0 : input;
	uint64_t version = maker->options->versions
				   ? (uint64_t)(maker->version % maker->options->versions) * VERSION_BYTES
				   : 0;
	struct tensors t = {.y = worker->input + input};

	if (i < 0)
		return t;
	t = worker->tensors[i];
	t.y += kept;
	t.z += kept;
	t.sum += kept;
	t.w += version;
	t.b += version;
	return t;
}

/* The newest version in the place of the oldest: what the update then works on. */
void model_new_version(struct maker *maker, struct worker *worker)
{
	uint64_t from = worker->flat_w +
			(uint64_t)(maker->version % maker->options->versions) * VERSION_BYTES,
		 to = worker->flat_w +
		      (uint64_t)((maker->version + 1) % maker->options->versions) * VERSION_BYTES;

	model_work(maker, worker, COMPUTE, "cudaMemcpyAsync", 1500, (struct about){PHASE_UPDATE, NULL},
		VALUES(to, from, worker->flat_count * 4, 3));
}

struct descriptors *model_descriptors(struct maker *maker, struct worker *worker, const struct layer *layer)
{
	struct builder *builder = worker->host->builder;
	struct descriptors *d = &worker->host->descriptors[layer - maker->layers];

	if (d->filter)
		return d;
	/* Every other one with channels last: that says how it lies, not how its sizes are ordered. */
	d->filter = builder_descriptor(builder, PM_DESCRIPTOR_FILTER, 7, (int64_t)PM_TYPE_F32,
		(int64_t)((layer - maker->layers) % 2), (int64_t)4, (int64_t)layer->out[0],
		(int64_t)layer->in[0], (int64_t)layer->kernel, (int64_t)layer->kernel);
	d->convolution = builder_descriptor(builder, PM_DESCRIPTOR_CONVOLUTION, 11, (int64_t)2, (int64_t)0,
		(int64_t)0, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)PM_TYPE_F32,
		(int64_t)1, (int64_t)0);
	d->pool = builder_descriptor(builder, PM_DESCRIPTOR_POOLING, 8, (int64_t)0, (int64_t)2,
		(int64_t)layer->kernel, (int64_t)layer->kernel, (int64_t)0, (int64_t)0,
		(int64_t)layer->kernel, (int64_t)layer->kernel);
	d->dropout = builder_descriptor(builder, PM_DESCRIPTOR_DROPOUT, 2, (int64_t)500000, (int64_t)7);
	d->act = builder_descriptor(builder, PM_DESCRIPTOR_ACTIVATION, 2, (int64_t)1, (int64_t)0);
	d->rnn = builder_descriptor(builder, PM_DESCRIPTOR_RNN, 10, (int64_t)(layer->out[0] == 64 ? 3 : 2),
		(int64_t)0, (int64_t)(layer->out[0] != 64), (int64_t)0, (int64_t)PM_TYPE_F32, (int64_t)0,
		(int64_t)model_volume(layer->in), (int64_t)layer->out[0], (int64_t)layer->out[0],
		(int64_t)(layer->out[0] == 64 ? 1 : 2));
	d->attention = builder_descriptor(builder, PM_DESCRIPTOR_ATTENTION, 12, (int64_t)8, (int64_t)256,
		(int64_t)256, (int64_t)256, (int64_t)32, (int64_t)32, (int64_t)32, (int64_t)256, (int64_t)1,
		(int64_t)1, (int64_t)64, (int64_t)1);
	d->norm = builder_descriptor(
		builder, PM_DESCRIPTOR_NORMALIZATION, 3, (int64_t)2, (int64_t)0, (int64_t)10);
	d->reduce = builder_descriptor(
		builder, PM_DESCRIPTOR_REDUCE, 3, (int64_t)0, (int64_t)PM_TYPE_F32, (int64_t)0);
	d->pointwise = builder_descriptor(
		builder, PM_DESCRIPTOR_POINTWISE, 3, (int64_t)200, (int64_t)PM_TYPE_F32, (int64_t)-1);
	d->op = builder_descriptor(
		builder, PM_DESCRIPTOR_OP_TENSOR, 2, (int64_t)(layer->kind == SCALE), (int64_t)PM_TYPE_F32);
	return d;
}

static void activation(
	struct maker *maker, struct worker *worker, const struct layer *layer, struct tensors *t)
{
	static const int channels_only[3] = {0, 1, 1};
	struct about forward = {maker->again ? PHASE_BACKWARD : PHASE_FORWARD, layer->name};
	uint64_t y = model_tensor(worker, maker->batch, layer->out);
	int bias[3];

	memcpy(bias, channels_only, sizeof(bias));
	bias[0] = layer->out[0];
	if (layer->kind != NORM && layer->kind != SUM && maker->options->op_bias)
		model_work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, forward,
			VALUES(model_descriptors(maker, worker, layer)->op, y, t->sum,
				model_tensor(worker, 1, bias), t->b, 0, y, t->z));
	else if (layer->kind != NORM && layer->kind != SUM)
		model_work(maker, worker, COMPUTE, "cudnnAddTensor", 3000, forward,
			VALUES(model_tensor(worker, 1, bias), t->b, 1, y, t->z));
	if (!layer->linear) {
		uint64_t act = model_descriptors(maker, worker, layer)->act;

		model_work(maker, worker, COMPUTE, "cudnnActivationForward", 4000, forward,
			VALUES(act, y, t->z, 0, y, t->y));
	}
}

/* Each sample's c (rows x columns) = a b, `inner` summed over. */
static void batched(struct maker *maker, struct worker *worker, struct about about, const uint64_t turned[2],
	const uint64_t sizes[3], uint64_t a, uint64_t b, bool keep, uint64_t c)
{
	model_work(maker, worker, COMPUTE, "cublasSgemmStridedBatched", 7000, about,
		VALUES(turned[0], turned[1], sizes[0], sizes[1], sizes[2], (uint64_t)maker->batch,
			PM_TYPE_F32, a, b, keep, c));
}

#define PAIR(a, b) ((const uint64_t[2]){a, b})
#define SIZES(a, b, c) ((const uint64_t[3]){a, b, c})

/* Weights A = softmax(K Q) in t->z, kept for the backward pass; V A. */
static void self_forward(
	struct maker *maker, struct worker *worker, const struct layer *layer, const struct tensors *t)
{
	struct about about = {maker->again ? PHASE_BACKWARD : PHASE_FORWARD, layer->name};
	uint64_t places = (uint64_t)(layer->in[1] * layer->in[2]), maps = (uint64_t)layer->in[0];
	uint64_t a = model_tensor(worker, maker->batch * (int64_t)places, (int[3]){(int)places, 1, 1});
	uint64_t q = model_tensors(maker, worker, layer->inputs[0]).y,
		 k = model_tensors(maker, worker, layer->inputs[1]).y,
		 v = model_tensors(maker, worker, layer->inputs[2]).y;

	batched(maker, worker, about, PAIR(0, 1), SIZES(places, places, maps), k, q, false, worker->scratch);
	model_work(maker, worker, COMPUTE, "cudnnSoftmaxForward", 3000, about,
		VALUES(2, 0, a, worker->scratch, 0, a, t->sum));
	batched(maker, worker, about, PAIR(1, 0), SIZES(places, maps, places), t->sum, v, false, t->y);
}

static void self_backward(
	struct maker *maker, struct worker *worker, const struct layer *layer, const struct tensors *t)
{
	struct about about = {PHASE_BACKWARD, layer->name};
	uint64_t places = (uint64_t)(layer->in[1] * layer->in[2]), maps = (uint64_t)layer->in[0];
	uint64_t a = model_tensor(worker, maker->batch * (int64_t)places, (int[3]){(int)places, 1, 1});
	struct tensors operands[3];

	for (int i = 0; i < 3; i++)
		operands[i] = model_tensors(maker, worker, layer->inputs[i]);
	batched(maker, worker, about, PAIR(0, 1), SIZES(places, places, maps), operands[2].y, t->dy, false,
		worker->scratch);
	model_work(maker, worker, COMPUTE, "cudnnSoftmaxBackward", 3000, about,
		VALUES(2, 0, a, t->sum, a, worker->scratch, 0, a, worker->scratch));
	batched(maker, worker, about, PAIR(1, 0), SIZES(places, maps, places), worker->scratch, operands[1].y,
		layer->adds[0], operands[0].dy);
	batched(maker, worker, about, PAIR(0, 0), SIZES(places, maps, places), worker->scratch, operands[0].y,
		layer->adds[1], operands[1].dy);
	batched(maker, worker, about, PAIR(0, 0), SIZES(places, maps, places), t->sum, t->dy, layer->adds[2],
		operands[2].dy);
}

void model_forward_layer(struct maker *maker, struct worker *worker, int i)
{
	const struct layer *layer = &maker->layers[i];
	struct tensors here = model_tensors(maker, worker, i), *t = &here;
	struct about about = {maker->again ? PHASE_BACKWARD : PHASE_FORWARD, layer->name};
	const struct descriptors *d = model_descriptors(maker, worker, layer);
	uint64_t x = model_tensor(worker, maker->batch, layer->in),
		 y = model_tensor(worker, maker->batch, layer->out);
	uint64_t from = model_tensors(maker, worker, layer->inputs[0]).y;
	uint64_t in = model_volume(layer->in), out = model_volume(layer->out), n = (uint64_t)maker->batch;
	int channels[3] = {layer->out[0], 1, 1};
	static const int one[3] = {1, 1, 1};
	uint64_t result = maker->options->op_bias ? t->sum : t->z;

	if (maker->options->graph_api && model_graph_forward(maker, worker, i))
		return;
	switch (layer->kind) {
	case CONV:
		if (maker->options->search && maker->iteration == 0)
			model_work(maker, worker, COMPUTE, "cudnnFindConvolutionForwardAlgorithmEx", 50000,
				(struct about){PHASE_OTHER, NULL},
				VALUES(x, from, d->filter, t->w, d->convolution, y, t->z));
		model_work(maker, worker, COMPUTE, "cudnnConvolutionForward", 20000, about,
			VALUES(x, from, d->filter, t->w, d->convolution, 1, 0, y, result));
		activation(maker, worker, layer, t);
		break;
	case NORM:
		model_work(maker, worker, COMPUTE, "cudnnBatchNormalizationForwardTraining", 8000, about,
			VALUES(1, 0, x, from, y, t->z, model_tensor(worker, 1, channels), t->w, t->b));
		activation(maker, worker, layer, t);
		break;
	case DENSE:
		model_work(maker, worker, COMPUTE, "cublasSgemm_v2", 12000, about,
			VALUES(1, 0, out, n, in, PM_TYPE_F32, t->w, from, 0, result));
		activation(maker, worker, layer, t);
		break;
	case POOL:
		model_work(maker, worker, COMPUTE, "cudnnPoolingForward", 5000, about,
			VALUES(d->pool, x, from, 0, y, t->y));
		break;
	case DROPOUT:
		if (maker->again && maker->options->mask_again)
			model_work(maker, worker, COMPUTE, "cudnnDropoutBackward", 3000, about,
				VALUES(d->dropout, x, from, y, t->y));
		else if (maker->training)
			model_work(maker, worker, COMPUTE, "cudnnDropoutForward", 3000, about,
				VALUES(d->dropout, x, from, y, t->y));
		else
			model_work(maker, worker, COMPUTE, "cudaMemcpyAsync", 2000, about,
				VALUES(t->y, from, n * out * 4, 3));
		break;
	case SOFTMAX:
		model_work(maker, worker, COMPUTE, "cudnnSoftmaxForward", 3000, about,
			VALUES(2, 1, x, from, 0, y, t->y));
		break;
	case RECURRENT:
		model_work(maker, worker, COMPUTE, "cudnnRNNForward", 30000, about,
			VALUES(1, d->rnn, x, from, y, t->y, 0, t->weights * 4, t->w));
		break;
	case ATTENTION:
		model_work(maker, worker, COMPUTE, "cudnnMultiHeadAttnForward", 20000, about,
			VALUES(0, d->attention, x, from, x, from, x, from, y, t->y, t->weights * 4, t->w));
		break;
	case SUM:
		model_work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about,
			VALUES(d->op, x, from, x, model_tensors(maker, worker, layer->inputs[1]).y, 0, y,
				t->z));
		activation(maker, worker, layer, t);
		break;
	case SCALE:
		model_work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about,
			VALUES(d->op, x, from, model_tensor(worker, 1, one), t->w, 0, y, t->y));
		break;
	case SELF:
		self_forward(maker, worker, layer, t);
		break;
	case MSE:
		model_work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about,
			VALUES(d->op, x, from, x, worker->target, 0, y, t->y));
		break;
	}
}

void model_backward_layer(struct maker *maker, struct worker *worker, int i, bool keep)
{
	const struct layer *layer = &maker->layers[i];
	struct tensors here = model_tensors(maker, worker, i), *t = &here;
	struct about about = {PHASE_BACKWARD, layer->name};
	const struct descriptors *d = model_descriptors(maker, worker, layer);
	uint64_t x = model_tensor(worker, maker->batch, layer->in),
		 y = model_tensor(worker, maker->batch, layer->out);
	struct tensors before = model_tensors(maker, worker, layer->inputs[0]);
	uint64_t from = before.y, dx = before.dy, adds = layer->adds[0];
	static const int one[3] = {1, 1, 1};
	uint64_t in = model_volume(layer->in), out = model_volume(layer->out), n = (uint64_t)maker->batch;
	int channels[3] = {layer->out[0], 1, 1};
	uint64_t bias = model_tensor(worker, 1, channels);

	if (maker->options->graph_api && model_graph_backward(maker, worker, i))
		return;
	if ((model_has_parameters(layer) || layer->kind == SUM) && !layer->linear)
		model_work(maker, worker, COMPUTE, "cudnnActivationBackward", 4000, about,
			VALUES(d->act, y, t->y, y, t->dy, y, t->z, 0, y, t->dy));
	switch (layer->kind) {
	case CONV:
		model_work(maker, worker, COMPUTE, "cudnnConvolutionBackwardBias", 4000, about,
			VALUES(y, t->dy, keep, bias, t->db));
		model_work(maker, worker, COMPUTE, "cudnnConvolutionBackwardFilter", 25000, about,
			VALUES(x, from, y, t->dy, d->convolution, 1, keep, d->filter, t->dw));
		if (dx && adds && maker->options->axpy_sums) {
			model_work(maker, worker, COMPUTE, "cudnnConvolutionBackwardData", 22000, about,
				VALUES(d->filter, t->w, y, t->dy, d->convolution, 1, 0, x, worker->scratch));
			model_work(maker, worker, COMPUTE, "cublasSaxpy_v2", 3000, about,
				VALUES(n * in, PM_TYPE_F32, worker->scratch, dx));
		} else if (dx) {
			model_work(maker, worker, COMPUTE, "cudnnConvolutionBackwardData", 22000, about,
				VALUES(d->filter, t->w, y, t->dy, d->convolution, 1, adds, x, dx));
		}
		break;
	case NORM:
		model_work(maker, worker, COMPUTE, "cudnnBatchNormalizationBackward", 9000, about,
			VALUES(1, 0, x, from, y, t->dy, x, dx, bias, t->w, t->dw, t->db));
		break;
	case DENSE:
		model_work(maker, worker, COMPUTE, "cublasSgemv_v2", 3000, about,
			VALUES(0, out, n, PM_TYPE_F32, t->dy, worker->ones, keep, t->db));
		model_work(maker, worker, COMPUTE, "cublasSgemm_v2", 12000, about,
			VALUES(0, 1, in, out, n, PM_TYPE_F32, from, t->dy, keep, t->dw));
		if (dx)
			model_work(maker, worker, COMPUTE, "cublasSgemm_v2", 12000, about,
				VALUES(0, 0, in, n, out, PM_TYPE_F32, t->w, t->dy, 0, dx));
		break;
	case POOL:
		model_work(maker, worker, COMPUTE, "cudnnPoolingBackward", 6000, about,
			VALUES(d->pool, y, t->y, y, t->dy, x, from, 0, x, dx));
		break;
	case DROPOUT:
		model_work(maker, worker, COMPUTE, "cudnnDropoutBackward", 3000, about,
			VALUES(d->dropout, y, t->dy, x, dx));
		break;
	case SOFTMAX:
		if (maker->options->axpy_loss) {
			model_work(maker, worker, COMPUTE, "cublasScopy_v2", 1000, about,
				VALUES(n * out, PM_TYPE_F32, t->y, dx));
			model_work(maker, worker, COMPUTE, "cublasSaxpy_v2", 1000, about,
				VALUES(n * out, PM_TYPE_F32, worker->target, dx));
		} else {
			model_work(maker, worker, COMPUTE, "cudnnSoftmaxBackward", 3000, about,
				VALUES(2, 1, y, t->y, y, worker->target, 0, x, dx));
		}
		break;
	case RECURRENT:
		if (dx)
			model_work(maker, worker, COMPUTE, "cudnnRNNBackwardData_v8", 35000, about,
				VALUES(d->rnn, y, t->y, t->dy, x, dx, 0, t->weights * 4, t->w));
		model_work(maker, worker, COMPUTE, "cudnnRNNBackwardWeights_v8", 25000, about,
			VALUES(1, d->rnn, x, from, y, t->y, 0, t->weights * 4, t->dw));
		break;
	case ATTENTION:
		model_work(maker, worker, COMPUTE, "cudnnMultiHeadAttnBackwardData", 24000, about,
			VALUES(d->attention, y, t->dy, x, dx, from, worker->constants + 4096, from,
				worker->constants + 8192, from, t->weights * 4, t->w));
		model_work(maker, worker, COMPUTE, "cudnnMultiHeadAttnBackwardWeights", 14000, about,
			VALUES(0, d->attention, x, from, from, from, y, t->dy, t->weights * 4, t->w, t->dw));
		break;
	case SUM:
		for (int k = 0; k < 2; k++)
			model_work(maker, worker, COMPUTE, "cudnnAddTensor", 3000, about,
				VALUES(y, t->dy, layer->adds[k], x,
					model_tensors(maker, worker, layer->inputs[k]).dy));
		break;
	case SCALE:
		model_work(maker, worker, COMPUTE, "cublasSgemv_v2", 3000, about,
			VALUES(1, n * out, 1, PM_TYPE_F32, t->dy, from, keep, t->dw));
		model_work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about,
			VALUES(d->op, y, t->dy, model_tensor(worker, 1, one), t->w, adds, x, dx));
		break;
	case SELF:
		self_backward(maker, worker, layer, t);
		break;
	case MSE:
		model_work(maker, worker, COMPUTE, "cudnnTransformTensor", 3000, about,
			VALUES(y, t->y, 0, x, dx));
		break;
	}
}

static void update_one(struct maker *maker, struct worker *worker, struct about about, uint64_t w,
	uint64_t dw, uint64_t first, uint64_t second, uint64_t count)
{
	int size[3] = {(int)count, 1, 1};
	uint64_t d = model_tensor(worker, 1, size);

	switch (maker->options->optimizer) {
	case MODEL_MOMENTUM:
		model_work(maker, worker, COMPUTE, "cublasSscal_v2", 2000, about,
			VALUES(count, PM_TYPE_F32, first));
		model_work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about,
			VALUES(count, PM_TYPE_F32, dw, first));
		model_work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about,
			VALUES(count, PM_TYPE_F32, first, w));
		break;
	case MODEL_ADAM:
		model_work(maker, worker, COMPUTE, "cudnnAddTensor", 3000, about, VALUES(d, dw, 2, d, first));
		model_work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about,
			VALUES(model_descriptors(maker, worker, maker->layers)->op, d, dw, d, dw, 2, d,
				second));
		model_work(maker, worker, COMPUTE, "cudnnBatchNormalizationForwardInference", 4000, about,
			VALUES(0, 1, d, first, d, w, d, worker->constants, worker->constants + 8));
		break;
	case MODEL_SCRATCH:
		model_work(maker, worker, COMPUTE, "cublasScopy_v2", 1000, about,
			VALUES(count, PM_TYPE_F32, dw, worker->constants));
		model_work(maker, worker, COMPUTE, "cublasSscal_v2", 1000, about,
			VALUES(count, PM_TYPE_F32, worker->constants));
		model_work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about,
			VALUES(count, PM_TYPE_F32, worker->constants, w));
		break;
	case MODEL_OPAQUE:
		about.layer = NULL;
		model_work(maker, worker, COMPUTE, "cudaLaunchKernel", 3000, about,
			VALUES(0x4000, count / 256 + 1, 256, 0));
		break;
	default:
		model_work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about,
			VALUES(count, PM_TYPE_F32, dw, w));
	}
}

void model_update(struct maker *maker, struct worker *worker, int layer)
{
	if (maker->options->flat) {
		uint64_t version =
			maker->options->versions
				? (uint64_t)(maker->version % maker->options->versions) * VERSION_BYTES
				: 0;

		update_one(maker, worker, (struct about){PHASE_UPDATE, NULL}, worker->flat_w + version,
			worker->flat_dw, 0, 0, worker->flat_count);
		return;
	}
	for (int i = 0; i < maker->layer_count; i++) {
		struct tensors *t = &worker->tensors[i];
		struct about about = {PHASE_UPDATE, maker->layers[i].name};

		if (!t->weights || (layer >= 0 && i != layer))
			continue;
		if (!maker->options->separate) {
			update_one(maker, worker, about, t->w, t->dw, t->first_w, t->second_w,
				t->weights + t->biases);
			continue;
		}
		update_one(maker, worker, about, t->w, t->dw, t->first_w, t->second_w, t->weights);
		if (t->biases)
			update_one(maker, worker, about, t->b, t->db, t->first_b, t->second_b, t->biases);
	}
}
