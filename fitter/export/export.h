/*
 * Models that leave the program: what `pmfit predict` says, as source text that needs nothing of pmfit.
 *
 * A formula (pm_fit_model: the generic one, or what `pmfit search` found) is written as such; beyond the
 * fitted rows it is asked at their edge, and grows from there as beyond.h holds it. A model of `pmfit step`
 * is written as its committee: forms, residual processes, weights. All say the same time as `pmfit predict`,
 * to the rounding of a double; none has intervals. Settings keep the units of the fitted table, times its
 * unit.
 *
 * Names of columns become identifiers: letters, digits and underscores, unlike each other and unlike the
 * words of C and Python. The names and levels themselves stand in strings.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include "base/memory.h"
#include "pm_fit.h"
#include "step/step.h"

#include <stdio.h>

/* Either a formula or a model of steps. All of it stays the caller's. */
struct export
{
	const char *name;                 /* an identifier: of the module, the prefix of C's functions */
	const struct pm_fit_model *model; /* NULL: it is of steps */
	const struct step_model *step;
	const char *level; /* for a sheet: the level of `step` that it holds */
	struct arena *arena;
};

/* A module: predict(...), inside(...), formula(...); as a program it takes NAME=VALUE arguments. */
void export_python(const struct export *export, FILE *out);
/* C11: struct NAME_settings, NAME_predict; a program with -DPMFIT_MAIN. */
void export_c(const struct export *export, FILE *out);
/* A sheet of cells as CSV: settings are typed in, the time is a formula. NULL, or why there is none. */
const char *export_sheet(const struct export *export, FILE *out);
/* The formula as text with its columns, units and domain; of steps all that the committee consists of. The
 * caller deletes it. */
cJSON *export_json(const struct export *export);

#endif
