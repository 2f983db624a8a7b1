/* Student's and Fisher's distributions, as regressions and comparisons need them. */
#ifndef BASE_STUDENT_H
#define BASE_STUDENT_H

#include <stddef.h>

/* Probability that |T| > |t| with so many degrees of freedom, at least 1; NaN for fewer, or a NaN. */
double student_p(double t, double degrees);

/* The t with P(|T| <= t) = confidence, in (0, 1): 12.706 for 0.95 and one degree. NaN where there is none. */
double student_quantile(double confidence, double degrees);

/* Half of the confidence interval of a mean over `count` numbers of this standard deviation (n - 1); NaN for
 * one. */
double student_margin(double confidence, double deviation, size_t count);

/* Probability that F > f with so many degrees of freedom above and below, at least 1 each. */
double student_fisher_p(double f, double above, double below);

#endif
