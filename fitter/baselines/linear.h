/* Linear regression of the features (base/least_squares.h). */
#ifndef LINEAR_H
#define LINEAR_H

#include "feature_matrix.h"

feature_matrix_learner linear_learn;

#endif
