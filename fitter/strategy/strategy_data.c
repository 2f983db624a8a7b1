/* Data parallelism, as published and replayed: see strategy.h. */
#include "strategy.h"

#include <math.h>

static double slowest(const struct strategy_cluster *cluster)
{
	double slow = 0;

	for (size_t i = 0; i < cluster->workers; i++)
		slow = fmax(slow, cluster->slow[i]);
	return slow;
}

#define SMALL 0.04 /* of the time of a layer's backward pass: a kernel that is no product */

/* Gradients of neighbouring layers that are exchanged together. */
struct bucket {
	size_t begin; /* layer; filled from the last one on */
	double bytes, layers;
};

/*
 * What the two queues of a worker do next: the backward pass's kernels, and the copies and sums of buckets.
 * A device computes one kernel at a time, and a copy into or out of a bucket is one: it waits for the kernel
 * that runs, and the next one for it. So while backward goes on most copies cost the exchange a kernel.
 */
struct replay {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	struct strategy_data_parts *parts;
	double batch, slow; /* samples of a worker; the slowest worker's factor */
	double device;      /* when the device is free */
	double backward;    /* when the kernel before is done */
	size_t layer;       /* whose kernels come next, counted down: those from it on are done */
	double kernels;     /* of layer-1, that are done */
	double exchange;    /* when what was before in the exchange's queue is done */
	struct bucket bucket;
	double copies; /* of the bucket, that are done: in, then out */
	bool is_summed;
	double plan_time; /* backward until bucket.begin if nothing disturbed it: what buckets were formed by
			   */
};

/* What is ready in the same cycle and fits goes together. */
static bool closes(const struct strategy_how *how, const struct bucket *bucket, double bytes, double opened,
	double ready)
{
	if (bucket->bytes <= 0)
		return false;
	if (how->aggregate != STRATEGY_FUSED || how->cycle <= 0)
		return true;
	return bucket->bytes + bytes > how->threshold ||
	       floor(ready / how->cycle) > floor(opened / how->cycle);
}

/* The bucket in front of the one that was; one without bytes: there is none. */
static void next_bucket(struct replay *r)
{
	struct bucket bucket = {.begin = r->bucket.begin};
	double opened = 0;

	for (size_t i = bucket.begin; i-- > 0;) {
		double bytes = r->net->layers[i].parameter_bytes;
		double time = r->slow * strategy_layer_time(r->net, i, STRATEGY_BACKWARD, r->batch);

		if (bytes > 0 && closes(r->how, &bucket, bytes, opened, r->plan_time + time))
			break;
		r->plan_time += time;
		bucket.begin = i;
		if (bytes <= 0)
			continue;
		if (bucket.bytes <= 0)
			opened = r->plan_time;
		bucket.bytes += bytes;
		bucket.layers++;
	}
	r->bucket = bucket;
	r->copies = 0;
	r->is_summed = false;
}

/* Its last gradient is that of its first layer that has any; layers without may come after it. */
static size_t last_of(const struct replay *r)
{
	size_t last = r->bucket.begin;

	while (r->net->layers[last].parameter_bytes <= 0)
		last++;
	return last;
}

static bool is_ready(const struct replay *r)
{
	return r->bucket.bytes > 0 && r->layer <= (r->how->aggregate == STRATEGY_AFTER ? 0 : last_of(r));
}

/*
 * Of a layer's time, that of the kernel after so many. With more than two, those in front are of an
 * activation and of biases, which go once over what the products read many times.
 */
static double share_of(double count, double before)
{
	if (count <= 2)
		return 1 / count;
	return before + 2 < count ? SMALL : (1 - (count - 2) * SMALL) / 2;
}

static void run_kernel(struct replay *r)
{
	double count = fmax(r->net->layers[r->layer - 1].backward_kernels, 1);
	double time = r->slow * share_of(count, r->kernels) *
		      strategy_layer_time(r->net, r->layer - 1, STRATEGY_BACKWARD, r->batch);

	r->backward = r->device = fmax(r->device, r->backward) + time;
	if (++r->kernels >= count) {
		r->layer--;
		r->kernels = 0;
		/* whoever waits for the gradient begins now, not earlier */
		if (is_ready(r) && r->copies <= 0 && !r->is_summed)
			r->exchange = fmax(r->exchange, r->backward);
	}
}

/* A byte of a bucket is read and written, into the buffer and again out of it. */
static void run_copy(struct replay *r)
{
	const struct strategy_cluster *cluster = r->cluster;
	double bytes = r->bucket.bytes / r->bucket.layers, time = cluster->copy_latency;

	if (cluster->memory_bandwidth > 0)
		time += 2 * bytes / cluster->memory_bandwidth;
	if (time > 0)
		r->exchange = r->device = fmax(r->device, r->exchange) + time;
	r->parts->exchange += time;
	r->copies++;
}

static void run_sum(struct replay *r)
{
	double time = strategy_all_reduce(r->cluster, 0, r->cluster->workers, r->bucket.bytes);

	r->exchange += time;
	r->parts->exchange += time;
	r->parts->buckets++;
	r->is_summed = true;
}

/*
 * Whether backward's next kernel comes before what the exchange does next: it was ready first. The copies
 * into the first bucket were queued before the kernels after it, and go first; all later ones wait for a
 * sum, and find kernels queued.
 */
static bool is_kernel_next(const struct replay *r, bool is_exchanging)
{
	bool is_first = r->parts->buckets == 0;

	return r->layer > 0 && (!is_exchanging || (r->backward <= r->exchange && !is_first));
}

/* One step of whichever queue is ready first. False: both are done. */
static bool advance(struct replay *r)
{
	double copies = r->bucket.layers > 1 ? r->bucket.layers : 0;
	bool is_exchanging = is_ready(r);

	if (is_exchanging && r->is_summed && r->copies >= 2 * copies) {
		next_bucket(r);
		/* kernels begin while backward is behind the exchange, so only the last one can end after it
		 */
		if (is_ready(r) && r->kernels <= 0 && r->layer == last_of(r))
			r->exchange = fmax(r->exchange, r->backward);
	} else if (is_exchanging && !r->is_summed && r->copies >= copies) {
		run_sum(r);
	} else if (is_kernel_next(r, is_exchanging)) {
		run_kernel(r);
	} else if (is_exchanging) {
		run_copy(r);
	} else {
		return false;
	}
	return true;
}

void strategy_data(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts)
{
	double batch = how->batch / (double)cluster->workers, slow = slowest(cluster);
	double forward = slow * strategy_time_of(net, 0, net->layer_count, STRATEGY_FORWARD, batch);
	double backward = slow * strategy_time_of(net, 0, net->layer_count, STRATEGY_BACKWARD, batch);
	struct replay r = {.net = net,
		.cluster = cluster,
		.how = how,
		.parts = parts,
		.batch = batch,
		.slow = slow,
		.layer = net->layer_count,
		.bucket = {.begin = net->layer_count}};

	*parts = (struct strategy_data_parts){.compute = forward + backward};
	if (cluster->workers > 1)
		next_bucket(&r);
	while (advance(&r))
		;
	parts->exposed = fmax(fmax(r.exchange, r.backward) - backward, 0);
	parts->update = slow * strategy_time_of(net, 0, net->layer_count, STRATEGY_UPDATE, batch);
	parts->total =
		parts->compute + parts->exposed + parts->update + how->other / (double)cluster->workers;
}

double strategy_published_data(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how)
{
	double workers = (double)cluster->workers, step = 0, sequential = how->other;
	double bytes = fmin(strategy_parameter_bytes(net, 0, net->layer_count), how->threshold);

	for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
		sequential +=
			strategy_time_of(net, 0, net->layer_count, (enum strategy_time)which, how->batch);
	for (size_t i = 0; i < cluster->workers && cluster->workers > 1; i++)
		step = fmax(step, strategy_message(cluster, i, (i + 1) % cluster->workers, bytes / workers));
	return sequential / workers + 2 * (workers - 1) * step;
}
