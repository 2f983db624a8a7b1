/* A small trace with a little of everything that version 2 has: a graph and its launches, activities, slots
 * of all kinds, windows, modules, what the hook cost. */
#ifndef ODD_TRACE_H
#define ODD_TRACE_H

#include "trace_builder.h"

void odd_trace(struct builder *builder); /* the caller calls builder_free */

#endif
