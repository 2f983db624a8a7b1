/*
 * Checks what dropout and batch normalisation do in training, in evaluation and when a slot's activations are
 * computed again.
 */
#include <math.h>
#include <string.h>

#include "test_device.h"

enum { SEED = 5 };

/* Dropout that drops: the second forward of a slot must drop what the first did, and other slots something
 * else. */
static void check_dropout(void)
{
	static struct nn nn;
	float *first[2], *again[2];
	size_t count = 0;

	nn_init(&nn, 4, 2, 3, 1, 8, 8);
	nn_dense(&nn, 200, NN_RELU);
	nn_dropout(&nn, 0.5);
	nn_dense(&nn, 10, NN_LINEAR);
	nn_softmax(&nn);
	nn_set_slots(&nn, 2, 1);
	nn_create(&nn, 0, SEED, 0);
	count = nn_numel(nn.layer[1].out);
	fill(nn_input(&nn, 0), nn_numel(nn.in), 100, 0, 1);
	fill(nn_input(&nn, 1), nn_numel(nn.in), 100, 0, 1);
	for (int m = 0; m < 2; m++) {
		forward(&nn, m, NN_TRAIN);
		first[m] = to_host(nn_output(&nn, 1, m), count);
	}
	for (int m = 0; m < 2; m++) {
		forward(&nn, m, NN_RECOMPUTE);
		again[m] = to_host(nn_output(&nn, 1, m), count);
		if (memcmp(first[m], again[m], count * sizeof(float)) != 0)
			fail("dropout: the second forward of slot %d drops something else", m);
	}
	if (memcmp(first[0], first[1], count * sizeof(float)) == 0)
		fail("dropout: two slots drop the same");
	for (int m = 0; m < 2; m++) {
		free(first[m]);
		free(again[m]);
	}
	nn_destroy(&nn);
}

/* Mean and variance over samples and places of one map, in double precision. */
static void moments(const float *x, struct nn_shape s, int map, double *mean, double *variance)
{
	size_t places = (size_t)s.d * (size_t)s.h * (size_t)s.w, count = (size_t)s.n * places;
	double sum = 0, squares = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t n = 0; n < (size_t)s.n; n++)
			for (size_t k = 0; k < places; k++) {
				double value = (double)x[(n * (size_t)s.c + (size_t)map) * places + k];

				if (pass == 0)
					sum += value / (double)count;
				else
					squares += (value - sum) * (value - sum);
			}
	*mean = sum;
	*variance = squares / (double)(count - 1);
}

static void check_near(const char *what, double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-5 * (1 + fabs(expected))))
		fail("%s: %.7g found, %.7g expected", what, found, expected);
}

/* After a step the running averages are nine tenths of what they were, 0 and 1, and a tenth of the batch's
 * mean and variance (that of n - 1 degrees of freedom); evaluation uses them. */
static void check_running(void)
{
	static struct nn nn;
	float *x = NULL, *y = NULL, *running = NULL, *later = NULL;

	nn_init(&nn, 4, 4, 3, 1, 5, 6);
	nn_batchnorm(&nn, NN_LINEAR);
	nn_dense(&nn, 10, NN_LINEAR);
	nn_softmax(&nn);
	nn_create(&nn, 0, SEED, 0);
	fill(nn.layer[0].param, 3, 200, 1, 0.3);
	fill(nn.layer[0].param + nn.layer[0].bias_at, 3, 300, 0, 0.2);
	fill(nn.input, nn_numel(nn.in), 100, 0, 1);
	x = to_host(nn.input, nn_numel(nn.in));
	forward(&nn, 0, NN_TRAIN);
	running = to_host(nn.running, nn.running_count);
	forward(&nn, 0, NN_CHECK);
	forward(&nn, 0, NN_RECOMPUTE);
	forward(&nn, 0, NN_EVALUATE);
	later = to_host(nn.running, nn.running_count);
	y = to_host(nn.layer[0].y, nn_numel(nn.in));
	if (nn.running_count != 6 || memcmp(running, later, 6 * sizeof(float)) != 0)
		fail("running averages change outside training");
	for (int c = 0; c < 3; c++) {
		float *param = to_host(nn.layer[0].param, nn.layer[0].param_count);
		double mean = 0, variance = 0, factor = (double)param[c];
		size_t first = (size_t)c * 30;

		moments(x, nn.in, c, &mean, &variance);
		check_near("running mean", (double)running[c], 0.1 * mean);
		check_near("running variance", (double)running[3 + c], 0.9 + 0.1 * variance);
		check_near("evaluation", (double)y[first],
			(double)param[nn.layer[0].bias_at + (size_t)c] +
				factor * ((double)x[first] - 0.1 * mean) / sqrt(0.9 + 0.1 * variance + 1e-5));
		free(param);
	}
	free(x);
	free(y);
	free(running);
	free(later);
	nn_destroy(&nn);
}

int main(void)
{
	int devices = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		printf("skipped: no device\n");
		return 77;
	}
	check_dropout();
	check_running();
	return failures ? 1 : 0;
}
