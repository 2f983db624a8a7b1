/* Expressions as text: see expression.h. */
#include "expression.h"

#include <math.h>
#include <string.h>

struct writer {
	FILE *out;
	const struct expression *e;
	const struct expression_terms *terms;
	size_t tables; /* of levels, so far */
};

/* Unary: may stand before ^ without brackets. */
static void put_name(struct writer *w, const struct expression_number *number)
{
	fprintf(w->out, number->plus_one ? "(1 + %s)" : "%s", number->name);
}

static void put_power(struct writer *w, const struct expression_factor *factor, double power)
{
	put_name(w, &w->terms->numbers[factor->number]);
	if (power != 1)
		fprintf(w->out, "^%.4g", power);
}

static const char *category_of(const struct writer *w, const struct expression_factor *factor)
{
	return w->terms->categories[w->terms->partitions[factor->partition].category].name;
}

static void put_factor(struct writer *w, const struct expression_factor *factor)
{
	switch (factor->kind) {
	case EXPRESSION_POWER:
		put_power(w, factor, w->e->constants[factor->at]);
		break;
	case EXPRESSION_FIXED:
		put_power(w, factor, factor->power);
		break;
	case EXPRESSION_LOG:
		fprintf(w->out, "log2(%s)", w->terms->numbers[factor->number].name);
		break;
	case EXPRESSION_POWER_BY_GROUP:
		put_name(w, &w->terms->numbers[factor->number]);
		fprintf(w->out, "^q%zu[%s]", ++w->tables, category_of(w, factor));
		break;
	case EXPRESSION_GROUP:
		fprintf(w->out, "f%zu[%s]", ++w->tables, category_of(w, factor));
		break;
	}
}

static void put_node(struct writer *w, size_t n, bool alone);

static void put_children(struct writer *w, size_t n, const char *before, const char *between, double power)
{
	const char *gap = "";

	for (size_t c = n + 1; c < w->e->node_count; c++) {
		if (w->e->nodes[c].parent != n)
			continue;
		fprintf(w->out, "%s%s", gap, before);
		put_node(w, c, power == 0);
		if (power != 0 && power != -1)
			fprintf(w->out, "^%.4g", power);
		gap = between;
	}
}

static void put_op(struct writer *w, size_t n, bool alone)
{
	const struct expression_node *node = &w->e->nodes[n];
	double power;

	switch (node->op) {
	case EXPRESSION_SUM:
		fputs(alone ? "" : "(", w->out);
		put_children(w, n, "", " + ", 0);
		fputs(alone ? "" : ")", w->out);
		break;
	case EXPRESSION_MAX:
		fputs("max(", w->out);
		put_children(w, n, "", ", ", 0);
		fputs(")", w->out);
		break;
	case EXPRESSION_NORM:
		power = exp(w->e->constants[node->at]);
		fputs("(", w->out);
		put_children(w, n, "", " + ", power);
		fprintf(w->out, ")^(1/%.4g)", power);
		break;
	case EXPRESSION_HARMONIC:
		fputs("1/(", w->out);
		put_children(w, n, "1/", " + ", -1);
		fputs(")", w->out);
		break;
	}
}

/* Alone: nothing around it binds more than a sum does. */
static void put_node(struct writer *w, size_t n, bool alone)
{
	const struct expression_node *node = &w->e->nodes[n];
	bool is_leaf = node->op == EXPRESSION_LEAF, is_one = true;
	bool has_sign = node->op == EXPRESSION_NORM || node->op == EXPRESSION_HARMONIC;
	bool brackets = !alone && (node->factor_count > 0 || has_sign);
	double coefficient = is_leaf ? exp(w->e->constants[node->at]) : 1;

	fputs(brackets ? "(" : "", w->out);
	if (is_leaf && (coefficient != 1 || node->factor_count == 0)) {
		fprintf(w->out, "%.5g", coefficient);
		is_one = false;
	}
	for (size_t f = 0; f < node->factor_count; f++) {
		fputs(is_one ? "" : "*", w->out);
		put_factor(w, &node->factors[f]);
		is_one = false;
	}
	if (!is_leaf) {
		fputs(is_one ? "" : "*", w->out);
		put_op(w, n, alone && node->factor_count == 0);
	}
	fputs(brackets ? ")" : "", w->out);
}

void expression_print(FILE *out, const struct expression *e, const struct expression_terms *terms)
{
	put_node(&(struct writer){out, e, terms, 0}, 0, true);
}

static void put_levels(FILE *out, const struct expression_terms *terms,
	const struct expression_partition *partition, size_t group)
{
	const struct expression_category *category = &terms->categories[partition->category];
	const char *gap = "";

	for (size_t l = 0; l < category->level_count; l++) {
		if (partition->group_of[l] != group)
			continue;
		if (category->is_one)
			fprintf(out, "%s%s", gap, l ? "more than 1" : "1");
		else
			fprintf(out, "%s%s", gap, category->levels[l]);
		gap = ", ";
	}
}

static void put_table(struct writer *w, const struct expression_factor *factor)
{
	const struct expression_partition *partition = &w->terms->partitions[factor->partition];
	bool is_power = factor->kind == EXPRESSION_POWER_BY_GROUP;
	const double *constants = w->e->constants + factor->at;

	fprintf(w->out, "    %c%zu[%s]:", is_power ? 'q' : 'f', ++w->tables, category_of(w, factor));
	for (size_t i = 0; i < partition->group_count; i++) {
		double value = is_power ? constants[i] : (i ? exp(constants[i - 1]) : 1);

		fprintf(w->out, "%s %.4g for ", i ? ";" : "", value);
		put_levels(w->out, w->terms, partition, i);
	}
	fputc('\n', w->out);
}

/* In the order in which the formula names them. */
static void put_tables(struct writer *w, size_t n)
{
	const struct expression_node *node = &w->e->nodes[n];

	for (size_t f = 0; f < node->factor_count; f++)
		if (node->factors[f].kind == EXPRESSION_GROUP ||
			node->factors[f].kind == EXPRESSION_POWER_BY_GROUP)
			put_table(w, &node->factors[f]);
	for (size_t c = n + 1; c < w->e->node_count; c++)
		if (w->e->nodes[c].parent == n)
			put_tables(w, c);
}

void expression_print_groups(FILE *out, const struct expression *e, const struct expression_terms *terms)
{
	put_tables(&(struct writer){out, e, terms, 0}, 0);
}
