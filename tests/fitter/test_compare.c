/*
 * What compares fits: Student's t against the tables, differences of resamples whose distribution is known in
 * closed form, and two made sets of which one power is not the same.
 */
#include "../analyzer/check.h"
#include "base/student.h"
#include "compare/differences.h"
#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 400
#define RESAMPLES 100

static void check_student(void)
{
	/* Abramowitz and Stegun, table 26.10, and the normal distribution's at the end */
	static const struct {
		double confidence;
		double degrees;
		double t;
	} table[] = {{0.95, 1, 12.706}, {0.95, 2, 4.303}, {0.95, 3, 3.182}, {0.95, 9, 2.262},
		{0.95, 10, 2.228}, {0.99, 4, 4.604}, {0.99, 30, 2.750}, {0.9, 120, 1.658}, {0.5, 5, 0.727},
		{0.95, 200000, 1.960}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		CHECK(fabs(student_quantile(table[i].confidence, table[i].degrees) - table[i].t) < 6e-4,
			"%g, %g degrees: %g, not %g", table[i].confidence, table[i].degrees,
			student_quantile(table[i].confidence, table[i].degrees), table[i].t);
	/* of 1, 2, 6: mean 3, deviation sqrt(7) */
	CHECK(fabs(student_margin(0.95, sqrt(7), 3) - 4.3027 * sqrt(7.0 / 3)) < 1e-3, "%g",
		student_margin(0.95, sqrt(7), 3));
	CHECK(isnan(student_margin(0.95, 1, 1)), "an interval from one number");
}

static struct pm_fit_model *fit(const struct synthetic *made, size_t resamples)
{
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model = NULL;

	pm_fit_defaults(&parameter);
	parameter.run_count = 1;
	parameter.bootstrap = resamples;
	CHECK(pm_fit(&made->problem, &parameter, &model) == 0, "no fit");
	if (!model)
		exit(1);
	return model;
}

static const struct difference *find(const struct difference *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static size_t place_of(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (strcmp(model->values[i].name, name) == 0)
			return i;
	abort();
}

/* Values spread evenly over 0 .. 1 in one and 10 .. 11 in the other: the difference is triangular over 9 ..
 * 11, and sqrt(2 * 0.025) from its ends are those of the interval. */
static void check_pairs(struct pm_fit_model *first, struct pm_fit_model *second)
{
	size_t place = place_of(first, "q gpus"), count;
	double *kept = malloc(2 * RESAMPLES * sizeof(*kept));
	const struct difference *row;
	struct difference *rows;

	for (size_t r = 0; r < RESAMPLES; r++) {
		double *one = first->resamples + r * first->value_count + place,
		       *other = second->resamples + r * second->value_count + place;

		kept[r] = *one;
		kept[RESAMPLES + r] = *other;
		*one = ((double)r + 0.5) / RESAMPLES;
		*other = 10 + ((double)r + 0.5) / RESAMPLES;
	}
	CHECK(differences_find(first, second, 0.95, &rows, &count) == 0, "differ");
	row = find(rows, count, "q gpus");
	CHECK(row && fabs(row->low - 9 - sqrt(0.05)) < 0.01 && fabs(row->high - 11 + sqrt(0.05)) < 0.01,
		"%g %g", row ? row->low : NAN, row ? row->high : NAN);
	CHECK(row && row->is_clear, "10 is not clear of 0");
	free(rows);
	for (size_t r = 0; r < RESAMPLES; r++) {
		first->resamples[r * first->value_count + place] = kept[r];
		second->resamples[r * second->value_count + place] = kept[RESAMPLES + r];
	}
	free(kept);
}

static void check_sets(void)
{
	struct synthetic one, other;
	struct pm_fit_model *first, *second, *few;
	const struct difference *row;
	struct difference *rows;
	double *time;
	size_t count;

	synthetic_init(&one, SAMPLES, 0.03, 0, 1);
	synthetic_init(&other, SAMPLES, 0.03, 0, 2);
	/* the other's power of gpus is -0.7, not -0.95; its noise is left as it is */
	time = malloc(SAMPLES * sizeof(*time));
	for (size_t k = 0; k < SAMPLES; k++)
		time[k] = ((other.truth[k] - 0.6) * pow(other.columns[5].values[k], 0.25) + 0.6) *
			  other.problem.time[k] / other.truth[k];
	other.problem.time = time;
	first = fit(&one, RESAMPLES);
	second = fit(&other, RESAMPLES);
	CHECK(differences_find(first, second, 0.95, &rows, &count) == 0 && count > 10, "%zu rows", count);
	row = find(rows, count, "q gpus");
	CHECK(row && row->is_clear && row->low < 0.25 && row->high > 0.25 && row->high - row->low < 0.2,
		"gpus: %g %g", row ? row->low : NAN, row ? row->high : NAN);
	free(rows);
	CHECK(differences_find(second, first, 0.95, &rows, &count) == 0, "the other way round");
	row = find(rows, count, "q gpus");
	CHECK(row && row->is_clear && row->high < 0, "gpus: %g %g", row ? row->low : NAN,
		row ? row->high : NAN);
	row = find(rows, count, "q batch");
	CHECK(row && !row->is_clear && row->low < 0 && row->high > 0, "batch: %g %g", row ? row->low : NAN,
		row ? row->high : NAN);
	/* 4 - 5.5/3, of kind, in both */
	row = find(rows, count, "kind=odd");
	CHECK(row && row->is_contrast && fabs(row->first - (4 - 5.5 / 3)) < 1 && !row->is_clear,
		"kind=odd: %g", row ? row->first : NAN);
	CHECK(!find(rows, count, "mode"), "no such value");
	free(rows);
	check_pairs(first, second);

	first->values[place_of(first, "q batch")].flags |= PM_FIT_UNDETERMINED;
	CHECK(differences_find(first, second, 0.95, &rows, &count) == 0 && !find(rows, count, "q batch"),
		"what is not determined is compared");
	free(rows);
	/* in other units powers are what is left */
	free(second->time_unit);
	second->time_unit = strdup("s");
	CHECK(!differences_same_unit(first, second), "ms is s");
	CHECK(differences_find(first, second, 0.95, &rows, &count) == 0 && count > 0, "other units");
	for (size_t i = 0; i < count; i++)
		CHECK(rows[i].kind == PM_FIT_KIND_POWER || rows[i].kind == PM_FIT_KIND_EXTRINSIC,
			"%s has a unit", rows[i].name);
	free(rows);
	few = fit(&one, 5);
	CHECK(differences_find(few, second, 0.95, &rows, &count) == 0 && count == 0 && !rows, "5 resamples");
	pm_fit_free(few);
	pm_fit_free(first);
	pm_fit_free(second);
	synthetic_free(&one);
	synthetic_free(&other);
	free(time);
}

int main(void)
{
	check_student();
	check_sets();
	return check_end();
}
