/*
 * The best partition of a chain, by dynamic programming: see strategy.h.
 *
 * best(j, k): the least possible bound when the layers before j are on the workers before k. The last stage
 * of it has the layers i ... j-1 on r workers:
 *
 *     best(j, k) = min over i, r of max( best(i, k-r), stage(i, j, r), message over the cut at i )
 *
 * The form of PipeDream's planner (Narayanan et al., SOSP 2019), with our times; links depend on the workers'
 * numbers, which are known here since k-r workers lie in front of the stage.
 */
#include "strategy.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* With chunks workers come round again: they are counted on, over all of them. */
static double slow_of(const struct strategy_cluster *cluster, size_t first, size_t end)
{
	double slow = 0;

	for (size_t i = first; i < end; i++)
		slow = fmax(slow, cluster->slow[i % cluster->workers]);
	return slow;
}

/* The time of a stage for a micro-batch, its replicas taking turns. PipeDream updates after each turn, the
 * others exchange once a batch. */
static double stage_time(const struct strategy_cluster *cluster, const struct strategy_how *how,
	const struct strategy_plan *plan, double forward, double backward, double update, double bytes,
	size_t first, size_t replicas, bool is_last)
{
	double slow = slow_of(cluster, first, first + replicas);
	double time =
		slow * (forward + backward + (how->recompute && plan->kind == STRATEGY_GPIPE ? forward : 0));
	double exchange = strategy_all_reduce(cluster, first, replicas, bytes);

	if (!strategy_follows(plan))
		return time / (double)replicas + exchange / (double)plan->micro_batches;
	if (!is_last)
		update += slow * strategy_new_version(cluster, bytes);
	return (time + exchange + update) / (double)replicas;
}

/* The backward passes of layers, most of which add to gradients; as if by one replica. */
static double backward_of(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_plan *plan, size_t begin, size_t end, double micro)
{
	double share = strategy_follows(plan) ? 0 : 1 - 1 / (double)plan->micro_batches;

	return strategy_time_of(net, begin, end, STRATEGY_BACKWARD, micro) +
	       share * strategy_accumulation(net, cluster, begin, end, micro);
}

static double message_time(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_plan *plan, double batch, size_t layer, size_t before, size_t fewer)
{
	double bytes = batch / (double)plan->micro_batches * net->layers[layer].input_bytes;

	/* activations and gradients pass each other: one direction counts */
	return strategy_message(cluster, (before - 1) % cluster->workers, before % cluster->workers, bytes) /
	       (double)fewer;
}

double strategy_bound(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan)
{
	double micro = how->batch / (double)plan->micro_batches, bound = 0;
	size_t places = strategy_places(plan);

	for (size_t place = 0; place < places; place++) {
		size_t first = plan->first[place], replicas = plan->first[place + 1] - first;
		size_t before = place ? first - plan->first[place - 1] : replicas;
		double stages = 0, messages = 0;

		for (size_t s = place; s < plan->stage_count; s += places) {
			size_t begin = plan->cut[s], end = plan->cut[s + 1];

			stages += stage_time(cluster, how, plan,
				strategy_time_of(net, begin, end, STRATEGY_FORWARD, micro),
				backward_of(net, cluster, plan, begin, end, micro),
				strategy_time_of(net, begin, end, STRATEGY_UPDATE, micro),
				strategy_parameter_bytes(net, begin, end), first, replicas,
				s + 1 == plan->stage_count);
			if (s)
				messages += message_time(net, cluster, plan, how->batch, begin,
					first ? first : cluster->workers,
					before < replicas ? before : replicas);
		}
		bound = fmax(bound, fmax(stages, messages));
	}
	return bound;
}

double strategy_layerwise_least(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan)
{
	double bound = 0;

	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t begin = plan->cut[s], end = plan->cut[s + 1];
		double times[3];

		for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
			times[which] = cluster->slow[s] * strategy_time_of(net, begin, end,
								  (enum strategy_time)which, how->batch);
		if (s + 1 < plan->stage_count)
			times[STRATEGY_UPDATE] +=
				cluster->slow[s] *
				strategy_new_version(cluster, strategy_parameter_bytes(net, begin, end));
		bound = fmax(bound, fmax(times[0], times[1] + times[2]));
		if (s)
			bound = fmax(bound, message_time(net, cluster, plan, how->batch, begin, s, 1));
	}
	return bound;
}

/* A state is (layers before, workers before, replicas of the last stage): messages depend on both sides. */
struct search {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	const struct strategy_plan *plan;
	size_t places, *place; /* where it may be cut, with 0 and the end */
	size_t width;          /* workers, as often as they come round, + 1 */
	double *sums[4];       /* forward, backward, update, bytes before each place */
	double *best;
	size_t *from; /* the state before, or SIZE_MAX */
};

static size_t state(const struct search *s, size_t place, size_t workers, size_t replicas)
{
	return (place * s->width + workers) * s->width + replicas;
}

static double last_stage(const struct search *s, size_t i, size_t j, size_t first, size_t replicas)
{
	double *const *sums = s->sums;

	return stage_time(s->cluster, s->how, s->plan, sums[0][j] - sums[0][i], sums[1][j] - sums[1][i],
		sums[2][j] - sums[2][i], sums[3][j] - sums[3][i], first, replicas, j + 1 == s->places);
}

/* All states in front of a stage with the layers between places i and j on `replicas` workers from `first`.
 */
static void extend(struct search *s, size_t i, size_t j, size_t first, size_t replicas)
{
	size_t next = state(s, j, first + replicas, replicas);
	double here = last_stage(s, i, j, first, replicas);

	for (size_t before = 0; before <= first; before++) {
		size_t old = state(s, i, first, before);
		double bound = fmax(s->best[old], here);

		if (!isfinite(s->best[old]))
			continue;
		if (before)
			bound = fmax(
				bound, message_time(s->net, s->cluster, s->plan, s->how->batch, s->place[i],
					       first, before < replicas ? before : replicas));
		if (bound < s->best[next]) {
			s->best[next] = bound;
			s->from[next] = old;
		}
	}
}

/* -ERANGE: not a place for every stage. */
static int init(struct search *s, size_t replicas)
{
	size_t n = s->net->layer_count, states;
	double micro = s->how->batch / (double)s->plan->micro_batches;

	s->width = s->cluster->workers * (s->plan->chunks ? s->plan->chunks : 1) + 1;
	s->place = calloc(n + 1, sizeof(*s->place));
	for (int k = 0; k < 4; k++)
		s->sums[k] = calloc(n + 1, sizeof(double));
	if (!s->place || !s->sums[0] || !s->sums[1] || !s->sums[2] || !s->sums[3])
		return -ENOMEM;
	for (size_t i = 0; i <= n; i++)
		if (i == 0 || i == n || s->net->layers[i].may_cut) {
			for (int k = 0; k < 3; k++)
				s->sums[k][s->places] =
					k == STRATEGY_BACKWARD
						? backward_of(s->net, s->cluster, s->plan, 0, i, micro)
						: strategy_time_of(
							  s->net, 0, i, (enum strategy_time)k, micro);
			s->sums[3][s->places] = strategy_parameter_bytes(s->net, 0, i);
			s->place[s->places++] = i;
		}
	if (replicas && (s->width - 1) / replicas >= s->places)
		return -ERANGE;
	states = s->places * s->width * s->width;
	s->best = malloc(states * sizeof(*s->best));
	s->from = malloc(states * sizeof(*s->from));
	if (!s->best || !s->from)
		return -ENOMEM;
	for (size_t i = 0; i < states; i++)
		s->best[i] = HUGE_VAL;
	s->best[state(s, 0, 0, 0)] = 0;
	return 0;
}

static int take_plan(const struct search *s, size_t at, struct strategy_plan *plan)
{
	size_t count = 0;

	for (size_t i = at; i != state(s, 0, 0, 0); i = s->from[i])
		count++;
	if (count > STRATEGY_MAX_STAGES)
		return -ERANGE;
	plan->stage_count = count;
	plan->cut[count] = s->net->layer_count;
	plan->first[count] = at / s->width % s->width;
	for (size_t i = at; count > 0; i = s->from[i]) {
		size_t old = s->from[i];

		count--;
		plan->cut[count] = s->place[old / s->width / s->width];
		plan->first[count] = old / s->width % s->width;
	}
	return 0;
}

/*
 * Of the cuts into stages of one worker that no stage and no message makes slower than `bound`, the one over
 * which the fewest bytes of a sample go: its last state. The table of bounds is used again.
 */
static size_t merge(struct search *s, double bound)
{
	size_t workers = s->width - 1, best = SIZE_MAX;

	for (size_t i = 0; i < s->places * s->width * s->width; i++)
		s->best[i] = i == state(s, 0, 0, 0) ? 0 : HUGE_VAL;
	for (size_t j = 1; j < s->places; j++)
		for (size_t i = 0; i < j; i++)
			for (size_t first = 0; first < workers; first++) {
				size_t old = state(s, i, first, first ? 1 : 0);
				size_t next = state(s, j, first + 1, 1);
				double bytes = first ? s->net->layers[s->place[i]].input_bytes : 0;

				if (s->best[old] + bytes >= s->best[next] ||
					last_stage(s, i, j, first, 1) > bound ||
					(first && message_time(s->net, s->cluster, s->plan, s->how->batch,
							  s->place[i], first, 1) > bound))
					continue;
				s->best[next] = s->best[old] + bytes;
				s->from[next] = old;
			}
	for (size_t k = 2; k <= workers; k++) {
		size_t end = state(s, s->places - 1, k, 1);

		if (isfinite(s->best[end]) && (best == SIZE_MAX || s->best[end] < s->best[best]))
			best = end;
	}
	return best;
}

int strategy_cut(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t replicas, struct strategy_plan *plan)
{
	struct search s = {.net = net, .cluster = cluster, .how = how, .plan = plan};
	size_t least = replicas ? replicas : 1, most = least, best = SIZE_MAX, workers;
	bool merges = plan->kind == STRATEGY_LAYERWISE;
	int status = init(&s, merges ? 0 : replicas);

	if (!replicas && cluster->workers > 1)
		most = cluster->workers - 1;

	if (status < 0)
		goto out;
	workers = s.width - 1;
	for (size_t j = 1; j < s.places; j++)
		for (size_t i = 0; i < j; i++)
			for (size_t first = 0; first < workers; first++)
				for (size_t r = least; r <= most && first + r <= workers; r++)
					if (plan->micro_batches % r == 0)
						extend(&s, i, j, first, r);
	for (size_t r = least; r <= most && r <= workers; r++)
		for (size_t used = merges ? 2 : workers; used <= workers; used++) {
			size_t end = state(&s, s.places - 1, used, r);

			if (isfinite(s.best[end]) && (best == SIZE_MAX || s.best[end] < s.best[best]))
				best = end;
		}
	if (merges && best != SIZE_MAX)
		best = merge(&s, s.best[best] * (1 + 1e-12));
	status = best == SIZE_MAX ? -ERANGE : take_plan(&s, best, plan);
out:
	free(s.place);
	for (int k = 0; k < 4; k++)
		free(s.sums[k]);
	free(s.best);
	free(s.from);
	return status;
}
