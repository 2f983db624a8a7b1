/* The table of ranks of pmanalyze balance, which the HTML report has too. */
#ifndef ANALYSES_BALANCE_TABLE_H
#define ANALYSES_BALANCE_TABLE_H

#include "balance.h"
#include "base/table.h"

/*
 * A row a rank, in ns of an iteration: computing, waiting, and how long the others wait for it. `first` NULL:
 * in the order of ranks; else one word for each, and those that are true come first: the page, which has bars
 * and the share of the others' time, folds the rest.
 */
void balance_rank_table(struct print_table *table, struct analysis *analysis, const struct balance *balance,
	const bool *first);

#endif
