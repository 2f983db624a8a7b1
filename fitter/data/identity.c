/* Columns that are the time in other words: see identity.h. */
#include "identity.h"
#include "base/memory.h"
#include "base/role.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 2e-3 /* standard deviation of the logarithm that is no more than rounding */
#define VARIES 0.05   /* and the least that the time has to have */
#define LEAST_ROWS 8
#define MOST_ROWS 2000
#define MOST_COLUMNS 16 /* numeric ones: the work is in proportion to their third power */

/* Logarithms of the time and of numeric columns. */
struct logs {
	size_t count, column_count;
	double *time, *columns[MOST_COLUMNS];
	size_t places[MOST_COLUMNS]; /* of the problem */
	struct arena arena;
};

static bool identity_take(struct logs *l, const struct pm_fit_problem *p, const double *values, double *to)
{
	size_t step = (p->sample_count + MOST_ROWS - 1) / MOST_ROWS;

	l->count = 0;
	for (size_t k = 0; k < p->sample_count; k += step) {
		if (!(values[k] > 0))
			return false;
		to[l->count++] = log(values[k]);
	}
	return true;
}

static bool logs_init(struct logs *l, const struct pm_fit_problem *p)
{
	*l = (struct logs){0};
	l->time = arena_alloc(&l->arena, MOST_ROWS + 1, sizeof(double));
	if (p->sample_count < LEAST_ROWS || !identity_take(l, p, p->time, l->time))
		return false;
	for (size_t i = 0; i < p->column_count && l->column_count < MOST_COLUMNS; i++) {
		double *to;

		if (role_has_levels(p->columns[i].role) || p->columns[i].role == PM_FIT_IGNORED)
			continue;
		to = arena_alloc(&l->arena, MOST_ROWS + 1, sizeof(double));
		if (!identity_take(l, p, p->columns[i].values, to))
			continue;
		l->columns[l->column_count] = to;
		l->places[l->column_count++] = i;
	}
	return true;
}

static double deviation(const double *values, size_t count)
{
	struct statistics_spread s = {0};

	for (size_t k = 0; k < count; k++)
		statistics_add(&s, values[k]);
	return statistics_deviation(&s);
}

static size_t different(const double *values, size_t count)
{
	double *sorted = mem_alloc(count + 1, sizeof(*sorted));
	size_t found = count > 0;

	memcpy(sorted, values, count * sizeof(*sorted));
	statistics_sort(sorted, count);
	for (size_t k = 1; k < count; k++)
		found += sorted[k] > sorted[k - 1];
	free(sorted);
	return found;
}

/* Adds others from `first` on, times or over, until what is left of the time is constant. */
static bool explain(const struct logs *l, const double *left, size_t first, size_t depth, size_t result,
	struct identity *found)
{
	double *next;
	bool is_found = false;

	if (!depth)
		return deviation(left, l->count) < ROUNDING;
	next = mem_alloc(l->count, sizeof(*next));
	for (size_t i = first; i < l->column_count && !is_found; i++)
		for (int sign = -1; sign <= 1 && !is_found && i != result; sign += 2) {
			for (size_t k = 0; k < l->count; k++)
				next[k] = left[k] + sign * l->columns[i][k];
			is_found = explain(l, next, i + 1, depth - 1, result, found);
			if (is_found)
				found->others[depth - 1] = l->places[i];
		}
	free(next);
	return is_found;
}

static bool find(const struct logs *l, size_t result, struct identity *found)
{
	double *left = mem_alloc(l->count, sizeof(*left));
	bool is_found = false;

	for (size_t depth = 0; depth <= IDENTITY_OTHERS && !is_found; depth++)
		for (int sign = -1; sign <= 1 && !is_found; sign += 2) {
			for (size_t k = 0; k < l->count; k++)
				left[k] = l->time[k] + sign * l->columns[result][k];
			is_found = explain(l, left, 0, depth, result, found);
			found->other_count = depth;
		}
	for (size_t i = 0; i < found->other_count / 2; i++) { /* the innermost was found last */
		size_t other = found->others[i], *last = &found->others[found->other_count - 1 - i];

		found->others[i] = *last;
		*last = other;
	}
	free(left);
	return is_found;
}

/* Of the logs the number of the problem's column; -1: has no logarithm, or only few values, as a setting has.
 */
static ptrdiff_t measured(const struct logs *l, size_t column)
{
	for (size_t i = 0; i < l->column_count; i++)
		if (l->places[i] == column)
			return 2 * different(l->columns[i], l->count) >= different(l->time, l->count)
				       ? (ptrdiff_t)i
				       : -1;
	return -1;
}

bool identity_find(const struct pm_fit_problem *problem, size_t column, struct identity *found)
{
	struct logs logs;
	bool is_found = false;

	*found = (struct identity){.column = column};
	if (logs_init(&logs, problem) && deviation(logs.time, logs.count) > VARIES) {
		ptrdiff_t place = measured(&logs, column);

		is_found = place >= 0 && find(&logs, (size_t)place, found);
	}
	arena_free(&logs.arena);
	return is_found;
}

double identity_share(const struct pm_fit_problem *problem, size_t column)
{
	struct logs l;
	double share = NAN;

	if (logs_init(&l, problem)) {
		ptrdiff_t place = measured(&l, column);
		double x = 0, y = 0, xx = 0, xy = 0, yy = 0, n = (double)l.count;

		for (size_t k = 0; place >= 0 && k < l.count; k++) {
			double a = l.columns[place][k] - l.columns[place][0], b = l.time[k] - l.time[0];

			x += a;
			y += b;
			xx += a * a;
			xy += a * b;
			yy += b * b;
		}
		share = place < 0 ? 0 : pow(xy - x * y / n, 2) / (xx - x * x / n) / (yy - y * y / n);
	}
	arena_free(&l.arena);
	return share;
}
