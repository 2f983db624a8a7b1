/* Folds that keep configurations: repeated settings are in one fold, others are dealt out as they come. */
#include "../analyzer/check.h"
#include "base/random.h"
#include "base/strata.h"

#include <errno.h>
#include <stdlib.h>

enum { SAMPLES = 60, FOLDS = 5 };

static double size[SAMPLES], kind[SAMPLES], ignored[SAMPLES];
static const char *const kinds[] = {"a", "b", "c"};
static const struct pm_fit_column columns[] = {{"size", PM_FIT_EXTRINSIC, size, 0, NULL},
	{"kind", PM_FIT_CATEGORICAL, kind, 3, kinds}, {"note", PM_FIT_IGNORED, ignored, 0, NULL}};
static const struct pm_fit_problem problem = {SAMPLES, 3, columns, NULL, NULL};

static void test_repeated(void)
{
	size_t order[SAMPLES], fold[SAMPLES], count[FOLDS] = {0};
	struct random random;

	random_init(&random, 3, 0);
	for (size_t k = 0; k < SAMPLES; k++) {
		size[k] = 1 + (double)(k % 7);
		kind[k] = (double)(k % 3);
		ignored[k] = (double)k;
		order[k] = k;
	}
	random_shuffle(&random, order, SAMPLES);
	CHECK(strata_folds(&problem, order, FOLDS, fold) == 0, "21 configurations");
	for (size_t a = 0; a < SAMPLES; a++) {
		count[fold[a]]++;
		for (size_t b = 0; b < a; b++)
			CHECK(size[a] != size[b] || kind[a] != kind[b] || fold[a] == fold[b],
				"samples %zu and %zu are alike, in folds %zu and %zu", a, b, fold[a],
				fold[b]);
	}
	for (size_t f = 0; f < FOLDS; f++)
		CHECK(count[f] >= 8 && count[f] <= 15, "fold %zu has %zu of %d samples", f, count[f],
			SAMPLES);
	CHECK(strata_folds(&problem, order, 22, fold) == -EINVAL, "22 folds of 21 configurations");
}

static void test_different(void)
{
	size_t order[SAMPLES], fold[SAMPLES];

	for (size_t k = 0; k < SAMPLES; k++) {
		size[k] = (double)k + 1;
		order[k] = SAMPLES - 1 - k;
	}
	CHECK(strata_folds(&problem, order, FOLDS, fold) == 0, "60 configurations");
	for (size_t i = 0; i < SAMPLES; i++)
		CHECK(fold[order[i]] == i % FOLDS, "place %zu is in fold %zu", i, fold[order[i]]);
}

int main(void)
{
	test_repeated();
	test_different();
	return check_end();
}
