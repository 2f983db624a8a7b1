/* The reference networks: see plain.h. A gradient begins as zero and every reader of a layer adds to it. */
#include "plain.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "plain_places.h"

static const double epsilon = 1e-5; /* of batch normalisation */

void plain_init(struct plain *p, const struct nn *nn)
{
	memset(p, 0, sizeof(*p));
	p->nn = nn;
	p->input = xcalloc(nn_numel(nn->in), sizeof(double));
	p->target = xcalloc(nn_numel(nn->layer[nn->layer_count - 1].out), sizeof(double));
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *layer = &nn->layer[i];
		size_t kept = 0;

		if (layer->kind == NN_BATCHNORM)
			kept = 2 * (size_t)layer->in.c;
		if (layer->kind == NN_ATTENTION)
			kept = (size_t)layer->in.n * (size_t)plain_places(layer->in) *
			       (size_t)plain_places(layer->in);
		p->z[i] = xcalloc(nn_numel(layer->out), sizeof(double));
		p->y[i] = xcalloc(nn_numel(layer->out), sizeof(double));
		p->dy[i] = xcalloc(nn_numel(layer->out), sizeof(double));
		p->kept[i] = xcalloc(kept, sizeof(double));
		p->param[i] = xcalloc(layer->param_count, sizeof(double));
		p->grad[i] = xcalloc(layer->param_count, sizeof(double));
	}
}

void plain_free(struct plain *p)
{
	for (int i = 0; i < p->nn->layer_count; i++) {
		free(p->z[i]);
		free(p->y[i]);
		free(p->dy[i]);
		free(p->kept[i]);
		free(p->param[i]);
		free(p->grad[i]);
	}
	free(p->input);
	free(p->target);
}

static void dense_products(const struct nn_layer *l, const double *x, const double *weight, double *z,
	const double *dz, double *dw, double *dx)
{
	size_t in = nn_sample(l->in), out = nn_sample(l->out);

	for (size_t n = 0; n < (size_t)l->out.n; n++)
		for (size_t o = 0; o < out; o++)
			for (size_t i = 0; i < in; i++) {
				if (z)
					z[n * out + o] += weight[o * in + i] * x[n * in + i];
				if (dw)
					dw[o * in + i] += dz[n * out + o] * x[n * in + i];
				if (dx)
					dx[n * in + i] += dz[n * out + o] * weight[o * in + i];
			}
}

static double activate(enum nn_activation activation, double z)
{
	switch (activation) {
	case NN_RELU:
		return z > 0 ? z : 0;
	case NN_TANH:
		return tanh(z);
	case NN_SIGMOID:
		return 1 / (1 + exp(-z));
	case NN_RELU6:
		return z > 6 ? 6 : z > 0 ? z : 0;
	case NN_LINEAR:
		break;
	}
	return z;
}

static double slope(enum nn_activation activation, double z)
{
	double y = activate(activation, z);

	switch (activation) {
	case NN_RELU:
		return z > 0 ? 1 : 0;
	case NN_TANH:
		return 1 - y * y;
	case NN_SIGMOID:
		return y * (1 - y);
	case NN_RELU6:
		return z > 0 && z < 6 ? 1 : 0;
	case NN_LINEAR:
		break;
	}
	return 1;
}

static void weighted_forward(struct plain *p, int i, const double *x)
{
	const struct nn_layer *l = &p->nn->layer[i];
	const double *bias = p->param[i] + l->bias_at;

	for (size_t k = 0; k < nn_numel(l->out); k++)
		p->z[i][k] = l->bias_count ? bias[plain_map(l->out, k)] : 0;
	if (l->kind == NN_CONV)
		plain_conv(l, x, p->param[i], p->z[i], NULL, NULL, NULL);
	else
		dense_products(l, x, p->param[i], p->z[i], NULL, NULL, NULL);
}

static void weighted_backward(struct plain *p, int i, const double *x, double *dx)
{
	const struct nn_layer *l = &p->nn->layer[i];

	for (size_t k = 0; k < nn_numel(l->out) && l->bias_count; k++)
		p->grad[i][l->bias_at + plain_map(l->out, k)] += p->dy[i][k];
	if (l->kind == NN_CONV)
		plain_conv(l, x, p->param[i], NULL, p->dy[i], p->grad[i], dx);
	else
		dense_products(l, x, p->param[i], NULL, p->dy[i], p->grad[i], dx);
}

static void batchnorm_forward(struct plain *p, int i, const double *x)
{
	const struct nn_layer *l = &p->nn->layer[i];
	const double count = (double)l->in.n * plain_places(l->in);
	double *mean = p->kept[i], *variance = mean + l->in.c;

	memset(mean, 0, 2 * (size_t)l->in.c * sizeof(double));
	for (size_t k = 0; k < nn_numel(l->in); k++)
		mean[plain_map(l->in, k)] += x[k] / count;
	for (size_t k = 0; k < nn_numel(l->in); k++)
		variance[plain_map(l->in, k)] += pow(x[k] - mean[plain_map(l->in, k)], 2) / count;
	for (size_t k = 0; k < nn_numel(l->in); k++) {
		size_t c = plain_map(l->in, k);

		p->z[i][k] = p->param[i][c] * (x[k] - mean[c]) / sqrt(variance[c] + epsilon) +
			     p->param[i][l->bias_at + c];
	}
}

/* By the chain rule over x, mean and variance: with u the normalised x, dx = factor / deviation * (dy -
 * mean(dy) - u * mean(dy * u)). */
static void batchnorm_backward(struct plain *p, int i, const double *x, double *dx)
{
	const struct nn_layer *l = &p->nn->layer[i];
	const double count = (double)l->in.n * plain_places(l->in), *dy = p->dy[i];
	const double *mean = p->kept[i], *variance = mean + l->in.c;
	double *factor_grad = p->grad[i], *bias_grad = factor_grad + l->bias_at;

	for (size_t k = 0; k < nn_numel(l->in); k++) {
		size_t c = plain_map(l->in, k);

		factor_grad[c] += dy[k] * (x[k] - mean[c]) / sqrt(variance[c] + epsilon);
		bias_grad[c] += dy[k];
	}
	for (size_t k = 0; k < nn_numel(l->in) && dx; k++) {
		size_t c = plain_map(l->in, k);
		double deviation = sqrt(variance[c] + epsilon), u = (x[k] - mean[c]) / deviation;

		dx[k] += p->param[i][c] / deviation *
			 (dy[k] - bias_grad[c] / count - u * factor_grad[c] / count);
	}
}

/* Answers the loss; with dx, adds to that. */
static double softmax(struct plain *p, int i, const double *x, double *dx)
{
	size_t width = nn_sample(p->nn->layer[i].out);
	double loss = 0;

	for (size_t n = 0; n < (size_t)p->nn->in.n; n++) {
		double sum = 0;

		for (size_t k = 0; k < width; k++)
			sum += exp(x[n * width + k]);
		for (size_t k = 0; k < width; k++) {
			double probability = exp(x[n * width + k]) / sum, target = p->target[n * width + k];

			loss -= target * log(probability) / p->nn->batch;
			if (dx)
				dx[n * width + k] += (probability - target) / p->nn->batch;
		}
	}
	return loss;
}

static double mse(struct plain *p, int i, const double *x, double *dx)
{
	size_t count = nn_numel(p->nn->layer[i].out), width = nn_sample(p->nn->layer[i].out);
	double loss = 0, scale = 1.0 / p->nn->batch / (double)width;

	for (size_t k = 0; k < count; k++) {
		double difference = x[k] - p->target[k];

		loss += scale * difference * difference;
		if (dx)
			dx[k] += 2 * scale * difference;
	}
	return loss;
}

static double layer_forward(struct plain *p, int i, const double **x)
{
	const struct nn_layer *l = &p->nn->layer[i];
	double loss = 0;

	switch (l->kind) {
	case NN_CONV:
	case NN_DENSE:
		weighted_forward(p, i, x[0]);
		break;
	case NN_POOL:
		plain_pool(l, x[0], p->z[i], NULL, NULL);
		break;
	case NN_BATCHNORM:
		batchnorm_forward(p, i, x[0]);
		break;
	case NN_ATTENTION:
		plain_attention(l, x[0], x[1], x[2], p->kept[i], p->z[i]);
		break;
	case NN_SOFTMAX:
		return softmax(p, i, x[0], NULL);
	case NN_MSE:
		return mse(p, i, x[0], NULL);
	case NN_DROPOUT:
	case NN_ACTIVATION:
		memcpy(p->z[i], x[0], nn_numel(l->out) * sizeof(double));
		break;
	case NN_ADD:
		for (size_t k = 0; k < nn_numel(l->out); k++)
			p->z[i][k] = x[0][k] + x[1][k];
		break;
	case NN_SCALE:
		for (size_t k = 0; k < nn_numel(l->out); k++)
			p->z[i][k] = p->param[i][0] * x[0][k];
		break;
	}
	for (size_t k = 0; k < nn_numel(l->out); k++)
		p->y[i][k] = activate(l->activation, p->z[i][k]);
	return loss;
}

static void layer_backward(struct plain *p, int i, const double **x, double **dx)
{
	const struct nn_layer *l = &p->nn->layer[i];

	for (size_t k = 0; k < nn_numel(l->out); k++)
		p->dy[i][k] *= slope(l->activation, p->z[i][k]);
	switch (l->kind) {
	case NN_CONV:
	case NN_DENSE:
		weighted_backward(p, i, x[0], dx[0]);
		break;
	case NN_POOL:
		plain_pool(l, x[0], NULL, p->dy[i], dx[0]);
		break;
	case NN_BATCHNORM:
		batchnorm_backward(p, i, x[0], dx[0]);
		break;
	case NN_ATTENTION:
		plain_attention_backward(l, x, p->kept[i], p->dy[i], dx);
		break;
	case NN_SOFTMAX:
		softmax(p, i, x[0], dx[0]);
		break;
	case NN_MSE:
		mse(p, i, x[0], dx[0]);
		break;
	case NN_DROPOUT:
	case NN_ACTIVATION:
	case NN_ADD:
		for (size_t k = 0; k < nn_numel(l->out); k++)
			for (int from = 0; from < 2; from++)
				if (dx[from])
					dx[from][k] += p->dy[i][k];
		break;
	case NN_SCALE:
		for (size_t k = 0; k < nn_numel(l->out); k++) {
			p->grad[i][0] += p->dy[i][k] * x[0][k];
			if (dx[0])
				dx[0][k] += p->dy[i][k] * p->param[i][0];
		}
		break;
	}
}

/* What a layer reads, and the gradients with respect to it: NULL where it reads less, or the network's input.
 */
static void sources(struct plain *p, int i, const double **x, double **dx)
{
	const struct nn_layer *l = &p->nn->layer[i];
	const int read[] = {l->input, l->other, l->third};

	for (int k = 0; k < 3; k++) {
		x[k] = read[k] == NN_INPUT ? p->input : read[k] >= 0 ? p->y[read[k]] : NULL;
		dx[k] = read[k] >= 0 ? p->dy[read[k]] : NULL;
	}
}

double plain_forward(struct plain *p)
{
	const double *x[3];
	double loss = 0, *dx[3];

	for (int i = 0; i < p->nn->layer_count; i++) {
		sources(p, i, x, dx);
		loss += layer_forward(p, i, x);
	}
	return loss;
}

void plain_backward(struct plain *p)
{
	const double *x[3];
	double *dx[3];

	for (int i = 0; i < p->nn->layer_count; i++) {
		memset(p->dy[i], 0, nn_numel(p->nn->layer[i].out) * sizeof(double));
		memset(p->grad[i], 0, p->nn->layer[i].param_count * sizeof(double));
	}
	for (int i = p->nn->layer_count - 1; i >= 0; i--) {
		sources(p, i, x, dx);
		layer_backward(p, i, x, dx);
	}
}
