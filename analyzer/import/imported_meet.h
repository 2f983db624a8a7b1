/* What only all files together tell: ranks, communicators, which ranks meet at a collective, and clocks. */
#ifndef IMPORT_IMPORTED_MEET_H
#define IMPORT_IMPORTED_MEET_H

#include "arrivals.h"
#include "timeline/timeline.h"

/*
 * Settles the ranks of the processes of a timeline, gives communicators their ranks and sizes, numbers the
 * collectives that arrivals_find matched (so that collective_match finds the same), and moves processes by
 * what their clocks are apart. `ranks` belong to the processes, by their number. False: what the data says
 * of the ranks could not be used.
 */
bool imported_meet(struct timeline *timeline, struct arrivals_rank *ranks);

#endif
