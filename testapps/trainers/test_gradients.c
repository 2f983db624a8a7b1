/*
 * Checks the layer library's gradients against plain C in double precision, and the plain gradients against
 * difference quotients of the plain loss, over kinds of layers, activations, strides, paddings, kernels,
 * pooling windows and ways in which layers read each other; and small versions of the published networks.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "loss.h"
#include "nn.h"
#include "plain.h"
#include "random.h"
#include "test_networks.h"

enum { MAX_LINES = 5 }; /* about one network */

static const double gpu_tolerance = 1e-4, deep_tolerance = 1e-3, quotient_tolerance = 1e-5;

/* Gives both the same random numbers, up to `scale` from `middle`: to the GPU in float, to the reference the
 * same value in double. */
static void give(float *device, double *plain, size_t count, uint64_t *random, double middle, double scale)
{
	float *host = xcalloc(count, sizeof(float));

	for (size_t i = 0; i < count; i++) {
		host[i] = (float)(middle + scale * (2 * random_uniform(random) - 1));
		plain[i] = (double)host[i];
	}
	CHECK(cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice));
	free(host);
}

static void give_all(struct nn *nn, struct plain *p, float *labels)
{
	uint64_t random = 7;
	size_t classes = nn_sample(nn_last(nn)->out), count = nn_numel(nn_last(nn)->out);

	give(nn->input, p->input, nn_numel(nn->in), &random, 0, 1);
	for (int i = 0; i < nn->layer_count; i++) {
		struct nn_layer *layer = &nn->layer[i];
		float *param = xcalloc(layer->param_count, sizeof(float));

		if (layer->param_count) {
			give(layer->param + layer->bias_at, p->param[i] + layer->bias_at, layer->bias_count,
				&random, 0, 0.2);
			if (layer->kind == NN_BATCHNORM || layer->kind == NN_SCALE)
				give(layer->param, p->param[i], layer->weight_count, &random, 1, 0.3);
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
		nn_forward(nn, i, 0);
	for (int i = nn->layer_count - 1; i >= 0; i--)
		nn_backward(nn, i, 0);
	CHECK(cudaStreamSynchronize(nn->stream));
	CHECK(cudaMemcpy(output, nn_last(nn)->y, count * sizeof(float), cudaMemcpyDeviceToHost));
	loss = loss_of(nn_last(nn), output, labels, SHARE).sum / BATCH;
	free(output);
	return loss;
}

/*
 * |found - expected| / |expected|. What is expected to be next to nothing beside `beside` is compared with
 * that: a bias before a convolution and a batch normalisation has no effect.
 */
static double distance(const float *found, const double *expected, size_t count, double beside)
{
	double difference = 0, norm = 0;

	for (size_t i = 0; i < count; i++) {
		difference += pow((double)found[i] - expected[i], 2);
		norm += expected[i] * expected[i];
	}
	norm = sqrt(norm) > 1e-6 * beside ? sqrt(norm) : beside;
	return sqrt(difference) / norm;
}

static double length(const double *values, size_t count)
{
	double squares = 0;

	for (size_t i = 0; i < count; i++)
		squares += values[i] * values[i];
	return sqrt(squares);
}

static int report(const char *network, const char *layer, const char *what, double error, double tolerance)
{
	if (error <= tolerance)
		return 0;
	printf("%s, %s, %s: off by %.1e, %.1e allowed\n", network, layer, what, error, tolerance);
	return 1;
}

/* is_deep: errors add up, and attention over a single place gives its queries and keys no gradient. */
static int check_gpu(const char *name, const struct nn_layer *layer, const double *expected, int is_deep)
{
	const double tolerance = is_deep ? deep_tolerance : gpu_tolerance, tiny = is_deep ? 1e-12 : 0;
	const double beside = length(expected, layer->weight_count);
	float *grad = xcalloc(layer->param_count, sizeof(float));
	int failures = 0;

	CHECK(cudaMemcpy(grad, layer->grad, layer->param_count * sizeof(float), cudaMemcpyDeviceToHost));
	failures += report(
		name, layer->name, "weights", distance(grad, expected, layer->weight_count, tiny), tolerance);
	if (layer->bias_count)
		failures += report(name, layer->name, "biases",
			distance(grad + layer->bias_at, expected + layer->bias_at, layer->bias_count, beside),
			tolerance);
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

/* One way of calling. The first also gives the reference its weights and runs it. */
static int check_api(
	const struct network *w, enum nn_api api, struct plain *p, struct nn *nn, double *expected)
{
	static float labels[SHARE * 64];
	char name[64];
	double loss = 0;
	int failures = 0;

	snprintf(name, sizeof(name), "%s, %s calls", w->name, api == NN_GRAPH ? "graph" : "legacy");
	memset(labels, 0, sizeof(labels));
	network_build(nn, w);
	nn->api = api;
	nn_create(nn, 0, 5, 0);
	nn->training = NN_CHECK;
	if (api == NN_LEGACY)
		plain_init(p, nn);
	give_all(nn, p, labels);
	loss = run_gpu(nn, labels);
	if (api == NN_LEGACY) {
		*expected = plain_forward(p);
		plain_backward(p);
	}
	failures += report(name, "loss", "value", fabs(loss - *expected) / *expected, gpu_tolerance);
	for (int i = 0; i < nn->layer_count && failures < MAX_LINES; i++)
		if (nn->layer[i].param_count)
			failures += check_gpu(name, &nn->layer[i], p->grad[i], w->is_deep);
	nn_destroy(nn);
	return failures;
}

static int check_network(const struct network *w)
{
	static struct nn nn;
	static struct plain p;
	uint64_t random = 11;
	double expected = 0;
	int failures = 0;

	failures += check_api(w, NN_LEGACY, &p, &nn, &expected);
	failures += check_api(w, NN_GRAPH, &p, &nn, &expected);
	for (int i = 0; i < nn.layer_count && !w->is_large; i++)
		if (nn.layer[i].param_count)
			failures += check_quotient(w->name, &p, i, &random);
	plain_free(&p);
	return failures;
}

int main(void)
{
	int devices = 0, failures = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		printf("skipped: no device\n");
		return 77;
	}
	for (size_t i = 0; i < network_count; i++)
		failures += check_network(&networks[i]);
	return failures ? 1 : 0;
}
