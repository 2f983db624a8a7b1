/*
 * Which layers share memory for the gradients of their outputs. Such a gradient exists from the backward pass
 * of the last layer that reads the output until that of the layer itself, so a few buffers, handed on from
 * layer to layer, are enough where one for each layer would double a network's memory. The stage's ends have
 * their own: they are filled and read while other micro-batches are under way.
 */
#include <string.h>

#include "check.h"
#include "nn_gradients.h"

struct buffer {
	size_t count; /* floats: of the largest gradient that is ever in it */
	int is_used;
};

/* Of the free buffers the smallest that is large enough, else the largest, which grows; else a new one. */
static int take(struct buffer *buffers, int *buffer_count, size_t count)
{
	int best = -1;

	for (int b = 0; b < *buffer_count; b++) {
		if (buffers[b].is_used)
			continue;
		if (best < 0 || (buffers[b].count >= count ? buffers[best].count < count ||
								     buffers[b].count < buffers[best].count
							   : buffers[b].count > buffers[best].count))
			best = b;
	}
	if (best < 0)
		best = (*buffer_count)++;
	buffers[best].is_used = 1;
	if (buffers[best].count < count)
		buffers[best].count = count;
	return best;
}

void nn_gradients_create(struct nn *nn)
{
	struct buffer *buffers = xcalloc((size_t)nn->layer_count, sizeof(*buffers));
	int *place = xcalloc((size_t)nn->layer_count, sizeof(*place));
	int count = 0;

	memset(place, -1, (size_t)nn->layer_count * sizeof(*place));
	for (int i = nn->end - 1; i >= nn->first; i--) {
		const int read[] = {nn->layer[i].input, nn->layer[i].other, nn->layer[i].third};

		for (int k = 0; k < 3; k++)
			if (read[k] >= nn->first && place[read[k]] < 0)
				place[read[k]] = take(buffers, &count, nn_numel(nn->layer[read[k]].out));
		if (place[i] >= 0)
			buffers[place[i]].is_used = 0;
	}
	nn->dy_count = count;
	nn->dy_memory = xcalloc((size_t)count, sizeof(*nn->dy_memory));
	for (int b = 0; b < count; b++)
		nn->dy_memory[b] = nn_floats(buffers[b].count);
	for (int i = nn->first; i < nn->end - 1; i++)
		nn->layer[i].dy = nn->dy_memory[place[i]];
	nn->output_dy = nn_floats(nn_numel(nn->layer[nn->end - 1].out));
	nn->layer[nn->end - 1].dy = nn->output_dy;
	if (nn->first > 0)
		nn->input_dy = nn_floats(nn_numel(nn_input_shape(nn)));
	free(buffers);
	free(place);
}

void nn_gradients_destroy(struct nn *nn)
{
	for (int b = 0; b < nn->dy_count; b++)
		CHECK(cudaFree(nn->dy_memory[b]));
	CHECK(cudaFree(nn->output_dy));
	CHECK(cudaFree(nn->input_dy));
	free(nn->dy_memory);
}
