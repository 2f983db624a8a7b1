/*
 * What a device event does, by its name: the rules of HolisticTraceAnalysis 0.6.1 (hta/common/types.py), so
 * that figures can be compared. In that order: communication, memory, computation, other.
 */
#ifndef IMPORT_IMPORTED_KIND_H
#define IMPORT_IMPORTED_KIND_H

#include "imported.h"

#include <regex.h>

enum imported_kind imported_kind_of(const char *name);

/* "COMPUTATION": the name of a kind, as HTA writes it. */
const char *imported_kind_name(enum imported_kind kind);

/* Kernels whose name the pattern finds are communication too. */
void imported_kind_apply(struct imported *imported, const regex_t *pattern);

#endif
