/* What the files of `pmfit predict` share. */
#ifndef PREDICT_H
#define PREDICT_H

#include "step/step.h"

enum predict_format { PREDICT_TEXT, PREDICT_SUM, PREDICT_CSV, PREDICT_JSON };

struct predict_choices {
	const char *time;
	bool is_rate, skip_bad, plot, plain;
	bool formula;      /* the model's formula beyond its data too */
	double confidence; /* 0: the model's */
	enum predict_format format;
};

/* Answers a table by a model of `pmfit step`: all of the command. */
int predict_step(const struct step_model *model, const char *path, const struct predict_choices *choices);

/*
 * Warns on stderr where measured and predicted times differ by a thousand or a million as a whole: then one
 * of them is in another unit. Times that are NAN do not count.
 */
void predict_check_units(const char *path, const double *measured, const double *predicted, size_t count);

#endif
