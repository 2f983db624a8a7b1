/* Where a model's errors are, over two of its columns. */
#include "base/role.h"
#include "base/statistics.h"
#include "sample_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GATHERED \
	8 /* rows and columns of a heat map, at most, where values are gathered; levels three times */

/* The values of a column in ascending order, gathered into at most GATHERED groups of alike many values: the
 * group of each sample, and names. */
static size_t gather(const struct sample_table *t, size_t c, size_t *groups, char **names)
{
	const struct pm_fit_model_column *known = &t->model->columns[c];
	double *sorted = figure_alloc(t->count, sizeof(*sorted)), from[GATHERED];
	size_t distinct = 0, count = 0;

	if (role_has_levels(known->role)) {
		for (size_t k = 0; k < t->count; k++)
			groups[k] = (size_t)t->values[c][k];
		for (; count < known->level_count && count < GATHERED * 3; count++)
			names[count] = figure_text("%s", known->levels[count]);
		free(sorted);
		return count;
	}
	memcpy(sorted, t->values[c], t->count * sizeof(*sorted));
	statistics_sort(sorted, t->count);
	for (size_t k = 0; k < t->count; k++)
		if (k == 0 || sorted[k] != sorted[distinct - 1])
			sorted[distinct++] = sorted[k];
	for (size_t g = 0; g < GATHERED && g < distinct; g++) {
		size_t first = distinct > GATHERED ? g * distinct / GATHERED : g;
		size_t next = distinct > GATHERED ? (g + 1) * distinct / GATHERED : g + 1;

		from[count] = sorted[first];
		names[count++] = next == first + 1
					 ? figure_text("%.4g", sorted[first])
					 : figure_text("%.4g to %.4g", sorted[first], sorted[next - 1]);
	}
	for (size_t k = 0; k < t->count; k++)
		for (groups[k] = count - 1; groups[k] && t->values[c][k] < from[groups[k]];)
			groups[k]--;
	free(sorted);
	return count;
}

/* How much of the residuals' size the groups of a column account for: the sum of squares between groups, of
 * the logarithms. 0 where there is one group. */
static double explained(const struct sample_table *t, size_t c)
{
	char *names[GATHERED * 3];
	size_t *groups = figure_alloc(t->count, sizeof(*groups)), count = gather(t, c, groups, names);
	double between = 0;

	for (size_t g = 0; g < count; g++) {
		double sum = 0, size = 0;

		for (size_t k = 0; k < t->count; k++)
			if (groups[k] == g && t->measured[k] / t->predicted[k] > 0) {
				sum += log(t->measured[k] / t->predicted[k]);
				size++;
			}
		between += size > 0 ? sum * sum / size : 0;
		free(names[g]);
	}
	free(groups);
	return count > 1 ? between : 0;
}

bool figure_heat_columns(const struct subject *subject, size_t columns[2])
{
	const struct pm_fit_model *model = subject->model;
	double most[2] = {0};
	struct sample_table t;

	sample_table_init(&t, subject);
	for (size_t c = 0; c < model->column_count; c++) {
		double here = sample_table_matters(&model->columns[c]) ? explained(&t, c) : 0;

		if (here > most[0]) {
			most[1] = most[0];
			columns[1] = columns[0];
			most[0] = here;
			columns[0] = c;
		} else if (here > most[1]) {
			most[1] = here;
			columns[1] = c;
		}
	}
	sample_table_free(&t);
	return most[1] > 0;
}

void figure_heat(struct plot *plot, const struct subject *subject, size_t across, size_t down)
{
	char *names[2][GATHERED * 3];
	size_t *groups[2], counts[2], columns[2] = {across, down};
	struct plot_series *tiles;
	struct sample_table t;
	double *residuals;

	sample_table_init(&t, subject);
	plot_init(plot, "Where the errors are", t.model->columns[across].name, t.model->columns[down].name);
	residuals = figure_alloc(t.count, sizeof(*residuals));
	for (int a = 0; a < 2; a++) {
		groups[a] = figure_alloc(t.count, sizeof(size_t));
		counts[a] = gather(&t, columns[a], groups[a], names[a]);
		plot_names(plot, a ? &plot->y : &plot->x, (const char *const *)names[a], counts[a]);
	}
	plot->row_height = 26;
	tiles = plot_add(plot, PLOT_TILES, NULL);
	for (size_t x = 0; x < counts[0]; x++)
		for (size_t y = 0; y < counts[1]; y++) {
			size_t count = 0;
			double median;
			char *tip;

			for (size_t k = 0; k < t.count; k++)
				if (groups[0][k] == x && groups[1][k] == y)
					residuals[count++] = t.measured[k] / t.predicted[k] - 1;
			if (!count)
				continue;
			statistics_sort(residuals, count);
			median = statistics_median_sorted(residuals, count);
			tip = figure_text("%s %s, %s %s: median %+.1f%% of %zu",
				t.model->columns[across].name, names[0][x], t.model->columns[down].name,
				names[1][y], 100 * median, count);
			/* full colour at 50% */
			plot_range(plot, tiles, (double)x, (double)y, 2 * median, 2 * median, tip);
			free(tip);
		}
	plot_scale(plot);
	figure_check(plot);
	for (int a = 0; a < 2; a++) {
		for (size_t i = 0; i < counts[a]; i++)
			free(names[a][i]);
		free(groups[a]);
	}
	free(residuals);
	sample_table_free(&t);
}
