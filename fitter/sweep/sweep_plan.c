/* Designs of trials: see sweep_plan.h. */
#include "sweep_plan.h"
#include "base/error_message.h"
#include "base/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Draws of one trial before the rules are called impossible. */
#define DRAWS_MOST 100000
/* Tries to make a forbidden trial of a Latin hypercube an allowed one. */
#define EXCHANGES_MOST 200
/* Combinations that a full design may have. */
#define FULL_MOST ((size_t)10000000)
/* Streams of random numbers: that of trial k is its number; these are for what is not of one trial. */
#define STREAM_ORDER UINT64_MAX

/* FNV-1a, each text with its end, so that "a","bc" is not "ab","c". */
static void mix(uint64_t *hash, const char *text)
{
	const char *at = text ? text : "\1";

	do {
		*hash = (*hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	} while (*at++);
}

static void mix_number(uint64_t *hash, double number)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", number);
	mix(hash, text);
}

static uint64_t hash_plan(const struct sweep_plan *plan, char *const *command, const char *time_from)
{
	const struct space_file *space = plan->space;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < space->column_count; i++) {
		const struct space_file_column *column = &space->columns[i];

		mix(&hash, column->name);
		for (size_t l = 0; l < column->level_count; l++) {
			mix(&hash, column->levels[l]);
			mix(&hash, column->words ? column->words[l] : NULL);
		}
		mix_number(&hash, column->least);
		mix_number(&hash, column->greatest);
		mix_number(&hash, column->logarithmic + 2 * column->integer);
	}
	for (size_t i = 0; i < space->rule_count; i++) {
		mix(&hash, space->rules[i].name);
		mix(&hash, space->rules[i].text);
	}
	mix(&hash, space->description.time);
	mix_number(&hash, plan->design);
	mix_number(&hash, (double)(plan->seed >> 32));
	mix_number(&hash, (double)(plan->seed & UINT32_MAX));
	if (plan->design == SWEEP_LHS)
		mix_number(&hash, (double)plan->count);
	for (; *command; command++)
		mix(&hash, *command);
	mix(&hash, time_from);
	return hash;
}

/* The text of a column's value; `place` in [0, 1) is where it lies among those it can have. */
static char *value_text(const struct space_file_column *column, double place)
{
	double low = column->least, high = column->greatest, value;
	char *text = NULL;

	if (column->levels) {
		size_t level = (size_t)(place * (double)column->level_count);

		return strdup(column->levels[level < column->level_count ? level : column->level_count - 1]);
	}
	if (column->integer) {
		low = ceil(low);
		high = floor(high) + 1;
	}
	value = column->logarithmic ? low * pow(high / low, place) : low + (high - low) * place;
	if (column->integer)
		value = fmin(floor(value), high - 1);
	if (asprintf(&text, column->integer ? "%.0f" : "%.6g", value) < 0)
		return NULL;
	return text;
}

void sweep_plan_free_values(const struct sweep_plan *plan, char **values)
{
	for (size_t c = 0; c < plan->space->column_count; c++) {
		free(values[c]);
		values[c] = NULL;
	}
}

static const char *make_values(const struct sweep_plan *plan, const double *places, char **values)
{
	for (size_t c = 0; c < plan->space->column_count; c++) {
		values[c] = value_text(&plan->space->columns[c], places[c]);
		if (!values[c])
			return error_message("out of memory");
	}
	return NULL;
}

static const char *draw(const struct sweep_plan *plan, size_t k, char **values)
{
	size_t column_count = plan->space->column_count;
	struct random random;
	double places[column_count];

	random_init(&random, plan->seed, k);
	for (size_t i = 0; i < DRAWS_MOST; i++) {
		const char *bad;
		bool allowed;

		for (size_t c = 0; c < column_count; c++)
			places[c] = random_unit(&random);
		bad = make_values(plan, places, values);
		if (!bad)
			bad = space_file_allows(plan->space, values, &allowed);
		if (bad || allowed)
			return bad;
		sweep_plan_free_values(plan, values);
	}
	return error_message("%s: the rules reject all of %d trials drawn", plan->space->path, DRAWS_MOST);
}

/* Of a Latin hypercube: the middle of a stratum for levels, a place drawn in it for ranges. */
static const char *lhs_values(const struct sweep_plan *plan, size_t k, char **values)
{
	size_t column_count = plan->space->column_count;
	double places[column_count];
	struct random random;

	random_init(&random, plan->seed ^ UINT64_C(0x5bd1e995), k);
	for (size_t c = 0; c < column_count; c++) {
		double within = plan->space->columns[c].levels ? 0.5 : random_unit(&random);

		places[c] = ((double)plan->order[c * plan->count + k] + within) / (double)plan->count;
	}
	return make_values(plan, places, values);
}

static const char *full_values(const struct sweep_plan *plan, size_t combination, char **values)
{
	double places[plan->space->column_count];

	for (size_t c = 0; c < plan->space->column_count; c++) {
		size_t levels = plan->space->columns[c].level_count;

		places[c] = ((double)(combination % levels) + 0.5) / (double)levels;
		combination /= levels;
	}
	return make_values(plan, places, values);
}

bool sweep_plan_has(const struct sweep_plan *plan, size_t k)
{
	return plan->design != SWEEP_FULL || k < plan->count;
}

const char *sweep_plan_trial(const struct sweep_plan *plan, size_t k, char **values)
{
	const char *bad;
	bool allowed;

	if (plan->design == SWEEP_FULL)
		return full_values(plan, plan->order[k], values);
	if (plan->design == SWEEP_RANDOM || k >= plan->count)
		return draw(plan, k, values);
	bad = lhs_values(plan, k, values);
	if (!bad)
		bad = space_file_allows(plan->space, values, &allowed);
	if (bad || allowed)
		return bad;
	sweep_plan_free_values(plan, values);
	return draw(plan, k, values);
}

static const char *lhs_allows(const struct sweep_plan *plan, size_t k, bool *allowed)
{
	char *values[plan->space->column_count];
	const char *bad;

	memset(values, 0, sizeof(values));
	bad = lhs_values(plan, k, values);
	if (!bad)
		bad = space_file_allows(plan->space, values, allowed);
	sweep_plan_free_values(plan, values);
	return bad;
}

static void swap(size_t *order, size_t a, size_t b)
{
	size_t kept = order[a];

	order[a] = order[b];
	order[b] = kept;
}

/* Trial k, which the rules forbid, exchanges a value with another trial, so that it is allowed and the other
 * stays so: each column keeps its values. */
static const char *exchange(struct sweep_plan *plan, struct random *random, size_t k, bool *allowed)
{
	for (size_t i = 0; i < EXCHANGES_MOST && !allowed[k]; i++) {
		size_t *order = plan->order + random_below(random, plan->space->column_count) * plan->count;
		size_t other = random_below(random, plan->count);
		bool is_good, other_is_good = false;
		const char *bad;

		swap(order, k, other);
		bad = lhs_allows(plan, k, &is_good);
		if (!bad && is_good)
			bad = lhs_allows(plan, other, &other_is_good);
		if (bad)
			return bad;
		if (is_good && (other_is_good || !allowed[other])) {
			allowed[k] = true;
			allowed[other] = other_is_good;
		} else {
			swap(order, k, other);
		}
	}
	return NULL;
}

static const char *plan_lhs(struct sweep_plan *plan)
{
	size_t column_count = plan->space->column_count;
	bool *allowed = calloc(plan->count, sizeof(*allowed));
	const char *bad = NULL;
	struct random random;

	random_init(&random, plan->seed, STREAM_ORDER);
	plan->order = calloc(plan->count * column_count, sizeof(*plan->order));
	if (!plan->order || !allowed) {
		free(allowed);
		return error_message("out of memory");
	}
	for (size_t c = 0; c < column_count; c++) {
		size_t *order = plan->order + c * plan->count;

		for (size_t k = 0; k < plan->count; k++)
			order[k] = k;
		random_shuffle(&random, order, plan->count);
	}
	for (size_t k = 0; k < plan->count && !bad; k++)
		bad = lhs_allows(plan, k, &allowed[k]);
	for (size_t k = 0; k < plan->count && !bad; k++)
		bad = exchange(plan, &random, k, allowed);
	for (size_t k = 0; k < plan->count && !bad; k++)
		plan->moved += !allowed[k];
	free(allowed);
	return bad;
}

static const char *plan_full(struct sweep_plan *plan)
{
	size_t all = space_file_combinations(plan->space), kept = 0;
	char *values[plan->space->column_count];
	struct random random;

	if (all == 0)
		return error_message("%s: a full design requires levels; a range has no finite set of values",
			plan->space->path);
	if (all > FULL_MOST)
		return error_message("%s: a full design has %zu trials; the maximum is %zu",
			plan->space->path, all, FULL_MOST);
	plan->order = calloc(all, sizeof(*plan->order));
	if (!plan->order)
		return error_message("out of memory");
	for (size_t i = 0; i < all; i++) {
		bool allowed = true;
		const char *bad;

		memset(values, 0, sizeof(values));
		bad = full_values(plan, i, values);
		if (!bad)
			bad = space_file_allows(plan->space, values, &allowed);
		sweep_plan_free_values(plan, values);
		if (bad)
			return bad;
		if (allowed)
			plan->order[kept++] = i;
	}
	if (kept == 0)
		return error_message("%s: the rules reject all trials", plan->space->path);
	random_init(&random, plan->seed, STREAM_ORDER);
	random_shuffle(&random, plan->order, kept);
	if (plan->count == 0 || plan->count > kept)
		plan->count = kept;
	return NULL;
}

const char *sweep_plan_init(struct sweep_plan *plan, const struct space_file *space, enum sweep_design design,
	uint64_t seed, size_t count, char *const *command, const char *time_from)
{
	char *values[space->column_count];
	const char *bad;

	*plan = (struct sweep_plan){.space = space, .design = design, .seed = seed, .count = count};
	plan->hash = hash_plan(plan, command, time_from);
	if (design == SWEEP_LHS)
		return plan_lhs(plan);
	if (design == SWEEP_FULL)
		return plan_full(plan);
	memset(values, 0, sizeof(values));
	bad = draw(plan, 0, values);
	sweep_plan_free_values(plan, values);
	return bad;
}

void sweep_plan_free(struct sweep_plan *plan)
{
	free(plan->order);
	*plan = (struct sweep_plan){0};
}
