/*
 * Neural networks on one GPU, with cuDNN and cuBLAS.
 *
 * The one idea: a network is a list of layers, and everything goes along that list: shapes, memory, forward,
 * backward, aggregation, update. A program says its list with nn_conv, nn_dense, ... which only compute
 * shapes and need no GPU; nn_create then makes descriptors and allocates all buffers once. With several GPUs
 * there is one struct nn per GPU, all built alike.
 *
 * Everything is float, tensors are NCHW, and a call queues its work on nn->stream: the caller makes
 * nn->device current before it and synchronises when it wants results. A failing library call ends the
 * program.
 */
#ifndef NN_H
#define NN_H

#include <stddef.h>
#include <stdint.h>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

enum nn_kind { NN_CONV, NN_POOL, NN_DENSE, NN_DROPOUT, NN_SOFTMAX, NN_MSE };
enum nn_activation { NN_RELU, NN_TANH, NN_SIGMOID, NN_LINEAR };

/* How convolutions and dense layers are called: cuDNN's and cuBLAS's first calls, or cuDNN's graphs and
 * cuBLASLt. */
enum nn_api { NN_LEGACY, NN_GRAPH };

enum { NN_MAX_LAYERS = 32 };

struct nn_shape {
	int n, c, h, w;
};

struct nn_layer {
	char name[16];
	enum nn_kind kind;
	struct nn_shape in, out;
	int kernel, stride, pad; /* convolution; pooling: kernel == stride, pad 0 */
	enum nn_activation activation;
	double dropout;
	size_t weight_count, bias_count;
	size_t bias_at; /* where the biases begin in param and grad; between are unused zeros, for alignment
			 */
	size_t param_count; /* all of param and grad; 0: no parameters */

	/* On the GPU, from nn_create on; what a kind of layer does not need is NULL. */
	float *param, *grad; /* weights (conv: out x in x k x k, dense: out x in), then biases */
	float *z;            /* before the activation; y itself where there is none */
	float *y, *dy;       /* output, and the loss's gradient with respect to it */

	cudnnTensorDescriptor_t in_desc, out_desc, bias_desc;
	cudnnFilterDescriptor_t weight_desc;
	cudnnConvolutionDescriptor_t conv;
	cudnnConvolutionFwdAlgo_t forward_algo;
	cudnnConvolutionBwdDataAlgo_t backward_data_algo;
	cudnnConvolutionBwdFilterAlgo_t backward_filter_algo;
	cudnnPoolingDescriptor_t pool;
	cudnnActivationDescriptor_t act;
	cudnnOpTensorDescriptor_t add;
	cudnnDropoutDescriptor_t drop;
	void *drop_states, *drop_reserve;
	size_t drop_reserve_size;

	/* With NN_GRAPH: a convolution's plans, a dense layer's products. */
	struct graph_plan *forward_plan, *backward_data_plan, *backward_filter_plan;
	struct product *forward_product, *backward_data_product, *backward_weights_product;
	int does_bias, does_relu; /* the forward plan or product itself adds the biases, applies relu */
};

struct nn {
	struct nn_shape in; /* in.n: samples that this GPU gets of each batch */
	enum nn_api api;    /* may be changed between nn_init and nn_create */
	int batch;          /* samples of the whole batch over all GPUs: what the loss is the mean of */
	int layer_count;
	struct nn_layer layer[NN_MAX_LAYERS];
	char error[256]; /* a layer that cannot be: one sentence; empty: all well */

	int device;
	cudaStream_t stream;
	cudnnHandle_t cudnn;
	cublasHandle_t cublas;
	cublasLtHandle_t lt;
	int training;  /* 0: dropout passes everything on */
	float *input;  /* in.n samples */
	float *target; /* one-hot labels, or `input` itself when the network reproduces its input */
	float *ones;   /* in.n ones, to sum over a batch */
	void *workspace;
	size_t workspace_size;
};

/* Begins a network. `share` of the batch's samples, of the shape c x h x w, are this GPU's. */
void nn_init(struct nn *nn, int batch, int share, int c, int h, int w);

/*
 * Add a layer. `same` padding puts kernel/2 zeros on each side: odd kernels keep the map's size at stride 1,
 * even ones make it larger by one. A dense layer takes any shape as a vector. The last layer is a loss:
 * softmax with cross-entropy, or the mean squared difference from the target. A layer that cannot be built
 * sets nn->error.
 */
void nn_conv(struct nn *nn, int filters, int kernel, int stride, int same, enum nn_activation activation);
void nn_pool(struct nn *nn, int window);
void nn_dense(struct nn *nn, int outputs, enum nn_activation activation);
void nn_dropout(struct nn *nn, double probability);
void nn_softmax(struct nn *nn);
void nn_mse(struct nn *nn);

/* Makes the network on a device and sets its weights, alike for the same seed; replicas drop differently. */
void nn_create(struct nn *nn, int device, uint64_t seed, int replica);
void nn_destroy(struct nn *nn);

/*
 * One layer. Backward goes from the last layer to the first and leaves the gradient of the mean loss in grad.
 */
void nn_forward(struct nn *nn, int layer);
void nn_backward(struct nn *nn, int layer);

static inline struct nn_layer *nn_last(struct nn *nn)
{
	return &nn->layer[nn->layer_count - 1];
}

/* Numbers in one sample of a shape. */
static inline size_t nn_sample(struct nn_shape s)
{
	return (size_t)s.c * (size_t)s.h * (size_t)s.w;
}

static inline size_t nn_numel(struct nn_shape s)
{
	return (size_t)s.n * nn_sample(s);
}

/* `count` zeroed floats on the current device; cudaFree gives them back. */
float *nn_floats(size_t count);

#endif
