/*
 * Checks the layer library's gradients against plain C in double precision, and the plain gradients against
 * difference quotients of the plain loss, over kinds of layers, activations, strides, paddings, kernels and
 * pooling windows.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "loss.h"
#include "nn.h"
#include "plain.h"
#include "random.h"

enum { SHARE = 6, BATCH = 10 }; /* this GPU's samples, and those that the loss is the mean of */

static const double gpu_tolerance = 1e-4, quotient_tolerance = 1e-5;

struct network {
	const char *name;
	enum { CNN, LENET, MLP, AUTOENCODER } kind;
	enum nn_activation activation;
	int kernel, stride, same, pool;
};

static const struct network networks[] = {
	{"cnn relu", CNN, NN_RELU, 5, 1, 0, 2},
	{"cnn tanh", CNN, NN_TANH, 5, 1, 0, 2},
	{"cnn sigmoid", CNN, NN_SIGMOID, 5, 1, 0, 2},
	{"cnn kernel 2", CNN, NN_TANH, 2, 1, 0, 2},
	{"cnn kernel 3", CNN, NN_RELU, 3, 1, 0, 2},
	{"cnn kernel 4", CNN, NN_SIGMOID, 4, 1, 0, 2},
	{"cnn kernel 2 same", CNN, NN_RELU, 2, 1, 1, 2},
	{"cnn kernel 3 same", CNN, NN_TANH, 3, 1, 1, 3},
	{"cnn kernel 4 same", CNN, NN_RELU, 4, 1, 1, 4},
	{"cnn kernel 5 same", CNN, NN_SIGMOID, 5, 1, 1, 2},
	{"cnn stride 2", CNN, NN_TANH, 3, 2, 0, 2},
	{"cnn stride 2 same", CNN, NN_RELU, 5, 2, 1, 2},
	{"cnn stride 3 same", CNN, NN_TANH, 4, 3, 1, 2},
	{"cnn pool 3", CNN, NN_RELU, 3, 1, 0, 3},
	{"cnn pool 5 same", CNN, NN_TANH, 3, 1, 1, 5},
	{"lenet-5", LENET, NN_RELU, 5, 1, 0, 2},
	{"mlp relu", MLP, NN_RELU, 0, 0, 0, 0},
	{"mlp tanh", MLP, NN_TANH, 0, 0, 0, 0},
	{"mlp sigmoid", MLP, NN_SIGMOID, 0, 0, 0, 0},
	{"autoencoder relu", AUTOENCODER, NN_RELU, 0, 0, 0, 0},
	{"autoencoder tanh", AUTOENCODER, NN_TANH, 0, 0, 0, 0},
};

static void build(struct nn *nn, const struct network *w)
{
	switch (w->kind) {
	case CNN:
		nn_init(nn, BATCH, SHARE, 3, 22, 21);
		nn_conv(nn, 4, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool);
		nn_conv(nn, 5, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool > 2 ? 1 : w->pool);
		nn_dense(nn, 12, w->activation);
		nn_dropout(nn, 0);
		nn_dense(nn, 10, NN_LINEAR);
		nn_softmax(nn);
		break;
	case LENET:
		nn_init(nn, BATCH, SHARE, 1, 28, 28);
		nn_conv(nn, 6, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool);
		nn_conv(nn, 16, w->kernel, w->stride, w->same, w->activation);
		nn_pool(nn, w->pool);
		nn_dense(nn, 120, w->activation);
		nn_dense(nn, 84, w->activation);
		nn_dense(nn, 10, NN_LINEAR);
		nn_softmax(nn);
		break;
	case MLP:
		nn_init(nn, BATCH, SHARE, 1, 9, 7);
		nn_dense(nn, 20, w->activation);
		nn_dense(nn, 15, w->activation);
		nn_dense(nn, 10, NN_LINEAR);
		nn_softmax(nn);
		break;
	case AUTOENCODER:
		nn_init(nn, BATCH, SHARE, 1, 9, 7);
		nn_dense(nn, 20, w->activation);
		nn_dense(nn, 8, w->activation);
		nn_dense(nn, 63, NN_SIGMOID);
		nn_mse(nn);
		break;
	}
	if (nn->error[0])
		errx(1, "%s: %s", w->name, nn->error);
}

/* Gives both the same random numbers: to the GPU in float, to the reference the same value in double. */
static void give(float *device, double *plain, size_t count, uint64_t *random, double scale)
{
	float *host = xcalloc(count, sizeof(float));

	for (size_t i = 0; i < count; i++) {
		host[i] = (float)(scale * (2 * random_uniform(random) - 1));
		plain[i] = (double)host[i];
	}
	CHECK(cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice));
	free(host);
}

static void give_all(struct nn *nn, struct plain *p, float *labels)
{
	uint64_t random = 7;
	size_t classes = nn_sample(nn_last(nn)->out), count = nn_numel(nn_last(nn)->out);

	give(nn->input, p->input, nn_numel(nn->in), &random, 1);
	for (int i = 0; i < nn->layer_count; i++) {
		struct nn_layer *layer = &nn->layer[i];
		float *param = xcalloc(layer->param_count, sizeof(float));

		if (layer->param_count) {
			give(layer->param + layer->bias_at, p->param[i] + layer->bias_at, layer->bias_count,
				&random, 0.2);
			CHECK(cudaMemcpy(param, layer->param, layer->weight_count * sizeof(float),
				cudaMemcpyDeviceToHost));
			for (size_t k = 0; k < layer->weight_count; k++)
				p->param[i][k] = (double)param[k];
		}
		free(param);
	}
	if (nn_last(nn)->kind == NN_MSE) {
		memcpy(p->target, p->input, count * sizeof(double));
		return;
	}
	for (size_t n = 0; n < SHARE; n++)
		labels[n * classes + (size_t)(random_uniform(&random) * (double)classes)] = 1;
	for (size_t k = 0; k < count; k++)
		p->target[k] = (double)labels[k];
	CHECK(cudaMemcpy(nn->target, labels, count * sizeof(float), cudaMemcpyHostToDevice));
}

/* The loss on the GPU; leaves the gradients there. */
static double run_gpu(struct nn *nn, const float *labels)
{
	size_t count = nn_numel(nn_last(nn)->out);
	float *output = xcalloc(count, sizeof(float));
	double loss = 0;

	for (int i = 0; i < nn->layer_count; i++)
		nn_forward(nn, i);
	for (int i = nn->layer_count - 1; i >= 0; i--)
		nn_backward(nn, i);
	CHECK(cudaStreamSynchronize(nn->stream));
	CHECK(cudaMemcpy(output, nn_last(nn)->y, count * sizeof(float), cudaMemcpyDeviceToHost));
	loss = loss_of(nn_last(nn), output, labels, SHARE).sum / BATCH;
	free(output);
	return loss;
}

/* |found - expected| / |expected|; both must be something. */
static double distance(const float *found, const double *expected, size_t count)
{
	double difference = 0, norm = 0;

	for (size_t i = 0; i < count; i++) {
		difference += pow((double)found[i] - expected[i], 2);
		norm += expected[i] * expected[i];
	}
	return norm > 0 ? sqrt(difference / norm) : INFINITY;
}

static int report(const char *network, const char *layer, const char *what, double error, double tolerance)
{
	if (error <= tolerance)
		return 0;
	printf("%s, %s, %s: off by %.1e, %.1e allowed\n", network, layer, what, error, tolerance);
	return 1;
}

static int check_gpu(const char *name, const struct nn_layer *layer, const double *expected)
{
	float *grad = xcalloc(layer->param_count, sizeof(float));
	int failures = 0;

	CHECK(cudaMemcpy(grad, layer->grad, layer->param_count * sizeof(float), cudaMemcpyDeviceToHost));
	failures += report(
		name, layer->name, "weights", distance(grad, expected, layer->weight_count), gpu_tolerance);
	failures += report(name, layer->name, "biases",
		distance(grad + layer->bias_at, expected + layer->bias_at, layer->bias_count), gpu_tolerance);
	free(grad);
	return failures;
}

/* The plain loss's slope in a random direction of one layer's parameters, against the plain gradient's. */
static int check_quotient(const char *name, struct plain *p, int i, uint64_t *random)
{
	const struct nn_layer *layer = &p->nn->layer[i];
	size_t count = layer->param_count;
	double *direction = xcalloc(count, sizeof(double)), step = 1e-6, slope = 0, norm = 0, quotient = 0;

	for (size_t k = 0; k < count; k++) {
		int is_used = k < layer->weight_count || k >= layer->bias_at;

		direction[k] = is_used ? 2 * random_uniform(random) - 1 : 0;
		slope += direction[k] * p->grad[i][k];
		norm += p->grad[i][k] * p->grad[i][k];
	}
	for (int sign = -1; sign <= 1; sign += 2) {
		for (size_t k = 0; k < count; k++)
			p->param[i][k] += sign * step * direction[k];
		quotient += sign * plain_forward(p) / (2 * step);
		for (size_t k = 0; k < count; k++)
			p->param[i][k] -= sign * step * direction[k];
	}
	free(direction);
	return report(name, layer->name, "difference quotient", fabs(quotient - slope) / sqrt(norm),
		quotient_tolerance);
}

static int check_network(const struct network *w, enum nn_api api)
{
	static struct nn nn;
	static struct plain p;
	float labels[SHARE * 64] = {0};
	uint64_t random = 11;
	char name[64];
	double loss = 0, expected = 0;
	int failures = 0;

	snprintf(name, sizeof(name), "%s, %s calls", w->name, api == NN_GRAPH ? "graph" : "legacy");
	build(&nn, w);
	nn.api = api;
	nn_create(&nn, 0, 5, 0);
	plain_init(&p, &nn);
	give_all(&nn, &p, labels);
	loss = run_gpu(&nn, labels);
	expected = plain_forward(&p);
	plain_backward(&p);
	failures += report(name, "loss", "value", fabs(loss - expected) / expected, gpu_tolerance);
	for (int i = 0; i < nn.layer_count; i++)
		if (nn.layer[i].param_count)
			failures += check_gpu(name, &nn.layer[i], p.grad[i]);
	for (int i = 0; i < nn.layer_count; i++)
		if (nn.layer[i].param_count)
			failures += check_quotient(name, &p, i, &random);
	plain_free(&p);
	nn_destroy(&nn);
	return failures;
}

int main(void)
{
	int devices = 0, failures = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		printf("skipped: no device\n");
		return 77;
	}
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		for (int api = NN_LEGACY; api <= NN_GRAPH; api++)
			failures += check_network(&networks[i], (enum nn_api)api);
	return failures ? 1 : 0;
}
