/* The part of the HTML report that sets each run against the first. */
#ifndef HTML_PAIR_H
#define HTML_PAIR_H

#include "compare.h"
#include "page.h"

/* A section for each run but the first of those that have iterations. */
void html_pairs(struct html_page *page, struct run *runs, size_t run_count);

#endif
