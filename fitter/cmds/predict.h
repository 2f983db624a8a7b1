/* What the files of `pmfit predict` share. */
#ifndef PREDICT_H
#define PREDICT_H

#include "base/table.h"
#include "pm_fit.h"
#include "step/step.h"

struct predict_choices {
	const char *time;
	bool is_rate, skip_bad, plot, plain;
	bool formula;      /* the model's formula beyond its data too */
	double confidence; /* 0: the model's */
	enum print_form form;
	bool is_sum; /* text: without the rows */
	bool is_gate;
	double allowed; /* mean error from which the status says so, in percent, when gated */
};

/* The predictions of a table's rows, by whichever model. */
struct prediction {
	struct arena arena;         /* lives as long as the rows */
	struct print_table rows;    /* "line", then whatever columns the model has and prediction_columns */
	const char *interval;       /* what the intervals rest on, a word for JSON */
	const char *basis;          /* the same as a sentence */
	const char *unit;           /* of times; may be NULL */
	const char *why_unanswered; /* after the number of such rows */
	bool has_interval;
	double confidence;
	struct pm_fit_error all, inside; /* inside the fitted ranges */
	size_t covered;                  /* measured times within their intervals */
	size_t outside, unanswered;      /* rows */
	size_t held;                     /* times that the growth beyond the data was held */
	size_t missed;                   /* rows with a measured time and no prediction */
};

/* The rest of the struct is set before the columns are. */
void prediction_init(struct prediction *p);
void prediction_free(struct prediction *p);
/* Predicted, low, high, measured, error: the first one's number, for rows. */
size_t prediction_columns(struct prediction *p);
void prediction_row(struct prediction *p, size_t first, size_t line, double time, double low, double high,
	double measured);
/* In the form that is chosen. The exit status: 0; with a limit of the error 1 where no row has a measured
 * time, and PREDICTION_OFF where the error is above it or a measured row has no prediction, as is said on
 * stderr. */
enum { PREDICTION_OFF = 3 };
int prediction_print(struct prediction *p, const struct predict_choices *choices);

/* Answers a table by a model of `pmfit step`: all of the command. */
int predict_step(const struct step_model *model, const char *path, const struct predict_choices *choices);

/* Reads a table for such a model: the model's columns where the table has them, else by names that are known.
 * Times are in the columns' unit. Ends the program where that is impossible. */
void predict_step_read(const struct step_model *model, struct csv *csv, struct step_table *table,
	const char *path, const struct predict_choices *choices, struct step_columns *columns,
	struct arena *arena);

/*
 * Warns on stderr where measured and predicted times differ by a thousand or a million as a whole: then one
 * of them is in another unit. Times that are NAN do not count.
 */
void predict_check_units(const char *path, const double *measured, const double *predicted, size_t count);

#endif
