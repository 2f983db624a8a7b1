/* The part of the HTML report that sets each run against the first. */
#ifndef OUTPUT_HTML_PAIR_H
#define OUTPUT_HTML_PAIR_H

#include "analyses/compare/compare.h"
#include "page.h"

/* A section for each run but the first of those that have iterations. */
void html_pairs(struct html_page *page, struct run *runs, size_t run_count);

#endif
