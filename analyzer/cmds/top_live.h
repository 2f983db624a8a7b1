/* The live view of pmanalyze top. */
#ifndef CMDS_TOP_LIVE_H
#define CMDS_TOP_LIVE_H

#include "output/top_text.h"
#include "snapshot.h"

/*
 * Fills the terminal until somebody quits; reads again `every_s` after the reading before began, and so that
 * readings take at most a fifth of the time. Not again once the run has ended. Returns the exit status.
 */
int top_live(struct snapshot_source *source, enum top_order order, double every_s);

#endif
