/*
 * Folds that keep levels: samples in an order in which those of one combination of levels lie side by side.
 * Dealt out one by one, every fold then has its share of each level, and none is fitted without a level that
 * it is asked for.
 */
#ifndef STRATA_H
#define STRATA_H

#include "pm_fit.h"

/* Sorts the samples by their levels, those of equal levels as they were. 1; 0 without columns of levels, and
 * nothing moves; or -ENOMEM. */
int strata_sort(const struct pm_fit_problem *problem, size_t *samples, size_t count);

/*
 * Folds that keep configurations: fold[k] of each sample, dealt out in this order, but samples with the same
 * settings in one fold: whoever has seen a configuration's other run predicts it too well. Of samples that
 * all differ the i-th is in fold i % fold_count. 0; -EINVAL: fewer configurations than folds; or -ENOMEM.
 */
int strata_folds(const struct pm_fit_problem *problem, const size_t *order, size_t fold_count, size_t *fold);

#endif
