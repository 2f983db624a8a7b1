/*
 * Text of --help, filled to a width. A newline ends a paragraph, and an empty line stays one; a paragraph is
 * filled, its leading blanks indent all of its lines; what fits in one line is left as it is. A tab parts a
 * term from its text: terms whose lines follow each other have their texts in one column.
 */
#ifndef BASE_HELP_H
#define BASE_HELP_H

#include <stdio.h>

void help_text(const char *text, int width, FILE *out);

/* A term and its text, which may have newlines; no text, or a term that reaches the column: the text begins
 * in the next line. Ends the line. */
void help_item(const char *term, const char *text, int indent, int column, int width, FILE *out);

/* Where texts begin beside terms of these lengths, one call for each; `column` begins as the indent. Terms
 * that are too long for a column do not count. */
int help_column(int column, int indent, int length);

#endif
