/* Inside finding*.c: the sources of findings. */
#ifndef ANALYSES_FINDING_FINDING_MAKE_H
#define ANALYSES_FINDING_FINDING_MAKE_H

#include "finding.h"

/* Adds a finding if its gain is at least FINDING_LEAST of a step, or it has none. Sets what is NULL of its
 * texts, and the basis. */
void finding_add(struct finding_list *list, struct finding finding);

/* Strength of what is measured over the used iterations of all ranks that there are. */
enum finding_strength finding_measured(const struct finding_list *list);

/* The worker's typical exclusive time in the phase. */
double finding_phase(const struct finding_list *list, size_t worker, enum phase phase);

/* Each adds what it finds. */
void finding_stragglers(struct finding_list *list); /* finding_rank.c */
void finding_idle(struct finding_list *list);       /* finding_idle.c */
void finding_outliers(struct finding_list *list);   /* finding_outlier.c */
void finding_evaluation(struct finding_list *list); /* finding_evaluation.c */
void finding_job(struct finding_list *list);        /* finding_job.c */

#endif
