/*
 * Where to run: what a model of steps (step/step.h) says of numbers of GPUs, their placement and batches. For
 * each number of GPUs the dense placement (as few nodes as possible) and the spread one (a GPU on each node,
 * or as many nodes as there may be) are asked; throughput is samples a second:
 *
 *     rate = m k / T      efficiency = rate(k) / k / (rate(k0) / k0)
 *
 * with k0 the fewest GPUs of the list, dense, and the same samples on each GPU.
 */
#ifndef PLACE_H
#define PLACE_H

#include "step/step.h"

struct place_question {
	const struct step_level *level;
	double unit_s; /* seconds in the model's unit of time; NAN: not known, rates are per unit */
	double confidence;
	const double *gpus, *batches; /* ascending */
	size_t gpu_count, batch_count;
	bool is_global; /* batches are those of all GPUs together: those that k does not divide are left out
			 */
	double gpus_per_node;             /* at most */
	double most_nodes;                /* 0: as many as GPUs */
	double most_gpus, most_gpu_batch; /* limits of a recommendation; 0: none */
	double price;                     /* of a GPU hour; 0: not known */
	double worth;                     /* least efficiency of the GPUs that are added */
};

struct place_cell {
	struct form_point point;
	struct committee_answer answer; /* time NAN: no answer, with the reason */
	bool is_dense;
	double rate, rate_low, rate_high; /* samples a second, or a unit of time */
	double efficiency;                /* NAN: the fewest GPUs have no answer */
	double marginal;                  /* the same of the GPUs that were added; dense ones only */
	double cost;                      /* of a million samples */
	bool is_allowed;
};

#define PLACE_NONE ((size_t)-1)

struct place_table {
	struct place_cell *cells; /* by batch, then GPUs, dense before spread */
	size_t count;
	/* Cells, or PLACE_NONE: of those with an answer within the limits; inside: within the data too.
	 * Cheapest: per sample. */
	size_t fastest, cheapest, fastest_inside, cheapest_inside;
};

/* The caller frees the cells. */
void place_fill(const struct place_question *question, struct place_table *table);
void place_free(struct place_table *table);

/*
 * What else is worth saying of the cells within the limits: each a sentence, by `add`, which copies it. Where
 * more GPUs are slower; what spreading costs; what an efficiency above 1 is relative to; up to where adding
 * GPUs pays.
 */
void place_findings(const struct place_question *question, const struct place_table *table,
	void (*add)(void *context, const char *sentence), void *context);

#endif
