/* A database that may be anybody's: what it may hold and take is bounded before anything is read. */
#ifndef IMPORT_NSYS_OPEN_H
#define IMPORT_NSYS_OPEN_H

#include "imported.h"

#include <sqlite3.h>

struct nsys_base {
	sqlite3 *base;
	void *image;       /* of a packed file */
	uint64_t rows;     /* that were read */
	const char *limit; /* the sentence of one that was met, or NULL */
};

/* 0, or -1 with the file's trouble. Closed in any case. */
int nsys_open(struct nsys_base *base, struct imported *imported);
void nsys_close(struct nsys_base *base);

/* Goes to the next row; a database that cannot be read further is noted, a limit is kept. */
bool nsys_next(struct nsys_base *base, struct imported *imported, sqlite3_stmt *statement);

/*
 * Is there such a table? One that is a view, or virtual, would compute what it seems to hold: that is the
 * file's trouble and ends the reading, *fails.
 */
bool nsys_has_table(struct nsys_base *base, struct imported *imported, const char *table, bool *fails);

#endif
