/* Tensor parallelism: see strategy.h. */
#include "strategy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* How the workers have a layer's output, as states of the search. */
enum { WHOLE, DIVIDED, STATES };

/* What is done with a layer. */
struct step {
	double compute, exchange;
	size_t exchanges;
	int before; /* how its input is there; -1: it cannot be done */
};

struct search {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	double slow; /* the slowest worker's factor */
};

static bool is_product(const struct strategy_layer *layer)
{
	return layer->parameter_bytes > 0 && layer->is_product;
}

/* Its input is the output of the layer in front of it, and not a branch's. */
static bool follows(const struct strategy_net *net, size_t i)
{
	const struct strategy_layer *layer = &net->layers[i];

	return i > 0 && !layer->is_sum && layer->input_bytes > 0 &&
	       fabs(layer->input_bytes - net->layers[i - 1].output_bytes) < 0.5;
}

/* Forward and backward of a layer, whole or as an n-th: as long as with an n-th of the samples. */
static double compute_time(const struct search *s, size_t i, bool divided)
{
	const double batch = s->how->batch / (divided ? (double)s->cluster->workers : 1);

	return s->slow * (strategy_layer_time(s->net, i, STRATEGY_FORWARD, batch) +
				 strategy_layer_time(s->net, i, STRATEGY_BACKWARD, batch));
}

static double all_reduce(const struct search *s, double bytes)
{
	return bytes > 0 ? strategy_all_reduce(s->cluster, 0, s->cluster->workers, bytes) : 0;
}

/* The layer so that its output is `after` from an input that is `before`; before -1: impossible. */
static struct step step_of(const struct search *s, size_t i, int before, int after)
{
	const struct strategy_layer *layer = &s->net->layers[i];
	const double out = s->how->batch * layer->output_bytes, in = s->how->batch * layer->input_bytes;
	struct step step = {.before = before};

	if (before == DIVIDED && !follows(s->net, i))
		return (struct step){.before = -1};
	if (!is_product(layer)) {
		if (before != after)
			return (struct step){.before = -1};
		step.compute = compute_time(s, i, after == DIVIDED);
		return step;
	}
	step.compute = compute_time(s, i, true);
	if (before == WHOLE) { /* by columns: the input's gradient is a sum over workers */
		step.exchange = i > 0 ? all_reduce(s, in) : 0;
		step.exchanges = i > 0;
		if (after == WHOLE) {
			step.exchange += strategy_ring_half(s->cluster, out);
			step.exchanges++;
		}
	} else if (after == WHOLE) { /* by rows: the output is a sum over workers */
		step.exchange = all_reduce(s, out);
		step.exchanges = 1;
	} else {
		step.before = -1;
	}
	return step;
}

/* The least time to have each layer's output in each state, and the steps that lead there. */
static void find(const struct search *s, struct step (*steps)[STATES])
{
	double before[STATES] = {0, INFINITY};

	for (size_t i = 0; i < s->net->layer_count; i++) {
		double now[STATES];

		for (int after = 0; after < STATES; after++) {
			now[after] = INFINITY;
			for (int from = 0; from < STATES; from++) {
				const struct step step = step_of(s, i, from, after);

				if (step.before < 0 ||
					!(before[from] + step.compute + step.exchange < now[after]))
					continue;
				now[after] = before[from] + step.compute + step.exchange;
				steps[i][after] = step;
			}
		}
		before[WHOLE] = now[WHOLE];
		before[DIVIDED] = now[DIVIDED];
	}
}

/* From the last layer, whose output all workers have, to the first. */
static void add_up(const struct search *s, struct step (*steps)[STATES], struct strategy_data_parts *parts,
	struct strategy_memory *memory)
{
	const double n = (double)s->cluster->workers, copies = 2 + s->how->optimizer_copies;
	double kept = 0, whole = 0;
	int after = WHOLE;

	memory->state = 0;
	for (size_t i = s->net->layer_count; i-- > 0;) {
		const struct strategy_layer *layer = &s->net->layers[i];
		const struct step *step = &steps[i][after];
		const bool divided = is_product(layer) || after == DIVIDED;

		parts->compute += step->compute;
		parts->exchange += step->exchange;
		parts->buckets += step->exchanges;
		parts->update += s->slow * strategy_layer_time(s->net, i, STRATEGY_UPDATE, s->how->batch) /
				 (divided ? n : 1);
		memory->state += copies * layer->parameter_bytes / (divided ? n : 1);
		kept += layer->kept_bytes / (after == DIVIDED ? n : 1);
		whole += layer->kept_bytes;
		after = step->before;
	}
	kept += s->net->layers[0].input_bytes;
	whole += s->net->layers[0].input_bytes;
	if (whole > 0)
		memory->kept *= kept / whole;
}

int strategy_tensor(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts, struct strategy_memory *memory)
{
	struct search s = {.net = net, .cluster = cluster, .how = how};
	struct step(*steps)[STATES] = calloc(net->layer_count, sizeof(*steps));

	*parts = (struct strategy_data_parts){0};
	*memory = strategy_memory_line(net, how, how->batch, 1);
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < cluster->workers; i++)
		s.slow = fmax(s.slow, cluster->slow[i]);
	find(&s, steps);
	add_up(&s, steps, parts, memory);
	memory->rest /= (double)cluster->workers;
	memory->total = memory->state + memory->kept + memory->gradients + memory->bucket + memory->rest;
	parts->exposed = parts->exchange;
	parts->total = parts->compute + parts->exchange + parts->update + how->other;
	free(steps);
	return 0;
}
