/* All strategies for one network and cluster, each at its best, and the best of them. */
#ifndef STRATEGY_CHOOSE_H
#define STRATEGY_CHOOSE_H

#include "strategy_assign.h"

enum strategy_name {
	STRATEGY_NAME_SINGLE, /* one worker with the whole batch */
	STRATEGY_NAME_DATA,   /* Horovod */
	STRATEGY_NAME_MODEL,  /* a stage a worker, one works at a time */
	STRATEGY_NAME_GPIPE,
	STRATEGY_NAME_PIPEDREAM, /* replicas are chosen too; gradients are of older weights */
	STRATEGY_NAME_FLUSH,     /* 1F1B with a flush; chunks are chosen too */
	STRATEGY_NAME_HYBRID,    /* GPipe whose replicas are chosen too: data parallelism within a stage */
	STRATEGY_NAME_LAYERWISE, /* PipeDream with whole batches and partitions merged; older weights too */
	STRATEGY_NAME_TENSOR,    /* each layer divided among the workers */
	STRATEGY_NAME_ZERO_1,    /* data parallelism with the optimizer's numbers divided */
	STRATEGY_NAME_ZERO_2,    /* also gradients */
	STRATEGY_NAME_ZERO_3,    /* also parameters (FSDP) */
	STRATEGY_NAME_FEWER,     /* data parallelism without the slowest workers (strategy_unlike.h) */
	STRATEGY_NAME_UNEVEN,    /* data parallelism with a share for each worker's speed */
	STRATEGY_NAME_COUNT
};

/* Of stages. */
bool strategy_is_pipe(enum strategy_name name);

/* Does it consist of data parallelism's parts: computing, exchanges, an update? */
bool strategy_has_parts(enum strategy_name name);

/* Are its gradients those of the current weights? */
bool strategy_is_synchronous(enum strategy_name name);

/* Was the prediction validated against runs on modelled GPUs? What was not is shown, and never recommended:
 * ZeRO's stages but of PyTorch's programs (strategy_torch.h), tensor parallelism but of PyTorch's
 * transformers whose pairs are known (strategy_pairs.h) and its MLPs, and 1F1B with a flush, which no trainer
 * here does, but of such transformers, and unequal shares, which none here gives. */
bool strategy_is_validated(enum strategy_name name, const struct strategy_net *net);

/* Does a program divide its state or its layers for it? That is worth its trouble for memory; where it ties
 * with the batch's division alone, that is recommended. */
bool strategy_is_elaborate(enum strategy_name name);

extern const char *const strategy_names[];

struct strategy_choice {
	bool possible;
	const char *why;   /* not possible */
	bool is_idle;      /* nothing to be said of it: it is for unlike workers, and all are alike */
	bool is_validated; /* strategy_is_validated; of strategy_choose */
	bool fits;         /* as far as is known: `lacks` is not above 0 */
	double lacks;      /* bytes that some worker has too little; -infinity: not known */
	double memory;     /* bytes that a worker needs */
	struct strategy_memory needs; /* the same by what it is for */
	double time;                  /* of an iteration, replayed */
	double published;             /* as (5.1), or (6.1) with (6.2), says; NAN where there is none */
	double warm_up;               /* pipelines: until the first batch is done; else NAN */
	double bound;                 /* pipelines: what the cuts make least, of a whole batch; else NAN */
	bool divides_last;            /* tensor: TORCH_TENSOR_GATHERED */
	double at_once;               /* layer-wise: strategy_layerwise_least; else 0 */
	struct strategy_plan plan;    /* pipelines */
	size_t tried;                 /* pipelines: the most micro-batches that were tried; 0: none */
	enum strategy_search search;  /* pipelines: how `worker` was found */
	/* pipelines: at each place of the plan; without the slowest: those that take part, `used` of them */
	size_t worker[STRATEGY_MAX_WORKERS], used;
	double share[STRATEGY_MAX_WORKERS]; /* uneven: samples of each worker */
	struct strategy_data_parts parts;   /* where strategy_has_parts */
};

/* Micro-batches that are tried: those of the list that divide the batch. Where a pipeline fits with none of
 * them, `goes_on` tries more, at least twice as many each time, down to one sample: a stage keeps less of
 * smaller ones. For unlike workers each takes up to a second or two. */
struct strategy_tries {
	const size_t *micro_batches;
	size_t count;
	void (*progress)(enum strategy_name name, size_t micro_batches); /* before each search; may be NULL */
	bool goes_on;
};

/* Fills STRATEGY_NAME_COUNT choices. 0 or -ENOMEM. */
int strategy_choose(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_tries *tries, struct strategy_choice *choices);

/* ZeRO's stages 1 to 3 alone, in a list of their own. */
enum { STRATEGY_ZERO_COUNT = 3 };
void strategy_choose_zero(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choices);

/* The quickest validated one that fits on several workers (STRATEGY_NAME_COUNT: none), data where one that is
 * strategy_is_elaborate ties with it; if `synchronous`
 * without those whose gradients are of older weights. */
enum strategy_name strategy_best(const struct strategy_choice *choices, bool synchronous);

/* How far predictions of a strategy were off what modelled runs took, as a share, rounded up: 19 of 20 runs
 * of tests/bench/strategies.sh (from three measured batches), advise.sh (from one) and, of ZeRO's stages
 * and tensor parallelism, torch_strategies.sh were off by at most that. Links were known, so it says nothing
 * of those. NAN: not validated against a run. */
double strategy_miss(enum strategy_name name);

/* By how much two times may differ where neither is known to be the less: both misses, which are taken to be
 * independent, ns. Times, as the caller may have others than the choices'. */
double strategy_miss_between(enum strategy_name a, double time_a, enum strategy_name b, double time_b);

/* May `other` be as quick as strategy_best's `best`? Of others that could have been the best, not of itself.
 */
bool strategy_is_tie(const struct strategy_choice *choices, enum strategy_name best, enum strategy_name other,
	bool synchronous);

/* The quickest by the published predictors alone. */
enum strategy_name strategy_best_published(const struct strategy_choice *choices);

#endif
