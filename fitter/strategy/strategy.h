/*
 * Distribution strategies predicted from one GPU: what an iteration would take on several workers.
 *
 * The one idea: a network is a chain of measured layers and a cluster a list of links; every strategy is then
 * arithmetic on the two. The published predictors [RS] are closed forms (5.1), (6.1), (6.2). Ours replay what
 * the workers do, operation by operation: data parallelism with its exchanges next to the backward pass
 * (strategy_data.c), pipelines with their micro-batches, messages and updates (strategy_pipe.c). Partitions
 * are the best ones by dynamic programming (strategy_cut.c).
 *
 * Times in ns, bytes in bytes, bandwidths in bytes per ns (which is GB/s). Functions that can fail return 0
 * or -errno; those that read files keep one sentence. Nothing here prints.
 */
#ifndef STRATEGY_H
#define STRATEGY_H

#include <stdbool.h>
#include <stddef.h>

/* ---- the network ---- */

enum {
	STRATEGY_TENSORS = 2, /* of a layer's parameters: weights; biases or the like */
	STRATEGY_ROOT = 0,    /* the unit of layers that are in no other */
};

/* How Megatron-LM divides a product of a transformer's block: the first of a pair by columns, the second by
 * rows. What is after all blocks may be divided by columns, and its output gathered. */
enum strategy_divide { STRATEGY_UNDIVIDED, STRATEGY_COLUMNS, STRATEGY_ROWS, STRATEGY_GATHERED };

/* Calls of a pass by what tensor parallelism makes of their work: all of it on each worker; an n-th; an n-th
 * where the product after all blocks is divided, else all. */
enum strategy_share {
	STRATEGY_CALLS_WHOLE,
	STRATEGY_CALLS_DIVIDED,
	STRATEGY_CALLS_GATHERED,
	STRATEGY_SHARES
};
struct strategy_calls {
	double count, share; /* share: of the pass's time */
};

struct strategy_layer {
	char *name;
	char kind[16];                 /* "conv", "norm"; "": not known */
	double flops;                  /* of a sample's forward pass; 0: not known */
	bool is_product, is_activated; /* a convolution or a dense layer; by a call of its own */
	double parameter_bytes, tensor_bytes[STRATEGY_TENSORS];
	/* Tensors of the input's size that are left between the product in front and this one, of PyTorch's
	 * modules with named products: what an activation begins with, where sizes agree (GELU and the like
	 * keep it; lists of layers, whose names are numbers, are taken for ReLU, which does not), else
	 * attention's result and its copy with heads together. */
	size_t between;
	bool is_rows;                /* a product of rows (tokens, samples), and not a convolution */
	enum strategy_divide divide; /* of a net that has_pairs */
	double call_count[2];        /* of forward and backward, of a net that has_pairs */
	bool has_buffers;    /* running means of a batch norm, which DDP sends before each forward pass */
	size_t unit;         /* of a PyTorch program: see strategy_net; else STRATEGY_ROOT */
	double input_bytes;  /* of a sample: what crosses a cut in front of the layer; 0: not known */
	double output_bytes; /* of a sample, as its gradient */
	double kept_bytes; /* of a sample: what forward leaves: the output, and what an activation began with
			    */
	double backward_kernels; /* that the backward pass is; 0: one */
	bool is_sum;             /* adds branches: the gradient of its output goes into both */
	/* per measured batch, as in struct strategy_net; with the recomputation, if any, in backward */
	double *forward, *backward, *update;
	bool may_cut; /* the network may be cut in front of it */
};

struct strategy_net {
	size_t layer_count, batch_count;
	struct strategy_layer *layers;
	double *batches;      /* that were measured, ascending */
	double measured;      /* the one of them that was, where the others follow from it; 0: all were */
	double *device_bytes; /* that these runs took on their GPU; NAN: not known. NULL: of none */
	struct {
		char name[128];           /* "": not known */
		double memory, bandwidth; /* bytes; bytes a nanosecond at its peak. 0: not known */
	} device;                         /* of the first run */
	/* PyTorch's: the call sites of its layers are in its libraries. A layer's unit is what fully_shard is
	 * given, as its documentation has it: each member of the outermost list of modules ("blocks.3"), from
	 * 1 on in the layers' order, and the whole model for all else. */
	bool is_torch;
	bool communicates;     /* the runs' layers do, as those of several GPUs */
	bool is_batch_unknown; /* batches are what goes into the first layer, which need not be samples */
	bool is_opaque; /* what crosses a cut is not known: only what divides the batch can be predicted */
	/* Of strategy_pairs.h: is it known which products Megatron-LM would divide, and if not, why. Of the
	 * calls of forward and backward, the share of each kind; the shortest call, ns: what one takes
	 * with no work; calls of the update. */
	bool has_pairs;
	const char *no_pairs;
	struct strategy_calls calls[2][STRATEGY_SHARES];
	double shortest_call, update_calls;
	char error[512]; /* one sentence, where strategy_net_read answers something negative */
};

/*
 * Reads what `pmanalyze layers --json` printed of runs on one GPU, one file for each batch. Where layers add
 * branches, the network may only be cut after an addition, and after the last one anywhere: what a branch
 * begins with is not in the file. Where products have several rows for a sample, as transformers of images
 * do, which another layer tells, the network is opaque. 0 or -errno; strategy_net_free in either case.
 */
int strategy_net_read(struct strategy_net *net, const char *const *paths, size_t path_count);
void strategy_net_free(struct strategy_net *net);

/* An update takes `total` ns as a whole: what that is more than the layers' counts to them by their
 * parameters, as kernels do that work on lists of all, or on copies that are no layer's. */
void strategy_net_spread_update(struct strategy_net *net, double total);

/* What the file of one run has as samples are rows of products (tokens); the run's batch has `batch` samples.
 * Which tensors layers share is not known then: the network becomes opaque. */
void strategy_net_rows(struct strategy_net *net, double batch);

/*
 * Numbers of a sample in the output of a layer as that file describes it: kind "conv2", sizes "3x3x16->32 s1
 * p1", input "64x16x32x32" (the batch comes first). Layers that are not described by sizes have as many as
 * come in. 0: the input is not known, or the sizes do not fit to it.
 */
double strategy_output_numbers(const char *kind, const char *sizes, const char *input);

enum strategy_time { STRATEGY_FORWARD, STRATEGY_BACKWARD, STRATEGY_UPDATE };

/* The layer's times of that pass, per measured batch. */
static inline double *strategy_times(const struct strategy_layer *layer, enum strategy_time which)
{
	return which == STRATEGY_FORWARD    ? layer->forward
	       : which == STRATEGY_BACKWARD ? layer->backward
					    : layer->update;
}

/* The time of a layer for a batch: on the line between the measured batches around it, or beyond them on that
 * of the nearest two; with one measured batch in proportion. Updates do not depend on it. */
double strategy_layer_time(
	const struct strategy_net *net, size_t layer, enum strategy_time which, double batch);
/* The sum over layers begin ... end-1. */
double strategy_time_of(
	const struct strategy_net *net, size_t begin, size_t end, enum strategy_time which, double batch);
double strategy_parameter_bytes(const struct strategy_net *net, size_t begin, size_t end);

/* ---- the cluster ---- */

struct strategy_link {
	double latency, bandwidth; /* ns, bytes per ns */
};

enum { STRATEGY_MAX_WORKERS = 1024 };

struct strategy_cluster {
	size_t workers, workers_per_node;
	struct strategy_link inside, between; /* in a node, between nodes */
	double network_links;                 /* of a node, that a collective uses side by side; 1 at least */
	double memory_bandwidth;              /* of a worker; 0: copies into buffers cost nothing */
	double memory;                        /* of a worker, bytes; 0: not known, and everything fits */
	bool memory_is_devices;               /* that of the measured run's GPU; the file has none */
	size_t measured;                      /* workers whose exchange one of the links is from; 0: none */
	bool is_measured_between;             /* that between nodes */
	double own_memory[STRATEGY_MAX_WORKERS]; /* of this worker, where it is another; else 0 */
	double copy_latency; /* of a copy on a worker, ns; each gradient of a bucket is copied twice */
	double slow[STRATEGY_MAX_WORKERS]; /* factor on a worker's computing, 1: as measured */
	struct strategy_exception {
		size_t from, to; /* both directions */
		struct strategy_link link;
	} * exceptions;
	size_t exception_count;
	const size_t *order; /* the worker whose links a place has; NULL: they stand as they are numbered */
	char error[512];
};

/* The folder of known clusters, which come with the program, and how their names end. */
#define STRATEGY_CLUSTERS "clusters"
#define STRATEGY_CLUSTER_END ".cluster"

/* Reads the file (see pmfit strategy --help), or that of a known cluster by its name. 0 or -errno;
 * strategy_cluster_free in either case. */
int strategy_cluster_read(struct strategy_cluster *cluster, const char *path);
/* Memory and its bandwidth, where the file has none, are those of the GPU that the network was measured on.
 */
void strategy_cluster_complete(struct strategy_cluster *cluster, const struct strategy_net *net);
/* The known cluster with such GPUs, by the longest of the names in its file's `device` lines that is part of
 * this one ("NVIDIA A100-SXM4-40GB"). Its name, which the caller frees; NULL: none, or no memory. */
char *strategy_known_cluster(const char *device);
/* The names of all known clusters, with commas between; the caller frees it. NULL without memory. */
char *strategy_known_clusters(void);
void strategy_cluster_free(struct strategy_cluster *cluster);

/* The factor of the worker that computes quickest; *worker (may be NULL) is the first of them. */
double strategy_quickest(const struct strategy_cluster *cluster, size_t *worker);
/* What a worker can hold, bytes; infinite where it is not known. */
double strategy_room(const struct strategy_cluster *cluster, size_t worker);
/* Of the first workers, the one that can hold least. */
double strategy_least_room(const struct strategy_cluster *cluster);

struct strategy_link strategy_link_of(const struct strategy_cluster *cluster, size_t from, size_t to);
/* The same for the rings of a collective of workers first ... first+count-1, which leave a node over all its
 * network_links at once, at most as many as there are such workers on a node: one ring each (NCCL's
 * channels). More than one was not validated against a run. */
struct strategy_link strategy_ring_link(
	const struct strategy_cluster *cluster, size_t first, size_t count, size_t from, size_t to);
/* L + bytes/B of the link. */
double strategy_message(const struct strategy_cluster *cluster, size_t from, size_t to, double bytes);
/*
 * An all-reduce among the workers first ... first+count-1: the quicker of the ring, 2(n-1) max(L + S/(nB)),
 * and the double tree, the latencies of the longest way up and down and 2 S/min(B).
 */
double strategy_all_reduce(const struct strategy_cluster *cluster, size_t first, size_t count, double bytes);

/* All-reduces of so many bytes that took so long on average, ns, from when the last worker was there. */
struct strategy_transfer {
	double bytes, time, count;
};
/*
 * The link between any two of n workers on which rings take that: 2(n-1) (L + S/(nB)), by least squares of
 * the relative error, each weighted by its part of the whole time, so that small ones, which are no rings,
 * say little. Where sizes are too alike to tell, or tell a negative one, L is that of *link. 0, or -EINVAL
 * where nothing was transferred; *link is then as it was.
 */
int strategy_link_fit(
	const struct strategy_transfer *transfers, size_t count, size_t workers, struct strategy_link *link);

/* Half of the ring: each worker sends its n-th n-1 times to the next. What a gather or a scatter of `bytes`
 * in all takes among all workers. */
double strategy_ring_half(const struct strategy_cluster *cluster, double bytes);

/* ---- data parallelism ---- */

enum strategy_aggregate {
	STRATEGY_AFTER,   /* layer by layer after the backward pass */
	STRATEGY_OVERLAP, /* layer by layer as soon as a gradient is there */
	STRATEGY_FUSED,   /* the same in buckets, which are copied together and apart */
};

struct strategy_how {
	double batch; /* samples of an iteration, over all workers */
	double other; /* reading and copying the whole batch on one worker; divided where workers divide it,
			 and in pipelines the first stage's before each forward pass */
	enum strategy_aggregate aggregate;
	double threshold;        /* bytes of a bucket */
	double cycle;            /* ns in which gradients are gathered for a bucket */
	double optimizer_copies; /* numbers that the optimizer keeps for a parameter: momentum 1, Adam 2 */
	bool recompute;          /* of pipelines that keep inputs only: a forward pass more */
};

/* An iteration of workers that share a batch. */
struct strategy_data_parts {
	double compute, update, total;
	double exchange; /* sums and copies, less their waiting */
	double exposed;  /* by how much they make the iteration longer */
	size_t buckets;
};

void strategy_data(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts);

/*
 * ZeRO's stages (Rajbhandari et al., SC 2020): each of n workers keeps an n-th of the optimizer's numbers
 * (1), also of the gradients (2), also of the parameters (3; FSDP's full sharding, Zhao et al., VLDB 2023).
 * What is exchanged (their section 7): gradients are scattered and parameters gathered, each (n-1) max(L +
 * S/(nB)) on a ring, as much as an all-reduce; in stage 3 parameters are gathered twice, half as much again.
 * By units, the layers between two places where the network may be cut. Stages 1 and 2 scatter next to the
 * backward pass and gather after the update; stage 3 gathers a unit while the one before is computed, in
 * forward and in backward, whose first unit is still there. Not validated against a run; PyTorch's
 * programs have their own (strategy_torch.h).
 */
void strategy_zero(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, int stage, struct strategy_data_parts *parts);

/* (5.1) as published: T_seq/W + 2(W-1) max_i(L_i + min(G, threshold) / (W B_i)). */
double strategy_published_data(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how);

/* ---- pipelines ---- */

enum strategy_kind {
	STRATEGY_MODEL,
	STRATEGY_GPIPE,     /* all forward passes, then all backward passes */
	STRATEGY_PIPEDREAM, /* one forward, one backward in turn (1F1B), with an update for each */
	STRATEGY_FLUSH,     /* 1F1B with an update a batch, stages in chunks (Megatron-LM) */
	STRATEGY_LAYERWISE  /* PipeDream with whole batches, twice as many under way */
};

enum { STRATEGY_MAX_STAGES = 256 };

/*
 * Stage s has the layers cut[s] ... cut[s+1]-1 and the workers first[s] ... first[s+1]-1. With several chunks
 * a worker has so many stages, one in each round over the workers: stage s has those of first[s % (stages /
 * chunks)] (Narayanan et al., SC 2021, section 2.2.2).
 */
struct strategy_plan {
	enum strategy_kind kind;
	size_t stage_count, micro_batches;
	size_t cut[STRATEGY_MAX_STAGES + 1], first[STRATEGY_MAX_STAGES + 1];
	size_t chunks; /* 0 is 1 */
};

/* Do batches follow each other at once, each micro-batch with an update of its own? */
static inline bool strategy_follows(const struct strategy_plan *plan)
{
	return plan->kind == STRATEGY_PIPEDREAM || plan->kind == STRATEGY_LAYERWISE;
}

/* Stages over chunks: the places that workers have in the pipeline. */
size_t strategy_places(const struct strategy_plan *plan);

/*
 * (6.1) + (6.2) as published, for one worker a stage, with the given cuts. `compute` and `message` may be
 * NULL; they get the two summands.
 */
double strategy_published_gpipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan, double *compute, double *message);

/*
 * Replays some batches and answers how long one takes once the pipeline is full. A message begins when the
 * receiver has a place for it: for as many inputs as it may have under way, for one gradient. A stage has one
 * gradient to send and, with recomputation, one output: the next waits until it has gone. Recomputation does
 * not wait for the gradient [GPipe, section 2.3]. With an update a batch no input of a batch is asked for
 * before the worker has updated with the one before, and all micro-batches but a batch's first add to
 * gradients that are there (strategy_accumulation). *warm_up (may be NULL): until the first batch is done.
 * Negative without memory.
 */
double strategy_pipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan, double *warm_up);

/*
 * Layer-wise partition and merge, forward and backward in parallel (Akintoye et al., arXiv:2207.11019, of
 * which the abstract is what we know): partitions of neighbouring layers, a worker each, and in each round a
 * worker has the forward pass of the newest batch and the backward pass and update of the oldest, so that no
 * partition waits for another's pass. Once full, a round takes strategy_bound: max(f + b + u) over
 * partitions, or the longest message; at most both together, where messages are not hidden at all
 * (strategy_pipe has what is between). This answers what it takes if the two passes of a worker run at once
 * and neither slows the other: max(f, b + u), or the longest message. No GPU was measured at that.
 */
double strategy_layerwise_least(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan);

/*
 * What backward passes of layers begin ... end-1 take more where they add to gradients of earlier
 * micro-batches, each of so many samples, ns. The gradient of a layer's parameters is half of its backward
 * pass, and is read and written: where memory takes longer for that than the half does, which products of few
 * samples with many parameters have. PyTorch, of a net that has_pairs, adds tensor by tensor, in a call each
 * that reads both and writes. 0 if the cluster's memory bandwidth is not known.
 */
double strategy_accumulation(const struct strategy_net *net, const struct strategy_cluster *cluster,
	size_t begin, size_t end, double samples);

/* PyTorch's schedules, of a net that has_pairs, divide a batch's gradients by its micro-batches before the
 * update: a call for each tensor, which reads and writes it, ns. Else 0. */
double strategy_division(
	const struct strategy_net *net, const struct strategy_cluster *cluster, size_t begin, size_t end);

/* Where batches follow each other, all stages but the last keep weights in several versions: an update begins
 * with a copy of so many bytes, ns. 0 if the cluster's memory bandwidth is not known. */
double strategy_new_version(const struct strategy_cluster *cluster, double bytes);

/* Micro-batches that a worker of the stage may have under way: enough to keep all later ones busy
 * (PipeDream), one for each pass after it, there and back, and its own (layer-wise), or a batch's (also with
 * a flush, where fewer are at any time: strategy_memory_plan). */
size_t strategy_depth(const struct strategy_plan *plan, size_t stage);

/*
 * The steady state's bound for a micro-batch: max over stages of its time over its replicas, with the
 * replicas' exchange, and over cuts of the message over the fewer replicas beside it. What strategy_cut makes
 * least.
 */
double strategy_bound(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_plan *plan);

/*
 * Cuts the chain so that strategy_bound is least, over all ways to cut into stages of so many replicas; 0:
 * also over the replicas of each stage (numbers that divide the micro-batches), with at least two stages.
 * With chunks so that the greatest chunk's bound is. Layer-wise: with any number of stages up to the workers,
 * and of all such cuts the one over which least is sent. plan->kind, micro_batches and chunks are given.
 * -ERANGE: the network has too few places to cut. -ENOMEM. 0.
 */
int strategy_cut(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t replicas, struct strategy_plan *plan);

/* ---- memory ---- */

/* Bytes on a worker, by what they are for. */
struct strategy_memory {
	double state;     /* parameters in all their versions, their gradients, the optimizer's numbers */
	double kept;      /* inputs, and what forward leaves for backward */
	double gradients; /* of activations, while backward goes by: the widest that are there at once */
	double bucket;    /* into which gradients are copied to be exchanged together */
	double rest; /* workspaces and whatever else the measured run took; of PyTorch what its blocks have
		      * more than the above, or less, since not all of that is there at once */
	double total;
	bool at_least; /* a lower bound: what the runs took does not tell, or they were not measured */
};

/*
 * Tensor parallelism in one dimension (Shoeybi et al., "Megatron-LM", 2019, section 3): all workers have the
 * whole batch and an n-th of each product. Divided by columns, a product takes a whole input and gives a
 * divided output, and its input's gradient is summed over the workers; by rows, it takes a divided input, and
 * its output is summed. What stands between divides its channels with them. A product by columns whose output
 * is needed whole gathers it. The cheapest sequence is found by dynamic programming; branches and sums have
 * whole inputs. An n-th of a product takes as long as the product with an n-th of the samples; layers in a
 * whole state compute it all, and nothing is hidden behind anything. As many channels as workers are taken
 * for granted. *memory: products' state divided, activations as the sequence has them, gradients of
 * activations whole. 0 or -ENOMEM.
 */
int strategy_tensor(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts, struct strategy_memory *memory);

/* What the measured runs say of a network's memory. */
enum strategy_basis {
	STRATEGY_COMPUTED, /* none of them tells; workspaces are not in it */
	STRATEGY_MEASURED,
	STRATEGY_LESS_THAN_STATE, /* they took less than parameters, gradients and optimizer: another one? */
	STRATEGY_RESERVED,        /* more than twice what the network explains: the program reserves memory */
	STRATEGY_REPLAYED,        /* PyTorch: measured, and a replay of its allocator */
};

extern const char *const strategy_basis_sentences[]; /* of each basis, what it means */

/*
 * The memory of a PyTorch program with one worker, DDP or ZeRO is that of the measured run with the nearest
 * batch, and by how much a replay of its allocator has more or less (strategy_torch.h). All else is as below.
 *
 * The memory of a run is S + f A b + R: S the state, A b the closed form of activations and their gradients
 * for a batch of b, and R what does not depend on it. f and R are the line through the measured runs, f 1
 * where one run leaves no choice (R is then what is missing), R 0 where that would be negative.
 */
struct strategy_memory_basis {
	enum strategy_basis basis;
	double factor, rest; /* f; R, in bytes */
};

/* Of runs with the optimizer of `how`. Where they cannot be used: 1 and 0. */
struct strategy_memory_basis strategy_memory_basis(
	const struct strategy_net *net, const struct strategy_how *how);

/* Of a worker that has the whole network and so many samples: alone, or one of several, with a bucket. By the
 * line alone, for what divides it further; and as it is known: measured, replayed, or by the line. */
struct strategy_memory strategy_memory_line(
	const struct strategy_net *net, const struct strategy_how *how, double batch, size_t workers);
struct strategy_memory strategy_memory_whole(
	const struct strategy_net *net, const struct strategy_how *how, double batch, size_t workers);

/*
 * Under ZeRO's stage 1 to 3: of the state (their section 5; P parameters, G gradients, K the optimizer's
 * numbers) P + G + K/n, P + (G+K)/n, (P+G+K)/n. As buckets the gradients of the widest unit, from stage 2 on,
 * and in stage 3 the parameters of the two widest that follow each other.
 */
struct strategy_memory strategy_memory_zero(const struct strategy_net *net, const struct strategy_how *how,
	double batch, size_t workers, int stage);

/*
 * Of a worker of that stage; and of the stage that needs most. PipeDream: a version of the parameters for
 * each micro-batch that is under way, and an input more, that may arrive early. GPipe: the inputs of all
 * micro-batches; with recomputation what forward leaves of one, else of all [GPipe, section 2.3]. 1F1B with
 * a flush: the most that its chunks have under way at once, and fresh gradients. Of R a
 * stage has a share as its largest layer has parameters of the network's largest: workspaces of
 * convolutions and an optimizer's intermediate results go with them.
 */
struct strategy_memory strategy_memory_stage(const struct strategy_net *net, const struct strategy_how *how,
	const struct strategy_plan *plan, size_t stage);
struct strategy_memory strategy_memory_plan(
	const struct strategy_net *net, const struct strategy_how *how, const struct strategy_plan *plan);

#endif
