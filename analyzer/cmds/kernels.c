/* pmanalyze kernels: what ran on the devices, by name. */
#include "analyses/kernels.h"
#include "cmd_common.h"

#include <stdint.h>
#include <string.h>

#define TITLE_BYTES 36 /* longer names are cut in text */

struct kernels_options {
	struct cmd_options common;
	size_t top;
};

static const char *shortened(struct arena *arena, const char *title)
{
	if (strlen(title) <= TITLE_BYTES)
		return print_clean(arena, title);
	return print_clean(arena, arena_format(arena, "%.*s..", TITLE_BYTES - 2, title));
}

static void kernel_table(struct print_table *table, struct analysis *analysis, const struct kernels *kernels,
	size_t rows, bool text)
{
	bool several = analysis->worker_count > 1;
	size_t kernel = print_column(table, "kernel", "kernel", PRINT_WORD);
	size_t name = print_column(table, "name", NULL, PRINT_WORD);
	size_t phase = print_column(table, "phase", "phase", PRINT_WORD);
	size_t layer = print_column(table, "layer", "layer", PRINT_WORD);
	size_t count = print_column(table, "count", "count", PRINT_REAL);
	size_t time = print_column(table, "time", "time", PRINT_TIME);
	size_t mean = print_column(table, "mean", NULL, PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t graph = print_column(table, "graph_share", NULL, PRINT_SHARE);
	size_t least = print_column(table, "min", NULL, PRINT_TIME);
	size_t greatest = print_column(table, "max", several ? "slowest" : NULL, PRINT_TIME);
	size_t rank = print_column(table, "slowest", several ? "rank" : NULL, PRINT_WORD);

	for (size_t i = 0; i < kernels->row_count && i < rows; i++) {
		const struct kernel_row *row = &kernels->rows[i];

		print_row(table);
		print_word(table, kernel,
			text ? shortened(table->arena, row->title) : print_clean(table->arena, row->title));
		print_word(table, name, print_clean(table->arena, row->name));
		print_term(table, phase, phase_keys[row->phase], phase_titles[row->phase]);
		if (*row->layer)
			print_word(table, layer,
				row->layer_count > 1 ? "several" : print_clean(table->arena, row->layer));
		print_number(table, count, row->count);
		print_number(table, time, row->time_ns);
		print_number(table, mean, row->time_ns / row->count);
		print_number(table, share, row->share);
		print_number(table, graph, row->graph_share);
		print_number(table, least, row->least_ns);
		print_number(table, greatest, row->greatest_ns);
		print_word(table, rank, analysis_worker_name(analysis, &analysis->workers[row->greatest]));
	}
}

static void graph_table(struct print_table *table, const struct kernels *kernels)
{
	size_t call = print_column(table, "call", "launched by", PRINT_WORD);
	size_t inside = print_column(table, "kernels", "kernels", PRINT_COUNT);
	size_t count = print_column(table, "count", "count", PRINT_REAL);
	size_t time = print_column(table, "time", "time", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);

	for (size_t i = 0; i < kernels->graph_count; i++) {
		const struct kernel_graph *graph = &kernels->graphs[i];

		print_row(table);
		print_word(table, call, print_clean(table->arena, graph->call));
		print_number(table, inside, (double)graph->kernels);
		print_number(table, count, graph->count);
		print_number(table, time, graph->time_ns);
		if (kernels->time_ns > 0)
			print_number(table, share, graph->time_ns / kernels->time_ns);
	}
}

static void print_run(struct run *run, const struct kernels_options *options, cJSON *list, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	enum print_form form = options->common.form;
	cJSON *object = list ? cJSON_CreateObject() : NULL;
	struct print_table table;
	struct kernels kernels;
	size_t rows;

	kernels_find(analysis, &kernels);
	rows = form == PRINT_TEXT && kernels.row_count > options->top ? options->top : kernels.row_count;
	if (form == PRINT_TEXT) {
		print_heading(arena_format(arena, "%s: %zu GPU%s", print_clean(arena, run->label),
				      analysis->worker_count, analysis->worker_count == 1 ? "" : "s"),
			out);
		cmd_findings(run, form, NULL, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		cJSON_AddNumberToObject(object, "time_ns", kernels.time_ns);
		cJSON_AddItemToArray(list, object);
	}
	print_init(&table, arena);
	kernel_table(&table, analysis, &kernels, rows, form == PRINT_TEXT);
	if (form == PRINT_TEXT && table.row_count == 0)
		print_paragraph("No device times are known.", 2, out);
	else
		print_part(&table, form, object, "kernels", "On the devices in a step, mean of the ranks",
			form == PRINT_TEXT, out);
	print_free(&table);
	if (rows < kernels.row_count) {
		double left = 1;

		for (size_t i = 0; i < rows; i++)
			left -= kernels.rows[i].share;
		print_paragraph(arena_format(arena, "%zu more with %.1f%% of the time (--top).",
					kernels.row_count - rows, 100 * left),
			2, out);
	}
	print_init(&table, arena);
	graph_table(&table, &kernels);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, "graphs",
			"Graphs, as units; their kernels are in the table above", true, out);
	print_free(&table);
	kernels_free(&kernels);
}

enum { OPTION_TOP = OPTION_FIRST };

static int run(int argument_count, char **arguments)
{
	struct kernels_options how = {.common.skip = ANALYSIS_SKIP, .top = 30};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option, status = 0;

	while ((option = command_option(&cmd_kernels, argument_count, arguments)) != -1)
		if (option == OPTION_TOP)
			how.top = command_count(&cmd_kernels, option, optarg, 1, SIZE_MAX);
		else if (!cmd_common_option(&cmd_kernels, &how.common, option, optarg))
			command_unhandled(&cmd_kernels, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_kernels, "no run given");
	runs = cmd_read_runs(&how.common, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.common.form == PRINT_JSON) {
		object = cJSON_CreateObject();
		list = cJSON_AddArrayToObject(object, "runs");
	}
	for (size_t i = 0; i < run_count; i++) {
		if (i > 0 && how.common.form != PRINT_JSON)
			fputc('\n', stdout);
		print_run(&runs[i], &how, list, stdout);
		if (runs[i].analysis.worker_count == 0)
			status = 1;
	}
	cmd_end_runs(object, runs, run_count);
	return status;
}

static const struct option_row rows[] = {
	{"top", OPTION_TOP, "N", "kernels in text (default: 30)"},
	{"json", CMD_JSON, NULL,
		"the same as JSON, with time per kernel (mean_ns), the ranks' least and most "
		"time, and the share in graphs; times in ns"},
	{"csv", CMD_CSV, NULL, "the two tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_kernels = {
	.name = "kernels",
	.summary = "what runs on the devices, by name; CUDA graphs as units",
	.usage = "[OPTION]... RUN...",
	.about = "Prints for each run the kernels, copies, sets and collectives of a step, the "
		 "costliest first: name, phase, layer, how many there are, their time summed over "
		 "streams, and its share; with several ranks the slowest one. All are means over "
		 "the used iterations and the ranks. Names are shortened to what is before their "
		 "arguments; JSON and CSV have them in full too (name).\n"
		 "\n"
		 "Then the launches of CUDA graphs, by how many kernels they have. A graph's "
		 "kernels are in the first table under their names; where nothing says which layer "
		 "they are of, that is \"graph\".\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n",
	.run = run,
};
