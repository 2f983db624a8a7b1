/* The neighbours of an expression: see expression_grow.h. */
#include "expression_grow.h"
#include "expression_edit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of what is there, a new summand begins with this share. */
#define SHARE 0.3
/* Logarithms have no constants: without a limit there would be many. */
#define LOGS_MOST 2
/* A power that is so near to a usual one may be that. */
#define NEAR 0.4
#define VERY_NEAR 0.05

struct grower {
	const struct expression *e;
	struct expression_terms *terms;
	const struct expression_rows *rows;
	struct growth *growth;
	size_t most;
	int status;
	double values[EXPRESSION_NODES], factors[EXPRESSION_NODES]; /* means of logarithms */
	double means[EXPRESSION_COLUMNS];                           /* of the numbers' logarithms */
};

void growth_free(struct growth *growth)
{
	free(growth->items);
	*growth = (struct growth){0};
}

static int keep(struct growth *growth, const struct expression *e)
{
	if (growth->count == growth->room) {
		size_t room = growth->room ? 2 * growth->room : 256;
		struct expression *more = realloc(growth->items, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		growth->items = more;
		growth->room = room;
	}
	growth->items[growth->count++] = *e;
	return 0;
}

static void emit(struct grower *g, struct expression *e)
{
	if (g->status == 0 && expression_pack(e, g->terms) && e->constant_count <= g->most &&
		expression_may_be(e, g->terms))
		g->status = keep(g->growth, e);
}

/* What a new part may begin with: nothing, a number as x or 1/x, the levels of a category. */
static size_t option_count(const struct grower *g)
{
	return 1 + 2 * g->terms->number_count + g->terms->category_count;
}

/* The option as a factor; what the factor makes of the logarithm on average. False: there is none. */
static bool option(const struct grower *g, struct expression *e, size_t node, size_t which, double *mean)
{
	size_t numbers = 2 * g->terms->number_count;

	*mean = 0;
	if (which == 0)
		return true;
	if (which <= numbers) {
		size_t number = (which - 1) / 2;
		double power = which % 2 ? 1 : -1;

		if (power * g->terms->numbers[number].monotone < 0)
			return false;
		*mean = power * g->means[number];
		return edit_add_power(e, node, number, power);
	}
	return edit_add_group(e, g->terms, node, which - 1 - numbers);
}

/* More factors for a node. */
static void add_factors(struct grower *g, size_t n)
{
	struct expression e;

	for (size_t i = 0; i < g->terms->number_count; i++) {
		e = *g->e;
		if (edit_find(&e, n, i) == EDIT_NOWHERE && edit_add_power(&e, n, i, 0))
			emit(g, &e);
		e = *g->e;
		if (g->terms->numbers[i].is_count && edit_count(&e, EXPRESSION_LOG) < LOGS_MOST &&
			edit_add(
				&e, n, (struct expression_factor){EXPRESSION_LOG, (unsigned char)i, 0, 0, 0}))
			emit(g, &e);
	}
	for (size_t i = 0; i < g->terms->partition_count; i++) {
		e = *g->e;
		if (edit_find_category(&e, g->terms, n, g->terms->partitions[i].category) == EDIT_NOWHERE &&
			edit_add_group(&e, g->terms, n, i))
			emit(g, &e);
	}
}

static const double usual[] = {-3, -2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2, 3};

/* All powers that nearly are as they are usually written, at once; those of about 0 go. */
static void fix_powers(struct grower *g)
{
	struct expression e = *g->e;

	for (size_t n = 0; n < e.node_count; n++)
		for (size_t f = e.nodes[n].factor_count; f-- > 0;) {
			struct expression_factor *factor = &e.nodes[n].factors[f];
			double power = e.constants[factor->at];

			if (factor->kind != EXPRESSION_POWER)
				continue;
			for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
				if (fabs(usual[i] - power) < VERY_NEAR) {
					factor->kind = EXPRESSION_FIXED;
					factor->power = usual[i];
				}
			if (fabs(power) < VERY_NEAR)
				edit_remove(&e, n, f);
		}
	emit(g, &e);
}

/* Powers as they are usually written, and free again. */
static void fix_power(struct grower *g, size_t n, size_t f)
{
	struct expression e = *g->e;
	struct expression_factor *factor = &e.nodes[n].factors[f];
	double power = factor->kind == EXPRESSION_FIXED ? factor->power : e.constants[factor->at];

	if (factor->kind == EXPRESSION_FIXED) {
		if (edit_constant(&e, power, &factor->at)) {
			factor->kind = EXPRESSION_POWER;
			emit(g, &e);
		}
		return;
	}
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		if (fabs(usual[i] - power) > NEAR || usual[i] * power < 0)
			continue;
		e = *g->e;
		factor->kind = EXPRESSION_FIXED;
		factor->power = usual[i];
		emit(g, &e);
	}
}

static void power_by_group(struct grower *g, size_t n, size_t f)
{
	const struct expression_factor *old = &g->e->nodes[n].factors[f];
	double power = old->kind == EXPRESSION_FIXED ? old->power : g->e->constants[old->at];

	for (size_t i = 0; i < g->terms->partition_count; i++) {
		struct expression e = *g->e;
		struct expression_factor *factor = &e.nodes[n].factors[f];

		if (g->terms->categories[g->terms->partitions[i].category].is_one)
			continue;
		factor->kind = EXPRESSION_POWER_BY_GROUP;
		factor->partition = (unsigned short)i;
		if (edit_constants(&e, g->terms->partitions[i].group_count, power, &factor->at))
			emit(g, &e);
	}
}

/* Levels whose constants are near to each other become a group. */
static void merge_levels(struct grower *g, size_t n, size_t f)
{
	const struct expression_factor *old = &g->e->nodes[n].factors[f];
	const struct expression_partition *partition = &g->terms->partitions[old->partition];
	bool is_power = old->kind == EXPRESSION_POWER_BY_GROUP;
	double values[EXPRESSION_LEVELS] = {0};

	for (size_t i = 0; i < partition->group_count; i++)
		values[i] =
			is_power ? g->e->constants[old->at + i] : (i ? g->e->constants[old->at + i - 1] : 0);
	for (size_t groups = 2; groups < partition->group_count; groups++) {
		struct expression e = *g->e;

		if (groups > 4 && groups + 1 < partition->group_count)
			continue;
		if (edit_merge(&e, g->terms, n, f, values, groups))
			emit(g, &e);
	}
	if (is_power) {
		struct expression e = *g->e;
		struct expression_factor *factor = &e.nodes[n].factors[f];

		factor->kind = EXPRESSION_POWER;
		emit(g, &e);
	}
}

static void change_factor(struct grower *g, size_t n, size_t f)
{
	const struct expression_factor *factor = &g->e->nodes[n].factors[f];
	bool is_power = factor->kind == EXPRESSION_POWER || factor->kind == EXPRESSION_FIXED;
	struct expression e = *g->e;

	edit_remove(&e, n, f);
	emit(g, &e);
	if (is_power) {
		fix_power(g, n, f);
		power_by_group(g, n, f);
		for (size_t i = 0; i < g->terms->number_count; i++) {
			e = *g->e;
			if (edit_find(&e, n, i) != EDIT_NOWHERE)
				continue;
			e.nodes[n].factors[f].number = (unsigned char)i;
			emit(g, &e);
		}
	}
	if (factor->kind == EXPRESSION_GROUP || factor->kind == EXPRESSION_POWER_BY_GROUP)
		merge_levels(g, n, f);
	if (n > 0) { /* up to the parent */
		e = *g->e;
		edit_remove(&e, n, f);
		if (edit_add(&e, e.nodes[n].parent, *factor))
			emit(g, &e);
	}
	for (size_t c = n + 1; c < g->e->node_count; c++) { /* down to a child */
		if (g->e->nodes[c].parent != n)
			continue;
		e = *g->e;
		edit_remove(&e, n, f);
		if (edit_add(&e, c, *factor))
			emit(g, &e);
	}
}

/* A second part beside a leaf, which takes the factors along (inside) or leaves them in front. */
static void split_leaf(struct grower *g, size_t n, enum expression_op op, bool inside, size_t which)
{
	struct expression e = *g->e;
	double mean, target = inside ? g->values[n] : g->e->constants[g->e->nodes[n].at];
	size_t leaf;

	if (!edit_split(&e, n, op, inside) || (leaf = edit_add_leaf(&e, n)) == EDIT_NOWHERE)
		return;
	if (!option(g, &e, leaf, which, &mean))
		return;
	if (op == EXPRESSION_SUM)
		target += log(SHARE);
	e.constants[e.nodes[leaf].at] = target - mean;
	emit(g, &e);
}

/* A second part that is the leaf once more, with one of its powers tilted. */
static void double_leaf(struct grower *g, size_t n, enum expression_op op)
{
	const struct expression_node *old = &g->e->nodes[n];

	for (size_t f = 0; f < 2u * old->factor_count; f++) {
		struct expression e = *g->e;
		const struct expression_factor *tilted = &old->factors[f / 2];
		double by = f % 2 ? -0.5 : 0.5;

		if (tilted->kind != EXPRESSION_POWER && tilted->kind != EXPRESSION_FIXED)
			continue;
		if (edit_split(&e, n, op, true) && edit_double(&e, n, f / 2, by, g->means[tilted->number]))
			emit(g, &e);
	}
}

static void grow_leaf(struct grower *g, size_t n)
{
	for (size_t i = 0; i < option_count(g); i++) {
		bool is_number = i > 0 && i <= 2 * g->terms->number_count;

		split_leaf(g, n, EXPRESSION_SUM, true, i);
		if (i > 0 && g->e->nodes[n].factor_count)
			split_leaf(g, n, EXPRESSION_SUM, false, i);
		if (i == 0 || is_number)
			split_leaf(g, n, EXPRESSION_MAX, true, i);
		if (is_number && g->e->nodes[n].factor_count)
			split_leaf(g, n, EXPRESSION_MAX, false, i);
		if (i == 0)
			split_leaf(g, n, EXPRESSION_HARMONIC, true, i);
	}
	double_leaf(g, n, EXPRESSION_SUM);
	double_leaf(g, n, EXPRESSION_MAX);
}

static void grow_inner(struct grower *g, size_t n)
{
	struct expression e;

	for (size_t i = 0; i < option_count(g); i++) {
		double mean;
		size_t leaf;

		e = *g->e;
		leaf = edit_add_leaf(&e, n);
		if (leaf == EDIT_NOWHERE || !option(g, &e, leaf, i, &mean))
			continue;
		e.constants[e.nodes[leaf].at] = g->values[n] - g->factors[n] + log(SHARE) - mean;
		emit(g, &e);
		e = *g->e; /* outside of the factors */
		leaf = n == 0 ? edit_raise(&e, EXPRESSION_SUM) : EDIT_NOWHERE;
		if (leaf == EDIT_NOWHERE || !option(g, &e, leaf, i, &mean))
			continue;
		e.constants[e.nodes[leaf].at] = g->values[n] + log(SHARE) - mean;
		emit(g, &e);
	}
	for (int op = EXPRESSION_SUM; op < EXPRESSION_OPS; op++) {
		e = *g->e;
		if (op == e.nodes[n].op)
			continue;
		e.nodes[n].op = (unsigned char)op;
		/* begins between a sum and a max */
		if (op != EXPRESSION_NORM || edit_constant(&e, log(2), &e.nodes[n].at))
			emit(g, &e);
	}
	for (size_t c = n + 1; c < g->e->node_count; c++) {
		if (g->e->nodes[c].parent != n)
			continue;
		e = *g->e;
		edit_cut(&e, c);
		emit(g, &e);
	}
}

/* Levels that the expression takes to be alike and the samples do not: two or three groups. */
static void find_groups(struct grower *g)
{
	double away[EXPRESSION_LEVELS], logs[EXPRESSION_BLOCK];
	size_t count[EXPRESSION_LEVELS];

	for (size_t i = 0; i < g->terms->category_count; i++) {
		const unsigned char *levels = g->rows->levels + i * g->rows->count;
		struct expression_partition all = g->terms->partitions[i];

		if (all.group_count < 3)
			continue;
		memset(away, 0, sizeof(away));
		memset(count, 0, sizeof(count));
		for (size_t k = 0; k < g->rows->count; k++) {
			size_t at = k % EXPRESSION_BLOCK, left = g->rows->count - k;

			if (at == 0)
				expression_logs(g->e, g->rows, k,
					left < EXPRESSION_BLOCK ? left : EXPRESSION_BLOCK, logs, NULL);
			away[levels[k]] += g->rows->log_time[k] - logs[at];
			count[levels[k]]++;
		}
		for (size_t l = 0; l < all.group_count; l++)
			away[l] /= (double)(count[l] ? count[l] : 1);
		for (size_t groups = 2; groups < all.group_count && groups < 4; groups++) {
			struct expression_partition partition = all;

			edit_cluster(&partition, away, groups);
			expression_partition(g->terms, &partition);
		}
	}
}

int expression_grow(struct growth *growth, const struct expression *e, struct expression_terms *terms,
	const struct expression_rows *rows, size_t most)
{
	struct grower g = {.e = e, .terms = terms, .rows = rows, .growth = growth, .most = most};

	for (size_t i = 0; i < terms->number_count; i++)
		for (size_t k = 0; k < rows->count; k++)
			g.means[i] += rows->logs[i * rows->count + k] / (double)rows->count;
	expression_means(e, rows, g.values, g.factors);
	find_groups(&g);
	fix_powers(&g);
	for (size_t n = 0; n < e->node_count; n++) {
		add_factors(&g, n);
		for (size_t f = 0; f < e->nodes[n].factor_count; f++)
			change_factor(&g, n, f);
		if (e->nodes[n].op == EXPRESSION_LEAF)
			grow_leaf(&g, n);
		else
			grow_inner(&g, n);
	}
	return g.status;
}
