/* An active-set method: see quadratic.h. */
#include "quadratic.h"

#include <math.h>
#include <stdbool.h>

/* What a diagonal element is raised by before it is divided by, relative to itself: makes singular
 * matrices regular. */
#define RIDGE 1e-12
#define ROUNDS_PER_NUMBER 4

struct quadratic {
	const double *matrix, *vector, *lower, *upper;
	size_t size;
	double *x, *factor, *step, *state; /* state: 0 free, -1 at the lower bound, 1 at the upper */
};

static double element(const struct quadratic *q, size_t i, size_t j)
{
	return i <= j ? q->matrix[i * q->size + j] : q->matrix[j * q->size + i];
}

/* b - Ax */
static double slope(const struct quadratic *q, size_t i)
{
	double sum = q->vector[i];

	for (size_t j = 0; j < q->size; j++)
		sum -= element(q, i, j) * q->x[j];
	return sum;
}

/* The step of the free numbers to where the slope is zero, by Cholesky's decomposition. */
static void newton_step(struct quadratic *q, size_t *free_list, size_t count)
{
	size_t size = q->size;

	for (size_t i = 0; i < count; i++) {
		double *row = q->factor + i * size;

		for (size_t j = 0; j <= i; j++) {
			double sum = element(q, free_list[i], free_list[j]);

			if (i == j)
				sum += RIDGE * sum + 1e-300;
			for (size_t k = 0; k < j; k++)
				sum -= row[k] * q->factor[j * size + k];
			if (i == j)
				row[i] = sqrt(
					fmax(sum, RIDGE * element(q, free_list[i], free_list[i]) + 1e-300));
			else
				row[j] = sum / q->factor[j * size + j];
		}
	}
	for (size_t i = 0; i < count; i++) {
		double sum = slope(q, free_list[i]);

		for (size_t k = 0; k < i; k++)
			sum -= q->factor[i * size + k] * q->step[k];
		q->step[i] = sum / q->factor[i * size + i];
	}
	for (size_t i = count; i-- > 0;) {
		double sum = q->step[i];

		for (size_t k = i + 1; k < count; k++)
			sum -= q->factor[k * size + i] * q->step[k];
		q->step[i] = sum / q->factor[i * size + i];
	}
}

/* Goes as far as the box allows; what meets a bound stays there. True if nothing was in the way. */
static bool go(struct quadratic *q, const size_t *free_list, size_t count)
{
	double fraction = 1;

	for (size_t i = 0; i < count; i++) {
		size_t at = free_list[i];
		double room = (q->step[i] < 0 ? q->lower[at] : q->upper[at]) - q->x[at];

		if (fabs(q->step[i]) * fraction > fabs(room))
			fraction = room / q->step[i];
	}
	if (fraction < 0 || isnan(fraction))
		fraction = 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = free_list[i];
		double bound = q->step[i] < 0 ? q->lower[at] : q->upper[at];
		double room = bound - q->x[at];

		if (fraction < 1 && fabs(q->step[i]) * fraction >= fabs(room) * (1 - 1e-14)) {
			q->x[at] = bound;
			q->state[at] = q->step[i] < 0 ? -1 : 1;
		} else {
			q->x[at] += fraction * q->step[i];
		}
	}
	return fraction >= 1;
}

/* Frees the number at a bound that the slope pulls inward most; false if none is. */
static bool release(struct quadratic *q)
{
	double greatest = 0;
	size_t at = q->size;

	for (size_t i = 0; i < q->size; i++) {
		double pull = q->state[i] != 0 && q->lower[i] < q->upper[i] ? -q->state[i] * slope(q, i) : 0;

		/* in units that make the numbers comparable */
		pull /= sqrt(element(q, i, i)) + 1e-300;
		if (pull > greatest) {
			greatest = pull;
			at = i;
		}
	}
	if (at == q->size || greatest < 1e-13)
		return false;
	q->state[at] = 0;
	return true;
}

void quadratic_solve(const double *matrix, const double *vector, const double *lower, const double *upper,
	size_t size, double *x, double *work)
{
	struct quadratic q = {
		matrix, vector, lower, upper, size, x, work, work + size * size, work + size * (size + 1)};
	size_t *free_list = (size_t *)(void *)(work + size * (size + 2)), count;

	_Static_assert(sizeof(size_t) <= sizeof(double), "the list fits where numbers fit");
	for (size_t i = 0; i < size; i++) {
		q.state[i] = 0;
		if (x[i] <= lower[i]) {
			x[i] = lower[i];
			q.state[i] = -1;
		} else if (x[i] >= upper[i]) {
			x[i] = upper[i];
			q.state[i] = 1;
		}
	}
	for (size_t round = 0; round < ROUNDS_PER_NUMBER * size + 8; round++) {
		count = 0;
		for (size_t i = 0; i < size; i++)
			if (q.state[i] == 0)
				free_list[count++] = i;
		newton_step(&q, free_list, count);
		if (go(&q, free_list, count) && !release(&q))
			return;
	}
}
