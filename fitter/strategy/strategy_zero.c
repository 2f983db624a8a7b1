/* Data parallelism whose state is divided among the workers: see strategy.h. */
#include "strategy_torch.h"

#include <math.h>

/* Layers between two places where the network may be cut: what is gathered and scattered together. */
struct unit {
	size_t begin, end;
};

/* The unit that ends in front of layer `end`, and the one that begins with layer `begin`. */
static struct unit unit_before(const struct strategy_net *net, size_t end)
{
	struct unit unit = {end - 1, end};

	while (unit.begin > 0 && !net->layers[unit.begin].may_cut)
		unit.begin--;
	return unit;
}

static struct unit unit_from(const struct strategy_net *net, size_t begin)
{
	struct unit unit = {begin, begin + 1};

	while (unit.end < net->layer_count && !net->layers[unit.end].may_cut)
		unit.end++;
	return unit;
}

static double bytes_of(const struct strategy_net *net, struct unit unit)
{
	return strategy_parameter_bytes(net, unit.begin, unit.end);
}

struct replay {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	double batch, slow;
	double compute, links; /* when each is free */
};

static double time_of(const struct replay *r, struct unit unit, enum strategy_time which)
{
	return r->slow * strategy_time_of(r->net, unit.begin, unit.end, which, r->batch);
}

/* On the links from `ready` on; returns when it is done. */
static double exchange(struct replay *r, struct strategy_data_parts *parts, struct unit unit, double ready)
{
	double time = strategy_ring_half(r->cluster, bytes_of(r->net, unit));

	if (time <= 0)
		return ready;
	r->links = fmax(r->links, ready) + time;
	parts->exchange += time;
	parts->buckets++;
	return r->links;
}

/* Each unit's parameters are gathered while the unit before is computed. */
static void forward_gathered(struct replay *r, struct strategy_data_parts *parts)
{
	double before = 0; /* when the unit before the one that is computed was done: its place is free */

	for (size_t at = 0; at < r->net->layer_count;) {
		struct unit unit = unit_from(r->net, at);
		double there = exchange(r, parts, unit, before);

		before = r->compute;
		r->compute = fmax(r->compute, there) + time_of(r, unit, STRATEGY_FORWARD);
		at = unit.end;
	}
}

/* The last unit's parameters are still there. The next unit's come while one is computed, its gradients go
 * after them. */
static void backward_gathered(struct replay *r, struct strategy_data_parts *parts)
{
	double there = r->compute;

	for (size_t at = r->net->layer_count; at > 0;) {
		struct unit unit = unit_before(r->net, at);
		double begin = fmax(r->compute, there);

		r->compute = begin + time_of(r, unit, STRATEGY_BACKWARD);
		at = unit.begin;
		there = at > 0 ? exchange(r, parts, unit_before(r->net, at), begin) : r->compute;
		exchange(r, parts, unit, r->compute);
	}
}

static void backward_scattered(struct replay *r, struct strategy_data_parts *parts)
{
	for (size_t at = r->net->layer_count; at > 0;) {
		struct unit unit = unit_before(r->net, at);

		r->compute += time_of(r, unit, STRATEGY_BACKWARD);
		exchange(r, parts, unit, r->compute);
		at = unit.begin;
	}
}

void strategy_zero(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, int stage, struct strategy_data_parts *parts)
{
	double workers = (double)cluster->workers, end;
	struct unit all = {0, net->layer_count};
	struct replay r = {.net = net, .cluster = cluster, .batch = how->batch / workers};

	for (size_t i = 0; i < cluster->workers; i++)
		r.slow = fmax(r.slow, cluster->slow[i]);
	*parts = (struct strategy_data_parts){
		.compute = time_of(&r, all, STRATEGY_FORWARD) + time_of(&r, all, STRATEGY_BACKWARD)};
	parts->update = time_of(&r, all, STRATEGY_UPDATE) / workers;
	if (stage == 3) {
		forward_gathered(&r, parts);
		backward_gathered(&r, parts);
	} else {
		r.compute = time_of(&r, all, STRATEGY_FORWARD);
		backward_scattered(&r, parts);
	}
	end = fmax(r.compute, r.links) + parts->update;
	for (size_t at = 0; at < net->layer_count && stage < 3; at = unit_from(net, at).end)
		end = exchange(&r, parts, unit_from(net, at), end);
	parts->exposed = end - parts->compute - parts->update;
	parts->total = end + how->other / workers;
}

struct strategy_memory strategy_memory_zero(const struct strategy_net *net, const struct strategy_how *how,
	double batch, size_t workers, int stage)
{
	struct strategy_memory memory = strategy_memory_line(net, how, batch, 1);
	double bytes = strategy_parameter_bytes(net, 0, net->layer_count), share = bytes / (double)workers;
	double widest = 0, pair = 0, before = 0;

	for (size_t at = 0; at < net->layer_count; at = unit_from(net, at).end) {
		double here = bytes_of(net, unit_from(net, at));

		widest = fmax(widest, here);
		pair = fmax(pair, before + here);
		before = here;
	}
	memory.total -= memory.state;
	memory.state =
		(stage == 3 ? share : bytes) + (stage >= 2 ? share : bytes) + how->optimizer_copies * share;
	memory.bucket = (stage >= 2 ? widest : 0) + (stage == 3 ? pair : 0);
	memory.total += memory.state + memory.bucket;
	strategy_memory_replay(net, how, batch, workers, (enum strategy_torch)(TORCH_DDP + stage), &memory);
	return memory;
}
