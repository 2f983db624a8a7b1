/*
 * libpmfit: fits the generic model of a training program's time to measured runs, and predicts with it.
 *
 *     t(I, E) = (sum_i a_i * I_i^p_i + a coefficient per categorical column) * prod_j E_j^q_j + C    (4.4)
 *
 * Three structs and a few functions: a problem is the caller's data, a parameter block says how to fit, a
 * model is what comes out. `pm_fit_check` answers NULL or one sentence that says what is wrong; the other
 * functions rely on it.
 *
 *     struct pm_fit_parameter parameter;
 *     struct pm_fit_model *model;
 *     pm_fit_defaults(&parameter);
 *     sentence = pm_fit_check(&problem, &parameter);
 *     if (!sentence && pm_fit(&problem, &parameter, &model) == 0) {
 *             pm_fit_predict(model, &problem, times);
 *             pm_fit_free(model);
 *     }
 *
 * Nothing here prints, ends the program or keeps global state. Functions that can fail return 0 or -errno.
 * Calls on different objects may run in different threads; `pm_fit` uses threads of its own, and what it
 * answers does not depend on how many.
 */
#ifndef PM_FIT_H
#define PM_FIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the JSON model file; a file of a later version is refused. */
#define PM_FIT_FILE_VERSION 1

/* What a column is in the model. */
enum pm_fit_role {
	PM_FIT_IGNORED,
	PM_FIT_INTRINSIC,   /* a * x^p, added */
	PM_FIT_CATEGORICAL, /* one coefficient per level, added */
	PM_FIT_EXTRINSIC,   /* x^q, multiplies the sum */
	PM_FIT_FACTOR,      /* one factor per level, multiplies the sum; the first level's is 1 */
	PM_FIT_OFFSET,      /* a known part of the time, in its unit; added as it is */
};

struct pm_fit_column {
	const char *name;
	enum pm_fit_role role;
	const double
		*values;    /* one per sample; of categorical columns and factors the level's number from 0 */
	size_t level_count; /* categorical columns and factors */
	const char *const *levels; /* their names */
};

/* The samples. All memory is the caller's and is only read. */
struct pm_fit_problem {
	size_t sample_count, column_count;
	const struct pm_fit_column *columns;
	const double
		*time; /* measured, one per sample, positive; NULL where only predictions are asked for */
	const char *time_unit; /* any word: "ms"; may be NULL */
};

enum pm_fit_method {
	PM_FIT_JSO, /* success-history adaptive differential evolution with weighted best, over all parameters
		     */
	PM_FIT_LSHADE, /* the same family, older and plainer */
	PM_FIT_VARPRO, /* searches the powers; the coefficients are solved for */
	PM_FIT_DE,     /* differential evolution with the defaults of SciPy, including its tolerance and its
			  polish */
};

enum pm_fit_penalty { PM_FIT_NO_PENALTY, PM_FIT_L1, PM_FIT_L2 };

/* In which units the search runs and the bounds are meant. The penalty has a choice of its own. */
enum pm_fit_scale {
	PM_FIT_SCALE_ALL,    /* every numeric input and the time divided by their geometric means */
	PM_FIT_SCALE_INPUTS, /* the inputs only */
	PM_FIT_SCALE_NONE,   /* as published */
};

struct pm_fit_progress {
	size_t run, run_count;     /* of seeds; run is the one that reports */
	size_t evaluations, limit; /* in this run */
	double objective;          /* best so far of this run, in the time's unit */
	double seconds;            /* since pm_fit began */
};

struct pm_fit_parameter {
	enum pm_fit_method method;
	enum pm_fit_scale scale;
	enum pm_fit_penalty penalty;
	double lambda_coefficients, lambda_powers; /* the constant C is never penalised */
	int penalty_scaled; /* penalise the parameters in scaled units, not as published */
	double coefficient_lower, coefficient_upper; /* of intrinsic terms */
	double categorical_lower, categorical_upper; /* of levels */
	double constant_lower, constant_upper;       /* C */
	double power_lower, power_upper;             /* p, q and the logarithms of factors */
	size_t run_count;                            /* independent runs with the seeds seed, seed + 1, ... */
	uint64_t seed;
	size_t evaluations; /* of the cost function in a run; 0: what the method is known to need */
	size_t population;  /* 0: the method's own */
	double tolerance;   /* PM_FIT_DE stops when the population's costs spread less, relative to their mean
			     */
	int polish;         /* end each run with a local search */
	size_t bootstrap;   /* resamples for intervals, 0: none */
	double confidence;  /* of those intervals: 0.95 */
	size_t thread_count; /* 0: one per processor */
	void (*progress)(void *context,
		const struct pm_fit_progress *progress); /* one thread at a time; may be NULL */
	void *context;
	/* not 0: end soon with the best so far. Read atomically: to be set by a signal handler, or by
	 * __atomic_store_n. May be NULL */
	const int *stop;
};

enum pm_fit_kind {
	PM_FIT_KIND_COEFFICIENT, /* a of an intrinsic column */
	PM_FIT_KIND_LEVEL,       /* coefficient of a level of a categorical column */
	PM_FIT_KIND_BASE,        /* the whole sum, where no column is in it */
	PM_FIT_KIND_CONSTANT,    /* C */
	PM_FIT_KIND_POWER,       /* p of an intrinsic column */
	PM_FIT_KIND_EXTRINSIC,   /* q of an extrinsic column */
	PM_FIT_KIND_FACTOR,      /* logarithm of the factor of a level, all but the first */
};

/* What is to be known about a value before it is believed. */
enum {
	PM_FIT_AT_LOWER = 1,     /* at its lower bound */
	PM_FIT_AT_UPPER = 2,     /* at its upper bound */
	PM_FIT_DEAD = 4,         /* the term is less than 0.05% of every prediction */
	PM_FIT_UNDETERMINED = 8, /* other values give the same predictions */
	PM_FIT_OUTSIDE = 16,     /* in original units outside of the bounds' numbers */
};

struct pm_fit_value {
	enum pm_fit_kind kind;
	char *name;           /* "a kernel", "p kernel", "padding=same", "q gpus", "C" */
	size_t column, level; /* in the model's columns; column is SIZE_MAX for C and the base */
	double value;         /* of the best run, in original units */
	double scaled;        /* the same in the units of the search */
	double lower, upper;  /* bounds of `scaled` */
	double mean, sd;      /* of `value` over the runs: the search's noise, no interval */
	double low, high;     /* bootstrap interval, NAN without bootstrap */
	unsigned flags;
};

/* One of the identified parameters: what remains of the levels when the free shifts between groups are
 * taken out. */
struct pm_fit_contrast {
	char *name;   /* "base", "padding=same" */
	double value; /* a level's coefficient less the mean of its column's; the base is the sum of those
			 means */
	double mean, sd, low, high;
};

enum pm_fit_end {
	PM_FIT_END_CONVERGED, /* the population has met in a point, better than a constant */
	PM_FIT_END_LIMIT,     /* the evaluations are used up */
	PM_FIT_END_PLATEAU,   /* the population has met on a plateau: no better than a constant */
	PM_FIT_END_INTERRUPTED,
};

struct pm_fit_run {
	uint64_t seed;
	double objective, error; /* with and without penalty, in the time's unit */
	double searched;         /* objective before the polish */
	size_t evaluations, generations;
	double seconds;
	enum pm_fit_end end;
	double *values; /* value_count, in original units */
	double *scaled; /* value_count, in the units of the search */
};

struct pm_fit_error {
	size_t sample_count;
	double mae, mse, rmse, r2;
	double mape;           /* percent of the measured time */
	double mape_predicted; /* percent of the predicted time, as (4.13) is printed */
};

struct pm_fit_model_column {
	char *name;
	enum pm_fit_role role;
	size_t level_count;
	char **levels;
	double scale;           /* geometric mean of the samples, 1 where not scaled */
	double least, greatest; /* of the samples: beyond is extrapolation */
};

struct pm_fit_expression;

struct pm_fit_model {
	/* NULL, or what `pmfit search` found: it predicts in place of (4.4), and there are no values. */
	struct pm_fit_expression *expression;
	size_t column_count;
	struct pm_fit_model_column *columns;
	char *time_unit; /* may be NULL */
	double time_scale;
	struct pm_fit_parameter parameter; /* how it was fitted; callbacks are NULL */
	size_t value_count;
	struct pm_fit_value *values;
	size_t contrast_count;
	struct pm_fit_contrast *contrasts;
	size_t run_count, best_run;
	struct pm_fit_run *runs;
	size_t runs_agreeing;  /* within 0.1% of the best objective */
	size_t rank;           /* of the Jacobian: this many of value_count are determined */
	double constant_error; /* mean absolute error of the best constant */
	struct pm_fit_error train;
	double seconds;
	int interrupted;
	/* Quantiles of measured over predicted, of the samples that were fitted, from the least to the
	 * greatest at equal steps. 0 in files that were written before there were any. */
	size_t residual_count;
	double *residuals;
	/* The bootstrap's values, a row of value_count for each resample, in original units. */
	size_t resample_count;
	double *resamples;
};

void pm_fit_defaults(struct pm_fit_parameter *parameter);

/* NULL, or what makes the fit impossible, in one sentence, which is valid until the thread's next call. */
const char *pm_fit_check(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter);

/*
 * Calls `tell` for each thing that makes the fit doubtful but not impossible: a constant column, a level with
 * one sample, fewer samples than three per parameter.
 */
void pm_fit_warn(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	void (*tell)(void *context, const char *sentence), void *context);

/* About how many seconds pm_fit will take, from some evaluations that are made now; negative without memory.
 */
double pm_fit_estimate(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter);

/* The caller frees *model. -EINVAL: pm_fit_check would have said why. -ENOMEM, -EAGAIN. */
int pm_fit(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	struct pm_fit_model **model);
void pm_fit_free(struct pm_fit_model *model);

/*
 * NULL, or why the model says nothing about these samples: a column is missing, a level was not there in
 * training, a number cannot be raised to a power. Valid until the thread's next call.
 */
const char *pm_fit_check_predict(const struct pm_fit_model *model, const struct pm_fit_problem *problem);

/* Writes sample_count times. The columns are found by name; pm_fit_check_predict must have answered NULL. */
int pm_fit_predict(const struct pm_fit_model *model, const struct pm_fit_problem *problem, double *times);

/* What intervals of predictions are made of. */
enum pm_fit_interval {
	PM_FIT_INTERVAL_NONE,      /* the model has no residuals */
	PM_FIT_INTERVAL_RESIDUALS, /* the prediction times the residuals' quantiles: as if the values were
				    * exact
				    */
	PM_FIT_INTERVAL_BOOTSTRAP, /* each resample's prediction times the residuals: the values' doubt as
				    * well
				    */
};

/*
 * Writes sample_count ends of intervals that hold a measured time with that confidence (0.95). Says what they
 * are made of, PM_FIT_INTERVAL_NONE with NANs, or -ENOMEM. They know nothing of errors outside of the fitted
 * range. As pm_fit_predict otherwise.
 */
int pm_fit_predict_interval(const struct pm_fit_model *model, const struct pm_fit_problem *problem,
	double confidence, double *low, double *high);

/* The model's error on measured samples. */
int pm_fit_evaluate(
	const struct pm_fit_model *model, const struct pm_fit_problem *problem, struct pm_fit_error *error);

/* The same from measured and predicted times, whoever predicted them. */
void pm_fit_measure(
	const double *measured, const double *predicted, size_t count, struct pm_fit_error *error);

/* The model as JSON text, which the caller frees; NULL without memory. */
char *pm_fit_print(const struct pm_fit_model *model);
int pm_fit_save(const struct pm_fit_model *model, const char *path);
/* NULL, or why not in a sentence, valid until the thread's next call. The caller frees *model. */
const char *pm_fit_load(const char *path, struct pm_fit_model **model);
const char *pm_fit_parse(const char *text, struct pm_fit_model **model);

#ifdef __cplusplus
}
#endif
#endif
