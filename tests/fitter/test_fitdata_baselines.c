/*
 * Baselines beside those of scikit-learn on the same rows: SVR and RandomForestRegressor of 1.2 and
 * GradientBoostingRegressor of 1.9 at their defaults, one column for each level, numbers as they are (the
 * forest: mean of ten seeds).
 *
 *     test_fitdata_baselines FOLDER      unless PM_FITDATA names another; exit code 77 if it is not there
 */
#include "../analyzer/check.h"
#include "baselines/baselines.h"
#include "data/observations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct figures {
	double mape, rmse, r2;
};

static const struct set {
	const char *file;
	struct figures forest, plain, boost;
} sets[] = {
	{"mxnet", {4.74, 0.414, 0.973}, {13.1, 1.848, 0.468}, {4.2305, 0.36453, 0.9793}},
	{"tensorflow", {5.83, 2.038, 0.952}, {12.2, 6.298, 0.541}, {5.1163, 1.56777, 0.97155}},
	{"pytorch-dropout05", {4.85, 3.544, 0.994}, {42.6, 34.98, 0.395}, {5.8394, 3.26787, 0.99472}},
};

static void compare(
	const struct set *set, const struct baseline *result, const struct figures *figures, double within)
{
	struct figures mean = {0};

	for (size_t i = 0; i < result->seed_count; i++) {
		mean.mape += result->test[i].mape / (double)result->seed_count;
		mean.rmse += result->test[i].rmse / (double)result->seed_count;
		mean.r2 += result->test[i].r2 / (double)result->seed_count;
	}
	printf("%-18s %-10s MAPE %6.2f%% (%g) RMSE %7.4f (%g) R2 %.4f (%g)\n", set->file, result->name,
		mean.mape, figures->mape, mean.rmse, figures->rmse, mean.r2, figures->r2);
	CHECK(fabs(mean.mape / figures->mape - 1) < within, "%s, %s: MAPE", set->file, result->name);
	CHECK(fabs(mean.rmse / figures->rmse - 1) < within, "%s, %s: RMSE", set->file, result->name);
	CHECK(fabs(mean.r2 - figures->r2) < within / 5, "%s, %s: R2", set->file, result->name);
}

static void check_set(const char *folder, const struct set *set)
{
	static const char *const lines[] = {"time time s", "intrinsic filters kernel pool lr stride dropout",
		"categorical padding activation dataset optimizer", "extrinsic batch gpus",
		"split split train"};
	struct description description;
	struct observations observations = {0};
	struct pm_fit_parameter parameter;
	struct baselines baselines;
	struct csv csv;
	bool wanted[32] = {false};
	char path[512];

	snprintf(path, sizeof(path), "%s/thesis-synth/%s.csv", folder, set->file);
	description_init(&description);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		description_line(&description, lines[i]);
	if (csv_read(&csv, path) < 0 || observations_init(&observations, &csv, &description) < 0) {
		CHECK(0, "%s%s", csv.error, observations.error);
		return;
	}
	for (size_t i = 0; baselines_names[i]; i++)
		wanted[i] = strcmp(baselines_names[i], "forest") == 0 ||
			    strcmp(baselines_names[i], "svr-plain") == 0 ||
			    strcmp(baselines_names[i], "boost-plain") == 0;
	pm_fit_defaults(&parameter);
	CHECK(baselines_run(&baselines, &observations.train, &observations.test, &parameter, wanted, NULL) ==
				0 &&
			baselines.count == 3,
		"%s: it does not run", set->file);
	/* the same library does the one; the other draws its samples differently */
	compare(set, &baselines.results[0], &set->plain, 0.005);
	compare(set, &baselines.results[1], &set->forest, 0.03);
	/* the same trees, but for the order of sums */
	compare(set, &baselines.results[2], &set->boost, 0.001);
	baselines_free(&baselines);
	observations_free(&observations);
	description_free(&description);
	csv_free(&csv);
}

int main(int argument_count, char **arguments)
{
	const char *folder = getenv("PM_FITDATA");

	if (!folder)
		folder = argument_count > 1 ? arguments[1] : "";
	if (access(folder, R_OK) != 0) {
		printf("no measured data in '%s': PM_FITDATA says where they are\n", folder);
		return 77;
	}
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		check_set(folder, &sets[i]);
	return check_end();
}
