/*
 * The published protocol on one table of trials: fits without regularisation and with L2, from ten seeds
 * each, beside other ways to predict, on the same split; and what lambda does. Each function makes one table
 * in the manner of the thesis; without memory the program ends.
 */
#ifndef STUDY_H
#define STUDY_H

#include "base/table.h"
#include "baselines/baselines.h"
#include "data/observations.h"
#include "fit/lambda_path.h"

/* The published penalty. */
#define STUDY_LAMBDA 0.001

enum { STUDY_FREE, STUDY_L2, STUDY_FITS };

enum study_tables {
	STUDY_PARAMETERS, /* of each fit, mean and deviation over seeds: Table 4.3 */
	STUDY_ERRORS,     /* of each method, on fitted and test samples: Table 4.4 */
	STUDY_SCALING,    /* the extrinsic exponents and C, in words: Table 4.5 */
	STUDY_PATH,       /* errors over lambda: figure 4.15 */
	STUDY_VALUES,     /* parameters over lambda: figures 4.16 and 4.17 */
	STUDY_TABLES,
};

struct study_table {
	const char *name;         /* of its file */
	const char *title, *note; /* the note may be "" */
	struct print_table rows;
};

struct study {
	struct arena arena; /* of the title and the tables */
	const char *title;  /* which samples, and the unit of their times */
	const struct observations *observations;
	struct pm_fit_parameter parameter;
	struct pm_fit_model *models[STUDY_FITS];
	struct baselines baselines;
	struct lambda_path path;
	struct study_table tables[STUDY_TABLES];
};

/* `path` is that of the table, for the title; `show` (may be NULL) is told what is being done. 0, -EINTR or
 * another -errno; study_free in either case. */
int study_run(struct study *study, const char *path, const struct observations *observations,
	const struct pm_fit_parameter *parameter, void (*show)(const char *what));
void study_free(struct study *study);

#endif
