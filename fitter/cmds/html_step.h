/* The half of `pmfit html` that is for models of steps. */
#ifndef CMDS_HTML_STEP_H
#define CMDS_HTML_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Are these models of steps? Then they are read, with their tables of measured rows (none, one, or one for
 * each), and the page is written to what `open` answers, which is asked when all was read. A mixture of
 * models, and what cannot be read, ends the program.
 */
bool html_step_models(char **paths, size_t count, char **tables, size_t table_count,
	FILE *(*open)(void *context), void *context);

#endif
