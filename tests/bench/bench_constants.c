/*
 * The constants that calibrate a committee's intervals, each at a quarter to four times its value: the mean
 * interval score (Gneiting and Raftery 2007: width plus what is missed by, times 40 for 95%, of log T) over
 * pairs of a table and a question, relative to the value that stands in the code, and how many pairs are held
 * at 90%. Then which value would be chosen with each table left out, and with each source of tables left out,
 * and how the left-out tables are held by the constants that the others choose.
 *
 *     bench_constants SPLITS          called by constants.sh, which writes the splits
 *
 * SPLITS has a line "= source table question" for each split, then a line "fit|ask gpus nodes batch time" a
 * row.
 */
#include "base/memory.h"
#include "base/parallel.h"
#include "step/committee_private.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPLITS = 2000, CONSTANTS = 8, FACTORS = 5, UNCHANGED = 2, NAME = 64 };

#define PENALTY 40.0 /* 2 / 5% */
#define HELD 0.9
#define UNBOUNDED 50.0 /* an end so far away, in logarithms, says nothing, and is no number at times */

static const double factors[FACTORS] = {0.25, 0.5, 1, 2, 4};

static const struct {
	const char *name;
	size_t offset;
} constants[CONSTANTS] = {
	{"doubt, batch", offsetof(struct committee_constants, doubt[COMMITTEE_BATCH])},
	{"doubt, gpus", offsetof(struct committee_constants, doubt[COMMITTEE_GPUS])},
	{"doubt, nodes", offsetof(struct committee_constants, doubt[COMMITTEE_NODES])},
	{"chance", offsetof(struct committee_constants, chance)},
	{"near", offsetof(struct committee_constants, near)},
	{"prior_rows", offsetof(struct committee_constants, prior_rows)},
	{"untried", offsetof(struct committee_constants, untried)},
	{"most", offsetof(struct committee_constants, most)},
};

/* What some constants make of a split's rows. */
struct outcome {
	double score;      /* sum */
	size_t rows, held; /* validated or not */
};

struct split {
	char source[NAME], table[NAME], question[NAME];
	struct committee_row *fit, *ask;
	size_t fit_count, ask_count, fit_room, ask_room;
	struct committee committee;
	struct examination examination;
	struct committee_votes *votes;
	size_t *place;
	bool is_fitted;
	struct outcome outcomes[CONSTANTS][FACTORS], chosen;
};

static struct split *splits;
static size_t split_count;

static struct committee_constants changed(const size_t choice[CONSTANTS])
{
	struct committee_constants all = committee_constants;

	for (size_t c = 0; c < CONSTANTS; c++)
		*(double *)(void *)((char *)&all + constants[c].offset) *= factors[choice[c]];
	return all;
}

static double interval_score(const struct committee_answer *answer, double time)
{
	double at = log(time), low = fmax(log(answer->low), at - UNBOUNDED),
	       high = fmin(log(answer->high), at + UNBOUNDED);

	return high - low + PENALTY * (fmax(low - at, 0) + fmax(at - high, 0));
}

static struct outcome measure(struct split *s, const struct committee_constants *by)
{
	struct outcome outcome = {0};

	s->committee.constants = by;
	committee_calibrate(&s->committee, &s->examination, s->fit, s->place, s->fit_count);
	for (size_t k = 0; k < s->ask_count; k++) {
		struct committee_answer answer;

		committee_judge(&s->committee, &s->ask[k].point, &s->votes[k], COMMITTEE_COVERED, &answer);
		if (answer.why)
			continue;
		outcome.rows++;
		outcome.score += interval_score(&answer, s->ask[k].time);
		outcome.held += s->ask[k].time >= answer.low && s->ask[k].time <= answer.high;
	}
	return outcome;
}

static void measure_split(void *context, size_t index)
{
	struct split *s = &splits[index];

	(void)context;
	s->is_fitted =
		!committee_fit_examined(&s->committee, s->fit, s->fit_count, &s->place, &s->examination);
	if (!s->is_fitted)
		return;
	s->votes = mem_alloc(s->ask_count + 1, sizeof(*s->votes));
	for (size_t k = 0; k < s->ask_count; k++)
		committee_vote(&s->committee, &s->ask[k].point, &s->votes[k]);
	for (size_t c = 0; c < CONSTANTS; c++)
		for (size_t f = 0; f < FACTORS; f++) {
			size_t choice[CONSTANTS];
			struct committee_constants by;

			for (size_t i = 0; i < CONSTANTS; i++)
				choice[i] = i == c ? f : UNCHANGED;
			by = changed(choice);
			s->outcomes[c][f] = c && f == UNCHANGED ? s->outcomes[0][UNCHANGED] : measure(s, &by);
		}
}

static bool is_same_pair(const struct split *a, const struct split *b)
{
	return strcmp(a->table, b->table) == 0 && strcmp(a->question, b->question) == 0;
}

/* Splits of one pair follow each other. */
static size_t pair_end(size_t first)
{
	size_t end = first + 1;

	while (end < split_count && is_same_pair(&splits[first], &splits[end]))
		end++;
	return end;
}

static struct outcome sum(size_t first, size_t end, size_t c, size_t f)
{
	struct outcome all = {0};

	for (size_t k = first; k < end; k++) {
		const struct outcome *one = c < CONSTANTS ? &splits[k].outcomes[c][f] : &splits[k].chosen;

		all.score += one->score;
		all.rows += one->rows;
		all.held += one->held;
	}
	return all;
}

static bool is_held(const struct outcome *o)
{
	return (double)o->held >= HELD * (double)o->rows;
}

enum left { LEFT_NONE, LEFT_TABLE, LEFT_SOURCE };

static bool is_left(const struct split *s, enum left by, const struct split *like)
{
	return by == LEFT_TABLE    ? strcmp(s->table, like->table) == 0
	       : by == LEFT_SOURCE ? strcmp(s->source, like->source) == 0
				   : false;
}

/* Mean over pairs of the logarithm of the score over the score unchanged; those like `like` are left out. */
static double mean_score(size_t c, size_t f, enum left by, const struct split *like)
{
	double total = 0, pairs = 0;

	for (size_t first = 0, end; first < split_count; first = end) {
		struct outcome now, before;

		end = pair_end(first);
		now = sum(first, end, c, f);
		before = sum(first, end, c, UNCHANGED);
		if (!now.rows || is_left(&splits[first], by, like))
			continue;
		total += log(now.score / before.score);
		pairs++;
	}
	return pairs > 0 ? total / pairs : 0;
}

static size_t choose(size_t c, enum left by, const struct split *like)
{
	double least = HUGE_VAL;
	size_t best = UNCHANGED;

	for (size_t f = 0; f < FACTORS; f++) {
		double score = mean_score(c, f, by, like);

		if (score < least - 1e-12) {
			least = score;
			best = f;
		}
	}
	return best;
}

static size_t held_pairs(size_t c, size_t f, size_t *pairs)
{
	size_t held = 0;

	*pairs = 0;
	for (size_t first = 0, end; first < split_count; first = end) {
		struct outcome o;

		end = pair_end(first);
		o = sum(first, end, c, f);
		*pairs += o.rows > 0;
		held += o.rows > 0 && is_held(&o);
	}
	return held;
}

/* The factors that are chosen with one after the other left out: least and greatest. */
static void choose_without(size_t c, enum left by, double *least, double *greatest)
{
	*least = HUGE_VAL;
	*greatest = 0;
	for (size_t k = 0; k < split_count; k++) {
		double factor;

		if (k && is_left(&splits[k], by, &splits[k - 1]))
			continue;
		factor = factors[choose(c, by, &splits[k])];
		*least = fmin(*least, factor);
		*greatest = fmax(*greatest, factor);
	}
}

static void print_constant(size_t c)
{
	double value =
		*(const double *)(const void *)((const char *)&committee_constants + constants[c].offset);
	double table[2], source[2];
	size_t pairs;

	printf("%-14s%7.3g", constants[c].name, value);
	for (size_t f = 0; f < FACTORS; f++)
		printf("%+9.2f%% %3zu", 100 * expm1(mean_score(c, f, LEFT_NONE, NULL)),
			held_pairs(c, f, &pairs));
	choose_without(c, LEFT_TABLE, &table[0], &table[1]);
	choose_without(c, LEFT_SOURCE, &source[0], &source[1]);
	printf("%8g  %4g to %-4g  %4g to %-4g\n", factors[choose(c, LEFT_NONE, NULL)], table[0], table[1],
		source[0], source[1]);
}

/* By the constants that all other tables, or sources, choose. */
static void measure_left_out(void *context, size_t index)
{
	struct split *s = &splits[index];
	size_t choice[CONSTANTS];
	struct committee_constants by;

	for (size_t c = 0; c < CONSTANTS; c++)
		choice[c] = choose(c, *(enum left *)context, s);
	by = changed(choice);
	if (s->is_fitted)
		s->chosen = measure(s, &by);
}

static void print_left_out(enum left by, const char *what)
{
	size_t pairs, held;

	parallel_each(split_count, 0, measure_left_out, &by);
	held = held_pairs(CONSTANTS, 0, &pairs);
	printf("Constants as chosen without the %s that is asked for: %zu of %zu pairs held at 90%%; not:",
		what, held, pairs);
	for (size_t first = 0, end; first < split_count; first = end) {
		struct outcome o;

		end = pair_end(first);
		o = sum(first, end, CONSTANTS, 0);
		if (o.rows && !is_held(&o))
			printf(" %s %s (%zu of %zu),", splits[first].table, splits[first].question, o.held,
				o.rows);
	}
	printf("\n");
}

static void read_row(struct split *s, const char *line, const char *path, size_t number)
{
	struct committee_row row = {.compute = NAN};
	char kind[4];

	if (sscanf(line, "%3s %lf %lf %lf %lf", kind, &row.point.gpus, &row.point.nodes, &row.point.batch,
		    &row.time) != 5)
		errx(1, "%s: line %zu: expected fit or ask, and four numbers", path, number);
	if (strcmp(kind, "fit") == 0)
		*MEM_PUSH(s->fit, s->fit_count, s->fit_room) = row;
	else
		*MEM_PUSH(s->ask, s->ask_count, s->ask_room) = row;
}

static void read_splits(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];

	if (!file)
		err(1, "%s", path);
	splits = mem_alloc(MOST_SPLITS, sizeof(*splits));
	for (size_t number = 1; fgets(line, sizeof(line), file); number++) {
		if (*line != '=') {
			if (!split_count)
				errx(1, "%s: line %zu: a row of no split", path, number);
			read_row(&splits[split_count - 1], line, path, number);
			continue;
		}
		if (split_count == MOST_SPLITS)
			errx(1, "%s: more than %d splits", path, MOST_SPLITS);
		if (sscanf(line, "= %63s %63s %63s", splits[split_count].source, splits[split_count].table,
			    splits[split_count].question) != 3)
			errx(1, "%s: line %zu: expected source, table, question", path, number);
		split_count++;
	}
	fclose(file);
}

static void free_splits(void)
{
	for (size_t k = 0; k < split_count; k++) {
		committee_free(&splits[k].committee);
		committee_examination_free(&splits[k].examination);
		free(splits[k].place);
		free(splits[k].votes);
		free(splits[k].fit);
		free(splits[k].ask);
	}
	free(splits);
}

int main(int argument_count, char **arguments)
{
	size_t pairs, held;

	if (argument_count != 2)
		errx(2, "usage: bench_constants SPLITS");
	read_splits(arguments[1]);
	parallel_each(split_count, 0, measure_split, NULL);
	held = held_pairs(0, UNCHANGED, &pairs);
	printf("%zu of %zu pairs held at 90%%. Interval score relative to the constant as it is, and pairs held, by factor:\n",
		held, pairs);
	printf("%-14s%7s", "constant", "value");
	for (size_t f = 0; f < FACTORS; f++)
		printf("%9g     ", factors[f]);
	printf("%8s  %s  %s\n", "best", "without a table", "without a source");
	for (size_t c = 0; c < CONSTANTS; c++)
		print_constant(c);
	print_left_out(LEFT_TABLE, "table");
	print_left_out(LEFT_SOURCE, "source");
	free_splits();
	return 0;
}
