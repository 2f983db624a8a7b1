/* The regression (3.9) over runs or over their iterations: its rows, the fit, and what has to be known about
 * it. */
#ifndef ANALYSES_SSGD_SSGD_REGRESSION_H
#define ANALYSES_SSGD_SSGD_REGRESSION_H

#include "ssgd_tables.h"
#include "ssgd_terms.h"

struct ssgd_question {
	enum ssgd_term terms[SSGD_TERM_COUNT];
	size_t term_count;
	double confidence; /* in (0, 1) */
	bool by_iteration; /* else a row is a run */
	bool median;       /* a run's t_iter is its median, not its mean */
};

struct ssgd_regression {
	struct regression fit;
	double *x, *y;         /* x[row * term_count + term]; y: t_iter, ns */
	size_t *items, *steps; /* of each row; step: SSGD_WHOLE for a run */
	size_t row_count;
	const char **remarks; /* sentences */
	size_t remark_count, remark_room;
	struct arena arena;
};

#define SSGD_WHOLE SIZE_MAX

/* Rows without a value for a term are left out, with a remark. count: at least 1. */
void ssgd_regress(const struct ssgd_item *items, size_t count, const struct ssgd_question *question,
	struct ssgd_regression *regression);
void ssgd_regression_free(struct ssgd_regression *regression);

/* Each row with its terms, what was measured, what is fitted, and what is left. */
void ssgd_residual_table(const struct ssgd_regression *regression, const struct ssgd_item *items,
	const struct ssgd_question *question, struct print_table *table);

/* All but the tables. */
void ssgd_regression_json(
	const struct ssgd_regression *regression, const struct ssgd_question *question, cJSON *object);

#endif
