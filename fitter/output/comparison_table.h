/* The tables of a comparison: see comparison_print.h. Those to be filled are empty. */
#ifndef COMPARISON_TABLE_H
#define COMPARISON_TABLE_H

#include "base/table.h"
#include "compare/comparison.h"

/* All figures, a row each: parameters and errors of the sets, and differences of each pair. */
void comparison_table_figures(const struct comparison *comparison, struct print_table *table);
void comparison_table_differences(const struct comparison *comparison, struct print_table *table);

/*
 * For people, a column for each set. Parameters, the contrasts of their levels, or of the parameters only the
 * extrinsic powers and the constant, with its share of the time: each has a row of the mean and the deviation
 * over seeds, and where it is known one of the interval.
 */
void comparison_table_parameters(const struct comparison *comparison, struct print_table *table);
void comparison_table_levels(const struct comparison *comparison, struct print_table *table);
void comparison_table_scaling(const struct comparison *comparison, struct print_table *table);
/* MAPE on the test rows by method; no rows where all sets are model files. */
void comparison_table_tests(const struct comparison *comparison, struct print_table *table);
/* The errors of one set's methods: rows of a table of error_table_init. */
void comparison_table_errors(
	const struct comparison *comparison, const struct comparison_set *set, struct print_table *table);

/* Does it tell how the time scales: a power of an extrinsic column, or C? */
bool comparison_is_scaling(enum pm_fit_kind kind);

/* NULL: the model has no such. */
const struct pm_fit_value *comparison_value(const struct pm_fit_model *model, const char *name);

#endif
