/* Checks a few steps of SGD, SGD with momentum and Adam against their formulas in double precision. */
#include <math.h>

#include "check.h"
#include "optim.h"
#include "random.h"

enum { STEPS = 5, INPUTS = 7, OUTPUTS = 5, MAX_PARAMS = 128 };

static const double tolerance = 1e-5;

struct reference {
	double weight[MAX_PARAMS], first[MAX_PARAMS], second[MAX_PARAMS];
};

static void step(struct reference *r, const float *grad, size_t count, const struct optim *o, int number)
{
	for (size_t i = 0; i < count; i++) {
		double g = (double)grad[i];

		if (o->kind == OPTIM_SGD) {
			r->first[i] = o->momentum * r->first[i] + g;
			r->weight[i] -= o->rate * r->first[i];
			continue;
		}
		r->first[i] = 0.9 * r->first[i] + 0.1 * g;
		r->second[i] = 0.999 * r->second[i] + 0.001 * g * g;
		if (g != 0)
			r->weight[i] -= o->rate * (r->first[i] / (1 - pow(0.9, number))) /
					sqrt(r->second[i] / (1 - pow(0.999, number)));
	}
}

static int check(const char *name, enum optim_kind kind, double rate, double momentum)
{
	static struct nn nn;
	struct optim o;
	struct reference r = {0};
	float host[MAX_PARAMS];
	uint64_t random = 3;
	double worst = 0;
	size_t count = 0, size = 0;

	nn_init(&nn, 1, 1, INPUTS, 1, 1, 1);
	nn_dense(&nn, OUTPUTS, NN_LINEAR);
	nn_softmax(&nn);
	nn_create(&nn, 0, 1, 0);
	optim_init(&o, &nn, kind, rate, momentum);
	count = nn.layer[0].param_count;
	size = count * sizeof(float);
	if (count > MAX_PARAMS)
		errx(1, "%zu parameters", count);
	CHECK(cudaMemcpy(host, nn.layer[0].param, size, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < count; i++)
		r.weight[i] = (double)host[i];
	for (int number = 1; number <= STEPS; number++) {
		for (size_t i = 0; i < count; i++)
			host[i] = (float)(2 * random_uniform(&random) - 1);
		CHECK(cudaMemcpy(nn.layer[0].grad, host, size, cudaMemcpyHostToDevice));
		step(&r, host, count, &o, number);
		optim_update(&o, &nn);
		CHECK(cudaStreamSynchronize(nn.stream));
	}
	CHECK(cudaMemcpy(host, nn.layer[0].param, size, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < count; i++)
		worst = fmax(worst, fabs((double)host[i] - r.weight[i]));
	optim_free(&o, &nn);
	nn_destroy(&nn);
	if (!(worst <= tolerance))
		printf("%s: a weight is off by %.1e, %.1e allowed\n", name, worst, tolerance);
	return worst <= tolerance ? 0 : 1;
}

int main(void)
{
	int devices = 0, failures = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		printf("skipped: no device\n");
		return 77;
	}
	failures += check("sgd", OPTIM_SGD, 0.1, 0);
	failures += check("sgd with momentum", OPTIM_SGD, 0.1, 0.9);
	failures += check("adam", OPTIM_ADAM, 0.01, 0);
	return failures ? 1 : 0;
}
