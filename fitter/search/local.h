/*
 * Local searches, which end a run. Both begin with x, leave the best that they have seen there and answer its
 * objective; neither is ever worse than where it began.
 */
#ifndef LOCAL_H
#define LOCAL_H

#include "cost.h"

/*
 * The sum of absolute values has kinks, at which a gradient says nothing. So |r| is smoothed to sqrt(r^2 +
 * w^2); the smoothed cost is made least by damped Gauss-Newton steps inside the box, and w goes down to
 * nothing in stages.
 */
double local_smoothed(struct cost *cost, double *x);

/* A quasi-Newton method with the (sub)gradient and bounds, after L-BFGS-B: what SciPy's differential
 * evolution ends with. Not NLopt's: it reaches the same costs in the same time, and libpmfit would need one
 * more library. */
double local_lbfgs(struct cost *cost, double *x);

#endif
