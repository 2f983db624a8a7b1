/* pmfit transfer: layers on a GPU of which little or nothing was measured. */
#include "transfer/transfer.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cmd.h"
#include "output/sentences.h"
#include "step/step_table.h"

#include <limits.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct choices {
	const char *devices, *to, *layers, *like;
	struct transfer_columns columns;
	struct transfer_how how;
	const char **ignored;
	size_t ignored_room;
	enum print_form form;
};

enum {
	DEVICES = OPTION_FIRST,
	TO,
	LAYERS,
	LIKE,
	TIME,
	DEVICE_COLUMN,
	FLOPS_COLUMN,
	BYTES_COLUMN,
	IGNORE,
	SKIP_BAD,
	CONFIDENCE,
	SEED,
	THREADS
};

static void take_time(struct transfer_columns *columns, char *argument)
{
	char *comma = strchr(argument, ',');

	if (comma) {
		*comma = '\0';
		columns->unit = comma + 1;
		if (isnan(step_unit_seconds(columns->unit)))
			cmd_usage(&cmd_transfer, "--time %s,%s: expected the unit s, ms, us or ns", argument,
				comma + 1);
	}
	columns->time = argument;
}

static void take_ignored(struct choices *c, char *argument)
{
	char *save = NULL;

	for (char *item = strtok_r(argument, ",", &save); item; item = strtok_r(NULL, ",", &save))
		*MEM_PUSH(c->ignored, c->columns.ignored_count, c->ignored_room) = item;
	c->columns.ignored = c->ignored;
}

static void take_columns(struct choices *c, int option)
{
	if (option == TIME)
		take_time(&c->columns, optarg);
	else if (option == DEVICE_COLUMN)
		c->columns.device = optarg;
	else if (option == FLOPS_COLUMN)
		c->columns.flops = optarg;
	else if (option == BYTES_COLUMN)
		c->columns.bytes = optarg;
	else if (option == IGNORE)
		take_ignored(c, optarg);
	else if (option == SKIP_BAD)
		c->columns.skip_bad = true;
	else
		command_unhandled(&cmd_transfer, option);
}

static void take_options(int argument_count, char **arguments, struct choices *c)
{
	int option;

	while ((option = command_option(&cmd_transfer, argument_count, arguments)) != -1)
		if (option == DEVICES)
			c->devices = optarg;
		else if (option == TO)
			c->to = optarg;
		else if (option == LAYERS)
			c->layers = optarg;
		else if (option == LIKE)
			c->like = optarg;
		else if (option == CONFIDENCE)
			c->how.confidence = command_number(&cmd_transfer, option, optarg, 0.5, 0.999);
		else if (option == SEED)
			c->how.learn.seed = command_count(&cmd_transfer, option, optarg, 0, ULONG_MAX);
		else if (option == THREADS)
			c->how.learn.threads = command_count(&cmd_transfer, option, optarg, 0, 1024);
		else if (option == 'c')
			c->form = PRINT_CSV;
		else if (option == 'j')
			c->form = PRINT_JSON;
		else
			take_columns(c, option);
	if (!c->devices || !c->to)
		cmd_usage(&cmd_transfer, "--devices and --to are required");
	if (c->layers && c->like)
		cmd_usage(&cmd_transfer, "--layers and --like exclude each other");
	if (optind == argument_count)
		cmd_usage(&cmd_transfer, "expected a table of measured layers");
}

/* "V100=v100.csv": all rows of the file are of that device; a file of this whole name comes first. */
static struct transfer_source source_of(char *argument)
{
	char *equal = strchr(argument, '=');

	if (!equal || equal == argument || memchr(argument, '/', (size_t)(equal - argument)) ||
		access(argument, F_OK) == 0)
		return (struct transfer_source){.path = argument};
	*equal = '\0';
	return (struct transfer_source){.path = equal + 1, .device = argument};
}

/* The device of a name, or the end with those that there are. */
static size_t device_of(
	const struct transfer_table *table, const char *option, const char *name, const char *path)
{
	size_t device = transfer_device_find(table, name);

	if (device == table->device_count)
		errx(1, "%s %s: no peak rates of it in %s: without them nothing can be said of it", option,
			name, path);
	return device;
}

/* Where no layer is asked for: those of one known device, all its rows. */
static void ask_like(struct transfer_table *table, const struct choices *c, size_t target)
{
	const size_t count = table->count;
	size_t like = table->device_count;
	bool is_asked = false, several = false;

	for (size_t k = 0; k < count; k++) {
		const struct transfer_layer *layer = &table->layers[k];

		is_asked |= isnan(layer->time);
		if (isnan(layer->time) || layer->device == target)
			continue;
		several |= like != table->device_count && like != layer->device;
		like = layer->device;
	}
	if (c->like)
		like = device_of(table, "--like", c->like, c->devices);
	else if (is_asked)
		return;
	else if (several)
		errx(1,
			"no layer is asked for: --like GPU asks for those of a known GPU, --layers FILE for those of a "
			"file, a row of %s without a time for itself",
			c->to);
	for (size_t k = 0; k < count; k++) {
		struct transfer_layer layer = table->layers[k];

		if (layer.device != like || isnan(layer.time))
			continue;
		layer.device = target;
		layer.time = NAN;
		*MEM_PUSH(table->layers, table->count, table->room) = layer;
	}
}

/* What was found, for all forms. */
struct answer {
	const struct choices *choices;
	const struct transfer_table *table;
	const struct transfer *transfer;
	struct arena arena;
	struct print_table layers, trials;
	struct sentences said;
};

static void tabulate_layers(struct answer *a)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("layer", "layer", PRINT_WORD),
		PRINT_COLUMN("line", "line", PRINT_COUNT),
		PRINT_COLUMN("predicted", "predicted", PRINT_TIME),
		PRINT_COLUMN("low", "low", PRINT_TIME),
		PRINT_COLUMN("high", "high", PRINT_TIME),
		PRINT_COLUMN("roofline_ratio", "roofline ratio", PRINT_TIME),
		PRINT_COLUMN("efficiency", "efficiency", PRINT_WORD),
		PRINT_COLUMN("same_layer_on", NULL, PRINT_COUNT),
		PRINT_COLUMN("basis", "basis", PRINT_WORD),
	};
	const char *basis = a->transfer->measured_count ? arena_format(&a->arena, "%zu rows measured",
								  a->transfer->measured_count)
							: "data sheet";

	print_init(&a->layers, &a->arena);
	print_columns(&a->layers, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < a->transfer->answer_count; i++) {
		const struct transfer_answer *answer = &a->transfer->answers[i];
		const struct transfer_layer *layer = &a->table->layers[answer->layer];

		print_row(&a->layers);
		print_word(&a->layers, 0, layer->name);
		print_numbers(&a->layers, 1,
			(double[]){
				(double)layer->line, answer->time, answer->low, answer->high, answer->plain},
			5);
		if (answer->basis == TRANSFER_SAME)
			print_term(&a->layers, 6, "same-layer", "this layer's");
		else
			print_word(&a->layers, 6, "learned");
		print_number(&a->layers, 7, (double)answer->same_on);
		print_term(
			&a->layers, 8, a->transfer->measured_count ? "measured-rows" : "data-sheet", basis);
	}
}

static void tabulate_trials(struct answer *a)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("device", "left out", PRINT_WORD),
		PRINT_COLUMN("layers", "layers", PRINT_COUNT),
		PRINT_COLUMN("roofline_ratio_error", "roofline ratio", PRINT_SHARE),
		PRINT_COLUMN("unmeasured_error", "none measured", PRINT_SHARE),
		PRINT_COLUMN("error", "error", PRINT_SHARE),
		PRINT_COLUMN("in_interval", "in interval", PRINT_SHARE),
	};

	print_init(&a->trials, &a->arena);
	print_columns(&a->trials, columns, sizeof(columns) / sizeof(*columns));
	if (a->transfer->measured_count)
		a->trials.columns[4].title =
			arena_format(&a->arena, "%zu rows measured", a->transfer->measured_count);
	else
		a->trials.columns[4].title = NULL;
	for (size_t i = 0; i < a->transfer->trial_count; i++) {
		const struct transfer_trial *trial = &a->transfer->trials[i];

		print_row(&a->trials);
		print_word(&a->trials, 0, a->table->devices[trial->device].name);
		print_numbers(&a->trials, 1,
			(double[]){(double)trial->rows, trial->plain, trial->unmeasured, trial->error,
				trial->coverage},
			5);
	}
}

/* The greatest error of a known GPU that was left out; NAN: none could be tried. */
static double worst_of(const struct transfer *transfer)
{
	double worst = NAN;

	for (size_t i = 0; i < transfer->trial_count; i++)
		worst = fmax(worst, transfer->trials[i].error);
	return worst;
}

/* A factor that would be printed as 1.00 widens nothing. */
static void say_intervals(struct answer *a, const struct transfer *t)
{
	char widened[32] = "";

	if (t->widened >= 1.005)
		snprintf(widened, sizeof(widened), ", widened by %.2f", t->widened);
	sentences_add(&a->said,
		"Intervals: %g%%, by how far each of %zu GPUs was off when it was left out%s. A GPU unlike all of "
		"them may be further off.",
		100 * a->choices->how.confidence, t->known_count, widened);
}

static void say_basis(struct answer *a)
{
	const struct transfer *t = a->transfer;
	const char *to = a->choices->to;

	if (t->measured_count)
		sentences_add(&a->said,
			"Basis: layers of %zu other GPU%s, corrected by %zu measured row%s of %s: a layer of usual "
			"length takes %.3g× what the others say.",
			t->known_count, pm_text_plural(t->known_count), t->measured_count,
			pm_text_plural(t->measured_count), to, t->factor);
	else
		sentences_add(&a->said,
			"Basis: layers of %zu other GPU%s and the data sheet's rates of %s alone: nothing of it was "
			"measured. A few measured layers of it would narrow the answer.",
			t->known_count, pm_text_plural(t->known_count), to);
	if (t->known_count == 1)
		sentences_add(&a->said,
			"Intervals are unknown: with one other GPU none can be left out to see how far such answers "
			"are off.");
	else if (isnan(t->widened))
		sentences_add(&a->said,
			"Intervals are unknown: no GPU has more rows than those measured of %s.", to);
	else
		say_intervals(a, t);
	if (worst_of(t) > 0.5)
		sentences_add(&a->said,
			"warning: a GPU that was left out was off by %.0f%% on average: measure rows of %s before "
			"you rely on this.",
			100 * worst_of(t), to);
}

static void say_sum(struct answer *a)
{
	const struct transfer *t = a->transfer;
	const char *range =
		isnan(t->sum_low) ? ""
				  : arena_format(&a->arena, " (%s to %s)", print_time(&a->arena, t->sum_low),
					    print_time(&a->arena, t->sum_high));

	sentences_add(&a->said, "All %zu layers, one after the other: %s%s.", t->answer_count,
		print_time(&a->arena, t->sum), range);
}

static void say_descriptors(struct answer *a)
{
	const char *text = "";

	for (size_t i = 0; i < a->table->column_count; i++)
		text = arena_format(&a->arena, "%s%s%s", text, i ? ", " : "", a->table->columns[i]);
	if (*text)
		sentences_add(&a->said,
			"Columns taken for descriptions of a layer: %s. What depends on the time "
			"must not be among them (--ignore).",
			text);
}

static void answer_init(struct answer *a, const struct choices *c, const struct transfer_table *table,
	const struct transfer *transfer)
{
	*a = (struct answer){.choices = c, .table = table, .transfer = transfer};
	a->said.arena = &a->arena;
	tabulate_layers(a);
	tabulate_trials(a);
	say_sum(a);
	say_basis(a);
	say_descriptors(a);
}

static void answer_json(const struct answer *a)
{
	const struct transfer *t = a->transfer;
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "device", a->choices->to);
	cJSON_AddStringToObject(root, "basis", t->measured_count ? "measured-rows" : "data-sheet");
	cJSON_AddNumberToObject(root, "measured_rows", (double)t->measured_count);
	cJSON_AddNumberToObject(root, "known_devices", (double)t->known_count);
	cJSON_AddNumberToObject(root, "confidence", a->choices->how.confidence);
	print_json_number(root, "factor", t->measured_count ? t->factor : NAN);
	print_json_number(root, "total_ns", t->sum);
	print_json_number(root, "total_low_ns", t->sum_low);
	print_json_number(root, "total_high_ns", t->sum_high);
	cJSON_AddItemToObject(root, "layers", print_json(&a->layers));
	cJSON_AddItemToObject(root, "left_out", print_json(&a->trials));
	sentences_json(&a->said, root, "sentences");
	print_json_end(root, stdout);
}

static void answer_print(struct answer *a)
{
	if (a->choices->form == PRINT_CSV) {
		print_csv(&a->layers, stdout);
		return;
	}
	if (a->choices->form == PRINT_JSON) {
		answer_json(a);
		return;
	}
	print_text(&a->layers, arena_format(&a->arena, "Layers on %s", a->choices->to), stdout);
	if (a->transfer->trial_count) {
		putchar('\n');
		print_text(&a->trials, "Each known GPU left out: mean absolute error of its layers", stdout);
	}
	putchar('\n');
	sentences_text(&a->said, 0, 2, stdout);
}

static void say_progress(const char *device)
{
	pm_terminal_progress("%s is left out", device);
}

static int run_transfer(int argument_count, char **arguments)
{
	struct choices c = {.how = {.learn = {.seed = 1}, .confidence = 0.95, .progress = say_progress}};
	struct transfer_table table = {0};
	struct transfer_source *sources;
	struct transfer transfer;
	struct answer answer;
	size_t source_count = 0, target;
	const char *bad;

	take_options(argument_count, arguments, &c);
	if (transfer_devices_read(&table, c.devices) < 0)
		errx(1, "%s", table.error);
	target = device_of(&table, "--to", c.to, c.devices);
	sources = mem_alloc((size_t)argument_count + 1, sizeof(*sources));
	for (int i = optind; i < argument_count; i++)
		sources[source_count++] = source_of(arguments[i]);
	if (c.layers)
		sources[source_count++] = (struct transfer_source){.path = c.layers, .is_asked = true};
	if (transfer_layers_read(&table, &c.columns, sources, source_count, target) < 0)
		errx(1, "%s", table.error);
	if (table.skipped)
		warnx("%zu row%s skipped: missing or impossible values", table.skipped,
			pm_text_plural(table.skipped));
	ask_like(&table, &c, target);
	bad = transfer_predict(&transfer, &table, target, &c.how);
	pm_terminal_clear();
	if (bad)
		errx(1, "%s: %s", c.to, bad);
	answer_init(&answer, &c, &table, &transfer);
	answer_print(&answer);
	print_free(&answer.layers);
	print_free(&answer.trials);
	arena_free(&answer.arena);
	transfer_free(&transfer);
	transfer_table_free(&table);
	free(sources);
	free(c.ignored);
	return 0;
}

static const struct option_row rows[] = {
	{"devices", DEVICES, "FILE",
		"peak rates of all GPUs, from their data sheets: CSV with the columns device, flops, bandwidth "
		"(15.7T, 900G); required"},
	{"to", TO, "GPU", "GPU that is asked for; required"},
	{"layers", LAYERS, "FILE", "layers that are asked for: a table like the others, times are not read"},
	{"like", LIKE, "GPU",
		"asks for the layers of this known GPU; default where nothing else asks and one GPU is known"},
	{NULL, 0, NULL,
		"Columns are found by common names (device, gpu_name; time_ns, time_ms; flops; bytes), or named:"},
	{"device-column", DEVICE_COLUMN, "COLUMN", "GPU of a row"},
	{"time", TIME, "COLUMN[,UNIT]",
		"measured time of a layer; UNIT s, ms, us or ns. Default unit: the name's ending"},
	{"flops-column", FLOPS_COLUMN, "COLUMN", "operations of a layer"},
	{"bytes-column", BYTES_COLUMN, "COLUMN", "bytes that it reads and writes"},
	{"ignore", IGNORE, "LIST", "columns that do not describe a layer, such as other times"},
	{"skip-bad", SKIP_BAD, NULL, "skip rows with missing or impossible values"},
	{NULL, 0, NULL, "Output and computation:"},
	{"confidence", CONFIDENCE, "X", "of intervals; default 0.95"},
	{"seed", SEED, "N", "of random numbers; default 1"},
	{"threads", THREADS, "N", "0: one for each processor; default 0. The answer does not depend on it"},
	{"csv", 'c', NULL, "CSV output, one row per layer, times in ns"},
	{"json", 'j', NULL, "JSON output, with the sentences of the text, times in ns"},
	{0},
};

const struct command cmd_transfer = {
	.name = "transfer",
	.summary = "layers on another GPU, from their times on known ones",
	.usage = "[OPTION]... --devices FILE --to GPU [GPU=]TABLE.csv...",
	.about =
		"A TABLE has a row per measured layer: GPU, operations, bytes, time, and whatever describes it "
		"(sizes, kinds, optimizer). GPU=TABLE says which GPU all rows of a table are of: "
		"'pmanalyze roofline --csv' writes such tables of captured runs. Layers are asked for by rows "
		"of the GPU without a time, by --layers or by --like.\n"
		"\n"
		"A layer's roofline is F/peak + B/bandwidth + a constant, with the data sheet's rates. What it "
		"takes beyond that is learned from the known GPUs (a random forest and boosted trees on the "
		"descriptions and the roofline's parts, or the same layer's own where that was nearer) and "
		"carried over. Rows of the GPU that were measured, five or so and of different lengths, correct it: "
		"a factor, another one for longer layers, and a time that each layer takes (launches).\n"
		"\n"
		"Each known GPU is also left out and predicted from the others, with as many of its rows as are "
		"measured of the one asked for: those errors are printed, and make the intervals. With one known "
		"GPU there are none. Without measured rows the basis is 'data sheet': a guess by rates. A GPU "
		"without rates is refused.\n",
	.options = OPTION_TABLES(rows),
	.after = "Examples:\n"
		 "  pmfit transfer --devices gpus.csv --to V100 layers.csv\n"
		 "  pmanalyze roofline --csv run >a100.csv\n"
		 "  pmfit transfer --devices gpus.csv --to H100 --skip-bad A100=a100.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_transfer,
};
