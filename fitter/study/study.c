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

/* What a penalty has driven out is 0 to a reader. */
#define NOTHING 1e-30

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char *const fit_names[] = {"no penalty", "L2 0.001"};

static struct print_table *begin(struct study *study, enum study_tables which, const char *name,
	const char *title, const struct print_column *columns, size_t count)
{
	struct study_table *table = &study->tables[which];

	table->name = name;
	table->title = title;
	table->note = "";
	print_init(&table->rows, &study->arena);
	print_columns(&table->rows, columns, count);
	return &table->rows;
}

static void put(struct print_table *rows, size_t column, const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		print_number(rows, column + i, fabs(numbers[i]) < NOTHING ? 0 : numbers[i]);
}

static void tabulate_parameters(struct study *study)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("parameter", "parameter", PRINT_WORD),
		PRINT_COLUMN("free", "free", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("mean", "mean", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("sd", "sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("L2 0.001", "L2 0.001", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("L2 mean", "L2 mean", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("L2 sd", "L2 sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("low", "low", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("high", "high", PRINT_FIGURE, .digits = 4),
	};
	struct print_table *rows = begin(study, STUDY_PARAMETERS, "parameters",
		"Parameters of the generic model: best fit, mean and standard deviation over seeds (as "
		"Table 4.3)",
		columns, COUNT(columns));
	const struct pm_fit_model *freely = study->models[STUDY_FREE], *l2 = study->models[STUDY_L2];

	for (size_t v = 0; v < freely->value_count; v++) {
		const struct pm_fit_value *a = &freely->values[v], *b = &l2->values[v];

		print_row(rows);
		print_word(rows, 0, a->name);
		put(rows, 1, (double[]){a->value, a->mean, a->sd, b->value, b->mean, b->sd, b->low, b->high},
			8);
	}
	study->tables[STUDY_PARAMETERS].note = arena_format(&study->arena,
		"Seeds that agree within 0.1%% on the best cost: %zu of %zu without penalty, %zu of %zu "
		"with. The deviation over seeds is search noise. The data determine %zu of the %zu "
		"parameters%s.",
		freely->runs_agreeing, freely->run_count, l2->runs_agreeing, l2->run_count, freely->rank,
		freely->value_count, l2->resample_count ? "; low and high are bootstrap limits" : "");
}

static void tabulate_errors(struct study *study)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("method", "method", PRINT_WORD),
		PRINT_COLUMN("set", "set", PRINT_WORD),
		PRINT_COLUMN("MAPE", "MAPE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("MAPE sd", "MAPE sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("MAE", "MAE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("MAE sd", "MAE sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("MSE", "MSE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("MSE sd", "MSE sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("RMSE", "RMSE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("RMSE sd", "RMSE sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("R2", "R2", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("R2 sd", "R2 sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("seeds", "seeds", PRINT_COUNT),
		PRINT_COLUMN("seconds", "seconds", PRINT_REAL, .digits = 2),
	};
	struct print_table *rows = begin(study, STUDY_ERRORS, "errors",
		"Errors of each method (as Table 4.4); MAPE in percent of the measured time", columns,
		COUNT(columns));
	size_t fitted = study->observations->train.sample_count,
	       tested = study->observations->test.sample_count;

	for (int test = 1; test >= 0; test--)
		for (size_t i = 0; i < study->baselines.count; i++) {
			const struct baseline *one = &study->baselines.results[i];
			const struct pm_fit_error *errors = test ? one->test : one->train;
			double mean, deviation;

			if (one->skipped || (test && tested == 0))
				continue;
			print_row(rows);
			print_word(rows, 0, one->name);
			print_word(rows, 1, test ? "test" : "fitted");
			for (size_t f = 0; f < BASELINES_FIGURES; f++) {
				baselines_spread(errors, one->seed_count, baselines_figures[f].offset, &mean,
					&deviation);
				put(rows, 2 + 2 * f, (double[]){mean, deviation},
					one->seed_count > 1 ? 2 : 1);
			}
			print_numbers(rows, 12, (double[]){(double)one->seed_count, one->seconds}, 2);
		}
	study->tables[STUDY_ERRORS].note = arena_format(&study->arena,
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
static int tabulate_guide(struct print_table *rows, const struct pm_fit_model *model, const char *fit)
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
		print_row(rows);
		print_word(rows, 0, fit);
		print_word(rows, 1, arena_format(rows->arena, "time over %s", model->columns[column].name));
		put(rows, 2, &number.value, 1);
		print_word(rows, 5,
			arena_format(rows->arena, "with C, in the middle of the samples; %s",
				guide_meaning(&guide, column)));
	}
	if (!bad && status == 0)
		status = guide_constant_share(&guide, &number);
	if (!bad && status == 0) {
		print_row(rows);
		print_word(rows, 0, fit);
		print_word(rows, 1, "C, % of time");
		put(rows, 2, (double[]){100 * number.value}, 1);
		print_word(rows, 5, "there; see 'pmfit guide'");
	}
	guide_free(&guide);
	return status;
}

static int tabulate_scaling(struct study *study)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("fit", "fit", PRINT_WORD),
		PRINT_COLUMN("parameter", "parameter", PRINT_WORD),
		PRINT_COLUMN("value", "value", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("mean", "mean", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("sd", "sd", PRINT_FIGURE, .digits = 2),
		PRINT_COLUMN("meaning", "meaning", PRINT_WORD),
	};
	struct print_table *rows = begin(study, STUDY_SCALING, "scaling",
		"Scaling: the extrinsic exponents, and the constant (as Table 4.5)", columns, COUNT(columns));
	int status = 0;

	for (size_t fit = 0; fit < STUDY_FITS && status == 0; fit++) {
		const struct pm_fit_model *model = study->models[fit];

		for (size_t v = 0; v < model->value_count; v++) {
			const struct pm_fit_value *value = &model->values[v];

			if (value->kind != PM_FIT_KIND_EXTRINSIC && value->kind != PM_FIT_KIND_CONSTANT)
				continue;
			print_row(rows);
			print_word(rows, 0, fit_names[fit]);
			print_word(rows, 1, value->name);
			put(rows, 2, (double[]){value->value, value->mean, value->sd}, 3);
			print_word(rows, 5,
				value->kind == PM_FIT_KIND_EXTRINSIC
					? exponent_text(value->value)
					: arena_format(&study->arena,
						  "independent of all extrinsic factors%s%s",
						  model->time_unit ? ", " : "",
						  model->time_unit ? model->time_unit : ""));
		}
		status = tabulate_guide(rows, model, fit_names[fit]);
	}
	study->tables[STUDY_SCALING].note =
		"For the time of an iteration with a global batch; otherwise use 'pmfit guide --time-of "
		"epoch, --batch-is local'.";
	return status;
}

static void tabulate_path(struct study *study)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("lambda", "lambda", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("fitted MAE", "fitted MAE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("held-out MAE", "held-out MAE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("held-out error", "held-out error", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("fitted R2", "fitted R2", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("held-out R2", "held-out R2", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("test MAE", "test MAE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("test MAPE", "test MAPE", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("test R2", "test R2", PRINT_FIGURE, .digits = 4),
	};
	struct print_table *rows = begin(
		study, STUDY_PATH, "path", "Error over lambda (as figure 4.15)", columns, COUNT(columns));
	const struct lambda_path *path = &study->path;

	if (!path->count) {
		study->tables[STUDY_PATH].note = arena_format(&study->arena,
			"Skipped: with one of %d folds held out, too few samples for the parameters.", FOLDS);
		return;
	}
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];
		const struct pm_fit_error *fitted = &point->model->train, *test = &point->test;

		print_row(rows);
		put(rows, 0,
			(double[]){point->lambda, fitted->mae, point->held_out.mae, point->deviation,
				fitted->r2, point->held_out.r2, test->mae, test->mape, test->r2},
			test->sample_count ? 9 : 6);
	}
	study->tables[STUDY_PATH].note = arena_format(&study->arena,
		"Held out: %d-fold cross-validation, with its standard error. Lowest error: lambda %g; "
		"largest lambda within one standard error of it: %g.",
		FOLDS, path->points[path->best].lambda, path->points[path->simple].lambda);
}

static void tabulate_values(struct study *study)
{
	const struct pm_fit_model *first = study->path.count ? study->path.points[0].model : NULL;
	struct print_column columns[LAMBDAS + 1] = {PRINT_COLUMN("parameter", "parameter", PRINT_WORD)};
	struct print_table *rows;

	for (size_t i = 0; i < LAMBDAS; i++) {
		const char *lambda = arena_format(&study->arena, "%g", lambdas[i]);

		columns[i + 1] = (struct print_column)PRINT_COLUMN(lambda, lambda, PRINT_FIGURE, .digits = 3);
	}
	rows = begin(study, STUDY_VALUES, "values", "Parameters over lambda (as figures 4.16 and 4.17)",
		columns, LAMBDAS + 1);
	if (!first)
		study->tables[STUDY_VALUES].note = "Skipped, as are the errors over lambda.";
	for (size_t v = 0; first && v < first->value_count; v++) {
		print_row(rows);
		print_word(rows, 0, first->values[v].name);
		for (size_t i = 0; i < LAMBDAS; i++)
			put(rows, i + 1, &study->path.points[i].model->values[v].value, 1);
	}
}

static void name(struct study *study, const char *path)
{
	size_t fitted = study->observations->train.sample_count,
	       tested = study->observations->test.sample_count;
	const char *unit = study->observations->train.time_unit;

	study->title = arena_format(&study->arena, "%s: %zu trials, %zu to fit, %zu to test%s%s", path,
		fitted + tested, fitted, tested, unit ? "; times in " : "", unit ? unit : "");
}

int study_run(struct study *study, const char *path, const struct observations *observations,
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
	name(study, path);
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
		print_free(&study->tables[i].rows);
	arena_free(&study->arena);
	*study = (struct study){0};
}
