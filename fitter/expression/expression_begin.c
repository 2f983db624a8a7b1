/* Where a search begins: see expression_grow.h. */
#include "expression_edit.h"
#include "expression_grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* With which powers the generic model begins. */
static const double first_powers[] = {0.5, -0.5};

static int keep(struct growth *growth, const struct expression *e)
{
	struct expression *more = realloc(growth->items, (growth->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	growth->items = more;
	growth->room = growth->count + 1;
	growth->items[growth->count++] = *e;
	return 0;
}

static void constant(struct expression *e, double log_time)
{
	*e = (struct expression){.node_count = 1};
	edit_constant(e, log_time, &e->nodes[0].at);
}

/* Every number as a power and every category as a factor, as long as there is room. */
static void power_law(struct expression *e, const struct expression_terms *terms, double log_time)
{
	constant(e, log_time);
	for (size_t i = 0; i < terms->number_count; i++)
		edit_add_power(e, 0, i, 0);
	for (size_t i = 0; i < terms->category_count; i++)
		if (!terms->categories[i].is_one)
			edit_add_group(e, terms, 0, i);
}

static enum pm_fit_role role_of(const struct pm_fit_problem *problem, size_t column)
{
	return problem->columns[column].role;
}

/* False: no room for it. */
static bool add_summands(struct expression *e, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, size_t sum, double power, double log_time)
{
	size_t leaf = EDIT_NOWHERE;

	for (size_t i = 0; i < terms->number_count; i++)
		if (role_of(problem, terms->numbers[i].column) == PM_FIT_INTRINSIC) {
			leaf = edit_add_leaf(e, sum);
			if (leaf == EDIT_NOWHERE || !edit_add_power(e, leaf, i, power))
				return false;
		}
	for (size_t i = 0; i < terms->category_count; i++)
		if (!terms->categories[i].is_one &&
			role_of(problem, terms->categories[i].column) == PM_FIT_CATEGORICAL) {
			leaf = edit_add_leaf(e, sum);
			if (leaf == EDIT_NOWHERE || !edit_add_group(e, terms, leaf, i))
				return false;
		}
	for (size_t n = sum + 1; n < e->node_count; n++)
		if (e->nodes[n].op == EXPRESSION_LEAF)
			e->constants[e->nodes[n].at] = log_time - log((double)e->node_count);
	return leaf != EDIT_NOWHERE && expression_child_count(e, sum) > 1;
}

/* Equation (4.4): C and a product of powers times the sum. */
static bool generic(struct expression *e, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, double power, double log_time)
{
	size_t leaf;

	*e = (struct expression){.node_count = 2};
	e->nodes[0].op = e->nodes[1].op = EXPRESSION_SUM;
	leaf = edit_add_leaf(e, 0);
	e->constants[e->nodes[leaf].at] = log_time - log(5);
	for (size_t i = 0; i < terms->number_count; i++)
		if (role_of(problem, terms->numbers[i].column) == PM_FIT_EXTRINSIC &&
			!edit_add_power(e, 1, i, 0))
			return false;
	for (size_t i = 0; i < terms->category_count; i++)
		if (!terms->categories[i].is_one &&
			role_of(problem, terms->categories[i].column) == PM_FIT_FACTOR &&
			!edit_add_group(e, terms, 1, i))
			return false;
	return add_summands(e, terms, problem, 1, power, log_time);
}

int expression_begin(struct growth *growth, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, const struct expression_rows *rows)
{
	double log_time = 0;
	struct expression e;
	int status;

	for (size_t k = 0; k < rows->count; k++)
		log_time += rows->log_time[k] / (double)rows->count;
	constant(&e, log_time);
	status = keep(growth, &e);
	power_law(&e, terms, log_time);
	if (status == 0 && expression_pack(&e, terms))
		status = keep(growth, &e);
	for (size_t i = 0; i < sizeof(first_powers) / sizeof(*first_powers) && status == 0; i++)
		if (generic(&e, terms, problem, first_powers[i], log_time) && expression_pack(&e, terms))
			status = keep(growth, &e);
	return status;
}
