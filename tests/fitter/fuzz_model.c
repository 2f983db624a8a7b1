/* Fuzz target: models (JSON) of all three kinds, read and printed or asked. */
#include "base/text_file.h"
#include "fuzz.h"
#include "pm_fit.h"
#include "step/step.h"

#include <math.h>
#include <stdlib.h>

/* A model of steps answers for a point inside and one far away, or says why not. */
static void ask_step(const cJSON *root)
{
	const struct step_row rows[] = {
		{{{16, 2, 1}, NAN, NAN}, (char *)"", 1}, {{{1e9, 1e6, 1e6}, NAN, NAN}, (char *)"", 2}};
	struct committee_answer answer;
	struct step_model model;

	if (!step_model_parse(&model, root)) {
		for (size_t i = 0; i < 2; i++)
			step_model_predict(&model, &rows[i], 0.95, &answer);
		cJSON_Delete(step_model_json(&model));
	}
	step_model_free(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	struct pm_fit_model *model;
	cJSON *root = NULL;

	if (!pm_fit_load(path, &model)) {
		free(pm_fit_print(model));
		pm_fit_free(model);
	}
	if (!text_file_json(path, &root))
		ask_step(root);
	cJSON_Delete(root);
	return 0;
}
