/* What expressions say, and how that changes with their constants: see expression.h. */
#include "expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK EXPRESSION_BLOCK

struct values {
	double node[EXPRESSION_NODES][BLOCK];   /* logarithm of the value, with the factors */
	double factor[EXPRESSION_NODES][BLOCK]; /* logarithm of factors and coefficient */
	double share[EXPRESSION_NODES][BLOCK];  /* of the parent's sum */
};

/*
 * exp of numbers up to 0, in a form that compilers turn into vector instructions: 2^n times the exponential
 * series of what is left, which is less than 0.35. To about 1e-15.
 */
static inline double exp_below(double x)
{
	const double round = 0x1.8p52;
	double n, r, sum = 1.0 / 39916800, scale;
	uint64_t bits;

	x = x > -700 ? x : -700;
	n = x * 1.4426950408889634 + round;
	memcpy(&bits, &n, sizeof(bits));
	n -= round;
	r = x - n * 0x1.62e42fefa3800p-1 - n * 0x1.ef35793c76730p-45;
	bits = (bits + 1023) << 52;
	memcpy(&scale, &bits, sizeof(scale));
	sum = sum * r + 1.0 / 3628800;
	sum = sum * r + 1.0 / 362880;
	sum = sum * r + 1.0 / 40320;
	sum = sum * r + 1.0 / 5040;
	sum = sum * r + 1.0 / 720;
	sum = sum * r + 1.0 / 120;
	sum = sum * r + 1.0 / 24;
	sum = sum * r + 1.0 / 6;
	sum = sum * r + 0.5;
	sum = sum * r + 1;
	sum = sum * r + 1;
	return sum * scale;
}

static const unsigned char *levels_of(
	const struct expression_rows *rows, const struct expression_factor *factor, size_t begin)
{
	size_t category = rows->terms->partitions[factor->partition].category;

	return rows->levels + category * rows->count + begin;
}

static void add_factor(const struct expression *e, const struct expression_rows *rows, size_t begin,
	size_t count, const struct expression_factor *factor, double *sum)
{
	const double *logs = rows->logs + factor->number * rows->count + begin;
	const double *constants = e->constants + factor->at;
	const struct expression_partition *partition = &rows->terms->partitions[factor->partition];
	const unsigned char *levels = NULL;
	double power = factor->kind == EXPRESSION_FIXED ? factor->power : constants[0];

	switch (factor->kind) {
	case EXPRESSION_POWER:
	case EXPRESSION_FIXED:
		for (size_t k = 0; k < count; k++)
			sum[k] += power * logs[k];
		break;
	case EXPRESSION_LOG:
		logs = rows->log_logs + factor->number * rows->count + begin;
		for (size_t k = 0; k < count; k++)
			sum[k] += logs[k];
		break;
	case EXPRESSION_POWER_BY_GROUP:
		levels = levels_of(rows, factor, begin);
		for (size_t k = 0; k < count; k++)
			sum[k] += constants[partition->group_of[levels[k]]] * logs[k];
		break;
	case EXPRESSION_GROUP:
		levels = levels_of(rows, factor, begin);
		for (size_t k = 0; k < count; k++) {
			size_t group = partition->group_of[levels[k]];

			if (group)
				sum[k] += constants[group - 1];
		}
		break;
	}
}

/* Children's values become the value of their parent's op: log of (sum exp(g x))^(1/g), max where g is 0. */
static void combine(const struct expression *e, size_t n, size_t count, double g, struct values *v)
{
	double most[BLOCK], sum[BLOCK] = {0};

	for (size_t k = 0; k < count; k++)
		most[k] = -HUGE_VAL;
	for (size_t c = n + 1; c < e->node_count; c++)
		for (size_t k = 0; k < count && e->nodes[c].parent == n; k++) {
			double x = g == 0 ? v->node[c][k] : g * v->node[c][k];

			most[k] = x > most[k] ? x : most[k];
		}
	for (size_t c = n + 1; c < e->node_count && g != 0; c++) {
		if (e->nodes[c].parent != n)
			continue;
		for (size_t k = 0; k < count; k++)
			v->share[c][k] = exp_below(g * v->node[c][k] - most[k]);
		for (size_t k = 0; k < count; k++)
			sum[k] += v->share[c][k];
	}
	for (size_t k = 0; k < count; k++)
		v->node[n][k] = v->factor[n][k] + (g == 0 ? most[k] : (most[k] + log(sum[k])) / g);
	for (size_t c = n + 1; c < e->node_count && g != 0; c++)
		for (size_t k = 0; k < count && e->nodes[c].parent == n; k++)
			v->share[c][k] /= sum[k];
}

static double power_of_node(const struct expression *e, size_t n)
{
	switch (e->nodes[n].op) {
	case EXPRESSION_NORM:
		return exp(e->constants[e->nodes[n].at]);
	case EXPRESSION_HARMONIC:
		return -1;
	case EXPRESSION_MAX:
		return 0;
	default:
		return 1;
	}
}

static void forward(const struct expression *e, const struct expression_rows *rows, size_t begin,
	size_t count, struct values *v)
{
	for (size_t n = e->node_count; n-- > 0;) {
		const struct expression_node *node = &e->nodes[n];
		double start = node->op == EXPRESSION_LEAF ? e->constants[node->at] : 0;

		for (size_t k = 0; k < count; k++)
			v->factor[n][k] = start;
		for (size_t f = 0; f < node->factor_count; f++)
			add_factor(e, rows, begin, count, &node->factors[f], v->factor[n]);
		if (node->op == EXPRESSION_LEAF)
			memcpy(v->node[n], v->factor[n], count * sizeof(double));
		else
			combine(e, n, count, power_of_node(e, n), v);
	}
}

/* How much of the root's logarithm each child of a node makes. */
static void share_out(const struct expression *e, size_t n, size_t count, const struct values *v,
	double (*shares)[BLOCK], double *slope_of_power)
{
	bool is_max = e->nodes[n].op == EXPRESSION_MAX, taken[BLOCK] = {false};

	for (size_t c = n + 1; c < e->node_count; c++) {
		if (e->nodes[c].parent != n)
			continue;
		for (size_t k = 0; k < count && !is_max; k++)
			shares[c][k] = shares[n][k] * v->share[c][k];
		for (size_t k = 0; k < count && is_max; k++) {
			bool is_most = v->node[c][k] >= v->node[n][k] - v->factor[n][k] && !taken[k];

			shares[c][k] = is_most ? shares[n][k] : 0;
			taken[k] = taken[k] || is_most;
		}
		/* d/dg of (1/g) log sum e^(g x) is sum share (x - whole) / g; the constant is log g */
		for (size_t k = 0; k < count && slope_of_power; k++)
			slope_of_power[k] += shares[c][k] * (v->node[c][k] + v->factor[n][k] - v->node[n][k]);
	}
}

static void slopes_of_factor(const struct expression_rows *rows, size_t begin, size_t count,
	const struct expression_factor *factor, const double *share, double *slopes)
{
	const double *logs = rows->logs + factor->number * rows->count + begin;
	const struct expression_partition *partition = &rows->terms->partitions[factor->partition];
	double *slope = slopes + factor->at * BLOCK;
	const unsigned char *levels = NULL;

	if (factor->kind == EXPRESSION_POWER)
		for (size_t k = 0; k < count; k++)
			slope[k] = share[k] * logs[k];
	if (factor->kind != EXPRESSION_GROUP && factor->kind != EXPRESSION_POWER_BY_GROUP)
		return;
	levels = levels_of(rows, factor, begin);
	memset(slope, 0, expression_factor_size(rows->terms, factor) * BLOCK * sizeof(double));
	for (size_t k = 0; k < count; k++) {
		size_t group = partition->group_of[levels[k]];

		if (factor->kind == EXPRESSION_POWER_BY_GROUP)
			slope[group * BLOCK + k] = share[k] * logs[k];
		else if (group)
			slope[(group - 1) * BLOCK + k] = share[k];
	}
}

static void backward(const struct expression *e, const struct expression_rows *rows, size_t begin,
	size_t count, const struct values *v, double *slopes)
{
	double shares[EXPRESSION_NODES][BLOCK];

	for (size_t k = 0; k < count; k++)
		shares[0][k] = 1;
	for (size_t n = 0; n < e->node_count; n++) {
		const struct expression_node *node = &e->nodes[n];
		double *own = slopes + node->at * BLOCK;

		if (node->op == EXPRESSION_LEAF)
			memcpy(own, shares[n], count * sizeof(double));
		if (node->op == EXPRESSION_NORM)
			memset(own, 0, count * sizeof(double));
		if (node->op != EXPRESSION_LEAF)
			share_out(e, n, count, v, shares, node->op == EXPRESSION_NORM ? own : NULL);
		for (size_t f = 0; f < node->factor_count; f++)
			slopes_of_factor(rows, begin, count, &node->factors[f], shares[n], slopes);
	}
}

void expression_logs(const struct expression *e, const struct expression_rows *rows, size_t begin,
	size_t count, double *logs, double *slopes)
{
	struct values v;

	forward(e, rows, begin, count, &v);
	memcpy(logs, v.node[0], count * sizeof(double));
	if (slopes)
		backward(e, rows, begin, count, &v, slopes);
}

void expression_means(
	const struct expression *e, const struct expression_rows *rows, double *values, double *factors)
{
	struct values v;

	for (size_t n = 0; n < e->node_count; n++)
		values[n] = factors[n] = 0;
	for (size_t begin = 0; begin < rows->count; begin += BLOCK) {
		size_t count = rows->count - begin < BLOCK ? rows->count - begin : BLOCK;

		forward(e, rows, begin, count, &v);
		for (size_t n = 0; n < e->node_count; n++)
			for (size_t k = 0; k < count; k++) {
				values[n] += v.node[n][k] / (double)rows->count;
				factors[n] += v.factor[n][k] / (double)rows->count;
			}
	}
}

void expression_times(const struct expression *e, const struct expression_rows *rows, double *times)
{
	for (size_t begin = 0; begin < rows->count; begin += BLOCK) {
		size_t count = rows->count - begin < BLOCK ? rows->count - begin : BLOCK;

		expression_logs(e, rows, begin, count, times + begin, NULL);
		for (size_t k = begin; k < begin + count; k++)
			times[k] = exp(times[k]) + rows->offset[k];
	}
}
