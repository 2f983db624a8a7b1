/* The published protocol: see study.h. */
#include "study.h"
#include "advise/guide.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 5
/* Seeds of each fit on the path: there are some dozens of fits. */
#define PATH_SEEDS 2

static const double lambdas[] = {0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1};

#define LAMBDAS (sizeof(lambdas) / sizeof(*lambdas))

static const char *const fit_names[] = {"no penalty", "L2 0.001"};

static void tabulate_parameters(struct study *study)
{
	static const char *const heads[] = {
		"parameter", "free", "mean", "sd", "L2 0.001", "L2 mean", "L2 sd", "low", "high", NULL};
	struct study_table *table = &study->tables[STUDY_PARAMETERS];
	const struct pm_fit_model *freely = study->models[STUDY_FREE], *l2 = study->models[STUDY_L2];

	study_table_init(table, "parameters",
		"Parameters of the generic model: best fit, mean and standard deviation over seeds (as "
		"Table 4.3)",
		heads);
	for (size_t v = 0; v < freely->value_count; v++) {
		const struct pm_fit_value *a = &freely->values[v], *b = &l2->values[v];
		const double numbers[] = {
			a->value, a->mean, a->sd, b->value, b->mean, b->sd, b->low, b->high};

		study_table_row(table);
		study_table_cell(table, 0, "%s", a->name);
		for (size_t i = 0; i < 8; i++)
			study_table_number(table, i + 1, numbers[i], i == 2 || i == 5 ? 2 : 4);
	}
	study_table_note(table,
		"Seeds that agree within 0.1%% on the best cost: %zu of %zu without penalty, %zu of %zu "
		"with. The deviation over seeds is search noise. The data determine %zu of the %zu "
		"parameters%s.",
		freely->runs_agreeing, freely->run_count, l2->runs_agreeing, l2->run_count, freely->rank,
		freely->value_count, l2->resample_count ? "; low and high are bootstrap limits" : "");
}

static void tabulate_errors(struct study *study)
{
	static const char *const heads[] = {"method", "set", "MAPE", "MAPE sd", "MAE", "MAE sd", "MSE",
		"MSE sd", "RMSE", "RMSE sd", "R2", "R2 sd", "seeds", "seconds", NULL};
	static const size_t offsets[] = {offsetof(struct pm_fit_error, mape),
		offsetof(struct pm_fit_error, mae), offsetof(struct pm_fit_error, mse),
		offsetof(struct pm_fit_error, rmse), offsetof(struct pm_fit_error, r2)};
	struct study_table *table = &study->tables[STUDY_ERRORS];
	size_t fitted = study->observations->train.sample_count,
	       tested = study->observations->test.sample_count;

	study_table_init(table, "errors",
		"Errors of each method (as Table 4.4); MAPE in percent of the measured time", heads);
	for (int test = 1; test >= 0; test--)
		for (size_t i = 0; i < study->baselines.count; i++) {
			const struct baseline *one = &study->baselines.results[i];
			const struct pm_fit_error *errors = test ? one->test : one->train;
			double mean, deviation;

			if (one->skipped || (test && tested == 0))
				continue;
			study_table_row(table);
			study_table_cell(table, 0, "%s", one->name);
			study_table_cell(table, 1, test ? "test" : "fitted");
			for (size_t f = 0; f < 5; f++) {
				baselines_spread(errors, one->seed_count, offsets[f], &mean, &deviation);
				study_table_number(table, 2 + 2 * f, mean, 4);
				if (one->seed_count > 1)
					study_table_number(table, 3 + 2 * f, deviation, 2);
			}
			study_table_cell(table, 12, "%zu", one->seed_count);
			study_table_cell(table, 13, "%.2f", one->seconds);
		}
	study_table_note(table,
		"%zu samples to fit, %zu to test. 'pmfit baselines --help' describes the methods.", fitted,
		tested);
}

/* Of a number of devices: -1 is ideal. Of a batch it says how the time of an iteration grows. */
static const char *exponent_text(double exponent)
{
	if (exponent < -1.02)
		return "superlinear: doubling it more than halves the variable part";
	if (exponent <= -0.98)
		return "inversely proportional: doubling it halves the variable part";
	if (exponent < -0.02)
		return "falls, less than inversely proportional";
	if (exponent <= 0.02)
		return "no effect";
	if (exponent < 0.98)
		return "grows sublinearly";
	return exponent <= 1.02 ? "grows linearly" : "grows superlinearly";
}

/* What becomes of these exponents with C, in the middle of the samples, in the words of 'pmfit guide'. */
static int tabulate_guide(struct study_table *table, const struct pm_fit_model *model, const char *fit)
{
	struct guide guide;
	struct guide_number number;
	const char *bad = guide_init(&guide, model, NULL, NULL);
	int status = 0;

	for (int batch = 0; batch < 2 && status == 0; batch++) {
		size_t column = batch ? guide.batch : guide.gpus;

		if (bad || column == GUIDE_NONE)
			continue;
		status = guide_elasticity(&guide, column, &number);
		study_table_row(table);
		study_table_cell(table, 0, "%s", fit);
		study_table_cell(table, 1, "time over %s", model->columns[column].name);
		study_table_number(table, 2, number.value, 4);
		study_table_cell(
			table, 5, "with C, in the middle of the samples; %s", guide_meaning(&guide, column));
	}
	if (!bad && status == 0)
		status = guide_constant_share(&guide, &number);
	if (!bad && status == 0) {
		study_table_row(table);
		study_table_cell(table, 0, "%s", fit);
		study_table_cell(table, 1, "C, %% of time");
		study_table_number(table, 2, 100 * number.value, 4);
		study_table_cell(table, 5, "there; see 'pmfit guide'");
	}
	guide_free(&guide);
	return status;
}

static int tabulate_scaling(struct study *study)
{
	int status = 0;

	static const char *const heads[] = {"fit", "parameter", "value", "mean", "sd", "meaning", NULL};
	struct study_table *table = &study->tables[STUDY_SCALING];

	study_table_init(
		table, "scaling", "Scaling: the extrinsic exponents, and the constant (as Table 4.5)", heads);
	for (size_t fit = 0; fit < STUDY_FITS && status == 0; fit++) {
		for (size_t v = 0; v < study->models[fit]->value_count; v++) {
			const struct pm_fit_value *value = &study->models[fit]->values[v];

			if (value->kind != PM_FIT_KIND_EXTRINSIC && value->kind != PM_FIT_KIND_CONSTANT)
				continue;
			study_table_row(table);
			study_table_cell(table, 0, "%s", fit_names[fit]);
			study_table_cell(table, 1, "%s", value->name);
			study_table_number(table, 2, value->value, 4);
			study_table_number(table, 3, value->mean, 4);
			study_table_number(table, 4, value->sd, 2);
			if (value->kind == PM_FIT_KIND_EXTRINSIC)
				study_table_cell(table, 5, "%s", exponent_text(value->value));
			else
				study_table_cell(table, 5, "independent of all extrinsic factors%s%s",
					study->models[fit]->time_unit ? ", " : "",
					study->models[fit]->time_unit ? study->models[fit]->time_unit : "");
		}
		status = tabulate_guide(table, study->models[fit], fit_names[fit]);
	}
	study_table_note(table,
		"For the time of an iteration with a global batch; otherwise use 'pmfit guide --time-of "
		"epoch, --batch-is local'.");
	return status;
}

static void tabulate_path(struct study *study)
{
	static const char *const heads[] = {"lambda", "fitted MAE", "held-out MAE", "held-out error",
		"fitted R2", "held-out R2", "test MAE", "test MAPE", "test R2", NULL};
	struct study_table *table = &study->tables[STUDY_PATH];
	const struct lambda_path *path = &study->path;

	study_table_init(table, "path", "Error over lambda (as figure 4.15)", heads);
	if (!path->count) {
		study_table_note(table,
			"Skipped: with one of %d folds held out, too few samples for the parameters.", FOLDS);
		return;
	}
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];
		const struct pm_fit_error *fitted = &point->model->train, *test = &point->test;
		const double numbers[] = {point->lambda, fitted->mae, point->held_out.mae, point->deviation,
			fitted->r2, point->held_out.r2, test->mae, test->mape, test->r2};

		study_table_row(table);
		for (size_t c = 0; c < (test->sample_count ? 9 : 6); c++)
			study_table_number(table, c, numbers[c], 4);
	}
	study_table_note(table,
		"Held out: %d-fold cross-validation, with its standard error. Lowest error: lambda %g; "
		"largest lambda within one standard error of it: %g.",
		FOLDS, path->points[path->best].lambda, path->points[path->simple].lambda);
}

static void tabulate_values(struct study *study)
{
	const struct pm_fit_model *first = study->path.count ? study->path.points[0].model : NULL;
	struct study_table *table = &study->tables[STUDY_VALUES];
	const char *heads[LAMBDAS + 2] = {"parameter"};
	char texts[LAMBDAS][16];

	for (size_t i = 0; i < LAMBDAS; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%g", lambdas[i]);
		heads[i + 1] = texts[i];
	}
	study_table_init(table, "values", "Parameters over lambda (as figures 4.16 and 4.17)", heads);
	if (!first)
		study_table_note(table, "Skipped, as are the errors over lambda.");
	for (size_t v = 0; first && v < first->value_count; v++) {
		study_table_row(table);
		study_table_cell(table, 0, "%s", first->values[v].name);
		for (size_t i = 0; i < LAMBDAS; i++)
			study_table_number(table, i + 1, study->path.points[i].model->values[v].value, 3);
	}
}

int study_run(struct study *study, const struct observations *observations,
	const struct pm_fit_parameter *parameter, void (*show)(const char *what))
{
	struct pm_fit_parameter some = *parameter;
	int status = 0;

	*study = (struct study){.observations = observations, .parameter = *parameter};
	for (size_t fit = 0; fit < STUDY_FITS && status == 0; fit++) {
		struct pm_fit_parameter one = *parameter;

		if (show)
			show(fit == STUDY_FREE ? "fits without penalty" : "fits with L2");
		one.penalty = fit == STUDY_FREE ? PM_FIT_NO_PENALTY : PM_FIT_L2;
		one.lambda_coefficients = one.lambda_powers = fit == STUDY_FREE ? 0 : STUDY_LAMBDA;
		status = pm_fit(&observations->train, &one, &study->models[fit]);
		if (status == 0 && study->models[fit]->interrupted)
			status = -EINTR;
	}
	if (status == 0)
		status = baselines_run(
			&study->baselines, &observations->train, &observations->test, parameter, NULL, show);
	if (status == 0 && show)
		show("lambda's path");
	some.penalty = PM_FIT_L2;
	some.run_count = PATH_SEEDS;
	some.bootstrap = 0;
	if (status == 0)
		status = lambda_path_run(&study->path, &observations->train, &observations->test, &some,
			lambdas, LAMBDAS, 1, FOLDS, NULL, NULL);
	/* what is left of the samples in a fold may be too few where all of them are not */
	if (status == -EINVAL) {
		lambda_path_free(&study->path);
		study->path = (struct lambda_path){0};
		status = 0;
	}
	if (status == 0 && study->path.interrupted)
		status = -EINTR;
	if (status < 0)
		return status;
	tabulate_parameters(study);
	tabulate_errors(study);
	if (tabulate_scaling(study) < 0)
		return -ENOMEM;
	tabulate_path(study);
	tabulate_values(study);
	return 0;
}

void study_free(struct study *study)
{
	for (size_t fit = 0; fit < STUDY_FITS; fit++)
		pm_fit_free(study->models[fit]);
	baselines_free(&study->baselines);
	lambda_path_free(&study->path);
	for (size_t i = 0; i < STUDY_TABLES; i++)
		study_table_free(&study->tables[i]);
	*study = (struct study){0};
}
