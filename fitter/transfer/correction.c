/* What measured rows of a device change: see correction.h. */
#include "correction.h"

#include <math.h>

/* Standard deviations that a prior has at least: few devices say little of the next one. And what is assumed
 * where none was left out. */
static const double least_deviation[CORRECTION_TERMS] = {0.4, 0.1};
static const double usual_deviation[CORRECTION_TERMS] = {0.6, 0.2};
#define USUAL_NOISE 0.3
#define LEAST_NOISE 0.02
#define NOISE_WEIGHT 5   /* of the noise of other devices, in rows */
#define LEAST_CHANGE 0.7 /* of the noise's variance, by rows that happen to fit well */

static void terms_of(double centre, double predicted, double z[CORRECTION_TERMS])
{
	z[0] = 1;
	z[1] = (predicted - centre) / 2;
}

/* Sums over rows: Z'Z and Z'e. */
struct sums {
	double a, b, c; /* Z'Z = {{a, b}, {b, c}} */
	double right[CORRECTION_TERMS], square;
};

static struct sums sums_of(double centre, const double *predicted, const double *measured, size_t count)
{
	struct sums s = {0};

	for (size_t i = 0; i < count; i++) {
		const double e = measured[i] - predicted[i];
		double z[CORRECTION_TERMS];

		terms_of(centre, predicted[i], z);
		s.a += z[0] * z[0];
		s.b += z[0] * z[1];
		s.c += z[1] * z[1];
		s.right[0] += z[0] * e;
		s.right[1] += z[1] * e;
		s.square += e * e;
	}
	return s;
}

struct correction_residual correction_measure(
	double centre, const double *predicted, const double *measured, size_t count)
{
	const struct sums s = sums_of(centre, predicted, measured, count);
	const double determinant = s.a * s.c - s.b * s.b;
	struct correction_residual r = {.terms = {s.right[0] / s.a, 0}};

	if (determinant > 1e-9 * s.a * s.c && count > CORRECTION_TERMS) {
		r.terms[0] = (s.c * s.right[0] - s.b * s.right[1]) / determinant;
		r.terms[1] = (s.a * s.right[1] - s.b * s.right[0]) / determinant;
	}
	r.variance = fmax(s.square - r.terms[0] * s.right[0] - r.terms[1] * s.right[1], 0) / (double)count;
	return r;
}

struct correction correction_prior(
	double centre, const struct correction_residual *residuals, size_t residual_count)
{
	struct correction prior = {.centre = centre, .variance = USUAL_NOISE * USUAL_NOISE};

	for (size_t j = 0; j < CORRECTION_TERMS; j++) {
		double variance = usual_deviation[j] * usual_deviation[j];

		if (residual_count) {
			variance = 0;
			for (size_t i = 0; i < residual_count; i++)
				variance += residuals[i].terms[j] * residuals[i].terms[j];
			variance = fmax(
				variance / (double)residual_count, least_deviation[j] * least_deviation[j]);
		}
		prior.covariance[j * (CORRECTION_TERMS + 1)] = variance;
	}
	if (residual_count) {
		prior.variance = 0;
		for (size_t i = 0; i < residual_count; i++)
			prior.variance += residuals[i].variance / (double)residual_count;
		prior.variance = fmax(prior.variance, LEAST_NOISE * LEAST_NOISE);
	}
	return prior;
}

/* The posterior of the terms with the noise's variance. */
static void update(struct correction *c, const struct correction *prior, const struct sums *s)
{
	const double a = 1 / prior->covariance[0] + s->a / c->variance, b = s->b / c->variance;
	const double d = 1 / prior->covariance[3] + s->c / c->variance, determinant = a * d - b * b;
	const double inverse[] = {d / determinant, -b / determinant, -b / determinant, a / determinant};

	for (size_t i = 0; i < CORRECTION_TERMS * CORRECTION_TERMS; i++)
		c->covariance[i] = inverse[i];
	for (size_t i = 0; i < CORRECTION_TERMS; i++)
		c->terms[i] = (inverse[2 * i] * s->right[0] + inverse[2 * i + 1] * s->right[1]) / c->variance;
}

struct correction correction_after(
	const struct correction *prior, const double *predicted, const double *measured, size_t count)
{
	const struct sums s = sums_of(prior->centre, predicted, measured, count);
	struct correction c = *prior;
	double surprise; /* e'C^-1 e by Woodbury's identity: as many as there are rows, if the noise is as
			    expected */

	if (!count)
		return c;
	update(&c, prior, &s);
	surprise = (s.square - c.terms[0] * s.right[0] - c.terms[1] * s.right[1]) / c.variance;
	c.variance *= fmax((NOISE_WEIGHT + surprise) / (NOISE_WEIGHT + (double)count), LEAST_CHANGE);
	update(&c, prior, &s);
	return c;
}

static double quadratic(const struct correction *c, const double z[CORRECTION_TERMS])
{
	return z[0] * z[0] * c->covariance[0] + 2 * z[0] * z[1] * c->covariance[1] +
	       z[1] * z[1] * c->covariance[3];
}

double correction_apply(const struct correction *correction, double predicted, double *variance)
{
	double z[CORRECTION_TERMS];

	terms_of(correction->centre, predicted, z);
	*variance = correction->variance + quadratic(correction, z);
	return predicted + correction->terms[0] * z[0] + correction->terms[1] * z[1];
}

double correction_sum_variance(
	const struct correction *correction, const double *predicted, const double *times, size_t count)
{
	double total = 0, mean[CORRECTION_TERMS] = {0}, own = 0;

	for (size_t i = 0; i < count; i++)
		total += times[i];
	for (size_t i = 0; i < count; i++) {
		const double share = times[i] / total;
		double z[CORRECTION_TERMS];

		terms_of(correction->centre, predicted[i], z);
		for (size_t j = 0; j < CORRECTION_TERMS; j++)
			mean[j] += share * z[j];
		own += share * share * correction->variance;
	}
	return own + quadratic(correction, mean);
}
