/*
 * What a fitted model says of scaling and cost. The one idea: everything is asked of the model as a
 * prediction, and every answer is computed once for the best values and once for each bootstrap resample, so
 * that whatever is derived from times has an interval of its own.
 *
 * Times become work: an iteration is a batch (over all GPUs, or on each), an epoch is the data set. All rates
 * are samples over time; speed-ups are ratios of rates, so that strong and weak scaling have one definition:
 *
 *     S(N) = N0 * rate(N) / rate(N0)      efficiency = S(N) / N
 *     marginal efficiency = (S(N2) - S(N1)) / (N2 - N1)      of the GPUs that are added
 */
#ifndef GUIDE_H
#define GUIDE_H

#include "pm_fit.h"

#include <stdbool.h>

#define GUIDE_NONE ((size_t)-1)

/* A number and its interval; low and high are NAN where the model has no resamples. */
struct guide_number {
	double value, low, high;
};

/* What is asked. The model is the caller's and stays. */
struct guide {
	const struct pm_fit_model *model;
	size_t gpus, batch;                 /* columns, GUIDE_NONE: the model has no such */
	bool is_epoch;                      /* a time is that of an epoch; else of an iteration */
	bool is_local;                      /* the batch is that of a GPU; else of all together */
	double unit_s;                      /* seconds in the model's unit of time; NAN: not known */
	double samples;                     /* of an epoch; 0: not known */
	double price;                       /* of a GPU hour; 0: not known */
	double worth;                       /* least marginal efficiency for which GPUs are added */
	double most_gpus, most_local_batch; /* limits; 0: none */
	double *point; /* a value per column, as in struct pm_fit_column: where it is asked. Of guide_init */
};

/*
 * Finds the columns by name (NULL: "gpus" or "batch" if there is one) and puts the point into the middle:
 * the geometric mean of a number's fitted range (whole GPUs and batches), a category's first level. Columns
 * that are ignored do not count. NULL, or what is wrong in a sentence; guide_free in either case.
 */
const char *guide_init(
	struct guide *guide, const struct pm_fit_model *model, const char *gpus, const char *batch);
void guide_free(struct guide *guide);

/* Sets a column of the point from text: a number, or a level. NULL or a sentence. */
const char *guide_set(struct guide *guide, const char *name, const char *text);

/* Predicted times of `count` points (rows of column_count values): 1 + resample_count rows of `count`, the
 * best values' first; the caller frees them. NULL without memory. */
double *guide_times(const struct guide *guide, const double *points, size_t count);

/* Of 1 + resample_count numbers, the first of which is the best values'; sorts the others. */
struct guide_number guide_interval(const struct guide *guide, double *numbers);

/* What an exponent over GPUs or the batch means, in words; it is the guide's own column. */
const char *guide_meaning(const struct guide *guide, size_t column);

/* Per cent of time for a per cent of the column, at the point: the local exponent, by a central difference
 * (in a formula that tells 1 from more, at 1: the exponent of the step to 2).
 * For levels: the slowest one's time over the fastest one's, less 1. -ENOMEM, or 0. */
int guide_elasticity(const struct guide *guide, size_t column, struct guide_number *number);

/* C as a share of the predicted time at the point; NAN for a formula, which has none. -ENOMEM, or 0. */
int guide_constant_share(const struct guide *guide, struct guide_number *number);

/* The fitted power of a column: q of an extrinsic one, p of an intrinsic one; NAN if there is none. */
struct guide_number guide_power(const struct guide *guide, size_t column);

/* One configuration of the table. NAN where something is not known. */
struct guide_cell {
	double gpus, batch;
	struct guide_number time; /* in the model's unit */
	struct guide_number speedup;
	double efficiency, marginal; /* marginal: NAN for the first number of GPUs */
	double samples_per_s;        /* NAN without unit, or for epochs without --samples */
	double cost;                 /* of a million samples, in the price's unit */
	bool extrapolated;           /* GPUs or batch beyond what was fitted */
	bool allowed;                /* within the limits */
};

struct guide_table {
	size_t gpu_count, batch_count;
	struct guide_cell *cells; /* batch_count rows of gpu_count */
	size_t within;            /* numbers of GPUs that the limit allows: the first ones */
	size_t *last; /* per batch: of these the last (its place) that pays, GUIDE_NONE: there are none */
	size_t fastest, cheapest;               /* cells; GUIDE_NONE: no allowed one */
	size_t fastest_inside, cheapest_inside; /* of those that are no extrapolation */
};

/* GPUs ascending; without a column for the batch: one batch, NAN. 0 or -ENOMEM; guide_table_free either way.
 */
int guide_table_fill(const struct guide *guide, const double *gpus, size_t gpu_count, const double *batches,
	size_t batch_count, struct guide_table *table);
void guide_table_free(struct guide_table *table);

#endif
