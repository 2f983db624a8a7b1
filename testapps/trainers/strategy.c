/* Stages, their replicas, micro-batches and cuts: see strategy.h. */
#include "strategy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MICRO_BATCHES = 4 };

/*
 * What moving a number costs, in floating-point operations: a V100 does 15.7e12 of them in a second and moves
 * 900e9 bytes (NVIDIA's data sheet), so 70 in the time of 4 bytes. Layers without products are bound by
 * memory.
 */
static const double flops_per_number = 70;

static const char *const names[] = {"data", "model", "gpipe", "pipedream", "hybrid", "layerwise"};

__attribute__((format(printf, 2, 3))) static int fail(struct strategy *s, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(s->error, sizeof(s->error), format, values);
	va_end(values);
	return -1;
}

/* Whole numbers from 1 on, with `separator` between them. Returns how many, or -1. */
static int numbers(const char *text, char separator, int *values, int most)
{
	int count = 0;

	for (;;) {
		char *end = NULL;
		long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;

		if (value < 1 || value > 1 << 20 || count == most)
			return -1;
		values[count++] = (int)value;
		if (!*end)
			return count;
		if (*end != separator)
			return -1;
		text = end + 1;
	}
}

static int set_stages(struct strategy *s, const char *text)
{
	int ranks = 0;

	if (!text && s->kind == STRATEGY_HYBRID)
		return fail(s, "--strategy hybrid: --stages must set the number of replicas of each stage");
	if (!text && s->world > STRATEGY_MAX_STAGES)
		return fail(s, "%d processes: --stages must divide them into at most %d stages", s->world,
			STRATEGY_MAX_STAGES);
	for (int i = 0; i < s->world && !text; i++)
		s->replicas[i] = 1;
	s->stage_count = text ? numbers(text, '-', s->replicas, STRATEGY_MAX_STAGES) : s->world;
	if (s->stage_count < 0)
		return fail(
			s, "--stages %s: expected numbers of replicas separated by -, such as 2-1-1", text);
	for (int i = 0; i < s->stage_count; i++) {
		s->first_rank[i] = ranks;
		ranks += s->replicas[i];
		if (s->replicas[i] > 1 && s->kind != STRATEGY_PIPEDREAM && s->kind != STRATEGY_HYBRID)
			return fail(s,
				"--stages %s: --strategy %s has one replica of each stage; hybrid has several",
				text, names[s->kind]);
	}
	s->first_rank[s->stage_count] = ranks;
	if (ranks != s->world)
		return fail(
			s, "--stages %s: %d processes required, but %d are running", text, ranks, s->world);
	return 0;
}

static int set_micro_batches(struct strategy *s, int count)
{
	int is_whole = s->kind == STRATEGY_MODEL || s->kind == STRATEGY_LAYERWISE;

	if (is_whole && count > 1)
		return fail(s, "--micro-batches %d: --strategy %s does not divide batches; gpipe does", count,
			names[s->kind]);
	if (!count)
		count = is_whole ? 1 : DEFAULT_MICRO_BATCHES;
	s->micro_batches = count;
	if (s->batch % count)
		return fail(s, "--micro-batches %d: a batch of %d samples is not divisible into that many",
			count, s->batch);
	for (int i = 0; i < s->stage_count; i++)
		if (count % s->replicas[i])
			return fail(s,
				"--micro-batches %d: not divisible among the replicas of stage %d (%d)",
				count, i + 1, s->replicas[i]);
	return 0;
}

int strategy_init(struct strategy *s, const struct strategy_options *options, int world)
{
	enum strategy_recompute recompute = options->recompute;

	memset(s, 0, sizeof(*s));
	s->kind = options->kind;
	s->world = world;
	s->batch = options->batch;
	if (recompute == STRATEGY_RECOMPUTE_AUTO)
		s->recompute = s->kind == STRATEGY_GPIPE || s->kind == STRATEGY_HYBRID;
	else
		s->recompute = recompute == STRATEGY_RECOMPUTE_ON;
	if (set_stages(s, options->stages))
		return -1;
	return set_micro_batches(s, options->micro_batches);
}

int strategy_samples(const struct strategy *s)
{
	return s->batch / s->micro_batches;
}

/* Of a layer's forward pass; backward is about twice that, whatever the layer. */
static double cost_of(const struct nn *nn, int layer)
{
	const struct nn_layer *l = &nn->layer[layer];
	double flops = nn_flops(nn, layer);
	double moved = (double)nn_numel(l->in) + (double)nn_numel(l->out) + (double)l->param_count;

	return flops > flops_per_number * moved ? flops : flops_per_number * moved;
}

static int cut_as_given(struct strategy *s, const struct nn *nn, const char *text)
{
	int count = numbers(text, ',', s->cut + 1, STRATEGY_MAX_STAGES - 1);

	if (count < 0)
		return fail(s, "--partition %s: expected auto, or layer numbers separated by commas", text);
	if (count != s->stage_count - 1)
		return fail(s, "--partition %s: %d stages have %d cuts", text, s->stage_count,
			s->stage_count - 1);
	for (int i = 1; i <= count; i++) {
		if (s->cut[i] <= s->cut[i - 1])
			return fail(s, "--partition %s: the numbers must rise", text);
		if (s->cut[i] >= nn->layer_count)
			return fail(s, "--partition %s: the network's last layer is %d", text,
				nn->layer_count - 1);
		if (!nn_cut_ok(nn, s->cut[i]))
			return fail(s,
				"--partition %s: cannot cut before layer %d (%s), since later layers read "
				"more than the output of %s",
				text, s->cut[i], nn->layer[s->cut[i]].name, nn->layer[s->cut[i] - 1].name);
	}
	return 0;
}

/*
 * Cuts into stages so that the slowest stage, its replicas taking turns, is as quick as can be. best[s][end]:
 * the slowest of the first s stages when they have the layers before `end`; from[s][end]: where the last of
 * them begins. Only ends where the network may be cut count.
 */
static void cut_evenly(struct strategy *s, const struct nn *nn, const double *before, const char *ok)
{
	int width = nn->layer_count + 1;
	double *best = malloc((size_t)(s->stage_count + 1) * (size_t)width * sizeof(*best));
	int *from = calloc((size_t)(s->stage_count + 1) * (size_t)width, sizeof(*from));

	if (!best || !from)
		abort();
	for (int i = 0; i < (s->stage_count + 1) * width; i++)
		best[i] = i ? 1e300 : 0;
	for (int stage = 1; stage <= s->stage_count; stage++)
		for (int end = stage; end < width; end++)
			for (int begin = stage - 1; begin < end && ok[end]; begin++) {
				double here = (before[end] - before[begin]) / s->replicas[stage - 1];
				double most = best[(stage - 1) * width + begin];

				if (!ok[begin])
					continue;
				most = most > here ? most : here;
				if (most < best[stage * width + end]) {
					best[stage * width + end] = most;
					from[stage * width + end] = begin;
				}
			}
	for (int stage = s->stage_count; stage > 0; stage--)
		s->cut[stage - 1] = from[stage * width + s->cut[stage]];
	free(best);
	free(from);
}

static int cut_automatically(struct strategy *s, const struct nn *nn)
{
	double before[NN_MAX_LAYERS + 1] = {0};
	char ok[NN_MAX_LAYERS + 1] = {1};
	int most = 1;

	for (int i = 1; i <= nn->layer_count; i++) {
		before[i] = before[i - 1] + cost_of(nn, i - 1);
		ok[i] = i == nn->layer_count || nn_cut_ok(nn, i);
		most += i < nn->layer_count && ok[i];
	}
	if (s->stage_count > most)
		return fail(s, "%d stages: this network can be cut into at most %d", s->stage_count, most);
	cut_evenly(s, nn, before, ok);
	return 0;
}

int strategy_cut(struct strategy *s, const struct nn *nn, const char *partition)
{
	s->cut[0] = 0;
	s->cut[s->stage_count] = nn->layer_count;
	if (partition && strcmp(partition, "auto") != 0)
		return cut_as_given(s, nn, partition);
	return cut_automatically(s, nn);
}

int strategy_stage(const struct strategy *s, int rank, int *replica)
{
	int stage = 0;

	while (rank >= s->first_rank[stage + 1])
		stage++;
	*replica = rank - s->first_rank[stage];
	return stage;
}

int strategy_rank(const struct strategy *s, int stage, int micro_batch)
{
	return s->first_rank[stage] + micro_batch % s->replicas[stage];
}

/*
 * PipeDream: as many as keep all later stages busy while the first of them comes back, shared by the stage's
 * replicas. Layer-wise: one for each pass of a later stage, there and back, and its own. Otherwise: all of a
 * batch.
 */
int strategy_depth(const struct strategy *s, int stage)
{
	int ranks = s->world - s->first_rank[stage];

	if (!strategy_follows(s))
		return strategy_turns(s, stage);
	if (s->kind == STRATEGY_LAYERWISE)
		return 2 * ranks - 1;
	return (ranks + s->replicas[stage] - 1) / s->replicas[stage];
}
