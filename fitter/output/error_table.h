/*
 * The errors of several methods on the rows that were fitted and on the test rows, as pmfit baselines and
 * compare print them: means over seeds, with what other seeds make of them. Described once; text, CSV and
 * JSON come from it.
 */
#ifndef ERROR_TABLE_H
#define ERROR_TABLE_H

#include "base/table.h"
#include "baselines/baselines.h"

/* Over seeds. With one seed nothing but the mean is known: NaN. */
struct error_spread {
	double mean, sd;
	double low, high; /* confidence interval of the mean, by Student's t */
};
struct error_spread error_spread(
	const struct pm_fit_error *errors, size_t count, size_t offset, double confidence);

/* The columns of an empty table; rows are added by error_table_row. */
void error_table_init(struct print_table *table, struct arena *arena);
/* What a method that was skipped has is the reason, for people. The method lives as long as the table. */
void error_table_row(struct print_table *table, const struct baseline *method, bool test, double confidence);

/* What each method is, a row each; the table is empty. */
void error_table_methods(struct print_table *table, const struct baseline *methods, size_t count);

/*
 * A method with its errors: "train" and, where there is a test set, "test", each {"mape": {"mean", "sd",
 * "low", "high"}, ...}. `each`: with the errors of each seed, "seeds". The caller deletes it.
 */
cJSON *error_table_json(const struct baseline *method, bool with_test, bool each, double confidence);

#endif
