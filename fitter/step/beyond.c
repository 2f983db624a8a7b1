/* Formulas beyond their data: see beyond.h. */
#include "beyond.h"
#include "base/role.h"
#include "base/student.h"
#include "step_table.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHANGED 0.01  /* logarithm of the time that counts as held */
#define NEAR_EDGE 0.8 /* of the greatest value: from there the slope at the edge is taken */
#define STEEPER \
	1.15 /* times that slope a formula may go on: a square beside a constant grows on to a square */

/* What is known of a column beyond its data. */
struct growth {
	double lower, upper; /* powers; infinite: not held */
	double doubt;        /* standard deviation of log T for a doubling */
};

/* A power below the formula's own, where the data have not shown it: from no growth to work in proportion. */
static const struct growth other = {0, 1, 0.15}, unknown = {-HUGE_VAL, HUGE_VAL, 0.15};

static const struct growth *growth_of(const struct pm_fit_model_column *column)
{
	static const struct growth batch = {0, 1, 0.15}, gpus = {0, 0.35, 0.1}, nodes = {-0.35, 0.35, 0.1};
	int known = step_column_known(column->name);

	if (!(column->least > 0) || role_has_levels(column->role) || column->role == PM_FIT_OFFSET)
		return &unknown;
	return known == STEP_BATCH   ? &batch
	       : known == STEP_GPUS  ? &gpus
	       : known == STEP_NODES ? &nodes
				     : &other;
}

bool beyond_growth(const struct pm_fit_model_column *column, struct beyond_growth *to)
{
	const struct growth *growth = growth_of(column);

	*to = (struct beyond_growth){growth->lower, growth->upper, growth == &other ? STEEPER : 0,
		fmax(column->least, NEAR_EDGE * column->greatest)};
	return isfinite(growth->upper) != 0;
}

/* One question: the problem with some columns replaced by `values`, and what the model says of it. */
struct question {
	const struct pm_fit_model *model;
	struct pm_fit_problem problem;
	struct pm_fit_column *columns;
	double **values;
	double *edge, *times, *from, *to,
		*near; /* logarithms of times; near: a little inside the upper edge */
	struct beyond *beyond;
	double *widening; /* square of what is added to the interval's half, in logarithms */
};

static const struct pm_fit_model_column *model_column(const struct question *q, size_t i)
{
	for (size_t j = 0; j < q->model->column_count; j++) {
		const struct pm_fit_model_column *column = &q->model->columns[j];

		if (column->role == q->columns[i].role && !role_has_levels(column->role) &&
			column->role != PM_FIT_IGNORED && strcmp(column->name, q->columns[i].name) == 0)
			return column;
	}
	return NULL;
}

static double edge_of(const struct pm_fit_model_column *column, double x)
{
	return fmin(fmax(x, column->least), column->greatest);
}

/* The logarithms of what the model says, column `i` being `values`. */
static int ask(struct question *q, size_t i, const double *values, double *logs)
{
	const double *kept = q->columns[i].values;
	int status;

	q->columns[i].values = values;
	status = pm_fit_predict(q->model, &q->problem, logs);
	q->columns[i].values = kept;
	for (size_t k = 0; k < q->problem.sample_count && status == 0; k++)
		logs[k] = log(logs[k]);
	return status;
}

static int ask_constant(struct question *q, size_t i, double value, double *logs)
{
	size_t count = q->problem.sample_count;
	double *values = malloc((count + 1) * sizeof(*values));
	int status;

	for (size_t k = 0; values && k < count; k++)
		values[k] = value;
	status = values ? ask(q, i, values, logs) : -ENOMEM;
	free(values);
	return status;
}

/* The growth from the edge in one column: held, added to the times, and to the intervals' width. */
static int extend(struct question *q, const struct pm_fit_problem *problem, size_t i, double quantile)
{
	const struct pm_fit_model_column *column = model_column(q, i);
	const struct growth *growth = column ? growth_of(column) : NULL;
	struct beyond_growth within = {0};
	const bool is_held = column && beyond_growth(column, &within);
	double range = column && column->least > 0 ? log(column->greatest / column->least) : 0;
	int status = growth ? ask(q, i, problem->columns[i].values, q->times) : 0;

	if (status == 0 && growth && range > 0) {
		status = ask_constant(q, i, column->least, q->from);
		status = status ? status : ask_constant(q, i, column->greatest, q->to);
		status = status ? status : ask_constant(q, i, within.near, q->near);
	}
	for (size_t k = 0; growth && status == 0 && k < problem->sample_count; k++) {
		double x = problem->columns[i].values[k], edge = edge_of(column, x);
		double grown = q->times[k] - q->edge[k], held = grown, ratio, slope, doubt;

		if (x == edge || !isfinite(grown))
			continue;
		ratio = x > 0 && edge > 0 ? log(x / edge) : 0;
		slope = range > 0 ? (q->to[k] - q->from[k]) / range : 0;
		if (ratio != 0 && is_held) {
			double least = fmin(within.lower, slope), most = within.upper;

			if (within.steeper > 0) {
				double last = within.steeper * (q->to[k] - q->near[k]) /
					      log(column->greatest / within.near);

				least = fmin(least, last);
				most = fmax(most, last);
			}
			least *= ratio;
			most *= ratio;
			held = fmin(fmax(grown, fmin(least, most)), fmax(least, most));
		}
		q->beyond->times[k] += held;
		doubt = growth->doubt * fmax(fabs(ratio) / log(2), ratio == 0 ? 1 : 0) * quantile;
		q->widening[k] += doubt * doubt + (grown - held) * (grown - held) / 4;
		if (fabs(grown - held) > CHANGED)
			q->beyond->held++;
	}
	return status;
}

/* All columns at the edge, where the formula is as good as it was measured to be. */
static int ask_edge(struct question *q, const struct pm_fit_problem *problem, double confidence)
{
	struct beyond *b = q->beyond;
	bool *is_outside = calloc(problem->sample_count + 1, sizeof(*is_outside));
	int status = is_outside ? 0 : -ENOMEM;

	for (size_t i = 0; i < problem->column_count && status == 0; i++) {
		const struct pm_fit_model_column *column = model_column(q, i);

		q->values[i] = malloc((problem->sample_count + 1) * sizeof(double));
		status = q->values[i] ? 0 : -ENOMEM;
		for (size_t k = 0; k < problem->sample_count && column && status == 0; k++) {
			double x = problem->columns[i].values[k];

			q->values[i][k] = edge_of(column, x);
			is_outside[k] |= q->values[i][k] != x;
		}
		if (column)
			q->columns[i].values = q->values[i];
	}
	for (size_t k = 0; k < problem->sample_count && status == 0; k++)
		b->outside += is_outside[k];
	free(is_outside);
	if (status == 0)
		status = pm_fit_predict_interval(q->model, &q->problem, confidence, b->low, b->high);
	b->interval = status > 0 ? (enum pm_fit_interval)status : PM_FIT_INTERVAL_NONE;
	return status < 0 ? status : pm_fit_predict(q->model, &q->problem, b->times);
}

/* Of samples with something to extend; others keep what the model says. */
static void finish(struct question *q)
{
	struct beyond *b = q->beyond;

	for (size_t k = 0; k < q->problem.sample_count; k++) {
		double edge = exp(q->edge[k]), below = log(edge / b->low[k]), above = log(b->high[k] / edge);

		b->times[k] = exp(b->times[k]);
		if (!(q->widening[k] > 0) || !isfinite(below) || !isfinite(above))
			continue;
		b->low[k] = b->times[k] * exp(-sqrt(below * below + q->widening[k]));
		b->high[k] = b->times[k] * exp(sqrt(above * above + q->widening[k]));
	}
}

static void question_free(struct question *q, size_t column_count)
{
	for (size_t i = 0; q->values && i < column_count; i++)
		free(q->values[i]);
	free(q->values);
	free(q->columns);
	free(q->edge);
	free(q->widening);
}

int beyond_predict(struct beyond *beyond, const struct pm_fit_model *model,
	const struct pm_fit_problem *problem, double confidence)
{
	size_t count = problem->sample_count, columns = problem->column_count;
	struct question q = {.model = model, .problem = *problem, .beyond = beyond};
	double quantile = student_quantile(confidence, 1e6);
	int status;

	*beyond = (struct beyond){malloc((count + 1) * sizeof(double)), malloc((count + 1) * sizeof(double)),
		malloc((count + 1) * sizeof(double)), 0, 0, PM_FIT_INTERVAL_NONE};
	q.columns = calloc(columns + 1, sizeof(*q.columns));
	q.values = calloc(columns + 1, sizeof(*q.values));
	q.edge = calloc(5 * (count + 1), sizeof(double));
	q.widening = calloc(count + 1, sizeof(double));
	status = beyond->times && beyond->low && beyond->high && q.columns && q.values && q.edge && q.widening
			 ? 0
			 : -ENOMEM;
	if (status == 0) {
		q.times = q.edge + count + 1;
		q.from = q.times + count + 1;
		q.to = q.from + count + 1;
		q.near = q.to + count + 1;
		memcpy(q.columns, problem->columns, columns * sizeof(*q.columns));
		q.problem.columns = q.columns;
		status = ask_edge(&q, problem, confidence);
	}
	if (status == 0 && beyond->outside) {
		for (size_t k = 0; k < count; k++)
			beyond->times[k] = q.edge[k] = log(beyond->times[k]);
		for (size_t i = 0; i < columns && status == 0; i++)
			status = extend(&q, problem, i, quantile);
		finish(&q);
	}
	question_free(&q, columns);
	return status;
}

void beyond_free(struct beyond *beyond)
{
	free(beyond->times);
	free(beyond->low);
	free(beyond->high);
	*beyond = (struct beyond){0};
}
