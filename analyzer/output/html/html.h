/* The report as one HTML file that needs nothing else: no network, pictures inline. All of it can be read
 * without script; with it, tables sort and filter, and the timeline zooms (script_*.js). See page.h for how
 * it is written, the other files for its parts. */
#ifndef OUTPUT_HTML_HTML_H
#define OUTPUT_HTML_HTML_H

#include "reconstruct/run.h"

#include <stdio.h>

#define HTML_EVENTS 200000 /* default of event_most: a file of some 2 MB */

/* The runs after one another, before them their comparison where there are several. Whether all of it could
 * be written, `out` knows (ferror, fclose). `event_most`: how many events of a run go with its timeline; 0:
 * none. `progress`: standard error is a terminal, and shows it. */
void html_write(struct run *runs, size_t run_count, size_t event_most, bool progress, FILE *out);

#endif
