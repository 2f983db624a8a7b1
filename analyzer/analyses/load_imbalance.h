/* The load imbalance factor (LIF) of "Performance Modelling for Scalable Deep Learning", equation (3.8). */
#ifndef ANALYSES_LOAD_IMBALANCE_H
#define ANALYSES_LOAD_IMBALANCE_H

#include "reconstruct/analysis.h"

/* n * max / sum of what `count` workers take each; 1: balanced. NaN where nothing took time. */
double load_imbalance(const double *values, size_t count);

/* That of the mean computing times of all workers. */
double load_imbalance_computing(const struct analysis *analysis);

#endif
