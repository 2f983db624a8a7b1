/*
 * Networks as lists of layers: names, shapes and who reads whom. Needs no GPU. Memory is in nn_memory.c, what
 * a layer does in layers*.c; see nn.h.
 */
#include "nn.h"

#include <limits.h>
#include <string.h>

#include "check.h"

enum { PARAM_ALIGNMENT = 64 }; /* floats: cuDNN's fast kernels want aligned pointers */

/* Of queries and keys, in maps of the input per map. */
enum { ATTENTION_NARROWER = 8 };

void nn_init(struct nn *nn, int batch, int share, int c, int d, int h, int w)
{
	memset(nn, 0, sizeof(*nn));
	nn->batch = batch;
	nn->in = (struct nn_shape){share, c, d, h, w};
	nn->dims = d > 1 ? 3 : 2;
	nn->classes = 10;
	nn->next_input = NN_NONE;
	nn->input_slots = nn->slots = nn->versions = 1;
	nn->training = NN_TRAIN;
}

void nn_from(struct nn *nn, int layer)
{
	if (layer < NN_INPUT || layer >= nn->layer_count)
		errx(1, "a layer that reads layer %d of %d", layer, nn->layer_count);
	nn->next_input = layer;
}

static struct nn_shape shape_of(const struct nn *nn, int layer)
{
	return layer == NN_INPUT ? nn->in : nn->layer[layer].out;
}

static struct nn_layer *add(struct nn *nn, enum nn_kind kind, const char *base)
{
	struct nn_layer *layer = &nn->layer[nn->layer_count];
	int same_kind = 1;

	if (nn->layer_count == NN_MAX_LAYERS)
		errx(1, "a network of more than %d layers", NN_MAX_LAYERS);
	for (int i = 0; i < nn->layer_count; i++)
		same_kind += nn->layer[i].kind == kind;
	snprintf(layer->name, sizeof(layer->name), "%s%d", base, same_kind);
	layer->kind = kind;
	layer->input = nn->next_input == NN_NONE ? nn->layer_count - 1 : nn->next_input;
	layer->other = layer->third = NN_NONE;
	nn->next_input = NN_NONE;
	layer->in = shape_of(nn, layer->input);
	layer->out = layer->in;
	layer->dims = nn->dims;
	layer->groups = 1;
	layer->activation = NN_LINEAR;
	nn->layer_count++;
	nn->end = nn->layer_count;
	return layer;
}

static int index_of(const struct nn *nn, const struct nn_layer *layer)
{
	return (int)(layer - nn->layer);
}

static void set_params(struct nn *nn, struct nn_layer *layer, size_t weights, size_t biases)
{
	const struct nn_layer *before = NULL;
	size_t end = 0;

	for (int i = index_of(nn, layer) - 1; i >= 0 && !before; i--)
		if (nn->layer[i].param_count)
			before = &nn->layer[i];
	if (before)
		end = before->param_at + before->param_count;
	layer->weight_count = weights;
	layer->bias_count = biases;
	layer->bias_at = (weights + PARAM_ALIGNMENT - 1) / PARAM_ALIGNMENT * PARAM_ALIGNMENT;
	layer->param_count = layer->bias_at + biases;
	layer->param_at = (end + PARAM_ALIGNMENT - 1) / PARAM_ALIGNMENT * PARAM_ALIGNMENT;
}

/* The first layer that leaves nothing of its input has the sentence; layers after it stay harmless. */
static int slide(struct nn *nn, struct nn_layer *layer, int size, const char *what)
{
	int places = size + 2 * layer->pad - layer->kernel;

	if (places >= 0)
		return places / layer->stride + 1;
	if (nn->error[0])
		return 1;
	if (layer->dims == 3)
		snprintf(nn->error, sizeof(nn->error),
			"%s: a %dx%dx%d %s does not fit into a map of %dx%dx%d", layer->name, layer->kernel,
			layer->kernel, layer->kernel, what, layer->in.d, layer->in.h, layer->in.w);
	else
		snprintf(nn->error, sizeof(nn->error), "%s: a %dx%d %s does not fit into a map of %dx%d",
			layer->name, layer->kernel, layer->kernel, what, layer->in.h, layer->in.w);
	return 1;
}

static void slide_all(struct nn *nn, struct nn_layer *layer, const char *what)
{
	if (layer->dims == 3)
		layer->out.d = slide(nn, layer, layer->in.d, what);
	layer->out.h = slide(nn, layer, layer->in.h, what);
	layer->out.w = slide(nn, layer, layer->in.w, what);
}

int nn_conv_with(struct nn *nn, const struct nn_conv_options *o)
{
	struct nn_layer *layer = add(nn, NN_CONV, "conv");
	size_t side = (size_t)o->kernel, taps = side * side * (nn->dims == 3 ? side : 1);

	layer->kernel = o->kernel;
	layer->stride = o->stride;
	layer->pad = o->pad;
	layer->groups = o->groups ? o->groups : 1;
	layer->activation = o->activation;
	layer->out.c = o->filters;
	slide_all(nn, layer, "kernel");
	if (!nn->error[0] && (layer->in.c % layer->groups || o->filters % layer->groups))
		snprintf(nn->error, sizeof(nn->error), "%s: %d groups do not divide %d maps and %d filters",
			layer->name, layer->groups, layer->in.c, o->filters);
	set_params(nn, layer, (size_t)o->filters * (size_t)(layer->in.c / layer->groups) * taps,
		o->no_bias ? 0 : (size_t)o->filters);
	return index_of(nn, layer);
}

int nn_conv(struct nn *nn, int filters, int kernel, int stride, int same, enum nn_activation activation)
{
	return nn_conv_with(nn, &(struct nn_conv_options){.filters = filters,
					.kernel = kernel,
					.stride = stride,
					.pad = same ? kernel / 2 : 0,
					.activation = activation});
}

int nn_pool_with(struct nn *nn, enum nn_pooling pooling, int window, int stride, int pad)
{
	struct nn_layer *layer = add(nn, NN_POOL, "pool");

	layer->pooling = pooling;
	layer->kernel = window;
	layer->stride = stride;
	layer->pad = pad;
	if (window)
		slide_all(nn, layer, "pooling window");
	else
		layer->out.d = layer->out.h = layer->out.w = 1;
	return index_of(nn, layer);
}

int nn_pool(struct nn *nn, int window)
{
	return nn_pool_with(nn, NN_POOL_MAX, window, window, 0);
}

int nn_dense(struct nn *nn, int outputs, enum nn_activation activation)
{
	struct nn_layer *layer = add(nn, NN_DENSE, "fc");

	layer->activation = activation;
	layer->out = (struct nn_shape){layer->in.n, outputs, 1, 1, 1};
	set_params(nn, layer, (size_t)outputs * nn_sample(layer->in), (size_t)outputs);
	return index_of(nn, layer);
}

int nn_dropout(struct nn *nn, double probability)
{
	struct nn_layer *layer = add(nn, NN_DROPOUT, "dropout");

	layer->dropout = probability;
	return index_of(nn, layer);
}

int nn_batchnorm(struct nn *nn, enum nn_activation activation)
{
	struct nn_layer *layer = add(nn, NN_BATCHNORM, "bn");

	layer->activation = activation;
	set_params(nn, layer, (size_t)layer->in.c, (size_t)layer->in.c);
	nn->running_count += 2 * (size_t)layer->in.c;
	return index_of(nn, layer);
}

/* The sentence when `layer` does not give what a layer wants to read. */
static void want(struct nn *nn, const struct nn_layer *reader, int layer, struct nn_shape wanted)
{
	struct nn_shape s = shape_of(nn, layer);

	if (!nn->error[0] && (s.c != wanted.c || s.d != wanted.d || s.h != wanted.h || s.w != wanted.w))
		snprintf(nn->error, sizeof(nn->error),
			"%s: %d maps of %dx%dx%d from %s, %d of %dx%dx%d expected", reader->name, s.c, s.d,
			s.h, s.w, layer == NN_INPUT ? "the input" : nn->layer[layer].name, wanted.c, wanted.d,
			wanted.h, wanted.w);
}

int nn_add(struct nn *nn, int other, enum nn_activation activation)
{
	struct nn_layer *layer = add(nn, NN_ADD, "add");

	layer->other = other;
	layer->activation = activation;
	want(nn, layer, other, layer->in);
	return index_of(nn, layer);
}

int nn_activate(struct nn *nn, enum nn_activation activation)
{
	struct nn_layer *layer = add(nn, NN_ACTIVATION, "act");

	layer->activation = activation;
	return index_of(nn, layer);
}

int nn_attention(struct nn *nn, int queries, int keys, int values)
{
	struct nn_layer *layer = NULL;
	struct nn_shape places;

	nn_from(nn, queries);
	layer = add(nn, NN_ATTENTION, "attention");
	layer->other = keys;
	layer->third = values;
	want(nn, layer, keys, layer->in);
	places = layer->in;
	places.c = shape_of(nn, values).c;
	want(nn, layer, values, places);
	layer->out = places;
	return index_of(nn, layer);
}

int nn_scale(struct nn *nn)
{
	struct nn_layer *layer = add(nn, NN_SCALE, "scale");

	set_params(nn, layer, 1, 0);
	return index_of(nn, layer);
}

int nn_self_attention(struct nn *nn)
{
	int x = nn->next_input == NN_NONE ? nn->layer_count - 1 : nn->next_input;
	int maps = shape_of(nn, x).c, narrow = maps < ATTENTION_NARROWER ? 1 : maps / ATTENTION_NARROWER;
	int queries = 0, keys = 0, values = 0;
	const struct nn_conv_options to_narrow = {
		.filters = narrow, .kernel = 1, .stride = 1, .no_bias = 1, .activation = NN_LINEAR};
	const struct nn_conv_options to_maps = {
		.filters = maps, .kernel = 1, .stride = 1, .no_bias = 1, .activation = NN_LINEAR};

	nn_from(nn, x);
	queries = nn_conv_with(nn, &to_narrow);
	nn_from(nn, x);
	keys = nn_conv_with(nn, &to_narrow);
	nn_from(nn, x);
	values = nn_conv_with(nn, &to_maps);
	nn_attention(nn, queries, keys, values);
	nn_scale(nn);
	return nn_add(nn, x, NN_LINEAR);
}

static int loss(struct nn *nn, enum nn_kind kind)
{
	struct nn_layer *layer = add(nn, kind, "loss");

	strcpy(layer->name, "loss");
	return index_of(nn, layer);
}

int nn_softmax(struct nn *nn)
{
	return loss(nn, NN_SOFTMAX);
}

int nn_mse(struct nn *nn)
{
	return loss(nn, NN_MSE);
}

/* cuDNN's tensors, and cuBLAS's vectors, have up to 2^31 - 1 numbers. */
static int check_count(struct nn *nn, const char *layer, const char *what, size_t count)
{
	if (count <= INT_MAX)
		return 0;
	snprintf(nn->error, sizeof(nn->error), "%s: %zu %s, the maximum is %d", layer, count, what, INT_MAX);
	return -1;
}

int nn_check(struct nn *nn)
{
	if (nn->error[0] || check_count(nn, "input", "numbers at a time", nn_numel(nn->in)))
		return -1;
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *l = &nn->layer[i];
		size_t places = nn_sample(l->in) / (size_t)l->in.c;

		if (check_count(nn, l->name, "numbers at a time", nn_numel(l->out)) ||
			check_count(nn, l->name, "weights", l->param_count) ||
			(l->kind == NN_ATTENTION && check_count(nn, l->name, "pairs of places",
							    (size_t)l->in.n * places * places)))
			return -1;
	}
	return 0;
}

int nn_cut_ok(const struct nn *nn, int cut)
{
	if (cut < 1 || cut >= nn->layer_count)
		return 0;
	for (int i = cut; i < nn->layer_count; i++) {
		const struct nn_layer *l = &nn->layer[i];
		const int read[] = {l->input, l->other, l->third};

		for (int k = 0; k < 3; k++)
			if (read[k] != NN_NONE && read[k] < cut - 1)
				return 0;
	}
	return 1;
}

double nn_flops(const struct nn *nn, int layer)
{
	const struct nn_layer *l = &nn->layer[layer];
	const double in = (double)nn_numel(l->in), out = (double)nn_numel(l->out);
	const double places = (double)nn_sample(l->out) / l->out.c;

	switch (l->kind) {
	case NN_CONV:
		return 2 * out * (double)(l->weight_count / (size_t)l->out.c);
	case NN_DENSE:
		return 2 * l->out.n * (double)l->weight_count;
	case NN_ATTENTION:
		return 2 * l->out.n * places * places * (l->in.c + l->out.c);
	case NN_POOL:
		return in > out ? in : out;
	default:
		return out;
	}
}

void nn_set_stage(struct nn *nn, int first, int end)
{
	if (first < 0 || first >= end || end > nn->layer_count || (first > 0 && !nn_cut_ok(nn, first)) ||
		(end < nn->layer_count && !nn_cut_ok(nn, end)))
		errx(1, "layers %d to %d are no stage of the network", first, end - 1);
	nn->first = first;
	nn->end = end;
}

void nn_set_slots(struct nn *nn, int inputs, int activations)
{
	nn->input_slots = inputs;
	nn->slots = activations;
}

void nn_set_versions(struct nn *nn, int versions)
{
	nn->versions = versions;
}

size_t nn_parameters(const struct nn *nn)
{
	size_t count = 0;

	for (int i = 0; i < nn->layer_count; i++)
		count += nn->layer[i].weight_count + nn->layer[i].bias_count;
	return count;
}
