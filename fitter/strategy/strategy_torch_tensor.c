/* PyTorch's tensor parallelism of transformers: see strategy_torch.h. */
#include "strategy_torch.h"

#include <math.h>

struct sums {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	struct strategy_data_parts *parts;
	double batch, measured; /* samples on each worker; of the run */
	double slow;
	bool gathers;
};

static double all_reduce(const struct sums *s, double bytes)
{
	return strategy_all_reduce(s->cluster, 0, s->cluster->workers, bytes);
}

/* Read and written, and what a copy or another call takes without. */
static double move(const struct sums *s, double begin, double bytes)
{
	const double rate = s->cluster->memory_bandwidth;

	return s->slow * (begin + (rate > 0 ? 2 * bytes / rate : 0));
}

static void exchange(struct sums *s, double time)
{
	s->parts->exchange += time;
	s->parts->buckets++;
}

/* Copied to where it is summed. */
static void sum(struct sums *s, double bytes)
{
	exchange(s, move(s, s->cluster->copy_latency, bytes) + all_reduce(s, bytes));
}

/* `count` calls that take `time` with the measured work and have `factor` times that. */
static double scaled(const struct sums *s, double count, double time, double factor)
{
	const double least = fmin(count * s->net->shortest_call, time);

	return s->slow * (least + (time - least) * factor);
}

static double pass_time(const struct sums *s, enum strategy_time pass)
{
	const double time = strategy_time_of(s->net, 0, s->net->layer_count, pass, s->measured);
	const double whole = s->batch / s->measured, part = whole / (double)s->cluster->workers;
	double sum = 0;

	for (int k = 0; k < STRATEGY_SHARES; k++) {
		const struct strategy_calls *calls = &s->net->calls[pass][k];
		const bool divided =
			k == STRATEGY_CALLS_DIVIDED || (k == STRATEGY_CALLS_GATHERED && s->gathers);

		sum += scaled(s, calls->count, calls->share * time, divided ? part : whole);
	}
	return sum;
}

/* Biases are a layer's second tensor; those of products by rows are whole. */
static double divided_bytes(const struct strategy_layer *layer, bool gathers)
{
	switch (layer->divide) {
	case STRATEGY_COLUMNS:
		return layer->parameter_bytes;
	case STRATEGY_ROWS:
		return layer->tensor_bytes[0];
	case STRATEGY_GATHERED:
		return gathers ? layer->parameter_bytes : 0;
	default:
		return 0;
	}
}

static double update_time(const struct sums *s)
{
	const struct strategy_net *net = s->net;
	const double time = strategy_time_of(net, 0, net->layer_count, STRATEGY_UPDATE, s->measured);
	const double all = strategy_parameter_bytes(net, 0, net->layer_count);
	double divided = 0, least = fmin(net->update_calls * net->shortest_call, time);

	for (size_t i = 0; i < net->layer_count; i++)
		divided += divided_bytes(&net->layers[i], s->gathers);
	divided = all > 0 ? divided / all : 0;
	return s->slow * ((divided < 1 ? 2 : 1) * least +
				 (time - least) * (1 - divided + divided / (double)s->cluster->workers));
}

static void exchange_layer(struct sums *s, size_t i)
{
	const struct strategy_layer *layer = &s->net->layers[i];
	const double in = s->batch * layer->input_bytes, out = s->batch * layer->output_bytes;

	if (layer->divide == STRATEGY_ROWS) {
		sum(s, out);
		if (layer->tensor_bytes[1] > 0)
			s->parts->compute += s->slow * s->net->shortest_call;
	}
	if (layer->divide == STRATEGY_COLUMNS || (layer->divide == STRATEGY_GATHERED && s->gathers))
		sum(s, in);
	if (layer->divide != STRATEGY_GATHERED || !s->gathers)
		return;
	exchange(s, strategy_ring_half(s->cluster, out) + move(s, s->net->shortest_call, out));
	s->parts->exchange += move(s, s->net->shortest_call, out / (double)s->cluster->workers);
}

void strategy_torch_tensor(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_torch way, struct strategy_data_parts *parts)
{
	struct sums s = {.net = net,
		.cluster = cluster,
		.parts = parts,
		.batch = how->batch,
		.measured = net->measured > 0 ? net->measured : net->batches[net->batch_count - 1],
		.gathers = way == TORCH_TENSOR_GATHERED};

	*parts = (struct strategy_data_parts){0};
	for (size_t i = 0; i < cluster->workers; i++)
		s.slow = fmax(s.slow, cluster->slow[i]);
	for (size_t i = 0; i < net->layer_count; i++)
		exchange_layer(&s, i);
	parts->compute += pass_time(&s, STRATEGY_FORWARD) + pass_time(&s, STRATEGY_BACKWARD);
	parts->update = update_time(&s);
	parts->exposed = parts->exchange;
	parts->total = parts->compute + parts->exchange + parts->update + how->other;
}

struct strategy_memory strategy_memory_torch_tensor(const struct strategy_net *net,
	const struct strategy_how *how, size_t workers, enum strategy_torch way)
{
	const double n = (double)workers;
	struct strategy_memory memory = strategy_memory_line(net, how, how->batch, 1);
	double divided = 0;

	for (size_t i = 0; i < net->layer_count; i++)
		divided += divided_bytes(&net->layers[i], way == TORCH_TENSOR_GATHERED);
	divided *= (2 + how->optimizer_copies) * (1 - 1 / n);
	memory.state -= divided;
	memory.total -= divided;
	strategy_memory_replay(net, how, how->batch, workers, way, &memory);
	return memory;
}
