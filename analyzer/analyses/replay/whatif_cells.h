/*
 * Inside whatif*.c: what each worker spends on each kind of work in each iteration, as it was measured, and
 * what it would spend if it were like others. A kind of work is a phase, and for forward, backward and update
 * a layer's part of it.
 */
#ifndef ANALYSES_REPLAY_WHATIF_CELLS_H
#define ANALYSES_REPLAY_WHATIF_CELLS_H

#include "whatif.h"

struct whatif_cells;

struct whatif_cells *cells_make(const struct replay_job *job);
void cells_free(struct whatif_cells *cells); /* may be NULL */

/* Finds what a change of balance leaves of each kind of work. */
void cells_aim(struct whatif_cells *cells, const struct whatif_change *change);

/* Part of the task's time that the last cells_aim leaves. */
double cells_left(const struct whatif_cells *cells, const struct whatif_change *change, uint32_t task);

#endif
