/* Changes of an expression in place: see expression_edit.h. */
#include "expression_edit.h"

#include <math.h>
#include <string.h>

bool edit_constants(struct expression *e, size_t count, double value, unsigned short *at)
{
	if (e->constant_count + count > EXPRESSION_CONSTANTS)
		return false;
	*at = (unsigned short)e->constant_count;
	for (size_t i = 0; i < count; i++)
		e->constants[e->constant_count++] = value;
	return true;
}

bool edit_constant(struct expression *e, double value, unsigned short *at)
{
	return edit_constants(e, 1, value, at);
}

bool edit_add(struct expression *e, size_t node, struct expression_factor factor)
{
	struct expression_node *to = &e->nodes[node];

	if (to->factor_count == EXPRESSION_FACTORS)
		return false;
	to->factors[to->factor_count++] = factor;
	return true;
}

bool edit_add_power(struct expression *e, size_t node, size_t number, double power)
{
	struct expression_factor factor = {.kind = EXPRESSION_POWER, .number = (unsigned char)number};

	return edit_constant(e, power, &factor.at) && edit_add(e, node, factor);
}

bool edit_add_group(struct expression *e, const struct expression_terms *terms, size_t node, size_t partition)
{
	struct expression_factor factor = {.kind = EXPRESSION_GROUP, .partition = (unsigned short)partition};

	return edit_constants(e, terms->partitions[partition].group_count - 1, 0, &factor.at) &&
	       edit_add(e, node, factor);
}

void edit_remove(struct expression *e, size_t node, size_t factor)
{
	struct expression_node *from = &e->nodes[node];

	memmove(from->factors + factor, from->factors + factor + 1,
		(from->factor_count - factor - 1) * sizeof(*from->factors));
	from->factor_count--;
}

size_t edit_find(const struct expression *e, size_t node, size_t number)
{
	const struct expression_node *in = &e->nodes[node];

	for (size_t f = 0; f < in->factor_count; f++)
		if (in->factors[f].number == number && in->factors[f].kind != EXPRESSION_GROUP &&
			in->factors[f].kind != EXPRESSION_LOG)
			return f;
	return EDIT_NOWHERE;
}

size_t edit_find_category(
	const struct expression *e, const struct expression_terms *terms, size_t node, size_t category)
{
	const struct expression_node *in = &e->nodes[node];

	for (size_t f = 0; f < in->factor_count; f++)
		if (in->factors[f].kind == EXPRESSION_GROUP &&
			terms->partitions[in->factors[f].partition].category == category)
			return f;
	return EDIT_NOWHERE;
}

size_t edit_count(const struct expression *e, enum expression_kind kind)
{
	size_t count = 0;

	for (size_t n = 0; n < e->node_count; n++)
		for (size_t f = 0; f < e->nodes[n].factor_count; f++)
			count += e->nodes[n].factors[f].kind == kind;
	return count;
}

static size_t add_node(struct expression *e, size_t parent, enum expression_op op)
{
	if (e->node_count == EXPRESSION_NODES)
		return EDIT_NOWHERE;
	e->nodes[e->node_count] =
		(struct expression_node){.op = (unsigned char)op, .parent = (unsigned char)parent};
	return e->node_count++;
}

size_t edit_add_leaf(struct expression *e, size_t parent)
{
	size_t leaf = add_node(e, parent, EXPRESSION_LEAF);

	if (leaf == EDIT_NOWHERE || !edit_constant(e, 0, &e->nodes[leaf].at))
		return EDIT_NOWHERE;
	return leaf;
}

bool edit_split(struct expression *e, size_t node, enum expression_op op, bool inside)
{
	size_t child = add_node(e, node, EXPRESSION_LEAF);

	if (child == EDIT_NOWHERE)
		return false;
	if (inside) {
		e->nodes[child] = e->nodes[node];
		e->nodes[child].parent = (unsigned char)node;
		e->nodes[node].factor_count = 0;
	}
	e->nodes[child].at = e->nodes[node].at;
	e->nodes[node].op = (unsigned char)op;
	return true;
}

bool edit_double(struct expression *e, size_t node, size_t factor, double by, double mean)
{
	size_t child = e->node_count - 1, other = add_node(e, node, EXPRESSION_LEAF);
	struct expression_node *to;

	if (other == EDIT_NOWHERE)
		return false;
	to = &e->nodes[other];
	*to = e->nodes[child];
	if (!edit_constant(e, e->constants[to->at] - by * mean, &to->at))
		return false;
	for (size_t f = 0; f < to->factor_count; f++) {
		struct expression_factor *power = &to->factors[f];
		double value = power->kind == EXPRESSION_FIXED ? power->power : e->constants[power->at];

		if (power->kind != EXPRESSION_POWER && power->kind != EXPRESSION_FIXED)
			continue;
		if (!edit_constant(e, f == factor ? value + by : value, &power->at))
			return false;
		power->kind = EXPRESSION_POWER;
	}
	/* levels are told apart by the first alone */
	for (size_t f = to->factor_count; f-- > 0;)
		if (to->factors[f].kind == EXPRESSION_GROUP ||
			to->factors[f].kind == EXPRESSION_POWER_BY_GROUP)
			edit_remove(e, other, f);
	return true;
}

size_t edit_raise(struct expression *e, enum expression_op op)
{
	if (e->node_count + 2 > EXPRESSION_NODES)
		return EDIT_NOWHERE;
	memmove(e->nodes + 1, e->nodes, e->node_count * sizeof(*e->nodes));
	e->node_count++;
	for (size_t n = 2; n < e->node_count; n++)
		e->nodes[n].parent++;
	e->nodes[1].parent = 0;
	e->nodes[0] = (struct expression_node){.op = (unsigned char)op};
	return edit_add_leaf(e, 0);
}

static void drop_node(struct expression *e, size_t node)
{
	memmove(e->nodes + node, e->nodes + node + 1, (e->node_count - node - 1) * sizeof(*e->nodes));
	e->node_count--;
	for (size_t n = node; n < e->node_count; n++)
		if (e->nodes[n].parent > node)
			e->nodes[n].parent--;
}

/* The only child takes its parent's place, with the factors of both. */
static void join(struct expression *e, size_t parent, size_t child)
{
	struct expression_node both = e->nodes[child];

	for (size_t f = 0; f < e->nodes[parent].factor_count && both.factor_count < EXPRESSION_FACTORS; f++)
		both.factors[both.factor_count++] = e->nodes[parent].factors[f];
	both.parent = e->nodes[parent].parent;
	for (size_t n = child + 1; n < e->node_count; n++)
		if (e->nodes[n].parent == child)
			e->nodes[n].parent = (unsigned char)parent;
	e->nodes[parent] = both;
	drop_node(e, child);
}

void edit_cut(struct expression *e, size_t node)
{
	size_t parent = e->nodes[node].parent, left, last = 0;

	for (size_t n = e->node_count; n-- > node + 1;) {
		size_t up = n;

		while (up > node)
			up = e->nodes[up].parent;
		if (up == node)
			drop_node(e, n);
	}
	drop_node(e, node);
	left = expression_child_count(e, parent);
	for (size_t n = parent + 1; n < e->node_count; n++)
		if (e->nodes[n].parent == parent)
			last = n;
	if (left == 1)
		join(e, parent, last);
}

void edit_cluster(struct expression_partition *partition, const double *values, size_t groups)
{
	size_t count = partition->group_count, order[EXPRESSION_LEVELS];
	size_t cut[EXPRESSION_LEVELS][EXPRESSION_LEVELS + 1];
	double best[EXPRESSION_LEVELS][EXPRESSION_LEVELS + 1];
	unsigned char group[EXPRESSION_LEVELS];

	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		for (; at > 0 && values[order[at - 1]] > values[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	/* best[g][n]: the first n values in g + 1 groups */
	for (size_t g = 0; g < groups; g++)
		for (size_t n = 0; n <= count; n++) {
			double sum = 0, squares = 0;

			best[g][n] = n == 0 ? 0 : HUGE_VAL;
			cut[g][n] = 0;
			for (size_t from = n; from-- > 0;) {
				double x = values[order[from]], before, within;

				sum += x;
				squares += x * x;
				within = squares - sum * sum / (double)(n - from);
				before = g ? best[g - 1][from] : (from ? HUGE_VAL : 0);
				if (before + within < best[g][n] && (g == 0 || from > 0)) {
					best[g][n] = before + within;
					cut[g][n] = from;
				}
			}
		}
	for (size_t g = groups, n = count; g-- > 0; n = cut[g][n])
		for (size_t i = cut[g][n]; i < n; i++)
			group[order[i]] = (unsigned char)g;
	for (size_t l = 0; l < EXPRESSION_LEVELS; l++)
		partition->group_of[l] = group[partition->group_of[l] < count ? partition->group_of[l] : 0];
	partition->group_count = groups;
}

bool edit_merge(struct expression *e, struct expression_terms *terms, size_t node, size_t factor,
	const double *values, size_t groups)
{
	struct expression_factor *old = &e->nodes[node].factors[factor];
	const struct expression_partition before = terms->partitions[old->partition];
	struct expression_partition after = before;
	double sum[EXPRESSION_LEVELS] = {0}, count[EXPRESSION_LEVELS] = {0};
	bool is_power = old->kind == EXPRESSION_POWER_BY_GROUP;
	int partition;

	edit_cluster(&after, values, groups);
	partition = expression_partition(terms, &after);
	if (partition < 0)
		return false;
	after = terms->partitions[partition];
	for (size_t l = 0; l < terms->categories[after.category].level_count; l++) {
		sum[after.group_of[l]] += values[before.group_of[l]];
		count[after.group_of[l]]++;
	}
	old->partition = (unsigned short)partition;
	if (!edit_constants(e, groups - !is_power, 0, &old->at))
		return false;
	for (size_t i = 0; i < groups; i++) {
		double mean = sum[i] / count[i], first = is_power ? 0 : sum[0] / count[0];

		if (is_power || i)
			e->constants[old->at + i - !is_power] = mean - first;
	}
	return true;
}
