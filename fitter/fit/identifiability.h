/*
 * Which parameters the data determine. At the solution the Jacobian says how each parameter moves the
 * predictions; a combination of parameters that moves none of them is free.
 */
#ifndef IDENTIFIABILITY_H
#define IDENTIFIABILITY_H

#include "search/cost.h"

#include <stdbool.h>

/* Answers the rank and marks what takes part in a free combination; 0 without memory. */
size_t identifiability_rank(struct cost *cost, const double *x, bool *undetermined);

#endif
