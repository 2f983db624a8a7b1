/* The iterations that a live run has completed. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "pmrun.h"

/* Never waits: as of the last look, which may be some seconds old; -1: not known. `now` in seconds. */
int pmrun_iterations(const struct pmrun_options *options, double now);
/* Ends a look that is under way. */
void pmrun_progress_end(void);

#endif
