/*
 * Student's t and Fisher's F: see student.h. Both are the regularised incomplete beta function I_x(a, b),
 * which is computed from its continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22),
 * evaluated from the front by Lentz's method. The quantile is found by bisection: exact enough, and it cannot
 * go astray.
 */
#include "student.h"

#include <float.h>
#include <math.h>

static double away_from_zero(double value)
{
	return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* The continued fraction; it converges fast for x < (a + 1) / (a + b + 2). */
static double fraction(double x, double a, double b)
{
	double numerator = 1, denominator = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
	double value = denominator;

	for (int m = 1; m <= 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		denominator = 1 / away_from_zero(1 + even * denominator);
		numerator = away_from_zero(1 + even / numerator);
		value *= numerator * denominator;
		denominator = 1 / away_from_zero(1 + odd * denominator);
		numerator = away_from_zero(1 + odd / numerator);
		step = numerator * denominator;
		value *= step;
		if (fabs(step - 1) < DBL_EPSILON)
			break;
	}
	return value;
}

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign); /* lgamma itself writes a global */
}

/* I_x(a, b); `rest` is 1 - x, which may be known better than x. */
static double beta(double x, double rest, double a, double b)
{
	double front;

	if (x <= 0 || rest <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(rest));
	if (x < (a + 1) / (a + b + 2))
		return front * fraction(x, a, b) / a;
	return 1 - front * fraction(rest, b, a) / b;
}

double student_p(double t, double degrees)
{
	double square = t * t;

	if (!(degrees >= 1) || isnan(t))
		return NAN;
	if (isinf(square))
		return 0;
	return beta(degrees / (degrees + square), square / (degrees + square), degrees / 2, 0.5);
}

double student_quantile(double confidence, double degrees)
{
	double low = 0, high = 1;

	if (!(degrees >= 1) || !(confidence > 0 && confidence < 1))
		return NAN;
	while (student_p(high, degrees) > 1 - confidence)
		high *= 2;
	for (int i = 0; i < 200 && high - low > DBL_EPSILON * high; i++) {
		double middle = (low + high) / 2;

		if (student_p(middle, degrees) > 1 - confidence)
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
	return student_quantile(confidence, (double)(count - 1)) * deviation / sqrt((double)count);
}

double student_fisher_p(double f, double above, double below)
{
	double all;

	if (!(above >= 1 && below >= 1) || isnan(f))
		return NAN;
	if (isinf(f))
		return 0;
	all = below + above * f;
	return f <= 0 ? 1 : beta(below / all, above * f / all, below / 2, above / 2);
}
