/*
 * Neural networks on one GPU, with cuDNN and cuBLAS.
 *
 * The one idea: a network is a list of layers in which each reads earlier ones, and everything goes along
 * that list: shapes, memory, forward, backward, aggregation, update. A program says its list with nn_conv,
 * nn_dense and the others, which only compute shapes and need no GPU; nn_create then makes descriptors and
 * allocates all buffers once. With several GPUs there is one struct nn per GPU, all built alike; with a
 * pipeline each makes only its stage of the list.
 *
 * Everything is float, tensors are NCHW or NCDHW, and a call queues its work on nn->stream: the caller makes
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

enum nn_kind {
	NN_CONV,
	NN_POOL,
	NN_DENSE,
	NN_DROPOUT,
	NN_BATCHNORM,
	NN_ADD,        /* input + other */
	NN_ACTIVATION, /* alone; most layers have one of their own */
	NN_ATTENTION,  /* of the queries `input`, the keys `other` and the values `third` */
	NN_SCALE,      /* by one learned number */
	NN_SOFTMAX,
	NN_MSE
};
enum nn_activation { NN_RELU, NN_TANH, NN_SIGMOID, NN_LINEAR, NN_RELU6 };
enum nn_pooling { NN_POOL_MAX, NN_POOL_AVERAGE };

/* How convolutions and dense layers are called: cuDNN's and cuBLAS's first calls, or cuDNN's graphs and
 * cuBLASLt. The other kinds have one way. */
enum nn_api { NN_LEGACY, NN_GRAPH };

/* What nn_create puts into the parameters. With NN_ZERO they are for the caller to fill before use, by a
 * broadcast from a replica that has them: quick for large networks. */
enum nn_weights { NN_RANDOM, NN_ZERO };

/* What forward does with dropout and batch normalisation. */
enum nn_training {
	NN_EVALUATE, /* dropout passes everything on, normalisation takes the running averages; no backward */
	NN_TRAIN,    /* dropout drops anew, the running averages follow the batches */
	NN_RECOMPUTE, /* a second forward of the slot: drops what was dropped before, keeps the averages */
	NN_CHECK      /* dropout passes everything on, normalisation takes the batch's averages */
};

enum { NN_MAX_LAYERS = 600 };

enum { NN_INPUT = -1, NN_NONE = -2 }; /* in the place of a layer's index: the network's input; nothing */

struct nn_shape {
	int n, c, d, h, w; /* d: 1 in networks of two dimensions */
};

struct nn_layer {
	char name[20]; /* unique: conv1, bn1, add1, fc1, loss */
	enum nn_kind kind;
	int input, other, third; /* the layers that it reads, all before it; NN_INPUT, NN_NONE */
	struct nn_shape in, out; /* in: the shape of `input` */
	int dims;                /* 2 or 3 */
	int kernel, stride,
		pad; /* convolution and pooling, alike on all sides; pooling kernel 0: the whole map */
	int groups;  /* convolution */
	enum nn_pooling pooling;
	enum nn_activation activation;
	double dropout;
	size_t weight_count, bias_count;
	size_t bias_at;     /* where the biases begin in param and grad; before them zeros, for alignment */
	size_t param_count; /* all of param and grad; 0: no parameters */
	size_t param_at;    /* where the layer begins in nn->params and nn->grads, counted in floats */

	/* On the GPU, from nn_create on; what a kind of layer does not need is NULL. Pointers are slot 0's,
	 * the other slots follow at slot_stride and saved_size. */
	float *param, *grad; /* weights (conv: out x in/groups x kernels, dense: out x in; bn, scale:
				factors), then biases; param is the version in use */
	float *z;            /* before the activation; y itself where there is none or backward needs none */
	float *y;            /* output */
	float *dy; /* the loss's gradient with respect to it; one for all slots, shared with other layers */
	size_t slot_stride; /* floats from a slot's y, and z, to the next: nn_numel(out), aligned */
	char *saved;        /* what else forward keeps for backward: statistics, attention */
	size_t saved_size;  /* bytes per slot */
	float *running;     /* bn: running means, then running variances */
	int x_alignment;    /* bytes that the place of the input is a multiple of */
	int adds[3]; /* backward adds to the dy of input, other, third, since a later layer has set it */

	cudnnTensorDescriptor_t in_desc, out_desc, bias_desc, aux_desc;
	cudnnFilterDescriptor_t weight_desc;
	cudnnConvolutionDescriptor_t conv;
	cudnnConvolutionFwdAlgo_t forward_algo;
	cudnnConvolutionBwdDataAlgo_t backward_data_algo;
	cudnnConvolutionBwdFilterAlgo_t backward_filter_algo;
	cudnnPoolingDescriptor_t pool;
	cudnnActivationDescriptor_t act;
	cudnnOpTensorDescriptor_t add;
	cudnnDropoutDescriptor_t drop;
	void *drop_states;
	char *drop_reserve; /* one per input slot */
	size_t drop_reserve_size;

	/* With NN_GRAPH: a convolution's plans, a dense layer's products; all NULL: the first calls after
	 * all. */
	struct graph_plan *forward_plan, *backward_data_plan, *backward_filter_plan;
	struct product *forward_product, *backward_data_product, *backward_weights_product;
	int does_bias, does_relu; /* the forward plan or product itself adds the biases, applies relu */
};

struct nn {
	/* Set by nn_init; until nn_create the caller may change api, weights, classes, and call the
	 * nn_set_... functions. */
	struct nn_shape in; /* in.n: samples of a micro-batch on this GPU, or of all of its batch */
	int dims;           /* 2 or 3 */
	enum nn_api api;
	enum nn_weights weights;
	int classes; /* that the data has; for the programs that add layers */
	int batch;   /* samples that the loss is the mean of: over all GPUs and micro-batches */
	int layer_count;
	struct nn_layer layer[NN_MAX_LAYERS];
	int next_input;  /* what the next layer reads; NN_NONE: the last one */
	char error[256]; /* a layer that cannot be: one sentence; empty: all well */

	int first, end; /* this stage's layers: first ... end-1; nn_init: all, end follows layer_count */
	int input_slots, slots; /* how many inputs and targets, and how many activations, are kept */
	int versions;           /* how many versions of the parameters are kept */

	int device;
	cudaStream_t stream;
	cudnnHandle_t cudnn;
	cublasHandle_t cublas;
	cublasLtHandle_t lt;
	enum nn_training training; /* the caller changes it between calls; NN_TRAIN at first */
	/* 1: backward adds to grad, for a batch's second and later micro-batches; 0: it sets grad. For
	 * networks with more than one input slot. */
	int accumulate;
	float *input; /* nn_input(nn, 0); the slots follow each other, so a batch is its micro-batches */
	/* Likewise: one-hot labels, or `input` itself when the network reproduces its input and the stage is
	 * the whole network; NULL in stages without the loss. */
	float *target;
	float *input_dy, *output_dy; /* see nn_input_gradient, nn_output_gradient */
	float **dy_memory;           /* what the other layers' dy lie in, dy_count buffers */
	int dy_count;
	float *ones;    /* in.n ones, to sum over a batch */
	float *scratch; /* for gradients on the way to where they are added */
	size_t scratch_count;
	void *workspace;
	size_t workspace_size;

	/* Parameters and gradients of the stage's layers in layer order, each layer at its param_at and
	 * aligned: the gradients of neighbouring layers are one range. Numbers between layers are zeros. */
	float *params, *grads; /* params: the version in use */
	size_t param_count;    /* floats in grads, and in each version */
	float *version_memory;
	int newest, used; /* versions: numbers that count up from 0; kept are newest-versions+1 ... newest */
	float *running;   /* all layers' running averages, which have no versions */
	size_t running_count;
};

/* Begins a network. `share` of the batch's samples, of the shape c x d x h x w, are this GPU's. d 1: two
 * dimensions. */
void nn_init(struct nn *nn, int batch, int share, int c, int d, int h, int w);

/* The next layer reads `layer` (NN_INPUT: the network's input) instead of the last one. */
void nn_from(struct nn *nn, int layer);

/*
 * Add a layer and return its index. `same` padding puts kernel/2 zeros on each side: odd kernels keep the
 * map's size at stride 1, even ones make it larger by one. A dense layer takes any shape as a vector. The
 * last layer is a loss: softmax with cross-entropy, or the mean squared difference from the target. A layer
 * that cannot be built sets nn->error.
 */
int nn_conv(struct nn *nn, int filters, int kernel, int stride, int same, enum nn_activation activation);
int nn_pool(struct nn *nn, int window); /* the largest of each window; windows beside each other */
int nn_dense(struct nn *nn, int outputs, enum nn_activation activation);
int nn_dropout(struct nn *nn, double probability);
int nn_softmax(struct nn *nn);
int nn_mse(struct nn *nn);

/* A convolution with all that can be said: groups divide maps and filters; without bias, as before a batch
 * normalisation, its bias_count is 0. */
struct nn_conv_options {
	int filters, kernel, stride, pad;
	int groups; /* 0: 1 */
	int no_bias;
	enum nn_activation activation;
};
int nn_conv_with(struct nn *nn, const struct nn_conv_options *options);

/* Averages count the padding in. window 0: the whole map, to one number. */
int nn_pool_with(struct nn *nn, enum nn_pooling pooling, int window, int stride, int pad);

/* Over samples and places, per map; epsilon 1e-5, running averages follow by a tenth of each batch's. */
int nn_batchnorm(struct nn *nn, enum nn_activation activation);

/* The sum of what the next layer would read and of layer `other`, which has the same shape. */
int nn_add(struct nn *nn, int other, enum nn_activation activation);
int nn_activate(struct nn *nn, enum nn_activation activation);

/* softmax(queries^T keys) over all places, and with those weights the sum of `values`' places: queries and
 * keys have equally many maps, all three the same places. */
int nn_attention(struct nn *nn, int queries, int keys, int values);
int nn_scale(struct nn *nn); /* by one learned number, 0 at first */

/* y = x + scale * attention(conv(x), conv(x), conv(x)): six layers, whose convolutions have 1x1(x1) kernels
 * and no biases; queries and keys have an eighth of x's maps. */
int nn_self_attention(struct nn *nn);

/*
 * Whether the network can be computed, once all layers are there. Returns 0, or -1 with one sentence in
 * nn->error: a layer's own, or that a layer has more numbers than the libraries count.
 */
int nn_check(struct nn *nn);

/*
 * Whether the network may be cut before layer `layer` (1 ... layer_count-1): the output of layer-1 is all
 * that later layers read of earlier ones.
 */
int nn_cut_ok(const struct nn *nn, int layer);

/* Operations of a layer's forward pass for in.n samples, a multiply-add being two: to divide networks by. */
double nn_flops(const struct nn *nn, int layer);

/*
 * This network is only the stage of layers first ... end-1 of the list; cuts must be ok. A stage's input is
 * the output of layer first-1, and arrives in nn_input. Before nn_create, as the next two.
 */
void nn_set_stage(struct nn *nn, int first, int end);

/*
 * Keeps `inputs` micro-batches' inputs and targets and `activations` micro-batches' activations. Fewer
 * activations than inputs: for those who compute them again before backward.
 */
void nn_set_slots(struct nn *nn, int inputs, int activations);
void nn_set_versions(struct nn *nn, int versions);

/*
 * Makes the network on a device and sets its weights, alike for the same seed whatever the stage; replicas
 * drop differently.
 */
void nn_create(struct nn *nn, int device, uint64_t seed, int replica);
void nn_destroy(struct nn *nn);

/*
 * One layer of the stage, for one micro-batch: `slot` counts micro-batches up from 0, and its input and its
 * activations are those of the slot modulo how many are kept. Backward goes from the stage's last layer to
 * its first and leaves the gradient of the mean loss in grad; the activations must be there: forward of the
 * slot was the last to use them.
 */
void nn_forward(struct nn *nn, int layer, int slot);
void nn_backward(struct nn *nn, int layer, int slot);

/* A stage's ends. Input and target of a slot are to be filled before its forward. */
struct nn_shape nn_input_shape(const struct nn *nn);
float *nn_input(struct nn *nn, int slot);
float *nn_target(struct nn *nn, int slot);
/* y of any layer of the stage; of its last: what goes to the next stage, or (loss) what loss_of wants. */
float *nn_output(struct nn *nn, int layer, int slot);
/* With respect to the input: to be sent back after backward of the stage's first layer. NULL: nobody wants
 * the first stage's. */
float *nn_input_gradient(struct nn *nn);
/* With respect to the output of the stage's last layer: what comes back from the next stage, to be filled
 * before backward, which uses it up. */
float *nn_output_gradient(struct nn *nn);

/*
 * Versions of the parameters. nn_use makes forward, backward, optim_update and layer->param mean a version
 * that is still kept. nn_advance queues a copy of the newest into the place of the oldest, makes it the
 * newest and uses it: followed by optim_update, it is a step that leaves the older versions as they were.
 */
void nn_use(struct nn *nn, int version);
void nn_advance(struct nn *nn);

/* The last layer of the whole list; its y exists in the stage that has it. */
static inline struct nn_layer *nn_last(struct nn *nn)
{
	return &nn->layer[nn->layer_count - 1];
}

static inline int nn_has_loss(const struct nn *nn)
{
	return nn->end == nn->layer_count;
}

/* Numbers in one sample of a shape. */
static inline size_t nn_sample(struct nn_shape s)
{
	return (size_t)s.c * (size_t)s.d * (size_t)s.h * (size_t)s.w;
}

static inline size_t nn_numel(struct nn_shape s)
{
	return (size_t)s.n * nn_sample(s);
}

/* Weights and biases of the whole list, without what fills up for alignment. */
size_t nn_parameters(const struct nn *nn);

/* `count` zeroed floats on the current device; cudaFree gives them back. */
float *nn_floats(size_t count);

#endif
