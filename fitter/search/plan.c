/* Building the tables: see plan.h. */
#include "plan.h"
#include "base/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A joint table pays while it is much smaller than the samples are many, and stays in the first cache. */
#define JOINT_SHARE 8
#define JOINT_LEAST 16
#define JOINT_GREATEST 256
/* The logarithm of a zero: its positive powers are zero, its power 0 is 1. */
#define LOG_ZERO (-1e6)

/* A column of the sum, while the plan is made. */
struct term {
	uint32_t *entries; /* one per sample, in the problem's order */
	size_t first_entry, count;
	size_t table; /* the look-up it is part of */
};

static void *keep(struct plan *plan, size_t count, size_t bytes)
{
	void **blocks = realloc(plan->blocks, (plan->block_count + 1) * sizeof(*blocks));
	void *block;

	if (!blocks)
		return NULL;
	plan->blocks = blocks;
	block = calloc(count ? count : 1, bytes);
	if (block)
		plan->blocks[plan->block_count++] = block;
	return block;
}

void plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->block_count; i++)
		free(plan->blocks[i]);
	free(plan->blocks);
	*plan = (struct plan){0};
}

/* The distinct values, ascending, in `distinct`; answers how many. */
static size_t distinct_values(const double *values, size_t count, double *distinct)
{
	size_t kept = 0;

	memcpy(distinct, values, count * sizeof(*values));
	statistics_sort(distinct, count);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || distinct[i] != distinct[kept - 1])
			distinct[kept++] = distinct[i];
	return kept;
}

static size_t place_of(const double *distinct, size_t count, double value)
{
	size_t low = 0, high = count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (distinct[middle] <= value)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double scaled_log(double value, double log_scale)
{
	return value > 0 ? log(value) - log_scale : LOG_ZERO;
}

/* The entries of the intrinsic columns' values and of the levels. */
static int make_terms(struct plan *plan, struct term *terms, const struct pm_fit_problem *problem,
	const struct space *space)
{
	struct kernel_plan *kernel = &plan->kernel;
	size_t n = problem->sample_count, entry = 0;
	size_t *value_begin = keep(plan, space->intrinsic_count + 1, sizeof(*value_begin));
	double *distinct = malloc((n + 1) * sizeof(*distinct)), *logs = NULL, *more;
	int status = -ENOMEM;

	if (!value_begin || !distinct)
		goto out;
	for (size_t i = 0; i < space->intrinsic_count; i++) {
		const double *values = problem->columns[space->items[i].column].values;
		struct term *term = &terms[plan->term_count++];

		term->entries = malloc(n * sizeof(*term->entries));
		term->first_entry = entry;
		term->count = distinct_values(values, n, distinct);
		more = realloc(logs, (entry + term->count) * sizeof(*logs));
		if (more)
			logs = more;
		if (!more || !term->entries)
			goto out;
		for (size_t v = 0; v < term->count; v++)
			logs[entry + v] = scaled_log(distinct[v], space->items[i].log_scale);
		for (size_t k = 0; k < n; k++)
			term->entries[k] = (uint32_t)(entry + place_of(distinct, term->count, values[k]));
		entry += term->count;
		value_begin[i + 1] = entry;
	}
	for (size_t i = space->intrinsic_count, column = SPACE_NO_COLUMN; i + 1 < space->linear_count; i++) {
		struct term *term = &terms[plan->term_count];
		const double *values;

		if (i > space->intrinsic_count && space->items[i].column == column)
			continue;
		column = space->items[i].column;
		values = column == SPACE_NO_COLUMN ? NULL : problem->columns[column].values;
		plan->term_count++;
		term->entries = malloc(n * sizeof(*term->entries));
		if (!term->entries)
			goto out;
		term->first_entry = entry;
		term->count = values ? problem->columns[column].level_count : 1;
		for (size_t k = 0; k < n; k++)
			term->entries[k] = (uint32_t)(entry + (values ? (size_t)values[k] : 0));
		entry += term->count;
	}
	kernel->value_begin = value_begin;
	kernel->entry_count = entry;
	kernel->log_values = keep(plan, entry, sizeof(double));
	if (!kernel->log_values)
		goto out;
	if (logs)
		memcpy((double *)kernel->log_values, logs,
			value_begin[space->intrinsic_count] * sizeof(*logs));
	status = 0;
out:
	free(distinct);
	free(logs);
	return status;
}

struct sorting {
	const struct pm_fit_problem *problem;
	const struct space *space;
	const struct term *terms;
	size_t term_count;
};

/* By the columns that multiply: equal means the same combination. */
static int compare_combinations(const struct sorting *sorting, size_t a, size_t b)
{
	const struct space *space = sorting->space;
	size_t last = SPACE_NO_COLUMN;

	for (size_t j = space->linear_count + space->intrinsic_count; j < space->count; j++) {
		const double *values = sorting->problem->columns[space->items[j].column].values;

		if (space->items[j].column == last)
			continue;
		last = space->items[j].column;
		if (values[a] != values[b])
			return values[a] < values[b] ? -1 : 1;
	}
	return 0;
}

static int compare_samples(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int order = compare_combinations(sorting, a, b);

	/* then by entries, so that neighbours use the same part of large tables, then as they came */
	for (size_t t = 0; t < sorting->term_count && order == 0; t++) {
		uint32_t x = sorting->terms[t].entries[a], y = sorting->terms[t].entries[b];

		order = (x > y) - (x < y);
	}
	return order ? order : (a > b) - (a < b);
}

static int make_combinations(struct plan *plan, const struct sorting *sorting, size_t *order)
{
	const struct space *space = sorting->space;
	size_t n = sorting->problem->sample_count, count = 0,
	       exponent = space->linear_count + space->intrinsic_count;
	size_t *begin = keep(plan, n + 1, sizeof(*begin));
	double *exponents;

	if (!begin)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		if (k == 0 || compare_combinations(sorting, order[k - 1], order[k]) != 0)
			begin[count++] = k;
	begin[count] = n;
	exponents = keep(plan, count * space->exponent_count, sizeof(*exponents));
	if (!exponents)
		return -ENOMEM;
	for (size_t c = 0; c < count; c++)
		for (size_t j = 0; j < space->exponent_count; j++) {
			const struct space_item *item = &space->items[exponent + j];
			double value = sorting->problem->columns[item->column].values[order[begin[c]]];

			exponents[c * space->exponent_count + j] =
				item->kind == PM_FIT_KIND_FACTOR ? (value == (double)item->level)
								 : scaled_log(value, item->log_scale);
		}
	plan->kernel.combination_count = count;
	plan->kernel.combination_begin = begin;
	plan->kernel.exponents = exponents;
	return 0;
}

/* Which terms share a look-up: the smallest first, each into the first table that has room. */
static size_t share_look_ups(struct term *terms, size_t term_count, size_t limit)
{
	size_t *sizes = calloc(term_count, sizeof(*sizes)), tables = 0;
	bool *done = calloc(term_count, sizeof(*done));

	for (size_t round = 0; sizes && done && round < term_count; round++) {
		size_t least = SIZE_MAX, t;

		for (size_t i = 0; i < term_count; i++)
			if (!done[i] && (least == SIZE_MAX || terms[i].count < terms[least].count))
				least = i;
		done[least] = true;
		for (t = 0; t < tables && sizes[t] * terms[least].count > limit; t++)
			;
		if (t == tables)
			sizes[tables++] = 1;
		sizes[t] *= terms[least].count;
		terms[least].table = t;
	}
	if (!sizes || !done)
		tables = 0;
	free(sizes);
	free(done);
	return tables;
}

/* One table: the combinations that occur, and each sample's entry in column `table` of look_ups. */
static int make_table(struct plan *plan, const struct term *terms, size_t table, const size_t *order,
	uint32_t *look_ups, struct kernel_table *made, size_t *made_count)
{
	struct kernel_plan *kernel = &plan->kernel;
	size_t n = kernel->sample_count, width = kernel->look_up_count, size = 1, entries = 0, members = 0,
	       last = 0;
	uint32_t *seen, *source;

	for (size_t i = 0; i < plan->term_count; i++)
		if (terms[i].table == table) {
			members++;
			last = i;
			size *= terms[i].count;
		}
	if (members == 1) {
		for (size_t k = 0; k < n; k++)
			look_ups[k * width + table] = terms[last].entries[order[k]];
		return 0;
	}
	seen = calloc(size, sizeof(*seen));
	source = keep(plan, size * members, sizeof(*source));
	if (!seen || !source) {
		free(seen);
		return -ENOMEM;
	}
	for (size_t k = 0; k < n; k++) {
		size_t place = 0, m = 0;

		for (size_t i = 0; i < plan->term_count; i++)
			if (terms[i].table == table)
				place = place * terms[i].count + terms[i].entries[order[k]] -
					terms[i].first_entry;
		if (!seen[place]) {
			for (size_t i = 0; i < plan->term_count; i++)
				if (terms[i].table == table)
					source[entries * members + m++] = terms[i].entries[order[k]];
			seen[place] = (uint32_t)++entries;
		}
		look_ups[k * width + table] = (uint32_t)(kernel->entry_count + seen[place] - 1);
	}
	made[(*made_count)++] = (struct kernel_table){kernel->entry_count, entries, members, source};
	kernel->entry_count += entries;
	free(seen);
	return 0;
}

static int make_look_ups(struct plan *plan, struct term *terms, const size_t *order)
{
	struct kernel_plan *kernel = &plan->kernel;
	size_t n = kernel->sample_count, limit = n / JOINT_SHARE, made_count = 0;
	struct kernel_table *tables;
	uint32_t *look_ups, *own;

	limit = limit < JOINT_LEAST ? JOINT_LEAST : limit > JOINT_GREATEST ? JOINT_GREATEST : limit;
	kernel->look_up_count = share_look_ups(terms, plan->term_count, limit);
	look_ups = keep(plan, n * kernel->look_up_count, sizeof(*look_ups));
	own = keep(plan, n * plan->term_count, sizeof(*own));
	tables = keep(plan, kernel->look_up_count, sizeof(*tables));
	if (!kernel->look_up_count || !look_ups || !tables || !own)
		return -ENOMEM;
	for (size_t t = 0; t < kernel->look_up_count; t++)
		if (make_table(plan, terms, t, order, look_ups, tables, &made_count) < 0)
			return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < plan->term_count; i++)
			own[k * plan->term_count + i] = terms[i].entries[order[k]];
	kernel->look_ups = look_ups;
	kernel->tables = tables;
	kernel->table_count = made_count;
	plan->terms = own;
	return 0;
}

static int make_penalty(
	struct plan *plan, const struct space *space, const struct pm_fit_parameter *parameter)
{
	struct kernel_plan *kernel = &plan->kernel;
	size_t exponent = space->linear_count + space->intrinsic_count;
	double *log_scales = keep(plan, space->intrinsic_count, sizeof(*log_scales));
	double *exponent_log_scales = keep(plan, space->exponent_count, sizeof(*exponent_log_scales));

	if (!log_scales || !exponent_log_scales)
		return -ENOMEM;
	if (parameter->lambda_coefficients != 0 || parameter->lambda_powers != 0)
		kernel->penalty = (int)parameter->penalty;
	kernel->lambda_coefficients = parameter->lambda_coefficients;
	kernel->lambda_powers = parameter->lambda_powers;
	kernel->coefficient_scale = kernel->penalty_scale = 1;
	kernel->log_scales = log_scales;
	kernel->exponent_log_scales = exponent_log_scales;
	if (parameter->penalty_scaled)
		return 0;
	kernel->coefficient_scale = space->time_scale;
	kernel->penalty_scale = 1 / space->time_scale;
	for (size_t i = 0; i < space->intrinsic_count; i++)
		log_scales[i] = space->items[i].log_scale;
	for (size_t j = 0; j < space->exponent_count; j++)
		exponent_log_scales[j] = space->items[exponent + j].log_scale;
	return 0;
}

/* The times, less what is known of them, in the plan's order and scaled. */
static int make_times(struct plan *plan, const struct pm_fit_problem *problem, const struct space *space)
{
	double *times = keep(plan, problem->sample_count, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t k = 0; k < problem->sample_count; k++) {
		size_t sample = plan->order[k];

		times[k] = problem->time[sample];
		for (size_t i = 0; i < problem->column_count; i++)
			if (problem->columns[i].role == PM_FIT_OFFSET)
				times[k] -= problem->columns[i].values[sample];
		times[k] /= space->time_scale;
	}
	plan->kernel.times = times;
	return 0;
}

int plan_init(struct plan *plan, const struct pm_fit_problem *problem, const struct space *space,
	const struct pm_fit_parameter *parameter)
{
	struct term *terms = calloc(space->linear_count + 1, sizeof(*terms));
	struct sorting sorting = {problem, space, terms, 0};
	size_t n = problem->sample_count, *order;
	int status = -ENOMEM;

	*plan = (struct plan){.kernel = {.intrinsic_count = space->intrinsic_count,
				      .level_count = space->level_count,
				      .exponent_count = space->exponent_count,
				      .linear_count = space->linear_count,
				      .parameter_count = space->count,
				      .sample_count = n}};
	order = keep(plan, n, sizeof(*order));
	if (!terms || !order || make_terms(plan, terms, problem, space) < 0)
		goto out;
	for (size_t k = 0; k < n; k++)
		order[k] = k;
	plan->order = order;
	sorting.term_count = plan->term_count;
	qsort_r(order, n, sizeof(*order), compare_samples, &sorting);
	if (make_combinations(plan, &sorting, order) < 0 || make_look_ups(plan, terms, order) < 0 ||
		make_penalty(plan, space, parameter) < 0 || make_times(plan, problem, space) < 0)
		goto out;
	status = 0;
out:
	for (size_t i = 0; terms && i < plan->term_count; i++)
		free(terms[i].entries);
	free(terms);
	return status;
}
