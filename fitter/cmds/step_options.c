/* What the commands on training steps share: see step_options.h. */
#include "step_options.h"
#include "base/output.h"
#include "base/text.h"
#include "base/text_file.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_row step_options_rows[] = {
	{NULL, 0, NULL,
		"Columns are found by common names (time: step_time, iteration_ms; GPUs: gpus, "
		"num_replicas, ranks; nodes: nodes, hosts; placement), or named:"},
	{"time", STEP_OPTION_COLUMN + STEP_TIME, "COLUMN[,UNIT]",
		"measured time of a step; UNIT s, ms, us or ns. Default unit: the name's ending"},
	{"rate", STEP_OPTION_RATE, "COLUMN[,steps|samples]",
		"instead: steps, or samples of all GPUs, a second, as published tables have. Default: steps where the "
		"name has step or iter, else samples (images, sequences; of tokens the time is that of as many samples)"},
	{"batch-column", STEP_OPTION_COLUMN + STEP_BATCH, "COLUMN", "batch size"},
	{"batch-is", STEP_OPTION_BATCH_IS, "local|global",
		"per GPU, or the total over all GPUs. Default: by the name; else local where a batch is no "
		"multiple of its GPUs"},
	{"gpu-column", STEP_OPTION_COLUMN + STEP_GPUS, "COLUMN", "number of GPUs in all"},
	{"node-column", STEP_OPTION_COLUMN + STEP_NODES, "COLUMN",
		"number of nodes; without one all GPUs are on one node"},
	{"placement-column", STEP_OPTION_COLUMN + STEP_PLACEMENT, "COLUMN",
		"GPUs on each node, 4-4-2 (or 442 without a GPU column)"},
	{"exposed-column", STEP_OPTION_COLUMN + STEP_EXPOSED, "COLUMN",
		"communication that the step waits for, in the time's unit"},
	{"compute-column", STEP_OPTION_COLUMN + STEP_COMPUTE, "COLUMN", "or the step's time without it"},
	{"level-column", STEP_OPTION_COLUMN + STEP_LEVEL, "COLUMN",
		"cluster or GPU model: each level is fitted by itself"},
	{"skip-bad", STEP_OPTION_SKIP_BAD, NULL, "skip rows with missing or impossible values"},
	{0},
};

static void take_time(const struct command *command, struct step_columns *columns, char *argument)
{
	char *comma = strchr(argument, ',');

	if (comma) {
		*comma = '\0';
		columns->unit = comma + 1;
		if (isnan(step_unit_seconds(columns->unit)))
			cmd_usage(command, "--time %s,%s: expected the unit s, ms, us or ns", argument,
				comma + 1);
	}
	columns->names[STEP_TIME] = argument;
}

static void take_rate(const struct command *command, struct step_columns *columns, char *argument)
{
	char *comma = strchr(argument, ',');

	if (comma)
		*comma = '\0';
	columns->names[STEP_TIME] = argument;
	columns->is_rate = true;
	columns->of_samples = comma ? strcmp(comma + 1, "samples") == 0 : !step_column_counts_steps(argument);
	if (comma && !columns->of_samples && strcmp(comma + 1, "steps") != 0)
		cmd_usage(command, "--rate %s,%s: expected steps or samples", argument, comma + 1);
}

bool step_options_take(
	const struct command *command, struct step_columns *columns, int option, char *argument)
{
	if (option < STEP_OPTION_COLUMN || option >= STEP_OPTION_END)
		return false;
	if (option == STEP_OPTION_COLUMN + STEP_TIME)
		take_time(command, columns, argument);
	else if (option == STEP_OPTION_RATE)
		take_rate(command, columns, argument);
	else if (option != STEP_OPTION_BATCH_IS)
		columns->names[option - STEP_OPTION_COLUMN] = argument;
	else if (strcmp(argument, "local") == 0)
		columns->batch = STEP_BATCH_LOCAL;
	else if (strcmp(argument, "global") == 0)
		columns->batch = STEP_BATCH_GLOBAL;
	else
		cmd_usage(command, "--batch-is %s: expected local or global", argument);
	return true;
}

void step_options_read(struct step_columns *columns, struct csv *csv, struct step_table *table,
	const char *path, bool with_time, bool skip_bad, struct arena *arena)
{
	const char *bad;

	if (csv_read(csv, path) < 0)
		errx(1, "%s", csv->error);
	bad = step_columns_find(columns, csv, with_time, arena);
	if (bad)
		errx(1, "%s", bad);
	if (step_table_read(table, csv, columns, with_time, skip_bad) < 0)
		errx(1, "%s", table->error);
	if (table->skipped)
		warnx("%s: %zu rows skipped: missing or impossible values", csv->path, table->skipped);
}

bool step_options_load(const char *path, struct step_model *model)
{
	const char *bad, *format;
	cJSON *root = NULL;
	bool is_step = false;

	if (strcmp(path, "-") == 0 || text_file_json(path, &root))
		return false;
	format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "format"));
	if (format && strcmp(format, STEP_FORMAT) == 0) {
		is_step = true;
		bad = step_model_parse(model, root);
		if (bad)
			errx(1, "%s: %s", path, bad);
	}
	cJSON_Delete(root);
	return is_step;
}

void step_options_save(const struct step_model *model, const char *path)
{
	cJSON *root = step_model_json(model);
	char *text = pm_text_json(cJSON_Print(root));
	int status = text ? pm_output_write(path, text, strlen(text)) : -1;

	if (status < 0)
		errx(1, "%s: %s", path, text ? strerror(-status) : "out of memory");
	cJSON_Delete(root);
	free(text);
}

static const char *batch_note(const struct step_columns *columns)
{
	bool local = columns->batch == STEP_BATCH_LOCAL;

	if (!columns->batch_guessed)
		return local ? "samples on each GPU" : "samples on all GPUs together";
	return local ? "samples on each GPU: some are no multiple of the GPUs (--batch-is)"
		     : "samples on all GPUs together: assumed (--batch-is)";
}

static const char *note(const struct step_columns *columns, enum step_column column)
{
	switch (column) {
	case STEP_TIME:
		if (columns->of_samples)
			return "samples a second: the time is the whole batch over it, in s";
		if (columns->is_rate)
			return "steps a second: the time is one over, in s";
		return columns->unit ? columns->unit : "unit unknown (--time COLUMN,UNIT)";
	case STEP_BATCH:
		return batch_note(columns);
	case STEP_PLACEMENT:
		return columns->by_digit ? "a digit, or a number between separators, for each node" : "";
	case STEP_EXPOSED:
		return "the rest of the step is taken for compute";
	case STEP_LEVEL:
		return "each level is fitted by itself";
	default:
		return "";
	}
}

enum { ROLE, NAMES, NOTE, TEXT };

void step_options_taken_init(struct print_table *taken, struct arena *arena)
{
	static const struct print_column columns[] = {
		[ROLE] = PRINT_COLUMN("role", "", PRINT_WORD),
		[NAMES] = PRINT_COLUMN("columns", NULL, PRINT_LIST),
		[NOTE] = PRINT_COLUMN("note", NULL, PRINT_WORD),
		[TEXT] = PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
	};

	print_init(taken, arena);
	print_columns(taken, columns, sizeof(columns) / sizeof(*columns));
}

void step_options_taken_row(struct print_table *taken, const char *role, const char *title,
	const char *const *names, size_t count, const char *note)
{
	const char *text = "";

	for (size_t i = 0; i < count; i++)
		text = arena_format(taken->arena, "%s%s%s", text, i ? ", " : "", names[i]);
	if (*note)
		text = arena_format(taken->arena, count ? "%s (%s)" : "%s%s", text, note);
	print_row(taken);
	print_term(taken, ROLE, role, title);
	print_list(taken, NAMES, names, count);
	print_word(taken, NOTE, note);
	print_word(taken, TEXT, text);
}

void step_options_taken_step(struct print_table *taken, const struct step_columns *columns)
{
	for (size_t c = 0; c < STEP_COLUMNS; c++)
		if (columns->names[c])
			step_options_taken_row(taken, step_column_keys[c], step_column_titles[c],
				(const char *const[]){columns->names[c]}, 1,
				note(columns, (enum step_column)c));
	if (!columns->names[STEP_BATCH])
		step_options_taken_row(taken, step_column_keys[STEP_BATCH], step_column_titles[STEP_BATCH],
			NULL, 0,
			columns->batch == STEP_BATCH_GLOBAL
				? "no such column: the whole batch is taken to be the same in all rows (--batch-is)"
				: "no such column: that of each GPU is taken to be the same in all rows (--batch-is)");
	if (!columns->names[STEP_NODES] && !columns->names[STEP_PLACEMENT])
		step_options_taken_row(taken, step_column_keys[STEP_NODES], step_column_titles[STEP_NODES],
			NULL, 0, "no such column: all GPUs on one node is assumed");
}
