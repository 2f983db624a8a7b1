/*
 * The model of synchronous SGD: what an iteration would take if this or that overlapped, from the times of
 * its phases; beside it what it took. The assumption that comes closest tells how the program behaves.
 *
 * Equations are those of chapter 3 of "Performance Modelling for Scalable Deep Learning" (thesis, 2023). They
 * are evaluated for each iteration. From SSGD_AFTER on all ranks are looked at together: an exchange begins
 * when the last of them is there, and takes the time that it took that last rank, which waited for nobody.
 *
 * Idle time and work outside the phases are in none of the equations, so each prediction is also given with
 * the rest: the iteration's exclusive other work and idle time. That one is checked against what was
 * measured, for idle time is time in which nothing overlaps anything.
 */
#ifndef ANALYSES_SSGD_SSGD_H
#define ANALYSES_SSGD_SSGD_H

#include "reconstruct/analysis.h"
#include "timeline/thresholds.h"

/* key, equation, words for a table, words for a sentence. The order is that of preference where several say
 * the same. */
#define SSGD_LIST(X) \
	X(SERIES, "series", "3.2", "sequential, mean rank", "each phase comes after the other") \
	X(IMBALANCE, "imbalance", "3.3", "sequential, slowest rank", \
		"nothing overlaps, phases run one after another") \
	X(INPUT, "input", "3.5", "input overlapped", "the input overlaps the forward and backward pass") \
	X(FILES, "files", "", "file prefetch", "files are prefetched, in parallel with the whole iteration") \
	X(AFTER, "after", "", "aggregation after backward", \
		"nothing overlaps, gradients are aggregated after the whole backward pass") \
	X(LAYERS, "layers", "", "aggregation by layer", \
		"gradients are aggregated layer by layer, during the backward pass") \
	X(BUCKETS, "buckets", "", "aggregation in buckets", \
		"gradients are aggregated in buckets of several layers, during the backward pass") \
	X(AFTER_FILES, "after_files", "", "after backward, file prefetch", \
		"gradients are aggregated after the whole backward pass, and files are prefetched") \
	X(LAYERS_FILES, "layers_files", "", "by layer, file prefetch", \
		"gradients are aggregated layer by layer, during the backward pass, and files are prefetched") \
	X(BUCKETS_FILES, "buckets_files", "", "in buckets, file prefetch", \
		"gradients are aggregated in buckets of several layers, during the backward pass, and files " \
		"are prefetched") \
	X(AFTER_INPUT, "after_input", "", "after backward, input overlapped", \
		"gradients are aggregated after the whole backward pass, and the input overlaps all of it") \
	X(LAYERS_INPUT, "layers_input", "", "by layer, input overlapped", \
		"gradients are aggregated layer by layer, during the backward pass, and the input overlaps all of it") \
	X(BUCKETS_INPUT, "buckets_input", "", "in buckets, input overlapped", \
		"gradients are aggregated in buckets of several layers, during the backward pass, and the input " \
		"overlaps all of it") \
	X(BOUND, "bound", "", "everything overlapped (lower bound)", "everything overlaps everything")

enum ssgd_model {
#define SSGD_ITEM(name, key, equation, title, text) SSGD_##name,
	SSGD_LIST(SSGD_ITEM)
#undef SSGD_ITEM
		SSGD_COUNT,
};

/* A rank's part of an iteration, ns; communication with its waiting, all of them busy times. */
struct ssgd_rank {
	double io, h2d, md, forward, backward, communication, update;
	double rest;                                              /* exclusive: other work and idle time */
	double io_exposed, copies_exposed, communication_exposed; /* exclusive; copies: h2d and md */
	double compute;                                           /* forward, backward and update together */
	const double *layers_ns; /* backward time by layer, in order of the forward pass; NULL: not known */
};

/* A piece of communication: whose gradients, as shares that add up to 1. No parts: not known, all of them. */
struct ssgd_exchange {
	uint32_t part_count;
	const struct layer_part *parts; /* in order of the backward pass: the last layer first */
};

/* One iteration of all ranks. */
struct ssgd_step {
	double measured_ns;
	struct ssgd_rank *ranks;
	double *exchange_ns; /* without waiting, by exchange */
};

struct ssgd_shape {
	size_t rank_count, layer_count, exchange_count;
	const struct ssgd_exchange *exchanges; /* in order of the program's calls */
};

/* Over the iterations. */
struct ssgd_figure {
	bool predicted; /* else the data do not say, or another assumption is the same */
	struct analysis_statistics plain, full; /* full: with the rest */
	double error;                           /* of the means, plain: predicted / measured - 1 */
	double full_error;                      /* likewise, with the rest */
	double off;                             /* median over iterations of |full - measured| / measured */
};

struct ssgd {
	struct ssgd_shape shape;
	struct ssgd_step *steps;
	size_t step_count;
	bool parted;   /* the ranks have different parts of the network: no assumption of behaviour fits */
	bool bucketed; /* there are exchanges of several layers */
	const char *unpredicted; /* why nothing can be said of single layers; NULL: something can */
	struct analysis_statistics measured, rest;
	struct ssgd_figure figures[SSGD_COUNT];
	double files_hidden;  /* share of t_io that is beside other work; 0 without */
	double copies_hidden; /* likewise of t_h2d + t_md, and of t_c */
	double communication_hidden;
	enum ssgd_model best; /* SSGD_COUNT: none */
	double slowdown; /* t_iter under the best assumption, by what it would be were all ranks like the mean
			    rank; NaN on one GPU */
	struct arena arena;
};

/* From the used iterations of a run that has some. The analysis must stay. */
void ssgd_find(const struct analysis *analysis, struct ssgd *ssgd);
void ssgd_free(struct ssgd *ssgd);

/* The time of an iteration, in ns. NaN where layers are asked for and not known. */
double ssgd_predict(
	const struct ssgd_shape *shape, const struct ssgd_step *step, enum ssgd_model model, bool with_rest);

/* One iteration's prediction by what it would be if each rank had the mean of the ranks' times. */
double ssgd_slowdown(const struct ssgd_shape *shape, const struct ssgd_step *step, enum ssgd_model model);

/*
 * Fills steps and exchanges of `ssgd` (ssgd_gather.c). Ranks are matched by the number of the used iteration.
 */
void ssgd_gather(const struct analysis *analysis, struct ssgd *ssgd);

extern const char *const ssgd_keys[SSGD_COUNT],
	*const ssgd_equations[SSGD_COUNT], *const ssgd_titles[SSGD_COUNT], *const ssgd_texts[SSGD_COUNT];

/* Is the assumption one of behaviour, which a run can be said to have? The published equations count waiting
 * as communication, and waiting depends on what overlaps. */
bool ssgd_is_behaviour(const struct ssgd *ssgd, enum ssgd_model model);

/* (3.6) and (3.7) against a run on one GPU. work: samples of an iteration here by those there, N_g where each
 * GPU has the batch of the one. */
struct ssgd_speedup {
	double measured;   /* by the iterations' times */
	double equation_6; /* by (3.1) and (3.3) */
	double equation_7; /* both with input beside the rest */
};
struct ssgd_speedup ssgd_speedup(const struct ssgd *single, const struct ssgd *several, double work);

/* Indistinguishable from the best: another behaviour, predicted, that is off by hardly more. */
bool ssgd_is_alike(const struct ssgd *ssgd, enum ssgd_model model);

#endif
