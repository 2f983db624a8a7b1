/* pmanalyze roofline: operations and bytes of each layer against what the GPU can do. */
#include "cmd_common.h"
#include "analyses/roofline/operator_rates.h"
#include "base/plot_text.h"

#include <math.h>
#include <string.h>

struct how {
	struct cmd_options common;
	struct roofline_options roofline;
	bool plot, kinds, operators;
};

static double finite_or(double number, double other)
{
	return isfinite(number) ? number : other;
}

static void add_number(cJSON *object, const char *key, double number)
{
	if (isfinite(number))
		cJSON_AddNumberToObject(object, key, number);
	else
		cJSON_AddNullToObject(object, key);
}

static cJSON *peak_json(const struct roofline *roofline)
{
	cJSON *object = cJSON_CreateObject(), *flops = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "source", roofline->peak.source);
	cJSON_AddNumberToObject(object, "bytes_per_second", roofline->peak.bandwidth);
	for (int type = 0; type < WORK_TYPE_COUNT; type++)
		cJSON_AddNumberToObject(flops, work_type_names[type], roofline->peak.flops[type]);
	cJSON_AddItemToObject(object, "flops_per_second", flops);
	return object;
}

static void add_whole(const struct roofline *roofline, cJSON *object)
{
	if (roofline->device)
		cJSON_AddStringToObject(object, "device", roofline->device);
	else
		cJSON_AddNullToObject(object, "device");
	cJSON_AddItemToObject(
		object, "peak", roofline->peak.source ? peak_json(roofline) : cJSON_CreateNull());
	cJSON_AddBoolToObject(object, "mixed_devices", roofline->mixed);
	add_number(object, "iteration_ns", roofline->iteration_ns);
	add_number(object, "model_flops", roofline->model_flops);
	add_number(object, "performed_flops", roofline->performed_flops);
	add_number(object, "flops_per_second", roofline->flops_rate);
	add_number(object, "utilization", roofline->utilization);
	add_number(object, "roof_ns", roofline->roof_ns);
	add_number(object, "shortest_kernel_ns", roofline->shortest_ns);
}

static void print_device(const struct roofline *roofline, struct arena *arena, bool elsewhere)
{
	const struct device_peak *peak = &roofline->peak;
	const char *name = roofline->device ? print_clean(arena, roofline->device) : NULL;
	const char *text;

	if (!peak->source && roofline->time_scale != 1) {
		print_paragraph(
			arena_format(arena,
				"GPU: %s; times are %g× as long as its own, so its peak rates are no roof for "
				"them. Record with SOFTGPU_TIME_SCALE=1, or set the rates with --peak-flops and "
				"--bandwidth.",
				name ? name : "unknown", roofline->time_scale),
			2, stdout);
		return;
	}
	if (!peak->source) {
		print_paragraph(
			arena_format(arena,
				"%s%s%s: unknown peak rates, so there is no roof; set them with "
				"--peak-flops and --bandwidth.",
				name ? "GPU: " : "The trace does not name the GPU", name ? name : "",
				name        ? ""
				: elsewhere ? " (not recorded by its profiler)"
					    : " (written by an older pmhook, or the driver query failed)"),
			2, stdout);
		return;
	}
	text = arena_format(arena, "GPU: %s; peak", name ? name : "unknown");
	for (int type = 0; type < WORK_TYPE_COUNT; type++)
		if (roofline_has_type(roofline, (enum work_type)type))
			text = arena_format(arena, "%s %sFLOP/s %s,", text,
				roofline_rate_text(arena, peak->flops[type]), work_type_names[type]);
	print_paragraph(arena_format(arena, "%s %sB/s (from %s).%s", text,
				roofline_rate_text(arena, peak->bandwidth), peak->source,
				roofline->mixed ? " Other GPUs of the run are of a different model; each "
						  "is compared with its own peak."
						: ""),
		2, stdout);
}

static void print_whole(const struct roofline *roofline, struct arena *arena, bool elsewhere)
{
	const char *text;

	if (elsewhere && !(roofline->model_flops > 0)) {
		print_paragraph(
			arena_format(arena,
				"Iteration: %s. Operations and bytes are unknown: the trace has no sizes of "
				"operators' inputs. Times are shown; record with pmhook, or with "
				"torch.profiler.profile(record_shapes=True), for the rest.",
				print_time(arena, roofline->iteration_ns)),
			2, stdout);
		return;
	}
	text = arena_format(arena,
		"Iteration: %sFLOP forward and backward per GPU, in %s; %sFLOP/s including all other work.",
		roofline_rate_text(arena, roofline->model_flops), print_time(arena, roofline->iteration_ns),
		roofline_rate_text(arena, roofline->flops_rate));

	if (isfinite(roofline->utilization))
		text = arena_format(arena,
			"%s Model FLOPs utilization (MFU): %.1f%%. At the roof the work takes %s (%.1f%% "
			"of the iteration).",
			text, 100 * roofline->utilization, print_time(arena, roofline->roof_ns),
			100 * roofline->roof_ns / roofline->iteration_ns);
	else if (roofline->time_scale != 1)
		text = arena_format(arena, "%s Model FLOPs utilization (MFU): - (times x %g).", text,
			roofline->time_scale);
	print_paragraph(text, 2, stdout);
}

/* What the figures leave out. */
static void print_limits(const struct roofline *roofline, struct arena *arena)
{
	double unknown_ns = 0, known_ns = 0;
	bool untimed = false;

	for (size_t i = 0; i < roofline->item_count; i++) {
		unknown_ns += roofline->items[i].amount.unknown_ns;
		known_ns += finite_or(roofline->items[i].amount.time_ns, 0);
		untimed |= !isfinite(roofline->items[i].amount.time_ns);
	}
	if (unknown_ns > 0)
		print_paragraph(
			arena_format(arena,
				"%s of the layers' %s per iteration is in kernels with an unknown number "
				"of operations.",
				print_time(arena, unknown_ns), print_time(arena, unknown_ns + known_ns)),
			2, stdout);
	if (untimed)
		print_paragraph(
			"A time of - is unknown: no device times were recorded, or it is inside a captured "
			"graph.",
			2, stdout);
}

static void print_plot(const struct roofline *roofline)
{
	const struct plot_text how = plot_text_for(stdout, false);
	struct plot plot;

	fputc('\n', stdout);
	if (roofline_plot(roofline, &plot))
		plot_text_print(&plot, &how, stdout);
	else
		puts("Nothing to plot: no layer has both an operation count and device times.");
	plot_free(&plot);
}

#define OPERATORS_SHOWN 20

/* Operators by the sizes of their inputs, where the trace has those. */
static void print_operators(struct run *run, const struct how *how, cJSON *object)
{
	struct arena *arena = &run->analysis.timeline.arena;
	const bool text = how->common.form == PRINT_TEXT;
	const size_t most = text && !how->operators ? OPERATORS_SHOWN : SIZE_MAX;
	struct operator_rates rates;
	struct print_table table;

	operator_rates_find(&run->analysis, &how->roofline, &rates);
	print_init(&table, arena);
	operator_rates_table(&rates, &table, text ? ROOFLINE_TEXT : ROOFLINE_PROGRAM, most);
	if (!text || rates.count)
		print_part(&table, how->common.form, object, "operators",
			"Operators by sizes of their inputs, mean per iteration and GPU", text, stdout);
	if (text && rates.count)
		print_paragraph(
			arena_format(arena,
				"%s%.1f%% of the devices' %s without communication is in operators with a known "
				"number of operations.",
				rates.count > most ? arena_format(arena, "%zu more take less (--operators). ",
							     rates.count - most)
						   : "",
				100 * rates.known_ns / rates.time_ns, print_time(arena, rates.time_ns)),
			2, stdout);
	else if (text && how->operators)
		print_paragraph("The trace has no operators with the sizes of their inputs: record with "
				"torch.profiler.profile(record_shapes=True).",
			2, stdout);
	print_free(&table);
	operator_rates_free(&rates);
}

static void print_run(struct run *run, const struct roofline *roofline, const struct how *how)
{
	struct arena *arena = &run->analysis.timeline.arena;
	struct print_table layers, kinds;
	cJSON *object = how->common.form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	bool text = how->common.form == PRINT_TEXT,
	     elsewhere = run->analysis.timeline.processes[0].recorder != NULL;

	print_init(&layers, arena);
	print_init(&kinds, arena);
	roofline_layer_table(roofline, &layers,
		!text       ? ROOFLINE_PROGRAM
		: how->plot ? ROOFLINE_PLOT
			    : ROOFLINE_TEXT);
	roofline_kind_table(roofline, &kinds, text ? ROOFLINE_TEXT : ROOFLINE_PROGRAM);
	if (object) {
		cJSON_AddStringToObject(object, "run", run->label);
		add_whole(roofline, object);
		run_device_json(run, object);
	} else if (text) {
		print_heading(arena_format(arena, "%s: roofline", print_clean(arena, run->label)), stdout);
		run_print_device(run, stdout);
		print_device(roofline, arena, elsewhere);
		print_whole(roofline, arena, elsewhere);
	}
	if (how->common.form == PRINT_TEXT ? layers.row_count > 0 && !how->operators
					   : how->common.form != PRINT_CSV || (!how->kinds && !how->operators))
		print_part(&layers, how->common.form, object, "layers",
			"Layers, work per iteration and GPU, and its median time", text, stdout);
	if (how->common.form == PRINT_TEXT ? !how->operators : how->common.form != PRINT_CSV || how->kinds)
		print_part(&kinds, how->common.form, object, "kinds", "Kinds of work", text, stdout);
	if (how->common.form != PRINT_CSV || how->operators)
		print_operators(run, how, object);
	if (text) {
		if (!how->operators)
			print_limits(roofline, arena);
		if (how->plot)
			print_plot(roofline);
	}
	if (object)
		print_json_end(object, stdout);
	print_free(&layers);
	print_free(&kinds);
}

static double rate_of(int key, const char *text)
{
	double rate = device_peak_rate(text);

	if (rate < 0)
		cmd_usage(&cmd_roofline, "%s: '%s' is not a rate above 0 such as 125T or 900G",
			command_option_name(&cmd_roofline, key), text);
	return rate;
}

enum { OPTION_PEAK_FLOPS = OPTION_FIRST, OPTION_BANDWIDTH, OPTION_PLOT, OPTION_KINDS, OPTION_OPERATORS };

static int run_roofline(int argument_count, char **arguments)
{
	struct how how = {.common.skip = ANALYSIS_SKIP};
	struct roofline roofline;
	struct run *runs;
	size_t run_count;
	int option, status;

	while ((option = command_option(&cmd_roofline, argument_count, arguments)) != -1) {
		if (option == OPTION_PEAK_FLOPS)
			how.roofline.flops = rate_of(option, optarg);
		else if (option == OPTION_BANDWIDTH)
			how.roofline.bandwidth = rate_of(option, optarg);
		else if (option == OPTION_PLOT)
			how.plot = true;
		else if (option == OPTION_KINDS)
			how.kinds = true;
		else if (option == OPTION_OPERATORS)
			how.operators = true;
		else if (!cmd_common_option(&cmd_roofline, &how.common, option, optarg))
			command_unhandled(&cmd_roofline, option);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_roofline, "no run given");
	if (how.plot && how.common.form != PRINT_TEXT)
		cmd_usage(&cmd_roofline, "--plot needs text output: it excludes --json and --csv");
	if (how.kinds && how.common.form != PRINT_CSV)
		cmd_usage(&cmd_roofline, "--kinds needs --csv: text and JSON always include the kinds");
	if (how.kinds && how.operators)
		cmd_usage(&cmd_roofline, "--kinds and --operators exclude each other");
	runs = cmd_read_runs(&how.common, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (run_count != 1)
		cmd_usage(&cmd_roofline, "exactly one run is expected");
	roofline_find(&runs[0].analysis, &how.roofline, &roofline);
	status = runs[0].analysis.worker_count == 0;
	if (!status || how.common.form == PRINT_JSON)
		print_run(&runs[0], &roofline, &how);
	fflush(stdout);
	cmd_print_warnings(&runs[0]);
	roofline_free(&roofline);
	cmd_free_runs(runs, run_count);
	return status;
}

static const struct option_row rows[] = {
	{"peak-flops", OPTION_PEAK_FLOPS, "RATE",
		"FLOP/s, for all types: 125T, 15.7 TFLOP/s (default: by the GPU's name)"},
	{"bandwidth", OPTION_BANDWIDTH, "RATE",
		"bytes/s of the GPU's memory: 900G, 2.0TB/s (default: by the GPU's name)"},
	{"plot", OPTION_PLOT, NULL,
		"with the roofline plot: FLOP/byte to the right, FLOP/s upwards, a letter per row "
		"of the table (default: no plot)"},
	{"json", CMD_JSON, NULL, "layers, kinds, operators, the total; in FLOP, bytes and ns"},
	{"csv", CMD_CSV, NULL, "the layers as CSV, each row with the GPU's name where all are alike"},
	{"kinds", OPTION_KINDS, NULL, "with --csv: the kinds instead"},
	{"operators", OPTION_OPERATORS, NULL,
		"operators by sizes of their inputs alone, all of them (default: the 20 costliest, with the "
		"rest; traces of PyTorch's profiler with record_shapes)"},
	{0},
};

const struct command cmd_roofline = {
	.name = "roofline",
	.summary = "operations and bytes of each layer against the GPU's peak rates",
	.usage = "[OPTION]... RUN",
	.about =
		"For each layer and pass (forward; dgrad, the gradient of its data; wgrad, that "
		"of its parameters; recompute, repeated forward work; update), and for each kind "
		"of work: its floating-point operations (FLOP), its bytes, its arithmetic "
		"intensity (FLOP per byte), its GPU time, the achieved rates, its time at the "
		"roof, the share of that in the measured time, and its bound:\n"
		"\n"
		"  compute\tits operations at the GPU's peak take longer than its bytes at the "
		"memory's bandwidth\n"
		"  memory\tthe opposite\n"
		"  latency\tits kernels are too short to reach the roof: on average at most 2× the "
		"shortest of the run (if that is at most 10 us), and below half of the roof\n"
		"\n"
		"Work is the mean per iteration and GPU; its time is a median over iterations and "
		"GPUs. A multiplication and an addition are two operations. Operations are the "
		"mathematical ones, whatever the algorithm; bytes count each operand once "
		"(accumulated results twice), so caches and scratch memory are left out. The roof "
		"of a call is the longer of its two times, and that of a layer the sum over its "
		"calls. More than 100% indicates an algorithm with fewer operations (Winograd), "
		"operands that stay in a cache, or a wrong peak.\n"
		"\n"
		"The model FLOPs utilization (MFU) is the time of the operations of forward and "
		"backward pass, without recomputation, at the peak of their arithmetic, as a "
		"share of the iteration. The arithmetic is the default of the libraries: cuDNN's "
		"float convolutions use TF32 where the GPU has it, cuBLAS's float products do not "
		"(the math mode of a handle is not in the trace).\n"
		"\n"
		"Peaks are those of the GPU's data sheet, by its name; for a GPU that is not "
		"listed, computed from its clocks and units. A trace without the GPU's name has "
		"rates but no roof. Custom kernels, and captured graphs timed as a whole, have "
		"times but no operations; the time in a table is then that of the calls that have "
		"operations.\n"
		"\n"
		"Of traces of PyTorch's profiler that have the sizes of operators' inputs, work is that of "
		"the operators: products, convolutions (with Concrete Inputs, PyTorch 2.1 and later), attention "
		"(what a mask leaves out counts), and what works element by element. An operator is listed for "
		"each sizes of its inputs, with the time of all kernels that it launches.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n",
	.run = run_roofline,
};
