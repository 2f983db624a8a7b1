/* Models as Python: see export.h. */
#include "export.h"
#include "base/role.h"
#include "export_step.h"
#include "formula_text.h"

#include <math.h>

static void by_level(const struct formula_writer *w, size_t column, const double *numbers)
{
	const struct pm_fit_model_column *known = &w->model->columns[column];

	for (size_t l = 0; l < known->level_count; l++) {
		fputs(l ? ", " : "{", w->out);
		formula_string(w->out, known->levels[l]);
		fputs(": ", w->out);
		formula_number(w->out, numbers[l]);
	}
	fprintf(w->out, "}[%s]", w->names[column]);
}

static void by_one(const struct formula_writer *w, size_t column, double one, double more)
{
	fputc('(', w->out);
	formula_number(w->out, more);
	fprintf(w->out, " if %s > 1 else ", w->names[column]);
	formula_number(w->out, one);
	fputc(')', w->out);
}

static const struct formula_language python = {"math.pow", "math.log2", "max", false, by_level, by_one};

/* The growth beyond the edge of the data, as step/beyond.c has it; and the program. */
static const char common[] =
	"def inside(**settings):\n"
	"    \"\"\"Whether all settings lie in the ranges of the fitted rows.\"\"\"\n"
	"    x = _checked(settings)\n"
	"    return all(least <= x[name] <= greatest for name, least, greatest, *_ in NUMBERS)\n"
	"\n\n"
	"def predict(**settings):\n"
	"    \"\"\"The time; beyond the fitted rows the growth from their edge, held within the powers in NUMBERS.\n"
	"    ValueError: a setting is missing, is no number, or has a level that no fitted row had.\"\"\"\n"
	"    x = _checked(settings)\n"
	"    edge = dict(x)\n"
	"    for name, least, greatest, *_ in NUMBERS:\n"
	"        edge[name] = min(max(x[name], least), greatest)\n"
	"    if edge == x:\n"
	"        return formula(**x)\n"
	"    at_edge = math.log(formula(**edge))\n"
	"    total = at_edge\n"
	"    for name, least, greatest, lower, upper, steeper, near in NUMBERS:\n"
	"        if x[name] == edge[name]:\n"
	"            continue\n"
	"        grown = math.log(formula(**dict(edge, **{name: x[name]}))) - at_edge\n"
	"        if lower is not None and x[name] > 0 and edge[name] > 0:\n"
	"            ratio, slope, last = math.log(x[name] / edge[name]), 0, []\n"
	"            if 0 < least < greatest:\n"
	"                slope = math.log(formula(**dict(edge, **{name: greatest})) / formula(**dict(edge, **{name: least})))\n"
	"                slope /= math.log(greatest / least)\n"
	"            if steeper and near < greatest:\n"
	"                last = [math.log(formula(**dict(edge, **{name: greatest})) / formula(**dict(edge, **{name: near})))]\n"
	"                last[0] *= steeper / math.log(greatest / near)\n"
	"            ends = min([lower, slope] + last) * ratio, max([upper] + last) * ratio\n"
	"            grown = min(max(grown, min(ends)), max(ends))\n"
	"        total += grown\n"
	"    return math.exp(total)\n"
	"\n\n"
	"def _checked(settings):\n"
	"    x = {}\n"
	"    missing = [name for name in [n for n, *_ in NUMBERS] + list(LEVELS) if name not in settings]\n"
	"    if missing:\n"
	"        raise ValueError(\"missing: \" + \", \".join(missing))\n"
	"    for name, *_ in NUMBERS:\n"
	"        x[name] = float(settings[name])\n"
	"    for name, levels in LEVELS.items():\n"
	"        if settings.get(name) not in levels:\n"
	"            raise ValueError(f\"{name}: expected one of {levels}\")\n"
	"        x[name] = settings[name]\n"
	"    return x\n";

/* The module as a program: what is wrong with its arguments in one sentence. */
static const char program[] =
	"\n\n"
	"if __name__ == \"__main__\":\n"
	"    for argument in sys.argv[1:]:\n"
	"        if \"=\" not in argument:\n"
	"            sys.exit(f\"{sys.argv[0]}: '{argument}': expected NAME=VALUE\")\n"
	"    asked = dict(argument.split(\"=\", 1) for argument in sys.argv[1:])\n"
	"    try:\n"
	"        print(repr(predict(**asked)), UNIT, \"\" if inside(**asked) else \"beyond the measured rows\")\n"
	"    except (TypeError, ValueError) as error:\n"
	"        sys.exit(f\"{sys.argv[0]}: {error}\")\n";

static void put_numbers(const struct pm_fit_model *model, const char *const *names, FILE *out)
{
	fputs("# Name, least and greatest of the fitted rows, powers within which growth beyond is held, and by how much it may be\n"
	      "# steeper than from a value near the greatest to that (0: not at all).\n"
	      "NUMBERS = (\n",
		out);
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *column = &model->columns[i];

		if (column->role == PM_FIT_IGNORED || role_has_levels(column->role))
			continue;
		fprintf(out, "    (\"%s\", ", names[i]);
		formula_domain(out, column, "", ", None, None, 0, 0");
		fputs("),\n", out);
	}
	fputs(")\n", out);
}

static void put_levels(const struct pm_fit_model *model, const char *const *names, FILE *out)
{
	fputs("LEVELS = {\n", out);
	for (size_t i = 0; i < model->column_count; i++) {
		if (!role_has_levels(model->columns[i].role))
			continue;
		fprintf(out, "    \"%s\": (", names[i]);
		formula_levels(out, &model->columns[i]);
		fputs("),\n", out);
	}
	fputs("}\n", out);
}

static void put_head(const struct export *export, const char *unit, FILE *out)
{
	fprintf(out,
		"\"\"\"%s: what `pmfit predict` says. %s\n\n"
		"As a program it takes NAME=VALUE for each setting.\n\"\"\"\n"
		"import math\nimport sys\n\nUNIT = ",
		export->name, formula_about(export));
	formula_string(out, unit ? unit : "");
	fputs("\n", out);
}

static void put_formula(const struct export *export, FILE *out)
{
	const struct pm_fit_model *model = export->model;
	const char *const *names = export_columns(export);
	const char *gap = "";

	put_numbers(model, names, out);
	put_levels(model, names, out);
	fputs("\n\ndef formula(", out);
	for (size_t i = 0; i < model->column_count; i++)
		if (names[i]) {
			fprintf(out, "%s%s", gap, names[i]);
			gap = ", ";
		}
	fputs("):\n    \"\"\"The formula alone, whatever it says beyond the fitted rows.\"\"\"\n    return ",
		out);
	formula_write(&(struct formula_writer){out, &python, model, names, NULL, export->arena});
	fputs("\n\n\n", out);
	fputs(common, out);
}

void export_python(const struct export *export, FILE *out)
{
	const struct pm_fit_model *model = export->model;

	put_head(export, model ? model->time_unit : export->step->columns.unit, out);
	if (model)
		put_formula(export, out);
	else
		export_step_python(export, out);
	fputs(program, out);
}
