/* A model of steps as JSON: the numbers of its committees, by the names that the exported Python has. */
#include "export_step.h"

static cJSON *array_of(const double *numbers, size_t count)
{
	return cJSON_CreateDoubleArray(numbers, (int)count);
}

static cJSON *point_of(const struct form_point *point)
{
	return array_of((double[]){point->batch, point->gpus, point->nodes}, 3);
}

static cJSON *candidate_of(const struct candidate *candidate)
{
	size_t count = candidate_forms(candidate);
	cJSON *object = cJSON_CreateObject(), *forms = cJSON_AddArrayToObject(object, "forms");

	cJSON_AddBoolToObject(object, "linear", candidate->is_linear);
	cJSON_AddNumberToObject(object, "constant_log", candidate->level);
	for (size_t v = 0; v < count; v++) {
		cJSON *form = cJSON_CreateObject();

		cJSON_AddItemToArray(forms, form);
		cJSON_AddNumberToObject(form, "exchange", candidate->forms[v].exchange);
		cJSON_AddNumberToObject(form, "overlap", candidate->forms[v].overlap);
		cJSON_AddItemToObject(form, "terms", array_of(candidate->forms[v].terms, FORM_TERMS));
	}
	cJSON_AddNumberToObject(object, "across", candidate->shape.across);
	cJSON_AddNumberToObject(object, "local", candidate->shape.local);
	cJSON_AddNumberToObject(object, "reach", candidate->shape.reach);
	cJSON_AddItemToObject(
		object, "process", array_of(candidate->residual.weights, candidate->residual.count));
	return object;
}

static cJSON *committee_of(const struct step_level *level)
{
	const struct committee *c = &level->committee;
	cJSON *object = cJSON_CreateObject(), *array;
	double weights[EXPORT_MASKS][COMMITTEE_CANDIDATES];

	cJSON_AddStringToObject(object, "level", level->name);
	cJSON_AddItemToObject(object, "least", point_of(&c->least));
	cJSON_AddItemToObject(object, "greatest", point_of(&c->greatest));
	array = cJSON_AddArrayToObject(object, "candidates");
	for (size_t i = 0; i < c->candidate_count; i++)
		cJSON_AddItemToArray(array, candidate_of(&c->candidates[i]));
	array = cJSON_AddArrayToObject(object, "points");
	for (size_t k = 0; k < c->candidates[0].residual.count; k++)
		cJSON_AddItemToArray(array, point_of(&c->candidates[0].residual.points[k]));
	array = cJSON_AddArrayToObject(object, "weights");
	export_step_weights(c, weights);
	for (size_t mask = 0; mask < EXPORT_MASKS; mask++)
		cJSON_AddItemToArray(array, array_of(weights[mask], c->candidate_count));
	return object;
}

void export_step_json(const struct export *export, cJSON *root)
{
	const struct step_model *step = export->step;
	cJSON *levels = cJSON_AddArrayToObject(root, "levels");

	cJSON_AddStringToObject(root, "batch", step->columns.batch == STEP_BATCH_GLOBAL ? "global" : "local");
	cJSON_AddNumberToObject(root, "linear_reach", COMMITTEE_LINEAR_REACH);
	for (size_t i = 0; i < step->level_count; i++)
		if (!step->levels[i].why)
			cJSON_AddItemToArray(levels, committee_of(&step->levels[i]));
}
