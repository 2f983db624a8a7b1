/* What a person and a program read of a guide. Only for the command: libpmfit prints nothing. */
#ifndef GUIDE_PRINT_H
#define GUIDE_PRINT_H

#include "advise/guide.h"

#include <stdio.h>

/* Scaling, C and elasticities in words, the table, and the recommendation. 0 or -ENOMEM. */
int guide_print_text(const struct guide *guide, const struct guide_table *table, FILE *out);
/* The table, a line for each batch and number of GPUs. */
void guide_print_csv(const struct guide *guide, const struct guide_table *table, FILE *out);
/* All of it on the program's standard output. 0 or -ENOMEM. */
int guide_print_json(const struct guide *guide, const struct guide_table *table);

/* One sentence that says what to take; the caller frees it, NULL without memory. */
char *guide_recommend(const struct guide *guide, const struct guide_table *table);

#endif
