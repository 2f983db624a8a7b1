/* Parts of the model file that others print as well. */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include "pm_fit.h"

#include <cjson/cJSON.h>

/* The whole model; the caller deletes it. NULL without memory. */
cJSON *model_file_json(const struct pm_fit_model *model);
/* A number, or null where it is none. */
cJSON *model_file_number(double number);
/* {"samples": ..., "mae": ..., ...} */
cJSON *model_file_error(const struct pm_fit_error *error);

#endif
