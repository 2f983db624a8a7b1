/*
 * What measured rows of a device change in predictions made without it: the logarithm of measured over
 * predicted is w0 + w1 z + noise, z = (log predicted - centre) / 2: a factor, and another one for longer
 * layers than for shorter ones. Bayesian linear regression (Bishop, "Pattern Recognition and Machine
 * Learning", 3.3); how far w0 and w1 usually are from 0, and the noise, come from devices that were left out.
 */
#ifndef CORRECTION_H
#define CORRECTION_H

#include <stddef.h>

#define CORRECTION_TERMS 2

/* Of one device: what predictions without it lack. */
struct correction_residual {
	double terms[CORRECTION_TERMS], variance; /* least squares over its rows */
};

struct correction {
	double centre;                  /* of log predicted */
	double terms[CORRECTION_TERMS]; /* means */
	double covariance[CORRECTION_TERMS * CORRECTION_TERMS];
	double variance; /* of the noise */
};

/* Of `count` rows, at least one, with their predicted and measured logarithms. */
struct correction_residual correction_measure(
	double centre, const double *predicted, const double *measured, size_t count);

/* What is expected of a device before any of its rows is known. Without residuals: broad. */
struct correction correction_prior(
	double centre, const struct correction_residual *residuals, size_t residual_count);

/* And after `count` of its rows, which may be 0. */
struct correction correction_after(
	const struct correction *prior, const double *predicted, const double *measured, size_t count);

/* The corrected logarithm of a prediction, and the variance of a measurement around it. */
double correction_apply(const struct correction *correction, double predicted, double *variance);

/* The relative variance of a sum of corrected times, of which `times` are the parts. */
double correction_sum_variance(
	const struct correction *correction, const double *predicted, const double *times, size_t count);

#endif
