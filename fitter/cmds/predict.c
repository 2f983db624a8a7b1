/* pmfit predict: what a model says of configurations, measured or not. */
#include "base/csv.h"
#include "base/plot_text.h"
#include "cmd.h"
#include "data/model_input.h"
#include "output/figures.h"
#include "auto.h"
#include "predict.h"
#include "step/beyond.h"
#include "step_options.h"

#include <float.h>
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const interval_names[] = {[PM_FIT_INTERVAL_NONE] = "none",
	[PM_FIT_INTERVAL_RESIDUALS] = "residuals",
	[PM_FIT_INTERVAL_BOOTSTRAP] = "bootstrap and residuals"};

struct answer {
	const struct pm_fit_model *model;
	const struct model_input *input;
	const struct csv *csv;
	double *times, *low, *high;   /* NAN where a level is unseen */
	double *mean_low, *mean_high; /* NAN also beyond the data */
	enum pm_fit_interval interval;
	double confidence;
	struct pm_fit_error all, inside; /* inside the fitted ranges */
	size_t covered, unseen, outside; /* rows */
	size_t held;                     /* times that the growth beyond the data was held */
};

static const char *cell(const struct answer *a, size_t row, size_t column)
{
	return a->csv->cells[a->input->rows[row] * a->csv->column_count + (size_t)a->input->places[column]];
}

/* The error over rows with a measured time and none of these flags. */
static void measure(const struct answer *a, unsigned without, struct pm_fit_error *error)
{
	size_t rows = a->input->problem.sample_count, count = 0;
	double *numbers = malloc((2 * rows + 1) * sizeof(*numbers));

	if (!numbers)
		errx(1, "out of memory");
	for (size_t k = 0; k < rows; k++)
		if (isfinite(a->input->measured[k]) && !(a->input->flags[k] & without)) {
			numbers[count] = a->input->measured[k];
			numbers[rows + count++] = a->times[k];
		}
	*error = (struct pm_fit_error){0};
	if (count)
		pm_fit_measure(numbers, numbers + rows, count, error);
	free(numbers);
}

/* By the formula alone, whatever it says beyond the data. */
static void predict_formula(struct answer *a, size_t rows)
{
	int status;

	a->times = malloc((rows + 1) * sizeof(double));
	a->low = malloc((rows + 1) * sizeof(double));
	a->high = malloc((rows + 1) * sizeof(double));
	if (!a->times || !a->low || !a->high || pm_fit_predict(a->model, &a->input->problem, a->times) < 0)
		errx(1, "out of memory");
	status = pm_fit_predict_interval(a->model, &a->input->problem, a->confidence, a->low, a->high);
	if (status < 0)
		errx(1, "%s", strerror(-status));
	a->interval = (enum pm_fit_interval)status;
}

/* Of the mean of runs, where the formula is not checked against anything but rows. */
static void predict_mean(struct answer *a, size_t rows)
{
	a->mean_low = malloc((rows + 1) * sizeof(double));
	a->mean_high = malloc((rows + 1) * sizeof(double));
	if (!a->mean_low || !a->mean_high ||
		pm_fit_predict_mean(a->model, &a->input->problem, a->confidence, a->mean_low, a->mean_high) <
			0)
		errx(1, "out of memory");
	for (size_t k = 0; k < rows; k++)
		if (a->input->flags[k] & (MODEL_INPUT_UNSEEN | MODEL_INPUT_OUTSIDE))
			a->mean_low[k] = a->mean_high[k] = NAN;
}

static void predict(struct answer *a, bool formula)
{
	size_t rows = a->input->problem.sample_count;
	struct beyond beyond;

	predict_mean(a, rows);
	if (formula) {
		predict_formula(a, rows);
	} else {
		if (beyond_predict(&beyond, a->model, &a->input->problem, a->confidence) < 0)
			errx(1, "out of memory");
		a->times = beyond.times;
		a->low = beyond.low;
		a->high = beyond.high;
		a->interval = beyond.interval;
		a->held = beyond.held;
	}
	for (size_t k = 0; k < rows; k++) {
		double measured = a->input->measured[k];

		if (a->input->flags[k] & MODEL_INPUT_UNSEEN)
			a->times[k] = a->low[k] = a->high[k] = NAN;
		a->unseen += (a->input->flags[k] & MODEL_INPUT_UNSEEN) != 0;
		a->outside += (a->input->flags[k] & MODEL_INPUT_OUTSIDE) != 0;
		a->covered += measured >= a->low[k] && measured <= a->high[k];
	}
	measure(a, MODEL_INPUT_UNSEEN, &a->all);
	measure(a, MODEL_INPUT_UNSEEN | MODEL_INPUT_OUTSIDE, &a->inside);
}

/* "gpus 8 > 3": why the remark is made. */
static const char *remark_text(
	const struct answer *a, const struct model_input_remark *remark, struct arena *arena)
{
	const struct pm_fit_model_column *column = &a->model->columns[remark->column];
	double value = a->input->columns[remark->column].values[remark->row];
	bool is_above = value > column->greatest;

	if (remark->flag == MODEL_INPUT_UNSEEN)
		return arena_format(
			arena, "%s=%s unseen", column->name, cell(a, remark->row, remark->column));
	return arena_format(arena, "%s %g %c %g", column->name, value, is_above ? '>' : '<',
		is_above ? column->greatest : column->least);
}

/* The columns of a row with the flag; remarks `first` to `end` are the row's. */
static void put_flagged(
	const struct answer *a, struct prediction *p, size_t place, size_t first, size_t end, unsigned flag)
{
	const char **names = arena_alloc(&p->arena, end - first + 1, sizeof(*names));
	size_t count = 0;

	for (size_t i = first; i < end; i++)
		if (a->input->remarks[i].flag == flag)
			names[count++] = a->model->columns[a->input->remarks[i].column].name;
	print_list(&p->rows, place, names, count);
}

static void fill(const struct answer *a, struct prediction *p)
{
	static const struct print_column rest[] = {
		PRINT_COLUMN("extrapolated", NULL, PRINT_LIST),
		PRINT_COLUMN("unseen", NULL, PRINT_LIST),
		PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
	};
	static const struct print_column mean[] = {
		PRINT_COLUMN("mean_low", "mean low", PRINT_FIGURE),
		PRINT_COLUMN("mean_high", "mean high", PRINT_FIGURE),
	};
	const struct model_input *input = a->input;
	size_t next = 0, first, place;

	for (size_t i = 0; i < a->model->column_count; i++)
		if (input->places[i] >= 0)
			print_columns(&p->rows,
				(const struct print_column[]){PRINT_COLUMN(
					NULL, NULL, PRINT_WORD, .csv_key = a->model->columns[i].name)},
				1);
	first = prediction_columns(p);
	place = print_columns(&p->rows, rest, 3);
	if (a->model->resample_count)
		print_columns(&p->rows, mean, 2);
	for (size_t k = 0; k < input->problem.sample_count; k++) {
		const char *note = "";
		size_t begin = next, column = 1;

		prediction_row(
			p, first, input->lines[k], a->times[k], a->low[k], a->high[k], input->measured[k]);
		for (size_t i = 0; i < a->model->column_count; i++)
			if (input->places[i] >= 0)
				print_word(&p->rows, column++, cell(a, k, i));
		for (; next < input->remark_count && input->remarks[next].row == k; next++)
			note = arena_format(&p->arena, "%s%s%s", note, *note ? "  " : "",
				remark_text(a, &input->remarks[next], &p->arena));
		put_flagged(a, p, place, begin, next, MODEL_INPUT_OUTSIDE);
		put_flagged(a, p, place + 1, begin, next, MODEL_INPUT_UNSEEN);
		print_word(&p->rows, place + 2, note);
		if (a->model->resample_count)
			print_numbers(&p->rows, place + 3, (double[]){a->mean_low[k], a->mean_high[k]}, 2);
	}
}

static const char *basis_of(const struct answer *a, struct arena *arena)
{
	if (a->interval == PM_FIT_INTERVAL_NONE)
		return "Intervals unavailable: the model has no residuals; fit it again.";
	if (a->interval == PM_FIT_INTERVAL_RESIDUALS)
		return arena_format(arena,
			"Intervals: %g%%, of a run, from the residuals of the fitted rows (no bootstrap values).",
			100 * a->confidence);
	return arena_format(arena,
		"Intervals: %g%%, of a run, from %zu bootstrap values and the residuals of the fitted rows; those of the mean of "
		"runs, 'mean low' to 'mean high', are the bootstrap's alone.",
		100 * a->confidence, a->model->resample_count);
}

static int print(const struct answer *a, const struct predict_choices *choices)
{
	struct prediction p = {.interval = interval_names[a->interval],
		.unit = a->model->time_unit,
		.why_unanswered = ": unseen levels",
		.has_interval = a->interval != PM_FIT_INTERVAL_NONE,
		.confidence = a->confidence,
		.all = a->all,
		.inside = a->inside,
		.covered = a->covered,
		.outside = a->outside,
		.unanswered = a->unseen,
		.held = a->held};
	int status;

	prediction_init(&p);
	p.basis = basis_of(a, &p.arena);
	fill(a, &p);
	status = prediction_print(&p, choices);
	prediction_free(&p);
	return status;
}

/* Predictions with their intervals, row by row. */
static void figure_rows(struct plot *plot, const struct answer *a)
{
	char *label = figure_time_label("predicted", a->model->time_unit);
	struct plot_series *bars, *points;

	plot_init(plot, "Predictions and intervals", "line of the table", label);
	plot->x.whole = plot->y.log = true;
	bars = plot_add(plot, PLOT_RANGE, NULL);
	points = plot_add(plot, PLOT_POINTS, "predicted");
	for (size_t k = 0; k < a->input->problem.sample_count; k++) {
		plot_range(plot, bars, (double)a->input->lines[k], a->times[k], a->low[k], a->high[k], NULL);
		plot_point(plot, points, (double)a->input->lines[k], a->times[k], NULL);
	}
	plot_scale(plot);
	plot->left_out = a->unseen;
	figure_check(plot);
	free(label);
}

static void print_plot(const struct answer *a, bool plain)
{
	struct plot_text how = plot_text_for(stdout, plain);
	struct subject subject = {.model = a->model,
		.set_count = 1,
		.sets = {{.name = "rows",
			.problem = &a->input->problem,
			.measured = a->input->measured,
			.predicted = a->times,
			.lines = a->input->lines}}};
	struct plot plot;

	if (a->all.sample_count)
		figure_predicted(&plot, &subject);
	else
		figure_rows(&plot, a);
	putchar('\n');
	plot_text_print(&plot, &how, stdout);
	plot_free(&plot);
}

enum { TIME = OPTION_FIRST, RATE, CONFIDENCE, SKIP_BAD, PLOT, PLAIN, FORMULA, FAIL_ABOVE };

/* "20%" or "0.2", in percent. */
static double percent_of(int option, const char *text)
{
	char *end;
	double share = strtod(text, &end);
	bool in_percent = strcmp(end, "%") == 0;

	if (end == text || !(in_percent || (!*end && share <= 1)) || !(share >= 0) || !isfinite(share))
		cmd_usage(&cmd_predict, "%s %s: expected a share, such as 20%% or 0.2",
			command_option_name(&cmd_predict, option), text);
	return in_percent ? share : 100 * share;
}

static void take_options(int argument_count, char **arguments, struct predict_choices *choices)
{
	int option;

	while ((option = command_option(&cmd_predict, argument_count, arguments)) != -1)
		switch (option) {
		case TIME:
		case RATE:
			choices->time = optarg;
			choices->is_rate = option == RATE;
			break;
		case CONFIDENCE:
			choices->confidence = command_number(&cmd_predict, option, optarg, 0, DBL_MAX);
			if (!(choices->confidence > 0 && choices->confidence < 1))
				cmd_usage(&cmd_predict, "--confidence %s: expected a number between 0 and 1",
					optarg);
			break;
		case FAIL_ABOVE:
			choices->is_gate = true;
			choices->allowed = percent_of(option, optarg);
			break;
		case SKIP_BAD:
			choices->skip_bad = true;
			break;
		case PLOT:
			choices->plot = true;
			break;
		case FORMULA:
			choices->formula = true;
			break;
		case PLAIN:
			choices->plain = true;
			break;
		case 'c':
			choices->form = PRINT_CSV;
			break;
		case 'j':
			choices->form = PRINT_JSON;
			break;
		case 'q':
			choices->is_sum = true;
			break;
		default:
			command_unhandled(&cmd_predict, option);
		}
	if (optind + 2 != argument_count)
		cmd_usage(&cmd_predict, "expected a model and a table");
}

/* Answers a table by a fitted or found formula: all of the command. */
static int predict_formula_table(
	const struct pm_fit_model *model, const char *path, const struct predict_choices *given)
{
	struct predict_choices choices = *given;
	struct answer answer = {0};
	struct csv csv;
	struct model_input input;
	const char *bad;
	int status;

	if (csv_read(&csv, path) < 0)
		errx(1, "%s", csv.error);
	if (!choices.time && csv_find(&csv, "time") >= 0)
		choices.time = "time";
	if (model_input_init(&input, &csv, model, choices.time, choices.is_rate, choices.skip_bad) < 0)
		errx(1, "%s", input.error);
	if (input.skipped)
		warnx("%s: %zu rows skipped: missing values", csv.path, input.skipped);
	bad = pm_fit_check_predict(model, &input.problem);
	if (bad)
		errx(1, "%s: %s", csv.path, bad);
	answer.model = model;
	answer.input = &input;
	answer.csv = &csv;
	answer.confidence = choices.confidence > 0 ? choices.confidence : model->parameter.confidence;
	predict(&answer, choices.formula);
	predict_check_units(csv.path, input.measured, answer.times, input.problem.sample_count);
	status = print(&answer, &choices);
	if (choices.plot && choices.form == PRINT_TEXT)
		print_plot(&answer, choices.plain);
	free(answer.times);
	free(answer.low);
	free(answer.high);
	free(answer.mean_low);
	free(answer.mean_high);
	model_input_free(&input);
	csv_free(&csv);
	return status;
}

/* A table in place of the model: fits what it allows, and says on stderr what that is. */
static int predict_auto(const char *runs, const char *path, const struct predict_choices *choices)
{
	struct auto_model model;
	int status;

	auto_fit(&model, runs, NULL, choices->skip_bad);
	warnx("%s is a table: a model of %s is fitted ('pmfit auto' says what to believe)", runs,
		model.is_step ? "the training step" : "its settings");
	status = model.is_step ? predict_step(&model.step, path, choices)
			       : predict_formula_table(model.formula, path, choices);
	auto_free(&model);
	return status;
}

static int run_predict(int argument_count, char **arguments)
{
	struct predict_choices choices = {0};
	struct pm_fit_model *model;
	struct step_model step;
	const char *bad;
	int status;

	take_options(argument_count, arguments, &choices);
	if (step_options_load(arguments[optind], &step)) {
		status = predict_step(&step, arguments[optind + 1], &choices);
		step_model_free(&step);
		return status;
	}
	if (auto_is_table(arguments[optind]))
		return predict_auto(arguments[optind], arguments[optind + 1], &choices);
	bad = pm_fit_load(arguments[optind], &model);
	if (bad)
		errx(1, "%s", bad);
	status = predict_formula_table(model, arguments[optind + 1], &choices);
	pm_fit_free(model);
	return status;
}

static const struct option_row rows[] = {
	{"time", TIME, "COLUMN",
		"the measured time, in the model's unit; default `time`, if that column exists. Cells "
		"may be empty"},
	{"rate", RATE, "COLUMN", "instead: a column of which the time is one over"},
	{"formula", FORMULA, NULL, "the plain formula beyond the fitted range too"},
	{"confidence", CONFIDENCE, "X", "confidence level of the intervals, default 0.95"},
	{"fail-above", FAIL_ABOVE, "SHARE",
		"exit status 3 where the mean error of the rows with a measured time is above SHARE (20% or "
		"0.2) or such a row has no prediction: for a check in CI. Default: status 0 whatever the error"},
	{"skip-bad", SKIP_BAD, NULL, "skip rows with missing numbers and report their count"},
	{"csv", 'c', NULL,
		"CSV output: the model's columns, then predicted, low, high, measured, extrapolated, "
		"unseen (column names, separated by blanks)"},
	{"json", 'j', NULL,
		"JSON output: rows, errors, the basis of the intervals and the sentences of the text"},
	{"quiet", 'q', NULL, "the errors only"},
	{"plot", PLOT, NULL,
		"plot predicted against measured in the terminal; without measured times, the "
		"predictions row by row"},
	{"plain", PLAIN, NULL,
		"ASCII plot; default without UTF-8 in LC_ALL, LC_CTYPE or LANG. NO_COLOR disables colours"},
	{0},
};

const struct command cmd_predict = {
	.name = "predict",
	.summary = "predict configurations, with intervals",
	.usage = "[OPTION]... MODEL.json TABLE.csv",
	.about =
		"MODEL is a file written by 'pmfit fit -o', 'search -o' or 'step -o', or a table of "
		"runs, to which 'pmfit auto' fits a model first. TABLE is a CSV file with a header, or - "
		"for standard input; columns are matched by the names used in the fit, others are "
		"ignored. Prints a line per row: the predicted time, the limits of its interval, the "
		"measured time and the error if available, and warnings about the row:\n"
		"\n"
		"  gpus 8 > 3\tabove the largest fitted value: extrapolation\n"
		"  dataset=x unseen\tno fitted row has this level: no prediction\n"
		"\n"
		"Ranges are checked per column. The interval is a prediction interval: the prediction "
		"times the residuals (measured over predicted) of the fitted rows. With bootstrap values "
		"in the model (pmfit fit --bootstrap 200) the residuals are applied to the prediction of "
		"each, so that the interval widens where data are sparse. From 100 fitted rows on residuals are grouped by levels and ranges of each column and by the predicted time. Residuals of fitted rows are "
		"slightly smaller than those of new rows: check the coverage of the measured times.\n"
		"\n"
		"A row beyond the fitted range is predicted at its edge; the growth from there is held "
		"within what steps do (batch: powers 0 to 1, GPUs: 0 to 0.35, nodes: -0.35 to 0.35; a "
		"formula that falls goes on as fast as it did), for columns with such names. Its "
		"interval widens with the distance. --formula takes the formula as it is; a model of "
		"'pmfit step' knows more about such rows.\n"
		"\n"
		"Intervals are of a run; mean_low to mean_high are of the mean of runs: with bootstrap values (within the "
		"fitted range), and of a model of 'pmfit step' whose rows repeat configurations. For such a model not_validated names where the table could not show "
		"that intervals hold: columns in which the row is farther from the data than any configuration that was "
		"left out, or 'inside' where fewer than 29 were.\n",
	.options = OPTION_TABLES(rows),
	.after = "Examples:\n"
		 "  pmfit predict lenet.json planned.csv\n"
		 "  pmfit predict --time time --csv lenet.json runs.csv >predicted.csv\n"
		 "  pmfit predict -q --fail-above 20% lenet.json runs-of-this-build.csv\n"
		 "\n"
		 "Exit status: 0 success (also with rows without a prediction), 1 failure or, with "
		 "--fail-above, no measured time, 2 usage error, 3 the error is above --fail-above.\n",
	.run = run_predict,
};
