/* pmfit export: a model as source text or a sheet, for programs that do not have pmfit. */
#include "export/export.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd.h"
#include "export/formula_text.h"
#include "step_options.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum export_form { NONE, PYTHON, C, EXCEL, JSON };

struct choices {
	enum export_form form;
	const char *output, *name, *level;
	bool force;
};

enum { OPTION_PYTHON = OPTION_FIRST, OPTION_C, OPTION_EXCEL, OPTION_NAME, OPTION_LEVEL, OPTION_FORCE };

static void take_form(struct choices *choices, enum export_form form)
{
	if (choices->form != NONE && choices->form != form)
		cmd_usage(&cmd_export, "expected one of --python, --c, --excel and --json");
	choices->form = form;
}

static void take_options(int argument_count, char **arguments, struct choices *choices, struct arena *arena)
{
	int option;

	while ((option = command_option(&cmd_export, argument_count, arguments)) != -1)
		if (option == OPTION_PYTHON || option == OPTION_C || option == OPTION_EXCEL)
			take_form(choices, (enum export_form)(PYTHON + (option - OPTION_PYTHON)));
		else if (option == 'j')
			take_form(choices, JSON);
		else if (option == 'o')
			choices->output = optarg;
		else if (option == OPTION_NAME)
			choices->name = optarg;
		else if (option == OPTION_LEVEL)
			choices->level = optarg;
		else if (option == OPTION_FORCE)
			choices->force = true;
		else
			command_unhandled(&cmd_export, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_export, "expected a model");
	if (choices->form == NONE)
		cmd_usage(&cmd_export, "expected one of --python, --c, --excel and --json");
	if (choices->name && strcmp(choices->name, formula_identifier(arena, choices->name)) != 0)
		cmd_usage(&cmd_export,
			"--name %s: expected letters, digits and _, and no word of C or Python",
			choices->name);
}

/* The file's name without folder and ending. */
static const char *name_of(const char *path, struct arena *arena)
{
	const char *slash = strrchr(path, '/'), *begin = slash ? slash + 1 : path, *dot = strchr(begin, '.');

	return formula_identifier(
		arena, arena_text(arena, begin, dot && dot > begin ? (size_t)(dot - begin) : strlen(begin)));
}

static void write_json(const struct export *export, FILE *out)
{
	cJSON *root = export_json(export);
	char *text = pm_text_json(cJSON_Print(root));

	if (!text)
		errx(1, "out of memory");
	fprintf(out, "%s\n", text);
	free(text);
	cJSON_Delete(root);
}

/* In memory first, so that what cannot be exported leaves no file. */
static char *text_of(const struct export *export, enum export_form form)
{
	const char *bad = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		errx(1, "out of memory");
	if (form == PYTHON)
		export_python(export, out);
	else if (form == C)
		export_c(export, out);
	else if (form == EXCEL)
		bad = export_sheet(export, out);
	else
		write_json(export, out);
	if (fclose(out) != 0)
		errx(1, "out of memory");
	if (bad)
		errx(1, "--excel: %s", bad);
	return text;
}

static void write_text(const char *text, const struct choices *choices)
{
	struct pm_output output;
	FILE *out;

	if (!choices->output || strcmp(choices->output, "-") == 0) {
		fputs(text, stdout);
		return;
	}
	out = pm_output_create(&output, choices->output, !choices->force);
	fputs(text, out);
	pm_output_finish(&output, choices->output);
}

static int run_export(int argument_count, char **arguments)
{
	struct choices choices = {0};
	struct arena arena = {0};
	struct export export = {.arena = &arena};
	struct pm_fit_model *model = NULL;
	struct step_model step;
	const char *path, *bad = NULL;
	char *text;

	take_options(argument_count, arguments, &choices, &arena);
	path = arguments[optind];
	export.name = choices.name ? choices.name : name_of(path, &arena);
	export.level = choices.level;
	if (step_options_load(path, &step))
		export.step = &step;
	else
		bad = pm_fit_load(path, &model);
	if (bad)
		errx(1, "%s", bad);
	if (export.level && (!export.step || choices.form != EXCEL))
		cmd_usage(&cmd_export, "--level: for --excel and a model of 'pmfit step'");
	export.model = model;
	text = text_of(&export, choices.form);
	write_text(text, &choices);
	free(text);
	if (export.step)
		step_model_free(&step);
	else
		pm_fit_free(model);
	arena_free(&arena);
	return 0;
}

static const struct option_row rows[] = {
	{"python", OPTION_PYTHON, NULL,
		"a module with predict(), inside() and, of a formula, formula(); also a program"},
	{"c", OPTION_C, NULL, "C11: NAME_predict() and NAME_inside(); with -DPMFIT_MAIN a program"},
	{"excel", OPTION_EXCEL, NULL,
		"a sheet as CSV, for spreadsheets with English names of functions: settings are typed in, the time is "
		"a formula"},
	{"json", 'j', NULL,
		"the formula as text with columns, units and domain; of steps all of its numbers"},
	{"output", 'o', "FILE", "default standard output"},
	{"force", OPTION_FORCE, NULL, "overwrite FILE"},
	{"name", OPTION_NAME, "NAME", "of module and functions; default: the model's file name"},
	{"level", OPTION_LEVEL, "LEVEL",
		"of a model of steps, which cluster or GPU the sheet is for; default: the only one"},
	{0},
};

const struct command cmd_export = {
	.name = "export",
	.summary = "a model as Python, C, a spreadsheet or JSON",
	.usage = "--python|--c|--excel|--json [OPTION]... MODEL.json",
	.about =
		"Writes what 'pmfit predict' says as text that needs nothing of pmfit, without the intervals. MODEL is "
		"a file written by 'pmfit fit -o', 'search -o' or 'step -o'. Settings and times have the units of "
		"the fitted table; the ranges of the fitted rows stand beside the formula, and beyond them a "
		"formula grows as 'pmfit predict' has it grow. Columns become identifiers. What 'pmfit predict' "
		"does not answer is a ValueError in Python, NAN in C and an error in a sheet.\n",
	.options = OPTION_TABLES(rows),
	.after = "Examples:\n"
		 "  pmfit export --python -o lenet.py lenet.json && python3 lenet.py batch=64\n"
		 "  pmfit export --c lenet.json >lenet.c && cc -DPMFIT_MAIN -o lenet lenet.c -lm\n"
		 "  pmfit export --excel --level V100 -o steps.csv steps.json\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.data = true,
	.run = run_export,
};
