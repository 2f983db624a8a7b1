/* What people and programs read of a study. */
#ifndef STUDY_PRINT_H
#define STUDY_PRINT_H

#include "study.h"

/* Its title, then its tables with their notes. */
void study_text(const struct study *study, FILE *out);
/* {"title", and for each table by its name "title", "note" where it has one, "rows"}; the caller deletes it.
 */
cJSON *study_json(const struct study *study);
/* A page; `plots` (may be NULL) is that of the plots, for a link. */
void study_html(const struct study *study, const char *plots, FILE *out);

#endif
