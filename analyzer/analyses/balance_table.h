/* The table of ranks of pmanalyze balance, which the HTML report has too. */
#ifndef ANALYSES_BALANCE_TABLE_H
#define ANALYSES_BALANCE_TABLE_H

#include "balance.h"
#include "base/table.h"

/*
 * A row a rank, in ns of an iteration: computing, waiting, and how long the others wait for it; on a page
 * also as a share of their time.
 */
void balance_rank_table(struct print_table *table, struct analysis *analysis, const struct balance *balance,
	enum print_form form);

#endif
