/* The report as one HTML file that needs nothing else: no network, no script, pictures inline. See
 * html_page.h for how it is written, html_*.c for its parts. */
#ifndef OUTPUT_HTML_HTML_H
#define OUTPUT_HTML_HTML_H

#include "reconstruct/run.h"

#include <stdio.h>

/* The runs after one another, before them their comparison where there are several. Whether all of it could
 * be written, `out` knows (ferror, fclose). `progress`: standard error is a terminal, and is told. */
void html_write(struct run *runs, size_t run_count, bool progress, FILE *out);

#endif
