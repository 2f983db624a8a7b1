/*
 * The file of a model of steps: see step.h. It holds what was measured (medians by configuration), the
 * candidates' terms, weights and shapes, from which the residuals follow.
 */
#include "committee_private.h"
#include "step.h"

#include <math.h>
#include <string.h>

#define MOST_CONFIGURATIONS 1000000 /* that a file may have */

static const char *const regions[COMMITTEE_REGIONS] = {"inside", "batch", "gpus", "nodes"};
static const char *const batches[] = {
	[STEP_BATCH_UNKNOWN] = "unknown", [STEP_BATCH_LOCAL] = "local", [STEP_BATCH_GLOBAL] = "global"};

static cJSON *number(double value)
{
	return isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}

static cJSON *numbers(const double *values, size_t count)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(array, number(values[i]));
	return array;
}

static cJSON *by_region(const double *values)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t r = 0; r < COMMITTEE_REGIONS; r++)
		cJSON_AddItemToObject(object, regions[r], number(values[r]));
	return object;
}

static cJSON *candidate_json(const struct candidate *candidate)
{
	cJSON *object = cJSON_CreateObject(), *forms;
	const double shape[3] = {candidate->shape.across, candidate->shape.local, candidate->shape.reach};

	cJSON_AddBoolToObject(object, "constant", candidate->is_constant);
	cJSON_AddBoolToObject(object, "parts", candidate->is_parted);
	cJSON_AddBoolToObject(object, "linear", candidate->is_linear);
	cJSON_AddBoolToObject(object, "short", candidate->is_short);
	cJSON_AddNumberToObject(object, "overlap", candidate->overlap);
	cJSON_AddItemToObject(object, "level", number(candidate->level));
	forms = cJSON_AddArrayToObject(object, "forms");
	for (size_t v = 0; v < candidate_forms(candidate); v++)
		cJSON_AddItemToArray(forms, numbers(candidate->forms[v].terms, FORM_TERMS));
	cJSON_AddItemToObject(object, "residual", numbers(shape, 3));
	cJSON_AddItemToObject(object, "error", by_region(candidate->error));
	return object;
}

/* For people: the terms that are shown, with what each multiplies. */
static cJSON *shown_json(const struct committee *c)
{
	const struct form *form = &c->candidates[c->best].forms[c->best_form];
	cJSON *object = cJSON_CreateObject(), *terms;

	cJSON_AddNumberToObject(object, "candidate", (double)c->best);
	cJSON_AddNumberToObject(object, "form", (double)c->best_form);
	cJSON_AddNumberToObject(object, "overlap", form->overlap);
	terms = cJSON_AddArrayToObject(object, "coefficients");
	for (size_t j = 0; j < FORM_TERMS; j++) {
		cJSON *term = cJSON_CreateObject();

		cJSON_AddStringToObject(term, "name", form_term_name(j));
		cJSON_AddStringToObject(term, "times", form_term_factor(form->exchange, j));
		cJSON_AddNumberToObject(term, "value", form->terms[j]);
		cJSON_AddNumberToObject(term, "low", c->low.terms[j]);
		cJSON_AddNumberToObject(term, "high", c->high.terms[j]);
		cJSON_AddItemToArray(terms, term);
	}
	return object;
}

/* Of each region pairs of doublings and error. */
static cJSON *tries_json(const struct committee *c)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t r = 0; r < COMMITTEE_REGIONS; r++) {
		cJSON *array = cJSON_AddArrayToObject(object, regions[r]);

		for (size_t i = 0; i < c->tries[r].count; i++)
			cJSON_AddItemToArray(array,
				numbers((double[]){c->tries[r].tries[i].reach, c->tries[r].tries[i].error},
					2));
	}
	return object;
}

static cJSON *level_json(const struct step_level *level)
{
	const struct committee *c = &level->committee;
	cJSON *object = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(object, "name", level->name);
	cJSON_AddNumberToObject(object, "rows", (double)level->row_count);
	if (level->why) {
		cJSON_AddStringToObject(object, "why", level->why);
		return object;
	}
	cJSON_AddItemToObject(object, "shown", shown_json(c));
	cJSON_AddItemToObject(object, "widen", by_region(c->widen));
	cJSON_AddItemToObject(object, "tries", tries_json(c));
	cJSON_AddNumberToObject(object, "common", c->common);
	array = cJSON_AddArrayToObject(object, "candidates");
	for (size_t i = 0; i < c->candidate_count; i++)
		cJSON_AddItemToArray(array, candidate_json(&c->candidates[i]));
	array = cJSON_AddArrayToObject(object, "configurations");
	for (size_t k = 0; k < c->count; k++) {
		const double row[] = {c->points[k].batch, c->points[k].gpus, c->points[k].nodes, c->times[k],
			c->compute[k], c->rows[k], c->deviation[k], c->noise[k]};

		cJSON_AddItemToArray(array, numbers(row, 8));
	}
	return object;
}

cJSON *step_model_json(const struct step_model *model)
{
	cJSON *root = cJSON_CreateObject(), *object;

	cJSON_AddStringToObject(root, "format", STEP_FORMAT);
	cJSON_AddNumberToObject(root, "version", STEP_VERSION);
	if (model->columns.unit)
		cJSON_AddStringToObject(root, "time_unit", model->columns.unit);
	object = cJSON_AddObjectToObject(root, "columns");
	for (size_t c = 0; c < STEP_COLUMNS; c++)
		if (model->columns.names[c])
			cJSON_AddStringToObject(object, step_column_keys[c], model->columns.names[c]);
	cJSON_AddStringToObject(root, "batch_is", batches[model->columns.batch]);
	cJSON_AddBoolToObject(root, "placement_by_digit", model->columns.by_digit);
	object = cJSON_AddArrayToObject(root, "levels");
	for (size_t i = 0; i < model->level_count; i++)
		cJSON_AddItemToArray(object, level_json(&model->levels[i]));
	return root;
}

static const cJSON *item_of(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number_in(const cJSON *object, const char *key)
{
	const cJSON *item = item_of(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* As many numbers; what is null is NAN. False: fewer or more, or an infinite one. */
static bool read_numbers(const cJSON *array, double *values, size_t count)
{
	const cJSON *item;
	size_t i = 0;

	if (!cJSON_IsArray(array) || (size_t)cJSON_GetArraySize(array) != count)
		return false;
	cJSON_ArrayForEach (item, array) {
		if (!cJSON_IsNumber(item) && !cJSON_IsNull(item))
			return false;
		values[i] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
		if (isinf(values[i++]))
			return false;
	}
	return true;
}

static void read_regions(const cJSON *object, double *values)
{
	for (size_t r = 0; r < COMMITTEE_REGIONS; r++)
		values[r] = number_in(object, regions[r]);
}

static bool read_tries(const cJSON *object, struct committee *c)
{
	for (size_t r = 0; r < COMMITTEE_REGIONS; r++) {
		struct committee_tries *t = &c->tries[r];
		const cJSON *item;

		cJSON_ArrayForEach (item, item_of(object, regions[r])) {
			double pair[2];

			if (t->count == COMMITTEE_CUTS || !read_numbers(item, pair, 2) || !(pair[0] >= 0) ||
				!(pair[1] >= 0))
				return false;
			t->tries[t->count++] = (struct committee_try){pair[0], pair[1]};
		}
	}
	return true;
}

static const char *read_candidate(const cJSON *object, struct candidate *candidate)
{
	const cJSON *terms;
	double shape[3];
	size_t v = 0;

	candidate->is_constant = cJSON_IsTrue(item_of(object, "constant"));
	candidate->is_parted = cJSON_IsTrue(item_of(object, "parts"));
	candidate->is_linear = cJSON_IsTrue(item_of(object, "linear"));
	candidate->is_short = cJSON_IsTrue(item_of(object, "short"));
	candidate->overlap = number_in(object, "overlap");
	candidate->level = number_in(object, "level");
	read_regions(item_of(object, "error"), candidate->error);
	if (!read_numbers(item_of(object, "residual"), shape, 3) || !(shape[0] >= 0) || !(shape[1] >= 0) ||
		!(shape[2] > 0))
		return "a candidate's residual is wrong";
	candidate->shape = (struct residual_shape){shape[0], shape[1], shape[2]};
	if (!isfinite(candidate->level) || !(candidate->overlap >= 0 && candidate->overlap < 100) ||
		!(candidate->error[COMMITTEE_INSIDE] >= 0))
		return "a candidate's numbers are wrong";
	cJSON_ArrayForEach (terms, item_of(object, "forms")) {
		struct form *form = &candidate->forms[v];

		if (v == FORM_EXCHANGES || !read_numbers(terms, form->terms, FORM_TERMS))
			return "a candidate's forms are wrong";
		for (size_t j = 0; j < FORM_TERMS; j++)
			if (!(form->terms[j] >= 0))
				return "a coefficient is below 0";
		form->overlap = candidate->overlap;
		form->exchange = candidate->is_linear  ? FORM_LINEAR
				 : candidate->is_short ? FORM_LOGARITHM
						       : (enum form_exchange)v;
		v++;
	}
	return v == candidate_forms(candidate) ? NULL : "a candidate has too few forms, or too many";
}

static const char *read_configuration(
	const cJSON *item, struct committee_row *row, double *count, double *deviation, double *noise)
{
	double n[8];

	if (!read_numbers(item, n, 8) || !(n[0] > 0) || !(n[1] >= 1) || !(n[2] >= 1) || n[2] > n[1] ||
		!(n[3] > 0) || !(n[5] >= 1))
		return "a configuration is wrong";
	*row = (struct committee_row){{n[0], n[1], n[2]}, n[3], n[4]};
	*count = n[5];
	*deviation = n[6];
	*noise = n[7];
	return NULL;
}

static const char *read_configurations(const cJSON *array, struct committee *c)
{
	size_t count = (size_t)cJSON_GetArraySize(array), k = 0;
	struct committee_row row;
	const cJSON *item;

	if (count < 1 || count > MOST_CONFIGURATIONS)
		return "a level has no configurations, or too many";
	committee_reserve(c, count);
	cJSON_ArrayForEach (item, array) {
		const char *bad = read_configuration(item, &row, &c->rows[k], &c->deviation[k], &c->noise[k]);

		if (bad)
			return bad;
		c->points[k] = row.point;
		c->times[k] = row.time;
		c->compute[k++] = row.compute;
	}
	c->count = count;
	committee_describe(c);
	return NULL;
}

static const char *read_shown(const cJSON *object, struct committee *c)
{
	double candidate = number_in(object, "candidate"), form = number_in(object, "form");
	const cJSON *item;
	size_t j = 0;

	if (!(candidate >= 0 && candidate < (double)c->candidate_count) ||
		!(form >= 0 && form < (double)candidate_forms(&c->candidates[(size_t)candidate])))
		return "the form that is shown is unknown";
	c->best = (size_t)candidate;
	c->best_form = (size_t)form;
	c->low = c->high = c->candidates[c->best].forms[c->best_form];
	cJSON_ArrayForEach (item, item_of(object, "coefficients")) {
		if (j == FORM_TERMS)
			break;
		c->low.terms[j] = number_in(item, "low");
		c->high.terms[j++] = number_in(item, "high");
	}
	return NULL;
}

static const char *read_level(struct step_model *model, const cJSON *object, struct step_level *level)
{
	const char *name = cJSON_GetStringValue(item_of(object, "name"));
	const char *why = cJSON_GetStringValue(item_of(object, "why")), *bad = NULL;
	struct committee *c = &level->committee;
	double rows = number_in(object, "rows");
	const cJSON *item;

	level->name = arena_format(&model->arena, "%s", name ? name : "");
	level->row_count = rows >= 0 && rows < 1e9 ? (size_t)rows : 0;
	level->why = why ? arena_format(&model->arena, "%s", why) : NULL;
	if (why)
		return NULL;
	cJSON_ArrayForEach (item, item_of(object, "candidates")) {
		if (c->candidate_count == COMMITTEE_CANDIDATES)
			return "too many candidates";
		if ((bad = read_candidate(item, &c->candidates[c->candidate_count++])))
			return bad;
	}
	read_regions(item_of(object, "widen"), c->widen);
	if (!read_tries(item_of(object, "tries"), c))
		return "what was tried is wrong";
	c->common = number_in(object, "common");
	for (size_t r = 0; r < COMMITTEE_REGIONS; r++)
		if (!(c->widen[r] >= 0))
			return "the widening of intervals is wrong";
	if (!c->candidate_count || !(c->common >= 0))
		return "a level has no candidates";
	bad = read_configurations(item_of(object, "configurations"), c);
	bad = bad ? bad : read_shown(item_of(object, "shown"), c);
	if (!bad)
		committee_restore(c);
	return bad;
}

const char *step_model_parse(struct step_model *model, const cJSON *root)
{
	const cJSON *columns = item_of(root, "columns"), *levels = item_of(root, "levels"), *item;
	const char *unit = cJSON_GetStringValue(item_of(root, "time_unit"));
	const char *batch = cJSON_GetStringValue(item_of(root, "batch_is")), *bad = NULL;

	*model = (struct step_model){0};
	if (number_in(root, "version") < STEP_VERSION)
		return "the version is older: fit the table again with 'pmfit step'";
	if (number_in(root, "version") != STEP_VERSION)
		return "the file is of a newer pmfit: fit the table again with 'pmfit step'";
	model->columns.unit = unit ? arena_format(&model->arena, "%s", unit) : NULL;
	for (size_t b = 0; batch && b < sizeof(batches) / sizeof(*batches); b++)
		if (strcmp(batch, batches[b]) == 0)
			model->columns.batch = (enum step_batch)b;
	model->columns.by_digit = cJSON_IsTrue(item_of(root, "placement_by_digit"));
	for (size_t c = 0; c < STEP_COLUMNS; c++) {
		const char *name = cJSON_GetStringValue(item_of(columns, step_column_keys[c]));

		model->columns.names[c] = name ? arena_format(&model->arena, "%s", name) : NULL;
	}
	if (cJSON_GetArraySize(levels) < 1)
		return "no levels";
	model->levels =
		arena_alloc(&model->arena, (size_t)cJSON_GetArraySize(levels), sizeof(*model->levels));
	cJSON_ArrayForEach (item, levels)
		if (!bad)
			bad = read_level(model, item, &model->levels[model->level_count++]);
	return bad;
}
