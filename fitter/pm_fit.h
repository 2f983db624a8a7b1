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
 * Nothing here prints or ends the program. Functions that can fail return 0 or -errno, or NULL and one
 * sentence (of at most 511 bytes), which belongs to the thread and is valid until its next call of any
 * function here. Calls on different objects may run in different threads; several threads may read one model.
 * `pm_fit` uses threads of its own, and its result does not depend on how many.
 *
 * Times are in the caller's unit, which is the same in a problem, the model fitted to it and what that
 * predicts. Arrays over samples have sample_count numbers, those over parameters value_count, in the order of
 * the model's values.
 */
#ifndef PM_FIT_H
#define PM_FIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
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
	const char *name; /* unique among the columns of its role */
	enum pm_fit_role role;
	/* One per sample: of categorical columns and factors the level's number from 0, of others any finite
	 * number that can be raised to the powers allowed. */
	const double *values;
	size_t level_count;        /* of categorical columns and factors, at least 1 */
	const char *const *levels; /* their names; NULL: their numbers */
};

/* The samples. All memory is the caller's and is only read. */
struct pm_fit_problem {
	size_t sample_count, column_count;
	const struct pm_fit_column *columns;
	const double *time; /* measured, one per sample, positive; NULL where only predictions are needed */
	const char *time_unit; /* any word: "ms"; may be NULL */
};

/* How the least cost is searched for. */
enum pm_fit_method {
	PM_FIT_JSO,    /* success-history adaptive differential evolution with weighted best */
	PM_FIT_VARPRO, /* searches the powers; the coefficients are solved for */
	PM_FIT_DE,     /* differential evolution with SciPy's defaults, its tolerance and its polish */
};

/* Added to the mean absolute error: lambda times the sum of absolute values or of squares. */
enum pm_fit_penalty { PM_FIT_NO_PENALTY, PM_FIT_L1, PM_FIT_L2 };

/* In which units the search runs and the bounds are meant. The penalty has a choice of its own. */
enum pm_fit_scale {
	PM_FIT_SCALE_ALL,    /* every numeric input and the time divided by their geometric means */
	PM_FIT_SCALE_INPUTS, /* the inputs only */
	PM_FIT_SCALE_NONE,   /* as published */
};

/* What a fit shows of itself while it runs. */
struct pm_fit_progress {
	size_t run, run_count;     /* of seeds; run is the one that reports */
	size_t evaluations, limit; /* in this run */
	double objective;          /* best so far of this run, in the time's unit */
	double seconds;            /* since pm_fit began */
};

/* How to fit; pm_fit_defaults fills it. */
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
	int polish;         /* not 0: end each run with a local search */
	size_t bootstrap;   /* resamples for intervals, 0: none */
	double confidence;  /* of those intervals, between 0 and 1 */
	size_t thread_count; /* 0: one per processor */
	/* Called now and then, from the fit's threads, one at a time; may be NULL. */
	void (*progress)(void *context, const struct pm_fit_progress *progress);
	void *context;
	/* Not 0: end soon with the best so far. Read atomically: to be set by a signal handler, or by
	 * __atomic_store_n. May be NULL. */
	const int *stop;
};

/* What a parameter is in the formula. */
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

/* A parameter of a model. */
struct pm_fit_value {
	enum pm_fit_kind kind;
	char *name;           /* "a kernel", "p kernel", "padding=same", "q gpus", "C" */
	size_t column, level; /* in the model's columns; column is SIZE_MAX for C and the base */
	double value;         /* of the best run, in original units */
	double scaled;        /* the same in the units of the search */
	double lower, upper;  /* bounds of `scaled` */
	double mean, sd;      /* of `value` over the runs: the search's noise, no interval */
	double low, high;     /* bootstrap interval, NAN without bootstrap */
	unsigned flags;       /* PM_FIT_AT_LOWER ... */
};

/* One of the identified parameters: what remains of the levels when the free shifts between groups are
 * taken out. */
struct pm_fit_contrast {
	char *name; /* "base", "padding=same" */
	/* A level's coefficient less the mean of its column's; the base is the sum of those means. */
	double value;
	double mean, sd, low, high; /* as of struct pm_fit_value */
};

/* Why a run ended. */
enum pm_fit_end {
	PM_FIT_END_CONVERGED, /* the population has met in a point, better than a constant */
	PM_FIT_END_LIMIT,     /* the evaluations are used up */
	PM_FIT_END_PLATEAU,   /* the population has met on a plateau: no better than a constant */
	PM_FIT_END_INTERRUPTED,
};

/* One search from one seed. */
struct pm_fit_run {
	uint64_t seed;
	double objective, error; /* with and without penalty, in the time's unit */
	double searched;         /* objective before the polish */
	size_t evaluations, generations;
	double seconds; /* that it took, not in the file; NAN: read from one */
	enum pm_fit_end end;
	double *values; /* value_count, in original units */
	double *scaled; /* value_count, in the units of the search */
};

/* How far predictions are from measured times: mae and rmse in the time's unit, mse in its square. */
struct pm_fit_error {
	size_t sample_count;
	double mae, mse, rmse;
	double r2;             /* NAN where all times are equal */
	double mape;           /* percent of the measured time */
	double mape_predicted; /* percent of the predicted time, as (4.13) is printed */
};

/* A column as a model knows it. */
struct pm_fit_model_column {
	char *name;
	enum pm_fit_role role;
	size_t level_count;
	char **levels;
	double scale;           /* geometric mean of the samples, 1 where not scaled */
	double least, greatest; /* of the samples: beyond is extrapolation */
};

struct pm_fit_expression;

/* Of a column, or of the predicted time: the group of a value begins with the last edge that is not above it;
 * levels are counted from 0. */
struct pm_fit_spread {
	size_t column; /* of the model; column_count: the predicted time */
	size_t count;
	double *from;
	double *below, *above; /* factors of the power of residuals below 1, and above */
};

/* What a fit or a file gives; all of it is the model's memory, which pm_fit_free frees, and is only read. */
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
	double seconds; /* that pm_fit took; as those of runs */
	int interrupted;
	/* Quantiles of measured over predicted, of the samples that were fitted, from the least to the
	 * greatest at equal steps. 0 in files that were written before there were any. */
	size_t residual_count;
	double *residuals;
	/* How much wider or narrower residuals are by groups of rows: none in files of before. Residuals are
	 * then what remains, and a prediction's are those to the power of the product of its groups' factors.
	 */
	size_t spread_count;
	struct pm_fit_spread *spreads;
	/* The bootstrap's values, a row of value_count for each resample, in original units. */
	size_t resample_count;
	double *resamples;
};

/* The published method: PM_FIT_JSO in scaled units, ten runs, no penalty, no bootstrap, all processors. */
void pm_fit_defaults(struct pm_fit_parameter *parameter);

/* NULL, or what makes the fit impossible: a missing number, a level that is not there, a time that is not
 * positive, bounds the wrong way round. */
const char *pm_fit_check(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter);

/*
 * Calls `warn` for each thing that makes the fit doubtful but not impossible: a constant column, a level with
 * one sample, fewer samples than three per parameter. A sentence is valid during the call. pm_fit_check must
 * have returned NULL.
 */
void pm_fit_warn(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	void (*warn)(void *context, const char *sentence), void *context);

/* About how many seconds pm_fit will take, from some evaluations that are made now; negative without memory.
 * pm_fit_check must have returned NULL. */
double pm_fit_estimate(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter);

/*
 * Fits the formula and returns after all runs. The problem is not needed afterwards; the caller frees *model,
 * which is NULL on failure: -EINVAL where pm_fit_check returns a sentence, -ENOMEM. Ended
 * by `stop` it succeeds, and the model has `interrupted` set.
 */
int pm_fit(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	struct pm_fit_model **model);

/* NULL is allowed. */
void pm_fit_free(struct pm_fit_model *model);

/* NULL, or why the model says nothing about these samples: a column is missing, a level was not there in
 * training, a number cannot be raised to a power. Times are not looked at. */
const char *pm_fit_check_predict(const struct pm_fit_model *model, const struct pm_fit_problem *problem);

/*
 * Writes sample_count times in the model's unit. The problem's columns are found by name and role, in any
 * order, levels by name; pm_fit_check_predict must have returned NULL. 0 or -ENOMEM.
 */
int pm_fit_predict(const struct pm_fit_model *model, const struct pm_fit_problem *problem, double *times);

/* What intervals of predictions are made of. */
enum pm_fit_interval {
	PM_FIT_INTERVAL_NONE,      /* the model has no residuals */
	PM_FIT_INTERVAL_RESIDUALS, /* the prediction times the residuals' quantiles: as if values were exact
				    */
	PM_FIT_INTERVAL_BOOTSTRAP, /* each resample's prediction times the residuals: the values' doubt too */
};

/*
 * Writes sample_count lower and upper ends of intervals that hold a measured time with that confidence
 * (0.95), in the model's unit. Returns what they are made of (PM_FIT_INTERVAL_NONE with NANs), or -ENOMEM.
 * They know nothing of errors outside of the fitted range. As pm_fit_predict otherwise.
 */
int pm_fit_predict_interval(const struct pm_fit_model *model, const struct pm_fit_problem *problem,
	double confidence, double *low, double *high);

/*
 * The same of the time that runs of a configuration have on average, which no number of runs takes one beyond: the
 * bootstrap's predictions. Returns PM_FIT_INTERVAL_BOOTSTRAP, PM_FIT_INTERVAL_NONE (NANs) without resamples, or
 * -ENOMEM.
 */
int pm_fit_predict_mean(const struct pm_fit_model *model, const struct pm_fit_problem *problem,
	double confidence, double *low, double *high);

/* The model's error on samples with measured times. As pm_fit_predict otherwise. */
int pm_fit_evaluate(
	const struct pm_fit_model *model, const struct pm_fit_problem *problem, struct pm_fit_error *error);

/* The same from `count` measured and predicted times, whatever predicted them. */
void pm_fit_measure(
	const double *measured, const double *predicted, size_t count, struct pm_fit_error *error);

/* The model as JSON text ended by a zero, which the caller frees with free; NULL without memory. */
char *pm_fit_print(const struct pm_fit_model *model);

/*
 * Writes that text to a file, whole or not at all. 0 or -errno. For signals whose default ends the process,
 * and for exit, it installs handlers that remove what is half written; handlers of the caller's stay.
 */
int pm_fit_save(const struct pm_fit_model *model, const char *path);

/*
 * A model from a file ("-": standard input) or from text ended by a zero, which may be anything. NULL, or why
 * not; the caller frees *model, which is NULL then. A file is read within the limits of time and memory that
 * `pmfit --help` lists.
 */
const char *pm_fit_load(const char *path, struct pm_fit_model **model);
const char *pm_fit_parse(const char *text, struct pm_fit_model **model);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
