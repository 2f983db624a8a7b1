/*
 * What measured rows of a device change in predictions made without it: the logarithm of measured over
 * predicted is
 *
 *     w0 + w1 z + w2 s + noise     z = (log predicted - centre) / 2,   s = min(brief / predicted, 1)
 *
 * a factor, another one for longer layers than for shorter ones, and what launches take: a constant time
 * (another host, another driver) counts by the share that it has of a layer. Bayesian linear regression
 * (Bishop, "Pattern Recognition and Machine Learning", 3.3); how far the terms usually are from 0, and the
 * noise, come from devices that were left out.
 */
#ifndef CORRECTION_H
#define CORRECTION_H

#include <stddef.h>

#define CORRECTION_TERMS 3

/* Of a table: logarithms of times. */
struct correction_scale {
	double centre; /* of a layer of the usual length */
	double brief;  /* of one that is launches alone, as are those that take less */
};

/* Of one device: what predictions without it lack. */
struct correction_residual {
	double terms[CORRECTION_TERMS], variance; /* least squares over its rows */
};

struct correction {
	struct correction_scale scale;
	double terms[CORRECTION_TERMS]; /* means */
	double covariance[CORRECTION_TERMS * CORRECTION_TERMS];
	double variance; /* of the noise */
};

/* Of `count` rows, at least one, with their predicted and measured logarithms. Few rows leave terms that they
 * do not tell of near 0. */
struct correction_residual correction_measure(
	const struct correction_scale *scale, const double *predicted, const double *measured, size_t count);

/* What is expected of a device before any of its rows is known. Without residuals: broad. */
struct correction correction_prior(const struct correction_scale *scale,
	const struct correction_residual *residuals, size_t residual_count);

/* And after `count` of its rows, which may be 0. */
struct correction correction_after(
	const struct correction *prior, const double *predicted, const double *measured, size_t count);

/* The corrected logarithm of a prediction, and the variance of a measurement around it. */
double correction_apply(const struct correction *correction, double predicted, double *variance);

/* The relative variance of a sum of corrected times, of which `times` are the parts. */
double correction_sum_variance(
	const struct correction *correction, const double *predicted, const double *times, size_t count);

#endif
