/*
 * From captured runs to an answer: how many GPUs, which strategy, how long, what limits it, how sure.
 *
 * One run on one GPU, or one on several with data parallelism without its exchange, has the layers' times and
 * what a GPU does besides; each further GPU gets as many samples, so that the whole batch grows, or they
 * share one batch (strong scaling), so that each has fewer. Every strategy is replayed for every number of
 * GPUs (strategy_choose.h) and gets a range in which its time is expected:
 *
 * One worker's range is the middle half of the iterations, which were measured; of a run on several up to
 * those with their exchange.
 *
 * PyTorch's DDP, ZeRO-1 and FSDP2 have a range from an exchange that is wholly hidden to one that is not
 * hidden at all, and what they were missed by.
 *
 * That of other data parallelism is from an exchange that is wholly hidden to one that is not hidden at all
 * and begins a cycle late.
 *
 * GPUs that share one batch have fewer samples than were measured: ranges of what divides the batch reach as
 * far as with layers that scale in proportion and with such that do so least, as those of pipelines do.
 *
 * Pipelines have micro-batches of other sizes. Where one batch was measured, a part of a layer's time is
 * taken not to shrink with them (strategy_fixed.h says which); the range is from none to twice that, and a
 * tenth to both sides.
 *
 * What was not validated against a run has a range from an exchange that is wholly hidden to none hidden, and
 * a tenth.
 *
 * Workers that wait for each other wait for the slowest: ranges of several reach up by the greatest of so
 * many normal deviations, with the spread of the run's own iterations, and down by as much as their quartile.
 * Where runs on several GPUs were measured, their times take the place of the predicted ones, without what
 * their stragglers cost; data parallelism on others is taken to be as far from what is predicted as the
 * nearest that was measured, with ranges from what is predicted to where the prediction missed most. All of
 * it holds if the links are as the cluster's file has them.
 *
 * Times in ns, rates in samples a second. Nothing here prints.
 */
#ifndef ADVICE_H
#define ADVICE_H

#include "strategy/strategy_choose.h"

enum { ADVICE_MOST_COUNTS = 32 };

/* What an iteration waits for. */
enum advice_limit {
	ADVICE_COMPUTE, /* nothing of the below takes a quarter of it */
	ADVICE_LINKS,   /* an exchange that is not hidden */
	ADVICE_STAGES,  /* stages of a pipeline that wait for each other, or compute twice */
	ADVICE_INPUT,   /* reading the batch and copying it */
	ADVICE_LAUNCH,  /* the host: late with its launches, or waiting */
	ADVICE_OTHER,   /* what else a GPU does besides layers */
	ADVICE_MEMORY,  /* it does not fit */
	ADVICE_LIMIT_COUNT
};
extern const char *const advice_limits[];

enum advice_strength { ADVICE_MEASURED, ADVICE_MODERATE, ADVICE_WEAK, ADVICE_UNTRIED };
extern const char *const advice_strengths[];

/* An iteration on one GPU. */
struct advice_run {
	size_t gpus; /* that were measured; several: the iteration is theirs without their exchange */
	double batch, iteration;
	double quartiles[2], sd; /* of its iterations */
	double input, launch;    /* parts of it that are no layer's */
	double update; /* the update as a whole, with kernels that no layer is known for; 0: not known */
	double other;  /* all that is no layer's, those included */
};

/* A run on several GPUs whose time is known. */
struct advice_check {
	const char *run;
	size_t gpus;
	double batch, iteration; /* of all GPUs together */
	double delay;            /* of it, what its stragglers cost; 0: none */
	char *straggler;         /* what the costliest one is; NULL: none */
	double predicted;        /* set by advice_fill; data parallelism */
};

/* One strategy on so many GPUs. */
struct advice_way {
	enum strategy_name name;
	struct strategy_choice choice; /* its time is that of `time`, but for one worker */
	double time, low, high;        /* NAN: impossible, or does not fit */
	double rate;
	enum advice_limit limit;
	double share; /* of the iteration, that the limit takes */
	enum advice_strength strength;
};

struct advice_row {
	size_t gpus;
	struct advice_way ways[STRATEGY_NAME_COUNT];
	/* NULL: nothing fits, or nothing else. Best: of those at most a tenth slower than the quickest, the
	 * one whose range ends first, but data where one that is strategy_is_elaborate ties with it; second:
	 * the quickest of the others. */
	const struct advice_way *best, *second;
	double measured;             /* NAN: not measured */
	double undelayed;            /* that without its stragglers */
	double delayed;              /* the best, with the runs' stragglers; NAN: there are none, or one GPU */
	double efficiency, marginal; /* of the best; marginal: of the GPUs that were added */
};

struct advice {
	/* the caller's */
	struct strategy_net net;
	struct strategy_cluster *cluster;
	struct advice_run run;
	struct advice_check *checks;
	size_t check_count;
	size_t counts[ADVICE_MOST_COUNTS], count; /* of GPUs, ascending */
	double cycle;                             /* in which gradients are gathered for an exchange */
	double optimizer_copies;                  /* numbers that the runs' optimizer keeps for a parameter */
	double whole_batch; /* of all GPUs together, whatever their number; 0: each has the run's batch */
	double worth;       /* least share of a GPU's work that added GPUs must do to pay */
	/* set by advice_fill */
	enum strategy_basis memory; /* of what strategies need */
	struct advice_row *rows;    /* one for each count */
	double one;                 /* samples a second on one GPU, the quickest */
	const struct advice_check *delayed; /* the run that loses most to stragglers; NULL: none loses any */
	/* NULL: nothing fits. Cheapest: with the most samples of a GPU hour. */
	const struct advice_row *pays, *quickest, *cheapest;
};

/* An iteration without its stragglers, over what is predicted. */
double advice_missed(const struct advice_check *check);
bool advice_is_far_off(double ratio);

/* Samples of an iteration on so many GPUs. */
double advice_batch(const struct advice *advice, size_t gpus);

/* 0 or -ENOMEM. advice_free in either case; it leaves what is the caller's. */
int advice_fill(struct advice *advice);
void advice_free(struct advice *advice);

/* Do the ranges of the best and the second best strategy have a time in common? */
bool advice_is_close(const struct advice_row *row);

/* Does a quarter of the measured iteration or more lie neither in layers nor in its input? How a pipeline
 * divides that among its workers is not known then, so that none is recommended. */
bool advice_is_outside(const struct advice *a);

/* By how much the way may be off against the best of the row, as a share of the latter's time, where that is
 * no less than they differ: by what predictions of the two miss (strategy_miss), neither is known to be the
 * quicker. Else 0, also where both were measured, and for the best itself. */
double advice_tie(const struct advice_row *row, const struct advice_way *way);

#endif
