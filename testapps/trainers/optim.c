/*
 * SGD with momentum, and Adam: see optim.h.
 *
 * Adam needs w -= r * m / sqrt(v + e), element by element, for which there is no plain library call. Batch
 * normalisation in inference is y = beta * y + alpha * (scale * (x - mean) / sqrt(variance + e) + bias), a
 * value per element in "per activation" mode: with y = w, x = m, variance = v, alpha = -r, beta = 1, scale =
 * 1 and mean = bias = 0 it is Adam's step. So e stands inside the root; the bias corrections of m and v are
 * part of r.
 */
#include "optim.h"

#include <math.h>

#include "check.h"

static const float one = 1;
static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-12;

void optim_init(struct optim *o, struct nn *nn, enum optim_kind kind, double rate, double momentum)
{
	size_t largest = 0;

	*o = (struct optim){.kind = kind, .rate = rate, .momentum = momentum};
	CHECK(cudaSetDevice(nn->device));
	for (int i = nn->first; i < nn->end; i++) {
		size_t count = nn->layer[i].param_count;

		if (!count)
			continue;
		largest = count > largest ? count : largest;
		if (kind == OPTIM_ADAM || momentum > 0)
			o->first[i] = nn_floats(count);
		if (kind != OPTIM_ADAM)
			continue;
		o->second[i] = nn_floats(count);
		CHECK(cudnnCreateTensorDescriptor(&o->desc[i]));
		CHECK(cudnnSetTensor4dDescriptor(
			o->desc[i], CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, (int)count, 1, 1));
	}
	if (kind != OPTIM_ADAM)
		return;
	CHECK(cudnnCreateOpTensorDescriptor(&o->multiply));
	CHECK(cudnnSetOpTensorDescriptor(
		o->multiply, CUDNN_OP_TENSOR_MUL, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN));
	o->zeros = nn_floats(largest);
	o->ones = nn_floats(largest);
	for (int i = nn->first; i < nn->end; i++)
		if (nn->layer[i].param_count == largest)
			CHECK(cudnnSetTensor(nn->cudnn, o->desc[i], o->ones, &one));
	CHECK(cudaStreamSynchronize(nn->stream));
}

void optim_free(struct optim *o, struct nn *nn)
{
	CHECK(cudaSetDevice(nn->device));
	for (int i = nn->first; i < nn->end; i++) {
		CHECK(cudaFree(o->first[i]));
		CHECK(cudaFree(o->second[i]));
		if (o->desc[i])
			CHECK(cudnnDestroyTensorDescriptor(o->desc[i]));
	}
	CHECK(cudaFree(o->zeros));
	CHECK(cudaFree(o->ones));
	if (o->multiply)
		CHECK(cudnnDestroyOpTensorDescriptor(o->multiply));
}

static void sgd(struct optim *o, struct nn *nn, struct nn_layer *layer, float *velocity)
{
	float minus_rate = (float)-o->rate, momentum = (float)o->momentum;
	int count = (int)layer->param_count;
	const float *direction = layer->grad;

	if (velocity) {
		CHECK(cublasSscal(nn->cublas, count, &momentum, velocity, 1));
		CHECK(cublasSaxpy(nn->cublas, count, &one, layer->grad, 1, velocity, 1));
		direction = velocity;
	}
	CHECK(cublasSaxpy(nn->cublas, count, &minus_rate, direction, 1, layer->param, 1));
}

static void adam(struct optim *o, struct nn *nn, struct nn_layer *layer, int i)
{
	float keep1 = (float)beta1, add1 = (float)(1 - beta1), keep2 = (float)beta2,
	      add2 = (float)(1 - beta2);
	float minus_rate = (float)(-o->rate * sqrt(1 - pow(beta2, o->step)) / (1 - pow(beta1, o->step)));
	cudnnTensorDescriptor_t desc = o->desc[i];

	CHECK(cudnnAddTensor(nn->cudnn, &add1, desc, layer->grad, &keep1, desc, o->first[i]));
	CHECK(cudnnOpTensor(nn->cudnn, o->multiply, &add2, desc, layer->grad, &one, desc, layer->grad, &keep2,
		desc, o->second[i]));
	CHECK(cudnnBatchNormalizationForwardInference(nn->cudnn, CUDNN_BATCHNORM_PER_ACTIVATION, &minus_rate,
		&one, desc, o->first[i], desc, layer->param, desc, o->ones, o->zeros, o->zeros, o->second[i],
		epsilon));
}

void optim_update(struct optim *o, struct nn *nn)
{
	o->step++;
	for (int i = nn->first; i < nn->end; i++) {
		if (!nn->layer[i].param_count)
			continue;
		if (o->kind == OPTIM_ADAM)
			adam(o, nn, &nn->layer[i], i);
		else
			sgd(o, nn, &nn->layer[i], o->first[i]);
	}
}
