/* What a person reads of a model. */
#ifndef REPORT_H
#define REPORT_H

#include "base/table.h"
#include "expression/expression.h"
#include "pm_fit.h"
#include "sentences.h"

#include <stdio.h>

/* "t = ( 3.85*lr^-0.026 + ... + [padding] ) * gpus^-1.08 + 3.44", then a line for each column of levels. */
void report_formula(const struct pm_fit_model *model, struct sentences *lines);
/* The same of a formula that pmfit search found, without "t = "; a line for each group of levels. */
void report_expression(
	const struct expression *expression, const struct expression_terms *terms, struct sentences *lines);
/* Every parameter with its spread, intervals and what is doubtful about it. */
void report_values(const struct pm_fit_model *model, FILE *out);

/* Errors on sets of samples, a row each, for text and HTML. The names live as long as the table. */
struct report_error {
	const char *name;
	struct pm_fit_error error;
	const char *note; /* may be NULL */
};
/* The columns of an empty table; the first one's title. */
void report_error_columns(struct print_table *table, const char *first);
void report_error_row(struct print_table *table, const struct report_error *error);
/* What the best constant would do on the fitted samples. */
void report_error_constant(struct print_table *table, const struct pm_fit_model *model);
void report_error_table(const struct report_error *errors, size_t count, FILE *out);
/* Errors on the samples that were fitted and on the test, beside the best constant's. `test` may be NULL. */
void report_errors(const struct pm_fit_model *model, const struct pm_fit_error *test, FILE *out);
/* Convergence over seeds, what is not determined, dead, or at a bound; nothing of a formula. */
void report_remarks(const struct pm_fit_model *model, struct sentences *said);
/* What the penalty has done: powers beside those of a fit without. */
void report_shift(
	const struct pm_fit_model *model, const struct pm_fit_model *freely, struct sentences *said);

#endif
