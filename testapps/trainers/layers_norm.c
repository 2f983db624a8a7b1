/* Batch normalisation, sums, activations and scales: what stands between convolutions. See layers.h. */
#include "layers_kind.h"

#include "check.h"

static const double bn_epsilon = 1e-5, bn_momentum = 0.1, relu6_ceiling = 6;

static cudnnOpTensorDescriptor_t tensor_operation(cudnnOpTensorOp_t op)
{
	cudnnOpTensorDescriptor_t made;

	CHECK(cudnnCreateOpTensorDescriptor(&made));
	CHECK(cudnnSetOpTensorDescriptor(made, op, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN));
	return made;
}

/* One number per map. */
static cudnnTensorDescriptor_t per_map(const struct nn_layer *l, int maps)
{
	return layers_tensor(l->dims, (struct nn_shape){1, maps, 1, 1, 1});
}

void bias_create(struct nn_layer *l)
{
	if (l->bias_count)
		l->bias_desc = per_map(l, l->out.c);
}

void bias_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	if (l->bias_count && !l->does_bias)
		CHECK(cudnnAddTensor(nn->cudnn, &layers_one, l->bias_desc, l->param + l->bias_at, &layers_one,
			l->out_desc, run->z));
}

void activation_create(struct nn_layer *l)
{
	static const cudnnActivationMode_t modes[] = {
		[NN_RELU] = CUDNN_ACTIVATION_RELU,
		[NN_TANH] = CUDNN_ACTIVATION_TANH,
		[NN_SIGMOID] = CUDNN_ACTIVATION_SIGMOID,
		[NN_RELU6] = CUDNN_ACTIVATION_CLIPPED_RELU,
	};

	if (l->activation == NN_LINEAR)
		return;
	CHECK(cudnnCreateActivationDescriptor(&l->act));
	CHECK(cudnnSetActivationDescriptor(l->act, modes[l->activation], CUDNN_NOT_PROPAGATE_NAN,
		l->activation == NN_RELU6 ? relu6_ceiling : 0));
}

void activation_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const float *from = l->kind == NN_ACTIVATION ? run->x[0] : run->z;

	if (l->act && !l->does_relu)
		CHECK(cudnnActivationForward(nn->cudnn, l->act, &layers_one, l->out_desc, from, &layers_zero,
			l->out_desc, run->y));
}

void activation_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const int alone = l->kind == NN_ACTIVATION;

	if (l->act && (!alone || run->dx[0]))
		CHECK(cudnnActivationBackward(nn->cudnn, l->act, &layers_one, l->out_desc, run->y,
			l->out_desc, l->dy, l->out_desc, alone ? run->x[0] : run->z,
			layers_beta(alone && l->adds[0]), l->out_desc, alone ? run->dx[0] : l->dy));
}

/* `saved` is the batch's means, then the reciprocals of its deviations. */

void batchnorm_create(struct nn *nn, struct nn_layer *l)
{
	CHECK(cudnnCreateTensorDescriptor(&l->aux_desc));
	CHECK(cudnnDeriveBNTensorDescriptor(l->aux_desc, l->in_desc, CUDNN_BATCHNORM_SPATIAL));
	if (l->input == NN_INPUT && nn->first == 0)
		layers_need_scratch(nn, nn_numel(l->in));
}

void batchnorm_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const int follow = nn->training == NN_TRAIN;
	float *means = (float *)run->saved, *running = l->running;

	if (nn->training == NN_EVALUATE)
		CHECK(cudnnBatchNormalizationForwardInference(nn->cudnn, CUDNN_BATCHNORM_SPATIAL, &layers_one,
			&layers_zero, l->in_desc, run->x[0], l->out_desc, run->z, l->aux_desc, l->param,
			l->param + l->bias_at, running, running + l->in.c, bn_epsilon));
	else
		CHECK(cudnnBatchNormalizationForwardTraining(nn->cudnn, CUDNN_BATCHNORM_SPATIAL, &layers_one,
			&layers_zero, l->in_desc, run->x[0], l->out_desc, run->z, l->aux_desc, l->param,
			l->param + l->bias_at, bn_momentum, follow ? running : NULL,
			follow ? running + l->in.c : NULL, bn_epsilon, means, means + l->in.c));
}

void batchnorm_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	float *means = (float *)run->saved, *dx = run->dx[0] ? run->dx[0] : nn->scratch;

	CHECK(cudnnBatchNormalizationBackward(nn->cudnn, CUDNN_BATCHNORM_SPATIAL, &layers_one,
		layers_beta(l->adds[0]), &layers_one, layers_beta(nn->accumulate), l->in_desc, run->x[0],
		l->out_desc, l->dy, l->in_desc, dx, l->aux_desc, l->param, l->grad, l->grad + l->bias_at,
		bn_epsilon, means, means + l->in.c));
}

void add_create(struct nn_layer *l)
{
	l->add = tensor_operation(CUDNN_OP_TENSOR_ADD);
}

void add_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	CHECK(cudnnOpTensor(nn->cudnn, l->add, &layers_one, l->in_desc, run->x[0], &layers_one, l->in_desc,
		run->x[1], &layers_zero, l->out_desc, run->z));
}

void add_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	for (int k = 0; k < 2; k++)
		if (run->dx[k])
			CHECK(cudnnAddTensor(nn->cudnn, &layers_one, l->out_desc, l->dy,
				layers_beta(l->adds[k]), l->in_desc, run->dx[k]));
}

void scale_create(struct nn_layer *l)
{
	l->add = tensor_operation(CUDNN_OP_TENSOR_MUL);
	l->aux_desc = per_map(l, 1);
}

void scale_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	CHECK(cudnnOpTensor(nn->cudnn, l->add, &layers_one, l->in_desc, run->x[0], &layers_one, l->aux_desc,
		l->param, &layers_zero, l->out_desc, run->y));
}

/* The factor's gradient is the product of dy and x as one long row and column. */
void scale_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const int count = (int)nn_numel(l->in);

	CHECK(cublasSgemv(nn->cublas, CUBLAS_OP_T, count, 1, &layers_one, l->dy, count, run->x[0], 1,
		layers_beta(nn->accumulate), l->grad, 1));
	if (run->dx[0])
		CHECK(cudnnOpTensor(nn->cudnn, l->add, &layers_one, l->in_desc, l->dy, &layers_one,
			l->aux_desc, l->param, layers_beta(l->adds[0]), l->out_desc, run->dx[0]));
}
