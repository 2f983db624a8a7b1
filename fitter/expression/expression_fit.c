/* The constants of an expression, by damped Gauss-Newton steps (Levenberg, Marquardt): see expression.h. */
#include "expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST EXPRESSION_CONSTANTS
/* Absolute errors below this, relative to the time (or the mean time), count as squares. */
#define ROUNDED 0.01
/* Powers, as published; logarithms of levels' factors; of coefficients; of a norm's power. */
#define POWER_MOST 5
#define GROUP_MOST 20
#define COEFFICIENT_MOST 200
#define NORM_MOST 3
/* An answer that gets better by less than this share is the answer. */
#define ENOUGH 1e-7
/* Exponents that are still a number. */
#define EXPONENT_MOST 50

struct fit {
	struct expression *e;
	const struct expression_rows *rows;
	enum expression_cost cost;
	bool is_log; /* the first stage */
	double scale;
	double lower[MOST], upper[MOST];
	double slopes[MOST * EXPRESSION_BLOCK];
	double matrix[MOST * MOST], vector[MOST];
};

static void bound(struct fit *fit, size_t at, size_t count, double lower, double upper)
{
	for (size_t i = at; i < at + count; i++) {
		fit->lower[i] = lower;
		fit->upper[i] = upper;
	}
}

static void set_bounds(struct fit *fit)
{
	const struct expression *e = fit->e;

	for (size_t n = 0; n < e->node_count; n++) {
		const struct expression_node *node = &e->nodes[n];

		if (node->op == EXPRESSION_LEAF)
			bound(fit, node->at, 1, -COEFFICIENT_MOST, COEFFICIENT_MOST);
		else if (node->op == EXPRESSION_NORM)
			bound(fit, node->at, 1, 0, NORM_MOST);
		for (size_t f = 0; f < node->factor_count; f++) {
			const struct expression_factor *factor = &node->factors[f];
			int monotone = expression_monotone(fit->rows->terms, factor);
			size_t size = expression_factor_size(fit->rows->terms, factor);
			double most = factor->kind == EXPRESSION_GROUP ? GROUP_MOST : POWER_MOST;

			bound(fit, factor->at, size, monotone > 0 ? 0 : -most, monotone < 0 ? 0 : most);
		}
	}
	for (size_t i = 0; i < e->constant_count; i++)
		fit->e->constants[i] = fmin(fmax(fit->e->constants[i], fit->lower[i]), fit->upper[i]);
}

/* An error and its weight: half the cost's slope over the error, and how the error follows the logarithm. */
static double error_of(
	const struct fit *fit, size_t k, double log_time, double *error, double *slope, double *weight)
{
	const struct expression_rows *rows = fit->rows;
	double time, unit;

	if (fit->is_log) {
		*error = log_time - rows->log_time[k];
		*slope = *weight = 1;
		return *error * *error;
	}
	time = exp(fmin(log_time, rows->log_time[k] + EXPONENT_MOST));
	unit = fit->cost == EXPRESSION_RELATIVE ? rows->time[k] : fit->scale;
	*error = (time + rows->offset[k] - rows->time[k]) / unit;
	*slope = time / unit;
	if (fit->cost == EXPRESSION_SQUARED) {
		*weight = 1;
		return *error * *error;
	}
	*weight = 1 / sqrt(*error * *error + ROUNDED * ROUNDED);
	return 1 / *weight - ROUNDED;
}

static void add_row(struct fit *fit, size_t k, double error, double slope, double weight)
{
	size_t count = fit->e->constant_count;
	double row[MOST];

	for (size_t i = 0; i < count; i++)
		row[i] = fit->slopes[i * EXPRESSION_BLOCK + k] * slope;
	for (size_t i = 0; i < count; i++) {
		double scaled = row[i] * weight;

		if (scaled == 0)
			continue;
		fit->vector[i] += scaled * error;
		for (size_t j = 0; j <= i; j++)
			fit->matrix[i * MOST + j] += scaled * row[j];
	}
}

/* The mean cost, and the matrix and vector of the next step. */
static double pass(struct fit *fit)
{
	size_t rows = fit->rows->count, constants = fit->e->constant_count;
	double logs[EXPRESSION_BLOCK], total = 0;

	memset(fit->vector, 0, sizeof(fit->vector));
	for (size_t i = 0; i < constants; i++)
		memset(fit->matrix + i * MOST, 0, (i + 1) * sizeof(double));
	for (size_t begin = 0; begin < rows; begin += EXPRESSION_BLOCK) {
		size_t count = rows - begin < EXPRESSION_BLOCK ? rows - begin : EXPRESSION_BLOCK;

		expression_logs(fit->e, fit->rows, begin, count, logs, fit->slopes);
		for (size_t k = 0; k < count; k++) {
			double error, slope, weight;

			total += error_of(fit, begin + k, logs[k], &error, &slope, &weight);
			add_row(fit, k, error, slope, weight);
		}
	}
	return isfinite(total) ? total / (double)rows : HUGE_VAL;
}

/* Solves (matrix + damping * diagonal) step = -vector for those constants that may move. */
static bool solve(const struct fit *fit, double damping, double *step)
{
	size_t count = fit->e->constant_count, at[MOST], free_count = 0;
	double factor[MOST * MOST], y[MOST], trace = 0;

	for (size_t i = 0; i < count; i++) {
		double x = fit->e->constants[i], push = -fit->vector[i];

		step[i] = 0;
		trace += fit->matrix[i * MOST + i];
		if ((x > fit->lower[i] || push > 0) && (x < fit->upper[i] || push < 0))
			at[free_count++] = i;
	}
	for (size_t i = 0; i < free_count; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = fit->matrix[at[i] * MOST + at[j]];

			if (i == j)
				sum += damping * sum + 1e-10 * trace + 1e-300;
			for (size_t l = 0; l < j; l++)
				sum -= factor[i * MOST + l] * factor[j * MOST + l];
			if (i == j && !(sum > 0))
				return false;
			factor[i * MOST + j] = i == j ? sqrt(sum) : sum / factor[j * MOST + j];
		}
		y[i] = -fit->vector[at[i]];
		for (size_t l = 0; l < i; l++)
			y[i] -= factor[i * MOST + l] * y[l];
		y[i] /= factor[i * MOST + i];
	}
	for (size_t i = free_count; i-- > 0;) {
		for (size_t l = i + 1; l < free_count; l++)
			y[i] -= factor[l * MOST + i] * y[l];
		y[i] /= factor[i * MOST + i];
		step[at[i]] = y[i];
	}
	return true;
}

static void descend(struct fit *fit, size_t steps)
{
	double matrix[MOST * MOST], vector[MOST], before[MOST], step[MOST];
	double cost = pass(fit), damping = 1e-3;
	size_t count = fit->e->constant_count;

	for (size_t s = 0; s < steps && damping < 1e8; s++) {
		double next;

		memcpy(before, fit->e->constants, sizeof(before));
		memcpy(matrix, fit->matrix, count * MOST * sizeof(double));
		memcpy(vector, fit->vector, sizeof(vector));
		next = HUGE_VAL;
		if (solve(fit, damping, step)) {
			for (size_t i = 0; i < count; i++)
				fit->e->constants[i] =
					fmin(fmax(before[i] + step[i], fit->lower[i]), fit->upper[i]);
			next = pass(fit);
		}
		if (next < cost) {
			bool enough = cost - next < ENOUGH * cost;

			cost = next;
			damping = fmax(damping / 5, 1e-9);
			if (enough)
				return;
			continue;
		}
		memcpy(fit->e->constants, before, sizeof(before));
		memcpy(fit->matrix, matrix, count * MOST * sizeof(double));
		memcpy(fit->vector, vector, sizeof(vector));
		damping *= 8;
	}
}

double expression_loss(enum expression_cost cost, double measured, double predicted)
{
	double error = fabs(predicted - measured);

	if (cost == EXPRESSION_RELATIVE)
		return error / measured;
	return cost == EXPRESSION_ABSOLUTE ? error : error * error;
}

double expression_fit(struct expression *e, const struct expression_rows *rows, enum expression_cost cost,
	size_t log_steps, size_t steps)
{
	struct fit *fit = malloc(sizeof(*fit));
	double logs[EXPRESSION_BLOCK], loss = 0;

	if (!fit)
		return HUGE_VAL;
	fit->e = e;
	fit->rows = rows;
	fit->cost = cost;
	fit->scale = 0;
	for (size_t k = 0; k < rows->count; k++)
		fit->scale += rows->time[k] / (double)rows->count;
	set_bounds(fit);
	fit->is_log = true;
	if (log_steps)
		descend(fit, log_steps);
	fit->is_log = false;
	if (steps)
		descend(fit, steps);
	free(fit);
	for (size_t k = 0; k < rows->count; k++) {
		if (k % EXPRESSION_BLOCK == 0)
			expression_logs(e, rows, k,
				rows->count - k < EXPRESSION_BLOCK ? rows->count - k : EXPRESSION_BLOCK, logs,
				NULL);
		loss += expression_loss(
			cost, rows->time[k], exp(logs[k % EXPRESSION_BLOCK]) + rows->offset[k]);
	}
	return isfinite(loss) ? loss / (double)rows->count : HUGE_VAL;
}
