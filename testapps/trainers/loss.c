/* Cross-entropy from log-probabilities, and the mean squared difference: see loss.h. */
#include "loss.h"

struct loss loss_of(const struct nn_layer *layer, const float *output, const float *labels, int count)
{
	struct loss loss = {0, 0};
	size_t width = nn_sample(layer->out);

	for (int i = 0; i < count; i++) {
		const float *y = output + (size_t)i * width, *label = labels + (size_t)i * width;
		size_t likeliest = 0;
		double squares = 0;

		for (size_t k = 0; k < width; k++) {
			if (layer->kind == NN_MSE)
				squares += (double)y[k] * (double)y[k];
			else if (label[k] > 0)
				loss.sum -= (double)y[k];
			if (y[k] > y[likeliest])
				likeliest = k;
		}
		loss.sum += squares / (double)width;
		loss.correct += layer->kind == NN_SOFTMAX && label[likeliest] > 0;
	}
	return loss;
}
