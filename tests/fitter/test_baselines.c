/*
 * Baselines on problems whose answer is known in closed form: a plane, a step, a constant, a power law, a
 * normal form, a parabola with many columns; the same numbers whatever the threads.
 */
#include "../analyzer/check.h"
#include "base/least_squares.h"
#include "baselines/baselines.h"
#include "baselines/boost.h"
#include "baselines/feature_matrix.h"
#include "baselines/forest.h"
#include "baselines/linear.h"
#include "baselines/pmnf.h"
#include "baselines/svr.h"
#include "synthetic.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 120
#define COLUMNS 3

struct set {
	struct feature_matrix features;
	double values[ROWS * COLUMNS], target[ROWS], offset[ROWS], times[ROWS];
};

static struct set train, test;

/* x from 1 to 12, y from 1 to 5, z is 0 or 1; the other set lies between the points of this. */
static void make(double (*truth)(double x, double y, double z))
{
	struct set *sets[] = {&train, &test};

	for (size_t s = 0; s < 2; s++) {
		sets[s]->features = (struct feature_matrix){.row_count = ROWS,
			.column_count = COLUMNS,
			.values = sets[s]->values,
			.target = sets[s]->target,
			.offset = sets[s]->offset,
			.time = sets[s]->target};
		for (size_t k = 0; k < ROWS; k++) {
			double x = (double)(1 + k % 12) + 0.25 * (double)s, y = (double)(1 + k / 12 % 5),
			       z = (double)(k / 60);

			memcpy(sets[s]->values + k * COLUMNS, (double[]){x, y, z}, COLUMNS * sizeof(double));
			sets[s]->target[k] = truth(x, y, z);
		}
	}
}

/* The greatest error on either set, relative to the time. */
static double worst_error(feature_matrix_learner *learner, uint64_t seed, bool with_test)
{
	char note[BASELINES_NOTE];
	double worst = 0;
	int status = learner(
		&train.features, &test.features, seed, 2, train.times, test.times, note, sizeof(note));

	CHECK(status == 0, "it answers %d", status);
	for (size_t k = 0; k < ROWS; k++) {
		worst = fmax(worst, fabs(train.times[k] / train.target[k] - 1));
		if (with_test)
			worst = fmax(worst, fabs(test.times[k] / test.target[k] - 1));
	}
	return worst;
}

static double plane(double x, double y, double z)
{
	return 3 + 2 * x + 0.5 * y + 7 * z;
}

static double step(double x, double y, double z)
{
	return (x > 6.5 ? 10 : 1) + (y > 2.5 ? 100 : 0) + 0 * z;
}

static double same(double x, double y, double z)
{
	return 4 + 0 * (x + y + z);
}

static double normal_form(double x, double y, double z)
{
	return 5 + 2 * pow(x, 1.5) * log2(x) / y + 0 * z;
}

static double curve(double x, double y, double z)
{
	return 20 + x * x / 10 + sin(y) + 5 * z;
}

static void check_linear(void)
{
	double values[] = {1, 2, 1, 0, 2, 4, 0, 1, 3, 6, 1, 0, 4, 8, 0, 1, 5, 10, 1, 0}, target[5];
	double coefficients[4], constant;
	size_t rank;

	make(plane);
	CHECK(worst_error(linear_learn, 1, true) < 1e-12, "a plane is not met: %g",
		worst_error(linear_learn, 1, true));
	/* the second column is twice the first, the fourth is one less the third */
	for (size_t k = 0; k < 5; k++)
		target[k] = 1 + 2 * values[4 * k] + 3 * values[4 * k + 2];
	rank = least_squares(values, target, 5, 4, coefficients, &constant);
	CHECK(rank == 3, "rank %zu", rank);
	CHECK(fabs(coefficients[0] - 2) < 1e-12 && coefficients[1] == 0 &&
			fabs(coefficients[2] - 3) < 1e-12 && coefficients[3] == 0 &&
			fabs(constant - 1) < 1e-12,
		"%g %g %g %g, %g", coefficients[0], coefficients[1], coefficients[2], coefficients[3],
		constant);
	/* an intercept and a slope by hand: x 1 2 3, y 2 3 5: slope 1.5, at the mean 10/3 */
	rank = least_squares((double[]){1, 2, 3}, (double[]){2, 3, 5}, 3, 1, coefficients, &constant);
	CHECK(rank == 2 && fabs(coefficients[0] - 1.5) < 1e-12 && fabs(constant - 1 / 3.0) < 1e-12, "%g %g",
		coefficients[0], constant);
}

static void check_forest(void)
{
	struct forest *forest;
	double first[ROWS];
	size_t worse = 0, alike = 0;

	make(step);
	/* without resampling a tree meets every sample, and cuts half way between the values */
	CHECK(forest_grow(&forest, &train.features, 3, 0, 1, 1) == 0, "forest_grow");
	for (size_t k = 0; k < ROWS; k++)
		CHECK(fabs(forest_predict(forest, train.values + k * COLUMNS) - train.target[k]) < 1e-12,
			"sample %zu", k);
	CHECK(forest_predict(forest, (double[]){6.49, 2.49, 0}) == 1, "below both cuts");
	CHECK(forest_predict(forest, (double[]){6.51, 2.51, 1}) == 110, "above both cuts");
	CHECK(forest_predict(forest, (double[]){-1e9, 1e9, 5}) == 101, "far away");
	forest_free(forest);
	make(same);
	CHECK(worst_error(forest_learn, 1, true) == 0, "a constant");
	/* many distinct values in a small node take the other path */
	make(curve);
	for (size_t k = 0; k < ROWS; k++)
		train.values[k * COLUMNS + 1] += 1e-3 * (double)k;
	CHECK(forest_grow(&forest, &train.features, 1, 0, 1, 1) == 0, "forest_grow");
	for (size_t k = 0; k < ROWS; k++)
		CHECK(fabs(forest_predict(forest, train.values + k * COLUMNS) - train.target[k]) < 1e-9,
			"sample %zu", k);
	forest_free(forest);
	/* each tree has a sample of its own */
	for (size_t trees = 1; trees <= 2; trees++) {
		CHECK(forest_grow(&forest, &train.features, trees, 1, 1, 1) == 0, "forest_grow");
		for (size_t k = 0; k < ROWS; k++) {
			double answer = forest_predict(forest, train.values + k * COLUMNS);

			alike += trees == 2 && answer == first[k];
			first[k] = answer;
		}
		forest_free(forest);
	}
	CHECK(alike < ROWS / 2, "%zu samples are the same to both trees", alike);
	/* means of samples lie between them, and the seed matters */
	worst_error(forest_learn, 1, true);
	memcpy(first, test.times, sizeof(first));
	worst_error(forest_learn, 1, true);
	CHECK(memcmp(first, test.times, sizeof(first)) == 0, "the same seed, another forest");
	worst_error(forest_learn, 2, true);
	CHECK(memcmp(first, test.times, sizeof(first)) != 0, "another seed, the same forest");
	for (size_t k = 0; k < ROWS; k++)
		worse += first[k] < 19 || first[k] > 41;
	CHECK(worse == 0, "%zu predictions beyond all samples", worse);
}

/* Of a step at the rate r what is left after n trees is (1 - r)^n of it. */
static void check_boost(void)
{
	struct boost_parameter parameter = {30, 1, 0.1, 1};
	double fitted[ROWS], asked[3 * ROWS], plain[ROWS], sum = 0;

	make(step);
	for (size_t k = 0; k < ROWS; k++)
		train.target[k] = train.values[k * COLUMNS + 1] > 2.5 ? 100 : 0;
	for (size_t k = 0; k < ROWS; k++)
		sum += train.target[k] / ROWS;
	CHECK(boost_run(&train.features, &test.features, &parameter, 1, 10, fitted, asked) == 0, "boost_run");
	for (size_t k = 0; k < ROWS; k++) {
		CHECK(fabs(fitted[k] - train.target[k] - pow(0.9, 30) * (sum - train.target[k])) < 1e-9,
			"sample %zu: %g", k, fitted[k]);
		for (size_t t = 0; t < 3; t++) {
			double truth = test.values[k * COLUMNS + 1] > 2.5 ? 100 : 0,
			       rest = pow(0.9, 10 * (double)(t + 1));

			CHECK(fabs(asked[t * ROWS + k] - truth - rest * (sum - truth)) < 1e-9,
				"sample %zu after %zu trees: %g", k, 10 * (t + 1), asked[t * ROWS + k]);
		}
	}
	/* steps in two columns add up in a balanced design: a stump for each */
	make(step);
	parameter = (struct boost_parameter){2, 1, 1, 1};
	CHECK(boost_run(&train.features, &test.features, &parameter, 1, 2, fitted, NULL) == 0, "boost_run");
	for (size_t k = 0; k < ROWS; k++)
		CHECK(fabs(fitted[k] - train.target[k]) < 1e-9, "sample %zu: %g", k, fitted[k]);
	/* and one stump by itself, cut where most of the error goes, knows two values: the means on both
	 * sides */
	parameter.tree_count = 1;
	CHECK(boost_run(&train.features, &test.features, &parameter, 1, 1, fitted, NULL) == 0, "boost_run");
	for (size_t k = 0; k < ROWS; k++)
		CHECK(fabs(fitted[k] - (train.target[k] < 100 ? 5.5 : 105.5)) < 1e-9, "sample %zu: %g", k,
			fitted[k]);
	make(curve);
	CHECK(worst_error(boost_learn_plain, 1, true) < 0.03, "usual settings: %g",
		worst_error(boost_learn_plain, 1, true));
	memcpy(plain, test.times, sizeof(plain));
	worst_error(boost_learn_plain, 2, true);
	for (size_t k = 0; k < ROWS; k++)
		CHECK(fabs(plain[k] - test.times[k]) < 1e-9, "all rows, but the seed matters");
	CHECK(worst_error(boost_learn, 1, true) < 0.05, "chosen: %g", worst_error(boost_learn, 1, true));
	memcpy(plain, test.times, sizeof(plain));
	worst_error(boost_learn, 1, true);
	CHECK(memcmp(plain, test.times, sizeof(plain)) == 0, "the same seed, other trees");
	worst_error(boost_learn, 2, true);
	CHECK(memcmp(plain, test.times, sizeof(plain)) != 0, "another seed, the same trees");
	make(same);
	CHECK(worst_error(boost_learn, 1, true) < 1e-12, "a constant");
}

static void check_others(void)
{
	make(normal_form);
	CHECK(worst_error(pmnf_learn, 1, true) < 1e-9, "a normal form is not found: %g",
		worst_error(pmnf_learn, 1, true));
	make(same);
	CHECK(worst_error(pmnf_learn, 1, true) < 1e-12, "a constant");
	make(curve);
	CHECK(worst_error(svr_learn, 1, true) < 0.05, "support vectors: %g", worst_error(svr_learn, 1, true));
	/* epsilon is 0.1, of 4 */
	make(same);
	CHECK(worst_error(svr_learn_plain, 1, true) < 0.1 / 4 + 1e-6, "plain: %g",
		worst_error(svr_learn_plain, 1, true));
}

/* What a problem becomes: a column for a number, one for each level, nothing for offsets, which are taken
 * off. */
static void check_columns(void)
{
	static const double x[] = {4, 5}, kind[] = {1, 0}, known[] = {0.5, 0.25}, time[] = {2, 3};
	static const char *const kinds[] = {"a", "b", "c"};
	const struct pm_fit_column columns[] = {{"x", PM_FIT_EXTRINSIC, x, 0, NULL},
		{"kind", PM_FIT_FACTOR, kind, 3, kinds}, {"known", PM_FIT_OFFSET, known, 0, NULL},
		{"other", PM_FIT_IGNORED, NULL, 0, NULL}};
	const struct pm_fit_problem problem = {2, 4, columns, time, "s"};
	struct feature_matrix features;

	CHECK(feature_matrix_init(&features, &problem) == 0 && features.column_count == 4, "%zu columns",
		features.column_count);
	CHECK(memcmp(features.values, (double[]){4, 0, 1, 0, 5, 1, 0, 0}, 8 * sizeof(double)) == 0, "values");
	CHECK(features.target[0] == 1.5 && features.target[1] == 2.75, "offsets are not taken off");
	CHECK(feature_matrix_log_target(&features) == 0 && features.target[0] == log(1.5), "log");
	features.target[1] = 0;
	CHECK(feature_matrix_log_target(&features) == -EDOM && features.target[0] == log(1.5), "log of 0");
	feature_matrix_free(&features);
}

static const struct baseline *find(const struct baselines *baselines, const char *name)
{
	for (size_t i = 0; i < baselines->count; i++)
		if (strcmp(baselines->results[i].name, name) == 0)
			return &baselines->results[i];
	abort();
}

static void check_table(void)
{
	struct baselines one, three;
	struct pm_fit_parameter parameter;
	struct pm_fit_error errors[3] = {{.mape = 1}, {.mape = 2}, {.mape = 6}};
	struct synthetic made, other;
	double mean, deviation;

	synthetic_init(&made, 200, 0, 0, 1);
	synthetic_init(&other, 100, 0, 0, 2);
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	parameter.thread_count = 1;
	CHECK(baselines_run(&one, &made.problem, &other.problem, &parameter, NULL, NULL) == 0, "run");
	parameter.thread_count = 3;
	CHECK(baselines_run(&three, &made.problem, &other.problem, &parameter, NULL, NULL) == 0, "run");
	for (size_t i = 0; i < one.count && i < three.count; i++) {
		size_t size = one.results[i].seed_count * sizeof(struct pm_fit_error);

		CHECK(strcmp(one.results[i].name, baselines_names[i]) == 0, "%s is not %s",
			one.results[i].name, baselines_names[i]);
		CHECK(memcmp(one.results[i].test, three.results[i].test, size) == 0 &&
				memcmp(one.results[i].train, three.results[i].train, size) == 0,
			"%s: threads change the answer", one.results[i].name);
	}
	/* without noise the formula is exact, and its penalty is not free */
	CHECK(find(&one, "model")->test[0].mape < 0.01, "model %g", find(&one, "model")->test[0].mape);
	CHECK(find(&one, "model-l2")->test[0].mape > 2 * find(&one, "model")->test[0].mape, "model-l2 %g",
		find(&one, "model-l2")->test[0].mape);
	CHECK(find(&one, "forest")->seed_count == 2 && find(&one, "linear")->seed_count == 1, "seeds");
	CHECK(fabs(find(&one, "median")->train[0].mae) > find(&one, "linear")->train[0].mae, "median");
	baselines_spread(errors, 3, offsetof(struct pm_fit_error, mape), &mean, &deviation);
	CHECK(mean == 3 && fabs(deviation - sqrt(7)) < 1e-12, "%g %g", mean, deviation);
	baselines_free(&one);
	baselines_free(&three);
	synthetic_free(&made);
	synthetic_free(&other);
}

int main(void)
{
	check_columns();
	check_linear();
	check_forest();
	check_boost();
	check_others();
	check_table();
	return check_end();
}
