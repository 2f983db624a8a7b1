/*
 * Pipelines, as published and replayed: see strategy.h.
 *
 * The replay: each worker does its work in the order that its strategy has; a piece of work begins when the
 * worker is free and what it needs has come. Workers are asked in turn whether their next piece can be placed
 * in time, until none can: since each has a fixed order, the times do not depend on who is asked first.
 */
#include "strategy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Batches that are counted; before and behind them are so many that the pipeline is full throughout. */
enum { COUNTED = 4 };

double strategy_published_gpipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan, double *compute, double *message)
{
	double m = (double)plan->micro_batches, workers = (double)plan->stage_count, micro = how->batch / m;
	size_t cuts = plan->stage_count - 1;
	double sequential = m * (strategy_time_of(net, 0, net->layer_count, STRATEGY_FORWARD, micro) +
					strategy_time_of(net, 0, net->layer_count, STRATEGY_BACKWARD, micro));
	double computing = sequential * (workers + m - 1) / (workers * m), sum = 0, most = 0,
	       times[STRATEGY_MAX_STAGES];

	for (size_t j = 0; j < cuts; j++) {
		times[j] = strategy_message(cluster, plan->first[j + 1] - 1, plan->first[j + 1],
			micro * net->layers[plan->cut[j + 1]].input_bytes);
		most = fmax(most, times[j]);
		/* the pipeline fills: j ends at W-2 */
		if (j + 1 < cuts)
			sum += most;
	}
	if (cuts)
		sum += (m - (workers - 2)) * most;
	most = 0;
	/* and empties, from the other end, down to the second cut */
	for (size_t j = cuts; j-- > 1;) {
		most = fmax(most, times[j]);
		sum += most;
	}
	if (compute)
		*compute = computing;
	if (message)
		*message = 2 * sum;
	return computing + 2 * sum;
}

enum work { FORWARD, BACKWARD, SYNC, DONE };

/* One worker's place in its order of work. All counts are of its own micro-batches ("turns"). */
struct worker {
	size_t stage, replica;
	size_t turns, depth; /* of a batch; under way at most */
	size_t forwards, backwards, syncs;
	double free_at;
	double sends[2]; /* when its messages forward and backward have gone */
};

struct stage {
	size_t first, replicas;
	double forward, backward, update, exchange;
	double messages[2]; /* to the next stage and, of the gradient, to the one before */
};

struct replay {
	const struct strategy_plan *plan;
	struct stage *stages;
	struct worker *workers;
	double *ready[2]; /* activations at, gradients at: stage x micro-batch; NAN: not yet */
	double *synced;   /* stage x sync x replica: when each was there; NAN: not yet */
	size_t worker_count, batches, total; /* batches that are replayed, their micro-batches */
};

static size_t sync_every(const struct replay *r, const struct worker *w)
{
	return r->plan->kind == STRATEGY_PIPEDREAM ? 1 : w->turns;
}

static enum work next_of(const struct replay *r, const struct worker *w)
{
	size_t all = w->turns * r->batches, limit = all;

	if (w->backwards >= (w->syncs + 1) * sync_every(r, w))
		return SYNC;
	if (r->plan->kind != STRATEGY_PIPEDREAM)
		limit = (w->backwards / w->turns + 1) * w->turns;
	if (w->forwards < limit && w->forwards - w->backwards < w->depth)
		return FORWARD;
	return w->backwards < all ? BACKWARD : DONE;
}

static double *slot(const struct replay *r, int direction, size_t stage, size_t micro_batch)
{
	return &r->ready[direction][stage * r->total + micro_batch];
}

/* The worker's result goes to the neighbour's slot, behind its earlier messages. */
static void send(struct replay *r, struct worker *w, int direction, size_t to, size_t micro_batch)
{
	w->sends[direction] = fmax(w->sends[direction], w->free_at) + r->stages[w->stage].messages[direction];
	*slot(r, direction, to, micro_batch) = w->sends[direction];
}

static bool forward(struct replay *r, struct worker *w)
{
	size_t micro_batch = w->forwards * r->stages[w->stage].replicas + w->replica;
	double ready = *slot(r, 0, w->stage, micro_batch);

	if (isnan(ready))
		return false;
	w->free_at = fmax(w->free_at, ready) + r->stages[w->stage].forward;
	w->forwards++;
	if (w->stage + 1 < r->plan->stage_count)
		send(r, w, 0, w->stage + 1, micro_batch);
	else
		*slot(r, 1, w->stage, micro_batch) = w->free_at;
	return true;
}

/* A batch's are taken from the last one on where there is an update for all of them. */
static bool backward(struct replay *r, struct worker *w)
{
	size_t turn = w->backwards, done = w->backwards % w->turns, micro_batch;
	double ready;

	if (r->plan->kind != STRATEGY_PIPEDREAM)
		turn = w->backwards - done + w->turns - 1 - done;
	micro_batch = turn * r->stages[w->stage].replicas + w->replica;
	ready = *slot(r, 1, w->stage, micro_batch);
	if (isnan(ready))
		return false;
	w->free_at = fmax(w->free_at, ready) + r->stages[w->stage].backward;
	w->backwards++;
	if (w->stage > 0)
		send(r, w, 1, w->stage - 1, micro_batch);
	return true;
}

/* The replicas meet, sum their gradients and update. */
static bool synchronise(struct replay *r, struct worker *w)
{
	const struct stage *stage = &r->stages[w->stage];
	double *here = r->synced + (w->stage * r->total + w->syncs) * r->worker_count, last = 0;

	here[w->replica] = w->free_at;
	for (size_t i = 0; i < stage->replicas; i++) {
		if (isnan(here[i]))
			return false;
		last = fmax(last, here[i]);
	}
	w->free_at = last + stage->exchange + stage->update;
	w->syncs++;
	return true;
}

static bool advance(struct replay *r, struct worker *w)
{
	enum work next = next_of(r, w);

	if (next == FORWARD)
		return forward(r, w);
	if (next == BACKWARD)
		return backward(r, w);
	return next == SYNC && synchronise(r, w);
}

static void set_stages(struct replay *r, const struct strategy_net *net,
	const struct strategy_cluster *cluster, const struct strategy_how *how)
{
	const struct strategy_plan *plan = r->plan;
	double micro = how->batch / (double)plan->micro_batches;

	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t begin = plan->cut[s], end = plan->cut[s + 1], first = plan->first[s];
		struct stage *stage = &r->stages[s];
		double slow = 0;

		stage->first = first;
		stage->replicas = plan->first[s + 1] - first;
		for (size_t i = first; i < plan->first[s + 1]; i++)
			slow = fmax(slow, cluster->slow[i]);
		stage->forward = slow * strategy_time_of(net, begin, end, STRATEGY_FORWARD, micro);
		stage->backward = slow * strategy_time_of(net, begin, end, STRATEGY_BACKWARD, micro);
		if (how->recompute && plan->kind == STRATEGY_GPIPE)
			stage->backward += stage->forward;
		stage->update = slow * strategy_time_of(net, begin, end, STRATEGY_UPDATE, micro);
		for (size_t i = begin; i < end; i++)
			stage->exchange += strategy_all_reduce(
				cluster, first, stage->replicas, net->layers[i].parameter_bytes);
		if (s + 1 < plan->stage_count)
			stage->messages[0] = strategy_message(cluster, plan->first[s + 1] - 1,
				plan->first[s + 1], micro * net->layers[end].input_bytes);
		if (s)
			stage->messages[1] = strategy_message(
				cluster, first - 1, first, micro * net->layers[begin].input_bytes);
	}
}

size_t strategy_depth(const struct strategy_plan *plan, size_t stage)
{
	size_t replicas = plan->first[stage + 1] - plan->first[stage];
	size_t later = plan->first[plan->stage_count] - plan->first[stage];

	return plan->kind == STRATEGY_PIPEDREAM ? (later + replicas - 1) / replicas
						: plan->micro_batches / replicas;
}

static size_t batches_to_fill(const struct strategy_plan *plan)
{
	size_t most = 0;

	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t turns = plan->micro_batches / (plan->first[s + 1] - plan->first[s]);
		size_t batches = (strategy_depth(plan, s) + turns - 1) / turns;

		most = batches > most ? batches : most;
	}
	return most + 2;
}

static void set_workers(struct replay *r)
{
	const struct strategy_plan *plan = r->plan;

	for (size_t s = 0; s < plan->stage_count; s++)
		for (size_t i = plan->first[s]; i < plan->first[s + 1]; i++) {
			struct worker *w = &r->workers[i];
			size_t replicas = r->stages[s].replicas;

			w->stage = s;
			w->replica = i - plan->first[s];
			w->turns = plan->micro_batches / replicas;
			w->depth = strategy_depth(plan, s);
		}
	for (size_t i = 0; i < plan->stage_count * r->total; i++)
		r->ready[0][i] = i < r->total ? 0 : NAN;
	for (size_t i = 0; i < plan->stage_count * r->total; i++)
		r->ready[1][i] = NAN;
	for (size_t i = 0; i < plan->stage_count * r->total * r->worker_count; i++)
		r->synced[i] = NAN;
}

/* When all workers have done so many batches and their updates. */
static double play_until(struct replay *r, size_t batches)
{
	double end = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (size_t i = 0; i < r->worker_count; i++) {
			struct worker *w = &r->workers[i];

			while (w->syncs * sync_every(r, w) < batches * w->turns && advance(r, w))
				moved = true;
		}
	}
	for (size_t i = 0; i < r->worker_count; i++)
		end = fmax(end, r->workers[i].free_at);
	return end;
}

double strategy_pipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan, double *warm_up)
{
	struct replay r = {.plan = plan, .worker_count = plan->first[plan->stage_count], .batches = 1};
	size_t fill = batches_to_fill(plan), slots;
	double first, begin, time = -1;

	r.batches = fill + COUNTED + fill;
	r.total = plan->micro_batches * r.batches;
	slots = plan->stage_count * r.total;
	r.stages = calloc(plan->stage_count, sizeof(*r.stages));
	r.workers = calloc(r.worker_count, sizeof(*r.workers));
	r.ready[0] = malloc(slots * sizeof(double));
	r.ready[1] = malloc(slots * sizeof(double));
	r.synced = malloc(slots * r.worker_count * sizeof(double));
	if (!r.stages || !r.workers || !r.ready[0] || !r.ready[1] || !r.synced)
		goto out;
	set_stages(&r, net, cluster, how);
	set_workers(&r);
	first = play_until(&r, 1);
	begin = play_until(&r, fill);
	time = (play_until(&r, fill + COUNTED) - begin) / COUNTED + how->other;
	if (warm_up)
		*warm_up = first;
out:
	free(r.stages);
	free(r.workers);
	free(r.ready[0]);
	free(r.ready[1]);
	free(r.synced);
	return time;
}
