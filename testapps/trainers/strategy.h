/*
 * How a network is distributed: which layers and which micro-batches are whose. Pure arithmetic, without
 * GPUs.
 *
 * The one idea: all strategies but data parallelism are pipelines. The network is cut into stages of
 * neighbouring layers; a stage has one or more replicas, a process with one GPU each, ranks in the order of
 * the stages. A batch is divided into micro-batches, which pass the stages one after the other; a stage's
 * replicas take turns. The strategies differ in the number of micro-batches and in the order of work
 * (strategy_schedule.h):
 *
 *   model      one micro-batch, so that one stage works at a time
 *   gpipe      all forward passes of a batch, then all backward passes, then the update
 *   hybrid     the same with replicated stages: data parallelism within a stage
 *   pipedream  one forward, one backward in turn, an update after each: batches follow each other at once,
 *              and a micro-batch is computed with the weights of some updates ago
 *   layerwise  the same with whole batches: each stage has the forward pass of a new one and the backward
 *              pass of an old one in turn, and waits for neither, so that twice as many are under way
 */
#ifndef STRATEGY_H
#define STRATEGY_H

#include "nn.h"

enum strategy_kind {
	STRATEGY_DATA,
	STRATEGY_MODEL,
	STRATEGY_GPIPE,
	STRATEGY_PIPEDREAM,
	STRATEGY_HYBRID,
	STRATEGY_LAYERWISE
};
enum strategy_recompute { STRATEGY_RECOMPUTE_AUTO, STRATEGY_RECOMPUTE_ON, STRATEGY_RECOMPUTE_OFF };

enum { STRATEGY_MAX_STAGES = 512 };

struct strategy {
	enum strategy_kind kind;
	int world;
	int stage_count;
	int replicas[STRATEGY_MAX_STAGES];
	int first_rank[STRATEGY_MAX_STAGES + 1]; /* of a stage's replicas */
	int cut[STRATEGY_MAX_STAGES + 1];        /* stage s has the layers cut[s] ... cut[s+1]-1 */
	int batch, micro_batches;                /* samples; micro-batches of a batch */
	int recompute;                           /* a stage's forward pass again before its backward pass */
	char error[320];
};

/* As given by the user: what was not given is NULL, 0, AUTO. */
struct strategy_options {
	enum strategy_kind kind;
	const char *stages;    /* replicas of each stage: "2-1-1" */
	const char *partition; /* "auto", or the first layer of each stage but the first: "3,7" */
	int batch, micro_batches;
	enum strategy_recompute recompute;
};

/*
 * Stages and micro-batches for `world` processes. Not for STRATEGY_DATA. Returns 0, or -1 with one sentence
 * in s->error.
 */
int strategy_init(struct strategy *s, const struct strategy_options *options, int world);

/* Samples of a micro-batch. */
int strategy_samples(const struct strategy *s);

/* Cuts the network, of which all layers have been added. Returns 0, or -1 with s->error. */
int strategy_cut(struct strategy *s, const struct nn *nn, const char *partition);

/* The stage of a rank; *replica: its place among the stage's replicas. */
int strategy_stage(const struct strategy *s, int rank, int *replica);

/* The rank that computes a micro-batch, counted over all batches, in a stage. */
int strategy_rank(const struct strategy *s, int stage, int micro_batch);

/* Do batches follow each other at once, each micro-batch with an update of its own? */
static inline int strategy_follows(const struct strategy *s)
{
	return s->kind == STRATEGY_PIPEDREAM || s->kind == STRATEGY_LAYERWISE;
}

/* Micro-batches that a replica of the stage has begun and not finished, at most. */
int strategy_depth(const struct strategy *s, int stage);

/* Micro-batches of a batch that one replica of the stage computes. */
static inline int strategy_turns(const struct strategy *s, int stage)
{
	return s->micro_batches / s->replicas[stage];
}

#endif
