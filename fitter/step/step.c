/* A model of steps over levels: see step.h. */
#include "step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct step_level *step_model_level(const struct step_model *model, const char *name)
{
	for (size_t i = 0; i < model->level_count; i++)
		if (strcmp(model->levels[i].name, name) == 0)
			return &model->levels[i];
	return NULL;
}

static void copy_columns(struct step_model *model, const struct step_columns *columns)
{
	model->columns = *columns;
	for (size_t c = 0; c < STEP_COLUMNS; c++)
		if (columns->names[c])
			model->columns.names[c] = arena_format(&model->arena, "%s", columns->names[c]);
	if (columns->unit)
		model->columns.unit = arena_format(&model->arena, "%s", columns->unit);
}

static void find_levels(struct step_model *model, const struct step_table *table)
{
	model->levels = arena_alloc(&model->arena, table->count, sizeof(*model->levels));
	for (size_t k = 0; k < table->count; k++) {
		if (step_model_level(model, table->rows[k].level))
			continue;
		model->levels[model->level_count++].name =
			arena_format(&model->arena, "%s", table->rows[k].level);
	}
}

const char *step_model_fit(
	struct step_model *model, const struct step_columns *columns, const struct step_table *table)
{
	struct committee_row *rows = mem_alloc(table->count, sizeof(*rows));
	size_t fitted = 0;

	*model = (struct step_model){0};
	copy_columns(model, columns);
	find_levels(model, table);
	for (size_t i = 0; i < model->level_count; i++) {
		struct step_level *level = &model->levels[i];

		for (size_t k = 0; k < table->count; k++)
			if (strcmp(table->rows[k].level, level->name) == 0)
				rows[level->row_count++] = table->rows[k].row;
		level->why = committee_fit(&level->committee, rows, level->row_count);
		fitted += !level->why;
	}
	free(rows);
	return fitted ? NULL : model->levels[0].why;
}

void step_model_free(struct step_model *model)
{
	for (size_t i = 0; i < model->level_count; i++)
		committee_free(&model->levels[i].committee);
	arena_free(&model->arena);
	*model = (struct step_model){0};
}

void step_model_predict(const struct step_model *model, const struct step_row *row, double confidence,
	struct committee_answer *answer)
{
	const struct step_level *level = step_model_level(model, row->level);

	/* A table of questions needs no level where there is only one. */
	if (!level && !*row->level && model->level_count == 1)
		level = &model->levels[0];
	if (level && !level->why) {
		committee_predict(&level->committee, &row->row.point, confidence, answer);
		return;
	}
	*answer = (struct committee_answer){NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0, NULL};
	answer->why = !level ? "its level was not measured" : level->why;
}
