/*
 * Operators of the framework by the sizes of their inputs: how much work each is, how long its kernels take,
 * and how close to the device's peak that is. Of traces whose operators have sizes (PyTorch's profiler with
 * record_shapes).
 */
#ifndef ANALYSES_ROOFLINE_OPERATOR_RATES_H
#define ANALYSES_ROOFLINE_OPERATOR_RATES_H

#include "roofline.h"

struct operator_rate {
	const char *name;  /* "aten::addmm", of the timeline */
	const char *shape; /* "8x4 4x2 fp32", of the arena */
	enum phase phase;
	enum work_kind kind;
	enum work_type type;
	double kernels;                /* that it launches in an iteration of a GPU, mean */
	struct roofline_amount amount; /* means; `calls`: of the operator */
	bool link;                     /* through a bus or network: there is no roof */
	uint32_t inputs;               /* in timeline.strings */
};

struct operator_rates {
	struct operator_rate *items; /* the most time first */
	size_t count, room;
	double time_ns;  /* of all work on a GPU in an iteration, mean */
	double known_ns; /* of that, in operators whose work is known */
	struct arena arena;
};

/* Without items where no operator has sizes. The caller frees it. */
void operator_rates_find(const struct analysis *analysis, const struct roofline_options *options,
	struct operator_rates *rates);
void operator_rates_free(struct operator_rates *rates);

/* A row for each of the `most` costliest. */
void operator_rates_table(const struct operator_rates *rates, struct print_table *table,
	enum roofline_reader reader, size_t most);

#endif
