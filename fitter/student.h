/* Student's t: how far the mean of a few numbers may be from that of many. */
#ifndef STUDENT_H
#define STUDENT_H

#include <stddef.h>

/* The t with so many degrees of freedom (1 or more) that lies in -t .. t with this confidence (0 < it < 1).
 */
double student_quantile(double confidence, size_t degrees);

/* Half of the confidence interval of a mean over `count` numbers of this standard deviation (n - 1); NAN for
 * one. */
double student_margin(double confidence, double deviation, size_t count);

#endif
