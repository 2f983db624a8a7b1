/* What a person and a program read of a guide. Only for the command: libpmfit prints nothing. */
#ifndef GUIDE_PRINT_H
#define GUIDE_PRINT_H

#include "advise/guide.h"

#include "base/table.h"

#include <stdio.h>

/* The table: a row for each batch and number of GPUs, in their order. */
void guide_print_rows(const struct guide *guide, const struct guide_table *table, struct print_table *rows);
/* Scaling, C and elasticities in words, the table, and the recommendation. 0 or -ENOMEM. */
int guide_print_text(const struct guide *guide, const struct guide_table *table,
	const struct print_table *rows, FILE *out);
/* All of it on the program's standard output. 0 or -ENOMEM. */
int guide_print_json(
	const struct guide *guide, const struct guide_table *table, const struct print_table *rows);

/* One sentence that says what to take; the caller frees it, NULL without memory. */
char *guide_recommend(const struct guide *guide, const struct guide_table *table);

#endif
