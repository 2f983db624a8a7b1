/*
 * Support vector regression by libsvm, with radial basis functions.
 *
 * `svr_learn`: positive columns become logarithms, columns and target get mean 0 and deviation 1; the
 * cost C, gamma and whether times or their logarithms are learnt come from a grid, by the mean absolute error
 * of three folds. `svr_learn_plain`: nothing is scaled and nothing chosen (C 1, epsilon 0.1, gamma one
 * over columns times variance), which is what published comparisons mostly are.
 */
#ifndef SVR_H
#define SVR_H

#include "feature_matrix.h"

/* Its cost grows with the square of the rows: of more than these that many are drawn. */
#define SVR_ROWS 10000
/* The same for the choice of the grid. */
#define SVR_GRID_ROWS 800

feature_matrix_learner svr_learn, svr_learn_plain;

#endif
