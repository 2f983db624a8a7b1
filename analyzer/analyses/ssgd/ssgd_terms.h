/* What the regression (3.9) explains the iteration's time by: a term is a number that a run, or an iteration
 * of it, has. */
#ifndef ANALYSES_SSGD_SSGD_TERMS_H
#define ANALYSES_SSGD_SSGD_TERMS_H

#include "ssgd.h"

/* name, words; LIF and slowdown differ between the iterations of a run */
#define SSGD_TERM_LIST(X) \
	X(GPUS, "gpus", "N_g, the number of GPUs") \
	X(LIF, "lif", "load imbalance factor (3.8) of the computing times") \
	X(SLOWDOWN, "slowdown", "cost of imbalance, 1: none (see SLOWDOWN)") \
	X(INVERSE_GPUS, "inverse_gpus", "1/N_g: work divided among the GPUs") \
	X(BATCH, "batch", "samples per iteration, over all GPUs") \
	X(GPU_BATCH, "gpu_batch", "samples per iteration and GPU") \
	X(HOSTS, "hosts", "number of hosts") \
	X(PARAMETERS, "parameters", "learned parameters of the network")

enum ssgd_term {
#define SSGD_TERM_ITEM(name, key, text) SSGD_TERM_##name,
	SSGD_TERM_LIST(SSGD_TERM_ITEM)
#undef SSGD_TERM_ITEM
		SSGD_TERM_COUNT,
};

extern const char *const ssgd_term_keys[SSGD_TERM_COUNT];

/* "gpus,lif" to numbers of terms; room for SSGD_TERM_COUNT. Answers how many, or 0 with a sentence. */
size_t ssgd_terms_parse(const char *text, enum ssgd_term *terms, char sentence[200]);

/* The whole run's, from its means; NaN: not known. */
double ssgd_term_of_run(const struct analysis *analysis, const struct ssgd *ssgd, enum ssgd_term term);

/* Of one iteration. */
double ssgd_term_of_step(
	const struct analysis *analysis, const struct ssgd *ssgd, size_t step, enum ssgd_term term);

#endif
