/* Inside table*.c: the cells of a table as people are shown them. */
#ifndef BASE_TABLE_CELLS_H
#define BASE_TABLE_CELLS_H

#include "table.h"

/* Of the columns that have a title. */
struct table_cells {
	size_t count, row_count; /* columns, and rows with that of the titles, which is the first */
	const char **texts;      /* row_count x count */
	bool *words;             /* by column: it has no numbers, and stands to the left */
	bool *times;             /* by column */
	size_t *columns;         /* the table's, of each */
	bool *of_previous;       /* by column: not to be parted from the one before */
	const char *unit;        /* of the times; NULL: there are none */
};

/* In the table's arena. */
struct table_cells table_cells(const struct print_table *table);

#endif
