/* The guide against a model whose answers are worked out by hand, and shares of a batch against trying all.
 */
#include "../analyzer/check.h"
#include "advise/guide.h"
#include "advise/guide_share.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int near(double x, double y)
{
	return fabs(x - y) <= 1e-4 * (fabs(x) + fabs(y));
}

/* t = 8 / gpus * batch^0 * {1, 3 for slow} + 2; two resamples with C = 1 and 3. */
static char *levels[] = {(char *)"quick", (char *)"slow"};
static struct pm_fit_model_column columns[] = {
	{.name = (char *)"gpus", .role = PM_FIT_EXTRINSIC, .scale = 1, .least = 1, .greatest = 4},
	{.name = (char *)"batch", .role = PM_FIT_EXTRINSIC, .scale = 1, .least = 16, .greatest = 64},
	{.name = (char *)"device",
		.role = PM_FIT_FACTOR,
		.scale = 1,
		.level_count = 2,
		.levels = levels,
		.greatest = 1}};
static struct pm_fit_value values[] = {{.kind = PM_FIT_KIND_BASE, .column = SIZE_MAX, .value = 8},
	{.kind = PM_FIT_KIND_CONSTANT, .column = SIZE_MAX, .value = 2},
	{.kind = PM_FIT_KIND_EXTRINSIC, .column = 0, .value = -1, .low = -1.1, .high = -0.9},
	{.kind = PM_FIT_KIND_EXTRINSIC, .column = 1, .value = 0},
	{.kind = PM_FIT_KIND_FACTOR, .column = 2, .level = 1, .value = 1.0986122886681098}};
static double resamples[] = {8, 1, -1, 0, 1.0986122886681098, 8, 3, -1, 0, 1.0986122886681098};
static struct pm_fit_model model = {.column_count = 3,
	.columns = columns,
	.value_count = 5,
	.values = values,
	.parameter = {.confidence = 0.5},
	.resample_count = 2,
	.resamples = resamples};

static void check_point(void)
{
	struct guide guide;
	struct guide_number number;

	CHECK(!guide_init(&guide, &model, NULL, NULL), "init");
	CHECK(guide.gpus == 0 && guide.batch == 1, "columns");
	CHECK(near(guide.point[0], 2) && near(guide.point[1], 32), "the middle");
	/* t = 4 + C: d ln t / d ln gpus = -4 / 6; -4/5 and -4/7 */
	CHECK(guide_elasticity(&guide, 0, &number) == 0 && near(number.value, -4. / 6), "%g", number.value);
	CHECK(near(number.low, -0.8 + 0.25 * (4. / 5 - 4. / 7)), "low %g", number.low);
	CHECK(guide_elasticity(&guide, 1, &number) == 0 && fabs(number.value) < 1e-9, "batch %g",
		number.value);
	/* 14 over 6 */
	CHECK(guide_elasticity(&guide, 2, &number) == 0 && near(number.value, 14. / 6 - 1), "%g",
		number.value);
	CHECK(guide_constant_share(&guide, &number) == 0 && near(number.value, 2. / 6), "C %g", number.value);
	CHECK(near(number.low, 1. / 5 + 0.25 * (3. / 7 - 1. / 5)), "low %g", number.low);
	CHECK(near(guide_power(&guide, 0).value, -1) && near(guide_power(&guide, 0).low, -1.1), "power");
	CHECK(!guide_set(&guide, "device", "slow"), "level");
	CHECK(guide_constant_share(&guide, &number) == 0 && near(number.value, 2. / 14), "C %g",
		number.value);
	CHECK(guide_set(&guide, "device", "odd") && guide_set(&guide, "x", "1") &&
			guide_set(&guide, "gpus", "-1") && guide_set(&guide, "gpus", "many"),
		"nonsense is taken");
	guide_free(&guide);
	CHECK(guide_init(&guide, &model, "device", NULL) != NULL, "levels for scaling");
	guide_free(&guide);
	CHECK(guide_init(&guide, &model, "cards", NULL) != NULL, "no such column");
	guide_free(&guide);
}

/* Times at 1, 2, 4, 8 GPUs: 10, 6, 4, 3. */
static void check_table(void)
{
	static const double gpus[] = {1, 2, 4, 8}, batches[] = {32, 128};
	struct guide guide;
	struct guide_table table;

	CHECK(!guide_init(&guide, &model, NULL, NULL), "init");
	guide.unit_s = 1e-3;
	guide.price = 3.6;
	CHECK(guide_table_fill(&guide, gpus, 4, batches, 2, &table) == 0, "fill");
	CHECK(near(table.cells[1].time.value, 6) && near(table.cells[1].speedup.value, 10. / 6), "2 GPUs");
	CHECK(near(table.cells[2].efficiency, 10. / 4 / 4), "efficiency %g", table.cells[2].efficiency);
	CHECK(near(table.cells[2].marginal, (2.5 - 10. / 6) / 2), "added %g", table.cells[2].marginal);
	CHECK(isnan(table.cells[0].marginal), "nothing was added");
	/* resamples: 9/5 and 11/7 */
	CHECK(near(table.cells[1].speedup.low, 11. / 7 + 0.25 * (9. / 5 - 11. / 7)), "low %g",
		table.cells[1].speedup.low);
	CHECK(near(table.cells[1].samples_per_s, 32 / 6e-3), "rate %g", table.cells[1].samples_per_s);
	/* 2 GPUs for 6 ms cost 3.6 / 3600 * 2 * 0.006; of 1e6 / 32 iterations */
	CHECK(near(table.cells[1].cost, 1.2e-5 * 1e6 / 32), "cost %g", table.cells[1].cost);
	CHECK(!table.cells[2].extrapolated && table.cells[3].extrapolated && table.cells[4].extrapolated,
		"extrapolation");
	CHECK(table.last[0] == 1, "pays up to %zu", table.last[0]);
	/* the batch has no price here, so the largest is the fastest and the cheapest */
	CHECK(table.fastest == 7 && table.cheapest == 4, "%zu %zu", table.fastest, table.cheapest);
	CHECK(table.fastest_inside == 2 && table.cheapest_inside == 0, "inside");
	guide_table_free(&table);
	/* 128 on 8 GPUs are 16 on each */
	guide.most_local_batch = 16;
	guide.most_gpus = 4;
	CHECK(guide_table_fill(&guide, gpus, 4, batches, 2, &table) == 0, "fill");
	CHECK(!table.cells[0].allowed && table.cells[1].allowed && !table.cells[7].allowed, "limits");
	CHECK(table.fastest == 2, "%zu", table.fastest);
	guide_table_free(&table);
	/* the batch on each GPU: N times the work */
	guide.is_local = true;
	guide.worth = 0.9;
	guide.most_local_batch = guide.most_gpus = 0;
	CHECK(guide_table_fill(&guide, gpus, 4, batches, 1, &table) == 0, "fill");
	CHECK(near(table.cells[1].speedup.value, 2 * 10. / 6) &&
			near(table.cells[1].samples_per_s, 64 / 6e-3),
		"weak scaling");
	CHECK(table.last[0] == 3, "pays up to %zu", table.last[0]);
	guide_table_free(&table);
	/* an epoch is the same work whatever the batch */
	guide.is_epoch = true;
	guide.samples = 600;
	CHECK(guide_table_fill(&guide, gpus, 4, batches, 2, &table) == 0, "fill");
	CHECK(near(table.cells[1].speedup.value, 10. / 6) && near(table.cells[5].samples_per_s, 600 / 6e-3),
		"epoch");
	guide_table_free(&table);
	guide_free(&guide);
}

static double try_all(const double *speeds, size_t count, size_t place, size_t left, size_t *shares)
{
	double best = HUGE_VAL;

	if (place + 1 == count) {
		shares[place] = left;
		return guide_share_time(speeds, shares, count);
	}
	for (size_t n = 0; n <= left; n++) {
		shares[place] = n;
		best = fmin(best, try_all(speeds, count, place + 1, left - n, shares));
	}
	return best;
}

static void check_shares(void)
{
	struct random random;

	random_init(&random, 9, 0);
	for (int round = 0; round < 200; round++) {
		size_t count = 1 + (size_t)(round % 4), batch = (size_t)(round % 23), shares[4], all[4],
		       sum = 0;
		double speeds[4];

		for (size_t i = 0; i < count; i++)
			speeds[i] = 0.1 + random_unit(&random);
		guide_share(speeds, count, batch, shares);
		for (size_t i = 0; i < count; i++)
			sum += shares[i];
		CHECK(sum == batch, "round %d: %zu of %zu", round, sum, batch);
		CHECK(near(guide_share_time(speeds, shares, count), try_all(speeds, count, 0, batch, all)),
			"round %d", round);
		guide_share_evenly(count, batch, shares);
		sum = 0;
		for (size_t i = 0; i < count; i++)
			sum += shares[i];
		CHECK(sum == batch && shares[0] <= shares[count - 1] + 1, "even");
	}
}

int main(void)
{
	check_point();
	check_table();
	check_shares();
	return check_end();
}
