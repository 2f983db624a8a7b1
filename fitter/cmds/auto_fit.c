/* What a table's columns are, and the model that they allow: see auto.h. */
#include "auto.h"
#include "data/identity.h"
#include "model/expression_model.h"
#include "options.h"

#include <ctype.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define WORK 10e9       /* of the search */
#define LABEL_SHARE 0.9 /* of rows with a word of their own, from which a column is a label */
#define MOST_LEVELS 40  /* of a setting with words */
#define EXPLAINS 0.98   /* of the time's variance: seldom is a setting */

bool auto_is_table(const char *path)
{
	struct stat info;
	FILE *file;
	int c;

	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) || !(file = fopen(path, "re")))
		return false;
	do
		c = getc(file);
	while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
	fclose(file);
	return c != '{' && c != '[' && c != EOF;
}

static const char *cell(const struct auto_model *m, size_t row, size_t column)
{
	return m->csv.cells[row * m->csv.column_count + column];
}

static bool is_step_column(const struct auto_model *m, size_t column)
{
	for (size_t c = 0; c < STEP_COLUMNS; c++)
		if (m->columns.names[c] && strcmp(m->columns.names[c], m->csv.names[column]) == 0)
			return true;
	return false;
}

/* Is one of the words in the name, between its ends and what separates words? */
static bool has_word(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(words[i]);

		for (const char *at = name; (at = strcasestr(at, words[i])); at++)
			if ((at == name || !isalnum((unsigned char)at[-1])) &&
				!isalnum((unsigned char)at[length]))
				return true;
	}
	return false;
}

/* What nobody knows of a run that was not made, by the names that such columns have: other times, rates, what
 * the training came to, what the GPU was seen to do. */
static bool is_result(const char *name)
{
	static const char *const words[] = {"ms", "us", "ns", "s", "time", "seconds", "loss", "accuracy",
		"acc", "perplexity", "per_sec", "per_second", "per_s", "throughput", "speedup", "efficiency",
		"mfu", "hfu", "tflops", "gflops", "util", "utilization", "utilisation", "power", "watt",
		"watts", "energy", "temperature", "memory", "mem", "vram"};
	static const char *const starts[] = {"time", "iterations", "seconds", "elapsed", "duration"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (strncasecmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return has_word(name, words, sizeof(words) / sizeof(*words));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_different(const struct auto_model *m, size_t column)
{
	const char **texts = mem_alloc(m->csv.row_count, sizeof(*texts));
	size_t different = 1;

	for (size_t k = 0; k < m->csv.row_count; k++)
		texts[k] = cell(m, k, column);
	qsort(texts, m->csv.row_count, sizeof(*texts), by_text);
	for (size_t k = 1; k < m->csv.row_count; k++)
		different += strcmp(texts[k], texts[k - 1]) != 0;
	free(texts);
	return different;
}

static enum auto_kind kind_of(const struct auto_model *m, size_t column)
{
	size_t different = count_different(m, column), numbers = 0, negative = 0;
	double number;

	if (is_step_column(m, column))
		return AUTO_STEP;
	if (different == 1)
		return AUTO_CONSTANT;
	if (is_result(m->csv.names[column]))
		return AUTO_RESULT;
	for (size_t k = 0; k < m->csv.row_count; k++)
		if (csv_number(cell(m, k, column), &number) == 0) {
			numbers++;
			negative += number < 0;
		}
	if (numbers == m->csv.row_count)
		return negative ? AUTO_NEGATIVE : AUTO_NUMBER;
	return different > MOST_LEVELS || (double)different > LABEL_SHARE * (double)m->csv.row_count
		       ? AUTO_LABEL
		       : AUTO_WORD;
}

/* The columns as the search takes them. */
static void describe(const struct auto_model *m, struct description *d, bool skip_bad)
{
	description_init(d);
	d->time = strdup(m->columns.names[STEP_TIME]);
	d->unit = m->columns.unit ? strdup(m->columns.unit) : NULL;
	d->is_rate = m->columns.is_rate;
	d->skip_bad = skip_bad;
	for (size_t i = 0; i < m->csv.column_count; i++) {
		const char *name = m->csv.names[i];
		int known = step_column_known(name);
		enum pm_fit_role role = m->kinds[i] == AUTO_NUMBER ? PM_FIT_INTRINSIC
					: m->kinds[i] == AUTO_WORD ? PM_FIT_CATEGORICAL
								   : PM_FIT_IGNORED;

		if (m->kinds[i] == AUTO_STEP && m->columns.names[STEP_LEVEL] &&
			strcmp(name, m->columns.names[STEP_LEVEL]) == 0)
			role = PM_FIT_FACTOR;
		else if (m->kinds[i] == AUTO_STEP && strcmp(name, d->time) != 0 &&
			 (known == STEP_BATCH || known == STEP_GPUS || known == STEP_NODES))
			role = PM_FIT_EXTRINSIC;
		if (!d->time || (role != PM_FIT_IGNORED && description_role(d, name, role) < 0))
			errx(1, "out of memory");
	}
}

static void warn_of(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
}

static void fit_formula(struct auto_model *m, bool skip_bad)
{
	struct options options;
	struct observations observations;
	struct expression_settings settings;
	struct expression_search search;
	struct expression_terms terms;
	const char *bad;

	options_init(&options);
	description_free(&options.description);
	describe(m, &options.description, skip_bad);
	options.quiet = true;
	options.parameter.power_lower = 0; /* zeros are no hindrance to the search */
	options_read_table(&options, m->csv.path, &observations);
	expression_defaults(&settings);
	settings.work = WORK;
	settings.stop = options_catch_interrupt();
	bad = expression_terms_init(&terms, &observations.train, warn_of, NULL);
	if (bad)
		errx(1, "%s: %s", m->csv.path, bad);
	if (observations.train.sample_count < 2 * settings.folds)
		errx(1, "%s: too few rows (%zu) for a model: at least %zu are needed", m->csv.path,
			observations.train.sample_count, 2 * (size_t)settings.folds);
	if (expression_search(&search, &terms, &observations.train, &settings) < 0 || !search.result_count)
		errx(1, "%s: no formula was found", m->csv.path);
	if (expression_model(
		    &m->formula, &search.results[search.chosen].expression, &terms, &observations.train) < 0)
		errx(1, "out of memory");
	m->constants = search.results[search.chosen].expression.constant_count;
	m->beyond_count =
		formula_beyond(&search.results[search.chosen], &terms, &observations.train, m->beyond);
	for (size_t i = 0; i < m->beyond_count; i++)
		m->beyond[i].name = arena_format(&m->arena, "%s", m->beyond[i].name);
	m->held_out = search.results[search.chosen].held_out;
	m->held_out_error = search.results[search.chosen].error;
	expression_search_free(&search);
	observations_free(&observations);
	options_free(&options);
}

/* A step's model where the table has its columns and nothing else varies. */
static bool fit_step(struct auto_model *m, const char *missing, bool skip_bad)
{
	if (missing || m->settings)
		return false;
	if (step_table_read(&m->table, &m->csv, &m->columns, true, skip_bad) < 0)
		errx(1, "%s", m->table.error);
	return step_model_fit(&m->step, &m->columns, &m->table) == NULL;
}

/* The numbers of the rows that have all of them: columns of settings, of a step, and the time. */
static void read_numbers(struct auto_model *m, struct pm_fit_problem *problem)
{
	ptrdiff_t time = csv_find(&m->csv, m->columns.names[STEP_TIME]);
	struct pm_fit_column *columns = arena_alloc(&m->arena, m->csv.column_count, sizeof(*columns));
	double **values = arena_alloc(&m->arena, m->csv.column_count, sizeof(*values));

	for (size_t i = 0; i < m->csv.column_count; i++) {
		bool is_number = m->kinds[i] == AUTO_NUMBER || m->kinds[i] == AUTO_STEP;

		columns[i] = (struct pm_fit_column){.name = m->csv.names[i],
			.role = is_number && (ptrdiff_t)i != time ? PM_FIT_EXTRINSIC : PM_FIT_IGNORED,
			.values = values[i] = arena_alloc(&m->arena, m->csv.row_count + 1, sizeof(double))};
	}
	*problem = (struct pm_fit_problem){
		.columns = columns, .column_count = m->csv.column_count, .time = values[time]};
	for (size_t k = 0; k < m->csv.row_count; k++) {
		bool is_whole = true;

		for (size_t i = 0; i < m->csv.column_count; i++)
			if (columns[i].role != PM_FIT_IGNORED || (ptrdiff_t)i == time)
				is_whole &= csv_number(cell(m, k, i), &values[i][problem->sample_count]) == 0;
		problem->sample_count += is_whole;
	}
}

/* Settings that with others are the time itself are results; what nearly is gets a warning. */
static void find_results(struct auto_model *m)
{
	struct pm_fit_problem problem;

	read_numbers(m, &problem);
	for (size_t i = 0; i < m->csv.column_count; i++) {
		struct identity found;
		double share;

		if (m->kinds[i] != AUTO_NUMBER)
			continue;
		if (identity_find(&problem, i, &found)) {
			options_say_result(&m->results, &problem, &found);
			m->kinds[i] = AUTO_RESULT;
			m->settings--;
			continue;
		}
		share = identity_share(&problem, i);
		if (share > EXPLAINS)
			sentences_add(&m->results,
				"warning: %s alone explains %.1f%% of the time's variance: if it is a result of the run, not a "
				"setting, leave it out of the table",
				m->csv.names[i], 100 * share);
	}
}

void auto_fit(struct auto_model *model, const char *path, const struct step_columns *named, bool skip_bad)
{
	const char *missing;

	*model = (struct auto_model){0};
	if (named)
		model->columns = *named;
	if (csv_read(&model->csv, path) < 0)
		errx(1, "%s", model->csv.error);
	missing = step_columns_find(&model->columns, &model->csv, true, &model->arena);
	if (!model->columns.names[STEP_TIME])
		errx(1, "%s", missing);
	model->kinds = arena_alloc(&model->arena, model->csv.column_count, sizeof(*model->kinds));
	for (size_t i = 0; i < model->csv.column_count; i++) {
		model->kinds[i] = kind_of(model, i);
		model->settings += model->kinds[i] == AUTO_NUMBER || model->kinds[i] == AUTO_WORD;
	}
	model->results.arena = &model->arena;
	find_results(model);
	model->is_step = fit_step(model, missing, skip_bad);
	if (!model->is_step)
		fit_formula(model, skip_bad);
}

void auto_free(struct auto_model *model)
{
	if (model->is_step)
		step_model_free(&model->step);
	step_table_free(&model->table);
	pm_fit_free(model->formula);
	csv_free(&model->csv);
	arena_free(&model->arena);
}
