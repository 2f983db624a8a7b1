/* A network on its GPU: memory, first weights, slots and versions, and which memory a layer's run has. See
 * nn.h. */
#include "nn.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "layers.h"
#include "nn_gradients.h"
#include "random.h"

enum { WEIGHTS_AT_ONCE = 1 << 22 }; /* on their way to the GPU */
enum { SLOT_ALIGNMENT = 64 };       /* floats, as for parameters */

/* Bytes, as cuDNN's fast kernels want it; and those of a slot whose size is odd. */
enum { ALIGNED = 16, ODD = sizeof(float) };

float *nn_floats(size_t count)
{
	void *p = NULL;

	CHECK(cudaMalloc(&p, count * sizeof(float)));
	CHECK(cudaMemset(p, 0, count * sizeof(float)));
	CHECK(cudaStreamSynchronize(NULL));
	return p;
}

static int has_random_weights(const struct nn_layer *layer)
{
	return layer->kind == NN_CONV || layer->kind == NN_DENSE;
}

/* He's uniform distribution for relu, Glorot's for the others; biases start at zero. */
static void set_random_weights(struct nn_layer *layer, uint64_t *random)
{
	double kernel = layer->kernel, taps = layer->kind == NN_CONV ? pow(kernel, layer->dims) : 1;
	double fan_in = (double)(layer->weight_count / (size_t)layer->out.c);
	double fan_out = taps * layer->out.c / layer->groups;
	int rectifies = layer->activation == NN_RELU || layer->activation == NN_RELU6;
	double limit = rectifies ? sqrt(6 / fan_in) : sqrt(6 / (fan_in + fan_out));
	size_t most = layer->weight_count < WEIGHTS_AT_ONCE ? layer->weight_count : WEIGHTS_AT_ONCE;
	float *weight = xcalloc(most, sizeof(float));

	for (size_t done = 0; done < layer->weight_count; done += most) {
		size_t left = layer->weight_count - done, count = left < most ? left : most;

		for (size_t i = 0; i < count; i++)
			weight[i] = (float)(limit * (2 * random_uniform(random) - 1));
		CHECK(cudaMemcpy(layer->param + done, weight, count * sizeof(float), cudaMemcpyHostToDevice));
	}
	free(weight);
}

static void set_weights(struct nn *nn, struct nn_layer *layer, uint64_t *random)
{
	float *ones = NULL;

	if (has_random_weights(layer) && nn->weights == NN_RANDOM) {
		set_random_weights(layer, random);
		return;
	}
	if (has_random_weights(layer))
		random_skip(random, layer->weight_count);
	if (layer->kind != NN_BATCHNORM || nn->weights != NN_RANDOM)
		return;
	ones = xcalloc(layer->weight_count, sizeof(float));
	for (size_t i = 0; i < layer->weight_count; i++)
		ones[i] = 1;
	CHECK(cudaMemcpy(layer->param, ones, layer->weight_count * sizeof(float), cudaMemcpyHostToDevice));
	free(ones);
}

/* Running variances start at one, means at zero. */
static void set_running(struct nn_layer *layer, float *running)
{
	size_t count = (size_t)layer->in.c;
	float *first = xcalloc(2 * count, sizeof(float));

	for (size_t i = 0; i < count; i++)
		first[count + i] = 1;
	layer->running = running;
	CHECK(cudaMemcpy(running, first, 2 * count * sizeof(float), cudaMemcpyHostToDevice));
	free(first);
}

/* In the order of backward, the first layer to reach a gradient sets it and the others add. */
static void find_adds(struct nn *nn)
{
	bool *is_set = xcalloc((size_t)nn->layer_count + 1, sizeof(*is_set));

	for (int i = nn->end - 1; i >= nn->first; i--) {
		struct nn_layer *l = &nn->layer[i];
		const int read[] = {l->input, l->other, l->third};

		for (int k = 0; k < 3; k++) {
			if (read[k] == NN_NONE)
				continue;
			l->adds[k] = is_set[read[k] + 1];
			is_set[read[k] + 1] = true;
		}
	}
	for (int i = nn->first; i < nn->end - 1; i++)
		if (!is_set[i + 1])
			errx(1, "%s: its output is not read by any layer", nn->layer[i].name);
	free(is_set);
}

/* Where the stage's parameters begin among the whole list's, and how many there are, aligned for the next
 * version's. */
static size_t stage_params(const struct nn *nn, size_t *count)
{
	size_t begin = 0, end = 0;
	int found = 0;

	for (int i = nn->first; i < nn->end; i++) {
		if (!nn->layer[i].param_count)
			continue;
		if (!found)
			begin = nn->layer[i].param_at;
		found = 1;
		end = nn->layer[i].param_at + nn->layer[i].param_count;
	}
	*count = (end - begin + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
	return begin;
}

static void create_params(struct nn *nn)
{
	size_t begin = stage_params(nn, &nn->param_count), stride = nn->param_count;

	for (int i = nn->first; i < nn->end; i++)
		nn->layer[i].param_at -= nn->layer[i].param_count ? begin : 0;
	if (stride) {
		nn->version_memory = nn_floats(stride * (size_t)nn->versions);
		nn->grads = nn_floats(stride);
	}
	nn_use(nn, 0);
	for (int i = nn->first; i < nn->end; i++)
		if (nn->layer[i].param_count)
			nn->layer[i].grad = nn->grads + nn->layer[i].param_at;
}

static void create_running(struct nn *nn)
{
	size_t at = 0;

	nn->running_count = 0;
	for (int i = nn->first; i < nn->end; i++)
		if (nn->layer[i].kind == NN_BATCHNORM)
			nn->running_count += 2 * (size_t)nn->layer[i].in.c;
	if (nn->running_count)
		nn->running = nn_floats(nn->running_count);
	for (int i = nn->first; i < nn->end; i++)
		if (nn->layer[i].kind == NN_BATCHNORM) {
			set_running(&nn->layer[i], nn->running + at);
			at += 2 * (size_t)nn->layer[i].in.c;
		}
}

static void create_handles(struct nn *nn, int device)
{
	nn->device = device;
	CHECK(cudaSetDevice(device));
	CHECK(cudaStreamCreateWithFlags(&nn->stream, cudaStreamNonBlocking));
	CHECK(cudnnCreate(&nn->cudnn));
	CHECK(cudnnSetStream(nn->cudnn, nn->stream));
	CHECK(cublasCreate(&nn->cublas));
	CHECK(cublasSetStream(nn->cublas, nn->stream));
	CHECK(cublasLtCreate(&nn->lt));
}

static void create_ends(struct nn *nn)
{
	size_t inputs = nn_numel(nn_input_shape(nn)), slots = (size_t)nn->input_slots;
	cudnnTensorDescriptor_t ones;
	float one = 1;

	nn->input = nn_floats(inputs * slots);
	if (nn_has_loss(nn) && nn->first == 0 && nn_last(nn)->kind == NN_MSE)
		nn->target = nn->input;
	else if (nn_has_loss(nn))
		nn->target = nn_floats(nn_numel(nn_last(nn)->out) * slots);
	nn->ones = nn_floats((size_t)nn->in.n);
	CHECK(cudnnCreateTensorDescriptor(&ones));
	CHECK(cudnnSetTensor4dDescriptor(ones, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, nn->in.n, 1, 1, 1));
	CHECK(cudnnSetTensor(nn->cudnn, ones, nn->ones, &one));
	CHECK(cudnnDestroyTensorDescriptor(ones));
}

static void create_layer(struct nn *nn, struct nn_layer *layer, uint64_t *seed, int replica)
{
	size_t count = nn_numel(layer->out), slots = (size_t)nn->slots;
	int odd = nn->input_slots > 1 && nn_numel(layer->in) * sizeof(float) % ALIGNED;

	layer->x_alignment = layer->input < nn->first && odd ? ODD : ALIGNED;
	layer->slot_stride =
		slots > 1 ? (count + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT : count;
	layer->y = nn_floats(layer->slot_stride * slots);
	layer->z = layers_need_z(nn, layer) ? nn_floats(layer->slot_stride * slots) : layer->y;
	layer->saved_size = layers_saved_size(layer);
	if (layer->saved_size)
		layer->saved = (char *)nn_floats(layer->saved_size / sizeof(float) * slots);
	if (layer->param_count)
		set_weights(nn, layer, seed);
	layers_create(nn, layer, *seed + (uint64_t)replica);
}

void nn_create(struct nn *nn, int device, uint64_t seed, int replica)
{
	create_handles(nn, device);
	create_ends(nn);
	find_adds(nn);
	nn_gradients_create(nn);
	create_params(nn);
	create_running(nn);
	for (int i = 0; i < nn->first; i++)
		if (has_random_weights(&nn->layer[i]))
			random_skip(&seed, nn->layer[i].weight_count);
	for (int i = nn->first; i < nn->end; i++)
		create_layer(nn, &nn->layer[i], &seed, replica);
	if (nn->scratch_count)
		nn->scratch = nn_floats(nn->scratch_count);
	if (nn->workspace_size)
		CHECK(cudaMalloc(&nn->workspace, nn->workspace_size));
	CHECK(cudaDeviceSynchronize());
}

void nn_destroy(struct nn *nn)
{
	CHECK(cudaSetDevice(nn->device));
	CHECK(cudaStreamSynchronize(nn->stream));
	for (int i = nn->first; i < nn->end; i++) {
		struct nn_layer *layer = &nn->layer[i];

		layers_destroy(layer);
		if (layer->z != layer->y)
			CHECK(cudaFree(layer->z));
		CHECK(cudaFree(layer->y));
		CHECK(cudaFree(layer->saved));
	}
	if (nn->target != nn->input)
		CHECK(cudaFree(nn->target));
	CHECK(cudaFree(nn->input));
	nn_gradients_destroy(nn);
	CHECK(cudaFree(nn->ones));
	CHECK(cudaFree(nn->scratch));
	CHECK(cudaFree(nn->version_memory));
	CHECK(cudaFree(nn->grads));
	CHECK(cudaFree(nn->running));
	CHECK(cudaFree(nn->workspace));
	CHECK(cublasLtDestroy(nn->lt));
	CHECK(cublasDestroy(nn->cublas));
	CHECK(cudnnDestroy(nn->cudnn));
	CHECK(cudaStreamDestroy(nn->stream));
}

void nn_use(struct nn *nn, int version)
{
	if (version > nn->newest || version <= nn->newest - nn->versions || version < 0)
		errx(1, "version %d of the parameters is not kept; %d is the newest", version, nn->newest);
	nn->used = version;
	nn->params = nn->version_memory + (size_t)(version % nn->versions) * nn->param_count;
	for (int i = nn->first; i < nn->end; i++)
		if (nn->layer[i].param_count)
			nn->layer[i].param = nn->params + nn->layer[i].param_at;
}

void nn_advance(struct nn *nn)
{
	const float *from = NULL;

	nn_use(nn, nn->newest);
	from = nn->params;
	nn->newest++;
	nn_use(nn, nn->newest);
	if (nn->params != from && nn->param_count)
		CHECK(cudaMemcpyAsync(nn->params, from, nn->param_count * sizeof(float),
			cudaMemcpyDeviceToDevice, nn->stream));
}

struct nn_shape nn_input_shape(const struct nn *nn)
{
	return nn->first ? nn->layer[nn->first - 1].out : nn->in;
}

float *nn_input(struct nn *nn, int slot)
{
	return nn->input + (size_t)(slot % nn->input_slots) * nn_numel(nn_input_shape(nn));
}

float *nn_target(struct nn *nn, int slot)
{
	if (!nn->target)
		return NULL;
	return nn->target + (size_t)(slot % nn->input_slots) * nn_numel(nn_last(nn)->out);
}

float *nn_output(struct nn *nn, int layer, int slot)
{
	struct nn_layer *l = &nn->layer[layer];

	return l->y + (size_t)(slot % nn->slots) * l->slot_stride;
}

float *nn_input_gradient(struct nn *nn)
{
	return nn->input_dy;
}

float *nn_output_gradient(struct nn *nn)
{
	return nn->output_dy;
}

static struct layer_run memory_of(struct nn *nn, const struct nn_layer *l, int slot)
{
	const size_t place = (size_t)(slot % nn->slots);
	const int read[] = {l->input, l->other, l->third};
	struct layer_run run = {.y = l->y + place * l->slot_stride, .z = l->z + place * l->slot_stride};

	if (l->saved)
		run.saved = l->saved + place * l->saved_size;
	if (l->drop_reserve)
		run.drop_reserve = l->drop_reserve + (size_t)(slot % nn->input_slots) * l->drop_reserve_size;
	if (nn->target)
		run.target = nn_target(nn, slot);
	for (int k = 0; k < 3; k++) {
		if (read[k] == NN_NONE)
			continue;
		run.x[k] = read[k] >= nn->first ? nn_output(nn, read[k], slot) : nn_input(nn, slot);
		run.dx[k] = read[k] >= nn->first ? nn->layer[read[k]].dy : nn->input_dy;
	}
	return run;
}

void nn_forward(struct nn *nn, int layer, int slot)
{
	struct layer_run run = memory_of(nn, &nn->layer[layer], slot);

	layers_forward(nn, &nn->layer[layer], &run);
}

void nn_backward(struct nn *nn, int layer, int slot)
{
	struct layer_run run = memory_of(nn, &nn->layer[layer], slot);

	layers_backward(nn, &nn->layer[layer], &run);
}
