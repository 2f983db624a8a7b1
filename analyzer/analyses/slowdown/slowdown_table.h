/* The tables of a slowdown analysis, for whoever prints them. */
#ifndef ANALYSES_SLOWDOWN_SLOWDOWN_TABLE_H
#define ANALYSES_SLOWDOWN_SLOWDOWN_TABLE_H

#include "base/table.h"
#include "slowdown.h"

enum slowdown_tables {
	SLOWDOWN_TABLE_CAUSES, /* what evening out each effect would give */
	SLOWDOWN_TABLE_OPERATIONS,
	SLOWDOWN_TABLE_STAGES,
	SLOWDOWN_TABLE_DATA,
	SLOWDOWN_TABLE_WORKERS,
	SLOWDOWN_TABLE_STEPS,
	SLOWDOWN_TABLES,
};

/* Fills a table that was begun (print_init). */
void slowdown_table(
	struct print_table *table, const struct slowdown *slowdown, unsigned which, enum print_form form);

const char *slowdown_table_key(unsigned which);   /* in JSON: "data_ranks" */
const char *slowdown_table_title(unsigned which); /* in text */

#endif
