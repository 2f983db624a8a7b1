/*
 * Cross-validation of a model of steps: what is said of a group is what a model of the others alone says, a
 * configuration is in one group of each way, and groups that the rest tells nothing of have no answer.
 */
#include "../analyzer/check.h"
#include "base/random.h"
#include "step/left_out.h"

#include <math.h>
#include <stdlib.h>

static const struct {
	double gpus, nodes;
} places[] = {{1, 1}, {2, 1}, {4, 1}, {4, 2}, {8, 2}, {8, 4}, {16, 4}};

/* Each configuration three times, within some percent. */
static size_t make_rows(struct committee_row *rows, double noise)
{
	static const double batches[] = {8, 16, 32, 64, 128};
	struct random random;
	size_t count = 0;

	random_init(&random, 11, 0);
	for (size_t p = 0; p < 7; p++)
		for (size_t b = 0; b < 5; b++)
			for (size_t again = 0; again < 3; again++) {
				double time = 5 + 0.4 * batches[b];

				time += places[p].nodes > 1  ? 12 + 3 * log2(places[p].nodes)
					: places[p].gpus > 1 ? 4
							     : 0;
				rows[count++] =
					(struct committee_row){{batches[b], places[p].gpus, places[p].nodes},
						time * (1 + noise * random_normal(&random)), NAN};
			}
	return count;
}

/* All rows of 4 GPUs taken away by hand. */
static void test_by_hand(const struct committee *all, const struct left_out *left_out)
{
	struct committee_row rows[105];
	struct committee others;
	size_t count = 0;

	for (size_t k = 0; k < all->count; k++)
		if (all->points[k].gpus != 4)
			rows[count++] =
				(struct committee_row){all->points[k], all->times[k], all->compute[k]};
	CHECK(!committee_fit(&others, rows, count), "no model without 4 GPUs");
	for (size_t k = 0; k < all->count; k++) {
		struct committee_answer answer;

		if (all->points[k].gpus != 4)
			continue;
		committee_predict(&others, &all->points[k], 0.9, &answer);
		CHECK(answer.time == left_out->times[k] && answer.low == left_out->low[k] &&
				answer.high == left_out->high[k],
			"%g on 4 GPUs of %g nodes: %g left out, %g by hand", all->points[k].batch,
			all->points[k].nodes, left_out->times[k], answer.time);
	}
	committee_free(&others);
}

static void test_groups(const struct committee *all)
{
	static const size_t groups[LEFT_OUT_WAYS] = {10, 5, 5, 3};

	for (int by = 0; by < LEFT_OUT_WAYS; by++) {
		struct left_out left_out;
		size_t count = 0, answered = 0;

		left_out_run(&left_out, all, (enum left_out_by)by, 0.9);
		CHECK(left_out.group_count == groups[by], "way %d: %zu groups", by, left_out.group_count);
		for (size_t g = 0; g < left_out.group_count; g++) {
			count += left_out.groups[g].count;
			answered += left_out.groups[g].answered;
			CHECK(!left_out.groups[g].answered ||
					left_out.groups[g].error <= left_out.groups[g].worst,
				"way %d, group %zu: mean above the worst", by, g);
		}
		CHECK(count == all->count, "way %d: %zu of %zu configurations", by, count, all->count);
		if (by == LEFT_OUT_CONFIGURATION)
			CHECK(answered == count && left_out.groups[0].error < 0.1, "%zu answered, error %g",
				answered, left_out.groups[0].error);
		if (by == LEFT_OUT_GPUS)
			test_by_hand(all, &left_out);
		left_out_free(&left_out);
	}
}

/* Without the rows on one node nothing tells of several GPUs there. */
static void test_silence(const struct committee *all)
{
	struct left_out left_out;

	left_out_run(&left_out, all, LEFT_OUT_NODES, 0.9);
	for (size_t k = 0; k < all->count; k++)
		if (all->points[k].nodes <= 1 && all->points[k].gpus > 1)
			CHECK(isnan(left_out.times[k]),
				"several GPUs of one node are answered by those of others");
	CHECK(left_out.groups[0].answered == 5 && left_out.groups[0].count == 15, "%zu of %zu answered",
		left_out.groups[0].answered, left_out.groups[0].count);
	left_out_free(&left_out);
}

int main(void)
{
	struct committee_row rows[105];
	struct committee all;

	CHECK(!committee_fit(&all, rows, make_rows(rows, 0.02)), "no model");
	test_groups(&all);
	test_silence(&all);
	committee_free(&all);
	return check_end();
}
