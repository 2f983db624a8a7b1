/* Samples as one table: see sample_table.h. */
#include "sample_table.h"
#include "base/role.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool sample_table_matters(const struct pm_fit_model_column *column)
{
	return column->role != PM_FIT_IGNORED;
}

static double value_for_model(
	const struct pm_fit_model_column *known, const struct pm_fit_column *column, size_t sample)
{
	double value = column->values[sample];

	if (!role_has_levels(known->role) || !column->levels)
		return value;
	for (size_t l = 0; l < known->level_count; l++)
		if (strcmp(known->levels[l], column->levels[(size_t)value]) == 0)
			return (double)l;
	return NAN;
}

/* All samples of all sets that have both times. */
void sample_table_init(struct sample_table *t, const struct subject *subject)
{
	const struct pm_fit_model *model = subject->model;
	size_t all = 0;

	for (size_t s = 0; s < subject->set_count; s++)
		all += subject->sets[s].problem->sample_count;
	*t = (struct sample_table){
		.model = model, .values = figure_alloc(model->column_count, sizeof(double *))};
	for (size_t c = 0; c < model->column_count; c++)
		t->values[c] = figure_alloc(all, sizeof(double));
	t->measured = figure_alloc(all, sizeof(double));
	t->predicted = figure_alloc(all, sizeof(double));
	t->sets = figure_alloc(all, sizeof(*t->sets));
	t->order = figure_alloc(all, sizeof(*t->order));
	for (size_t s = 0; s < subject->set_count; s++) {
		const struct figure_set *set = &subject->sets[s];

		t->names[s] = set->name;
		for (size_t k = 0; k < set->problem->sample_count; k++) {
			if (!isfinite(set->measured[k] + set->predicted[k]) || set->predicted[k] == 0)
				continue;
			for (size_t c = 0; c < model->column_count; c++) {
				const struct pm_fit_column *column =
					figure_column(set->problem, &model->columns[c]);

				if (sample_table_matters(&model->columns[c]) && column)
					t->values[c][t->count] =
						value_for_model(&model->columns[c], column, k);
			}
			t->measured[t->count] = set->measured[k];
			t->predicted[t->count] = set->predicted[k];
			t->sets[t->count++] = s;
		}
	}
}

void sample_table_free(struct sample_table *t)
{
	for (size_t c = 0; c < t->model->column_count; c++)
		free(t->values[c]);
	free(t->values);
	free(t->measured);
	free(t->predicted);
	free(t->sets);
	free(t->order);
}
