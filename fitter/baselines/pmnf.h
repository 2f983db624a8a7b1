/*
 * The performance model normal form, as Extra-P has it: t = c0 + sum over terms c * product of
 * x^i * log2(x)^j, i and j from a short list (negative i as well, since times fall with GPUs). Categories
 * have no place in it. Terms are found one factor at a time, each move the one that lowers squared error
 * most, until the Bayesian information criterion says that it is not worth it.
 */
#ifndef PMNF_H
#define PMNF_H

#include "feature_matrix.h"

#define PMNF_TERMS 5
/* Samples among which terms are searched; the coefficients come from all. */
#define PMNF_ROWS 1500

feature_matrix_learner pmnf_learn;

#endif
