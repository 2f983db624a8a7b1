/*
 * pmfit step on measured data: errors and coverage beyond the data and inside, and whether the configuration
 * that it recommends is nearly the best that was measured. Data: Pollux's measurements, as test_fitdata has
 * them.
 *
 *     test_fitdata_step FOLDER      unless PM_FITDATA names another; exit code 77 if it is not there
 */
#include "base/random.h"
#include "step/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 4000

static int failures;

static const struct set {
	const char *name;
	double few;                 /* the batches to train on where larger are asked for */
	double gpus, batch, inside; /* MAPE at most, as a share */
} sets[] = {
	{"imagenet", 66, 0.10, 0.095, 0.055},
	{"ncf", 300, 0.14, 0.09, 0.074},
	{"bert", 8, 0.13, 0.065, 0.037},
	{"cifar10", 341, 0.15, 0.135, 0.06},
};

static size_t read(const char *folder, const char *set, const char *file, struct committee_row *rows)
{
	struct step_columns columns = {.batch = STEP_BATCH_LOCAL};
	struct step_table table;
	struct arena arena = {0};
	struct csv csv;
	char path[1024];
	const char *bad;
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/pollux/%s/%s", folder, set, file);
	if (csv_read(&csv, path) < 0)
		return 0;
	bad = step_columns_find(&columns, &csv, true, &arena);
	if (bad || step_table_read(&table, &csv, &columns, true, false) < 0) {
		printf("%s\n", bad ? bad : table.error);
		exit(1);
	}
	for (; count < table.count; count++) {
		rows[count] = table.rows[count].row;
		rows[count].compute = NAN;
	}
	step_table_free(&table);
	csv_free(&csv);
	arena_free(&arena);
	return count;
}

/* Trains on what `is_known` says; the error and coverage of the rest. */
static void check(const struct set *set, const char *split, const struct committee_row *rows, size_t count,
	const bool *is_known, double most)
{
	static struct committee_row known[MOST_ROWS];
	size_t known_count = 0, asked = 0;
	struct committee committee;
	struct committee_answer answer;
	double error = 0, covered = 0;

	for (size_t k = 0; k < count; k++)
		if (is_known[k])
			known[known_count++] = rows[k];
	if (committee_fit(&committee, known, known_count)) {
		failures++;
		return;
	}
	for (size_t k = 0; k < count; k++)
		if (!is_known[k]) {
			committee_predict(&committee, &rows[k].point, 0.95, &answer);
			error += fabs(answer.time / rows[k].time - 1);
			covered += rows[k].time >= answer.low && rows[k].time <= answer.high;
			asked++;
		}
	error /= (double)asked;
	covered /= (double)asked;
	printf("%-9s %-6s %5zu rows: MAPE %.1f%%, at most %.1f%%; %.1f%% in the 95%% intervals\n", set->name,
		split, asked, 100 * error, 100 * most, 100 * covered);
	failures += !(error <= most) + !(covered >= 0.92);
	committee_free(&committee);
}

/* Throughput of a configuration as measured: the mean over its rows' times. */
static double rate_of(const struct committee_row *rows, size_t count, const struct form_point *point)
{
	double sum = 0, found = 0;

	for (size_t k = 0; k < count; k++)
		if (memcmp(&rows[k].point, point, sizeof(*point)) == 0) {
			sum += rows[k].time;
			found++;
		}
	return point->batch * point->gpus / (sum / found);
}

/* With at most so many GPUs, nodes and samples on each: the measured place that the model of all rows takes,
 * against the best one, which is the luckiest of noisy medians. */
static void check_choice(const struct committee_row *rows, size_t count, size_t *good, size_t *asked)
{
	static double predicted[MOST_ROWS], measured[MOST_ROWS];
	struct committee committee;
	struct committee_answer answer;

	if (committee_fit(&committee, rows, count)) {
		failures++;
		return;
	}
	for (size_t k = 0; k < count; k++) {
		committee_predict(&committee, &rows[k].point, 0.95, &answer);
		predicted[k] = rows[k].point.batch * rows[k].point.gpus / answer.time;
		measured[k] = rate_of(rows, count, &rows[k].point);
	}
	for (double gpus = 2; gpus <= 64; gpus *= 2)
		for (double nodes = 1; nodes <= 16; nodes *= 2)
			for (size_t b = 0; b < count; b += 7) {
				double best = 0, taken = 0, said = 0;

				for (size_t k = 0; k < count; k++) {
					const struct form_point *p = &rows[k].point;

					if (p->gpus > gpus || p->nodes > nodes ||
						p->batch > rows[b].point.batch)
						continue;
					best = fmax(best, measured[k]);
					if (predicted[k] > said) {
						said = predicted[k];
						taken = measured[k];
					}
				}
				*good += taken >= 0.95 * best;
				*asked += 1;
			}
	committee_free(&committee);
}

int main(int argument_count, char **arguments)
{
	static struct committee_row rows[MOST_ROWS];
	static bool is_known[MOST_ROWS];
	const char *folder = getenv("PM_FITDATA") ? getenv("PM_FITDATA")
			     : argument_count > 1 ? arguments[1]
						  : "";
	size_t measured = 0, good = 0, asked = 0;

	for (size_t s = 0; s < sizeof(sets) / sizeof(*sets); s++) {
		const struct set *set = &sets[s];
		size_t count = read(folder, set->name, "placements.csv", rows);
		struct random random;

		count += count ? read(folder, set->name, "scalability.csv", rows + count) : 0;
		if (!count)
			continue;
		measured++;
		for (size_t k = 0; k < count; k++)
			is_known[k] = rows[k].point.gpus <= 4;
		check(set, "gpus", rows, count, is_known, set->gpus);
		for (size_t k = 0; k < count; k++)
			is_known[k] = rows[k].point.batch <= set->few;
		check(set, "batch", rows, count, is_known, set->batch);
		random_init(&random, 1, 0);
		for (size_t k = 0; k < count; k++)
			is_known[k] = random_unit(&random) < 0.667;
		check(set, "inside", rows, count, is_known, set->inside);
		check_choice(rows, count, &good, &asked);
	}
	if (!measured) {
		printf("no measured data in '%s': PM_FITDATA says where they are\n", folder);
		return 77;
	}
	printf("recommended: at least 0.95 of the best measured throughput in %zu of %zu questions\n", good,
		asked);
	failures += (double)good < 0.95 * (double)asked;
	printf("%d failures\n", failures);
	return failures > 0;
}
