/* Cross-validation of a committee by groups: see left_out.h. */
#include "left_out.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

#define LEFT_OUT_SEED 23

struct work {
	struct left_out *left_out;
	const struct committee *committee;
	const size_t *group; /* of each configuration */
	double confidence;
};

/* Different values become groups, neighbours together where there are many. */
static void group_values(struct work *work, size_t *group, enum left_out_by by)
{
	const struct committee *c = work->committee;
	double *values = mem_alloc(c->count, sizeof(*values));
	size_t count = 0;

	for (size_t k = 0; k < c->count; k++)
		values[k] = committee_coordinate(&c->points[k], (enum committee_region)by);
	statistics_sort(values, c->count);
	for (size_t k = 0; k < c->count; k++)
		if (!count || values[k] != values[count - 1])
			values[count++] = values[k];
	work->left_out->group_count = count < LEFT_OUT_GROUPS ? count : LEFT_OUT_GROUPS;
	for (size_t v = 0; v < count; v++) {
		size_t g = v * work->left_out->group_count / count;
		struct left_out_group *to = &work->left_out->groups[g];

		to->first = isnan(to->first) ? values[v] : to->first;
		to->last = values[v];
		for (size_t k = 0; k < c->count; k++)
			if (committee_coordinate(&c->points[k], (enum committee_region)by) == values[v])
				group[k] = g;
	}
	free(values);
}

/* A tenth of the configurations each, the same ones for the same table. */
static void group_configurations(struct work *work, size_t *group)
{
	size_t count = work->committee->count;
	size_t *order = mem_alloc(count, sizeof(*order));
	struct random random;

	work->left_out->group_count = count < LEFT_OUT_GROUPS ? count : LEFT_OUT_GROUPS;
	for (size_t k = 0; k < count; k++)
		order[k] = k;
	random_init(&random, LEFT_OUT_SEED, 0);
	random_shuffle(&random, order, count);
	for (size_t k = 0; k < count; k++)
		group[order[k]] = k % work->left_out->group_count;
	free(order);
}

/* What the others say of a group. */
static void ask(void *context, size_t g)
{
	struct work *work = context;
	const struct committee *c = work->committee;
	struct left_out *out = work->left_out;
	struct committee_row *rows = mem_alloc(c->count, sizeof(*rows));
	struct committee others;
	size_t count = 0;
	bool is_fitted;

	for (size_t k = 0; k < c->count; k++)
		if (work->group[k] != g)
			rows[count++] = (struct committee_row){c->points[k], c->times[k], c->compute[k]};
	is_fitted = committee_fit(&others, rows, count) == NULL;
	for (size_t k = 0; k < c->count && is_fitted; k++) {
		struct committee_answer answer;

		if (work->group[k] != g)
			continue;
		committee_predict(&others, &c->points[k], work->confidence, &answer);
		out->times[k] = answer.time;
		out->low[k] = answer.low;
		out->high[k] = answer.high;
	}
	committee_free(&others);
	free(rows);
}

static void sum_up(struct work *work)
{
	const struct committee *c = work->committee;
	struct left_out *out = work->left_out;

	for (size_t k = 0; k < c->count; k++) {
		struct left_out_group *group = &out->groups[work->group[k]];
		double error = fabs(out->times[k] / c->times[k] - 1);

		group->count++;
		if (!isfinite(error))
			continue;
		group->error = (group->answered ? group->error : 0) + error;
		group->worst = fmax(group->worst, error);
		group->held += c->times[k] >= out->low[k] && c->times[k] <= out->high[k];
		group->answered++;
	}
	for (size_t g = 0; g < out->group_count; g++)
		if (out->groups[g].answered)
			out->groups[g].error /= (double)out->groups[g].answered;
}

void left_out_run(
	struct left_out *left_out, const struct committee *committee, enum left_out_by by, double confidence)
{
	size_t count = committee->count, *group = mem_alloc(count + 1, sizeof(*group));
	struct work work = {left_out, committee, group, confidence};

	*left_out = (struct left_out){.count = count,
		.times = mem_alloc(count + 1, sizeof(double)),
		.low = mem_alloc(count + 1, sizeof(double)),
		.high = mem_alloc(count + 1, sizeof(double))};
	for (size_t k = 0; k < count; k++)
		left_out->times[k] = left_out->low[k] = left_out->high[k] = NAN;
	for (size_t g = 0; g < LEFT_OUT_GROUPS; g++)
		left_out->groups[g] = (struct left_out_group){NAN, NAN, 0, 0, NAN, NAN, 0};
	if (by == LEFT_OUT_CONFIGURATION)
		group_configurations(&work, group);
	else
		group_values(&work, group, by);
	parallel_each(left_out->group_count, 0, ask, &work);
	sum_up(&work);
	free(group);
}

void left_out_free(struct left_out *left_out)
{
	free(left_out->times);
	free(left_out->low);
	free(left_out->high);
	*left_out = (struct left_out){0};
}
