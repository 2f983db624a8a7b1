/* pmfit predict with a model of `pmfit step`: the same columns as with any other model, and why there is no
 * answer. */
#include "base/statistics.h"
#include "model/model_file.h"
#include "output/json_print.h"
#include "predict.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct step_answers {
	const struct step_model *model;
	const struct step_table *table;
	struct committee_answer *answers;
	double confidence, factor; /* factor: from the table's unit to the model's */
	size_t answered, outside, measured, covered;
};

void predict_check_units(const char *path, const double *measured, const double *predicted, size_t count)
{
	double *logs = mem_alloc(count + 1, sizeof(*logs)), middle;
	size_t kept = 0;

	for (size_t k = 0; k < count; k++)
		if (measured[k] > 0 && predicted[k] > 0)
			logs[kept++] = log10(measured[k] / predicted[k]);
	middle = kept ? statistics_median(logs, kept) : 0;
	free(logs);
	for (int power = 3; power <= 9; power += 3)
		if (fabs(fabs(middle) - power) < 0.3)
			warnx("%s: measured times are about %s1e%d of the predicted ones: another unit of time than "
			      "the model's?",
				path, middle > 0 ? "" : "1/", power);
}

static const char *where(unsigned outside)
{
	static const char *const words[8] = {
		"", "batch", "gpus", "batch gpus", "nodes", "batch nodes", "gpus nodes", "batch gpus nodes"};

	return words[outside >> COMMITTEE_BATCH & 7];
}

/* The model's columns where the table has them; else by names that are known. */
static void read_table(const struct step_model *model, struct csv *csv, struct step_table *table,
	const char *path, const struct predict_choices *choices, struct step_columns *columns,
	struct arena *arena)
{
	const char *bad;

	if (csv_read(csv, path) < 0)
		errx(1, "%s", csv->error);
	if (choices->is_rate)
		errx(1, "--rate: a model of steps has times: give a column of them with --time");
	for (size_t c = 0; c < STEP_COLUMNS; c++)
		if (model->columns.names[c] && csv_find(csv, model->columns.names[c]) >= 0)
			columns->names[c] = model->columns.names[c];
	if (columns->names[STEP_BATCH])
		columns->batch = model->columns.batch;
	if (columns->names[STEP_TIME])
		columns->unit = model->columns.unit;
	if (choices->time) {
		columns->names[STEP_TIME] = arena_format(arena, "%s", choices->time);
		columns->unit = NULL;
	}
	bad = step_columns_find(columns, csv, choices->time != NULL, arena);
	if (bad)
		errx(1, "%s", bad);
	if (columns->batch_guessed)
		warnx("%s: %s is taken for samples on %s", csv->path, columns->names[STEP_BATCH],
			columns->batch == STEP_BATCH_LOCAL
				? "each GPU"
				: "all GPUs together: call the column local_batch where it is not");
	columns->by_digit = model->columns.by_digit || columns->by_digit;
	if (step_table_read(table, csv, columns, false, choices->skip_bad) < 0)
		errx(1, "%s", table->error);
	if (table->skipped)
		warnx("%s: %zu rows skipped: missing or impossible values", csv->path, table->skipped);
}

static void answer_all(struct step_answers *a)
{
	a->answers = mem_alloc(a->table->count + 1, sizeof(*a->answers));
	for (size_t k = 0; k < a->table->count; k++) {
		struct committee_answer *answer = &a->answers[k];
		double measured = a->table->rows[k].row.time;

		a->table->rows[k].row.time = measured *= a->factor;
		step_model_predict(a->model, &a->table->rows[k], a->confidence, answer);
		a->answered += isfinite(answer->time) != 0;
		a->outside += answer->outside != 0;
		a->measured += isfinite(measured) && isfinite(answer->time);
		a->covered += measured >= answer->low && measured <= answer->high;
	}
}

/* The error over the answered rows, `inside`: of those within the data. */
static void measure(const struct step_answers *a, bool inside, struct pm_fit_error *error)
{
	double *measured = mem_alloc(a->table->count + 1, sizeof(*measured));
	double *predicted = mem_alloc(a->table->count + 1, sizeof(*predicted));
	size_t count = 0;

	for (size_t k = 0; k < a->table->count; k++)
		if (isfinite(a->table->rows[k].row.time) && isfinite(a->answers[k].time) &&
			!(inside && a->answers[k].outside)) {
			measured[count] = a->table->rows[k].row.time;
			predicted[count++] = a->answers[k].time;
		}
	*error = (struct pm_fit_error){0};
	if (count)
		pm_fit_measure(measured, predicted, count, error);
	free(measured);
	free(predicted);
}

static void check_units(const struct step_answers *a, const char *path)
{
	double *measured = mem_alloc(a->table->count + 1, sizeof(*measured));
	double *predicted = mem_alloc(a->table->count + 1, sizeof(*predicted));

	for (size_t k = 0; k < a->table->count; k++) {
		measured[k] = a->table->rows[k].row.time;
		predicted[k] = a->answers[k].time;
	}
	predict_check_units(path, measured, predicted, a->table->count);
	free(measured);
	free(predicted);
}

static void print_rows(const struct step_answers *a)
{
	printf("%8s %11s %11s %11s", "line", "predicted", "low", "high");
	printf(a->measured ? " %11s %8s\n" : "\n", "measured", "error");
	for (size_t k = 0; k < a->table->count; k++) {
		const struct committee_answer *answer = &a->answers[k];
		double measured = a->table->rows[k].row.time;

		printf("%8zu", a->table->rows[k].line);
		if (isfinite(answer->time))
			printf(" %11.5g %11.5g %11.5g", answer->time, answer->low, answer->high);
		else
			printf(" %11s %11s %11s", "-", "-", "-");
		if (a->measured && isfinite(measured) && isfinite(answer->time))
			printf(" %11.5g %+7.1f%%", measured, 100 * (answer->time / measured - 1));
		else if (a->measured)
			printf(" %11s %8s", "-", "-");
		if (answer->why)
			printf("  no answer: %s", answer->why);
		else if (answer->outside)
			printf("  beyond the data: %s", where(answer->outside));
		putchar('\n');
	}
	putchar('\n');
}

static void print_error(const char *name, const struct pm_fit_error *error)
{
	printf("  %-18s %8zu %8.2f%% %10.5g %10.5g %10.5g %8.4f\n", name, error->sample_count, error->mape,
		error->mae, error->mse, error->rmse, error->r2);
}

static void print_sum(const struct step_answers *a)
{
	struct pm_fit_error all, inside;

	printf("%zu rows", a->table->count);
	if (a->model->columns.unit)
		printf("; times in %s", a->model->columns.unit);
	if (a->outside)
		printf("; %zu beyond the data", a->outside);
	if (a->answered < a->table->count)
		printf("; %zu without an answer", a->table->count - a->answered);
	printf("\nIntervals: %g%%, by how configurations like these were predicted when they were left out.\n",
		100 * a->confidence);
	if (!a->measured)
		return;
	measure(a, false, &all);
	measure(a, true, &inside);
	printf("\n  %-18s %8s %9s %10s %10s %10s %8s\n", "error on", "rows", "MAPE", "MAE", "MSE", "RMSE",
		"R2");
	print_error("all", &all);
	if (inside.sample_count && inside.sample_count < all.sample_count)
		print_error("inside the range", &inside);
	printf("  %zu of %zu measured times (%.1f%%) lie within their intervals\n", a->covered, a->measured,
		100 * (double)a->covered / (double)a->measured);
}

static void print_csv_rows(const struct step_answers *a)
{
	struct csv_line line = {.out = stdout};

	puts("line,gpu_batch,gpus,nodes,predicted,low,high,measured,extrapolated,compute,exchange");
	for (size_t k = 0; k < a->table->count; k++) {
		const struct step_row *row = &a->table->rows[k];
		const struct committee_answer *answer = &a->answers[k];

		csv_put_numbers(&line,
			(const double[]){(double)row->line, row->row.point.batch, row->row.point.gpus,
				row->row.point.nodes, answer->time, answer->low, answer->high, row->row.time},
			8);
		csv_put(&line, where(answer->outside));
		csv_put_numbers(&line, (const double[]){answer->compute, answer->exchange}, 2);
		csv_end(&line);
	}
}

static cJSON *row_json(const struct step_row *row, const struct committee_answer *answer)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddNumberToObject(object, "line", (double)row->line);
	cJSON_AddNumberToObject(object, "gpu_batch", row->row.point.batch);
	cJSON_AddNumberToObject(object, "gpus", row->row.point.gpus);
	cJSON_AddNumberToObject(object, "nodes", row->row.point.nodes);
	cJSON_AddItemToObject(object, "predicted", model_file_number(answer->time));
	cJSON_AddItemToObject(object, "low", model_file_number(answer->low));
	cJSON_AddItemToObject(object, "high", model_file_number(answer->high));
	cJSON_AddItemToObject(object, "measured", model_file_number(row->row.time));
	cJSON_AddItemToObject(object, "compute", model_file_number(answer->compute));
	cJSON_AddItemToObject(object, "exchange", model_file_number(answer->exchange));
	cJSON_AddStringToObject(object, "extrapolated", where(answer->outside));
	if (answer->why)
		cJSON_AddStringToObject(object, "no_answer", answer->why);
	return object;
}

static void print_json_rows(const struct step_answers *a)
{
	cJSON *root = cJSON_CreateObject(), *array;
	struct pm_fit_error all, inside;

	measure(a, false, &all);
	measure(a, true, &inside);
	cJSON_AddStringToObject(root, "interval", "left out");
	cJSON_AddNumberToObject(root, "confidence", a->confidence);
	if (a->model->columns.unit)
		cJSON_AddStringToObject(root, "time_unit", a->model->columns.unit);
	array = cJSON_AddArrayToObject(root, "rows");
	for (size_t k = 0; k < a->table->count; k++)
		cJSON_AddItemToArray(array, row_json(&a->table->rows[k], &a->answers[k]));
	cJSON_AddItemToObject(root, "error", all.sample_count ? model_file_error(&all) : cJSON_CreateNull());
	cJSON_AddItemToObject(
		root, "error_inside", inside.sample_count ? model_file_error(&inside) : cJSON_CreateNull());
	cJSON_AddNumberToObject(root, "covered", (double)a->covered);
	json_print(root);
}

int predict_step(const struct step_model *model, const char *path, const struct predict_choices *choices)
{
	struct step_columns columns = {0};
	struct arena arena = {0};
	struct step_table table;
	struct csv csv;
	struct step_answers a = {.model = model,
		.table = &table,
		.factor = 1,
		.confidence = choices->confidence > 0 ? choices->confidence : 0.95};

	read_table(model, &csv, &table, path, choices, &columns, &arena);
	if (columns.unit && model->columns.unit && strcmp(columns.unit, model->columns.unit) != 0) {
		a.factor = step_unit_seconds(columns.unit) / step_unit_seconds(model->columns.unit);
		warnx("%s: times in %s, by the column's name, are converted to the model's %s", csv.path,
			columns.unit, model->columns.unit);
	}
	answer_all(&a);
	check_units(&a, csv.path);
	if (choices->plot)
		warnx("--plot: not for models of steps");
	if (choices->format == PREDICT_CSV)
		print_csv_rows(&a);
	else if (choices->format == PREDICT_JSON)
		print_json_rows(&a);
	if (choices->format == PREDICT_TEXT)
		print_rows(&a);
	if (choices->format == PREDICT_TEXT || choices->format == PREDICT_SUM)
		print_sum(&a);
	free(a.answers);
	step_table_free(&table);
	csv_free(&csv);
	arena_free(&arena);
	return 0;
}
