/* What the languages share: names of columns, and the committees of a model of steps. */
#ifndef EXPORT_STEP_H
#define EXPORT_STEP_H

#include "export.h"

/* The identifiers of a formula's columns, NULL for those that are not in it. */
const char *const *export_columns(const struct export *export);

/* After the head of the file. */
void export_step_python(const struct export *export, FILE *out);
void export_step_c(const struct export *export, FILE *out);
void export_step_json(const struct export *export, cJSON *root);
const char *export_step_sheet(const struct export *export, FILE *out);

/* C's main: a field of the settings for each name that is not NULL, a word or a number. */
void export_c_main(const char *name, const char *const *names, const int *is_word, size_t count,
	const char *unit, FILE *out);

#define EXPORT_MASKS 8 /* of regions outside: batch 1, GPUs 2, nodes 4 */

/* What a candidate has to say in each of these: committee_weights. */
void export_step_weights(
	const struct committee *committee, double weights[EXPORT_MASKS][COMMITTEE_CANDIDATES]);

#endif
