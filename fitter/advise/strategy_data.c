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

/* A bucket under way: gradients of neighbouring layers. */
struct bucket {
	double bytes, layers, opened; /* opened: when its first gradient was ready */
};

struct replay {
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	struct strategy_data_parts *parts;
	double free_at; /* when the links have done what was begun */
};

/* The bucket goes when its last gradient is there and the links are free. */
static void send(struct replay *r, struct bucket *bucket, double ready)
{
	double time = strategy_all_reduce(r->cluster, 0, r->cluster->workers, bucket->bytes);

	if (bucket->bytes <= 0 || r->cluster->workers < 2)
		return;
	/* into the buffer and out of it: each byte is read and written twice */
	if (bucket->layers > 1 && r->cluster->memory_bandwidth > 0)
		time += 4 * bucket->bytes / r->cluster->memory_bandwidth;
	if (bucket->layers > 1)
		time += 2 * bucket->layers * r->cluster->copy_latency;
	r->free_at = fmax(r->free_at, ready) + time;
	r->parts->exchange += time;
	r->parts->buckets++;
	*bucket = (struct bucket){0};
}

/* What is ready in the same cycle and fits goes together. */
static bool closes(const struct strategy_how *how, const struct bucket *bucket, double bytes, double ready)
{
	if (bucket->bytes <= 0)
		return false;
	if (how->aggregate != STRATEGY_FUSED || how->cycle <= 0)
		return true;
	return bucket->bytes + bytes > how->threshold ||
	       floor(ready / how->cycle) > floor(bucket->opened / how->cycle);
}

void strategy_data(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts)
{
	double batch = how->batch / (double)cluster->workers, slow = slowest(cluster), now = 0, last = 0;
	double forward = slow * strategy_time_of(net, 0, net->layer_count, STRATEGY_FORWARD, batch);
	double backward = slow * strategy_time_of(net, 0, net->layer_count, STRATEGY_BACKWARD, batch);
	struct replay r = {cluster, how, parts, 0};
	struct bucket bucket = {0};

	*parts = (struct strategy_data_parts){.compute = forward + backward};
	/* in the order of the backward pass, whose beginning is 0 */
	for (size_t i = net->layer_count; i-- > 0;) {
		double bytes = net->layers[i].parameter_bytes;

		now += slow * strategy_layer_time(net, i, STRATEGY_BACKWARD, batch);
		if (bytes <= 0)
			continue;
		if (closes(how, &bucket, bytes, now))
			send(&r, &bucket, how->aggregate == STRATEGY_AFTER ? backward : last);
		if (bucket.bytes <= 0)
			bucket.opened = now;
		bucket.bytes += bytes;
		bucket.layers++;
		last = now;
	}
	send(&r, &bucket, how->aggregate == STRATEGY_AFTER ? backward : last);
	parts->exposed = fmax(r.free_at - backward, 0);
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
