/* Inside worker*.c: which workers there are, and what is theirs. */
#ifndef RECONSTRUCT_WORKER_LIST_H
#define RECONSTRUCT_WORKER_LIST_H

#include "worker.h"

/* Computation: what the structure of an iteration is made of. */
bool worker_is_core(enum pm_kind kind);

/* Fills the model's workers: a device of a process with computations, its calls and its file input. */
void worker_list(struct worker_model *model);

#endif
