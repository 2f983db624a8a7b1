/* Predictions of a table's rows in all forms: see predict.h. */
#include "base/text.h"
#include "model/model_file.h"
#include "output/report.h"
#include "predict.h"

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
	print_row(&p->rows);
	print_number(&p->rows, 0, (double)line);
	print_numbers(&p->rows, first, (double[]){time, low, high, measured, time / measured - 1}, 5);
}

static void print_errors(const struct prediction *p)
{
	bool is_split = p->inside.sample_count && p->inside.sample_count < p->all.sample_count;

	putchar('\n');
	report_error_table(
		(const struct report_error[]){{"all", p->all, NULL}, {"inside the range", p->inside, NULL}},
		is_split ? 2 : 1, stdout);
	if (p->has_interval)
		printf("  %zu of %zu measured times (%.1f%%) lie within their intervals\n", p->covered,
			p->all.sample_count, 100 * (double)p->covered / (double)p->all.sample_count);
}

static void print_json_all(const struct prediction *p)
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
	print_json_end(root, stdout);
}

void prediction_print(const struct prediction *p, enum print_form form, bool is_sum)
{
	if (form == PRINT_CSV)
		print_csv(&p->rows, stdout);
	else if (form == PRINT_JSON)
		print_json_all(p);
	if (form != PRINT_TEXT)
		return;
	if (!is_sum) {
		print_text(&p->rows, NULL, stdout);
		putchar('\n');
	}
	printf("%zu row%s", p->rows.row_count, pm_text_plural(p->rows.row_count));
	if (p->unit)
		printf("; times in %s", p->unit);
	if (p->outside)
		printf("; %zu outside the fitted range", p->outside);
	if (p->unanswered)
		printf("; %zu without a prediction%s", p->unanswered, p->why_unanswered);
	printf("\n%s\n", p->basis);
	if (p->held)
		printf("%zu growth%s beyond the range held within what steps do (--formula: as the formula "
		       "says).\n",
			p->held, pm_text_plural(p->held));
	if (p->all.sample_count)
		print_errors(p);
}
