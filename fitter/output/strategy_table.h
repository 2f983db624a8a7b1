/* All strategies for one network and cluster as a table, a row each: times, partitions, memory, and a note.
 */
#ifndef STRATEGY_TABLE_H
#define STRATEGY_TABLE_H

#include "strategy/strategy_choose.h"
#include "base/table.h"

/* The columns of a table that print_init has begun. */
/* Which workers data parallelism of unlike workers uses, or how many samples each has; "": of all others. Of
 * the arena. */
const char *strategy_table_workers(struct arena *arena, enum strategy_name name,
	const struct strategy_choice *choice, const struct strategy_cluster *cluster);

void strategy_table_begin(struct print_table *table);

/* A row for choices[name]; all of strategy_choose's are given. */
void strategy_table_row(struct print_table *table, const struct strategy_choice *choices,
	enum strategy_name name, const struct strategy_cluster *cluster, const struct strategy_net *net);

/* GiB of a worker in a column of figures; people see a lower bound as "≥ 0.5". */
void strategy_table_memory(struct print_table *table, size_t column, const struct strategy_memory *needs);

#endif
