/* What measured rows of a device change: see correction.h. */
#include "correction.h"
#include "step/cholesky.h"

#include <math.h>

#define TERMS CORRECTION_TERMS

/* Standard deviations that a prior has at least: few devices say little of the next one. And what is assumed
 * where none was left out. */
static const double least_deviation[TERMS] = {0.4, 0.1, 0.3};
static const double usual_deviation[TERMS] = {0.6, 0.2, 0.3};
#define USUAL_NOISE 0.3
#define LEAST_NOISE 0.02
#define NOISE_WEIGHT 5   /* of the noise of other devices, in rows */
#define LEAST_CHANGE 0.7 /* of the noise's variance, by rows that happen to fit well */

static void terms_of(const struct correction_scale *scale, double predicted, double z[TERMS])
{
	z[0] = 1;
	z[1] = (predicted - scale->centre) / 2;
	z[2] = exp(fmin(scale->brief - predicted, 0));
}

/* Sums over rows: Z'Z, Z'e and e'e. */
struct sums {
	double gram[TERMS * TERMS], right[TERMS], square;
};

static struct sums sums_of(
	const struct correction_scale *scale, const double *predicted, const double *measured, size_t count)
{
	struct sums s = {0};

	for (size_t i = 0; i < count; i++) {
		const double e = measured[i] - predicted[i];
		double z[TERMS];

		terms_of(scale, predicted[i], z);
		for (size_t j = 0; j < TERMS; j++) {
			s.right[j] += z[j] * e;
			for (size_t k = 0; k < TERMS; k++)
				s.gram[j * TERMS + k] += z[j] * z[k];
		}
		s.square += e * e;
	}
	return s;
}

static double dot(const double a[TERMS], const double b[TERMS])
{
	double sum = 0;

	for (size_t j = 0; j < TERMS; j++)
		sum += a[j] * b[j];
	return sum;
}

/* The posterior of the terms with such a precision of each before, and the noise's variance. */
static void posterior(const struct sums *s, const double precision[TERMS], double variance,
	double terms[TERMS], double covariance[TERMS * TERMS])
{
	double factor[TERMS * TERMS];

	for (size_t i = 0; i < TERMS * TERMS; i++)
		factor[i] = s->gram[i] / variance + (i % (TERMS + 1) ? 0 : precision[i / (TERMS + 1)]);
	cholesky_factor(factor, TERMS); /* positive definite by its diagonal */
	for (size_t j = 0; j < TERMS; j++) {
		double column[TERMS] = {0};

		column[j] = 1;
		cholesky_solve(factor, TERMS, column);
		for (size_t k = 0; k < TERMS; k++)
			covariance[k * TERMS + j] = column[k];
	}
	for (size_t j = 0; j < TERMS; j++)
		terms[j] = dot(&covariance[j * TERMS], s->right) / variance;
}

struct correction_residual correction_measure(
	const struct correction_scale *scale, const double *predicted, const double *measured, size_t count)
{
	const struct sums s = sums_of(scale, predicted, measured, count);
	double precision[TERMS], covariance[TERMS * TERMS];
	struct correction_residual r;

	for (size_t j = 0; j < TERMS; j++)
		precision[j] = 1 / (usual_deviation[j] * usual_deviation[j]);
	posterior(&s, precision, LEAST_NOISE * LEAST_NOISE, r.terms, covariance);
	r.variance = s.square - 2 * dot(r.terms, s.right);
	for (size_t j = 0; j < TERMS; j++)
		r.variance += r.terms[j] * dot(&s.gram[j * TERMS], r.terms);
	r.variance = fmax(r.variance, 0) / (double)count;
	return r;
}

struct correction correction_prior(const struct correction_scale *scale,
	const struct correction_residual *residuals, size_t residual_count)
{
	struct correction prior = {.scale = *scale, .variance = USUAL_NOISE * USUAL_NOISE};

	for (size_t j = 0; j < TERMS; j++) {
		double variance = usual_deviation[j] * usual_deviation[j];

		if (residual_count) {
			variance = 0;
			for (size_t i = 0; i < residual_count; i++)
				variance += residuals[i].terms[j] * residuals[i].terms[j];
			variance = fmax(
				variance / (double)residual_count, least_deviation[j] * least_deviation[j]);
		}
		prior.covariance[j * (TERMS + 1)] = variance;
	}
	if (residual_count) {
		prior.variance = 0;
		for (size_t i = 0; i < residual_count; i++)
			prior.variance += residuals[i].variance / (double)residual_count;
		prior.variance = fmax(prior.variance, LEAST_NOISE * LEAST_NOISE);
	}
	return prior;
}

struct correction correction_after(
	const struct correction *prior, const double *predicted, const double *measured, size_t count)
{
	const struct sums s = sums_of(&prior->scale, predicted, measured, count);
	struct correction c = *prior;
	double precision[TERMS];
	double surprise; /* e'C^-1 e by Woodbury's identity: as many as there are rows, if the noise is as
			    expected */

	if (!count)
		return c;
	for (size_t j = 0; j < TERMS; j++)
		precision[j] = 1 / prior->covariance[j * (TERMS + 1)];
	posterior(&s, precision, c.variance, c.terms, c.covariance);
	surprise = (s.square - dot(c.terms, s.right)) / c.variance;
	c.variance *= fmax((NOISE_WEIGHT + surprise) / (NOISE_WEIGHT + (double)count), LEAST_CHANGE);
	posterior(&s, precision, c.variance, c.terms, c.covariance);
	return c;
}

static double quadratic(const struct correction *c, const double z[TERMS])
{
	double sum = 0;

	for (size_t j = 0; j < TERMS; j++)
		sum += z[j] * dot(&c->covariance[j * TERMS], z);
	return sum;
}

double correction_apply(const struct correction *correction, double predicted, double *variance)
{
	double z[TERMS];

	terms_of(&correction->scale, predicted, z);
	*variance = correction->variance + quadratic(correction, z);
	return predicted + dot(correction->terms, z);
}

double correction_sum_variance(
	const struct correction *correction, const double *predicted, const double *times, size_t count)
{
	double total = 0, mean[TERMS] = {0}, own = 0;

	for (size_t i = 0; i < count; i++)
		total += times[i];
	for (size_t i = 0; i < count; i++) {
		const double share = times[i] / total;
		double z[TERMS];

		terms_of(&correction->scale, predicted[i], z);
		for (size_t j = 0; j < TERMS; j++)
			mean[j] += share * z[j];
		own += share * share * correction->variance;
	}
	return own + quadratic(correction, mean);
}
