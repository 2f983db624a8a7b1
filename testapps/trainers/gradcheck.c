/*
 * The check of gradients: see gradcheck.h.
 *
 * Along the gradient g the loss changes fastest, by |g| per unit of way. So one step forth and one back along
 * g / |g|, long enough to change the loss by a ten-thousandth, tell |g| better in single precision than steps
 * of single weights.
 */
#include "gradcheck.h"

#include <math.h>

#include "check.h"
#include "loss.h"

static const double tolerance = 0.03, change = 1e-4;

/* This GPU's part of the batch's mean loss. */
static double loss_now(struct nn *nn, float *output, const float *labels)
{
	struct nn_layer *last = nn_last(nn);

	for (int i = 0; i < nn->layer_count; i++)
		nn_forward(nn, i, 0);
	CHECK(cudaMemcpyAsync(
		output, last->y, nn_numel(last->out) * sizeof(float), cudaMemcpyDeviceToHost, nn->stream));
	CHECK(cudaStreamSynchronize(nn->stream));
	return loss_of(last, output, labels, nn->in.n).sum / nn->batch;
}

static double check_layer(
	struct nn *nn, struct nn_layer *layer, float *output, const float *labels, double loss)
{
	size_t count = layer->param_count, size = count * sizeof(float);
	float *grad = xcalloc(count, sizeof(float)), *param = xcalloc(count, sizeof(float));
	float *moved = xcalloc(count, sizeof(float));
	double squares = 0, norm = 0, quotient = 0, error = 0;

	CHECK(cudaMemcpy(grad, layer->grad, size, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(param, layer->param, size, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < count; i++)
		squares += (double)grad[i] * (double)grad[i];
	norm = sqrt(squares);
	for (int sign = -1; sign <= 1 && norm > 0; sign += 2) {
		double step = change * loss / norm;

		for (size_t i = 0; i < count; i++)
			moved[i] = (float)((double)param[i] + sign * step * (double)grad[i] / norm);
		CHECK(cudaMemcpy(layer->param, moved, size, cudaMemcpyHostToDevice));
		quotient += sign * loss_now(nn, output, labels) / (2 * step);
	}
	CHECK(cudaMemcpy(layer->param, param, size, cudaMemcpyHostToDevice));
	error = norm > 0 ? fabs(quotient - norm) / norm : 0;
	printf("%-10s gradient %.6g difference quotient %.6g error %.1e\n", layer->name, norm, quotient,
		error);
	free(grad);
	free(param);
	free(moved);
	return error;
}

int gradcheck(struct nn *nn, const float *labels)
{
	float *output = xcalloc(nn_numel(nn_last(nn)->out), sizeof(float));
	double loss = 0, worst = 0;

	CHECK(cudaSetDevice(nn->device));
	nn->training = NN_CHECK;
	loss = loss_now(nn, output, labels);
	for (int i = nn->layer_count - 1; i >= 0; i--)
		nn_backward(nn, i, 0);
	CHECK(cudaStreamSynchronize(nn->stream));
	for (int i = 0; i < nn->layer_count; i++)
		if (nn->layer[i].param_count)
			worst = fmax(worst, check_layer(nn, &nn->layer[i], output, labels, loss));
	nn->training = NN_TRAIN;
	free(output);
	return worst <= tolerance ? 0 : -1;
}
