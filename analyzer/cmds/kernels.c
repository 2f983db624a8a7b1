/* pmanalyze kernels: what ran on the devices, by name. */
#include "analyses/kernels.h"
#include "analyses/queue_length.h"
#include "analyses/step.h"
#include "cmd_common.h"

#include <stdint.h>
#include <string.h>

struct kernels_options {
	struct cmd_options common;
	size_t top;
	bool queue;
};

static void graph_table(struct print_table *table, const struct kernels *kernels)
{
	size_t call = print_column(table, "call", "launched by", PRINT_WORD);
	size_t inside = print_column(table, "kernels", "kernels", PRINT_COUNT);
	size_t count = print_column(table, "count", "count", PRINT_FIGURE);
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

/* How much work is enqueued and has not started. */
static void print_queues(struct run *run, enum print_form form, cJSON *object, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct queue_lengths lengths;
	struct print_table table;

	queue_lengths_find(analysis, &lengths);
	print_init(&table, &analysis->timeline.arena);
	if (form == PRINT_CSV)
		queue_point_table(&table, analysis, &lengths);
	else
		queue_length_table(&table, analysis, &lengths);
	if (form != PRINT_TEXT || table.row_count)
		print_part(&table, form, object, "queues", "Launched and not started, by time, all of the recording",
			form == PRINT_TEXT, out);
	if (form == PRINT_TEXT && (lengths.hostless || table.row_count == 0))
		print_paragraph(lengths.hostless ? "Of some GPUs only the work is known, not when it was launched."
						 : "No device times are known.",
			2, out);
	print_free(&table);
	queue_lengths_free(&lengths);
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
		run_print_device(run, out);
		cmd_findings(run, form, NULL, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		run_device_json(run, object);
		cJSON_AddNumberToObject(object, "time_ns", kernels.time_ns);
		if (kernels.assumed.names)
			cJSON_AddNumberToObject(object, "assumed_share", kernels.assumed.share);
		cJSON_AddItemToArray(list, object);
	}
	if (options->queue || form == PRINT_JSON)
		print_queues(run, form, object, out);
	if (options->queue && form != PRINT_JSON) {
		kernels_free(&kernels);
		return;
	}
	print_init(&table, arena);
	kernels_table(&table, analysis, &kernels, rows, form);
	if (form == PRINT_TEXT && table.row_count == 0)
		print_paragraph("No device times are known.", 2, out);
	else
		print_part(&table, form, object, "kernels",
			arena_format(
				arena, "On the devices in %s, mean of the ranks", step_unit(analysis->is_whole)),
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
	if (form == PRINT_TEXT && kernels.assumed.names)
		print_paragraph(arena_format(arena, "%s.", kernels_assumed_text(arena, &kernels)), 2, out);
	print_init(&table, arena);
	graph_table(&table, &kernels);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, "graphs",
			"Graphs, as units; their kernels are in the table above", true, out);
	print_free(&table);
	kernels_free(&kernels);
}

enum { OPTION_TOP = OPTION_FIRST, OPTION_QUEUE };

static int run_kernels(int argument_count, char **arguments)
{
	struct kernels_options how = {.common.skip = ANALYSIS_SKIP, .top = 30};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option, status = 0;

	while ((option = command_option(&cmd_kernels, argument_count, arguments)) != -1)
		if (option == OPTION_TOP)
			how.top = command_count(&cmd_kernels, option, optarg, 1, SIZE_MAX);
		else if (option == OPTION_QUEUE)
			how.queue = true;
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
	{"queue", OPTION_QUEUE, NULL,
		"instead, by stream, how much work is launched and has not started: over the time of the recording the "
		"mean, the median and the most, and shares of the time with none (the device waits for the host) and "
		"with 1,024 or more (CUDA makes the host wait); with --csv each change of it, at ns from the first "
		"(JSON has the table without this option, too)"},
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
	.run = run_kernels,
};
