/*
 * The synthetic sets give back the parameters that they were made from (true-params.json): exactly from times
 * without noise, and from those with 5% of noise within the intervals of the bootstrap, as far as the data
 * determine them.
 *
 *     test_fitdata_truth FOLDER      unless PM_FITDATA names another; exit code 77 if it is not there
 */
#include "../analyzer/check.h"
#include "data/observations.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of the lists in true-params.json. */
static const char *const intrinsic[] = {"filters", "kernel", "pool", "lr", "stride", "dropout"};
static const char *const levels[] = {"padding=same", "padding=valid", "activation=sigmoid", "activation=relu",
	"activation=tanh", "dataset=mnist", "dataset=fashion-mnist", "dataset=cifar-10", "optimizer=sgd",
	"optimizer=adam"};
static const size_t groups[] = {2, 3, 3, 2};
static const char *const extrinsic[] = {"q batch", "q gpus"};

#define INTRINSIC (sizeof(intrinsic) / sizeof(*intrinsic))
#define LEVELS (sizeof(levels) / sizeof(*levels))

static const char *folder;

static double number_at(const cJSON *truth, const char *list, size_t place)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(truth, list), (int)place)->valuedouble;
}

/* What the model ought to say under this name; NAN: nothing is known. Levels by what the data determine. */
static double truth_of(const cJSON *truth, const char *name, bool is_contrast)
{
	size_t at = 0;
	double base = 0;

	if (strcmp(name, "C") == 0)
		return cJSON_GetObjectItemCaseSensitive(truth, "C")->valuedouble;
	for (size_t i = 0; i < INTRINSIC && !is_contrast; i++)
		if (strcmp(name + 2, intrinsic[i]) == 0)
			return number_at(truth, *name == 'a' ? "a" : "p", i);
	for (size_t i = 0; i < 2 && !is_contrast; i++)
		if (strcmp(name, extrinsic[i]) == 0)
			return number_at(truth, "q", i);
	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); at += groups[g++]) {
		double mean = 0;

		for (size_t l = 0; l < groups[g]; l++)
			mean += number_at(truth, "c", at + l) / (double)groups[g];
		base += mean;
		for (size_t l = 0; l < groups[g] && is_contrast; l++)
			if (strcmp(name, levels[at + l]) == 0)
				return number_at(truth, "c", at + l) - mean;
	}
	return is_contrast && strcmp(name, "base") == 0 ? base : NAN;
}

static struct pm_fit_model *fit(const char *set, const char *time, size_t resamples)
{
	static const char *const lines[] = {"intrinsic filters kernel pool lr stride dropout",
		"categorical padding activation dataset optimizer", "extrinsic batch gpus",
		"split split train"};
	struct description description;
	struct observations observations = {0};
	struct pm_fit_parameter parameter;
	struct pm_fit_model *model = NULL;
	struct csv csv;
	char path[512];

	snprintf(path, sizeof(path), "%s/thesis-synth/%s.csv", folder, set);
	description_init(&description);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		description_line(&description, lines[i]);
	snprintf(path, sizeof(path), "time %s s", time);
	description_line(&description, path);
	snprintf(path, sizeof(path), "%s/thesis-synth/%s.csv", folder, set);
	if (csv_read(&csv, path) < 0 || observations_init(&observations, &csv, &description) < 0) {
		CHECK(0, "%s%s", csv.error, observations.error);
		exit(1);
	}
	pm_fit_defaults(&parameter);
	parameter.run_count = 4;
	parameter.bootstrap = resamples;
	if (pm_fit(&observations.train, &parameter, &model) < 0)
		exit(1);
	observations_free(&observations);
	description_free(&description);
	csv_free(&csv);
	return model;
}

/* Whether the term of the value's column is there to be found: not where its coefficient or power is free. */
static bool is_determined(const struct pm_fit_model *model, const struct pm_fit_value *value)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (model->values[i].column == value->column &&
			(model->values[i].flags & PM_FIT_UNDETERMINED))
			return false;
	return true;
}

struct tally {
	size_t count, inside;
	double worst; /* relative, or absolute below 1 */
};

static void add(struct tally *tally, const char *set, const char *name, double truth, double value,
	double low, double high)
{
	double away = fabs(value - truth) / fmax(1, fabs(truth));

	if (isnan(truth)) {
		CHECK(0, "%s: %s is in no list", set, name);
		return;
	}
	tally->count++;
	tally->inside += truth >= low && truth <= high;
	tally->worst = fmax(tally->worst, away);
	if (isnan(low))
		CHECK(away < 1e-3, "%s: %s is %g, made from %g", set, name, value, truth);
}

static struct tally compare(const char *set, const struct pm_fit_model *model, const cJSON *truth)
{
	struct tally tally = {0};
	bool all_terms = true;

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *v = &model->values[i];

		if (v->kind == PM_FIT_KIND_LEVEL)
			continue;
		if (is_determined(model, v))
			add(&tally, set, v->name, truth_of(truth, v->name, false), v->value, v->low, v->high);
		else
			all_terms = false;
	}
	/* a term that is a constant takes a share of the base */
	for (size_t i = all_terms ? 0 : 1; i < model->contrast_count; i++) {
		const struct pm_fit_contrast *c = &model->contrasts[i];

		add(&tally, set, c->name, truth_of(truth, c->name, true), c->value, c->low, c->high);
	}
	return tally;
}

static void check_set(const char *set, const cJSON *truth, size_t least)
{
	struct pm_fit_model *model = fit(set, "time_noiseless", 0);
	struct tally tally = compare(set, model, truth);

	CHECK(tally.count >= least, "%s: only %zu parameters are determined", set, tally.count);
	printf("%-18s without noise: %zu parameters, the worst is %.1e away\n", set, tally.count,
		tally.worst);
	pm_fit_free(model);
	model = fit(set, "time", 100);
	tally = compare(set, model, truth);
	printf("%-18s with 5%% of noise: %zu of %zu lie in their intervals of 95%%\n", set, tally.inside,
		tally.count);
	/* a coefficient and its power trade, so that several leave their intervals at once */
	CHECK(tally.inside * 10 >= tally.count * 8, "%s: %zu of %zu in their intervals", set, tally.inside,
		tally.count);
	pm_fit_free(model);
}

int main(int argument_count, char **arguments)
{
	char path[512], *text = NULL;
	size_t room = 0;
	cJSON *truths = NULL;
	FILE *file;

	folder = getenv("PM_FITDATA");
	if (!folder)
		folder = argument_count > 1 ? arguments[1] : "";
	snprintf(path, sizeof(path), "%s/thesis-synth/true-params.json", folder);
	if (access(path, R_OK) != 0) {
		printf("no measured data in '%s': PM_FITDATA says where they are\n", folder);
		return 77;
	}
	file = fopen(path, "r");
	if (file && getdelim(&text, &room, '\0', file) > 0)
		truths = cJSON_Parse(text);
	CHECK(truths != NULL, "%s is no JSON", path);
	if (truths) {
		check_set("mxnet", cJSON_GetObjectItem(truths, "mxnet"), 26);
		check_set("tensorflow", cJSON_GetObjectItem(truths, "tensorflow"), 26);
		check_set("pytorch-dropout05", cJSON_GetObjectItem(truths, "pytorch"), 23);
	}
	if (file)
		fclose(file);
	free(text);
	cJSON_Delete(truths);
	return check_end();
}
