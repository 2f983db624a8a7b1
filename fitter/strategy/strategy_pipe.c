/*
 * Pipelines, as published and replayed: see strategy.h.
 *
 * The replay: each worker does its work in the order of its schedule; a step begins when the worker is free
 * and what it needs has come. A message is a rendezvous: it begins when it was made, its place is free at the
 * receiver, and both have done with the message before. Workers are asked in turn whether their next step or
 * message can be placed in time, until none can: since each has a fixed order, the times do not depend on who
 * is asked first.
 */
#include "strategy_schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Batches that are counted; before and after them are so many that the pipeline is full throughout. */
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

/* What goes to the next stage, and to the one before. */
enum direction { ACTIVATIONS, GRADIENTS, DIRECTIONS };

/* When, of a micro-batch on a stage; NAN: not yet. */
struct moments {
	double made[DIRECTIONS]; /* what goes on from here is there */
	double came[DIRECTIONS]; /* what this stage needs is there */
	double used;             /* the gradient that came may be overwritten */
	double done;             /* backward is: so may the input */
};

/* The last micro-batch of a kind that a worker had. */
struct last {
	bool any;
	size_t micro_batch;
};

struct worker {
	struct strategy_schedule schedule;
	size_t stage, at, updates; /* at: its next step */
	size_t in[DIRECTIONS],
		out[DIRECTIONS]; /* the steps whose messages come and go next, or before them */
	double in_free[DIRECTIONS], out_free[DIRECTIONS];
	struct last forward, backward, received; /* received: the last gradient */
	double free_at, updated;                 /* updated: when the last update was done */
	bool is_meeting;
};

struct stage {
	double forward, backward, input; /* input: of the first, which reads; else 0 */
	double update, exchange;         /* of all stages of its workers, at the first of them */
	double readers, last_layer;      /* of the backward pass: from the last layer that reads the stage's
					  * input on; of the last layer */
	bool is_layer, is_last_reader;   /* one alone; the last layer is one of the readers */
	size_t inputs;                   /* micro-batches whose input it has room for */
	double input_bytes;              /* of a micro-batch */
};

/* The replicas of a stage before an update. */
struct meeting {
	size_t here;
	double last;
};

struct replay {
	const struct strategy_plan *plan;
	const struct strategy_cluster *cluster;
	struct stage *stages;
	struct worker *workers;
	struct moments *moments;     /* stage x micro-batch */
	struct meeting *meetings;    /* stage x update */
	size_t worker_count, total;  /* micro-batches of all batches */
	bool recomputes, has_places; /* places: as many as strategy.h says; else one for every message */
};

static struct moments *moments_of(const struct replay *r, size_t stage, size_t micro_batch)
{
	return &r->moments[stage * r->total + micro_batch];
}

static bool is_last(const struct replay *r, size_t stage)
{
	return stage + 1 == r->plan->stage_count;
}

static size_t replicas_of(const struct strategy_plan *plan, size_t stage)
{
	size_t place = stage % strategy_places(plan);

	return plan->first[place + 1] - plan->first[place];
}

/* The next step from *at on that sends (or else receives) in this direction; NULL: none. */
static const struct strategy_step *next_message(
	const struct replay *r, const struct worker *w, enum direction direction, bool sends, size_t *at)
{
	enum strategy_work work = direction == ACTIVATIONS ? STRATEGY_STEP_FORWARD : STRATEGY_STEP_BACKWARD;

	for (; *at < w->schedule.count; (*at)++) {
		const struct strategy_step *step = &w->schedule.steps[*at];

		if (step->work == work &&
			((direction == ACTIVATIONS) == sends ? !is_last(r, step->stage) : step->stage > 0))
			return step;
	}
	return NULL;
}

/* Where a batch is done before the next begins, when the receiver begins to ask for inputs of it: after its
 * update. NAN: not known yet. */
static double asked(const struct replay *r, const struct worker *to, const struct strategy_step *step)
{
	size_t batch = step->micro_batch / r->plan->micro_batches;

	if (strategy_follows(r->plan) || batch == 0)
		return 0;
	return to->updates < batch ? NAN : to->updated;
}

/* When the receiver has a place for it; NAN: not known yet. One for gradients, several for inputs. */
static double place_free(const struct replay *r, const struct worker *to, enum direction direction,
	const struct strategy_step *step)
{
	size_t before = r->stages[step->stage].inputs * replicas_of(r->plan, step->stage);

	if (direction == ACTIVATIONS && !strategy_follows(r->plan))
		return asked(r, to, step);
	if (!r->has_places)
		return 0;
	if (direction == GRADIENTS)
		return to->received.any ? moments_of(r, step->stage, to->received.micro_batch)->used : 0;
	return step->micro_batch < before ? 0 : moments_of(r, step->stage, step->micro_batch - before)->done;
}

/* The next message that the worker gets in this direction. False: it cannot be placed yet. */
static bool receive(struct replay *r, struct worker *to, enum direction direction)
{
	const struct strategy_step *step = next_message(r, to, direction, false, &to->in[direction]), *sent;
	size_t other = 0, sender, receiver = (size_t)(to - r->workers);
	double made, place, begin, bytes;
	struct worker *from;

	if (!step)
		return false;
	other = direction == ACTIVATIONS ? step->stage - 1 : step->stage + 1;
	sender = strategy_worker_of(r->plan, other, step->micro_batch);
	from = &r->workers[sender];
	sent = next_message(r, from, direction, true, &from->out[direction]);
	made = moments_of(r, other, step->micro_batch)->made[direction];
	place = place_free(r, to, direction, step);
	if (!sent || sent->stage != other || sent->micro_batch != step->micro_batch || isnan(made) ||
		isnan(place))
		return false;
	bytes = r->stages[direction == ACTIVATIONS ? step->stage : other].input_bytes;
	begin = fmax(fmax(made, place), fmax(to->in_free[direction], from->out_free[direction]));
	to->in_free[direction] = from->out_free[direction] =
		begin + strategy_message(r->cluster, sender, receiver, bytes);
	moments_of(r, step->stage, step->micro_batch)->came[direction] = to->in_free[direction];
	if (direction == GRADIENTS)
		to->received = (struct last){true, step->micro_batch};
	to->in[direction]++;
	from->out[direction]++;
	return true;
}

/* When what the worker last sent on has gone, whose place is needed again; NAN: not known yet. */
static double gone(
	const struct replay *r, const struct worker *w, const struct last *last, enum direction direction)
{
	size_t other = direction == ACTIVATIONS ? w->stage + 1 : w->stage - 1;

	if (!last->any || !r->has_places || (direction == ACTIVATIONS ? is_last(r, w->stage) : w->stage == 0))
		return 0;
	return moments_of(r, other, last->micro_batch)->came[direction];
}

/* With recomputation there is one output, which goes before the next is made. */
static bool forward(struct replay *r, struct worker *w, const struct strategy_step *step)
{
	struct moments *m = moments_of(r, step->stage, step->micro_batch);
	double output = r->recomputes ? gone(r, w, &w->forward, ACTIVATIONS) : 0;

	if (isnan(m->came[ACTIVATIONS]) || isnan(output))
		return false;
	w->free_at = fmax(fmax(w->free_at, output), m->came[ACTIVATIONS]) + r->stages[step->stage].input +
		     r->stages[step->stage].forward;
	m->made[ACTIVATIONS] = w->free_at;
	if (is_last(r, step->stage))
		m->came[GRADIENTS] = w->free_at;
	w->forward = (struct last){true, step->micro_batch};
	return true;
}

/* Recomputation does not wait for the gradient. There is one gradient of the input, which goes before a layer
 * that reads the input makes the next. */
static bool backward(struct replay *r, struct worker *w, const struct strategy_step *step)
{
	const struct stage *stage = &r->stages[step->stage];
	struct moments *m = moments_of(r, step->stage, step->micro_batch);
	double output = r->recomputes ? gone(r, w, &w->forward, ACTIVATIONS) : 0;
	double input = gone(r, w, &w->backward, GRADIENTS), begin = w->free_at;

	if (isnan(m->came[GRADIENTS]) || isnan(output) || isnan(input))
		return false;
	if (r->recomputes)
		begin = fmax(begin, output) + stage->forward;
	begin = fmax(begin, m->came[GRADIENTS]);
	if (stage->is_last_reader)
		begin = fmax(begin, input);
	w->free_at = fmax(begin + stage->backward - stage->readers, input) + stage->readers;
	m->used = stage->is_layer ? w->free_at : begin + stage->last_layer;
	m->made[GRADIENTS] = m->done = w->free_at;
	w->backward = (struct last){true, step->micro_batch};
	return true;
}

/* The replicas meet, sum their gradients and update. */
static bool update(struct replay *r, struct worker *w)
{
	const struct stage *stage = &r->stages[w->stage];
	struct meeting *meeting = &r->meetings[w->stage * r->total + w->updates];

	if (!w->is_meeting) {
		meeting->here++;
		meeting->last = fmax(meeting->last, w->free_at);
	}
	w->is_meeting = meeting->here < replicas_of(r->plan, w->stage);
	if (w->is_meeting)
		return false;
	w->free_at = w->updated = meeting->last + stage->exchange + stage->update;
	w->updates++;
	return true;
}

static bool advance(struct replay *r, struct worker *w)
{
	const struct strategy_step *step = &w->schedule.steps[w->at];
	bool moved = w->at < w->schedule.count &&
		     (step->work == STRATEGY_STEP_FORWARD           ? forward(r, w, step)
			     : step->work == STRATEGY_STEP_BACKWARD ? backward(r, w, step)
								    : update(r, w));

	w->at += moved;
	return moved;
}

/* Of a worker's micro-batches those that add to the gradients of earlier ones. */
static double adding_share(const struct strategy_plan *plan, size_t stage)
{
	return strategy_follows(plan) ? 0
				      : 1 - (double)replicas_of(plan, stage) / (double)plan->micro_batches;
}

/*
 * The last of the layers begin ... end-1 that reads what comes into layer `begin`. Where layers add branches,
 * one begins there (strategy_net_read): it ends at the addition, or is a product of what came in, whose size
 * is not that of the layer in front of it.
 */
static size_t last_reader(const struct strategy_net *net, size_t begin, size_t end)
{
	size_t sum = begin;

	while (sum < end && !net->layers[sum].is_sum)
		sum++;
	if (begin == 0 || sum == end)
		return begin;
	for (size_t i = begin + 1; i < sum; i++)
		if (fabs(net->layers[i].input_bytes - net->layers[i - 1].output_bytes) > 0.5 &&
			fabs(net->layers[i].input_bytes - net->layers[begin].input_bytes) < 0.5)
			return i;
	return sum;
}

static void set_stages(struct replay *r, const struct strategy_net *net, const struct strategy_how *how)
{
	const struct strategy_plan *plan = r->plan;
	const struct strategy_cluster *cluster = r->cluster;
	double micro = how->batch / (double)plan->micro_batches;

	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t begin = plan->cut[s], end = plan->cut[s + 1], place = s % strategy_places(plan);
		size_t first = plan->first[place];
		struct stage *stage = &r->stages[s], *home = &r->stages[place];
		size_t reader;
		double slow = 0;

		for (size_t i = first; i < plan->first[place + 1]; i++)
			slow = fmax(slow, cluster->slow[i]);
		stage->input = s ? 0 : how->other / (double)plan->micro_batches;
		stage->forward = slow * strategy_time_of(net, begin, end, STRATEGY_FORWARD, micro);
		stage->backward = slow * (strategy_time_of(net, begin, end, STRATEGY_BACKWARD, micro) +
						 adding_share(plan, s) * strategy_accumulation(net, cluster,
										 begin, end, micro));
		home->update += slow * (strategy_time_of(net, begin, end, STRATEGY_UPDATE, micro) +
					       strategy_division(net, cluster, begin, end));
		if (strategy_follows(plan) && strategy_depth(plan, s) > 1)
			home->update += slow * strategy_new_version(
						       cluster, strategy_parameter_bytes(net, begin, end));
		reader = last_reader(net, begin, end);
		stage->readers = slow * strategy_time_of(net, begin, reader + 1, STRATEGY_BACKWARD, micro);
		stage->is_last_reader = reader + 1 == end;
		stage->last_layer = slow * strategy_layer_time(net, end - 1, STRATEGY_BACKWARD, micro);
		stage->is_layer = end - begin == 1;
		stage->inputs = strategy_depth(plan, s) + (strategy_follows(plan) ? 1 : 0);
		stage->input_bytes = micro * net->layers[begin].input_bytes;
		for (size_t i = begin; i < end; i++)
			home->exchange += strategy_all_reduce(
				cluster, first, replicas_of(plan, s), net->layers[i].parameter_bytes);
	}
}

size_t strategy_depth(const struct strategy_plan *plan, size_t stage)
{
	size_t replicas = replicas_of(plan, stage);
	size_t places = strategy_places(plan), later = plan->first[places] - plan->first[stage % places];

	if (plan->kind == STRATEGY_LAYERWISE)
		return 2 * later - 1;
	return plan->kind == STRATEGY_PIPEDREAM ? (later + replicas - 1) / replicas
						: plan->micro_batches / replicas;
}

static size_t batches_to_fill(const struct strategy_plan *plan)
{
	size_t most = 0;

	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t turns = plan->micro_batches / replicas_of(plan, s);
		size_t batches = (strategy_depth(plan, s) + turns - 1) / turns;

		most = batches > most ? batches : most;
	}
	/* with more under way, workers of unlike speed take longer to fall into step */
	return (most + 2) * (plan->kind == STRATEGY_LAYERWISE ? 8 : 1);
}

static int set_workers(struct replay *r, size_t batches)
{
	size_t replica;
	int status = 0;

	for (size_t i = 0; i < r->worker_count && status == 0; i++) {
		r->workers[i].stage = strategy_stage_of(r->plan, i, &replica);
		status = strategy_schedule(r->plan, i, batches, &r->workers[i].schedule);
	}
	for (size_t i = 0; i < r->plan->stage_count * r->total; i++)
		r->moments[i] = (struct moments){
			.made = {NAN, NAN}, .came = {i < r->total ? 0 : NAN, NAN}, .used = NAN, .done = NAN};
	return status;
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
			size_t updates = batches * strategy_updates(r->plan, i);

			for (int k = 0; k < DIRECTIONS; k++)
				while (receive(r, w, (enum direction)k))
					moved = true;
			while (w->updates < updates && advance(r, w))
				moved = true;
		}
	}
	for (size_t i = 0; i < r->worker_count; i++)
		end = fmax(end, r->workers[i].free_at);
	return end;
}

static void replay_free(struct replay *r)
{
	for (size_t i = 0; i < r->worker_count && r->workers; i++)
		free(r->workers[i].schedule.steps);
	free(r->workers);
	free(r->stages);
	free(r->moments);
	free(r->meetings);
}

double strategy_pipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan, double *warm_up)
{
	struct replay r = {.plan = plan,
		.cluster = cluster,
		.worker_count = plan->first[strategy_places(plan)],
		.recomputes = how->recompute && plan->kind == STRATEGY_GPIPE,
		.has_places = plan->kind != STRATEGY_FLUSH};
	size_t fill = batches_to_fill(plan), batches = fill + COUNTED + fill;
	double first, begin, time = -1;

	r.total = plan->micro_batches * batches;
	r.stages = calloc(plan->stage_count, sizeof(*r.stages));
	r.workers = calloc(r.worker_count, sizeof(*r.workers));
	r.moments = malloc(plan->stage_count * r.total * sizeof(*r.moments));
	r.meetings = calloc(plan->stage_count * r.total, sizeof(*r.meetings));
	if (!r.stages || !r.workers || !r.moments || !r.meetings || set_workers(&r, batches) < 0)
		goto out;
	set_stages(&r, net, how);
	first = play_until(&r, 1);
	begin = play_until(&r, fill);
	time = (play_until(&r, fill + COUNTED) - begin) / COUNTED;
	/* where the slowest has not caught up yet */
	if (plan->kind == STRATEGY_LAYERWISE)
		time = fmax(time, strategy_bound(net, cluster, how, plan));
	if (warm_up)
		*warm_up = first;
out:
	replay_free(&r);
	return time;
}
