/* What the files of an advice share: advice.c predicts, advice_check.c compares with runs that were measured.
 */
#ifndef ADVISE_ADVICE_PRIVATE_H
#define ADVISE_ADVICE_PRIVATE_H

#include "advice.h"

/* A range that is at most so much of its lower end is moderately sure. */
#define ADVICE_NARROW 1.25

/* Samples as a multiple of those that were measured. */
double advice_times_run(const struct advice *a, double samples);

/* What limits a way on so many GPUs, from its time. */
void advice_set_limit(const struct advice *a, double gpus, struct advice_way *way);

/* Where runs on several GPUs were measured; the ranges of others reach as far as they were missed. */
void advice_compare_checks(struct advice *a);

/* The run that loses most to stragglers; and what the best of each row takes as long as they stay. After
 * each row's best is chosen. */
void advice_find_delayed(struct advice *a);

#endif
