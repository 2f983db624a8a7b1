/* The performance model normal form: see pmnf.h. */
#include "pmnf.h"
#include "base/least_squares.h"
#include "base/parallel.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM 7000
/* A factor is a column, i and j; it costs as much as three coefficients. */
#define FACTOR_COST 3

static const double exponents[] = {0, 0.25, 1 / 3.0, 0.5, 2 / 3.0, 0.75, 1, 1.25, 4 / 3.0, 1.5, 5 / 3.0, 1.75,
	2, 2.25, 7 / 3.0, 2.5, 8 / 3.0, 2.75, 3, -0.25, -1 / 3.0, -0.5, -2 / 3.0, -0.75, -1, -1.25, -4 / 3.0,
	-1.5, -5 / 3.0, -1.75, -2, -2.25, -7 / 3.0, -2.5, -8 / 3.0, -2.75, -3};

#define EXPONENTS (sizeof(exponents) / sizeof(*exponents))
#define LOGS 3

struct search {
	const struct feature_matrix *train;
	const size_t *rows;
	size_t row_count, *columns, column_count;
	double *terms[PMNF_TERMS]; /* values of each term, by row of the search */
	double *target;
	size_t term_count, factor_count;
	double *criteria; /* of the candidates */
	int failed;
};

/* A move: multiply term `term` (term_count: a new one) by a column's function. */
struct move {
	size_t term, column;
	double exponent;
	int logs;
};

static double function_of(double x, double exponent, int logs)
{
	double value = pow(x, exponent);

	while (logs--)
		value *= log2(x);
	return value;
}

static struct move move_of(const struct search *s, size_t index)
{
	struct move move;

	move.logs = (int)(index % LOGS);
	index /= LOGS;
	move.exponent = exponents[index % EXPONENTS];
	index /= EXPONENTS;
	move.column = s->columns[index % s->column_count];
	move.term = index / s->column_count;
	return move;
}

static double criterion(double square, size_t rows, size_t terms, size_t factors)
{
	double n = (double)rows;

	return n * log(square / n + 1e-300) + log(n) * (double)(1 + terms + FACTOR_COST * factors);
}

/* Terms by row with one move made; `matrix` is row_count x count. */
static size_t fill_matrix(const struct search *s, const struct move *move, double *matrix)
{
	size_t count = s->term_count + (move->term == s->term_count);

	for (size_t k = 0; k < s->row_count; k++) {
		double x = s->train->values[s->rows[k] * s->train->column_count + move->column];

		for (size_t t = 0; t < s->term_count; t++)
			matrix[k * count + t] = s->terms[t][k];
		if (move->term == s->term_count)
			matrix[k * count + move->term] = 1;
		matrix[k * count + move->term] *= function_of(x, move->exponent, move->logs);
	}
	return count;
}

static void try_move(void *context, size_t index)
{
	struct search *s = context;
	struct move move = move_of(s, index);
	double *matrix = malloc((s->row_count * PMNF_TERMS + 1) * sizeof(*matrix));
	double coefficients[PMNF_TERMS], constant, square = 0;
	size_t count;

	s->criteria[index] = HUGE_VAL;
	if (move.exponent == 0 && move.logs == 0)
		goto out;
	if (!matrix) {
		__atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
		goto out;
	}
	count = fill_matrix(s, &move, matrix);
	least_squares(matrix, s->target, s->row_count, count, coefficients, &constant);
	for (size_t k = 0; k < s->row_count; k++) {
		double left = s->target[k] - constant;

		for (size_t t = 0; t < count; t++)
			left -= coefficients[t] * matrix[k * count + t];
		square += left * left;
	}
	if (isfinite(square))
		s->criteria[index] = criterion(square, s->row_count, count, s->factor_count + 1);
out:
	free(matrix);
}

/* Columns of positive numbers other than zeros and ones. */
static size_t find_columns(
	const struct feature_matrix *train, const struct feature_matrix *test, size_t *columns)
{
	size_t count = 0;

	for (size_t j = 0; j < train->column_count; j++) {
		bool positive = true, varies = false;

		for (size_t k = 0; k < train->row_count; k++) {
			positive &= train->values[k * train->column_count + j] > 0;
			varies |= train->values[k * train->column_count + j] != train->values[j];
		}
		for (size_t k = 0; k < test->row_count; k++)
			positive &= test->values[k * test->column_count + j] > 0;
		if (positive && varies)
			columns[count++] = j;
	}
	return count;
}

struct found {
	struct move moves[PMNF_TERMS * 4];
	size_t count, term_count;
};

static int find_terms(struct search *s, struct found *found, size_t thread_count)
{
	double mean = 0, square = 0, best, *matrix;

	for (size_t k = 0; k < s->row_count; k++)
		mean += s->target[k] / (double)s->row_count;
	for (size_t k = 0; k < s->row_count; k++)
		square += (s->target[k] - mean) * (s->target[k] - mean);
	best = criterion(square, s->row_count, 0, 0);
	matrix = malloc((s->row_count * PMNF_TERMS + 1) * sizeof(*matrix));
	while (matrix && s->column_count && found->count < sizeof(found->moves) / sizeof(*found->moves)) {
		size_t bases = s->term_count + (s->term_count < PMNF_TERMS), least = 0, count;
		size_t moves = bases * s->column_count * EXPONENTS * LOGS;
		struct move move;

		parallel_each(moves, thread_count, try_move, s);
		if (s->failed)
			break;
		for (size_t i = 1; i < moves; i++)
			if (s->criteria[i] < s->criteria[least])
				least = i;
		if (!(s->criteria[least] < best))
			break;
		best = s->criteria[least];
		move = move_of(s, least);
		count = fill_matrix(s, &move, matrix);
		for (size_t k = 0; k < s->row_count; k++)
			s->terms[move.term][k] = matrix[k * count + move.term];
		s->term_count = count;
		s->factor_count++;
		found->moves[found->count++] = move;
	}
	found->term_count = s->term_count;
	free(matrix);
	return !matrix || s->failed ? -ENOMEM : 0;
}

static void term_values(const struct found *found, const double *row, double *terms)
{
	for (size_t t = 0; t < found->term_count; t++)
		terms[t] = 1;
	for (size_t i = 0; i < found->count; i++)
		terms[found->moves[i].term] *= function_of(
			row[found->moves[i].column], found->moves[i].exponent, found->moves[i].logs);
}

static void answer(const struct feature_matrix *features, const struct found *found,
	const double *coefficients, double constant, double *times)
{
	double terms[PMNF_TERMS];

	for (size_t k = 0; k < features->row_count; k++) {
		term_values(found, features->values + k * features->column_count, terms);
		times[k] = constant;
		for (size_t t = 0; t < found->term_count; t++)
			times[k] += coefficients[t] * terms[t];
	}
}

static int search_init(
	struct search *s, const struct feature_matrix *train, const struct feature_matrix *test, size_t *rows)
{
	s->rows = rows;
	s->row_count = train->row_count < PMNF_ROWS ? train->row_count : PMNF_ROWS;
	s->columns = calloc(train->column_count + 1, sizeof(*s->columns));
	s->target = calloc(s->row_count + 1, sizeof(*s->target));
	for (size_t t = 0; t < PMNF_TERMS; t++)
		if (!(s->terms[t] = calloc(s->row_count + 1, sizeof(double))))
			return -ENOMEM;
	if (!rows || !s->columns || !s->target)
		return -ENOMEM;
	s->column_count = find_columns(train, test, s->columns);
	s->criteria = calloc(PMNF_TERMS * (s->column_count + 1) * EXPONENTS * LOGS, sizeof(*s->criteria));
	for (size_t k = 0; k < train->row_count; k++)
		rows[k] = k;
	return s->criteria ? 0 : -ENOMEM;
}

int pmnf_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	size_t *rows = malloc((train->row_count + 1) * sizeof(*rows));
	double *matrix = NULL, coefficients[PMNF_TERMS], constant = 0;
	struct search s = {.train = train};
	struct found found = {0};
	struct random random;
	int status = search_init(&s, train, test, rows);

	if (status < 0)
		goto out;
	random_init(&random, seed, STREAM);
	random_shuffle(&random, rows, train->row_count);
	for (size_t k = 0; k < s.row_count; k++)
		s.target[k] = train->target[rows[k]];
	status = find_terms(&s, &found, thread_count);
	if (status < 0)
		goto out;
	matrix = malloc((train->row_count * found.term_count + 1) * sizeof(*matrix));
	status = -ENOMEM;
	if (!matrix)
		goto out;
	for (size_t k = 0; k < train->row_count; k++)
		term_values(&found, train->values + k * train->column_count, matrix + k * found.term_count);
	least_squares(matrix, train->target, train->row_count, found.term_count, coefficients, &constant);
	answer(train, &found, coefficients, constant, train_times);
	answer(test, &found, coefficients, constant, test_times);
	snprintf(note, note_size, "%zu term%s of %zu factor%s", found.term_count,
		found.term_count == 1 ? "" : "s", found.count, found.count == 1 ? "" : "s");
	status = 0;
out:
	for (size_t t = 0; t < PMNF_TERMS; t++)
		free(s.terms[t]);
	free(s.columns);
	free(s.target);
	free(s.criteria);
	free(matrix);
	free(rows);
	return status;
}
