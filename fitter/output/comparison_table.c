/* The figures of a comparison side by side, and in one table: see comparison_table.h. */
#include "comparison_table.h"
#include "error_table.h"
#include "model/enum_names.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

bool comparison_is_scaling(enum pm_fit_kind kind)
{
	return kind == PM_FIT_KIND_EXTRINSIC || kind == PM_FIT_KIND_CONSTANT;
}

const struct pm_fit_value *comparison_value(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (strcmp(model->values[i].name, name) == 0)
			return &model->values[i];
	return NULL;
}

/* A parameter, or what the data determine of a level: over the seeds, and the bootstrap interval. */
struct found {
	bool is_there;
	double mean, sd, low, high; /* NaN: unknown */
	unsigned flags;
};

static struct found find(const struct pm_fit_model *model, const char *name, bool contrast)
{
	const struct pm_fit_value *value = contrast ? NULL : comparison_value(model, name);
	const double one = model->run_count > 1 ? 1 : NAN;

	if (value)
		return (struct found){
			true, value->mean, value->sd * one, value->low, value->high, value->flags};
	for (size_t i = 0; contrast && i < model->contrast_count; i++) {
		const struct pm_fit_contrast *level = &model->contrasts[i];

		if (strcmp(level->name, name) == 0)
			return (struct found){true, level->mean, level->sd * one, level->low, level->high, 0};
	}
	return (struct found){0};
}

static void add_columns(struct print_table *table, const struct comparison *c, const char *what)
{
	print_column(table, NULL, what, PRINT_WORD);
	for (size_t s = 0; s < c->count; s++)
		print_column(table, NULL, c->sets[s].name, PRINT_WORD);
}

static const char *mark(unsigned flags)
{
	if (flags & PM_FIT_UNDETERMINED)
		return " u";
	if (flags & PM_FIT_DEAD)
		return " d";
	return flags & (PM_FIT_AT_LOWER | PM_FIT_AT_UPPER) ? " b" : "";
}

static bool is_shown_before(const struct comparison *c, size_t set, const char *name, bool contrast)
{
	for (size_t s = 0; s < set; s++)
		if (find(c->sets[s].shown, name, contrast).is_there)
			return true;
	return false;
}

/* A parameter's two lines: mean and deviation over the seeds, and below them the interval. */
static void add_parameter(
	struct print_table *table, const struct comparison *c, const char *name, bool contrast)
{
	bool ends = false;

	print_row(table);
	print_word(table, 0, name);
	for (size_t s = 0; s < c->count; s++) {
		struct found found = find(c->sets[s].shown, name, contrast);

		ends |= found.is_there && isfinite(found.low) && isfinite(found.high);
		if (!found.is_there)
			print_word(table, 1 + s, "-");
		else if (isfinite(found.sd))
			print_word(table, 1 + s,
				arena_format(table->arena, "%.4g +-%.2g%s", found.mean, found.sd,
					mark(found.flags)));
		else
			print_word(table, 1 + s,
				arena_format(table->arena, "%.4g%s", found.mean, mark(found.flags)));
	}
	if (!ends)
		return;
	print_row(table);
	for (size_t s = 0; s < c->count; s++) {
		struct found found = find(c->sets[s].shown, name, contrast);

		if (found.is_there && isfinite(found.low) && isfinite(found.high))
			print_word(table, 1 + s,
				arena_format(table->arena, "[%.4g, %.4g]", found.low, found.high));
	}
}

/* The parameters of all sets, or the contrasts of their levels, each once. */
static void add_parameters(
	struct print_table *table, const struct comparison *c, bool contrasts, bool scaling)
{
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_model *shown = c->sets[s].shown;
		const size_t count = contrasts ? shown->contrast_count : shown->value_count;

		for (size_t i = 0; i < count; i++) {
			const char *name = contrasts ? shown->contrasts[i].name : shown->values[i].name;

			if (scaling && !comparison_is_scaling(shown->values[i].kind))
				continue;
			if (!is_shown_before(c, s, name, contrasts))
				add_parameter(table, c, name, contrasts);
		}
	}
}

/* C in percent of the geometric mean of the fitted times. */
static void add_constant_share(struct print_table *table, const struct comparison *c)
{
	print_row(table);
	print_word(table, 0, "C, % of time");
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_value *constant = comparison_value(c->sets[s].shown, "C");

		print_word(table, 1 + s,
			constant && isfinite(c->sets[s].typical)
				? arena_format(
					  table->arena, "%.1f", 100 * constant->value / c->sets[s].typical)
				: "-");
	}
}

void comparison_table_parameters(const struct comparison *c, struct print_table *table)
{
	add_columns(table, c, "parameter");
	add_parameters(table, c, false, false);
}

void comparison_table_scaling(const struct comparison *c, struct print_table *table)
{
	add_columns(table, c, "parameter");
	add_parameters(table, c, false, true);
	add_constant_share(table, c);
}

void comparison_table_levels(const struct comparison *c, struct print_table *table)
{
	add_columns(table, c, "level");
	add_parameters(table, c, true, false);
}

void comparison_table_errors(
	const struct comparison *c, const struct comparison_set *set, struct print_table *table)
{
	const struct baseline model = {.name = "model",
		.seed_count = 1,
		.train = &set->shown->train,
		.seconds = set->shown->seconds};
	const struct baseline *row;

	if (!set->free)
		error_table_row(table, &model, false, c->confidence);
	for (size_t i = 0; (row = comparison_row(set, i)); i++) {
		error_table_row(table, row, false, c->confidence);
		if (!row->skipped && set->observations.test.sample_count)
			error_table_row(table, row, true, c->confidence);
	}
}

static const char *test_error(struct arena *arena, const struct comparison *c,
	const struct comparison_set *set, const struct baseline *method)
{
	struct error_spread spread;

	if (!method || method->skipped || !set->observations.test.sample_count)
		return "-";
	spread = error_spread(
		method->test, method->seed_count, offsetof(struct pm_fit_error, mape), c->confidence);
	return isfinite(spread.low)
		       ? arena_format(arena, "%.2f [%.2f, %.2f]", spread.mean, spread.low, spread.high)
		       : arena_format(arena, "%.2f", spread.mean);
}

void comparison_table_tests(const struct comparison *c, struct print_table *table)
{
	const struct comparison_set *first = NULL;
	const struct baseline *row;
	size_t tested = 0;

	add_columns(table, c, "method");
	for (size_t s = 0; s < c->count; s++)
		tested += c->sets[s].observations.test.sample_count;
	for (size_t s = 0; s < c->count && !first && tested; s++)
		if (c->sets[s].free)
			first = &c->sets[s];
	for (size_t i = 0; first && (row = comparison_row(first, i)); i++) {
		print_row(table);
		print_word(table, 0, row->name);
		for (size_t s = 0; s < c->count; s++)
			print_word(table, 1 + s,
				test_error(table->arena, c, &c->sets[s], comparison_row(&c->sets[s], i)));
	}
}

void comparison_table_differences(const struct comparison *c, struct print_table *table)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("name", NULL, PRINT_WORD),
		PRINT_COLUMN("contrast", NULL, PRINT_FLAG),
		PRINT_COLUMN("first", NULL, PRINT_WORD),
		PRINT_COLUMN("second", NULL, PRINT_WORD),
		PRINT_COLUMN("difference", NULL, PRINT_FIGURE),
		PRINT_COLUMN("low", NULL, PRINT_FIGURE),
		PRINT_COLUMN("high", NULL, PRINT_FIGURE),
		PRINT_COLUMN("clear", NULL, PRINT_FLAG),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t p = 0; p < c->pair_count; p++)
		for (size_t i = 0; i < c->pairs[p].count; i++) {
			const struct difference *row = &c->pairs[p].rows[i];

			print_row(table);
			print_word(table, 0, row->name);
			print_number(table, 1, row->is_contrast);
			print_word(table, 2, c->sets[c->pairs[p].first].name);
			print_word(table, 3, c->sets[c->pairs[p].second].name);
			print_numbers(table, 4,
				(double[]){row->second - row->first, row->low, row->high, row->is_clear}, 4);
		}
}

/* What a row is about, and its value, mean, deviation and interval. */
static void add_figure(struct print_table *table, const char *const words[4], const double numbers[5])
{
	print_row(table);
	for (size_t i = 0; i < 4; i++)
		print_word(table, i, words[i]);
	print_numbers(table, 4, numbers, 5);
}

static void add_error_figures(struct print_table *table, const struct comparison *c,
	const struct comparison_set *set, const struct baseline *method, bool test)
{
	for (size_t f = 0; f < BASELINES_FIGURES; f++) {
		const char *figure = arena_format(
			table->arena, "%s %s", test ? "test" : "fitted", baselines_figures[f].key);
		struct error_spread spread = error_spread(test ? method->test : method->train,
			method->seed_count, baselines_figures[f].offset, c->confidence);

		add_figure(table, (const char *const[]){"errors", set->name, method->name, figure},
			(double[]){NAN, spread.mean, spread.sd, spread.low, spread.high});
	}
}

/* A model file has one error, of its own fit, which is no mean. */
static void add_file_figures(struct print_table *table, const struct comparison_set *set)
{
	for (size_t f = 0; f < BASELINES_FIGURES; f++) {
		const char *figure = arena_format(table->arena, "fitted %s", baselines_figures[f].key);
		const char *error = (const char *)&set->shown->train + baselines_figures[f].offset;

		add_figure(table, (const char *const[]){"errors", set->name, "model", figure},
			(double[]){*(const double *)error, NAN, NAN, NAN, NAN});
	}
}

static void add_set_figures(
	struct print_table *table, const struct comparison *c, const struct comparison_set *set)
{
	const struct baseline *row;

	for (size_t i = 0; i < set->shown->value_count; i++) {
		const struct pm_fit_value *v = &set->shown->values[i];

		add_figure(table,
			(const char *const[]){"parameters", set->name, v->name, enum_names_kinds[v->kind]},
			(double[]){v->value, v->mean, v->sd, v->low, v->high});
	}
	for (size_t i = 0; i < set->shown->contrast_count; i++) {
		const struct pm_fit_contrast *v = &set->shown->contrasts[i];

		add_figure(table, (const char *const[]){"parameters", set->name, v->name, "contrast"},
			(double[]){v->value, v->mean, v->sd, v->low, v->high});
	}
	for (size_t i = 0; (row = comparison_row(set, i)); i++)
		for (int test = 0; test <= (set->observations.test.sample_count ? 1 : 0); test++)
			if (!row->skipped)
				add_error_figures(table, c, set, row, test);
	if (!set->free)
		add_file_figures(table, set);
}

void comparison_table_figures(const struct comparison *c, struct print_table *table)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("table", NULL, PRINT_WORD),
		PRINT_COLUMN("set", NULL, PRINT_WORD),
		PRINT_COLUMN("name", NULL, PRINT_WORD),
		PRINT_COLUMN("figure", NULL, PRINT_WORD),
		PRINT_COLUMN("value", NULL, PRINT_FIGURE),
		PRINT_COLUMN("mean", NULL, PRINT_FIGURE),
		PRINT_COLUMN("sd", NULL, PRINT_FIGURE),
		PRINT_COLUMN("low", NULL, PRINT_FIGURE),
		PRINT_COLUMN("high", NULL, PRINT_FIGURE),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t s = 0; s < c->count; s++)
		add_set_figures(table, c, &c->sets[s]);
	for (size_t p = 0; p < c->pair_count; p++)
		for (size_t i = 0; i < c->pairs[p].count; i++) {
			const struct difference *row = &c->pairs[p].rows[i];
			const char *figure =
				arena_format(table->arena, "minus %s", c->sets[c->pairs[p].first].name);

			add_figure(table,
				(const char *const[]){
					"differences", c->sets[c->pairs[p].second].name, row->name, figure},
				(double[]){row->second - row->first, NAN, NAN, row->low, row->high});
		}
}
