/* Intervals against quantiles worked out by hand, and against the noise that was put in; model files keep
 * them. */
#include "../analyzer/check.h"
#include "base/random.h"
#include "base/statistics.h"
#include "model/interval.h"
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct pm_fit_model *fit(const struct synthetic *made, size_t bootstrap)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model = NULL;

	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	parameter.bootstrap = bootstrap;
	if (pm_fit(&made->problem, &parameter, &model) < 0)
		abort();
	return model;
}

/* The share of new samples with the same noise that lie within. */
static double coverage(
	const struct pm_fit_model *model, const struct synthetic *made, double confidence, int expected)
{
	size_t count = made->problem.sample_count, inside = 0;
	double *low = calloc(count, sizeof(*low)), *high = calloc(count, sizeof(*high));
	int kind = pm_fit_predict_interval(model, &made->problem, confidence, low, high);

	CHECK(kind == expected, "made of %d", kind);
	for (size_t k = 0; k < count; k++)
		inside += made->problem.time[k] >= low[k] && made->problem.time[k] <= high[k];
	free(low);
	free(high);
	return (double)inside / (double)count;
}

static void check_coverage(void)
{
	struct synthetic made, other;
	struct pm_fit_model *plain, *sampled;

	synthetic_init(&made, 600, 0.1, 0, 3);
	/* more than a slice */
	synthetic_init(&other, 3000, 0.1, 0, 4);
	plain = fit(&made, 0);
	sampled = fit(&made, 50);
	for (int i = 0; i < 2; i++) {
		const struct pm_fit_model *model = i ? sampled : plain;
		int kind = i ? PM_FIT_INTERVAL_BOOTSTRAP : PM_FIT_INTERVAL_RESIDUALS;
		double wide = coverage(model, &other, 0.9, kind), narrow = coverage(model, &other, 0.5, kind);

		CHECK(fabs(wide - 0.9) < 0.035, "90%%: %g", wide);
		CHECK(fabs(narrow - 0.5) < 0.06, "50%%: %g", narrow);
	}
	pm_fit_free(plain);
	pm_fit_free(sampled);
	synthetic_free(&made);
	synthetic_free(&other);
}

/* One sample, by hand: what the model says is 10, residuals 0.8 to 1.2, resamples that say 10 and 20. */
static void check_by_hand(void)
{
	double residuals[] = {0.8, 0.9, 1, 1.1, 1.2}, low, high, gpus = 2;
	struct pm_fit_column column = {"gpus", PM_FIT_EXTRINSIC, &gpus, 0, NULL};
	struct pm_fit_problem problem = {1, 1, &column, NULL, NULL};
	struct pm_fit_model_column known = {.name = "gpus", .role = PM_FIT_EXTRINSIC, .scale = 1};
	struct pm_fit_value values[] = {{.kind = PM_FIT_KIND_BASE, .column = SIZE_MAX, .value = 10},
		{.kind = PM_FIT_KIND_CONSTANT, .column = SIZE_MAX},
		{.kind = PM_FIT_KIND_EXTRINSIC, .column = 0, .value = 0}};
	double resamples[] = {10, 0, 0, 20, 0, 0};
	struct pm_fit_model model = {
		.column_count = 1, .columns = &known, .value_count = 3, .values = values};

	CHECK(statistics_quantile_sorted(residuals, 5, 0.25) == 0.9 &&
			statistics_quantile_sorted(residuals, 5, 1) == 1.2,
		"quantile");
	CHECK(pm_fit_predict_interval(&model, &problem, 0.5, &low, &high) == PM_FIT_INTERVAL_NONE &&
			isnan(low) && isnan(high),
		"without residuals");
	model.residuals = residuals;
	model.residual_count = 5;
	/* a quarter of the residuals is below 0.9, a quarter above 1.1 */
	CHECK(pm_fit_predict_interval(&model, &problem, 0.5, &low, &high) == PM_FIT_INTERVAL_RESIDUALS,
		"kind");
	CHECK(fabs(low - 9) < 1e-9 && fabs(high - 11) < 1e-9, "%g to %g", low, high);
	model.resamples = resamples;
	model.resample_count = 2;
	/* a half of the one is an eighth from either end of both: 8 + 4/4, 20 * 1.2 - 8/4 at 75% */
	CHECK(pm_fit_predict_interval(&model, &problem, 0.75, &low, &high) == PM_FIT_INTERVAL_BOOTSTRAP,
		"kind");
	CHECK(fabs(low - 9) < 1e-9 && fabs(high - 22) < 1e-9, "%g to %g", low, high);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void check_file(void)
{
	struct synthetic made;
	struct pm_fit_model *model, *again;
	const char *bad;
	char *text, *at;

	synthetic_init(&made, 150, 0.05, 0, 5);
	model = fit(&made, 5);
	CHECK(model->resample_count == 5 && model->residual_count == 150, "%zu %zu", model->resample_count,
		model->residual_count);
	/* the parameters' intervals are the quantiles of the resamples that are kept */
	for (size_t v = 0; v < model->value_count; v++) {
		double sorted[5];

		for (size_t i = 0; i < 5; i++)
			sorted[i] = model->resamples[i * model->value_count + v];
		qsort(sorted, 5, sizeof(*sorted), compare);
		CHECK(fabs(model->values[v].low - statistics_quantile_sorted(sorted, 5, 0.025)) <=
				1e-9 * fabs(model->values[v].low),
			"low of %s", model->values[v].name);
	}
	text = pm_fit_print(model);
	bad = pm_fit_parse(text, &again);
	CHECK(!bad && again->resample_count == 5 && again->residual_count == 150, "%s", bad ? bad : "");
	/* the file has 15 digits where these are nearly all */
	for (size_t i = 0; !bad && i < 150; i++)
		CHECK(fabs(again->residuals[i] / model->residuals[i] - 1) < 1e-14, "residual %zu", i);
	for (size_t i = 0; !bad && i < 5 * model->value_count; i++)
		CHECK(fabs(again->resamples[i] - model->resamples[i]) <= 1e-14 * fabs(model->resamples[i]),
			"resample %zu", i);
	pm_fit_free(again);
	/* a file without them still loads */
	at = strstr(text, "\"residuals\"");
	memcpy(at, "\"residualx\"", 11);
	at = strstr(text, "\"resamples\"");
	memcpy(at, "\"resamplex\"", 11);
	bad = pm_fit_parse(text, &again);
	CHECK(!bad && again->resample_count == 0 && again->residual_count == 0, "%s", bad ? bad : "");
	pm_fit_free(again);
	/* and one in which they are nonsense does not */
	at = strstr(text, "\"residualx\"");
	memcpy(at, "\"residuals\"", 11);
	at = strchr(at, '[') + 1;
	at[0] = '9';
	at[1] = '9';
	bad = pm_fit_parse(text, &again);
	CHECK(bad && strstr(bad, "not ascending") && !again, "%s", bad ? bad : "");
	free(text);
	pm_fit_free(model);
	synthetic_free(&made);
}

/* Times of two clusters: one has ten times the noise of the other, and long ones twice that of short ones;
 * upwards it is three times as wide as downwards. */
struct clusters {
	double *size, *cluster, *time;
	struct pm_fit_column columns[2];
	struct pm_fit_problem problem;
};

static void clusters_init(struct clusters *c, size_t count, uint64_t seed)
{
	static const char *const names[] = {"calm", "busy"};
	struct random random;

	random_init(&random, seed, 0);
	c->size = calloc(3 * count, sizeof(double));
	c->cluster = c->size + count;
	c->time = c->cluster + count;
	for (size_t k = 0; k < count; k++) {
		double noise = random_normal(&random), width = k % 2 ? 0.1 : 0.01;

		c->size[k] = 1 + (double)random_below(&random, 100);
		c->cluster[k] = (double)(k % 2);
		width *= c->size[k] > 50 ? 2 : 1;
		c->time[k] = (3 * c->size[k] + 10) * exp(noise > 0 ? 3 * width * noise : width * noise);
	}
	c->columns[0] = (struct pm_fit_column){"size", PM_FIT_INTRINSIC, c->size, 0, NULL};
	c->columns[1] = (struct pm_fit_column){"cluster", PM_FIT_FACTOR, c->cluster, 2, names};
	c->problem = (struct pm_fit_problem){count, 2, c->columns, c->time, "s"};
}

static void check_groups(const struct pm_fit_model *model, const struct clusters *c)
{
	const size_t count = c->problem.sample_count;
	double *low = calloc(2 * count, sizeof(*low)), *high = low + count;

	CHECK(pm_fit_predict_interval(model, &c->problem, 0.95, low, high) == PM_FIT_INTERVAL_RESIDUALS,
		"kind");
	for (int group = 0; group < 4; group++) {
		double held = 0, above = 0, rows = 0;

		for (size_t k = 0; k < count; k++) {
			if ((int)c->cluster[k] + 2 * (c->size[k] > 50) != group)
				continue;
			rows++;
			held += c->time[k] >= low[k] && c->time[k] <= high[k];
			above += c->time[k] > high[k];
		}
		CHECK(fabs(held / rows - 0.95) < 0.03, "group %d: %g of %g held", group, held / rows, rows);
		CHECK(above / rows > 0.005 && above / rows < 0.045, "group %d: %g above", group,
			above / rows);
	}
	free(low);
}

/* In every cluster and at every size as many rows lie in their intervals, also after a file; of few rows
 * nothing is told of groups. */
static void check_spread(void)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model, *again;
	struct clusters made, other, few;
	const char *bad;
	char *text, *at;

	clusters_init(&made, 1500, 1);
	clusters_init(&other, 8000, 2);
	clusters_init(&few, 90, 3);
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	CHECK(pm_fit(&made.problem, &parameter, &model) == 0 && model->spread_count == 3, "no spreads");
	check_groups(model, &other);
	text = pm_fit_print(model);
	bad = pm_fit_parse(text, &again);
	CHECK(!bad && again->spread_count == 3 && again->spreads[1].column == 1 &&
			again->spreads[2].column == 2,
		"%s", bad ? bad : "other columns");
	if (!bad)
		check_groups(again, &other);
	pm_fit_free(again);
	at = strstr(text, "\"above\"");
	memcpy(at, "\"abovx\"", 7);
	bad = pm_fit_parse(text, &again);
	CHECK(bad && strstr(bad, "edges and factors") && !again, "%s", bad ? bad : "no factors are taken");
	pm_fit_free(model);
	CHECK(pm_fit(&few.problem, &parameter, &model) == 0 && model->spread_count == 0 &&
			model->residual_count == 90,
		"groups of 90 rows");
	pm_fit_free(model);
	free(text);
	free(made.size);
	free(other.size);
	free(few.size);
}

/* Of 16 rows residuals are smaller than those of new rows, and their quantiles not as far out: new rows lie
 * in the intervals all the same. */
static void check_few(void)
{
	enum { ROWS = 16, TABLES = 25, FRESH = 40 };
	double batch[ROWS + FRESH], gpus[ROWS + FRESH], times[ROWS + FRESH], low[FRESH], high[FRESH],
		held = 0;
	struct pm_fit_column columns[] = {
		{"batch", PM_FIT_EXTRINSIC, batch, 0, NULL}, {"gpus", PM_FIT_EXTRINSIC, gpus, 0, NULL}};
	struct pm_fit_column fresh[] = {{"batch", PM_FIT_EXTRINSIC, batch + ROWS, 0, NULL},
		{"gpus", PM_FIT_EXTRINSIC, gpus + ROWS, 0, NULL}};
	struct pm_fit_parameter parameter;
	struct random random;

	pm_fit_defaults(&parameter);
	parameter.run_count = 1;
	parameter.method = PM_FIT_VARPRO;
	random_init(&random, 5, 0);
	for (size_t table = 0; table < TABLES; table++) {
		const struct pm_fit_problem problem = {ROWS, 2, columns, times, NULL},
					    asked = {FRESH, 2, fresh, NULL, NULL};
		struct pm_fit_model *model;

		for (size_t k = 0; k < ROWS + FRESH; k++) {
			batch[k] = (double)(8 << k % 4);
			gpus[k] = (double)(1 << k / 4 % 4);
			times[k] =
				(1 + 0.2 * pow(batch[k], 0.8) / gpus[k]) * exp(0.1 * random_normal(&random));
		}
		CHECK(pm_fit(&problem, &parameter, &model) == 0, "no fit");
		CHECK(pm_fit_predict_interval(model, &asked, 0.95, low, high) == PM_FIT_INTERVAL_RESIDUALS,
			"no interval");
		for (size_t k = 0; k < FRESH; k++)
			held += (times[ROWS + k] >= low[k] && times[ROWS + k] <= high[k]) /
				(double)(FRESH * TABLES);
		pm_fit_free(model);
	}
	CHECK(held > 0.92 && held < 0.99, "%.3f of new rows lie in 95%% intervals of 16 rows", held);
}

int main(void)
{
	check_by_hand();
	check_few();
	check_coverage();
	check_spread();
	check_file();
	return check_end();
}
