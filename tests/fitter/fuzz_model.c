/* Fuzz target: models (JSON) of both kinds, read and printed again. */
#include "fuzz.h"
#include "pm_fit.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_fit_model *model;

	if (!pm_fit_load(fuzz_file(data, size), &model)) {
		free(pm_fit_print(model));
		pm_fit_free(model);
	}
	return 0;
}
