/*
 * Checks what pipelines need of networks: stages that together compute what the whole network computes, bit
 * for bit; micro-batches whose gradients add up, with activations kept or computed again; versions of the
 * weights; and the running averages of batch normalisation.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "optim.h"
#include "test_device.h"
#include "test_networks.h"

enum { MICRO = 3, SEED = 5 }; /* micro-batches of SHARE / MICRO samples */

/* Samples first ... of one batch, and a target that need not be one-hot, into a slot; whatever the
 * micro-batches, the batch is the same. */
static void fill_slot(struct nn *nn, int slot, int first)
{
	struct nn_shape target = nn_last(nn)->out;

	for (int i = 0; i < nn->in.n; i++) {
		uint64_t seed = 100 + (uint64_t)(first + i);

		if (nn->first == 0)
			fill(nn_input(nn, slot) + (size_t)i * nn_sample(nn->in), nn_sample(nn->in), seed, 0,
				1);
		if (nn->target && nn->target != nn->input)
			fill(nn_target(nn, slot) + (size_t)i * nn_sample(target), nn_sample(target),
				nn_last(nn)->kind == NN_MSE ? seed : seed + 50,
				nn_last(nn)->kind == NN_MSE ? 0 : 0.5, nn_last(nn)->kind == NN_MSE ? 1 : 0.5);
	}
}

/* All parameters anew, by their place in the whole list. */
static void fill_params(struct nn *nn)
{
	for (int i = nn->first; i < nn->end; i++) {
		struct nn_layer *l = &nn->layer[i];
		const int scales = l->kind == NN_BATCHNORM || l->kind == NN_SCALE;

		if (scales)
			fill(l->param, l->weight_count, (uint64_t)i, 1, 0.3);
		if (l->bias_count)
			fill(l->param + l->bias_at, l->bias_count, 1000 + (uint64_t)i, 0, 0.2);
	}
}

static void backward(struct nn *nn, int slot, int accumulate)
{
	nn->accumulate = accumulate;
	for (int i = nn->end - 1; i >= nn->first; i--)
		nn_backward(nn, i, slot);
	nn->accumulate = 0;
}

/* |a - b| / |b| of all gradients; other sizes or not a number: infinite. */
static double distance(const float *a, const float *b, size_t count)
{
	double difference = 0, norm = 0;

	for (size_t i = 0; i < count; i++) {
		difference += pow((double)a[i] - (double)b[i], 2);
		norm += pow((double)b[i], 2);
	}
	return norm > 0 && isfinite(difference) ? sqrt(difference / norm) : INFINITY;
}

static void same(const char *network, const char *layer, const char *what, const float *a, const float *b,
	size_t count)
{
	float *host_a = to_host(a, count), *host_b = to_host(b, count);

	if (memcmp(host_a, host_b, count * sizeof(float)) != 0)
		fail("%s, %s: the stage's %s differ from the whole network's", network, layer, what);
	free(host_a);
	free(host_b);
}

/* Cuts wherever it is possible. Answers how many stages there are; they are the caller's to destroy. */
static int cut_all(struct nn **stages, const struct network *w, enum nn_api api, const struct nn *whole)
{
	int count = 0, first = 0;

	*stages = xcalloc((size_t)whole->layer_count, sizeof(**stages));
	for (int end = 1; end <= whole->layer_count; end++) {
		struct nn *stage = *stages + count;

		if (end < whole->layer_count && !nn_cut_ok(whole, end))
			continue;
		network_build(stage, w);
		stage->api = api;
		nn_set_stage(stage, first, end);
		nn_create(stage, 0, SEED, 0);
		first = end;
		count++;
	}
	return count;
}

static void copy(float *to, const float *from, struct nn_shape shape)
{
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(to, from, nn_numel(shape) * sizeof(float), cudaMemcpyDeviceToDevice));
	CHECK(cudaDeviceSynchronize());
}

static void compare_weights(const char *name, struct nn *whole, struct nn *stage)
{
	for (int i = stage->first; i < stage->end; i++)
		if (whole->layer[i].param_count)
			same(name, whole->layer[i].name, "first weights", stage->layer[i].param,
				whole->layer[i].param, whole->layer[i].param_count);
}

static void check_stages(const struct network *w, enum nn_api api)
{
	static struct nn whole;
	struct nn *stages = NULL;
	int count = 0;

	network_build(&whole, w);
	whole.api = api;
	nn_create(&whole, 0, SEED, 0);
	count = cut_all(&stages, w, api, &whole);
	if (count < 2)
		fail("%s: only %d stages", w->name, count);
	for (int s = 0; s < count; s++)
		compare_weights(w->name, &whole, &stages[s]);
	fill_params(&whole);
	fill_slot(&whole, 0, 0);
	forward(&whole, 0, NN_TRAIN);
	backward(&whole, 0, 0);
	for (int s = 0; s < count; s++) {
		fill_params(&stages[s]);
		fill_slot(&stages[s], 0, 0);
		if (s > 0)
			copy(nn_input(&stages[s], 0), nn_output(&stages[s - 1], stages[s].first - 1, 0),
				nn_input_shape(&stages[s]));
		if (stages[s].target && whole.target == whole.input)
			copy(nn_target(&stages[s], 0), whole.input, whole.in);
		forward(&stages[s], 0, NN_TRAIN);
	}
	for (int s = count - 1; s >= 0; s--) {
		if (s < count - 1)
			copy(nn_output_gradient(&stages[s]), nn_input_gradient(&stages[s + 1]),
				nn_input_shape(&stages[s + 1]));
		backward(&stages[s], 0, 0);
		for (int i = stages[s].first; i < stages[s].end; i++)
			if (whole.layer[i].param_count)
				same(w->name, whole.layer[i].name, "gradients", stages[s].layer[i].grad,
					whole.layer[i].grad, whole.layer[i].param_count);
	}
	for (int s = 0; s < count; s++)
		nn_destroy(&stages[s]);
	free(stages);
	nn_destroy(&whole);
}

/* A network for micro-batches, keeping `slots` activations. */
static void begin_micro(
	struct nn *nn, const struct network *w, enum nn_api api, int share, int inputs, int slots)
{
	network_build_with(nn, w, share);
	nn->api = api;
	nn_set_slots(nn, inputs, slots);
	nn_create(nn, 0, SEED, 0);
	fill_params(nn);
	for (int m = 0; m < inputs; m++)
		fill_slot(nn, m, m * share);
}

static int has_kind(const struct nn *nn, enum nn_kind kind)
{
	for (int i = 0; i < nn->layer_count; i++)
		if (nn->layer[i].kind == kind)
			return 1;
	return 0;
}

/* The sum over micro-batches, each run by itself; *error: how far it is from the whole batch's, which without
 * batch normalisation it must equal. */
static float *sum_of_single(const struct network *w, enum nn_api api, double *error)
{
	static struct nn nn;
	float *sum = NULL, *whole = NULL;

	begin_micro(&nn, w, api, SHARE / MICRO, 1, 1);
	sum = xcalloc(nn.param_count, sizeof(float));
	for (int m = 0; m < MICRO; m++) {
		float *part = NULL;

		fill_slot(&nn, 0, m * (SHARE / MICRO));
		forward(&nn, 0, NN_TRAIN);
		backward(&nn, 0, 0);
		part = to_host(nn.grads, nn.param_count);
		for (size_t i = 0; i < nn.param_count; i++)
			sum[i] += part[i];
		free(part);
	}
	nn_destroy(&nn);
	begin_micro(&nn, w, api, SHARE, 1, 1);
	forward(&nn, 0, NN_TRAIN);
	backward(&nn, 0, 0);
	whole = to_host(nn.grads, nn.param_count);
	*error = has_kind(&nn, NN_BATCHNORM) ? 0 : distance(sum, whole, nn.param_count);
	free(whole);
	nn_destroy(&nn);
	return sum;
}

static void check_micro_batches(const struct network *w, enum nn_api api)
{
	static struct nn nn;
	double error = 0;
	float *expected = sum_of_single(w, api, &error), *kept = NULL, *again = NULL;
	size_t count = 0;

	if (error > 1e-4)
		fail("%s: micro-batches one by one: off by %.1e", w->name, error);
	begin_micro(&nn, w, api, SHARE / MICRO, MICRO, MICRO);
	for (int m = 0; m < MICRO; m++)
		forward(&nn, m, NN_TRAIN);
	for (int m = 0; m < MICRO; m++)
		backward(&nn, m, m > 0);
	count = nn.param_count;
	kept = to_host(nn.grads, count);
	nn_destroy(&nn);
	error = distance(kept, expected, count);
	if (!(error <= 1e-5))
		fail("%s, %s calls: micro-batches with activations kept: off by %.1e", w->name,
			api == NN_GRAPH ? "graph" : "legacy", error);
	begin_micro(&nn, w, api, SHARE / MICRO, MICRO, 1);
	for (int m = 0; m < MICRO; m++)
		forward(&nn, m, NN_TRAIN);
	for (int m = 0; m < MICRO; m++) {
		forward(&nn, m, NN_RECOMPUTE);
		backward(&nn, m, m > 0);
	}
	again = to_host(nn.grads, count);
	nn_destroy(&nn);
	if (memcmp(kept, again, count * sizeof(float)) != 0)
		fail("%s: activations computed again give other gradients: off by %.1e", w->name,
			distance(again, kept, count));
	free(expected);
	free(kept);
	free(again);
}

/* Three versions: each step leaves the two before it as they were, whichever api keeps pointers to them. */
static void check_versions(enum nn_api api)
{
	static struct nn nn;
	struct optim o;
	float *output[5], *now = NULL;
	const double rate = 0.1;
	size_t count = 0;

	nn_init(&nn, 2, 2, 3, 1, 6, 6);
	nn_conv(&nn, 4, 3, 1, 1, NN_RELU);
	nn_dense(&nn, 10, NN_RELU);
	nn_softmax(&nn);
	nn.api = api;
	nn_set_versions(&nn, 3);
	nn_create(&nn, 0, SEED, 0);
	optim_init(&o, &nn, OPTIM_SGD, rate, 0);
	fill_params(&nn);
	fill_slot(&nn, 0, 0);
	count = nn_numel(nn_last(&nn)->out);
	for (int step = 0; step < 5; step++) {
		float *before = NULL, *grad = NULL, *after = NULL;

		forward(&nn, 0, NN_TRAIN);
		output[step] = to_host(nn_output(&nn, nn.end - 1, 0), count);
		if (step && !memcmp(output[step], output[step - 1], count * sizeof(float)))
			fail("version %d computes what the one before did", step);
		backward(&nn, 0, 0);
		for (int v = step < 2 ? 0 : step - 2; v <= step; v++) {
			nn_use(&nn, v);
			forward(&nn, 0, NN_TRAIN);
			now = to_host(nn_output(&nn, nn.end - 1, 0), count);
			if (memcmp(now, output[v], count * sizeof(float)) != 0)
				fail("version %d computes something else after version %d was made", v, step);
			free(now);
		}
		before = to_host(nn.params, nn.param_count);
		grad = to_host(nn.grads, nn.param_count);
		nn_advance(&nn);
		optim_update(&o, &nn);
		after = to_host(nn.params, nn.param_count);
		for (size_t i = 0; i < nn.param_count; i++)
			if (fabs((double)after[i] - ((double)before[i] - rate * (double)grad[i])) > 1e-6) {
				fail("version %d is no step from version %d", step + 1, step);
				break;
			}
		free(before);
		free(grad);
		free(after);
	}
	for (int step = 0; step < 5; step++)
		free(output[step]);
	optim_free(&o, &nn);
	nn_destroy(&nn);
}

int main(void)
{
	int devices = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		printf("skipped: no device\n");
		return 77;
	}
	for (size_t i = 0; i < network_count; i++)
		for (int api = NN_LEGACY; api <= NN_GRAPH; api++) {
			if (networks[i].kind != OTHER && i % 4)
				continue;
			/* Large ones in one way each. */
			if (!networks[i].is_large || api == NN_GRAPH)
				check_stages(&networks[i], (enum nn_api)api);
			if (!networks[i].is_large || (api == NN_LEGACY && networks[i].is_large < 2))
				check_micro_batches(&networks[i], (enum nn_api)api);
		}
	check_versions(NN_LEGACY);
	check_versions(NN_GRAPH);
	return failures ? 1 : 0;
}
