/* The reference networks: see plain.h. Dropout passes everything on, as with probability 0. */
#include "plain.h"

#include <math.h>
#include <string.h>

#include "check.h"

void plain_init(struct plain *p, const struct nn *nn)
{
	memset(p, 0, sizeof(*p));
	p->nn = nn;
	p->input = xcalloc(nn_numel(nn->in), sizeof(double));
	p->target = xcalloc(nn_numel(nn->layer[nn->layer_count - 1].out), sizeof(double));
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *layer = &nn->layer[i];

		p->z[i] = xcalloc(nn_numel(layer->out), sizeof(double));
		p->y[i] = xcalloc(nn_numel(layer->out), sizeof(double));
		p->dy[i] = xcalloc(nn_numel(layer->out), sizeof(double));
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
		free(p->param[i]);
		free(p->grad[i]);
	}
	free(p->input);
	free(p->target);
}

static size_t at(struct nn_shape s, int n, int c, int h, int w)
{
	return (((size_t)n * (size_t)s.c + (size_t)c) * (size_t)s.h + (size_t)h) * (size_t)s.w + (size_t)w;
}

/*
 * Goes over all products of a convolution: output element, input element, weight. Forward: z += w * x.
 * Backward (dx may be NULL): dw += dz * x, dx += dz * w.
 */
static void conv_products(const struct nn_layer *l, const double *x, const double *weight, double *z,
	const double *dz, double *dw, double *dx)
{
	struct nn_shape taps = {l->out.c, l->in.c, l->kernel, l->kernel};

	for (int n = 0; n < l->out.n; n++)
		for (int f = 0; f < l->out.c; f++)
			for (int oy = 0; oy < l->out.h; oy++)
				for (int ox = 0; ox < l->out.w; ox++)
					for (int tap = 0; tap < taps.c * taps.h * taps.w; tap++) {
						int c = tap / (taps.h * taps.w), ky = tap / taps.w % taps.h;
						int kx = tap % taps.w;
						int iy = oy * l->stride + ky - l->pad;
						int ix = ox * l->stride + kx - l->pad;
						size_t o = at(l->out, n, f, oy, ox),
						       w = at(taps, f, c, ky, kx);
						size_t i = 0;

						if (iy < 0 || iy >= l->in.h || ix < 0 || ix >= l->in.w)
							continue;
						i = at(l->in, n, c, iy, ix);
						if (z)
							z[o] += weight[w] * x[i];
						if (dw)
							dw[w] += dz[o] * x[i];
						if (dx)
							dx[i] += dz[o] * weight[w];
					}
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
	case NN_LINEAR:
		break;
	}
	return 1;
}

static int map_of(const struct nn_layer *l, size_t element)
{
	return (int)(element / ((size_t)l->out.h * (size_t)l->out.w) % (size_t)l->out.c);
}

static void weighted_forward(struct plain *p, int i, const double *x)
{
	const struct nn_layer *l = &p->nn->layer[i];
	const double *bias = p->param[i] + l->bias_at;

	for (size_t k = 0; k < nn_numel(l->out); k++)
		p->z[i][k] = bias[map_of(l, k)];
	if (l->kind == NN_CONV)
		conv_products(l, x, p->param[i], p->z[i], NULL, NULL, NULL);
	else
		dense_products(l, x, p->param[i], p->z[i], NULL, NULL, NULL);
	for (size_t k = 0; k < nn_numel(l->out); k++)
		p->y[i][k] = activate(l->activation, p->z[i][k]);
}

static void weighted_backward(struct plain *p, int i, const double *x, double *dx)
{
	const struct nn_layer *l = &p->nn->layer[i];
	double *dz = p->dy[i];

	memset(p->grad[i], 0, l->param_count * sizeof(double));
	for (size_t k = 0; k < nn_numel(l->out); k++) {
		dz[k] *= slope(l->activation, p->z[i][k]);
		p->grad[i][l->bias_at + (size_t)map_of(l, k)] += dz[k];
	}
	if (l->kind == NN_CONV)
		conv_products(l, x, p->param[i], NULL, dz, p->grad[i], dx);
	else
		dense_products(l, x, p->param[i], NULL, dz, p->grad[i], dx);
}

/* Where a pooling window's largest input is. */
static size_t largest(const struct nn_layer *l, const double *x, int n, int c, int oy, int ox)
{
	size_t best = at(l->in, n, c, oy * l->stride, ox * l->stride);

	for (int ky = 0; ky < l->kernel; ky++)
		for (int kx = 0; kx < l->kernel; kx++) {
			size_t i = at(l->in, n, c, oy * l->stride + ky, ox * l->stride + kx);

			if (x[i] > x[best])
				best = i;
		}
	return best;
}

/* Forward with y, backward with dy and dx. */
static void pool(const struct nn_layer *l, const double *x, double *y, const double *dy, double *dx)
{
	for (int n = 0; n < l->out.n; n++)
		for (int c = 0; c < l->out.c; c++)
			for (int oy = 0; oy < l->out.h; oy++)
				for (int ox = 0; ox < l->out.w; ox++) {
					size_t o = at(l->out, n, c, oy, ox), i = largest(l, x, n, c, oy, ox);

					if (y)
						y[o] = x[i];
					else
						dx[i] += dy[o];
				}
}

/* Sets y and answers the loss; with dx, sets that instead. */
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
				dx[n * width + k] = (probability - target) / p->nn->batch;
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
			dx[k] = 2 * scale * difference;
	}
	return loss;
}

double plain_forward(struct plain *p)
{
	double loss = 0;

	for (int i = 0; i < p->nn->layer_count; i++) {
		const struct nn_layer *l = &p->nn->layer[i];
		const double *x = i ? p->y[i - 1] : p->input;

		switch (l->kind) {
		case NN_CONV:
		case NN_DENSE:
			weighted_forward(p, i, x);
			break;
		case NN_POOL:
			pool(l, x, p->y[i], NULL, NULL);
			break;
		case NN_DROPOUT:
			memcpy(p->y[i], x, nn_numel(l->out) * sizeof(double));
			break;
		case NN_SOFTMAX:
			loss = softmax(p, i, x, NULL);
			break;
		case NN_MSE:
			loss = mse(p, i, x, NULL);
			break;
		}
	}
	return loss;
}

void plain_backward(struct plain *p)
{
	for (int i = p->nn->layer_count - 1; i >= 0; i--) {
		const struct nn_layer *l = &p->nn->layer[i];
		const double *x = i ? p->y[i - 1] : p->input;
		double *dx = i ? p->dy[i - 1] : NULL;

		if (dx)
			memset(dx, 0, nn_numel(l->in) * sizeof(double));
		switch (l->kind) {
		case NN_CONV:
		case NN_DENSE:
			weighted_backward(p, i, x, dx);
			break;
		case NN_POOL:
			pool(l, x, NULL, p->dy[i], dx);
			break;
		case NN_DROPOUT:
			memcpy(dx, p->dy[i], nn_numel(l->out) * sizeof(double));
			break;
		case NN_SOFTMAX:
			softmax(p, i, x, dx);
			break;
		case NN_MSE:
			mse(p, i, x, dx);
			break;
		}
	}
}
