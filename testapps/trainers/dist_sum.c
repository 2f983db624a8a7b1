/* When and how gradients are summed: see dist_sum.h. */
#include "dist_sum.h"

#include <string.h>

#include "check.h"
#include "fusion.h"
#include "label.h"

enum {
	MEASURED_PASS = 2
}; /* the first pass has the libraries' own first steps in it; an iteration has one or more */

static int is_single(const struct dist_sum *s)
{
	return s->dist->sharers == 1;
}

/* The first layer to become ready of those that go together with `layer`. */
static int first_of(const struct dist_sum *s, int layer)
{
	return s->style == DIST_FUSED ? fusion_first(&s->nets[0], s->closes, layer) : layer;
}

static void make_buffers(struct dist_sum *s)
{
	size_t most = 0;

	for (int i = s->nets[0].first; i < s->nets[0].end; i++) {
		size_t count = s->closes[i] ? fusion_count(&s->nets[0], s->closes, i) : 0;

		if (first_of(s, i) != i && count > most)
			most = count;
	}
	for (int g = 0; g < s->dist->gpus; g++) {
		CHECK(cudaSetDevice(s->nets[g].device));
		CHECK(cudaFree(s->buffer[g]));
		s->buffer[g] = most ? nn_floats(most) : NULL;
	}
}

static void make_events(struct dist_sum *s)
{
	int count = s->nets[0].layer_count;

	s->ready = xcalloc((size_t)count, sizeof(*s->ready));
	CHECK(cudaSetDevice(s->nets[0].device));
	CHECK(cudaEventCreate(&s->begin));
	for (int i = s->nets[0].first; i < s->nets[0].end; i++)
		CHECK(cudaEventCreate(&s->ready[i]));
}

static void free_events(struct dist_sum *s)
{
	if (!s->ready)
		return;
	CHECK(cudaSetDevice(s->nets[0].device));
	CHECK(cudaEventDestroy(s->begin));
	for (int i = s->nets[0].first; i < s->nets[0].end; i++)
		CHECK(cudaEventDestroy(s->ready[i]));
	free(s->ready);
	s->ready = NULL;
}

void dist_sum_open(struct dist_sum *s, enum dist_style style, struct dist *dist, struct nn *nets,
	struct clock *clock, size_t threshold_bytes, double cycle_us)
{
	*s = (struct dist_sum){.style = style,
		.dist = dist,
		.nets = nets,
		.clock = clock,
		.threshold_bytes = threshold_bytes,
		.cycle_us = cycle_us};
	if (is_single(s) || style != DIST_FUSED)
		return;
	fusion_plan(&nets[0], threshold_bytes, cycle_us, NULL, s->closes);
	make_buffers(s);
	if (dist->place == 0 && cycle_us > 0)
		make_events(s);
}

void dist_sum_close(struct dist_sum *s)
{
	for (int g = 0; g < s->dist->gpus; g++)
		CHECK(cudaFree(s->buffer[g]));
	free_events(s);
}

/* Between a bucket's layers and the buffer, on the sums' stream. */
static void copy(struct dist_sum *s, int gpu, int first, int layer, int is_back)
{
	float *buffer = s->buffer[gpu];

	for (int i = first; i >= layer; i--) {
		const struct nn_layer *l = &s->nets[gpu].layer[i];

		if (!l->param_count)
			continue;
		CHECK(cudaMemcpyAsync(is_back ? l->grad : buffer, is_back ? buffer : l->grad,
			l->param_count * sizeof(float), cudaMemcpyDeviceToDevice, s->dist->stream[gpu]));
		buffer += l->param_count;
	}
}

/* Of the layers from `layer` to `first`, when all that the networks' streams have been given so far is done.
 */
static void sum(struct dist_sum *s, int layer, int first, size_t count, const char *name)
{
	float *values[DIST_MAX_GPUS];

	label_set("communication", name);
	clock_name(s->clock, first, name);
	for (int g = 0; g < s->dist->gpus; g++) {
		values[g] = first == layer ? s->nets[g].layer[layer].grad : s->buffer[g];
		dist_wait_for_gradients(s->dist, g, s->nets[g].stream);
		clock_begin(s->clock, CLOCK_COMMUNICATION, g, first, s->dist->stream[g]);
		if (first != layer)
			copy(s, g, first, layer, 0);
	}
	dist_sum_gradients(s->dist, values, count);
	for (int g = 0; g < s->dist->gpus; g++) {
		CHECK(cudaSetDevice(s->nets[g].device));
		if (first != layer)
			copy(s, g, first, layer, 1);
		clock_end(s->clock, CLOCK_COMMUNICATION, g, first, s->dist->stream[g]);
	}
}

static void sum_layer(struct dist_sum *s, int layer)
{
	const struct nn_layer *l = &s->nets[0].layer[layer];

	if (l->param_count)
		sum(s, layer, layer, l->param_count, l->name);
}

static int is_measuring(const struct dist_sum *s)
{
	return s->ready && s->passes == MEASURED_PASS;
}

void dist_sum_begin(struct dist_sum *s)
{
	s->passes++;
	if (is_measuring(s)) {
		CHECK(cudaSetDevice(s->nets[0].device));
		CHECK(cudaEventRecord(s->begin, s->nets[0].stream));
	}
}

void dist_sum_layer(struct dist_sum *s, int layer)
{
	if (is_single(s))
		return;
	if (is_measuring(s)) {
		CHECK(cudaSetDevice(s->nets[0].device));
		CHECK(cudaEventRecord(s->ready[layer], s->nets[0].stream));
	}
	if (s->style == DIST_OVERLAP)
		sum_layer(s, layer);
	if (s->style == DIST_FUSED && s->closes[layer])
		sum(s, layer, first_of(s, layer), fusion_count(&s->nets[0], s->closes, layer),
			fusion_name(&s->nets[0], s->closes, layer));
}

void dist_sum_end(struct dist_sum *s)
{
	for (int i = s->nets[0].end - 1; i >= s->nets[0].first; i--)
		if (!is_single(s) && s->style == DIST_AFTER)
			sum_layer(s, i);
}

static void measured_plan(struct dist_sum *s)
{
	double ready_us[NN_MAX_LAYERS] = {0};

	CHECK(cudaSetDevice(s->nets[0].device));
	for (int i = s->nets[0].first; i < s->nets[0].end; i++) {
		float time_ms = 0;

		CHECK(cudaEventElapsedTime(&time_ms, s->begin, s->ready[i]));
		ready_us[i] = 1e3 * (double)time_ms;
	}
	fusion_plan(&s->nets[0], s->threshold_bytes, s->cycle_us, ready_us, s->closes);
}

void dist_sum_settle(struct dist_sum *s)
{
	s->iterations++;
	if (s->style != DIST_FUSED || s->cycle_us <= 0 || s->iterations != MEASURED_PASS)
		return;
	if (s->ready)
		measured_plan(s);
	label_set("other", NULL);
	dist_from_first(s->dist, s->closes, sizeof(s->closes));
	free_events(s);
	if (!is_single(s))
		make_buffers(s);
}
