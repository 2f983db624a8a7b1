/*
 * Networks as lists of layers: shapes, memory and first weights. What a layer does is in layers.c; see nn.h.
 */
#include "nn.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "layers.h"
#include "random.h"

enum { PARAM_ALIGNMENT = 64 }; /* floats: cuDNN's fast kernels want aligned pointers */

void nn_init(struct nn *nn, int batch, int share, int c, int h, int w)
{
	memset(nn, 0, sizeof(*nn));
	nn->batch = batch;
	nn->in = (struct nn_shape){share, c, h, w};
	nn->training = 1;
}

static struct nn_layer *add(struct nn *nn, enum nn_kind kind, const char *base)
{
	struct nn_layer *layer = &nn->layer[nn->layer_count];
	int same_kind = 1;

	if (nn->layer_count == NN_MAX_LAYERS)
		errx(1, "a network of more than %d layers", NN_MAX_LAYERS);
	for (int i = 0; i < nn->layer_count; i++)
		same_kind += nn->layer[i].kind == kind;
	snprintf(layer->name, sizeof(layer->name), "%s%d", base, same_kind);
	layer->kind = kind;
	layer->in = nn->layer_count ? nn_last(nn)->out : nn->in;
	layer->out = layer->in;
	layer->activation = NN_LINEAR;
	nn->layer_count++;
	return layer;
}

static void set_params(struct nn_layer *layer, size_t weights, size_t biases)
{
	layer->weight_count = weights;
	layer->bias_count = biases;
	layer->bias_at = (weights + PARAM_ALIGNMENT - 1) / PARAM_ALIGNMENT * PARAM_ALIGNMENT;
	layer->param_count = layer->bias_at + biases;
}

/* The first layer that leaves nothing of its input has the sentence; layers after it stay harmless. */
static int slide(struct nn *nn, struct nn_layer *layer, int size, const char *what)
{
	int places = size + 2 * layer->pad - layer->kernel;

	if (places >= 0)
		return places / layer->stride + 1;
	if (!nn->error[0])
		snprintf(nn->error, sizeof(nn->error), "%s: a %dx%d %s does not fit into a map of %dx%d",
			layer->name, layer->kernel, layer->kernel, what, layer->in.h, layer->in.w);
	return 1;
}

void nn_conv(struct nn *nn, int filters, int kernel, int stride, int same, enum nn_activation activation)
{
	struct nn_layer *layer = add(nn, NN_CONV, "conv");

	layer->kernel = kernel;
	layer->stride = stride;
	layer->pad = same ? kernel / 2 : 0;
	layer->activation = activation;
	layer->out.c = filters;
	layer->out.h = slide(nn, layer, layer->in.h, "kernel");
	layer->out.w = slide(nn, layer, layer->in.w, "kernel");
	set_params(layer, (size_t)filters * (size_t)layer->in.c * (size_t)(kernel * kernel), (size_t)filters);
}

void nn_pool(struct nn *nn, int window)
{
	struct nn_layer *layer = add(nn, NN_POOL, "pool");

	layer->kernel = window;
	layer->stride = window;
	layer->out.h = slide(nn, layer, layer->in.h, "pooling window");
	layer->out.w = slide(nn, layer, layer->in.w, "pooling window");
}

void nn_dense(struct nn *nn, int outputs, enum nn_activation activation)
{
	struct nn_layer *layer = add(nn, NN_DENSE, "fc");

	layer->activation = activation;
	layer->out = (struct nn_shape){layer->in.n, outputs, 1, 1};
	set_params(layer, (size_t)outputs * nn_sample(layer->in), (size_t)outputs);
}

void nn_dropout(struct nn *nn, double probability)
{
	add(nn, NN_DROPOUT, "dropout")->dropout = probability;
}

void nn_softmax(struct nn *nn)
{
	strcpy(add(nn, NN_SOFTMAX, "loss")->name, "loss");
}

void nn_mse(struct nn *nn)
{
	strcpy(add(nn, NN_MSE, "loss")->name, "loss");
}

float *nn_floats(size_t count)
{
	void *p = NULL;

	CHECK(cudaMalloc(&p, count * sizeof(float)));
	CHECK(cudaMemset(p, 0, count * sizeof(float)));
	CHECK(cudaStreamSynchronize(NULL));
	return p;
}

/* He's uniform distribution for relu, Glorot's for the others; biases start at zero. */
static void set_weights(struct nn_layer *layer, uint64_t *random)
{
	double taps = layer->kind == NN_CONV ? layer->kernel * layer->kernel : 1;
	double fan_in = (double)(layer->weight_count / layer->bias_count), fan_out = taps * layer->out.c;
	double limit = layer->activation == NN_RELU ? sqrt(6 / fan_in) : sqrt(6 / (fan_in + fan_out));
	float *weight = xcalloc(layer->weight_count, sizeof(float));

	for (size_t i = 0; i < layer->weight_count; i++)
		weight[i] = (float)(limit * (2 * random_uniform(random) - 1));
	CHECK(cudaMemcpy(layer->param, weight, layer->weight_count * sizeof(float), cudaMemcpyHostToDevice));
	free(weight);
}

/* Relu's gradient can be told from y alone, so with NN_GRAPH, where it may be one step with the product, z is
 * y. */
static int needs_z(const struct nn *nn, const struct nn_layer *layer)
{
	return layer->activation != NN_LINEAR && !(nn->api == NN_GRAPH && layer->activation == NN_RELU);
}

void nn_create(struct nn *nn, int device, uint64_t seed, int replica)
{
	cudnnTensorDescriptor_t ones;
	float one = 1;

	nn->device = device;
	CHECK(cudaSetDevice(device));
	CHECK(cudaStreamCreateWithFlags(&nn->stream, cudaStreamNonBlocking));
	CHECK(cudnnCreate(&nn->cudnn));
	CHECK(cudnnSetStream(nn->cudnn, nn->stream));
	CHECK(cublasCreate(&nn->cublas));
	CHECK(cublasSetStream(nn->cublas, nn->stream));
	CHECK(cublasLtCreate(&nn->lt));
	nn->input = nn_floats(nn_numel(nn->in));
	nn->target = nn_last(nn)->kind == NN_MSE ? nn->input : nn_floats(nn_numel(nn_last(nn)->out));
	nn->ones = nn_floats((size_t)nn->in.n);
	CHECK(cudnnCreateTensorDescriptor(&ones));
	CHECK(cudnnSetTensor4dDescriptor(ones, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, nn->in.n, 1, 1, 1));
	CHECK(cudnnSetTensor(nn->cudnn, ones, nn->ones, &one));
	CHECK(cudnnDestroyTensorDescriptor(ones));
	for (int i = 0; i < nn->layer_count; i++) {
		struct nn_layer *layer = &nn->layer[i];

		layer->y = nn_floats(nn_numel(layer->out));
		layer->dy = nn_floats(nn_numel(layer->out));
		if (layer->param_count) {
			layer->z = needs_z(nn, layer) ? nn_floats(nn_numel(layer->out)) : layer->y;
			layer->param = nn_floats(layer->param_count);
			layer->grad = nn_floats(layer->param_count);
			set_weights(layer, &seed);
		}
		layers_create(nn, layer, seed + (uint64_t)replica);
	}
	if (nn->workspace_size)
		CHECK(cudaMalloc(&nn->workspace, nn->workspace_size));
	CHECK(cudaDeviceSynchronize());
}

void nn_destroy(struct nn *nn)
{
	CHECK(cudaSetDevice(nn->device));
	CHECK(cudaStreamSynchronize(nn->stream));
	for (int i = 0; i < nn->layer_count; i++) {
		struct nn_layer *layer = &nn->layer[i];

		layers_destroy(layer);
		CHECK(cudaFree(layer->param));
		CHECK(cudaFree(layer->grad));
		if (layer->z != layer->y)
			CHECK(cudaFree(layer->z));
		CHECK(cudaFree(layer->y));
		CHECK(cudaFree(layer->dy));
	}
	if (nn->target != nn->input)
		CHECK(cudaFree(nn->target));
	CHECK(cudaFree(nn->input));
	CHECK(cudaFree(nn->ones));
	CHECK(cudaFree(nn->workspace));
	CHECK(cublasLtDestroy(nn->lt));
	CHECK(cublasDestroy(nn->cublas));
	CHECK(cudnnDestroy(nn->cudnn));
	CHECK(cudaStreamDestroy(nn->stream));
}

void nn_forward(struct nn *nn, int i)
{
	layers_forward(nn, &nn->layer[i], i ? nn->layer[i - 1].y : nn->input);
}

void nn_backward(struct nn *nn, int i)
{
	layers_backward(
		nn, &nn->layer[i], i ? nn->layer[i - 1].y : nn->input, i ? nn->layer[i - 1].dy : NULL);
}
