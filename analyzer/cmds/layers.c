/* pmanalyze layers: the time of each layer, forward, backward, communication, update. */
#include "cmd_common.h"
#include "analyses/device_memory.h"
#include "analyses/roofline/device_peak.h"
#include "analyses/why.h"
#include "base/csv.h"
#include "import/imported_timeline.h"
#include "output/layer_table.h"
#include "output/report.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_iterations(struct run *run, FILE *out)
{
	const struct analysis *analysis = &run->analysis;

	struct csv_line line = {.out = out};

	fputs("rank,device,iteration,kind,layer,forward_ns,backward_ns,communication_ns,update_ns,wait_ns\n", out);
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		const struct layer_list *layers = &worker->layers;
		const char **titles =
			arena_alloc(&run->analysis.timeline.arena, layers->count, sizeof(*titles));

		for (size_t l = 0; l < layers->count; l++)
			titles[l] =
				print_clean(&run->analysis.timeline.arena, layer_title(&layers->items[l]));
		for (size_t i = 0; i < worker->iterations.count; i++)
			for (size_t l = 0; l < layers->count; l++) {
				const double *times = worker->phases.layers_ns +
						      (i * layers->count + l) * PHASE_LAYER_COLUMNS;

				fprintf(out, "%d,%d,%zu,%s",
					analysis->timeline.processes[worker->worker->process].rank,
					worker->worker->device, i,
					report_iteration_kinds[worker->iterations.items[i].kind]);
				line.begun = true;
				csv_put(&line, titles[l]);
				fprintf(out, ",%.0f,%.0f,%.0f,%.0f,%.0f", times[PHASE_LAYER_FORWARD],
					times[PHASE_LAYER_BACKWARD], times[PHASE_LAYER_COMMUNICATION],
					times[PHASE_LAYER_UPDATE], times[PHASE_LAYER_WAIT]);
				csv_end(&line);
			}
	}
}

static const struct no_layer {
	enum phase_layer_column column;
	const char *key, *title;
} no_layer_times[] = {{PHASE_LAYER_FORWARD, "forward_ns", "forward"},
	{PHASE_LAYER_BACKWARD, "backward_ns", "backward"},
	{PHASE_LAYER_COMMUNICATION, "communication_ns", "communication"},
	{PHASE_LAYER_UPDATE, "update_ns", "update"},
	{PHASE_LAYER_WAIT, "wait_ns", "waiting for the last rank"}};

#define NO_LAYER_TIMES (sizeof(no_layer_times) / sizeof(*no_layer_times))

/* "In no layer: update 128.3 us.": what the columns lack of the phases' device time. */
static void print_no_layer(struct analysis *analysis, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;
	const char *text = "";

	for (size_t i = 0; i < NO_LAYER_TIMES; i++) {
		double ns = analysis_no_layer(
			analysis->workers, analysis->worker_count, no_layer_times[i].column);

		if (ns >= 1)
			text = arena_format(arena, "%s%s%s %s", text, *text ? ", " : "",
				no_layer_times[i].title, print_time(arena, ns));
	}
	if (*text)
		print_paragraph(arena_format(arena, "In no layer, or of all at once: %s.", text), 0, out);
}

static void add_no_layer(cJSON *object, const struct analysis *analysis)
{
	cJSON *item = cJSON_AddObjectToObject(object, "no_layer");

	for (size_t i = 0; i < NO_LAYER_TIMES; i++)
		print_json_number(item, no_layer_times[i].key,
			analysis_no_layer(
				analysis->workers, analysis->worker_count, no_layer_times[i].column));
}

/* Why there are none. */
static const char *no_layers(const struct analysis *analysis)
{
	const struct timeline *timeline = &analysis->timeline;

	if (imported_timeline_is_labels(timeline))
		return "No layers: the labelled phases of the trace name no layer.";
	if (timeline->processes[0].recorder)
		return "No layers: the trace names no operators, modules or layers for its kernels (with "
		       "PyTorch's profiler, record CPU activities too).";
	return "No layers: no call in the iterations uses parameters.";
}

/* "97.2% sure, 2.1% likely, 0.7% weak", leaving out what is none; "-": nothing is known of their time. */
static const char *strengths_of(struct arena *arena, const struct why_shares *shares)
{
	const char *text = "";

	for (int i = RULE_IS_SURE; i <= RULE_IS_WEAK; i++) {
		const double share = why_strength(shares, (enum rule_strength)i);

		if (share > 0)
			text = arena_format(arena, "%s%s%.1f%% %s", text, *text ? ", " : "", 100 * share,
				rule_strength_keys[i]);
	}
	return *text ? text : "-";
}

/* The rules that decided, of one worker. */
static void print_why(
	struct run *run, const struct analysis_worker *worker, enum print_form form, cJSON *object, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	struct print_table table;
	struct why why;

	why_find(analysis, worker, &why);
	if (form == PRINT_TEXT)
		print_paragraph(
			arena_format(arena, "Iteration %lld of %s, %zu calls. Times below are of it alone.%s",
				(long long)analysis_number(analysis, worker, why.iteration),
				analysis_worker_name(analysis, worker), why.row_count,
				why.unknown_count ? " A time of - is part of another call's." : ""),
			0, out);
	if (form == PRINT_TEXT)
		print_paragraph(
			arena_format(arena, "Of their time, phases: %s; layers, where there are any: %s.",
				strengths_of(arena, &why.phases), strengths_of(arena, &why.layers)),
			0, out);
	if (object) {
		cJSON_AddNumberToObject(
			object, "rank", analysis->timeline.processes[worker->worker->process].rank);
		cJSON_AddNumberToObject(
			object, "iteration", (double)analysis_number(analysis, worker, why.iteration));
	}
	print_init(&table, arena);
	why_rule_table(&table, &why);
	print_part(&table, form, object, "rules", "Device time by the rule that decided", form == PRINT_TEXT,
		out);
	print_free(&table);
	print_init(&table, arena);
	why_call_table(&table, analysis, &why, form == PRINT_TEXT);
	print_part(
		&table, form, object, "calls", "Calls, and why they are of that phase and layer", true, out);
	print_free(&table);
	why_free(&why);
}

static void print_all_why(struct run *run, const struct cmd_options *how)
{
	const struct analysis *analysis = &run->analysis;
	cJSON *object = how->form == PRINT_JSON ? cJSON_CreateObject() : NULL, *list = NULL;

	if (object) {
		cJSON_AddStringToObject(object, "run", run->label);
		run_device_json(run, object);
		list = cJSON_AddArrayToObject(object, "workers");
	}
	if (how->form == PRINT_TEXT)
		run_print_device(run, stdout);
	for (size_t w = 0; w < (how->ranks || analysis->worker_count == 0 ? analysis->worker_count : 1);
		w++) {
		cJSON *item = list ? cJSON_CreateObject() : NULL;

		if (item)
			cJSON_AddItemToArray(list, item);
		if (w > 0 && !item)
			fputc('\n', stdout);
		print_why(run, &analysis->workers[w], how->form, item, stdout);
	}
	if (object)
		print_json_end(object, stdout);
}

/* What the run took on a device, or why that is not known. */
static void add_memory(cJSON *object, const struct analysis *analysis)
{
	struct device_memory memory = device_memory(analysis);
	cJSON *item = cJSON_AddObjectToObject(object, "memory");

	if (memory.why)
		cJSON_AddNullToObject(item, "device_bytes");
	else
		cJSON_AddNumberToObject(item, "device_bytes", memory.bytes);
	if (memory.why)
		cJSON_AddStringToObject(item, "unknown", memory.why);
}

/* The first worker's device, as far as its driver or data sheet tell. */
static void add_device(cJSON *object, struct analysis *analysis)
{
	const struct analysis_worker *worker = analysis->worker_count ? &analysis->workers[0] : NULL;
	const struct timeline_device *device =
		worker ? timeline_device(&analysis->timeline.processes[worker->worker->process],
				 worker->worker->device)
		       : NULL;
	const char *name =
		device && *device->name ? print_clean(&analysis->timeline.arena, device->name) : NULL;
	double bandwidth = device_peak(device).bandwidth;
	cJSON *item = cJSON_AddObjectToObject(object, "device");

	cJSON_AddItemToObject(item, "name", name ? cJSON_CreateString(name) : cJSON_CreateNull());
	cJSON_AddItemToObject(item, "memory_bytes",
		device && device->memory_bytes ? cJSON_CreateNumber((double)device->memory_bytes)
					       : cJSON_CreateNull());
	cJSON_AddItemToObject(
		item, "bytes_per_second", bandwidth > 0 ? cJSON_CreateNumber(bandwidth) : cJSON_CreateNull());
}

enum { OPTION_ITERATIONS = OPTION_FIRST, OPTION_RANKS, OPTION_WHY };

static int run_layers(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct run *runs;
	struct print_table table;
	size_t run_count;
	bool why = false;
	int option, status;

	while ((option = command_option(&cmd_layers, argument_count, arguments)) != -1) {
		if (option == OPTION_ITERATIONS)
			how.iterations = true;
		else if (option == OPTION_RANKS)
			how.ranks = true;
		else if (option == OPTION_WHY)
			why = true;
		else if (!cmd_common_option(&cmd_layers, &how, option, optarg))
			command_unhandled(&cmd_layers, option);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_layers, "no run given");
	if (how.iterations && how.form != PRINT_CSV)
		cmd_usage(&cmd_layers, "--iterations needs --csv");
	if (how.iterations && why)
		cmd_usage(&cmd_layers, "--why and --iterations exclude each other");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (run_count != 1)
		cmd_usage(&cmd_layers, "exactly one run is expected");
	print_init(&table, &runs[0].analysis.timeline.arena);
	if (how.iterations) {
		print_iterations(&runs[0], stdout);
	} else if (why) {
		print_all_why(&runs[0], &how);
	} else {
		layer_table(&table, &runs[0].analysis, how.ranks, how.form);
		if (how.form == PRINT_CSV) {
			print_csv(&table, stdout);
		} else if (how.form == PRINT_JSON) {
			cJSON *object = cJSON_CreateObject();
			double samples;

			cJSON_AddStringToObject(object, "run", runs[0].label);
			cJSON_AddStringToObject(
				object, "recorder", report_device_times_key(&runs[0].analysis, "pmhook"));
			add_device(object, &runs[0].analysis);
			run_device_json(&runs[0], object);
			add_memory(object, &runs[0].analysis);
			cJSON_AddNumberToObject(object, "gpus", (double)runs[0].analysis.worker_count);
			samples = analysis_samples(&runs[0].analysis);
			print_json_number(object, "samples", samples > 0 ? samples : NAN);
			cJSON_AddItemToObject(object, "layers", print_json(&table));
			add_no_layer(object, &runs[0].analysis);
			print_json_end(object, stdout);
		} else if (table.row_count > 0) {
			run_print_device(&runs[0], stdout);
			print_text(&table,
				arena_format(table.arena, "Layers%s, mean time of %s",
					how.ranks ? " by rank" : "",
					runs[0].analysis.is_whole ? "the recording" : "an iteration"),
				stdout);
			print_no_layer(&runs[0].analysis, stdout);
		} else if (runs[0].analysis.worker_count > 0) {
			print_paragraph(no_layers(&runs[0].analysis), 0, stdout);
		}
	}
	fflush(stdout);
	cmd_print_warnings(&runs[0]);
	status = runs[0].analysis.worker_count == 0;
	print_free(&table);
	cmd_free_runs(runs, run_count);
	return status;
}

static const struct option_row rows[] = {
	{"ranks", OPTION_RANKS, NULL, "a row per rank and layer"},
	{"why", OPTION_WHY, NULL,
		"instead, of one iteration of the first rank (with --ranks of each): for each call "
		"the rule that decided its phase and its layer, and the share of the device time "
		"that each rule decides; with --csv two tables, an empty line between them"},
	{"json", CMD_JSON, NULL,
		"with standard deviations, shapes of inputs, call sites, and floating-point "
		"operations (flops; forward and backward, per GPU); times in ns; with who recorded the run (recorder: pmhook, kineto, nsight_systems, labels), the first "
		"GPU (device: name, memory_bytes, bytes_per_second at its peak) and the device "
		"memory that the run took (memory: device_bytes, of the device with most), where its "
		"allocations tell, the number of gpus, samples of an iteration over all of them where they are known, and the device time of no layer (no_layer)"},
	{"csv", CMD_CSV, NULL, "the same as CSV"},
	{"iterations", OPTION_ITERATIONS, NULL,
		"with --csv: a row per rank, iteration and layer: rank, device, iteration, kind, "
		"layer, forward, backward, communication, update"},
	{0},
};

const struct command cmd_layers = {
	.name = "layers",
	.summary = "the time of each layer: forward, backward, communication, update",
	.usage = "[OPTION]... RUN",
	.about = "Finds the layers of the model and prints, for each, its sizes, the number of its "
		 "parameters, and the mean time per iteration of its forward (t_f) and backward "
		 "(t_b) calls, of the exchange of its gradients (t_c) and of its update (t_u), "
		 "over all ranks; then its share of the time of all layers. An exchange or update "
		 "that serves several layers is distributed by the bytes of their parameters. Time "
		 "in which a rank waits in an exchange for the last rank is no layer's: column wait "
		 "has it, beside the layer whose gradients wait, and neither t_c nor the share do; "
		 "where ranks have no trace, it is in t_c, and how much is unknown. "
		 "Times are sums of the calls' GPU times, over all micro-batches of an iteration.\n"
		 "\n"
		 "Forward work repeated for the backward pass (recomputation) counts as backward; "
		 "column t_r is its part of t_b. Where each rank has only a part of the layers, "
		 "each layer is listed once, with its ranks; messages between them count as the "
		 "communication of the layer at the cut.\n"
		 "\n"
		 "Forward and backward calls that share a parameter are one layer, with the "
		 "activation that follows it. A layer has its module's name in the program "
		 "(net.layer1.0.conv1) where the trace has it; its kind counts from 1:\n"
		 "\n"
		 "  conv2    5x5x6->16 s1 p0\tkernel, input and output channels, stride, padding; d "
		 "dilation, g groups, where not 1\n"
		 "  pool1    max 2x2 s2\tkind, window, stride; p padding, where not 0\n"
		 "  fc3      84->10\tinputs, outputs\n"
		 "  norm1    6\tchannels\n"
		 "  lstm1    784->256 x2 bi\tinputs, units, layers, both directions; gru, rnn\n"
		 "  attention1 8 heads 512\theads, size of the queries, where known\n"
		 "  dropout1 0.5\tprobability\n"
		 "  add1\tsum of two branches\n"
		 "  scale1\tmultiplication by a learned scalar\n"
		 "  softmax, loss\tloss: elementwise comparison with a target\n"
		 "\n"
		 "A time of - is unknown: it is inside a captured graph, which is timed as one "
		 "(phase \"graph\" of the report) unless device times come from CUPTI.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n",
	.run = run_layers,
};
