/* pmfit html of models of steps. */
#include "html_step.h"
#include "base/memory.h"
#include "output/html_step.h"
#include "predict.h"
#include "step_options.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

/* A model with its table, while the page is made. */
struct source {
	struct step_model model;
	struct step_columns columns;
	struct step_table table;
	struct csv csv;
	struct arena arena;
};

/* Rows in the model's unit. */
static void read_table(struct source *source, const char *path)
{
	const struct predict_choices choices = {0};
	double factor;

	predict_step_read(&source->model, &source->csv, &source->table, path, &choices, &source->columns,
		&source->arena);
	factor = step_unit_seconds(source->columns.unit) / step_unit_seconds(source->model.columns.unit);
	for (size_t k = 0; k < source->table.count && isfinite(factor); k++)
		source->table.rows[k].row.time *= factor;
}

bool html_step_models(char **paths, size_t count, char **tables, size_t table_count,
	FILE *(*open)(void *context), void *context)
{
	struct source *sources = mem_alloc(count, sizeof(*sources));
	struct html_step *steps = mem_alloc(count, sizeof(*steps));
	size_t found = 0;

	for (size_t m = 0; m < count; m++)
		found += step_options_load(paths[m], &sources[m].model);
	if (found && found < count)
		errx(1, "a page is of models of steps or of others, not of both");
	for (size_t m = 0; m < found; m++) {
		steps[m] = (struct html_step){.name = paths[m], .model = &sources[m].model};
		if (!table_count)
			continue;
		read_table(&sources[m], tables[table_count == 1 ? 0 : m]);
		steps[m].table = &sources[m].table;
	}
	if (found)
		html_step_write(steps, count, open(context));
	for (size_t m = 0; m < found; m++) {
		if (table_count) {
			step_table_free(&sources[m].table);
			csv_free(&sources[m].csv);
		}
		step_model_free(&sources[m].model);
		arena_free(&sources[m].arena);
	}
	free(steps);
	free(sources);
	return found > 0;
}
