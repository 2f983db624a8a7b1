/* PyTorch's DDP, ZeroRedundancyOptimizer and FSDP2 replayed: see strategy_torch.h. */
#include "strategy_torch.h"

#include <math.h>
#include <stdlib.h>

#define MIB (1024.0 * 1024)
#define FIRST_BUCKET (1 * MIB)
#define BUCKET (25 * MIB)
#define BUFFERS 3 /* of a batch norm */
#define NUMBER_BYTES 4

struct replay {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	struct strategy_data_parts *parts;
	double batch, slow;
	double compute, links; /* when each is free */
};

/* Read and written on a worker. */
static double copy_time(const struct replay *r, double bytes)
{
	const double rate = r->cluster->memory_bandwidth;

	return r->slow * (r->cluster->copy_latency + (rate > 0 ? 2 * bytes / rate : 0));
}

/* Where the worker computes. */
static void run_copy(struct replay *r, double bytes)
{
	const double time = bytes > 0 ? copy_time(r, bytes) : 0;

	r->compute += time;
	r->parts->exchange += time;
}

static double layer_time(const struct replay *r, size_t layer, enum strategy_time which)
{
	return r->slow * strategy_layer_time(r->net, layer, which, r->batch);
}

static double sum_of(const struct replay *r, enum strategy_time which)
{
	return r->slow * strategy_time_of(r->net, 0, r->net->layer_count, which, r->batch);
}

/* On the links from `ready` on; returns when it is done. */
static double exchange(struct replay *r, double time, double ready)
{
	r->links = fmax(r->links, ready) + time;
	r->parts->exchange += time;
	r->parts->buckets++;
	return r->links;
}

/* From one worker to all others, cut fine and handed on. */
static double broadcast_time(const struct strategy_cluster *cluster, double bytes)
{
	double latency = 0, longest = 0;

	for (size_t i = 0; i + 1 < cluster->workers; i++) {
		struct strategy_link link = strategy_ring_link(cluster, 0, cluster->workers, i, i + 1);

		latency += link.latency;
		longest = fmax(longest, bytes / link.bandwidth);
	}
	return latency + longest;
}

/* ---- DDP ---- */

/* A copy of each tensor of the layer, into a bucket or out of it. */
static void run_copies(struct replay *r, size_t layer)
{

	for (int k = 0; k < STRATEGY_TENSORS; k++)
		run_copy(r, r->net->layers[layer].tensor_bytes[k]);
}

/* The first worker's running means, variances and counts: two broadcasts, of numbers and of counts, and what
 * came is copied to each. */
static void send_buffers(struct replay *r)
{
	double bytes = 0, count = 0;

	for (size_t i = 0; i < r->net->layer_count; i++)
		if (r->net->layers[i].has_buffers) {
			bytes += r->net->layers[i].parameter_bytes;
			count++;
		}
	if (count <= 0)
		return;
	exchange(r, broadcast_time(r->cluster, bytes), r->compute);
	exchange(r, broadcast_time(r->cluster, 2 * NUMBER_BYTES * count), r->links);
	r->compute = r->links;
	for (double i = 0; i < BUFFERS * count; i++)
		run_copy(r, bytes / (BUFFERS * count));
}

/* Backward with the copies into buckets, each summed when it is full; then all gradients are copied back,
 * those of a bucket when its sum is there. `summed` has room for each layer. */
static void run_ddp(struct replay *r, double *summed)
{
	double bytes = 0, most = FIRST_BUCKET;
	size_t end = r->net->layer_count;

	for (size_t i = end; i-- > 0;) {
		r->compute += layer_time(r, i, STRATEGY_BACKWARD);
		run_copies(r, i);
		bytes += r->net->layers[i].parameter_bytes;
		if (bytes <= 0 || (bytes < most && i > 0))
			continue;
		exchange(r, strategy_all_reduce(r->cluster, 0, r->cluster->workers, bytes), r->compute);
		while (end > i)
			summed[--end] = r->links;
		bytes = 0;
		most = BUCKET;
	}
	for (size_t i = r->net->layer_count; i-- > 0;) {
		r->compute = fmax(r->compute, summed[i]);
		run_copies(r, i);
	}
}

/* ---- ZeroRedundancyOptimizer ---- */

size_t *strategy_torch_assign(const struct strategy_net *net, size_t workers)
{
	const size_t count = STRATEGY_TENSORS * net->layer_count;
	double *left = calloc(count + workers, sizeof(*left)), *has;
	size_t *worker = calloc(count + 1, sizeof(*worker));

	if (!left || !worker) {
		free(left);
		free(worker);
		return NULL;
	}
	has = left + count;
	for (size_t i = 0; i < count; i++)
		left[i] = net->layers[i / STRATEGY_TENSORS].tensor_bytes[i % STRATEGY_TENSORS];
	for (size_t n = 0; n < count; n++) {
		size_t largest = 0, least = 0;

		for (size_t i = 1; i < count; i++)
			largest = left[i] > left[largest] ? i : largest;
		for (size_t i = 1; i < workers; i++)
			least = has[i] < has[least] ? i : least;
		if (left[largest] < 0)
			break;
		worker[largest] = least;
		has[least] += left[largest];
		left[largest] = -1;
	}
	free(left);
	return worker;
}

/* The greatest part of the parameters that a worker updates; 1 without memory. */
static double largest_part(const struct replay *r)
{
	const size_t workers = r->cluster->workers;
	double *has = calloc(workers, sizeof(*has)), most = 0, all = 0;
	size_t *worker = strategy_torch_assign(r->net, workers);

	for (size_t i = 0; has && worker && i < STRATEGY_TENSORS * r->net->layer_count; i++) {
		double bytes = r->net->layers[i / STRATEGY_TENSORS].tensor_bytes[i % STRATEGY_TENSORS];

		has[worker[i]] += bytes;
		all += bytes;
		most = fmax(most, has[worker[i]]);
	}
	free(has);
	free(worker);
	return all > 0 ? most / all : 1;
}

/* ---- FSDP2 ---- */

static double unit_bytes(const struct replay *r, size_t unit)
{
	double sum = 0;

	for (size_t i = 0; i < r->net->layer_count; i++)
		sum += r->net->layers[i].unit == unit ? r->net->layers[i].parameter_bytes : 0;
	return sum;
}

/* Each worker's part is copied to where it is gathered, after `ready`. Returns when all of it is there. */
static double gather(struct replay *r, size_t unit, double ready)
{
	const double bytes = unit_bytes(r, unit);

	if (bytes <= 0)
		return ready;
	ready += copy_time(r, bytes / (double)r->cluster->workers);
	return exchange(r, strategy_ring_half(r->cluster, bytes), ready);
}

/* It waits for its parameters and copies them out. */
static void enter(struct replay *r, size_t unit, double there)
{
	const double bytes = unit_bytes(r, unit);

	if (bytes > 0)
		r->compute = fmax(r->compute, there);
	run_copy(r, bytes);
}

/* The host runs ahead, so that a unit is gathered as soon as the one before is there and the one before that
 * is copied out. */
static void forward_units(struct replay *r)
{
	double copied[2] = {0, 0}; /* of the unit before, and the one before it */
	size_t last = STRATEGY_ROOT;

	enter(r, STRATEGY_ROOT, gather(r, STRATEGY_ROOT, 0));
	copied[0] = r->compute;
	for (size_t i = 0; i < r->net->layer_count; i++) {
		const size_t unit = r->net->layers[i].unit;

		if (unit != STRATEGY_ROOT && unit != last) {
			enter(r, unit, gather(r, unit, copied[1]));
			copied[1] = copied[0];
			copied[0] = r->compute;
			last = unit;
		}
		r->compute += layer_time(r, i, STRATEGY_FORWARD);
	}
}

/* Copied together, when the scatter before has left its place. */
static double scatter(struct replay *r, size_t unit, double before)
{
	const double bytes = unit_bytes(r, unit);

	if (bytes <= 0)
		return before;
	r->compute = fmax(r->compute, before);
	run_copy(r, bytes);
	return exchange(r, strategy_ring_half(r->cluster, bytes), r->compute);
}

/* The unit in front of this layer's, or the root. */
static size_t unit_before(const struct replay *r, size_t layer)
{
	const size_t unit = r->net->layers[layer].unit;

	while (layer-- > 0)
		if (r->net->layers[layer].unit != unit && r->net->layers[layer].unit != STRATEGY_ROOT)
			return r->net->layers[layer].unit;
	return STRATEGY_ROOT;
}

/* While a unit is computed the one before is gathered, if that is done again. */
static void backward_units(struct replay *r, bool again)
{
	double there = -1, scattered = 0;
	size_t coming = STRATEGY_ROOT, last = STRATEGY_ROOT;

	for (size_t i = r->net->layer_count; i-- > 0;) {
		const size_t unit = r->net->layers[i].unit;

		if (again && unit != STRATEGY_ROOT && unit != last) {
			enter(r, unit, coming == unit ? there : gather(r, unit, r->compute));
			coming = unit_before(r, i);
			if (coming != STRATEGY_ROOT)
				there = gather(r, coming, r->compute);
			last = unit;
		}
		r->compute += layer_time(r, i, STRATEGY_BACKWARD);
		if (unit != STRATEGY_ROOT && (i == 0 || r->net->layers[i - 1].unit != unit))
			scattered = scatter(r, unit, scattered);
	}
	scatter(r, STRATEGY_ROOT, scattered);
}

/* ---- all of them ---- */

void strategy_torch_time(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_torch way, struct strategy_data_parts *parts)
{
	const double workers = (double)cluster->workers,
		     all = strategy_parameter_bytes(net, 0, net->layer_count);
	struct replay r = {.net = net, .cluster = cluster, .parts = parts, .batch = how->batch / workers};
	double part = way == TORCH_DDP ? 1 : 1 / workers, end;
	double *summed = calloc(net->layer_count, sizeof(*summed));

	for (size_t i = 0; i < cluster->workers; i++)
		r.slow = fmax(r.slow, cluster->slow[i]);
	*parts = (struct strategy_data_parts){
		.compute = sum_of(&r, STRATEGY_FORWARD) + sum_of(&r, STRATEGY_BACKWARD)};
	if (way == TORCH_ZERO_1)
		part = largest_part(&r);
	parts->update = part * sum_of(&r, STRATEGY_UPDATE);
	if (way >= TORCH_ZERO_2) {
		forward_units(&r);
		backward_units(&r, way == TORCH_ZERO_3);
	} else if (summed) {
		send_buffers(&r);
		r.compute += sum_of(&r, STRATEGY_FORWARD);
		run_ddp(&r, summed);
	}
	free(summed);
	end = fmax(r.compute, r.links) + parts->update;
	for (size_t i = 0; way == TORCH_ZERO_1 && i < cluster->workers; i++)
		end = exchange(&r, broadcast_time(cluster, part * all), end);
	parts->exposed = end - parts->compute - parts->update;
	parts->total = end + how->other / workers;
}
