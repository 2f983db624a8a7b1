/* What expressions are made of: see expression.h. */
#include "expression.h"
#include "base/error_message.h"
#include "base/random.h"
#include "base/role.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As large as log2 of a count that is 1, where the formula says 0. */

static void left_out(void (*warn)(void *, const char *), void *context, const char *name, const char *why)
{
	if (warn)
		warn(context, error_message("column %s %s: excluded from the search", name, why));
}

static void add_partition(struct expression_terms *terms, size_t category)
{
	struct expression_partition *partition = &terms->partitions[terms->partition_count++];

	*partition = (struct expression_partition){
		.category = category, .group_count = terms->categories[category].level_count};
	for (size_t l = 0; l < partition->group_count; l++)
		partition->group_of[l] = (unsigned char)l;
}

static void add_category(struct expression_terms *terms, const struct pm_fit_column *column, size_t at,
	void (*warn)(void *, const char *), void *context)
{
	if (column->level_count < 2)
		left_out(warn, context, column->name, "has one level");
	else if (column->level_count > EXPRESSION_LEVELS)
		left_out(warn, context, column->name, "has more levels than an expression supports");
	else if (terms->category_count == EXPRESSION_COLUMNS)
		left_out(warn, context, column->name, "exceeds the maximum number of columns");
	else
		terms->categories[terms->category_count++] = (struct expression_category){.column = at,
			.name = column->name,
			.level_count = column->level_count,
			.levels = column->levels};
}

static void add_number(struct expression_terms *terms, const struct pm_fit_problem *problem, size_t at,
	void (*warn)(void *, const char *), void *context)
{
	const struct pm_fit_column *column = &problem->columns[at];
	double least = HUGE_VAL, greatest = -HUGE_VAL;
	bool whole = true;

	for (size_t k = 0; k < problem->sample_count; k++) {
		least = fmin(least, column->values[k]);
		greatest = fmax(greatest, column->values[k]);
		whole = whole && column->values[k] == floor(column->values[k]);
	}
	if (least == greatest)
		left_out(warn, context, column->name, "always has the same value");
	else if (least < 0)
		left_out(warn, context, column->name, "has negative values");
	else if (terms->number_count == EXPRESSION_COLUMNS)
		left_out(warn, context, column->name, "exceeds the maximum number of columns");
	else {
		terms->numbers[terms->number_count++] = (struct expression_number){.column = at,
			.name = column->name,
			.plus_one = least == 0,
			.is_count = whole && least >= 1};
		if (whole && least == 1 && greatest > 2 && terms->category_count < EXPRESSION_COLUMNS)
			terms->categories[terms->category_count++] = (struct expression_category){
				.column = at, .name = column->name, .is_one = true, .level_count = 2};
	}
}

const char *expression_terms_init(struct expression_terms *terms, const struct pm_fit_problem *problem,
	void (*warn)(void *context, const char *sentence), void *context)
{
	*terms = (struct expression_terms){0};
	for (size_t i = 0; i < problem->column_count; i++) {
		const struct pm_fit_column *column = &problem->columns[i];

		if (role_has_levels(column->role))
			add_category(terms, column, i, warn, context);
		else if (column->role != PM_FIT_IGNORED && column->role != PM_FIT_OFFSET)
			add_number(terms, problem, i, warn, context);
	}
	for (size_t i = 0; i < terms->category_count; i++)
		add_partition(terms, i);
	return terms->number_count + terms->category_count
		       ? NULL
		       : error_message("no columns left to predict the time");
}

int expression_partition(struct expression_terms *terms, const struct expression_partition *partition)
{
	struct expression_partition wanted = {.category = partition->category};
	int number[EXPRESSION_LEVELS];

	memset(number, -1, sizeof(number));
	for (size_t l = 0; l < terms->categories[wanted.category].level_count; l++) {
		int *group = &number[partition->group_of[l]];

		if (*group < 0)
			*group = (int)wanted.group_count++;
		wanted.group_of[l] = (unsigned char)*group;
	}
	for (size_t i = 0; i < terms->partition_count; i++)
		if (terms->partitions[i].category == wanted.category &&
			memcmp(terms->partitions[i].group_of, wanted.group_of, sizeof(wanted.group_of)) == 0)
			return (int)i;
	if (terms->partition_count == EXPRESSION_PARTITIONS || wanted.group_count < 2)
		return -1;
	terms->partitions[terms->partition_count] = wanted;
	return (int)terms->partition_count++;
}

static void fill_number(struct expression_rows *rows, const struct expression_number *number,
	const double *values, const size_t *samples, double *logs, double *log_logs)
{
	for (size_t k = 0; k < rows->count; k++) {
		double x = values[samples ? samples[k] : k] + (number->plus_one ? 1 : 0), log_2;

		logs[k] = log(x);
		log_2 = logs[k] / log(2);
		log_logs[k] = log_2 > 0 ? log(log_2) : EXPRESSION_LOG_OF_NOTHING;
	}
}

static void fill_category(struct expression_rows *rows, const struct expression_category *category,
	const double *values, const size_t *samples, unsigned char *levels)
{
	for (size_t k = 0; k < rows->count; k++) {
		double x = values[samples ? samples[k] : k];

		levels[k] = (unsigned char)(category->is_one ? x > 1 : x);
	}
}

static int fill_times(
	struct expression_rows *rows, const struct pm_fit_problem *problem, const size_t *samples)
{
	for (size_t k = 0; k < rows->count; k++) {
		size_t sample = samples ? samples[k] : k;

		for (size_t i = 0; i < problem->column_count; i++)
			if (problem->columns[i].role == PM_FIT_OFFSET)
				rows->offset[k] += problem->columns[i].values[sample];
		if (!problem->time)
			continue;
		rows->time[k] = problem->time[sample];
		rows->log_time[k] = log(rows->time[k] - rows->offset[k]);
		if (!isfinite(rows->log_time[k]))
			return -EDOM;
	}
	return 0;
}

int expression_rows_init(struct expression_rows *rows, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, const size_t *samples, size_t count)
{
	*rows = (struct expression_rows){.count = count, .terms = terms};
	rows->logs = calloc(terms->number_count * count + 1, sizeof(double));
	rows->log_logs = calloc(terms->number_count * count + 1, sizeof(double));
	rows->levels = calloc(terms->category_count * count + 1, 1);
	rows->time = calloc(count + 1, sizeof(double));
	rows->log_time = calloc(count + 1, sizeof(double));
	rows->offset = calloc(count + 1, sizeof(double));
	if (!rows->logs || !rows->log_logs || !rows->levels || !rows->time || !rows->log_time ||
		!rows->offset)
		return -ENOMEM;
	/* a column that the expression does not need may have no values */
	for (size_t i = 0; i < terms->number_count; i++) {
		const double *values = problem->columns[terms->numbers[i].column].values;

		if (values)
			fill_number(rows, &terms->numbers[i], values, samples, rows->logs + i * count,
				rows->log_logs + i * count);
	}
	for (size_t i = 0; i < terms->category_count; i++) {
		const double *values = problem->columns[terms->categories[i].column].values;

		if (values)
			fill_category(rows, &terms->categories[i], values, samples, rows->levels + i * count);
	}
	return fill_times(rows, problem, samples);
}

void expression_rows_free(struct expression_rows *rows)
{
	free(rows->logs);
	free(rows->log_logs);
	free(rows->levels);
	free(rows->time);
	free(rows->log_time);
	free(rows->offset);
	*rows = (struct expression_rows){0};
}

size_t expression_factor_size(const struct expression_terms *terms, const struct expression_factor *factor)
{
	switch (factor->kind) {
	case EXPRESSION_POWER:
		return 1;
	case EXPRESSION_POWER_BY_GROUP:
		return terms->partitions[factor->partition].group_count;
	case EXPRESSION_GROUP:
		return terms->partitions[factor->partition].group_count - 1;
	default:
		return 0;
	}
}

int expression_monotone(const struct expression_terms *terms, const struct expression_factor *factor)
{
	const struct expression_category *category =
		&terms->categories[terms->partitions[factor->partition].category];

	if (factor->kind != EXPRESSION_GROUP)
		return terms->numbers[factor->number].monotone;
	/* more than 1 is the second group */
	for (size_t i = 0; i < terms->number_count && category->is_one; i++)
		if (terms->numbers[i].column == category->column)
			return terms->numbers[i].monotone;
	return 0;
}

bool expression_may_be(const struct expression *e, const struct expression_terms *terms)
{
	for (size_t n = 0; n < e->node_count; n++)
		for (size_t f = 0; f < e->nodes[n].factor_count; f++) {
			const struct expression_factor *factor = &e->nodes[n].factors[f];
			int monotone = expression_monotone(terms, factor);

			if ((factor->kind == EXPRESSION_FIXED && factor->power * monotone < 0) ||
				(factor->kind == EXPRESSION_LOG && monotone < 0))
				return false;
		}
	return true;
}

size_t expression_child_count(const struct expression *e, size_t node)
{
	size_t count = 0;

	for (size_t i = node + 1; i < e->node_count; i++)
		count += e->nodes[i].parent == node;
	return count;
}

static bool expression_take(struct expression *e, const double *from, size_t count, unsigned short *at)
{
	if (e->constant_count + count > EXPRESSION_CONSTANTS)
		return false;
	memcpy(e->constants + e->constant_count, from + *at, count * sizeof(*from));
	*at = (unsigned short)e->constant_count;
	e->constant_count += count;
	return true;
}

static bool is_power(const struct expression_factor *factor)
{
	return factor->kind == EXPRESSION_POWER || factor->kind == EXPRESSION_FIXED;
}

/* The second of two factors of a node goes into the first, if they are powers of one number or the same
 * groups. */
static bool merge(struct expression *e, const struct expression_terms *terms, struct expression_factor *a,
	const struct expression_factor *b)
{
	if (a->kind == EXPRESSION_GROUP && b->kind == EXPRESSION_GROUP && a->partition == b->partition) {
		for (size_t i = 0; i < expression_factor_size(terms, a); i++)
			e->constants[a->at + i] += e->constants[b->at + i];
		return true;
	}
	if (!is_power(a) || !is_power(b) || a->number != b->number)
		return false;
	if (a->kind == EXPRESSION_FIXED && b->kind == EXPRESSION_FIXED) {
		a->power += b->power;
	} else if (a->kind == EXPRESSION_FIXED) {
		double fixed = a->power;

		*a = *b;
		e->constants[a->at] += fixed;
	} else {
		e->constants[a->at] += b->kind == EXPRESSION_FIXED ? b->power : e->constants[b->at];
	}
	return true;
}

static void drop(struct expression_node *node, size_t factor)
{
	memmove(node->factors + factor, node->factors + factor + 1,
		(node->factor_count - factor - 1) * sizeof(*node->factors));
	node->factor_count--;
}

static void simplify(struct expression *e, const struct expression_terms *terms, struct expression_node *node)
{
	for (size_t f = 0; f < node->factor_count; f++)
		for (size_t i = node->factor_count; i-- > f + 1;)
			if (merge(e, terms, &node->factors[f], &node->factors[i]))
				drop(node, i);
	for (size_t f = node->factor_count; f-- > 0;)
		if (node->factors[f].kind == EXPRESSION_FIXED && node->factors[f].power == 0)
			drop(node, f);
}

bool expression_pack(struct expression *e, const struct expression_terms *terms)
{
	double before[EXPRESSION_CONSTANTS];

	for (size_t n = 0; n < e->node_count; n++)
		simplify(e, terms, &e->nodes[n]);
	memcpy(before, e->constants, sizeof(before));
	e->constant_count = 0;
	for (size_t n = 0; n < e->node_count; n++) {
		struct expression_node *node = &e->nodes[n];

		if ((node->op == EXPRESSION_LEAF || node->op == EXPRESSION_NORM) &&
			!expression_take(e, before, 1, &node->at))
			return false;
		for (size_t f = 0; f < node->factor_count; f++)
			if (!expression_take(e, before, expression_factor_size(terms, &node->factors[f]),
				    &node->factors[f].at))
				return false;
	}
	return true;
}

static uint64_t hash_factor(const struct expression_factor *factor)
{
	bool by_group = factor->kind == EXPRESSION_GROUP || factor->kind == EXPRESSION_POWER_BY_GROUP;
	uint64_t hash = (uint64_t)factor->kind * 1000003;

	if (factor->kind != EXPRESSION_GROUP)
		hash = random_mix(hash + factor->number + 1);
	if (by_group)
		hash = random_mix(hash + factor->partition + 7777);
	if (factor->kind == EXPRESSION_FIXED)
		hash = random_mix(hash + (uint64_t)(int64_t)lround(factor->power * 1000) + 99);
	return random_mix(hash + 5);
}

uint64_t expression_hash(const struct expression *e, const struct expression_terms *terms)
{
	uint64_t sums[EXPRESSION_NODES] = {0}, hash = 0;

	(void)terms;
	for (size_t n = e->node_count; n-- > 0;) {
		const struct expression_node *node = &e->nodes[n];
		uint64_t factors = 0;

		for (size_t f = 0; f < node->factor_count; f++)
			factors += hash_factor(&node->factors[f]);
		hash = random_mix(random_mix(factors + 17) + random_mix(sums[n] + 3) * 31 + node->op);
		if (n)
			sums[node->parent] += hash;
	}
	return hash;
}
