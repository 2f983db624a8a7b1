/*
 * Memory that a strategy needs at the least: see strategy.h. A lower bound, since the layers' file has their
 * inputs and parameters and neither workspaces nor what frameworks keep in stock: what exceeds a worker's
 * memory does not fit, what does not exceed it may.
 */
#include "strategy.h"

#include <math.h>

/*
 * Of a sample, for the backward pass of layers begin ... end-1: the inputs of layers with parameters, from
 * which their gradients follow. Between two places where the network may be cut branches may read one and the
 * same tensor, so that inputs of one size count once there.
 */
static double kept_bytes(const struct strategy_net *net, size_t begin, size_t end)
{
	double sum = 0;
	size_t segment = begin;

	for (size_t i = begin; i < end; i++) {
		const struct strategy_layer *layer = &net->layers[i];
		bool again = false;

		if (layer->may_cut)
			segment = i;
		for (size_t j = segment; j < i && !again; j++)
			again = net->layers[j].parameter_bytes > 0 &&
				net->layers[j].input_bytes == layer->input_bytes;
		if (layer->parameter_bytes > 0 && !again)
			sum += layer->input_bytes;
	}
	return sum;
}

/* The least that any one layer needs while it is computed: its input, which its gradient has beside it. */
static double widest_bytes(const struct strategy_net *net, size_t begin, size_t end)
{
	double widest = 0;

	for (size_t i = begin; i < end; i++)
		widest = fmax(widest, net->layers[i].input_bytes);
	return widest;
}

double strategy_memory_whole(const struct strategy_net *net, const struct strategy_how *how, double batch)
{
	double parameters = strategy_parameter_bytes(net, 0, net->layer_count);

	return (2 + how->optimizer_copies) * parameters +
	       batch * fmax(kept_bytes(net, 0, net->layer_count), widest_bytes(net, 0, net->layer_count));
}

/* How many micro-batches a stage has begun and not ended. */
static double in_flight(const struct strategy_plan *plan, size_t stage)
{
	if (plan->kind == STRATEGY_PIPEDREAM)
		return fmin((double)(plan->stage_count - stage), (double)plan->micro_batches);
	return (double)plan->micro_batches;
}

double strategy_memory_stage(const struct strategy_net *net, const struct strategy_how *how,
	const struct strategy_plan *plan, size_t stage)
{
	size_t begin = plan->cut[stage], end = plan->cut[stage + 1];
	double parameters = strategy_parameter_bytes(net, begin, end), flying = in_flight(plan, stage);
	double replicas = (double)(plan->first[stage + 1] - plan->first[stage]);
	double micro = how->batch / (double)plan->micro_batches;
	double versions = plan->kind == STRATEGY_PIPEDREAM ? flying : 1;
	double kept = fmax(kept_bytes(net, begin, end), widest_bytes(net, begin, end));
	double activations = how->recompute && plan->kind == STRATEGY_GPIPE
				     ? flying * net->layers[begin].input_bytes + kept
				     : flying * kept;

	/* replicas take turns with whole micro-batches: each has its share of those in flight, and one at the
	 * least */
	return (versions + 1 + how->optimizer_copies) * parameters +
	       micro * activations / fmin(replicas, flying);
}

double strategy_memory_plan(
	const struct strategy_net *net, const struct strategy_how *how, const struct strategy_plan *plan)
{
	double most = 0;

	for (size_t stage = 0; stage < plan->stage_count; stage++)
		most = fmax(most, strategy_memory_stage(net, how, plan, stage));
	return most;
}
