/* The layers' library calls, but for what is in layers_*.c: dense layers, pooling, dropout and losses, and
 * which kind is called. See layers.h. */
#include "layers_kind.h"

#include "check.h"
#include "graph.h"
#include "product.h"

cudnnTensorDescriptor_t layers_tensor(int dims, struct nn_shape s)
{
	const int sizes[] = {s.n, s.c, s.d, s.h, s.w};
	const int strides[] = {s.c * s.d * s.h * s.w, s.d * s.h * s.w, s.h * s.w, s.w, 1};
	cudnnTensorDescriptor_t desc;

	CHECK(cudnnCreateTensorDescriptor(&desc));
	if (dims == 3)
		CHECK(cudnnSetTensorNdDescriptor(desc, CUDNN_DATA_FLOAT, 5, sizes, strides));
	else
		CHECK(cudnnSetTensor4dDescriptor(
			desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s.n, s.c, s.h, s.w));
	return desc;
}

void layers_need_workspace(struct nn *nn, size_t size)
{
	if (size > nn->workspace_size)
		nn->workspace_size = size;
}

void layers_need_scratch(struct nn *nn, size_t count)
{
	if (count > nn->scratch_count)
		nn->scratch_count = count;
}

const float *layers_beta(int adds)
{
	return adds ? &layers_one : &layers_zero;
}

void layers_add_scratch(struct nn *nn, float *to, size_t from, size_t count)
{
	CHECK(cublasSaxpy(nn->cublas, (int)count, &layers_one, nn->scratch + from, 1, to, 1));
}

/*
 * Dense layer. To cuBLAS, which counts along columns, a batch x width array is a width x batch matrix, and
 * the weights (outputs x inputs) an inputs x outputs one.
 */

static void dense_create(struct nn *nn, struct nn_layer *l)
{
	const int in = (int)nn_sample(l->in), out = l->out.c, n = l->in.n;
	const struct product_shape forward = {CUBLAS_OP_T, CUBLAS_OP_N, out, n, in};
	const struct product_shape weights = {CUBLAS_OP_N, CUBLAS_OP_T, in, out, n};
	const struct product_shape data = {CUBLAS_OP_N, CUBLAS_OP_N, in, n, out};

	if (nn->api != NN_GRAPH)
		return;
	l->does_bias = 1;
	l->does_relu = l->activation == NN_RELU;
	l->forward_product = product_create(nn->lt, &forward,
		l->does_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS, l->param + l->bias_at,
		&nn->workspace_size);
	l->backward_weights_product = product_create(
		nn->lt, &weights, CUBLASLT_EPILOGUE_BGRADB, l->grad + l->bias_at, &nn->workspace_size);
	l->backward_data_product =
		product_create(nn->lt, &data, CUBLASLT_EPILOGUE_DEFAULT, NULL, &nn->workspace_size);
	if (nn->input_slots > 1)
		layers_need_scratch(nn, l->param_count);
}

static void dense_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	int in = (int)nn_sample(l->in), out = l->out.c;

	if (l->forward_product)
		product_run(nn->lt, l->forward_product, l->param, run->x[0], 0, run->z, l->param + l->bias_at,
			nn->workspace, nn->workspace_size, nn->stream);
	else
		CHECK(cublasSgemm(nn->cublas, CUBLAS_OP_T, CUBLAS_OP_N, out, l->in.n, in, &layers_one,
			l->param, in, run->x[0], in, &layers_zero, run->z, out));
}

/* The product of the weights' gradient sets that of the biases as well, so both are added in a second step.
 */
static void dense_backward_products(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	float *grad = nn->accumulate ? nn->scratch : l->grad;

	product_run(nn->lt, l->backward_weights_product, run->x[0], l->dy, 0, grad, grad + l->bias_at,
		nn->workspace, nn->workspace_size, nn->stream);
	if (nn->accumulate) {
		layers_add_scratch(nn, l->grad, 0, l->weight_count);
		layers_add_scratch(nn, l->grad + l->bias_at, l->bias_at, l->bias_count);
	}
	if (run->dx[0])
		product_run(nn->lt, l->backward_data_product, l->param, l->dy, l->adds[0], run->dx[0], NULL,
			nn->workspace, nn->workspace_size, nn->stream);
}

static void dense_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	int in = (int)nn_sample(l->in), out = l->out.c;
	const float *accumulate = layers_beta(nn->accumulate);

	if (l->backward_weights_product) {
		dense_backward_products(nn, l, run);
		return;
	}
	CHECK(cublasSgemv(nn->cublas, CUBLAS_OP_N, out, l->in.n, &layers_one, l->dy, out, nn->ones, 1,
		accumulate, l->grad + l->bias_at, 1));
	CHECK(cublasSgemm(nn->cublas, CUBLAS_OP_N, CUBLAS_OP_T, in, out, l->in.n, &layers_one, run->x[0], in,
		l->dy, out, accumulate, l->grad, in));
	if (run->dx[0])
		CHECK(cublasSgemm(nn->cublas, CUBLAS_OP_N, CUBLAS_OP_N, in, l->in.n, out, &layers_one,
			l->param, in, l->dy, out, layers_beta(l->adds[0]), run->dx[0], in));
}

/* Pooling. */

static void pool_create(struct nn_layer *l)
{
	const cudnnPoolingMode_t mode =
		l->pooling == NN_POOL_MAX ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
	const int k = l->kernel, whole[] = {l->in.d, l->in.h, l->in.w}, sides[] = {k, k, k};
	const int *window = k ? sides : whole;
	const int pad[] = {l->pad, l->pad, l->pad}, stride[] = {l->stride, l->stride, l->stride};

	CHECK(cudnnCreatePoolingDescriptor(&l->pool));
	if (l->dims == 3)
		CHECK(cudnnSetPoolingNdDescriptor(
			l->pool, mode, CUDNN_NOT_PROPAGATE_NAN, 3, window, pad, stride));
	else
		CHECK(cudnnSetPooling2dDescriptor(l->pool, mode, CUDNN_NOT_PROPAGATE_NAN, window[1],
			window[2], l->pad, l->pad, l->stride, l->stride));
}

static void pool_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	CHECK(cudnnPoolingForward(
		nn->cudnn, l->pool, &layers_one, l->in_desc, run->x[0], &layers_zero, l->out_desc, run->y));
}

static void pool_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	if (run->dx[0])
		CHECK(cudnnPoolingBackward(nn->cudnn, l->pool, &layers_one, l->out_desc, run->y, l->out_desc,
			l->dy, l->in_desc, run->x[0], layers_beta(l->adds[0]), l->in_desc, run->dx[0]));
}

/* Dropout: outside training everything passes. */

static void dropout_create(struct nn *nn, struct nn_layer *l, uint64_t seed)
{
	void *reserve = NULL;
	size_t states_size = 0;

	CHECK(cudnnDropoutGetStatesSize(nn->cudnn, &states_size));
	CHECK(cudaMalloc(&l->drop_states, states_size));
	CHECK(cudnnDropoutGetReserveSpaceSize(l->in_desc, &l->drop_reserve_size));
	CHECK(cudaMalloc(&reserve, l->drop_reserve_size * (size_t)nn->input_slots));
	l->drop_reserve = reserve;
	CHECK(cudnnCreateDropoutDescriptor(&l->drop));
	CHECK(cudnnSetDropoutDescriptor(
		l->drop, nn->cudnn, (float)l->dropout, l->drop_states, states_size, seed));
	if (l->adds[0])
		layers_need_scratch(nn, nn_numel(l->in));
}

static void copy(struct nn *nn, float *to, const float *from, size_t count)
{
	CHECK(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice, nn->stream));
}

/* Backward multiplies by what forward kept, which is also how to drop the same again. */
static void dropout_again(
	struct nn *nn, struct nn_layer *l, const struct layer_run *run, const float *from, float *to)
{
	CHECK(cudnnDropoutBackward(nn->cudnn, l->drop, l->out_desc, from, l->in_desc, to, run->drop_reserve,
		l->drop_reserve_size));
}

static void dropout_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	if (nn->training == NN_TRAIN)
		CHECK(cudnnDropoutForward(nn->cudnn, l->drop, l->in_desc, run->x[0], l->out_desc, run->y,
			run->drop_reserve, l->drop_reserve_size));
	else if (nn->training == NN_RECOMPUTE)
		dropout_again(nn, l, run, run->x[0], run->y);
	else
		copy(nn, run->y, run->x[0], nn_numel(l->out));
}

static void dropout_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	float *to = l->adds[0] ? nn->scratch : run->dx[0];

	if (!run->dx[0])
		return;
	if (nn->training == NN_TRAIN || nn->training == NN_RECOMPUTE)
		dropout_again(nn, l, run, l->dy, to);
	else
		copy(nn, to, l->dy, nn_numel(l->out));
	if (l->adds[0])
		layers_add_scratch(nn, run->dx[0], 0, nn_numel(l->in));
}

/*
 * Losses. y of the softmax is the logarithm of the probabilities, so that the cross-entropy -sum(target * y)
 * / batch has the gradient -target / batch, and the library's backward call takes the scale. y of the squared
 * difference is the difference.
 */

static void softmax_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	CHECK(cudnnSoftmaxForward(nn->cudnn, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL, &layers_one,
		l->in_desc, run->x[0], &layers_zero, l->out_desc, run->y));
}

static void softmax_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	float scale = -1.0f / (float)nn->batch;

	if (run->dx[0])
		CHECK(cudnnSoftmaxBackward(nn->cudnn, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL, &scale,
			l->out_desc, run->y, l->out_desc, run->target, layers_beta(l->adds[0]), l->in_desc,
			run->dx[0]));
}

static void mse_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	CHECK(cudnnOpTensor(nn->cudnn, l->add, &layers_one, l->in_desc, run->x[0], &layers_minus_one,
		l->in_desc, run->target, &layers_zero, l->out_desc, run->y));
}

static void mse_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	float scale = 2.0f / ((float)nn->batch * (float)nn_sample(l->out));

	if (run->dx[0])
		CHECK(cudnnTransformTensor(nn->cudnn, &scale, l->out_desc, run->y, layers_beta(l->adds[0]),
			l->in_desc, run->dx[0]));
}

size_t layers_saved_size(const struct nn_layer *l)
{
	size_t places = nn_sample(l->in) / (size_t)l->in.c;

	if (l->kind == NN_BATCHNORM)
		return 2 * (size_t)l->in.c * sizeof(float);
	if (l->kind == NN_ATTENTION)
		return (size_t)l->in.n * places * places * sizeof(float);
	return 0;
}

/*
 * Relu's gradient follows from y alone. With NN_GRAPH it may be one step with the product, so there z is
 * y, and in the kinds that have one way of being called; the first calls of the others keep both.
 */
int layers_need_z(const struct nn *nn, const struct nn_layer *l)
{
	int rectifies = l->activation == NN_RELU || l->activation == NN_RELU6;

	switch (l->kind) {
	case NN_CONV:
	case NN_DENSE:
		return l->activation != NN_LINEAR && !(nn->api == NN_GRAPH && l->activation == NN_RELU);
	case NN_BATCHNORM:
	case NN_ADD:
		return l->activation != NN_LINEAR && !rectifies;
	default:
		return 0;
	}
}

void layers_create(struct nn *nn, struct nn_layer *l, uint64_t seed)
{
	l->in_desc = layers_tensor(l->dims, l->in);
	l->out_desc = layers_tensor(l->dims, l->out);
	if (l->kind == NN_CONV)
		conv_create(nn, l);
	if (l->kind == NN_DENSE)
		dense_create(nn, l);
	if (l->kind == NN_CONV || l->kind == NN_DENSE)
		bias_create(l);
	activation_create(l);
	if (l->kind == NN_POOL)
		pool_create(l);
	if (l->kind == NN_DROPOUT)
		dropout_create(nn, l, seed);
	if (l->kind == NN_BATCHNORM)
		batchnorm_create(nn, l);
	if (l->kind == NN_ADD || l->kind == NN_MSE)
		add_create(l);
	if (l->kind == NN_ATTENTION)
		attention_create(nn, l);
	if (l->kind == NN_SCALE)
		scale_create(l);
}

void layers_destroy(struct nn_layer *l)
{
	CHECK(cudnnDestroyTensorDescriptor(l->in_desc));
	CHECK(cudnnDestroyTensorDescriptor(l->out_desc));
	if (l->bias_desc)
		CHECK(cudnnDestroyTensorDescriptor(l->bias_desc));
	if (l->aux_desc)
		CHECK(cudnnDestroyTensorDescriptor(l->aux_desc));
	if (l->weight_desc)
		CHECK(cudnnDestroyFilterDescriptor(l->weight_desc));
	if (l->conv)
		CHECK(cudnnDestroyConvolutionDescriptor(l->conv));
	if (l->act)
		CHECK(cudnnDestroyActivationDescriptor(l->act));
	if (l->pool)
		CHECK(cudnnDestroyPoolingDescriptor(l->pool));
	if (l->drop)
		CHECK(cudnnDestroyDropoutDescriptor(l->drop));
	if (l->add)
		CHECK(cudnnDestroyOpTensorDescriptor(l->add));
	graph_plan_destroy(l->forward_plan);
	graph_plan_destroy(l->backward_data_plan);
	graph_plan_destroy(l->backward_filter_plan);
	product_destroy(l->forward_product);
	product_destroy(l->backward_data_product);
	product_destroy(l->backward_weights_product);
	CHECK(cudaFree(l->drop_states));
	CHECK(cudaFree(l->drop_reserve));
}

void layers_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	switch (l->kind) {
	case NN_CONV:
		conv_forward(nn, l, run);
		bias_forward(nn, l, run);
		break;
	case NN_DENSE:
		dense_forward(nn, l, run);
		bias_forward(nn, l, run);
		break;
	case NN_POOL:
		pool_forward(nn, l, run);
		break;
	case NN_DROPOUT:
		dropout_forward(nn, l, run);
		break;
	case NN_BATCHNORM:
		batchnorm_forward(nn, l, run);
		break;
	case NN_ADD:
		add_forward(nn, l, run);
		break;
	case NN_ACTIVATION:
		break;
	case NN_ATTENTION:
		attention_forward(nn, l, run);
		break;
	case NN_SCALE:
		scale_forward(nn, l, run);
		break;
	case NN_SOFTMAX:
		softmax_forward(nn, l, run);
		break;
	case NN_MSE:
		mse_forward(nn, l, run);
		break;
	}
	activation_forward(nn, l, run);
}

void layers_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	if (nn->accumulate && nn->input_slots == 1)
		errx(1, "gradients of several micro-batches in a network with one input slot");
	activation_backward(nn, l, run);
	switch (l->kind) {
	case NN_CONV:
		conv_backward(nn, l, run);
		break;
	case NN_DENSE:
		dense_backward(nn, l, run);
		break;
	case NN_POOL:
		pool_backward(nn, l, run);
		break;
	case NN_DROPOUT:
		dropout_backward(nn, l, run);
		break;
	case NN_BATCHNORM:
		batchnorm_backward(nn, l, run);
		break;
	case NN_ADD:
		add_backward(nn, l, run);
		break;
	case NN_ACTIVATION:
		break;
	case NN_ATTENTION:
		attention_backward(nn, l, run);
		break;
	case NN_SCALE:
		scale_backward(nn, l, run);
		break;
	case NN_SOFTMAX:
		softmax_backward(nn, l, run);
		break;
	case NN_MSE:
		mse_backward(nn, l, run);
		break;
	}
}
