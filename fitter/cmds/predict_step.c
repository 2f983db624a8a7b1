/* pmfit predict with a model of `pmfit step`: the same columns as with any other model, and why there is no
 * answer. */
#include "base/memory.h"
#include "base/statistics.h"
#include "base/text.h"
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
	size_t answered, outside, covered;
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

void predict_step_read(const struct step_model *model, struct csv *csv, struct step_table *table,
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
	if (columns->names[STEP_BATCH] || !model->columns.names[STEP_BATCH])
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
	if (columns->batch_guessed && columns->names[STEP_BATCH])
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

static bool has_repeats(const struct step_answers *a)
{
	for (size_t k = 0; k < a->table->count; k++)
		if (isfinite(a->answers[k].mean_low))
			return true;
	return false;
}

static void fill(const struct step_answers *a, struct prediction *p)
{
	enum { BATCH = 1, OUTSIDE = 9, NOTE = 13, UNTRIED };
	static const struct print_column point[] = {
		PRINT_COLUMN("gpu_batch", NULL, PRINT_FIGURE),
		PRINT_COLUMN("gpus", NULL, PRINT_FIGURE),
		PRINT_COLUMN("nodes", NULL, PRINT_FIGURE),
	};
	static const struct print_column rest[] = {
		PRINT_COLUMN("extrapolated", NULL, PRINT_WORD),
		PRINT_COLUMN("compute", NULL, PRINT_FIGURE),
		PRINT_COLUMN("exchange", NULL, PRINT_FIGURE),
		PRINT_COLUMN("no_answer", NULL, PRINT_WORD, .csv_key = ""),
		PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
		PRINT_COLUMN("not_validated", NULL, PRINT_WORD),
	};
	static const struct print_column mean[] = {
		PRINT_COLUMN("mean_low", "mean low", PRINT_FIGURE),
		PRINT_COLUMN("mean_high", "mean high", PRINT_FIGURE),
	};
	const bool has_mean = has_repeats(a);
	size_t first;

	print_columns(&p->rows, point, 3);
	first = prediction_columns(p);
	print_columns(&p->rows, rest, 6);
	if (has_mean)
		print_columns(&p->rows, mean, 2);
	for (size_t k = 0; k < a->table->count; k++) {
		const struct step_row *row = &a->table->rows[k];
		const struct committee_answer *answer = &a->answers[k];

		prediction_row(p, first, row->line, answer->time, answer->low, answer->high, row->row.time);
		print_numbers(&p->rows, BATCH,
			(double[]){row->row.point.batch, row->row.point.gpus, row->row.point.nodes}, 3);
		print_word(&p->rows, OUTSIDE, where(answer->outside));
		print_numbers(&p->rows, OUTSIDE + 1, (double[]){answer->compute, answer->exchange}, 2);
		if (has_mean)
			print_numbers(
				&p->rows, UNTRIED + 1, (double[]){answer->mean_low, answer->mean_high}, 2);
		if (answer->why)
			print_word(&p->rows, NOTE - 1, answer->why);
		if (answer->why)
			print_word(&p->rows, NOTE, arena_format(&p->arena, "no answer: %s", answer->why));
		else if (answer->outside)
			print_word(&p->rows, NOTE,
				arena_format(&p->arena, "beyond the data: %s%s", where(answer->outside),
					answer->untried ? ", not validated" : ""));
		print_word(&p->rows, UNTRIED,
			answer->untried == 1U << COMMITTEE_INSIDE ? "inside" : where(answer->untried));
	}
}

static int print(const struct step_answers *a, const struct predict_choices *choices)
{
	struct prediction p = {.interval = "left out",
		.unit = a->model->columns.unit,
		.why_unanswered = "",
		.has_interval = true,
		.confidence = a->confidence,
		.covered = a->covered,
		.outside = a->outside,
		.unanswered = a->table->count - a->answered};
	size_t untried = 0;
	int status;

	prediction_init(&p);
	p.basis = arena_format(&p.arena,
		"Intervals: %g%%, of a run, by how configurations like these were predicted when they were left out%s.",
		100 * a->confidence,
		has_repeats(a) ? "; those of the mean of runs are 'mean low' to 'mean high'" : "");
	for (size_t k = 0; k < a->table->count; k++)
		untried += a->answers[k].untried && !a->answers[k].why;
	if (untried)
		p.basis = arena_format(&p.arena,
			"%s Of %zu row%s they are not validated: too few configurations were left out, or none as far from the rest, so "
			"whether they hold %g%% there is not known.",
			p.basis, untried, pm_text_plural(untried), 100 * a->confidence);
	measure(a, false, &p.all);
	measure(a, true, &p.inside);
	fill(a, &p);
	status = prediction_print(&p, choices);
	prediction_free(&p);
	return status;
}

int predict_step(const struct step_model *model, const char *path, const struct predict_choices *choices)
{
	struct step_columns columns = {0};
	struct arena arena = {0};
	struct step_table table;
	struct csv csv;
	int status;
	struct step_answers a = {.model = model,
		.table = &table,
		.factor = 1,
		.confidence = choices->confidence > 0 ? choices->confidence : 0.95};

	predict_step_read(model, &csv, &table, path, choices, &columns, &arena);
	if (columns.unit && model->columns.unit && strcmp(columns.unit, model->columns.unit) != 0) {
		a.factor = step_unit_seconds(columns.unit) / step_unit_seconds(model->columns.unit);
		warnx("%s: times in %s, by the column's name, are converted to the model's %s", csv.path,
			columns.unit, model->columns.unit);
	}
	answer_all(&a);
	check_units(&a, csv.path);
	if (choices->plot)
		warnx("--plot: not for models of steps");
	status = print(&a, choices);
	free(a.answers);
	step_table_free(&table);
	csv_free(&csv);
	arena_free(&arena);
	return status;
}
