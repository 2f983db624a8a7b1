/* Models as C: see export.h. */
#include "export.h"
#include "base/role.h"
#include "export_step.h"
#include "formula_text.h"

static void by_level(const struct formula_writer *w, size_t column, const double *numbers)
{
	fputs("(const double[]){", w->out);
	formula_numbers(w->out, numbers, w->model->columns[column].level_count);
	fprintf(w->out, "}[%s]", w->names[column]);
}

static const struct formula_language language = {"pow", "log2", "fmax", true, by_level, formula_conditional};

/* The growth beyond the edge of the data, as step/beyond.c has it. */
static const char common[] =
	"/* The logarithm of the formula where number i is `at` and all others are at the edge. */\n"
	"static double with(const double *edge, const int *l, int i, double at)\n"
	"{\n"
	"\tdouble x[NUMBERS + 1];\n"
	"\n"
	"\tmemcpy(x, edge, sizeof(x));\n"
	"\tx[i] = at;\n"
	"\treturn log(formula(x, l));\n"
	"}\n"
	"\n"
	"static double predicted(const double *x, const int *l)\n"
	"{\n"
	"\tdouble edge[NUMBERS + 1] = {0}, at_edge, total;\n"
	"\tint is_inside = 1;\n"
	"\n"
	"\tfor (int i = 0; i < NUMBERS; i++) {\n"
	"\t\tedge[i] = fmin(fmax(x[i], numbers[i].least), numbers[i].greatest);\n"
	"\t\tis_inside &= edge[i] == x[i];\n"
	"\t}\n"
	"\tif (is_inside)\n"
	"\t\treturn formula(x, l);\n"
	"\ttotal = at_edge = log(formula(edge, l));\n"
	"\tfor (int i = 0; i < NUMBERS; i++) {\n"
	"\t\tdouble grown, ratio, slope = 0, low, high;\n"
	"\n"
	"\t\tif (x[i] == edge[i])\n"
	"\t\t\tcontinue;\n"
	"\t\tgrown = with(edge, l, i, x[i]) - at_edge;\n"
	"\t\tif (numbers[i].is_held && x[i] > 0 && edge[i] > 0) {\n"
	"\t\t\tratio = log(x[i] / edge[i]);\n"
	"\t\t\tif (numbers[i].least > 0 && numbers[i].least < numbers[i].greatest)\n"
	"\t\t\t\tslope = (with(edge, l, i, numbers[i].greatest) - with(edge, l, i, numbers[i].least)) /\n"
	"\t\t\t\t\tlog(numbers[i].greatest / numbers[i].least);\n"
	"\t\t\tlow = fmin(numbers[i].lower, slope);\n"
	"\t\t\thigh = numbers[i].upper;\n"
	"\t\t\tif (numbers[i].steeper > 0 && numbers[i].near < numbers[i].greatest) {\n"
	"\t\t\t\tslope = numbers[i].steeper *\n"
	"\t\t\t\t\t(with(edge, l, i, numbers[i].greatest) - with(edge, l, i, numbers[i].near)) /\n"
	"\t\t\t\t\tlog(numbers[i].greatest / numbers[i].near);\n"
	"\t\t\t\tlow = fmin(low, slope);\n"
	"\t\t\t\thigh = fmax(high, slope);\n"
	"\t\t\t}\n"
	"\t\t\tlow *= ratio;\n"
	"\t\t\thigh *= ratio;\n"
	"\t\t\tgrown = fmin(fmax(grown, fmin(low, high)), fmax(low, high));\n"
	"\t\t}\n"
	"\t\ttotal += grown;\n"
	"\t}\n"
	"\treturn exp(total);\n"
	"}\n\n";

static void put_numbers(const struct pm_fit_model *model, FILE *out)
{
	fputs("/* Least and greatest of the fitted rows, powers within which growth beyond is held, and by how much it\n"
	      " * may be steeper than from a value near the greatest to that. */\n"
	      "static const struct {\n\tdouble least, greatest;\n\tint is_held;\n\tdouble lower, upper, steeper, near;\n} numbers[] = {\n",
		out);
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *column = &model->columns[i];

		if (column->role == PM_FIT_IGNORED || role_has_levels(column->role))
			continue;
		fputs("\t{", out);
		formula_domain(out, column, ", 1", ", 0, 0, 0, 0, 0");
		fputs("},\n", out);
	}
	fputs("\t{0, 0, 0, 0, 0, 0, 0},\n};\n\n", out);
}

static void put_levels(const struct pm_fit_model *model, FILE *out)
{
	for (size_t i = 0; i < model->column_count; i++) {
		if (!role_has_levels(model->columns[i].role))
			continue;
		fprintf(out, "static const char *const levels_%zu[] = {", i);
		formula_levels(out, &model->columns[i]);
		fputs("NULL};\n", out);
	}
	fputs("\n/* A level's number, -1: no fitted row had it. */\n"
	      "__attribute__((unused)) static int level(const char *const *levels, const char *text)\n"
	      "{\n\tfor (int i = 0; text && levels[i]; i++)\n\t\tif (strcmp(levels[i], text) == 0)\n\t\t\treturn i;\n"
	      "\treturn -1;\n}\n\n",
		out);
}

/* x[i] or l[i] for each column, in their order. */
static const char *const *places(const struct export *export)
{
	const struct pm_fit_model *model = export->model;
	const char **names = arena_alloc(export->arena, model->column_count + 1, sizeof(*names));
	size_t numbers = 0, levels = 0;

	for (size_t i = 0; i < model->column_count; i++)
		if (model->columns[i].role != PM_FIT_IGNORED)
			names[i] = role_has_levels(model->columns[i].role)
					   ? arena_format(export->arena, "l[%zu]", levels++)
					   : arena_format(export->arena, "x[%zu]", numbers++);
	return names;
}

static void put_settings(const struct export *export, const char *const *names, FILE *out)
{
	const struct pm_fit_model *model = export->model;

	fprintf(out, "struct %s_settings {\n", export->name);
	for (size_t i = 0; i < model->column_count; i++)
		if (names[i])
			fprintf(out,
				role_has_levels(model->columns[i].role) ? "\tconst char *%s;\n"
									: "\tdouble %s;\n",
				names[i]);
	fputs("};\n\n", out);
}

/* The arrays x and l of a function that has settings s. */
static void put_arrays(const struct export *export, const char *const *names, FILE *out)
{
	const struct pm_fit_model *model = export->model;

	for (int levels = 0; levels < 2; levels++) {
		fputs(levels ? "\tconst int l[] = {" : "\tconst double x[] = {", out);
		for (size_t i = 0; i < model->column_count; i++) {
			if (!names[i] || role_has_levels(model->columns[i].role) != levels)
				continue;
			if (levels)
				fprintf(out, "level(levels_%zu, s->%s), ", i, names[i]);
			else
				fprintf(out, "s->%s, ", names[i]);
		}
		fputs("0};\n", out);
	}
}

static void put_functions(const struct export *export, const char *const *names, FILE *out)
{
	fprintf(out,
		"/* Whether all numbers lie in the ranges of the fitted rows. */\nint %s_inside(const struct %s_settings *s)\n{\n",
		export->name, export->name);
	put_arrays(export, names, out);
	fputs("\tint is_inside = 1;\n\n\tfor (int i = 0; i < NUMBERS; i++)\n"
	      "\t\tis_inside &= x[i] >= numbers[i].least && x[i] <= numbers[i].greatest;\n\t(void)l;\n\treturn is_inside;\n}\n\n",
		out);
	fprintf(out,
		"/* The time; NAN where no fitted row had a level. */\n"
		"double %s_predict(const struct %s_settings *s)\n{\n",
		export->name, export->name);
	put_arrays(export, names, out);
	fputs("\n\tfor (int i = 0; i < LEVELS; i++)\n\t\tif (l[i] < 0)\n\t\t\treturn NAN;\n"
	      "\treturn predicted(x, l);\n}\n\n",
		out);
}

void export_c_main(const char *name, const char *const *names, const int *is_word, size_t count,
	const char *unit, FILE *out)
{
	fprintf(out,
		"#ifdef PMFIT_MAIN\n#include <stdio.h>\n#include <stdlib.h>\n\n"
		"/* NAME=VALUE for each setting. */\nint main(int count, char **arguments)\n{\n"
		"\tstruct %s_settings s = {0};\n\n",
		name);
	for (size_t i = 0; i < count; i++)
		if (names[i] && !is_word[i])
			fprintf(out, "\ts.%s = NAN;\n", names[i]);
	fputs("\tfor (int i = 1; i < count; i++) {\n"
	      "\t\tconst char *at = strchr(arguments[i], '=');\n"
	      "\t\tsize_t length = at ? (size_t)(at - arguments[i]) : 0;\n\n\t\t",
		out);
	for (size_t i = 0; i < count; i++)
		if (names[i])
			fprintf(out,
				"if (length == %zu && strncmp(arguments[i], \"%s\", length) == 0)\n\t\t\ts.%s = %s;\n\t\telse ",
				strlen(names[i]), names[i], names[i],
				is_word[i] ? "at + 1" : "strtod(at + 1, NULL)");
	fputs("{\n\t\t\tfprintf(stderr, \"%s: unknown setting\\n\", arguments[i]);\n\t\t\treturn 2;\n\t\t}\n\t}\n",
		out);
	fprintf(out, "\tprintf(\"%%.17g %%s %%s\\n\", %s_predict(&s), ", name);
	formula_string(out, unit ? unit : "");
	fprintf(out, ", %s_inside(&s) ? \"\" : \"beyond the fitted rows\");\n\treturn 0;\n}\n#endif\n", name);
}

static void put_formula(const struct export *export, FILE *out)
{
	fputs("/* The formula alone, whatever it says beyond the fitted rows: numbers x, levels l. */\n"
	      "static double formula(const double *x, const int *l)\n{\n\t(void)l;\n\treturn ",
		out);
	formula_write(
		&(struct formula_writer){out, &language, export->model, places(export), NULL, export->arena});
	fputs(";\n}\n\n", out);
}

void export_c(const struct export *export, FILE *out)
{
	const struct pm_fit_model *model = export->model;
	const char *const *names;
	int *is_word;
	size_t levels = 0, numbers = 0;

	fprintf(out,
		"/* %s: what `pmfit predict` says. %s\n * As a program (-DPMFIT_MAIN) it takes NAME=VALUE for each setting. Links "
		"with -lm. */\n#include <math.h>\n#include <string.h>\n\n",
		export->name, formula_about(export));
	if (!model) {
		export_step_c(export, out);
		return;
	}
	names = export_columns(export);
	is_word = arena_alloc(export->arena, model->column_count + 1, sizeof(*is_word));
	for (size_t i = 0; i < model->column_count; i++) {
		is_word[i] = role_has_levels(model->columns[i].role);
		levels += names[i] && is_word[i];
		numbers += names[i] && !is_word[i];
	}
	put_settings(export, names, out);
	fprintf(out, "enum { NUMBERS = %zu, LEVELS = %zu };\n\n", numbers, levels);
	put_numbers(model, out);
	put_levels(model, out);
	put_formula(export, out);
	fputs(common, out);
	put_functions(export, names, out);
	export_c_main(export->name, names, is_word, model->column_count, model->time_unit, out);
}
