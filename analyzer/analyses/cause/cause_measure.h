/* Inside cause*.c: what a worker spends its iterations on, fine enough to be compared with another worker. */
#ifndef ANALYSES_CAUSE_CAUSE_MEASURE_H
#define ANALYSES_CAUSE_CAUSE_MEASURE_H

#include "cause.h"

/* The calls of one layer and phase that are alike but for addresses. Times are medians over iterations. */
struct cause_cell {
	uint32_t layer; /* of the worker, or LAYER_NONE */
	enum phase phase;
	uint64_t key;       /* the same on each worker */
	uint32_t operation; /* one of them */
	double work;        /* of one: its sizes multiplied, a measure to compare with itself only */
	double count;       /* in an iteration, mean */
	double time_ns;     /* in an iteration */
	double *sums;       /* by sample */
};

/* Figures of each sampled iteration, in ns. */
#define CAUSE_FIGURES(X) \
	X(iteration) /* all of it */ \
	X(compute)   /* forward, backward, update */ \
	X(lead) /* from its start to the first computation, without communication and what is left of the \
		   iteration before */ \
	X(io) \
	X(md) \
	X(h2d) \
	X(host) /* the device was idle because the next call came late */

struct cause_figure {
	double *values; /* by sample */
	double median;
};

struct cause_measure {
	const struct analysis_worker *worker;
	size_t sample_count;
	uint32_t *samples; /* numbers of iterations */
#define CAUSE_FIELD(name) struct cause_figure name;
	CAUSE_FIGURES(CAUSE_FIELD)
#undef CAUSE_FIELD
	size_t late_count;        /* calls that came late, in all samples */
	struct cause_cell *cells; /* by layer, phase, key */
	size_t cell_count, cell_room;
};

/* The measure's memory is in the arena, except the cells. */
void cause_measure(const struct analysis *analysis, const struct analysis_worker *worker, struct arena *arena,
	struct cause_measure *measure);
void cause_measure_free(struct cause_measure *measure);

/* Part of the samples in which the figure is greater than `ns`. */
double cause_recurs(const struct cause_measure *measure, const struct cause_figure *figure, double ns);

#endif
