/* Student's t: see student.h. For whole degrees of freedom the probability is a finite sum (Abramowitz and
 * Stegun 26.7.3 and 26.7.4), and the quantile is found by halving. */
#include "student.h"

#include <math.h>

/* Sums longer than this change no digit that anybody prints: beyond, the normal distribution's is taken. */
#define DEGREES_MOST 100000

/* The probability of -t .. t. */
static double probability_within(double t, size_t degrees)
{
	double angle = atan(t / sqrt((double)degrees)), square = cos(angle) * cos(angle);
	double term = degrees % 2 ? cos(angle) : 1, sum = 0;

	if (degrees > DEGREES_MOST)
		return erf(t / sqrt(2));
	for (size_t k = degrees % 2 ? 3 : 2; k <= degrees; k += 2) {
		sum += term;
		term *= square * (double)(k - 1) / (double)k;
	}
	if (degrees % 2)
		return 2 / M_PI * (angle + sin(angle) * sum);
	return sin(angle) * sum;
}

double student_quantile(double confidence, size_t degrees)
{
	double low = 0, high = 1;

	while (probability_within(high, degrees) < confidence && high < 1e12)
		high *= 2;
	for (int i = 0; i < 200; i++) {
		double middle = (low + high) / 2;

		if (probability_within(middle, degrees) < confidence)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double student_margin(double confidence, double deviation, size_t count)
{
	if (count < 2)
		return NAN;
	return student_quantile(confidence, count - 1) * deviation / sqrt((double)count);
}
