/* Predictions of a table's rows in all forms: see predict.h. */
#include "base/text.h"
#include "model/model_file.h"
#include "output/report.h"
#include "predict.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

static const struct print_column columns[] = {
	PRINT_COLUMN("predicted", "predicted", PRINT_FIGURE),
	PRINT_COLUMN("low", "low", PRINT_FIGURE),
	PRINT_COLUMN("high", "high", PRINT_FIGURE),
	PRINT_COLUMN("measured", "measured", PRINT_FIGURE),
	PRINT_COLUMN(NULL, "error", PRINT_SHARE, .csv_key = ""),
};

void prediction_init(struct prediction *p)
{
	print_init(&p->rows, &p->arena);
	print_columns(&p->rows, (const struct print_column[]){PRINT_COLUMN("line", "line", PRINT_COUNT)}, 1);
}

void prediction_free(struct prediction *p)
{
	print_free(&p->rows);
	arena_free(&p->arena);
}

size_t prediction_columns(struct prediction *p)
{
	size_t first = print_columns(&p->rows, columns, sizeof(columns) / sizeof(*columns));

	if (!p->has_interval)
		p->rows.columns[first + 1].title = p->rows.columns[first + 2].title = NULL;
	if (!p->all.sample_count)
		p->rows.columns[first + 3].title = p->rows.columns[first + 4].title = NULL;
	return first;
}

void prediction_row(struct prediction *p, size_t first, size_t line, double time, double low, double high,
	double measured)
{
	p->missed += isfinite(measured) && !isfinite(time);
	print_row(&p->rows);
	print_number(&p->rows, 0, (double)line);
	print_numbers(&p->rows, first, (double[]){time, low, high, measured, time / measured - 1}, 5);
}

/* What is said of the rows, and of the errors. */
struct words {
	struct sentences rows, errors;
};

static void say_rows(const struct prediction *p, struct sentences *said)
{
	const char *text =
		arena_format(said->arena, "%zu row%s", p->rows.row_count, pm_text_plural(p->rows.row_count));

	if (p->unit)
		text = arena_format(said->arena, "%s; times in %s", text, p->unit);
	if (p->outside)
		text = arena_format(said->arena, "%s; %zu outside the fitted range", text, p->outside);
	if (p->unanswered)
		text = arena_format(said->arena, "%s; %zu without a prediction%s", text, p->unanswered,
			p->why_unanswered);
	sentences_add(said, "%s", text);
	sentences_add(said, "%s", p->basis);
	if (p->held)
		sentences_add(said,
			"%zu growth%s beyond the range held within what steps do (--formula: as the formula says).",
			p->held, pm_text_plural(p->held));
}

static void say_errors(const struct prediction *p, struct sentences *said)
{
	if (p->all.sample_count && p->has_interval)
		sentences_add(said, "%zu of %zu measured times (%.1f%%) lie within their intervals",
			p->covered, p->all.sample_count,
			100 * (double)p->covered / (double)p->all.sample_count);
}

static void print_errors(const struct prediction *p)
{
	bool is_split = p->inside.sample_count && p->inside.sample_count < p->all.sample_count;

	putchar('\n');
	report_error_table(
		(const struct report_error[]){{"all", p->all, NULL}, {"inside the range", p->inside, NULL}},
		is_split ? 2 : 1, stdout);
}

static void print_json_all(const struct prediction *p, const struct words *words)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "interval", p->interval);
	cJSON_AddNumberToObject(root, "confidence", p->confidence);
	if (p->unit)
		cJSON_AddStringToObject(root, "time_unit", p->unit);
	cJSON_AddItemToObject(root, "rows", print_json(&p->rows));
	cJSON_AddItemToObject(
		root, "error", p->all.sample_count ? model_file_error(&p->all) : cJSON_CreateNull());
	cJSON_AddItemToObject(root, "error_inside",
		p->inside.sample_count ? model_file_error(&p->inside) : cJSON_CreateNull());
	cJSON_AddNumberToObject(root, "covered", (double)p->covered);
	cJSON_AddNumberToObject(root, "held", (double)p->held);
	cJSON_AddNumberToObject(root, "outside", (double)p->outside);
	cJSON_AddNumberToObject(root, "unanswered", (double)p->unanswered);
	sentences_json(&words->rows, root, "sentences");
	sentences_json(&words->errors, root, "sentences");
	print_json_end(root, stdout);
}

static void print_text_all(const struct prediction *p, const struct words *words, bool is_sum)
{
	if (!is_sum) {
		print_text(&p->rows, NULL, stdout);
		putchar('\n');
	}
	sentences_text(&words->rows, 0, 2, stdout);
	if (p->all.sample_count)
		print_errors(p);
	sentences_text(&words->errors, 2, 4, stdout);
}

/* What the limit of the error makes of it: an exit status. */
static int judge(const struct prediction *p, double allowed)
{
	if (!p->all.sample_count && !p->missed) {
		warnx("--fail-above: no row has a measured time (--time COLUMN)");
		return 1;
	}
	if (p->missed)
		warnx("%zu measured row%s without a prediction", p->missed, pm_text_plural(p->missed));
	if (p->all.mape > allowed)
		warnx("the mean error of %zu row%s is %.1f%%, above %g%%", p->all.sample_count,
			pm_text_plural(p->all.sample_count), p->all.mape, allowed);
	return p->missed || !(p->all.mape <= allowed) ? PREDICTION_OFF : 0;
}

int prediction_print(struct prediction *p, const struct predict_choices *choices)
{
	struct words words = {.rows = {.arena = &p->arena}, .errors = {.arena = &p->arena}};

	say_rows(p, &words.rows);
	say_errors(p, &words.errors);
	if (choices->form == PRINT_CSV)
		print_csv(&p->rows, stdout);
	else if (choices->form == PRINT_JSON)
		print_json_all(p, &words);
	else
		print_text_all(p, &words, choices->is_sum);
	return choices->is_gate ? judge(p, choices->allowed) : 0;
}
