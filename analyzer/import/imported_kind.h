/*
 * What a device event does, by its name: the rules of HolisticTraceAnalysis 0.6.1 (hta/common/types.py), so
 * that figures can be compared. In that order: communication, memory, computation, other.
 */
#ifndef IMPORT_IMPORTED_KIND_H
#define IMPORT_IMPORTED_KIND_H

#include "imported.h"

#include <regex.h>

enum foreign_kind foreign_kind_of(const char *name);

/* "COMPUTATION": the name of a kind, as HTA writes it. */
const char *foreign_kind_name(enum foreign_kind kind);

/* Kernels whose name the pattern finds are communication too. */
void foreign_kind_apply(struct foreign *foreign, const regex_t *pattern);

#endif
