/* What people and programs read of a comparison. */
#ifndef COMPARISON_PRINT_H
#define COMPARISON_PRINT_H

#include "base/table.h"
#include "compare/comparison.h"

/* Text: its tables and sentences. CSV: all figures in one table. JSON: the models, errors, differences and
 * sentences. */
void comparison_print(const struct comparison *comparison, enum print_form form, FILE *out);

#endif
