/* Fits of problems with a known truth: what is identified comes back, what is not is said; models survive
 * their file; threads change nothing. */
#include "../analyzer/check.h"
#include "fit/lambda_path.h"
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct pm_fit_model *fit(
	const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	struct pm_fit_model *model = NULL;
	const char *bad = pm_fit_check(problem, parameter);
	int status;

	CHECK(!bad, "%s", bad);
	status = pm_fit(problem, parameter, &model);
	CHECK(status == 0 && model, "pm_fit answers %d", status);
	if (!model)
		exit(1);
	return model;
}

static const struct pm_fit_value *value_of(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (strcmp(model->values[i].name, name) == 0)
			return &model->values[i];
	CHECK(0, "there is no value %s", name);
	exit(1);
}

static double contrast_of(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->contrast_count; i++)
		if (strcmp(model->contrasts[i].name, name) == 0)
			return model->contrasts[i].value;
	CHECK(0, "there is no contrast %s", name);
	return NAN;
}

/* Without noise the truth is the only minimum, apart from what may be shifted between the groups of levels.
 */
static void check_truth(enum pm_fit_method method, const char *name)
{
	static const struct {
		const char *name;
		double value;
	} values[] = {{"a x", 3}, {"p x", 0.7}, {"a y", 2}, {"p y", -0.5}, {"q batch", -0.8},
		{"q gpus", -0.95}, {"C", 0.6}},
	  contrasts[] = {{"base", 5.5 / 3 + 1.25}, {"kind=plain", -5.5 / 3}, {"kind=fancy", 1.5 - 5.5 / 3},
		  {"kind=odd", 4 - 5.5 / 3}, {"mode=same", -0.75}, {"mode=valid", 0.75}};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model;
	struct synthetic made;

	synthetic_init(&made, 600, 0, 0, 1);
	pm_fit_defaults(&parameter);
	parameter.method = method;
	parameter.run_count = 3;
	model = fit(&made.problem, &parameter);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const struct pm_fit_value *value = value_of(model, values[i].name);

		CHECK(fabs(value->value - values[i].value) < 1e-3 * (1 + fabs(values[i].value)),
			"%s: %s is %g, not %g", name, values[i].name, value->value, values[i].value);
		CHECK(!(value->flags & ~(unsigned)PM_FIT_OUTSIDE), "%s: %s has flags %x", name,
			values[i].name, value->flags);
	}
	for (size_t i = 0; i < sizeof(contrasts) / sizeof(*contrasts); i++)
		CHECK(fabs(contrast_of(model, contrasts[i].name) - contrasts[i].value) < 5e-3,
			"%s: %s is %g, not %g", name, contrasts[i].name,
			contrast_of(model, contrasts[i].name), contrasts[i].value);
	/* two groups of levels, one shift between them */
	CHECK(model->value_count == 12 && model->rank == 11, "%s: rank %zu of %zu", name, model->rank,
		model->value_count);
	CHECK(value_of(model, "kind=odd")->flags & PM_FIT_UNDETERMINED, "%s: levels are not marked", name);
	CHECK(model->train.r2 > 0.999999, "%s: R2 %g", name, model->train.r2);
	CHECK(model->train.mae < 1e-3 * model->constant_error, "%s: error %g beside a constant's %g", name,
		model->train.mae, model->constant_error);
	pm_fit_free(model);
	synthetic_free(&made);
}

static void check_threads(void)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *one, *three;
	struct synthetic made;

	synthetic_init(&made, 300, 0.05, 0, 2);
	pm_fit_defaults(&parameter);
	parameter.run_count = 5;
	parameter.evaluations = 20000;
	parameter.bootstrap = 7;
	parameter.thread_count = 1;
	one = fit(&made.problem, &parameter);
	parameter.thread_count = 3;
	three = fit(&made.problem, &parameter);
	for (size_t r = 0; r < 5; r++)
		CHECK(memcmp(one->runs[r].scaled, three->runs[r].scaled, one->value_count * sizeof(double)) ==
				0,
			"run %zu differs with the threads", r);
	for (size_t i = 0; i < one->value_count; i++)
		CHECK(one->values[i].low == three->values[i].low &&
				one->values[i].high == three->values[i].high &&
				one->values[i].mean == three->values[i].mean,
			"%s differs with the threads", one->values[i].name);
	pm_fit_free(one);
	pm_fit_free(three);
	synthetic_free(&made);
}

static void check_intervals(void)
{
	static const struct {
		const char *name;
		double truth;
	} values[] = {{"p x", 0.7}, {"q batch", -0.8}, {"q gpus", -0.95}, {"C", 0.6}};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model;
	struct synthetic made;

	synthetic_init(&made, 500, 0.05, 0, 3);
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	parameter.bootstrap = 60;
	parameter.confidence = 0.99;
	model = fit(&made.problem, &parameter);
	for (size_t i = 0; i < 4; i++) {
		const struct pm_fit_value *value = value_of(model, values[i].name);

		CHECK(value->low < values[i].truth && values[i].truth < value->high,
			"%s: %g is not in %g ... %g", values[i].name, values[i].truth, value->low,
			value->high);
		CHECK(value->high - value->low < 0.4, "%s: %g ... %g is wide", values[i].name, value->low,
			value->high);
		/* of an optimum that is found the seeds' spread is far below what the data leave open */
		CHECK(value->sd < 0.1 * (value->high - value->low), "%s: sd %g", values[i].name, value->sd);
	}
	pm_fit_free(model);
	synthetic_free(&made);
}

/* The time has a part that is known, and a factor for each kind instead of a summand. */
static void check_other_roles(void)
{
	static const double factors[] = {1, 1.7, 0.4};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model;
	struct pm_fit_column columns[4];
	struct pm_fit_problem problem;
	struct synthetic made;
	double *times, *offsets, predicted[400];

	synthetic_init(&made, 400, 0, 1, 4);
	times = calloc(400, sizeof(*times));
	offsets = calloc(400, sizeof(*offsets));
	columns[0] = made.columns[0];
	columns[1] = made.columns[2];
	columns[1].role = PM_FIT_FACTOR;
	columns[2] = made.columns[5];
	columns[3] = (struct pm_fit_column){"waiting", PM_FIT_OFFSET, offsets, 0, NULL};
	for (size_t k = 0; k < 400; k++) {
		offsets[k] = made.columns[4].values[k] / 7;
		times[k] = 2.5 * pow(columns[0].values[k], 1.3) * factors[(int)columns[1].values[k]] *
				   pow(columns[2].values[k], -0.9) +
			   0.8 + offsets[k];
	}
	problem = (struct pm_fit_problem){400, 4, columns, times, NULL};
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	model = fit(&problem, &parameter);
	CHECK(fabs(value_of(model, "p x")->value - 1.3) < 1e-4, "p %g", value_of(model, "p x")->value);
	CHECK(fabs(exp(value_of(model, "log factor kind=fancy")->value) - 1.7) < 1e-3, "factor %g",
		exp(value_of(model, "log factor kind=fancy")->value));
	CHECK(fabs(exp(value_of(model, "log factor kind=odd")->value) - 0.4) < 1e-3, "factor");
	CHECK(fabs(value_of(model, "C")->value - 0.8) < 0.01, "C %g", value_of(model, "C")->value);
	CHECK(pm_fit_predict(model, &problem, predicted) == 0, "predict");
	for (size_t k = 0; k < 400; k++)
		CHECK(fabs(predicted[k] / times[k] - 1) < 1e-3, "sample %zu: %g, not %g", k, predicted[k],
			times[k]);
	pm_fit_free(model);

	/* the product alone: one coefficient stands for the sum */
	problem.columns = columns + 1;
	problem.column_count = 2;
	for (size_t k = 0; k < 400; k++)
		times[k] = 6 * factors[(int)columns[1].values[k]] * pow(columns[2].values[k], -0.9) + 0.8;
	model = fit(&problem, &parameter);
	CHECK(fabs(value_of(model, "base")->value - 6) < 1e-2, "base %g", value_of(model, "base")->value);
	pm_fit_free(model);
	free(times);
	free(offsets);
	synthetic_free(&made);
}

/* Levels in another order, columns in another order: the same predictions. */
static void check_file(void)
{
	static const char *const turned[] = {"odd", "plain", "fancy"};
	static const double to_turned[] = {1, 2, 0};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model, *loaded;
	struct pm_fit_column columns[SYNTHETIC_COLUMNS];
	struct pm_fit_problem problem;
	struct synthetic made;
	double first[200], second[200], kinds[200];
	char *text, *again;
	const char *bad;

	synthetic_init(&made, 200, 0.05, 1, 5);
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	parameter.evaluations = 5000;
	parameter.seed = UINT64_MAX - 1;
	parameter.penalty = PM_FIT_L2;
	parameter.lambda_powers = 1e-4;
	model = fit(&made.problem, &parameter);
	text = pm_fit_print(model);
	bad = pm_fit_parse(text, &loaded);
	CHECK(!bad, "%s", bad);
	again = pm_fit_print(loaded);
	CHECK(strcmp(text, again) == 0, "a model is not what its file says");
	CHECK(loaded->runs[1].seed == UINT64_MAX, "seed");
	pm_fit_predict(model, &made.problem, first);
	for (size_t i = 0; i < SYNTHETIC_COLUMNS; i++)
		columns[i] = made.columns[SYNTHETIC_COLUMNS - 1 - i];
	for (size_t k = 0; k < 200; k++)
		kinds[k] = to_turned[(int)made.columns[2].values[k]];
	columns[3].values = kinds;
	columns[3].levels = turned;
	problem = (struct pm_fit_problem){200, SYNTHETIC_COLUMNS, columns, NULL, NULL};
	bad = pm_fit_check_predict(loaded, &problem);
	CHECK(!bad, "%s", bad);
	pm_fit_predict(loaded, &problem, second);
	for (size_t k = 0; k < 200; k++)
		CHECK(fabs(first[k] - second[k]) < 1e-12 * first[k], "sample %zu: %.17g, %.17g", k, first[k],
			second[k]);
	/* levels without names are the model's numbers, and what is ignored needs no name */
	columns[3].values = made.columns[2].values;
	columns[3].levels = NULL;
	columns[0] = (struct pm_fit_column){.role = PM_FIT_IGNORED};
	problem.columns = columns;
	bad = pm_fit_check_predict(loaded, &problem);
	CHECK(bad && strstr(bad, "gpus"), "%s", bad ? bad : "a missing column");
	columns[0] = made.columns[SYNTHETIC_COLUMNS - 1];
	bad = pm_fit_check_predict(loaded, &problem);
	CHECK(!bad, "%s", bad);
	pm_fit_predict(loaded, &problem, second);
	for (size_t k = 0; k < 200; k++)
		CHECK(fabs(first[k] - second[k]) < 1e-12 * first[k], "sample %zu by number", k);
	columns[3].level_count++;
	CHECK(pm_fit_check_predict(loaded, &problem), "a level more");
	pm_fit_free(model);
	pm_fit_free(loaded);
	free(text);
	free(again);
	synthetic_free(&made);
}

/* A file that is cut or changed anywhere is refused or loaded, and nothing else happens. */
static void check_hostile_file(void)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model, *loaded;
	struct synthetic made;
	char *text;
	size_t length, refused = 0, changes = 0;

	synthetic_init(&made, 100, 0.05, 0, 6);
	pm_fit_defaults(&parameter);
	parameter.run_count = 1;
	parameter.evaluations = 1000;
	model = fit(&made.problem, &parameter);
	text = pm_fit_print(model);
	length = strlen(text);
	for (size_t at = 0; at < length; at += 7) {
		char kept = text[at];

		text[at] = '\0';
		CHECK(pm_fit_parse(text, &loaded) && !loaded, "cut at %zu, and taken", at);
		text[at] = kept == '9' ? '-' : '9';
		refused += pm_fit_parse(text, &loaded) != NULL;
		if (loaded) {
			double times[100];

			if (!pm_fit_check_predict(loaded, &made.problem))
				pm_fit_predict(loaded, &made.problem, times);
		}
		pm_fit_free(loaded);
		text[at] = kept;
		changes++;
	}
	CHECK(refused > changes / 4, "%zu of %zu changes are seen", refused, changes);
	pm_fit_free(model);
	free(text);
	synthetic_free(&made);
}

static void report(void *context, const struct pm_fit_progress *progress)
{
	int *stop = context;

	CHECK(progress->evaluations <= progress->limit + 1000 && progress->objective > 0, "progress");
	if (progress->evaluations > 40000)
		__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
}

static void check_stop(void)
{
	int stop = 0;
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model;
	struct synthetic made;

	synthetic_init(&made, 200, 0.05, 0, 7);
	pm_fit_defaults(&parameter);
	parameter.evaluations = (size_t)1 << 50;
	parameter.progress = report;
	parameter.context = &stop;
	parameter.stop = &stop;
	model = fit(&made.problem, &parameter);
	CHECK(model->interrupted, "not marked");
	CHECK(model->train.mae < model->constant_error, "%g is not the best so far", model->train.mae);
	pm_fit_free(model);
	synthetic_free(&made);
}

static void check_doubts(void)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model;
	struct synthetic made;
	double *same = calloc(400, sizeof(*same)), *times = calloc(400, sizeof(*times));

	/* a column with one value, and times that no column explains */
	synthetic_init(&made, 400, 0.02, 0, 8);
	for (size_t k = 0; k < 400; k++)
		same[k] = 2.5;
	made.columns[1].values = same;
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	model = fit(&made.problem, &parameter);
	CHECK(model->rank <= 9, "rank %zu with a constant column", model->rank);
	CHECK((value_of(model, "p y")->flags & (PM_FIT_UNDETERMINED | PM_FIT_DEAD)) != 0, "p y has flags %x",
		value_of(model, "p y")->flags);
	pm_fit_free(model);
	for (size_t k = 0; k < 400; k++)
		times[k] = k % 3 == 0 ? 1 : k % 3 == 1 ? 1.001 : 400;
	made.problem.time = times;
	parameter.evaluations = 4000;
	parameter.method = PM_FIT_DE;
	parameter.tolerance = 1;
	model = fit(&made.problem, &parameter);
	for (size_t r = 0; r < model->run_count; r++)
		CHECK(model->runs[r].end != PM_FIT_END_CONVERGED ||
				model->runs[r].error < 0.99 * model->constant_error,
			"a plateau is called converged: %g beside %g", model->runs[r].error,
			model->constant_error);
	pm_fit_free(model);
	free(same);
	free(times);
	synthetic_free(&made);
}

/* L1 with a large lambda leaves the constant alone; L2 shrinks; a lambda for powers alone leaves
 * coefficients free. */
static void check_penalties(void)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model;
	struct synthetic made;
	double before;

	synthetic_init(&made, 300, 0.02, 0, 9);
	pm_fit_defaults(&parameter);
	parameter.run_count = 2;
	parameter.penalty = PM_FIT_L1;
	parameter.lambda_coefficients = parameter.lambda_powers = 100;
	model = fit(&made.problem, &parameter);
	CHECK(fabs(model->train.mae / model->constant_error - 1) < 1e-3,
		"L1: error %g beside a constant's %g", model->train.mae, model->constant_error);
	CHECK(fabs(value_of(model, "p x")->value) < 1e-3, "L1: p x is %g", value_of(model, "p x")->value);
	pm_fit_free(model);
	parameter.penalty = PM_FIT_L2;
	parameter.lambda_coefficients = 0;
	parameter.lambda_powers = 0;
	model = fit(&made.problem, &parameter);
	before = fabs(value_of(model, "q batch")->value);
	pm_fit_free(model);
	parameter.lambda_powers = 0.5;
	model = fit(&made.problem, &parameter);
	CHECK(fabs(value_of(model, "q batch")->value) < 0.9 * before, "L2 leaves q batch at %g",
		value_of(model, "q batch")->value);
	CHECK(model->runs[0].objective > model->runs[0].error, "the objective has no penalty");
	pm_fit_free(model);
	synthetic_free(&made);
}

static void count_fits(void *context, size_t done, size_t all)
{
	CHECK(done == ++*(size_t *)context && all == 4 * 5, "%zu of %zu fits", done, all);
}

/* Lambdas that do nothing, that do little harm, and that leave a constant. */
static void check_path(void)
{
	static const double lambdas[] = {0, 1e-7, 1e-6, 1e6};
	struct pm_fit_parameter parameter;
	struct pm_fit_problem test;
	struct synthetic made, other;
	struct lambda_path path;
	size_t done = 0;

	synthetic_init(&made, 300, 0.05, 0, 10);
	synthetic_init(&other, 100, 0.05, 0, 11);
	test = other.problem;
	pm_fit_defaults(&parameter);
	parameter.run_count = 1;
	parameter.evaluations = 40000;
	CHECK(lambda_path_run(&path, &made.problem, &test, &parameter, lambdas, 4, 1, 4, count_fits, &done) ==
			0,
		"path_run");
	CHECK(done == 20, "%zu fits", done);
	CHECK(path.count == 4 && path.best < 3 && path.simple == 2, "best %zu, simple %zu", path.best,
		path.simple);
	for (size_t i = 0; i < path.count; i++) {
		const struct lambda_path_point *point = &path.points[i];

		CHECK(point->held_out.sample_count == 300 && point->test.sample_count == 100, "samples");
		CHECK(point->model->parameter.lambda_powers == lambdas[i], "lambda");
		/* all three are of samples that the noise is the same for; held out is a little worse than
		 * fitted */
		if (i < 3)
			CHECK(point->held_out.mae > point->model->train.mae &&
					point->held_out.mae < 1.3 * point->test.mae,
				"%g held out, %g fitted, %g test", point->held_out.mae,
				point->model->train.mae, point->test.mae);
		else
			CHECK(point->held_out.mae > 3 * path.points[0].held_out.mae, "lambda %g: %g",
				lambdas[i], point->held_out.mae);
	}
	lambda_path_free(&path);
	synthetic_free(&made);
	synthetic_free(&other);
}

int main(void)
{
	check_truth(PM_FIT_JSO, "jso");
	check_truth(PM_FIT_VARPRO, "varpro");
	check_threads();
	check_intervals();
	check_other_roles();
	check_file();
	check_hostile_file();
	check_stop();
	check_doubts();
	check_penalties();
	check_path();
	return check_end();
}
